/* tenon::Island: nodes that a compiler has taken as one. A module computes it where one is loaded;
 * what stands here runs the nodes themselves. */
#include "control.h"

static tn_status bind_inputs(const tn_call *call, tn_body *b) {
  if (b->n_in != call->n_inputs || b->n_out < call->n_outputs)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "the body has %u inputs and %u outputs; it needs %u and %u", b->n_in,
                            b->n_out, call->n_inputs, call->n_outputs);
  for (uint32_t k = 0; k < b->n_in; k++) b->in[k] = call->inputs[k];
  return TN_OK;
}

tn_status island_infer(const tn_call *call) {
  const tn_island_attrs *a = call->attrs;
  tn_body b = {0};
  tn_status s = tn_body_open(call, a->body, &b);
  if (!s) s = bind_inputs(call, &b);
  if (!s) s = tn_body_infer(call, &b);
  for (uint32_t k = 0; !s && k < call->n_outputs; k++)
    if (call->outputs[k]) *call->outputs[k] = *b.out_types[k];
  tn_body_close(call, &b);
  return s;
}

tn_status island_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_island_attrs *a = call->attrs;
  for (uint32_t k = 0; k < call->n_outputs; k++)
    if (call->outputs[k] && tn_storage_bytes(call->outputs[k]) < 0)
      out->flags = TN_PLAN_DATA_DEPENDENT;
  return tn_body_plan(call, a->body, 0, out);
}

tn_status island_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                   uint32_t worker) {
  const tn_island_attrs *a = call->attrs;
  tn_body b;
  (void)stage, (void)worker;
  if (begin == end) return TN_OK;
  tn_status s = tn_body_place(call, a->body, 0, &b);
  if (!s) s = bind_inputs(call, &b);
  return s ? s : tn_body_run_to_outputs(call, &b);
}
