/* Inputs and outputs of one run: pointers to the caller's memory go into the values, results come
 * out.
 *
 * Memory that the caller names for an output takes the place of the arena's where that is sound;
 * else the result is copied there after the steps. It may be that of an input: the cache of keys
 * and values of a language model is updated in place so. */
#include <string.h>

#include "exec/device_frame.h"

static void *shifted(void *data, uint64_t bytes) { return data ? (uint8_t *)data + bytes : NULL; }

void tn_frame_point(tn_frame *f, int32_t root, void *data) {
  const tn_setup *s = f->now;
  const tn_slot *slots = s->plan->slots;
  s->values[root].data = data;
  for (int32_t k = s->first_alias[root]; k >= 0; k = s->next_alias[k])
    s->values[k].data = shifted(data, slots[k].offset - slots[root].offset);
}

/* ---- before the steps ---- */

static tn_status check_input(tn_frame *f, int32_t k, const tn_tensor *input) {
  const tn_plan *plan = f->now->plan;
  if (!input) return tn_fail(f->diag, TN_ERR_INVALID, "input %d is missing", k);
  if (input->kind != TN_KIND_TENSOR || input->data || tn_storage_bytes(input) == 0 ||
      (f->has_placed && tn_frame_is_placed(f, input)))
    return TN_OK;
  return tn_fail(f->diag, TN_ERR_INVALID, "input '%s' has no data",
                 plan->slots[plan->inputs[k]].name);
}

static void bind_inputs(tn_frame *f, const tn_tensor *const *inputs) {
  const tn_setup *s = f->now;
  const tn_slot *slots = s->plan->slots;
  for (int32_t k = 0; k < s->n_patched; k++) {
    const int32_t slot = s->patched[k], index = slots[s->root[slot]].index;
    const tn_tensor *input = inputs[index];
    const bool is_placed = f->has_placed && tn_frame_is_placed(f, input);
    s->values[slot].data =
        shifted(is_placed ? tn_frame_mirrored(f, index) : input->data, slots[slot].offset);
    s->values[slot].object = is_placed ? 0 : input->object;
  }
}

static tn_extent extent_of(const tn_tensor *t) {
  const uintptr_t begin = t ? (uintptr_t)t->data : 0;
  const uintptr_t bytes = begin ? (uintptr_t)tn_max_i64(tn_storage_bytes(t), 0) : 0;
  return (tn_extent){begin, begin + bytes};
}

static bool overlap(tn_extent a, tn_extent b) { return a.begin < b.end && b.begin < a.end; }

/* Once per run: each output that lies in the caller's memory is compared with all others. */
static void note_extents(const tn_frame *f, const tn_tensor *const *inputs,
                         const tn_tensor *const *bound) {
  const tn_plan *plan = f->now->plan;
  tn_extent *extents = f->now->extents;
  for (int32_t k = 0; k < plan->n_inputs; k++) extents[k] = extent_of(inputs[k]);
  for (int32_t k = 0; k < plan->n_outputs; k++) extents[plan->n_inputs + k] = extent_of(bound[k]);
}

/* Steps may write an output before the last reader of an input is done, so shared memory is
 * written afterwards; unless it is just that of the input that the output may lie on. */
static bool is_apart(const tn_frame *f, int32_t k) {
  const int32_t n_inputs = f->now->plan->n_inputs, n = n_inputs + f->now->plan->n_outputs;
  const tn_extent *extents = f->now->extents, own = extents[n_inputs + k];
  const int32_t over = f->now->bindings[k].over;
  for (int32_t i = 0; i < n; i++) {
    if (i == n_inputs + k || !overlap(own, extents[i])) continue;
    if (i != over || own.begin != extents[i].begin || own.end != extents[i].end) return false;
  }
  return true;
}

const char *tn_frame_output_text(const tn_frame *f, int32_t k, char *buf, size_t size) {
  const tn_graph *g = f->callable ? f->callable->graph : NULL;
  const tn_value *value = g && k < g->outputs.n ? tn_graph_val(g, g->outputs.data[k]) : NULL;
  if (value && value->name && *value->name)
    snprintf(buf, size, "output '%s'", value->name);
  else
    snprintf(buf, size, "output %d", k);
  return buf;
}

static tn_status check_bound(const tn_frame *f, int32_t k, const tn_tensor *value,
                             const tn_tensor *bound) {
  char name[TN_TASK_TEXT], have[TN_TENSOR_TEXT], got[TN_TENSOR_TEXT];
  int64_t need = tn_storage_bytes(value);
  bool fits = value->kind == TN_KIND_TENSOR && value->dtype == bound->dtype &&
              value->dtype != TN_STRING && need >= 0 && need <= tn_tensor_bytes(bound) &&
              (bound->data || !need);
  if (fits) return TN_OK;
  return tn_fail(f->diag, TN_ERR_SHAPE, "%s is %s, which does not fit the memory given for it: %s",
                 tn_frame_output_text(f, k, name, sizeof name),
                 tn_tensor_text(value, have, sizeof have), tn_tensor_text(bound, got, sizeof got));
}

static tn_status bind_output(tn_frame *f, int32_t k, const tn_tensor *const *bound) {
  const tn_setup *s = f->now;
  tn_output_binding *binding = &s->bindings[k];
  if (!binding->allowed) return TN_OK;
  int32_t slot = s->plan->outputs[k];
  bool bind = bound && bound[k] && !(f->has_placed && tn_frame_is_placed(f, bound[k]));
  if (bind && check_bound(f, k, &s->values[slot], bound[k])) return TN_ERR_SHAPE;
  bind = bind && is_apart(f, k);
  if (bind)
    tn_frame_point(f, slot, bound[k]->data);
  else if (binding->bound)
    tn_frame_point(f, slot, (uint8_t *)s->arena + s->plan->slots[slot].offset);
  binding->bound = bind;
  return TN_OK;
}

static bool any_of(const tn_tensor *const *bound, int32_t n) {
  for (int32_t k = 0; bound && k < n; k++)
    if (bound[k]) return true;
  return false;
}

tn_status tn_frame_bind(tn_frame *f, const tn_tensor *const *inputs,
                        const tn_tensor *const *bound) {
  const tn_plan *plan = f->now->plan;
  for (int32_t k = 0; k < plan->n_inputs; k++)
    if (check_input(f, k, inputs[k])) return TN_ERR_INVALID;
  bind_inputs(f, inputs);
  if (any_of(bound, plan->n_outputs)) note_extents(f, inputs, bound);
  for (int32_t k = 0; k < plan->n_outputs; k++)
    if (bind_output(f, k, bound)) return TN_ERR_SHAPE;
  return TN_OK;
}

/* ---- after the steps ---- */

static const tn_tensor *result(const tn_frame *f, int32_t k) {
  const tn_plan *plan = f->now->plan;
  if (plan->continuation && plan->continuation_outputs[k] >= 0)
    return tn_frame_output(f->now->continuation, plan->continuation_outputs[k]);
  return &f->now->values[plan->outputs[k]];
}

static bool is_borrowed(const tn_frame *f, int32_t k) {
  const tn_plan *plan = f->now->plan;
  if (plan->continuation && plan->continuation_outputs[k] >= 0) return false;
  return plan->slots[f->now->root[plan->outputs[k]]].place == TN_PLACE_INPUT;
}

/* Results on memory of the inputs are copied: the caller may free those before reading the
 * outputs, or has named them for another output. */
static bool is_copied(const tn_frame *f, int32_t k, const tn_tensor *const *bound) {
  if (!is_borrowed(f, k)) return false;
  if (!bound || !bound[k]) return true;
  const tn_extent borrowed = extent_of(result(f, k));
  for (int32_t i = 0; i < f->now->plan->n_outputs; i++)
    if (i != k && overlap(extent_of(bound[i]), borrowed)) return true;
  return false;
}

tn_status tn_frame_copy_borrowed(tn_frame *f, const tn_tensor *const *bound) {
  for (int32_t k = 0; k < f->now->plan->n_outputs; k++) {
    if (!is_copied(f, k, bound)) continue;
    const tn_status status = tn_cell_set(&f->outputs[k].copy, result(f, k));
    char name[TN_TASK_TEXT];
    if (status)
      return tn_fail(f->diag, status, "%s cannot be copied",
                     tn_frame_output_text(f, k, name, sizeof name));
  }
  return TN_OK;
}

static tn_status finish_output(tn_frame *f, int32_t k, const tn_tensor *const *all_bound) {
  tn_output *out = &f->outputs[k];
  const tn_tensor *bound = all_bound ? all_bound[k] : NULL;
  const tn_tensor *value = is_copied(f, k, all_bound) ? &out->copy.value : result(f, k);
  if (!value) return tn_fail(f->diag, TN_ERR_INTERNAL, "output %d was not computed", k);
  out->value = *value;
  if (f->has_placed && tn_frame_is_placed(f, bound)) {
    out->value.data = NULL;
    return tn_frame_finish_placed(f, k, value, bound);
  }
  if (!bound || value->data == bound->data) return TN_OK;
  if (check_bound(f, k, value, bound)) return TN_ERR_SHAPE;
  int64_t bytes = tn_storage_bytes(value);
  if (bytes > 0) memmove(bound->data, value->data, (size_t)bytes);
  out->value.data = bound->data;
  return TN_OK;
}

tn_status tn_frame_finish(tn_frame *f, const tn_tensor *const *bound) {
  for (int32_t k = 0; k < f->now->plan->n_outputs; k++) {
    tn_status status = finish_output(f, k, bound);
    if (status) return status;
  }
  return TN_OK;
}
