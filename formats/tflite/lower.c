/* Reading nodes of TFLite and writing others in their place; see lower.h. */
#include "lower.h"

#include <math.h>

/* ---- reading ---- */

bool tfl_has_all(const tn_lowering *t) {
  bool all = t->call->n_inputs > 0;
  for (uint32_t k = 0; k < t->call->n_inputs; k++) all = all && tn_low_type(t, k);
  return all;
}

tn_status tfl_const_dims(const tn_lowering *t, uint32_t k, int64_t *out, int64_t *out_n) {
  return tn_const_ints(t->call, k, out, TN_MAX_RANK, out_n);
}

tn_status tfl_const_axes(const tn_lowering *t, uint32_t k, int32_t rank, int64_t *out,
                         int64_t *out_n) {
  int64_t given[TN_MAX_RANK * 4], n;
  uint32_t mask = 0;
  tn_status s = tn_const_ints(t->call, k, given, TN_MAX_RANK * 4, &n);
  for (int64_t i = 0; i < n && !s; i++) {
    int32_t axis = 0;
    s = tn_axis_normalize(t->call, given[i], rank, &axis);
    mask |= UINT32_C(1) << axis;
  }
  *out_n = 0;
  for (int32_t axis = 0; axis < rank; axis++)
    if (mask & UINT32_C(1) << axis) out[(*out_n)++] = axis;
  return s;
}

/* ---- writing ---- */

int32_t tfl_slice(const tn_lowering *t, int32_t x, int32_t rank, const int64_t *from,
                  const int64_t *to, const int64_t *steps) {
  int64_t axes[TN_MAX_RANK], ones[TN_MAX_RANK];
  for (int32_t k = 0; k < rank; k++) axes[k] = k, ones[k] = 1;
  const int32_t inputs[] = {x, tn_low_ints_const(t, from, rank), tn_low_ints_const(t, to, rank),
                            tn_low_ints_const(t, axes, rank),
                            tn_low_ints_const(t, steps ? steps : ones, rank)};
  return tn_low_emit(t, "Slice", inputs, 5, NULL, 0);
}

int32_t tfl_activation(const tn_lowering *t, int32_t x, uint32_t dtype) {
  switch (tn_low_int(t, "fused_activation_function", 0)) {
    case 0: return x;
    case 1: return dtype == TN_F32 ? tn_low_1(t, "Relu", x) : tn_low_clip(t, x, dtype, 0, INFINITY);
    case 2: return tn_low_clip(t, x, dtype, -1, 1);
    case 3: return tn_low_clip(t, x, dtype, 0, 6);
    case 4: return tn_low_1(t, "Tanh", x);
    default: return tn_low_unsupported(t, "fused activation SIGN_BIT");
  }
}
