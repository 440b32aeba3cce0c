/* Sums and other operators that take dims away; running sums. */
#include "aten.h"
#include "aten_reduce.gen.h"
#include "complex.h"

/* The node's dims: "dim", or all. Some operators take an empty list for all dims, and so does
 * at_dims(). Below 0: a status. */
static int32_t dims_of(const tn_lowering *l, int64_t *out) {
  return at_dims(l, "dim", tn_low_type(l, 0)->rank, out);
}

static bool keeps(const tn_lowering *l) { return tn_low_int(l, "keepdim", 0) != 0; }

/* Elements that each output is made of. */
static int64_t count(const tn_tensor *x, const int64_t *dims, int32_t n) {
  int64_t all = 1;
  for (int32_t k = 0; k < n; k++) all *= x->shape[dims[k]];
  return all;
}

/* The shape without the dims; its rank. */
static int32_t shape_left(const tn_tensor *x, const int64_t *dims, int32_t n, bool keep,
                          int64_t *shape) {
  int32_t rank = 0;
  for (int32_t k = 0; k < x->rank; k++) {
    bool goes = false;
    for (int32_t i = 0; i < n; i++) goes |= dims[i] == k;
    if (!goes || keep) shape[rank++] = goes ? 1 : x->shape[k];
  }
  return rank;
}

static int32_t reduced(const tn_lowering *l, const char *op, int32_t x, const int64_t *dims,
                       int32_t n) {
  return n ? at_reduce(l, op, x, dims, n, keeps(l)) : tn_low_1(l, "Identity", x);
}

/* ---- sums and products ---- */

/* Bools and integers are summed as i64. */
tn_status aten_sum(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t from = tn_low_type(&l, 0)->dtype;
  const uint32_t to = at_dtype(&l, "dtype", at_category(from) < AT_FLOAT ? TN_I64 : from);
  int64_t dims[TN_MAX_RANK];
  const int32_t n = dims_of(&l, dims);
  if (n < 0) return n;
  const bool prod = at_is(&l, "prod");
  if (at_category(from) == AT_COMPLEX && !prod && n && to == from)
    return at_complex_reduce(&l, "ReduceSum", dims, n, keeps(&l));
  int32_t x = at_in(&l, 0, to);
  if (at_is(&l, "nansum") && at_category(to) == AT_FLOAT)
    x = at_where(&l, tn_low_1(&l, "IsNaN", x), at_int_const(&l, to, 0), x);
  return tn_low_done(&l, reduced(&l, prod ? "ReduceProd" : "ReduceSum", x, dims, n));
}

tn_status aten_mean(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 0);
  const uint32_t to = at_dtype(&l, "dtype", t->dtype);
  int64_t dims[TN_MAX_RANK], shape[TN_MAX_RANK];
  const int32_t n = dims_of(&l, dims);
  if (n < 0) return n;
  if (at_category(to) < AT_FLOAT)
    return at_fail(&l, TN_ERR_INVALID, "the mean of integers has no type: give it a dtype");
  if (at_category(to) == AT_COMPLEX && to == t->dtype && n)
    return at_complex_reduce(&l, "ReduceMean", dims, n, keeps(&l));
  if (at_is(&l, "nanmean")) {
    const int32_t x = at_in(&l, 0, to), nan = tn_low_1(&l, "IsNaN", x);
    const int32_t some = at_cast(&l, at_not(&l, nan), TN_BOOL, to);
    const int32_t sum = at_where(&l, nan, at_int_const(&l, to, 0), x);
    return tn_low_done(&l, tn_low_2(&l, "Div", reduced(&l, "ReduceSum", sum, dims, n),
                                    reduced(&l, "ReduceSum", some, dims, n)));
  }
  if (count(t, dims, n) == 0) {
    const int32_t rank = shape_left(t, dims, n, keeps(&l), shape);
    return tn_low_done(&l, at_full(&l, tn_low_number(&l, to, NAN), rank, shape));
  }
  return tn_low_done(&l, reduced(&l, "ReduceMean", at_in(&l, 0, to), dims, n));
}

/* The variance, divided by the number of elements less the correction. */
static int32_t variance(const tn_lowering *l, const int64_t *dims, int32_t n, int32_t *mean) {
  const tn_tensor *t = tn_low_type(l, 0);
  const uint32_t dtype = t->dtype;
  at_scalar c = at_number(l, "correction");
  if (!c.is_there) c.f = (double)tn_low_int(l, "unbiased", 1);
  const int64_t all = count(t, dims, n);
  const int32_t x = tn_low_in(l, 0);
  *mean = n ? at_reduce(l, "ReduceMean", x, dims, n, true) : x;
  const int32_t off = tn_low_2(l, "Sub", x, *mean), square = tn_low_2(l, "Mul", off, off);
  const int32_t sum = reduced(l, "ReduceSum", square, dims, n);
  const double divisor = (double)all - c.f;
  if (!keeps(l) && n) *mean = at_reduce(l, "ReduceMean", x, dims, n, false);
  return tn_low_2(l, "Div", sum, tn_low_number(l, dtype, divisor > 0 ? divisor : 0));
}

tn_status aten_var(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  int64_t dims[TN_MAX_RANK];
  const int32_t n = dims_of(&l, dims);
  int32_t mean;
  if (n < 0) return n;
  if (at_category(tn_low_type(&l, 0)->dtype) < AT_FLOAT)
    return at_fail(&l, TN_ERR_INVALID, "integers have no variance here: cast them first");
  int32_t y = variance(&l, dims, n, &mean);
  if (at_is(&l, "std") || at_is(&l, "std_mean")) y = tn_low_1(&l, "Sqrt", y);
  if (tn_low_node(&l)->n_outputs < 2) return tn_low_done(&l, y);
  const int32_t out[] = {y, mean};
  return tn_low_done_many(&l, out, 2);
}

tn_status aten_logsumexp(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  int64_t dims[TN_MAX_RANK];
  const int32_t n = dims_of(&l, dims);
  const uint32_t dtype = at_float_of(tn_low_type(&l, 0)->dtype);
  if (n < 0) return n;
  return tn_low_done(&l, reduced(&l, "ReduceLogSumExp", at_in(&l, 0, dtype), dims, n));
}

/* ---- norms ---- */

static int32_t norm(const tn_lowering *l, int32_t x, uint32_t dtype, double p, const int64_t *dims,
                    int32_t n) {
  if (n == 0) return tn_low_1(l, "Abs", x);
  if (p == 2) return at_reduce(l, "ReduceL2", x, dims, n, keeps(l));
  if (p == 1) return at_reduce(l, "ReduceL1", x, dims, n, keeps(l));
  const int32_t abs = tn_low_1(l, "Abs", x);
  if (isinf(p)) return at_reduce(l, p > 0 ? "ReduceMax" : "ReduceMin", abs, dims, n, keeps(l));
  if (p == 0) {
    const int32_t some = at_not(l, tn_low_2(l, "Equal", x, tn_low_number(l, dtype, 0)));
    return at_reduce(l, "ReduceSum", at_cast(l, some, TN_BOOL, dtype), dims, n, keeps(l));
  }
  const int32_t sum = at_reduce(l, "ReduceSum", tn_low_2(l, "Pow", abs, tn_low_number(l, dtype, p)),
                                dims, n, keeps(l));
  return tn_low_2(l, "Pow", sum, tn_low_number(l, dtype, 1 / p));
}

tn_status aten_norm(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t to = at_dtype(&l, "dtype", tn_low_type(&l, 0)->dtype);
  const at_scalar p = at_number(&l, at_has(&l, "ord") ? "ord" : "p");
  int64_t dims[TN_MAX_RANK];
  const int32_t n = dims_of(&l, dims);
  if (n < 0) return n;
  if (at_category(to) < AT_FLOAT) return tn_low_unsupported(&l, "norms of integers");
  if (at_is(&l, "linalg_norm") && p.is_there && n == 2)
    return tn_low_unsupported(&l, "norms of matrices but Frobenius'");
  return tn_low_done(&l, norm(&l, at_in(&l, 0, to), to, p.is_there ? p.f : 2, dims, n));
}

/* ---- largest and smallest ---- */

static const char *extremum_op(const tn_lowering *l) {
  return at_is(l, "max") || at_is(l, "amax") ? "ReduceMax" : "ReduceMin";
}

/* bools are taken as u8 */
static int32_t extremum(const tn_lowering *l, const char *op, const int64_t *dims, int32_t n) {
  const uint32_t dtype = tn_low_type(l, 0)->dtype;
  if (dtype != TN_BOOL) return reduced(l, op, tn_low_in(l, 0), dims, n);
  return at_cast(l, reduced(l, op, at_in(l, 0, TN_U8), dims, n), TN_U8, TN_BOOL);
}

static tn_status some_elements(const tn_lowering *l, const int64_t *dims, int32_t n) {
  if (count(tn_low_type(l, 0), dims, n)) return TN_OK;
  return at_fail(l, TN_ERR_SHAPE, "of no elements there is no largest or smallest");
}

tn_status aten_amax(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  int64_t dims[TN_MAX_RANK];
  const int32_t n = dims_of(&l, dims);
  if (n < 0) return n;
  const tn_status s = some_elements(&l, dims, n);
  return s ? s : tn_low_done(&l, extremum(&l, extremum_op(&l), dims, n));
}

tn_status aten_aminmax(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  int64_t dims[TN_MAX_RANK];
  const int32_t n = dims_of(&l, dims);
  if (n < 0) return n;
  const tn_status s = some_elements(&l, dims, n);
  const int32_t out[] = {extremum(&l, "ReduceMin", dims, n), extremum(&l, "ReduceMax", dims, n)};
  return s ? s : tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
}

/* Where the extremum is: NaN counts as the largest and the smallest, as in PyTorch. */
static int32_t place(const tn_lowering *l, int32_t x, uint32_t dtype, bool most, int64_t dim,
                     bool keep) {
  const tn_attr attrs[] = {tn_attr_int("axis", dim), tn_attr_int("keepdims", keep)};
  if (dtype == TN_BOOL) x = at_cast(l, x, TN_BOOL, TN_U8);
  const int32_t best = tn_low_emit(l, most ? "ArgMax" : "ArgMin", &x, 1, attrs, 2);
  if (at_category(dtype) != AT_FLOAT) return best;
  const int32_t nan = at_cast(l, tn_low_1(l, "IsNaN", x), TN_BOOL, TN_U8);
  const int32_t first = tn_low_emit(l, "ArgMax", &nan, 1, attrs, 2);
  const int32_t any = at_reduce(l, "ReduceMax", nan, &dim, 1, keep);
  return at_where(l, at_cast(l, any, TN_U8, TN_BOOL), first, best);
}

/* max.dim and min.dim: the element, and where it is. */
tn_status aten_max_dim(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int64_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), x->rank);
  const bool most = at_is(&l, "max");
  if (dim < 0) return (tn_status)dim;
  if (x->rank == 0) {
    const int32_t out[] = {tn_low_1(&l, "Identity", tn_low_in(&l, 0)), at_int_const(&l, TN_I64, 0)};
    return tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
  }
  const tn_status s = some_elements(&l, &dim, 1);
  if (s) return s;
  int32_t out[2] = {extremum(&l, most ? "ReduceMax" : "ReduceMin", &dim, 1), TN_NO_ID};
  if (tn_low_node(&l)->n_outputs > 1)
    out[1] = place(&l, tn_low_in(&l, 0), x->dtype, most, dim, keeps(&l));
  return tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
}

tn_status aten_argmax(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  int32_t value = tn_low_in(&l, 0), dim = 0;
  const int64_t all = tn_elements(x);
  if (x->rank == 0) return tn_low_done(&l, at_int_const(&l, TN_I64, 0));
  const bool whole = !at_has(&l, "dim");
  if (whole)
    value = tn_low_reshape(&l, value, 1, &all);
  else
    dim = at_dim(&l, tn_low_int(&l, "dim", 0), x->rank);
  if (dim < 0) return dim;
  if (!(whole ? all : x->shape[dim]))
    return at_fail(&l, TN_ERR_SHAPE, "of no elements there is no largest or smallest");
  const bool keep = !whole && keeps(&l);
  value = place(&l, value, x->dtype, at_is(&l, "argmax"), dim, keep);
  if (whole && keeps(&l)) {
    const int64_t ones[TN_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    value = tn_low_reshape(&l, value, x->rank, ones);
  }
  return tn_low_done(&l, value);
}

/* ---- bools ---- */

tn_status aten_any(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 0);
  const bool any = at_is(&l, "any");
  int64_t dims[TN_MAX_RANK], shape[TN_MAX_RANK];
  const int32_t n = dims_of(&l, dims);
  if (n < 0) return n;
  const uint32_t to = t->dtype == TN_U8 ? TN_U8 : TN_BOOL;
  const int32_t x = at_cast(&l, at_in(&l, 0, TN_BOOL), TN_BOOL, TN_U8);
  if (count(t, dims, n) == 0) {
    const int32_t rank = shape_left(t, dims, n, keeps(&l), shape);
    return tn_low_done(&l, at_full(&l, at_int_const(&l, to, !any), rank, shape));
  }
  return tn_low_done(
      &l, at_cast(&l, reduced(&l, any ? "ReduceMax" : "ReduceMin", x, dims, n), TN_U8, to));
}

tn_status aten_count_nonzero(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  int64_t dims[TN_MAX_RANK];
  const int32_t n = dims_of(&l, dims);
  if (n < 0) return n;
  const int32_t x = at_cast(&l, at_in(&l, 0, TN_BOOL), TN_BOOL, TN_I64);
  return tn_low_done(&l, reduced(&l, "ReduceSum", x, dims, n));
}

/* ---- running ---- */

tn_status aten_cumsum(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 0);
  const uint32_t to = at_dtype(&l, "dtype", at_category(t->dtype) < AT_FLOAT ? TN_I64 : t->dtype);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), t->rank);
  if (dim < 0) return dim;
  const int32_t x = at_in(&l, 0, to);
  if (t->rank == 0) return tn_low_done(&l, tn_low_1(&l, "Identity", x));
  const char *op = at_is(&l, "cumprod") ? "CumProd" : "CumSum";
  return tn_low_done(&l, tn_low_2(&l, op, x, at_int_const(&l, TN_I64, dim)));
}

/* Each element less the one before it, n times, after what is put in front and behind. */
tn_status aten_diff(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 0);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", -1), t->rank);
  const uint32_t dtype = at_promote_inputs(&l, (at_scalar){.f = 0}), order[] = {1, 0, 2};
  int32_t parts[3];
  uint32_t m = 0;
  int64_t size = 0;
  if (dim < 0) return dim;
  if (t->rank == 0) return at_fail(&l, TN_ERR_SHAPE, "a scalar has no differences");
  for (uint32_t k = 0; k < 3; k++) {
    const tn_tensor *part = tn_low_type(&l, order[k]);
    if (!part || part->rank != t->rank) continue;
    size += part->shape[dim];
    parts[m++] = at_in(&l, order[k], dtype);
  }
  int32_t x = m > 1 ? at_concat(&l, parts, m, dim) : parts[0];
  for (int64_t k = tn_low_int(&l, "n", 1); k > 0 && size > 0; k--, size--) {
    const int32_t late = at_slice(&l, x, dim, 1, size, 1),
                  early = at_slice(&l, x, dim, 0, size - 1, 1);
    x = tn_low_2(&l, dtype == TN_BOOL ? "Xor" : "Sub", late, early);
  }
  return tn_low_done(&l, tn_low_1(&l, "Identity", x));
}

/* ---- softmax ---- */

tn_status aten_softmax(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 0);
  const bool log = at_is(&l, "log_softmax") || at_is(&l, "_log_softmax") ||
                   at_is(&l, "special_log_softmax"),
             raw = at_is(&l, "_softmax") || at_is(&l, "_log_softmax");
  uint32_t to = at_dtype(&l, "dtype", t->dtype);
  if (raw && tn_low_int(&l, "half_to_float", 0)) to = TN_F32;
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", -1), t->rank);
  if (dim < 0) return dim;
  if (at_category(to) < AT_FLOAT) return tn_low_unsupported(&l, "softmax of integers");
  const int32_t x = at_in(&l, 0, to);
  if (t->rank == 0) return tn_low_done(&l, at_const(&l, to, (at_scalar){true, true, !log, !log}));
  int32_t y = tn_low_1_int(&l, log ? "LogSoftmax" : "Softmax", x, "axis", dim);
  if (at_is(&l, "_safe_softmax")) { /* rows of -inf alone become 0 */
    const int64_t axis = dim;
    const int32_t most = at_reduce(&l, "ReduceMax", x, &axis, 1, true);
    const int32_t none = tn_low_2(&l, "Equal", most, tn_low_number(&l, to, -INFINITY));
    y = at_where(&l, none, tn_low_number(&l, to, 0), y);
  }
  return tn_low_done(&l, y);
}
