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

/* Of 16 registers 12 are accumulators. Four blocks by three pixels take a load less for each step
 * than two by six, and read pixels half as often. */
enum {
  TILE_PIXELS = TN_VF_LANES == 16 ? 14 : 6, /* of one block or two */
  TILE_BLOCKS = TN_VF_REGISTERS == 16 ? 4 : 2,
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

/* Pixels of a full tile of B blocks. */
#define TILE_FULL(B) ((B) < 3 ? (int)TILE_PIXELS : 12 / (B))

typedef void (*tile_fn)(tile_args *a, const float *x, const float *w, float *y);

typedef struct tile_set { /* the tiles of so many blocks */
  int64_t full;           /* pixels of the largest */
  tile_fn of[TILE_PIXELS + 1];
} tile_set;

/* Of two steps at a time more runs at once where multiply-adds are made in halves of 128 bits; of
 * two, clang moves accumulators between registers. */
#if TN_VF_REGISTERS == 16 && !defined(__clang__)
#define TILE_TWICE _Pragma("GCC unroll 2")
#else
#define TILE_TWICE
#endif

/* P, B and STEP are numbers, not parameters: only then do the accumulators stay in registers, and
 * only if no more than the fewer of pixels and weights are held beside them.
 * One channel of one tap; from: its place in pixel 0. */
#define TILE_STEP(P, B, STEP, from)                                                      \
  do {                                                                                   \
    tn_vf k[P < B ? P : B];                                                              \
    tn_prefetch_l2(next);                                                                \
    if (P < TILE_FULL(B)) tn_prefetch_l2(next + second);                                 \
    next += next_step;                                                                   \
    if (P < B) {                                                                         \
      TN_UNROLL for (int p = 0; p < P; p++) k[p] = tn_vf_set1((from)[p * STEP]);         \
      TN_UNROLL for (int b = 0; b < B; b++) {                                            \
        const tn_vf v = tn_vf_load(w + b * TN_VF_LANES);                                 \
        TN_UNROLL for (int p = 0; p < P; p++) acc[p][b] = tn_vf_fma(k[p], v, acc[p][b]); \
      }                                                                                  \
    } else {                                                                             \
      TN_UNROLL for (int b = 0; b < B; b++) k[b] = tn_vf_load(w + b * TN_VF_LANES);      \
      TN_UNROLL for (int p = 0; p < P; p++) {                                            \
        const tn_vf v = tn_vf_set1((from)[p * STEP]);                                    \
        TN_UNROLL for (int b = 0; b < B; b++) acc[p][b] = tn_vf_fma(v, k[b], acc[p][b]); \
      }                                                                                  \
    }                                                                                    \
    w += B * TN_VF_LANES;                                                                \
  } while (0)

#define TILE_SUM_LANES(P, B)                                                                  \
  for (int64_t i = 0; i < a->blocks; i++, x += a->x_block) {                                  \
    const int64_t channels = i + 1 < a->blocks ? a->channels : a->last_channels;              \
    if (a->fetches)                                                                           \
      TN_UNROLL for (int p = 0; p < P; p++) tn_prefetch_l1(x + a->x_block + p * TN_VF_LANES); \
    for (int64_t t = 0; t < a->taps; t++) {                                                   \
      const float *from = x + a->at[t];                                                       \
      TILE_TWICE for (int64_t c = 0; c < channels; c++, from++)                               \
          TILE_STEP(P, B, TN_VF_LANES, from);                                                 \
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
    const int64_t next_step = P < TILE_FULL(B) ? a->next_step : 2 * a->next_step,                \
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

#define TILES(P, B) TILE(P, B, LANES) TILE(P, B, PLANE1) TILE(P, B, PLANE2)
#define TILES_2(P) TILES(P, 1) TILES(P, 2)
TILES_2(1)
TILES_2(2)
TILES_2(3)
TILES_2(4)
TILES_2(5)
TILES_2(6)
#define TILE_6(B, STEP)                                                               \
  tile_1_##B##_##STEP, tile_2_##B##_##STEP, tile_3_##B##_##STEP, tile_4_##B##_##STEP, \
      tile_5_##B##_##STEP, tile_6_##B##_##STEP
#if TN_VF_REGISTERS == 32
TILES_2(7)
TILES_2(8)
TILES_2(9)
TILES_2(10)
TILES_2(11)
TILES_2(12)
TILES_2(13)
TILES_2(14)
#define TILE_ROW(B, STEP)                                                                         \
  {                                                                                               \
    TILE_FULL(B), {                                                                               \
      NULL, TILE_6(B, STEP), tile_7_##B##_##STEP, tile_8_##B##_##STEP, tile_9_##B##_##STEP,       \
          tile_10_##B##_##STEP, tile_11_##B##_##STEP, tile_12_##B##_##STEP, tile_13_##B##_##STEP, \
          tile_14_##B##_##STEP                                                                    \
    }                                                                                             \
  }
#define TILE_ROWS(STEP) \
  { TILE_ROW(1, STEP), TILE_ROW(2, STEP) }
#else
TILES(1, 3)
TILES(2, 3)
TILES(3, 3)
TILES(4, 3)
TILES(1, 4)
TILES(2, 4)
TILES(3, 4)
#define TILE_ROWS(STEP)                                                               \
  {                                                                                   \
    {TILE_FULL(1), {NULL, TILE_6(1, STEP)}}, {TILE_FULL(2), {NULL, TILE_6(2, STEP)}}, \
        {TILE_FULL(3),                                                                \
         {NULL, tile_1_3_##STEP, tile_2_3_##STEP, tile_3_3_##STEP, tile_4_3_##STEP}}, \
    {                                                                                 \
      TILE_FULL(4), { NULL, tile_1_4_##STEP, tile_2_4_##STEP, tile_3_4_##STEP }       \
    }                                                                                 \
  }
#endif

/* By blocks less one. */
static const tile_set tiles_wide[TILE_BLOCKS] = TILE_ROWS(LANES);
/* The same, by the distance of pixels less one. */
static const tile_set tiles_planes[TILE_COLS][TILE_BLOCKS] = {TILE_ROWS(PLANE1), TILE_ROWS(PLANE2)};

#undef TILE
#undef TILE_TWICE
#undef TILE_STEP
#undef TILE_SUM_LANES
#undef TILE_SUM_PLANE1
#undef TILE_SUM_PLANE2
#undef TILES
#undef TILES_2
#undef TILE_6
#undef TILE_ROW
#undef TILE_ROWS

#endif
