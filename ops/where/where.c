/* Where: what it means, and its inference. */
#include <string.h>

#include "tenon/kit/coords.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/tensor.h"
#include "where.gen.h"

/* The type comes from X and Y, the shape from all three. */
tn_status where_infer(const tn_call *call) {
  const tn_status status = tn_infer_broadcast(call);
  if (!status) call->outputs[0]->dtype = call->inputs[1]->dtype;
  return status;
}

tn_status where_reference(const tn_call *call) {
  const tn_tensor *c = call->inputs[0], *y = call->outputs[0];
  const int64_t n = tn_elements(y), bytes = tn_dtype(y->dtype)->bits / 8;
  for (int64_t i = 0; i < n; i++) {
    const tn_tensor *from =
        call->inputs[((const uint8_t *)c->data)[tn_index_broadcast(c, y, i)] ? 1 : 2];
    const char *element = (const char *)from->data + tn_index_broadcast(from, y, i) * bytes;
    if (y->dtype == TN_STRING) {
      const tn_str *s = (const tn_str *)(const void *)element;
      const tn_status status = call->host->string_set(call->ctx, 0, i, s->data, s->size);
      if (status) return status;
    } else {
      memcpy((char *)y->data + i * bytes, element, (size_t)bytes);
    }
  }
  return TN_OK;
}
