/* Compress and NonZero: how many elements come out is known only when they have run. */
#include "select.h"
#include "rows.h"

#include "gather.gen.h"

/* ---- Compress: the slices along an axis, or elements of the flattened input, whose condition is
 * true ---- */

tn_status compress_infer(const tn_call *call) {
  const tn_compress_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0];
  int64_t dims[TN_MAX_RANK] = {TN_DIM_UNKNOWN};
  int32_t axis = 0;
  if (call->inputs[1]->rank != 1)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "condition must have rank 1");
  if (!a->has_axis) {
    tn_infer_shape(call, 0, in->dtype, 1, dims);
    return TN_OK;
  }
  tn_status s = tn_axis_normalize(call, a->axis, in->rank, &axis);
  for (int32_t k = 0; k < in->rank; k++) dims[k] = k == axis ? TN_DIM_UNKNOWN : in->shape[k];
  tn_infer_shape(call, 0, in->dtype, in->rank, dims);
  return s;
}

static around compress_around(const tn_call *call) {
  const tn_compress_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0];
  around flat = {1, tn_elements(in), 1};
  return a->has_axis ? around_axis(in, (int32_t)(a->axis < 0 ? a->axis + in->rank : a->axis))
                     : flat;
}

/* Sets the output's shape: `n` along the axis. */
static tn_status compress_resize(const tn_call *call, int64_t n) {
  const tn_compress_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0];
  int64_t dims[TN_MAX_RANK];
  if (!a->has_axis) return call->host->output_resize(call->ctx, 0, 1, &n);
  for (int32_t k = 0; k < in->rank; k++) dims[k] = in->shape[k];
  dims[a->axis < 0 ? a->axis + in->rank : a->axis] = n;
  return call->host->output_resize(call->ctx, 0, in->rank, dims);
}

tn_status compress_reference(const tn_call *call) {
  const uint8_t *condition = call->inputs[1]->data;
  around u = compress_around(call);
  int64_t n = 0, to = 0, given = tn_min_i64(u.size, call->inputs[1]->shape[0]);
  for (int64_t k = 0; k < given; k++) n += condition[k] != 0;
  tn_status s = compress_resize(call, n);
  for (int64_t i = 0; i < u.before && !s; i++)
    for (int64_t k = 0; k < given && !s; k++)
      for (int64_t j = 0; condition[k] && j < u.after && !s; j++)
        s = tn_element_copy(call, 0, to++, call->inputs[0], (i * u.size + k) * u.after + j);
  return s;
}

tn_status data_dependent_plan(const tn_call *call, tn_kernel_plan *out) {
  (void)call;
  out->flags |= TN_PLAN_DATA_DEPENDENT;
  return TN_OK;
}

tn_status compress_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  const uint8_t *condition = call->inputs[1]->data;
  around u = compress_around(call);
  int64_t n = 0, to = 0, given = tn_min_i64(u.size, call->inputs[1]->shape[0]);
  (void)stage, (void)begin, (void)end, (void)worker;
  for (int64_t k = 0; k < given; k++) n += condition[k] != 0;
  tn_status s = compress_resize(call, n);
  rows r = rows_of(call, 0);
  if (!s) rows_range(&r, 0, &begin, &end);
  for (int64_t i = 0; i < u.before && !s; i++)
    for (int64_t k = 0; k < given && !s;) {
      int64_t first = k;
      while (k < given && condition[k]) k++; /* neighbours go together */
      s = rows_copy(&r, to, call->inputs[0], (i * u.size + first) * u.after, (k - first) * u.after);
      to += (k - first) * u.after;
      if (k == first) k++;
    }
  return s;
}

/* ---- NonZero: the coordinates of all elements that are not zero, one row per dim ---- */

tn_status non_zero_infer(const tn_call *call) {
  const int64_t dims[2] = {call->inputs[0]->rank, TN_DIM_UNKNOWN};
  tn_infer_shape(call, 0, TN_I64, 2, dims);
  return TN_OK;
}

bool select_is_set(const tn_tensor *t, int64_t k) {
  if (t->dtype == TN_STRING) return ((const tn_str *)t->data)[k].size != 0;
  if (t->dtype == TN_C64)
    return ((const float *)t->data)[2 * k] != 0 || ((const float *)t->data)[2 * k + 1] != 0;
  if (t->dtype == TN_C128)
    return ((const double *)t->data)[2 * k] != 0 || ((const double *)t->data)[2 * k + 1] != 0;
  if (tn_dtype_exact_i64(t->dtype)) return tn_load_i64(t->dtype, t->data, k) != 0;
  return tn_load_f64(t->dtype, t->data, k) != 0;
}

tn_status non_zero_reference(const tn_call *call) {
  const tn_tensor *in = call->inputs[0];
  int64_t dims[2] = {in->rank, 0}, coord[TN_MAX_RANK], at = 0, n = tn_elements(in);
  for (int64_t k = 0; k < n; k++) dims[1] += select_is_set(in, k);
  tn_status s = call->host->output_resize(call->ctx, 0, 2, dims);
  for (int64_t k = 0; k < n && !s; k++) {
    if (!select_is_set(in, k)) continue;
    tn_coords_of(in, k, coord);
    for (int32_t d = 0; d < in->rank; d++)
      tn_store_i64(TN_I64, call->outputs[0]->data, d * dims[1] + at, coord[d]);
    at++;
  }
  return s;
}
