/* Orders: largest ones, sorting, counting, places between bounds. */
#include "aten.h"
#include "aten_index.gen.h"

static tn_status top(const tn_lowering *l, int32_t x, int64_t k, int64_t dim, int64_t largest,
                     int32_t *out) {
  const int32_t in[] = {x, tn_low_ints_const(l, &k, 1)};
  const tn_attr attrs[] = {tn_attr_int("axis", dim), tn_attr_int("largest", largest),
                           tn_attr_int("sorted", 1)};
  return tn_low_emit_many(l, "TopK", in, 2, attrs, 3, 2, out);
}

/* The k first of all in their order, along a dim; bools as u8. */
static tn_status ordered(const tn_lowering *l, int64_t k, int32_t dim, bool descending,
                         int32_t *out) {
  const tn_tensor *x = tn_low_type(l, 0);
  const int64_t one = 1;
  const bool is_bool = x->dtype == TN_BOOL, scalar = x->rank == 0;
  int32_t value = is_bool ? at_in(l, 0, TN_U8) : tn_low_in(l, 0);
  if (scalar) value = tn_low_reshape(l, value, 1, &one);
  const tn_status s = top(l, value, k, dim, descending, out);
  if (s) return s;
  if (is_bool) out[0] = at_cast(l, out[0], TN_U8, TN_BOOL);
  for (int32_t i = 0; i < 2 && scalar; i++) out[i] = tn_low_reshape(l, out[i], 0, NULL);
  return TN_OK;
}

tn_status aten_topk(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", -1), x->rank);
  const int64_t k = tn_low_int(&l, "k", 1);
  int32_t out[2];
  if (dim < 0) return dim;
  if (k < 0 || k > (x->rank ? x->shape[dim] : 1))
    return at_fail(&l, TN_ERR_INVALID, "k is outside of the dim");
  const tn_status s = ordered(&l, k, dim, tn_low_int(&l, "largest", 1) != 0, out);
  return s ? s : tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
}

tn_status aten_sort(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const bool msort = at_is(&l, "msort");
  const int32_t dim = at_dim(&l, msort ? 0 : tn_low_int(&l, "dim", -1), x->rank);
  int32_t out[2];
  if (dim < 0) return dim;
  const tn_status s =
      ordered(&l, x->rank ? x->shape[dim] : 1, dim, tn_low_int(&l, "descending", 0) != 0, out);
  if (s) return s;
  if (msort) return tn_low_done(&l, out[0]);
  return at_is(&l, "argsort") ? tn_low_done(&l, out[1])
                              : tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
}

/* The k-th smallest, from 1; of an even number of elements the median is the lower one. */
tn_status aten_kthvalue(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const bool whole = !at_has(&l, "dim") && at_is(&l, "median");
  const int64_t all = tn_elements(x), keep = tn_low_int(&l, "keepdim", 0);
  const int32_t dim = whole ? 0 : at_dim(&l, tn_low_int(&l, "dim", -1), x->rank);
  int32_t out[2];
  if (dim < 0) return dim;
  if (x->rank == 0) return tn_low_unsupported(&l, "scalars");
  const int64_t n = whole ? all : x->shape[dim];
  const int64_t k = at_is(&l, "median") ? (n - 1) / 2 : tn_low_int(&l, "k", 1) - 1;
  if (k < 0 || k >= n) return at_fail(&l, TN_ERR_INVALID, "k is outside of the dim");
  const int32_t value = whole ? tn_low_reshape(&l, tn_low_in(&l, 0), 1, &all) : tn_low_in(&l, 0);
  const tn_status s = top(&l, value, k + 1, dim, 0, out);
  if (s) return s;
  for (int32_t i = 0; i < 2; i++) {
    out[i] = at_slice(&l, out[i], dim, k, k + 1, 1);
    if (!keep || whole) out[i] = at_squeeze(&l, out[i], dim);
  }
  return tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
}

/* How many bounds are below; with right: below or equal. */
tn_status aten_searchsorted(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const bool buckets = at_is(&l, "bucketize");
  const bool right = tn_low_int(&l, "right", 0) || at_says(&l, "side", "right");
  const at_scalar s = at_number(&l, "self");
  const uint32_t bounds_k = buckets && !s.is_there ? 1 : 0, x_k = buckets ? 0 : 1;
  const tn_tensor *bounds = tn_low_type(&l, bounds_k);
  const int64_t last = -1;
  const uint32_t dtype = at_promote_inputs(&l, s);
  int32_t b = at_in(&l, bounds_k, dtype);
  if (bounds->rank > 1) b = at_unsqueeze(&l, b, bounds->rank - 1);
  const int32_t x = s.is_there ? at_const(&l, dtype, s) : at_in(&l, x_k, dtype);
  const int32_t below = tn_low_2(&l, right ? "LessOrEqual" : "Less", b, at_unsqueeze(&l, x, -1));
  const int32_t n =
      at_reduce(&l, "ReduceSum", at_cast(&l, below, TN_BOOL, TN_I64), &last, 1, false);
  return tn_low_done(&l, at_cast(&l, n, TN_I64, tn_low_int(&l, "out_int32", 0) ? TN_I32 : TN_I64));
}

tn_status aten_one_hot(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int64_t n = tn_low_int(&l, "num_classes", -1);
  if (n < 0) return tn_low_unsupported(&l, "a number of classes that only data tell");
  const int32_t x = at_unsqueeze(&l, tn_low_in(&l, 0), -1);
  return tn_low_done(&l, at_cast(&l, tn_low_2(&l, "Equal", x, at_iota(&l, n)), TN_BOOL, TN_I64));
}

tn_status aten_isin(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const at_scalar set = at_number(&l, "test_element");
  const uint32_t dtype = at_promote_inputs(&l, set);
  const int64_t all = tn_low_type(&l, 1) ? tn_elements(tn_low_type(&l, 1)) : 1, last = -1;
  const int32_t x = at_unsqueeze(&l, at_in(&l, 0, dtype), -1);
  const int32_t e =
      set.is_there ? at_const(&l, dtype, set) : tn_low_reshape(&l, at_in(&l, 1, dtype), 1, &all);
  const int32_t hits = at_cast(&l, tn_low_2(&l, "Equal", x, e), TN_BOOL, TN_I32);
  const int32_t n = at_reduce(&l, "ReduceSum", hits, &last, 1, false);
  const int32_t y = tn_low_2(&l, "Greater", n, at_int_const(&l, TN_I32, 0));
  return tn_low_done(&l, tn_low_int(&l, "invert", 0) ? at_not(&l, y) : y);
}

/* Sorted, each once; with their places and counts. */
tn_status aten_unique(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const uint32_t n = tn_low_node(&l)->n_outputs;
  const tn_attr sorted = tn_attr_int("sorted", 1);
  const int32_t in = x->dtype == TN_BOOL ? at_in(&l, 0, TN_U8) : tn_low_in(&l, 0);
  int32_t made[4];
  const tn_status s = tn_low_emit_many(&l, "Unique", &in, 1, &sorted, 1, 4, made);
  if (s) return s;
  const int32_t out[] = {x->dtype == TN_BOOL ? at_cast(&l, made[0], TN_U8, TN_BOOL) : made[0],
                         tn_low_reshape(&l, made[2], x->rank, x->shape), made[3]};
  return tn_low_done_many(&l, out, n > 3 ? 3 : n);
}

tn_status aten_meshgrid(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t n = (int32_t)call->n_inputs;
  const bool xy = at_says(&l, "indexing", "xy") && n > 1;
  int64_t shape[TN_MAX_RANK];
  int32_t out[TN_MAX_RANK];
  if (n > TN_MAX_RANK) return tn_low_unsupported(&l, "more than 8 tensors");
  for (int32_t k = 0; k < n; k++) {
    const int32_t at = xy && k < 2 ? 1 - k : k;
    shape[at] = tn_elements(tn_low_type(&l, (uint32_t)k));
  }
  for (int32_t k = 0; k < n; k++) {
    const int32_t at = xy && k < 2 ? 1 - k : k;
    int64_t own[TN_MAX_RANK];
    for (int32_t i = 0; i < n; i++) own[i] = i == at ? shape[at] : 1;
    out[k] = at_expand(&l, tn_low_reshape(&l, tn_low_in(&l, (uint32_t)k), n, own), n, shape);
  }
  return tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
}
