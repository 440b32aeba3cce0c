/* The target of tenon/kit/dot_simd.h with AVX-512 VNNI, and of tenon/kit/quads_simd.h also without
 * it: a vector is 16 lanes of four products. */
#ifndef TN_KIT_DOT_AVX512_H
#define TN_KIT_DOT_AVX512_H

#define TN_MM(f) _mm512_##f
#if defined(__AVX512VNNI__) /* an instruction by itself: around the intrinsic gcc 12 copies acc */
#define TN_VPDPBUSD(acc, x, w) __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(w))
#endif
#include "tenon/kit/dot_x86.h"

#if defined(__AVX512VNNI__)

#define TN_DOT_LANES 16
#define TN_DOT_K 4
#define TN_DOT_ROWS 14
#define TN_DOT_HALF_ROWS 12
#define TN_DOT_SIGNED 0
typedef uint8_t tn_dot_x;
typedef int8_t tn_dot_w;

/* The lower 8 bytes of each 16, then the upper ones: two rows of a panel. And back. */
static inline tn_vq tn_vq_split(tn_vq v) {
  return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), v);
}
static inline tn_vq tn_vq_unsplit(tn_vq v) {
  return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), v);
}
/* The first n bytes; 0 for the others. */
static inline tn_vq tn_vq_load_first(const tn_dot_x *x, int64_t n) {
  return n >= 64 ? tn_vq_load(x) : _mm512_maskz_loadu_epi8((UINT64_C(1) << n) - 1, x);
}
static inline void tn_vq_store_first(uint8_t *y, tn_vq v, int64_t n) {
  if (n >= 64)
    tn_vq_store(y, v);
  else
    _mm512_mask_storeu_epi8(y, (UINT64_C(1) << n) - 1, v);
}
/* The filters of a panel in their own order, from two vectors in that of the lanes. */
static inline void tn_dot_order(tn_vf *a, tn_vf *b) {
  const __m512i lo = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
  const __m512i hi =
      _mm512_setr_epi32(8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
  const __m512 first = _mm512_permutex2var_ps(*a, lo, *b);
  *b = _mm512_permutex2var_ps(*a, hi, *b);
  *a = first;
}
/* n of the 32 bytes of row 0 (which is NULL where there is none) and of row 1. */
static inline void tn_dot_store_rows(tn_vq v, uint8_t *row0, uint8_t *row1, int64_t n) {
  const __mmask32 live = n >= 32 ? 0xffffffffu : (1u << n) - 1;
  _mm256_mask_storeu_epi8(row0, live, _mm512_castsi512_si256(v));
  if (row1) _mm256_mask_storeu_epi8(row1, live, _mm512_extracti64x4_epi64(v, 1));
}
static inline tn_vq tn_dot_load_rows(const uint8_t *row0, const uint8_t *row1, int64_t n) {
  const __mmask32 live = n >= 32 ? 0xffffffffu : (1u << n) - 1;
  const __m256i a = _mm256_maskz_loadu_epi8(live, row0), b = _mm256_maskz_loadu_epi8(live, row1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
}
/* Of up to four rows, `step` bytes apart, n of 16 bytes each: in the file's order and in that of
 * four packed vectors, four bytes of each row in turn. */
static inline __m512i tn_dot_turn(__m512i v) {
  return _mm512_permutexvar_epi32(
      _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), v);
}
static inline void tn_dot_store_four(tn_vq packed, uint8_t *y, int64_t step, int64_t rows,
                                     int64_t n) {
  const __m512i v = tn_dot_turn(packed);
  const __mmask16 live = (__mmask16)((1u << n) - 1);
  if (rows == 4 && n == 16 && step == 16) {
    tn_vq_store(y, v);
    return;
  }
  _mm_mask_storeu_epi8(y, live, _mm512_castsi512_si128(v));
  if (rows > 1) _mm_mask_storeu_epi8(y + step, live, _mm512_extracti32x4_epi32(v, 1));
  if (rows > 2) _mm_mask_storeu_epi8(y + 2 * step, live, _mm512_extracti32x4_epi32(v, 2));
  if (rows > 3) _mm_mask_storeu_epi8(y + 3 * step, live, _mm512_extracti32x4_epi32(v, 3));
}
static inline tn_vq tn_dot_load_four(const uint8_t *z, int64_t step, int64_t rows, int64_t n) {
  const __mmask16 live = (__mmask16)((1u << n) - 1);
  __m512i v = _mm512_castsi128_si512(_mm_maskz_loadu_epi8(live, z));
  if (rows > 1) v = _mm512_inserti32x4(v, _mm_maskz_loadu_epi8(live, z + step), 1);
  if (rows > 2) v = _mm512_inserti32x4(v, _mm_maskz_loadu_epi8(live, z + 2 * step), 2);
  if (rows > 3) v = _mm512_inserti32x4(v, _mm_maskz_loadu_epi8(live, z + 3 * step), 3);
  return tn_dot_turn(v);
}
static inline tn_vq tn_dot_4(const tn_dot_x *x) {
  int32_t four;
  memcpy(&four, x, sizeof four);
  return _mm512_set1_epi32(four);
}
#define TN_DOT(acc, x, w) TN_VPDPBUSD(acc, x, w)

#endif

#endif
