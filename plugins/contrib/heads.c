/* Masks of all forms, and attention as one node of ai.onnx. */
#include "heads.h"

#include <math.h>

static tn_status mask_form(const tn_call *call, heads *h) {
  const tn_tensor *m = tn_input(call, h->mask);
  h->form = MASK_NONE;
  if (!m) return TN_OK;
  const bool batch = m->rank > 0 && m->shape[0] == h->batch;
  if (m->rank == 1 && batch)
    h->form = MASK_ENDS;
  else if (m->rank == 1 && m->shape[0] == 2 * h->batch)
    h->form = MASK_RANGES;
  else if (m->rank == 2 && batch && m->shape[1] == h->total)
    h->form = MASK_KEYS;
  else if (m->rank == 3 && batch && m->shape[1] == h->n_q && m->shape[2] == h->total)
    h->form = MASK_ROWS;
  else if (m->rank == 4 && batch && m->shape[1] == 1 && m->shape[2] >= h->total &&
           m->shape[3] >= h->total)
    h->form = MASK_SQUARE;
  else if (m->rank != 2 || m->shape[1] != 1)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                            "not supported: a mask of rank %d that does not fit the keys", m->rank);
  return TN_OK; /* [batch, 1]: stands for no mask */
}

tn_status heads_complete(const tn_call *call, heads *h) {
  const tn_tensor *bias = tn_input(call, h->bias);
  tn_status s = tn_add_i64(h->past, h->n_new, &h->total);
  if (!s) s = mask_form(call, h);
  if (s) return s;
  if (h->scale == 0) h->scale = h->size ? 1 / sqrt((double)h->size) : 1;
  if (bias && (bias->rank != 4 || (bias->shape[0] != 1 && bias->shape[0] != h->batch) ||
               (bias->shape[1] != 1 && bias->shape[1] != h->heads) || bias->shape[2] != h->n_q ||
               bias->shape[3] != h->total))
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "attention_bias is not [batch or 1, heads or 1, queries, keys]");
  return TN_OK;
}

double heads_flops(const heads *h) {
  return (double)(h->batch * h->heads) * (double)h->n_q * (double)h->total *
         (double)(2 * (h->size + h->v_size) + 5);
}

/* ---- as a graph ---- */

static int32_t key_numbers(builder *b, const heads *h) {
  int32_t y;
  const int32_t limits[3] = {build_scalar(b, TN_I64, 0), build_scalar(b, TN_I64, (double)h->total),
                             build_scalar(b, TN_I64, 1)};
  build_node(b, "Range", limits, 3, NULL, 0, &y, 1);
  return y;
}

/* [batch, 1, 1, keys], true between begins and ends; begins < 0: there are none. */
static int32_t between(builder *b, const heads *h, int32_t begins, int32_t ends) {
  const int64_t column[4] = {h->batch, 1, 1, 1};
  const int32_t keys = key_numbers(b, h);
  const int32_t before_end =
      build_binary(b, "Less", keys, build_reshape(b, build_cast(b, ends, TN_I64), column, 4));
  if (begins < 0) return before_end;
  return build_binary(b, "And", before_end,
                      build_binary(b, "GreaterOrEqual", keys,
                                   build_reshape(b, build_cast(b, begins, TN_I64), column, 4)));
}

/* True where attention is allowed; broadcasts to the scores. */
static int32_t allowed(builder *b, const heads *h) {
  int32_t mask = build_input(b, h->mask), parts[2];
  const int64_t halves[2] = {h->batch, h->batch},
                dims[4] = {h->batch, 1, h->form == MASK_KEYS ? 1 : h->n_q, h->total};
  if (h->form == MASK_ENDS) return between(b, h, -1, mask);
  if (h->form == MASK_RANGES) {
    build_split(b, mask, 0, halves, 2, parts);
    return between(b, h, parts[1], parts[0]);
  }
  if (h->form == MASK_SQUARE) {
    const int64_t from[2] = {h->past, 0}, to[2] = {h->total, h->total}, axes[2] = {2, 3};
    const int32_t inputs[4] = {mask, build_ints(b, from, 2), build_ints(b, to, 2),
                               build_ints(b, axes, 2)};
    build_node(b, "Slice", inputs, 4, NULL, 0, &mask, 1);
  } else {
    mask = build_reshape(b, mask, dims, 4);
  }
  return build_binary(b, "Greater", mask, build_scalar(b, TN_I32, 0));
}

/* What is added to the scores; -1: nothing. */
static int32_t additive_mask(builder *b, const heads *h) {
  const int32_t bias = build_input(b, h->bias);
  int32_t filter;
  if (h->form == MASK_NONE) return bias;
  const int32_t choice[3] = {allowed(b, h), build_scalar(b, h->dtype, 0),
                             build_scalar(b, h->dtype, h->filter)};
  build_node(b, "Where", choice, 3, NULL, 0, &filter, 1);
  return bias < 0 ? filter : build_binary(b, "Add", filter, bias);
}

void heads_build(builder *b, const heads *h, const int32_t qkv[3], const int32_t past[2],
                 int32_t out[3]) {
  const int32_t inputs[6] = {qkv[0], qkv[1], qkv[2], additive_mask(b, h), past[0], past[1]};
  const tn_attr attrs[4] = {tn_attr_int("q_num_heads", h->heads),
                            tn_attr_int("kv_num_heads", h->heads),
                            tn_attr_int("is_causal", h->causal), tn_attr_float("scale", h->scale)};
  build_node(b, "Attention", inputs, 6, attrs, 4, out, 3);
}

void heads_past(builder *b, const heads *h, int32_t cache, int32_t out[2]) {
  out[0] = out[1] = -1;
  if (cache < 0) return;
  build_split(b, cache, 0, (int64_t[]){1, 1}, 2, out);
  for (int k = 0; k < 2; k++)
    out[k] = build_reshape(b, out[k], (int64_t[]){h->batch, h->heads, h->past, h->size}, 4);
}

int32_t heads_present(builder *b, const heads *h, const int32_t halves[2]) {
  int32_t parts[2];
  for (int k = 0; k < 2; k++)
    parts[k] =
        build_reshape(b, halves[k], (int64_t[]){1, h->batch, h->heads, h->total, h->size}, 5);
  return build_concat(b, parts, 2, 0);
}

/* ---- reference ---- */

/* What is added to the score of row i and key j. */
static double added(const tn_call *call, const heads *h, int64_t b, int64_t head, int64_t i,
                    int64_t j) {
  const tn_tensor *m = tn_input(call, h->mask), *bias = tn_input(call, h->bias);
  bool ok = true;
  switch (h->form) {
    case MASK_ENDS: ok = (double)j < load(m, b); break;
    case MASK_RANGES: ok = (double)j < load(m, b) && (double)j >= load(m, h->batch + b); break;
    case MASK_KEYS: ok = load(m, b * h->total + j) > 0; break;
    case MASK_ROWS: ok = load(m, (b * h->n_q + i) * h->total + j) > 0; break;
    case MASK_SQUARE: ok = load(m, (b * m->shape[2] + h->past + i) * m->shape[3] + j) > 0; break;
    default: break;
  }
  const double more = bias ? load(bias, (((bias->shape[0] == 1 ? 0 : b) * bias->shape[1] +
                                          (bias->shape[1] == 1 ? 0 : head)) *
                                             h->n_q +
                                         i) * h->total +
                                            j)
                           : 0;
  if (h->causal && j > i + h->past) return -INFINITY;
  return (ok ? 0 : h->filter) + more;
}

static double score(const tn_call *call, const heads *h, const double *q, const double *k,
                    int64_t b, int64_t head, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t c = 0; c < h->size; c++)
    sum += q[((b * h->heads + head) * h->n_q + i) * h->size + c] *
           k[((b * h->heads + head) * h->total + j) * h->size + c];
  return sum * h->scale + added(call, h, b, head, i, j);
}

void heads_reference(const tn_call *call, const heads *h, const double *q, const double *k,
                     const double *v, tn_tensor *y) {
  for (int64_t row = 0; row < h->batch * h->heads * h->n_q; row++) {
    const int64_t i = row % h->n_q, head = row / h->n_q % h->heads, b = row / h->n_q / h->heads;
    double top = -INFINITY, sum = 0;
    for (int64_t j = 0; j < h->total; j++) top = fmax(top, score(call, h, q, k, b, head, i, j));
    for (int64_t j = 0; j < h->total; j++) sum += exp(score(call, h, q, k, b, head, i, j) - top);
    for (int64_t c = 0; c < h->v_size; c++) {
      double value = 0;
      for (int64_t j = 0; j < h->total; j++)
        value += exp(score(call, h, q, k, b, head, i, j) - top) / sum *
                 v[((b * h->heads + head) * h->total + j) * h->v_size + c];
      store(y, ((b * h->n_q + i) * h->heads + head) * h->v_size + c, value);
    }
  }
}
