/* ScaledTanh: parameters, FLOPs, reference and a kernel. */
#include <math.h>

#include "my_custom_op.gen.h"

static int64_t elements(const tn_tensor *t) {
  int64_t n = 1;
  for (int32_t d = 0; d < t->rank; d++) n *= t->shape[d];
  return n;
}

/* Two products, and a tanh that is counted as 20. */
tn_status scaled_tanh_flops(const tn_call *call, double *out_flops) {
  *out_flops = 22.0 * (double)elements(call->inputs[0]);
  return TN_OK;
}

tn_status scaled_tanh_reference(const tn_call *call) {
  const tn_scaled_tanh_attrs *a = call->attrs;
  const float *x = call->inputs[0]->data;
  float *y = call->outputs[0]->data;
  for (int64_t i = 0; i < elements(call->inputs[0]); i++)
    y[i] = (float)(a->alpha * tanh(a->beta * x[i]));
  return TN_OK;
}

tn_status scaled_tanh_plan(const tn_call *call, tn_kernel_plan *out) {
  out->items[0] = elements(call->inputs[0]);
  out->grain[0] = 1000;
  out->in_place[0] = 0;
  out->elements_per_item = 1;
  out->flags = TN_PLAN_ELEMENTWISE; /* it may run on what another kernel has just written */
  return TN_OK;
}

tn_status scaled_tanh_f32(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  const tn_scaled_tanh_attrs *a = call->attrs;
  const float *x = call->inputs[0]->data, alpha = (float)a->alpha, beta = (float)a->beta;
  float *y = call->outputs[0]->data;
  (void)stage, (void)worker;
  for (int64_t i = begin; i < end; i++) y[i] = alpha * tanhf(beta * x[i]);
  return TN_OK;
}
