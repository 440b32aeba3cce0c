/* Global pools and MaxUnpool: inference and references. */
#include <math.h>
#include <string.h>

#include "pool_shape.h"
#include "tenon/kit/infer.h"

tn_status global_pool_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  tn_tensor *y = call->outputs[0];
  if (x->rank < 2)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "X has rank %d; a global pool needs [N, C, ...]", x->rank);
  y->rank = x->rank;
  for (int32_t k = 0; k < x->rank; k++) y->shape[k] = k < 2 ? x->shape[k] : 1;
  return TN_OK;
}

tn_status global_pool_flops(const tn_call *call, double *out_flops) {
  *out_flops = (double)tn_elements(call->inputs[0]);
  return TN_OK;
}

tn_status global_lp_pool_flops(const tn_call *call, double *out_flops) {
  *out_flops = 2 * (double)tn_elements(call->inputs[0]);
  return TN_OK;
}

typedef double (*fold)(double sum, double x, double p);

static double add(double sum, double x, double p) {
  (void)p;
  return sum + x;
}
static double larger(double sum, double x, double p) {
  (void)p;
  return x > sum ? x : sum;
}
static double add_power(double sum, double x, double p) { return sum + pow(fabs(x), p); }

static void reference(const tn_call *call, fold f, double start, double p, double out[1],
                      int64_t plane) {
  const tn_tensor *x = call->inputs[0];
  int64_t size = tn_dims_size(x->shape + 2, x->rank - 2);
  *out = start;
  for (int64_t k = 0; k < size; k++)
    *out = f(*out, tn_load_f64(x->dtype, x->data, plane * size + k), p);
}

static int64_t planes(const tn_call *call) {
  return call->inputs[0]->shape[0] * call->inputs[0]->shape[1];
}

tn_status global_average_pool_reference(const tn_call *call) {
  double size = (double)tn_dims_size(call->inputs[0]->shape + 2, call->inputs[0]->rank - 2), sum;
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

/* The spatial dims that X would have been pooled from: indices count in a tensor of these. */
static tn_status unpooled_dims(const tn_call *call, int64_t *dims) {
  const tn_max_unpool_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  if (x->rank < 3 || a->kernel_shape.size != x->rank - 2 ||
      tn_elements(x) != tn_elements(call->inputs[1]))
    return call->host->fail(
        call->ctx, TN_ERR_SHAPE,
        "X and I need the same shape [N, C, spatial...], kernel_shape a value per spatial dim");
  tn_window w = {0};
  tn_window_attrs attrs = {{"", 0}, {NULL, 0}, a->kernel_shape, a->pads, a->strides, 0};
  /* checks the attributes only: the pooled dims are not those of this window */
  tn_status s = tn_window_make(call, &attrs, x->rank - 2, a->kernel_shape.data, NULL, &w);
  for (int32_t k = 0; k < x->rank && !s; k++) {
    int64_t dim = x->shape[k];
    if (k >= 2 && (tn_mul_i64(dim - 1, w.stride[k - 2], &dim) ||
                   tn_add_i64(dim, w.kernel[k - 2] - w.pad_lo[k - 2] - w.pad_hi[k - 2], &dim)))
      s = call->host->fail(call->ctx, TN_ERR_OVERFLOW, "X is too large in spatial dim %d", k - 2);
    else if (dim < 0)
      s = call->host->fail(call->ctx, TN_ERR_SHAPE,
                           "the pads are larger than the output in spatial dim %d", k - 2);
    dims[k] = dim;
  }
  return s;
}

tn_status max_unpool_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  tn_tensor *y = call->outputs[0];
  int64_t dims[TN_MAX_RANK], n = 0;
  tn_status s = unpooled_dims(call, dims);
  if (s) return s;
  if (tn_has_input(call, 2) && (s = tn_const_ints(call, 2, dims, TN_MAX_RANK, &n))) return s;
  if (tn_has_input(call, 2) && n != x->rank)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "output_shape has %lld values for rank %d",
                            (long long)n, x->rank);
  y->rank = x->rank;
  for (int32_t k = 0; k < x->rank; k++) y->shape[k] = dims[k];
  return TN_OK;
}

tn_status max_unpool_place(const tn_call *call, int64_t index, int64_t *out) {
  const tn_tensor *y = call->outputs[0];
  int64_t dims[TN_MAX_RANK], at = 0, rest = index, stride = 1;
  tn_status s = unpooled_dims(call, dims);
  for (int32_t k = y->rank - 1; k >= 0 && !s && rest >= 0; k--) {
    if (dims[k] == 0 || rest % dims[k] >= y->shape[k]) {
      rest = -1;
      break;
    }
    at += rest % dims[k] * stride;
    stride *= y->shape[k];
    rest /= dims[k];
  }
  if (s) return s;
  if (index < 0 || rest)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "input 'I' holds %lld, which is outside the output", (long long)index);
  *out = at;
  return TN_OK;
}

tn_status max_unpool_reference(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  tn_tensor *y = call->outputs[0];
  int64_t n = tn_elements(x), at = 0;
  for (int64_t k = 0; k < tn_elements(y); k++) tn_store_f64(y->dtype, y->data, k, 0);
  for (int64_t k = 0; k < n; k++) {
    tn_status s = max_unpool_place(call, tn_load_i64(TN_I64, call->inputs[1]->data, k), &at);
    if (s) return s;
    tn_store_f64(y->dtype, y->data, at, tn_load_f64(x->dtype, x->data, k));
  }
  return TN_OK;
}
