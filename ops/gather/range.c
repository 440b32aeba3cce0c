/* Range and ConstantOfShape: tensors out of nothing but a few numbers. */
#include <math.h>

#include "rows.h"
#include "tenon/kit/lower.h"

#include "gather.gen.h"

/* ---- Range ---- */

/* Elements of start, start + delta, ... before limit, in 64-bit integers; the difference is taken
 * unsigned. */
static int64_t count_ints(int64_t start, int64_t limit, int64_t delta) {
  if (delta > 0 ? limit <= start : limit >= start) return 0;
  uint64_t span = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
  uint64_t step = delta > 0 ? (uint64_t)delta : -(uint64_t)delta,
           n = span / step + (span % step > 0);
  return n > INT64_MAX ? -1 : (int64_t)n;
}

tn_status range_infer(const tn_call *call) {
  double x[3] = {0};
  int64_t i[3] = {0}, n = 0;
  uint32_t dtype = call->inputs[0]->dtype;
  for (uint32_t k = 0; k < 3; k++) {
    tn_status s = tn_const_elements(call, k, &n);
    if (s) return s;
    if (n != 1)
      return call->host->fail(call->ctx, TN_ERR_SHAPE,
                              "start, limit and delta must be one element each");
    x[k] = tn_load_f64(dtype, call->inputs[k]->data, 0);
    i[k] = tn_load_i64(dtype, call->inputs[k]->data, 0);
  }
  if (x[2] == 0 || isnan(x[2]))
    return call->host->fail(call->ctx, TN_ERR_INVALID, "delta is %g", x[2]);
  if (tn_dtype(dtype)->is_int) {
    n = count_ints(i[0], i[1], i[2]);
  } else {
    double count = ceil((x[1] - x[0]) / x[2]);
    n = count > 0 ? count < 9e18 ? (int64_t)count : -1 : 0;
  }
  if (n < 0)
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW,
                            "the range has more elements than 64 bits can count");
  tn_infer_shape(call, 0, dtype, 1, &n);
  return TN_OK;
}

tn_status range_reference(const tn_call *call) {
  const tn_tensor *out = call->outputs[0];
  bool ints = tn_dtype(out->dtype)->is_int;
  for (int64_t k = 0; k < out->shape[0]; k++) {
    if (ints) {
      uint64_t start = (uint64_t)tn_load_i64(out->dtype, call->inputs[0]->data, 0),
               delta = (uint64_t)tn_load_i64(out->dtype, call->inputs[2]->data, 0);
      tn_store_i64(out->dtype, out->data, k, (int64_t)(start + (uint64_t)k * delta));
    } else {
      tn_store_f64(out->dtype, out->data, k,
                   tn_load_f64(out->dtype, call->inputs[0]->data, 0) +
                       (double)k * tn_load_f64(out->dtype, call->inputs[2]->data, 0));
    }
  }
  return TN_OK;
}

tn_status range_plan(const tn_call *call, tn_kernel_plan *out) {
  out->items[0] = call->outputs[0]->shape[0];
  out->grain[0] = 4096;
  return TN_OK;
}

tn_status range_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                  uint32_t worker) {
  const tn_tensor *out = call->outputs[0];
  double start = tn_load_f64(out->dtype, call->inputs[0]->data, 0),
         delta = tn_load_f64(out->dtype, call->inputs[2]->data, 0);
  uint64_t first = (uint64_t)tn_load_i64(out->dtype, call->inputs[0]->data, 0),
           step = (uint64_t)tn_load_i64(out->dtype, call->inputs[2]->data, 0);
  (void)stage, (void)worker;
  if (out->dtype == TN_I64) {
    int64_t *to = out->data;
    for (int64_t k = begin; k < end; k++) to[k] = (int64_t)(first + (uint64_t)k * step);
  } else if (out->dtype == TN_F32) {
    float *to = out->data;
    for (int64_t k = begin; k < end; k++) to[k] = (float)(start + (double)k * delta);
  } else if (tn_dtype(out->dtype)->is_int) {
    for (int64_t k = begin; k < end; k++)
      tn_store_i64(out->dtype, out->data, k, (int64_t)(first + (uint64_t)k * step));
  } else {
    for (int64_t k = begin; k < end; k++)
      tn_store_f64(out->dtype, out->data, k, start + (double)k * delta);
  }
  return TN_OK;
}

/* ---- ConstantOfShape: a region that covers nothing and is filled ---- */

tn_status constant_of_shape_infer(const tn_call *call) {
  const tn_constant_of_shape_attrs *a = call->attrs;
  int64_t dims[TN_MAX_RANK], n;
  tn_status s = tn_const_ints(call, 0, dims, TN_MAX_RANK, &n);
  if (s) return s;
  for (int64_t k = 0; k < n; k++)
    if (dims[k] < 0)
      return call->host->fail(call->ctx, TN_ERR_INVALID, "dim %lld of the shape is %lld",
                              (long long)k, (long long)dims[k]);
  if (a->has_value && tn_elements(a->value) != 1)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "value must be one element");
  tn_infer_shape(call, 0, a->has_value ? a->value->dtype : TN_F32, (int32_t)n, dims);
  return TN_OK;
}

tn_status constant_of_shape_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_constant_of_shape_attrs *a = call->attrs;
  float zero = 0;
  tn_tensor element = tn_tensor_make(TN_F32, 0, NULL, &zero);
  int32_t value = tn_emit_const(call, graph, a->has_value ? a->value : &element);
  if (value < 0) return value;
  tn_moves moves = tn_moves_begin(call, graph);
  return tn_moves_become(&moves, node, &value, 1, 0);
}

tn_status constant_of_shape_reference(const tn_call *call) {
  const tn_constant_of_shape_attrs *a = call->attrs;
  tn_status s = TN_OK;
  for (int64_t k = 0; k < tn_elements(call->outputs[0]) && !s; k++)
    s = tn_element_copy(call, 0, k, a->has_value ? a->value : NULL, 0);
  return s;
}
