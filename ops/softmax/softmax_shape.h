/* The input of a softmax as [outer][n][inner], normalised over n. */
#ifndef TN_OPS_SOFTMAX_SHAPE_H
#define TN_OPS_SOFTMAX_SHAPE_H

#include "softmax.gen.h"
#include "tenon/kit/axis.h"
#include "tenon/kit/dtype.h"

static inline tn_axis_view softmax_view(const tn_call *call) {
  const int64_t axis = ((const tn_softmax_attrs *)call->attrs)->axis; /* the same in all forms */
  return call->version < 13 ? tn_axis_view_to_end(call->inputs[0], axis)
                            : tn_axis_view_of(call->inputs[0], axis);
}

#endif
