/* FixedScale, the portable kernel. */
#include "fixed_scale.h"
#include "quant.gen.h"
#include "tenon/kit/elementwise.h"

/* Sums of convolutions have 48 bits at most: 15 more fit. */
static int64_t wide(int64_t x, int64_t m, int64_t shift) {
  const int64_t m15 = m < 0x7fff0000 ? (m + 0x8000) >> 16 : 0x7fff;
  return fixed_halves_up(fixed_clamp(x, -(INT64_C(1) << 47), INT64_C(1) << 47) * m15, 15 - shift);
}

tn_status fixed_scale_c_plan(const tn_call *call, tn_kernel_plan *out) {
  return tn_plan_elementwise(call, out, 2);
}

tn_status fixed_scale_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                        uint32_t worker) {
  const tn_fixed_scale_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  (void)stage, (void)worker;
  for (int64_t k = begin; k < end; k++) {
    const int64_t channel = fixed_scale_channel(x, a->multipliers.size, k);
    const int64_t m = a->multipliers.data[channel], shift = a->shifts.data[channel];
    const int64_t v = x->dtype == TN_I64
                          ? wide(((const int64_t *)x->data)[k], m, shift)
                          : fixed_scaled(((const int32_t *)x->data)[k], a->before, m, shift);
    tn_store_f64(y->dtype, y->data, k, (double)fixed_clamp(v + a->zero, a->lo, a->hi));
  }
  return TN_OK;
}
