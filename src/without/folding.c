/* In place of constant folding: fold.c and fold_late.c of the planner's passes, eval_node.c of
 * sessions. Nodes of constants are run with the others, and constants stay in their types and
 * layouts. */
#include "exec/exec.h"
#include "plan/passes/passes.h"
#include "without/without.h"

const char tn_without_folding = 0;

tn_status tn_eval_node(const tn_planner *p, const tn_gnode *node, const tn_tensor *const *in,
                       tn_tensor *const *out, tn_const **out_consts, tn_diag *diag) {
  (void)p, (void)node, (void)in, (void)out, (void)out_consts, (void)diag;
  return TN_ERR_UNSUPPORTED;
}

tn_status tn_fold_node(const tn_planner *p, tn_graph *g, int32_t node, bool *out_folded,
                       tn_diag *diag) {
  (void)p, (void)g, (void)node, (void)diag;
  *out_folded = false;
  return TN_OK;
}

tn_status tn_fold_late(const tn_planner *p, tn_graph *g, bool last, bool *out_folded,
                       tn_diag *diag) {
  (void)p, (void)last, (void)diag;
  g->rewritten = true;
  *out_folded = false;
  return TN_OK;
}
