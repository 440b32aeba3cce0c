/* Reading ExecuTorch's programs: what the files of this folder offer each other.
 *
 * A program is a list of values and of instructions that write into them. A graph has no places to
 * write to: so a value of the program is a variable here; it stands for what was written last. */
#ifndef TN_FORMATS_EXECUTORCH_READER_H
#define TN_FORMATS_EXECUTORCH_READER_H

#include <string.h>

#include "base/base.h"
#include "schema.h"
#include "torch/aten.h"

typedef enum pte_kind { /* as KernelTypes counts */
                        PTE_NONE = 1,
                        PTE_INT,
                        PTE_BOOL,
                        PTE_DOUBLE,
                        PTE_TENSOR,
                        PTE_STRING,
                        PTE_INTS,
                        PTE_DOUBLES,
                        PTE_BOOLS,
                        PTE_TENSORS,
                        PTE_OPTIONAL_TENSORS
} pte_kind;

typedef struct pte_value {
  int64_t kind;        /* PTE_... */
  aten_arg literal;    /* of numbers and texts */
  tn_flat_vector list; /* of lists: indices of values, or numbers */
  tn_flat_table table; /* of tensors */
  tn_tensor type;
  const char *name;
  int32_t id;         /* of the graph now; TN_NO_ID: nothing was written yet */
  const tn_graph *in; /* that id belongs to */
  int32_t state;      /* what it was before the first write is a state; -1: it is none */
  uint32_t n_writes;
  uint32_t branch; /* the innermost that has written it; 0: none */
} pte_value;

/* What a variable stood for before a branch wrote it. */
typedef struct pte_undo {
  pte_value *value, before;
} pte_undo;

/* Bytes of a file. */
typedef struct pte_span {
  const uint8_t *data;
  uint64_t size;
} pte_span;

/* The file of weights beside the program; data NULL: it was not needed yet. */
typedef struct pte_beside {
  const char *path;
  const uint8_t *data;
  uint64_t size, segment_base;
  tn_flat flat;
  tn_flat_vector segments, named;
} pte_beside;

typedef struct pte_loop pte_loop;

typedef struct pte_reader {
  const tn_source *source;
  const tn_graph_api *api;
  tn_allocator allocator;
  tn_arena arena;
  tn_flat flat;
  tn_flat_table program, plan;
  tn_flat_vector segments, instructions, operators, delegates;
  uint64_t segment_base;
  pte_beside beside;
  tn_graph *main, *g; /* g: that is written to */
  pte_value *values;
  uint64_t n_values;
  char where[200]; /* "instruction 3 (aten::add.out)"; "": nowhere */
  uint64_t at;     /* byte of the instruction */
  const char *node;
  uint32_t n_names;
  uint64_t room;               /* items of lists that may still be read: many calls may share one */
  uint64_t room_bytes;         /* of weights that are kept otherwise than in the file */
  int32_t depth;               /* of branches */
  uint32_t branch, n_branches; /* the branch that is read; 0: none */
  TN_VEC(pte_undo) undo;
  uint64_t *loop_ends; /* of each instruction: which one jumps back to it; 0: none */
  pte_loop *loop;      /* the innermost that is read */
  tn_map places;       /* of memory: the value that was written there last */
  bool in_list;
} pte_reader;

/* ---- program.c ---- */

tn_status pte_read(const tn_source *source, tn_graph *g);
/* "<path>: <where>: <message>, at byte <at>"; at 0: no byte. */
tn_status(pte_fail)(const pte_reader *r, tn_status code, uint64_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
tn_status pte_no_memory(const pte_reader *r);
tn_status pte_graph_fail(const pte_reader *r, int32_t status, const char *what);
/* TN_OK, or what is wrong with the FlatBuffer so far. */
tn_status pte_status(const pte_reader *r);
tn_status pte_segment(const pte_reader *r, uint64_t index, pte_span *out);
/* The number of n bytes at p. */
uint64_t pte_number(const uint8_t *p, int n);
/* A zero-terminated copy of text, "" if it is not printable; NULL: no memory. */
const char *pte_text(pte_reader *r, tn_str text);

/* ---- format.c ---- */

/* The node of XNNPACK of that number, "XNNAdd"; NULL: there is none. */
const char *pte_xnn_kind(int64_t number);

/* ---- value.c ---- */

tn_status pte_values_read(pte_reader *r);
/* The value of that index; NULL: there is none, which get says. */
pte_value *pte_get(const pte_reader *r, int64_t index);
pte_value *pte_peek(const pte_reader *r, int64_t index);
/* What it stands for now, as aten_emit takes it. */
tn_status pte_arg(pte_reader *r, int64_t index, aten_arg *out);
/* The tensor or number as a value of the graph that is written to. */
tn_status pte_id(pte_reader *r, int64_t index, int32_t *out);
/* A value of the graph, which the variable is to stand for. */
tn_status pte_new(pte_reader *r, const pte_value *v, int32_t *out);
tn_status pte_write(pte_reader *r, pte_value *v, int32_t id);
/* Notes where the tensor lies that has just got its elements: views of it lie there, too. */
tn_status pte_note_place(pte_reader *r, const pte_value *v);
uint32_t pte_dtype(int64_t number);

/* ---- constant.c ---- */

/* A tensor that the file holds as a constant of the main graph. */
tn_status pte_constant(pte_reader *r, pte_value *v, const char *name, int32_t *out);
/* Are its elements in the file beside the program? */
bool pte_is_beside(const pte_value *v);
/* Is dim_order 0, 1, 2 ...? */
bool pte_is_row_major(const pte_value *v);
/* Bytes of the tensor's elements in the file; size 0: it has none. */
tn_status pte_initial(pte_reader *r, const pte_value *v, pte_span *out);

/* ---- beside.c ---- */

/* Data that the file beside the program has under this name. */
tn_status pte_beside_find(pte_reader *r, tn_str key, pte_span *out);

/* ---- call.c ---- */

/* A call of a kernel: "aten::add.out" and its arguments, the values that it writes among them. */
tn_status pte_kernel(pte_reader *r, const tn_flat_table *call);
/* Told of a variable that is written; steps: by adding 1 to it. */
typedef tn_status (*pte_note)(void *ctx, int64_t value, bool steps);
/* The variables that the call writes. */
tn_status pte_kernel_writes(pte_reader *r, const tn_flat_table *call, pte_note note, void *ctx);
tn_status pte_add_node(pte_reader *r, const char *op, const int32_t *in, uint32_t n_in,
                       const int32_t *out, uint32_t n_out, const tn_attr *const *attrs,
                       uint32_t n_attrs);

/* ---- method.c ---- */

/* Inputs, instructions and outputs of the plan. */
tn_status pte_method(pte_reader *r);
/* Instructions `from` to before `to`. */
tn_status pte_run(pte_reader *r, uint64_t from, uint64_t to);
/* Is instruction k a jump? What it depends on, and where to. */
tn_status pte_jump_at(pte_reader *r, uint64_t k, bool *out_is, int64_t *out_condition,
                      int64_t *out_to);

/* What instructions `from` to before `to` write, or may write. */
tn_status pte_written(pte_reader *r, uint64_t from, uint64_t to, pte_note note, void *ctx);

/* ---- branch.c ---- */

/* The value as an output of the graph that is written to. */
tn_status pte_add_output(pte_reader *r, int32_t id);
/* The jump at *k, up to `end`: both branches as If. *k: the last instruction of them. */
tn_status pte_branch(pte_reader *r, uint64_t *k, uint64_t end);

/* ---- loop.c ---- */

/* The loop that begins at *k, up to `end`. *k: the last instruction of it. */
tn_status pte_loop_at(pte_reader *r, uint64_t *k, uint64_t end);
/* et_copy_index(whole, part, place): the part of one turn. */
tn_status pte_stack(pte_reader *r, const tn_flat_table *call);

/* ---- delegate.c ---- */

tn_status pte_delegate(pte_reader *r, const tn_flat_table *call);

#endif
