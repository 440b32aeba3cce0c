/* Orders and counts that ONNX has no operator for: running extremes, quantiles, modes, histograms,
 * neighbours that are equal. */
#include "aten.h"
#include "aten_index.gen.h"

/* ---- running ---- */

/* Values and, for cummax and cummin, where they stand. */
typedef struct running {
  int32_t value, place;
} running;

typedef running (*combine_fn)(const tn_lowering *l, running early, running late, uint32_t dtype);

/* The later one wins where both are equal; NaN wins over numbers. */
static running extreme_of(const tn_lowering *l, running early, running late, uint32_t dtype) {
  const char *op = at_is(l, "cummax") ? "GreaterOrEqual" : "LessOrEqual";
  int32_t wins = tn_low_2(l, op, late.value, early.value);
  if (at_category(dtype) == AT_FLOAT)
    wins = tn_low_2(l, "Or", wins, tn_low_1(l, "IsNaN", late.value));
  return (running){at_where(l, wins, late.value, early.value),
                   at_where(l, wins, late.place, early.place)};
}

/* log(exp(a) + exp(b)): the larger one, and log(1 + exp(-|a - b|)); infinities differ by NaN. */
static running log_sum_of(const tn_lowering *l, running early, running late, uint32_t dtype) {
  const int32_t off = tn_low_1(l, "Abs", tn_low_2(l, "Sub", early.value, late.value));
  const int32_t same = tn_low_2(l, "Equal", early.value, late.value);
  const int32_t far = at_where(l, same, tn_low_number(l, dtype, 0), tn_low_1(l, "Neg", off));
  const int32_t most = tn_low_2(l, "Max", early.value, late.value);
  return (running){tn_low_2(l, "Add", most, tn_low_1(l, "Softplus", far)), TN_NO_ID};
}

/* The first `step` stay, all others are combined with what stands `step` before them. */
static running combined(const tn_lowering *l, running x, int64_t dim, int64_t n, int64_t step,
                        uint32_t dtype, combine_fn combine) {
  running early = {at_slice(l, x.value, dim, 0, n - step, 1), TN_NO_ID}, late = early;
  late.value = at_slice(l, x.value, dim, step, n, 1);
  if (x.place != TN_NO_ID) {
    early.place = at_slice(l, x.place, dim, 0, n - step, 1);
    late.place = at_slice(l, x.place, dim, step, n, 1);
  }
  const running made = combine(l, early, late, dtype);
  const int32_t values[] = {at_slice(l, x.value, dim, 0, step, 1), made.value};
  running out = {at_concat(l, values, 2, dim), TN_NO_ID};
  if (x.place == TN_NO_ID) return out;
  const int32_t places[] = {at_slice(l, x.place, dim, 0, step, 1), made.place};
  out.place = at_concat(l, places, 2, dim);
  return out;
}

static int32_t places_along(const tn_lowering *l, const tn_tensor *x, int32_t dim) {
  int64_t column[TN_MAX_RANK];
  for (int32_t k = 0; k < x->rank; k++) column[k] = k == dim ? x->shape[k] : 1;
  const int32_t own = tn_low_reshape(l, at_iota(l, x->shape[dim]), x->rank, column);
  return at_expand(l, own, x->rank, x->shape);
}

/* cummax, cummin, logcumsumexp: in steps of 1, 2, 4 ... */
tn_status aten_running(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 0);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), t->rank);
  const bool sums = at_is(&l, "logcumsumexp"), is_bool = t->dtype == TN_BOOL;
  if (dim < 0) return dim;
  if (sums && at_category(t->dtype) != AT_FLOAT)
    return at_fail(&l, TN_ERR_INVALID, "logcumsumexp takes floats");
  if (t->rank == 0) {
    const int32_t out[] = {tn_low_1(&l, "Identity", tn_low_in(&l, 0)), at_int_const(&l, TN_I64, 0)};
    return tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
  }
  const uint32_t dtype = is_bool ? TN_U8 : t->dtype;
  const int64_t n = t->shape[dim];
  running x = {at_in(&l, 0, dtype), sums ? TN_NO_ID : places_along(&l, t, dim)};
  for (int64_t step = 1; step < n; step *= 2)
    x = combined(&l, x, dim, n, step, dtype, sums ? log_sum_of : extreme_of);
  const int32_t y = tn_low_1(&l, "Identity", at_cast(&l, x.value, dtype, t->dtype));
  const int32_t out[] = {y, x.place};
  return tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
}

/* ---- sorted along a dim ---- */

typedef struct sorted {
  int32_t value, place;
  int32_t rank, dim;
  int64_t n;
  int64_t shape[TN_MAX_RANK]; /* of value: one dim if there was none named */
} sorted;

static tn_status open_sorted(const tn_lowering *l, int32_t x, bool whole, sorted *s) {
  const tn_tensor *t = tn_low_type(l, 0);
  const int64_t all = tn_elements(t);
  *s = (sorted){.rank = t->rank};
  memcpy(s->shape, t->shape, sizeof s->shape);
  if (whole || t->rank == 0) {
    s->rank = 1;
    s->shape[0] = all;
    x = tn_low_reshape(l, x, 1, &all);
  } else {
    s->dim = at_dim(l, tn_low_int(l, "dim", -1), t->rank);
    if (s->dim < 0) return s->dim;
  }
  s->n = s->shape[s->dim];
  if (s->n == 0) return at_fail(l, TN_ERR_SHAPE, "of no elements there is none in the middle");
  const int32_t in[] = {x, tn_low_ints_const(l, &s->n, 1)};
  const tn_attr attrs[] = {tn_attr_int("axis", s->dim), tn_attr_int("largest", 0),
                           tn_attr_int("sorted", 1)};
  int32_t out[2];
  const tn_status status = tn_low_emit_many(l, "TopK", in, 2, attrs, 3, 2, out);
  s->value = out[0];
  s->place = out[1];
  return status;
}

/* Element `at` (with dim `dim` of size 1) of x. */
static int32_t element(const tn_lowering *l, const sorted *s, int32_t x, int32_t at) {
  const int32_t in[] = {x, at};
  const tn_attr axis = tn_attr_int("axis", s->dim);
  return tn_low_emit(l, "GatherElements", in, 2, &axis, 1);
}

/* Without the dim, or with all of them as 1, as the node wants it. */
static int32_t shaped(const tn_lowering *l, const sorted *s, int32_t x, bool whole) {
  static const int64_t ones[TN_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
  const int32_t rank = tn_low_type(l, 0)->rank;
  const bool keep = tn_low_int(l, "keepdim", 0) != 0;
  if (rank == 0) return tn_low_reshape(l, x, 0, NULL);
  if (whole) return tn_low_reshape(l, x, keep ? rank : 0, ones);
  return keep ? tn_low_1(l, "Identity", x) : at_squeeze(l, x, s->dim);
}

static int32_t is_nan(const tn_lowering *l, int32_t x, uint32_t dtype) {
  return at_category(dtype) == AT_FLOAT ? tn_low_1(l, "IsNaN", x)
                                        : at_not(l, tn_low_2(l, "Equal", x, x));
}

/* The lower one in the middle of those that are numbers; NaN if there are none. */
tn_status aten_nanmedian(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = tn_low_type(&l, 0)->dtype;
  const bool whole = !at_has(&l, "dim");
  sorted s;
  if (at_category(dtype) == AT_BOOL) return tn_low_unsupported(&l, "medians of bools");
  const int32_t x = tn_low_in(&l, 0);
  int32_t last = x;
  if (at_category(dtype) == AT_FLOAT)
    last = at_where(&l, is_nan(&l, x, dtype), tn_low_number(&l, dtype, INFINITY), x);
  const tn_status status = open_sorted(&l, last, whole, &s);
  if (status) return status;
  const int64_t dim = s.dim;
  const int32_t flat = tn_low_reshape(&l, x, s.rank, s.shape);
  const int32_t numbers = at_cast(&l, at_not(&l, is_nan(&l, flat, dtype)), TN_BOOL, TN_I64);
  const int32_t zero = at_int_const(&l, TN_I64, 0), one = at_int_const(&l, TN_I64, 1);
  const int32_t n = at_reduce(&l, "ReduceSum", numbers, &dim, 1, true);
  int32_t k = tn_low_2(&l, "Div", tn_low_2(&l, "Sub", n, one), at_int_const(&l, TN_I64, 2));
  k = tn_low_2(&l, "Max", k, zero);
  int32_t value = element(&l, &s, s.value, k), place = element(&l, &s, s.place, k);
  if (at_category(dtype) == AT_FLOAT) {
    const int32_t none = tn_low_2(&l, "Equal", n, zero);
    value = at_where(&l, none, tn_low_number(&l, dtype, NAN), value);
    place = at_where(&l, none, zero, place);
  }
  const int32_t out[] = {shaped(&l, &s, value, whole), shaped(&l, &s, place, whole)};
  return tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
}

/* What is most often there, of equals the smallest; and where it stands last. */
tn_status aten_mode(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = tn_low_type(&l, 0)->dtype;
  sorted s;
  if (dtype == TN_BOOL) return tn_low_unsupported(&l, "modes of bools");
  const tn_status status = open_sorted(&l, tn_low_in(&l, 0), false, &s);
  if (status) return status;
  if (s.rank == TN_MAX_RANK) return tn_low_unsupported(&l, "8 dims");
  /* how often each is there: rows against columns in two dims */
  const int32_t column = at_unsqueeze(&l, s.value, s.dim + 1),
                row = at_unsqueeze(&l, s.value, s.dim);
  const int64_t other = s.dim + 1;
  const int32_t equal = at_cast(&l, tn_low_2(&l, "Equal", column, row), TN_BOOL, TN_I32);
  const int32_t often = at_reduce(&l, "ReduceSum", equal, &other, 1, false);
  const tn_attr attrs[] = {tn_attr_int("axis", s.dim), tn_attr_int("keepdims", 1)};
  const int32_t first = tn_low_emit(&l, "ArgMax", &often, 1, attrs, 2);
  const int32_t times = at_cast(&l, element(&l, &s, often, first), TN_I32, TN_I64);
  const int32_t last =
      tn_low_2(&l, "Sub", tn_low_2(&l, "Add", first, times), at_int_const(&l, TN_I64, 1));
  const int32_t out[] = {shaped(&l, &s, element(&l, &s, s.value, first), false),
                         shaped(&l, &s, element(&l, &s, s.place, last), false)};
  return tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
}

/* ---- quantiles ---- */

static const char *rounding_of(const tn_lowering *l) {
  return at_says(l, "interpolation", "lower")     ? "Floor"
         : at_says(l, "interpolation", "higher")  ? "Ceil"
         : at_says(l, "interpolation", "nearest") ? "Round"
                                                  : NULL;
}

/* The value at place `at`, which lies between two elements. */
static int32_t between(const tn_lowering *l, const sorted *s, int32_t at, uint32_t dtype) {
  const char *round = rounding_of(l);
  if (round) return element(l, s, s->value, at_cast(l, tn_low_1(l, round, at), dtype, TN_I64));
  const int32_t floor = tn_low_1(l, "Floor", at), ceil = tn_low_1(l, "Ceil", at);
  const int32_t a = element(l, s, s->value, at_cast(l, floor, dtype, TN_I64)),
                b = element(l, s, s->value, at_cast(l, ceil, dtype, TN_I64));
  const bool middle = at_says(l, "interpolation", "midpoint");
  const int32_t part = middle ? tn_low_number(l, dtype, 0.5) : tn_low_2(l, "Sub", at, floor);
  return tn_low_2(l, "Add", a, tn_low_2(l, "Mul", part, tn_low_2(l, "Sub", b, a)));
}

/* One place for each row, with dim `dim` as long as there are quantiles. */
static int32_t spread(const tn_lowering *l, const sorted *s, int32_t q, int64_t n_q, int32_t last) {
  int64_t own[TN_MAX_RANK], all[TN_MAX_RANK];
  for (int32_t k = 0; k < s->rank; k++) {
    own[k] = k == s->dim ? n_q : 1;
    all[k] = k == s->dim ? n_q : s->shape[k];
  }
  const int32_t column = tn_low_reshape(l, q, s->rank, own);
  return at_expand(l, tn_low_2(l, "Mul", column, last), s->rank, all);
}

tn_status aten_quantile(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 0), *q_type = tn_low_type(&l, 1);
  const bool whole = !at_has(&l, "dim"), skips = at_is(&l, "nanquantile");
  const at_scalar q = at_number(&l, "q");
  const bool many = !q.is_there && q_type->rank == 1;
  const int64_t n_q = many ? q_type->shape[0] : 1;
  sorted s;
  if (t->dtype != TN_F32 && t->dtype != TN_F64)
    return at_fail(&l, TN_ERR_INVALID, "quantiles are of f32 or f64");
  if (!q.is_there && q_type->rank > 1) return at_fail(&l, TN_ERR_SHAPE, "q has more than one dim");
  if (many && t->rank == TN_MAX_RANK) return tn_low_unsupported(&l, "8 dims");
  const int32_t x = tn_low_in(&l, 0), nan = tn_low_1(&l, "IsNaN", x);
  const tn_status status =
      open_sorted(&l, at_where(&l, nan, tn_low_number(&l, t->dtype, INFINITY), x), whole, &s);
  if (status) return status;
  const int64_t dim = s.dim;
  const int32_t bad = at_cast(&l, tn_low_reshape(&l, nan, s.rank, s.shape), TN_BOOL, t->dtype);
  const int32_t n_bad = at_reduce(&l, "ReduceSum", bad, &dim, 1, true);
  int32_t last = tn_low_number(&l, t->dtype, (double)s.n - 1);
  if (skips)
    last = tn_low_2(&l, "Max", tn_low_2(&l, "Sub", last, n_bad), tn_low_number(&l, t->dtype, 0));
  const int32_t qs = q.is_there ? tn_low_number(&l, t->dtype, q.f) : at_in(&l, 1, t->dtype);
  int32_t y = between(&l, &s, spread(&l, &s, qs, n_q, last), t->dtype);
  const int32_t lost = skips
                           ? tn_low_2(&l, "Equal", n_bad, tn_low_number(&l, t->dtype, (double)s.n))
                           : tn_low_2(&l, "Greater", n_bad, tn_low_number(&l, t->dtype, 0));
  y = at_where(&l, lost, tn_low_number(&l, t->dtype, NAN), y);
  if (!many) return tn_low_done(&l, shaped(&l, &s, y, whole));
  /* the quantiles come first */
  int32_t perm[TN_MAX_RANK];
  int64_t shape[TN_MAX_RANK] = {n_q};
  int32_t rank = 1;
  perm[0] = s.dim;
  for (int32_t k = 0, at = 1; k < s.rank; k++)
    if (k != s.dim) perm[at++] = k;
  const bool keep = tn_low_int(&l, "keepdim", 0) != 0;
  for (int32_t k = 0; k < t->rank; k++) {
    const bool goes = whole || k == s.dim;
    if (!goes || keep) shape[rank++] = goes ? 1 : t->shape[k];
  }
  return tn_low_done(&l, tn_low_reshape(&l, tn_low_transpose(&l, y, s.rank, perm), rank, shape));
}

/* ---- counts ---- */

/* Zeros, and what `add` says more at the places. */
static int32_t counted(const tn_lowering *l, int32_t n, int32_t places, int32_t add,
                       uint32_t dtype) {
  const int64_t one = 1;
  const int32_t none =
      tn_low_2(l, "Expand", at_int_const(l, dtype, 0), tn_low_reshape(l, n, 1, &one));
  const int32_t in[] = {none, places, add};
  const tn_attr attrs[] = {tn_attr_int("axis", 0), tn_attr_str("reduction", "add")};
  return tn_low_emit(l, "ScatterElements", in, 3, attrs, 2);
}

tn_status aten_bincount(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0), *w = tn_low_type(&l, 1);
  const int64_t least = tn_low_int(&l, "minlength", 0), dim = 0;
  if (x->rank != 1 || at_category(x->dtype) != AT_INT || least < 0 || least > AT_MOST_SIZE)
    return at_fail(&l, TN_ERR_INVALID, "it counts integers of one dim");
  const uint32_t dtype = !w ? TN_I64 : w->dtype == TN_F32 || w->dtype == TN_F64 ? w->dtype : TN_F64;
  const int32_t places = at_in(&l, 0, TN_I64), none = at_int_const(&l, TN_I64, least);
  if (x->shape[0] == 0) return tn_low_done(&l, at_full(&l, at_int_const(&l, dtype, 0), 1, &least));
  const int32_t most = tn_low_2(&l, "Add", at_reduce(&l, "ReduceMax", places, &dim, 1, false),
                                at_int_const(&l, TN_I64, 1));
  const int32_t ones = at_full(&l, at_int_const(&l, dtype, 1), 1, x->shape);
  return tn_low_done(&l, counted(&l, tn_low_2(&l, "Max", most, none), places,
                                 w ? at_in(&l, 1, dtype) : ones, dtype));
}

/* Bins of equal width; the last one has its end as well. min and max of 0: those of the data. */
tn_status aten_histc(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 0);
  const int64_t bins = tn_low_int(&l, "bins", 100), all = tn_elements(t), dim = 0;
  const at_scalar lo = at_number(&l, "min"), hi = at_number(&l, "max");
  if (t->dtype != TN_F32 && t->dtype != TN_F64) return tn_low_unsupported(&l, "other than floats");
  if (bins < 1 || bins > AT_MOST_SIZE || lo.f > hi.f)
    return at_fail(&l, TN_ERR_INVALID, "there are no bins");
  if (all == 0) return tn_low_done(&l, at_full(&l, at_int_const(&l, t->dtype, 0), 1, &bins));
  const int32_t x = tn_low_reshape(&l, tn_low_in(&l, 0), 1, &all);
  const int32_t one = tn_low_number(&l, t->dtype, 1);
  int32_t least = tn_low_number(&l, t->dtype, lo.f), most = tn_low_number(&l, t->dtype, hi.f);
  if (lo.f == hi.f) {
    if (lo.f != 0) return tn_low_unsupported(&l, "bounds that are equal");
    least = at_reduce(&l, "ReduceMin", x, &dim, 1, false);
    most = at_reduce(&l, "ReduceMax", x, &dim, 1, false);
    const int32_t flat = tn_low_2(&l, "Equal", least, most);
    least = at_where(&l, flat, tn_low_2(&l, "Sub", least, one), least);
    most = at_where(&l, flat, tn_low_2(&l, "Add", most, one), most);
  }
  const int32_t inside = tn_low_2(&l, "And", tn_low_2(&l, "GreaterOrEqual", x, least),
                                  tn_low_2(&l, "LessOrEqual", x, most));
  const int32_t part =
      tn_low_2(&l, "Div", tn_low_2(&l, "Sub", x, least), tn_low_2(&l, "Sub", most, least));
  int32_t bin = tn_low_2(&l, "Mul", part, tn_low_number(&l, t->dtype, (double)bins));
  bin = at_where(&l, inside, tn_low_1(&l, "Floor", bin), tn_low_number(&l, t->dtype, 0));
  bin = tn_low_2(&l, "Min", at_cast(&l, bin, t->dtype, TN_I64), at_int_const(&l, TN_I64, bins - 1));
  return tn_low_done(&l, counted(&l, at_int_const(&l, TN_I64, bins), bin,
                                 at_cast(&l, inside, TN_BOOL, t->dtype), t->dtype));
}

/* ---- neighbours ---- */

/* Of a run of equal elements the first one; which run each element is in, and how long they are. */
tn_status aten_unique_consecutive(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 0);
  const int64_t all = tn_elements(t), one = 1;
  if (at_has(&l, "dim") && t->rank != 1) return tn_low_unsupported(&l, "runs along a dim");
  if (all == 0) return tn_low_unsupported(&l, "no elements");
  const int32_t x = tn_low_reshape(&l, tn_low_in(&l, 0), 1, &all);
  const int32_t parts[] = {at_full(&l, at_int_const(&l, TN_BOOL, 1), 1, &one),
                           at_not(&l, tn_low_2(&l, "Equal", at_slice(&l, x, 0, 1, all, 1),
                                               at_slice(&l, x, 0, 0, all - 1, 1)))};
  const int32_t begins = at_concat(&l, parts, 2, 0), zero = at_int_const(&l, TN_I64, 0);
  const int32_t run =
      tn_low_2(&l, "Sub", tn_low_2(&l, "CumSum", at_cast(&l, begins, TN_BOOL, TN_I64), zero),
               at_int_const(&l, TN_I64, 1));
  const int64_t minus = -1;
  const int32_t flat = tn_low_1(&l, "NonZero", begins);
  const int32_t starts = tn_low_reshape(&l, flat, 1, &minus);
  const int32_t ends[] = {at_slice(&l, starts, 0, 1, INT64_MAX, 1), tn_low_ints_const(&l, &all, 1)};
  const int32_t out[] = {tn_low_2(&l, "Compress", x, begins),
                         tn_low_reshape(&l, run, t->rank, t->shape),
                         tn_low_2(&l, "Sub", at_concat(&l, ends, 2, 0), starts)};
  return tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
}

/* Rows that are different, sorted; which one each is, and how often. */
tn_status aten_unique_dim(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 0);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), t->rank);
  const tn_attr attrs[] = {tn_attr_int("sorted", 1), tn_attr_int("axis", dim)};
  int32_t made[4];
  if (dim < 0) return dim;
  if (t->rank == 0) return tn_low_unsupported(&l, "scalars");
  const uint32_t dtype = t->dtype == TN_BOOL ? TN_U8 : t->dtype;
  const int32_t in = at_in(&l, 0, dtype);
  const tn_status s = tn_low_emit_many(&l, "Unique", &in, 1, attrs, 2, 4, made);
  if (s) return s;
  const int32_t out[] = {at_cast(&l, made[0], dtype, t->dtype), made[2], made[3]};
  return tn_low_done_many(&l, out, tn_low_node(&l)->n_outputs);
}

/* repeat_interleave by a tensor: each element (or each row of dim) as often as it says. */
tn_status aten_repeat_by(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const bool has_self = call->n_inputs > 1;
  const tn_tensor *t = tn_low_type(&l, 0), *times = tn_low_type(&l, has_self);
  const int64_t all = tn_elements(t), last = -1, zero_dim = 0;
  const int32_t zero = at_int_const(&l, TN_I64, 0);
  if (times->rank > 1 || at_category(times->dtype) != AT_INT)
    return at_fail(&l, TN_ERR_SHAPE, "repeats are integers of one dim");
  const bool whole = has_self && !at_has(&l, "dim");
  const int32_t dim = has_self && !whole ? at_dim(&l, tn_low_int(&l, "dim", 0), t->rank) : 0;
  if (dim < 0) return dim;
  const int64_t n = whole || !t->rank ? all : t->shape[dim];
  int32_t counts = at_in(&l, has_self, TN_I64);
  if (tn_elements(times) != n && tn_elements(times) != 1)
    return at_fail(&l, TN_ERR_SHAPE, "there are not as many repeats as elements");
  counts = at_expand(&l, counts, 1, &n);
  const int32_t ends = tn_low_2(&l, "CumSum", counts, zero);
  const int32_t total = at_reduce(&l, "ReduceSum", counts, &zero_dim, 1, false);
  const int32_t k = tn_low_3(&l, "Range", zero, total, at_int_const(&l, TN_I64, 1));
  const int32_t passed = tn_low_2(&l, "GreaterOrEqual", at_unsqueeze(&l, k, 1), ends);
  const int32_t of =
      at_reduce(&l, "ReduceSum", at_cast(&l, passed, TN_BOOL, TN_I64), &last, 1, false);
  if (!has_self) return tn_low_done(&l, of);
  int32_t x = tn_low_in(&l, 0);
  if (whole || !t->rank) x = tn_low_reshape(&l, x, 1, &all);
  return tn_low_done(&l, at_gather(&l, x, of, dim));
}
