/* Attention: inference, cost and reference. */
#include "attention.h"

#include <math.h>

static tn_status reject(const tn_call *call, const char *what) {
  return call->host->fail(call->ctx, TN_ERR_SHAPE, "Attention: %s", what);
}

/* Sizes of an input of rank 3 or 4; heads: how many lie in a row of rank 3. */
static tn_status view(const tn_call *call, uint32_t input, int64_t heads, int64_t dims[4],
                      attention_steps *out) {
  const tn_tensor *t = call->inputs[input];
  if (t->rank == 4) {
    for (int k = 0; k < 4; k++) dims[k] = t->shape[k];
    *out = (attention_steps){dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3]};
    return TN_OK;
  }
  if (t->rank != 3) return reject(call, "Q, K and V have rank 3 or 4, all the same");
  if (!tn_divides(heads, t->shape[2]))
    return reject(call, "for inputs of rank 3, q_num_heads and kv_num_heads divide the last dims");
  dims[0] = t->shape[0], dims[1] = heads, dims[2] = t->shape[1], dims[3] = t->shape[2] / heads;
  *out = (attention_steps){dims[2] * t->shape[2], dims[3], t->shape[2]};
  return TN_OK;
}

static tn_status make_past(const tn_call *call, attention *a) {
  const tn_tensor *k = call->inputs[ATTENTION_PAST_KEY];
  const tn_tensor *v = call->inputs[ATTENTION_PAST_VALUE];
  if (!k != !v) return reject(call, "past_key and past_value come together");
  if (!k) return TN_OK;
  const int64_t want[2][4] = {{a->batch, a->kv_heads, -1, a->size},
                              {a->batch, a->kv_heads, -1, a->v_size}};
  for (int d = 0; d < 4; d++)
    if (k->rank != 4 || v->rank != 4 ||
        (d == 2 ? k->shape[d] != v->shape[d]
                : k->shape[d] != want[0][d] || v->shape[d] != want[1][d]))
      return reject(call, "past_key and past_value are [batch, kv heads, keys, head size]");
  a->past = k->shape[2];
  return TN_OK;
}

/* Steps of the mask, aligned right with [batch, heads, n_q, total]; only the last dim may be
 * short. */
static tn_status make_mask(const tn_call *call, attention *a) {
  if (!tn_has_input(call, ATTENTION_MASK)) return TN_OK;
  const tn_tensor *m = call->inputs[ATTENTION_MASK];
  const int64_t full[4] = {a->batch, a->heads, a->n_q, a->total};
  int64_t step = 1, steps[4] = {0};
  if (m->rank < 1 || m->rank > 4 || m->shape[m->rank - 1] > a->total)
    return reject(call, "attn_mask does not fit the keys");
  for (int32_t k = m->rank - 1, d = 3; k >= 0; k--, d--) {
    if (d < 3 && m->shape[k] != 1 && m->shape[k] != full[d])
      return reject(call, "attn_mask does not broadcast to [batch, heads, queries, keys]");
    steps[d] = m->shape[k] == 1 ? 0 : step;
    step *= m->shape[k];
  }
  a->mask = (attention_steps){steps[0], steps[1], steps[2]};
  a->mask_columns = m->shape[m->rank - 1];
  if (a->mask_columns == 0 && a->total > 0) return reject(call, "attn_mask is empty");
  return TN_OK;
}

static tn_status make_lengths(const tn_call *call, attention *a) {
  if (!tn_has_input(call, ATTENTION_LENGTHS)) return TN_OK;
  const tn_tensor *t = call->inputs[ATTENTION_LENGTHS];
  if (tn_has_input(call, ATTENTION_PAST_KEY))
    return reject(call, "nonpad_kv_seqlen and past_key exclude each other");
  if (t->rank != 1 || t->shape[0] != a->batch)
    return reject(call, "nonpad_kv_seqlen has one value per batch");
  a->lengths = t->data;
  return TN_OK;
}

tn_status attention_make(const tn_call *call, attention *out) {
  const tn_attention_attrs *attrs = call->attrs;
  int64_t q[4], k[4], v[4];
  attention a = {.causal = attrs->is_causal != 0, .softcap = attrs->softcap};
  if (attrs->qk_matmul_output_mode < 0 || attrs->qk_matmul_output_mode > 3)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "qk_matmul_output_mode is %lld, not 0 to 3",
                            (long long)attrs->qk_matmul_output_mode);
  tn_status s = view(call, ATTENTION_Q, attrs->q_num_heads, q, &a.q);
  if (!s) s = view(call, ATTENTION_K, attrs->kv_num_heads, k, &a.k);
  if (!s) s = view(call, ATTENTION_V, attrs->kv_num_heads, v, &a.v);
  if (s) return s;
  if (call->inputs[0]->rank != call->inputs[1]->rank ||
      call->inputs[0]->rank != call->inputs[2]->rank || q[0] != k[0] || k[0] != v[0] ||
      k[1] != v[1] || k[2] != v[2] || q[3] != k[3] || (k[1] ? q[1] % k[1] : q[1]))
    return reject(call, "Q, K and V do not fit together");
  a.batch = q[0], a.heads = q[1], a.n_q = q[2], a.size = q[3], a.kv_heads = k[1], a.n_new = k[2],
  a.v_size = v[3];
  s = make_past(call, &a);
  if (!s) s = tn_add_i64(a.past, a.n_new, &a.total);
  if (s) return s;
  a.left = tn_min_i64(attrs->left_window_size, a.total + a.n_q);
  a.right = tn_min_i64(attrs->right_window_size, a.total + a.n_q);
  s = make_mask(call, &a);
  if (!s) s = make_lengths(call, &a);
  a.scale = attrs->has_scale ? attrs->scale : a.size ? 1 / sqrt((double)a.size) : 1;
  a.y = call->inputs[0]->rank == 4
            ? (attention_steps){a.heads * a.n_q * a.v_size, a.n_q * a.v_size, a.v_size}
            : (attention_steps){a.n_q * a.heads * a.v_size, a.v_size, a.heads * a.v_size};
  *out = a;
  return s;
}

tn_status attention_infer(const tn_call *call) {
  attention a;
  tn_status s = attention_make(call, &a);
  if (s) return s;
  const bool flat = call->inputs[0]->rank == 3;
  const int64_t y4[4] = {a.batch, a.heads, a.n_q, a.v_size},
                y3[3] = {a.batch, a.n_q, a.heads * a.v_size};
  const int64_t key[4] = {a.batch, a.kv_heads, a.total, a.size},
                value[4] = {a.batch, a.kv_heads, a.total, a.v_size};
  const int64_t qk[4] = {a.batch, a.heads, a.n_q, a.total};
  tn_infer_shape(call, 0, TN_NONE, flat ? 3 : 4, flat ? y3 : y4);
  tn_infer_shape(call, 1, TN_NONE, 4, key);
  tn_infer_shape(call, 2, TN_NONE, 4, value);
  tn_infer_shape(call, 3, TN_NONE, 4, qk);
  return TN_OK;
}

tn_status attention_flops(const tn_call *call, double *out_flops) {
  attention a;
  tn_status s = attention_make(call, &a);
  if (!s)
    *out_flops = (double)(a.batch * a.heads) * (double)a.n_q * (double)a.total *
                 (double)(2 * (a.size + a.v_size) + 5);
  return s;
}

/* ---- reference ---- */

static double load(const tn_tensor *t, int64_t k) { return tn_load_f64(t->dtype, t->data, k); }

/* Element c of row j of the keys or values. */
static double element(const tn_call *call, const attention *a, uint32_t which, int64_t b, int64_t h,
                      int64_t j, int64_t c) {
  const tn_tensor *t = call->inputs[which];
  const int64_t bytes = tn_dtype(t->dtype)->bits / 8;
  return tn_load_f64(t->dtype, attention_row(call, a, which, b, h, j, bytes), c);
}

/* What is added to the product of row i and key j: 0, the mask, or -inf where attention is not
 * allowed. */
static double bias(const tn_call *call, const attention *a, int64_t b, int64_t h, int64_t i,
                   int64_t j) {
  int64_t begin, end;
  attention_keys(a, b, i, &begin, &end);
  if (j < begin || j >= end) return -INFINITY;
  if (!a->mask_columns) return 0;
  const tn_tensor *m = call->inputs[ATTENTION_MASK];
  const double value = load(m, attention_mask_row(a, b, h, i) + j);
  return m->dtype != TN_BOOL ? value : value ? 0 : -INFINITY;
}

static double product(const tn_call *call, const attention *a, int64_t b, int64_t h, int64_t i,
                      int64_t j) {
  const tn_tensor *q = call->inputs[ATTENTION_Q];
  double sum = 0;
  for (int64_t c = 0; c < a->size; c++)
    sum += load(q, b * a->q.batch + h * a->q.head + i * a->q.row + c) *
           element(call, a, ATTENTION_K, b, h / (a->heads / a->kv_heads), j, c);
  return sum * a->scale;
}

static void put_product(const tn_call *call, int64_t k, double value, bool wanted) {
  if (wanted && tn_has_output(call, 3))
    tn_store_f64(call->outputs[3]->dtype, call->outputs[3]->data, k, value);
}

/* Score of row i and key j; all but the probability of qk_matmul_output is written here. */
static double score(const tn_call *call, const attention *a, int64_t b, int64_t h, int64_t i,
                    int64_t j) {
  const int64_t mode = ((const tn_attention_attrs *)call->attrs)->qk_matmul_output_mode;
  const int64_t k = ((b * a->heads + h) * a->n_q + i) * a->total + j;
  const double more = bias(call, a, b, h, i, j);
  double s = product(call, a, b, h, i, j);
  put_product(call, k, s, mode == 0);
  if (a->softcap > 0) s = a->softcap * tanh(s / a->softcap);
  put_product(call, k, s, mode == 1);
  s = isinf(more) && more < 0 ? more : s + more;
  put_product(call, k, s, mode == 2);
  return s;
}

enum { REFERENCE_COLUMNS = 64 };

/* Columns [first, first + n) of row i of Y, and at first = 0 the probabilities that
 * qk_matmul_output may ask for. */
static void reference_columns(const tn_call *call, const attention *a, int64_t b, int64_t h,
                              int64_t i, int64_t first) {
  const int64_t mode = ((const tn_attention_attrs *)call->attrs)->qk_matmul_output_mode,
                n = tn_min_i64(REFERENCE_COLUMNS, a->v_size - first);
  double top = -INFINITY, sum = 0, value[REFERENCE_COLUMNS] = {0};
  for (int64_t j = 0; j < a->total; j++) {
    const double s = score(call, a, b, h, i, j);
    top = s > top || isnan(s) ? s : top;
  }
  const bool none = top == -(double)INFINITY; /* no key is allowed */
  for (int64_t j = 0; j < a->total && !none; j++) sum += exp(score(call, a, b, h, i, j) - top);
  for (int64_t j = 0; j < a->total; j++) {
    const double p = none ? 0 : exp(score(call, a, b, h, i, j) - top) / sum;
    put_product(call, ((b * a->heads + h) * a->n_q + i) * a->total + j, p, mode == 3 && first == 0);
    for (int64_t c = 0; c < n && p != 0; c++)
      value[c] += p * element(call, a, ATTENTION_V, b, h / (a->heads / a->kv_heads), j, first + c);
  }
  tn_tensor *y = call->outputs[0];
  for (int64_t c = 0; c < n; c++)
    tn_store_f64(y->dtype, y->data, b * a->y.batch + h * a->y.head + i * a->y.row + first + c,
                 value[c]);
}

tn_status attention_reference(const tn_call *call) {
  attention a;
  tn_status s = attention_make(call, &a);
  if (s) return s;
  for (int64_t r = 0; r < a.batch * a.heads * a.n_q; r++)
    for (int64_t first = 0; first == 0 || first < a.v_size; first += REFERENCE_COLUMNS)
      reference_columns(call, &a, r / a.n_q / a.heads, r / a.n_q % a.heads, r % a.n_q, first);
  for (int64_t r = 0; r < a.batch * a.kv_heads * a.total; r++) {
    const int64_t b = r / a.total / a.kv_heads, h = r / a.total % a.kv_heads, j = r % a.total;
    for (int64_t c = 0; tn_has_output(call, 1) && c < a.size; c++)
      tn_store_f64(call->outputs[1]->dtype, call->outputs[1]->data, r * a.size + c,
                   element(call, &a, ATTENTION_K, b, h, j, c));
    for (int64_t c = 0; tn_has_output(call, 2) && c < a.v_size; c++)
      tn_store_f64(call->outputs[2]->dtype, call->outputs[2]->data, r * a.v_size + c,
                   element(call, &a, ATTENTION_V, b, h, j, c));
  }
  return TN_OK;
}
