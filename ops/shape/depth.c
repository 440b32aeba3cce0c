/* DepthToSpace, SpaceToDepth and CenterCropPad. */
#include <string.h>

#include "shape.h"

#include "shape.gen.h"

/* Both ways: the "deep" tensor is [N, C*b*b, H, W], the "wide" one [N, C, H*b, W*b]. */
typedef struct blocks {
  int64_t b, n, c, h, w;
  bool crd; /* depth is C, row, column of the block; else row, column, C */
} blocks;

static tn_status parse_blocks(const tn_call *call, int64_t blocksize, tn_str mode, bool to_space,
                              blocks *out) {
  const tn_tensor *in = call->inputs[0];
  char text[TN_TENSOR_TEXT];
  bool dcr = mode.size == 3 && !memcmp(mode.data, "DCR", 3),
       crd = mode.size == 3 && !memcmp(mode.data, "CRD", 3);
  if (!dcr && !crd)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "mode '%.*s' is neither DCR nor CRD",
                            (int)tn_min_i64(mode.size, 100), mode.data);
  if (in->rank != 4)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "the input must have rank 4, not %s",
                            tn_tensor_text(in, text, sizeof text));
  if (blocksize < 1 || blocksize > INT32_MAX)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "blocksize is %lld", (long long)blocksize);
  const blocks made = {.b = blocksize,
                       .n = in->shape[0],
                       .c = to_space ? in->shape[1] / (blocksize * blocksize) : in->shape[1],
                       .h = to_space ? in->shape[2] : in->shape[2] / blocksize,
                       .w = to_space ? in->shape[3] : in->shape[3] / blocksize,
                       .crd = crd};
  bool fits = to_space ? made.c * blocksize * blocksize == in->shape[1]
                       : made.h * blocksize == in->shape[2] && made.w * blocksize == in->shape[3];
  if (!fits)
    return call->host->fail(
        call->ctx, TN_ERR_SHAPE, "%s does not divide into blocks of %lld by %lld",
        tn_tensor_text(in, text, sizeof text), (long long)blocksize, (long long)blocksize);
  *out = made;
  return TN_OK;
}

static tn_status depth_parse(const tn_call *call, blocks *out) {
  const tn_depth_to_space_attrs *a = call->attrs;
  return parse_blocks(call, a->blocksize, a->mode, true, out);
}

static tn_status space_parse(const tn_call *call, blocks *out) {
  const tn_space_to_depth_attrs *a = call->attrs;
  return parse_blocks(call, a->blocksize, a->mode, false, out);
}

tn_status depth_to_space_infer(const tn_call *call) {
  blocks k;
  tn_status s = depth_parse(call, &k);
  if (s) return s;
  int64_t dims[4] = {k.n, k.c};
  if (tn_mul_i64(k.h, k.b, &dims[2]) || tn_mul_i64(k.w, k.b, &dims[3]))
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW, "the output's dims do not fit in 64 bits");
  tn_infer_shape(call, 0, call->inputs[0]->dtype, 4, dims);
  return TN_OK;
}

tn_status space_to_depth_infer(const tn_call *call) {
  blocks k;
  tn_status s = space_parse(call, &k);
  if (s) return s;
  int64_t dims[4] = {k.n, 0, k.h, k.w};
  if (tn_mul_i64(k.c, k.b * k.b, &dims[1]))
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW, "the output's dims do not fit in 64 bits");
  tn_infer_shape(call, 0, call->inputs[0]->dtype, 4, dims);
  return TN_OK;
}

/* Dims N, C, H, block row, W, block column with their strides in both tensors. */
static tn_status lower(const tn_call *call, tn_graph *graph, int32_t node, const blocks *k,
                       bool to_space) {
  int64_t plane = k->h * k->w, b = k->b;
  const int64_t size[6] = {k->n, k->c, k->h, b, k->w, b};
  const int64_t wide[6] = {k->c * plane * b * b, plane * b * b, k->w * b * b, k->w * b, b, 1};
  const int64_t deep[6] = {k->c * plane * b * b,
                           k->crd ? b * b * plane : plane,
                           k->w,
                           (k->crd ? 1 : k->c) * b * plane,
                           1,
                           (k->crd ? 1 : k->c) * plane};
  int32_t value = tn_node_input(call, graph, node, 0);
  tn_moves moves = tn_moves_begin(call, graph);
  tn_move m = {0};
  for (int d = 0; d < 6; d++)
    tn_move_push(&m, size[d], to_space ? deep[d] : wide[d], to_space ? wide[d] : deep[d]);
  tn_moves_add(&moves, &m);
  return tn_moves_become(&moves, node, &value, 1, -1);
}

tn_status depth_to_space_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  blocks k;
  tn_status s = depth_parse(call, &k);
  return s ? s : lower(call, graph, node, &k, true);
}

tn_status space_to_depth_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  blocks k;
  tn_status s = space_parse(call, &k);
  return s ? s : lower(call, graph, node, &k, false);
}

/* Where the element at n, c, y, x of the wide tensor stands in the deep one. */
static int64_t deep_index(const blocks *k, const tn_tensor *deep, const int64_t *wide) {
  int64_t row = wide[2] % k->b, column = wide[3] % k->b;
  int64_t depth =
      k->crd ? (wide[1] * k->b + row) * k->b + column : (row * k->b + column) * k->c + wide[1];
  int64_t coord[4] = {wide[0], depth, wide[2] / k->b, wide[3] / k->b};
  return tn_index_of(deep, coord);
}

tn_status depth_to_space_reference(const tn_call *call) {
  const tn_tensor *deep = call->inputs[0], *wide = call->outputs[0];
  int64_t coord[4];
  blocks k;
  tn_status s = depth_parse(call, &k);
  for (int64_t i = 0; !s && i < tn_elements(wide); i++) {
    tn_coords_of(wide, i, coord);
    s = tn_element_copy(call, 0, i, deep, deep_index(&k, deep, coord));
  }
  return s;
}

tn_status space_to_depth_reference(const tn_call *call) {
  const tn_tensor *wide = call->inputs[0], *deep = call->outputs[0];
  int64_t coord[4];
  blocks k;
  tn_status s = space_parse(call, &k);
  for (int64_t i = 0; !s && i < tn_elements(wide); i++) {
    tn_coords_of(wide, i, coord);
    s = tn_element_copy(call, 0, deep_index(&k, deep, coord), wide, i);
  }
  return s;
}

/* ---- CenterCropPad ---- */

tn_status center_crop_pad_infer(const tn_call *call) {
  const tn_center_crop_pad_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0];
  int64_t sizes[TN_MAX_RANK], n, dims[TN_MAX_RANK];
  uint32_t mask = 0;
  tn_status s = tn_const_ints(call, 1, sizes, TN_MAX_RANK, &n);
  if (!s && a->has_axes) s = shape_axes_mask(call, a->axes.data, a->axes.size, in->rank, &mask);
  if (s) return s;
  if (n != (a->has_axes ? a->axes.size : in->rank))
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "shape has %lld elements for %lld axes",
                            (long long)n, (long long)(a->has_axes ? a->axes.size : in->rank));
  for (int32_t k = 0; k < in->rank; k++) dims[k] = in->shape[k];
  for (int64_t k = 0; k < n; k++) {
    int64_t axis = !a->has_axes          ? k
                   : a->axes.data[k] < 0 ? a->axes.data[k] + in->rank
                                         : a->axes.data[k];
    if (sizes[k] < 0)
      return call->host->fail(call->ctx, TN_ERR_INVALID, "shape[%lld] is %lld", (long long)k,
                              (long long)sizes[k]);
    dims[axis] = sizes[k];
  }
  tn_infer_shape(call, 0, in->dtype, in->rank, dims);
  return TN_OK;
}

tn_status center_crop_pad_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_tensor *in = call->inputs[0], *out = call->outputs[0];
  int64_t src[TN_MAX_RANK], dst[TN_MAX_RANK];
  int32_t value = tn_node_input(call, graph, node, 0);
  tn_moves moves = tn_moves_begin(call, graph);
  tn_move m = {0};
  shape_strides(in, src);
  shape_strides(out, dst);
  for (int32_t k = 0; k < in->rank; k++) {
    int64_t from = in->shape[k], to = out->shape[k];
    m.src_offset += tn_max_i64(0, from - to) / 2 * src[k];
    m.dst_offset += tn_max_i64(0, to - from) / 2 * dst[k];
    tn_move_push(&m, tn_min_i64(from, to), src[k], dst[k]);
  }
  tn_moves_add(&moves, &m);
  return tn_moves_become(&moves, node, &value, 1, -1);
}

tn_status center_crop_pad_reference(const tn_call *call) {
  const tn_tensor *in = call->inputs[0], *out = call->outputs[0];
  int64_t coord[TN_MAX_RANK], n = tn_elements(out);
  tn_status s = TN_OK;
  for (int64_t i = 0; i < n && !s; i++) {
    bool inside = true;
    tn_coords_of(out, i, coord);
    for (int32_t k = 0; k < in->rank; k++) {
      int64_t more = out->shape[k] - in->shape[k]; /* both halves are rounded down */
      coord[k] += more < 0 ? -more / 2 : -(more / 2);
      inside = inside && coord[k] >= 0 && coord[k] < in->shape[k];
    }
    s = tn_element_copy(call, 0, i, inside ? in : NULL, inside ? tn_index_of(in, coord) : 0);
  }
  return s;
}
