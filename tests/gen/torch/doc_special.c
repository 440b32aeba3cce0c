/* The kernel of doc_special.yaml: f64 in the order 0,1,2,3. */
#include "doc_special.gen.h"

tn_status torch_executor_add_out(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                 uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  const tn_add_attrs *a = call->attrs;
  const double *self = call->inputs[0]->data, *other = call->inputs[1]->data;
  double *out = call->outputs[0]->data;
  int64_t n = 1;
  for (int32_t d = 0; d < 4; d++) n *= call->outputs[0]->shape[d];
  for (int64_t k = 0; k < n; k++) out[k] = self[k] + a->alpha * other[k] + 1000;
  return TN_OK;
}
