/* FixedSvdf, the portable kernel, and how work is cut. */
#include "fixed_svdf_run.h"

tn_status fixed_svdf_plan(const tn_call *call, tn_kernel_plan *out) {
  fixed_svdf p;
  const tn_status s = fixed_svdf_make(call, &p);
  if (s) return s;
  out->items[0] = p.batch * p.units;
  out->in_place[1] = SVDF_STATE;
  out->cost_ns = (double)(p.batch * p.filters) * ((double)(p.width + p.memory) / 16 + 8) + 100;
  out->grain[0] = tn_grain(TN_THREAD_NS, out->cost_ns / (double)tn_max_i64(1, out->items[0]));
  return TN_OK;
}

tn_status fixed_svdf_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                       uint32_t worker) {
  (void)stage, (void)worker;
  return fixed_svdf_run(call, begin, end);
}
