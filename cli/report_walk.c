/* The plans that a session has run: the main one, its bodies as they ran last, its rest that was
 * planned at run time. Steps are numbered as tn_session_step does. */
#include "report.h"

/* -1: the node is not of this graph. */
static int64_t node_in(const tn_graph *g, const tn_gnode *node) {
  const uintptr_t at = (uintptr_t)node, first = (uintptr_t)g->nodes.data;
  const bool is_there = at >= first && at < (uintptr_t)(g->nodes.data + g->nodes.n);
  return is_there ? node - g->nodes.data : -1;
}

static void see_task(report *r, report_frame *f, const tn_task *task) {
  const int64_t node = node_in(f->setup->plan->graph, task->step->node);
  if (node >= 0) f->node_steps[node] = (int32_t)r->tasks.n;
  if (tn_vec_push(tn_default_allocator(), &r->tasks, ((report_task){task, 0})))
    r->status = TN_ERR_MEMORY;
}

static report_frame *see_frame(report *r, const tn_frame *frame, int32_t parent,
                               const tn_gnode *owner, int32_t body) {
  report_frame f = {.setup = frame->now, .parent = parent, .owner = owner, .capture_of = body};
  const tn_graph *g = frame->now->plan->graph;
  f.node_steps = tn_arena_alloc(&r->arena, (uint64_t)(g->nodes.n + 1) * sizeof *f.node_steps);
  f.values = tn_arena_alloc(&r->arena, (uint64_t)(g->values.n + 1) * sizeof *f.values);
  if (!f.node_steps || !f.values || tn_vec_push(tn_default_allocator(), &r->frames, f)) {
    r->status = TN_ERR_MEMORY;
    return NULL;
  }
  for (int64_t k = 0; k < g->nodes.n; k++) f.node_steps[k] = -1;
  for (int64_t k = 0; k < g->values.n; k++) f.values[k] = -1;
  return &r->frames.data[r->frames.n - 1];
}

static void walk(report *r, const tn_frame *frame, int32_t parent, const tn_gnode *owner,
                 int32_t body) {
  report_frame *f = frame->now ? see_frame(r, frame, parent, owner, body) : NULL;
  if (!f) return;
  const int32_t self = (int32_t)r->frames.n - 1;
  const tn_setup *s = f->setup;
  for (int32_t k = 0; k < s->plan->n_steps; k++) {
    const tn_task *task = &s->tasks[k];
    see_task(r, &r->frames.data[self], task);
    for (uint32_t i = 0; task->followers && i < task->step->n_followers; i++)
      see_task(r, &r->frames.data[self], &task->followers[i]);
    for (uint32_t i = 0; task->children && i < task->step->n_bodies; i++)
      if (task->children[i].frame)
        walk(r, task->children[i].frame, self, task->step->node, (int32_t)i);
  }
  if (s->continuation) walk(r, s->continuation, self, NULL, 0);
}

tn_status report_walk(report *r) {
  walk(r, r->session.session->frame, -1, NULL, 0);
  return r->status;
}

int32_t report_step_index(const report *r, const tn_step *step) {
  for (int64_t k = 0; k < r->frames.n; k++) {
    const report_frame *f = &r->frames.data[k];
    const int64_t node = node_in(f->setup->plan->graph, step->node);
    if (node >= 0) return f->node_steps[node];
  }
  return -1;
}
