/* In place of states: states.c of graphs and of sessions. No model that has any is read. */
#include "exec/states.h"

#include "exec/session.h"
#include "without/without.h"

const char tn_without_states = 0;

/* ---- of graphs ---- */

int32_t tn_graph_state_new(tn_graph *g, const char *name, int32_t before, int32_t initial) {
  (void)name, (void)before, (void)initial;
  return tn_graph_refuse(g, TN_ERR_UNSUPPORTED, TN_WITHOUT_STATES);
}

tn_status tn_graph_state_set(tn_graph *g, int32_t state, int32_t after) {
  (void)state, (void)after;
  return tn_graph_refuse(g, TN_ERR_UNSUPPORTED, TN_WITHOUT_STATES);
}

int32_t tn_graph_n_states(const tn_graph *g) {
  (void)g;
  return 0;
}

tn_status tn_graph_state_at(const tn_graph *g, int32_t index, tn_state_info *out) {
  (void)g, (void)index, (void)out;
  return TN_ERR_NOT_FOUND;
}

tn_status tn_graph_settle_states(tn_graph *g) { return tn_graph_sort(g, NULL); }

/* ---- of sessions ---- */

void tn_states_release(tn_states *s) { (void)s; }

tn_status tn_states_join(tn_states *s, const tn_model *m, tn_kept **out, tn_diag *diag) {
  (void)s, (void)m, (void)out, (void)diag;
  return TN_OK;
}

tn_status tn_session_open_states(tn_session *s, const tn_allocator *a) {
  (void)s, (void)a;
  return TN_OK;
}

void tn_session_close_states(tn_session *s, const tn_allocator *a) { (void)s, (void)a; }
void tn_session_bind_states(tn_session *s, const tn_tensor **inputs) { (void)s, (void)inputs; }

tn_status tn_session_fetch_states(tn_session *s, bool *out_any, tn_diag *diag) {
  (void)s, (void)diag;
  *out_any = false;
  return TN_OK;
}

tn_status tn_session_take_states(tn_session *s, tn_diag *diag) {
  (void)s, (void)diag;
  return TN_OK;
}

void tn_session_release_states(tn_session *s) { (void)s; }

tn_status tn_session_keep_states(tn_session *s, tn_status status, tn_diag *diag) {
  (void)s, (void)diag;
  return status;
}
