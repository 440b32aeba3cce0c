/* Where: what it means, and its inference. */
#include <string.h>

#include "base/dtype.h"
#include "base/infer.h"
#include "where.gen.h"

/* The type comes from X and Y, the shape from all three. */
tn_status where_infer(const tn_call *call) {
  const tn_status status = tn_infer_broadcast(call);
  if (!status) call->outputs[0]->dtype = call->inputs[1]->dtype;
  return status;
}

/* Element of x that output element i reads: numpy's rule, one dim after the other from the last. */
static int64_t place(const tn_tensor *x, const tn_tensor *y, int64_t i) {
  int64_t index = 0, step = 1;
  for (int32_t k = y->rank - 1, own = x->rank - 1; own >= 0; k--, own--) {
    if (x->shape[own] != 1) index += i % y->shape[k] * step;
    step *= x->shape[own];
    i /= y->shape[k];
  }
  return index;
}

tn_status where_reference(const tn_call *call) {
  const tn_tensor *c = call->inputs[0], *y = call->outputs[0];
  const int64_t n = tn_tensor_elements(y), bytes = tn_dtype(y->dtype)->bits / 8;
  for (int64_t i = 0; i < n; i++) {
    const tn_tensor *from = call->inputs[((const uint8_t *)c->data)[place(c, y, i)] ? 1 : 2];
    const char *element = (const char *)from->data + place(from, y, i) * bytes;
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
