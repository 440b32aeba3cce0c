/* One operator of Tenon or of a plug-in, called by a host with tensors of its own: what adapters to
 * hosts with tensors share. */
#ifndef OPERATOR_H
#define OPERATOR_H

#include <stdbool.h>

#include "tenon/tenon.h"

enum { OPERATOR_TENSORS = 64, OPERATOR_TEXT = 1000 };

typedef struct operator_call {
  char op[200], attributes[OPERATOR_TEXT]; /* "acme::Foo"; "alpha=2.0; axis=1" */
  tn_tensor tensors[OPERATOR_TENSORS];     /* inputs, then outputs, which are written to */
  uint32_t n_inputs, n_outputs;
  bool drops_ones; /* the host's tensors have no leading dims of 1 that operators may answer */
} operator_call;

/* False: why says what is wrong. Any thread. */
bool operator_run(const operator_call *given, char *why, size_t size);
bool operator_load_plugin(const char *path, char *why, size_t size);

#endif
