/* Weights of f32 in f16 and bf16, as tn_model_options ask: those that a kernel takes are rounded,
 * and nothing else is. */
#include "fuse_kit.h"
#include "tenon/kit/narrow.h"

enum { N = 32 };

static float weight; /* of all weights */

static int32_t weights(maker *m, int32_t rank, const int64_t *dims) {
  float all[N * N];
  for (int i = 0; i < N * N; i++) all[i] = weight;
  return constant(m, TN_F32, rank, dims, all);
}
static int32_t matrix(maker *m) { return weights(m, 2, (const int64_t[]){N, N}); }

static int32_t matmul(maker *m) { return op(m, "MatMul", m->x, matrix(m)); }
static int32_t gemm(maker *m) {
  const tn_attr attr = tn_attr_int("transB", 1);
  return op_with(m, "Gemm", m->x, matrix(m), &attr);
}
static int32_t matmul_and_sum(maker *m) { /* weights that somebody else reads, too */
  const int32_t w = matrix(m), y = op(m, "MatMul", m->x, w);
  const int64_t n = 1, axis = 0;
  m->also = op(m, "ReduceSum", op(m, "Mul", w, m->x), constant(m, TN_I64, 1, &n, &axis));
  return y;
}
static int32_t gather(maker *m) {
  const tn_attr attr = tn_attr_int("to", 7);
  const int32_t rows = op_with(m, "Cast", m->x, -1, &attr);
  return op(m, "Gather", weights(m, 2, (const int64_t[]){N * N, 1}), rows);
}
static int32_t conv(maker *m) {
  const int64_t n = 4, dims[] = {1, N, 1, 1};
  const int32_t x = op(m, "Reshape", m->x, constant(m, TN_I64, 1, &n, dims));
  return op(m, "Conv", x, weights(m, 4, (const int64_t[]){N, N, 1, 1}));
}

/* Runs it on ones with such weights; all elements of the output are alike. */
static float run(make_fn make, float w, uint32_t precision, char ops[KIT_MAX_TEXT]) {
  const int64_t dims[] = {1, N};
  float x[N], y[N];
  for (int i = 0; i < N; i++) x[i] = 1;
  const tn_tensor in = tn_tensor_make(TN_F32, 2, dims, x);
  weight = w;
  kit_precision = precision;
  kit_run(make, &in, 0, ops, y);
  kit_precision = 0;
  for (int i = 1; i < N; i++) assert_true(y[i] == y[0]);
  return y[0];
}

static float rounded(float x, uint32_t dtype) {
  return dtype == TN_F16 ? tn_f16_to_f32(tn_f32_to_f16(x)) : tn_bf16_to_f32(tn_f32_to_bf16(x));
}

static void taken_weights_are_rounded(void **state) {
  (void)state;
  static const uint32_t types[] = {TN_F16, TN_BF16};
  const float third = 1.0f / 3;
  char ops[KIT_MAX_TEXT];
  for (int k = 0; k < 2; k++) {
    const float want = N * rounded(third, types[k]);
    assert_true(run(matmul, third, types[k], ops) == want);
    assert_string_equal(ops, "HalfMatMul");
    assert_true(run(gemm, third, types[k], ops) == want);
    assert_string_equal(ops, "HalfMatMul");
    assert_true(run(gather, third, types[k], ops) == rounded(third, types[k]));
    assert_string_equal(ops, "Cast Gather Cast");
  }
  assert_true(fabsf(run(matmul, third, 0, ops) - N * third) < 1e-4f);
  assert_string_equal(ops, "MatMul");
  run(matmul, third, TN_F32, ops);
  assert_string_equal(ops, "MatMul");
}

static void open_dims_are_no_hindrance(void **state) {
  (void)state;
  char ops[KIT_MAX_TEXT];
  kit_open = true;
  run(matmul, 0.1f, TN_F16, ops);
  kit_open = false;
  assert_string_equal(ops, "HalfMatMul");
}

static void others_are_not(void **state) {
  (void)state;
  char ops[KIT_MAX_TEXT];
  const float want = run(conv, 0.1f, 0, ops);
  assert_true(run(conv, 0.1f, TN_F16, ops) == want);
  assert_null(strstr(ops, "Half"));
  run(matmul_and_sum, 0.1f, TN_F16, ops);
  assert_non_null(strstr(ops, "HalfMatMul"));
  assert_null(strstr(ops, "Cast"));
}

static void what_does_not_fit_stays(void **state) {
  (void)state;
  char ops[KIT_MAX_TEXT];
  assert_true(run(matmul, 70000, TN_F16, ops) == N * 70000.0f);
  assert_string_equal(ops, "MatMul");
  assert_true(run(matmul, 70000, TN_BF16, ops) == N * rounded(70000, TN_BF16));
  assert_string_equal(ops, "HalfMatMul");
  assert_true(run(matmul, 0x1p-20f, TN_F16, ops) == N * 0x1p-20f);
  assert_string_equal(ops, "MatMul");
  assert_true(isinf(run(matmul, INFINITY, TN_F16, ops)));
  assert_string_equal(ops, "MatMul");
  assert_true(run(matmul, 0, TN_F16, ops) == 0);
  assert_string_equal(ops, "HalfMatMul");
}

static void options_are_checked(void **state) {
  (void)state;
  const char *device = "shadow:0";
  const struct {
    tn_model_options options;
    tn_status status;
  } cases[] = {{{.precision = TN_F64}, TN_ERR_UNSUPPORTED},
               {{.precision = TN_F16, .flags = TN_MODEL_NO_OPTIMIZE}, TN_ERR_INVALID},
               {{.precision = TN_F16, .devices = &device, .n_devices = 1}, TN_ERR_UNSUPPORTED}};
  tn_runtime *runtime = NULL;
  tn_runtime_options none = TN_RUNTIME_OPTIONS_INIT;
  tn_diag *diag = tn_diag_create();
  assert_int_equal(tn_runtime_create(&none, diag, &runtime), TN_OK);
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    tn_model_options o = cases[k].options;
    tn_model *model = NULL;
    tn_graph *graph = NULL;
    o.head = (tn_head)TN_HEAD(tn_model_options);
    assert_int_equal(tn_graph_create(runtime, &graph), TN_OK);
    assert_int_equal(tn_model_from_graph_take(runtime, graph, &o, diag, &model), cases[k].status);
    assert_null(model);
  }
  assert_int_equal(tn_diag_count(diag), 3);
  tn_runtime_destroy(runtime);
  tn_diag_destroy(diag);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(taken_weights_are_rounded), cmocka_unit_test(open_dims_are_no_hindrance),
      cmocka_unit_test(others_are_not), cmocka_unit_test(what_does_not_fit_stays),
      cmocka_unit_test(options_are_checked)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
