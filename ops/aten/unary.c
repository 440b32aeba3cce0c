/* Element-wise operators of one tensor. */
#include "aten.h"
#include "aten_pointwise.gen.h"
#include "complex.h"

/* Floats stay floats; integers and bools become f32 first. */
static const at_row of_floats[] = {{"acos", "Acos"},
                                   {"acosh", "Acosh"},
                                   {"asin", "Asin"},
                                   {"asinh", "Asinh"},
                                   {"atan", "Atan"},
                                   {"atanh", "Atanh"},
                                   {"cos", "Cos"},
                                   {"cosh", "Cosh"},
                                   {"elu_positive", "Elu"},
                                   {"erf", "Erf"},
                                   {"exp", "Exp"},
                                   {"log", "Log"},
                                   {"reciprocal", "Reciprocal"},
                                   {"sigmoid", "Sigmoid"},
                                   {"sin", "Sin"},
                                   {"sinh", "Sinh"},
                                   {"sqrt", "Sqrt"},
                                   {"tan", "Tan"},
                                   {"tanh", "Tanh"},
                                   {"arccos", "Acos"},
                                   {"arccosh", "Acosh"},
                                   {"arcsin", "Asin"},
                                   {"arcsinh", "Asinh"},
                                   {"arctan", "Atan"},
                                   {"arctanh", "Atanh"},
                                   {"special_erf", "Erf"},
                                   {"special_expit", "Sigmoid"},
                                   {NULL, NULL}};

tn_status aten_unary_float(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const char *op = at_find(&l, of_floats);
  if (!op) return TN_ERR_INTERNAL;
  if (at_category(tn_low_type(&l, 0)->dtype) == AT_COMPLEX) return at_complex_unary(&l, op);
  return tn_low_done(&l, tn_low_1(&l, op, at_in(&l, 0, at_float_of(tn_low_type(&l, 0)->dtype))));
}

/* Floats and integers stay what they are, and bools too where that has a meaning. */
static const at_row of_numbers[] = {
    {"abs", "Abs"},           {"neg", "Neg"},  {"_neg_view", "Neg"}, {"negative", "Neg"},
    {"sign", "Sign"},         {"sgn", "Sign"}, {"relu", "Relu"},     {"absolute", "Abs"},
    {"positive", "Identity"}, {NULL, NULL}};

tn_status aten_unary(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const char *op = at_find(&l, of_numbers);
  const uint32_t dtype = tn_low_type(&l, 0)->dtype;
  if (!op) return TN_ERR_INTERNAL;
  if (at_category(dtype) == AT_COMPLEX) return at_complex_unary(&l, op);
  if (dtype == TN_BOOL && strcmp(op, "Neg") != 0 && strcmp(op, "Relu") != 0)
    return at_done_input(&l);
  if (dtype == TN_BOOL) return tn_low_unsupported(&l, "bools");
  if (!strcmp(op, "Relu") && at_category(dtype) == AT_INT)
    return tn_low_done(&l, tn_low_2(&l, "Max", tn_low_in(&l, 0), at_int_const(&l, dtype, 0)));
  if (!strcmp(op, "Sign") && dtype == TN_U8) /* 0 or 1 */
    return tn_low_done(&l, tn_low_2(&l, "Min", tn_low_in(&l, 0), at_int_const(&l, dtype, 1)));
  int32_t y = tn_low_1(&l, op, tn_low_in(&l, 0));
  if (!strcmp(op, "Sign") && at_category(dtype) == AT_FLOAT) /* of NaN it is 0 */
    y = at_where(&l, tn_low_1(&l, "IsNaN", tn_low_in(&l, 0)), at_int_const(&l, dtype, 0), y);
  return tn_low_done(&l, y);
}

/* ---- rounding: integers are whole already ---- */

static const at_row of_rounding[] = {
    {"ceil", "Ceil"}, {"floor", "Floor"}, {"round", "Round"}, {NULL, NULL}};

tn_status aten_round(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const char *op = at_find(&l, of_rounding);
  const uint32_t dtype = tn_low_type(&l, 0)->dtype;
  const int64_t decimals = tn_low_int(&l, "decimals", 0);
  int32_t x = tn_low_in(&l, 0);
  if (at_category(dtype) < AT_FLOAT) return at_done_input(&l);
  if (!op) { /* trunc, fix, frac */
    const int32_t whole = at_cut(&l, x, dtype);
    return tn_low_done(&l, at_is(&l, "frac") ? tn_low_2(&l, "Sub", x, whole) : whole);
  }
  if (!decimals) return tn_low_done(&l, tn_low_1(&l, op, x));
  double ten = 1;
  for (int64_t k = 0; k < 40 && (k < decimals || -k > decimals); k++) ten *= 10;
  const int32_t scale = tn_low_number(&l, dtype, ten);
  x = tn_low_1(&l, op, tn_low_2(&l, decimals < 0 ? "Div" : "Mul", x, scale));
  return tn_low_done(&l, tn_low_2(&l, decimals < 0 ? "Mul" : "Div", x, scale));
}

/* ---- to bools ---- */

tn_status aten_is(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 0);
  const int32_t x = tn_low_in(&l, 0);
  const bool finite = at_is(&l, "isfinite");
  if (at_category(t->dtype) < AT_FLOAT) {
    const int32_t same = tn_low_2(&l, "Equal", x, x);
    return tn_low_done(&l, finite ? same : at_not(&l, same));
  }
  if (at_is(&l, "isnan")) return tn_low_done(&l, tn_low_1(&l, "IsNaN", x));
  if (!finite) {
    const tn_attr attrs[] = {tn_attr_int("detect_positive", !at_is(&l, "isneginf")),
                             tn_attr_int("detect_negative", !at_is(&l, "isposinf"))};
    return tn_low_done(&l, tn_low_emit(&l, "IsInf", &x, 1, attrs, 2));
  }
  return tn_low_done(
      &l, at_not(&l, tn_low_2(&l, "Or", tn_low_1(&l, "IsNaN", x), tn_low_1(&l, "IsInf", x))));
}

tn_status aten_logical_not(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return tn_low_done(&l, at_not(&l, at_in(&l, 0, TN_BOOL)));
}

tn_status aten_bitwise_not(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const char *op = tn_low_type(&l, 0)->dtype == TN_BOOL ? "Not" : "BitwiseNot";
  return tn_low_done(&l, tn_low_1(&l, op, tn_low_in(&l, 0)));
}

/* ---- made of others ---- */

typedef int32_t (*made_fn)(const tn_lowering *, int32_t x, uint32_t dtype);

static int32_t made_rsqrt(const tn_lowering *l, int32_t x, uint32_t dtype) {
  (void)dtype;
  return tn_low_1(l, "Reciprocal", tn_low_1(l, "Sqrt", x));
}
static int32_t made_square(const tn_lowering *l, int32_t x, uint32_t dtype) {
  (void)dtype;
  return tn_low_2(l, "Mul", x, x);
}
static int32_t made_erfc(const tn_lowering *l, int32_t x, uint32_t dtype) {
  return tn_low_2(l, "Sub", tn_low_number(l, dtype, 1), tn_low_1(l, "Erf", x));
}
static int32_t made_exp2(const tn_lowering *l, int32_t x, uint32_t dtype) {
  return tn_low_2(l, "Pow", tn_low_number(l, dtype, 2), x);
}
static int32_t log_of(const tn_lowering *l, int32_t x, uint32_t dtype, double base) {
  return tn_low_2(l, "Mul", tn_low_1(l, "Log", x), tn_low_number(l, dtype, base));
}
static int32_t made_log2(const tn_lowering *l, int32_t x, uint32_t dtype) {
  return log_of(l, x, dtype, 1.4426950408889634074);
}
static int32_t made_log10(const tn_lowering *l, int32_t x, uint32_t dtype) {
  return log_of(l, x, dtype, 0.43429448190325182765);
}
/* log(1 + x) loses what of x is below a rounding of 1: with u = 1 + x, log(u) x / (u - 1) does
 * not. */
static int32_t made_log1p(const tn_lowering *l, int32_t x, uint32_t dtype) {
  const int32_t one = tn_low_number(l, dtype, 1), u = tn_low_2(l, "Add", x, one),
                back = tn_low_2(l, "Sub", u, one), log = tn_low_1(l, "Log", u);
  const int32_t near = tn_low_2(l, "Mul", log, tn_low_2(l, "Div", x, back));
  const int32_t same = tn_low_2(l, "Equal", back, tn_low_number(l, dtype, 0)),
                far = tn_low_2(l, "Greater", tn_low_1(l, "Abs", x), tn_low_number(l, dtype, 0.5));
  return at_where(l, same, x, at_where(l, far, log, near));
}
/* exp(x) - 1 = tanh(x/2) (exp(x) + 1), which loses nothing near 0. */
static int32_t made_expm1(const tn_lowering *l, int32_t x, uint32_t dtype) {
  const int32_t one = tn_low_number(l, dtype, 1), e = tn_low_1(l, "Exp", x);
  const int32_t half = tn_low_1(l, "Tanh", tn_low_2(l, "Mul", x, tn_low_number(l, dtype, 0.5)));
  const int32_t near = tn_low_2(l, "Mul", half, tn_low_2(l, "Add", e, one));
  const int32_t far = tn_low_2(l, "Greater", tn_low_1(l, "Abs", x), tn_low_number(l, dtype, 0.5));
  return at_where(l, far, tn_low_2(l, "Sub", e, one), near);
}
static int32_t made_deg2rad(const tn_lowering *l, int32_t x, uint32_t dtype) {
  return tn_low_2(l, "Mul", x, tn_low_number(l, dtype, 0.017453292519943295769));
}
static int32_t made_rad2deg(const tn_lowering *l, int32_t x, uint32_t dtype) {
  return tn_low_2(l, "Mul", x, tn_low_number(l, dtype, 57.295779513082320877));
}
static int32_t made_silu(const tn_lowering *l, int32_t x, uint32_t dtype) {
  (void)dtype;
  return tn_low_2(l, "Mul", x, tn_low_1(l, "Sigmoid", x));
}
static int32_t made_log_sigmoid(const tn_lowering *l, int32_t x, uint32_t dtype) {
  (void)dtype;
  return tn_low_1(l, "Neg", tn_low_1(l, "Softplus", tn_low_1(l, "Neg", x)));
}
static int32_t made_sinc(const tn_lowering *l, int32_t x, uint32_t dtype) {
  const int32_t turned = tn_low_2(l, "Mul", x, tn_low_number(l, dtype, 3.14159265358979323846));
  const int32_t zero = tn_low_2(l, "Equal", x, tn_low_number(l, dtype, 0));
  return at_where(l, zero, tn_low_number(l, dtype, 1),
                  tn_low_2(l, "Div", tn_low_1(l, "Sin", turned), turned));
}

/* c0 + c1 x + c2 x x + ... */
static int32_t polynomial(const tn_lowering *l, int32_t x, uint32_t dtype, const double *c, int n) {
  int32_t y = tn_low_number(l, dtype, c[n - 1]);
  for (int k = n - 2; k >= 0; k--)
    y = tn_low_2(l, "Add", tn_low_2(l, "Mul", y, x), tn_low_number(l, dtype, c[k]));
  return y;
}
/* One step of Newton's: x - (erf(x) - y) / (2 / sqrt(pi) exp(-x x)). */
static int32_t nearer_erfinv(const tn_lowering *l, int32_t x, int32_t y, uint32_t dtype) {
  const int32_t square = tn_low_2(l, "Mul", x, x), off = tn_low_1(l, "Erf", x);
  const int32_t slope = tn_low_2(l, "Mul", tn_low_1(l, "Exp", tn_low_1(l, "Neg", square)),
                                 tn_low_number(l, dtype, 1.12837916709551257390));
  return tn_low_2(l, "Sub", x, tn_low_2(l, "Div", tn_low_2(l, "Sub", off, y), slope));
}
/* Rational functions in the middle and at both ends, then two steps of Newton's. */
static int32_t made_erfinv(const tn_lowering *l, int32_t y, uint32_t dtype) {
  static const double a[] = {0.886226899, -1.645349621, 0.914624893, -0.140543331},
                      b[] = {1, -2.118377725, 1.442710462, -0.329097515, 0.012229801},
                      c[] = {-1.970840454, -1.624906493, 3.429567803, 1.641345311},
                      d[] = {1, 3.543889200, 1.637067800};
  const int32_t abs = tn_low_1(l, "Abs", y), one = tn_low_number(l, dtype, 1);
  const int32_t square = tn_low_2(l, "Mul", y, y);
  const int32_t middle = tn_low_2(
      l, "Mul", y,
      tn_low_2(l, "Div", polynomial(l, square, dtype, a, 4), polynomial(l, square, dtype, b, 5)));
  const int32_t rest =
      tn_low_2(l, "Mul", tn_low_2(l, "Sub", one, abs), tn_low_number(l, dtype, 0.5));
  const int32_t z = tn_low_1(l, "Sqrt", tn_low_1(l, "Neg", tn_low_1(l, "Log", rest)));
  const int32_t end =
      tn_low_2(l, "Mul", tn_low_1(l, "Sign", y),
               tn_low_2(l, "Div", polynomial(l, z, dtype, c, 4), polynomial(l, z, dtype, d, 3)));
  const int32_t near = tn_low_2(l, "LessOrEqual", abs, tn_low_number(l, dtype, 0.7));
  int32_t x = at_where(l, near, middle, end);
  for (int k = 0; k < 2; k++) x = nearer_erfinv(l, x, y, dtype);
  const int32_t whole = tn_low_2(l, "Equal", abs, one);
  return at_where(l, whole, tn_low_2(l, "Mul", y, tn_low_number(l, dtype, INFINITY)), x);
}
/* -x log(x), 0 at 0, -inf below. */
static int32_t made_entr(const tn_lowering *l, int32_t x, uint32_t dtype) {
  const int32_t zero = tn_low_number(l, dtype, 0);
  const int32_t y = tn_low_1(l, "Neg", tn_low_2(l, "Mul", x, tn_low_1(l, "Log", x)));
  const int32_t below = tn_low_2(l, "Less", x, zero), at = tn_low_2(l, "Equal", x, zero);
  return at_where(l, below, tn_low_number(l, dtype, -INFINITY), at_where(l, at, zero, y));
}
static int32_t made_ndtr(const tn_lowering *l, int32_t x, uint32_t dtype) {
  const int32_t e =
      tn_low_1(l, "Erf", tn_low_2(l, "Mul", x, tn_low_number(l, dtype, 0.70710678118654752440)));
  return tn_low_2(l, "Mul", tn_low_2(l, "Add", e, tn_low_number(l, dtype, 1)),
                  tn_low_number(l, dtype, 0.5));
}

static const struct made {
  const char *aten;
  made_fn fn;
  bool keeps_ints;
} all_made[] = {{"rsqrt", made_rsqrt, false},       {"square", made_square, true},
                {"erfc", made_erfc, false},         {"special_erfc", made_erfc, false},
                {"exp2", made_exp2, false},         {"special_exp2", made_exp2, false},
                {"log2", made_log2, false},         {"log10", made_log10, false},
                {"log1p", made_log1p, false},       {"special_log1p", made_log1p, false},
                {"expm1", made_expm1, false},       {"special_expm1", made_expm1, false},
                {"deg2rad", made_deg2rad, false},   {"rad2deg", made_rad2deg, false},
                {"silu", made_silu, false},         {"log_sigmoid", made_log_sigmoid, false},
                {"sinc", made_sinc, false},         {"special_sinc", made_sinc, false},
                {"erfinv", made_erfinv, false},     {"special_erfinv", made_erfinv, false},
                {"special_entr", made_entr, false}, {"special_ndtr", made_ndtr, false}};

tn_status aten_unary_made(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  for (size_t k = 0; k < sizeof all_made / sizeof *all_made; k++) {
    if (!at_is(&l, all_made[k].aten)) continue;
    uint32_t dtype = tn_low_type(&l, 0)->dtype;
    if (!all_made[k].keeps_ints || dtype == TN_BOOL) dtype = at_float_of(dtype);
    if (all_made[k].keeps_ints && tn_low_type(&l, 0)->dtype == TN_BOOL) dtype = TN_I64;
    return tn_low_done(&l, all_made[k].fn(&l, at_in(&l, 0, dtype), dtype));
  }
  return TN_ERR_INTERNAL;
}

tn_status aten_logit(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = at_float_of(tn_low_type(&l, 0)->dtype);
  const at_scalar eps = at_number(&l, "eps");
  int32_t x = at_in(&l, 0, dtype);
  if (eps.is_there)
    x = tn_low_2(&l, "Max", tn_low_2(&l, "Min", x, tn_low_number(&l, dtype, 1 - eps.f)),
                 tn_low_number(&l, dtype, eps.f));
  const int32_t odds = tn_low_2(&l, "Div", x, tn_low_2(&l, "Sub", tn_low_number(&l, dtype, 1), x));
  return tn_low_done(&l, tn_low_1(&l, "Log", odds));
}

tn_status aten_nan_to_num(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = tn_low_type(&l, 0)->dtype;
  if (at_category(dtype) < AT_FLOAT) return at_done_input(&l);
  const double most = dtype == TN_F32    ? 3.40282346638528859812e38
                      : dtype == TN_F64  ? 1.7976931348623157e308
                      : dtype == TN_BF16 ? 3.38953138925153547590e38
                                         : 65504;
  const at_scalar nan = at_number(&l, "nan"), up = at_number(&l, "posinf"),
                  down = at_number(&l, "neginf");
  const tn_attr above[] = {tn_attr_int("detect_negative", 0)},
                below[] = {tn_attr_int("detect_positive", 0)};
  const int32_t x = tn_low_in(&l, 0);
  int32_t y = at_where(&l, tn_low_1(&l, "IsNaN", x), tn_low_number(&l, dtype, nan.f), x);
  y = at_where(&l, tn_low_emit(&l, "IsInf", &x, 1, above, 1),
               tn_low_number(&l, dtype, up.is_there ? up.f : most), y);
  y = at_where(&l, tn_low_emit(&l, "IsInf", &x, 1, below, 1),
               tn_low_number(&l, dtype, down.is_there ? down.f : -most), y);
  return tn_low_done(&l, y);
}

/* ---- lgamma ---- */

/* log(gamma(y)) of numbers from 1/2 on, in f64: Stirling's series from 8 on (Abramowitz and Stegun,
 * 6.1.41), to which smaller ones are moved. */
static int32_t lgamma_above(const tn_lowering *l, int32_t y) {
  static const double series[] = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188};
  enum { STEPS = 8, TERMS = sizeof series / sizeof *series };
  const int32_t small = tn_low_2(l, "Less", y, tn_low_number(l, TN_F64, STEPS));
  int32_t product = y;
  for (int k = 1; k < STEPS; k++)
    product = tn_low_2(l, "Mul", product, tn_low_2(l, "Add", y, tn_low_number(l, TN_F64, k)));
  const int32_t moved = tn_low_2(l, "Add", y, tn_low_number(l, TN_F64, STEPS)),
                z = at_where(l, small, moved, y), ln = tn_low_1(l, "Log", z),
                inverse = tn_low_1(l, "Reciprocal", z),
                square = tn_low_2(l, "Mul", inverse, inverse);
  int32_t rest = tn_low_number(l, TN_F64, series[TERMS - 1]);
  for (int k = TERMS - 2; k >= 0; k--)
    rest =
        tn_low_2(l, "Add", tn_low_2(l, "Mul", rest, square), tn_low_number(l, TN_F64, series[k]));
  const int32_t half = tn_low_number(l, TN_F64, 0.9189385332046727),
                head = tn_low_2(l, "Mul", tn_low_2(l, "Sub", z, tn_low_number(l, TN_F64, 0.5)), ln),
                sum = tn_low_2(l, "Add", tn_low_2(l, "Sub", head, z), half),
                whole = tn_low_2(l, "Add", sum, tn_low_2(l, "Mul", rest, inverse));
  return tn_low_2(l, "Sub", whole,
                  at_where(l, small, tn_low_1(l, "Log", product), at_int_const(l, TN_F64, 0)));
}

/* Below 1/2 by reflection: log(pi / |sin(pi x)|) - lgamma(1 - x). */
tn_status aten_lgamma(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t from = tn_low_type(&l, 0)->dtype, to = at_float_of(from);
  if (at_category(from) == AT_COMPLEX) return tn_low_unsupported(&l, "complex numbers");
  const int32_t x = at_in(&l, 0, TN_F64), one = at_int_const(&l, TN_F64, 1),
                pi = tn_low_number(&l, TN_F64, M_PI),
                below = tn_low_2(&l, "Less", x, tn_low_number(&l, TN_F64, 0.5)),
                above = lgamma_above(&l, at_where(&l, below, tn_low_2(&l, "Sub", one, x), x)),
                part = tn_low_2(&l, "Sub", x, tn_low_1(&l, "Floor", x)),
                sine = tn_low_1(&l, "Sin", tn_low_2(&l, "Mul", pi, part)),
                mirrored =
                    tn_low_2(&l, "Sub", tn_low_1(&l, "Log", tn_low_2(&l, "Div", pi, sine)), above),
                y = at_where(&l, below, mirrored, above),
                all = at_where(&l, tn_low_1(&l, "IsInf", x), tn_low_1(&l, "Abs", x), y);
  return tn_low_done(&l, at_cast(&l, all, TN_F64, to));
}
