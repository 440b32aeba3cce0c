/* Activations with numbers of their own. Integers are not taken, as in PyTorch. */
#include "aten.h"
#include "aten_pointwise.gen.h"

static int32_t number(const tn_lowering *l, double f) {
  return tn_low_number(l, tn_low_type(l, 0)->dtype, f);
}

static double scalar(const tn_lowering *l, const char *name, double missing) {
  const at_scalar s = at_number(l, name);
  return s.is_there ? s.f : missing;
}

/* Bounds that no integer reaches do not wrap. */
static int32_t clip(const tn_lowering *l, int32_t x, double lo, double hi) {
  const tn_dtype_info *d = tn_dtype(tn_low_type(l, 0)->dtype);
  if (d->is_int && d->bits < 64) {
    const double most = ldexp(1, (int)d->bits - d->is_signed) - 1;
    lo = fmax(lo, d->is_signed ? -most - 1 : 0);
    hi = fmin(hi, most);
  }
  return tn_low_3(l, "Clip", x, number(l, lo), number(l, hi));
}

tn_status aten_hardtanh(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const bool six = at_is(&l, "relu6");
  return tn_low_done(&l, clip(&l, tn_low_in(&l, 0), six ? 0 : scalar(&l, "min_val", -1),
                              six ? 6 : scalar(&l, "max_val", 1)));
}

tn_status aten_leaky_relu(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return tn_low_done(&l, at_with_float(&l, "LeakyRelu", tn_low_in(&l, 0), "alpha",
                                       scalar(&l, "negative_slope", 0.01)));
}

/* The mean of its two slopes, as it is when nothing is trained. */
tn_status aten_rrelu(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  if (tn_low_int(&l, "training", 0)) return tn_low_unsupported(&l, "rrelu while training");
  const double slope = (scalar(&l, "lower", 0.125) + scalar(&l, "upper", 1.0 / 3)) / 2;
  return tn_low_done(&l, at_with_float(&l, "LeakyRelu", tn_low_in(&l, 0), "alpha", slope));
}

/* scale * (x > 0 ? x : alpha * (exp(x * input_scale) - 1)) */
tn_status aten_elu(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const double scale = scalar(&l, "scale", 1), inner = scalar(&l, "input_scale", 1);
  const double alpha = scalar(&l, "alpha", 1);
  const int32_t x = tn_low_in(&l, 0);
  if (inner == 1) {
    const int32_t y = at_with_float(&l, "Elu", x, "alpha", alpha);
    return tn_low_done(&l, scale == 1 ? y : tn_low_2(&l, "Mul", y, number(&l, scale)));
  }
  const int32_t low =
      at_with_float(&l, "Elu", tn_low_2(&l, "Mul", x, number(&l, inner)), "alpha", alpha * scale);
  const int32_t positive = tn_low_2(&l, "Greater", x, number(&l, 0));
  return tn_low_done(&l, at_where(&l, positive, tn_low_2(&l, "Mul", x, number(&l, scale)), low));
}

tn_status aten_celu(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return tn_low_done(&l,
                     at_with_float(&l, "Celu", tn_low_in(&l, 0), "alpha", scalar(&l, "alpha", 1)));
}

tn_status aten_selu(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return tn_low_done(&l, tn_low_1(&l, "Selu", tn_low_in(&l, 0)));
}

tn_status aten_gelu(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_attr a =
      tn_attr_str("approximate", at_says(&l, "approximate", "tanh") ? "tanh" : "none");
  const int32_t x = tn_low_in(&l, 0);
  return tn_low_done(&l, tn_low_emit(&l, "Gelu", &x, 1, &a, 1));
}

tn_status aten_hardsigmoid(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return tn_low_done(&l, at_with_float(&l, "HardSigmoid", tn_low_in(&l, 0), "alpha", 1.0 / 6));
}

tn_status aten_hardswish(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return tn_low_done(&l, tn_low_1(&l, "HardSwish", tn_low_in(&l, 0)));
}

tn_status aten_mish(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  return tn_low_done(&l, tn_low_1(&l, "Mish", tn_low_in(&l, 0)));
}

/* Linear where beta * x is above the threshold. */
tn_status aten_softplus(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const double beta = scalar(&l, "beta", 1), threshold = scalar(&l, "threshold", 20);
  const int32_t x = tn_low_in(&l, 0);
  const int32_t scaled = beta == 1 ? x : tn_low_2(&l, "Mul", x, number(&l, beta));
  int32_t y = tn_low_1(&l, "Softplus", scaled);
  if (beta != 1) y = tn_low_2(&l, "Div", y, number(&l, beta));
  const int32_t linear = tn_low_2(&l, "Greater", scaled, number(&l, threshold));
  return tn_low_done(&l, at_where(&l, linear, x, y));
}

tn_status aten_shrink(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const double lambda = scalar(&l, "lambd", 0.5);
  const tn_attr attrs[] = {tn_attr_float("lambd", lambda),
                           tn_attr_float("bias", at_is(&l, "softshrink") ? lambda : 0)};
  const int32_t x = tn_low_in(&l, 0);
  return tn_low_done(&l, tn_low_emit(&l, "Shrink", &x, 1, attrs, 2));
}

/* x where it is above the threshold, else the value; NaN is not above, but stays. */
tn_status aten_threshold(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = tn_low_type(&l, 0)->dtype;
  const int32_t x = tn_low_in(&l, 0);
  const int32_t low =
      tn_low_2(&l, "LessOrEqual", x, at_const(&l, dtype, at_number(&l, "threshold")));
  return tn_low_done(&l, at_where(&l, low, at_const(&l, dtype, at_number(&l, "value")), x));
}

tn_status aten_prelu(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0), *w = tn_low_type(&l, 1);
  int64_t shape[TN_MAX_RANK];
  int32_t slope = tn_low_in(&l, 1);
  for (int32_t k = 0; k < x->rank; k++) shape[k] = 1;
  if (w->rank == 1 && x->rank > 1) shape[1] = w->shape[0];
  if (w->rank == 1 && x->rank > 0) slope = tn_low_reshape(&l, slope, x->rank, shape);
  if (x->rank == 0 && w->rank == 1) slope = tn_low_reshape(&l, slope, 0, shape);
  return tn_low_done(&l, tn_low_2(&l, "PRelu", tn_low_in(&l, 0), slope));
}

/* One half times the sigmoid of the other. */
tn_status aten_glu(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *x = tn_low_type(&l, 0);
  const int32_t dim = at_dim(&l, tn_low_int(&l, "dim", -1), x->rank);
  if (dim < 0) return dim;
  if (x->rank == 0 || x->shape[dim] % 2)
    return at_fail(&l, TN_ERR_SHAPE, "glu halves a dim, which has to be even");
  const int64_t half = x->shape[dim] / 2;
  const int32_t a = at_slice(&l, tn_low_in(&l, 0), dim, 0, half, 1),
                b = at_slice(&l, tn_low_in(&l, 0), dim, half, 2 * half, 1);
  return tn_low_done(&l, tn_low_2(&l, "Mul", a, tn_low_1(&l, "Sigmoid", b)));
}
