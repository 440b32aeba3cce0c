/* What goes into weights, pads and reductions around it: scales and shifts per channel, a Pad, the
 * mean of all spatial dims. Each graph answers the same as it stands. */
#include "fuse_kit.h"

enum { C = 4, SIDE = 3, N = C * SIDE * SIDE };

static int32_t numbers(maker *m, int32_t rank, const int64_t *dims, float from) {
  float data[KIT_MAX_ELEMENTS];
  int64_t n = 1;
  for (int32_t k = 0; k < rank; k++) n *= dims[k];
  for (int64_t k = 0; k < n; k++) data[k] = from + (float)(k * 7 % 11) / 8;
  return constant(m, TN_F32, rank, dims, data);
}
static int32_t ints(maker *m, const int64_t *data, int64_t n) {
  return constant(m, TN_I64, 1, &n, data);
}
static int32_t row(maker *m, float from) { return numbers(m, 1, (const int64_t[]){C}, from); }
static int32_t column(maker *m, float from) {
  return numbers(m, 3, (const int64_t[]){C, 1, 1}, from);
}

static int32_t batch_norm(maker *m, int32_t x) {
  const int32_t inputs[5] = {x, row(m, 0.5f), row(m, -0.5f), row(m, 0.25f), row(m, 0.75f)};
  return node_of(m, "BatchNormalization", inputs, 5, NULL, 0);
}

/* kernel 1, or 3 with pads of 1; group: as many as there are channels, or one. */
static int32_t conv(maker *m, const char *name, int32_t x, int64_t kernel, bool bias, bool groups) {
  const int64_t pads[4] = {1, 1, 1, 1}, dims[4] = {C, groups ? 1 : C, kernel, kernel};
  const tn_attr pad = tn_attr_ints("pads", (tn_ints){pads, 4}),
                group = tn_attr_int("group", groups ? C : 1), *attrs[2] = {&group, &pad};
  const int32_t inputs[3] = {x, numbers(m, 4, dims, -0.5f), bias ? row(m, -1) : -1};
  return node_of(m, name, inputs, bias ? 3 : 2, attrs, kernel == 1 ? 1 : 2);
}
static int32_t point(maker *m) { return conv(m, "Conv", m->x, 1, false, false); }

static int32_t conv_bn(maker *m) { return batch_norm(m, point(m)); }
static int32_t conv_bias_bn(maker *m) {
  return batch_norm(m, conv(m, "Conv", m->x, 3, true, true));
}
static int32_t transposed_bn(maker *m) {
  return batch_norm(m, conv(m, "ConvTranspose", m->x, 3, true, false));
}
static int32_t transposed_groups_bn(maker *m) {
  return batch_norm(m, conv(m, "ConvTranspose", m->x, 3, false, true));
}
static int32_t bn_conv(maker *m) { return conv(m, "Conv", batch_norm(m, m->x), 1, true, false); }
static int32_t bn_depthwise(maker *m) {
  return conv(m, "Conv", batch_norm(m, m->x), 1, false, true);
}
static int32_t bn_padded(maker *m) { return conv(m, "Conv", batch_norm(m, m->x), 3, false, false); }
static int32_t mul_padded(maker *m) {
  return conv(m, "Conv", op(m, "Mul", column(m, 0.5f), m->x), 3, false, false);
}
static int32_t conv_mul(maker *m) { return op(m, "Mul", point(m), column(m, 0.5f)); }
static int32_t conv_div(maker *m) { return op(m, "Div", point(m), number(m, 3)); }
static int32_t div_by_conv(maker *m) { return op(m, "Div", number(m, 3), point(m)); }
static int32_t conv_add(maker *m) { return op(m, "Add", column(m, 1), point(m)); }
static int32_t sub_conv(maker *m) { return op(m, "Sub", number(m, 1), point(m)); }
static int32_t conv_sub(maker *m) { return op(m, "Sub", point(m), column(m, 1)); }
static int32_t by_other_dim(maker *m) {
  return op(m, "Mul", point(m), numbers(m, 1, (const int64_t[]){SIDE}, 0.5f));
}
static int32_t by_infinity(maker *m) { return op(m, "Mul", point(m), number(m, INFINITY)); }
static int32_t read_twice(maker *m) {
  const int32_t y = point(m);
  return op(m, "Max", op(m, "Mul", y, number(m, 0.5f)), y);
}

/* ---- products; the input as [9, 4] ---- */

static int32_t rows_of(maker *m) {
  return op(m, "Reshape", m->x, ints(m, (const int64_t[]){N / C, C}, 2));
}
static int32_t gemm(maker *m, int32_t x, bool transposed, bool bias) {
  const tn_attr alpha = tn_attr_float("alpha", 0.5), beta = tn_attr_float("beta", 2),
                trans = tn_attr_int("transB", transposed), *attrs[3] = {&alpha, &beta, &trans};
  const int32_t inputs[3] = {x, numbers(m, 2, (const int64_t[]){C, C}, -0.5f), row(m, 1)};
  return node_of(m, "Gemm", inputs, bias ? 3 : 2, attrs, 3);
}
static int32_t product(maker *m) {
  return op(m, "MatMul", rows_of(m), numbers(m, 2, (const int64_t[]){C, C}, -0.5f));
}
static int32_t gemm_bn(maker *m) { return batch_norm(m, gemm(m, rows_of(m), false, true)); }
static int32_t gemm_trans_bn(maker *m) { return batch_norm(m, gemm(m, rows_of(m), true, false)); }
static int32_t bn_gemm(maker *m) { return gemm(m, batch_norm(m, rows_of(m)), false, true); }
static int32_t bn_gemm_trans(maker *m) { return gemm(m, batch_norm(m, rows_of(m)), true, true); }
static int32_t matmul_bn(maker *m) { return batch_norm(m, product(m)); }
static int32_t linear_bn(maker *m) { return batch_norm(m, op(m, "Add", product(m), row(m, 1))); }
static int32_t linear_div(maker *m) {
  return op(m, "Div", op(m, "Add", row(m, 1), product(m)), number(m, 8));
}

/* ---- pads ---- */

static int32_t padded(maker *m, int32_t x, float fill) {
  const int64_t pads[8] = {0, 0, 1, 0, 0, 0, 1, 2};
  const int32_t inputs[3] = {x, ints(m, pads, 8), number(m, fill)};
  return node_of(m, "Pad", inputs, 3, NULL, 0);
}
static int32_t window(maker *m, const char *name, int32_t x, int32_t w, int64_t counts) {
  const int64_t kernel[2] = {3, 3};
  const tn_attr shape = tn_attr_ints("kernel_shape", (tn_ints){kernel, 2}),
                count = tn_attr_int("count_include_pad", counts), *attrs[2] = {&shape, &count};
  return node_of(m, name, (const int32_t[]){x, w}, w < 0 ? 1 : 2, attrs, counts ? 2 : 1);
}
static int32_t pad_conv_with(maker *m, float fill) {
  const int32_t w = numbers(m, 4, (const int64_t[]){C, C, 3, 3}, -0.5f);
  return window(m, "Conv", padded(m, m->x, fill), w, 0);
}
static int32_t pad_conv(maker *m) { return pad_conv_with(m, 0); }
static int32_t pad_conv_ones(maker *m) { return pad_conv_with(m, 1); }
static int32_t pad_average(maker *m) { return window(m, "AveragePool", padded(m, m->x, 0), -1, 1); }
static int32_t pad_average_apart(maker *m) {
  return window(m, "AveragePool", padded(m, m->x, 0), -1, 0);
}
static int32_t pad_max(maker *m) {
  return window(m, "MaxPool", padded(m, op(m, "Relu", m->x, -1), 0), -1, 0);
}
static int32_t pad_max_lowest(maker *m) {
  return window(m, "MaxPool", padded(m, m->x, -INFINITY), -1, 0);
}
static int32_t pad_max_signed(maker *m) { return window(m, "MaxPool", padded(m, m->x, 0), -1, 0); }

/* ---- means ---- */

static int32_t mean_over(maker *m, const int64_t axes[2], int64_t keeps) {
  const tn_attr keep = tn_attr_int("keepdims", keeps);
  return op_with(m, "ReduceMean", m->x, ints(m, axes, 2), &keep);
}
static int32_t squeezed(maker *m) {
  return op(m, "Mul", m->x, mean_over(m, (const int64_t[]){-1, 2}, 1));
}
static int32_t squeezed_flat(maker *m) {
  const int32_t mean = mean_over(m, (const int64_t[]){2, 3}, 0);
  return op(m, "Mul", m->x, op(m, "Reshape", mean, ints(m, (const int64_t[]){C, 1, 1}, 3)));
}
static int32_t over_channels(maker *m) {
  return op(m, "Mul", m->x, mean_over(m, (const int64_t[]){1, 2}, 1));
}

/* ---- running ---- */

static tn_tensor input(float x[N]) {
  const int64_t dims[] = {1, C, SIDE, SIDE};
  for (int i = 0; i < N; i++) x[i] = (float)(i * 5 % 17) / 8 - 1;
  return tn_tensor_make(TN_F32, 4, dims, x);
}

/* Prepared and as it stands, the graph answers the same. */
static void run_both(make_fn make, char ops[KIT_MAX_TEXT], char spelt[KIT_MAX_TEXT]) {
  float x[N], y[N], want[N];
  const tn_tensor in = input(x);
  kit_run(make, &in, 0, ops, y);
  kit_run(make, &in, TN_MODEL_NO_OPTIMIZE, spelt, want);
  for (int i = 0; i < N; i++)
    if (y[i] != want[i] && !(fabsf(y[i] - want[i]) <= 1e-5f * (1 + fabsf(want[i]))) &&
        !(isnan(y[i]) && isnan(want[i])))
      fail_msg("%s, element %d: %g, not %g", ops, i, (double)y[i], (double)want[i]);
}

static void compare(make_fn make) {
  char ops[KIT_MAX_TEXT], spelt[KIT_MAX_TEXT];
  run_both(make, ops, spelt);
}

/* The operator is a step of the graph as it stands, and, prepared, only if it `stays`. */
static void check(make_fn make, const char *op_name, bool stays) {
  char ops[KIT_MAX_TEXT], spelt[KIT_MAX_TEXT];
  run_both(make, ops, spelt);
  assert_non_null(strstr(spelt, op_name));
  if (!strstr(ops, op_name) == stays) fail_msg("the steps are %s", ops);
}

static void test_after(void **state) {
  (void)state;
  static const make_fn bn[] = {conv_bn, conv_bias_bn,  transposed_bn, transposed_groups_bn,
                               gemm_bn, gemm_trans_bn, matmul_bn,     linear_bn};
  for (size_t k = 0; k < sizeof bn / sizeof *bn; k++) check(bn[k], "BatchNormalization", false);
  check(conv_mul, "Mul", false);
  check(conv_div, "Div", false);
  check(conv_add, "Add", false);
  check(conv_sub, "Sub", false);
  check(sub_conv, "Sub", false);
  check(linear_div, "Div", false);
}

static void test_before(void **state) {
  (void)state;
  static const make_fn bn[] = {bn_conv, bn_depthwise, bn_gemm, bn_gemm_trans};
  for (size_t k = 0; k < sizeof bn / sizeof *bn; k++) check(bn[k], "BatchNormalization", false);
  check(mul_padded, "Mul", false);
  check(bn_padded, "BatchNormalization", true);
}

/* As a step of its own, or as one behind the Conv: the answers would show it in the weights. */
static void test_what_stays(void **state) {
  (void)state;
  static const make_fn stay[] = {div_by_conv, by_other_dim, by_infinity, read_twice};
  for (size_t k = 0; k < sizeof stay / sizeof *stay; k++) compare(stay[k]);
}

static void test_pads(void **state) {
  (void)state;
  check(pad_conv, "Region", false);
  check(pad_average, "Region", false);
  check(pad_average_apart, "Region", false);
  check(pad_max, "Region", false);
  check(pad_max_lowest, "Region", false);
  check(pad_conv_ones, "Region", true);
  check(pad_max_signed, "Region", true);
}

static void test_means(void **state) {
  (void)state;
  check(squeezed, "ReduceMean", false);
  check(squeezed_flat, "ReduceMean", false);
  check(over_channels, "ReduceMean", true);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_after), cmocka_unit_test(test_before),
                                     cmocka_unit_test(test_what_stays), cmocka_unit_test(test_pads),
                                     cmocka_unit_test(test_means)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
