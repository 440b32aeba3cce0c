/* Conv: inference, FLOPs and the reference. */
#include "conv_geometry.h"
#include "tenon/kit/infer.h"

static tn_status check_channels(const tn_call *call, const tn_tensor *x, const tn_tensor *w,
                                int64_t groups) {
  char xt[TN_TENSOR_TEXT], wt[TN_TENSOR_TEXT];
  if (x->rank < 2 || x->rank != w->rank)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "X is %s and W is %s; both need the same rank, at least 2",
                            tn_tensor_text(x, xt, sizeof xt), tn_tensor_text(w, wt, sizeof wt));
  if (groups < 1 || groups > tn_max_i64(1, w->shape[0]) || w->shape[0] % groups ||
      x->shape[1] % groups || w->shape[1] != x->shape[1] / groups)
    return call->host->fail(
        call->ctx, TN_ERR_SHAPE, "channels do not fit: X is %s, W is %s, group is %lld",
        tn_tensor_text(x, xt, sizeof xt), tn_tensor_text(w, wt, sizeof wt), (long long)groups);
  return TN_OK;
}

tn_status conv_shape_of(const tn_call *call, const tn_tensor *x, const tn_tensor *w,
                        const tn_window_attrs *window, int64_t groups, conv_shape *out) {
  tn_status s = check_channels(call, x, w, groups);
  if (s) return s;
  conv_shape c = {
      .batch = x->shape[0], .channels = x->shape[1], .filters = w->shape[0], .groups = groups};
  s = tn_window_make(call, window, x->rank - 2, x->shape + 2, w->shape + 2, &c.w);
  if (!s) s = conv_shape_sizes(call, &c);
  if (!s) *out = c;
  return s;
}

tn_status conv_shape_sizes(const tn_call *call, conv_shape *c) {
  tn_status s = tn_window_product(call, c->w.in, c->w.n, &c->in_size);
  if (!s) s = tn_window_product(call, c->w.out, c->w.n, &c->out_size);
  return s ? s : tn_window_product(call, c->w.kernel, c->w.n, &c->taps);
}

tn_status conv_shape_make(const tn_call *call, conv_shape *out) {
  const tn_conv_attrs *a = call->attrs;
  tn_window_attrs window = {a->auto_pad, a->dilations, a->kernel_shape, a->pads, a->strides, 0};
  return conv_shape_of(call, call->inputs[0], call->inputs[1], &window, a->group, out);
}

tn_status conv_shape_infer(const tn_call *call, const conv_shape *c) {
  const tn_tensor *b = tn_input(call, 2);
  int64_t shape[TN_MAX_RANK] = {c->batch, c->filters};
  if (b && (b->rank != 1 || b->shape[0] != c->filters))
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "B must be a vector of %lld values",
                            (long long)c->filters);
  for (int32_t k = 0; k < c->w.n; k++) shape[2 + k] = c->w.out[k];
  tn_infer_shape(call, 0, TN_NONE, c->w.n + 2, shape);
  return TN_OK;
}

tn_status conv_infer(const tn_call *call) {
  conv_shape c;
  tn_status s = conv_shape_make(call, &c);
  return s ? s : conv_shape_infer(call, &c);
}

tn_status conv_flops(const tn_call *call, double *out_flops) {
  conv_shape c;
  tn_status s = conv_shape_make(call, &c);
  if (!s)
    *out_flops = 2.0 * (double)(c.batch * c.filters * c.out_size) *
                 (double)(c.taps * (c.channels / c.groups));
  return s;
}

int64_t conv_tap_index(const tn_window *w, int64_t o, int64_t t) {
  int64_t at[TN_MAX_SPATIAL], tap[TN_MAX_SPATIAL], index = 0;
  tn_unravel(o, w->out, w->n, at);
  tn_unravel(t, w->kernel, w->n, tap);
  for (int32_t k = 0; k < w->n; k++) {
    int64_t i = at[k] * w->stride[k] - w->pad_lo[k] + tap[k] * w->dilation[k];
    if (i < 0 || i >= w->in[k]) return -1;
    index = index * w->in[k] + i;
  }
  return index;
}

/* Sum over one input channel under one window; o: output position. */
static double reference_window(const tn_call *call, const conv_shape *c, int64_t x_at, int64_t w_at,
                               int64_t o) {
  double sum = 0;
  for (int64_t t = 0; t < c->taps; t++) {
    int64_t i = conv_tap_index(&c->w, o, t);
    if (i >= 0)
      sum += tn_load_f64(call->inputs[0]->dtype, call->inputs[0]->data, x_at + i) *
             tn_load_f64(call->inputs[1]->dtype, call->inputs[1]->data, w_at + t);
  }
  return sum;
}

tn_status conv_reference(const tn_call *call) {
  conv_shape c;
  tn_status s = conv_shape_make(call, &c);
  if (s) return s;
  const tn_tensor *b = tn_input(call, 2);
  int64_t per_group = c.channels / c.groups, n_out = c.batch * c.filters * c.out_size;
  for (int64_t index = 0; index < n_out; index++) {
    int64_t n = index / (c.filters * c.out_size), m = index / c.out_size % c.filters;
    int64_t first = m / (c.filters / c.groups) * per_group;
    double sum = b ? tn_load_f64(b->dtype, b->data, m) : 0;
    for (int64_t k = 0; k < per_group; k++)
      sum += reference_window(call, &c, (n * c.channels + first + k) * c.in_size,
                              (m * per_group + k) * c.taps, index % c.out_size);
    tn_store_f64(call->outputs[0]->dtype, call->outputs[0]->data, index, sum);
  }
  return TN_OK;
}
