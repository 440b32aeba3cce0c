/* Convolutions between DequantizeLinear and QuantizeLinear become tenon::QuantConv, which answers
 * the same (scales are powers of two, so that nothing is rounded on the way); others stay. */
#include "base/cpu.h"
#include "fuse_kit.h"

enum { C = 4, SIDE = 5, N = C * SIDE * SIDE };

/* What the weights have, and the input. */
static struct {
  int8_t w_zero;
  int64_t axis;
  bool per_axis_x, is_signed;
} with;

static int32_t zero_point(maker *m, uint32_t dtype, int value) {
  const int8_t i8 = (int8_t)value;
  const uint8_t u8 = (uint8_t)value;
  return constant(m, dtype, 0, NULL, dtype == TN_I8 ? (const void *)&i8 : &u8);
}

static int32_t linear(maker *m, const char *op, int32_t x, float scale, uint32_t dtype, int zero) {
  return node_of(m, op, (const int32_t[]){x, number(m, scale), zero_point(m, dtype, zero)}, 3, NULL,
                 0);
}

static int32_t quantised(maker *m, int32_t x, float scale, int zero) {
  const uint32_t dtype = with.is_signed ? TN_I8 : TN_U8;
  const int32_t q = linear(m, "QuantizeLinear", x, scale, dtype, zero);
  return linear(m, "DequantizeLinear", q, scale, dtype, zero);
}

static int32_t input(maker *m) {
  if (!with.per_axis_x) return quantised(m, m->x, 0.5f, 3);
  const int64_t n = C;
  const float scales[C] = {0.5f, 0.25f, 0.5f, 1};
  const uint8_t zeros[C] = {1, 2, 3, 4};
  const int32_t s = constant(m, TN_F32, 1, &n, scales), z = constant(m, TN_U8, 1, &n, zeros);
  const int32_t q = node_of(m, "QuantizeLinear", (const int32_t[]){m->x, s, z}, 3, NULL, 0);
  return node_of(m, "DequantizeLinear", (const int32_t[]){q, s, z}, 3, NULL, 0);
}

static int32_t weights(maker *m, int64_t channels, int64_t kernel) {
  static int8_t data[C * C * 9];
  const int64_t n = C, dims[] = {C, channels, kernel, kernel};
  const float scales[C] = {0.25f, 0.125f, 0.5f, 0.0625f};
  const int8_t zeros[C] = {0, 0, with.w_zero, 0};
  for (int i = 0; i < C * C * 9; i++) data[i] = (int8_t)(i * 37 % 41 - 20);
  const tn_attr axis = tn_attr_int("axis", with.axis);
  const int32_t inputs[] = {constant(m, TN_I8, 4, dims, data), constant(m, TN_F32, 1, &n, scales),
                            constant(m, TN_I8, 1, &n, zeros)};
  return node_of(m, "DequantizeLinear", inputs, 3, (const tn_attr *const[]){&axis}, 1);
}

static int32_t bias(maker *m) {
  const int64_t n = C;
  const int32_t data[C] = {7, -20, 0, 100};
  return node_of(m, "DequantizeLinear",
                 (const int32_t[]){constant(m, TN_I32, 1, &n, data), number(m, 0.125f)}, 2, NULL,
                 0);
}

static int32_t conv_of(maker *m, int32_t x, int64_t group) {
  const int64_t ones[4] = {1, 1, 1, 1};
  const tn_attr pads = tn_attr_ints("pads", (tn_ints){ones, 4}), g = tn_attr_int("group", group);
  return node_of(m, "Conv", (const int32_t[]){x, weights(m, C / group, 3), bias(m)}, 3,
                 (const tn_attr *const[]){&pads, &g}, 2);
}
static int32_t conv(maker *m) { return conv_of(m, input(m), 1); }

static int32_t to_float(maker *m) { return op(m, "Neg", conv(m), -1); }
static int32_t plain(maker *m) { return quantised(m, conv(m), 0.5f, 40); }
static int32_t depthwise(maker *m) { return quantised(m, conv_of(m, input(m), C), 0.25f, 40); }
static int32_t relu(maker *m) { return quantised(m, op(m, "Relu", conv(m), -1), 0.5f, 7); }
static int32_t clip(maker *m) {
  const int32_t inputs[] = {conv(m), number(m, -3.75f), number(m, 6)};
  return quantised(m, node_of(m, "Clip", inputs, 3, NULL, 0), 0.5f, 100);
}
/* The upper bound counts. */
static int32_t clip_crossed(maker *m, int32_t x) {
  return node_of(m, "Clip", (const int32_t[]){x, number(m, 6), number(m, -3.75f)}, 3, NULL, 0);
}
static int32_t conv_crossed(maker *m) { return quantised(m, clip_crossed(m, conv(m)), 0.5f, 100); }
static int32_t residual_crossed(maker *m) {
  const int32_t sum = op(m, "Add", plain(m), quantised(m, m->x, 0.25f, 100));
  return quantised(m, clip_crossed(m, sum), 0.5f, 100);
}
static int32_t is_read(maker *m) {
  m->also = conv(m);
  return quantised(m, m->also, 0.5f, 100);
}
static int32_t two_in_a_row(maker *m) {
  return quantised(m, conv_of(m, quantised(m, conv(m), 2, 100), 1), 16, 90);
}

/* With what is added on either side, its own scale, and a Relu behind it. */
static int32_t residual(maker *m) {
  const int32_t sum = op(m, "Add", plain(m), quantised(m, m->x, 0.25f, 100));
  return quantised(m, op(m, "Relu", sum, -1), 1, 3);
}
static int32_t residual_first(maker *m) {
  return quantised(m, op(m, "Add", quantised(m, m->x, 0.25f, 100), plain(m)), 1, 50);
}

/* The same in one operator. */
static int32_t qlinear(maker *m) {
  const int64_t n = C, dims[] = {C, C, 3, 3}, ones[4] = {1, 1, 1, 1};
  const uint32_t dtype = with.is_signed ? TN_I8 : TN_U8;
  const float scales[C] = {0.25f, 0.125f, 0.5f, 0.0625f};
  const int8_t zeros[C] = {0, with.w_zero, 0, 0};
  const int32_t bias_data[C] = {70, -200, 0, 1000};
  int8_t w[C * C * 9];
  for (int i = 0; i < C * C * 9; i++) w[i] = (int8_t)(i * 37 % 41 - 20);
  const tn_attr pads = tn_attr_ints("pads", (tn_ints){ones, 4});
  const int32_t inputs[] = {linear(m, "QuantizeLinear", m->x, 0.5f, dtype, 3),
                            number(m, 0.5f),
                            zero_point(m, dtype, 3),
                            constant(m, TN_I8, 4, dims, w),
                            constant(m, TN_F32, 1, &n, scales),
                            constant(m, TN_I8, 1, &n, zeros),
                            number(m, 2),
                            zero_point(m, dtype, 50),
                            constant(m, TN_I32, 1, &n, bias_data)};
  const int32_t y = node_of(m, "QLinearConv", inputs, 9, (const tn_attr *const[]){&pads}, 1);
  return linear(m, "DequantizeLinear", y, 2, dtype, 50);
}

static int32_t in_f16(maker *m) { /* what is dequantised is f16, and so is the sum */
  const int64_t dims[] = {C, C, 1, 1};
  int8_t w[C * C];
  for (int i = 0; i < C * C; i++) w[i] = (int8_t)(i * 37 % 41 - 20);
  const tn_attr f16 = tn_attr_int("output_dtype", 10), to = tn_attr_int("to", 1);
  const tn_attr *const attrs[] = {&f16};
  const int32_t scale = number(m, 0.5f), zero = zero_point(m, TN_U8, 3),
                w_inputs[] = {constant(m, TN_I8, 4, dims, w), number(m, 0.25f)},
                q = linear(m, "QuantizeLinear", m->x, 0.5f, TN_U8, 3),
                x = node_of(m, "DequantizeLinear", (const int32_t[]){q, scale, zero}, 3, attrs, 1);
  const int32_t y = op(m, "Conv", x, node_of(m, "DequantizeLinear", w_inputs, 2, attrs, 1));
  return op_with(m, "Cast", y, -1, &to);
}

static void check(make_fn make, const char *name, bool fuses, char ops[KIT_MAX_TEXT]) {
  const int64_t dims[] = {1, C, SIDE, SIDE};
  float x[N];
  for (int i = 0; i < N; i++) x[i] = (float)(i * 29 % 31 - 15) / 4;
  const tn_tensor in = tn_tensor_make(TN_F32, 4, dims, x);
  kit_check(make, &in, name, fuses, ops);
}

static bool is_fast(void) {
  return tn_cpu_isa() & (TN_ISA_AVX512_VNNI | TN_ISA_AVX_VNNI | TN_ISA_AVX2 | TN_ISA_NEON);
}

static void quantised_outputs(void **state) {
  static const make_fn makes[] = {plain, depthwise, relu, clip, two_in_a_row, qlinear};
  char ops[KIT_MAX_TEXT];
  (void)state;
  if (!is_fast()) skip();
  for (int round = 0; round < 4; round++)
    for (size_t k = 0; k < sizeof makes / sizeof *makes; k++) {
      with.is_signed = round % 2;
      with.w_zero = round < 2 ? 0 : 3;
      check(makes[k], "QuantConv", true, ops);
      assert_null(strstr(ops, "Relu"));
      assert_null(strstr(ops, "Clip"));
      const char *first = strstr(ops, "QuantizeLinear"); /* that of the input alone */
      assert_non_null(first);
      assert_null(strstr(first + 1, "QuantizeLinear"));
    }
  with.w_zero = 0;
  with.is_signed = false;
}

static void residuals(void **state) {
  char ops[KIT_MAX_TEXT];
  (void)state;
  if (!is_fast()) skip();
  for (int is_signed = 0; is_signed < 2; is_signed++) {
    with.is_signed = is_signed;
    check(residual, "QuantConv", true, ops);
    assert_null(strstr(ops, "Add"));
    check(residual_first, "QuantConv", true, ops);
    assert_null(strstr(ops, "Add"));
  }
  with.is_signed = false;
}

static void crossed(void **state) {
  static const make_fn makes[] = {conv_crossed, residual_crossed};
  char ops[KIT_MAX_TEXT];
  (void)state;
  if (!is_fast()) skip();
  for (int k = 0; k < 4; k++) {
    with.is_signed = k % 2;
    check(makes[k / 2], "QuantConv", true, ops);
    assert_null(strstr(ops, "Add"));
    assert_null(strstr(ops, "Clip"));
  }
  with.is_signed = false;
}

static void float_outputs(void **state) {
  char ops[KIT_MAX_TEXT];
  (void)state;
  if (!is_fast()) skip();
  check(to_float, "QuantConv", true, ops);
  check(is_read, "QuantConv", true, ops); /* what is read stays, and is quantised by itself */
  const char *first = strstr(ops, "QuantizeLinear");
  assert_non_null(first);
  assert_non_null(strstr(first + 1, "QuantizeLinear"));
}

static void others(void **state) {
  char ops[KIT_MAX_TEXT];
  (void)state;
  with.axis = 1;
  check(plain, "QuantConv", false, ops);
  with.axis = 0;
  with.per_axis_x = true;
  check(plain, "QuantConv", false, ops);
  with.per_axis_x = false;
  check(in_f16, "QuantConv", false, ops);
}

static void pins(void **state) {
  char ops[KIT_MAX_TEXT];
  (void)state;
  kit_pin = "Conv=conv_f32_c";
  check(plain, "QuantConv", false, ops);
  kit_pin = NULL;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quantised_outputs), cmocka_unit_test(residuals), cmocka_unit_test(crossed),
      cmocka_unit_test(float_outputs),     cmocka_unit_test(others),    cmocka_unit_test(pins),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
