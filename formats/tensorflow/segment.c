/* Operators that add up or put down rows by numbers: segments, stitching, counting. */
#include "lower.h"
#include "tensorflow.gen.h"

/* How rows of one segment become one. */
typedef struct joining {
  const char *how; /* of ScatterND */
  double start;    /* what a segment without rows has while others are joined */
  bool mean, root; /* divided by the count, by its root */
  bool gathers;    /* rows are first picked by input 1 */
  bool unsorted;   /* segments without rows keep `start`; input 2 says how many there are */
} joining;

/* The largest number of input k, which has to be known; -1: there is none. */
static tn_status largest(const tn_lowering *l, uint32_t k, int64_t *out) {
  const tn_tensor *t = tn_low_type(l, k);
  const int64_t n = tn_elements(t);
  int64_t *ints = l->call->host->alloc(l->call->ctx, ((uint64_t)n + 1) * sizeof *ints), count;
  if (!ints) return TN_ERR_MEMORY;
  const tn_status s = lo_const_ints(l, k, ints, n, &count);
  *out = -1;
  for (int64_t i = 0; i < n && !s; i++)
    if (ints[i] > *out) *out = ints[i];
  l->call->host->free(l->call->ctx, ints);
  return s;
}

/* Rows [n, ...] put down at ids, which say rows of n_out; ids below 0 put nothing down. */
static int32_t put_rows(const tn_lowering *l, int32_t rows, const tn_tensor *type, int32_t ids,
                        int64_t n_out, const char *how, double start) {
  int64_t shape[TN_MAX_RANK];
  for (int32_t k = 1; k < type->rank; k++) shape[k] = type->shape[k];
  shape[0] = n_out + 1;
  const int32_t below = tn_low_2(l, "Less", ids, tn_low_number(l, TN_I64, 0));
  const int32_t at = tn_low_3(l, "Where", below, tn_low_number(l, TN_I64, (double)n_out), ids);
  const int32_t base = tn_low_2(l, "Expand", tn_low_number(l, type->dtype, start),
                                tn_low_ints_const(l, shape, type->rank));
  const int32_t in[] = {base, lo_unsqueeze(l, at, -1), rows};
  const tn_attr a = tn_attr_str("reduction", how);
  return lo_slice(l, tn_low_emit(l, "ScatterND", in, 3, &a, 1), 0, 0, n_out);
}

/* How many rows each segment has, shaped so that it divides them. */
static int32_t counts(const tn_lowering *l, const tn_tensor *rows, int32_t ids, int64_t n_out) {
  int64_t shape[TN_MAX_RANK] = {n_out};
  const tn_tensor ones = tn_tensor_make(rows->dtype, 1, rows->shape, NULL);
  const int32_t each =
      tn_low_2(l, "Expand", tn_low_number(l, rows->dtype, 1), tn_low_ints_const(l, rows->shape, 1));
  const int32_t count = put_rows(l, each, &ones, ids, n_out, "add", 0);
  for (int32_t k = 1; k < rows->rank; k++) shape[k] = 1;
  return tn_low_reshape(l, count, rows->rank, shape);
}

static tn_status segments(const tn_call *call, tn_graph *graph, int32_t node, const joining *j) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t at = j->gathers ? 2 : 1;
  const tn_tensor *ids = tn_low_type(&l, at);
  tn_tensor rows = *tn_low_type(&l, 0);
  int32_t x = tn_low_in(&l, 0);
  int64_t n_out = 0, n;
  const bool given = call->n_inputs > at + 1;
  tn_status s = given ? lo_const_ints(&l, at + 1, &n_out, 1, &n) : largest(&l, at, &n_out);
  if (s) return s;
  n_out += !given;
  if (n_out < 0 || rows.rank < 1) return tn_low_unsupported(&l, "rows of this shape");
  if (j->gathers) {
    x = tn_low_2(&l, "Gather", x, tn_low_in(&l, 1));
    rows.shape[0] = tn_elements(ids);
  } else if (ids->rank != 1) { /* as many leading dims as ids have become one */
    int32_t rank = 1;
    if (rows.rank < ids->rank) return tn_low_unsupported(&l, "ids of more dims than the data");
    for (int32_t k = ids->rank; k < rows.rank; k++) rows.shape[rank++] = rows.shape[k];
    rows.shape[0] = tn_elements(ids);
    rows.rank = rank;
    x = tn_low_reshape(&l, x, rank, rows.shape);
  }
  const int64_t flat = tn_elements(ids);
  const int32_t where = tn_low_reshape(&l, tn_low_in_i64(&l, at), 1, &flat);
  int32_t y = put_rows(&l, x, &rows, where, n_out, j->how, j->start);
  if (j->mean || j->root || (!j->unsorted && j->start != 0)) {
    const int32_t count = counts(&l, &rows, where, n_out), zero = tn_low_number(&l, rows.dtype, 0);
    const int32_t by = tn_low_2(&l, "Max", count, tn_low_number(&l, rows.dtype, 1));
    if (j->mean || j->root) y = tn_low_2(&l, "Div", y, j->root ? tn_low_1(&l, "Sqrt", by) : by);
    if (!j->unsorted && strcmp(j->how, "mul") && j->start != 0)
      y = tn_low_3(&l, "Where", tn_low_2(&l, "Equal", count, zero), zero, y);
  }
  return tn_low_done(&l, y);
}

static double limit(const tn_call *call, bool low_end) {
  const tn_tensor *x = tn_input(call, 0);
  const double of_float = 3.4028234663852886e38, of_int = 2147483647;
  const double end = x->dtype == TN_F32 || x->dtype == TN_F64 ? of_float : of_int;
  return low_end ? -end : end;
}

tn_status tf_segment_sum(const tn_call *call, tn_graph *graph, int32_t node) {
  return segments(call, graph, node, &(joining){.how = "add"});
}
tn_status tf_segment_mean(const tn_call *call, tn_graph *graph, int32_t node) {
  return segments(call, graph, node, &(joining){.how = "add", .mean = true});
}
tn_status tf_segment_prod(const tn_call *call, tn_graph *graph, int32_t node) {
  return segments(call, graph, node, &(joining){.how = "mul", .start = 1});
}
tn_status tf_segment_max(const tn_call *call, tn_graph *graph, int32_t node) {
  return segments(call, graph, node, &(joining){.how = "max", .start = limit(call, true)});
}
tn_status tf_segment_min(const tn_call *call, tn_graph *graph, int32_t node) {
  return segments(call, graph, node, &(joining){.how = "min", .start = limit(call, false)});
}
tn_status tf_unsorted_segment_sum(const tn_call *call, tn_graph *graph, int32_t node) {
  return segments(call, graph, node, &(joining){.how = "add", .unsorted = true});
}
tn_status tf_unsorted_segment_prod(const tn_call *call, tn_graph *graph, int32_t node) {
  return segments(call, graph, node, &(joining){.how = "mul", .start = 1, .unsorted = true});
}
tn_status tf_unsorted_segment_max(const tn_call *call, tn_graph *graph, int32_t node) {
  return segments(call, graph, node,
                  &(joining){.how = "max", .start = limit(call, true), .unsorted = true});
}
tn_status tf_unsorted_segment_min(const tn_call *call, tn_graph *graph, int32_t node) {
  return segments(call, graph, node,
                  &(joining){.how = "min", .start = limit(call, false), .unsorted = true});
}
tn_status tf_sparse_segment_sum(const tn_call *call, tn_graph *graph, int32_t node) {
  return segments(call, graph, node, &(joining){.how = "add", .gathers = true});
}
tn_status tf_sparse_segment_mean(const tn_call *call, tn_graph *graph, int32_t node) {
  return segments(call, graph, node, &(joining){.how = "add", .gathers = true, .mean = true});
}
tn_status tf_sparse_segment_sqrt(const tn_call *call, tn_graph *graph, int32_t node) {
  return segments(call, graph, node, &(joining){.how = "add", .gathers = true, .root = true});
}

/* N lists of indices, then N of rows: of several rows of one place the last counts. */
tn_status tf_dynamic_stitch(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  enum { MOST = 256 };
  const uint32_t n = call->n_inputs / 2;
  int32_t ids[MOST], rows[MOST];
  int64_t top = -1, total = 0;
  if (n < 1 || n > MOST || call->n_inputs % 2) return tn_low_unsupported(&l, "so many lists");
  tn_tensor type = *tn_low_type(&l, n);
  const int32_t lead = tn_low_type(&l, 0)->rank;
  if (type.rank < lead) return tn_low_unsupported(&l, "rows of fewer dims than their indices");
  int64_t shape[TN_MAX_RANK];
  int32_t rank = 1;
  for (int32_t k = lead; k < type.rank; k++) shape[rank++] = type.shape[k];
  for (uint32_t k = 0; k < n; k++) {
    int64_t most;
    const tn_status s = largest(&l, k, &most);
    const int64_t count = tn_elements(tn_low_type(&l, k));
    if (s) return s;
    top = tn_max_i64(top, most);
    shape[0] = count;
    total += count;
    ids[k] = tn_low_reshape(&l, tn_low_in_i64(&l, k), 1, &count);
    rows[k] = tn_low_reshape(&l, tn_low_in(&l, n + k), rank, shape);
  }
  shape[0] = total;
  const tn_tensor all = tn_tensor_make(type.dtype, rank, shape, NULL);
  return tn_low_done(&l, put_rows(&l, lo_concat(&l, rows, n, 0), &all, lo_concat(&l, ids, n, 0),
                                  top + 1, "none", 0));
}

tn_status tf_sparse_to_dense(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *ids = tn_low_type(&l, 0), *values = tn_low_type(&l, 2);
  const int64_t n = ids->rank ? ids->shape[0] : 1, depth = ids->rank == 2 ? ids->shape[1] : 1;
  const int64_t pairs[] = {n, depth};
  const int32_t base = tn_low_2(&l, "Expand", tn_low_in(&l, 3), tn_low_in_i64(&l, 1));
  const int32_t updates =
      values->rank ? tn_low_in(&l, 2)
                   : tn_low_2(&l, "Expand", tn_low_in(&l, 2), tn_low_ints_const(&l, &n, 1));
  const int32_t in[] = {base, tn_low_reshape(&l, tn_low_in_i64(&l, 0), 2, pairs), updates};
  return tn_low_done(&l, tn_low_emit(&l, "ScatterND", in, 3, NULL, 0));
}

/* ---- counting ---- */

/* How often each number below `size` stands in the last dim, or what stands for it adds up to. */
tn_status tf_dense_bincount(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0), *weights = tn_low_type(&l, 2);
  const bool is_weighted = tn_elements(weights) > 0, is_binary = tn_low_int(&l, "binary_output", 0);
  if (x->rank != 1 && x->rank != 2) return tn_low_unsupported(&l, "such a rank");
  const int64_t over[] = {x->rank - 1};
  const int32_t numbers = tn_low_3(&l, "Range", tn_low_number(&l, TN_I64, 0), tn_low_in_i64(&l, 1),
                                   tn_low_number(&l, TN_I64, 1));
  const int32_t is_here =
      tn_low_2(&l, "Equal", lo_unsqueeze(&l, tn_low_in_i64(&l, 0), -1), numbers);
  int32_t each = tn_low_cast(&l, is_here, weights->dtype);
  if (is_weighted && !is_binary)
    each = tn_low_2(&l, "Mul", each, lo_unsqueeze(&l, tn_low_in(&l, 2), -1));
  return tn_low_done(&l, lo_reduce(&l, is_binary ? "ReduceMax" : "ReduceSum", each, over, 1, 0));
}
