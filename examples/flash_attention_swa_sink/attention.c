/* Both operators beyond their kernels: from the call to plain numbers, inference, FLOPs, plan, and
 * the reference, which is the definition written as loops in f64. */
#include "attention.h"

#include <math.h>

static const int64_t MOST_OFFSET = INT64_C(1) << 40;

/* ---- from the call to plain numbers ---- */

/* An optional input at the end may be NULL, or not counted at all. */
static const tn_tensor *optional(const tn_call *call, uint32_t input) {
  return input < call->n_inputs ? call->inputs[input] : NULL;
}

static attention common(const tn_call *call, const tn_tensor *sink) {
  const tn_tensor *q = call->inputs[0], *k = call->inputs[1], *v = call->inputs[2];
  attention p = {.dtype = q->dtype,
                 .n_batch = q->shape[0],
                 .n_q = q->shape[1],
                 .n_heads = q->shape[2],
                 .n_kv_heads = k->shape[2],
                 .d_qk = q->shape[3],
                 .d_v = v->shape[3],
                 .q = q->data,
                 .k = k->data,
                 .v = v->data,
                 .out = call->outputs[0]->data};
  p.group = p.n_kv_heads ? p.n_heads / p.n_kv_heads : 1;
  if (sink) p.sink = sink->data, p.sink_dtype = sink->dtype;
  return p;
}

attention attention_of_flash(const tn_call *call) {
  const flash_attrs *a = call->attrs;
  attention p = common(call, optional(call, 3));
  p.n_kv = call->inputs[1]->shape[1];
  p.scale = a->has_scale ? a->scale : 1 / sqrt((double)p.d_qk);
  p.causal = a->causal;
  p.window = a->window;
  p.q_offset = a->q_offset;
  p.k_offset = a->k_offset;
  const tn_tensor *offsets = optional(call, 4);
  if (offsets) p.offsets = offsets->data, p.offsets_dtype = offsets->dtype;
  return p;
}

attention attention_of_paged(const tn_call *call) {
  const paged_attrs *a = call->attrs;
  const tn_tensor *table = call->inputs[3];
  attention p = common(call, optional(call, 5));
  p.table = table->data;
  p.lengths = call->inputs[4]->data;
  p.table_dtype = table->dtype;
  p.max_pages = table->shape[1];
  p.n_pages = call->inputs[1]->shape[0];
  p.page_size = call->inputs[1]->shape[1];
  p.n_kv = p.max_pages * p.page_size;
  p.scale = a->has_scale ? a->scale : 1 / sqrt((double)p.d_qk);
  p.causal = a->causal;
  p.window = a->window;
  return p;
}

/* ---- inference ---- */

static tn_status check_rank(const tn_call *call, uint32_t input, const char *name, int32_t rank) {
  const tn_tensor *t = call->inputs[input];
  if (t->rank == rank) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_SHAPE, "%s has rank %d, but must have rank %d", name,
                          t->rank, rank);
}

static tn_status check_equal(const tn_call *call, const char *rule, int64_t a, int64_t b) {
  if (a == b) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_SHAPE, "%s, but these are %lld and %lld", rule,
                          (long long)a, (long long)b);
}

static tn_status check_attr(const tn_call *call, const char *name, int64_t value) {
  if (value >= 0 && value <= MOST_OFFSET) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_INVALID,
                          "attribute '%s' is %lld, but must lie in 0 .. 2^40", name,
                          (long long)value);
}

static tn_status check_sizes(const tn_call *call) {
  const tn_tensor *q = call->inputs[0], *k = call->inputs[1], *v = call->inputs[2];
  int64_t hq = q->shape[2], hkv = k->shape[2];
  if (q->shape[3] < 1 || v->shape[3] < 1 || q->shape[3] > MAX_HEAD_DIM ||
      v->shape[3] > MAX_HEAD_DIM)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "the last dims of Q and V are %lld and %lld, but must lie in 1 .. %d",
                            (long long)q->shape[3], (long long)v->shape[3], MAX_HEAD_DIM);
  if (hkv < 1 || hq % hkv)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "the number of heads of Q, %lld, must be a multiple of that of K, %lld",
                            (long long)hq, (long long)hkv);
  if (q->shape[1] > MOST_OFFSET || k->shape[1] > MOST_OFFSET)
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW, "Q or K is longer than 2^40");
  return TN_OK;
}

/* What both operators ask of Q, K, V and sink, and the output's shape [B, Sq, Hq, Dv]. */
static tn_status infer_common(const tn_call *call, const tn_tensor *sink) {
  tn_status s = check_rank(call, 0, "Q", 4);
  if (!s) s = check_rank(call, 1, "K", 4);
  if (!s) s = check_rank(call, 2, "V", 4);
  if (s) return s;
  const tn_tensor *q = call->inputs[0], *k = call->inputs[1], *v = call->inputs[2];
  s = check_equal(call, "the last dims of Q and K must be equal", q->shape[3], k->shape[3]);
  if (!s) s = check_equal(call, "K and V must have as many heads", k->shape[2], v->shape[2]);
  if (!s) s = check_equal(call, "dim 0 of K and V must be equal", k->shape[0], v->shape[0]);
  if (!s) s = check_equal(call, "dim 1 of K and V must be equal", k->shape[1], v->shape[1]);
  if (!s) s = check_sizes(call);
  if (!s && sink && sink->rank != 1)
    s = call->host->fail(call->ctx, TN_ERR_SHAPE, "sink has rank %d, but must have rank 1",
                         sink->rank);
  if (!s && sink)
    s = check_equal(call, "sink must have one element per head of Q", sink->shape[0], q->shape[2]);
  if (s) return s;
  tn_tensor *out = call->outputs[0];
  out->dtype = q->dtype;
  out->rank = 4;
  for (int d = 0; d < 3; d++) out->shape[d] = q->shape[d];
  out->shape[3] = v->shape[3];
  return TN_OK;
}

static tn_status check_offsets(const tn_call *call, const tn_tensor *offsets) {
  if (!offsets) return TN_OK;
  if (offsets->rank != 2)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "offsets has rank %d, but must have rank 2",
                            offsets->rank);
  tn_status s = check_equal(call, "offsets needs a row per sequence of Q", offsets->shape[0],
                            call->inputs[0]->shape[0]);
  if (s) return s;
  return check_equal(call, "offsets has two columns, q_offset and k_offset", offsets->shape[1], 2);
}

tn_status flash_infer(const tn_call *call) {
  const flash_attrs *a = call->attrs;
  tn_status s = infer_common(call, optional(call, 3));
  if (!s)
    s = check_equal(call, "dim 0 of Q and K must be equal", call->inputs[0]->shape[0],
                    call->inputs[1]->shape[0]);
  if (!s) s = check_offsets(call, optional(call, 4));
  if (!s) s = check_attr(call, "window", a->window);
  if (!s) s = check_attr(call, "q_offset", a->q_offset);
  if (!s) s = check_attr(call, "k_offset", a->k_offset);
  return s;
}

tn_status paged_infer(const tn_call *call) {
  const paged_attrs *a = call->attrs;
  tn_status s = infer_common(call, optional(call, 5));
  if (!s) s = check_rank(call, 3, "block_table", 2);
  if (!s) s = check_rank(call, 4, "context_lengths", 1);
  if (s) return s;
  const tn_tensor *q = call->inputs[0], *k = call->inputs[1], *table = call->inputs[3];
  s = check_equal(call, "block_table needs a row per sequence of Q", table->shape[0], q->shape[0]);
  if (!s)
    s = check_equal(call, "context_lengths needs an element per sequence of Q",
                    call->inputs[4]->shape[0], q->shape[0]);
  if (!s && k->shape[1] < 1)
    s = call->host->fail(call->ctx, TN_ERR_SHAPE, "a page of K holds no keys: dim 1 is 0");
  if (!s && table->shape[1] > MOST_OFFSET / k->shape[1])
    s = call->host->fail(call->ctx, TN_ERR_OVERFLOW, "block_table stands for more than 2^40 keys");
  return s ? s : check_attr(call, "window", a->window);
}

/* ---- FLOPs and plan ---- */

/* Products and sums for the pairs of query and key that are visible. Paged: as if all contexts were
 * as long as the table allows, for their lengths are data. */
static double flops_of(const attention *p) {
  double pairs = 0;
  for (int64_t s = 0; s < p->n_q; s++) {
    key_range r = visible(p, 0, p->n_kv, s);
    pairs += r.hi > r.lo ? (double)(r.hi - r.lo) : 0;
  }
  return 2 * pairs * (double)(p->d_qk + p->d_v) * (double)p->n_batch * (double)p->n_heads;
}

tn_status flash_flops(const tn_call *call, double *out_flops) {
  attention p = attention_of_flash(call);
  if (optional(call, 4)) { /* data, not checked yet: as if the queries were the last positions */
    p.offsets = NULL;
    p.q_offset = max_i64(p.n_kv - p.n_q, 0);
    p.k_offset = 0;
  }
  *out_flops = flops_of(&p);
  return TN_OK;
}

tn_status paged_flops(const tn_call *call, double *out_flops) {
  attention p = attention_of_paged(call);
  static const int64_t none = 0;
  if (!p.table) p.table = &none; /* only says that the call is paged; no length is read */
  *out_flops = flops_of(&p);
  return TN_OK;
}

/* Attention is one stage; its items are blocks of rows, a row being one query of one head. All
 * heads that share a head of K and V are in one block, so that a decode step reads the cache
 * once. */
static void plan_attention(const attention *p, int stage, tn_kernel_plan *out) {
  double row_work = (double)p->n_kv * (double)(p->d_qk + p->d_v);
  double item_work = row_work * (double)min_i64(BLOCK_ROWS, p->n_q * p->group);
  out->items[stage] = p->n_batch * p->n_kv_heads * row_blocks(p);
  out->grain[stage] = item_work > 100000 ? 1 : 1 + (int64_t)(100000 / (item_work + 1000));
  int64_t rows = BLOCK_ROWS * (p->d_qk + p->d_v), tile = BLOCK_KEYS * BLOCK_ROWS;
  int64_t keys = p->dtype == TN_F32 ? 0 : BLOCK_KEYS * (p->d_qk + p->d_v);
  out->worker_scratch_bytes = (uint64_t)(rows + tile + keys) * sizeof(float);
}

tn_status flash_plan(const tn_call *call, tn_kernel_plan *out) {
  attention p = attention_of_flash(call);
  if (!optional(call, 4)) return plan_attention(&p, 0, out), TN_OK;
  out->n_stages = 2; /* offsets are checked before anything is read */
  out->items[0] = p.n_batch;
  out->grain[0] = p.n_batch;
  plan_attention(&p, 1, out);
  return TN_OK;
}

tn_status paged_plan(const tn_call *call, tn_kernel_plan *out) {
  attention p = attention_of_paged(call);
  out->n_stages = 2;
  out->items[0] = p.n_batch;
  out->grain[0] = p.n_batch;
  plan_attention(&p, 1, out);
  return TN_OK;
}

const char *attention_refuse(const tn_call *call) {
  const tn_tensor *q = call->inputs[0];
  double batch = q->shape[0] ? (double)q->shape[0] : 1;
  double rows = batch * (double)(q->shape[1] + 1) *
                (double)(q->shape[2] + call->inputs[1]->shape[2] + BLOCK_ROWS);
  return rows < 0x1p62 ? NULL : "more rows than a 64-bit number counts";
}

tn_status offsets_check(const tn_call *call, int64_t begin, int64_t end) {
  const tn_tensor *offsets = call->inputs[4];
  for (int64_t k = 2 * begin; k < 2 * end; k++) {
    int64_t n = load_index(offsets->dtype, offsets->data, k);
    if (n < 0 || n > MOST_OFFSET)
      return call->host->fail(call->ctx, TN_ERR_INVALID,
                              "offsets[%lld, %lld] is %lld, but must lie in 0 .. 2^40",
                              (long long)(k / 2), (long long)(k % 2), (long long)n);
  }
  return TN_OK;
}

tn_status paged_check(const tn_call *call, int64_t begin, int64_t end) {
  attention p = attention_of_paged(call);
  for (int64_t b = begin; b < end; b++) {
    int64_t n = load_index(p.table_dtype, p.lengths, b);
    if (n < 0 || n > p.n_kv)
      return call->host->fail(call->ctx, TN_ERR_INVALID,
                              "context_lengths[%lld] is %lld, but the row of block_table has room "
                              "for 0 .. %lld keys",
                              (long long)b, (long long)n, (long long)p.n_kv);
    for (int64_t k = 0; k * p.page_size < n; k++) {
      int64_t page = load_index(p.table_dtype, p.table, b * p.max_pages + k);
      if (page < 0 || page >= p.n_pages)
        return call->host->fail(call->ctx, TN_ERR_INVALID,
                                "block_table[%lld, %lld] is %lld, but there are %lld pages",
                                (long long)b, (long long)k, (long long)page, (long long)p.n_pages);
    }
  }
  return TN_OK;
}

/* ---- the reference ---- */

static double score(const attention *p, int64_t b, int64_t s, int64_t h, int64_t j) {
  int64_t q = ((b * p->n_q + s) * p->n_heads + h) * p->d_qk;
  int64_t k = (key_row(p, b, j) * p->n_kv_heads + h / p->group) * p->d_qk;
  double dot = 0;
  for (int64_t d = 0; d < p->d_qk; d++)
    dot += (double)load_f32(p->dtype, p->q, q + d) * (double)load_f32(p->dtype, p->k, k + d);
  return p->scale * dot;
}

/* Channels c .. c+n-1 of one output row: sum of e^(z - top) v over the keys, divided by `sum`. */
enum { CHANNELS = 64 };
static void reference_channels(const attention *p, int64_t b, int64_t s, int64_t h, int64_t c,
                               int64_t n, double top, double sum) {
  int64_t out = ((b * p->n_q + s) * p->n_heads + h) * p->d_v + c;
  key_range r = visible(p, b, key_count(p, b), s);
  double y[CHANNELS] = {0};
  for (int64_t j = r.lo; j < r.hi; j++) {
    int64_t v = (key_row(p, b, j) * p->n_kv_heads + h / p->group) * p->d_v + c;
    double e = exp(score(p, b, s, h, j) - top);
    for (int64_t i = 0; i < n; i++) y[i] += e * (double)load_f32(p->dtype, p->v, v + i);
  }
  for (int64_t i = 0; i < n; i++)
    store_f32(p->dtype, p->out, out + i, (float)(sum == 0 ? 0 : y[i] / sum));
}

static void reference_row(const attention *p, int64_t b, int64_t s, int64_t h) {
  key_range r = visible(p, b, key_count(p, b), s);
  double sink = p->sink ? (double)load_f32(p->sink_dtype, p->sink, h) : -INFINITY, top = sink;
  for (int64_t j = r.lo; j < r.hi; j++) top = fmax(top, score(p, b, s, h, j));
  if (top == -INFINITY) top = 0; /* nothing to see: all terms are zero */
  double sum = exp(sink - top);
  for (int64_t j = r.lo; j < r.hi; j++) sum += exp(score(p, b, s, h, j) - top);
  for (int64_t c = 0; c < p->d_v; c += CHANNELS)
    reference_channels(p, b, s, h, c, min_i64(CHANNELS, p->d_v - c), top, sum);
}

static tn_status reference(const attention *p) {
  for (int64_t b = 0; b < p->n_batch; b++)
    for (int64_t s = 0; s < p->n_q; s++)
      for (int64_t h = 0; h < p->n_heads; h++) reference_row(p, b, s, h);
  return TN_OK;
}

tn_status flash_reference(const tn_call *call) {
  attention p = attention_of_flash(call);
  tn_status status = p.offsets ? offsets_check(call, 0, p.n_batch) : TN_OK;
  if (status) return status;
  return reference(&p);
}

tn_status paged_reference(const tn_call *call) {
  tn_status status = paged_check(call, 0, call->inputs[0]->shape[0]);
  if (status) return status;
  attention p = attention_of_paged(call);
  return reference(&p);
}
