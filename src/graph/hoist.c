/* Loops that hand a carried value on as it came in: converters carry what a body only reads,
 * weights among it. The body captures such a value instead. Then iterations do not copy it, and a
 * constant is one inside, too. */
#include <string.h>

#include "graph/core_ops.h"

enum { FIRST_IN = 2, FIRST_OUT = 1 }; /* of a body: before them stand trip and condition */

/* A loop whose node and body agree on what is carried; others are refused when they are inferred.
 */
static bool is_regular(const tn_gnode *n) {
  if (!tn_is_loop(n) || n->n_subgraphs != 1) return false;
  const tn_graph *body = n->subgraphs[0];
  return body->inputs.n >= FIRST_IN && body->inputs.n == n->n_formal &&
         body->outputs.n - FIRST_OUT >= body->inputs.n - FIRST_IN &&
         body->outputs.n - FIRST_OUT >= n->node.n_outputs;
}

/* The value that this one is a copy of, or itself. */
static int32_t original(const tn_graph *g, int32_t value) {
  for (int32_t p; (p = tn_graph_val(g, value)->producer) >= 0;) {
    const tn_gnode *n = tn_graph_node(g, p);
    if (!tn_is_identity(n) || n->node.n_inputs != 1 || n->node.inputs[0] < 0) break;
    value = n->node.inputs[0];
  }
  return value;
}

/* Input `index` of the body comes back as it was, and what comes first is given. */
static bool is_invariant(const tn_gnode *n, uint32_t index) {
  const tn_graph *body = n->subgraphs[0];
  const int32_t in = body->inputs.data[index];
  return n->node.inputs[index] >= 0 && !tn_graph_val(body, in)->constant &&
         original(body, body->outputs.data[index - FIRST_IN + FIRST_OUT]) == in;
}

static void drop_at(int32_t *ids, int64_t n, int64_t at) {
  memmove(ids + at, ids + at + 1, (size_t)(n - at - 1) * sizeof *ids);
}

static bool is_among(const tn_graph *g, int32_t value) {
  for (int64_t k = 0; k < g->outputs.n; k++)
    if (g->outputs.data[k] == value) return true;
  return false;
}

/* The body has neither the input nor the output any more. */
static void shorten_body(tn_graph *body, uint32_t index) {
  const uint32_t back = index - FIRST_IN + FIRST_OUT;
  const int32_t out = body->outputs.data[back];
  tn_graph_val(body, body->inputs.data[index])->flags &= ~(uint32_t)TN_VALUE_INPUT;
  drop_at(body->inputs.data, body->inputs.n--, index);
  drop_at(body->outputs.data, body->outputs.n--, back);
  if (!is_among(body, out)) tn_graph_val(body, out)->flags &= ~(uint32_t)TN_VALUE_OUTPUT;
}

/* What the loop gave is what it was given, even after no iteration. */
static tn_status replace_output(tn_graph *g, int32_t node, uint32_t k, int32_t initial) {
  tn_node *n = &tn_graph_node(g, node)->node;
  if (k >= n->n_outputs) return TN_OK;
  const int32_t out = n->outputs[k];
  if (out >= 0) {
    const tn_status s = tn_graph_replace_value(g, out, initial);
    if (s) return s;
    tn_graph_val(g, out)->producer = -1;
  }
  drop_at(tn_graph_writable_ids(n->outputs), n->n_outputs--, k);
  return TN_OK;
}

/* The node's input `index` stands among the captured ones now, last. */
static void move_input(tn_gnode *n, uint32_t index) {
  tn_graph *body = n->subgraphs[0];
  int32_t *ids = tn_graph_writable_ids(n->node.inputs);
  const int32_t initial = ids[index];
  drop_at(ids, n->node.n_inputs, index);
  ids[n->node.n_inputs - 1] = initial;
  n->n_formal--;
  for (int64_t k = 0; k < body->captures.n; k++)
    if (body->captures.data[k].input > (int32_t)index) body->captures.data[k].input--;
}

static tn_status hoist_value(tn_graph *g, int32_t node, uint32_t index) {
  tn_gnode *n = tn_graph_node(g, node);
  tn_graph *body = n->subgraphs[0];
  const int32_t inner = body->inputs.data[index], initial = n->node.inputs[index];
  const tn_capture c = {inner, initial, (int32_t)n->node.n_inputs - 1};
  tn_status s = tn_vec_push(body->a, &body->captures, c);
  if (s) return s;
  body->captures.n--; /* there is room */
  s = replace_output(g, node, index - FIRST_IN, initial);
  if (s) return s;
  move_input(n, index);
  body->captures.data[body->captures.n++] = c;
  shorten_body(body, index);
  g->unsorted = body->unsorted = true;
  g->n_edits++, body->n_edits++;
  return TN_OK;
}

/* Bodies first: what an inner loop hands on may be what the outer one does. */
static tn_status hoist_inside(tn_gnode *n) {
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < n->n_subgraphs; k++)
    for (int32_t id = 0; id < (int32_t)n->subgraphs[k]->nodes.n && !s; id++)
      s = tn_graph_hoist(n->subgraphs[k], id);
  return s;
}

tn_status tn_graph_hoist(tn_graph *g, int32_t node) {
  tn_gnode *n = tn_graph_node(g, node);
  if (!n->alive || !n->n_subgraphs) return TN_OK;
  tn_status s = hoist_inside(n);
  if (!is_regular(n)) return s;
  for (uint32_t k = n->n_formal; k-- > FIRST_IN && !s;)
    if (is_invariant(n, k)) s = hoist_value(g, node, k);
  return s;
}
