/* Writing nodes of PyTorch's operators: what all readers of PyTorch's files share.
 *
 * A node is called "aten::<name>", as `tenon ops --format torchexport` says under "to"; its inputs
 * are the tensors of the schema in order, its attributes what else the program says. Types are
 * nobody's business here: the operator's lowering knows them (ops/aten).
 *
 *   const aten_arg args[] = {
 *       aten_value(NULL, x), aten_value(NULL, w), {.kind = ATEN_NONE},
 *       {.kind = ATEN_LIST, .items = strides, .n_items = 2},
 *       {.name = "groups", .kind = ATEN_INT, .i = 8}};
 *   int32_t y = TN_NO_ID;
 *   const aten_emitter e = {.api = api, .graph = g, .arena = &arena, .fail = my_fail,
 *                            .ctx = reader, .node = "conv1", .offset = at};
 *   tn_status s = aten_emit(&e, "aten::conv2d", NULL, args, 5, &y, 1);
 *
 * The reader says set_opset(g, d, 1) for the domains "aten", "torch" and "torchvision", and
 * set_opset(g, "", 21).
 *
 * What aten_emit() does:
 *  - binds arguments by place or name to the schema; those that are left out have their defaults;
 *  - takes the overload that is named ("Tensor", "" for the one without a name) if the arguments
 *    fit it, else, or if overload is NULL, the one that fits best: add(x, 2) is add.Scalar;
 *  - "add_" and `out=` are the operator without them: the caller assigns the result. What a "_"
 *    form makes is cast to the type of its first argument;
 *  - numbers that only a run knows are values of rank 0, i64, f64 or bool, given as ATEN_TENSOR
 *    for an int, float, bool or Scalar, or inside of a list of ints: then the node is
 *    torch::Dynamic, which becomes the operator as soon as the numbers are known;
 *  - what the operator ignores here (device, layout, memory_format, generator) is dropped.
 * Errors are said through e->fail with the operator's name: one that nobody knows is
 * TN_ERR_UNSUPPORTED. */
#ifndef TN_FORMATS_TORCH_ATEN_H
#define TN_FORMATS_TORCH_ATEN_H

#include <stdbool.h>

#include "base/base.h"
#include "tenon/graph.h"

typedef enum aten_kind {
  ATEN_NONE,   /* None */
  ATEN_TENSOR, /* value */
  ATEN_INT,    /* i */
  ATEN_FLOAT,  /* f */
  ATEN_BOOL,   /* i */
  ATEN_STRING, /* s */
  ATEN_DTYPE,  /* i: TN_F32 ...; an INT for a dtype is PyTorch's number of it */
  ATEN_LIST,   /* items, n_items: each of any kind but LIST; also tuples */
  ATEN_OTHER   /* a device, a layout ...: ignored */
} aten_kind;

typedef struct aten_arg {
  const char *name; /* NULL: by place */
  aten_kind kind;
  int32_t value;
  int64_t i;
  double f;
  tn_str s;
  const struct aten_arg *items;
  uint32_t n_items;
} aten_arg;

typedef struct aten_emitter {
  const tn_graph_api *api;
  tn_graph *graph;
  tn_arena *arena; /* for as long as nodes are written */
  /* Records the text for the user and answers the code. */
  tn_status (*fail)(void *ctx, tn_status code, const char *text);
  void *ctx;
  const char *node; /* its name; NULL: none */
  int64_t offset;   /* where it stands in the file; -1: nowhere */
} aten_emitter;

/* outs: ids of values that the node shall make; TN_NO_ID becomes a new one. n_outs may be fewer
 * than the operator has. Operators that answer a list (split, unbind) make n_outs tensors. */
tn_status aten_emit(const aten_emitter *e, const char *op, const char *overload,
                    const aten_arg *args, uint32_t n_args, int32_t *outs, uint32_t n_outs);

/* "aten::__and__" of "aten::__iand__" (x &= y), and so on; NULL: it is no such operator. */
const char *aten_of_augmented(const char *op);

/* How many tensors the operator makes of these arguments; 0: a list, of a length that it does not
 * say. */
int32_t aten_n_results(const char *op, const char *overload, const aten_arg *args, uint32_t n_args);

/* Is there a row for the operator, under any overload? */
bool aten_knows(const char *op);

/* PyTorch's numbers of dtypes (torch.float32 is 6 in TorchScript) as Tenon's; TN_NONE: none. */
uint32_t aten_dtype_numbered(int64_t number);

static inline aten_arg aten_value(const char *name, int32_t value) {
  return (aten_arg){.name = name, .kind = ATEN_TENSOR, .value = value};
}
static inline aten_arg aten_int(const char *name, int64_t i) {
  return (aten_arg){.name = name, .kind = ATEN_INT, .i = i};
}

/* ---- the table (formats/torchexport) ---- */

/* The rows, by name: "aten::add.Tensor", with the schema in attrs. */
const tn_format_op *const *aten_rows(uint32_t *out_n);

/* ---- aten_schema.c ---- */

typedef struct aten_param {
  char type; /* T tensor, i int, f float, n Scalar, b bool, s str, d ScalarType, x anything else */
  bool list, optional, has_default, by_name; /* by_name: stands behind * */
  tn_str name;
} aten_param;

enum { ATEN_MAX_PARAMS = 32 };

/* The arguments of "(Tensor self, *, int dim=0) -> Tensor". Below 0: it is none. */
int32_t aten_schema_read(const char *text, aten_param *out);

#endif
