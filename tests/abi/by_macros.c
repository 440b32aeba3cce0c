/* A whole plug-in by the macros of tenon/plugin.h: one operator, its meaning, one kernel. It is
 * built as C and as C++, loaded, and put through the harness like any other. */
#include <tenon/plugin.h>

static int64_t elements(const tn_tensor *t) {
  int64_t n = 1;
  for (int32_t k = 0; k < t->rank; k++) n *= t->shape[k];
  return n;
}

static tn_status half_reference(const tn_call *call) {
  const float *x = (const float *)call->inputs[0]->data;
  float *y = (float *)call->outputs[0]->data;
  for (int64_t i = 0; i < elements(call->outputs[0]); i++) y[i] = (float)((double)x[i] / 2);
  return TN_OK;
}

static tn_status half_plan(const tn_call *call, tn_kernel_plan *out) {
  out->items[0] = elements(call->outputs[0]);
  out->grain[0] = 10000;
  out->flags = TN_PLAN_ELEMENTWISE;
  return TN_OK;
}

static tn_status half_run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  const float *x = (const float *)call->inputs[0]->data;
  float *y = (float *)call->outputs[0]->data;
  (void)stage, (void)worker;
  for (int64_t i = begin; i < end; i++) y[i] = 0.5f * x[i];
  return TN_OK;
}

TN_RULE(half_floats, "T", "x,y", TN_MASK(TN_F32));
TN_OP(half, "com.acme", "Half", "(Tensor x) -> Tensor y", TN_OP_SAME_AS_INPUT | TN_OP_ELEMENTWISE,
      NULL, half_reference, TN_LIST(&half_floats),
      TN_LIST("x=T[2,3]", "x=T[0]", "x=T[1000]{edge}"));
TN_ACCEPT(half_x, "x", TN_MASK(TN_F32), TN_PLAIN, 0);
TN_KERNEL(half_f32, "com.acme::Half", 0, half_plan, half_run, TN_LIST(&half_x));
TN_PLUGIN("acme-half", "1.0", "MIT", TN_LIST(&half), TN_LIST(&half_f32));
