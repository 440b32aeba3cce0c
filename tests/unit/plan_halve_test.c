/* Halves on a device like a GPU: the shadow device, which says that it has units, with a Relu for
 * f16 alone, which counts its runs. */
#include "fuse_kit.h"
#include "tenon/device.h"

extern const tn_device_driver shadow_driver; /* devices/shadow */

enum { N = 6 };

/* ---- the device ---- */

static int n_runs;

static void positive(void *const *data, const void *params, const int64_t *constants,
                     const uint32_t group[3]) {
  const uint16_t *x = data[0];
  uint16_t *y = data[1];
  (void)params, (void)constants, (void)group;
  for (int k = 0; k < N; k++) y[k] = x[k] >> 15 ? 0 : x[k];
  n_runs++;
}

static tn_status record(const tn_call *call, tn_recorder *r) {
  static const tn_binding x = {.head = TN_HEAD(tn_binding), .kind = TN_BIND_INPUT},
                          y = {.head = TN_HEAD(tn_binding), .kind = TN_BIND_OUTPUT};
  const tn_binding *const bindings[] = {&x, &y};
  const tn_dispatch d = {
      .head = TN_HEAD(tn_dispatch), .n_bindings = 2, .groups = {1, 1, 1}, .bindings = bindings};
  (void)call;
  return r->dispatch(r->ctx, &d);
}

static tn_status plan(const tn_call *call, tn_kernel_plan *out) {
  (void)call;
  out->n_stages = 1;
  out->items[0] = 1;
  return TN_OK;
}

static tn_status describe(const tn_device_call *c, void *device, tn_device_info *info) {
  const tn_status s = shadow_driver.describe(c, device, info);
  info->units = 2;
  return s;
}

static const tn_plugin *query(uint32_t major, uint32_t minor) {
  static const tn_host_function function = {TN_HEAD(tn_host_function), positive};
  static const tn_program_form form = {TN_HEAD(tn_program_form), TN_LANGUAGE_HOST_FUNCTION,
                                       &function, sizeof function};
  static const tn_program_form *const forms[] = {&form};
  static const tn_program program = {
      .head = TN_HEAD(tn_program), .name = "positive", .forms = forms, .n_forms = 1};
  static const tn_program *const programs[] = {&program};
  TN_ACCEPT(halves, .arg = "*", .dtypes = TN_MASK(TN_F16));
  TN_LIST(const tn_accept *, rows, &halves);
  static const tn_kernel row = {.head = TN_HEAD(tn_kernel),
                                .name = "relu_twin",
                                .op = "Relu",
                                .device = "twin",
                                .plan = plan,
                                TN_SET(accepts, rows)};
  static const tn_device_kernel kernel = {.head = TN_HEAD(tn_device_kernel),
                                          .kernel = &row,
                                          .programs = programs,
                                          .n_programs = 1,
                                          .record = record};
  TN_LIST(const tn_device_kernel *, kernels, &kernel);
  static tn_device_driver driver;
  TN_LIST(const tn_device_driver *, drivers, &driver);
  static const tn_plugin plugin = {.head = TN_HEAD(tn_plugin),
                                   .name = "twin",
                                   .flavour = TN_FLAVOUR,
                                   TN_SET(drivers, drivers),
                                   TN_SET(device_kernels, kernels)};
  (void)major, (void)minor;
  driver = shadow_driver;
  driver.name = "twin";
  driver.kinds = "gpu";
  driver.describe = describe;
  return &plugin;
}

/* ---- models ---- */

static int32_t cast(maker *m, int32_t x, int64_t to) {
  const tn_attr attr = tn_attr_int("to", to);
  return op_with(m, "Cast", x, -1, &attr);
}

/* Of a model in f16, Relu is computed in f32, and columns are turned as they are stored. */
static int32_t turned(maker *m) {
  enum { ONNX_F32 = 1, ONNX_F16 = 10 };
  const int32_t y = op(m, "Relu", cast(m, m->x, ONNX_F16), -1);
  return cast(m, op(m, "Transpose", y, -1), ONNX_F32);
}

/* The device takes Relu in f16: neither casts to f32 remain, nor those from there. */
static void no_casts_there_and_back(void **state) {
  (void)state;
  static const float want[N] = {0, 2.5f, 1, 0, 0, 3};
  float x[N] = {-1, 1, 0, 2.5f, -4, 3}, y[N];
  const tn_tensor in = tn_tensor_make(TN_F32, 2, (int64_t[]){2, N / 2}, x);
  char ops[KIT_MAX_TEXT];
  kit_plugin = query;
  kit_device = "twin:0";
  kit_run(turned, &in, 0, ops, y);
  assert_string_equal(ops, "Transfer Cast Relu Region Cast Transfer");
  assert_int_equal(n_runs, 1);
  assert_memory_equal(y, want, sizeof want);
}

/* Everything in f16 but what comes in and goes out: casts of the model's own have nothing to do. */
static int32_t rounded(maker *m) {
  enum { ONNX_F32 = 1, ONNX_F16 = 10 };
  const int32_t y = op(m, "Relu", cast(m, op(m, "Relu", m->x, -1), ONNX_F16), -1);
  return op(m, "Relu", cast(m, op(m, "Transpose", y, -1), ONNX_F32), -1);
}

static void no_casts_of_the_model(void **state) {
  (void)state;
  static const float want[N] = {0, 2.5f, 1, 0, 0, 3};
  float x[N] = {-1, 1, 0, 2.5f, -4, 3}, y[N];
  const tn_tensor in = tn_tensor_make(TN_F32, 2, (int64_t[]){2, N / 2}, x);
  char ops[KIT_MAX_TEXT];
  kit_plugin = query;
  kit_device = "twin:0";
  kit_precision = TN_F16;
  n_runs = 0;
  kit_run(rounded, &in, 0, ops, y);
  kit_precision = 0;
  assert_string_equal(ops, "Transfer Cast Relu Relu Region Relu Cast Transfer");
  assert_int_equal(n_runs, 3);
  assert_memory_equal(y, want, sizeof want);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_casts_there_and_back),
                                     cmocka_unit_test(no_casts_of_the_model)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
