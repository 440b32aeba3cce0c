/* Vectors of f32 from and to elements of a byte, and vectors of bytes, for AVX-512, AVX2 and NEON;
 * see tenon/kit/simd.h. A byte is u8 or i8: loads say which, stores keep the low eight bits of an
 * integer. */
#ifndef TN_KIT_SIMD_BYTES_H
#define TN_KIT_SIMD_BYTES_H

#include <stdbool.h>

#include "tenon/kit/simd.h"

/* Integers as f32; i32 is rounded. */
static inline tn_vf tn_vf_load_u8(const uint8_t *p);
static inline tn_vf tn_vf_load_i8(const int8_t *p);
static inline tn_vf tn_vf_load_u16(const uint16_t *p);
static inline tn_vf tn_vf_load_i16(const int16_t *p);
static inline tn_vf tn_vf_load_i32(const int32_t *p);
/* The low byte of zero plus each lane rounded half to even; both are far from the ends of i32. */
static inline void tn_vf_store_byte(void *p, tn_vf v, int32_t zero);
/* Adding it to |x| < 2^22 rounds x half to even, and leaves that in the lowest bits. */
#define TN_VF_ROUNDER 12582912.0f /* 1.5 * 2^23 */
/* The same of lanes to which TN_VF_ROUNDER was added. */
static inline void tn_vf_store_rounded(void *p, tn_vf v, int32_t zero);
/* Is some lane of a larger than that of b? */
static inline bool tn_vf_some_above(tn_vf a, tn_vf b);

/* Vectors of TN_VB_LANES bytes. */
#if defined(__AVX512F__)
enum { TN_VB_LANES = 64 };
typedef __m512i tn_vb;
static inline tn_vb tn_vb_set1(uint8_t x) { return _mm512_set1_epi8((char)x); }
static inline tn_vb tn_vb_load(const void *p) { return _mm512_loadu_si512(p); }
static inline void tn_vb_store(void *p, tn_vb v) { _mm512_storeu_si512(p, v); }
static inline tn_vb tn_vb_max_u8(tn_vb a, tn_vb b) { return _mm512_max_epu8(a, b); }
static inline tn_vb tn_vb_max_i8(tn_vb a, tn_vb b) { return _mm512_max_epi8(a, b); }
/* The first n bytes, n in 1 .. TN_VB_LANES; loads have zeros behind them. */
static inline tn_vb tn_vb_load_first(const void *p, int64_t n) {
  return _mm512_maskz_loadu_epi8(~UINT64_C(0) >> (64 - n), p);
}
static inline void tn_vb_store_first(void *p, tn_vb v, int64_t n) {
  _mm512_mask_storeu_epi8(p, ~UINT64_C(0) >> (64 - n), v);
}
#else
#if defined(__ARM_NEON)
enum { TN_VB_LANES = 16 };
typedef uint8x16_t tn_vb;
static inline tn_vb tn_vb_set1(uint8_t x) { return vdupq_n_u8(x); }
static inline tn_vb tn_vb_load(const void *p) { return vld1q_u8(p); }
static inline void tn_vb_store(void *p, tn_vb v) { vst1q_u8(p, v); }
static inline tn_vb tn_vb_max_u8(tn_vb a, tn_vb b) { return vmaxq_u8(a, b); }
static inline tn_vb tn_vb_max_i8(tn_vb a, tn_vb b) {
  return vreinterpretq_u8_s8(vmaxq_s8(vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b)));
}
#else
enum { TN_VB_LANES = 32 };
typedef __m256i tn_vb;
static inline tn_vb tn_vb_set1(uint8_t x) { return _mm256_set1_epi8((char)x); }
static inline tn_vb tn_vb_load(const void *p) { return _mm256_loadu_si256(p); }
static inline void tn_vb_store(void *p, tn_vb v) { _mm256_storeu_si256(p, v); }
static inline tn_vb tn_vb_max_u8(tn_vb a, tn_vb b) { return _mm256_max_epu8(a, b); }
static inline tn_vb tn_vb_max_i8(tn_vb a, tn_vb b) { return _mm256_max_epi8(a, b); }
#endif
static inline tn_vb tn_vb_load_first(const void *p, int64_t n) {
  uint8_t lanes[TN_VB_LANES] = {0};
  memcpy(lanes, p, (size_t)n);
  return tn_vb_load(lanes);
}
static inline void tn_vb_store_first(void *p, tn_vb v, int64_t n) {
  uint8_t lanes[TN_VB_LANES];
  tn_vb_store(lanes, v);
  memcpy(p, lanes, (size_t)n);
}
#endif

/* Tables of 256 bytes. */
#if defined(__ARM_NEON)
typedef uint8x16x4_t tn_vb_table[4];
static inline void tn_vb_table_load(tn_vb_table t, const uint8_t *p) {
  for (int k = 0; k < 4; k++) t[k] = vld1q_u8_x4(p + 64 * k);
}
static inline tn_vb tn_vb_lookup(const tn_vb_table t, tn_vb at) {
  tn_vb y = vqtbl4q_u8(t[0], at); /* 0 where the index is too large */
  TN_UNROLL for (int k = 1; k < 4; k++) {
    y = vqtbx4q_u8(y, t[k], vsubq_u8(at, vdupq_n_u8((uint8_t)(64 * k))));
  }
  return y;
}
#else
typedef tn_vb tn_vb_table[16];
static inline void tn_vb_table_load(tn_vb_table t, const uint8_t *p) {
  for (int k = 0; k < 16; k++) {
    const __m128i row = _mm_loadu_si128((const void *)(p + 16 * k));
#if defined(__AVX512F__)
    t[k] = _mm512_broadcast_i32x4(row);
#else
    t[k] = _mm256_broadcastsi128_si256(row);
#endif
  }
}
/* Row k is looked up in at every index less 16 k. The shuffle gives 0 where the highest bit is set:
 * that is what saturating makes of all indices that are not of this row. */
static inline tn_vb tn_vb_lookup(const tn_vb_table t, tn_vb at) {
#if defined(__AVX512F__)
  const tn_vb high = tn_vb_set1(0x70), row = tn_vb_set1(16);
  tn_vb y = _mm512_shuffle_epi8(t[0], _mm512_adds_epu8(at, high));
  TN_UNROLL for (int k = 1; k < 16; k++) {
    at = _mm512_sub_epi8(at, row);
    y = _mm512_or_si512(y, _mm512_shuffle_epi8(t[k], _mm512_adds_epu8(at, high)));
  }
#else
  const tn_vb high = tn_vb_set1(0x70), row = tn_vb_set1(16);
  tn_vb y = _mm256_shuffle_epi8(t[0], _mm256_adds_epu8(at, high));
  TN_UNROLL for (int k = 1; k < 16; k++) {
    at = _mm256_sub_epi8(at, row);
    y = _mm256_or_si256(y, _mm256_shuffle_epi8(t[k], _mm256_adds_epu8(at, high)));
  }
#endif
  return y;
}
#endif

#if defined(__AVX512F__)

static inline tn_vf tn_vf_load_u8(const uint8_t *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)p)));
}
static inline tn_vf tn_vf_load_i8(const int8_t *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)p)));
}
static inline tn_vf tn_vf_load_u16(const uint16_t *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)p)));
}
static inline tn_vf tn_vf_load_i16(const int16_t *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256((const void *)p)));
}
static inline tn_vf tn_vf_load_i32(const int32_t *p) {
  return _mm512_cvtepi32_ps(_mm512_loadu_si512(p));
}
static inline void tn_store_low_bytes(void *p, __m512i q, int32_t zero) {
  _mm_storeu_si128(p, _mm512_cvtepi32_epi8(_mm512_add_epi32(q, _mm512_set1_epi32(zero))));
}
static inline void tn_vf_store_byte(void *p, tn_vf v, int32_t zero) {
  tn_store_low_bytes(p, _mm512_cvt_roundps_epi32(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
                     zero);
}
static inline void tn_vf_store_rounded(void *p, tn_vf v, int32_t zero) {
  tn_store_low_bytes(p, _mm512_castps_si512(v), zero);
}
static inline bool tn_vf_some_above(tn_vf a, tn_vf b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ) != 0;
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
static inline tn_vf tn_vf_load_u16(const uint16_t *p) {
  const uint16x8_t v = vld1q_u16(p);
  return (tn_vf){vcvtq_f32_u32(vmovl_u16(vget_low_u16(v))),
                 vcvtq_f32_u32(vmovl_u16(vget_high_u16(v)))};
}
static inline tn_vf tn_vf_load_i16(const int16_t *p) { return tn_vf_of_i16(vld1q_s16(p)); }
static inline tn_vf tn_vf_load_i32(const int32_t *p) {
  return (tn_vf){vcvtq_f32_s32(vld1q_s32(p)), vcvtq_f32_s32(vld1q_s32(p + 4))};
}
static inline void tn_store_low_bytes(void *p, int32x4_t lo, int32x4_t hi, int32_t zero) {
  const int16x8_t q = vcombine_s16(vmovn_s32(lo), vmovn_s32(hi));
  vst1_s8(p, vmovn_s16(vaddq_s16(q, vdupq_n_s16((int16_t)zero))));
}
static inline void tn_vf_store_byte(void *p, tn_vf v, int32_t zero) {
  tn_store_low_bytes(p, vcvtnq_s32_f32(v.lo), vcvtnq_s32_f32(v.hi), zero);
}
static inline void tn_vf_store_rounded(void *p, tn_vf v, int32_t zero) {
  tn_store_low_bytes(p, vreinterpretq_s32_f32(v.lo), vreinterpretq_s32_f32(v.hi), zero);
}
static inline bool tn_vf_some_above(tn_vf a, tn_vf b) {
  return vmaxvq_u32(vorrq_u32(vcgtq_f32(a.lo, b.lo), vcgtq_f32(a.hi, b.hi))) != 0;
}

#else

static inline tn_vf tn_vf_load_u8(const uint8_t *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p)));
}
static inline tn_vf tn_vf_load_i8(const int8_t *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)p)));
}
static inline tn_vf tn_vf_load_u16(const uint16_t *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)p)));
}
static inline tn_vf tn_vf_load_i16(const int16_t *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128((const void *)p)));
}
static inline tn_vf tn_vf_load_i32(const int32_t *p) {
  return _mm256_cvtepi32_ps(_mm256_loadu_si256((const void *)p));
}
static inline void tn_store_low_bytes(void *p, __m256i q, int32_t zero) {
  const __m256i low = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                       0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  q = _mm256_shuffle_epi8(_mm256_add_epi32(q, _mm256_set1_epi32(zero)), low);
  _mm_storel_epi64(p,
                   _mm_unpacklo_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1)));
}
static inline void tn_vf_store_byte(void *p, tn_vf v, int32_t zero) {
  const tn_vf whole = _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  tn_store_low_bytes(p, _mm256_cvtps_epi32(whole), zero);
}
static inline void tn_vf_store_rounded(void *p, tn_vf v, int32_t zero) {
  tn_store_low_bytes(p, _mm256_castps_si256(v), zero);
}
static inline bool tn_vf_some_above(tn_vf a, tn_vf b) {
  return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)) != 0;
}

#endif
#endif
