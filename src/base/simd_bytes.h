/* Vectors of f32 from and to elements of a byte, for AVX-512, AVX2 and NEON; see base/simd.h. A
 * byte is u8 or i8: loads say which, stores keep the low eight bits of an integer. */
#ifndef TN_BASE_SIMD_BYTES_H
#define TN_BASE_SIMD_BYTES_H

#include "base/simd.h"

/* Bytes and i32 as f32; i32 is rounded. */
static inline tn_vf tn_vf_load_u8(const uint8_t *p);
static inline tn_vf tn_vf_load_i8(const int8_t *p);
static inline tn_vf tn_vf_load_i32(const int32_t *p);
/* The low byte of zero plus each lane rounded half to even; both are far from the ends of i32. */
static inline void tn_vf_store_byte(void *p, tn_vf v, int32_t zero);

#if defined(__AVX512F__)

static inline tn_vf tn_vf_load_u8(const uint8_t *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)p)));
}
static inline tn_vf tn_vf_load_i8(const int8_t *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)p)));
}
static inline tn_vf tn_vf_load_i32(const int32_t *p) {
  return _mm512_cvtepi32_ps(_mm512_loadu_si512(p));
}
static inline void tn_vf_store_byte(void *p, tn_vf v, int32_t zero) {
  const __m512i q = _mm512_cvt_roundps_epi32(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  _mm_storeu_si128(p, _mm512_cvtepi32_epi8(_mm512_add_epi32(q, _mm512_set1_epi32(zero))));
}

#elif defined(__ARM_NEON)

static inline tn_vf tn_vf_of_i16(int16x8_t v) {
  return (tn_vf){vcvtq_f32_s32(vmovl_s16(vget_low_s16(v))),
                 vcvtq_f32_s32(vmovl_s16(vget_high_s16(v)))};
}
static inline tn_vf tn_vf_load_u8(const uint8_t *p) {
  return tn_vf_of_i16(vreinterpretq_s16_u16(vmovl_u8(vld1_u8(p))));
}
static inline tn_vf tn_vf_load_i8(const int8_t *p) { return tn_vf_of_i16(vmovl_s8(vld1_s8(p))); }
static inline tn_vf tn_vf_load_i32(const int32_t *p) {
  return (tn_vf){vcvtq_f32_s32(vld1q_s32(p)), vcvtq_f32_s32(vld1q_s32(p + 4))};
}
static inline void tn_vf_store_byte(void *p, tn_vf v, int32_t zero) {
  const int16x8_t q =
      vcombine_s16(vmovn_s32(vcvtnq_s32_f32(v.lo)), vmovn_s32(vcvtnq_s32_f32(v.hi)));
  vst1_s8(p, vmovn_s16(vaddq_s16(q, vdupq_n_s16((int16_t)zero))));
}

#else

static inline tn_vf tn_vf_load_u8(const uint8_t *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p)));
}
static inline tn_vf tn_vf_load_i8(const int8_t *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)p)));
}
static inline tn_vf tn_vf_load_i32(const int32_t *p) {
  return _mm256_cvtepi32_ps(_mm256_loadu_si256((const void *)p));
}
static inline void tn_vf_store_byte(void *p, tn_vf v, int32_t zero) {
  const __m256i low = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                       0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const tn_vf whole = _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m256i shifted = _mm256_add_epi32(_mm256_cvtps_epi32(whole), _mm256_set1_epi32(zero));
  const __m256i q = _mm256_shuffle_epi8(shifted, low);
  _mm_storel_epi64(p,
                   _mm_unpacklo_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1)));
}

#endif
#endif
