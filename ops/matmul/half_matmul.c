/* Rewrites: a MatMul or Gemm of f16 or bf16 with constant weights becomes tenon::HalfMatMul, whose
 * weights stay as they are when the rest is computed in f32. */
#include "matmul.gen.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/pattern.h"

static bool has_half_weights(const tn_pattern *p, const tn_node *n) {
  const tn_tensor *a = tn_pattern_type(p, n->inputs[0]), *b = tn_pattern_type(p, n->inputs[1]);
  return a && b && a->rank >= 1 && b->rank == 2 && b->data && a->dtype == b->dtype &&
         (b->dtype == TN_F16 || b->dtype == TN_BF16);
}

static tn_status become(const tn_call *call, tn_graph *graph, int32_t node, const tn_node *from,
                        const tn_gemm_attrs *gemm) {
  const tn_attr attrs[] = {tn_attr_float("alpha", gemm->alpha), tn_attr_float("beta", gemm->beta),
                           tn_attr_int("transB", gemm->transB)};
  return tn_lower_to_own(call, graph, node, "HalfMatMul", from->inputs, from->n_inputs, attrs, 3);
}

tn_status half_matmul_from_matmul(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  const tn_gemm_attrs plain = {.alpha = 1, .beta = 1};
  return n && has_half_weights(&p, n) ? become(call, graph, node, n, &plain) : TN_OK;
}

tn_status half_matmul_from_gemm(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  const tn_gemm_attrs *attrs = call->attrs;
  if (!n || attrs->transA || !has_half_weights(&p, n)) return TN_OK;
  return become(call, graph, node, n, attrs);
}
