/* Parts of a program that were compiled for XNNPACK: a FlatBuffer of their own, with nodes on NHWC
 * images and constants behind it. */
#ifndef TN_FORMATS_EXECUTORCH_XNNPACK_H
#define TN_FORMATS_EXECUTORCH_XNNPACK_H

#include "reader.h"

enum {
  XNN_NODES = 1,
  XNN_VALUES,
  XNN_N_EXTERNS,
  XNN_INPUTS,
  XNN_OUTPUTS,
  XNN_BUFFERS,
  XNN_CONSTANTS = 8
};
enum { XNODE_KIND, XNODE_TABLE, XNODE_HANDLE, XNODE_RANGE };
enum { QUANTISED_TENSOR, QUANTISED_KIND, QUANTISED_PARAMS };
enum {
  XTENSOR_TYPE,
  XTENSOR_RANK,
  XTENSOR_DIMS,
  XTENSOR_CONSTANT,
  XTENSOR_EXTERNAL,
  XTENSOR_FLAGS,
  XTENSOR_ID,
  XTENSOR_DYNAMIC
};
enum { CONSTANT_OFFSET, CONSTANT_SIZE, CONSTANT_KEY };
enum { XNN_PER_CHANNEL = 1, XNN_PER_TENSOR };

typedef struct xnn_value {
  tn_flat_table tensor, quant;
  int64_t quant_kind; /* XNN_PER_...; 0: it is not quantised */
  tn_tensor type;
  int32_t id; /* of the graph; TN_NO_ID: nothing was written yet */
} xnn_value;

typedef struct xnn_part {
  pte_reader *r;
  tn_flat flat;
  uint64_t base; /* of the FlatBuffer in the file */
  tn_flat_table graph;
  tn_flat_vector nodes, buffers, constants;
  pte_span data; /* of constants */
  xnn_value *values;
  uint64_t n_values;
  uint64_t at;      /* of the node */
  const char *kind; /* "XNNConv2d" */
  uint64_t node;
} xnn_part;

/* ---- xnnpack.c ---- */

/* The payload as nodes of the graph: args are indices of the program's values. */
tn_status xnn_read(pte_reader *r, pte_span payload, const tn_flat_vector *args);
tn_status(xnn_fail)(const xnn_part *x, tn_status code, uint64_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* TN_OK, or what is wrong with the FlatBuffer so far. */
tn_status xnn_status(const xnn_part *x);
tn_status xnn_value_of(xnn_part *x, int64_t id, xnn_value **out);
/* The elements as they are computed with: codes are dequantised. */
tn_status xnn_input(xnn_part *x, int64_t id, int32_t *out);
/* What a node makes, quantised if the value is. */
tn_status xnn_output(xnn_part *x, int64_t id, int32_t made);
/* A node of one output. */
tn_status xnn_emit(xnn_part *x, const char *op, const int32_t *in, uint32_t n_in,
                   const tn_attr *attrs, uint32_t n_attrs, int32_t *out);
tn_status xnn_constant(xnn_part *x, const tn_tensor *data, int32_t *out);

/* ---- xnnpack_node.c ---- */

/* range: OutputMinMax of the node; at 0: none. */
tn_status xnn_node(xnn_part *x, int64_t kind, const tn_flat_table *t, const tn_flat_table *range);

#endif
