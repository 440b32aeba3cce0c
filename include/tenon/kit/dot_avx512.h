/* The target of tenon/kit/dot_simd.h with AVX-512 VNNI, and of tenon/kit/quads_simd.h also without
 * it: a vector is 16 lanes of four products. */
#ifndef TN_KIT_DOT_AVX512_H
#define TN_KIT_DOT_AVX512_H

#include "tenon/kit/simd.h"

#if defined(__AVX512VNNI__)

#define TN_DOT_LANES 16
#define TN_DOT_K 4
#define TN_DOT_ROWS 14
#define TN_DOT_SIGNED 0
typedef uint8_t tn_dot_x;
typedef int8_t tn_dot_w;

typedef __m512i tn_vq;

static inline tn_vq tn_vq_load(const void *p) { return _mm512_loadu_si512(p); }
static inline void tn_vq_store(void *p, tn_vq v) { _mm512_storeu_si512(p, v); }
static inline tn_vq tn_vq_set1(int32_t x) { return _mm512_set1_epi32(x); }
static inline tn_vq tn_vq_add(tn_vq a, tn_vq b) { return _mm512_add_epi32(a, b); }
static inline tn_vq tn_vq_sub(tn_vq a, tn_vq b) { return _mm512_sub_epi32(a, b); }
static inline tn_vq tn_vq_mul(tn_vq a, tn_vq b) { return _mm512_mullo_epi32(a, b); }
static inline tn_vf tn_vq_float(tn_vq v) { return _mm512_cvtepi32_ps(v); }
static inline tn_vq tn_vq_round(tn_vf v) { return _mm512_cvtps_epi32(v); } /* half to even */
static inline tn_vq tn_vq_pack16(tn_vq a, tn_vq b) { return _mm512_packs_epi32(a, b); }
static inline tn_vq tn_vq_pack_u8(tn_vq a, tn_vq b) { return _mm512_packus_epi16(a, b); }
static inline tn_vq tn_vq_adds16(tn_vq a, tn_vq b) { return _mm512_adds_epi16(a, b); }
static inline tn_vq tn_vq_set16(int16_t x) { return _mm512_set1_epi16(x); }
static inline tn_vq tn_vq_set8(uint8_t x) { return _mm512_set1_epi8((char)x); }
static inline tn_vq tn_vq_xor(tn_vq a, tn_vq b) { return _mm512_xor_si512(a, b); }
static inline tn_vq tn_vq_max8(tn_vq a, tn_vq b) { return _mm512_max_epu8(a, b); }
/* The lower 8 bytes of each 16, then the upper ones: two rows of a panel. And back. */
static inline tn_vq tn_vq_split(tn_vq v) {
  return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), v);
}
static inline tn_vq tn_vq_unsplit(tn_vq v) {
  return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), v);
}
static inline tn_vq tn_vq_lower8(tn_vq v) { /* of each 16 bytes, as 16-bit numbers */
  return _mm512_unpacklo_epi8(v, _mm512_setzero_si512());
}
static inline tn_vq tn_vq_upper8(tn_vq v) {
  return _mm512_unpackhi_epi8(v, _mm512_setzero_si512());
}
static inline tn_vq tn_vq_lower16(tn_vq v) {
  return _mm512_unpacklo_epi16(v, _mm512_setzero_si512());
}
static inline tn_vq tn_vq_upper16(tn_vq v) {
  return _mm512_unpackhi_epi16(v, _mm512_setzero_si512());
}
/* Numbers of `size` bits of a and b in turn, within each 128 bits. */
#define TN_VQ_ZIP(size, a, b, lo, hi) \
  const tn_vq lo = _mm512_unpacklo_epi##size(a, b), hi = _mm512_unpackhi_epi##size(a, b)
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
static inline tn_vq tn_dot_4(const tn_dot_x *x) {
  int32_t four;
  memcpy(&four, x, sizeof four);
  return _mm512_set1_epi32(four);
}
/* An instruction by itself: around the intrinsic gcc 12 copies the accumulators. */
#define TN_DOT(acc, x, w) __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(w))

#endif

/* ---- quads: see tenon/kit/quads_simd.h ---- */

typedef __m512i tn_quads;
typedef __m512i tn_quads_sums;
static inline tn_quads tn_quads_load(const void *p) { return _mm512_loadu_si512(p); }
static inline tn_quads tn_quads_set1(int32_t x) { return _mm512_set1_epi32(x); }
static inline tn_quads tn_quads_low(tn_quads v) {
  return _mm512_and_si512(v, _mm512_set1_epi8(15));
}
static inline tn_quads tn_quads_high(tn_quads v) { return tn_quads_low(_mm512_srli_epi32(v, 4)); }
static inline tn_vf tn_vf_of_int(tn_vi v) { return _mm512_cvtepi32_ps((__m512i)v); }
static inline tn_vi tn_vi_round(tn_vf v) { return (tn_vi)_mm512_cvtps_epi32(v); }

#if defined(__AVX512VNNI__)

#define TN_QUADS_SUMS_32 1
static inline tn_quads_sums tn_quads_sum_begin(int32_t from) { return tn_quads_set1(from); }
static inline tn_vi tn_quads_sum_end(tn_quads_sums s, int32_t from) {
  (void)from;
  return (tn_vi)s;
}
/* An instruction by itself: around the intrinsic gcc 12 copies the accumulators. */
#define TN_QUADS_DOT(acc, x, d) __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(d))

#else

/* Of i16: 8 times two products of 15 x 128 at most. */
static inline tn_quads_sums tn_quads_sum_begin(int32_t from) {
  (void)from;
  return tn_quads_set1(0);
}
/* The empty instruction: gcc would first make all products, then add them in pairs, and spill. */
#define TN_KEEP_ORDER(acc) __asm__("" : "+v"(acc))
static inline tn_vi tn_quads_sum_end(tn_quads_sums s, int32_t from) {
  const __m512i pairs = _mm512_madd_epi16(s, _mm512_set1_epi16(1));
  return (tn_vi)_mm512_add_epi32(pairs, _mm512_set1_epi32(from));
}
#define TN_QUADS_DOT(acc, x, d)                              \
  do {                                                       \
    acc = _mm512_add_epi16(acc, _mm512_maddubs_epi16(x, d)); \
    TN_KEEP_ORDER(acc);                                      \
  } while (0)

#endif

#endif
