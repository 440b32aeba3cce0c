/* Quantised tensors of u8 or i8, for references. */
#ifndef CONTRIB_QLINEAR_H
#define CONTRIB_QLINEAR_H

#include <math.h>

#include "elements.h"
#include "qlinear.gen.h"

typedef struct quantised {
  float scale, zero;
} quantised;

/* Scale and zero point, inputs `scale` and scale + 1 of the call. Their data must be there. */
static inline quantised quantised_of(const tn_call *call, uint32_t scale) {
  return (quantised){(float)load(call->inputs[scale], 0),
                     (float)load_or(tn_input(call, scale + 1), 0, 0)};
}

/* In f32, as DequantizeLinear and QuantizeLinear. */
static inline double dequantise(quantised q, double value) {
  return (double)(((float)value - q.zero) * q.scale);
}

/* The byte that stands for `real`. */
static inline uint8_t quantise(uint32_t dtype, quantised q, double real) {
  const float lo = dtype == TN_I8 ? -128 : 0, hi = lo + 255,
              at = nearbyintf((float)real / q.scale) + q.zero, value = !(at > lo) ? lo : at;
  return (uint8_t)(int32_t)(value > hi ? hi : value);
}

/* What byte `b` of a tensor of this dtype stands for. */
static inline double byte_value(uint32_t dtype, uint8_t b) {
  return dtype == TN_I8 ? (double)(int8_t)b : (double)b;
}

/* One scale and zero point for the whole of each tensor: inputs `first` to last that are scalars or
 * have one element. */
static inline tn_status check_scalars(const tn_call *call, const uint32_t *which, int n) {
  for (int k = 0; k < n; k++) {
    const tn_tensor *t = tn_input(call, which[k]);
    if (t && tn_elements(t) != 1)
      return call->host->fail(
          call->ctx, TN_ERR_UNSUPPORTED,
          "input %u is not one value: only scales and zero points per tensor are supported",
          (unsigned)which[k]);
  }
  return TN_OK;
}

#endif
