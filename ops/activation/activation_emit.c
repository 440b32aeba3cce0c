/* Activations of f32 as C: the formulas of activation_f32.h. */
#include "activation.gen.h"
#include "tenon/experimental/emit_elementwise.h"
#include "tenon/kit/element.h"

#define EMITTER(op, why)                                               \
  static const tn_emitter op##_emitter = {.head = TN_HEAD(tn_emitter), \
                                          .kernel = #op "_float_c",    \
                                          .flags = TN_EMIT_IN_PLACE,   \
                                          .refuse = why,               \
                                          .emit = op##_emit};
#define NO_ATTR 0, 0
#define ATTR(op, name) ((const tn_##op##_attrs *)e->call->attrs)->name

#define ACTIVATION(op, n, parameters, value)          \
  static void op##_emit(const tn_emit *e) {           \
    const tn_emit_map map = {"apply_" #op, value, n}; \
    tn_emit_map_step(e, &map, parameters);            \
  }                                                   \
  EMITTER(op, tn_emit_refuse_f32)
#define ONE(op, name) ATTR(op, name), 0
#define TWO(op, first, second) ATTR(op, first), ATTR(op, second)

ACTIVATION(relu, 0, NO_ATTR, "x < 0.0f ? 0.0f : x")
ACTIVATION(leaky_relu, 1, ONE(leaky_relu, alpha), "x < 0.0f ? a * x : x")
ACTIVATION(elu, 1, ONE(elu, alpha), "x < 0.0f ? a * tn_expm1_f32(x) : x")
ACTIVATION(selu, 2, TWO(selu, alpha, gamma), "b * (x < 0.0f ? a * tn_expm1_f32(x) : x)")
ACTIVATION(celu, 1, ONE(celu, alpha), "x < 0.0f ? a * tn_expm1_f32(x / a) : x")
ACTIVATION(sigmoid, 0, NO_ATTR, "tn_sigmoid_f32(x)")
ACTIVATION(hard_sigmoid, 2, TWO(hard_sigmoid, alpha, beta), "tn_clamp_f32(a * x + b, 0.0f, 1.0f)")
ACTIVATION(hard_swish, 0, NO_ATTR, "tn_hard_swish_f32(x)")
ACTIVATION(softplus, 0, NO_ATTR, "tn_softplus_f32(x)")
ACTIVATION(softsign, 0, NO_ATTR, "x / (1.0f + tn_abs_f32(x))")
ACTIVATION(mish, 0, NO_ATTR, "tn_mish_f32(x)")
ACTIVATION(thresholded_relu, 1, ONE(thresholded_relu, alpha), "x <= a ? 0.0f : x")

static void gelu_emit(const tn_emit *e) {
  const bool by_tanh = ATTR(gelu, approximate).data[0] == 't';
  const tn_emit_map exact = {"apply_gelu", "tn_gelu_f32(x)", 0};
  const tn_emit_map approximate = {"apply_gelu_tanh", "tn_gelu_tanh_f32(x)", 0};
  tn_emit_map_step(e, by_tanh ? &approximate : &exact, 0, 0);
}
EMITTER(gelu, tn_emit_refuse_f32)

static const char *swish_refuse(const tn_call *call) {
  if ((float)((const tn_swish_attrs *)call->attrs)->alpha != 1.0f) return "takes an alpha of 1";
  return tn_emit_refuse_f32(call);
}
static void swish_emit(const tn_emit *e) {
  const tn_emit_map map = {"apply_silu", "tn_silu_f32(x)", 0};
  tn_emit_map_step(e, &map, 0, 0);
}
EMITTER(swish, swish_refuse)

/* ---- Clip: the bounds are inputs ---- */

static const char *clip_refuse(const tn_call *call) {
  for (uint32_t k = 1; k < 3; k++)
    if (call->inputs[k] && !call->inputs[k]->data) return "takes constant bounds";
  return call->inputs[0]->dtype == TN_F32 ? NULL : "takes f32 only";
}
static double bound_of(const tn_tensor *t, double none) {
  return t ? tn_load_f64(t->dtype, t->data, 0) : none;
}
static void clip_emit(const tn_emit *e) {
  const tn_emit_map map = {"apply_clip", "tn_clamp_f32(x, a, b)", 2};
  const double lo = bound_of(e->call->inputs[1], -INFINITY);
  const double hi = bound_of(e->call->inputs[2], INFINITY);
  tn_emit_map_step(e, &map, lo, hi);
}
EMITTER(clip, clip_refuse)

const tn_emitter *const activation_emitters[] = {
    &relu_emitter,     &leaky_relu_emitter, &elu_emitter,          &selu_emitter,
    &celu_emitter,     &sigmoid_emitter,    &hard_sigmoid_emitter, &hard_swish_emitter,
    &softplus_emitter, &softsign_emitter,   &mish_emitter,         &thresholded_relu_emitter,
    &gelu_emitter,     &swish_emitter,      &clip_emitter,         NULL};
