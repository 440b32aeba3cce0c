/* com.microsoft::Attention: the projection of the input to queries, keys and values, and a cache of
 * both in one tensor. */
#include "attention.gen.h"

#include "heads.h"

enum { INPUT, WEIGHTS, BIAS, MASK, PAST, SCORE_BIAS, PAST_LENGTH };

/* hidden: columns of queries, keys and values among the weights. */
static tn_status hidden_sizes(const tn_call *call, int64_t hidden[3]) {
  const tn_attention_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[INPUT], *w = call->inputs[WEIGHTS],
                  *bias = tn_input(call, BIAS);
  if (x->rank != 3 || w->rank != 2 || w->shape[0] != x->shape[2])
    return fail(call, TN_ERR_SHAPE, "input and weights do not fit together");
  for (int k = 0; k < 3; k++)
    hidden[k] = a->qkv_hidden_sizes.size == 3 ? a->qkv_hidden_sizes.data[k] : w->shape[1] / 3;
  bool fits = a->num_heads > 0 && hidden[0] == hidden[1] &&
              (!bias || (bias->rank == 1 && bias->shape[0] == w->shape[1]));
  for (int k = 0; k < 3 && fits; k++)
    fits = hidden[k] > 0 && hidden[k] <= w->shape[1] && hidden[k] % a->num_heads == 0;
  if (!fits || hidden[0] + hidden[1] + hidden[2] != w->shape[1])
    return fail(call, TN_ERR_SHAPE,
                "weights, bias, num_heads and qkv_hidden_sizes do not fit together");
  return TN_OK;
}

static tn_status make(const tn_call *call, int64_t hidden[3], heads *out) {
  const tn_attention_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[INPUT], *past = tn_input(call, PAST);
  if (a->do_rotary || a->past_present_share_buffer || tn_input(call, PAST_LENGTH))
    return fail(call, TN_ERR_UNSUPPORTED,
                "not supported: do_rotary, past_present_share_buffer and past_sequence_length");
  tn_status s = hidden_sizes(call, hidden);
  if (s) return s;
  heads h = {.batch = x->shape[0],
             .n_q = x->shape[1],
             .n_new = x->shape[1],
             .heads = a->num_heads,
             .size = hidden[0] / a->num_heads,
             .v_size = hidden[2] / a->num_heads,
             .scale = a->scale,
             .filter = a->mask_filter_value,
             .causal = a->unidirectional != 0,
             .dtype = x->dtype,
             .mask = MASK,
             .bias = SCORE_BIAS};
  if ((past || tn_has_output(call, 1)) && h.size != h.v_size)
    return fail(call, TN_ERR_SHAPE, "with a cache, keys and values have the same size");
  if (past) {
    if (past->rank != 5 || past->shape[0] != 2 || past->shape[1] != h.batch ||
        past->shape[2] != h.heads || past->shape[4] != h.size)
      return fail(call, TN_ERR_SHAPE, "past is not [2, batch, heads, keys, head size]");
    h.past = past->shape[3];
  }
  *out = h;
  return heads_complete(call, out);
}

tn_status attention_infer(const tn_call *call) {
  int64_t hidden[3];
  heads h;
  tn_status s = make(call, hidden, &h);
  if (s) return s;
  tn_infer_shape(call, 0, h.dtype, 3, (int64_t[]){h.batch, h.n_q, hidden[2]});
  tn_infer_shape(call, 1, h.dtype, 5, (int64_t[]){2, h.batch, h.heads, h.total, h.size});
  return TN_OK;
}

tn_status attention_flops(const tn_call *call, double *out_flops) {
  int64_t hidden[3];
  heads h;
  tn_status s = make(call, hidden, &h);
  if (!s)
    *out_flops = heads_flops(&h) + 2 * (double)tn_elements(call->inputs[INPUT]) *
                                       (double)call->inputs[WEIGHTS]->shape[1];
  return s;
}

/* input x weights + bias, cut into the three. */
static void project(builder *b, const heads *h, const int64_t hidden[3], int32_t out[3]) {
  const int64_t columns = b->call->inputs[INPUT]->shape[2], rows = h->batch * h->n_q;
  const int32_t operands[3] = {
      build_reshape(b, build_input(b, INPUT), (int64_t[]){rows, columns}, 2),
      build_input(b, WEIGHTS), build_input(b, BIAS)};
  int32_t all;
  build_node(b, "Gemm", operands, 3, NULL, 0, &all, 1);
  build_split(b, all, 1, hidden, 3, out);
  for (int k = 0; k < 3; k++)
    out[k] = build_reshape(b, out[k], (int64_t[]){h->batch, h->n_q, hidden[k]}, 3);
}

tn_status attention_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  builder b = build_begin(call, graph, node);
  int64_t hidden[3];
  int32_t qkv[3], past[2] = {-1, -1}, out[3], made[2] = {-1, -1};
  heads h;
  tn_status s = make(call, hidden, &h);
  if (s) return s;
  project(&b, &h, hidden, qkv);
  heads_past(&b, &h, build_input(&b, PAST), past);
  heads_build(&b, &h, qkv, past, out);
  made[0] = out[0];
  if (tn_has_output(call, 1)) made[1] = heads_present(&b, &h, out + 1);
  return build_end(&b, made, 2);
}

/* ---- reference ---- */

/* Columns [first, first + heads * size) of the projection as [batch][heads][past + rows][size],
 * after the past's. */
static void project_reference(const tn_call *call, const heads *h, int64_t first, int64_t size,
                              int64_t past, const double *before, double *to) {
  const tn_tensor *x = call->inputs[INPUT], *w = call->inputs[WEIGHTS],
                  *bias = tn_input(call, BIAS);
  const int64_t depth = x->shape[2], total = past + h->n_q;
  for (int64_t k = 0; k < h->batch * h->heads * total * size; k++) {
    const int64_t c = k % size, j = k / size % total, head = k / size / total % h->heads,
                  b = k / size / total / h->heads;
    const int64_t column = first + head * size + c, row = b * h->n_q + j - past;
    double sum = bias ? load(bias, column) : 0;
    for (int64_t d = 0; j >= past && d < depth; d++)
      sum += load(x, row * depth + d) * load(w, d * w->shape[1] + column);
    to[k] = j >= past ? sum : before[((b * h->heads + head) * past + j) * size + c];
  }
}

static void run_reference(const tn_call *call, const heads *h, double *q, double *k, double *v,
                          double *past) {
  const tn_tensor *cache = tn_input(call, PAST);
  tn_tensor *present = tn_output(call, 1);
  const int64_t half = h->batch * h->heads * h->past * h->size,
                whole = h->batch * h->heads * h->total * h->size;
  for (int64_t i = 0; cache && i < 2 * half; i++) past[i] = load(cache, i);
  project_reference(call, h, 0, h->size, 0, NULL, q);
  project_reference(call, h, h->heads * h->size, h->size, h->past, past, k);
  project_reference(call, h, 2 * h->heads * h->size, h->v_size, h->past, past + half, v);
  heads_reference(call, h, q, k, v, call->outputs[0]);
  for (int64_t i = 0; present && i < whole; i++) {
    store(present, i, k[i]);
    store(present, whole + i, v[i]);
  }
}

tn_status attention_reference(const tn_call *call) {
  int64_t hidden[3];
  heads h;
  tn_status s = make(call, hidden, &h);
  if (s) return s;
  const int64_t n_q = h.batch * h.heads * h.n_q * h.size,
                n_k = h.batch * h.heads * h.total * h.size,
                n_v = h.batch * h.heads * h.total * h.v_size;
  double *room = call->host->alloc(
      call->ctx,
      (uint64_t)(n_q + n_k + n_v + 2 * h.batch * h.heads * h.past * h.size + 1) * sizeof *room);
  if (!room) return TN_ERR_MEMORY;
  run_reference(call, &h, room, room + n_q, room + n_q + n_k, room + n_q + n_k + n_v);
  call->host->free(call->ctx, room);
  return TN_OK;
}
