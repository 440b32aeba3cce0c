/* The tile of blocked convolutions: P neighbouring output pixels by B blocks of channels, kept in
 * registers over some blocks of input channels and all taps of the window.
 *
 *   for p < P, b < B, l < lanes:
 *     y[b*y_block + p*lanes + l] = (first ? bias[b*lanes + l] : the same y)
 *         + sum over blocks i, taps t, channels c of
 *             x[i*x_block + at[t] + p*step + c] * w(i, t, c)[b*lanes + l]
 *
 * w runs on from each (i, t, c) to the next. step is the distance of pixels in x: lanes; or 1, 2, 3
 * or 6, of planes and of pixels of few channels, with one block, and an `at` for each channel of
 * each tap. On the way the weights
 * that come next are brought into L2, a part by each tile. The last sums are finished (residual,
 * activation) before they are stored. */
#ifndef TN_OPS_CONV_BLOCKED_TILE_H
#define TN_OPS_CONV_BLOCKED_TILE_H

#include <stdbool.h>

#include "tenon/kit/epilogue_simd.h"

/* Of 16 registers 12 are accumulators. Four blocks by three pixels take a load less for each step
 * than two by six, and read pixels half as often. */
enum {
  TILE_PIXELS = TN_VF_REGISTERS == 32 ? 14 : 6, /* of two blocks */
  TILE_MOST = TN_VF_REGISTERS == 32 ? 14 : 12,  /* of one */
  TILE_BLOCKS = TN_VF_REGISTERS == 16 ? 4 : 2,
  NARROW = 4 /* channels of an input that is not blocked, as of a picture */
};

typedef struct tile_args {
  const int64_t *at; /* of each tap, floats from the first pixel */
  const float *bias;
  int64_t taps, blocks, last_channels; /* channels of the last of the blocks; lanes or fewer */
  int64_t x_block, y_block;            /* floats between blocks */
  /* Weights to come, and how many of their bytes are due; tiles move both on. For each (i, t, c)
   * next_step bytes more are due, and as many from `second` bytes behind, since memory answers two
   * streams sooner than one; full tiles have time for one only, and take twice as many from it.
   * A line is fetched once: to fetch what is there takes as long as to load it. */
  const char *next;
  int64_t due, next_step, second;
  bool fetches; /* pixels are brought into L1 a block ahead: lines of other cores come late */
  bool first;
  const tn_finish *finish; /* NULL: these are not the last sums */
  const float *out;        /* with finish: the first element of the output */
  tn_vf_mask live;         /* lanes of the last block that are channels */
  bool partial;            /* with finish: not all of them are */
} tile_args;

/* Pixels of a full tile of B blocks. */
#define TILE_FULL(B) (TN_VF_REGISTERS == 32 ? (int)TILE_PIXELS : 12 / (B))

/* n tiles that are neighbours, all by the same weights. */
typedef void (*tile_fn)(tile_args *a, const float *x, const float *w, float *y, int64_t n);

typedef struct tile_set { /* the tiles of so many blocks */
  int64_t full;           /* pixels of the largest */
  tile_fn of[TILE_MOST + 1];
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

/* What is due of the weights to come after so many steps more. */
#define TILE_FETCH(P, B, steps)                                    \
  for (due += (steps)*next_step; due > 0; due -= 64, next += 64) { \
    tn_prefetch_l2(next);                                          \
    if (P < TILE_FULL(B)) tn_prefetch_l2(next + second);           \
  }

/* CHANNELS is a number for all blocks but the last, which leaves little to do between them. */
#define TILE_BLOCK(P, B, CHANNELS)                                                         \
  do {                                                                                     \
    if (fetches)                                                                           \
      TN_UNROLL for (int p = 0; p < P; p++) tn_prefetch_l1(x + x_block + p * TN_VF_LANES); \
    for (int64_t t = 0; t < taps; t++) {                                                   \
      const float *from = x + at[t];                                                       \
      TILE_FETCH(P, B, CHANNELS)                                                           \
      TILE_TWICE for (int64_t c = 0; c < (CHANNELS); c++, from++)                          \
          TILE_STEP(P, B, TN_VF_LANES, from);                                              \
    }                                                                                      \
    x += x_block;                                                                          \
  } while (0)
#define TILE_SUM_LANES(P, B)                              \
  const int64_t *at = a->at;                              \
  const int64_t taps = a->taps, x_block = a->x_block;     \
  const bool fetches = a->fetches;                        \
  int64_t left = a->blocks;                               \
  for (; left > 1; left--) TILE_BLOCK(P, B, TN_VF_LANES); \
  if (left > 0) TILE_BLOCK(P, B, a->last_channels);
#define TILE_SUM_APART(P, B, STEP) \
  TILE_FETCH(P, B, a->taps)        \
  for (int64_t t = 0; t < a->taps; t++) TILE_STEP(P, B, STEP, x + a->at[t]);
#define TILE_SUM_APART1(P, B) TILE_SUM_APART(P, B, 1)
#define TILE_SUM_APART2(P, B) TILE_SUM_APART(P, B, 2)
#define TILE_SUM_APART3(P, B) TILE_SUM_APART(P, B, 3)
#define TILE_SUM_APART6(P, B) TILE_SUM_APART(P, B, 6)
#define TILE_NEXT_LANES TN_VF_LANES
#define TILE_NEXT_APART1 1
#define TILE_NEXT_APART2 2
#define TILE_NEXT_APART3 3
#define TILE_NEXT_APART6 6

#define TILE(P, B, STEP)                                                                         \
  static void tile_##P##_##B##_##STEP(tile_args *a, const float *first_x, const float *first_w,  \
                                      float *y, int64_t n) {                                     \
    const char *next = a->next;                                                                  \
    int64_t due = a->due;                                                                        \
    const int64_t next_step = P < TILE_FULL(B) ? a->next_step : 2 * a->next_step,                \
                  second = a->second, y_block = a->y_block;                                      \
    for (; n > 0; n--, first_x += P * TILE_NEXT_##STEP, y += P * TN_VF_LANES) {                  \
      const float *x = first_x, *w = first_w;                                                    \
      tn_vf acc[P][B];                                                                           \
      if (a->first) {                                                                            \
        TN_UNROLL for (int b = 0; b < B; b++) {                                                  \
          const tn_vf bias = tn_vf_load(a->bias + b * TN_VF_LANES);                              \
          TN_UNROLL for (int p = 0; p < P; p++) acc[p][b] = bias;                                \
        }                                                                                        \
      } else {                                                                                   \
        TN_UNROLL for (int p = 0; p < P; p++) TN_UNROLL for (int b = 0; b < B; b++) acc[p][b] =  \
            tn_vf_load(y + b * y_block + p * TN_VF_LANES);                                       \
      }                                                                                          \
      TILE_SUM_##STEP(P, B) if (a->finish) {                                                     \
        TN_FINISH_VECTORS(a->finish, y - a->out, y_block, acc[j % P][j / P], B, P);              \
        if (a->partial) {                                                                        \
          const tn_vf_mask live = a->live;                                                       \
          TN_UNROLL for (int p = 0; p < P; p++) acc[p][B - 1] = tn_vf_keep(live, acc[p][B - 1]); \
        }                                                                                        \
      }                                                                                          \
      TN_UNROLL for (int p = 0; p < P; p++) TN_UNROLL for (int b = 0; b < B; b++)                \
          tn_vf_store(y + b * y_block + p * TN_VF_LANES, acc[p][b]);                             \
    }                                                                                            \
    a->next = next;                                                                              \
    a->due = due;                                                                                \
  }

#define TILES(P, B) \
  TILE(P, B, LANES) TILE(P, B, APART1) TILE(P, B, APART2) TILE(P, B, APART3) TILE(P, B, APART6)
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
TILES(7, 1)
TILES(8, 1)
TILES(9, 1)
TILES(10, 1)
TILES(11, 1)
TILES(12, 1)
TILES(1, 3)
TILES(2, 3)
TILES(3, 3)
TILES(4, 3)
TILES(1, 4)
TILES(2, 4)
TILES(3, 4)
#define TILE_ROWS(STEP)                                                                           \
  {                                                                                               \
    {TILE_FULL(1),                                                                                \
     {NULL, TILE_6(1, STEP), tile_7_1_##STEP, tile_8_1_##STEP, tile_9_1_##STEP, tile_10_1_##STEP, \
      tile_11_1_##STEP, tile_12_1_##STEP}},                                                       \
        {TILE_FULL(2), {NULL, TILE_6(2, STEP)}},                                                  \
        {TILE_FULL(3),                                                                            \
         {NULL, tile_1_3_##STEP, tile_2_3_##STEP, tile_3_3_##STEP, tile_4_3_##STEP}},             \
    {                                                                                             \
      TILE_FULL(4), { NULL, tile_1_4_##STEP, tile_2_4_##STEP, tile_3_4_##STEP }                   \
    }                                                                                             \
  }
#endif

/* By blocks less one. */
static const tile_set tiles_wide[TILE_BLOCKS] = TILE_ROWS(LANES);

/* The same for pixels of which so many floats are those from one to the next; NULL: there are none.
 */
static const tile_set *tiles_apart(int64_t floats) {
  static const tile_set one[] = TILE_ROWS(APART1), two[] = TILE_ROWS(APART2),
                        three[] = TILE_ROWS(APART3), six[] = TILE_ROWS(APART6);
  return floats == 1 ? one : floats == 2 ? two : floats == 3 ? three : floats == 6 ? six : NULL;
}

#undef TILE
#undef TILE_TWICE
#undef TILE_STEP
#undef TILE_FETCH
#undef TILE_BLOCK
#undef TILE_SUM_LANES
#undef TILE_SUM_APART
#undef TILE_SUM_APART1
#undef TILE_SUM_APART2
#undef TILE_SUM_APART3
#undef TILE_SUM_APART6
#undef TILE_NEXT_LANES
#undef TILE_NEXT_APART1
#undef TILE_NEXT_APART2
#undef TILE_NEXT_APART3
#undef TILE_NEXT_APART6
#undef TILES
#undef TILES_2
#undef TILE_6
#undef TILE_ROW
#undef TILE_ROWS

#endif
