/* Conversions among f32, f16 and bf16, written once and compiled per instruction set: a file
 * that defines CAST_RUN, the name of the run function, and includes this one gets it. */
#include "base/elementwise.h"
#include "cast.gen.h"

tn_status CAST_RUN(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                   uint32_t worker) {
  (void)stage, (void)worker;
  float block[TN_MAP_BLOCK];
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  for (int64_t i = begin; i < end; i += TN_MAP_BLOCK) {
    const int64_t n = tn_min_i64(end - i, TN_MAP_BLOCK);
    float *to = y->dtype == TN_F32 ? (float *)y->data + i : block;
    const float *values = tn_load_block_f32(x->dtype, x->data, i, n, to);
    if (y->dtype != TN_F32)
      tn_store_block_f32(y->dtype, y->data, i, n, values);
    else if (values != to)
      memmove(to, values, (size_t)n * sizeof *to);
  }
  tn_pads_zero(y, begin, end);
  return TN_OK;
}
