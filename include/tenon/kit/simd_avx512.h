/* The interface of tenon/kit/simd.h with AVX-512: 16 lanes, 32 registers, masks in registers of
 * their own. */
#ifndef TN_KIT_SIMD_AVX512_H
#define TN_KIT_SIMD_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tenon/kit/simd_x86.h"

#define TN_VF_LANES 16
#define TN_VF_REGISTERS 32
typedef uint32_t tn_vu __attribute__((vector_size(4 * TN_VF_LANES)));
typedef int32_t tn_vi __attribute__((vector_size(4 * TN_VF_LANES)));

/* ---- vectors of f32 ---- */

typedef __m512 tn_vf;
typedef __mmask16 tn_vf_mask;

static inline tn_vf tn_vf_load(const float *p) { return _mm512_loadu_ps(p); }
static inline void tn_vf_store(float *p, tn_vf v) { _mm512_storeu_ps(p, v); }
static inline tn_vf tn_vf_set1(float x) { return _mm512_set1_ps(x); }
static inline tn_vf tn_vf_add(tn_vf a, tn_vf b) { return _mm512_add_ps(a, b); }
static inline tn_vf tn_vf_sub(tn_vf a, tn_vf b) { return a - b; }
static inline tn_vf tn_vf_mul(tn_vf a, tn_vf b) { return _mm512_mul_ps(a, b); }
static inline tn_vf tn_vf_div(tn_vf a, tn_vf b) { return a / b; }
static inline tn_vf tn_vf_fma(tn_vf a, tn_vf b, tn_vf c) { return _mm512_fmadd_ps(a, b, c); }
static inline tn_vf tn_vf_max(tn_vf a, tn_vf b) { return _mm512_max_ps(a, b); } /* a > b ? a : b */
static inline tn_vf tn_vf_min(tn_vf a, tn_vf b) { return _mm512_min_ps(a, b); } /* a < b ? a : b */
static inline float tn_vf_sum(tn_vf v) { return _mm512_reduce_add_ps(v); }
static inline tn_vf_mask tn_vf_mask_first(int64_t n) { /* n in 0 .. 16 */
  return (tn_vf_mask)((1u << n) - 1);
}
static inline tn_vf_mask tn_vf_mask_and(tn_vf_mask a, tn_vf_mask b) { return (tn_vf_mask)(a & b); }
static inline tn_vf_mask tn_vf_mask_and_not(tn_vf_mask a, tn_vf_mask b) { /* in a, not in b */
  return (tn_vf_mask)(a & ~b);
}
static inline tn_vf tn_vf_load_mask(tn_vf_mask m, const float *p) {
  return _mm512_maskz_loadu_ps(m, p);
}
static inline void tn_vf_store_mask(float *p, tn_vf_mask m, tn_vf v) {
  _mm512_mask_storeu_ps(p, m, v);
}
static inline tn_vf tn_vf_load_if(tn_vf_mask m, const float *p) { return tn_vf_load_mask(m, p); }
static inline tn_vf tn_vf_keep(tn_vf_mask m, tn_vf v) { return _mm512_maskz_mov_ps(m, v); }
/* Lanes that m has are loaded, the others stay. v must be 0 in the lanes of m. */
static inline tn_vf tn_vf_join(tn_vf v, tn_vf_mask m, const float *p) {
  return _mm512_mask_loadu_ps(v, m, p);
}
/* 16-bit floats as f32. Exact. */
static inline tn_vf tn_vf_load_f16(const uint16_t *p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
static inline tn_vf tn_vf_load_bf16(const uint16_t *p) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}
/* Elements 0, 2, 4 .. of a followed by b; and 1, 3, 5 .. of them. */
static inline tn_vf tn_vf_even(tn_vf a, tn_vf b) {
  const __m512i at = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return _mm512_permutex2var_ps(a, at, b);
}
static inline tn_vf tn_vf_odd(tn_vf a, tn_vf b) {
  const __m512i at = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  return _mm512_permutex2var_ps(a, at, b);
}

/* ---- lanes from elsewhere ---- */

static inline tn_vf_mask tn_vf_mask_of(tn_vi truth) { return _mm512_movepi32_mask((__m512i)truth); }
static inline tn_vf tn_vf_gather(tn_vf_mask m, const float *p, tn_vu at) {
  return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, (__m512i)at, p, 4);
}
static inline tn_vf tn_vf_pick(tn_vf v, tn_vu at) { return _mm512_permutexvar_ps((__m512i)at, v); }
static inline tn_vf tn_vf_pick_two(tn_vf a, tn_vf b, tn_vu at) {
  return _mm512_permutex2var_ps(a, (__m512i)at, b);
}
static inline tn_vf tn_vf_pick_four(tn_vf a, tn_vf b, tn_vf c, tn_vf d, tn_vu at) {
  const __mmask16 far = _mm512_test_epi32_mask((__m512i)at, _mm512_set1_epi32(2 * TN_VF_LANES));
  return _mm512_mask_blend_ps(far, tn_vf_pick_two(a, b, at), tn_vf_pick_two(c, d, at));
}
static inline void tn_vf_zip(tn_vf a, tn_vf b, tn_vf *low, tn_vf *high) {
  const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
                half = _mm512_set1_epi32(8);
  *low = _mm512_permutex2var_ps(a, first, b);
  *high = _mm512_permutex2var_ps(a, _mm512_add_epi32(first, half), b);
}
static inline tn_vf tn_vf_thirds(tn_vf a, tn_vf b, tn_vf c) {
  return _mm512_mask_blend_ps(0x4924, _mm512_mask_blend_ps(0x2492, a, b), c);
}
static inline tn_vf tn_vf_load_fours(const void *const p[4]) {
  tn_vf v = _mm512_castps128_ps512(_mm_loadu_ps((const float *)p[0]));
  v = _mm512_insertf32x4(v, _mm_loadu_ps((const float *)p[1]), 1);
  v = _mm512_insertf32x4(v, _mm_loadu_ps((const float *)p[2]), 2);
  return _mm512_insertf32x4(v, _mm_loadu_ps((const float *)p[3]), 3);
}
static inline void tn_vf_transpose_fours(tn_vf v[4]) {
  const __m512d t0 = _mm512_castps_pd(_mm512_unpacklo_ps(v[0], v[1])),
                t1 = _mm512_castps_pd(_mm512_unpackhi_ps(v[0], v[1])),
                t2 = _mm512_castps_pd(_mm512_unpacklo_ps(v[2], v[3])),
                t3 = _mm512_castps_pd(_mm512_unpackhi_ps(v[2], v[3]));
  v[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(t0, t2));
  v[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(t0, t2));
  v[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(t1, t3));
  v[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(t1, t3));
}

/* ---- arithmetic for which there are instructions ---- */

static inline tn_vf tn_vf_max_or_nan(tn_vf a, tn_vf v) {
  return _mm512_mask_mov_ps(tn_vf_max(v, a), _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), v);
}
static inline tn_vf tn_vf_min_or_nan(tn_vf a, tn_vf v) {
  return _mm512_mask_mov_ps(tn_vf_min(v, a), _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), v);
}
static inline tn_vf tn_vf_weight(tn_vf x, tn_vf least, tn_vf p, tn_vf m, tn_vf magic) {
  const __mmask16 counts = _mm512_cmp_ps_mask(x, least, _CMP_NLT_UQ);
  return _mm512_maskz_scalef_ps(counts, tn_vf_add(p, tn_vf_set1(1)), tn_vf_sub(m, magic));
}

/* ---- one register ---- */

typedef float tn_vr __attribute__((vector_size(64)));
static inline tn_vr tn_vr_set1(float x) { return (tn_vr)tn_vf_set1(x); }
static inline tn_vr tn_vr_fma(tn_vr a, tn_vr b, tn_vr c) {
  return (tn_vr)tn_vf_fma((tn_vf)a, (tn_vf)b, (tn_vf)c);
}
static inline tn_vr tn_vr_max(tn_vr a, tn_vr b) { return (tn_vr)tn_vf_max((tn_vf)a, (tn_vf)b); }
static inline float tn_vr_sum(tn_vr v) { return tn_vf_sum((tn_vf)v); }
/* out[k]: the sum of v[k]. Pairs of lanes of two vectors share a register from the start. */
static inline void tn_vr_sum_four(const tn_vr v[4], float *out) {
  const __m512d a = _mm512_castps_pd(tn_vf_add(_mm512_unpacklo_ps((tn_vf)v[0], (tn_vf)v[1]),
                                               _mm512_unpackhi_ps((tn_vf)v[0], (tn_vf)v[1]))),
                b = _mm512_castps_pd(tn_vf_add(_mm512_unpacklo_ps((tn_vf)v[2], (tn_vf)v[3]),
                                               _mm512_unpackhi_ps((tn_vf)v[2], (tn_vf)v[3])));
  const __m512d s = _mm512_castps_pd(tn_vf_add(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)),
                                               _mm512_castpd_ps(_mm512_unpackhi_pd(a, b))));
  const __m256 h = _mm256_add_ps(_mm256_castpd_ps(_mm512_castpd512_pd256(s)),
                                 _mm256_castpd_ps(_mm512_extractf64x4_pd(s, 1)));
  _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1)));
}
static inline float tn_vr_top(tn_vr v) { return _mm512_reduce_max_ps((__m512)v); }

typedef double tn_vd __attribute__((vector_size(64)));
static inline tn_vd tn_vd_fma(tn_vd a, tn_vd b, tn_vd c) {
  return (tn_vd)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}

/* ---- bytes ---- */

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
typedef tn_vb tn_vb_table[16];
static inline void tn_vb_table_load(tn_vb_table t, const uint8_t *p) {
  for (int k = 0; k < 16; k++)
    t[k] = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(p + 16 * k)));
}
/* Row k is looked up in at every index less 16 k. The shuffle gives 0 where the highest bit is set:
 * that is what saturating makes of all indices that are not of this row. */
static inline tn_vb tn_vb_lookup(const tn_vb_table t, tn_vb at) {
  const tn_vb high = tn_vb_set1(0x70), row = tn_vb_set1(16);
  tn_vb y = _mm512_shuffle_epi8(t[0], _mm512_adds_epu8(at, high));
  TN_UNROLL for (int k = 1; k < 16; k++) {
    at = _mm512_sub_epi8(at, row);
    y = _mm512_or_si512(y, _mm512_shuffle_epi8(t[k], _mm512_adds_epu8(at, high)));
  }
  return y;
}

static inline tn_vf tn_vf_load_u8(const uint8_t *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)));
}
static inline tn_vf tn_vf_load_i8(const int8_t *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
}
static inline tn_vf tn_vf_load_u16(const uint16_t *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)));
}
static inline tn_vf tn_vf_load_i16(const int16_t *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)p)));
}
static inline tn_vf tn_vf_load_i32(const int32_t *p) {
  return _mm512_cvtepi32_ps(_mm512_loadu_si512(p));
}
static inline void tn_store_low_bytes(void *p, __m512i q, int32_t zero) {
  _mm_storeu_si128((__m128i *)p,
                   _mm512_cvtepi32_epi8(_mm512_add_epi32(q, _mm512_set1_epi32(zero))));
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

#endif
