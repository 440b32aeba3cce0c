/* Convolutions. A file may leave the batch out; then it is put in front for a while. */
#include "aten.h"
#include "aten_layers.gen.h"
#include "torchvision.gen.h"

/* pads and other lists of ONNX, for `n` dims of space. */
typedef struct window {
  int32_t n;
  int64_t kernel[TN_MAX_RANK], stride[TN_MAX_RANK], dilation[TN_MAX_RANK], pad[2 * TN_MAX_RANK],
      more[TN_MAX_RANK];
} window;

static tn_status read_padding(const tn_lowering *l, window *w) {
  const tn_attr *text = tn_pattern_attr(tn_low_node(l), "padding", TN_ATTR_STR);
  const bool same = text && tn_str_is(text->s, "same");
  if (text && !same && !tn_str_is(text->s, "valid"))
    return at_fail(l, TN_ERR_INVALID, "padding is neither same nor valid");
  for (int32_t k = 0; k < w->n; k++) {
    int64_t all = 0;
    if (same && tn_mul_i64(w->dilation[k], w->kernel[k] - 1, &all))
      return at_fail(l, TN_ERR_OVERFLOW, "a size of the window is too large");
    const int64_t given = text ? 0 : at_item(l, "padding", k, 0);
    w->pad[k] = same ? all / 2 : given;
    w->pad[k + w->n] = same ? all - all / 2 : given;
    if (same && w->stride[k] != 1)
      return at_fail(l, TN_ERR_INVALID, "padding same goes with strides of 1 alone");
  }
  return TN_OK;
}

static tn_status read_window(const tn_lowering *l, window *w) {
  const tn_tensor *x = tn_low_type(l, 0), *k = tn_low_type(l, 1);
  if (k->rank < 3 || (x->rank != k->rank && x->rank != k->rank - 1))
    return at_fail(l, TN_ERR_SHAPE, "the weights do not fit the input");
  w->n = k->rank - 2;
  for (int32_t i = 0; i < w->n; i++) {
    w->kernel[i] = k->shape[i + 2];
    w->stride[i] = at_item(l, "stride", i, 1);
    w->dilation[i] = at_item(l, "dilation", i, 1);
    w->more[i] = at_item(l, "output_padding", i, 0);
  }
  return read_padding(l, w);
}

static int32_t convolved(const tn_lowering *l, const window *w, bool transposed) {
  const tn_tensor *x = tn_low_type(l, 0);
  const bool unbatched = x->rank == w->n + 1;
  const int32_t in[] = {unbatched ? at_unsqueeze(l, tn_low_in(l, 0), 0) : tn_low_in(l, 0),
                        tn_low_in(l, 1), tn_low_in(l, 2)};
  const tn_attr attrs[] = {tn_attr_ints("kernel_shape", (tn_ints){w->kernel, w->n}),
                           tn_attr_ints("strides", (tn_ints){w->stride, w->n}),
                           tn_attr_ints("dilations", (tn_ints){w->dilation, w->n}),
                           tn_attr_ints("pads", (tn_ints){w->pad, 2 * w->n}),
                           tn_attr_int("group", tn_low_int(l, "groups", 1)),
                           tn_attr_ints("output_padding", (tn_ints){w->more, w->n})};
  const int32_t y = tn_low_emit(l, transposed ? "ConvTranspose" : "Conv", in, in[2] < 0 ? 2 : 3,
                                attrs, transposed ? 6 : 5);
  return unbatched ? at_squeeze(l, y, 0) : y;
}

/* conv1d to conv3d, conv_transpose1d to 3d, convolution, _convolution. */
tn_status aten_conv(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const bool transposed =
      !strncmp(tn_low_node(&l)->op, "conv_transpose", 14) || tn_low_int(&l, "transposed", 0);
  window w = {.n = 0};
  const tn_status s = read_window(&l, &w);
  return s ? s : tn_low_done(&l, convolved(&l, &w, transposed));
}

/* Of torchvision: (input, weight, offset, mask, bias, stride ..., groups, offset groups, mask?). */
tn_status torchvision_deform_conv(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *w = tn_low_type(&l, 1);
  if (w->rank != 4) return at_fail(&l, TN_ERR_SHAPE, "the weights have not four dims");
  const int64_t kernel[] = {w->shape[2], w->shape[3]},
                stride[] = {tn_low_int(&l, "stride_h", 1), tn_low_int(&l, "stride_w", 1)},
                dilation[] = {tn_low_int(&l, "dilation_h", 1), tn_low_int(&l, "dilation_w", 1)},
                ph = tn_low_int(&l, "pad_h", 0), pw = tn_low_int(&l, "pad_w", 0),
                pads[] = {ph, pw, ph, pw};
  const tn_attr attrs[] = {tn_attr_ints("kernel_shape", (tn_ints){kernel, 2}),
                           tn_attr_ints("strides", (tn_ints){stride, 2}),
                           tn_attr_ints("dilations", (tn_ints){dilation, 2}),
                           tn_attr_ints("pads", (tn_ints){pads, 4}),
                           tn_attr_int("group", tn_low_int(&l, "groups", 1)),
                           tn_attr_int("offset_group", tn_low_int(&l, "offset_groups", 1))};
  const int32_t in[] = {tn_low_in(&l, 0), tn_low_in(&l, 1), tn_low_in(&l, 2), tn_low_in(&l, 4),
                        tn_low_int(&l, "use_mask", 0) ? tn_low_in(&l, 3) : TN_NO_ID};
  return tn_low_done(&l, tn_low_emit(&l, "DeformConv", in, in[4] < 0 ? 4 : 5, attrs, 6));
}
