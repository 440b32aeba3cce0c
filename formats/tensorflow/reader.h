/* Reading a TensorFlow graph: what the files of this folder offer each other.
 *
 * Nothing is translated that no output needs: nodes are built when somebody asks for their values,
 * so that training, saving and summaries vanish by themselves. A body is the nodes of a graph or of
 * a function; an env is a body while it is built into a graph: once for the model, and anew for
 * each call, branch and loop. */
#ifndef TN_FORMATS_TENSORFLOW_READER_H
#define TN_FORMATS_TENSORFLOW_READER_H

#include "schema.h"

/* An output of a node; node below 0: argument ~node of the function. */
typedef struct tf_edge {
  int32_t node;
  uint32_t out;
} tf_edge;

typedef struct tf_node {
  const tn_proto_message *m;
  const char *name, *op;
  const tn_format_op *row;
  tf_edge *in;
  int32_t *controls;
  uint32_t n_in, n_controls;
  uint32_t n_read; /* outputs up to the last that somebody reads */
  bool is_read;    /* by data or control */
} tf_node;

typedef struct tf_body {
  struct tf_body *next;
  const tn_proto_message *m;
  const char *name; /* of a function; NULL: the graph */
  tf_node *nodes;
  tn_map names; /* of nodes; arguments by ~index */
  tf_edge *rets;
  const char **ret_names;
  int32_t n;
  uint32_t n_args, n_rets;
} tf_body;

/* A value of the graph that is built, or something that the reader alone knows: a variable. */
typedef struct tf_value {
  int32_t id;       /* TN_NO_ID: none */
  int32_t variable; /* 1 + its number; 0: it is none */
} tf_value;

typedef struct tf_env {
  struct tf_reader *r;
  tf_body *body;
  tn_graph *g;
  struct tf_env *outer; /* what calls or encloses it */
  const char *prefix;   /* of names of values */
  tf_value **values;    /* by node; NULL: not built yet */
  uint8_t *state;
  uint32_t *seen; /* by node: the latest look back that came by; NULL: there was none */
  uint32_t n_seen;
  tf_value *args;
  tf_edge pred; /* of a branch: what decides, and how; node INT32_MIN: it is none */
  bool side;
  const char *frame; /* of a loop; NULL: it is none */
} tf_env;

enum { TF_NO_PRED = INT32_MIN, TF_MAX_DEPTH = 100 };

typedef struct tf_variable {
  const char *name;
  const char *key; /* in the checkpoint */
  int32_t now;     /* its value, after what is built; TN_NO_ID: not made yet */
  tn_graph *g;     /* whose value that is: the model's graph, or a branch or loop that carries it */
  int32_t state;   /* TN_NO_ID: it is a constant */
  const tf_node *keys, *values; /* of a table, whose key is NULL: Consts that fill it, or NULL */
  const tf_node *table, *file;  /* its handle; the node that names the file that fills it */
  const tf_node *lines;         /* what fills it with that, by its attributes */
} tf_variable;

/* An entry of a checkpoint. */
typedef struct tf_saved {
  const char *key;
  tn_proto_span bytes;       /* BundleEntryProto */
  const tn_proto_file *file; /* that they stand in */
} tf_saved;

typedef struct tf_reader {
  const tn_source *source;
  const tn_graph_api *api;
  tn_allocator allocator;
  tn_arena arena;
  tn_graph *g;
  tn_proto_file file;
  const tn_proto_message *graph, *meta; /* GraphDef, MetaGraphDef of a SavedModel or NULL */
  tn_map functions;                     /* FunctionDefs, by name */
  const tn_proto_message **function_list;
  uint8_t *is_looked_at; /* by function: does it assign variables? It does not */
  tn_map assigned;       /* names of variables that some signature assigns: states */
  tf_body *bodies;
  tf_body *main;
  tn_map inputs;    /* values of placeholders, by the name of the node */
  tn_map variables; /* by name */
  TN_VEC(tf_variable) variable_list;
  tn_map keys; /* of the checkpoint, by the name of the variable: index into key_names */
  TN_VEC(const char *) key_names;
  tn_proto_file index; /* variables.index */
  tn_map saved;        /* by key */
  TN_VEC(tf_saved) saved_list;
  uint64_t block_bytes; /* of blocks of the index that were read */
  int32_t n_shards;
  int64_t producer; /* version that wrote the graph */
  int64_t n_built, limit;
  int64_t room_left; /* for tables of envs, and for elements that are repeated */
  int32_t depth, n_envs;
} tf_reader;

/* ---- messages ---- */

tn_status tf_no_memory(const tf_reader *r);
/* "<path>: node 'conv1' (Conv2D): ..., at byte ...". */
tn_status(tf_node_fail)(const tf_reader *r, const tf_node *n, tn_status code, const char *format,
                        ...) __attribute__((format(printf, 4, 5)));
tn_status tf_graph_fail(const tf_reader *r, const tf_node *n, int32_t status, const char *what);
const char *tf_text(tf_reader *r, tn_str s);

/* ---- format.c, attr.c, tensor.c ---- */

const tn_format_op *tf_row(const char *op);
tn_status tf_read(const tn_source *source, tn_graph *g);

const tn_proto_message *tf_attr(const tf_node *n, const char *name);      /* AttrValue, or NULL */
int64_t tf_attr_int(const tf_node *n, const char *name, int64_t missing); /* of b and type, too */
tn_str tf_attr_str(const tf_node *n, const char *name);
const char *tf_attr_func(tf_reader *r, const tf_node *n, const char *name);
/* How many elements a list has; -1: there is none. */
int64_t tf_attr_count(const tf_node *n, const char *name);
/* Attributes of a node that its row names, as Tenon has them; see attr.c. */
tn_status tf_attrs(tf_reader *r, const tf_node *n, const char *words, bool codes_of_tflite,
                   tn_attr *out, uint32_t most, uint32_t *out_n);

enum { TF_VARIANT = 21 };        /* of lists, whose type is told by what makes them */
uint32_t tf_dtype(int64_t type); /* TN_NONE: Tenon has none */
tn_status tf_shape(tf_reader *r, const tn_proto_message *shape, tn_tensor *out);
/* TensorProto as a constant of g. */
tn_status tf_tensor(tf_reader *r, const tf_node *n, const tn_proto_message *m, tn_tensor *out,
                    bool *out_mapped);
tn_status tf_set_const(tf_reader *r, const tf_node *n, tn_graph *g, int32_t value,
                       const tn_tensor *t, bool mapped);

/* ---- body.c ---- */

/* The body of a function; NULL name: of the graph. */
tn_status tf_body_open(tf_reader *r, const char *name, tf_body **out);
tn_status tf_body_of_graph(tf_reader *r, tf_body **out);
/* "name:0" of a signature; node -1: there is none. */
tf_edge tf_edge_named(tf_reader *r, tf_body *b, tn_str text);
bool tf_op_is(const tf_node *n, const char *op);

/* ---- env.c ---- */

tn_status tf_env_new(tf_reader *r, tf_body *b, tn_graph *g, tf_env *outer, const char *prefix,
                     tf_env **out);
/* Builds what the output needs. */
tn_status tf_get(tf_env *e, tf_edge edge, tf_value *out);
/* The output's value, which is no variable. */
tn_status tf_get_id(tf_env *e, const tf_node *reads, tf_edge edge, int32_t *out);
void tf_set(tf_env *e, int32_t node, tf_value *values);
tf_value *tf_values_new(tf_reader *r, uint32_t n);
/* A value of the env around, as its graph sees it. */
tn_status tf_capture(tf_env *e, const tf_env *from, tf_value v, tf_value *out);
/* A new value, called after the node: "name", "name:1". */
tn_status tf_value_new(tf_env *e, const tf_node *n, uint32_t out, int32_t *out_id);
const char *tf_prefix(tf_env *e, const tf_node *n);
/* The same value in a graph of its own name: subgraphs may not answer one twice. */
tn_status tf_add_output(tf_env *e, const tf_node *n, tf_value v, tn_graph *g);
tn_status tf_subgraph(tf_env *e, const tf_node *n, tn_graph **out);
/* Does the value stand for a known boolean? */
bool tf_known_bool(const tf_env *e, int32_t id, bool *out);

/* ---- node.c, call.c, flow.c, variable.c, assign.c, assigned.c, bundle.c ---- */

tn_status tf_add_node(tf_env *e, const tf_node *n, const char *domain, const char *op,
                      const int32_t *in, uint32_t n_in, const int32_t *out, uint32_t n_out,
                      const tn_attr *const *attrs, uint32_t n_attrs);
tn_status tf_node_build(tf_env *e, int32_t node);
/* A call or control flow of functions. */
bool tf_is_call(const tf_env *e, const tf_node *n);
tn_status tf_call_build(tf_env *e, int32_t node);

/* If of two graphs. */
tn_status tf_add_if(tf_env *e, const tf_node *n, int32_t condition, tn_graph *const graphs[2],
                    const int32_t *out, uint32_t n_out);
/* Loop of a body whose inputs and outputs are set. */
tn_status tf_add_loop(tf_env *e, const tf_node *n, int32_t condition, tn_graph *const *body,
                      const int32_t *in, uint32_t n_in, const int32_t *out);

/* Control flow of version 1. True: these nodes have other sources than their inputs. */
bool tf_is_flow(const tf_node *n);
typedef tn_status (*tf_edge_fn)(tf_env *, tf_edge, void *);
tn_status tf_flow_sources(tf_env *e, int32_t node, tf_edge_fn fn, void *ctx);
tn_status tf_flow_build(tf_env *e, int32_t node);

tn_status tf_variable_handle(tf_env *e, int32_t node);
tn_status tf_variable_read(tf_env *e, const tf_node *n, tf_value variable, tf_value *out);
tn_status tf_variables_open(tf_reader *r);

/* Variables that a branch or loop may assign: values that it carries. */
typedef struct tf_carried {
  int32_t *list; /* numbers of variables */
  uint32_t n;
} tf_carried;
/* Those among the values that node n hands to its functions, if these assign any. */
tn_status tf_carried_find(tf_env *e, const tf_node *n, const tf_value *in, tf_carried *out);
/* What they are now, as values of g; what they are from now on. */
tn_status tf_carried_get(tf_reader *r, const tf_carried *c, tn_graph *g, tf_value *out);
void tf_carried_set(tf_reader *r, const tf_carried *c, tn_graph *g, const tf_value *values);
/* Of what an edge of e stands for. */
const char *tf_variable_name(tf_env *e, tf_edge handle);
/* The same in a body whose arguments are variables of these names. */
const char *tf_variable_in(tf_reader *r, const tf_body *b, const char *const *args, tf_edge handle);

/* The node assigns: what is read from now on is the new value. */
tn_status tf_variable_assign(tf_env *e, int32_t node);
tn_status tf_variables_close(tf_reader *r);

/* assign.c: build what assigns variables when it runs: of a function that is called; of a graph
 * whose outputs are these nodes. Outputs are built. */
tn_status tf_assign_function(tf_env *e);
tn_status tf_assign_graph(tf_env *e, const uint8_t *is_output);
bool tf_assigns(const char *op);
/* Would the call assign a variable? */
tn_status tf_call_assigns(tf_env *e, const tf_node *n, bool *out);
/* Nodes of a body that others need, by data or control: those on the list were not looked at. */
typedef struct tf_reach {
  uint8_t *reached;
  TN_VEC(int32_t) list;
} tf_reach;
tn_status tf_go_to(tf_reader *r, tf_reach *to, int32_t node);
tn_status tf_go_to_sources(tf_reader *r, tf_reach *to, const tf_node *n);
/* Nodes behind the edges of control of this one that read or assign variables, and run before. */
tn_status tf_run_before(tf_env *e, int32_t node, tf_edge_fn fn, void *ctx);

/* asset.c: two columns of the text file that fills a table, as its keys and values. */
tn_status tf_asset_columns(tf_reader *r, const tf_node *reads, const tf_variable *table,
                           tn_tensor *keys, tn_tensor *values);

/* table.c: tables that constants, or files among the assets, fill when the model is loaded. */
tn_status tf_table_handle(tf_env *e, int32_t node);
tn_status tf_table_find(tf_env *e, int32_t node);
tn_status tf_table_size(tf_env *e, int32_t node);

/* assigned.c: which variables the signatures of the file assign. */
tn_status tf_assigned_open(tf_reader *r);

/* snappy.c: what was compressed, in the arena. TN_ERR_INVALID: it is damaged. */
tn_status tf_snappy_unpack(tn_arena *arena, tn_proto_span packed, tn_proto_span *out);

tn_status tf_bundle_open(tf_reader *r);
tn_status tf_bundle_get(tf_reader *r, const char *key, const tf_node *n, tn_tensor *out);

#endif
