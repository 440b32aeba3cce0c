/* The target of tenon/kit/dot_simd.h with AVX2: a vector is 8 lanes, of four products with
 * AVX-VNNI, else of two, of 16-bit copies. */
#ifndef TN_KIT_DOT_AVX2_H
#define TN_KIT_DOT_AVX2_H

#include "tenon/kit/simd.h"

#define TN_DOT_LANES 8
#define TN_DOT_ROWS 6
#define TN_DOT_SIGNED 0
#if defined(__AVXVNNI__)
#define TN_DOT_K 4
typedef uint8_t tn_dot_x;
typedef int8_t tn_dot_w;
#else
#define TN_DOT_K 2
typedef int16_t tn_dot_x;
typedef int16_t tn_dot_w;
#endif

typedef __m256i tn_vq;

static inline tn_vq tn_vq_load(const void *p) { return _mm256_loadu_si256(p); }
static inline void tn_vq_store(void *p, tn_vq v) { _mm256_storeu_si256(p, v); }
static inline tn_vq tn_vq_set1(int32_t x) { return _mm256_set1_epi32(x); }
static inline tn_vq tn_vq_add(tn_vq a, tn_vq b) { return _mm256_add_epi32(a, b); }
static inline tn_vq tn_vq_sub(tn_vq a, tn_vq b) { return _mm256_sub_epi32(a, b); }
static inline tn_vq tn_vq_mul(tn_vq a, tn_vq b) { return _mm256_mullo_epi32(a, b); }
static inline tn_vf tn_vq_float(tn_vq v) { return _mm256_cvtepi32_ps(v); }
static inline tn_vq tn_vq_round(tn_vf v) { return _mm256_cvtps_epi32(v); } /* half to even */
static inline tn_vq tn_vq_pack16(tn_vq a, tn_vq b) { return _mm256_packs_epi32(a, b); }
static inline tn_vq tn_vq_pack_u8(tn_vq a, tn_vq b) { return _mm256_packus_epi16(a, b); }
static inline tn_vq tn_vq_adds16(tn_vq a, tn_vq b) { return _mm256_adds_epi16(a, b); }
static inline tn_vq tn_vq_set16(int16_t x) { return _mm256_set1_epi16(x); }
static inline tn_vq tn_vq_set8(uint8_t x) { return _mm256_set1_epi8((char)x); }
static inline tn_vq tn_vq_xor(tn_vq a, tn_vq b) { return _mm256_xor_si256(a, b); }
static inline tn_vq tn_vq_max8(tn_vq a, tn_vq b) { return _mm256_max_epu8(a, b); }
/* The lower 8 bytes of each 16, then the upper ones: two rows of a panel. And back. */
static inline tn_vq tn_vq_split(tn_vq v) { return _mm256_permute4x64_epi64(v, 0xd8); }
static inline tn_vq tn_vq_unsplit(tn_vq v) { return _mm256_permute4x64_epi64(v, 0xd8); }
static inline tn_vq tn_vq_lower8(tn_vq v) { /* of each 16 bytes, as 16-bit numbers */
  return _mm256_unpacklo_epi8(v, _mm256_setzero_si256());
}
static inline tn_vq tn_vq_upper8(tn_vq v) {
  return _mm256_unpackhi_epi8(v, _mm256_setzero_si256());
}
static inline tn_vq tn_vq_lower16(tn_vq v) {
  return _mm256_unpacklo_epi16(v, _mm256_setzero_si256());
}
static inline tn_vq tn_vq_upper16(tn_vq v) {
  return _mm256_unpackhi_epi16(v, _mm256_setzero_si256());
}
/* Numbers of `size` bits of a and b in turn, within each 128 bits. */
#define TN_VQ_ZIP(size, a, b, lo, hi) \
  const tn_vq lo = _mm256_unpacklo_epi##size(a, b), hi = _mm256_unpackhi_epi##size(a, b)
/* The filters of a panel in their own order, from two vectors in that of the lanes. */
static inline void tn_dot_order(tn_vf *a, tn_vf *b) {
  const __m256 first = _mm256_permute2f128_ps(*a, *b, 0x20);
  *b = _mm256_permute2f128_ps(*a, *b, 0x31);
  *a = first;
}
/* What is less than a vector is moved by functions of their own: tiles have dozens of these
 * places. */
static __attribute__((noinline, unused)) void tn_dot_store_part(__m128i v, uint8_t *row,
                                                                int64_t n) {
  uint8_t bytes[16];
  _mm_storeu_si128((void *)bytes, v);
  memcpy(row, bytes, (size_t)n);
}
static __attribute__((noinline, unused)) __m128i tn_dot_load_part(const uint8_t *row, int64_t n) {
  uint8_t bytes[16] = {0};
  memcpy(bytes, row, (size_t)n);
  return _mm_loadu_si128((const void *)bytes);
}
static inline void tn_dot_store_row(__m128i v, uint8_t *row, int64_t n) {
  if (n >= 16)
    _mm_storeu_si128((void *)row, v);
  else
    tn_dot_store_part(v, row, n);
}
/* n of the 16 bytes of row 0 and of row 1 (which is NULL where there is none). */
static inline void tn_dot_store_rows(tn_vq v, uint8_t *row0, uint8_t *row1, int64_t n) {
  tn_dot_store_row(_mm256_castsi256_si128(v), row0, n);
  if (row1) tn_dot_store_row(_mm256_extracti128_si256(v, 1), row1, n);
}
static inline __m128i tn_dot_load_row(const uint8_t *row, int64_t n) {
  return n >= 16 ? _mm_loadu_si128((const void *)row) : tn_dot_load_part(row, n);
}
static inline tn_vq tn_dot_load_rows(const uint8_t *row0, const uint8_t *row1, int64_t n) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(tn_dot_load_row(row0, n)),
                                 tn_dot_load_row(row1, n), 1);
}
/* The first n codes; 0 for the others. */
static __attribute__((noinline, unused)) tn_vq tn_vq_load_part(const tn_dot_x *x, int64_t n) {
  tn_dot_x room[sizeof(tn_vq) / sizeof *x] = {0};
  memcpy(room, x, (size_t)n * sizeof *x);
  return tn_vq_load(room);
}
static inline tn_vq tn_vq_load_first(const tn_dot_x *x, int64_t n) {
  return n >= (int64_t)(sizeof(tn_vq) / sizeof *x) ? tn_vq_load(x) : tn_vq_load_part(x, n);
}
/* The first n bytes. */
static inline void tn_vq_store_first(uint8_t *y, tn_vq v, int64_t n) {
  if (n >= (int64_t)sizeof v) {
    tn_vq_store(y, v);
  } else {
    tn_dot_store_row(_mm256_castsi256_si128(v), y, n);
    if (n > 16) tn_dot_store_part(_mm256_extracti128_si256(v, 1), y + 16, n - 16);
  }
}
static inline tn_vq tn_dot_4(const tn_dot_x *x) {
  int32_t four;
  memcpy(&four, x, sizeof four);
  return _mm256_set1_epi32(four);
}
#if defined(__AVXVNNI__) && defined(__clang__)
#define TN_DOT(acc, x, w) acc = _mm256_dpbusd_avx_epi32(acc, x, w)
#elif defined(__AVXVNNI__) /* as above */
#define TN_DOT(acc, x, w) __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(acc) : "x"(x), "x"(w))
#else
#define TN_DOT(acc, x, w) acc = _mm256_add_epi32(acc, _mm256_madd_epi16(x, w))
#endif

/* ---- quads: see tenon/kit/quads_simd.h ---- */

typedef __m256i tn_quads;
typedef __m256i tn_quads_sums;
static inline tn_quads tn_quads_load(const void *p) { return _mm256_loadu_si256(p); }
static inline tn_quads tn_quads_set1(int32_t x) { return _mm256_set1_epi32(x); }
static inline tn_quads tn_quads_low(tn_quads v) {
  return _mm256_and_si256(v, _mm256_set1_epi8(15));
}
static inline tn_quads tn_quads_high(tn_quads v) { return tn_quads_low(_mm256_srli_epi32(v, 4)); }
static inline tn_vf tn_vf_of_int(tn_vi v) { return _mm256_cvtepi32_ps((__m256i)v); }
static inline tn_vi tn_vi_round(tn_vf v) { return (tn_vi)_mm256_cvtps_epi32(v); }

#if defined(__AVXVNNI__)

#define TN_QUADS_SUMS_32 1
static inline tn_quads_sums tn_quads_sum_begin(int32_t from) { return tn_quads_set1(from); }
static inline tn_vi tn_quads_sum_end(tn_quads_sums s, int32_t from) {
  (void)from;
  return (tn_vi)s;
}
/* An instruction by itself: around the intrinsic gcc 12 copies the accumulators. */
#define TN_QUADS_DOT(acc, x, d) __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(acc) : "x"(x), "x"(d))

#else

/* Of i16: 8 times two products of 15 x 128 at most. */
static inline tn_quads_sums tn_quads_sum_begin(int32_t from) {
  (void)from;
  return tn_quads_set1(0);
}
/* The empty instruction: gcc would first make all products, then add them in pairs, and spill. */
#define TN_KEEP_ORDER(acc) __asm__("" : "+v"(acc))
static inline tn_vi tn_quads_sum_end(tn_quads_sums s, int32_t from) {
  const __m256i pairs = _mm256_madd_epi16(s, _mm256_set1_epi16(1));
  return (tn_vi)_mm256_add_epi32(pairs, _mm256_set1_epi32(from));
}
#define TN_QUADS_DOT(acc, x, d)                              \
  do {                                                       \
    acc = _mm256_add_epi16(acc, _mm256_maddubs_epi16(x, d)); \
    TN_KEEP_ORDER(acc);                                      \
  } while (0)

#endif

#endif
