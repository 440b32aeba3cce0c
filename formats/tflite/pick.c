/* Operators that take elements by indices, or put them there. */
#include <float.h>

#include "lower.h"
#include "tflite.gen.h"

/* ---- taking ---- */

/* x with dim `from` moved in front of dim `to`. */
static int32_t moved(const tn_lowering *t, int32_t x, int32_t rank, int32_t from, int32_t to) {
  int32_t perm[TN_MAX_RANK], n = 0;
  for (int32_t k = 0; k < rank; k++)
    if (k != from) perm[n++] = k;
  memmove(perm + to + 1, perm + to, (size_t)(n - to) * sizeof *perm);
  perm[to] = from;
  return tn_low_transpose(t, x, rank, perm);
}

/* GatherND takes from the dim behind the batch dims: the axis goes there, and what it has become
 * goes behind the dims that were between. */
static tn_status batch_gather(const tn_lowering *t, int32_t axis, int32_t batch) {
  const int64_t last = -1;
  const int32_t rank = tn_low_type(t, 0)->rank, n = tn_low_type(t, 1)->rank - batch;
  if (batch > axis || n < 0) return tn_low_unsupported(t, "an axis among the batch dims");
  if (n != 1 && axis != batch)
    return tn_low_unsupported(t,
                              "an axis behind the batch dims, and other than one dim of indices");
  const int32_t x = tn_low_in(t, 0);
  const int32_t inputs[] = {
      axis == batch ? x : moved(t, x, rank, axis, batch),
      tn_low_2(t, "Unsqueeze", tn_low_in_i64(t, 1), tn_low_ints_const(t, &last, 1))};
  const tn_attr a = tn_attr_int("batch_dims", batch);
  const int32_t y = tn_low_emit(t, "GatherND", inputs, 2, &a, 1);
  return tn_low_done(t, axis == batch ? y : moved(t, y, rank, batch, axis));
}

tn_status tflite_gather(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  int64_t batch = tn_low_int(&t, "batch_dims", 0);
  int32_t axis = 0;
  if (batch < 0) batch += tn_low_type(&t, 1)->rank;
  const tn_status s =
      tn_axis_normalize(call, tn_low_int(&t, "axis", 0), tn_low_type(&t, 0)->rank, &axis);
  if (s) return s;
  if (batch) return batch_gather(&t, axis, (int32_t)tn_min_i64(batch, TN_MAX_RANK));
  const int32_t inputs[] = {tn_low_in(&t, 0), tn_low_in(&t, 1)};
  const tn_attr a = tn_attr_int("axis", axis);
  return tn_low_done(&t, tn_low_emit(&t, "Gather", inputs, 2, &a, 1));
}

/* Codes as f32. Those of u8 stand for the signed bytes that they are: files of 2018 say so of
 * weights beside f32 activations. */
static int32_t signed_codes(const tn_lowering *t, int32_t x, uint32_t dtype) {
  const int32_t y = tn_low_cast(t, x, TN_F32);
  if (dtype != TN_U8) return y;
  const int32_t above = tn_low_2(t, "Greater", y, tn_low_number(t, TN_F32, 127));
  return tn_low_3(t, "Where", above, tn_low_2(t, "Sub", y, tn_low_number(t, TN_F32, 256)), y);
}

/* Rows of the table; of a table of codes the numbers that they stand for, unless the output has a
 * scale, too. */
tn_status tflite_embedding_lookup(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *table = tn_low_type(&t, 1), *ids = tn_low_type(&t, 0);
  const int32_t rows = tn_low_2(&t, "Gather", tn_low_in(&t, 1), tn_low_in(&t, 0));
  if (table->dtype == TN_F32 || tfl_scale(&t, tfl_y(&t)) != 0) return tn_low_done(&t, rows);
  const tn_floats each = tn_low_floats(&t, "channel_scales");
  const double scale = tfl_scale(&t, 1);
  if (ids->rank != 1 || table->rank < 1 || (each.size <= 1 && scale == 0) ||
      (each.size > 1 && (tn_low_int(&t, "channel_dim", 0) || each.size != table->shape[0])))
    return tn_low_unsupported(&t, "a table of codes with such scales");
  const int32_t codes = signed_codes(&t, rows, table->dtype);
  if (each.size <= 1)
    return tn_low_done(&t, tn_low_2(&t, "Mul", codes, tn_low_number(&t, TN_F32, scale)));
  int64_t column[TN_MAX_RANK] = {ids->shape[0]};
  for (int32_t k = 1; k < table->rank; k++) column[k] = 1;
  const int32_t scales = tn_emit_floats(call, graph, each.data, each.size),
                own = tn_low_2(&t, "Gather", scales, tn_low_in(&t, 0));
  return tn_low_done(&t, tn_low_2(&t, "Mul", codes, tn_low_reshape(&t, own, table->rank, column)));
}

/* ---- EMBEDDING_LOOKUP_SPARSE ---- */

/* x [n, ...] added up in `places` rows, where `at` says. */
static int32_t summed(const tn_lowering *t, int32_t x, int32_t rank, const int64_t *row,
                      int64_t places, int32_t at) {
  int64_t shape[TN_MAX_RANK] = {places};
  for (int32_t k = 1; k < rank; k++) shape[k] = row[k];
  const int32_t in[] = {tfl_filled(t, tn_low_number(t, TN_F32, 0), rank, shape), at, x};
  const tn_attr add = tn_attr_str("reduction", "add");
  return tn_low_emit(t, "ScatterND", in, 3, &add, 1);
}

/* The place of each element in all dims of the shape but the last, counted through, [n, 1]. */
static int32_t places_of(const tn_lowering *t, const int64_t *shape, int64_t n_dims) {
  int64_t steps[TN_MAX_RANK], last = 1;
  const int64_t from = 0, to = n_dims - 1;
  for (int64_t k = to - 1; k >= 0; k--) {
    steps[k] = last;
    last *= shape[k];
  }
  const int32_t axis = tn_low_ints_const(t, &(int64_t){1}, 1),
                cut[] = {tn_low_in_i64(t, 1), tn_low_ints_const(t, &from, 1),
                         tn_low_ints_const(t, &to, 1), axis};
  const int32_t counted[] = {
      tn_low_2(t, "Mul", tn_low_emit(t, "Slice", cut, 4, NULL, 0), tn_low_ints_const(t, steps, to)),
      axis};
  const tn_attr keeps = tn_attr_int("keepdims", 1);
  return tn_low_emit(t, "ReduceSum", counted, 2, &keeps, 1);
}

/* Rows of the table by ids, times weights, added up by their indices; then divided by the sum of
 * the weights (MEAN), or the root of that of their squares (SQRTN). */
tn_status tflite_embedding_lookup_sparse(const tn_call *call, tn_graph *graph, int32_t node) {
  enum { MEAN = 1, SQRTN = 2 };
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *ids = tn_low_type(&t, 0), *at = tn_low_type(&t, 1), *table = tn_low_type(&t, 4);
  const int64_t how = tn_low_int(&t, "combiner", 0);
  int64_t shape[TN_MAX_RANK], n_dims, row[TN_MAX_RANK], places = 1;
  const tn_status s = tfl_const_dims(&t, 2, shape, &n_dims);
  if (s) return s;
  if (ids->rank != 1 || at->rank != 2 || at->shape[1] != n_dims || n_dims < 2 || table->rank < 2 ||
      n_dims + table->rank - 2 > TN_MAX_RANK || table->dtype != TN_F32)
    return tn_low_unsupported(&t, "inputs of such shapes or types");
  const int32_t rank = table->rank;
  int64_t column[TN_MAX_RANK] = {ids->shape[0]};
  for (int32_t k = 1; k < rank; k++) column[k] = 1, row[k] = table->shape[k];
  for (int64_t k = 0; k < n_dims - 1; k++) {
    if (shape[k] < 0 || shape[k] > INT32_MAX || (places *= shape[k]) > INT32_MAX)
      return tn_low_unsupported(&t, "so large a shape");
  }
  const int32_t weights = tn_low_reshape(&t, tn_low_in(&t, 3), rank, column),
                where = places_of(&t, shape, n_dims);
  const int32_t rows = tn_low_2(&t, "Gather", tn_low_in(&t, 4), tn_low_in(&t, 0));
  int32_t y = summed(&t, tn_low_2(&t, "Mul", rows, weights), rank, row, places, where);
  if (how == MEAN || how == SQRTN) {
    const int32_t each = how == MEAN ? weights : tn_low_2(&t, "Mul", weights, weights),
                  sum = summed(&t, each, rank, column, places, where),
                  by = how == MEAN ? sum : tn_low_1(&t, "Sqrt", sum),
                  zero = tn_low_number(&t, TN_F32, 0), none = tn_low_2(&t, "Equal", by, zero);
    y = tn_low_2(&t, "Div", y, tn_low_3(&t, "Where", none, tn_low_number(&t, TN_F32, 1), by));
  }
  for (int32_t k = 1; k < rank; k++) shape[n_dims - 2 + k] = row[k];
  return tn_low_done(&t, tn_low_reshape(&t, y, (int32_t)n_dims - 2 + rank, shape));
}

/* Rows of the keys that are wanted, and whether there are any: rows of 0 where not. */
tn_status tflite_hashtable_lookup(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *wanted = tn_low_type(&t, 0), *keys = tn_low_type(&t, 1),
                  *values = tn_low_type(&t, 2);
  if (wanted->rank != 1 || keys->rank != 1 || values->rank < 1 || !keys->shape[0] ||
      values->dtype == TN_STRING)
    return tn_low_unsupported(&t, "texts, or keys that are not one dim");
  const int64_t column[] = {wanted->shape[0], 1}, one = 1;
  int64_t rows[TN_MAX_RANK] = {wanted->shape[0]};
  for (int32_t k = 1; k < values->rank; k++) rows[k] = 1;
  const int32_t same = tn_low_cast(
      &t, tn_low_2(&t, "Equal", tn_low_reshape(&t, tn_low_in(&t, 0), 2, column), tn_low_in(&t, 1)),
      TN_I32);
  const tn_attr flat = tn_attr_int("keepdims", 0),
                which[] = {tn_attr_int("axis", 1), tn_attr_int("keepdims", 0)};
  const int32_t over[] = {same, tn_low_ints_const(&t, &one, 1)},
                found = tn_low_emit(&t, "ReduceMax", over, 2, &flat, 1),
                at = tn_low_emit(&t, "ArgMax", &same, 1, which, 2),
                picked = tn_low_2(&t, "Gather", tn_low_in(&t, 2), at),
                hit = tn_low_reshape(&t, tn_low_cast(&t, found, TN_BOOL), values->rank, rows);
  const int32_t made[] = {tn_low_3(&t, "Where", hit, picked, tn_low_number(&t, values->dtype, 0)),
                          tn_low_cast(&t, found, TN_U8)};
  return tn_low_done_many(&t, made, 2);
}

tn_status tflite_gather_nd(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return tn_low_done(&t, tn_low_2(&t, "GatherND", tn_low_in(&t, 0), tn_low_in_i64(&t, 1)));
}

/* ---- putting ---- */

static int32_t scattered(const tn_lowering *t, int32_t onto, int32_t indices, int32_t updates,
                         const char *reduction) {
  const int32_t inputs[] = {onto, indices, updates};
  const tn_attr a = tn_attr_str("reduction", reduction);
  return tn_low_emit(t, "ScatterND", inputs, 3, &a, 1);
}

/* Updates of one place are added. */
tn_status tflite_scatter_nd(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  int64_t shape[TN_MAX_RANK], n;
  const tn_status s = tfl_const_dims(&t, 2, shape, &n);
  if (s) return s;
  const int32_t zero = tn_low_number(&t, tn_low_type(&t, 1)->dtype, 0);
  return tn_low_done(&t, scattered(&t, tfl_filled(&t, zero, (int32_t)n, shape),
                                   tn_low_in_i64(&t, 0), tn_low_in(&t, 1), "add"));
}

/* Indices of one element, of elements of a vector, or of those of a tensor. */
tn_status tflite_sparse_to_dense(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *indices = tn_low_type(&t, 0), *values = tn_low_type(&t, 2);
  int64_t shape[TN_MAX_RANK], n;
  const tn_status s = tfl_const_dims(&t, 1, shape, &n);
  if (s) return s;
  const int64_t count = indices->rank ? indices->shape[0] : 1;
  const int64_t places[] = {count, indices->rank == 2 ? indices->shape[1] : 1};
  if (indices->rank > 2 || places[1] != n || values->rank > 1)
    return tn_low_unsupported(&t, "indices that are not one for each dim of the output");
  int32_t updates = tn_low_in(&t, 2);
  if (!values->rank) updates = tfl_filled(&t, updates, 1, &count);
  return tn_low_done(
      &t, scattered(&t, tfl_filled(&t, tn_low_in(&t, 3), (int32_t)n, shape),
                    tn_low_reshape(&t, tn_low_in_i64(&t, 0), 2, places), updates, "none"));
}

/* Coordinates of a box of the first `n` dims, [shape..., n]. */
static int32_t coordinates(const tn_lowering *t, const int64_t *shape, int32_t n) {
  int64_t dims[TN_MAX_RANK + 1], count = n;
  for (int32_t k = 0; k < n; k++) {
    dims[k] = shape[k];
    if (tn_mul_i64(count, shape[k], &count) || count > INT32_MAX) return TN_ERR_OVERFLOW;
  }
  dims[n] = n;
  int64_t *data = t->call->host->alloc(t->call->ctx, (uint64_t)(count + 1) * sizeof *data);
  if (!data) return TN_ERR_MEMORY;
  for (int64_t i = 0; i < count; i++) {
    int64_t rest = i / n;
    for (int32_t k = n - 1; k > i % n; k--) rest /= shape[k];
    data[i] = rest % shape[i % n];
  }
  const tn_tensor box = tn_tensor_make(TN_I64, n + 1, dims, data);
  const int32_t value = tn_emit_const(t->call, t->graph, &box);
  t->call->host->free(t->call->ctx, data);
  return value;
}

/* The update begins at `start`, moved so that all of it lies inside. Behind the last dim that it
 * does not fill, rows go as a whole. */
tn_status tflite_dynamic_update_slice(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&t, 0), *u = tn_low_type(&t, 1);
  int64_t room[TN_MAX_RANK];
  int32_t n = 0;
  for (int32_t k = 0; k < x->rank && x->rank == u->rank; k++) {
    room[k] = x->shape[k] - u->shape[k];
    if (room[k] < 0) return tn_low_unsupported(&t, "an update that is larger");
    if (room[k]) n = k + 1;
  }
  if (x->rank != u->rank) return tn_low_unsupported(&t, "an update of another rank");
  if (!n || !tn_elements(u)) return tn_low_done(&t, tn_low_in(&t, n ? 0 : 1));
  const int64_t zero = 0, to = n;
  const int32_t bounds[] = {tn_low_in_i64(&t, 2), tn_low_ints_const(&t, &zero, 1),
                            tn_low_ints_const(&t, &to, 1)};
  const int32_t from = tn_low_2(&t, "Max", tn_low_emit(&t, "Slice", bounds, 3, NULL, 0),
                                tn_low_ints_const(&t, &zero, 1));
  const int32_t start = tn_low_2(&t, "Min", from, tn_low_ints_const(&t, room, n));
  const int32_t places = tn_low_2(&t, "Add", coordinates(&t, u->shape, n), start);
  return tn_low_done(&t, scattered(&t, tn_low_in(&t, 0), places, tn_low_in(&t, 1), "none"));
}

/* ---- segments ---- */

/* Rows of x by the number of their segment, onto `onto`. */
static int32_t by_segment(const tn_lowering *t, int32_t onto, int32_t ids, const char *reduction) {
  const int64_t last = -1;
  const int32_t places = tn_low_2(t, "Unsqueeze", ids, tn_low_ints_const(t, &last, 1));
  return scattered(t, onto, places, tn_low_in(t, 0), reduction);
}

/* Segments that have no rows are `empty`. Rows of negative numbers go to one more, which is cut
 * off. */
static tn_status unsorted(const tn_call *call, tn_graph *graph, int32_t node, double empty,
                          const char *reduction) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&t, 0);
  int64_t shape[TN_MAX_RANK], n, count;
  const int64_t zero = 0;
  const tn_status s = tfl_const_dims(&t, 2, shape, &n);
  if (s) return s;
  if (n != 1 || tn_low_type(&t, 1)->rank != 1 || x->rank < 1)
    return tn_low_unsupported(&t, "segments of other than rows");
  count = shape[0];
  if (tn_add_i64(count, 1, &shape[0])) return TN_ERR_OVERFLOW;
  for (int32_t k = 1; k < x->rank; k++) shape[k] = x->shape[k];
  const int32_t onto = tfl_filled(&t, tn_low_number(&t, x->dtype, empty), x->rank, shape),
                ids = tn_low_in_i64(&t, 1),
                below = tn_low_2(&t, "Less", ids, tn_low_number(&t, TN_I64, 0)),
                behind = tn_low_ints_const(&t, &count, 1);
  const int32_t bounds[] = {
      by_segment(&t, onto, tn_low_3(&t, "Where", below, behind, ids), reduction),
      tn_low_ints_const(&t, &zero, 1), behind};
  return tn_low_done(&t, tn_low_emit(&t, "Slice", bounds, 3, NULL, 0));
}

tn_status tflite_unsorted_segment_sum(const tn_call *call, tn_graph *graph, int32_t node) {
  return unsorted(call, graph, node, 0, "add");
}
tn_status tflite_unsorted_segment_prod(const tn_call *call, tn_graph *graph, int32_t node) {
  return unsorted(call, graph, node, 1, "mul");
}

/* The extreme number of a type, which is the neutral one of Min and Max. */
static double extreme(const tn_call *call, double sign) {
  const tn_tensor *x = tn_input(call, 0);
  return sign * (x && x->dtype == TN_I32 ? sign > 0 ? (double)INT32_MAX : -(double)INT32_MIN
                                         : (double)FLT_MAX);
}

tn_status tflite_unsorted_segment_max(const tn_call *call, tn_graph *graph, int32_t node) {
  return unsorted(call, graph, node, extreme(call, -1), "max");
}
tn_status tflite_unsorted_segment_min(const tn_call *call, tn_graph *graph, int32_t node) {
  return unsorted(call, graph, node, extreme(call, 1), "min");
}

/* As many segments as the last number of one says. */
tn_status tflite_segment_sum(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&t, 0);
  const int64_t last = -1, end = INT64_MAX;
  if (tn_low_type(&t, 1)->rank != 1 || x->rank < 1)
    return tn_low_unsupported(&t, "segments of other than rows");
  const int32_t bounds[] = {tn_low_in_i64(&t, 1), tn_low_ints_const(&t, &last, 1),
                            tn_low_ints_const(&t, &end, 1)};
  const int32_t n = tn_low_2(&t, "Add", tn_low_emit(&t, "Slice", bounds, 3, NULL, 0),
                             tn_low_number(&t, TN_I64, 1));
  const int32_t dims[] = {n, tn_low_ints_const(&t, x->shape + 1, x->rank - 1)};
  const int32_t shape = x->rank > 1 ? tfl_joined(&t, dims, 2, 0) : n;
  const int32_t onto = tn_low_2(&t, "Expand", tn_low_number(&t, x->dtype, 0), shape);
  return tn_low_done(&t, by_segment(&t, onto, tn_low_in_i64(&t, 1), "add"));
}

/* ---- searching ---- */

tn_status tflite_where(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  static const int32_t perm[] = {1, 0};
  return tn_low_done(&t, tn_low_transpose(&t, tn_low_1(&t, "NonZero", tn_low_in(&t, 0)), 2, perm));
}

tn_status tflite_topk_v2(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const int64_t one = 1;
  int32_t out[2];
  const int32_t inputs[] = {tn_low_in(&t, 0), tn_low_reshape(&t, tn_low_in_i64(&t, 1), 1, &one)};
  tn_status s = tn_low_emit_many(&t, "TopK", inputs, 2, NULL, 0, 2, out);
  if (s) return s;
  out[1] = tn_low_cast(&t, out[1], TN_I32);
  return tn_low_done_many(&t, out, call->n_outputs < 2 ? call->n_outputs : 2);
}

/* Negative indices are none, and do not count from behind: the depth is none, either. */
tn_status tflite_one_hot(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const int64_t one = 1;
  const int32_t values[] = {tn_low_reshape(&t, tn_low_in(&t, 3), 1, &one),
                            tn_low_reshape(&t, tn_low_in(&t, 2), 1, &one)};
  const int32_t x = tn_low_in_i64(&t, 0);
  const int32_t below = tn_low_2(&t, "Less", x, tn_low_number(&t, TN_I64, 0));
  const int32_t inputs[] = {tn_low_3(&t, "Where", below, tn_low_in_i64(&t, 1), x), tn_low_in(&t, 1),
                            tfl_joined(&t, values, 2, 0)};
  const tn_attr a = tn_attr_int("axis", tn_low_int(&t, "axis", -1));
  return tn_low_done(&t, tn_low_emit(&t, "OneHot", inputs, 3, &a, 1));
}

/* Sorted by where they come first. */
tn_status tflite_unique(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  enum { INT64 = 4 };
  int32_t out[4];
  const int32_t x = tn_low_in(&t, 0);
  const tn_attr sorted = tn_attr_int("sorted", 0);
  const tn_status s = tn_low_emit_many(&t, "Unique", &x, 1, &sorted, 1, 4, out);
  if (s) return s;
  const int32_t indices =
      tn_low_int(&t, "idx_out_type", 2) == INT64 ? out[2] : tn_low_cast(&t, out[2], TN_I32);
  const int32_t values[] = {out[0], indices};
  return tn_low_done_many(&t, values, call->n_outputs < 2 ? call->n_outputs : 2);
}

/* How many of the ascending boundaries are not above each number. */
tn_status tflite_bucketize(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_floats bounds = tn_low_floats(&t, "boundaries");
  const int64_t last = -1;
  const int32_t axes = tn_low_ints_const(&t, &last, 1);
  const int32_t x = tn_low_2(&t, "Unsqueeze", tn_low_cast(&t, tn_low_in(&t, 0), TN_F32), axes);
  const int32_t reached =
      tn_low_2(&t, "GreaterOrEqual", x, tn_emit_floats(call, graph, bounds.data, bounds.size));
  const int32_t inputs[] = {tn_low_cast(&t, reached, TN_I32), axes};
  const tn_attr keeps = tn_attr_int("keepdims", 0);
  return tn_low_done(&t, tn_low_emit(&t, "ReduceSum", inputs, 2, &keeps, 1));
}

/* ---- boxes ---- */

/* x, filled up with zeros, or cut, to `most` elements. */
static int32_t as_long_as(const tn_lowering *t, int32_t x, uint32_t dtype, int64_t most) {
  const int64_t zero = 0;
  const int32_t parts[] = {x, tfl_filled(t, tn_low_number(t, dtype, 0), 1, &most)};
  const int32_t bounds[] = {tfl_joined(t, parts, 2, 0), tn_low_ints_const(t, &zero, 1),
                            tn_low_ints_const(t, &most, 1)};
  return tn_low_emit(t, "Slice", bounds, 3, NULL, 0);
}

/* The boxes [n, 4] that are left, best first, of rows of NonMaxSuppression. */
static int32_t best_boxes(const tn_lowering *t, int64_t n) {
  const int64_t boxes[] = {1, n, 4}, scores[] = {1, 1, n}, most = -1, column = 2;
  const int32_t inputs[] = {tn_low_reshape(t, tn_low_in(t, 0), 3, boxes),
                            tn_low_reshape(t, tn_low_in(t, 1), 3, scores), tn_low_in_i64(t, 2),
                            tn_low_in(t, 3), tn_low_in(t, 4)};
  const int32_t rows[] = {tn_low_emit(t, "NonMaxSuppression", inputs, 5, NULL, 0),
                          tn_low_number(t, TN_I64, (double)column)};
  const tn_attr axis = tn_attr_int("axis", 1);
  return tn_low_reshape(t, tn_low_emit(t, "Gather", rows, 2, &axis, 1), 1, &most);
}

static tn_status suppress(const tn_lowering *t, bool has_scores) {
  const tn_tensor *scores = tn_low_type(t, 1);
  int64_t most[TN_MAX_RANK], n;
  const tn_status s = tfl_const_dims(t, 2, most, &n);
  if (s) return s;
  if (n != 1 || most[0] < 0 || scores->rank != 1)
    return tn_low_unsupported(t, "other than one list of boxes");
  const int32_t best = best_boxes(t, scores->shape[0]);
  const int32_t taken[] = {tn_low_in(t, 1), best};
  const int32_t count =
      tn_low_reshape(t, tn_low_cast(t, tn_low_1(t, "Shape", best), TN_I32), 0, NULL);
  const int32_t indices = as_long_as(t, tn_low_cast(t, best, TN_I32), TN_I32, most[0]);
  const int32_t points =
      has_scores ? as_long_as(t, tn_low_emit(t, "Gather", taken, 2, NULL, 0), TN_F32, most[0]) : 0;
  const int32_t values[] = {indices, has_scores ? points : count, count};
  return tn_low_done_many(t, values, has_scores ? 3 : 2);
}

tn_status tflite_non_max_suppression_v4(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return suppress(&t, false);
}

tn_status tflite_non_max_suppression_v5(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *sigma = tn_low_type(&t, 5);
  if (!sigma || !sigma->data) return TN_NEEDS_DATA;
  if (tn_load_f64(sigma->dtype, sigma->data, 0) != 0)
    return tn_low_unsupported(&t, "scores that overlapping boxes lower (a soft_nms_sigma)");
  return suppress(&t, true);
}

/* ---- shapes ---- */

/* The shape that two shapes broadcast to. */
tn_status tflite_broadcast_args(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  int64_t most = 0;
  int32_t side[2];
  for (uint32_t k = 0; k < 2; k++)
    if (tn_low_type(&t, k)->rank == 1) most = tn_max_i64(most, tn_low_type(&t, k)->shape[0]);
  for (uint32_t k = 0; k < 2; k++) {
    const tn_tensor *x = tn_low_type(&t, k);
    if (x->rank != 1) return tn_low_unsupported(&t, "what is no shape");
    const int64_t missing = most - x->shape[0];
    const int32_t parts[] = {tfl_filled(&t, tn_low_number(&t, x->dtype, 1), 1, &missing),
                             tn_low_in(&t, k)};
    side[k] = missing ? tfl_joined(&t, parts, 2, 0) : tn_low_in(&t, k);
  }
  const int32_t ones =
      tn_low_2(&t, "Equal", side[0], tn_low_number(&t, tn_low_type(&t, 0)->dtype, 1));
  return tn_low_done(&t, tn_low_3(&t, "Where", ones, side[1], side[0]));
}
