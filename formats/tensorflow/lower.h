/* Lowering operators of TensorFlow: reading a node, and writing operators of ai.onnx and tflite in
 * its place, with what tenon/kit/lowering.h has for all formats. */
#ifndef TN_FORMATS_TENSORFLOW_LOWER_H
#define TN_FORMATS_TENSORFLOW_LOWER_H

#include "tenon/kit/axis.h"
#include "tenon/kit/lowering.h"
#include "tenon/kit/text.h"

bool lo_says(const tn_lowering *l, const char *name,
             const char *text); /* is the attribute this text? */

tn_status lo_rank(const tn_lowering *l, uint32_t k, int32_t rank);
tn_status lo_const_ints(const tn_lowering *l, uint32_t k, int64_t *out, int64_t most,
                        int64_t *out_n);

int32_t lo_concat(const tn_lowering *l, const int32_t *parts, uint32_t n, int64_t axis);
/* Elements from .. to of one dim. */
int32_t lo_slice(const tn_lowering *l, int32_t x, int64_t dim, int64_t from, int64_t to);
int32_t lo_reduce(const tn_lowering *l, const char *op, int32_t x, const int64_t *axes, int64_t n,
                  int64_t keeps);
int32_t lo_zeros(const tn_lowering *l, uint32_t dtype, int32_t rank, const int64_t *shape);
int32_t lo_unsqueeze(const tn_lowering *l, int32_t x, int64_t axis);
int32_t lo_squeeze(const tn_lowering *l, int32_t x, int64_t axis);

/* data_format: are channels behind space (NHWC, NDHWC)? */
bool lo_channels_are_last(const tn_lowering *l);
/* Between [N, C, space] and the node's own order. */
int32_t lo_channels_first(const tn_lowering *l, int32_t x, int32_t rank);
int32_t lo_channels_back(const tn_lowering *l, int32_t x, int32_t rank);

#endif
