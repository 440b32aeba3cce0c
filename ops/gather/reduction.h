/* What a scatter does with an element that is already there. */
#ifndef TN_GATHER_REDUCTION_H
#define TN_GATHER_REDUCTION_H

#include "tenon/plugin.h"

typedef enum reduction { REDUCE_NONE, REDUCE_ADD, REDUCE_MUL, REDUCE_MAX, REDUCE_MIN } reduction;

/* "none", "add", "mul", "max", "min"; anything else, and anything but "none" on a dtype without
 * arithmetic, fails. */
tn_status reduction_parse(const tn_call *call, tn_str name, uint32_t dtype, reduction *out);

/* dst[k] = dst[k] op src[k] for k < n, in the arithmetic of the dtype; NaN wins in min and max. */
void reduction_apply(reduction op, uint32_t dtype, void *dst, int64_t dst_index, const void *src,
                     int64_t src_index, int64_t n);

#endif
