/* The f32, f16 and bf16 kernels of the activation family, written once and compiled per instruction
 * set: a file that defines ACTIVATION_RUN(op), the name of a run function, and includes this one
 * gets them all. f16 and bf16 are computed in f32.
 *
 * NaN gives NaN, but ThresholdedRelu's and Shrink's answer to it is 0. What is infinity times 0 by
 * its formula (Swish, Gelu, Mish and HardSwish of -infinity), or one divided by the other (Softsign
 * of both infinities), is NaN. */
#include <math.h>

#include "activation.gen.h"
#include "tenon/kit/element.h"
#include "tenon/kit/elementwise.h"

#define ACTIVATION(op, setup, value)                                                            \
  static void op##_loop(const float *in, float *out, int64_t n, const void *arg) {              \
    (void)arg;                                                                                  \
    setup;                                                                                      \
    TN_IVDEP for (int64_t i = 0; i < n; i++) {                                                  \
      const float x = in[i];                                                                    \
      out[i] = (value);                                                                         \
    }                                                                                           \
  }                                                                                             \
  tn_status ACTIVATION_RUN(op)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                               uint32_t worker) {                                               \
    (void)stage, (void)worker;                                                                  \
    return tn_map_run_f32(call, begin, end, op##_loop, call->attrs);                            \
  }

#define NONE (void)0
#define ATTR(op, name) const float name = (float)((const tn_##op##_attrs *)arg)->name

ACTIVATION(relu, NONE, x < 0.0f ? 0.0f : x)
ACTIVATION(leaky_relu, ATTR(leaky_relu, alpha), x < 0.0f ? alpha * x : x)
ACTIVATION(elu, ATTR(elu, alpha), x < 0.0f ? alpha * tn_expm1_f32(x) : x)
ACTIVATION(selu, ATTR(selu, alpha);
           ATTR(selu, gamma), gamma *(x < 0.0f ? alpha * tn_expm1_f32(x) : x))
ACTIVATION(celu, ATTR(celu, alpha), x < 0.0f ? alpha * tn_expm1_f32(x / alpha) : x)
ACTIVATION(sigmoid, NONE, tn_sigmoid_f32(x))
ACTIVATION(hard_sigmoid, ATTR(hard_sigmoid, alpha);
           ATTR(hard_sigmoid, beta), tn_clamp_f32(alpha *x + beta, 0.0f, 1.0f))
ACTIVATION(hard_swish, NONE, tn_hard_swish_f32(x))
ACTIVATION(softplus, NONE, tn_softplus_f32(x))
ACTIVATION(softsign, NONE, x / (1.0f + tn_abs_f32(x)))
ACTIVATION(mish, NONE, tn_mish_f32(x))
ACTIVATION(thresholded_relu, ATTR(thresholded_relu, alpha), x > alpha ? x : 0.0f)
ACTIVATION(shrink, ATTR(shrink, bias);
           ATTR(shrink, lambd), x<-lambd ? x + bias : x> lambd ? x - bias : 0.0f)

/* ---- Gelu: one of two loops ---- */

static void gelu_loop(const float *in, float *out, int64_t n, const void *arg) {
  const tn_gelu_attrs *a = arg;
  if (a->approximate.data[0] == 't') { /* "tanh", not "none" */
    TN_IVDEP for (int64_t i = 0; i < n; i++) out[i] = tn_gelu_tanh_f32(in[i]);
  } else {
    TN_IVDEP for (int64_t i = 0; i < n; i++) out[i] = tn_gelu_f32(in[i]);
  }
}

tn_status ACTIVATION_RUN(gelu)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                               uint32_t worker) {
  (void)stage, (void)worker;
  return tn_map_run_f32(call, begin, end, gelu_loop, call->attrs);
}

/* ---- Swish: alpha is 1 in all but odd models ---- */

static void swish_loop(const float *in, float *out, int64_t n, const void *arg) {
  ATTR(swish, alpha);
  if (alpha == 1.0f) {
    TN_IVDEP for (int64_t i = 0; i < n; i++) out[i] = tn_silu_f32(in[i]);
  } else {
    TN_IVDEP for (int64_t i = 0; i < n; i++) {
      const float x = in[i];
      out[i] = x * tn_sigmoid_f32(alpha * x);
    }
  }
}

tn_status ACTIVATION_RUN(swish)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                uint32_t worker) {
  (void)stage, (void)worker;
  return tn_map_run_f32(call, begin, end, swish_loop, call->attrs);
}

/* ---- Clip: the bounds are inputs ---- */

typedef struct clip_bounds {
  float lo, hi;
} clip_bounds;

static void clip_loop(const float *in, float *out, int64_t n, const void *arg) {
  const float lo = ((const clip_bounds *)arg)->lo, hi = ((const clip_bounds *)arg)->hi;
  TN_IVDEP for (int64_t i = 0; i < n; i++) out[i] = tn_clamp_f32(in[i], lo, hi);
}

tn_status ACTIVATION_RUN(clip)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                               uint32_t worker) {
  (void)stage, (void)worker;
  const tn_tensor *lo = call->inputs[1], *hi = call->inputs[2];
  const clip_bounds bounds = {lo ? (float)tn_load_f64(lo->dtype, lo->data, 0) : -INFINITY,
                              hi ? (float)tn_load_f64(hi->dtype, hi->data, 0) : INFINITY};
  return tn_map_run_f32(call, begin, end, clip_loop, &bounds);
}
