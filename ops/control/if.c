/* If: both branches are inferred, one is run. */
#include "control.h"

static tn_status check_branch(const tn_call *call, const tn_body *b) {
  if (!b->n_in && b->n_out >= call->n_outputs) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_INVALID,
                          "a branch has %u inputs and %u outputs; it needs 0 and %u", b->n_in,
                          b->n_out, call->n_outputs);
}

static tn_status branch_types(const tn_call *call, int64_t graph, tn_body *b) {
  tn_status s = tn_body_open(call, graph, b);
  if (!s && (s = check_branch(call, b))) tn_body_close(call, b);
  return s ? s : tn_body_infer(call, b);
}

/* The dtype is the branches' in common; the shape is found by running. */
static void forget_shape(tn_tensor *t) { t->rank = TN_RANK_UNKNOWN; }

tn_status if_infer(const tn_call *call) {
  const tn_if_attrs *a = call->attrs;
  const void *data;
  tn_status one = control_one(call, 0, "cond", &data);
  if (one) return one;
  const uint8_t *cond = data;
  tn_body yes = {0}, no = {0};
  /* A condition that is not known yet may never choose a branch that does not fit: that is found
   * when it is run. */
  tn_status s_yes = cond && !*cond ? TN_OK : branch_types(call, a->then_branch, &yes);
  tn_status s_no = cond && *cond ? TN_OK : branch_types(call, a->else_branch, &no);
  const bool memory =
      s_yes == TN_ERR_MEMORY || s_no == TN_ERR_MEMORY; /* says nothing of branches */
  if (memory) s_yes = s_no = TN_ERR_MEMORY;
  tn_status s = cond || (s_yes && s_no) || !yes.out || !no.out ? (s_yes ? s_yes : s_no) : TN_OK;
  for (uint32_t k = 0; !s && k < call->n_outputs; k++) {
    if (!call->outputs[k]) continue;
    if (s_yes || s_no)
      *call->outputs[k] = s_yes ? *no.out_types[k] : *yes.out_types[k],
      forget_shape(call->outputs[k]);
    else
      *call->outputs[k] = yes.out && no.out ? control_merge(yes.out_types[k], no.out_types[k])
                          : yes.out         ? *yes.out_types[k]
                                            : *no.out_types[k];
  }
  tn_body_close(call, &yes);
  tn_body_close(call, &no);
  return s;
}

tn_status if_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_if_attrs *a = call->attrs;
  out->flags = TN_PLAN_DATA_DEPENDENT;
  tn_status s = tn_body_plan(call, a->then_branch, 0, out);
  return s ? s : tn_body_plan(call, a->else_branch, 0, out);
}

tn_status if_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  if (begin == end) return TN_OK;
  const tn_if_attrs *a = call->attrs;
  const void *cond;
  tn_body b;
  tn_status s = control_one(call, 0, "cond", &cond);
  if (s) return s;
  s = tn_body_place(call, *(const uint8_t *)cond ? a->then_branch : a->else_branch, 0, &b);
  if (!s) s = check_branch(call, &b);
  return s ? s : tn_body_run_to_outputs(call, &b);
}
