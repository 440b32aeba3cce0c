/* tenon::QuantAdd and tenon::QuantMul: inference, references and what their kernels share. */
#include <math.h>

#include "quant_add.h"
#include "tenon/kit/coords.h"
#include "tenon/kit/infer.h"

static bool fits_type(const tn_tensor *t, int64_t zero) {
  const int64_t lowest = t->dtype == TN_I8 ? -128 : 0;
  return zero >= lowest && zero <= lowest + 255;
}

tn_status quant_add_infer(const tn_call *call) {
  const tn_quant_add_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  tn_tensor y = {.rank = 0};
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
  if (a->halves_up && a->y_scale != 1)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute 'halves_up' needs a y_scale of 1");
  if (!fits_type(x, a->a_zero) || !fits_type(call->inputs[1], a->b_zero) || a->y_zero < lowest ||
      a->y_zero > highest)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "a zero point does not fit its type");
  if (tn_broadcast_shape(2, call->inputs, &y))
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "A and B do not broadcast");
  call->outputs[0]->dtype = (uint32_t)a->y_dtype;
  tn_infer_shape(call, 0, (uint32_t)a->y_dtype, y.rank, y.shape);
  return TN_OK;
}

static float part(const tn_tensor *t, const tn_tensor *y, int64_t k, int64_t zero, double scale) {
  const double q = tn_load_f64(t->dtype, t->data, tn_index_broadcast(t, y, k));
  return (float)(q - (double)zero) * (float)scale;
}

static tn_status reference(const tn_call *call, bool is_product) {
  const tn_quant_add_attrs *a = call->attrs;
  const tn_tensor *y = call->outputs[0];
  for (int64_t k = 0; k < tn_elements(y); k++) {
    const float u = part(call->inputs[0], y, k, a->a_zero, a->a_scale),
                v = part(call->inputs[1], y, k, a->b_zero, a->b_scale),
                exact = is_product ? u * v : u + v,
                value = a->halves_up ? floorf(exact + 0.5f) : exact;
    const double q = nearbyint((double)(value / (float)a->y_scale)) + (double)a->y_zero;
    tn_store_f64(y->dtype, y->data, k, fmin(fmax(q, (double)a->lo), (double)a->hi));
  }
  return TN_OK;
}

tn_status quant_add_reference(const tn_call *call) { return reference(call, false); }
tn_status quant_mul_reference(const tn_call *call) { return reference(call, true); }

const char *quant_add_refuse(const tn_call *call) {
  tn_broadcast b;
  return tn_broadcast_init(&b, call->outputs[0], 2, call->inputs)
             ? "these layouts do not broadcast without conversion"
             : NULL;
}

tn_status quant_add_plan(const tn_call *call, tn_kernel_plan *out) {
  return tn_plan_elementwise(call, out, call->isa & TN_ISA_AVX512 ? 0.25 : 0.4);
}
