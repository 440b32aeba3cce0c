/* Trilu and EyeLike: matrices with something on one side of a diagonal, or on it. */
#include "rows.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/onnx_dtype.h"

#include "gather.gen.h"

/* ---- Trilu ---- */

tn_status trilu_infer(const tn_call *call) {
  if (call->inputs[0]->rank < 2)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "the input must have rank 2 or more, not %d",
                            (int)call->inputs[0]->rank);
  if (tn_has_input(call, 1) && tn_elements(call->inputs[1]) != 1)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "k must be one element");
  return tn_infer_like(call, 0, 0);
}

static int64_t diagonal(const tn_call *call) {
  return tn_has_input(call, 1) ? *(const int64_t *)call->inputs[1]->data : 0;
}

tn_status trilu_reference(const tn_call *call) {
  const tn_trilu_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0];
  int64_t coord[TN_MAX_RANK], k = diagonal(call);
  tn_status s = TN_OK;
  for (int64_t i = 0; i < tn_elements(in) && !s; i++) {
    tn_coords_of(in, i, coord);
    int64_t right = coord[in->rank - 1] - coord[in->rank - 2]; /* of the main diagonal */
    s = tn_element_copy(call, 0, i, (a->upper ? right >= k : right <= k) ? in : NULL, i);
  }
  return s;
}

tn_status trilu_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *in = call->inputs[0];
  int64_t columns = in->shape[in->rank - 1];
  out->in_place[0] = 0;
  rows_plan(call, columns ? tn_elements(in) / columns : 0, columns, out);
  return TN_OK;
}

tn_status trilu_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                  uint32_t worker) {
  const tn_trilu_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0];
  int64_t rows_n = in->shape[in->rank - 2], columns = in->shape[in->rank - 1], k = diagonal(call);
  bool moved = in->data == call->outputs[0]->data;
  rows r = rows_of(call, 0);
  tn_status s = TN_OK;
  (void)stage, (void)worker;
  k = tn_min_i64(tn_max_i64(k, -rows_n - columns), rows_n + columns);
  if (!moved)
    rows_range(&r, columns ? tn_elements(in) / columns : 0, &begin, &end);
  else if (!r.bytes)
    end = columns ? tn_elements(in) / columns : 0;
  for (int64_t row = begin; row < end && !s; row++) {
    int64_t at = row * columns,
            edge = tn_min_i64(tn_max_i64(row % rows_n + k + (a->upper ? 0 : 1), 0), columns);
    int64_t keep_from = a->upper ? edge : 0, keep_to = a->upper ? columns : edge;
    if (!moved) s = rows_copy(&r, at + keep_from, in, at + keep_from, keep_to - keep_from);
    if (!s) s = a->upper ? rows_zero(&r, at, edge) : rows_zero(&r, at + edge, columns - edge);
  }
  return s;
}

/* ---- EyeLike: zeros, and a region of ones along the diagonal ---- */

tn_status eye_like_infer(const tn_call *call) {
  const tn_eye_like_attrs *a = call->attrs;
  const tn_tensor *in = call->inputs[0];
  if (in->rank != 2)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "the input must have rank 2, not %d",
                            (int)in->rank);
  uint32_t dtype = a->has_dtype ? tn_dtype_of_onnx(a->dtype) : in->dtype;
  if (dtype == TN_NONE)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "dtype %lld is unknown",
                            (long long)a->dtype);
  tn_infer_shape(call, 0, dtype, 2, in->shape);
  return TN_OK;
}

tn_status eye_like_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_eye_like_attrs *a = call->attrs;
  const tn_tensor *out = call->outputs[0];
  uint8_t element[16] = {0};
  const tn_tensor one = tn_tensor_make(out->dtype, 0, NULL, element);
  int64_t rows_n = out->shape[0], columns = out->shape[1], k = a->k;
  tn_store_f64(out->dtype, element, 0, 1);
  int32_t value = tn_emit_const(call, graph, &one);
  if (value < 0) return value;
  tn_moves moves = tn_moves_begin(call, graph);
  if (k < columns && k > -rows_n) {
    tn_move m = {.dst_offset = k >= 0 ? k : -k * columns};
    tn_move_push(&m, k >= 0 ? tn_min_i64(rows_n, columns - k) : tn_min_i64(rows_n + k, columns), 0,
                 columns + 1);
    tn_moves_add(&moves, &m);
  }
  return tn_moves_become(&moves, node, &value, 1, -1);
}

tn_status eye_like_reference(const tn_call *call) {
  const tn_eye_like_attrs *a = call->attrs;
  const tn_tensor *out = call->outputs[0];
  for (int64_t i = 0; i < out->shape[0]; i++)
    for (int64_t j = 0; j < out->shape[1]; j++)
      tn_store_f64(out->dtype, out->data, i * out->shape[1] + j, j - i == a->k);
  return TN_OK;
}
