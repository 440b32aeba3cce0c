/* Kernels of GroupQueryAttention: tiled attention (tenon/kit/flash_simd.h), the rows of all heads
 * that share keys together.
 *
 * Stages: the new cache; keys and values packed into panels, where several blocks of rows meet
 * them; the attention. A head with one block writes its part of the cache on the way. */
#include "group_query.h"
#include "tenon/kit/flash_simd.h"

typedef struct rows_of {
  grouped g;
  flash_shape s;               /* with as many keys as the cache holds */
  int64_t group, rows, blocks; /* heads that share keys; rows of a block; blocks of them */
  bool packs, keeps;           /* keeps: the cache is written while it is attended to */
} rows_of;

/* present is known. */
static tn_status rows_make(const tn_call *call, rows_of *w) {
  const grouped *g = &w->g;
  int64_t rows;
  tn_status s = flash_shape_of(g->size, g->size, g->present, &w->s);
  w->group = g->heads / g->kv_heads;
  w->rows = FLASH_ROWS;
  if (s || tn_mul_i64(w->group, g->n_q, &rows))
    return fail(call, TN_ERR_OVERFLOW, "the sizes overflow");
  while (w->rows > FLASH_FEW &&
         g->batch * g->kv_heads * tn_ceil_div(rows, w->rows) < (int64_t)call->n_workers)
    w->rows /= 2; /* a part for each worker */
  w->blocks = tn_ceil_div(rows, w->rows);
  w->packs = w->blocks > 1;
  w->keeps = w->blocks == 1;
  return TN_OK;
}

static tn_status plan_rows(const tn_call *call, tn_kernel_plan *out) {
  rows_of w;
  int64_t packed;
  tn_status s = grouped_sizes(call, &w.g);
  if (s) return s;
  if (!tn_has_output(call, 1) || !tn_has_output(call, 2))
    return fail(call, TN_ERR_UNSUPPORTED, "present_key and present_value must be asked for");
  w.g.present = call->outputs[1]->shape[2];
  s = rows_make(call, &w);
  if (s) return s;
  const int64_t heads = w.g.batch * w.g.kv_heads;
  if (tn_mul_i64(heads * w.s.tiles, w.s.tile_floats * (int64_t)sizeof(float), &packed))
    return fail(call, TN_ERR_OVERFLOW, "the sizes overflow");
  for (int k = 1; k <= 2; k++)
    if (tn_has_input(call, PAST_KEY)) out->in_place[k] = k == 1 ? PAST_KEY : PAST_VALUE;
  out->n_stages = 3;
  out->items[0] = w.keeps ? 0 : heads;
  out->items[1] = w.packs ? heads * w.s.tiles : 0;
  out->items[2] = heads * w.blocks;
  out->grain[0] = tn_grain(20000, 2 * (double)w.g.present * (double)w.g.size);
  out->grain[1] = tn_grain(20000, (double)w.s.tile_floats);
  out->grain[2] = tn_grain(100000, 2 * (double)w.rows * (double)w.g.present * (double)w.g.size);
  out->scratch_bytes = w.packs ? (uint64_t)packed : 0;
  out->worker_scratch_bytes = (uint64_t)(w.s.worker_floats + 3 * w.g.size) * sizeof(float);
  out->cost_ns = 1000 + (double)(w.g.batch * w.g.heads * w.g.n_q) *
                            (double)(w.g.present * w.g.size) / (2 * FLASH_LANES);
  return TN_OK;
}

/* y = head h of new row i, rotated by the angles of its place. room: 2 * size. */
static tn_status rotate(const tn_call *call, const grouped *g, int which, int64_t b, int64_t h,
                        int64_t i, int64_t before, float *y, float *room) {
  const tn_tensor *t = new_tensor(call, g, which);
  const float *x = tn_load_block_f32(t->dtype, t->data, new_row(g, which, b, h, i), g->size, room);
  memcpy(y, x, (size_t)g->size * sizeof *x);
  if (!g->rotated || which == 2) return TN_OK;
  const int64_t half = g->rotated / 2, step = g->interleaved ? 2 : 1,
                other = g->interleaved ? 1 : half;
  const tn_tensor *cosines = call->inputs[COSINES], *sines = call->inputs[SINES];
  int64_t row;
  const tn_status s = grouped_table_row(call, g, b, before, i, &row);
  if (s) return s;
  const float *c = tn_load_block_f32(cosines->dtype, cosines->data, row * half, half,
                                     room + g->size),
              *d = tn_load_block_f32(sines->dtype, sines->data, row * half, half,
                                     room + g->size + half);
  for (int64_t k = 0; k < half; k++) {
    const float a = x[k * step], e = x[k * step + other];
    y[k * step] = a * c[k] - e * d[k];
    y[k * step + other] = e * c[k] + a * d[k];
  }
  return TN_OK;
}

static char *cache(const tn_call *call, int which, int64_t element) {
  const tn_tensor *t = call->outputs[which];
  return (char *)t->data + element * flash_bytes(t->dtype);
}

/* Where a head's part of the past is, if that is not where the new cache is to be; else NULL. */
static const char *past_of(const tn_call *call, const rows_of *w, int which, int64_t head) {
  const tn_tensor *past = tn_input(call, which == 1 ? PAST_KEY : PAST_VALUE);
  if (!past || past->data == call->outputs[which]->data) return NULL;
  return (const char *)past->data + head * w->g.past * w->g.size * flash_bytes(past->dtype);
}

/* A head of the new cache; its rows from the past are left to flash_attend if that keeps them.
 * room: 3 * size. */
static tn_status write_cache(const tn_call *call, const rows_of *w, int64_t head, float *room) {
  const grouped *g = &w->g;
  const int64_t b = head / g->kv_heads, begin = head * g->present;
  int64_t before;
  tn_status s = grouped_before(call, g, b, &before);
  for (int which = 1; which <= 2 && !s; which++) {
    const tn_tensor *to = call->outputs[which];
    const int64_t bytes = g->size * flash_bytes(to->dtype), end = before + g->n_q;
    const char *past = past_of(call, w, which, head);
    if (past && !w->keeps)
      memcpy(cache(call, which, begin * g->size), past, (size_t)(before * bytes));
    if (past && end < g->past)
      memcpy(cache(call, which, (begin + end) * g->size), past + end * bytes,
             (size_t)((g->past - end) * bytes));
    for (int64_t i = 0; i < g->n_q && !s; i++) {
      const int64_t at = (begin + before + i) * g->size;
      float *y = to->dtype == TN_F32 ? (float *)to->data + at : room + 2 * g->size;
      s = rotate(call, g, which, b, head % g->kv_heads, i, before, y, room);
      if (!s) tn_store_block_f32(to->dtype, to->data, at, g->size, y);
    }
    const int64_t used = tn_max_i64(end, g->past);
    memset(cache(call, which, (begin + used) * g->size), 0, (size_t)((g->present - used) * bytes));
  }
  return s;
}

/* Keys and values of a head: all from the new cache, or those of the past from where they were. */
static flash_head head_of_cache(const tn_call *call, const rows_of *w, int64_t head,
                                int64_t before) {
  const grouped *g = &w->g;
  flash_head h = {.past.n = w->keeps ? before : before + g->n_q, .fresh.n = w->keeps ? g->n_q : 0};
  for (int k = 0; k < 2; k++) {
    const char *past = before > 0 ? past_of(call, w, 1 + k, head) : NULL;
    h.dtype[k] = call->outputs[1 + k]->dtype;
    h.past.step[k] = h.fresh.step[k] = g->size;
    h.past.rows[k] = cache(call, 1 + k, head * g->present * g->size);
    if (!w->keeps) continue;
    h.fresh.rows[k] = cache(call, 1 + k, (head * g->present + before) * g->size);
    if (!past) continue;
    h.present[k] = cache(call, 1 + k, head * g->present * g->size);
    h.past.rows[k] = past;
  }
  return h;
}

static tn_status pack(const tn_call *call, const rows_of *w, int64_t item, float *room) {
  const grouped *g = &w->g;
  const int64_t head = item / w->s.tiles, tile = item % w->s.tiles;
  flash_shape shape;
  int64_t before;
  tn_status s = grouped_before(call, g, head / g->kv_heads, &before);
  if (!s) s = flash_shape_of(g->size, g->size, before + g->n_q, &shape);
  if (s || tile >= shape.tiles) return s;
  const flash_head h = head_of_cache(call, w, head, before);
  flash_pack(&h, &shape, tile, room, (float *)call->scratch + item * w->s.tile_floats);
  return TN_OK;
}

/* The queries of a block, and what they may attend to. */
static tn_status begin_rows(const tn_call *call, const rows_of *w, flash_block *b, int64_t head,
                            int64_t first, int64_t before, float *room) {
  const grouped *g = &w->g;
  const tn_tensor *bias = tn_input(call, BIAS);
  const int64_t batch = head / g->kv_heads, kv = head % g->kv_heads;
  if (bias) b->mask_dtype = bias->dtype;
  for (int64_t r = 0; r < b->n; r++) {
    const int64_t i = (first + r) / w->group, h = kv * w->group + (first + r) % w->group;
    float *q = b->q + r * g->size;
    const tn_status s = rotate(call, g, 0, batch, h, i, before, q, room);
    if (s) return s;
    for (int64_t c = 0; c < g->size; c++) q[c] *= (float)g->scale;
    b->end[r] = before + i + 1;
    b->begin[r] = first_key(g, b->end[r]);
    if (bias)
      b->mask[r] =
          (const char *)bias->data + bias_row(call, g, batch, h, i) * flash_bytes(bias->dtype);
    if (g->sinking) {
      b->top[r] = (float)sink_of(call, h);
      b->total[r] = b->top[r] == -INFINITY ? 0.0f : 1.0f;
    }
  }
  return TN_OK;
}

static tn_status attend(const tn_call *call, const rows_of *w, int64_t item, float *room) {
  const grouped *g = &w->g;
  const int64_t head = item / w->blocks, first = item % w->blocks * w->rows,
                batch = head / g->kv_heads;
  float *more = room + w->s.worker_floats;
  flash_shape shape;
  flash_block b;
  int64_t before;
  tn_status s = grouped_before(call, g, batch, &before);
  if (!s && w->keeps) s = write_cache(call, w, head, more);
  if (!s) s = flash_shape_of(g->size, g->size, before + g->n_q, &shape);
  if (s) return s;
  const flash_head h = head_of_cache(call, w, head, before);
  flash_open(&b, &shape, &h, tn_min_i64(w->rows, w->group * g->n_q - first), room);
  b.softcap = (float)g->softcap;
  if (w->packs) b.packed = (float *)call->scratch + head * w->s.tiles * w->s.tile_floats;
  s = begin_rows(call, w, &b, head, first, before, more);
  if (s) return s;
  flash_attend(&b);
  const tn_tensor *y = call->outputs[0];
  for (int64_t r = 0; r < b.n; r++) {
    const int64_t i = (first + r) / w->group,
                  at = head % g->kv_heads * w->group + (first + r) % w->group;
    flash_store(
        &b, r, y->dtype,
        (char *)y->data + ((batch * g->n_q + i) * g->heads + at) * g->size * flash_bytes(y->dtype));
  }
  return TN_OK;
}

static tn_status run_rows(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  float *room =
      (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  rows_of w;
  tn_status s = grouped_of(call, &w.g);
  if (!s && w.g.present != call->outputs[1]->shape[2])
    s = fail(call, TN_ERR_SHAPE, "total_sequence_length changed since the shapes were inferred");
  if (!s) s = rows_make(call, &w);
  for (int64_t item = begin; item < end && !s; item++)
    s = stage == 0   ? write_cache(call, &w, item, room)
        : stage == 1 ? pack(call, &w, item, room)
                     : attend(call, &w, item, room);
  return s;
}

#define GROUP_QUERY_KERNEL(name)                                                                \
  tn_status TN_SIMD_NAME(name##_plan)(const tn_call *call, tn_kernel_plan *out) {               \
    return plan_rows(call, out);                                                                \
  }                                                                                             \
  tn_status TN_SIMD_NAME(name)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                               uint32_t worker) {                                               \
    return run_rows(call, stage, begin, end, worker);                                           \
  }
