/* Operators that PyTorch composes of others: products, sums along lines, matrices from vectors,
 * factors of small matrices, and some functions. */
#include "aten.h"
#include "aten_composed.gen.h"

/* ---- products ---- */

/* Sums of products along the last dims: [A..., k] and [B..., k] become [A..., B...]. */
tn_status aten_inner(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *a = tn_low_type(&l, 0), *b = tn_low_type(&l, 1);
  if (!a->rank || !b->rank)
    return tn_low_done(&l, tn_low_2(&l, "aten::mul", tn_low_in(&l, 0), tn_low_in(&l, 1)));
  const int64_t k = a->shape[a->rank - 1];
  if (k != b->shape[b->rank - 1] || a->rank + b->rank - 2 > TN_MAX_RANK)
    return at_fail(&l, TN_ERR_SHAPE, "the last dims differ, or the result has more than 8");
  int64_t rows[] = {1, k}, columns[] = {1, k}, shape[TN_MAX_RANK];
  int32_t rank = 0;
  for (int32_t i = 0; i < a->rank - 1; i++) rows[0] *= shape[rank++] = a->shape[i];
  for (int32_t i = 0; i < b->rank - 1; i++) columns[0] *= shape[rank++] = b->shape[i];
  const int32_t swap[] = {1, 0},
                right =
                    tn_low_transpose(&l, tn_low_reshape(&l, tn_low_in(&l, 1), 2, columns), 2, swap),
                y = tn_low_2(&l, "aten::mm", tn_low_reshape(&l, tn_low_in(&l, 0), 2, rows), right);
  return tn_low_done(&l, tn_low_reshape(&l, y, rank, shape));
}

/* The cross product along `dim`, without one along the first dim of 3. */
tn_status aten_cross_somewhere(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  int64_t dim = 0;
  while (dim < x->rank && x->shape[dim] != 3) dim++;
  const tn_attr a = tn_attr_int("dim", tn_low_int(&l, "dim", dim));
  const int32_t in[] = {tn_low_in(&l, 0), tn_low_in(&l, 1)};
  return tn_low_done(&l, tn_low_emit(&l, "aten::linalg_cross", in, 2, &a, 1));
}

tn_status aten_vecdot(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int64_t dim = tn_low_int(&l, "dim", -1);
  const int32_t product = tn_low_2(&l, "aten::mul", tn_low_in(&l, 0), tn_low_in(&l, 1));
  return tn_low_done(&l, at_reduce(&l, "ReduceSum", product, &dim, 1, false));
}

tn_status aten_matmul_again(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return tn_low_done(&l, tn_low_2(&l, "aten::matmul", tn_low_in(&l, 0), tn_low_in(&l, 1)));
}

/* beta self + alpha (vec1 by vec2, or the sum of all batch1[k] @ batch2[k]). */
tn_status aten_add_product(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 1);
  const uint32_t dtype = at_promote_inputs(&l, (at_scalar){.is_there = false});
  const at_scalar beta = at_number(&l, "beta"), alpha = at_number(&l, "alpha");
  const int64_t first = 0;
  int32_t y;
  if (at_category(dtype) == AT_BOOL) return tn_low_unsupported(&l, "bools");
  if (at_is(&l, "addr"))
    y = tn_low_2(&l, "Mul", at_unsqueeze(&l, at_in(&l, 1, dtype), 1), at_in(&l, 2, dtype));
  else if (x->rank != 3)
    return at_fail(&l, TN_ERR_SHAPE, "batches must have three dims");
  else
    y = at_reduce(&l, "ReduceSum",
                  tn_low_2(&l, "aten::bmm", at_in(&l, 1, dtype), at_in(&l, 2, dtype)), &first, 1,
                  false);
  if (alpha.is_there && alpha.f != 1) y = tn_low_2(&l, "Mul", y, at_const(&l, dtype, alpha));
  int32_t left = at_in(&l, 0, dtype);
  if (beta.is_there && beta.f == 0) return tn_low_done(&l, y);
  if (beta.is_there && beta.f != 1) left = tn_low_2(&l, "Mul", left, at_const(&l, dtype, beta));
  return tn_low_done(&l, tn_low_2(&l, "Add", left, y));
}

/* ---- matrices ---- */

static int32_t turned(const tn_lowering *l, int32_t x, int32_t rank) {
  int32_t perm[TN_MAX_RANK];
  for (int32_t k = 0; k < rank; k++) perm[k] = k;
  perm[rank - 2] = rank - 1, perm[rank - 1] = rank - 2;
  return tn_low_transpose(l, x, rank, perm);
}

static tn_status check_square(const tn_lowering *l, const tn_tensor *t) {
  if (t->rank < 2 || t->shape[t->rank - 1] != t->shape[t->rank - 2])
    return at_fail(l, TN_ERR_SHAPE, "it is no square matrix");
  return TN_OK;
}

/* mH, adjoint: of real numbers, the transpose. */
tn_status aten_adjoint(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  if (at_category(x->dtype) == AT_COMPLEX) return tn_low_unsupported(&l, "complex numbers");
  if (x->rank < 2) return at_fail(&l, TN_ERR_SHAPE, "it has fewer than two dims");
  return tn_low_done(&l, turned(&l, tn_low_in(&l, 0), x->rank));
}

static int32_t identity(const tn_lowering *l, const tn_tensor *t) {
  const int64_t n = t->shape[t->rank - 1], column[] = {n, 1};
  const int32_t k = at_iota(l, n), is = tn_low_2(l, "Equal", tn_low_reshape(l, k, 2, column), k);
  return at_expand(l, at_cast(l, is, TN_BOOL, t->dtype), t->rank, t->shape);
}

/* By squaring; negative powers are those of the inverse. */
tn_status aten_matrix_power(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 0);
  const int64_t n = tn_low_int(&l, "n", 1);
  const tn_status s = check_square(&l, t);
  if (s) return s;
  if (n > 1024 || n < -1024) return tn_low_unsupported(&l, "powers beyond 1024");
  if (!n) return tn_low_done(&l, identity(&l, t));
  int32_t x = tn_low_in(&l, 0), y = TN_NO_ID;
  if (n < 0) x = tn_low_1(&l, "aten::linalg_inv", x);
  for (int64_t rest = n < 0 ? -n : n; rest; rest /= 2) {
    if (rest % 2) y = y == TN_NO_ID ? tn_low_1(&l, "Identity", x) : tn_low_2(&l, "MatMul", y, x);
    if (rest > 1) x = tn_low_2(&l, "MatMul", x, x);
  }
  return tn_low_done(&l, y);
}

/* The lower triangle whose product with its transpose is the matrix, column by column: what a
 * column explains is taken off what is left. */
tn_status aten_cholesky(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  enum { MOST_ROWS = 32 };
  const tn_tensor *t = tn_low_type(&l, 0);
  const tn_status s = check_square(&l, t);
  if (s) return s;
  const int32_t rank = t->rank;
  const int64_t n = t->shape[rank - 1], column[] = {n, 1};
  if (n < 1 || n > MOST_ROWS || (t->dtype != TN_F32 && t->dtype != TN_F64))
    return tn_low_unsupported(&l,
                              "matrices of no rows, or more than 32, or other than f32 and f64");
  const int32_t rows = tn_low_reshape(&l, at_iota(&l, n), 2, column),
                zero = tn_low_number(&l, t->dtype, 0);
  int32_t left = tn_low_in(&l, 0), columns[MOST_ROWS];
  if (tn_low_int(&l, "upper", 0)) left = turned(&l, left, rank);
  for (int64_t k = 0; k < n; k++) {
    const int32_t c = at_slice(&l, left, rank - 1, k, k + 1, 1),
                  root = tn_low_1(&l, "Sqrt", at_slice(&l, c, rank - 2, k, k + 1, 1));
    const int32_t below = tn_low_2(&l, "GreaterOrEqual", rows, at_int_const(&l, TN_I64, k));
    columns[k] = at_where(&l, below, tn_low_2(&l, "Div", c, root), zero);
    left =
        tn_low_2(&l, "Sub", left, tn_low_2(&l, "MatMul", columns[k], turned(&l, columns[k], rank)));
  }
  int32_t y = at_concat(&l, columns, (uint32_t)n, rank - 1);
  if (tn_low_int(&l, "upper", 0)) y = turned(&l, y, rank);
  const int32_t out[] = {y, at_full(&l, at_int_const(&l, TN_I32, 0), rank - 2, t->shape)};
  return tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
}

/* A X = B, or X A = B, of one triangle of A. */
tn_status aten_solve_triangular(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 0), *b = tn_low_type(&l, 1);
  const tn_status s = check_square(&l, t);
  if (s) return s;
  if (b->rank != t->rank) return tn_low_unsupported(&l, "sides of different ranks");
  const int32_t x = tn_low_in(&l, 0);
  const tn_attr upper = tn_attr_int("upper", tn_low_int(&l, "upper", 1));
  int32_t a = tn_low_emit(&l, "Trilu", &x, 1, &upper, 1), right = tn_low_in(&l, 1);
  if (tn_low_int(&l, "unitriangular", 0)) {
    const int64_t n = t->shape[t->rank - 1], column[] = {n, 1};
    const int32_t k = at_iota(&l, n),
                  is = tn_low_2(&l, "Equal", tn_low_reshape(&l, k, 2, column), k);
    a = at_where(&l, is, tn_low_number(&l, t->dtype, 1), a);
  }
  const bool is_left = tn_low_int(&l, "left", 1);
  if (!is_left) a = turned(&l, a, t->rank), right = turned(&l, right, b->rank);
  const int32_t y = tn_low_2(&l, "aten::linalg_solve", a, right);
  return tn_low_done(&l, is_left ? y : turned(&l, y, b->rank));
}

/* ---- statistics ---- */

/* Rows are variables, columns observations. */
static int32_t covariance(const tn_lowering *l, uint32_t dtype, int64_t correction) {
  const tn_tensor *x = tn_low_type(l, 0);
  const int64_t n = x->rank ? x->shape[x->rank - 1] : 1, last = 1,
                rows[] = {x->rank == 2 ? x->shape[0] : 1, n};
  const int32_t m = tn_low_reshape(l, at_in(l, 0, dtype), 2, rows),
                from = tn_low_2(l, "Sub", m, at_reduce(l, "ReduceMean", m, &last, 1, true));
  const double count = n > correction ? (double)(n - correction) : 0;
  const int32_t y = tn_low_2(l, "MatMul", from, turned(l, from, 2));
  return tn_low_2(l, "Div", y, tn_low_number(l, dtype, count));
}

tn_status aten_cov(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const uint32_t dtype = at_float_of(x->dtype);
  const bool is_ratio = at_is(&l, "corrcoef");
  if (x->rank > 2) return at_fail(&l, TN_ERR_SHAPE, "it has more than two dims");
  if (tn_low_type(&l, 1) || tn_low_type(&l, 2) || at_category(dtype) == AT_COMPLEX)
    return tn_low_unsupported(&l, "weights, and complex numbers");
  int32_t y = covariance(&l, dtype, is_ratio ? 1 : tn_low_int(&l, "correction", 1));
  if (is_ratio) {
    const int64_t n = x->rank == 2 ? x->shape[0] : 1, column[] = {n, 1}, row[] = {1, n};
    const int32_t root = tn_low_1(&l, "Sqrt", tn_low_1(&l, "aten::diagonal", y));
    y = tn_low_2(&l, "Div", tn_low_2(&l, "Div", y, tn_low_reshape(&l, root, 2, column)),
                 tn_low_reshape(&l, root, 2, row));
    y = tn_low_clip(&l, y, dtype, -1, 1);
  }
  return tn_low_done(&l, x->rank == 2 ? y : tn_low_reshape(&l, y, 0, NULL));
}

/* The area below the line through y, at steps of dx, or at x: of all, or up to each. */
tn_status aten_trapezoid(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *y = tn_low_type(&l, 0), *x = tn_low_type(&l, 1);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", -1), y->rank);
  if (dim < 0) return dim;
  const int64_t n = y->shape[dim], along = dim;
  const uint32_t dtype =
      at_promote_inputs(&l, (at_scalar){.is_there = true, .is_int = false, .f = 0.5});
  if (n < 1 || (x && x->rank != 1 && x->rank != y->rank))
    return tn_low_unsupported(&l, "no points, or such points");
  const int32_t v = at_in(&l, 0, dtype);
  at_scalar dx = at_number(&l, "dx");
  if (!dx.is_there) dx = (at_scalar){true, false, 1, 1};
  int32_t width = at_const(&l, dtype, dx);
  if (x) {
    int64_t shape[TN_MAX_RANK];
    for (int32_t k = 0; k < y->rank; k++) shape[k] = k == dim ? n : 1;
    int32_t at = at_in(&l, 1, dtype);
    if (x->rank == 1) at = tn_low_reshape(&l, at, y->rank, shape);
    width = tn_low_2(&l, "Sub", at_slice(&l, at, dim, 1, n, 1), at_slice(&l, at, dim, 0, n - 1, 1));
  }
  const int32_t sum =
      tn_low_2(&l, "Add", at_slice(&l, v, dim, 1, n, 1), at_slice(&l, v, dim, 0, n - 1, 1));
  const int32_t area =
      tn_low_2(&l, "Mul", tn_low_2(&l, "Mul", sum, width), tn_low_number(&l, dtype, 0.5));
  if (at_is(&l, "cumulative_trapezoid"))
    return tn_low_done(&l, tn_low_2(&l, "CumSum", area, tn_low_number(&l, TN_I64, dim)));
  return tn_low_done(&l, at_reduce(&l, "ReduceSum", area, &along, 1, false));
}

/* The p-norm of the difference. */
tn_status aten_dist(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const at_scalar p = at_number(&l, "p");
  const tn_attr order = tn_attr_float("ord", p.is_there ? p.f : 2);
  const int32_t off = tn_low_2(&l, "aten::sub", tn_low_in(&l, 0), tn_low_in(&l, 1));
  return tn_low_done(&l, tn_low_emit(&l, "aten::linalg_vector_norm", &off, 1, &order, 1));
}

/* Slices along `dim` whose norm is above the limit are brought down to it. */
tn_status aten_renorm(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), x->rank);
  if (dim < 0) return dim;
  int64_t dims[TN_MAX_RANK], n = 0;
  for (int32_t k = 0; k < x->rank; k++)
    if (k != dim) dims[n++] = k;
  const at_scalar p = at_number(&l, "p"), most = at_number(&l, "maxnorm");
  const tn_attr attrs[] = {tn_attr_float("ord", p.f), tn_attr_ints("dim", (tn_ints){dims, n}),
                           tn_attr_int("keepdim", 1)};
  const int32_t in = tn_low_in(&l, 0), limit = at_const(&l, x->dtype, most),
                norm = tn_low_emit(&l, "aten::linalg_vector_norm", &in, 1, attrs, 3);
  const int32_t safe = tn_low_2(&l, "Add", norm, tn_low_number(&l, x->dtype, 1e-7)),
                factor = at_where(&l, tn_low_2(&l, "Greater", norm, limit),
                                  tn_low_2(&l, "Div", limit, safe), tn_low_number(&l, x->dtype, 1));
  return tn_low_done(&l, tn_low_2(&l, "Mul", in, factor));
}

/* -(t log x + (1 - t) log(1 - x)), logarithms not below -100; reduction 0: of each, 1: the mean,
 * 2: the sum. */
tn_status aten_bce(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = tn_low_type(&l, 0)->dtype;
  const int32_t x = tn_low_in(&l, 0), t = at_in(&l, 1, dtype), one = tn_low_number(&l, dtype, 1),
                least = tn_low_number(&l, dtype, -100);
  const int32_t yes = tn_low_2(&l, "Max", tn_low_1(&l, "Log", x), least),
                no = tn_low_2(&l, "Max", tn_low_1(&l, "Log", tn_low_2(&l, "Sub", one, x)), least);
  const int32_t sum = tn_low_2(&l, "Add", tn_low_2(&l, "Mul", t, yes),
                               tn_low_2(&l, "Mul", tn_low_2(&l, "Sub", one, t), no));
  int32_t y = tn_low_1(&l, "Neg", sum);
  if (tn_low_type(&l, 2)) y = tn_low_2(&l, "Mul", y, at_in(&l, 2, dtype));
  const int64_t how = tn_low_int(&l, "reduction", 1);
  const tn_attr keep = tn_attr_int("keepdims", 0);
  if (how) y = tn_low_emit(&l, how == 1 ? "ReduceMean" : "ReduceSum", &y, 1, &keep, 1);
  return tn_low_done(&l, y);
}

/* ---- what is made of vectors ---- */

/* Powers of each number, N - 1 to 0, or rising. */
tn_status aten_vander(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  if (!x->rank) return at_fail(&l, TN_ERR_SHAPE, "it has no dims");
  const int64_t n = tn_low_int(&l, "N", x->shape[x->rank - 1]);
  const bool rises = at_is(&l, "linalg_vander") || tn_low_int(&l, "increasing", 0);
  if (n < 0 || n > AT_MOST_SIZE) return at_fail(&l, TN_ERR_INVALID, "N is out of range");
  const int32_t k = at_iota(&l, n),
                powers = rises ? k : tn_low_2(&l, "Sub", at_int_const(&l, TN_I64, n - 1), k);
  const int32_t base = at_unsqueeze(&l, tn_low_in(&l, 0), -1);
  return tn_low_done(&l, tn_low_2(&l, "Pow", base, at_cast(&l, powers, TN_I64, x->dtype)));
}

/* The next choice of r of n numbers, in order; false: it was the last. */
static bool next_choice(int64_t *choice, int64_t r, int64_t n, bool repeats) {
  int64_t k = r - 1;
  while (k >= 0 && choice[k] == (repeats ? n - 1 : n - r + k)) k--;
  if (k < 0) return false;
  choice[k]++;
  for (int64_t i = k + 1; i < r; i++) choice[i] = repeats ? choice[k] : choice[i - 1] + 1;
  return true;
}

tn_status aten_combinations(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  enum { MOST_CHOSEN = 8, MOST_NUMBERS = 65536 };
  const tn_tensor *x = tn_low_type(&l, 0);
  const int64_t r = tn_low_int(&l, "r", 2), n = x->rank == 1 ? x->shape[0] : -1;
  const bool repeats = tn_low_int(&l, "with_replacement", 0);
  int64_t choice[MOST_CHOSEN] = {0}, count = 0, shape[2];
  if (n < 0) return at_fail(&l, TN_ERR_SHAPE, "it has other than one dim");
  if (r < 1 || r > MOST_CHOSEN) return tn_low_unsupported(&l, "other than 1 to 8 chosen");
  int64_t *all = call->host->alloc(call->ctx, (MOST_NUMBERS + MOST_CHOSEN) * sizeof *all);
  if (!all) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < r; k++) choice[k] = repeats ? 0 : k;
  bool more = repeats ? n > 0 : n >= r;
  for (; more && count < MOST_NUMBERS; more = next_choice(choice, r, n, repeats))
    for (int64_t k = 0; k < r; k++) all[count++] = choice[k];
  shape[0] = count / r, shape[1] = r;
  const int32_t index = tn_low_reshape(&l, tn_low_ints_const(&l, all, count), 2, shape);
  call->host->free(call->ctx, all);
  if (more) return tn_low_unsupported(&l, "so many combinations");
  return tn_low_done(&l, at_gather(&l, tn_low_in(&l, 0), index, 0));
}

tn_status aten_diagflat(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int64_t n = tn_elements(tn_low_type(&l, 0));
  const int32_t x = tn_low_reshape(&l, tn_low_in(&l, 0), 1, &n);
  const tn_attr offset = tn_attr_int("offset", tn_low_int(&l, "offset", 0));
  return tn_low_done(&l, tn_low_emit(&l, "aten::diag_embed", &x, 1, &offset, 1));
}

tn_status aten_at_least_3d(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int64_t n = tn_elements(x), one[] = {1, 1, 1}, row[] = {1, n, 1},
                plane[] = {x->shape[0], x->rank > 1 ? x->shape[1] : 1, 1};
  if (x->rank > 2) return at_done_input(&l);
  return tn_low_done(&l, tn_low_reshape(&l, tn_low_in(&l, 0), 3,
                                        x->rank == 2   ? plane
                                        : x->rank == 1 ? row
                                                       : one));
}

/* Numbers below n in an order that is drawn at random. */
tn_status aten_randperm(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int64_t n = tn_low_int(&l, "n", 0);
  if (n < 0 || n > AT_MOST_SIZE) return at_fail(&l, TN_ERR_INVALID, "so many numbers");
  const tn_attr shape = tn_attr_ints("shape", (tn_ints){&n, 1});
  const int32_t in[] = {tn_low_emit(&l, "RandomUniform", NULL, 0, &shape, 1),
                        tn_low_ints_const(&l, &n, 1)};
  int32_t out[2];
  const tn_status s = tn_low_emit_many(&l, "TopK", in, 2, NULL, 0, 2, out);
  return s ? s : tn_low_done(&l, at_cast(&l, out[1], TN_I64, at_dtype(&l, "dtype", TN_I64)));
}

/* Whole numbers from low up to, and without, high, drawn at random. */
tn_status aten_randint(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *self = tn_low_type(&l, 0);
  const at_scalar low = at_number(&l, "low"), high = at_number(&l, "high");
  const tn_ints size = self ? (tn_ints){self->shape, self->rank} : tn_low_ints(&l, "size");
  const double from = low.is_there ? low.f : 0, span = high.f - from;
  if (!(span >= 1)) return at_fail(&l, TN_ERR_INVALID, "low is not below high");
  const tn_attr attrs[] = {tn_attr_ints("shape", size),
                           tn_attr_int("dtype", tn_onnx_of_dtype(TN_F64))};
  const int32_t drawn = tn_low_emit(&l, "RandomUniform", NULL, 0, attrs, 2),
                y = tn_low_2(&l, "Add",
                             tn_low_1(&l, "Floor",
                                      tn_low_2(&l, "Mul", drawn, tn_low_number(&l, TN_F64, span))),
                             tn_low_number(&l, TN_F64, from));
  return tn_low_done(&l,
                     at_cast(&l, y, TN_F64, at_dtype(&l, "dtype", self ? self->dtype : TN_I64)));
}

/* ---- functions ---- */

/* Euclid's remainders, as many as the type can need. */
static int32_t gcd_of(const tn_lowering *l, int32_t a, int32_t b, uint32_t dtype) {
  const uint32_t bits = tn_dtype(dtype)->bits;
  const int steps = bits <= 8 ? 13 : bits <= 16 ? 24 : bits <= 32 ? 47 : 93;
  const int32_t zero = at_int_const(l, dtype, 0), one = at_int_const(l, dtype, 1);
  for (int k = 0; k < steps; k++) {
    const int32_t is_last = tn_low_2(l, "Equal", b, zero),
                  rest = tn_low_2(l, "Mod", a, at_where(l, is_last, one, b));
    a = at_where(l, is_last, a, b);
    b = at_where(l, is_last, zero, rest);
  }
  return a;
}

/* gcd, lcm */
tn_status aten_gcd(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = at_promote_inputs(&l, (at_scalar){.is_there = false});
  if (at_category(dtype) != AT_INT) return at_fail(&l, TN_ERR_INVALID, "it takes integers");
  const bool has_sign = tn_dtype(dtype)->is_signed;
  int32_t a = at_in(&l, 0, dtype), b = at_in(&l, 1, dtype);
  if (has_sign) a = tn_low_1(&l, "Abs", a), b = tn_low_1(&l, "Abs", b);
  const int32_t gcd = gcd_of(&l, a, b, dtype);
  if (at_is(&l, "gcd")) return tn_low_done(&l, gcd);
  const int32_t zero = at_int_const(&l, dtype, 0), none = tn_low_2(&l, "Equal", gcd, zero),
                part = tn_low_2(&l, "Div", a, at_where(&l, none, at_int_const(&l, dtype, 1), gcd));
  return tn_low_done(&l, at_where(&l, none, zero, tn_low_2(&l, "Mul", part, b)));
}

/* self times 2 to the power of other. */
tn_status aten_ldexp(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t power = at_float_of(tn_low_type(&l, 1)->dtype),
                 dtype = at_promote(at_float_of(tn_low_type(&l, 0)->dtype), power);
  const int32_t factor = tn_low_2(&l, "Pow", tn_low_number(&l, dtype, 2), at_in(&l, 1, dtype));
  return tn_low_done(&l, tn_low_2(&l, "Mul", at_in(&l, 0, dtype), factor));
}

/* x log(1 + y), 0 where x is, even if y is no number that has a logarithm. */
tn_status aten_xlog1py(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const bool self_is_number = at_has(&l, "self");
  const at_scalar s = at_number(&l, self_is_number ? "self" : "other");
  const uint32_t dtype = at_float_of(at_promote_inputs(&l, s));
  const int32_t x = self_is_number ? at_const(&l, dtype, s) : at_in(&l, 0, dtype),
                y = self_is_number ? at_in(&l, 0, dtype)
                    : s.is_there   ? at_const(&l, dtype, s)
                                   : at_in(&l, 1, dtype);
  const int32_t zero = tn_low_number(&l, dtype, 0),
                none = tn_low_2(&l, "And", tn_low_2(&l, "Equal", x, zero),
                                at_not(&l, tn_low_1(&l, "IsNaN", y)));
  const int32_t product = tn_low_2(&l, "Mul", x, tn_low_1(&l, "aten::log1p", y));
  return tn_low_done(&l, at_where(&l, none, zero, product));
}

/* The logarithmic derivative of gamma for numbers from 1/2 on, in f64: the asymptotic series from 8
 * on (Abramowitz and Stegun, 6.3.18), to which smaller ones are moved. */
static int32_t digamma_above(const tn_lowering *l, int32_t y) {
  static const double series[] = {-1.0 / 12, 1.0 / 120, -1.0 / 252, 1.0 / 240, -1.0 / 132};
  enum { STEPS = 8, TERMS = sizeof series / sizeof *series };
  const int32_t limit = tn_low_number(l, TN_F64, STEPS), small = tn_low_2(l, "Less", y, limit),
                z = at_where(l, small, tn_low_2(l, "Add", y, limit), y);
  int32_t passed = tn_low_1(l, "Reciprocal", y);
  for (int k = 1; k < STEPS; k++)
    passed =
        tn_low_2(l, "Add", passed,
                 tn_low_1(l, "Reciprocal", tn_low_2(l, "Add", y, tn_low_number(l, TN_F64, k))));
  const int32_t inverse = tn_low_1(l, "Reciprocal", z),
                square = tn_low_2(l, "Mul", inverse, inverse);
  int32_t rest = tn_low_number(l, TN_F64, series[TERMS - 1]);
  for (int k = TERMS - 2; k >= 0; k--)
    rest =
        tn_low_2(l, "Add", tn_low_2(l, "Mul", rest, square), tn_low_number(l, TN_F64, series[k]));
  const int32_t half = tn_low_2(l, "Mul", inverse, tn_low_number(l, TN_F64, 0.5)),
                head = tn_low_2(l, "Sub", tn_low_1(l, "Log", z), half),
                whole = tn_low_2(l, "Add", head, tn_low_2(l, "Mul", rest, square));
  return tn_low_2(l, "Sub", whole, at_where(l, small, passed, at_int_const(l, TN_F64, 0)));
}

/* Below 1/2 by reflection: digamma(1 - x) - pi / tan(pi x). At 0 infinite, at -1, -2 ... no
 * number. */
tn_status aten_digamma(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t from = tn_low_type(&l, 0)->dtype, to = at_float_of(from);
  if (at_category(from) == AT_COMPLEX) return tn_low_unsupported(&l, "complex numbers");
  const int32_t x = at_in(&l, 0, TN_F64), one = at_int_const(&l, TN_F64, 1),
                zero = at_int_const(&l, TN_F64, 0), pi = tn_low_number(&l, TN_F64, M_PI),
                below = tn_low_2(&l, "Less", x, tn_low_number(&l, TN_F64, 0.5)),
                above = digamma_above(&l, at_where(&l, below, tn_low_2(&l, "Sub", one, x), x)),
                part = tn_low_2(&l, "Sub", x, tn_low_1(&l, "Floor", x)),
                tangent = tn_low_1(&l, "Tan", tn_low_2(&l, "Mul", pi, part)),
                mirrored = tn_low_2(&l, "Sub", above, tn_low_2(&l, "Div", pi, tangent));
  const int32_t whole = tn_low_2(&l, "And", tn_low_2(&l, "Equal", part, zero),
                                 tn_low_2(&l, "Less", x, zero)),
                pole = tn_low_2(&l, "Div", tn_low_number(&l, TN_F64, -1), x);
  int32_t y = at_where(&l, below, mirrored, above);
  y = at_where(&l, whole, tn_low_number(&l, TN_F64, (double)NAN), y);
  y = at_where(&l, tn_low_2(&l, "Equal", x, zero), pole, y);
  return tn_low_done(&l, at_cast(&l, y, TN_F64, to));
}

/* x as mantissa, 1/2 up to 1, times 2 to an exponent. */
tn_status aten_frexp(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = tn_low_type(&l, 0)->dtype;
  if (at_category(dtype) != AT_FLOAT) return at_fail(&l, TN_ERR_INVALID, "it takes floats");
  if (dtype == TN_F64) return tn_low_unsupported(&l, "f64");
  const int32_t x = at_in(&l, 0, TN_F64), one = at_int_const(&l, TN_F64, 1),
                two = at_int_const(&l, TN_F64, 2), size = tn_low_1(&l, "Abs", x);
  const int32_t odd =
      tn_low_2(&l, "Or", tn_low_2(&l, "Equal", x, at_int_const(&l, TN_F64, 0)),
               tn_low_2(&l, "Or", tn_low_1(&l, "IsNaN", x), tn_low_1(&l, "IsInf", x)));
  const int32_t log = tn_low_2(&l, "Div", tn_low_1(&l, "Log", at_where(&l, odd, one, size)),
                               tn_low_number(&l, TN_F64, M_LN2)),
                guess = tn_low_2(&l, "Add", tn_low_1(&l, "Floor", log), one);
  const int32_t first = tn_low_2(&l, "Div", size, tn_low_2(&l, "Pow", two, guess));
  int32_t power = at_where(&l, tn_low_2(&l, "GreaterOrEqual", first, one),
                           tn_low_2(&l, "Add", guess, one), guess);
  power = at_where(&l, tn_low_2(&l, "Less", first, tn_low_number(&l, TN_F64, 0.5)),
                   tn_low_2(&l, "Sub", guess, one), power);
  const int32_t part = tn_low_2(&l, "Div", x, tn_low_2(&l, "Pow", two, power));
  const int32_t out[] = {
      at_cast(&l, at_where(&l, odd, x, part), TN_F64, dtype),
      at_cast(&l, at_where(&l, odd, at_int_const(&l, TN_F64, 0), power), TN_F64, TN_I32)};
  return tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
}
