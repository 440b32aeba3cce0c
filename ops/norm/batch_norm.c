/* BatchNormalization: older forms, inference, reference, and folding into the convolution before
 * it. */
#include <math.h>
#include <string.h>

#include "base/fetch.h"
#include "base/infer.h"
#include "base/lower.h"
#include "norm.gen.h"

tn_status batch_normalization_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  if (x->rank < 1)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "X is a scalar; it needs [N, C, ...]");
  int64_t channels = x->rank > 1 ? x->shape[1] : 1;
  for (uint32_t k = 1; k < 5; k++)
    if (tn_tensor_elements(call->inputs[k]) != channels)
      return call->host->fail(call->ctx, TN_ERR_SHAPE,
                              "input %u needs one value per channel (%lld)", k,
                              (long long)channels);
  bool is_training = ((const tn_batch_normalization_attrs *)call->attrs)->training_mode != 0;
  if (!is_training && (tn_has_output(call, 1) || tn_has_output(call, 2)))
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "the running statistics are given with training_mode=1 only");
  tn_infer_shape(call, 1, call->inputs[3]->dtype, 1, &channels);
  tn_infer_shape(call, 2, call->inputs[3]->dtype, 1, &channels);
  return tn_infer_like(call, 0, 0);
}

static tn_status lower(const tn_call *call, tn_graph *graph, int32_t node, double epsilon,
                       double momentum, int64_t training) {
  int32_t inputs[5];
  for (uint32_t k = 0; k < 5; k++) inputs[k] = tn_node_input(call, graph, node, k);
  tn_attr attrs[3] = {tn_attr_float("epsilon", epsilon), tn_attr_float("momentum", momentum),
                      tn_attr_int("training_mode", training)};
  return tn_lower_as(call, graph, node, "BatchNormalization", inputs, 5, attrs, 3);
}

tn_status batch_normalization_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_batch_normalization_v14_attrs *a = call->attrs;
  return lower(call, graph, node, a->epsilon, a->momentum, a->training_mode);
}

static tn_status lower_inference(const tn_call *call, tn_graph *graph, int32_t node, double epsilon,
                                 double momentum, int64_t spatial) {
  for (uint32_t k = 1; k < call->n_outputs; k++)
    if (call->outputs[k])
      return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                              "not supported: training in operator sets before 14");
  if (!spatial) return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "not supported: spatial=0");
  return lower(call, graph, node, epsilon, momentum, 0);
}

tn_status batch_normalization_old_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_batch_normalization_v7_attrs *a = call->attrs;
  return lower_inference(call, graph, node, a->epsilon, a->momentum, a->spatial);
}

tn_status batch_normalization_v1_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_batch_normalization_v1_attrs *a = call->attrs;
  return lower_inference(call, graph, node, a->epsilon, a->momentum, a->spatial);
}

/* ---- reference ---- */

static double at(const tn_tensor *t, int64_t k) { return tn_load_f64(t->dtype, t->data, k); }

/* Mean and (population) variance of a channel over the batch. */
static void batch_statistics(const tn_tensor *x, int64_t c, int64_t channels, int64_t plane,
                             double *mean, double *var) {
  int64_t n = x->shape[0] * plane;
  *mean = *var = 0;
  for (int64_t k = 0; k < n; k++)
    *mean += at(x, (k / plane * channels + c) * plane + k % plane) / (double)n;
  for (int64_t k = 0; k < n; k++) {
    double d = at(x, (k / plane * channels + c) * plane + k % plane) - *mean;
    *var += d * d / (double)n;
  }
}

tn_status batch_normalization_reference(const tn_call *call) {
  const tn_batch_normalization_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  int64_t channels = x->rank > 1 ? x->shape[1] : 1, total = tn_tensor_elements(x);
  int64_t plane = channels && x->shape[0] ? total / channels / x->shape[0] : 0;
  for (int64_t c = 0; c < channels; c++) {
    double mean = at(call->inputs[3], c), var = at(call->inputs[4], c);
    if (a->training_mode) {
      double old_mean = mean, old_var = var;
      batch_statistics(x, c, channels, plane, &mean, &var);
      if (tn_has_output(call, 1))
        tn_store_f64(call->outputs[1]->dtype, call->outputs[1]->data, c,
                     old_mean * a->momentum + mean * (1 - a->momentum));
      if (tn_has_output(call, 2))
        tn_store_f64(call->outputs[2]->dtype, call->outputs[2]->data, c,
                     old_var * a->momentum + var * (1 - a->momentum));
    }
    for (int64_t k = 0; k < x->shape[0] * plane; k++) {
      int64_t i = (k / plane * channels + c) * plane + k % plane;
      double v = (at(x, i) - mean) / sqrt(var + a->epsilon) * at(call->inputs[1], c) +
                 at(call->inputs[2], c);
      tn_store_f64(x->dtype, call->outputs[0]->data, i, v);
    }
  }
  return TN_OK;
}

/* ---- the rewrite: Conv with constant weights, then BatchNormalization with constants ---- */

typedef struct fold {
  const tn_graph_api *api;
  const tn_node *conv;
  const tn_tensor *w, *b, *scale, *shift, *mean, *var; /* b: NULL if the convolution has no bias */
} fold;

static const tn_tensor *const_f32(const fold *f, const tn_graph *g, int32_t value) {
  const tn_tensor *t = value < 0 ? NULL : f->api->value_type(g, value);
  return t && t->data && t->dtype == TN_F32 ? t : NULL;
}

/* True if everything that is needed is constant and the convolution's output goes nowhere else. */
static bool can_fold(const tn_call *call, tn_graph *g, const tn_node *bn, fold *f) {
  int32_t x = bn->inputs[0], producer = f->api->value_producer(g, x);
  f->conv = producer < 0 ? NULL : f->api->node(g, producer);
  if (!f->conv || strcmp(f->conv->op, "Conv") || *f->conv->domain || f->conv->n_inputs < 2)
    return false;
  if (f->api->value_n_users(g, x) != 1 || f->api->value_flags(g, x) & TN_VALUE_OUTPUT) return false;
  if (((const tn_batch_normalization_attrs *)call->attrs)->training_mode) return false;
  bool has_bias = f->conv->n_inputs > 2 && f->conv->inputs[2] >= 0;
  f->w = const_f32(f, g, f->conv->inputs[1]);
  f->b = has_bias ? const_f32(f, g, f->conv->inputs[2]) : NULL;
  f->scale = const_f32(f, g, bn->inputs[1]);
  f->shift = const_f32(f, g, bn->inputs[2]);
  f->mean = const_f32(f, g, bn->inputs[3]);
  f->var = const_f32(f, g, bn->inputs[4]);
  return f->w && f->scale && f->shift && f->mean && f->var && (f->b || !has_bias) &&
         f->w->rank > 0 && tn_tensor_elements(f->scale) == f->w->shape[0];
}

/* w' = w * s, b' = (b - mean) * s + shift with s = scale / sqrt(var + epsilon) */
static void scale_weights(const fold *f, double epsilon, float *w, float *b) {
  int64_t filters = f->w->shape[0], each = filters ? tn_tensor_elements(f->w) / filters : 0;
  const float *from = f->w->data;
  for (int64_t m = 0; m < filters; m++) {
    double s = ((const float *)f->scale->data)[m] /
               sqrt((double)((const float *)f->var->data)[m] + epsilon);
    double bias = f->b ? (double)((const float *)f->b->data)[m] : 0;
    b[m] = (float)((bias - (double)((const float *)f->mean->data)[m]) * s +
                   (double)((const float *)f->shift->data)[m]);
    for (int64_t k = m * each; k < (m + 1) * each; k++) w[k] = (float)((double)from[k] * s);
  }
}

static tn_status replace(const tn_call *call, tn_graph *g, int32_t node, const fold *f, float *w,
                         float *b) {
  tn_tensor wt = tn_tensor_make(TN_F32, f->w->rank, f->w->shape, w),
            bt = tn_tensor_make(TN_F32, 1, f->w->shape, b);
  int32_t inputs[3] = {f->conv->inputs[0], tn_emit_const(call, g, &wt),
                       tn_emit_const(call, g, &bt)};
  int32_t out = f->api->value(g, NULL);
  if (inputs[1] < 0 || inputs[2] < 0 || out < 0) return TN_ERR_MEMORY;
  tn_node conv = *f->conv;
  conv.inputs = inputs;
  conv.n_inputs = 3;
  conv.outputs = &out;
  conv.n_outputs = 1;
  int32_t id = f->api->add_node(g, &conv);
  return id < 0 ? id : f->api->replace_node(g, node, &out, 1);
}

tn_status batch_norm_into_conv(const tn_call *call, tn_graph *graph, int32_t node) {
  fold f = {.api = call->host->graph};
  if (!can_fold(call, graph, f.api->node(graph, node), &f)) return TN_OK;
  if (tn_fetch_elements(call, graph, f.conv->inputs[1])) return TN_ERR_MEMORY;
  uint64_t w_bytes = (uint64_t)tn_tensor_bytes(f.w),
           b_bytes = (uint64_t)f.w->shape[0] * sizeof(float);
  float *w = call->host->alloc(call->ctx, w_bytes), *b = call->host->alloc(call->ctx, b_bytes);
  tn_status s = TN_ERR_MEMORY;
  if (w && b) {
    scale_weights(&f, ((const tn_batch_normalization_attrs *)call->attrs)->epsilon, w, b);
    s = replace(call, graph, node, &f, w, b);
  }
  call->host->free(call->ctx, w);
  call->host->free(call->ctx, b);
  return s;
}
