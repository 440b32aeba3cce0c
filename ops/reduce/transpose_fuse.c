/* Rewrite: a reduction of what a transpose makes for it alone reads the transpose's input, and what
 * is left is transposed. */
#include "reduce.gen.h"
#include "tenon/kit/region_dims.h"

/* Marks the axes that the node reduces; false: they are not known. */
static bool axes_of(const tn_pattern *p, const tn_node *n, int32_t rank, bool *out) {
  const int32_t value = tn_pattern_input(n, 1);
  const tn_tensor *t = tn_pattern_type(p, value);
  const int64_t count = t ? tn_elements(t) : 0;
  if (value >= 0 && (!t || !t->data || t->dtype != TN_I64)) return false;
  if (count == 0 && tn_pattern_int(n, "noop_with_empty_axes", 0)) return false;
  for (int32_t k = 0; k < rank; k++) out[k] = count == 0;
  for (int64_t k = 0; k < count; k++) {
    const int64_t axis = ((const int64_t *)t->data)[k];
    out[axis < 0 ? axis + rank : axis] = true;
  }
  return true;
}

/* Dims of a dense tensor that has size 1 where `axes` says so. */
static tn_tensor reduced_type(const tn_tensor *x, const bool *axes) {
  tn_tensor t = tn_tensor_make(x->dtype, x->rank, x->shape, NULL);
  for (int32_t k = 0; k < x->rank; k++)
    if (axes[k]) t.shape[k] = 1;
  return t;
}

tn_status reduce_transpose_fuse(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  int32_t from, perm[TN_MAX_RANK], value;
  bool axes[TN_MAX_RANK], moved[TN_MAX_RANK];
  int64_t mapped[TN_MAX_RANK], n_mapped = 0;
  if (!n || !tn_pattern_is_read(&p, n->inputs[0], 1) || !tn_pattern_type(&p, n->outputs[0]) ||
      !tn_region_transposes(&p, n->inputs[0], &from, perm))
    return TN_OK;
  const tn_tensor x = *tn_pattern_type(&p, from);
  if (!axes_of(&p, n, x.rank, axes)) return TN_OK;
  for (int32_t k = 0; k < x.rank; k++) {
    moved[perm[k]] = axes[k];
    if (axes[k]) mapped[n_mapped++] = perm[k];
  }
  const tn_tensor type = reduced_type(&x, moved);
  const tn_attr attrs[2] = {tn_attr_int("keepdims", 1), tn_attr_int("noop_with_empty_axes", 0)};
  const int32_t inputs[2] = {from, tn_emit_ints(call, graph, mapped, n_mapped)};
  tn_status s = tn_emit_like(call, graph, node, inputs, 2, attrs, 2, &value);
  if (!s) s = p.api->value_set_type(graph, value, &type);
  if (s) return s;
  /* Whether dims of size 1 stay or not, the others are there in the order of the transpose. */
  return tn_become_transpose(call, graph, node, value, &type, perm);
}
