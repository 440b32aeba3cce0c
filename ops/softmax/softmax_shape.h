/* The input of a softmax as [outer][n][inner], normalised over n. */
#ifndef TN_OPS_SOFTMAX_SHAPE_H
#define TN_OPS_SOFTMAX_SHAPE_H

#include "base/dtype.h"
#include "softmax.gen.h"

typedef struct softmax_shape {
  int64_t outer, n, inner;
} softmax_shape;

static inline softmax_shape softmax_shape_make(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  int64_t axis = ((const tn_softmax_attrs *)call->attrs)->axis; /* the same in all forms */
  if (axis < 0) axis += x->rank;
  softmax_shape s = {1, 1, 1};
  for (int32_t k = 0; k < x->rank; k++) {
    if (k < axis)
      s.outer *= x->shape[k];
    else if (k == axis || call->version < 13)
      s.n *= x->shape[k];
    else
      s.inner *= x->shape[k];
  }
  return s;
}

#endif
