/* Constant folding: a node whose inputs are constants is run once, by the kernels of the runtime,
 * and its outputs become constants. Data movement is lowered first, so that one region kernel
 * serves all of it. */
#include "plan/passes/passes.h"

enum { MAX_FOLDED_BYTES = 64 << 20 };

/* Folding must not blow the model up: Expand or ConstantOfShape may make much from little. */
static bool is_worth_it(const tn_graph *g, const tn_gnode *n) {
  int64_t in = 0, out = 0;
  for (uint32_t k = 0; k < n->node.n_inputs; k++)
    if (n->node.inputs[k] >= 0) in += tn_tensor_bytes(tn_graph_val(g, n->node.inputs[k])->type);
  for (uint32_t k = 0; k < n->node.n_outputs; k++)
    if (n->node.outputs[k] >= 0) out += tn_tensor_bytes(tn_graph_val(g, n->node.outputs[k])->type);
  return out <= MAX_FOLDED_BYTES || out <= 4 * in; /* 4: f32 of quantised weights */
}

static bool can_fold(const tn_graph *g, const tn_gnode *n) {
  if (!g->rewritten && n->def->op.flags & TN_OP_FOLD_LATE) return false; /* see fold_late.c */
  if (!n->alive || n->def->op.flags & TN_OP_IMPURE || n->n_subgraphs || n->n_epilogue) return false;
  for (uint32_t k = 0; k < n->node.n_outputs; k++)
    if (n->node.outputs[k] >= 0 &&
        tn_graph_val(g, n->node.outputs[k])->type->kind != TN_KIND_TENSOR)
      return false;
  for (uint32_t k = 0; k < n->node.n_inputs; k++)
    if (n->node.inputs[k] >= 0 && tn_graph_val(g, n->node.inputs[k])->type->kind != TN_KIND_TENSOR)
      return false;
  return is_worth_it(g, n);
}

/* The node's outputs are these constants now; the node goes. */
static tn_status become_const(tn_graph *g, int32_t node, const tn_tensor *const *types,
                              tn_const **consts) {
  uint32_t n_out = tn_graph_node(g, node)->node.n_outputs;
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < n_out && !s; k++) {
    int32_t id = tn_graph_node(g, node)->node.outputs[k];
    if (id < 0 || !consts[k]) continue;
    tn_graph_val(g, id)->producer = -1;
    s = tn_graph_set_const(g, id, types[k], consts[k]);
  }
  tn_graph_detach_outputs(g, node);
  return s ? s : tn_graph_remove_node(g, node);
}

static tn_status eval(const tn_planner *p, tn_graph *g, int32_t node, bool *out_folded) {
  tn_call_frame f;
  tn_status s = tn_call_open(&f, p, g, node, NULL);
  if (s) return s;
  tn_const **consts = tn_arena_alloc(&f.arena, (f.call.n_outputs + 1) * sizeof *consts);
  if (!consts || tn_call_fetch(&f))
    s = TN_ERR_MEMORY;
  else if (p->eval(p, tn_graph_node(g, node), f.call.inputs, f.call.outputs, consts, NULL) ==
           TN_OK) {
    *out_folded = true;
    s = become_const(g, node, (const tn_tensor *const *)f.call.outputs, consts);
  } /* else: no kernel takes it, or it fails on these values. It stays, and select or the run will
       say so */
  for (uint32_t k = 0; consts && k < f.call.n_outputs; k++) tn_const_release(consts[k]);
  tn_call_close(&f);
  return s;
}

tn_status tn_fold_node(const tn_planner *p, tn_graph *g, int32_t node, bool *out_folded,
                       tn_diag *diag) {
  *out_folded = false;
  const tn_gnode *n = tn_graph_node(g, node);
  if (!p->eval || !can_fold(g, n)) return TN_OK;
  bool lowered = false;
  if (tn_wants_lowering(p, n)) {
    tn_status s = tn_lower_node(p, g, node, &lowered, diag);
    if (s) return s;
  }
  /* The nodes in its place are folded already. One of them may have taken its id, and may read
   * another that no kernel computes in this type. */
  n = tn_graph_node(g, node);
  if (!n->alive || (lowered && !tn_has_what_it_reads(g, n))) return TN_OK;
  return eval(p, g, node, out_folded);
}
