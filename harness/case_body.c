/* Graphs of a case become graphs of a model; and what a case says is expected of its outputs. */
#include <string.h>

#include "harness/harness.h"

static const tn_graph_api *api(void) { return tn_graph_functions(); }

static tn_status make_graph(check_problem *p, tn_graph *parent, const check_graph *from,
                            tn_graph **out);

static tn_status make_attr(check_problem *p, tn_graph *g, const check_attr *from, const tn_attr *as,
                           const tn_attr **out) {
  tn_attr *a = check_need(tn_arena_copy(&p->arena, as, sizeof *a));
  *out = a;
  if (!from->graph) return TN_OK;
  tn_graph **graphs = check_need(tn_arena_alloc(&p->arena, sizeof *graphs));
  a->graphs = graphs;
  a->n_graphs = 1;
  return make_graph(p, g, from->graph, graphs);
}

static tn_status value_of(tn_graph *g, const char *name, int32_t *out) {
  *out = strcmp(name, "_") ? api()->value(g, name) : -1;
  return *out < -1 ? *out : TN_OK;
}

static tn_status make_constant(check_problem *p, tn_graph *g, const check_node *n) {
  tn_tensor t;
  int32_t value;
  tn_status s = value_of(g, n->outputs[0], &value);
  if (s) return s;
  if (!check_problem_make(p, n->constant, 1, &t)) return TN_ERR_INVALID;
  return api()->value_set_const(g, value, &t, 1);
}

static tn_status make_node(check_problem *p, tn_graph *g, const check_node *n) {
  int32_t inputs[CHECK_MAX_IO], outputs[CHECK_MAX_IO];
  tn_status s = TN_OK;
  if (n->constant) return make_constant(p, g, n);
  if (n->n_inputs > CHECK_MAX_IO || n->n_outputs > CHECK_MAX_IO) return TN_ERR_OVERFLOW;
  const tn_attr **attrs =
      check_need(tn_arena_alloc(&p->arena, ((uint64_t)n->n_attrs + 1) * sizeof *attrs));
  for (int32_t k = 0; k < n->n_attrs && !s; k++)
    s = make_attr(p, g, &n->attrs[k], &n->attrs[k].value, &attrs[k]);
  for (int32_t k = 0; k < n->n_inputs && !s; k++) s = value_of(g, n->inputs[k], &inputs[k]);
  for (int32_t k = 0; k < n->n_outputs && !s; k++) s = value_of(g, n->outputs[k], &outputs[k]);
  if (!s && *n->domain) s = api()->set_opset(g, n->domain, 1);
  if (s) return s;
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = n->domain,
                        .op = n->op,
                        .name = n->outputs[0],
                        .n_inputs = (uint32_t)n->n_inputs,
                        .n_outputs = (uint32_t)n->n_outputs,
                        .n_attrs = (uint32_t)n->n_attrs,
                        .inputs = inputs,
                        .outputs = outputs,
                        .attrs = attrs,
                        .offset = -1};
  int32_t id = api()->add_node(g, &node);
  return id < 0 ? id : TN_OK;
}

static tn_status make_graph(check_problem *p, tn_graph *parent, const check_graph *from,
                            tn_graph **out) {
  tn_graph *g = *out = api()->subgraph_new(parent);
  int32_t value;
  tn_status s = g ? TN_OK : TN_ERR_MEMORY;
  for (int32_t k = 0; k < from->n_inputs && !s; k++) {
    s = value_of(g, from->inputs[k], &value);
    if (!s) s = api()->add_input(g, value);
  }
  for (int32_t k = 0; k < from->n_nodes && !s; k++) s = make_node(p, g, &from->nodes[k]);
  for (int32_t k = 0; k < from->n_outputs && !s; k++) {
    s = value_of(g, from->outputs[k], &value);
    if (!s) s = api()->add_output(g, value);
  }
  return s;
}

tn_status check_body_attrs(check_problem *p, tn_graph *g, const tn_attr *const *from,
                           const tn_attr *const **out) {
  const int32_t n = p->line->n_attrs;
  const tn_attr **attrs = check_need(tn_arena_alloc(&p->arena, ((uint64_t)n + 1) * sizeof *attrs));
  tn_status s = TN_OK;
  for (int32_t k = 0; k < n && !s; k++) s = make_attr(p, g, &p->line->attrs[k], from[k], &attrs[k]);
  *out = attrs;
  return s;
}

tn_status check_body_opsets(const check_problem *p, tn_graph *g) {
  return *p->op->op.domain ? api()->set_opset(g, "", p->env->newest) : TN_OK;
}

/* ---- expected outputs ------------------------------------------------------------------------ */

static bool make_list(check_problem *p, const check_input *e, tn_tensor **out) {
  tn_tensor t;
  const uint32_t dtype = e->n ? check_problem_dtype(p, e->items[e->n - 1].type) : TN_F32;
  if (tn_list_create(p->env->runtime, e->map ? TN_KIND_MAP : TN_KIND_SEQUENCE, dtype, out))
    check_die("no list");
  for (int32_t k = 0; k < e->n; k++) {
    if (!check_problem_make(p, &e->items[k], 1, &t)) return false;
    if (tn_list_append(*out, &t)) check_die("no item");
  }
  return true;
}

bool check_body_expected(check_problem *p, check_results *r) {
  bool ok = true;
  r->n = (uint32_t)tn_min_i64(p->line->n_expect, CHECK_MAX_IO);
  for (uint32_t k = 0; k < r->n && ok; k++) {
    const check_input *e = &p->line->expect[k];
    ok = e->sequence ? make_list(p, e, &r->lists[k])
                     : check_problem_make(p, e->items, 1, &r->values[k]);
    if (ok && e->sequence) r->values[k] = *r->lists[k];
  }
  return ok;
}
