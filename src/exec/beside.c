/* The loop over steps where islands run beside others: they are started, and waited for before the
 * first step that the plan says cannot do without them. Whatever happens, all that was started has
 * ended when the run does. */
#include <string.h>

#include "base/cpu.h"
#include "exec/frame.h"
#include "exec/profile.h"

enum { WHY = 600 };

static bool may_go_on(const tn_frame *f) { return f->planner->fallback != TN_FALLBACK_FORBID; }

/* The island did not do it: its body does, or the run fails. */
static tn_status beside_fail(tn_frame *f, tn_task *t, tn_status status, const char *why) {
  if (may_go_on(f)) {
    tn_exec_host.log(t, TN_LOG_WARNING, "%s; its nodes run on the cpu from now on", why);
    return tn_frame_step(f, t); /* which knows that it has failed */
  }
  tn_frame_fail(f, t, tn_exec_host.fail(t, status, "%s", why));
  return tn_frame_report(f);
}

static tn_status wait(tn_frame *f, int32_t k) {
  tn_setup *s = f->now;
  const struct tn_under_way w = s->under_way[k];
  tn_task *t = &s->tasks[w.step];
  char why[WHY];
  memmove(s->under_way + k, s->under_way + k + 1,
          (size_t)(--s->n_under_way - k) * sizeof *s->under_way);
  const tn_status status = tn_island_wait(t->step->node->island, why, sizeof why);
  if (status) return beside_fail(f, t, status, why);
  if (f->profile) tn_profile_add(f->profile, t->step, w.begin_ns, tn_now_ns());
  return TN_OK;
}

/* For those that have to have ended at that time. */
static tn_status wait_until(tn_frame *f, int32_t time) {
  tn_status status = TN_OK;
  for (int32_t k = 0; k < f->now->n_under_way && !status;)
    if (f->now->plan->steps[f->now->under_way[k].step].until <= time)
      status = wait(f, k);
    else
      k++;
  return status;
}

/* After an error: what was started ends, and nobody asks how. */
static void drain(tn_frame *f) {
  char why[WHY];
  while (f->now->n_under_way > 0) {
    const int32_t step = f->now->under_way[--f->now->n_under_way].step;
    (void)tn_island_wait(f->now->tasks[step].step->node->island, why, sizeof why);
  }
}

/* TN_ERR_STATE: the program is another's, and is not waited for, as others are under way. */
static tn_status begin(tn_frame *f, const tn_task *t, char *why) {
  tn_setup *s = f->now;
  const uint64_t now_ns = f->profile ? tn_now_ns() : 0;
  const tn_status status = tn_island_start(t->step->node->island, t->call.inputs, t->call.outputs,
                                           !s->n_under_way, why, WHY);
  if (!status)
    s->under_way[s->n_under_way++] = (struct tn_under_way){(int32_t)(t - s->tasks), now_ns};
  return status;
}

static tn_status start(tn_frame *f, tn_task *t) {
  char why[WHY];
  if (atomic_load(&t->step->node->island->loaded->failed)) return tn_frame_step(f, t);
  tn_status status = t->dynamic ? tn_task_open_outputs(t) : TN_OK;
  if (status) {
    tn_frame_fail(f, t, status);
    return tn_frame_report(f);
  }
  status = begin(f, t, why);
  if (status == TN_ERR_STATE) { /* nobody waits for a program while he has another */
    status = wait_until(f, INT32_MAX);
    if (status) return status;
    status = begin(f, t, why);
  }
  return status ? beside_fail(f, t, status, why) : TN_OK;
}

tn_status tn_frame_steps_beside(tn_frame *f) {
  const tn_setup *s = f->now;
  tn_status status = TN_OK;
  for (int32_t k = 0; k < s->plan->n_steps && !status; k++) {
    const tn_step *step = &s->plan->steps[k];
    status = wait_until(f, step->time);
    if (!status) status = (step->until ? start : tn_frame_step)(f, &s->tasks[k]);
    if (!status && tn_frame_is_stopped(f)) status = TN_ERR_CANCELLED;
  }
  if (!status) status = wait_until(f, INT32_MAX);
  if (status) drain(f);
  return status;
}
