/* From a plan to a frame: each slot gets a tensor with a pointer, each step a filled tn_call.
 *
 * Calls point to the tensors of slots, one tensor per slot, so that moving a value (an input at
 * a new address, an output in the user's memory, a shape found at run time) is one store that
 * all readers see. */
#include <string.h>

#include "exec/frame.h"

/* ---- memory ---- */

static uint64_t max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

static uint64_t worker_scratch_unit(const tn_step *step) {
  return tn_round_up(step->plan.worker_scratch_bytes, 64);
}

static uint32_t n_workers(const tn_frame *f) {
  return f->pool ? (uint32_t)tn_pool_n_threads(f->pool) : 1;
}

/* What slots and steps reach up to; the plan's own sum may say less, never more. */
static uint64_t arena_need(const tn_frame *f, const tn_plan *plan) {
  uint64_t need = plan->arena_bytes;
  for (int32_t k = 0; k < plan->n_slots; k++) {
    const tn_slot *slot = &plan->slots[k];
    if (slot->place != TN_PLACE_ARENA) continue;
    need = max_u64(need, slot->offset + (uint64_t)tn_max_i64(tn_storage_bytes(&slot->type), 0));
  }
  for (int32_t k = 0; k < plan->n_steps; k++) {
    const tn_step *step = &plan->steps[k];
    need = max_u64(need, step->scratch_offset + step->plan.scratch_bytes);
    need = max_u64(need, step->worker_scratch_offset + worker_scratch_unit(step) * n_workers(f));
  }
  return need;
}

static tn_status build_arena(tn_frame *f, const tn_plan *plan) {
  uint64_t need = arena_need(f, plan);
  if (f->arena && need <= f->arena_bytes) return TN_OK;
  tn_free(f->a, f->arena, f->arena_bytes);
  f->arena_bytes = 0;
  f->arena = tn_alloc(f->a, need);
  if (!f->arena) return TN_ERR_MEMORY;
  f->arena_bytes = need;
  return TN_OK;
}

static tn_status build_cells(tn_frame *f, const tn_plan *plan) {
  while (f->cells.n < plan->n_dynamic) {
    tn_cell *cell = tn_cell_new(f->a);
    if (!cell) return TN_ERR_MEMORY;
    if (tn_vec_push(f->a, &f->cells, cell)) {
      tn_cell_free(cell);
      return TN_ERR_MEMORY;
    }
  }
  return TN_OK;
}

static void *make(tn_frame *f, int64_t n, size_t size) {
  return tn_arena_alloc(&f->memory, (uint64_t)n * size);
}

/* ---- values ---- */

static int32_t root_of(const tn_plan *plan, int32_t slot) {
  while (plan->slots[slot].alias_of >= 0) slot = plan->slots[slot].alias_of;
  return slot;
}

static void build_value(tn_frame *f, const tn_plan *plan, int32_t k) {
  const tn_slot *slot = &plan->slots[k];
  tn_tensor *value = &f->values[k];
  int32_t root = f->root[k] = root_of(plan, k);
  *value = slot->type;
  value->head = (tn_head)TN_HEAD(tn_tensor);
  if (slot->place == TN_PLACE_CONST && value->data) return;
  value->data = NULL;
  if (plan->slots[root].place == TN_PLACE_ARENA) value->data = (uint8_t *)f->arena + slot->offset;
  if (plan->slots[root].place == TN_PLACE_CONST && plan->slots[root].type.data)
    value->data = (uint8_t *)plan->slots[root].type.data + slot->offset;
  if (plan->slots[root].place == TN_PLACE_INPUT) f->patched[f->n_patched++] = k;
}

static tn_status build_values(tn_frame *f, const tn_plan *plan) {
  int64_t n = plan->n_slots;
  f->values = make(f, n, sizeof *f->values);
  f->root = make(f, n, sizeof *f->root);
  f->first_alias = make(f, n, sizeof *f->first_alias);
  f->next_alias = make(f, n, sizeof *f->next_alias);
  f->patched = make(f, n, sizeof *f->patched);
  if (!f->values || !f->root || !f->first_alias || !f->next_alias || !f->patched)
    return TN_ERR_MEMORY;
  f->n_patched = 0;
  for (int32_t k = 0; k < n; k++) build_value(f, plan, k);
  for (int32_t k = 0; k < n; k++) f->first_alias[k] = -1;
  for (int32_t k = 0; k < n; k++) {
    if (f->root[k] == k) continue;
    f->next_alias[k] = f->first_alias[f->root[k]];
    f->first_alias[f->root[k]] = k;
  }
  return TN_OK;
}

/* ---- tasks ---- */

static tn_status build_arguments(tn_frame *f, const tn_step *step, tn_call *call) {
  const tn_tensor **inputs = make(f, step->in_entries, sizeof *inputs);
  tn_tensor **outputs = make(f, step->out_entries, sizeof *outputs);
  if (!inputs || !outputs) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < step->n_inputs; k++)
    inputs[k] = step->inputs[k] < 0 ? NULL : &f->values[step->inputs[k]];
  for (uint32_t k = 0; k < step->n_outputs; k++)
    outputs[k] = step->outputs[k] < 0 ? NULL : &f->values[step->outputs[k]];
  call->inputs = inputs;
  call->outputs = outputs;
  call->n_inputs = step->n_inputs;
  call->n_outputs = step->n_outputs;
  return TN_OK;
}

static void build_scratch(const tn_frame *f, const tn_step *step, tn_call *call) {
  call->state = step->state;
  call->state_bytes = step->plan.state_bytes;
  call->scratch_bytes = step->plan.scratch_bytes;
  call->worker_scratch_bytes = worker_scratch_unit(step);
  if (call->scratch_bytes) call->scratch = (uint8_t *)f->arena + step->scratch_offset;
  if (call->worker_scratch_bytes)
    call->worker_scratch = (uint8_t *)f->arena + step->worker_scratch_offset;
}

static tn_status build_children(tn_frame *f, const tn_step *step, tn_task *task) {
  if (!step->n_subgraphs) return TN_OK;
  task->children = make(f, step->n_subgraphs, sizeof *task->children);
  if (!task->children) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < step->n_subgraphs; k++) {
    const tn_graph *graph = step->subgraphs[k]->graph;
    tn_child *child = &task->children[k];
    child->inputs = make(f, graph->inputs.n, sizeof *child->inputs);
    child->bound = make(f, graph->outputs.n, sizeof *child->bound);
    child->results = make(f, graph->outputs.n, sizeof *child->results);
    if (!child->inputs || !child->bound || !child->results) return TN_ERR_MEMORY;
  }
  return TN_OK;
}

static bool is_alone(const tn_step *step) {
  for (uint32_t k = 0; k < step->plan.n_stages; k++)
    if (step->plan.items[k] > 1) return false;
  return true;
}

static bool is_dynamic(const tn_frame *f, const tn_plan *plan, const tn_step *step) {
  for (uint32_t k = 0; k < step->n_outputs; k++)
    if (step->outputs[k] >= 0 && plan->slots[f->root[step->outputs[k]]].place == TN_PLACE_DYNAMIC)
      return true;
  return false;
}

static tn_status build_task(tn_frame *f, const tn_plan *plan, const tn_step *step, tn_task *task) {
  task->frame = f;
  task->step = step;
  task->alone = is_alone(step);
  task->dynamic = is_dynamic(f, plan, step);
  task->call = (tn_call){.head = TN_HEAD(tn_call),
                         .host = &tn_exec_host,
                         .ctx = task,
                         .self = step->def && step->def->owner ? step->def->owner->self : NULL,
                         .attrs = step->attrs,
                         .version = step->version,
                         .n_workers = n_workers(f),
                         .epilogue = step->epilogue,
                         .n_epilogue = step->n_epilogue,
                         .regions = step->regions,
                         .n_regions = step->n_regions,
                         .region_fill = step->region_fill,
                         .isa = f->planner->isa};
  build_scratch(f, step, &task->call);
  tn_status status = build_arguments(f, step, &task->call);
  if (!status) status = build_children(f, step, task);
  if (status || !step->n_followers) return status;
  task->followers = make(f, step->n_followers, sizeof *task->followers);
  if (!task->followers) return TN_ERR_MEMORY;
  for (uint32_t k = 0; !status && k < step->n_followers; k++)
    status = build_task(f, plan, &step->followers[k], &task->followers[k]);
  return status;
}

static tn_status build_tasks(tn_frame *f, const tn_plan *plan) {
  f->tasks = make(f, plan->n_steps, sizeof *f->tasks);
  if (!f->tasks) return TN_ERR_MEMORY;
  for (int32_t k = 0; k < plan->n_steps; k++)
    if (build_task(f, plan, &plan->steps[k], &f->tasks[k])) return TN_ERR_MEMORY;
  return TN_OK;
}

/* ---- outputs and the tail ---- */

static tn_status build_output_room(tn_frame *f, int32_t n) {
  if (f->n_outputs >= n) return TN_OK;
  tn_output *outputs = tn_alloc(f->a, (uint64_t)n * sizeof *outputs);
  if (!outputs) return TN_ERR_MEMORY;
  for (int32_t k = 0; k < f->n_outputs; k++) tn_cell_clear(&f->outputs[k].copy);
  tn_free(f->a, f->outputs, (uint64_t)f->n_outputs * sizeof *outputs);
  for (int32_t k = 0; k < n; k++) tn_cell_init(&outputs[k].copy, f->a);
  f->outputs = outputs;
  f->n_outputs = n;
  return TN_OK;
}

/* The user's memory can stand in for a plain tensor that has arena memory of its own. */
static bool is_bindable(const tn_plan *plan, int32_t k) {
  if (plan->tail && plan->tail_outputs[k] >= 0) return false;
  for (int32_t j = 0; j < k; j++)
    if (plan->outputs[j] == plan->outputs[k]) return false;
  const tn_slot *slot = &plan->slots[plan->outputs[k]];
  return slot->place == TN_PLACE_ARENA && slot->alias_of < 0 && slot->type.layout == TN_PLAIN &&
         slot->type.kind == TN_KIND_TENSOR && slot->type.dtype != TN_STRING;
}

static tn_status build_outputs(tn_frame *f, const tn_plan *plan) {
  tn_status status = build_output_room(f, plan->n_outputs);
  for (int32_t k = 0; !status && k < plan->n_outputs; k++) {
    f->outputs[k].bindable = is_bindable(plan, k);
    f->outputs[k].bound = false;
  }
  return status;
}

static tn_status build_tail(tn_frame *f, const tn_plan *plan) {
  if (!plan->tail) return TN_OK;
  f->tail_inputs = make(f, plan->n_tail_inputs, sizeof *f->tail_inputs);
  f->tail_bound = make(f, plan->tail->graph->outputs.n, sizeof *f->tail_bound);
  if (!f->tail_inputs || !f->tail_bound) return TN_ERR_MEMORY;
  for (int32_t k = 0; k < plan->n_tail_inputs; k++)
    f->tail_inputs[k] = &f->values[plan->tail_inputs[k]];
  return tn_frame_create_for(f->a, f->pool, f->planner, plan->tail, &f->tail);
}

/* ---- the whole ---- */

void tn_frame_forget(tn_frame *f) {
  for (int32_t k = 0; f->plan && f->tasks && k < f->plan->n_steps; k++) {
    tn_task *task = &f->tasks[k];
    for (uint32_t g = 0; task->children && g < task->step->n_subgraphs; g++)
      tn_child_clear(&task->children[g]);
  }
  tn_frame_destroy(f->tail);
  f->tail = NULL;
  f->tasks = NULL;
  f->values = NULL;
  f->ran = false;
  tn_arena_clear(&f->memory);
  if (f->plan && f->callable) tn_plan_release(f->plan);
  f->plan = NULL;
}

tn_status tn_frame_build_take(tn_frame *f, tn_plan *plan) {
  tn_frame_forget(f);
  f->plan = plan;
  tn_status status = build_arena(f, plan);
  if (!status) status = build_cells(f, plan);
  if (!status) status = build_values(f, plan);
  if (!status) status = build_tasks(f, plan);
  if (!status) status = build_outputs(f, plan);
  if (!status) status = build_tail(f, plan);
  if (status) tn_frame_forget(f);
  return status;
}
