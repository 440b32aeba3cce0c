/* Reading a TFLite file into a graph: what the files of this folder offer each other. */
#ifndef TN_FORMATS_TFLITE_READER_H
#define TN_FORMATS_TFLITE_READER_H

#include <string.h>

#include "base/base.h"
#include "schema.h"
#include "tenon/graph.h"

/* What an index of OperatorCode stands for. */
typedef struct tflite_code {
  const tn_format_op *row; /* NULL: a custom operator */
  const char *name;        /* "CONV_2D", or what a custom operator is called */
  int64_t version;         /* of a custom operator */
} tflite_code;

/* A variable or a table, which handles stand for. Ids of values: in the main graph; -1: none. */
typedef struct tflite_variable {
  const char *name; /* "variable counter", "table 3" */
  int32_t initial, state;
  int32_t value; /* what it holds at this place of the program */
  int32_t keys, values;
} tflite_variable;

/* What a signature calls a tensor. */
typedef struct tflite_alias {
  int64_t tensor;
  const char *name;
} tflite_alias;
typedef struct tflite_names {
  tflite_alias *data;
  int64_t n, cap;
} tflite_names;

/* A tensor of the subgraph that is read. */
typedef struct tflite_tensor {
  tn_tensor type; /* data NULL; dtype TN_NONE: one that Tenon has no values of */
  const char *name;
  tn_flat_vector scale, zero; /* n 0: it is not quantised */
  int64_t quant_dim;
  int64_t block;        /* elements of the last dim that share a scale; 0: it has no such blocks */
  int64_t block_scales; /* tensor of their scales, [..., blocks] */
  uint64_t at;
  int32_t value;
  bool is_input;             /* of the subgraph */
  bool has_state;            /* a variable that an operator changes: */
  int32_t state;             /* of the graph */
  tflite_variable *variable; /* of a handle; NULL: it is none, or made by nobody */
} tflite_tensor;

typedef struct tflite_reader {
  const tn_source *source;
  const tn_host *host;
  const tn_graph_api *api;
  tn_allocator allocator;
  tn_arena arena;
  tn_flat flat;
  tn_flat_table model;
  tn_flat_vector buffers, subgraphs;
  tflite_code *codes;
  uint64_t n_codes;
  const char *where; /* "operator 3 (CONV_2D)"; NULL: nowhere */
  char where_text[200];
  int32_t depth;      /* of subgraphs inside operators */
  uint32_t n_inlined; /* subgraphs that were read into others */
  uint32_t n_select;  /* operators of TensorFlow */
  tn_graph *main;
  TN_VEC(tflite_variable *) variables;
  tflite_names aliases; /* of the main graph's tensors */
  bool is_init;         /* what is read sets initial values */
  bool has_writes;      /* something else assigns variables */
  tn_map functions;     /* "odml.rms_norm 3": those that were added */
} tflite_reader;

/* A subgraph while it is read. */
typedef struct tflite_subgraph {
  tflite_reader *r;
  tn_graph *g;
  tn_flat_table table;
  tn_flat_vector tensor_list;
  tflite_tensor *tensors;
  uint64_t n_tensors;
  tn_map names;  /* of values, to tell tensors of one name apart */
  uint32_t copy; /* 0: the model itself; else values get names that nothing else has */
} tflite_subgraph;

/* ---- model.c ---- */

/* Records "<path>: <where>: <message>, at byte <at>" and answers code. at 0: no byte. */
tn_status(tflite_fail)(const tflite_reader *r, tn_status code, uint64_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
tn_status tflite_no_memory(const tflite_reader *r);
/* TN_OK, or what is wrong with the FlatBuffer so far. */
tn_status tflite_status(const tflite_reader *r);
/* A zero-terminated copy of text that is UTF-8 without control characters, "" of other text; NULL:
 * no memory. */
const char *tflite_name(tflite_reader *r, tn_str text);
tn_status tflite_read(const tn_source *source, tn_graph *g);

/* ---- metadata.c ---- */

/* Notes what the FlatBuffer of TFLITE_METADATA says: names, licence, normalisation, files. */
tn_status tflite_metadata_read(tflite_reader *r, tn_graph *g, tn_str bytes);

/* ---- format.c ---- */

/* The row of a builtin operator's number; NULL: there is none. */
const tn_format_op *tflite_row(int64_t code);

/* ---- tensor.c ---- */

/* The least and the greatest code of a quantised type; false: the type has none. */
bool tflite_codes(uint32_t dtype, int64_t *out_lo, int64_t *out_hi);

/* Types and names of all tensors, into s->tensors; their values are not made yet. */
tn_status tflite_tensors_read(tflite_subgraph *s);
/* The value of tensor `index`, made when it is first asked for; constants get their elements. -1 as
 * index: left out. is_read: an operator reads it, so that without elements and source it is a
 * constant, too. */
tn_status tflite_value(tflite_subgraph *s, int64_t index, bool is_read, int32_t *out_value);

/* ---- sparse.c ---- */

/* The elements of a sparse tensor, whose buffer has these bytes; *out, of its type, gets data in
 * the reader's arena. What is not in the tree is 0. */
tn_status tflite_sparse_read(tflite_reader *r, const tn_flat_table *sparsity,
                             const tflite_tensor *t, const uint8_t *data, uint64_t bytes,
                             tn_tensor *out);

/* ---- attributes ---- */

enum { TFLITE_MAX_ATTRS = 32 };

typedef struct tflite_attrs {
  tn_attr attrs[TFLITE_MAX_ATTRS];
  uint32_t n;
  bool quantised; /* takes scales and zero points */
  bool moves;     /* only moves elements, whatever they stand for */
  bool states;    /* changes the variable tensors among its inputs: further outputs, in order */
  bool typed;     /* out_dtype: the number that ai.onnx has for the type of output 0 */
  uint32_t flex_at, n_flex; /* those of a FlexBuffer */
} tflite_attrs;

/* ---- options.c ---- */

/* The entries of a FlexBuffers map, added to *out: at most 24. Other bytes are one attribute
 * `name`; no bytes, none. */
tn_status tflite_flex_read(tflite_reader *r, const tn_flat_vector *bytes, const char *name,
                           tflite_attrs *out);
/* A FlexBuffers list of two texts; false: it is none. */
bool tflite_flex_pair(tflite_reader *r, const tn_flat_vector *bytes, tn_str out[2]);

/* ---- attr.c ---- */

/* The operator's options as its row describes them: "quant: padding i8, stride_w i32, - , beta
 * f32=1". Words before ":" are members of
 * tflite_attrs: quant, moves, out; "-" is a field that nobody needs. */
tn_status tflite_attrs_read(tflite_subgraph *s, const tn_flat_table *op, const char *words,
                            tflite_attrs *out);

/* ---- node.c, subgraph.c ---- */

tn_status tflite_node_read(tflite_subgraph *s, uint64_t index, const tn_flat_table *op);
tn_status tflite_subgraph_read(tflite_reader *r, uint64_t index, tn_graph *g);
/* The operators of a subgraph into g; its inputs are the values `in`, out gets its outputs. */
tn_status tflite_subgraph_inline(tflite_reader *r, uint64_t index, tn_graph *g, const int32_t *in,
                                 uint64_t n_in, int32_t *out, uint64_t n_out);

/* ---- control.c ---- */

/* An operator that runs subgraphs, with its values. */
typedef struct tflite_node {
  tflite_subgraph *s;
  const char *name; /* of the operator */
  const tflite_attrs *attrs;
  const int32_t *inputs, *outputs;
  uint64_t n_inputs, n_outputs, at;
  const tn_flat_vector *in_list, *out_list; /* indices of tensors */
  const tn_flat_vector *options;            /* of a custom operator */
} tflite_node;

tn_status tflite_while(const tflite_node *n);
tn_status tflite_if(const tflite_node *n);
tn_status tflite_case(const tflite_node *n);
tn_status tflite_composite(const tflite_node *n);

/* ---- select_tf.c ---- */

/* "FlexFoo", an operator of TensorFlow: what its reader makes of it, as a function of the model.
 * *out_done false: it is another custom operator, or nobody reads TensorFlow's. */
tn_status tflite_select_tf(const tflite_node *n, const tn_attr *const *attrs, bool *out_done);

/* ---- region.c ---- */

/* A node of the operator's name, with what the subgraph body_subgraph_index computes as
 * `computation`: "add", "mul", "min", "max", or "none": what is new. */
tn_status tflite_region(const tflite_node *n);

/* ---- state.c ---- */

tn_status tflite_var_handle(const tflite_node *n);
tn_status tflite_read_variable(const tflite_node *n);
tn_status tflite_assign_variable(const tflite_node *n);
tn_status tflite_hashtable(const tflite_node *n);
tn_status tflite_hashtable_import(const tflite_node *n);
tn_status tflite_hashtable_find(const tflite_node *n);
tn_status tflite_hashtable_size(const tflite_node *n);
tn_status tflite_call_once(const tflite_node *n);
/* The variable tensor becomes a state of the model; it has its value. */
tn_status tflite_tensor_state(tflite_subgraph *s, tflite_tensor *t);
/* What CALL_ONCE sets, wherever it stands. Before anything else is read. */
tn_status tflite_states_read(tflite_reader *r);

/* ---- stream.c ---- */

/* A custom operator that has memory from run to run gets it as a second input and a last output: a
 * state of the model. Others stay as they are. */
tn_status tflite_stream(tflite_node *n);

/* ---- signature.c ---- */

/* Notes the entries; the subgraph of that which is wanted, and what it calls its tensors. */
tn_status tflite_signatures_read(tflite_reader *r, uint64_t *out_subgraph);

/* ---- node.c ---- */

/* Adds a node with the outputs of n. */
tn_status tflite_node_add(const tflite_node *n, const char *domain, const char *op,
                          const int32_t *inputs, uint64_t n_inputs, const tn_attr *const *attrs,
                          uint32_t n_attrs);
/* A call of a function of the model with the inputs and outputs of n. */
tn_status tflite_call_add(const tflite_node *n, const char *domain, const char *op,
                          const char *overload, const tn_attr *const *attrs, uint32_t n_attrs);

#endif
