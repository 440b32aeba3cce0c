/* The way back from fusing: steps of an epilogue become nodes again, behind the node that had
 * them. Selection asks for it where no kernel takes the node as it is after all (its plan() fails,
 * or the types and layouts that remain are none that it fuses for). */
#include "plan/passes/passes.h"

/* The operand of the step, if it has one, stands among the inputs of the fused node by now; what
 * else the removed node read are constants. */
static tn_status revive(tn_graph *g, int32_t node, uint32_t step, int32_t from, int32_t out) {
  tn_gnode f = *tn_graph_node(g, node);
  tn_gnode old = *tn_graph_node(g, f.fused[step].node);
  int32_t *inputs = tn_arena_copy(&g->arena, old.node.inputs, old.node.n_inputs * sizeof *inputs);
  if (!inputs) return TN_ERR_MEMORY;
  int32_t operand = f.epilogue[step]->input;
  inputs[f.fused[step].place] = from;
  if (operand >= 0) inputs[!f.fused[step].place] = f.node.inputs[operand];
  old.node.inputs = inputs;
  old.node.outputs = &out;
  old.node.n_outputs = 1;
  int32_t id = tn_graph_add_node(g, &old.node);
  if (id < 0) return id;
  tn_gnode *n = tn_graph_node(g, id);
  n->def = old.def;
  n->attrs = old.attrs;
  n->origin = old.origin;
  n->declined = old.declined;
  return TN_OK;
}

static tn_status new_value_like(tn_graph *g, int32_t like, int32_t *out) {
  const tn_value *v = tn_graph_val(g, like);
  *out = tn_graph_value_of(g, v->type, v->known);
  return *out < 0 ? *out : TN_OK;
}

static tn_status drop_epilogue(tn_graph *g, int32_t node) {
  tn_gnode *n = tn_graph_node(g, node);
  uint32_t first = n->node.n_inputs;
  tn_status status = TN_OK;
  for (uint32_t k = 0; k < n->n_epilogue && !status; k++) {
    int32_t operand = n->epilogue[k]->input;
    if (operand < 0) continue;
    if ((uint32_t)operand < first) first = (uint32_t)operand;
    status = tn_graph_set_node_input(g, node, (uint32_t)operand, -1);
  }
  n->node.n_inputs = first; /* operands stand behind all other inputs */
  n->n_epilogue = 0;
  return status;
}

tn_status tn_unfuse(tn_graph *g, int32_t node, bool *out_done) {
  uint32_t n = tn_graph_node(g, node)->n_epilogue;
  *out_done = n > 0;
  if (!n) return TN_OK;
  int32_t last = tn_graph_node(g, node)->node.outputs[0], from = -1, to = -1;
  tn_graph_detach_outputs(g, node);
  tn_status status = new_value_like(g, last, &from);
  if (!status) status = tn_graph_attach_output(g, node, 0, from);
  for (uint32_t k = 0; k < n && !status; k++, from = to) {
    to = last;
    if (k + 1 < n) status = new_value_like(g, last, &to);
    if (!status) status = revive(g, node, k, from, to);
  }
  return status ? status : drop_epilogue(g, node);
}
