/* Stage fuse, before its rewrites: what is stored as f16 or bf16 is computed in f32.
 *
 * A node that some kernel takes in f32 reads and gives f32, with a tenon::Cast from each half input
 * and to each half output. A value that goes from one such node to another is not rounded on the
 * way: both casts vanish. So rewrites, epilogues and kernels serve half models as they serve those
 * of f32; half values stay at inputs, outputs, weights that kernels take as they are, and where
 * nothing but data movement is done. */
#include "plan/passes/passes.h"
#include "plan/passes/retype.h"

typedef struct promoter {
  const tn_planner *p;
  tn_graph *g;
  tn_retyper retyper;
  bool changed;
} promoter;

static bool is_half(uint32_t dtype) { return dtype == TN_F16 || dtype == TN_BF16; }

/* Of input or output k: is it half, and would it be f32? */
static bool promotes(const tn_graph *g, const tn_gnode *n, uint32_t k, bool output) {
  const int32_t value = output ? n->node.outputs[k] : n->node.inputs[k];
  if (value < 0 || !is_half(tn_graph_val(g, value)->type->dtype)) return false;
  return tn_is_region(n) || tn_arg_promotes(g, n, k, output, TN_F32);
}

/* ---- which nodes ---- */

static bool is_cast(const tn_gnode *n) { return tn_is_core_op(n, TN_CORE_CAST); }

static int32_t source_of(const tn_graph *g, int32_t value) {
  return tn_retype_source(g, value, TN_F32);
}

static bool is_known(const tn_graph *g, int32_t value) {
  const tn_value *v = tn_graph_val(g, value);
  return v->known && v->type->kind == TN_KIND_TENSOR && tn_tensor_elements(v->type) >= 0;
}

/* What also moves strings does not compute. */
static bool only_moves(const tn_graph *g, const tn_gnode *n) {
  for (uint32_t k = 0; k < n->node.n_inputs && !tn_is_region(n); k++)
    if (promotes(g, n, k, false) &&
        !(n->def->op.types[tn_arg_rule(n, k, false)]->dtypes & TN_MASK(TN_STRING)))
      return false;
  return true;
}

/* An output of the graph, or what is but moved (or named anew) to become one. */
static bool becomes_output(const tn_graph *g, int32_t value) {
  const tn_value *v = tn_graph_val(g, value);
  bool becomes = v->flags & TN_VALUE_OUTPUT;
  for (int64_t k = 0; k < v->users.n && !becomes; k++) {
    const tn_gnode *user = tn_graph_node(g, v->users.data[k]);
    becomes = tn_is_region(user) && tn_graph_val(g, user->node.outputs[0])->flags & TN_VALUE_OUTPUT;
  }
  return becomes;
}

/* Moving is done in the type in which the data are there and wanted: half if the output is one of
 * the graph, or if less comes out than went in and nothing of that is in f32. */
static bool moves_half(const tn_graph *g, const tn_gnode *n) {
  int64_t in = 0, out = 0;
  if (!only_moves(g, n)) return false;
  for (uint32_t k = 0; k < n->node.n_outputs; k++) {
    if (!promotes(g, n, k, true)) continue;
    if (becomes_output(g, n->node.outputs[k])) return true;
    out += tn_tensor_elements(tn_graph_val(g, n->node.outputs[k])->type);
  }
  for (uint32_t k = 0; k < n->node.n_inputs; k++) {
    if (!promotes(g, n, k, false)) continue;
    if (source_of(g, n->node.inputs[k]) >= 0) return false;
    in += tn_tensor_elements(tn_graph_val(g, n->node.inputs[k])->type);
  }
  return out < in;
}

/* Is most of what the node reads half in memory, and nowhere f32? */
static bool reads_half(const tn_graph *g, const tn_gnode *n) {
  int64_t half = 0, wide = 0;
  for (uint32_t k = 0; k < n->node.n_inputs; k++) {
    if (!promotes(g, n, k, false)) continue;
    const int64_t elements = tn_tensor_elements(tn_graph_val(g, n->node.inputs[k])->type);
    *(source_of(g, n->node.inputs[k]) >= 0 ? &wide : &half) += elements;
  }
  return half > wide;
}

/* Is the kernel for half floats to be preferred to that for f32? Of two of one rank, where it saves
 * casts of large inputs; but element-wise work is better fused. */
static bool wins(const tn_graph *g, const tn_gnode *n, const tn_kerneldef *half,
                 const tn_kerneldef *wide) {
  if (half->kernel.rank != wide->kernel.rank) return half->kernel.rank > wide->kernel.rank;
  return !(n->def->op.flags & TN_OP_ELEMENTWISE) && reads_half(g, n);
}

/* Not if a kernel of a plug-in's rank takes the node as it is: who writes one for half floats wants
 * it; nor if the one for half floats wins of two of lesser rank. Not if
 * nothing half comes out: what is rounded to integers next is better rounded as the model says. Nor
 * if an output would stay half: its type follows from inputs in a way of the operator's own. */
static bool should_promote(const promoter *w, int32_t node, const bool *in, const bool *out) {
  const tn_graph *g = w->g;
  const tn_gnode *n = tn_graph_node(g, node);
  for (uint32_t k = 0; k < n->node.n_inputs; k++)
    if (in[k] && !is_known(g, n->node.inputs[k])) return false;
  bool any = false;
  for (uint32_t k = 0; k < n->node.n_outputs; k++) {
    const int32_t value = n->node.outputs[k];
    if (value < 0 || !is_half(tn_graph_val(g, value)->type->dtype)) continue;
    if (!out[k] || !is_known(g, value)) return false;
    any = true;
  }
  if (!any || moves_half(g, n)) return false;
  const tn_kerneldef *half = tn_retype_kernel(w->p, w->g, node, NULL, TN_F32, NULL, NULL),
                     *wide = tn_retype_kernel(w->p, w->g, node, NULL, TN_F32, in, out);
  if (half && half->kernel.rank >= TN_RANK_PLUGIN) return false;
  if (half && wide && half != wide && wins(g, n, half, wide)) return false;
  return wide || (n->def->op.lower && !half);
}

/* ---- the edit ---- */

static tn_status promote_if_better(promoter *w, int32_t node) {
  const tn_gnode *n = tn_graph_node(w->g, node);
  if (!n->alive || !n->def || n->n_subgraphs || n->n_epilogue || is_cast(n)) return TN_OK;
  tn_arena *arena = &w->g->arena;
  const uint32_t n_in = n->node.n_inputs, n_out = n->node.n_outputs;
  bool *in = tn_arena_alloc(arena, n_in + 1), *out = tn_arena_alloc(arena, n_out + 1);
  if (!in || !out) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n_in; k++) in[k] = promotes(w->g, n, k, false);
  for (uint32_t k = 0; k < n_out; k++) out[k] = promotes(w->g, n, k, true);
  if (!should_promote(w, node, in, out)) return TN_OK;
  w->changed = true;
  return tn_retype_node(&w->retyper, node, TN_F32, in, out);
}

static bool has_half(const tn_graph *g) {
  for (int64_t k = 0; k < g->values.n; k++)
    if (is_half(g->values.data[k].type->dtype)) return true;
  return false;
}

static tn_status promote_all(promoter *w) {
  const tn_graph *g = w->g;
  const int64_t n = g->order.n;
  int32_t *order = tn_alloc(w->p->a, (uint64_t)n * sizeof *order);
  tn_status s = order ? TN_OK : TN_ERR_MEMORY;
  for (int64_t k = 0; k < n && !s; k++) order[k] = g->order.data[k];
  for (int64_t k = 0; k < n && !s; k++) s = promote_if_better(w, order[k]);
  tn_free(w->p->a, order, (uint64_t)n * sizeof *order);
  return s;
}

tn_status tn_promote_halves(const tn_planner *p, tn_graph *g, bool *out_changed, tn_diag *diag) {
  promoter w = {.p = p, .g = g};
  *out_changed = false;
  if (!has_half(g) || !tn_registry_op(p->registry, TN_CORE_DOMAIN, TN_CORE_CAST, 0)) return TN_OK;
  tn_status s = tn_graph_sort(g, diag);
  if (!s) s = tn_retyper_open(&w.retyper, p, g, diag);
  if (!s) s = promote_all(&w);
  tn_retyper_close(&w.retyper);
  *out_changed = w.changed;
  if (!s) s = tn_graph_sort(g, diag);
  return s ? s : tn_graph_remove_dead(g);
}
