/* Tiled attention (tenon/kit/flash_simd.h). Rows of all heads that share keys and values go
 * together.
 *
 * Stages: the new cache; keys and values packed into panels, where several blocks of rows meet
 * them; the attention. A head with one block writes its part of the cache on the way. */
#include "attention.h"
#include "tenon/kit/flash_simd.h"

typedef struct flash {
  attention a;
  flash_shape s;
  int64_t group, rows, blocks; /* heads that share keys; rows of a block; blocks of them */
  bool packs, keeps;           /* keeps: the cache is written while it is attended to */
} flash;

static tn_status flash_make(const tn_call *call, flash *out) {
  flash f = {.rows = FLASH_ROWS};
  int64_t rows;
  tn_status s = attention_make(call, &f.a);
  if (!s) s = flash_shape_of(f.a.size, f.a.v_size, f.a.total, &f.s);
  if (s) return s;
  f.group = f.a.kv_heads ? f.a.heads / f.a.kv_heads : 0;
  if (tn_mul_i64(f.group, f.a.n_q, &rows)) return TN_ERR_OVERFLOW;
  while (f.rows > FLASH_FEW &&
         f.a.batch * f.a.kv_heads * tn_ceil_div(rows, f.rows) < (int64_t)call->n_workers)
    f.rows /= 2; /* a part for each worker */
  f.blocks = tn_ceil_div(rows, f.rows);
  f.packs = f.blocks > 1 && attention_writes(call, &f.a);
  f.keeps = f.blocks == 1 && f.a.past > 0 && attention_writes(call, &f.a) &&
            (tn_has_output(call, 1) || tn_has_output(call, 2));
  *out = f;
  return TN_OK;
}

static tn_status flash_plan(const tn_call *call, tn_kernel_plan *out) {
  flash f;
  int64_t packed;
  tn_status s = flash_make(call, &f);
  if (s) return s;
  attention_plan_present(call, &f.a, out);
  const int64_t heads = f.a.batch * f.a.kv_heads;
  if (tn_mul_i64(heads * f.s.tiles, f.s.tile_floats * (int64_t)sizeof(float), &packed))
    return TN_ERR_OVERFLOW;
  out->n_stages = 3;
  if (f.keeps) out->items[0] = 0;
  out->items[1] = f.packs ? heads * f.s.tiles : 0;
  out->items[2] = attention_writes(call, &f.a) ? heads * f.blocks : 0;
  out->grain[1] = tn_grain(20000, (double)f.s.tile_floats);
  out->grain[2] =
      tn_grain(100000, (double)f.rows * (double)f.a.total * (double)(f.a.size + f.a.v_size));
  out->scratch_bytes = f.packs ? (uint64_t)packed : 0;
  out->worker_scratch_bytes = (uint64_t)f.s.worker_floats * sizeof(float);
  out->cost_ns = (double)(f.a.batch * f.a.heads) * (double)f.a.n_q * (double)f.a.total *
                     (double)(f.a.size + f.a.v_size) / (4 * FLASH_LANES) +
                 1000;
  return TN_OK;
}

/* The keys and values of head `kv` of a batch. */
static flash_head flash_head_of(const tn_call *call, const flash *f, int64_t batch, int64_t kv) {
  const attention *a = &f->a;
  flash_head h = {.past.n = a->past, .fresh.n = a->n_new};
  for (int which = 0; which < 2; which++) {
    const uint32_t input = which ? ATTENTION_V : ATTENTION_K;
    const int64_t size = f->s.size[which];
    h.dtype[which] = call->inputs[input]->dtype;
    const int64_t bytes = flash_bytes(h.dtype[which]);
    h.past.step[which] = size;
    h.fresh.step[which] = (which ? &a->v : &a->k)->row;
    h.past.rows[which] = attention_row(call, a, input, batch, kv, 0, bytes);
    h.fresh.rows[which] = attention_row(call, a, input, batch, kv, a->past, bytes);
    if (f->keeps && tn_has_output(call, 1 + (uint32_t)which))
      h.present[which] = (char *)call->outputs[1 + which]->data +
                         (batch * a->kv_heads + kv) * a->total * size * bytes;
  }
  return h;
}

/* The new rows of a cache whose others flash_attend copies. */
static void flash_keep_fresh(const flash *f, const flash_head *h) {
  for (int which = 0; which < 2; which++) {
    const int64_t bytes = f->s.size[which] * flash_bytes(h->dtype[which]);
    for (int64_t j = f->a.past; h->present[which] && bytes && j < f->a.total; j++)
      memcpy((char *)h->present[which] + j * bytes, flash_row(h, which, j), (size_t)bytes);
  }
}

/* Row r of a block: its head, and its query's place. */
static void flash_place(const flash *f, int64_t kv, int64_t r, int64_t *out_head, int64_t *out_i) {
  *out_head = kv * f->group + r % f->group;
  *out_i = r / f->group;
}

static void *flash_element(const tn_tensor *t, int64_t k) {
  return (char *)t->data + k * flash_bytes(t->dtype);
}

static void flash_begin(const tn_call *call, const flash *f, flash_block *b, int64_t batch,
                        int64_t kv, int64_t first) {
  const attention *a = &f->a;
  const tn_tensor *q = call->inputs[0], *y = call->outputs[0],
                  *mask = a->mask_columns ? call->inputs[ATTENTION_MASK] : NULL;
  int64_t head, i;
  for (int64_t r = -FLASH_AHEAD; r < b->n; r++) {
    if (r + FLASH_AHEAD < b->n) {
      flash_place(f, kv, first + r + FLASH_AHEAD, &head, &i);
      flash_fetch(flash_element(q, batch * a->q.batch + head * a->q.head + i * a->q.row),
                  a->size * flash_bytes(q->dtype));
    }
    if (r < 0) continue;
    flash_place(f, kv, first + r, &head, &i);
    flash_fetch(flash_element(y, batch * a->y.batch + head * a->y.head + i * a->y.row),
                a->v_size * flash_bytes(y->dtype)); /* to be written in the end */
    float *to = b->q + r * a->size;
    const float *from = tn_load_block_f32(
        q->dtype, q->data, batch * a->q.batch + head * a->q.head + i * a->q.row, a->size, to);
    for (int64_t c = 0; c < a->size; c++) to[c] = from[c] * (float)a->scale;
    attention_keys(a, batch, i, &b->begin[r], &b->end[r]);
    if (!mask) continue;
    b->mask_dtype = mask->dtype;
    b->mask[r] =
        (const char *)mask->data + attention_mask_row(a, batch, head, i) *
                                       (mask->dtype == TN_BOOL ? 1 : flash_bytes(mask->dtype));
  }
}

static void flash_item(const tn_call *call, const flash *f, int64_t item, float *room) {
  const attention *a = &f->a;
  const int64_t kv = item / f->blocks % a->kv_heads, batch = item / f->blocks / a->kv_heads,
                first = item % f->blocks * f->rows;
  const flash_head h = flash_head_of(call, f, batch, kv);
  flash_block b;
  int64_t head, i;
  flash_open(&b, &f->s, &h, tn_min_i64(f->rows, f->group * a->n_q - first), room);
  b.softcap = (float)a->softcap;
  if (f->packs)
    b.packed = (float *)call->scratch + (batch * a->kv_heads + kv) * f->s.tiles * f->s.tile_floats;
  if (f->keeps) flash_keep_fresh(f, &h);
  flash_begin(call, f, &b, batch, kv, first);
  flash_attend(&b);
  for (int64_t r = 0; r < b.n; r++) {
    flash_place(f, kv, first + r, &head, &i);
    flash_store(
        &b, r, call->outputs[0]->dtype,
        flash_element(call->outputs[0], batch * a->y.batch + head * a->y.head + i * a->y.row));
  }
}

static tn_status flash_run_stage(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                 uint32_t worker) {
  flash f;
  tn_status s = flash_make(call, &f);
  float *room =
      (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  if (s) return s;
  if (stage == 0) attention_copy_present(call, &f.a, begin, end);
  for (int64_t item = begin; item < end && stage == 1; item++) {
    const int64_t head = item / f.s.tiles;
    const flash_head h = flash_head_of(call, &f, head / f.a.kv_heads, head % f.a.kv_heads);
    flash_pack(&h, &f.s, item % f.s.tiles, room, (float *)call->scratch + item * f.s.tile_floats);
  }
  for (int64_t item = begin; item < end && stage == 2; item++) flash_item(call, &f, item, room);
  return TN_OK;
}

/* Two kernels by the same functions: of f32, and of half floats. */
#define FLASH_KERNEL(name)                                                                      \
  tn_status TN_SIMD_NAME(name##_plan)(const tn_call *call, tn_kernel_plan *out) {               \
    return flash_plan(call, out);                                                               \
  }                                                                                             \
  tn_status TN_SIMD_NAME(name)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                               uint32_t worker) {                                               \
    return flash_run_stage(call, stage, begin, end, worker);                                    \
  }
