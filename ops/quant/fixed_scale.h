/* FixedScale: what one call asks for. */
#ifndef TN_OPS_QUANT_FIXED_SCALE_H
#define TN_OPS_QUANT_FIXED_SCALE_H

#include "tenon/kit/element.h"
#include "tenon/kit/tensor.h"

/* Of which multiplier and shift element `index` is. */
static inline int64_t fixed_scale_channel(const tn_tensor *x, int64_t n, int64_t index) {
  int64_t plane = 1;
  if (n == 1) return 0;
  for (int32_t k = 2; k < x->rank; k++) plane *= x->shape[k];
  return index / plane % n;
}

#endif
