/* TopK: inference, the old versions, reference. Of equal elements the one with the lower index
 * comes first; NaN is above all numbers. */
#include "rows.h"
#include "tenon/kit/lower.h"

#include "gather.gen.h"

tn_status top_k_infer(const tn_call *call) {
  const tn_top_k_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0];
  int64_t k = 0, n, dims[TN_MAX_RANK];
  int32_t axis = 0;
  tn_status s = tn_axis_normalize(call, a->axis, in->rank, &axis);
  if (!s) s = tn_const_ints(call, 1, &k, 1, &n);
  if (s) return s;
  if (n != 1 || k < 0 || k > in->shape[axis])
    return call->host->fail(call->ctx, TN_ERR_INVALID, "K is %lld; axis %d has %lld elements",
                            (long long)k, (int)axis, (long long)in->shape[axis]);
  for (int32_t d = 0; d < in->rank; d++) dims[d] = d == axis ? k : in->shape[d];
  tn_infer_shape(call, 0, in->dtype, in->rank, dims);
  tn_infer_shape(call, 1, TN_I64, in->rank, dims);
  return TN_OK;
}

/* Before operator set 10, K was an attribute. */
tn_status top_k_v1_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_top_k_v1_attrs *a = call->attrs;
  const tn_attr axis = tn_attr_int("axis", a->axis);
  int32_t inputs[2] = {tn_node_input(call, graph, node, 0), tn_emit_ints(call, graph, &a->k, 1)};
  return tn_lower_as(call, graph, node, "TopK", inputs, 2, &axis, 1);
}

/* Repeats k times: the best one that was not taken yet. */
tn_status top_k_reference(const tn_call *call) {
  const tn_top_k_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0];
  int32_t axis = (int32_t)(a->axis < 0 ? a->axis + in->rank : a->axis);
  around u = around_axis(in, axis);
  int64_t n_out =
      tn_has_output(call, 0) ? call->outputs[0]->shape[axis] : call->outputs[1]->shape[axis];
  tn_status s = TN_OK;
  for (int64_t lane = 0; lane < u.before * u.after && !s; lane++) {
    int64_t base = lane / u.after * u.size * u.after + lane % u.after, last = -1;
    for (int64_t k = 0; k < n_out && !s; k++) {
      int64_t best = -1;
      for (int64_t i = 0; i < u.size; i++) { /* after the last taken, not after the best so far */
        int order = last < 0 ? 1
                             : rows_order(in, base + last * u.after, base + i * u.after) *
                                   (a->largest ? 1 : -1);
        if (order < 0 || (order == 0 && i <= last)) continue;
        int better = best < 0 ? 1
                              : rows_order(in, base + i * u.after, base + best * u.after) *
                                    (a->largest ? 1 : -1);
        if (better > 0) best = i;
      }
      int64_t to = (lane / u.after * n_out + k) * u.after + lane % u.after;
      if (tn_has_output(call, 0)) s = tn_element_copy(call, 0, to, in, base + best * u.after);
      if (tn_has_output(call, 1)) tn_store_i64(TN_I64, call->outputs[1]->data, to, best);
      last = best;
    }
  }
  return s;
}
