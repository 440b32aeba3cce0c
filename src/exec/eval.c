/* Plans of one step, on constant inputs: outputs of known size are written straight into the
 * constants that the caller gets. */
#include "exec/eval.h"

#include <string.h>

#include "plan/select/match.h"

/* ---- the plan of one step ---- */

static tn_status add_input(tn_eval *e, uint32_t k, const tn_tensor *in) {
  e->inputs[k] = -1;
  if (!in) return TN_OK;
  tn_slot *slot = &e->plan.slots[e->plan.n_slots];
  tn_tensor *type = tn_arena_copy(&e->arena, in, sizeof *in);
  if (!type) return TN_ERR_MEMORY;
  *slot = (tn_slot){.name = "", .type = type, .place = TN_PLACE_CONST, .index = -1, .alias_of = -1};
  /* kernels tell constants by their data, also those without elements */
  if (!in->data) type->data = tn_arena_alloc(&e->arena, 1);
  e->inputs[k] = e->plan.n_slots++;
  return type->data ? TN_OK : TN_ERR_MEMORY;
}

static tn_status add_output(tn_eval *e, uint32_t k, const tn_tensor *out, tn_const **out_const) {
  e->outputs[k] = -1;
  if (!out) return TN_OK;
  tn_slot *slot = &e->plan.slots[e->plan.n_slots];
  tn_tensor *type = tn_arena_copy(&e->arena, out, sizeof *out);
  if (!type) return TN_ERR_MEMORY;
  type->data = NULL;
  *slot = (tn_slot){.name = "", .type = type, .place = TN_PLACE_DYNAMIC, .alias_of = -1};
  e->outputs[k] = e->plan.n_slots++;
  int64_t bytes = tn_storage_bytes(out);
  if (bytes < 0 || out->dtype == TN_STRING) {
    tn_note_feature(e->planner->features, TN_FEATURE_DYNAMIC_VALUES);
    if (!tn_has_feature(e->planner->features, TN_FEATURE_DYNAMIC_VALUES)) return TN_ERR_UNSUPPORTED;
    slot->index = e->plan.n_dynamic++;
    return TN_OK;
  }
  *out_const = tn_const_new(e->planner->a, (uint64_t)bytes);
  if (!*out_const) return TN_ERR_MEMORY;
  slot->place = TN_PLACE_CONST;
  type->data = (*out_const)->data;
  return TN_OK;
}

tn_status tn_eval_add_step(tn_eval *e, const tn_tensor *const *in, tn_tensor *const *out,
                           tn_const **out_consts) {
  tn_node *n = &e->node.node;
  const uint32_t n_in = n->n_inputs, n_out = n->n_outputs;
  e->plan.slots = tn_arena_alloc(&e->arena, (uint64_t)(n_in + n_out) * sizeof *e->plan.slots);
  n->inputs = e->inputs = tn_arena_alloc(&e->arena, n_in * sizeof *e->inputs);
  n->outputs = e->outputs = tn_arena_alloc(&e->arena, n_out * sizeof *e->outputs);
  e->step = (tn_step){.node = &e->node, .choice = &e->choice};
  if (!e->plan.slots || !e->inputs || !e->outputs) return TN_ERR_MEMORY;
  tn_status status = TN_OK;
  for (uint32_t k = 0; !status && k < n_in; k++) status = add_input(e, k, in[k]);
  for (uint32_t k = 0; !status && k < n_out; k++) status = add_output(e, k, out[k], &out_consts[k]);
  e->plan.steps = &e->step;
  e->plan.n_steps = 1;
  return status;
}

/* ---- the kernel ---- */

/* Books scratch and state, and builds the frame anew with them. */
tn_status tn_eval_book(tn_eval *e) {
  tn_kernel_plan *plan = &e->choice.plan;
  e->step.worker_scratch_offset = tn_round_up(plan->scratch_bytes, 64);
  if (plan->state_bytes) {
    e->step.state = tn_alloc(e->planner->a, plan->state_bytes);
    if (!e->step.state) return TN_ERR_MEMORY;
  }
  tn_frame_forget(e->frame);
  return tn_frame_build_take(e->frame, &e->plan, NULL);
}

/* Prepares the kernel, calls body, and finishes. */
tn_status tn_eval_with_state(tn_eval *e, tn_status (*body)(tn_frame *f, void *self), void *self) {
  tn_task *t = &e->frame->now->tasks[0];
  const tn_kernel *kernel = &e->choice.def->kernel;
  bool prepared = e->step.state && kernel->prepare;
  e->frame->diag = e->diag;
  tn_status status = prepared ? kernel->prepare(&t->call) : TN_OK;
  if (status) {
    tn_frame_fail(e->frame, t, status);
    return tn_frame_report(e->frame);
  }
  status = body(e->frame, self);
  if (prepared && kernel->finish) kernel->finish(&t->call);
  return status;
}

void tn_eval_close(tn_eval *e) {
  tn_frame_destroy(e->frame);
  tn_free(e->planner->a, e->step.state, e->step.state ? e->choice.plan.state_bytes : 0);
  tn_arena_clear(&e->arena);
}
