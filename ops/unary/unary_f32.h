/* The f32, f16 and bf16 kernels of the unary family, written once and compiled per instruction set:
 * a file that defines UNARY_RUN(op), the name of a run function, and includes this one gets them
 * all. f16 and bf16 are computed in f32.
 *
 * NaN gives NaN everywhere. Signed zeros: Abs, Sign and Reciprocal as IEEE 754 says for their
 * formulas, the odd functions, Ceil, Floor and Round keep the zero's sign. Out of domain
 * (Sqrt(-1), Log(-1), Asin(2)): NaN. */
#include <math.h>

#include "tenon/kit/elementwise.h"
#include "unary.gen.h"

#define UNARY(op, value)                                                           \
  static void op##_loop(const float *in, float *out, int64_t n, const void *arg) { \
    (void)arg;                                                                     \
    TN_IVDEP for (int64_t i = 0; i < n; i++) {                                     \
      const float x = in[i];                                                       \
      out[i] = (value);                                                            \
    }                                                                              \
  }                                                                                \
  UNARY_KERNEL(op)

#define UNARY_KERNEL(op)                                                                   \
  tn_status UNARY_RUN(op)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                          uint32_t worker) {                                               \
    (void)stage, (void)worker;                                                             \
    return tn_map_run_f32(call, begin, end, op##_loop, NULL);                              \
  }

UNARY(abs, tn_abs_f32(x))
UNARY(neg, -x)
UNARY(ceil, ceilf(x))
UNARY(floor, floorf(x))
UNARY(round, rintf(x)) /* the rounding mode is to nearest, ties to even */
UNARY(sqrt, sqrtf(x))
UNARY(reciprocal, 1.0f / x)
UNARY(log, tn_log_f32(x))
UNARY(tanh, tn_tanh_f32(x))
UNARY(erf, tn_erf_f32(x))
UNARY(asin, tn_asin_f32(x))
UNARY(acos, tn_acos_f32(x))
UNARY(atan, tn_atan_f32(x))
UNARY(sinh, tn_sinh_f32(x))
UNARY(cosh, tn_cosh_f32(x))
UNARY(asinh, tn_asinh_f32(x))
UNARY(acosh, tn_acosh_f32(x))
UNARY(atanh, tn_atanh_f32(x))
UNARY(sign, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x == 0.0f ? 0.0f : x)

/* True if |x| <= most for all of x. Compares bits, which for |x| are in the order of the numbers;
 * NaN is above all. */
static int all_within(const float *x, int64_t n, float most) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < n; i++) {
    const uint32_t u = tn_bits_of_f32(x[i]) & 0x7fffffffu;
    largest = u > largest ? u : largest;
  }
  return largest <= tn_bits_of_f32(most);
}

/* Where `fast` serves only |x| <= most. */
#define UNARY_WITHIN(op, most, fast, slow)                                         \
  static void op##_loop(const float *in, float *out, int64_t n, const void *arg) { \
    (void)arg;                                                                     \
    for (int64_t begin = 0; begin < n; begin += TN_MAP_BLOCK) {                    \
      const int64_t end = tn_min_i64(begin + TN_MAP_BLOCK, n);                     \
      if (all_within(in + begin, end - begin, most)) {                             \
        TN_IVDEP for (int64_t i = begin; i < end; i++) out[i] = fast(in[i]);       \
      } else {                                                                     \
        TN_IVDEP for (int64_t i = begin; i < end; i++) out[i] = slow(in[i]);       \
      }                                                                            \
    }                                                                              \
  }                                                                                \
  UNARY_KERNEL(op)

UNARY_WITHIN(exp, 87.0f, tn_exp_near_f32, tn_exp_f32)
UNARY_WITHIN(sin, TN_SIN_MAX, tn_sin_f32, sinf)
UNARY_WITHIN(cos, TN_SIN_MAX, tn_cos_f32, cosf)
UNARY_WITHIN(tan, TN_SIN_MAX, tn_tan_f32, tanf)
