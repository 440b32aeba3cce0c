/* QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear in f32 in vectors: the whole of
 * quant_avx512.c, quant_avx2.c and quant_neon.c. They run along stretches that share a scale, or
 * whose scales stand side by side; what vectors leave is done one by one with the same
 * roundings. */
#ifndef TN_OPS_QUANT_SIMD_H
#define TN_OPS_QUANT_SIMD_H

#include "scales.h"
#include "tenon/kit/elementwise.h"
#include "tenon/kit/simd.h"

static inline float byte_of(const tn_tensor *t, int64_t k) {
  return t->dtype == TN_I8 ? (float)((const int8_t *)t->data)[k]
                           : (float)((const uint8_t *)t->data)[k];
}

/* ---- f32 to bytes ---- */

/* Where the output's type ends, less the zero point: whole numbers, so that saturating may come
 * before rounding. */
typedef struct ends {
  float lo, hi;
  int32_t zero;
} ends;

static ends ends_of(const tn_tensor *y, int32_t zero) {
  const int32_t lowest = y->dtype == TN_I8 ? -128 : 0;
  return (ends){(float)(lowest - zero), (float)(lowest + 255 - zero), zero};
}

static int32_t zero_at(const tn_tensor *zero, int64_t k) {
  return zero ? (int32_t)byte_of(zero, k) : 0;
}

/* NaN becomes lo. */
static inline uint8_t quantize_one(float x, float step, ends e) {
  float q = x / step;
  q = q > e.lo ? q : e.lo;
  q = q < e.hi ? q : e.hi;
  return (uint8_t)((int32_t)((q + TN_VF_ROUNDER) - TN_VF_ROUNDER) + e.zero);
}

/* Four vectors at once. false: it is not done. Multiplying by 1 / scale is within 3 * 2^-24 of the
 * quotient's size, which is below 512 where it does not saturate: 0.0001 in all. So it rounds to
 * the same whole number as the quotient, unless it is as close as that to the middle of two. */
static inline bool quantize_four(const float *x, uint8_t *y, tn_vf one_over, tn_vf lo, tn_vf hi,
                                 int32_t zero) {
  const tn_vf rounder = tn_vf_set1(TN_VF_ROUNDER), nothing = tn_vf_set1(0);
  tn_vf rounded[4], far = nothing;
  TN_UNROLL for (int v = 0; v < 4; v++) {
    tn_vf q = tn_vf_mul(tn_vf_load(x + v * TN_VF_LANES), one_over);
    q = tn_vf_min(tn_vf_max(q, lo), hi);
    rounded[v] = tn_vf_add(q, rounder);
    q = tn_vf_sub(q, tn_vf_sub(rounded[v], rounder));
    far = tn_vf_max(tn_vf_max(q, tn_vf_sub(nothing, q)), far);
  }
  if (tn_vf_some_above(far, tn_vf_set1(0.4999f))) return false;
  TN_UNROLL for (int v = 0; v < 4; v++) {
    tn_vf_store_rounded(y + v * TN_VF_LANES, rounded[v], zero);
  }
  return true;
}

static inline void quantize_one_vector(const float *x, uint8_t *y, tn_vf step, tn_vf lo, tn_vf hi,
                                       int32_t zero) {
  const tn_vf q = tn_vf_div(tn_vf_load(x), step);
  tn_vf_store_byte(y, tn_vf_min(tn_vf_max(q, lo), hi), zero);
}

static void quantize_run(const float *x, uint8_t *y, int64_t n, float scale, ends e) {
  const tn_vf step = tn_vf_set1(scale), lo = tn_vf_set1(e.lo), hi = tn_vf_set1(e.hi),
              one_over = tn_vf_set1(1 / scale);
  const bool is_usual = scale > 0x1p-100f && scale < 0x1p100f; /* nothing overflows */
  int64_t k = 0;
  for (; k + 4 * TN_VF_LANES <= n; k += 4 * TN_VF_LANES)
    if (!is_usual || !quantize_four(x + k, y + k, one_over, lo, hi, e.zero))
      for (int64_t v = k; v < k + 4 * TN_VF_LANES; v += TN_VF_LANES)
        quantize_one_vector(x + v, y + v, step, lo, hi, e.zero);
  for (; k + TN_VF_LANES <= n; k += TN_VF_LANES)
    quantize_one_vector(x + k, y + k, step, lo, hi, e.zero);
  for (; k < n; k++) y[k] = quantize_one(x[k], scale, e);
}

/* Element k has scale k: zero points are added where they are not all 0. */
static void quantize_each(const float *x, const tn_tensor *y, int64_t at, int64_t n,
                          const float *scale, const tn_tensor *zero, int64_t j) {
  uint8_t *to = (uint8_t *)y->data + at;
  const ends none = ends_of(y, 0);
  const tn_vf lo = tn_vf_set1(none.lo), hi = tn_vf_set1(none.hi), magic = tn_vf_set1(TN_VF_ROUNDER);
  int64_t k = 0;
  for (; k + TN_VF_LANES <= n; k += TN_VF_LANES) {
    const tn_vf shift = !zero                  ? tn_vf_set1(0)
                        : zero->dtype == TN_I8 ? tn_vf_load_i8((const int8_t *)zero->data + j + k)
                                               : tn_vf_load_u8((const uint8_t *)zero->data + j + k);
    tn_vf q = tn_vf_div(tn_vf_load(x + k), tn_vf_load(scale + j + k));
    q = tn_vf_min(tn_vf_max(q, tn_vf_sub(lo, shift)), tn_vf_sub(hi, shift));
    tn_vf_store_byte(to + k, tn_vf_add(tn_vf_sub(tn_vf_add(q, magic), magic), shift), 0);
  }
  for (; k < n; k++) to[k] = quantize_one(x[k], scale[j + k], ends_of(y, zero_at(zero, j + k)));
}

tn_status TN_SIMD_NAME(quantize_linear_f32)(const tn_call *call, uint32_t stage, int64_t begin,
                                            int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  const tn_quantize_linear_attrs *a = call->attrs;
  const tn_tensor *y = call->outputs[0], *zero = tn_input(call, 2);
  const float *x = call->inputs[0]->data, *scale = call->inputs[1]->data;
  scales s;
  const tn_status status =
      scales_make(call, call->inputs[0], call->inputs[1], a->axis, a->block_size, &s);
  for (int64_t i = begin, e; !status && i < end; i = e) {
    const int64_t j = scales_index(&s, i);
    e = scales_stretch(&s, i, end);
    if (scales_lie_side_by_side(&s))
      quantize_each(x + i, y, i, e - i, scale, zero, j);
    else
      quantize_run(x + i, (uint8_t *)y->data + i, e - i, scale[j], ends_of(y, zero_at(zero, j)));
  }
  if (!status) tn_pads_zero(y, begin, end);
  return status;
}

/* ---- integers to f32 ---- */

/* y[k] = (x[k] - zero) * scale; EACH: with scale and zero point k. The difference of short
 * integers is exact; one of i32 need not be, and is taken in 64 bits if there is a zero point. */
#define DEQUANTIZE(T, name)                                                                       \
  static void dequantize_##name(const T *x, float *y, int64_t n, float scale, T zero) {           \
    const tn_vf step = tn_vf_set1(scale), shift = tn_vf_set1((float)zero);                        \
    const bool is_exact = sizeof(T) <= 2 || zero == 0;                                            \
    int64_t k = 0;                                                                                \
    for (; is_exact && k + TN_VF_LANES <= n; k += TN_VF_LANES)                                    \
      tn_vf_store(y + k, tn_vf_mul(tn_vf_sub(tn_vf_load_##name(x + k), shift), step));            \
    for (; k < n; k++) y[k] = (float)((int64_t)x[k] - zero) * scale;                              \
  }                                                                                               \
  static void dequantize_each_##name(const T *x, float *y, int64_t n, const float *scale,         \
                                     const T *zero) {                                             \
    int64_t k = 0;                                                                                \
    for (; (sizeof(T) <= 2 || !zero) && k + TN_VF_LANES <= n; k += TN_VF_LANES) {                 \
      const tn_vf shift = zero ? tn_vf_load_##name(zero + k) : tn_vf_set1(0);                     \
      const tn_vf v = tn_vf_sub(tn_vf_load_##name(x + k), shift);                                 \
      tn_vf_store(y + k, tn_vf_mul(v, tn_vf_load(scale + k)));                                    \
    }                                                                                             \
    for (; k < n; k++) y[k] = (float)((int64_t)x[k] - (zero ? zero[k] : 0)) * scale[k];           \
  }                                                                                               \
  static void dequantize_range_##name(const tn_call *call, const scales *s, int64_t i,            \
                                      int64_t end) {                                              \
    const T *x = call->inputs[0]->data, *zero = tn_input(call, 2) ? call->inputs[2]->data : NULL; \
    const float *scale = call->inputs[1]->data;                                                   \
    float *y = call->outputs[0]->data;                                                            \
    for (int64_t e; i < end; i = e) {                                                             \
      const int64_t j = scales_index(s, i);                                                       \
      e = scales_stretch(s, i, end);                                                              \
      if (scales_lie_side_by_side(s))                                                             \
        dequantize_each_##name(x + i, y + i, e - i, scale + j, zero ? zero + j : NULL);           \
      else                                                                                        \
        dequantize_##name(x + i, y + i, e - i, scale[j], zero ? zero[j] : 0);                     \
    }                                                                                             \
  }
DEQUANTIZE(int8_t, i8)
DEQUANTIZE(uint8_t, u8)
DEQUANTIZE(int16_t, i16)
DEQUANTIZE(uint16_t, u16)
DEQUANTIZE(int32_t, i32)

tn_status TN_SIMD_NAME(dequantize_linear_f32)(const tn_call *call, uint32_t stage, int64_t begin,
                                              int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  const tn_dequantize_linear_attrs *a = call->attrs;
  scales s;
  const tn_status status =
      scales_make(call, call->inputs[0], call->inputs[1], a->axis, a->block_size, &s);
  if (status) return status;
  switch (call->inputs[0]->dtype) {
    case TN_I8: dequantize_range_i8(call, &s, begin, end); break;
    case TN_U8: dequantize_range_u8(call, &s, begin, end); break;
    case TN_I16: dequantize_range_i16(call, &s, begin, end); break;
    case TN_U16: dequantize_range_u16(call, &s, begin, end); break;
    default: dequantize_range_i32(call, &s, begin, end); break;
  }
  tn_pads_zero(call->outputs[0], begin, end);
  return TN_OK;
}

/* ---- f32 to u8 by its own range ---- */

/* The least and the largest of 0 and x; of four vectors at a time, which need not wait for each
 * other. */
static void range_of(const float *x, int64_t n, float out[2]) {
  enum { AT_ONCE = 4 };
  tn_vf least[AT_ONCE], most[AT_ONCE];
  float lanes[2][TN_VF_LANES], lo = 0, hi = 0;
  int64_t k = 0;
  TN_UNROLL for (int v = 0; v < AT_ONCE; v++) least[v] = most[v] = tn_vf_set1(0);
  for (; k + AT_ONCE * TN_VF_LANES <= n; k += AT_ONCE * TN_VF_LANES)
    TN_UNROLL for (int v = 0; v < AT_ONCE; v++) {
      const tn_vf some = tn_vf_load(x + k + v * TN_VF_LANES);
      least[v] = tn_vf_min(some, least[v]); /* NaN is left out */
      most[v] = tn_vf_max(some, most[v]);
    }
  for (; k + TN_VF_LANES <= n; k += TN_VF_LANES) {
    least[0] = tn_vf_min(tn_vf_load(x + k), least[0]);
    most[0] = tn_vf_max(tn_vf_load(x + k), most[0]);
  }
  TN_UNROLL for (int v = 1; v < AT_ONCE; v++) {
    least[0] = tn_vf_min(least[v], least[0]);
    most[0] = tn_vf_max(most[v], most[0]);
  }
  tn_vf_store(lanes[0], least[0]);
  tn_vf_store(lanes[1], most[0]);
  for (; k < n; k++) lo = x[k] < lo ? x[k] : lo, hi = x[k] > hi ? x[k] : hi;
  for (int l = 0; l < TN_VF_LANES; l++) {
    lo = lanes[0][l] < lo ? lanes[0][l] : lo;
    hi = lanes[1][l] > hi ? lanes[1][l] : hi;
  }
  out[0] = lo, out[1] = hi;
}

/* Stage 0 leaves the range of each item in scratch; stage 1 joins them and quantises. */
tn_status TN_SIMD_NAME(dynamic_quantize_linear)(const tn_call *call, uint32_t stage, int64_t begin,
                                                int64_t end, uint32_t worker) {
  (void)worker;
  const float *x = call->inputs[0]->data;
  const tn_tensor *y = call->outputs[0];
  const int64_t n = tn_elements(call->inputs[0]);
  float *ranges = call->scratch, lo = 0, hi = 0;
  for (int64_t k = begin; stage == 0 && k < end; k++)
    range_of(x + k * DYNAMIC_ITEM, tn_min_i64(DYNAMIC_ITEM, n - k * DYNAMIC_ITEM), ranges + 2 * k);
  if (stage == 0 || begin == end) return TN_OK;
  for (int64_t k = 0; k < tn_ceil_div(n, DYNAMIC_ITEM); k++) {
    lo = ranges[2 * k] < lo ? ranges[2 * k] : lo;
    hi = ranges[2 * k + 1] > hi ? ranges[2 * k + 1] : hi;
  }
  const dynamic_scale d = dynamic_scale_of(lo, hi);
  const int64_t from = begin * DYNAMIC_ITEM, to = tn_min_i64(n, end * DYNAMIC_ITEM);
  if (y && from < to)
    quantize_run(x + from, (uint8_t *)y->data + from, to - from, d.scale > 0 ? d.scale : INFINITY,
                 ends_of(y, (int32_t)d.zero));
  if (begin == 0) dynamic_scale_store(call, d);
  return TN_OK;
}

#endif
