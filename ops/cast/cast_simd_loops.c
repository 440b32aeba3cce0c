/* Casts among the numbers that C has types for, f16 and bf16, vectorised by the compiler. */
#include "cast.gen.h"
#include "cast_number.h"
#include "tenon/kit/isa.h"

tn_status TN_SIMD_NAME(cast_number)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                    uint32_t worker) {
  (void)stage, (void)worker;
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  if (!cast_block(x, y, begin, end))
    for (int64_t i = begin; i < end; i++) cast_element(x, y, i);
  tn_pads_zero(y, begin, end);
  return TN_OK;
}
