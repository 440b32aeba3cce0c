/* What of the interface of tenon/kit/simd.h is the same with AVX2 and AVX-512: vectors of four
 * lanes and of 16 bytes. */
#ifndef TN_KIT_SIMD_X86_H
#define TN_KIT_SIMD_X86_H

#include <immintrin.h>
#include <stdint.h>

/* ---- four lanes ---- */

typedef __m128 tn_v4;

static inline tn_v4 tn_v4_load(const float *p) { return _mm_loadu_ps(p); }
/* Rows become columns. */
static inline void tn_v4_transpose(tn_v4 v[4]) { _MM_TRANSPOSE4_PS(v[0], v[1], v[2], v[3]); }

/* ---- 16 bytes ---- */

typedef __m128i tn_b16;
static inline tn_b16 tn_b16_load(const void *p) { return _mm_loadu_si128((const __m128i *)p); }
static inline tn_b16 tn_b16_load4(const void *p) { return _mm_loadu_si32(p); }
static inline void tn_b16_store(void *p, tn_b16 v) { _mm_storeu_si128((__m128i *)p, v); }
static inline tn_b16 tn_b16_set1(uint8_t x) { return _mm_set1_epi8((char)x); }
static inline tn_b16 tn_b16_or(tn_b16 a, tn_b16 b) { return _mm_or_si128(a, b); }
static inline tn_b16 tn_b16_xor(tn_b16 a, tn_b16 b) { return _mm_xor_si128(a, b); }
static inline tn_b16 tn_b16_pick(tn_b16 v, tn_b16 at) { return _mm_shuffle_epi8(v, at); }
static inline tn_b16 tn_b16_zip8(tn_b16 a, tn_b16 b) { return _mm_unpacklo_epi8(a, b); }
static inline tn_b16 tn_b16_zip16(tn_b16 a, tn_b16 b) { return _mm_unpacklo_epi16(a, b); }

#endif
