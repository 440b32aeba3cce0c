/* SequenceMap: a subgraph run once per item. */
#include "sequence.h"
#include "tenon/kit/subgraph.h"

static int64_t body_of(const tn_call *call) {
  return ((const tn_sequence_map_attrs *)call->attrs)->body;
}

static tn_status check_body(const tn_call *call, const tn_body *b) {
  if (b->n_in < 1 || b->n_in > call->n_inputs || b->n_out < call->n_outputs)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "the body has %u inputs and %u outputs, the node %u and %u", b->n_in,
                            b->n_out, call->n_inputs, call->n_outputs);
  for (uint32_t k = 0; k < b->n_in; k++)
    if (!call->inputs[k])
      return call->host->fail(call->ctx, TN_ERR_INVALID, "input %u is missing", (unsigned)k);
  return TN_OK;
}

static bool is_mapped(const tn_call *call, uint32_t k) {
  return k == 0 || call->inputs[k]->kind == TN_KIND_SEQUENCE;
}

static tn_status infer_items(const tn_call *call, const tn_body *b) {
  tn_status s = check_body(call, b);
  for (uint32_t k = 0; k < b->n_in && !s; k++) {
    if (is_mapped(call, k))
      sequence_item_of(b->in_types[k], call->inputs[k]);
    else
      *b->in_types[k] = *call->inputs[k];
    b->in_types[k]->data = NULL;
    b->in[k] = b->in_types[k];
  }
  if (!s) s = tn_body_infer(call, b);
  for (uint32_t k = 0; k < call->n_outputs && !s; k++)
    if (call->outputs[k]) sequence_list_of(call->outputs[k], TN_KIND_SEQUENCE, b->out_types[k]);
  return s;
}

tn_status sequence_map_infer(const tn_call *call) {
  tn_body b;
  tn_status s = sequence_want(call, 0, TN_KIND_SEQUENCE);
  if (s) return s;
  s = tn_body_open(call, body_of(call), &b);
  if (!s) s = infer_items(call, &b);
  tn_body_close(call, &b);
  return s;
}

tn_status sequence_map_plan(const tn_call *call, tn_kernel_plan *out) {
  tn_status s = sequence_plan(call, out);
  return s ? s : tn_body_plan(call, body_of(call), 0, out);
}

static tn_status map_item(const tn_call *call, const tn_body *b, int64_t index) {
  const tn_host *host = call->host;
  for (uint32_t k = 0; k < b->n_in; k++) {
    b->in[k] =
        is_mapped(call, k) ? host->list_item(call->ctx, call->inputs[k], index) : call->inputs[k];
    if (!b->in[k])
      return host->fail(call->ctx, TN_ERR_INVALID, "input %u has only %lld items", (unsigned)k,
                        (long long)host->list_size(call->ctx, call->inputs[k]));
  }
  tn_status s = tn_body_run(call, b);
  if (s) return s;
  for (uint32_t k = 0; k < call->n_outputs && !s; k++)
    if (call->outputs[k]) s = host->list_append(call->ctx, k, b->out[k]);
  tn_values_release(call, b->out, b->n_out);
  return s;
}

tn_status sequence_map_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                         uint32_t worker) {
  tn_body b;
  int64_t n = call->host->list_size(call->ctx, call->inputs[0]);
  tn_status s = tn_body_place(call, body_of(call), 0, &b);
  (void)stage, (void)begin, (void)end, (void)worker;
  if (!s) s = check_body(call, &b);
  for (int64_t k = 0; k < n && !s; k++) s = map_item(call, &b, k);
  return s;
}
