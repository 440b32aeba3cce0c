/* Batch normalisation by given statistics, f32 in blocked layout, for AVX-512 and AVX2: each
 * channel is scaled and shifted. An item is one block of channels of an image. */
#include <math.h>

#include "norm.gen.h"
#include "tenon/kit/epilogue.h"
#include "tenon/kit/simd.h"

const char *TN_SIMD_NAME(batch_normalization_blocked_refuse)(const tn_call *call) {
  const tn_batch_normalization_attrs *a = call->attrs;
  if (a->training_mode) return "takes given statistics, not those of the batch";
  if (call->inputs[0]->rank < 3) return "takes spatial dims";
  return tn_epilogue_refuse_f32(call, 1);
}

static int64_t pixels_of(const tn_tensor *x) { return tn_dims_size(x->shape + 2, x->rank - 2); }

tn_status TN_SIMD_NAME(batch_normalization_blocked_plan)(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *x = call->inputs[0];
  out->items[0] = x->shape[0] * tn_ceil_div(x->shape[1], TN_VF_LANES);
  out->in_place[0] = 0;
  out->cost_ns = (double)out->items[0] * ((double)pixels_of(x) * 1.5 + 50) + 200;
  out->grain[0] = tn_grain(TN_THREAD_NS, out->cost_ns / (double)out->items[0]);
  return TN_OK;
}

/* Scale and shift of the channels of a block; zero for lanes beyond the last channel. */
static void block_factors(const tn_call *call, int64_t channel, float *scale, float *shift) {
  const tn_batch_normalization_attrs *a = call->attrs;
  const float *gain = call->inputs[1]->data, *bias = call->inputs[2]->data;
  const float *mean = call->inputs[3]->data, *var = call->inputs[4]->data;
  const int64_t channels = call->inputs[0]->shape[1];
  for (int64_t k = 0, c = channel; k < TN_VF_LANES; k++, c++) {
    const double s = c < channels ? (double)gain[c] / sqrt((double)var[c] + a->epsilon) : 0;
    scale[k] = (float)s;
    shift[k] = c < channels ? (float)((double)bias[c] - (double)mean[c] * s) : 0;
  }
}

tn_status TN_SIMD_NAME(batch_normalization_blocked)(const tn_call *call, uint32_t stage,
                                                    int64_t begin, int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  const tn_tensor *x = call->inputs[0];
  const int64_t pixels = pixels_of(x), blocks = tn_ceil_div(x->shape[1], TN_VF_LANES);
  for (int64_t item = begin; item < end; item++) {
    const int64_t at = item * pixels * TN_VF_LANES, channel = item % blocks * TN_VF_LANES;
    const float *from = (const float *)x->data + at;
    float *y = (float *)call->outputs[0]->data + at, scale[TN_VF_LANES], shift[TN_VF_LANES];
    block_factors(call, channel, scale, shift);
    const tn_vf f = tn_vf_load(scale), b = tn_vf_load(shift);
    for (int64_t k = 0; k < pixels; k++)
      tn_vf_store(y + k * TN_VF_LANES, tn_vf_fma(tn_vf_load(from + k * TN_VF_LANES), f, b));
    if (call->n_epilogue) tn_epilogue_block_f32(call, y, pixels, at, channel, TN_VF_LANES);
  }
  return TN_OK;
}
