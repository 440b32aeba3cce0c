/* tenon::Rotary in f32 in vectors: pairs half a row apart. */
#ifndef TN_OPS_ATTENTION_ROTATE_SIMD_H
#define TN_OPS_ATTENTION_ROTATE_SIMD_H

#include "rotate.h"
#include "tenon/kit/simd_math.h"

/* Lanes of both halves from k on. */
static void rotate_vector(const float *x, const float *c, const float *s, int64_t half,
                          tn_vf_mask live, float *y) {
  const tn_vf a = tn_vf_load_mask(live, x), b = tn_vf_load_mask(live, x + half);
  const tn_vf ca = tn_vf_load_mask(live, c), cb = tn_vf_load_mask(live, c + half);
  const tn_vf sa = tn_vf_load_mask(live, s), sb = tn_vf_load_mask(live, s + half);
  tn_vf_store_mask(y, live, tn_vf_sub(tn_vf_mul(a, ca), tn_vf_mul(b, sa)));
  tn_vf_store_mask(y + half, live, tn_vf_fma(a, sb, tn_vf_mul(b, cb)));
}

tn_status TN_SIMD_NAME(rotary_f32)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                   uint32_t worker) {
  (void)stage, (void)worker;
  rotate r;
  const tn_status status = rotate_make(call, &r);
  const int64_t half = r.n / 2;
  for (int64_t row = begin; !status && row < end; row++) {
    const float *x = (const float *)call->inputs[0]->data + row * r.n;
    const float *c = (const float *)call->inputs[1]->data + rotate_at(&r, 0, row);
    const float *s = (const float *)call->inputs[2]->data + rotate_at(&r, 1, row);
    float *y = (float *)call->outputs[0]->data + row * r.n;
    for (int64_t k = 0; k < half; k += TN_VF_LANES)
      rotate_vector(x + k, c + k, s + k, half, tn_vf_mask_first(tn_min_i64(TN_VF_LANES, half - k)),
                    y + k);
  }
  return status;
}

#endif
