/* com.microsoft::MultiHeadAttention: queries, keys and values apart or packed, each with a part of
 * the bias. */
#include "attention.gen.h"
#include "heads.h"

enum { QUERY, KEY, VALUE, BIAS, MASK, SCORE_BIAS, PAST_KEY, PAST_VALUE, PAST_LENGTH, INDIRECTION };

/* How keys and values come: with rows of heads; all three packed; keys and values packed; heads
 * before rows. */
enum { APART, PACKED_QKV, PACKED_KV, HEADS_FIRST };

static tn_status sizes(const tn_call *call, heads *h, int *out_way) {
  const tn_tensor *q = call->inputs[QUERY], *k = tn_input(call, KEY), *v = tn_input(call, VALUE);
  const int64_t n = ((const tn_multi_head_attention_attrs *)call->attrs)->num_heads;
  bool fits = n > 0;
  h->heads = n;
  h->batch = q->rank > 0 ? q->shape[0] : 0;
  if (fits && q->rank == 5 && !k && !v) {
    *out_way = PACKED_QKV;
    fits = q->shape[2] == n && q->shape[3] == 3;
    h->n_q = h->n_new = q->shape[1], h->size = h->v_size = q->shape[4];
  } else if (fits && q->rank == 3 && k && k->shape[0] == h->batch && tn_divides(n, q->shape[2])) {
    h->n_q = q->shape[1], h->size = q->shape[2] / n;
    *out_way = k->rank == 5 ? PACKED_KV : k->rank == 4 ? HEADS_FIRST : APART;
    h->n_new = k->rank == 4 ? k->shape[2] : k->rank > 1 ? k->shape[1] : 0;
    if (k->rank == 5)
      fits = !v && k->shape[2] == n && k->shape[3] == 2 && k->shape[4] == h->size;
    else if (k->rank == 4)
      fits = v && v->rank == 4 && k->shape[1] == n && v->shape[1] == n && v->shape[2] == h->n_new &&
             k->shape[3] == h->size;
    else
      fits = v && v->rank == 3 && k->rank == 3 && k->shape[2] == q->shape[2] &&
             v->shape[1] == h->n_new && tn_divides(n, v->shape[2]);
    if (fits && v) fits = v->shape[0] == h->batch;
    if (fits) h->v_size = !v ? h->size : v->rank == 4 ? v->shape[3] : v->shape[2] / n;
  } else {
    fits = false;
  }
  return fits ? TN_OK
              : fail(call, TN_ERR_SHAPE, "query, key, value and num_heads do not fit together");
}

static tn_status make(const tn_call *call, heads *out, int *out_way) {
  const tn_multi_head_attention_attrs *a = call->attrs;
  const tn_tensor *bias = tn_input(call, BIAS), *k = tn_input(call, PAST_KEY),
                  *v = tn_input(call, PAST_VALUE);
  heads h = {.scale = a->scale,
             .filter = a->mask_filter_value,
             .causal = a->unidirectional != 0,
             .dtype = call->inputs[QUERY]->dtype,
             .mask = MASK,
             .bias = SCORE_BIAS};
  if (tn_input(call, PAST_LENGTH) || tn_input(call, INDIRECTION) || tn_has_output(call, 3))
    return fail(call, TN_ERR_UNSUPPORTED,
                "not supported: past_sequence_length, cache_indirection and qk");
  tn_status s = sizes(call, &h, out_way);
  if (s) return s;
  if (bias && (bias->rank != 1 || bias->shape[0] != h.heads * (2 * h.size + h.v_size)))
    return fail(call, TN_ERR_SHAPE, "the bias does not fit");
  if (!k != !v) return fail(call, TN_ERR_INVALID, "past_key and past_value come together");
  for (int d = 0; k && d < 4; d++) {
    const int64_t want[4] = {h.batch, h.heads, k->rank == 4 ? k->shape[2] : 0, h.size};
    if (k->rank != 4 || v->rank != 4 || k->shape[d] != want[d] ||
        v->shape[d] != (d == 3 ? h.v_size : want[d]))
      return fail(call, TN_ERR_SHAPE,
                  "past_key and past_value are not [batch, heads, keys, head size]");
  }
  if (k) h.past = k->shape[2];
  *out = h;
  return heads_complete(call, out);
}

tn_status multi_head_attention_infer(const tn_call *call) {
  heads h;
  int way;
  tn_status s = make(call, &h, &way);
  if (s) return s;
  tn_infer_shape(call, 0, h.dtype, 3, (int64_t[]){h.batch, h.n_q, h.heads * h.v_size});
  tn_infer_shape(call, 1, h.dtype, 4, (int64_t[]){h.batch, h.heads, h.total, h.size});
  tn_infer_shape(call, 2, h.dtype, 4, (int64_t[]){h.batch, h.heads, h.total, h.v_size});
  return TN_OK;
}

tn_status multi_head_attention_flops(const tn_call *call, double *out_flops) {
  heads h;
  int way;
  tn_status s = make(call, &h, &way);
  if (!s) *out_flops = heads_flops(&h);
  return s;
}

/* Takes the n things in dim 3 of [batch, rows, heads, n, size] apart. */
static void unpack(builder *b, const heads *h, int32_t x, int64_t rows, uint32_t n, int32_t *out) {
  const int64_t ones[3] = {1, 1, 1};
  build_split(b, x, 3, ones, n, out);
  for (uint32_t k = 0; k < n; k++)
    out[k] = build_reshape(b, out[k], (int64_t[]){h->batch, rows, h->heads * h->size}, 3);
}

/* All three as [batch, rows, heads * size]. */
static void gather(builder *b, const heads *h, int way, int32_t qkv[3]) {
  for (uint32_t k = 0; k < 3; k++) qkv[k] = build_input(b, k);
  if (way == PACKED_QKV) unpack(b, h, qkv[0], h->n_q, 3, qkv);
  if (way == PACKED_KV) unpack(b, h, qkv[1], h->n_new, 2, qkv + 1);
  for (int k = 1; k < 3 && way == HEADS_FIRST; k++) {
    const int64_t width = h->heads * (k == 1 ? h->size : h->v_size);
    qkv[k] = build_reshape(b, build_transpose(b, qkv[k], (int64_t[]){0, 2, 1, 3}, 4),
                           (int64_t[]){h->batch, h->n_new, width}, 3);
  }
}

tn_status multi_head_attention_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  builder b = build_begin(call, graph, node);
  int32_t qkv[3], parts[3], out[3];
  heads h;
  int way;
  tn_status s = make(call, &h, &way);
  if (s) return s;
  gather(&b, &h, way, qkv);
  if (build_input(&b, BIAS) >= 0) {
    build_split(&b, build_input(&b, BIAS), 0,
                (int64_t[]){h.heads * h.size, h.heads * h.size, h.heads * h.v_size}, 3, parts);
    for (int k = 0; k < 3; k++) qkv[k] = build_binary(&b, "Add", qkv[k], parts[k]);
  }
  heads_build(&b, &h, qkv, (int32_t[]){build_input(&b, PAST_KEY), build_input(&b, PAST_VALUE)},
              out);
  return build_end(&b, out, 3);
}

/* ---- reference ---- */

/* Element c of row j (of those that come in) of queries, keys or values: which is 0, 1 or 2. */
static double element(const tn_call *call, const heads *h, int way, int which, int64_t b,
                      int64_t head, int64_t j, int64_t c) {
  const int64_t rows = which ? h->n_new : h->n_q, size = which == 2 ? h->v_size : h->size,
                row = b * rows + j;
  const tn_tensor *bias = tn_input(call, BIAS);
  const double more = bias ? load(bias, which * h->heads * h->size + head * size + c) : 0;
  if (way == PACKED_QKV)
    return more + load(call->inputs[QUERY], ((row * h->heads + head) * 3 + which) * size + c);
  if (way == PACKED_KV && which)
    return more + load(call->inputs[KEY], ((row * h->heads + head) * 2 + which - 1) * size + c);
  if (way == HEADS_FIRST && which)
    return more + load(call->inputs[which], ((b * h->heads + head) * rows + j) * size + c);
  return more + load(call->inputs[which], (row * h->heads + head) * size + c);
}

/* [batch][heads][past + rows][size]; present, if asked for, is the same. */
static void collect(const tn_call *call, const heads *h, int way, int which, double *to) {
  const int64_t past = which ? h->past : 0, rows = past + (which ? h->n_new : h->n_q),
                size = which == 2 ? h->v_size : h->size;
  tn_tensor *present = which ? tn_output(call, (uint32_t)which) : NULL;
  for (int64_t k = 0; k < h->batch * h->heads * rows * size; k++) {
    const int64_t c = k % size, j = k / size % rows, head = k / size / rows % h->heads,
                  b = k / size / rows / h->heads;
    if (j < past)
      to[k] = load(call->inputs[which == 1 ? PAST_KEY : PAST_VALUE],
                   ((b * h->heads + head) * past + j) * size + c);
    else
      to[k] = element(call, h, way, which, b, head, j - past, c);
    if (present) store(present, k, to[k]);
  }
}

tn_status multi_head_attention_reference(const tn_call *call) {
  heads h;
  int way;
  tn_status s = make(call, &h, &way);
  if (s) return s;
  const int64_t n_q = h.batch * h.heads * h.n_q * h.size,
                n_k = h.batch * h.heads * h.total * h.size,
                n_v = h.batch * h.heads * h.total * h.v_size;
  double *q = call->host->alloc(call->ctx, (uint64_t)(n_q + n_k + n_v + 1) * sizeof *q);
  if (!q) return TN_ERR_MEMORY;
  collect(call, &h, way, 0, q);
  collect(call, &h, way, 1, q + n_q);
  collect(call, &h, way, 2, q + n_q + n_k);
  heads_reference(call, &h, q, q + n_q, q + n_q + n_k, call->outputs[0]);
  call->host->free(call->ctx, q);
  return TN_OK;
}
