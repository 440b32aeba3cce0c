/* Unique: inference and reference (quadratic: compares every item with those found before). */
#include "unique.h"
#include "rows.h"

#include "gather.gen.h"

tn_status unique_infer(const tn_call *call) {
  const tn_unique_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0];
  int64_t dims[TN_MAX_RANK] = {TN_DIM_UNKNOWN}, unknown = TN_DIM_UNKNOWN;
  int32_t axis = 0;
  tn_status s = a->has_axis ? tn_axis_normalize(call, a->axis, in->rank, &axis) : TN_OK;
  for (int32_t k = 0; a->has_axis && k < in->rank; k++)
    dims[k] = k == axis ? unknown : in->shape[k];
  tn_infer_shape(call, 0, in->dtype, a->has_axis ? in->rank : 1, dims);
  for (uint32_t k = 1; k < 4; k++) tn_infer_shape(call, k, TN_I64, 1, &unknown);
  return s;
}

around unique_around(const tn_call *call) {
  const tn_unique_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0];
  around flat = {1, tn_elements(in), 1};
  return a->has_axis ? around_axis(in, (int32_t)(a->axis < 0 ? a->axis + in->rank : a->axis))
                     : flat;
}

tn_status unique_resize(const tn_call *call, int64_t n) {
  const tn_unique_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0];
  int64_t dims[TN_MAX_RANK] = {n}, size = unique_around(call).size;
  for (int32_t k = 0; a->has_axis && k < in->rank; k++) dims[k] = in->shape[k];
  if (a->has_axis) dims[a->axis < 0 ? a->axis + in->rank : a->axis] = n;
  tn_status s = call->host->output_resize(call->ctx, 0, a->has_axis ? in->rank : 1, dims);
  if (!s && tn_has_output(call, 1)) s = call->host->output_resize(call->ctx, 1, 1, &n);
  if (!s && tn_has_output(call, 2)) s = call->host->output_resize(call->ctx, 2, 1, &size);
  if (!s && tn_has_output(call, 3)) s = call->host->output_resize(call->ctx, 3, 1, &n);
  return s;
}

static int compare(const tn_tensor *in, const around *u, int64_t a, int64_t b) {
  for (int64_t k = 0; k < u->before * u->after; k++) {
    int64_t base = k / u->after * u->size * u->after + k % u->after;
    int order = rows_order(in, base + a * u->after, base + b * u->after);
    if (order) return order;
  }
  return 0;
}

static void set(const tn_call *call, uint32_t output, int64_t index, int64_t value) {
  if (tn_has_output(call, output)) tn_store_i64(TN_I64, call->outputs[output]->data, index, value);
}

static bool is_first(const tn_tensor *in, const around *u, int64_t k) {
  for (int64_t j = 0; j < k; j++)
    if (compare(in, u, j, k) == 0) return false;
  return true;
}

/* Where item k, the first of its value, comes out. */
static int64_t rank_of(const tn_tensor *in, const around *u, int64_t k, bool sorted) {
  int64_t rank = 0;
  for (int64_t j = 0; j < u->size; j++)
    if (is_first(in, u, j)) rank += sorted ? compare(in, u, j, k) < 0 : j < k;
  return rank;
}

tn_status unique_reference(const tn_call *call) {
  const tn_unique_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0];
  around u = unique_around(call);
  int64_t n = 0;
  for (int64_t k = 0; k < u.size; k++) n += is_first(in, &u, k);
  tn_status s = unique_resize(call, n);
  for (int64_t k = 0; k < u.size && !s; k++) {
    if (!is_first(in, &u, k)) continue;
    int64_t rank = rank_of(in, &u, k, a->sorted != 0), count = 0;
    for (int64_t i = 0; i < u.before && !s; i++)
      for (int64_t j = 0; j < u.after && !s; j++)
        s = tn_element_copy(call, 0, (i * n + rank) * u.after + j, in,
                            (i * u.size + k) * u.after + j);
    for (int64_t j = 0; j < u.size; j++) {
      if (compare(in, &u, j, k)) continue;
      set(call, 2, j, rank);
      count++;
    }
    set(call, 1, rank, k);
    set(call, 3, rank, count);
  }
  return s;
}
