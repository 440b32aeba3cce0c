/* Strides, axes and the copy that references of reshaping operators are. */
#include <string.h>

#include "shape.h"

void shape_strides(const tn_tensor *t, int64_t *strides) {
  int64_t step = 1;
  for (int32_t k = t->rank - 1; k >= 0; k--) {
    strides[k] = step;
    step *= t->shape[k];
  }
}

tn_status shape_reference_copy(const tn_call *call) {
  int64_t n = tn_elements(call->outputs[0]);
  tn_status s = TN_OK;
  for (int64_t k = 0; k < n && !s; k++) s = tn_element_copy(call, 0, k, call->inputs[0], k);
  return s;
}

tn_status shape_axes_mask(const tn_call *call, const int64_t *axes, int64_t n, int32_t rank,
                          uint32_t *out_mask) {
  uint32_t mask = 0;
  for (int64_t k = 0; k < n; k++) {
    int32_t axis = 0;
    tn_status s = tn_axis_normalize(call, axes[k], rank, &axis);
    if (s) return s;
    if (mask >> axis & 1)
      return call->host->fail(call->ctx, TN_ERR_INVALID, "axes name dim %d twice", (int)axis);
    mask |= UINT32_C(1) << axis;
  }
  *out_mask = mask;
  return TN_OK;
}

tn_status shape_check_rank(const tn_call *call, int64_t rank) {
  if (rank <= TN_MAX_RANK) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_OVERFLOW,
                          "the output would have rank %lld; at most %d is supported",
                          (long long)rank, (int)TN_MAX_RANK);
}
