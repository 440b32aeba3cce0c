/* Which kernels a model is planned with, where casts and reorders stand, and that the numbers are
 * right in all of these plans.
 * usage: plan_test PLUGIN BLOCKED.onnx HALF.onnx */
#include <stdio.h>
#include <string.h>
#include <tenon/tenon.h>

enum { CHANNELS = 20, INNER = 64, N = CHANNELS * INNER };
static const uint64_t no_isa = UINT64_C(1) << 63; /* a bit that no kernel needs */
static int n_bad;

static void expect(int fine, const char *what, const char *got) {
  if (!fine) printf("wrong: %s: %s\n", what, got);
  n_bad += !fine;
}

static tn_runtime *runtime(const char *plugin, uint64_t isa, tn_diag *diag) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  tn_runtime *rt = NULL;
  options.isa_mask = isa;
  if (tn_runtime_create(&options, diag, &rt) || tn_runtime_load_plugin(rt, plugin, NULL, 0, diag))
    expect(0, "the plug-in loads", tn_diag_text(diag));
  return rt;
}

/* "tenon::Reorder ChannelScale ..." of all steps. */
static void steps_text(const tn_session *session, char *buf, size_t size) {
  tn_step_info step = {.head = TN_HEAD(tn_step_info)};
  *buf = 0;
  for (int32_t k = 0; !tn_session_step(session, k, &step); k++) {
    const size_t n = strlen(buf);
    const int is_ours = strstr(step.kernel, "clip_") || strstr(step.kernel, "scale_f32_b");
    snprintf(buf + n, size - n, "%s%s", k ? " " : "", is_ours ? step.kernel : step.op);
  }
}

/* The model runs with these steps, and answers `want`. */
static void test(tn_runtime *rt, const char *path, const tn_tensor *in, const void *want,
                 const char *steps, tn_diag *diag) {
  char text[500] = "";
  tn_model *model = NULL;
  tn_session *session = NULL;
  tn_status status = tn_model_load(rt, path, NULL, diag, &model);
  if (!status) status = tn_session_create(model, diag, &session);
  if (!status) status = tn_session_set_input(session, 0, in, diag);
  if (!status) status = tn_session_run(session, diag);
  if (!status) steps_text(session, text, sizeof text);
  const tn_tensor *y = status ? NULL : tn_session_output(session, 0);
  expect(!status, path, tn_diag_text(diag));
  expect(!strcmp(text, steps), steps, text);
  expect(y && !memcmp(y->data, want, (size_t)tn_tensor_bytes(y)), "the output", path);
  tn_session_destroy(session);
  tn_model_destroy(model);
}

static float clip(float x) { return x < 0.5f ? 0.5f : x > 6 ? 6 : x; }

static void test_blocked(tn_runtime *rt, const char *path, tn_diag *diag) {
  static float x[N], y[N];
  for (int k = 0; k < N; k++) {
    const float c = (float)(k / INNER);
    x[k] = (float)(k % 29 - 9) * 0.125f;
    y[k] = (1 + 0.5f * c) * clip((1 + c) * x[k]);
  }
  const tn_tensor in = tn_tensor_make(TN_F32, 4, (int64_t[]){1, CHANNELS, 8, 8}, x);
  test(rt, path, &in, y,
       "Reorder scale_f32_blocked16 clip_f32_blocked16 scale_f32_blocked16 Reorder", diag);
}

/* f16 of 0.25, 0.5, 1, 2, 4, 8, and what they are clipped to. */
static void test_half(tn_runtime *rt, const char *path, const char *steps, tn_diag *diag) {
  static const uint16_t from[] = {0x3400, 0x3800, 0x3c00, 0x4000, 0x4400, 0x4800};
  static const uint16_t to[] = {0x3800, 0x3800, 0x3c00, 0x4000, 0x4400, 0x4600};
  static uint16_t x[N], y[N];
  for (int k = 0; k < N; k++) x[k] = from[k % 6], y[k] = to[k % 6];
  const tn_tensor in = tn_tensor_make(TN_F16, 4, (int64_t[]){1, CHANNELS, 8, 8}, x);
  test(rt, path, &in, y, steps, diag);
}

static void test_refused(tn_runtime *rt, const char *op, int32_t rank, const char *name,
                         const char *value, const char *words, tn_diag *diag) {
  float x[4] = {1, 2, 3, 4};
  tn_tensor in = tn_tensor_make(TN_F32, rank, (int64_t[]){1, 1, 4}, x), *y;
  const tn_op_arg args[] = {{.name = "x", .tensor = &in}, {.name = name, .text = value}};
  tn_diag_clear(diag);
  tn_status status = tn_op_run(rt, op, 0, args, 2, &y, 1, diag);
  expect(status && strstr(tn_diag_text(diag), words), words, tn_diag_text(diag));
}

int main(int argc, char **argv) {
  tn_diag *diag = tn_diag_create();
  if (argc != 4) return 2;
  tn_runtime *all = runtime(argv[1], 0, diag), *none = runtime(argv[1], no_isa, diag);
  const tn_kernel *half = NULL; /* there, and this machine can run it? */
  for (int32_t k = 0; k < tn_runtime_n_kernels(all); k++)
    if (!strcmp(tn_runtime_kernel(all, k)->name, "clip_f16_avx2")) half = tn_runtime_kernel(all, k);
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2")) half = NULL;
#endif
  test_blocked(all, argv[2], diag);
  test_half(all, argv[3], half ? "clip_f16_avx2" : "Cast clip_f32 Cast", diag);
  test_half(none, argv[3], "Cast clip_f32 Cast", diag);
  test_refused(all, "com.example::Clip", 3, "min", "7", "min is 7, more than max, 6", diag);
  test_refused(all, "com.example::ChannelScale", 2, "step", "1", "x has rank 2", diag);
  tn_runtime_destroy(all);
  tn_runtime_destroy(none);
  tn_diag_destroy(diag);
  printf("%d wrong\n", n_bad);
  return n_bad != 0;
}
