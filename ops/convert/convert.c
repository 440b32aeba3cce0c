/* tenon::Cast: the conversion that the planner puts between kernels. Its kernel is that of Cast. */
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
