/* From a plan to a frame: each slot gets a tensor with a pointer, each step a filled tn_call.
 *
 * Calls point to the tensors of slots, one tensor per slot, so that moving a value (an input at
 * a new address, an output in the user's memory, a shape found at run time) is one store that
 * all readers see. */
#include <string.h>

#include "base/pages.h"
#include "exec/bindings.h"
#include "exec/device_frame.h"

/* ---- memory ---- */

static uint64_t max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

static uint64_t worker_scratch_unit(const tn_step *step) {
  return tn_round_up(step->choice->plan.worker_scratch_bytes, 64);
}

static uint32_t n_workers(const tn_frame *f) {
  return f->pool ? (uint32_t)tn_pool_n_threads(f->pool) : 1;
}

/* What slots and steps reach up to; the plan's own sum may say less, never more. */
static uint64_t arena_need(const tn_frame *f, const tn_plan *plan) {
  uint64_t need = plan->arena_bytes;
  for (int32_t k = 0; k < plan->n_slots; k++) {
    const tn_slot *slot = &plan->slots[k];
    if (slot->place != TN_PLACE_ARENA || slot->device) continue;
    need = max_u64(need, slot->offset + (uint64_t)tn_max_i64(tn_storage_bytes(slot->type), 0));
  }
  for (int32_t k = 0; k < plan->n_steps; k++) {
    const tn_step *step = &plan->steps[k];
    if (step->device) continue;
    need = max_u64(need, step->scratch_offset + step->choice->plan.scratch_bytes);
    need = max_u64(need, step->worker_scratch_offset + worker_scratch_unit(step) * n_workers(f));
  }
  return need;
}

static tn_status grow_arena(tn_frame *f, uint64_t need) {
  tn_block *arena = f->arena;
  if (arena->data && need <= arena->bytes) return TN_OK;
  tn_free(f->a, arena->data, arena->bytes);
  arena->bytes = 0;
  need = tn_pages_round(need); /* the first run writes to all of it */
  arena->data = tn_alloc(f->a, need);
  if (!arena->data) return TN_ERR_MEMORY;
  arena->bytes = need;
  return TN_OK;
}

static void *make(tn_setup *s, int64_t n, size_t size) {
  return tn_arena_alloc(&s->memory, (uint64_t)n * size);
}

/* ---- values ---- */

static void build_value(tn_setup *s, int32_t k) {
  const tn_plan *plan = s->plan;
  const tn_slot *slot = &plan->slots[k];
  tn_tensor *value = &s->values[k];
  int32_t root = s->root[k] = tn_root_slot(plan, k);
  *value = *slot->type;
  value->head = (tn_head)TN_HEAD(tn_tensor);
  if (slot->place == TN_PLACE_CONST && value->data) return;
  value->data = NULL; /* in the arena: see place() */
  if (plan->slots[root].place == TN_PLACE_CONST && plan->slots[root].type->data)
    value->data = (uint8_t *)plan->slots[root].type->data + slot->offset;
  if (plan->slots[root].place == TN_PLACE_INPUT) s->patched[s->n_patched++] = k;
}

static tn_status build_values(tn_setup *s) {
  int64_t n = s->plan->n_slots;
  s->values = make(s, n, sizeof *s->values);
  s->root = make(s, n, sizeof *s->root);
  s->first_alias = make(s, n, sizeof *s->first_alias);
  s->next_alias = make(s, n, sizeof *s->next_alias);
  s->patched = make(s, n, sizeof *s->patched);
  if (!s->values || !s->root || !s->first_alias || !s->next_alias || !s->patched)
    return TN_ERR_MEMORY;
  for (int32_t k = 0; k < n; k++) build_value(s, k);
  for (int32_t k = 0; k < n; k++) s->first_alias[k] = -1;
  for (int32_t k = 0; k < n; k++) {
    if (s->root[k] == k) continue;
    s->next_alias[k] = s->first_alias[s->root[k]];
    s->first_alias[s->root[k]] = k;
  }
  return TN_OK;
}

/* ---- tasks ---- */

static tn_status build_arguments(tn_setup *s, const tn_step *step, tn_call *call) {
  const tn_tensor **inputs = make(s, tn_node_entries(step->node, false), sizeof *inputs);
  tn_tensor **outputs = make(s, tn_node_entries(step->node, true), sizeof *outputs);
  if (!inputs || !outputs) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < step->node->node.n_inputs; k++)
    inputs[k] = step->node->node.inputs[k] < 0 ? NULL : &s->values[step->node->node.inputs[k]];
  for (uint32_t k = 0; k < step->node->node.n_outputs; k++)
    outputs[k] = step->node->node.outputs[k] < 0 ? NULL : &s->values[step->node->node.outputs[k]];
  call->inputs = inputs;
  call->outputs = outputs;
  call->n_inputs = step->node->node.n_inputs;
  call->n_outputs = step->node->node.n_outputs;
  return TN_OK;
}

static tn_status build_children(tn_setup *s, const tn_step *step, tn_task *task) {
  if (!step->n_bodies) return TN_OK;
  task->children = make(s, step->n_bodies, sizeof *task->children);
  if (!task->children) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < step->n_bodies; k++) {
    const tn_graph *graph = step->bodies[k].callable->graph;
    tn_child *child = &task->children[k];
    child->inputs = make(s, graph->inputs.n, sizeof *child->inputs);
    child->bound = make(s, graph->outputs.n, sizeof *child->bound);
    child->results = make(s, graph->outputs.n, sizeof *child->results);
    if (!child->inputs || !child->bound || !child->results) return TN_ERR_MEMORY;
  }
  return TN_OK;
}

static bool is_alone(const tn_step *step) {
  for (uint32_t k = 0; k < step->choice->plan.n_stages; k++)
    if (step->choice->plan.items[k] > 1) return false;
  return true;
}

/* Kernels that ship with Tenon are trusted to write to data only. */
static tn_status build_watch(tn_setup *s, const tn_step *step, tn_task *task) {
  const tn_part_owner *owner = step->choice->def ? step->choice->def->owner : NULL;
  if (!owner || owner->is_builtin || !step->node->node.n_outputs) return TN_OK;
  task->seen = make(s, step->node->node.n_outputs, sizeof *task->seen);
  return task->seen ? TN_OK : TN_ERR_MEMORY;
}

static bool is_dynamic(const tn_setup *s, const tn_step *step) {
  for (uint32_t k = 0; k < step->node->node.n_outputs; k++)
    if (step->node->node.outputs[k] >= 0 &&
        s->plan->slots[s->root[step->node->node.outputs[k]]].place == TN_PLACE_DYNAMIC)
      return true;
  return false;
}

static const tn_device_info *device_info(const tn_frame *f, const tn_step *step) {
  return step->device ? &f->planner->devices[step->device->device - 1]->info : NULL;
}

static tn_status build_task(tn_frame *f, tn_setup *s, const tn_step *step, tn_task *task) {
  task->frame = f;
  task->step = step;
  task->alone = is_alone(step);
  task->dynamic = is_dynamic(s, step);
  task->call = (tn_call){
      .head = TN_HEAD(tn_call),
      .host = &tn_exec_host,
      .ctx = task,
      .self = step->choice->def && step->choice->def->owner ? step->choice->def->owner->self : NULL,
      .attrs = step->node->attrs,
      .version = step->node->node.version,
      .n_workers = n_workers(f),
      .epilogue = step->node->epilogue,
      .n_epilogue = step->node->n_epilogue,
      .regions = step->node->regions,
      .n_regions = step->node->n_regions,
      .region_fill = step->node->region_fill,
      .isa = f->planner->isa,
      .state = step->state,
      .state_bytes = step->choice->plan.state_bytes,
      .scratch_bytes = step->choice->plan.scratch_bytes,
      .worker_scratch_bytes = worker_scratch_unit(step),
      .device = device_info(f, step)};
  tn_status status = build_arguments(s, step, &task->call);
  if (!status) status = build_children(s, step, task);
  if (!status) status = build_watch(s, step, task);
  if (status || !step->n_followers) return status;
  task->followers = make(s, step->n_followers, sizeof *task->followers);
  if (!task->followers) return TN_ERR_MEMORY;
  for (uint32_t k = 0; !status && k < step->n_followers; k++)
    status = build_task(f, s, &step->followers[k], &task->followers[k]);
  return status;
}

static tn_status build_tasks(tn_frame *f, tn_setup *s) {
  s->tasks = make(s, s->plan->n_steps, sizeof *s->tasks);
  if (!s->tasks) return TN_ERR_MEMORY;
  for (int32_t k = 0; k < s->plan->n_steps; k++)
    if (build_task(f, s, &s->plan->steps[k], &s->tasks[k])) return TN_ERR_MEMORY;
  return TN_OK;
}

/* ---- outputs and the continuation ---- */

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

static tn_status build_outputs(tn_frame *f, tn_setup *s) {
  int32_t n = s->plan->n_outputs;
  s->bindings = make(s, n, sizeof *s->bindings);
  s->extents = make(s, (int64_t)s->plan->n_inputs + n, sizeof *s->extents);
  if (!s->bindings || !s->extents) return TN_ERR_MEMORY;
  const uint64_t uses_bytes = (uint64_t)s->plan->n_slots * sizeof(tn_use);
  tn_use *uses = tn_alloc(f->a, uses_bytes);
  if (!uses) return TN_ERR_MEMORY;
  tn_uses_note(s->plan, s->root, uses);
  for (int32_t k = 0; k < n; k++) s->bindings[k] = tn_output_binding_of(s->plan, s->root, uses, k);
  tn_free(f->a, uses, uses_bytes);
  return build_output_room(f, n);
}

static tn_status build_continuation(tn_frame *f, tn_setup *s) {
  const tn_plan *plan = s->plan;
  if (!plan->continuation) return TN_OK;
  s->continuation_inputs = make(s, plan->n_continuation_inputs, sizeof *s->continuation_inputs);
  s->continuation_bound =
      make(s, plan->continuation->graph->outputs.n, sizeof *s->continuation_bound);
  if (!s->continuation_inputs || !s->continuation_bound) return TN_ERR_MEMORY;
  for (int32_t k = 0; k < plan->n_continuation_inputs; k++)
    s->continuation_inputs[k] = &s->values[plan->continuation_inputs[k]];
  return tn_frame_create_in(f, f->a, f->pool, f->planner, plan->continuation, &s->continuation);
}

static tn_status build_beside(tn_setup *s) {
  if (!s->plan->n_beside) return TN_OK;
  s->under_way = make(s, s->plan->n_beside, sizeof *s->under_way);
  return s->under_way ? TN_OK : TN_ERR_MEMORY;
}

/* ---- pointers into the arena ---- */

static void place_scratch(const tn_setup *s, tn_task *task) {
  const tn_step *step = task->step;
  tn_call *call = &task->call;
  if (call->scratch_bytes) call->scratch = (uint8_t *)s->arena + step->scratch_offset;
  if (call->worker_scratch_bytes)
    call->worker_scratch = (uint8_t *)s->arena + step->worker_scratch_offset;
  for (uint32_t k = 0; k < step->n_followers; k++) place_scratch(s, &task->followers[k]);
}

/* The arena moves when a plan needs more than those before it. */
static tn_status place(tn_frame *f, tn_setup *s) {
  const tn_plan *plan = s->plan;
  tn_status status = grow_arena(f, s->arena_need);
  if (status || s->arena == f->arena->data) return status;
  s->arena = f->arena->data;
  for (int32_t k = 0; k < plan->n_slots; k++)
    if (plan->slots[s->root[k]].place == TN_PLACE_ARENA && !plan->slots[k].device)
      s->values[k].data = (uint8_t *)s->arena + plan->slots[k].offset;
  for (int32_t k = 0; k < plan->n_steps; k++)
    if (!plan->steps[k].device) place_scratch(s, &s->tasks[k]);
  for (int32_t k = 0; k < plan->n_outputs; k++) s->bindings[k].bound = false;
  return TN_OK;
}

/* ---- the whole ---- */

static void drop(tn_frame *f, tn_setup *s) {
  for (int32_t k = 0; s->tasks && k < s->plan->n_steps; k++) {
    tn_task *task = &s->tasks[k];
    for (uint32_t g = 0; task->children && g < task->step->n_bodies; g++)
      tn_child_clear(&task->children[g]);
  }
  tn_frame_destroy(s->continuation);
  if (!tn_device_setup_close(f, s)) return; /* it is left to the device, for good */
  tn_arena_clear(&s->memory);
  if (f->callable) tn_plan_release(s->plan);
  tn_free(f->a, s, sizeof *s);
}

void tn_frame_forget(tn_frame *f) {
  f->now = NULL;
  f->ran = false;
  while (f->setups.n) drop(f, f->setups.data[--f->setups.n]);
}

/* The setup at the end of the list, empty. */
static tn_setup *setup_new(tn_frame *f) {
  if (f->setups.n >= tn_planner_max_plans(f->planner)) {
    drop(f, f->setups.data[0]);
    f->setups.n--;
    memmove(f->setups.data, f->setups.data + 1, (size_t)f->setups.n * sizeof *f->setups.data);
  }
  tn_setup *s = tn_vec_room(f->a, &f->setups, 1) ? NULL : tn_alloc(f->a, sizeof *s);
  if (!s) return NULL;
  tn_arena_init(&s->memory, f->a);
  return f->setups.data[f->setups.n++] = s;
}

static tn_status build(tn_frame *f, tn_setup *s, tn_diag *diag) {
  s->arena_need = arena_need(f, s->plan);
  tn_status status = tn_frame_open_cells(f, s->plan);
  if (!status) status = build_values(s);
  if (!status) status = build_outputs(f, s);
  if (!status) status = build_tasks(f, s);
  if (!status) status = build_continuation(f, s);
  if (!status) status = build_beside(s);
  if (!status) status = place(f, s);
  return status ? status : tn_device_setup_place(f, s, diag);
}

tn_status tn_frame_build_take(tn_frame *f, tn_plan *plan, tn_diag *diag) {
  f->now = NULL;
  f->ran = false;
  tn_setup *s = setup_new(f);
  if (!s) {
    if (f->callable) tn_plan_release(plan);
    return TN_ERR_MEMORY;
  }
  s->plan = plan;
  tn_status status = build(f, s, diag);
  if (status)
    drop(f, f->setups.data[--f->setups.n]);
  else
    f->now = s;
  return status;
}

tn_status tn_frame_reuse(tn_frame *f, tn_setup *s, tn_diag *diag) {
  f->now = NULL;
  tn_status status = place(f, s);
  if (!status) status = tn_device_setup_place(f, s, diag);
  if (!status) f->now = s;
  return status;
}
