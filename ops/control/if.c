/* If: both branches are inferred, one is run. */
#include "control.h"

static tn_status branch_types(const tn_call *call, int64_t graph, tn_tensor ***out_types) {
  uint32_t n_in = 0, n_out = 0;
  tn_status s = call->host->subgraph_shape(call->ctx, graph, &n_in, &n_out);
  if (s) return s;
  if (n_in || n_out < call->n_outputs)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "a branch has %u inputs and %u outputs; it needs 0 and %u", n_in, n_out,
                            call->n_outputs);
  *out_types = control_types(call, n_out);
  return *out_types ? call->host->subgraph_infer(call->ctx, graph, 0, NULL, n_out, *out_types)
                    : TN_ERR_MEMORY;
}

/* The dtype is the branches' in common; the shape is found by running. */
static void forget_shape(tn_tensor *t) { t->rank = TN_RANK_UNKNOWN; }

tn_status if_infer(const tn_call *call) {
  const tn_if_attrs *a = call->attrs;
  const void *data;
  tn_status one = control_one(call, 0, "cond", &data);
  if (one) return one;
  const uint8_t *cond = data;
  tn_tensor **yes = NULL, **no = NULL;
  /* A condition that is not known yet may never choose a branch that does not fit: that is found
   * when it is run. */
  tn_status s_yes = cond && !*cond ? TN_OK : branch_types(call, a->then_branch, &yes);
  tn_status s_no = cond && *cond ? TN_OK : branch_types(call, a->else_branch, &no);
  tn_status s = cond || (s_yes && s_no) || !yes || !no ? (s_yes ? s_yes : s_no) : TN_OK;
  for (uint32_t k = 0; !s && k < call->n_outputs; k++) {
    if (!call->outputs[k]) continue;
    if (s_yes || s_no)
      *call->outputs[k] = s_yes ? *no[k] : *yes[k], forget_shape(call->outputs[k]);
    else
      *call->outputs[k] = yes && no ? control_merge(yes[k], no[k]) : yes ? *yes[k] : *no[k];
  }
  control_types_free(call, yes);
  control_types_free(call, no);
  return s;
}

static tn_status run_branch(const tn_call *call, int64_t graph, uint32_t n_out,
                            const tn_tensor **out) {
  tn_status s = call->host->subgraph_run(call->ctx, graph, 0, NULL, n_out, out);
  for (uint32_t k = 0; k < call->n_outputs && !s; k++)
    if (call->outputs[k]) s = call->host->output_set(call->ctx, k, out[k]);
  for (uint32_t k = 0; k < n_out; k++)
    if (out[k]) call->host->value_release(call->ctx, out[k]);
  return s;
}

tn_status if_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  if (begin == end) return TN_OK;
  const tn_if_attrs *a = call->attrs;
  const void *cond;
  tn_status s = control_one(call, 0, "cond", &cond);
  if (s) return s;
  int64_t graph = *(const uint8_t *)cond ? a->then_branch : a->else_branch;
  uint32_t n_in, n_out = 0;
  s = call->host->subgraph_shape(call->ctx, graph, &n_in, &n_out);
  const tn_tensor **out = s ? NULL : call->host->alloc(call->ctx, (n_out + 1) * sizeof *out);
  if (!out) return s ? s : TN_ERR_MEMORY;
  s = run_branch(call, graph, n_out, out);
  call->host->free(call->ctx, (void *)out);
  return s;
}
