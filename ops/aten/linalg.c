/* Inverses, determinants and norms of small matrices. */
#include "aten.h"
#include "aten_reduce.gen.h"

/* ---- Gauss and Jordan, with pivots, step by step ---- */

enum { MOST_ROWS = 64 };

typedef struct elimination {
  const tn_lowering *l;
  int32_t x, rank, rows; /* x: [..., n, width] */
  int64_t n, width;
  int64_t shape[TN_MAX_RANK];
} elimination;

static int32_t row_at(const elimination *e, int64_t k) {
  return at_slice(e->l, e->x, e->rank - 2, k, k + 1, 1);
}

/* The row below with the largest number in column k, as [..., 1, width]; and where it is. */
static int32_t pivot_row(const elimination *e, int64_t k, int32_t *place) {
  const tn_lowering *l = e->l;
  int64_t wide[TN_MAX_RANK];
  memcpy(wide, e->shape, sizeof wide);
  wide[e->rank - 2] = 1;
  wide[e->rank - 1] = e->width;
  const int32_t column = at_slice(l, e->x, e->rank - 1, k, k + 1, 1);
  const int32_t below = tn_low_1(l, "Abs", at_slice(l, column, e->rank - 2, k, e->n, 1));
  const tn_attr attrs[] = {tn_attr_int("axis", e->rank - 2), tn_attr_int("keepdims", 1)};
  *place =
      tn_low_2(l, "Add", tn_low_emit(l, "ArgMax", &below, 1, attrs, 2), at_int_const(l, TN_I64, k));
  const int32_t in[] = {e->x, at_expand(l, *place, e->rank, wide)};
  const tn_attr axis = tn_attr_int("axis", e->rank - 2);
  return tn_low_emit(l, "GatherElements", in, 2, &axis, 1);
}

/* Column k becomes that of the identity. */
static void eliminate(elimination *e, int64_t k) {
  const tn_lowering *l = e->l;
  int32_t place;
  const int32_t pivot = pivot_row(e, k, &place);
  const int32_t row = tn_low_2(l, "Div", pivot, at_slice(l, pivot, e->rank - 1, k, k + 1, 1));
  const int32_t swapped = at_where(l, tn_low_2(l, "Equal", e->rows, place), row_at(e, k), e->x);
  const int32_t factor = at_slice(l, swapped, e->rank - 1, k, k + 1, 1);
  const int32_t left = tn_low_2(l, "Sub", swapped, tn_low_2(l, "Mul", factor, row));
  const int32_t own = tn_low_2(l, "Equal", e->rows, at_int_const(l, TN_I64, k));
  e->x = at_where(l, own, row, left);
}

/* The right side of [A | B] when A has become the identity. `shape` is that of A. */
static int32_t solved(const tn_lowering *l, int32_t a, int32_t b, int32_t rank,
                      const int64_t *shape, int64_t b_columns) {
  const int32_t both[] = {a, b};
  const int64_t n = shape[rank - 1], column[] = {n, 1};
  elimination e = {.l = l, .rank = rank, .n = n, .width = n + b_columns};
  memcpy(e.shape, shape, (size_t)rank * sizeof *shape);
  e.x = at_concat(l, both, 2, rank - 1);
  e.rows = tn_low_reshape(l, at_iota(l, n), 2, column);
  for (int64_t k = 0; k < n; k++) eliminate(&e, k);
  return at_slice(l, e.x, rank - 1, n, e.width, 1);
}

static tn_status check_matrix(const tn_lowering *l, const tn_tensor *t) {
  if (t->rank < 2 || t->shape[t->rank - 1] != t->shape[t->rank - 2])
    return at_fail(l, TN_ERR_SHAPE, "it is no square matrix");
  if (t->dtype != TN_F32 && t->dtype != TN_F64)
    return at_fail(l, TN_ERR_INVALID, "the matrix must be f32 or f64");
  if (t->shape[t->rank - 1] > MOST_ROWS || tn_elements(t) == 0)
    return tn_low_unsupported(l, "matrices of no rows, or more than 64");
  return TN_OK;
}

static int32_t no_errors(const tn_lowering *l, const tn_tensor *t) {
  return at_full(l, at_int_const(l, TN_I32, 0), t->rank - 2, t->shape);
}

tn_status aten_inv(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 0);
  const tn_status s = check_matrix(&l, t);
  if (s) return s;
  const int64_t n = t->shape[t->rank - 1], column[] = {n, 1};
  const int32_t k = at_iota(&l, n);
  const int32_t eye =
      at_cast(&l, tn_low_2(&l, "Equal", tn_low_reshape(&l, k, 2, column), k), TN_BOOL, t->dtype);
  const int32_t right = at_expand(&l, eye, t->rank, t->shape);
  const int32_t out[] = {solved(&l, tn_low_in(&l, 0), right, t->rank, t->shape, n),
                         no_errors(&l, t)};
  return tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
}

/* A X = B; B may be a vector. */
tn_status aten_solve(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *a = tn_low_type(&l, 0), *b = tn_low_type(&l, 1);
  const tn_status s = check_matrix(&l, a);
  if (s) return s;
  if (!tn_low_int(&l, "left", 1)) return tn_low_unsupported(&l, "X A = B");
  bool vector = b->rank == a->rank - 1;
  for (int32_t k = 0; vector && k < b->rank; k++) vector = b->shape[k] == a->shape[k];
  const int32_t rank = vector ? b->rank + 1 : b->rank;
  if (rank != a->rank) return tn_low_unsupported(&l, "sides of different ranks");
  for (int32_t k = 0; k < rank - 1; k++)
    if (b->shape[k] != a->shape[k]) return tn_low_unsupported(&l, "sides that broadcast");
  const int32_t right = vector ? at_unsqueeze(&l, tn_low_in(&l, 1), -1) : tn_low_in(&l, 1);
  const int64_t columns = vector ? 1 : b->shape[rank - 1];
  int32_t x = solved(&l, tn_low_in(&l, 0), right, rank, a->shape, columns);
  if (vector) x = at_squeeze(&l, x, -1);
  const int32_t out[] = {x, no_errors(&l, a)};
  return tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
}

/* ---- determinants, traces, norms ---- */

static int32_t det(const tn_lowering *l) { return tn_low_1(l, "Det", tn_low_in(l, 0)); }

/* det and logdet; slogdet answers the sign and the logarithm. */
tn_status aten_det(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 0);
  if (t->rank < 2) return at_fail(&l, TN_ERR_SHAPE, "it is no matrix");
  const int32_t y = det(&l);
  if (at_is(&l, "logdet")) return tn_low_done(&l, tn_low_1(&l, "Log", y));
  if (!at_is(&l, "slogdet") && !at_is(&l, "linalg_slogdet"))
    return tn_low_node(&l)->n_outputs > 1 ? tn_low_unsupported(&l, "its factors")
                                          : tn_low_done(&l, y);
  const int32_t out[] = {tn_low_1(&l, "Sign", y), tn_low_1(&l, "Log", tn_low_1(&l, "Abs", y))};
  return tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
}

tn_status aten_trace(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 0);
  const int64_t dims[] = {0, 1};
  if (t->rank != 2) return at_fail(&l, TN_ERR_SHAPE, "it is no matrix");
  const uint32_t to = at_category(t->dtype) == AT_FLOAT ? t->dtype : TN_I64;
  const int64_t column[] = {t->shape[0], 1};
  const int32_t on = tn_low_2(&l, "Equal", tn_low_reshape(&l, at_iota(&l, t->shape[0]), 2, column),
                              at_iota(&l, t->shape[1]));
  const int32_t x = at_where(&l, on, at_in(&l, 0, to), at_int_const(&l, to, 0));
  return tn_low_done(&l, at_reduce(&l, "ReduceSum", x, dims, 2, false));
}

/* Norms of matrices that are sums: Frobenius', the largest or smallest sum of a row or column. */
tn_status aten_matrix_norm(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 0);
  const uint32_t to = at_dtype(&l, "dtype", t->dtype);
  const tn_ints given = tn_low_ints(&l, "dim");
  const at_scalar ord = at_number(&l, "ord");
  const bool keep = tn_low_int(&l, "keepdim", 0) != 0;
  const int64_t rows = at_dim(&l, given.size == 2 ? given.data[0] : -2, t->rank),
                columns = at_dim(&l, given.size == 2 ? given.data[1] : -1, t->rank);
  if (rows < 0 || columns < 0) return (tn_status)(rows < 0 ? rows : columns);
  if (at_category(to) < AT_FLOAT || t->rank < 2 || rows == columns)
    return at_fail(&l, TN_ERR_INVALID, "it has no norm of matrices");
  const int32_t x = at_in(&l, 0, to);
  if (!ord.is_there) {
    if (at_has(&l, "ord") && !at_says(&l, "ord", "fro")) return tn_low_unsupported(&l, "this norm");
    const int64_t both[] = {rows, columns};
    return tn_low_done(&l, at_reduce(&l, "ReduceL2", x, both, 2, keep));
  }
  if (!isinf(ord.f) && fabs(ord.f) != 1) return tn_low_unsupported(&l, "norms by singular values");
  const int64_t sum = isinf(ord.f) ? columns : rows, rest = isinf(ord.f) ? rows : columns;
  const int32_t sums = at_reduce(&l, "ReduceSum", tn_low_1(&l, "Abs", x), &sum, 1, true);
  const int32_t y = at_reduce(&l, ord.f > 0 ? "ReduceMax" : "ReduceMin", sums, &rest, 1, true);
  if (keep) return tn_low_done(&l, y);
  const int64_t gone[] = {rows, columns};
  return tn_low_done(&l, tn_low_2(&l, "Squeeze", y, tn_low_ints_const(&l, gone, 2)));
}
