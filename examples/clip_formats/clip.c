/* Clip: reference, the kernel for plain f32, and the one for blocked f32. */
#include "clip.h"

#include <string.h>

#include "half.h"

tn_status clip_infer(const tn_call *call) {
  const tn_clip_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  if (!(a->min <= a->max))
    return call->host->fail(call->ctx, TN_ERR_INVALID, "min is %g, more than max, %g", a->min,
                            a->max);
  call->outputs[0]->rank = x->rank;
  memcpy(call->outputs[0]->shape, x->shape, sizeof x->shape);
  return TN_OK;
}

tn_status clip_reference(const tn_call *call) {
  const tn_clip_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  for (int64_t i = 0; i < elements(x); i++)
    store(y, i, clip_of(load(x, i), (float)a->min, (float)a->max));
  return TN_OK;
}

tn_status clip_plan(const tn_call *call, tn_kernel_plan *out) {
  out->items[0] = elements(call->inputs[0]);
  out->grain[0] = 10000;
  out->in_place[0] = 0;
  return TN_OK;
}

tn_status clip_f32(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                   uint32_t worker) {
  const tn_clip_attrs *a = call->attrs;
  const float *x = call->inputs[0]->data, least = (float)a->min, most = (float)a->max;
  float *y = call->outputs[0]->data;
  (void)stage, (void)worker;
  for (int64_t i = begin; i < end; i++) y[i] = clip_of(x[i], least, most);
  return TN_OK;
}
