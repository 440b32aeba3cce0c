/* Windows of XNNPACK: images are NHWC there. They stand between Transposes, which the planner moves
 * to where they cost least. */
#include "xnnpack.h"

static const int64_t to_nchw[] = {0, 3, 1, 2}, to_nhwc[] = {0, 2, 3, 1};

enum { TOP, RIGHT, BOTTOM, LEFT, KERNEL_H, KERNEL_W, STRIDE_H, STRIDE_W, DILATION_H, DILATION_W };
enum {
  GROUP_IN = 10,
  GROUP_OUT,
  GROUPS,
  EXTRA_H,
  EXTRA_W,
  CONV_IN,
  CONV_FILTER,
  CONV_BIAS,
  CONV_OUT,
  CONV_FLAGS
};
enum { POOL_IN = 10, POOL_OUT, POOL_FLAGS };
enum { SAME_PADDING = 4 };

typedef struct window {
  int64_t pads[4], kernel[2], strides[2], dilations[2], extra[2];
} window;

static tn_status read_window(xnn_part *x, const tn_flat_table *t, uint32_t flags, window *w) {
  *w = (window){
      .pads = {xnn_field(t, TOP), xnn_field(t, LEFT), xnn_field(t, BOTTOM), xnn_field(t, RIGHT)},
      .kernel = {xnn_field(t, KERNEL_H), xnn_field(t, KERNEL_W)},
      .strides = {xnn_field(t, STRIDE_H), xnn_field(t, STRIDE_W)},
      .dilations = {xnn_field(t, DILATION_H), xnn_field(t, DILATION_W)}};
  if (flags == CONV_FLAGS) w->extra[0] = xnn_field(t, EXTRA_H), w->extra[1] = xnn_field(t, EXTRA_W);
  if (xnn_field(t, flags) & SAME_PADDING)
    return xnn_fail(x, TN_ERR_UNSUPPORTED, x->at, "not supported: padding of TensorFlow's SAME");
  for (int k = 0; k < 2; k++) {
    if (!w->strides[k]) w->strides[k] = 1;
    if (!w->dilations[k]) w->dilations[k] = 1;
  }
  return xnn_status(x);
}

/* Filters, per group: [out, h, w, in]; of depthwise ones [1, h, w, out]. */
static tn_status filters(xnn_part *x, xnn_conv_kind kind, const tn_flat_table *t, int32_t *io) {
  static const int64_t deep[] = {3, 0, 1, 2}, transposed[] = {0, 4, 1, 2, 3};
  if (kind != XNN_TRANSPOSED_CONV)
    return xnn_transpose(x, *io, kind == XNN_DEEP_CONV ? deep : to_nchw, 4, io);
  const int64_t groups = xnn_field(t, GROUPS), in = xnn_field(t, GROUP_IN),
                out = xnn_field(t, GROUP_OUT), h = xnn_field(t, KERNEL_H),
                w = xnn_field(t, KERNEL_W);
  const int64_t apart[] = {groups, out, h, w, in}, together[] = {-1, out, h, w};
  int32_t two[] = {*io, TN_NO_ID};
  tn_status s = xnn_ints(x, apart, 5, &two[1]);
  if (!s) s = xnn_emit(x, "Reshape", two, 2, NULL, 0, &two[0]);
  if (!s) s = xnn_transpose(x, two[0], transposed, 5, &two[0]);
  if (!s) s = xnn_ints(x, together, 4, &two[1]);
  return s ? s : xnn_emit(x, "Reshape", two, 2, NULL, 0, io);
}

tn_status xnn_convolve(xnn_part *x, xnn_conv_kind kind, const tn_flat_table *t,
                       const tn_flat_table *range) {
  window w;
  int32_t in[3], out = TN_NO_ID;
  const int64_t bias = xnn_field(t, CONV_BIAS);
  const bool has_bias = bias != 0xffffffff, transposed = kind == XNN_TRANSPOSED_CONV;
  tn_status s = read_window(x, t, CONV_FLAGS, &w);
  if (!s) s = xnn_input(x, xnn_field(t, CONV_IN), &in[0]);
  if (!s) s = xnn_input(x, xnn_field(t, CONV_FILTER), &in[1]);
  if (!s && has_bias) s = xnn_input(x, bias, &in[2]);
  if (!s) s = xnn_transpose(x, in[0], to_nchw, 4, &in[0]);
  if (!s) s = filters(x, kind, t, &in[1]);
  const tn_attr attrs[] = {XNN_INTS("pads", w.pads, 4), XNN_INTS("strides", w.strides, 2),
                           XNN_INTS("dilations", w.dilations, 2),
                           XNN_INT("group", xnn_field(t, GROUPS)),
                           XNN_INTS("output_padding", w.extra, 2)};
  if (!s)
    s = xnn_emit(x, transposed ? "ConvTranspose" : "Conv", in, has_bias ? 3 : 2, attrs,
                 transposed ? 5 : 4, &out);
  if (!s) s = xnn_transpose(x, out, to_nhwc, 4, &out);
  return s ? s : xnn_finish(x, range, xnn_field(t, CONV_OUT), out);
}

tn_status xnn_pool(xnn_part *x, const char *op, const tn_flat_table *t,
                   const tn_flat_table *range) {
  window w;
  int32_t in, out = TN_NO_ID;
  tn_status s = read_window(x, t, POOL_FLAGS, &w);
  if (!s) s = xnn_input(x, xnn_field(t, POOL_IN), &in);
  if (!s) s = xnn_transpose(x, in, to_nchw, 4, &in);
  const tn_attr attrs[] = {XNN_INTS("kernel_shape", w.kernel, 2), XNN_INTS("pads", w.pads, 4),
                           XNN_INTS("strides", w.strides, 2),
                           XNN_INTS("dilations", w.dilations, 2)};
  if (!s) s = xnn_emit(x, op, &in, 1, attrs, *op == 'M' ? 4 : 3, &out);
  if (!s) s = xnn_transpose(x, out, to_nhwc, 4, &out);
  return s ? s : xnn_finish(x, range, xnn_field(t, POOL_OUT), out);
}

/* Windows side by side: the most of each, and where it lies in its window. */
tn_status xnn_arg_max_pool(xnn_part *x, const tn_flat_table *t, const tn_flat_table *range) {
  enum { HEIGHT = 4, WIDTH, IN, VALUES, PLACES };
  static const int64_t order[] = {0, 1, 3, 2, 4, 5}, axis = 3;
  const int64_t h = xnn_field(t, HEIGHT), w = xnn_field(t, WIDTH);
  bool padded = false;
  xnn_value *v, *places;
  int32_t two[2], most, place;
  for (uint32_t k = 0; k < HEIGHT; k++) padded |= xnn_field(t, k) != 0;
  tn_status s = xnn_input(x, xnn_field(t, IN), &two[0]);
  if (!s) s = xnn_value_of(x, xnn_field(t, IN), &v);
  if (!s) s = xnn_value_of(x, xnn_field(t, PLACES), &places);
  if (s) return s;
  const int64_t *d = v->type.shape;
  if (v->type.rank != 4 || padded || !h || !w || d[1] % h || d[2] % w)
    return xnn_fail(x, TN_ERR_UNSUPPORTED, x->at,
                    "not supported: windows that go beyond the image");
  const int64_t apart[] = {d[0], d[1] / h, h, d[2] / w, w, d[3]},
                together[] = {d[0], d[1] / h, d[2] / w, h * w, d[3]};
  s = xnn_ints(x, apart, 6, &two[1]);
  if (!s) s = xnn_emit(x, "Reshape", two, 2, NULL, 0, &two[0]);
  if (!s) s = xnn_transpose(x, two[0], order, 6, &two[0]);
  if (!s) s = xnn_ints(x, together, 5, &two[1]);
  if (!s) s = xnn_emit(x, "Reshape", two, 2, NULL, 0, &two[0]);
  const tn_attr attrs[] = {XNN_INT("keepdims", 0), XNN_INT("axis", axis)};
  if (!s) s = xnn_emit(x, "ArgMax", two, 1, attrs, 2, &place);
  if (!s) s = xnn_cast(x, place, places->type.dtype, &places->id);
  if (!s) s = xnn_ints(x, &axis, 1, &two[1]);
  if (!s) s = xnn_emit(x, "ReduceMax", two, 2, attrs, 1, &most);
  return s ? s : xnn_finish(x, range, xnn_field(t, VALUES), most);
}

tn_status xnn_resize(xnn_part *x, const tn_flat_table *t, const tn_flat_table *range) {
  enum { ALIGN_CORNERS = 8 };
  xnn_value *v;
  int32_t in[4] = {TN_NO_ID, TN_NO_ID, TN_NO_ID, TN_NO_ID}, out;
  const char *how = xnn_field(t, 4) & ALIGN_CORNERS ? "align_corners" : "half_pixel";
  tn_status s = xnn_input(x, xnn_field(t, 2), &in[0]);
  if (!s) s = xnn_value_of(x, xnn_field(t, 2), &v);
  if (!s && v->type.rank != 4) s = xnn_fail(x, TN_ERR_INVALID, x->at, "its input is no image");
  if (s) return s;
  const int64_t sizes[] = {v->type.shape[0], v->type.shape[3], xnn_field(t, 0), xnn_field(t, 1)};
  const tn_attr attrs[] = {
      {.head = TN_HEAD(tn_attr), .name = "mode", .kind = TN_ATTR_STR, .s = {"linear", 6}},
      {.head = TN_HEAD(tn_attr),
       .name = "coordinate_transformation_mode",
       .kind = TN_ATTR_STR,
       .s = {how, (int64_t)strlen(how)}}};
  s = xnn_transpose(x, in[0], to_nchw, 4, &in[0]);
  if (!s) s = xnn_ints(x, sizes, 4, &in[3]);
  if (!s) s = xnn_emit(x, "Resize", in, 4, attrs, 2, &out);
  if (!s) s = xnn_transpose(x, out, to_nhwc, 4, &out);
  return s ? s : xnn_finish(x, range, xnn_field(t, 3), out);
}
