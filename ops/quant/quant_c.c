/* Portable quantisation. The f32 <-> 8-bit kernels run along stretches that share a scale; the
 * others go element by element for the rare types and blocked scales. */
#include <math.h>

#include "quant_add.h"
#include "scales.h"
#include "tenon/kit/elementwise.h"
#include "tenon/kit/infer.h"

/* Per work item of the slow kernels: two threads must not write packed elements of one byte. */
enum { ELEMENTS = 1024 };

static tn_status plan(const tn_call *call, tn_kernel_plan *out) {
  out->items[0] = tn_ceil_div(tn_elements(call->inputs[0]), ELEMENTS);
  out->grain[0] = 8;
  out->cost_ns = (double)tn_elements(call->inputs[0]) + 200;
  return TN_OK;
}

tn_status quantize_linear_plan(const tn_call *call, tn_kernel_plan *out) { return plan(call, out); }
tn_status dequantize_linear_plan(const tn_call *call, tn_kernel_plan *out) {
  return plan(call, out);
}

/* ---- of the kernels in vectors ---- */

static const char *refuse_layout(const tn_call *call, bool divides_in_f32) {
  if (!divides_in_f32) return "it divides in f32";
  if (call->inputs[0]->layout == TN_PLAIN || tn_elements(call->inputs[1]) == 1) return NULL;
  return "several scales go with the plain layout only";
}
const char *quantize_linear_simd_refuse(const tn_call *call) {
  return refuse_layout(call, scales_precision(call) == TN_F32);
}
const char *dequantize_linear_simd_refuse(const tn_call *call) { return refuse_layout(call, true); }

tn_status quantize_linear_simd_plan(const tn_call *call, tn_kernel_plan *out) {
  return tn_plan_elementwise(call, out, call->isa & TN_ISA_AVX512 ? 0.25 : 0.35);
}
tn_status dequantize_linear_simd_plan(const tn_call *call, tn_kernel_plan *out) {
  return tn_plan_elementwise(call, out, 0.15);
}

tn_status dynamic_quantize_linear_simd_plan(const tn_call *call, tn_kernel_plan *out) {
  const int64_t n = tn_elements(call->inputs[0]), items = tn_ceil_div(n, DYNAMIC_ITEM);
  out->n_stages = 2;
  out->items[0] = items;
  out->items[1] = tn_max_i64(items, 1); /* scale and zero point, where there are no elements too */
  out->scratch_bytes = (uint64_t)tn_max_i64(items, 1) * 2 * sizeof(float);
  out->cost_ns = 200 + 0.5 * (double)n;
  return TN_OK;
}

/* End of the stretch from i on that has one scale. */
static int64_t stretch_end(const scales *s, int64_t i, int64_t end) {
  return scales_lie_side_by_side(s) ? i + 1 : scales_stretch(s, i, end);
}

/* Round half to even by adding and taking away 1.5 * 2^23: exact for |x| < 2^22, and what is larger
 * saturates anyway. */
static float round_even(float x) {
  const float magic = 12582912.0f;
  x = x > 1e6f ? 1e6f : x < -1e6f ? -1e6f : x;
  return (x + magic) - magic;
}

const char *quantize_linear_f32_refuse(const tn_call *call) {
  return scales_precision(call) == TN_F32 ? NULL : "it divides in f32";
}

#define QUANTIZE(T, lo, hi)                                                              \
  do {                                                                                   \
    T *y = call->outputs[0]->data;                                                       \
    for (int64_t e; i < end; i = e) {                                                    \
      int64_t j = scales_index(&s, i);                                                   \
      const float step = scale[j], shift = zero ? (float)((const T *)zero->data)[j] : 0; \
      e = stretch_end(&s, i, end);                                                       \
      for (int64_t k = i; k < e; k++) {                                                  \
        float q = round_even(x[k] / step) + shift;                                       \
        y[k] = (T)(int32_t)(!(q > lo) ? lo : q > hi ? hi : q);                           \
      }                                                                                  \
    }                                                                                    \
  } while (0)

tn_status quantize_linear_f32_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t last,
                                uint32_t worker) {
  (void)stage, (void)worker;
  const tn_quantize_linear_attrs *a = call->attrs;
  const tn_tensor *zero = tn_input(call, 2);
  scales s;
  tn_status status =
      scales_make(call, call->inputs[0], call->inputs[1], a->axis, a->block_size, &s);
  if (status) return status;
  const float *x = call->inputs[0]->data, *scale = call->inputs[1]->data;
  int64_t i = begin * ELEMENTS, end = tn_min_i64(last * ELEMENTS, tn_elements(call->inputs[0]));
  switch (call->outputs[0]->dtype) {
    case TN_I8: QUANTIZE(int8_t, -128.0f, 127.0f); break;
    case TN_I16: QUANTIZE(int16_t, -32768.0f, 32767.0f); break;
    case TN_U16: QUANTIZE(uint16_t, 0.0f, 65535.0f); break;
    default: QUANTIZE(uint8_t, 0.0f, 255.0f); break;
  }
  return TN_OK;
}

#define DEQUANTIZE(T)                                                                  \
  for (int64_t e; i < end; i = e) {                                                    \
    int64_t j = scales_index(&s, i);                                                   \
    const float step = scale[j];                                                       \
    const T shift = zero ? ((const T *)zero->data)[j] : 0, *x = call->inputs[0]->data; \
    e = stretch_end(&s, i, end);                                                       \
    for (int64_t k = i; k < e; k++) y[k] = (float)((int64_t)x[k] - shift) * step;      \
  }                                                                                    \
  break

tn_status dequantize_linear_f32_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t last,
                                  uint32_t worker) {
  (void)stage, (void)worker;
  const tn_dequantize_linear_attrs *a = call->attrs;
  const tn_tensor *zero = tn_input(call, 2);
  scales s;
  tn_status status =
      scales_make(call, call->inputs[0], call->inputs[1], a->axis, a->block_size, &s);
  if (status) return status;
  const float *scale = call->inputs[1]->data;
  float *y = call->outputs[0]->data;
  int64_t i = begin * ELEMENTS, end = tn_min_i64(last * ELEMENTS, tn_elements(call->inputs[0]));
  switch (call->inputs[0]->dtype) {
    case TN_I8: DEQUANTIZE(int8_t);
    case TN_U8: DEQUANTIZE(uint8_t);
    case TN_I16: DEQUANTIZE(int16_t);
    case TN_U16: DEQUANTIZE(uint16_t);
    default: DEQUANTIZE(int32_t);
  }
  return TN_OK;
}

/* ---- any types ---- */

static void store_quantised(const tn_tensor *y, int64_t k, double q, double shift, bool saturate) {
  const tn_dtype_info *d = tn_dtype(y->dtype);
  if (d->is_int) {
    double lo = d->is_signed ? -ldexp(1, (int)d->bits - 1) : 0,
           hi = ldexp(1, (int)d->bits - d->is_signed) - 1;
    q = nearbyint(q) + shift;
    tn_store_f64(y->dtype, y->data, k, !(q > lo) ? lo : q > hi ? hi : q);
  } else if (d->bits == 8) {
    ((uint8_t *)y->data)[k] = tn_f64_to_f8(y->dtype, q + shift, saturate);
  } else {
    tn_store_f64(y->dtype, y->data, k, q + shift);
  }
}

tn_status quantize_linear_any_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t last,
                                uint32_t worker) {
  (void)stage, (void)worker;
  const tn_quantize_linear_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0], *scale = call->inputs[1], *zero = tn_input(call, 2);
  scales s;
  tn_status status = scales_make(call, x, scale, a->axis, a->block_size, &s);
  int64_t end = tn_min_i64(last * ELEMENTS, tn_elements(x));
  for (int64_t k = begin * ELEMENTS; !status && k < end; k++) {
    int64_t j = scales_index(&s, k);
    double q = scales_divide(scales_precision(call), tn_load_f64(x->dtype, x->data, k),
                             tn_load_f64(scale->dtype, scale->data, j));
    store_quantised(call->outputs[0], k, q, zero ? tn_load_f64(zero->dtype, zero->data, j) : 0,
                    a->saturate != 0);
  }
  return status;
}

tn_status dequantize_linear_any_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t last,
                                  uint32_t worker) {
  (void)stage, (void)worker;
  const tn_dequantize_linear_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0], *scale = call->inputs[1], *zero = tn_input(call, 2),
                  *y = call->outputs[0];
  scales s;
  tn_status status = scales_make(call, x, scale, a->axis, a->block_size, &s);
  int64_t end = tn_min_i64(last * ELEMENTS, tn_elements(x));
  for (int64_t k = begin * ELEMENTS; !status && k < end; k++) {
    int64_t j = scales_index(&s, k);
    double v =
        tn_load_f64(x->dtype, x->data, k) - (zero ? tn_load_f64(zero->dtype, zero->data, j) : 0);
    tn_store_f64(y->dtype, y->data, k, v * tn_load_f64(scale->dtype, scale->data, j));
  }
  return status;
}

tn_status dynamic_quantize_linear_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                    uint32_t worker) {
  (void)stage, (void)begin, (void)worker;
  if (!end) return TN_OK;
  const float *x = call->inputs[0]->data;
  int64_t n = tn_elements(call->inputs[0]);
  float lo = 0, hi = 0;
  for (int64_t k = 0; k < n; k++) lo = x[k] < lo ? x[k] : lo, hi = x[k] > hi ? x[k] : hi;
  const dynamic_scale d = dynamic_scale_of(lo, hi);
  uint8_t *y = call->outputs[0] ? call->outputs[0]->data : NULL;
  for (int64_t k = 0; y && k < n; k++) {
    float q = (d.scale > 0 ? round_even(x[k] / d.scale) : 0) + d.zero;
    y[k] = (uint8_t)(!(q > 0) ? 0 : q > 255 ? 255 : q);
  }
  dynamic_scale_store(call, d);
  return TN_OK;
}

static tn_status add_range(const tn_call *call, bool is_product, int64_t begin, int64_t end) {
  const quant_add s = quant_add_of(call, is_product);
  const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
  const float zero = (float)s.y_zero;
  uint8_t *y = call->outputs[0]->data;
  tn_broadcast both;
  const tn_status status = tn_broadcast_init(&both, call->outputs[0], 2, call->inputs);
  if (status) return status;
  tn_runs r = tn_runs_begin(&both, begin, end);
  while (tn_runs_next(&r))
    for (int64_t k = 0; k < r.length; k++) {
      const float value = quant_add_value(
          quant_add_load(a->data, a->dtype == TN_I8, r.offset[0] + k * r.stride[0]),
          quant_add_load(b->data, b->dtype == TN_I8, r.offset[1] + k * r.stride[1]), &s);
      float q = value / s.y_scale;
      if (s.halves_up) quant_add_round_up(&q, 1);
      q = q > s.lo ? q : s.lo;
      q = q < s.hi ? q : s.hi;
      y[r.index + k] = (uint8_t)(int32_t)(round_even(q) + zero);
    }
  tn_pads_zero(call->outputs[0], begin, end);
  return TN_OK;
}

tn_status quant_add_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                      uint32_t worker) {
  (void)stage, (void)worker;
  return add_range(call, false, begin, end);
}

tn_status quant_mul_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                      uint32_t worker) {
  (void)stage, (void)worker;
  return add_range(call, true, begin, end);
}
