/* Softmax, LogSoftmax, Hardmax: inference and references. */
#include <math.h>

#include "softmax_shape.h"
#include "tenon/kit/infer.h"

tn_status softmax_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  int64_t axis = ((const tn_softmax_attrs *)call->attrs)->axis;
  if (axis < -x->rank || axis > x->rank || (axis == x->rank && call->version >= 13 && x->rank > 0))
    return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute 'axis' is %lld for rank %d",
                            (long long)axis, x->rank);
  return tn_infer_like(call, 0, 0);
}

typedef double (*result)(double x, double top, double sum, int is_first_top);

static double soft(double x, double top, double sum, int first) {
  (void)first;
  return exp(x - top) / sum;
}
static double log_soft(double x, double top, double sum, int first) {
  (void)first;
  return x - top - log(sum);
}
static double hard(double x, double top, double sum, int first) {
  (void)x, (void)top, (void)sum;
  return first;
}

static tn_status reference(const tn_call *call, result f) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  tn_axis_view s = softmax_view(call);
  for (int64_t k = 0; k < s.outer * s.inner; k++) {
    int64_t base = k / s.inner * s.n * s.inner + k % s.inner, where = 0;
    double top = -INFINITY, sum = 0;
    for (int64_t j = 0; j < s.n; j++) {
      double v = tn_load_f64(x->dtype, x->data, base + j * s.inner);
      if (v > top) top = v, where = j;
    }
    for (int64_t j = 0; j < s.n; j++)
      sum += exp(tn_load_f64(x->dtype, x->data, base + j * s.inner) - top);
    for (int64_t j = 0; j < s.n; j++) {
      int64_t at = base + j * s.inner;
      tn_store_f64(y->dtype, y->data, at,
                   f(tn_load_f64(x->dtype, x->data, at), top, sum, j == where));
    }
  }
  return TN_OK;
}

tn_status softmax_reference(const tn_call *call) { return reference(call, soft); }
tn_status log_softmax_reference(const tn_call *call) { return reference(call, log_soft); }
tn_status hardmax_reference(const tn_call *call) { return reference(call, hard); }
