/* What plans of one model share beyond prepared states: constants in other types or layouts. */
#ifndef TN_PLAN_STATES_H
#define TN_PLAN_STATES_H

#include "plan/plan.h"

/* `from` converted to type and layout of `to`, if some plan has made it: a reference for the
 * caller; NULL: not there. Any thread. */
tn_const *tn_state_find_constant(tn_state_cache *c, const tn_const *from, const tn_tensor *to);
/* Keeps `made`, so that later plans find it. Lack of memory loses it. Any thread. */
void tn_state_keep_constant(tn_state_cache *c, tn_const *from, const tn_tensor *to, tn_const *made);
/* The plan that got this state from tn_state_get is gone. NULL does nothing. Any thread. */
void tn_state_release(tn_state_cache *c, void *state);

/* Of the attributes of a node, what they point to included. The same in every process. */
uint64_t tn_attrs_hash(const tn_schema *schema, const void *attrs, uint64_t seed);

#endif
