/* Rewrites: chains of simple operators that spell out a normalisation of the last dim become that
 * normalisation.
 *
 *   c = x - mean(x);  c / sqrt(mean(c^2) + epsilon) * scale + bias     LayerNormalization
 *   x / sqrt(mean(x^2) + epsilon) * scale                              RMSNormalization
 *
 * Squares are Pow(x, 2) or Mul(x, x); quotients Div or Mul by Reciprocal or by Div of 1. */
#include "base/lower.h"
#include "base/pattern.h"
#include "norm.gen.h"

/* value = ReduceMean of x over its last dim, which stays as 1: the shapes say so. */
static bool is_mean_of(const tn_pattern *p, int32_t value, int32_t x) {
  const tn_node *mean = tn_pattern_node(p, value, "ReduceMean");
  const tn_tensor *from = tn_pattern_type(p, x), *to = tn_pattern_type(p, value);
  if (!mean || mean->inputs[0] != x || !from || !to || from->rank < 1 || to->rank != from->rank)
    return false;
  for (int32_t k = 0; k < to->rank; k++)
    if (to->shape[k] != (k + 1 < to->rank ? from->shape[k] : 1)) return false;
  return true;
}

/* The value that is squared; -1: none is. */
static int32_t square_of(const tn_pattern *p, int32_t value) {
  const tn_node *pow = tn_pattern_inner(p, value, "Pow"), *mul = tn_pattern_inner(p, value, "Mul");
  double exponent;
  if (pow && tn_pattern_number(p, pow->inputs[1], &exponent) && exponent == 2)
    return pow->inputs[0];
  return mul && mul->inputs[0] == mul->inputs[1] ? mul->inputs[0] : -1;
}

/* value = sqrt(mean(x^2) + epsilon) */
static bool is_deviation_of(const tn_pattern *p, int32_t value, int32_t x, double *out_epsilon) {
  const tn_node *root = tn_pattern_inner(p, value, "Sqrt");
  const tn_node *add = root ? tn_pattern_inner(p, root->inputs[0], "Add") : NULL;
  int32_t mean;
  if (!add || !tn_pattern_with_number(add, p, true, &mean, out_epsilon)) return false;
  const tn_node *reduce = tn_pattern_inner(p, mean, "ReduceMean");
  return reduce && is_mean_of(p, mean, reduce->inputs[0]) && square_of(p, reduce->inputs[0]) == x &&
         *out_epsilon >= 0;
}

/* value = 1 / sqrt(mean(x^2) + epsilon) */
static bool is_inverse_of(const tn_pattern *p, int32_t value, int32_t x, double *out_epsilon) {
  const tn_node *inverse = tn_pattern_inner(p, value, "Reciprocal"),
                *div = tn_pattern_inner(p, value, "Div");
  double one;
  if (inverse) return is_deviation_of(p, inverse->inputs[0], x, out_epsilon);
  return div && tn_pattern_number(p, div->inputs[0], &one) && one == 1 &&
         is_deviation_of(p, div->inputs[1], x, out_epsilon);
}

/* value = x / sqrt(mean(x^2) + epsilon): answers x, or -1. */
static int32_t normalised(const tn_pattern *p, int32_t value, double *out_epsilon) {
  const tn_node *div = tn_pattern_inner(p, value, "Div"), *mul = tn_pattern_inner(p, value, "Mul");
  if (div && is_deviation_of(p, div->inputs[1], div->inputs[0], out_epsilon)) return div->inputs[0];
  for (int k = 0; mul && k < 2; k++)
    if (is_inverse_of(p, mul->inputs[1 - k], mul->inputs[k], out_epsilon)) return mul->inputs[k];
  return -1;
}

/* value = x - mean(x): answers x, or -1. */
static int32_t centred(const tn_pattern *p, int32_t value) {
  const tn_node *sub = tn_pattern_node(p, value, "Sub");
  return sub && is_mean_of(p, sub->inputs[1], sub->inputs[0]) ? sub->inputs[0] : -1;
}

/* One value per element of x's last dim, of its dtype. */
static bool is_row(const tn_pattern *p, int32_t value, const tn_tensor *x) {
  const tn_tensor *t = tn_pattern_type(p, value);
  const int64_t n = x->shape[x->rank - 1];
  return t && t->dtype == x->dtype && t->rank >= 1 && t->rank <= x->rank &&
         t->shape[t->rank - 1] == n && tn_tensor_elements(t) == n;
}

static const tn_tensor *float_type(const tn_pattern *p, int32_t value) {
  const tn_tensor *t = tn_pattern_type(p, value);
  return t && (t->dtype == TN_F32 || t->dtype == TN_F64) && t->rank >= 1 ? t : NULL;
}

/* Places at which c = x - mean(x) is read: once by the quotient, and by its square. */
static bool is_private(const tn_pattern *p, int32_t c) {
  return tn_pattern_is_read(p, c, 2) || tn_pattern_is_read(p, c, 3);
}

tn_status layer_norm_fuse(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *add = tn_pattern_root(&p, node);
  for (int k = 0; add && k < 4 && add->n_inputs == 2; k++) {
    const tn_node *mul = tn_pattern_inner(&p, add->inputs[k & 1], "Mul");
    if (!mul) continue;
    double epsilon;
    const int32_t c = normalised(&p, mul->inputs[k >> 1], &epsilon), x = centred(&p, c),
                  inputs[3] = {x, mul->inputs[1 - (k >> 1)], add->inputs[1 - (k & 1)]};
    const tn_tensor *type = x < 0 ? NULL : float_type(&p, x);
    if (!type || !is_private(&p, c) || !is_row(&p, inputs[1], type) || !is_row(&p, inputs[2], type))
      continue;
    const tn_attr attrs[2] = {tn_attr_int("axis", -1), tn_attr_float("epsilon", epsilon)};
    return tn_lower_as(call, graph, node, "LayerNormalization", inputs, 3, attrs, 2);
  }
  return TN_OK;
}

/* Where x is centred itself, the sum behind the product may make it a layer normalisation. */
tn_status rms_norm_fuse(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *mul = tn_pattern_root(&p, node);
  for (int k = 0; mul && k < 2 && mul->n_inputs == 2; k++) {
    double epsilon;
    const int32_t x = normalised(&p, mul->inputs[k], &epsilon), inputs[2] = {x, mul->inputs[1 - k]};
    const tn_tensor *type = x < 0 ? NULL : float_type(&p, x);
    if (!type || centred(&p, x) >= 0 || !is_row(&p, inputs[1], type)) continue;
    const tn_attr attrs[2] = {tn_attr_int("axis", -1), tn_attr_float("epsilon", epsilon)};
    return tn_lower_as(call, graph, node, "RMSNormalization", inputs, 2, attrs, 2);
  }
  return TN_OK;
}
