/* What the passes share among themselves. */
#ifndef TN_PLAN_PASSES_H
#define TN_PLAN_PASSES_H

#include <string.h>

#include "plan/plan.h"

static inline bool tn_is_region(const tn_gnode *n) {
  return !strcmp(n->node.op, "Region") && !strcmp(n->node.domain, "tenon");
}

/* 01 for the nodes with ids >= first: operator found, arguments bound, functions and early
 * lowerings expanded (the nodes that these add, too). Every problem is reported. */
tn_status tn_check_from(const tn_planner *p, tn_graph *g, int32_t first, tn_diag *diag);
/* What the type rules alone say of a node whose shapes cannot be inferred yet: the dtypes of its
 * outputs. */
tn_status tn_infer_dtypes(const tn_planner *p, tn_graph *g, int32_t node);
/* Infers one node if its inputs are known, and folds it if it can be. *out_done: its outputs are
 * known now. Answers TN_NEEDS_DATA with the value whose data are asked for. */
tn_status tn_infer_and_fold(const tn_planner *p, tn_graph *g, int32_t node, bool *out_done,
                            int32_t *out_value, tn_diag *diag);
/* Checks, infers and folds the nodes with ids >= first: those that a lowering or rewrite has just
 * added. */
tn_status tn_settle_from(const tn_planner *p, tn_graph *g, int32_t first, tn_diag *diag);
/* Replaces one node through its operator's lower(), and settles what that adds. *out_done: false if
 * the operator has no lowering or leaves this node as it is. */
tn_status tn_lower_node(const tn_planner *p, tn_graph *g, int32_t node, bool *out_done,
                        tn_diag *diag);
/* True for data movement, and for operators that no kernel runs, if they have a lowering. */
bool tn_wants_lowering(const tn_planner *p, const tn_gnode *n);
/* Merges regions that read from regions (region_merge.c). */
tn_status tn_merge_regions(const tn_planner *p, tn_graph *g, tn_diag *diag);

#endif
