/* Slices taken out of a tensor, and values of one shape put together to one. */
#include <string.h>

#include "control.h"

/* Of a slice, what lies together. */
static size_t run_bytes(const tn_tensor *t, tn_axis_view v) {
  return (size_t)v.inner * (tn_dtype(t->dtype)->bits / 8);
}

void control_slice(const tn_tensor *whole, int32_t axis, int64_t index, void *slice) {
  const tn_axis_view v = tn_axis_view_of(whole, axis);
  const size_t bytes = run_bytes(whole, v);
  const char *from = (const char *)whole->data + (size_t)index * bytes;
  for (int64_t o = 0; bytes && o < v.outer; o++)
    memcpy((char *)slice + (size_t)o * bytes, from + (size_t)(o * v.n) * bytes, bytes);
}

tn_status control_stacked(const tn_call *call, uint32_t output, const tn_tensor *one, int64_t axis,
                          int64_t n, tn_tensor *out) {
  tn_tensor type = *one;
  type.data = NULL;
  *out = type;
  if (one->rank < 0) return TN_OK;
  const int64_t at = axis < 0 ? axis + one->rank + 1 : axis;
  if (one->rank == TN_MAX_RANK || at < 0 || at > one->rank)
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW,
                            "stacking output %u along axis %lld gives rank %d", output,
                            (long long)axis, one->rank + 1);
  for (int32_t d = one->rank; d > at; d--) type.shape[d] = type.shape[d - 1];
  type.shape[at] = n;
  type.rank++;
  *out = type;
  return TN_OK;
}

tn_status control_begin(const tn_call *call, uint32_t output, const tn_tensor *type) {
  tn_tensor *to = call->outputs[output];
  int64_t dims[TN_MAX_RANK];
  if (type->kind != TN_KIND_TENSOR || tn_dtype(type->dtype)->bits % 8)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                            "not supported: stacking output %u, whose iterations give %s", output,
                            type->kind != TN_KIND_TENSOR ? "lists" : tn_dtype(type->dtype)->name);
  if (to->dtype == TN_NONE) to->dtype = type->dtype;
  if (to->dtype != type->dtype)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "output %u: iterations give %s instead of %s",
                            output, tn_dtype(type->dtype)->name, tn_dtype(to->dtype)->name);
  for (int32_t d = 0; d < type->rank; d++) dims[d] = tn_max_i64(type->shape[d], 0);
  return call->host->output_resize(call->ctx, output, type->rank, dims);
}

tn_status control_nothing(const tn_call *call, uint32_t output, const tn_tensor *one,
                          int64_t axis) {
  tn_tensor type = *one;
  if (type.dtype == TN_NONE) type.dtype = call->outputs[output]->dtype;
  if (type.rank < 0) type.rank = 0;
  tn_status s = control_stacked(call, output, &type, axis, 0, &type);
  return s ? s : control_begin(call, output, &type);
}

static tn_status put_strings(const tn_call *call, uint32_t output, tn_axis_view at, int64_t index,
                             const tn_str *from) {
  tn_status s = TN_OK;
  for (int64_t o = 0; o < at.outer; o++)
    for (int64_t k = 0; k < at.inner && !s; k++, from++)
      s = call->host->string_set(call->ctx, output, (o * at.n + index) * at.inner + k, from->data,
                                 from->size);
  return s;
}

tn_status control_put(const tn_call *call, uint32_t output, const tn_tensor *type, tn_axis_view at,
                      int64_t index, const tn_tensor *value) {
  const tn_tensor *y = call->outputs[output];
  if (type->kind != TN_KIND_TENSOR || !tn_same_shape(type, y))
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "output %u: an iteration gives another type than those before", output);
  if (y->dtype == TN_STRING) return put_strings(call, output, at, index, value->data);
  const size_t bytes = run_bytes(y, at);
  char *to = (char *)y->data + (size_t)index * bytes;
  for (int64_t o = 0; bytes && o < at.outer; o++)
    memcpy(to + (size_t)(o * at.n) * bytes, (const char *)value->data + (size_t)o * bytes, bytes);
  return TN_OK;
}
