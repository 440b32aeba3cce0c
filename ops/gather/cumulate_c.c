/* Portable CumSum and CumProd: an item is some of the elements outside of the axis. */
#include "cumulate_lanes.h"

/* The axis may be unknown while planning, so that items are parts of the tensor, whatever it is. */
tn_status cumulate_plan(const tn_call *call, tn_kernel_plan *out) {
  const int64_t n = tn_max_i64(1, tn_elements(call->inputs[0]));
  out->items[0] = CUMULATE_ITEMS;
  out->grain[0] = tn_max_i64(1, CUMULATE_ITEMS * 4096 / n);
  out->cost_ns = 50 + 0.5 * (double)n;
  return TN_OK;
}

tn_status cum_sum_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                    uint32_t worker) {
  cumulation c;
  tn_status s = cumulate_parse_sum(call, &c);
  (void)stage, (void)worker;
  if (!s) cumulate(call, &c, begin, end);
  return s;
}

tn_status cum_prod_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  cumulation c;
  tn_status s = cumulate_parse_product(call, &c);
  (void)stage, (void)worker;
  if (!s) cumulate(call, &c, begin, end);
  return s;
}
