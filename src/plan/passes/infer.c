/* Pass 02, infer, with 03: types, shapes and constants flow through the graph in one sweep, because
 * shapes of ONNX models come from small computations on constants. What depends on data that only a
 * run can give is left to the continuation. */
#include "plan/passes/passes.h"

static bool inputs_known(const tn_graph *g, const tn_gnode *n) {
  for (uint32_t k = 0; k < n->node.n_inputs; k++)
    if (n->node.inputs[k] >= 0 && !tn_graph_val(g, n->node.inputs[k])->known) return false;
  return true;
}

static bool inputs_const(const tn_graph *g, const tn_gnode *n) {
  for (uint32_t k = 0; k < n->node.n_inputs; k++)
    if (n->node.inputs[k] >= 0 && !tn_graph_val(g, n->node.inputs[k])->constant) return false;
  return true;
}

static bool outputs_known(const tn_graph *g, const tn_gnode *n) {
  for (uint32_t k = 0; k < n->node.n_outputs; k++)
    if (n->node.outputs[k] >= 0 && !tn_graph_val(g, n->node.outputs[k])->known) return false;
  return true;
}

/* Captured values that have become constants are shared with the subgraphs that read them. */
static tn_status share_constants(tn_graph *g, const tn_gnode *n) {
  for (uint32_t s = 0; s < n->n_subgraphs; s++) {
    tn_graph *sub = n->subgraphs[s];
    int64_t kept = 0;
    for (int64_t k = 0; k < sub->captures.n; k++) {
      tn_capture c = sub->captures.data[k];
      const tn_value *outer = tn_graph_val(g, c.outer);
      if (!outer->constant) {
        sub->captures.data[kept++] = c;
        continue;
      }
      tn_status status = tn_graph_set_const(sub, c.inner, &outer->type, outer->constant);
      if (status) return status;
    }
    sub->captures.n = kept;
  }
  return TN_OK;
}

tn_status tn_infer_and_fold(const tn_planner *p, tn_graph *g, int32_t node, bool *out_done,
                            int32_t *out_value, tn_diag *diag) {
  const tn_gnode *n = tn_graph_node(g, node);
  *out_done = false;
  if (!inputs_known(g, n)) return tn_infer_dtypes(p, g, node);
  tn_status s = share_constants(g, n);
  if (s) return s;
  int32_t input = -1;
  s = tn_infer_node(p, g, node, &input, diag);
  if (s == TN_NEEDS_DATA) {
    *out_value = n->node.inputs[input];
    if (tn_infer_dtypes(p, g, node)) return TN_ERR_MEMORY;
  }
  if (s) return s;
  *out_done = true;
  if (!outputs_known(g, n)) return TN_OK;
  bool folds = n->def->op.flags & TN_OP_TYPES_ONLY || inputs_const(g, n), folded;
  return folds && !(p->model_flags & TN_MODEL_NO_OPTIMIZE && !(n->def->op.flags & TN_OP_TYPES_ONLY))
             ? tn_fold_node(p, g, node, &folded, diag)
             : TN_OK;
}

tn_status tn_settle_from(const tn_planner *p, tn_graph *g, int32_t first, tn_diag *diag) {
  tn_status s = tn_check_from(p, g, first, diag);
  for (int32_t id = first; id < (int32_t)g->nodes.n && !s; id++) {
    if (!tn_graph_node(g, id)->alive) continue;
    bool done;
    int32_t value;
    s = tn_infer_and_fold(p, g, id, &done, &value, diag);
    if (s == TN_NEEDS_DATA) s = TN_OK; /* stays unknown, like a node whose inputs are */
  }
  return s;
}

/* Graph inputs whose declared type leaves nothing open. */
static void mark_inputs(tn_graph *g) {
  for (int64_t k = 0; k < g->inputs.n; k++) {
    tn_value *v = tn_graph_val(g, g->inputs.data[k]);
    v->known = v->constant || v->type.kind != TN_KIND_TENSOR ||
               (v->type.dtype != TN_NONE && tn_tensor_elements(&v->type) >= 0);
  }
}

tn_status tn_pass_infer(const tn_planner *p, tn_graph *g, bool partial, tn_cut *cut,
                        tn_diag *diag) {
  tn_status s = tn_graph_sort(g, diag), status = TN_OK;
  mark_inputs(g);
  int64_t n_order = g->order.n; /* folding may add nodes; it settles them itself */
  int32_t *order = tn_alloc(p->a, (uint64_t)n_order * sizeof *order);
  if (!order || s) {
    tn_free(p->a, order, (uint64_t)n_order * sizeof *order);
    return s ? s : TN_ERR_MEMORY;
  }
  for (int64_t k = 0; k < n_order; k++) order[k] = g->order.data[k];
  for (int64_t k = 0; k < n_order && s != TN_ERR_MEMORY; k++) {
    if (!tn_graph_node(g, order[k])->alive) continue;
    bool done;
    int32_t value = -1;
    s = tn_infer_and_fold(p, g, order[k], &done, &value, diag);
    if (s && s != TN_NEEDS_DATA) status = s; /* go on: report all problems */
    if (done || partial || s == TN_ERR_MEMORY) continue;
    if (s == TN_NEEDS_DATA && tn_vec_push(p->a, &cut->needed, value)) status = TN_ERR_MEMORY;
    if ((!s || s == TN_NEEDS_DATA) && tn_vec_push(p->a, &cut->continuation, order[k]))
      status = TN_ERR_MEMORY;
  }
  tn_free(p->a, order, (uint64_t)n_order * sizeof *order);
  tn_status cleaned =
      tn_graph_remove_dead(g); /* leaves a valid graph even if some nodes do not fit */
  return status ? status : cleaned;
}
