/* Tiled attention in f32: blocks of queries meet tiles of keys, and the softmax is corrected from
 * tile to tile (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et
 * al., "FlashAttention", 2022), so that scores never leave the cache.
 *
 * Stages: the new cache; keys and values packed into panels; the attention. With fewer than
 * FLASH_FEW queries nothing is packed, and keys and values are streamed as they lie. Each file that
 * includes this defines FLASH_RUN and FLASH_PLAN, LANES, LANES_FMA(a, b, c) = a*b + c,
 * LANES_ALL(x): x in all lanes. */
#include <math.h>
#include <string.h>

#include "attention.h"
#include "base/vmath.h"

typedef float flash_lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

typedef int32_t flash_truth __attribute__((vector_size(4 * LANES)));

#ifndef FLASH_MR
#define FLASH_MR (LANES == 16 ? 8 : 4) /* 16 or 8 accumulators */
#endif

enum {
  FLASH_ROWS = 32,
  FLASH_KEYS = 128,
  FLASH_FEW = 4,
  FLASH_NR = 2 * LANES
};

#if defined(__clang__)
#define FLASH_UNROLL _Pragma("unroll")
#else
#define FLASH_UNROLL _Pragma("GCC unroll 16")
#endif

typedef struct flash {
  attention a;
  bool few;
  int64_t tiles, blocks, v_wide;      /* v_wide: v_size rounded up to panels */
  int64_t tile_floats, worker_floats; /* a tile: keys, values, FLASH_NR to hold its mark */
} flash;

static tn_status flash_make(const tn_call *call, flash *out) {
  flash f = {0};
  tn_status s = attention_make(call, &f.a);
  if (s) return s;
  f.few = f.a.n_q < FLASH_FEW;
  f.tiles = tn_ceil_div(f.a.total, FLASH_KEYS);
  f.blocks = tn_ceil_div(f.a.n_q, FLASH_ROWS);
  f.v_wide = tn_ceil_div(f.a.v_size, FLASH_NR) * FLASH_NR;
  if (tn_add_i64(f.a.size, f.v_wide, &f.tile_floats) ||
      tn_mul_i64(f.tile_floats, FLASH_KEYS, &f.tile_floats) ||
      tn_add_i64(f.tile_floats, FLASH_NR, &f.tile_floats))
    return TN_ERR_OVERFLOW;
  f.worker_floats = (f.a.size + f.v_wide) * FLASH_ROWS + FLASH_ROWS * FLASH_KEYS;
  *out = f;
  return TN_OK;
}

tn_status FLASH_PLAN(const tn_call *call, tn_kernel_plan *out) {
  flash f;
  int64_t packed;
  tn_status s = flash_make(call, &f);
  if (s) return s;
  attention_plan_present(call, &f.a, out);
  if (tn_mul_i64(f.a.batch * f.a.kv_heads * f.tiles, f.tile_floats * (int64_t)sizeof(float),
                 &packed))
    return TN_ERR_OVERFLOW;
  out->n_stages = 3;
  out->items[1] = f.few || !attention_writes(call, &f.a) ? 0 : f.a.batch * f.a.kv_heads * f.tiles;
  out->items[2] = attention_writes(call, &f.a) ? f.a.batch * f.a.heads * f.blocks : 0;
  out->grain[1] = tn_grain(20000, (double)f.tile_floats);
  out->grain[2] =
      tn_grain(100000, FLASH_ROWS * (double)f.a.total * (double)(f.a.size + f.a.v_size));
  out->scratch_bytes = f.few ? 0 : (uint64_t)packed;
  out->worker_scratch_bytes = (uint64_t)f.worker_floats * sizeof(float);
  out->cost_ns = (double)(f.a.batch * f.a.heads) * (double)f.a.n_q * (double)f.a.total *
                     (double)(f.a.size + f.a.v_size) / (4 * LANES) +
                 1000;
  return TN_OK;
}

/* ---- vectors ---- */

#ifndef LANES_MAX
static inline flash_lanes flash_max(flash_lanes a, flash_lanes b) { /* a > b ? a : b */
  const flash_truth takes = (flash_truth)(a > b);
  return (flash_lanes)((takes & (flash_truth)a) | (~takes & (flash_truth)b));
}
static inline float flash_lanes_max(flash_lanes v) {
  float top = v[0];
  for (int l = 1; l < LANES; l++) top = v[l] > top ? v[l] : top;
  return top;
}
static inline float flash_lanes_sum(flash_lanes v) {
  float sum = v[0];
  for (int l = 1; l < LANES; l++) sum += v[l];
  return sum;
}
#define LANES_MAX(a, b) flash_max(a, b)
#define LANES_REDUCE_MAX(v) flash_lanes_max(v)
#define LANES_REDUCE_SUM(v) flash_lanes_sum(v)
#endif

/* ---- packing ---- */

/* 1 if a value of the tile is infinite or NaN, else 0. */
static float *flash_mark(const flash *f, float *tile) { return tile + f->tile_floats - FLASH_NR; }

#ifndef FLASH_PACK_ROWS
/* to[c * NR + r] = rows[r * step + c] for r < n, c < size */
#define FLASH_PACK_ROWS(rows, step, n, size, to) \
  for (int64_t c = 0; c < (size); c++)           \
    for (int64_t r = 0; r < (n); r++) (to)[c * FLASH_NR + r] = (rows)[r * (step) + c]
#endif

/* Keys [j, j + n) of a head to a panel [c][NR]: at once where all are new ones, whose rows lie at
 * one distance. */
static void flash_pack_keys(const tn_call *call, const attention *a, int64_t head, int64_t j,
                            int64_t n, float *to) {
  const int64_t batch = head / a->kv_heads, kv = head % a->kv_heads;
  if (j >= a->past) {
    const float *rows = attention_row(call, a, ATTENTION_K, batch, kv, j, sizeof(float));
    FLASH_PACK_ROWS(rows, a->k.row, n, a->size, to);
    return;
  }
  for (int64_t r = 0; r < n; r++) {
    const float *k = attention_row(call, a, ATTENTION_K, batch, kv, j + r, sizeof(float));
    for (int64_t c = 0; c < a->size; c++) to[c * FLASH_NR + r] = k[c];
  }
}

enum { FLASH_AHEAD = 8 }; /* rows that are fetched before their turn */

/* Brings a row into the cache: those of one head lie far apart, so that the machine does not see
 * what comes next. */
static void flash_fetch(const float *row, int64_t n) {
  for (int64_t c = 0; c < n; c += 16) __builtin_prefetch(row + c);
}

/* A tile of a head: keys in panels [key / NR][c][NR], then values in panels [c / NR][key][NR]; zero
 * beyond the last key and column. */
static void flash_pack(const tn_call *call, const flash *f, int64_t item, float *to) {
  const attention *a = &f->a;
  const int64_t head = item / f->tiles, first = item % f->tiles * FLASH_KEYS,
                n = tn_min_i64(FLASH_KEYS, a->total - first);
  float *values = to + FLASH_KEYS * a->size;
  uint32_t largest = 0;
  if (n < FLASH_KEYS || f->v_wide != a->v_size) memset(to, 0, (size_t)f->tile_floats * sizeof *to);
  for (int64_t j = 0; j < n; j += FLASH_NR)
    flash_pack_keys(call, a, head, first + j, tn_min_i64(FLASH_NR, n - j), to + j * a->size);
  for (int64_t j = 0; j < n; j++) {
    const float *v = attention_row(call, a, ATTENTION_V, head / a->kv_heads, head % a->kv_heads,
                                   first + j, sizeof(float));
    if (j + FLASH_AHEAD < n)
      flash_fetch(attention_row(call, a, ATTENTION_V, head / a->kv_heads, head % a->kv_heads,
                                first + j + FLASH_AHEAD, sizeof(float)),
                  a->v_size);
    int64_t full = 0; /* of a size that the compiler knows */
    for (; full + FLASH_NR <= a->v_size; full += FLASH_NR)
      memcpy(values + full * FLASH_KEYS + j * FLASH_NR, v + full, FLASH_NR * sizeof *v);
    if (full < a->v_size)
      memcpy(values + full * FLASH_KEYS + j * FLASH_NR, v + full,
             (size_t)(a->v_size - full) * sizeof *v);
    for (int64_t c = 0; c < a->v_size; c++) {
      const uint32_t bits = tn_bits_of_f32(v[c]) & 0x7fffffffu;
      largest = bits > largest ? bits : largest;
    }
  }
  *flash_mark(f, to) = largest >= 0x7f800000u; /* infinite, or NaN */
}

/* ---- products ---- */

/* C (+)= A B for MR rows and NR columns; B is one panel [n][NR]. */
static inline void flash_tile(const float *a, int64_t lda, const float *b, float *c, int64_t ldc,
                              int64_t n, bool add) {
  flash_lanes acc[FLASH_MR][2];
  FLASH_UNROLL for (int r = 0; r < FLASH_MR; r++) FLASH_UNROLL for (int h = 0; h < 2; h++)
      acc[r][h] = add ? *(const flash_lanes *)(c + r * ldc + h * LANES) : LANES_ALL(0);
  for (int64_t k = 0; k < n; k++, b += FLASH_NR) {
    const flash_lanes b0 = *(const flash_lanes *)b, b1 = *(const flash_lanes *)(b + LANES);
    FLASH_UNROLL for (int r = 0; r < FLASH_MR; r++) {
      const flash_lanes x = LANES_ALL(a[r * lda + k]);
      acc[r][0] = LANES_FMA(x, b0, acc[r][0]);
      acc[r][1] = LANES_FMA(x, b1, acc[r][1]);
    }
  }
  FLASH_UNROLL for (int r = 0; r < FLASH_MR; r++) FLASH_UNROLL for (int h = 0; h < 2; h++) *
      (flash_lanes *)(c + r * ldc + h * LANES) = acc[r][h];
}

/* Columns of B, whose panels lie one after the other; rows is a multiple of MR, columns of NR. */
static void flash_product(const float *a, int64_t lda, const float *b, int64_t b_rows, float *c,
                          int64_t ldc, int64_t columns, int64_t rows, int64_t n, bool add) {
  for (int64_t j = 0; j < columns; j += FLASH_NR)
    for (int64_t i = 0; i < rows; i += FLASH_MR)
      flash_tile(a + i * lda, lda, b + j * b_rows, c + i * ldc + j, ldc, n, add);
}

static float flash_dot(const float *a, const float *b, int64_t n) {
  flash_lanes acc = LANES_ALL(0);
  float sum = 0;
  int64_t k = 0;
  for (; k + LANES <= n; k += LANES)
    acc = LANES_FMA(*(const flash_lanes *)(a + k), *(const flash_lanes *)(b + k), acc);
  for (; k < n; k++) sum += a[k] * b[k];
  return sum + LANES_REDUCE_SUM(acc);
}

/* ---- one block of queries ---- */

typedef struct flash_block {
  const tn_call *call;
  const flash *f;
  int64_t batch, head, kv_head, first, rows, padded; /* of queries */
  int64_t wide;                                      /* keys of the tile, rounded up to panels */
  float *q, *scores, *sums; /* [ROWS][size] times scale, [ROWS][KEYS], [ROWS][v_wide] */
  bool summed;              /* sums has been written */
  float top[FLASH_ROWS], total[FLASH_ROWS];
} flash_block;

static void flash_mask(const flash_block *b, int64_t row, int64_t j, int64_t n, float *s) {
  const tn_tensor *m = b->call->inputs[ATTENTION_MASK];
  const int64_t at = attention_mask_row(&b->f->a, b->batch, b->head, b->first + row) + j;
  if (m->dtype == TN_BOOL) {
    const uint8_t *allowed = (const uint8_t *)m->data + at;
    for (int64_t k = 0; k < n; k++) s[k] = allowed[k] ? s[k] : -INFINITY;
  } else {
    const float *more = (const float *)m->data + at;
    for (int64_t k = 0; k < n; k++) s[k] = more[k] == -INFINITY ? -INFINITY : s[k] + more[k];
  }
}

/* The largest of top and n scores. NaN does not count, for its e^x makes the row NaN anyway, unless
 * there is nothing else but -inf. */
static float flash_top(const float *s, int64_t n, float top) {
  flash_lanes most = LANES_ALL(top);
  for (int64_t k = 0; k < n; k += LANES) most = LANES_MAX(*(const flash_lanes *)(s + k), most);
  top = LANES_REDUCE_MAX(most);
  for (int64_t k = 0; top == -INFINITY && k < n; k++) top = s[k] != s[k] ? s[k] : top;
  return top;
}

/* s = e^(s - top): the sum of n. What would be subnormal becomes 0: such numbers cost hundreds of
 * cycles, and a weight of 1e-38 counts for nothing. */
static float flash_exp(float *s, int64_t n, float top) {
  flash_lanes sums = LANES_ALL(0);
#ifdef LANES_EXP
  const flash_lanes shift = LANES_ALL(top);
  for (int64_t k = 0; k < n; k += LANES) {
    const flash_lanes e = LANES_EXP(*(const flash_lanes *)(s + k) - shift);
    *(flash_lanes *)(s + k) = e;
    sums += e;
  }
#else
  TN_IVDEP for (int64_t k = 0; k < n; k++) {
    const float x = s[k] - top;
    const tn_exp_parts e = tn_exp_split(x < -87.0f ? -87.0f : x);
    const float y = (e.p * e.s + e.s) * e.t;
    s[k] = x < -87.0f ? 0.0f : y;
  }
  for (int64_t k = 0; k < n; k += LANES) sums += *(const flash_lanes *)(s + k);
#endif
  return LANES_REDUCE_SUM(sums);
}

/* Scores of one row and the tile of keys from j on become weights; the sums so far are brought to
 * the same scale. */
static void flash_weights(flash_block *b, int64_t row, int64_t j) {
  const attention *a = &b->f->a;
  float *s = b->scores + row * FLASH_KEYS;
  int64_t begin, end;
  attention_keys(a, b->batch, b->first + row, &begin, &end);
  begin = tn_min_i64(tn_max_i64(begin - j, 0), FLASH_KEYS);
  end = tn_max_i64(begin, tn_min_i64(end - j, FLASH_KEYS));
  if (a->softcap > 0) {
    const float cap = (float)a->softcap;
    for (int64_t k = begin; k < end; k++) s[k] = cap * tn_tanh_f32(s[k] / cap);
  }
  if (a->mask_columns) flash_mask(b, row, j + begin, end - begin, s + begin);
  for (int64_t k = 0; k < begin; k++) s[k] = -INFINITY;
  for (int64_t k = end; k < b->wide; k++) s[k] = -INFINITY;
  const float top = flash_top(s, b->wide, b->top[row]);
  if (top == -INFINITY) {
    memset(s, 0, (size_t)b->wide * sizeof *s);
    return;
  }
  const float sum = flash_exp(s, b->wide, top);
  if (b->top[row] == -INFINITY) { /* there are no sums yet */
    b->total[row] = sum;
  } else {
    const float back = tn_exp_f32(b->top[row] - top);
    if (back != 1)
      for (int64_t c = 0; c < b->f->v_wide; c++) b->sums[row * b->f->v_wide + c] *= back;
    b->total[row] = b->total[row] * back + sum;
  }
  b->top[row] = top;
}

static float *flash_packed(const flash_block *b, int64_t tile) {
  const int64_t head = b->batch * b->f->a.kv_heads + b->kv_head;
  return (float *)b->call->scratch + (head * b->f->tiles + tile) * b->f->tile_floats;
}

/* The packed product takes every key, masked ones with weight 0; where a value is infinite or NaN,
 * the keys are taken one by one, without those. */
static bool flash_streams(const flash_block *b, int64_t tile) {
  return b->f->few || *flash_mark(b->f, flash_packed(b, tile)) != 0;
}

/* Only the panels that hold keys are multiplied; scores of the others are not looked at. */
static void flash_packed_tile(flash_block *b, int64_t tile) {
  const flash *f = b->f;
  const float *keys = flash_packed(b, tile);
  const int64_t n = tn_min_i64(FLASH_KEYS, f->a.total - tile * FLASH_KEYS);
  b->wide = tn_ceil_div(n, FLASH_NR) * FLASH_NR;
  flash_product(b->q, f->a.size, keys, f->a.size, b->scores, FLASH_KEYS, b->wide, b->padded,
                f->a.size, false);
  for (int64_t r = 0; r < b->rows; r++) flash_weights(b, r, tile * FLASH_KEYS);
  flash_product(b->scores, FLASH_KEYS, keys + FLASH_KEYS * f->a.size, FLASH_KEYS, b->sums,
                f->v_wide, f->v_wide, b->padded, n, b->summed);
  b->summed = true;
}

static void flash_clear_sums(flash_block *b) {
  if (!b->summed) memset(b->sums, 0, (size_t)(b->padded * b->f->v_wide) * sizeof *b->sums);
  b->summed = true;
}

static void flash_streamed_tile(flash_block *b, int64_t tile) {
  const attention *a = &b->f->a;
  const int64_t j = tile * FLASH_KEYS, n = tn_min_i64(FLASH_KEYS, a->total - j);
  b->wide = tn_ceil_div(n, FLASH_NR) * FLASH_NR;
  for (int64_t k = 0; k < n; k++) {
    const float *key =
        attention_row(b->call, a, ATTENTION_K, b->batch, b->kv_head, j + k, sizeof(float));
    for (int64_t r = 0; r < b->rows; r++)
      b->scores[r * FLASH_KEYS + k] = flash_dot(b->q + r * a->size, key, a->size);
  }
  flash_clear_sums(b);
  for (int64_t r = 0; r < b->rows; r++) flash_weights(b, r, j);
  for (int64_t k = 0; k < n; k++) {
    const float *value =
        attention_row(b->call, a, ATTENTION_V, b->batch, b->kv_head, j + k, sizeof(float));
    for (int64_t r = 0; r < b->rows; r++) {
      const float weight = b->scores[r * FLASH_KEYS + k];
      if (weight == 0) continue; /* 0 times infinity is no number */
      float *sums = b->sums + r * b->f->v_wide;
      for (int64_t c = 0; c < a->v_size; c++) sums[c] += weight * value[c];
    }
  }
}

static void flash_begin(flash_block *b) {
  const attention *a = &b->f->a;
  const float *y = (const float *)b->call->outputs[0]->data + b->batch * a->y.batch +
                   b->head * a->y.head + b->first * a->y.row;
  const float *q = (const float *)b->call->inputs[0]->data + b->batch * a->q.batch +
                   b->head * a->q.head + b->first * a->q.row;
  memset(b->q + b->rows * a->size, 0, (size_t)((b->padded - b->rows) * a->size) * sizeof *b->q);
  for (int64_t r = 0; r < tn_min_i64(FLASH_AHEAD, b->rows); r++)
    flash_fetch(q + r * a->q.row, a->size);
  for (int64_t r = 0; r < b->rows; r++) {
    if (r + FLASH_AHEAD < b->rows) flash_fetch(q + (r + FLASH_AHEAD) * a->q.row, a->size);
    flash_fetch(y + r * a->y.row, a->v_size); /* to be written in the end */
    for (int64_t c = 0; c < a->size; c++)
      b->q[r * a->size + c] = q[r * a->q.row + c] * (float)a->scale;
    b->top[r] = -INFINITY;
    b->total[r] = 0;
  }
}

static void flash_end(const flash_block *b) {
  const attention *a = &b->f->a;
  float *y = (float *)b->call->outputs[0]->data + b->batch * a->y.batch + b->head * a->y.head +
             b->first * a->y.row;
  for (int64_t r = 0; r < b->rows; r++, y += a->y.row) {
    const float inverse = b->total[r] == 0 ? 0 : 1 / b->total[r];
    for (int64_t c = 0; c < a->v_size; c++) y[c] = b->sums[r * b->f->v_wide + c] * inverse;
  }
}

static void flash_item(const tn_call *call, const flash *f, int64_t item, float *room) {
  flash_block b = {.call = call, .f = f, .q = room};
  int64_t begin = f->a.total, end = 0;
  b.head = item / f->blocks % f->a.heads;
  b.batch = item / f->blocks / f->a.heads;
  b.kv_head = b.head / (f->a.heads / f->a.kv_heads);
  b.first = item % f->blocks * FLASH_ROWS;
  b.rows = tn_min_i64(FLASH_ROWS, f->a.n_q - b.first);
  b.padded = tn_ceil_div(b.rows, FLASH_MR) * FLASH_MR;
  b.scores = room + FLASH_ROWS * f->a.size;
  b.sums = b.scores + FLASH_ROWS * FLASH_KEYS;
  flash_begin(&b);
  for (int64_t r = 0; r < b.rows; r++) { /* tiles that no row may see are left out */
    int64_t from, to;
    attention_keys(&f->a, b.batch, b.first + r, &from, &to);
    if (from < to) begin = tn_min_i64(begin, from), end = tn_max_i64(end, to);
  }
  for (int64_t tile = begin / FLASH_KEYS; tile * FLASH_KEYS < end; tile++)
    (flash_streams(&b, tile) ? flash_streamed_tile : flash_packed_tile)(&b, tile);
  flash_clear_sums(&b); /* where no tile was met */
  flash_end(&b);
}

tn_status FLASH_RUN(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                    uint32_t worker) {
  flash f;
  tn_status s = flash_make(call, &f);
  float *room =
      (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  if (s) return s;
  if (stage == 0) attention_copy_present(call, &f.a, begin, end);
  for (int64_t item = begin; item < end && stage == 1; item++)
    flash_pack(call, &f, item, (float *)call->scratch + item * f.tile_floats);
  for (int64_t item = begin; item < end && stage == 2; item++) flash_item(call, &f, item, room);
  return TN_OK;
}
