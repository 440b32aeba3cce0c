/* In place of the pass of that name: it changes no graph. */
#include "plan/passes/passes.h"
#include "without/without.h"

const char tn_without_move_transposes = 0;

tn_status tn_move_transposes(const tn_planner *p, tn_graph *g, bool *out_changed, tn_diag *diag) {
  (void)p, (void)g, (void)diag;
  *out_changed = false;
  return TN_OK;
}
