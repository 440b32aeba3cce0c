/* Products that spell out an activation: they become one node, and answer the same as unfused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/lower.h"
#include "tenon/tenon.h"

enum { N = 101 };

typedef struct maker {
  const tn_graph_api *api;
  tn_graph *graph;
  int32_t x;
} maker;

static int32_t number(maker *m, float value) {
  const tn_tensor data = tn_tensor_make(TN_F32, 0, NULL, &value);
  const int32_t id = m->api->value(m->graph, NULL);
  assert_int_equal(m->api->value_set_const(m->graph, id, &data, 1), TN_OK);
  return id;
}

static int32_t op_with(maker *m, const char *op, int32_t a, int32_t b, const tn_attr *const *attrs,
                       uint32_t n_attrs) {
  const int32_t inputs[2] = {a, b}, out = m->api->value(m->graph, NULL);
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = "",
                        .op = op,
                        .name = "",
                        .inputs = inputs,
                        .n_inputs = b < 0 ? 1 : 2,
                        .outputs = &out,
                        .n_outputs = 1,
                        .attrs = attrs,
                        .n_attrs = n_attrs,
                        .offset = -1};
  assert_true(m->api->add_node(m->graph, &node) >= 0);
  return out;
}
static int32_t op(maker *m, const char *name, int32_t a, int32_t b) {
  return op_with(m, name, a, b, NULL, 0);
}

static int32_t relu6_of_sum(maker *m) {
  const int32_t inputs[3] = {op(m, "Add", m->x, number(m, 3)), number(m, 0), number(m, 6)},
                out = m->api->value(m->graph, NULL);
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = "",
                        .op = "Clip",
                        .name = "",
                        .inputs = inputs,
                        .n_inputs = 3,
                        .outputs = &out,
                        .n_outputs = 1,
                        .offset = -1};
  assert_true(m->api->add_node(m->graph, &node) >= 0);
  return out;
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
  const tn_attr alpha = tn_attr_float("alpha", 1.0 / 6), *attrs[] = {&alpha};
  return op(m, "Mul", m->x, op_with(m, "HardSigmoid", m->x, -1, attrs, 1));
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

/* Near misses */
static int32_t half_swish(maker *m) { return op(m, "Mul", swish(m), number(m, 0.5f)); }
static int32_t wrong_constant(maker *m) {
  return op(m, "Mul", op(m, "Mul", m->x, erf_weight(m)), number(m, 0.501f));
}
static int32_t other_operand(maker *m) {
  return op(m, "Mul", op(m, "Neg", m->x, -1), op(m, "Sigmoid", m->x, -1));
}

/* ---- running ---- */

static void run(int32_t (*make)(maker *), uint32_t flags, char *ops, size_t size, float *y) {
  tn_runtime *runtime = NULL;
  tn_model *model = NULL;
  tn_session *session = NULL;
  tn_diag *diag = tn_diag_create();
  const int64_t dims[] = {N};
  float x[N];
  for (int i = 0; i < N; i++) x[i] = (float)(i - N / 2) / 8;
  assert_int_equal(tn_runtime_create(NULL, diag, &runtime), TN_OK);
  maker m = {.api = tn_graph_functions()};
  assert_int_equal(tn_graph_create(runtime, &m.graph), TN_OK);
  assert_int_equal(m.api->set_opset(m.graph, "", 20), TN_OK);
  m.x = m.api->value(m.graph, "x");
  const tn_tensor in = tn_tensor_make(TN_F32, 1, dims, x);
  assert_int_equal(m.api->value_set_type(m.graph, m.x, &in), TN_OK);
  assert_int_equal(m.api->add_input(m.graph, m.x), TN_OK);
  assert_int_equal(m.api->add_output(m.graph, make(&m)), TN_OK);
  const tn_model_options options = {.head = TN_HEAD(tn_model_options), .flags = flags};
  if (tn_model_from_graph_take(runtime, m.graph, &options, diag, &model))
    fail_msg("%s", tn_diag_text(diag));
  assert_int_equal(tn_session_create(model, diag, &session), TN_OK);
  assert_int_equal(tn_session_set_input(session, 0, &in, diag), TN_OK);
  if (tn_session_run(session, diag)) fail_msg("%s", tn_diag_text(diag));
  memcpy(y, tn_session_output(session, 0)->data, sizeof x);
  tn_step_info step = {.head = TN_HEAD(tn_step_info)};
  ops[0] = 0;
  for (int32_t k = 0; !tn_session_step(session, k, &step); k++) {
    snprintf(ops + strlen(ops), size - strlen(ops), "%s%s", k ? " " : "", step.op);
  }
  tn_session_destroy(session);
  tn_model_destroy(model);
  tn_runtime_destroy(runtime);
  tn_diag_destroy(diag);
}

static void becomes(int32_t (*make)(maker *), const char *expected) {
  char fused[256], spelt[256];
  float y[N], want[N];
  run(make, 0, fused, sizeof fused, y);
  run(make, TN_MODEL_NO_OPTIMIZE, spelt, sizeof spelt, want);
  assert_string_equal(fused, expected);
  assert_string_not_equal(spelt, expected);
  for (int i = 0; i < N; i++) {
    if (!(fabsf(y[i] - want[i]) <= 1e-5f * (1 + fabsf(want[i]))))
      fail_msg("%s, element %d: %g, not %g", spelt, i, (double)y[i], (double)want[i]);
  }
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
}

static void stays(int32_t (*make)(maker *), const char *op_name) {
  char ops[256];
  float y[N];
  run(make, 0, ops, sizeof ops, y);
  assert_null(strstr(ops, op_name));
}

static void left_alone(void **state) {
  (void)state;
  stays(wrong_constant, "Gelu");
  stays(other_operand, "Swish");
  char ops[256];
  float y[N];
  run(half_swish, 0, ops, sizeof ops, y);
  assert_string_equal(ops, "Swish Mul");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(fused), cmocka_unit_test(left_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
