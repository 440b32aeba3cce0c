/* Layers that compute element by element, products of matrices, and reductions. */
#include <math.h>

#include "caffe.gen.h"
#include "lower.h"

/* ---- of one value ---- */

tn_status caffe_relu(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const int32_t x = tn_low_in(&c, 0);
  const tn_attr alpha = tn_attr_float("alpha", tn_low_float(&c, "negative_slope", 0));
  return caf_done(
      &c, alpha.f != 0 ? tn_low_emit(&c, "LeakyRelu", &x, 1, &alpha, 1) : tn_low_1(&c, "Relu", x));
}

tn_status caffe_relu6(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  return caf_done(&c, tn_low_clip(&c, tn_low_in(&c, 0), TN_F32, 0, 6));
}

tn_status caffe_elu(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const int32_t x = tn_low_in(&c, 0);
  const tn_attr alpha = tn_attr_float("alpha", tn_low_float(&c, "alpha", 1));
  return caf_done(&c, tn_low_emit(&c, "Elu", &x, 1, &alpha, 1));
}

static int32_t shifted(const tn_lowering *c) {
  return caf_linear(c, tn_low_in(c, 0), tn_low_float(c, "scale", 1), tn_low_float(c, "shift", 0));
}

tn_status caffe_power(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const double power = tn_low_float(&c, "power", 1);
  const int32_t x = shifted(&c);
  return caf_done(&c, power != 1 ? tn_low_2(&c, "Pow", x, tn_low_number(&c, TN_F32, power)) : x);
}

tn_status caffe_exp(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const double base = tn_low_float(&c, "base", -1);
  if (base != -1 && !(base > 0)) return caf_invalid(&c, "a base that is not above 0");
  return caf_done(&c,
                  tn_low_1(&c, "Exp", caf_linear(&c, shifted(&c), base == -1 ? 1 : log(base), 0)));
}

tn_status caffe_log(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const double base = tn_low_float(&c, "base", -1);
  if (base != -1 && !(base > 0 && base != 1))
    return caf_invalid(&c, "a base that no logarithm has");
  return caf_done(
      &c, caf_linear(&c, tn_low_1(&c, "Log", shifted(&c)), base == -1 ? 1 : 1 / log(base), 0));
}

tn_status caffe_threshold(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const int32_t above = tn_low_2(&c, "Greater", tn_low_in(&c, 0),
                                 tn_low_number(&c, TN_F32, tn_low_float(&c, "threshold", 0)));
  return caf_done(&c, tn_low_1_int(&c, "Cast", above, "to", tn_onnx_of_dtype(TN_F32)));
}

/* ---- with one value for each channel ---- */

/* Value k, of bottom or blob, with dims of 1 behind, so that it begins at the axis of bottom 0. */
static tn_status spread(const tn_lowering *c, int32_t value, const tn_tensor *t, bool learned,
                        int32_t *out) {
  const tn_tensor *x = tn_low_type(c, 0);
  int64_t shape[TN_MAX_RANK], num_axes = tn_low_int(c, "num_axes", 1);
  int32_t axis = 0;
  if (!t) return caf_invalid(c, "it has not as many blobs as it needs");
  tn_status s = caf_axis(c, tn_low_int(c, "axis", 1), x->rank, &axis);
  if (s) return s;
  if (!learned) num_axes = t->rank;
  if (num_axes < 0) num_axes = x->rank - axis;
  if (num_axes > x->rank - axis) return caf_invalid(c, "more axes than its bottom has");
  int64_t n = 1;
  for (int32_t k = 0; k < x->rank; k++) {
    const bool is_one = k < axis || k >= axis + num_axes;
    shape[k] = is_one ? 1 : x->shape[k];
    if (tn_mul_i64(n, shape[k], &n)) return caf_invalid(c, "too many elements");
  }
  if (n != tn_elements(t)) return caf_invalid(c, "factors that do not fit its bottom");
  *out = tn_low_reshape(c, value, x->rank, shape);
  return TN_OK;
}

static tn_status scaled(const tn_call *call, tn_graph *graph, int32_t node, bool is_bias) {
  const tn_lowering c = tn_low_open(call, graph, node);
  if (caf_is_random(&c)) return caf_with_blobs(&c);
  const bool learned = caf_bottoms(&c) == 1;
  int32_t factor = TN_NO_ID, bias = TN_NO_ID;
  tn_status s = spread(&c, tn_low_in(&c, 1), tn_low_type(&c, 1), learned, &factor);
  if (!s && !is_bias && tn_low_int(&c, "bias_term", 0))
    s = spread(&c, tn_low_in(&c, 2), tn_low_type(&c, 2), learned, &bias);
  if (s) return s;
  const int32_t y = tn_low_2(&c, is_bias ? "Add" : "Mul", tn_low_in(&c, 0), factor);
  return caf_done(&c, bias == TN_NO_ID ? y : tn_low_2(&c, "Add", y, bias));
}

tn_status caffe_scale(const tn_call *call, tn_graph *graph, int32_t node) {
  return scaled(call, graph, node, false);
}
tn_status caffe_bias(const tn_call *call, tn_graph *graph, int32_t node) {
  return scaled(call, graph, node, true);
}

/* A blob of one value for each channel, or one for all. */
static int32_t by_channel(const tn_lowering *c, uint32_t blob) {
  const tn_tensor *x = tn_low_type(c, 0), *t = caf_blob_type(c, blob);
  int64_t shape[TN_MAX_RANK];
  const int64_t n = t ? tn_elements(t) : -1;
  if (x->rank < 2 || (n != 1 && n != x->shape[1]))
    return caf_invalid(c, "a blob that has not one element for each channel");
  for (int32_t k = 0; k < x->rank - 1; k++) shape[k] = k ? 1 : n;
  return tn_low_reshape(c, caf_blob(c, blob), x->rank - 1, shape);
}

tn_status caffe_prelu(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  if (caf_is_random(&c)) return caf_with_blobs(&c);
  return caf_done(&c, tn_low_2(&c, "PRelu", tn_low_in(&c, 0), by_channel(&c, 0)));
}

/* Blobs: sums of means and of variances, and what they are to be divided by; 0: they are zero. */
tn_status caffe_batch_norm(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  if (caf_is_random(&c)) return caf_with_blobs(&c);
  const tn_tensor *sum = caf_blob_type(&c, 2);
  float weight = 0;
  if (!tn_low_int(&c, "use_global_stats", 1))
    return tn_low_unsupported(&c, "use_global_stats: false");
  if (!sum || tn_elements(sum) != 1 || sum->dtype != TN_F32)
    return caf_invalid(&c, "its third blob is not one number");
  if (!sum->data) return TN_NEEDS_DATA;
  memcpy(&weight, sum->data, sizeof weight);
  const int32_t factor = tn_low_number(&c, TN_F32, weight == 0 ? 0 : 1 / (double)weight);
  const int32_t mean = tn_low_2(&c, "Mul", by_channel(&c, 0), factor),
                variance = tn_low_2(&c, "Mul", by_channel(&c, 1), factor),
                eps = tn_low_number(&c, TN_F32, tn_low_float(&c, "eps", 1e-5));
  const int32_t deviation = tn_low_1(&c, "Sqrt", tn_low_2(&c, "Add", variance, eps));
  return caf_done(&c, tn_low_2(&c, "Div", tn_low_2(&c, "Sub", tn_low_in(&c, 0), mean), deviation));
}

/* ---- of several values ---- */

tn_status caffe_eltwise(const tn_call *call, tn_graph *graph, int32_t node) {
  static const char *const ops[] = {"Mul", "Add", "Max"};
  const tn_lowering c = tn_low_open(call, graph, node);
  const int64_t how = tn_low_int(&c, "operation", 1);
  const tn_floats coeffs = tn_low_floats(&c, "coeff");
  if (how < 0 || how > 2)
    return tn_low_unsupported(&c, "an operation other than PROD, SUM and MAX");
  if (coeffs.size && (how != 1 || coeffs.size != caf_bottoms(&c)))
    return caf_invalid(&c, "not one coeff for each bottom of a SUM");
  int32_t y = TN_NO_ID;
  for (uint32_t k = 0; k < caf_bottoms(&c); k++) {
    const tn_tensor *a = tn_low_type(&c, 0), *b = tn_low_type(&c, k);
    bool same = a->rank == b->rank;
    for (int32_t d = 0; same && d < a->rank; d++) same = a->shape[d] == b->shape[d];
    if (!same) return caf_invalid(&c, "bottoms of several shapes");
    const int32_t x = caf_linear(&c, tn_low_in(&c, k), coeffs.size ? coeffs.data[k] : 1, 0);
    y = k ? tn_low_2(&c, ops[how], y, x) : x;
  }
  return caf_done(&c, y);
}

/* ---- products ---- */

tn_status caffe_inner_product(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  if (caf_is_random(&c)) return caf_with_blobs(&c);
  const tn_tensor *x = tn_low_type(&c, 0), *w = caf_blob_type(&c, 0);
  const int64_t units = tn_low_int(&c, "num_output", 0);
  const bool transposed = tn_low_int(&c, "transpose", 0);
  int32_t axis = 0;
  tn_status s = caf_axis(&c, tn_low_int(&c, "axis", 1), x->rank, &axis);
  if (s) return s;
  int64_t rows = 1, depth = 1, shape[TN_MAX_RANK] = {0}, count;
  for (int32_t k = 0; k < x->rank; k++) {
    int64_t *n = k < axis ? &rows : &depth;
    if (tn_mul_i64(*n, x->shape[k], n)) return caf_invalid(&c, "too many elements");
    if (k < axis) shape[k] = x->shape[k];
  }
  if (axis >= TN_MAX_RANK) return tn_low_unsupported(&c, "so many dims");
  shape[axis] = units;
  if (units < 1 || tn_mul_i64(units, depth, &count) || !w || tn_elements(w) != count)
    return caf_invalid(&c, "its weights do not fit its bottom and num_output");
  const int64_t flat[] = {rows, depth}, straight[] = {units, depth}, swapped[] = {depth, units};
  const bool biased = caf_blob(&c, 1) >= 0 && tn_low_int(&c, "bias_term", 1);
  const int32_t inputs[] = {tn_low_reshape(&c, tn_low_in(&c, 0), 2, flat),
                            tn_low_reshape(&c, caf_blob(&c, 0), 2, transposed ? swapped : straight),
                            biased ? tn_low_reshape(&c, caf_blob(&c, 1), 1, &units) : TN_NO_ID};
  const tn_attr trans = tn_attr_int("transB", !transposed);
  return caf_done(
      &c, tn_low_reshape(&c, tn_low_emit(&c, "Gemm", inputs, 3, &trans, 1), axis + 1, shape));
}

tn_status caffe_embed(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  if (caf_is_random(&c)) return caf_with_blobs(&c);
  const tn_tensor *w = caf_blob_type(&c, 0);
  const int64_t shape[] = {tn_low_int(&c, "input_dim", 0), tn_low_int(&c, "num_output", 0)};
  int64_t count;
  if (shape[0] < 1 || shape[1] < 1 || tn_mul_i64(shape[0], shape[1], &count) || !w ||
      tn_elements(w) != count)
    return caf_invalid(&c, "its weights do not fit input_dim and num_output");
  const int32_t index = tn_low_1_int(&c, "Cast", tn_low_in(&c, 0), "to", tn_onnx_of_dtype(TN_I64));
  const int32_t y = tn_low_2(&c, "Gather", tn_low_reshape(&c, caf_blob(&c, 0), 2, shape), index);
  if (caf_blob(&c, 1) < 0 || !tn_low_int(&c, "bias_term", 1)) return caf_done(&c, y);
  return caf_done(&c, tn_low_2(&c, "Add", y, tn_low_reshape(&c, caf_blob(&c, 1), 1, &shape[1])));
}

/* ---- reductions ---- */

static int32_t reduce(const tn_lowering *c, const char *op, int32_t x, int64_t from, int64_t to,
                      int64_t keeps) {
  int64_t axes[TN_MAX_RANK], n = 0;
  for (int64_t k = from; k < to; k++) axes[n++] = k;
  if (!n) return x;
  const int32_t inputs[] = {x, tn_emit_ints(c->call, c->graph, axes, n)};
  const tn_attr keep = tn_attr_int("keepdims", keeps);
  return tn_low_emit(c, op, inputs, 2, &keep, 1);
}

tn_status caffe_reduction(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const int64_t how = tn_low_int(&c, "operation", 1);
  const int32_t rank = tn_low_type(&c, 0)->rank;
  int32_t axis = 0, x = tn_low_in(&c, 0);
  tn_status s = caf_axis(&c, tn_low_int(&c, "axis", 0), rank, &axis);
  if (s) return s;
  if (how < 1 || how > 4) return tn_low_unsupported(&c, "an operation that is not known");
  if (how == 2) x = tn_low_1(&c, "Abs", x);
  if (how == 3) x = tn_low_2(&c, "Mul", x, x);
  const int32_t y = reduce(&c, how == 4 ? "ReduceMean" : "ReduceSum", x, axis, rank, 0);
  return caf_done(&c, caf_linear(&c, y, tn_low_float(&c, "coeff", 1), 0));
}

tn_status caffe_softmax(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  int32_t axis = 0;
  tn_status s = caf_axis(&c, tn_low_int(&c, "axis", 1), tn_low_type(&c, 0)->rank - 1, &axis);
  return s ? s : caf_done(&c, tn_low_1_int(&c, "Softmax", tn_low_in(&c, 0), "axis", axis));
}

tn_status caffe_arg_max(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&c, 0);
  int32_t axis = 0;
  if (tn_low_int(&c, "top_k", 1) != 1) return tn_low_unsupported(&c, "top_k other than 1");
  if (!caf_has(&c, "axis")) return tn_low_unsupported(&c, "no axis");
  tn_status s = caf_axis(&c, tn_low_int(&c, "axis", 1), x->rank - 1, &axis);
  if (s) return s;
  if (tn_low_int(&c, "out_max_val", 0))
    return caf_done(&c, reduce(&c, "ReduceMax", tn_low_in(&c, 0), axis, axis + 1, 1));
  const int32_t y = tn_low_1_int(&c, "ArgMax", tn_low_in(&c, 0), "axis", axis);
  return caf_done(&c, tn_low_1_int(&c, "Cast", y, "to", tn_onnx_of_dtype(TN_F32)));
}

/* (x - mean) / (deviation + eps) */
tn_status caffe_mvn(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const int64_t from = tn_low_int(&c, "across_channels", 0) ? 1 : 2;
  if (tn_low_type(&c, 0)->rank != 4) return caf_invalid(&c, "a bottom that has not 4 dims");
  const int32_t x = tn_low_in(&c, 0);
  const int32_t y = tn_low_2(&c, "Sub", x, reduce(&c, "ReduceMean", x, from, 4, 1));
  if (!tn_low_int(&c, "normalize_variance", 1)) return caf_done(&c, y);
  const int32_t variance = reduce(&c, "ReduceMean", tn_low_2(&c, "Mul", y, y), from, 4, 1);
  const int32_t deviation =
      caf_linear(&c, tn_low_1(&c, "Sqrt", variance), 1, tn_low_float(&c, "eps", 1e-9));
  return caf_done(&c, tn_low_2(&c, "Div", y, deviation));
}

/* SSD: x * scale / sqrt(sum of squares + eps) */
tn_status caffe_normalize(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  if (caf_is_random(&c)) return caf_with_blobs(&c);
  const int32_t rank = tn_low_type(&c, 0)->rank, x = tn_low_in(&c, 0);
  if (rank != 4) return caf_invalid(&c, "a bottom that has not 4 dims");
  const int64_t to = tn_low_int(&c, "across_spatial", 1) ? rank : 2;
  const int32_t sum = reduce(&c, "ReduceSum", tn_low_2(&c, "Mul", x, x), 1, to, 1);
  const int32_t norm = tn_low_1(&c, "Sqrt", caf_linear(&c, sum, 1, tn_low_float(&c, "eps", 1e-10)));
  return caf_done(&c, tn_low_2(&c, "Mul", tn_low_2(&c, "Div", x, norm), by_channel(&c, 0)));
}
