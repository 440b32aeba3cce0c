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
