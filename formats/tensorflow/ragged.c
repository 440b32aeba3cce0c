/* Ragged and sparse tensors: rows of different lengths behind one another (`splits` says where each
 * begins, and the end), and elements with their indices. */
#include "lower.h"
#include "tensorflow.gen.h"

static int32_t i64(const tn_lowering *l, int64_t x) { return tn_low_number(l, TN_I64, (double)x); }

static int32_t as_i64(const tn_lowering *l, int32_t x) { return tn_low_cast(l, x, TN_I64); }

static int32_t iota(const tn_lowering *l, int32_t n) {
  return tn_low_3(l, "Range", i64(l, 0), n, i64(l, 1));
}

/* Elements of the first dim, as a value without dims. */
static int32_t length(const tn_lowering *l, int32_t x) {
  const tn_attr attrs[] = {tn_attr_int("start", 0), tn_attr_int("end", 1)};
  return lo_squeeze(l, tn_low_emit(l, "Shape", &x, 1, attrs, 2), 0);
}

static int32_t from_second(const tn_lowering *l, int32_t x) {
  return lo_slice(l, x, 0, 1, INT64_MAX);
}

static int32_t row(const tn_lowering *l, int32_t x) {
  const int64_t all = -1;
  return tn_low_reshape(l, x, 1, &all);
}

/* How many of no number there are: [n] zeros. */
static int32_t zeros(const tn_lowering *l, int32_t n) {
  return tn_low_2(l, "Expand", i64(l, 0), row(l, n));
}

/* The sums of what stands before each, and the sum of all: [n + 1] of [n]. */
static int32_t splits_of(const tn_lowering *l, int32_t lengths) {
  const int64_t none = 0;
  const int32_t parts[] = {tn_low_ints_const(l, &none, 1),
                           tn_low_2(l, "CumSum", lengths, i64(l, 0))};
  return lo_concat(l, parts, 2, 0);
}

static int32_t lengths_of(const tn_lowering *l, int32_t splits) {
  return tn_low_2(l, "Sub", from_second(l, splits), lo_slice(l, splits, 0, 0, -1));
}

/* The row of each element: how many rows have ended where it stands. Empty rows end where they
 * begin, so that ends are counted. */
static int32_t rows_of(const tn_lowering *l, int32_t splits) {
  const int32_t total = tn_low_2(l, "Gather", splits, i64(l, -1)), ends = from_second(l, splits);
  const tn_attr add = tn_attr_str("reduction", "add");
  const int32_t in[] = {zeros(l, tn_low_2(l, "Add", total, i64(l, 1))), lo_unsqueeze(l, ends, 1),
                        tn_low_2(l, "Expand", i64(l, 1), tn_low_1(l, "Shape", ends))};
  const int32_t ended =
      tn_low_2(l, "CumSum", tn_low_emit(l, "ScatterND", in, 3, &add, 1), i64(l, 0));
  return lo_slice(l, ended, 0, 0, -1);
}

/* The place of each element in its row. */
static int32_t places_of(const tn_lowering *l, int32_t splits, int32_t rows) {
  return tn_low_2(l, "Sub", iota(l, length(l, rows)), tn_low_2(l, "Gather", splits, rows));
}

/* Splits of elements that say their rows, which rise. */
static int32_t splits_of_rows(const tn_lowering *l, int32_t rows, int32_t n_rows) {
  const tn_attr add = tn_attr_str("reduction", "add");
  const int32_t in[] = {zeros(l, n_rows), lo_unsqueeze(l, rows, 1),
                        tn_low_2(l, "Expand", i64(l, 1), tn_low_1(l, "Shape", rows))};
  return splits_of(l, tn_low_emit(l, "ScatterND", in, 3, &add, 1));
}

/* ---- RaggedRange ---- */

static int32_t spread(const tn_lowering *l, uint32_t k, int32_t n) {
  return tn_low_type(l, k)->rank ? tn_low_in(l, k)
                                 : tn_low_2(l, "Expand", tn_low_in(l, k), row(l, n));
}

/* Splits, and the numbers start, start + delta ... below (above) limit, row behind row. */
tn_status tf_ragged_range(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = tn_low_type(&l, 0)->dtype;
  int64_t n = 1;
  for (uint32_t k = 0; k < 3; k++)
    if (tn_low_type(&l, k)->rank == 1) n = tn_low_type(&l, k)->shape[0];
  const int32_t starts = spread(&l, 0, i64(&l, n)), limits = spread(&l, 1, i64(&l, n)),
                deltas = spread(&l, 2, i64(&l, n));
  const int32_t steps =
      tn_low_2(&l, "Div", tn_low_cast(&l, tn_low_2(&l, "Sub", limits, starts), TN_F64),
               tn_low_cast(&l, deltas, TN_F64));
  const int32_t lengths = tn_low_2(&l, "Max", as_i64(&l, tn_low_1(&l, "Ceil", steps)), i64(&l, 0));
  const int32_t splits = splits_of(&l, lengths), rows = rows_of(&l, splits),
                place = tn_low_cast(&l, places_of(&l, splits, rows), dtype);
  const int32_t numbers =
      tn_low_2(&l, "Add", tn_low_2(&l, "Gather", starts, rows),
               tn_low_2(&l, "Mul", place, tn_low_2(&l, "Gather", deltas, rows)));
  const uint32_t splits_type =
      tn_dtype_of_onnx(tn_low_int(&l, "Tsplits", tn_onnx_of_dtype(TN_I64)));
  const int32_t out[] = {tn_low_cast(&l, splits, splits_type), numbers};
  return tn_low_done_many(&l, out, call->n_outputs);
}

/* How often each number below input 2 stands in a row, or what input 3 has there adds up to.
 * Numbers beyond it are counted in one more column, which is cut off. */
tn_status tf_ragged_bincount(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *splits = tn_low_type(&l, 0), *x = tn_low_type(&l, 1),
                  *weights = tn_low_type(&l, 3);
  const bool is_weighted = tn_elements(weights) > 0, is_binary = tn_low_int(&l, "binary_output", 0);
  if (splits->rank != 1 || splits->shape[0] < 1 || x->rank != 1)
    return tn_low_unsupported(&l, "rows of such a shape");
  const int32_t size = tn_low_in_i64(&l, 2), rows = rows_of(&l, tn_low_in_i64(&l, 0));
  const int32_t at[] = {lo_unsqueeze(&l, rows, 1),
                        lo_unsqueeze(&l, tn_low_2(&l, "Min", tn_low_in_i64(&l, 1), size), 1)};
  const int32_t dims[] = {row(&l, i64(&l, splits->shape[0] - 1)),
                          row(&l, tn_low_2(&l, "Add", size, i64(&l, 1)))};
  const int32_t ones =
      tn_low_2(&l, "Expand", tn_low_number(&l, weights->dtype, 1), tn_low_1(&l, "Shape", rows));
  const int32_t in[] = {
      tn_low_2(&l, "Expand", tn_low_number(&l, weights->dtype, 0), lo_concat(&l, dims, 2, 0)),
      lo_concat(&l, at, 2, 1), is_weighted && !is_binary ? tn_low_in(&l, 3) : ones};
  const tn_attr how = tn_attr_str("reduction", is_binary ? "none" : "add");
  const int64_t first = 0, columns = 1;
  const int32_t cut[] = {tn_low_emit(&l, "ScatterND", in, 3, &how, 1),
                         tn_low_ints_const(&l, &first, 1), row(&l, size),
                         tn_low_ints_const(&l, &columns, 1)};
  return tn_low_done(&l, tn_low_emit(&l, "Slice", cut, 4, NULL, 0));
}

/* ---- RaggedGather ---- */

/* Rows of a ragged tensor, whose first `ragged` splits and elements are the inputs. */
tn_status tf_ragged_gather(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  enum { MOST = 8 };
  const uint32_t n = call->n_inputs < 3 ? 0 : call->n_inputs - 2;
  int32_t out[MOST + 1];
  if (n < 1 || n > MOST || tn_low_type(&l, n + 1)->rank != 1)
    return tn_low_unsupported(&l, "such a number of ragged dims, or indices of other than one dim");
  int32_t chosen = tn_low_in_i64(&l, n + 1);
  for (uint32_t k = 0; k < n;
       k++) { /* the elements that the chosen rows have, one dim further in */
    const int32_t from = tn_low_in_i64(&l, k),
                  lengths = tn_low_2(&l, "Gather", lengths_of(&l, from), chosen),
                  splits = splits_of(&l, lengths), rows = rows_of(&l, splits);
    const int32_t begins = tn_low_2(&l, "Gather", from, tn_low_2(&l, "Gather", chosen, rows));
    out[k] = tn_low_cast(&l, splits, tn_low_type(&l, k)->dtype);
    chosen = tn_low_2(&l, "Add", begins, places_of(&l, splits, rows));
  }
  out[n] = tn_low_2(&l, "Gather", tn_low_in(&l, n), chosen);
  return tn_low_done_many(&l, out, call->n_outputs);
}

/* ---- to other forms ---- */

/* The index of each element in the dims so far, [n, dims], as columns. */
typedef struct path {
  int32_t columns[TN_MAX_RANK];
  uint32_t n;
} path;

/* One ragged dim more: its elements stand in these rows, at these places. */
static void descend(const tn_lowering *l, path *p, int32_t rows, int32_t places) {
  if (!p->n)
    p->columns[p->n++] = rows;
  else
    for (uint32_t k = 0; k < p->n; k++) p->columns[k] = tn_low_2(l, "Gather", p->columns[k], rows);
  p->columns[p->n++] = places;
}

static int32_t path_indices(const tn_lowering *l, const path *p) {
  int32_t columns[TN_MAX_RANK];
  for (uint32_t k = 0; k < p->n; k++) columns[k] = lo_unsqueeze(l, p->columns[k], 1);
  return lo_concat(l, columns, p->n, 1);
}

/* The length of the longest row, [1]; 0 if there is none. */
static int32_t longest(const tn_lowering *l, int32_t lengths) {
  const int64_t first = 0, none = 0;
  const int32_t parts[] = {lengths, tn_low_ints_const(l, &none, 1)};
  return lo_reduce(l, "ReduceMax", lo_concat(l, parts, 2, 0), &first, 1, 1);
}

/* Indices, elements and shape of a sparse tensor. */
tn_status tf_ragged_to_sparse(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t n = call->n_inputs - 1;
  if (n < 1 || n >= TN_MAX_RANK || tn_low_type(&l, n)->rank != 1)
    return tn_low_unsupported(&l, "elements that have dims, or so many ragged dims");
  path p = {.n = 0};
  int32_t dims[TN_MAX_RANK];
  for (uint32_t k = 0; k < n; k++) {
    const int32_t splits = tn_low_in_i64(&l, k), rows = rows_of(&l, splits),
                  lengths = lengths_of(&l, splits);
    if (!k) dims[0] = row(&l, length(&l, lengths));
    dims[k + 1] = longest(&l, lengths);
    descend(&l, &p, rows, places_of(&l, splits, rows));
  }
  const int32_t out[] = {path_indices(&l, &p), tn_low_in(&l, n), lo_concat(&l, dims, n + 1, 0)};
  return tn_low_done_many(&l, out, call->n_outputs);
}

/* What row_partition_types say of input k + 3. */
typedef struct partition {
  int32_t splits, rows;
} partition;

/* Partition k of the list; *at moves on by one or two inputs. */
static tn_status next_partition(const tn_lowering *l, const tn_attr *types, uint32_t *at,
                                partition *out, int32_t *n_rows) {
  const tn_str kind = types->strs.data[*at];
  const int32_t in = tn_low_in_i64(l, 3 + *at);
  if (tn_str_is(kind, "ROW_SPLITS")) {
    *out = (partition){in, rows_of(l, in)};
    if (*n_rows < 0) *n_rows = length(l, from_second(l, in));
    ++*at;
    return TN_OK;
  }
  if (tn_str_is(kind, "FIRST_DIM_SIZE") && *at + 1 < types->strs.size) {
    *n_rows = in;
    const int32_t rows = tn_low_in_i64(l, 4 + *at);
    *out = (partition){splits_of_rows(l, rows, in), rows};
    *at += 2;
    return TN_OK;
  }
  return tn_low_unsupported(l, "such a list of row_partition_types");
}

/* The dense tensor, filled up with the default: the shape that input 0 says, where it is -1 that
 * of the longest rows. Elements beyond it are put behind its end, which is cut off. */
tn_status tf_ragged_to_dense(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_attr *types = tn_pattern_attr(tn_low_node(&l), "row_partition_types", TN_ATTR_STRS);
  const tn_tensor *values = tn_low_type(&l, 1);
  int64_t said[TN_MAX_RANK], n_said;
  const tn_status known = lo_const_ints(&l, 0, said, TN_MAX_RANK, &n_said);
  if (known) return known;
  if (!types || types->strs.size + 3 != call->n_inputs)
    return tn_low_unsupported(&l, "such a list of row_partition_types");
  path p = {.n = 0};
  int32_t sizes[TN_MAX_RANK], n_rows = -1;
  for (uint32_t at = 0; at < types->strs.size;) {
    partition part = {TN_NO_ID, TN_NO_ID};
    const uint32_t dim = p.n ? p.n : 1;
    const tn_status s = next_partition(&l, types, &at, &part, &n_rows);
    if (s) return s;
    if (dim + 1 >= TN_MAX_RANK) return tn_low_unsupported(&l, "so many ragged dims");
    descend(&l, &p, part.rows, places_of(&l, part.splits, part.rows));
    sizes[dim] = longest(&l, lengths_of(&l, part.splits));
  }
  sizes[0] = row(&l, n_rows);
  for (uint32_t k = 0; k < p.n; k++) { /* clamped to one place behind the end */
    if (k < n_said && said[k] >= 0) sizes[k] = tn_low_ints_const(&l, &said[k], 1);
    p.columns[k] = tn_low_2(&l, "Min", p.columns[k], sizes[k]);
  }
  int32_t wide[TN_MAX_RANK];
  for (uint32_t k = 0; k < p.n; k++) wide[k] = tn_low_2(&l, "Add", sizes[k], i64(&l, 1));
  for (int32_t k = 1; k < values->rank; k++)
    wide[p.n + (uint32_t)k - 1] = tn_low_ints_const(&l, &values->shape[k], 1);
  const uint32_t rank = p.n + (uint32_t)values->rank - 1;
  const int32_t base = tn_low_2(&l, "Expand", tn_low_in(&l, 2), lo_concat(&l, wide, rank, 0));
  const int32_t in[] = {base, path_indices(&l, &p), tn_low_in(&l, 1)};
  int32_t y = tn_low_emit(&l, "ScatterND", in, 3, NULL, 0);
  for (uint32_t k = 0; k < p.n; k++) {
    const int64_t dim = k, none = 0;
    const int32_t cut[] = {y, tn_low_ints_const(&l, &none, 1), sizes[k],
                           tn_low_ints_const(&l, &dim, 1)};
    y = tn_low_emit(&l, "Slice", cut, 4, NULL, 0);
  }
  return tn_low_done(&l, y);
}

/* ---- sparse ---- */

/* What one step in each of rank dims is worth, [rank], of a shape of row-major order. */
static int32_t strides_of(const tn_lowering *l, int32_t shape, int64_t rank) {
  int32_t parts[TN_MAX_RANK];
  const int64_t one = 1;
  parts[rank - 1] = tn_low_ints_const(l, &one, 1);
  for (int64_t k = rank - 2; k >= 0; k--)
    parts[k] = tn_low_2(l, "Mul", parts[k + 1], lo_slice(l, shape, 0, k + 1, k + 2));
  return lo_concat(l, parts, (uint32_t)rank, 0);
}

/* Indices and shape of the same elements in a tensor of another shape. */
tn_status tf_sparse_reshape(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *old = tn_low_type(&l, 1), *made = tn_low_type(&l, 2);
  if (old->rank != 1 || made->rank != 1 || old->shape[0] < 1 || made->shape[0] < 1 ||
      old->shape[0] > TN_MAX_RANK || made->shape[0] > TN_MAX_RANK)
    return tn_low_unsupported(&l, "such shapes");
  const int64_t last = 1, first = 0;
  const int32_t shape = tn_low_in_i64(&l, 1), said = tn_low_in_i64(&l, 2), minus = i64(&l, -1);
  const tn_attr keep = tn_attr_int("keepdims", 0);
  const int32_t product[] = {tn_low_emit(&l, "ReduceProd", &shape, 1, &keep, 1),
                             tn_low_emit(&l, "ReduceProd", &said, 1, &keep, 1)};
  const int32_t open = tn_low_2(&l, "Equal", said, minus),
                rest = tn_low_2(&l, "Div", product[0], tn_low_1(&l, "Neg", product[1]));
  const int32_t any = lo_reduce(&l, "ReduceMax", tn_low_cast(&l, open, TN_I64), &first, 1, 0);
  const int32_t left = tn_low_3(&l, "Where", tn_low_cast(&l, any, TN_BOOL), rest, i64(&l, 0)),
                full = tn_low_3(&l, "Where", open, left, said);
  const int32_t at = lo_reduce(
      &l, "ReduceSum",
      tn_low_2(&l, "Mul", tn_low_in_i64(&l, 0), strides_of(&l, shape, old->shape[0])), &last, 1, 1);
  const int32_t whole = tn_low_2(&l, "Div", at, strides_of(&l, full, made->shape[0]));
  const int32_t out[] = {tn_low_2(&l, "Mod", whole, full), full};
  return tn_low_done_many(&l, out, call->n_outputs);
}

/* Rows without elements get one, the default at index 0: indices, elements, which rows were empty,
 * and where each old element stands now. */
tn_status tf_sparse_fill_empty_rows(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *indices = tn_low_type(&l, 0);
  const tn_status s = lo_rank(&l, 0, 2);
  if (s) return s;
  const int64_t rank = indices->shape[1], first = 0;
  const int32_t old = tn_low_in_i64(&l, 0), n = length(&l, old),
                rows = lo_squeeze(&l, lo_slice(&l, old, 1, 0, 1), 1);
  const int32_t n_rows = lo_squeeze(&l, lo_slice(&l, tn_low_in_i64(&l, 2), 0, 0, 1), 0);
  const int32_t mark[] = {zeros(&l, n_rows), lo_unsqueeze(&l, rows, 1),
                          tn_low_2(&l, "Expand", i64(&l, 1), tn_low_1(&l, "Shape", rows))};
  const int32_t empty =
      tn_low_2(&l, "Equal", tn_low_emit(&l, "ScatterND", mark, 3, NULL, 0), i64(&l, 0));
  const int32_t added = lo_squeeze(&l, tn_low_1(&l, "NonZero", empty), 0),
                n_added = length(&l, added);
  const int32_t both[] = {rows, added}, all_rows = lo_concat(&l, both, 2, 0),
                total = tn_low_2(&l, "Add", n, n_added);
  /* sorted by row; of one row in the order that they had */
  const int32_t key = tn_low_2(&l, "Add", tn_low_2(&l, "Mul", all_rows, total), iota(&l, total));
  const int32_t top[] = {key, row(&l, total)};
  const tn_attr rising = tn_attr_int("largest", 0);
  int32_t sorted[2], order;
  const tn_status t = tn_low_emit_many(&l, "TopK", top, 2, &rising, 1, 2, sorted);
  if (t) return t;
  order = sorted[1];
  int32_t columns[TN_MAX_RANK];
  const int32_t gap = zeros(&l, n_added);
  if (rank < 1 || rank > TN_MAX_RANK) return tn_low_unsupported(&l, "indices of so many dims");
  columns[0] = lo_unsqueeze(&l, all_rows, 1);
  for (int64_t k = 1; k < rank; k++) {
    const int32_t parts[] = {lo_squeeze(&l, lo_slice(&l, old, 1, k, k + 1), 1), gap};
    columns[k] = lo_unsqueeze(&l, lo_concat(&l, parts, 2, 0), 1);
  }
  const int32_t filled[] = {tn_low_in(&l, 1),
                            tn_low_2(&l, "Expand", tn_low_in(&l, 3), row(&l, n_added))};
  const int32_t place[] = {zeros(&l, total), lo_unsqueeze(&l, order, 1), iota(&l, total)};
  const int32_t now = tn_low_emit(&l, "ScatterND", place, 3, NULL, 0),
                cut[] = {now, tn_low_ints_const(&l, &first, 1), row(&l, n)};
  const int32_t out[] = {tn_low_2(&l, "Gather", lo_concat(&l, columns, (uint32_t)rank, 1), order),
                         tn_low_2(&l, "Gather", lo_concat(&l, filled, 2, 0), order), empty,
                         tn_low_emit(&l, "Slice", cut, 3, NULL, 0)};
  return tn_low_done_many(&l, out, call->n_outputs);
}
