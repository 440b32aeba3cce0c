/* Row-major arithmetic, axes and the element moves of references. */
#include <string.h>

#include "shape.h"

void shape_strides(const tn_tensor *t, int64_t *strides) {
  int64_t step = 1;
  for (int32_t k = t->rank - 1; k >= 0; k--) {
    strides[k] = step;
    if (tn_mul_i64(step, t->shape[k], &step)) step = 0; /* some dim is 0: nothing is read */
  }
}

void shape_coord(const tn_tensor *t, int64_t index, int64_t *coord) {
  for (int32_t k = t->rank - 1; k >= 0; k--) {
    coord[k] = index % t->shape[k];
    index /= t->shape[k];
  }
}

int64_t shape_index(const tn_tensor *t, const int64_t *coord) {
  int64_t index = 0;
  for (int32_t k = 0; k < t->rank; k++) index = index * t->shape[k] + coord[k];
  return index;
}

tn_status shape_put(const tn_call *call, uint32_t output, int64_t to, const tn_tensor *in,
                    int64_t from) {
  const tn_tensor *out = call->outputs[output];
  const tn_dtype_info *info = tn_dtype(out->dtype);
  if (out->dtype == TN_STRING) {
    tn_str text = {"", 0};
    if (in) text = ((const tn_str *)in->data)[from];
    return call->host->string_set(call->ctx, output, to, text.data, text.size);
  }
  if (info->bits >= 8) {
    size_t bytes = info->bits / 8;
    uint8_t *dst = (uint8_t *)out->data + (size_t)to * bytes;
    if (in)
      memcpy(dst, (const uint8_t *)in->data + (size_t)from * bytes, bytes);
    else
      memset(dst, 0, bytes);
  } else if (info->is_int) {
    tn_store_i64(out->dtype, out->data, to, in ? tn_load_i64(in->dtype, in->data, from) : 0);
  } else {
    tn_store_f64(out->dtype, out->data, to, in ? tn_load_f64(in->dtype, in->data, from) : 0);
  }
  return TN_OK;
}

tn_status shape_reference_copy(const tn_call *call) {
  int64_t n = tn_tensor_elements(call->outputs[0]);
  tn_status s = TN_OK;
  for (int64_t k = 0; k < n && !s; k++) s = shape_put(call, 0, k, call->inputs[0], k);
  return s;
}

tn_status shape_axes_mask(const tn_call *call, const int64_t *axes, int64_t n, int32_t rank,
                          uint32_t *out_mask) {
  uint32_t mask = 0;
  for (int64_t k = 0; k < n; k++) {
    int32_t axis = 0;
    tn_status s = tn_axis_normalize(call, axes[k], rank, &axis);
    if (s) return s;
    if (mask >> axis & 1)
      return call->host->fail(call->ctx, TN_ERR_INVALID, "axes name dim %d twice", (int)axis);
    mask |= UINT32_C(1) << axis;
  }
  *out_mask = mask;
  return TN_OK;
}

tn_status shape_check_rank(const tn_call *call, int64_t rank) {
  if (rank <= TN_MAX_RANK) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_OVERFLOW,
                          "the output would have rank %lld; at most %d is supported",
                          (long long)rank, (int)TN_MAX_RANK);
}
