/* Shapes of matrix products. */
#include "product.h"

operand operand_of(const tn_tensor *t, const int64_t *perm) {
  operand o = {.rank = t->rank, .is_vector = t->rank == 1};
  int64_t step[TN_MAX_RANK], next = 1;
  for (int32_t k = t->rank - 1; k >= 0; k--) {
    step[k] = next;
    next *= t->shape[k];
  }
  for (int32_t k = 0; k < t->rank; k++) {
    o.dim[k] = t->shape[perm ? perm[k] : k];
    o.step[k] = step[perm ? perm[k] : k];
  }
  return o;
}

/* A vector on the left is a row, on the right a column. */
static void widen(operand *o, bool left) {
  if (!o->is_vector) return;
  o->rank = 2;
  o->dim[left] = o->dim[0], o->step[left] = o->step[0];
  o->dim[!left] = 1, o->step[!left] = 0;
}

tn_status product_make(const tn_call *call, operand a, operand b, product *out) {
  product p = {.n_batch = 1};
  bool fits = a.rank > 0 && b.rank > 0;
  widen(&a, true);
  widen(&b, false);
  p.rank = (int32_t)tn_max_i64(a.rank, b.rank) - 2;
  fits = fits && a.dim[a.rank - 1] == b.dim[b.rank - 2];
  for (int32_t d = 0; fits && d < p.rank; d++) {
    const int32_t da = d - (p.rank - (a.rank - 2)), db = d - (p.rank - (b.rank - 2));
    const int64_t x = da >= 0 ? a.dim[da] : 1, y = db >= 0 ? b.dim[db] : 1;
    fits = x == y || x == 1 || y == 1;
    p.batch[d] = x == 1 ? y : x;
    if (fits && tn_mul_i64(p.n_batch, p.batch[d], &p.n_batch)) return TN_ERR_OVERFLOW;
  }
  if (!fits) return call->host->fail(call->ctx, TN_ERR_SHAPE, "A and B do not fit together");
  p.a = a, p.b = b;
  p.m = a.dim[a.rank - 2], p.k = a.dim[a.rank - 1], p.n = b.dim[b.rank - 1];
  *out = p;
  return TN_OK;
}

void product_infer(const tn_call *call, const product *p, uint32_t dtype) {
  int64_t dims[TN_MAX_RANK + 2];
  int32_t rank = 0;
  for (; rank < p->rank; rank++) dims[rank] = p->batch[rank];
  if (!p->a.is_vector) dims[rank++] = p->m;
  if (!p->b.is_vector) dims[rank++] = p->n;
  tn_infer_shape(call, 0, dtype, rank, dims);
}

double product_flops(const product *p) {
  return 2 * (double)p->n_batch * (double)p->m * (double)p->n * (double)p->k;
}

int64_t product_offset(const product *p, const operand *o, int64_t matrix) {
  int64_t offset = 0;
  for (int32_t d = p->rank - 1; d >= 0; d--) {
    const int32_t own = d - (p->rank - (o->rank - 2));
    if (own >= 0 && o->dim[own] != 1) offset += matrix % p->batch[d] * o->step[own];
    matrix /= p->batch[d];
  }
  return offset;
}
