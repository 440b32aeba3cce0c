/* Events of profiled runs. They keep the plans alive that they name, so they stay readable when
 * the session plans anew. */
#ifndef TN_EXEC_PROFILE_H
#define TN_EXEC_PROFILE_H

#include "exec/exec.h"

void tn_profile_init(tn_profile *p, const tn_allocator *a);
void tn_profile_clear(tn_profile *p);
/* Keeps the plan that is about to run alive. A plan is kept before those of its subgraphs and
 * given back after them. */
tn_status tn_profile_keep(tn_profile *p, tn_plan *plan);
/* From now on, what each thread and device does is kept, too, until tn_profile_clear. */
tn_status tn_profile_open_lanes(tn_profile *p, uint32_t n_threads, uint32_t n_devices);
/* Each thread writes to its own lane only. Without lanes it does nothing. */
void tn_profile_add_span(tn_profile *p, uint32_t lane, const tn_step *step, uint64_t begin_ns,
                         uint64_t end_ns);
/* Lack of memory loses the event: a run does not fail because it is watched. */
void tn_profile_add(tn_profile *p, const tn_step *step, uint64_t begin_ns, uint64_t end_ns);

#endif
