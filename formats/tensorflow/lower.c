/* Reading nodes of TensorFlow and writing others in their place; see lower.h. */
#include "lower.h"

bool lo_says(const tn_lowering *l, const char *name, const char *text) {
  const tn_attr *a = tn_pattern_attr(tn_low_node(l), name, TN_ATTR_STR);
  return a && tn_str_is(a->s, text);
}

tn_status lo_rank(const tn_lowering *l, uint32_t k, int32_t rank) {
  const tn_tensor *x = tn_low_type(l, k);
  char text[TN_TENSOR_TEXT];
  if (x && x->rank == rank) return TN_OK;
  return l->call->host->fail(l->call->ctx, TN_ERR_SHAPE, "input %u must have rank %d, not %s", k,
                             rank, x ? tn_tensor_text(x, text, sizeof text) : "none");
}

tn_status lo_const_ints(const tn_lowering *l, uint32_t k, int64_t *out, int64_t most,
                        int64_t *out_n) {
  return tn_const_ints(l->call, k, out, most, out_n);
}

/* ---- writing ---- */

int32_t lo_concat(const tn_lowering *l, const int32_t *parts, uint32_t n, int64_t axis) {
  const tn_attr a = tn_attr_int("axis", axis);
  return tn_low_emit(l, "Concat", parts, n, &a, 1);
}

int32_t lo_slice(const tn_lowering *l, int32_t x, int64_t dim, int64_t from, int64_t to) {
  const int32_t in[] = {x, tn_low_ints_const(l, &from, 1), tn_low_ints_const(l, &to, 1),
                        tn_low_ints_const(l, &dim, 1)};
  return tn_low_emit(l, "Slice", in, 4, NULL, 0);
}

int32_t lo_reduce(const tn_lowering *l, const char *op, int32_t x, const int64_t *axes, int64_t n,
                  int64_t keeps) {
  const int32_t in[] = {x, tn_low_ints_const(l, axes, n)};
  const tn_attr keep = tn_attr_int("keepdims", keeps);
  return tn_low_emit(l, op, in, 2, &keep, 1);
}

int32_t lo_zeros(const tn_lowering *l, uint32_t dtype, int32_t rank, const int64_t *shape) {
  return tn_low_2(l, "Expand", tn_low_number(l, dtype, 0), tn_low_ints_const(l, shape, rank));
}

int32_t lo_unsqueeze(const tn_lowering *l, int32_t x, int64_t axis) {
  return tn_low_2(l, "Unsqueeze", x, tn_low_ints_const(l, &axis, 1));
}

int32_t lo_squeeze(const tn_lowering *l, int32_t x, int64_t axis) {
  return tn_low_2(l, "Squeeze", x, tn_low_ints_const(l, &axis, 1));
}

/* ---- layouts ---- */

bool lo_channels_are_last(const tn_lowering *l) {
  return !lo_says(l, "data_format", "NCHW") && !lo_says(l, "data_format", "NCDHW");
}

int32_t lo_channels_first(const tn_lowering *l, int32_t x, int32_t rank) {
  return lo_channels_are_last(l) ? tn_low_channels_first(l, x, rank) : x;
}

int32_t lo_channels_back(const tn_lowering *l, int32_t x, int32_t rank) {
  return lo_channels_are_last(l) ? tn_low_channels_last(l, x, rank) : x;
}
