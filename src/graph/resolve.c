/* Names across graphs: a subgraph may read values of the graphs around it. Each such value becomes
 * a capture of the subgraph and an input of the node that owns it, so that passes and the executor
 * see all dependencies. Captured constants are shared at once instead. */
#include <string.h>

#include "graph/graph.h"

/* Graphs may be resolved again: a copy of a model's, with more outputs. */
static bool is_captured(const tn_graph *g, int32_t value) {
  bool is = false;
  for (int64_t k = 0; k < g->captures.n && !is; k++) is = g->captures.data[k].inner == value;
  return is;
}

static bool is_free(const tn_value *v, bool is_output) {
  return v->producer < 0 && !(v->flags & (TN_VALUE_INPUT | TN_VALUE_CONST)) &&
         (v->users.n || is_output);
}

/* The value of the parent called `name`, made there (to be captured in turn) if it has a parent
 * itself; -1: nowhere. */
static int32_t parent_value(tn_graph *parent, const char *name) {
  int64_t id = *name ? tn_map_get(&parent->names, name, -1) : -1;
  if (id >= 0) return (int32_t)id;
  for (const tn_graph *up = parent->parent; up; up = up->parent)
    if (*name && tn_map_get(&up->names, name, -1) >= 0) return tn_graph_value(parent, name);
  return -1;
}

static tn_status capture(tn_graph *sub, int32_t inner, int32_t outer, int32_t owner) {
  tn_graph *parent = sub->parent;
  const tn_value *from = tn_graph_val(parent, outer);
  if (from->constant && !(from->flags & TN_VALUE_INPUT)) /* a default may be replaced */
    return tn_graph_set_const(sub, inner, from->type, from->constant);
  const tn_node *n = &tn_graph_node(parent, owner)->node;
  uint32_t input = tn_graph_node(parent, owner)->n_formal;
  while (input < n->n_inputs && n->inputs[input] != outer) input++;
  tn_status s = input < n->n_inputs ? TN_OK : tn_graph_append_node_input(parent, owner, outer);
  tn_capture c = {inner, outer, (int32_t)input};
  return s ? s : tn_vec_push(sub->a, &sub->captures, c);
}

static const char *first_reader(const tn_graph *g, const tn_value *v, char *buf, size_t size) {
  return v->users.n ? tn_node_text(g, tn_graph_node(g, v->users.data[0]), buf, size)
                    : "the graph's outputs";
}

static tn_status resolve(tn_graph *g, int32_t owner, tn_diag *diag) {
  tn_status status = TN_OK, s;
  for (int32_t id = 0; id < (int32_t)g->nodes.n;
       id++) { /* inside first: it may add values to this graph */
    const tn_gnode *n = tn_graph_node(g, id);
    for (uint32_t k = 0; n->alive && k < n->n_subgraphs; k++) {
      n->subgraphs[k]->parent = g;
      if ((s = resolve(n->subgraphs[k], id, diag))) status = s;
      n = tn_graph_node(g, id);
    }
  }
  for (int32_t id = 0; id < (int32_t)g->values.n; id++) {
    const tn_value *v = tn_graph_val(g, id);
    if (!is_free(v, v->flags & TN_VALUE_OUTPUT) || is_captured(g, id)) continue;
    int32_t outer = g->parent && owner >= 0 ? parent_value(g->parent, v->name) : -1;
    char text[TN_NODE_TEXT];
    if (outer < 0)
      status =
          tn_fail(diag, TN_ERR_INVALID,
                  "value '%s', read by %s, is not defined: no node, input or initializer gives it",
                  v->name, first_reader(g, v, text, sizeof text));
    else if ((s = capture(g, id, outer, owner)))
      return s;
  }
  return status;
}

tn_status tn_graph_resolve(tn_graph *g, tn_diag *diag) {
  tn_status status = resolve(g, -1, diag);
  for (int64_t k = 0; k < g->functions.n; k++) {
    tn_status s = resolve(g->functions.data[k].body, -1, diag);
    if (s) status = s;
  }
  return status;
}
