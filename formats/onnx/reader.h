/* Reading ONNX messages into a graph: what the files of this folder offer each other. Field numbers
 * stand where they are used, with their names in onnx.proto as comments. */
#ifndef TN_FORMATS_ONNX_READER_H
#define TN_FORMATS_ONNX_READER_H

#include "base/features.h"
#include "tenon/kit/onnx_dtype.h"
#include "wire.h"

enum { ONNX_MAX_GRAPH_DEPTH = 32, ONNX_MAX_LIST_DEPTH = 16 };

/* Attribute types of AttributeProto. */
enum {
  ONNX_ATTR_FLOAT = 1,
  ONNX_ATTR_INT,
  ONNX_ATTR_STRING,
  ONNX_ATTR_TENSOR,
  ONNX_ATTR_GRAPH,
  ONNX_ATTR_FLOATS,
  ONNX_ATTR_INTS,
  ONNX_ATTR_STRINGS,
  ONNX_ATTR_TENSORS,
  ONNX_ATTR_GRAPHS,
  ONNX_ATTR_SPARSE_TENSOR,
  ONNX_ATTR_SPARSE_TENSORS,
  ONNX_ATTR_TYPE,
  ONNX_ATTR_TYPES,
  ONNX_ATTR_COUNT
};

/* ---- types.c ---- */

/* As tn_dtype_of_onnx, but unknown types fail; at: for the message. */
tn_status onnx_need_dtype(const onnx_reader *r, int64_t data_type, const uint8_t *at,
                          uint32_t *out_dtype);

/* Of models that do not say: see node.c. */
enum { ONNX_ASSUMED_OPSET = 24, ONNX_ASSUMED_ML_OPSET = 5 };

typedef struct onnx_dim_names {
  onnx_span name[TN_MAX_RANK];
} onnx_dim_names;

/* A TypeProto that is being read: see onnx_type_read. */
typedef struct onnx_type_reader {
  const onnx_reader *r;
  bool strict;
  onnx_dim_names *names;
} onnx_type_reader;
tn_status onnx_any_type_read(const onnx_type_reader *t, onnx_span message, int32_t depth,
                             tn_tensor *out);
/* list_type.c: TypeProto.Sequence, .Optional and .Map: out describes the list, its dtype is that of
 * the innermost elements. */
tn_status onnx_list_type_read(const onnx_type_reader *t, onnx_span message, uint32_t kind,
                              int32_t depth, tn_tensor *out);
/* want_feature.c: notes that a model has this; a program may be linked without it. what: for the
 * message. */
tn_status onnx_want_feature(const onnx_reader *r, tn_feature which, const uint8_t *at,
                            const char *what);
#define ONNX_LISTS "lists"
#define ONNX_SPARSE_WEIGHTS "sparse weights"
#define ONNX_TYPED_DATA "weights in typed fields (float_data, int64_data ...)"

/* TypeProto. strict: what Tenon has no type for is an error, else it reads as an unknown type.
 * names may be NULL. */
tn_status onnx_type_read(const onnx_reader *r, onnx_span message, bool strict, tn_tensor *out,
                         onnx_dim_names *names);
/* ValueInfoProto: its name, type (unknown if there is none) and the names of its dims. */
tn_status onnx_value_info_read(onnx_reader *r, onnx_span message, bool strict, onnx_span *out_name,
                               tn_tensor *out, onnx_dim_names *names);
/* StringStringEntryProto. */
tn_status onnx_entry_read(const onnx_reader *r, onnx_span message, onnx_span *out_key,
                          onnx_span *out_text);

/* ---- tensor.c, tensor_data.c, external.c, sparse.c ---- */

/* TensorProto, taken apart but for its elements. */
typedef struct onnx_tensor {
  tn_tensor type; /* data NULL */
  onnx_span message, name, raw;
  const uint8_t *at; /* for messages */
  bool has_raw, external;
} onnx_tensor;
tn_status onnx_tensor_open(const onnx_reader *r, onnx_span message, onnx_tensor *out);

/* TensorProto. The elements are left in the file where they can be used as they are, though perhaps
 * not aligned; else they are converted into the arena. out->data is never NULL. name may be NULL.
 */
tn_status onnx_tensor_read(onnx_reader *r, onnx_span message, tn_arena *arena, tn_tensor *out,
                           onnx_span *out_name);
/* SparseTensorProto, as a dense tensor in the arena. */
tn_status onnx_sparse_read(onnx_reader *r, onnx_span message, tn_arena *arena, tn_tensor *out,
                           onnx_span *out_name);
/* Elements of an opened tensor: typed fields (float_data ...), and files next to the model. */
tn_status onnx_typed_data(const onnx_reader *r, const onnx_tensor *t, tn_arena *arena, void **out);
tn_status onnx_external_data(onnx_reader *r, const onnx_tensor *t, int64_t bytes, onnx_span *out);
/* Copies the elements into the arena unless they are aligned for their type. */
tn_status onnx_tensor_align(const onnx_reader *r, tn_arena *arena, tn_tensor *t);
/* Makes a value of the graph a constant, without a copy where the elements stand in a mapped file
 * and are aligned. Of several constants of one name the last counts: some exporters write a
 * Constant node twice. */
tn_status onnx_set_const(const onnx_reader *r, tn_graph *g, int32_t value, const tn_tensor *t,
                         onnx_span name);

/* ---- six_bits.c ---- */

bool onnx_is_six_bits(uint32_t dtype);
/* Bytes of a tensor as raw data; -1 as of tn_tensor_bytes. */
int64_t onnx_raw_bytes(const tn_tensor *t);
/* n elements, between raw data and a byte each. */
void onnx_six_bits_unpack(const uint8_t *from, int64_t n, uint8_t *to);
void onnx_six_bits_pack(const uint8_t *from, int64_t n, uint8_t *to);

/* ---- attr.c, constant.c ---- */

/* AttributeProto. What *out points to lives in the arena or the file; its graphs belong to g. */
tn_status onnx_attr_read(onnx_reader *r, onnx_span message, tn_graph *g, tn_arena *arena,
                         tn_attr *out);
/* The tensor that a Constant node stands for. *out_done false: it depends on an attribute of the
 * function it is in. */
tn_status onnx_constant_read(onnx_reader *r, const tn_node *node, tn_arena *arena, tn_tensor *out,
                             bool *out_done);

/* ---- node.c, graph.c, function.c, model.c ---- */

/* The value called `name` (not empty) in g. */
tn_status onnx_value(const onnx_reader *r, tn_graph *g, tn_arena *arena, onnx_span name,
                     int32_t *out_value);
/* NodeProto, added to g. */
tn_status onnx_node_read(onnx_reader *r, onnx_span message, tn_graph *g);
/* GraphProto, into an empty graph. */
tn_status onnx_graph_read(onnx_reader *r, onnx_span message, tn_graph *g);
/* OperatorSetIdProto, noted in g. */
tn_status onnx_opset_read(const onnx_reader *r, onnx_span message, tn_graph *g);
/* FunctionProto, added to g. */
tn_status onnx_function_read(onnx_reader *r, onnx_span message, tn_graph *g);

/* tn_format.read, .read_value and .write. */
tn_status onnx_read(const tn_source *source, tn_graph *g);
tn_status onnx_read_value(const tn_source *source, uint32_t kind, const tn_value_sink *out);
tn_status onnx_write(const tn_sink *sink, const tn_graph *g);

#endif
