/* Expand and Tile: elements that are repeated, as regions whose source stands still in the repeated
 * dims. */
#include "shape.h"

#include "shape.gen.h"

tn_status expand_infer(const tn_call *call) {
  const tn_tensor *in = call->inputs[0];
  int64_t dims[TN_MAX_RANK], n;
  tn_status s = tn_const_elements(call, 1, &n);
  if (!s) s = shape_check_rank(call, n);
  if (!s) s = tn_const_ints(call, 1, dims, TN_MAX_RANK, &n);
  for (int64_t k = 0; k < n && !s; k++)
    if (dims[k] < 0)
      s = call->host->fail(call->ctx, TN_ERR_INVALID, "shape[%lld] is %lld", (long long)k,
                           (long long)dims[k]);
  if (s) return s;
  tn_tensor shape = tn_tensor_make(in->dtype, (int32_t)n, dims, NULL), wide = shape;
  const tn_tensor *pair[2] = {in, &shape};
  if (tn_broadcast_shape(2, pair, &wide)) {
    char a[TN_TENSOR_TEXT], b[TN_TENSOR_TEXT];
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "%s does not broadcast with %s",
                            tn_tensor_text(in, a, sizeof a), tn_tensor_text(&shape, b, sizeof b));
  }
  tn_infer_shape(call, 0, in->dtype, wide.rank, wide.shape);
  return TN_OK;
}

tn_status expand_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_tensor *in = call->inputs[0], *out = call->outputs[0];
  int64_t src[TN_MAX_RANK], dst[TN_MAX_RANK];
  int32_t value = tn_node_input(call, graph, node, 0), before = out->rank - in->rank;
  tn_moves moves = tn_moves_begin(call, graph);
  tn_move m = {0};
  shape_strides(in, src);
  shape_strides(out, dst);
  for (int32_t k = 0; k < out->rank; k++)
    tn_move_push(&m, out->shape[k], k < before || in->shape[k - before] == 1 ? 0 : src[k - before],
                 dst[k]);
  tn_moves_add(&moves, &m);
  return tn_moves_become(&moves, node, &value, 1, -1);
}

tn_status expand_reference(const tn_call *call) {
  const tn_tensor *in = call->inputs[0], *out = call->outputs[0];
  int64_t coord[TN_MAX_RANK], n = tn_elements(out);
  tn_status s = TN_OK;
  for (int64_t i = 0; i < n && !s; i++) {
    tn_coords_of(out, i, coord);
    int64_t *own = coord + (out->rank - in->rank);
    for (int32_t k = 0; k < in->rank; k++) own[k] %= in->shape[k];
    s = tn_element_copy(call, 0, i, in, tn_index_of(in, own));
  }
  return s;
}

tn_status tile_infer(const tn_call *call) {
  const tn_tensor *in = call->inputs[0];
  int64_t repeats[TN_MAX_RANK], n, dims[TN_MAX_RANK];
  tn_status s = tn_const_ints(call, 1, repeats, TN_MAX_RANK, &n);
  if (s) return s;
  if (n != in->rank)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "repeats has %lld elements; the input has rank %d", (long long)n,
                            (int)in->rank);
  for (int64_t k = 0; k < n; k++)
    if (repeats[k] < 0 || tn_mul_i64(in->shape[k], repeats[k], &dims[k]))
      return call->host->fail(call->ctx, TN_ERR_INVALID, "repeats[%lld] is %lld", (long long)k,
                              (long long)repeats[k]);
  tn_infer_shape(call, 0, in->dtype, in->rank, dims);
  return TN_OK;
}

tn_status tile_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_tensor *in = call->inputs[0], *out = call->outputs[0];
  int64_t src[TN_MAX_RANK], dst[TN_MAX_RANK];
  int32_t value = tn_node_input(call, graph, node, 0);
  tn_moves moves = tn_moves_begin(call, graph);
  tn_move m = {0};
  shape_strides(in, src);
  shape_strides(out, dst);
  for (int32_t k = 0; k < in->rank; k++) {
    if (in->shape[k] > 0 && out->shape[k] > in->shape[k])
      tn_move_push(&m, out->shape[k] / in->shape[k], 0, in->shape[k] * dst[k]);
    tn_move_push(&m, tn_min_i64(in->shape[k], out->shape[k]), src[k], dst[k]);
  }
  tn_moves_add(&moves, &m);
  return tn_moves_become(&moves, node, &value, 1, -1);
}
