/* tenon::FixedSoftmax: inference and the reference. */
#include "fixed_softmax.h"

#include <math.h>

#include "tenon/kit/infer.h"

tn_status fixed_softmax_make(const tn_call *call, fixed_softmax *out) {
  enum { MOST = 1 << 16 }; /* sums have 31 bits */
  const tn_tensor *x = call->inputs[0];
  fixed_softmax p = {
      .a = call->attrs, .exp = call->inputs[1]->data, .reciprocal = call->inputs[2]->data};
  if (p.a->multiplier < 0 || p.a->multiplier > INT32_MAX || p.a->shift < -31 || p.a->shift > 14)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "multiplier or shift is out of range");
  for (int k = 1; k < 3; k++)
    if (call->inputs[k]->rank != 1 || call->inputs[k]->shape[0] != FIXED_SOFTMAX_CODES)
      return call->host->fail(call->ctx, TN_ERR_SHAPE, "a table has not 65536 elements");
  if (x->rank < 1 || x->shape[x->rank - 1] > MOST)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "X has no last dim, or one of more than 65536 elements");
  p.width = x->shape[x->rank - 1];
  const tn_status s = tn_dims_product(x->shape, x->rank - 1, &p.rows);
  if (!s) *out = p;
  return s;
}

tn_status fixed_softmax_infer(const tn_call *call) {
  fixed_softmax p;
  const tn_status s = fixed_softmax_make(call, &p);
  if (!s) tn_infer_shape(call, 0, TN_I16, call->inputs[0]->rank, call->inputs[0]->shape);
  return s;
}

/* Divides where the kernel shifts. */
static double code_of(double exp, double factor, int bits) {
  return fmax(0, fmin(floor(ldexp(exp * factor, -bits) + 0.5), INT16_MAX));
}

tn_status fixed_softmax_reference(const tn_call *call) {
  fixed_softmax p;
  const tn_status s = fixed_softmax_make(call, &p);
  for (int64_t r = 0; !s && r < p.rows && p.width; r++) {
    const int16_t *x = (const int16_t *)call->inputs[0]->data + r * p.width;
    int16_t *y = (int16_t *)call->outputs[0]->data + r * p.width, top = x[0];
    int64_t sum = 0;
    int bits = 0;
    for (int64_t k = 0; k < p.width; k++) top = x[k] > top ? x[k] : top;
    for (int64_t k = 0; k < p.width; k++) sum += fixed_softmax_exp(&p, x[k] - top);
    const double factor = (double)fixed_softmax_factor(&p, tn_max_i64(1, sum), &bits);
    for (int64_t k = 0; k < p.width; k++)
      y[k] = (int16_t)code_of((double)fixed_softmax_exp(&p, x[k] - top), factor, bits);
  }
  return s;
}
