/* Conversions between double and the narrow float types, by integer arithmetic on the bits.
 *
 * Every encoder starts from a double, which holds every f32 and every narrow value exactly: so each
 * conversion rounds once, to nearest, ties to even. */
#include <math.h>
#include <string.h>

#include "base/dtype.h"

/* A float type with a sign bit. Magnitude bits: exponent field, then mantissa; field 0 is
 * subnormal. */
typedef struct narrow {
  int mantissa_bits, bias;
  uint32_t largest;   /* finite magnitude */
  uint32_t infinity;  /* magnitude; 0: there is none */
  uint32_t nan;       /* a NaN's magnitude; 0: there is none */
  uint32_t sign;      /* the sign bit */
  bool unsigned_zero; /* "FNUZ": the pattern of -0 is the only NaN */
} narrow;

static const narrow f16 = {10, 15, 0x7BFF, 0x7C00, 0x7E00, 0x8000, false};
static const narrow bf16 = {7, 127, 0x7F7F, 0x7F80, 0x7FC0, 0x8000, false};
static const narrow f8e4m3fn = {3, 7, 0x7E, 0, 0x7F, 0x80, false};
static const narrow f8e4m3fnuz = {3, 8, 0x7F, 0, 0, 0x80, true};
static const narrow f8e5m2 = {2, 15, 0x7B, 0x7C, 0x7E, 0x80, false};
static const narrow f8e5m2fnuz = {2, 16, 0x7F, 0, 0, 0x80, true};
static const narrow f4e2m1 = {1, 1, 0x7, 0, 0, 0x8, false};
static const narrow f6e2m3 = {3, 1, 0x1F, 0, 0, 0x20, false};
static const narrow f6e3m2 = {2, 3, 0x1F, 0, 0, 0x20, false};

static uint64_t f64_bits(double f) {
  uint64_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

/* 2^exponent, for -1022 <= exponent <= 1023. */
static double power_of_two(int exponent) {
  uint64_t bits = (uint64_t)(exponent + 1023) << 52;
  double f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

/* Magnitude bits of |f|, f no NaN, rounded; above t->largest if it is out of range. The carry of
 * rounding up runs from the mantissa into the exponent field by itself. */
static uint64_t round_magnitude(const narrow *t, double f) {
  uint64_t bits = f64_bits(f) & (UINT64_MAX >> 1);
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

static uint32_t encode(const narrow *t, double f, bool saturate) {
  uint32_t sign = signbit(f) ? t->sign : 0;
  uint32_t nan = t->unsigned_zero ? t->sign : sign | (t->nan ? t->nan : t->largest);
  if (f != f) return nan;
  uint64_t magnitude = round_magnitude(t, f);
  if (magnitude == 0 && t->unsigned_zero) return 0;
  if (magnitude <= t->largest) return sign | (uint32_t)magnitude;
  if (saturate) return sign | t->largest;
  return t->infinity ? sign | t->infinity : nan;
}

static double decode(const narrow *t, uint32_t bits) {
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
  double f = significand * power_of_two((field ? field : 1) - t->bias - t->mantissa_bits);
  return negative ? -f : f;
}

/* f8e8m0 has only an exponent: bits b are 2^(b - 127), 255 is NaN; there is no zero and no sign.
 * Nearest power, ties up. Out of range below, zero included: 2^-127 if it saturates, else NaN.
 * Negative values are NaN. */
static uint32_t encode_e8m0(double f, bool saturate) {
  enum { NAN_BITS = 255, LARGEST = 254 };
  if (f != f || f < 0) return NAN_BITS;
  uint64_t bits = f64_bits(f) & (UINT64_MAX >> 1);
  int exponent = (int)(bits >> 52) - 1023 + 127 + (int)(bits >> 51 & 1);
  if (exponent < 0) return saturate ? 0 : NAN_BITS;
  if (exponent > LARGEST) return saturate ? LARGEST : NAN_BITS;
  return (uint32_t)exponent;
}

static const narrow *narrow_of(uint32_t dtype) {
  switch (dtype) {
    case TN_F8E4M3FN: return &f8e4m3fn;
    case TN_F8E4M3FNUZ: return &f8e4m3fnuz;
    case TN_F8E5M2: return &f8e5m2;
    case TN_F8E5M2FNUZ: return &f8e5m2fnuz;
    case TN_F4E2M1: return &f4e2m1;
    case TN_F6E2M3: return &f6e2m3;
    case TN_F6E3M2: return &f6e3m2;
    default: return NULL;
  }
}

double tn_f8_to_f64(uint32_t dtype, uint8_t bits) {
  if (dtype == TN_F8E8M0) return bits == 255 ? (double)NAN : power_of_two(bits - 127);
  const narrow *t = narrow_of(dtype);
  return t ? decode(t, bits) : (double)NAN;
}

uint8_t tn_f64_to_f8(uint32_t dtype, double f, bool saturate) {
  if (dtype == TN_F8E8M0) return (uint8_t)encode_e8m0(f, saturate);
  const narrow *t = narrow_of(dtype);
  /* Without infinity a float of four or six bits can only saturate; without NaN, NaN becomes -0, as
   * in ml_dtypes and ONNX. */
  const bool finite = t == &f4e2m1 || t == &f6e2m3 || t == &f6e3m2;
  if (finite && f != f) return (uint8_t)t->sign;
  return t ? (uint8_t)encode(t, f, saturate || finite) : 0;
}

float tn_f16_to_f32(uint16_t h) { return (float)decode(&f16, h); }
uint16_t tn_f32_to_f16(float f) { return (uint16_t)encode(&f16, (double)f, false); }
uint16_t tn_f64_to_f16(double f) { return (uint16_t)encode(&f16, f, false); }
uint16_t tn_f64_to_bf16(double f) { return (uint16_t)encode(&bf16, f, false); }
uint16_t tn_f32_to_bf16(float f) { return (uint16_t)encode(&bf16, (double)f, false); }
