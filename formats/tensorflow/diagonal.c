/* Diagonals of matrices: each element of what comes out is one of the input, or of another value,
 * and which one depends on shapes alone. So all are a Gather from one row. */
#include "lower.h"
#include "tenon/kit/checked.h"
#include "tensorflow.gen.h"

/* Diagonals lo .. hi of [rows, columns], above the main one if they are above 0; `length`: places
 * for each, at whose right end shorter ones lie if their side says so. */
typedef struct diagonals {
  int64_t lo, hi, rows, columns, length;
  bool upper_is_right, lower_is_right;
} diagonals;

static int64_t length_of(const diagonals *d, int64_t k) {
  return tn_min_i64(d->rows + tn_min_i64(k, 0), d->columns - tn_max_i64(k, 0));
}

/* Where diagonal k begins among its places. */
static int64_t offset_of(const diagonals *d, int64_t k) {
  const bool is_right = k >= 0 ? d->upper_is_right : d->lower_is_right;
  return is_right ? d->length - length_of(d, k) : 0;
}

static tn_status read_diagonals(const tn_lowering *l, uint32_t at, diagonals *d) {
  int64_t list[2] = {0}, n = 1;
  const tn_status s = tn_low_type(l, at) ? lo_const_ints(l, at, list, 2, &n) : TN_OK;
  if (s) return s;
  d->lo = list[0], d->hi = n == 2 ? list[1] : list[0];
  const char *op = tn_low_node(l)->op; /* versions before 3 have all of them at the left */
  const bool has_sides = op[strlen(op) - 1] == '3';
  d->upper_is_right =
      has_sides && !lo_says(l, "align", "LEFT_LEFT") && !lo_says(l, "align", "LEFT_RIGHT");
  d->lower_is_right = lo_says(l, "align", "LEFT_RIGHT") || lo_says(l, "align", "RIGHT_RIGHT");
  if (d->lo <= d->hi) return TN_OK;
  return l->call->host->fail(l->call->ctx, TN_ERR_INVALID, "diagonals %lld to %lld",
                             (long long)d->lo, (long long)d->hi);
}

/* rows and columns are known: do the diagonals lie in the matrix? */
static tn_status check_diagonals(const tn_lowering *l, const diagonals *d) {
  const bool is = d->rows > 0 && d->columns > 0 && d->lo > -d->rows && d->hi < d->columns;
  return is ? TN_OK : tn_low_unsupported(l, "a diagonal outside of the matrix");
}

static int64_t longest(const diagonals *d) {
  int64_t most = 0;
  for (int64_t k = d->lo; k <= d->hi; k++) most = tn_max_i64(most, length_of(d, k));
  return most;
}

/* Dims of x before its last n, and then these. */
static int32_t shaped(const tn_lowering *l, int32_t x, const tn_tensor *type, int32_t n,
                      const int64_t *last, int32_t n_last) {
  int64_t shape[TN_MAX_RANK];
  const int32_t rank = type->rank - n;
  if (rank + n_last > TN_MAX_RANK) return tn_low_unsupported(l, "so many dims");
  for (int32_t k = 0; k < rank; k++) shape[k] = type->shape[k];
  for (int32_t k = 0; k < n_last; k++) shape[rank + k] = last[k];
  return tn_low_reshape(l, x, rank + n_last, shape);
}

/* The last n dims of input k as one, of `size` elements. */
static int32_t as_row(const tn_lowering *l, uint32_t k, int32_t n, int64_t size) {
  return shaped(l, tn_low_in(l, k), tn_low_type(l, k), n, &size, 1);
}

/* Behind a row: input k, one value, once for each row of `like` without its last n dims. */
static int32_t with_value(const tn_lowering *l, int32_t row, uint32_t k, const tn_tensor *like,
                          int32_t n) {
  const int64_t one = 1;
  int64_t shape[TN_MAX_RANK];
  for (int32_t i = 0; i < like->rank - n; i++) shape[i] = like->shape[i];
  shape[like->rank - n] = 1;
  const int32_t value = tn_low_type(l, k) ? tn_low_reshape(l, tn_low_in(l, k), 1, &one)
                                          : tn_low_number(l, like->dtype, 0);
  const int32_t parts[] = {
      row, tn_low_2(l, "Expand", value, tn_low_ints_const(l, shape, like->rank - n + 1))};
  return lo_concat(l, parts, 2, -1);
}

/* n elements of the rows, by their places, which are freed. */
static int32_t picked(const tn_lowering *l, int32_t rows, int64_t *places, int64_t n) {
  const tn_attr axis = tn_attr_int("axis", -1);
  const int32_t in[] = {rows, tn_low_ints_const(l, places, n)};
  l->call->host->free(l->call->ctx, places);
  return tn_low_emit(l, "Gather", in, 2, &axis, 1);
}

static int64_t *places_new(const tn_lowering *l, int64_t a, int64_t b) {
  uint64_t bytes;
  if (a < 0 || b < 0 || tn_mul_u64((uint64_t)a, (uint64_t)b, &bytes) ||
      tn_mul_u64(bytes + 1, sizeof(int64_t), &bytes))
    return NULL;
  return l->call->host->alloc(l->call->ctx, bytes);
}

tn_status tf_matrix_diag_part(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  diagonals d;
  tn_status s = x->rank < 2 ? tn_low_unsupported(&l, "fewer than 2 dims") : TN_OK;
  if (!s) s = read_diagonals(&l, 1, &d);
  if (s) return s;
  d.rows = x->shape[x->rank - 2], d.columns = x->shape[x->rank - 1];
  s = check_diagonals(&l, &d);
  if (s) return s;
  d.length = longest(&d);
  const int64_t n = d.hi - d.lo + 1, nowhere = d.rows * d.columns, shape[] = {n, d.length};
  int64_t *places = places_new(&l, n, d.length);
  if (!places) return TN_ERR_MEMORY;
  for (int64_t k = d.hi, i = 0; k >= d.lo; k--)
    for (int64_t p = 0; p < d.length; p++, i++) {
      const int64_t e = p - offset_of(&d, k);
      places[i] = e < 0 || e >= length_of(&d, k)
                      ? nowhere
                      : (e - tn_min_i64(k, 0)) * d.columns + e + tn_max_i64(k, 0);
    }
  const int32_t rows = with_value(&l, as_row(&l, 0, 2, nowhere), 2, x, 2),
                y = picked(&l, rows, places, n * d.length);
  return tn_low_done(&l, n == 1 ? y : shaped(&l, y, x, 2, shape, 2));
}

/* Places of [rows, columns] in a row that has the diagonals at `from` and else `i + other`, or
 * `other` alone if it is one place. */
static int64_t *places_of_matrix(const tn_lowering *l, const diagonals *d, int64_t from,
                                 int64_t other, bool other_is_one) {
  int64_t *places = places_new(l, d->rows, d->columns);
  for (int64_t i = 0; places && i < d->rows * d->columns; i++) {
    const int64_t row = i / d->columns, column = i % d->columns, k = column - row;
    places[i] = k < d->lo || k > d->hi
                    ? other + (other_is_one ? 0 : i)
                    : from + (d->hi - k) * d->length + offset_of(d, k) + tn_min_i64(row, column);
  }
  return places;
}

tn_status tf_matrix_diag(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  int64_t size[2] = {-1, -1}, n;
  diagonals d;
  tn_status s = read_diagonals(&l, 1, &d);
  for (uint32_t i = 0; i < 2 && !s; i++)
    if (tn_low_type(&l, 2 + i)) s = lo_const_ints(&l, 2 + i, &size[i], 1, &n);
  if (s) return s;
  n = d.hi - d.lo + 1;
  const int32_t dims = n > 1 ? 2 : 1;
  if (x->rank < dims || (n > 1 && x->shape[x->rank - 2] != n))
    return tn_low_unsupported(&l, "other than one row for each diagonal");
  d.length = x->shape[x->rank - 1];
  const int64_t rows = d.length - tn_min_i64(d.hi, 0), columns = d.length + tn_max_i64(d.lo, 0),
                side = tn_max_i64(rows, columns);
  const bool is_square = size[0] < 0 && size[1] < 0;
  d.rows = is_square ? side : size[0] < 0 ? rows : size[0];
  d.columns = is_square ? side : size[1] < 0 ? columns : size[1];
  s = check_diagonals(&l, &d);
  if (s) return s;
  if (longest(&d) != d.length) return tn_low_unsupported(&l, "diagonals of another length");
  const int64_t shape[] = {d.rows, d.columns};
  int64_t *places = places_of_matrix(&l, &d, 0, n * d.length, true);
  if (!places) return TN_ERR_MEMORY;
  const int32_t row = with_value(&l, as_row(&l, 0, dims, n * d.length), 4, x, dims);
  return tn_low_done(&l,
                     shaped(&l, picked(&l, row, places, d.rows * d.columns), x, dims, shape, 2));
}

tn_status tf_matrix_set_diag(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0), *new = tn_low_type(&l, 1);
  diagonals d;
  tn_status s = x->rank < 2 ? tn_low_unsupported(&l, "fewer than 2 dims") : TN_OK;
  if (!s) s = read_diagonals(&l, 2, &d);
  if (s) return s;
  d.rows = x->shape[x->rank - 2], d.columns = x->shape[x->rank - 1];
  s = check_diagonals(&l, &d);
  if (s) return s;
  d.length = longest(&d);
  const int64_t n = d.hi - d.lo + 1, shape[] = {d.rows, d.columns};
  const int32_t dims = n > 1 ? 2 : 1;
  if (new->rank != x->rank - 2 + dims || new->shape[new->rank - 1] != d.length)
    return tn_low_unsupported(&l, "diagonals of another length");
  int64_t *places = places_of_matrix(&l, &d, d.rows * d.columns, 0, false);
  if (!places) return TN_ERR_MEMORY;
  const int32_t parts[] = {as_row(&l, 0, 2, d.rows * d.columns), as_row(&l, 1, dims, n * d.length)};
  return tn_low_done(
      &l, shaped(&l, picked(&l, lo_concat(&l, parts, 2, -1), places, d.rows * d.columns), x, 2,
                 shape, 2));
}
