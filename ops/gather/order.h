/* Ordering elements of any dtype, for Unique and TopK. */
#ifndef TN_GATHER_ORDER_H
#define TN_GATHER_ORDER_H

#include "base/dtype.h"

/* Elements of a number or bool dtype as unsigned numbers in the same order: -0 and +0 are equal,
 * NaN is above all and equal to itself. */
uint64_t order_key(uint32_t dtype, const void *data, int64_t index);

/* < 0, 0 or > 0, for all dtypes: complex by real, then imaginary part; strings by bytes. */
int order_compare(const tn_tensor *t, int64_t a, int64_t b);

#endif
