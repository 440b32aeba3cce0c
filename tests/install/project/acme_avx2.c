/* The kernel of the plug-in acme for avx2. */
#include "acme.h"

#if !defined(__AVX2__) && !defined(__ARM_NEON)
#error "compiled without the flags of its instruction set"
#endif

tn_status twice_avx2(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  (void)stage;
  (void)worker;
  return twice_range(call, begin, end);
}
