/* Lowering layers of Caffe: reading a node, and writing operators of ai.onnx in its place,
 * with what tenon/kit/lowering.h has for all formats. */
#ifndef TN_FORMATS_CAFFE_LOWER_H
#define TN_FORMATS_CAFFE_LOWER_H

#include "tenon/kit/lowering.h"
bool caf_has(const tn_lowering *c, const char *name);

/* Inputs: bottoms, then blobs; TN_NO_ID and NULL behind the last blob. */
uint32_t caf_bottoms(const tn_lowering *c);
int32_t caf_blob(const tn_lowering *c, uint32_t k);
const tn_tensor *caf_blob_type(const tn_lowering *c, uint32_t k);
/* The layer's axis, from 0 up to and with `most`. */
tn_status caf_axis(const tn_lowering *c, int64_t axis, int32_t most, int32_t *out);

/* shift + scale * x */
int32_t caf_linear(const tn_lowering *c, int32_t x, double scale, double shift);

/* The groups of a convolution; of one of each channel alone the file need not say them. */
int64_t caf_group(const tn_lowering *c);

/* How large the windows of a layer are, in n dims. */
tn_status caf_kernel(const tn_lowering *c, int32_t n, int64_t *out);

/* random.c: has the layer no blobs, and shall have some that are made up? Then it becomes the same
 * layer with blobs. */
bool caf_is_random(const tn_lowering *c);
tn_status caf_with_blobs(const tn_lowering *c);

tn_status caf_done(const tn_lowering *c, int32_t value);
tn_status caf_invalid(const tn_lowering *c, const char *what);

#endif
