/* BatchNormalization: older forms, inference and reference. */
#include <math.h>

#include "norm.gen.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/lower.h"

tn_status batch_normalization_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  if (x->rank < 1)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "X is a scalar; it needs [N, C, ...]");
  int64_t channels = x->rank > 1 ? x->shape[1] : 1;
  for (uint32_t k = 1; k < 5; k++)
    if (tn_elements(call->inputs[k]) != channels)
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
  int64_t channels = x->rank > 1 ? x->shape[1] : 1, total = tn_elements(x);
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
