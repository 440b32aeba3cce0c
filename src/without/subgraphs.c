/* In place of subgraphs of nodes: subgraph.c of sessions, call_subgraph.c of the planner, hoist.c
 * of graphs. */
#include "base/diag.h"
#include "exec/frame.h"
#include "without/without.h"

const char tn_without_subgraphs = 0;

#define WITHOUT_SUBGRAPHS \
  "subgraphs: this program was linked without them; to have them: tenon select MODEL"

tn_status tn_graph_hoist(tn_graph *g, int32_t node) {
  (void)g, (void)node;
  return TN_OK;
}

void tn_child_clear(tn_child *c) { (void)c; }

tn_status tn_subgraph_shape(tn_task *t, int64_t graph, uint32_t *out_n_inputs,
                            uint32_t *out_n_outputs) {
  (void)t, (void)graph;
  *out_n_inputs = *out_n_outputs = 0;
  return TN_ERR_UNSUPPORTED;
}

tn_status tn_subgraph_infer(tn_task *t, int64_t graph, uint32_t n_in, const tn_tensor *const *in,
                            uint32_t n_out, tn_tensor *const *out) {
  (void)t, (void)graph, (void)n_in, (void)in, (void)n_out, (void)out;
  return TN_ERR_UNSUPPORTED;
}

tn_status tn_subgraph_run(tn_task *t, int64_t graph, uint32_t n_in, const tn_tensor *const *in,
                          uint32_t n_out, const tn_tensor **out) {
  (void)t, (void)graph, (void)n_in, (void)in, (void)n_out, (void)out;
  return tn_exec_host.fail(t, TN_ERR_UNSUPPORTED, WITHOUT_SUBGRAPHS);
}

tn_status tn_call_subgraph_shape(void *ctx, int64_t graph, uint32_t *out_n_inputs,
                                 uint32_t *out_n_outputs) {
  (void)graph;
  *out_n_inputs = *out_n_outputs = 0;
  return tn_plan_host.fail(ctx, TN_ERR_UNSUPPORTED, WITHOUT_SUBGRAPHS);
}

tn_status tn_call_subgraph_infer(void *ctx, int64_t graph, uint32_t n_in,
                                 const tn_tensor *const *in, uint32_t n_out,
                                 tn_tensor *const *out) {
  (void)graph, (void)n_in, (void)in, (void)n_out, (void)out;
  return tn_plan_host.fail(ctx, TN_ERR_UNSUPPORTED, WITHOUT_SUBGRAPHS);
}
