/* What the kernels of convolutions on GPUs share. */
#ifndef TN_OPS_CONV_GPU_H
#define TN_OPS_CONV_GPU_H

#include "conv_geometry.h"
#include "tenon/experimental/gpu.h"

/* The products that a convolution is: filters, places, taps of all channels, of each group. */
typedef struct conv_gpu_product {
  int64_t sizes[3], batch;
} conv_gpu_product;

conv_gpu_product conv_gpu_product_of(const conv_shape *c);
/* NULL: a thread may walk over all taps and channels, over these outside or inside. */
const char *conv_gpu_refuse_rounds(const tn_call *call, const conv_shape *c, bool channels_outside);
/* NULL: it can be made in tiles. */
const char *conv_gpu_refuse_tiles(const tn_call *call, const conv_shape *c);
/* One tap, at the place itself. */
bool conv_gpu_is_point(const tn_window *w);
/* Buffers, and the constant HAS_B. parts > 1: the sums go to scratch. */
void conv_gpu_begin(tn_gpu *g, const tn_call *call, int32_t program, int32_t parts);
/* Params from channels to pad, of so many dims. */
void conv_gpu_window(tn_gpu *g, const conv_shape *c, int32_t dims);
/* Adds the parts, then does what is left to do. */
tn_status conv_gpu_sum(const tn_call *call, tn_recorder *r, const conv_shape *c, int32_t parts);
#endif
