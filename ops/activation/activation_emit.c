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
ACTIVATION(thresholded_relu, 1, ONE(thresholded_relu, alpha), "x > a ? x : 0.0f")

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

static const char *bounds_refuse(const tn_call *call) {
  for (uint32_t k = 1; k < 3; k++)
    if (call->inputs[k] && !call->inputs[k]->data) return "takes constant bounds";
  return NULL;
}
static const char *clip_refuse(const tn_call *call) {
  return call->inputs[0]->dtype == TN_F32 ? bounds_refuse(call) : "takes f32 only";
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

/* Integers that fit int32_t. */
static const char *clip_int_refuse(const tn_call *call) {
  switch (call->inputs[0]->dtype) {
    case TN_I8:
    case TN_I16:
    case TN_I32:
    case TN_U8:
    case TN_U16: return bounds_refuse(call);
    default: return "takes integers that fit 32 bits, and f32";
  }
}
static int64_t int_bound_of(const tn_tensor *t, int64_t none) {
  return t ? tn_load_i64(t->dtype, t->data, 0) : none;
}
static void clip_int_emit(const tn_emit *e) {
  const tn_tensor *x = e->call->inputs[0];
  const char *type = tn_emit_c_type(x->dtype);
  char name[32];
  snprintf(name, sizeof name, "clip_%s", tn_dtype(x->dtype)->name);
  e->function(e, name,
              "/* y[i] = x[i], within low .. high. */\n"
              "static void %s(const %s *x, %s *y, int32_t n, int32_t low, int32_t high) {\n"
              "  for (int32_t i = 0; i < n; i++) {\n"
              "    const int32_t raised = x[i] < low ? low : x[i];\n"
              "    y[i] = (%s)(raised > high ? high : raised);\n"
              "  }\n"
              "}\n",
              name, type, type, type);
  const int64_t low = int_bound_of(e->call->inputs[1], INT32_MIN);
  const int64_t high = int_bound_of(e->call->inputs[2], INT32_MAX);
  e->line(e, "%s(%s, %s, %d, (int32_t)%lld, (int32_t)%lld);", name, e->input(e, 0), e->output(e, 0),
          (int)tn_elements(x), (long long)low, (long long)high);
}
static const tn_emitter clip_int_emitter = {.head = TN_HEAD(tn_emitter),
                                            .kernel = "clip_c",
                                            .flags = TN_EMIT_IN_PLACE,
                                            .refuse = clip_int_refuse,
                                            .emit = clip_int_emit};

const tn_emitter *const activation_emitters[] = {&relu_emitter,
                                                 &leaky_relu_emitter,
                                                 &elu_emitter,
                                                 &selu_emitter,
                                                 &celu_emitter,
                                                 &sigmoid_emitter,
                                                 &hard_sigmoid_emitter,
                                                 &hard_swish_emitter,
                                                 &softplus_emitter,
                                                 &softsign_emitter,
                                                 &mish_emitter,
                                                 &thresholded_relu_emitter,
                                                 &gelu_emitter,
                                                 &swish_emitter,
                                                 &clip_emitter,
                                                 &clip_int_emitter,
                                                 NULL};
