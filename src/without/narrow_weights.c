/* In place of the pass of that name: what it was asked to do is refused. */
#include "base/diag.h"
#include "plan/passes/passes.h"
#include "without/without.h"

const char tn_without_narrow_weights = 0;

const char *tn_half_misfit(float largest, uint32_t dtype) {
  (void)largest, (void)dtype;
  return "is not looked at";
}

tn_status tn_narrow_weights(const tn_planner *p, tn_graph *g, tn_diag *diag) {
  (void)g;
  if (!p->precision || tn_plans_for_gpu(p)) return TN_OK;
  return tn_fail(diag, TN_ERR_UNSUPPORTED, TN_WITHOUT_NARROW_WEIGHTS);
}
