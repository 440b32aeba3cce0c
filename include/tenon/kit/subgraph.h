/* The values that go into a subgraph of a node and come out of it: for kernels that run subgraphs.
 * They stand in one piece of memory, which is booked as scratch to run (so that a run allocates
 * nothing) and taken from the host to infer. All use nothing but call->host. */
#ifndef TN_KIT_SUBGRAPH_H
#define TN_KIT_SUBGRAPH_H

#include "tenon/kit/checked.h"

typedef struct tn_body {
  int64_t graph;                     /* its index in the attribute struct */
  uint32_t n_in, n_out;              /* without what it captures */
  const tn_tensor **in, **out;       /* of one run */
  tn_tensor **in_types, **out_types; /* a tensor for each, of unknown type to begin with */
  void *more;                        /* bytes that the caller asked for; 64-byte aligned */
} tn_body;

/* infer: memory of the host, which tn_body_close() gives back. */
TN_KIT_FN tn_status tn_body_open(const tn_call *call, int64_t graph, tn_body *out);
/* Leaves zeros, which may be closed, too. */
TN_KIT_FN void tn_body_close(const tn_call *call, tn_body *b);
/* plan: books scratch for the subgraph and `more` bytes. For several subgraphs of one node, which
 * run one after another, the largest counts. */
TN_KIT_FN tn_status tn_body_plan(const tn_call *call, int64_t graph, uint64_t more,
                                 tn_kernel_plan *out);
/* run: in the call's scratch. */
TN_KIT_FN tn_status tn_body_place(const tn_call *call, int64_t graph, uint64_t more, tn_body *out);

/* in -> out_types. */
TN_KIT_FN tn_status tn_body_infer(const tn_call *call, const tn_body *b);
/* in -> out: values that are to be released. */
TN_KIT_FN tn_status tn_body_run(const tn_call *call, const tn_body *b);
/* in -> the outputs of the node, those that are wanted. */
TN_KIT_FN tn_status tn_body_run_to_outputs(const tn_call *call, const tn_body *b);
/* Entries may be NULL. */
TN_KIT_FN void tn_values_release(const tn_call *call, const tn_tensor *const *values, uint32_t n);

#ifdef TN_KIT_BODIES

/* Takes `bytes` from memory[*at]; NULL while only counting. */
static inline void *tn_body_take(void *memory, uint64_t *at, uint64_t bytes) {
  void *part = memory ? (char *)memory + *at : NULL;
  *at += tn_round_up(bytes, 64);
  return part;
}

static inline tn_tensor **tn_body_take_types(void *memory, uint64_t *at, uint32_t n) {
  tn_tensor **pointers = (tn_tensor **)tn_body_take(memory, at, n * sizeof *pointers);
  tn_tensor *types = (tn_tensor *)tn_body_take(memory, at, n * sizeof *types);
  for (uint32_t k = 0; memory && k < n; k++) {
    types[k] = tn_tensor_make(TN_NONE, TN_RANK_UNKNOWN, NULL, NULL);
    pointers[k] = &types[k];
  }
  return pointers;
}

/* Lays the values out in memory (NULL: nowhere); answers the bytes before `more`. */
static inline uint64_t tn_body_lay_out(tn_body *b, void *memory) {
  uint64_t at = 0;
  b->in = (const tn_tensor **)tn_body_take(memory, &at, b->n_in * sizeof *b->in);
  b->out = (const tn_tensor **)tn_body_take(memory, &at, b->n_out * sizeof *b->out);
  b->in_types = tn_body_take_types(memory, &at, b->n_in);
  b->out_types = tn_body_take_types(memory, &at, b->n_out);
  b->more = tn_body_take(memory, &at, 0);
  return at;
}

static inline tn_status tn_body_count(const tn_call *call, int64_t graph, tn_body *b) {
  const tn_body none = TN_KIT_ZERO;
  *b = none;
  b->graph = graph;
  return call->host->subgraph_shape(call->ctx, graph, &b->n_in, &b->n_out);
}

TN_KIT_FN tn_status tn_body_open(const tn_call *call, int64_t graph, tn_body *out) {
  tn_status s = tn_body_count(call, graph, out);
  if (s) return s;
  void *memory = call->host->alloc(call->ctx, tn_body_lay_out(out, NULL));
  if (!memory) return TN_ERR_MEMORY;
  tn_body_lay_out(out, memory);
  return TN_OK;
}

TN_KIT_FN void tn_body_close(const tn_call *call, tn_body *b) {
  const tn_body none = TN_KIT_ZERO;
  call->host->free(call->ctx, (void *)b->in); /* the first part */
  *b = none;
}

static inline tn_status tn_body_need(const tn_call *call, int64_t graph, uint64_t more, tn_body *b,
                                     uint64_t *out_bytes) {
  tn_status s = tn_body_count(call, graph, b);
  return s ? s : tn_add_u64(tn_body_lay_out(b, NULL), more, out_bytes);
}

TN_KIT_FN tn_status tn_body_plan(const tn_call *call, int64_t graph, uint64_t more,
                                 tn_kernel_plan *out) {
  tn_body b;
  uint64_t bytes = 0;
  tn_status s = tn_body_need(call, graph, more, &b, &bytes);
  if (!s && bytes > out->scratch_bytes) out->scratch_bytes = bytes;
  return s;
}

TN_KIT_FN tn_status tn_body_place(const tn_call *call, int64_t graph, uint64_t more, tn_body *out) {
  uint64_t bytes = 0;
  tn_status s = tn_body_need(call, graph, more, out, &bytes);
  if (s) return s;
  if (bytes > call->scratch_bytes)
    return call->host->fail(call->ctx, TN_ERR_INTERNAL, "subgraph %lld is not the one planned for",
                            (long long)graph);
  tn_body_lay_out(out, call->scratch);
  return TN_OK;
}

TN_KIT_FN tn_status tn_body_infer(const tn_call *call, const tn_body *b) {
  return call->host->subgraph_infer(call->ctx, b->graph, b->n_in, b->in, b->n_out, b->out_types);
}

TN_KIT_FN tn_status tn_body_run(const tn_call *call, const tn_body *b) {
  return call->host->subgraph_run(call->ctx, b->graph, b->n_in, b->in, b->n_out, b->out);
}

TN_KIT_FN void tn_values_release(const tn_call *call, const tn_tensor *const *values, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) call->host->value_release(call->ctx, values[k]);
}

TN_KIT_FN tn_status tn_body_run_to_outputs(const tn_call *call, const tn_body *b) {
  tn_status s = tn_body_run(call, b);
  if (s) return s;
  for (uint32_t k = 0; k < call->n_outputs && !s; k++)
    if (call->outputs[k]) s = call->host->output_set(call->ctx, k, b->out[k]);
  tn_values_release(call, b->out, b->n_out);
  return s;
}

#endif

#endif
