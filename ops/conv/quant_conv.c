/* QuantConv: a convolution of quantised tensors with what quantises its sums, and a quantised
 * residual. Shapes and reference. */
#include "quant_conv.h"

#include <math.h>

#include "tenon/kit/infer.h"

/* ---- shapes ---- */

static tn_status wrong(const tn_call *call, const char *what) {
  return call->host->fail(call->ctx, TN_ERR_SHAPE, "%s", what);
}

static uint32_t dtype_of(tn_str name) {
  return tn_str_is(name, "f32")  ? TN_F32
         : tn_str_is(name, "u8") ? TN_U8
         : tn_str_is(name, "i8") ? TN_I8
                                 : TN_NONE;
}

static tn_status check_numbers(const tn_call *call, const quant_conv *q) {
  const tn_quant_conv_attrs *a = q->a;
  const int64_t bounds[] = {a->x_zero, a->y_zero,   a->lo,     a->hi,
                            a->z_zero, a->sum_zero, a->sum_lo, a->sum_hi};
  if (!q->y_dtype)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute 'y_type' is not f32, u8 or i8");
  if (q->z && q->y_dtype == TN_F32)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "Z is added to quantised outputs only");
  for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++)
    if (bounds[k] < -128 || bounds[k] > 255)
      return call->host->fail(call->ctx, TN_ERR_INVALID,
                              "zero points and bounds must lie in -128 .. 255");
  if (q->x->dtype == TN_I8 ? a->x_zero > 127 : a->x_zero < 0)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "x_zero is not a value that X may have");
  return TN_OK;
}

tn_status quant_conv_make(const tn_call *call, quant_conv *out) {
  const tn_quant_conv_attrs *a = call->attrs;
  quant_conv q = {.y_dtype = dtype_of(a->y_type)};
  quant_conv_bind(call, &q);
  const tn_window_attrs window = {a->auto_pad, a->dilations, a->kernel_shape,
                                  a->pads,     a->strides,   0};
  tn_status s = conv_shape_of(call, q.x, q.w, &window, a->group, &q.c);
  if (!s) s = check_numbers(call, &q);
  if (s) return s;
  const int64_t n = tn_elements(q.w_scale), n_zeros = q.w_zero ? tn_elements(q.w_zero) : 1;
  if (n != 1 && n != q.c.filters)
    return wrong(call, "w_scale has neither one value nor one per filter");
  if (n_zeros != 1 && n_zeros != q.c.filters)
    return wrong(call, "w_zero has neither one value nor one per filter");
  if (q.bias && (q.bias->rank != 1 || q.bias->shape[0] != q.c.filters))
    return wrong(call, "B is not [filters]");
  *out = q;
  return TN_OK;
}

tn_status quant_conv_infer(const tn_call *call) {
  quant_conv q;
  const tn_status s = quant_conv_make(call, &q);
  if (s) return s;
  int64_t shape[TN_MAX_RANK] = {q.c.batch, q.c.filters};
  for (int32_t k = 0; k < q.c.w.n; k++) shape[2 + k] = q.c.w.out[k];
  if (q.z) {
    bool same = q.z->rank == q.c.w.n + 2;
    for (int32_t k = 0; same && k < q.z->rank; k++) same = q.z->shape[k] == shape[k];
    if (!same) return wrong(call, "Z does not have the shape of Y");
  }
  tn_infer_shape(call, 0, q.y_dtype, q.c.w.n + 2, shape);
  return TN_OK;
}

tn_status quant_conv_flops(const tn_call *call, double *out_flops) {
  quant_conv q;
  const tn_status s = quant_conv_make(call, &q);
  if (!s)
    *out_flops = 2.0 * (double)(q.c.batch * q.c.filters * q.c.out_size) *
                 (double)(q.c.taps * (q.c.channels / q.c.groups));
  return s;
}

/* ---- reference ---- */

static int64_t window_sum(const quant_conv *q, int64_t index) {
  const conv_shape *c = &q->c;
  const int64_t m = index / c->out_size % c->filters, n = index / c->out_size / c->filters,
                each = c->channels / c->groups, first = m / (c->filters / c->groups) * each;
  int64_t sum = 0;
  for (int64_t t = 0; t < c->taps; t++) {
    const int64_t i = conv_tap_index(&c->w, index % c->out_size, t);
    for (int64_t k = 0; k < each && i >= 0; k++)
      sum += (tn_load_i64(q->x->dtype, q->x->data, (n * c->channels + first + k) * c->in_size + i) -
              q->a->x_zero) *
             quant_conv_weight(q, m, k * c->taps + t);
  }
  return sum;
}

static double quantised(double v, int64_t zero, int64_t lo, int64_t hi) {
  const double q = nearbyint(v) + (double)zero;
  return !(q > (double)lo) ? (double)lo : q > (double)hi ? (double)hi : q;
}

double quant_conv_finish(const quant_conv *q, int64_t m, int64_t index, int64_t sum) {
  const tn_quant_conv_attrs *a = q->a;
  const double v =
      (double)(sum + quant_conv_first(q, m)) * (double)(float)a->x_scale * quant_conv_scale(q, m) +
      quant_conv_bias(q, m);
  const int64_t least = q->y_dtype == TN_I8 ? -128 : 0, most = q->y_dtype == TN_I8 ? 127 : 255;
  if (q->y_dtype == TN_F32) return v;
  double y = quantised(v / (float)a->y_scale, a->y_zero, a->lo, a->hi);
  if (q->z) {
    const double z = (double)(tn_load_i64(q->z->dtype, q->z->data, index) - a->z_zero);
    y = (y - (double)a->y_zero) * (float)a->y_scale + z * (float)a->z_scale;
    y = quantised(y / (float)a->sum_scale, a->sum_zero, a->sum_lo, a->sum_hi);
  }
  return fmin(fmax(y, (double)least), (double)most);
}

tn_status quant_conv_reference(const tn_call *call) {
  const tn_tensor *y = call->outputs[0];
  quant_conv q;
  const tn_status s = quant_conv_make(call, &q);
  for (int64_t k = 0; !s && k < tn_elements(y); k++) {
    const int64_t m = k / q.c.out_size % q.c.filters;
    tn_store_f64(y->dtype, y->data, k, quant_conv_finish(&q, m, k, window_sum(&q, k)));
  }
  return s;
}
