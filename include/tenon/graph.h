/* The plug-in ABI of Tenon, version 1.0: graphs, for those who write rewrites, lowerings and model
 * formats. Authors of kernels do not need it. The rules at the top of tenon/plugin.h hold here too.
 */
#ifndef TENON_GRAPH_H
#define TENON_GRAPH_H

#include "tenon/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Graphs ---------------------------------------------------------------------------------- */

/* What an attribute holds: the member of tn_attr that counts. */
enum {
  TN_ATTR_INT = 1, /* i */
  TN_ATTR_FLOAT,   /* f */
  TN_ATTR_STR,     /* s */
  TN_ATTR_TENSOR,  /* tensors.data[0] */
  TN_ATTR_GRAPH,   /* graphs[0], made by subgraph_new() */
  TN_ATTR_INTS,    /* ints */
  TN_ATTR_FLOATS,  /* floats */
  TN_ATTR_STRS,    /* strs */
  TN_ATTR_TENSORS, /* tensors */
  TN_ATTR_GRAPHS,  /* graphs, n_graphs */
  TN_ATTR_REF,     /* in a function body: the value of the function's attribute named by s; i: its
                      kind, 0 if unknown */
  TN_ATTR_TYPE     /* a type: tensors.data[0] without data */
};

/* An attribute as it stands in a file. Members that its kind does not use are zero. */
typedef struct tn_attr {
  tn_head head;
  const char *name;
  uint32_t kind; /* TN_ATTR_... */
  uint32_t n_graphs;
  int64_t i;
  double f;
  tn_str s;
  tn_ints ints;
  tn_floats floats;
  tn_strs strs;
  tn_tensors tensors;
  tn_graph *const *graphs;
} tn_attr;

/* The last member of the attribute struct of an operator with TN_OP_OPEN_ATTRS. Without a head, and
 * frozen for ever. */
typedef struct tn_attrs {
  const tn_attr *const *data;
  int64_t size;
} tn_attrs;

typedef struct tn_node {
  tn_head head;
  const char *domain; /* "" or NULL: ai.onnx */
  const char *op;
  const char *overload; /* of the function it calls; NULL or "": the one without */
  const char *name;     /* for messages; NULL or "": none */
  int32_t version;      /* operator-set version; 0: what the graph imports for the domain, in
                           lowerings: the newest */
  uint32_t n_inputs, n_outputs, n_attrs;
  const int32_t *inputs, *outputs; /* value ids; TN_NO_ID: left out */
  const tn_attr *const *attrs;
  int64_t offset; /* where the node stands in its file, in bytes; -1: nowhere */
} tn_node;

/* What tn_graph_api.value_flags answers. */
enum { TN_VALUE_INPUT = 1, TN_VALUE_OUTPUT = 2, TN_VALUE_CONST = 4 };

/* A function of the model, as add_function() took it. */
typedef struct tn_function_info {
  tn_head head;
  const char *domain, *name, *overload;
  const tn_graph *body;
  const char *const *attr_names;  /* n_attr_names entries: attributes without a default */
  const tn_attr *const *defaults; /* n_defaults entries: attributes with one */
  uint32_t n_attr_names, n_defaults;
} tn_function_info;

/* A state: what a run leaves to the next one of its session, as state_new() took it. */
typedef struct tn_state_info {
  tn_head head;
  const char *name;
  int32_t before, after; /* value ids: its value before a run, and after it */
  int32_t initial;       /* value id of a constant; TN_NO_ID: zeros */
  int32_t reserved;
} tn_state_info;

/* Building, reading and editing graphs. Ids of values and nodes are small numbers >= 0 and stay the
 * same until the graph dies. Everything passed in is copied unless said otherwise; pointers handed
 * out live until the graph is next changed. One thread at a time per graph.
 * Errors: what answers an id or a count answers a negative tn_status instead; what answers a
 * pointer, NULL. Wrong ids and indices are TN_ERR_INVALID or TN_ERR_NOT_FOUND, never a crash; a
 * change that fails leaves the graph valid. */
struct tn_graph_api {
  tn_head head;

  /* Building. */

  /* Finds or makes the value of that name; name "" or NULL: a new unnamed one. */
  int32_t (*value)(tn_graph *graph, const char *name);
  /* type: its data is ignored. TN_ERR_STATE: the value is a constant. */
  tn_status (*value_set_type)(tn_graph *graph, int32_t value, const tn_tensor *type);
  /* Makes `value` a constant. copy 0: the data outlives the graph; a reader can only lend what lies
   * in its files, all else is copied. 1: it is copied. */
  tn_status (*value_set_const)(tn_graph *graph, int32_t value, const tn_tensor *data, int32_t copy);
  tn_status (*value_set_dim_name)(tn_graph *graph, int32_t value, int32_t dim, const char *name);
  /* A constant: an input that may be left out, with this default. TN_ERR_STATE: some node makes it,
   * or it is an input already. */
  tn_status (*add_input)(tn_graph *graph, int32_t value);
  tn_status (*add_output)(tn_graph *graph, int32_t value);
  /* At the end, or before the node that a pass works on. Answers its id. */
  int32_t (*add_node)(tn_graph *graph, const tn_node *node);
  /* A graph for an attribute: values not found in it are looked up in `graph`, to which it
   * belongs. */
  tn_graph *(*subgraph_new)(tn_graph *graph);
  tn_status (*set_opset)(tn_graph *graph, const char *domain, int32_t version);
  /* key: "name", "producer", "doc", or one of the model's. */
  tn_status (*set_meta)(tn_graph *graph, const char *key, const char *text);
  /* A function of the model: body is a graph made by subgraph_new(). overload: NULL or "": the one
   * without. */
  tn_status (*add_function)(tn_graph *graph, const char *domain, const char *name,
                            const char *overload, tn_graph *body, const char *const *attr_names,
                            uint32_t n_attr_names, const tn_attr *const *defaults,
                            uint32_t n_defaults);

  /* Reading: the graph. */

  const char *(*meta)(const tn_graph *graph, const char *key); /* NULL: there is none */
  int32_t (*n_meta)(const tn_graph *graph);
  /* The key. */
  const char *(*meta_at)(const tn_graph *graph, int32_t index, const char **out_text);
  int32_t (*opset)(const tn_graph *graph, const char *domain); /* version; 0: not imported */
  int32_t (*n_opsets)(const tn_graph *graph);
  /* The domain. */
  const char *(*opset_at)(const tn_graph *graph, int32_t index, int32_t *out_version);
  int32_t (*n_inputs)(const tn_graph *graph); /* those without a default */
  /* Value id; from n_inputs on those that have a default. */
  int32_t (*input)(const tn_graph *graph, int32_t index);
  /* The type that input(index) was declared with; of one with a default it may leave open more than
   * value_type() does, which is the default's. NULL: there is no such input. */
  const tn_tensor *(*input_type)(const tn_graph *graph, int32_t index);
  int32_t (*n_outputs)(const tn_graph *graph);
  int32_t (*output)(const tn_graph *graph, int32_t index); /* value id */
  int32_t (*n_functions)(const tn_graph *graph);
  /* out->head is the caller's. */
  tn_status (*function_at)(const tn_graph *graph, int32_t index, tn_function_info *out);
  /* Value of a subgraph that stands for *out_outer of the graph around it. TN_ERR_NOT_FOUND: there
   * is no capture of that index. */
  int32_t (*capture)(const tn_graph *graph, int32_t index, int32_t *out_outer);

  /* Reading: values. */

  int32_t (*n_values)(const tn_graph *graph);                           /* ids are below this */
  const char *(*value_name)(const tn_graph *graph, int32_t value);      /* "": unnamed */
  const tn_tensor *(*value_type)(const tn_graph *graph, int32_t value); /* constants: with data */
  uint32_t (*value_flags)(const tn_graph *graph, int32_t value);        /* TN_VALUE_... */
  const char *(*value_dim_name)(const tn_graph *graph, int32_t value, int32_t dim); /* NULL: none */
  int32_t (*value_producer)(const tn_graph *graph, int32_t value); /* TN_NO_ID: none */
  /* Nodes that read it, once per place; graph outputs are not counted. */
  int32_t (*value_n_users)(const tn_graph *graph, int32_t value);
  int32_t (*value_user)(const tn_graph *graph, int32_t value, int32_t index); /* node id */

  /* Reading: nodes. */

  int32_t (*n_nodes)(const tn_graph *graph);
  int32_t (*node_at)(const tn_graph *graph, int32_t index); /* node id, in topological order */
  /* Attributes as in the file. Its inputs are those that its operator describes, then the values
   * that its subgraphs capture, then those of its epilogue. */
  const tn_node *(*node)(const tn_graph *graph, int32_t node);
  uint32_t (*node_n_formal)(const tn_graph *graph, int32_t node); /* of these, the operator's */
  /* The attribute struct, as in tn_call.attrs; NULL before the graph was checked. */
  const void *(*node_attrs)(const tn_graph *graph, int32_t node);
  /* Graph `index` of the node, counted over its graph attributes in order, as passes have left it:
   * the attributes still name the graphs of the file. */
  const tn_graph *(*node_graph)(const tn_graph *graph, int32_t node, uint32_t index);
  const tn_epilogue *const *(*node_epilogue)(const tn_graph *graph, int32_t node, uint32_t *out_n);
  const tn_region *const *(*node_regions)(const tn_graph *graph, int32_t node, uint32_t *out_n);
  /* Input whose element fills what no region covers; TN_NO_ID: zero. */
  int32_t (*node_region_fill)(const tn_graph *graph, int32_t node);

  /* Editing. */

  /* Everywhere it is read, graph outputs too. */
  tn_status (*replace_value)(tn_graph *graph, int32_t old_value, int32_t new_value);
  /* TN_ERR_STATE: its outputs have users. */
  tn_status (*remove_node)(tn_graph *graph, int32_t node);
  /* Others do the node's work now: its output k is values[k]. Removes it. */
  tn_status (*replace_node)(tn_graph *graph, int32_t node, const int32_t *values,
                            uint32_t n_values);
  /* The node, of one output, is a strided copy: turns it into tenon::Region on the given inputs.
   * Elements not covered are `fill` (index of an input of one element; TN_NO_ID:
   * zero). The host proves
   * bounds and disjointness, or answers TN_ERR_INVALID and leaves the node. */
  tn_status (*set_regions)(tn_graph *graph, int32_t node, const int32_t *inputs, uint32_t n_inputs,
                           const tn_region *const *regions, uint32_t n_regions, int32_t fill);

  /* States and entries: what files hold beside one function of inputs. */

  /* A state of the model: variables, buffers that a program changes. `before` is a value of known
   * dtype that nothing makes, and is made by the host from then on: what the last run left, or, in
   * a session that has not run, the constant `initial` (TN_NO_ID: zeros). Dims that are unknown may
   * change from run to run; then there is an `initial`. Entries of one model have a state in common
   * by its name. Answers its index. What a run leaves is `before` itself until state_set(). */
  int32_t (*state_new)(tn_graph *graph, const char *name, int32_t before, int32_t initial);
  tn_status (*state_set)(tn_graph *graph, int32_t state, int32_t after);
  int32_t (*n_states)(const tn_graph *graph);
  /* out->head is the caller's. */
  tn_status (*state_at)(const tn_graph *graph, int32_t index, tn_state_info *out);
  /* Notes the name of something in the file that can be run by itself (a signature, a method), so
   * that people can ask for it: a graph holds one, that of tn_source.entry. In order of the file,
   * which the index answers keep. TN_ERR_INVALID: there is one of this name. */
  tn_status (*entry_add)(tn_graph *graph, const char *name);
  int32_t (*n_entries)(const tn_graph *graph);
  const char *(*entry_at)(const tn_graph *graph, int32_t index); /* NULL: there is none */
};

/* ---- Rewrites -------------------------------------------------------------------------------- */

/* A pattern that makes a graph better. */
struct tn_rewrite {
  tn_head head;
  const char *name; /* for messages */
  const char *root; /* "BatchNormalization", "com.acme::Foo": nodes of this operator are shown */
  /* Called once for every node of the operator, those that rewrites add too. It looks at the
   * neighbourhood through host->graph, and edits the graph, which then computes the same, or leaves
   * it; TN_OK in both cases. An error, TN_ERR_UNSUPPORTED too, ends the loading of the model. */
  tn_status (*apply)(const tn_call *call, tn_graph *graph, int32_t node);
  /* "tenon::QuantConv": the operator that it makes. Where the user wants a device, the rewrite is
   * left out if that has kernels for the root and none for this one. NULL: it is always applied. */
  const char *makes;
};

/* ---- Model formats --------------------------------------------------------------------------- */

/* A file as a reader sees it: mapped, read-only, alive as long as the model. One thread. */
typedef struct tn_source {
  tn_head head;
  const tn_host *host;
  void *ctx;           /* of host and open_sibling */
  void *self;          /* what the plug-in's init() answered; NULL: no init */
  const char *path;    /* for messages */
  const uint8_t *data; /* NULL if size is 0 */
  uint64_t size;
  /* Maps a file next to the model (external weights), alive as long as the model. The path is
   * relative and may not leave the model's folder, nor may symbolic links lead out of it; if the
   * model itself is one, the folder where it really lies will do, too. */
  tn_status (*open_sibling)(void *ctx, const char *path, const uint8_t **out_data,
                            uint64_t *out_size);
  /* Which entry of the file shall be read, by its name; NULL: the one that its format takes for the
   * main one. A reader that knows of none leaves it. */
  const char *entry;
  uint32_t flags; /* TN_SOURCE_... */
  uint32_t reserved;
} tn_source;
enum {
  /* Weights that no file holds are made up. A reader that knows of none leaves it. */
  TN_SOURCE_RANDOM_WEIGHTS = 1
};

/* A file as a writer sees it. It replaces the old one whole, or not at all. One thread. */
typedef struct tn_sink {
  tn_head head;
  const tn_host *host;
  void *ctx;  /* of host and write */
  void *self; /* what the plug-in's init() answered; NULL: no init */
  tn_status (*write)(void *ctx, const void *data, uint64_t size); /* appends */
  /* A second file in the same folder, for elements of tensors. The first call of
   * write_data makes it; then both files are replaced, or neither. */
  const char *data_file; /* its name, without a folder; NULL: there can be none */
  uint64_t data_from;    /* what is wanted there: tensors of at least so many bytes; UINT64_MAX:
                            nothing, as long as all fits into the first file */
  tn_status (*write_data)(void *ctx, const void *data, uint64_t size); /* appends */
} tn_sink;

/* Takes a value apart: tensor() for a tensor; begin(), its items, end() for a list. A sequence has
 * any number of items, an optional none or one, a map two: a tensor of the keys, then a tensor or
 * sequence of the values. An answer other than TN_OK stops the reader, which hands it on. */
typedef struct tn_value_sink {
  tn_head head;
  void *ctx;
  /* name: "" if the file gives none. */
  tn_status (*tensor)(void *ctx, const char *name, const tn_tensor *tensor);
  /* type: kind, elements and dtype as far as the file says. */
  tn_status (*begin)(void *ctx, const char *name, const tn_tensor *type);
  tn_status (*end)(void *ctx);
} tn_value_sink;

/* How a reader takes an operator of its format: tn_format_op.how. */
enum {
  TN_FORMAT_DIRECT = 1, /* as the operator that `to` names */
  TN_FORMAT_LOWERED,    /* as one of its own domain, which is lowered to others */
  TN_FORMAT_OWN,        /* as one of its own domain, which kernels compute */
  TN_FORMAT_REFUSED     /* not at all; note: why */
};

/* A row of what a format's operators become. Pure data: for people, and for the reader itself. */
typedef struct tn_format_op {
  tn_head head;
  const char *name;  /* as the format calls it: "CONV_2D" */
  const char *to;    /* optional: "Abs", "tenon::QuantConv" */
  const char *note;  /* optional: what it does not take, why it is refused */
  const char *attrs; /* optional: its attributes, in words of the reader's own */
  int64_t code;      /* its number in files; -1: it has none */
  uint32_t how;      /* TN_FORMAT_... */
  uint32_t reserved;
} tn_format_op;

/* A model file format. read or write is required, and probe or extensions. */
struct tn_format {
  tn_head head;
  const char *name;       /* "onnx"; unique in a runtime */
  const char *extensions; /* optional: ".onnx" or ".tflite,.lite" */
  const char *domains;    /* optional: operator domains it maps to, "," between; NULL: any */
  /* Optional: 0: not this format .. 100: surely. Pure. */
  int32_t (*probe)(const uint8_t *data, uint64_t size);
  /* Optional: builds the graph. Whatever the bytes are, it answers a graph or an error that says
   * what is wrong and where. */
  tn_status (*read)(const tn_source *source, tn_graph *graph);
  /* Optional. */
  tn_status (*write)(const tn_sink *sink, const tn_graph *graph);
  /* Optional: one value in the format's own file form (ONNX .pb). The file does not say what it
   * holds, so the caller says what kind it expects (TN_KIND_...). The value is answered through
   * calls of out's functions. */
  tn_status (*read_value)(const tn_source *source, uint32_t kind, const tn_value_sink *out);
  /* Optional: every operator of the format, in the order of its codes. */
  const tn_format_op *const *ops;
  uint32_t n_ops, reserved;
  /* Optional: a folder that holds this file is a model of the format, and is read from it:
   * "saved_model.pb". */
  const char *folder_entry;
};

#ifdef __cplusplus
}
#endif
#endif
