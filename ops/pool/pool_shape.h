/* The window of one pool node, worked out from its attributes. */
#ifndef TN_OPS_POOL_SHAPE_H
#define TN_OPS_POOL_SHAPE_H

#include <math.h>

#include "pool.gen.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/window.h"

typedef struct pool_shape {
  tn_window w;
  int64_t channels;                /* N*C planes */
  int64_t in_size, out_size, taps; /* elements of a plane in, out; of a window */
} pool_shape;

/* attrs: the node's; X has a known type. */
tn_status pool_shape_make(const tn_call *call, const tn_window_attrs *attrs, pool_shape *out);
tn_status max_pool_shape(const tn_call *call, pool_shape *out);
tn_status average_pool_shape(const tn_call *call, pool_shape *out);
tn_status lp_pool_shape(const tn_call *call, pool_shape *out);
tn_status quant_average_shape(const tn_call *call, pool_shape *out);

/* The shapes of all outputs. */
void pool_infer(const tn_call *call, const pool_shape *p);
/* Plane index of tap t of the window at output position `at`; -1: outside. */
int64_t pool_tap_index(const pool_shape *p, int64_t at, int64_t t);

/* MaxUnpool: where an index of the pooled tensor lies in the output, whose dims output_shape may
 * have changed. */
tn_status max_unpool_place(const tn_call *call, int64_t index, int64_t *out);

/* The largest element of a window that lies in the pads altogether; its index is -1. */
static inline double pool_lowest(uint32_t dtype) {
  return dtype == TN_I8 ? INT8_MIN : dtype == TN_U8 ? 0 : -(double)INFINITY;
}

/* A row of outputs: the plane it reads, and its position in all dims but the last. */
typedef struct pool_row {
  int64_t plane, o[TN_MAX_SPATIAL];
} pool_row;

/* Not by value: a copy of what was written in pieces has to wait for them. */
static inline void pool_row_find(const pool_shape *p, int64_t item, pool_row *out) {
  for (int32_t k = p->w.n - 2; k >= 0; k--) {
    out->o[k] = item % p->w.out[k];
    item /= p->w.out[k];
  }
  out->plane = item;
}

/* tn_window_taps of a window that begins at `start`. Most lie inside: dividing would take longer
 * than pooling. */
static inline void pool_taps(const tn_window *w, int32_t k, int64_t start, int64_t o, int64_t *lo,
                             int64_t *hi) {
  *lo = 0, *hi = w->kernel[k];
  if (start < 0 || start + w->dilation[k] * (w->kernel[k] - 1) >= w->in[k])
    tn_window_taps(w, k, o, lo, hi);
}

/* Taps that count for an average at output position o of dim k when pads count: those before in +
 * pad_hi. */
static inline int64_t pool_padded_taps(const tn_window *w, int32_t k, int64_t o) {
  int64_t start = o * w->stride[k] - w->pad_lo[k], room = w->in[k] + w->pad_hi[k] - start;
  return tn_min_i64(w->kernel[k], (room + w->dilation[k] - 1) / w->dilation[k]);
}

#endif
