/* FixedSoftmax: what one call asks for, and the steps of its arithmetic. */
#ifndef TN_OPS_QUANT_FIXED_SOFTMAX_H
#define TN_OPS_QUANT_FIXED_SOFTMAX_H

#include "fixed_scale.h"
#include "quant.gen.h"
#include "tenon/kit/checked.h"

enum { FIXED_SOFTMAX_CODES = 1 << 16 };

typedef struct fixed_softmax {
  const tn_fixed_softmax_attrs *a;
  const int16_t *exp, *reciprocal; /* of all codes; NULL while shapes are inferred */
  int64_t rows, width;
} fixed_softmax;

tn_status fixed_softmax_make(const tn_call *call, fixed_softmax *out);

/* The exponential of a code less the largest of its row. */
static inline int16_t fixed_softmax_exp(const fixed_softmax *p, int64_t less) {
  const int64_t x =
      fixed_scaled(less, 0, p->a->multiplier, p->a->shift) + INT16_MAX; /* the table ends at 0 */
  return p->exp[(uint16_t)fixed_clamp(x, INT16_MIN, INT16_MAX)];
}

/* What the exponentials of a row are multiplied by, and the bits that are behind the point then;
 * sum: 1 .. 2^31 - 1. Halves, quarters ... of the sum until it is below 2, as a code, are looked
 * up. */
static inline int16_t fixed_softmax_factor(const fixed_softmax *p, int64_t sum, int *out_bits) {
  const int head = __builtin_clz((uint32_t)sum);
  const int64_t of_two = ((sum << (head - 1)) + (1 << 13)) >> 14, code = of_two - (3 << 15);
  *out_bits = 31 - head;
  return p->reciprocal[(uint16_t)fixed_clamp(code, INT16_MIN, INT16_MAX)];
}

static inline int16_t fixed_softmax_code(int64_t exp, int64_t factor, int bits) {
  const int64_t half = bits ? INT64_C(1) << (bits - 1) : 0;
  return (int16_t)fixed_clamp((exp * factor + half) >> bits, 0, INT16_MAX);
}

#endif
