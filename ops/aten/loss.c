/* Losses: what each element loses, then all of it, its mean or its sum. */
#include "aten.h"
#include "aten_reduce.gen.h"

static tn_status reduced(const tn_lowering *l, int32_t y) {
  enum { NONE, MEAN, SUM };
  const int64_t how = tn_low_int(l, "reduction", MEAN);
  if (how == NONE) return tn_low_done(l, tn_low_1(l, "Identity", y));
  const tn_attr keeps = tn_attr_int("keepdims", 0);
  return tn_low_done(l, tn_low_emit(l, how == SUM ? "ReduceSum" : "ReduceMean", &y, 1, &keeps, 1));
}

/* Below the bound its square / 2 / scale, above it the distance less the half of the bound. */
static int32_t bent(const tn_lowering *l, int32_t off, uint32_t dtype, double bound, bool huber) {
  const int32_t b = tn_low_number(l, dtype, bound), half = tn_low_number(l, dtype, 0.5);
  const int32_t square = tn_low_2(l, "Mul", half, tn_low_2(l, "Mul", off, off));
  const int32_t line = tn_low_2(l, "Sub", off, tn_low_2(l, "Mul", half, b));
  const int32_t near = huber ? square : tn_low_2(l, "Div", square, b),
                far = huber ? tn_low_2(l, "Mul", b, line) : line;
  return at_where(l, tn_low_2(l, "Less", off, b), near, far);
}

/* mse_loss, l1_loss, smooth_l1_loss, huber_loss */
tn_status aten_distance_loss(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = at_promote_inputs(&l, (at_scalar){.f = 0});
  if (at_category(dtype) != AT_FLOAT) return tn_low_unsupported(&l, "other than floats");
  int32_t off = tn_low_2(&l, "Sub", at_in(&l, 0, dtype), at_in(&l, 1, dtype));
  if (at_is(&l, "mse_loss")) return reduced(&l, tn_low_2(&l, "Mul", off, off));
  const bool huber = at_is(&l, "huber_loss"), smooth = at_is(&l, "smooth_l1_loss");
  const double bound = tn_low_float(&l, huber ? "delta" : "beta", 1);
  off = tn_low_1(&l, "Abs", off);
  return reduced(&l, (huber || smooth) && bound > 0 ? bent(&l, off, dtype, bound, huber) : off);
}

/* max(x, 0) - x y + log(1 + exp(-|x|)), times the weight */
tn_status aten_bce_logits(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = tn_low_type(&l, 0)->dtype;
  if (at_category(dtype) != AT_FLOAT) return tn_low_unsupported(&l, "other than floats");
  const int32_t x = tn_low_in(&l, 0), y = at_in(&l, 1, dtype), one = tn_low_number(&l, dtype, 1);
  const int32_t soft = tn_low_1(&l, "Softplus", tn_low_1(&l, "Neg", x));
  int32_t loss = tn_low_2(&l, "Mul", tn_low_2(&l, "Sub", one, y), x);
  if (tn_low_type(&l, 3)) {
    const int32_t more = tn_low_2(&l, "Sub", at_in(&l, 3, dtype), one);
    const int32_t weight = tn_low_2(&l, "Add", one, tn_low_2(&l, "Mul", more, y));
    loss = tn_low_2(&l, "Add", loss, tn_low_2(&l, "Mul", weight, soft));
  } else {
    loss = tn_low_2(&l, "Add", loss, soft);
  }
  if (tn_low_type(&l, 2)) loss = tn_low_2(&l, "Mul", loss, at_in(&l, 2, dtype));
  return reduced(&l, loss);
}

/* target (log(target) - self); log_target: the target is a logarithm. */
tn_status aten_kl_div(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t dtype = at_promote_inputs(&l, (at_scalar){.f = 0});
  if (at_category(dtype) != AT_FLOAT) return tn_low_unsupported(&l, "other than floats");
  const int32_t x = at_in(&l, 0, dtype), t = at_in(&l, 1, dtype);
  if (tn_low_int(&l, "log_target", 0))
    return reduced(&l, tn_low_2(&l, "Mul", tn_low_1(&l, "Exp", t), tn_low_2(&l, "Sub", t, x)));
  const int32_t zero = tn_low_number(&l, dtype, 0);
  const int32_t own = tn_low_2(&l, "Mul", t, tn_low_1(&l, "Log", t));
  const int32_t entropy = at_where(&l, tn_low_2(&l, "Equal", t, zero), zero, own);
  return reduced(&l, tn_low_2(&l, "Sub", entropy, tn_low_2(&l, "Mul", t, x)));
}

/* ---- cross entropy ---- */

/* Inputs: logarithms of what each class has, or what they are made of; targets, perhaps weights. */
typedef struct classes {
  int32_t logs, weights; /* [N, C, ...]; [1, C, 1 ...], or TN_NO_ID */
  int32_t rank, dim;     /* the dim of the classes */
  int64_t n;
  uint32_t dtype;
  double smoothing;
} classes;

static tn_status open_classes(const tn_lowering *l, classes *c) {
  const tn_tensor *x = tn_low_type(l, 0), *w = tn_low_type(l, 2);
  int64_t shape[TN_MAX_RANK];
  *c = (classes){.rank = x->rank, .dim = x->rank > 1, .dtype = x->dtype, .weights = TN_NO_ID};
  if (at_category(x->dtype) != AT_FLOAT || x->rank < 1)
    return tn_low_unsupported(l, "other than floats with a dim of classes");
  c->n = x->shape[c->dim];
  c->smoothing = tn_low_float(l, "label_smoothing", 0);
  c->logs = tn_low_in(l, 0);
  if (at_is(l, "cross_entropy_loss"))
    c->logs = tn_low_1_int(l, "LogSoftmax", c->logs, "axis", c->dim);
  if (!w) return TN_OK;
  if (w->rank != 1 || w->shape[0] != c->n)
    return at_fail(l, TN_ERR_SHAPE, "there is not one weight for each class");
  for (int32_t k = 0; k < x->rank; k++) shape[k] = k == c->dim ? c->n : 1;
  c->weights = tn_low_reshape(l, at_in(l, 2, c->dtype), x->rank, shape);
  return TN_OK;
}

/* -sum over classes of the weighted logarithms, each times a share, or not. */
static int32_t summed(const tn_lowering *l, const classes *c, int32_t share) {
  const int64_t dim = c->dim;
  int32_t y = tn_low_1(l, "Neg", c->logs);
  if (c->weights != TN_NO_ID) y = tn_low_2(l, "Mul", y, c->weights);
  if (share != TN_NO_ID) y = tn_low_2(l, "Mul", y, share);
  return at_reduce(l, "ReduceSum", y, &dim, 1, false);
}

/* The mean is that by weights, which add up to `total`. */
static int32_t reduced_by(const tn_lowering *l, int32_t y, int32_t total) {
  enum { NONE, MEAN, SUM };
  const int64_t how = tn_low_int(l, "reduction", MEAN);
  const tn_attr keeps = tn_attr_int("keepdims", 0);
  if (how == NONE) return y;
  y = tn_low_emit(l, "ReduceSum", &y, 1, &keeps, 1);
  return how == SUM ? y : tn_low_2(l, "Div", y, total);
}

/* Targets are shares of the classes. */
static tn_status by_shares(const tn_lowering *l, const classes *c) {
  int64_t count = 1;
  const tn_tensor *x = tn_low_type(l, 0);
  for (int32_t k = 0; k < x->rank; k++) count *= k == c->dim ? 1 : x->shape[k];
  int32_t share = at_in(l, 1, c->dtype);
  if (c->smoothing != 0)
    share =
        tn_low_2(l, "Add", tn_low_2(l, "Mul", share, tn_low_number(l, c->dtype, 1 - c->smoothing)),
                 tn_low_number(l, c->dtype, c->smoothing / (double)c->n));
  return tn_low_done(l,
                     reduced_by(l, summed(l, c, share), tn_low_number(l, c->dtype, (double)count)));
}

/* Targets are numbers of classes; one of them is passed over. */
static tn_status by_numbers(const tn_lowering *l, const classes *c) {
  const int64_t ignored = tn_low_int(l, "ignore_index", -100);
  const int32_t target = tn_low_in_i64(l, 1),
                kept = at_not(l, tn_low_2(l, "Equal", target, at_int_const(l, TN_I64, ignored))),
                number = at_where(l, kept, target, at_int_const(l, TN_I64, 0)),
                keeps = tn_low_cast(l, kept, c->dtype);
  int32_t weight = keeps;
  if (c->weights != TN_NO_ID)
    weight = tn_low_2(l, "Mul", keeps, at_gather(l, at_in(l, 2, c->dtype), number, 0));
  const int32_t pick[] = {c->logs, at_unsqueeze(l, number, c->dim)};
  const tn_attr axis = tn_attr_int("axis", c->dim);
  const int32_t chosen = at_squeeze(l, tn_low_emit(l, "GatherElements", pick, 2, &axis, 1), c->dim);
  int32_t y = tn_low_2(l, "Mul", tn_low_1(l, "Neg", chosen), weight);
  if (c->smoothing != 0) {
    const int32_t even = tn_low_2(l, "Mul", summed(l, c, TN_NO_ID), keeps);
    const double part = c->smoothing / (double)c->n;
    y = tn_low_2(l, "Add", tn_low_2(l, "Mul", y, tn_low_number(l, c->dtype, 1 - c->smoothing)),
                 tn_low_2(l, "Mul", even, tn_low_number(l, c->dtype, part)));
  }
  const tn_attr none = tn_attr_int("keepdims", 0);
  const int32_t total = tn_low_emit(l, "ReduceSum", &weight, 1, &none, 1);
  const int32_t out[] = {reduced_by(l, y, total), total};
  return tn_low_done_many(l, out, tn_low_node(l)->n_outputs < 2 ? 1 : 2);
}

/* cross_entropy_loss, nll_loss and its kinds. */
tn_status aten_class_loss(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  classes c;
  const tn_status s = open_classes(&l, &c);
  if (s) return s;
  return at_category(tn_low_type(&l, 1)->dtype) == AT_FLOAT ? by_shares(&l, &c)
                                                            : by_numbers(&l, &c);
}
