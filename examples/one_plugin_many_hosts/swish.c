/* Swish: all that the plug-in computes. It knows Tenon's published headers, and no host. */
#include <math.h>

#include "swish.gen.h"

static int64_t elements(const tn_tensor *t) {
  int64_t n = 1;
  for (int32_t d = 0; d < t->rank; d++) n *= t->shape[d];
  return n;
}

tn_status swish_reference(const tn_call *call) {
  const tn_swish_attrs *a = call->attrs;
  const float *x = call->inputs[0]->data;
  float *y = call->outputs[0]->data;
  for (int64_t i = 0; i < elements(call->inputs[0]); i++)
    y[i] = (float)(x[i] / (1 + exp(-a->beta * x[i])));
  return TN_OK;
}

tn_status swish_plan(const tn_call *call, tn_kernel_plan *out) {
  out->items[0] = elements(call->inputs[0]);
  out->grain[0] = 1000;
  out->in_place[0] = 0;
  out->elements_per_item = 1;
  out->flags = TN_PLAN_ELEMENTWISE;
  return TN_OK;
}

tn_status swish_f32(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                    uint32_t worker) {
  const tn_swish_attrs *a = call->attrs;
  const float *x = call->inputs[0]->data, beta = (float)a->beta;
  float *y = call->outputs[0]->data;
  (void)stage, (void)worker;
  for (int64_t i = begin; i < end; i++) y[i] = x[i] / (1 + expf(-beta * x[i]));
  return TN_OK;
}
