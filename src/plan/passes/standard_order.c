/* Order of dims in graphs that are written for others: transposes there and back go, also around
 * element-wise nodes of one value. */
#include "plan/passes/passes.h"

typedef struct order {
  int32_t rank, perm[TN_MAX_RANK];
} order;

static bool is_op(const tn_gnode *n, const char *op) {
  return n->alive && !*n->node.domain && !strcmp(n->node.op, op);
}

static bool order_of(const tn_graph *g, const tn_gnode *n, order *out) {
  const tn_attr *a = is_op(n, "Transpose") ? tn_node_attr(&n->node, "perm") : NULL;
  if (!a) return false;
  const tn_value *x = tn_graph_val(g, n->node.inputs[0]);
  if (!x->known || x->type->rank != a->ints.size || a->ints.size > TN_MAX_RANK) return false;
  out->rank = x->type->rank;
  for (int32_t k = 0; k < out->rank; k++) out->perm[k] = (int32_t)a->ints.data[k];
  return true;
}

static bool undoes(const order *a, const order *b) {
  for (int32_t k = 0; k < a->rank; k++)
    if (a->rank != b->rank || a->perm[b->perm[k]] != k) return false;
  return true;
}

static const tn_gnode *maker(const tn_graph *g, int32_t value) {
  const tn_value *v = tn_graph_val(g, value);
  return v->producer < 0 ? NULL : tn_graph_node(g, v->producer);
}

/* Does any order of dims do for the node, as far as input 0 is concerned? */
static bool is_unary(const tn_graph *g, const tn_gnode *n) {
  const bool is_elementwise = n->def && n->def->op.flags & TN_OP_ELEMENTWISE;
  if (n->node.n_outputs != 1 || n->node.n_inputs < 1 || n->node.inputs[0] < 0 || n->n_subgraphs ||
      (!is_elementwise && !is_op(n, "QuantizeLinear") && !is_op(n, "DequantizeLinear")))
    return false;
  for (uint32_t k = 1; k < n->node.n_inputs; k++) {
    const tn_value *v = n->node.inputs[k] < 0 ? NULL : tn_graph_val(g, n->node.inputs[k]);
    if (v && (!v->known || tn_tensor_elements(v->type) != 1 || v->type->rank > 0)) return false;
  }
  return true;
}

static bool is_inner(const tn_value *v) {
  return v->users.n == 1 && !(v->flags & TN_VALUE_OUTPUT) && v->known;
}

/* The value in the order that `o` makes of it. */
static tn_status set_order(tn_graph *g, int32_t value, const order *o) {
  tn_tensor type = *tn_graph_val(g, value)->type;
  const tn_tensor old = type;
  for (int32_t k = 0; k < o->rank; k++) type.shape[k] = old.shape[o->perm[k]];
  return tn_graph_set_type(g, value, &type);
}

/* `to` is read instead of `from`; outputs keep their names. */
static tn_status take_place(tn_graph *g, int32_t from, int32_t to) {
  tn_value *old = tn_graph_val(g, from), *now = tn_graph_val(g, to);
  if (!(old->flags & TN_VALUE_OUTPUT)) return tn_graph_replace_value(g, from, to);
  now->name = old->name;
  old->name = "";
  return tn_graph_replace_value(g, from, to);
}

/* A transpose, nodes of one value behind it, and the transpose `node` that undoes it. */
static tn_status cancel(tn_graph *g, int32_t node) {
  order back, there;
  const tn_gnode *n = tn_graph_node(g, node);
  if (!order_of(g, n, &back)) return TN_OK;
  const int32_t last = n->node.inputs[0], out = n->node.outputs[0];
  int32_t value = last, first = -1;
  const tn_gnode *m = maker(g, value);
  for (; m && is_inner(tn_graph_val(g, value)) && is_unary(g, m); m = maker(g, value)) {
    first = tn_graph_val(g, value)->producer;
    value = m->node.inputs[0];
  }
  if (!m || !order_of(g, m, &there) || !undoes(&there, &back)) return TN_OK;
  const int32_t source = m->node.inputs[0];
  if (first < 0 && tn_graph_val(g, out)->flags & TN_VALUE_OUTPUT) return TN_OK;
  tn_status s = first < 0 ? TN_OK : tn_graph_set_node_input(g, first, 0, source);
  for (int32_t v = last; !s && first >= 0 && v != source; v = maker(g, v)->node.inputs[0])
    s = set_order(g, v, &back);
  return s ? s : take_place(g, out, first < 0 ? source : last);
}

tn_status tn_cancel_transposes(tn_graph *g) {
  tn_status s = TN_OK;
  for (int32_t id = 0; id < (int32_t)g->nodes.n && !s; id++)
    if (tn_graph_node(g, id)->alive) s = cancel(g, id);
  return s ? s : tn_graph_remove_dead(g);
}
