/* Slice: one region with steps, which may be negative. */
#include "shape.h"

#include "shape.gen.h"

typedef struct slice {
  int64_t start[TN_MAX_RANK], step[TN_MAX_RANK], count[TN_MAX_RANK];
} slice;

/* What start, end and step take of a dim; values far outside mean "from the end" or "to the end".
 */
static void slice_dim(slice *s, int32_t k, int64_t dim, int64_t start, int64_t end, int64_t step) {
  int64_t far = tn_max_i64(dim, 1), lowest = step < 0 ? -1 : 0, highest = step < 0 ? dim - 1 : dim;
  step = tn_min_i64(tn_max_i64(step, -far),
                    far); /* larger steps take one element, too, and may overflow */
  if (start < 0) start += dim;
  if (end < 0) end += dim;
  start = tn_min_i64(tn_max_i64(start, 0), highest);
  end = tn_min_i64(tn_max_i64(end, lowest), highest);
  int64_t span = step < 0 ? start - end : end - start, stride = step < 0 ? -step : step;
  s->start[k] = start;
  s->step[k] = step;
  s->count[k] = span > 0 ? tn_ceil_div(span, stride) : 0;
}

static tn_status slice_parse(const tn_call *call, slice *out) {
  const tn_tensor *in = call->inputs[0];
  int64_t starts[TN_MAX_RANK], ends[TN_MAX_RANK], axes[TN_MAX_RANK], steps[TN_MAX_RANK], n, n_ends,
      n_axes, n_steps;
  uint32_t mask;
  for (int32_t k = 0; k < in->rank; k++) slice_dim(out, k, in->shape[k], 0, in->shape[k], 1);
  tn_status s = tn_const_ints(call, 1, starts, TN_MAX_RANK, &n);
  if (!s) s = tn_const_ints(call, 2, ends, TN_MAX_RANK, &n_ends);
  for (int64_t k = 0; k < TN_MAX_RANK; k++) axes[k] = k, steps[k] = 1;
  if (!s) n_axes = n_steps = n;
  if (!s && tn_has_input(call, 3)) s = tn_const_ints(call, 3, axes, TN_MAX_RANK, &n_axes);
  if (!s && tn_has_input(call, 4)) s = tn_const_ints(call, 4, steps, TN_MAX_RANK, &n_steps);
  if (s) return s;
  if (n_ends != n || n_axes != n || n_steps != n)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "starts, ends, axes and steps have %lld, %lld, %lld and %lld elements",
                            (long long)n, (long long)n_ends, (long long)n_axes, (long long)n_steps);
  s = shape_axes_mask(call, axes, n, in->rank, &mask);
  for (int64_t k = 0; k < n && !s; k++) {
    int32_t axis = (int32_t)(axes[k] < 0 ? axes[k] + in->rank : axes[k]);
    if (steps[k] == 0)
      s = call->host->fail(call->ctx, TN_ERR_INVALID, "steps[%lld] is 0", (long long)k);
    else
      slice_dim(out, axis, in->shape[axis], starts[k], ends[k], steps[k]);
  }
  return s;
}

tn_status slice_infer(const tn_call *call) {
  const tn_tensor *in = call->inputs[0];
  slice sl;
  tn_status s = slice_parse(call, &sl);
  if (!s) tn_infer_shape(call, 0, in->dtype, in->rank, sl.count);
  return s;
}

tn_status slice_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_tensor *in = call->inputs[0], *out = call->outputs[0];
  int64_t src[TN_MAX_RANK], dst[TN_MAX_RANK];
  int32_t value = tn_node_input(call, graph, node, 0);
  tn_moves moves = tn_moves_begin(call, graph);
  tn_move m = {0};
  slice sl;
  tn_status s = slice_parse(call, &sl);
  if (s) return s;
  shape_strides(in, src);
  shape_strides(out, dst);
  for (int32_t k = 0; k < in->rank; k++) {
    m.src_offset += sl.start[k] * src[k];
    tn_move_push(&m, sl.count[k], sl.step[k] * src[k], dst[k]);
  }
  tn_moves_add(&moves, &m);
  return tn_moves_become(&moves, node, &value, 1, -1);
}

/* Before operator set 10, starts, ends and axes were attributes. */
tn_status slice_v1_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_slice_v1_attrs *a = call->attrs;
  int32_t inputs[4] = {tn_node_input(call, graph, node, 0),
                       tn_emit_ints(call, graph, a->starts.data, a->starts.size),
                       tn_emit_ints(call, graph, a->ends.data, a->ends.size), -1};
  if (a->has_axes) inputs[3] = tn_emit_ints(call, graph, a->axes.data, a->axes.size);
  return tn_lower_as(call, graph, node, "Slice", inputs, a->has_axes ? 4 : 3, NULL, 0);
}

tn_status slice_reference(const tn_call *call) {
  const tn_tensor *in = call->inputs[0], *out = call->outputs[0];
  int64_t coord[TN_MAX_RANK], n = tn_elements(out);
  slice sl;
  tn_status s = slice_parse(call, &sl);
  for (int64_t i = 0; i < n && !s; i++) {
    tn_coords_of(out, i, coord);
    for (int32_t k = 0; k < in->rank; k++) coord[k] = sl.start[k] + coord[k] * sl.step[k];
    s = tn_element_copy(call, 0, i, in, tn_index_of(in, coord));
  }
  return s;
}
