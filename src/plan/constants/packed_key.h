/* What a packed weights depends on, in words that are compared: kernel, attributes, dtypes,
 * constants, fused steps and the kernel's own key. */
#ifndef TN_PLAN_PACKED_KEY_H
#define TN_PLAN_PACKED_KEY_H

#include "plan/constants/weight_cache.h"
#include "plan/plan.h"

/* Of a kernel's call. consts: per input, NULL where it is no constant. */
typedef struct tn_packed_of {
  const tn_kerneldef *def;
  const tn_opdef *op;
  const tn_call *call;
  tn_const *const *consts;
  const tn_kernel_plan *plan;
} tn_packed_of;

typedef TN_VEC(uint64_t) tn_packed_key;

/* Good for as long as the constants live: they are known by their ids. */
tn_status tn_packed_key_make(const tn_allocator *a, const tn_packed_of *s, tn_packed_key *out);
/* Good in every process that runs the same build and plug-in on the same model: constants are known
 * by their place in the model's files, or by a digest. TN_ERR_UNSUPPORTED: there is no such key. */
tn_status tn_packed_key_persistent(const tn_allocator *a, const tn_packed_of *s,
                                   const tn_weight_cache *w, tn_packed_key *out);

/* True if states of the kernel are copies of constants that need nothing else: no memory of the
 * host, no pointers. That is said of inputs that are packed, and the harness tries it. */
bool tn_packed_state_lasts(const tn_kerneldef *def);

#endif
