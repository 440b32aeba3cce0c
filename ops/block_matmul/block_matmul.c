/* tenon::BlockMatMul: what it says of its weights, inference, FLOPs and reference. */
#include "blocks.h"
#include "tenon/kit/infer.h"

enum { BLOCK_LEAST = 16, BLOCK_MOST = 1 << 24 };

static tn_status bad_attr(const tn_call *call, const char *name, const char *rule, int64_t value) {
  return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute '%s' is %lld; it must be %s", name,
                          (long long)value, rule);
}

static tn_status check_attrs(const tn_call *call, const blocks *w) {
  const tn_block_mat_mul_attrs *attrs = call->attrs;
  int64_t whole;
  if (w->bits != 4 && w->bits != 8) return bad_attr(call, "bits", "4 or 8", attrs->bits);
  if (w->k < 1) return bad_attr(call, "K", "1 or more", w->k);
  if (w->n < 1) return bad_attr(call, "N", "1 or more", w->n);
  if (w->block < BLOCK_LEAST || w->block > BLOCK_MOST || (w->block & (w->block - 1)))
    return bad_attr(call, "block_size", "a power of 2 from 16 to 16777216", w->block);
  /* no size derived of these overflows */
  if (w->k > TN_MAX_ELEMENTS - w->block || tn_mul_i64(w->n, w->k + w->block, &whole) ||
      whole > TN_MAX_ELEMENTS / 64)
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW, "attributes 'K' and 'N' are too large");
  return TN_OK;
}

static tn_status check_count(const tn_call *call, const char *name, const tn_tensor *t,
                             int64_t wanted) {
  char text[TN_TENSOR_TEXT];
  if (!t || tn_elements(t) == wanted) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_SHAPE,
                          "%s is %s; K, N, bits and block_size ask for %lld elements", name,
                          tn_tensor_text(t, text, sizeof text), (long long)wanted);
}

tn_status blocks_of(const tn_call *call, blocks *out) {
  const tn_block_mat_mul_attrs *attrs = call->attrs;
  const tn_tensor *a = call->inputs[0];
  blocks w = {.bits = attrs->bits == 4   ? 4
                      : attrs->bits == 8 ? 8
                                         : 0,
              .n = attrs->N,
              .k = attrs->K,
              .block = attrs->block_size,
              .a = a,
              .b = call->inputs[1],
              .scales = call->inputs[2],
              .zeros = tn_input(call, 3),
              .bias = tn_input(call, 4)};
  tn_status s = check_attrs(call, &w);
  if (s) return s;
  w.n_blocks = tn_ceil_div(w.k, w.block);
  if (a->rank < 1 || a->shape[a->rank - 1] != w.k) {
    char text[TN_TENSOR_TEXT];
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "A is %s; its last dim must be K, %lld",
                            tn_tensor_text(a, text, sizeof text), (long long)w.k);
  }
  s = tn_dims_product(a->shape, a->rank - 1, &w.m);
  if (!s) s = check_count(call, "B", w.b, w.n * blocks_row_bytes(&w));
  if (!s) s = check_count(call, "scales", w.scales, w.n * w.n_blocks);
  if (!s) s = check_count(call, "zero_points", w.zeros, w.n * blocks_zero_bytes(&w));
  if (!s) s = check_count(call, "bias", w.bias, w.n);
  if (!s) *out = w;
  return s;
}

tn_status block_matmul_infer(const tn_call *call) {
  blocks w;
  tn_status s = blocks_of(call, &w);
  if (!s) s = tn_infer_like(call, 0, 0);
  if (!s) call->outputs[0]->shape[w.a->rank - 1] = w.n;
  return s;
}

tn_status block_matmul_flops(const tn_call *call, double *out_flops) {
  blocks w;
  tn_status s = blocks_of(call, &w);
  if (!s) *out_flops = 2 * (double)w.m * (double)w.n * (double)w.k;
  return s;
}

static double weight(const blocks *w, int64_t row, int64_t k) {
  const uint8_t *b = (const uint8_t *)w->b->data + row * blocks_row_bytes(w);
  const int64_t block = k / w->block;
  return (blocks_number(b, w->bits, k) - blocks_zero(w, row, block)) *
         tn_load_f64(w->scales->dtype, w->scales->data, row * w->n_blocks + block);
}

tn_status block_matmul_reference(const tn_call *call) {
  blocks w;
  tn_status s = blocks_of(call, &w);
  for (int64_t at = 0; !s && at < w.m * w.n; at++) {
    const int64_t i = at / w.n, j = at % w.n;
    double sum = w.bias ? tn_load_f64(w.bias->dtype, w.bias->data, j) : 0;
    for (int64_t k = 0; k < w.k; k++)
      sum += tn_load_f64(w.a->dtype, w.a->data, i * w.k + k) * weight(&w, j, k);
    tn_store_f64(call->outputs[0]->dtype, call->outputs[0]->data, at, sum);
  }
  return s;
}
