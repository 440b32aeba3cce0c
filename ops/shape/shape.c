/* Shape and Size: they read the type of their input, never its data. */
#include "shape.h"

#include "shape.gen.h"

/* The dims that Shape answers: begin .. end of the input's. */
static void dims_range(const tn_call *call, int64_t *out_begin, int64_t *out_end) {
  const tn_shape_attrs *a = call->attrs;
  int64_t rank = call->inputs[0]->rank, begin = a->start, end = a->has_end ? a->end : rank;
  if (begin < 0) begin += rank;
  if (end < 0) end += rank;
  begin = tn_min_i64(tn_max_i64(begin, 0), rank);
  end = tn_min_i64(tn_max_i64(end, 0), rank);
  *out_begin = begin;
  *out_end = tn_max_i64(begin, end);
}

tn_status shape_infer(const tn_call *call) {
  int64_t begin, end, n;
  dims_range(call, &begin, &end);
  n = end - begin;
  tn_infer_shape(call, 0, TN_I64, 1, &n);
  return TN_OK;
}

tn_status shape_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                  uint32_t worker) {
  int64_t first, last, *out = call->outputs[0]->data;
  (void)stage, (void)begin, (void)end, (void)worker;
  dims_range(call, &first, &last);
  for (int64_t k = first; k < last; k++) out[k - first] = call->inputs[0]->shape[k];
  return TN_OK;
}

/* Says the same the other way round: walks all dims and keeps those that start and end let through.
 */
tn_status shape_reference(const tn_call *call) {
  const tn_shape_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0];
  int64_t n = 0;
  for (int64_t k = 0; k < in->rank; k++) {
    bool after_start = a->start < 0 ? k - in->rank >= a->start : k >= a->start;
    bool before_end = !a->has_end || (a->end < 0 ? k - in->rank < a->end : k < a->end);
    if (after_start && before_end) tn_store_i64(TN_I64, call->outputs[0]->data, n++, in->shape[k]);
  }
  return TN_OK;
}

tn_status size_infer(const tn_call *call) {
  tn_infer_shape(call, 0, TN_I64, 0, NULL);
  return TN_OK;
}

tn_status size_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  *(int64_t *)call->outputs[0]->data = tn_elements(call->inputs[0]);
  return TN_OK;
}

tn_status size_reference(const tn_call *call) {
  int64_t n = 1;
  for (int32_t k = 0; k < call->inputs[0]->rank; k++) n *= call->inputs[0]->shape[k];
  tn_store_i64(TN_I64, call->outputs[0]->data, 0, n);
  return TN_OK;
}
