/* In place of the pass of that name: it changes no graph. */
#include "plan/passes/passes.h"
#include "without/without.h"

const char tn_without_merge_regions = 0;

tn_status tn_merge_regions(const tn_planner *p, tn_graph *g, bool *out_changed, tn_diag *diag) {
  (void)p, (void)g, (void)diag;
  *out_changed = false;
  return TN_OK;
}
