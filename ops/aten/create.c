/* Tensors that are made of nothing but numbers; casts. */
#include "aten.h"
#include "aten_views.gen.h"

static int64_t shape_of(const tn_lowering *l, const char *name, int64_t *out) {
  const tn_ints size = tn_low_ints(l, name);
  if (size.size > TN_MAX_RANK) return tn_low_unsupported(l, "more than 8 dims");
  for (int64_t k = 0; k < size.size; k++) {
    out[k] = size.data[k];
    if (out[k] < 0) return at_fail(l, TN_ERR_SHAPE, "a dim is negative");
  }
  return size.size;
}

/* full, zeros, ones, empty, which is zeros here, and their new_ forms: the type of self unless one
 * is named; of a number alone: i64 or f32. */
tn_status aten_full(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *self = tn_low_type(&l, 0);
  int64_t shape[TN_MAX_RANK], rank = 0;
  at_scalar fill = at_number(&l, "fill_value");
  if (at_is(&l, "scalar_tensor")) fill = at_number(&l, "s");
  const bool is_full = fill.is_there;
  if (!is_full) fill = (at_scalar){true, true, 0, 0};
  if (at_is(&l, "ones") || at_is(&l, "new_ones") || at_is(&l, "ones_like"))
    fill = (at_scalar){true, true, 1, 1};
  uint32_t dtype = self ? self->dtype : is_full && fill.is_int ? TN_I64 : TN_F32;
  if (at_is(&l, "scalar_tensor")) dtype = TN_F32;
  dtype = at_dtype(&l, "dtype", dtype);
  if (self && !at_has(&l, "size")) {
    rank = self->rank;
    memcpy(shape, self->shape, sizeof shape);
  } else if (!at_is(&l, "scalar_tensor")) {
    rank = shape_of(&l, "size", shape);
  }
  if (rank < 0) return (tn_status)rank;
  return tn_low_done(&l, at_full(&l, at_const(&l, dtype, fill), (int32_t)rank, shape));
}

/* self's shape and type; full_like with a tensor for the value is aten::fill. */
tn_status aten_fill(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const at_scalar s = at_number(&l, "value");
  int32_t value = s.is_there ? at_const(&l, x->dtype, s) : at_in(&l, 1, x->dtype);
  if (at_is(&l, "zero")) value = at_int_const(&l, x->dtype, 0);
  return tn_low_done(&l, at_expand(&l, value, x->rank, x->shape));
}

/* How many steps from start to end; as PyTorch counts, in f64 where there are floats. */
static int64_t count(at_scalar start, at_scalar end, at_scalar step) {
  const double n = (end.f - start.f) / step.f;
  if (!(n <= AT_MOST_SIZE)) return INT64_MAX;
  if (!start.is_int || !end.is_int || !step.is_int) return (int64_t)ceil(n);
  const int64_t span = end.i - start.i;
  return span / step.i + (span % step.i != 0);
}

tn_status aten_arange(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const at_scalar zero = {true, true, 0, 0}, one = {true, true, 1, 1};
  at_scalar start = at_number(&l, "start"), end = at_number(&l, "end"),
            step = at_number(&l, "step");
  if (!start.is_there) start = zero;
  if (!step.is_there) step = one;
  const bool ints = start.is_int && end.is_int && step.is_int;
  const double limit = 1e15;
  if (step.f == 0 || !(end.f > -limit && end.f < limit && start.f > -limit && start.f < limit))
    return at_fail(&l, TN_ERR_INVALID, "its ends and step make no range");
  if ((end.f - start.f) * step.f < 0)
    return at_fail(&l, TN_ERR_INVALID, "the step leads away from the end");
  const uint32_t dtype = at_dtype(&l, "dtype", ints ? TN_I64 : TN_F32);
  const int64_t n = count(start, end, step);
  if (n > AT_MOST_SIZE) return tn_low_unsupported(&l, "so long a range");
  const int32_t k = at_iota(&l, n);
  if (at_category(dtype) == AT_FLOAT) { /* start + k * step in f64, rounded once */
    const int32_t wide =
        tn_low_2(&l, "Mul", at_cast(&l, k, TN_I64, TN_F64), tn_low_number(&l, TN_F64, step.f));
    const int32_t sum = tn_low_2(&l, "Add", wide, tn_low_number(&l, TN_F64, start.f));
    return tn_low_done(&l, at_cast(&l, sum, TN_F64, dtype));
  }
  const int32_t scaled = tn_low_2(&l, "Mul", k, at_const(&l, TN_I64, step));
  const int32_t sum = tn_low_2(&l, "Add", scaled, at_const(&l, TN_I64, start));
  return tn_low_done(&l, at_cast(&l, sum, TN_I64, dtype));
}

/* From both ends, each to the middle. */
/* The base to the powers of linspace(). */
tn_status aten_logspace(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const at_scalar start = at_number(&l, "start"), end = at_number(&l, "end");
  const uint32_t dtype = at_dtype(&l, "dtype", TN_F32);
  const double base = tn_low_float(&l, "base", 10);
  if (at_category(dtype) != AT_FLOAT) return tn_low_unsupported(&l, "other than floats");
  const tn_attr attrs[] = {tn_attr_float("start", start.f), tn_attr_float("end", end.f),
                           tn_attr_int("steps", tn_low_int(&l, "steps", 100)),
                           tn_attr_int("dtype", TN_F64)};
  const int32_t powers = tn_low_emit(&l, "aten::linspace", NULL, 0, attrs, 4);
  const int32_t y = tn_low_2(&l, "Pow", tn_low_number(&l, TN_F64, base), powers);
  return tn_low_done(&l, at_cast(&l, y, TN_F64, dtype));
}

tn_status aten_linspace(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const at_scalar start = at_number(&l, "start"), end = at_number(&l, "end");
  const int64_t n = tn_low_int(&l, "steps", 100);
  const uint32_t dtype = at_dtype(&l, "dtype", TN_F32);
  if (n < 0 || n > (INT64_C(1) << 31)) return at_fail(&l, TN_ERR_INVALID, "so many steps");
  const uint32_t wide = at_category(dtype) == AT_FLOAT && dtype != TN_F64 ? TN_F32 : TN_F64;
  const double step = n > 1 ? (end.f - start.f) / (double)(n - 1) : 0;
  const int32_t k = at_cast(&l, at_iota(&l, n), TN_I64, wide);
  const int32_t width = tn_low_number(&l, wide, step);
  const int32_t up =
      tn_low_2(&l, "Add", tn_low_number(&l, wide, start.f), tn_low_2(&l, "Mul", k, width));
  const int32_t back = tn_low_2(&l, "Sub", tn_low_number(&l, wide, (double)(n - 1)), k);
  const int32_t down =
      tn_low_2(&l, "Sub", tn_low_number(&l, wide, end.f), tn_low_2(&l, "Mul", back, width));
  const int32_t first = tn_low_2(&l, "Less", k, tn_low_number(&l, wide, (double)(n / 2)));
  const int32_t y = n > 1 ? at_where(&l, first, up, down) : up;
  return tn_low_done(&l, at_cast(&l, y, wide, dtype));
}

tn_status aten_eye(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int64_t n = tn_low_int(&l, "n", 0), m = tn_low_int(&l, "m", n);
  const uint32_t dtype = at_dtype(&l, "dtype", TN_F32);
  const int64_t column[] = {n, 1}, row[] = {1, m};
  if (n < 0 || m < 0) return at_fail(&l, TN_ERR_SHAPE, "a dim is negative");
  const int32_t y = tn_low_2(&l, "Equal", tn_low_reshape(&l, at_iota(&l, n), 2, column),
                             tn_low_reshape(&l, at_iota(&l, m), 2, row));
  return tn_low_done(&l, at_cast(&l, y, TN_BOOL, dtype));
}

/* Windows of cosines, with a period of n, or of n - 1 points. */
tn_status aten_window(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int64_t n = tn_low_int(&l, "window_length", 0);
  const uint32_t dtype = at_dtype(&l, "dtype", TN_F32);
  const char *op = at_is(&l, "hann_window")      ? "HannWindow"
                   : at_is(&l, "hamming_window") ? "HammingWindow"
                                                 : "BlackmanWindow";
  const tn_attr attrs[] = {tn_attr_int("periodic", tn_low_int(&l, "periodic", 1)),
                           tn_attr_int("output_datatype", tn_onnx_of_dtype(TN_F32))};
  const int32_t size = at_int_const(&l, TN_I64, n);
  if (n < 2) return at_fail(&l, TN_ERR_INVALID, "a window of fewer than two points");
  if (!strcmp(op, "HammingWindow")) return tn_low_unsupported(&l, "Hamming's window");
  return tn_low_done(&l, at_cast(&l, tn_low_emit(&l, op, &size, 1, attrs, 2), TN_F32, dtype));
}

/* What is above or below a diagonal becomes 0. */
tn_status aten_triangle(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t in[] = {tn_low_in(&l, 0), at_int_const(&l, TN_I64, tn_low_int(&l, "diagonal", 0))};
  const tn_attr upper = tn_attr_int("upper", at_is(&l, "triu"));
  return tn_low_done(&l, tn_low_emit(&l, "Trilu", in, 2, &upper, 1));
}

/* Random numbers cannot be PyTorch's: the generators differ. */
tn_status aten_random(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *self = tn_low_type(&l, 0);
  int64_t shape[TN_MAX_RANK], rank = self && !at_has(&l, "size") ? self->rank : 0;
  if (rank) memcpy(shape, self->shape, sizeof shape);
  if (at_has(&l, "size")) rank = shape_of(&l, "size", shape);
  if (rank < 0) return (tn_status)rank;
  const uint32_t dtype = at_dtype(&l, "dtype", self ? self->dtype : TN_F32);
  const bool normal =
      at_is(&l, "randn") || at_is(&l, "randn_like") || at_is(&l, "normal_functional");
  const tn_attr attrs[] = {tn_attr_ints("shape", (tn_ints){shape, rank}),
                           tn_attr_int("dtype", tn_onnx_of_dtype(TN_F32))};
  const int32_t y = tn_low_emit(&l, normal ? "RandomNormal" : "RandomUniform", NULL, 0, attrs, 2);
  return tn_low_done(&l, at_cast(&l, y, TN_F32, dtype));
}

/* ---- casts ---- */

tn_status aten_to(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t from = tn_low_type(&l, 0)->dtype;
  const tn_tensor *like = tn_low_type(&l, 1);
  const uint32_t to = at_dtype(&l, "dtype", like ? like->dtype : from);
  return tn_low_done(&l,
                     from == to ? tn_low_1(&l, "Identity", tn_low_in(&l, 0)) : at_in(&l, 0, to));
}

/* src in self's shape and type. */
tn_status aten_copy(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  return tn_low_done(&l, at_expand(&l, at_in(&l, 1, x->dtype), x->rank, x->shape));
}

/* ---- sizes ---- */

tn_status aten_size(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  if (at_is(&l, "numel") || at_is(&l, "sym_numel"))
    return tn_low_done(&l, at_int_const(&l, TN_I64, tn_elements(x)));
  if (at_is(&l, "dim")) return tn_low_done(&l, at_int_const(&l, TN_I64, x->rank));
  int64_t strides[TN_MAX_RANK], stride = 1;
  for (int32_t k = x->rank - 1; k >= 0; k--) {
    strides[k] = stride;
    stride *= tn_max_i64(x->shape[k], 1); /* dims of 0 count as 1 in PyTorch */
  }
  const int64_t *numbers = at_is(&l, "stride") || at_is(&l, "sym_stride") ? strides : x->shape;
  if (!at_has(&l, "dim")) return tn_low_done(&l, tn_low_ints_const(&l, numbers, x->rank));
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", 0), x->rank);
  if (dim < 0) return dim;
  if (!x->rank) return at_fail(&l, TN_ERR_SHAPE, "a scalar has no dims");
  return tn_low_done(&l, at_int_const(&l, TN_I64, numbers[dim]));
}

/* The one element as i64, f64 or bool, as Python sees it. */
tn_status aten_item(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  if (tn_elements(x) != 1) return at_fail(&l, TN_ERR_SHAPE, "it has not one element");
  const int kind = at_category(x->dtype);
  const uint32_t to = kind == AT_FLOAT ? TN_F64 : kind == AT_INT ? TN_I64 : TN_BOOL;
  return tn_low_done(&l, tn_low_reshape(&l, at_in(&l, 0, to), 0, NULL));
}
