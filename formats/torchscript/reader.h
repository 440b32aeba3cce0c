/* Reading a TorchScript archive into a graph: its program is executed with values that stand for
 * what a run will compute, and what has to be computed then becomes nodes. What the files of this
 * folder offer each other.
 *
 * Functions that answer a pointer answer NULL after an error, which is recorded and stands in
 * r->status. */
#ifndef TN_FORMATS_TORCHSCRIPT_READER_H
#define TN_FORMATS_TORCHSCRIPT_READER_H

#include <string.h>

#include "base/base.h"
#include "base/zip.h"
#include "source.h"
#include "tenon/graph.h"
#include "torch/pickle.h"

enum { TS_MAX_ITEMS = 1 << 16, TS_MAX_CALLS = 64, TS_MAX_ARGS = 128, TS_MAX_DEPTH = 500 };

/* A graph that is being built: the model's, or one of a branch or loop. */
typedef struct ts_scope ts_scope;
struct ts_scope {
  tn_graph *g;
  ts_scope *outer;
};

/* A value of a graph. */
typedef struct ts_ssa {
  ts_scope *scope;
  int32_t id; /* TN_NO_ID: none */
} ts_ssa;

typedef struct ts_value ts_value;

/* A place that a program can change: variables, attributes, what lists hold, what tensors are. */
typedef struct ts_cell ts_cell;
struct ts_cell {
  ts_value *v;           /* NULL: nothing yet */
  int64_t serial;        /* cells made later have higher ones */
  struct ts_peer *peers; /* of tensors: those that may be the same memory, or a copy */
  int32_t state;         /* of the model, plus 1; 0: it is none */
  const char *name;      /* "memory.hidden_state", for states; NULL: it has none */
  int64_t mark, slot;    /* ts_mark: who marked it last, and its place there */
  bool is_written;       /* it is among the reader's written ones */
};
typedef struct ts_peer {
  ts_cell *cell;
  struct ts_peer *next;
} ts_peer;

typedef enum ts_value_kind {
  TS_V_NONE,
  TS_V_BOOL, /* scalars: i or f if they are known, else ssa */
  TS_V_INT,
  TS_V_FLOAT,
  TS_V_DTYPE,    /* an int, too: the dtype of the tensor ssa */
  TS_V_STR,      /* text */
  TS_V_TUPLE,    /* items; name: its class, or NULL */
  TS_V_TENSOR,   /* cell: of a TS_V_VIEW */
  TS_V_LIST,     /* cell: of a TS_V_ITEMS, TS_V_ARRAY, TS_V_STACK or TS_V_SEQUENCE */
  TS_V_DICT,     /* cell: of TS_V_ITEMS, key, value ... */
  TS_V_OBJECT,   /* text: its class; object */
  TS_V_FUNCTION, /* text: its name */
  TS_V_PACKED,   /* packed parameters of quantised layers: items */
  TS_V_POISON,   /* text: why it cannot be used */
  /* contents of cells */
  TS_V_VIEW,     /* cell: of the tensor that owns the memory; step */
  TS_V_SSA,      /* ssa */
  TS_V_QUANT,    /* ssa: codes; quantisation */
  TS_V_ITEMS,    /* items */
  TS_V_ARRAY,    /* ssa: a tensor of one dim; element: TS_V_INT .. */
  TS_V_STACK,    /* ssa: tensors, one behind the other along dim 0; items, if any: the tensor that
                    they are views of, and its dim */
  TS_V_SEQUENCE, /* ssa: a sequence of tensors */
  TS_V_SCAN,     /* items: what one turn of a loop adds to a list that it does not read */
  TS_V_SPLIT     /* items: a tensor, how much of it is one item, along which dim */
} ts_value_kind;

/* What a view does with the tensor that it is one of. */
typedef struct ts_step {
  struct ts_step *before;
  const char *op;  /* "aten::select" */
  ts_value **args; /* behind the tensor */
  int32_t n_args;
  const ts_value *of; /* the content that `made` was made of */
  ts_ssa made;
} ts_step;

typedef struct ts_quant {
  double scale;
  int64_t zero;
  uint32_t dtype;
  bool per_channel; /* only packed parameters take it */
} ts_quant;

typedef struct ts_attr_cell {
  const char *name;
  ts_cell *cell;
} ts_attr_cell;
typedef struct ts_object {
  ts_attr_cell *attrs;
  int32_t n, cap;
  int64_t serial;
} ts_object;

/* Do the elements of a tensor's memory lie in C order in PyTorch? */
typedef enum ts_rows {
  TS_ROWS_UNKNOWN,
  TS_ROWS_PART, /* they do, perhaps as a part of other memory */
  TS_ROWS_WHOLE
} ts_rows;

struct ts_value {
  ts_value_kind kind;
  ts_rows rows; /* of the content of a tensor */
  bool known;
  ts_value_kind element;
  int64_t i;
  double f;
  const char *text;
  ts_ssa ssa;
  ts_cell *cell;
  ts_value **items;
  int32_t n;
  ts_step *step;
  ts_object *object;
  const ts_quant *quant;
  const torch_pickled *origin; /* of the content of a tensor of the archive; of packed parameters */
  const ts_value *number;      /* of a tensor of the archive's constants: the number that it is */
  ts_value *opened;            /* of a list in a loop: what it holds when a turn begins */
};

/* What was in a cell before it was changed. */
typedef struct ts_change {
  ts_cell *cell;
  ts_value *before;
} ts_change;

/* A function while it runs. */
typedef struct ts_frame {
  struct ts_frame *caller;
  const ts_source *source;
  tn_map variables; /* to ts_cell * */
  ts_value *result; /* NULL: it has not returned */
} ts_frame;

/* A condition that has to hold, or the run fails. */
typedef struct ts_assert {
  ts_ssa condition;
  const char *text;
} ts_assert;

typedef struct ts_reader {
  const tn_source *source;
  const tn_host *host;
  const tn_graph_api *api;
  tn_allocator allocator;
  tn_arena arena;
  tn_status status;
  tn_zip zip;
  const char *top; /* "model/" */
  int64_t version;
  torch_pickle data, constants;
  torch_pickled *constant_values;
  tn_map files;                      /* of source, by path: to ts_source * */
  tn_map loaded;                     /* values of pickles, by their address: to ts_value * */
  tn_map tensors;                    /* cells of tensors of the archive, by place */
  tn_map keys;                       /* of dicts that are inputs: to ts_value * */
  ts_scope main, *scope, *main_like; /* main_like: where inputs are made */
  ts_frame *frame;
  const ts_node *at;      /* what is executed */
  int32_t n_calls, depth; /* depth: of functions of the reader that call themselves */
  int64_t serial, n_names, n_nodes, n_source_nodes, n_marks, steps_left;
  uint64_t room; /* bytes that copies of tensors and lists may still take */
  TN_VEC(ts_change) journal;
  TN_VEC(ts_assert) asserts; /* of the scope that is built */
  TN_VEC(ts_cell *) written; /* cells of the module that the program changes */
  bool notes_writes;
  int32_t n_branches; /* of If, around what is executed */
  const char *raised; /* what a branch raised; then status is TN_ERR_CANCELLED until it is left */
  int32_t n_quiet;    /* errors are not told: something else is tried then */
} ts_reader;

/* ---- archive.c ---- */

/* Records "<path>: <place in the source>: <message>". Answers code. */
tn_status(ts_fail)(ts_reader *r, tn_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, and answers NULL. */
void *(ts_null)(ts_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
tn_status ts_no_memory(ts_reader *r);
void *ts_alloc(ts_reader *r, uint64_t bytes);
const char *ts_format(ts_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* One step of what the program makes endless if it wants to: recursion and time are bounded. False
 * is an error; after true comes r->depth--. */
bool ts_deeper(ts_reader *r);
/* The definition or class of a full name, "__torch__.a.f", and its file. NULL without an error:
 * there is none. */
const ts_node *ts_find_global(ts_reader *r, ts_kind kind, const char *name,
                              const ts_source **out_source);
/* Source that is no member of the archive; the path names it. */
const ts_source *ts_source_of_text(ts_reader *r, const char *path, const char *text);
tn_status ts_read(const tn_source *source, tn_graph *g);

/* ---- value.c ---- */

ts_value *ts_new(ts_reader *r, ts_value_kind kind);
ts_value *ts_int(ts_reader *r, int64_t i);
ts_value *ts_float(ts_reader *r, double f);
ts_value *ts_bool(ts_reader *r, bool b);
ts_value *ts_str(ts_reader *r, const char *text);
ts_value *ts_none(ts_reader *r);
ts_value *ts_poison(ts_reader *r, const char *text);
ts_value *ts_ssa_value(ts_reader *r, ts_value_kind kind, ts_ssa ssa);
ts_value *ts_tuple(ts_reader *r, ts_value *const *items, int32_t n);
/* items NULL: the caller fills them in. */
ts_value *ts_items(ts_reader *r, ts_value_kind kind, ts_value *const *items, int32_t n);
/* A list or dict of the content. */
ts_value *ts_container(ts_reader *r, ts_value_kind kind, ts_value *content);
ts_value *ts_list(ts_reader *r, ts_value *const *items, int32_t n);
ts_cell *ts_cell_new(ts_reader *r, ts_value *v);
/* Changes a cell; what was there comes back with ts_roll_back(). */
bool ts_set(ts_reader *r, ts_cell *cell, ts_value *v);
void ts_roll_back(ts_reader *r, int64_t n_changes);
bool ts_is_number(const ts_value *v);
/* "a list", for messages. */
const char *ts_kind_text(const ts_value *v);
/* NULL without an error: there is no such attribute. */
ts_cell *ts_attr(const ts_value *object, const char *name);
bool ts_set_attr(ts_reader *r, ts_value *object, const char *name, ts_value *v);
ts_value *ts_object_new(ts_reader *r, const char *class_name);
bool ts_same(const ts_value *a, const ts_value *b); /* known to be equal scalars or texts */

/* ---- graph.c ---- */

/* Its id in the graph that is being built; < 0: an error. */
int32_t ts_use(ts_reader *r, ts_ssa ssa);
bool ts_is_visible(const ts_reader *r, ts_ssa ssa);
/* A new value of the graph that is being built. */
ts_ssa ts_ssa_new(ts_reader *r, const char *what);
const char *ts_node_name(ts_reader *r);
/* Whether there may be another node. */
bool ts_node_room(ts_reader *r);
/* A node; its outputs are new values. */
bool ts_node_add(ts_reader *r, const char *domain, const char *op, const ts_ssa *in, uint32_t n_in,
                 const tn_attr *const *attrs, uint32_t n_attrs, ts_ssa *out, uint32_t n_out);
/* One of ai.onnx with one output. An id below 0: an error. */
ts_ssa ts_op(ts_reader *r, const char *op, const ts_ssa *in, uint32_t n_in);
ts_ssa ts_op_int(ts_reader *r, const char *op, const ts_ssa *in, uint32_t n_in, const char *attr,
                 int64_t value);
ts_ssa ts_const(ts_reader *r, const tn_tensor *t);
ts_ssa ts_const_ints(ts_reader *r, const int64_t *data, int64_t n);
/* The scalar as a tensor of rank 0: bool, i64 or f64. */
ts_ssa ts_scalar(ts_reader *r, const ts_value *v);
ts_ssa ts_cast(ts_reader *r, ts_ssa x, uint32_t dtype);
/* The condition has to hold. */
bool ts_require(ts_reader *r, ts_ssa condition, const char *text);

/* ---- tensor.c ---- */

/* A tensor with memory of its own. */
ts_value *ts_tensor(ts_reader *r, ts_ssa ssa);
ts_value *ts_tensor_of(ts_reader *r, ts_value *content);
ts_value *ts_tensor_load(ts_reader *r, const torch_pickled *v);
/* Of the memory that copies of tensors and lists may take. */
tn_status ts_take_room(ts_reader *r, uint64_t bytes);
/* Whether the zero point is a code of the dtype. */
bool ts_check_quant(ts_reader *r, const ts_quant *q);
/* What its owner holds: TS_V_SSA, TS_V_QUANT. */
ts_value *ts_content(ts_reader *r, const ts_value *tensor);
/* What it is now. */
ts_ssa ts_read_tensor(ts_reader *r, const ts_value *tensor);
/* An item of the table of constants. */
ts_value *ts_constant_load(ts_reader *r, torch_pickled *v);
/* The number that a tensor without dims of the archive's constants is; NULL: it is none, or was
 * written. */
const ts_value *ts_constant_number(ts_reader *r, const ts_value *tensor);
/* A view: what op makes of it, with these arguments. */
ts_value *ts_view(ts_reader *r, const ts_value *tensor, const char *op, ts_value *const *args,
                  int32_t n_args);
/* The tensor, and all views of its memory, become what `ssa` says. */
bool ts_write_tensor(ts_reader *r, const ts_value *tensor, ts_ssa ssa);
bool ts_write_content(ts_reader *r, const ts_value *tensor, ts_value *content);
/* One may be the memory of the other: after a write to one the other cannot be used. */
bool ts_may_alias(ts_reader *r, const ts_value *a, const ts_value *b);

/* ---- module.c ---- */

ts_value *ts_load(ts_reader *r, torch_pickled *v, const char *name);

/* ---- expr.c ---- */

ts_value *ts_eval(ts_reader *r, const ts_node *n);
/* False, and an error, if it is a value that nothing is known of. */
bool ts_usable(ts_reader *r, const ts_value *v);
/* "a.b.c" of names, unless `a` is a variable; NULL: it is something else. */
const char *ts_dotted(ts_reader *r, const ts_node *n);
ts_cell *ts_variable(ts_reader *r, const char *name);
/* object.name */
ts_value *ts_get_attr(ts_reader *r, ts_value *object, const char *name);

/* ---- call.c ---- */

/* What a call was given. Of positional arguments the key is NULL. */
typedef struct ts_args {
  ts_value *v[TS_MAX_ARGS];
  const char *keys[TS_MAX_ARGS];
  int32_t n;
} ts_args;

ts_value *ts_call_node(ts_reader *r, const ts_node *n);
ts_value *ts_call_def(ts_reader *r, const ts_node *def, const ts_source *source,
                      const ts_args *args);
bool ts_has_method(ts_reader *r, const ts_value *object, const char *name);
ts_value *ts_call_method(ts_reader *r, ts_value *object, const char *name, const ts_args *args);

/* ---- memory.c ---- */

/* Notes of what a node makes how it lies in memory. */
void ts_note_rows(const char *name, const ts_args *args, ts_value *made);
/* The same of what contiguous() makes. */
void ts_note_contiguous(const ts_args *args, ts_value *made);
/* All of the tensor's memory, of which an operator reads places, from_begin: counted from where the
 * memory begins. NULL: it is not known how it lies. */
ts_value *ts_memory_of(ts_reader *r, const char *name, const ts_value *tensor, bool from_begin);

/* ---- builtin.c ---- */

/* An operator, by its full name: "aten::add". */
ts_value *ts_call_builtin(ts_reader *r, const char *name, const ts_args *args);
ts_value *ts_call_1(ts_reader *r, const char *name, ts_value *a);
ts_value *ts_call_2(ts_reader *r, const char *name, ts_value *a, ts_value *b);

/* An operator that the reader does itself. *out NULL and no error: not with these arguments. */
typedef bool ts_builtin(ts_reader *r, const char *name, const ts_args *args, ts_value **out);
typedef struct ts_builtin_row {
  const char *name;
  ts_builtin *call;
} ts_builtin_row;
/* Tables that end with NULL. */
extern const ts_builtin_row ts_scalar_builtins[], ts_list_builtins[], ts_tensor_builtins[],
    ts_view_builtins[], ts_quant_builtins[], ts_prepacked_builtins[], ts_parts_builtins[],
    ts_memory_builtins[], ts_recurrent_builtins[];
/* An argument by place or key; NULL: it is not given, or None. */
ts_value *ts_arg(const ts_args *args, int32_t k, const char *key);
/* A known number, or `missing`. */
int64_t ts_arg_int(const ts_args *args, int32_t k, const char *key, int64_t missing);

/* ---- size.c ---- */

/* The tensor as what a dtype says: a number of PyTorch's, or the dtype of another tensor. */
ts_value *ts_to_dtype(ts_reader *r, ts_value *tensor, ts_value *dtype);

/* ---- torch.c ---- */

/* A node of an operator on tensors. */
ts_value *ts_emit(ts_reader *r, const char *name, const ts_args *args);
/* One that answers a list, of n tensors. */
ts_value *ts_emit_list(ts_reader *r, const char *name, const ts_args *args, int32_t n);
ts_ssa ts_emit_ssa(ts_reader *r, const char *name, ts_ssa x, ts_value *const *args, int32_t n);

/* ---- scalar.c ---- */

ts_value *ts_scalar_op(ts_reader *r, const char *op, ts_value *a, ts_value *b);
/* As a condition: a known bool, or a value of the graph. */
ts_value *ts_truth(ts_reader *r, ts_value *v);
/* A dtype as the number that PyTorch has for it. */
ts_value *ts_dtype_number(ts_reader *r, ts_value *v);
ts_value *ts_to_float(ts_reader *r, ts_value *v);
ts_value *ts_to_int(ts_reader *r, ts_value *v);

/* ---- list.c ---- */

/* How many there are: a known or unknown int. */
ts_value *ts_length(ts_reader *r, ts_value *v);
/* Item k of a list, tuple or dict. */
ts_value *ts_item(ts_reader *r, ts_value *v, ts_value *k);
/* The items, if it is known which; NULL without an error: it is not. */
ts_value *ts_known_items(ts_reader *r, ts_value *v);
/* So many items, of a tuple or list, which may be one that nobody has counted yet. */
ts_value *ts_unpack(ts_reader *r, ts_value *v, int32_t n);
/* A list of ints as a tensor of one dim. */
ts_ssa ts_array(ts_reader *r, ts_value *v);
/* Makes a list whose length is known one that need not be: of numbers an array, else a sequence. */
ts_value *ts_open_items(ts_reader *r, ts_value *items);

/* ---- stmt.c ---- */

bool ts_run_block(ts_reader *r, const ts_node *block);
bool ts_assign(ts_reader *r, const ts_node *target, ts_value *v);
bool ts_set_variable(ts_reader *r, const char *name, ts_value *v);

/* ---- frozen.c ---- */

/* What a cell holds at the end of a branch, with what that is in the branch's graph: later the
 * branch is undone. */
typedef struct ts_frozen ts_frozen;
struct ts_frozen {
  ts_value *v;       /* itself; NULL: nothing */
  ts_ssa ssa;        /* of tensors, of numbers that are not known, and of contents */
  ts_value *content; /* of lists, dicts and tensors */
  ts_frozen **items; /* of tuples, of what lists and dicts hold, and of contents that are items */
  int32_t n;
};
ts_frozen *ts_freeze(ts_reader *r, ts_value *v);
typedef struct ts_cells {
  ts_cell **data;
  int64_t n, cap;
} ts_cells;
/* Marks the cells with a new mark, which is answered, and their slots with their places: so others
 * find them in one step, until someone else marks them. */
int64_t ts_mark(ts_reader *r, const ts_cells *cells);
/* Adds the cells of `from` that are not in `to` yet. */
bool ts_cells_add(ts_reader *r, const ts_cells *from, ts_cells *to);
/* Adds the cells that were changed since and are neither younger than `serial` nor in `out` yet;
 * their slots are the places of their first changes in the journal. */
bool ts_changed(ts_reader *r, int64_t n_changes, int64_t serial, ts_cells *out);

/* A graph inside of the one that is built, and what comes back when it is done. */
typedef struct ts_inner {
  ts_scope scope, *outer;
  int64_t n_changes, n_asserts, serial;
} ts_inner;
bool ts_enter(ts_reader *r, ts_inner *inner);
/* Undoes what was changed. */
void ts_leave(ts_reader *r, ts_inner *inner);
/* Whether all conditions hold that the inner graph has: a known true, or a value of it. text: of
 * the first. */
ts_value *ts_conditions(ts_reader *r, const ts_inner *inner, const char **out_text);
bool ts_add_output(ts_reader *r, ts_ssa ssa);

/* ---- branch.c, loop.c ---- */

bool ts_if(ts_reader *r, const ts_node *n);
bool ts_for(ts_reader *r, const ts_node *n);
bool ts_while(ts_reader *r, const ts_node *n);

/* ---- parts.c ---- */

/* Item k of a TS_V_SPLIT, and how many there are. */
ts_value *ts_split_item(ts_reader *r, const ts_value *split, ts_value *k);
ts_value *ts_split_length(ts_reader *r, const ts_value *split);
/* Item k of a TS_V_STACK that has items. */
ts_value *ts_unbound_item(ts_reader *r, const ts_value *stack, ts_value *k);

/* ---- entry.c ---- */

/* What a dict that is an input holds for the key: an input of its own. */
ts_value *ts_input_item(ts_reader *r, ts_value *dict, const char *key);

tn_status ts_entries_read(ts_reader *r, ts_value *module);

#endif
