/* tenon::QuantAdd: inference, reference and the plan that its kernels share. */
#include <math.h>

#include "base/elementwise.h"
#include "base/infer.h"
#include "quant.gen.h"

tn_status quant_add_infer(const tn_call *call) {
  const tn_quant_add_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  const bool is_signed = a->y_dtype == TN_I8;
  const int64_t lowest = is_signed ? -128 : 0, highest = lowest + 255;
  if (!is_signed && a->y_dtype != TN_U8)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute 'y_dtype' is %lld",
                            (long long)a->y_dtype);
  if (a->lo < lowest || a->lo > highest || a->hi < lowest || a->hi > highest)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attributes 'lo', 'hi' are %lld and %lld, not within %lld .. %lld",
                            (long long)a->lo, (long long)a->hi, (long long)lowest,
                            (long long)highest);
  if (a->a_zero < -128 || a->a_zero > 255 || a->b_zero < -128 || a->b_zero > 255 ||
      a->y_zero < lowest || a->y_zero > highest)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "a zero point does not fit its type");
  tn_tensor b = *call->inputs[1];
  b.dtype = x->dtype;
  if (!tn_same_shape(x, &b))
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "A and B differ in shape");
  call->outputs[0]->dtype = (uint32_t)a->y_dtype;
  tn_infer_shape(call, 0, (uint32_t)a->y_dtype, x->rank, x->shape);
  return TN_OK;
}

static float part(const tn_tensor *t, int64_t k, int64_t zero, double scale) {
  return (float)(tn_load_f64(t->dtype, t->data, k) - (double)zero) * (float)scale;
}

tn_status quant_add_reference(const tn_call *call) {
  const tn_quant_add_attrs *a = call->attrs;
  const tn_tensor *y = call->outputs[0];
  for (int64_t k = 0; k < tn_tensor_elements(y); k++) {
    const float sum = part(call->inputs[0], k, a->a_zero, a->a_scale) +
                      part(call->inputs[1], k, a->b_zero, a->b_scale);
    const double q = nearbyint((double)(sum / (float)a->y_scale)) + (double)a->y_zero;
    tn_store_f64(y->dtype, y->data, k, fmin(fmax(q, (double)a->lo), (double)a->hi));
  }
  return TN_OK;
}

tn_status quant_add_plan(const tn_call *call, tn_kernel_plan *out) {
  return tn_plan_elementwise(call, out, call->isa & TN_ISA_AVX512 ? 0.25 : 0.4);
}
