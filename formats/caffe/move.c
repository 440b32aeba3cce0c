/* Layers that only move elements. */
#include "caffe.gen.h"
#include "lower.h"

tn_status caffe_concat(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  int32_t axis = 0;
  tn_status s = caf_axis(&c, tn_low_int(&c, "axis", tn_low_int(&c, "concat_dim", 1)),
                         tn_low_type(&c, 0)->rank - 1, &axis);
  if (s) return s;
  const tn_attr a = tn_attr_int("axis", axis);
  return caf_done(&c, tn_low_emit(&c, "Concat", tn_low_node(&c)->inputs, caf_bottoms(&c), &a, 1));
}

/* From slice point to slice point; without any, in equal parts. */
tn_status caffe_slice(const tn_call *call, tn_graph *graph, int32_t node) {
  enum { MAX_TOPS = 64 };
  const tn_lowering c = tn_low_open(call, graph, node);
  const tn_graph_api *api = call->host->graph;
  const tn_ints points = tn_low_ints(&c, "slice_point");
  const uint32_t n = tn_low_node(&c)->n_outputs;
  int64_t from = 0;
  int32_t axis = 0, out[MAX_TOPS];
  tn_status s = caf_axis(&c, tn_low_int(&c, "axis", tn_low_int(&c, "slice_dim", 1)),
                         tn_low_type(&c, 0)->rank - 1, &axis);
  if (s) return s;
  const int64_t size = tn_low_type(&c, 0)->shape[axis];
  if (n > MAX_TOPS) return tn_low_unsupported(&c, "more than 64 tops");
  if (points.size ? points.size != n - 1 : size % n != 0)
    return caf_invalid(&c, "as many tops as it has do not divide its bottom");
  for (uint32_t k = 0; k < n; k++) {
    const int64_t to = k == n - 1 ? size : points.size ? points.data[k] : from + size / n;
    if (to <= from || to > size) return caf_invalid(&c, "slice points that are not in order");
    const int64_t at = axis;
    const int32_t inputs[] = {tn_low_in(&c, 0), tn_emit_ints(call, graph, &from, 1),
                              tn_emit_ints(call, graph, &to, 1), tn_emit_ints(call, graph, &at, 1)};
    out[k] = tn_low_emit(&c, "Slice", inputs, 4, NULL, 0);
    if (out[k] < 0) return out[k];
    from = to;
  }
  return api->replace_node(graph, node, out, n);
}

tn_status caffe_permute(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const int32_t rank = tn_low_type(&c, 0)->rank, x = tn_low_in(&c, 0);
  const tn_ints order = tn_low_ints(&c, "order");
  int64_t perm[TN_MAX_RANK], n = 0;
  uint32_t seen = 0;
  for (int64_t k = 0; k < order.size; k++) {
    if (order.data[k] < 0 || order.data[k] >= rank || seen >> order.data[k] & 1)
      return caf_invalid(&c, "an order that names an axis twice, or one that is not there");
    seen |= UINT32_C(1) << order.data[k];
    perm[n++] = order.data[k];
  }
  for (int32_t k = 0; k < rank; k++)
    if (!(seen >> k & 1)) perm[n++] = k;
  const tn_attr a = tn_attr_ints("perm", (tn_ints){perm, rank});
  return caf_done(&c, tn_low_emit(&c, "Transpose", &x, 1, &a, 1));
}

tn_status caffe_shuffle_channel(const tn_call *call, tn_graph *graph, int32_t node) {
  static const int32_t turn[] = {0, 2, 1, 3};
  const tn_lowering c = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&c, 0);
  const int64_t group = tn_low_int(&c, "group", 1), n = x->rank > 1 ? x->shape[1] : 0;
  if (group < 1 || x->rank < 2 || n % group)
    return caf_invalid(&c, "a number of groups that does not divide the channels");
  int64_t shape[] = {x->shape[0], group, n / group, 1};
  for (int32_t k = 2; k < x->rank; k++) shape[3] *= x->shape[k];
  const int32_t y = tn_low_transpose(&c, tn_low_reshape(&c, tn_low_in(&c, 0), 4, shape), 4, turn);
  return caf_done(&c, tn_low_reshape(&c, y, x->rank, x->shape));
}

tn_status caffe_upsample(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const int64_t scale = tn_low_int(&c, "scale", 1);
  if (caf_bottoms(&c) != 1) return tn_low_unsupported(&c, "putting back what a pooling took away");
  if (tn_low_type(&c, 0)->rank != 4) return tn_low_unsupported(&c, "what is no image");
  if (scale < 1 || scale > 1024) return caf_invalid(&c, "a scale that is not from 1 to 1024");
  const double scales[] = {1, 1, (double)scale, (double)scale};
  const int32_t in[] = {tn_low_in(&c, 0), TN_NO_ID, tn_emit_floats(c.call, c.graph, scales, 4)};
  const tn_attr attrs[] = {tn_attr_str("mode", "nearest"), tn_attr_str("nearest_mode", "floor"),
                           tn_attr_str("coordinate_transformation_mode", "asymmetric")};
  return caf_done(&c, tn_low_emit(&c, "Resize", in, 3, attrs, 3));
}

tn_status caffe_flatten(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&c, 0);
  int64_t shape[TN_MAX_RANK];
  int32_t from = 0, to = 0, n = 0;
  tn_status s = caf_axis(&c, tn_low_int(&c, "axis", 1), x->rank - 1, &from);
  if (!s) s = caf_axis(&c, tn_low_int(&c, "end_axis", -1), x->rank - 1, &to);
  if (s) return s;
  if (to < from) return caf_invalid(&c, "an end_axis before the axis");
  for (int32_t k = 0; k < x->rank; k++) {
    if (k <= from || k > to)
      shape[n++] = x->shape[k];
    else if (tn_mul_i64(shape[n - 1], x->shape[k], &shape[n - 1]))
      return caf_invalid(&c, "too many elements");
  }
  return caf_done(&c, tn_low_reshape(&c, tn_low_in(&c, 0), n, shape));
}

/* 0: the bottom's own dim there; -1: what is left of its elements. */
tn_status caffe_reshape(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&c, 0);
  const tn_ints dims = tn_low_ints(&c, "dim");
  int64_t shape[TN_MAX_RANK], num_axes = tn_low_int(&c, "num_axes", -1),
                              axis = tn_low_int(&c, "axis", 0);
  int32_t n = 0, from = 0;
  if (axis < 0) axis += x->rank + 1; /* -1: behind the last */
  if (axis < 0 || axis > x->rank) return caf_invalid(&c, "an axis that its bottom does not have");
  from = (int32_t)axis;
  if (num_axes < 0) num_axes = x->rank - from;
  if (num_axes > x->rank - from) return caf_invalid(&c, "more axes than its bottom has");
  if (x->rank - num_axes + dims.size > TN_MAX_RANK) return tn_low_unsupported(&c, "so many dims");
  int64_t known = 1, total = tn_elements(x);
  int32_t open = -1;
  for (int32_t k = 0; k < from; k++) shape[n++] = x->shape[k];
  for (int64_t k = 0; k < dims.size; k++) {
    const int64_t d = dims.data[k];
    if (d < -1 || (d == 0 && from + k >= x->rank) || (d == -1 && open >= 0))
      return caf_invalid(&c, "a shape that cannot be");
    if (d == -1) open = n;
    shape[n++] = d == 0 ? x->shape[from + k] : d < 0 ? 1 : d;
  }
  for (int64_t k = from + num_axes; k < x->rank; k++) shape[n++] = x->shape[k];
  for (int32_t k = 0; k < n; k++)
    if (tn_mul_i64(known, shape[k], &known)) return caf_invalid(&c, "too many elements");
  if (open >= 0 && known > 0) shape[open] = total / known, known *= shape[open];
  if (known != total) return caf_invalid(&c, "a shape of another number of elements");
  return caf_done(&c, tn_low_reshape(&c, tn_low_in(&c, 0), n, shape));
}

tn_status caffe_tile(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const int32_t rank = tn_low_type(&c, 0)->rank;
  int64_t repeats[TN_MAX_RANK];
  int32_t axis = 0;
  tn_status s = caf_axis(&c, tn_low_int(&c, "axis", 1), rank - 1, &axis);
  if (s) return s;
  for (int32_t k = 0; k < rank; k++) repeats[k] = 1;
  repeats[axis] = tn_low_int(&c, "tiles", 0);
  if (repeats[axis] < 1) return caf_invalid(&c, "tiles below 1");
  return caf_done(&c,
                  tn_low_2(&c, "Tile", tn_low_in(&c, 0), tn_emit_ints(call, graph, repeats, rank)));
}

/* Bottom 0 at an offset, from the axis on as large as bottom 1. */
tn_status caffe_crop(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&c, 0), *like = tn_low_type(&c, 1);
  const tn_ints offsets = tn_low_ints(&c, "offset");
  int64_t from[TN_MAX_RANK], to[TN_MAX_RANK], axes[TN_MAX_RANK];
  int32_t axis = 0;
  if (caf_bottoms(&c) != 2 || like->rank != x->rank)
    return caf_invalid(&c, "a Crop needs two bottoms of one rank");
  tn_status s = caf_axis(&c, tn_low_int(&c, "axis", 2), x->rank - 1, &axis);
  if (s) return s;
  const int32_t n = x->rank - axis;
  if (offsets.size > 1 && offsets.size != n) return caf_invalid(&c, "not one offset for each axis");
  for (int32_t k = 0; k < n; k++) {
    axes[k] = axis + k;
    from[k] = offsets.size ? offsets.data[offsets.size > 1 ? k : 0] : 0;
    const int64_t room = x->shape[axes[k]] - like->shape[axes[k]];
    if (from[k] < 0 || from[k] > room) return caf_invalid(&c, "what it cuts out stands outside");
    to[k] = from[k] + like->shape[axes[k]];
  }
  const int32_t inputs[] = {tn_low_in(&c, 0), tn_emit_ints(call, graph, from, n),
                            tn_emit_ints(call, graph, to, n), tn_emit_ints(call, graph, axes, n)};
  return caf_done(&c, tn_low_emit(&c, "Slice", inputs, 4, NULL, 0));
}
