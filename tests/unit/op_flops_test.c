/* FLOPs of operators that mix, sum or transform, by numbers that were counted by hand. */
#include "exec_kit.h"

static tn_runtime *runtime;
static tn_diag *diag;

static double flops_of(const char *op, const tn_op_arg *args, uint32_t n_args,
                       const tn_tensor *const *inputs, int32_t n_inputs) {
  tn_model *m = NULL;
  tn_session *s = NULL;
  tn_plan_info info = {.head = TN_HEAD(tn_plan_info)};
  tn_status status = tn_model_from_op(runtime, op, 0, args, n_args, 0, NULL, diag, &m);
  if (!status) status = tn_session_create(m, diag, &s);
  for (int32_t k = 0; k < n_inputs && !status; k++)
    status = tn_session_set_input(s, k, inputs[k], diag);
  if (!status) status = tn_session_prepare(s, diag);
  if (!status) status = tn_session_plan(s, &info);
  if (status) fail_msg("%s: %s", op, tn_diag_text(diag));
  tn_session_destroy(s);
  tn_model_destroy(m);
  return info.flops;
}

static float zeros[256];
static tn_tensor floats(int32_t rank, const int64_t *shape) {
  return tn_tensor_make(TN_F32, rank, shape, zeros);
}

/* Of one input x of this shape, and up to two attributes. */
static double flops_of_one(const char *op, const char *name, int32_t rank, const int64_t *shape,
                           tn_op_arg first, tn_op_arg second) {
  const tn_tensor x = floats(rank, shape), *inputs[] = {&x};
  const tn_op_arg args[] = {{.name = name, .tensor = &x}, first, second};
  const uint32_t n_args = first.name ? second.name ? 3 : 2 : 1;
  return flops_of(op, args, n_args, inputs, 1);
}

static const tn_op_arg none;

static void pools(void **state) {
  (void)state;
  const tn_op_arg size = {.name = "kernel_shape", .text = "2, 2"};
  const tn_op_arg step = {.name = "strides", .text = "2, 2"};
  const int64_t shape[] = {1, 2, 8, 8};
  /* 32 windows of 4 elements; a power and a sum each */
  assert_true(flops_of_one("LpPool", "X", 4, shape, size, step) == 256);
  assert_true(flops_of_one("GlobalLpPool", "X", 4, shape, none, none) == 256);
}

static void samplers(void **state) {
  (void)state;
  int64_t to[] = {1, 2, 8, 4};
  const tn_tensor x = floats(4, (int64_t[]){1, 2, 4, 4}), grid = floats(4, (int64_t[]){1, 3, 5, 2});
  const tn_tensor sizes = tn_tensor_make(TN_I64, 1, (int64_t[]){4}, to);
  const tn_tensor *inputs[] = {&x, &grid};
  tn_op_arg resize[] = {{.name = "X", .tensor = &x},
                        {.name = "sizes", .tensor = &sizes, .flags = TN_ARG_CONST},
                        {.name = "mode", .text = "linear"}};
  /* one dim of two is resized: 64 outputs of 2 elements */
  assert_true(flops_of("Resize", resize, 3, inputs, 1) == 256);
  resize[2].text = "nearest";
  assert_true(flops_of("Resize", resize, 3, inputs, 1) == 0);
  tn_op_arg sample[] = {{.name = "X", .tensor = &x},
                        {.name = "grid", .tensor = &grid},
                        {.name = "mode", .text = "cubic"}};
  /* 30 outputs of 16 elements, or of 4 */
  assert_true(flops_of("GridSample", sample, 3, inputs, 2) == 960);
  sample[2].text = "linear";
  assert_true(flops_of("GridSample", sample, 3, inputs, 2) == 240);
}

static void transforms(void **state) {
  (void)state;
  /* two transforms of 8 values: 5 * 8 * 3 each */
  assert_true(flops_of_one("DFT", "input", 3, (int64_t[]){2, 8, 1}, none, none) == 240);
  assert_true(flops_of_one("Det", "X", 3, (int64_t[]){2, 3, 3}, none, none) == 36);
  assert_true(flops_of_one("ArgMax", "data", 2, (int64_t[]){3, 4}, none, none) == 12);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(pools), cmocka_unit_test(samplers),
                                     cmocka_unit_test(transforms)};
  diag = tn_diag_create();
  if (tn_runtime_create(NULL, diag, &runtime)) return 2;
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tn_runtime_destroy(runtime);
  tn_diag_destroy(diag);
  return failed;
}
