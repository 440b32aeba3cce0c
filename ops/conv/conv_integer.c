/* ConvInteger and QLinearConv: shapes, inference, FLOPs and references. */
#include <math.h>

#include "conv_integer.h"
#include "tenon/kit/infer.h"

/* A parameter per tensor, or per filter where that is allowed. */
static tn_status check_count(const tn_call *call, const tn_tensor *t, const char *name,
                             int64_t filters) {
  int64_t n = t ? tn_elements(t) : 1;
  if (n == 1 || n == filters) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_SHAPE, "'%s' has %lld values", name, (long long)n);
}

tn_status conv_integer_make(const tn_call *call, conv_quant *out) {
  const tn_conv_integer_attrs *a = call->attrs;
  conv_quant q = {.x = tn_input(call, 0),
                  .w = tn_input(call, 1),
                  .x_zero = tn_input(call, 2),
                  .w_zero = tn_input(call, 3)};
  tn_window_attrs window = {a->auto_pad, a->dilations, a->kernel_shape, a->pads, a->strides, 0};
  tn_status s = conv_shape_of(call, q.x, q.w, &window, a->group, &q.c);
  if (!s) s = check_count(call, q.x_zero, "x_zero_point", 1);
  if (!s) s = check_count(call, q.w_zero, "w_zero_point", q.c.filters);
  if (!s) *out = q;
  return s;
}

tn_status qlinear_conv_make(const tn_call *call, conv_quant *out) {
  const tn_q_linear_conv_attrs *a = call->attrs;
  conv_quant q = {.x = tn_input(call, 0),
                  .x_scale = tn_input(call, 1),
                  .x_zero = tn_input(call, 2),
                  .w = tn_input(call, 3),
                  .w_scale = tn_input(call, 4),
                  .w_zero = tn_input(call, 5),
                  .y_scale = tn_input(call, 6),
                  .y_zero = tn_input(call, 7),
                  .bias = tn_input(call, 8)};
  tn_window_attrs window = {a->auto_pad, a->dilations, a->kernel_shape, a->pads, a->strides, 0};
  tn_status s = conv_shape_of(call, q.x, q.w, &window, a->group, &q.c);
  const struct {
    const tn_tensor *t;
    const char *name;
    int64_t n;
  } counts[] = {{q.x_scale, "x_scale", 1},           {q.x_zero, "x_zero_point", 1},
                {q.w_scale, "w_scale", q.c.filters}, {q.w_zero, "w_zero_point", q.c.filters},
                {q.y_scale, "y_scale", 1},           {q.y_zero, "y_zero_point", 1}};
  for (size_t k = 0; k < sizeof counts / sizeof *counts && !s; k++)
    s = check_count(call, counts[k].t, counts[k].name, counts[k].n);
  if (!s && q.bias && tn_elements(q.bias) != q.c.filters)
    s = call->host->fail(call->ctx, TN_ERR_SHAPE, "B must have %lld values",
                         (long long)q.c.filters);
  if (!s) *out = q;
  return s;
}

static tn_status infer(const tn_call *call, const conv_quant *q) {
  int64_t shape[TN_MAX_RANK] = {q->c.batch, q->c.filters};
  for (int32_t k = 0; k < q->c.w.n; k++) shape[2 + k] = q->c.w.out[k];
  tn_infer_shape(call, 0, TN_NONE, q->x->rank, shape);
  return TN_OK;
}

static double flops(const conv_quant *q) {
  return 2.0 * (double)(q->c.batch * q->c.filters * q->c.out_size) *
         (double)(q->c.taps * (q->c.channels / q->c.groups));
}

#define BOTH(name)                                                 \
  tn_status name##_infer(const tn_call *call) {                    \
    conv_quant q;                                                  \
    tn_status s = name##_make(call, &q);                           \
    return s ? s : infer(call, &q);                                \
  }                                                                \
  tn_status name##_flops(const tn_call *call, double *out_flops) { \
    conv_quant q;                                                  \
    tn_status s = name##_make(call, &q);                           \
    if (!s) *out_flops = flops(&q);                                \
    return s;                                                      \
  }
BOTH(conv_integer)
BOTH(qlinear_conv)

/* Of the kernels on the integer tiles: sums of a filter's bytes are exact in f32. */
const char *conv_integer_refuse(const tn_call *call) {
  enum { MAX_DEPTH = INT32_MAX / (255 * 128) };
  conv_quant q;
  if (call->inputs[0]->rank < 3 || call->inputs[0]->rank > 5) return "takes 1 to 3 spatial dims";
  if (conv_integer_make(call, &q)) return "its shapes do not fit";
  if (q.w_zero && tn_elements(q.w_zero) != 1) return "takes one zero point of weights";
  return q.c.channels / q.c.groups > MAX_DEPTH / tn_max_i64(1, q.c.taps)
             ? "takes windows of up to 65793 elements"
             : NULL;
}

/* Output element `index`, exact. */
static int64_t reference_sum(const conv_quant *q, int64_t index) {
  const conv_shape *c = &q->c;
  int64_t m = index / c->out_size % c->filters, n = index / c->out_size / c->filters,
          each = c->channels / c->groups, sum = 0;
  int64_t first = m / (c->filters / c->groups) * each, x_zero = conv_zero(q->x_zero, 0),
          w_zero = conv_zero(q->w_zero, m);
  for (int64_t k = 0; k < each; k++)
    for (int64_t t = 0; t < c->taps; t++) {
      int64_t i = conv_tap_index(&c->w, index % c->out_size, t);
      if (i < 0) continue;
      sum += (tn_load_i64(q->x->dtype, q->x->data, (n * c->channels + first + k) * c->in_size + i) -
              x_zero) *
             (tn_load_i64(q->w->dtype, q->w->data, (m * each + k) * c->taps + t) - w_zero);
    }
  return sum;
}

tn_status conv_integer_reference(const tn_call *call) {
  conv_quant q;
  tn_status s = conv_integer_make(call, &q);
  for (int64_t k = 0; !s && k < tn_elements(call->outputs[0]); k++)
    tn_store_i64(TN_I32, call->outputs[0]->data, k, reference_sum(&q, k));
  return s;
}

tn_status qlinear_conv_reference(const tn_call *call) {
  conv_quant q;
  tn_status s = qlinear_conv_make(call, &q);
  const tn_tensor *y = call->outputs[0];
  double lo = y->dtype == TN_I8 ? -128 : 0, hi = y->dtype == TN_I8 ? 127 : 255;
  for (int64_t k = 0; !s && k < tn_elements(y); k++) {
    int64_t m = k / q.c.out_size % q.c.filters,
            sum = reference_sum(&q, k) + (q.bias ? tn_load_i64(TN_I32, q.bias->data, m) : 0);
    double v = nearbyint((double)sum * conv_rescale(&q, m)) + (double)conv_zero(q.y_zero, 0);
    tn_store_f64(y->dtype, y->data, k, fmin(fmax(v, lo), hi));
  }
  return s;
}
