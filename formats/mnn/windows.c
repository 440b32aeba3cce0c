/* Convolutions and pooling as nodes of ai.onnx. */
#include "nodes.h"
#include "tenon/kit/checked.h"

typedef struct window {
  int64_t kernel[2], strides[2], dilations[2], pads[4];
  tn_attr attrs[8];
  uint32_t n;
} window;

enum { PAD_VALUES, PAD_VALID, PAD_SAME };

static bool window_pads(mnn_reader *r, window *w, const tn_flat_vector *pads, int64_t x, int64_t y,
                        int64_t mode) {
  for (uint64_t k = 0; k < 4 && mode == PAD_VALUES; k++)
    w->pads[k] = pads->n == 4 ? tn_flat_int_at(pads, k) : k % 2 ? x : y;
  bool ok = mode != PAD_VALUES || !pads->n || pads->n == 4;
  for (int k = 0; k < 4; k++) ok &= w->pads[k] >= 0 && w->pads[k] < 1 << 24;
  for (int k = 0; k < 2; k++)
    ok &= w->kernel[k] > 0 && w->kernel[k] < 1 << 24 && w->strides[k] > 0 && w->dilations[k] > 0;
  if (!ok) mnn_invalid(r, "its kernel, strides, dilations or pads are none that a window has");
  w->attrs[w->n++] = tn_attr_ints("kernel_shape", (tn_ints){w->kernel, 2});
  w->attrs[w->n++] = tn_attr_ints("strides", (tn_ints){w->strides, 2});
  w->attrs[w->n++] = mode == PAD_SAME ? tn_attr_str("auto_pad", "SAME_UPPER")
                                      : tn_attr_ints("pads", (tn_ints){w->pads, 4});
  return ok;
}

static int32_t activated(mnn_reader *r, const tn_flat_table *common, int32_t x) {
  if (r->how == MNN_ROUNDED) return x; /* codes saturate */
  if (tn_flat_int(common, COMMON_RELU6, 1, 0)) {
    const int32_t in[] = {x, mnn_number(r, TN_F32, 0), mnn_number(r, TN_F32, 6)};
    return mnn_emit(r, "Clip", in, 3, NULL, 0);
  }
  return tn_flat_int(common, COMMON_RELU, 1, 0) ? mnn_emit_1(r, "Relu", x) : x;
}

static int32_t convolution(mnn_reader *r) {
  const tn_flat_table c = tn_flat_sub(&r->param, CONV_COMMON, &mnn_param_type);
  const tn_flat_vector w = tn_flat_vec(&r->param, CONV_WEIGHT, 4),
                       pads = tn_flat_vec(&c, COMMON_PADS, 4);
  const bool transposed = !strncmp(r->row->name, "Deconvolution", 13),
             by_channel = strstr(r->row->name, "Depthwise");
  window a = {
      .kernel = {tn_flat_int(&c, COMMON_KERNEL_Y, 4, 1), tn_flat_int(&c, COMMON_KERNEL_X, 4, 1)},
      .strides = {tn_flat_int(&c, COMMON_STRIDE_Y, 4, 1), tn_flat_int(&c, COMMON_STRIDE_X, 4, 1)},
      .dilations = {tn_flat_int(&c, COMMON_DILATE_Y, 4, 1),
                    tn_flat_int(&c, COMMON_DILATE_X, 4, 1)}};
  if (!window_pads(r, &a, &pads, tn_flat_int(&c, COMMON_PAD_X, 4, 0),
                   tn_flat_int(&c, COMMON_PAD_Y, 4, 0), tn_flat_int(&c, COMMON_PAD_MODE, 1, 0)))
    return TN_NO_ID;
  const int64_t out = tn_flat_int(&c, COMMON_OUTPUTS, 4, 0);
  int64_t group = by_channel ? out : tn_flat_int(&c, COMMON_GROUP, 4, 1),
          in = tn_flat_int(&c, COMMON_INPUTS, 4, 0), per;
  if (by_channel) in = out;
  if (out < 1 || group < 1 || out % group || a.kernel[0] > INT64_MAX / a.kernel[1] ||
      tn_mul_i64(a.kernel[0] * a.kernel[1], out, &per))
    return mnn_invalid(r, "its counts of channels and groups do not fit each other");
  if (in < 1) in = (int64_t)w.n / per * group;
  if (in < 1 || in % group) return mnn_invalid(r, "its channels do not fit its groups");
  const tn_flat_vector more = tn_flat_vec(&c, COMMON_OUT_PADS, 4);
  const int64_t extra[] = {more.n == 2 ? tn_flat_int_at(&more, 0) : 0,
                           more.n == 2 ? tn_flat_int_at(&more, 1) : 0};
  if (transposed && ((more.n && more.n != 2) || tn_flat_int(&c, COMMON_HAS_SHAPE, 1, 0)))
    return mnn_refuse(r, "padding of outputs by a shape");
  const int64_t shape[] = {transposed ? in : out, transposed ? out / group : in / group,
                           a.kernel[0], a.kernel[1]};
  a.attrs[a.n++] = tn_attr_ints("dilations", (tn_ints){a.dilations, 2});
  a.attrs[a.n++] = tn_attr_int("group", group);
  if (more.n) a.attrs[a.n++] = tn_attr_ints("output_padding", (tn_ints){extra, 2});
  const bool computed = r->in.n > 1;
  mnn_steps from, to;
  const bool of_codes = mnn_own_codes(r, &from, &to);
  const int32_t x = mnn_in(r, 0);
  const int32_t inputs[] = {of_codes ? mnn_from_codes(r, x, &from) : x,
                            computed ? mnn_in(r, 1) : mnn_weights(r, shape),
                            !computed     ? mnn_bias(r, out)
                            : r->in.n > 2 ? mnn_in(r, 2)
                                          : TN_NO_ID};
  const char *op = transposed ? "ConvTranspose" : "Conv";
  const int32_t y = mnn_emit(r, op, inputs, inputs[2] == TN_NO_ID ? 2 : 3, a.attrs, a.n);
  return of_codes ? mnn_to_codes(r, y, &to) : activated(r, &c, y);
}

static int32_t pooling(mnn_reader *r) {
  const tn_flat_vector pads = tn_flat_vec(&r->param, POOL_PADS, 4);
  const bool mean = mnn_param_byte(r, POOL_TYPE, 0);
  const int64_t mode = mnn_param_byte(r, POOL_PAD_TYPE, 0),
                count = mnn_param_byte(r, POOL_COUNT, 0);
  const int32_t x = mnn_in(r, 0);
  if (r->out.n > 1) return mnn_refuse(r, "a second output, of places");
  if (mnn_param_byte(r, POOL_GLOBAL, 0))
    return mnn_emit_1(r, mean ? "GlobalAveragePool" : "GlobalMaxPool", x);
  window w = {.kernel = {mnn_param_int(r, POOL_KERNEL_Y, 0), mnn_param_int(r, POOL_KERNEL_X, 0)},
              .strides = {mnn_param_int(r, POOL_STRIDE_Y, 0), mnn_param_int(r, POOL_STRIDE_X, 0)},
              .dilations = {1, 1},
              .attrs = {tn_attr_int("mean", mean)},
              .n = 1};
  if (!window_pads(r, &w, &pads, mnn_param_int(r, POOL_PAD_X, 0), mnn_param_int(r, POOL_PAD_Y, 0),
                   mode))
    return TN_NO_ID;
  if (mode == PAD_VALUES)
    w.attrs[w.n++] = tn_attr_int("ceil_mode", mnn_param_byte(r, POOL_CEIL, 1) != 0);
  /* the padding is counted where it has no list of its own, as in networks from Caffe */
  const bool counted = mode == PAD_VALUES && !pads.n;
  if (mean) w.attrs[w.n++] = tn_attr_int("count_include_pad", count ? count == 1 : counted);
  return mnn_emit_in(r, "mnn", "Pool", &x, 1, w.attrs, w.n);
}

static int32_t pooling_3d(mnn_reader *r) {
  enum { TYPE = 3, GLOBAL = 5 };
  if (!mnn_param_byte(r, GLOBAL, 0)) return mnn_refuse(r, "windows of three dims");
  const bool mean = mnn_param_byte(r, TYPE, 0);
  return mnn_emit_1(r, mean ? "GlobalAveragePool" : "GlobalMaxPool", mnn_in(r, 0));
}

const mnn_maker mnn_windows[] = {{"Convolution", convolution},
                                 {"ConvolutionDepthwise", convolution},
                                 {"ConvInt8", convolution},
                                 {"DepthwiseConvInt8", convolution},
                                 {"Deconvolution", convolution},
                                 {"DeconvolutionDepthwise", convolution},
                                 {"Pooling", pooling},
                                 {"Pooling3D", pooling_3d},
                                 {NULL, NULL}};
