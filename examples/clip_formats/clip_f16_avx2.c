/* Clip of f16, for machines with AVX2, which brings F16C. Others clip it as f32, with casts around.
 */
#include <immintrin.h>

#include "clip.h"

tn_status clip_f16_avx2(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                        uint32_t worker) {
  const tn_clip_attrs *a = call->attrs;
  const uint16_t *x = call->inputs[0]->data;
  uint16_t *y = call->outputs[0]->data;
  const float least = (float)a->min, most = (float)a->max;
  (void)stage, (void)worker;
  for (int64_t i = begin; i < end; i++) {
    const float v = _cvtsh_ss(x[i]), c = clip_of(v, least, most);
    /* what is inside stays as it is, bit by bit */
    y[i] = c < v || c > v ? (uint16_t)_cvtss_sh(c, _MM_FROUND_TO_NEAREST_INT) : x[i];
  }
  return TN_OK;
}
