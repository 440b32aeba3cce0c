/* OneHot: inference, reference and kernel. */
#include "rows.h"

#include "gather.gen.h"

tn_status one_hot_infer(const tn_call *call) {
  const tn_one_hot_attrs *a = call->attrs;
  const tn_tensor *indices = call->inputs[0], *values = call->inputs[2];
  int64_t dims[TN_MAX_RANK + 1], n;
  int32_t axis = 0;
  tn_status s = tn_axis_normalize(call, a->axis, indices->rank + 1, &axis);
  if (!s) s = tn_const_elements(call, 1, &n);
  if (s) return s;
  if (n != 1 || tn_elements(values) != 2)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "depth must be one element and values two; they have %lld and %lld",
                            (long long)n, (long long)tn_elements(values));
  if (indices->rank == TN_MAX_RANK)
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW,
                            "the output would have rank %d; at most %d is supported",
                            (int)TN_MAX_RANK + 1, (int)TN_MAX_RANK);
  int64_t depth = tn_load_i64(call->inputs[1]->dtype, call->inputs[1]->data, 0);
  if (depth < 0)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "depth is %lld", (long long)depth);
  for (int32_t k = 0; k < indices->rank + 1; k++)
    dims[k] = k == axis ? depth : indices->shape[k - (k > axis)];
  tn_infer_shape(call, 0, values->dtype, indices->rank + 1, dims);
  return TN_OK;
}

tn_status one_hot_reference(const tn_call *call) {
  const tn_one_hot_attrs *a = call->attrs;
  const tn_tensor *indices = call->inputs[0], *out = call->outputs[0];
  int32_t axis = (int32_t)(a->axis < 0 ? a->axis + out->rank : a->axis);
  int64_t coord[TN_MAX_RANK], depth = out->shape[axis];
  tn_status s = TN_OK;
  for (int64_t i = 0; i < tn_elements(out) && !s; i++) {
    tn_coords_of(out, i, coord);
    int64_t place = coord[axis];
    for (int32_t k = axis; k + 1 < out->rank; k++) coord[k] = coord[k + 1];
    int64_t index = tn_load_i64(indices->dtype, indices->data, tn_index_of(indices, coord));
    s = tn_element_copy(call, 0, i, call->inputs[2], index == place || index == place - depth);
  }
  return s;
}

static around one_hot_around(const tn_call *call) {
  const tn_one_hot_attrs *a = call->attrs;
  const tn_tensor *out = call->outputs[0];
  return around_axis(out, (int32_t)(a->axis < 0 ? a->axis + out->rank : a->axis));
}

/* An item is depth times what is after the axis: first all off, then some on. */
tn_status one_hot_plan(const tn_call *call, tn_kernel_plan *out) {
  around u = one_hot_around(call);
  rows_plan(call, u.before, u.size * u.after, out);
  return TN_OK;
}

tn_status one_hot_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                    uint32_t worker) {
  const tn_tensor *indices = call->inputs[0], *values = call->inputs[2];
  around u = one_hot_around(call);
  rows r = rows_of(call, 0);
  tn_status s = TN_OK;
  (void)stage, (void)worker;
  rows_range(&r, u.before, &begin, &end);
  for (int64_t k = begin; k < end && !s; k++) {
    int64_t base = k * u.size * u.after;
    s = rows_fill(&r, base, values, 0, u.size * u.after);
    for (int64_t j = 0; j < u.after && !s; j++) {
      int64_t index = tn_load_i64(indices->dtype, indices->data, k * u.after + j);
      if (index < 0) index += u.size;
      if (index >= 0 && index < u.size) s = rows_copy(&r, base + index * u.after + j, values, 1, 1);
    }
  }
  return s;
}
