/* Operators as nodes of ai.onnx. Each function answers the value of output 0; TN_NO_ID: it has set
 * its outputs, or r->status says what is wrong. */
#include <math.h>

#include "reader.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/onnx_dtype.h"

/* ---- adding nodes ---- */

enum { MAX_INPUTS = 1024, MAX_OUTPUTS = 64 };

static bool add(mnn_reader *r, const char *domain, const char *op, const int32_t *in, uint32_t n_in,
                const int32_t *out, uint32_t n_out, const tn_attr *attrs, uint32_t n_attrs) {
  const tn_attr *list[16];
  if (r->status) return false;
  for (uint32_t k = 0; k < n_attrs; k++) list[k] = &attrs[k];
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = domain,
                        .op = op,
                        .name = r->name,
                        .n_inputs = n_in,
                        .n_outputs = n_out,
                        .n_attrs = n_attrs,
                        .inputs = in,
                        .outputs = out,
                        .attrs = list,
                        .offset = (int64_t)r->at};
  const int32_t id = r->api->add_node(r->g, &node);
  if (id < 0) r->status = mnn_fail(r, id, "it cannot be a node (%s)", op);
  return id >= 0;
}

static int32_t emit_in(mnn_reader *r, const char *domain, const char *op, const int32_t *in,
                       uint32_t n, const tn_attr *attrs, uint32_t n_attrs) {
  if (r->status) return TN_NO_ID;
  const int32_t out = r->api->value(r->g, NULL);
  if (out < 0) r->status = mnn_fail(r, out, "it needs one more value");
  return out >= 0 && add(r, domain, op, in, n, &out, 1, attrs, n_attrs) ? out : TN_NO_ID;
}

static int32_t emit(mnn_reader *r, const char *op, const int32_t *in, uint32_t n,
                    const tn_attr *attrs, uint32_t n_attrs) {
  return emit_in(r, "", op, in, n, attrs, n_attrs);
}
static int32_t emit_1(mnn_reader *r, const char *op, int32_t x) {
  return emit(r, op, &x, 1, NULL, 0);
}
static int32_t emit_2(mnn_reader *r, const char *op, int32_t x, int32_t y) {
  const int32_t in[] = {x, y};
  return emit(r, op, in, 2, NULL, 0);
}
static int32_t emit_int(mnn_reader *r, const char *op, int32_t x, const char *name, int64_t i) {
  const tn_attr a = tn_attr_int(name, i);
  return emit(r, op, &x, 1, &a, 1);
}
static int32_t emit_float(mnn_reader *r, const char *op, int32_t x, const char *name, double f) {
  const tn_attr a = tn_attr_float(name, f);
  return emit(r, op, &x, 1, &a, 1);
}
static int32_t cast(mnn_reader *r, int32_t x, uint32_t dtype) {
  return emit_int(r, "Cast", x, "to", tn_onnx_of_dtype(dtype));
}
static int32_t number(mnn_reader *r, double f) { return mnn_number(r, TN_F32, f); }

static int32_t refuse(mnn_reader *r, const char *what) {
  if (!r->status) r->status = mnn_fail(r, TN_ERR_UNSUPPORTED, "not supported: %s", what);
  return TN_NO_ID;
}
static int32_t invalid(mnn_reader *r, const char *what) {
  if (!r->status) r->status = mnn_fail(r, TN_ERR_INVALID, "%s", what);
  return TN_NO_ID;
}

static int64_t param_int(const mnn_reader *r, uint32_t field, int64_t missing) {
  return tn_flat_int(&r->param, field, 4, missing);
}
static int64_t param_byte(const mnn_reader *r, uint32_t field, int64_t missing) {
  return tn_flat_int(&r->param, field, 1, missing);
}

/* A vector of integers as a constant; TN_NO_ID: it is longer than a shape. */
static int32_t ints_of(mnn_reader *r, const tn_flat_vector *v) {
  int64_t data[TN_MAX_RANK];
  if (v->n > TN_MAX_RANK) return invalid(r, "it names more axes than a tensor may have");
  for (uint64_t k = 0; k < v->n; k++) data[k] = tn_flat_int_at(v, k);
  return mnn_i64s(r, data, (int64_t)v->n);
}

static int32_t floats(mnn_reader *r, const tn_flat_vector *v, int32_t rank, const int64_t *shape) {
  const tn_tensor type = tn_tensor_make(TN_F32, rank, shape, NULL);
  const int32_t id = r->status ? TN_NO_ID : r->api->value(r->g, NULL);
  return id < 0 ? TN_NO_ID : mnn_constant(r, id, v, &type);
}

/* ---- windows ---- */

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
  bool ok = !(pads->n && pads->n != 4);
  for (int k = 0; k < 4; k++) ok &= w->pads[k] >= 0 && w->pads[k] < 1 << 24;
  for (int k = 0; k < 2; k++)
    ok &= w->kernel[k] > 0 && w->kernel[k] < 1 << 24 && w->strides[k] > 0 && w->dilations[k] > 0;
  if (!ok) invalid(r, "its kernel, strides, dilations or pads are none that a window has");
  w->attrs[w->n++] = tn_attr_ints("kernel_shape", (tn_ints){w->kernel, 2});
  w->attrs[w->n++] = tn_attr_ints("strides", (tn_ints){w->strides, 2});
  w->attrs[w->n++] = mode == PAD_SAME ? tn_attr_str("auto_pad", "SAME_UPPER")
                                      : tn_attr_ints("pads", (tn_ints){w->pads, 4});
  return ok;
}

static int32_t activated(mnn_reader *r, const tn_flat_table *common, int32_t x) {
  if (tn_flat_int(common, COMMON_RELU6, 1, 0)) {
    const int32_t in[] = {x, number(r, 0), number(r, 6)};
    return emit(r, "Clip", in, 3, NULL, 0);
  }
  return tn_flat_int(common, COMMON_RELU, 1, 0) ? emit_1(r, "Relu", x) : x;
}

static int32_t half_weights(mnn_reader *r, const tn_flat_table *quant, const int64_t *shape) {
  enum { HALF = 3 };
  if (tn_flat_int(quant, QUANT_TYPE, 4, 0) != HALF)
    return refuse(r, "weights that are compressed to integers");
  const tn_flat_vector bytes = tn_flat_vec(quant, QUANT_BUFFER, 1);
  const tn_tensor type = tn_tensor_make(TN_F16, 4, shape, NULL);
  const int32_t id = r->status ? TN_NO_ID : r->api->value(r->g, NULL);
  if (id < 0) return TN_NO_ID;
  return cast(r, mnn_constant(r, id, &bytes, &type), TN_F32);
}

static int32_t weights(mnn_reader *r, const tn_flat_vector *w, const int64_t *shape) {
  const tn_flat_table quant = tn_flat_sub(&r->param, CONV_QUANT, &mnn_param_type);
  if (tn_flat_has(&r->param, CONV_EXTERNAL) && !w->n && !quant.at)
    return refuse(r, "weights in another file");
  if (tn_flat_has(&r->param, CONV_SPARSE)) return refuse(r, "sparse weights");
  return quant.at ? half_weights(r, &quant, shape) : floats(r, w, 4, shape);
}

static int32_t convolution(mnn_reader *r) {
  const tn_flat_table c = tn_flat_sub(&r->param, CONV_COMMON, &mnn_param_type);
  const tn_flat_vector w = tn_flat_vec(&r->param, CONV_WEIGHT, 4),
                       b = tn_flat_vec(&r->param, CONV_BIAS, 4),
                       pads = tn_flat_vec(&c, COMMON_PADS, 4);
  const bool turned = !strncmp(r->row->name, "Deconvolution", 13),
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
    return invalid(r, "its counts of channels and groups do not fit each other");
  if (in < 1) in = (int64_t)w.n / per * group;
  if (in < 1 || in % group) return invalid(r, "its channels do not fit its groups");
  if (turned && (tn_flat_vec(&c, COMMON_OUT_PADS, 4).n || tn_flat_int(&c, COMMON_PAD_MODE, 1, 0)))
    return refuse(r, "padding of outputs");
  const int64_t shape[] = {turned ? in : out, turned ? out / group : in / group, a.kernel[0],
                           a.kernel[1]};
  a.attrs[a.n++] = tn_attr_ints("dilations", (tn_ints){a.dilations, 2});
  a.attrs[a.n++] = tn_attr_int("group", group);
  const bool computed = r->in.n > 1, biased = computed ? r->in.n > 2 : b.n != 0;
  const int32_t inputs[] = {mnn_in(r, 0), computed ? mnn_in(r, 1) : weights(r, &w, shape),
                            !biased    ? TN_NO_ID
                            : computed ? mnn_in(r, 2)
                                       : floats(r, &b, 1, &out)};
  const char *op = turned ? "ConvTranspose" : "Conv";
  return activated(r, &c, emit(r, op, inputs, biased ? 3 : 2, a.attrs, a.n));
}

static int32_t pooling(mnn_reader *r) {
  const tn_flat_vector pads = tn_flat_vec(&r->param, POOL_PADS, 4);
  const bool mean = param_byte(r, POOL_TYPE, 0);
  const int64_t mode = param_byte(r, POOL_PAD_TYPE, 0), count = param_byte(r, POOL_COUNT, 0);
  const int32_t x = mnn_in(r, 0);
  if (r->out.n > 1) return refuse(r, "a second output, of places");
  if (param_byte(r, POOL_GLOBAL, 0))
    return emit_1(r, mean ? "GlobalAveragePool" : "GlobalMaxPool", x);
  window w = {.kernel = {param_int(r, POOL_KERNEL_Y, 0), param_int(r, POOL_KERNEL_X, 0)},
              .strides = {param_int(r, POOL_STRIDE_Y, 0), param_int(r, POOL_STRIDE_X, 0)},
              .dilations = {1, 1}};
  if (!window_pads(r, &w, &pads, param_int(r, POOL_PAD_X, 0), param_int(r, POOL_PAD_Y, 0), mode))
    return TN_NO_ID;
  if (mode == PAD_VALUES)
    w.attrs[w.n++] = tn_attr_int("ceil_mode", param_byte(r, POOL_CEIL, 1) != 0);
  /* networks from Caffe count the padding, if nothing else is said */
  const bool of_caffe = !tn_flat_int(&r->net, NET_SOURCE, 1, 0) && mode == PAD_VALUES;
  if (mean) w.attrs[w.n++] = tn_attr_int("count_include_pad", count ? count == 1 : of_caffe);
  return emit(r, mean ? "AveragePool" : "MaxPool", &x, 1, w.attrs, w.n);
}

static int32_t pooling_3d(mnn_reader *r) {
  enum { TYPE = 3, GLOBAL = 5 };
  if (!param_byte(r, GLOBAL, 0)) return refuse(r, "windows of three dims");
  const bool mean = param_byte(r, TYPE, 0);
  return emit_1(r, mean ? "GlobalAveragePool" : "GlobalMaxPool", mnn_in(r, 0));
}

/* ---- element by element ---- */

static int32_t one_of(mnn_reader *r, const char *const *ops, size_t n, int64_t k) {
  if (k >= 0 && (size_t)k < n && ops[k]) return emit_1(r, ops[k], mnn_in(r, 0));
  return refuse(r, "this function of one value");
}

static int32_t unary(mnn_reader *r) {
  static const char *const ops[] = {
      [0] = "Abs",       [1] = "Neg",   [2] = "Floor",  [3] = "Ceil",        [5] = "Sqrt",
      [7] = "Exp",       [8] = "Log",   [9] = "Sin",    [10] = "Cos",        [11] = "Tan",
      [12] = "Asin",     [13] = "Acos", [14] = "Atan",  [15] = "Reciprocal", [17] = "Softplus",
      [18] = "Acosh",    [19] = "Sinh", [20] = "Asinh", [21] = "Atanh",      [22] = "Sign",
      [23] = "Round",    [24] = "Cosh", [25] = "Erf",   [29] = "Sigmoid",    [30] = "Tanh",
      [31] = "HardSwish"};
  enum { SQUARE = 4, RSQRT = 6, LOG1P = 16, EXPM1 = 28, GELU = 32, GELU_EXACT = 33, SILU = 34 };
  const int64_t how = param_int(r, 0, 0);
  const int32_t x = mnn_in(r, 0);
  switch (how) {
    case SQUARE: return emit_2(r, "Mul", x, x);
    case RSQRT: return emit_1(r, "Reciprocal", emit_1(r, "Sqrt", x));
    case LOG1P: return emit_1(r, "Log", emit_2(r, "Add", x, number(r, 1)));
    case EXPM1: return emit_2(r, "Sub", emit_1(r, "Exp", x), number(r, 1));
    case GELU: {
      const tn_attr a = tn_attr_str("approximate", "tanh");
      return emit(r, "Gelu", &x, 1, &a, 1);
    }
    case GELU_EXACT: return emit_1(r, "Gelu", x);
    case SILU: return emit_2(r, "Mul", x, emit_1(r, "Sigmoid", x));
    default: return one_of(r, ops, sizeof ops / sizeof *ops, how);
  }
}

static int32_t truth(mnn_reader *r, int32_t x) { return cast(r, x, TN_BOOL); }

static int32_t binary(mnn_reader *r) {
  static const char *const ops[] = {"Add", "Sub", "Mul", "Div", "Max",
                                    "Min", "Pow", "Div", "Min", "Max"};
  static const char *const tests[] = {[10] = "Greater",
                                      [11] = "GreaterOrEqual",
                                      [12] = "Less",
                                      [15] = "Equal",
                                      [16] = "LessOrEqual"};
  enum {
    SQUARED_DIFFERENCE = 14,
    FLOOR_MOD = 17,
    MOD = 19,
    OR = 21,
    NOT_EQUAL = 22,
    AND = 23,
    XOR = 26
  };
  const int64_t how = param_int(r, 0, 0);
  const int32_t x = mnn_in(r, 0), y = mnn_in(r, 1);
  int32_t z = TN_NO_ID;
  if (how >= 0 && how < 10) {
    z = emit_2(r, ops[how], x, y);
  } else if (how == SQUARED_DIFFERENCE) {
    const int32_t d = emit_2(r, "Sub", x, y);
    z = emit_2(r, "Mul", d, d);
  } else if (how == FLOOR_MOD || how == MOD) {
    const tn_attr a = tn_attr_int("fmod", how == MOD);
    const int32_t in[] = {x, y};
    z = emit(r, "Mod", in, 2, &a, 1);
  } else if (how == OR || how == XOR) {
    z = cast(r, emit_2(r, how == OR ? "Or" : "Xor", truth(r, x), truth(r, y)), TN_I32);
  } else if (how == NOT_EQUAL) {
    z = cast(r, emit_1(r, "Not", emit_2(r, "Equal", x, y)), TN_I32);
  } else if (how == AND) {
    z = emit_2(r, "BitwiseAnd", x, y);
  } else if (how >= 10 && (size_t)how < sizeof tests / sizeof *tests && tests[how]) {
    z = cast(r, emit_2(r, tests[how], x, y), TN_I32);
  } else {
    return refuse(r, "this function of two values");
  }
  return param_int(r, 2, 0) == 1 ? emit_1(r, "Relu", z) : z;
}

static int32_t eltwise(mnn_reader *r) {
  static const char *const ops[] = {"Mul", "Add", "Max", "Sub"};
  const int64_t how = param_byte(r, 0, 0);
  if (how < 0 || how > 3 || tn_flat_vec(&r->param, 1, 4).n) return refuse(r, "coefficients");
  int32_t y = mnn_in(r, 0);
  for (uint64_t k = 1; k < r->in.n && !r->status; k++) y = emit_2(r, ops[how], y, mnn_in(r, k));
  return y;
}

static int32_t relu(mnn_reader *r) {
  const double slope = tn_flat_float(&r->param, 0, 0);
  const int32_t x = mnn_in(r, 0);
  return slope != 0 ? emit_float(r, "LeakyRelu", x, "alpha", slope) : emit_1(r, "Relu", x);
}

static int32_t clip(mnn_reader *r) {
  const int32_t in[] = {mnn_in(r, 0), number(r, tn_flat_float(&r->param, 0, 0)),
                        number(r, tn_flat_float(&r->param, 1, 6))};
  return emit(r, "Clip", in, 3, NULL, 0);
}

static int32_t elu(mnn_reader *r) {
  return emit_float(r, "Elu", mnn_in(r, 0), "alpha", tn_flat_float(&r->param, 0, 0));
}

/* One number for each channel of a picture. */
static int32_t by_channel(mnn_reader *r, uint32_t field) {
  const tn_flat_vector v = tn_flat_vec(&r->param, field, 4);
  const int64_t shape[] = {(int64_t)v.n, 1, 1};
  return floats(r, &v, 3, shape);
}

static int32_t prelu(mnn_reader *r) { return emit_2(r, "PRelu", mnn_in(r, 0), by_channel(r, 1)); }

static int32_t scale(mnn_reader *r) {
  if (tn_flat_has(&r->param, 3)) return refuse(r, "weights in another file");
  const int32_t y = emit_2(r, "Mul", mnn_in(r, 0), by_channel(r, 1));
  return tn_flat_vec(&r->param, 2, 4).n ? emit_2(r, "Add", y, by_channel(r, 2)) : y;
}

static int32_t convert_type(mnn_reader *r) {
  enum { BOOL = 10 };
  const int64_t to = param_int(r, 1, 0);
  const int32_t x = mnn_in(r, 0);
  if (to == BOOL) return cast(r, truth(r, x), TN_I32);
  return mnn_dtype(to) == TN_NONE ? refuse(r, "this type") : cast(r, x, mnn_dtype(to));
}

static int32_t choose(mnn_reader *r) {
  const int32_t in[] = {truth(r, mnn_in(r, 0)), mnn_in(r, 1), mnn_in(r, 2)};
  return emit(r, "Where", in, 3, NULL, 0);
}

static int32_t direct(mnn_reader *r) {
  int32_t in[4];
  if (r->in.n > 4 || !r->in.n) return invalid(r, "has not as many inputs as it takes");
  for (uint64_t k = 0; k < r->in.n; k++) in[k] = mnn_in(r, k);
  return emit(r, r->row->to, in, (uint32_t)r->in.n, NULL, 0);
}

/* ---- shapes ---- */

static int32_t wide(mnn_reader *r, uint64_t k) { return cast(r, mnn_in(r, k), TN_I64); }

static int32_t shape(mnn_reader *r) {
  if (param_byte(r, 0, 0) || param_byte(r, 2, 0)) return refuse(r, "a part of the shape");
  return cast(r, emit_1(r, "Shape", mnn_in(r, 0)), TN_I32);
}
static int32_t size(mnn_reader *r) { return cast(r, emit_1(r, "Size", mnn_in(r, 0)), TN_I32); }
static int32_t rank(mnn_reader *r) {
  return cast(r, emit_1(r, "Size", emit_1(r, "Shape", mnn_in(r, 0))), TN_I32);
}

static int32_t reshape(mnn_reader *r) {
  const tn_flat_vector dims = tn_flat_vec(&r->param, 0, 4);
  return emit_2(r, "Reshape", mnn_in(r, 0), r->in.n > 1 ? wide(r, 1) : ints_of(r, &dims));
}

static int32_t flatten(mnn_reader *r) {
  if (param_int(r, 1, 0)) return refuse(r, "an endAxis");
  return emit_int(r, "Flatten", mnn_in(r, 0), "axis", param_int(r, 0, 0));
}

/* The axes are in the file, or an input; none: all dims of 1. */
static int32_t squeeze(mnn_reader *r) {
  const tn_flat_vector dims = tn_flat_vec(&r->param, 0, 4);
  const int32_t x = mnn_in(r, 0);
  if (!dims.n && r->in.n < 2) return emit_1(r, r->row->name, x);
  const int64_t flat = -1;
  return emit_2(
      r, r->row->name, x,
      dims.n ? ints_of(r, &dims) : emit_2(r, "Reshape", wide(r, 1), mnn_i64s(r, &flat, 1)));
}

static int32_t expand_dims(mnn_reader *r) {
  const int64_t axis = param_int(r, 2, 0);
  if (r->in.n < 2) return emit_2(r, "Unsqueeze", mnn_in(r, 0), mnn_i64s(r, &axis, 1));
  const int64_t flat = -1;
  const int32_t axes = emit_2(r, "Reshape", wide(r, 1), mnn_i64s(r, &flat, 1));
  return emit_2(r, "Unsqueeze", mnn_in(r, 0), axes);
}

static int32_t transpose(mnn_reader *r, const tn_flat_vector *v) {
  int64_t order[TN_MAX_RANK];
  if (v->n > TN_MAX_RANK) return invalid(r, "more axes than a tensor may have");
  for (uint64_t k = 0; k < v->n; k++) order[k] = tn_flat_int_at(v, k);
  const tn_attr a = tn_attr_ints("perm", (tn_ints){order, (int64_t)v->n});
  const int32_t x = mnn_in(r, 0);
  return emit(r, "Transpose", &x, 1, &a, 1);
}

static int32_t permute(mnn_reader *r) {
  tn_flat_vector v = tn_flat_vec(&r->param, 0, 4);
  if (r->in.n > 1 && !mnn_ints(r, 1, &v)) return refuse(r, "an order that is no constant");
  return transpose(r, &v);
}

/* Between N, H, W, C and what has channels in front; blocks of channels are not in files. */
static int32_t convert(mnn_reader *r) {
  enum { NHWC = 1 };
  static const int64_t to_channels[] = {0, 3, 1, 2}, from_channels[] = {0, 2, 3, 1};
  const int64_t from = param_byte(r, 0, 0), to = param_byte(r, 1, 0);
  const int32_t x = mnn_in(r, 0);
  if (from > 2 || to > 2) return refuse(r, "this layout");
  if ((from == NHWC) == (to == NHWC)) return x;
  const tn_attr a = tn_attr_ints("perm", (tn_ints){from == NHWC ? to_channels : from_channels, 4});
  return emit(r, "Transpose", &x, 1, &a, 1);
}

static int32_t concat(mnn_reader *r) {
  int32_t in[MAX_INPUTS];
  const bool stacks = !strcmp(r->row->name, "Pack");
  const int64_t axis = param_int(r, stacks ? 1 : 0, 0);
  const tn_attr a = tn_attr_int("axis", axis);
  if (!r->in.n || r->in.n > MAX_INPUTS) return refuse(r, "so many inputs");
  for (uint64_t k = 0; k < r->in.n && !r->status; k++) {
    in[k] = mnn_in(r, k);
    if (stacks) in[k] = emit_2(r, "Unsqueeze", in[k], mnn_i64s(r, &axis, 1));
  }
  return emit(r, "Concat", in, (uint32_t)r->in.n, &a, 1);
}

/* size -1: to the end */
static int32_t slice_by_size(mnn_reader *r) {
  const int32_t begin = mnn_in(r, 1), n = mnn_in(r, 2);
  const int32_t where[] = {emit_2(r, "Less", n, mnn_number(r, TN_I32, 0)),
                           mnn_number(r, TN_I32, INT32_MAX), emit_2(r, "Add", begin, n)};
  const int32_t in[] = {mnn_in(r, 0), begin, emit(r, "Where", where, 3, NULL, 0)};
  return emit(r, "Slice", in, 3, NULL, 0);
}

/* TensorFlow's: bit k of a mask is about dim k. Begin, end and strides are constants. */
static int32_t masked_slice(mnn_reader *r) {
  enum { BEGIN = 2, END, ELLIPSIS, NEW_AXIS, SHRINK };
  tn_flat_vector list[3];
  int64_t from[TN_MAX_RANK], to[TN_MAX_RANK], steps[TN_MAX_RANK], axes[TN_MAX_RANK];
  int64_t gone[TN_MAX_RANK], n_gone = 0;
  if (param_int(r, ELLIPSIS, 0) || param_int(r, NEW_AXIS, 0)) return refuse(r, "its masks");
  for (uint64_t k = 0; k < 3; k++)
    if (!mnn_ints(r, k + 1, &list[k])) return refuse(r, "a begin, end or stride that is computed");
  const int64_t n = (int64_t)list[0].n;
  if (n > TN_MAX_RANK || list[1].n != list[0].n || list[2].n != list[0].n)
    return invalid(r, "its begin, end and strides are not of one length");
  for (int64_t k = 0; k < n; k++) {
    from[k] = tn_flat_int_at(&list[0], (uint64_t)k);
    to[k] = tn_flat_int_at(&list[1], (uint64_t)k);
    steps[k] = tn_flat_int_at(&list[2], (uint64_t)k);
    axes[k] = k;
    const bool shrinks = param_int(r, SHRINK, 0) >> k & 1;
    if (shrinks) {
      gone[n_gone++] = k;
      to[k] = from[k] == -1 ? INT32_MAX : from[k] + 1;
      steps[k] = 1;
      continue;
    }
    if (param_int(r, BEGIN, 0) >> k & 1) from[k] = steps[k] < 0 ? INT32_MAX : 0;
    if (param_int(r, END, 0) >> k & 1) to[k] = steps[k] < 0 ? -INT32_MAX : INT32_MAX;
  }
  const int32_t in[] = {mnn_in(r, 0), mnn_i64s(r, from, n), mnn_i64s(r, to, n),
                        mnn_i64s(r, axes, n), mnn_i64s(r, steps, n)};
  const int32_t y = emit(r, "Slice", in, 5, NULL, 0);
  return n_gone ? emit_2(r, "Squeeze", y, mnn_i64s(r, gone, n_gone)) : y;
}

static int32_t strided_slice(mnn_reader *r) {
  enum { FROM_TYPE = 7, OF_ONNX = 1 };
  int32_t in[5];
  if (r->in.n < 3 || r->in.n > 5) return invalid(r, "has not as many inputs as it takes");
  const bool of_onnx = param_int(r, FROM_TYPE, 0) == OF_ONNX;
  bool masked = false;
  for (uint32_t mask = 2; mask < 7; mask++) masked |= param_int(r, mask, 0) != 0;
  if (!of_onnx && masked) return masked_slice(r);
  for (uint64_t k = 0; k < r->in.n; k++) in[k] = mnn_in(r, k);
  if (!of_onnx && r->in.n == 4) { /* strides of all axes */
    const int32_t all[] = {in[0], in[1], in[2], TN_NO_ID, in[3]};
    return emit(r, "Slice", all, 5, NULL, 0);
  }
  return emit(r, "Slice", in, (uint32_t)r->in.n, NULL, 0);
}

static int32_t split(mnn_reader *r) {
  const tn_flat_vector points = tn_flat_vec(&r->param, 1, 4);
  int32_t out[MAX_OUTPUTS];
  int64_t sizes[MAX_OUTPUTS];
  enum { OF_TENSORFLOW = 1 };
  if (r->out.n < 1 || r->out.n > 2 * TN_MAX_RANK) return refuse(r, "so many parts");
  const bool by_size = param_byte(r, 2, 0) == OF_TENSORFLOW || points.n == r->out.n;
  if (points.n > 1 && (!by_size || points.n != r->out.n)) return refuse(r, "points of a slice");
  for (uint64_t k = 0; k < r->out.n; k++) {
    out[k] = mnn_out(r, k);
    mnn_set(r, k, out[k]);
    if (points.n > 1) sizes[k] = tn_flat_int_at(&points, k);
  }
  const tn_attr a[] = {tn_attr_int("axis", param_int(r, 0, 0)),
                       tn_attr_int("num_outputs", (int64_t)r->out.n)};
  const bool sized = points.n > 1;
  const int32_t in[] = {mnn_in(r, 0), sized ? mnn_i64s(r, sizes, (int64_t)r->out.n) : TN_NO_ID};
  add(r, "", "Split", in, sized ? 2 : 1, out, (uint32_t)r->out.n, a, sized ? 1 : 2);
  return TN_NO_ID;
}

static int32_t gather(mnn_reader *r) {
  tn_flat_vector v = {0};
  const bool is_old = !strcmp(r->row->name, "Gather"), has_axis = r->in.n > 2;
  const int32_t in[] = {mnn_in(r, 0), mnn_in(r, 1), has_axis ? mnn_in(r, 2) : TN_NO_ID};
  if (has_axis && !mnn_ints(r, 2, &v)) return emit_in(r, "mnn", "GatherV2", in, 3, NULL, 0);
  const tn_attr a = tn_attr_int("axis", v.n      ? tn_flat_int_at(&v, 0)
                                        : is_old ? param_int(r, 3, 0)
                                                 : 0);
  return emit(r, "Gather", in, 2, &a, 1);
}

static int32_t pad(mnn_reader *r) {
  static const char *const modes[] = {"constant", "reflect", NULL, "edge"};
  static const int64_t turned[] = {1, 0}, flat = -1;
  const int64_t mode = param_byte(r, 0, 0);
  if (mode < 0 || mode > 3 || !modes[mode]) return refuse(r, "symmetric padding");
  const tn_attr perm = tn_attr_ints("perm", (tn_ints){turned, 2}),
                a = tn_attr_str("mode", modes[mode]);
  const int64_t pairs[] = {-1, 2};
  const int32_t by_pair = emit_2(r, "Reshape", wide(r, 1), mnn_i64s(r, pairs, 2));
  const int32_t pads = emit(r, "Transpose", &by_pair, 1, &perm, 1);
  const int32_t in[] = {mnn_in(r, 0), emit_2(r, "Reshape", pads, mnn_i64s(r, &flat, 1)),
                        r->in.n > 2 ? mnn_in(r, 2) : TN_NO_ID};
  return emit(r, "Pad", in, r->in.n > 2 ? 3 : 2, &a, 1);
}

static int32_t with_shape(mnn_reader *r) { return emit_2(r, r->row->to, mnn_in(r, 0), wide(r, 1)); }
static int32_t fill(mnn_reader *r) { return emit_2(r, "Expand", mnn_in(r, 1), wide(r, 0)); }

static int32_t depth_space(mnn_reader *r) {
  const bool down = !strcmp(r->row->name, "SpaceToDepth");
  const tn_attr a[] = {tn_attr_int("blocksize", param_int(r, 0, 0)),
                       tn_attr_str("mode", param_byte(r, 1, 0) ? "CRD" : "DCR")};
  const int32_t x = mnn_in(r, 0);
  return emit(r, r->row->name, &x, 1, a, down ? 1 : 2);
}

/* To a shape that is an input, of all dims, as networks from ONNX have it. */
static int32_t interp(mnn_reader *r) {
  enum { TYPE = 4, ALIGN, HALF, MODE = 10, OF_ONNX = 3, N_MODES = 5 };
  static const char *const modes[N_MODES] = {"asymmetric", "align_corners", "half_pixel",
                                             "pytorch_half_pixel", "asymmetric"};
  const int64_t how = param_int(r, TYPE, 0);
  int64_t mode = param_byte(r, MODE, 0);
  if (r->in.n != 2 || tn_flat_int(&r->net, NET_SOURCE, 1, 0) != OF_ONNX)
    return refuse(r, "a size that is no input, or only of height and width");
  if (how < 1 || how > 2 || mode < 0 || mode >= N_MODES) return refuse(r, "this way to resize");
  if (!mode) mode = param_byte(r, ALIGN, 0) ? 1 : param_byte(r, HALF, 0) ? 2 : 0;
  const int32_t given = mnn_in(r, 1);
  if (given == TN_NO_ID) return TN_NO_ID;
  const tn_flat_table blob = r->values[tn_flat_int_at(&r->in, 1)].blob;
  const bool is_scale = blob.at && tn_flat_int(&blob, BLOB_TYPE, 4, 1) == 1;
  const int32_t size = is_scale ? given : cast(r, given, TN_I64);
  const int32_t in[] = {mnn_in(r, 0), TN_NO_ID, is_scale ? size : TN_NO_ID, size};
  const tn_attr a[] = {tn_attr_str("mode", how == 1 ? "nearest" : "linear"),
                       tn_attr_str("nearest_mode", "floor"),
                       tn_attr_str("coordinate_transformation_mode", modes[mode])};
  return emit(r, "Resize", in, is_scale ? 3 : 4, a, 3);
}

/* ---- over axes ---- */

static int32_t softmax(mnn_reader *r) {
  return emit_int(r, "Softmax", mnn_in(r, 0), "axis", param_int(r, 0, 0));
}

static int32_t reduction(mnn_reader *r) {
  static const char *const ops[] = {"ReduceSum", "ReduceL1",  "ReduceSumSquare", "ReduceMean",
                                    "ReduceMax", "ReduceMin", "ReduceProd"};
  enum { OPERATION, DIM, COEFF, KEEP };
  const tn_flat_vector dims = tn_flat_vec(&r->param, DIM, 4);
  const int64_t how = param_byte(r, OPERATION, 0);
  if (how < 0 || how > 6) return refuse(r, "any and all");
  const tn_attr a = tn_attr_int("keepdims", param_byte(r, KEEP, 0) != 0);
  const bool given = r->in.n > 1;
  const int32_t in[] = {mnn_in(r, 0), given ? wide(r, 1) : dims.n ? ints_of(r, &dims) : TN_NO_ID};
  return emit(r, ops[how], in, given || dims.n ? 2 : 1, &a, 1);
}

static int32_t arg_max(mnn_reader *r) {
  if (param_int(r, 0, 0) || param_int(r, 1, 0) > 1)
    return refuse(r, "values, or more than one place");
  const tn_attr a[] = {tn_attr_int("axis", param_int(r, 2, 0)), tn_attr_int("keepdims", 0)};
  const int32_t x = mnn_in(r, 0);
  return cast(r, emit(r, r->row->name, &x, 1, a, 2), TN_I32);
}

static int32_t product(mnn_reader *r) {
  const bool batch = !strcmp(r->row->name, "BatchMatMul");
  const bool a = param_byte(r, batch ? 0 : 1, 0), b = param_byte(r, batch ? 1 : 2, 0);
  const int32_t in[] = {mnn_in(r, 0), mnn_in(r, 1)};
  if (r->in.n > 2) return refuse(r, "a bias");
  if (!a && !b) return emit(r, "MatMul", in, 2, NULL, 0);
  const tn_attr equation = tn_attr_str(
      "equation", a ? b ? "...ji,...kj->...ik" : "...ji,...jk->...ik" : "...ij,...kj->...ik");
  return emit(r, "Einsum", in, 2, &equation, 1);
}

static int32_t layer_norm(mnn_reader *r) {
  enum { AXIS, EPSILON, GAMMA, BETA, GROUP, EXTERNAL, RMS };
  const tn_flat_vector axes = tn_flat_vec(&r->param, AXIS, 4),
                       gamma = tn_flat_vec(&r->param, GAMMA, 4),
                       beta = tn_flat_vec(&r->param, BETA, 4);
  const int64_t n = (int64_t)gamma.n;
  if (tn_flat_has(&r->param, EXTERNAL) || param_byte(r, RMS, 0) || axes.n != 1 || !gamma.n ||
      param_int(r, GROUP, 1) != 1)
    return refuse(r, "a normalisation other than of the last axis, with scale");
  const tn_attr a[] = {tn_attr_int("axis", -1),
                       tn_attr_float("epsilon", tn_flat_float(&r->param, EPSILON, 0))};
  const int32_t in[] = {mnn_in(r, 0), floats(r, &gamma, 1, &n),
                        beta.n ? floats(r, &beta, 1, &n) : TN_NO_ID};
  return emit(r, "LayerNormalization", in, beta.n ? 3 : 2, a, 2);
}

/* ---- all of them ---- */

typedef int32_t (*node_fn)(mnn_reader *);

static node_fn find(const char *name) {
  static const struct {
    const char *name;
    node_fn fn;
  } fns[] = {{"ArgMax", arg_max},
             {"ArgMin", arg_max},
             {"BatchMatMul", product},
             {"BinaryOp", binary},
             {"BroadcastTo", with_shape},
             {"Cast", convert_type},
             {"Concat", concat},
             {"ConvertTensor", convert},
             {"Convolution", convolution},
             {"ConvolutionDepthwise", convolution},
             {"Deconvolution", convolution},
             {"DeconvolutionDepthwise", convolution},
             {"DepthToSpace", depth_space},
             {"ELU", elu},
             {"Eltwise", eltwise},
             {"ExpandDims", expand_dims},
             {"Fill", fill},
             {"Flatten", flatten},
             {"Gather", gather},
             {"GatherV2", gather},
             {"Interp", interp},
             {"LayerNorm", layer_norm},
             {"MatMul", product},
             {"PReLU", prelu},
             {"Pack", concat},
             {"Padding", pad},
             {"Permute", permute},
             {"Pooling", pooling},
             {"Pooling3D", pooling_3d},
             {"Rank", rank},
             {"ReLU", relu},
             {"ReLU6", clip},
             {"Reduction", reduction},
             {"Reshape", reshape},
             {"Scale", scale},
             {"Select", choose},
             {"Shape", shape},
             {"Size", size},
             {"Slice", split},
             {"SliceTf", slice_by_size},
             {"Softmax", softmax},
             {"SpaceToDepth", depth_space},
             {"Squeeze", squeeze},
             {"StridedSlice", strided_slice},
             {"Tile", with_shape},
             {"Transpose", permute},
             {"UnaryOp", unary},
             {"Unsqueeze", squeeze}};
  for (size_t k = 0; k < sizeof fns / sizeof *fns; k++)
    if (!strcmp(fns[k].name, name)) return fns[k].fn;
  return direct;
}

tn_status mnn_node(mnn_reader *r) {
  const int32_t id = find(r->row->name)(r);
  if (id != TN_NO_ID && !r->status) mnn_set(r, 0, id);
  return mnn_status(r);
}
