/* What plans of one model share beyond packed weights: constants in other types or layouts. */
#ifndef TN_PLAN_PACKED_H
#define TN_PLAN_PACKED_H

#include "plan/constants/weight_cache.h"
#include "plan/plan.h"

#define TN_WITHOUT_PACKED_WEIGHTS                                                               \
  "kernel '%s' packs weights, which this program was linked without; to have it: tenon select " \
  "MODEL"

/* `from` converted to type and layout of `to`, if some plan has made it: a reference for the
 * caller; NULL: not there. Any thread. */
tn_const *tn_packed_find_constant(tn_packed_cache *c, const tn_const *from, const tn_tensor *to);
/* Keeps `made`, so that later plans find it. Lack of memory loses it. Any thread. */
void tn_packed_keep_constant(tn_packed_cache *c, tn_const *from, const tn_tensor *to,
                             tn_const *made);
/* Around the making of a plan whose n states take so many bytes, those that are there already
 * included: they stand side by side then. Plans that are made at the same time do no harm. */
void tn_packed_begin(tn_packed_cache *c, uint64_t bytes, int64_t n);
void tn_packed_end(tn_packed_cache *c);
/* The plan that got this state from tn_packed_get is gone. NULL does nothing. Any thread. */
void tn_packed_release(tn_packed_cache *c, void *state);

/* From now on states come from this file if they are there, and are kept in it; the cache owns it.
 * Before the first state. */
void tn_packed_cache_keep_take(tn_packed_cache *c, tn_weight_cache *weights);
/* Bytes of states that came from it. Any thread. */
uint64_t tn_packed_cache_mapped(tn_packed_cache *c);
/* Writes the file if there is enough that is new, or, at the end, while plans still hold their
 * states, if there is anything. Any thread. */
void tn_packed_cache_save(tn_packed_cache *c, bool is_end, tn_diag *diag);

/* Of the attributes of a node, what they point to included. The same in every process. */
uint64_t tn_attrs_hash(const tn_schema *schema, const void *attrs, uint64_t seed);

#endif
