/* Operators with windows: convolutions, pools, resizing. Values are [N, Y, X, C] in TFLite and
 * [N, C, Y, X] in ai.onnx, so each stands between two Transposes, of which 05 fuse leaves those at
 * the edges. */
#include <math.h>

#include "lower.h"
#include "tflite.gen.h"

enum { SAME = 0 };

/* What a window does along each spatial dim, and around it. */
typedef struct window {
  int32_t n; /* spatial dims */
  int64_t kernel[TN_MAX_RANK], strides[TN_MAX_RANK], dilations[TN_MAX_RANK];
  int64_t pads[2 * TN_MAX_RANK];
} window;

/* SAME: as many outputs as inputs over the stride; the odd pad is behind. */
static void pad_same(window *w, const tn_tensor *x) {
  for (int32_t k = 0; k < w->n; k++) {
    const int64_t in = x->shape[1 + k], out = tn_ceil_div(in, w->strides[k]),
                  needed = (out - 1) * w->strides[k] + (w->kernel[k] - 1) * w->dilations[k] + 1,
                  pad = needed > in ? needed - in : 0;
    w->pads[k] = pad / 2;
    w->pads[w->n + k] = pad - pad / 2;
  }
}

static tn_status check_window(const tn_lowering *t, const window *w) {
  for (int32_t k = 0; k < w->n; k++)
    if (w->kernel[k] < 1 || w->strides[k] < 1 || w->dilations[k] < 1 || w->kernel[k] > INT32_MAX ||
        w->strides[k] > INT32_MAX || w->dilations[k] > INT32_MAX)
      return t->call->host->fail(t->call->ctx, TN_ERR_INVALID,
                                 "window %lld, stride %lld and dilation %lld of dim %d are not "
                                 "all in 1 .. 2^31",
                                 (long long)w->kernel[k], (long long)w->strides[k],
                                 (long long)w->dilations[k], k);
  return TN_OK;
}

static tn_status check_rank(const tn_lowering *t, uint32_t input, int32_t rank) {
  const tn_tensor *x = tn_low_type(t, input);
  char text[TN_TENSOR_TEXT];
  if (x && x->rank == rank) return TN_OK;
  return t->call->host->fail(t->call->ctx, TN_ERR_SHAPE, "input %u must have rank %d, not %s",
                             input, rank, x ? tn_tensor_text(x, text, sizeof text) : "none");
}

/* Strides, dilations and pads from the node; the kernel's dims are there. */
static tn_status open_window(const tn_lowering *t, const tn_tensor *x, window *w) {
  static const char *const strides[] = {"stride_d", "stride_h", "stride_w"};
  static const char *const dilations[] = {"dilation_d_factor", "dilation_h_factor",
                                          "dilation_w_factor"};
  for (int32_t k = 0; k < w->n; k++) {
    w->strides[k] = tn_low_int(t, strides[3 - w->n + k], 1);
    w->dilations[k] = tn_low_int(t, dilations[3 - w->n + k], 1);
    w->pads[k] = w->pads[w->n + k] = 0;
  }
  const tn_status s = check_window(t, w);
  if (!s && tn_low_int(t, "padding", SAME) == SAME) pad_same(w, x);
  return s;
}

enum { WINDOW_ATTRS = 4 };

static void window_attrs(const window *w, tn_attr out[WINDOW_ATTRS]) {
  out[0] = tn_attr_ints("kernel_shape", (tn_ints){w->kernel, w->n});
  out[1] = tn_attr_ints("strides", (tn_ints){w->strides, w->n});
  out[2] = tn_attr_ints("dilations", (tn_ints){w->dilations, w->n});
  out[3] = tn_attr_ints("pads", (tn_ints){w->pads, 2 * w->n});
}

/* ---- convolutions ---- */

/* A convolution while it is made: weights as ai.onnx has them. */
typedef struct conv {
  window w;
  int64_t group, filters;
  int32_t weights;
  uint32_t x, filter, bias; /* inputs */
  bool is_product;          /* FULLY_CONNECTED */
  bool is_depthwise;        /* DEPTHWISE_CONV_2D */
} conv;

/* Per-filter factors w_scale * x_scale / y_scale in f32, as XNNPACK makes them. */
static int32_t conv_factors(const tn_lowering *t, const conv *c, bool to_steps) {
  const tn_floats channels = tn_low_floats(t, "channel_scales");
  const bool each = channels.size == c->filters && c->filters > 0;
  const int64_t n = each ? c->filters : 1;
  double *data = t->call->host->alloc(t->call->ctx, (uint64_t)(n + 1) * sizeof *data);
  if (!data) return TN_ERR_MEMORY;
  const float x = (float)tfl_scale(t, c->x), y = (float)tfl_scale(t, tfl_y(t));
  for (int64_t k = 0; k < n; k++) {
    const float w = (float)(each ? channels.data[k] : tfl_scale(t, c->filter));
    data[k] = (double)(to_steps ? x * w / y : w);
  }
  const int32_t value = tn_emit_floats(t->call, t->graph, data, n);
  t->call->host->free(t->call->ctx, data);
  return value;
}

/* Sums of 16-bit codes times 8-bit weights, exact in f64, times a scale per filter. */
static int32_t fixed_sums(const tn_lowering *t, const conv *c, int32_t sums) {
  const tn_floats channels = tn_low_floats(t, "channel_scales");
  const bool each = channels.size == c->filters && c->filters > 0;
  const int64_t n = each ? c->filters : 1;
  double *scales = t->call->host->alloc(t->call->ctx, (uint64_t)(n + 1) * sizeof *scales);
  if (!scales) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < n; k++)
    scales[k] = tfl_scale(t, c->x) * (each ? channels.data[k] : tfl_scale(t, c->filter)) /
                tfl_scale(t, tfl_y(t));
  const int32_t y = tfl_fixed_scale(t, tn_low_cast(t, sums, TN_I64), scales, n, 0, TN_I16);
  t->call->host->free(t->call->ctx, scales);
  return y;
}

/* Scales of FULLY_CONNECTED as multipliers of 1/2 to 1 and powers of 2. Of one scale for all,
 * LiteRT multiplies the two of the inputs in f32. */
static void product_scales(const tn_lowering *t, const conv *c, int64_t n, double *multipliers,
                           double *powers) {
  const tn_floats channels = tn_low_floats(t, "channel_scales");
  const float joint = (float)tfl_scale(t, c->x) * (float)tfl_scale(t, c->filter);
  for (int64_t k = 0; k < n; k++) {
    const double both = n > 1 ? tfl_scale(t, c->x) * channels.data[k] : (double)joint;
    int power;
    multipliers[k] = frexp(both / tfl_scale(t, tfl_y(t)), &power);
    powers[k] = ldexp(1, power);
  }
}

/* One f64 for each channel of sums [rows, n, 1, 1]. */
static int32_t per_channel(const tn_lowering *t, const double *data, int64_t n) {
  const int64_t shape[] = {n, 1, 1};
  const tn_tensor values = tn_tensor_make(TN_F64, 3, shape, (void *)(uintptr_t)data);
  return tn_emit_const(t->call, t->graph, &values);
}

static int32_t rounded_up(const tn_lowering *t, int32_t x) {
  return tn_low_1(t, "Floor", tn_low_2(t, "Add", x, tn_low_number(t, TN_F64, 0.5)));
}

/* FULLY_CONNECTED of 16 bits, unlike convolutions. Sums with a bias of i64: times the scale in f64,
 * rounded once. Others, of i32: times the multiplier, rounded, times the power, rounded; halves up
 * both times. */
static int32_t fixed_product(const tn_lowering *t, const conv *c, int32_t sums) {
  const tn_floats channels = tn_low_floats(t, "channel_scales");
  const int64_t n = channels.size == c->filters && c->filters > 1 ? c->filters : 1;
  double *m = t->call->host->alloc(t->call->ctx, (uint64_t)n * 2 * sizeof *m);
  int64_t lo, hi;
  int32_t y;
  if (!m) return TN_ERR_MEMORY;
  product_scales(t, c, n, m, m + n);
  tfl_code_bounds(t, TN_I16, &lo, &hi);
  const tn_tensor *bias = c->bias ? tn_low_type(t, c->bias) : NULL;
  if (bias && bias->dtype == TN_I64) {
    for (int64_t k = 0; k < n; k++) {
      const double w = n > 1 ? channels.data[k] : tfl_scale(t, c->filter);
      m[k] = tfl_scale(t, c->x) * w / tfl_scale(t, tfl_y(t));
    }
    y = tn_low_1(t, "Round", tn_low_2(t, "Mul", sums, per_channel(t, m, n)));
  } else {
    const int32_t scaled = rounded_up(t, tn_low_2(t, "Mul", sums, per_channel(t, m, n)));
    y = rounded_up(t, tn_low_2(t, "Mul", scaled, per_channel(t, m + n, n)));
  }
  t->call->host->free(t->call->ctx, m);
  return tn_low_cast(t, tn_low_clip(t, y, TN_F64, (double)lo, (double)hi), TN_I16);
}

static int32_t fixed_conv(const tn_lowering *t, const conv *c, const char *op, int32_t x,
                          const tn_attr *attrs, uint32_t n_attrs) {
  if (tfl_zero(t, c->x) || tfl_zero(t, c->filter))
    return tn_low_unsupported(t, "16-bit values with zero points other than 0");
  const int32_t inputs[] = {tn_low_cast(t, x, TN_F64), tn_low_cast(t, c->weights, TN_F64),
                            c->bias && tn_low_type(t, c->bias)
                                ? tn_low_cast(t, tn_low_in(t, c->bias), TN_F64)
                                : TN_NO_ID};
  const int32_t sums = tn_low_emit(t, op, inputs, 3, attrs, n_attrs);
  return c->is_product ? fixed_product(t, c, sums) : fixed_sums(t, c, sums);
}

static int32_t quantised_conv(const tn_lowering *t, const conv *c, int32_t x) {
  const tn_tensor *in = tn_low_type(t, c->x), *w = tn_low_type(t, c->filter);
  const int64_t w_zero = tfl_zero(t, c->filter);
  int64_t lo, hi;
  if (w->dtype != TN_I8 && w->dtype != TN_U8) return tn_low_unsupported(t, "weights of this type");
  if (!(tfl_scale(t, tfl_y(t)) > 0)) return tn_low_unsupported(t, "an output without a scale");
  tfl_code_bounds(t, in->dtype, &lo, &hi);
  const int32_t bias = c->bias ? tn_low_in(t, c->bias) : TN_NO_ID;
  const int32_t inputs[] = {
      x,
      c->weights,
      conv_factors(t, c, true),
      bias,
      TN_NO_ID,
      w_zero || w->dtype == TN_U8 ? tn_low_number(t, w->dtype, (double)w_zero) : TN_NO_ID};
  tn_attr attrs[WINDOW_ATTRS + 6];
  window_attrs(&c->w, attrs);
  attrs[4] = tn_attr_int("group", c->group);
  attrs[5] = tn_attr_int("x_zero", tfl_zero(t, c->x));
  attrs[6] = tn_attr_str("y_type", in->dtype == TN_I8 ? "i8" : "u8");
  attrs[7] = tn_attr_int("y_zero", tfl_zero(t, tfl_y(t)));
  attrs[8] = tn_attr_int("lo", lo);
  attrs[9] = tn_attr_int("hi", hi);
  return tn_low_emit(t, "tenon::QuantConv", inputs, 6, attrs, WINDOW_ATTRS + 6);
}

static int32_t real_conv(const tn_lowering *t, const conv *c, int32_t x) {
  const int32_t inputs[] = {x, c->weights, c->bias ? tn_low_in(t, c->bias) : TN_NO_ID};
  tn_attr attrs[WINDOW_ATTRS + 1];
  window_attrs(&c->w, attrs);
  attrs[4] = tn_attr_int("group", c->group);
  return tfl_activation(t, tn_low_emit(t, "Conv", inputs, 3, attrs, WINDOW_ATTRS + 1), TN_F32);
}

/* In numbers between DequantizeLinear and QuantizeLinear, for files. */

static int32_t as_numbers(const tn_lowering *t, int32_t x, uint32_t input) {
  return tn_low_dequantize(t, x, tn_low_type(t, input)->dtype, tfl_scale(t, input),
                           tfl_zero(t, input));
}

/* Values along the filters times factors for each of them, or one for all. */
static int32_t scale_filters(const tn_lowering *t, const conv *c, int32_t x, uint32_t dtype,
                             double by, int32_t axis) {
  const tn_floats channels = tn_low_floats(t, "channel_scales");
  if (channels.size != c->filters || c->filters < 1)
    return tn_low_dequantize(t, x, dtype, by * tfl_scale(t, c->filter),
                             dtype == TN_I32 ? 0 : tfl_zero(t, c->filter));
  double *scales = t->call->host->alloc(t->call->ctx, (uint64_t)c->filters * sizeof *scales);
  if (!scales) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < c->filters; k++) scales[k] = by * channels.data[k];
  const int32_t inputs[] = {x, tn_emit_floats(t->call, t->graph, scales, c->filters)};
  const tn_attr along = tn_attr_int("axis", axis);
  t->call->host->free(t->call->ctx, scales);
  return tn_low_emit(t, "DequantizeLinear", inputs, 2, &along, 1);
}

/* DequantizeLinear takes no 64 bits; what it would compute is spelt out for them. */
static int32_t bias_numbers(const tn_lowering *t, const conv *c) {
  if (!c->bias || !tn_low_type(t, c->bias)) return TN_NO_ID;
  const int32_t bias = tn_low_in(t, c->bias);
  if (tn_low_type(t, c->bias)->dtype == TN_I32)
    return scale_filters(t, c, bias, TN_I32, tfl_scale(t, c->x), 0);
  return tn_low_2(t, "Mul",
                  tn_low_2(t, "Mul", tn_low_cast(t, bias, TN_F32), conv_factors(t, c, false)),
                  tn_low_number(t, TN_F32, tfl_scale(t, c->x)));
}

static int32_t number_conv(const tn_lowering *t, const conv *c, const char *op, int32_t x,
                           int32_t filters_at, const tn_attr *attrs, uint32_t n_attrs) {
  const int32_t inputs[] = {
      as_numbers(t, x, c->x),
      scale_filters(t, c, c->weights, tn_low_type(t, c->filter)->dtype, 1, filters_at),
      bias_numbers(t, c)};
  const int32_t y = tfl_activation(t, tn_low_emit(t, op, inputs, 3, attrs, n_attrs), TN_F32);
  return tn_low_quantize(t, y, tn_low_type(t, c->x)->dtype, tfl_scale(t, tfl_y(t)),
                         tfl_zero(t, tfl_y(t)));
}

/* Weights of 8 bits with activations of f32. */
static bool is_dynamic(const tn_lowering *t, const conv *c) {
  const tn_tensor *x = tn_low_type(t, c->x), *w = tn_low_type(t, c->filter);
  return x->dtype == TN_F32 && w && (w->dtype == TN_I8 || w->dtype == TN_U8 || w->dtype == TN_I4);
}

/* ---- weights of 8 bits, activations of f32 ---- */

/* The weights' scales along the filters, which dim `at` of an output of that rank counts. */
static int32_t filter_scales(const tn_lowering *t, const conv *c, int32_t rank, int32_t at) {
  int64_t shape[TN_MAX_RANK];
  const tn_floats channels = tn_low_floats(t, "channel_scales");
  for (int32_t k = 0; k < rank; k++)
    shape[k] = k == at && channels.size == c->filters ? c->filters : 1;
  return tn_low_reshape(t, conv_factors(t, c, false), rank, shape);
}

/* sums * (x_scale * w_scale) + bias. */
static int32_t dynamic_sums(const tn_lowering *t, const conv *c, int32_t sums, int32_t scale,
                            int32_t rank, int32_t at) {
  int64_t shape[TN_MAX_RANK];
  for (int32_t k = 0; k < rank; k++) shape[k] = k == at ? c->filters : 1;
  const int32_t factor = tn_low_2(t, "Mul", scale, filter_scales(t, c, rank, at));
  int32_t y = tn_low_2(t, "Mul", sums, factor);
  if (c->bias && tn_low_type(t, c->bias))
    y = tn_low_2(t, "Add", y, tn_low_reshape(t, tn_low_in(t, c->bias), rank, shape));
  return tfl_activation(t, y, TN_F32);
}

/* A convolution of single pixels is a product of matrices for XNNPACK: each pixel has its own
 * scale. */
static bool is_of_pixels(const conv *c) {
  bool is = c->group == 1;
  for (int32_t k = 0; k < c->w.n; k++) is = is && c->w.kernel[k] == 1 && c->w.strides[k] == 1;
  return is;
}

/* The products of codes and their sums are whole numbers in f32, exact up to 2^24. */
static int32_t dynamic_conv(const tn_lowering *t, const conv *c, int32_t x) {
  int64_t axes[TN_MAX_RANK];
  tn_attr attrs[WINDOW_ATTRS + 1];
  int32_t scale = TN_NO_ID;
  for (int32_t k = 0; k <= c->w.n; k++) axes[k] = k + 1;
  if (tfl_zero(t, c->filter)) return tn_low_unsupported(t, "weights with a zero point here");
  const int64_t n = is_of_pixels(c) ? 1 : c->w.n + 1;
  const int32_t inputs[] = {c->is_depthwise ? tn_low_own_steps_built_in(t, x, axes, n, &scale)
                                            : tn_low_own_steps(t, x, axes, n, &scale),
                            tn_low_cast(t, c->weights, TN_F32)};
  window_attrs(&c->w, attrs);
  attrs[4] = tn_attr_int("group", c->group);
  return dynamic_sums(t, c, tn_low_emit(t, "Conv", inputs, 2, attrs, WINDOW_ATTRS + 1), scale,
                      c->w.n + 2, 1);
}

/* Rows of x, of as many elements as the filters, by the filters. */
static int32_t dynamic_rows(const tn_lowering *t, const conv *c, int32_t x, int32_t filters) {
  const int32_t inputs[] = {x, filters, conv_factors(t, c, false),
                            c->bias && tn_low_type(t, c->bias) ? tn_low_in(t, c->bias) : TN_NO_ID};
  const tn_attr trans = tn_attr_int("transB", 1);
  return tfl_activation(t, tn_low_emit(t, "tenon::DynamicMatMul", inputs, 4, &trans, 1), TN_F32);
}

static int32_t dynamic_product(const tn_lowering *t, int64_t rows, int64_t units, int64_t depth) {
  const conv c = {.filters = units, .filter = 1, .bias = 2};
  const int64_t shape[] = {rows, depth}, last = 1;
  int32_t scale = TN_NO_ID;
  if (tfl_zero(t, 1)) return tn_low_unsupported(t, "weights with a zero point here");
  if (tn_low_type(t, 1)->dtype == TN_I8)
    return dynamic_rows(t, &c, tn_low_reshape(t, tn_low_in(t, 0), 2, shape), tn_low_in(t, 1));
  const int32_t inputs[] = {
      tn_low_own_steps(t, tn_low_reshape(t, tn_low_in(t, 0), 2, shape), &last, 1, &scale),
      tn_low_cast(t, tn_low_in(t, 1), TN_F32)};
  const tn_attr trans = tn_attr_int("transB", 1);
  return dynamic_sums(t, &c, tn_low_emit(t, "Gemm", inputs, 2, &trans, 1), scale, 2, 1);
}

/* Weights of 4 or 8 bits in blocks of a row that share a scale. */
static int32_t block_product(const tn_lowering *t, int64_t rows, int64_t depth) {
  const int64_t shape[] = {rows, depth}, last = 1;
  int32_t scale = TN_NO_ID;
  const int32_t parts[] = {tn_low_in(t, 1), tn_low_cast(t, tn_low_in(t, 3), TN_F32)};
  const tn_attr blocks[] = {tn_attr_int("axis", 1),
                            tn_attr_int("block_size", tn_low_int(t, "block_size", 0))};
  const int32_t inputs[] = {
      tn_low_own_steps(t, tn_low_reshape(t, tn_low_in(t, 0), 2, shape), &last, 1, &scale),
      tn_low_emit(t, "DequantizeLinear", parts, 2, blocks, 2)};
  const tn_attr trans = tn_attr_int("transB", 1);
  const int32_t y = tn_low_2(t, "Mul", tn_low_emit(t, "Gemm", inputs, 2, &trans, 1), scale);
  const bool has_bias = tn_low_type(t, 2) != NULL;
  return tfl_activation(t, has_bias ? tn_low_2(t, "Add", y, tn_low_in(t, 2)) : y, TN_F32);
}

static int32_t any_conv(const tn_lowering *t, const conv *c, int32_t x) {
  tn_attr attrs[WINDOW_ATTRS + 1];
  window_attrs(&c->w, attrs);
  attrs[4] = tn_attr_int("group", c->group);
  if (tfl_is_wide(t, c->x)) return fixed_conv(t, c, "Conv", x, attrs, WINDOW_ATTRS + 1);
  if (is_dynamic(t, c)) return dynamic_conv(t, c, x);
  if (tfl_is_quantised(t) && tn_low_for_onnx(t))
    return number_conv(t, c, "Conv", x, 0, attrs, WINDOW_ATTRS + 1);
  return tfl_is_quantised(t) ? quantised_conv(t, c, x) : real_conv(t, c, x);
}

/* [rows, depth] times [units, depth]: a convolution of single pixels, whose sums may begin with a
 * bias of i32. */
static int32_t quantised_product(const tn_lowering *t, int64_t rows, int64_t units, int64_t depth,
                                 bool is_product) {
  const int64_t x_shape[] = {rows, depth, 1, 1}, w_shape[] = {units, depth, 1, 1};
  conv c = {.w = {.n = 2, .kernel = {1, 1}, .strides = {1, 1}, .dilations = {1, 1}},
            .group = 1,
            .filters = units,
            .filter = 1,
            .bias = 2,
            .is_product = is_product};
  c.bias = tn_low_type(t, 2) ? 2 : 0;
  c.weights = tn_low_reshape(t, tn_low_in(t, 1), 4, w_shape);
  return any_conv(t, &c, tn_low_reshape(t, tn_low_in(t, 0), 4, x_shape));
}

/* Does one window see all of an input that is not padded? */
static bool sees_all(const conv *c, const tn_tensor *x) {
  bool all = c->group == 1;
  for (int32_t k = 0; k < c->w.n; k++)
    all = all && c->w.kernel[k] == x->shape[1 + k] && c->w.dilations[k] == 1 && !c->w.pads[k] &&
          !c->w.pads[c->w.n + k];
  return all;
}

/* Then it is a product, of elements in the order in which the file has both. */
static tn_status product_of_all(const tn_lowering *t, const conv *c, const tn_tensor *x) {
  const int64_t rows = x->shape[0], shape[] = {rows, 1, 1, c->filters};
  const int64_t depth = rows ? tn_elements(x) / rows : 0;
  const int32_t y = quantised_product(t, rows, c->filters, depth, false);
  return tn_low_done(t, tn_low_reshape(t, y, 4, shape));
}

static tn_status conv_of(const tn_lowering *t, conv *c, const int32_t *perm) {
  const tn_tensor *x = tn_low_type(t, c->x);
  tn_status s = open_window(t, x, &c->w);
  if (s) return s;
  const tn_tensor *w = tn_low_type(t, c->filter);
  if (c->w.n == 2 && perm[0] == 0 && tfl_counts_steps(t) && !is_dynamic(t, c) && sees_all(c, x))
    return product_of_all(t, c, x);
  if (is_dynamic(t, c) && is_of_pixels(c) && w->dtype == TN_I8 && !tfl_zero(t, c->filter)) {
    const int64_t shape[] = {c->filters, x->shape[c->w.n + 1]};
    return tn_low_done(t, dynamic_rows(t, c, tn_low_in(t, c->x),
                                       tn_low_reshape(t, tn_low_in(t, c->filter), 2, shape)));
  }
  const int32_t first = tn_low_channels_first(t, tn_low_in(t, c->x), c->w.n + 2);
  c->weights = tn_low_transpose(t, tn_low_in(t, c->filter), c->w.n + 2, perm);
  return tn_low_done(t, tn_low_channels_last(t, any_conv(t, c, first), c->w.n + 2));
}

tn_status tflite_conv_2d(const tn_call *call, tn_graph *graph, int32_t node) {
  static const int32_t perm[] = {0, 3, 1, 2}; /* [filters, y, x, channels] */
  const tn_lowering t = tn_low_open(call, graph, node);
  tn_status s = check_rank(&t, 0, 4);
  if (!s) s = check_rank(&t, 1, 4);
  if (s) return s;
  const int64_t *w = tn_low_type(&t, 1)->shape, channels = tn_low_type(&t, 0)->shape[3];
  conv c = {.w = {.n = 2, .kernel = {w[1], w[2]}},
            .group = w[3] > 0 && channels % w[3] == 0 ? channels / w[3] : 1,
            .filters = w[0],
            .filter = 1,
            .bias = 2};
  return conv_of(&t, &c, perm);
}

tn_status tflite_depthwise_conv_2d(const tn_call *call, tn_graph *graph, int32_t node) {
  static const int32_t perm[] = {3, 0, 1, 2}; /* [1, y, x, channels * multiplier] */
  const tn_lowering t = tn_low_open(call, graph, node);
  tn_status s = check_rank(&t, 0, 4);
  if (!s) s = check_rank(&t, 1, 4);
  if (s) return s;
  const int64_t *w = tn_low_type(&t, 1)->shape;
  conv c = {.w = {.n = 2, .kernel = {w[1], w[2]}},
            .group = tn_low_type(&t, 0)->shape[3],
            .filters = w[3],
            .filter = 1,
            .bias = 2,
            .is_depthwise = true};
  return conv_of(&t, &c, perm);
}

tn_status tflite_conv_3d(const tn_call *call, tn_graph *graph, int32_t node) {
  static const int32_t perm[] = {4, 3, 0, 1, 2}; /* [z, y, x, channels, filters] */
  const tn_lowering t = tn_low_open(call, graph, node);
  tn_status s = check_rank(&t, 0, 5);
  if (!s) s = check_rank(&t, 1, 5);
  if (s) return s;
  const int64_t *w = tn_low_type(&t, 1)->shape, channels = tn_low_type(&t, 0)->shape[4];
  conv c = {.w = {.n = 3, .kernel = {w[0], w[1], w[2]}},
            .group = w[3] > 0 && channels % w[3] == 0 ? channels / w[3] : 1,
            .filters = w[4],
            .filter = 1,
            .bias = 2};
  return conv_of(&t, &c, perm);
}

/* ---- transposed convolutions ---- */

/* 8-bit codes less their zero point, as numbers. */
static int32_t code_numbers(const tn_lowering *t, int32_t x, uint32_t input, uint32_t dtype) {
  const int64_t zero = tfl_zero(t, input);
  x = tn_low_cast(t, x, dtype);
  return zero ? tn_low_2(t, "Sub", x, tn_low_number(t, dtype, (double)zero)) : x;
}

/* A transposed convolution of 8 bits: sums of whole numbers, exact in f32 where they are few, times
 * a factor for each filter. */
static int32_t code_sums(const tn_lowering *t, const conv *c, int32_t x, const tn_attr *attrs) {
  const int64_t products = c->w.kernel[0] * c->w.kernel[1] * tn_low_type(t, c->x)->shape[3];
  const uint32_t dtype = products <= (1 << 24) / (255 * 128) && !c->bias ? TN_F32 : TN_F64;
  const bool each = tn_low_floats(t, "channel_scales").size == c->filters;
  const int64_t shape[] = {1, each ? c->filters : 1, 1, 1};
  const int32_t inputs[] = {code_numbers(t, x, c->x, dtype),
                            code_numbers(t, c->weights, c->filter, dtype),
                            c->bias ? tn_low_cast(t, tn_low_in(t, c->bias), dtype) : TN_NO_ID};
  const int32_t sums = tn_low_emit(t, "ConvTranspose", inputs, 3, attrs, WINDOW_ATTRS + 2);
  const int32_t steps = tn_low_2(t, "Mul", tn_low_cast(t, sums, TN_F32),
                                 tn_low_reshape(t, conv_factors(t, c, true), 4, shape));
  return tfl_from_steps_of(t, steps, tn_low_type(t, c->x)->dtype);
}

/* The pads of the convolution that would lead from the output to the input, and how many rows
 * behind they leave over. */
static tn_status transposed(const tn_lowering *t, conv *c, const int64_t *shape, int32_t x,
                            int32_t *out_value) {
  const tn_tensor *in = tn_low_type(t, c->x);
  int64_t output[TN_MAX_RANK];
  const bool same = tn_low_int(t, "padding", SAME) == SAME;
  for (int32_t k = 0; k < c->w.n; k++) {
    const int64_t needed =
        (in->shape[1 + k] - 1) * c->w.strides[k] + (c->w.kernel[k] - 1) * c->w.dilations[k] + 1;
    const int64_t pad = same && needed > shape[1 + k] ? needed - shape[1 + k] : 0;
    c->w.pads[k] = pad / 2;
    c->w.pads[c->w.n + k] = pad - pad / 2;
    output[k] = shape[1 + k] - (needed - pad);
    if (output[k] < 0 || output[k] >= tn_max_i64(c->w.strides[k], c->w.dilations[k]))
      return tn_low_unsupported(t, "an output shape that neither SAME nor VALID gives");
  }
  const int32_t inputs[] = {x, c->weights, c->bias ? tn_low_in(t, c->bias) : TN_NO_ID};
  tn_attr attrs[WINDOW_ATTRS + 2];
  window_attrs(&c->w, attrs);
  attrs[4] = tn_attr_int("group", c->group);
  attrs[5] = tn_attr_ints("output_padding", (tn_ints){output, c->w.n});
  if (tfl_is_wide(t, c->x))
    *out_value = fixed_conv(t, c, "ConvTranspose", x, attrs, WINDOW_ATTRS + 2);
  else if (in->dtype != TN_F32 && tn_low_for_onnx(t))
    *out_value = number_conv(t, c, "ConvTranspose", x, 1, attrs, WINDOW_ATTRS + 2);
  else if (in->dtype != TN_F32)
    *out_value = code_sums(t, c, x, attrs);
  else
    *out_value = tfl_activation(
        t, tn_low_emit(t, "ConvTranspose", inputs, 3, attrs, WINDOW_ATTRS + 2), TN_F32);
  return TN_OK;
}

static tn_status transpose_conv_of(const tn_lowering *t, conv *c, const int32_t *perm) {
  int64_t shape[TN_MAX_RANK], n;
  tn_status s = tfl_const_dims(t, 0, shape, &n);
  if (!s && n != c->w.n + 2) s = check_rank(t, 0, -1);
  if (!s) s = open_window(t, tn_low_type(t, c->x), &c->w);
  if (s) return s;
  const tn_tensor *type = tn_low_type(t, c->x);
  const bool is_float = type->dtype == TN_F32 && tn_low_type(t, c->filter)->dtype == TN_F32,
             is_codes = type->dtype == TN_I8 || type->dtype == TN_U8;
  if (!is_float && type->dtype != TN_I16 && (!is_codes || c->w.n != 2))
    return tn_low_unsupported(t, "transposed convolutions of these types");
  const int32_t x = tn_low_channels_first(t, tn_low_in(t, c->x), c->w.n + 2);
  int32_t y = TN_NO_ID;
  c->weights = tn_low_transpose(t, tn_low_in(t, c->filter), c->w.n + 2, perm);
  s = transposed(t, c, shape, x, &y);
  if (s) return s;
  return tn_low_done(t, tn_low_channels_last(t, y, c->w.n + 2));
}

tn_status tflite_transpose_conv(const tn_call *call, tn_graph *graph, int32_t node) {
  static const int32_t perm[] = {3, 0, 1, 2}; /* [filters, y, x, channels] as [C, M, y, x] */
  const tn_lowering t = tn_low_open(call, graph, node);
  tn_status s = check_rank(&t, 1, 4);
  if (!s) s = check_rank(&t, 2, 4);
  if (s) return s;
  const int64_t *w = tn_low_type(&t, 1)->shape;
  conv c = {
      .w = {.n = 2, .kernel = {w[1], w[2]}}, .group = 1, .filters = w[0], .x = 2, .filter = 1};
  c.bias = tn_low_type(&t, 3) ? 3 : 0;
  return transpose_conv_of(&t, &c, perm);
}

tn_status tflite_conv_3d_transpose(const tn_call *call, tn_graph *graph, int32_t node) {
  static const int32_t perm[] = {4, 3, 0, 1, 2}; /* [z, y, x, filters, channels] as [C, M, ...] */
  const tn_lowering t = tn_low_open(call, graph, node);
  tn_status s = check_rank(&t, 1, 5);
  if (!s) s = check_rank(&t, 2, 5);
  if (s) return s;
  const int64_t *w = tn_low_type(&t, 1)->shape;
  conv c = {.w = {.n = 3, .kernel = {w[0], w[1], w[2]}},
            .group = 1,
            .filters = w[3],
            .x = 2,
            .filter = 1};
  c.bias = tn_low_type(&t, 3) ? 3 : 0;
  return transpose_conv_of(&t, &c, perm);
}

/* ---- pools ---- */

static tn_status open_pool(const tn_lowering *t, window *w) {
  *w = (window){.n = 2};
  w->kernel[0] = tn_low_int(t, "filter_height", 1);
  w->kernel[1] = tn_low_int(t, "filter_width", 1);
  const tn_status s = check_rank(t, 0, 4);
  return s ? s : open_window(t, tn_low_type(t, 0), w);
}

static int32_t pool(const tn_lowering *t, const char *op, const window *w, int32_t x) {
  const tn_attr attrs[] = {tn_attr_ints("kernel_shape", (tn_ints){w->kernel, w->n}),
                           tn_attr_ints("strides", (tn_ints){w->strides, w->n}),
                           tn_attr_ints("pads", (tn_ints){w->pads, 2 * w->n})};
  return tn_low_emit(t, op, &x, 1, attrs, 3);
}

static int32_t average_codes(const tn_lowering *t, const window *w, int32_t x) {
  tn_attr attrs[WINDOW_ATTRS + 2];
  int64_t lo, hi;
  tfl_code_bounds(t, tn_low_type(t, 0)->dtype, &lo, &hi);
  window_attrs(w, attrs);
  attrs[4] = tn_attr_int("lo", lo);
  attrs[5] = tn_attr_int("hi", hi);
  return tn_low_emit(t, "tenon::QuantAveragePool", &x, 1, attrs, WINDOW_ATTRS + 2);
}

tn_status tflite_average_pool_2d(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  window w;
  const tn_status s = open_pool(&t, &w);
  if (s) return s;
  const bool counts = tfl_counts_steps(&t);
  const int32_t x = tn_low_channels_first(&t, counts ? tn_low_in(&t, 0) : tfl_real(&t, 0), 4);
  const int32_t y =
      counts ? average_codes(&t, &w, x) : tfl_from_real(&t, pool(&t, "AveragePool", &w, x), 0);
  return tn_low_done(&t, tn_low_channels_last(&t, y, 4));
}

tn_status tflite_max_pool_2d(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const uint32_t dtype = tn_low_type(&t, 0)->dtype;
  window w;
  const tn_status s = open_pool(&t, &w);
  if (s) return s;
  const int32_t x = tn_low_channels_first(&t, tn_low_in(&t, 0), 4);
  int32_t y = dtype == TN_I16 /* which MaxPool does not have */
                  ? tn_low_cast(&t, pool(&t, "MaxPool", &w, tn_low_cast(&t, x, TN_F32)), dtype)
                  : pool(&t, "MaxPool", &w, x);
  if (!tfl_is_quantised(&t)) {
    y = tfl_activation(&t, y, dtype);
  } else if (tn_low_int(&t, "fused_activation_function", 0)) {
    int64_t lo, hi;
    tfl_code_bounds(&t, dtype, &lo, &hi);
    y = tn_low_clip(&t, y, dtype, (double)lo, (double)hi);
  }
  return tn_low_done(&t, tn_low_channels_last(&t, y, 4));
}

tn_status tflite_l2_pool_2d(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  window w;
  const tn_status s = open_pool(&t, &w);
  if (s) return s;
  const int32_t x = tn_low_channels_first(&t, tn_low_in(&t, 0), 4);
  const int32_t mean = pool(&t, "AveragePool", &w, tn_low_2(&t, "Mul", x, x));
  const int32_t y = tfl_activation(&t, tn_low_1(&t, "Sqrt", mean), TN_F32);
  return tn_low_done(&t, tn_low_channels_last(&t, y, 4));
}

/* ---- resizing ---- */

static tn_status resize(const tn_lowering *t, const char *mode) {
  int64_t size[TN_MAX_RANK], n;
  tn_status s = check_rank(t, 0, 4);
  if (!s) s = tfl_const_dims(t, 1, size, &n);
  if (s) return s;
  if (n != 2) return tn_low_unsupported(t, "a size that is not [height, width]");
  const tn_tensor *x = tn_low_type(t, 0);
  const bool corners = tn_low_int(t, "align_corners", 0),
             half = tn_low_int(t, "half_pixel_centers", 0), linear = *mode == 'l';
  const int64_t sizes[] = {x->shape[0], x->shape[3], size[0], size[1]};
  const int32_t inputs[] = {tn_low_channels_first(t, linear ? tfl_real(t, 0) : tn_low_in(t, 0), 4),
                            TN_NO_ID, TN_NO_ID, tn_low_ints_const(t, sizes, 4)};
  const tn_attr attrs[] = {
      tn_attr_str("mode", mode),
      tn_attr_str("coordinate_transformation_mode", corners ? "align_corners"
                                                    : half  ? "half_pixel"
                                                            : "asymmetric"),
      tn_attr_str("nearest_mode", corners || half ? "round_prefer_ceil" : "floor")};
  const int32_t y = tn_low_channels_last(t, tn_low_emit(t, "Resize", inputs, 4, attrs, 3), 4);
  return tn_low_done(t, linear ? tfl_from_real(t, y, 0) : y);
}

/* XNNPACK weighs pixels of codes by 11 bits. */
static tn_status resize_codes(const tn_lowering *t) {
  int64_t size[TN_MAX_RANK], n;
  tn_status s = check_rank(t, 0, 4);
  if (!s) s = tfl_const_dims(t, 1, size, &n);
  if (s) return s;
  if (n != 2) return tn_low_unsupported(t, "a size that is not [height, width]");
  const int32_t x = tn_low_in(t, 0);
  const tn_attr attrs[] = {
      tn_attr_int("height", size[0]), tn_attr_int("width", size[1]),
      tn_attr_int("align_corners", tn_low_int(t, "align_corners", 0)),
      tn_attr_int("half_pixel_centers", tn_low_int(t, "half_pixel_centers", 0))};
  return tn_low_done(t, tn_low_emit(t, "tenon::FixedResize", &x, 1, attrs, 4));
}

/* Codes of 8 bits that mean the same behind the node as before it. */
static bool keeps_codes(const tn_lowering *t) {
  const tn_tensor *x = tn_low_type(t, 0);
  const uint32_t y = tfl_y(t);
  return tfl_counts_steps(t) && (x->dtype == TN_I8 || x->dtype == TN_U8) &&
         tfl_scale(t, 0) == tfl_scale(t, y) && tfl_zero(t, 0) == tfl_zero(t, y);
}

tn_status tflite_resize_bilinear(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return keeps_codes(&t) ? resize_codes(&t) : resize(&t, "linear");
}

tn_status tflite_resize_nearest_neighbor(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return resize(&t, "nearest");
}

/* ---- channels and space ---- */

static tn_status blocks(const tn_lowering *t, const char *op, const char *name) {
  const tn_status s = check_rank(t, 0, 4);
  if (s) return s;
  const int32_t x = tn_low_channels_first(t, tn_low_in(t, 0), 4);
  const int32_t y = tn_low_1_int(t, op, x, name, tn_low_int(t, "block_size", 1));
  return tn_low_done(t, tn_low_channels_last(t, y, 4));
}

tn_status tflite_depth_to_space(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return blocks(&t, "DepthToSpace", "blocksize");
}

tn_status tflite_space_to_depth(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return blocks(&t, "SpaceToDepth", "blocksize");
}

tn_status tflite_local_response_normalization(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_status s = check_rank(&t, 0, 4);
  if (s) return s;
  const double size = 2 * (double)tn_low_int(&t, "radius", 0) + 1;
  const tn_attr attrs[] = {tn_attr_int("size", (int64_t)size),
                           tn_attr_float("alpha", tn_low_float(&t, "alpha", 0) * size),
                           tn_attr_float("beta", tn_low_float(&t, "beta", 0)),
                           tn_attr_float("bias", tn_low_float(&t, "bias", 0))};
  const int32_t x = tn_low_channels_first(&t, tn_low_in(&t, 0), 4);
  return tn_low_done(&t, tn_low_channels_last(&t, tn_low_emit(&t, "LRN", &x, 1, attrs, 4), 4));
}

/* ---- FULLY_CONNECTED ---- */

static int32_t real_product(const tn_lowering *t, int64_t rows, int64_t depth) {
  const int64_t shape[] = {rows, depth};
  const int32_t inputs[] = {tn_low_reshape(t, tn_low_in(t, 0), 2, shape), tn_low_in(t, 1),
                            tn_low_in(t, 2)};
  const tn_attr trans = tn_attr_int("transB", 1);
  return tfl_activation(t, tn_low_emit(t, "Gemm", inputs, 3, &trans, 1), TN_F32);
}

tn_status tflite_fully_connected(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_status s = check_rank(&t, 1, 2);
  if (s) return s;
  const tn_tensor *x = tn_low_type(&t, 0);
  const int64_t units = tn_low_type(&t, 1)->shape[0], depth = tn_low_type(&t, 1)->shape[1],
                rows = depth > 0 ? tn_elements(x) / depth : 0;
  const conv c = {.filter = 1};
  if (tn_low_int(&t, "weights_format", 0)) return tn_low_unsupported(&t, "shuffled weights");
  const bool has_blocks = tn_low_int(&t, "block_size", 0) > 0;
  if (has_blocks && x->dtype != TN_F32)
    return tn_low_unsupported(&t, "weights with a scale for each block where x is not f32");
  const int32_t y = has_blocks             ? block_product(&t, rows, depth)
                    : is_dynamic(&t, &c)   ? dynamic_product(&t, rows, units, depth)
                    : tfl_is_quantised(&t) ? quantised_product(&t, rows, units, depth, true)
                                           : real_product(&t, rows, depth);
  const bool keeps = tn_low_int(&t, "keep_num_dims", 0) && x->rank > 0;
  int64_t shape[TN_MAX_RANK] = {rows, units};
  for (int32_t k = 0; keeps && k < x->rank; k++) shape[k] = k < x->rank - 1 ? x->shape[k] : units;
  return tn_low_done(&t, tn_low_reshape(&t, y, keeps ? x->rank : 2, shape));
}
