/* A session: the inputs and outputs of one thread, and the main frame that runs them. */
#include "exec/session.h"

#include "base/abi.h"

/* ---- creation and destruction ---- */

static tn_status session_open(tn_session *s, const tn_allocator *a) {
  uint64_t n_in = (uint64_t)s->n_all, n_out = (uint64_t)(s->n_outputs + s->n_states);
  s->inputs = tn_alloc(a, n_in * sizeof *s->inputs);
  s->input_of = tn_alloc(a, n_in * sizeof *s->input_of);
  s->bound = tn_alloc(a, n_out * sizeof *s->bound);
  s->bound_of = tn_alloc(a, n_out * sizeof *s->bound_of);
  s->input_places = tn_alloc(a, n_in * sizeof *s->input_places);
  s->output_places = tn_alloc(a, n_out * sizeof *s->output_places);
  if (!s->inputs || !s->input_of || !s->bound || !s->bound_of || !s->input_places ||
      !s->output_places)
    return TN_ERR_MEMORY;
  s->frame_inputs = s->input_of;
  tn_status status = tn_session_open_states(s, a);
  if (status) return status;
  status = tn_frame_create(a, s->model->runtime->pool, s->model->main, &s->stop, &s->main);
  s->frame = s->main;
  return status;
}

tn_status tn_session_create(tn_model *model, tn_diag *diag, tn_session **out_session) {
  if (!out_session) return TN_ERR_INVALID;
  *out_session = NULL;
  if (!model) return tn_fail(diag, TN_ERR_INVALID, "tn_session_create: no model");
  if (!model->main)
    return tn_fail(diag, TN_ERR_STATE,
                   "tn_session_create: the model was loaded with TN_MODEL_GRAPH_ONLY");
  const tn_allocator *a = &model->runtime->allocator;
  tn_session *s = tn_alloc(a, sizeof *s);
  if (!s) return tn_fail(diag, TN_ERR_MEMORY, "tn_session_create: no memory");
  s->model = model;
  atomic_fetch_add_explicit(&model->refs, 1, memory_order_relaxed);
  atomic_fetch_add(&model->holder.n_sessions, 1);
  s->n_inputs = tn_model_n_inputs(model);
  s->n_all = s->n_inputs + tn_model_n_defaults(model);
  s->n_outputs = tn_model_n_outputs(model);
  s->n_states = tn_model_n_states(model);
  tn_profile_init(&s->profile, a);
  tn_status status = session_open(s, a);
  if (status) {
    tn_session_destroy(s);
    return tn_fail(diag, status, "tn_session_create: no memory");
  }
  *out_session = s;
  return TN_OK;
}

void tn_session_destroy(tn_session *session) {
  if (!session) return;
  tn_session *s = session;
  tn_model *model = s->model;
  const tn_allocator *a = &model->runtime->allocator;
  uint64_t n_in = (uint64_t)s->n_all, n_out = (uint64_t)(s->n_outputs + s->n_states);
  tn_profile_clear(&s->profile);
  tn_session_drop_variants(s);
  tn_frame_destroy(s->main);
  tn_session_close_states(s, a);
  for (uint64_t k = 0; s->input_places && k < n_in; k++)
    tn_device_buffer_destroy(s->input_places[k].buffer);
  for (uint64_t k = 0; s->output_places && k < n_out; k++)
    tn_device_buffer_destroy(s->output_places[k].buffer);
  tn_free(a, s->input_places, n_in * sizeof *s->input_places);
  tn_free(a, s->output_places, n_out * sizeof *s->output_places);
  tn_free(a, s->inputs, n_in * sizeof *s->inputs);
  tn_free(a, s->input_of, n_in * sizeof *s->input_of);
  tn_free(a, s->bound, n_out * sizeof *s->bound);
  tn_free(a, s->bound_of, n_out * sizeof *s->bound_of);
  tn_free(a, s, sizeof *s);
  atomic_fetch_sub(&model->holder.n_sessions, 1);
  tn_model_destroy(model);
}

/* ---- inputs and outputs ---- */

tn_status tn_session_set_input(tn_session *session, int32_t index, const tn_tensor *tensor,
                               tn_diag *diag) {
  if (!session) return TN_ERR_INVALID;
  tn_status status = tn_session_check_input(session, index, tensor, diag);
  if (status) return status;
  session->input_of[index] = NULL;
  tn_session_place(&session->input_places[index], &session->inputs[index], NULL, 0);
  if (!tensor) return TN_OK;
  session->inputs[index] = tn_tensor_in(tensor);
  if (tensor->kind == TN_KIND_TENSOR) session->inputs[index].object = 0;
  session->input_of[index] = &session->inputs[index];
  return TN_OK;
}

tn_status tn_session_set_output(tn_session *session, int32_t index, const tn_tensor *tensor,
                                tn_diag *diag) {
  if (!session) return TN_ERR_INVALID;
  tn_status status = tn_session_check_output(session, index, tensor, diag);
  if (status) return status;
  session->bound_of[index] = NULL;
  tn_session_place(&session->output_places[index], &session->bound[index], NULL, 0);
  if (!tensor) return TN_OK;
  session->bound[index] = tn_tensor_in(tensor);
  session->bound[index].object = 0;
  session->bound_of[index] = &session->bound[index];
  return TN_OK;
}

/* All missing inputs are named. */
static tn_status check_all_set(const tn_session *s, tn_diag *diag) {
  tn_status status = TN_OK;
  for (int32_t k = 0; k < s->n_inputs; k++)
    if (!s->input_of[k])
      status =
          tn_fail(diag, TN_ERR_STATE, "input '%s' is not set", tn_model_input_name(s->model, k));
  return status;
}

static tn_status needs_data(tn_status status, tn_diag *diag) {
  if (status != TN_NEEDS_DATA) return status;
  return tn_fail(diag, TN_ERR_STATE,
                 "shapes depend on the data of an input that was set without data");
}

/* ---- running ---- */

static tn_status prepare(tn_session *s, tn_diag *diag) {
  return tn_frame_prepare(s->frame, s->frame_inputs, s->bound_of, diag);
}

/* Shapes may depend on what is in states: those are brought to memory then, and it is tried again.
 */
static tn_status with_data(tn_session *s, tn_status (*deed)(tn_session *, tn_diag *),
                           tn_diag *diag) {
  const tn_status status = deed(s, diag);
  bool any;
  if (status != TN_NEEDS_DATA) return status;
  const tn_status fetched = tn_session_fetch_states(s, &any, diag);
  if (fetched) return fetched;
  return any ? deed(s, diag) : status;
}

/* All that has to be known before it is planned; the states are taken then. */
static tn_status begin(tn_session *s, tn_diag *diag) {
  tn_status status = check_all_set(s, diag);
  if (!status) status = tn_session_take_states(s, diag);
  if (status) return status;
  status = tn_session_choose_frame(s, diag);
  if (status) tn_session_release_states(s);
  return status;
}

tn_status tn_session_prepare(tn_session *session, tn_diag *diag) {
  if (!session) return TN_ERR_INVALID;
  tn_status status = begin(session, diag);
  if (status) return status;
  status = with_data(session, prepare, diag);
  tn_session_release_states(session);
  return needs_data(status, diag);
}

static tn_status run(tn_session *s, tn_diag *diag) {
  tn_profile *profile = s->profiling ? &s->profile : NULL;
  return tn_frame_run(s->frame, s->frame_inputs, s->bound_of, profile, diag);
}

tn_status tn_session_run(tn_session *session, tn_diag *diag) {
  if (!session) return TN_ERR_INVALID;
  tn_session *s = session;
  atomic_store(&s->stop, 0);
  s->frame->ran = false;
  tn_status status = begin(s, diag);
  if (status) return status;
  status = with_data(s, run, diag);
  status = tn_session_keep_states(s, status, diag);
  if (s->profiling) s->profile.run++;
  if (status == TN_ERR_CANCELLED && !tn_diag_count(diag))
    tn_fail(diag, status, "the run was cancelled");
  return needs_data(status, diag);
}

void tn_session_cancel(tn_session *session) {
  if (session) atomic_store(&session->stop, 1);
}

const tn_tensor *tn_session_output(const tn_session *session, int32_t index) {
  const bool is_there = session && index < session->n_outputs; /* states follow */
  return is_there ? tn_frame_output(session->frame, index) : NULL;
}

tn_status tn_session_profile(tn_session *session, int32_t on) {
  if (!session) return TN_ERR_INVALID;
  if (on && !session->profiling) tn_profile_clear(&session->profile);
  session->profiling = on != 0;
  return TN_OK;
}

int64_t tn_session_n_events(const tn_session *session) {
  return session ? session->profile.events.n : 0;
}
