/* Attention of a block of rows, the queries, to the keys and values of one head, in f32, tile by
 * tile of keys: the softmax is corrected from tile to tile (Milakov and Gimelshein, "Online
 * normalizer calculation for softmax", 2018; Dao et al., "FlashAttention", 2022), so that scores
 * never leave the cache. The rows may belong to several heads that share keys and values.
 *
 * Keys and values are f32, f16 or bf16, where half floats are widened by the tile. Where many
 * blocks meet the same tiles, the tiles are packed before (flash_pack). Else each block packs them
 * for itself, and with up to FLASH_FEW rows nothing is packed. All is inline: a file that is
 * compiled for an instruction set gets code for that, and links nothing. */
#ifndef TN_KIT_FLASH_SIMD_H
#define TN_KIT_FLASH_SIMD_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tenon/kit/checked.h"
#include "tenon/kit/elementwise.h"
#include "tenon/kit/vmath.h"

#include "tenon/kit/isa.h"

#ifdef TN_SIMD_HEADER
#include "tenon/kit/gemm_simd.h"
#include "tenon/kit/simd_math.h"
#endif

enum {
  FLASH_LANES = TN_REGISTER_BYTES / 4,
  FLASH_MR = TN_REGISTERS / 4, /* half of the registers are accumulators */
  FLASH_ROWS = 32,
  FLASH_KEYS = 128,
  FLASH_FEW = 4, /* rows, of which tiles take a multiple */
  FLASH_NR = 2 * FLASH_LANES,
  FLASH_AHEAD = 8, /* rows that are fetched before their turn */
#ifdef TN_SIMD_HEADER
  FLASH_CHAINS = 2 /* of additions, one beside the other */
#else
  FLASH_CHAINS = 1
#endif
};

typedef float flash_lanes __attribute__((vector_size(4 * FLASH_LANES), aligned(4), may_alias));
typedef int32_t flash_truth __attribute__((vector_size(4 * FLASH_LANES)));

#if defined(__clang__)
#define FLASH_UNROLL _Pragma("unroll")
#else
#define FLASH_UNROLL _Pragma("GCC unroll 16")
#endif

/* ---- vectors ---- */

#ifdef TN_SIMD_HEADER
static inline flash_lanes flash_all(float x) { return tn_vr_set1(x); }
static inline flash_lanes flash_fma(flash_lanes a, flash_lanes b, flash_lanes c) {
  return tn_vr_fma(a, b, c);
}
static inline flash_lanes flash_max(flash_lanes a, flash_lanes b) { return tn_vr_max(a, b); }
static inline float flash_top_lane(flash_lanes v) { return tn_vr_top(v); }
static inline float flash_sum_lanes(flash_lanes v) { return tn_vr_sum(v); }
static inline void flash_sum_few(const flash_lanes v[4], float *out) {
  const tn_vr aligned[4] = {v[0], v[1], v[2], v[3]};
  tn_vr_sum_four(aligned, out);
}
#else
static inline flash_lanes flash_all(float x) { return (flash_lanes){x, x, x, x}; }
static inline flash_lanes flash_fma(flash_lanes a, flash_lanes b, flash_lanes c) {
  return a * b + c;
}
static inline flash_lanes flash_max(flash_lanes a, flash_lanes b) {
  const flash_truth takes = (flash_truth)(a > b);
  return (flash_lanes)((takes & (flash_truth)a) | (~takes & (flash_truth)b));
}
static inline float flash_top_lane(flash_lanes v) {
  float top = v[0];
  for (int l = 1; l < FLASH_LANES; l++) top = v[l] > top ? v[l] : top;
  return top;
}
static inline float flash_sum_lanes(flash_lanes v) {
  float sum = v[0];
  for (int l = 1; l < FLASH_LANES; l++) sum += v[l];
  return sum;
}
static inline void flash_sum_few(const flash_lanes v[4], float *out) {
  for (int i = 0; i < 4; i++) out[i] = flash_sum_lanes(v[i]);
}
#endif

static inline flash_lanes flash_load(const float *p) { return *(const flash_lanes *)p; }

/* ---- sizes ---- */

enum { FLASH_K, FLASH_V }; /* keys and values, in what has two of a kind */

typedef struct flash_shape {
  int64_t size[2], v_wide;            /* v_wide: size[FLASH_V] rounded up to panels */
  int64_t total, tiles;               /* keys; tiles of FLASH_KEYS of them */
  int64_t tile_floats, worker_floats; /* of a packed tile; of the room of a worker */
} flash_shape;

static inline tn_status flash_shape_of(int64_t k_size, int64_t v_size, int64_t total,
                                       flash_shape *out) {
  flash_shape s = TN_KIT_ZERO;
  int64_t wide; /* elements of a key and a value */
  s.size[FLASH_K] = k_size;
  s.size[FLASH_V] = v_size;
  s.total = total;
  s.tiles = tn_ceil_div(total, FLASH_KEYS);
  if (tn_add_i64(v_size, FLASH_NR - 1, &s.v_wide)) return TN_ERR_OVERFLOW;
  s.v_wide = s.v_wide / FLASH_NR * FLASH_NR;
  const int64_t keys = tn_min_i64(FLASH_KEYS, tn_ceil_div(total, FLASH_NR) * FLASH_NR);
  if (tn_add_i64(k_size, s.v_wide, &wide) || tn_mul_i64(wide, FLASH_KEYS, &s.tile_floats) ||
      tn_add_i64(s.tile_floats, FLASH_NR, &s.tile_floats) ||
      tn_mul_i64(wide, FLASH_ROWS + 2 * FLASH_KEYS, &s.worker_floats))
    return TN_ERR_OVERFLOW;
  /* q, sums, scores; keys packed; keys and values widened */
  s.worker_floats = wide * FLASH_ROWS + FLASH_ROWS * FLASH_KEYS + keys * (k_size + wide);
  *out = s;
  return TN_OK;
}

/* ---- keys and values ---- */

/* Rows that lie `step` elements apart. */
typedef struct flash_part {
  const void *rows[2];
  int64_t step[2], n;
} flash_part;

/* The keys are those of the past, then the fresh ones. */
typedef struct flash_head {
  flash_part past, fresh;
  void *present
      [2]; /* flash_attend copies the rows of the past there, next to each other; NULL: not */
  uint32_t dtype[2];
} flash_head;

static inline int64_t flash_bytes(uint32_t dtype) { return dtype == TN_F32 ? 4 : 2; }

/* Rows [begin, end) of a tile, `step` elements apart. */
typedef struct flash_run {
  const void *rows;
  int64_t step, begin, end;
  uint32_t dtype, reserved;
} flash_run;

static inline const void *flash_run_row(const flash_run *run, int64_t j) {
  return (const char *)run->rows + (j - run->begin) * run->step * flash_bytes(run->dtype);
}

static inline const void *flash_row(const flash_head *h, int which, int64_t j) {
  const flash_part *p = j < h->past.n ? &h->past : &h->fresh;
  const int64_t r = j < h->past.n ? j : j - h->past.n;
  return (const char *)p->rows[which] + r * p->step[which] * flash_bytes(h->dtype[which]);
}

/* Brings a row into the cache: those of one head lie far apart, so that the machine does not see
 * what comes next. */
static inline void flash_fetch(const void *row, int64_t bytes) {
  for (int64_t k = 0; k < bytes; k += 64) __builtin_prefetch((const char *)row + k);
}

/* Keys or values [first, first + n), n > 0, in at most two runs, as f32; room: [n][wide] for half
 * floats, NULL: they are left as they are. The number of runs. */
static inline int flash_runs(const flash_head *h, const flash_shape *s, int which, int64_t first,
                             int64_t n, float *room, int64_t wide, flash_run runs[2]) {
  const int64_t size = s->size[which], old = tn_max_i64(0, tn_min_i64(h->past.n - first, n));
  if (h->dtype[which] != TN_F32 && room) {
    for (int64_t r = 0; r < n; r++) {
      if (r + FLASH_AHEAD < n) flash_fetch(flash_row(h, which, first + r + FLASH_AHEAD), 2 * size);
      tn_widen_half(h->dtype[which], (const uint16_t *)flash_row(h, which, first + r),
                    room + r * wide, size);
    }
    runs[0] = (flash_run){room, wide, 0, n, TN_F32, 0};
    return 1;
  }
  int count = 0;
  for (int part = 0; part < 2; part++) {
    const flash_part *p = part ? &h->fresh : &h->past;
    const int64_t begin = part ? old : 0, end = part ? n : old;
    if (begin == end) continue;
    runs[count++] = (flash_run){
        flash_row(h, which, first + begin), p->step[which], begin, end, h->dtype[which], 0};
  }
  return count;
}

/* Keys [0, n) of a tile to panels [key / NR][c][NR], zero beyond the last one. */
static inline void flash_pack_keys(const flash_run *runs, int n_runs, int64_t n, int64_t size,
                                   float *to) {
  for (int64_t j = 0; j < n; j += FLASH_NR, to += FLASH_NR * size) {
    const int64_t rows = tn_min_i64(FLASH_NR, n - j);
    const flash_run *run = &runs[n_runs > 1 && j >= runs[0].end];
#ifdef TN_SIMD_HEADER
    if (j + rows <= run->end) {
      tn_pack_rows((const float *)flash_run_row(run, j), run->step, rows, size, FLASH_NR, to);
      continue;
    }
#endif
    if (rows < FLASH_NR) memset(to, 0, (size_t)(FLASH_NR * size) * sizeof *to);
    for (int64_t r = 0; r < rows; r++) {
      run = &runs[n_runs > 1 && j + r >= runs[0].end];
      const float *k = (const float *)flash_run_row(run, j + r);
      for (int64_t c = 0; c < size; c++) to[c * FLASH_NR + r] = k[c];
    }
  }
}

/* Of the bits of n values: infinite, or NaN? */
static inline bool flash_odd(const float *v, int64_t n) {
  uint32_t largest = 0;
  for (int64_t c = 0; c < n; c++) {
    const uint32_t bits = tn_bits_of_f32(v[c]) & 0x7fffffffu;
    largest = bits > largest ? bits : largest;
  }
  return largest >= 0x7f800000u;
}

/* 1 if a value of a packed tile is infinite or NaN, else 0. */
static inline float *flash_mark(const flash_shape *s, float *tile) {
  return tile + s->tile_floats - FLASH_NR;
}

/* Packs a tile of a head: the keys, then the values in panels [c / NR][key][NR], then the mark.
 * room: worker_floats. */
static inline void flash_pack(const flash_head *h, const flash_shape *s, int64_t tile, float *room,
                              float *to) {
  const int64_t first = tile * FLASH_KEYS, n = tn_min_i64(FLASH_KEYS, s->total - first),
                v_size = s->size[FLASH_V];
  float *values = to + FLASH_KEYS * s->size[FLASH_K];
  flash_run runs[2];
  bool odd = false;
  int n_runs = flash_runs(h, s, FLASH_K, first, n, room, s->size[FLASH_K], runs);
  flash_pack_keys(runs, n_runs, n, s->size[FLASH_K], to);
  n_runs = flash_runs(h, s, FLASH_V, first, n, room, v_size, runs);
  for (int k = 0; k < n_runs; k++) {
    for (int64_t j = runs[k].begin; j < runs[k].end; j++) {
      const float *v = (const float *)flash_run_row(&runs[k], j);
      if (j + FLASH_AHEAD < runs[k].end)
        flash_fetch(v + FLASH_AHEAD * runs[k].step, v_size * (int64_t)sizeof *v);
      int64_t full = 0; /* of a size that the compiler knows */
      for (; full + FLASH_NR <= v_size; full += FLASH_NR)
        memcpy(values + full * FLASH_KEYS + j * FLASH_NR, v + full, FLASH_NR * sizeof *v);
      if (full < v_size) {
        float *last = values + full * FLASH_KEYS + j * FLASH_NR;
        memcpy(last, v + full, (size_t)(v_size - full) * sizeof *v);
        memset(last + v_size - full, 0, (size_t)(s->v_wide - v_size) * sizeof *v);
      }
      odd |= flash_odd(v, v_size);
    }
  }
  *flash_mark(s, to) = odd;
}

/* ---- products ---- */

/* C (+)= A B for `rows` rows, a constant, and NR columns; row k of B is at b + k * ldb. */
static inline __attribute__((always_inline)) void flash_tile(const int rows, const float *a,
                                                             int64_t lda, const float *b,
                                                             int64_t ldb, float *c, int64_t ldc,
                                                             int64_t n, bool add) {
  flash_lanes acc[FLASH_MR][2];
  FLASH_UNROLL for (int r = 0; r < rows; r++) FLASH_UNROLL for (int h = 0; h < 2; h++) acc[r][h] =
      add ? flash_load(c + r * ldc + h * FLASH_LANES) : flash_all(0);
  for (int64_t k = 0; k < n; k++, b += ldb) {
    const flash_lanes b0 = flash_load(b), b1 = flash_load(b + FLASH_LANES);
    FLASH_UNROLL for (int r = 0; r < rows; r++) {
      const flash_lanes x = flash_all(a[r * lda + k]);
      acc[r][0] = flash_fma(x, b0, acc[r][0]);
      acc[r][1] = flash_fma(x, b1, acc[r][1]);
    }
  }
  FLASH_UNROLL for (int r = 0; r < rows; r++) FLASH_UNROLL for (int h = 0; h < 2; h++) *
      (flash_lanes *)(c + r * ldc + h * FLASH_LANES) = acc[r][h];
}

/* rows is a multiple of FLASH_FEW, columns of NR; the panels of B are b_panel apart. */
static inline void flash_product(const float *a, int64_t lda, const float *b, int64_t b_panel,
                                 int64_t ldb, float *c, int64_t ldc, int64_t columns, int64_t rows,
                                 int64_t n, bool add) {
  for (int64_t j = 0; j < columns; j += FLASH_NR, b += b_panel) {
    int64_t i = 0;
    for (; i + FLASH_MR <= rows; i += FLASH_MR)
      flash_tile(FLASH_MR, a + i * lda, lda, b, ldb, c + i * ldc + j, ldc, n, add);
    if (i < rows) flash_tile(FLASH_FEW, a + i * lda, lda, b, ldb, c + i * ldc + j, ldc, n, add);
  }
}

/* ---- keys and values that are read once, as they lie ---- */

/* With f32 in registers of the width of this interface, half floats become f32 when they are
 * loaded. dtype is a constant wherever functions of this part are called. */
#if defined(TN_VF_LANES) && 4 * TN_VF_LANES == TN_REGISTER_BYTES
#define FLASH_READS_HALF
static inline __attribute__((always_inline)) flash_lanes flash_load_as(uint32_t dtype,
                                                                       const void *row, int64_t c) {
  const uint16_t *half = (const uint16_t *)row + c;
  if (dtype == TN_F32) return flash_load((const float *)row + c);
  return (flash_lanes)(dtype == TN_F16 ? tn_vf_load_f16(half) : tn_vf_load_bf16(half));
}
#else
static inline flash_lanes flash_load_as(uint32_t dtype, const void *row, int64_t c) {
  (void)dtype;
  return flash_load((const float *)row + c);
}
#endif

/* Elements [c, n) of a row, fewer than FLASH_LANES, as f32. */
static inline __attribute__((always_inline)) const float *flash_rest(uint32_t dtype,
                                                                     const void *row, int64_t c,
                                                                     int64_t n, float *room) {
  if (dtype == TN_F32) return (const float *)row + c;
  tn_widen_half(dtype, (const uint16_t *)row + c, room, n - c);
  return room;
}

/* The last FLASH_LANES elements of a row of n; those before c, which are known, are 0. */
static inline __attribute__((always_inline)) flash_lanes flash_last(uint32_t dtype, const void *row,
                                                                    int64_t c, int64_t n) {
  static const int32_t counts[32] = {0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
                                     0,  0,  0,  0,  0,  -1, -1, -1, -1, -1, -1,
                                     -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  flash_truth which;
  memcpy(&which, counts + 16 - FLASH_LANES + n - c, sizeof which);
  return (flash_lanes)(which & (flash_truth)flash_load_as(dtype, row, n - FLASH_LANES));
}

/* out[i] = a . row i, of n elements, for FLASH_FEW rows `step` bytes apart. */
static inline __attribute__((always_inline)) void flash_dots(uint32_t dtype, const float *a,
                                                             const char *row, int64_t step,
                                                             int64_t n, float *out) {
  flash_lanes acc[FLASH_FEW];
  float rest[FLASH_LANES];
  int64_t c = 0;
  FLASH_UNROLL for (int i = 0; i < FLASH_FEW; i++) acc[i] = flash_all(0);
  for (; c + FLASH_LANES <= n; c += FLASH_LANES) {
    const flash_lanes x = flash_load(a + c);
    FLASH_UNROLL for (int i = 0; i < FLASH_FEW; i++) acc[i] =
        flash_fma(x, flash_load_as(dtype, row + i * step, c), acc[i]);
  }
  if (FLASH_CHAINS > 1 && c && c < n) {
    const flash_lanes x = flash_load(a + n - FLASH_LANES);
    FLASH_UNROLL for (int i = 0; i < FLASH_FEW; i++) acc[i] =
        flash_fma(x, flash_last(dtype, row + i * step, c, n), acc[i]);
    c = n;
  }
  flash_sum_few(acc, out);
  for (int i = 0; i < FLASH_FEW && c < n; i++) {
    const float *more = flash_rest(dtype, row + i * step, c, n, rest);
    float sum = 0;
    for (int64_t k = c; k < n; k++) sum += a[k] * more[k - c];
    out[i] += sum;
  }
}

static inline __attribute__((always_inline)) float flash_dot(uint32_t dtype, const float *a,
                                                             const void *row, int64_t n) {
  flash_lanes acc = flash_all(0);
  float sum = 0, rest[FLASH_LANES];
  int64_t c = 0;
  for (; c + FLASH_LANES <= n; c += FLASH_LANES)
    acc = flash_fma(flash_load(a + c), flash_load_as(dtype, row, c), acc);
  const float *more = flash_rest(dtype, row, c, n, rest);
  for (int64_t k = c; k < n; k++) sum += a[k] * more[k - c];
  return sum + flash_sum_lanes(acc);
}

/* acc += w * row [c ..) of `wide` vectors, but for a weight of 0: 0 times infinity is no number. */
static inline __attribute__((always_inline)) void flash_add_one(uint32_t dtype, const int wide,
                                                                const void *row, int64_t c, float w,
                                                                flash_lanes *acc) {
  if (w == 0) return;
  FLASH_UNROLL for (int i = 0; i < wide; i++) acc[i] =
      flash_fma(flash_all(w), flash_load_as(dtype, row, c + i * FLASH_LANES), acc[i]);
}

/* `wide` vectors, a constant up to 4, of flash_add_as, from element c on: to = from + ... . Of two
 * keys each has sums of its own, for one waits for its last addition; but for any machine all are
 * summed in order, as emit-c does. */
static inline __attribute__((always_inline)) void flash_add_columns(uint32_t dtype, const int wide,
                                                                    const flash_run *run,
                                                                    const float *w, int64_t c,
                                                                    const float *from, float *to) {
  const int64_t step = run->step * flash_bytes(dtype);
  const char *row = (const char *)run->rows;
  flash_lanes acc[2][4], *even = acc[0], *odd = acc[FLASH_CHAINS - 1];
  int64_t k = run->begin;
  FLASH_UNROLL for (int i = 0; i < wide; i++) acc[1][i] = flash_all(0);
  FLASH_UNROLL for (int i = 0; i < wide; i++) even[i] = flash_load(from + i * FLASH_LANES);
  for (; k + 2 <= run->end; k += 2, row += 2 * step) {
    flash_add_one(dtype, wide, row, c, w[k], even);
    flash_add_one(dtype, wide, row + step, c, w[k + 1], odd);
  }
  if (k < run->end) flash_add_one(dtype, wide, row, c, w[k], even);
  FLASH_UNROLL for (int i = 0; i < wide; i++) {
    if (FLASH_CHAINS > 1) even[i] += odd[i];
    *(flash_lanes *)(to + i * FLASH_LANES) = even[i];
  }
}

/* sums[c] += w[k] * row k of the run [c], for its keys whose weight is not 0. */
static inline __attribute__((always_inline)) void flash_add_as(uint32_t dtype, const flash_run *run,
                                                               const float *w, int64_t n,
                                                               float *sums) {
  const int64_t step = run->step * flash_bytes(dtype);
  float rest[FLASH_LANES];
  /* Elements behind the last whole vector: in one that ends with them, whose others are summed
   * twice. So it reads the sums before they change. */
  const bool overlaps = FLASH_CHAINS > 1 && n > FLASH_LANES && n % FLASH_LANES;
  const int64_t last = n - FLASH_LANES;
  int64_t c = 0;
  if (overlaps) flash_add_columns(dtype, 1, run, w, last, sums + last, rest);
  for (; c + 4 * FLASH_LANES <= n; c += 4 * FLASH_LANES)
    flash_add_columns(dtype, 4, run, w, c, sums + c, sums + c);
  for (; c + FLASH_LANES <= n; c += FLASH_LANES)
    flash_add_columns(dtype, 1, run, w, c, sums + c, sums + c);
  if (overlaps) {
    memcpy(sums + last, rest, sizeof rest);
    return;
  }
  const char *row = (const char *)run->rows;
  for (int64_t k = run->begin; k < run->end && c < n; k++, row += step) {
    if (w[k] == 0) continue;
    const float *more = flash_rest(dtype, row, c, n, rest);
    for (int64_t e = c; e < n; e++) sums[e] += w[k] * more[e - c];
  }
}

static inline void flash_add_run(const flash_run *run, const float *w, int64_t n, float *sums) {
  if (run->dtype == TN_F32) flash_add_as(TN_F32, run, w, n, sums);
#ifdef FLASH_READS_HALF
  if (run->dtype == TN_F16) flash_add_as(TN_F16, run, w, n, sums);
  if (run->dtype == TN_BF16) flash_add_as(TN_BF16, run, w, n, sums);
#endif
}

/* ---- a block of rows ---- */

typedef struct flash_block {
  const flash_shape *s;
  const flash_head *h;
  float *packed; /* the tiles of the head, by flash_pack; NULL: they are not packed */
  float softcap; /* 0: none */

  /* Of each row. Its query, times the scale, is at q + row * size[FLASH_K]. */
  int64_t n, begin[FLASH_ROWS], end[FLASH_ROWS]; /* the keys that it may attend to */
  const void *mask[FLASH_ROWS];                  /* an element for each key */
  uint32_t mask_dtype;                           /* TN_NONE: there is no mask */
  float top[FLASH_ROWS], total[FLASH_ROWS];      /* largest score, sum of weights so far */

  float *q, *sums, *scores, *keys, *wide[2]; /* sums: [ROWS][v_wide]; scores: [ROWS][KEYS] */
  int64_t padded, panels;                    /* rows; keys of the tile, both rounded up */
  bool summed, zeros; /* sums has been written; some weight of the tile is 0 */
} flash_block;

/* A block of n rows, at most FLASH_ROWS, that have no key and no mask; the caller puts in queries
 * and what else there is. room: worker_floats. */
static inline void flash_open(flash_block *b, const flash_shape *s, const flash_head *h, int64_t n,
                              float *room) {
  const int64_t keys = tn_min_i64(FLASH_KEYS, tn_ceil_div(s->total, FLASH_NR) * FLASH_NR);
  const flash_block none = TN_KIT_ZERO;
  *b = none;
  b->s = s;
  b->h = h;
  b->n = n;
  b->mask_dtype = TN_NONE;
  b->q = room;
  b->padded = tn_ceil_div(n, FLASH_FEW) * FLASH_FEW;
  b->sums = b->q + FLASH_ROWS * s->size[FLASH_K];
  b->scores = b->sums + FLASH_ROWS * s->v_wide;
  b->keys = b->scores + FLASH_ROWS * FLASH_KEYS;
  b->wide[FLASH_K] = b->keys + keys * s->size[FLASH_K];
  b->wide[FLASH_V] = b->wide[FLASH_K] + keys * s->size[FLASH_K];
  memset(b->q + n * s->size[FLASH_K], 0,
         (size_t)((b->padded - n) * s->size[FLASH_K]) * sizeof *b->q);
  for (int64_t r = 0; r < n; r++) b->top[r] = -INFINITY;
}

static inline void flash_mask(const void *mask, uint32_t dtype, int64_t j, int64_t n, float *s) {
  float wide[FLASH_KEYS];
  if (dtype == TN_BOOL) {
    const uint8_t *allowed = (const uint8_t *)mask + j;
    for (int64_t k = 0; k < n; k++) s[k] = allowed[k] ? s[k] : -INFINITY;
  } else {
    const float *more = tn_load_block_f32(dtype, mask, j, n, wide);
    for (int64_t k = 0; k < n; k++) s[k] = more[k] == -INFINITY ? -INFINITY : s[k] + more[k];
  }
}

/* The largest of top and n scores. NaN does not count, for its e^x makes the row NaN anyway, unless
 * there is nothing else but -inf. */
static inline float flash_top(const float *s, int64_t n, float top) {
  flash_lanes most = flash_all(top);
  for (int64_t k = 0; k < n; k += FLASH_LANES) most = flash_max(flash_load(s + k), most);
  top = flash_top_lane(most);
  for (int64_t k = 0; top == -INFINITY && k < n; k++) top = s[k] != s[k] ? s[k] : top;
  return top;
}

/* s = e^(s - top): the sum of n. What would be subnormal becomes 0: such numbers cost hundreds of
 * cycles, and a weight of 1e-38 counts for nothing. */
static inline float flash_exp(float *s, int64_t n, float top) {
  flash_lanes sums = flash_all(0);
#if defined(TN_VF_LANES) && 4 * TN_VF_LANES == TN_REGISTER_BYTES
  for (int64_t k = 0; k < n; k += FLASH_LANES) {
    const tn_vf e = tn_vf_exp_weight(tn_vf_sub(tn_vf_load(s + k), tn_vf_set1(top)));
    tn_vf_store(s + k, e);
    sums += (flash_lanes)e;
  }
#else
  TN_IVDEP for (int64_t k = 0; k < n; k++) {
    const float x = s[k] - top;
    const tn_exp_parts e = tn_exp_split(x < -87.0f ? -87.0f : x);
    const float y = (e.p * e.s + e.s) * e.t;
    s[k] = x < -87.0f ? 0.0f : y;
  }
  for (int64_t k = 0; k < n; k += FLASH_LANES) sums += flash_load(s + k);
#endif
  return flash_sum_lanes(sums);
}

static inline bool flash_has_zero(const float *s, int64_t n) {
  int32_t has = 0;
  for (int64_t k = 0; k < n; k++) has |= s[k] == 0;
  return has != 0;
}

/* Scores of one row and the n keys from j on become weights; the sums so far are brought to the
 * same scale. */
static inline void flash_weights(flash_block *b, int64_t row, int64_t j, int64_t n) {
  float *s = b->scores + row * FLASH_KEYS;
  const int64_t begin = tn_min_i64(tn_max_i64(b->begin[row] - j, 0), n),
                end = tn_max_i64(begin, tn_min_i64(b->end[row] - j, n));
  const float cap = b->softcap; /* of its own, that stores to s don't change it: for vectors */
  if (cap > 0) {
    TN_IVDEP for (int64_t k = begin; k < end; k++) s[k] = cap * tn_tanh_f32(s[k] / cap);
  }
  if (b->mask_dtype != TN_NONE)
    flash_mask(b->mask[row], b->mask_dtype, j + begin, end - begin, s + begin);
  for (int64_t k = 0; k < begin; k++) s[k] = -INFINITY;
  for (int64_t k = end; k < b->panels; k++) s[k] = -INFINITY;
  const float top = flash_top(s, b->panels, b->top[row]);
  if (top == -INFINITY) {
    memset(s, 0, (size_t)b->panels * sizeof *s);
    b->zeros = true;
    return;
  }
  const float sum = flash_exp(s, b->panels, top);
  b->zeros = b->zeros || b->packed || flash_has_zero(s, n); /* packed tiles have marks */
  if (b->top[row] == -INFINITY) {                           /* there are no sums yet */
    b->total[row] = sum;
  } else {
    const float back = tn_exp_f32(b->top[row] - top);
    if (back != 1 && b->summed)
      for (int64_t c = 0; c < b->s->v_wide; c++) b->sums[row * b->s->v_wide + c] *= back;
    b->total[row] = b->total[row] * back + sum;
  }
  b->top[row] = top;
}

static inline void flash_clear_sums(flash_block *b) {
  if (!b->summed) memset(b->sums, 0, (size_t)(b->padded * b->s->v_wide) * sizeof *b->sums);
  b->summed = true;
}

static inline void flash_add_values(flash_block *b, const flash_run *runs, int n_runs) {
  flash_clear_sums(b);
  for (int64_t r = 0; r < b->n; r++)
    for (int k = 0; k < n_runs; k++)
      flash_add_run(&runs[k], b->scores + r * FLASH_KEYS, b->s->size[FLASH_V],
                    b->sums + r * b->s->v_wide);
}

/* Scores of the keys of a run. */
static inline __attribute__((always_inline)) void flash_score_as(uint32_t dtype, flash_block *b,
                                                                 const flash_run *run) {
  const int64_t size = b->s->size[FLASH_K], step = run->step * flash_bytes(dtype);
  const char *key = (const char *)run->rows;
  int64_t k = run->begin;
  for (; k + FLASH_FEW <= run->end; k += FLASH_FEW, key += FLASH_FEW * step) {
    for (int64_t i = FLASH_AHEAD; i < FLASH_AHEAD + FLASH_FEW && k + i < run->end; i++)
      flash_fetch(key + i * step, size * flash_bytes(dtype));
    for (int64_t r = 0; r < b->n; r++)
      flash_dots(dtype, b->q + r * size, key, step, size, b->scores + r * FLASH_KEYS + k);
  }
  for (; k < run->end; k++, key += step)
    for (int64_t r = 0; r < b->n; r++)
      b->scores[r * FLASH_KEYS + k] = flash_dot(dtype, b->q + r * size, key, size);
}

static inline void flash_score_run(flash_block *b, const flash_run *run) {
  if (run->dtype == TN_F32) flash_score_as(TN_F32, b, run);
#ifdef FLASH_READS_HALF
  if (run->dtype == TN_F16) flash_score_as(TN_F16, b, run);
  if (run->dtype == TN_BF16) flash_score_as(TN_BF16, b, run);
#endif
}

/* Where half floats of this type become f32 before they are read; NULL: they are read as they
 * are. */
static inline float *flash_room(const flash_block *b, int which) {
#ifdef FLASH_READS_HALF
  const uint32_t dtype = b->h->dtype[which];
  if (dtype == TN_F16 || dtype == TN_BF16) return NULL;
#endif
  return b->wide[which];
}

/* The keys one by one. */
static inline void flash_stream(flash_block *b, int64_t first, int64_t n) {
  const flash_shape *s = b->s;
  flash_run runs[2];
  int n_runs =
      flash_runs(b->h, s, FLASH_K, first, n, flash_room(b, FLASH_K), s->size[FLASH_K], runs);
  for (int k = 0; k < n_runs; k++) flash_score_run(b, &runs[k]);
  for (int64_t r = 0; r < b->n; r++) flash_weights(b, r, first, n);
  n_runs = flash_runs(b->h, s, FLASH_V, first, n, flash_room(b, FLASH_V), s->v_wide, runs);
  flash_add_values(b, runs, n_runs);
}

/* Only the panels that hold keys are multiplied; scores of the others are not looked at. */
static inline void flash_scores(flash_block *b, const float *keys, int64_t first, int64_t n) {
  const int64_t size = b->s->size[FLASH_K];
  flash_product(b->q, size, keys, FLASH_NR * size, FLASH_NR, b->scores, FLASH_KEYS, b->panels,
                b->padded, size, false);
  for (int64_t r = 0; r < b->n; r++) flash_weights(b, r, first, n);
}

static inline void flash_values(flash_block *b, const float *values, int64_t v_panel,
                                int64_t v_step, int64_t n) {
  const int64_t wide = b->s->v_wide;
  flash_product(b->scores, FLASH_KEYS, values, v_panel, v_step, b->sums, wide, wide, b->padded, n,
                b->summed);
  b->summed = true;
}

/* The product takes every key, those of weight 0, too: where a value is infinite or NaN, the keys
 * are taken one by one, without those. */
static inline void flash_packed_tile(flash_block *b, int64_t tile, int64_t first, int64_t n) {
  float *keys = b->packed + tile * b->s->tile_floats;
  if (*flash_mark(b->s, keys) != 0) {
    flash_stream(b, first, n);
    return;
  }
  flash_scores(b, keys, first, n);
  flash_values(b, keys + FLASH_KEYS * b->s->size[FLASH_K], FLASH_KEYS * FLASH_NR, FLASH_NR, n);
}

/* The keys are packed for this block, values taken where they lie if their rows are whole
 * panels. */
static inline void flash_own_tile(flash_block *b, int64_t first, int64_t n) {
  const flash_shape *s = b->s;
  const int64_t v_size = s->size[FLASH_V];
  flash_run runs[2];
  bool odd = false;
  int n_runs = flash_runs(b->h, s, FLASH_K, first, n, b->wide[FLASH_K], s->size[FLASH_K], runs);
  flash_pack_keys(runs, n_runs, n, s->size[FLASH_K], b->keys);
  flash_scores(b, b->keys, first, n);
  n_runs = flash_runs(b->h, s, FLASH_V, first, n, b->wide[FLASH_V], s->v_wide, runs);
  for (int k = 0; k < n_runs && b->zeros; k++)
    for (int64_t j = runs[k].begin; j < runs[k].end; j++)
      odd |= flash_odd((const float *)flash_run_row(&runs[k], j), v_size);
  if (odd) {
    flash_add_values(b, runs, n_runs);
    return;
  }
  if (v_size == s->v_wide) {
    for (int k = 0; k < n_runs; k++) {
      const flash_run *run = &runs[k];
      const int64_t begin = run->begin;
      flash_product(b->scores + begin, FLASH_KEYS, (const float *)run->rows, FLASH_NR, run->step,
                    b->sums, s->v_wide, s->v_wide, b->padded, run->end - begin, b->summed);
      b->summed = true;
    }
    return;
  }
  float *values = b->wide[FLASH_V];
  for (int k = 0; k < n_runs; k++)
    for (int64_t j = runs[k].begin; j < runs[k].end; j++) {
      if (b->h->dtype[FLASH_V] == TN_F32) /* else they are there */
        memcpy(values + j * s->v_wide, flash_run_row(&runs[k], j), (size_t)v_size * sizeof *values);
      memset(values + j * s->v_wide + v_size, 0, (size_t)(s->v_wide - v_size) * sizeof *values);
    }
  flash_values(b, values, FLASH_NR, s->v_wide, n);
}

/* Rows [first, first + n) of the past, to where they are wanted. */
static inline void flash_keep(const flash_head *h, const flash_shape *s, int64_t first, int64_t n) {
  for (int which = 0; which < 2; which++) {
    const int64_t bytes = s->size[which] * flash_bytes(h->dtype[which]);
    char *to = (char *)h->present[which];
    if (!to || bytes == 0) continue;
    if (h->past.step[which] == s->size[which]) {
      memcpy(to + first * bytes, flash_row(h, which, first), (size_t)(n * bytes));
      continue;
    }
    for (int64_t j = first; j < first + n; j++)
      memcpy(to + j * bytes, flash_row(h, which, j), (size_t)bytes);
  }
}

/* Attends to all keys, tile by tile; those that no row may see are left out. */
static inline void flash_attend(flash_block *b) {
  const flash_shape *s = b->s;
  int64_t begin = s->total, end = 0;
  for (int64_t r = 0; r < b->n; r++)
    if (b->begin[r] < b->end[r]) {
      begin = tn_min_i64(begin, b->begin[r]);
      end = tn_max_i64(end, b->end[r]);
    }
  const bool keeps = b->h->present[FLASH_K] || b->h->present[FLASH_V];
  for (int64_t tile = keeps ? 0 : begin / FLASH_KEYS; tile < s->tiles; tile++) {
    const int64_t first = tile * FLASH_KEYS, n = tn_min_i64(FLASH_KEYS, s->total - first);
    const int64_t kept = keeps ? tn_min_i64(n, b->h->past.n - first) : 0;
    if (kept > 0) flash_keep(b->h, s, first, kept);
    if (first >= end && !keeps) break;
    if (first >= end || first + n <= begin) continue;
    b->panels = tn_ceil_div(n, FLASH_NR) * FLASH_NR;
    b->zeros = false;
    if (b->n <= FLASH_FEW)
      flash_stream(b, first, n);
    else if (b->packed)
      flash_packed_tile(b, tile, first, n);
    else
      flash_own_tile(b, first, n);
  }
  flash_clear_sums(b); /* where no tile was met */
}

/* What row r has attended to, behind flash_attend. */
static inline void flash_store(flash_block *b, int64_t r, uint32_t dtype, void *y) {
  const float inverse = b->total[r] == 0 ? 0 : 1 / b->total[r];
  const int64_t n = b->s->size[FLASH_V];
  float *sums = b->sums + r * b->s->v_wide, *to = dtype == TN_F32 ? (float *)y : sums;
  for (int64_t c = 0; c < n; c++) to[c] = sums[c] * inverse;
  tn_store_block_f32(dtype, y, 0, n, sums);
}

#endif
