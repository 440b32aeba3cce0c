/* Nodes of XNNPACK. Images are NHWC there: windows stand between Transposes, which the planner
 * moves to where they cost least. */
#include "tenon/kit/element.h"
#include "xnnpack.h"

#include <math.h>

#define INTS(title, array, count)                                                           \
  {                                                                                         \
    .head = TN_HEAD(tn_attr), .name = title, .kind = TN_ATTR_INTS, .ints = { array, count } \
  }
#define INT(title, value) \
  { .head = TN_HEAD(tn_attr), .name = title, .kind = TN_ATTR_INT, .i = value }
#define FLOAT(title, value) \
  { .head = TN_HEAD(tn_attr), .name = title, .kind = TN_ATTR_FLOAT, .f = value }

static const int64_t to_nchw[] = {0, 3, 1, 2}, to_nhwc[] = {0, 2, 3, 1};

static int64_t field(const tn_flat_table *t, uint32_t index) {
  return tn_flat_uint(t, index, 4, 0);
}

static tn_status transpose(xnn_part *x, int32_t in, const int64_t *perm, uint32_t n, int32_t *out) {
  const tn_attr attr = INTS("perm", perm, n);
  return xnn_emit(x, "Transpose", &in, 1, &attr, 1, out);
}

static tn_status ints(xnn_part *x, const int64_t *data, uint64_t n, int32_t *out) {
  union {
    const int64_t *in;
    void *out;
  } cast = {data};
  const tn_tensor t = tn_tensor_make(TN_I64, 1, (int64_t[]){(int64_t)n}, cast.out);
  return xnn_constant(x, &t, out);
}

/* A list of the node. At most `most`. */
static tn_status list_of(xnn_part *x, const tn_flat_table *t, uint32_t index, int64_t *out,
                         uint64_t most, uint64_t *out_n) {
  const tn_flat_vector v = tn_flat_vec(t, index, 4);
  if (v.n > most)
    return xnn_fail(x, TN_ERR_INVALID, v.at, "a list has %llu elements", (unsigned long long)v.n);
  for (uint64_t k = 0; k < v.n; k++) out[k] = tn_flat_int_at(&v, k) & 0xffffffff;
  *out_n = v.n;
  return xnn_status(x);
}

static tn_status number_of(xnn_part *x, uint32_t dtype, float number, int32_t *out) {
  float data = 0;
  tn_store_f64(dtype, &data, 0, number);
  const tn_tensor t = tn_tensor_make(dtype, 0, NULL, &data);
  return xnn_constant(x, &t, out);
}

/* dtype: what is computed in. */
static tn_status clip(xnn_part *x, uint32_t dtype, float low, float high, int32_t *io) {
  int32_t in[3] = {*io, TN_NO_ID, TN_NO_ID};
  tn_status s = low > -INFINITY ? number_of(x, dtype, low, &in[1]) : TN_OK;
  if (!s && high < INFINITY) s = number_of(x, dtype, high, &in[2]);
  if (!s && low <= -INFINITY && high >= INFINITY) return TN_OK;
  return s ? s : xnn_emit(x, "Clip", in, 3, NULL, 0, io);
}

/* The result as the value `id`, within the node's range. */
static tn_status finish(xnn_part *x, const tn_flat_table *range, int64_t id, int32_t made) {
  const float low = (float)tn_flat_float(range, 0, 0), high = (float)tn_flat_float(range, 1, 0);
  xnn_value *v;
  tn_status s = xnn_value_of(x, id, &v);
  if (!s && range->at) s = clip(x, v->quant_kind ? TN_F32 : v->type.dtype, low, high, &made);
  return s ? s : xnn_output(x, id, made);
}

/* ---- one input, two inputs ---- */

static tn_status unary(xnn_part *x, const char *op, const tn_flat_table *t, uint32_t first,
                       const tn_attr *attrs, uint32_t n_attrs, const tn_flat_table *range) {
  int32_t in[2], out;
  tn_status s = xnn_input(x, field(t, first), &in[0]);
  in[1] = in[0];
  if (!s && !strcmp(op, "Rsqrt")) {
    s = xnn_emit(x, "Sqrt", in, 1, NULL, 0, &out);
    if (!s) s = xnn_emit(x, "Reciprocal", &out, 1, NULL, 0, &out);
  } else if (!s && *op) {
    s = xnn_emit(x, op, in, strcmp(op, "Mul") ? 1 : 2, attrs, n_attrs, &out);
  } else if (!s) {
    out = in[0];
  }
  return s ? s : finish(x, range, field(t, first + 1), out);
}

static tn_status binary(xnn_part *x, const char *op, const tn_flat_table *t,
                        const tn_flat_table *range) {
  int32_t in[2], out;
  tn_status s = xnn_input(x, field(t, 0), &in[0]);
  if (!s) s = xnn_input(x, field(t, 1), &in[1]);
  if (!s) s = xnn_emit(x, op, in, 2, NULL, 0, &out);
  return s ? s : finish(x, range, field(t, 2), out);
}

static tn_status concatenate(xnn_part *x, uint32_t n, const tn_flat_table *t,
                             const tn_flat_table *range) {
  static const uint32_t places[] = {1, 2, 3, 4, 7};
  int32_t in[5], out;
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < n && !s; k++) s = xnn_input(x, field(t, places[k]), &in[k]);
  const tn_attr axis = INT("axis", field(t, 0));
  if (!s) s = xnn_emit(x, "Concat", in, n, &axis, 1, &out);
  return s ? s : finish(x, range, field(t, 5), out);
}

/* ---- windows ---- */

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
  *w = (window){.pads = {field(t, TOP), field(t, LEFT), field(t, BOTTOM), field(t, RIGHT)},
                .kernel = {field(t, KERNEL_H), field(t, KERNEL_W)},
                .strides = {field(t, STRIDE_H), field(t, STRIDE_W)},
                .dilations = {field(t, DILATION_H), field(t, DILATION_W)}};
  if (field(t, flags) & SAME_PADDING)
    return xnn_fail(x, TN_ERR_UNSUPPORTED, x->at, "not supported: padding of TensorFlow's SAME");
  for (int k = 0; k < 2; k++) {
    if (!w->strides[k]) w->strides[k] = 1;
    if (!w->dilations[k]) w->dilations[k] = 1;
  }
  return xnn_status(x);
}

/* Filters: [out, h, w, in]; of depthwise ones [1, h, w, out]. */
static tn_status convolve(xnn_part *x, bool deep, bool turned, const tn_flat_table *t,
                          const tn_flat_table *range) {
  static const int64_t deep_perm[] = {3, 0, 1, 2};
  window w;
  int32_t in[3], out = TN_NO_ID;
  const int64_t bias = field(t, CONV_BIAS);
  tn_status s = read_window(x, t, CONV_FLAGS, &w);
  if (!s && turned)
    return xnn_fail(x, TN_ERR_UNSUPPORTED, x->at, "not supported: transposed convolutions");
  if (!s) s = xnn_input(x, field(t, CONV_IN), &in[0]);
  if (!s) s = xnn_input(x, field(t, CONV_FILTER), &in[1]);
  const bool has_bias = bias != 0xffffffff;
  if (!s && has_bias) s = xnn_input(x, bias, &in[2]);
  if (!s) s = transpose(x, in[0], to_nchw, 4, &in[0]);
  if (!s) s = transpose(x, in[1], deep ? deep_perm : to_nchw, 4, &in[1]);
  const tn_attr attrs[] = {INTS("pads", w.pads, 4), INTS("strides", w.strides, 2),
                           INTS("dilations", w.dilations, 2), INT("group", field(t, GROUPS))};
  if (!s) s = xnn_emit(x, "Conv", in, has_bias ? 3 : 2, attrs, 4, &out);
  if (!s) s = transpose(x, out, to_nhwc, 4, &out);
  return s ? s : finish(x, range, field(t, CONV_OUT), out);
}

static tn_status pool(xnn_part *x, const char *op, const tn_flat_table *t,
                      const tn_flat_table *range) {
  window w;
  int32_t in, out = TN_NO_ID;
  tn_status s = read_window(x, t, POOL_FLAGS, &w);
  if (!s) s = xnn_input(x, field(t, POOL_IN), &in);
  if (!s) s = transpose(x, in, to_nchw, 4, &in);
  const tn_attr attrs[] = {INTS("kernel_shape", w.kernel, 2), INTS("pads", w.pads, 4),
                           INTS("strides", w.strides, 2), INTS("dilations", w.dilations, 2)};
  if (!s) s = xnn_emit(x, op, &in, 1, attrs, *op == 'M' ? 4 : 3, &out);
  if (!s) s = transpose(x, out, to_nhwc, 4, &out);
  return s ? s : finish(x, range, field(t, POOL_OUT), out);
}

static tn_status mean(xnn_part *x, const tn_flat_table *t, const tn_flat_table *range) {
  static const int64_t axes[] = {1, 2};
  int32_t in[2], out;
  tn_status s = xnn_input(x, field(t, 0), &in[0]);
  if (!s) s = ints(x, axes, 2, &in[1]);
  if (!s) s = xnn_emit(x, "ReduceMean", in, 2, NULL, 0, &out);
  return s ? s : finish(x, range, field(t, 1), out);
}

static tn_status resize(xnn_part *x, const tn_flat_table *t, const tn_flat_table *range) {
  enum { ALIGN_CORNERS = 8 };
  xnn_value *v;
  int32_t in[4] = {TN_NO_ID, TN_NO_ID, TN_NO_ID, TN_NO_ID}, out;
  const char *how = field(t, 4) & ALIGN_CORNERS ? "align_corners" : "half_pixel";
  tn_status s = xnn_input(x, field(t, 2), &in[0]);
  if (!s) s = xnn_value_of(x, field(t, 2), &v);
  if (!s && v->type.rank != 4) s = xnn_fail(x, TN_ERR_INVALID, x->at, "its input is no image");
  if (s) return s;
  const int64_t sizes[] = {v->type.shape[0], v->type.shape[3], field(t, 0), field(t, 1)};
  const tn_attr attrs[] = {
      {.head = TN_HEAD(tn_attr), .name = "mode", .kind = TN_ATTR_STR, .s = {"linear", 6}},
      {.head = TN_HEAD(tn_attr),
       .name = "coordinate_transformation_mode",
       .kind = TN_ATTR_STR,
       .s = {how, (int64_t)strlen(how)}}};
  s = transpose(x, in[0], to_nchw, 4, &in[0]);
  if (!s) s = ints(x, sizes, 4, &in[3]);
  if (!s) s = xnn_emit(x, "Resize", in, 4, attrs, 2, &out);
  if (!s) s = transpose(x, out, to_nhwc, 4, &out);
  return s ? s : finish(x, range, field(t, 3), out);
}

/* ---- products ---- */

static tn_status fully_connected(xnn_part *x, const tn_flat_table *t, const tn_flat_table *range) {
  enum { TRANSPOSED = 1 };
  static const int64_t swap[] = {1, 0};
  int32_t in[2], add[2], out = TN_NO_ID;
  const int64_t bias = field(t, 2);
  tn_status s = xnn_input(x, field(t, 0), &in[0]);
  if (!s) s = xnn_input(x, field(t, 1), &in[1]);
  if (!s && !(field(t, 4) & TRANSPOSED)) s = transpose(x, in[1], swap, 2, &in[1]);
  if (!s) s = xnn_emit(x, "MatMul", in, 2, NULL, 0, &out);
  if (!s && bias != 0xffffffff) {
    add[0] = out;
    s = xnn_input(x, bias, &add[1]);
    if (!s) s = xnn_emit(x, "Add", add, 2, NULL, 0, &out);
  }
  return s ? s : finish(x, range, field(t, 3), out);
}

/* ---- moves ---- */

static tn_status turn(xnn_part *x, const tn_flat_table *t, const tn_flat_table *range) {
  int64_t perm[TN_MAX_RANK];
  uint64_t n;
  int32_t in, out;
  tn_status s = list_of(x, t, 1, perm, TN_MAX_RANK, &n);
  if (!s) s = xnn_input(x, field(t, 2), &in);
  if (!s) s = transpose(x, in, perm, (uint32_t)n, &out);
  return s ? s : finish(x, range, field(t, 3), out);
}

/* One dim of 0 is what is left. */
static tn_status reshape(xnn_part *x, const tn_flat_table *t, const tn_flat_table *range) {
  int64_t shape[TN_MAX_RANK];
  uint64_t n;
  int32_t in[2], out;
  tn_status s = list_of(x, t, 1, shape, TN_MAX_RANK, &n);
  for (uint64_t k = 0; !s && k < n; k++)
    if (!shape[k]) shape[k] = -1;
  if (!s) s = xnn_input(x, field(t, 2), &in[0]);
  if (!s) s = ints(x, shape, n, &in[1]);
  if (!s) s = xnn_emit(x, "Reshape", in, 2, NULL, 0, &out);
  return s ? s : finish(x, range, field(t, 3), out);
}

static tn_status slice(xnn_part *x, const tn_flat_table *t, const tn_flat_table *range) {
  int64_t from[TN_MAX_RANK], to[TN_MAX_RANK];
  uint64_t n, m;
  int32_t in[3], out;
  tn_status s = list_of(x, t, 1, from, TN_MAX_RANK, &n);
  if (!s) s = list_of(x, t, 2, to, TN_MAX_RANK, &m);
  if (!s && n != m) s = xnn_fail(x, TN_ERR_INVALID, x->at, "it has fewer sizes than offsets");
  for (uint64_t k = 0; !s && k < n; k++) to[k] += from[k];
  if (!s) s = xnn_input(x, field(t, 3), &in[0]);
  if (!s) s = ints(x, from, n, &in[1]);
  if (!s) s = ints(x, to, n, &in[2]);
  if (!s) s = xnn_emit(x, "Slice", in, 3, NULL, 0, &out);
  return s ? s : finish(x, range, field(t, 4), out);
}

static tn_status pad(xnn_part *x, const tn_flat_table *t, const tn_flat_table *range) {
  int64_t pads[2 * TN_MAX_RANK];
  uint64_t n, m = 0;
  int32_t in[3], out;
  float fill = (float)tn_flat_float(t, 2, 0);
  const tn_tensor value = tn_tensor_make(TN_F32, 0, NULL, &fill);
  tn_status s = list_of(x, t, 0, pads, TN_MAX_RANK, &n);
  if (!s) s = list_of(x, t, 1, pads + n, TN_MAX_RANK, &m);
  if (!s && n != m) s = xnn_fail(x, TN_ERR_INVALID, x->at, "it pads fewer dims behind than before");
  if (!s) s = xnn_input(x, field(t, 3), &in[0]);
  if (!s) s = ints(x, pads, 2 * n, &in[1]);
  if (!s) s = xnn_constant(x, &value, &in[2]);
  if (!s) s = xnn_emit(x, "Pad", in, 3, NULL, 0, &out);
  return s ? s : finish(x, range, field(t, 4), out);
}

/* ---- all of them ---- */

typedef enum form {
  REFUSED,
  ONE,
  TWO,
  JOINED,
  FORM_FC,
  FORM_CONV,
  FORM_DEEP,
  FORM_TURNED_CONV,
  FORM_POOL,
  FORM_MEAN,
  FORM_RESIZE,
  FORM_TURN,
  FORM_RESHAPE,
  FORM_SLICE,
  FORM_PAD,
  FORM_ELU,
  FORM_LEAKY,
  FORM_SOFTMAX
} form;

/* By the numbers of XNodeUnion. op "": the input itself. */
static const struct kind {
  const char *name;
  form form;
  const char *op;
} kinds[] = {{"NONE", REFUSED, NULL},
             {"XNNAdd", TWO, "Add"},
             {"XNNFullyConnected", FORM_FC, NULL},
             {"XNNSoftmax", FORM_SOFTMAX, "Softmax"},
             {"XNNSigmoid", ONE, "Sigmoid"},
             {"XNNStaticTranspose", FORM_TURN, NULL},
             {"XNNClamp", ONE, ""},
             {"XNNConv2d", FORM_CONV, NULL},
             {"XNNDiv", TWO, "Div"},
             {"XNNStaticResizeBilinear2D", FORM_RESIZE, NULL},
             {"XNNStaticConstantPad", FORM_PAD, NULL},
             {"XNNAvgPooling2d", FORM_POOL, "AveragePool"},
             {"XNNMinimum", TWO, "Min"},
             {"XNNDepthwiseConv2d", FORM_DEEP, NULL},
             {"XNNMaxPooling2d", FORM_POOL, "MaxPool"},
             {"XNNMultiply", TWO, "Mul"},
             {"XNNSubtract", TWO, "Sub"},
             {"XNNFloor", ONE, "Floor"},
             {"XNNConvert", ONE, ""},
             {"XNNGlobalAvgPooling2d", FORM_MEAN, NULL},
             {"XNNStaticReshape", FORM_RESHAPE, NULL},
             {"XNNArgMaxPooling2d", REFUSED, NULL},
             {"XNNSquareRoot", ONE, "Sqrt"},
             {"XNNCeiling", ONE, "Ceil"},
             {"XNNHardswish", ONE, "HardSwish"},
             {"XNNLeakyReLU", FORM_LEAKY, "LeakyRelu"},
             {"XNNMaximum", TWO, "Max"},
             {"XNNNegate", ONE, "Neg"},
             {"XNNSquare", ONE, "Mul"},
             {"XNNELU", FORM_ELU, "Elu"},
             {"XNNAbs", ONE, "Abs"},
             {"XNNPReLU", TWO, "PRelu"},
             {"XNNConcatenate2", JOINED, NULL},
             {"XNNConcatenate3", JOINED, NULL},
             {"XNNConcatenate4", JOINED, NULL},
             {"XNNStaticSlice", FORM_SLICE, NULL},
             {"XNNScaledDotProductAttention", REFUSED, NULL},
             {"XNNBatchMatrixMultiply", TWO, "MatMul"},
             {"XNNConcatenate5", JOINED, NULL},
             {"XNNConvTranspose2d", FORM_TURNED_CONV, NULL},
             {"XNNReciprocalSquareRoot", ONE, "Rsqrt"},
             {"XNNLog", ONE, "Log"},
             {"XNNGelu", ONE, "Gelu"},
             {"XNNTanh", ONE, "Tanh"},
             {"XNNExp", ONE, "Exp"},
             {"XNNSin", ONE, "Sin"},
             {"XNNCopy", ONE, ""},
             {"XNNCos", ONE, "Cos"}};

tn_status xnn_node(xnn_part *x, int64_t kind, const tn_flat_table *t, const tn_flat_table *range) {
  const bool is_known = kind > 0 && kind < (int64_t)(sizeof kinds / sizeof *kinds);
  const struct kind *k = &kinds[is_known ? kind : 0];
  const tn_attr alpha = FLOAT("alpha", tn_flat_float(t, 0, 0)), last = INT("axis", -1);
  x->kind = k->name;
  switch (k->form) {
    case ONE: return unary(x, k->op, t, 0, NULL, 0, range);
    case FORM_SOFTMAX: return unary(x, k->op, t, 0, &last, 1, range);
    case FORM_ELU:
    case FORM_LEAKY: return unary(x, k->op, t, 1, &alpha, 1, range);
    case TWO: return binary(x, k->op, t, range);
    case JOINED: return concatenate(x, (uint32_t)(k->name[14] - '0'), t, range);
    case FORM_FC: return fully_connected(x, t, range);
    case FORM_CONV: return convolve(x, false, false, t, range);
    case FORM_DEEP: return convolve(x, true, false, t, range);
    case FORM_TURNED_CONV: return convolve(x, false, true, t, range);
    case FORM_POOL: return pool(x, k->op, t, range);
    case FORM_MEAN: return mean(x, t, range);
    case FORM_RESIZE: return resize(x, t, range);
    case FORM_TURN: return turn(x, t, range);
    case FORM_RESHAPE: return reshape(x, t, range);
    case FORM_SLICE: return slice(x, t, range);
    case FORM_PAD: return pad(x, t, range);
    default:
      return xnn_fail(x, TN_ERR_UNSUPPORTED, x->at, "not supported: a node of kind %lld",
                      (long long)kind);
  }
}
