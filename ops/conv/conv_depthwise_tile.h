/* The tile of depthwise convolutions in blocked layout: P neighbouring pixels of one or two output
 * rows, in registers over all taps of a window that is 3, 5 or 7 (KW) wide and moves by 1 or 2 (S)
 * columns.
 *
 * Columns outside of the input read as 0: each of the KW/2 columns on either side of the tile that
 * may be is an edge; rows outside are left out. Two output rows share what they load of the input
 * rows that both see. */
#ifndef TN_OPS_CONV_DEPTHWISE_TILE_H
#define TN_OPS_CONV_DEPTHWISE_TILE_H

#include "tenon/kit/epilogue_simd.h"
#include "tenon/kit/window.h"

enum { DEPTHWISE_PIXELS = TN_VF_LANES == 16 ? 7 : 4, DEPTHWISE_ROWS = 2, DEPTHWISE_EDGE = 3 };

typedef struct depthwise_block { /* one block of channels of an image */
  const tn_window *w;            /* of 3 dims */
  const float *x, *k;            /* k: [taps][lanes] */
  tn_vf bias;
  tn_finish finish;
  const float *out; /* the first element of the output */
  tn_vf_mask live;  /* lanes that are channels */
  bool partial;     /* not all are */
} depthwise_block;

/* N pixels of each of ROWS rows, out_row floats apart, are finished and stored, the last first.
 * What follows are macros, and P, KW and S numbers: only then do the accumulators stay in
 * registers. */
#define DEPTHWISE_STORE(d, acc, ROWS, N, y, out_row)                                      \
  do {                                                                                    \
    TN_FINISH_VECTORS(&(d)->finish, y - (d)->out, out_row, acc[j], ROWS, N);              \
    if ((d)->partial) {                                                                   \
      const tn_vf_mask live = (d)->live;                                                  \
      TN_UNROLL for (int p = 0; p < (ROWS) * (N); p++) acc[p] = tn_vf_keep(live, acc[p]); \
    }                                                                                     \
    TN_UNROLL for (int p = (ROWS) * (N); p-- > 0;)                                        \
        tn_vf_store(y + p / (N)*out_row + p % (N)*TN_VF_LANES, acc[p]);                   \
  } while (0)

/* A column that may lie outside of the input: there its loads are masked, or, where masked loads
 * are slow, zeros are read instead. */
#if TN_VF_LANES == 16
typedef tn_vf_mask depthwise_edge;
static inline depthwise_edge depthwise_edge_make(bool inside, const float *x, int64_t row) {
  (void)x, (void)row;
  return tn_vf_mask_first(inside ? TN_VF_LANES : 0);
}
static inline tn_vf depthwise_edge_load(depthwise_edge e, const float *x, int64_t i) {
  (void)i;
  return tn_vf_load_if(e, x);
}
#else
typedef struct depthwise_edge {
  const float *x; /* of the first row */
  int64_t row;    /* floats between rows */
} depthwise_edge;
static inline depthwise_edge depthwise_edge_make(bool inside, const float *x, int64_t row) {
  static const float zeros[TN_VF_LANES] = {0};
  const depthwise_edge e = {inside ? x : zeros, inside ? row : 0};
  return e;
}
static inline tn_vf depthwise_edge_load(depthwise_edge e, const float *x, int64_t i) {
  (void)x;
  return tn_vf_load(e.x + i * e.row);
}
#endif

/* Column `at` of those that a tile sees, in its i-th row; x is the first. edge: those of the left
 * side first. */
static inline tn_vf depthwise_column(const float *x, int64_t i, const depthwise_edge *edge, int at,
                                     int edges, int last) {
  const float *column = x + at * TN_VF_LANES;
  if (at < edges) return depthwise_edge_load(edge[at], column, i);
  if (at >= last) return depthwise_edge_load(edge[DEPTHWISE_EDGE + at - last], column, i);
  return tn_vf_load(column);
}

/* An input row that only output row `r` of the tile sees, as row k of the window. */
#define DEPTHWISE_LINE(x, k, edge, acc, r, P, KW, S)                                        \
  TN_UNROLL for (int c = 0; c < KW; c++) {                                                  \
    const tn_vf weight = tn_vf_load(k + c * TN_VF_LANES);                                   \
    TN_UNROLL for (int p = 0; p < P; p++) acc[r * P + p] = tn_vf_fma(                       \
        depthwise_column(x, i - first, edge, p * S + c, KW / 2, (P - 1) * S + KW - KW / 2), \
        weight, acc[r * P + p]);                                                            \
  }

/* One that both see, as rows k0 and k1. */
#define DEPTHWISE_LINES(x, k0, k1, edge, acc, P, KW, S)                                       \
  TN_UNROLL for (int c = 0; c < KW; c++) {                                                    \
    const tn_vf w0 = tn_vf_load(k0 + c * TN_VF_LANES), w1 = tn_vf_load(k1 + c * TN_VF_LANES); \
    TN_UNROLL for (int p = 0; p < P; p++) {                                                   \
      const tn_vf v =                                                                         \
          depthwise_column(x, i - first, edge, p * S + c, KW / 2, (P - 1) * S + KW - KW / 2); \
      acc[p] = tn_vf_fma(v, w0, acc[p]);                                                      \
      acc[P + p] = tn_vf_fma(v, w1, acc[P + p]);                                              \
    }                                                                                         \
  }

/* What the tiles of one or two output rows share: the rows of the input that they see, counted from
 * their first tap. [first, both) only the first output row does, [both, shared) both, [shared, end)
 * only the second. */
typedef struct depthwise_place {
  const float *x, *k;               /* column 0 of row `first`, and its taps */
  int64_t row, taps, back, out_row; /* floats of an input row, of a row of the window, ... */
  int64_t first, both, shared, end;
} depthwise_place;

/* Rows move by no more than the height of the window. Of one row, the sums of a second one are
 * stored where those of the first are going to be. */
static depthwise_place depthwise_place_make(const depthwise_block *d, int64_t oh, int64_t rows) {
  const tn_window *w = d->w;
  const int64_t height = w->kernel[1], down = w->stride[1], top = oh * down - w->pad_lo[1];
  const int64_t inside = w->in[1] - top, both = tn_min_i64(rows > 1 ? down : height, inside);
  depthwise_place o = {.row = w->in[2] * TN_VF_LANES,
                       .taps = w->kernel[2] * TN_VF_LANES,
                       .out_row = rows > 1 ? w->out[2] * TN_VF_LANES : 0,
                       .first = tn_max_i64(0, -top),
                       .both = both,
                       .shared = tn_min_i64(height, inside),
                       .end = rows > 1 ? tn_min_i64(height + down, inside) : both};
  o.back = down * o.taps;
  o.x = d->x + (top + o.first) * o.row;
  o.k = d->k + o.first * o.taps;
  return o;
}

/* The edges of a tile whose first tap is in column `left`, at x, and whose right edge begins `last`
 * columns further. */
static inline __attribute__((always_inline)) void depthwise_edges(const tn_window *w,
                                                                  const float *x, int64_t row,
                                                                  int64_t left, int64_t last,
                                                                  depthwise_edge *edge) {
  for (int64_t e = 0; e < w->kernel[2] / 2; e++) {
    edge[e] = depthwise_edge_make(left + e >= 0, x + e * TN_VF_LANES, row);
    edge[DEPTHWISE_EDGE + e] =
        depthwise_edge_make(left + last + e < w->in[2], x + (last + e) * TN_VF_LANES, row);
  }
}

typedef void (*depthwise_fn)(const depthwise_block *d, const depthwise_place *o, int64_t ow,
                             float *y);

/* Pixels from column ow on; y is the first. */
#define DEPTHWISE(P, KW, S)                                                                      \
  static void depthwise_##P##_##KW##_##S(const depthwise_block *d, const depthwise_place *o,     \
                                         int64_t ow, float *y) {                                 \
    depthwise_edge edge[2 * DEPTHWISE_EDGE];                                                     \
    const int64_t left = ow * S - d->w->pad_lo[2], row = o->row, taps = o->taps, back = o->back, \
                  out_row = o->out_row;                                                          \
    const int64_t first = o->first;                                                              \
    const float *x = o->x + left * TN_VF_LANES, *k = o->k;                                       \
    depthwise_edges(d->w, x, row, left, (P - 1) * S + KW - KW / 2, edge);                        \
    tn_vf acc[P * DEPTHWISE_ROWS];                                                               \
    TN_UNROLL for (int p = 0; p < P * DEPTHWISE_ROWS; p++) acc[p] = d->bias;                     \
    int64_t i = first;                                                                           \
    for (; i < o->both; i++, x += row, k += taps) {                                              \
      DEPTHWISE_LINE(x, k, edge, acc, 0, P, KW, S)                                               \
    }                                                                                            \
    for (k -= back; i < o->shared; i++, x += row, k += taps) {                                   \
      DEPTHWISE_LINES(x, (k + back), k, edge, acc, P, KW, S)                                     \
    }                                                                                            \
    for (; i < o->end; i++, x += row, k += taps) {                                               \
      DEPTHWISE_LINE(x, k, edge, acc, 1, P, KW, S)                                               \
    }                                                                                            \
    DEPTHWISE_STORE(d, acc, DEPTHWISE_ROWS, P, y, out_row);                                      \
  }
#define DEPTHWISES(P) \
  DEPTHWISE(P, 3, 1)  \
  DEPTHWISE(P, 3, 2) DEPTHWISE(P, 5, 1) DEPTHWISE(P, 5, 2) DEPTHWISE(P, 7, 1)
DEPTHWISES(1)
DEPTHWISES(2)
DEPTHWISES(3)
DEPTHWISES(4)
#if TN_VF_REGISTERS == 32
DEPTHWISES(5)
DEPTHWISES(6)
DEPTHWISES(7)
#define DEPTHWISE_LIST(KW, S)                                                     \
  {                                                                               \
    NULL, depthwise_1_##KW##_##S, depthwise_2_##KW##_##S, depthwise_3_##KW##_##S, \
        depthwise_4_##KW##_##S, depthwise_5_##KW##_##S, depthwise_6_##KW##_##S,   \
        depthwise_7_##KW##_##S                                                    \
  }
#else
#define DEPTHWISE_LIST(KW, S)                                                     \
  {                                                                               \
    NULL, depthwise_1_##KW##_##S, depthwise_2_##KW##_##S, depthwise_3_##KW##_##S, \
        depthwise_4_##KW##_##S                                                    \
  }
#endif

/* By KW/2 - 1, S - 1, then by pixels. */
static const depthwise_fn depthwise_tiles[3][2][DEPTHWISE_PIXELS + 1] = {
    {DEPTHWISE_LIST(3, 1), DEPTHWISE_LIST(3, 2)},
    {DEPTHWISE_LIST(5, 1), DEPTHWISE_LIST(5, 2)},
    {DEPTHWISE_LIST(7, 1)}};

#undef DEPTHWISE
#undef DEPTHWISES
#undef DEPTHWISE_LINE
#undef DEPTHWISE_LINES
#undef DEPTHWISE_LIST

/* Are there tiles for this window? w: of 3 dims. */
static bool depthwise_is_tiled(const tn_window *w) {
  const int64_t kw = w->kernel[2], s = w->stride[2],
                right = (w->out[2] - 1) * s - w->pad_lo[2] + kw - w->in[2];
  return (kw == 3 || kw == 5 || kw == 7) && s <= (kw == 7 ? 1 : 2) &&
         w->stride[1] <= w->kernel[1] && w->dilation[1] == 1 && w->dilation[2] == 1 &&
         w->pad_lo[2] <= kw / 2 && right <= kw / 2;
}

/* n output rows, 1 or 2, from oh on, in tiles of about one size. */
static void depthwise_rows(const depthwise_block *d, int64_t oh, int64_t n, float *y) {
  const tn_window *w = d->w;
  const depthwise_fn *tiles = depthwise_tiles[w->kernel[2] / 2 - 1][w->stride[2] - 1];
  const depthwise_place place = depthwise_place_make(d, oh, n);
  int64_t ow = 0;
  const int64_t count = tn_ceil_div(w->out[2], DEPTHWISE_PIXELS),
                size = w->out[2] / tn_max_i64(1, count), larger = w->out[2] - count * size;
  for (int64_t k = 0; k < count; k++) {
    const int64_t pixels = size + (k < larger);
    tiles[pixels](d, &place, ow, y + ow * TN_VF_LANES);
    ow += pixels;
  }
}

#endif
