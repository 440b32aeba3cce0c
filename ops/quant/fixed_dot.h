/* A row of codes times weights of 8 bits: a loop that compilers make vectors of. */
#ifndef TN_OPS_QUANT_FIXED_DOT_H
#define TN_OPS_QUANT_FIXED_DOT_H

#include <stdint.h>

/* The sum of (x[k] - zero) * w[k]. Products have 17 bits at most; their sum wraps. */
static inline int32_t fixed_dot(const int8_t *x, int64_t zero, const int8_t *w, int64_t n) {
  const int16_t z = (int16_t)zero;
  uint32_t sum = 0;
  for (int64_t k = 0; k < n; k++) sum += (uint32_t)((int32_t)(int16_t)(x[k] - z) * (int16_t)w[k]);
  return (int32_t)sum;
}

#endif
