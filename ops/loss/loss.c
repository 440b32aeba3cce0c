/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: inference and references. */
#include "loss.h"

#include <math.h>

tn_status loss_infer(const tn_call *call) {
  const tn_negative_log_likelihood_loss_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0], *target = call->inputs[1];
  if (x->rank < 2 || target->rank != x->rank - 1)
    return call->host->fail(
        call->ctx, TN_ERR_SHAPE,
        "scores have rank %d, labels rank %d; [N, C, ...] and [N, ...] are needed", x->rank,
        target->rank);
  for (int32_t k = 0; k < target->rank; k++)
    if (target->shape[k] != x->shape[k ? k + 1 : 0])
      return call->host->fail(call->ctx, TN_ERR_SHAPE,
                              "dim %d of the labels is %lld, the scores have %lld there", k,
                              (long long)target->shape[k], (long long)x->shape[k ? k + 1 : 0]);
  if (tn_has_input(call, 2) && tn_elements(call->inputs[2]) != x->shape[1])
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "weights need one value per class (%lld)",
                            (long long)x->shape[1]);
  bool none = tn_str_is(a->reduction, "none");
  if (!none && !tn_str_is(a->reduction, "sum") && !tn_str_is(a->reduction, "mean"))
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute 'reduction' is '%.*s'; it may be none, sum or mean",
                            (int)a->reduction.size, a->reduction.data);
  tn_infer_shape(call, 0, x->dtype, none ? target->rank : 0, target->shape);
  tn_infer_shape(call, 1, x->dtype, x->rank, x->shape);
  return TN_OK;
}

/* ---- references ---- */

static double at(const tn_tensor *t, int64_t k) { return tn_load_f64(t->dtype, t->data, k); }

/* Logarithm of what softmax gives element `index` of the scores. */
static double log_softmax(const tn_tensor *x, const loss_shape *s, int64_t index) {
  int64_t first = index / (s->classes * s->inner) * s->classes * s->inner + index % s->inner;
  double top = -(double)INFINITY, sum = 0;
  for (int64_t c = 0; c < s->classes; c++) top = fmax(top, at(x, first + c * s->inner));
  for (int64_t c = 0; c < s->classes; c++) sum += exp(at(x, first + c * s->inner) - top);
  return at(x, index) - top - log(sum);
}

static tn_status reference(const tn_call *call, bool softmax) {
  const tn_tensor *x = call->inputs[0], *out = call->outputs[0];
  loss_shape s = loss_shape_of(call);
  double sum = 0, weights = 0;
  for (int64_t k = 0; k < s.batch * s.inner; k++) {
    int64_t c;
    tn_status status = loss_class(call, k, &c);
    if (status) return status;
    double w = c < 0 ? 0 : tn_has_input(call, 2) ? at(call->inputs[2], c) : 1;
    int64_t index = (k / s.inner * s.classes + tn_max_i64(c, 0)) * s.inner + k % s.inner;
    double loss = c < 0 ? 0 : -w * (softmax ? log_softmax(x, &s, index) : at(x, index));
    if (s.how == REDUCE_NONE) tn_store_f64(out->dtype, out->data, k, loss);
    sum += loss;
    weights += w;
  }
  if (s.how != REDUCE_NONE)
    tn_store_f64(out->dtype, out->data, 0, s.how == REDUCE_MEAN ? sum / weights : sum);
  for (int64_t k = 0; tn_has_output(call, 1) && k < tn_elements(x); k++)
    tn_store_f64(x->dtype, call->outputs[1]->data, k, log_softmax(x, &s, k));
  return TN_OK;
}

tn_status loss_reference(const tn_call *call) { return reference(call, false); }
tn_status softmax_loss_reference(const tn_call *call) { return reference(call, true); }
