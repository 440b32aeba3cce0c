/* Rewrites: chains of simple operators that spell out a normalisation of the last dims become that
 * normalisation.
 *
 *   c = x - mean(x);  c / sqrt(mean(c^2) + epsilon) * scale + bias     LayerNormalization
 *   x / sqrt(mean(x^2) + epsilon) * scale                              RMSNormalization
 *
 * Squares are Pow(x, 2) or Mul(x, x); quotients Div or Mul by Reciprocal or by Div of 1. Of a layer
 * normalisation bias and scale may be missing; Keras has x r + (bias - mean(x) r), where
 * r = scale / sqrt(mean(c^2) + epsilon). */
#include "norm.gen.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/pattern.h"

/* value = ReduceMean of x over its dims from `axis` on, which stay as 1: the shapes say so. Answers
 * the axis; -1: it is not. */
static int32_t mean_axis(const tn_pattern *p, int32_t value, int32_t x) {
  const tn_node *mean = tn_pattern_node(p, value, "ReduceMean");
  const tn_tensor *from = tn_pattern_type(p, x), *to = tn_pattern_type(p, value);
  if (!mean || mean->inputs[0] != x || !from || !to || from->rank < 1 || to->rank != from->rank)
    return -1;
  int32_t axis = 0;
  while (axis + 1 < to->rank && to->shape[axis] == from->shape[axis]) axis++;
  for (int32_t k = axis; k < to->rank; k++)
    if (to->shape[k] != 1) return -1;
  return axis;
}

/* The value that is squared; -1: none is. */
static int32_t square_of(const tn_pattern *p, int32_t value) {
  const tn_node *pow = tn_pattern_inner(p, value, "Pow"), *mul = tn_pattern_inner(p, value, "Mul");
  double exponent;
  if (pow && tn_pattern_number(p, pow->inputs[1], &exponent) && exponent == 2)
    return pow->inputs[0];
  return mul && mul->inputs[0] == mul->inputs[1] ? mul->inputs[0] : -1;
}

typedef struct deviation {
  int32_t of, axis;
  double epsilon;
} deviation;

/* value = sqrt(mean(of^2) + epsilon) */
static bool is_deviation(const tn_pattern *p, int32_t value, deviation *out) {
  const tn_node *root = tn_pattern_inner(p, value, "Sqrt");
  const tn_node *add = root ? tn_pattern_inner(p, root->inputs[0], "Add") : NULL;
  int32_t mean;
  if (!add || !tn_pattern_with_number(add, p, true, &mean, &out->epsilon)) return false;
  const tn_node *reduce = tn_pattern_inner(p, mean, "ReduceMean");
  if (!reduce) return false;
  out->axis = mean_axis(p, mean, reduce->inputs[0]);
  out->of = square_of(p, reduce->inputs[0]);
  return out->axis >= 0 && out->of >= 0 && out->epsilon >= 0;
}

/* value = 1 / sqrt(mean(of^2) + epsilon) */
static bool is_inverse(const tn_pattern *p, int32_t value, deviation *out) {
  const tn_node *inverse = tn_pattern_inner(p, value, "Reciprocal"),
                *div = tn_pattern_inner(p, value, "Div");
  double one;
  if (inverse) return is_deviation(p, inverse->inputs[0], out);
  return div && tn_pattern_number(p, div->inputs[0], &one) && one == 1 &&
         is_deviation(p, div->inputs[1], out);
}

/* value = x - mean(x) over the dims from axis on: answers x, or -1. */
static int32_t centred(const tn_pattern *p, int32_t value, int32_t *out_axis) {
  const tn_node *sub = tn_pattern_node(p, value, "Sub");
  *out_axis = sub ? mean_axis(p, sub->inputs[1], sub->inputs[0]) : -1;
  return *out_axis >= 0 ? sub->inputs[0] : -1;
}

/* The same value, or both the same x - mean(x). */
static bool are_same(const tn_pattern *p, int32_t a, int32_t b) {
  int32_t axis, other;
  const int32_t x = centred(p, a, &axis);
  return a == b || (x >= 0 && centred(p, b, &other) == x && other == axis);
}

/* n = x / sqrt(mean(x^2) + epsilon): answers x, or -1. */
static int32_t normalised(const tn_pattern *p, const tn_node *n, deviation *out) {
  if (!n || *n->domain || n->n_inputs != 2) return -1;
  if (!strcmp(n->op, "Div") && is_deviation(p, n->inputs[1], out) &&
      are_same(p, n->inputs[0], out->of))
    return n->inputs[0];
  for (int k = 0; !strcmp(n->op, "Mul") && k < 2; k++)
    if (is_inverse(p, n->inputs[1 - k], out) && are_same(p, n->inputs[k], out->of))
      return n->inputs[k];
  return -1;
}

/* One value per element of x's dims from axis on, of its dtype. */
static bool is_row(const tn_pattern *p, int32_t value, const tn_tensor *x, int32_t axis) {
  const tn_tensor *t = tn_pattern_type(p, value);
  int64_t n = 1;
  if (!t || t->dtype != x->dtype || t->rank < x->rank - axis || t->rank > x->rank) return false;
  for (int32_t k = 1; k <= x->rank - axis; k++) {
    if (t->shape[t->rank - k] != x->shape[x->rank - k]) return false;
    n *= x->shape[x->rank - k];
  }
  return tn_elements(t) == n;
}

static const tn_tensor *float_type(const tn_pattern *p, int32_t value) {
  const tn_tensor *t = tn_pattern_type(p, value);
  return t && (t->dtype == TN_F32 || t->dtype == TN_F64) && t->rank >= 1 ? t : NULL;
}

/* A number of more dims than x gives the result more dims, too. */
static bool has_shape_of(const tn_pattern *p, const tn_node *root, const tn_tensor *x) {
  const tn_tensor *y = tn_pattern_type(p, root->outputs[0]);
  return y && tn_same_shape(y, x);
}

/* ---- layer normalisation ---- */

typedef struct layer_norm {
  int32_t x, scale, bias; /* -1: there is none */
  deviation d;
  const tn_tensor *type; /* of x */
} layer_norm;

/* Scale and bias fit x. */
static bool fits(const tn_pattern *p, layer_norm *f) {
  f->type = f->x < 0 ? NULL : float_type(p, f->x);
  return f->type && tn_elements(f->type) > 0 &&
         (f->scale < 0 || is_row(p, f->scale, f->type, f->d.axis)) &&
         (f->bias < 0 || is_row(p, f->bias, f->type, f->d.axis));
}

static bool is_plain(const tn_pattern *p, const tn_node *n, layer_norm *f) {
  const int32_t c = normalised(p, n, &f->d);
  int32_t axis;
  f->x = c < 0 ? -1 : centred(p, c, &axis);
  f->scale = f->bias = -1;
  return f->x >= 0 && axis == f->d.axis && fits(p, f);
}

static bool is_scaled(const tn_pattern *p, const tn_node *mul, layer_norm *f) {
  for (int k = 0; mul && mul->n_inputs == 2 && k < 2; k++) {
    const tn_node *div = tn_pattern_inner(p, mul->inputs[k], "Div"),
                  *times = tn_pattern_inner(p, mul->inputs[k], "Mul");
    if (!is_plain(p, div ? div : times, f)) continue;
    f->scale = mul->inputs[1 - k];
    if (fits(p, f)) return true;
  }
  return false;
}

static bool is_shifted(const tn_pattern *p, const tn_node *add, layer_norm *f) {
  for (int k = 0; k < 2; k++) {
    if (!is_scaled(p, tn_pattern_inner(p, add->inputs[k], "Mul"), f)) continue;
    f->bias = add->inputs[1 - k];
    if (fits(p, f)) return true;
  }
  return false;
}

/* rate = scale / sqrt(mean(c^2) + epsilon), of c = x - mean, and these are x and mean. */
static bool is_rate(const tn_pattern *p, int32_t rate, int32_t x, int32_t mean, layer_norm *f) {
  const tn_node *mul = tn_pattern_is_read(p, rate, 2) ? tn_pattern_node(p, rate, "Mul") : NULL;
  for (int k = 0; mul && k < 2; k++) {
    int32_t axis;
    if (!is_inverse(p, mul->inputs[k], &f->d) || centred(p, f->d.of, &axis) != x ||
        axis != f->d.axis || mean_axis(p, mean, x) != axis)
      continue;
    f->x = x;
    f->scale = mul->inputs[1 - k];
    return true;
  }
  return false;
}

/* x rate + (bias - mean rate) */
static bool is_keras(const tn_pattern *p, const tn_node *add, layer_norm *f) {
  for (int k = 0; k < 2; k++) {
    const tn_node *mul = tn_pattern_inner(p, add->inputs[k], "Mul"),
                  *sub = tn_pattern_inner(p, add->inputs[1 - k], "Sub"),
                  *less = sub ? tn_pattern_inner(p, sub->inputs[1], "Mul") : NULL;
    for (int i = 0; mul && less && i < 4; i++) {
      const int32_t rate = mul->inputs[i & 1];
      if (less->inputs[i >> 1] != rate ||
          !is_rate(p, rate, mul->inputs[!(i & 1)], less->inputs[!(i >> 1)], f))
        continue;
      f->bias = sub->inputs[0];
      if (fits(p, f)) return true;
    }
  }
  return false;
}

/* Does one node of this operator read the value, and a row with it? Then that is the root. */
static bool is_followed(const tn_pattern *p, int32_t value, const char *op, const layer_norm *f) {
  const int32_t user =
      tn_pattern_is_read(p, value, 1) ? p->api->value_user(p->graph, value, 0) : -1;
  const tn_node *n = tn_pattern_root(p, user);
  return n && !*n->domain && !strcmp(n->op, op) && n->n_inputs == 2 &&
         is_row(p, n->inputs[n->inputs[0] == value], f->type, f->d.axis);
}

/* Ones for all of x's dims from axis on. */
static int32_t emit_ones(const tn_call *call, tn_graph *graph, const layer_norm *f) {
  const tn_tensor type =
      tn_tensor_make(f->type->dtype, f->type->rank - f->d.axis, f->type->shape + f->d.axis, NULL);
  const int32_t fill = tn_emit_number(call, graph, type.dtype, 1);
  int32_t value;
  if (fill < 0) return fill;
  tn_moves moves = tn_moves_begin(call, graph);
  const tn_status s = tn_moves_emit(&moves, &type, &fill, 1, 0, &value);
  return s ? s : value;
}

tn_status layer_norm_fuse(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *root = tn_pattern_root(&p, node);
  layer_norm f = {.bias = -1};
  if (!root || root->n_inputs != 2) return TN_OK;
  if (!strcmp(root->op, "Add")) {
    if (!is_shifted(&p, root, &f) && !is_keras(&p, root, &f)) return TN_OK;
  } else if (!strcmp(root->op, "Mul") && is_scaled(&p, root, &f)) {
    if (is_followed(&p, root->outputs[0], "Add", &f)) return TN_OK;
  } else if (!is_plain(&p, root, &f) || is_followed(&p, root->outputs[0], "Mul", &f)) {
    return TN_OK;
  }
  if (!has_shape_of(&p, root, f.type)) return TN_OK;
  const tn_attr attrs[2] = {tn_attr_int("axis", f.d.axis - f.type->rank),
                            tn_attr_float("epsilon", f.d.epsilon)};
  const int32_t inputs[3] = {f.x, f.scale < 0 ? emit_ones(call, graph, &f) : f.scale, f.bias};
  return tn_lower_as(call, graph, node, "LayerNormalization", inputs, f.bias < 0 ? 2 : 3, attrs, 2);
}

/* ---- RMS normalisation ---- */

/* Where x is centred itself, it is a layer normalisation. */
tn_status rms_norm_fuse(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *mul = tn_pattern_root(&p, node);
  for (int k = 0; mul && k < 2 && mul->n_inputs == 2; k++) {
    deviation d;
    const tn_node *div = tn_pattern_inner(&p, mul->inputs[k], "Div"),
                  *times = tn_pattern_inner(&p, mul->inputs[k], "Mul");
    const int32_t x = normalised(&p, div ? div : times, &d), inputs[2] = {x, mul->inputs[1 - k]};
    const tn_tensor *type = x < 0 ? NULL : float_type(&p, x);
    int32_t axis;
    if (!type || centred(&p, x, &axis) >= 0 || !is_row(&p, inputs[1], type, d.axis) ||
        !has_shape_of(&p, mul, type))
      continue;
    const tn_attr attrs[2] = {tn_attr_int("axis", d.axis - type->rank),
                              tn_attr_float("epsilon", d.epsilon)};
    return tn_lower_as(call, graph, node, "RMSNormalization", inputs, 2, attrs, 2);
  }
  return TN_OK;
}
