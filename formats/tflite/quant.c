/* Quantised values of TFLite. Its arithmetic counts in steps of the output: what becomes of each
 * input is one factor in f32, and the result is rounded once, half to even. DequantizeLinear with
 * that factor as its scale and QuantizeLinear with a scale of 1 say the same, bit for bit. */
#include <math.h>

#include "lower.h"
#include "reader.h"

bool tfl_is_quantised(const tn_lowering *t) {
  if (!tn_low_floats(t, "scales").size) return false;
  const tn_tensor *x = tn_low_type(t, 0);
  return x && x->dtype != TN_F32 && x->dtype != TN_F16 && x->dtype != TN_I32 && x->dtype != TN_I64;
}

bool tfl_counts_steps(const tn_lowering *t) { return tfl_is_quantised(t) && !tn_low_for_onnx(t); }

double tfl_scale(const tn_lowering *t, uint32_t k) {
  const tn_floats scales = tn_low_floats(t, "scales");
  return (int64_t)k < scales.size ? scales.data[k] : 0;
}

int64_t tfl_zero(const tn_lowering *t, uint32_t k) {
  const tn_ints zeros = tn_low_ints(t, "zeros");
  return (int64_t)k < zeros.size ? zeros.data[k] : 0;
}

uint32_t tfl_y(const tn_lowering *t) { return t->call->n_inputs; }

int32_t tfl_real(const tn_lowering *t, uint32_t k) {
  const tn_tensor *x = tn_low_type(t, k);
  if (!tfl_is_quantised(t) || !x || x->dtype == TN_F32 || tfl_scale(t, k) == 0)
    return tn_low_in(t, k);
  return tn_low_dequantize(t, tn_low_in(t, k), x->dtype, tfl_scale(t, k), tfl_zero(t, k));
}

int32_t tfl_from_real(const tn_lowering *t, int32_t x, uint32_t k) {
  const tn_tensor *in = tn_low_type(t, 0);
  const uint32_t y = tfl_y(t) + k;
  if (!tfl_is_quantised(t)) return tfl_activation(t, x, in ? in->dtype : TN_F32);
  return tn_low_quantize(t, tfl_activation(t, x, TN_F32), in->dtype, tfl_scale(t, y),
                         tfl_zero(t, y));
}

void tfl_code_bounds(const tn_lowering *t, uint32_t dtype, int64_t *out_lo, int64_t *out_hi) {
  const uint32_t y = tfl_y(t);
  const double scale = tfl_scale(t, y), zero = (double)tfl_zero(t, y);
  const int64_t activation = tn_low_int(t, "fused_activation_function", 0);
  int64_t lo = 0, hi = 0;
  (void)tflite_codes(dtype, &lo, &hi);
  const double from = activation == 2 ? -1 : 0, to = activation == 2   ? 1
                                                     : activation == 3 ? 6
                                                                       : INFINITY;
  *out_lo = lo;
  *out_hi = hi;
  if (activation < 1 || activation > 3 || !(scale > 0)) return;
  *out_lo = (int64_t)fmin(fmax((double)lo, zero + nearbyint(from / scale)), (double)hi);
  *out_hi = (int64_t)fmax(fmin((double)hi, zero + nearbyint(to / scale)), (double)lo);
}

int32_t tfl_from_steps(const tn_lowering *t, int32_t x) {
  return tfl_from_steps_of(t, x, tn_low_type(t, 0)->dtype);
}

int32_t tfl_from_steps_of(const tn_lowering *t, int32_t x, uint32_t dtype) {
  const int64_t zero = tfl_zero(t, tfl_y(t));
  int64_t lo, hi;
  if (tn_low_int(t, "fused_activation_function", 0)) {
    tfl_code_bounds(t, dtype, &lo, &hi);
    x = tn_low_clip(t, x, TN_F32, (double)(lo - zero), (double)(hi - zero));
  }
  return tn_low_quantize(t, x, dtype, 1, zero);
}
