/* Lowering: composites without a kernel and data movement become simpler operators or regions. */
#include "device/device.h"
#include "plan/passes/passes.h"

bool tn_plans_for_gpu(const tn_planner *p) {
  return p->n_devices && !p->rewrites_all && p->devices[0]->info.units;
}

bool tn_has_kernel_on(const tn_planner *p, const tn_opdef *op, const tn_device *d) {
  const tn_kerneldef *const *kernels;
  const int32_t count = op ? tn_registry_kernels(p->registry, op, &kernels) : 0;
  for (int32_t k = 0; k < count; k++)
    if (!tn_device_refuses(d, kernels[k])) return true;
  return false;
}

static bool is_wanted(const tn_planner *p, const tn_kerneldef *def) {
  bool wanted = !def->device;
  for (uint32_t d = 0; d < p->n_devices && !wanted; d++)
    wanted = !tn_device_refuses(p->devices[d], def);
  return wanted;
}

/* True if there is a kernel of this very operator, for the CPU or a device that is wanted, that
 * pins do not leave out. */
static bool may_run(const tn_planner *p, const tn_gnode *n) {
  const tn_kerneldef *const *kernels;
  const int32_t count = tn_registry_kernels(p->registry, n->def, &kernels);
  for (int32_t k = 0; k < count; k++)
    if (is_wanted(p, kernels[k]) && !tn_pin_excludes(p, n, kernels[k]->kernel.name)) return true;
  return false;
}

bool tn_wants_lowering(const tn_planner *p, const tn_gnode *n) {
  if (!n->alive || !n->def || !n->def->op.lower || tn_is_region(n)) return false;
  return (n->def->op.flags & TN_OP_LOWER_ALWAYS || !may_run(p, n)) &&
         !tn_pin_forbids_lowering(p, n);
}

static bool is_typed(const tn_graph *g, const tn_gnode *n) {
  for (uint32_t k = 0; k < n->node.n_inputs; k++)
    if (n->node.inputs[k] >= 0 && !tn_graph_val(g, n->node.inputs[k])->known) return false;
  for (uint32_t k = 0; k < n->node.n_outputs; k++)
    if (n->node.outputs[k] >= 0 && !tn_graph_val(g, n->node.outputs[k])->known) return false;
  return true;
}

/* TN_ERR_UNSUPPORTED leaves the graph as it was. */
static tn_status check_left(const tn_edit *e, const tn_opdef *def, int32_t n_nodes) {
  char text[TN_NODE_TEXT];
  const tn_gnode *n = tn_graph_node(e->g, e->node);
  if (n->alive && n->def == def && e->g->nodes.n == n_nodes && e->g->promises.n == e->promises)
    return TN_OK;
  return tn_fail(e->diag, TN_ERR_INTERNAL,
                 "%s: lowering answers TN_ERR_UNSUPPORTED, but has changed the graph",
                 tn_node_text(e->g, n, text, sizeof text));
}

tn_status tn_lower_node(const tn_planner *p, tn_graph *g, int32_t node, bool *out_done,
                        tn_diag *diag) {
  *out_done = false;
  const tn_opdef *def = tn_graph_node(g, node)->def;
  const int32_t first = (int32_t)g->nodes.n;
  tn_edit e = {p, g, node, "lowering", NULL, def->owner, diag, 0, -1};
  tn_status s = tn_edit_call(&e, def->op.lower, false);
  if (s == TN_ERR_UNSUPPORTED) return check_left(&e, def, first);
  if (s) return s;
  *out_done = true;
  tn_note_use(&def->uses, TN_USE_LOWERED);
  tn_gnode *n = tn_graph_node(g, node);
  if (n->alive && !n->def) s = tn_check_from(p, g, node, diag); /* it is a region now */
  if (!s) s = tn_settle_from(p, g, first, diag);
  return s ? s : tn_edit_check(&e);
}

tn_status tn_pass_lower(const tn_planner *p, tn_graph *g, tn_diag *diag) {
  tn_status status = TN_OK;
  const int64_t limit = tn_edit_limit(g);
  for (int32_t id = 0; id < (int32_t)g->nodes.n;
       id++) { /* nodes that lowering adds come up in their turn */
    const tn_gnode *n = tn_graph_node(g, id);
    if (!tn_wants_lowering(p, n) || !is_typed(g, n)) continue;
    bool done;
    tn_status s = tn_lower_node(p, g, id, &done, diag);
    if (s) status = s;
    if (g->nodes.n > limit) return tn_edit_endless(g, id, "lowering", diag);
  }
  if (!status) status = tn_graph_sort(g, diag);
  return status ? status : tn_graph_remove_dead(g);
}
