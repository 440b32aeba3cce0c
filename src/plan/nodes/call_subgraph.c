/* What a call asks of subgraphs while planning: their inputs and outputs, and what inference makes
 * of their bodies. */
#include "base/abi.h"
#include "plan/plan.h"

static const tn_graph *find_subgraph(tn_call_frame *f, int64_t graph) {
  const tn_gnode *n = tn_graph_node(f->graph, f->node);
  if (graph >= 0 && graph < n->n_subgraphs) return n->subgraphs[graph];
  (void)tn_plan_host.fail(f, TN_ERR_NOT_FOUND, "asks for subgraph %lld of %u", (long long)graph,
                          n->n_subgraphs);
  return NULL;
}

tn_status tn_call_subgraph_shape(void *ctx, int64_t graph, uint32_t *out_n_inputs,
                                 uint32_t *out_n_outputs) {
  const tn_graph *sub = find_subgraph(ctx, graph);
  if (!sub) return TN_ERR_NOT_FOUND;
  *out_n_inputs = (uint32_t)sub->inputs.n;
  *out_n_outputs = (uint32_t)sub->outputs.n;
  return TN_OK;
}

/* Gives a value of the subgraph the type, and the data if it is constant, of a value outside. */
static tn_status bind_input(tn_graph *sub, int32_t value, const tn_tensor *type) {
  tn_value *v = tn_graph_val(sub, value);
  if (type->kind == TN_KIND_TENSOR && type->data) {
    tn_const *c = NULL;
    tn_status s = tn_const_copy(sub->a, type, &c);
    if (!s) s = tn_graph_set_const(sub, value, type, c);
    tn_const_release(c);
    return s;
  }
  tn_tensor own = tn_tensor_in(type);
  own.data = NULL;
  if (tn_graph_set_type(sub, value, &own)) return TN_ERR_MEMORY;
  v->known = type->kind != TN_KIND_TENSOR || tn_tensor_elements(type) >= 0;
  return TN_OK;
}

/* What does not fit is kept, not reported: a branch that is not taken need not fit the shapes at
 * hand. */
static tn_status infer_quietly(tn_call_frame *f, tn_graph *sub, tn_cut *cut) {
  tn_diag *diag = tn_diag_create();
  tn_status s = tn_pass_infer(f->planner, sub, true, cut, diag);
  if (s && diag) f->subgraph_reason = tn_arena_str(&f->arena, tn_diag_text(diag));
  tn_diag_destroy(diag);
  return s;
}

static tn_status infer_clone(tn_call_frame *f, tn_graph *sub, uint32_t n_in,
                             const tn_tensor *const *in, uint32_t n_out, tn_tensor *const *out) {
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < n_in && !s; k++)
    if (in[k]) s = bind_input(sub, sub->inputs.data[k], in[k]);
  for (int64_t k = 0; k < sub->captures.n && !s; k++) {
    const tn_tensor *outer = f->call.inputs[sub->captures.data[k].input];
    if (outer) s = bind_input(sub, sub->captures.data[k].inner, outer);
  }
  tn_cut cut = {0};
  if (!s) s = infer_quietly(f, sub, &cut);
  tn_vec_free(f->planner->a, &cut.continuation);
  tn_vec_free(f->planner->a, &cut.needed);
  for (uint32_t k = 0; k < n_out && !s; k++) {
    if (!out[k]) continue;
    const tn_value *v = tn_graph_val(sub, sub->outputs.data[k]);
    tn_tensor type = *v->type;
    if (!v->known) tn_unknown_type(&type, v->type);
    type.data = NULL;
    s = tn_struct_out(out[k], &type, sizeof type);
  }
  return s;
}

/* What inference has made of a body is written in its place, when the node is inferred. */
static tn_status keep_body(tn_call_frame *f, int64_t graph, tn_graph *body) {
  const uint32_t n = tn_graph_node(f->graph, f->node)->n_subgraphs;
  if (!f->bodies) f->bodies = tn_arena_alloc(&f->arena, n * sizeof *f->bodies);
  if (!f->bodies) {
    tn_graph_free(body);
    return TN_ERR_MEMORY;
  }
  tn_graph_free(f->bodies[graph]);
  f->bodies[graph] = body;
  return TN_OK;
}

tn_status tn_call_subgraph_infer(void *ctx, int64_t graph, uint32_t n_in,
                                 const tn_tensor *const *in, uint32_t n_out,
                                 tn_tensor *const *out) {
  tn_call_frame *f = ctx;
  const tn_graph *sub = find_subgraph(f, graph);
  if (!sub) return TN_ERR_NOT_FOUND;
  if (n_in != sub->inputs.n || n_out != sub->outputs.n)
    return tn_plan_host.fail(
        f, TN_ERR_INVALID, "subgraph %lld has %lld inputs and %lld outputs, not %u and %u",
        (long long)graph, (long long)sub->inputs.n, (long long)sub->outputs.n, n_in, n_out);
  tn_graph *clone = tn_graph_clone(sub);
  if (!clone) return TN_ERR_MEMORY;
  tn_status s = infer_clone(f, clone, n_in, in, n_out, out);
  if (!s && f->planner->onnx_opset) return keep_body(f, graph, clone);
  tn_graph_free(clone);
  return s;
}
