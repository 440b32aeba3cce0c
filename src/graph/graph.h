/* The IR: values and nodes in static single assignment form, with subgraphs, functions and shared
 * constants.
 *
 * Ids are indices that stay valid for the graph's life; removed nodes leave a hole (alive = false).
 * Everything but constants lives in the graph's arena. A graph belongs to one thread at a time; a
 * graph nobody changes may be read by many. Its public face is tn_graph_api (api.c). */
#ifndef TN_GRAPH_GRAPH_H
#define TN_GRAPH_GRAPH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/base.h"
#include "graph/opdef.h"

/* Bytes of a constant, shared by graphs and plans.
 *
 * Weights that stand in a file need not be in memory all the time: most kernels pack them once, and
 * read what they packed from then on. Such a constant has a source. Its elements are in memory
 * while somebody has fetched it: see tn_const_fetch(). */
/* Elements in n runs of equal length, those of run k times numbers[k]. */
typedef struct tn_scaling {
  int64_t n, run;
  double numbers[];
} tn_scaling;

typedef struct tn_const {
  atomic_int refs;
  const tn_allocator *a;
  bool owned; /* data belongs to the constant; else it is borrowed */
  void *data;
  uint64_t bytes;
  tn_arena strings;        /* bytes of string elements */
  int64_t id;              /* unique among living constants: a key that uses it holds a reference */
  const void *source;      /* where the bytes stand in a file or the user's memory; NULL: nowhere */
  bool is_mapped;          /* source is a mapped file, whose pages can be forgotten */
  bool is_lazy;            /* data is address space, to be filled from source */
  struct tn_const *origin; /* lazy: what it is converted from, when it is fetched */
  uint32_t origin_dtype, dtype; /* then: the types of both, f32 and a 16-bit float or the reverse */
  const tn_scaling *scaling;    /* lazy: of f32, which are scaled when they are read; NULL: none */
  atomic_uint largest;          /* tn_const_largest, once it is known; else UINT32_MAX */
  bool is_kept;                 /* fetched for a reader that never releases it */
  int64_t n_readers;            /* who have fetched it; under lock */
  pthread_mutex_t lock;         /* there is one if there is a source */
} tn_const;

/* Memory that outlives the graph: of the files that it is read from. */
typedef struct tn_mapped_range {
  const uint8_t *data;
  uint64_t size;
  bool is_mapped; /* read-only, from a file */
  bool is_lazy;   /* constants may be fetched from there */
} tn_mapped_range;

typedef struct tn_value {
  const char *name;       /* "" if unnamed */
  const tn_tensor *type;  /* never changes, see tn_graph_set_type(); data: of a constant */
  tn_const *constant;     /* NULL: not a constant */
  const char **dim_names; /* TN_MAX_RANK of them; NULL: none has a name */
  int32_t producer;       /* node, or -1 */
  uint32_t flags;         /* TN_VALUE_INPUT, TN_VALUE_OUTPUT, TN_VALUE_CONST */
  uint32_t half; /* f16, bf16: what the model has it in, though it is f32 now (promote_halves.c) */
  bool known; /* the type is fully known: constant, inferred, or a graph input with concrete dims */
  TN_VEC(int32_t) users; /* nodes that read it, once per reading place; in the arena */
} tn_value;

typedef struct tn_capture { /* a value of the parent that a subgraph reads */
  int32_t inner;            /* value in the subgraph */
  int32_t outer;            /* value in the parent graph */
  int32_t input;            /* index among the inputs of the node that owns the subgraph */
} tn_capture;

typedef struct tn_fused { /* a node that became a step of another's epilogue */
  int32_t node;           /* removed, but for its attributes */
  uint32_t place;         /* of what the node before it gives, among its inputs */
} tn_fused;

typedef struct tn_gnode {
  tn_node node; /* public part; inputs/outputs/attrs point into the arena. inputs: formal, then
                   captured, then those of the epilogue */
  const tn_opdef *def;          /* NULL before the pass check */
  void *attrs;                  /* attribute struct, NULL before the pass check */
  tn_graph **subgraphs;         /* in the order in which the attribute struct numbers them */
  const tn_epilogue **epilogue; /* fused steps on output 0 */
  const char **epilogue_names;  /* their operators, for explain */
  const tn_fused *fused;        /* what they were before */
  const tn_region **regions;
  const struct tn_choice *choice; /* what selection decided (plan/plan.h) */
  /* Of tenon::Island: what runs it (accelerator/accelerator.h); NULL: nothing, its body does. */
  const struct tn_island_step *island;
  /* Why accelerators have not taken it: one a wanted accelerator; NULL: none was asked. */
  const char *const *declined;
  bool alive;
  uint32_t n_formal;   /* inputs that the schema describes */
  uint32_t input_room; /* places in node.inputs; 0: no more than there are inputs */
  uint32_t n_subgraphs, n_epilogue, n_regions;
  int32_t region_fill;
  int32_t origin; /* node of the loaded model it descends from: a key of packed weights; or -1 */
  uint32_t mark;  /* scratch for passes; no meaning between them */
  uint32_t depth; /* of functions that were expanded around it */
} tn_gnode;

typedef struct tn_function {
  const char *domain, *name, *overload;
  tn_graph *body;
  const char **attr_names;
  uint32_t n_attr_names;
  const tn_attr **defaults;
  uint32_t n_defaults;
} tn_function;

/* While a plug-in edits the graph: `value` takes the place of one of this type. */
typedef struct tn_promise {
  tn_tensor type;
  int32_t value;
} tn_promise;

/* Something that lives as long as the graph. */
typedef struct tn_attachment {
  void *object;
  void (*release)(void *object);
} tn_attachment;

typedef struct tn_opset {
  const char *domain;
  int32_t version;
} tn_opset;
typedef struct tn_meta {
  const char *key, *text;
} tn_meta;

/* An input that has a default: a constant which the user may replace. Not among `inputs`. */
typedef struct tn_default {
  int32_t value;
  tn_tensor type; /* what may take its place, as declared */
} tn_default;

/* What a run leaves to the next one. Its values are no inputs and outputs of the graph until
 * tn_graph_settle_states(). */
typedef struct tn_state {
  const char *name;
  int32_t before, after, initial; /* values; initial -1: zeros */
} tn_state;

enum { TN_GRAPH_KEPT = 64 };

struct tn_graph {
  const tn_allocator *a;
  atomic_int refs; /* clones share strings and attributes with the graph they were made from */
  tn_graph *base;  /* that graph; NULL: none */
  tn_arena arena;
  tn_graph *parent; /* of a subgraph */
  TN_VEC(tn_value) values;
  TN_VEC(tn_gnode) nodes;
  TN_VEC(int32_t) order;  /* node ids, topological if !unsorted */
  TN_VEC(int32_t) inputs; /* value ids */
  TN_VEC(tn_default) defaults;
  TN_VEC(int32_t) outputs;
  TN_VEC(tn_capture) captures;  /* of this graph, as a subgraph */
  TN_VEC(tn_graph *) subgraphs; /* owned; made by subgraph_new or clone */
  TN_VEC(tn_function) functions;
  TN_VEC(tn_opset) opsets;
  TN_VEC(tn_meta) meta;
  TN_VEC(tn_state) states;
  TN_VEC(const char *) entries;      /* names of what the file holds beside this graph, and of it */
  TN_VEC(tn_attachment) attachments; /* not cloned: clones keep the graph */
  tn_map names;                      /* value name -> id; names live in the arenas */
  bool names_wait;                   /* a clone: `names` is filled when somebody looks for one */
  const tn_tensor *types[TN_GRAPH_KEPT]; /* some that values have, by hash */
  const char *texts[TN_GRAPH_KEPT];      /* names of operators and domains, likewise */
  int64_t n_expanded;  /* nodes that functions have brought, those of subgraphs among them */
  int64_t n_edits;     /* grows with every change of what nodes there are and read */
  int32_t n_settled;   /* states that are the last inputs and outputs */
  int32_t n_held_back; /* rewrites left out, as the device has no kernel for what they make */
  bool unsorted;
  bool shows;       /* of the outermost graph: a plug-in edits it that reads elements of constants
                       whenever it likes, and value_type() fetches them */
  bool closed;      /* compilers look at it: what they edit is refused, in its subgraphs, too */
  bool is_function; /* body of a function: attribute references allowed */
  bool rewritten;   /* rewrites have seen it; until then quantised constants are not folded */
  int32_t lowering; /* node being lowered: added nodes inherit its origin and are of the newest
                       version; -1: none */
  int32_t old_nodes, old_values; /* how many there were when that began */
  TN_VEC(tn_promise) promises;
  TN_VEC(tn_mapped_range)
  mapped_ranges;         /* of the outermost graph, while it is being read; not cloned */
  const char *complaint; /* the rule that the last refused edit breaks, a literal; NULL: none was */
};

/* tn_node.version of nodes that a lowering added without saying one. */
#define TN_VERSION_NEWEST INT32_MAX

/* What the host's own parts are given. They read elements of float constants of TN_LATE_BYTES or
 * more in prepare, run and reference only, where they are fetched. */
extern const tn_graph_api tn_graph_api_table;
/* What compilers and programs are given: value_type() fetches constants, for good. So it does for
 * plug-ins that edit (tn_graph.shows). */
extern const tn_graph_api tn_graph_show_table;

/* Notes why an edit is refused, for the message about the plug-in that asked for it. */
static inline tn_status(tn_graph_refuse)(tn_graph *g, tn_status status, const char *rule) {
  if (g) g->complaint = rule;
  return status;
}

/* TN_OK, or the refusal of an edit of what compilers may only read, and of what is in it. */
static inline tn_status tn_graph_refuse_closed(tn_graph *g) {
  while (g && g->parent) g = g->parent;
  return g && g->closed ? tn_graph_refuse(g, TN_ERR_STATE, "it edits a graph that it may only read")
                        : TN_OK;
}
/* Between the two, edits are refused; tn_graph_open answers the rule that one broke, or NULL. */
void tn_graph_close(const tn_graph *g);
const char *tn_graph_open(const tn_graph *g);

tn_graph *tn_graph_new(const tn_allocator *a);
enum { TN_MAX_GRAPH_DEPTH = 128 }; /* of graphs in graphs */
/* True if it may have no subgraph any more: whoever walks through a graph goes down into its
 * subgraphs by calling itself. */
bool tn_graph_is_too_deep(const tn_graph *g);
void tn_graph_free(tn_graph *g); /* NULL is legal; memory stays while clones need it */
/* A deep copy that shares constants. opdefs, attribute structs, regions, epilogues are carried
 * along. NULL: no memory. */
tn_graph *tn_graph_clone(const tn_graph *g);

/* Settles which inputs with a default are fed (fed: per default; NULL: none): those become inputs,
 * in their order behind the others, the rest ordinary constants. None is left then. */
tn_status tn_graph_settle_defaults(tn_graph *g, const uint8_t *fed);

/* functions.c: see tn_graph_api. */
tn_status tn_graph_add_function(tn_graph *g, const char *domain, const char *name,
                                const char *overload, tn_graph *body, const char *const *attr_names,
                                uint32_t n_attr_names, const tn_attr *const *defaults,
                                uint32_t n_defaults);
tn_status tn_graph_function_at(const tn_graph *g, int32_t index, tn_function_info *out);
/* "" for "ai.onnx" and NULL. */
const char *tn_plain_domain(const char *domain);

#define TN_WITHOUT_STATES                                                                          \
  "the model has states between runs, which this program was linked without; to have them: tenon " \
  "select MODEL"

/* states.c: see tn_graph_api. */
int32_t tn_graph_state_new(tn_graph *g, const char *name, int32_t before, int32_t initial);
tn_status tn_graph_state_set(tn_graph *g, int32_t state, int32_t after);
int32_t tn_graph_n_states(const tn_graph *g);
tn_status tn_graph_state_at(const tn_graph *g, int32_t index, tn_state_info *out);
/* Makes states the last inputs and outputs, in their order. None is left then. */
tn_status tn_graph_settle_states(tn_graph *g);

/* entries.c: see tn_graph_api. */
tn_status tn_graph_entry_add(tn_graph *g, const char *name);
int32_t tn_graph_n_entries(const tn_graph *g);
const char *tn_graph_entry_at(const tn_graph *g, int32_t index);

/* Gives a value a type: memory of the graph, the same for many values. */
tn_status tn_graph_set_type(tn_graph *g, int32_t value, const tn_tensor *type);
bool tn_same_type(const tn_tensor *a, const tn_tensor *b); /* and the same data */
/* A value without a name, of this type without data; negative: a status. */
int32_t tn_graph_value_of(tn_graph *g, const tn_tensor *type, bool is_known);
/* Of which nothing is known. */
extern const tn_tensor tn_type_unknown;

/* Notes that a node reads the value, at one more place. */
tn_status tn_graph_add_user(tn_graph *g, int32_t value, int32_t node);
/* Allocation-checked editing (all answer TN_OK or an error and leave the graph valid). */
int32_t tn_graph_value(tn_graph *g, const char *name);
int32_t tn_graph_add_node(tn_graph *g, const tn_node *node);
tn_status tn_graph_set_const(tn_graph *g, int32_t value, const tn_tensor *type, tn_const *c);
/* tn_scaled_const.set (tenon/experimental/scaled_const.h). */
tn_status tn_graph_set_scaled(tn_graph *g, int32_t value, int32_t of, const double *numbers,
                              int64_t n); /* takes a reference of its own */
tn_status tn_graph_set_node_input(tn_graph *g, int32_t node, uint32_t index, int32_t value);
tn_status tn_graph_append_node_input(tn_graph *g, int32_t node,
                                     int32_t value); /* for captures and epilogues */
/* A node's inputs or outputs: the public struct shows them const, but they live in our arena. */
int32_t *tn_graph_writable_ids(const int32_t *ids);
tn_status tn_graph_replace_value(tn_graph *g, int32_t from, int32_t to);
/* `to` takes the name over if it has none. */
tn_status tn_graph_move_name(tn_graph *g, int32_t from, int32_t to);
/* tn_graph_replace_value, and the name goes along. */
tn_status tn_graph_move_value(tn_graph *g, int32_t from, int32_t to);
/* See tn_graph_api.set_regions. The node's def is NULL then: the pass check binds it to
 * tenon::Region. */
tn_status tn_graph_set_regions(tn_graph *g, int32_t node, const int32_t *inputs, uint32_t n_inputs,
                               const tn_region *const *regions, uint32_t n_regions, int32_t fill);
tn_status tn_graph_remove_node(tn_graph *g, int32_t node);
/* Takes a node's outputs away from it: the values have no producer then (they become constants or
 * go). */
void tn_graph_detach_outputs(tn_graph *g, int32_t node);
/* Makes a value without a producer output `index` of the node. */
tn_status tn_graph_attach_output(tn_graph *g, int32_t node, uint32_t index, int32_t value);
/* Removes nodes none of whose outputs is read, impure ones excepted. */
tn_status tn_graph_remove_dead(tn_graph *g);
/* hoist.c: what a loop carries unchanged is captured by its body; the same in all graphs of the
 * node. */
tn_status tn_graph_hoist(tn_graph *g, int32_t node);
/* Topological order, stable. TN_ERR_INVALID and a message that names a node on the cycle. */
tn_status tn_graph_sort(tn_graph *g, tn_diag *diag);
/* Binds names that a subgraph does not define to the parent's values: fills captures, extends the
 * owner node's inputs. Reports all missing names. Call on the outermost graph once it is read. */
tn_status tn_graph_resolve(tn_graph *g, tn_diag *diag);
/* The rules of the IR: one producer per value, users lists exact, order topological, types and
 * attributes in line with schemas, regions in bounds, captures consistent. Reports all breaches;
 * `when` names the pass. */
tn_status tn_graph_verify(const tn_graph *g, const char *when, tn_diag *diag);

/* Constants. */
tn_const *tn_const_new(const tn_allocator *a, uint64_t bytes); /* zeroed; one reference */
tn_const *tn_const_borrow(const tn_allocator *a, const void *data, uint64_t bytes);
/* The same of memory in a file. is_mapped: see tn_const. */
tn_const *tn_const_of_file(const tn_allocator *a, const void *data, uint64_t bytes, bool is_mapped);
/* A copy, aligned, of memory that outlives it, to be made when it is fetched. NULL: it cannot be,
 * because memory has to come from the user's allocator, or there is no address space. */
tn_const *tn_const_lazy(const tn_allocator *a, const void *data, uint64_t bytes, bool is_mapped);
/* f32 that stand in a file, times numbers, which are copied: a lazy constant. NULL: `of` is of
 * another kind, a product is not finite, or as above. */
tn_const *tn_const_scaled(const tn_allocator *a, const tn_const *of, const double *numbers,
                          int64_t n);
/* What a lazy constant without an origin will hold, into memory of as many bytes. The pages that it
 * is read from are forgotten on the way. */
void tn_const_read(const tn_const *c, void *to);
/* n elements of a constant of f16 or bf16 as f32: a lazy one where there can be one, else made at
 * once. Keeps a reference to `half`. NULL: no memory. */
tn_const *tn_const_promoted(const tn_allocator *a, tn_const *half, uint32_t dtype, int64_t n);
/* The reverse: n elements of f32, rounded to f16 or bf16. */
tn_const *tn_const_narrowed(const tn_allocator *a, tn_const *wide, uint32_t dtype, int64_t n);
/* A constant of either kind that will be used: unless what it is made from stands in a file, it is
 * made now, and the other may go. Before a second thread knows it. */
tn_status tn_const_part(tn_const *c);
/* The largest magnitude of n elements of f32; NaN counts as the largest. NaN: there is no memory to
 * look at them. Any thread. */
float tn_const_largest(tn_const *c, int64_t n);
/* Writes n elements of `from`, in memory, in another type: f32 as f16 or bf16, or the reverse. */
void tn_const_convert(const tn_const *from, uint32_t from_dtype, uint32_t dtype, void *to,
                      int64_t n);
/* Its elements are in memory until tn_const_drop() is called as often as this. Whoever reads
 * elements of a constant that may have a source has to. NULL is legal. Any thread. */
tn_status tn_const_fetch(tn_const *c);
void tn_const_drop(tn_const *c);
/* Fetches it for as long as it lives. */
tn_status tn_const_show(tn_const *c);
/* Fetches all constants of the graph, its subgraphs and functions, or none. */
tn_status tn_graph_fetch(const tn_graph *g);
void tn_graph_drop(const tn_graph *g);
enum { TN_LATE_BYTES = 64 << 10 }; /* smaller ones are in memory always */

tn_const *tn_const_retain(tn_const *c);
void tn_const_release(tn_const *c); /* NULL is legal */
/* Copies a tensor of any tensor kind (strings too). */
tn_status tn_const_copy(const tn_allocator *a, const tn_tensor *t, tn_const **out);

/* Node helpers. */
static inline tn_gnode *tn_graph_node(const tn_graph *g, int32_t id) { return &g->nodes.data[id]; }
static inline tn_value *tn_graph_val(const tn_graph *g, int32_t id) { return &g->values.data[id]; }
const tn_attr *tn_node_attr(const tn_node *node, const char *name); /* NULL: not given */
/* Entries of the inputs (outputs) of a call of this node: one per argument of its operator, even if
 * the node leaves out the last ones. */
static inline uint32_t tn_node_entries(const tn_gnode *n, bool outputs) {
  uint32_t given = outputs ? n->node.n_outputs : n->node.n_inputs;
  int32_t args = !n->def ? 0 : outputs ? n->def->schema.n_outputs : n->def->schema.n_inputs;
  return given > (uint32_t)args ? given : (uint32_t)args;
}
/* "node 'conv1' (Conv)", "node #3 that makes 'y' (Conv)", for messages. n: of the graph. */
const char *tn_node_text(const tn_graph *g, const tn_gnode *n, char *buf, size_t size);
enum { TN_NODE_TEXT = 200 };
/* "f32[batch,3]": as tn_tensor_text(), of what the value was declared with: open dims by name. */
const char *tn_value_text(const tn_graph *g, int32_t value, const tn_tensor *type, char *buf,
                          size_t size);

/* attrs.c: matches the node's raw attributes against its schema and builds the attribute struct
 * (stage check). All problems go to diag, each naming the node and the argument. */
tn_status tn_node_bind(tn_graph *g, int32_t node, const tn_opdef *def, tn_diag *diag);
/* Formal inputs of the node, without those left out at the end if these may as well not be written:
 * the n of tn_schema_input_of. */
int32_t tn_node_n_given(const tn_gnode *n, const tn_opdef *def);

#endif
