/* What the files of the family share: strides, axes, and the plainest reference. */
#ifndef TN_SHAPE_SHAPE_H
#define TN_SHAPE_SHAPE_H

#include "tenon/kit/coords.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/lower.h"

/* Row-major strides of a plain tensor's dims. */
void shape_strides(const tn_tensor *t, int64_t *strides);

/* Output 0 is input 0 element by element in row-major order. */
tn_status shape_reference_copy(const tn_call *call);

/* Sorted flags of axes: mask bit k is set if axis k is named. Refuses axes outside of the rank and
 * duplicates. */
tn_status shape_axes_mask(const tn_call *call, const int64_t *axes, int64_t n, int32_t rank,
                          uint32_t *out_mask);

/* Fails with TN_ERR_OVERFLOW if rank is above TN_MAX_RANK. */
tn_status shape_check_rank(const tn_call *call, int64_t rank);

#endif
