/* tenon::QuantConv in operators of ai.onnx, for files: a convolution of numbers between
 * DequantizeLinear and QuantizeLinear. */
#include "conv.gen.h"
#include "quant_conv.h"
#include "tenon/kit/lowering.h"

typedef tn_quant_conv_attrs attrs_of;

static int32_t along_filters(const tn_lowering *l, int32_t x, int32_t scale, int32_t zero) {
  const int32_t inputs[] = {x, scale, zero};
  const tn_attr axis = tn_attr_int("axis", 0);
  return tn_low_emit(l, "DequantizeLinear", inputs, 3, &axis, 1);
}

/* One scale is a scalar there. */
static int32_t filter_scale(const tn_lowering *l) {
  const tn_tensor *scale = tn_low_type(l, QUANT_W_SCALE);
  const int32_t value = tn_low_in(l, QUANT_W_SCALE);
  return tn_elements(scale) == 1 && scale->rank ? tn_low_reshape(l, value, 0, NULL) : value;
}

static int32_t bias(const tn_lowering *l, const attrs_of *a) {
  const tn_tensor *b = tn_low_type(l, QUANT_B);
  if (!b || b->dtype != TN_I32) return tn_low_in(l, QUANT_B);
  const int32_t scale = tn_low_2(l, "Mul", filter_scale(l), tn_low_number(l, TN_F32, a->x_scale));
  return along_filters(l, tn_low_in(l, QUANT_B), scale, TN_NO_ID);
}

/* Zero points of the filters: as many as scales. */
static int32_t filter_zero(const tn_lowering *l) {
  const tn_tensor *zero = tn_low_type(l, QUANT_W_ZERO), *scale = tn_low_type(l, QUANT_W_SCALE);
  if (!zero) return TN_NO_ID;
  const int64_t n = tn_elements(scale);
  if (n == 1) return tn_low_reshape(l, tn_low_in(l, QUANT_W_ZERO), 0, NULL);
  const int32_t inputs[] = {tn_low_in(l, QUANT_W_ZERO), tn_low_ints_const(l, &n, 1)};
  return tn_low_emit(l, "Expand", inputs, 2, NULL, 0);
}

static int32_t numbers(const tn_lowering *l, const attrs_of *a) {
  const int32_t inputs[] = {
      tn_low_dequantize(l, tn_low_in(l, QUANT_X), tn_low_type(l, QUANT_X)->dtype, a->x_scale,
                        a->x_zero),
      along_filters(l, tn_low_in(l, QUANT_W), filter_scale(l), filter_zero(l)), bias(l, a)};
  tn_attr attrs[6];
  uint32_t n = 0;
  attrs[n++] = tn_attr_int("group", a->group);
  if (a->kernel_shape.size) attrs[n++] = tn_attr_ints("kernel_shape", a->kernel_shape);
  if (a->strides.size) attrs[n++] = tn_attr_ints("strides", a->strides);
  if (a->dilations.size) attrs[n++] = tn_attr_ints("dilations", a->dilations);
  if (a->pads.size) attrs[n++] = tn_attr_ints("pads", a->pads);
  if (!a->pads.size) {
    attrs[n] = tn_attr_str("auto_pad", "");
    attrs[n++].s = a->auto_pad;
  }
  return tn_low_emit(l, "Conv", inputs, 3, attrs, n);
}

tn_status quant_conv_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const attrs_of *a = call->attrs;
  if (!tn_low_for_onnx(&l)) return TN_ERR_UNSUPPORTED;
  int32_t y = numbers(&l, a);
  const uint32_t dtype = call->outputs[0]->dtype;
  if (dtype == TN_F32) return tn_low_done(&l, y);
  const tn_tensor *z = tn_low_type(&l, QUANT_Z);
  y = tn_low_quantize_within(&l, y, dtype, a->y_scale, a->y_zero, a->lo, a->hi);
  if (!z) return tn_low_done(&l, y);
  const int32_t sum =
      tn_low_2(&l, "Add", tn_low_dequantize(&l, y, dtype, a->y_scale, a->y_zero),
               tn_low_dequantize(&l, tn_low_in(&l, QUANT_Z), z->dtype, a->z_scale, a->z_zero));
  return tn_low_done(
      &l, tn_low_quantize_within(&l, sum, dtype, a->sum_scale, a->sum_zero, a->sum_lo, a->sum_hi));
}
