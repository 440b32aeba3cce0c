/* tenon::DynamicMatMul: the shape of one product, and how a row becomes codes. */
#ifndef TN_OPS_MATMUL_DYNAMIC_MATMUL_H
#define TN_OPS_MATMUL_DYNAMIC_MATMUL_H

#include <math.h>
#include <stdbool.h>

#include "quant_matmul.gen.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/element.h"
#include "tenon/kit/tensor.h"

enum { DYNAMIC_A, DYNAMIC_B, DYNAMIC_B_SCALE, DYNAMIC_BIAS };

typedef struct dynamic_matmul {
  int64_t m, n, k;
  bool trans_b;
  const tn_tensor *a, *b, *b_scale, *bias; /* bias NULL: left out */
} dynamic_matmul;

tn_status dynamic_matmul_make(const tn_call *call, dynamic_matmul *out);

static inline float dynamic_b_scale(const dynamic_matmul *p, int64_t column) {
  return ((const float *)p->b_scale->data)[tn_elements(p->b_scale) == 1 ? 0 : column];
}

/* code = clip(round(x * factor), -128 - zero, 127 - zero) + zero; x is about (code - zero) *
 * scale. */
typedef struct dynamic_codes {
  float factor, scale;
  int32_t zero;
} dynamic_codes;

/* For numbers of least .. most. 0 is a code: of the two zero points that the ends of the range ask
 * for, the one that errs less. In f32, as XNNPACK does it. */
static inline dynamic_codes dynamic_codes_of(float least, float most) {
  least = least < 0 ? least : 0;
  most = most > 0 ? most : 0;
  const float factor = least == most ? 1 : 255 / (most - least);
  const float below = -128 + least * factor, above = 127 + most * factor,
              zero = below + above > 0 ? -128 - least * factor : 127 - most * factor;
  const float kept = !(zero > -128) ? -128 : zero > 127 ? 127 : zero;
  return (dynamic_codes){factor, 1 / factor, (int32_t)nearbyintf(kept)};
}

/* The code less its zero point; that of NaN is the least. */
static inline int32_t dynamic_code(float x, dynamic_codes c) {
  const float lo = (float)(-128 - c.zero), hi = (float)(127 - c.zero);
  float q = x * c.factor;
  q = q > lo ? q : lo;
  q = q < hi ? q : hi;
  return (int32_t)nearbyintf(q);
}

#endif
