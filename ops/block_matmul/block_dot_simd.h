/* What block_matmul_simd.h takes of a machine: dot products of weights of 4 or 8 bits and signed
 * bytes, for AVX-512, AVX2 and NEON, with and without instructions of their own for them.
 *
 * quads: a vector of four bytes or an i32 per lane. BLOCK_DOT adds to each lane of acc the products
 * of its four bytes: x in 0 .. 15, d in -128 .. 127. Up to 32 / 4 of them are summed; sums_begin
 * and sums_end are both told what is added to them once, and sums_end answers i32s.
 *
 * HAS_SUMS_32: sums are of i32, so that x may have 8 bits. HAS_SIGNED_BYTES: these are signed, too,
 * numbers less 128. */
#ifndef TN_OPS_BLOCK_DOT_SIMD_H
#define TN_OPS_BLOCK_DOT_SIMD_H

#include <string.h>

#include "tenon/kit/simd.h"

#if defined(__AVX512F__)

typedef __m512i quads;
typedef __m512i sums;
static inline quads quads_load(const void *p) { return _mm512_loadu_si512(p); }
static inline quads quads_set1(int32_t x) { return _mm512_set1_epi32(x); }
static inline quads quads_low(quads v) { return _mm512_and_si512(v, _mm512_set1_epi8(15)); }
static inline quads quads_high(quads v) { return quads_low(_mm512_srli_epi32(v, 4)); }
static inline tn_vf float_of(tn_vi v) { return _mm512_cvtepi32_ps((__m512i)v); }
static inline tn_vi round_of(tn_vf v) { return (tn_vi)_mm512_cvtps_epi32(v); }
static inline tn_vf float_of_bytes(const int8_t *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)p)));
}

#elif defined(__AVX2__)

typedef __m256i quads;
typedef __m256i sums;
static inline quads quads_load(const void *p) { return _mm256_loadu_si256(p); }
static inline quads quads_set1(int32_t x) { return _mm256_set1_epi32(x); }
static inline quads quads_low(quads v) { return _mm256_and_si256(v, _mm256_set1_epi8(15)); }
static inline quads quads_high(quads v) { return quads_low(_mm256_srli_epi32(v, 4)); }
static inline tn_vf float_of(tn_vi v) { return _mm256_cvtepi32_ps((__m256i)v); }
static inline tn_vi round_of(tn_vf v) { return (tn_vi)_mm256_cvtps_epi32(v); }
static inline tn_vf float_of_bytes(const int8_t *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)p)));
}

#else

typedef struct quads {
  int8x16_t lo, hi;
} quads;
static inline quads quads_load(const void *p) {
  return (quads){vld1q_s8(p), vld1q_s8((const int8_t *)p + 16)};
}
static inline quads quads_set1(int32_t x) {
  const int8x16_t v = vreinterpretq_s8_s32(vdupq_n_s32(x));
  return (quads){v, v};
}
static inline quads quads_low(quads v) {
  return (quads){vandq_s8(v.lo, vdupq_n_s8(15)), vandq_s8(v.hi, vdupq_n_s8(15))};
}
static inline quads quads_high(quads v) {
  const uint8x16_t lo = vshrq_n_u8(vreinterpretq_u8_s8(v.lo), 4),
                   hi = vshrq_n_u8(vreinterpretq_u8_s8(v.hi), 4);
  return (quads){vreinterpretq_s8_u8(lo), vreinterpretq_s8_u8(hi)};
}
static inline tn_vf float_of(tn_vi v) {
  int32x4_t half[2];
  memcpy(half, &v, sizeof v);
  return (tn_vf){vcvtq_f32_s32(half[0]), vcvtq_f32_s32(half[1])};
}
static inline tn_vi round_of(tn_vf v) {
  const int32x4_t half[2] = {vcvtnq_s32_f32(v.lo), vcvtnq_s32_f32(v.hi)};
  tn_vi out;
  memcpy(&out, half, sizeof out);
  return out;
}
static inline tn_vf float_of_bytes(const int8_t *p) {
  const int16x8_t wide = vmovl_s8(vld1_s8(p));
  return (tn_vf){vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide))), vcvtq_f32_s32(vmovl_high_s16(wide))};
}

#endif

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__) /* sums of i32 */

#define HAS_SUMS_32 1

static inline sums sums_begin(int32_t from) { return quads_set1(from); }
static inline tn_vi sums_end(sums s, int32_t from) {
  (void)from;
  return (tn_vi)s;
}
/* An instruction by itself: around the intrinsic gcc 12 copies the accumulators. */
#if defined(__AVX512VNNI__)
#define BLOCK_DOT(acc, x, d) __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(d))
#else
#define BLOCK_DOT(acc, x, d) __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(acc) : "x"(x), "x"(d))
#endif

#elif !defined(__ARM_NEON) /* of i16: 8 times two products of 15 x 128 at most */

#define HAS_SUMS_32 0

static inline sums sums_begin(int32_t from) {
  (void)from;
  return quads_set1(0);
}
/* The empty instruction: gcc would first make all products, then add them in pairs, and spill. */
#define KEEP_ORDER(acc) __asm__("" : "+v"(acc))
#if defined(__AVX512F__)
static inline tn_vi sums_end(sums s, int32_t from) {
  const __m512i pairs = _mm512_madd_epi16(s, _mm512_set1_epi16(1));
  return (tn_vi)_mm512_add_epi32(pairs, _mm512_set1_epi32(from));
}
#define BLOCK_DOT(acc, x, d)                                 \
  do {                                                       \
    acc = _mm512_add_epi16(acc, _mm512_maddubs_epi16(x, d)); \
    KEEP_ORDER(acc);                                         \
  } while (0)
#else
static inline tn_vi sums_end(sums s, int32_t from) {
  const __m256i pairs = _mm256_madd_epi16(s, _mm256_set1_epi16(1));
  return (tn_vi)_mm256_add_epi32(pairs, _mm256_set1_epi32(from));
}
#define BLOCK_DOT(acc, x, d)                                 \
  do {                                                       \
    acc = _mm256_add_epi16(acc, _mm256_maddubs_epi16(x, d)); \
    KEEP_ORDER(acc);                                         \
  } while (0)
#endif

#elif defined(__ARM_FEATURE_DOTPROD) /* of i32; of signed bytes, so 8 bits are numbers - 128 */

#define HAS_SUMS_32 1
#define HAS_SIGNED_BYTES 1

typedef struct sums {
  int32x4_t lo, hi;
} sums;
static inline sums sums_begin(int32_t from) { return (sums){vdupq_n_s32(from), vdupq_n_s32(from)}; }
static inline tn_vi sums_end(sums s, int32_t from) {
  const int32x4_t v[2] = {s.lo, s.hi};
  tn_vi out;
  (void)from;
  memcpy(&out, v, sizeof out);
  return out;
}
#define BLOCK_DOT(acc, x, d) \
  ((acc).lo = vdotq_s32((acc).lo, (x).lo, (d).lo), (acc).hi = vdotq_s32((acc).hi, (x).hi, (d).hi))

#else /* of i16: 8 products of 15 x 128 at most */

#define HAS_SUMS_32 0

typedef struct sums {
  int16x8_t part[4];
} sums;
static inline sums sums_begin(int32_t from) {
  const int16x8_t z = vdupq_n_s16(0);
  (void)from;
  return (sums){{z, z, z, z}};
}
#define BLOCK_DOT(acc, x, d)                                                          \
  ((acc).part[0] = vmlal_s8((acc).part[0], vget_low_s8((x).lo), vget_low_s8((d).lo)), \
   (acc).part[1] = vmlal_high_s8((acc).part[1], (x).lo, (d).lo),                      \
   (acc).part[2] = vmlal_s8((acc).part[2], vget_low_s8((x).hi), vget_low_s8((d).hi)), \
   (acc).part[3] = vmlal_high_s8((acc).part[3], (x).hi, (d).hi))
static inline tn_vi sums_end(sums s, int32_t from) {
  int32x4_t v[2];
  for (int k = 0; k < 2; k++)
    v[k] = vaddq_s32(vdupq_n_s32(from),
                     vpaddq_s32(vpaddlq_s16(s.part[2 * k]), vpaddlq_s16(s.part[2 * k + 1])));
  tn_vi out;
  memcpy(&out, v, sizeof out);
  return out;
}
#endif

#if !defined(HAS_SIGNED_BYTES)
#define HAS_SIGNED_BYTES 0
#endif

#endif
