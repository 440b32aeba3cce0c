/* Ordering elements of any dtype, for Unique and TopK. */
#ifndef TN_GATHER_ORDER_H
#define TN_GATHER_ORDER_H

#include <string.h>

#include "tenon/kit/dtype.h"

/* Elements of a number or bool dtype as unsigned numbers in the same order: -0 and +0 are equal,
 * NaN is above all and equal to itself. */
static inline uint64_t order_key_f64(double x) {
  uint64_t bits;
  if (x != x) return UINT64_MAX;
  if (x == 0) x = 0; /* -0 */
  memcpy(&bits, &x, sizeof bits);
  return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

uint64_t order_key(uint32_t dtype, const void *data, int64_t index);

/* < 0, 0 or > 0, for all dtypes: complex by real, then imaginary part; strings by bytes. */
int order_compare(const tn_tensor *t, int64_t a, int64_t b);

#endif
