/* STABLEHLO_GATHER and STABLEHLO_SCATTER: windows of a tensor that begin where indices say. The
 * tensor becomes rows [rows, inner], of which the inner dims are those that each window fills, and
 * windows lists of rows. */
#include "lower.h"
#include "tflite.gen.h"

enum { MOST_PLACES = 1 << 24 };

/* A tensor, and windows of it. */
typedef struct windows {
  int32_t rank, outer; /* dims; those before the inner ones */
  const int64_t *shape;
  int64_t size[TN_MAX_RANK]; /* of a window */
  bool is_dropped[TN_MAX_RANK];
  tn_ints map;               /* the dims that indices begin in */
  int64_t vector;            /* the dim of indices that holds them */
  int64_t rows, inner, each; /* each: rows in a window */
} windows;

static bool has(const tn_ints *list, int64_t value) {
  for (int64_t k = 0; k < list->size; k++)
    if (list->data[k] == value) return true;
  return false;
}

/* Ascending, or each once, and all within 0 .. rank - 1. */
static bool are_dims(const tn_ints *list, int32_t rank, bool ascend) {
  for (int64_t k = 0; k < list->size; k++) {
    if (list->data[k] < 0 || list->data[k] >= rank) return false;
    if (ascend && k && list->data[k] <= list->data[k - 1]) return false;
    for (int64_t d = 0; d < k; d++)
      if (list->data[d] == list->data[k]) return false;
  }
  return true;
}

/* The rest of w, when shape, sizes, dropped dims, map and vector are known. false: contradictory.
 */
static bool complete(windows *w, const tn_tensor *indices) {
  const int32_t n = indices->rank;
  if (w->vector < 0 || w->vector > n || !are_dims(&w->map, w->rank, false)) return false;
  if (w->map.size != (w->vector == n ? 1 : indices->shape[w->vector])) return false;
  w->outer = w->rank;
  for (int32_t k = 0; k < w->rank; k++)
    if (w->size[k] < 0 || w->size[k] > w->shape[k]) return false;
  while (w->outer && w->size[w->outer - 1] == w->shape[w->outer - 1] &&
         !w->is_dropped[w->outer - 1] && !has(&w->map, w->outer - 1))
    w->outer--;
  w->rows = w->inner = w->each = 1;
  for (int32_t k = 0; k < w->rank; k++) {
    int64_t *size = k < w->outer ? &w->rows : &w->inner;
    if (tn_mul_i64(*size, w->shape[k], size)) return false;
    if (k < w->outer && tn_mul_i64(w->each, w->size[k], &w->each)) return false;
  }
  int64_t places;
  return !tn_mul_i64(w->each, w->map.size + 1, &places) && places <= MOST_PLACES;
}

/* For each row of a window: where it lies along the mapped dims, [each, mapped], and what the other
 * dims add to its number, [each]. */
static tn_status places_of(const tn_lowering *t, const windows *w, int32_t *along, int32_t *rest) {
  const tn_host *host = t->call->host;
  const int64_t m = w->map.size, shape[] = {w->each, m};
  int64_t *data = host->alloc(t->call->ctx, (uint64_t)(w->each * (m + 1) + 1) * sizeof *data);
  if (!data) return TN_ERR_MEMORY;
  int64_t *others = data + w->each * m;
  for (int64_t i = 0; i < w->each; i++) {
    int64_t left = i, stride = 1;
    others[i] = 0;
    for (int32_t k = w->outer - 1; k >= 0; stride *= w->shape[k--]) {
      const int64_t at = left % w->size[k];
      left /= w->size[k];
      if (!has(&w->map, k)) others[i] += at * stride;
      for (int64_t j = 0; j < m; j++)
        if (w->map.data[j] == k) data[i * m + j] = at;
    }
  }
  const tn_tensor mapped = tn_tensor_make(TN_I64, 2, shape, data),
                  other = tn_tensor_make(TN_I64, 1, shape, others);
  *along = tn_emit_const(t->call, t->graph, &mapped);
  *rest = tn_emit_const(t->call, t->graph, &other);
  host->free(t->call->ctx, data);
  return TN_OK;
}

/* Of the mapped dims: the rows that a step along each is apart, sizes, room for a window. */
static void mapped_dims(const windows *w, int64_t *strides, int64_t *sizes, int64_t *room) {
  for (int64_t j = 0; j < w->map.size; j++) {
    const int64_t k = w->map.data[j];
    strides[j] = 1;
    for (int32_t d = (int32_t)k + 1; d < w->outer; d++) strides[j] *= w->shape[d];
    sizes[j] = w->shape[k];
    room[j] = w->shape[k] - w->size[k];
  }
}

/* Input 1 with the vectors last: [count, 1, mapped]. */
static int32_t starts_of(const tn_lowering *t, const windows *w, int64_t *out_count) {
  const tn_tensor *indices = tn_low_type(t, 1);
  int32_t perm[TN_MAX_RANK], n = 0, x = tn_low_in_i64(t, 1);
  *out_count = 1;
  for (int32_t k = 0; k < indices->rank; k++) {
    if (k == w->vector) continue;
    perm[n++] = k;
    *out_count *= indices->shape[k];
  }
  if (n < indices->rank) {
    perm[n] = (int32_t)w->vector;
    x = tn_low_transpose(t, x, indices->rank, perm);
  }
  const int64_t shape[] = {*out_count, 1, w->map.size};
  return tn_low_reshape(t, x, 3, shape);
}

/* op over the last dim of x, which goes. */
static int32_t over_last(const tn_lowering *t, const char *op, int32_t x) {
  const int64_t last = -1;
  const int32_t inputs[] = {x, tn_low_ints_const(t, &last, 1)};
  const tn_attr keep = tn_attr_int("keepdims", 0);
  return tn_low_emit(t, op, inputs, 2, &keep, 1);
}

/* The numbers of all windows' rows: [count, each]. moves: windows that reach out are moved inside;
 * else rows outside are number `rows`. */
static int32_t rows_of(const tn_lowering *t, const windows *w, bool moves, int64_t *out_count) {
  const int64_t m = w->map.size, zero = 0;
  int64_t strides[TN_MAX_RANK], sizes[TN_MAX_RANK], room[TN_MAX_RANK];
  int32_t along, rest, start = starts_of(t, w, out_count);
  const tn_status s = places_of(t, w, &along, &rest);
  if (s) return s;
  mapped_dims(w, strides, sizes, room);
  const int32_t none = tn_low_ints_const(t, &zero, 1);
  if (moves)
    start = tn_low_2(t, "Min", tn_low_2(t, "Max", start, none), tn_low_ints_const(t, room, m));
  const int32_t at = tn_low_2(t, "Add", start, along);
  const int32_t steps = tn_low_2(t, "Mul", at, tn_low_ints_const(t, strides, m));
  const int32_t row = tn_low_2(t, "Add", over_last(t, "ReduceSum", steps), rest);
  if (moves) return row;
  const int32_t inside = tn_low_2(t, "And", tn_low_2(t, "GreaterOrEqual", at, none),
                                  tn_low_2(t, "Less", at, tn_low_ints_const(t, sizes, m)));
  const int32_t all = over_last(t, "ReduceMin", tn_low_cast(t, inside, TN_I32));
  return tn_low_3(t, "Where", tn_low_cast(t, all, TN_BOOL), row, tn_low_ints_const(t, &w->rows, 1));
}

/* Input 0 as [rows, inner]. */
static int32_t as_rows(const tn_lowering *t, const windows *w) {
  const int64_t shape[] = {w->rows, w->inner};
  return tn_low_reshape(t, tn_low_in(t, 0), 2, shape);
}

/* ---- gather ---- */

/* x, [batch dims, window dims], with the window dims at `offsets` of its rank. */
static int32_t placed(const tn_lowering *t, int32_t x, int32_t rank, const tn_ints *offsets) {
  int32_t perm[TN_MAX_RANK], batch = 0, window = rank - (int32_t)offsets->size;
  for (int32_t k = 0; k < rank; k++) perm[k] = has(offsets, k) ? window++ : batch++;
  return tn_low_transpose(t, x, rank, perm);
}

tn_status tflite_stablehlo_gather(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&t, 0), *indices = tn_low_type(&t, 1);
  const tn_ints offsets = tn_low_ints(&t, "offset_dims"),
                dropped = tn_low_ints(&t, "collapsed_slice_dims"),
                sizes = tn_low_ints(&t, "slice_sizes");
  windows w = {.rank = x->rank,
               .shape = x->shape,
               .map = tn_low_ints(&t, "start_index_map"),
               .vector = tn_low_int(&t, "index_vector_dim", 0)};
  const int64_t batch = indices->rank - (w.vector < indices->rank),
                rank = batch + x->rank - dropped.size;
  if (sizes.size != x->rank || !are_dims(&dropped, x->rank, true) ||
      offsets.size != x->rank - dropped.size || rank > TN_MAX_RANK ||
      !are_dims(&offsets, (int32_t)rank, true))
    return tn_low_unsupported(&t, "dims that contradict each other");
  for (int32_t k = 0; k < x->rank; k++) {
    w.size[k] = sizes.data[k];
    w.is_dropped[k] = has(&dropped, k);
    if (w.is_dropped[k] && w.size[k] != 1)
      return tn_low_unsupported(&t, "dims that go and are not 1");
  }
  if (!complete(&w, indices)) return tn_low_unsupported(&t, "windows that do not fit");
  int64_t count, shape[TN_MAX_RANK];
  int32_t n = 0;
  const int32_t inputs[] = {as_rows(&t, &w), rows_of(&t, &w, true, &count)};
  const int32_t picked = tn_low_emit(&t, "Gather", inputs, 2, NULL, 0);
  for (int32_t k = 0; k < indices->rank; k++)
    if (k != w.vector) shape[n++] = indices->shape[k];
  for (int32_t k = 0; k < x->rank; k++)
    if (!w.is_dropped[k]) shape[n++] = w.size[k];
  return tn_low_done(&t, placed(&t, tn_low_reshape(&t, picked, n, shape), n, &offsets));
}

/* ---- scatter ---- */

/* Input 2 as [count, each, inner]. */
static int32_t updates_of(const tn_lowering *t, const windows *w, const tn_ints *inside,
                          int64_t count) {
  const int32_t rank = tn_low_type(t, 2)->rank;
  const int64_t shape[] = {count, w->each, w->inner};
  int32_t perm[TN_MAX_RANK], n = 0;
  for (int32_t k = 0; k < rank; k++)
    if (!has(inside, k)) perm[n++] = k;
  for (int64_t k = 0; k < inside->size; k++) perm[n++] = (int32_t)inside->data[k];
  return tn_low_reshape(t, tn_low_transpose(t, tn_low_in(t, 2), rank, perm), 3, shape);
}

/* Sizes of windows and dropped dims, as the updates have them. */
static bool read_updates(const tn_lowering *t, const tn_ints *inside, windows *w) {
  const tn_tensor *indices = tn_low_type(t, 1), *updates = tn_low_type(t, 2);
  const tn_ints dropped = tn_low_ints(t, "inserted_window_dims");
  const int64_t batch = indices->rank - (w->vector < indices->rank);
  int64_t next = 0;
  int32_t of_indices = 0;
  if (!are_dims(&dropped, w->rank, true) || inside->size != w->rank - dropped.size ||
      updates->rank != batch + inside->size || !are_dims(inside, updates->rank, true))
    return false;
  for (int32_t k = 0; k < w->rank; k++) {
    w->is_dropped[k] = has(&dropped, k);
    w->size[k] = w->is_dropped[k] ? 1 : updates->shape[inside->data[next++]];
  }
  for (int32_t k = 0; k < updates->rank; k++) {
    if (has(inside, k)) continue;
    of_indices += of_indices == w->vector;
    if (updates->shape[k] != indices->shape[of_indices++]) return false;
  }
  return true;
}

/* Rows outside go to one more row, which is dropped. */
tn_status tflite_stablehlo_scatter(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&t, 0);
  const tn_ints inside = tn_low_ints(&t, "update_window_dims");
  const tn_attr *how = tn_pattern_attr(tn_low_node(&t), "computation", TN_ATTR_STR);
  tn_attr reduction = tn_attr_str("reduction", "");
  windows w = {.rank = x->rank,
               .shape = x->shape,
               .map = tn_low_ints(&t, "scatter_dims_to_operand_dims"),
               .vector = tn_low_int(&t, "index_vector_dim", 0)};
  if (!how) return tn_low_unsupported(&t, "a computation of this kind");
  reduction.s = how->s;
  if (!read_updates(&t, &inside, &w) || !complete(&w, tn_low_type(&t, 1)))
    return tn_low_unsupported(&t, "windows that do not fit");
  int64_t count;
  const int64_t one[] = {1, w.inner}, from[] = {0, 0}, to[] = {w.rows, w.inner}, last = -1;
  const int32_t row = rows_of(&t, &w, false, &count),
                places = tn_low_2(&t, "Unsqueeze", row, tn_low_ints_const(&t, &last, 1)),
                outside = tfl_filled(&t, tn_low_number(&t, x->dtype, 0), 2, one),
                parts[] = {as_rows(&t, &w), outside};
  const int32_t inputs[] = {tfl_joined(&t, parts, 2, 0), places,
                            updates_of(&t, &w, &inside, count)};
  const int32_t y = tn_low_emit(&t, "ScatterND", inputs, 3, &reduction, 1);
  return tn_low_done(&t,
                     tn_low_reshape(&t, tfl_slice(&t, y, 2, from, to, NULL), x->rank, x->shape));
}
