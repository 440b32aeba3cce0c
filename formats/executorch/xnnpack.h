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
enum { XNN_PER_CHANNEL = 1, XNN_PER_TENSOR, XNN_DYNAMIC, XNN_PER_BLOCK };
enum { XNN_SCALE, XNN_CHANNEL_DIM }; /* of XNN_PER_CHANNEL */

typedef struct xnn_value {
  tn_flat_table tensor, quant;
  int64_t quant_kind; /* XNN_PER_...; 0: it is not quantised */
  tn_tensor type;
  bool is_packed; /* two of 4 bits in a byte */
  int32_t id;     /* of the graph; of XNN_DYNAMIC, numbers. TN_NO_ID: nothing was written yet */
  int32_t
      stepped; /* of XNN_DYNAMIC: the numbers in steps of their own, once something reads them */
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
  uint32_t dtype; /* that the node computes in: its first input's; TN_NONE: none was read */
} xnn_part;

/* ---- xnnpack.c ---- */

/* The payload as nodes of the graph: args are indices of the program's values. */
tn_status xnn_read(pte_reader *r, pte_span payload, const tn_flat_vector *args);
tn_status(xnn_fail)(const xnn_part *x, tn_status code, uint64_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* TN_OK, or what is wrong with the FlatBuffer so far. */
tn_status xnn_status(const xnn_part *x);
tn_status xnn_value_of(xnn_part *x, int64_t id, xnn_value **out);
/* Its bytes in the file. */
tn_status xnn_bytes(xnn_part *x, const xnn_value *v, pte_span *out);
/* Bytes of the file as a constant. */
tn_status xnn_lend(xnn_part *x, pte_span bytes, tn_tensor type, int32_t *out);
/* The scales of weights that are quantised by channel. */
tn_status xnn_channel_scales(xnn_part *x, const xnn_value *v, int32_t *out);
/* The bytes of `buffer` of the part's constants. */
tn_status xnn_buffer(xnn_part *x, uint64_t buffer, pte_span *out);
/* The value as it is in the graph, codes and all. */
tn_status xnn_raw(xnn_part *x, int64_t id, int32_t *out);
/* The elements as they are computed with: codes are dequantised, and all are of x->dtype. */
tn_status xnn_input(xnn_part *x, int64_t id, int32_t *out);
/* What a node makes, of x->dtype, quantised if the value is. */
tn_status xnn_output(xnn_part *x, int64_t id, int32_t made);
/* The same within the node's range. */
tn_status xnn_finish(xnn_part *x, const tn_flat_table *range, int64_t id, int32_t made);
/* A node of one output, which may stand where an input stood; of another domain: "tenon::X". */
tn_status xnn_emit(xnn_part *x, const char *op, const int32_t *in, uint32_t n_in,
                   const tn_attr *attrs, uint32_t n_attrs, int32_t *out);
tn_status xnn_transpose(xnn_part *x, int32_t in, const int64_t *perm, uint32_t n, int32_t *out);
tn_status xnn_cast(xnn_part *x, int32_t in, uint32_t dtype, int32_t *out);
tn_status xnn_constant(xnn_part *x, const tn_tensor *data, int32_t *out);
tn_status xnn_ints(xnn_part *x, const int64_t *data, uint64_t n, int32_t *out);
static inline int64_t xnn_field(const tn_flat_table *t, uint32_t index) {
  return tn_flat_uint(t, index, 4, 0);
}

#define XNN_INTS(title, array, count)                                                       \
  {                                                                                         \
    .head = TN_HEAD(tn_attr), .name = title, .kind = TN_ATTR_INTS, .ints = { array, count } \
  }
#define XNN_INT(title, value) \
  { .head = TN_HEAD(tn_attr), .name = title, .kind = TN_ATTR_INT, .i = value }
#define XNN_FLOAT(title, value) \
  { .head = TN_HEAD(tn_attr), .name = title, .kind = TN_ATTR_FLOAT, .f = value }
enum { XNN_NO_VALUE = -1 };

/* ---- xnnpack_node.c ---- */

/* range: OutputMinMax of the node; at 0: none. */
tn_status xnn_node(xnn_part *x, int64_t kind, const tn_flat_table *t, const tn_flat_table *range);

/* ---- xnnpack_product.c ---- */

tn_status xnn_fully_connected(xnn_part *x, const tn_flat_table *t, const tn_flat_table *range);
tn_status xnn_attention(xnn_part *x, const tn_flat_table *t, const tn_flat_table *range);

/* ---- xnnpack_window.c ---- */

typedef enum xnn_conv_kind { XNN_CONV, XNN_DEEP_CONV, XNN_TRANSPOSED_CONV } xnn_conv_kind;
tn_status xnn_convolve(xnn_part *x, xnn_conv_kind kind, const tn_flat_table *t,
                       const tn_flat_table *range);
/* op: MaxPool, AveragePool */
tn_status xnn_pool(xnn_part *x, const char *op, const tn_flat_table *t, const tn_flat_table *range);
tn_status xnn_arg_max_pool(xnn_part *x, const tn_flat_table *t, const tn_flat_table *range);
tn_status xnn_resize(xnn_part *x, const tn_flat_table *t, const tn_flat_table *range);

#endif
