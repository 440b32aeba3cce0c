/* Rewrite: e / sum(e), where e = exp(x - max(x)), becomes Softmax. */
#include "softmax.gen.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/pattern.h"

/* The one dim along which `to` is x reduced; -1: there are others, or none. */
static int32_t reduced_dim(const tn_tensor *x, const tn_tensor *to) {
  int32_t found = -1;
  if (!x || !to || x->rank != to->rank) return -1;
  for (int32_t k = 0; k < x->rank; k++) {
    if (to->shape[k] == x->shape[k]) continue;
    if (found >= 0 || to->shape[k] != 1) return -1;
    found = k;
  }
  return found;
}

tn_status softmax_fuse(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *div = tn_pattern_root(&p, node);
  const int32_t e = div ? div->inputs[0] : -1;
  const tn_node *sum = div ? tn_pattern_inner(&p, div->inputs[1], "ReduceSum") : NULL,
                *exp = tn_pattern_is_read(&p, e, 2) ? tn_pattern_node(&p, e, "Exp") : NULL,
                *sub = exp ? tn_pattern_inner(&p, exp->inputs[0], "Sub") : NULL,
                *max = sub ? tn_pattern_inner(&p, sub->inputs[1], "ReduceMax") : NULL;
  if (!sum || !max || sum->inputs[0] != e || max->inputs[0] != sub->inputs[0]) return TN_OK;
  const tn_tensor *x = tn_pattern_type(&p, sub->inputs[0]);
  const int32_t dim = reduced_dim(x, tn_pattern_type(&p, max->outputs[0]));
  if (dim < 0 || !(TN_MASK(x->dtype) & TN_MASK_FLOAT) ||
      reduced_dim(x, tn_pattern_type(&p, sum->outputs[0])) != dim)
    return TN_OK;
  const tn_attr axis = tn_attr_int("axis", dim);
  return tn_lower_as(call, graph, node, "Softmax", sub->inputs, 1, &axis, 1);
}
