/* The NEON form of tenon/kit/dot_simd.h, which includes this: a vector is two registers, 8 lanes,
 * so that panels, and the order of filters in them, are those of AVX2.
 *
 * With dot products (FEAT_DotProd) codes are i8, for SDOT multiplies i8 by i8: inputs of u8 are
 * read as codes x - 128. Without them codes and weights are copies of 16 bits, multiplied and added
 * to i32 (SMLAL): exact for all weights, which sums of products of bytes in 16 bits would not be.
 *
 * A row's codes are loaded 16 bytes at a time, and multiplied by element. Per 16 bytes of six rows
 * the hot loop has
 *
 *   SDOT:  6 loads of codes, 16 of weights,  96 SDOT of 16 products: 4.4 per load
 *   SMLAL: 6 loads of codes, 16 of weights, 192 SMLAL of 4 products: 8.7 per load
 *
 * with 24 sums, 6 codes and 1 or 2 weights in the 32 registers. */
#ifndef TN_KIT_DOT_NEON_H
#define TN_KIT_DOT_NEON_H

#include "tenon/kit/simd.h"

#define TN_DEPTHWISE_HEADER "tenon/kit/depthwise_neon.h"

#if defined(__ARM_FEATURE_DOTPROD)

#define TN_DOT_LANES 8
#define TN_DOT_K 4
#define TN_DOT_ROWS 6
#define TN_DOT_SIGNED 1
typedef int8_t tn_dot_x;
typedef int8_t tn_dot_w;

#else

#define TN_DOT_LANES 8
#define TN_DOT_K 1
#define TN_DOT_ROWS 6
#define TN_DOT_SIGNED 0
typedef int16_t tn_dot_x;
typedef int16_t tn_dot_w;

#endif

typedef struct tn_vq {
  int32x4_t lo, hi;
} tn_vq;

#define TN_VQ_8(v) vreinterpretq_u8_s32(v)
#define TN_VQ_16(v) vreinterpretq_s16_s32(v)
#define TN_VQ_OF_8(lo, hi) \
  (tn_vq) { vreinterpretq_s32_u8(lo), vreinterpretq_s32_u8(hi) }
#define TN_VQ_OF_16(lo, hi) \
  (tn_vq) { vreinterpretq_s32_s16(lo), vreinterpretq_s32_s16(hi) }

static inline tn_vq tn_vq_load(const void *p) {
  const int32_t *from = (const int32_t *)p;
  return (tn_vq){vld1q_s32(from), vld1q_s32(from + 4)};
}
static inline void tn_vq_store(void *p, tn_vq v) {
  vst1q_s32((int32_t *)p, v.lo);
  vst1q_s32((int32_t *)p + 4, v.hi);
}
static inline tn_vq tn_vq_set1(int32_t x) { return (tn_vq){vdupq_n_s32(x), vdupq_n_s32(x)}; }
static inline tn_vq tn_vq_add(tn_vq a, tn_vq b) {
  return (tn_vq){vaddq_s32(a.lo, b.lo), vaddq_s32(a.hi, b.hi)};
}
static inline tn_vq tn_vq_sub(tn_vq a, tn_vq b) {
  return (tn_vq){vsubq_s32(a.lo, b.lo), vsubq_s32(a.hi, b.hi)};
}
static inline tn_vq tn_vq_mul(tn_vq a, tn_vq b) {
  return (tn_vq){vmulq_s32(a.lo, b.lo), vmulq_s32(a.hi, b.hi)};
}
static inline tn_vf tn_vq_float(tn_vq v) {
  return (tn_vf){vcvtq_f32_s32(v.lo), vcvtq_f32_s32(v.hi)};
}
/* Half to even. NaN becomes the least number, which FCVTNS alone would make 0 of. */
static inline int32x4_t tn_vq_round4(float32x4_t v) {
  return vcvtnq_s32_f32(vmaxnmq_f32(v, vdupq_n_f32(-2147483648.0f)));
}
static inline tn_vq tn_vq_round(tn_vf v) { return (tn_vq){tn_vq_round4(v.lo), tn_vq_round4(v.hi)}; }
/* As those of AVX2 do, these work within each half. */
static inline tn_vq tn_vq_pack16(tn_vq a, tn_vq b) {
  return TN_VQ_OF_16(vqmovn_high_s32(vqmovn_s32(a.lo), b.lo),
                     vqmovn_high_s32(vqmovn_s32(a.hi), b.hi));
}
static inline tn_vq tn_vq_pack_u8(tn_vq a, tn_vq b) {
  return TN_VQ_OF_8(vqmovun_high_s16(vqmovun_s16(TN_VQ_16(a.lo)), TN_VQ_16(b.lo)),
                    vqmovun_high_s16(vqmovun_s16(TN_VQ_16(a.hi)), TN_VQ_16(b.hi)));
}
static inline tn_vq tn_vq_adds16(tn_vq a, tn_vq b) {
  return TN_VQ_OF_16(vqaddq_s16(TN_VQ_16(a.lo), TN_VQ_16(b.lo)),
                     vqaddq_s16(TN_VQ_16(a.hi), TN_VQ_16(b.hi)));
}
static inline tn_vq tn_vq_set16(int16_t x) { return TN_VQ_OF_16(vdupq_n_s16(x), vdupq_n_s16(x)); }
static inline tn_vq tn_vq_set8(uint8_t x) { return TN_VQ_OF_8(vdupq_n_u8(x), vdupq_n_u8(x)); }
static inline tn_vq tn_vq_xor(tn_vq a, tn_vq b) {
  return (tn_vq){veorq_s32(a.lo, b.lo), veorq_s32(a.hi, b.hi)};
}
static inline tn_vq tn_vq_max8(tn_vq a, tn_vq b) {
  return TN_VQ_OF_8(vmaxq_u8(TN_VQ_8(a.lo), TN_VQ_8(b.lo)), vmaxq_u8(TN_VQ_8(a.hi), TN_VQ_8(b.hi)));
}
/* The lower 8 bytes of each 16, then the upper ones: two rows of a panel. And back. */
static inline tn_vq tn_vq_split(tn_vq v) {
  const int64x2_t lo = vreinterpretq_s64_s32(v.lo), hi = vreinterpretq_s64_s32(v.hi);
  return (tn_vq){vreinterpretq_s32_s64(vzip1q_s64(lo, hi)),
                 vreinterpretq_s32_s64(vzip2q_s64(lo, hi))};
}
static inline tn_vq tn_vq_unsplit(tn_vq v) { return tn_vq_split(v); }
static inline tn_vq tn_vq_lower8(tn_vq v) { /* of each 16 bytes, as 16-bit numbers */
  const uint8x16_t none = vdupq_n_u8(0);
  return TN_VQ_OF_8(vzip1q_u8(TN_VQ_8(v.lo), none), vzip1q_u8(TN_VQ_8(v.hi), none));
}
static inline tn_vq tn_vq_upper8(tn_vq v) {
  const uint8x16_t none = vdupq_n_u8(0);
  return TN_VQ_OF_8(vzip2q_u8(TN_VQ_8(v.lo), none), vzip2q_u8(TN_VQ_8(v.hi), none));
}
static inline tn_vq tn_vq_lower16(tn_vq v) {
  const int16x8_t none = vdupq_n_s16(0);
  return TN_VQ_OF_16(vzip1q_s16(TN_VQ_16(v.lo), none), vzip1q_s16(TN_VQ_16(v.hi), none));
}
static inline tn_vq tn_vq_upper16(tn_vq v) {
  const int16x8_t none = vdupq_n_s16(0);
  return TN_VQ_OF_16(vzip2q_s16(TN_VQ_16(v.lo), none), vzip2q_s16(TN_VQ_16(v.hi), none));
}
/* The filters of a panel in their own order, from two vectors in that of the lanes. */
static inline void tn_dot_order(tn_vf *a, tn_vf *b) {
  const tn_vf first = {a->lo, b->lo};
  *b = (tn_vf){a->hi, b->hi};
  *a = first;
}
static inline void tn_dot_store_row(uint8x16_t v, uint8_t *row, int64_t n) {
  uint8_t bytes[16];
  if (n >= 16) {
    vst1q_u8(row, v);
  } else {
    vst1q_u8(bytes, v);
    memcpy(row, bytes, (size_t)n);
  }
}
/* n of the 16 bytes of row 0 and of row 1 (which is NULL where there is none). */
static inline void tn_dot_store_rows(tn_vq v, uint8_t *row0, uint8_t *row1, int64_t n) {
  tn_dot_store_row(TN_VQ_8(v.lo), row0, n);
  if (row1) tn_dot_store_row(TN_VQ_8(v.hi), row1, n);
}
static inline uint8x16_t tn_dot_load_row(const uint8_t *row, int64_t n) {
  uint8_t bytes[16] = {0};
  if (n >= 16) return vld1q_u8(row);
  memcpy(bytes, row, (size_t)n);
  return vld1q_u8(bytes);
}
static inline tn_vq tn_dot_load_rows(const uint8_t *row0, const uint8_t *row1, int64_t n) {
  return TN_VQ_OF_8(tn_dot_load_row(row0, n), tn_dot_load_row(row1, n));
}

/* ---- the loop of a tile ---- */

/* Sums j of all rows, in one half of the lanes, and codes of step L of 16 bytes, by weights W. */
#if defined(__ARM_FEATURE_DOTPROD)

typedef int8x16_t tn_dot_codes;
static inline tn_dot_codes tn_dot_codes_load(const tn_dot_x *x) { return vld1q_s8(x); }
static inline tn_dot_codes tn_dot_codes_one(const tn_dot_x *x) { /* of one step */
  int32_t four;
  memcpy(&four, x, sizeof four);
  return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

/* An instruction by itself: around the intrinsic gcc 12 copies and spills sums. */
#if defined(__clang__)
#define TN_DOT(acc, w, x, L) acc = vdotq_laneq_s32(acc, w, x, L)
#else
#define TN_DOT(acc, w, x, L) \
  __asm__("sdot %0.4s, %1.16b, %2.4b[" #L "]" : "+w"(acc) : "w"(w), "w"(x))
#endif
#define TN_DOT_QUARTER(R, J, HALF, W, L)                                               \
  do {                                                                                 \
    const int8x16_t tn_w = vld1q_s8(W);                                                \
    TN_UNROLL for (int r = 0; r < (R); r++) TN_DOT(acc[r][J].HALF, tn_w, codes[r], L); \
  } while (0)
#define TN_DOT_STEP(R, L)                \
  do {                                   \
    tn_prefetch_l2(next);                \
    next += next_step;                   \
    TN_DOT_QUARTER(R, 0, lo, w, L);      \
    TN_DOT_QUARTER(R, 0, hi, w + 16, L); \
    TN_DOT_QUARTER(R, 1, lo, w + 32, L); \
    TN_DOT_QUARTER(R, 1, hi, w + 48, L); \
    w += TN_DOT_PANEL * TN_DOT_K;        \
  } while (0)
#define TN_DOT_BLOCK(R) \
  TN_DOT_STEP(R, 0);    \
  TN_DOT_STEP(R, 1);    \
  TN_DOT_STEP(R, 2);    \
  TN_DOT_STEP(R, 3)

#else

typedef int16x8_t tn_dot_codes;
static inline tn_dot_codes tn_dot_codes_load(const tn_dot_x *x) { return vld1q_s16(x); }
static inline tn_dot_codes tn_dot_codes_one(const tn_dot_x *x) { return vdupq_n_s16(*x); }

#if defined(__clang__)
#define TN_DOT_LO(acc, w, x, L) acc = vmlal_laneq_s16(acc, vget_low_s16(w), x, L)
#define TN_DOT_HI(acc, w, x, L) acc = vmlal_high_laneq_s16(acc, w, x, L)
#else
#define TN_DOT_LO(acc, w, x, L) \
  __asm__("smlal %0.4s, %1.4h, %2.h[" #L "]" : "+w"(acc) : "w"(w), "x"(x))
#define TN_DOT_HI(acc, w, x, L) \
  __asm__("smlal2 %0.4s, %1.8h, %2.h[" #L "]" : "+w"(acc) : "w"(w), "x"(x))
#endif
#define TN_DOT_HALF(R, J, W, L)                   \
  do {                                            \
    const int16x8_t tn_w = vld1q_s16(W);          \
    TN_UNROLL for (int r = 0; r < (R); r++) {     \
      TN_DOT_LO(acc[r][J].lo, tn_w, codes[r], L); \
      TN_DOT_HI(acc[r][J].hi, tn_w, codes[r], L); \
    }                                             \
  } while (0)
#define TN_DOT_STEP(R, L)         \
  do {                            \
    tn_prefetch_l2(next);         \
    next += next_step;            \
    TN_DOT_HALF(R, 0, w, L);      \
    TN_DOT_HALF(R, 1, w + 8, L);  \
    w += TN_DOT_PANEL * TN_DOT_K; \
  } while (0)
#define TN_DOT_BLOCK(R) \
  TN_DOT_STEP(R, 0);    \
  TN_DOT_STEP(R, 1);    \
  TN_DOT_STEP(R, 2);    \
  TN_DOT_STEP(R, 3);    \
  TN_DOT_STEP(R, 4);    \
  TN_DOT_STEP(R, 5);    \
  TN_DOT_STEP(R, 6);    \
  TN_DOT_STEP(R, 7)

#endif

/* One run of R rows. */
#define TN_DOT_RUN(R)                                                             \
  do {                                                                            \
    enum { CODES = 16 / sizeof(tn_dot_x), BLOCK = CODES / TN_DOT_K };             \
    const tn_dot_x *row[R];                                                       \
    tn_dot_codes codes[R];                                                        \
    int64_t s = steps;                                                            \
    TN_UNROLL for (int r = 0; r < (R); r++) row[r] = x + t->at[run] + r * x_step; \
    for (; s >= BLOCK; s -= BLOCK) {                                              \
      TN_UNROLL for (int r = 0; r < (R); r++) {                                   \
        codes[r] = tn_dot_codes_load(row[r]);                                     \
        row[r] += CODES;                                                          \
      }                                                                           \
      TN_DOT_BLOCK(R);                                                            \
    }                                                                             \
    for (; s > 0; s--) {                                                          \
      TN_UNROLL for (int r = 0; r < (R); r++) {                                   \
        codes[r] = tn_dot_codes_one(row[r]);                                      \
        row[r] += TN_DOT_K;                                                       \
      }                                                                           \
      TN_DOT_STEP(R, 0);                                                          \
    }                                                                             \
  } while (0)

/* ---- quads: see tenon/kit/quads_simd.h ---- */

typedef struct tn_quads {
  int8x16_t lo, hi;
} tn_quads;
static inline tn_quads tn_quads_load(const void *p) {
  return (tn_quads){vld1q_s8((const int8_t *)p), vld1q_s8((const int8_t *)p + 16)};
}
static inline tn_quads tn_quads_set1(int32_t x) {
  const int8x16_t v = vreinterpretq_s8_s32(vdupq_n_s32(x));
  return (tn_quads){v, v};
}
static inline tn_quads tn_quads_low(tn_quads v) {
  return (tn_quads){vandq_s8(v.lo, vdupq_n_s8(15)), vandq_s8(v.hi, vdupq_n_s8(15))};
}
static inline tn_quads tn_quads_high(tn_quads v) {
  const uint8x16_t lo = vshrq_n_u8(vreinterpretq_u8_s8(v.lo), 4),
                   hi = vshrq_n_u8(vreinterpretq_u8_s8(v.hi), 4);
  return (tn_quads){vreinterpretq_s8_u8(lo), vreinterpretq_s8_u8(hi)};
}
static inline tn_vf tn_vf_of_int(tn_vi v) {
  int32x4_t half[2];
  memcpy(half, &v, sizeof v);
  return (tn_vf){vcvtq_f32_s32(half[0]), vcvtq_f32_s32(half[1])};
}
static inline tn_vi tn_vi_round(tn_vf v) {
  const int32x4_t half[2] = {vcvtnq_s32_f32(v.lo), vcvtnq_s32_f32(v.hi)};
  tn_vi out;
  memcpy(&out, half, sizeof out);
  return out;
}

#if defined(__ARM_FEATURE_DOTPROD)

/* Of i32; of signed bytes, so 8 bits are numbers - 128. */
#define TN_QUADS_SUMS_32 1
#define TN_QUADS_SIGNED 1
typedef struct tn_quads_sums {
  int32x4_t lo, hi;
} tn_quads_sums;
static inline tn_quads_sums tn_quads_sum_begin(int32_t from) {
  return (tn_quads_sums){vdupq_n_s32(from), vdupq_n_s32(from)};
}
static inline tn_vi tn_quads_sum_end(tn_quads_sums s, int32_t from) {
  const int32x4_t v[2] = {s.lo, s.hi};
  tn_vi out;
  (void)from;
  memcpy(&out, v, sizeof out);
  return out;
}
#define TN_QUADS_DOT(acc, x, d) \
  ((acc).lo = vdotq_s32((acc).lo, (x).lo, (d).lo), (acc).hi = vdotq_s32((acc).hi, (x).hi, (d).hi))

#else

/* Of i16: 8 products of 15 x 128 at most. They take four registers. */
#define TN_QUADS_LARGE_SUMS 1
typedef struct tn_quads_sums {
  int16x8_t part[4];
} tn_quads_sums;
static inline tn_quads_sums tn_quads_sum_begin(int32_t from) {
  const int16x8_t z = vdupq_n_s16(0);
  (void)from;
  return (tn_quads_sums){{z, z, z, z}};
}
#define TN_QUADS_DOT(acc, x, d)                                                       \
  ((acc).part[0] = vmlal_s8((acc).part[0], vget_low_s8((x).lo), vget_low_s8((d).lo)), \
   (acc).part[1] = vmlal_high_s8((acc).part[1], (x).lo, (d).lo),                      \
   (acc).part[2] = vmlal_s8((acc).part[2], vget_low_s8((x).hi), vget_low_s8((d).hi)), \
   (acc).part[3] = vmlal_high_s8((acc).part[3], (x).hi, (d).hi))
static inline tn_vi tn_quads_sum_end(tn_quads_sums s, int32_t from) {
  int32x4_t v[2];
  for (int k = 0; k < 2; k++)
    v[k] = vaddq_s32(vdupq_n_s32(from),
                     vpaddq_s32(vpaddlq_s16(s.part[2 * k]), vpaddlq_s16(s.part[2 * k + 1])));
  tn_vi out;
  memcpy(&out, v, sizeof out);
  return out;
}

#endif

#endif
