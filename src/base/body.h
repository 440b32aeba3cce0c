/* The values that go into a subgraph of a node and come out of it: for kernels that run subgraphs.
 * They stand in one piece of memory, which is booked as scratch to run (so that a run allocates
 * nothing) and taken from the host to infer. All use nothing but call->host. */
#ifndef TN_BASE_BODY_H
#define TN_BASE_BODY_H

#include "tenon/tenon.h"

typedef struct tn_body {
  int64_t graph;                     /* its index in the attribute struct */
  uint32_t n_in, n_out;              /* without what it captures */
  const tn_tensor **in, **out;       /* of one run */
  tn_tensor **in_types, **out_types; /* a tensor for each, of unknown type to begin with */
  void *more;                        /* bytes that the caller asked for; 64-byte aligned */
} tn_body;

/* infer: memory of the host, which tn_body_close() gives back. */
tn_status tn_body_open(const tn_call *call, int64_t graph, tn_body *out);
void tn_body_close(const tn_call *call, tn_body *b); /* leaves zeros, which may be closed, too */
/* plan: books scratch for the subgraph and `more` bytes. For several subgraphs of one node, which
 * run one after another, the largest counts. */
tn_status tn_body_plan(const tn_call *call, int64_t graph, uint64_t more, tn_kernel_plan *out);
/* run: in the call's scratch. */
tn_status tn_body_place(const tn_call *call, int64_t graph, uint64_t more, tn_body *out);

/* in -> out_types. */
tn_status tn_body_infer(const tn_call *call, const tn_body *b);
/* in -> out: values that are to be released. */
tn_status tn_body_run(const tn_call *call, const tn_body *b);
/* Entries may be NULL. */
void tn_values_release(const tn_call *call, const tn_tensor *const *values, uint32_t n);

#endif
