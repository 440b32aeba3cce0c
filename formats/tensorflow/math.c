/* Operators on numbers. */
#include "lower.h"
#include "tensorflow.gen.h"

tn_status tf_leaky_relu(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t x = tn_low_in(&l, 0);
  const tn_attr a = tn_attr_float("alpha", tn_low_float(&l, "alpha", 0.2));
  return tn_low_done(&l, tn_low_emit(&l, "LeakyRelu", &x, 1, &a, 1));
}

static tn_status arg(const tn_call *call, tn_graph *graph, int32_t node, const char *op) {
  const tn_lowering l = tn_low_open(call, graph, node);
  int64_t axis[TN_MAX_RANK], n;
  const tn_status s = lo_const_ints(&l, 1, axis, TN_MAX_RANK, &n);
  if (s) return s;
  if (n != 1) return tn_low_unsupported(&l, "other than one axis");
  const int32_t x = tn_low_in(&l, 0);
  const tn_attr attrs[] = {tn_attr_int("axis", axis[0]), tn_attr_int("keepdims", 0)};
  const uint32_t dtype = tn_dtype_of_onnx(tn_low_int(&l, "output_type", tn_onnx_of_dtype(TN_I64)));
  const int32_t y = tn_low_emit(&l, op, &x, 1, attrs, 2);
  return tn_low_done(&l, dtype == TN_I64 ? y : tn_low_cast(&l, y, dtype));
}

tn_status tf_arg_max(const tn_call *call, tn_graph *graph, int32_t node) {
  return arg(call, graph, node, "ArgMax");
}

tn_status tf_arg_min(const tn_call *call, tn_graph *graph, int32_t node) {
  return arg(call, graph, node, "ArgMin");
}

/* Products are 0 wherever b says so, even of what is no number. */
static int32_t where_not_zero(const tn_lowering *l, const char *op, uint32_t asks) {
  const uint32_t dtype = tn_low_type(l, asks)->dtype;
  const int32_t zero = tn_low_number(l, dtype, 0),
                is = tn_low_2(l, "Equal", tn_low_in(l, asks), zero);
  return tn_low_3(l, "Where", is, zero, tn_low_2(l, op, tn_low_in(l, 0), tn_low_in(l, 1)));
}

tn_status tf_cumprod(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t in[] = {tn_low_in(&l, 0), tn_low_in(&l, 1)};
  const tn_attr attrs[] = {tn_attr_int("exclusive", tn_low_int(&l, "exclusive", 0)),
                           tn_attr_int("reverse", tn_low_int(&l, "reverse", 0))};
  return tn_low_done(&l, tn_low_emit(&l, "CumProd", in, 2, attrs, 2));
}

tn_status tf_div_no_nan(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return tn_low_done(&l, where_not_zero(&l, "Div", 1));
}

tn_status tf_mul_no_nan(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return tn_low_done(&l, where_not_zero(&l, "Mul", 1));
}

tn_status tf_xdivy(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return tn_low_done(&l, where_not_zero(&l, "Div", 0));
}

tn_status tf_xlogy(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t zero = tn_low_number(&l, tn_low_type(&l, 0)->dtype, 0);
  const int32_t y = tn_low_2(&l, "Mul", tn_low_in(&l, 0), tn_low_1(&l, "Log", tn_low_in(&l, 1)));
  return tn_low_done(&l,
                     tn_low_3(&l, "Where", tn_low_2(&l, "Equal", tn_low_in(&l, 0), zero), zero, y));
}

tn_status tf_expm1(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t one = tn_low_number(&l, tn_low_type(&l, 0)->dtype, 1);
  return tn_low_done(&l, tn_low_2(&l, "Sub", tn_low_1(&l, "Exp", tn_low_in(&l, 0)), one));
}

tn_status tf_log1p(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t one = tn_low_number(&l, tn_low_type(&l, 0)->dtype, 1);
  return tn_low_done(&l, tn_low_1(&l, "Log", tn_low_2(&l, "Add", tn_low_in(&l, 0), one)));
}

tn_status tf_erfc(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t one = tn_low_number(&l, tn_low_type(&l, 0)->dtype, 1);
  return tn_low_done(&l, tn_low_2(&l, "Sub", one, tn_low_1(&l, "Erf", tn_low_in(&l, 0))));
}

tn_status tf_clip_by_value(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return tn_low_done(&l,
                     tn_low_2(&l, "Max", tn_low_2(&l, "Min", tn_low_in(&l, 0), tn_low_in(&l, 2)),
                              tn_low_in(&l, 1)));
}

tn_status tf_is_finite(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t x = tn_low_in(&l, 0);
  return tn_low_done(
      &l,
      tn_low_1(&l, "Not", tn_low_2(&l, "Or", tn_low_1(&l, "IsNaN", x), tn_low_1(&l, "IsInf", x))));
}

tn_status tf_truncate_mod(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t in[] = {tn_low_in(&l, 0), tn_low_in(&l, 1)};
  const tn_attr a = tn_attr_int("fmod", 1);
  return tn_low_done(&l, tn_low_emit(&l, "Mod", in, 2, &a, 1));
}

tn_status tf_l2_loss(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_attr keep = tn_attr_int("keepdims", 0);
  const int32_t x = tn_low_in(&l, 0), square = tn_low_2(&l, "Mul", x, x);
  const int32_t sum = tn_low_emit(&l, "ReduceSum", &square, 1, &keep, 1);
  return tn_low_done(&l,
                     tn_low_2(&l, "Mul", sum, tn_low_number(&l, tn_low_type(&l, 0)->dtype, 0.5)));
}

/* ---- fake quantisation ---- */

/* The range is moved so that 0 is one of its steps: its ends and the step, from ends that may be
 * known only when it runs. */
static tn_status fake_quant(const tn_lowering *l, int32_t lo, int32_t hi) {
  const int64_t bits = tn_low_int(l, "num_bits", 8), narrow = tn_low_int(l, "narrow_range", 0);
  if (bits < 2 || bits > 16) return tn_low_unsupported(l, "other than 2 to 16 bits");
  const double least = narrow ? 1 : 0, most = (double)((1 << bits) - 1);
  const int32_t q_min = tn_low_number(l, TN_F32, least), q_max = tn_low_number(l, TN_F32, most),
                steps = tn_low_number(l, TN_F32, most - least);
  const int32_t scale = tn_low_2(l, "Div", tn_low_2(l, "Sub", hi, lo), steps);
  const int32_t zero_at = tn_low_2(l, "Sub", q_min, tn_low_2(l, "Div", lo, scale));
  const int32_t half = tn_low_number(l, TN_F32, 0.5);
  const int32_t rounded =
      tn_low_1(l, "Floor", tn_low_2(l, "Add", zero_at, half)); /* halves go up */
  const int32_t zero = tn_low_2(l, "Min", tn_low_2(l, "Max", rounded, q_min), q_max);
  const int32_t from = tn_low_2(l, "Mul", tn_low_2(l, "Sub", q_min, zero), scale),
                to = tn_low_2(l, "Mul", tn_low_2(l, "Sub", q_max, zero), scale);
  const int32_t clamped = tn_low_2(l, "Min", tn_low_2(l, "Max", tn_low_in(l, 0), from), to);
  const int32_t step = tn_low_2(l, "Div", tn_low_2(l, "Sub", clamped, from), scale);
  const int32_t whole = tn_low_1(l, "Floor", tn_low_2(l, "Add", step, half));
  return tn_low_done(l, tn_low_2(l, "Add", tn_low_2(l, "Mul", whole, scale), from));
}

tn_status tf_fake_quant_args(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return fake_quant(&l, tn_low_number(&l, TN_F32, tn_low_float(&l, "min", -6)),
                    tn_low_number(&l, TN_F32, tn_low_float(&l, "max", 6)));
}

tn_status tf_fake_quant_vars(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return fake_quant(&l, tn_low_in(&l, 1), tn_low_in(&l, 2));
}

/* n numbers from the first to the last, all as far from each other. */
tn_status tf_lin_space(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  int64_t n = 0, count;
  const tn_status s = lo_const_ints(&l, 2, &n, 1, &count);
  if (s) return s;
  if (n < 1) return tn_low_unsupported(&l, "no numbers");
  const uint32_t dtype = tn_low_type(&l, 0)->dtype;
  const int32_t range = tn_low_3(&l, "Range", tn_low_number(&l, dtype, 0),
                                 tn_low_number(&l, dtype, (double)n), tn_low_number(&l, dtype, 1));
  const int32_t span = tn_low_2(&l, "Sub", tn_low_in(&l, 1), tn_low_in(&l, 0));
  const int32_t step =
      tn_low_2(&l, "Div", span, tn_low_number(&l, dtype, n > 1 ? (double)(n - 1) : 1));
  return tn_low_done(&l, tn_low_2(&l, "Add", tn_low_2(&l, "Mul", range, step), tn_low_in(&l, 0)));
}
