/* CumSum, vectorised by the compiler. */
#include "cumulate_lanes.h"
#include "tenon/kit/isa.h"

tn_status TN_SIMD_NAME(cum_sum)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                uint32_t worker) {
  cumulation c;
  tn_status s = cumulate_parse_sum(call, &c);
  (void)stage, (void)worker;
  if (!s) cumulate(call, &c, begin, end);
  return s;
}
