/* Runs one node on constant inputs, for 03 fold: a plan of one step, run by an ordinary frame.
 *
 * The kernel is the best-ranked one that takes the node in plain layout. Outputs of known size
 * are written straight into the constants that the caller gets. */
#include <string.h>

#include "exec/frame.h"
#include "plan/match.h"

typedef struct tn_eval {
  const tn_planner *planner;
  const tn_gnode *node;
  tn_diag *diag;
  tn_arena arena;
  tn_plan plan;
  tn_step step;
  tn_frame *frame;
} tn_eval;

/* ---- the plan of one step ---- */

static bool is_evaluable(const tn_gnode *node, const tn_tensor *const *in, tn_tensor *const *out) {
  if (node->n_subgraphs || !node->def) return false;
  for (uint32_t k = 0; k < node->node.n_inputs; k++)
    if (in[k] && (in[k]->kind != TN_KIND_TENSOR || in[k]->layout != TN_PLAIN)) return false;
  for (uint32_t k = 0; k < node->node.n_outputs; k++)
    if (out[k] && out[k]->kind != TN_KIND_TENSOR) return false;
  return true;
}

static tn_status add_input(tn_eval *e, uint32_t k, const tn_tensor *in) {
  e->step.inputs[k] = -1;
  if (!in) return TN_OK;
  tn_slot *slot = &e->plan.slots[e->plan.n_slots];
  *slot = (tn_slot){.name = "", .type = *in, .place = TN_PLACE_CONST, .index = -1, .alias_of = -1};
  /* kernels tell constants by their data, also those without elements */
  if (!in->data) slot->type.data = tn_arena_alloc(&e->arena, 1);
  e->step.inputs[k] = e->plan.n_slots++;
  return slot->type.data ? TN_OK : TN_ERR_MEMORY;
}

static tn_status add_output(tn_eval *e, uint32_t k, const tn_tensor *out, tn_const **out_const) {
  e->step.outputs[k] = -1;
  if (!out) return TN_OK;
  tn_slot *slot = &e->plan.slots[e->plan.n_slots];
  *slot = (tn_slot){.name = "", .type = *out, .place = TN_PLACE_DYNAMIC, .alias_of = -1};
  slot->type.data = NULL;
  e->step.outputs[k] = e->plan.n_slots++;
  int64_t bytes = tn_storage_bytes(out);
  if (bytes < 0 || out->dtype == TN_STRING) {
    slot->index = e->plan.n_dynamic++;
    return TN_OK;
  }
  *out_const = tn_const_new(e->planner->a, (uint64_t)bytes);
  if (!*out_const) return TN_ERR_MEMORY;
  slot->place = TN_PLACE_CONST;
  slot->type.data = (*out_const)->data;
  return TN_OK;
}

static tn_status add_step(tn_eval *e, const tn_tensor *const *in, tn_tensor *const *out,
                          tn_const **out_consts) {
  const tn_gnode *n = e->node;
  uint32_t n_in = n->node.n_inputs, n_out = n->node.n_outputs;
  e->plan.slots = tn_arena_alloc(&e->arena, (uint64_t)(n_in + n_out) * sizeof *e->plan.slots);
  e->step = (tn_step){.node = n->node.name,
                      .op = n->node.op,
                      .version = n->node.version,
                      .attrs = n->attrs,
                      .n_inputs = n_in,
                      .n_outputs = n_out,
                      .in_entries = tn_node_entries(n, false),
                      .out_entries = tn_node_entries(n, true),
                      .epilogue = n->epilogue,
                      .n_epilogue = n->n_epilogue,
                      .regions = n->regions,
                      .n_regions = n->n_regions,
                      .region_fill = n->region_fill,
                      .n_formal = n->n_formal};
  e->step.inputs = tn_arena_alloc(&e->arena, n_in * sizeof *e->step.inputs);
  e->step.outputs = tn_arena_alloc(&e->arena, n_out * sizeof *e->step.outputs);
  if (!e->plan.slots || !e->step.inputs || !e->step.outputs) return TN_ERR_MEMORY;
  tn_status status = TN_OK;
  for (uint32_t k = 0; !status && k < n_in; k++) status = add_input(e, k, in[k]);
  for (uint32_t k = 0; !status && k < n_out; k++) status = add_output(e, k, out[k], &out_consts[k]);
  e->plan.steps = &e->step;
  e->plan.n_steps = 1;
  return status;
}

/* ---- the kernel ---- */

static tn_status choose(tn_eval *e) {
  tn_call *call = &e->frame->now->tasks[0].call;
  const tn_kerneldef *const *kernels = NULL;
  const char *pin = tn_pin_of(e->planner, e->node);
  int32_t n = tn_registry_kernels(e->planner->registry, e->node->def, &kernels);
  for (int32_t k = 0; k < n; k++) {
    const tn_kerneldef *def = kernels[k];
    if (pin && strcmp(pin, def->kernel.name)) continue;
    if (tn_pin_excludes(e->planner, e->node, def->kernel.name)) continue;
    call->self = def->owner ? def->owner->self : NULL;
    if (tn_kernel_match(def, e->node->def, call, e->node->n_formal, &e->arena)) continue;
    tn_status status = tn_kernel_ask_plan(def, call, e->diag, &e->step.plan);
    if (status == TN_ERR_UNSUPPORTED) continue;
    e->step.def = def;
    return status;
  }
  return TN_ERR_UNSUPPORTED;
}

/* Books scratch and state, and builds the frame anew with them. */
static tn_status book(tn_eval *e) {
  tn_kernel_plan *plan = &e->step.plan;
  e->step.worker_scratch_offset = tn_round_up(plan->scratch_bytes, 64);
  if (plan->state_bytes) {
    e->step.state = tn_alloc(e->planner->a, plan->state_bytes);
    if (!e->step.state) return TN_ERR_MEMORY;
  }
  tn_frame_forget(e->frame);
  return tn_frame_build_take(e->frame, &e->plan);
}

static tn_status run(tn_eval *e) {
  tn_task *t = &e->frame->now->tasks[0];
  const tn_kernel *kernel = &e->step.def->kernel;
  bool prepared = e->step.state && kernel->prepare;
  e->frame->diag = e->diag;
  tn_status status = prepared ? kernel->prepare(&t->call) : TN_OK;
  if (status) {
    tn_frame_fail(e->frame, t, status);
    return tn_frame_report(e->frame);
  }
  status = tn_frame_steps(e->frame);
  if (prepared && kernel->finish) kernel->finish(&t->call);
  return status;
}

/* ---- results ---- */

static tn_status take_output(tn_eval *e, uint32_t k, tn_tensor *out, tn_const **out_const) {
  if (!out) return TN_OK;
  const tn_tensor *value = e->frame->now->tasks[0].call.outputs[k];
  if (!*out_const && tn_const_copy(e->planner->a, value, out_const)) return TN_ERR_MEMORY;
  out->rank = value->rank;
  memcpy(out->shape, value->shape, sizeof out->shape);
  out->data = (*out_const)->data;
  return TN_OK;
}

static tn_status eval(tn_eval *e, const tn_tensor *const *in, tn_tensor *const *out,
                      tn_const **out_consts) {
  tn_status status = add_step(e, in, out, out_consts);
  if (!status)
    status = tn_frame_create_in(NULL, e->planner->a, e->planner->pool, e->planner, NULL, &e->frame);
  if (!status) status = tn_frame_build_take(e->frame, &e->plan);
  if (!status) status = choose(e);
  if (!status) status = book(e);
  if (!status) status = run(e);
  for (uint32_t k = 0; !status && k < e->node->node.n_outputs; k++)
    status = take_output(e, k, out[k], &out_consts[k]);
  return status;
}

tn_status tn_eval_node(const tn_planner *p, const tn_gnode *node, const tn_tensor *const *in,
                       tn_tensor *const *out, tn_const **out_consts, tn_diag *diag) {
  for (uint32_t k = 0; k < node->node.n_outputs; k++) out_consts[k] = NULL;
  if (!is_evaluable(node, in, out)) return TN_ERR_UNSUPPORTED;
  tn_eval e = {.planner = p, .node = node, .diag = diag};
  tn_arena_init(&e.arena, p->a);
  tn_status status = eval(&e, in, out, out_consts);
  for (uint32_t k = 0; status && k < node->node.n_outputs; k++) {
    tn_const_release(out_consts[k]);
    out_consts[k] = NULL;
    if (out[k]) out[k]->data = NULL;
  }
  tn_frame_destroy(e.frame);
  tn_free(p->a, e.step.state, e.step.state ? e.step.plan.state_bytes : 0);
  tn_arena_clear(&e.arena);
  return status;
}
