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

const tn_emitter *const binary_emitters[] = {&add_emitter, &sum_emitter,    &sub_emitter,
                                             &mul_emitter, &div_emitter,    &max_emitter,
                                             &min_emitter, &p_relu_emitter, NULL};
