/* The target of tenon/kit/dot_simd.h with AVX2: a vector is 8 lanes, of four products with
 * AVX-VNNI, else of two, of 16-bit copies. */
#ifndef TN_KIT_DOT_AVX2_H
#define TN_KIT_DOT_AVX2_H

#define TN_MM(f) _mm256_##f
#if defined(__AVXVNNI__) && defined(__clang__)
#define TN_VPDPBUSD(acc, x, w) acc = _mm256_dpbusd_avx_epi32(acc, x, w)
#elif defined(__AVXVNNI__) /* an instruction by itself: around the intrinsic gcc 12 copies acc */
#define TN_VPDPBUSD(acc, x, w) __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(acc) : "x"(x), "x"(w))
#endif
#include "tenon/kit/dot_x86.h"

#define TN_DOT_LANES 8
#define TN_DOT_ROWS 6
#define TN_DOT_HALF_ROWS 12
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

/* The lower 8 bytes of each 16, then the upper ones: two rows of a panel. And back. */
static inline tn_vq tn_vq_split(tn_vq v) { return _mm256_permute4x64_epi64(v, 0xd8); }
static inline tn_vq tn_vq_unsplit(tn_vq v) { return _mm256_permute4x64_epi64(v, 0xd8); }
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
  _mm_storeu_si128((__m128i *)bytes, v);
  memcpy(row, bytes, (size_t)n);
}
static inline void tn_dot_store_row(__m128i v, uint8_t *row, int64_t n) {
  if (n >= 16)
    _mm_storeu_si128((__m128i *)row, v);
  else if (n == 8)
    _mm_storel_epi64((__m128i *)row, v);
  else
    tn_dot_store_part(v, row, n);
}
/* n of the 16 bytes of row 0 and of row 1 (which is NULL where there is none). */
static inline void tn_dot_store_rows(tn_vq v, uint8_t *row0, uint8_t *row1, int64_t n) {
  tn_dot_store_row(_mm256_castsi256_si128(v), row0, n);
  if (row1) tn_dot_store_row(_mm256_extracti128_si256(v, 1), row1, n);
}
static __attribute__((noinline, unused)) __m128i tn_dot_load_part(const uint8_t *row, int64_t n) {
  uint8_t bytes[16] = {0};
  memcpy(bytes, row, (size_t)n);
  return _mm_loadu_si128((const __m128i *)bytes);
}
static inline __m128i tn_dot_load_row(const uint8_t *row, int64_t n) {
  return n >= 16 ? _mm_loadu_si128((const __m128i *)row) : tn_dot_load_part(row, n);
}
static inline tn_vq tn_dot_load_rows(const uint8_t *row0, const uint8_t *row1, int64_t n) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(tn_dot_load_row(row0, n)),
                                 tn_dot_load_row(row1, n), 1);
}
/* Of up to four rows, `step` bytes apart, n of 8 bytes each: in the file's order, and in that of
 * four packed vectors, four bytes of each row in turn. */
static inline void tn_dot_store_four(tn_vq packed, uint8_t *y, int64_t step, int64_t rows,
                                     int64_t n) {
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i v = _mm256_permutevar8x32_epi32(packed, order);
  if (rows == 4 && n == 8 && step == 8) {
    tn_vq_store(y, v);
    return;
  }
  uint8_t bytes[32];
  tn_vq_store(bytes, v);
  for (int64_t r = 0; r < rows; r++) memcpy(y + r * step, bytes + r * 8, (size_t)n);
}
static inline tn_vq tn_dot_load_four(const uint8_t *z, int64_t step, int64_t rows, int64_t n) {
  uint8_t bytes[32] = {0};
  for (int64_t r = 0; r < rows; r++) memcpy(bytes + r * 8, z + r * step, (size_t)n);
  const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
  return _mm256_permutevar8x32_epi32(tn_vq_load(bytes), order);
}
#if TN_DOT_K == 4
/* The first n codes; 0 for the others. */
static __attribute__((noinline, unused)) tn_vq tn_vq_load_part(const tn_dot_x *x, int64_t n) {
  tn_dot_x room[sizeof(tn_vq)] = {0};
  memcpy(room, x, (size_t)n);
  return tn_vq_load(room);
}
static inline tn_vq tn_vq_load_first(const tn_dot_x *x, int64_t n) {
  return n >= (int64_t)sizeof(tn_vq) ? tn_vq_load(x) : tn_vq_load_part(x, n);
}
#else
/* acc and four products of each lane: codes x and weights w are signed bytes, w is never -128, so
 * that no two products overflow 16 bits; abs_x = |x|. */
#define TN_DOT_SIGNED_BYTES 1
static inline tn_vq tn_dot_abs(tn_vq x) { return _mm256_abs_epi8(x); }
static inline tn_vq tn_dot_signed(tn_vq acc, tn_vq x, tn_vq abs_x, tn_vq w) {
  const __m256i pairs = _mm256_maddubs_epi16(abs_x, _mm256_sign_epi8(w, x));
  return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
/* Eight codes of each row. */
static inline tn_vq tn_dot_load_pair(const tn_dot_x *row0, const tn_dot_x *row1) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)row0)),
                                 _mm_loadu_si128((const __m128i *)row1), 1);
}
#endif
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
#if defined(TN_VPDPBUSD)
#define TN_DOT(acc, x, w) TN_VPDPBUSD(acc, x, w)
#else
#define TN_DOT(acc, x, w) acc = _mm256_add_epi32(acc, _mm256_madd_epi16(x, w))
#endif

#endif
