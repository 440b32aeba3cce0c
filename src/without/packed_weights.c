/* In place of what kernels prepare of constants, and of constants in other forms that plans share:
 * packed.c and prepare.c of the planner. No kernel that is chosen has a state. */
#include "plan/constants/packed.h"
#include "plan/memory/arrange.h"
#include "without/without.h"

const char tn_without_packed_weights = 0;

tn_status tn_packed_cache_create(const tn_allocator *a, tn_packed_cache **out_cache) {
  (void)a;
  *out_cache = NULL;
  return TN_OK;
}

void tn_packed_cache_destroy(tn_packed_cache *c) { (void)c; }
void tn_packed_release(tn_packed_cache *c, void *state) { (void)c, (void)state; }

void tn_packed_cache_keep_take(tn_packed_cache *c, tn_weight_cache *weights) {
  (void)c, (void)weights; /* nobody opens them where there is no cache */
}

uint64_t tn_packed_cache_mapped(tn_packed_cache *c) {
  (void)c;
  return 0;
}

void tn_packed_cache_save(tn_packed_cache *c, bool is_end, tn_diag *diag) {
  (void)c, (void)is_end, (void)diag;
}

tn_const *tn_packed_find_constant(tn_packed_cache *c, const tn_const *from, const tn_tensor *to) {
  (void)c, (void)from, (void)to;
  return NULL;
}

void tn_packed_keep_constant(tn_packed_cache *c, tn_const *from, const tn_tensor *to,
                             tn_const *made) {
  (void)c, (void)from, (void)to, (void)made;
}

tn_status tn_arrange_want_packed(tn_arrangement *r, int32_t node, tn_step *step) {
  const tn_choice *choice = step->choice;
  (void)node;
  if (!choice->plan.state_bytes) return TN_OK;
  return tn_fail(r->diag, TN_ERR_UNSUPPORTED, TN_WITHOUT_PACKED_WEIGHTS, choice->def->kernel.name);
}

tn_status tn_arrange_prepare(tn_arrangement *r) {
  (void)r;
  return TN_OK;
}
