/* com.microsoft::GroupQueryAttention: inference, cost and the reference, which computes in f64,
 * element by element. */
#include "group_query.h"

#include <math.h>

static tn_status make_rows(const tn_call *call, grouped *g) {
  const tn_tensor *q = call->inputs[QUERY], *k = tn_input(call, KEY), *v = tn_input(call, VALUE);
  g->packed = !k;
  if (q->rank != 3 || g->heads < 1 || g->kv_heads < 1 || g->heads % g->kv_heads || !k != !v)
    return fail(
        call, TN_ERR_SHAPE,
        "query has rank 3, num_heads is a multiple of kv_num_heads, key and value come together");
  g->batch = q->shape[0], g->n_q = q->shape[1], g->q_row = q->shape[2];
  int64_t in_row = g->heads; /* attributes may be anything */
  for (int i = 0; i < 2 && g->packed; i++)
    if (tn_add_i64(in_row, g->kv_heads, &in_row))
      return fail(call, TN_ERR_OVERFLOW, "the sum of num_heads and kv_num_heads overflows");
  g->size = g->q_row / in_row;
  g->kv_row = g->packed ? g->q_row : g->kv_heads * g->size;
  bool fits = tn_divides(in_row, g->q_row);
  for (uint32_t i = KEY; i <= VALUE && k; i++) {
    const tn_tensor *t = call->inputs[i];
    fits = fits && t->rank == 3 && t->shape[0] == g->batch && t->shape[1] == g->n_q &&
           t->shape[2] == g->kv_row;
  }
  return fits ? TN_OK
              : fail(call, TN_ERR_SHAPE,
                     "query, key, value and the numbers of heads do not fit together");
}

static tn_status make_cache(const tn_call *call, grouped *g) {
  const tn_tensor *k = tn_input(call, PAST_KEY), *v = tn_input(call, PAST_VALUE);
  if (!k != !v) return fail(call, TN_ERR_INVALID, "past_key and past_value come together");
  if (k) {
    if (k->rank != 4 || v->rank != 4 || k->shape[0] != g->batch || k->shape[1] != g->kv_heads ||
        k->shape[3] != g->size)
      return fail(call, TN_ERR_SHAPE, "past_key is not [batch, kv heads, keys, head size]");
    for (int d = 0; d < 4; d++)
      if (k->shape[d] != v->shape[d])
        return fail(call, TN_ERR_SHAPE, "past_key and past_value differ in shape");
    g->past = k->shape[2];
  }
  const tn_tensor *lengths = call->inputs[LENGTHS];
  if (tn_elements(lengths) != g->batch || tn_elements(call->inputs[TOTAL]) != 1)
    return fail(call, TN_ERR_SHAPE,
                "seqlens_k has one value per batch, total_sequence_length is one value");
  return TN_OK;
}

static tn_status make_rotary(const tn_call *call, grouped *g) {
  const tn_tensor *cosines = tn_input(call, COSINES), *sines = tn_input(call, SINES),
                  *positions = tn_input(call, POSITIONS);
  if (!((const tn_group_query_attention_attrs *)call->attrs)->do_rotary) return TN_OK;
  if (!cosines || !sines || cosines->rank != 2 || sines->rank != 2 ||
      cosines->shape[0] != sines->shape[0] || cosines->shape[1] != sines->shape[1] ||
      2 * cosines->shape[1] > g->size)
    return fail(call, TN_ERR_SHAPE, "cos_cache and sin_cache are [positions, at most half a head]");
  if (positions && tn_elements(positions) != g->batch * g->n_q)
    return fail(call, TN_ERR_SHAPE, "position_ids is not [batch, queries]");
  g->rotated = 2 * cosines->shape[1];
  return TN_OK;
}

tn_status grouped_sizes(const tn_call *call, grouped *out) {
  const tn_group_query_attention_attrs *a = call->attrs;
  grouped g = {.heads = a->num_heads,
               .kv_heads = a->kv_num_heads,
               .scale = a->scale,
               .softcap = a->softcap,
               .window = a->local_window_size,
               .interleaved = a->rotary_interleaved != 0,
               .sinking = a->smooth_softmax == 1 || tn_input(call, SINK)};
  if (g.window != -1 && g.window < 1)
    return fail(call, TN_ERR_INVALID, "local_window_size is -1 or more than 0");
  if (tn_input(call, SINK) && tn_elements(call->inputs[SINK]) != g.heads)
    return fail(call, TN_ERR_SHAPE, "head_sink does not have one value per head");
  tn_status s = make_rows(call, &g);
  if (!s) s = make_cache(call, &g);
  if (!s) s = make_rotary(call, &g);
  if (g.scale == 0) g.scale = g.size ? 1 / sqrt((double)g.size) : 1;
  *out = g;
  return s;
}

tn_status grouped_of(const tn_call *call, grouped *out) {
  tn_status s = grouped_sizes(call, out);
  if (s) return s;
  out->total = ((const int32_t *)call->inputs[TOTAL]->data)[0];
  out->present = tn_max_i64(out->past, out->total);
  const tn_tensor *bias = tn_input(call, BIAS);
  if (out->total < out->n_q)
    return fail(call, TN_ERR_INVALID, "total_sequence_length is less than the new keys");
  if (bias && (bias->rank != 4 || (bias->shape[0] != 1 && bias->shape[0] != out->batch) ||
               (bias->shape[1] != 1 && bias->shape[1] != out->heads) ||
               bias->shape[2] != out->n_q || bias->shape[3] < out->total))
    return fail(call, TN_ERR_SHAPE,
                "attention_bias is not [batch or 1, heads or 1, queries, keys]");
  return TN_OK;
}

tn_status group_query_attention_infer(const tn_call *call) {
  grouped g;
  tn_status s = grouped_sizes(call, &g);
  if (s) return s;
  if (!call->inputs[TOTAL]->data) {
    s = call->host->needs_data(call->ctx, TOTAL);
    return s ? s : TN_NEEDS_DATA;
  }
  if ((s = grouped_of(call, &g))) return s;
  const int64_t cache[4] = {g.batch, g.kv_heads, g.present, g.size};
  tn_infer_shape(call, 0, call->inputs[QUERY]->dtype, 3,
                 (int64_t[]){g.batch, g.n_q, g.heads * g.size});
  tn_infer_shape(call, 1, call->inputs[QUERY]->dtype, 4, cache);
  tn_infer_shape(call, 2, call->inputs[QUERY]->dtype, 4, cache);
  return TN_OK;
}

tn_status group_query_attention_flops(const tn_call *call, double *out_flops) {
  grouped g;
  tn_status s = grouped_sizes(call, &g);
  if (!s)
    *out_flops = 4 * (double)(g.batch * g.heads) * (double)(g.n_q * tn_max_i64(g.past, g.n_q)) *
                 (double)g.size;
  return s;
}

tn_status grouped_before(const tn_call *call, const grouped *g, int64_t b, int64_t *out) {
  const int64_t all = (int64_t)((const int32_t *)call->inputs[LENGTHS]->data)[b] + 1;
  *out = g->n_q == g->total ? 0 : all - g->n_q;
  if (all < 1 || all > g->total || *out < 0 || *out > g->past)
    return fail(call, TN_ERR_INVALID,
                "seqlens_k does not fit the keys in past_key and total_sequence_length");
  return TN_OK;
}

tn_status grouped_table_row(const tn_call *call, const grouped *g, int64_t b, int64_t before,
                            int64_t i, int64_t *out) {
  const tn_tensor *positions = tn_input(call, POSITIONS);
  *out = positions ? ((const int64_t *)positions->data)[b * g->n_q + i] : before + i;
  if (*out < 0 || *out >= call->inputs[COSINES]->shape[0])
    return fail(call, TN_ERR_INVALID, "a position is beyond the rows of cos_cache");
  return TN_OK;
}

/* ---- reference ---- */

static double rotated_element(const tn_call *call, const grouped *g, int which, int64_t b,
                              int64_t h, int64_t i, int64_t row, int64_t c) {
  const tn_tensor *t = new_tensor(call, g, which);
  const int64_t at = new_row(g, which, b, h, i), half = g->rotated / 2;
  if (which == 2 || c >= g->rotated) return load(t, at + c);
  const int64_t pair = g->interleaved ? c / 2 : c % half;
  const bool second = g->interleaved ? c % 2 : c >= half;
  const int64_t other = c + (second ? -1 : 1) * (g->interleaved ? 1 : half);
  return load(t, at + c) * load(call->inputs[COSINES], row * half + pair) +
         (second ? 1 : -1) * load(t, at + other) * load(call->inputs[SINES], row * half + pair);
}

static tn_status reference_cache(const tn_call *call, const grouped *g) {
  for (int64_t k = 0; k < 2 * g->batch * g->kv_heads * g->present; k++) {
    const int which = k % 2 ? 2 : 1;
    const int64_t j = k / 2 % g->present, head = k / 2 / g->present, b = head / g->kv_heads;
    int64_t before, row = 0;
    tn_status s = grouped_before(call, g, b, &before);
    const bool is_new = j >= before && j < before + g->n_q;
    if (!s && is_new && g->rotated) s = grouped_table_row(call, g, b, before, j - before, &row);
    if (s) return s;
    for (int64_t c = 0; c < g->size; c++) {
      double value = 0;
      if (is_new)
        value = rotated_element(call, g, which, b, head % g->kv_heads, j - before, row, c);
      else if (j < g->past)
        value = load(call->inputs[which == 1 ? PAST_KEY : PAST_VALUE],
                     (head * g->past + j) * g->size + c);
      store(call->outputs[which], (head * g->present + j) * g->size + c, value);
    }
  }
  return TN_OK;
}

static double reference_score(const tn_call *call, const grouped *g, int64_t b, int64_t h,
                              int64_t i, int64_t j, int64_t row) {
  const int64_t kv = b * g->kv_heads + h / (g->heads / g->kv_heads);
  double sum = 0;
  for (int64_t c = 0; c < g->size; c++)
    sum += rotated_element(call, g, 0, b, h, i, row, c) *
           load(call->outputs[1], (kv * g->present + j) * g->size + c);
  sum *= g->scale;
  if (g->softcap > 0) sum = g->softcap * tanh(sum / g->softcap);
  if (!tn_input(call, BIAS)) return sum;
  const double more = load(call->inputs[BIAS], bias_row(call, g, b, h, i) + j);
  return isinf(more) && more < 0 ? more : sum + more;
}

enum { COLUMNS = 64 }; /* of a row, for one look at its scores */

/* Columns [first, first + n) of row i of head h. */
static void reference_columns(const tn_call *call, const grouped *g, int64_t b, int64_t h,
                              int64_t i, int64_t before, int64_t row, int64_t first) {
  const int64_t kv = b * g->kv_heads + h / (g->heads / g->kv_heads), seen = before + i + 1,
                n = tn_min_i64(COLUMNS, g->size - first);
  double top = g->sinking ? sink_of(call, h) : -INFINITY, sum = 0, value[COLUMNS] = {0};
  for (int64_t j = first_key(g, seen); j < seen; j++) {
    const double score = reference_score(call, g, b, h, i, j, row);
    top = score > top || isnan(score) ? score : top;
  }
  const bool none = top == -(double)INFINITY; /* no key is allowed */
  for (int64_t j = first_key(g, seen); j < seen && !none; j++) {
    const double p = exp(reference_score(call, g, b, h, i, j, row) - top);
    sum += p;
    for (int64_t c = 0; c < n && p != 0; c++)
      value[c] += p * load(call->outputs[2], (kv * g->present + j) * g->size + first + c);
  }
  if (g->sinking && !none) sum += exp(sink_of(call, h) - top);
  for (int64_t c = 0; c < n; c++)
    store(call->outputs[0], ((b * g->n_q + i) * g->heads + h) * g->size + first + c,
          none ? 0 : value[c] / sum);
}

tn_status group_query_attention_reference(const tn_call *call) {
  grouped g;
  tn_status s = grouped_of(call, &g);
  if (!s) s = reference_cache(call, &g);
  for (int64_t k = 0; !s && k < g.batch * g.heads * g.n_q; k++) {
    const int64_t h = k % g.heads, i = k / g.heads % g.n_q, b = k / g.heads / g.n_q;
    int64_t before, row = 0;
    s = grouped_before(call, &g, b, &before);
    if (!s && g.rotated) s = grouped_table_row(call, &g, b, before, i, &row);
    for (int64_t first = 0; !s && first < g.size; first += COLUMNS)
      reference_columns(call, &g, b, h, i, before, row, first);
  }
  return s;
}
