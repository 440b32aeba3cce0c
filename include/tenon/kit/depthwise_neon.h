/* The target of depthwise windows (see TN_DEPTHWISE_HEADER in tenon/kit/dot_simd.h) with NEON: a
 * block is 16 channels, its sums are four registers, in the order of the channels; of more, the
 * sums of a tile would not fit. Input is always a copied strip, which has room behind it, so that
 * codes are loaded 16 at a time whatever is left of the channels.
 *
 * With dot products, a column of the window's rows (up to four) takes 4 loads, 8 zips, and 4 SDOT
 * for each output pixel that sees it: 48 SDOT in all for 4 pixels of a window 3 wide, whose 12
 * vectors of weights do not all stay in registers beside the 16 of sums. Else a row of a column
 * takes 2 loads, and 4 SMLAL for each. */
#ifndef TN_KIT_DEPTHWISE_NEON_H
#define TN_KIT_DEPTHWISE_NEON_H

enum { TN_DW_LANES = 4, TN_DW_VECTORS = 4, TN_DW_CHANNELS = 16 };

typedef int32x4_t tn_dw_sums;

static inline tn_dw_sums tn_dw_first(const int32_t *sums) { return vld1q_s32(sums); }

#if defined(__ARM_FEATURE_DOTPROD)

enum { TN_DW_PARTS = 4 };
typedef int8x16_t tn_dw_codes, tn_dw_part;

static inline tn_dw_codes tn_dw_load(const tn_dot_x *x) { return vld1q_s8(x); }
/* The columns of TN_DOT_K rows as sums want them. */
static inline void tn_dw_interleave(const tn_dw_codes row[TN_DOT_K], tn_dw_part out[TN_DW_PARTS]) {
  const int16x8_t a = vreinterpretq_s16_s8(vzip1q_s8(row[0], row[1])),
                  b = vreinterpretq_s16_s8(vzip2q_s8(row[0], row[1])),
                  c = vreinterpretq_s16_s8(vzip1q_s8(row[2], row[3])),
                  d = vreinterpretq_s16_s8(vzip2q_s8(row[2], row[3]));
  out[0] = vreinterpretq_s8_s16(vzip1q_s16(a, c));
  out[1] = vreinterpretq_s8_s16(vzip2q_s16(a, c));
  out[2] = vreinterpretq_s8_s16(vzip1q_s16(b, d));
  out[3] = vreinterpretq_s8_s16(vzip2q_s16(b, d));
}
#define TN_DW_DOT(acc, x, w)                      \
  TN_UNROLL for (int j = 0; j < 4; j++)(acc)[j] = \
      vdotq_s32((acc)[j], (x)[j], vld1q_s8((w) + 16 * j))

#else

enum { TN_DW_PARTS = 2 };
typedef int16x8x2_t tn_dw_codes;
typedef int16x8_t tn_dw_part;

static inline tn_dw_codes tn_dw_load(const tn_dot_x *x) {
  return (tn_dw_codes){{vld1q_s16(x), vld1q_s16(x + 8)}};
}
static inline void tn_dw_interleave(const tn_dw_codes row[TN_DOT_K], tn_dw_part out[TN_DW_PARTS]) {
  out[0] = row[0].val[0], out[1] = row[0].val[1];
}
#define TN_DW_DOT(acc, x, w)                                                          \
  TN_UNROLL for (int j = 0; j < 2; j++) {                                             \
    const int16x8_t tn_w = vld1q_s16((w) + 8 * j);                                    \
    (acc)[2 * j] = vmlal_s16((acc)[2 * j], vget_low_s16((x)[j]), vget_low_s16(tn_w)); \
    (acc)[2 * j + 1] = vmlal_high_s16((acc)[2 * j + 1], (x)[j], tn_w);                \
  }

#endif

/* The sums of one pixel become output. The scales have the factors in them. */
static inline void tn_dw_finish(const tn_dot *t, int64_t n, tn_dw_sums acc[TN_DW_VECTORS],
                                void *y) {
  float32x4_t v[4];
  TN_UNROLL for (int j = 0; j < 4; j++) v[j] =
      vfmaq_f32(vld1q_f32(t->bias + 4 * j), vcvtq_f32_s32(acc[j]), vld1q_f32(t->scale + 4 * j));
  if (t->to_f32) {
    float room[TN_DW_CHANNELS], *to = n >= TN_DW_CHANNELS ? y : room;
    TN_UNROLL for (int j = 0; j < 4; j++) vst1q_f32(to + 4 * j, v[j]);
    if (to == room) memcpy(y, room, (size_t)n * sizeof *room);
    return;
  }
  const float32x4_t most = vdupq_n_f32(t->hi);
  const int16x8_t zero = vdupq_n_s16(t->y_zero);
  int32x4_t q[4];
  /* FMIN keeps NaN, of which rounding makes the least. */
  TN_UNROLL for (int j = 0; j < 4; j++) q[j] = tn_vq_round4(vminq_f32(most, v[j]));
  const int16x8_t a = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(q[0]), q[1]), zero),
                  b = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(q[2]), q[3]), zero);
  const uint8x16_t codes = vmaxq_u8(vqmovun_high_s16(vqmovun_s16(a), b), vdupq_n_u8(t->least));
  tn_dot_store_row(veorq_u8(codes, vdupq_n_u8(t->y_flip)), y, n);
}

#endif
