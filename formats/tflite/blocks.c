/* Operators that cut dims in blocks, and those of diagonals. */
#include "lower.h"
#include "tflite.gen.h"

/* ---- batches and space ---- */

typedef struct batches {
  int64_t block[TN_MAX_RANK], edges[2 * TN_MAX_RANK], n;
} batches;

static tn_status read_batches(const tn_lowering *t, batches *b) {
  int64_t n;
  tn_status s = tfl_const_dims(t, 1, b->block, &b->n);
  if (!s) s = tn_const_ints(t->call, 2, b->edges, 2 * TN_MAX_RANK, &n);
  if (s) return s;
  const tn_tensor *x = tn_low_type(t, 0);
  bool fits = n == 2 * b->n && b->n >= 1 && b->n < x->rank && x->rank + b->n <= TN_MAX_RANK;
  for (int64_t k = 0; k < b->n && fits; k++)
    fits = b->block[k] >= 1 && b->block[k] <= INT32_MAX && b->edges[2 * k] >= 0 &&
           b->edges[2 * k + 1] >= 0;
  return fits ? TN_OK : tn_low_unsupported(t, "this block shape");
}

/* [N, X, C] padded, as [N, X/b, b, C], as [b, N, X/b, C]. */
tn_status tflite_space_to_batch_nd(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&t, 0);
  batches b;
  tn_status s = read_batches(&t, &b);
  if (s) return s;
  int64_t pads[2 * TN_MAX_RANK] = {0}, cut[TN_MAX_RANK], out[TN_MAX_RANK], rank = 0, batch = 1;
  int32_t perm[TN_MAX_RANK], to = 0;
  cut[rank++] = x->shape[0];
  for (int32_t k = 0; k < x->rank - 1; k++) {
    const bool is_cut = k < b.n;
    if (is_cut) pads[1 + k] = b.edges[2 * k], pads[x->rank + 1 + k] = b.edges[2 * k + 1];
    const int64_t dim = x->shape[1 + k] + pads[1 + k] + pads[x->rank + 1 + k];
    if (is_cut && dim % b.block[k])
      return tn_low_unsupported(&t, "dims that the blocks do not divide");
    if (is_cut) perm[to++] = (int32_t)rank + 1, batch *= b.block[k];
    cut[rank++] = is_cut ? dim / b.block[k] : dim;
    out[1 + k] = cut[rank - 1];
    if (is_cut) cut[rank++] = b.block[k];
  }
  out[0] = x->shape[0] * batch;
  for (int32_t k = 0, at = 0; k < x->rank; k++) {
    perm[to++] = at;
    at += k >= 1 && k <= b.n ? 2 : 1;
  }
  const double zero = tfl_is_quantised(&t) ? (double)tfl_zero(&t, 0) : 0;
  const int32_t wide = tfl_padded(&t, "constant", pads, tn_low_number(&t, x->dtype, zero));
  const int32_t blocks =
      tn_low_transpose(&t, tn_low_reshape(&t, wide, (int32_t)rank, cut), to, perm);
  return tn_low_done(&t, tn_low_reshape(&t, blocks, x->rank, out));
}

/* [b * N, X, C] as [b, N, X, C], as [N, X, b, C], as [N, X * b, C], cropped. */
tn_status tflite_batch_to_space_nd(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&t, 0);
  batches b;
  tn_status s = read_batches(&t, &b);
  if (s) return s;
  int64_t cut[TN_MAX_RANK], out[TN_MAX_RANK], from[TN_MAX_RANK] = {0}, to[TN_MAX_RANK], batch = 1;
  int32_t perm[TN_MAX_RANK], n = 0;
  const int32_t m = (int32_t)b.n;
  for (int32_t k = 0; k < m; k++) cut[k] = b.block[k], batch *= b.block[k];
  if (x->shape[0] % batch) return tn_low_unsupported(&t, "a batch that the blocks do not divide");
  cut[m] = to[0] = out[0] = x->shape[0] / batch;
  perm[n++] = m;
  for (int32_t k = 1; k < x->rank; k++) {
    const bool is_cut = k <= m;
    cut[m + k] = x->shape[k];
    perm[n++] = m + k;
    if (is_cut) perm[n++] = k - 1;
    out[k] = is_cut ? x->shape[k] * b.block[k - 1] : x->shape[k];
    if (is_cut) from[k] = b.edges[2 * (k - 1)];
    to[k] = is_cut ? out[k] - b.edges[2 * (k - 1) + 1] : out[k];
    if (from[k] > to[k]) return tn_low_unsupported(&t, "crops that leave nothing");
  }
  const int32_t blocks =
      tn_low_transpose(&t, tn_low_reshape(&t, tn_low_in(&t, 0), x->rank + m, cut), n, perm);
  return tn_low_done(
      &t, tfl_slice(&t, tn_low_reshape(&t, blocks, x->rank, out), x->rank, from, to, NULL));
}

/* ---- diagonals ---- */

/* True on the diagonal of [rows, columns]. */
static int32_t diagonal(const tn_lowering *t, int64_t rows, int64_t columns) {
  const int64_t n = rows * columns;
  if (n > 1 << 24) return tn_low_unsupported(t, "so large a diagonal");
  uint8_t *data = t->call->host->alloc(t->call->ctx, (uint64_t)n + 1);
  if (!data) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < rows && k < columns; k++) data[k * columns + k] = 1;
  const int64_t shape[] = {rows, columns};
  const tn_tensor made = tn_tensor_make(TN_BOOL, 2, shape, data);
  const int32_t value = tn_emit_const(t->call, t->graph, &made);
  t->call->host->free(t->call->ctx, data);
  return value;
}

tn_status tflite_matrix_diag(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&t, 0);
  const int64_t last = -1;
  if (x->rank < 1) return tn_low_unsupported(&t, "a scalar");
  const int64_t n = x->shape[x->rank - 1];
  const int32_t rows = tn_low_2(&t, "Unsqueeze", tn_low_in(&t, 0), tn_low_ints_const(&t, &last, 1));
  return tn_low_done(
      &t, tn_low_3(&t, "Where", diagonal(&t, n, n), rows, tn_low_number(&t, x->dtype, 0)));
}

tn_status tflite_matrix_set_diag(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&t, 0), *d = tn_low_type(&t, 1);
  if (x->rank < 2 || d->rank != x->rank - 1) return tn_low_unsupported(&t, "these ranks");
  const int64_t rows = x->shape[x->rank - 2], columns = x->shape[x->rank - 1],
                n = d->shape[d->rank - 1], least = rows < columns ? rows : columns;
  if (n != least) return tn_low_unsupported(&t, "a diagonal of another length");
  /* one value per row, or per column where there are more rows */
  const int64_t axis = rows > columns ? -2 : -1;
  const int32_t values =
      tn_low_2(&t, "Unsqueeze", tn_low_in(&t, 1), tn_low_ints_const(&t, &axis, 1));
  return tn_low_done(&t,
                     tn_low_3(&t, "Where", diagonal(&t, rows, columns), values, tn_low_in(&t, 0)));
}
