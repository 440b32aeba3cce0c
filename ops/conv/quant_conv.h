/* QuantConv: shapes and numbers of one call. */
#ifndef TN_OPS_QUANT_CONV_H
#define TN_OPS_QUANT_CONV_H

#include "conv_geometry.h"

enum { QUANT_X, QUANT_W, QUANT_W_SCALE, QUANT_B, QUANT_Z };

typedef struct quant_conv {
  conv_shape c;
  const tn_quant_conv_attrs *a;
  const tn_tensor *x, *w, *w_scale, *bias, *z; /* bias, z: NULL where left out */
  uint32_t y_dtype;
} quant_conv;

tn_status quant_conv_make(const tn_call *call, quant_conv *out);
/* Output element `index` in plain order, whose sum of (x - x_zero) * w is `sum`. */
double quant_conv_finish(const quant_conv *q, int64_t index, int64_t sum);

static inline double quant_conv_scale(const quant_conv *q, int64_t filter) {
  return ((const float *)q->w_scale->data)[tn_tensor_elements(q->w_scale) == 1 ? 0 : filter];
}
static inline double quant_conv_bias(const quant_conv *q, int64_t filter) {
  return q->bias ? ((const float *)q->bias->data)[filter] : 0;
}

#endif
