/* Where the scale of an element lies: one for all, one per index of an axis, or one per block along
 * it. */
#ifndef TN_OPS_QUANT_SCALES_H
#define TN_OPS_QUANT_SCALES_H

#include "base/dtype.h"
#include "base/onnx_dtype.h"
#include "quant.gen.h"

typedef struct scales {
  int64_t n, inner, block, blocks;
  bool single;
} scales; /* n: of the axis; inner: elements behind it */

/* Checks that the scales fit x. */
tn_status scales_make(const tn_call *call, const tn_tensor *x, const tn_tensor *scale, int64_t axis,
                      int64_t block, scales *out);

/* x / scale, rounded to a float type; other types leave it as it is. */
static inline double scales_divide(uint32_t dtype, double x, double scale) {
  double room, q = x / scale;
  if (!tn_dtype(dtype)->is_float) return q;
  tn_store_f64(dtype, &room, 0, q);
  return tn_load_f64(dtype, &room, 0);
}

/* The type that QuantizeLinear divides in. A power of two (f8e8m0) says nothing of precision. */
static inline uint32_t scales_precision(const tn_call *call) {
  const tn_quantize_linear_attrs *a = call->attrs;
  const uint32_t scale = call->inputs[1]->dtype;
  if (a->precision) return tn_dtype_of_onnx(a->precision);
  return scale == TN_F8E8M0 ? call->inputs[0]->dtype : scale;
}

/* Index of the scale (and zero point) of element i. */
static inline int64_t scales_index(const scales *s, int64_t i) {
  if (s->single) return 0;
  int64_t place = i / s->inner % s->n;
  if (!s->block) return place;
  return (i / s->inner / s->n * s->blocks + place / s->block) * s->inner + i % s->inner;
}

#endif
