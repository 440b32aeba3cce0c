/* Plans: counting references, telling whether a plan fits inputs, and taking one apart. */
#include "plan/plan.h"

#include <string.h>

#include "device/device.h"
#include "plan/constants/packed.h"

const char *tn_plan_dynamic_value(const tn_plan *plan) {
  for (int32_t k = 0; k < plan->n_slots; k++) {
    const tn_slot *slot = &plan->slots[k];
    const bool is_list = slot->place == TN_PLACE_INPUT && slot->type->kind != TN_KIND_TENSOR;
    if (slot->place == TN_PLACE_DYNAMIC || is_list) return slot->name;
  }
  return NULL;
}

tn_plan *tn_plan_retain(tn_plan *p) {
  if (p) atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
  return p;
}

static void close_device_step(tn_plan *p, const tn_step *step) {
  const tn_device_step *d = step->device;
  for (uint32_t k = 0; d && d->inputs && k < step->node->node.n_inputs; k++)
    tn_resident_release(p->owner->planner->residents, d->inputs[k]);
  if (d) tn_resident_release(p->owner->planner->residents, d->state);
}

static void close_step(tn_plan *p, const tn_step *step) {
  if (p->owner && p->owner->planner->states)
    tn_packed_release(p->owner->planner->states, step->state);
  for (uint32_t k = 0; step->bodies && k < step->n_bodies; k++)
    tn_callable_destroy(step->bodies[k].callable);
  for (uint32_t k = 0; k < step->n_followers; k++) close_step(p, &step->followers[k]);
}

void tn_plan_release(tn_plan *p) {
  if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) return;
  tn_callable_destroy(p->continuation);
  tn_plan_let_go(p);
  for (int32_t k = 0; p->devices && k < p->n_steps; k++) close_device_step(p, &p->steps[k]);
  tn_graph_free(p->graph); /* before states, which then know whether their constants live on */
  for (int32_t k = 0; k < p->n_steps; k++) close_step(p, &p->steps[k]);
  tn_arena_clear(&p->arena);
  tn_free(p->a, p, sizeof *p);
}

static bool same_strings(const tn_str *a, const tn_str *b, int64_t n) {
  for (int64_t k = 0; k < n; k++)
    if (a[k].size != b[k].size ||
        (a[k].size > 0 && memcmp(a[k].data, b[k].data, (size_t)a[k].size)))
      return false;
  return true;
}

static bool input_matches(const tn_tensor *key, const tn_tensor *input) {
  if (!input || key->kind != input->kind || key->dtype != input->dtype) return false;
  if (key->kind != TN_KIND_TENSOR) return true;
  if (!tn_same_shape(key, input)) return false;
  if (!key->data) return true;
  int64_t bytes = tn_tensor_bytes(key);
  if (bytes == 0) return true;
  if (!input->data) return false;
  if (key->dtype == TN_STRING) return same_strings(key->data, input->data, tn_tensor_elements(key));
  return !memcmp(key->data, input->data, (size_t)bytes);
}

static bool has_lost_device(const tn_plan *p) {
  for (int32_t k = 0; k < p->devices->n_segments; k++)
    if (tn_device_is_lost(p->owner->planner->devices[p->devices->segments[k].device - 1]))
      return true;
  return false;
}

bool tn_plan_matches(const tn_plan *p, const tn_tensor *const *inputs) {
  if (p->devices && has_lost_device(p)) return false;
  for (int32_t k = 0; k < p->n_inputs; k++)
    if (!input_matches(&p->key[k], inputs[k])) return false;
  return true;
}
