/* Conversions between double and the narrow float types, one element at a time, by integer
 * arithmetic on the bits. For references and odd types: kernels convert by kit/elementwise.h.
 *
 * Every encoder starts from a double, which holds every f32 and every narrow value exactly: so each
 * conversion rounds once, to nearest, ties to even. */
#ifndef TN_KIT_NARROW_H
#define TN_KIT_NARROW_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tenon/kit/checked.h"

/* 8-, 6- and 4-bit floats; `saturate` as ONNX Cast-24 says: values out of range, infinities too,
 * become the largest instead of NaN or inf. f4e2m1, f6e2m3 and f6e3m2 always saturate, and NaN
 * becomes -0. f8e8m0: to the nearest power of two, ties up; 0 saturates to 2^-127. Bits above those
 * of the type are not looked at. */
TN_KIT_FN double tn_f8_to_f64(uint32_t dtype, uint8_t bits);
TN_KIT_FN uint8_t tn_f64_to_f8(uint32_t dtype, double f, bool saturate);

/* 16-bit floats; round to nearest, ties to even; NaN stays NaN. */
TN_KIT_FN float tn_f16_to_f32(uint16_t h);
TN_KIT_FN uint16_t tn_f32_to_f16(float f);
TN_KIT_FN uint16_t tn_f64_to_f16(double f);
TN_KIT_FN uint16_t tn_f64_to_bf16(double f);
TN_KIT_FN uint16_t tn_f32_to_bf16(float f);

static inline float tn_bf16_to_f32(uint16_t h) {
  union {
    uint32_t u;
    float f;
  } v = {(uint32_t)h << 16};
  return v.f;
}

#ifdef TN_KIT_BODIES

/* A float type with a sign bit. Magnitude bits: exponent field, then mantissa; field 0 is
 * subnormal. */
typedef struct tn_narrow_format {
  int mantissa_bits, bias;
  uint32_t largest;   /* finite magnitude */
  uint32_t infinity;  /* magnitude; 0: there is none */
  uint32_t nan;       /* a NaN's magnitude; 0: there is none */
  uint32_t sign;      /* the sign bit */
  bool unsigned_zero; /* "FNUZ": the pattern of -0 is the only NaN */
} tn_narrow_format;

static const tn_narrow_format tn_f16 = {10, 15, 0x7BFF, 0x7C00, 0x7E00, 0x8000, false};
static const tn_narrow_format tn_bf16 = {7, 127, 0x7F7F, 0x7F80, 0x7FC0, 0x8000, false};
static const tn_narrow_format tn_f8e4m3fn = {3, 7, 0x7E, 0, 0x7F, 0x80, false};
static const tn_narrow_format tn_f8e4m3fnuz = {3, 8, 0x7F, 0, 0, 0x80, true};
static const tn_narrow_format tn_f8e5m2 = {2, 15, 0x7B, 0x7C, 0x7E, 0x80, false};
static const tn_narrow_format tn_f8e5m2fnuz = {2, 16, 0x7F, 0, 0, 0x80, true};
static const tn_narrow_format tn_f4e2m1 = {1, 1, 0x7, 0, 0, 0x8, false};
static const tn_narrow_format tn_f6e2m3 = {3, 1, 0x1F, 0, 0, 0x20, false};
static const tn_narrow_format tn_f6e3m2 = {2, 3, 0x1F, 0, 0, 0x20, false};

static inline uint64_t tn_f64_bits(double f) {
  uint64_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

/* 2^exponent, for -1022 <= exponent <= 1023. */
static inline double tn_power_of_two(int exponent) {
  uint64_t bits = (uint64_t)(exponent + 1023) << 52;
  double f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

/* Magnitude bits of |f|, f no NaN, rounded; above t->largest if it is out of range. The carry of
 * rounding up runs from the mantissa into the exponent field by itself. */
static inline uint64_t tn_narrow_magnitude(const tn_narrow_format *t, double f) {
  uint64_t bits = tn_f64_bits(f) & (UINT64_MAX >> 1);
  if (bits >> 52 == 0) return 0; /* zero, and doubles far below any narrow value */
  int field = (int)(bits >> 52) - 1023 + t->bias;
  uint64_t significand = (bits & (UINT64_MAX >> 12)) | UINT64_C(1) << 52;
  int shift = 52 - t->mantissa_bits + (field < 1 ? 1 - field : 0);
  if (shift > 53) return 0;
  uint64_t kept = significand >> shift, rest = significand & ((UINT64_C(1) << shift) - 1);
  uint64_t half = UINT64_C(1) << (shift - 1);
  if (rest > half || (rest == half && (kept & 1))) kept++;
  return field < 1 ? kept : kept + ((uint64_t)(field - 1) << t->mantissa_bits);
}

static uint32_t tn_narrow_encode(const tn_narrow_format *t, double f, bool saturate) {
  uint32_t sign = signbit(f) ? t->sign : 0;
  uint32_t nan = t->unsigned_zero ? t->sign : sign | (t->nan ? t->nan : t->largest);
  if (f != f) return nan;
  uint64_t magnitude = tn_narrow_magnitude(t, f);
  if (magnitude == 0 && t->unsigned_zero) return 0;
  if (magnitude <= t->largest) return sign | (uint32_t)magnitude;
  if (saturate) return sign | t->largest;
  return t->infinity ? sign | t->infinity : nan;
}

static double tn_narrow_decode(const tn_narrow_format *t, uint32_t bits) {
  uint32_t magnitude = bits & (t->sign - 1);
  bool negative = (bits & t->sign) != 0;
  if (t->unsigned_zero && negative && magnitude == 0) return NAN;
  if (magnitude > t->largest) {
    if (magnitude != t->infinity) return NAN;
    return negative ? -(double)INFINITY : (double)INFINITY;
  }
  int field = (int)(magnitude >> t->mantissa_bits);
  uint32_t significand = magnitude & ((1U << t->mantissa_bits) - 1);
  if (field) significand |= 1U << t->mantissa_bits;
  double f = significand * tn_power_of_two((field ? field : 1) - t->bias - t->mantissa_bits);
  return negative ? -f : f;
}

/* f8e8m0 has only an exponent: bits b are 2^(b - 127), 255 is NaN; there is no zero and no sign.
 * Nearest power, ties up. Out of range below, zero included: 2^-127 if it saturates, else NaN.
 * Negative values are NaN. */
static inline uint32_t tn_encode_e8m0(double f, bool saturate) {
  enum { NAN_BITS = 255, LARGEST = 254 };
  if (f != f || f < 0) return NAN_BITS;
  uint64_t bits = tn_f64_bits(f) & (UINT64_MAX >> 1);
  int exponent = (int)(bits >> 52) - 1023 + 127 + (int)(bits >> 51 & 1);
  if (exponent < 0) return saturate ? 0 : NAN_BITS;
  if (exponent > LARGEST) return saturate ? LARGEST : NAN_BITS;
  return (uint32_t)exponent;
}

static inline const tn_narrow_format *tn_narrow_of(uint32_t dtype) {
  switch (dtype) {
    case TN_F8E4M3FN: return &tn_f8e4m3fn;
    case TN_F8E4M3FNUZ: return &tn_f8e4m3fnuz;
    case TN_F8E5M2: return &tn_f8e5m2;
    case TN_F8E5M2FNUZ: return &tn_f8e5m2fnuz;
    case TN_F4E2M1: return &tn_f4e2m1;
    case TN_F6E2M3: return &tn_f6e2m3;
    case TN_F6E3M2: return &tn_f6e3m2;
    default: return NULL;
  }
}

TN_KIT_FN double tn_f8_to_f64(uint32_t dtype, uint8_t bits) {
  if (dtype == TN_F8E8M0) return bits == 255 ? (double)NAN : tn_power_of_two(bits - 127);
  const tn_narrow_format *t = tn_narrow_of(dtype);
  return t ? tn_narrow_decode(t, bits) : (double)NAN;
}

TN_KIT_FN uint8_t tn_f64_to_f8(uint32_t dtype, double f, bool saturate) {
  if (dtype == TN_F8E8M0) return (uint8_t)tn_encode_e8m0(f, saturate);
  const tn_narrow_format *t = tn_narrow_of(dtype);
  /* Without infinity a float of four or six bits can only saturate; without NaN, NaN becomes -0, as
   * in ml_dtypes and ONNX. */
  const bool finite = t == &tn_f4e2m1 || t == &tn_f6e2m3 || t == &tn_f6e3m2;
  if (finite && f != f) return (uint8_t)t->sign;
  return t ? (uint8_t)tn_narrow_encode(t, f, saturate || finite) : 0;
}

TN_KIT_FN float tn_f16_to_f32(uint16_t h) { return (float)tn_narrow_decode(&tn_f16, h); }

TN_KIT_FN uint16_t tn_f32_to_f16(float f) {
  return (uint16_t)tn_narrow_encode(&tn_f16, (double)f, false);
}

TN_KIT_FN uint16_t tn_f64_to_f16(double f) { return (uint16_t)tn_narrow_encode(&tn_f16, f, false); }

TN_KIT_FN uint16_t tn_f64_to_bf16(double f) {
  return (uint16_t)tn_narrow_encode(&tn_bf16, f, false);
}

TN_KIT_FN uint16_t tn_f32_to_bf16(float f) {
  return (uint16_t)tn_narrow_encode(&tn_bf16, (double)f, false);
}

#endif

#endif
