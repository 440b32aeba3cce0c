/* Elements by their places in plain row-major tensors: what references are written with. Slow and
 * plain; the tensors have known dims, none of which is 0 where an index is given. */
#ifndef TN_KIT_COORDS_H
#define TN_KIT_COORDS_H

#include <string.h>

#include "tenon/kit/checked.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/element.h"

/* The coordinates of an element, one per dim. */
static inline void tn_coords_of(const tn_tensor *t, int64_t index, int64_t *out_coord) {
  tn_unravel(index, t->shape, t->rank, out_coord);
}

/* The element at these coordinates. */
static inline int64_t tn_index_of(const tn_tensor *t, const int64_t *coord) {
  int64_t index = 0;
  for (int32_t k = 0; k < t->rank; k++) index = index * t->shape[k] + coord[k];
  return index;
}

/* Element of x, broadcast to y, that element i of y reads. */
TN_KIT_FN int64_t tn_index_broadcast(const tn_tensor *x, const tn_tensor *y, int64_t i);

/* Copies element `from` of in (NULL: zero, or an empty string) to element `to` of the output, of
 * the same dtype, whichever that is. */
TN_KIT_FN tn_status tn_element_copy(const tn_call *call, uint32_t output, int64_t to,
                                    const tn_tensor *in, int64_t from);

#ifdef TN_KIT_BODIES

TN_KIT_FN int64_t tn_index_broadcast(const tn_tensor *x, const tn_tensor *y, int64_t i) {
  int64_t index = 0, step = 1;
  for (int32_t k = y->rank - 1, own = x->rank - 1; own >= 0; k--, own--) {
    if (x->shape[own] != 1) index += i % y->shape[k] * step;
    step *= x->shape[own];
    i /= y->shape[k];
  }
  return index;
}

TN_KIT_FN tn_status tn_element_copy(const tn_call *call, uint32_t output, int64_t to,
                                    const tn_tensor *in, int64_t from) {
  const tn_tensor *out = call->outputs[output];
  const tn_dtype_info *info = tn_dtype(out->dtype);
  if (out->dtype == TN_STRING) {
    tn_str text = {"", 0};
    if (in) text = ((const tn_str *)in->data)[from];
    return call->host->string_set(call->ctx, output, to, text.data, text.size);
  }
  if (info->bits >= 8) { /* zero is all bits 0, also in a type that has no zero */
    size_t bytes = info->bits / 8;
    uint8_t *dst = (uint8_t *)out->data + (size_t)to * bytes;
    if (in)
      memcpy(dst, (const uint8_t *)in->data + (size_t)from * bytes, bytes);
    else
      memset(dst, 0, bytes);
  } else if (info->is_int) {
    tn_store_i64(out->dtype, out->data, to, in ? tn_load_i64(in->dtype, in->data, from) : 0);
  } else {
    tn_store_f64(out->dtype, out->data, to, in ? tn_load_f64(in->dtype, in->data, from) : 0);
  }
  return TN_OK;
}

#endif

#endif
