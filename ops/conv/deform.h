/* One deformable convolution, worked out from its call. */
#ifndef TN_OPS_CONV_DEFORM_H
#define TN_OPS_CONV_DEFORM_H

#include "conv_geometry.h"

typedef struct deform {
  conv_shape c;                           /* two spatial dims */
  int64_t n_offsets;                      /* groups of channels that share offsets */
  const tn_tensor *offsets, *bias, *mask; /* bias, mask: NULL where left out */
} deform;

tn_status deform_make(const tn_call *call, deform *out);

#endif
