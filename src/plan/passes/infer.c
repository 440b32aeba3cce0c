/* Stage infer, with fold: types, shapes and constants flow through the graph in one sweep, because
 * shapes of ONNX models come from small computations on constants. What depends on data that only a
 * run can give is left to the continuation. */
#include "plan/passes/passes.h"

static bool inputs_known(const tn_graph *g, const tn_gnode *n) {
  for (uint32_t k = 0; k < n->node.n_inputs; k++)
    if (n->node.inputs[k] >= 0 && !tn_graph_val(g, n->node.inputs[k])->known) return false;
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
      tn_status status = tn_graph_set_const(sub, c.inner, outer->type, outer->constant);
      if (status) return status;
    }
    sub->captures.n = kept;
  }
  return TN_OK;
}

/* Does the lowering take the place of inference? Such an operator is replaced as soon as the types
 * of its inputs are known, and the types of its outputs are those of what it becomes. */
static bool lowers_first(const tn_opdef *def) {
  return def && def->op.lower && !(def->op.flags & TN_OP_LOWER_EARLY) && !tn_op_infers(&def->op);
}

/* *out_done: the node is gone, and those with ids >= the number before are there and checked.
 * TN_NEEDS_DATA as of tn_infer_and_fold. */
static tn_status lower_first(const tn_planner *p, tn_graph *g, int32_t node, bool *out_done,
                             int32_t *out_value, tn_diag *diag) {
  const tn_gnode *n = tn_graph_node(g, node);
  *out_done = false;
  if (!n->alive || !lowers_first(n->def) || !inputs_known(g, n)) return TN_OK;
  const int32_t first = (int32_t)g->nodes.n;
  tn_edit e = {.p = p,
               .g = g,
               .node = node,
               .what = "lowering",
               .owner = n->def->owner,
               .diag = diag,
               .needed = -1};
  const int32_t *inputs = n->node.inputs;
  tn_status s = tn_edit_call(&e, n->def->op.lower, true);
  if (s == TN_NEEDS_DATA) *out_value = inputs[e.needed];
  if (s) return s;
  *out_done = true;
  return tn_check_from(p, g, first, diag);
}

bool tn_has_what_it_reads(const tn_graph *g, const tn_gnode *n) {
  if (n->def->op.flags & TN_OP_TYPES_ONLY) return true;
  for (uint32_t k = 0; k < n->node.n_inputs; k++)
    if (n->node.inputs[k] >= 0 && !tn_graph_val(g, n->node.inputs[k])->constant) return false;
  return true;
}

tn_status tn_infer_and_fold(const tn_planner *p, tn_graph *g, int32_t node, bool *out_done,
                            int32_t *out_value, tn_diag *diag) {
  const tn_gnode *n = tn_graph_node(g, node);
  *out_done = false;
  if (!inputs_known(g, n)) {
    /* To say it when the model is loaded: a plan finds it, too. */
    const tn_status clash = TN_HAS_MESSAGES ? tn_infer_conflict(p, g, node, diag) : TN_OK;
    return clash ? clash : tn_infer_dtypes(p, g, node);
  }
  tn_status s = tn_graph_hoist(g, node);
  if (!s) s = share_constants(g, n);
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
  bool folded;
  return tn_has_what_it_reads(g, n) &&
                 !(p->model_flags & TN_MODEL_NO_OPTIMIZE && !(n->def->op.flags & TN_OP_TYPES_ONLY))
             ? tn_fold_node(p, g, node, &folded, diag)
             : TN_OK;
}

tn_status tn_settle_from(const tn_planner *p, tn_graph *g, int32_t first, tn_diag *diag) {
  tn_status s = tn_check_from(p, g, first, diag);
  const int64_t limit = tn_edit_limit(g);
  for (int32_t id = first; id < (int32_t)g->nodes.n && !s; id++) {
    if (!tn_graph_node(g, id)->alive) continue;
    bool done;
    int32_t value;
    s = lower_first(p, g, id, &done, &value, diag);
    if (!s && !done) s = tn_infer_and_fold(p, g, id, &done, &value, diag);
    if (s == TN_NEEDS_DATA) s = TN_OK; /* stays unknown, like a node whose inputs are */
    if (g->nodes.n > limit) return tn_edit_endless(g, id, "lowering", diag);
  }
  return s;
}

/* Graph inputs whose declared type leaves nothing open. */
static void mark_inputs(tn_graph *g) {
  for (int64_t k = 0; k < g->inputs.n; k++) {
    tn_value *v = tn_graph_val(g, g->inputs.data[k]);
    v->known = v->constant || v->type->kind != TN_KIND_TENSOR ||
               (v->type->dtype != TN_NONE && tn_tensor_elements(v->type) >= 0);
  }
}

typedef struct sweep {
  const tn_planner *p;
  tn_graph *g;
  bool partial;
  tn_cut *cut;
  tn_diag *diag;
  int64_t limit;    /* of nodes */
  tn_status status; /* of the first problem: all are reported */
} sweep;

enum { LOWER_DEPTH = 32 }; /* of lowerings in what a lowering has added */

/* One node, and what takes its place; only TN_ERR_MEMORY ends the sweep. */
static tn_status visit(sweep *w, int32_t node, int depth) {
  if (!tn_graph_node(w->g, node)->alive) return TN_OK;
  bool done;
  int32_t value = -1;
  const int32_t first = (int32_t)w->g->nodes.n;
  tn_status s = lower_first(w->p, w->g, node, &done, &value, w->diag);
  if (!s && done) {
    const int32_t end = (int32_t)w->g->nodes.n;
    if (depth == LOWER_DEPTH || end > w->limit)
      s = tn_edit_endless(w->g, node, "lowering", w->diag);
    for (int32_t k = first; k < end && !s; k++) s = visit(w, k, depth + 1);
    if (s) w->status = s;
    return s;
  }
  if (!s) s = tn_infer_and_fold(w->p, w->g, node, &done, &value, w->diag);
  if (s && s != TN_NEEDS_DATA) w->status = s;
  if (done || w->partial || s == TN_ERR_MEMORY) return s == TN_ERR_MEMORY ? s : TN_OK;
  const tn_allocator *a = w->p->a;
  if (s == TN_NEEDS_DATA && tn_vec_push(a, &w->cut->needed, value)) w->status = TN_ERR_MEMORY;
  if ((!s || s == TN_NEEDS_DATA) && tn_vec_push(a, &w->cut->continuation, node))
    w->status = TN_ERR_MEMORY;
  return TN_OK;
}

tn_status tn_pass_infer(const tn_planner *p, tn_graph *g, bool partial, tn_cut *cut,
                        tn_diag *diag) {
  tn_status s = tn_graph_sort(g, diag);
  sweep w = {p, g, partial, cut, diag, tn_edit_limit(g), TN_OK};
  mark_inputs(g);
  int64_t n_order = g->order.n; /* folding may add nodes; it settles them itself */
  int32_t *order = tn_alloc(p->a, (uint64_t)n_order * sizeof *order);
  if (!order || s) {
    tn_free(p->a, order, (uint64_t)n_order * sizeof *order);
    return s ? s : TN_ERR_MEMORY;
  }
  for (int64_t k = 0; k < n_order; k++) order[k] = g->order.data[k];
  for (int64_t k = 0; k < n_order && s != TN_ERR_MEMORY; k++) s = visit(&w, order[k], 0);
  tn_free(p->a, order, (uint64_t)n_order * sizeof *order);
  tn_status cleaned =
      tn_graph_remove_dead(g); /* leaves a valid graph even if some nodes do not fit */
  return w.status ? w.status : cleaned;
}
