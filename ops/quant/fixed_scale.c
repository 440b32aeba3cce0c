/* tenon::FixedScale: inference and reference. The reference divides where the kernel shifts. */
#include "fixed_scale.h"

#include <math.h>

#include "quant.gen.h"
#include "tenon/kit/infer.h"

tn_status fixed_scale_infer(const tn_call *call) {
  const tn_fixed_scale_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  const int64_t n = a->multipliers.size;
  bool fits = n >= 1 && a->shifts.size == n && (n == 1 || (x->rank > 1 && x->shape[1] == n)) &&
              a->before >= 0 && a->before < 32 && a->lo <= a->hi;
  for (int64_t k = 0; k < n && fits; k++)
    fits = a->multipliers.data[k] >= 0 && a->multipliers.data[k] <= INT32_MAX &&
           a->shifts.data[k] >= -31 && a->shifts.data[k] <= 14;
  if (!fits)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "multipliers and shifts are not one, or one for each channel, or out "
                            "of their range");
  const uint32_t dtype = (uint32_t)a->y_dtype;
  if (dtype != TN_I8 && dtype != TN_U8 && dtype != TN_I16 && dtype != TN_I32)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "y_dtype is %lld", (long long)a->y_dtype);
  tn_infer_shape(call, 0, dtype, x->rank, x->shape);
  return TN_OK;
}

static long double in_32_bits(long double v) {
  return v > INT32_MAX ? (long double)INT32_MAX : v < INT32_MIN ? (long double)INT32_MIN : v;
}

static long double scaled(const tn_fixed_scale_attrs *a, uint32_t dtype, int64_t x, int64_t k) {
  const int64_t shift = a->shifts.data[k];
  const long double m = (long double)a->multipliers.data[k];
  if (dtype == TN_I64) {
    const long double m15 = fminl(floorl(m / 65536 + 0.5L), 32767);
    return floorl(ldexpl((long double)x * m15, (int)(shift - 15)) + 0.5L);
  }
  const int left = (int)(shift > 0 ? shift : 0), right = (int)(shift < 0 ? -shift : 0);
  const long double wide = in_32_bits(ldexpl((long double)x, (int)a->before + left));
  return roundl(ldexpl(in_32_bits(floorl(ldexpl(wide * m, -31) + 0.5L)), -right));
}

tn_status fixed_scale_reference(const tn_call *call) {
  const tn_fixed_scale_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  for (int64_t k = 0; k < tn_elements(y); k++) {
    const long double v = scaled(a, x->dtype, tn_load_i64(x->dtype, x->data, k),
                                 fixed_scale_channel(x, a->multipliers.size, k)) +
                          (long double)a->zero;
    tn_store_f64(y->dtype, y->data, k,
                 (double)fminl(fmaxl(v, (long double)a->lo), (long double)a->hi));
  }
  return TN_OK;
}
