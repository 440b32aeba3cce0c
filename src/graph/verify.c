/* The verifier: the rules every pass must leave true. Slow and thorough; debug builds run it after
 * every pass. */
#include <string.h>

#include "graph/graph.h"

typedef struct verifier {
  const tn_graph *g;
  const char *when;
  tn_diag *diag;
  tn_status status;
} verifier;

static void breach(verifier *v, const char *subject, const char *rule) {
  v->status = tn_fail(v->diag, TN_ERR_INTERNAL, "after %s: %s %s", v->when, subject, rule);
}

static void breach_node(verifier *v, int32_t id, const char *rule) {
  char text[TN_NODE_TEXT];
  breach(v, tn_node_text(v->g, tn_graph_node(v->g, id), text, sizeof text), rule);
}

static int64_t count_reads(const tn_graph *g, int32_t node, int32_t value) {
  const tn_node *n = &tn_graph_node(g, node)->node;
  int64_t reads = 0;
  for (uint32_t k = 0; k < n->n_inputs; k++) reads += n->inputs[k] == value;
  return reads;
}

static int64_t count_uses(const tn_value *v, int32_t node) {
  int64_t uses = 0;
  for (int64_t k = 0; k < v->users.n; k++) uses += v->users.data[k] == node;
  return uses;
}

static void check_value(verifier *v, int32_t id) {
  const tn_value *value = tn_graph_val(v->g, id);
  const char *name = *value->name ? value->name : "(unnamed value)";
  for (int64_t k = 0; k < value->users.n; k++) {
    int32_t user = value->users.data[k];
    if (!tn_graph_node(v->g, user)->alive)
      breach(v, name, "is used by a removed node");
    else if (count_reads(v->g, user, id) != count_uses(value, user))
      breach(v, name, "has a users list that is not exact");
  }
  if (value->producer >= 0 && !tn_graph_node(v->g, value->producer)->alive)
    breach(v, name, "comes from a removed node");
  if (value->producer >= 0 && value->constant) breach(v, name, "is a constant and has a producer");
  if ((value->constant != NULL) != ((value->flags & TN_VALUE_CONST) != 0))
    breach(v, name, "has a wrong constant flag");
  if (value->known && value->type->kind == TN_KIND_TENSOR && tn_tensor_elements(value->type) < 0)
    breach(v, name, "is marked known but its type is not");
}

static void check_arity(verifier *v, int32_t id) {
  const tn_gnode *n = tn_graph_node(v->g, id);
  if (n->n_formal > n->node.n_inputs) {
    breach_node(v, id, "has fewer inputs than formal ones");
    return;
  }
  if (!n->def || !strcmp(n->node.domain, "tenon")) return;
  int32_t formal = tn_node_n_given(n, n->def), outs = (int32_t)n->node.n_outputs;
  while (outs && n->node.outputs[outs - 1] < 0) outs--;
  if (formal && !tn_schema_input_of(&n->def->schema, formal - 1, formal))
    breach_node(v, id, "has more inputs than its schema");
  if (outs && !tn_schema_output_of(&n->def->schema, outs - 1, outs))
    breach_node(v, id, "has more outputs than its schema");
}

static void check_node(verifier *v, int32_t id, uint8_t *produced) {
  const tn_gnode *n = tn_graph_node(v->g, id);
  for (uint32_t k = 0; k < n->node.n_inputs; k++) {
    int32_t value = n->node.inputs[k];
    if (value < 0) continue;
    if (value >= v->g->values.n) {
      breach_node(v, id, "reads a value that does not exist");
      return;
    }
    const tn_value *in = tn_graph_val(v->g, value);
    if (in->producer >= 0 && !produced[value])
      breach_node(v, id, "stands before the node that it reads from");
    if (!count_uses(in, id)) breach_node(v, id, "is missing in the users list of a value it reads");
  }
  for (uint32_t k = 0; k < n->node.n_outputs; k++) {
    int32_t value = n->node.outputs[k];
    if (value < 0) continue;
    if (value >= v->g->values.n) {
      breach_node(v, id, "writes a value that does not exist");
      return;
    }
    if (tn_graph_val(v->g, value)->producer != id)
      breach_node(v, id, "is not the producer of its own output");
    produced[value] = 1;
  }
  check_arity(v, id);
  for (uint32_t s = 0; s < n->n_subgraphs; s++)
    for (int64_t k = 0; k < n->subgraphs[s]->captures.n; k++) {
      const tn_capture *c = &n->subgraphs[s]->captures.data[k];
      if (c->input < 0 || (uint32_t)c->input >= n->node.n_inputs ||
          n->node.inputs[c->input] != c->outer)
        breach_node(v, id, "has a subgraph whose captures do not match its inputs");
    }
}

tn_status tn_graph_verify(const tn_graph *g, const char *when, tn_diag *diag) {
  verifier v = {g, when, diag, TN_OK};
  if (g->unsorted) breach(&v, "the graph", "is not in topological order");
  uint8_t *produced = tn_alloc(g->a, (uint64_t)g->values.n + 1);
  if (!produced) return TN_ERR_MEMORY;
  for (int32_t id = 0; id < (int32_t)g->values.n; id++) check_value(&v, id);
  for (int64_t k = 0; k < g->order.n; k++) check_node(&v, g->order.data[k], produced);
  for (int64_t k = 0; k < g->outputs.n; k++) {
    const tn_value *out = tn_graph_val(g, g->outputs.data[k]);
    if (!(out->flags & TN_VALUE_OUTPUT))
      breach(&v, out->name, "is a graph output without the flag");
  }
  tn_free(g->a, produced, (uint64_t)g->values.n + 1);
  return v.status;
}
