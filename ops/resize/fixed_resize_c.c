/* FixedResize, the portable kernel, and how work is cut. */
#include "fixed_resize_run.h"

tn_status fixed_resize_plan(const tn_call *call, tn_kernel_plan *out) {
  fixed_resize p;
  const tn_status s = fixed_resize_make(call, &p);
  if (s) return s;
  const double row = (double)p.a->width * (6 + (double)p.channels / 4);
  out->items[0] = p.batch * p.a->height;
  out->cost_ns = row * (double)out->items[0] + 100;
  out->grain[0] = tn_grain(TN_THREAD_NS, row);
  return TN_OK;
}

tn_status fixed_resize_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                         uint32_t worker) {
  (void)stage, (void)worker;
  return fixed_resize_run(call, begin, end);
}
