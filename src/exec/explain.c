/* What a session's plan holds, in one row of steps: those of the main plan, each followed by the
 * element-wise steps that run on its ranges and by those of its subgraphs as they last ran; then
 * the part that is planned at run time. */
#include "base/abi.h"
#include "exec/device_frame.h"
#include "exec/model.h"
#include "exec/session.h"
#include "plan/memory/arrange.h"

typedef struct tn_walk {
  int32_t n;           /* steps seen */
  int32_t index;       /* stop at this one; -1: at none */
  const tn_step *step; /* stop at this one; NULL: at none */
  tn_task *task;       /* where the walk stopped; NULL: it did not */
  uint32_t depth;
  int32_t leader; /* of that task; -1: it follows none */
  tn_plan_info sum;
} tn_walk;

static bool visit(tn_walk *w, tn_task *task, uint32_t depth) {
  if (w->n++ != w->index && task->step != w->step) return false;
  w->task = task;
  w->depth = depth;
  return true;
}

static void add_devices(tn_plan_info *sum, const tn_device_plan *d) {
  if (!d) return;
  sum->n_segments += (uint32_t)d->n_segments;
  sum->n_waits += (uint32_t)d->n_waits;
  sum->device_const_bytes += d->const_bytes;
  for (uint32_t k = 0; k < d->n_devices; k++) sum->device_bytes += d->arena_bytes[k];
}

static void add_plan(tn_plan_info *sum, const tn_plan *plan) {
  sum->arena_bytes += plan->arena_bytes;
  sum->arena_bound_bytes += plan->arena_bound_bytes;
  sum->scratch_bytes += plan->scratch_bytes;
  sum->state_bytes += plan->state_bytes;
  sum->const_bytes += plan->const_bytes;
  add_devices(sum, plan->devices);
  sum->cost_ns += plan->cost_ns;
  sum->flops += plan->flops;
}

/* What a run copies in step k of the plan, in this direction; not what lies on the device
 * already. */
static uint64_t copied_bytes(const tn_setup *s, int32_t k, tn_direction direction) {
  const tn_step *step = &s->plan->steps[k];
  const bool is_it = step->device && step->device->direction == direction && direction;
  const bool is_there = s->devices && s->devices->now && s->devices->now->to[k];
  return is_it && !is_there ? tn_transfer_bytes(&s->plan->slots[step->node->node.outputs[0]]) : 0;
}

static void add_transfers(tn_plan_info *sum, const tn_setup *s) {
  for (int32_t k = 0; s->plan->devices && k < s->plan->n_steps; k++) {
    sum->up_bytes += copied_bytes(s, k, TN_UPLOAD);
    sum->down_bytes += copied_bytes(s, k, TN_DOWNLOAD);
  }
}

static bool walk_frame(tn_walk *w, const tn_frame *f, uint32_t depth);

static bool walk_task(tn_walk *w, tn_task *task, uint32_t depth) {
  int32_t index = w->n;
  w->leader = -1;
  if (visit(w, task, depth)) return true;
  w->leader = index;
  for (uint32_t k = 0; task->followers && k < task->step->n_followers; k++)
    if (visit(w, &task->followers[k], depth)) return true;
  for (uint32_t k = 0; task->children && k < task->step->n_bodies; k++)
    if (task->children[k].frame && walk_frame(w, task->children[k].frame, depth + 1)) return true;
  return false;
}

static bool walk_frame(tn_walk *w, const tn_frame *f, uint32_t depth) {
  const tn_setup *s = f->now;
  if (!s) return false;
  add_plan(&w->sum, s->plan);
  add_transfers(&w->sum, s);
  for (int32_t k = 0; k < s->plan->n_steps; k++)
    if (walk_task(w, &s->tasks[k], depth)) return true;
  return s->continuation && walk_frame(w, s->continuation, depth + 1);
}

/* ---- one step ---- */

/* Names of the candidates, then the reasons; made when first asked for. */
static const char *const *refusals(tn_task *t) {
  uint32_t n = t->step->choice->n_refusals;
  if (!n || t->refusals) return t->refusals;
  const char **texts = tn_arena_alloc(&t->frame->now->memory, 2 * (uint64_t)n * sizeof *texts);
  for (uint32_t k = 0; texts && k < n; k++) {
    texts[k] = t->step->choice->refusals[k].kernel;
    texts[n + k] = t->step->choice->refusals[k].reason;
  }
  return t->refusals = texts;
}

static const char *device_name(const tn_task *t) {
  if (t->step->node->island) return t->step->node->island->loaded->accelerator->name;
  const tn_device_step *d = t->step->device;
  return d ? t->frame->planner->devices[d->device - 1]->name : t->step->choice->def->kernel.device;
}

/* What runs an island: the module of a compiler. */
static void describe_island(const tn_step *step, tn_step_info *out) {
  const tn_module_file *file = &step->node->island->loaded->file;
  out->kernel = file->compiler;
  out->plugin = file->plugin;
  out->island_nodes = (uint32_t)step->node->island->n_nodes;
}

static void describe(const tn_walk *w, tn_step_info *out) {
  tn_task *t = w->task;
  const tn_step *step = t->step;
  const tn_kernel *kernel = &step->choice->def->kernel;
  *out = (tn_step_info){
      .head = TN_HEAD(tn_step_info),
      .node = step->node->node.name,
      .op = step->node->node.op,
      .kernel = kernel->name,
      .device = device_name(t),
      .plugin = step->choice->def->owner ? step->choice->def->owner->name : "",
      .n_inputs = step->node->node.n_inputs,
      .n_outputs = step->node->node.n_outputs,
      .inputs = t->call.inputs,
      .outputs = (const tn_tensor *const *)t->call.outputs,
      .cost_ns = step->choice->cost_ns,
      .flops = step->choice->flops,
      .scratch_bytes = t->call.scratch_bytes + t->call.worker_scratch_bytes * t->call.n_workers,
      .state_bytes = step->choice->plan.state_bytes,
      .n_stages = step->choice->plan.n_stages,
      .epilogue = step->node->epilogue_names,
      .n_epilogue = step->node->epilogue_names ? step->node->n_epilogue : 0,
      .depth = w->depth,
      .leader = w->leader,
      .segment = step->device ? step->device->segment : -1};
  if (step->node->island) describe_island(step, out);
  if (step->device) {
    const tn_setup *s = t->frame->now;
    out->up_bytes = copied_bytes(s, (int32_t)(step - s->plan->steps), TN_UPLOAD);
    out->down_bytes = copied_bytes(s, (int32_t)(step - s->plan->steps), TN_DOWNLOAD);
  }
  const char *const *texts = refusals(t);
  if (!texts) return;
  out->n_refusals = step->choice->n_refusals;
  out->refused_kernels = texts;
  out->refusals = texts + step->choice->n_refusals;
}

/* ---- tenon.h ---- */

tn_status tn_session_output_type(const tn_session *session, int32_t index, tn_tensor *out_type) {
  if (!session || !out_type) return TN_ERR_INVALID;
  if (!session->frame->now) return TN_ERR_STATE;
  const tn_plan *plan = session->frame->now->plan;
  if (index < 0 || index >= session->n_outputs) return TN_ERR_NOT_FOUND;
  const bool later = plan->continuation && plan->continuation_outputs[index] >= 0;
  const tn_graph *rest = later ? plan->continuation->graph : NULL;
  return tn_type_give(
      later ? tn_graph_val(rest, rest->outputs.data[plan->continuation_outputs[index]])->type
            : plan->slots[plan->outputs[index]].type,
      out_type);
}

tn_status tn_session_plan(const tn_session *session, tn_plan_info *out_info) {
  if (!session || !out_info) return TN_ERR_INVALID;
  if (!session->frame->now) return TN_ERR_STATE;
  tn_walk w = {.index = -1};
  walk_frame(&w, session->frame, 0);
  w.sum.n_steps = w.n;
  const tn_planner *p = session->frame->planner;
  w.sum.n_devices = p->n_devices;
  for (uint32_t k = 0; k < p->n_devices; k++) {
    w.sum.n_programs_built += atomic_load(&p->devices[k]->n_built);
    w.sum.n_programs_cached += atomic_load(&p->devices[k]->n_cached);
  }
  return tn_struct_out(out_info, &w.sum, sizeof w.sum);
}

tn_status tn_session_step(const tn_session *session, int32_t index, tn_step_info *out_info) {
  if (!session || !out_info) return TN_ERR_INVALID;
  if (!session->frame->now) return TN_ERR_STATE;
  tn_walk w = {.index = index};
  if (index < 0 || !walk_frame(&w, session->frame, 0)) return TN_ERR_NOT_FOUND;
  tn_step_info info;
  describe(&w, &info);
  return tn_struct_out(out_info, &info, sizeof info);
}

tn_status tn_session_event(const tn_session *session, int64_t index, tn_profile_event *out_event) {
  if (!session || !out_event) return TN_ERR_INVALID;
  if (index < 0 || index >= session->profile.events.n) return TN_ERR_NOT_FOUND;
  const tn_event *e = &session->profile.events.data[index];
  tn_walk w = {.index = -1, .step = e->step};
  tn_profile_event event = {.head = TN_HEAD(tn_profile_event),
                            .step = -1,
                            .run = e->run,
                            .begin_ns = e->begin_ns,
                            .end_ns = e->end_ns,
                            .node = e->step->node->node.name,
                            .op = e->step->node->node.op,
                            .kernel = e->step->choice->def->kernel.name,
                            .followers = e->step->follower_ops,
                            .n_followers = e->step->n_followers};
  if (walk_frame(&w, session->frame, 0)) event.step = w.n - 1; /* -1: of a plan that is gone */
  return tn_struct_out(out_event, &event, sizeof event);
}
