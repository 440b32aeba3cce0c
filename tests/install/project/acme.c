/* The plug-in acme: the parts that all machines have. */
#include "acme.h"

static int64_t elements(const tn_tensor *t) {
  int64_t n = 1;
  for (int32_t k = 0; k < t->rank; k++) n *= t->shape[k];
  return n;
}

tn_status twice_plan(const tn_call *call, tn_kernel_plan *out) {
  out->items[0] = elements(call->outputs[0]);
  out->grain[0] = 10000;
  return TN_OK;
}

tn_status twice_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                  uint32_t worker) {
  (void)stage;
  (void)worker;
  return twice_range(call, begin, end);
}

tn_status twice_reference(const tn_call *call) {
  return twice_range(call, 0, elements(call->outputs[0]));
}
