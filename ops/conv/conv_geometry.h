/* Shapes of one convolution, worked out once from the call. */
#ifndef TN_OPS_CONV_GEOMETRY_H
#define TN_OPS_CONV_GEOMETRY_H

#include "base/dtype.h"
#include "base/window.h"
#include "conv.gen.h"

typedef struct conv_shape {
  tn_window w;
  int64_t batch, channels, filters, groups;   /* of the input, of the output */
  int64_t in_size, out_size, taps;            /* elements of one input / output channel, of one kernel window */
} conv_shape;

/* From inputs X and W, which must have known types. */
tn_status conv_shape_make(const tn_call *call, conv_shape *out);

static inline int64_t conv_product(const int64_t *dims, int32_t n) {
  int64_t r = 1;
  for (int32_t k = 0; k < n; k++) r *= dims[k];
  return r;
}

#endif
