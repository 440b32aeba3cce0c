/* Transpose: one region whose source strides are permuted. */
#include "shape.h"

#include "shape.gen.h"

/* Output dim k is input dim perm[k]; without the attribute, the dims are reversed. */
static tn_status get_perm(const tn_call *call, int32_t *perm) {
  const tn_transpose_attrs *a = call->attrs;
  int32_t rank = call->inputs[0]->rank;
  uint32_t mask = 0;
  for (int32_t k = 0; k < rank && !a->has_perm; k++) perm[k] = rank - 1 - k;
  if (!a->has_perm) return TN_OK;
  if (a->perm.size != rank)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "perm has %lld elements; the input has rank %d",
                            (long long)a->perm.size, (int)rank);
  tn_status s = shape_axes_mask(call, a->perm.data, rank, rank, &mask);
  for (int32_t k = 0; k < rank && !s; k++)
    s = tn_axis_normalize(call, a->perm.data[k], rank, &perm[k]);
  return s;
}

tn_status transpose_infer(const tn_call *call) {
  const tn_tensor *in = call->inputs[0];
  int32_t perm[TN_MAX_RANK];
  int64_t dims[TN_MAX_RANK];
  tn_status s = get_perm(call, perm);
  if (s) return s;
  for (int32_t k = 0; k < in->rank; k++) dims[k] = in->shape[perm[k]];
  tn_infer_shape(call, 0, in->dtype, in->rank, dims);
  return TN_OK;
}

tn_status transpose_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_tensor *in = call->inputs[0], *out = call->outputs[0];
  int64_t src[TN_MAX_RANK], dst[TN_MAX_RANK];
  int32_t value = tn_node_input(call, graph, node, 0), perm[TN_MAX_RANK];
  tn_moves moves = tn_moves_begin(call, graph);
  tn_move m = {0};
  tn_status s = get_perm(call, perm);
  if (s) return s;
  shape_strides(in, src);
  shape_strides(out, dst);
  for (int32_t k = 0; k < in->rank; k++) tn_move_push(&m, out->shape[k], src[perm[k]], dst[k]);
  tn_moves_add(&moves, &m);
  return tn_moves_become(&moves, node, &value, 1, -1);
}

tn_status transpose_reference(const tn_call *call) {
  const tn_tensor *in = call->inputs[0], *out = call->outputs[0];
  int64_t from[TN_MAX_RANK], to[TN_MAX_RANK], n = tn_elements(out);
  int32_t perm[TN_MAX_RANK];
  tn_status s = get_perm(call, perm);
  for (int64_t i = 0; i < n && !s; i++) {
    tn_coords_of(in, i, from);
    for (int32_t k = 0; k < in->rank; k++) to[k] = from[perm[k]];
    s = tn_element_copy(call, 0, tn_index_of(out, to), in, i);
  }
  return s;
}
