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
  for (uint32_t k = 0; k < p->n_lanes; k++) tn_vec_free(p->a, &p->lanes[k]);
  tn_free(p->a, p->lanes, p->n_lanes * sizeof *p->lanes);
  p->lanes = NULL;
  p->n_lanes = p->n_threads = 0;
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

tn_status tn_profile_open_lanes(tn_profile *p, uint32_t n_threads, uint32_t n_devices) {
  if (p->lanes) return TN_OK;
  p->lanes = tn_alloc(p->a, ((uint64_t)n_threads + n_devices) * sizeof *p->lanes);
  if (!p->lanes) return TN_ERR_MEMORY;
  p->n_threads = n_threads;
  p->n_lanes = n_threads + n_devices;
  return TN_OK;
}

void tn_profile_add_span(tn_profile *p, uint32_t lane, const tn_step *step, uint64_t begin_ns,
                         uint64_t end_ns) {
  tn_event span = {step, begin_ns, end_ns, p->run};
  if (lane < p->n_lanes) (void)tn_vec_push(p->a, &p->lanes[lane], span);
}
