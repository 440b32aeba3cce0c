/* A plug-in with a kernel for Conv that takes plain layout and no fused steps, for ten seconds, as
 * it says: it wins by its rank over Tenon's, which take blocked layout and fused steps. Its answers
 * are all 7. */
#include "tenon/plugin.h"

static tn_status plan(const tn_call *call, tn_kernel_plan *out) {
  out->items[0] = 1;
  for (int32_t k = 0; k < call->outputs[0]->rank; k++) out->items[0] *= call->outputs[0]->shape[k];
  out->cost_ns = 1e10;
  return TN_OK;
}

static tn_status run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  (void)stage, (void)worker;
  for (int64_t k = begin; k < end; k++) ((float *)call->outputs[0]->data)[k] = 7;
  return TN_OK;
}

TN_ACCEPT(f32, .arg = "*", .dtypes = TN_MASK(TN_F32));
TN_LIST(const tn_accept *, rows, &f32);
TN_KERNEL(conv_acme, .op = "Conv", .plan = plan, .run = run, TN_SET(accepts, rows));
TN_LIST(const tn_kernel *, kernels, &conv_acme);
TN_PLUGIN(.name = "acme-conv", .version = "1.0", .license = "Apache-2.0", TN_SET(kernels, kernels));
