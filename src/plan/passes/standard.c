/* For writing: a graph of operators of ai.onnx and ai.onnx.ml alone, as other programs read it.
 *
 * Inference replaces operators of foreign formats as soon as their inputs have types; what is left
 * has a lowering for this purpose (tn_call.onnx_opset), or is reported. Bodies of nodes keep what
 * inference made of them (nodes/call_frame.c). Nothing is fused, and no region is made. */
#include <stdio.h>

#include "base/map.h"
#include "plan/passes/passes.h"

enum { LEAST_OPSET = 21 }; /* the first in which values of 4 and 16 bits can be quantised */

static bool is_standard(const tn_gnode *n) {
  return !*n->node.domain || !strcmp(n->node.domain, "ai.onnx.ml");
}

static bool has_types(const tn_graph *g, const tn_gnode *n) {
  for (uint32_t k = 0; k < n->node.n_inputs; k++)
    if (n->node.inputs[k] >= 0 && !tn_graph_val(g, n->node.inputs[k])->known) return false;
  return true;
}

static bool may_lower(const tn_graph *g, const tn_gnode *n) {
  return n->alive && n->def && n->def->op.lower && !is_standard(n) && !tn_is_region(n) &&
         has_types(g, n);
}

/* Nodes that lowerings add come up in their turn. */
static tn_status lower_graph(const tn_planner *p, tn_graph *g, tn_diag *diag) {
  tn_status status = TN_OK;
  const int64_t limit = tn_edit_limit(g);
  for (int32_t id = 0; id < (int32_t)g->nodes.n && status != TN_ERR_MEMORY; id++) {
    bool done;
    tn_status s = TN_OK;
    if (may_lower(g, tn_graph_node(g, id))) s = tn_lower_node(p, g, id, &done, diag);
    if (s == TN_NEEDS_DATA) s = TN_OK; /* it is left, and reported */
    const tn_gnode *n = tn_graph_node(g, id);
    for (uint32_t k = 0; n->alive && k < n->n_subgraphs && !s; k++)
      s = lower_graph(p, n->subgraphs[k], diag);
    if (s) status = s;
    if (g->nodes.n > limit) return tn_edit_endless(g, id, "lowering", diag);
  }
  const tn_status sorted = status ? status : tn_graph_sort(g, diag);
  return sorted ? sorted : tn_graph_remove_dead(g);
}

/* ---- what is left ---- */

static const char *why(const tn_graph *g, const tn_gnode *n) {
  if (n->def && n->def->op.lower && !has_types(g, n))
    return "its inputs have types that only a run can give";
  return "has no form in ai.onnx";
}

/* Is it the first node of its operator in the graph? One line for each says enough. */
static bool is_first(const tn_graph *g, const tn_gnode *n, int64_t *out_count) {
  bool first = true, before = true;
  *out_count = 0;
  for (int64_t k = 0; k < g->nodes.n; k++) {
    const tn_gnode *o = &g->nodes.data[k];
    before = before && o != n;
    if (!o->alive || strcmp(o->node.op, n->node.op) || strcmp(o->node.domain, n->node.domain))
      continue;
    if (before) first = false;
    ++*out_count;
  }
  return first;
}

static tn_status report_graph(const tn_graph *g, tn_diag *diag) {
  tn_status status = TN_OK;
  for (int64_t k = 0; k < g->nodes.n; k++) {
    const tn_gnode *n = &g->nodes.data[k];
    char text[TN_NODE_TEXT];
    int64_t count;
    for (uint32_t i = 0; n->alive && i < n->n_subgraphs; i++)
      if (report_graph(n->subgraphs[i], diag)) status = TN_ERR_UNSUPPORTED;
    if (!n->alive || is_standard(n)) continue;
    status = TN_ERR_UNSUPPORTED;
    if (!is_first(g, n, &count)) continue;
    char more[48] = "";
    if (count > 1) snprintf(more, sizeof more, ", as %lld others", (long long)count - 1);
    (void)tn_fail(diag, status, "%s: cannot be written as ONNX%s: %s",
                  tn_node_text(g, n, text, sizeof text), more, why(g, n));
  }
  return status;
}

/* ---- versions ---- */

/* The first version that has all of the operators, and the newest form of each; subgraphs use that
 * of the model. */
static int32_t least_version(const tn_graph *g, const char *domain, int32_t version) {
  for (int64_t k = 0; k < g->nodes.n; k++) {
    const tn_gnode *n = &g->nodes.data[k];
    if (!n->alive) continue;
    if (!strcmp(n->node.domain, domain) && n->def && n->def->op.since > version)
      version = n->def->op.since;
    for (uint32_t i = 0; i < n->n_subgraphs; i++)
      version = least_version(n->subgraphs[i], domain, version);
  }
  return version;
}

static void forget_versions(tn_graph *g) {
  for (int64_t k = 0; k < g->nodes.n; k++) {
    g->nodes.data[k].node.version = 0;
    for (uint32_t i = 0; g->nodes.data[k].alive && i < g->nodes.data[k].n_subgraphs; i++)
      forget_versions(g->nodes.data[k].subgraphs[i]);
  }
}

/* A node of ai.onnx that is newer than the files that are written, and the graph that it is in;
 * NULL: there is none. */
static const tn_gnode *too_new(const tn_graph *g, int32_t most, const tn_graph **out_graph) {
  const tn_gnode *found = NULL;
  for (int64_t k = 0; k < g->nodes.n && !found; k++) {
    const tn_gnode *n = &g->nodes.data[k];
    if (!n->alive) continue;
    *out_graph = g;
    if (!*n->node.domain && n->def && n->def->op.since > most) return n;
    for (uint32_t i = 0; i < n->n_subgraphs && !found; i++)
      found = too_new(n->subgraphs[i], most, out_graph);
  }
  return found;
}

/* There is such a node. */
static tn_status refuse_newer(const tn_planner *p, const tn_graph *g, tn_diag *diag) {
  char text[TN_NODE_TEXT];
  const tn_gnode *n = too_new(g, p->onnx_opset, &g);
  return tn_fail(diag, TN_ERR_UNSUPPORTED,
                 "%s: needs version %d of ai.onnx; files are written in version %d",
                 tn_node_text(g, n, text, sizeof text), n->def->op.since, p->onnx_opset);
}

static tn_status set_versions(const tn_planner *p, tn_graph *g, tn_diag *diag) {
  const int32_t least = p->onnx_opset < LEAST_OPSET ? p->onnx_opset : LEAST_OPSET,
                version = least_version(g, "", least), ml = least_version(g, "ai.onnx.ml", 0);
  if (version > p->onnx_opset) return refuse_newer(p, g, diag);
  g->opsets.n = 0;
  g->functions.n = 0;
  forget_versions(g);
  const tn_status s = tn_graph_api_table.set_opset(g, "", version);
  return s || !ml ? s : tn_graph_api_table.set_opset(g, "ai.onnx.ml", ml);
}

/* ---- names ---- */

/* What a lowering has made has the name of the node that it was. Here its operator is added to the
 * names that several nodes have, and a number where that is not enough: others ask for it. */
static tn_status name_nodes(tn_graph *g, tn_map *all, tn_map *taken, bool counts) {
  tn_status s = TN_OK;
  for (int64_t k = 0; k < g->nodes.n && !s; k++) {
    tn_gnode *n = &g->nodes.data[k];
    for (uint32_t i = 0; n->alive && i < n->n_subgraphs && !s; i++)
      s = name_nodes(n->subgraphs[i], all, taken, counts);
    if (!n->alive || !*n->node.name || s) continue;
    const int64_t count = tn_map_get(all, n->node.name, 0);
    if (counts) s = tn_map_set(all, n->node.name, count + 1);
    if (counts || count < 2) continue;
    const char *name = tn_arena_format(&g->arena, "%s/%s", n->node.name, n->node.op);
    for (int64_t i = 1; name && (tn_map_get(taken, name, 0) || tn_map_get(all, name, 0)); i++)
      name = tn_arena_format(&g->arena, "%s/%s_%lld", n->node.name, n->node.op, (long long)i);
    s = name ? tn_map_set(taken, name, 1) : TN_ERR_MEMORY;
    n->node.name = name;
  }
  return s;
}

static tn_status make_names_unique(tn_graph *g) {
  tn_map all, taken;
  tn_map_init(&all, g->a);
  tn_map_init(&taken, g->a);
  tn_status s = name_nodes(g, &all, &taken, true);
  if (!s) s = name_nodes(g, &all, &taken, false);
  tn_map_free(&all);
  tn_map_free(&taken);
  return s;
}

/* ---- attributes ---- */

static bool is_all_ones(const tn_attr *a) {
  bool is = a->kind == TN_ATTR_INTS;
  for (int64_t k = 0; k < a->ints.size && is; k++) is = a->ints.data[k] == 1;
  return is;
}

/* AveragePool has dilations since version 19: what is the default anyhow is left out, for programs
 * that do not know the attribute (ONNX Runtime's quantised pool is one). */
static tn_status drop_dilations(tn_graph *g) {
  for (int64_t k = 0; k < g->nodes.n; k++) {
    tn_gnode *n = &g->nodes.data[k];
    if (!n->alive || *n->node.domain || strcmp(n->node.op, "AveragePool")) continue;
    const tn_attr **kept = tn_arena_alloc(&g->arena, (n->node.n_attrs + 1) * sizeof *kept);
    if (!kept) return TN_ERR_MEMORY;
    uint32_t count = 0;
    for (uint32_t i = 0; i < n->node.n_attrs; i++)
      if (strcmp(n->node.attrs[i]->name, "dilations") || !is_all_ones(n->node.attrs[i]))
        kept[count++] = n->node.attrs[i];
    n->node.attrs = kept;
    n->node.n_attrs = count;
  }
  return TN_OK;
}

/* Infers; *out_input: a graph's input whose data it needs. */
static tn_status infer(const tn_planner *p, tn_graph *g, int32_t *out_input, tn_diag *diag) {
  tn_cut cut = {0};
  tn_status s = tn_pass_infer(p, g, false, &cut, diag);
  for (int64_t k = 0; k < cut.needed.n && !s; k++)
    for (int64_t i = 0; i < g->inputs.n && !s; i++)
      if (g->inputs.data[i] == cut.needed.data[k]) {
        *out_input = g->inputs.data[i];
        s = TN_NEEDS_DATA;
      }
  tn_vec_free(p->a, &cut.continuation);
  tn_vec_free(p->a, &cut.needed);
  return s;
}

tn_status tn_pass_standard(const tn_planner *p, tn_graph *g, int32_t *out_input, tn_diag *diag) {
  tn_status s = infer(p, g, out_input, diag);
  if (!s) s = lower_graph(p, g, diag);
  if (!s) s = report_graph(g, diag);
  if (!s) s = tn_cancel_transposes(g);
  if (!s) s = drop_dilations(g);
  if (!s) s = make_names_unique(g);
  return s ? s : set_versions(p, g, diag);
}
