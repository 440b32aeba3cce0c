/* Helpers of the control-flow operators; see control.h. */
#include "control.h"

#include <string.h>

tn_status control_plan(const tn_call *call, tn_kernel_plan *out) {
  (void)call;
  out->flags = TN_PLAN_DATA_DEPENDENT;
  return TN_OK;
}

tn_tensor control_unknown(void) { return tn_tensor_make(TN_NONE, TN_RANK_UNKNOWN, NULL, NULL); }

tn_tensor control_merge(const tn_tensor *a, const tn_tensor *b) {
  tn_tensor r = *a;
  if (a->dtype != b->dtype || a->kind != b->kind || a->rank != b->rank) {
    r = control_unknown();
    r.kind = a->kind;
    r.elements = a->elements;
    if (a->kind == TN_KIND_OPTIONAL &&
        b->kind != TN_KIND_OPTIONAL) { /* bodies give bare what they take as an optional */
      r.kind = a->elements & 15u;
      r.elements = (a->elements & UINT32_C(0xff000000)) | (a->elements & UINT32_C(0xffffff)) >> 4;
    }
    r.dtype = a->dtype == b->dtype ? a->dtype : TN_NONE;
    return r;
  }
  for (int32_t k = 0; k < a->rank; k++)
    if (a->shape[k] != b->shape[k]) r.shape[k] = TN_DIM_UNKNOWN;
  return r;
}

tn_tensor **control_types(const tn_call *call, uint32_t n) {
  size_t head = ((n + 1) * sizeof(tn_tensor *) + 63) / 64 * 64;
  tn_tensor **pointers = call->host->alloc(call->ctx, head + n * sizeof(tn_tensor));
  tn_tensor *types = pointers ? (tn_tensor *)(void *)((char *)pointers + head) : NULL;
  for (uint32_t k = 0; pointers && k < n; k++) {
    types[k] = control_unknown();
    pointers[k] = &types[k];
  }
  return pointers;
}

void control_types_free(const tn_call *call, tn_tensor **types) {
  call->host->free(call->ctx, (void *)types);
}

tn_status control_one(const tn_call *call, uint32_t input, const char *name, const void **out) {
  const tn_tensor *t = tn_input(call, input);
  *out = NULL;
  if (!t || tn_tensor_elements(t) < 0) return TN_OK;
  if (tn_tensor_elements(t) != 1)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "input '%s' has %lld elements, not one", name,
                            (long long)tn_tensor_elements(t));
  *out = t->data;
  return TN_OK;
}

void control_slice(const tn_tensor *whole, int32_t axis, int64_t index, void *slice, bool put) {
  int64_t outer = 1, inner = 1, n = whole->shape[axis];
  for (int32_t k = 0; k < axis; k++) outer *= whole->shape[k];
  for (int32_t k = axis + 1; k < whole->rank; k++) inner *= whole->shape[k];
  size_t bytes = (size_t)inner * (tn_dtype(whole->dtype)->bits / 8);
  char *one = slice, *all = whole->data;
  for (int64_t o = 0; bytes && o < outer; o++) {
    char *at = all + (size_t)(o * n + index) * bytes;
    memcpy(put ? at : one + (size_t)o * bytes, put ? one + (size_t)o * bytes : at, bytes);
  }
}

static tn_status stack_strings(const tn_call *call, uint32_t output, const tn_tensor *const *values,
                               int64_t n, bool reverse) {
  int64_t each = n ? tn_tensor_elements(values[0]) : 0;
  tn_status s = TN_OK;
  for (int64_t k = 0; k < n; k++) {
    const tn_str *from = values[reverse ? n - 1 - k : k]->data;
    for (int64_t j = 0; j < each && !s; j++)
      s = call->host->string_set(call->ctx, output, k * each + j, from[j].data, from[j].size);
  }
  return s;
}

tn_status control_stack(const tn_call *call, uint32_t output, const tn_tensor *const *values,
                        int64_t n, int64_t axis, bool reverse) {
  const tn_tensor *first = n ? values[0] : call->outputs[output];
  int64_t shape[TN_MAX_RANK + 1];
  int32_t rank = n ? first->rank + 1 : first->rank < 1 ? 1 : first->rank;
  if (axis < 0) axis += rank;
  if (rank > TN_MAX_RANK || axis < 0 || axis >= rank)
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW,
                            "stacking output %u along axis %lld gives rank %d", output,
                            (long long)axis, rank);
  for (int32_t k = 0; k < rank; k++) {
    int64_t dim =
        !n ? (k < first->rank ? first->shape[k] : 0) : first->shape[k < axis ? k : k - (k > axis)];
    shape[k] = k == axis ? n : dim < 0 ? 0 : dim;
  }
  for (int64_t k = 1; k < n; k++)
    if (!tn_same_shape(values[k], first))
      return call->host->fail(call->ctx, TN_ERR_SHAPE,
                              "output %u: iteration %lld gives another shape than the first",
                              output, (long long)k);
  tn_tensor type =
      tn_tensor_make(n ? first->dtype : call->outputs[output]->dtype, rank, shape, NULL);
  if (n && (first->kind != TN_KIND_TENSOR || tn_dtype(type.dtype)->bits % 8))
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                            "not supported: stacking output %u, whose iterations give %s", output,
                            first->kind != TN_KIND_TENSOR ? "lists" : tn_dtype_name(type.dtype));
  if (call->outputs[output]->dtype == TN_NONE) call->outputs[output]->dtype = type.dtype;
  if (call->outputs[output]->dtype != type.dtype)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "output %u: iterations give %s instead of %s",
                            output, tn_dtype_name(type.dtype),
                            tn_dtype_name(call->outputs[output]->dtype));
  tn_status s = call->host->output_resize(call->ctx, output, rank, shape);
  if (s || !n) return s;
  type.data = call->outputs[output]->data;
  if (first->dtype == TN_STRING) return stack_strings(call, output, values, n, reverse);
  for (int64_t k = 0; k < n; k++)
    control_slice(&type, (int32_t)axis, reverse ? n - 1 - k : k, values[k]->data, true);
  return TN_OK;
}

tn_status control_stack_none(const tn_call *call, uint32_t output, const tn_tensor *element,
                             int64_t axis) {
  int64_t shape[TN_MAX_RANK + 1];
  int32_t rank = tn_max_i64(element->rank, 0) < TN_MAX_RANK
                     ? (int32_t)tn_max_i64(element->rank, 0) + 1
                     : TN_MAX_RANK;
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || element->rank == TN_MAX_RANK)
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW,
                            "stacking output %u along axis %lld gives rank %d", output,
                            (long long)axis, (int)tn_max_i64(element->rank, 0) + 1);
  for (int32_t k = 0; k < rank; k++) {
    int64_t dim = k == axis ? 0 : element->shape[k < axis ? k : k - 1];
    shape[k] = dim < 0 ? 0 : dim;
  }
  if (call->outputs[output]->dtype == TN_NONE) call->outputs[output]->dtype = element->dtype;
  return call->host->output_resize(call->ctx, output, rank, shape);
}
