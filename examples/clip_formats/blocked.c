/* The kernels on blocks of 16 channels. An item is a block of an image. */
#include <string.h>

#include "clip.h"

static int64_t blocks_of(const tn_tensor *t) { return t->shape[0] * blocked_of(t).blocks; }

tn_status clip_blocked_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *x = call->inputs[0];
  out->items[0] = blocks_of(x);
  out->grain[0] = 1 + 10000 / (blocked_of(x).inner * BLOCK + 1);
  out->in_place[0] = 0;
  return TN_OK;
}

/* Pad lanes hold zero, and shall do so again: clipping them would make them `min`. */
tn_status clip_f32_blocked16(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                             uint32_t worker) {
  const tn_clip_attrs *a = call->attrs;
  const blocked b = blocked_of(call->inputs[0]);
  const float least = (float)a->min, most = (float)a->max;
  (void)stage, (void)worker;
  for (int64_t item = begin; item < end; item++) {
    const int64_t n = lanes(&b, item % b.blocks);
    const float *x = (const float *)call->inputs[0]->data + item * b.inner * BLOCK;
    float *y = (float *)call->outputs[0]->data + item * b.inner * BLOCK;
    for (int64_t i = 0; i < b.inner * BLOCK; i++)
      y[i] = i % BLOCK < n ? clip_of(x[i], least, most) : 0;
  }
  return TN_OK;
}

/* ---- ChannelScale ---- */

tn_status scale_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  if (x->rank < 3)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "x has rank %d, but must be [N, C, X...]",
                            x->rank);
  call->outputs[0]->rank = x->rank;
  memcpy(call->outputs[0]->shape, x->shape, sizeof x->shape);
  return TN_OK;
}

/* Costs in ns, roughly: the plain kernel divides for every element to find its channel. */
tn_status scale_plan(const tn_call *call, tn_kernel_plan *out) {
  out->cost_ns = 4.0 * (double)elements(call->inputs[0]);
  return clip_plan(call, out);
}

tn_status scale_blocked_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *x = call->inputs[0];
  out->cost_ns = 0.3 * (double)(blocks_of(x) * blocked_of(x).inner * BLOCK);
  return clip_blocked_plan(call, out);
}

static float scaled(const tn_call *call, const blocked *b, int64_t i) {
  const tn_channel_scale_attrs *a = call->attrs;
  const float *x = call->inputs[0]->data;
  return (float)(1 + (double)(i / b->inner % b->channels) * a->step) * x[i];
}

tn_status scale_reference(const tn_call *call) {
  return scale_f32(call, 0, 0, elements(call->inputs[0]), 0);
}

tn_status scale_f32(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                    uint32_t worker) {
  const blocked b = blocked_of(call->inputs[0]);
  float *y = call->outputs[0]->data;
  (void)stage, (void)worker;
  for (int64_t i = begin; i < end; i++) y[i] = scaled(call, &b, i);
  return TN_OK;
}

/* Pad lanes are zero, and zero times anything finite is zero. */
tn_status scale_f32_blocked16(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                              uint32_t worker) {
  const tn_channel_scale_attrs *a = call->attrs;
  const blocked b = blocked_of(call->inputs[0]);
  (void)stage, (void)worker;
  for (int64_t item = begin; item < end; item++) {
    const int64_t first = item % b.blocks * BLOCK;
    const float *x = (const float *)call->inputs[0]->data + item * b.inner * BLOCK;
    float *y = (float *)call->outputs[0]->data + item * b.inner * BLOCK;
    float factor[BLOCK];
    for (int64_t k = 0; k < BLOCK; k++) factor[k] = (float)(1 + (double)(first + k) * a->step);
    for (int64_t i = 0; i < b.inner; i++)
      for (int64_t k = 0; k < BLOCK; k++) y[i * BLOCK + k] = factor[k] * x[i * BLOCK + k];
  }
  return TN_OK;
}
