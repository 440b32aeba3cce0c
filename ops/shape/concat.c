/* Concat and Split: one region per part, along one axis. */
#include "shape.h"

#include "shape.gen.h"

/* Input k as a part. A scalar among vectors is a vector of one: exporters fold constants into such.
 */
static tn_tensor concat_part(const tn_call *call, uint32_t k, int32_t rank) {
  tn_tensor t = *call->inputs[k];
  if (t.rank == 0 && rank == 1) t.rank = 1, t.shape[0] = 1;
  return t;
}

tn_status concat_infer(const tn_call *call) {
  const tn_concat_attrs *a = call->attrs;
  int32_t axis = 0, rank = 0;
  for (uint32_t k = 0; k < call->n_inputs; k++) {
    if (!call->inputs[k])
      return call->host->fail(call->ctx, TN_ERR_INVALID, "input %u is missing", (unsigned)k);
    if (call->inputs[k]->rank > rank) rank = call->inputs[k]->rank;
  }
  if (rank == 0) return call->host->fail(call->ctx, TN_ERR_SHAPE, "scalars cannot be concatenated");
  tn_status s = tn_axis_normalize(call, a->axis, rank, &axis);
  if (s) return s;
  tn_tensor first = concat_part(call, 0, rank), out = first;
  for (uint32_t k = 1; k < call->n_inputs; k++) {
    tn_tensor t = concat_part(call, k, rank);
    bool fits = t.rank == first.rank;
    for (int32_t d = 0; fits && d < rank; d++) fits = d == axis || t.shape[d] == first.shape[d];
    if (!fits || tn_add_i64(out.shape[axis], t.shape[axis], &out.shape[axis])) {
      char x[TN_TENSOR_TEXT], y[TN_TENSOR_TEXT];
      return call->host->fail(call->ctx, TN_ERR_SHAPE,
                              "input %u, %s, and input 0, %s, differ outside of axis %d",
                              (unsigned)k, tn_tensor_text(&t, x, sizeof x),
                              tn_tensor_text(&first, y, sizeof y), (int)axis);
    }
  }
  tn_infer_shape(call, 0, out.dtype, out.rank, out.shape);
  return TN_OK;
}

tn_status concat_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_concat_attrs *a = call->attrs;
  const tn_tensor *out = call->outputs[0];
  const tn_node *n = call->host->graph->node(graph, node);
  int64_t dst[TN_MAX_RANK], src[TN_MAX_RANK], offset = 0;
  int32_t axis = 0;
  tn_status s = tn_axis_normalize(call, a->axis, out->rank, &axis);
  if (s) return s;
  shape_strides(out, dst);
  tn_moves moves = tn_moves_begin(call, graph);
  for (uint32_t k = 0; k < call->n_inputs; k++) {
    tn_move m = {.input = (int32_t)k, .dst_offset = offset};
    tn_tensor t = concat_part(call, k, out->rank);
    shape_strides(&t, src);
    for (int32_t d = 0; d < out->rank; d++) tn_move_push(&m, t.shape[d], src[d], dst[d]);
    tn_moves_add(&moves, &m);
    offset += t.shape[axis] * dst[axis];
  }
  return tn_moves_become(&moves, node, n->inputs, call->n_inputs, -1);
}

tn_status concat_reference(const tn_call *call) {
  const tn_concat_attrs *a = call->attrs;
  const tn_tensor *out = call->outputs[0];
  int64_t coord[TN_MAX_RANK], n = tn_elements(out);
  int64_t axis = a->axis < 0 ? a->axis + out->rank : a->axis;
  tn_status s = TN_OK;
  for (int64_t i = 0; i < n && !s; i++) {
    tn_coords_of(out, i, coord);
    uint32_t k = 0;
    tn_tensor t = concat_part(call, 0, out->rank);
    for (; coord[axis] >= t.shape[axis]; t = concat_part(call, ++k, out->rank))
      coord[axis] -= t.shape[axis];
    s = tn_element_copy(call, 0, i, call->inputs[k], tn_index_of(&t, coord));
  }
  return s;
}

/* Size of part k of n along an axis of `size`, when the sizes are not given: equal, the last one
 * smaller. */
static int64_t even_part(int64_t size, int64_t n, int64_t k) {
  int64_t part = tn_ceil_div(size, n);
  return tn_max_i64(0, tn_min_i64(part, size - k * part));
}

static tn_status check_parts(const tn_call *call, int32_t axis, int64_t n) {
  const tn_split_attrs *a = call->attrs;
  int64_t size = call->inputs[0]->shape[axis];
  if (tn_has_input(call, 1)) {
    int64_t given, sum = 0;
    tn_status s = tn_const_elements(call, 1, &given);
    if (s) return s;
    if (given != n)
      return call->host->fail(call->ctx, TN_ERR_SHAPE, "split has %lld sizes for %lld outputs",
                              (long long)given, (long long)n);
    for (int64_t k = 0; k < n; k++) {
      int64_t part = tn_load_i64(call->inputs[1]->dtype, call->inputs[1]->data, k);
      if (part < 0 || tn_add_i64(sum, part, &sum)) sum = -1;
      if (sum < 0)
        return call->host->fail(call->ctx, TN_ERR_INVALID, "split[%lld] is %lld", (long long)k,
                                (long long)part);
    }
    if (sum == size) return TN_OK;
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "the sizes in split add up to %lld; dim %d has %lld", (long long)sum,
                            (int)axis, (long long)size);
  }
  if (a->has_num_outputs && a->num_outputs != n)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "num_outputs is %lld, but there are %lld outputs",
                            (long long)a->num_outputs, (long long)n);
  if (!a->has_num_outputs && size % n)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "dim %d of size %lld does not split into %lld equal parts", (int)axis,
                            (long long)size, (long long)n);
  return TN_OK;
}

static int64_t part_size(const tn_call *call, int32_t axis, int64_t n, int64_t k) {
  if (tn_has_input(call, 1)) return tn_load_i64(call->inputs[1]->dtype, call->inputs[1]->data, k);
  return even_part(call->inputs[0]->shape[axis], n, k);
}

tn_status split_infer(const tn_call *call) {
  const tn_split_attrs *a = call->attrs;
  tn_tensor part = *call->inputs[0];
  int64_t n = call->n_outputs;
  int32_t axis = 0;
  tn_status s = n > 0 ? tn_axis_normalize(call, a->axis, part.rank, &axis)
                      : call->host->fail(call->ctx, TN_ERR_INVALID, "has no outputs");
  if (!s) s = check_parts(call, axis, n);
  if (s) return s;
  for (int64_t k = 0; k < n; k++) {
    part.shape[axis] = part_size(call, axis, n, k);
    tn_infer_shape(call, (uint32_t)k, part.dtype, part.rank, part.shape);
  }
  return TN_OK;
}

/* One tenon::Region per output. */
static tn_status split_emit(const tn_call *call, tn_graph *graph, int32_t input, int32_t axis,
                            int32_t *values) {
  const tn_tensor *in = call->inputs[0];
  int64_t src[TN_MAX_RANK], dst[TN_MAX_RANK], offset = 0;
  shape_strides(in, src);
  for (uint32_t k = 0; k < call->n_outputs; k++) {
    const tn_tensor *out = call->outputs[k];
    values[k] = -1;
    if (out) {
      tn_moves moves = tn_moves_begin(call, graph);
      tn_move m = {.src_offset = offset};
      shape_strides(out, dst);
      for (int32_t d = 0; d < out->rank; d++) tn_move_push(&m, out->shape[d], src[d], dst[d]);
      tn_moves_add(&moves, &m);
      tn_status s = tn_moves_emit(&moves, out, &input, 1, -1, &values[k]);
      if (s) return s;
    }
    offset += part_size(call, axis, call->n_outputs, k) * src[axis];
  }
  return TN_OK;
}

tn_status split_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_split_attrs *a = call->attrs;
  int32_t axis = 0, input = tn_node_input(call, graph, node, 0);
  tn_status s = tn_axis_normalize(call, a->axis, call->inputs[0]->rank, &axis);
  int32_t *values = s ? NULL : call->host->alloc(call->ctx, (call->n_outputs + 1) * sizeof *values);
  if (!values) return s ? s : TN_ERR_MEMORY;
  s = split_emit(call, graph, input, axis, values);
  if (!s) s = call->host->graph->replace_node(graph, node, values, call->n_outputs);
  call->host->free(call->ctx, values);
  return s;
}

/* Before operator set 13, the sizes were an attribute. */
tn_status concat_v1_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_node *n = call->host->graph->node(graph, node);
  const tn_attr axis = tn_attr_int("axis", ((const tn_concat_v1_attrs *)call->attrs)->axis);
  return tn_lower_as(call, graph, node, "Concat", n->inputs, n->n_inputs, &axis, 1);
}

tn_status split_v2_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_split_v2_attrs *a = call->attrs;
  const tn_attr attrs[2] = {tn_attr_int("axis", a->axis),
                            tn_attr_int("num_outputs", call->n_outputs)};
  int32_t inputs[2] = {tn_node_input(call, graph, node, 0), -1};
  if (!a->has_split) return tn_lower_as(call, graph, node, "Split", inputs, 1, attrs, 2);
  inputs[1] = tn_emit_ints(call, graph, a->split.data, a->split.size);
  return tn_lower_as(call, graph, node, "Split", inputs, 2, attrs, 1);
}

tn_status split_reference(const tn_call *call) {
  const tn_split_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0];
  int64_t axis = a->axis < 0 ? a->axis + in->rank : a->axis, coord[TN_MAX_RANK], before = 0;
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < call->n_outputs && !s; k++) {
    const tn_tensor *out = call->outputs[k];
    for (int64_t i = 0; out && i < tn_elements(out) && !s; i++) {
      tn_coords_of(out, i, coord);
      coord[axis] += before;
      s = tn_element_copy(call, k, i, in, tn_index_of(in, coord));
    }
    before += part_size(call, (int32_t)axis, call->n_outputs, k);
  }
  return s;
}
