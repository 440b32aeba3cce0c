/* The tables of an MNN file that the reader looks at: their fields, counted as in MNN's .fbs files.
 * The members of a union are two fields: its kind, then its table. */
#ifndef TN_FORMATS_MNN_SCHEMA_H
#define TN_FORMATS_MNN_SCHEMA_H

#include "base/flat.h"

enum { NET_OPS = 3, NET_OUTPUTS, NET_SOURCE = 6, NET_TENSORS, NET_SUBGRAPHS = 10 };
enum { OP_INPUTS, OP_PARAM_KIND, OP_PARAM, OP_NAME, OP_OUTPUTS, OP_TYPE };
enum {
  BLOB_DIMS,
  BLOB_FORMAT,
  BLOB_TYPE,
  BLOB_UINT8S,
  BLOB_INT8S,
  BLOB_INT32S,
  BLOB_INT64S,
  BLOB_FLOATS,
  BLOB_STRINGS,
  BLOB_EXTERNAL
};
enum {
  CONV_COMMON,
  CONV_WEIGHT,
  CONV_BIAS,
  CONV_QUANT,
  CONV_SYMMETRIC,
  CONV_SPARSE,
  CONV_EXTERNAL
};
enum {
  COMMON_PAD_X,
  COMMON_PAD_Y,
  COMMON_KERNEL_X,
  COMMON_KERNEL_Y,
  COMMON_STRIDE_X,
  COMMON_STRIDE_Y,
  COMMON_DILATE_X,
  COMMON_DILATE_Y,
  COMMON_PAD_MODE,
  COMMON_GROUP,
  COMMON_OUTPUTS,
  COMMON_INPUTS,
  COMMON_RELU,
  COMMON_RELU6,
  COMMON_PADS,
  COMMON_OUT_PADS,
  COMMON_HAS_SHAPE
};
enum {
  POOL_PAD_X,
  POOL_PAD_Y,
  POOL_GLOBAL,
  POOL_KERNEL_X,
  POOL_KERNEL_Y,
  POOL_STRIDE_X,
  POOL_STRIDE_Y,
  POOL_TYPE,
  POOL_PAD_TYPE,
  POOL_DATA_TYPE,
  POOL_CEIL,
  POOL_PADS,
  POOL_COUNT
};
enum { QUANT_BUFFER, QUANT_ALPHA, QUANT_TYPE };

extern const tn_flat_type mnn_net_type, mnn_op_type, mnn_blob_type, mnn_param_type;

#endif
