/* The operator from the plug-in that is linked in, or from the one that is named.
 * usage: dequantize_test [PLUGIN] */
#include <dequantize_add_static_plugin.h>
#include <stdio.h>
#include <string.h>
#include <tenon/tenon.h>

static int n_bad;

static void expect(int fine, const char *what, tn_diag *diag) {
  if (!fine) printf("wrong: %s\n%s\n", what, tn_diag_text(diag));
  n_bad += !fine;
  tn_diag_clear(diag);
}

static tn_tensor *run(tn_runtime *rt, tn_diag *diag, tn_tensor *xq, tn_tensor *scale,
                      tn_tensor *bias, const char *to) {
  const tn_op_arg args[] = {{.name = "xq", .tensor = xq},
                            {.name = "scale", .tensor = scale},
                            {.name = "bias", .tensor = bias},
                            {.name = "to", .text = to}};
  tn_tensor *y = NULL;
  tn_op_run(rt, "com.example::DequantizeAdd", 0, args, 4, &y, 1, diag);
  return y;
}

static void test_numbers(tn_runtime *rt, tn_diag *diag) {
  uint8_t bytes[] = {0, 128, 255, 129};
  uint16_t words[] = {0, 32768, 65535, 32769};
  float scale[] = {0.5f, 2}, bias[] = {1, -1};
  tn_tensor u8 = tn_tensor_make(TN_U8, 2, (int64_t[]){2, 2}, bytes);
  tn_tensor u16 = tn_tensor_make(TN_U16, 2, (int64_t[]){2, 2}, words);
  tn_tensor per_column = tn_tensor_make(TN_F32, 1, (int64_t[]){2}, scale);
  tn_tensor one = tn_tensor_make(TN_F32, 0, NULL, scale);
  tn_tensor tb = tn_tensor_make(TN_F32, 1, (int64_t[]){2}, bias);

  tn_tensor *y = run(rt, diag, &u8, &per_column, &tb, "f32");
  const float want[] = {-63, -1, 64.5f, 1};
  expect(y && y->dtype == TN_F32 && !memcmp(y->data, want, sizeof want), "u8 to f32", diag);
  tn_value_destroy(y);
  y = run(rt, diag, &u16, &one, &tb, "f32");
  const float want_words[] = {-16383, -1, 16384.5f, -0.5f};
  expect(y && !memcmp(y->data, want_words, sizeof want_words), "u16 to f32", diag);
  tn_value_destroy(y);
  y = run(rt, diag, &u8, &per_column, &tb, "f16");
  const uint16_t want_half[] = {0xd3e0, 0xbc00, 0x5408, 0x3c00};
  expect(y && y->dtype == TN_F16 && !memcmp(y->data, want_half, sizeof want_half), "u8 to f16",
         diag);
  tn_value_destroy(y);
}

static void test_refused(tn_runtime *rt, tn_diag *diag, uint32_t dtype, int64_t n_scale,
                         const char *to, const char *words) {
  float data[8] = {0};
  tn_tensor xq = tn_tensor_make(dtype, 2, (int64_t[]){2, 2}, data);
  tn_tensor scale = tn_tensor_make(TN_F32, 1, &n_scale, data);
  tn_tensor *y = run(rt, diag, &xq, &scale, &scale, to);
  expect(!y && strstr(tn_diag_text(diag), words), words, diag);
  tn_value_destroy(y);
}

int main(int argc, char **argv) {
  tn_runtime *rt = NULL;
  tn_diag *diag = tn_diag_create();
  tn_status status = tn_runtime_create(NULL, diag, &rt);
  if (!status)
    status = argc > 1
                 ? tn_runtime_load_plugin(rt, argv[1], NULL, 0, diag)
                 : tn_runtime_add_plugin(rt, tn_plugin_query_dequantize_add_static, NULL, 0, diag);
  if (status) return fprintf(stderr, "%s\n", tn_diag_text(diag)), 2;
  test_numbers(rt, diag);
  test_refused(rt, diag, TN_U8, 3, "f32", "scale must have one element");
  test_refused(rt, diag, TN_U8, 2, "bf16", "'to' is 'bf16', not f32 or f16");
  test_refused(rt, diag, TN_I8, 2, "f32", "xq");
  tn_runtime_destroy(rt);
  tn_diag_destroy(diag);
  printf("%d wrong\n", n_bad);
  return n_bad != 0;
}
