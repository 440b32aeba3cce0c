/* FlexAttention without its graphs is Attention. */
#include "attention.gen.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/lower.h"

tn_status flex_attention_infer(const tn_call *call) {
  const tn_flex_attention_attrs *a = call->attrs;
  const tn_tensor *q = call->inputs[0], *k = call->inputs[1], *v = call->inputs[2];
  if (a->has_score_mod || a->has_prob_mod)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "not supported: score_mod and prob_mod");
  bool fits = q->rank == 4 && k->rank == 4 && v->rank == 4 && q->shape[0] == k->shape[0] &&
              k->shape[0] == v->shape[0] && k->shape[1] == v->shape[1] &&
              k->shape[2] == v->shape[2] && q->shape[3] == k->shape[3];
  if (!fits) return call->host->fail(call->ctx, TN_ERR_SHAPE, "Q, K and V do not fit together");
  tn_infer_shape(call, 0, TN_NONE, 4,
                 (int64_t[]){q->shape[0], q->shape[1], q->shape[2], v->shape[3]});
  return TN_OK;
}

tn_status flex_attention_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_flex_attention_attrs *a = call->attrs;
  const tn_attr scale = tn_attr_float("scale", a->scale);
  int32_t inputs[3];
  for (uint32_t k = 0; k < 3; k++) inputs[k] = tn_node_input(call, graph, node, k);
  return tn_lower_as(call, graph, node, "Attention", inputs, 3, &scale, a->has_scale ? 1 : 0);
}
