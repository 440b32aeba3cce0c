/* Stage fuse: weights of f32 become f16 or bf16, if the user wants that (tn_model_options).
 *
 * Each is tried as a tenon::Cast of itself in 16 bits. Rewrites of operators that take such weights
 * as they are take the cast in; it goes again where none does, and the weights stay what they were:
 * nothing is rounded that saves nothing. All sums stay f32, and so does every other value. */
#include <math.h>

#include "base/diag.h"
#include "plan/constants/packed.h"
#include "plan/passes/passes.h"

enum { LEAST_ELEMENTS = 1024 }; /* of weights that are worth it */

static bool is_weights(const tn_value *v) {
  return v->constant && v->type->dtype == TN_F32 && v->type->kind == TN_KIND_TENSOR &&
         v->type->rank >= 2 && tn_tensor_elements(v->type) >= LEAST_ELEMENTS &&
         !(v->flags & TN_VALUE_OUTPUT);
}

/* Why the type cannot hold elements of which this is the largest; NULL: it can. What is less than
 * all normal numbers would lose more than its last bits. */
const char *tn_half_misfit(float largest, uint32_t dtype) {
  const float most = dtype == TN_F16 ? 65519.0f : 3.3895e38f,
              least = dtype == TN_F16 ? 0x1p-14f : 0x1p-126f;
  if (!isfinite(largest)) return "holds what is not finite";
  if (largest > most) return "would overflow";
  return largest != 0 && largest < least ? "would underflow" : NULL;
}

/* Says so once, when it is seen first. */
static bool fits(const tn_planner *p, const tn_graph *g, int32_t value, tn_diag *diag) {
  const tn_value *v = tn_graph_val(g, value);
  const bool is_new =
      atomic_load_explicit(&v->constant->largest, memory_order_relaxed) == UINT32_MAX;
  const float largest = tn_const_largest(v->constant, tn_tensor_elements(v->type));
  const char *why = tn_half_misfit(largest, p->precision);
  if (why && is_new)
    tn_diag_add(diag, TN_DIAG_NOTE, "constant '%s' stays f32: its largest element, %g, %s in %s",
                v->name, (double)largest, why, tn_dtype_name(p->precision));
  return !why;
}

/* The same in 16 bits; negative: a status. It is kept for later plans when somebody has taken
 * it. */
static int32_t add_narrowed(const tn_planner *p, tn_graph *g, int32_t value) {
  const char *name = tn_arena_format(&g->arena, "%s as %s", tn_graph_val(g, value)->name,
                                     tn_dtype_name(p->precision));
  const int32_t id = name ? tn_graph_value(g, name) : TN_ERR_MEMORY;
  if (id < 0) return id;
  tn_tensor type = *tn_graph_val(g, value)->type;
  tn_const *wide = tn_graph_val(g, value)->constant;
  type.dtype = p->precision;
  tn_const *c = p->states ? tn_packed_find_constant(p->states, wide, &type) : NULL;
  if (!c) c = tn_const_narrowed(g->a, wide, type.dtype, tn_tensor_elements(&type));
  const tn_status s = c ? tn_graph_set_const(g, id, &type, c) : TN_ERR_MEMORY;
  tn_const_release(c);
  return s ? s : id;
}

/* A node that casts `from`, and its output, which is not folded; negative: a status. */
static int32_t add_cast(const tn_planner *p, tn_graph *g, int32_t from, const tn_tensor *type,
                        tn_diag *diag) {
  const int32_t to = tn_graph_value_of(g, type, true);
  if (to < 0) return to;
  const int32_t id = tn_graph_add_core(g, TN_CORE_CAST, "", from, to, "to", (int64_t)type->dtype);
  const tn_status s = id < 0 ? id : tn_check_from(p, g, id, diag);
  return s ? s : to;
}

static tn_status replace_in(tn_graph *g, int32_t node, int32_t from, int32_t to) {
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < tn_graph_node(g, node)->node.n_inputs && !s; k++)
    if (tn_graph_node(g, node)->node.inputs[k] == from) s = tn_graph_set_node_input(g, node, k, to);
  return s;
}

/* All who read one value read the other, but for those with subgraphs. */
static tn_status replace(tn_graph *g, int32_t from, int32_t to) {
  tn_status s = TN_OK;
  const tn_value *v = tn_graph_val(g, from);
  const int64_t n_users = v->users.n;
  int32_t *users = tn_arena_copy(&g->arena, v->users.data, (uint64_t)n_users * sizeof *users);
  if (!users && n_users) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < n_users && !s; k++)
    if (!tn_graph_node(g, users[k])->n_subgraphs) s = replace_in(g, users[k], from, to);
  return s;
}

/* Has some rewrite begun at an operator that reads it? Then it is worth a look. */
static bool is_read_by_rewrites(const tn_planner *p, const tn_graph *g, const tn_value *v) {
  const tn_rewritedef *const *rewrites;
  for (int64_t k = 0; k < v->users.n; k++) {
    const tn_gnode *n = tn_graph_node(g, v->users.data[k]);
    if (n->def && !n->n_epilogue && tn_registry_rewrites(p->registry, n->def, &rewrites) > 0)
      return true;
  }
  return false;
}

typedef struct trial {
  int32_t weights, half, cast; /* values */
} trial;

static tn_status begin_trial(const tn_planner *p, tn_graph *g, trial *t, tn_diag *diag) {
  const tn_tensor type = *tn_graph_val(g, t->weights)->type;
  t->half = add_narrowed(p, g, t->weights);
  t->cast = t->half < 0 ? t->half : add_cast(p, g, t->half, &type, diag);
  return t->cast < 0 ? t->cast : replace(g, t->weights, t->cast);
}

/* When casts that nobody has taken in are gone. */
static tn_status end_trial(const tn_planner *p, tn_graph *g, const trial *t) {
  const tn_value *half = tn_graph_val(g, t->half);
  tn_const *wide = tn_graph_val(g, t->weights)->constant;
  if (!half->users.n) return TN_OK;
  tn_const *known = p->states ? tn_packed_find_constant(p->states, wide, half->type) : NULL;
  tn_const_release(known);
  if (known) return TN_OK;
  const tn_status s = tn_const_part(half->constant);
  if (s || !p->states) return s;
  tn_note_feature(p->features, TN_FEATURE_PACKED_WEIGHTS);
  tn_packed_keep_constant(p->states, wide, half->type, half->constant);
  return TN_OK;
}

typedef TN_VEC(trial) trials;

static tn_status begin_trials(const tn_planner *p, tn_graph *g, trials *list, tn_diag *diag) {
  const int32_t n_values = (int32_t)g->values.n;
  tn_status s = TN_OK;
  for (int32_t id = 0; id < n_values && !s; id++) {
    trial t = {id, -1, -1};
    if (!is_weights(tn_graph_val(g, id)) || !is_read_by_rewrites(p, g, tn_graph_val(g, id)) ||
        !fits(p, g, id, diag))
      continue;
    s = begin_trial(p, g, &t, diag);
    if (!s) s = tn_vec_push(g->a, list, t);
  }
  return s;
}

tn_status tn_narrow_weights(const tn_planner *p, tn_graph *g, tn_diag *diag) {
  trials list = {0};
  if (!p->precision || tn_plans_for_gpu(p)) return TN_OK;
  if (!tn_has_feature(p->features, TN_FEATURE_NARROW_WEIGHTS))
    return tn_fail(diag, TN_ERR_UNSUPPORTED, TN_WITHOUT_NARROW_WEIGHTS);
  tn_note_feature(p->features, TN_FEATURE_NARROW_WEIGHTS);
  if (!tn_registry_op(p->registry, TN_CORE_DOMAIN, TN_CORE_CAST, 0)) return TN_OK;
  tn_status s = begin_trials(p, g, &list, diag);
  if (!s && list.n) s = tn_pass_rewrite(p, g, diag);
  for (int64_t k = 0; k < list.n && !s; k++)
    s = replace(g, list.data[k].cast, list.data[k].weights);
  if (!s) s = tn_graph_sort(g, diag);
  if (!s) s = tn_graph_remove_dead(g);
  for (int64_t k = 0; k < list.n && !s; k++) s = end_trial(p, g, &list.data[k]);
  tn_vec_free(g->a, &list);
  return s;
}
