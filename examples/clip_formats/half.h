/* Elements of f32, f16 and bf16 one by one, for the reference. */
#ifndef CLIP_HALF_H
#define CLIP_HALF_H

#include <math.h>
#include <string.h>
#include <tenon/plugin.h>

static inline uint32_t bits_of(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}

static inline float float_of(uint32_t u) {
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}

static inline float f16_to_f32(uint16_t h) {
  const int exponent = h >> 10 & 31, mantissa = h & 1023;
  const float f = exponent == 31  ? (mantissa ? NAN : INFINITY)
                  : exponent == 0 ? ldexpf((float)mantissa, -24)
                                  : ldexpf((float)(1024 + mantissa), exponent - 25);
  return h & 0x8000 ? -f : f;
}

/* To the nearest, ties to even. */
static inline uint16_t f32_to_f16(float f) {
  const uint16_t sign = (uint16_t)(bits_of(f) >> 16 & 0x8000);
  uint32_t u = bits_of(f) & 0x7fffffff;
  if (u > 0x7f800000) return sign | 0x7e00;  /* NaN */
  if (u >= 0x47800000) return sign | 0x7c00; /* 65536 and more: infinite */
  if (u < 0x38800000)                        /* subnormal: one ulp of 0.5 is one of f16 */
    return (uint16_t)(sign | (bits_of(float_of(u) + 0.5f) - 0x3f000000));
  u += 0xfff + (u >> 13 & 1);
  return (uint16_t)(sign | (u - 0x38000000) >> 13);
}

static inline uint16_t f32_to_bf16(float f) {
  const uint32_t u = bits_of(f);
  if (isnan(f)) return (uint16_t)(u >> 16 | 0x40);
  return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static inline float load(const tn_tensor *t, int64_t i) {
  if (t->dtype == TN_F32) return ((const float *)t->data)[i];
  const uint16_t h = ((const uint16_t *)t->data)[i];
  return t->dtype == TN_F16 ? f16_to_f32(h) : float_of((uint32_t)h << 16);
}

static inline void store(const tn_tensor *t, int64_t i, float value) {
  if (t->dtype == TN_F32)
    ((float *)t->data)[i] = value;
  else
    ((uint16_t *)t->data)[i] = t->dtype == TN_F16 ? f32_to_f16(value) : f32_to_bf16(value);
}

#endif
