/* In place of plans that go on when a run has made data: continuation.c of the planner. */
#include "plan/dynamic/continuation.h"

#include "base/diag.h"
#include "without/without.h"

const char tn_without_continuations = 0;

tn_status tn_split_make(const tn_planner *p, tn_graph *g, const tn_cut *cut, const char *name,
                        tn_arena *arena, tn_diag *diag, tn_split *out_split) {
  (void)p, (void)arena;
  *out_split = (tn_split){.n_outputs = (int32_t)g->outputs.n};
  if (!cut->continuation.n) return TN_OK;
  return tn_fail(diag, TN_ERR_UNSUPPORTED, "%s: " TN_WITHOUT_CONTINUATIONS, name);
}

tn_status tn_split_wire(tn_split *split, tn_plan *plan) {
  (void)split, (void)plan;
  return TN_OK;
}
