/* FixedResize of instruction sets that have vectors. */
#include "fixed_resize_run.h"
#include "tenon/kit/simd.h"

tn_status TN_SIMD_NAME(fixed_resize)(const tn_call *call, uint32_t stage, int64_t begin,
                                     int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  return fixed_resize_run(call, begin, end);
}
