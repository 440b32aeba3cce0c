/* Integer dot products of 8-bit numbers, exact in i32.
 *
 *   sum[row][filter] = sum over k of x[row][k] * w[filter][k],  x: codes of 8 bits, w: i8
 *
 * A tile is up to TN_DOT_ROWS rows (pixels) by a panel of up to TN_DOT_PANEL filters. Rows lie
 * `x_step` apart; what is summed over lies in `runs` runs of neighbours, at the same offsets in
 * each row: the rows of a window, or one run for a matrix. Codes are u8, in NEON's dot products i8;
 * inputs of the other type are read as codes x + 128 or x - 128, so that their zero point moves,
 * too. Zero points of inputs are taken out through the sums of the weights.
 *
 * The sums are stored as they are, or scaled, and stored as f32 or quantised (half to even,
 * saturated), on demand with a quantised residual added in between. Four vectors of sums are
 * narrowed by three instructions that work within 128 bits; the order of filters in a panel
 * (tn_dot_lane) makes that come out right.
 *
 * Each target has a header (TN_DOT_HEADER in tenon/kit/isa.h) that says how:
 *
 *   TN_DOT_LANES                i32 of a vector; TN_DOT_K: products of an instruction and lane, 4,
 *                               2 or 1; TN_DOT_ROWS: of a tile, 6 or 14
 *   tn_dot_x, tn_dot_w          codes and weights as they are multiplied: 8 or 16 bits
 *   TN_DOT_SIGNED               codes are signed
 *   tn_vq, tn_vq_load ...       a vector of i32, of twice as many i16 or four times as many bytes
 *   TN_VQ_ZIP, tn_vq_store_first, tn_dot_load_rows, _store_rows, _order
 *   tn_vq_load_first            where codes have 8 bits; where they have 16, tn_dot_load_pair
 *   tn_dot_4, TN_DOT            TN_DOT_K codes in all lanes; acc += sum over k of x[k] * w[k]
 *   TN_DOT_RUN                  only where a better loop than the one below is known
 *   TN_DOT_HALF_ROWS            only where there are half tiles (below): their rows, up to 12; then
 *                               also tn_dot_load_four, tn_dot_store_four: four rows of one vector
 *   TN_DEPTHWISE_HEADER         likewise, of depthwise windows (ops/conv/quant_depthwise_simd.h) */
#ifndef TN_KIT_DOT_SIMD_H
#define TN_KIT_DOT_SIMD_H

#include <stdbool.h>

#include "tenon/kit/checked.h"
#include "tenon/kit/simd.h"

#include TN_DOT_HEADER

enum { TN_DOT_PANEL = 2 * TN_DOT_LANES };

/* ---- codes ---- */

/* A byte of an input, of which these bits are flipped, is a code. */
static inline uint8_t tn_dot_flip(uint32_t dtype) {
  return dtype == (TN_DOT_SIGNED ? TN_U8 : TN_I8) ? 0x80 : 0;
}
/* The code of a number. */
static inline int32_t tn_dot_code(uint32_t dtype, int64_t x) {
  return (int32_t)x + (TN_DOT_SIGNED ? -1 : 1) * tn_dot_flip(dtype);
}

/* ---- weights ---- */

enum { TN_DOT_LANE_BYTES = TN_DOT_K * sizeof(tn_dot_w) }; /* weights of a step */

/* Where filter f of a panel stands among its 2 * TN_DOT_LANES lanes. */
static inline int64_t tn_dot_lane(int64_t f) {
  return f / 8 * 4 + f % 4 + (f / 4 % 2 ? TN_DOT_LANES : 0);
}

/* Up to TN_DOT_LANES filters may be a half panel: the first vector of a panel, in their own order,
 * multiplied by tiles of up to TN_DOT_HALF_ROWS rows of one vector, in half the time. */
#if !defined(TN_DOT_HALF_ROWS)
#define TN_DOT_HALF_ROWS 0
#endif
static inline bool tn_dot_is_half(int64_t n) { return TN_DOT_HALF_ROWS && n <= TN_DOT_LANES; }

/* Where filter f of a panel of n filters stands, if panels of few are half ones. */
static inline int64_t tn_dot_lane_of(int64_t n, int64_t f) {
  return tn_dot_is_half(n) ? f : tn_dot_lane(f);
}

/* A panel: for each filter (in the order of lanes) the sum of its weights, then for each step of
 * TN_DOT_K products the weights of all lanes. */
static inline int64_t tn_dot_panel_bytes(int64_t steps) {
  return TN_DOT_PANEL * ((int64_t)sizeof(int32_t) + TN_DOT_LANE_BYTES * steps);
}

/* One weight: k counts along the runs, each of which has whole steps. */
static inline tn_dot_w *tn_dot_weight_at(void *panel, int64_t lane, int64_t k) {
  tn_dot_w *w = (tn_dot_w *)(void *)((int32_t *)panel + TN_DOT_PANEL);
  return w + (k / TN_DOT_K * TN_DOT_PANEL + lane) * TN_DOT_K + k % TN_DOT_K;
}
static inline tn_dot_w *tn_dot_weight(void *panel, int64_t filter, int64_t k) {
  return tn_dot_weight_at(panel, tn_dot_lane(filter), k);
}

/* Weights of one step, from TN_DOT_K rows of TN_DOT_PANEL bytes in the order of filters, of which
 * the bits of `flip` are flipped: 0x80 makes i8 of u8, less 128. */
static inline void tn_dot_pack_step(void *panel, int64_t step, const uint8_t *const *rows,
                                    uint8_t flip) {
  tn_dot_w *to = tn_dot_weight(panel, 0, step * TN_DOT_K);
  for (int64_t f = 0; f < TN_DOT_PANEL; f += 4) {
    tn_dot_w *w = to + tn_dot_lane(f) * TN_DOT_K;
#if TN_DOT_K == 4
    const tn_b16 a = tn_b16_zip8(tn_b16_load4(rows[0] + f), tn_b16_load4(rows[1] + f)),
                 b = tn_b16_zip8(tn_b16_load4(rows[2] + f), tn_b16_load4(rows[3] + f));
    tn_b16_store(w, tn_b16_xor(tn_b16_zip16(a, b), tn_b16_set1(flip)));
#else
    for (int64_t l = 0; l < 4; l++)
      for (int64_t k = 0; k < TN_DOT_K; k++) w[l * TN_DOT_K + k] = (int8_t)(rows[k][f + l] ^ flip);
#endif
  }
}

/* When all weights are there. */
static inline void tn_dot_sum_weights(void *panel, int64_t steps) {
  int32_t *sums = (int32_t *)panel;
  const tn_dot_w *w = (const tn_dot_w *)(const void *)(sums + TN_DOT_PANEL);
#if !defined(TN_DOT_RUN)
  tn_dot_x ones[TN_DOT_K];
  for (int k = 0; k < TN_DOT_K; k++) ones[k] = 1;
  const tn_vq one = tn_dot_4(ones);
  tn_vq lo = tn_vq_set1(0), hi = lo;
  for (int64_t s = 0; s < steps; s++, w += TN_DOT_PANEL * TN_DOT_K) {
    const tn_vq w0 = tn_vq_load(w), w1 = tn_vq_load(w + TN_DOT_LANES * TN_DOT_K);
    TN_DOT(lo, one, w0);
    TN_DOT(hi, one, w1);
  }
  tn_vq_store(sums, lo);
  tn_vq_store(sums + TN_DOT_LANES, hi);
#else
  memset(sums, 0, TN_DOT_PANEL * sizeof *sums);
  for (int64_t s = 0; s < steps; s++)
    for (int64_t l = 0; l < TN_DOT_PANEL; l++)
      for (int64_t k = 0; k < TN_DOT_K; k++) sums[l] += *w++;
#endif
}

/* ---- tiles ---- */

typedef struct tn_dot {
  const int64_t *at;           /* of each run: elements from the row's begin */
  int64_t runs, steps, x_step; /* steps of a run; elements between rows */
  int32_t zero;                /* zero point of the codes */
  /* v = sum * scale * factor + bias * bias_factor */
  const float *scale, *bias; /* by lanes; bias may be NULL */
  float factor, bias_factor;
  int64_t n;      /* filters of the panel that there are */
  bool half;      /* it is a half panel */
  int64_t y_step; /* elements between rows of y, and of z */
  bool to_f32;    /* y = v; else y = clip(round(v) + y_zero) */
  bool to_i32;    /* with to_f32: y = sum, wrapped; scale is not looked at */
  float lo, hi;   /* bounds of round(v): those of y less y_zero */
  int16_t y_zero; /* of the code */
  uint8_t y_flip; /* 0x80: y is signed; 0 */
  /* With a residual: y = clip(round(round(v) * sum_y + code of z * sum_z + sum_0) + y_zero) */
  bool sums;
  uint8_t z_flip;
  float sum_y, sum_z, sum_0, sum_lo, sum_hi;
  const char *next; /* what is read next, brought into L2 by the way: so many bytes a step */
  int64_t next_step;
  const int32_t *first; /* by lanes: what sums begin with; NULL: with nothing */
  /* Where weights have zero points: these, by lanes, and the sum of each row less its zero point;
   * else NULL */
  const int32_t *w_zero;
  const float *row_sums;
  uint8_t least; /* tn_dot_least() */
  /* by lanes, for one panel: what sums begin with, and v = sum * mul + add */
  int32_t begin[TN_DOT_PANEL];
  float mul[TN_DOT_PANEL], add[TN_DOT_PANEL];
} tn_dot;

static inline void tn_dot_clip(tn_vf v[4], float lo, float hi) {
  const tn_vf least = tn_vf_set1(lo), most = tn_vf_set1(hi);
  TN_UNROLL for (int j = 0; j < 4; j++) v[j] = tn_vf_min(tn_vf_max(v[j], least), most);
}

/* z: its bytes in the order in which four vectors are packed. */
static inline void tn_dot_add(const tn_dot *t, tn_vf v[4], tn_vq bytes) {
  const tn_vq codes = tn_vq_xor(bytes, tn_vq_set8(t->z_flip));
  const tn_vq a = tn_vq_lower8(codes), b = tn_vq_upper8(codes);
  const tn_vq z[4] = {tn_vq_lower16(a), tn_vq_upper16(a), tn_vq_lower16(b), tn_vq_upper16(b)};
  const tn_vf scale_y = tn_vf_set1(t->sum_y), scale_z = tn_vf_set1(t->sum_z),
              shift = tn_vf_set1(t->sum_0);
  TN_UNROLL for (int j = 0; j < 4; j++) {
    v[j] = tn_vq_float(tn_vq_round(v[j]));
    v[j] = tn_vf_fma(v[j], scale_y, tn_vf_fma(tn_vq_float(z[j]), scale_z, shift));
  }
}

/* The least code of y: a bound that is cheaper behind packing, which keeps what is too small
 * small. */
static inline uint8_t tn_dot_least(const tn_dot *t) {
  const float lo = (t->sums ? t->sum_lo : t->lo) + (float)t->y_zero;
  return (uint8_t)(lo > 0 ? lo : 0);
}

/* Rounded, clipped from above; what is NaN or overflows from below becomes the least number. */
static inline tn_vq tn_dot_quantise(tn_vf v, tn_vf most) { return tn_vq_round(tn_vf_min(most, v)); }

/* Four vectors as bytes, packed within 128 bits. NaN becomes the least. */
static inline tn_vq tn_dot_bytes(const tn_dot *t, const tn_vf v[4]) {
  tn_vq q[4];
  const tn_vf most = tn_vf_set1(t->sums ? t->sum_hi : t->hi);
  TN_UNROLL for (int j = 0; j < 4; j++) q[j] = tn_dot_quantise(v[j], most);
  const tn_vq zero = tn_vq_set16(t->y_zero);
  const tn_vq a = tn_vq_adds16(tn_vq_pack16(q[0], q[1]), zero),
              b = tn_vq_adds16(tn_vq_pack16(q[2], q[3]), zero);
  const tn_vq codes = tn_vq_max8(tn_vq_pack_u8(a, b), tn_vq_set8(t->least));
  return tn_vq_xor(codes, tn_vq_set8(t->y_flip));
}

/* Four vectors of one row or two (else y1 is NULL). */
static inline void tn_dot_store_8(const tn_dot *t, tn_vf v[4], uint8_t *y0, uint8_t *y1,
                                  const uint8_t *z) {
  if (t->sums) {
    tn_dot_clip(v, t->lo, t->hi);
    tn_dot_add(t, v, tn_vq_unsplit(tn_dot_load_rows(z, y1 ? z + t->y_step : z, t->n)));
  }
  tn_dot_store_rows(tn_vq_split(tn_dot_bytes(t, v)), y0, y1, t->n);
}

static inline void tn_dot_store_f32(const tn_dot *t, tn_vf a, tn_vf b, float *y) {
  tn_dot_order(&a, &b);
  if (t->n == TN_DOT_PANEL) {
    tn_vf_store(y, a);
    tn_vf_store(y + TN_DOT_LANES, b);
  } else {
    tn_vf_store_mask(y, tn_vf_mask_first(tn_min_i64(t->n, TN_DOT_LANES)), a);
    if (t->n > TN_DOT_LANES)
      tn_vf_store_mask(y + TN_DOT_LANES, tn_vf_mask_first(t->n - TN_DOT_LANES), b);
  }
}

/* What is stored of a sum in 32 bits: v, or the bits of the sum itself. */
static inline tn_vf tn_dot_wide(const tn_dot *t, tn_vq sum, tn_vf mul, tn_vf add) {
  tn_vf v = tn_vf_fma(tn_vq_float(sum), mul, add);
  if (t->to_i32) memcpy(&v, &sum, sizeof v);
  return v;
}

typedef void (*tn_dot_fn)(tn_dot *t, const tn_dot_x *x, const void *panel, void *y,
                          const uint8_t *z);

#if defined(TN_KIT_SHARED)
#define tn_dot_tiles TN_SIMD_NAME(tn_dot_tiles)
extern const tn_dot_fn tn_dot_tiles[TN_DOT_ROWS + 1];
#if TN_DOT_HALF_ROWS
#define tn_dot_half_tiles TN_SIMD_NAME(tn_dot_half_tiles)
extern const tn_dot_fn tn_dot_half_tiles[TN_DOT_HALF_ROWS + 1];
#endif
#endif

#if !defined(TN_DOT_RUN)
/* A row alone: every second step has sums of its own, for each product waits for the one before. */
#define TN_DOT_RUN_ALONE                                                                \
  do {                                                                                  \
    tn_vq odd[2] = {tn_vq_set1(0), tn_vq_set1(0)};                                      \
    for (; s + 2 <= steps; s += 2) {                                                    \
      const tn_dot_w *w2 = w + TN_DOT_PANEL * TN_DOT_K;                                 \
      const tn_vq v0 = tn_dot_4(row[0]), v1 = tn_dot_4(row[0] + TN_DOT_K);              \
      const tn_vq w00 = tn_vq_load(w), w01 = tn_vq_load(w + TN_DOT_LANES * TN_DOT_K),   \
                  w10 = tn_vq_load(w2), w11 = tn_vq_load(w2 + TN_DOT_LANES * TN_DOT_K); \
      TN_DOT(acc[0][0], v0, w00);                                                       \
      TN_DOT(acc[0][1], v0, w01);                                                       \
      TN_DOT(odd[0], v1, w10);                                                          \
      TN_DOT(odd[1], v1, w11);                                                          \
      tn_prefetch_l2(next);                                                             \
      tn_prefetch_l2(next + next_step);                                                 \
      next += 2 * next_step;                                                            \
      w += 2 * TN_DOT_PANEL * TN_DOT_K;                                                 \
      row[0] += 2 * TN_DOT_K;                                                           \
    }                                                                                   \
    acc[0][0] = tn_vq_add(acc[0][0], odd[0]);                                           \
    acc[0][1] = tn_vq_add(acc[0][1], odd[1]);                                           \
  } while (0)
/* One run of R rows. Rows are found from every third of them, so that all addresses fit into
 * registers, too. */
#define TN_DOT_RUN(R)                                                                           \
  do {                                                                                          \
    const tn_dot_x *row[((R) + 2) / 3];                                                         \
    TN_UNROLL for (int r = 0; r < ((R) + 2) / 3; r++) row[r] = x + t->at[run] + 3 * r * x_step; \
    int64_t s = 0;                                                                              \
    if ((R) == 1) TN_DOT_RUN_ALONE;                                                             \
    for (; s < steps; s++) {                                                                    \
      const tn_vq w0 = tn_vq_load(w), w1 = tn_vq_load(w + TN_DOT_LANES * TN_DOT_K);             \
      w += TN_DOT_PANEL * TN_DOT_K;                                                             \
      tn_prefetch_l2(next);                                                                     \
      if (TN_DOT_LANES == 16 && (R) <= 8) tn_prefetch_l2(next + 64); /* two lines a step */     \
      next += next_step;                                                                        \
      TN_UNROLL for (int r = 0; r < (R); r++) {                                                 \
        const tn_vq v = tn_dot_4(row[r / 3] + r % 3 * x_step);                                  \
        TN_DOT(acc[r][0], v, w0);                                                               \
        TN_DOT(acc[r][1], v, w1);                                                               \
      }                                                                                         \
      TN_UNROLL for (int r = 0; r < ((R) + 2) / 3; r++) row[r] += TN_DOT_K;                     \
    }                                                                                           \
  } while (0)
#endif

/* R is a number, not a parameter: only then do the sums stay in registers. */
#define TN_DOT_TILE(R)                                                                           \
  static void tn_dot_tile_##R(tn_dot *t, const tn_dot_x *x, const void *panel, void *y,          \
                              const uint8_t *z) {                                                \
    tn_vq acc[R][2];                                                                             \
    const tn_vq sum0 = tn_vq_load(t->begin), sum1 = tn_vq_load(t->begin + TN_DOT_LANES);         \
    TN_UNROLL for (int r = 0; r < (R); r++) acc[r][0] = sum0, acc[r][1] = sum1;                  \
    if (t->row_sums) {                                                                           \
      const tn_vq z0 = tn_vq_load(t->w_zero), z1 = tn_vq_load(t->w_zero + TN_DOT_LANES);         \
      TN_UNROLL for (int r = 0; r < (R); r++) {                                                  \
        const tn_vq v = tn_vq_set1((int32_t)t->row_sums[r]);                                     \
        acc[r][0] = tn_vq_sub(acc[r][0], tn_vq_mul(z0, v));                                      \
        acc[r][1] = tn_vq_sub(acc[r][1], tn_vq_mul(z1, v));                                      \
      }                                                                                          \
    }                                                                                            \
    const tn_dot_w *w = (const tn_dot_w *)(const void *)((const int32_t *)panel + TN_DOT_PANEL); \
    const int64_t x_step = t->x_step, steps = t->steps, next_step = t->next_step;                \
    const char *next = t->next;                                                                  \
    for (int64_t run = 0; run < t->runs; run++) TN_DOT_RUN(R);                                   \
    t->next = next;                                                                              \
    const tn_vf m0 = tn_vf_load(t->mul), m1 = tn_vf_load(t->mul + TN_DOT_LANES),                 \
                c0 = tn_vf_load(t->add), c1 = tn_vf_load(t->add + TN_DOT_LANES);                 \
    if (t->to_f32) {                                                                             \
      TN_UNROLL for (int r = 0; r < (R); r++)                                                    \
          tn_dot_store_f32(t, tn_dot_wide(t, acc[r][0], m0, c0),                                 \
                           tn_dot_wide(t, acc[r][1], m1, c1), (float *)y + r * t->y_step);       \
      return;                                                                                    \
    }                                                                                            \
    TN_UNROLL for (int r = 0; r < (R); r += 2) {                                                 \
      enum { LAST = (R)-1 };                                                                     \
      const int other = r < LAST ? r + 1 : r;                                                    \
      tn_vf v[4] = {tn_vf_fma(tn_vq_float(acc[r][0]), m0, c0),                                   \
                    tn_vf_fma(tn_vq_float(acc[r][1]), m1, c1),                                   \
                    tn_vf_fma(tn_vq_float(acc[other][0]), m0, c0),                               \
                    tn_vf_fma(tn_vq_float(acc[other][1]), m1, c1)};                              \
      uint8_t *to = (uint8_t *)y + r * t->y_step;                                                \
      tn_dot_store_8(t, v, to, r < LAST ? to + t->y_step : NULL, z ? z + r * t->y_step : NULL);  \
    }                                                                                            \
  }

#if defined(TN_KIT_ISA_BODIES)
TN_DOT_TILE(1)
TN_DOT_TILE(2)
TN_DOT_TILE(3)
TN_DOT_TILE(4)
TN_DOT_TILE(5)
TN_DOT_TILE(6)
#if TN_DOT_ROWS == 14
TN_DOT_TILE(7)
TN_DOT_TILE(8)
TN_DOT_TILE(9)
TN_DOT_TILE(10)
TN_DOT_TILE(11)
TN_DOT_TILE(12)
TN_DOT_TILE(13)
TN_DOT_TILE(14)
#endif
#undef TN_DOT_TILE

TN_KIT_ISA_TABLE const tn_dot_fn tn_dot_tiles[TN_DOT_ROWS + 1] = {
    NULL,           tn_dot_tile_1,  tn_dot_tile_2,  tn_dot_tile_3,
    tn_dot_tile_4,  tn_dot_tile_5,  tn_dot_tile_6,
#if TN_DOT_ROWS == 14
    tn_dot_tile_7,  tn_dot_tile_8,  tn_dot_tile_9,  tn_dot_tile_10,
    tn_dot_tile_11, tn_dot_tile_12, tn_dot_tile_13, tn_dot_tile_14,
#endif
};
#endif

#if TN_DOT_HALF_ROWS

/* Up to four rows of a half panel. */
static inline void tn_dot_store_half(const tn_dot *t, tn_vf v[4], int64_t rows, uint8_t *y,
                                     const uint8_t *z) {
  if (t->sums) {
    tn_dot_clip(v, t->lo, t->hi);
    tn_dot_add(t, v, tn_dot_load_four(z, t->y_step, rows, t->n));
  }
  tn_dot_store_four(tn_dot_bytes(t, v), y, t->y_step, rows, t->n);
}

/* As TN_DOT_RUN: of a row alone, steps in turn have sums of their own. */
#define TN_DOT_HALF_RUN(R)                                                                      \
  do {                                                                                          \
    const tn_dot_x *row[((R) + 2) / 3];                                                         \
    TN_UNROLL for (int r = 0; r < ((R) + 2) / 3; r++) row[r] = x + t->at[run] + 3 * r * x_step; \
    int64_t s = 0;                                                                              \
    tn_vq odd = tn_vq_set1(0);                                                                  \
    for (; (R) == 1 && s + 2 <= steps; s += 2) {                                                \
      const tn_vq w0 = tn_vq_load(w), w1 = tn_vq_load(w + TN_DOT_PANEL * TN_DOT_K);             \
      const tn_vq v0 = tn_dot_4(row[0]), v1 = tn_dot_4(row[0] + TN_DOT_K);                      \
      TN_DOT(acc[0], v0, w0);                                                                   \
      TN_DOT(odd, v1, w1);                                                                      \
      w += 2 * TN_DOT_PANEL * TN_DOT_K;                                                         \
      row[0] += 2 * TN_DOT_K;                                                                   \
    }                                                                                           \
    if ((R) == 1) acc[0] = tn_vq_add(acc[0], odd);                                              \
    for (; s < steps; s++) {                                                                    \
      const tn_vq w0 = tn_vq_load(w);                                                           \
      w += TN_DOT_PANEL * TN_DOT_K;                                                             \
      TN_UNROLL for (int r = 0; r < (R); r++) {                                                 \
        const tn_vq v = tn_dot_4(row[r / 3] + r % 3 * x_step);                                  \
        TN_DOT(acc[r], v, w0);                                                                  \
      }                                                                                         \
      TN_UNROLL for (int r = 0; r < ((R) + 2) / 3; r++) row[r] += TN_DOT_K;                     \
    }                                                                                           \
  } while (0)

#define TN_DOT_HALF_TILE(R)                                                                      \
  static void tn_dot_half_tile_##R(tn_dot *t, const tn_dot_x *x, const void *panel, void *y,     \
                                   const uint8_t *z) {                                           \
    tn_vq acc[R];                                                                                \
    const tn_vq sum = tn_vq_load(t->begin);                                                      \
    TN_UNROLL for (int r = 0; r < (R); r++) acc[r] = sum;                                        \
    if (t->row_sums) {                                                                           \
      const tn_vq zero = tn_vq_load(t->w_zero);                                                  \
      TN_UNROLL for (int r = 0; r < (R); r++) acc[r] =                                           \
          tn_vq_sub(acc[r], tn_vq_mul(zero, tn_vq_set1((int32_t)t->row_sums[r])));               \
    }                                                                                            \
    const tn_dot_w *w = (const tn_dot_w *)(const void *)((const int32_t *)panel + TN_DOT_PANEL); \
    const int64_t x_step = t->x_step, steps = t->steps;                                          \
    for (int64_t run = 0; run < t->runs; run++) TN_DOT_HALF_RUN(R);                              \
    const tn_vf mul = tn_vf_load(t->mul), add = tn_vf_load(t->add);                              \
    if (t->to_f32) {                                                                             \
      const tn_vf_mask live = tn_vf_mask_first(t->n);                                            \
      TN_UNROLL for (int r = 0; r < (R); r++)                                                    \
          tn_vf_store_mask((float *)y + r * t->y_step, live, tn_dot_wide(t, acc[r], mul, add));  \
      return;                                                                                    \
    }                                                                                            \
    TN_UNROLL for (int r = 0; r < (R); r += 4) {                                                 \
      enum { LAST = (R)-1 };                                                                     \
      tn_vf v[4];                                                                                \
      TN_UNROLL for (int k = 0; k < 4; k++) v[k] =                                               \
          tn_vf_fma(tn_vq_float(acc[r + k < LAST ? r + k : LAST]), mul, add);                    \
      tn_dot_store_half(t, v, r + 4 <= (R) ? 4 : (R)-r, (uint8_t *)y + r * t->y_step,            \
                        z ? z + r * t->y_step : NULL);                                           \
    }                                                                                            \
  }

#if defined(TN_KIT_ISA_BODIES)
TN_DOT_HALF_TILE(1)
TN_DOT_HALF_TILE(2)
TN_DOT_HALF_TILE(3)
TN_DOT_HALF_TILE(4)
TN_DOT_HALF_TILE(5)
TN_DOT_HALF_TILE(6)
TN_DOT_HALF_TILE(7)
TN_DOT_HALF_TILE(8)
TN_DOT_HALF_TILE(9)
TN_DOT_HALF_TILE(10)
TN_DOT_HALF_TILE(11)
TN_DOT_HALF_TILE(12)
#undef TN_DOT_HALF_TILE

TN_KIT_ISA_TABLE const tn_dot_fn tn_dot_half_tiles[TN_DOT_HALF_ROWS + 1] = {
    NULL,
    tn_dot_half_tile_1,
    tn_dot_half_tile_2,
    tn_dot_half_tile_3,
    tn_dot_half_tile_4,
    tn_dot_half_tile_5,
    tn_dot_half_tile_6,
    tn_dot_half_tile_7,
    tn_dot_half_tile_8,
    tn_dot_half_tile_9,
    tn_dot_half_tile_10,
    tn_dot_half_tile_11,
    tn_dot_half_tile_12,
};
#endif

#endif

/* Works out what the tiles of a panel have in common. */
static inline void tn_dot_begin(tn_dot *t, const void *panel) {
  const int32_t *sums = (const int32_t *)panel;
  const tn_vq zero = tn_vq_set1(-t->zero);
  const tn_vf factor = tn_vf_set1(t->factor), by = tn_vf_set1(t->bias_factor), none = tn_vf_set1(0);
  t->least = tn_dot_least(t);
  for (int l = 0; l < TN_DOT_PANEL; l += TN_DOT_LANES) {
    const tn_vq first = t->first ? tn_vq_load(t->first + l) : tn_vq_set1(0);
    tn_vq_store(t->begin + l, tn_vq_add(first, tn_vq_mul(zero, tn_vq_load(sums + l))));
    if (t->to_i32) continue;
    tn_vf_store(t->mul + l, tn_vf_mul(tn_vf_load(t->scale + l), factor));
    tn_vf_store(t->add + l, t->bias ? tn_vf_mul(tn_vf_load(t->bias + l), by) : none);
  }
}

/* `rows` rows by one panel, in tiles of about the same height. y and z: of the first row and the
 * panel's first filter. */
static inline void tn_dot_run(tn_dot *t, int64_t rows, const tn_dot_x *x, const void *panel,
                              void *y, const uint8_t *z) {
  tn_dot_begin(t, panel);
  const float *sums = t->row_sums;
  const tn_dot_fn *tiles = tn_dot_tiles;
  int64_t most = TN_DOT_ROWS, step = 1; /* rows of a tile; of what is stored at once */
#if TN_DOT_HALF_ROWS
  if (t->half) tiles = tn_dot_half_tiles, most = TN_DOT_HALF_ROWS, step = 4;
#endif
  const int64_t n = tn_ceil_div(rows, most), all = tn_ceil_div(rows, step),
                size = t->to_f32 ? (int64_t)sizeof(float) : 1;
  for (int64_t k = 0, r = 0; k < n; k++) {
    const int64_t end = tn_min_i64(rows, (k + 1) * all / n * step);
    t->row_sums = sums ? sums + r : NULL;
    tiles[end - r](t, x + r * t->x_step, panel, (char *)y + r * t->y_step * size,
                   z ? z + r * t->y_step : NULL);
    r = end;
  }
  t->row_sums = sums;
}

#endif
