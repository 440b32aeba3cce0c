/* The interface of tenon/kit/simd.h with AVX2, FMA and F16C: 8 lanes, 16 registers; a mask is a
 * vector with all bits of a lane set. */
#ifndef TN_KIT_SIMD_AVX2_H
#define TN_KIT_SIMD_AVX2_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tenon/kit/simd_x86.h"

#define TN_VF_LANES 8
#define TN_VF_REGISTERS 16
typedef uint32_t tn_vu __attribute__((vector_size(4 * TN_VF_LANES)));
typedef int32_t tn_vi __attribute__((vector_size(4 * TN_VF_LANES)));

/* ---- vectors of f32 ---- */

typedef __m256 tn_vf;
typedef __m256i tn_vf_mask;

static inline tn_vf tn_vf_load(const float *p) { return _mm256_loadu_ps(p); }
static inline void tn_vf_store(float *p, tn_vf v) { _mm256_storeu_ps(p, v); }
static inline tn_vf tn_vf_set1(float x) { return _mm256_set1_ps(x); }
static inline tn_vf tn_vf_add(tn_vf a, tn_vf b) { return _mm256_add_ps(a, b); }
static inline tn_vf tn_vf_sub(tn_vf a, tn_vf b) { return a - b; }
static inline tn_vf tn_vf_mul(tn_vf a, tn_vf b) { return _mm256_mul_ps(a, b); }
static inline tn_vf tn_vf_div(tn_vf a, tn_vf b) { return a / b; }
static inline tn_vf tn_vf_fma(tn_vf a, tn_vf b, tn_vf c) { return _mm256_fmadd_ps(a, b, c); }
static inline tn_vf tn_vf_max(tn_vf a, tn_vf b) { return _mm256_max_ps(a, b); } /* a > b ? a : b */
static inline tn_vf tn_vf_min(tn_vf a, tn_vf b) { return _mm256_min_ps(a, b); } /* a < b ? a : b */
static inline float tn_vf_sum(tn_vf v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
static inline tn_vf_mask tn_vf_mask_first(int64_t n) { /* n in 0 .. 8 */
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline tn_vf_mask tn_vf_mask_and(tn_vf_mask a, tn_vf_mask b) {
  return _mm256_and_si256(a, b);
}
static inline tn_vf_mask tn_vf_mask_and_not(tn_vf_mask a, tn_vf_mask b) { /* in a, not in b */
  return _mm256_andnot_si256(b, a);
}
static inline tn_vf tn_vf_load_mask(tn_vf_mask m, const float *p) {
  return _mm256_maskload_ps(p, m);
}
/* Most are whole, and AMD's processors take dozens of steps for a masked store. */
static inline void tn_vf_store_mask(float *p, tn_vf_mask m, tn_vf v) {
  if (_mm256_movemask_ps(_mm256_castsi256_ps(m)) == 0xff)
    _mm256_storeu_ps(p, v);
  else
    _mm256_maskstore_ps(p, m, v);
}
static inline tn_vf tn_vf_load_if(tn_vf_mask m, const float *p) { return tn_vf_load_mask(m, p); }
static inline tn_vf tn_vf_keep(tn_vf_mask m, tn_vf v) {
  return _mm256_and_ps(_mm256_castsi256_ps(m), v);
}
/* Lanes that m has are loaded, the others stay. v must be 0 in the lanes of m. */
static inline tn_vf tn_vf_join(tn_vf v, tn_vf_mask m, const float *p) {
  return _mm256_or_ps(v, _mm256_maskload_ps(p, m));
}
/* 16-bit floats as f32. Exact. */
static inline tn_vf tn_vf_load_f16(const uint16_t *p) {
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}
static inline tn_vf tn_vf_load_bf16(const uint16_t *p) {
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
/* Elements 0, 2, 4 .. of a followed by b; and 1, 3, 5 .. of them. */
static inline tn_vf tn_vf_even(tn_vf a, tn_vf b) {
  const __m256d pairs = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0x88));
  return _mm256_castpd_ps(_mm256_permute4x64_pd(pairs, 0xd8));
}
static inline tn_vf tn_vf_odd(tn_vf a, tn_vf b) {
  const __m256d pairs = _mm256_castps_pd(_mm256_shuffle_ps(a, b, 0xdd));
  return _mm256_castpd_ps(_mm256_permute4x64_pd(pairs, 0xd8));
}

/* ---- lanes from elsewhere ---- */

static inline tn_vf_mask tn_vf_mask_of(tn_vi truth) { return (__m256i)truth; }
static inline tn_vf tn_vf_gather(tn_vf_mask m, const float *p, tn_vu at) {
  return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), p, (__m256i)at, _mm256_castsi256_ps(m), 4);
}
static inline tn_vf tn_vf_pick(tn_vf v, tn_vu at) {
  return _mm256_permutevar8x32_ps(v, (__m256i)at);
}
static inline tn_vf tn_vf_pick_two(tn_vf a, tn_vf b, tn_vu at) {
  const __m256i in_b = _mm256_slli_epi32((__m256i)at, 28); /* bit 3 becomes the sign */
  return _mm256_blendv_ps(_mm256_permutevar8x32_ps(a, (__m256i)at),
                          _mm256_permutevar8x32_ps(b, (__m256i)at), _mm256_castsi256_ps(in_b));
}
static inline tn_vf tn_vf_pick_four(tn_vf a, tn_vf b, tn_vf c, tn_vf d, tn_vu at) {
  const __m256i far = _mm256_slli_epi32((__m256i)at, 27); /* bit 4 becomes the sign */
  return _mm256_blendv_ps(tn_vf_pick_two(a, b, at), tn_vf_pick_two(c, d, at),
                          _mm256_castsi256_ps(far));
}
static inline void tn_vf_zip(tn_vf a, tn_vf b, tn_vf *low, tn_vf *high) {
  const __m256 even = _mm256_unpacklo_ps(a, b), odd = _mm256_unpackhi_ps(a, b);
  *low = _mm256_permute2f128_ps(even, odd, 0x20);
  *high = _mm256_permute2f128_ps(even, odd, 0x31);
}
static inline tn_vf tn_vf_thirds(tn_vf a, tn_vf b, tn_vf c) {
  return _mm256_blend_ps(_mm256_blend_ps(a, b, 0x92), c, 0x24);
}
static inline tn_vf tn_vf_load_fours(const void *const p[2]) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps((const float *)p[0])),
                              _mm_loadu_ps((const float *)p[1]), 1);
}
static inline void tn_vf_transpose_fours(tn_vf v[4]) {
  const __m256d t0 = _mm256_castps_pd(_mm256_unpacklo_ps(v[0], v[1])),
                t1 = _mm256_castps_pd(_mm256_unpackhi_ps(v[0], v[1])),
                t2 = _mm256_castps_pd(_mm256_unpacklo_ps(v[2], v[3])),
                t3 = _mm256_castps_pd(_mm256_unpackhi_ps(v[2], v[3]));
  v[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(t0, t2));
  v[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(t0, t2));
  v[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(t1, t3));
  v[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(t1, t3));
}

/* ---- arithmetic for which there are instructions ---- */

static inline tn_vf tn_vf_max_or_nan(tn_vf a, tn_vf v) {
  return _mm256_blendv_ps(tn_vf_max(v, a), v, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
}
static inline tn_vf tn_vf_min_or_nan(tn_vf a, tn_vf v) {
  return _mm256_blendv_ps(tn_vf_min(v, a), v, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
}
static inline tn_vf tn_vf_weight(tn_vf x, tn_vf least, tn_vf p, tn_vf m, tn_vf magic) {
  const __m256i bits = _mm256_sub_epi32(_mm256_castps_si256(m), _mm256_castps_si256(magic));
  const tn_vf scale =
      _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(127)), 23));
  return _mm256_and_ps(_mm256_cmp_ps(x, least, _CMP_NLT_UQ), tn_vf_fma(p, scale, scale));
}

/* ---- one register ---- */

typedef float tn_vr __attribute__((vector_size(32)));
static inline tn_vr tn_vr_set1(float x) { return (tn_vr)tn_vf_set1(x); }
static inline tn_vr tn_vr_fma(tn_vr a, tn_vr b, tn_vr c) {
  return (tn_vr)tn_vf_fma((tn_vf)a, (tn_vf)b, (tn_vf)c);
}
static inline tn_vr tn_vr_max(tn_vr a, tn_vr b) { return (tn_vr)tn_vf_max((tn_vf)a, (tn_vf)b); }
static inline float tn_vr_sum(tn_vr v) { return tn_vf_sum((tn_vf)v); }
/* out[k]: the sum of v[k]. */
static inline void tn_vr_sum_four(const tn_vr v[4], float *out) {
  const __m256 a = _mm256_hadd_ps((__m256)v[0], (__m256)v[1]),
               b = _mm256_hadd_ps((__m256)v[2], (__m256)v[3]), s = _mm256_hadd_ps(a, b);
  _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1)));
}
static inline float tn_vr_top(tn_vr v) {
  float lanes[TN_VF_LANES];
  tn_vf_store(lanes, (tn_vf)v);
  for (int step = TN_VF_LANES / 2; step; step /= 2)
    for (int k = 0; k < step; k++)
      lanes[k] = lanes[k + step] > lanes[k] ? lanes[k + step] : lanes[k];
  return lanes[0];
}

typedef double tn_vd __attribute__((vector_size(32)));
static inline tn_vd tn_vd_fma(tn_vd a, tn_vd b, tn_vd c) {
  return (tn_vd)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}

/* ---- bytes ---- */

enum { TN_VB_LANES = 32 };
typedef __m256i tn_vb;
static inline tn_vb tn_vb_set1(uint8_t x) { return _mm256_set1_epi8((char)x); }
static inline tn_vb tn_vb_load(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
static inline void tn_vb_store(void *p, tn_vb v) { _mm256_storeu_si256((__m256i *)p, v); }
static inline tn_vb tn_vb_max_u8(tn_vb a, tn_vb b) { return _mm256_max_epu8(a, b); }
static inline tn_vb tn_vb_max_i8(tn_vb a, tn_vb b) { return _mm256_max_epi8(a, b); }
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
typedef tn_vb tn_vb_table[16];
static inline void tn_vb_table_load(tn_vb_table t, const uint8_t *p) {
  for (int k = 0; k < 16; k++)
    t[k] = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(p + 16 * k)));
}
/* Row k is looked up in at every index less 16 k. The shuffle gives 0 where the highest bit is set:
 * that is what saturating makes of all indices that are not of this row. */
static inline tn_vb tn_vb_lookup(const tn_vb_table t, tn_vb at) {
  const tn_vb high = tn_vb_set1(0x70), row = tn_vb_set1(16);
  tn_vb y = _mm256_shuffle_epi8(t[0], _mm256_adds_epu8(at, high));
  TN_UNROLL for (int k = 1; k < 16; k++) {
    at = _mm256_sub_epi8(at, row);
    y = _mm256_or_si256(y, _mm256_shuffle_epi8(t[k], _mm256_adds_epu8(at, high)));
  }
  return y;
}

static inline tn_vf tn_vf_load_u8(const uint8_t *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}
static inline tn_vf tn_vf_load_i8(const int8_t *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}
static inline tn_vf tn_vf_load_u16(const uint16_t *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)));
}
static inline tn_vf tn_vf_load_i16(const int16_t *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)p)));
}
static inline tn_vf tn_vf_load_i32(const int32_t *p) {
  return _mm256_cvtepi32_ps(_mm256_loadu_si256((const __m256i *)p));
}
static inline void tn_store_low_bytes(void *p, __m256i q, int32_t zero) {
  const __m256i low = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                       0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  q = _mm256_shuffle_epi8(_mm256_add_epi32(q, _mm256_set1_epi32(zero)), low);
  _mm_storel_epi64((__m128i *)p,
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
