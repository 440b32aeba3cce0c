/* Selection: one solver picks kernel, dtypes and layouts for all nodes, so that kernels and
 * conversions together cost least. Nodes that no kernel takes are lowered; what is left then is
 * reported, all at once, with every kernel's reason. */
#include <string.h>

#include "device/device.h"
#include "plan/passes/passes.h"
#include "plan/select/select.h"
#include "plan/tuning/tuning.h"

enum { MAX_LOWERINGS = 32 }; /* deep; operators that lower to one another in a circle end here */

static void free_options(tn_selection *s) {
  for (int32_t k = 0; k < s->n_values; k++) tn_vec_free(s->p->a, &s->conversions[k]);
  s->n_nodes = s->n_values = 0;
  s->nodes = NULL; /* in the arena */
}

static void close(tn_selection *s) {
  free_options(s);
  for (int64_t k = 0; k < s->made.n; k++) tn_const_release(s->made.data[k].constant);
  tn_vec_free(s->p->a, &s->made);
  tn_vec_free(s->p->a, &s->layouts);
  tn_vec_free(s->p->a, &s->candidates);
  tn_vec_free(s->p->a, &s->refusals);
  tn_map_free(&s->reasons);
  tn_arena_clear(&s->arena);
}

/* Options for the graph as it is now. */
static tn_status gather(tn_selection *s) {
  tn_graph *g = s->g;
  free_options(s);
  s->nodes = tn_arena_alloc(&s->arena, ((uint64_t)g->nodes.n + 1) * sizeof *s->nodes);
  s->conversions = tn_arena_alloc(&s->arena, ((uint64_t)g->values.n + 1) * sizeof *s->conversions);
  if (!s->nodes || !s->conversions) return TN_ERR_MEMORY;
  s->n_nodes = (int32_t)g->nodes.n;
  s->n_values = (int32_t)g->values.n;
  s->layouts.n = 0;
  tn_status status = tn_vec_push(s->p->a, &s->layouts, TN_PLAIN);
  /* Without instruction sets all that takes any layout stays plain: emit-c writes no other one. */
  const bool plain_only = s->p->model_flags & TN_MODEL_NO_OPTIMIZE || !s->p->isa;
  for (int64_t k = 0; k < g->order.n && !status && !plain_only; k++)
    status = tn_select_layouts(s, g->order.data[k]);
  for (int32_t k = 0; k < s->n_nodes; k++) s->nodes[k].chosen = -1;
  memset(s->seen, -1, sizeof s->seen);
  for (int64_t k = 0; k < g->order.n && !status; k++)
    status = tn_select_gather(s, g->order.data[k]);
  return status;
}

/* Has it a kernel where it has to run? */
static bool is_served(const tn_selection *s, const tn_node_options *o) {
  if (!o->candidates.n || !s->p->n_devices || s->p->fallback == TN_FALLBACK_ALLOW)
    return o->candidates.n > 0;
  bool is_there = o->is_host_bound;
  for (int64_t k = 0; k < o->candidates.n; k++) is_there = is_there || o->candidates.data[k].device;
  return is_there;
}

/* Gives every node without candidates back what was fused onto it, or else lowers it if it can
 * be. */
static tn_status lower_missing(tn_selection *s, bool *out_changed) {
  *out_changed = false;
  for (int32_t k = 0; k < s->n_nodes; k++) {
    bool done = false;
    const tn_gnode *n = tn_graph_node(s->g, k);
    tn_status status = TN_OK;
    if (!n->alive || is_served(s, &s->nodes[k])) continue;
    if (n->n_epilogue)
      status = tn_unfuse(s->g, k, &done);
    else if (n->def->op.lower && !tn_pin_forbids_lowering(s->p, n))
      status = tn_lower_node(s->p, s->g, k, &done, s->diag);
    if (status) return status;
    *out_changed = *out_changed || done;
  }
  return *out_changed ? tn_graph_sort(s->g, s->diag) : TN_OK;
}

static void add_types(const tn_selection *s, const int32_t *values, uint32_t n, tn_text *text) {
  for (uint32_t k = 0; k < n; k++) {
    char type[TN_TENSOR_TEXT] = "none";
    if (values[k] >= 0) tn_tensor_text(tn_graph_val(s->g, values[k])->type, type, sizeof type);
    tn_text_add(text, "%s%s", k ? ", " : "", type);
  }
}

/* "not supported: operator X version 7 with types f32[1,2] -> f32[1,2]; a: reason; b: reason" */
static void report(const tn_selection *s, int32_t node) {
  const tn_gnode *n = tn_graph_node(s->g, node);
  const tn_refusals *refusals = &s->nodes[node].refusals;
  char name[TN_NODE_TEXT];
  tn_text text;
  tn_text_init(&text, s->p->a);
  tn_text_add(&text, "%s: not supported: operator %s%s%s version %d with types ",
              tn_node_text(s->g, n, name, sizeof name), n->node.domain, *n->node.domain ? "::" : "",
              n->node.op, n->node.version);
  add_types(s, n->node.inputs, n->node.n_inputs, &text);
  tn_text_add(&text, " -> ");
  add_types(s, n->node.outputs, n->node.n_outputs, &text);
  if (!refusals->n) tn_text_add(&text, "; no kernel is registered");
  const char *pin = tn_pin_of(s->p, n); /* that other kernels are not taken needs no telling */
  for (int64_t k = 0; k < refusals->n; k++)
    if (!pin || !strcmp(pin, refusals->data[k].kernel))
      tn_text_add(&text, "; %s: %s", refusals->data[k].kernel, refusals->data[k].reason);
  for (uint32_t d = 1; d <= s->p->n_devices; d++)
    tn_text_add(&text, "; %s: %s", s->p->devices[d - 1]->name, s->nodes[node].away[d]);
  tn_diag_add(s->diag, TN_DIAG_ERROR, "%s", tn_text_get(&text));
  tn_text_free(&text);
}

static tn_status report_missing(const tn_selection *s) {
  tn_status status = TN_OK;
  for (int64_t k = 0; k < s->g->order.n; k++) {
    if (s->nodes[s->g->order.data[k]].candidates.n) continue;
    report(s, s->g->order.data[k]);
    status = TN_ERR_UNSUPPORTED;
  }
  return status;
}

static tn_status select_all(tn_selection *s) {
  bool changed = true;
  tn_status status = TN_OK;
  for (int round = 0; changed && !status; round++) {
    status = gather(s);
    changed = false;
    if (!status && round < MAX_LOWERINGS) status = lower_missing(s, &changed);
  }
  if (!status) status = report_missing(s);
  if (!status && s->p->n_devices) status = tn_select_partition(s);
  if (!status) status = tn_select_solve(s);
  return status ? status : tn_select_apply(s);
}

tn_status tn_pass_select(const tn_planner *p, tn_graph *g, tn_diag *diag) {
  tn_selection s = {.p = p, .g = g, .diag = diag};
  s.measures = p->tuning && tn_tuning_measures(p->tuning);
  s.is_tuned = s.measures || (p->tuning && tn_tuning_n(p->tuning) > 0);
  tn_arena_init(&s.arena, p->a);
  tn_map_init_borrowing(&s.reasons, p->a);
  s.cast = tn_registry_op(p->registry, TN_CORE_DOMAIN, TN_CORE_CAST, 0);
  s.reorder = tn_registry_op(p->registry, TN_CORE_DOMAIN, TN_CORE_REORDER, 0);
  s.transfer = tn_registry_op(p->registry, TN_CORE_DOMAIN, TN_CORE_TRANSFER, 0);
  tn_status status = tn_graph_sort(g, diag);
  if (!status) status = select_all(&s);
  if (!status && s.asked && !s.measures && !tn_tuning_used(p->tuning))
    tn_diag_add(diag, TN_DIAG_NOTE,
                "none of the %lld measured times is of a node of this model, with its types, "
                "shapes and threads: kernels are chosen by what they estimate",
                (long long)tn_tuning_n(p->tuning));
  close(&s);
  return status;
}
