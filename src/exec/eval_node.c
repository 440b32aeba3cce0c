/* Runs one node by itself, on constant inputs, for folding: the kernel is the best-ranked one that
 * takes the node in plain layout. */
#include <string.h>

#include "exec/eval.h"
#include "plan/select/match.h"

static bool is_evaluable(const tn_gnode *node, const tn_tensor *const *in, tn_tensor *const *out) {
  if (node->n_subgraphs || !node->def) return false;
  for (uint32_t k = 0; k < node->node.n_inputs; k++)
    if (in[k] && (in[k]->kind != TN_KIND_TENSOR || in[k]->layout != TN_PLAIN)) return false;
  for (uint32_t k = 0; k < node->node.n_outputs; k++)
    if (out[k] && out[k]->kind != TN_KIND_TENSOR) return false;
  return true;
}

static tn_status choose(tn_eval *e) {
  tn_call *call = &e->frame->now->tasks[0].call;
  const tn_kerneldef *const *kernels = NULL;
  int32_t n = tn_registry_kernels(e->planner->registry, e->node.def, &kernels);
  for (int32_t k = 0; k < n; k++) {
    const tn_kerneldef *def = kernels[k];
    if (def->device || !tn_pin_allows(e->planner, &e->node, def->kernel.name)) continue;
    call->self = def->owner ? def->owner->self : NULL;
    if (tn_kernel_match(def, e->node.def, call, e->node.n_formal, NULL)) continue;
    tn_status status = tn_kernel_ask_plan(def, call, e->diag, &e->choice.plan);
    if (status == TN_ERR_UNSUPPORTED) continue;
    e->choice.def = def;
    tn_note_use(&def->uses, TN_USE_TAKEN);
    tn_note_use(&e->node.def->uses, TN_USE_TAKEN); /* of a conversion no node is made */
    return status;
  }
  return TN_ERR_UNSUPPORTED;
}

static tn_status run_once(tn_frame *f, void *self) {
  (void)self;
  return tn_frame_steps(f);
}

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
  tn_status status = tn_eval_add_step(e, in, out, out_consts);
  if (!status)
    status = tn_frame_create_in(NULL, e->planner->a, e->planner->pool, e->planner, NULL, &e->frame);
  if (!status) status = tn_frame_build_take(e->frame, &e->plan, NULL);
  if (!status) status = choose(e);
  if (!status) status = tn_eval_book(e);
  if (!status) status = tn_eval_with_state(e, run_once, NULL);
  for (uint32_t k = 0; !status && k < e->node.node.n_outputs; k++)
    status = take_output(e, k, out[k], &out_consts[k]);
  return status;
}

tn_status tn_eval_node(const tn_planner *p, const tn_gnode *node, const tn_tensor *const *in,
                       tn_tensor *const *out, tn_const **out_consts, tn_diag *diag) {
  for (uint32_t k = 0; k < node->node.n_outputs; k++) out_consts[k] = NULL;
  if (!is_evaluable(node, in, out)) return TN_ERR_UNSUPPORTED;
  tn_eval e = {.planner = p, .node = *node, .diag = diag};
  tn_arena_init(&e.arena, p->a);
  tn_status status = eval(&e, in, out, out_consts);
  if (!status) tn_note_feature(p->features, TN_FEATURE_FOLDING);
  for (uint32_t k = 0; status && k < node->node.n_outputs; k++) {
    tn_const_release(out_consts[k]);
    out_consts[k] = NULL;
    if (out[k]) out[k]->data = NULL;
  }
  tn_eval_close(&e);
  return status;
}
