/* Rewrite: a product with 1 is what it multiplies. */
#include "binary.gen.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/pattern.h"

tn_status mul_by_one(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *mul = tn_pattern_root(&p, node);
  double one;
  for (uint32_t k = 0; mul && k < 2; k++) {
    const int32_t x = mul->inputs[1 - k];
    const tn_tensor *of_one = tn_pattern_type(&p, mul->inputs[k]), *of_x = tn_pattern_type(&p, x);
    const bool is_output = p.api->value_flags(graph, mul->outputs[0]) & TN_VALUE_OUTPUT;
    if (is_output || !of_one || !of_x || of_one->rank > of_x->rank) continue;
    if (tn_pattern_number(&p, mul->inputs[k], &one) && one == 1)
      return p.api->replace_node(graph, node, &x, 1);
  }
  return TN_OK;
}
