/* Where the scale of an element lies: one for all, one per index of an axis, or one per block along
 * it. */
#ifndef TN_OPS_QUANT_SCALES_H
#define TN_OPS_QUANT_SCALES_H

#include <math.h>

#include "quant.gen.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/element.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/onnx_dtype.h"

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

/* The elements from i on: does each have a scale of its own, next to the one before? Else they have
 * one scale. */
static inline bool scales_lie_side_by_side(const scales *s) {
  return !s->single && (s->block ? s->inner > 1 : s->inner == 1);
}

/* How far that goes, at most to `end`. */
static inline int64_t scales_stretch(const scales *s, int64_t i, int64_t end) {
  if (s->single) return end;
  if (s->inner > 1) return tn_min_i64(end, (i / s->inner + 1) * s->inner);
  const int64_t row = i / s->n * s->n, block = s->block ? s->block : s->n;
  return tn_min_i64(tn_min_i64(end, row + s->n), row + ((i - row) / block + 1) * block);
}

/* ---- scales taken from the data ---- */

enum { DYNAMIC_ITEM = 16384 }; /* elements per work item of DynamicQuantizeLinear in vectors */

typedef struct dynamic_scale {
  float scale, zero;
} dynamic_scale;

/* Of data whose least element is lo <= 0 and whose largest is hi >= 0. */
static inline dynamic_scale dynamic_scale_of(float lo, float hi) {
  const float scale = (hi - lo) / 255.0f;
  return (dynamic_scale){scale,
                         scale > 0 ? nearbyintf(fminf(fmaxf(-lo / scale, 0.0f), 255.0f)) : 0.0f};
}

static inline void dynamic_scale_store(const tn_call *call, dynamic_scale d) {
  if (tn_has_output(call, 1)) *(float *)call->outputs[1]->data = d.scale;
  if (tn_has_output(call, 2)) *(uint8_t *)call->outputs[2]->data = (uint8_t)d.zero;
}

#endif
