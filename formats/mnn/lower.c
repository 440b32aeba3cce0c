/* Operators of the domain mnn, which become others when the types of their inputs are known. */
#include "mnn.gen.h"
#include "tenon/kit/lowering.h"

/* The axis is a constant, or what the network computes of a rank. */
tn_status mnn_gather(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&c, 2);
  int32_t axis = 0;
  if (!t || t->dtype != TN_I32 || tn_elements(t) != 1)
    return tn_low_unsupported(&c, "an axis that is not one number");
  if (!t->data) return TN_NEEDS_DATA;
  memcpy(&axis, t->data, sizeof axis);
  const int32_t in[] = {tn_low_in(&c, 0), tn_low_in(&c, 1)};
  const tn_attr a = tn_attr_int("axis", axis);
  return tn_low_done(&c, tn_low_emit(&c, "Gather", in, 2, &a, 1));
}
