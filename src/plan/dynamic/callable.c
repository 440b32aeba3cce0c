/* Callables: graphs that are planned for the types of their inputs as they come, and the bounded
 * cache of these plans.
 *
 * What does not depend on the input types is done once, when the callable is made: checking,
 * folding of constants, rewriting. Planning takes no lock but to look into the cache and to add to
 * it, so two threads may plan at once. */
#include <string.h>
#include <time.h>

#include "base/abi.h"
#include "plan/dynamic/continuation.h"
#include "plan/passes/passes.h"

/* ---- passes ---- */

/* A branch that is never taken need not fit the shapes at hand: what does not fit is said when the
 * branch is to run. */
static tn_status infer_generic(const tn_planner *p, tn_graph *g, tn_cut *cut, bool *out_fits,
                               tn_diag *diag) {
  bool is_branch = g->parent != NULL;
  tn_status status = tn_pass_infer(p, g, true, cut, is_branch ? NULL : diag);
  *out_fits = status == TN_OK;
  return is_branch && status != TN_ERR_MEMORY ? TN_OK : status;
}

static tn_status prepare_graph(tn_callable *c, tn_diag *diag) {
  const tn_planner *p = c->planner;
  tn_graph *g = c->graph;
  tn_cut cut = {0};
  tn_status status = tn_verified(g, "check", tn_pass_check(p, g, diag), diag);
  bool fits = false;
  if (!status && !g->parent) status = tn_pins_check(p, g, diag);
  if (!status) status = tn_verified(g, "infer", infer_generic(p, g, &cut, &fits, diag), diag);
  if (!status && fits) status = tn_passes_at_load(p, g, diag);
  tn_vec_free(p->a, &cut.continuation);
  tn_vec_free(p->a, &cut.needed);
  return status;
}

typedef struct planning {
  tn_callable *c;
  const tn_planner *p; /* the callable's, or its for_cpu */
  const tn_tensor *const *inputs;
  const uint8_t *needs_data; /* as it was when planning began */
  tn_stage stop_after;
  tn_diag *diag;
  tn_plan *plan;
  int32_t asked; /* input whose data are needed but not in the key yet; -1: none */
} planning;

/* ---- inputs ---- */

static tn_status bad_input(const planning *l, int32_t k, const tn_tensor *declared,
                           const char *rule) {
  char want[TN_TENSOR_TEXT], have[TN_TENSOR_TEXT];
  const int32_t value = l->c->graph->inputs.data[k];
  return tn_fail(l->diag, TN_ERR_SHAPE, "%s: input '%s' is %s, which does not fit %s: %s",
                 l->c->name, tn_graph_val(l->c->graph, value)->name,
                 tn_tensor_text(l->inputs[k], have, sizeof have),
                 tn_value_text(l->c->graph, value, declared, want, sizeof want), rule);
}

/* Where an optional is declared, what it would hold may be given as it is: a body takes it so from
 * the iteration before. */
static bool is_bare(const tn_tensor *t, const tn_tensor *declared) {
  return declared->kind == TN_KIND_OPTIONAL && t->kind == (declared->elements & 15u);
}

static tn_status check_input(const planning *l, int32_t k, const tn_tensor *declared) {
  const tn_tensor *t = l->inputs[k];
  if (!t) return tn_fail(l->diag, TN_ERR_INVALID, "%s: input %d is not given", l->c->name, k);
  if (t->kind != declared->kind && !is_bare(t, declared))
    return bad_input(l, k, declared, "a tensor is no list");
  if (declared->dtype != TN_NONE && t->dtype != declared->dtype &&
      !(t->kind != TN_KIND_TENSOR && t->dtype == TN_NONE))
    return bad_input(l, k, declared, "another type");
  if (t->kind != TN_KIND_TENSOR) return TN_OK;
  if (t->dtype == TN_NONE || t->dtype >= TN_DTYPE_COUNT || tn_tensor_bytes(t) < 0)
    return bad_input(l, k, declared, "type and all dims must be known");
  if (t->layout != TN_PLAIN) return bad_input(l, k, declared, "inputs are plain");
  if (declared->rank == TN_RANK_UNKNOWN || declared->kind != TN_KIND_TENSOR) return TN_OK;
  if (t->rank != declared->rank) return bad_input(l, k, declared, "another rank");
  for (int32_t d = 0; d < t->rank; d++)
    if (declared->shape[d] >= 0 && declared->shape[d] != t->shape[d])
      return bad_input(l, k, declared, "another shape");
  return TN_OK;
}

static tn_status set_input(planning *l, int32_t k) {
  tn_graph *g = l->plan->graph;
  int32_t id = g->inputs.data[k];
  tn_value *v = tn_graph_val(g, id);
  tn_status status = check_input(l, k, v->type);
  if (status) return status;
  const tn_tensor *t = l->inputs[k];
  l->plan->key[k] = tn_tensor_in(t);
  l->plan->key[k].data = NULL;
  if (!l->needs_data[k] || t->kind != TN_KIND_TENSOR) {
    /* of lists, what is declared says more than those that are empty */
    if (t->kind == TN_KIND_TENSOR || t->kind != v->type->kind || v->type->dtype == TN_NONE)
      status = tn_graph_set_type(g, id, &l->plan->key[k]);
    v->known = true;
    return status;
  }
  if (!t->data && tn_tensor_bytes(t) > 0) return TN_NEEDS_DATA;
  tn_const *data = NULL;
  status = tn_const_copy(g->a, t, &data);
  if (!status) status = tn_graph_set_const(g, id, t, data);
  tn_const_release(data);
  l->plan->key[k].data = v->type->data; /* lives as long as the graph */
  return status;
}

/* ---- making a plan ---- */

/* Inputs whose data are asked for become part of the key, and planning starts again. */
static tn_status find_asked(planning *l, const tn_cut *cut) {
  const tn_graph *g = l->plan->graph;
  for (int64_t k = 0; k < cut->needed.n; k++)
    for (int64_t j = 0; j < g->inputs.n; j++) {
      if (g->inputs.data[j] != cut->needed.data[k]) continue;
      if (l->needs_data[j])
        return tn_fail(l->diag, TN_ERR_INTERNAL,
                       "%s: an operator asks for the data of input '%s', which it was given",
                       l->c->name, tn_graph_val(g, g->inputs.data[j])->name);
      l->asked = (int32_t)j;
      return TN_NEEDS_DATA;
    }
  return TN_OK;
}

static tn_status finish(planning *l, tn_split *split) {
  tn_plan *plan = l->plan;
  tn_status status = tn_passes_at_plan(l->p, plan->graph, l->stop_after, l->diag);
  if (!status && (!l->stop_after || l->stop_after > TN_STAGE_SELECT)) {
    status = tn_verified(plan->graph, "arrange", tn_pass_arrange(l->p, plan->graph, plan, l->diag),
                         l->diag);
    if (!status) status = tn_split_wire(split, plan);
    if (!status) status = tn_plan_pin_constants(l->p, plan);
  }
  tn_callable_destroy(split->continuation);
  return status;
}

static tn_status infer_and_split(planning *l, tn_split *split) {
  tn_plan *plan = l->plan;
  tn_cut cut = {0};
  const tn_planner *p = l->p;
  const char *name = tn_arena_format(&plan->arena, "the rest of %s", l->c->name);
  tn_status status = name ? tn_pass_infer(p, plan->graph, false, &cut, l->diag) : TN_ERR_MEMORY;
  status = tn_verified(plan->graph, "infer", status, l->diag);
  if (!status) status = find_asked(l, &cut);
  if (!status && l->stop_after != TN_STAGE_INFER)
    status = tn_split_make(p, plan->graph, &cut, name, &plan->arena, l->diag, split);
  tn_vec_free(p->a, &cut.continuation);
  tn_vec_free(p->a, &cut.needed);
  return status;
}

static tn_status fill_plan(planning *l) {
  tn_plan *plan = l->plan;
  plan->n_inputs = (int32_t)plan->graph->inputs.n;
  plan->key = tn_arena_alloc(&plan->arena, ((uint64_t)plan->n_inputs + 1) * sizeof *plan->key);
  tn_status status = plan->key ? TN_OK : TN_ERR_MEMORY;
  for (int32_t k = 0; k < plan->n_inputs && !status; k++) status = set_input(l, k);
  tn_split split = {0};
  if (!status) status = infer_and_split(l, &split);
  if (!status && l->stop_after == TN_STAGE_INFER) return TN_OK;
  return status ? status : finish(l, &split);
}

static tn_status try_plan(planning *l) {
  const tn_allocator *a = l->p->a;
  tn_plan *plan = tn_alloc(a, sizeof *plan);
  if (!plan) return TN_ERR_MEMORY;
  atomic_init(&plan->refs, 1);
  plan->a = a;
  plan->owner = l->c;
  tn_arena_init(&plan->arena, a);
  l->plan = plan;
  l->asked = -1;
  plan->graph = tn_graph_clone(l->c->graph);
  tn_status status = plan->graph ? fill_plan(l) : TN_ERR_MEMORY;
  if (!status) return TN_OK;
  tn_plan_release(plan);
  l->plan = NULL;
  return status;
}

/* A plan that stays on the CPU, since that is cheaper, wants the rewrites that were left out for
 * the device's sake. */
static tn_status make_plan(planning *l) {
  l->p = l->c->planner;
  tn_status status = try_plan(l);
  if (status || l->stop_after || !l->p->for_cpu || !l->plan->graph->n_held_back || l->plan->devices)
    return status;
  tn_plan_release(l->plan);
  l->p = l->p->for_cpu;
  return try_plan(l);
}

/* ---- the cache ---- */

/* Under the lock. A reference, or NULL. */
static tn_plan *find(tn_callable *c, const tn_tensor *const *inputs) {
  for (int64_t k = c->plans.n - 1; k >= 0; k--) {
    tn_plan *plan = c->plans.data[k];
    if (!tn_plan_matches(plan, inputs)) continue;
    memmove(c->plans.data + k, c->plans.data + k + 1,
            (size_t)(c->plans.n - 1 - k) * sizeof *c->plans.data);
    c->plans.data[c->plans.n - 1] = plan;
    return tn_plan_retain(plan);
  }
  return NULL;
}

void tn_callable_forget(tn_callable *c, const tn_tensor *const *inputs) {
  pthread_mutex_lock(&c->lock);
  tn_plan *plan = find(c, inputs);
  if (plan) c->plans.n--; /* it has become the last */
  pthread_mutex_unlock(&c->lock);
  if (plan) tn_plan_release(plan); /* of the cache */
  tn_plan_release(plan);
}

/* Under the lock. Adds a reference to the cache; the plan that has to go for it is handed out.
 * No memory: not kept. */
static tn_plan *keep(tn_callable *c, tn_plan *plan) {
  tn_plan *gone = NULL;
  if (c->plans.n >= tn_planner_max_plans(c->planner)) {
    gone = c->plans.data[0];
    memmove(c->plans.data, c->plans.data + 1, (size_t)(c->plans.n - 1) * sizeof *c->plans.data);
    c->plans.n--;
  }
  if (!tn_vec_push(c->planner->a, &c->plans, plan)) tn_plan_retain(plan);
  return gone;
}

static tn_status plan_with_data(planning *l, uint8_t *needs_data) {
  tn_callable *c = l->c;
  tn_status status = TN_NEEDS_DATA;
  for (int64_t round = 0; round <= c->graph->inputs.n && status == TN_NEEDS_DATA; round++) {
    pthread_mutex_lock(&c->lock);
    if (round && l->asked >= 0) c->needs_data[l->asked] = 1;
    memcpy(needs_data, c->needs_data, (size_t)c->graph->inputs.n);
    pthread_mutex_unlock(&c->lock);
    l->needs_data = needs_data;
    status = make_plan(l);
    if (status == TN_NEEDS_DATA && l->asked < 0) break; /* the data are not there */
  }
  return status;
}

/* A kernel may be chosen whose plug-in another thread is unloading; a moment later it is no longer
 * found, and another one is chosen. */
static tn_status plan_in_time(planning *l, uint8_t *needs_data) {
  enum { ROUNDS = 1000 };
  const tn_planner *p = l->c->planner;
  const struct timespec nap = {0, 1000 * 1000};
  tn_status status = TN_OK;
  for (int round = 0; round < ROUNDS; round++) {
    const int n_late = p->holder ? atomic_load(&p->holder->n_late) : 0;
    const int ticket = tn_registry_enter(p->registry);
    status = plan_with_data(l, needs_data);
    tn_registry_leave(p->registry, ticket);
    if (status != TN_ERR_STATE || !p->holder || atomic_load(&p->holder->n_late) == n_late)
      return status;
    nanosleep(&nap, NULL);
  }
  return tn_fail(l->diag, status, "%s: a plug-in that it needs is being unloaded", l->c->name);
}

static tn_status plan_anew(planning *l) {
  tn_callable *c = l->c;
  const tn_allocator *a = c->planner->a;
  uint64_t n = (uint64_t)c->graph->inputs.n + 1;
  uint8_t *needs_data = tn_alloc(a, n);
  if (!needs_data) return TN_ERR_MEMORY;
  tn_status status = plan_in_time(l, needs_data);
  tn_free(a, needs_data, n);
  if (status || l->stop_after) return status;
  pthread_mutex_lock(&c->lock);
  tn_plan *other = find(c, l->inputs), *gone = NULL; /* another thread may have been faster */
  if (other) {
    gone = l->plan;
    l->plan = other;
  } else {
    gone = keep(c, l->plan);
  }
  pthread_mutex_unlock(&c->lock);
  tn_plan_release(gone);
  return TN_OK;
}

tn_status tn_callable_plan(tn_callable *c, const tn_tensor *const *inputs, tn_stage stop_after,
                           tn_diag *diag, tn_plan **out_plan) {
  *out_plan = NULL;
  for (int64_t k = 0; k < c->graph->inputs.n; k++)
    if (!inputs[k])
      return tn_fail(diag, TN_ERR_INVALID, "%s: input %d is not given", c->name, (int)k);
  if (!stop_after) {
    pthread_mutex_lock(&c->lock);
    *out_plan = find(c, inputs);
    pthread_mutex_unlock(&c->lock);
    if (*out_plan) return TN_OK;
  }
  planning l = {.c = c, .inputs = inputs, .stop_after = stop_after, .diag = diag};
  tn_status status = plan_anew(&l);
  *out_plan = l.plan;
  return status;
}

/* ---- creation and destruction ---- */

static tn_status open(tn_callable *c, const char *name) {
  const tn_allocator *a = c->planner->a;
  size_t n = strlen(name) + 1;
  c->name = tn_alloc(a, n);
  if (!c->name) return TN_ERR_MEMORY;
  memcpy(c->name, name, n); /* at once: its length is what it is freed with */
  c->needs_data = tn_alloc(a, (uint64_t)c->graph->inputs.n + 1);
  return c->needs_data ? TN_OK : TN_ERR_MEMORY;
}

tn_status tn_callable_create_take(const tn_planner *p, tn_graph *graph, const char *name,
                                  tn_diag *diag, tn_callable **out_callable) {
  *out_callable = NULL;
  tn_callable *c = tn_alloc(p->a, sizeof *c);
  if (c && pthread_mutex_init(&c->lock, NULL)) {
    tn_free(p->a, c, sizeof *c);
    c = NULL;
  }
  if (!c) {
    tn_graph_free(graph);
    return TN_ERR_MEMORY;
  }
  c->planner = p;
  c->graph = graph;
  tn_status status = open(c, name ? name : "a graph");
  const int ticket = tn_registry_enter(p->registry);
  if (!status) status = prepare_graph(c, diag);
  tn_registry_leave(p->registry, ticket);
  if (status)
    tn_callable_destroy(c);
  else
    *out_callable = c;
  return status;
}

void tn_callable_destroy(tn_callable *c) {
  if (!c) return;
  const tn_allocator *a = c->planner->a;
  tn_free(a, c->needs_data, (uint64_t)c->graph->inputs.n + 1);
  tn_graph_free(c->graph); /* before plans, as there */
  for (int64_t k = 0; k < c->plans.n; k++) tn_plan_release(c->plans.data[k]);
  tn_vec_free(a, &c->plans);
  if (c->name) tn_free(a, c->name, strlen(c->name) + 1);
  pthread_mutex_destroy(&c->lock);
  tn_free(a, c, sizeof *c);
}
