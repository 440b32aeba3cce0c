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

enum { FLASH_ROWS = 32, FLASH_KEYS = 64, FLASH_FEW = 4, FLASH_MR = 4, FLASH_NR = 2 * LANES };

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
  out->items[1] = f.few ? 0 : f.a.batch * f.a.kv_heads * f.tiles;
  out->items[2] = f.a.batch * f.a.heads * f.blocks;
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

/* ---- packing ---- */

/* 1 if a value of the tile is infinite or NaN, else 0. */
static float *flash_mark(const flash *f, float *tile) { return tile + f->tile_floats - FLASH_NR; }

/* A tile of a head: keys in panels [key / NR][c][NR], then values in panels [c / NR][key][NR]; zero
 * beyond the last key and column. */
static void flash_pack(const tn_call *call, const flash *f, int64_t item, float *to) {
  const attention *a = &f->a;
  const int64_t head = item / f->tiles, first = item % f->tiles * FLASH_KEYS,
                n = tn_min_i64(FLASH_KEYS, a->total - first);
  float *values = to + FLASH_KEYS * a->size;
  memset(to, 0, (size_t)f->tile_floats * sizeof *to);
  for (int64_t j = 0; j < n; j++) {
    const float *k = attention_row(call, a, ATTENTION_K, head / a->kv_heads, head % a->kv_heads,
                                   first + j, sizeof(float));
    const float *v = attention_row(call, a, ATTENTION_V, head / a->kv_heads, head % a->kv_heads,
                                   first + j, sizeof(float));
    float *panel = to + j / FLASH_NR * FLASH_NR * a->size + j % FLASH_NR;
    for (int64_t c = 0; c < a->size; c++) panel[c * FLASH_NR] = k[c];
    for (int64_t c = 0; c < a->v_size; c += FLASH_NR)
      memcpy(values + c * FLASH_KEYS + j * FLASH_NR, v + c,
             (size_t)tn_min_i64(FLASH_NR, a->v_size - c) * sizeof *v);
    for (int64_t c = 0; c < a->v_size; c++)
      if (!isfinite(v[c])) *flash_mark(f, to) = 1;
  }
}

/* ---- products ---- */

/* C (+)= A B for MR rows and NR columns; B is one panel [n][NR]. */
static inline void flash_tile(const float *a, int64_t lda, const float *b, float *c, int64_t ldc,
                              int64_t n, bool add) {
  flash_lanes acc[FLASH_MR][2];
  for (int r = 0; r < FLASH_MR; r++)
    for (int h = 0; h < 2; h++)
      acc[r][h] = add ? *(const flash_lanes *)(c + r * ldc + h * LANES) : LANES_ALL(0);
  for (int64_t k = 0; k < n; k++, b += FLASH_NR) {
    const flash_lanes b0 = *(const flash_lanes *)b, b1 = *(const flash_lanes *)(b + LANES);
    for (int r = 0; r < FLASH_MR; r++) {
      const flash_lanes x = LANES_ALL(a[r * lda + k]);
      acc[r][0] = LANES_FMA(x, b0, acc[r][0]);
      acc[r][1] = LANES_FMA(x, b1, acc[r][1]);
    }
  }
  for (int r = 0; r < FLASH_MR; r++)
    for (int h = 0; h < 2; h++) *(flash_lanes *)(c + r * ldc + h * LANES) = acc[r][h];
}

/* All columns of B, whose panels lie one after the other; rows is a multiple of MR. */
static void flash_product(const float *a, int64_t lda, const float *b, int64_t b_rows, float *c,
                          int64_t columns, int64_t rows, int64_t n, bool add) {
  for (int64_t j = 0; j < columns; j += FLASH_NR)
    for (int64_t i = 0; i < rows; i += FLASH_MR)
      flash_tile(a + i * lda, lda, b + j * b_rows, c + i * columns + j, columns, n, add);
}

static float flash_dot(const float *a, const float *b, int64_t n) {
  flash_lanes acc = LANES_ALL(0);
  float sum = 0;
  int64_t k = 0;
  for (; k + LANES <= n; k += LANES)
    acc = LANES_FMA(*(const flash_lanes *)(a + k), *(const flash_lanes *)(b + k), acc);
  for (int l = 0; l < LANES; l++) sum += acc[l];
  for (; k < n; k++) sum += a[k] * b[k];
  return sum;
}

/* ---- one block of queries ---- */

typedef struct flash_block {
  const tn_call *call;
  const flash *f;
  int64_t batch, head, kv_head, first, rows, padded; /* of queries */
  float *q, *scores, *sums; /* [ROWS][size] times scale, [ROWS][KEYS], [ROWS][v_wide] */
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

/* Scores of one row and the tile of keys from j on become weights; the sums so far are brought to
 * the same scale. */
static void flash_weights(flash_block *b, int64_t row, int64_t j) {
  const attention *a = &b->f->a;
  float *s = b->scores + row * FLASH_KEYS, top = b->top[row], sum = 0;
  int64_t begin, end;
  attention_keys(a, b->batch, b->first + row, &begin, &end);
  begin = tn_min_i64(tn_max_i64(begin - j, 0), FLASH_KEYS);
  end = tn_max_i64(begin, tn_min_i64(end - j, FLASH_KEYS));
  if (a->softcap > 0) {
    const float cap = (float)a->softcap;
    for (int64_t k = begin; k < end; k++) s[k] = cap * tn_tanh_f32(s[k] / cap);
  }
  if (a->mask_columns) flash_mask(b, row, j + begin, end - begin, s + begin);
  for (int64_t k = begin; k < end; k++) top = s[k] > top || s[k] != s[k] ? s[k] : top;
  for (int64_t k = 0; k < begin; k++) s[k] = 0;
  for (int64_t k = end; k < FLASH_KEYS; k++) s[k] = 0;
  if (top == -INFINITY) {
    for (int64_t k = begin; k < end; k++) s[k] = 0;
    return;
  }
  TN_IVDEP for (int64_t k = begin; k < end; k++) s[k] = tn_exp_f32(s[k] - top);
  for (int64_t k = begin; k < end; k++) sum += s[k];
  const float back = tn_exp_f32(b->top[row] - top);
  if (back != 1)
    for (int64_t c = 0; c < b->f->v_wide; c++) b->sums[row * b->f->v_wide + c] *= back;
  b->total[row] = b->total[row] * back + sum;
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

static void flash_packed_tile(flash_block *b, int64_t tile) {
  const flash *f = b->f;
  const float *keys = flash_packed(b, tile);
  flash_product(b->q, f->a.size, keys, f->a.size, b->scores, FLASH_KEYS, b->padded, f->a.size,
                false);
  for (int64_t r = 0; r < b->rows; r++) flash_weights(b, r, tile * FLASH_KEYS);
  flash_product(b->scores, FLASH_KEYS, keys + FLASH_KEYS * f->a.size, FLASH_KEYS, b->sums,
                f->v_wide, b->padded, FLASH_KEYS, true);
}

static void flash_streamed_tile(flash_block *b, int64_t tile) {
  const attention *a = &b->f->a;
  const int64_t j = tile * FLASH_KEYS, n = tn_min_i64(FLASH_KEYS, a->total - j);
  for (int64_t k = 0; k < n; k++) {
    const float *key =
        attention_row(b->call, a, ATTENTION_K, b->batch, b->kv_head, j + k, sizeof(float));
    for (int64_t r = 0; r < b->rows; r++)
      b->scores[r * FLASH_KEYS + k] = flash_dot(b->q + r * a->size, key, a->size);
  }
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
  const float *q = (const float *)b->call->inputs[0]->data + b->batch * a->q.batch +
                   b->head * a->q.head + b->first * a->q.row;
  memset(b->q, 0, (size_t)b->f->worker_floats * sizeof *b->q);
  for (int64_t r = 0; r < b->rows; r++) {
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
