/* Folding that waits for the rewrites (TN_OP_FOLD_LATE): they make integer arithmetic of quantised
 * constants, and have to see them. */
#include "plan/passes/passes.h"

/* Are all values known that the node's readers make? Until then rewrites that look at shapes have
 * not seen them. */
static bool readers_are_known(const tn_graph *g, int32_t node) {
  const tn_gnode *n = tn_graph_node(g, node);
  for (uint32_t k = 0; k < n->node.n_outputs; k++) {
    const tn_value *v = n->node.outputs[k] < 0 ? NULL : tn_graph_val(g, n->node.outputs[k]);
    for (int64_t u = 0; v && u < v->users.n; u++) {
      const tn_gnode *user = tn_graph_node(g, v->users.data[u]);
      for (uint32_t o = 0; o < user->node.n_outputs; o++)
        if (user->node.outputs[o] >= 0 && !tn_graph_val(g, user->node.outputs[o])->known)
          return false;
    }
  }
  return true;
}

tn_status tn_fold_late(const tn_planner *p, tn_graph *g, bool last, bool *out_folded,
                       tn_diag *diag) {
  const int64_t n = g->rewritten ? 0 : g->nodes.n;
  bool waits = false;
  tn_status s = TN_OK;
  *out_folded = false;
  g->rewritten = true;
  for (int32_t id = 0; id < (int32_t)n && !s; id++) {
    const tn_gnode *node = tn_graph_node(g, id);
    bool done;
    int32_t value;
    if (!node->alive || !node->def || !(node->def->op.flags & TN_OP_FOLD_LATE)) continue;
    if (!last && !readers_are_known(g, id)) {
      waits = true;
      continue;
    }
    s = tn_infer_and_fold(p, g, id, &done, &value, diag);
    if (s == TN_NEEDS_DATA) s = TN_OK;
    *out_folded |= !tn_graph_node(g, id)->alive;
  }
  if (waits) g->rewritten = false;
  return s;
}
