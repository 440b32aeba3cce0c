/* The kernel of both operators, compiled once per instruction set by kernel_*.c, which define
 * LANES (floats in a vector), KEYS (keys or channels that a tile of registers has) and the two
 * names.
 *
 * It is flash attention: Dao, "FlashAttention-2" (2023), with the sink as the first element of the
 * online softmax. The scores of a block are kept transposed, [key][row]: rows lie along the lanes,
 * so maximum, exp and sum need no work across lanes, and both products are C[i][row] += sum over k
 * of A[i][k] * B[k][row] where A is K or V as it lies in memory (one broadcast per element) and B
 * fits in cache. Nothing is transposed but the queries, once per block. */
#ifndef FLASH_KERNEL_H
#define FLASH_KERNEL_H

#include <math.h>

#include "attention.h"

/* PANEL rows are worked on at once, in two vectors. */
enum { PANEL = 2 * LANES, PANELS = BLOCK_ROWS / PANEL };
typedef float lanes __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

/* e^x for x <= 0, NaN or -inf: 2^n times a polynomial of degree 6 (Cody and Waite). Straight
 * arithmetic, which compilers turn into vector code. Relative error below 3e-7; 0 below -87. */
static inline float exp_f32(float x) {
  const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds and leaves n in the low bits */
  float c = x < -87.0f ? -87.0f : x;
  float m = c * 1.44269504f + magic, n = m - magic;
  float r = c - n * 0.693359375f + n * 2.12194440e-4f;
  float e = 1.3888889e-3f;
  e = e * r + 8.3333333e-3f;
  e = e * r + 4.1666667e-2f;
  e = e * r + 1.6666667e-1f;
  e = e * r + 0.5f;
  e = e * r * r + r + 1.0f;
  e *= f32_of_bits((bits_of_f32(m) - bits_of_f32(magic) + 127) << 23);
  return x < -87.0f ? 0.0f : e;
}

/* What one worker needs for one block of rows of one head of K and V. */
typedef struct block {
  const attention *p;
  int64_t batch, kv_head, row0, n_rows, n_keys;
  int32_t keys;                   /* keys in the tile at hand */
  float *q, *out, *scores, *tile; /* q [panel][d][row], out [panel][d][row], scores [key][row] */
  const float *k_rows[BLOCK_KEYS + KEYS], *v_rows[BLOCK_KEYS];
  int64_t lo[BLOCK_ROWS], hi[BLOCK_ROWS];
  float top[BLOCK_ROWS], sum[BLOCK_ROWS];
} block;

/* Where a row's query stands, and its head. */
static inline int64_t query_of(const block *w, int64_t row) {
  return (w->row0 + row) / w->p->group;
}
static inline int64_t head_of(const block *w, int64_t row) {
  return w->kv_head * w->p->group + (w->row0 + row) % w->p->group;
}

/* ---- the two products ---- */

/* scores[i][row] = sum over d of k_rows[i][d] * q[d][row], for KEYS keys and VECTORS vectors of
 * rows. */
#define SCORES(VECTORS)                                                                         \
  static inline void scores_##VECTORS(const float *const *k_rows, const float *q, int64_t n,    \
                                      float *scores) {                                          \
    lanes acc[KEYS][VECTORS] = {{{0}}};                                                         \
    for (int64_t d = 0; d < n; d++, q += PANEL)                                                 \
      for (int i = 0; i < KEYS; i++)                                                            \
        for (int v = 0; v < VECTORS; v++)                                                       \
          acc[i][v] += k_rows[i][d] * *(const lanes *)(q + v * LANES);                          \
    for (int i = 0; i < KEYS; i++)                                                              \
      for (int v = 0; v < VECTORS; v++) *(lanes *)(scores + i * PANEL + v * LANES) = acc[i][v]; \
  }
SCORES(1)
SCORES(2)

/* out[c][row] += sum over keys j of v_rows[j][c] * p[j][row], for COUNT channels from c on. */
#define VALUES(COUNT, VECTORS)                                                               \
  static inline void values_##COUNT##_##VECTORS(const float *const *v_rows, int64_t c,       \
                                                const float *p, int32_t n, float *out) {     \
    lanes acc[COUNT][VECTORS];                                                               \
    for (int i = 0; i < COUNT; i++)                                                          \
      for (int v = 0; v < VECTORS; v++) acc[i][v] = *(lanes *)(out + i * PANEL + v * LANES); \
    for (int32_t j = 0; j < n; j++, p += PANEL)                                              \
      for (int i = 0; i < COUNT; i++)                                                        \
        for (int v = 0; v < VECTORS; v++)                                                    \
          acc[i][v] += v_rows[j][c + i] * *(const lanes *)(p + v * LANES);                   \
    for (int i = 0; i < COUNT; i++)                                                          \
      for (int v = 0; v < VECTORS; v++) *(lanes *)(out + i * PANEL + v * LANES) = acc[i][v]; \
  }
enum { ONE = 1 };
VALUES(ONE, 1)
VALUES(ONE, 2)
VALUES(KEYS, 1)
VALUES(KEYS, 2)

static void all_scores(const block *w, const float *q, int64_t rows) {
  for (int32_t j = 0; j < w->keys; j += KEYS) {
    float *to = w->scores + j * PANEL;
    if (rows > LANES)
      scores_2(w->k_rows + j, q, w->p->d_qk, to);
    else
      scores_1(w->k_rows + j, q, w->p->d_qk, to);
  }
}

static void all_values(const block *w, float *out, int64_t rows) {
  int64_t c = 0, n = w->p->d_v;
  for (; c + KEYS <= n; c += KEYS)
    if (rows > LANES)
      values_KEYS_2(w->v_rows, c, w->scores, w->keys, out + c * PANEL);
    else
      values_KEYS_1(w->v_rows, c, w->scores, w->keys, out + c * PANEL);
  for (; c < n; c++)
    if (rows > LANES)
      values_ONE_2(w->v_rows, c, w->scores, w->keys, out + c * PANEL);
    else
      values_ONE_1(w->v_rows, c, w->scores, w->keys, out + c * PANEL);
}

/* ---- the online softmax ---- */

/* Scores of keys that a row does not see become -inf. key0: the tile's first key. */
static void mask(const block *w, int64_t row0, int64_t key0) {
  int32_t lo[PANEL], hi[PANEL];
  for (int i = 0; i < PANEL; i++) {
    lo[i] = (int32_t)min_i64(max_i64(w->lo[row0 + i] - key0, 0), BLOCK_KEYS);
    hi[i] = (int32_t)min_i64(max_i64(w->hi[row0 + i] - key0, 0), BLOCK_KEYS);
  }
  for (int32_t j = 0; j < w->keys; j++) {
    float *s = w->scores + j * PANEL;
    for (int i = 0; i < PANEL; i++) s[i] = ((j >= lo[i]) & (j < hi[i])) ? s[i] : -INFINITY;
  }
}

/* Scores become weights e^(score - top); what was summed up so far is scaled to the new top. */
static void soften(const block *w, float *top, float *sum, float *out) {
  float most[PANEL], shift[PANEL], total[PANEL], factor[PANEL];
  int changed = 0;
  for (int i = 0; i < PANEL; i++) most[i] = top[i];
  for (int32_t j = 0; j < w->keys; j++)
    for (int i = 0; i < PANEL; i++) {
      float s = w->scores[j * PANEL + i];
      most[i] = s > most[i] ? s : most[i];
    }
  for (int i = 0; i < PANEL; i++) {
    shift[i] = most[i] == -INFINITY ? 0 : most[i]; /* no key yet: all weights are zero */
    factor[i] = exp_f32(top[i] - shift[i]);
    changed |= top[i] != most[i];
    top[i] = most[i];
    total[i] = sum[i] * factor[i];
  }
  for (int32_t j = 0; j < w->keys; j++)
    for (int i = 0; i < PANEL; i++) {
      float e = exp_f32(w->scores[j * PANEL + i] - shift[i]);
      w->scores[j * PANEL + i] = e;
      total[i] += e;
    }
  for (int i = 0; i < PANEL; i++) sum[i] = total[i];
  for (int64_t c = 0; changed && c < w->p->d_v; c++)
    for (int i = 0; i < PANEL; i++) out[c * PANEL + i] *= factor[i];
}

/* ---- one block ---- */

static void load_row(uint32_t dtype, const void *data, int64_t at, int64_t n, float *to) {
  const uint16_t *from = (const uint16_t *)data + at;
  if (dtype == TN_F16)
    for (int64_t d = 0; d < n; d++) to[d] = f32_of_f16(from[d]);
  else
    for (int64_t d = 0; d < n; d++) to[d] = f32_of_bf16(from[d]);
}

/* Points k_rows and v_rows to the keys from key0 on; half floats are widened on the way. */
static void load_tile(block *w, int64_t key0) {
  const attention *p = w->p;
  for (int32_t j = 0; j < w->keys; j++) {
    int64_t row = key_row(p, w->batch, key0 + j) * p->n_kv_heads + w->kv_head;
    if (p->dtype == TN_F32) {
      w->k_rows[j] = (const float *)p->k + row * p->d_qk;
      w->v_rows[j] = (const float *)p->v + row * p->d_v;
      continue;
    }
    float *k = w->tile + j * (p->d_qk + p->d_v), *v = k + p->d_qk;
    load_row(p->dtype, p->k, row * p->d_qk, p->d_qk, k);
    load_row(p->dtype, p->v, row * p->d_v, p->d_v, v);
    w->k_rows[j] = k;
    w->v_rows[j] = v;
  }
  for (int32_t j = w->keys; j % KEYS; j++) w->k_rows[j] = w->k_rows[0]; /* computed, never read */
}

/* Rows beyond the last one of the block are zero and see nothing. */
static void load_rows(block *w) {
  const attention *p = w->p;
  int64_t filled = (w->n_rows + PANEL - 1) / PANEL * PANEL;
  for (int64_t i = 0; i < filled; i++) {
    int64_t panel = i / PANEL * PANEL, lane = i % PANEL;
    float *q = w->q + panel * p->d_qk + lane;
    w->lo[i] = w->hi[i] = 0;
    w->top[i] = -INFINITY;
    w->sum[i] = 0;
    if (i >= w->n_rows) {
      for (int64_t d = 0; d < p->d_qk; d++) q[d * PANEL] = 0;
      continue;
    }
    int64_t s = query_of(w, i), h = head_of(w, i);
    int64_t at = ((w->batch * p->n_q + s) * p->n_heads + h) * p->d_qk;
    key_range r = visible(p, w->batch, w->n_keys, s);
    w->lo[i] = r.lo;
    w->hi[i] = max_i64(r.hi, r.lo);
    for (int64_t d = 0; d < p->d_qk; d++)
      q[d * PANEL] = (float)p->scale * load_f32(p->dtype, p->q, at + d);
    if (p->sink) w->top[i] = load_f32(p->sink_dtype, p->sink, h);
    w->sum[i] = w->top[i] == -INFINITY ? 0.0f : 1.0f; /* e^(sink - top) */
  }
  memset(w->out, 0, (size_t)(filled * p->d_v) * sizeof(float));
}

static void store_rows(const block *w) {
  const attention *p = w->p;
  for (int64_t i = 0; i < w->n_rows; i++) {
    const float *from = w->out + i / PANEL * PANEL * p->d_v + i % PANEL;
    int64_t s = query_of(w, i), h = head_of(w, i);
    int64_t at = ((w->batch * p->n_q + s) * p->n_heads + h) * p->d_v;
    float scale = w->sum[i] == 0 ? 0 : 1 / w->sum[i];
    for (int64_t c = 0; c < p->d_v; c++)
      store_f32(p->dtype, p->out, at + c, from[c * PANEL] * scale);
  }
}

/* The keys that any row from row0 on sees, and those that all of them see. */
static void panel_range(const block *w, int64_t row0, int64_t n, key_range *any, key_range *all) {
  *any = (key_range){INT64_MAX, 0};
  *all = (key_range){0, INT64_MAX};
  for (int64_t i = row0; i < row0 + n; i++) {
    if (w->lo[i] < w->hi[i]) {
      any->lo = min_i64(any->lo, w->lo[i]);
      any->hi = max_i64(any->hi, w->hi[i]);
    }
    all->lo = max_i64(all->lo, w->lo[i]);
    all->hi = min_i64(all->hi, w->hi[i]);
  }
}

static void tile_of_panel(block *w, int64_t panel, int64_t key0) {
  int64_t row0 = panel * PANEL, rows = min_i64(PANEL, w->n_rows - row0), key1 = key0 + w->keys;
  key_range any, all;
  panel_range(w, row0, rows, &any, &all);
  if (any.lo >= key1 || any.hi <= key0) return;
  float *out = w->out + row0 * w->p->d_v;
  all_scores(w, w->q + row0 * w->p->d_qk, rows);
  if (all.lo > key0 || all.hi < key1) mask(w, row0, key0);
  soften(w, w->top + row0, w->sum + row0, out);
  all_values(w, out, rows);
}

static void run_block(block *w) {
  load_rows(w);
  key_range any, all;
  panel_range(w, 0, w->n_rows, &any, &all);
  for (int64_t key0 = any.lo; key0 < any.hi; key0 += BLOCK_KEYS) {
    w->keys = (int32_t)min_i64(BLOCK_KEYS, any.hi - key0);
    load_tile(w, key0);
    for (int64_t panel = 0; panel * PANEL < w->n_rows; panel++) tile_of_panel(w, panel, key0);
  }
  store_rows(w);
}

/* ---- the kernels ---- */

static tn_status run_items(const attention *p, const tn_call *call, int64_t begin, int64_t end,
                           uint32_t worker) {
  int64_t blocks = row_blocks(p);
  block w = {.p = p};
  w.q = (float *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  w.out = w.q + BLOCK_ROWS * p->d_qk;
  w.scores = w.out + BLOCK_ROWS * p->d_v;
  w.tile = w.scores + BLOCK_KEYS * PANEL;
  for (int64_t item = begin; item < end; item++) {
    w.row0 = item % blocks * BLOCK_ROWS;
    w.n_rows = min_i64(BLOCK_ROWS, p->n_q * p->group - w.row0);
    w.kv_head = item / blocks % p->n_kv_heads;
    w.batch = item / blocks / p->n_kv_heads;
    w.n_keys = key_count(p, w.batch);
    run_block(&w);
  }
  return TN_OK;
}

tn_status FLASH_NAME(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  attention p = attention_of_flash(call);
  if (stage == 0 && p.offsets) return offsets_check(call, begin, end);
  return run_items(&p, call, begin, end, worker);
}

tn_status PAGED_NAME(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  if (stage == 0) return paged_check(call, begin, end);
  attention p = attention_of_paged(call);
  return run_items(&p, call, begin, end, worker);
}

#endif
