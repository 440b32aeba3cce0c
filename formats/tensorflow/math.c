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

tn_status tf_approximate_equal(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t apart =
      tn_low_1(&l, "Abs", tn_low_2(&l, "Sub", tn_low_in(&l, 0), tn_low_in(&l, 1)));
  return tn_low_done(&l, tn_low_2(&l, "Less", apart,
                                  tn_low_number(&l, tn_low_type(&l, 0)->dtype,
                                                tn_low_float(&l, "tolerance", 1e-5))));
}

tn_status tf_euclidean_norm(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t in[] = {tn_low_in(&l, 0), tn_low_in_i64(&l, 1)};
  const tn_attr attrs[] = {tn_attr_int("keepdims", tn_low_int(&l, "keep_dims", 0)),
                           tn_attr_int("noop_with_empty_axes", 1)};
  return tn_low_done(&l, tn_low_emit(&l, "ReduceL2", in, 2, attrs, 2));
}

/* How many of the numbers of a row come before each of x. */
static tn_status bound(const tn_call *call, tn_graph *graph, int32_t node, const char *op) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int64_t last = 2;
  tn_status s = lo_rank(&l, 0, 2);
  if (!s) s = lo_rank(&l, 1, 2);
  if (s) return s;
  const int32_t before = tn_low_2(&l, op, lo_unsqueeze(&l, tn_low_in(&l, 0), 1),
                                  lo_unsqueeze(&l, tn_low_in(&l, 1), 2));
  const uint32_t dtype = tn_dtype_of_onnx(tn_low_int(&l, "out_type", tn_onnx_of_dtype(TN_I32)));
  return tn_low_done(&l, lo_reduce(&l, "ReduceSum", tn_low_cast(&l, before, dtype), &last, 1, 0));
}

tn_status tf_lower_bound(const tn_call *call, tn_graph *graph, int32_t node) {
  return bound(call, graph, node, "Less");
}

tn_status tf_upper_bound(const tn_call *call, tn_graph *graph, int32_t node) {
  return bound(call, graph, node, "LessOrEqual");
}

/* Are fewer than k numbers of its row above the one of the target? */
tn_status tf_in_top_k(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_status s = lo_rank(&l, 0, 2);
  if (s) return s;
  const tn_tensor *x = tn_low_type(&l, 0);
  const int64_t last = 1;
  const int32_t to = tn_low_in_i64(&l, 1), zero = tn_low_number(&l, TN_I64, 0),
                end = tn_low_number(&l, TN_I64, (double)x->shape[1]);
  const int32_t is_class =
      tn_low_2(&l, "And", tn_low_2(&l, "GreaterOrEqual", to, zero), tn_low_2(&l, "Less", to, end));
  const tn_attr axis = tn_attr_int("axis", 1);
  const int32_t in[] = {tn_low_in(&l, 0),
                        lo_unsqueeze(&l, tn_low_3(&l, "Where", is_class, to, zero), 1)};
  const int32_t own = tn_low_emit(&l, "GatherElements", in, 2, &axis, 1);
  const int32_t above = tn_low_cast(&l, tn_low_2(&l, "Greater", in[0], own), TN_I64);
  const int32_t n = lo_reduce(&l, "ReduceSum", above, &last, 1, 0);
  return tn_low_done(&l,
                     tn_low_2(&l, "And", is_class, tn_low_2(&l, "Less", n, tn_low_in_i64(&l, 2))));
}

/* Elements of x that the other list does not have, and where they were. */
tn_status tf_list_diff(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int64_t first = 0, last = 1;
  const int32_t same = tn_low_2(&l, "Equal", lo_unsqueeze(&l, tn_low_in(&l, 0), last),
                                lo_unsqueeze(&l, tn_low_in(&l, 1), first));
  const int32_t found = lo_reduce(&l, "ReduceSum", tn_low_cast(&l, same, TN_I64), &last, 1, 0);
  const int32_t stays = tn_low_2(&l, "Equal", found, tn_low_number(&l, TN_I64, 0));
  const int32_t at = lo_squeeze(&l, tn_low_1(&l, "NonZero", stays), first);
  const uint32_t dtype = tn_dtype_of_onnx(tn_low_int(&l, "out_idx", tn_onnx_of_dtype(TN_I32)));
  const int32_t out[] = {tn_low_2(&l, "Gather", tn_low_in(&l, 0), at), tn_low_cast(&l, at, dtype)};
  return tn_low_done_many(&l, out, call->n_outputs);
}

tn_status tf_unique_with_counts(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_attr sorted = tn_attr_int("sorted", 0);
  const int32_t x = tn_low_in(&l, 0);
  int32_t all[4];
  const tn_status s = tn_low_emit_many(&l, "Unique", &x, 1, &sorted, 1, 4, all);
  if (s) return s;
  const uint32_t dtype = tn_dtype_of_onnx(tn_low_int(&l, "out_idx", tn_onnx_of_dtype(TN_I32)));
  const int32_t out[] = {all[0], tn_low_cast(&l, all[2], dtype), tn_low_cast(&l, all[3], dtype)};
  return tn_low_done_many(&l, out, call->n_outputs);
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
