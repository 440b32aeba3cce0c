/* Operators that move elements or only look at them in another way. */
#include "aten.h"
#include "aten_views.gen.h"

static tn_ints ints_of(const tn_lowering *l, const char *name) { return tn_low_ints(l, name); }

/* A list of ints, for which files may write a single one. */
static int64_t list(const tn_lowering *l, const char *name, const int64_t **out, int64_t *one) {
  const tn_ints ints = ints_of(l, name);
  *out = ints.data;
  if (ints.size || !at_has(l, name)) return ints.size;
  *one = tn_low_int(l, name, 0);
  *out = one;
  return tn_pattern_attr(tn_low_node(l), name, TN_ATTR_INT) ? 1 : 0;
}

/* ---- one order of elements, another shape ---- */

static tn_status reshaped(const tn_lowering *l, int32_t rank, const int64_t *shape) {
  if (rank > TN_MAX_RANK) return tn_low_unsupported(l, "more than 8 dims");
  return tn_low_done(l, tn_low_reshape(l, tn_low_in(l, 0), rank, shape));
}

/* The one dim that is -1 follows from the others. */
static tn_status fill_in(const tn_lowering *l, int64_t all, int32_t rank, int64_t *shape) {
  int64_t known = 1;
  int32_t open = -1;
  for (int32_t k = 0; k < rank; k++) {
    if (shape[k] == -1 && open < 0)
      open = k;
    else if (shape[k] < 0 || tn_mul_i64(known, shape[k], &known))
      return at_fail(l, TN_ERR_SHAPE, "the new shape is no shape");
  }
  if (open >= 0) {
    if (known == 0 || all % known)
      return at_fail(l, TN_ERR_SHAPE, "the new shape has another number of elements");
    shape[open] = all / known;
  } else if (known != all) {
    return at_fail(l, TN_ERR_SHAPE, "the new shape has another number of elements");
  }
  return TN_OK;
}

tn_status aten_view(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int64_t *size;
  int64_t one, shape[TN_MAX_RANK];
  const int64_t n = list(&l, at_has(&l, "shape") ? "shape" : "size", &size, &one);
  if (at_is(&l, "view_as") || at_is(&l, "reshape_as"))
    return reshaped(&l, tn_low_type(&l, 1)->rank, tn_low_type(&l, 1)->shape);
  if (n > TN_MAX_RANK) return tn_low_unsupported(&l, "more than 8 dims");
  for (int64_t k = 0; k < n; k++) shape[k] = size[k];
  const tn_status s = fill_in(&l, tn_elements(tn_low_type(&l, 0)), (int32_t)n, shape);
  return s ? s : reshaped(&l, (int32_t)n, shape);
}

tn_status aten_flatten(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const bool ravel = at_is(&l, "ravel");
  const int32_t from = at_dim(&l, ravel ? 0 : tn_low_int(&l, "start_dim", 0), x->rank),
                to = at_dim(&l, ravel ? -1 : tn_low_int(&l, "end_dim", -1), x->rank);
  int64_t shape[TN_MAX_RANK] = {1};
  if (from < 0 || to < 0) return from < 0 ? from : to;
  if (from > to) return at_fail(&l, TN_ERR_INVALID, "start_dim comes behind end_dim");
  int32_t rank = 0;
  for (int32_t k = 0; k < x->rank; k++) {
    if (k > from && k <= to)
      shape[rank - 1] *= x->shape[k];
    else
      shape[rank++] = x->shape[k];
  }
  return reshaped(&l, rank ? rank : 1, shape);
}

tn_status aten_unflatten(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), x->rank);
  const int64_t *sizes;
  int64_t one, shape[TN_MAX_RANK], part[TN_MAX_RANK];
  const int64_t n = list(&l, "sizes", &sizes, &one);
  if (dim < 0) return dim;
  if (n < 1 || x->rank - 1 + n > TN_MAX_RANK) return tn_low_unsupported(&l, "more than 8 dims");
  for (int64_t k = 0; k < n; k++) part[k] = sizes[k];
  const tn_status s = fill_in(&l, x->shape[dim], (int32_t)n, part);
  int32_t rank = 0;
  for (int32_t k = 0; k < dim; k++) shape[rank++] = x->shape[k];
  for (int64_t k = 0; k < n; k++) shape[rank++] = part[k];
  for (int32_t k = dim + 1; k < x->rank; k++) shape[rank++] = x->shape[k];
  return s ? s : reshaped(&l, rank, shape);
}

tn_status aten_squeeze(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  int64_t dims[TN_MAX_RANK], shape[TN_MAX_RANK];
  int32_t n = 0, rank = 0;
  if (at_has(&l, "dim")) {
    const int64_t *given;
    int64_t one;
    if (list(&l, "dim", &given, &one) > 0) n = at_dims(&l, "dim", x->rank, dims);
  } else {
    n = at_dims(&l, "dim", x->rank, dims);
  }
  if (n < 0) return n;
  for (int32_t k = 0; k < x->rank; k++) {
    bool goes = false;
    for (int32_t i = 0; i < n; i++) goes |= dims[i] == k && x->shape[k] == 1;
    if (!goes) shape[rank++] = x->shape[k];
  }
  return reshaped(&l, rank, shape);
}

tn_status aten_unsqueeze(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), x->rank + 1);
  int64_t shape[TN_MAX_RANK];
  if (dim < 0) return dim;
  if (x->rank == TN_MAX_RANK) return tn_low_unsupported(&l, "more than 8 dims");
  for (int32_t k = 0; k <= x->rank; k++)
    shape[k] = k < dim ? x->shape[k] : k == dim ? 1 : x->shape[k - 1];
  return reshaped(&l, x->rank + 1, shape);
}

tn_status aten_atleast(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int64_t shapes[3][3] = {{1}, {1, 1}, {1, 1, 1}};
  const int32_t least = at_is(&l, "atleast_1d") ? 1 : at_is(&l, "atleast_2d") ? 2 : 3;
  if (x->rank >= least) return at_done_input(&l);
  int64_t shape[3];
  memcpy(shape, shapes[least - 1], sizeof shape);
  if (x->rank == 1) shape[1] = x->shape[0];
  if (x->rank == 2) shape[0] = x->shape[0], shape[1] = x->shape[1];
  return reshaped(&l, least, shape);
}

/* ---- larger ---- */

tn_status aten_expand(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int64_t *size;
  int64_t one, shape[TN_MAX_RANK];
  int64_t n = list(&l, "size", &size, &one);
  if (at_is(&l, "expand_as")) {
    n = tn_low_type(&l, 1)->rank;
    size = tn_low_type(&l, 1)->shape;
  }
  if (n > TN_MAX_RANK) return tn_low_unsupported(&l, "more than 8 dims");
  if (n < x->rank) return at_fail(&l, TN_ERR_SHAPE, "it is expanded to fewer dims than it has");
  for (int64_t k = 0; k < n; k++) {
    const int64_t own = k - (n - x->rank);
    shape[k] = size[k];
    if (size[k] == -1 && own >= 0) shape[k] = x->shape[own];
    if (shape[k] < 0 || (own >= 0 && x->shape[own] != 1 && x->shape[own] != shape[k]))
      return at_fail(&l, TN_ERR_SHAPE, "a dim that is expanded must be 1");
  }
  return tn_low_done(&l, at_expand(&l, tn_low_in(&l, 0), (int32_t)n, shape));
}

tn_status aten_broadcast_tensors(const tn_call *call, tn_graph *graph, int32_t node) {
  enum { MOST = 64 };
  const tn_lowering l = tn_low_open(call, graph, node);
  int32_t out[MOST];
  tn_tensor shape = tn_tensor_make(TN_NONE, 0, NULL, NULL);
  if (call->n_inputs > MOST) return tn_low_unsupported(&l, "more than 64 tensors");
  if (tn_broadcast_shape(call->n_inputs, call->inputs, &shape))
    return at_fail(&l, TN_ERR_SHAPE, "the shapes do not broadcast");
  for (uint32_t k = 0; k < call->n_inputs; k++)
    out[k] = at_expand(&l, tn_low_in(&l, k), shape.rank, shape.shape);
  return tn_low_done_many(&l, out, call->n_inputs);
}

/* Repeats the whole; dims are put in front where there are more repeats. */
tn_status aten_repeat(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int64_t *times;
  int64_t one, shape[TN_MAX_RANK], repeats[TN_MAX_RANK];
  const int64_t n = list(&l, at_is(&l, "tile") ? "dims" : "repeats", &times, &one);
  const int32_t rank = n > x->rank ? (int32_t)n : x->rank;
  if (rank > TN_MAX_RANK) return tn_low_unsupported(&l, "more than 8 dims");
  if (n < x->rank && !at_is(&l, "tile"))
    return at_fail(&l, TN_ERR_SHAPE, "there are fewer repeats than dims");
  for (int32_t k = 0; k < rank; k++) {
    const int32_t own = k - (rank - x->rank), of = k - (int32_t)(rank - n);
    shape[k] = own < 0 ? 1 : x->shape[own];
    repeats[k] = of < 0 ? 1 : times[of];
    if (repeats[k] < 0) return at_fail(&l, TN_ERR_INVALID, "a negative number of repeats");
  }
  if (!rank) return at_done_input(&l);
  const int32_t whole = tn_low_reshape(&l, tn_low_in(&l, 0), rank, shape);
  return tn_low_done(&l, tn_low_2(&l, "Tile", whole, tn_low_ints_const(&l, repeats, rank)));
}

/* Each element as often: a new dim behind the one, and then away with it. */
tn_status aten_repeat_interleave(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int64_t times = tn_low_int(&l, "repeats", 1);
  int64_t shape[TN_MAX_RANK];
  int32_t value = tn_low_in(&l, 0), rank = x->rank, dim = 0;
  for (int32_t k = 0; k < rank; k++) shape[k] = x->shape[k];
  if (!at_has(&l, "dim")) {
    rank = 1;
    shape[0] = tn_elements(x);
    value = tn_low_reshape(&l, value, 1, shape);
  } else {
    dim = at_dim(&l, tn_low_int(&l, "dim", 0), rank);
  }
  if (dim < 0) return dim;
  if (times < 0 || rank == TN_MAX_RANK) return tn_low_unsupported(&l, "this repeat");
  int64_t wide[TN_MAX_RANK];
  for (int32_t k = 0; k <= rank; k++)
    wide[k] = k <= dim ? shape[k] : k == dim + 1 ? times : shape[k - 1];
  if (tn_mul_i64(shape[dim], times, &shape[dim]))
    return at_fail(&l, TN_ERR_OVERFLOW, "so many repeats");
  value = at_expand(&l, at_unsqueeze(&l, value, dim + 1), rank + 1, wide);
  return tn_low_done(&l, tn_low_reshape(&l, value, rank, shape));
}

/* ---- dims in another order ---- */

tn_status aten_permute(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int64_t *dims;
  int64_t one;
  int32_t perm[TN_MAX_RANK];
  if (list(&l, "dims", &dims, &one) != x->rank)
    return at_fail(&l, TN_ERR_INVALID, "as many dims are to be named as there are");
  for (int32_t k = 0; k < x->rank; k++) {
    perm[k] = at_dim(&l, dims[k], x->rank);
    if (perm[k] < 0) return perm[k];
  }
  if (!x->rank) return at_done_input(&l);
  return tn_low_done(&l, tn_low_transpose(&l, tn_low_in(&l, 0), x->rank, perm));
}

tn_status aten_transpose(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const bool t = at_is(&l, "t") || at_is(&l, "t_copy") || at_is(&l, "numpy_T");
  const bool axes = at_is(&l, "swapaxes");
  int32_t perm[TN_MAX_RANK];
  if (x->rank == 0 || (t && x->rank == 1)) return at_done_input(&l);
  if (t && x->rank > 2 && !at_is(&l, "numpy_T"))
    return at_fail(&l, TN_ERR_SHAPE, "it has more than two dims");
  const bool last = at_is(&l, "mT") || at_is(&l, "adjoint");
  const int32_t a = at_dim(&l,
                           t      ? 0
                           : last ? -2
                                  : tn_low_int(&l, axes ? "axis0" : "dim0", 0),
                           x->rank),
                b = at_dim(&l,
                           t      ? 1
                           : last ? -1
                                  : tn_low_int(&l, axes ? "axis1" : "dim1", 1),
                           x->rank);
  if (a < 0 || b < 0) return a < 0 ? a : b;
  for (int32_t k = 0; k < x->rank; k++) perm[k] = k;
  perm[a] = b;
  perm[b] = a;
  if (at_is(&l, "numpy_T"))
    for (int32_t k = 0; k < x->rank; k++) perm[k] = x->rank - 1 - k;
  return tn_low_done(&l, tn_low_transpose(&l, tn_low_in(&l, 0), x->rank, perm));
}

/* The dims in source go to the places in destination, the others keep their order. */
tn_status aten_movedim(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t rank = tn_low_type(&l, 0)->rank;
  const int64_t *from, *to;
  int64_t one, two;
  const int64_t n = list(&l, "source", &from, &one);
  int32_t perm[TN_MAX_RANK];
  bool used[TN_MAX_RANK] = {false};
  if (list(&l, "destination", &to, &two) != n || n > rank)
    return at_fail(&l, TN_ERR_INVALID, "as many places are needed as dims");
  for (int32_t k = 0; k < rank; k++) perm[k] = -1;
  for (int64_t k = 0; k < n; k++) {
    const int32_t a = at_dim(&l, from[k], rank), b = at_dim(&l, to[k], rank);
    if (a < 0 || b < 0) return a < 0 ? a : b;
    if (used[a] || perm[b] >= 0) return at_fail(&l, TN_ERR_INVALID, "a dim is given twice");
    used[a] = true;
    perm[b] = a;
  }
  for (int32_t k = 0, next = 0; k < rank; k++) {
    if (perm[k] >= 0) continue;
    while (used[next]) next++;
    perm[k] = next++;
  }
  if (!rank) return at_done_input(&l);
  return tn_low_done(&l, tn_low_transpose(&l, tn_low_in(&l, 0), rank, perm));
}

/* ---- parts ---- */

tn_status aten_select(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), x->rank);
  if (dim < 0) return dim;
  if (x->rank == 0) return at_fail(&l, TN_ERR_SHAPE, "a scalar has no dims to select from");
  int64_t index = tn_low_int(&l, "index", 0);
  if (index < -x->shape[dim] || index >= x->shape[dim])
    return at_fail(&l, TN_ERR_INVALID, "the index is outside of the dim");
  if (index < 0) index += x->shape[dim];
  return tn_low_done(&l,
                     at_squeeze(&l, at_slice(&l, tn_low_in(&l, 0), dim, index, index + 1, 1), dim));
}

tn_status aten_slice(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), x->rank);
  if (dim < 0) return dim;
  const int64_t from = tn_low_int(&l, "start", 0), to = tn_low_int(&l, "end", INT64_MAX),
                step = tn_low_int(&l, "step", 1);
  if (step < 1) return at_fail(&l, TN_ERR_INVALID, "the step of a slice must be above 0");
  return tn_low_done(&l, at_slice(&l, tn_low_in(&l, 0), dim, from, to, step));
}

tn_status aten_narrow(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), x->rank);
  int64_t from = tn_low_int(&l, "start", 0), n = tn_low_int(&l, "length", 0);
  if (dim < 0) return dim;
  if (from < 0) from += x->shape[dim];
  if (from < 0 || n < 0 || from > x->shape[dim] || n > x->shape[dim] - from)
    return at_fail(&l, TN_ERR_INVALID, "it reaches beyond the dim");
  return tn_low_done(&l, at_slice(&l, tn_low_in(&l, 0), dim, from, from + n, 1));
}

/* Parts of these lengths, as outputs. */
static tn_status parts(const tn_lowering *l, int32_t dim, const int64_t *length, int64_t n) {
  enum { MOST = 1024 };
  int32_t out[MOST];
  int64_t at = 0;
  if (n > MOST) return tn_low_unsupported(l, "more than 1024 parts");
  if (tn_low_node(l)->n_outputs > n)
    return at_fail(l, TN_ERR_SHAPE, "it has fewer parts than are read");
  if (n == 1) return at_done_input(l);
  for (int64_t k = 0; k < n; at += length[k], k++)
    out[k] = at_slice(l, tn_low_in(l, 0), dim, at, at + length[k], 1);
  return tn_low_done_many(l, out, tn_low_node(l)->n_outputs);
}

tn_status aten_split(const tn_call *call, tn_graph *graph, int32_t node) {
  enum { MOST = 1024 };
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), x->rank);
  const char *name = at_has(&l, "split_sizes") ? "split_sizes" : "split_size";
  const int64_t *sizes;
  int64_t one, length[MOST], all = x->rank ? x->shape[dim < 0 ? 0 : dim] : 0, n = 0, sum = 0;
  if (dim < 0) return dim;
  const int64_t given = list(&l, name, &sizes, &one);
  if (tn_pattern_attr(tn_low_node(&l), name, TN_ATTR_INTS)) {
    for (; n < given && n < MOST; sum += length[n++]) {
      length[n] = sizes[n];
      if (length[n] < 0 || length[n] > all - sum)
        return at_fail(&l, TN_ERR_SHAPE, "the parts do not make the dim");
    }
    if (n < given || sum != all) return at_fail(&l, TN_ERR_SHAPE, "the parts do not make the dim");
    return parts(&l, dim, length, n);
  }
  if (given != 1 || *sizes < 0 || (*sizes == 0 && all)) return tn_low_unsupported(&l, "its parts");
  do {
    length[n] = all - sum < *sizes ? all - sum : *sizes;
    sum += length[n++];
  } while (sum < all && n < MOST);
  if (sum < all) return tn_low_unsupported(&l, "more than 1024 parts");
  return parts(&l, dim, length, n);
}

/* hsplit, vsplit and dsplit go along dims 1 (0 of a vector), 0 and 2. */
static int32_t split_dim(const tn_lowering *l, int32_t rank) {
  if (at_is(l, "hsplit")) return rank > 1 ? 1 : 0;
  if (at_is(l, "vsplit")) return 0;
  return at_is(l, "dsplit") ? 2 : at_dim(l, tn_low_int(l, "dim", 0), rank);
}

/* Parts between these places. */
static tn_status split_at(const tn_lowering *l, const int64_t *at, int64_t n) {
  enum { MOST = 1024 };
  const tn_tensor *x = tn_low_type(l, 0);
  const int32_t dim = split_dim(l, x->rank);
  int64_t length[MOST], from[MOST];
  if (dim < 0) return dim;
  if (n >= MOST || dim >= x->rank) return tn_low_unsupported(l, "these parts");
  const int64_t all = x->shape[dim];
  int64_t begin = 0;
  int32_t out[MOST];
  for (int64_t k = 0; k <= n; k++) {
    int64_t end = k < n ? at[k] : all;
    if (end < 0) end += all;
    end = end < 0 ? 0 : end > all ? all : end;
    from[k] = begin;
    length[k] = end > begin ? end - begin : 0;
    begin = end;
  }
  if (tn_low_node(l)->n_outputs > n + 1)
    return at_fail(l, TN_ERR_SHAPE, "it has fewer parts than are read");
  for (int64_t k = 0; k <= n; k++)
    out[k] = at_slice(l, tn_low_in(l, 0), dim, from[k], from[k] + length[k], 1);
  return tn_low_done_many(l, out, tn_low_node(l)->n_outputs);
}

tn_status aten_split_at(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_ints at = ints_of(&l, "indices");
  return split_at(&l, at.data, at.size);
}

/* As even as possible, and never more parts. tensor_split makes exactly so many. */
tn_status aten_chunk(const tn_call *call, tn_graph *graph, int32_t node) {
  enum { MOST = 1024 };
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int32_t dim = split_dim(&l, x->rank);
  const bool exact = at_has(&l, "sections");
  const int64_t n = tn_low_int(&l, exact ? "sections" : "chunks", 1);
  int64_t length[MOST], m = 0;
  if (dim < 0) return dim;
  if (n < 1 || n > MOST || (dim && dim >= x->rank)) return tn_low_unsupported(&l, "so many parts");
  const int64_t all = x->rank ? x->shape[dim] : 1, each = tn_ceil_div(all, n);
  if (exact) {
    for (; m < n; m++) length[m] = all / n + (m < all % n);
  } else if (all == 0) {
    for (; m < n; m++) length[m] = 0;
  } else {
    for (int64_t at = 0; at < all; at += each) length[m++] = all - at < each ? all - at : each;
  }
  return parts(&l, dim, length, m);
}

tn_status aten_unbind(const tn_call *call, tn_graph *graph, int32_t node) {
  enum { MOST = 1024 };
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), x->rank);
  int32_t out[MOST];
  if (dim < 0) return dim;
  const int64_t n = x->rank ? x->shape[dim] : 0;
  const uint32_t asked = tn_low_node(&l)->n_outputs;
  if (n > MOST) return tn_low_unsupported(&l, "more than 1024 parts");
  if (asked > n) return at_fail(&l, TN_ERR_SHAPE, "it has fewer parts than are read");
  for (uint32_t k = 0; k < asked; k++)
    out[k] = at_squeeze(&l, at_slice(&l, tn_low_in(&l, 0), dim, k, (int64_t)k + 1, 1), dim);
  return tn_low_done_many(&l, out, asked);
}

/* ---- together ---- */

/* Empty tensors of rank 1 are left out, as they have ever been. */
tn_status aten_cat(const tn_call *call, tn_graph *graph, int32_t node) {
  enum { MOST = 1024 };
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t n = tn_low_node(&l)->n_inputs;
  const uint32_t dtype = at_promote_inputs(&l, (at_scalar){.f = 0});
  int32_t in[MOST], rank = 1;
  uint32_t m = 0;
  if (n > MOST) return tn_low_unsupported(&l, "more than 1024 tensors");
  for (uint32_t k = 0; k < n; k++) {
    const tn_tensor *t = tn_low_type(&l, k);
    if (!t || (t->rank == 1 && t->shape[0] == 0)) continue;
    rank = t->rank;
    in[m++] = at_in(&l, k, dtype);
  }
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), rank);
  if (dim < 0) return dim;
  if (!n) return at_fail(&l, TN_ERR_INVALID, "there is nothing to put together");
  if (!m) in[m++] = at_in(&l, 0, dtype);
  return tn_low_done(&l, m == 1 ? tn_low_1(&l, "Identity", in[0]) : at_concat(&l, in, m, dim));
}

tn_status aten_stack(const tn_call *call, tn_graph *graph, int32_t node) {
  enum { MOST = 1024 };
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t n = tn_low_node(&l)->n_inputs;
  const uint32_t dtype = at_promote_inputs(&l, (at_scalar){.f = 0});
  int32_t in[MOST];
  if (n > MOST || n == 0) return tn_low_unsupported(&l, "no tensor, or more than 1024");
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), tn_low_type(&l, 0)->rank + 1);
  if (dim < 0) return dim;
  for (uint32_t k = 0; k < n; k++) in[k] = at_unsqueeze(&l, at_in(&l, k, dtype), dim);
  return tn_low_done(&l, at_concat(&l, in, n, dim));
}

/* ---- other orders ---- */

tn_status aten_flip(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  int64_t dims[TN_MAX_RANK];
  const bool lr = at_is(&l, "fliplr"), ud = at_is(&l, "flipud");
  int32_t n = 1, value = tn_low_in(&l, 0);
  dims[0] = lr ? 1 : 0;
  if (!lr && !ud) {
    const int64_t *given;
    int64_t one;
    if (list(&l, "dims", &given, &one) == 0) return at_done_input(&l);
    n = at_dims(&l, "dims", x->rank, dims);
  }
  if (n < 0) return n;
  for (int32_t k = 0; k < n && x->rank; k++)
    value = at_slice(&l, value, dims[k], INT64_MAX, INT64_MIN, -1);
  return tn_low_done(&l, x->rank ? value : tn_low_1(&l, "Identity", value));
}

static int32_t rolled(const tn_lowering *l, int32_t x, int64_t dim, int64_t size, int64_t shift) {
  if (size == 0) return x;
  const int64_t cut = (size - shift % size) % size;
  if (cut == 0) return x;
  const int32_t halves[] = {at_slice(l, x, dim, cut, size, 1), at_slice(l, x, dim, 0, cut, 1)};
  return at_concat(l, halves, 2, dim);
}

tn_status aten_roll(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int64_t *shifts, *dims;
  int64_t one, two, all = tn_elements(x);
  const int64_t n = list(&l, "shifts", &shifts, &one), m = list(&l, "dims", &dims, &two);
  int32_t value = tn_low_in(&l, 0);
  if (m == 0) {
    if (n != 1) return at_fail(&l, TN_ERR_INVALID, "without dims there is one shift");
    value = rolled(&l, tn_low_reshape(&l, value, 1, &all), 0, all, shifts[0]);
    return tn_low_done(&l, tn_low_reshape(&l, value, x->rank, x->shape));
  }
  if (n != m) return at_fail(&l, TN_ERR_INVALID, "there are other numbers of shifts and dims");
  for (int64_t k = 0; k < n; k++) {
    const int32_t dim = at_dim(&l, dims[k], x->rank);
    if (dim < 0) return dim;
    value = rolled(&l, value, dim, x->rank ? x->shape[dim] : 0, shifts[k]);
  }
  return tn_low_done(&l, tn_low_1(&l, "Identity", value));
}

/* Windows of a dim, as a new last dim. */
tn_status aten_unfold(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dimension", 0), x->rank);
  const int64_t size = tn_low_int(&l, "size", 1), step = tn_low_int(&l, "step", 1);
  if (dim < 0) return dim;
  if (x->rank == 0 || x->rank == TN_MAX_RANK || size < 0 || step < 1 || size > x->shape[dim])
    return at_fail(&l, TN_ERR_INVALID, "the windows do not fit into the dim");
  const int64_t n = (x->shape[dim] - size) / step + 1;
  const int64_t grid[] = {n, size}, column[] = {n, 1};
  const int32_t starts = tn_low_2(&l, "Mul", at_iota(&l, n), at_int_const(&l, TN_I64, step));
  int32_t index = tn_low_2(&l, "Add", tn_low_reshape(&l, starts, 2, column), at_iota(&l, size));
  index = at_expand(&l, index, 2, grid);
  const int32_t windows = at_gather(&l, tn_low_in(&l, 0), index, dim);
  int32_t perm[TN_MAX_RANK];
  for (int32_t k = 0; k <= x->rank; k++) perm[k] = k <= dim ? k : k == x->rank ? dim + 1 : k + 1;
  return tn_low_done(&l, tn_low_transpose(&l, windows, x->rank + 1, perm));
}

/* Any strides over the elements in their order: they are gathered by their places. */
tn_status aten_as_strided(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const tn_ints size = ints_of(&l, "size"), stride = ints_of(&l, "stride");
  const int64_t offset = tn_low_int(&l, "storage_offset", 0), all = tn_elements(x);
  int64_t last = offset, shape[TN_MAX_RANK];
  if (size.size != stride.size || size.size > TN_MAX_RANK)
    return tn_low_unsupported(&l, "these sizes and strides");
  int32_t place = at_int_const(&l, TN_I64, offset);
  for (int64_t k = 0; k < size.size; k++) {
    int64_t reach;
    shape[k] = size.data[k];
    if (shape[k] < 1 || stride.data[k] < 0 || tn_mul_i64(shape[k] - 1, stride.data[k], &reach) ||
        tn_add_i64(last, reach, &last))
      return tn_low_unsupported(&l, "these sizes and strides");
  }
  if (offset < 0 || last >= all)
    return at_fail(&l, TN_ERR_INVALID, "the strides lead out of the tensor");
  for (int64_t k = 0; k < size.size; k++) {
    int64_t dims[TN_MAX_RANK];
    for (int64_t i = 0; i < size.size; i++) dims[i] = i == k ? shape[k] : 1;
    const int32_t step = at_int_const(&l, TN_I64, stride.data[k]);
    const int32_t part = tn_low_2(&l, "Mul", at_iota(&l, shape[k]), step);
    place = tn_low_2(&l, "Add", place, tn_low_reshape(&l, part, (int32_t)size.size, dims));
  }
  const int32_t flat = tn_low_reshape(&l, tn_low_in(&l, 0), 1, &all);
  return tn_low_done(&l, tn_low_2(&l, "Gather", flat, place));
}

tn_status aten_pixel_shuffle(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const bool up = at_is(&l, "pixel_shuffle");
  const int64_t r = tn_low_int(&l, up ? "upscale_factor" : "downscale_factor", 1);
  if (x->rank < 3 || x->rank > 4) return tn_low_unsupported(&l, "other than 3 or 4 dims");
  if (r < 1 || r > UINT16_MAX) return at_fail(&l, TN_ERR_INVALID, "the factor is none");
  int32_t value = x->rank == 3 ? at_unsqueeze(&l, tn_low_in(&l, 0), 0) : tn_low_in(&l, 0);
  const int64_t *d = x->shape + (x->rank - 3), n = x->rank == 4 ? x->shape[0] : 1;
  if (up) {
    const tn_attr attrs[] = {tn_attr_int("blocksize", r), tn_attr_str("mode", "CRD")};
    value = tn_low_emit(&l, "DepthToSpace", &value, 1, attrs, 2);
  } else { /* channels stand before the places in a block */
    if (d[1] % r || d[2] % r) return at_fail(&l, TN_ERR_SHAPE, "the blocks do not fill the image");
    const int64_t cut[] = {n, d[0], d[1] / r, r, d[2] / r, r},
                  back[] = {n, d[0] * r * r, d[1] / r, d[2] / r};
    const int32_t perm[] = {0, 1, 3, 5, 2, 4};
    value = tn_low_transpose(&l, tn_low_reshape(&l, value, 6, cut), 6, perm);
    value = tn_low_reshape(&l, value, 4, back);
  }
  return tn_low_done(&l, x->rank == 3 ? at_squeeze(&l, value, 0) : value);
}

tn_status aten_channel_shuffle(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int64_t g = tn_low_int(&l, "groups", 1);
  int64_t cut[TN_MAX_RANK];
  int32_t perm[TN_MAX_RANK];
  if (x->rank < 3 || x->rank == TN_MAX_RANK || g < 1 || x->shape[1] % g)
    return at_fail(&l, TN_ERR_SHAPE, "the groups do not divide the channels");
  for (int32_t k = 0; k <= x->rank; k++) {
    cut[k] = k == 0 ? x->shape[0] : k == 1 ? g : k == 2 ? x->shape[1] / g : x->shape[k - 1];
    perm[k] = k == 1 ? 2 : k == 2 ? 1 : k;
  }
  const int32_t value = tn_low_reshape(&l, tn_low_in(&l, 0), x->rank + 1, cut);
  return tn_low_done(
      &l, tn_low_reshape(&l, tn_low_transpose(&l, value, x->rank + 1, perm), x->rank, x->shape));
}

/* ---- nothing at all ---- */

tn_status aten_same(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  if (tn_low_int(&l, "train", 0) && (at_is(&l, "dropout") || at_is(&l, "feature_dropout") ||
                                     at_is(&l, "alpha_dropout") || at_is(&l, "native_dropout")))
    return tn_low_unsupported(&l, "dropout while training");
  if (tn_low_node(&l)->n_outputs > 1) return tn_low_unsupported(&l, "its mask");
  return at_done_input(&l);
}

/* Zero frequencies in the middle, or back at the front. */
tn_status aten_fftshift(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  int64_t dims[TN_MAX_RANK];
  const int32_t n = at_dims(&l, "dim", x->rank, dims);
  int32_t y = tn_low_in(&l, 0);
  if (n < 0) return n;
  for (int32_t k = 0; k < n; k++) {
    const int64_t size = x->shape[dims[k]], half = size / 2;
    y = rolled(&l, y, dims[k], size, at_is(&l, "fft_fftshift") ? half : size - half);
  }
  return tn_low_done(&l, n ? tn_low_1(&l, "Identity", y) : y);
}
