/* Reading programs of torch.export: what the files of this folder offer each other.
 *
 * A scope is a graph of the program while it is built: names stand for variables. Programs may
 * write into tensors ("add_"), also through views of them, and a graph cannot: so a variable is
 * what stands for it now. A write makes a new value, which goes back through the views that led
 * there; other views are made anew when they are read next. */
#ifndef TN_FORMATS_TORCHEXPORT_READER_H
#define TN_FORMATS_TORCHEXPORT_READER_H

#include "base/zip.h"
#include "json.h"
#include "torch/aten.h"
#include "torch/pickle.h"

typedef struct pt2_var {
  const char *name;
  int32_t id;             /* of its value now; TN_NO_ID: it is an int, a bool or a None: literal */
  aten_arg literal;       /* where there is no value */
  int32_t base;           /* variable that it is a view of; -1: none */
  uint32_t seen;          /* version of base that id was made of */
  uint32_t version;       /* counts writes */
  uint32_t output;        /* which output of the node it is */
  uint32_t depth;         /* views on top of each other */
  bool is_unsure;         /* a view or a copy: only strides would tell */
  bool is_given;          /* from outside of the scope: what is written there would be lost */
  const json_value *view; /* node that makes it of its base */
} pt2_var;

typedef struct pt2_scope {
  struct pt2_reader *r;
  tn_graph *g;
  struct pt2_scope *outer;
  const json_value *graph;
  const char *prefix; /* of names of values */
  tn_map names;       /* to variables */
  tn_map used;        /* names that something reads */
  TN_VEC(pt2_var) vars;
} pt2_scope;

/* A tensor of the archive. */
typedef struct pt2_payload {
  const json_value *entry; /* of a weights config; NULL: of a pickle */
  const char *folder;
  const torch_pickled *tensor;
} pt2_payload;

/* A value of one bool, and what is said if it is false. */
typedef struct pt2_condition {
  int32_t id;
  const char *text;
} pt2_condition;

typedef struct pt2_reader {
  const tn_source *source;
  const tn_graph_api *api;
  tn_allocator allocator;
  tn_arena arena;
  tn_graph *g;
  const char *path, *top; /* top: folder of the archive, "model/" or "" */
  const char *member;     /* that messages speak of */
  tn_zip zip;
  const json_value *root;
  bool is_old;
  tn_map weights, constants;        /* tensors by name: payloads */
  tn_map taken;                     /* names of values */
  TN_VEC(pt2_condition) conditions; /* that no output hangs on yet */
  const char *checked;              /* the output that will; NULL: there is none */
  tn_map buffers;                   /* constants of the graph, by the buffer's name */
  TN_VEC(pt2_payload) payloads;
  torch_pickle pickles[2];
  tn_zip inner[2];
  int n_inner;
  const char *node; /* that is read */
  uint64_t node_at;
  uint64_t room; /* nodes that may still be made: graphs inside of graphs are walked again */
  int32_t depth, n_names;
} pt2_reader;

/* ---- program.c ---- */

tn_status pt2_read(const tn_source *source, tn_graph *graph);
tn_status pt2_no_memory(const pt2_reader *r);
/* "<path>: models/model.json: node 'add': ..., at byte ...". */
tn_status(pt2_fail)(const pt2_reader *r, tn_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
tn_status pt2_graph_fail(const pt2_reader *r, int32_t status, const char *what);

/* "Symbol('s17', ...)" and "s17": s17. NULL: sums and products have no name. */
const char *pt2_symbol_name(pt2_reader *r, const char *expr);

/* ---- ranges.c ---- */

/* What the program demands of the sizes of its inputs, which are read: the reader's conditions. */
tn_status pt2_find_conditions(pt2_scope *s, const json_value *input_specs);
/* The value hangs on the conditions from now on, which nothing has to care for any more: where one
 * does not hold, a run fails, and says which dim has to be what. */
tn_status pt2_require(pt2_scope *s, int32_t *io_value);

/* ---- payload.c ---- */

/* Notes all tensors of the archive. */
tn_status pt2_open_payloads(pt2_reader *r);
/* The tensor of that name as a constant, called `value`. */
tn_status pt2_constant(pt2_reader *r, const tn_map *of, const char *name, const char *value,
                       int32_t *out);
uint32_t pt2_dtype(int64_t number);
/* dims that are no number are unknown. */
tn_status pt2_type(pt2_reader *r, const json_value *meta, tn_tensor *out);

/* ---- scope.c ---- */

tn_status pt2_scope_open(pt2_scope *s, pt2_reader *r, tn_graph *g, pt2_scope *outer,
                         const char *prefix, const json_value *graph);
void pt2_scope_close(pt2_scope *s);
/* A name for a value that the graph and those around it have not seen. */
const char *pt2_fresh(pt2_scope *s, const char *name);
tn_status pt2_define(pt2_scope *s, const char *name, int32_t id, int32_t *out_var);
tn_status pt2_literal(pt2_scope *s, const char *name, aten_arg literal);
/* The variable; TN_ERR_...: there is none. */
int32_t pt2_find(pt2_scope *s, const char *name);
/* What a variable stands for now: a value, or a literal. */
tn_status pt2_get(pt2_scope *s, int32_t var, aten_arg *out);
tn_status pt2_get_id(pt2_scope *s, int32_t var, int32_t *out);
tn_status pt2_write(pt2_scope *s, int32_t var, int32_t id);
/* The variable is a view, made by the node. */
tn_status pt2_is_view(pt2_scope *s, int32_t var, int32_t base, const json_value *node,
                      uint32_t output);
/* A number or bool as a constant of rank 0, in the scope's graph or one inside of it. */
tn_status pt2_number(pt2_scope *s, tn_graph *g, const char *name, const aten_arg *a, int32_t *out);
/* The variable as a value in a graph inside of the scope's. */
tn_status pt2_capture(pt2_scope *s, tn_graph *inside, int32_t id, int32_t *out);

/* ---- node.c ---- */

aten_emitter pt2_emitter(pt2_scope *s);
tn_status pt2_run_nodes(pt2_scope *s, const json_value *graph);
/* An argument as torch_emit takes it. */
tn_status pt2_arg(pt2_scope *s, const json_value *arg, aten_arg *out);
/* Makes output `output` of a view node anew, of this base. */
tn_status pt2_view_again(pt2_scope *s, const json_value *node, uint32_t output, int32_t base,
                         int32_t *out);
/* The base after `id` was written into its view. */
tn_status pt2_view_back(pt2_scope *s, const json_value *node, uint32_t output, int32_t base,
                        int32_t id, int32_t *out);

/* ---- strides.c ---- */

/* Makes of the arguments of as_strided and stride, which see memory, those for values in C order;
 * meta: of the tensor. Other operators stay as they are. */
tn_status pt2_as_it_lies(pt2_scope *s, const char *op, const json_value *meta, aten_arg *args,
                         uint32_t n);

/* ---- higher.c ---- */

/* cond, while_loop and the like; TN_ERR_NOT_FOUND: the target is none of them. */
tn_status pt2_higher(pt2_scope *s, const json_value *node, const char *target);
/* Names of a node's outputs, of which there are at most `most`. "" where none is wanted. */
tn_status pt2_outputs(pt2_scope *s, const json_value *node, const char **out, uint32_t most,
                      uint32_t *out_n);

#endif
