/* Functions of one f32 as C: the formulas of unary_f32.h. */
#include "tenon/experimental/emit_elementwise.h"

#define UNARY(op, value)                                                \
  static void op##_emit(const tn_emit *e) {                             \
    const tn_emit_map map = {"apply_" #op, value, 0};                   \
    tn_emit_map_step(e, &map, 0, 0);                                    \
  }                                                                     \
  static const tn_emitter op##_emitter = {.head = TN_HEAD(tn_emitter),  \
                                          .kernel = #op "_float_c",     \
                                          .flags = TN_EMIT_IN_PLACE,    \
                                          .refuse = tn_emit_refuse_f32, \
                                          .emit = op##_emit};
UNARY(abs, "tn_abs_f32(x)")
UNARY(neg, "-x")
UNARY(ceil, "ceilf(x)")
UNARY(floor, "floorf(x)")
UNARY(round, "rintf(x)")
UNARY(sqrt, "sqrtf(x)")
UNARY(reciprocal, "1.0f / x")
UNARY(exp, "tn_exp_f32(x)")
UNARY(log, "tn_log_f32(x)")
UNARY(tanh, "tn_tanh_f32(x)")
UNARY(erf, "tn_erf_f32(x)")
UNARY(asin, "tn_asin_f32(x)")
UNARY(acos, "tn_acos_f32(x)")
UNARY(atan, "tn_atan_f32(x)")
UNARY(sinh, "tn_sinh_f32(x)")
UNARY(cosh, "tn_cosh_f32(x)")
UNARY(asinh, "tn_asinh_f32(x)")
UNARY(acosh, "tn_acosh_f32(x)")
UNARY(atanh, "tn_atanh_f32(x)")
/* Where the kit's function serves, in f64 inside; beyond TN_SIN_MAX the kernel calls sinf, too. */
#define WITHIN(op) UNARY(op, "fabsf(x) <= TN_SIN_MAX ? tn_" #op "_f32(x) : " #op "f(x)")
WITHIN(sin)
WITHIN(cos)
WITHIN(tan)
UNARY(sign, "x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x == 0.0f ? 0.0f : x")

const tn_emitter *const unary_emitters[] = {
    &abs_emitter,   &neg_emitter,   &ceil_emitter,       &floor_emitter,
    &round_emitter, &sqrt_emitter,  &reciprocal_emitter, &exp_emitter,
    &log_emitter,   &tanh_emitter,  &erf_emitter,        &asin_emitter,
    &acos_emitter,  &atan_emitter,  &sinh_emitter,       &cosh_emitter,
    &asinh_emitter, &acosh_emitter, &atanh_emitter,      &sign_emitter,
    &sin_emitter,   &cos_emitter,   &tan_emitter,        NULL};
