/* Sequences: building, reading and changing them item by item. */
#include "sequence.h"

#include "tenon/kit/onnx_dtype.h"

tn_status sequence_plan(const tn_call *call, tn_kernel_plan *out) {
  (void)call;
  out->flags = TN_PLAN_DATA_DEPENDENT;
  return TN_OK;
}

tn_status sequence_want(const tn_call *call, uint32_t input, uint32_t kind) {
  static const char *const names[] = {"a tensor", "a sequence", "an optional", "a map"};
  if (tn_has_input(call, input) && call->inputs[input]->kind == kind) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_INVALID, "input %u must be %s", (unsigned)input,
                          names[kind]);
}

void sequence_list_of(tn_tensor *out, uint32_t kind, const tn_tensor *item) {
  *out = tn_tensor_make(item->dtype, TN_RANK_UNKNOWN, NULL, NULL);
  out->kind = kind;
  out->elements = item->kind == TN_KIND_TENSOR ? 0 : TN_ELEMENTS(item->kind, item->elements);
}

void sequence_item_of(tn_tensor *out, const tn_tensor *list) {
  *out = tn_tensor_make(list->dtype, TN_RANK_UNKNOWN, NULL, NULL);
  out->kind = list->elements & 15u;
  if (out->kind != TN_KIND_TENSOR)
    out->elements =
        (list->elements & UINT32_C(0xff000000)) | (list->elements & UINT32_C(0xffffff)) >> 4;
}

tn_status sequence_position(const tn_call *call, uint32_t input, int64_t n, int64_t missing,
                            int64_t *out) {
  *out = missing;
  if (!tn_has_input(call, input)) return TN_OK;
  const tn_tensor *t = call->inputs[input];
  if (tn_elements(t) != 1)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "the position must be one number");
  int64_t position = tn_load_i64(t->dtype, t->data, 0);
  *out = position < 0 ? position + n : position;
  if (*out >= 0 && *out < n) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_INVALID, "position %lld is outside %lld .. %lld",
                          (long long)position, (long long)-n, (long long)n - 1);
}

/* ---- inference ---- */

tn_status sequence_empty_infer(const tn_call *call) {
  const tn_sequence_empty_attrs *a = call->attrs;
  tn_tensor item = tn_tensor_make(a->has_dtype ? tn_dtype_of_onnx(a->dtype) : TN_F32,
                                  TN_RANK_UNKNOWN, NULL, NULL);
  if (item.dtype == TN_NONE)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute 'dtype' is %lld, which is no type", (long long)a->dtype);
  sequence_list_of(call->outputs[0], TN_KIND_SEQUENCE, &item);
  return TN_OK;
}

tn_status sequence_construct_infer(const tn_call *call) {
  if (!call->n_inputs) return call->host->fail(call->ctx, TN_ERR_INVALID, "has no inputs");
  for (uint32_t k = 0; k < call->n_inputs; k++) {
    tn_status s = sequence_want(call, k, TN_KIND_TENSOR);
    if (s) return s;
  }
  sequence_list_of(call->outputs[0], TN_KIND_SEQUENCE, call->inputs[0]);
  return TN_OK;
}

static tn_status same_sequence(const tn_call *call) {
  tn_status s = sequence_want(call, 0, TN_KIND_SEQUENCE);
  if (!s) *call->outputs[0] = *call->inputs[0];
  return s;
}

tn_status sequence_insert_infer(const tn_call *call) {
  tn_status s = sequence_want(call, 1, TN_KIND_TENSOR);
  return s ? s : same_sequence(call);
}

tn_status sequence_erase_infer(const tn_call *call) { return same_sequence(call); }

tn_status sequence_at_infer(const tn_call *call) {
  tn_status s = sequence_want(call, 0, TN_KIND_SEQUENCE);
  if (!s) sequence_item_of(call->outputs[0], call->inputs[0]);
  return s;
}

tn_status sequence_length_infer(const tn_call *call) {
  tn_infer_shape(call, 0, TN_I64, 0, NULL);
  return sequence_want(call, 0, TN_KIND_SEQUENCE);
}

/* ---- kernels ---- */

#define KERNEL(name)                                                              \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                 uint32_t worker) {                                               \
    (void)stage, (void)begin, (void)end, (void)worker;

/* Output 0, a list, gets items begin .. end of input 0. */
static tn_status append_range(const tn_call *call, int64_t begin, int64_t end) {
  tn_status s = TN_OK;
  for (int64_t k = begin; k < end && !s; k++)
    s = call->host->list_append(call->ctx, 0, call->host->list_item(call->ctx, call->inputs[0], k));
  return s;
}

KERNEL(sequence_empty_c)
(void)call; /* lists start empty */
return TN_OK;
}

KERNEL(sequence_construct_c)
tn_status s = TN_OK;
for (uint32_t k = 0; k < call->n_inputs && !s; k++)
  s = call->host->list_append(call->ctx, 0, call->inputs[k]);
return s;
}

KERNEL(sequence_insert_c)
int64_t n = call->host->list_size(call->ctx, call->inputs[0]), at = n;
if (tn_has_input(call, 2) && tn_elements(call->inputs[2]) == 1 &&
    tn_load_i64(call->inputs[2]->dtype, call->inputs[2]->data, 0) == n)
  at = n; /* the one place where something can be put in though there is no item */
else {
  tn_status s = sequence_position(call, 2, n, n, &at);
  if (s) return s;
}
tn_status s = append_range(call, 0, at);
if (!s) s = call->host->list_append(call->ctx, 0, call->inputs[1]);
return s ? s : append_range(call, at, n);
}

KERNEL(sequence_erase_c)
int64_t n = call->host->list_size(call->ctx, call->inputs[0]), at;
tn_status s = sequence_position(call, 1, n, n - 1, &at);
if (!s && at < 0) s = call->host->fail(call->ctx, TN_ERR_INVALID, "the sequence is empty");
if (!s) s = append_range(call, 0, at);
return s ? s : append_range(call, at + 1, n);
}

KERNEL(sequence_at_c)
int64_t at;
tn_status s = sequence_position(call, 1, call->host->list_size(call->ctx, call->inputs[0]), 0, &at);
return s ? s
         : call->host->output_set(call->ctx, 0,
                                  call->host->list_item(call->ctx, call->inputs[0], at));
}

KERNEL(sequence_length_c)
*(int64_t *)call->outputs[0]->data = call->host->list_size(call->ctx, call->inputs[0]);
return TN_OK;
}
