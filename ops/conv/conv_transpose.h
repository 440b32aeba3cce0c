/* Shapes of one transposed convolution; `in` and `out` of the window are those of X and Y. */
#ifndef TN_OPS_CONV_TRANSPOSE_H
#define TN_OPS_CONV_TRANSPOSE_H

#include "conv_geometry.h"

tn_status conv_transpose_shape(const tn_call *call, conv_shape *out);

#endif
