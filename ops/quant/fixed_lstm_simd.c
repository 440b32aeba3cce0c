/* FixedLstm of instruction sets that have vectors, but for AVX-512: as FixedSvdf. */
#include "tenon/kit/simd.h"

#if TN_VF_LANES < 16
#include "fixed_lstm_run.h"

tn_status TN_SIMD_NAME(fixed_lstm)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                   uint32_t worker) {
  (void)stage;
  return fixed_lstm_run(call, begin, end, worker);
}
#endif
