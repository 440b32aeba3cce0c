/* Portable kernels of the activation family: floats by way of activation_f32.h, f64 by the C
 * library, integers, Dropout. */
#define ACTIVATION_RUN(op) op##_float_c
#include <time.h>

#include "activation_f32.h"
#include "tenon/kit/element.h"

/* ---- Plans: nanoseconds per element, on which grain and cost depend ---- */

tn_status activation_plan_cheap(const tn_call *call, tn_kernel_plan *out) {
  return tn_plan_elementwise(call, out, 0.15);
}
tn_status activation_plan_libm(const tn_call *call, tn_kernel_plan *out) {
  return tn_plan_elementwise(call, out, 15.0);
}

/* Polynomials: as wide as the vectors that the chosen kernel may use. */
tn_status activation_plan_math(const tn_call *call, tn_kernel_plan *out) {
  const double ns = call->isa & TN_ISA_AVX512 ? 0.35 : call->isa & TN_ISA_AVX2 ? 0.7 : 2.0;
  return tn_plan_elementwise(call, out, ns);
}

/* ---- f64 ---- */

#define ACTIVATION_F64(op, setup, value)                                                \
  tn_status op##_f64_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                       uint32_t worker) {                                               \
    (void)stage, (void)worker;                                                          \
    const double *in = call->inputs[0]->data;                                           \
    double *out = call->outputs[0]->data;                                               \
    setup;                                                                              \
    TN_IVDEP for (int64_t i = begin; i < end; i++) {                                    \
      const double x = in[i];                                                           \
      out[i] = (value);                                                                 \
    }                                                                                   \
    return TN_OK;                                                                       \
  }

#define ATTR_F64(op, name) const double name = ((const tn_##op##_attrs *)call->attrs)->name

static double clamp_f64(double x, double lo, double hi) {
  x = x < lo ? lo : x;
  return x > hi ? hi : x;
}

static double softplus_f64(double x) { return (x > 0.0 ? x : 0.0) + log1p(exp(-fabs(x))); }

static double gelu_f64(double x, bool approximate) {
  if (!approximate) return x * 0.5 * erfc(-x / 1.41421356237309504880);
  return x * 0.5 * (1.0 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

ACTIVATION_F64(relu, NONE, x < 0.0 ? 0.0 : x)
ACTIVATION_F64(leaky_relu, ATTR_F64(leaky_relu, alpha), x < 0.0 ? alpha * x : x)
ACTIVATION_F64(elu, ATTR_F64(elu, alpha), x < 0.0 ? alpha * expm1(x) : x)
ACTIVATION_F64(selu, ATTR_F64(selu, alpha);
               ATTR_F64(selu, gamma), gamma *(x < 0.0 ? alpha * expm1(x) : x))
ACTIVATION_F64(celu, ATTR_F64(celu, alpha), x < 0.0 ? alpha * expm1(x / alpha) : x)
ACTIVATION_F64(sigmoid, NONE, 1.0 / (1.0 + exp(-x)))
ACTIVATION_F64(hard_sigmoid, ATTR_F64(hard_sigmoid, alpha);
               ATTR_F64(hard_sigmoid, beta), clamp_f64(alpha *x + beta, 0.0, 1.0))
ACTIVATION_F64(hard_swish, NONE, x *clamp_f64(x / 6.0 + 0.5, 0.0, 1.0))
ACTIVATION_F64(softplus, NONE, softplus_f64(x))
ACTIVATION_F64(softsign, NONE, x / (1.0 + fabs(x)))
ACTIVATION_F64(mish, NONE, x *tanh(softplus_f64(x)))
ACTIVATION_F64(thresholded_relu, ATTR_F64(thresholded_relu, alpha), x > alpha ? x : 0.0)
ACTIVATION_F64(shrink, ATTR_F64(shrink, bias);
               ATTR_F64(shrink, lambd), x<-lambd ? x + bias : x> lambd ? x - bias : 0.0)
ACTIVATION_F64(swish, ATTR_F64(swish, alpha), x *(1.0 / (1.0 + exp(-alpha * x))))
ACTIVATION_F64(gelu,
               const bool approximate = ((const tn_gelu_attrs *)call->attrs)->approximate.data[0] ==
                                        't',
               gelu_f64(x, approximate))

/* ---- Integers ---- */

#define EACH_SIGNED(X) X(TN_I8, int8_t) X(TN_I16, int16_t) X(TN_I32, int32_t) X(TN_I64, int64_t)
#define EACH_UNSIGNED(X) \
  X(TN_U8, uint8_t) X(TN_U16, uint16_t) X(TN_U32, uint32_t) X(TN_U64, uint64_t)

tn_status relu_int_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  (void)stage, (void)worker;
#define RELU_LOOP(dtype, T)                                                        \
  case dtype: {                                                                    \
    const T *in = call->inputs[0]->data;                                           \
    T *out = call->outputs[0]->data;                                               \
    TN_IVDEP for (int64_t i = begin; i < end; i++) out[i] = in[i] < 0 ? 0 : in[i]; \
    return TN_OK;                                                                  \
  }
  switch (call->inputs[0]->dtype) {
    EACH_SIGNED(RELU_LOOP)
    default: return TN_ERR_INTERNAL;
  }
}

/* In f64, cut to an integer: |x| up to 2^53 is exact. */
tn_status shrink_int_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                       uint32_t worker) {
  (void)stage, (void)worker;
  const tn_shrink_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0], *out = call->outputs[0];
  for (int64_t i = begin; i < end; i++) {
    const double x = tn_load_f64(in->dtype, in->data, i);
    tn_store_f64(out->dtype, out->data, i,
                 x < -a->lambd  ? x + a->bias
                 : x > a->lambd ? x - a->bias
                                : 0.0);
  }
  return TN_OK;
}

/* Clip of f64 and integers: lowest and highest stand for bounds that are left out. */
tn_status clip_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  const tn_tensor *lo = call->inputs[1], *hi = call->inputs[2];
#define CLIP_LOOP(dtype, T)                                                                    \
  case dtype: {                                                                                \
    const T *in = call->inputs[0]->data;                                                       \
    T *out = call->outputs[0]->data;                                                           \
    const bool has_lo = lo != NULL, has_hi = hi != NULL;                                       \
    const T low = has_lo ? *(const T *)lo->data : 0, high = has_hi ? *(const T *)hi->data : 0; \
    TN_IVDEP for (int64_t i = begin; i < end; i++) {                                           \
      const T x = in[i], raised = x < low ? low : x, v = has_lo ? raised : x,                  \
              cut = v > high ? high : v;                                                       \
      out[i] = has_hi ? cut : v;                                                               \
    }                                                                                          \
    return TN_OK;                                                                              \
  }
  switch (call->inputs[0]->dtype) {
    EACH_SIGNED(CLIP_LOOP)
    EACH_UNSIGNED(CLIP_LOOP)
    CLIP_LOOP(TN_F64, double)
    default: return TN_ERR_INTERNAL;
  }
}

/* ---- Dropout ---- */

/* A number in [0, 1) that depends on seed and place only (the finaliser of splitmix64). */
static double random_at(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* Another one for each run. */
static uint64_t seed_of_now(void) {
  struct timespec now;
  return timespec_get(&now, TIME_UTC) ? (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec
                                      : 0;
}

static void drop(const tn_call *call, int64_t begin, int64_t end, double ratio, uint8_t *mask) {
  const tn_dropout_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const uint64_t seed = a->has_seed ? (uint64_t)a->seed : seed_of_now();
  for (int64_t i = begin; i < end; i++) {
    const bool keep = random_at(seed, (uint64_t)i) >= ratio;
    tn_store_f64(y->dtype, y->data, i,
                 keep ? tn_load_f64(x->dtype, x->data, i) / (1.0 - ratio) : 0.0);
    if (mask) mask[i] = keep;
  }
}

/* Without training_mode the input is copied and the mask is all true. */
tn_status dropout_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                    uint32_t worker) {
  (void)stage, (void)worker;
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const tn_tensor *ratio = call->inputs[1], *mode = call->inputs[2];
  const tn_tensor *mask = call->n_outputs > 1 ? call->outputs[1] : NULL;
  const double p = ratio ? tn_load_f64(ratio->dtype, ratio->data, 0) : 0.5;
  if (mode && *(const uint8_t *)mode->data && p != 0.0) {
    if (!(p > 0.0 && p < 1.0))
      return call->host->fail(call->ctx, TN_ERR_INVALID, "ratio is %g, must be in [0, 1)", p);
    drop(call, begin, end, p, mask ? mask->data : NULL);
    return TN_OK;
  }
  const int64_t bytes = tn_dtype(x->dtype)->bits / 8;
  if (y->data != x->data && end > begin) {
    memcpy((char *)y->data + begin * bytes, (const char *)x->data + begin * bytes,
           (size_t)((end - begin) * bytes));
  }
  if (mask && end > begin) memset((uint8_t *)mask->data + begin, 1, (size_t)(end - begin));
  return TN_OK;
}

tn_status dropout_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_status status = tn_plan_elementwise(call, out, 0.2);
  if (call->n_outputs > 1 &&
      call->outputs[1]) { /* a second output: more than element i of output 0 is written */
    out->flags &= ~(uint32_t)TN_PLAN_ELEMENTWISE;
  }
  return status;
}
