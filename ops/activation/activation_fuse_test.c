/* Products, quotients and bounds that spell out an activation: they become one node, and answer
 * the same as unfused. */
#include "fuse_kit.h"

enum { N = 101 };

static int32_t relu6_of_sum(maker *m) {
  const int32_t inputs[3] = {op(m, "Add", m->x, number(m, 3)), number(m, 0), number(m, 6)};
  return node_of(m, "Clip", inputs, 3, NULL, 0);
}

/* ---- what is spelt out; each answers the value that is the output ---- */

static int32_t swish(maker *m) { return op(m, "Mul", op(m, "Sigmoid", m->x, -1), m->x); }
static int32_t quick_gelu(maker *m) {
  return op(m, "Mul", m->x, op(m, "Sigmoid", op(m, "Mul", m->x, number(m, 1.702f)), -1));
}
static int32_t mish(maker *m) {
  return op(m, "Mul", m->x, op(m, "Tanh", op(m, "Softplus", m->x, -1), -1));
}
static int32_t hard_swish_div(maker *m) {
  return op(m, "Div", op(m, "Mul", m->x, relu6_of_sum(m)), number(m, 6));
}
static int32_t hard_swish_mul(maker *m) {
  return op(m, "Mul", m->x, op(m, "Div", relu6_of_sum(m), number(m, 6)));
}
static int32_t hard_sigmoid(maker *m) { return op(m, "Mul", relu6_of_sum(m), number(m, 1.0f / 6)); }

static int32_t hard_swish_of_sigmoid(maker *m) {
  const tn_attr alpha = tn_attr_float("alpha", 1.0 / 6);
  return op(m, "Mul", m->x, op_with(m, "HardSigmoid", m->x, -1, &alpha));
}

static int32_t erf_weight(maker *m) {
  return op(m, "Add", op(m, "Erf", op(m, "Div", m->x, number(m, 1.41421356f)), -1), number(m, 1));
}
static int32_t gelu_torch(maker *m) {
  return op(m, "Mul", op(m, "Mul", m->x, erf_weight(m)), number(m, 0.5f));
}
static int32_t gelu_other(maker *m) {
  return op(m, "Mul", op(m, "Mul", number(m, 0.5f), m->x), erf_weight(m));
}

static int32_t tanh_weight(maker *m, int32_t angle) {
  return op(m, "Add", number(m, 1), op(m, "Tanh", angle, -1));
}
static int32_t gelu_tanh_pow(maker *m) {
  const int32_t cubic = op(m, "Mul", op(m, "Pow", m->x, number(m, 3)), number(m, 0.044715f));
  const int32_t angle = op(m, "Mul", op(m, "Add", m->x, cubic), number(m, 0.797884561f));
  return op(m, "Mul", op(m, "Mul", number(m, 0.5f), m->x), tanh_weight(m, angle));
}
static int32_t gelu_tanh_mul(maker *m) {
  const int32_t square = op(m, "Mul", op(m, "Mul", m->x, m->x), number(m, 0.044715f));
  const int32_t angle =
      op(m, "Mul", op(m, "Mul", m->x, number(m, 0.797884561f)), op(m, "Add", number(m, 1), square));
  return op(m, "Mul", m->x, op(m, "Mul", tanh_weight(m, angle), number(m, 0.5f)));
}

static int32_t one_and_exp(maker *m, int32_t x) {
  return op(m, "Add", number(m, 1), op(m, "Exp", x, -1));
}
static int32_t swish_quotient(maker *m) {
  return op(m, "Div", m->x, one_and_exp(m, op(m, "Neg", m->x, -1)));
}
static int32_t swish_of_half(maker *m) {
  return op(m, "Div", m->x, one_and_exp(m, op(m, "Mul", m->x, number(m, -0.5f))));
}
static int32_t sigmoid_quotient(maker *m) {
  return op(m, "Div", number(m, 1), one_and_exp(m, op(m, "Neg", m->x, -1)));
}
static int32_t mish_log(maker *m) {
  return op(m, "Mul", m->x, op(m, "Tanh", op(m, "Log", one_and_exp(m, m->x), -1), -1));
}
static int32_t hard_swish_min(maker *m) {
  const int32_t relu = op(m, "Relu", op(m, "Add", m->x, number(m, 3)), -1);
  return op(m, "Div", op(m, "Mul", m->x, op(m, "Min", relu, number(m, 6))), number(m, 6));
}
static int32_t min_of_max(maker *m) {
  return op(m, "Min", op(m, "Max", number(m, -1), m->x), number(m, 2));
}
static int32_t max_of_min(maker *m) {
  return op(m, "Max", op(m, "Min", m->x, number(m, 2)), number(m, -1));
}
static int32_t crossed(maker *m) { /* the upper bound wins */
  return op(m, "Min", op(m, "Max", m->x, number(m, 2)), number(m, 1));
}
static int32_t relu6(maker *m) { return op(m, "Min", op(m, "Relu", m->x, -1), number(m, 6)); }
static int32_t leaky_relu(maker *m) {
  return op(m, "Max", op(m, "Mul", m->x, number(m, 0.1f)), m->x);
}
static int32_t reduced(maker *m, const char *name, int32_t x) {
  const int64_t one = 1, axis = -1;
  return op(m, name, x, constant(m, TN_I64, 1, &one, &axis));
}
static int32_t softmax(maker *m) {
  const int32_t e = op(m, "Exp", op(m, "Sub", m->x, reduced(m, "ReduceMax", m->x)), -1);
  return op(m, "Div", e, reduced(m, "ReduceSum", e));
}

/* Near misses */
static int32_t max_of_min_crossed(maker *m) { /* the lower bound wins */
  return op(m, "Max", op(m, "Min", m->x, number(m, 1)), number(m, 2));
}
static int32_t steep(maker *m) { return op(m, "Max", op(m, "Mul", m->x, number(m, 1.5f)), m->x); }
static int32_t shifted_quotient(maker *m) {
  const int32_t e = op(m, "Exp", op(m, "Neg", m->x, -1), -1);
  return op(m, "Div", m->x, op(m, "Add", number(m, 2), e));
}
static int32_t softmax_of_another(maker *m) {
  const int32_t e = op(m, "Exp", op(m, "Sub", m->x, reduced(m, "ReduceMax", m->x)), -1);
  return op(m, "Div", e, reduced(m, "ReduceSum", op(m, "Abs", m->x, -1)));
}
static int32_t half_swish(maker *m) { return op(m, "Mul", swish(m), number(m, 0.5f)); }
static int32_t wrong_constant(maker *m) {
  return op(m, "Mul", op(m, "Mul", m->x, erf_weight(m)), number(m, 0.501f));
}
static int32_t other_operand(maker *m) {
  return op(m, "Mul", op(m, "Neg", m->x, -1), op(m, "Sigmoid", m->x, -1));
}

/* ---- running ---- */

static void check(make_fn make, const char *op_name, bool fuses, char ops[KIT_MAX_TEXT]) {
  const int64_t dims[] = {N};
  float x[N];
  for (int i = 0; i < N; i++) x[i] = (float)(i - N / 2) / 8;
  const tn_tensor in = tn_tensor_make(TN_F32, 1, dims, x);
  kit_check(make, &in, op_name, fuses, ops);
}

static void becomes(make_fn make, const char *expected) {
  char ops[KIT_MAX_TEXT];
  check(make, expected, true, ops);
  assert_string_equal(ops, expected);
}

static void fused(void **state) {
  (void)state;
  becomes(swish, "Swish");
  becomes(quick_gelu, "Swish");
  becomes(mish, "Mish");
  becomes(hard_swish_div, "HardSwish");
  becomes(hard_swish_mul, "HardSwish");
  becomes(hard_swish_of_sigmoid, "HardSwish");
  becomes(hard_sigmoid, "HardSigmoid");
  becomes(gelu_torch, "Gelu");
  becomes(gelu_other, "Gelu");
  becomes(gelu_tanh_pow, "Gelu");
  becomes(gelu_tanh_mul, "Gelu");
  becomes(swish_quotient, "Swish");
  becomes(swish_of_half, "Swish");
  becomes(sigmoid_quotient, "Sigmoid");
  becomes(mish_log, "Mish");
  becomes(hard_swish_min, "HardSwish");
  becomes(min_of_max, "Clip");
  becomes(max_of_min, "Clip");
  becomes(crossed, "Clip");
  becomes(relu6, "Clip");
  becomes(leaky_relu, "LeakyRelu");
  becomes(softmax, "Softmax");
}

static void stays(make_fn make, const char *op_name) {
  char ops[KIT_MAX_TEXT];
  check(make, op_name, false, ops);
}

static void left_alone(void **state) {
  (void)state;
  stays(wrong_constant, "Gelu");
  stays(other_operand, "Swish");
  stays(max_of_min_crossed, "Clip");
  stays(steep, "LeakyRelu");
  stays(shifted_quotient, "Swish");
  stays(softmax_of_another, "Softmax");
  char ops[KIT_MAX_TEXT];
  check(half_swish, "Swish", true, ops);
  assert_string_equal(ops, "Swish Mul");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(fused), cmocka_unit_test(left_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
