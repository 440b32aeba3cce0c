/* Gather, GatherElements, GatherND: inference, lowering of Gather with regular constant indices,
 * references. */
#include "rows.h"
#include "tenon/kit/lower.h"

#include "gather.gen.h"

static tn_status out_shape(const tn_call *call, int64_t rank, const int64_t *dims) {
  if (rank > TN_MAX_RANK)
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW,
                            "the output would have rank %lld; at most %d is supported",
                            (long long)rank, (int)TN_MAX_RANK);
  tn_infer_shape(call, 0, call->inputs[0]->dtype, (int32_t)rank, dims);
  return TN_OK;
}

/* ---- Gather: output[before][i][after] = data[before][indices[i]][after] ---- */

tn_status gather_infer(const tn_call *call) {
  const tn_gather_attrs *a = call->attrs;
  const tn_tensor *data = call->inputs[0], *indices = call->inputs[1];
  int64_t dims[2 * TN_MAX_RANK];
  int32_t axis = 0, n = 0;
  tn_status s = tn_axis_normalize(call, a->axis, data->rank, &axis);
  if (s) return s;
  for (int32_t k = 0; k < axis; k++) dims[n++] = data->shape[k];
  for (int32_t k = 0; k < indices->rank; k++) dims[n++] = indices->shape[k];
  for (int32_t k = axis + 1; k < data->rank; k++) dims[n++] = data->shape[k];
  return out_shape(call, n, dims);
}

/* Constant indices first, first + step, ...: one region. */
tn_status gather_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_gather_attrs *a = call->attrs;
  const tn_tensor *data = call->inputs[0], *indices = call->inputs[1];
  int64_t n = tn_elements(indices), first, second, place;
  int32_t axis = 0, value = tn_node_input(call, graph, node, 0);
  if (!indices->data || n < 1) return TN_ERR_UNSUPPORTED;
  tn_status s = tn_axis_normalize(call, a->axis, data->rank, &axis);
  around r = around_axis(data, axis);
  if (!s) s = index_get(call, 1, 0, axis, r.size, &first);
  if (!s) s = index_get(call, 1, n > 1 ? 1 : 0, axis, r.size, &second);
  for (int64_t k = 2; k < n && !s; k++) {
    s = index_get(call, 1, k, axis, r.size, &place);
    if (!s && place != first + k * (second - first)) return TN_ERR_UNSUPPORTED;
  }
  if (s) return s;
  tn_moves moves = tn_moves_begin(call, graph);
  tn_move m = {.src_offset = first * r.after};
  tn_move_push(&m, r.before, r.size * r.after, n * r.after);
  tn_move_push(&m, n, (second - first) * r.after, r.after);
  tn_move_push(&m, r.after, 1, 1);
  tn_moves_add(&moves, &m);
  return tn_moves_become(&moves, node, &value, 1, -1);
}

tn_status gather_reference(const tn_call *call) {
  const tn_gather_attrs *a = call->attrs;
  const tn_tensor *data = call->inputs[0], *indices = call->inputs[1], *out = call->outputs[0];
  int32_t axis = (int32_t)(a->axis < 0 ? a->axis + data->rank : a->axis);
  tn_status s = TN_OK;
  for (int64_t i = 0; i < tn_elements(out) && !s; i++) {
    int64_t to[TN_MAX_RANK], from[TN_MAX_RANK];
    tn_coords_of(out, i, to);
    for (int32_t k = 0; k < axis; k++) from[k] = to[k];
    for (int32_t k = axis + 1; k < data->rank; k++) from[k] = to[k + indices->rank - 1];
    s = index_get(call, 1, tn_index_of(indices, to + axis), axis, data->shape[axis], &from[axis]);
    if (!s) s = tn_element_copy(call, 0, i, data, tn_index_of(data, from));
  }
  return s;
}

/* ---- GatherElements: output[..i..] = data[..indices[..i..]..] ---- */

tn_status gather_elements_infer(const tn_call *call) {
  const tn_gather_elements_attrs *a = call->attrs;
  const tn_tensor *data = call->inputs[0], *indices = call->inputs[1];
  int32_t axis = 0;
  tn_status s = tn_axis_normalize(call, a->axis, data->rank, &axis);
  bool fits = indices->rank == data->rank;
  for (int32_t k = 0; fits && k < data->rank; k++)
    fits = k == axis || indices->shape[k] <= data->shape[k];
  if (s || fits) {
    tn_infer_shape(call, 0, data->dtype, indices->rank, indices->shape);
    return s;
  }
  char x[TN_TENSOR_TEXT], y[TN_TENSOR_TEXT];
  return call->host->fail(
      call->ctx, TN_ERR_SHAPE,
      "indices, %s, do not fit data, %s: same rank, and no dim larger but axis %d",
      tn_tensor_text(indices, x, sizeof x), tn_tensor_text(data, y, sizeof y), (int)axis);
}

tn_status gather_elements_reference(const tn_call *call) {
  const tn_gather_elements_attrs *a = call->attrs;
  const tn_tensor *data = call->inputs[0], *out = call->outputs[0];
  int32_t axis = (int32_t)(a->axis < 0 ? a->axis + data->rank : a->axis);
  int64_t coord[TN_MAX_RANK];
  tn_status s = TN_OK;
  for (int64_t i = 0; i < tn_elements(out) && !s; i++) {
    tn_coords_of(out, i, coord);
    s = index_get(call, 1, i, axis, data->shape[axis], &coord[axis]);
    if (!s) s = tn_element_copy(call, 0, i, data, tn_index_of(data, coord));
  }
  return s;
}

/* ---- GatherND: output[b..., i..., :] = data[b..., indices[b..., i..., :], :] ---- */

tn_status gather_nd_infer(const tn_call *call) {
  const tn_gather_nd_attrs *a = call->attrs;
  const tn_tensor *data = call->inputs[0], *indices = call->inputs[1];
  int64_t dims[2 * TN_MAX_RANK], n = 0;
  char x[TN_TENSOR_TEXT], y[TN_TENSOR_TEXT];
  tn_tensor_text(data, x, sizeof x);
  tn_tensor_text(indices, y, sizeof y);
  if (data->rank < 1 || indices->rank < 1)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "data, %s, and indices, %s, need at least one dim", x, y);
  int64_t batch = a->batch_dims, depth = indices->shape[indices->rank - 1];
  if (batch < 0 || batch >= indices->rank || batch >= data->rank)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "batch_dims is %lld for data %s and indices %s", (long long)batch, x,
                            y);
  if (depth < 0 || depth > data->rank - batch)
    return call->host->fail(
        call->ctx, TN_ERR_SHAPE,
        "the last dim of indices, %s, is more than the dims of data, %s, after batch_dims", y, x);
  for (int64_t k = 0; k < batch; k++)
    if (data->shape[k] != indices->shape[k])
      return call->host->fail(call->ctx, TN_ERR_SHAPE,
                              "data, %s, and indices, %s, differ in batch dim %lld", x, y,
                              (long long)k);
  for (int32_t k = 0; k < indices->rank - 1; k++) dims[n++] = indices->shape[k];
  for (int64_t k = batch + depth; k < data->rank; k++) dims[n++] = data->shape[k];
  return out_shape(call, n, dims);
}

tn_status gather_nd_reference(const tn_call *call) {
  const tn_gather_nd_attrs *a = call->attrs;
  const tn_tensor *data = call->inputs[0], *indices = call->inputs[1], *out = call->outputs[0];
  int64_t depth = indices->shape[indices->rank - 1], batch = a->batch_dims;
  tn_status s = TN_OK;
  for (int64_t i = 0; i < tn_elements(out) && !s; i++) {
    int64_t to[TN_MAX_RANK], from[TN_MAX_RANK], tuple[TN_MAX_RANK];
    tn_coords_of(out, i, to);
    for (int32_t k = 0; k < indices->rank - 1; k++) tuple[k] = to[k];
    for (int64_t k = 0; k < batch; k++) from[k] = to[k];
    for (int64_t k = 0; k < depth && !s; k++) {
      tuple[indices->rank - 1] = k;
      s = index_get(call, 1, tn_index_of(indices, tuple), (int32_t)(batch + k),
                    data->shape[batch + k], &from[batch + k]);
    }
    for (int64_t k = batch + depth; k < data->rank; k++)
      from[k] = to[indices->rank - 1 + k - batch - depth];
    if (!s) s = tn_element_copy(call, 0, i, data, tn_index_of(data, from));
  }
  return s;
}
