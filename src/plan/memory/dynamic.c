/* Arranging: plans with values that grow at run time, which programs may be linked without. */
#include "plan/memory/arrange.h"

tn_status tn_arrange_want_dynamic(tn_arrangement *r) {
  const char *name = tn_plan_dynamic_value(r->plan);
  if (!name) return TN_OK;
  tn_note_feature(r->p->features, TN_FEATURE_DYNAMIC_VALUES);
  if (tn_has_feature(r->p->features, TN_FEATURE_DYNAMIC_VALUES)) return TN_OK;
  return tn_fail(r->diag, TN_ERR_UNSUPPORTED, TN_WITHOUT_DYNAMIC_VALUES, name);
}
