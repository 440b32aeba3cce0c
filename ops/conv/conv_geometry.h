/* Shapes of one convolution, worked out once from the call. */
#ifndef TN_OPS_CONV_GEOMETRY_H
#define TN_OPS_CONV_GEOMETRY_H

#include "conv.gen.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/window.h"

typedef struct conv_shape {
  tn_window w;
  int64_t batch, channels, filters, groups; /* of the input, of the output */
  int64_t in_size, out_size,
      taps; /* elements of one input / output channel, of one kernel window */
} conv_shape;

/* A Conv, from inputs X and W, which must have known types. */
tn_status conv_shape_make(const tn_call *call, conv_shape *out);
/* Any convolution of x with w. */
tn_status conv_shape_of(const tn_call *call, const tn_tensor *x, const tn_tensor *w,
                        const tn_window_attrs *window, int64_t groups, conv_shape *out);

/* Plane index of tap t at output position o (row-major over the output plane); -1: outside. Slow:
 * for references. */
int64_t conv_tap_index(const tn_window *w, int64_t o, int64_t t);

/* in_size, out_size and taps of a window that is filled in. */
tn_status conv_shape_sizes(const tn_call *call, conv_shape *c);
/* Checks the bias (input 2, optional) and gives output 0 its shape. */
tn_status conv_shape_infer(const tn_call *call, const conv_shape *c);

#endif
