/* Rewrites that make tenon::QuantMatMul of what spells it out: MatMulInteger, scaled, as dynamic
 * quantisation writes it; MatMul and Gemm of what was dequantised; QLinearMatMul. Then what comes
 * next: a bias, and Relu, Clip and QuantizeLinear, which make it a product that is quantised again.
 * Weights are constant. */
#include "matmul.gen.h"
#include "quant_matmul.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/qdq.h"

typedef struct made { /* a QuantMatMul to be */
  int32_t inputs[QUANT_MATMUL_INPUTS];
  int64_t trans_b, y_min, y_max;
  const char *name;
} made;

static made blank(const tn_node *n) {
  made m = {.y_min = -128, .y_max = 255, .name = n->name};
  for (int32_t k = 0; k < QUANT_MATMUL_INPUTS; k++) m.inputs[k] = -1;
  return m;
}

/* Adds the node; answers its output, or a status. */
static int32_t add(const tn_call *call, tn_graph *graph, const made *m) {
  const tn_graph_api *api = call->host->graph;
  const tn_attr list[] = {tn_attr_int("transB", m->trans_b), tn_attr_int("y_max", m->y_max),
                          tn_attr_int("y_min", m->y_min)};
  const tn_attr *const attrs[] = {&list[0], &list[1], &list[2]};
  const int32_t out = api->value(graph, NULL);
  if (out < 0) return out;
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = "tenon",
                        .op = "QuantMatMul",
                        .name = m->name,
                        .n_inputs = QUANT_MATMUL_INPUTS,
                        .inputs = m->inputs,
                        .n_outputs = 1,
                        .outputs = &out,
                        .n_attrs = 3,
                        .attrs = attrs,
                        .offset = -1};
  const int32_t id = api->add_node(graph, &node);
  return id < 0 ? id : out;
}

/* In place of the node. */
static tn_status become(const tn_call *call, tn_graph *graph, int32_t node, const made *m) {
  const int32_t out = add(call, graph, m);
  return out < 0 ? out : call->host->graph->replace_node(graph, node, &out, 1);
}

/* ---- parts ---- */

static bool is_byte(const tn_tensor *t) {
  return t && (t->dtype == TN_U8 || t->dtype == TN_I8) && t->rank >= 1;
}

/* Left out, or one element of a type. */
static bool is_one(const tn_pattern *p, int32_t value, uint32_t dtype) {
  const tn_tensor *t = tn_pattern_type(p, value);
  return value < 0 || (t && t->dtype == dtype && tn_elements(t) == 1);
}

/* Left out, or a constant of one element or a row of n. */
static bool is_row(const tn_pattern *p, int32_t value, uint32_t dtype, int64_t n) {
  const tn_tensor *t = tn_pattern_type(p, value);
  return value < 0 || (t && t->data && t->dtype == dtype &&
                       (tn_elements(t) == 1 || (t->rank == 1 && t->shape[0] == n)));
}

/* A, B and what belongs to them are what the operator and its fast kernels take. A zero point that
 * changes nothing is left out. */
static bool fits(const tn_pattern *p, made *m) {
  const int32_t *in = m->inputs;
  const tn_tensor *a = tn_pattern_type(p, in[QUANT_MATMUL_A]),
                  *b = tn_pattern_type(p, in[QUANT_MATMUL_B]), *zero;
  if (!is_byte(a) || !is_byte(b) || b->rank != 2 || !b->data) return false;
  const int64_t k = a->shape[a->rank - 1], n = b->shape[!m->trans_b];
  if (k != b->shape[m->trans_b] || k > QUANT_MATMUL_MAX_K) return false;
  if (in[QUANT_MATMUL_B_SCALE] < 0 || !is_one(p, in[QUANT_MATMUL_A_SCALE], TN_F32) ||
      !is_one(p, in[QUANT_MATMUL_A_ZERO], a->dtype) ||
      !is_row(p, in[QUANT_MATMUL_B_SCALE], TN_F32, n) ||
      !is_row(p, in[QUANT_MATMUL_B_ZERO], b->dtype, n))
    return false;
  zero = tn_pattern_type(p, in[QUANT_MATMUL_B_ZERO]);
  const bool has_zeros = quant_matmul_has_zeros(b, zero);
  if (b->dtype == TN_I8 && !has_zeros) m->inputs[QUANT_MATMUL_B_ZERO] = -1;
  return !has_zeros || k <= QUANT_MATMUL_MAX_K_ZEROS;
}

/* The QuantMatMul that makes the value, an f32 that is read once. */
static bool is_product(const tn_pattern *p, int32_t value, made *out) {
  const int32_t id = tn_pattern_is_read(p, value, 1) ? p->api->value_producer(p->graph, value) : -1;
  const tn_node *n = tn_pattern_root(p, id);
  const tn_quant_mat_mul_attrs *attrs = n ? p->api->node_attrs(p->graph, id) : NULL;
  if (!attrs || strcmp(n->domain, "tenon") || strcmp(n->op, "QuantMatMul") ||
      tn_pattern_input(n, QUANT_MATMUL_Y_SCALE) >= 0)
    return false;
  *out = blank(n);
  out->trans_b = attrs->transB != 0;
  for (uint32_t k = 0; k < QUANT_MATMUL_INPUTS; k++) out->inputs[k] = tn_pattern_input(n, k);
  return true;
}

/* Columns of Y. */
static int64_t columns_of(const tn_pattern *p, const made *m) {
  return tn_pattern_type(p, m->inputs[QUANT_MATMUL_B])->shape[!m->trans_b];
}

/* ---- biases ---- */

typedef struct numbers { /* constants, perhaps still with a scale */
  const tn_tensor *x, *scale, *zero;
  int32_t values[2]; /* x and scale */
} numbers;

/* The value is f32 numbers, one for each of n columns, in a row. */
static bool is_bias(const tn_pattern *p, int32_t value, int64_t n, numbers *out) {
  const tn_tensor *y = tn_pattern_type(p, value);
  const tn_node *from = tn_pattern_node(p, value, "DequantizeLinear");
  if (!y || y->dtype != TN_F32 || y->rank < 1 || y->shape[y->rank - 1] != n || tn_elements(y) != n)
    return false;
  *out = (numbers){.x = y, .values = {value, -1}};
  if (from) {
    for (uint32_t k = 0; k < 2; k++) out->values[k] = tn_pattern_input(from, k);
    out->x = tn_pattern_type(p, tn_pattern_input(from, 0));
    out->scale = tn_pattern_type(p, tn_pattern_input(from, 1));
    out->zero = tn_pattern_type(p, tn_pattern_input(from, 2));
    const int64_t n_scales = out->scale ? tn_elements(out->scale) : 0;
    if (!out->scale || !out->scale->data || (n_scales != 1 && n_scales != n) ||
        (tn_pattern_input(from, 2) >= 0 && (!out->zero || !out->zero->data)))
      return false;
  }
  return out->x && out->x->data;
}

/* A constant of the numbers; its id, or a status. */
static int32_t add_bias(const tn_call *call, tn_graph *graph, const numbers *from) {
  const int64_t n = tn_elements(from->x);
  tn_status status = call->host->fetch(call->ctx, graph, from->values[0]);
  if (!status && from->scale) status = call->host->fetch(call->ctx, graph, from->values[1]);
  if (status) return status;
  double *values = call->host->alloc(call->ctx, (uint64_t)n * sizeof *values + 1);
  if (!values) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < n; k++) {
    values[k] = tn_load_f64(from->x->dtype, from->x->data, k);
    if (from->scale)
      values[k] = (values[k] - (double)quant_zero(from->zero, k)) * quant_scale(from->scale, k);
  }
  const int32_t id = tn_emit_floats(call, graph, values, n);
  call->host->free(call->ctx, values);
  return id;
}

/* With the bias added, in place of the node. */
static tn_status become_with(const tn_call *call, tn_graph *graph, int32_t node, made *m,
                             const numbers *bias) {
  m->inputs[QUANT_MATMUL_BIAS] = add_bias(call, graph, bias);
  if (m->inputs[QUANT_MATMUL_BIAS] < 0) return m->inputs[QUANT_MATMUL_BIAS];
  return become(call, graph, node, m);
}

tn_status quant_matmul_add_bias(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  if (!n || n->n_inputs != 2) return TN_OK;
  for (int k = 0; k < 2; k++) {
    made m;
    numbers bias;
    if (!is_product(&p, n->inputs[k], &m) || m.inputs[QUANT_MATMUL_BIAS] >= 0) continue;
    const tn_tensor *x = tn_pattern_type(&p, n->inputs[k]), *y = tn_pattern_type(&p, n->outputs[0]);
    if (x && y && tn_same_shape(x, y) && is_bias(&p, n->inputs[1 - k], columns_of(&p, &m), &bias))
      return become_with(call, graph, node, &m, &bias);
  }
  return TN_OK;
}

/* ---- dynamic quantisation ---- */

/* The only node that reads the value, if it is of this operator of ai.onnx; -1: it is not. */
static int32_t only_user(const tn_pattern *p, int32_t value, const char *op) {
  const int32_t id = tn_pattern_is_read(p, value, 1) ? p->api->value_user(p->graph, value, 0) : -1;
  const tn_node *n = tn_pattern_root(p, id);
  return n && !*n->domain && !strcmp(n->op, op) ? id : -1;
}

/* value = a_scale * b_scale. */
static bool is_scales(const tn_pattern *p, int32_t value, int64_t n, made *m) {
  const tn_node *mul = tn_pattern_node(p, value, "Mul");
  for (int k = 0; mul && mul->n_inputs == 2 && k < 2; k++) {
    m->inputs[QUANT_MATMUL_A_SCALE] = mul->inputs[k];
    m->inputs[QUANT_MATMUL_B_SCALE] = mul->inputs[1 - k];
    if (is_one(p, mul->inputs[k], TN_F32) && is_row(p, mul->inputs[1 - k], TN_F32, n)) return true;
  }
  m->inputs[QUANT_MATMUL_A_SCALE] = -1; /* 1, to be */
  m->inputs[QUANT_MATMUL_B_SCALE] = value;
  return is_row(p, value, TN_F32, n);
}

/* The sums with a row of constants added, where that comes next. */
static int32_t after_add(const tn_pattern *p, int32_t sums, int64_t n, numbers *out) {
  const int32_t id = only_user(p, sums, "Add");
  const tn_node *sum = id < 0 ? NULL : p->api->node(p->graph, id);
  const tn_tensor *x = tn_pattern_type(p, sums),
                  *y = sum ? tn_pattern_type(p, sum->outputs[0]) : NULL,
                  *c = sum ? tn_pattern_type(p, sum->inputs[sum->inputs[0] == sums]) : NULL;
  if (!x || !y || !c || !c->data || !tn_same_shape(x, y) || c->rank < 1 ||
      c->shape[c->rank - 1] != n || tn_elements(c) != n)
    return sums;
  out->x = c;
  out->values[0] = sum->inputs[sum->inputs[0] == sums];
  return sum->outputs[0];
}

/* MatMulInteger, perhaps Add of a row of constants, Cast, Mul by the scales. */
tn_status quant_matmul_from_integer(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  const tn_tensor *b = n ? tn_pattern_type(&p, n->inputs[1]) : NULL;
  if (!b || b->rank != 2) return TN_OK;
  numbers bias = {0};
  const int32_t cast = only_user(&p, after_add(&p, n->outputs[0], b->shape[1], &bias), "Cast"),
                sums = cast < 0 ? -1 : p.api->node(graph, cast)->outputs[0],
                mul = only_user(&p, sums, "Mul");
  const tn_node *last = mul < 0 ? NULL : p.api->node(graph, mul);
  const tn_tensor *x = tn_pattern_type(&p, sums),
                  *y = last ? tn_pattern_type(&p, last->outputs[0]) : NULL;
  if (!x || !y || x->dtype != TN_F32 || !tn_same_shape(x, y)) return TN_OK;
  made m = blank(n);
  m.inputs[QUANT_MATMUL_A] = n->inputs[0];
  m.inputs[QUANT_MATMUL_B] = n->inputs[1];
  m.inputs[QUANT_MATMUL_A_ZERO] = tn_pattern_input(n, 2);
  m.inputs[QUANT_MATMUL_B_ZERO] = tn_pattern_input(n, 3);
  const int32_t scales = last->inputs[last->inputs[0] == sums];
  if (scales == sums || !is_scales(&p, scales, b->shape[1], &m) || !fits(&p, &m)) return TN_OK;
  const bool is_known = m.inputs[QUANT_MATMUL_A_SCALE] < 0;
  if (bias.x && !is_known) return TN_OK;
  bias.scale = tn_pattern_type(&p, scales);
  bias.values[1] = scales;
  if (bias.x) m.inputs[QUANT_MATMUL_BIAS] = add_bias(call, graph, &bias);
  if (bias.x && m.inputs[QUANT_MATMUL_BIAS] < 0) return m.inputs[QUANT_MATMUL_BIAS];
  if (is_known) m.inputs[QUANT_MATMUL_A_SCALE] = tn_emit_floats(call, graph, (double[]){1}, 1);
  if (is_known && m.inputs[QUANT_MATMUL_A_SCALE] < 0) return m.inputs[QUANT_MATMUL_A_SCALE];
  return become(call, graph, mul, &m);
}

/* ---- static quantisation ---- */

/* The value was dequantised. dim: along which there may be several scales; -1: none. */
static bool is_dequantised(const tn_pattern *p, int32_t value, int32_t dim, int32_t *out_x,
                           int32_t *out_scale, int32_t *out_zero) {
  const tn_node *n = tn_pattern_node(p, value, "DequantizeLinear");
  const tn_tensor *x = n ? tn_pattern_type(p, n->inputs[0]) : NULL, *y = tn_pattern_type(p, value),
                  *scale = n ? tn_pattern_type(p, n->inputs[1]) : NULL;
  if (!is_byte(x) || !y || !scale || y->dtype != TN_F32 || scale->dtype != TN_F32) return false;
  const int64_t at = tn_pattern_int(n, "axis", 1), axis = at < 0 ? at + x->rank : at;
  if (tn_pattern_int(n, "block_size", 0) || (tn_elements(scale) != 1 && axis != dim)) return false;
  *out_x = n->inputs[0];
  *out_scale = n->inputs[1];
  *out_zero = tn_pattern_input(n, 2);
  return true;
}

static bool are_dequantised(const tn_pattern *p, int32_t a, int32_t b, made *m) {
  int32_t *in = m->inputs;
  return is_dequantised(p, a, -1, &in[QUANT_MATMUL_A], &in[QUANT_MATMUL_A_SCALE],
                        &in[QUANT_MATMUL_A_ZERO]) &&
         is_dequantised(p, b, !m->trans_b, &in[QUANT_MATMUL_B], &in[QUANT_MATMUL_B_SCALE],
                        &in[QUANT_MATMUL_B_ZERO]) &&
         fits(p, m);
}

tn_status quant_matmul_from_matmul(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  if (!n) return TN_OK;
  made m = blank(n);
  return are_dequantised(&p, n->inputs[0], n->inputs[1], &m) ? become(call, graph, node, &m)
                                                             : TN_OK;
}

tn_status quant_matmul_from_gemm(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  const tn_gemm_attrs *attrs = call->attrs;
  if (!n || attrs->transA || attrs->alpha != 1) return TN_OK;
  made m = blank(n);
  numbers bias;
  m.trans_b = attrs->transB != 0;
  if (!are_dequantised(&p, n->inputs[0], n->inputs[1], &m)) return TN_OK;
  if (tn_pattern_input(n, 2) < 0) return become(call, graph, node, &m);
  if (attrs->beta != 1 || !is_bias(&p, n->inputs[2], columns_of(&p, &m), &bias)) return TN_OK;
  return become_with(call, graph, node, &m, &bias);
}

tn_status quant_matmul_from_qlinear(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  if (!n) return TN_OK;
  static const int places[] = {QUANT_MATMUL_A,       QUANT_MATMUL_A_SCALE, QUANT_MATMUL_A_ZERO,
                               QUANT_MATMUL_B,       QUANT_MATMUL_B_SCALE, QUANT_MATMUL_B_ZERO,
                               QUANT_MATMUL_Y_SCALE, QUANT_MATMUL_Y_ZERO};
  made m = blank(n);
  for (uint32_t k = 0; k < 8; k++) m.inputs[places[k]] = n->inputs[k];
  const tn_tensor *y = tn_pattern_type(&p, n->outputs[0]);
  if (!y || !fits(&p, &m) || !is_one(&p, m.inputs[QUANT_MATMUL_Y_SCALE], TN_F32) ||
      !is_one(&p, m.inputs[QUANT_MATMUL_Y_ZERO], y->dtype))
    return TN_OK;
  return become(call, graph, node, &m);
}

/* ---- quantised again ---- */

tn_status quant_matmul_quantise(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  int32_t x, bounds[2];
  tn_qdq y;
  made m;
  if (!tn_qdq_quantizes(&p, node, &x, &y) || tn_pattern_input(n, 2) < 0 ||
      !is_product(&p, tn_qdq_bounds(&p, x, &y, bounds), &m) || !fits(&p, &m))
    return TN_OK;
  m.y_min = bounds[0];
  m.y_max = bounds[1];
  m.inputs[QUANT_MATMUL_Y_SCALE] = n->inputs[1];
  m.inputs[QUANT_MATMUL_Y_ZERO] = n->inputs[2];
  return become(call, graph, node, &m);
}
