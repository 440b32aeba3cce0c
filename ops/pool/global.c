/* Global pools and MaxUnpool: inference and references. */
#include <math.h>
#include <string.h>

#include "base/infer.h"
#include "pool_shape.h"

tn_status global_pool_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  tn_tensor *y = call->outputs[0];
  if (x->rank < 2) return call->host->fail(call->ctx, TN_ERR_SHAPE, "X has rank %d; a global pool needs [N, C, ...]", x->rank);
  y->rank = x->rank;
  for (int32_t k = 0; k < x->rank; k++) y->shape[k] = k < 2 ? x->shape[k] : 1;
  return TN_OK;
}

tn_status global_pool_flops(const tn_call *call, double *out_flops) {
  *out_flops = (double)tn_tensor_elements(call->inputs[0]);
  return TN_OK;
}

typedef double (*fold)(double sum, double x, double p);

static double add(double sum, double x, double p) { (void)p; return sum + x; }
static double larger(double sum, double x, double p) { (void)p; return x > sum ? x : sum; }
static double add_power(double sum, double x, double p) { return sum + pow(fabs(x), p); }

static void reference(const tn_call *call, fold f, double start, double p, double out[1], int64_t plane) {
  const tn_tensor *x = call->inputs[0];
  int64_t size = pool_product(x->shape + 2, x->rank - 2);
  *out = start;
  for (int64_t k = 0; k < size; k++) *out = f(*out, tn_load_f64(x->dtype, x->data, plane * size + k), p);
}

static int64_t planes(const tn_call *call) { return call->inputs[0]->shape[0] * call->inputs[0]->shape[1]; }

tn_status global_average_pool_reference(const tn_call *call) {
  double size = (double)pool_product(call->inputs[0]->shape + 2, call->inputs[0]->rank - 2), sum;
  for (int64_t k = 0; k < planes(call); k++) {
    reference(call, add, 0, 0, &sum, k);
    tn_store_f64(call->outputs[0]->dtype, call->outputs[0]->data, k, sum / size);
  }
  return TN_OK;
}

tn_status global_max_pool_reference(const tn_call *call) {
  double top;
  for (int64_t k = 0; k < planes(call); k++) {
    reference(call, larger, -INFINITY, 0, &top, k);
    tn_store_f64(call->outputs[0]->dtype, call->outputs[0]->data, k, top);
  }
  return TN_OK;
}

tn_status global_lp_pool_reference(const tn_call *call) {
  double p = (double)((const tn_global_lp_pool_attrs *)call->attrs)->p, sum;
  for (int64_t k = 0; k < planes(call); k++) {
    reference(call, add_power, 0, p, &sum, k);
    tn_store_f64(call->outputs[0]->dtype, call->outputs[0]->data, k, pow(sum, 1 / p));
  }
  return TN_OK;
}

tn_status max_unpool_infer(const tn_call *call) {
  const tn_max_unpool_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  tn_tensor *y = call->outputs[0];
  if (x->rank < 3 || a->kernel_shape.size != x->rank - 2 || call->inputs[1]->rank != x->rank || tn_tensor_elements(x) != tn_tensor_elements(call->inputs[1]))
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "X and I need the same shape [N, C, spatial...], kernel_shape a value per spatial dim");
  tn_window w;
  tn_window_attrs attrs = {{"", 0}, {NULL, 0}, a->kernel_shape, a->pads, a->strides, 0};
  int64_t room[TN_MAX_SPATIAL];
  for (int32_t k = 0; k < x->rank - 2; k++) room[k] = a->kernel_shape.data[k]; /* checks the attributes only */
  tn_status s = tn_window_make(call, &attrs, x->rank - 2, room, NULL, &w);
  if (s) return s;
  y->rank = x->rank;
  for (int32_t k = 0; k < x->rank; k++)
    y->shape[k] = k < 2 ? x->shape[k] : (x->shape[k] - 1) * w.stride[k - 2] + w.kernel[k - 2] - w.pad_lo[k - 2] - w.pad_hi[k - 2];
  if (!tn_has_input(call, 2)) return TN_OK;
  int64_t dims[TN_MAX_RANK], n;
  if ((s = tn_const_ints(call, 2, dims, TN_MAX_RANK, &n))) return s;
  if (n != x->rank) return call->host->fail(call->ctx, TN_ERR_SHAPE, "output_shape has %lld values for rank %d", (long long)n, x->rank);
  for (int32_t k = 0; k < x->rank; k++) y->shape[k] = dims[k];
  return TN_OK;
}

/* Where an index of the pooled input lands in the output: the index counts in the default output shape's plane. */
tn_status max_unpool_reference(const tn_call *call) {
  const tn_tensor *x = call->inputs[0], *index = call->inputs[1];
  tn_tensor *y = call->outputs[0];
  int64_t n = tn_tensor_elements(x), n_out = tn_tensor_elements(y);
  for (int64_t k = 0; k < n_out; k++) tn_store_f64(y->dtype, y->data, k, 0);
  for (int64_t k = 0; k < n; k++) {
    int64_t at = tn_load_i64(TN_I64, index->data, k);
    if (at < 0 || at >= n_out) return call->host->fail(call->ctx, TN_ERR_INVALID, "index %lld is outside the output", (long long)at);
    tn_store_f64(y->dtype, y->data, at, tn_load_f64(x->dtype, x->data, k));
  }
  return TN_OK;
}
