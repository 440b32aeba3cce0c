/* Epilogues: element-wise nodes become fused steps of the node before them, if a kernel of that
 * node takes them in registers. Once for a graph, and last: rewrites and lowerings know no
 * epilogues. */
#include "plan/passes/passes.h"

/* The node that alone reads the value, if it may be fused into the value's producer; -1: none. */
static int32_t only_user(const tn_graph *g, int32_t value) {
  const tn_value *v = tn_graph_val(g, value);
  return v->users.n == 1 && !(v->flags & TN_VALUE_OUTPUT) && v->known ? v->users.data[0] : -1;
}

bool tn_has_epilogue_kernel(const tn_planner *p, const tn_gnode *n) {
  const tn_kerneldef *const *kernels;
  int32_t count = n->def ? tn_registry_kernels(p->registry, n->def, &kernels) : 0;
  for (int32_t k = 0; k < count; k++)
    if (!kernels[k]->device && kernels[k]->kernel.flags & TN_KERNEL_EPILOGUE) return true;
  return false;
}

bool tn_epilogue_operand_fits(const tn_tensor *t, const tn_tensor *out) {
  if (t->dtype != out->dtype || t->rank > out->rank) return false;
  if (tn_same_shape(t, out)) return true;
  int32_t varying = 0;
  for (int32_t k = 0; k < t->rank; k++) {
    if (t->shape[k] == 1) continue;
    if (t->shape[k] != out->shape[out->rank - t->rank + k]) return false;
    varying++;
  }
  return varying == 1;
}

static bool some_kernel_takes(const tn_planner *p, tn_graph *g, int32_t node) {
  return tn_first_kernel(p, g, node) != NULL;
}

static tn_status describe(const tn_planner *p, tn_graph *g, int32_t user, tn_epilogue *e) {
  tn_call_frame f;
  tn_status s = tn_call_open(&f, p, g, user, NULL);
  if (s) return s;
  *e = (tn_epilogue){.head = TN_HEAD(tn_epilogue), .input = -1};
  s = tn_graph_node(g, user)->def->op.epilogue(&f.call, e);
  tn_call_close(&f);
  return s || e->kind == TN_EPILOGUE_NONE || e->kind >= TN_EPILOGUE_COUNT ? TN_ERR_INVALID : TN_OK;
}

/* Puts the step on the node's list; the lists are fresh, so that taking them back is assigning the
 * old ones. */
static tn_status append_step(tn_graph *g, tn_gnode *n, const tn_epilogue *e, tn_fused from) {
  const tn_epilogue **steps = tn_arena_alloc(&g->arena, (n->n_epilogue + 1) * sizeof *steps);
  const char **names = tn_arena_alloc(&g->arena, (n->n_epilogue + 1) * sizeof *names);
  tn_fused *fused = tn_arena_alloc(&g->arena, (n->n_epilogue + 1) * sizeof *fused);
  tn_epilogue *copy = tn_arena_copy(&g->arena, e, sizeof *e);
  if (!steps || !names || !fused || !copy) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n->n_epilogue; k++)
    steps[k] = n->epilogue[k], names[k] = n->epilogue_names[k], fused[k] = n->fused[k];
  steps[n->n_epilogue] = copy;
  names[n->n_epilogue] = tn_graph_node(g, from.node)->node.op;
  fused[n->n_epilogue] = from;
  n->epilogue = steps;
  n->epilogue_names = names;
  n->fused = fused;
  n->n_epilogue++;
  return TN_OK;
}

/* Node takes over the output of user, which disappears. */
static tn_status take_output(tn_graph *g, int32_t node, int32_t user) {
  int32_t out = tn_graph_node(g, user)->node.outputs[0];
  tn_graph_detach_outputs(g, user);
  tn_status s = tn_graph_remove_node(g, user);
  if (s) return s;
  tn_graph_detach_outputs(g, node); /* its old output: nobody reads it any more */
  return tn_graph_attach_output(g, node, 0, out);
}

/* Optional inputs that the node does not write out are written as left out, so that operands can
 * follow the formal inputs. false: there is a list, so nobody could tell where they begin. */
static bool close_inputs(tn_graph *g, int32_t node, tn_status *status) {
  tn_gnode *n = tn_graph_node(g, node);
  const int32_t want = n->def->schema.n_inputs;
  for (int32_t k = 0; k < want; k++)
    if (tn_schema_input(&n->def->schema, k)->list) return false;
  while (!*status && (int32_t)n->n_formal == (int32_t)n->node.n_inputs &&
         (int32_t)n->n_formal < want)
    if (!(*status = tn_graph_append_node_input(g, node, -1))) n->n_formal++;
  return !*status && (int32_t)n->n_formal >= want;
}

static tn_status try_fuse(const tn_planner *p, tn_graph *g, int32_t node, bool *out_fused) {
  *out_fused = false;
  const tn_gnode *n = tn_graph_node(g, node);
  int32_t value = n->node.n_outputs == 1 ? n->node.outputs[0] : -1,
          user = value < 0 ? -1 : only_user(g, value);
  const tn_gnode *u = user < 0 ? NULL : tn_graph_node(g, user);
  if (!u || !u->def || !u->def->op.epilogue || u->n_epilogue || u->node.n_outputs != 1 ||
      tn_pin_of(p, u))
    return TN_OK;
  const tn_value *out = tn_graph_val(g, u->node.outputs[0]);
  tn_epilogue e;
  if (!out->known || !tn_same_shape(out->type, tn_graph_val(g, value)->type) ||
      describe(p, g, user, &e))
    return TN_OK;
  int32_t operand = -1;
  if (e.kind == TN_EPILOGUE_ADD || e.kind == TN_EPILOGUE_MUL) {
    if (u->node.n_inputs != 2) return TN_OK;
    operand = u->node.inputs[u->node.inputs[0] == value];
    if (operand == value || !tn_graph_val(g, operand)->known ||
        !tn_epilogue_operand_fits(tn_graph_val(g, operand)->type, out->type))
      return TN_OK;
  }
  tn_status s = TN_OK;
  const tn_kerneldef *winner = tn_winner_by_rank(p, g, node);
  if (!close_inputs(g, node, &s)) return s;
  tn_gnode before = *n;
  e.input = operand < 0 ? -1 : (int32_t)before.node.n_inputs;
  if (operand >= 0) s = tn_graph_append_node_input(g, node, operand);
  tn_fused from = {user, u->node.inputs[0] != value};
  if (!s) s = append_step(g, tn_graph_node(g, node), &e, from);
  if (s) return s;
  if (winner ? tn_winner_by_rank(p, g, node) == winner : some_kernel_takes(p, g, node)) {
    *out_fused = true;
    return take_output(g, node, user);
  }
  if (operand >= 0) s = tn_graph_set_node_input(g, node, before.node.n_inputs, -1);
  *tn_graph_node(g, node) = before;
  return s;
}

tn_status tn_pass_epilogues(const tn_planner *p, tn_graph *g, tn_diag *diag) {
  tn_status s = tn_graph_sort(g, diag);
  for (int32_t id = 0; id < (int32_t)g->nodes.n && !s; id++) {
    if (!tn_graph_node(g, id)->alive || !tn_has_epilogue_kernel(p, tn_graph_node(g, id))) continue;
    bool fused = true;
    while (fused && !s) s = try_fuse(p, g, id, &fused);
  }
  return s ? s : tn_graph_remove_dead(g);
}
