/* Det: elimination with partial pivoting, in f64. The reference expands along the first row. */
#include <math.h>

#include "linalg.gen.h"
#include "tenon/kit/infer.h"

tn_status det_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  if (x->rank < 2 || x->shape[x->rank - 1] != x->shape[x->rank - 2])
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "X needs square matrices in its last two dims");
  tn_infer_shape(call, 0, x->dtype, x->rank - 2, x->shape);
  return TN_OK;
}

static int64_t order(const tn_call *call) {
  return call->inputs[0]->shape[call->inputs[0]->rank - 1];
}

tn_status det_flops(const tn_call *call, double *out_flops) {
  const double n = (double)order(call);
  *out_flops = (double)tn_elements(call->outputs[0]) * 2 / 3 * n * n * n;
  return TN_OK;
}

tn_status det_plan(const tn_call *call, tn_kernel_plan *out) {
  const int64_t n = order(call);
  out->items[0] = tn_elements(call->outputs[0]);
  out->elements_per_item = 1;
  out->grain[0] = tn_grain(5000, (double)n * (double)n * (double)n);
  out->worker_scratch_bytes = (uint64_t)(n * n) * sizeof(double);
  out->cost_ns = (double)out->items[0] * (double)n * (double)n * (double)n + 200;
  return TN_OK;
}

/* The row of the largest element of column k, from row k on; NaN counts as the largest. */
static int64_t pivot(const double *m, int64_t n, int64_t k) {
  int64_t best = k;
  for (int64_t i = k + 1; i < n; i++)
    if (fabs(m[i * n + k]) > fabs(m[best * n + k]) || isnan(m[i * n + k])) best = i;
  return best;
}

static double determinant(double *m, int64_t n) {
  double det = 1;
  for (int64_t k = 0; k < n; k++) {
    const int64_t p = pivot(m, n, k);
    if (m[p * n + k] == 0) { /* 0, or NaN if the rest is not finite */
      det *= 0;
      continue;
    }
    for (int64_t j = k; p != k && j < n; j++) {
      double swap = m[k * n + j];
      m[k * n + j] = m[p * n + j];
      m[p * n + j] = swap;
    }
    det *= p == k ? m[k * n + k] : -m[k * n + k];
    for (int64_t i = k + 1; i < n; i++) {
      const double f = m[i * n + k] / m[k * n + k];
      for (int64_t j = k + 1; j < n; j++) m[i * n + j] -= f * m[k * n + j];
    }
  }
  return det;
}

tn_status det_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, uint32_t worker) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const int64_t n = order(call);
  double *m =
      (double *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  (void)stage;
  for (int64_t k = begin; k < end; k++) {
    for (int64_t i = 0; i < n * n; i++)
      m[i] = x->dtype == TN_F32 ? (double)((const float *)x->data)[k * n * n + i]
                                : ((const double *)x->data)[k * n * n + i];
    tn_store_f64(y->dtype, y->data, k, determinant(m, n));
  }
  return TN_OK;
}

/* Of the rows from `row` on and the columns that are not in the set `used`. */
static double expand(const tn_tensor *x, int64_t first, int64_t n, int64_t row, uint64_t used) {
  double det = 0, sign = 1;
  if (row == n) return 1;
  for (int64_t c = 0; c < n; c++) {
    if (used >> c & 1) continue;
    det += sign * tn_load_f64(x->dtype, x->data, first + row * n + c) *
           expand(x, first, n, row + 1, used | UINT64_C(1) << c);
    sign = -sign;
  }
  return det;
}

tn_status det_reference(const tn_call *call) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const int64_t n = order(call);
  if (n > 10)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                            "the reference takes matrices of order 10 at most");
  for (int64_t k = 0; k < tn_elements(y); k++)
    tn_store_f64(y->dtype, y->data, k, expand(x, k * n * n, n, 0, 0));
  return TN_OK;
}
