/* Element-wise operators, reductions, and products of matrices. */
#include <math.h>

#include "lower.h"
#include "tflite.gen.h"

/* ---- of one value ---- */

/* op of the numbers that codes stand for; the host makes a table of 8-bit ones. */
static tn_status real_unary(const tn_call *call, tn_graph *graph, int32_t node, const char *op) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return tn_low_done(&t, tfl_from_real(&t, tn_low_1(&t, op, tfl_real(&t, 0)), 0));
}

#define UNARY(name, op)                                                         \
  tn_status tflite_##name(const tn_call *call, tn_graph *graph, int32_t node) { \
    return real_unary(call, graph, node, op);                                   \
  }
UNARY(abs, "Abs")
UNARY(cos, "Cos")
UNARY(elu, "Elu")
UNARY(neg, "Neg")
UNARY(relu, "Relu")
UNARY(sin, "Sin")
UNARY(sqrt, "Sqrt")

/* The same of codes of 8 bits; those of 16 have tables of their own. */
#define WIDE_UNARY(name, op, wide)                                              \
  tn_status tflite_##name(const tn_call *call, tn_graph *graph, int32_t node) { \
    const tn_lowering t = tn_low_open(call, graph, node);                       \
    if (tfl_has_wide_##wide(&t)) return tn_low_done(&t, tfl_wide_##wide(&t));   \
    return real_unary(call, graph, node, op);                                   \
  }
WIDE_UNARY(exp, "Exp", exp)
WIDE_UNARY(log, "Log", log)
WIDE_UNARY(logistic, "Sigmoid", sigmoid)
WIDE_UNARY(tanh, "Tanh", tanh)

tn_status tflite_hard_swish(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  if (tfl_has_fixed_hard_swish(&t)) return tn_low_done(&t, tfl_fixed_hard_swish(&t));
  return real_unary(call, graph, node, "HardSwish");
}

static tn_status clipped(const tn_call *call, tn_graph *graph, int32_t node, double lo, double hi) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const uint32_t dtype = tfl_is_quantised(&t) ? TN_F32 : tn_low_type(&t, 0)->dtype;
  return tn_low_done(&t, tfl_from_real(&t, tn_low_clip(&t, tfl_real(&t, 0), dtype, lo, hi), 0));
}

tn_status tflite_relu6(const tn_call *call, tn_graph *graph, int32_t node) {
  return clipped(call, graph, node, 0, 6);
}
tn_status tflite_relu_n1_to_1(const tn_call *call, tn_graph *graph, int32_t node) {
  return clipped(call, graph, node, -1, 1);
}
tn_status tflite_relu_0_to_1(const tn_call *call, tn_graph *graph, int32_t node) {
  return clipped(call, graph, node, 0, 1);
}

tn_status tflite_rsqrt(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  if (tfl_counts_steps(&t) && tn_low_type(&t, 0)->dtype == TN_I8)
    return tn_low_done(&t, tfl_fixed_rsqrt(&t));
  if (tfl_has_wide_exp(&t)) return tn_low_done(&t, tfl_wide_rsqrt(&t));
  const int32_t y = tn_low_1(&t, "Reciprocal", tn_low_1(&t, "Sqrt", tfl_real(&t, 0)));
  return tn_low_done(&t, tfl_from_real(&t, y, 0));
}

tn_status tflite_square(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const int32_t x = tfl_real(&t, 0);
  return tn_low_done(&t, tfl_from_real(&t, tn_low_2(&t, "Mul", x, x), 0));
}

tn_status tflite_gelu(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  if (tfl_has_wide_exp(&t))
    return tn_low_done(&t, tfl_wide_gelu(&t, tn_low_int(&t, "approximate", 0)));
  const int32_t x = tfl_real(&t, 0);
  const tn_attr a = tn_attr_str("approximate", tn_low_int(&t, "approximate", 0) ? "tanh" : "none");
  return tn_low_done(&t, tfl_from_real(&t, tn_low_emit(&t, "Gelu", &x, 1, &a, 1), 0));
}

tn_status tflite_leaky_relu(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  if (tfl_is_wide(&t, 0))
    return tn_low_done(&t, tfl_fixed_leaky_relu(&t, tn_low_float(&t, "alpha", 0)));
  if (tfl_counts_steps(&t) && tfl_has_256ths(tfl_scale(&t, 0) / tfl_scale(&t, tfl_y(&t))))
    return tn_low_done(&t, tfl_leaky_relu(&t));
  const int32_t x = tfl_real(&t, 0);
  const tn_attr a = tn_attr_float("alpha", tn_low_float(&t, "alpha", 0));
  return tn_low_done(&t, tfl_from_real(&t, tn_low_emit(&t, "LeakyRelu", &x, 1, &a, 1), 0));
}

tn_status tflite_prelu(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  if (tfl_counts_steps(&t) && tfl_scale(&t, tfl_y(&t)) > 0)
    return tn_low_done(&t, tfl_fixed_prelu(&t));
  return tn_low_done(&t,
                     tfl_from_real(&t, tn_low_2(&t, "PRelu", tfl_real(&t, 0), tfl_real(&t, 1)), 0));
}

/* ---- of two ---- */

/* op of the numbers that codes stand for. */
static tn_status real_binary(const tn_call *call, tn_graph *graph, int32_t node, const char *op) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return tn_low_done(&t, tfl_from_real(&t, tn_low_2(&t, op, tfl_real(&t, 0), tfl_real(&t, 1)), 0));
}

/* What a step of input k is in steps of the output; of 21 bits, counted from the larger one. */
static double factor(const tn_lowering *t, uint32_t k) {
  enum { BITS = 21 };
  const float y = (float)tfl_scale(t, tfl_y(t)), ratio = (float)tfl_scale(t, k) / y,
              other = (float)tfl_scale(t, 1 - k) / y;
  int exponent;
  frexp((double)fmaxf(ratio, other), &exponent);
  return ldexp(nearbyint(ldexp((double)ratio, BITS - exponent)), exponent - BITS);
}

static int32_t quantised_sum(const tn_lowering *t, double sign) {
  const uint32_t dtype = tn_low_type(t, 0)->dtype;
  const int32_t inputs[] = {tn_low_in(t, 0), tn_low_in(t, 1)};
  int64_t lo, hi;
  tfl_code_bounds(t, dtype, &lo, &hi);
  const tn_attr attrs[] = {tn_attr_float("a_scale", factor(t, 0)),
                           tn_attr_int("a_zero", tfl_zero(t, 0)),
                           tn_attr_float("b_scale", sign * factor(t, 1)),
                           tn_attr_int("b_zero", tfl_zero(t, 1)),
                           tn_attr_float("y_scale", 1),
                           tn_attr_int("y_zero", tfl_zero(t, tfl_y(t))),
                           tn_attr_int("y_dtype", dtype),
                           tn_attr_int("lo", lo),
                           tn_attr_int("hi", hi),
                           tn_attr_int("halves_up", 1)};
  return tn_low_emit(t, "tenon::QuantAdd", inputs, 2, attrs, sizeof attrs / sizeof *attrs);
}

static tn_status sum_of(const tn_call *call, tn_graph *graph, int32_t node, const char *op) {
  const tn_lowering t = tn_low_open(call, graph, node);
  if (tfl_is_wide(&t, 0)) return tn_low_done(&t, tfl_fixed_sum(&t, op));
  if (tfl_counts_steps(&t)) return tn_low_done(&t, quantised_sum(&t, *op == 'A' ? 1 : -1));
  return real_binary(call, graph, node, op);
}

tn_status tflite_add(const tn_call *call, tn_graph *graph, int32_t node) {
  return sum_of(call, graph, node, "Add");
}
tn_status tflite_sub(const tn_call *call, tn_graph *graph, int32_t node) {
  return sum_of(call, graph, node, "Sub");
}

/* The product of codes less their zero points is exact; one factor makes steps of it. */
tn_status tflite_mul(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  if (!tfl_counts_steps(&t)) return real_binary(call, graph, node, "Mul");
  if (tfl_is_wide(&t, 0)) return tn_low_done(&t, tfl_fixed_product(&t));
  const float f =
      (float)tfl_scale(&t, 0) * (float)tfl_scale(&t, 1) / (float)tfl_scale(&t, tfl_y(&t));
  const int32_t a = tn_low_dequantize(&t, tn_low_in(&t, 0), tn_low_type(&t, 0)->dtype, 1,
                                      tfl_zero(&t, 0)),
                b = tn_low_dequantize(&t, tn_low_in(&t, 1), tn_low_type(&t, 1)->dtype, 1,
                                      tfl_zero(&t, 1));
  const int32_t y =
      tn_low_2(&t, "Mul", tn_low_2(&t, "Mul", a, b), tn_low_number(&t, TN_F32, (double)f));
  return tn_low_done(&t, tfl_from_steps(&t, y));
}

#define BINARY(name, op)                                                        \
  tn_status tflite_##name(const tn_call *call, tn_graph *graph, int32_t node) { \
    return real_binary(call, graph, node, op);                                  \
  }
BINARY(div, "Div")
BINARY(maximum, "Max")
BINARY(minimum, "Min")

/* What it answers are truths. */
#define COMPARE(name, op)                                                       \
  tn_status tflite_##name(const tn_call *call, tn_graph *graph, int32_t node) { \
    const tn_lowering t = tn_low_open(call, graph, node);                       \
    return tn_low_done(&t, tn_low_2(&t, op, tfl_real(&t, 0), tfl_real(&t, 1))); \
  }
COMPARE(equal, "Equal")
COMPARE(greater, "Greater")
COMPARE(greater_equal, "GreaterOrEqual")
COMPARE(less, "Less")
COMPARE(less_equal, "LessOrEqual")

tn_status tflite_not_equal(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return tn_low_done(&t,
                     tn_low_1(&t, "Not", tn_low_2(&t, "Equal", tfl_real(&t, 0), tfl_real(&t, 1))));
}

tn_status tflite_squared_difference(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const int32_t d = tn_low_2(&t, "Sub", tfl_real(&t, 0), tfl_real(&t, 1));
  return tn_low_done(&t, tfl_from_real(&t, tn_low_2(&t, "Mul", d, d), 0));
}

static int32_t modulo(const tn_lowering *t, int32_t a, int32_t b, int64_t fmod) {
  const int32_t inputs[] = {a, b};
  const tn_attr attr = tn_attr_int("fmod", fmod);
  return tn_low_emit(t, "Mod", inputs, 2, &attr, 1);
}

/* The remainder has the divisor's sign. */
static int32_t floor_mod(const tn_lowering *t, int32_t a, int32_t b, uint32_t dtype) {
  if (dtype != TN_F32) return modulo(t, a, b, 0);
  const int32_t r = modulo(t, a, b, 1), zero = tn_low_number(t, dtype, 0);
  const int32_t differs =
      tn_low_2(t, "Xor", tn_low_2(t, "Less", r, zero), tn_low_2(t, "Less", b, zero));
  const int32_t adjusts =
      tn_low_2(t, "And", differs, tn_low_1(t, "Not", tn_low_2(t, "Equal", r, zero)));
  return tn_low_3(t, "Where", adjusts, tn_low_2(t, "Add", r, b), r);
}

tn_status tflite_floor_mod(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return tn_low_done(&t,
                     floor_mod(&t, tn_low_in(&t, 0), tn_low_in(&t, 1), tn_low_type(&t, 0)->dtype));
}

tn_status tflite_floor_div(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const int32_t a = tn_low_in(&t, 0), b = tn_low_in(&t, 1);
  const uint32_t dtype = tn_low_type(&t, 0)->dtype;
  if (dtype == TN_F32) return tn_low_done(&t, tn_low_1(&t, "Floor", tn_low_2(&t, "Div", a, b)));
  const int32_t rest = floor_mod(&t, a, b, dtype);
  return tn_low_done(&t, tn_low_2(&t, "Div", tn_low_2(&t, "Sub", a, rest), b));
}

/* atan(y / x), moved to the half plane where x is negative. */
tn_status tflite_atan2(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const int32_t y = tn_low_in(&t, 0), x = tn_low_in(&t, 1);
  const int32_t zero = tn_low_number(&t, TN_F32, 0), pi = tn_low_number(&t, TN_F32, M_PI),
                half = tn_low_number(&t, TN_F32, M_PI / 2);
  const int32_t below = tn_low_2(&t, "Less", y, zero);
  const int32_t plain = tn_low_1(&t, "Atan", tn_low_2(&t, "Div", y, x));
  const int32_t moved =
      tn_low_3(&t, "Where", below, tn_low_2(&t, "Sub", plain, pi), tn_low_2(&t, "Add", plain, pi));
  const int32_t slanted = tn_low_3(&t, "Where", tn_low_2(&t, "Less", x, zero), moved, plain);
  const int32_t upright = tn_low_2(&t, "Mul", tn_low_1(&t, "Sign", y), half);
  return tn_low_done(&t, tn_low_3(&t, "Where", tn_low_2(&t, "Equal", x, zero), upright, slanted));
}

/* ---- of many ---- */

tn_status tflite_add_n(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  if (!tfl_has_all(&t)) return tn_low_unsupported(&t, "inputs that are left out");
  int32_t sum = tn_low_in(&t, 0);
  for (uint32_t k = 1; k < call->n_inputs; k++) sum = tn_low_2(&t, "Add", sum, tn_low_in(&t, k));
  return tn_low_done(&t, call->n_inputs == 1 ? tn_low_1(&t, "Identity", sum) : sum);
}

/* ---- choosing ---- */

/* SELECT of a condition of rank 1 chooses rows. */
tn_status tflite_select(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *c = tn_low_type(&t, 0), *x = tn_low_type(&t, 1);
  int32_t condition = tn_low_in(&t, 0);
  if (c->rank == 1 && x->rank > 1) {
    int64_t shape[TN_MAX_RANK] = {c->shape[0]};
    for (int32_t k = 1; k < x->rank; k++) shape[k] = 1;
    condition = tn_low_reshape(&t, condition, x->rank, shape);
  }
  return tn_low_done(&t, tn_low_3(&t, "Where", condition, tn_low_in(&t, 1), tn_low_in(&t, 2)));
}

tn_status tflite_select_v2(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  return tn_low_done(&t,
                     tn_low_3(&t, "Where", tn_low_in(&t, 0), tn_low_in(&t, 1), tn_low_in(&t, 2)));
}

/* ---- softmax and norms ---- */

tn_status tflite_softmax(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const double beta = tn_low_float(&t, "beta", 1);
  if (tfl_has_wide_softmax(&t)) return tn_low_done(&t, tfl_wide_softmax(&t));
  int32_t x = tfl_real(&t, 0);
  if (beta != 1) x = tn_low_2(&t, "Mul", x, tn_low_number(&t, TN_F32, beta));
  return tn_low_done(&t, tfl_from_real(&t, tn_low_1_int(&t, "Softmax", x, "axis", -1), 0));
}

tn_status tflite_log_softmax(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const int32_t y = tn_low_1_int(&t, "LogSoftmax", tfl_real(&t, 0), "axis", -1);
  return tn_low_done(&t, tfl_from_real(&t, y, 0));
}

static int32_t reduced(const tn_lowering *t, const char *op, int32_t x, const int64_t *axes,
                       int64_t n, bool keeps) {
  const int32_t inputs[] = {x, tn_low_ints_const(t, axes, n)};
  const tn_attr attrs[] = {tn_attr_int("keepdims", keeps), tn_attr_int("noop_with_empty_axes", 1)};
  return tn_low_emit(t, op, inputs, 2, attrs, 2);
}

tn_status tflite_l2_normalization(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const int64_t last = -1;
  const int32_t x = tfl_real(&t, 0);
  const int32_t norm =
      tn_low_1(&t, "Sqrt", reduced(&t, "ReduceSum", tn_low_2(&t, "Mul", x, x), &last, 1, true));
  const int32_t safe = tn_low_2(&t, "Max", norm, tn_low_number(&t, TN_F32, 1e-6));
  return tn_low_done(&t, tfl_from_real(&t, tn_low_2(&t, "Div", x, safe), 0));
}

/* ---- reductions ---- */

static tn_status reduce(const tn_call *call, tn_graph *graph, int32_t node, const char *op) {
  const tn_lowering t = tn_low_open(call, graph, node);
  int64_t axes[TN_MAX_RANK], n;
  const tn_status s = tfl_const_axes(&t, 1, tn_low_type(&t, 0)->rank, axes, &n);
  if (s) return s;
  const bool keeps = tn_low_int(&t, "keep_dims", 0);
  return tn_low_done(&t, tfl_from_real(&t, reduced(&t, op, tfl_real(&t, 0), axes, n, keeps), 0));
}

#define REDUCE(name, op)                                                        \
  tn_status tflite_##name(const tn_call *call, tn_graph *graph, int32_t node) { \
    return reduce(call, graph, node, op);                                       \
  }
REDUCE(sum, "ReduceSum")
REDUCE(reduce_prod, "ReduceProd")
REDUCE(reduce_max, "ReduceMax")
REDUCE(reduce_min, "ReduceMin")

/* The sum of codes less their zero points is exact; one factor makes steps of it. */
tn_status tflite_mean(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  if (!tfl_counts_steps(&t)) return reduce(call, graph, node, "ReduceMean");
  const tn_tensor *x = tn_low_type(&t, 0);
  int64_t axes[TN_MAX_RANK], n, count = 1;
  const tn_status s = tfl_const_axes(&t, 1, x->rank, axes, &n);
  if (s) return s;
  for (int64_t k = 0; k < n; k++) count *= tn_max_i64(x->shape[axes[k]], 1);
  const float f = (float)tfl_scale(&t, 0) / ((float)tfl_scale(&t, tfl_y(&t)) * (float)count);
  const int32_t codes = tn_low_dequantize(&t, tn_low_in(&t, 0), x->dtype, 1, tfl_zero(&t, 0));
  const int32_t sum = reduced(&t, "ReduceSum", codes, axes, n, tn_low_int(&t, "keep_dims", 0));
  return tn_low_done(
      &t, tfl_from_steps(&t, tn_low_2(&t, "Mul", sum, tn_low_number(&t, TN_F32, (double)f))));
}

static tn_status reduce_truths(const tn_call *call, tn_graph *graph, int32_t node, const char *op) {
  const tn_lowering t = tn_low_open(call, graph, node);
  int64_t axes[TN_MAX_RANK], n;
  const tn_status s = tfl_const_axes(&t, 1, tn_low_type(&t, 0)->rank, axes, &n);
  if (s) return s;
  const int32_t x = tn_low_cast(&t, tn_low_in(&t, 0), TN_U8);
  return tn_low_done(
      &t, tn_low_cast(&t, reduced(&t, op, x, axes, n, tn_low_int(&t, "keep_dims", 0)), TN_BOOL));
}

tn_status tflite_reduce_any(const tn_call *call, tn_graph *graph, int32_t node) {
  return reduce_truths(call, graph, node, "ReduceMax");
}
tn_status tflite_reduce_all(const tn_call *call, tn_graph *graph, int32_t node) {
  return reduce_truths(call, graph, node, "ReduceMin");
}

static tn_status arg(const tn_call *call, tn_graph *graph, int32_t node, const char *op) {
  const tn_lowering t = tn_low_open(call, graph, node);
  int64_t axis[TN_MAX_RANK], n;
  const tn_status s = tfl_const_dims(&t, 1, axis, &n);
  if (s) return s;
  if (n != 1) return tn_low_unsupported(&t, "other than one axis");
  const int32_t x = tn_low_in(&t, 0);
  const tn_attr attrs[] = {tn_attr_int("axis", axis[0]), tn_attr_int("keepdims", 0)};
  const int32_t y = tn_low_emit(&t, op, &x, 1, attrs, 2);
  enum { INT64 = 4 };
  return tn_low_done(&t,
                     tn_low_int(&t, "output_type", 2) == INT64 ? y : tn_low_cast(&t, y, TN_I32));
}

tn_status tflite_arg_max(const tn_call *call, tn_graph *graph, int32_t node) {
  return arg(call, graph, node, "ArgMax");
}
tn_status tflite_arg_min(const tn_call *call, tn_graph *graph, int32_t node) {
  return arg(call, graph, node, "ArgMin");
}

tn_status tflite_cumsum(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const int32_t inputs[] = {tn_low_in(&t, 0), tn_low_in(&t, 1)};
  const tn_attr attrs[] = {tn_attr_int("exclusive", tn_low_int(&t, "exclusive", 0)),
                           tn_attr_int("reverse", tn_low_int(&t, "reverse", 0))};
  return tn_low_done(&t, tn_low_emit(&t, "CumSum", inputs, 2, attrs, 2));
}

/* ---- products ---- */

static bool is_code(const tn_tensor *t) { return t->dtype == TN_I8 || t->dtype == TN_U8; }

/* Of input k, as it is or as numbers: with its last two dims changed if the node says so. */
static int32_t matrix(const tn_lowering *t, uint32_t k, int32_t x) {
  const int32_t rank = tn_low_type(t, k)->rank;
  int32_t perm[TN_MAX_RANK];
  for (int32_t d = 0; d < rank; d++) perm[d] = d;
  if (!tn_low_int(t, k ? "adj_y" : "adj_x", 0) || rank < 2) return x;
  perm[rank - 2] = rank - 1;
  perm[rank - 1] = rank - 2;
  return tn_low_transpose(t, x, rank, perm);
}

/* A product of codes: sums of whole numbers in steps of the output. By a constant, XNNPACK has one
 * factor of f32 for it; else it is the built-in kernel's, a multiplier and a shift. */
static int32_t code_product(const tn_lowering *t) {
  int32_t inputs[4];
  const float a = (float)tfl_scale(t, 0), b = (float)tfl_scale(t, 1),
              y = (float)tfl_scale(t, tfl_y(t));
  const double scale = tfl_scale(t, 0) * tfl_scale(t, 1) / tfl_scale(t, tfl_y(t));
  for (uint32_t k = 0; k < 2; k++) {
    const tn_tensor *type = tn_low_type(t, k);
    inputs[k] = matrix(t, k, tn_low_in(t, k));
    inputs[2 + k] = tn_low_number(t, type->dtype, (double)tfl_zero(t, k));
  }
  const int32_t sums = tn_low_emit(t, "MatMulInteger", inputs, 4, NULL, 0);
  if (!tn_low_type(t, 1)->data && !tn_low_for_onnx(t))
    return tfl_fixed_scale(t, sums, &scale, 1, 0, tn_low_type(t, 0)->dtype);
  const int32_t factor = tn_low_number(t, TN_F32, (double)(a * b / y));
  return tfl_from_steps(t, tn_low_2(t, "Mul", tn_low_cast(t, sums, TN_F32), factor));
}

/* The same of 16 bits, whose sums are exact in f64. */
static int32_t wide_product(const tn_lowering *t) {
  const double scale = tfl_scale(t, 0) * tfl_scale(t, 1) / tfl_scale(t, tfl_y(t));
  const int32_t x = matrix(t, 0, tn_low_cast(t, tn_low_in(t, 0), TN_F64)),
                y = matrix(t, 1, tn_low_cast(t, tn_low_in(t, 1), TN_F64));
  const int32_t sums = tn_low_cast(t, tn_low_2(t, "MatMul", x, y), TN_I64);
  return tfl_fixed_scale(t, sums, &scale, 1, 0, TN_I16);
}

/* Rows of f32 by a matrix of codes. */
static int32_t dynamic_product(const tn_lowering *t) {
  const tn_tensor *a = tn_low_type(t, 0), *b = tn_low_type(t, 1);
  const double scale = tfl_scale(t, 1);
  const tn_attr trans = tn_attr_int("transB", tn_low_int(t, "adj_y", 0));
  bool is_matrix = b->rank >= 2 && !tfl_zero(t, 1) && !tn_low_floats(t, "channel_scales").size;
  for (int32_t k = 0; k < b->rank - 2; k++) is_matrix = is_matrix && b->shape[k] == 1;
  if (!is_matrix || a->rank < b->rank)
    return tn_low_unsupported(t, "several matrices of 8 bits with f32 activations");
  const int32_t inputs[] = {matrix(t, 0, tn_low_in(t, 0)),
                            tn_low_reshape(t, tn_low_in(t, 1), 2, b->shape + b->rank - 2),
                            tn_emit_floats(t->call, t->graph, &scale, 1)};
  return tn_low_emit(t, "tenon::DynamicMatMul", inputs, 3, &trans, 1);
}

tn_status tflite_batch_matmul(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *a = tn_low_type(&t, 0), *b = tn_low_type(&t, 1);
  if (a->dtype == TN_F32 && b->dtype == TN_I8) return tn_low_done(&t, dynamic_product(&t));
  if (is_code(a) && is_code(b) && tfl_is_quantised(&t) && tfl_scale(&t, tfl_y(&t)) > 0)
    return tn_low_done(&t, code_product(&t));
  if (tfl_is_wide(&t, 0) && tfl_is_wide(&t, 1)) return tn_low_done(&t, wide_product(&t));
  const int32_t x = matrix(&t, 0, tfl_real(&t, 0)), y = matrix(&t, 1, tfl_real(&t, 1));
  return tn_low_done(&t, tfl_from_real(&t, tn_low_2(&t, "MatMul", x, y), 0));
}

/* ---- quantising ---- */

tn_status tflite_quantize(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&t, 0);
  const uint32_t dtype = tn_dtype_of_onnx(tn_low_int(&t, "out_dtype", 0));
  const double scale = tfl_scale(&t, 1);
  if (!(scale > 0)) return tn_low_unsupported(&t, "an output without a scale");
  if (x->dtype == TN_F32) {
    const int32_t factor = tn_low_number(&t, TN_F32, (double)(1.0f / (float)scale)),
                  steps = tn_low_2(&t, "Mul", tn_low_in(&t, 0), factor);
    return tn_low_done(&t, tn_low_quantize(&t, steps, dtype, 1, tfl_zero(&t, 1)));
  }
  if (x->dtype == TN_I16 || x->dtype == TN_I32 || dtype == TN_I32) {
    const double ratio = tfl_scale(&t, 0) / scale;
    const int32_t codes = tn_low_cast(&t, tn_low_in(&t, 0), TN_I32);
    return tn_low_done(&t, tfl_fixed_scale(&t, codes, &ratio, 1, 0, dtype));
  }
  const float f = (float)tfl_scale(&t, 0) / (float)scale;
  if (tfl_counts_steps(&t) && tfl_has_256ths((double)f) && x->dtype == dtype)
    return tn_low_done(&t, tfl_requantised(&t, dtype));
  const int32_t steps =
      tn_low_dequantize(&t, tn_low_in(&t, 0), x->dtype, (double)f, tfl_zero(&t, 0));
  return tn_low_done(&t, tn_low_quantize(&t, steps, dtype, 1, tfl_zero(&t, 1)));
}

tn_status tflite_dequantize(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&t, 0);
  if (x->dtype == TN_F16 || x->dtype == TN_BF16)
    return tn_low_done(&t, tn_low_cast(&t, tn_low_in(&t, 0), TN_F32));
  const tn_floats channels = tn_low_floats(&t, "channel_scales");
  if (!channels.size)
    return tn_low_done(
        &t, tn_low_dequantize(&t, tn_low_in(&t, 0), x->dtype, tfl_scale(&t, 0), tfl_zero(&t, 0)));
  const int32_t inputs[] = {tn_low_in(&t, 0),
                            tn_emit_floats(call, graph, channels.data, channels.size)};
  const tn_attr axis = tn_attr_int("axis", tn_low_int(&t, "channel_dim", 0));
  return tn_low_done(&t, tn_low_emit(&t, "DequantizeLinear", inputs, 2, &axis, 1));
}

/* Rounded to steps of a range that holds zero: bounds are moved so that zero is a step. */
tn_status tflite_fake_quant(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering t = tn_low_open(call, graph, node);
  const int64_t bits = tn_low_int(&t, "num_bits", 8);
  const double lo = tn_low_float(&t, "min", 0), hi = tn_low_float(&t, "max", 0);
  if (bits < 2 || bits > 16 || !(hi > lo)) return tn_low_unsupported(&t, "this range");
  const double least = tn_low_int(&t, "narrow_range", 0) ? 1 : 0, most = ldexp(1, (int)bits) - 1,
               scale = (hi - lo) / (most - least), at = least - lo / scale,
               zero = at < least  ? least
                      : at > most ? most
                                  : floor(at + 0.5);
  const double from = (least - zero) * scale, to = (most - zero) * scale;
  const int32_t x = tn_low_clip(&t, tn_low_in(&t, 0), TN_F32, from, to);
  const int32_t steps = tn_low_2(&t, "Mul", tn_low_2(&t, "Sub", x, tn_low_number(&t, TN_F32, from)),
                                 tn_low_number(&t, TN_F32, 1 / scale));
  const int32_t whole =
      tn_low_1(&t, "Floor", tn_low_2(&t, "Add", steps, tn_low_number(&t, TN_F32, 0.5)));
  return tn_low_done(
      &t, tn_low_2(&t, "Add", tn_low_2(&t, "Mul", whole, tn_low_number(&t, TN_F32, scale)),
                   tn_low_number(&t, TN_F32, from)));
}
