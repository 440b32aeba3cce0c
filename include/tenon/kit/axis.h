/* A dense tensor as [outer][n][inner]: the view of operators that work along one axis. */
#ifndef TN_KIT_AXIS_H
#define TN_KIT_AXIS_H

#include "tenon/kit/checked.h"

typedef struct tn_axis_view {
  int64_t outer, n, inner; /* products of the dims before the axis, on it, and behind it */
} tn_axis_view;

/* The dims are known; axis is -rank .. rank-1. A scalar is one row of one element. */
static inline tn_axis_view tn_axis_view_of(const tn_tensor *t, int64_t axis) {
  const int32_t at = (int32_t)(axis < 0 ? axis + t->rank : axis);
  if (t->rank == 0) return (tn_axis_view){1, 1, 1};
  return (tn_axis_view){.outer = tn_dims_size(t->shape, at),
                        .n = t->shape[at],
                        .inner = tn_dims_size(t->shape + at + 1, t->rank - at - 1)};
}

/* The axis and all dims behind it as one, as softmax took them before operator set 13; the axis may
 * be the rank. */
static inline tn_axis_view tn_axis_view_to_end(const tn_tensor *t, int64_t axis) {
  const int32_t at = (int32_t)(axis < 0 ? axis + t->rank : axis);
  return (tn_axis_view){tn_dims_size(t->shape, at), tn_dims_size(t->shape + at, t->rank - at), 1};
}

/* How many rows there are along the axis. */
static inline int64_t tn_axis_rows(tn_axis_view v) { return v.outer * v.inner; }

/* The first element of such a row; the others follow at a distance of `inner`. */
static inline int64_t tn_axis_row(tn_axis_view v, int64_t row) {
  return row / v.inner * v.inner * v.n + row % v.inner;
}

#endif
