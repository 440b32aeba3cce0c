/* The tile of blocked convolutions: P neighbouring output pixels by B blocks of channels, kept in
 * registers over some blocks of input channels and all taps of the window.
 *
 *   for p < P, b < B, l < lanes:
 *     y[b*y_block + p*lanes + l] = (first ? bias[b*lanes + l] : the same y)
 *         + sum over blocks i, taps t, channels c of
 *             x[i*x_block + at[t] + p*step + c] * w(i, t, c)[b*lanes + l]
 *
 * w runs on from each (i, t, c) to the next. step is the distance of pixels in x: lanes; or, of
 * planes, 1 or 2, with one block, and an `at` for each channel of each tap. On the way the weights
 * that come next are brought into L2, a part by each tile. The last sums are finished (residual,
 * activation) before they are stored. */
#ifndef TN_OPS_CONV_BLOCKED_TILE_H
#define TN_OPS_CONV_BLOCKED_TILE_H

#include <stdbool.h>

#include "tenon/kit/epilogue_simd.h"

enum {
  TILE_PIXELS = TN_VF_LANES == 16 ? 14 : 6, /* times two blocks: 28 or 12 accumulators */
  TILE_BLOCKS = 2,
  TILE_COLS = 2, /* the largest distance of pixels in a plane */
  NARROW = 4     /* channels of an input that is not blocked, as of a picture */
};

typedef struct tile_args {
  const int64_t *at; /* of each tap, floats from the first pixel */
  const float *bias;
  int64_t taps, blocks, last_channels; /* channels of the last of the blocks; lanes or fewer */
  int64_t channels;                    /* of all others */
  int64_t x_block, y_block;            /* floats between blocks */
  /* Weights to come; tiles move it on. For each (i, t, c) next_step bytes of them are fetched, and
   * as many from `second` bytes behind, since memory answers two streams sooner than one; tiles of
   * TILE_PIXELS have time for one only, and take twice as many from it. */
  const char *next;
  int64_t next_step, second;
  bool fetches; /* pixels are brought into L1 a block ahead: lines of other cores come late */
  bool first;
  const tn_finish *finish; /* NULL: these are not the last sums */
  const float *out;        /* with finish: the first element of the output */
  tn_vf_mask live;         /* lanes of the last block that are channels */
  bool partial;            /* with finish: not all of them are */
} tile_args;

typedef void (*tile_fn)(tile_args *a, const float *x, const float *w, float *y);

/* P, B and STEP are numbers, not parameters: only then do the accumulators stay in registers.
 * One channel of one tap; from: its place in pixel 0. */
#define TILE_STEP(P, B, STEP, from)                                                    \
  do {                                                                                 \
    tn_vf k[B];                                                                        \
    tn_prefetch_l2(next);                                                              \
    if (P < TILE_PIXELS) tn_prefetch_l2(next + second);                                \
    next += next_step;                                                                 \
    TN_UNROLL for (int b = 0; b < B; b++) k[b] = tn_vf_load(w + b * TN_VF_LANES);      \
    w += B * TN_VF_LANES;                                                              \
    TN_UNROLL for (int p = 0; p < P; p++) {                                            \
      const tn_vf v = tn_vf_set1((from)[p * STEP]);                                    \
      TN_UNROLL for (int b = 0; b < B; b++) acc[p][b] = tn_vf_fma(v, k[b], acc[p][b]); \
    }                                                                                  \
  } while (0)

#define TILE_SUM_LANES(P, B)                                                                  \
  for (int64_t i = 0; i < a->blocks; i++, x += a->x_block) {                                  \
    const int64_t channels = i + 1 < a->blocks ? a->channels : a->last_channels;              \
    if (a->fetches)                                                                           \
      TN_UNROLL for (int p = 0; p < P; p++) tn_prefetch_l1(x + a->x_block + p * TN_VF_LANES); \
    for (int64_t t = 0; t < a->taps; t++) {                                                   \
      const float *from = x + a->at[t];                                                       \
      for (int64_t c = 0; c < channels; c++, from++) TILE_STEP(P, B, TN_VF_LANES, from);      \
    }                                                                                         \
  }
#define TILE_SUM_PLANE1(P, B) \
  for (int64_t t = 0; t < a->taps; t++) TILE_STEP(P, B, 1, x + a->at[t]);
#define TILE_SUM_PLANE2(P, B) \
  for (int64_t t = 0; t < a->taps; t++) TILE_STEP(P, B, 2, x + a->at[t]);

#define TILE(P, B, STEP)                                                                         \
  static void tile_##P##_##B##_##STEP(tile_args *a, const float *x, const float *w, float *y) {  \
    tn_vf acc[P][B];                                                                             \
    TN_UNROLL for (int p = 0; p < P; p++) TN_UNROLL for (int b = 0; b < B; b++) acc[p][b] =      \
        tn_vf_load(a->first ? a->bias + b * TN_VF_LANES : y + b * a->y_block + p * TN_VF_LANES); \
    const char *next = a->next;                                                                  \
    const int64_t next_step = P < TILE_PIXELS ? a->next_step : 2 * a->next_step,                 \
                  second = a->second, y_block = a->y_block;                                      \
    TILE_SUM_##STEP(P, B) a->next = next;                                                        \
    if (a->finish) {                                                                             \
      TN_FINISH_VECTORS(a->finish, y - a->out, y_block, acc[j % P][j / P], B, P);                \
      if (a->partial) {                                                                          \
        const tn_vf_mask live = a->live;                                                         \
        TN_UNROLL for (int p = 0; p < P; p++) acc[p][B - 1] = tn_vf_keep(live, acc[p][B - 1]);   \
      }                                                                                          \
    }                                                                                            \
    TN_UNROLL for (int p = 0; p < P; p++) TN_UNROLL for (int b = 0; b < B; b++)                  \
        tn_vf_store(y + b * y_block + p * TN_VF_LANES, acc[p][b]);                               \
  }

#define TILES(P)    \
  TILE(P, 1, LANES) \
  TILE(P, 2, LANES) \
  TILE(P, 1, PLANE1) TILE(P, 2, PLANE1) TILE(P, 1, PLANE2) TILE(P, 2, PLANE2)
TILES(1)
TILES(2)
TILES(3)
TILES(4)
TILES(5)
TILES(6)
#if TN_VF_REGISTERS == 32
TILES(7)
TILES(8)
TILES(9)
TILES(10)
TILES(11)
TILES(12)
TILES(13)
TILES(14)
#define TILE_ROW(B, STEP)                                                                      \
  {                                                                                            \
    NULL, tile_1_##B##_##STEP, tile_2_##B##_##STEP, tile_3_##B##_##STEP, tile_4_##B##_##STEP,  \
        tile_5_##B##_##STEP, tile_6_##B##_##STEP, tile_7_##B##_##STEP, tile_8_##B##_##STEP,    \
        tile_9_##B##_##STEP, tile_10_##B##_##STEP, tile_11_##B##_##STEP, tile_12_##B##_##STEP, \
        tile_13_##B##_##STEP, tile_14_##B##_##STEP                                             \
  }
#else
#define TILE_ROW(B, STEP)                                                                     \
  {                                                                                           \
    NULL, tile_1_##B##_##STEP, tile_2_##B##_##STEP, tile_3_##B##_##STEP, tile_4_##B##_##STEP, \
        tile_5_##B##_##STEP, tile_6_##B##_##STEP                                              \
  }
#endif

/* By blocks less one, then by pixels. */
static const tile_fn tiles_wide[TILE_BLOCKS][TILE_PIXELS + 1] = {TILE_ROW(1, LANES),
                                                                 TILE_ROW(2, LANES)};
/* The same, by the distance of pixels less one. */
static const tile_fn tiles_planes[TILE_COLS][TILE_BLOCKS][TILE_PIXELS + 1] = {
    {TILE_ROW(1, PLANE1), TILE_ROW(2, PLANE1)}, {TILE_ROW(1, PLANE2), TILE_ROW(2, PLANE2)}};

#undef TILE
#undef TILE_STEP
#undef TILE_SUM_LANES
#undef TILE_SUM_PLANE1
#undef TILE_SUM_PLANE2
#undef TILES
#undef TILE_ROW

#endif
