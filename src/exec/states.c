/* States of sessions: what a run leaves to the next one. Each is the memory of a hidden input and
 * of a hidden output of the plan, which updates it in place where that is sound (bind.c); one whose
 * shape may change is copied after the run. It lies in memory, or on the device whose steps alone
 * read and write it (device_states.c). Sessions that share states have one tn_states. */
#include "exec/states.h"

#include <string.h>

#include "exec/model.h"
#include "exec/session.h"

/* ---- the model's ---- */

static const tn_state *state_of(const tn_model *m, int32_t index) {
  return m && index >= 0 && index < m->loaded->states.n ? &m->loaded->states.data[index] : NULL;
}

int32_t tn_model_n_states(const tn_model *model) {
  return model ? (int32_t)model->loaded->states.n : 0;
}

const char *tn_model_state_name(const tn_model *model, int32_t index) {
  const tn_state *s = state_of(model, index);
  return s ? s->name : NULL;
}

int32_t tn_model_find_state(const tn_model *model, const char *name) {
  for (int32_t k = 0; name && k < tn_model_n_states(model); k++)
    if (!strcmp(tn_model_state_name(model, k), name)) return k;
  return -1;
}

tn_status tn_model_state_type(const tn_model *model, int32_t index, tn_tensor *out_type) {
  const tn_state *s = state_of(model, index);
  return tn_type_give(s ? tn_graph_val(model->loaded, s->before)->type : NULL, out_type);
}

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

/* Finds the session's states among s by their names, and adds those that are not there. */
static tn_status join(tn_states *s, const tn_model *m, tn_kept **out, tn_diag *diag) {
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
  return join(s->states, s->model, s->kept, NULL);
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

/* ---- the user's ---- */

const tn_tensor *tn_session_state(const tn_session *session, int32_t index) {
  if (!session || index < 0 || index >= session->n_states) return NULL;
  tn_kept *k = session->kept[index];
  if (atomic_exchange(&session->states->busy, 1)) return NULL;
  const tn_status status = tn_kept_fetch(k, NULL);
  atomic_store(&session->states->busy, 0);
  return status ? NULL : &k->now.value;
}

static tn_status set(tn_kept *k, const tn_tensor *value) {
  const tn_status status = tn_cell_set(&k->now, value);
  if (status) return status;
  k->is_here = true;
  k->is_there = false;
  return TN_OK;
}

tn_status tn_session_set_state(tn_session *session, int32_t index, const tn_tensor *tensor,
                               tn_diag *diag) {
  if (!session) return TN_ERR_INVALID;
  if (index < 0 || index >= session->n_states)
    return tn_fail(diag, TN_ERR_NOT_FOUND, "there is no state %d, the model has %d", index,
                   session->n_states);
  tn_kept *k = session->kept[index];
  tn_status status = tn_session_check_state(k->name, &k->type, tensor, diag);
  if (!status) status = tn_session_take_states(session, diag);
  if (status) return status;
  status = set(k, tensor);
  atomic_store(&session->states->busy, 0);
  return status ? tn_fail(diag, status, "state '%s' cannot be set", k->name) : TN_OK;
}

tn_status tn_session_reset(tn_session *session) {
  if (!session) return TN_ERR_INVALID;
  tn_status status = tn_session_take_states(session, NULL);
  if (status) return status;
  for (int64_t k = 0; session->n_states && k < session->states->all.n && !status; k++)
    status = set(session->states->all.data[k], &session->states->all.data[k]->first.value);
  tn_session_release_states(session);
  return status;
}

tn_status tn_session_share(tn_session *session, tn_session *with, tn_diag *diag) {
  if (!session || !with) return TN_ERR_INVALID;
  if (!session->n_states || !with->n_states || session->states == with->states) return TN_OK;
  const tn_allocator *a = &session->model->runtime->allocator;
  const uint64_t bytes = (uint64_t)session->n_states * sizeof *session->kept;
  tn_kept **kept = tn_alloc(a, bytes);
  if (!kept) return tn_fail(diag, TN_ERR_MEMORY, "tn_session_share: no memory");
  tn_status status = tn_session_take_states(with, diag);
  if (!status) {
    status = join(with->states, session->model, kept, diag);
    atomic_store(&with->states->busy, 0);
  }
  if (status) {
    tn_free(a, kept, bytes);
    return status;
  }
  atomic_fetch_add_explicit(&with->states->refs, 1, memory_order_relaxed);
  tn_states_release(session->states);
  tn_free(a, session->kept, bytes);
  session->states = with->states;
  session->kept = kept;
  return TN_OK;
}
