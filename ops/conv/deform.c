/* DeformConv: what it is, inference, FLOPs and the reference. */
#include "deform.h"

#include <math.h>

#include "tenon/kit/infer.h"

static bool has_dims(const tn_tensor *t, int64_t a, int64_t b, int64_t c, int64_t d) {
  return t->rank == 4 && t->shape[0] == a && t->shape[1] == b && t->shape[2] == c &&
         t->shape[3] == d;
}

tn_status deform_make(const tn_call *call, deform *out) {
  const tn_deform_conv_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0], *bias = tn_input(call, 3), *mask = tn_input(call, 4);
  const tn_window_attrs window = {.dilations = a->dilations,
                                  .kernel_shape = a->kernel_shape,
                                  .pads = a->pads,
                                  .strides = a->strides};
  deform d = {.offsets = call->inputs[2], .bias = bias, .mask = mask, .n_offsets = a->offset_group};
  char text[TN_TENSOR_TEXT];
  if (x->rank != 4)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                            "not supported: X is %s; only images [N, C, H, W] are",
                            tn_tensor_text(x, text, sizeof text));
  tn_status s = conv_shape_of(call, x, call->inputs[1], &window, a->group, &d.c);
  if (s) return s;
  const int64_t *o = d.c.w.out;
  if (d.n_offsets < 1 || d.n_offsets > tn_max_i64(1, d.c.channels) || d.c.channels % d.n_offsets)
    return call->host->fail(
        call->ctx, TN_ERR_INVALID,
        "attribute 'offset_group' is %lld; it does not divide the %lld channels",
        (long long)d.n_offsets, (long long)d.c.channels);
  if (!has_dims(d.offsets, d.c.batch, d.n_offsets * d.c.taps * 2, o[0], o[1]))
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "offset is %s, not [%lld, offset_group * taps * 2, %lld, %lld]",
                            tn_tensor_text(d.offsets, text, sizeof text), (long long)d.c.batch,
                            (long long)o[0], (long long)o[1]);
  if (mask && !has_dims(mask, d.c.batch, d.n_offsets * d.c.taps, o[0], o[1]))
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "mask is %s, not [%lld, offset_group * taps, %lld, %lld]",
                            tn_tensor_text(mask, text, sizeof text), (long long)d.c.batch,
                            (long long)o[0], (long long)o[1]);
  if (bias && (bias->rank != 1 || bias->shape[0] != d.c.filters))
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "B must be a vector of %lld values",
                            (long long)d.c.filters);
  *out = d;
  return TN_OK;
}

tn_status deform_conv_infer(const tn_call *call) {
  deform d;
  tn_status s = deform_make(call, &d);
  if (!s)
    tn_infer_shape(call, 0, TN_NONE, 4,
                   (int64_t[]){d.c.batch, d.c.filters, d.c.w.out[0], d.c.w.out[1]});
  return s;
}

tn_status deform_conv_flops(const tn_call *call, double *out_flops) {
  deform d;
  tn_status s = deform_make(call, &d);
  const double taps = s ? 0 : (double)(d.c.batch * d.c.out_size) * (double)d.c.taps;
  if (!s)
    *out_flops = taps * (double)d.c.channels * (8 + 2 * (double)d.c.filters / (double)d.c.groups);
  return s;
}

/* ---- reference ---- */

/* A pixel of a plane that begins at element `plane`; 0 outside. */
static double pixel(const tn_call *call, const deform *d, int64_t plane, double y, double x) {
  const int64_t height = d->c.w.in[0], width = d->c.w.in[1];
  if (!(y >= 0 && y < (double)height && x >= 0 && x < (double)width)) return 0;
  return tn_load_f64(call->inputs[0]->dtype, call->inputs[0]->data,
                     plane + (int64_t)y * width + (int64_t)x);
}

/* Tap t of channel `channel` of image n for output position o, mask and all. */
static double moved_tap(const tn_call *call, const deform *d, int64_t n, int64_t channel, int64_t t,
                        int64_t o) {
  const tn_window *w = &d->c.w;
  const int64_t group = channel / (d->c.channels / d->n_offsets),
                slot = (n * d->n_offsets + group) * d->c.taps + t, size = d->c.out_size;
  const double down = tn_load_f64(d->offsets->dtype, d->offsets->data, 2 * slot * size + o),
               across = tn_load_f64(d->offsets->dtype, d->offsets->data, (2 * slot + 1) * size + o);
  const double y = (double)(o / w->out[1] * w->stride[0] - w->pad_lo[0] +
                            t / w->kernel[1] * w->dilation[0]) +
                   down,
               x = (double)(o % w->out[1] * w->stride[1] - w->pad_lo[1] +
                            t % w->kernel[1] * w->dilation[1]) +
                   across;
  const double top = floor(y), left = floor(x), dy = y - top, dx = x - left;
  const int64_t plane = (n * d->c.channels + channel) * d->c.in_size;
  const double value = !isfinite(y) || !isfinite(x)
                           ? 0 /* outside, too */
                           : (1 - dy) * (1 - dx) * pixel(call, d, plane, top, left) +
                                 (1 - dy) * dx * pixel(call, d, plane, top, left + 1) +
                                 dy * (1 - dx) * pixel(call, d, plane, top + 1, left) +
                                 dy * dx * pixel(call, d, plane, top + 1, left + 1);
  return d->mask ? value * tn_load_f64(d->mask->dtype, d->mask->data, slot * size + o) : value;
}

tn_status deform_conv_reference(const tn_call *call) {
  const tn_tensor *weights = call->inputs[1];
  deform d;
  tn_status s = deform_make(call, &d);
  if (s) return s;
  const int64_t depth = d.c.channels / d.c.groups, filters = d.c.filters / d.c.groups;
  for (int64_t k = 0; k < d.c.batch * d.c.filters * d.c.out_size; k++) {
    const int64_t o = k % d.c.out_size, m = k / d.c.out_size % d.c.filters,
                  n = k / d.c.out_size / d.c.filters;
    double sum = d.bias ? tn_load_f64(d.bias->dtype, d.bias->data, m) : 0;
    for (int64_t i = 0; i < depth * d.c.taps; i++)
      sum += moved_tap(call, &d, n, m / filters * depth + i / d.c.taps, i % d.c.taps, o) *
             tn_load_f64(weights->dtype, weights->data, m * depth * d.c.taps + i);
    tn_store_f64(call->outputs[0]->dtype, call->outputs[0]->data, k, sum);
  }
  return TN_OK;
}
