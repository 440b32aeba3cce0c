/* Topological order by depth-first search from the present order, so that it changes only where it
 * must. */
#include "graph/graph.h"

enum { NEW = 0, OPEN = 1, DONE = 2 };

typedef struct sorter {
  tn_graph *g;
  TN_VEC(int32_t) stack, sorted;
} sorter;

/* Pushes the producers of a node that are not placed yet. A producer that is open closes a cycle:
 * its id, else -1. */
static int32_t push_producers(sorter *s, int32_t id, tn_status *status) {
  const tn_gnode *n = tn_graph_node(s->g, id);
  for (uint32_t k = n->node.n_inputs; k-- > 0;) {
    int32_t p = n->node.inputs[k] < 0 ? -1 : tn_graph_val(s->g, n->node.inputs[k])->producer;
    if (p < 0 || tn_graph_node(s->g, p)->mark == DONE) continue;
    if (tn_graph_node(s->g, p)->mark == OPEN) return p;
    if (tn_vec_push(s->g->a, &s->stack, p)) *status = TN_ERR_MEMORY;
  }
  return -1;
}

static tn_status visit(sorter *s, int32_t root, tn_diag *diag) {
  tn_status status = tn_vec_push(s->g->a, &s->stack, root);
  while (!status && s->stack.n) {
    int32_t id = s->stack.data[s->stack.n - 1];
    tn_gnode *n = tn_graph_node(s->g, id);
    if (n->mark == NEW) {
      n->mark = OPEN;
      int32_t on_cycle = push_producers(s, id, &status);
      char text[TN_NODE_TEXT];
      if (on_cycle >= 0)
        status = tn_fail(diag, TN_ERR_INVALID, "%s depends on itself: the graph has a cycle",
                         tn_node_text(s->g, tn_graph_node(s->g, on_cycle), text, sizeof text));
      continue;
    }
    s->stack.n--;
    if (n->mark == DONE) continue;
    n->mark = DONE;
    status = tn_vec_push(s->g->a, &s->sorted, id);
  }
  return status;
}

tn_status tn_graph_sort(tn_graph *g, tn_diag *diag) {
  if (!g->unsorted) return TN_OK;
  sorter s = {.g = g};
  for (int64_t k = 0; k < g->nodes.n; k++) g->nodes.data[k].mark = NEW;
  tn_status status = tn_vec_room(g->a, &s.sorted, g->order.n + 1);
  for (int64_t k = 0; k < g->order.n && !status; k++) {
    const tn_gnode *n = tn_graph_node(g, g->order.data[k]);
    if (n->alive && n->mark == NEW) status = visit(&s, g->order.data[k], diag);
  }
  if (!status) {
    g->order.n = s.sorted.n;
    for (int64_t k = 0; k < s.sorted.n; k++) g->order.data[k] = s.sorted.data[k];
    g->unsorted = false;
  }
  tn_vec_free(g->a, &s.stack);
  tn_vec_free(g->a, &s.sorted);
  return status;
}
