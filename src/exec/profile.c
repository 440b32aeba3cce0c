/* Events of profiled runs. */
#include "exec/profile.h"

#include <string.h>

void tn_profile_init(tn_profile *p, const tn_allocator *a) {
  memset(p, 0, sizeof *p);
  p->a = a;
}

void tn_profile_clear(tn_profile *p) {
  for (int64_t k = p->plans.n; k-- > 0;) tn_plan_release(p->plans.data[k]);
  tn_vec_free(p->a, &p->plans);
  tn_vec_free(p->a, &p->events);
  p->run = 0;
}

/* Plans are few and the last one is mostly the one. */
tn_status tn_profile_keep(tn_profile *p, tn_plan *plan) {
  for (int64_t k = p->plans.n; k-- > 0;)
    if (p->plans.data[k] == plan) return TN_OK;
  if (tn_vec_push(p->a, &p->plans, plan)) return TN_ERR_MEMORY;
  tn_plan_retain(plan);
  return TN_OK;
}

void tn_profile_add(tn_profile *p, const tn_step *step, uint64_t begin_ns, uint64_t end_ns) {
  tn_event event = {step, begin_ns, end_ns, p->run};
  (void)tn_vec_push(p->a, &p->events, event);
}
