/* States on devices. What a run leaves to the next one stays where the next one reads it: a state
 * that the steps of one device alone read and write lies in a buffer there, and no run copies it.
 * Where the plan cannot update it in place, it has two buffers that take turns. It comes back to
 * memory when somebody wants it there: the user who reads it, a run whose plan reads it on the CPU.
 *
 * Nobody says so in the API, because the plan knows best, and it may change from run to run. */
#include "exec/states.h"

#include "exec/device_frame.h"
#include "exec/session.h"

static uint64_t bytes_of(const tn_kept *k) { return (uint64_t)tn_storage_bytes(&k->type); }

void tn_kept_close(tn_kept *k) {
  for (int i = 0; i < 2; i++) tn_session_place(&k->places[i], &k->ends[i], NULL, 0);
}

/* ---- moving ---- */

tn_status tn_kept_fetch(tn_kept *k, tn_diag *diag) {
  if (k->is_here) return TN_OK;
  tn_device_buffer *from = k->places[k->at].buffer;
  tn_device *d = from->buffer.device;
  tn_diag *said = tn_diag_create();
  const tn_status status = tn_device_buffer_read(from, 0, k->now.value.data, bytes_of(k), said);
  const char *text = tn_diag_count(said) ? tn_diag_message(said, 0, NULL) : tn_status_text(status);
  k->is_here = status == TN_OK;
  if (status)
    tn_diag_add(diag, TN_DIAG_ERROR,
                "state '%s' was on device '%s' and cannot be had from there (%s): "
                "tn_session_reset() or tn_session_set_state() give it a value",
                k->name, d->name, text);
  tn_diag_destroy(said);
  return status == TN_ERR_IO ? TN_ERR_STATE : status;
}

/* Where the place has another device's buffer, its value comes to memory. TN_ERR_MEMORY, and
 * nothing is said: the device has none for it. */
static tn_status open_place(tn_model *m, tn_kept *k, int i, const tn_device *d, tn_diag *diag) {
  tn_device_buffer *have = k->places[i].buffer, *buffer;
  if (have && have->buffer.device == d) return TN_OK;
  tn_status status = have && k->is_there && k->at == i ? tn_kept_fetch(k, diag) : TN_OK;
  if (status) return status;
  status = tn_device_buffer_create(m, d->name, bytes_of(k), NULL, &buffer);
  if (status == TN_ERR_MEMORY) return status;
  if (status)
    return tn_fail(diag, status, "state '%s' cannot be put on device '%s'", k->name, d->name);
  if (k->at == i) k->is_there = false;
  tn_session_place(&k->places[i], &k->ends[i], buffer, 0);
  tn_device_buffer_destroy(buffer); /* the place holds it */
  return TN_OK;
}

/* To one of its places on the device; with two, the other one is free. */
static tn_status put(tn_model *m, tn_kept *k, tn_home home, tn_diag *diag) {
  tn_status status = open_place(m, k, k->at, home.device, diag);
  if (!status && home.is_twice) status = open_place(m, k, !k->at, home.device, diag);
  if (status || k->is_there) return status;
  status = tn_device_buffer_write(k->places[k->at].buffer, 0, k->now.value.data, bytes_of(k), diag);
  k->is_there = status == TN_OK;
  return status;
}

/* ---- around a run ---- */

static void bind(tn_session *s, int32_t index, const tn_tensor *before, const tn_tensor *after) {
  s->state_inputs[index] = before;
  s->bound_of[s->n_outputs + index] = after;
}

static tn_status bind_here(tn_session *s, int32_t index, tn_diag *diag) {
  tn_kept *k = s->kept[index];
  const tn_status status = tn_kept_fetch(k, diag);
  if (!status) bind(s, index, &k->now.value, &k->now.value);
  return status;
}

/* TN_ERR_MEMORY: the device has none for it. */
static tn_status bind_there(tn_session *s, int32_t index, tn_home home, tn_diag *diag) {
  tn_kept *k = s->kept[index];
  const tn_status status = put(s->model, k, home, diag);
  if (status) return status;
  const int to = home.is_twice ? !k->at : k->at;
  for (int i = 0; i < 2; i++) k->places[i].is_copy = k->is_here;
  bind(s, index, &k->ends[k->at], &k->ends[to]);
  return TN_OK;
}

static tn_status place(tn_session *s, tn_frame *f, int32_t index, int32_t input, tn_diag *diag) {
  tn_kept *k = s->kept[index];
  if (k->is_open) return TN_OK;
  const tn_home home = tn_frame_home(f, input, s->n_outputs + index);
  k->is_the_same = home.is_the_same;
  if (home.is_anywhere && k->is_there) {
    bind(s, index, tn_kept_value(k), tn_kept_value(k));
    return TN_OK;
  }
  if (!home.device || k->is_refused || !bytes_of(k) || tn_device_is_lost(home.device))
    return bind_here(s, index, diag);
  const tn_status status = bind_there(s, index, home, diag);
  k->is_refused = status == TN_ERR_MEMORY;
  return k->is_refused ? bind_here(s, index, diag) : status;
}

tn_status tn_session_place_states(void *session, tn_frame *f, tn_diag *diag) {
  tn_session *s = session;
  const int32_t first = f->now->plan->n_inputs - s->n_states;
  tn_status status = TN_OK;
  for (int32_t k = 0; k < s->n_states && !status; k++) status = place(s, f, k, first + k, diag);
  return status;
}

void tn_kept_after(tn_kept *k, const tn_tensor *bound, tn_status status) {
  const bool is_there = bound == &k->ends[0] || bound == &k->ends[1];
  if (k->is_open || k->is_the_same) return;
  if (!is_there || (status && k->is_here)) { /* what is at the place is old, or half written */
    k->is_there = false;
  } else if (!status) {
    k->at = (int)(bound - k->ends);
    k->is_here = false;
    k->is_there = true;
  }
}
