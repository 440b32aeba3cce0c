/* ScatterElements, ScatterND, TensorScatter, Scatter: inference, lowering of the old name,
 * references. */
#include "reduction.h"
#include "rows.h"
#include "tenon/kit/lower.h"

#include "gather.gen.h"

/* Scatter-9 is ScatterElements without reduction under its first name. */
tn_status scatter_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_scatter_attrs *a = call->attrs;
  const tn_attr axis = tn_attr_int("axis", a->axis);
  int32_t inputs[3];
  for (uint32_t k = 0; k < 3; k++) inputs[k] = tn_node_input(call, graph, node, k);
  return tn_lower_as(call, graph, node, "ScatterElements", inputs, 3, &axis, 1);
}

/* ---- the reference's arithmetic: one element, in f64 or i64, rounded after every step ---- */

static tn_status reference_step(const tn_call *call, reduction op, int64_t to, int64_t from) {
  const tn_tensor *out = call->outputs[0], *updates = call->inputs[2];
  if (op == REDUCE_NONE) return tn_element_copy(call, 0, to, updates, from);
  if (out->dtype == TN_BOOL || tn_dtype(out->dtype)->is_int) {
    int64_t y = tn_load_i64(out->dtype, out->data, to),
            x = tn_load_i64(updates->dtype, updates->data, from);
    bool less = tn_dtype(out->dtype)->is_signed ? y < x : (uint64_t)y < (uint64_t)x;
    int64_t sum = (int64_t)((uint64_t)y + (uint64_t)x),
            product = (int64_t)((uint64_t)y * (uint64_t)x);
    tn_store_i64(out->dtype, out->data, to,
                 op == REDUCE_ADD             ? sum
                 : op == REDUCE_MUL           ? product
                 : less == (op == REDUCE_MAX) ? x
                                              : y);
    return TN_OK;
  }
  double y = tn_load_f64(out->dtype, out->data, to),
         x = tn_load_f64(updates->dtype, updates->data, from), z = y;
  if (op == REDUCE_ADD)
    z = y + x;
  else if (op == REDUCE_MUL)
    z = y * x;
  else if (x != x || (y == y && (op == REDUCE_MAX ? x > y : x < y)))
    z = x;
  tn_store_f64(out->dtype, out->data, to, z);
  return TN_OK;
}

static tn_status reference_copy(const tn_call *call) {
  tn_status s = TN_OK;
  for (int64_t i = 0; i < tn_elements(call->outputs[0]) && !s; i++)
    s = tn_element_copy(call, 0, i, call->inputs[0], i);
  return s;
}

/* ---- ScatterElements: output[..indices[..i..]..] = updates[..i..] ---- */

tn_status scatter_elements_infer(const tn_call *call) {
  const tn_scatter_elements_attrs *a = call->attrs;
  const tn_tensor *data = call->inputs[0], *indices = call->inputs[1], *updates = call->inputs[2];
  char x[TN_TENSOR_TEXT], y[TN_TENSOR_TEXT];
  int32_t axis = 0;
  reduction op;
  tn_status s = tn_axis_normalize(call, a->axis, data->rank, &axis);
  if (!s) s = reduction_parse(call, a->reduction, data->dtype, &op);
  if (s) return s;
  bool fits = indices->rank == data->rank, same = indices->rank == updates->rank;
  for (int32_t k = 0; fits && k < data->rank; k++)
    fits = k == axis || indices->shape[k] <= data->shape[k];
  for (int32_t k = 0; same && k < indices->rank; k++) same = indices->shape[k] == updates->shape[k];
  if (!same)
    return call->host->fail(
        call->ctx, TN_ERR_SHAPE, "indices, %s, and updates, %s, differ in shape",
        tn_tensor_text(indices, x, sizeof x), tn_tensor_text(updates, y, sizeof y));
  if (!fits)
    return call->host->fail(
        call->ctx, TN_ERR_SHAPE,
        "indices, %s, do not fit data, %s: same rank, and no dim larger but axis %d",
        tn_tensor_text(indices, x, sizeof x), tn_tensor_text(data, y, sizeof y), (int)axis);
  return tn_infer_like(call, 0, 0);
}

tn_status scatter_elements_reference(const tn_call *call) {
  const tn_scatter_elements_attrs *a = call->attrs;
  const tn_tensor *data = call->inputs[0], *indices = call->inputs[1];
  int32_t axis = (int32_t)(a->axis < 0 ? a->axis + data->rank : a->axis);
  int64_t coord[TN_MAX_RANK];
  reduction op;
  tn_status s = reduction_parse(call, a->reduction, data->dtype, &op);
  if (!s) s = reference_copy(call);
  for (int64_t i = 0; !s && i < tn_elements(indices); i++) {
    tn_coords_of(indices, i, coord);
    s = index_get(call, 1, i, axis, data->shape[axis], &coord[axis]);
    if (!s) s = reference_step(call, op, tn_index_of(data, coord), i);
  }
  return s;
}

/* ---- ScatterND: output[indices[i..., :], :] = updates[i..., :] ---- */

tn_status scatter_nd_infer(const tn_call *call) {
  const tn_scatter_nd_attrs *a = call->attrs;
  const tn_tensor *data = call->inputs[0], *indices = call->inputs[1], *updates = call->inputs[2];
  char x[TN_TENSOR_TEXT], y[TN_TENSOR_TEXT], z[TN_TENSOR_TEXT];
  reduction op;
  tn_status s = reduction_parse(call, a->reduction, data->dtype, &op);
  if (s) return s;
  int64_t depth = indices->rank < 1 ? -1 : indices->shape[indices->rank - 1],
          outer = indices->rank - 1;
  bool fits = data->rank >= 1 && depth >= 0 && depth <= data->rank &&
              updates->rank == outer + data->rank - depth;
  for (int64_t k = 0; fits && k < updates->rank; k++)
    fits = updates->shape[k] == (k < outer ? indices->shape[k] : data->shape[depth + k - outer]);
  if (fits) return tn_infer_like(call, 0, 0);
  return call->host->fail(call->ctx, TN_ERR_SHAPE,
                          "data, %s, indices, %s, and updates, %s, do not fit: updates has the "
                          "dims of indices but the last, then those "
                          "of data that indices do not name",
                          tn_tensor_text(data, x, sizeof x), tn_tensor_text(indices, y, sizeof y),
                          tn_tensor_text(updates, z, sizeof z));
}

tn_status scatter_nd_reference(const tn_call *call) {
  const tn_scatter_nd_attrs *a = call->attrs;
  const tn_tensor *data = call->inputs[0], *indices = call->inputs[1], *updates = call->inputs[2];
  int64_t depth = indices->shape[indices->rank - 1], from[TN_MAX_RANK], to[TN_MAX_RANK],
          tuple[TN_MAX_RANK];
  reduction op;
  tn_status s = reduction_parse(call, a->reduction, data->dtype, &op);
  if (!s) s = reference_copy(call);
  for (int64_t i = 0; !s && i < tn_elements(updates); i++) {
    tn_coords_of(updates, i, from);
    for (int32_t k = 0; k < indices->rank - 1; k++) tuple[k] = from[k];
    for (int64_t k = 0; k < depth && !s; k++) {
      tuple[indices->rank - 1] = k;
      s = index_get(call, 1, tn_index_of(indices, tuple), (int32_t)k, data->shape[k], &to[k]);
    }
    for (int64_t k = depth; k < data->rank; k++) to[k] = from[indices->rank - 1 + k - depth];
    if (!s) s = reference_step(call, op, tn_index_of(data, to), i);
  }
  return s;
}

/* ---- TensorScatter: present_cache[b, ..., write_indices[b] + s, ...] = update[b, ..., s, ...]
 * ---- */

tn_status tensor_scatter_infer(const tn_call *call) {
  const tn_tensor_scatter_attrs *a = call->attrs;
  const tn_tensor *cache = call->inputs[0], *update = call->inputs[1];
  char x[TN_TENSOR_TEXT], y[TN_TENSOR_TEXT];
  int32_t axis = 0;
  tn_status s = tn_axis_normalize(call, a->axis, cache->rank, &axis);
  if (s) return s;
  bool linear = a->mode.size == 6 && !memcmp(a->mode.data, "linear", 6),
       circular = a->mode.size == 8 && !memcmp(a->mode.data, "circular", 8);
  if (!linear && !circular)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                            "mode '%.*s' is neither linear nor circular",
                            (int)tn_min_i64(a->mode.size, 100), a->mode.data);
  if (axis == 0)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "axis may not be 0, the batch dim");
  bool fits = update->rank == cache->rank;
  for (int32_t k = 0; fits && k < cache->rank; k++)
    fits = k == axis ? update->shape[k] <= cache->shape[k] : update->shape[k] == cache->shape[k];
  if (!fits)
    return call->host->fail(
        call->ctx, TN_ERR_SHAPE, "update, %s, does not fit past_cache, %s, along axis %d",
        tn_tensor_text(update, x, sizeof x), tn_tensor_text(cache, y, sizeof y), (int)axis);
  if (tn_has_input(call, 2) &&
      (call->inputs[2]->rank != 1 || call->inputs[2]->shape[0] != cache->shape[0]))
    return call->host->fail(
        call->ctx, TN_ERR_SHAPE, "write_indices is %s; it needs one element per batch (%lld)",
        tn_tensor_text(call->inputs[2], x, sizeof x), (long long)cache->shape[0]);
  return tn_infer_like(call, 0, 0);
}

tn_status tensor_scatter_reference(const tn_call *call) {
  const tn_tensor_scatter_attrs *a = call->attrs;
  const tn_tensor *cache = call->inputs[0], *update = call->inputs[1];
  int32_t axis = (int32_t)(a->axis < 0 ? a->axis + cache->rank : a->axis);
  int64_t coord[TN_MAX_RANK], size = cache->shape[axis];
  tn_status s = reference_copy(call);
  for (int64_t i = 0; !s && i < tn_elements(update); i++) {
    tn_coords_of(update, i, coord);
    int64_t first = tn_has_input(call, 2) ? index_load(call->inputs[2], coord[0]) : 0,
            at = first + coord[axis];
    if (a->mode.size == 8) at = ((at % size) + size) % size; /* circular */
    if (first < 0 || at >= size)
      return write_index_fail(call, coord[0], first, size - update->shape[axis]);
    coord[axis] = at;
    s = tn_element_copy(call, 0, tn_index_of(cache, coord), update, i);
  }
  return s;
}
