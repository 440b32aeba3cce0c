/* Operators of the domain executorch, which become others when the types of their inputs are
 * known. */
#include "executorch.gen.h"
#include "tenon/kit/lowering.h"

tn_status executorch_own_steps(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  int64_t axes[TN_MAX_RANK];
  const int64_t n = tn_low_int(&l, "dims", 0);
  const int32_t rank = tn_low_type(&l, 0)->rank;
  int32_t scale = TN_NO_ID;
  if (n < 0 || n > rank) return tn_low_unsupported(&l, "a scale of more dims than there are");
  for (int64_t k = 0; k < n; k++) axes[k] = rank - n + k;
  const int32_t codes = tn_low_own_steps(&l, tn_low_in(&l, 0), axes, n, &scale);
  return tn_low_done(&l, tn_low_2(&l, "Mul", codes, scale));
}
