/* Functions of whole vectors of f32, for files that include tenon/kit/simd.h: what softmax,
 * attention and recurrent cells need in registers. Methods and bounds are those of
 * tenon/kit/vmath.h. */
#ifndef TN_KIT_SIMD_MATH_H
#define TN_KIT_SIMD_MATH_H

#include <math.h>

#include "tenon/kit/simd.h"
#include "tenon/kit/vmath.h"

/* e^x for x <= 0, 1.1 ULP; 0 where that is below 1.7e-38: subnormal numbers cost hundreds of
 * cycles, and weights so small count for nothing. NaN stays. */
static inline tn_vf tn_vf_exp_weight(tn_vf from) {
  const tn_vf magic = tn_vf_set1(12582912.0f), least = tn_vf_set1(-87.0f);
  const tn_vf x = tn_vf_max(least, from); /* NaN: the second */
  const tn_vf m = tn_vf_fma(x, tn_vf_set1(1.44269504f), magic), n = tn_vf_sub(m, magic);
  tn_vf r = tn_vf_fma(n, tn_vf_set1(-0.693359375f), x);
  r = tn_vf_fma(n, tn_vf_set1(2.12194440e-4f), r);
  tn_vf q = tn_vf_fma(r, tn_vf_set1(0.0013882506173104048f), tn_vf_set1(0.008366580121219158f));
  q = tn_vf_fma(q, r, tn_vf_set1(0.04166720062494278f));
  q = tn_vf_fma(q, r, tn_vf_set1(0.1666654348373413f));
  q = tn_vf_fma(q, r, tn_vf_set1(0.5f));
  const tn_vf p = tn_vf_fma(tn_vf_mul(q, r), r, r);
  return tn_vf_weight(from, least, p, m, magic);
}

/* A function of tenon/kit/vmath.h on every lane. */
#define TN_VF_EACH(name)                                                                 \
  static inline tn_vf tn_vf_##name(tn_vf x) {                                            \
    float lanes[TN_VF_LANES];                                                            \
    tn_vf_store(lanes, x);                                                               \
    TN_IVDEP for (int k = 0; k < TN_VF_LANES; k++) lanes[k] = tn_##name##_f32(lanes[k]); \
    return tn_vf_load(lanes);                                                            \
  }
TN_VF_EACH(sigmoid)
TN_VF_EACH(tanh)
#undef TN_VF_EACH

#endif
