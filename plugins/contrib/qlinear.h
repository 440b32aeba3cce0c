/* Quantised tensors of u8 or i8. Kernels look at i8 as u8 by flipping the highest bit where they
 * use tables. */
#ifndef CONTRIB_QLINEAR_H
#define CONTRIB_QLINEAR_H

#include <math.h>

#include "elements.h"
#include "qlinear.gen.h"

typedef struct quantised {
  double scale, zero;
} quantised;

/* Scale and zero point, inputs `scale` and scale + 1 of the call. Their data must be there. */
static inline quantised quantised_of(const tn_call *call, uint32_t scale) {
  return (quantised){load(call->inputs[scale], 0), load_or(input_of(call, scale + 1), 0, 0)};
}

static inline double dequantise(quantised q, double value) { return (value - q.zero) * q.scale; }

/* Rounds and saturates a value that is already divided by the scale and shifted by the zero
 * point. */
static inline double saturate(uint32_t dtype, double q) {
  const double lo = dtype == TN_I8 ? -128 : 0, hi = dtype == TN_I8 ? 127 : 255;
  q = nearbyint(q);
  return !(q > lo) ? lo : q > hi ? hi : q;
}

/* The byte that stands for `real`. */
static inline uint8_t quantise(uint32_t dtype, quantised q, double real) {
  const double value = saturate(dtype, real / q.scale + q.zero);
  return dtype == TN_I8 ? (uint8_t)(int8_t)value : (uint8_t)value;
}

/* What byte `b` of a tensor of this dtype stands for. */
static inline double byte_value(uint32_t dtype, uint8_t b) {
  return dtype == TN_I8 ? (double)(int8_t)b : (double)b;
}

/* One scale and zero point for the whole of each tensor: inputs `first` to last that are scalars or
 * have one element. */
static inline tn_status check_scalars(const tn_call *call, const uint32_t *which, int n) {
  for (int k = 0; k < n; k++) {
    const tn_tensor *t = input_of(call, which[k]);
    if (t && elements(t) != 1)
      return call->host->fail(
          call->ctx, TN_ERR_UNSUPPORTED,
          "input %u is not one value: only scales and zero points per tensor are supported",
          (unsigned)which[k]);
  }
  return TN_OK;
}

#endif
