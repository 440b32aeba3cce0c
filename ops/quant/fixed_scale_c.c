/* FixedScale, the portable kernel. */
#include "fixed_scale.h"
#include "quant.gen.h"
#include "tenon/kit/elementwise.h"

static int64_t clamp(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }

/* Behind the point, halves up. */
static int64_t halves_up(int64_t v, int64_t bits) {
  return (v + (INT64_C(1) << (bits - 1))) >> bits;
}

static int64_t halves_away(int64_t v, int64_t bits) {
  if (!bits) return v;
  const int64_t mask = (INT64_C(1) << bits) - 1;
  return (v >> bits) + ((v & mask) > (mask >> 1) + (v < 0));
}

static int64_t narrow(int64_t x, int64_t before, int64_t m, int64_t shift) {
  const int64_t left = before + (shift > 0 ? shift : 0);
  const int64_t wide = clamp(x * (INT64_C(1) << left), INT32_MIN, INT32_MAX);
  return halves_away(clamp(halves_up(wide * m, 31), INT32_MIN, INT32_MAX), shift < 0 ? -shift : 0);
}

/* Sums of convolutions have 48 bits at most: 15 more fit. */
static int64_t wide(int64_t x, int64_t m, int64_t shift) {
  const int64_t m15 = m < 0x7fff0000 ? (m + 0x8000) >> 16 : 0x7fff;
  return halves_up(clamp(x, -(INT64_C(1) << 47), INT64_C(1) << 47) * m15, 15 - shift);
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
                          : narrow(((const int32_t *)x->data)[k], a->before, m, shift);
    tn_store_f64(y->dtype, y->data, k, (double)clamp(v + a->zero, a->lo, a->hi));
  }
  return TN_OK;
}
