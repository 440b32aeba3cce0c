/* Constants that steps read as they are: they are fetched when a plan is ready, on all threads, and
 * stay in memory as long as the plan. Those that kernels have packed are left alone. */
#include "plan/plan.h"

typedef struct pinner {
  tn_plan *plan;
  const tn_allocator *a;
  TN_VEC(tn_const *) pinned;
  atomic_bool failed;
} pinner;

static tn_status pin(pinner *h, int32_t slot) {
  if (slot < 0) return TN_OK;
  const tn_plan *p = h->plan;
  while (!p->slots[slot].constant && p->slots[slot].alias_of >= 0) slot = p->slots[slot].alias_of;
  tn_const *c = p->slots[slot].constant;
  if (!c || !c->source) return TN_OK;
  for (int64_t k = 0; k < h->pinned.n; k++)
    if (h->pinned.data[k] == c) return TN_OK;
  return tn_vec_push(h->a, &h->pinned, c);
}

static tn_status pin_step(pinner *h, const tn_step *step) {
  tn_status status = TN_OK;
  if (step->device) return TN_OK; /* it has them there */
  for (uint32_t k = 0; k < step->node->node.n_inputs && !status; k++)
    if (k >= 64 || !(step->packed >> k & 1)) status = pin(h, step->node->node.inputs[k]);
  for (uint32_t k = 0; k < step->n_followers && !status; k++)
    status = pin_step(h, &step->followers[k]);
  return status;
}

static tn_status find(pinner *h) {
  const tn_plan *p = h->plan;
  tn_status status = TN_OK;
  for (int32_t k = 0; k < p->n_steps && !status; k++) status = pin_step(h, &p->steps[k]);
  for (int32_t k = 0; k < p->n_outputs && !status; k++) status = pin(h, p->outputs[k]);
  for (int32_t k = 0; k < p->n_continuation_inputs && !status; k++)
    status = pin(h, p->continuation_inputs[k]);
  return status;
}

static void fetch_range(void *arg, int64_t begin, int64_t end, uint32_t worker) {
  pinner *h = arg;
  (void)worker;
  for (int64_t k = begin; k < end; k++) {
    if (!tn_const_fetch(h->plan->pinned[k])) continue;
    h->plan->pinned[k] = NULL;
    atomic_store(&h->failed, true);
  }
}

tn_status tn_plan_pin_constants(const tn_planner *p, tn_plan *plan) {
  pinner h = {.plan = plan, .a = p->a};
  atomic_init(&h.failed, false);
  tn_status status = find(&h);
  const uint64_t bytes = (uint64_t)h.pinned.n * sizeof *h.pinned.data;
  if (!status && h.pinned.n) {
    plan->pinned = tn_arena_copy(&plan->arena, h.pinned.data, bytes);
    if (!plan->pinned) status = TN_ERR_MEMORY;
  }
  if (!status && h.pinned.n) {
    plan->n_pinned = h.pinned.n;
    tn_pool_run(p->pool, plan->n_pinned, 1, 1, fetch_range, &h);
    if (atomic_load(&h.failed)) status = TN_ERR_MEMORY;
  }
  tn_vec_free(p->a, &h.pinned);
  return status;
}

void tn_plan_let_go(tn_plan *plan) {
  for (int64_t k = 0; k < plan->n_pinned; k++) tn_const_drop(plan->pinned[k]);
  plan->n_pinned = 0;
}
