/* Rewrites: products that spell out an activation become that activation.
 *
 *   x sigmoid(a x)                                         Swish(alpha=a)
 *   x HardSigmoid(x; 1/6, 1/2), x clip(x + 3, 0, 6) / 6    HardSwish
 *   clip(x + 3, 0, 6) / 6                                  HardSigmoid(1/6, 1/2)
 *   x tanh(softplus(x))                                    Mish
 *   x (erf(x / sqrt 2) + 1) / 2                            Gelu
 *   x (tanh(sqrt(2/pi) (x + 0.044715 x^3)) + 1) / 2        Gelu(tanh)
 *
 * A product is looked at as a list of factors and one constant, so that the order of Mul and Div
 * nodes does not matter. */
#include <math.h>
#include <string.h>

#include "activation.gen.h"
#include "base/dtype.h"
#include "base/lower.h"

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

/* The node that computes the value, if it is of this operator of ai.onnx. */
static const tn_node *producer(const matcher *m, int32_t value, const char *op) {
  const int32_t id = value < 0 ? -1 : m->api->value_producer(m->graph, value);
  const tn_node *n = id < 0 ? NULL : m->api->node(m->graph, id);
  return n && !*n->domain && !strcmp(n->op, op) ? n : NULL;
}

static bool is_number(const matcher *m, int32_t value, double *out) {
  const tn_tensor *t = value < 0 ? NULL : m->api->value_type(m->graph, value);
  if (!t || !t->data || t->kind != TN_KIND_TENSOR || t->dtype == TN_STRING ||
      tn_tensor_elements(t) != 1)
    return false;
  *out = tn_load_f64(t->dtype, t->data, 0);
  return true;
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

/* value = clip(x + 3, 0, 6): answers x, or -1. */
static int32_t relu6_of(const matcher *m, int32_t value) {
  const tn_node *clip = producer(m, value, "Clip");
  double lo, hi;
  int32_t x;
  if (!clip || clip->n_inputs != 3 || !is_number(m, clip->inputs[1], &lo) ||
      !is_number(m, clip->inputs[2], &hi))
    return -1;
  return lo == 0 && hi == 6 && is_sum(m, clip->inputs[0], 3, &x) ? x : -1;
}

static bool is_hard_sigmoid_of(const matcher *m, int32_t value, int32_t x) {
  const int32_t id = m->api->value_producer(m->graph, value);
  const tn_node *n = producer(m, value, "HardSigmoid");
  const tn_hard_sigmoid_attrs *a = n ? m->api->node_attrs(m->graph, id) : NULL;
  return a && n->inputs[0] == x && near(m, a->alpha, 1.0 / 6) && near(m, a->beta, 0.5);
}

static bool is_mish_weight(const matcher *m, int32_t value, int32_t x) {
  const tn_node *tanh = producer(m, value, "Tanh"),
                *softplus = tanh ? producer(m, tanh->inputs[0], "Softplus") : NULL;
  return softplus && softplus->inputs[0] == x;
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

static bool match(const matcher *m, int32_t value, found *out) {
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

/* The constants have one element each, so that with equal ranks the shapes are equal. */
static bool same_type(const tn_tensor *a, const tn_tensor *b) {
  return a && b && a->dtype == b->dtype && a->rank >= 0 && a->rank == b->rank;
}

tn_status activation_fuse(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_graph_api *api = call->host->graph;
  const int32_t out = api->node(graph, node)->outputs[0];
  const tn_tensor *type = api->value_type(graph, out);
  if (!type || !(TN_MASK(type->dtype) & TN_MASK_FLOAT)) return TN_OK;
  const matcher m = {api, graph, tolerance_of(type->dtype)};
  found f;
  if (!match(&m, out, &f) || !same_type(api->value_type(graph, f.x), type)) return TN_OK;
  return tn_lower_as(call, graph, node, f.op, &f.x, 1, f.attrs, f.n_attrs);
}
