/* Reading nodes of TFLite and writing others in their place; see lower.h. */
#include "lower.h"

#include <math.h>

/* ---- reading ---- */

static const tn_node *node_of(const tfl *t) { return t->api->node(t->g, t->node); }

int64_t tfl_int(const tfl *t, const char *name, int64_t missing) {
  return tn_pattern_int(node_of(t), name, missing);
}

double tfl_float(const tfl *t, const char *name, double missing) {
  return tn_pattern_float(node_of(t), name, missing);
}

tn_ints tfl_ints(const tfl *t, const char *name) {
  const tn_attr *a = tn_pattern_attr(node_of(t), name, TN_ATTR_INTS);
  return a ? a->ints : (tn_ints){NULL, 0};
}

tn_floats tfl_floats(const tfl *t, const char *name) {
  const tn_attr *a = tn_pattern_attr(node_of(t), name, TN_ATTR_FLOATS);
  return a ? a->floats : (tn_floats){NULL, 0};
}

int32_t tfl_in(const tfl *t, uint32_t k) { return tn_node_input(t->call, t->g, t->node, k); }

const tn_tensor *tfl_type(const tfl *t, uint32_t k) { return tn_input(t->call, k); }

bool tfl_has_all(const tfl *t) {
  bool all = t->call->n_inputs > 0;
  for (uint32_t k = 0; k < t->call->n_inputs; k++) all = all && tfl_type(t, k);
  return all;
}

int32_t tfl_in_i64(const tfl *t, uint32_t k) {
  const tn_tensor *type = tfl_type(t, k);
  return !type || type->dtype == TN_I64 ? tfl_in(t, k) : tfl_cast(t, tfl_in(t, k), TN_I64);
}

tn_status tfl_const_dims(const tfl *t, uint32_t k, int64_t *out, int64_t *out_n) {
  return tn_const_ints(t->call, k, out, TN_MAX_RANK, out_n);
}

tn_status tfl_const_axes(const tfl *t, uint32_t k, int32_t rank, int64_t *out, int64_t *out_n) {
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

enum { MAX_ATTRS = 24 };

tn_status tfl_emit_many(const tfl *t, const char *op, const int32_t *inputs, uint32_t n_inputs,
                        const tn_attr *attrs, uint32_t n_attrs, uint32_t n_outputs, int32_t *out) {
  const tn_attr *list[MAX_ATTRS];
  if (n_attrs > MAX_ATTRS) return TN_ERR_INTERNAL;
  for (uint32_t k = 0; k < n_inputs; k++)
    if (inputs[k] < TN_NO_ID) return inputs[k];
  for (uint32_t k = 0; k < n_attrs; k++) list[k] = &attrs[k];
  for (uint32_t k = 0; k < n_outputs; k++) {
    out[k] = t->api->value(t->g, NULL);
    if (out[k] < 0) return out[k];
  }
  const bool own = !strncmp(op, "tenon::", 7);
  const tn_node made = {.head = TN_HEAD(tn_node),
                        .domain = own ? "tenon" : "",
                        .op = own ? op + 7 : op,
                        .name = node_of(t)->name,
                        .inputs = inputs,
                        .n_inputs = n_inputs,
                        .outputs = out,
                        .n_outputs = n_outputs,
                        .attrs = list,
                        .n_attrs = n_attrs,
                        .offset = node_of(t)->offset};
  const int32_t id = t->api->add_node(t->g, &made);
  return id < 0 ? id : TN_OK;
}

int32_t tfl_emit(const tfl *t, const char *op, const int32_t *inputs, uint32_t n_inputs,
                 const tn_attr *attrs, uint32_t n_attrs) {
  int32_t out;
  const tn_status s = tfl_emit_many(t, op, inputs, n_inputs, attrs, n_attrs, 1, &out);
  return s ? s : out;
}

int32_t tfl_1(const tfl *t, const char *op, int32_t x) { return tfl_emit(t, op, &x, 1, NULL, 0); }

int32_t tfl_2(const tfl *t, const char *op, int32_t a, int32_t b) {
  const int32_t inputs[] = {a, b};
  return tfl_emit(t, op, inputs, 2, NULL, 0);
}

int32_t tfl_3(const tfl *t, const char *op, int32_t a, int32_t b, int32_t c) {
  const int32_t inputs[] = {a, b, c};
  return tfl_emit(t, op, inputs, 3, NULL, 0);
}

int32_t tfl_1_int(const tfl *t, const char *op, int32_t x, const char *name, int64_t value) {
  const tn_attr a = tn_attr_int(name, value);
  return tfl_emit(t, op, &x, 1, &a, 1);
}

int32_t tfl_number(const tfl *t, uint32_t dtype, double number) {
  return tn_emit_number(t->call, t->g, dtype, number);
}

int32_t tfl_ints_const(const tfl *t, const int64_t *data, int64_t n) {
  return tn_emit_ints(t->call, t->g, data, n);
}

int32_t tfl_cast(const tfl *t, int32_t x, uint32_t dtype) {
  return tfl_1_int(t, "Cast", x, "to", tn_onnx_of_dtype(dtype));
}

int32_t tfl_reshape(const tfl *t, int32_t x, int32_t rank, const int64_t *shape) {
  const int32_t inputs[] = {x, tfl_ints_const(t, shape, rank)};
  const tn_attr allowzero = tn_attr_int("allowzero", 1);
  return tfl_emit(t, "Reshape", inputs, 2, &allowzero, 1);
}

int32_t tfl_transpose(const tfl *t, int32_t x, int32_t rank, const int32_t *perm) {
  int64_t wide[TN_MAX_RANK];
  for (int32_t k = 0; k < rank; k++) wide[k] = perm[k];
  const tn_attr a = tn_attr_ints("perm", (tn_ints){wide, rank});
  return tfl_emit(t, "Transpose", &x, 1, &a, 1);
}

int32_t tfl_channels_first(const tfl *t, int32_t x, int32_t rank) {
  int32_t perm[TN_MAX_RANK] = {0, rank - 1};
  for (int32_t k = 2; k < rank; k++) perm[k] = k - 1;
  return tfl_transpose(t, x, rank, perm);
}

int32_t tfl_channels_last(const tfl *t, int32_t x, int32_t rank) {
  int32_t perm[TN_MAX_RANK] = {0};
  for (int32_t k = 1; k < rank - 1; k++) perm[k] = k + 1;
  perm[rank - 1] = 1;
  return tfl_transpose(t, x, rank, perm);
}

int32_t tfl_slice(const tfl *t, int32_t x, int32_t rank, const int64_t *from, const int64_t *to,
                  const int64_t *steps) {
  int64_t axes[TN_MAX_RANK], ones[TN_MAX_RANK];
  for (int32_t k = 0; k < rank; k++) axes[k] = k, ones[k] = 1;
  const int32_t inputs[] = {x, tfl_ints_const(t, from, rank), tfl_ints_const(t, to, rank),
                            tfl_ints_const(t, axes, rank),
                            tfl_ints_const(t, steps ? steps : ones, rank)};
  return tfl_emit(t, "Slice", inputs, 5, NULL, 0);
}

int32_t tfl_clip(const tfl *t, int32_t x, uint32_t dtype, double lo, double hi) {
  const int32_t inputs[] = {x, isinf(lo) ? TN_NO_ID : tfl_number(t, dtype, lo),
                            isinf(hi) ? TN_NO_ID : tfl_number(t, dtype, hi)};
  return tfl_emit(t, "Clip", inputs, 3, NULL, 0);
}

int32_t tfl_activation(const tfl *t, int32_t x, uint32_t dtype) {
  switch (tfl_int(t, "fused_activation_function", 0)) {
    case 0: return x;
    case 1: return dtype == TN_F32 ? tfl_1(t, "Relu", x) : tfl_clip(t, x, dtype, 0, INFINITY);
    case 2: return tfl_clip(t, x, dtype, -1, 1);
    case 3: return tfl_clip(t, x, dtype, 0, 6);
    case 4: return tfl_1(t, "Tanh", x);
    default: return tfl_unsupported(t, "fused activation SIGN_BIT");
  }
}

/* ---- ending ---- */

tn_status tfl_done(const tfl *t, int32_t value) { return tfl_done_many(t, &value, 1); }

tn_status tfl_done_many(const tfl *t, const int32_t *values, uint32_t n) {
  for (uint32_t k = 0; k < n; k++)
    if (values[k] < TN_NO_ID) return values[k];
  return t->api->replace_node(t->g, t->node, values, n);
}

tn_status tfl_unsupported(const tfl *t, const char *what) {
  return t->call->host->fail(t->call->ctx, TN_ERR_UNSUPPORTED, "not supported: %s", what);
}
