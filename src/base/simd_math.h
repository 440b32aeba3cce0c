/* Functions of whole vectors of f32, for files that include base/simd.h: what softmax, attention
 * and recurrent cells need in registers. Methods and bounds are those of base/vmath.h. */
#ifndef TN_BASE_SIMD_MATH_H
#define TN_BASE_SIMD_MATH_H

#include <math.h>

#include "base/simd.h"
#include "base/vmath.h"

static inline tn_vf tn_vf_sub(tn_vf a, tn_vf b) { return a - b; }

/* The largest lane; NaN lanes do not count, all NaN: any. */
static inline float tn_vf_top(tn_vf v) {
  float lanes[TN_VF_LANES];
  tn_vf_store(lanes, v);
  for (int step = TN_VF_LANES / 2; step; step /= 2)
    for (int k = 0; k < step; k++)
      lanes[k] = lanes[k + step] > lanes[k] ? lanes[k + step] : lanes[k];
  return lanes[0];
}

/* e^x, 1 ULP. Overflow: inf; underflow: 0; NaN stays. */
static inline tn_vf tn_vf_exp(tn_vf x) {
  const tn_vf magic = tn_vf_set1(12582912.0f);
  x = tn_vf_max(tn_vf_set1(-104.0f), x); /* NaN: x, the second */
#if defined(__AVX512F__)
  x = _mm512_min_ps(tn_vf_set1(89.0f), x);
#else
  x = _mm256_min_ps(tn_vf_set1(89.0f), x);
#endif
  const tn_vf m = tn_vf_fma(x, tn_vf_set1(1.44269504f), magic), n = tn_vf_sub(m, magic);
  tn_vf r = tn_vf_fma(n, tn_vf_set1(-0.693359375f), x);
  r = tn_vf_fma(n, tn_vf_set1(2.12194440e-4f), r);
  tn_vf q = tn_vf_fma(r, tn_vf_set1(0.0013882506173104048f), tn_vf_set1(0.008366580121219158f));
  q = tn_vf_fma(q, r, tn_vf_set1(0.04166720062494278f));
  q = tn_vf_fma(q, r, tn_vf_set1(0.1666654348373413f));
  q = tn_vf_fma(q, r, tn_vf_set1(0.5f));
  const tn_vf p = tn_vf_fma(tn_vf_mul(q, r), r, r);
#if defined(__AVX512F__)
  return _mm512_scalef_ps(tn_vf_add(p, tn_vf_set1(1)), n);
#else
  /* 2^n as a product of two, so that 2^-150 and 2^128 can be had */
  const __m256i k = _mm256_add_epi32(
                    _mm256_sub_epi32(_mm256_castps_si256(m), _mm256_castps_si256(magic)),
                    _mm256_set1_epi32(256)),
                half = _mm256_srli_epi32(k, 1), one = _mm256_set1_epi32(1),
                rest = _mm256_sub_epi32(_mm256_sub_epi32(k, half), one);
  const tn_vf s = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_sub_epi32(half, one), 23)),
              t = _mm256_castsi256_ps(_mm256_slli_epi32(rest, 23));
  return tn_vf_mul(tn_vf_fma(p, s, s), t);
#endif
}

/* A function of base/vmath.h on every lane. */
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
