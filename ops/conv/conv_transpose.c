/* ConvTranspose: inference, FLOPs and the reference.
 *
 *   out = stride*(in - 1) + output_padding + dilation*(kernel - 1) + 1 - pad_lo - pad_hi
 *   Y[o] = B + sum over i, t with o = i*stride + t*dilation - pad_lo of X[i] * W[t] */
#include "conv_transpose.h"
#include "tenon/kit/infer.h"

static tn_status check_channels(const tn_call *call, int64_t groups) {
  const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
  char xt[TN_TENSOR_TEXT], wt[TN_TENSOR_TEXT];
  if (x->rank < 3)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "X has rank %d; it needs [N, C, spatial...]",
                            x->rank);
  if (x->rank != w->rank || groups < 1 || groups > tn_max_i64(1, x->shape[1]) ||
      x->shape[1] != w->shape[0] || x->shape[1] % groups)
    return call->host->fail(
        call->ctx, TN_ERR_SHAPE, "shapes do not fit: X is %s, W is %s, group is %lld",
        tn_tensor_text(x, xt, sizeof xt), tn_tensor_text(w, wt, sizeof wt), (long long)groups);
  return TN_OK;
}

/* Pads that give a wanted output size: SAME_UPPER puts the odd one at the end, all else at the
 * beginning. */
static void fit_pads(tn_window *w, int32_t k, int64_t natural, int64_t want, bool upper) {
  int64_t total = tn_max_i64(natural - want, 0);
  w->out[k] = want;
  w->pad_lo[k] = upper ? total / 2 : total - total / 2;
  w->pad_hi[k] = total - w->pad_lo[k];
}

static tn_status spatial(const tn_call *call, const tn_conv_transpose_attrs *a, tn_window *w,
                         int32_t k) {
  bool same = tn_str_is(a->auto_pad, "SAME_UPPER") || tn_str_is(a->auto_pad, "SAME_LOWER"),
       upper = tn_str_is(a->auto_pad, "SAME_UPPER");
  int64_t extra = a->output_padding.size ? a->output_padding.data[k] : 0, natural, stretched;
  tn_status s = tn_window_check(call, w, k);
  if (s) return s;
  if (tn_mul_i64(w->stride[k], w->in[k], &stretched) ||
      tn_mul_i64(w->stride[k], w->in[k] - 1, &natural) ||
      tn_add_i64(natural, extra + w->dilation[k] * (w->kernel[k] - 1) + 1, &natural))
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW,
                            "the output size overflows in spatial dim %d", k);
  if (a->output_shape.size)
    fit_pads(w, k, natural, a->output_shape.data[a->output_shape.size - w->n + k], upper);
  else if (same)
    fit_pads(w, k, natural, stretched, upper);
  else
    w->out[k] = natural - w->pad_lo[k] - w->pad_hi[k];
  return w->out[k] >= 0
             ? TN_OK
             : call->host->fail(call->ctx, TN_ERR_SHAPE,
                                "the pads are larger than the output in spatial dim %d", k);
}

tn_status conv_transpose_shape(const tn_call *call, conv_shape *out) {
  const tn_conv_transpose_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
  tn_status s = check_channels(call, a->group);
  if (s) return s;
  conv_shape c = {.batch = x->shape[0], .channels = x->shape[1], .groups = a->group};
  if (tn_mul_i64(w->shape[1], a->group, &c.filters))
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW, "the number of output channels overflows");
  c.w.n = x->rank - 2;
  if ((s = tn_window_list(call, "dilations", a->dilations, c.w.n, 1)) ||
      (s = tn_window_list(call, "strides", a->strides, c.w.n, 1)) ||
      (s = tn_window_list(call, "pads", a->pads, 2 * (int64_t)c.w.n, 0)) ||
      (s = tn_window_list(call, "output_padding", a->output_padding, c.w.n, 0)))
    return s;
  if (a->output_shape.size && a->output_shape.size != c.w.n && a->output_shape.size != x->rank)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute 'output_shape' has %lld values",
                            (long long)a->output_shape.size);
  for (int32_t k = 0; k < c.w.n && !s; k++) {
    c.w.in[k] = x->shape[2 + k];
    c.w.kernel[k] = w->shape[2 + k];
    c.w.stride[k] = a->strides.size ? a->strides.data[k] : 1;
    c.w.dilation[k] = a->dilations.size ? a->dilations.data[k] : 1;
    c.w.pad_lo[k] = a->pads.size ? a->pads.data[k] : 0;
    c.w.pad_hi[k] = a->pads.size ? a->pads.data[c.w.n + k] : 0;
    s = spatial(call, a, &c.w, k);
  }
  if (!s) s = conv_shape_sizes(call, &c);
  if (!s) *out = c;
  return s;
}

tn_status conv_transpose_infer(const tn_call *call) {
  conv_shape c;
  tn_status s = conv_transpose_shape(call, &c);
  return s ? s : conv_shape_infer(call, &c);
}

tn_status conv_transpose_flops(const tn_call *call, double *out_flops) {
  conv_shape c;
  tn_status s = conv_transpose_shape(call, &c);
  if (!s)
    *out_flops = 2.0 * (double)(c.batch * c.channels * c.in_size) *
                 (double)(c.taps * (c.filters / c.groups));
  return s;
}

/* Input position that reaches output position o through tap t; -1: none does. */
static int64_t source(const tn_window *w, int64_t o, int64_t t) {
  int64_t at = 0, opos[TN_MAX_SPATIAL], tpos[TN_MAX_SPATIAL];
  for (int32_t k = w->n - 1; k >= 0; k--) {
    opos[k] = o % w->out[k], o /= w->out[k];
    tpos[k] = t % w->kernel[k], t /= w->kernel[k];
  }
  for (int32_t k = 0; k < w->n; k++) {
    const int64_t i = opos[k] + w->pad_lo[k] - tpos[k] * w->dilation[k];
    if (i < 0 || i % w->stride[k] || i / w->stride[k] >= w->in[k]) return -1;
    at = at * w->in[k] + i / w->stride[k];
  }
  return at;
}

/* One output element: looks at every tap and channel, slow and plain. */
static double reference_element(const tn_call *call, const conv_shape *c, int64_t n, int64_t m,
                                int64_t o) {
  const tn_tensor *x = call->inputs[0], *w = call->inputs[1], *b = tn_input(call, 2);
  int64_t out_group = c->filters / c->groups, in_group = c->channels / c->groups,
          first = m / out_group * in_group;
  double sum = b ? tn_load_f64(b->dtype, b->data, m) : 0;
  for (int64_t t = 0; t < c->taps; t++) {
    const int64_t i = source(&c->w, o, t);
    if (i < 0) continue;
    for (int64_t k = first; k < first + in_group; k++)
      sum += tn_load_f64(x->dtype, x->data, (n * c->channels + k) * c->in_size + i) *
             tn_load_f64(w->dtype, w->data, (k * out_group + m % out_group) * c->taps + t);
  }
  return sum;
}

tn_status conv_transpose_reference(const tn_call *call) {
  conv_shape c;
  tn_status s = conv_transpose_shape(call, &c);
  for (int64_t k = 0; !s && k < c.batch * c.filters * c.out_size; k++)
    tn_store_f64(call->outputs[0]->dtype, call->outputs[0]->data, k,
                 reference_element(call, &c, k / (c.filters * c.out_size),
                                   k / c.out_size % c.filters, k % c.out_size));
  return s;
}
