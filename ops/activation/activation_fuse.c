/* Rewrites: products, quotients and bounds that spell out an activation become that activation.
 *
 *   x sigmoid(a x)                                         Swish(alpha=a)
 *   x HardSigmoid(x; 1/6, 1/2), x clip(x + 3, 0, 6) / 6    HardSwish
 *   clip(x + 3, 0, 6) / 6                                  HardSigmoid(1/6, 1/2)
 *   x / (1 + exp(-a x)), 1 / (1 + exp(-x))                 Swish(alpha=a), Sigmoid
 *   x tanh(softplus(x)), x tanh(log(1 + exp(x)))           Mish
 *   x (erf(x / sqrt 2) + 1) / 2                            Gelu
 *   x (tanh(sqrt(2/pi) (x + 0.044715 x^3)) + 1) / 2        Gelu(tanh)
 *
 *   min(max(x, a), b), max(min(x, b), a) where a <= b      Clip(a, b)
 *   max(x, a x), 0 < a <= 1                                LeakyRelu(alpha=a)
 *
 * Clips in products may be any of these, or min(relu(x), b). A product is looked at as a list of
 * factors and one constant, so that the order of Mul and Div nodes does not matter. */
#include "activation.gen.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/pattern.h"

enum { MAX_FACTORS = 4 };

typedef struct product {
  int32_t factors[MAX_FACTORS], n;
  double scale;
} product;
typedef struct matcher {
  const tn_graph_api *api;
  tn_graph *graph;
  double tolerance;
} matcher;

/* How far a constant may be off, relatively: rounded to the type, times few roundings of an
 * exporter. */
static double tolerance_of(uint32_t dtype) {
  return dtype == TN_BF16 ? 8e-3 : dtype == TN_F16 ? 1e-3 : 2e-6;
}

static bool near(const matcher *m, double a, double b) {
  return fabs(a - b) <= m->tolerance * fabs(b);
}

static const tn_node *producer(const matcher *m, int32_t value, const char *op) {
  const tn_pattern p = {m->api, m->graph};
  return tn_pattern_node(&p, value, op);
}

static bool is_number(const matcher *m, int32_t value, double *out) {
  const tn_pattern p = {m->api, m->graph};
  return tn_pattern_number(&p, value, out);
}

/* Multiplies value onto p; products that nobody else reads are taken apart (top: in any case). */
static bool collect(const matcher *m, int32_t value, bool top, int depth, product *p) {
  double number;
  if (is_number(m, value, &number)) {
    p->scale *= number;
    return true;
  }
  const tn_node *mul = producer(m, value, "Mul"), *div = producer(m, value, "Div");
  const bool apart = depth > 0 && (top || m->api->value_n_users(m->graph, value) == 1);
  if (apart && mul)
    return collect(m, mul->inputs[0], false, depth - 1, p) &&
           collect(m, mul->inputs[1], false, depth - 1, p);
  if (apart && div && is_number(m, div->inputs[1], &number)) {
    p->scale /= number;
    return collect(m, div->inputs[0], false, depth - 1, p);
  }
  if (p->n == MAX_FACTORS) return false;
  p->factors[p->n++] = value;
  return true;
}

static bool product_of(const matcher *m, int32_t value, product *p) {
  *p = (product){.scale = 1};
  return collect(m, value, true, 5, p);
}

/* value = other + number, in either order. */
static bool is_sum(const matcher *m, int32_t value, double number, int32_t *out_other) {
  const tn_node *add = producer(m, value, "Add");
  for (int k = 0; add && k < 2; k++) {
    double found;
    if (!is_number(m, add->inputs[k], &found) || !near(m, found, number)) continue;
    *out_other = add->inputs[1 - k];
    return true;
  }
  return false;
}

/* value = scale * x */
static bool is_scaled(const matcher *m, int32_t value, int32_t x, double *out_scale) {
  product p;
  *out_scale = 1;
  if (value == x) return true;
  if (!product_of(m, value, &p) || p.n != 1 || p.factors[0] != x) return false;
  *out_scale = p.scale;
  return true;
}

/* value = scale * x^power */
static bool is_power(const matcher *m, int32_t value, int32_t x, int power, double scale) {
  product p;
  double exponent;
  if (!product_of(m, value, &p) || !near(m, p.scale, scale)) return false;
  int found = 0;
  for (int32_t k = 0; k < p.n; k++) {
    const tn_node *pow = producer(m, p.factors[k], "Pow");
    if (p.factors[k] == x)
      found++;
    else if (pow && pow->inputs[0] == x && is_number(m, pow->inputs[1], &exponent) &&
             near(m, exponent, rint(exponent)))
      found += (int)rint(exponent);
    else
      return false;
  }
  return found == power;
}

/* value = min(other, bound) or max(other, bound), as `op` says; Relu is a max. */
static bool is_bounded(const matcher *m, int32_t value, const char *op, int32_t *out_other,
                       double *out_bound) {
  const tn_node *n = producer(m, value, op);
  *out_bound = 0;
  if (!n && !strcmp(op, "Max") && (n = producer(m, value, "Relu"))) {
    *out_other = n->inputs[0];
    return true;
  }
  for (uint32_t k = 0; n && n->n_inputs == 2 && k < 2; k++) {
    *out_other = n->inputs[1 - k];
    if (is_number(m, n->inputs[k], out_bound)) return true;
  }
  return false;
}

typedef struct bounds {
  int32_t x;
  double lo, hi;
} bounds;

/* value = min(max(x, lo), hi), made of two nodes. */
static bool is_between(const matcher *m, int32_t value, bounds *out) {
  int32_t inner;
  const bool alone = is_bounded(m, value, "Min", &inner, &out->hi) &&
                     is_bounded(m, inner, "Max", &out->x, &out->lo);
  const bool turned = !alone && is_bounded(m, value, "Max", &inner, &out->lo) &&
                      is_bounded(m, inner, "Min", &out->x, &out->hi) && out->lo <= out->hi;
  return (alone || turned) && m->api->value_n_users(m->graph, inner) == 1 &&
         !(m->api->value_flags(m->graph, inner) & TN_VALUE_OUTPUT);
}

/* value = clip(x + 3, 0, 6): answers x, or -1. */
static int32_t relu6_of(const matcher *m, int32_t value) {
  const tn_node *clip = producer(m, value, "Clip");
  bounds b;
  int32_t x;
  if (clip && (clip->n_inputs != 3 || !is_number(m, clip->inputs[1], &b.lo) ||
               !is_number(m, clip->inputs[2], &b.hi)))
    return -1;
  if (clip)
    b.x = clip->inputs[0];
  else if (!is_between(m, value, &b))
    return -1;
  return b.lo == 0 && b.hi == 6 && is_sum(m, b.x, 3, &x) ? x : -1;
}

static bool is_hard_sigmoid_of(const matcher *m, int32_t value, int32_t x) {
  const int32_t id = m->api->value_producer(m->graph, value);
  const tn_node *n = producer(m, value, "HardSigmoid");
  const tn_hard_sigmoid_attrs *a = n ? m->api->node_attrs(m->graph, id) : NULL;
  return a && n->inputs[0] == x && near(m, a->alpha, 1.0 / 6) && near(m, a->beta, 0.5);
}

/* value = 1 + exp(other) */
static bool is_one_and_exp(const matcher *m, int32_t value, int32_t *out_other) {
  int32_t sum;
  const tn_node *exp = is_sum(m, value, 1, &sum) ? producer(m, sum, "Exp") : NULL;
  if (exp) *out_other = exp->inputs[0];
  return exp != NULL;
}

/* log(1 + exp(x)) is infinite where x is large, but its tanh is what it should be. */
static bool is_mish_weight(const matcher *m, int32_t value, int32_t x) {
  const tn_node *tanh = producer(m, value, "Tanh"),
                *softplus = tanh ? producer(m, tanh->inputs[0], "Softplus") : NULL,
                *log = tanh ? producer(m, tanh->inputs[0], "Log") : NULL;
  int32_t other;
  return (softplus && softplus->inputs[0] == x) ||
         (log && is_one_and_exp(m, log->inputs[0], &other) && other == x);
}

static bool is_erf_weight(const matcher *m, int32_t value, int32_t x) {
  int32_t inner;
  double scale;
  const tn_node *erf = is_sum(m, value, 1, &inner) ? producer(m, inner, "Erf") : NULL;
  return erf && is_scaled(m, erf->inputs[0], x, &scale) && near(m, scale, 0.70710678118654752440);
}

/* u = sqrt(2/pi) (x + 0.044715 x^3), or sqrt(2/pi) x (1 + 0.044715 x^2) */
static bool is_gelu_angle(const matcher *m, int32_t u, int32_t x) {
  product p;
  if (!product_of(m, u, &p) || !near(m, p.scale, 0.79788456080286535588)) return false;
  if (p.n == 1) {
    const tn_node *add = producer(m, p.factors[0], "Add");
    for (int k = 0; add && k < 2; k++) {
      if (add->inputs[k] == x && is_power(m, add->inputs[1 - k], x, 3, 0.044715)) return true;
    }
    return false;
  }
  int32_t rest;
  for (int k = 0; p.n == 2 && k < 2; k++) {
    if (p.factors[k] == x && is_sum(m, p.factors[1 - k], 1, &rest) &&
        is_power(m, rest, x, 2, 0.044715))
      return true;
  }
  return false;
}

static bool is_tanh_weight(const matcher *m, int32_t value, int32_t x) {
  int32_t inner;
  const tn_node *tanh = is_sum(m, value, 1, &inner) ? producer(m, inner, "Tanh") : NULL;
  return tanh && is_gelu_angle(m, tanh->inputs[0], x);
}

typedef struct found {
  const char *op;
  int32_t x;
  bool bounded; /* a Clip, whose bounds are these */
  double lo, hi;
  uint32_t n_attrs;
  tn_attr attrs[2];
} found;

/* x * weight * scale */
static bool match_weight(const matcher *m, int32_t x, int32_t weight, double scale, found *out) {
  const tn_node *sigmoid = producer(m, weight, "Sigmoid");
  double alpha;
  *out = (found){.x = x};
  if (near(m, scale, 1) && sigmoid && is_scaled(m, sigmoid->inputs[0], x, &alpha)) {
    out->op = "Swish";
    out->attrs[out->n_attrs++] = tn_attr_float("alpha", alpha);
  } else if (near(m, scale, 1) && is_hard_sigmoid_of(m, weight, x)) {
    out->op = "HardSwish";
  } else if (near(m, scale, 1.0 / 6) && relu6_of(m, weight) == x) {
    out->op = "HardSwish";
  } else if (near(m, scale, 1) && is_mish_weight(m, weight, x)) {
    out->op = "Mish";
  } else if (near(m, scale, 0.5) && is_erf_weight(m, weight, x)) {
    out->op = "Gelu";
  } else if (near(m, scale, 0.5) && is_tanh_weight(m, weight, x)) {
    out->op = "Gelu";
    out->attrs[out->n_attrs++] = tn_attr_str("approximate", "tanh");
  }
  return out->op != NULL;
}

static bool match_product(const matcher *m, int32_t value, found *out) {
  product p;
  if (!product_of(m, value, &p)) return false;
  if (p.n == 1 && near(m, p.scale, 1.0 / 6)) {
    *out = (found){.op = "HardSigmoid", .x = relu6_of(m, p.factors[0]), .n_attrs = 2};
    out->attrs[0] = tn_attr_float("alpha", 1.0 / 6);
    out->attrs[1] = tn_attr_float("beta", 0.5);
    return out->x >= 0;
  }
  if (p.n != 2) return false;
  return match_weight(m, p.factors[0], p.factors[1], p.scale, out) ||
         match_weight(m, p.factors[1], p.factors[0], p.scale, out);
}

/* The factor of x in value = factor x, be it made by Neg. */
static bool is_multiple(const matcher *m, int32_t value, int32_t x, double *out_factor) {
  const tn_node *neg = producer(m, value, "Neg");
  if (!is_scaled(m, neg ? neg->inputs[0] : value, x, out_factor)) return false;
  if (neg) *out_factor = -*out_factor;
  return true;
}

/* x / (1 + exp(-alpha x)), 1 / (1 + exp(-x)) */
static bool match_quotient(const matcher *m, const tn_node *div, found *out) {
  int32_t inner;
  double number;
  if (!is_one_and_exp(m, div->inputs[1], &inner)) return false;
  if (is_number(m, div->inputs[0], &number)) {
    const tn_node *neg = producer(m, inner, "Neg");
    if (!neg || number != 1) return false;
    *out = (found){.op = "Sigmoid", .x = neg->inputs[0]};
    return true;
  }
  if (!is_multiple(m, inner, div->inputs[0], &number)) return false;
  *out = (found){.op = "Swish", .x = div->inputs[0], .n_attrs = 1};
  out->attrs[0] = tn_attr_float("alpha", -number);
  return true;
}

static bool match_bounds(const matcher *m, int32_t value, found *out) {
  bounds b;
  if (is_between(m, value, &b)) {
    *out = (found){.op = "Clip", .x = b.x, .bounded = true, .lo = b.lo, .hi = b.hi};
    return true;
  }
  const tn_node *max = producer(m, value, "Max");
  double alpha;
  for (uint32_t k = 0; max && max->n_inputs == 2 && k < 2; k++) {
    const int32_t x = max->inputs[k], other = max->inputs[1 - k];
    if (x == other || !is_scaled(m, other, x, &alpha) || !(alpha > 0 && alpha <= 1)) continue;
    *out = (found){.op = "LeakyRelu", .x = x, .n_attrs = 1};
    out->attrs[0] = tn_attr_float("alpha", alpha);
    return true;
  }
  return false;
}

static bool match(const matcher *m, int32_t value, found *out) {
  const tn_node *div = producer(m, value, "Div");
  if (producer(m, value, "Max") || producer(m, value, "Min")) return match_bounds(m, value, out);
  return (div && match_quotient(m, div, out)) || match_product(m, value, out);
}

/* The constants have one element each, so that with equal ranks the shapes are equal. */
static bool same_type(const tn_tensor *a, const tn_tensor *b) {
  return a && b && a->dtype == b->dtype && a->rank >= 0 && a->rank == b->rank;
}

tn_status activation_fuse(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_graph_api *api = call->host->graph;
  const int32_t out = api->node(graph, node)->outputs[0];
  const tn_tensor *type = api->value_type(graph, out);
  if (!type || !(TN_MASK(type->dtype) & TN_MASK_FLOAT)) return TN_OK;
  const uint32_t dtype = type->dtype;
  const matcher m = {api, graph, tolerance_of(dtype)};
  found f;
  if (!match(&m, out, &f) || !same_type(api->value_type(graph, f.x), type)) return TN_OK;
  if (!f.bounded) return tn_lower_as(call, graph, node, f.op, &f.x, 1, f.attrs, f.n_attrs);
  const int32_t inputs[3] = {f.x, tn_emit_number(call, graph, dtype, f.lo),
                             tn_emit_number(call, graph, dtype, f.hi)};
  return tn_lower_as(call, graph, node, f.op, inputs, 3, NULL, 0);
}
