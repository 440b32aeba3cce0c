/* Operators with windows: convolutions and pools. ai.onnx has channels before space; where the node
 * has them behind, it stands between two Transposes, of which passes leave those at the edges. */
#include "lower.h"
#include "tensorflow.gen.h"

typedef struct window {
  int32_t n; /* spatial dims */
  int64_t kernel[TN_MAX_RANK], strides[TN_MAX_RANK], dilations[TN_MAX_RANK];
  int64_t pads[2 * TN_MAX_RANK];
} window;

enum { WINDOW_ATTRS = 4, MOST = 3 };

/* Dim of spatial dim k, of an input. */
static int32_t spatial(const tn_lowering *l, int32_t k) {
  return k + (lo_channels_are_last(l) ? 1 : 2);
}

/* A list for all dims; those of batch and channels have to be 1. */
static tn_status read_list(const tn_lowering *l, const char *name, int32_t n, int64_t *out) {
  const tn_ints list = tn_low_ints(l, name);
  for (int32_t k = 0; k < n; k++) out[k] = 1;
  if (!list.size) return TN_OK;
  if (list.size != n + 2)
    return tn_low_unsupported(l, "a window that has not one size for each dim");
  const int32_t channels = lo_channels_are_last(l) ? n + 1 : 1;
  if (list.data[0] != 1 || list.data[channels] != 1)
    return tn_low_unsupported(l, "windows that step over images or channels");
  for (int32_t k = 0; k < n; k++) {
    out[k] = list.data[spatial(l, k)];
    if (out[k] < 1 || out[k] > INT32_MAX)
      return l->call->host->fail(l->call->ctx, TN_ERR_INVALID, "%s has %lld", name,
                                 (long long)out[k]);
  }
  return TN_OK;
}

/* SAME: as many outputs as inputs over the stride; the odd pad is behind. */
static void pad_same(const tn_lowering *l, window *w, const tn_tensor *x) {
  for (int32_t k = 0; k < w->n; k++) {
    const int64_t in = x->shape[spatial(l, k)], out = tn_ceil_div(in, w->strides[k]),
                  needed = (out - 1) * w->strides[k] + (w->kernel[k] - 1) * w->dilations[k] + 1,
                  pad = needed > in ? needed - in : 0;
    w->pads[k] = pad / 2;
    w->pads[w->n + k] = pad - pad / 2;
  }
}

static tn_status pad_explicit(const tn_lowering *l, window *w) {
  const tn_ints list = tn_low_ints(l, "explicit_paddings");
  if (list.size != 2 * (w->n + 2))
    return tn_low_unsupported(l, "paddings that are not two for each dim");
  for (int32_t k = 0; k < w->n; k++)
    for (int32_t side = 0; side < 2; side++) {
      const int64_t pad = list.data[2 * spatial(l, k) + side];
      if (pad < 0 || pad > INT32_MAX) return tn_low_unsupported(l, "such paddings");
      w->pads[side * w->n + k] = pad;
    }
  return TN_OK;
}

/* Strides, dilations and pads; the kernel's dims are there. */
static tn_status open_window(const tn_lowering *l, const tn_tensor *x, window *w) {
  tn_status s = read_list(l, "strides", w->n, w->strides);
  if (!s) s = read_list(l, "dilations", w->n, w->dilations);
  for (int32_t k = 0; k < w->n && !s; k++)
    if (w->kernel[k] < 1 || w->kernel[k] > INT32_MAX) s = tn_low_unsupported(l, "an empty window");
  memset(w->pads, 0, sizeof w->pads);
  if (s) return s;
  if (lo_says(l, "padding", "EXPLICIT")) return pad_explicit(l, w);
  if (lo_says(l, "padding", "SAME")) pad_same(l, w, x);
  return TN_OK;
}

static void window_attrs(const window *w, tn_attr out[WINDOW_ATTRS]) {
  out[0] = tn_attr_ints("kernel_shape", (tn_ints){w->kernel, w->n});
  out[1] = tn_attr_ints("strides", (tn_ints){w->strides, w->n});
  out[2] = tn_attr_ints("dilations", (tn_ints){w->dilations, w->n});
  out[3] = tn_attr_ints("pads", (tn_ints){w->pads, 2 * w->n});
}

/* ---- convolutions ---- */

/* [space, channels, filters] as [filters, channels, space]. */
static int32_t exchanged(const tn_lowering *l, int32_t w, int32_t n) {
  int32_t perm[TN_MAX_RANK] = {n + 1, n};
  for (int32_t k = 0; k < n; k++) perm[k + 2] = k;
  return tn_low_transpose(l, w, n + 2, perm);
}

static tn_status conv(const tn_call *call, tn_graph *graph, int32_t node, int32_t n) {
  const tn_lowering l = tn_low_open(call, graph, node);
  window w = {.n = n};
  tn_status s = lo_rank(&l, 0, n + 2);
  if (!s) s = lo_rank(&l, 1, n + 2);
  if (s) return s;
  const tn_tensor *x = tn_low_type(&l, 0), *f = tn_low_type(&l, 1);
  for (int32_t k = 0; k < n; k++) w.kernel[k] = f->shape[k];
  s = open_window(&l, x, &w);
  if (s) return s;
  const int64_t channels = x->shape[lo_channels_are_last(&l) ? n + 1 : 1], each = f->shape[n];
  const int32_t in[] = {lo_channels_first(&l, tn_low_in(&l, 0), n + 2),
                        exchanged(&l, tn_low_in(&l, 1), n)};
  tn_attr attrs[WINDOW_ATTRS + 1];
  window_attrs(&w, attrs);
  attrs[4] = tn_attr_int("group", each > 0 && channels % each == 0 ? channels / each : 1);
  return tn_low_done(
      &l, lo_channels_back(&l, tn_low_emit(&l, "Conv", in, 2, attrs, WINDOW_ATTRS + 1), n + 2));
}

tn_status tf_conv_2d(const tn_call *call, tn_graph *graph, int32_t node) {
  return conv(call, graph, node, 2);
}

tn_status tf_conv_3d(const tn_call *call, tn_graph *graph, int32_t node) {
  return conv(call, graph, node, 3);
}

/* Filters [y, x, channels, multiplier]: filter c * multiplier + m reads channel c. */
tn_status tf_depthwise_conv_2d(const tn_call *call, tn_graph *graph, int32_t node) {
  static const int32_t perm[] = {2, 0, 1};
  const tn_lowering l = tn_low_open(call, graph, node);
  tn_status s = lo_rank(&l, 0, 4);
  if (!s) s = lo_rank(&l, 1, 4);
  if (s) return s;
  const int64_t *f = tn_low_type(&l, 1)->shape;
  window w = {.n = 2, .kernel = {f[0], f[1]}};
  s = open_window(&l, tn_low_type(&l, 0), &w);
  int64_t filters;
  if (!s && tn_mul_i64(f[2], f[3], &filters)) s = TN_ERR_OVERFLOW;
  if (s) return s;
  const int64_t flat[] = {f[0], f[1], filters}, full[] = {filters, 1, f[0], f[1]};
  const int32_t weights = tn_low_reshape(
      &l, tn_low_transpose(&l, tn_low_reshape(&l, tn_low_in(&l, 1), 3, flat), 3, perm), 4, full);
  const int32_t in[] = {lo_channels_first(&l, tn_low_in(&l, 0), 4), weights};
  tn_attr attrs[WINDOW_ATTRS + 1];
  window_attrs(&w, attrs);
  attrs[4] = tn_attr_int("group", f[2]);
  return tn_low_done(
      &l, lo_channels_back(&l, tn_low_emit(&l, "Conv", in, 2, attrs, WINDOW_ATTRS + 1), 4));
}

/* ---- transposed convolutions ---- */

/* The gradient of a convolution for its input: inputs are that input's shape, the filters, and what
 * stands for the convolution's output. */
static tn_status transposed(const tn_call *call, tn_graph *graph, int32_t node, int32_t n) {
  const tn_lowering l = tn_low_open(call, graph, node);
  int64_t shape[TN_MAX_RANK], count, output[TN_MAX_RANK];
  tn_status s = lo_rank(&l, 1, n + 2);
  if (!s) s = lo_rank(&l, 2, n + 2);
  if (!s) s = lo_const_ints(&l, 0, shape, TN_MAX_RANK, &count);
  if (s) return s;
  const tn_tensor *f = tn_low_type(&l, 1), *x = tn_low_type(&l, 2);
  const int32_t at = count == n ? 0 : spatial(&l, 0); /* some files have the spatial dims alone */
  window w = {.n = n};
  for (int32_t k = 0; k < n; k++) w.kernel[k] = f->shape[k];
  if (count != n && count != n + 2) return tn_low_unsupported(&l, "an input_sizes of another rank");
  tn_tensor y = *x;
  for (int32_t k = 0; k < n; k++) y.shape[spatial(&l, k)] = shape[at + k];
  s = open_window(&l, &y, &w);
  if (s) return s;
  for (int32_t k = 0; k < n; k++) {
    const int64_t needed =
        (x->shape[spatial(&l, k)] - 1) * w.strides[k] + (w.kernel[k] - 1) * w.dilations[k] + 1;
    output[k] = shape[at + k] - (needed - w.pads[k] - w.pads[n + k]);
    if (output[k] < 0 || output[k] >= tn_max_i64(w.strides[k], w.dilations[k]))
      return tn_low_unsupported(&l, "an output shape that its padding does not give");
  }
  int32_t perm[TN_MAX_RANK] = {n + 1, n}; /* [space, filters, channels] as [C, M, space] */
  for (int32_t k = 0; k < n; k++) perm[k + 2] = k;
  const int32_t in[] = {lo_channels_first(&l, tn_low_in(&l, 2), n + 2),
                        tn_low_transpose(&l, tn_low_in(&l, 1), n + 2, perm)};
  tn_attr attrs[WINDOW_ATTRS + 1];
  window_attrs(&w, attrs);
  attrs[4] = tn_attr_ints("output_padding", (tn_ints){output, n});
  return tn_low_done(
      &l, lo_channels_back(&l, tn_low_emit(&l, "ConvTranspose", in, 2, attrs, WINDOW_ATTRS + 1),
                           n + 2));
}

tn_status tf_conv_2d_transposed(const tn_call *call, tn_graph *graph, int32_t node) {
  return transposed(call, graph, node, 2);
}

tn_status tf_conv_3d_transposed(const tn_call *call, tn_graph *graph, int32_t node) {
  return transposed(call, graph, node, 3);
}

/* ---- pools ---- */

/* ksize and strides, which MaxPoolV2 has as inputs, as attributes. */
tn_status tf_max_pool_v2(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  int64_t size[4], strides[4], n, m;
  tn_status s = lo_const_ints(&l, 1, size, 4, &n);
  if (!s) s = lo_const_ints(&l, 2, strides, 4, &m);
  if (s) return s;
  const tn_attr *format = tn_pattern_attr(tn_low_node(&l), "data_format", TN_ATTR_STR);
  const tn_attr *padding = tn_pattern_attr(tn_low_node(&l), "padding", TN_ATTR_STR);
  tn_attr attrs[4] = {tn_attr_ints("ksize", (tn_ints){size, n}),
                      tn_attr_ints("strides", (tn_ints){strides, m})};
  uint32_t count = 2;
  if (format) attrs[count++] = *format;
  if (padding) attrs[count++] = *padding;
  const int32_t x = tn_low_in(&l, 0);
  return tn_low_done(&l, tn_low_emit(&l, "tf::MaxPool", &x, 1, attrs, count));
}

/* Where the largest number of each window is, as (y * width + x) * channels + channel, in its image
 * or in all. ai.onnx counts ((image * channels + channel) * height + y) * width + x. */
tn_status tf_max_pool_arg(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  window w = {.n = 2};
  tn_status s = lo_rank(&l, 0, 4);
  if (!s) s = read_list(&l, "ksize", 2, w.kernel);
  if (!s) s = open_window(&l, tn_low_type(&l, 0), &w);
  if (s) return s;
  tn_attr attrs[WINDOW_ATTRS];
  window_attrs(&w, attrs);
  const tn_tensor *t = tn_low_type(&l, 0);
  const double channels = (double)t->shape[3], plane = (double)(t->shape[1] * t->shape[2]);
  const uint32_t type = tn_dtype_of_onnx(tn_low_int(&l, "Targmax", tn_onnx_of_dtype(TN_I64)));
  const int32_t x = lo_channels_first(&l, tn_low_in(&l, 0), 4);
  int32_t pooled[2];
  s = tn_low_emit_many(&l, "MaxPool", &x, 1, attrs, WINDOW_ATTRS, 2, pooled);
  if (s) return s;
  const int32_t size = tn_low_number(&l, TN_I64, plane), many = tn_low_number(&l, TN_I64, channels);
  const int32_t outer = tn_low_2(&l, "Div", pooled[1], size);
  int32_t at = tn_low_2(&l, "Add", tn_low_2(&l, "Mul", tn_low_2(&l, "Mod", pooled[1], size), many),
                        tn_low_2(&l, "Mod", outer, many));
  if (tn_low_int(&l, "include_batch_in_index", 0))
    at = tn_low_2(&l, "Add", at,
                  tn_low_2(&l, "Mul", tn_low_2(&l, "Div", outer, many),
                           tn_low_number(&l, TN_I64, plane * channels)));
  const int32_t out[] = {lo_channels_back(&l, pooled[0], 4),
                         tn_low_cast(&l, lo_channels_back(&l, at, 4), type)};
  return tn_low_done_many(&l, out, call->n_outputs);
}

static tn_status pool(const tn_call *call, tn_graph *graph, int32_t node, const char *op,
                      int32_t n) {
  const tn_lowering l = tn_low_open(call, graph, node);
  window w = {.n = n};
  tn_status s = lo_rank(&l, 0, n + 2);
  if (!s) s = read_list(&l, "ksize", n, w.kernel);
  if (!s) s = open_window(&l, tn_low_type(&l, 0), &w);
  if (s) return s;
  tn_attr attrs[WINDOW_ATTRS];
  window_attrs(&w, attrs);
  const int32_t x = lo_channels_first(&l, tn_low_in(&l, 0), n + 2);
  return tn_low_done(&l,
                     lo_channels_back(&l, tn_low_emit(&l, op, &x, 1, attrs, WINDOW_ATTRS), n + 2));
}

tn_status tf_max_pool(const tn_call *call, tn_graph *graph, int32_t node) {
  return pool(call, graph, node, "MaxPool", 2);
}

tn_status tf_avg_pool(const tn_call *call, tn_graph *graph, int32_t node) {
  return pool(call, graph, node, "AveragePool", 2);
}

tn_status tf_max_pool_3d(const tn_call *call, tn_graph *graph, int32_t node) {
  return pool(call, graph, node, "MaxPool", 3);
}

tn_status tf_avg_pool_3d(const tn_call *call, tn_graph *graph, int32_t node) {
  return pool(call, graph, node, "AveragePool", 3);
}

/* ---- normalisation, along channels ---- */

/* y, and, of a node that is still training, the statistics of the batch. */
tn_status tf_fused_batch_norm(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int32_t rank = x->rank;
  if (rank < 3) return tn_low_unsupported(&l, "fewer than 3 dims");
  if (call->n_outputs > 1) return tn_low_unsupported(&l, "outputs that serve training");
  const double eps = tn_low_float(&l, "epsilon", 1e-4);
  const int32_t first = lo_channels_first(&l, tn_low_in(&l, 0), rank);
  int32_t mean = tn_low_in(&l, 3), variance = tn_low_in(&l, 4);
  if (tn_low_int(&l, "is_training", 1)) {
    int64_t axes[TN_MAX_RANK] = {0}, n = 1;
    for (int32_t k = 2; k < rank; k++) axes[n++] = k;
    const int32_t centre = lo_reduce(&l, "ReduceMean", first, axes, n, 1);
    const int32_t off = tn_low_2(&l, "Sub", first, centre);
    mean = lo_reduce(&l, "ReduceMean", first, axes, n, 0);
    variance = lo_reduce(&l, "ReduceMean", tn_low_2(&l, "Mul", off, off), axes, n, 0);
  }
  const int32_t in[] = {first, tn_low_in(&l, 1), tn_low_in(&l, 2), mean, variance};
  const tn_attr a = tn_attr_float("epsilon", eps);
  return tn_low_done(
      &l, lo_channels_back(&l, tn_low_emit(&l, "BatchNormalization", in, 5, &a, 1), rank));
}

tn_status tf_bias_add(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0), *b = tn_low_type(&l, 1);
  int32_t bias = tn_low_in(&l, 1);
  if (!lo_channels_are_last(&l) && x->rank > 2) {
    int64_t shape[TN_MAX_RANK] = {0};
    for (int32_t k = 0; k < x->rank - 1; k++) shape[k] = k ? 1 : tn_elements(b);
    bias = tn_low_reshape(&l, bias, x->rank - 1, shape);
  }
  return tn_low_done(&l, tn_low_2(&l, "Add", tn_low_in(&l, 0), bias));
}

tn_status tf_lrn(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_attr attrs[] = {tn_attr_int("radius", tn_low_int(&l, "depth_radius", 5)),
                           tn_attr_float("bias", tn_low_float(&l, "bias", 1)),
                           tn_attr_float("alpha", tn_low_float(&l, "alpha", 1)),
                           tn_attr_float("beta", tn_low_float(&l, "beta", 0.5))};
  const int32_t x = tn_low_in(&l, 0);
  return tn_low_done(&l, tn_low_emit(&l, "tflite::LOCAL_RESPONSE_NORMALIZATION", &x, 1, attrs, 4));
}

static tn_status blocks(const tn_call *call, tn_graph *graph, int32_t node, const char *op) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_status s = lo_rank(&l, 0, 4);
  if (s) return s;
  const int32_t x = lo_channels_first(&l, tn_low_in(&l, 0), 4);
  return tn_low_done(
      &l, lo_channels_back(
              &l, tn_low_1_int(&l, op, x, "blocksize", tn_low_int(&l, "block_size", 1)), 4));
}

tn_status tf_depth_to_space(const tn_call *call, tn_graph *graph, int32_t node) {
  return blocks(call, graph, node, "DepthToSpace");
}

tn_status tf_space_to_depth(const tn_call *call, tn_graph *graph, int32_t node) {
  return blocks(call, graph, node, "SpaceToDepth");
}

/* The oldest form of it: (x - mean) / deviation, times gamma if the node says so, plus beta. */
tn_status tf_batch_norm_global(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = tn_low_type(&l, 0)->dtype;
  const int32_t eps = tn_low_number(&l, dtype, tn_low_float(&l, "variance_epsilon", 0));
  const int32_t deviation = tn_low_1(&l, "Sqrt", tn_low_2(&l, "Add", tn_low_in(&l, 2), eps));
  int32_t y =
      tn_low_2(&l, "Div", tn_low_2(&l, "Sub", tn_low_in(&l, 0), tn_low_in(&l, 1)), deviation);
  if (tn_low_int(&l, "scale_after_normalization", 0)) y = tn_low_2(&l, "Mul", y, tn_low_in(&l, 4));
  return tn_low_done(&l, tn_low_2(&l, "Add", y, tn_low_in(&l, 3)));
}
