/* The run loop: tasks in order, stages in order, ranges of items on the pool, followers on the
 * range just written.
 *
 * Equal to: for each task, for each stage, for each item: kernel.run(call, stage, item, item +
 * 1, worker). The first error stops the run; what the kernel said about it goes to diag with the
 * name of its node. */
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "exec/device_frame.h"
#include "exec/profile.h"

/* ---- errors ---- */

/* Plug-ins may answer anything; callers see the closed list of tenon/plugin.h. */
static tn_status sane(tn_status status) {
  return status && tn_is_status(status) ? status : TN_ERR_INTERNAL;
}

void tn_frame_fail(tn_frame *f, tn_task *t, tn_status status) {
  int none = TN_OK;
  char text[TN_ANSWER_TEXT];
  if (tn_answer_status(status, text, sizeof text) != status)
    tn_exec_host.fail(t, status, "%s", text);
  if (atomic_compare_exchange_strong(&f->status, &none, sane(status))) atomic_store(&f->culprit, t);
}

const char *tn_task_text(const tn_task *t, char *buf, size_t size) {
  const tn_step *step = t->step;
  const tn_plan *plan = t->frame->now->plan;
  const int32_t out = step->node->node.n_outputs ? step->node->node.outputs[0] : -1;
  const char *made = out >= 0 && plan->slots[out].name ? plan->slots[out].name : "";
  const char *what = *step->node->node.name ? "" : *made ? "that makes " : "without a name ";
  const char *name = *step->node->node.name ? step->node->node.name : made,
             *quote = *name ? "'" : "";
  snprintf(buf, size, "node %s%s%.80s%s%s(%s), kernel '%.80s'", what, quote, name, quote,
           *name ? " " : "", step->node->node.op, step->choice->def->kernel.name);
  return buf;
}

tn_status tn_frame_report(tn_frame *f) {
  tn_status status = atomic_load(&f->status);
  if (status == TN_ERR_CANCELLED && f->arena != &f->own) return status; /* the outermost tells */
  bool said = atomic_load(&f->said);
  const tn_task *t = said ? f->speaker : atomic_load(&f->culprit);
  char text[TN_TASK_TEXT];
  return tn_fail(f->diag, status, "%s: %s", tn_task_text(t, text, sizeof text),
                 said ? f->text : tn_status_text(status));
}

static void reset(tn_frame *f) {
  atomic_store(&f->status, TN_OK);
  atomic_store(&f->said, 0);
  atomic_store(&f->culprit, NULL);
}

/* ---- one task ---- */

static tn_status run_followers(tn_task *t, int64_t begin, int64_t end, uint32_t worker,
                               tn_task **out_failed) {
  int64_t per_item = t->step->choice->plan.elements_per_item;
  int64_t n = tn_storage_elements(t->call.outputs[0]);
  int64_t first = tn_min_i64(begin * per_item, n), last = tn_min_i64(end * per_item, n);
  for (uint32_t k = 0; first < last && k < t->step->n_followers; k++) {
    tn_task *follower = &t->followers[k];
    tn_status status =
        follower->step->choice->def->kernel.run(&follower->call, 0, first, last, worker);
    *out_failed = follower;
    if (status) return status;
  }
  return TN_OK;
}

static void run_range(void *arg, int64_t begin, int64_t end, uint32_t worker) {
  tn_task *t = arg;
  tn_frame *f = t->frame;
  if (atomic_load_explicit(&f->status, memory_order_relaxed)) return;
  if (tn_frame_is_stopped(f)) {
    tn_frame_fail(f, t, TN_ERR_CANCELLED);
    return;
  }
  tn_task *failed = t;
  tn_status status = t->step->choice->def->kernel.run(&t->call, t->stage, begin, end, worker);
  if (!status && t->followers) status = run_followers(t, begin, end, worker, &failed);
  if (status) tn_frame_fail(f, failed, status);
}

static void run_watched_range(void *arg, int64_t begin, int64_t end, uint32_t worker) {
  const tn_task *t = arg;
  const uint64_t begin_ns = tn_now_ns();
  run_range(arg, begin, end, worker);
  tn_profile_add_span(t->frame->profile, worker, t->step, begin_ns, tn_now_ns());
}

/* Where others may do its work, the body of an island runs if its module fails, from then on. */
static bool run_island(tn_task *t) {
  tn_frame *f = t->frame;
  const tn_island_step *island = t->step->node->island;
  const bool may_go_on = f->planner->fallback != TN_FALLBACK_FORBID;
  char text[600];
  if (!island->loaded->is_loaded) return false; /* it was only compiled */
  if (may_go_on && atomic_load(&island->loaded->failed)) return false;
  const tn_status status =
      tn_island_run(island, t->call.inputs, t->call.outputs, text, sizeof text);
  if (status && may_go_on) {
    tn_exec_host.log(t, TN_LOG_WARNING, "%s; its nodes run on the cpu from now on", text);
    return false;
  }
  if (status) tn_frame_fail(f, t, tn_exec_host.fail(t, status, "%s", text));
  return true;
}

static void run_stages(tn_task *t) {
  if (t->step->node->island && run_island(t)) return;
  const tn_kernel_plan *plan = &t->step->choice->plan;
  const tn_profile *profile = t->frame->profile;
  const tn_pool_fn run = profile && profile->lanes ? run_watched_range : run_range;
  for (uint32_t k = 0; k < plan->n_stages; k++) {
    if (t->stage != k) t->stage = k; /* else its cache line stays with the workers, too */
    if (plan->items[k] <= 0) continue;
    tn_pool_run(t->frame->pool, plan->items[k], plan->grain[k], t->step->choice->chunk[k], run, t);
    if (atomic_load_explicit(&t->frame->status, memory_order_relaxed)) return;
  }
}

/* ---- kernels of plug-ins: their outputs' tensors are the host's own ---- */

static void remember(tn_task *t) {
  for (uint32_t k = 0; t->seen && k < t->step->node->node.n_outputs; k++)
    if (t->call.outputs[k]) t->seen[k] = *t->call.outputs[k];
}

/* What a kernel wrote to a tensor, and not to its data, is undone. */
static tn_status restore(tn_task *t) {
  tn_status status = TN_OK;
  for (uint32_t k = 0; t->seen && k < t->step->node->node.n_outputs; k++) {
    tn_tensor *y = t->call.outputs[k];
    if (!y || !memcmp(y, &t->seen[k], sizeof *y)) continue;
    *y = t->seen[k];
    status =
        tn_exec_host.fail(t, TN_ERR_INTERNAL, "changes output %u itself, not only its data", k);
  }
  return status;
}

static void remember_all(tn_task *t) {
  remember(t);
  for (uint32_t k = 0; k < t->step->n_followers; k++) remember(&t->followers[k]);
}

static void restore_all(tn_task *t) {
  tn_status status = restore(t);
  if (status) tn_frame_fail(t->frame, t, status);
  for (uint32_t k = 0; k < t->step->n_followers; k++)
    if ((status = restore(&t->followers[k]))) tn_frame_fail(t->frame, &t->followers[k], status);
}

static void run_task(tn_task *t) {
  tn_frame *f = t->frame;
  tn_status status = t->dynamic ? tn_task_open_outputs(t) : TN_OK;
  bool serial = f->planner->serial && (t->step->choice->def->kernel.flags & TN_KERNEL_SERIAL);
  if (!status) {
    remember_all(t);
    if (serial) pthread_mutex_lock(f->planner->serial);
    run_stages(t);
    if (serial) pthread_mutex_unlock(f->planner->serial);
    restore_all(t);
    status = atomic_load(&f->status);
  }
  if (!status && t->dynamic) status = tn_task_close_outputs(t);
  if (t->children) tn_value_pool_release_all(f);
  if (status) tn_frame_fail(f, t, status);
}

/* ---- all ---- */

tn_status tn_frame_step(tn_frame *f, tn_task *t) {
  uint64_t begin = f->profile ? tn_now_ns() : 0;
  /* a kernel that said something and went on nevertheless has not failed */
  if (atomic_load_explicit(&f->said, memory_order_relaxed)) atomic_store(&f->said, 0);
  run_task(t);
  if (f->profile) tn_profile_add(f->profile, t->step, begin, tn_now_ns());
  if (atomic_load_explicit(&f->status, memory_order_relaxed)) return tn_frame_report(f);
  return TN_OK;
}

static tn_status run_actions(tn_frame *f) {
  const tn_setup *s = f->now;
  const tn_device_plan *plan = s->plan->devices;
  tn_status status = TN_OK;
  for (int32_t k = 0; k < plan->n_actions && !status; k++) {
    const tn_action *a = &plan->actions[k];
    switch (a->deed) {
      case TN_DEED_RUN: status = tn_frame_step(f, &s->tasks[a->index]); break;
      case TN_DEED_SUBMIT: status = tn_segment_submit(f, a->index); break;
      case TN_DEED_WAIT: status = tn_segment_wait(f, a->index); break;
    }
    if (!status && tn_frame_is_stopped(f)) status = TN_ERR_CANCELLED;
  }
  if (status) tn_lanes_drain(f);
  return status;
}

tn_status tn_frame_steps(tn_frame *f) {
  const tn_setup *s = f->now;
  tn_status status = TN_OK;
  reset(f);
  if (f->profile && tn_profile_keep(f->profile, s->plan)) f->profile = NULL;
  if (s->devices) return run_actions(f);
  if (s->under_way) return tn_frame_steps_beside(f);
  for (int32_t k = 0; k < s->plan->n_steps && !status; k++) status = tn_frame_step(f, &s->tasks[k]);
  return status;
}
