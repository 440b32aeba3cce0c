/* Blocks of the arena: where they lie, and from which step to which they are needed. */
#include "report.h"
#include "tenon/kit/tensor.h"

typedef struct live {
  int32_t first, last; /* steps of the main plan; first -1: nothing uses it */
} live;

static void use(const tn_plan *plan, live *lives, const int32_t *ids, uint32_t n, int32_t at) {
  for (uint32_t k = 0; k < n; k++) {
    if (ids[k] < 0) continue;
    live *l = &lives[tn_root_slot(plan, ids[k])];
    if (l->first < 0) l->first = at;
    l->last = at;
  }
}

static void use_step(const tn_plan *plan, live *lives, const tn_step *step, int32_t at) {
  const tn_node *node = &step->node->node;
  use(plan, lives, node->inputs, node->n_inputs, at);
  use(plan, lives, node->outputs, node->n_outputs, at);
  for (uint32_t k = 0; k < step->n_followers; k++) use_step(plan, lives, &step->followers[k], at);
}

static live *find_lives(report *r, const tn_plan *plan) {
  live *lives = tn_arena_alloc(&r->arena, (uint64_t)(plan->n_slots + 1) * sizeof *lives);
  if (!lives) {
    r->status = TN_ERR_MEMORY;
    return NULL;
  }
  for (int32_t k = 0; k < plan->n_slots; k++) lives[k] = (live){-1, -1};
  for (int32_t k = 0; k < plan->n_steps; k++) use_step(plan, lives, &plan->steps[k], k);
  const uint32_t end = plan->n_steps > 0 ? (uint32_t)plan->n_steps - 1 : 0;
  use(plan, lives, plan->outputs, (uint32_t)plan->n_outputs, (int32_t)end);
  return lives;
}

/* [offset, bytes, first, last, name, device] */
static void put(cli_json *blocks, uint64_t offset, uint64_t bytes, live l, const char *name,
                uint32_t device) {
  if (!bytes) return;
  cli_json *b = cli_json_array(blocks, NULL);
  cli_json_int(b, NULL, (int64_t)offset);
  cli_json_int(b, NULL, (int64_t)bytes);
  cli_json_int(b, NULL, l.first);
  cli_json_int(b, NULL, l.last);
  cli_json_text(b, NULL, name);
  cli_json_int(b, NULL, device);
}

static void put_scratch(cli_json *blocks, const report_frame *f) {
  for (int32_t k = 0; k < f->setup->plan->n_steps; k++) {
    const tn_step *step = &f->setup->plan->steps[k];
    const tn_call *call = &f->setup->tasks[k].call;
    put(blocks, step->scratch_offset, call->scratch_bytes, (live){k, k}, "scratch", 0);
    put(blocks, step->worker_scratch_offset, call->worker_scratch_bytes * call->n_workers,
        (live){k, k}, "scratch of threads", 0);
  }
}

/* The main plan's; those of bodies and of what is planned at run time have arenas of their own. */
void report_memory(report *r, cli_json *to) {
  const tn_plan *plan = r->frames.data[0].setup->plan;
  const live *lives = find_lives(r, plan);
  cli_json *o = cli_json_object(to, "arena");
  cli_json *steps = cli_json_array(o, "steps"); /* number of each in the list of all */
  for (int32_t k = 0; k < plan->n_steps; k++)
    cli_json_int(steps, NULL, report_step_index(r, &plan->steps[k]));
  cli_json_int(o, "bytes", (int64_t)plan->arena_bytes);
  cli_json_int(o, "bound", (int64_t)plan->arena_bound_bytes);
  cli_json *blocks = cli_json_array(o, "blocks");
  for (int32_t k = 0; lives && k < plan->n_slots; k++) {
    const tn_slot *s = &plan->slots[k];
    if (s->place != TN_PLACE_ARENA || tn_root_slot(plan, k) != k || lives[k].first < 0) continue;
    const int64_t bytes = tn_storage_bytes(s->type);
    put(blocks, s->offset, bytes > 0 ? (uint64_t)bytes : 0, lives[k], s->name, s->device);
  }
  put_scratch(blocks, &r->frames.data[0]);
}
