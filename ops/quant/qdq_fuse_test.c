/* What stands between DequantizeLinear and QuantizeLinear is done on bytes where that gives the
 * same bits; others stay as they are. Every case runs as it stands, too, and must give the same
 * bits there. */
#include "base/cpu.h"
#include "fuse_kit.h"

enum { C = 4, SIDE = 8, N = C * SIDE * SIDE };

typedef struct numbers {
  float scale;
  int32_t zero;
  bool is_signed;
} numbers;

static const numbers A = {0.1f, 7, false}, B = {0.3f, 100, false}, Y = {0.17f, 3, false},
                     I = {0.05f, -128, true}, S = {0.06f, 0, true};

static int32_t zero_of(maker *m, numbers q) {
  const uint8_t byte = (uint8_t)q.zero;
  return constant(m, q.is_signed ? TN_I8 : TN_U8, 0, NULL, &byte);
}
static int32_t quantized(maker *m, int32_t x, numbers q) {
  return node_of(m, "QuantizeLinear", (const int32_t[]){x, number(m, q.scale), zero_of(m, q)}, 3,
                 NULL, 0);
}
static int32_t dequantized(maker *m, int32_t x, numbers q) {
  return node_of(m, "DequantizeLinear", (const int32_t[]){x, number(m, q.scale), zero_of(m, q)}, 3,
                 NULL, 0);
}
static int32_t both(maker *m, int32_t x, numbers q) {
  return dequantized(m, quantized(m, x, q), q);
}

static int32_t ints(maker *m, const int64_t *data, int64_t n) {
  return constant(m, TN_I64, 1, &n, data);
}

static void run(make_fn make, uint32_t flags, char ops[KIT_MAX_TEXT], float y[N]) {
  static const int64_t dims[4] = {1, C, SIDE, SIDE};
  float x[N];
  for (int i = 0; i < N; i++) x[i] = (float)(i * 149 % 257 - 100) / 7;
  const tn_tensor in = tn_tensor_make(TN_F32, 4, dims, x);
  kit_run(make, &in, flags, ops, y);
}

/* Runs the graph as it is prepared and as it stands: the same bits, and these steps. */
static void check(make_fn make, const char *steps) {
  float y[N], want[N];
  char ops[KIT_MAX_TEXT], spelt[KIT_MAX_TEXT];
  run(make, 0, ops, y);
  run(make, TN_MODEL_NO_OPTIMIZE, spelt, want);
  assert_string_equal(ops, steps);
  for (int i = 0; i < N; i++)
    if (memcmp(&y[i], &want[i], sizeof *y))
      fail_msg("%s, element %d: %g, not %g", ops, i, (double)y[i], (double)want[i]);
}

/* ---- quantised twice ---- */

static int32_t twice(maker *m) { return both(m, both(m, m->x, A), A); }
static int32_t twice_and_shown(maker *m) {
  m->also = both(m, m->x, A);
  return both(m, m->also, A);
}
static int32_t other_scale(maker *m) {
  return both(m, both(m, m->x, A), (numbers){0.2f, 7, false});
}
static int32_t other_zero(maker *m) { return both(m, both(m, m->x, A), (numbers){0.1f, 8, false}); }
static int32_t other_type(maker *m) { return both(m, both(m, m->x, A), (numbers){0.1f, 7, true}); }
static int32_t large_scale(maker *m) { /* 255 times that is infinite */
  const numbers q = {0x1p+124f, 0, false};
  return both(m, both(m, op(m, "Mul", m->x, number(m, 0x1p+126f)), q), q);
}

static int32_t per_channel(maker *m, const char *name, int32_t x) {
  static const float scale[C] = {0.1f, 0.2f, 0.3f, 0.4f};
  static const uint8_t zero[C] = {1, 2, 3, 4};
  const int64_t n = C;
  const tn_attr axis = tn_attr_int("axis", 1);
  const int32_t inputs[3] = {x, constant(m, TN_F32, 1, &n, scale), constant(m, TN_U8, 1, &n, zero)};
  return node_of(m, name, inputs, 3, (const tn_attr *const[]){&axis}, 1);
}
static int32_t per_axis(maker *m) {
  const int32_t y = per_channel(m, "DequantizeLinear", per_channel(m, "QuantizeLinear", m->x));
  return per_channel(m, "DequantizeLinear", per_channel(m, "QuantizeLinear", y));
}
static int32_t in_f16(maker *m) {
  const uint16_t half = 0x2E66; /* 0.1 */
  const tn_attr narrow = tn_attr_int("to", 10), wide = tn_attr_int("to", 1);
  int32_t x = op_with(m, "Cast", m->x, -1, &narrow);
  for (int k = 0; k < 2; k++) {
    const int32_t q = op(m, "QuantizeLinear", x, constant(m, TN_F16, 0, NULL, &half));
    x = op(m, "DequantizeLinear", q, constant(m, TN_F16, 0, NULL, &half));
  }
  return op_with(m, "Cast", x, -1, &wide);
}

static void quantised_twice(void **state) {
  (void)state;
  check(twice, "QuantizeLinear DequantizeLinear");
  check(twice_and_shown, "QuantizeLinear DequantizeLinear DequantizeLinear");
}

#define TWO_PAIRS "QuantizeLinear DequantizeLinear QuantizeLinear DequantizeLinear"

static void quantised_otherwise(void **state) {
  (void)state;
  check(other_scale, "QuantizeLinear QuantTable DequantizeLinear");
  check(other_zero, "QuantizeLinear QuantTable DequantizeLinear");
  check(other_type, "QuantizeLinear QuantTable DequantizeLinear");
  check(large_scale, "Mul " TWO_PAIRS);
  check(per_axis, TWO_PAIRS);
  check(in_f16, "Cast " TWO_PAIRS " Cast");
}

/* ---- moved ---- */

static int32_t transposed(maker *m, int32_t x) {
  static const int64_t order[4] = {0, 2, 3, 1};
  const tn_attr perm = tn_attr_ints("perm", (tn_ints){order, 4});
  return op_with(m, "Transpose", x, -1, &perm);
}
static int32_t half(maker *m, int32_t x, int64_t from) {
  const int64_t start = from * C / 2, end = start + C / 2, axis = 1;
  const int32_t inputs[4] = {x, ints(m, &start, 1), ints(m, &end, 1), ints(m, &axis, 1)};
  return node_of(m, "Slice", inputs, 4, NULL, 0);
}
static int32_t joined(maker *m, int32_t a, int32_t b) {
  const tn_attr axis = tn_attr_int("axis", 1);
  return op_with(m, "Concat", a, b, &axis);
}
static int32_t padded(maker *m, int32_t x, float value) {
  static const int64_t pads[8] = {0, 0, 0, 0, 0, 2, 0, 0};
  const int32_t inputs[3] = {x, ints(m, pads, 8), number(m, value)};
  return node_of(m, "Pad", inputs, 3, NULL, 0);
}

static int32_t transpose_between(maker *m) { return both(m, transposed(m, both(m, m->x, A)), A); }
static int32_t transpose_below(maker *m) {
  return op(m, "Neg", transposed(m, both(m, m->x, A)), -1);
}
static int32_t transpose_first(maker *m) { return both(m, transposed(m, m->x), A); }
static int32_t transpose_shown(maker *m) {
  m->also = transposed(m, both(m, m->x, A));
  return both(m, m->also, A);
}
static int32_t concat(maker *m) {
  const int32_t x = both(m, m->x, A);
  return both(m, joined(m, half(m, x, 1), half(m, x, 0)), A);
}
static int32_t concat_of_others(maker *m) {
  const int32_t a = both(m, half(m, m->x, 1), A), b = both(m, half(m, m->x, 0), B);
  return both(m, joined(m, a, b), Y);
}
static int32_t pad(maker *m, float value) {
  const int64_t start = 3, end = SIDE, axis = 2;
  const int32_t x = both(m, m->x, A),
                inputs[4] = {x, ints(m, &start, 1), ints(m, &end, 1), ints(m, &axis, 1)},
                y = node_of(m, "Slice", inputs, 4, NULL, 0);
  static const int64_t pads[8] = {0, 0, 1, 0, 0, 0, 2, 0};
  return node_of(m, "Pad", (const int32_t[]){y, ints(m, pads, 8), number(m, value)}, 3, NULL, 0);
}
static int32_t pad_between(maker *m) { return both(m, pad(m, 1.23f), A); }
static int32_t pad_zero_below(maker *m) { return op(m, "Neg", pad(m, 0), -1); }
static int32_t pad_of_steps_below(maker *m) { return op(m, "Neg", pad(m, 20 * 0.1f), -1); }
static int32_t pad_between_steps_below(maker *m) { return op(m, "Neg", pad(m, 1.23f), -1); }
static int32_t expand(maker *m) { /* dequantises a quarter of it */
  const int64_t start = 0, end = 1, axis = 1, dims[4] = {1, C, SIDE, SIDE};
  const int32_t inputs[4] = {m->x, ints(m, &start, 1), ints(m, &end, 1), ints(m, &axis, 1)},
                y = both(m, node_of(m, "Slice", inputs, 4, NULL, 0), A);
  return op(m, "Neg", op(m, "Expand", y, ints(m, dims, 4)), -1);
}
static int32_t slice_first(maker *m) { /* would quantise all of it */
  return padded(m, op(m, "Neg", both(m, half(m, m->x, 1), A), -1), 0);
}

static void moved(void **state) {
  (void)state;
  check(transpose_between, "QuantizeLinear Region DequantizeLinear");
  check(transpose_below, "QuantizeLinear Region DequantizeLinear Neg");
  check(transpose_first, "QuantizeLinear Region DequantizeLinear");
  check(transpose_shown, "QuantizeLinear Region DequantizeLinear DequantizeLinear");
  check(concat, "QuantizeLinear Region DequantizeLinear");
  check(pad_between, "QuantizeLinear Region DequantizeLinear");
  check(pad_zero_below, "QuantizeLinear Region DequantizeLinear Neg");
  check(pad_of_steps_below, "QuantizeLinear Region DequantizeLinear Neg");
}

static void moved_otherwise(void **state) {
  (void)state;
  /* what is joined is bytes: the parts are quantised as the whole will be */
  check(concat_of_others, "QuantizeLinear QuantTable QuantizeLinear QuantTable DequantizeLinear");
  check(pad_between_steps_below, "QuantizeLinear DequantizeLinear Region Neg");
  check(expand, "QuantizeLinear DequantizeLinear Region Neg");
  check(slice_first, "QuantizeLinear DequantizeLinear Neg Region");
}

/* ---- the largest ---- */

static int32_t largest(maker *m, int32_t x, int64_t kernel, int64_t pad) {
  const int64_t k[2] = {kernel, kernel}, p[4] = {pad, pad, pad, pad};
  const tn_attr size = tn_attr_ints("kernel_shape", (tn_ints){k, 2}),
                pads = tn_attr_ints("pads", (tn_ints){p, 4});
  return node_of(m, "MaxPool", &x, 1, (const tn_attr *const[]){&size, &pads}, 2);
}
static int32_t max_between(maker *m) { return both(m, largest(m, both(m, m->x, A), 3, 1), A); }
static int32_t max_of_i8(maker *m) { return both(m, largest(m, both(m, m->x, S), 3, 1), S); }
static int32_t max_other_scale(maker *m) { return both(m, largest(m, both(m, m->x, A), 3, 1), B); }
static int32_t max_no_pads(maker *m) {
  return op(m, "Neg", largest(m, both(m, m->x, A), 1, 0), -1);
}

static void largest_of_bytes(void **state) {
  (void)state;
  check(max_between, "QuantizeLinear MaxPool DequantizeLinear");
  check(max_of_i8, "QuantizeLinear MaxPool DequantizeLinear");
  check(max_no_pads, "QuantizeLinear MaxPool DequantizeLinear Neg");
  check(max_other_scale, "QuantizeLinear DequantizeLinear MaxPool QuantizeLinear DequantizeLinear");
}

/* ---- picked ---- */

static int32_t gathered(maker *m, int32_t x) {
  const int64_t order[C] = {2, 0, 2, 1};
  const tn_attr axis = tn_attr_int("axis", 1);
  return op_with(m, "Gather", x, ints(m, order, C), &axis);
}
static int32_t gather_between(maker *m) { return both(m, gathered(m, both(m, m->x, A)), A); }
static int32_t gather_below(maker *m) { return op(m, "Neg", gathered(m, both(m, m->x, A)), -1); }

/* Of half of the rows, so that the output has as many elements as the input. */
static int32_t resized(maker *m, const char *mode, numbers q) {
  const int64_t start = 2, end = 2 + SIDE / 2, axis = 2;
  const float scales[4] = {1, 1, 2, 1};
  const int64_t n = 4;
  const int32_t x = both(m, m->x, A),
                inputs[4] = {x, ints(m, &start, 1), ints(m, &end, 1), ints(m, &axis, 1)},
                rows = node_of(m, "Slice", inputs, 4, NULL, 0),
                to[3] = {rows, -1, constant(m, TN_F32, 1, &n, scales)};
  const tn_attr how = tn_attr_str("mode", mode);
  return both(m, node_of(m, "Resize", to, 3, (const tn_attr *const[]){&how}, 1), q);
}
static int32_t nearest(maker *m) { return resized(m, "nearest", A); }
static int32_t nearest_other(maker *m) { return resized(m, "nearest", B); }
static int32_t linear(maker *m) { return resized(m, "linear", A); }

static void picked(void **state) {
  (void)state;
  check(gather_between, "QuantizeLinear Gather DequantizeLinear");
  check(gather_below, "QuantizeLinear Gather DequantizeLinear Neg");
  check(nearest, "QuantizeLinear Region Resize DequantizeLinear");
  check(nearest_other,
        "QuantizeLinear Region DequantizeLinear Resize QuantizeLinear "
        "DequantizeLinear");
  check(linear, "QuantizeLinear Region DequantizeLinear Resize QuantizeLinear DequantizeLinear");
}

/* ---- cut off ---- */

static int32_t clipped(maker *m, int32_t x, float lo, float hi) {
  return node_of(m, "Clip", (const int32_t[]){x, number(m, lo), number(m, hi)}, 3, NULL, 0);
}
static int32_t relu_i8(maker *m) { return both(m, op(m, "Relu", m->x, -1), I); }
static int32_t clip_i8(maker *m) { return both(m, clipped(m, m->x, 0, 255 * 0.05f), I); }
static int32_t clip_less(maker *m) { return both(m, clipped(m, m->x, 0, 250 * 0.05f), I); }
static int32_t relu_symmetric(maker *m) { return both(m, op(m, "Relu", m->x, -1), S); }
static int32_t relu_shown(maker *m) {
  m->also = op(m, "Relu", m->x, -1);
  return both(m, m->also, I);
}

static void cut_off(void **state) {
  (void)state;
  check(relu_i8, "QuantizeLinear DequantizeLinear");
  check(clip_i8, "QuantizeLinear DequantizeLinear");
  check(clip_less, "Clip QuantizeLinear DequantizeLinear");
  check(relu_symmetric, "Relu QuantizeLinear DequantizeLinear");
  check(relu_shown, "Relu QuantizeLinear DequantizeLinear");
}

/* ---- functions of one value ---- */

static int32_t swish(maker *m) { /* as it is written with a pair behind the Sigmoid */
  const int32_t x = both(m, m->x, A),
                gate = both(m, op(m, "Sigmoid", x, -1), (numbers){1 / 256.0f, 0, false});
  return both(m, op(m, "Mul", x, gate), B);
}
static int32_t leaky_relu(maker *m) {
  const tn_attr alpha = tn_attr_float("alpha", 0.1);
  return both(m, op_with(m, "LeakyRelu", both(m, m->x, S), -1, &alpha), S);
}
static int32_t several(maker *m) {
  const int32_t x = op(m, "Add", both(m, m->x, S), number(m, 3));
  return both(m, clipped(m, op(m, "Tanh", op(m, "Mul", x, number(m, 0.3f)), -1), -0.5f, 0.9f), I);
}
static int32_t of_two_values(maker *m) {
  return both(m, op(m, "Mul", both(m, m->x, A), both(m, m->x, B)), Y);
}
static int32_t function_shown(maker *m) {
  m->also = op(m, "Sigmoid", both(m, m->x, A), -1);
  return both(m, m->also, Y);
}
static int32_t by_a_row(maker *m) {
  static const float row[SIDE] = {1, 2, 3, 4, 5, 6, 7, 8};
  const int64_t n = SIDE;
  return both(m, op(m, "Mul", both(m, m->x, A), constant(m, TN_F32, 1, &n, row)), Y);
}

static void functions(void **state) {
  (void)state;
  check(swish, "QuantizeLinear QuantTable DequantizeLinear");
  check(leaky_relu, "QuantizeLinear QuantTable DequantizeLinear");
  check(several, "QuantizeLinear QuantTable DequantizeLinear");
}

static void other_functions(void **state) {
  (void)state;
  check(function_shown, "QuantizeLinear DequantizeLinear Sigmoid QuantizeLinear DequantizeLinear");
  check(by_a_row, "QuantizeLinear DequantizeLinear Mul QuantizeLinear DequantizeLinear");
}

/* ---- sums ---- */

static int32_t turned(maker *m) { return op(m, "Neg", m->x, -1); }
static int32_t sum(maker *m, numbers a, numbers b) {
  return op(m, "Add", both(m, m->x, a), both(m, turned(m), b));
}
static int32_t sum_u8(maker *m) { return both(m, sum(m, A, B), Y); }
static int32_t sum_mixed(maker *m) { return both(m, sum(m, A, I), S); }
static int32_t sum_relu(maker *m) { return both(m, op(m, "Relu", sum(m, A, I), -1), Y); }
static int32_t sum_clip(maker *m) { return both(m, clipped(m, sum(m, A, S), -0.4f, 5.3f), S); }
static int32_t sum_shown(maker *m) {
  m->also = sum(m, A, B);
  return both(m, m->also, Y);
}
static int32_t sum_of_one_plain(maker *m) {
  return both(m, op(m, "Add", both(m, m->x, A), turned(m)), Y);
}
static int32_t sum_of_row(maker *m) {
  const int64_t start = 0, end = 1, axis = 1;
  const int32_t inputs[4] = {m->x, ints(m, &start, 1), ints(m, &end, 1), ints(m, &axis, 1)};
  const int32_t row = both(m, node_of(m, "Slice", inputs, 4, NULL, 0), B);
  return both(m, op(m, "Add", both(m, m->x, A), row), Y);
}

#define QUANTIZED "Neg QuantizeLinear QuantizeLinear "

static void sums(void **state) {
  (void)state;
  check(sum_u8, QUANTIZED "QuantAdd DequantizeLinear");
  check(sum_mixed, QUANTIZED "QuantAdd DequantizeLinear");
  check(sum_relu, QUANTIZED "QuantAdd DequantizeLinear");
  check(sum_clip, QUANTIZED "QuantAdd DequantizeLinear");
  check(sum_of_row, "QuantizeLinear QuantizeLinear QuantAdd DequantizeLinear");
  check(of_two_values, "QuantizeLinear QuantizeLinear QuantMul DequantizeLinear");
}

static void other_sums(void **state) {
  (void)state;
  check(sum_shown, "Neg " TWO_PAIRS " Add QuantizeLinear DequantizeLinear");
  check(sum_of_one_plain,
        "Neg QuantizeLinear DequantizeLinear Add QuantizeLinear DequantizeLinear");
}

/* ---- dims that are known only when it runs ---- */

static int32_t convolution(maker *m) {
  static const int8_t weights[C * C] = {1, -2, 3, 4, 5, -6, 7, 8, -9, 1, 2, 3, 4, 5, 6, -7};
  const int64_t dims[4] = {C, C, 1, 1};
  const int32_t w = constant(m, TN_I8, 4, dims, weights);
  const int32_t f = op(m, "DequantizeLinear", w, number(m, 0.02f));
  return both(m, op(m, "Conv", both(m, m->x, A), f), Y);
}

/* The weights wait as integers for the plan that sees how the convolution can be done. */
static void open_dims(void **state) {
  (void)state;
  if (!(tn_cpu_isa() & (TN_ISA_AVX512_VNNI | TN_ISA_AVX_VNNI | TN_ISA_AVX2 | TN_ISA_NEON))) skip();
  float y[N];
  char ops[KIT_MAX_TEXT];
  kit_open = true;
  run(convolution, 0, ops, y);
  assert_non_null(strstr(ops, "QuantConv"));
  check(max_between, "QuantizeLinear MaxPool DequantizeLinear");
  check(sum_u8, QUANTIZED "QuantAdd DequantizeLinear");
  kit_open = false;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(quantised_twice),
                                     cmocka_unit_test(quantised_otherwise),
                                     cmocka_unit_test(moved),
                                     cmocka_unit_test(largest_of_bytes),
                                     cmocka_unit_test(picked),
                                     cmocka_unit_test(cut_off),
                                     cmocka_unit_test(sums),
                                     cmocka_unit_test(moved_otherwise),
                                     cmocka_unit_test(other_sums),
                                     cmocka_unit_test(open_dims),
                                     cmocka_unit_test(functions),
                                     cmocka_unit_test(other_functions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
