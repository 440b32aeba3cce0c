/* Rewrites: a MatMul or Gemm of f16 or bf16 with constant weights becomes tenon::HalfMatMul, whose
 * weights stay as they are when the rest is computed in f32; so does one of f32 whose weights are
 * cast from such constants (--precision). */
#include "matmul.gen.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/pattern.h"

/* Weights in 16 bits for the node: the value, or -1. */
static int32_t half_weights(const tn_pattern *p, const tn_node *n) {
  const tn_tensor *a = tn_pattern_type(p, n->inputs[0]);
  const int32_t from = tn_pattern_widened(p, n->inputs[1]), value = from < 0 ? n->inputs[1] : from;
  const tn_tensor *b = tn_pattern_type(p, value);
  const bool is_half = b && (b->dtype == TN_F16 || b->dtype == TN_BF16);
  if (!a || !is_half || !b->data || a->rank < 1 || b->rank != 2) return -1;
  return a->dtype == (from < 0 ? b->dtype : (uint32_t)TN_F32) ? value : -1;
}

static tn_status become(const tn_call *call, tn_graph *graph, int32_t node, const tn_node *from,
                        int32_t weights, const tn_gemm_attrs *gemm) {
  const tn_attr attrs[] = {tn_attr_float("alpha", gemm->alpha), tn_attr_float("beta", gemm->beta),
                           tn_attr_int("transB", gemm->transB)};
  const int32_t inputs[] = {from->inputs[0], weights, tn_pattern_input(from, 2)};
  return tn_lower_to_own(call, graph, node, "HalfMatMul", inputs, from->n_inputs, attrs, 3);
}

tn_status half_matmul_from_matmul(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  const int32_t weights = n ? half_weights(&p, n) : -1;
  const tn_gemm_attrs plain = {.alpha = 1, .beta = 1};
  return weights < 0 ? TN_OK : become(call, graph, node, n, weights, &plain);
}

tn_status half_matmul_from_gemm(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  const tn_gemm_attrs *attrs = call->attrs;
  const int32_t weights = n && !attrs->transA ? half_weights(&p, n) : -1;
  return weights < 0 ? TN_OK : become(call, graph, node, n, weights, attrs);
}
