/* What dynamic and static quantisation make of a matrix product becomes tenon::QuantMatMul, with
 * its bias and the quantisation behind it, and answers the same; others stay as they are. */
#include "base/cpu.h"
#include "fuse_kit.h"

enum { N = 8 }; /* x and the weights are [N, N] */

/* ---- parts of graphs ---- */

static const int64_t square[2] = {N, N}, row[1] = {N}, column[2] = {N, 1};

static int32_t bytes(maker *m, uint32_t dtype) {
  uint8_t data[N * N];
  for (int i = 0; i < N * N; i++) data[i] = (uint8_t)(i * 37 + i / N * 11);
  return constant(m, dtype, 2, square, data);
}
static int32_t floats(maker *m, int32_t rank, const int64_t *dims, float first) {
  float data[N];
  for (int i = 0; i < N; i++) data[i] = first * (float)(i + 1);
  return constant(m, TN_F32, rank, dims, data);
}
static int32_t scales(maker *m) { return floats(m, 1, row, 0.004f); }
static int32_t bias(maker *m) { return floats(m, 1, row, -0.3f); }
static int32_t zero(maker *m, uint32_t dtype, int value) {
  const uint8_t z = (uint8_t)value;
  return constant(m, dtype, 0, NULL, &z);
}
static int32_t zeros(maker *m, uint32_t dtype, int first, int step) { /* one per column */
  uint8_t data[N];
  for (int i = 0; i < N; i++) data[i] = (uint8_t)(first + i * step);
  return constant(m, dtype, 1, row, data);
}
static int32_t op3(maker *m, const char *op, int32_t a, int32_t b, int32_t c) {
  return node_of(m, op, (const int32_t[]){a, b, c}, 3, NULL, 0);
}
static int32_t op3_axis(maker *m, const char *op, int32_t a, int32_t b, int32_t c, int64_t axis) {
  const tn_attr attr = tn_attr_int("axis", axis);
  return node_of(m, op, (const int32_t[]){a, b, c}, 3, (const tn_attr *const[]){&attr}, 1);
}
static int32_t to_f32(maker *m, int32_t x) {
  const tn_attr to = tn_attr_int("to", 1);
  return op_with(m, "Cast", x, -1, &to);
}
static int32_t scaled(maker *m, int32_t a, int32_t b) { return op(m, "Mul", a, b); }

/* ---- dynamic quantisation ---- */

enum { Q, SCALE, ZERO };

static void quantised_x(maker *m, int32_t out[3]) {
  for (int k = 0; k < 3; k++) out[k] = m->api->value(m->graph, NULL);
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = "",
                        .op = "DynamicQuantizeLinear",
                        .name = "",
                        .inputs = &m->x,
                        .n_inputs = 1,
                        .outputs = out,
                        .n_outputs = 3,
                        .offset = -1};
  assert_true(m->api->add_node(m->graph, &node) >= 0);
}

static int32_t product(maker *m, const int32_t x[3], int32_t b, int32_t b_zero) {
  const int32_t inputs[4] = {x[Q], b, x[ZERO], b_zero};
  return node_of(m, "MatMulInteger", inputs, b_zero < 0 ? 3 : 4, NULL, 0);
}

static int32_t per_column(maker *m) {
  int32_t x[3];
  quantised_x(m, x);
  const int32_t y = product(m, x, bytes(m, TN_I8), zeros(m, TN_I8, 0, 0));
  return op(m, "Add", scaled(m, to_f32(m, y), scaled(m, x[SCALE], scales(m))), bias(m));
}
static int32_t per_tensor(maker *m) {
  int32_t x[3];
  quantised_x(m, x);
  const int32_t y = product(m, x, bytes(m, TN_I8), -1);
  return scaled(m, scaled(m, number(m, 0.01f), x[SCALE]), to_f32(m, y));
}
static int32_t shifted(maker *m) { /* u8, of which 128 stands for 0 */
  int32_t x[3];
  quantised_x(m, x);
  const int32_t y = product(m, x, bytes(m, TN_U8), zero(m, TN_U8, 128));
  return scaled(m, to_f32(m, y), scaled(m, x[SCALE], number(m, 0.01f)));
}
static int32_t asymmetric(maker *m) {
  int32_t x[3];
  quantised_x(m, x);
  const int32_t y = product(m, x, bytes(m, TN_U8), zeros(m, TN_U8, 100, 9));
  return op(m, "Add", bias(m), scaled(m, to_f32(m, y), scaled(m, x[SCALE], scales(m))));
}
static int32_t known_scale(maker *m) { /* the product of scales is a constant */
  int32_t x[3];
  quantised_x(m, x);
  return scaled(m, to_f32(m, product(m, x, bytes(m, TN_I8), -1)), scales(m));
}
static int32_t row_of_ints(maker *m) {
  int32_t data[N];
  for (int i = 0; i < N; i++) data[i] = 1000 * (i - 3);
  return constant(m, TN_I32, 1, row, data);
}
static int32_t sums_and_row(maker *m) { /* as QGemm is spelt out */
  int32_t x[3];
  quantised_x(m, x);
  const int32_t y = op(m, "Add", product(m, x, bytes(m, TN_I8), -1), row_of_ints(m));
  return scaled(m, to_f32(m, y), scales(m));
}
static int32_t residual(maker *m) { return op(m, "Add", per_tensor(m), m->x); }

static int32_t sums_are_read(maker *m) {
  int32_t x[3];
  quantised_x(m, x);
  m->also = to_f32(m, product(m, x, bytes(m, TN_I8), -1));
  return scaled(m, m->also, scaled(m, x[SCALE], scales(m)));
}
static int32_t row_of_unknown_scale(maker *m) {
  int32_t x[3];
  quantised_x(m, x);
  const int32_t y = op(m, "Add", product(m, x, bytes(m, TN_I8), -1), row_of_ints(m));
  return scaled(m, to_f32(m, y), scaled(m, x[SCALE], scales(m)));
}
static int32_t weights_vary(maker *m) {
  int32_t x[3];
  quantised_x(m, x);
  return scaled(m, to_f32(m, product(m, x, x[Q], x[ZERO])), scaled(m, x[SCALE], x[SCALE]));
}
static int32_t scale_per_row(maker *m) {
  int32_t x[3];
  quantised_x(m, x);
  const int32_t y = product(m, x, bytes(m, TN_I8), -1);
  return scaled(m, to_f32(m, y), scaled(m, x[SCALE], floats(m, 2, column, 0.01f)));
}
static int32_t zero_per_row(maker *m) {
  int32_t x[3];
  quantised_x(m, x);
  x[ZERO] = zeros(m, TN_U8, 3, 1);
  const int32_t y = product(m, x, bytes(m, TN_I8), -1);
  return scaled(m, to_f32(m, y), scaled(m, x[SCALE], scales(m)));
}

/* ---- static quantisation ---- */

static int32_t dequantised_x(maker *m, uint32_t dtype, int value) {
  const int32_t scale = number(m, 0.0625f), z = zero(m, dtype, value);
  return op3(m, "DequantizeLinear", op3(m, "QuantizeLinear", m->x, scale, z), scale, z);
}
static int32_t weights(maker *m, int64_t axis) {
  return op3_axis(m, "DequantizeLinear", bytes(m, TN_I8), scales(m), zeros(m, TN_I8, 0, 0), axis);
}
static int32_t quantised(maker *m, int32_t y, uint32_t dtype, int value) {
  const int32_t scale = number(m, 0.25f), z = zero(m, dtype, value);
  return op3(m, "DequantizeLinear", op3(m, "QuantizeLinear", y, scale, z), scale, z);
}

static int32_t to_float(maker *m) {
  return op(m, "MatMul", dequantised_x(m, TN_U8, 120), weights(m, 1));
}
static int32_t with_bias(maker *m) { return op(m, "Add", to_float(m), bias(m)); }
static int32_t to_bytes(maker *m) {
  const int32_t y = op(m, "MatMul", dequantised_x(m, TN_I8, -7), weights(m, -1));
  return quantised(m, op(m, "Add", y, bias(m)), TN_I8, -9);
}
static int32_t relu(maker *m) { return quantised(m, op(m, "Relu", with_bias(m), -1), TN_U8, 10); }
static int32_t clip(maker *m) {
  const int32_t y = op3(m, "Clip", with_bias(m), number(m, -1.1f), number(m, 5.3f));
  return quantised(m, y, TN_U8, 100);
}
static int32_t clip_beyond(maker *m) { /* all of it saturates */
  const int32_t y = op3(m, "Clip", with_bias(m), number(m, 10), number(m, 20));
  return quantised(m, y, TN_I8, 100);
}
static int32_t clip_below(maker *m) {
  const int32_t y = op3(m, "Clip", with_bias(m), number(m, -20), number(m, -10));
  return quantised(m, y, TN_U8, 10);
}
static int32_t gemm_of(maker *m, int64_t axis, float alpha) {
  const tn_attr trans = tn_attr_int("transB", 1), a = tn_attr_float("alpha", (double)alpha);
  const int32_t c = op(m, "DequantizeLinear", row_of_ints(m), number(m, 0.0005f)),
                inputs[3] = {dequantised_x(m, TN_U8, 120), weights(m, axis), c};
  return node_of(m, "Gemm", inputs, 3, (const tn_attr *const[]){&trans, &a}, 2);
}
static int32_t gemm(maker *m) { return quantised(m, gemm_of(m, 0, 1), TN_U8, 128); }
static int32_t qlinear_of(maker *m, uint32_t dtype, int b_zero) {
  const int32_t scale = number(m, 0.0625f), z = zero(m, TN_U8, 99), y_scale = number(m, 0.25f),
                y_zero = zero(m, TN_I8, 3);
  const int32_t inputs[8] = {op3(m, "QuantizeLinear", m->x, scale, z),
                             scale,
                             z,
                             bytes(m, dtype),
                             number(m, 0.01f),
                             zero(m, dtype, b_zero),
                             y_scale,
                             y_zero};
  return op3(m, "DequantizeLinear", node_of(m, "QLinearMatMul", inputs, 8, NULL, 0), y_scale,
             y_zero);
}
static int32_t qlinear(maker *m) { return qlinear_of(m, TN_I8, 0); }

static int32_t scale_along_sums(maker *m) {
  return op(m, "MatMul", dequantised_x(m, TN_U8, 120), weights(m, 0));
}
static int32_t gemm_along_sums(maker *m) { return gemm_of(m, 1, 1); }
static int32_t gemm_times_two(maker *m) { return gemm_of(m, 0, 2); }
static int32_t qlinear_asymmetric(maker *m) { return qlinear_of(m, TN_U8, 100); }
static int32_t only_weights(maker *m) { return op(m, "MatMul", m->x, weights(m, 1)); }

/* The product is f32 here, and quantised by the operator for that. */
static int32_t read_before(maker *m) {
  m->also = with_bias(m);
  return quantised(m, m->also, TN_U8, 10);
}
static int32_t asymmetric_again(maker *m) {
  const int32_t w =
      op3_axis(m, "DequantizeLinear", bytes(m, TN_I8), scales(m), zeros(m, TN_I8, 0, 1), 1);
  return quantised(m, op(m, "MatMul", dequantised_x(m, TN_U8, 120), w), TN_U8, 10);
}
static int32_t u8_again(maker *m, int b_zero) { /* without a zero point if that is 0 */
  const int32_t inputs[3] = {bytes(m, TN_U8), number(m, 0.01f), zero(m, TN_U8, b_zero)},
                w = node_of(m, "DequantizeLinear", inputs, b_zero ? 3 : 2, NULL, 0);
  return quantised(m, op(m, "MatMul", dequantised_x(m, TN_U8, 120), w), TN_U8, 10);
}
static int32_t u8_around_128(maker *m) { return u8_again(m, 128); }
static int32_t u8_from_0(maker *m) { return u8_again(m, 0); }

/* As a model may have it that was saved; any number but 0 transposes. */
static int32_t spelt_out(maker *m) {
  const int32_t scale = number(m, 0.0625f), z = zero(m, TN_U8, 120),
                out = m->api->value(m->graph, NULL),
                inputs[5] = {op3(m, "QuantizeLinear", m->x, scale, z), scale, z, bytes(m, TN_I8),
                             scales(m)};
  const tn_attr trans = tn_attr_int("transB", 2);
  assert_int_equal(m->api->set_opset(m->graph, "tenon", 1), TN_OK);
  const tn_attr *const attrs[1] = {&trans};
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = "tenon",
                        .op = "QuantMatMul",
                        .name = "",
                        .inputs = inputs,
                        .n_inputs = 5,
                        .outputs = &out,
                        .n_outputs = 1,
                        .attrs = attrs,
                        .n_attrs = 1,
                        .offset = -1};
  assert_true(m->api->add_node(m->graph, &node) >= 0);
  return quantised(m, op(m, "Relu", out, -1), TN_U8, 10);
}

/* ---- tests ---- */

static bool has_kernel(void) {
  return tn_cpu_isa() & (TN_ISA_AVX2 | TN_ISA_AVX_VNNI | TN_ISA_AVX512_VNNI | TN_ISA_NEON);
}

/* How often the word stands in the steps. */
static int count(const char *ops, const char *word) {
  int n = 0;
  for (const char *at = ops; (at = strstr(at, word)); at += strlen(word)) n++;
  return n;
}

/* quantizers: QuantizeLinear and its like that are left, of x and behind the product. */
static void check(make_fn make, bool fuses, int quantizers) {
  float x[N * N];
  char ops[KIT_MAX_TEXT];
  for (int i = 0; i < N * N; i++) x[i] = (float)(i * 29 % 31 - 12) / 7;
  const tn_tensor in = tn_tensor_make(TN_F32, 2, square, x);
  kit_check(make, &in, "QuantMatMul", fuses, ops);
  if (fuses && count(ops, "QuantizeLinear") != quantizers) fail_msg("the steps are %s", ops);
  if (fuses && count(ops, "Add") + count(ops, "Relu") + count(ops, "Clip") + count(ops, "Mul ") > 1)
    fail_msg("the steps are %s", ops);
}

static void dynamically(void **state) {
  (void)state;
  if (!has_kernel()) skip();
  check(per_column, true, 1);
  check(per_tensor, true, 1);
  check(shifted, true, 1);
  check(asymmetric, true, 1);
  check(known_scale, true, 1);
  check(sums_and_row, true, 1);
  check(residual, true, 1);
}

static void not_dynamically(void **state) {
  (void)state;
  if (!has_kernel()) skip();
  check(sums_are_read, false, 0);
  check(weights_vary, false, 0);
  check(row_of_unknown_scale, false, 0);
  check(scale_per_row, false, 0);
  check(zero_per_row, false, 0);
}

static void statically(void **state) {
  (void)state;
  if (!has_kernel()) skip();
  check(to_float, true, 1);
  check(with_bias, true, 1);
  check(to_bytes, true, 1);
  check(relu, true, 1);
  check(clip, true, 1);
  check(clip_beyond, true, 1);
  check(clip_below, true, 1);
  check(gemm, true, 1);
  check(qlinear, true, 1);
  check(read_before, true, 2);
  check(asymmetric_again, true, 1);
  check(u8_from_0, true, 1);
  check(qlinear_asymmetric, true, 1);
  check(u8_around_128, true, 1);
}

static void not_statically(void **state) {
  (void)state;
  if (!has_kernel()) skip();
  check(scale_along_sums, false, 0);
  check(gemm_along_sums, false, 0);
  check(gemm_times_two, false, 0);
  check(only_weights, false, 0);
}

static void of_the_model(void **state) {
  (void)state;
  if (!has_kernel()) skip();
  float x[N * N], y[N * N], want[N * N];
  char ops[KIT_MAX_TEXT], spelt[KIT_MAX_TEXT];
  for (int i = 0; i < N * N; i++) x[i] = (float)(i * 29 % 31 - 12) / 7;
  const tn_tensor in = tn_tensor_make(TN_F32, 2, square, x);
  kit_run(spelt_out, &in, 0, ops, y);
  kit_run(spelt_out, &in, TN_MODEL_NO_OPTIMIZE, spelt, want);
  if (count(ops, "QuantizeLinear") != 1) fail_msg("the steps are %s", ops);
  assert_memory_equal(y, want, sizeof y);
}

static void open_dims(void **state) { /* shapes are known when weights could long be folded */
  (void)state;
  if (!has_kernel()) skip();
  kit_open = true;
  check(per_column, true, 1);
  check(to_bytes, true, 1);
  check(gemm, true, 1);
  check(scale_along_sums, false, 0);
  kit_open = false;
}

static void pinned(void **state) {
  (void)state;
  kit_pin = "MatMulInteger=matmul_integer_c";
  check(per_column, false, 0);
  kit_pin = NULL;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dynamically),  cmocka_unit_test(not_dynamically),
      cmocka_unit_test(statically),   cmocka_unit_test(not_statically),
      cmocka_unit_test(of_the_model), cmocka_unit_test(open_dims),
      cmocka_unit_test(pinned)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
