/* ReverseSequence: the first sequence_lens[b] steps of every batch backwards. */
#include "rows.h"

#include "gather.gen.h"

tn_status reverse_sequence_infer(const tn_call *call) {
  const tn_reverse_sequence_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0], *lengths = call->inputs[1];
  char x[TN_TENSOR_TEXT];
  if (in->rank < 2)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "the input must have rank 2 or more, not %d",
                            (int)in->rank);
  if (a->time_axis < 0 || a->time_axis > 1 || a->batch_axis < 0 || a->batch_axis > 1 ||
      a->time_axis == a->batch_axis)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "time_axis %lld and batch_axis %lld must be 0 and 1, or 1 and 0",
                            (long long)a->time_axis, (long long)a->batch_axis);
  if (lengths->rank != 1 || lengths->shape[0] != in->shape[a->batch_axis])
    return call->host->fail(
        call->ctx, TN_ERR_SHAPE, "sequence_lens is %s; it needs one element per batch (%lld)",
        tn_tensor_text(lengths, x, sizeof x), (long long)in->shape[a->batch_axis]);
  return tn_infer_like(call, 0, 0);
}

static tn_status length_get(const tn_call *call, int64_t batch, int64_t steps, int64_t *out) {
  *out = ((const int64_t *)call->inputs[1]->data)[batch];
  if (*out >= 0 && *out <= steps) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_INVALID,
                          "sequence_lens[%lld] is %lld; there are %lld steps", (long long)batch,
                          (long long)*out, (long long)steps);
}

tn_status reverse_sequence_reference(const tn_call *call) {
  const tn_reverse_sequence_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0];
  int64_t coord[TN_MAX_RANK], length = 0;
  tn_status s = TN_OK;
  for (int64_t i = 0; i < tn_elements(in) && !s; i++) {
    tn_coords_of(in, i, coord);
    s = length_get(call, coord[a->batch_axis], in->shape[a->time_axis], &length);
    int64_t *step = &coord[a->time_axis];
    if (*step < length) *step = length - 1 - *step;
    if (!s) s = tn_element_copy(call, 0, i, in, tn_index_of(in, coord));
  }
  return s;
}

static int64_t row_elements(const tn_tensor *t) {
  int64_t n = 1;
  for (int32_t k = 2; k < t->rank; k++) n *= t->shape[k];
  return n;
}

tn_status reverse_sequence_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *in = call->inputs[0];
  rows_plan(call, in->shape[0] * in->shape[1], row_elements(in), out);
  return TN_OK;
}

tn_status reverse_sequence_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                             uint32_t worker) {
  const tn_reverse_sequence_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0];
  int64_t n = row_elements(in), length = 0;
  rows r = rows_of(call, 0);
  tn_status s = TN_OK;
  (void)stage, (void)worker;
  rows_range(&r, in->shape[0] * in->shape[1], &begin, &end);
  for (int64_t row = begin; row < end && !s; row++) {
    int64_t at[2] = {row / in->shape[1], row % in->shape[1]};
    s = length_get(call, at[a->batch_axis], in->shape[a->time_axis], &length);
    int64_t *step = &at[a->time_axis];
    if (*step < length) *step = length - 1 - *step;
    if (!s) s = rows_copy(&r, row * n, in, (at[0] * in->shape[1] + at[1]) * n, n);
  }
  return s;
}
