/* Stage fuse, behind its rewrites, for plans that use a GPU: what the model has in f16 or bf16, and
 * promote_halves.c has made f32, lies in memory as the model has it; with a precision
 * (tn_model_options) all floats do. Programs compute in f32 whatever they load and store, matrix
 * units multiply halves, and half as many bytes move.
 *
 * A node becomes one of halves if a kernel of the device takes it so and its constants fit. */
#include "device/device.h"
#include "plan/passes/passes.h"
#include "plan/passes/retype.h"

typedef struct halver {
  const tn_planner *p;
  tn_graph *g;
  tn_retyper retyper;
} halver;

static bool is_f32(const tn_value *v) {
  return v->known && v->type->dtype == TN_F32 && v->type->kind == TN_KIND_TENSOR &&
         v->type->layout == TN_PLAIN && tn_tensor_elements(v->type) >= 0;
}

/* Does input or output k of the node change with the type that is computed in? What the epilogue
 * reads may be of any type. */
static bool changes(const tn_graph *g, const tn_gnode *n, uint32_t k, bool output, uint32_t half) {
  const int32_t value = output ? n->node.outputs[k] : n->node.inputs[k];
  if (value < 0 || !is_f32(tn_graph_val(g, value))) return false;
  if (tn_is_region(n) || (!output && (int32_t)k >= tn_node_n_given(n, n->def))) return true;
  const int32_t rule = tn_arg_rule(n, k, output);
  return rule >= 0 && n->def->op.types[rule]->dtypes & TN_MASK(half);
}

/* Of the value: f16 or bf16, 0: f32. */
static uint32_t half_of(const halver *h, const tn_value *v) {
  return h->p->precision ? h->p->precision : v->half;
}

/* Is input k f32 in the model itself, by a type that no output has? GridSample's places stay exact,
 * whatever the pictures are. */
static bool stays(const halver *h, const tn_gnode *n, uint32_t k) {
  const int32_t value = n->node.inputs[k];
  if (value < 0 || half_of(h, tn_graph_val(h->g, value)) ||
      (int32_t)k >= tn_node_n_given(n, n->def))
    return false;
  bool own = true;
  for (uint32_t o = 0; o < n->node.n_outputs && own; o++)
    own = tn_arg_rule(n, o, true) != tn_arg_rule(n, k, false);
  return own;
}

static bool fits(const tn_value *v, uint32_t half) {
  if (!v->constant) return true;
  const int64_t n = tn_tensor_elements(v->type);
  return n == 0 || !tn_half_misfit(tn_const_largest(v->constant, n), half);
}

/* The type that all of its floats are to have; 0: they stay. */
static uint32_t wanted(const halver *h, const tn_gnode *n) {
  uint32_t half = 0;
  if (!n->alive || !n->def || n->n_subgraphs || tn_is_core_op(n, TN_CORE_CAST)) return 0;
  for (uint32_t k = 0; k < n->node.n_outputs; k++) {
    if (n->node.outputs[k] < 0) continue;
    const tn_value *v = tn_graph_val(h->g, n->node.outputs[k]);
    const uint32_t own = is_f32(v) ? half_of(h, v) : 0;
    if (!own || (half && own != half)) return 0;
    half = own;
  }
  for (uint32_t k = 0; k < n->node.n_inputs && half; k++)
    if (n->node.inputs[k] >= 0 && is_f32(tn_graph_val(h->g, n->node.inputs[k])) &&
        !fits(tn_graph_val(h->g, n->node.inputs[k]), half))
      return 0;
  return half;
}

/* Does the node convert between f32 and the type in which those values are to lie? */
static bool converts(const halver *h, const tn_gnode *n) {
  const uint64_t flags = TN_OP_ELEMENTWISE | TN_OP_LOWER_ALWAYS;
  if (!n->alive || !n->def || (n->def->op.flags & flags) != flags || n->n_epilogue ||
      n->node.n_inputs != 1 || n->node.n_outputs != 1 || !tn_wants_lowering(h->p, n))
    return false;
  const tn_value *in = tn_graph_val(h->g, n->node.inputs[0]),
                 *out = tn_graph_val(h->g, n->node.outputs[0]);
  if (!in->known || !out->known || in->constant) return false;
  return is_f32(in)    ? half_of(h, in) == out->type->dtype
         : is_f32(out) ? half_of(h, out) == in->type->dtype
                       : false;
}

/* A conversion of the model's own (ONNX: Cast) is given what it reads in the type that it makes.
 * If it is lowered to nothing then, what is left are casts of the retyper, which go wherever two
 * of them meet. */
static tn_status skip_conversion(halver *h, int32_t node) {
  tn_graph *g = h->g;
  const tn_gnode *n = tn_graph_node(g, node);
  const int32_t from = n->node.inputs[0];
  const uint32_t dtype = tn_graph_val(g, n->node.outputs[0])->type->dtype;
  bool done = false;
  const int32_t to = tn_retype_value(&h->retyper, from, dtype);
  tn_status s = to < 0 ? to : tn_graph_set_node_input(g, node, 0, to);
  if (!s) s = tn_lower_node(h->p, g, node, &done, h->retyper.diag);
  return s || done ? s : tn_graph_set_node_input(g, node, 0, from);
}

static tn_status halve(halver *h, int32_t node) {
  tn_graph *g = h->g;
  if (converts(h, tn_graph_node(g, node))) return skip_conversion(h, node);
  const tn_gnode *n = tn_graph_node(g, node);
  const uint32_t half = wanted(h, n), n_in = n->node.n_inputs, n_out = n->node.n_outputs;
  bool any = false;
  if (!half) return TN_OK;
  bool *in = tn_arena_alloc(&g->arena, n_in + 1), *out = tn_arena_alloc(&g->arena, n_out + 1);
  if (!in || !out) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n_in; k++) in[k] = changes(g, n, k, false, half) && !stays(h, n, k);
  for (uint32_t k = 0; k < n_out; k++) any |= out[k] = changes(g, n, k, true, half);
  if (!any || !tn_retype_kernel(h->p, g, node, h->p->devices[0], half, in, out)) return TN_OK;
  g->n_held_back++;
  return tn_retype_node(&h->retyper, node, half, in, out);
}

static tn_status halve_all(halver *h) {
  const int64_t n = h->g->order.n;
  int32_t *order = tn_alloc(h->p->a, (uint64_t)n * sizeof *order);
  tn_status s = order ? TN_OK : TN_ERR_MEMORY;
  for (int64_t k = 0; k < n && !s; k++) order[k] = h->g->order.data[k];
  for (int64_t k = 0; k < n && !s; k++) s = halve(h, order[k]);
  tn_free(h->p->a, order, (uint64_t)n * sizeof *order);
  return s;
}

static bool has_any(const halver *h) {
  bool any = h->p->precision != 0;
  for (int64_t k = 0; k < h->g->values.n && !any; k++) any = h->g->values.data[k].half != 0;
  return any;
}

tn_status tn_pass_halve(const tn_planner *p, tn_graph *g, tn_diag *diag) {
  halver h = {.p = p, .g = g};
  if (!tn_plans_for_gpu(p) || !has_any(&h) ||
      !tn_registry_op(p->registry, TN_CORE_DOMAIN, TN_CORE_CAST, 0))
    return TN_OK;
  tn_status s = tn_graph_sort(g, diag);
  if (!s) s = tn_retyper_open(&h.retyper, p, g, diag);
  if (!s) s = halve_all(&h);
  tn_retyper_close(&h.retyper);
  if (!s) s = tn_graph_sort(g, diag);
  return s ? s : tn_graph_remove_dead(g);
}
