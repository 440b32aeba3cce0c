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

TN_RULE(half_floats, .name = "T", .args = "x,y", .dtypes = TN_MASK(TN_F32));
TN_LIST(const tn_type_rule *, half_types, &half_floats);
TN_LIST(const char *, half_cases, "x=T[2,3]", "x=T[0]", "x=T[1000]{edge}");
TN_OP(half, .domain = "com.acme", .name = "Half", .schema = "(Tensor x) -> Tensor y",
      .flags = TN_OP_SAME_AS_INPUT | TN_OP_ELEMENTWISE, .reference = half_reference,
      TN_SET(types, half_types), TN_SET(cases, half_cases));
TN_ACCEPT(half_x, .arg = "x", .dtypes = TN_MASK(TN_F32));
TN_LIST(const tn_accept *, half_accepts, &half_x);
TN_KERNEL(half_f32, .op = "com.acme::Half", .plan = half_plan, .run = half_run,
          TN_SET(accepts, half_accepts));
TN_LIST(const tn_op *, half_ops, &half);
TN_LIST(const tn_kernel *, half_kernels, &half_f32);
TN_PLUGIN(.name = "acme-half", .version = "1.0", .license = "MIT", TN_SET(ops, half_ops),
          TN_SET(kernels, half_kernels));
