/* QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear: inference and references. */
#include <math.h>

#include "scales.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/onnx_dtype.h"

tn_status scales_make(const tn_call *call, const tn_tensor *x, const tn_tensor *scale, int64_t axis,
                      int64_t block, scales *out) {
  scales s = {.n = 1, .inner = 1, .single = tn_elements(scale) == 1 && !block};
  char xt[TN_TENSOR_TEXT], st[TN_TENSOR_TEXT];
  *out = s;
  if (s.single) return TN_OK;
  if (block < 0)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute 'block_size' is %lld",
                            (long long)block);
  int32_t at = 0;
  tn_status status = tn_axis_normalize(call, axis, x->rank, &at);
  if (status) return status;
  s.n = x->shape[at];
  for (int32_t k = at + 1; k < x->rank; k++) s.inner *= x->shape[k];
  bool fits = block ? scale->rank == x->rank : scale->rank == 1 && scale->shape[0] == s.n;
  for (int32_t k = 0; k < x->rank && block && fits; k++)
    fits = scale->shape[k] == (k == at ? tn_ceil_div(x->shape[k], block) : x->shape[k]);
  if (!fits)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "the scale is %s for data of %s, axis %d, block_size %lld",
                            tn_tensor_text(scale, st, sizeof st), tn_tensor_text(x, xt, sizeof xt),
                            at, (long long)block);
  s.block = block;
  s.blocks = block ? tn_ceil_div(s.n, block) : 0;
  *out = s;
  return TN_OK;
}

static tn_status infer(const tn_call *call, int64_t axis, int64_t block, uint32_t dtype) {
  scales s;
  const tn_tensor *zero = tn_input(call, 2);
  tn_status status = scales_make(call, call->inputs[0], call->inputs[1], axis, block, &s);
  if (status) return status;
  if (zero && tn_elements(zero) != tn_elements(call->inputs[1]))
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "scale and zero point differ in shape");
  if (call->outputs[0] && dtype != TN_NONE) call->outputs[0]->dtype = dtype;
  tn_infer_shape(call, 0, dtype, call->inputs[0]->rank, call->inputs[0]->shape);
  return TN_OK;
}

tn_status quantize_linear_infer(const tn_call *call) {
  const tn_quantize_linear_attrs *a = call->attrs;
  uint32_t dtype = tn_has_input(call, 2) ? call->inputs[2]->dtype
                   : a->output_dtype     ? tn_dtype_of_onnx(a->output_dtype)
                                         : TN_U8;
  if (dtype == TN_NONE)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute 'output_dtype' is %lld",
                            (long long)a->output_dtype);
  if (a->precision && !tn_dtype(tn_dtype_of_onnx(a->precision))->is_float)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute 'precision' is %lld, which is no float type",
                            (long long)a->precision);
  return infer(call, a->axis, a->block_size, dtype);
}

tn_status dequantize_linear_infer(const tn_call *call) {
  const tn_dequantize_linear_attrs *a = call->attrs;
  uint32_t dtype = a->output_dtype ? tn_dtype_of_onnx(a->output_dtype) : call->inputs[1]->dtype;
  if (dtype == TN_NONE)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute 'output_dtype' is %lld",
                            (long long)a->output_dtype);
  return infer(call, a->axis, a->block_size, dtype);
}

/* ---- references ---- */

static double at(const tn_tensor *t, int64_t k) { return tn_load_f64(t->dtype, t->data, k); }

/* Range of an integer type, by its bits. */
static void range_of(uint32_t dtype, double *lo, double *hi) {
  const tn_dtype_info *d = tn_dtype(dtype);
  *lo = d->is_signed ? -ldexp(1, (int)d->bits - 1) : 0;
  *hi = ldexp(1, (int)d->bits - d->is_signed) - 1;
}

tn_status quantize_linear_reference(const tn_call *call) {
  const tn_quantize_linear_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0], *zero = tn_input(call, 2);
  scales s;
  tn_status status = scales_make(call, x, call->inputs[1], a->axis, a->block_size, &s);
  for (int64_t k = 0; !status && k < tn_elements(x); k++) {
    int64_t j = scales_index(&s, k);
    double q = scales_divide(scales_precision(call), at(x, k), at(call->inputs[1], j)), lo, hi;
    if (tn_dtype(y->dtype)->is_int) {
      range_of(y->dtype, &lo, &hi);
      q = fmin(fmax(nearbyint(q) + (zero ? at(zero, j) : 0), lo), hi);
      tn_store_f64(y->dtype, y->data, k, q);
    } else if (tn_dtype(y->dtype)->bits == 8) {
      ((uint8_t *)y->data)[k] =
          tn_f64_to_f8(y->dtype, q + (zero ? at(zero, j) : 0), a->saturate != 0);
    } else {
      tn_store_f64(y->dtype, y->data, k, q + (zero ? at(zero, j) : 0));
    }
  }
  return status;
}

tn_status dequantize_linear_reference(const tn_call *call) {
  const tn_dequantize_linear_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0], *zero = tn_input(call, 2);
  scales s;
  tn_status status = scales_make(call, x, call->inputs[1], a->axis, a->block_size, &s);
  for (int64_t k = 0; !status && k < tn_elements(x); k++) {
    int64_t j = scales_index(&s, k);
    tn_store_f64(call->outputs[0]->dtype, call->outputs[0]->data, k,
                 (at(x, k) - (zero ? at(zero, j) : 0)) * at(call->inputs[1], j));
  }
  return status;
}

tn_status dynamic_quantize_linear_infer(const tn_call *call) {
  tn_infer_shape(call, 0, TN_U8, call->inputs[0]->rank, call->inputs[0]->shape);
  tn_infer_shape(call, 1, TN_F32, 0, NULL);
  tn_infer_shape(call, 2, TN_U8, 0, NULL);
  return TN_OK;
}

/* scale = (max(x, 0) - min(x, 0)) / 255 in f32, as the specification computes it */
tn_status dynamic_quantize_linear_reference(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  double lo = 0, hi = 0;
  for (int64_t k = 0; k < tn_elements(x); k++) lo = fmin(lo, at(x, k)), hi = fmax(hi, at(x, k));
  double scale = (double)(float)((float)(hi - lo) / 255.0f);
  double zero = scale > 0 ? nearbyint(fmin(fmax((double)((float)-lo / (float)scale), 0), 255)) : 0;
  for (int64_t k = 0; k < tn_elements(x); k++) {
    double q = scale > 0 ? nearbyint((double)((float)at(x, k) / (float)scale)) + zero : zero;
    if (call->outputs[0]) tn_store_f64(TN_U8, call->outputs[0]->data, k, fmin(fmax(q, 0), 255));
  }
  if (tn_has_output(call, 1)) tn_store_f64(TN_F32, call->outputs[1]->data, 0, scale);
  if (tn_has_output(call, 2)) tn_store_f64(TN_U8, call->outputs[2]->data, 0, zero);
  return TN_OK;
}
