/* Reading nodes of TensorFlow and writing others in their place; see lower.h. */
#include "lower.h"

static const tn_node *node_of(const low *l) { return l->call->host->graph->node(l->g, l->node); }

int64_t lo_int(const low *l, const char *name, int64_t missing) {
  return tn_pattern_int(node_of(l), name, missing);
}

double lo_float(const low *l, const char *name, double missing) {
  return tn_pattern_float(node_of(l), name, missing);
}

tn_ints lo_ints(const low *l, const char *name) {
  const tn_attr *a = tn_pattern_attr(node_of(l), name, TN_ATTR_INTS);
  return a ? a->ints : (tn_ints){NULL, 0};
}

bool lo_says(const low *l, const char *name, const char *text) {
  const tn_attr *a = tn_pattern_attr(node_of(l), name, TN_ATTR_STR);
  return a && tn_str_is(a->s, text);
}

int32_t lo_in(const low *l, uint32_t k) { return tn_node_input(l->call, l->g, l->node, k); }
const tn_tensor *lo_type(const low *l, uint32_t k) { return tn_input(l->call, k); }

int32_t lo_in_i64(const low *l, uint32_t k) {
  const tn_tensor *t = lo_type(l, k);
  return !t || t->dtype == TN_I64 ? lo_in(l, k) : lo_cast(l, lo_in(l, k), TN_I64);
}

tn_status lo_rank(const low *l, uint32_t k, int32_t rank) {
  const tn_tensor *x = lo_type(l, k);
  char text[TN_TENSOR_TEXT];
  if (x && x->rank == rank) return TN_OK;
  return l->call->host->fail(l->call->ctx, TN_ERR_SHAPE, "input %u must have rank %d, not %s", k,
                             rank, x ? tn_tensor_text(x, text, sizeof text) : "none");
}

tn_status lo_const_ints(const low *l, uint32_t k, int64_t *out, int64_t most, int64_t *out_n) {
  return tn_const_ints(l->call, k, out, most, out_n);
}

/* ---- writing ---- */

enum { MAX_ATTRS = 24 };

static const char *domain_of(const char **op) {
  const char *colon = strstr(*op, "::");
  if (!colon) return "";
  const char *domain = **op == 't' && (*op)[1] == 'f' && (*op)[2] == 'l' ? "tflite"
                       : !strncmp(*op, "tf::", 4)                        ? "tf"
                                                                         : "tenon";
  *op = colon + 2;
  return domain;
}

tn_status lo_emit_many(const low *l, const char *op, const int32_t *in, uint32_t n_in,
                       const tn_attr *attrs, uint32_t n_attrs, uint32_t n_out, int32_t *out) {
  const tn_graph_api *api = l->call->host->graph;
  const tn_attr *list[MAX_ATTRS];
  const char *domain = domain_of(&op);
  if (n_attrs > MAX_ATTRS) return TN_ERR_INTERNAL;
  for (uint32_t k = 0; k < n_in; k++)
    if (in[k] < TN_NO_ID) return in[k];
  for (uint32_t k = 0; k < n_attrs; k++) list[k] = &attrs[k];
  for (uint32_t k = 0; k < n_out; k++) {
    out[k] = api->value(l->g, NULL);
    if (out[k] < 0) return out[k];
  }
  const tn_node made = {.head = TN_HEAD(tn_node),
                        .domain = domain,
                        .op = op,
                        .name = node_of(l)->name,
                        .inputs = in,
                        .n_inputs = n_in,
                        .outputs = out,
                        .n_outputs = n_out,
                        .attrs = list,
                        .n_attrs = n_attrs,
                        .offset = node_of(l)->offset};
  const int32_t id = api->add_node(l->g, &made);
  return id < 0 ? id : TN_OK;
}

int32_t lo_emit(const low *l, const char *op, const int32_t *in, uint32_t n_in,
                const tn_attr *attrs, uint32_t n_attrs) {
  int32_t out;
  const tn_status s = lo_emit_many(l, op, in, n_in, attrs, n_attrs, 1, &out);
  return s ? s : out;
}

int32_t lo_1(const low *l, const char *op, int32_t x) { return lo_emit(l, op, &x, 1, NULL, 0); }

int32_t lo_2(const low *l, const char *op, int32_t a, int32_t b) {
  const int32_t in[] = {a, b};
  return lo_emit(l, op, in, 2, NULL, 0);
}

int32_t lo_3(const low *l, const char *op, int32_t a, int32_t b, int32_t c) {
  const int32_t in[] = {a, b, c};
  return lo_emit(l, op, in, 3, NULL, 0);
}

int32_t lo_1_int(const low *l, const char *op, int32_t x, const char *name, int64_t value) {
  const tn_attr a = tn_attr_int(name, value);
  return lo_emit(l, op, &x, 1, &a, 1);
}

int32_t lo_number(const low *l, uint32_t dtype, double number) {
  return tn_emit_number(l->call, l->g, dtype, number);
}

int32_t lo_int_list(const low *l, const int64_t *data, int64_t n) {
  return tn_emit_ints(l->call, l->g, data, n);
}

int32_t lo_cast(const low *l, int32_t x, uint32_t dtype) {
  return lo_1_int(l, "Cast", x, "to", tn_onnx_of_dtype(dtype));
}

int32_t lo_reshape(const low *l, int32_t x, int32_t rank, const int64_t *shape) {
  const int32_t in[] = {x, lo_int_list(l, shape, rank)};
  const tn_attr allowzero = tn_attr_int("allowzero", 1);
  return lo_emit(l, "Reshape", in, 2, &allowzero, 1);
}

int32_t lo_transpose(const low *l, int32_t x, int32_t rank, const int32_t *perm) {
  int64_t wide[TN_MAX_RANK];
  for (int32_t k = 0; k < rank; k++) wide[k] = perm[k];
  const tn_attr a = tn_attr_ints("perm", (tn_ints){wide, rank});
  return lo_emit(l, "Transpose", &x, 1, &a, 1);
}

int32_t lo_concat(const low *l, const int32_t *parts, uint32_t n, int64_t axis) {
  const tn_attr a = tn_attr_int("axis", axis);
  return lo_emit(l, "Concat", parts, n, &a, 1);
}

int32_t lo_slice(const low *l, int32_t x, int64_t dim, int64_t from, int64_t to) {
  const int32_t in[] = {x, lo_int_list(l, &from, 1), lo_int_list(l, &to, 1),
                        lo_int_list(l, &dim, 1)};
  return lo_emit(l, "Slice", in, 4, NULL, 0);
}

int32_t lo_reduce(const low *l, const char *op, int32_t x, const int64_t *axes, int64_t n,
                  int64_t keeps) {
  const int32_t in[] = {x, lo_int_list(l, axes, n)};
  const tn_attr keep = tn_attr_int("keepdims", keeps);
  return lo_emit(l, op, in, 2, &keep, 1);
}

int32_t lo_zeros(const low *l, uint32_t dtype, int32_t rank, const int64_t *shape) {
  return lo_2(l, "Expand", lo_number(l, dtype, 0), lo_int_list(l, shape, rank));
}

int32_t lo_unsqueeze(const low *l, int32_t x, int64_t axis) {
  return lo_2(l, "Unsqueeze", x, lo_int_list(l, &axis, 1));
}

int32_t lo_squeeze(const low *l, int32_t x, int64_t axis) {
  return lo_2(l, "Squeeze", x, lo_int_list(l, &axis, 1));
}

/* ---- layouts ---- */

bool lo_channels_are_last(const low *l) {
  return !lo_says(l, "data_format", "NCHW") && !lo_says(l, "data_format", "NCDHW");
}

int32_t lo_channels_first(const low *l, int32_t x, int32_t rank) {
  int32_t perm[TN_MAX_RANK] = {0, rank - 1};
  for (int32_t k = 2; k < rank; k++) perm[k] = k - 1;
  return lo_channels_are_last(l) ? lo_transpose(l, x, rank, perm) : x;
}

int32_t lo_channels_back(const low *l, int32_t x, int32_t rank) {
  int32_t perm[TN_MAX_RANK] = {0};
  for (int32_t k = 1; k < rank - 1; k++) perm[k] = k + 1;
  perm[rank - 1] = 1;
  return lo_channels_are_last(l) ? lo_transpose(l, x, rank, perm) : x;
}

/* ---- ending ---- */

tn_status lo_done(const low *l, int32_t value) { return lo_done_many(l, &value, 1); }

tn_status lo_done_many(const low *l, const int32_t *values, uint32_t n) {
  for (uint32_t k = 0; k < n; k++)
    if (values[k] < TN_NO_ID) return values[k];
  return l->call->host->graph->replace_node(l->g, l->node, values, n);
}

tn_status lo_unsupported(const low *l, const char *what) {
  return l->call->host->fail(l->call->ctx, TN_ERR_UNSUPPORTED, "not supported: %s", what);
}
