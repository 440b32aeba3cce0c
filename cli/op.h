/* The arguments of one operator, as options of `tenon op run` say them. */
#ifndef TN_CLI_OP_H
#define TN_CLI_OP_H

#include "graph/schema.h"
#include "open.h"

enum { CLI_MAX_OP_ARGS = 256 };

typedef struct cli_op_args {
  tn_runtime *runtime;
  tn_diag *diag;
  cli_store store;
  tn_schema schema;
  uint64_t seed;
  tn_op_arg args[CLI_MAX_OP_ARGS];
  const char *from[CLI_MAX_OP_ARGS]; /* what the option says, for messages */
  int n;
} cli_op_args;

/* "axis=1": an attribute; of type Tensor: as an input. */
tn_status cli_op_attr(cli_op_args *a, const char *text);
/* "x=VALUE", "inputs=VALUE,VALUE" for a list. VALUE: FILE, TYPE:FILE, random:TYPE[DIMS] or
 * TYPE[DIMS]=N,N,...; "const:" before it makes it a constant. */
tn_status cli_op_input(cli_op_args *a, const char *text);

/* One VALUE. (op_value.c) */
tn_status cli_op_value(cli_op_args *a, const char *name, const char *text, tn_tensor *out);

#endif
