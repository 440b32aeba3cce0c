/* tenon::Cast and tenon::Transfer, which the planner puts between kernels. The kernel of the first
 * is that of Cast; the second is seldom asked to run: drivers copy. */
#include <string.h>

#include "convert.gen.h"
#include "tenon/kit/element.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/tensor.h"

tn_status convert_infer(const tn_call *call) {
  const int64_t to = ((const tn_cast_attrs *)call->attrs)->to;
  const tn_tensor *x = call->inputs[0];
  if (to <= TN_NONE || to >= TN_DTYPE_COUNT) {
    return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute to is %lld, which is no type",
                            (long long)to);
  }
  tn_infer_shape(call, 0, (uint32_t)to, x->rank, x->shape);
  return TN_OK;
}

tn_status convert_reference(const tn_call *call) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const int64_t n = tn_elements(y);
  for (int64_t i = 0; i < n; i++)
    tn_store_f64(y->dtype, y->data, i, tn_load_f64(x->dtype, x->data, i));
  return TN_OK;
}

tn_status transfer_run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                       uint32_t worker) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const int64_t bytes = tn_storage_bytes(y);
  (void)stage, (void)begin, (void)end, (void)worker;
  if (bytes > 0 && y->data != x->data) memcpy(y->data, x->data, (size_t)bytes);
  return TN_OK;
}

tn_status transfer_reference(const tn_call *call) {
  const uint8_t *x = call->inputs[0]->data;
  uint8_t *y = call->outputs[0]->data;
  for (int64_t k = 0; k < tn_bytes(call->outputs[0]); k++) y[k] = x[k];
  return TN_OK;
}
