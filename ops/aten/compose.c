/* Operators that put tensors together, or make others of them, by way of simpler ones. */
#include "aten.h"
#include "aten_views.gen.h"

/* ---- stacks ---- */

/* The input with at least so many dims, in the way of atleast_1d, atleast_2d, atleast_3d. */
static int32_t with_dims(const tn_lowering *l, uint32_t k, uint32_t dtype, int32_t least) {
  const tn_tensor *x = tn_low_type(l, k);
  int64_t shape[3] = {1, 1, 1};
  if (x->rank >= least) return at_in(l, k, dtype);
  if (x->rank == 1) shape[least == 1 ? 0 : 1] = x->shape[0];
  if (x->rank == 2) shape[0] = x->shape[0], shape[1] = x->shape[1];
  return tn_low_reshape(l, at_in(l, k, dtype), least, shape);
}

/* hstack, vstack, dstack, column_stack */
tn_status aten_stacks(const tn_call *call, tn_graph *graph, int32_t node) {
  enum { MOST = 1024 };
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t n = call->n_inputs, dtype = at_promote_inputs(&l, (at_scalar){.f = 0});
  int32_t in[MOST];
  if (n > MOST || n == 0) return tn_low_unsupported(&l, "no tensor, or more than 1024");
  const bool h = at_is(&l, "hstack"), d = at_is(&l, "dstack"), columns = at_is(&l, "column_stack");
  const int32_t least = h ? 1 : d ? 3 : 2;
  for (uint32_t k = 0; k < n; k++) {
    const tn_tensor *t = tn_low_type(&l, k);
    const int64_t column[] = {tn_elements(t), 1};
    in[k] = columns && t->rank < 2 ? tn_low_reshape(&l, at_in(&l, k, dtype), 2, column)
                                   : with_dims(&l, k, dtype, least);
  }
  const int32_t rank = tn_low_type(&l, 0)->rank;
  const int32_t dim = d ? 2 : columns || (h && rank > 1) ? 1 : 0;
  return tn_low_done(&l, at_concat(&l, in, n, dim));
}

/* Matrices along a diagonal, among zeros. */
tn_status aten_block_diag(const tn_call *call, tn_graph *graph, int32_t node) {
  enum { MOST = 256 };
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t n = call->n_inputs, dtype = at_promote_inputs(&l, (at_scalar){.f = 0});
  int64_t columns = 0, at = 0;
  int32_t rows[MOST];
  if (n > MOST || n == 0) return tn_low_unsupported(&l, "no tensor, or more than 256");
  for (uint32_t k = 0; k < n; k++) {
    const tn_tensor *t = tn_low_type(&l, k);
    if (t->rank > 2) return at_fail(&l, TN_ERR_SHAPE, "its blocks have two dims at most");
    columns += t->rank ? t->shape[t->rank - 1] : 1;
  }
  for (uint32_t k = 0; k < n; k++) {
    const tn_tensor *t = tn_low_type(&l, k);
    const int64_t width = t->rank ? t->shape[t->rank - 1] : 1;
    const int64_t pads[] = {0, at, 0, columns - width - at};
    const int32_t x = with_dims(&l, k, dtype == TN_BOOL ? TN_U8 : dtype, 2);
    rows[k] = tn_low_2(&l, "Pad", x, tn_low_ints_const(&l, pads, 4));
    at += width;
  }
  const int32_t y = at_concat(&l, rows, n, 0);
  return tn_low_done(&l, dtype == TN_BOOL ? at_cast(&l, y, TN_U8, TN_BOOL) : y);
}

/* All combinations of the elements of vectors, as rows. */
tn_status aten_cartesian_prod(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t n = (int32_t)call->n_inputs;
  int64_t shape[TN_MAX_RANK];
  int32_t column[TN_MAX_RANK];
  if (n > TN_MAX_RANK || n == 0) return tn_low_unsupported(&l, "no vector, or more than 8");
  if (n == 1) return at_done_input(&l);
  for (int32_t k = 0; k < n; k++) shape[k] = tn_elements(tn_low_type(&l, (uint32_t)k));
  for (int32_t k = 0; k < n; k++) {
    int64_t own[TN_MAX_RANK], all[] = {-1, 1};
    for (int32_t i = 0; i < n; i++) own[i] = i == k ? shape[k] : 1;
    const int32_t x = tn_low_reshape(&l, tn_low_in(&l, (uint32_t)k), n, own);
    all[0] = tn_dims_size(shape, n);
    column[k] = tn_low_reshape(&l, at_expand(&l, x, n, shape), 2, all);
  }
  return tn_low_done(&l, at_concat(&l, column, (uint32_t)n, 1));
}

/* ---- products ---- */

/* Each element of self times the whole of other. */
tn_status aten_kron(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *a = tn_low_type(&l, 0), *b = tn_low_type(&l, 1);
  const uint32_t dtype = at_promote_inputs(&l, (at_scalar){.f = 0});
  const int32_t rank = a->rank > b->rank ? a->rank : b->rank;
  int64_t left[TN_MAX_RANK], right[TN_MAX_RANK], shape[TN_MAX_RANK];
  if (2 * rank > TN_MAX_RANK) return tn_low_unsupported(&l, "more than 4 dims");
  for (int32_t k = 0; k < rank; k++) {
    const int32_t i = k - (rank - a->rank), j = k - (rank - b->rank);
    left[2 * k] = i < 0 ? 1 : a->shape[i];
    right[2 * k + 1] = j < 0 ? 1 : b->shape[j];
    left[2 * k + 1] = right[2 * k] = 1;
    if (tn_mul_i64(left[2 * k], right[2 * k + 1], &shape[k]))
      return at_fail(&l, TN_ERR_OVERFLOW, "so large a product");
  }
  const int32_t x = tn_low_reshape(&l, at_in(&l, 0, dtype), 2 * rank, left),
                y = tn_low_reshape(&l, at_in(&l, 1, dtype), 2 * rank, right);
  const int32_t product = tn_low_2(&l, dtype == TN_BOOL ? "And" : "Mul", x, y);
  return tn_low_done(&l, tn_low_reshape(&l, product, rank, shape));
}

/* The dims in `dims` come first or last; rows and columns of a matrix. */
static tn_status as_matrix(const tn_lowering *l, uint32_t k, uint32_t dtype, const char *name,
                           bool last, int64_t *shape, int32_t *n_left, int32_t *out) {
  const tn_tensor *x = tn_low_type(l, k);
  const tn_ints dims = tn_low_ints(l, name);
  int32_t perm[TN_MAX_RANK];
  bool used[TN_MAX_RANK] = {false};
  int64_t inner = 1, outer = 1;
  int32_t at = 0, left = 0;
  if (dims.size > x->rank) return at_fail(l, TN_ERR_INVALID, "there are more dims than it has");
  const int32_t n = (int32_t)dims.size, rest = x->rank - n;
  for (int32_t i = 0; i < n; i++) {
    const int32_t d = at_dim(l, dims.data[i], x->rank);
    if (d < 0) return d;
    if (used[d]) return at_fail(l, TN_ERR_INVALID, "a dim is given twice");
    used[d] = true;
    inner *= x->shape[d];
    perm[last ? rest + i : i] = d;
  }
  for (int32_t d = 0; d < x->rank; d++) {
    if (used[d]) continue;
    perm[last ? at++ : n + at++] = d;
    outer *= x->shape[d];
    shape[left++] = x->shape[d];
  }
  const int64_t matrix[] = {last ? outer : inner, last ? inner : outer};
  int32_t y = at_in(l, k, dtype);
  if (x->rank) y = tn_low_transpose(l, y, x->rank, perm);
  *out = tn_low_reshape(l, y, 2, matrix);
  *n_left = left;
  return TN_OK;
}

tn_status aten_tensordot(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = at_promote_inputs(&l, (at_scalar){.f = 0});
  int64_t shape[2 * TN_MAX_RANK];
  int32_t n, m, a, b;
  tn_status s = as_matrix(&l, 0, dtype, "dims_self", true, shape, &n, &a);
  if (!s) s = as_matrix(&l, 1, dtype, "dims_other", false, shape + n, &m, &b);
  if (s) return s;
  if (tn_low_ints(&l, "dims_self").size != tn_low_ints(&l, "dims_other").size)
    return at_fail(&l, TN_ERR_INVALID, "both sides need as many dims");
  if (n + m > TN_MAX_RANK) return tn_low_unsupported(&l, "more than 8 dims");
  return tn_low_done(&l, tn_low_reshape(&l, tn_low_2(&l, "MatMul", a, b), n + m, shape));
}

/* A product of many matrices, from the left. */
tn_status aten_multi_dot(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  if (!call->n_inputs) return at_fail(&l, TN_ERR_INVALID, "there is nothing to multiply");
  int32_t y = tn_low_in(&l, 0);
  for (uint32_t k = 1; k < call->n_inputs; k++) y = tn_low_2(&l, "MatMul", y, tn_low_in(&l, k));
  return tn_low_done(&l, tn_low_1(&l, "Identity", y));
}

/* ---- turned, and triangles ---- */

tn_status aten_rot90(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int64_t k = ((tn_low_int(&l, "k", 1) % 4) + 4) % 4;
  const tn_ints dims = tn_low_ints(&l, "dims");
  const int32_t a = at_dim(&l, dims.size == 2 ? dims.data[0] : 0, x->rank),
                b = at_dim(&l, dims.size == 2 ? dims.data[1] : 1, x->rank);
  if (a < 0 || b < 0) return a < 0 ? a : b;
  if (x->rank < 2 || a == b) return at_fail(&l, TN_ERR_INVALID, "it is turned in two dims");
  int32_t perm[TN_MAX_RANK], y = tn_low_in(&l, 0);
  for (int32_t i = 0; i < x->rank; i++) perm[i] = i == a ? b : i == b ? a : i;
  if (k == 1 || k == 2) y = at_slice(&l, y, b, INT64_MAX, INT64_MIN, -1);
  if (k == 2 || k == 3) y = at_slice(&l, y, a, INT64_MAX, INT64_MIN, -1);
  if (k == 1 || k == 3) y = tn_low_transpose(&l, y, x->rank, perm);
  return tn_low_done(&l, tn_low_1(&l, "Identity", y));
}

/* Rows and columns of the places in a triangle of a matrix. */
tn_status aten_triangle_indices(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int64_t rows = tn_low_int(&l, "row", 0), columns = tn_low_int(&l, "col", 0);
  const int64_t offset = tn_low_int(&l, "offset", 0), column[] = {rows, 1};
  const uint32_t to = at_dtype(&l, "dtype", TN_I64);
  if (rows < 0 || columns < 0 || rows > UINT16_MAX || columns > UINT16_MAX ||
      offset < -AT_MOST_SIZE || offset > AT_MOST_SIZE)
    return tn_low_unsupported(&l, "so large a matrix");
  const int32_t r = tn_low_2(&l, "Add", tn_low_reshape(&l, at_iota(&l, rows), 2, column),
                             at_int_const(&l, TN_I64, offset));
  const char *op = at_is(&l, "tril_indices") ? "GreaterOrEqual" : "LessOrEqual";
  const int32_t places = tn_low_1(&l, "NonZero", tn_low_2(&l, op, r, at_iota(&l, columns)));
  return tn_low_done(&l, at_cast(&l, tn_low_1(&l, "Identity", places), TN_I64, to));
}

/* ---- distances ---- */

/* The distances of all pairs of rows, once each: those of cdist() above the diagonal. */
tn_status aten_pdist(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 0);
  if (t->rank != 2) return at_fail(&l, TN_ERR_SHAPE, "its points are no matrix");
  const int64_t n = t->shape[0], column[] = {n, 1}, all = -1;
  if (n > UINT16_MAX) return tn_low_unsupported(&l, "so many points");
  const int32_t in[] = {tn_low_in(&l, 0), tn_low_in(&l, 0)};
  const tn_attr p = tn_attr_float("p", tn_low_float(&l, "p", 2));
  const int32_t d = tn_low_emit(&l, "aten::_cdist_forward", in, 2, &p, 1);
  const int32_t k = at_iota(&l, n);
  const int32_t above = tn_low_2(&l, "Less", tn_low_reshape(&l, k, 2, column), k);
  return tn_low_done(&l, tn_low_2(&l, "Compress", tn_low_reshape(&l, d, 1, &all),
                                  tn_low_reshape(&l, above, 1, &all)));
}

/* ---- pooling undone ---- */

/* Numbers at their places in the plane, zeros elsewhere. */
tn_status aten_max_unpool(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0), *index = tn_low_type(&l, 1);
  const int32_t n = at_is(&l, "max_unpool2d") ? 2 : 3, outer = x->rank - n;
  int64_t shape[TN_MAX_RANK], flat[TN_MAX_RANK], plane[TN_MAX_RANK];
  if (outer < 1 || index->rank != x->rank || x->rank > TN_MAX_RANK - 1)
    return at_fail(&l, TN_ERR_SHAPE, "it has too few dims");
  for (int32_t k = 0; k < x->rank; k++) {
    if (index->shape[k] != x->shape[k])
      return at_fail(&l, TN_ERR_SHAPE, "there is not one index for each number");
    shape[k] = k < outer ? x->shape[k] : at_item(&l, "output_size", k - outer, 0);
    if (shape[k] < 0 || shape[k] > AT_MOST_SIZE)
      return at_fail(&l, TN_ERR_INVALID, "the size of the output is none");
    flat[k] = plane[k] = x->shape[k];
  }
  flat[outer] = tn_dims_size(x->shape + outer, n);
  plane[outer] = tn_dims_size(shape + outer, n);
  const int32_t none = at_full(&l, at_int_const(&l, x->dtype, 0), outer + 1, plane);
  const int32_t in[] = {none, tn_low_reshape(&l, at_in(&l, 1, TN_I64), outer + 1, flat),
                        tn_low_reshape(&l, tn_low_in(&l, 0), outer + 1, flat)};
  const tn_attr axis = tn_attr_int("axis", outer);
  const int32_t y = tn_low_emit(&l, "ScatterElements", in, 3, &axis, 1);
  return tn_low_done(&l, tn_low_reshape(&l, y, x->rank, shape));
}
