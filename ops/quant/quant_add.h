/* What the kernels of tenon::QuantAdd share: its numbers in f32, and one element of it. Saturating
 * comes before rounding, since the bounds less the zero point are whole numbers. */
#ifndef TN_OPS_QUANT_ADD_H
#define TN_OPS_QUANT_ADD_H

#include "base/elementwise.h"
#include "quant.gen.h"

typedef struct quant_add {
  float a_scale, a_zero, b_scale, b_zero, y_scale, lo, hi;
  int32_t y_zero;
} quant_add;

static inline quant_add quant_add_of(const tn_call *call) {
  const tn_quant_add_attrs *a = call->attrs;
  return (quant_add){.a_scale = (float)a->a_scale,
                     .a_zero = (float)a->a_zero,
                     .b_scale = (float)a->b_scale,
                     .b_zero = (float)a->b_zero,
                     .y_scale = (float)a->y_scale,
                     .lo = (float)(a->lo - a->y_zero),
                     .hi = (float)(a->hi - a->y_zero),
                     .y_zero = (int32_t)a->y_zero};
}

static inline float quant_add_load(const void *data, bool is_signed, int64_t k) {
  return is_signed ? (float)((const int8_t *)data)[k] : (float)((const uint8_t *)data)[k];
}

static inline uint8_t quant_add_one(float a, float b, const quant_add *s) {
  const float magic = 12582912.0f; /* 1.5 * 2^23: rounds half to even what is below 2^22 */
  float q = ((a - s->a_zero) * s->a_scale + (b - s->b_zero) * s->b_scale) / s->y_scale;
  q = q > s->lo ? q : s->lo;
  q = q < s->hi ? q : s->hi;
  return (uint8_t)((int32_t)((q + magic) - magic) + s->y_zero);
}

#endif
