/* ConvInteger and QLinearConv as one: quantised x and w, zero points, and either the i32 sum or its
 * requantised form. */
#ifndef TN_OPS_CONV_INTEGER_H
#define TN_OPS_CONV_INTEGER_H

#include "conv_geometry.h"
#include "tenon/kit/element.h"
#include "tenon/kit/tensor.h"

typedef struct conv_quant {
  conv_shape c;
  const tn_tensor *x, *w, *x_zero, *w_zero; /* zero points: NULL where left out */
  const tn_tensor *x_scale, *w_scale, *y_scale, *y_zero, *bias; /* QLinearConv only */
} conv_quant;

tn_status conv_integer_make(const tn_call *call, conv_quant *out);
tn_status qlinear_conv_make(const tn_call *call, conv_quant *out);
/* Zero point of the whole tensor or of filter m. */
static inline int64_t conv_zero(const tn_tensor *zero, int64_t m) {
  if (!zero) return 0;
  return tn_load_i64(zero->dtype, zero->data, tn_elements(zero) == 1 ? 0 : m);
}
/* x_scale * w_scale / y_scale of filter m. */
static inline double conv_rescale(const conv_quant *q, int64_t m) {
  int64_t at = tn_elements(q->w_scale) == 1 ? 0 : m;
  return tn_load_f64(TN_F32, q->x_scale->data, 0) * tn_load_f64(TN_F32, q->w_scale->data, at) /
         tn_load_f64(TN_F32, q->y_scale->data, 0);
}

#endif
