/* MatMul, Gemm and tenon::HalfMatMul: shapes, inference, FLOPs and references. */
#include <string.h>

#include "product.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/text.h"

static tn_status no_fit(const tn_call *call, const product *p) {
  char a[TN_TENSOR_TEXT], b[TN_TENSOR_TEXT];
  return call->host->fail(
      call->ctx, TN_ERR_SHAPE,
      "A is %s and B is %s; their inner dims must be equal and the others broadcast",
      tn_tensor_text(p->a, a, sizeof a), tn_tensor_text(p->b, b, sizeof b));
}

/* Leading dims broadcast from the right; strides count matrices. */
static tn_status leading_dims(const tn_call *call, product *p) {
  int32_t ra = p->a->rank > 2 ? p->a->rank - 2 : 0, rb = p->b->rank > 2 ? p->b->rank - 2 : 0;
  int64_t a_step = 1, b_step = 1;
  p->rank = ra > rb ? ra : rb;
  for (int32_t k = 1; k <= p->rank; k++) {
    int64_t da = k <= ra ? p->a->shape[ra - k] : 1, db = k <= rb ? p->b->shape[rb - k] : 1;
    if (da != db && da != 1 && db != 1) return no_fit(call, p);
    int32_t at = p->rank - k;
    p->dims[at] = da == 1 ? db : da;
    p->a_stride[at] = da == 1 ? 0 : a_step;
    p->b_stride[at] = db == 1 ? 0 : b_step;
    a_step *= da;
    b_step *= db;
  }
  return tn_dims_product(p->dims, p->rank, &p->batch);
}

/* C over an [m, n] of Y. */
static tn_status add_c(const tn_call *call, product *p) {
  p->c = call->inputs[2];
  if (!p->c) return TN_OK;
  int64_t rows = p->c->rank > 1 ? p->c->shape[p->c->rank - 2] : 1,
          cols = p->c->rank > 0 ? p->c->shape[p->c->rank - 1] : 1;
  if (p->c->rank > 2 || (rows != 1 && rows != p->m) || (cols != 1 && cols != p->n))
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "C does not broadcast to [%lld, %lld]",
                            (long long)p->m, (long long)p->n);
  p->c_col = cols != 1;
  p->c_row = rows == 1 ? 0 : cols;
  return TN_OK;
}

static tn_status make_gemm(const tn_call *call, product *p) {
  const tn_gemm_attrs *attrs = call->attrs;
  if (p->a->rank != 2 || p->b->rank != 2) return no_fit(call, p);
  p->trans_a = attrs->transA != 0;
  p->trans_b = attrs->transB != 0;
  p->alpha = attrs->alpha;
  p->beta = attrs->beta;
  p->m = p->a->shape[p->trans_a];
  p->k = p->a->shape[!p->trans_a];
  p->n = p->b->shape[!p->trans_b];
  return p->k == p->b->shape[p->trans_b] ? add_c(call, p) : no_fit(call, p);
}

/* All but the last dim of A are rows. */
static tn_status make_half(const tn_call *call, product *p) {
  const tn_tensor *a = p->a;
  const tn_half_mat_mul_attrs *attrs = call->attrs;
  if (a->rank < 1 || p->b->rank != 2) return no_fit(call, p);
  p->trans_b = attrs->transB != 0;
  p->alpha = attrs->alpha;
  p->beta = attrs->beta;
  p->k = a->shape[a->rank - 1];
  p->n = p->b->shape[!p->trans_b];
  if (p->k != p->b->shape[p->trans_b]) return no_fit(call, p);
  const tn_status s = tn_dims_product(a->shape, a->rank - 1, &p->m);
  return s ? s : add_c(call, p);
}

tn_status product_make(const tn_call *call, const tn_tensor *a, const tn_tensor *b, product *out) {
  product made = {.a = a, .b = b, .alpha = 1, .batch = 1}, *p = &made;
  if (a->rank < 1 || b->rank < 1) return no_fit(call, p);
  p->m = a->rank > 1 ? a->shape[a->rank - 2] : 1;
  p->k = a->shape[a->rank - 1];
  p->n = b->rank > 1 ? b->shape[b->rank - 1] : 1;
  if (p->k != b->shape[b->rank > 1 ? b->rank - 2 : 0]) return no_fit(call, p);
  tn_status s = leading_dims(call, p);
  if (!s) *out = made;
  return s;
}

tn_status product_of(const tn_call *call, product_kind kind, product *out) {
  if (kind == MATMUL) return product_make(call, call->inputs[0], call->inputs[1], out);
  product p = {.a = call->inputs[0], .b = call->inputs[1], .alpha = 1, .batch = 1};
  tn_status s = kind == GEMM ? make_gemm(call, &p) : make_half(call, &p);
  if (!s) *out = p;
  return s;
}

int64_t product_matrix(const product *p, const int64_t *strides, int64_t index) {
  int64_t at = 0;
  for (int32_t k = p->rank - 1; k >= 0; k--) {
    at += index % p->dims[k] * strides[k];
    index /= p->dims[k];
  }
  return at;
}

tn_status product_infer(const tn_call *call, const product *p) {
  tn_tensor *y = call->outputs[0];
  int32_t rank = p->rank;
  if (rank + 2 > TN_MAX_RANK) return no_fit(call, p);
  memcpy(y->shape, p->dims, sizeof y->shape);
  if (p->a->rank > 1) y->shape[rank++] = p->m;
  if (p->b->rank > 1) y->shape[rank++] = p->n;
  y->rank = rank;
  return TN_OK;
}

tn_status matmul_infer(const tn_call *call) {
  product p;
  tn_status s = product_of(call, MATMUL, &p);
  return s ? s : product_infer(call, &p);
}

tn_status gemm_infer(const tn_call *call) {
  product p;
  tn_status s = product_of(call, GEMM, &p);
  if (s) return s;
  call->outputs[0]->rank = 2;
  call->outputs[0]->shape[0] = p.m;
  call->outputs[0]->shape[1] = p.n;
  return TN_OK;
}

tn_status half_matmul_infer(const tn_call *call) {
  product p;
  tn_status s = product_of(call, HALF_MATMUL, &p);
  if (s) return s;
  tn_tensor *y = call->outputs[0];
  y->rank = p.a->rank;
  memcpy(y->shape, p.a->shape, sizeof y->shape);
  y->shape[y->rank - 1] = p.n;
  return TN_OK;
}

static tn_status flops(const tn_call *call, product_kind kind, double *out) {
  product p;
  tn_status s = product_of(call, kind, &p);
  if (!s) *out = 2.0 * (double)p.batch * (double)p.m * (double)p.n * (double)p.k;
  return s;
}

tn_status matmul_flops(const tn_call *call, double *out_flops) {
  return flops(call, MATMUL, out_flops);
}
tn_status gemm_flops(const tn_call *call, double *out_flops) {
  return flops(call, GEMM, out_flops);
}
tn_status half_matmul_flops(const tn_call *call, double *out_flops) {
  return flops(call, HALF_MATMUL, out_flops);
}

/* Element (i, j) of matrix `index`, in f64 for floats and in wrapping 64-bit integers otherwise. */
static void reference_element(const product *p, int64_t index, int64_t i, int64_t j,
                              const tn_tensor *y) {
  int64_t a_at = product_matrix(p, p->a_stride, index) * p->m * p->k,
          b_at = product_matrix(p, p->b_stride, index) * p->k * p->n;
  double sum = 0;
  uint64_t exact = 0;
  for (int64_t k = 0; k < p->k; k++) {
    int64_t a = a_at + (p->trans_a ? k * p->m + i : i * p->k + k),
            b = b_at + (p->trans_b ? j * p->k + k : k * p->n + j);
    if (tn_dtype_exact_i64(y->dtype))
      exact += (uint64_t)tn_load_i64(y->dtype, p->a->data, a) *
               (uint64_t)tn_load_i64(y->dtype, p->b->data, b);
    else
      sum += tn_load_f64(y->dtype, p->a->data, a) * tn_load_f64(p->b->dtype, p->b->data, b);
  }
  int64_t at = (index * p->m + i) * p->n + j;
  if (tn_dtype_exact_i64(y->dtype) && p->alpha == 1 && !p->c) {
    tn_store_i64(y->dtype, y->data, at, (int64_t)exact);
    return;
  }
  if (tn_dtype_exact_i64(y->dtype)) sum = (double)(int64_t)exact;
  double c = p->c ? tn_load_f64(y->dtype, p->c->data, i * p->c_row + j * p->c_col) : 0;
  tn_store_f64(y->dtype, y->data, at, p->alpha * sum + (p->c ? p->beta * c : 0));
}

static tn_status reference(const tn_call *call, product_kind kind) {
  product p;
  tn_status s = product_of(call, kind, &p);
  for (int64_t b = 0; !s && b < p.batch; b++)
    for (int64_t i = 0; i < p.m; i++)
      for (int64_t j = 0; j < p.n; j++) reference_element(&p, b, i, j, call->outputs[0]);
  return s;
}

tn_status matmul_reference(const tn_call *call) { return reference(call, MATMUL); }
tn_status gemm_reference(const tn_call *call) { return reference(call, GEMM); }
tn_status half_matmul_reference(const tn_call *call) { return reference(call, HALF_MATMUL); }

tn_status gemm_v1_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  static const char *const dropped[] = {"broadcast", NULL};
  return tn_lower_without(call, graph, node, dropped);
}
