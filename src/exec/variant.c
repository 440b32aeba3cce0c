/* Feeding inputs that have a default. A model whose defaults nobody replaces runs as if they were
 * constants like all others: folded, packed, fused. For each set of replaced ones a session makes
 * the model anew, with those as inputs, and keeps it with its plans and memory; the last few sets
 * stay. Prepared states are the model's, shared by all. */
#include <string.h>

#include "exec/session.h"

static uint64_t n_inputs(const tn_session *s) { return (uint64_t)(s->n_all + s->n_states); }

static void drop(tn_session *s, tn_variant *v) {
  const tn_allocator *a = &s->model->runtime->allocator;
  uint64_t n = (uint64_t)s->n_all;
  if (!v) return;
  tn_frame_destroy(v->frame);
  tn_callable_destroy(v->callable);
  tn_free(a, v->fed, n);
  tn_free(a, v->inputs, n_inputs(s) * sizeof *v->inputs);
  tn_free(a, v, sizeof *v);
}

void tn_session_drop_variants(tn_session *s) {
  for (int64_t k = 0; k < s->variants.n; k++) drop(s, s->variants.data[k]);
  tn_vec_free(&s->model->runtime->allocator, &s->variants);
}

static bool is_fed(const tn_session *s, int32_t k) { return s->input_of[s->n_inputs + k] != NULL; }

static bool is_for(const tn_session *s, const tn_variant *v) {
  for (int32_t k = 0; k < s->n_all - s->n_inputs; k++)
    if (v->fed[k] != is_fed(s, k)) return false;
  return true;
}

static tn_status make(tn_session *s, tn_variant *v, tn_diag *diag) {
  const tn_allocator *a = &s->model->runtime->allocator;
  uint64_t n = (uint64_t)s->n_all;
  v->fed = tn_alloc(a, n);
  v->inputs = tn_alloc(a, n_inputs(s) * sizeof *v->inputs);
  tn_graph *g = v->fed && v->inputs ? tn_graph_clone(s->model->loaded) : NULL;
  if (!g) return TN_ERR_MEMORY;
  for (int32_t k = 0; k < s->n_all - s->n_inputs; k++) v->fed[k] = is_fed(s, k);
  tn_status status = tn_graph_settle_defaults(g, v->fed);
  if (!status) status = tn_graph_settle_states(g);
  if (status) {
    tn_graph_free(g);
    return status;
  }
  status = tn_callable_create_take(&s->model->planner, g, "model", diag, &v->callable);
  return status ? status
                : tn_frame_create(a, s->model->runtime->pool, v->callable, &s->stop, &v->frame);
}

/* Takes the longest unused one away. Events of the profile may name its plans: they go, too. */
static void make_room(tn_session *s) {
  if (s->variants.n < tn_planner_max_plans(&s->model->planner)) return;
  tn_profile_clear(&s->profile);
  drop(s, s->variants.data[0]);
  s->variants.n--;
  memmove(s->variants.data, s->variants.data + 1, (size_t)s->variants.n * sizeof *s->variants.data);
}

static tn_status add(tn_session *s, tn_diag *diag, tn_variant **out) {
  const tn_allocator *a = &s->model->runtime->allocator;
  make_room(s);
  if (tn_vec_room(a, &s->variants, 1)) return TN_ERR_MEMORY;
  tn_variant *v = tn_alloc(a, sizeof *v);
  if (!v) return TN_ERR_MEMORY;
  tn_status status = make(s, v, diag);
  if (status) {
    drop(s, v);
    return status;
  }
  s->variants.data[s->variants.n++] = v;
  *out = v;
  return TN_OK;
}

static tn_variant *find(tn_session *s) {
  for (int64_t k = s->variants.n; k-- > 0;) {
    tn_variant *v = s->variants.data[k];
    if (!is_for(s, v)) continue;
    memmove(s->variants.data + k, s->variants.data + k + 1,
            (size_t)(s->variants.n - 1 - k) * sizeof *s->variants.data);
    return s->variants.data[s->variants.n - 1] = v;
  }
  return NULL;
}

static void use(tn_session *s, tn_frame *frame, const tn_tensor **inputs) {
  if (s->frame != frame) frame->ran = false; /* what it answered last is another run's */
  s->frame = frame;
  s->frame_inputs = inputs;
  frame->session = s;
  frame->place = s->n_states ? tn_session_place_states : NULL;
}

static void use_main(tn_session *s) {
  if (s->n_states) {
    memcpy(s->main_inputs, s->input_of, (uint64_t)s->n_inputs * sizeof *s->main_inputs);
    tn_session_bind_states(s, s->main_inputs + s->n_inputs);
  }
  use(s, s->main, s->n_states ? s->main_inputs : s->input_of);
}

tn_status tn_session_choose_frame(tn_session *s, tn_diag *diag) {
  bool fed = false;
  for (int32_t k = 0; k < s->n_all - s->n_inputs; k++) fed = fed || is_fed(s, k);
  if (!fed) {
    use_main(s);
    return TN_OK;
  }
  tn_variant *v = find(s);
  if (!v) use_main(s); /* the one in use may have to go */
  tn_status status = v ? TN_OK : add(s, diag, &v);
  if (status) return status;
  int32_t n = 0;
  for (int32_t k = 0; k < s->n_all; k++)
    if (k < s->n_inputs || is_fed(s, k - s->n_inputs)) v->inputs[n++] = s->input_of[k];
  tn_session_bind_states(s, v->inputs + n);
  use(s, v->frame, v->inputs);
  return TN_OK;
}
