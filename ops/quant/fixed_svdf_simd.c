/* FixedSvdf of instruction sets that have vectors, but for AVX-512: its loops are too short for
 * that and took a third longer. */
#include "tenon/kit/simd.h"

#if TN_VF_LANES < 16
#include "fixed_svdf_run.h"

tn_status TN_SIMD_NAME(fixed_svdf)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                   uint32_t worker) {
  (void)stage, (void)worker;
  return fixed_svdf_run(call, begin, end);
}
#endif
