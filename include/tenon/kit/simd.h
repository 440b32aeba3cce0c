/* Vectors of f32 under one set of names, so that one source serves AVX-512 (16 lanes), AVX2 (8) and
 * NEON (8, see simd_neon.h).
 *
 * For files <family>_avx512.c, <family>_avx2.c and <family>_neon.c only: which it is follows from
 * their compiler flags. Lanes outside a mask are neither read nor written, and read as 0. */
#ifndef TN_KIT_SIMD_H
#define TN_KIT_SIMD_H

#include <stdint.h>
#include <string.h>

#if defined(__ARM_NEON)
#include "tenon/kit/simd_neon.h"
#else
#include <immintrin.h>
#endif

/* In front of a loop of constant length over an array of vectors: keeps the array in registers. */
#if defined(__clang__)
#define TN_UNROLL _Pragma("unroll")
#else
#define TN_UNROLL _Pragma("GCC unroll 32")
#endif

/* Brings the line of p into L1, or L2. p may lie outside of everything. */
static inline void tn_prefetch_l1(const void *p) { __builtin_prefetch(p, 0, 3); }
static inline void tn_prefetch_l2(const void *p) { __builtin_prefetch(p, 0, 2); }

#if defined(__AVX512F__)

#define TN_SIMD_NAME(name) name##_avx512
enum { TN_VF_LANES = 16 };
typedef __m512 tn_vf;
typedef __mmask16 tn_vf_mask;

static inline tn_vf tn_vf_load(const float *p) { return _mm512_loadu_ps(p); }
static inline void tn_vf_store(float *p, tn_vf v) { _mm512_storeu_ps(p, v); }
static inline tn_vf tn_vf_set1(float x) { return _mm512_set1_ps(x); }
static inline tn_vf tn_vf_add(tn_vf a, tn_vf b) { return _mm512_add_ps(a, b); }
static inline tn_vf tn_vf_mul(tn_vf a, tn_vf b) { return _mm512_mul_ps(a, b); }
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
static inline tn_vf tn_vf_keep(tn_vf_mask m, tn_vf v) { return _mm512_maskz_mov_ps(m, v); }
/* Lanes that m has are loaded, the others stay. v must be 0 in the lanes of m. */
static inline tn_vf tn_vf_join(tn_vf v, tn_vf_mask m, const float *p) {
  return _mm512_mask_loadu_ps(v, m, p);
}
/* 16-bit floats as f32. Exact. */
static inline tn_vf tn_vf_load_f16(const uint16_t *p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const void *)p));
}
static inline tn_vf tn_vf_load_bf16(const uint16_t *p) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)p));
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

#elif !defined(__ARM_NEON)

#define TN_SIMD_NAME(name) name##_avx2
enum { TN_VF_LANES = 8 };
typedef __m256 tn_vf;
typedef __m256i tn_vf_mask;

static inline tn_vf tn_vf_load(const float *p) { return _mm256_loadu_ps(p); }
static inline void tn_vf_store(float *p, tn_vf v) { _mm256_storeu_ps(p, v); }
static inline tn_vf tn_vf_set1(float x) { return _mm256_set1_ps(x); }
static inline tn_vf tn_vf_add(tn_vf a, tn_vf b) { return _mm256_add_ps(a, b); }
static inline tn_vf tn_vf_mul(tn_vf a, tn_vf b) { return _mm256_mul_ps(a, b); }
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
static inline void tn_vf_store_mask(float *p, tn_vf_mask m, tn_vf v) {
  _mm256_maskstore_ps(p, m, v);
}
static inline tn_vf tn_vf_keep(tn_vf_mask m, tn_vf v) {
  return _mm256_and_ps(_mm256_castsi256_ps(m), v);
}
/* Lanes that m has are loaded, the others stay. v must be 0 in the lanes of m. */
static inline tn_vf tn_vf_join(tn_vf v, tn_vf_mask m, const float *p) {
  return _mm256_or_ps(v, _mm256_maskload_ps(p, m));
}
/* 16-bit floats as f32. Exact. */
static inline tn_vf tn_vf_load_f16(const uint16_t *p) {
  return _mm256_cvtph_ps(_mm_loadu_si128((const void *)p));
}
static inline tn_vf tn_vf_load_bf16(const uint16_t *p) {
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)p));
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

#endif

#if !defined(__ARM_NEON)

static inline tn_vf tn_vf_sub(tn_vf a, tn_vf b) { return a - b; }
static inline tn_vf tn_vf_div(tn_vf a, tn_vf b) { return a / b; }
/* m has all lanes or none. */
static inline tn_vf tn_vf_load_if(tn_vf_mask m, const float *p) { return tn_vf_load_mask(m, p); }

/* ---- four lanes, of any machine ---- */

typedef __m128 tn_v4;

static inline tn_v4 tn_v4_load(const float *p) { return _mm_loadu_ps(p); }
static inline void tn_v4_store(float *p, tn_v4 v) { _mm_storeu_ps(p, v); }
/* Rows become columns. */
static inline void tn_v4_transpose(tn_v4 v[4]) { _MM_TRANSPOSE4_PS(v[0], v[1], v[2], v[3]); }

#endif

/* Folds the lanes of each of TN_VF_LANES vectors, neighbours by neighbours; what becomes of v[k] is
 * lane k of v[0] then. join(a, b): two vectors as one. */
#define TN_VF_HALVE(v, n, join)                           \
  TN_UNROLL for (int k_ = 0; k_ < (n) / 2; k_++)(v)[k_] = \
      join(tn_vf_even((v)[2 * k_], (v)[2 * k_ + 1]), tn_vf_odd((v)[2 * k_], (v)[2 * k_ + 1]))
#if defined(__AVX512F__)
#define TN_VF_FOLD_EACH(v, join) \
  do {                           \
    TN_VF_HALVE(v, 16, join);    \
    TN_VF_HALVE(v, 8, join);     \
    TN_VF_HALVE(v, 4, join);     \
    TN_VF_HALVE(v, 2, join);     \
  } while (0)
#else
#define TN_VF_FOLD_EACH(v, join) \
  do {                           \
    TN_VF_HALVE(v, 8, join);     \
    TN_VF_HALVE(v, 4, join);     \
    TN_VF_HALVE(v, 2, join);     \
  } while (0)
#endif

/* The first n of 16-bit floats, n <= TN_VF_LANES, 0 behind them. */
static inline tn_vf tn_vf_load_f16_first(const uint16_t *p, int64_t n) {
  uint16_t lanes[TN_VF_LANES] = {0};
  memcpy(lanes, p, (size_t)n * sizeof *p);
  return tn_vf_load_f16(lanes);
}
static inline tn_vf tn_vf_load_bf16_first(const uint16_t *p, int64_t n) {
  uint16_t lanes[TN_VF_LANES] = {0};
  memcpy(lanes, p, (size_t)n * sizeof *p);
  return tn_vf_load_bf16(lanes);
}

/* 32-bit numbers, one per lane; + * < and so on work on them. */
typedef uint32_t tn_vu __attribute__((vector_size(4 * TN_VF_LANES)));
typedef int32_t tn_vi __attribute__((vector_size(4 * TN_VF_LANES)));

/* Of a comparison of two tn_vu. */
static inline tn_vf_mask tn_vf_mask_of(tn_vi truth) {
#if defined(__AVX512F__)
  return _mm512_movepi32_mask((__m512i)truth);
#elif defined(__ARM_NEON)
  tn_vf_mask m = 0;
  for (int l = 0; l < TN_VF_LANES; l++) m |= truth[l] ? 1u << l : 0;
  return m;
#else
  return (__m256i)truth;
#endif
}

/* p[at[l]] in the lanes of m. */
static inline tn_vf tn_vf_gather(tn_vf_mask m, const float *p, tn_vu at) {
#if defined(__AVX512F__)
  return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, (__m512i)at, p, 4);
#elif defined(__ARM_NEON)
  float lanes[TN_VF_LANES];
  for (int l = 0; l < TN_VF_LANES; l++) lanes[l] = m >> l & 1 ? p[(int32_t)at[l]] : 0;
  return tn_vf_load(lanes);
#else
  return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), p, (__m256i)at, _mm256_castsi256_ps(m), 4);
#endif
}

/* v[at[l]]; at < TN_VF_LANES. */
static inline tn_vf tn_vf_pick(tn_vf v, tn_vu at) {
#if defined(__AVX512F__)
  return _mm512_permutexvar_ps((__m512i)at, v);
#elif defined(__ARM_NEON)
  float from[TN_VF_LANES], lanes[TN_VF_LANES];
  tn_vf_store(from, v);
  for (int l = 0; l < TN_VF_LANES; l++) lanes[l] = from[at[l]];
  return tn_vf_load(lanes);
#else
  return _mm256_permutevar8x32_ps(v, (__m256i)at);
#endif
}

/* Element at[l] of a followed by b; at < 2 * TN_VF_LANES, on x86 higher bits are ignored. */
static inline tn_vf tn_vf_pick_two(tn_vf a, tn_vf b, tn_vu at) {
#if defined(__AVX512F__)
  return _mm512_permutex2var_ps(a, (__m512i)at, b);
#elif defined(__ARM_NEON)
  float from[2 * TN_VF_LANES], lanes[TN_VF_LANES];
  tn_vf_store(from, a);
  tn_vf_store(from + TN_VF_LANES, b);
  for (int l = 0; l < TN_VF_LANES; l++) lanes[l] = from[at[l]];
  return tn_vf_load(lanes);
#else
  const __m256i in_b = _mm256_slli_epi32((__m256i)at, 28); /* bit 3 becomes the sign */
  return _mm256_blendv_ps(_mm256_permutevar8x32_ps(a, (__m256i)at),
                          _mm256_permutevar8x32_ps(b, (__m256i)at), _mm256_castsi256_ps(in_b));
#endif
}

/* Element at[l] of a followed by b, c and d; at < 4 * TN_VF_LANES. */
static inline tn_vf tn_vf_pick_four(tn_vf a, tn_vf b, tn_vf c, tn_vf d, tn_vu at) {
#if defined(__AVX512F__)
  const __mmask16 far = _mm512_test_epi32_mask((__m512i)at, _mm512_set1_epi32(2 * TN_VF_LANES));
  return _mm512_mask_blend_ps(far, tn_vf_pick_two(a, b, at), tn_vf_pick_two(c, d, at));
#elif defined(__ARM_NEON)
  float from[4 * TN_VF_LANES], lanes[TN_VF_LANES];
  tn_vf_store(from, a);
  tn_vf_store(from + TN_VF_LANES, b);
  tn_vf_store(from + 2 * TN_VF_LANES, c);
  tn_vf_store(from + 3 * TN_VF_LANES, d);
  for (int l = 0; l < TN_VF_LANES; l++) lanes[l] = from[at[l]];
  return tn_vf_load(lanes);
#else
  const __m256i far = _mm256_slli_epi32((__m256i)at, 27); /* bit 4 becomes the sign */
  return _mm256_blendv_ps(tn_vf_pick_two(a, b, at), tn_vf_pick_two(c, d, at),
                          _mm256_castsi256_ps(far));
#endif
}

#endif
