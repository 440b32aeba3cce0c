/* Which outputs of a plan may lie in the caller's memory, and which of them on an input's. */
#include "exec/bindings.h"

/* ---- uses ---- */

static void note_reads(const int32_t *root, const int32_t *slots, int64_t n, tn_use *uses) {
  for (int64_t k = 0; k < n; k++)
    if (slots[k] >= 0) uses[root[slots[k]]].n_reads++;
}

static void note_step(const int32_t *root, const tn_step *step, tn_use *uses) {
  note_reads(root, step->node->node.inputs, step->node->node.n_inputs, uses);
  for (uint32_t k = 0; k < step->n_followers; k++) note_step(root, &step->followers[k], uses);
}

static void note_writer(const tn_step *step, tn_use *uses) {
  for (uint32_t k = 0; k < step->node->node.n_outputs && k < TN_MAX_IN_PLACE; k++) {
    if (step->node->node.outputs[k] < 0) continue;
    uses[step->node->node.outputs[k]].writer = step;
    uses[step->node->node.outputs[k]].nth = k;
  }
}

void tn_uses_note(const tn_plan *plan, const int32_t *root, tn_use *out_uses) {
  for (int32_t k = 0; k < plan->n_slots; k++) out_uses[k] = (tn_use){.output = -1};
  for (int32_t k = 0; k < plan->n_steps; k++) {
    note_step(root, &plan->steps[k], out_uses);
    note_writer(&plan->steps[k], out_uses);
  }
  note_reads(root, plan->outputs, plan->n_outputs, out_uses);
  note_reads(root, plan->continuation_inputs, plan->n_continuation_inputs, out_uses);
  for (int32_t k = plan->n_outputs - 1; k >= 0; k--)
    if (plan->outputs[k] >= 0) out_uses[plan->outputs[k]].output = k;
}

/* ---- bindings ---- */

/* The user's memory can stand in for a plain tensor that has arena memory of its own. */
static bool is_bindable(const tn_plan *plan, const tn_use *uses, int32_t k) {
  if (plan->continuation && plan->continuation_outputs[k] >= 0) return false;
  const tn_slot *slot = &plan->slots[plan->outputs[k]];
  return uses[plan->outputs[k]].output == k && slot->place == TN_PLACE_ARENA && !slot->device &&
         slot->alias_of < 0 && slot->type->layout == TN_PLAIN &&
         slot->type->kind == TN_KIND_TENSOR && slot->type->dtype != TN_STRING;
}

/* The input that output k may lie on, if the caller says so; see tn_output_binding. */
static int32_t input_under(const tn_plan *plan, const int32_t *root, const tn_use *uses,
                           int32_t k) {
  const tn_use *use = &uses[plan->outputs[k]];
  if (!use->writer || use->writer->n_followers) return -1;
  const int32_t from = use->writer->choice->plan.in_place[use->nth],
                slot = from < 0 ? -1 : use->writer->node->node.inputs[from];
  const bool whole = slot >= 0 && root[slot] == slot && plan->slots[slot].place == TN_PLACE_INPUT &&
                     plan->slots[slot].offset == 0;
  return whole && uses[slot].n_reads == 1 ? plan->slots[slot].index : -1;
}

tn_output_binding tn_output_binding_of(const tn_plan *plan, const int32_t *root, const tn_use *uses,
                                       int32_t k) {
  const bool allowed = is_bindable(plan, uses, k);
  return (tn_output_binding){.allowed = allowed,
                             .over = allowed ? input_under(plan, root, uses, k) : -1};
}
