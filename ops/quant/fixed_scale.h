/* FixedScale: what one call asks for, and its arithmetic, for kernels. */
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

static inline int64_t fixed_clamp(int64_t v, int64_t lo, int64_t hi) {
  return v < lo ? lo : v > hi ? hi : v;
}

/* Behind the point, halves up. */
static inline int64_t fixed_halves_up(int64_t v, int64_t bits) {
  return (v + (INT64_C(1) << (bits - 1))) >> bits;
}

static inline int64_t fixed_halves_away(int64_t v, int64_t bits) {
  if (!bits) return v;
  const int64_t mask = (INT64_C(1) << bits) - 1;
  return (v >> bits) + ((v & mask) > (mask >> 1) + (v < 0));
}

/* x * 2^before * m * 2^(shift - 31), of 32 bits between its two roundings. */
static inline int64_t fixed_scaled(int64_t x, int64_t before, int64_t m, int64_t shift) {
  const int64_t left = before + (shift > 0 ? shift : 0);
  const int64_t wide = fixed_clamp(x * (INT64_C(1) << left), INT32_MIN, INT32_MAX);
  return fixed_halves_away(fixed_clamp(fixed_halves_up(wide * m, 31), INT32_MIN, INT32_MAX),
                           shift < 0 ? -shift : 0);
}

/* The same of n integers. What is shifted to the right needs no bounds. */
static inline void fixed_scale_all(int32_t *v, int64_t n, int64_t m, int64_t shift) {
  if (shift > 0)
    for (int64_t k = 0; k < n; k++) v[k] = (int32_t)fixed_scaled(v[k], 0, m, shift);
  else
    for (int64_t k = 0; k < n; k++)
      v[k] = (int32_t)fixed_halves_away(fixed_halves_up(v[k] * m, 31), -shift);
}

#endif
