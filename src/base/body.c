/* The values of a subgraph in one piece of memory; see body.h. */
#include "base/body.h"

#include "base/checked.h"

/* Takes `bytes` from memory[*at]; NULL while only counting. */
static void *take(char *memory, uint64_t *at, uint64_t bytes) {
  void *part = memory ? memory + *at : NULL;
  *at += tn_round_up(bytes, 64);
  return part;
}

static tn_tensor **take_types(char *memory, uint64_t *at, uint32_t n) {
  tn_tensor **pointers = take(memory, at, n * sizeof *pointers);
  tn_tensor *types = take(memory, at, n * sizeof *types);
  for (uint32_t k = 0; memory && k < n; k++) {
    types[k] = tn_tensor_make(TN_NONE, TN_RANK_UNKNOWN, NULL, NULL);
    pointers[k] = &types[k];
  }
  return pointers;
}

/* Lays the values out in memory (NULL: nowhere); answers the bytes before `more`. */
static uint64_t lay_out(tn_body *b, void *memory) {
  uint64_t at = 0;
  b->in = take(memory, &at, b->n_in * sizeof *b->in);
  b->out = take(memory, &at, b->n_out * sizeof *b->out);
  b->in_types = take_types(memory, &at, b->n_in);
  b->out_types = take_types(memory, &at, b->n_out);
  b->more = take(memory, &at, 0);
  return at;
}

static tn_status count(const tn_call *call, int64_t graph, tn_body *b) {
  *b = (tn_body){.graph = graph};
  return call->host->subgraph_shape(call->ctx, graph, &b->n_in, &b->n_out);
}

tn_status tn_body_open(const tn_call *call, int64_t graph, tn_body *out) {
  tn_status s = count(call, graph, out);
  if (s) return s;
  void *memory = call->host->alloc(call->ctx, lay_out(out, NULL));
  if (!memory) return TN_ERR_MEMORY;
  lay_out(out, memory);
  return TN_OK;
}

void tn_body_close(const tn_call *call, tn_body *b) {
  call->host->free(call->ctx, (void *)b->in); /* the first part */
  *b = (tn_body){0};
}

static tn_status need(const tn_call *call, int64_t graph, uint64_t more, tn_body *b,
                      uint64_t *out_bytes) {
  tn_status s = count(call, graph, b);
  return s ? s : tn_add_u64(lay_out(b, NULL), more, out_bytes);
}

tn_status tn_body_plan(const tn_call *call, int64_t graph, uint64_t more, tn_kernel_plan *out) {
  tn_body b;
  uint64_t bytes = 0;
  tn_status s = need(call, graph, more, &b, &bytes);
  if (!s && bytes > out->scratch_bytes) out->scratch_bytes = bytes;
  return s;
}

tn_status tn_body_place(const tn_call *call, int64_t graph, uint64_t more, tn_body *out) {
  uint64_t bytes = 0;
  tn_status s = need(call, graph, more, out, &bytes);
  if (s) return s;
  if (bytes > call->scratch_bytes)
    return call->host->fail(call->ctx, TN_ERR_INTERNAL, "subgraph %lld is not the one planned for",
                            (long long)graph);
  lay_out(out, call->scratch);
  return TN_OK;
}

tn_status tn_body_infer(const tn_call *call, const tn_body *b) {
  return call->host->subgraph_infer(call->ctx, b->graph, b->n_in, b->in, b->n_out, b->out_types);
}

tn_status tn_body_run(const tn_call *call, const tn_body *b) {
  return call->host->subgraph_run(call->ctx, b->graph, b->n_in, b->in, b->n_out, b->out);
}

void tn_values_release(const tn_call *call, const tn_tensor *const *values, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) call->host->value_release(call->ctx, values[k]);
}
