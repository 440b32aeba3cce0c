/* Pools with a window: inference and references. The references visit every tap of every window and
 * skip those outside. */
#include "pool_shape.h"
#include "tenon/kit/element.h"

#include <math.h>

tn_status pool_shape_make(const tn_call *call, const tn_window_attrs *attrs, pool_shape *out) {
  const tn_tensor *x = call->inputs[0];
  if (x->rank < 3)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "X has rank %d; a pool needs [N, C, spatial...]", x->rank);
  if (attrs->kernel_shape.size != x->rank - 2)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute 'kernel_shape' has %lld values for %d spatial dims",
                            (long long)attrs->kernel_shape.size, x->rank - 2);
  pool_shape p = {.channels = x->shape[0] * x->shape[1]};
  tn_status s = tn_window_make(call, attrs, x->rank - 2, x->shape + 2, NULL, &p.w);
  if (!s) s = tn_window_product(call, p.w.in, p.w.n, &p.in_size);
  if (!s) s = tn_window_product(call, p.w.out, p.w.n, &p.out_size);
  if (!s) s = tn_window_product(call, p.w.kernel, p.w.n, &p.taps);
  if (!s) *out = p;
  return s;
}

tn_status max_pool_shape(const tn_call *call, pool_shape *out) {
  const tn_max_pool_attrs *a = call->attrs;
  return pool_shape_make(call,
                         &(tn_window_attrs){a->auto_pad, a->dilations, a->kernel_shape, a->pads,
                                            a->strides, a->ceil_mode},
                         out);
}

tn_status average_pool_shape(const tn_call *call, pool_shape *out) {
  const tn_average_pool_attrs *a = call->attrs;
  return pool_shape_make(call,
                         &(tn_window_attrs){a->auto_pad, a->dilations, a->kernel_shape, a->pads,
                                            a->strides, a->ceil_mode},
                         out);
}

tn_status lp_pool_shape(const tn_call *call, pool_shape *out) {
  const tn_lp_pool_attrs *a = call->attrs;
  return pool_shape_make(call,
                         &(tn_window_attrs){a->auto_pad, a->dilations, a->kernel_shape, a->pads,
                                            a->strides, a->ceil_mode},
                         out);
}

void pool_infer(const tn_call *call, const pool_shape *p) {
  for (uint32_t k = 0; k < call->n_outputs; k++) {
    tn_tensor *y = call->outputs[k];
    if (!y) continue;
    y->rank = call->inputs[0]->rank;
    y->shape[0] = call->inputs[0]->shape[0];
    y->shape[1] = call->inputs[0]->shape[1];
    for (int32_t d = 0; d < p->w.n; d++) y->shape[2 + d] = p->w.out[d];
  }
}

tn_status max_pool_infer(const tn_call *call) {
  pool_shape p;
  tn_status s = max_pool_shape(call, &p);
  if (!s) pool_infer(call, &p);
  return s;
}

tn_status average_pool_infer(const tn_call *call) {
  pool_shape p;
  tn_status s = average_pool_shape(call, &p);
  if (!s) pool_infer(call, &p);
  return s;
}

tn_status lp_pool_infer(const tn_call *call) {
  pool_shape p;
  tn_status s = lp_pool_shape(call, &p);
  if (!s) pool_infer(call, &p);
  return s;
}

tn_status max_pool_flops(const tn_call *call, double *out_flops) {
  pool_shape p;
  tn_status s = max_pool_shape(call, &p);
  if (!s) *out_flops = (double)(p.channels * p.out_size) * (double)p.taps;
  return s;
}

tn_status average_pool_flops(const tn_call *call, double *out_flops) {
  pool_shape p;
  tn_status s = average_pool_shape(call, &p);
  if (!s) *out_flops = (double)(p.channels * p.out_size) * (double)p.taps;
  return s;
}

/* A power and a sum for each tap. */
tn_status lp_pool_flops(const tn_call *call, double *out_flops) {
  pool_shape p;
  tn_status s = lp_pool_shape(call, &p);
  if (!s) *out_flops = 2 * (double)(p.channels * p.out_size) * (double)p.taps;
  return s;
}

int64_t pool_tap_index(const pool_shape *p, int64_t at, int64_t t) {
  int64_t o[TN_MAX_SPATIAL], tap[TN_MAX_SPATIAL], index = 0;
  tn_unravel(at, p->w.out, p->w.n, o);
  tn_unravel(t, p->w.kernel, p->w.n, tap);
  for (int32_t k = 0; k < p->w.n; k++) {
    int64_t i = o[k] * p->w.stride[k] - p->w.pad_lo[k] + tap[k] * p->w.dilation[k];
    if (i < 0 || i >= p->w.in[k]) return -1;
    index = index * p->w.in[k] + i;
  }
  return index;
}

/* storage_order 1: the first spatial dim is the one that is counted fastest. */
static int64_t stored_index(const tn_call *call, const pool_shape *p, int64_t plane,
                            int64_t index) {
  int64_t at = 0;
  if (((const tn_max_pool_attrs *)call->attrs)->storage_order == 0)
    return plane * p->in_size + index;
  for (int32_t k = p->w.n - 1; k >= 0; k--) {
    int64_t step = 1;
    for (int32_t d = 0; d < k; d++) step *= p->w.in[d];
    at += index % p->w.in[k] * step;
    index /= p->w.in[k];
  }
  return plane * p->in_size + at;
}

tn_status max_pool_reference(const tn_call *call) {
  pool_shape p;
  tn_status s = max_pool_shape(call, &p);
  const tn_tensor *x = call->inputs[0];
  for (int64_t k = 0; !s && k < p.channels * p.out_size; k++) {
    double best = pool_lowest(x->dtype);
    int64_t where = -1;
    for (int64_t t = 0; t < p.taps; t++) {
      int64_t i = pool_tap_index(&p, k % p.out_size, t);
      double v = i < 0 ? 0 : tn_load_f64(x->dtype, x->data, k / p.out_size * p.in_size + i);
      if (i >= 0 && (where < 0 || v > best)) where = i;
      if (i >= 0 && v > best) best = v;
    }
    tn_store_f64(x->dtype, call->outputs[0]->data, k, best);
    if (call->n_outputs > 1 && call->outputs[1])
      tn_store_i64(TN_I64, call->outputs[1]->data, k,
                   where < 0 ? -1 : stored_index(call, &p, k / p.out_size, where));
  }
  return s;
}

tn_status average_pool_reference(const tn_call *call) {
  pool_shape p;
  tn_status s = average_pool_shape(call, &p);
  const tn_tensor *x = call->inputs[0];
  bool count_pads = ((const tn_average_pool_attrs *)call->attrs)->count_include_pad != 0;
  for (int64_t k = 0; !s && k < p.channels * p.out_size; k++) {
    double sum = 0, count = 0, padded = 1;
    int64_t o[TN_MAX_SPATIAL];
    for (int64_t t = 0; t < p.taps; t++) {
      int64_t i = pool_tap_index(&p, k % p.out_size, t);
      if (i >= 0) sum += tn_load_f64(x->dtype, x->data, k / p.out_size * p.in_size + i), count++;
    }
    tn_unravel(k % p.out_size, p.w.out, p.w.n, o);
    for (int32_t d = 0; d < p.w.n; d++) padded *= (double)pool_padded_taps(&p.w, d, o[d]);
    tn_store_f64(x->dtype, call->outputs[0]->data, k, sum / (count_pads ? padded : count));
  }
  return s;
}

tn_status lp_pool_reference(const tn_call *call) {
  pool_shape p;
  tn_status s = lp_pool_shape(call, &p);
  const tn_tensor *x = call->inputs[0];
  double power = (double)((const tn_lp_pool_attrs *)call->attrs)->p;
  for (int64_t k = 0; !s && k < p.channels * p.out_size; k++) {
    double sum = 0;
    for (int64_t t = 0; t < p.taps; t++) {
      int64_t i = pool_tap_index(&p, k % p.out_size, t);
      if (i >= 0)
        sum += pow(fabs(tn_load_f64(x->dtype, x->data, k / p.out_size * p.in_size + i)), power);
    }
    tn_store_f64(x->dtype, call->outputs[0]->data, k, pow(sum, 1 / power));
  }
  return s;
}
