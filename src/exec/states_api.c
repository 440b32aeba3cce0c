/* What programs ask of states: which a model has, and their values between runs of a session. */
#include <string.h>

#include "exec/model.h"
#include "exec/session.h"
#include "exec/states.h"

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
    status = tn_states_join(with->states, session->model, kept, diag);
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
