/* What the kernels of tenon::QuantAdd and tenon::QuantMul share: their numbers in f32, and one
 * element. Saturating comes before rounding, since the bounds less the zero point are whole
 * numbers. */
#ifndef TN_OPS_QUANT_ADD_H
#define TN_OPS_QUANT_ADD_H

#include <math.h>

#include "quant.gen.h"
#include "tenon/kit/broadcast.h"
#include "tenon/kit/elementwise.h"

typedef struct quant_add {
  float a_scale, a_zero, b_scale, b_zero, y_scale, lo, hi;
  int32_t y_zero;
  bool is_product, halves_up;
} quant_add;

_Static_assert(sizeof(tn_quant_add_attrs) == sizeof(tn_quant_mul_attrs), "their members are one");

static inline quant_add quant_add_of(const tn_call *call, bool is_product) {
  const tn_quant_add_attrs *a = call->attrs;
  return (quant_add){.a_scale = (float)a->a_scale,
                     .a_zero = (float)a->a_zero,
                     .b_scale = (float)a->b_scale,
                     .b_zero = (float)a->b_zero,
                     .y_scale = (float)a->y_scale,
                     .lo = (float)(a->lo - a->y_zero),
                     .hi = (float)(a->hi - a->y_zero),
                     .y_zero = (int32_t)a->y_zero,
                     .is_product = is_product,
                     .halves_up = a->halves_up != 0};
}

static inline float quant_add_load(const void *data, bool is_signed, int64_t k) {
  return is_signed ? (float)((const int8_t *)data)[k] : (float)((const uint8_t *)data)[k];
}

/* To whole numbers, halves up. */
static inline void quant_add_round_up(float *values, int64_t n) {
  for (int64_t k = 0; k < n; k++) values[k] = floorf(values[k] + 0.5f);
}

/* The sum or product of what two bytes stand for. */
static inline float quant_add_value(float a, float b, const quant_add *s) {
  const float u = (a - s->a_zero) * s->a_scale, v = (b - s->b_zero) * s->b_scale;
  return s->is_product ? u * v : u + v;
}

#endif
