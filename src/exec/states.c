/* States of sessions: what a run leaves to the next one. Each is the memory of a hidden input and
 * of a hidden output of the plan, which updates it in place where that is sound (bind.c); one whose
 * shape may change is copied after the run. It lies in memory, or on the device whose steps alone
 * read and write it (device_states.c). Sessions that share states have one tn_states.
 * What programs ask of them: states_api.c. */
#include "exec/states.h"

#include <string.h>

#include "exec/model.h"
#include "exec/session.h"

/* ---- creation and destruction ---- */

void tn_states_release(tn_states *s) {
  if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) > 1) return;
  for (int64_t k = 0; k < s->all.n; k++) {
    tn_kept_close(s->all.data[k]);
    tn_cell_clear(&s->all.data[k]->first);
    tn_cell_clear(&s->all.data[k]->now);
  }
  tn_vec_free(&s->a, &s->all);
  tn_arena_clear(&s->arena);
  const tn_allocator a = s->a;
  tn_free(&a, s, sizeof *s);
}

/* The value before the first run. */
static tn_status set_first(tn_kept *k, const tn_graph *g, int32_t initial) {
  if (initial < 0) {
    const tn_status status = tn_cell_shape(&k->first, &k->type);
    const int64_t bytes = status ? 0 : tn_storage_bytes(&k->first.value);
    if (bytes > 0) memset(k->first.value.data, 0, (size_t)bytes);
    return status;
  }
  const tn_value *v = tn_graph_val(g, initial);
  tn_status status = tn_const_fetch(v->constant);
  if (status) return status;
  status = tn_cell_set(&k->first, v->type);
  tn_const_drop(v->constant);
  return status;
}

static tn_status add(tn_states *s, const tn_graph *g, const tn_state *state, tn_kept **out) {
  tn_kept *k = tn_arena_alloc(&s->arena, sizeof *k);
  if (!k || tn_vec_room(&s->a, &s->all, 1)) return TN_ERR_MEMORY;
  k->name = tn_arena_str(&s->arena, state->name);
  if (!k->name) return TN_ERR_MEMORY;
  k->type = *tn_graph_val(g, state->before)->type;
  k->is_open = tn_storage_bytes(&k->type) < 0;
  k->is_here = true;
  k->ends[0] = k->ends[1] = k->type;
  tn_cell_init(&k->first, &s->a);
  tn_cell_init(&k->now, &s->a);
  s->all.data[s->all.n++] = k;
  *out = k;
  const tn_status status = set_first(k, g, state->initial);
  return status ? status : tn_cell_set(&k->now, &k->first.value);
}

static bool is_same_type(const tn_tensor *a, const tn_tensor *b) {
  return a->dtype == b->dtype && tn_same_shape(a, b);
}

tn_status tn_states_join(tn_states *s, const tn_model *m, tn_kept **out, tn_diag *diag) {
  const tn_graph *g = m->loaded;
  tn_status status = TN_OK;
  for (int64_t i = 0; i < g->states.n && !status; i++) {
    const tn_state *state = &g->states.data[i];
    tn_kept *k = NULL;
    for (int64_t j = 0; j < s->all.n && !k; j++)
      if (!strcmp(s->all.data[j]->name, state->name)) k = s->all.data[j];
    if (k && !is_same_type(&k->type, tn_graph_val(g, state->before)->type))
      return tn_fail(diag, TN_ERR_SHAPE, "state '%s' is of another type in the other session",
                     state->name);
    if (!k) status = add(s, g, state, &k);
    out[i] = k;
  }
  return status ? tn_fail(diag, status, "states: no memory") : TN_OK;
}

tn_status tn_session_open_states(tn_session *s, const tn_allocator *a) {
  if (!s->n_states) return TN_OK;
  const uint64_t n = (uint64_t)s->n_states, n_in = (uint64_t)s->n_inputs + n;
  s->kept = tn_alloc(a, n * sizeof *s->kept);
  s->main_inputs = tn_alloc(a, n_in * sizeof *s->main_inputs);
  s->states = tn_alloc(a, sizeof *s->states);
  if (!s->kept || !s->main_inputs || !s->states) return TN_ERR_MEMORY;
  atomic_init(&s->states->refs, 1);
  atomic_init(&s->states->busy, 0);
  s->states->a = *a;
  tn_arena_init(&s->states->arena, &s->states->a);
  return tn_states_join(s->states, s->model, s->kept, NULL);
}

void tn_session_close_states(tn_session *s, const tn_allocator *a) {
  tn_states_release(s->states);
  tn_free(a, s->kept, (uint64_t)s->n_states * sizeof *s->kept);
  tn_free(a, s->main_inputs, (uint64_t)(s->n_inputs + s->n_states) * sizeof *s->main_inputs);
}

/* ---- around a run ---- */

void tn_session_bind_states(tn_session *s, const tn_tensor **inputs) {
  s->state_inputs = inputs;
  for (int32_t k = 0; k < s->n_states; k++) {
    inputs[k] = tn_kept_value(s->kept[k]);
    s->bound_of[s->n_outputs + k] = s->kept[k]->is_open ? NULL : inputs[k];
  }
}

tn_status tn_session_fetch_states(tn_session *s, bool *out_any, tn_diag *diag) {
  tn_status status = TN_OK;
  *out_any = false;
  for (int32_t k = 0; k < s->n_states && !status; k++) {
    *out_any = *out_any || !s->kept[k]->is_here;
    status = tn_kept_fetch(s->kept[k], diag);
  }
  if (*out_any) tn_session_bind_states(s, s->state_inputs);
  return status;
}

tn_status tn_session_take_states(tn_session *s, tn_diag *diag) {
  if (!s->n_states || !atomic_exchange(&s->states->busy, 1)) return TN_OK;
  return tn_fail(diag, TN_ERR_STATE, "another session is running on the states of this one");
}

void tn_session_release_states(tn_session *s) {
  if (s->n_states) atomic_store(&s->states->busy, 0);
}

/* Those whose shape may change lie where the run has left them. */
static tn_status keep(tn_session *s, tn_diag *diag) {
  for (int32_t k = 0; k < s->n_states; k++) {
    tn_kept *kept = s->kept[k];
    const tn_tensor *value = tn_frame_output(s->frame, s->n_outputs + k);
    if (!kept->is_open || !value) continue;
    const tn_status status = tn_cell_set(&kept->now, value);
    if (status) return tn_fail(diag, status, "state '%s' cannot be kept", kept->name);
  }
  return TN_OK;
}

tn_status tn_session_keep_states(tn_session *s, tn_status status, tn_diag *diag) {
  for (int32_t k = 0; k < s->n_states; k++)
    tn_kept_after(s->kept[k], s->bound_of[s->n_outputs + k], status);
  if (!status) status = keep(s, diag);
  tn_session_release_states(s);
  return status;
}
