/* Comparisons, logic, and sums, products and quotients of integers as C. */
#include "tenon/experimental/emit_elementwise.h"

static const char *refuse_compare(const tn_call *call) { return tn_emit_refuse_zip(call, 2); }

static const char *refuse_integer(const tn_call *call) {
  const uint32_t type = call->outputs[0]->dtype;
  if (type != TN_I32 && type != TN_I64) return "takes i32 and i64 only";
  return tn_emit_refuse_zip(call, 2);
}

static void emit(const tn_emit *e, const char *op, const char *value) {
  const uint32_t type = e->call->inputs[0]->dtype;
  char name[64];
  tn_broadcast b;
  if (tn_broadcast_init(&b, e->call->outputs[0], 2, e->call->inputs)) return;
  snprintf(name, sizeof name, "%s_%s", op, tn_dtype(type)->name);
  const tn_emit_zip f = {name,
                         value,
                         {tn_emit_c_type(type), tn_emit_c_type(type), NULL},
                         tn_emit_c_type(e->call->outputs[0]->dtype)};
  tn_emit_zip_line(e, &f, &b, 0, (const char *const[]){e->input(e, 0), e->input(e, 1)},
                   e->output(e, 0));
}

#define TYPED(op, op_refuse, value)                                \
  static void op##_emit(const tn_emit *e) { emit(e, #op, value); } \
  static const tn_emitter op##_emitter = {                         \
      .head = TN_HEAD(tn_emitter), .kernel = #op "_c", .refuse = op_refuse, .emit = op##_emit};
TYPED(equal, refuse_compare, "a == b")
TYPED(less, refuse_compare, "a < b")
TYPED(greater, refuse_compare, "a > b")
TYPED(less_or_equal, refuse_compare, "a <= b")
TYPED(greater_or_equal, refuse_compare, "a >= b")
TYPED(and, refuse_compare, "(a != 0) & (b != 0)")
TYPED(or, refuse_compare, "(a != 0) | (b != 0)")
TYPED(xor, refuse_compare, "(a != 0) ^ (b != 0)")

/* Integers wrap. */
#define WRAPPING(op, sign)                                                                      \
  static void op##_emit(const tn_emit *e) {                                                     \
    emit(e, #op,                                                                                \
         e->call->outputs[0]->dtype == TN_I32 ? "(int32_t)((uint32_t)a " sign " (uint32_t)b)"   \
                                              : "(int64_t)((uint64_t)a " sign " (uint64_t)b)"); \
  }                                                                                             \
  static const tn_emitter op##_emitter = {.head = TN_HEAD(tn_emitter),                          \
                                          .kernel = #op "_c",                                   \
                                          .refuse = refuse_integer,                             \
                                          .emit = op##_emit};
WRAPPING(add, "+")
WRAPPING(sub, "-")
WRAPPING(mul, "*")

/* Division by zero is 0, and the lowest number divided by -1 is itself. */
static void div_emit(const tn_emit *e) {
  emit(e, "div",
       e->call->outputs[0]->dtype == TN_I32
           ? "b == 0 ? 0 : b == -1 ? (int32_t)(0u - (uint32_t)a) : a / b"
           : "b == 0 ? 0 : b == -1 ? (int64_t)((uint64_t)0 - (uint64_t)a) : a / b");
}
static const tn_emitter div_emitter = {
    .head = TN_HEAD(tn_emitter), .kernel = "div_c", .refuse = refuse_integer, .emit = div_emit};

const tn_emitter *const typed_emitters[] = {&equal_emitter,
                                            &less_emitter,
                                            &greater_emitter,
                                            &less_or_equal_emitter,
                                            &greater_or_equal_emitter,
                                            &and_emitter,
                                            &or_emitter,
                                            &xor_emitter,
                                            &add_emitter,
                                            &sub_emitter,
                                            &mul_emitter,
                                            &div_emitter,
                                            NULL};
