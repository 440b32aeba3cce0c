/* Changing graphs: inputs of nodes, replacing values, removing nodes. Users lists and producers are
 * kept exact. */
#include <string.h>

#include "graph/graph.h"

static void drop_user(tn_value *v, int32_t node) {
  for (int64_t k = v->users.n - 1; k >= 0; k--) {
    if (v->users.data[k] != node) continue;
    memmove(v->users.data + k, v->users.data + k + 1,
            (size_t)(v->users.n - k - 1) * sizeof *v->users.data);
    v->users.n--;
    return;
  }
}

int32_t *tn_graph_writable_ids(const int32_t *ids) {
  union {
    const int32_t *in;
    int32_t *out;
  } cast = {ids};
  return cast.out;
}

/* Captures name the value of the node's input. */
static void follow_input(const tn_gnode *n, uint32_t index, int32_t value) {
  for (uint32_t s = 0; s < n->n_subgraphs; s++)
    for (int64_t k = 0; k < n->subgraphs[s]->captures.n; k++) {
      tn_capture *c = &n->subgraphs[s]->captures.data[k];
      if (c->input == (int32_t)index) c->outer = value;
    }
}

tn_status tn_graph_set_node_input(tn_graph *g, int32_t node, uint32_t index, int32_t value) {
  tn_gnode *n = tn_graph_node(g, node);
  if (index >= n->node.n_inputs || value >= g->values.n) return TN_ERR_INVALID;
  if (value >= 0 && tn_graph_add_user(g, value, node)) return TN_ERR_MEMORY;
  int32_t old = n->node.inputs[index];
  if (old >= 0) drop_user(tn_graph_val(g, old), node);
  tn_graph_writable_ids(n->node.inputs)[index] = value;
  follow_input(n, index, value);
  g->unsorted = true;
  g->n_edits++;
  return TN_OK;
}

tn_status tn_graph_append_node_input(tn_graph *g, int32_t node, int32_t value) {
  tn_gnode *n = tn_graph_node(g, node);
  uint32_t count = n->node.n_inputs;
  if (count >= n->input_room) { /* a subgraph may capture thousands of values */
    uint64_t room = count < 4 ? 8 : 2 * (uint64_t)count;
    int32_t *ids = room <= INT32_MAX ? tn_arena_alloc(&g->arena, room * sizeof *ids) : NULL;
    if (!ids) return TN_ERR_MEMORY;
    if (count) memcpy(ids, n->node.inputs, count * sizeof *ids);
    n->node.inputs = ids;
    n->input_room = (uint32_t)room;
  }
  tn_graph_writable_ids(n->node.inputs)[count] = -1;
  n->node.n_inputs = count + 1;
  return tn_graph_set_node_input(g, node, count, value);
}

/* What a plug-in puts in the place of a value has to be like it; whether it is shows when it is
 * inferred. */
static tn_status promise(tn_graph *g, int32_t from, int32_t to) {
  const tn_promise p = {*tn_graph_val(g, from)->type, to};
  if (g->lowering < 0 || !tn_graph_val(g, from)->known) return TN_OK;
  return tn_vec_push(g->a, &g->promises, p);
}

tn_status tn_graph_replace_value(tn_graph *g, int32_t from, int32_t to) {
  if (tn_graph_refuse_closed(g)) return TN_ERR_STATE;
  if (!g || from < 0 || to < 0 || from >= g->values.n || to >= g->values.n)
    return tn_graph_refuse(g, TN_ERR_INVALID, "what replaces a value is no value of the graph");
  if (from == to) return TN_OK;
  if (promise(g, from, to)) return TN_ERR_MEMORY;
  g->n_edits++;
  if (!tn_graph_val(g, to)->half) tn_graph_val(g, to)->half = tn_graph_val(g, from)->half;
  while (tn_graph_val(g, from)->users.n) {
    int32_t user = tn_graph_val(g, from)->users.data[0];
    const tn_node *n = &tn_graph_node(g, user)->node;
    for (uint32_t k = 0; k < n->n_inputs; k++) {
      tn_status s = n->inputs[k] == from ? tn_graph_set_node_input(g, user, k, to) : TN_OK;
      if (s) return s;
    }
  }
  for (int64_t k = 0; k < g->outputs.n; k++)
    if (g->outputs.data[k] == from)
      g->outputs.data[k] = to, tn_graph_val(g, to)->flags |= TN_VALUE_OUTPUT;
  tn_graph_val(g, from)->flags &= ~(uint32_t)TN_VALUE_OUTPUT;
  return TN_OK;
}

tn_status tn_graph_move_name(tn_graph *g, int32_t from, int32_t to) {
  tn_value *old = tn_graph_val(g, from), *now = tn_graph_val(g, to);
  if (from == to || *now->name || !*old->name) return TN_OK;
  if (!g->names_wait && tn_map_set(&g->names, old->name, to)) return TN_ERR_MEMORY;
  now->name = old->name;
  old->name = "";
  return TN_OK;
}

tn_status tn_graph_move_value(tn_graph *g, int32_t from, int32_t to) {
  const tn_status s = tn_graph_replace_value(g, from, to);
  return s ? s : tn_graph_move_name(g, from, to);
}

tn_status tn_graph_remove_node(tn_graph *g, int32_t node) {
  tn_gnode *n = tn_graph_node(g, node);
  if (!n->alive) return TN_OK;
  for (uint32_t k = 0; k < n->node.n_outputs; k++) {
    const tn_value *v = n->node.outputs[k] < 0 ? NULL : tn_graph_val(g, n->node.outputs[k]);
    if (v && (v->users.n || v->flags & TN_VALUE_OUTPUT))
      return tn_graph_refuse(g, TN_ERR_STATE, "a node whose outputs are in use cannot be removed");
  }
  for (uint32_t k = 0; k < n->node.n_inputs; k++)
    if (n->node.inputs[k] >= 0) drop_user(tn_graph_val(g, n->node.inputs[k]), node);
  for (uint32_t k = 0; k < n->node.n_outputs; k++)
    if (n->node.outputs[k] >= 0) tn_graph_val(g, n->node.outputs[k])->producer = -1;
  n->alive = false;
  g->unsorted = true;
  g->n_edits++;
  return TN_OK;
}

void tn_graph_detach_outputs(tn_graph *g, int32_t node) {
  const tn_node *n = &tn_graph_node(g, node)->node;
  for (uint32_t k = 0; k < n->n_outputs; k++) {
    if (n->outputs[k] < 0) continue;
    tn_graph_val(g, n->outputs[k])->producer = -1;
    tn_graph_writable_ids(n->outputs)[k] = -1;
  }
}

tn_status tn_graph_attach_output(tn_graph *g, int32_t node, uint32_t index, int32_t value) {
  const tn_node *n = &tn_graph_node(g, node)->node;
  if (index >= n->n_outputs || value < 0 || value >= g->values.n ||
      tn_graph_val(g, value)->producer >= 0)
    return TN_ERR_INVALID;
  tn_graph_writable_ids(n->outputs)[index] = value;
  tn_graph_val(g, value)->producer = node;
  g->unsorted = true;
  g->n_edits++;
  return TN_OK;
}

static bool is_dead(const tn_graph *g, const tn_gnode *n) {
  if (!n->alive || (n->def && n->def->op.flags & TN_OP_IMPURE)) return false;
  for (uint32_t k = 0; k < n->node.n_outputs; k++) {
    const tn_value *v = n->node.outputs[k] < 0 ? NULL : tn_graph_val(g, n->node.outputs[k]);
    if (v && (v->users.n || v->flags & TN_VALUE_OUTPUT)) return false;
  }
  return true;
}

tn_status tn_graph_remove_dead(tn_graph *g) {
  tn_status s = tn_graph_sort(g, NULL);
  for (int64_t k = g->order.n - 1; k >= 0 && !s; k--) {
    int32_t id = g->order.data[k];
    if (is_dead(g, tn_graph_node(g, id))) s = tn_graph_remove_node(g, id);
  }
  return s ? s : tn_graph_sort(g, NULL);
}

static tn_status feed_default(tn_graph *g, const tn_default *d) {
  tn_value *v = tn_graph_val(g, d->value);
  if (tn_graph_set_type(g, d->value, &d->type)) return TN_ERR_MEMORY;
  if (tn_vec_push(g->a, &g->inputs, d->value)) return TN_ERR_MEMORY;
  tn_const_release(v->constant);
  v->constant = NULL;
  v->flags &= ~(uint32_t)TN_VALUE_CONST;
  v->known = false; /* the pass infer says so where the type leaves nothing open */
  return TN_OK;
}

tn_status tn_graph_settle_defaults(tn_graph *g, const uint8_t *fed) {
  tn_status status = TN_OK;
  for (int64_t k = 0; k < g->defaults.n && !status; k++) {
    const tn_default *d = &g->defaults.data[k];
    if (fed && fed[k])
      status = feed_default(g, d);
    else
      tn_graph_val(g, d->value)->flags &= ~(uint32_t)TN_VALUE_INPUT;
  }
  g->defaults.n = 0;
  return status;
}
