/* Rewrite: softmax between two transposes works along the dim that the first one brings to its
 * axis; the two then follow one another. */
#include "softmax.gen.h"
#include "tenon/kit/region_dims.h"

/* Before operator set 13 softmax worked along all dims from the axis on. */
static bool is_of_one_dim(const tn_pattern *p, const tn_node *n) {
  return (n->version > 0 ? n->version : p->api->opset(p->graph, "")) >= 13;
}

/* Nobody but a transpose reads the value. */
static bool is_transposed(const tn_pattern *p, int32_t value) {
  int32_t from, perm[TN_MAX_RANK];
  if (!tn_pattern_is_read(p, value, 1)) return false;
  const tn_node *n = tn_pattern_root(p, p->api->value_user(p->graph, value, 0));
  return n && tn_region_transposes(p, n->outputs[0], &from, perm) && from == value;
}

tn_status softmax_transpose_fuse(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  int32_t from, perm[TN_MAX_RANK], value;
  if (!n || !is_of_one_dim(&p, n) || !tn_pattern_is_read(&p, n->inputs[0], 1) ||
      !is_transposed(&p, n->outputs[0]) || !tn_region_transposes(&p, n->inputs[0], &from, perm))
    return TN_OK;
  const tn_tensor x = *tn_pattern_type(&p, from);
  const int64_t axis = tn_pattern_int(n, "axis", -1);
  const tn_attr attr = tn_attr_int("axis", perm[axis < 0 ? axis + x.rank : axis]);
  tn_status s = tn_emit_like(call, graph, node, &from, 1, &attr, 1, &value);
  if (!s) s = p.api->value_set_type(graph, value, &x);
  if (s) return s;
  return tn_become_transpose(call, graph, node, value, &x, perm);
}
