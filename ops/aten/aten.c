/* Reading nodes of PyTorch and writing others in their place; see aten.h. */
#include "aten.h"

#include <math.h>
#include <stdlib.h>

/* ---- attributes ---- */

static const tn_attr *find_attr(const tn_lowering *l, const char *name) {
  const tn_node *n = tn_low_node(l);
  for (uint32_t k = 0; k < n->n_attrs; k++)
    if (!strcmp(n->attrs[k]->name, name)) return n->attrs[k];
  return NULL;
}

bool at_has(const tn_lowering *l, const char *name) { return find_attr(l, name) != NULL; }

bool at_says(const tn_lowering *l, const char *name, const char *text) {
  const tn_attr *a = tn_pattern_attr(tn_low_node(l), name, TN_ATTR_STR);
  return a && tn_str_is(a->s, text);
}

int64_t at_item(const tn_lowering *l, const char *name, int64_t k, int64_t missing) {
  const tn_attr *a = find_attr(l, name);
  if (a && a->kind == TN_ATTR_INT) return a->i;
  if (!a || a->kind != TN_ATTR_INTS || a->ints.size == 0) return missing;
  return a->ints.data[a->ints.size == 1 ? 0 : k < a->ints.size ? k : a->ints.size - 1];
}

uint32_t at_dtype(const tn_lowering *l, const char *name, uint32_t missing) {
  return (uint32_t)tn_low_int(l, name, missing);
}

tn_status at_fail(const tn_lowering *l, tn_status code, const char *what) {
  return l->call->host->fail(l->call->ctx, code, "%s", what);
}

int32_t at_dim(const tn_lowering *l, int64_t dim, int32_t rank) {
  const int32_t most = rank ? rank : 1;
  if (dim >= -most && dim < most) return (int32_t)(dim < 0 ? dim + most : dim);
  const tn_status s = l->call->host->fail(l->call->ctx, TN_ERR_INVALID,
                                          "dim %lld is outside of %d .. %d, for rank %d",
                                          (long long)dim, (int)-most, (int)most - 1, (int)rank);
  return s;
}

int32_t at_dims(const tn_lowering *l, const char *name, int32_t rank, int64_t *out) {
  const tn_attr *a = find_attr(l, name);
  bool used[TN_MAX_RANK] = {false};
  const tn_ints one = {a ? &a->i : NULL, 1};
  const tn_ints list = !a ? (tn_ints){NULL, 0} : a->kind == TN_ATTR_INT ? one : a->ints;
  int32_t n = 0;
  for (int64_t k = 0; k < list.size; k++) {
    const int32_t dim = at_dim(l, list.data[k], rank);
    if (dim < 0) return dim;
    if (used[dim]) return at_fail(l, TN_ERR_INVALID, "a dim is given twice");
    used[dim] = true;
  }
  for (int32_t k = 0; k < rank; k++)
    if (used[k] || list.size == 0) out[n++] = k;
  return n;
}

/* ---- numbers and types ---- */

at_scalar at_number(const tn_lowering *l, const char *name) {
  const tn_attr *a = find_attr(l, name);
  if (!a || (a->kind != TN_ATTR_INT && a->kind != TN_ATTR_FLOAT)) return (at_scalar){.f = 0};
  const bool is_int = a->kind == TN_ATTR_INT;
  return (at_scalar){true, is_int, is_int ? a->i : 0, is_int ? (double)a->i : a->f};
}

int32_t at_int_const(const tn_lowering *l, uint32_t dtype, int64_t i) {
  uint64_t element[2] = {0};
  const tn_tensor t = tn_tensor_make(dtype, 0, NULL, element);
  if (tn_dtype_exact_i64(dtype))
    tn_store_i64(dtype, element, 0, dtype == TN_BOOL ? i != 0 : i);
  else
    tn_store_f64(dtype, element, 0, (double)i);
  return tn_emit_const(l->call, l->graph, &t);
}

int32_t at_const(const tn_lowering *l, uint32_t dtype, at_scalar s) {
  if (s.is_int) return at_int_const(l, dtype, s.i);
  if (dtype == TN_BOOL) return at_int_const(l, dtype, s.f != 0);
  if (tn_dtype_exact_i64(dtype))
    return at_int_const(l, dtype, fabs(s.f) < 9e18 ? (int64_t)s.f : INT64_MIN);
  return tn_low_number(l, dtype, s.f);
}

int at_category(uint32_t dtype) {
  const tn_dtype_info *d = tn_dtype(dtype);
  return d->is_complex ? AT_COMPLEX : d->is_float ? AT_FLOAT : d->is_int ? AT_INT : AT_BOOL;
}

uint32_t at_float_of(uint32_t dtype) { return at_category(dtype) >= AT_FLOAT ? dtype : TN_F32; }

/* Signed integers hold unsigned ones of half their width. */
static uint32_t promote_ints(uint32_t a, uint32_t b) {
  const tn_dtype_info *x = tn_dtype(a), *y = tn_dtype(b);
  if (x->is_signed == y->is_signed) return x->bits >= y->bits ? a : b;
  const uint32_t with_sign = x->is_signed ? a : b, without = x->is_signed ? b : a;
  if (tn_dtype(with_sign)->bits > tn_dtype(without)->bits) return with_sign;
  return without == TN_U8 ? TN_I16 : TN_NONE;
}

static uint32_t promote_floats(uint32_t a, uint32_t b) {
  const uint32_t x = tn_dtype(a)->bits, y = tn_dtype(b)->bits;
  if (x == y) return x == 16 ? TN_F32 : a;
  return x > y ? a : b;
}

uint32_t at_promote(uint32_t a, uint32_t b) {
  const int x = at_category(a), y = at_category(b);
  if (a == b || b == TN_NONE) return a;
  if (a == TN_NONE) return b;
  if (x == AT_COMPLEX || y == AT_COMPLEX)
    return a == TN_C128 || b == TN_C128 || a == TN_F64 || b == TN_F64 ? TN_C128 : TN_C64;
  if (x != y) return x > y ? a : b;
  return x == AT_INT ? promote_ints(a, b) : promote_floats(a, b);
}

/* What comes first wins unless the other is of a higher kind. */
static uint32_t combine(uint32_t higher, uint32_t lower) {
  if (higher == TN_NONE) return lower;
  if (lower == TN_NONE) return higher;
  const int a = at_category(higher), b = at_category(lower);
  if (a == AT_FLOAT && b == AT_COMPLEX) return higher == TN_F64 ? TN_C128 : TN_C64;
  return a >= b ? higher : at_promote(higher, lower);
}

uint32_t aten_promote(const tn_tensor *const *tensors, uint32_t n, const at_scalar *scalars,
                      uint32_t n_scalars) {
  uint32_t dims = TN_NONE, zero = TN_NONE, numbers = TN_NONE;
  for (uint32_t k = 0; k < n; k++) {
    if (!tensors[k]) continue;
    uint32_t *to = tensors[k]->rank ? &dims : &zero;
    *to = at_promote(*to, tensors[k]->dtype);
  }
  for (uint32_t k = 0; k < n_scalars; k++)
    if (scalars[k].is_there) numbers = at_promote(numbers, scalars[k].is_int ? TN_I64 : TN_F32);
  return combine(combine(dims, zero), numbers);
}

uint32_t at_promote_inputs(const tn_lowering *l, at_scalar s) {
  return aten_promote(l->call->inputs, l->call->n_inputs, &s, 1);
}

/* ---- writing ---- */

/* With 0 as the other part. */
static int32_t as_complex(const tn_lowering *l, int32_t x, uint32_t to) {
  const uint32_t real = to == TN_C128 ? TN_F64 : TN_F32;
  const int32_t re = at_unsqueeze(l, tn_low_cast(l, x, real), -1),
                zero = tn_low_2(l, "Expand", at_int_const(l, real, 0), tn_low_1(l, "Shape", re)),
                pair[] = {re, zero};
  return tn_low_1(l, "tenon::Complex", at_concat(l, pair, 2, -1));
}

int32_t at_cast(const tn_lowering *l, int32_t x, uint32_t from, uint32_t to) {
  if (from == to) return x;
  if (tn_dtype(to)->is_complex && from != TN_NONE && !tn_dtype(from)->is_complex)
    return x < TN_NO_ID ? x : as_complex(l, x, to);
  if (to == TN_NONE) return at_fail(l, TN_ERR_SHAPE, "the types of its inputs have none in common");
  return x < TN_NO_ID ? x : tn_low_cast(l, x, to);
}

int32_t at_in(const tn_lowering *l, uint32_t k, uint32_t to) {
  const tn_tensor *t = tn_low_type(l, k);
  return t ? at_cast(l, tn_low_in(l, k), t->dtype, to) : TN_NO_ID;
}

int32_t at_reduce(const tn_lowering *l, const char *op, int32_t x, const int64_t *dims, int32_t n,
                  bool keeps) {
  const int32_t in[] = {x, tn_low_ints_const(l, dims, n)};
  const tn_attr attrs[] = {tn_attr_int("keepdims", keeps), tn_attr_int("noop_with_empty_axes", 1)};
  return tn_low_emit(l, op, in, 2, attrs, 2);
}

int32_t at_unsqueeze(const tn_lowering *l, int32_t x, int64_t dim) {
  return tn_low_2(l, "Unsqueeze", x, tn_low_ints_const(l, &dim, 1));
}

int32_t at_squeeze(const tn_lowering *l, int32_t x, int64_t dim) {
  return tn_low_2(l, "Squeeze", x, tn_low_ints_const(l, &dim, 1));
}

int32_t at_concat(const tn_lowering *l, const int32_t *x, uint32_t n, int64_t dim) {
  const tn_attr a = tn_attr_int("axis", dim);
  return tn_low_emit(l, "Concat", x, n, &a, 1);
}

int32_t at_slice(const tn_lowering *l, int32_t x, int64_t dim, int64_t from, int64_t to,
                 int64_t step) {
  const int32_t in[] = {x, tn_low_ints_const(l, &from, 1), tn_low_ints_const(l, &to, 1),
                        tn_low_ints_const(l, &dim, 1), tn_low_ints_const(l, &step, 1)};
  return tn_low_emit(l, "Slice", in, 5, NULL, 0);
}

int32_t at_expand(const tn_lowering *l, int32_t x, int32_t rank, const int64_t *shape) {
  return tn_low_2(l, "Expand", x, tn_low_ints_const(l, shape, rank));
}

int32_t at_full(const tn_lowering *l, int32_t number, int32_t rank, const int64_t *shape) {
  return rank ? at_expand(l, number, rank, shape) : number;
}

int32_t at_iota(const tn_lowering *l, int64_t n) {
  return tn_low_3(l, "Range", at_int_const(l, TN_I64, 0), at_int_const(l, TN_I64, n),
                  at_int_const(l, TN_I64, 1));
}

int32_t at_with_float(const tn_lowering *l, const char *op, int32_t x, const char *name, double v) {
  const tn_attr a = tn_attr_float(name, v);
  return tn_low_emit(l, op, &x, 1, &a, 1);
}

int32_t at_not(const tn_lowering *l, int32_t x) { return tn_low_1(l, "Not", x); }

int32_t at_where(const tn_lowering *l, int32_t condition, int32_t yes, int32_t no) {
  return tn_low_3(l, "Where", condition, yes, no);
}

int32_t at_gather(const tn_lowering *l, int32_t x, int32_t index, int64_t dim) {
  const int32_t in[] = {x, index};
  const tn_attr axis = tn_attr_int("axis", dim);
  return tn_low_emit(l, "Gather", in, 2, &axis, 1);
}

int32_t at_cut(const tn_lowering *l, int32_t x, uint32_t dtype) {
  const int32_t below = tn_low_2(l, "Less", x, at_int_const(l, dtype, 0));
  return at_where(l, below, tn_low_1(l, "Ceil", x), tn_low_1(l, "Floor", x));
}

tn_status at_done_input(const tn_lowering *l) {
  return tn_low_done(l, tn_low_1(l, "Identity", tn_low_in(l, 0)));
}

/* ---- names ---- */

bool at_is(const tn_lowering *l, const char *name) {
  const char *op = tn_low_node(l)->op;
  const size_t n = strlen(name);
  return !strncmp(op, name, n) && (op[n] == '\0' || op[n] == '.');
}

const char *at_find(const tn_lowering *l, const at_row *rows) {
  while (rows->aten && !at_is(l, rows->aten)) rows++;
  return rows->onnx;
}

bool at_is_read(const tn_lowering *l, uint32_t k) {
  const tn_graph_api *api = l->call->host->graph;
  const int32_t id = tn_low_node(l)->outputs[k];
  return id >= 0 && (api->value_n_users(l->graph, id) > 0 || api->value_flags(l->graph, id));
}
