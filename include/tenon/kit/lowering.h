/* Lowering nodes of another format: reading one, and writing operators of ai.onnx in its place.
 *
 * Ids of values below TN_NO_ID are statuses. Whoever is given one answers it, so that chains of
 * calls need no checks in between; tn_low_done() hands it to the host. */
#ifndef TN_KIT_LOWERING_H
#define TN_KIT_LOWERING_H

#include <math.h>
#include <string.h>

#include "tenon/kit/infer.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/onnx_dtype.h"
#include "tenon/kit/pattern.h"

typedef struct tn_lowering {
  const tn_call *call;
  tn_graph *graph;
  int32_t node;
} tn_lowering;

static inline tn_lowering tn_low_open(const tn_call *call, tn_graph *graph, int32_t node) {
  return (tn_lowering){call, graph, node};
}

/* ---- reading ---- */

/* The node; valid until one is added, for nodes move then. */
static inline const tn_node *tn_low_node(const tn_lowering *l) {
  return l->call->host->graph->node(l->graph, l->node);
}
/* Is the graph going to be written for others, who know nothing but ai.onnx? */
static inline bool tn_low_for_onnx(const tn_lowering *l) { return l->call->onnx_opset != 0; }
/* Attributes by name; of what the file leaves out, `missing`, or none. */
static inline int64_t tn_low_int(const tn_lowering *l, const char *name, int64_t missing) {
  return tn_pattern_int(tn_low_node(l), name, missing);
}
static inline double tn_low_float(const tn_lowering *l, const char *name, double missing) {
  return tn_pattern_float(tn_low_node(l), name, missing);
}
TN_KIT_FN tn_ints tn_low_ints(const tn_lowering *l, const char *name);
TN_KIT_FN tn_floats tn_low_floats(const tn_lowering *l, const char *name);

/* Input k: its value, -1 if it is left out; its type, NULL if it is left out. */
static inline int32_t tn_low_in(const tn_lowering *l, uint32_t k) {
  return tn_node_input(l->call, l->graph, l->node, k);
}
static inline const tn_tensor *tn_low_type(const tn_lowering *l, uint32_t k) {
  return tn_input(l->call, k);
}
/* Its value as i64. */
TN_KIT_FN int32_t tn_low_in_i64(const tn_lowering *l, uint32_t k);

/* ---- writing ---- */

/* A node of `op`: of ai.onnx, or of another domain, "tenon::X". */
TN_KIT_FN tn_status tn_low_emit_many(const tn_lowering *l, const char *op, const int32_t *inputs,
                                     uint32_t n_inputs, const tn_attr *attrs, uint32_t n_attrs,
                                     uint32_t n_outputs, int32_t *out);
/* The same with one output, which is answered. */
TN_KIT_FN int32_t tn_low_emit(const tn_lowering *l, const char *op, const int32_t *inputs,
                              uint32_t n_inputs, const tn_attr *attrs, uint32_t n_attrs);
TN_KIT_FN int32_t tn_low_1(const tn_lowering *l, const char *op, int32_t x);
TN_KIT_FN int32_t tn_low_2(const tn_lowering *l, const char *op, int32_t a, int32_t b);
TN_KIT_FN int32_t tn_low_3(const tn_lowering *l, const char *op, int32_t a, int32_t b, int32_t c);
/* op(x), with one attribute. */
TN_KIT_FN int32_t tn_low_1_int(const tn_lowering *l, const char *op, int32_t x, const char *name,
                               int64_t value);
static inline int32_t tn_low_number(const tn_lowering *l, uint32_t dtype, double number) {
  return tn_emit_number(l->call, l->graph, dtype, number);
}
static inline int32_t tn_low_ints_const(const tn_lowering *l, const int64_t *data, int64_t n) {
  return tn_emit_ints(l->call, l->graph, data, n);
}
TN_KIT_FN int32_t tn_low_cast(const tn_lowering *l, int32_t x, uint32_t dtype);
TN_KIT_FN int32_t tn_low_reshape(const tn_lowering *l, int32_t x, int32_t rank,
                                 const int64_t *shape);
TN_KIT_FN int32_t tn_low_transpose(const tn_lowering *l, int32_t x, int32_t rank,
                                   const int32_t *perm);
/* [N, X..., C] as [N, C, X...], and back. */
TN_KIT_FN int32_t tn_low_channels_first(const tn_lowering *l, int32_t x, int32_t rank);
TN_KIT_FN int32_t tn_low_channels_last(const tn_lowering *l, int32_t x, int32_t rank);

/* x within lo .. hi, which may be infinite. */
TN_KIT_FN int32_t tn_low_clip(const tn_lowering *l, int32_t x, uint32_t dtype, double lo,
                              double hi);
/* Codes of a dtype as the numbers (x - zero) * scale of f32, and back. */
TN_KIT_FN int32_t tn_low_dequantize(const tn_lowering *l, int32_t x, uint32_t dtype, double scale,
                                    int64_t zero);
TN_KIT_FN int32_t tn_low_quantize(const tn_lowering *l, int32_t x, uint32_t dtype, double scale,
                                  int64_t zero);
/* The same with bounds of the codes. */
TN_KIT_FN int32_t tn_low_quantize_within(const tn_lowering *l, int32_t x, uint32_t dtype,
                                         double scale, int64_t zero, int64_t lo, int64_t hi);
/* x of f32 in steps of its own, as the 8-bit codes less their zero point that XNNPACK makes when it
 * runs: over these axes one scale, which becomes *out_scale. Zero is a code: of the two zero points
 * that the ends of the range ask for, the one that errs less. */
TN_KIT_FN int32_t tn_low_own_steps(const tn_lowering *l, int32_t x, const int64_t *axes, int64_t n,
                                   int32_t *out_scale);
/* The same as LiteRT's built-in kernel of depthwise convolutions makes them. */
TN_KIT_FN int32_t tn_low_own_steps_built_in(const tn_lowering *l, int32_t x, const int64_t *axes,
                                            int64_t n, int32_t *out_scale);

/* ---- ending ---- */

/* The values are what the node makes. */
TN_KIT_FN tn_status tn_low_done(const tn_lowering *l, int32_t value);
TN_KIT_FN tn_status tn_low_done_many(const tn_lowering *l, const int32_t *values, uint32_t n);
TN_KIT_FN tn_status tn_low_unsupported(const tn_lowering *l, const char *what);

#ifdef TN_KIT_BODIES

TN_KIT_FN tn_ints tn_low_ints(const tn_lowering *l, const char *name) {
  const tn_attr *a = tn_pattern_attr(tn_low_node(l), name, TN_ATTR_INTS);
  return a ? a->ints : (tn_ints){NULL, 0};
}

TN_KIT_FN tn_floats tn_low_floats(const tn_lowering *l, const char *name) {
  const tn_attr *a = tn_pattern_attr(tn_low_node(l), name, TN_ATTR_FLOATS);
  return a ? a->floats : (tn_floats){NULL, 0};
}

TN_KIT_FN int32_t tn_low_in_i64(const tn_lowering *l, uint32_t k) {
  const tn_tensor *t = tn_low_type(l, k);
  return !t || t->dtype == TN_I64 ? tn_low_in(l, k) : tn_low_cast(l, tn_low_in(l, k), TN_I64);
}

TN_KIT_FN tn_status tn_low_emit_many(const tn_lowering *l, const char *op, const int32_t *inputs,
                                     uint32_t n_inputs, const tn_attr *attrs, uint32_t n_attrs,
                                     uint32_t n_outputs, int32_t *out) {
  enum { MOST_ATTRS = 24 };
  const tn_graph_api *api = l->call->host->graph;
  const tn_attr *list[MOST_ATTRS];
  char domain[16] = "";
  const char *colons = strstr(op, "::");
  if (n_attrs > MOST_ATTRS || (colons && (size_t)(colons - op) >= sizeof domain))
    return TN_ERR_INTERNAL;
  if (colons) memcpy(domain, op, (size_t)(colons - op));
  for (uint32_t k = 0; k < n_inputs; k++)
    if (inputs[k] < TN_NO_ID) return inputs[k];
  for (uint32_t k = 0; k < n_attrs; k++) list[k] = &attrs[k];
  for (uint32_t k = 0; k < n_outputs; k++) {
    out[k] = api->value(l->graph, NULL);
    if (out[k] < 0) return out[k];
  }
  const tn_node *from = tn_low_node(l);
  tn_node made = TN_KIT_ZERO;
  made.head = (tn_head)TN_HEAD(tn_node);
  made.domain = domain;
  made.op = colons ? colons + 2 : op;
  made.name = from->name;
  made.inputs = inputs;
  made.n_inputs = n_inputs;
  made.outputs = out;
  made.n_outputs = n_outputs;
  made.attrs = list;
  made.n_attrs = n_attrs;
  made.offset = from->offset;
  const int32_t id = api->add_node(l->graph, &made);
  return id < 0 ? id : TN_OK;
}

TN_KIT_FN int32_t tn_low_emit(const tn_lowering *l, const char *op, const int32_t *inputs,
                              uint32_t n_inputs, const tn_attr *attrs, uint32_t n_attrs) {
  int32_t out;
  const tn_status s = tn_low_emit_many(l, op, inputs, n_inputs, attrs, n_attrs, 1, &out);
  return s ? s : out;
}

TN_KIT_FN int32_t tn_low_1(const tn_lowering *l, const char *op, int32_t x) {
  return tn_low_emit(l, op, &x, 1, NULL, 0);
}

TN_KIT_FN int32_t tn_low_2(const tn_lowering *l, const char *op, int32_t a, int32_t b) {
  const int32_t inputs[] = {a, b};
  return tn_low_emit(l, op, inputs, 2, NULL, 0);
}

TN_KIT_FN int32_t tn_low_3(const tn_lowering *l, const char *op, int32_t a, int32_t b, int32_t c) {
  const int32_t inputs[] = {a, b, c};
  return tn_low_emit(l, op, inputs, 3, NULL, 0);
}

TN_KIT_FN int32_t tn_low_1_int(const tn_lowering *l, const char *op, int32_t x, const char *name,
                               int64_t value) {
  const tn_attr a = tn_attr_int(name, value);
  return tn_low_emit(l, op, &x, 1, &a, 1);
}

TN_KIT_FN int32_t tn_low_cast(const tn_lowering *l, int32_t x, uint32_t dtype) {
  return tn_low_1_int(l, "Cast", x, "to", tn_onnx_of_dtype(dtype));
}

TN_KIT_FN int32_t tn_low_reshape(const tn_lowering *l, int32_t x, int32_t rank,
                                 const int64_t *shape) {
  const int32_t inputs[] = {x, tn_low_ints_const(l, shape, rank)};
  const tn_attr allowzero = tn_attr_int("allowzero", 1);
  return tn_low_emit(l, "Reshape", inputs, 2, &allowzero, 1);
}

TN_KIT_FN int32_t tn_low_transpose(const tn_lowering *l, int32_t x, int32_t rank,
                                   const int32_t *perm) {
  int64_t wide[TN_MAX_RANK];
  for (int32_t k = 0; k < rank; k++) wide[k] = perm[k];
  const tn_attr a = tn_attr_ints("perm", (tn_ints){wide, rank});
  return tn_low_emit(l, "Transpose", &x, 1, &a, 1);
}

TN_KIT_FN int32_t tn_low_channels_first(const tn_lowering *l, int32_t x, int32_t rank) {
  int32_t perm[TN_MAX_RANK] = {0, rank - 1};
  for (int32_t k = 2; k < rank; k++) perm[k] = k - 1;
  return tn_low_transpose(l, x, rank, perm);
}

TN_KIT_FN int32_t tn_low_channels_last(const tn_lowering *l, int32_t x, int32_t rank) {
  int32_t perm[TN_MAX_RANK] = {0};
  for (int32_t k = 1; k < rank - 1; k++) perm[k] = k + 1;
  perm[rank - 1] = 1;
  return tn_low_transpose(l, x, rank, perm);
}

TN_KIT_FN int32_t tn_low_clip(const tn_lowering *l, int32_t x, uint32_t dtype, double lo,
                              double hi) {
  const int32_t inputs[] = {x, isinf(lo) ? TN_NO_ID : tn_low_number(l, dtype, lo),
                            isinf(hi) ? TN_NO_ID : tn_low_number(l, dtype, hi)};
  return tn_low_emit(l, "Clip", inputs, 3, NULL, 0);
}

TN_KIT_FN int32_t tn_low_dequantize(const tn_lowering *l, int32_t x, uint32_t dtype, double scale,
                                    int64_t zero) {
  return tn_low_3(l, "DequantizeLinear", x, tn_low_number(l, TN_F32, scale),
                  tn_low_number(l, dtype, (double)zero));
}

TN_KIT_FN int32_t tn_low_quantize(const tn_lowering *l, int32_t x, uint32_t dtype, double scale,
                                  int64_t zero) {
  return tn_low_3(l, "QuantizeLinear", x, tn_low_number(l, TN_F32, scale),
                  tn_low_number(l, dtype, (double)zero));
}

TN_KIT_FN int32_t tn_low_quantize_within(const tn_lowering *l, int32_t x, uint32_t dtype,
                                         double scale, int64_t zero, int64_t lo, int64_t hi) {
  const tn_dtype_info *d = tn_dtype(dtype);
  const double least = d->is_signed ? -ldexp(1, (int)d->bits - 1) : 0,
               most = ldexp(1, (int)d->bits - d->is_signed) - 1;
  const int32_t y = tn_low_quantize(l, x, dtype, scale, zero);
  if ((double)lo <= least && (double)hi >= most) return y;
  return tn_low_clip(l, y, dtype, fmax((double)lo, least), fmin((double)hi, most));
}

/* The least (most) of x and 0 over the axes. */
static int32_t tn_low_extreme(const tn_lowering *l, const char *reduce, const char *with, int32_t x,
                              const int64_t *axes, int64_t n) {
  const int32_t inputs[] = {x, tn_low_ints_const(l, axes, n)};
  const tn_attr keeps = tn_attr_int("keepdims", 1);
  return tn_low_2(l, with, tn_low_emit(l, reduce, inputs, 2, &keeps, 1),
                  tn_low_number(l, TN_F32, 0));
}

/* To whole numbers, halves away from zero. */
static int32_t tn_low_round_away(const tn_lowering *l, int32_t x) {
  const int32_t even = tn_low_1(l, "Round", x), sign = tn_low_1(l, "Sign", x);
  const int32_t half = tn_low_2(l, "Mul", sign, tn_low_number(l, TN_F32, 0.5));
  return tn_low_3(l, "Where", tn_low_2(l, "Equal", tn_low_2(l, "Sub", x, even), half),
                  tn_low_2(l, "Add", even, sign), even);
}

/* x is multiplied by the reciprocal of a step, not divided by a step: that rounds elsewhere. So
 * does the reciprocal of a quotient, which built-in kernels take. */
static int32_t tn_low_own_codes(const tn_lowering *l, int32_t x, const int64_t *axes, int64_t n,
                                bool built_in, int32_t *out_scale) {
  const int32_t least = tn_low_extreme(l, "ReduceMin", "Min", x, axes, n),
                most = tn_low_extreme(l, "ReduceMax", "Max", x, axes, n);
  const int32_t lowest = tn_low_number(l, TN_F32, -128), highest = tn_low_number(l, TN_F32, 127),
                one = tn_low_number(l, TN_F32, 1), steps = tn_low_number(l, TN_F32, 255);
  const int32_t range = tn_low_2(l, "Sub", most, least), none = tn_low_2(l, "Equal", most, least);
  const int32_t quotient =
      tn_low_3(l, "Where", none, one,
               built_in ? tn_low_2(l, "Div", range, steps) : tn_low_2(l, "Div", steps, range));
  const int32_t reciprocal = tn_low_2(l, "Div", one, quotient),
                factor = built_in ? reciprocal : quotient;
  const int32_t below = tn_low_2(l, "Mul", least, factor), above = tn_low_2(l, "Mul", most, factor);
  const int32_t sum =
      tn_low_2(l, "Add", tn_low_2(l, "Add", lowest, below), tn_low_2(l, "Add", highest, above));
  const int32_t zero =
      tn_low_3(l, "Where", tn_low_2(l, "Greater", sum, tn_low_number(l, TN_F32, 0)),
               tn_low_2(l, "Sub", lowest, below), tn_low_2(l, "Sub", highest, above));
  const int32_t whole = tn_low_clip(l, tn_low_1(l, "Round", zero), TN_F32, -128, 127);
  const int32_t scaled = tn_low_2(l, "Mul", x, factor),
                q = built_in ? tn_low_round_away(l, scaled) : tn_low_1(l, "Round", scaled);
  *out_scale = built_in ? quotient : reciprocal;
  return tn_low_2(l, "Min", tn_low_2(l, "Max", q, tn_low_2(l, "Sub", lowest, whole)),
                  tn_low_2(l, "Sub", highest, whole));
}

TN_KIT_FN int32_t tn_low_own_steps(const tn_lowering *l, int32_t x, const int64_t *axes, int64_t n,
                                   int32_t *out_scale) {
  return tn_low_own_codes(l, x, axes, n, false, out_scale);
}

TN_KIT_FN int32_t tn_low_own_steps_built_in(const tn_lowering *l, int32_t x, const int64_t *axes,
                                            int64_t n, int32_t *out_scale) {
  return tn_low_own_codes(l, x, axes, n, true, out_scale);
}

TN_KIT_FN tn_status tn_low_done_many(const tn_lowering *l, const int32_t *values, uint32_t n) {
  for (uint32_t k = 0; k < n; k++)
    if (values[k] < TN_NO_ID) return values[k];
  return l->call->host->graph->replace_node(l->graph, l->node, values, n);
}

TN_KIT_FN tn_status tn_low_done(const tn_lowering *l, int32_t value) {
  return tn_low_done_many(l, &value, 1);
}

TN_KIT_FN tn_status tn_low_unsupported(const tn_lowering *l, const char *what) {
  return l->call->host->fail(l->call->ctx, TN_ERR_UNSUPPORTED, "not supported: %s", what);
}

#endif
#endif
