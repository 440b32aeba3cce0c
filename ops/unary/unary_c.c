/* Portable kernels of the unary family: floats by way of unary_f32.h, f64 by the C library,
 * integers, bool. */
#define UNARY_RUN(op) op##_float_c
#include "unary_f32.h"

/* ---- Plans: nanoseconds per element, on which grain and cost depend ---- */

tn_status unary_plan_cheap(const tn_call *call, tn_kernel_plan *out) {
  return tn_plan_elementwise(call, out, 0.15);
}
tn_status unary_plan_libm(const tn_call *call, tn_kernel_plan *out) {
  return tn_plan_elementwise(call, out, 12.0);
}

/* Polynomials: as wide as the vectors that the chosen kernel may use. */
tn_status unary_plan_math(const tn_call *call, tn_kernel_plan *out) {
  const double ns = call->isa & TN_ISA_AVX512 ? 0.35 : call->isa & TN_ISA_AVX2 ? 0.7 : 2.0;
  return tn_plan_elementwise(call, out, ns);
}

/* ---- f64 ---- */

#define UNARY_F64(op, value)                                                            \
  tn_status op##_f64_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                       uint32_t worker) {                                               \
    (void)stage, (void)worker;                                                          \
    const double *in = call->inputs[0]->data;                                           \
    double *out = call->outputs[0]->data;                                               \
    TN_IVDEP for (int64_t i = begin; i < end; i++) {                                    \
      const double x = in[i];                                                           \
      out[i] = (value);                                                                 \
    }                                                                                   \
    return TN_OK;                                                                       \
  }

UNARY_F64(abs, fabs(x))
UNARY_F64(neg, -x)
UNARY_F64(ceil, ceil(x))
UNARY_F64(floor, floor(x))
UNARY_F64(round, rint(x))
UNARY_F64(sqrt, sqrt(x))
UNARY_F64(reciprocal, 1.0 / x)
UNARY_F64(exp, exp(x))
UNARY_F64(log, log(x))
UNARY_F64(tanh, tanh(x))
UNARY_F64(erf, erf(x))
UNARY_F64(sign, x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x == 0.0 ? 0.0 : x)
UNARY_F64(sin, sin(x))
UNARY_F64(cos, cos(x))
UNARY_F64(tan, tan(x))
UNARY_F64(asin, asin(x))
UNARY_F64(acos, acos(x))
UNARY_F64(atan, atan(x))
UNARY_F64(sinh, sinh(x))
UNARY_F64(cosh, cosh(x))
UNARY_F64(asinh, asinh(x))
UNARY_F64(acosh, acosh(x))
UNARY_F64(atanh, atanh(x))

/* ---- Integers: T the type, U its unsigned twin; wraps, so that Abs and Neg of the lowest
 * number are that number ---- */

#define INT_LOOP(T, U, value)                        \
  do {                                               \
    const T *in = (const T *)call->inputs[0]->data;  \
    T *out = (T *)call->outputs[0]->data;            \
    TN_IVDEP for (int64_t i = begin; i < end; i++) { \
      const T x = in[i];                             \
      const U u = (U)x;                              \
      (void)u;                                       \
      out[i] = (T)(value);                           \
    }                                                \
    return TN_OK;                                    \
  } while (0)

#define UNARY_INT(op, value, unsigned_value)                                            \
  tn_status op##_int_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                       uint32_t worker) {                                               \
    (void)stage, (void)worker;                                                          \
    switch (call->inputs[0]->dtype) {                                                   \
      case TN_I8: INT_LOOP(int8_t, uint8_t, value);                                     \
      case TN_I16: INT_LOOP(int16_t, uint16_t, value);                                  \
      case TN_I32: INT_LOOP(int32_t, uint32_t, value);                                  \
      case TN_I64: INT_LOOP(int64_t, uint64_t, value);                                  \
      case TN_U8: INT_LOOP(uint8_t, uint8_t, unsigned_value);                           \
      case TN_U16: INT_LOOP(uint16_t, uint16_t, unsigned_value);                        \
      case TN_U32: INT_LOOP(uint32_t, uint32_t, unsigned_value);                        \
      case TN_U64: INT_LOOP(uint64_t, uint64_t, unsigned_value);                        \
      default: return TN_ERR_INTERNAL;                                                  \
    }                                                                                   \
  }

/* Without a branch: ~u + 1 of what is negative. */
UNARY_INT(abs, (u ^ (0u - (uint64_t)(x < 0))) + (x < 0), x)
UNARY_INT(neg, 0u - u, 0u - u)
UNARY_INT(sign, (x > 0) - (x < 0), x > 0)

/* ---- Bits and bool ---- */

tn_status not_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  const uint8_t *in = call->inputs[0]->data;
  uint8_t *out = call->outputs[0]->data;
  TN_IVDEP for (int64_t i = begin; i < end; i++) out[i] = in[i] == 0;
  return TN_OK;
}

tn_status bitwise_not_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                        uint32_t worker) {
  (void)stage, (void)worker;
  const int64_t bytes = tn_dtype(call->inputs[0]->dtype)->bits / 8;
  const uint8_t *in = call->inputs[0]->data;
  uint8_t *out = call->outputs[0]->data;
  TN_IVDEP for (int64_t i = begin * bytes; i < end * bytes; i++) out[i] = (uint8_t)~in[i];
  return TN_OK;
}

/* ---- IsNaN, IsInf: by the bits of the formats ---- */

typedef struct float_bits {
  uint64_t magnitude; /* all bits but the sign */
  uint64_t infinity;  /* magnitude of the infinities; without infinities, of the largest number */
  uint32_t has_infinity, nan_is_negative_zero;
} float_bits;

static float_bits bits_of(uint32_t dtype) {
  switch (dtype) {
    case TN_F64: return (float_bits){UINT64_MAX >> 1, UINT64_C(0x7ff) << 52, 1, 0};
    case TN_F32: return (float_bits){0x7fffffff, 0x7f800000, 1, 0};
    case TN_F16: return (float_bits){0x7fff, 0x7c00, 1, 0};
    case TN_BF16: return (float_bits){0x7fff, 0x7f80, 1, 0};
    case TN_F8E5M2: return (float_bits){0x7f, 0x7c, 1, 0};
    case TN_F8E4M3FN: return (float_bits){0x7f, 0x7e, 0, 0};
    default: return (float_bits){0x7f, 0x7f, 0, 1}; /* f8e4m3fnuz, f8e5m2fnuz */
  }
}

/* The x with (x & mask) in low .. low + n - 1. */
typedef struct bit_range {
  uint64_t mask, low, n;
} bit_range;

/* y = 1 where an element is in the range. */
static tn_status detect(const tn_call *call, int64_t begin, int64_t end, bit_range r) {
  const tn_tensor *t = call->inputs[0];
  uint8_t *y = call->outputs[0]->data;
#define DETECT(T)                                                                       \
  do {                                                                                  \
    const T *x = t->data, mask = (T)r.mask, low = (T)r.low, n = (T)r.n;                 \
    TN_IVDEP for (int64_t i = begin; i < end; i++) y[i] = (T)((x[i] & mask) - low) < n; \
  } while (0)
  switch (tn_dtype(t->dtype)->bits) {
    case 64: DETECT(uint64_t); break;
    case 32: DETECT(uint32_t); break;
    case 16: DETECT(uint16_t); break;
    default: DETECT(uint8_t); break;
  }
#undef DETECT
  return TN_OK;
}

tn_status is_nan_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                   uint32_t worker) {
  (void)stage, (void)worker;
  const float_bits f = bits_of(call->inputs[0]->dtype);
  const bit_range above = {f.magnitude, f.infinity + 1, f.magnitude - f.infinity},
                  negative_zero = {2 * f.magnitude + 1, f.magnitude + 1, 1};
  return detect(call, begin, end, f.nan_is_negative_zero ? negative_zero : above);
}

tn_status is_inf_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                   uint32_t worker) {
  (void)stage, (void)worker;
  const tn_is_inf_attrs *a = call->attrs;
  const float_bits f = bits_of(call->inputs[0]->dtype);
  const bool positive = a->detect_positive != 0, negative = a->detect_negative != 0;
  const uint64_t sign = f.magnitude + 1;
  return detect(call, begin, end,
                (bit_range){.mask = positive && negative ? f.magnitude : f.magnitude | sign,
                            .low = positive ? f.infinity : f.infinity | sign,
                            .n = f.has_infinity && (positive || negative)});
}
