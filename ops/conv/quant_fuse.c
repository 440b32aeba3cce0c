/* Rewrites that find QuantConv in graphs whose operators stand between DequantizeLinear and
 * QuantizeLinear: first a Conv of what was dequantised gets integer arithmetic, then what quantises
 * its output becomes part of it. */
#include <math.h>

#include "quant.gen.h"
#include "quant_conv.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/qdq.h"

static tn_status become(const tn_call *call, tn_graph *graph, int32_t node, const int32_t *inputs,
                        const tn_quant_conv_attrs *a) {
  tn_attr list[] = {tn_attr_int("group", a->group),
                    tn_attr_ints("dilations", a->dilations),
                    tn_attr_ints("kernel_shape", a->kernel_shape),
                    tn_attr_ints("pads", a->pads),
                    tn_attr_ints("strides", a->strides),
                    tn_attr_float("x_scale", a->x_scale),
                    tn_attr_int("x_zero", a->x_zero),
                    tn_attr_float("y_scale", a->y_scale),
                    tn_attr_int("y_zero", a->y_zero),
                    tn_attr_int("lo", a->lo),
                    tn_attr_int("hi", a->hi),
                    tn_attr_float("z_scale", a->z_scale),
                    tn_attr_int("z_zero", a->z_zero),
                    tn_attr_float("sum_scale", a->sum_scale),
                    tn_attr_int("sum_zero", a->sum_zero),
                    tn_attr_int("sum_lo", a->sum_lo),
                    tn_attr_int("sum_hi", a->sum_hi),
                    tn_attr_str("y_type", ""),
                    tn_attr_str("auto_pad", "")};
  enum { N = sizeof list / sizeof *list };
  list[N - 2].s = a->y_type;
  list[N - 1].s = a->auto_pad;
  return tn_lower_to_own(call, graph, node, "QuantConv", inputs, QUANT_INPUTS, list, N);
}

/* Left out, or a constant of nothing but zeros. */
static bool is_zero(const tn_pattern *p, int32_t value) {
  const tn_tensor *t = tn_pattern_type(p, value);
  if (value >= 0 && (!t || !t->data)) return false;
  for (int64_t k = 0; t && k < tn_elements(t); k++)
    if (tn_load_i64(t->dtype, t->data, k)) return false;
  return true;
}

static bool is_8_bit(const tn_tensor *t) { return t && (t->dtype == TN_U8 || t->dtype == TN_I8); }

/* Zero points of the filters of w: left out, or constant. */
static bool are_zeros_of(const tn_pattern *p, int32_t value, const tn_tensor *w) {
  const tn_tensor *t = tn_pattern_type(p, value);
  if (value < 0) return true;
  return t && t->data && t->dtype == w->dtype && t->rank <= 1 &&
         (tn_elements(t) == 1 || tn_elements(t) == w->shape[0]);
}

/* Those of i8 are mostly zeros, and then not there. */
static int32_t zeros_left(const tn_pattern *p, int32_t value, const tn_tensor *w) {
  return w->dtype == TN_I8 && is_zero(p, value) ? -1 : value;
}

/* What makes weights f32: a scale and a zero point for all or for each filter. */
static const tn_node *weights_of(const tn_pattern *p, int32_t value) {
  const tn_node *n = tn_pattern_node(p, value, "DequantizeLinear");
  const tn_tensor *w = n ? tn_pattern_type(p, n->inputs[0]) : NULL;
  const tn_tensor *scale = n ? tn_pattern_type(p, n->inputs[1]) : NULL;
  if (!is_8_bit(w) || !w->data || w->rank < 3 || !scale || !scale->data || scale->dtype != TN_F32 ||
      scale->rank > 1)
    return NULL;
  const tn_dequantize_linear_attrs *a =
      p->api->node_attrs(p->graph, p->api->value_producer(p->graph, value));
  if (tn_elements(scale) != 1 &&
      ((a->axis != 0 && a->axis != -w->rank) || a->block_size || scale->shape[0] != w->shape[0]))
    return NULL;
  return are_zeros_of(p, tn_pattern_input(n, 2), w) ? n : NULL;
}

/* A constant, or what will be one: dequantised from one. */
static bool is_settled(const tn_pattern *p, int32_t value) {
  const tn_tensor *t = tn_pattern_type(p, value);
  if (!t || t->dtype != TN_F32 || t->data) return t && t->dtype == TN_F32;
  const tn_node *n = tn_pattern_node(p, value, "DequantizeLinear");
  for (uint32_t k = 0; n && k < n->n_inputs; k++) {
    const tn_tensor *from = tn_pattern_type(p, n->inputs[k]);
    if (n->inputs[k] >= 0 && (!from || !from->data)) return false;
  }
  return n != NULL;
}

/* Of a QuantConv whose output is f32. */
static tn_quant_conv_attrs attrs_of(const tn_window_attrs *w, int64_t group, double x_scale,
                                    int64_t x_zero) {
  return (tn_quant_conv_attrs){.auto_pad = w->auto_pad,
                               .dilations = w->dilations,
                               .group = group,
                               .kernel_shape = w->kernel_shape,
                               .pads = w->pads,
                               .strides = w->strides,
                               .x_scale = x_scale,
                               .x_zero = x_zero,
                               .y_type = {"f32", 3},
                               .y_scale = 1,
                               .z_scale = 1,
                               .sum_scale = 1,
                               .lo = -128,
                               .hi = 255,
                               .sum_lo = -128,
                               .sum_hi = 255};
}

tn_status quant_conv_from_conv(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  const tn_conv_attrs *conv = call->attrs;
  const tn_window_attrs window = {conv->auto_pad, conv->dilations, conv->kernel_shape,
                                  conv->pads,     conv->strides,   0};
  int32_t x;
  tn_qdq q;
  if (!n || n->n_inputs < 2 || call->outputs[0]->dtype != TN_F32) return TN_OK;
  const tn_node *w = weights_of(&p, n->inputs[1]);
  if (!w || !tn_qdq_dequantized(&p, n->inputs[0], &x, &q) || !tn_pattern_type(&p, x)) return TN_OK;
  if (tn_pattern_input(n, 2) >= 0 && !is_settled(&p, n->inputs[2])) return TN_OK;
  const tn_quant_conv_attrs a = attrs_of(&window, conv->group, (double)q.scale, q.zero);
  const int32_t zero = zeros_left(&p, tn_pattern_input(w, 2), tn_pattern_type(&p, w->inputs[0]));
  const int32_t inputs[] = {x, w->inputs[0], w->inputs[1], tn_pattern_input(n, 2), -1, zero};
  return become(call, graph, node, inputs, &a);
}

/* ---- QLinearConv ---- */

/* A scale and a zero point, of one value each. */
static bool scale_and_zero(const tn_pattern *p, const tn_node *n, uint32_t at, double *out_scale,
                           int64_t *out_zero) {
  double zero = 0;
  if (!tn_pattern_number(p, n->inputs[at], out_scale) || !(*out_scale > 0) ||
      !isfinite(*out_scale) || !tn_pattern_number(p, n->inputs[at + 1], &zero))
    return false;
  *out_zero = (int64_t)zero;
  return true;
}

tn_status quant_conv_from_qlinear(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node);
  const tn_q_linear_conv_attrs *conv = call->attrs;
  double x_scale, y_scale;
  int64_t x_zero, y_zero;
  if (!n || n->n_inputs < 8 || !scale_and_zero(&p, n, 1, &x_scale, &x_zero) ||
      !scale_and_zero(&p, n, 6, &y_scale, &y_zero))
    return TN_OK;
  const tn_tensor *w = tn_pattern_type(&p, n->inputs[3]),
                  *scale = tn_pattern_type(&p, n->inputs[4]),
                  *bias = tn_pattern_type(&p, tn_pattern_input(n, 8));
  if (!is_8_bit(w) || !w->data || !are_zeros_of(&p, n->inputs[5], w) || !scale || !scale->data ||
      scale->rank > 1 || (tn_elements(scale) != 1 && tn_elements(scale) != w->shape[0]) ||
      (tn_pattern_input(n, 8) >= 0 && (!bias || !bias->data)))
    return TN_OK;
  const bool is_signed = call->outputs[0]->dtype == TN_I8;
  const tn_window_attrs window = {conv->auto_pad, conv->dilations, conv->kernel_shape,
                                  conv->pads,     conv->strides,   0};
  tn_quant_conv_attrs a = attrs_of(&window, conv->group, x_scale, x_zero);
  a.y_type = is_signed ? (tn_str){"i8", 2} : (tn_str){"u8", 2};
  a.y_scale = y_scale;
  a.y_zero = y_zero;
  a.lo = is_signed ? -128 : 0; /* what is added later is added to what saturates here */
  a.hi = a.lo + 255;
  const int32_t inputs[] = {n->inputs[0],           n->inputs[3], n->inputs[4],
                            tn_pattern_input(n, 8), -1,           zeros_left(&p, n->inputs[5], w)};
  return become(call, graph, node, inputs, &a);
}

/* ---- what quantises the output ---- */

/* The QuantConv that makes the value, which nobody else reads; NULL: none does. */
static const tn_quant_conv_attrs *conv_before(const tn_pattern *p, int32_t value,
                                              const tn_node **out) {
  if (!tn_pattern_is_read(p, value, 1)) return NULL;
  const int32_t id = p->api->value_producer(p->graph, value);
  const tn_node *n = tn_pattern_root(p, id);
  if (!n || strcmp(n->domain, "tenon") || strcmp(n->op, "QuantConv")) return NULL;
  *out = n;
  return p->api->node_attrs(p->graph, id);
}

/* A node may leave out the last ones. */
static void inputs_of(const tn_node *conv, int32_t out[QUANT_INPUTS]) {
  for (uint32_t k = 0; k < QUANT_INPUTS; k++) out[k] = tn_pattern_input(conv, k);
}

tn_status quant_conv_from_quantize(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *conv;
  int32_t x, bounds[2];
  tn_qdq y;
  if (!tn_qdq_quantizes(&p, node, &x, &y)) return TN_OK;
  const tn_quant_conv_attrs *from = conv_before(&p, tn_qdq_bounds(&p, x, &y, bounds), &conv);
  if (!from || !tn_str_is(from->y_type, "f32")) return TN_OK;
  tn_quant_conv_attrs a = *from;
  a.y_type = y.dtype == TN_I8 ? (tn_str){"i8", 2} : (tn_str){"u8", 2};
  a.y_scale = (double)y.scale;
  a.y_zero = y.zero;
  a.lo = bounds[0];
  a.hi = bounds[1];
  int32_t inputs[QUANT_INPUTS];
  inputs_of(conv, inputs);
  return become(call, graph, node, inputs, &a);
}

/* ---- what is added to the output ---- */

/* Is input k of the addition the output of a QuantConv, with the numbers that it has there, and
 * the other one like it? */
static const tn_quant_conv_attrs *conv_added(const tn_pattern *p, const tn_node *n, uint32_t k,
                                             const tn_quant_add_attrs *add,
                                             const tn_node **out_conv) {
  const tn_tensor *y = tn_pattern_type(p, n->inputs[k]), *z = tn_pattern_type(p, n->inputs[1 - k]);
  const tn_quant_conv_attrs *a = conv_before(p, n->inputs[k], out_conv);
  const double scale = k ? add->b_scale : add->a_scale;
  const int64_t zero = k ? add->b_zero : add->a_zero;
  if (!a || tn_str_is(a->y_type, "f32") || tn_pattern_input(*out_conv, QUANT_Z) >= 0 || !y ||
      !is_8_bit(z))
    return NULL;
  const bool same = (float)a->y_scale == (float)scale && a->y_zero == zero;
  return same && tn_same_shape(y, z) ? a : NULL;
}

tn_status quant_conv_from_add(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_pattern p = {call->host->graph, graph};
  const tn_node *n = tn_pattern_root(&p, node), *conv = NULL;
  const tn_quant_add_attrs *add = call->attrs;
  const tn_quant_conv_attrs *from = NULL;
  uint32_t k = 0;
  if (add->halves_up) return TN_OK; /* the sum of a QuantConv is rounded half to even */
  for (; n && k < 2; k++)
    if ((from = conv_added(&p, n, k, add, &conv))) break;
  if (!from) return TN_OK;
  tn_quant_conv_attrs a = *from;
  a.y_type = call->outputs[0]->dtype == TN_I8 ? (tn_str){"i8", 2} : (tn_str){"u8", 2};
  a.z_scale = k ? add->a_scale : add->b_scale;
  a.z_zero = k ? add->a_zero : add->b_zero;
  a.sum_scale = add->y_scale;
  a.sum_zero = add->y_zero;
  a.sum_lo = add->lo;
  a.sum_hi = add->hi;
  int32_t inputs[QUANT_INPUTS];
  inputs_of(conv, inputs);
  inputs[QUANT_Z] = n->inputs[1 - k];
  return become(call, graph, node, inputs, &a);
}
