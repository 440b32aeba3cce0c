/* Rewrites: the patterns that Tenon's operators and plug-ins offer (batch norm into Conv, attention
 * out of its products ...), applied to every node of their root until nothing more is found. */
#include "plan/passes/passes.h"

/* Is the node pinned, or one of those before it that a rewrite might take with it? */
static bool is_pinned(const tn_planner *p, const tn_graph *g, int32_t node) {
  enum { STEPS = 5 };
  for (int k = 0; p->n_pins > 0 && k < STEPS && node >= 0; k++) {
    const tn_gnode *n = tn_graph_node(g, node);
    if (n->def && tn_pin_of(p, n)) return true;
    const int32_t value = n->node.n_inputs ? n->node.inputs[0] : -1;
    const tn_value *v = value < 0 ? NULL : tn_graph_val(g, value);
    node = v && v->users.n == 1 ? v->producer : -1;
  }
  return false;
}

static int32_t age_of(const tn_part_owner *owner) { return owner ? owner->index : 0; }

/* The node is to run as it is, because it is pinned, or because a plug-in has the kernel that wins
 * it by its rank: only rewrites of that plug-in, or of one loaded after it, may take it. Answers
 * the first such place in the list of plug-ins. Of element-wise nodes rewrites make more than a
 * faster one. */
static int32_t rewritten_from(const tn_planner *p, tn_graph *g, int32_t node) {
  if (is_pinned(p, g, node)) return INT32_MAX;
  if (tn_graph_node(g, node)->def->op.flags & TN_OP_ELEMENTWISE) return 0;
  const tn_kerneldef *winner = tn_first_kernel(p, g, node);
  return winner ? age_of(winner->owner) : 0;
}

static tn_status apply_rewrite(const tn_planner *p, tn_graph *g, int32_t node,
                               const tn_rewritedef *r, tn_diag *diag) {
  const int32_t first = (int32_t)g->nodes.n;
  tn_edit e = {p, g, node, "rewrite", r->rewrite.name, r->owner, diag, 0, -1};
  const int64_t before = g->n_edits;
  tn_status s = tn_edit_call(&e, r->rewrite.apply, true);
  if (g->n_edits != before) tn_note_use(&r->uses, TN_USE_TAKEN);
  const tn_gnode *n = tn_graph_node(g, node);
  if (!s && n->alive && !n->def) s = tn_check_from(p, g, node, diag); /* it is a region now */
  if (!s) s = tn_settle_from(p, g, first, diag);
  return s ? s : tn_edit_check(&e);
}

static bool is_still(const tn_graph *g, int32_t node, const tn_opdef *def) {
  return tn_graph_node(g, node)->alive && tn_graph_node(g, node)->def == def;
}

/* Would the device that is wanted first, which can run the node, lose it to the rewrite? */
static bool comes_home(const tn_planner *p, tn_graph *g, const tn_opdef *root,
                       const tn_rewritedef *r) {
  const bool yes = p->n_devices && !p->rewrites_all && r->rewrite.makes &&
                   tn_has_kernel_on(p, root, p->devices[0]) &&
                   !tn_has_kernel_on(p, tn_registry_made_by(p->registry, r), p->devices[0]);
  g->n_held_back += yes;
  return yes;
}

static tn_status rewrite_each(const tn_planner *p, tn_graph *g, int64_t limit, tn_diag *diag) {
  tn_status s = TN_OK;
  for (int32_t id = 0; id < (int32_t)g->nodes.n && !s; id++) {
    const tn_gnode *n = tn_graph_node(g, id);
    const tn_rewritedef *const *rewrites;
    int32_t count = n->alive && n->def ? tn_registry_rewrites(p->registry, n->def, &rewrites) : 0;
    const int32_t from = count > 0 ? rewritten_from(p, g, id) : 0;
    const tn_opdef *def = n->def;
    for (int32_t k = 0; k < count && !s && is_still(g, id, def); k++)
      if (age_of(rewrites[k]->owner) >= from && !comes_home(p, g, def, rewrites[k]))
        s = apply_rewrite(p, g, id, rewrites[k], diag);
    if (!s && g->nodes.n > limit) s = tn_edit_endless(g, id, "rewriting", diag);
  }
  if (!s) s = tn_graph_sort(g, diag);
  return s ? s : tn_graph_remove_dead(g);
}

/* Until nothing is found: what one rewrite leaves behind still reads the values that the next looks
 * at, until it is removed. */
tn_status tn_pass_rewrite(const tn_planner *p, tn_graph *g, tn_diag *diag) {
  const int64_t limit = tn_edit_limit(g);
  tn_status s = TN_OK;
  for (int64_t n = -1; !s && n != g->nodes.n;) {
    n = g->nodes.n;
    s = rewrite_each(p, g, limit, diag);
  }
  return s;
}
