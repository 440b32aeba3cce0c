/* QuantConv of depthwise windows in channels-last layout, on the integer dot products of
 * tenon/kit/dot_simd.h: the codes of TN_DOT_K rows under each other are interleaved, so that one
 * product takes as many taps of a column of the window, and each column of the input is interleaved
 * once for all output pixels of a tile that see it. A block has as many channels as a vector has
 * codes; its sums are in TN_DOT_K vectors, whose order packing undoes. If the last block has no
 * more than half of its channels, the other half is a second output row. (NEON: 16 channels in four
 * vectors of one register, in their order: of more, the sums of a tile would not fit.)
 *
 * Weights less their zero points may need more than 8 bits: then, where weights have no more, each
 * is a sum of three, and the rows are gone through three times.
 *
 * An item is a strip of output rows, copied with its pads. Wide maps are read in place: there only
 * what tiles at the edges see is copied. */
#ifndef TN_OPS_QUANT_DEPTHWISE_SIMD_H
#define TN_OPS_QUANT_DEPTHWISE_SIMD_H

#include "quant_conv_simd.h"

#if defined(TN_DEPTHWISE_HEADER)
#include TN_DEPTHWISE_HEADER
#else
enum { TN_DW_LANES = TN_DOT_LANES, TN_DW_VECTORS = TN_DOT_K };
#endif

enum {
  QUANT_DW_CHANNELS = TN_DW_VECTORS * TN_DW_LANES,             /* of a block, in vectors of sums */
  QUANT_DW_HALF = TN_DW_LANES > 4 ? QUANT_DW_CHANNELS / 2 : 0, /* two rows of so many; 0: never */
  QUANT_DW_TILE = 4,                                           /* output pixels of a tile */
  QUANT_DW_MOST = 64,                                          /* rows of a window */
  QUANT_DW_WIDE = 24,                            /* of wide maps: output pixels of a row */
  QUANT_DW_ROWS = 5,                             /* and rows of a window, at most */
  QUANT_DW_COLUMNS = (QUANT_DW_TILE - 1) * 2 + 5 /* that a tile sees, at most */
};

/* Where channel c of a block stands among the lanes of its vectors. */
static inline int64_t quant_dw_lane(int64_t c) {
  const int64_t each = 4 * TN_DW_VECTORS; /* channels of 128 bits */
  return c % each / 4 * TN_DW_LANES + c / each * 4 + c % 4;
}

typedef struct quant_dw { /* one block of channels */
  const tn_dot *t;
  const tn_dot_w *w;                  /* [groups of rows][kernel_w][vectors][lanes][TN_DOT_K] */
  const int32_t *begin;               /* of the sums */
  int64_t n;                          /* channels that there are */
  int64_t groups, kernel_w, stride_w; /* groups of TN_DOT_K rows */
  int64_t parts;                      /* of a weight: how often all groups come */
  int64_t pixel, row;                 /* elements between pixels and rows of the strip */
  int64_t rows;                       /* of the window */
  bool pairs;                         /* two output rows at a time, or one for both halves: */
  int64_t other, y_other;             /* elements from the first to the second, bytes; 0: none */
} quant_dw;

#if defined(TN_DEPTHWISE_HEADER)

static inline tn_dw_codes quant_dw_load(const quant_dw *d, const tn_dot_x *x) {
  return (void)d, tn_dw_load(x);
}
static inline void quant_dw_finish(const quant_dw *d, tn_dw_sums acc[TN_DW_VECTORS], void *y) {
  tn_dw_finish(d->t, d->n, acc, y);
}

#else

/* Sums; codes of a row; of these rows, interleaved, what is multiplied for a vector of sums. */
enum { TN_DW_PARTS = TN_DW_VECTORS };
typedef tn_vq tn_dw_sums, tn_dw_codes, tn_dw_part;

static inline tn_dw_sums tn_dw_first(const int32_t *sums) { return tn_vq_load(sums); }

#define TN_DW_DOT(acc, x, w)                                         \
  TN_UNROLL for (int j = 0; j < TN_DW_VECTORS; j++) {                \
    const tn_vq tn_w = tn_vq_load((w) + j * TN_DW_LANES * TN_DOT_K); \
    TN_DOT((acc)[j], (x)[j], tn_w);                                  \
  }

/* Codes of 16 bits are copies, behind whose last there is room for a vector: what is read beyond
 * the channels has weights of 0. */
static inline tn_vq quant_dw_load(const quant_dw *d, const tn_dot_x *x) {
#if TN_DOT_K == 4
  return d->pairs ? tn_dot_load_rows(x, x + d->other, d->n) : tn_vq_load_first(x, d->n);
#else
  return d->pairs ? tn_dot_load_pair(x, x + d->other) : tn_vq_load(x);
#endif
}
static inline void quant_dw_store(const quant_dw *d, uint8_t *y, tn_vq v) {
  if (d->pairs)
    tn_dot_store_rows(v, y, d->y_other ? y + d->y_other : NULL, d->n);
  else
    tn_vq_store_first(y, v, d->n);
}

/* The columns of TN_DOT_K rows as sums want them. */
static inline void tn_dw_interleave(const tn_vq row[TN_DOT_K], tn_vq out[TN_DW_VECTORS]) {
#if TN_DOT_K == 4
  TN_VQ_ZIP(8, row[0], row[1], a, b);
  TN_VQ_ZIP(8, row[2], row[3], c, d);
  TN_VQ_ZIP(16, a, c, v0, v1);
  TN_VQ_ZIP(16, b, d, v2, v3);
  out[0] = v0, out[1] = v1, out[2] = v2, out[3] = v3;
#else
  TN_VQ_ZIP(16, row[0], row[1], v0, v1);
  out[0] = v0, out[1] = v1;
#endif
}

/* The sums of one pixel become output. The scales have the factors in them. */
static inline void quant_dw_finish(const quant_dw *d, tn_vq acc[TN_DW_VECTORS], void *y) {
  const tn_dot *t = d->t;
  tn_vf v[TN_DW_VECTORS];
  TN_UNROLL for (int j = 0; j < TN_DW_VECTORS; j++) v[j] =
      tn_vf_fma(tn_vq_float(acc[j]), tn_vf_load(t->scale + j * TN_DOT_LANES),
                tn_vf_load(t->bias + j * TN_DOT_LANES));
  if (t->to_f32) {
    float room[QUANT_DW_CHANNELS];
    TN_UNROLL for (int j = 0; j < TN_DW_VECTORS; j++) tn_vf_store(room + j * TN_DOT_LANES, v[j]);
    for (int64_t c = 0; c < d->n; c++) ((float *)y)[c] = room[quant_dw_lane(c)];
    for (int64_t c = 0; c < d->n && d->y_other; c++)
      ((float *)y)[d->y_other / (int64_t)sizeof(float) + c] =
          room[quant_dw_lane(QUANT_DW_HALF + c)];
    return;
  }
  const tn_vf most = tn_vf_set1(t->hi);
  const tn_vq zero = tn_vq_set16(t->y_zero), flip = tn_vq_set8(t->y_flip),
              least = tn_vq_set8(t->least);
  tn_vq q[TN_DW_VECTORS];
  TN_UNROLL for (int j = 0; j < TN_DW_VECTORS; j++) q[j] = tn_dot_quantise(v[j], most);
  const tn_vq a = tn_vq_adds16(tn_vq_pack16(q[0], q[1]), zero);
#if TN_DOT_K == 4
  const tn_vq b = tn_vq_adds16(tn_vq_pack16(q[2], q[3]), zero);
  quant_dw_store(d, y, tn_vq_xor(tn_vq_max8(tn_vq_pack_u8(a, b), least), flip));
#else
  const tn_vq codes = tn_vq_xor(tn_vq_max8(tn_vq_pack_u8(a, a), least), flip);
  quant_dw_store(d, y, d->pairs ? codes : tn_vq_split(codes));
#endif
}

#endif

/* P pixels of one output row; x: the first column that they see, of the first row. P, KW and S are
 * numbers, not parameters: only then do the sums stay in registers. */
#define QUANT_DW_TILE_OF(P, KW, S)                                                            \
  static void quant_dw_tile_##P##_##KW##_##S(const quant_dw *d, const tn_dot_x *x, void *y) { \
    tn_dw_sums acc[P][TN_DW_VECTORS];                                                         \
    const int64_t size = d->t->to_f32 ? (int64_t)sizeof(float) : 1;                           \
    TN_UNROLL for (int j = 0; j < TN_DW_VECTORS; j++) {                                       \
      const tn_dw_sums sum = tn_dw_first(d->begin + j * TN_DW_LANES);                         \
      TN_UNROLL for (int p = 0; p < (P); p++) acc[p][j] = sum;                                \
    }                                                                                         \
    const int64_t pixel = d->pixel;                                                           \
    const tn_dot_w *w = d->w;                                                                 \
    for (int64_t i = 0; i < d->groups * d->parts; i++) {                                      \
      const int64_t g = i % d->groups;                                                        \
      const tn_dot_x *from[TN_DOT_K];                                                         \
      TN_UNROLL for (int r = 0; r < TN_DOT_K; r++) /* of more rows: weight 0 */               \
          from[r] = x + tn_min_i64(g * TN_DOT_K + r, d->rows - 1) * d->row;                   \
      TN_UNROLL for (int c = 0; c < ((P)-1) * (S) + (KW); c++) {                              \
        tn_dw_codes row[TN_DOT_K];                                                            \
        tn_dw_part four[TN_DW_PARTS];                                                         \
        TN_UNROLL for (int r = 0; r < TN_DOT_K; r++) {                                        \
          row[r] = quant_dw_load(d, from[r]);                                                 \
          from[r] += pixel;                                                                   \
        }                                                                                     \
        tn_dw_interleave(row, four);                                                          \
        TN_UNROLL for (int p = 0; p < (P); p++) {                                             \
          const int k = c - p * (S);                                                          \
          if (k < 0 || k >= (KW)) continue;                                                   \
          TN_DW_DOT(acc[p], four, w + k * QUANT_DW_CHANNELS * TN_DOT_K);                      \
        }                                                                                     \
      }                                                                                       \
      w += (KW)*QUANT_DW_CHANNELS * TN_DOT_K;                                                 \
    }                                                                                         \
    TN_UNROLL for (int p = 0; p < (P); p++)                                                   \
        quant_dw_finish(d, acc[p], (char *)y + p * d->t->y_step * size);                      \
  }

QUANT_DW_TILE_OF(4, 1, 1)
QUANT_DW_TILE_OF(1, 1, 1)
QUANT_DW_TILE_OF(4, 1, 2)
QUANT_DW_TILE_OF(4, 3, 1)
QUANT_DW_TILE_OF(1, 3, 1)
QUANT_DW_TILE_OF(4, 3, 2)
QUANT_DW_TILE_OF(4, 5, 1)
QUANT_DW_TILE_OF(1, 5, 1)
QUANT_DW_TILE_OF(4, 5, 2)
#undef QUANT_DW_TILE_OF

typedef void (*quant_dw_fn)(const quant_dw *d, const tn_dot_x *x, void *y);

/* By half the width of the window (1, 3, 5), then by stride. */
static const quant_dw_fn quant_dw_tiles[3][2] = {{quant_dw_tile_4_1_1, quant_dw_tile_4_1_2},
                                                 {quant_dw_tile_4_3_1, quant_dw_tile_4_3_2},
                                                 {quant_dw_tile_4_5_1, quant_dw_tile_4_5_2}};
static const quant_dw_fn quant_dw_pixel[3] = {quant_dw_tile_1_1_1, quant_dw_tile_1_3_1,
                                              quant_dw_tile_1_5_1};

const char *TN_SIMD_NAME(quant_depthwise_refuse)(const tn_call *call) {
  const tn_quant_conv_attrs *a = call->attrs;
  const tn_tensor *w = call->inputs[QUANT_W];
  const char *why = TN_SIMD_NAME(quant_conv_refuse)(call);
  quant_layer l;
  if (why) return why;
  if (a->group != w->shape[0] || w->shape[1] != 1 || call->inputs[QUANT_X]->shape[1] != a->group)
    return "takes depthwise windows";
  if (call->n_inputs > QUANT_Z && call->inputs[QUANT_Z]) return "takes no residual";
  if (quant_layer_make(call, &l) || l.kernel_w > 5 || l.kernel_w % 2 == 0 || l.stride_w > 2 ||
      l.dilation_w != 1 || l.dilation_h != 1 || l.kernel_h > QUANT_DW_MOST)
    return "takes windows of width 1, 3 or 5, with strides of 1 or 2 and without dilations";
  return NULL;
}

/* ---- the layer ---- */

typedef struct quant_dw_layer {
  quant_layer l;
  int64_t blocks, groups, parts; /* parts: of a weight, at most */
  int64_t weights, floats;       /* bytes of a block: sums and weights; scales, biases, parts */
} quant_dw_layer;

/* Of the layer d->l. */
static void quant_dw_fill(quant_dw_layer *d) {
  const quant_layer *l = &d->l;
  d->blocks = tn_ceil_div(l->q.c.channels, QUANT_DW_CHANNELS);
  d->groups = tn_ceil_div(l->kernel_h, TN_DOT_K);
  d->parts = sizeof(tn_dot_w) == 1 && quant_conv_has_zeros(&l->q) ? 3 : 1;
  d->floats = 2 * QUANT_DW_CHANNELS * (int64_t)sizeof(float) + 64;
  d->weights = QUANT_DW_CHANNELS * (int64_t)sizeof(int32_t) + d->parts * d->groups * l->kernel_w *
                                                                  QUANT_DW_CHANNELS * TN_DOT_K *
                                                                  (int64_t)sizeof(tn_dot_w);
}

static tn_status quant_dw_make(const tn_call *call, quant_dw_layer *out) {
  const tn_status s = quant_layer_make(call, &out->l);
  if (!s) quant_dw_fill(out);
  return s;
}

/* How many numbers of 8 bits this one is the sum of. */
static int32_t quant_dw_parts(int64_t weight) {
  return weight < -256 || weight > 254 ? 3 : weight < -128 || weight > 127 ? 2 : 1;
}

/* The most that a weight of these has; if they are not there yet, that any may have. */
static int32_t quant_dw_most_parts(const quant_dw_layer *d) {
  const quant_conv *q = &d->l.q;
  int32_t most = 1;
  if (d->parts == 1 || !q->w->data || (q->w_zero && !q->w_zero->data)) return (int32_t)d->parts;
  for (int64_t c = 0; c < q->c.channels; c++)
    for (int64_t t = 0; t < q->c.taps; t++) {
      const int32_t n = quant_dw_parts(quant_conv_weight(q, c, t));
      most = n > most ? n : most;
    }
  return most;
}

/* Blocks, in the time of a whole one: where the last has few channels, two rows may share it. */
static double quant_dw_blocks(const quant_dw_layer *d) {
  const int64_t last = d->l.q.c.channels - (d->blocks - 1) * QUANT_DW_CHANNELS;
  return (double)(d->blocks - 1) + (last <= QUANT_DW_HALF ? 0.5 : 1);
}

tn_status TN_SIMD_NAME(quant_depthwise_plan)(const tn_call *call, tn_kernel_plan *out) {
  quant_dw_layer d;
  tn_status s = quant_dw_make(call, &d);
  if (!s) s = TN_SIMD_NAME(quant_conv_plan)(call, out);
  if (s) return s;
  const conv_shape *c = &d.l.q.c;
  const double n = (double)(c->batch * c->out_size) * quant_dw_blocks(&d);
  out->state_bytes = (uint64_t)(QUANT_MEMO_BYTES + d.blocks * (d.weights + d.floats));
  out->state_key = quant_memo_key(call, &d.l, out->state_bytes);
  out->cost_ns =
      n * (double)(d.groups * quant_dw_most_parts(&d) * d.l.kernel_w) * (TN_DOT_K == 1 ? 3 : 6) +
      500;
  out->grain[0] = tn_grain(TN_THREAD_NS, out->cost_ns / (double)tn_max_i64(1, out->items[0]));
  return TN_OK;
}

static char *quant_dw_block(const quant_dw_layer *d, void *state, int64_t block) {
  return (char *)state + block * (d->weights + d->floats);
}

/* How many parts the weights of the block have, as packed; 0 is 1. */
static int32_t *quant_dw_used(const quant_dw_layer *d, char *block) {
  return (int32_t *)(void *)(block + d->weights + 2 * QUANT_DW_CHANNELS * sizeof(float));
}

/* Has the block room for a second row? */
static bool quant_dw_pairs(const quant_dw_layer *d, int64_t block) {
  return d->l.q.c.channels - block * QUANT_DW_CHANNELS <= QUANT_DW_HALF;
}

static void quant_dw_pack(const quant_dw_layer *d, const tn_dot *numbers, int64_t channel,
                          int64_t lane, char *block) {
  const conv_shape *c = &d->l.q.c;
  int32_t *begin = (int32_t *)(void *)block, *used = quant_dw_used(d, block);
  float *floats = (float *)(void *)(block + d->weights);
  tn_dot_w *w = (tn_dot_w *)(void *)(begin + QUANT_DW_CHANNELS);
  uint32_t sum = (uint32_t)quant_conv_first(&d->l.q, channel); /* wraps around, as sums do */
  for (int64_t t = 0; t < c->taps; t++) {
    const int64_t kh = t / d->l.kernel_w, kw = t % d->l.kernel_w;
    int64_t left = quant_conv_weight(&d->l.q, channel, t);
    sum -= (uint32_t)numbers->zero * (uint32_t)left;
    if (d->parts > 1 && quant_dw_parts(left) > *used) *used = quant_dw_parts(left);
    for (int64_t part = 0; part < d->parts; part++) {
      const int64_t row = part * d->groups + kh / TN_DOT_K, column = row * d->l.kernel_w + kw;
      const int64_t now = d->parts > 1 ? tn_max_i64(-128, tn_min_i64(127, left)) : left;
      w[(column * QUANT_DW_CHANNELS + lane) * TN_DOT_K + kh % TN_DOT_K] = (tn_dot_w)now;
      left -= now;
    }
  }
  begin[lane] = (int32_t)sum;
  floats[lane] = quant_factor(&d->l, channel);
  floats[QUANT_DW_CHANNELS + lane] =
      (float)quant_conv_bias(&d->l.q, channel) * numbers->bias_factor;
}

tn_status TN_SIMD_NAME(quant_depthwise_prepare)(const tn_call *call) {
  quant_dw_layer d;
  int64_t at[QUANT_RUNS];
  const tn_status s = quant_dw_make(call, &d);
  if (s) return s;
  const tn_dot t = quant_numbers(&d.l, at);
  for (int64_t c = 0; c < d.l.q.c.channels; c++) {
    const int64_t block = c / QUANT_DW_CHANNELS, at_block = c % QUANT_DW_CHANNELS;
    char *to = quant_dw_block(&d, quant_packed(call), block);
    quant_dw_pack(&d, &t, c, quant_dw_lane(at_block), to);
    if (quant_dw_pairs(&d, block))
      quant_dw_pack(&d, &t, c, quant_dw_lane(QUANT_DW_HALF + at_block), to);
  }
  quant_memo_write(call, &d.l);
  return TN_OK;
}

/* Tile t of those that cover n pixels: its first pixel. The last two may overlap. */
static int64_t quant_dw_at(int64_t t, int64_t n) {
  return tn_min_i64(t * QUANT_DW_TILE, n - QUANT_DW_TILE);
}

/* A row of n output pixels (or two), of a copied strip. */
static void quant_dw_row(const quant_dw *d, int64_t n, const tn_dot_x *x, char *y) {
  const int64_t step = d->t->y_step * (d->t->to_f32 ? (int64_t)sizeof(float) : 1);
  const int64_t half = d->kernel_w / 2;
  for (int64_t p = 0; p < n && n < QUANT_DW_TILE; p++)
    quant_dw_pixel[half](d, x + p * d->stride_w * d->pixel, y + p * step);
  for (int64_t t = 0; n >= QUANT_DW_TILE && t < tn_ceil_div(n, QUANT_DW_TILE); t++) {
    const int64_t p = quant_dw_at(t, n);
    quant_dw_tiles[half][d->stride_w - 1](d, x + p * d->stride_w * d->pixel, y + p * step);
  }
}

/* ---- in place ---- */

#if TN_DOT_K == 4 && !defined(TN_DEPTHWISE_HEADER)

static bool quant_dw_in_place(const quant_layer *l) {
  return l->q.x->dtype == TN_U8 && l->out_w >= QUANT_DW_WIDE && l->kernel_h <= QUANT_DW_ROWS;
}

/* The columns from `iw` on of the rows from `ih` on that a tile sees, some of them outside. x: the
 * image, from the block's first channel on. */
static void quant_dw_gather(const quant_layer *l, const quant_dw *d, const uint8_t *x, int64_t ih,
                            int64_t iw, uint8_t *to) {
  const int64_t width = (QUANT_DW_TILE - 1) * l->stride_w + l->kernel_w;
  const tn_vq zero = tn_vq_set8((uint8_t)l->q.a->x_zero);
  quant_dw one = *d;
  one.pairs = false;
  for (int64_t r = ih; r < ih + l->kernel_h; r++, to += QUANT_DW_COLUMNS * QUANT_DW_CHANNELS)
    for (int64_t c = iw; c < iw + width; c++) {
      const bool inside = r >= 0 && r < l->in_h && c >= 0 && c < l->in_w;
      tn_vq_store(to + (c - iw) * QUANT_DW_CHANNELS,
                  inside ? quant_dw_load(&one, x + (r * l->in_w + c) * d->pixel) : zero);
    }
}

/* A row of output pixels (or two); x as above. */
static void quant_dw_row_in_place(const quant_layer *l, const quant_dw *d, const uint8_t *x,
                                  int64_t row, char *y) {
  enum { IMAGE = QUANT_DW_ROWS * QUANT_DW_COLUMNS * QUANT_DW_CHANNELS };
  uint8_t room[2 * IMAGE];
  quant_dw edge = *d;
  edge.pixel = QUANT_DW_CHANNELS;
  edge.row = QUANT_DW_COLUMNS * QUANT_DW_CHANNELS;
  edge.other = d->y_other ? IMAGE : 0;
  const int64_t step = d->t->y_step * (d->t->to_f32 ? (int64_t)sizeof(float) : 1);
  const int64_t ih = row * l->stride_h - l->pad_h, more = d->y_other ? l->stride_h : 0;
  const int64_t width = (QUANT_DW_TILE - 1) * l->stride_w + l->kernel_w;
  const bool inside = ih >= 0 && ih + more + l->kernel_h <= l->in_h;
  const quant_dw_fn tile = quant_dw_tiles[l->kernel_w / 2][l->stride_w - 1];
  for (int64_t t = 0; t < tn_ceil_div(l->out_w, QUANT_DW_TILE); t++) {
    const int64_t p = quant_dw_at(t, l->out_w), iw = p * l->stride_w - l->pad_w;
    if (inside && iw >= 0 && iw + width <= l->in_w) {
      tile(d, x + (ih * l->in_w + iw) * d->pixel, y + p * step);
      continue;
    }
    quant_dw_gather(l, d, x, ih, iw, room);
    if (d->y_other) quant_dw_gather(l, d, x, ih + more, iw, room + IMAGE);
    tile(&edge, room, y + p * step);
  }
}

#else /* codes are copied in any case: to 16 bits, or for NEON's loads of whole vectors */

static bool quant_dw_in_place(const quant_layer *l) { return (void)l, false; }

static void quant_dw_row_in_place(const quant_layer *l, const quant_dw *d, const uint8_t *x,
                                  int64_t row, char *y) {
  (void)l, (void)d, (void)x, (void)row, (void)y;
}

#endif

/* ---- run ---- */

/* strip: NULL: in place. */
static void quant_dw_strip(const tn_call *call, const quant_dw_layer *dl, tn_dot *t,
                           const tn_dot_x *strip, int64_t image, int64_t begin, int64_t end) {
  const quant_layer *l = &dl->l;
  const int64_t size = t->to_f32 ? (int64_t)sizeof(float) : 1;
  for (int64_t b = 0; b < dl->blocks; b++) {
    char *block = quant_dw_block(dl, quant_packed(call), b);
    const int32_t *first = (const int32_t *)(const void *)block;
    const int64_t c = b * QUANT_DW_CHANNELS;
    t->scale = (const float *)(const void *)(block + dl->weights);
    t->bias = t->scale + QUANT_DW_CHANNELS;
    quant_dw d = {.t = t,
                  .w = (const tn_dot_w *)(const void *)(first + QUANT_DW_CHANNELS),
                  .begin = first,
                  .n = tn_min_i64(QUANT_DW_CHANNELS, l->q.c.channels - c),
                  .groups = dl->groups,
                  .parts = tn_max_i64(1, *quant_dw_used(dl, block)),
                  .kernel_w = l->kernel_w,
                  .stride_w = l->stride_w,
                  .pixel = l->pixel,
                  .row = l->row,
                  .rows = l->kernel_h,
                  .pairs = quant_dw_pairs(dl, b)};
    const uint8_t *x = (const uint8_t *)l->q.x->data + image * l->q.c.in_size * l->pixel + c;
    if (!strip) d.row = l->in_w * l->pixel;
    for (int64_t r = begin; r < end; r += d.pairs ? 2 : 1) {
      const bool two = d.pairs && r + 1 < end;
      d.other = two ? l->stride_h * d.row : 0;
      d.y_other = two ? l->out_w * l->q.c.filters * size : 0;
      char *y = (char *)call->outputs[0]->data +
                ((image * l->n_pixels + r * l->out_w) * l->q.c.filters + c) * size;
      if (strip)
        quant_dw_row(&d, l->out_w, strip + (r - begin) * l->stride_h * l->row + c, y);
      else
        quant_dw_row_in_place(l, &d, x, r, y);
    }
  }
}

tn_status TN_SIMD_NAME(quant_depthwise)(const tn_call *call, uint32_t stage, int64_t begin,
                                        int64_t end, uint32_t worker) {
  quant_dw_layer d;
  int64_t at[QUANT_RUNS];
  tn_dot t;
  const tn_status s = quant_layer_open(call, &d.l, &t, at);
  (void)stage;
  if (s) return s;
  quant_dw_fill(&d);
  t.least = tn_dot_least(&t);
  char *room = (char *)call->worker_scratch + worker * call->worker_scratch_bytes;
  for (int64_t item = begin; item < end; item++) {
    int64_t part, strip;
    work_cut_item(&d.l.cut, item, &strip, &part);
    const int64_t image = strip / d.l.cut.strips,
                  first = strip % d.l.cut.strips * d.l.cut.strip_rows,
                  last = tn_min_i64(d.l.out_h, first + d.l.cut.strip_rows);
    if (first >= last) continue;
    quant_dw_strip(call, &d, &t,
                   quant_dw_in_place(&d.l)
                       ? NULL
                       : quant_strip(&d.l, image, first, last, (tn_dot_x *)(void *)room),
                   image, first, last);
  }
  return TN_OK;
}

#endif
