/* Two broadcast f32 tensors as C. */
#include "tenon/experimental/emit_elementwise.h"

static const char *refuse(const tn_call *call) {
  tn_broadcast b;
  const char *why = tn_emit_refuse_f32(call);
  if (why) return why;
  if (call->n_inputs != 2) return "takes two inputs";
  if (tn_broadcast_init(&b, call->outputs[0], 2, call->inputs)) return "its shapes do not fit";
  return b.rank > TN_MAX_RANK ? "takes no more than 8 dims" : NULL;
}

static void emit(const tn_emit *e, const char *name, const char *value) {
  tn_broadcast b;
  if (tn_broadcast_init(&b, e->call->outputs[0], 2, e->call->inputs)) return;
  tn_emit_binary_line(e, name, value, &b, 0, e->input(e, 0), e->input(e, 1), e->output(e, 0));
}

#define BINARY(op, text, value)                                             \
  static void emit_##op(const tn_emit *e) { emit(e, "apply_" #op, value); } \
  static const tn_emitter op##_emitter = {.head = TN_HEAD(tn_emitter),      \
                                          .kernel = text,                   \
                                          .flags = TN_EMIT_IN_PLACE,        \
                                          .refuse = refuse,                 \
                                          .emit = emit_##op};
BINARY(add, "add_float_c", "a + b")
BINARY(sum, "sum_float_c", "a + b")
BINARY(sub, "sub_float_c", "a - b")
BINARY(mul, "mul_float_c", "a * b")
BINARY(div, "div_float_c", "a / b")
BINARY(max, "max_float_c", "(a > b || a != a) ? a : b")
BINARY(min, "min_float_c", "(a < b || a != a) ? a : b")
BINARY(p_relu, "p_relu_float_c", "a < 0.0f ? a * b : a")

/* ---- Pow: what pow_special() of binary_f32.h computes without powf, whose last bit differs
 * between C libraries ---- */

static const struct power {
  float exponent;
  tn_emit_map map;
} powers[] = {
    {1.0f, {"power_1", "x", 0}},
    {2.0f, {"power_2", "x * x", 0}},
    {3.0f, {"power_3", "x * x * x", 0}},
    {-1.0f, {"power_minus_1", "1.0f / x", 0}},
    {0.5f, {"power_half", "x == -INFINITY ? INFINITY : sqrtf(x) + 0.0f", 0}},
};

static const tn_emit_map *power_of(const tn_call *call) {
  const tn_tensor *e = call->inputs[1];
  if (!e->data || tn_elements(e) != 1) return NULL;
  for (uint64_t k = 0; k < sizeof powers / sizeof *powers; k++)
    if (*(const float *)e->data == powers[k].exponent) return &powers[k].map;
  return NULL;
}

static const char *refuse_pow(const tn_call *call) {
  const char *why = refuse(call);
  if (why) return why;
  return power_of(call) && tn_elements(call->inputs[0]) == tn_elements(call->outputs[0])
             ? NULL
             : "takes one constant exponent: 1, 2, 3, -1 or 0.5";
}

static void emit_pow(const tn_emit *e) { tn_emit_map_step(e, power_of(e->call), 0, 0); }

static const tn_emitter pow_emitter = {.head = TN_HEAD(tn_emitter),
                                       .kernel = "pow_float_c",
                                       .flags = TN_EMIT_IN_PLACE,
                                       .refuse = refuse_pow,
                                       .emit = emit_pow};

const tn_emitter *const binary_emitters[] = {
    &add_emitter, &sum_emitter, &sub_emitter,    &mul_emitter, &div_emitter,
    &max_emitter, &min_emitter, &p_relu_emitter, &pow_emitter, NULL};
