/* The schema language: ATen function schemas, parsed from text.
 *
 *   schema  := [name ["." overload]] "(" [arg {"," arg}] ")" "->" returns
 *   returns := type [name] | "(" [ret {"," ret}] ")" | "()"
 *   arg     := "*" | type name ["=" default]
 *   type    := base ["(" alias ")"] {"?" | "[" [int] "]"}
 *   base    := Tensor int bool float str Scalar ScalarType MemoryFormat Device Layout Dimname
 *            | Generator SymInt Graph SymBool SymFloat DeviceIndex DimVector Storage Stream QScheme
 *            | number GraphModule
 *   alias   := set {"|" set} ["!"] ["->" set {"|" set}]   as in Tensor(a!), Tensor(a|b),
 *                                                         Tensor(a -> *)
 *
 * A name may carry its namespace (aten::add.out). Several list inputs share what the other inputs
 * leave in equal parts. Tensors before "*" are inputs; everything that is no tensor is an
 * attribute; tensors after "*" are attributes too unless they are written (alias with "!"): those
 * are outputs in destination-passing form (out variants). */
#ifndef TN_GRAPH_SCHEMA_H
#define TN_GRAPH_SCHEMA_H

#include <stdbool.h>

#include "base/base.h"

typedef enum tn_base_type {
  TN_TYPE_TENSOR,
  TN_TYPE_INT,
  TN_TYPE_BOOL,
  TN_TYPE_FLOAT,
  TN_TYPE_STR,
  TN_TYPE_SCALAR,
  TN_TYPE_SCALAR_TYPE,
  TN_TYPE_MEMORY_FORMAT,
  TN_TYPE_DEVICE,
  TN_TYPE_LAYOUT,
  TN_TYPE_DIMNAME,
  TN_TYPE_GENERATOR,
  TN_TYPE_GRAPH,
  TN_TYPE_STORAGE,
  TN_TYPE_STREAM,
  TN_TYPE_QSCHEME
} tn_base_type;

typedef enum tn_role { TN_ROLE_INPUT, TN_ROLE_ATTR, TN_ROLE_OUT } tn_role;

typedef struct tn_arg {
  const char *name;
  tn_base_type base;
  bool list, optional, optional_element; /* T[], T? (or T[]?), T?[] */
  int64_t list_size;                     /* T[2]; -1: any */
  const char *alias;                     /* "a!", "a|b", "a -> *", or NULL */
  bool keyword_only, written;
  tn_role role;
  bool has_default;
  /* Default: ints/floats/strs hold 1 value for scalars. `None`: has_default with n_default -1. */
  int64_t n_default;
  int64_t *default_ints;  /* int, bool, enums (dtype number, or 0) */
  double *default_floats; /* float, Scalar */
  tn_str *default_strs;   /* str, Device */
  int64_t offset,
      present_offset; /* in the attribute struct (role ATTR); present_offset -1: not optional */
} tn_arg;

typedef struct tn_schema {
  const char *name, *overload; /* "" if not given */
  tn_arg *args;                /* in order */
  int32_t n_args;
  tn_arg *returns; /* role OUT; names "out", "out1" ... where none is given */
  int32_t n_returns;
  int32_t n_inputs, n_outputs;    /* args with role INPUT; outputs: returns, or for out variants
                                  (returns alias out arguments) the OUT arguments */
  bool input_lists, output_lists; /* one of them is a list */
  int64_t attrs_size;             /* bytes of the attribute struct */
  int64_t open_offset;            /* of its tn_attrs; -1: it has none */
} tn_schema;

/* For operators with TN_OP_OPEN_ATTRS: the struct ends with all attributes of the node. */
void tn_schema_open(tn_schema *schema);

/* Parses text into arena memory. On error: a message with the column in diag (what: prefix, e.g.
 * "op Foo"). */
tn_status tn_schema_parse(const char *text, tn_arena *arena, const char *what, tn_diag *diag,
                          tn_schema *out_schema);
/* Argument k with role INPUT; outputs: k-th output. NULL if there is none. */
const tn_arg *tn_schema_input(const tn_schema *s, int32_t k);
const tn_arg *tn_schema_output(const tn_schema *s, int32_t k);
/* Any argument, then any return, by name. */
const tn_arg *tn_schema_find(const tn_schema *s, const char *name);
/* The argument that flattened input (output) `index` of a node with n inputs belongs to: a list
 * takes what the arguments after it leave. NULL: too many. */
const tn_arg *tn_schema_input_of(const tn_schema *s, int32_t index, int32_t n);
const tn_arg *tn_schema_output_of(const tn_schema *s, int32_t index, int32_t n);
/* True if inputs that are left out at the end may as well not be written. False if an argument
 * stands behind a list: what an input belongs to depends then on how many there are, so all that is
 * left out behind the list has to be written as left out. */
bool tn_schema_may_end_early(const tn_schema *s);
/* The schema in canonical text (for docs and tests): parses back to an equal schema. */
void tn_schema_print(const tn_schema *s, tn_text *out);
/* The same with numbers where defaults are names of enumerations (src/without/schema.c). */
void tn_schema_print_numbers(const tn_schema *s, tn_text *out);

#endif
