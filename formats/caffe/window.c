/* Convolutions, pools and LRN. */
#include "caffe.gen.h"
#include "lower.h"

typedef struct window {
  int32_t n;
  int64_t kernel[TN_MAX_RANK], strides[TN_MAX_RANK], dilations[TN_MAX_RANK], pads[2 * TN_MAX_RANK];
} window;

/* A field that is given once, once for each dim, or as <short>_h and <short>_w. */
static tn_status per_dim(const tn_lowering *c, const char *name, const char *h, const char *w,
                         int32_t n, int64_t missing, int64_t least, int64_t *out) {
  const tn_ints list = tn_low_ints(c, name);
  const int64_t one = list.size ? list.data[0] : tn_low_int(c, name, missing);
  if (list.size > 1 && list.size != n)
    return caf_invalid(c, "a list that is not as long as there are dims");
  for (int32_t k = 0; k < n; k++) out[k] = list.size > 1 ? list.data[k] : one;
  if (h && n == 2 && (caf_has(c, h) || caf_has(c, w))) {
    out[0] = tn_low_int(c, h, out[0]);
    out[1] = tn_low_int(c, w, out[1]);
  }
  for (int32_t k = 0; k < n; k++)
    if (out[k] < least || out[k] > INT32_MAX) return caf_invalid(c, "a window of impossible size");
  return TN_OK;
}

tn_status caf_kernel(const tn_lowering *c, int32_t n, int64_t *out) {
  return per_dim(c, "kernel_size", "kernel_h", "kernel_w", n, 0, 1, out);
}

static tn_status open_window(const tn_lowering *c, window *w) {
  tn_status s = caf_kernel(c, w->n, w->kernel);
  if (!s) s = per_dim(c, "stride", "stride_h", "stride_w", w->n, 1, 1, w->strides);
  if (!s) s = per_dim(c, "dilation", NULL, NULL, w->n, 1, 1, w->dilations);
  if (!s) s = per_dim(c, "pad", "pad_h", "pad_w", w->n, 0, 0, w->pads);
  for (int32_t k = 0; k < w->n; k++) w->pads[w->n + k] = w->pads[k];
  return s;
}

static void window_attrs(const window *w, tn_attr *out) {
  union {
    const int64_t *in;
    int64_t *out;
  } lists[] = {{w->kernel}, {w->strides}, {w->pads}, {w->dilations}};
  static const char *const names[] = {"kernel_shape", "strides", "pads", "dilations"};
  for (int k = 0; k < 4; k++)
    out[k] = tn_attr_ints(names[k], (tn_ints){lists[k].out, k == 2 ? 2 * w->n : w->n});
}

/* ---- convolutions ---- */

int64_t caf_group(const tn_lowering *c) {
  const int64_t group = tn_low_int(c, "group", 1);
  const bool is_depthwise = strstr(tn_low_node(c)->op, "epthwise") != NULL;
  return is_depthwise && group == 1 ? tn_low_type(c, 0)->shape[1] : group;
}

static tn_status conv(const tn_call *call, tn_graph *graph, int32_t node, const char *op) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&c, 0), *weights = caf_blob_type(&c, 0);
  window w = {.n = x->rank - 2};
  int32_t axis = 0;
  if (caf_is_random(&c)) return caf_with_blobs(&c);
  if (caf_bottoms(&c) != 1) return tn_low_unsupported(&c, "a convolution of several bottoms");
  if (x->rank < 3 || !weights || weights->rank != x->rank)
    return tn_low_unsupported(&c, "a convolution whose weights have another rank than its bottom");
  tn_status s = caf_axis(&c, tn_low_int(&c, "axis", 1), x->rank, &axis);
  if (!s && axis != 1) s = tn_low_unsupported(&c, "an axis of channels other than 1");
  if (!s) s = open_window(&c, &w);
  if (s) return s;
  for (int32_t k = 0; k < w.n; k++)
    if (weights->shape[2 + k] != w.kernel[k])
      return caf_invalid(&c, "its weights are not of the shape that its kernel_size says");
  const int64_t group = caf_group(&c), filters = tn_low_int(&c, "num_output", 0);
  const bool is_transposed = *op == 'C' && op[4];
  const int64_t made = is_transposed ? weights->shape[1] : weights->shape[0];
  if (group < 1 || filters < 1 || made != filters / (is_transposed ? group : 1))
    return caf_invalid(&c, "its weights are not of as many filters as num_output says");
  tn_attr attrs[5];
  window_attrs(&w, attrs);
  attrs[4] = tn_attr_int("group", group);
  const bool biased = caf_blob(&c, 1) >= 0 && tn_low_int(&c, "bias_term", 1);
  const int32_t inputs[] = {tn_low_in(&c, 0), caf_blob(&c, 0),
                            biased ? tn_low_reshape(&c, caf_blob(&c, 1), 1, &filters) : TN_NO_ID};
  return caf_done(&c, tn_low_emit(&c, op, inputs, 3, attrs, 5));
}

tn_status caffe_convolution(const tn_call *call, tn_graph *graph, int32_t node) {
  return conv(call, graph, node, "Conv");
}
tn_status caffe_deconvolution(const tn_call *call, tn_graph *graph, int32_t node) {
  return conv(call, graph, node, "ConvTranspose");
}

/* ---- pools ---- */

/* Caffe rounds the number of windows up, and drops a last one that begins behind the elements and
 * the padding before them. So pads behind are what the windows need. */
static tn_status pool_pads(const tn_lowering *c, const tn_tensor *x, window *w) {
  const bool floors = tn_low_int(c, "round_mode", 0), padded = w->pads[0] || w->pads[1];
  for (int32_t k = 0; k < 2; k++) {
    const int64_t size = x->shape[2 + k], pad = w->pads[k], stride = w->strides[k];
    const int64_t room = size + 2 * pad - w->kernel[k];
    if (room < 0 && !(room > -stride && !floors))
      return caf_invalid(c, "a window that is larger than its bottom");
    if (pad >= w->kernel[k]) return caf_invalid(c, "padding as large as the window");
    int64_t n = room < 0 ? 1 : (room + (floors ? 0 : stride - 1)) / stride + 1;
    if (padded && (n - 1) * stride >= size + pad) n--;
    if ((n - 1) * stride >= size + pad)
      return tn_low_unsupported(c, "a window that stands outside of its bottom");
    const int64_t behind = (n - 1) * stride + w->kernel[k] - size - pad;
    w->pads[2 + k] = behind > 0 ? behind : 0;
  }
  return TN_OK;
}

/* Averages count the padding, but not what stands behind it. */
static int32_t average(const tn_lowering *c, window *w, int32_t x) {
  int64_t pads[8] = {0};
  bool any = false;
  for (int32_t k = 0; k < 2; k++) {
    const int64_t pad = w->pads[k], behind = w->pads[2 + k];
    pads[2 + k] = pad;
    pads[6 + k] = behind < pad ? behind : pad;
    any |= pads[2 + k] || pads[6 + k];
    w->pads[k] = 0;
    w->pads[2 + k] = behind - pads[6 + k];
  }
  tn_attr attrs[4];
  window_attrs(w, attrs);
  if (any) x = tn_low_2(c, "Pad", x, tn_emit_ints(c->call, c->graph, pads, 8));
  return tn_low_emit(c, "AveragePool", &x, 1, attrs, 3);
}

tn_status caffe_pooling(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&c, 0);
  const int64_t how = tn_low_int(&c, "pool", 0);
  window w = {.n = 2};
  if (x->rank != 4) return caf_invalid(&c, "a pool of a bottom that has not 4 dims");
  if (how != 0 && how != 1) return tn_low_unsupported(&c, "pool: STOCHASTIC");
  if (tn_low_node(&c)->n_outputs > 1) return tn_low_unsupported(&c, "a second top, of places");
  if (tn_low_int(&c, "global_pooling", 0))
    return caf_done(&c,
                    tn_low_1(&c, how ? "GlobalAveragePool" : "GlobalMaxPool", tn_low_in(&c, 0)));
  tn_status s = open_window(&c, &w);
  if (!s) s = pool_pads(&c, x, &w);
  if (s) return s;
  if (how) return caf_done(&c, average(&c, &w, tn_low_in(&c, 0)));
  tn_attr attrs[4];
  const int32_t in = tn_low_in(&c, 0);
  window_attrs(&w, attrs);
  return caf_done(&c, tn_low_emit(&c, "MaxPool", &in, 1, attrs, 3));
}

/* ---- local response ---- */

/* x / (1 + alpha * mean of the squares around)^beta */
static int32_t lrn_within(const tn_lowering *c, int64_t size) {
  const int64_t half = (size - 1) / 2;
  window w = {.n = 2, .kernel = {size, size}, .strides = {1, 1}, .pads = {half, half, half, half}};
  const int32_t x = tn_low_in(c, 0);
  const int32_t mean = average(c, &w, tn_low_2(c, "Mul", x, x));
  const int32_t base = caf_linear(c, mean, tn_low_float(c, "alpha", 1), 1);
  return tn_low_2(
      c, "Div", x,
      tn_low_2(c, "Pow", base, tn_low_number(c, TN_F32, tn_low_float(c, "beta", 0.75))));
}

tn_status caffe_lrn(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const int64_t size = tn_low_int(&c, "local_size", 5);
  if (tn_low_type(&c, 0)->rank != 4) return caf_invalid(&c, "a bottom that has not 4 dims");
  if (size < 1 || size % 2 == 0 || size > INT32_MAX)
    return caf_invalid(&c, "a local_size that is not odd");
  if (tn_low_int(&c, "norm_region", 0)) return caf_done(&c, lrn_within(&c, size));
  const tn_attr attrs[] = {tn_attr_int("size", size),
                           tn_attr_float("alpha", tn_low_float(&c, "alpha", 1)),
                           tn_attr_float("beta", tn_low_float(&c, "beta", 0.75)),
                           tn_attr_float("bias", tn_low_float(&c, "k", 1))};
  const int32_t x = tn_low_in(&c, 0);
  return caf_done(&c, tn_low_emit(&c, "LRN", &x, 1, attrs, 4));
}
