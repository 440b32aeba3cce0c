/* A frame's life: made for a callable, planned for its inputs, run, read. See frame.h for the
 * parts. */
#include "exec/device_frame.h"

#include <string.h>

tn_status tn_frame_create_in(tn_frame *around, const tn_allocator *a, tn_pool *pool,
                             const tn_planner *planner, tn_callable *callable,
                             tn_frame **out_frame) {
  *out_frame = NULL;
  tn_frame *f = tn_alloc(a, sizeof *f);
  if (!f) return TN_ERR_MEMORY;
  if (pthread_mutex_init(&f->lock, NULL)) {
    tn_free(a, f, sizeof *f);
    return TN_ERR_MEMORY;
  }
  f->a = a;
  f->pool = pool;
  f->planner = planner;
  f->callable = callable;
  f->arena = around ? &around->inner : &f->own;
  f->stop = around ? around->stop : NULL;
  *out_frame = f;
  return TN_OK;
}

tn_status tn_frame_create(const tn_allocator *a, tn_pool *pool, tn_callable *callable,
                          const atomic_int *stop, tn_frame **out_frame) {
  tn_status status = tn_frame_create_in(NULL, a, pool, callable->planner, callable, out_frame);
  if (!status) (*out_frame)->stop = stop;
  return status;
}

void tn_frame_destroy(tn_frame *f) {
  if (!f) return;
  tn_frame_forget(f);
  tn_lanes_close(f);
  tn_vec_free(f->a, &f->setups);
  tn_free(f->a, f->own.data, f->own.bytes);
  tn_free(f->a, f->inner.data, f->inner.bytes);
  for (int32_t k = 0; k < f->n_outputs; k++) tn_cell_clear(&f->outputs[k].copy);
  tn_free(f->a, f->outputs, (uint64_t)f->n_outputs * sizeof *f->outputs);
  for (int64_t k = 0; k < f->cells.n; k++) tn_cell_free(f->cells.data[k]);
  for (int64_t k = 0; k < f->mirrors.n; k++) tn_cell_free(f->mirrors.data[k]);
  for (int64_t k = 0; k < f->value_pool.n; k++) tn_cell_free(f->value_pool.data[k]);
  tn_vec_free(f->a, &f->cells);
  tn_vec_free(f->a, &f->mirrors);
  tn_vec_free(f->a, &f->value_pool);
  tn_vec_free(f->a, &f->pool_free);
  while (f->n_spare) tn_free_sized(f->a, f->spare[--f->n_spare]);
  pthread_mutex_destroy(&f->lock);
  tn_free(f->a, f, sizeof *f);
}

/* What is there for these inputs, moved to the end of the list; NULL: nothing. */
static tn_setup *find(tn_frame *f, const tn_tensor *const *inputs) {
  tn_setup **all = f->setups.data;
  for (int64_t k = f->setups.n; k-- > 0;) {
    tn_setup *s = all[k];
    if (!tn_plan_matches(s->plan, inputs)) continue;
    memmove(all + k, all + k + 1, (size_t)(f->setups.n - 1 - k) * sizeof *all);
    return all[f->setups.n - 1] = s;
  }
  return NULL;
}

/* Notes which inputs and outputs of this run are in buffers on devices. */
static void note_placed(tn_frame *f, const tn_tensor *const *inputs,
                        const tn_tensor *const *bound) {
  f->has_placed = f->is_only_there = false;
  if (!f->planner->n_devices || !f->callable) return;
  for (int64_t k = 0; k < f->callable->graph->inputs.n; k++) tn_frame_note_placed(f, inputs[k]);
  for (int64_t k = 0; bound && k < f->callable->graph->outputs.n; k++)
    tn_frame_note_placed(f, bound[k]);
}

static tn_status prepare(tn_frame *f, tn_setup *s, const tn_tensor *const *inputs,
                         const tn_tensor *const *bound, tn_diag *diag) {
  tn_plan *plan = NULL;
  if (!s || s != f->now) f->ran = false;
  tn_status status = s ? TN_OK : tn_callable_plan(f->callable, inputs, 0, diag, &plan);
  if (status) return status;
  const uint64_t bytes = s ? s->arena_need : plan->arena_bytes;
  status = s ? tn_frame_reuse(f, s, diag) : tn_frame_build_take(f, plan, diag);
  if (!status && f->place) {
    status = f->place(f->session, f, diag);
    if (status) return status;
    note_placed(f, inputs, bound);
  }
  if (!status) status = tn_device_bind(f, f->now, inputs, bound, diag);
  if (status && f->planner->n_devices && tn_diag_count(diag))
    return status; /* the device said it */
  return status ? tn_fail(diag, status, "%s: memory for a run cannot be had: %llu bytes",
                          f->callable->name, (unsigned long long)bytes)
                : TN_OK;
}

/* Prepares what is new. Where a device has no memory for it, older plans give theirs back. */
static tn_status prepare_new(tn_frame *f, const tn_tensor *const *inputs,
                             const tn_tensor *const *bound, tn_diag *diag) {
  const bool has_older = f->planner->n_devices && f->setups.n > 0;
  tn_diag *said = has_older ? tn_diag_create() : NULL;
  tn_status status = prepare(f, NULL, inputs, bound, has_older ? said : diag);
  const bool is_full = has_older && status == TN_ERR_MEMORY;
  if (!is_full) tn_diag_append(diag, said, NULL);
  tn_diag_destroy(said);
  if (!is_full) return status;
  tn_frame_forget(f);
  tn_frame_forgive(f);
  return prepare(f, NULL, inputs, bound, diag);
}

/* Where a device refuses what a new plan needs, memory most often, or is lost while one is made,
 * the policy may let others take its place. */
static tn_status prepare_by_policy(tn_frame *f, const tn_tensor *const *inputs,
                                   const tn_tensor *const *bound, tn_diag *diag) {
  tn_diag *said = tn_diag_create();
  const tn_status status = prepare_new(f, inputs, bound, said);
  const bool goes_on = status == TN_ERR_IO ? tn_frame_has_lost(f)
                       : status            ? tn_frame_give_up_full(f)
                                           : false;
  if (goes_on) tn_callable_forget(f->callable, inputs); /* it was made, and cannot be built */
  if (goes_on)
    tn_diag_add(diag, TN_DIAG_WARNING, "%s; the model is planned without it",
                tn_diag_count(said) ? tn_diag_message(said, 0, NULL) : tn_status_text(status));
  else
    tn_diag_append(diag, said, NULL);
  tn_diag_destroy(said);
  return goes_on ? prepare_by_policy(f, inputs, bound, diag) : status; /* once per device at most */
}

tn_status tn_frame_prepare(tn_frame *f, const tn_tensor *const *inputs,
                           const tn_tensor *const *bound, tn_diag *diag) {
  note_placed(f, inputs, bound);
  tn_setup *s = find(f, inputs);
  if (!s || s->devices || f->has_placed) tn_frame_check_process(f); /* asks the system */
  const bool may_do_without =
      !s && f->planner->n_devices && f->planner->fallback != TN_FALLBACK_FORBID;
  return may_do_without ? prepare_by_policy(f, inputs, bound, diag)
         : s            ? prepare(f, s, inputs, bound, diag)
                        : prepare_new(f, inputs, bound, diag);
}

static tn_status run_continuation(tn_frame *f, const tn_tensor *const *bound) {
  tn_setup *s = f->now;
  const tn_plan *plan = s->plan;
  int64_t n = plan->continuation->graph->outputs.n;
  for (int64_t k = 0; k < n; k++) s->continuation_bound[k] = NULL;
  for (int32_t k = 0; bound && k < plan->n_outputs; k++) {
    int32_t to = plan->continuation_outputs[k];
    if (to >= 0 && !s->continuation_bound[to] && !tn_frame_is_placed(f, bound[k]))
      s->continuation_bound[to] = bound[k];
  }
  return tn_frame_run(s->continuation, s->continuation_inputs, s->continuation_bound, f->profile,
                      f->diag);
}

tn_status tn_frame_go(tn_frame *f, const tn_tensor *const *inputs, const tn_tensor *const *bound,
                      tn_profile *profile, tn_diag *diag) {
  f->ran = false;
  f->profile = profile;
  f->diag = diag;
  tn_status status = f->has_placed ? tn_frame_mirror(f, inputs) : TN_OK;
  if (!status) status = tn_frame_bind(f, inputs, bound);
  if (!status) status = tn_frame_steps(f);
  if (!status) status = tn_frame_copy_borrowed(f, bound);
  if (!status && f->now->plan->continuation) status = run_continuation(f, bound);
  if (!status) status = tn_frame_finish(f, bound);
  f->ran = status == TN_OK;
  return status;
}

tn_status tn_frame_run(tn_frame *f, const tn_tensor *const *inputs, const tn_tensor *const *bound,
                       tn_profile *profile, tn_diag *diag) {
  tn_status status = tn_frame_prepare(f, inputs, bound, diag);
  if (!status) status = tn_frame_go(f, inputs, bound, profile, diag);
  if (status != TN_ERR_IO || !tn_frame_may_do_without(f)) return status;
  status = tn_frame_prepare(f, inputs, bound, diag); /* a device is lost: once, and without it */
  return status ? status : tn_frame_go(f, inputs, bound, profile, diag);
}

const tn_tensor *tn_frame_output(const tn_frame *f, int32_t index) {
  bool there = f->ran && index >= 0 && index < f->now->plan->n_outputs;
  return there ? &f->outputs[index].value : NULL;
}
