/* Reading and writing elements by their places. */
#include "aten.h"
#include "aten_index.gen.h"

/* Dims in `first` come first, the others keep their order. */
static void front_perm(int32_t rank, const int32_t *first, int32_t n, int32_t *perm) {
  int32_t at = 0;
  for (int32_t k = 0; k < n; k++) perm[at++] = first[k];
  for (int32_t k = 0; k < rank; k++) {
    bool used = false;
    for (int32_t i = 0; i < n; i++) used |= first[i] == k;
    if (!used) perm[at++] = k;
  }
}

static void inverse(int32_t rank, const int32_t *perm, int32_t *out) {
  for (int32_t k = 0; k < rank; k++) out[perm[k]] = k;
}

static int32_t permuted(const tn_lowering *l, int32_t x, int32_t rank, const int32_t *perm) {
  bool same = true;
  for (int32_t k = 0; k < rank; k++) same &= perm[k] == k;
  return same ? x : tn_low_transpose(l, x, rank, perm);
}

static int32_t index_of(const tn_lowering *l, uint32_t k) { return at_in(l, k, TN_I64); }

/* ---- x[indices] ---- */

/* Of self[i0, :, i1]: places in the dims that are indexed, as [shape..., n]. */
typedef struct indexing {
  int32_t n, dims[TN_MAX_RANK], index[TN_MAX_RANK];
  int32_t rank;                /* of the shape that the indices broadcast to */
  int32_t perm[TN_MAX_RANK];   /* self with the dims that are indexed in front */
  int32_t result[TN_MAX_RANK]; /* from [shape..., rest...] to the result */
  int32_t result_rank;
  bool moves; /* result is no identity */
  int32_t places;
} indexing;

/* A mask stands for as many indices as it has dims. */
static tn_status add_mask(const tn_lowering *l, uint32_t k, int32_t dim, indexing *x) {
  const tn_tensor *m = tn_low_type(l, k);
  const int32_t nonzero = tn_low_1(l, "NonZero", at_in(l, k, TN_BOOL));
  for (int32_t i = 0; i < m->rank; i++) {
    if (x->n == TN_MAX_RANK) return tn_low_unsupported(l, "more than 8 indices");
    x->dims[x->n] = dim + i;
    x->index[x->n++] = at_gather(l, nonzero, at_int_const(l, TN_I64, i), 0);
  }
  if (x->rank < 1) x->rank = 1;
  return TN_OK;
}

static tn_status read_indices(const tn_lowering *l, uint32_t first, uint32_t n, indexing *x) {
  int32_t dim = 0;
  const int32_t rank = tn_low_type(l, 0)->rank;
  for (uint32_t k = first; k < first + n; k++) {
    const tn_tensor *t = tn_low_type(l, k);
    const bool mask = t && (t->dtype == TN_BOOL || t->dtype == TN_U8);
    if (t && mask) {
      const tn_status s = add_mask(l, k, dim, x);
      if (s) return s;
    } else if (t) {
      if (x->n == TN_MAX_RANK) return tn_low_unsupported(l, "more than 8 indices");
      x->dims[x->n] = dim;
      x->index[x->n++] = index_of(l, k);
      if (t->rank > x->rank) x->rank = t->rank;
    }
    dim += mask ? t->rank : 1;
  }
  if (dim > rank) return at_fail(l, TN_ERR_SHAPE, "there are more indices than dims");
  if (!x->n) return at_fail(l, TN_ERR_INVALID, "there is no index");
  return TN_OK;
}

/* All indices in one shape: a sum with zeros of the others broadcasts, whatever the shapes are. */
static void broadcast(const tn_lowering *l, indexing *x) {
  int32_t zeros = TN_NO_ID, parts[TN_MAX_RANK];
  for (int32_t k = 0; k < x->n && x->n > 1; k++) {
    const int32_t zero = tn_low_2(l, "Mul", x->index[k], at_int_const(l, TN_I64, 0));
    zeros = k ? tn_low_2(l, "Add", zeros, zero) : zero;
  }
  for (int32_t k = 0; k < x->n; k++) {
    const int32_t whole = x->n > 1 ? tn_low_2(l, "Add", x->index[k], zeros) : x->index[k];
    parts[k] = at_unsqueeze(l, whole, x->rank);
  }
  x->places = x->n > 1 ? at_concat(l, parts, (uint32_t)x->n, x->rank) : parts[0];
}

/* Indices side by side: their shape stands where they stood; else in front. */
static void place_result(const tn_lowering *l, indexing *x) {
  const int32_t rank = tn_low_type(l, 0)->rank, rest = rank - x->n;
  bool together = true;
  for (int32_t k = 1; k < x->n; k++) together &= x->dims[k] == x->dims[k - 1] + 1;
  const int32_t before = together ? x->dims[0] : 0;
  x->result_rank = x->rank + rest;
  x->moves = before > 0;
  for (int32_t k = 0; k < x->result_rank; k++) {
    const bool front = k < before, inside = k >= before && k < before + x->rank;
    x->result[k] = front ? x->rank + k : inside ? k - before : k;
  }
  front_perm(rank, x->dims, x->n, x->perm);
}

static tn_status open_indexing(const tn_lowering *l, uint32_t first, uint32_t n, indexing *x) {
  *x = (indexing){.n = 0};
  const tn_status s = read_indices(l, first, n, x);
  if (s) return s;
  if (x->rank + tn_low_type(l, 0)->rank - x->n > TN_MAX_RANK)
    return tn_low_unsupported(l, "more than 8 dims");
  place_result(l, x);
  return TN_OK;
}

static int32_t read_places(const tn_lowering *l, indexing *x) {
  broadcast(l, x);
  const int32_t self = permuted(l, tn_low_in(l, 0), tn_low_type(l, 0)->rank, x->perm);
  return tn_low_2(l, "GatherND", self, x->places);
}

tn_status aten_index(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  indexing x;
  const tn_status s = open_indexing(&l, 1, call->n_inputs - 1, &x);
  if (s) return s;
  if (x.n == 1) return tn_low_done(&l, at_gather(&l, tn_low_in(&l, 0), x.index[0], x.dims[0]));
  const int32_t y = read_places(&l, &x);
  return tn_low_done(&l, x.moves ? permuted(&l, y, x.result_rank, x.result) : y);
}

/* ---- x[indices] = values ---- */

/* One mask and one number need no places. */
static int32_t put_by_mask(const tn_lowering *l, uint32_t values, uint32_t dtype) {
  const tn_tensor *x = tn_low_type(l, 0), *m = tn_low_type(l, 1);
  int64_t shape[TN_MAX_RANK];
  for (int32_t k = 0; k < x->rank; k++) shape[k] = k < m->rank ? m->shape[k] : 1;
  const int32_t mask = tn_low_reshape(l, at_in(l, 1, TN_BOOL), x->rank, shape);
  const int32_t value = tn_low_reshape(l, at_in(l, values, dtype), 0, NULL);
  return at_where(l, mask, value, tn_low_in(l, 0));
}

tn_status aten_index_put(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t values = call->n_inputs - 1, n = values - 1;
  const tn_tensor *self = tn_low_type(&l, 0), *first = tn_low_type(&l, 1);
  const bool adds = tn_low_int(&l, "accumulate", 0) != 0;
  indexing x;
  if (n == 1 && first && first->dtype == TN_BOOL && first->rank <= self->rank && !adds &&
      tn_elements(tn_low_type(&l, values)) == 1)
    return tn_low_done(&l, put_by_mask(&l, values, self->dtype));
  const tn_status s = open_indexing(&l, 1, n, &x);
  if (s) return s;
  int32_t back[TN_MAX_RANK];
  const int32_t old = read_places(&l, &x);
  int32_t shape = tn_low_1(&l, "Shape", x.moves ? permuted(&l, old, x.result_rank, x.result) : old);
  int32_t update = tn_low_2(&l, "Expand", at_in(&l, values, self->dtype), shape);
  inverse(x.result_rank, x.result, back);
  if (x.moves) update = permuted(&l, update, x.result_rank, back);
  const int32_t in[] = {permuted(&l, tn_low_in(&l, 0), self->rank, x.perm), x.places, update};
  const tn_attr reduction = tn_attr_str("reduction", adds ? "add" : "none");
  const int32_t y = tn_low_emit(&l, "ScatterND", in, 3, &reduction, 1);
  inverse(self->rank, x.perm, back);
  return tn_low_done(&l, permuted(&l, y, self->rank, back));
}

/* ---- along one dim ---- */

tn_status aten_index_select(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0), *index = tn_low_type(&l, 1);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), x->rank);
  const int64_t one = 1;
  if (dim < 0) return dim;
  const int32_t at = index->rank ? index_of(&l, 1) : tn_low_reshape(&l, index_of(&l, 1), 1, &one);
  if (x->rank == 0) return at_done_input(&l);
  return tn_low_done(&l, at_gather(&l, tn_low_in(&l, 0), at, dim));
}

tn_status aten_embedding(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return tn_low_done(&l, at_gather(&l, tn_low_in(&l, 0), index_of(&l, 1), 0));
}

tn_status aten_take(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int64_t all = tn_elements(tn_low_type(&l, 0));
  const int32_t flat = tn_low_reshape(&l, tn_low_in(&l, 0), 1, &all);
  return tn_low_done(&l, at_gather(&l, flat, index_of(&l, 1), 0));
}

/* x up to the dims of `like`, but for one. */
static int32_t cropped(const tn_lowering *l, int32_t x, const tn_tensor *type,
                       const tn_tensor *like, int32_t but) {
  for (int32_t k = 0; k < type->rank; k++)
    if (k != but && like->shape[k] < type->shape[k]) x = at_slice(l, x, k, 0, like->shape[k], 1);
  return x;
}

static tn_status same_rank(const tn_lowering *l, const tn_tensor *a, const tn_tensor *b) {
  if (a->rank == b->rank) return TN_OK;
  return at_fail(l, TN_ERR_SHAPE, "self and index have different numbers of dims");
}

tn_status aten_gather(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0), *index = tn_low_type(&l, 1);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), x->rank);
  if (dim < 0) return dim;
  if (x->rank == 0 || index->rank == 0) {
    const int64_t all = tn_elements(x);
    const int32_t flat = tn_low_reshape(&l, tn_low_in(&l, 0), 1, &all);
    return tn_low_done(&l, at_gather(&l, flat, index_of(&l, 1), 0));
  }
  const tn_status s = same_rank(&l, x, index);
  if (s) return s;
  const int32_t in[] = {cropped(&l, tn_low_in(&l, 0), x, index, dim), index_of(&l, 1)};
  const tn_attr axis = tn_attr_int("axis", dim);
  return tn_low_done(&l, tn_low_emit(&l, "GatherElements", in, 2, &axis, 1));
}

/* gather() of tensors that broadcast in all other dims; without a dim, of all elements. */
tn_status aten_take_along(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0), *index = tn_low_type(&l, 1);
  if (!at_has(&l, "dim")) {
    const int64_t all = tn_elements(x), n = tn_elements(index);
    const int32_t flat = tn_low_reshape(&l, tn_low_in(&l, 0), 1, &all);
    return tn_low_done(&l, at_gather(&l, flat, tn_low_reshape(&l, index_of(&l, 1), 1, &n), 0));
  }
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), x->rank);
  const tn_status s = dim < 0 ? dim : same_rank(&l, x, index);
  if (s) return s;
  if (x->rank == 0) return at_done_input(&l);
  int64_t own[TN_MAX_RANK], places[TN_MAX_RANK];
  for (int32_t k = 0; k < x->rank; k++) {
    const int64_t a = x->shape[k], b = index->shape[k];
    if (k != dim && a != b && a != 1 && b != 1)
      return at_fail(&l, TN_ERR_SHAPE, "self and indices do not broadcast");
    own[k] = k == dim ? a : a == 1 ? b : a;
    places[k] = k == dim ? b : own[k];
  }
  const int32_t in[] = {at_expand(&l, tn_low_in(&l, 0), x->rank, own),
                        at_expand(&l, index_of(&l, 1), x->rank, places)};
  const tn_attr axis = tn_attr_int("axis", dim);
  return tn_low_done(&l, tn_low_emit(&l, "GatherElements", in, 2, &axis, 1));
}

static int32_t scattered(const tn_lowering *l, int32_t self, int32_t index, int32_t src,
                         int64_t dim, const char *reduction) {
  const int32_t in[] = {self, index, src};
  const tn_attr attrs[] = {tn_attr_int("axis", dim), tn_attr_str("reduction", reduction)};
  return tn_low_emit(l, "ScatterElements", in, 3, attrs, 2);
}

/* What does not change a reduction. */
static int32_t neutral(const tn_lowering *l, uint32_t dtype, const char *reduction) {
  const bool max = !strcmp(reduction, "max"), min = !strcmp(reduction, "min");
  if (!max && !min) return at_int_const(l, dtype, !strcmp(reduction, "mul"));
  if (at_category(dtype) == AT_FLOAT) return tn_low_number(l, dtype, max ? -INFINITY : INFINITY);
  const uint32_t bits = tn_dtype(dtype)->bits;
  if (!tn_dtype(dtype)->is_signed)
    return at_int_const(l, dtype, max ? 0 : bits == 64 ? -1 : (INT64_C(1) << bits) - 1);
  const int64_t top = bits == 64 ? INT64_MAX : (INT64_C(1) << (bits - 1)) - 1;
  return at_int_const(l, dtype, max ? -top - 1 : top);
}

static const at_row reductions[] = {{"add", "add"},   {"sum", "add"},  {"multiply", "mul"},
                                    {"prod", "mul"},  {"amax", "max"}, {"amin", "min"},
                                    {"mean", "mean"}, {NULL, NULL}};

static const char *reduction_of(const tn_lowering *l) {
  if (at_is(l, "scatter_add")) return "add";
  const tn_attr *a = tn_pattern_attr(tn_low_node(l), "reduce", TN_ATTR_STR);
  if (!a) return "none";
  for (const at_row *r = reductions; r->aten; r++)
    if (tn_str_is(a->s, r->aten)) return r->onnx;
  return NULL;
}

/* Sums divided by how many numbers each is made of. */
static int32_t scattered_mean(const tn_lowering *l, int32_t index, int32_t src, int32_t dim,
                              const int64_t *shape, bool counts_self) {
  const tn_tensor *x = tn_low_type(l, 0);
  const int32_t one = at_int_const(l, x->dtype, 1), zero = at_int_const(l, x->dtype, 0);
  const int32_t ones = at_full(l, one, x->rank, shape), self = tn_low_in(l, 0);
  const int32_t none = at_full(l, zero, x->rank, x->shape);
  const int32_t hits = scattered(l, none, index, ones, dim, "add");
  const int32_t hit = tn_low_2(l, "Greater", hits, zero);
  const int32_t base = counts_self ? self : at_where(l, hit, zero, self);
  const int32_t sum = scattered(l, base, index, src, dim, "add");
  const int32_t n = counts_self ? tn_low_2(l, "Add", hits, one) : tn_low_2(l, "Max", hits, one);
  return tn_low_2(l, "Div", sum, n);
}

/* src reduced into self at the places of index, both of this shape. */
static int32_t reduced_into(const tn_lowering *l, int32_t at, int32_t src, const int64_t *shape,
                            int32_t dim, const char *how) {
  const tn_tensor *x = tn_low_type(l, 0);
  const bool keeps_self = tn_low_int(l, "include_self", 1) != 0;
  if (!strcmp(how, "mean")) return scattered_mean(l, at, src, dim, shape, keeps_self);
  int32_t self = tn_low_in(l, 0);
  if (!keeps_self) {
    const int32_t none = at_full(l, neutral(l, x->dtype, how), x->rank, shape);
    self = scattered(l, self, at, none, dim, "none");
  }
  return scattered(l, self, at, src, dim, how);
}

tn_status aten_scatter(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0), *index = tn_low_type(&l, 1), *src = tn_low_type(&l, 2);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), x->rank);
  const char *how = reduction_of(&l);
  const at_scalar value = at_number(&l, "value");
  if (dim < 0) return dim;
  if (!how) return tn_low_unsupported(&l, "this reduction");
  if (x->rank == 0) return tn_low_unsupported(&l, "scatter into a scalar");
  const tn_status s = same_rank(&l, x, index);
  if (s) return s;
  const int32_t at = index_of(&l, 1);
  const int32_t updates =
      value.is_there ? at_full(&l, at_const(&l, x->dtype, value), index->rank, index->shape)
                     : cropped(&l, at_in(&l, 2, x->dtype), src, index, -1);
  return tn_low_done(&l, reduced_into(&l, at, updates, index->shape, dim, how));
}

/* The same with one index for each slice of dim. */
tn_status aten_index_reduce(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0), *index = tn_low_type(&l, 1), *src = tn_low_type(&l, 2);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), x->rank);
  const char *how = reduction_of(&l);
  int64_t column[TN_MAX_RANK];
  if (dim < 0) return dim;
  if (!how || x->rank == 0 || src->rank != x->rank || src->shape[dim] != tn_elements(index))
    return tn_low_unsupported(&l, "this reduction");
  if (!strcmp(how, "mean") && at_category(x->dtype) != AT_FLOAT)
    return tn_low_unsupported(&l, "means of integers");
  for (int32_t k = 0; k < x->rank; k++) column[k] = k == dim ? src->shape[k] : 1;
  const int32_t at =
      at_expand(&l, tn_low_reshape(&l, index_of(&l, 1), x->rank, column), x->rank, src->shape);
  return tn_low_done(&l, reduced_into(&l, at, at_in(&l, 2, x->dtype), src->shape, dim, how));
}

/* index_copy, index_add, index_fill: whole slices of a dim. */
static tn_status put_slices(const tn_lowering *l, int32_t dim, int32_t index, int32_t source,
                            const char *reduction) {
  const tn_tensor *x = tn_low_type(l, 0);
  int32_t perm[TN_MAX_RANK], back[TN_MAX_RANK];
  front_perm(x->rank, &dim, 1, perm);
  inverse(x->rank, perm, back);
  const int32_t in[] = {permuted(l, tn_low_in(l, 0), x->rank, perm), at_unsqueeze(l, index, -1),
                        permuted(l, source, x->rank, perm)};
  const tn_attr a = tn_attr_str("reduction", reduction);
  return tn_low_done(l, permuted(l, tn_low_emit(l, "ScatterND", in, 3, &a, 1), x->rank, back));
}

tn_status aten_index_write(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0), *index = tn_low_type(&l, 1);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), x->rank);
  const bool adds = at_is(&l, "index_add"), fills = at_is(&l, "index_fill");
  const at_scalar value = at_number(&l, "value"), alpha = at_number(&l, "alpha");
  int64_t shape[TN_MAX_RANK];
  const int64_t one = 1;
  if (dim < 0) return dim;
  if (x->rank == 0) return tn_low_unsupported(&l, "indices of a scalar");
  const int32_t at = index->rank ? index_of(&l, 1) : tn_low_reshape(&l, index_of(&l, 1), 1, &one);
  memcpy(shape, x->shape, sizeof shape);
  shape[dim] = index->rank ? index->shape[0] : 1;
  int32_t source = value.is_there ? at_const(&l, x->dtype, value) : at_in(&l, 2, x->dtype);
  if (fills) source = at_expand(&l, source, x->rank, shape);
  if (adds && alpha.is_there && alpha.f != 1)
    source = tn_low_2(&l, "Mul", source, at_const(&l, x->dtype, alpha));
  return put_slices(&l, dim, at, source, adds ? "add" : "none");
}

/* src where the slice of self was. */
tn_status aten_slice_scatter(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), x->rank);
  if (dim < 0) return dim;
  if (x->rank == 0) return tn_low_unsupported(&l, "slices of a scalar");
  const bool selects = at_is(&l, "select_scatter");
  const int64_t n = x->shape[dim];
  int64_t from = tn_low_int(&l, selects ? "index" : "start", 0),
          to = tn_low_int(&l, "end", INT64_MAX), step = selects ? 1 : tn_low_int(&l, "step", 1);
  if (selects && (from < -n || from >= n))
    return at_fail(&l, TN_ERR_INVALID, "the index is outside of the dim");
  if (from < 0) from += n;
  if (selects) to = from + 1;
  if (to < 0) to += n;
  from = from < 0 ? 0 : from > n ? n : from;
  to = to < from ? from : to > n ? n : to;
  if (step < 1) return at_fail(&l, TN_ERR_INVALID, "the step of a slice must be above 0");
  int32_t src = at_in(&l, 1, x->dtype);
  if (selects) src = at_unsqueeze(&l, src, dim);
  int64_t shape[TN_MAX_RANK];
  memcpy(shape, x->shape, sizeof shape);
  shape[dim] = tn_ceil_div(to - from, step);
  src = at_expand(&l, src, x->rank, shape);
  if (step > 1) {
    const int32_t k = tn_low_2(&l, "Mul", at_iota(&l, shape[dim]), at_int_const(&l, TN_I64, step));
    return put_slices(&l, dim, tn_low_2(&l, "Add", k, at_int_const(&l, TN_I64, from)), src, "none");
  }
  int32_t parts[3];
  uint32_t m = 0;
  if (from > 0) parts[m++] = at_slice(&l, tn_low_in(&l, 0), dim, 0, from, 1);
  if (to > from) parts[m++] = src;
  if (to < n) parts[m++] = at_slice(&l, tn_low_in(&l, 0), dim, to, n, 1);
  if (!m) return at_done_input(&l);
  return tn_low_done(&l,
                     m == 1 ? tn_low_1(&l, "Identity", parts[0]) : at_concat(&l, parts, m, dim));
}

/* ---- what is not zero ---- */

tn_status aten_nonzero(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t perm[] = {1, 0};
  return tn_low_done(&l,
                     tn_low_transpose(&l, tn_low_1(&l, "NonZero", at_in(&l, 0, TN_BOOL)), 2, perm));
}

tn_status aten_masked_select(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  tn_tensor shape = tn_tensor_make(TN_NONE, 0, NULL, NULL);
  if (tn_broadcast_shape(2, call->inputs, &shape))
    return at_fail(&l, TN_ERR_SHAPE, "mask and self do not broadcast");
  const int64_t all = tn_elements(&shape);
  const int32_t x = at_expand(&l, tn_low_in(&l, 0), shape.rank, shape.shape),
                m = at_expand(&l, at_in(&l, 1, TN_BOOL), shape.rank, shape.shape);
  return tn_low_done(
      &l, tn_low_2(&l, "Compress", tn_low_reshape(&l, x, 1, &all), tn_low_reshape(&l, m, 1, &all)));
}

/* Numbers of source, in their order, where the mask says so: the k-th true place takes the k-th. */
tn_status aten_masked_scatter(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0), *source = tn_low_type(&l, 2);
  const int64_t all = tn_elements(x), n = tn_elements(source);
  const int32_t mask =
      tn_low_reshape(&l, at_expand(&l, at_in(&l, 1, TN_BOOL), x->rank, x->shape), 1, &all);
  const int32_t zero = at_int_const(&l, TN_I64, 0), one = at_int_const(&l, TN_I64, 1);
  if (n == 0) return at_done_input(&l);
  int32_t k = tn_low_2(&l, "CumSum", at_cast(&l, mask, TN_BOOL, TN_I64), zero);
  k = tn_low_2(&l, "Max", tn_low_2(&l, "Sub", k, one), zero);
  k = tn_low_2(&l, "Min", k, at_int_const(&l, TN_I64, n - 1));
  const int32_t taken = at_gather(&l, tn_low_reshape(&l, at_in(&l, 2, x->dtype), 1, &n), k, 0);
  const int32_t flat = tn_low_reshape(&l, tn_low_in(&l, 0), 1, &all);
  return tn_low_done(&l, tn_low_reshape(&l, at_where(&l, mask, taken, flat), x->rank, x->shape));
}

/* ---- diagonals ---- */

/* Elements i, i + offset of two dims, as the last dim. */
tn_status aten_diagonal(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const bool diag = at_is(&l, "diag");
  const int64_t offset = tn_low_int(&l, diag ? "diagonal" : "offset", 0);
  const int32_t dims[] = {at_dim(&l, tn_low_int(&l, "dim1", 0), x->rank),
                          at_dim(&l, tn_low_int(&l, "dim2", 1), x->rank)};
  if (dims[0] < 0 || dims[1] < 0) return dims[0] < 0 ? dims[0] : dims[1];
  if (x->rank < 2 || dims[0] == dims[1]) return tn_low_unsupported(&l, "diagonals of one dim");
  int32_t perm[TN_MAX_RANK];
  front_perm(x->rank, dims, 2, perm);
  const int64_t rows = x->shape[dims[0]], columns = x->shape[dims[1]];
  const int64_t down = offset < -rows ? rows
                       : offset < 0   ? -offset
                                      : 0,
                right = offset > columns ? columns
                        : offset > 0     ? offset
                                         : 0;
  const int64_t n = rows - down < columns - right ? rows - down : columns - right;
  const int32_t k = at_iota(&l, n);
  const int32_t parts[] = {
      at_unsqueeze(&l, tn_low_2(&l, "Add", k, at_int_const(&l, TN_I64, down)), 1),
      at_unsqueeze(&l, tn_low_2(&l, "Add", k, at_int_const(&l, TN_I64, right)), 1)};
  int32_t y = permuted(&l, tn_low_in(&l, 0), x->rank, perm);
  y = tn_low_2(&l, "GatherND", y, at_concat(&l, parts, 2, 1));
  for (int32_t i = 0; i < x->rank - 1; i++) perm[i] = i + 1 < x->rank - 1 ? i + 1 : 0;
  return tn_low_done(&l, permuted(&l, y, x->rank - 1, perm));
}

/* src where the diagonal of self was. */
tn_status aten_diagonal_scatter(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0), *src = tn_low_type(&l, 1);
  const int64_t offset = tn_low_int(&l, "offset", 0);
  const int32_t dims[] = {at_dim(&l, tn_low_int(&l, "dim1", 0), x->rank),
                          at_dim(&l, tn_low_int(&l, "dim2", 1), x->rank)};
  if (dims[0] < 0 || dims[1] < 0) return dims[0] < 0 ? dims[0] : dims[1];
  if (x->rank < 2 || dims[0] == dims[1] || src->rank != x->rank - 1)
    return at_fail(&l, TN_ERR_SHAPE, "src is not as a diagonal of self");
  int32_t perm[TN_MAX_RANK], back[TN_MAX_RANK];
  front_perm(x->rank, dims, 2, perm);
  inverse(x->rank, perm, back);
  const int64_t n = src->shape[src->rank - 1];
  const int32_t k = at_iota(&l, n);
  const int64_t down = offset < 0 ? -offset : 0, right = offset > 0 ? offset : 0;
  const int32_t parts[] = {
      at_unsqueeze(&l, tn_low_2(&l, "Add", k, at_int_const(&l, TN_I64, down)), 1),
      at_unsqueeze(&l, tn_low_2(&l, "Add", k, at_int_const(&l, TN_I64, right)), 1)};
  int32_t turn[TN_MAX_RANK];
  for (int32_t i = 0; i < src->rank; i++) turn[i] = i ? i - 1 : src->rank - 1;
  const int32_t in[] = {permuted(&l, tn_low_in(&l, 0), x->rank, perm), at_concat(&l, parts, 2, 1),
                        permuted(&l, at_in(&l, 1, x->dtype), src->rank, turn)};
  const int32_t y = tn_low_emit(&l, "ScatterND", in, 3, NULL, 0);
  return tn_low_done(&l, permuted(&l, y, x->rank, back));
}

/* The last dim on a diagonal of two dims, among zeros. */
tn_status aten_diag_embed(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const bool diag = at_is(&l, "diag");
  const int64_t offset = tn_low_int(&l, diag ? "diagonal" : "offset", 0);
  if (diag && x->rank == 2) return aten_diagonal(call, graph, node);
  if (x->rank < 1 || x->rank == TN_MAX_RANK || (diag && x->rank != 1))
    return tn_low_unsupported(&l, "this number of dims");
  const int32_t rank = x->rank + 1, dims[] = {at_dim(&l, tn_low_int(&l, "dim1", -2), rank),
                                              at_dim(&l, tn_low_int(&l, "dim2", -1), rank)};
  if (dims[0] < 0 || dims[1] < 0) return dims[0] < 0 ? dims[0] : dims[1];
  if (dims[0] != rank - 2 || dims[1] != rank - 1) return tn_low_unsupported(&l, "other dims");
  if (offset < -AT_MOST_SIZE || offset > AT_MOST_SIZE)
    return tn_low_unsupported(&l, "so large a matrix");
  const int64_t far = offset < 0 ? -offset : offset, n = x->shape[x->rank - 1] + far;
  const int64_t column[] = {n, 1}, row[] = {1, n};
  int64_t pads[2 * TN_MAX_RANK] = {0};
  pads[x->rank - 1] = offset > 0 ? offset : 0; /* element k stands in column k + offset */
  pads[2 * x->rank - 1] = offset < 0 ? far : 0;
  const int32_t wide =
      tn_low_2(&l, "Pad", tn_low_in(&l, 0), tn_low_ints_const(&l, pads, 2 * x->rank));
  const int32_t at = tn_low_2(&l, "Add", tn_low_reshape(&l, at_iota(&l, n), 2, column),
                              at_int_const(&l, TN_I64, offset));
  const int32_t on = tn_low_2(&l, "Equal", at, tn_low_reshape(&l, at_iota(&l, n), 2, row));
  const int32_t zero = at_int_const(&l, x->dtype, 0);
  return tn_low_done(&l, at_where(&l, on, at_unsqueeze(&l, wide, -2), zero));
}

/* where(condition): its places, a tensor for each dim. */
tn_status aten_places(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t places = tn_low_1(&l, "NonZero", at_in(&l, 0, TN_BOOL));
  const uint32_t n = tn_low_node(&l)->n_outputs;
  int32_t out[TN_MAX_RANK];
  if (n > TN_MAX_RANK || (int32_t)n > tn_low_type(&l, 0)->rank)
    return at_fail(&l, TN_ERR_SHAPE, "it has fewer dims than are read");
  for (uint32_t k = 0; k < n; k++) out[k] = at_gather(&l, places, at_int_const(&l, TN_I64, k), 0);
  return tn_low_done_many(&l, out, n);
}
