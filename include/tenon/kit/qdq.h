/* Quantised values in graphs: what QuantizeLinear and DequantizeLinear with one scale say, for
 * rewrites that make integer arithmetic of it. Only types of a byte and f32, and only constant
 * scales and zero points.
 *
 * A value q stands for (q - zero) * scale. For scales between TN_QDQ_LEAST and TN_QDQ_MOST,
 * quantising what was dequantised gives q back, whatever it is: q - zero is a whole number of at
 * most 255, the product and the quotient are each off by 2^-24 of it, and nothing underflows or
 * overflows. */
#ifndef TN_KIT_QDQ_H
#define TN_KIT_QDQ_H

#include <float.h>

#include "tenon/kit/pattern.h"

#define TN_QDQ_LEAST FLT_MIN
#define TN_QDQ_MOST (FLT_MAX / 1024)

/* One scale and zero point. */
typedef struct tn_qdq {
  float scale;
  int32_t zero;
  uint32_t dtype; /* TN_U8 or TN_I8 */
} tn_qdq;

static inline bool tn_qdq_same(const tn_qdq *a, const tn_qdq *b) {
  return a->scale == b->scale && a->zero == b->zero && a->dtype == b->dtype;
}

static inline int32_t tn_qdq_lowest(const tn_qdq *q) { return q->dtype == TN_I8 ? -128 : 0; }
static inline int32_t tn_qdq_highest(const tn_qdq *q) { return tn_qdq_lowest(q) + 255; }

/* What QuantizeLinear makes of x, computed in f32. */
TN_KIT_FN int32_t tn_qdq_quantize(const tn_qdq *q, float x);

static inline float tn_qdq_dequantize(const tn_qdq *q, int32_t x) {
  return (float)(x - q->zero) * q->scale;
}

/* The value is f32 and dequantised from *out_from; others may read it, too. */
TN_KIT_FN bool tn_qdq_dequantized(const tn_pattern *p, int32_t value, int32_t *out_from,
                                  tn_qdq *out);

/* The node, a QuantizeLinear, quantises the f32 value *out_from in f32. */
TN_KIT_FN bool tn_qdq_quantizes(const tn_pattern *p, int32_t node, int32_t *out_from, tn_qdq *out);

/* What the Relu or Clip is given that makes the value, which nobody else reads, and its bounds in
 * steps of q: rounding keeps order, so that clipping before it is the same as clipping behind it.
 * If neither makes it, the value itself, and the bounds of the type. */
TN_KIT_FN int32_t tn_qdq_bounds(const tn_pattern *p, int32_t value, const tn_qdq *q,
                                int32_t out[2]);

/* The value's only reader is a QuantizeLinear with these numbers. */
TN_KIT_FN bool tn_qdq_is_quantized(const tn_pattern *p, int32_t value, const tn_qdq *as);

#ifdef TN_KIT_BODIES

TN_KIT_FN int32_t tn_qdq_quantize(const tn_qdq *q, float x) {
  const float at = rintf(x / q->scale), lo = (float)(tn_qdq_lowest(q) - q->zero),
              hi = (float)(tn_qdq_highest(q) - q->zero);
  return (int32_t)(!(at > lo) ? lo : at > hi ? hi : at) + q->zero;
}

/* Inputs 1 and 2 of the node: one scale and zero point for values of this type. */
static inline bool tn_qdq_scale(const tn_pattern *p, const tn_node *n, uint32_t dtype,
                                tn_qdq *out) {
  const tn_tensor *scale = n->n_inputs > 1 ? tn_pattern_type(p, n->inputs[1]) : NULL;
  double number, zero = 0;
  if ((dtype != TN_U8 && dtype != TN_I8) || !scale || scale->dtype != TN_F32 ||
      !tn_pattern_number(p, n->inputs[1], &number))
    return false;
  if (n->n_inputs > 2 && n->inputs[2] >= 0 && !tn_pattern_number(p, n->inputs[2], &zero))
    return false;
  *out = (tn_qdq){(float)number, (int32_t)zero, dtype};
  return out->scale >= TN_QDQ_LEAST && out->scale <= TN_QDQ_MOST;
}

TN_KIT_FN bool tn_qdq_dequantized(const tn_pattern *p, int32_t value, int32_t *out_from,
                                  tn_qdq *out) {
  const tn_node *n = tn_pattern_node(p, value, "DequantizeLinear");
  const tn_tensor *y = n ? p->api->value_type(p->graph, value) : NULL,
                  *x = n ? p->api->value_type(p->graph, n->inputs[0]) : NULL;
  if (!x || !y || y->dtype != TN_F32) return false;
  *out_from = n->inputs[0];
  return tn_qdq_scale(p, n, x->dtype, out);
}

TN_KIT_FN bool tn_qdq_quantizes(const tn_pattern *p, int32_t node, int32_t *out_from, tn_qdq *out) {
  const tn_node *n = tn_pattern_root(p, node);
  if (!n || *n->domain || strcmp(n->op, "QuantizeLinear")) return false;
  const tn_tensor *x = p->api->value_type(p->graph, n->inputs[0]),
                  *y = p->api->value_type(p->graph, n->outputs[0]);
  const int64_t precision = tn_pattern_int(n, "precision", 0);
  if (!x || !y || x->dtype != TN_F32 || (precision != 0 && precision != 1)) return false;
  *out_from = n->inputs[0];
  return tn_qdq_scale(p, n, y->dtype, out);
}

/* Constant bounds of a Clip, neither of them NaN. Where they cross, the upper one counts. */
static inline bool tn_qdq_clips(const tn_pattern *p, const tn_node *clip, double out[2]) {
  const int32_t least = tn_pattern_input(clip, 1), most = tn_pattern_input(clip, 2);
  double lo = -INFINITY, hi = INFINITY;
  if ((least >= 0 && !tn_pattern_number(p, least, &lo)) ||
      (most >= 0 && !tn_pattern_number(p, most, &hi)) || isnan(lo) || isnan(hi))
    return false;
  out[0] = lo < hi ? lo : hi;
  out[1] = hi;
  return true;
}

TN_KIT_FN int32_t tn_qdq_bounds(const tn_pattern *p, int32_t value, const tn_qdq *q,
                                int32_t out[2]) {
  const tn_node *relu = tn_pattern_inner(p, value, "Relu"),
                *clip = tn_pattern_inner(p, value, "Clip");
  double bounds[2] = {relu ? 0 : -INFINITY, INFINITY};
  const tn_node *n = clip && tn_qdq_clips(p, clip, bounds) ? clip : relu;
  for (int k = 0; k < 2; k++) out[k] = tn_qdq_quantize(q, (float)bounds[k]);
  return n ? n->inputs[0] : value;
}

TN_KIT_FN bool tn_qdq_is_quantized(const tn_pattern *p, int32_t value, const tn_qdq *as) {
  int32_t from;
  tn_qdq q;
  return tn_pattern_is_read(p, value, 1) &&
         tn_qdq_quantizes(p, p->api->value_user(p->graph, value, 0), &from, &q) && from == value &&
         tn_qdq_same(&q, as);
}

#endif

#endif
