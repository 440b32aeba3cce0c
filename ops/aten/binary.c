/* Element-wise operators of two tensors, or of a tensor and a number, with PyTorch's promotion. */
#include "aten.h"
#include "aten_pointwise.gen.h"
#include "complex.h"

/* The two sides in one type. `other`: the name of the Scalar, where it is none of the inputs. */
typedef struct sides {
  int32_t a, b;
  uint32_t dtype;
} sides;

static sides open_as(const tn_lowering *l, uint32_t dtype) {
  const bool self_is_number = at_has(l, "self");
  const at_scalar s = at_number(l, self_is_number ? "self" : "other");
  if (self_is_number) return (sides){at_const(l, dtype, s), at_in(l, 0, dtype), dtype};
  if (s.is_there) return (sides){at_in(l, 0, dtype), at_const(l, dtype, s), dtype};
  return (sides){at_in(l, 0, dtype), at_in(l, 1, dtype), dtype};
}

static uint32_t common(const tn_lowering *l) {
  return at_promote_inputs(l, at_number(l, at_has(l, "self") ? "self" : "other"));
}

static sides open_sides(const tn_lowering *l) { return open_as(l, common(l)); }

/* ---- sums and products ---- */

/* alpha * x; integers are multiplied by integers alone. */
static int32_t times_alpha(const tn_lowering *l, int32_t x, uint32_t dtype) {
  const at_scalar alpha = at_number(l, "alpha");
  if (!alpha.is_there || alpha.f == 1) return x;
  if (at_category(dtype) == AT_BOOL) return tn_low_2(l, "And", x, at_const(l, dtype, alpha));
  if (!alpha.is_int && at_category(dtype) < AT_FLOAT)
    return at_fail(l, TN_ERR_INVALID, "alpha must be an integer where the tensors are");
  return tn_low_2(l, "Mul", x, at_const(l, dtype, alpha));
}

tn_status aten_add(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = common(&l);
  const bool relu = at_is(&l, "_add_relu"),
             sub = !relu && !at_is(&l, "add") && !at_is(&l, "__radd__");
  if (at_category(dtype) == AT_COMPLEX) return at_complex_binary(&l, dtype, sub ? "Sub" : "Add");
  const sides s = open_as(&l, dtype);
  const bool is_bool = s.dtype == TN_BOOL;
  if (is_bool && sub)
    return at_fail(&l, TN_ERR_INVALID, "bools cannot be subtracted: use logical_xor");
  if (at_is(&l, "rsub"))
    return tn_low_done(&l, tn_low_2(&l, "Sub", s.b, times_alpha(&l, s.a, s.dtype)));
  const int32_t b = times_alpha(&l, s.b, s.dtype);
  const int32_t y = tn_low_2(&l, is_bool ? "Or" : sub ? "Sub" : "Add", s.a, b);
  return tn_low_done(&l, relu ? tn_low_1(&l, "Relu", y) : y);
}

tn_status aten_mul(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = common(&l);
  if (at_category(dtype) == AT_COMPLEX) return at_complex_binary(&l, dtype, "Mul");
  const sides s = open_as(&l, dtype);
  return tn_low_done(&l, tn_low_2(&l, s.dtype == TN_BOOL ? "And" : "Mul", s.a, s.b));
}

/* ---- quotients ---- */

/* Remainder with the sign of b. ONNX's Mod of integers has that; of floats it has that of a. */
static int32_t python_mod(const tn_lowering *l, const sides *s) {
  const int32_t in[] = {s->a, s->b};
  const tn_attr fmod = tn_attr_int("fmod", 1);
  if (at_category(s->dtype) < AT_FLOAT) return tn_low_2(l, "Mod", s->a, s->b);
  const int32_t zero = at_int_const(l, s->dtype, 0), m = tn_low_emit(l, "Mod", in, 2, &fmod, 1);
  const int32_t signs =
      tn_low_2(l, "Xor", tn_low_2(l, "Less", m, zero), tn_low_2(l, "Less", s->b, zero));
  const int32_t off = tn_low_2(l, "And", signs, at_not(l, tn_low_2(l, "Equal", m, zero)));
  return at_where(l, off, tn_low_2(l, "Add", m, s->b), m);
}

/* Integers: the quotient that is cut, less one where signs differ and something is left. */
static int32_t floor_quotient(const tn_lowering *l, const sides *s) {
  const int32_t q = tn_low_2(l, "Div", s->a, s->b);
  if (at_category(s->dtype) == AT_FLOAT) {
    /* (a - mod(a, b)) / b, rounded: the quotient itself may round up to a whole number */
    const int32_t whole = tn_low_2(l, "Div", tn_low_2(l, "Sub", s->a, python_mod(l, s)), s->b);
    const int32_t round = tn_low_1(l, "Round", whole);
    const int32_t none = tn_low_2(l, "Equal", s->b, at_int_const(l, s->dtype, 0));
    return at_where(l, none, q, round);
  }
  if (!tn_dtype(s->dtype)->is_signed) return q;
  const int32_t zero = at_int_const(l, s->dtype, 0), one = at_int_const(l, s->dtype, 1);
  const int32_t left = at_not(l, tn_low_2(l, "Equal", tn_low_2(l, "Mul", q, s->b), s->a));
  const int32_t signs =
      tn_low_2(l, "Xor", tn_low_2(l, "Less", s->a, zero), tn_low_2(l, "Less", s->b, zero));
  return at_where(l, tn_low_2(l, "And", left, signs), tn_low_2(l, "Sub", q, one), q);
}

static int32_t cut_quotient(const tn_lowering *l, const sides *s) {
  const int32_t q = tn_low_2(l, "Div", s->a, s->b);
  return at_category(s->dtype) == AT_FLOAT ? at_cut(l, q, s->dtype) : q;
}

tn_status aten_div(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = common(&l);
  if (at_category(dtype) == AT_COMPLEX) return at_complex_binary(&l, dtype, "Div");
  const bool cuts = at_says(&l, "rounding_mode", "trunc"),
             floors = at_says(&l, "rounding_mode", "floor") || at_is(&l, "floor_divide");
  sides s = open_as(&l, cuts || floors ? dtype : at_float_of(dtype));
  if (s.dtype == TN_BOOL) return tn_low_unsupported(&l, "rounded quotients of bools");
  if (cuts) return tn_low_done(&l, cut_quotient(&l, &s));
  if (floors) return tn_low_done(&l, floor_quotient(&l, &s));
  return tn_low_done(&l, tn_low_2(&l, "Div", s.a, s.b));
}

tn_status aten_remainder(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const sides s = open_sides(&l);
  if (s.dtype == TN_BOOL) return tn_low_unsupported(&l, "remainders of bools");
  if (!at_is(&l, "fmod")) return tn_low_done(&l, python_mod(&l, &s));
  const int32_t in[] = {s.a, s.b};
  const tn_attr fmod = tn_attr_int("fmod", 1);
  return tn_low_done(&l, tn_low_emit(&l, "Mod", in, 2, &fmod, 1));
}

/* ---- powers ---- */

/* ONNX has no powers of narrow integers. */
static tn_status done_power(const tn_lowering *l, sides s) {
  const bool narrow = at_category(s.dtype) < AT_FLOAT && s.dtype != TN_I32 && s.dtype != TN_I64;
  const uint32_t dtype = narrow ? TN_I64 : s.dtype;
  const int32_t a = at_cast(l, s.a, s.dtype, dtype), b = at_cast(l, s.b, s.dtype, dtype);
  return tn_low_done(l, at_cast(l, tn_low_2(l, "Pow", a, b), dtype, s.dtype));
}

tn_status aten_pow(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const at_scalar self = at_number(&l, "self"), e = at_number(&l, "exponent");
  const uint32_t dtype = at_promote_inputs(&l, self.is_there ? self : e);
  if (self.is_there)
    return done_power(&l, (sides){at_const(&l, dtype, self), at_in(&l, 0, dtype), dtype});
  if (!e.is_there) return done_power(&l, (sides){at_in(&l, 0, dtype), at_in(&l, 1, dtype), dtype});
  if (e.is_int && e.i < 0 && at_category(dtype) < AT_FLOAT)
    return at_fail(&l, TN_ERR_INVALID, "integers to negative integer powers are not allowed");
  const int32_t x = at_in(&l, 0, dtype);
  if (e.f == 2 && dtype != TN_BOOL) return tn_low_done(&l, tn_low_2(&l, "Mul", x, x));
  if (e.f == 0.5) return tn_low_done(&l, tn_low_1(&l, "Sqrt", x));
  return done_power(&l, (sides){x, at_const(&l, dtype, e), dtype});
}

tn_status aten_float_power(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const at_scalar self = at_number(&l, "self"), e = at_number(&l, "exponent");
  return done_power(
      &l, (sides){self.is_there ? at_const(&l, TN_F64, self) : at_in(&l, 0, TN_F64),
                  e.is_there ? at_const(&l, TN_F64, e) : at_in(&l, self.is_there ? 0 : 1, TN_F64),
                  TN_F64});
}

/* ---- comparisons ---- */

static const at_row comparisons[] = {{"eq", "Equal"},
                                     {"ne", "Equal"},
                                     {"ge", "GreaterOrEqual"},
                                     {"gt", "Greater"},
                                     {"le", "LessOrEqual"},
                                     {"lt", "Less"},
                                     {"not_equal", "Equal"},
                                     {"greater", "Greater"},
                                     {"greater_equal", "GreaterOrEqual"},
                                     {"less", "Less"},
                                     {"less_equal", "LessOrEqual"},
                                     {NULL, NULL}};

tn_status aten_compare(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const char *op = at_find(&l, comparisons);
  if (!op) return TN_ERR_INTERNAL;
  uint32_t dtype = common(&l);
  const bool equal = !strcmp(op, "Equal");
  if (!equal && dtype == TN_BOOL) dtype = TN_U8;
  const sides s = open_as(&l, dtype);
  const int32_t y = tn_low_2(&l, op, s.a, s.b);
  return tn_low_done(&l, at_is(&l, "ne") || at_is(&l, "not_equal") ? at_not(&l, y) : y);
}

/* ---- minimum and maximum: NaN wins ---- */

tn_status aten_extremum(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const sides s = open_sides(&l);
  const bool most = at_is(&l, "maximum") || at_is(&l, "max");
  if (s.dtype == TN_BOOL) return tn_low_done(&l, tn_low_2(&l, most ? "Or" : "And", s.a, s.b));
  return tn_low_done(&l, tn_low_2(&l, most ? "Max" : "Min", s.a, s.b));
}

/* The number wins over NaN. */
tn_status aten_fextremum(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const sides s = open_sides(&l);
  const char *op = at_is(&l, "fmax") ? "Max" : "Min";
  if (s.dtype == TN_BOOL)
    return tn_low_done(&l, tn_low_2(&l, !strcmp(op, "Max") ? "Or" : "And", s.a, s.b));
  const int32_t y = tn_low_2(&l, op, s.a, s.b);
  if (at_category(s.dtype) < AT_FLOAT) return tn_low_done(&l, y);
  const int32_t b = at_where(&l, tn_low_1(&l, "IsNaN", s.b), s.a, y);
  return tn_low_done(&l, at_where(&l, tn_low_1(&l, "IsNaN", s.a), s.b, b));
}

/* ---- logic and bits ---- */

tn_status aten_logical(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const sides s = open_as(&l, TN_BOOL);
  const char *op = at_is(&l, "logical_and") ? "And" : at_is(&l, "logical_or") ? "Or" : "Xor";
  return tn_low_done(&l, tn_low_2(&l, op, s.a, s.b));
}

static const at_row bits[] = {{"bitwise_and", "BitwiseAnd"},
                              {"bitwise_or", "BitwiseOr"},
                              {"bitwise_xor", "BitwiseXor"},
                              {"__and__", "BitwiseAnd"},
                              {"__or__", "BitwiseOr"},
                              {"__xor__", "BitwiseXor"},
                              {NULL, NULL}};

tn_status aten_bitwise(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const char *op = at_find(&l, bits);
  const sides s = open_sides(&l);
  if (!op) return TN_ERR_INTERNAL;
  if (at_category(s.dtype) > AT_INT) return tn_low_unsupported(&l, "bits of floats");
  return tn_low_done(&l, tn_low_2(&l, s.dtype == TN_BOOL ? op + strlen("Bitwise") : op, s.a, s.b));
}

/* Shifts of signed integers are products and quotients that are floored. */
tn_status aten_shift(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const sides s = open_sides(&l);
  const bool left = at_is(&l, "bitwise_left_shift") || at_is(&l, "__lshift__");
  if (at_category(s.dtype) != AT_INT)
    return tn_low_unsupported(&l, "shifts of other than integers");
  const int32_t power = tn_low_2(&l, "Pow", at_int_const(&l, s.dtype, 2), s.b);
  if (left) return tn_low_done(&l, tn_low_2(&l, "Mul", s.a, power));
  const sides q = {s.a, power, s.dtype};
  return tn_low_done(&l, floor_quotient(&l, &q));
}

/* ---- the rest ---- */

tn_status aten_atan2(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const sides s = open_as(&l, at_float_of(common(&l)));
  const double pi = 3.14159265358979323846;
  const int32_t zero = tn_low_number(&l, s.dtype, 0), up = tn_low_number(&l, s.dtype, pi);
  const int32_t minus_zero = tn_low_number(&l, s.dtype, -0.0);
  const int32_t a = tn_low_1(&l, "Atan", tn_low_2(&l, "Div", s.a, s.b));
  const int32_t below = tn_low_2(&l, "Less", s.a, zero);
  const int32_t turn = at_where(&l, below, tn_low_1(&l, "Neg", up), up);
  const int32_t left = tn_low_2(&l, "Less", s.b, zero);
  const int32_t none =
      tn_low_2(&l, "And", tn_low_2(&l, "Equal", s.a, zero), tn_low_2(&l, "Equal", s.b, minus_zero));
  const int32_t y = at_where(&l, left, tn_low_2(&l, "Add", a, turn), a);
  return tn_low_done(&l, at_where(&l, none, zero, y));
}

/* x * log(y), 0 where x is 0; NaN where y is. */
tn_status aten_xlogy(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const sides s = open_as(&l, at_float_of(common(&l)));
  const int32_t zero = tn_low_number(&l, s.dtype, 0);
  const int32_t none =
      tn_low_2(&l, "And", tn_low_2(&l, "Equal", s.a, zero), at_not(&l, tn_low_1(&l, "IsNaN", s.b)));
  const int32_t y = tn_low_2(&l, "Mul", s.a, tn_low_1(&l, "Log", s.b));
  return tn_low_done(&l, at_where(&l, none, zero, y));
}

/* The larger side times the square root of 1 + the square of their quotient: nothing overflows. */
tn_status aten_hypot(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const sides s = open_sides(&l);
  if (at_category(s.dtype) != AT_FLOAT) return tn_low_unsupported(&l, "other than floats");
  const int32_t a = tn_low_1(&l, "Abs", s.a), b = tn_low_1(&l, "Abs", s.b);
  const int32_t most = tn_low_2(&l, "Max", a, b), least = tn_low_2(&l, "Min", a, b);
  const int32_t q = tn_low_2(&l, "Div", least, most), one = tn_low_number(&l, s.dtype, 1);
  const int32_t root = tn_low_1(&l, "Sqrt", tn_low_2(&l, "Add", one, tn_low_2(&l, "Mul", q, q)));
  const int32_t zero = tn_low_2(&l, "Equal", most, tn_low_number(&l, s.dtype, 0));
  const int32_t y = at_where(&l, zero, most, tn_low_2(&l, "Mul", most, root));
  const int32_t infinite = tn_low_2(&l, "Or", tn_low_1(&l, "IsInf", a), tn_low_1(&l, "IsInf", b));
  return tn_low_done(&l, at_where(&l, infinite, tn_low_number(&l, s.dtype, INFINITY), y));
}

/* Below zero, or the zero that has a sign; a sign of NaN is not seen. */
static int32_t has_sign(const tn_lowering *l, int32_t x, uint32_t dtype) {
  const int32_t zero = at_int_const(l, dtype, 0), below = tn_low_2(l, "Less", x, zero);
  if (at_category(dtype) != AT_FLOAT) return below;
  const int32_t turned = tn_low_2(l, "Less", tn_low_1(l, "Reciprocal", x), zero);
  return tn_low_2(l, "Or", below, turned);
}

tn_status aten_copysign(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const sides s = open_as(&l, at_float_of(common(&l)));
  const int32_t a = tn_low_1(&l, "Abs", s.a);
  return tn_low_done(&l, at_where(&l, has_sign(&l, s.b, s.dtype), tn_low_1(&l, "Neg", a), a));
}

tn_status aten_signbit(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = tn_low_type(&l, 0)->dtype;
  if (dtype == TN_BOOL) return tn_low_unsupported(&l, "bools");
  return tn_low_done(&l, has_sign(&l, tn_low_in(&l, 0), dtype));
}

/* log(exp(a) + exp(b)), of equal infinities the same. */
tn_status aten_logaddexp(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const sides s = open_sides(&l);
  if (at_category(s.dtype) != AT_FLOAT) return tn_low_unsupported(&l, "other than floats");
  const bool two = at_is(&l, "logaddexp2");
  const int32_t log2 = tn_low_number(&l, s.dtype, two ? 0.69314718055994530942 : 1);
  const int32_t off = tn_low_1(&l, "Abs", tn_low_2(&l, "Sub", s.a, s.b));
  const int32_t far = tn_low_1(&l, "Neg", tn_low_2(&l, "Mul", off, log2));
  const int32_t same = tn_low_2(&l, "Equal", s.a, s.b);
  const int32_t more =
      tn_low_1(&l, "Softplus", at_where(&l, same, tn_low_number(&l, s.dtype, 0), far));
  const int32_t most = tn_low_2(&l, "Max", s.a, s.b);
  return tn_low_done(&l, tn_low_2(&l, "Add", most, tn_low_2(&l, "Div", more, log2)));
}

/* 0 below zero, 1 above it, the values at zero. */
tn_status aten_heaviside(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  if (x->dtype != tn_low_type(&l, 1)->dtype || x->dtype == TN_BOOL)
    return tn_low_unsupported(&l, "values of another type, and bools");
  const int32_t zero = at_int_const(&l, x->dtype, 0), one = at_int_const(&l, x->dtype, 1);
  const int32_t in = tn_low_in(&l, 0), above = tn_low_2(&l, "Greater", in, zero);
  const int32_t at = tn_low_2(&l, "Equal", in, zero);
  return tn_low_done(&l, at_where(&l, at, tn_low_in(&l, 1), at_where(&l, above, one, zero)));
}

/* self + value * tensor1 op tensor2 */
tn_status aten_addc(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const bool div = at_is(&l, "addcdiv");
  const uint32_t dtype = at_promote_inputs(&l, (at_scalar){.f = 0});
  const at_scalar value = at_number(&l, "value");
  if (div && at_category(dtype) < AT_FLOAT)
    return at_fail(&l, TN_ERR_INVALID, "addcdiv does not take integers");
  int32_t y = tn_low_2(&l, div ? "Div" : "Mul", at_in(&l, 1, dtype), at_in(&l, 2, dtype));
  if (value.is_there && value.f != 1) y = tn_low_2(&l, "Mul", y, at_const(&l, dtype, value));
  return tn_low_done(&l, tn_low_2(&l, "Add", at_in(&l, 0, dtype), y));
}

/* start + weight * (end - start), from the end that is nearer. */
tn_status aten_lerp(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = tn_low_type(&l, 0)->dtype;
  const at_scalar w = at_number(&l, "weight");
  const int32_t a = tn_low_in(&l, 0), b = tn_low_in(&l, 1), span = tn_low_2(&l, "Sub", b, a);
  const int32_t weight = w.is_there ? at_const(&l, dtype, w) : at_in(&l, 2, dtype);
  const int32_t rest = tn_low_2(&l, "Sub", weight, tn_low_number(&l, dtype, 1));
  const int32_t near = tn_low_2(&l, "Add", a, tn_low_2(&l, "Mul", weight, span)),
                far = tn_low_2(&l, "Add", b, tn_low_2(&l, "Mul", rest, span));
  const int32_t small =
      tn_low_2(&l, "Less", tn_low_1(&l, "Abs", weight), tn_low_number(&l, dtype, 0.5));
  return tn_low_done(&l, at_where(&l, small, near, far));
}

/* ---- clamp and where ---- */

static at_scalar both(at_scalar a, at_scalar b) {
  if (!a.is_there) return b;
  return b.is_there && !b.is_int ? b : a;
}

/* Bounds that no integer of this type reaches; as bytes they would be other numbers. */
static at_scalar reached(uint32_t dtype, at_scalar bound, bool below) {
  const tn_dtype_info *d = tn_dtype(dtype);
  if (at_category(dtype) != AT_INT || !bound.is_int || d->bits == 64) return bound;
  const int64_t most = (INT64_C(1) << (d->bits - d->is_signed)) - 1,
                least = d->is_signed ? -most - 1 : 0;
  if (below ? bound.i < least : bound.i > most) bound.is_there = false;
  return bound;
}

tn_status aten_clamp(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  at_scalar lo = at_number(&l, "min"), hi = at_number(&l, "max");
  const uint32_t dtype = at_promote_inputs(&l, both(lo, hi));
  lo = reached(dtype, lo, true);
  hi = reached(dtype, hi, false);
  int32_t x = at_in(&l, 0, dtype), low = TN_NO_ID, high = TN_NO_ID;
  const bool min_first = !at_is(&l, "clamp_max");
  if (lo.is_there) low = at_const(&l, dtype, lo);
  if (hi.is_there) high = at_const(&l, dtype, hi);
  if (tn_low_in(&l, 1) >= 0) *(min_first ? &low : &high) = at_in(&l, 1, dtype);
  if (tn_low_in(&l, 2) >= 0) high = at_in(&l, 2, dtype);
  if (lo.is_there && hi.is_there && at_category(dtype) == AT_FLOAT)
    return tn_low_done(&l, tn_low_3(&l, "Clip", x, low, high));
  if (low != TN_NO_ID) x = tn_low_2(&l, "Max", x, low);
  if (high != TN_NO_ID) x = tn_low_2(&l, "Min", x, high);
  return tn_low_done(&l, tn_low_1(&l, "Identity", x));
}

tn_status aten_where(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const at_scalar s[] = {at_number(&l, "self"), at_number(&l, "other")};
  const tn_tensor *const *tensors = l.call->inputs + 1;
  const uint32_t dtype = aten_promote(tensors, l.call->n_inputs - 1, s, 2);
  uint32_t k = 1;
  const int32_t yes = s[0].is_there ? at_const(&l, dtype, s[0]) : at_in(&l, k++, dtype);
  const int32_t no = s[1].is_there ? at_const(&l, dtype, s[1]) : at_in(&l, k, dtype);
  return tn_low_done(&l, at_where(&l, at_in(&l, 0, TN_BOOL), yes, no));
}

/* The value, where the mask says so, in self's type. */
tn_status aten_masked_fill(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = tn_low_type(&l, 0)->dtype;
  const at_scalar s = at_number(&l, "value");
  const int32_t value = s.is_there ? at_const(&l, dtype, s) : at_in(&l, 2, dtype);
  return tn_low_done(&l, at_where(&l, at_in(&l, 1, TN_BOOL), value, tn_low_in(&l, 0)));
}

tn_status aten_isclose(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const sides s = open_as(&l, at_float_of(common(&l)));
  const int32_t rtol = tn_low_number(&l, s.dtype, tn_low_float(&l, "rtol", 1e-5)),
                atol = tn_low_number(&l, s.dtype, tn_low_float(&l, "atol", 1e-8));
  const int32_t gap = tn_low_1(&l, "Abs", tn_low_2(&l, "Sub", s.a, s.b));
  const int32_t room =
      tn_low_2(&l, "Add", atol, tn_low_2(&l, "Mul", rtol, tn_low_1(&l, "Abs", s.b)));
  const int32_t finite = at_not(&l, tn_low_1(&l, "IsInf", gap));
  int32_t y = tn_low_2(&l, "And", finite, tn_low_2(&l, "LessOrEqual", gap, room));
  y = tn_low_2(&l, "Or", y, tn_low_2(&l, "Equal", s.a, s.b));
  if (tn_low_int(&l, "equal_nan", 0))
    y = tn_low_2(&l, "Or", y,
                 tn_low_2(&l, "And", tn_low_1(&l, "IsNaN", s.a), tn_low_1(&l, "IsNaN", s.b)));
  return tn_low_done(&l, y);
}
