/* QuantConv: shapes and numbers of one call. */
#ifndef TN_OPS_QUANT_CONV_H
#define TN_OPS_QUANT_CONV_H

#include "conv_geometry.h"
#include "tenon/kit/element.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/tensor.h"

enum { QUANT_X, QUANT_W, QUANT_W_SCALE, QUANT_B, QUANT_Z, QUANT_W_ZERO, QUANT_INPUTS };

typedef struct quant_conv {
  conv_shape c;
  const tn_quant_conv_attrs *a;
  const tn_tensor *x, *w, *w_scale, *bias, *z, *w_zero; /* bias, z, w_zero: NULL: left out */
  uint32_t y_dtype;
} quant_conv;

/* The attributes and tensors of the call. */
static inline void quant_conv_bind(const tn_call *call, quant_conv *q) {
  q->a = call->attrs;
  q->x = call->inputs[QUANT_X];
  q->w = call->inputs[QUANT_W];
  q->w_scale = call->inputs[QUANT_W_SCALE];
  q->bias = tn_input(call, QUANT_B);
  q->z = tn_input(call, QUANT_Z);
  q->w_zero = tn_input(call, QUANT_W_ZERO);
}
tn_status quant_conv_make(const tn_call *call, quant_conv *out);
/* Output element `index` in plain order, of filter m, whose sum of (x - x_zero) * w is `sum`. */
double quant_conv_finish(const quant_conv *q, int64_t m, int64_t index, int64_t sum);

static inline double quant_conv_scale(const quant_conv *q, int64_t filter) {
  return ((const float *)q->w_scale->data)[tn_elements(q->w_scale) == 1 ? 0 : filter];
}
/* Weight `at` of a filter's own, less the filter's zero point. */
static inline int64_t quant_conv_weight(const quant_conv *q, int64_t filter, int64_t at) {
  const int64_t index = filter * (q->c.channels / q->c.groups) * q->c.taps + at;
  const int64_t w = q->w->dtype == TN_I8 ? ((const int8_t *)q->w->data)[index]
                                         : ((const uint8_t *)q->w->data)[index];
  if (!q->w_zero) return w;
  const int64_t one = tn_elements(q->w_zero) == 1;
  return w - tn_load_i64(q->w_zero->dtype, q->w_zero->data, one ? 0 : filter);
}
/* May weights less their zero points need more than 8 bits? */
static inline bool quant_conv_has_zeros(const quant_conv *q) {
  return q->w_zero || q->w->dtype == TN_U8;
}
/* A bias of f32 is added to the scaled sum, one of i32 to the sum. */
static inline double quant_conv_bias(const quant_conv *q, int64_t filter) {
  return q->bias && q->bias->dtype == TN_F32 ? ((const float *)q->bias->data)[filter] : 0;
}
static inline int32_t quant_conv_first(const quant_conv *q, int64_t filter) {
  return q->bias && q->bias->dtype == TN_I32 ? ((const int32_t *)q->bias->data)[filter] : 0;
}

#endif
