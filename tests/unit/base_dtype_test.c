/* Element types: every pattern of every narrow float against its definition, every rounding
 * boundary between two neighbours, and loads and stores of all dtypes. */
#include "tenon/kit/dtype.h"
#include "tenon/kit/element.h"
#include "tenon/kit/narrow.h"
#include "tenon/tenon.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* The formats as their standards give them: IEEE 754 binary16, bfloat16, OCP OFP8, the "FNUZ" types
 * of Noune et al. 2022, and OCP MX FP6 and FP4. */
typedef struct format {
  uint32_t dtype;
  int exponent_bits, mantissa_bits, bias;
  uint32_t largest;
  bool has_infinity, is_fnuz;
} format;

static const format formats[] = {
    {TN_F16, 5, 10, 15, 0x7BFF, true, false},   {TN_BF16, 8, 7, 127, 0x7F7F, true, false},
    {TN_F8E4M3FN, 4, 3, 7, 0x7E, false, false}, {TN_F8E4M3FNUZ, 4, 3, 8, 0x7F, false, true},
    {TN_F8E5M2, 5, 2, 15, 0x7B, true, false},   {TN_F8E5M2FNUZ, 5, 2, 16, 0x7F, false, true},
    {TN_F6E2M3, 2, 3, 1, 0x1F, false, false},   {TN_F6E3M2, 3, 2, 3, 0x1F, false, false},
    {TN_F4E2M1, 2, 1, 1, 0x7, false, false},
};
enum { N_FORMATS = sizeof formats / sizeof *formats };

static uint32_t sign_bit(const format *f) { return 1U << (f->exponent_bits + f->mantissa_bits); }

static double decode(const format *f, uint32_t bits) {
  switch (f->dtype) {
    case TN_F16: return (double)tn_f16_to_f32((uint16_t)bits);
    case TN_BF16: return (double)tn_bf16_to_f32((uint16_t)bits);
    default: return tn_f8_to_f64(f->dtype, (uint8_t)bits);
  }
}

static uint32_t encode(const format *f, double x, bool saturate) {
  switch (f->dtype) {
    case TN_F16: return tn_f64_to_f16(x);
    case TN_BF16: return tn_f64_to_bf16(x);
    default: return tn_f64_to_f8(f->dtype, x, saturate);
  }
}

/* The value of finite magnitude bits, by definition. One beyond the largest is allowed: it is where
 * the next value would lie. */
static double value_of(const format *f, uint32_t magnitude) {
  uint32_t mantissa = magnitude & ((1U << f->mantissa_bits) - 1);
  int exponent = (int)(magnitude >> f->mantissa_bits);
  if (exponent == 0) return ldexp(mantissa, 1 - f->bias - f->mantissa_bits);
  return ldexp((1U << f->mantissa_bits) + mantissa, exponent - f->bias - f->mantissa_bits);
}

static void decodes_every_pattern(void **state) {
  (void)state;
  for (int k = 0; k < N_FORMATS; k++) {
    const format *f = &formats[k];
    uint32_t sign = sign_bit(f);
    for (uint32_t m = 0; m < sign; m++) {
      double plus = decode(f, m), minus = decode(f, sign | m);
      if (m <= f->largest) {
        assert_true(plus == value_of(f, m) && !signbit(plus));
        bool nan = f->is_fnuz && m == 0;
        assert_true(nan ? isnan(minus) : minus == -value_of(f, m) && signbit(minus));
      } else if (f->has_infinity && m == f->largest + 1) {
        assert_true(isinf(plus) && plus > 0 && isinf(minus) && minus < 0);
      } else {
        assert_true(isnan(plus) && isnan(minus));
      }
    }
  }
}

static void assert_encodes(const format *f, double x, uint32_t expected) {
  uint32_t minus = f->is_fnuz && expected == 0 ? 0 : sign_bit(f) | expected;
  for (int saturate = 0; saturate < 2; saturate++) {
    assert_int_equal(encode(f, x, saturate), expected);
    assert_int_equal(encode(f, -x, saturate), minus);
  }
}

/* Each value maps to itself; halfway to the next: the even one; a hair beside that: the nearer. */
static void rounds_at_every_boundary(void **state) {
  (void)state;
  for (int k = 0; k < N_FORMATS; k++) {
    const format *f = &formats[k];
    for (uint32_t m = 0; m <= f->largest; m++) {
      double x = value_of(f, m), middle = (x + value_of(f, m + 1)) / 2;
      assert_encodes(f, x, m);
      assert_encodes(f, nextafter(middle, 0), m);
      if (m == f->largest) break;
      assert_encodes(f, middle, m + (m & 1));
      assert_encodes(f, nextafter(middle, DBL_MAX), m + 1);
    }
    assert_encodes(f, DBL_TRUE_MIN, 0);
    assert_encodes(f, DBL_MIN, 0);
  }
}

static void overflows_and_nan(void **state) {
  (void)state;
  for (int k = 0; k < N_FORMATS; k++) {
    const format *f = &formats[k];
    double middle = (value_of(f, f->largest) + value_of(f, f->largest + 1)) / 2;
    double beyond[] = {nextafter(middle, DBL_MAX), value_of(f, f->largest + 1), DBL_MAX, INFINITY};
    uint32_t sign = sign_bit(f);
    bool is_f8 = f->dtype != TN_F16 && f->dtype != TN_BF16;
    bool never_nan = f->exponent_bits + f->mantissa_bits < 7; /* then it becomes -0 */
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
      if (is_f8) assert_int_equal(encode(f, beyond[i], true), f->largest);
      if (is_f8) assert_int_equal(encode(f, -beyond[i], true), sign | f->largest);
      uint32_t bits = encode(f, beyond[i], false), minus = encode(f, -beyond[i], false);
      if (f->has_infinity) {
        assert_int_equal(bits, f->largest + 1);
        assert_int_equal(minus, sign | (f->largest + 1));
      } else {
        assert_true(never_nan ? bits == f->largest : isnan(decode(f, bits)));
        assert_true(never_nan ? minus == (sign | f->largest) : isnan(decode(f, minus)));
      }
    }
    if (!never_nan) assert_true(isnan(decode(f, encode(f, (double)NAN, true))));
    if (!never_nan) assert_true(isnan(decode(f, encode(f, -(double)NAN, false))));
    if (never_nan) assert_int_equal(encode(f, (double)NAN, true), sign);
  }
}

/* f32 goes through the same code; all f16 and bf16 patterns come back, and a sweep agrees with f64.
 */
static void f32_conversions(void **state) {
  (void)state;
  for (uint32_t h = 0; h < 65536; h++) {
    float a = tn_f16_to_f32((uint16_t)h), b = tn_bf16_to_f32((uint16_t)h);
    if (!isnan(a)) assert_int_equal(tn_f32_to_f16(a), h);
    if (!isnan(b)) assert_int_equal(tn_f32_to_bf16(b), h);
    assert_true(isnan(a) == isnan(tn_f16_to_f32(tn_f32_to_f16(a))));
    assert_true(isnan(b) == isnan(tn_bf16_to_f32(tn_f32_to_bf16(b))));
  }
  for (uint32_t i = 0; i < 1U << 20; i++) {
    uint32_t u = i * 4099U; /* all exponents, mixed mantissas */
    float x;
    memcpy(&x, &u, sizeof x);
    if (isnan(x)) continue;
    assert_int_equal(tn_f32_to_f16(x), tn_f64_to_f16((double)x));
    assert_int_equal(tn_f32_to_bf16(x), tn_f64_to_bf16((double)x));
  }
}

static void e8m0(void **state) {
  (void)state;
  for (int b = 0; b < 255; b++) {
    double x = ldexp(1, b - 127);
    assert_true(tn_f8_to_f64(TN_F8E8M0, (uint8_t)b) == x);
    assert_int_equal(tn_f64_to_f8(TN_F8E8M0, x, false), b);
    assert_int_equal(tn_f64_to_f8(TN_F8E8M0, nextafter(1.5 * x, 0), false), b);
    assert_int_equal(tn_f64_to_f8(TN_F8E8M0, 1.5 * x, true), b == 254 ? 254 : b + 1);
  }
  assert_true(isnan(tn_f8_to_f64(TN_F8E8M0, 255)));
  assert_int_equal(tn_f64_to_f8(TN_F8E8M0, 0, true), 0);
  assert_int_equal(tn_f64_to_f8(TN_F8E8M0, 0, false), 255);
  assert_int_equal(tn_f64_to_f8(TN_F8E8M0, 1e-300, true), 0);
  assert_int_equal(tn_f64_to_f8(TN_F8E8M0, (double)INFINITY, true), 254);
  assert_int_equal(tn_f64_to_f8(TN_F8E8M0, (double)INFINITY, false), 255);
  assert_int_equal(tn_f64_to_f8(TN_F8E8M0, (double)NAN, true), 255);
  assert_int_equal(tn_f64_to_f8(TN_F8E8M0, -1, true), 255);
}

/* Smallest and largest of an integer dtype. */
static void int_range(uint32_t dtype, int64_t *low, int64_t *high) {
  const tn_dtype_info *info = tn_dtype(dtype);
  uint32_t bits = info->is_signed ? info->bits - 1 : info->bits;
  *high = bits >= 63 ? INT64_MAX : (INT64_C(1) << bits) - 1;
  *low = info->is_signed ? -*high - 1 : 0;
}

/* Writes pattern after pattern into neighbouring elements: none may touch another. */
static void integers(void **state) {
  (void)state;
  for (uint32_t dtype = 1; dtype < TN_DTYPE_COUNT; dtype++) {
    if (!tn_dtype(dtype)->is_int) continue;
    int64_t low, high;
    uint8_t data[16 * 8 + 1];
    int_range(dtype, &low, &high);
    const int64_t values[] = {low, high, 0, 1, high - 1, low + 1, high / 3, low};
    for (int offset = 0; offset < 2; offset++) { /* unaligned too */
      memset(data, 0xA5, sizeof data);
      for (int64_t i = 0; i < 16; i++) tn_store_i64(dtype, data + offset, i, values[i % 8]);
      for (int64_t i = 0; i < 16; i++) {
        assert_int_equal(tn_load_i64(dtype, data + offset, i), values[i % 8]);
        assert_true(tn_load_f64(dtype, data + offset, i) == (double)values[i % 8]);
      }
    }
    tn_store_i64(dtype, data, 3, high);
    tn_store_f64(dtype, data, 3, 1); /* overwrites */
    assert_int_equal(tn_load_i64(dtype, data, 3), 1);
    if (tn_dtype(dtype)->bits == 64) continue;
    tn_store_f64(dtype, data, 3, (double)high + 1.75); /* truncates, wraps */
    assert_int_equal(tn_load_i64(dtype, data, 3), low);
    tn_store_i64(dtype, data, 3, high + 2);
    assert_int_equal(tn_load_i64(dtype, data, 3), low + 1);
  }
}

static void conversions(void **state) {
  (void)state;
  union {
    uint64_t u64;
    int64_t i64;
    float f32[4];
    double f64[2];
    uint8_t byte;
  } e = {0};
  tn_store_f64(TN_U64, &e, 0, 0x1p63);
  assert_true(e.u64 == UINT64_C(1) << 63);
  assert_true(tn_load_f64(TN_U64, &e, 0) == 0x1p63);
  tn_store_f64(TN_I64, &e, 0, -0x1p70 - 0x1p20);
  assert_true(e.i64 == -(1 << 20));
  tn_store_f64(TN_I64, &e, 0, 0x1p64 + 0x1p12);
  assert_true(e.i64 == 4096);
  tn_store_f64(TN_I64, &e, 0, (double)NAN);
  assert_true(e.i64 == 0);
  tn_store_f64(TN_I64, &e, 0, (double)INFINITY);
  assert_true(e.i64 == 0);
  tn_store_f64(TN_BOOL, &e, 0, -0.5);
  assert_int_equal(e.byte, 1);
  tn_store_i64(TN_BOOL, &e, 0, 256);
  assert_int_equal(e.byte, 1);
  e.byte = 7; /* whatever stands for true */
  assert_int_equal(tn_load_i64(TN_BOOL, &e, 0), 1);
  tn_store_f64(TN_F64, &e, 1, -2.75);
  assert_true(e.f64[1] == -2.75);
  assert_int_equal(tn_load_i64(TN_F64, &e, 1), -2);
  e.f64[0] = 1e300;
  assert_true(tn_load_i64(TN_F64, &e, 0) == INT64_MAX);
  e.f64[0] = -1e300;
  assert_true(tn_load_i64(TN_F64, &e, 0) == INT64_MIN);
  e.f64[0] = (double)NAN;
  assert_int_equal(tn_load_i64(TN_F64, &e, 0), 0);
  e.f32[3] = 9;
  tn_store_f64(TN_C64, &e, 1, 1.5);
  assert_true(e.f32[2] == 1.5f && e.f32[3] == 0 && tn_load_f64(TN_C64, &e, 1) == 1.5);
  tn_store_i64(TN_C128, &e, 0, -3);
  assert_true(e.f64[0] == -3 && e.f64[1] == 0 && tn_load_f64(TN_C128, &e, 0) == -3);
}

/* Integers above 2^53 must round once on their way to f32, f16 and bf16. */
static void integers_to_floats(void **state) {
  (void)state;
  const int64_t hard = (INT64_C(1) << 62) + (INT64_C(1) << 38) + 1; /* just above a tie of f32 */
  float f;
  uint16_t h;
  tn_store_i64(TN_F32, &f, 0, hard);
  assert_true(f == (float)hard && f == 0x1p62f + 0x1p39f);
  tn_store_i64(TN_F32, &f, 0, -hard);
  assert_true(f == -(0x1p62f + 0x1p39f));
  tn_store_i64(TN_F32, &f, 0, hard - 2);
  assert_true(f == 0x1p62f);
  tn_store_i64(TN_F32, &f, 0, INT64_MIN);
  assert_true(f == -0x1p63f);
  tn_store_i64(TN_BF16, &h, 0, (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1);
  assert_true(tn_bf16_to_f32(h) == 0x1p62f + 0x1p55f);
  tn_store_i64(TN_F16, &h, 0, 2049);
  assert_true(tn_f16_to_f32(h) == 2048);
  tn_store_i64(TN_F16, &h, 0, INT64_MAX);
  assert_true(isinf(tn_f16_to_f32(h)));
}

/* Every pattern of the float types below 16 bits through load and store, packed ones included. */
static void narrow_elements(void **state) {
  (void)state;
  static const uint32_t dtypes[] = {TN_F8E4M3FN, TN_F8E4M3FNUZ, TN_F8E5M2, TN_F8E5M2FNUZ,
                                    TN_F8E8M0,   TN_F4E2M1,     TN_F6E2M3, TN_F6E3M2};
  for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
    uint32_t dtype = dtypes[d], n = 1U << tn_dtype(dtype)->bits;
    uint8_t data[256];
    memset(data, 0xFF, sizeof data);
    for (uint32_t i = 0; i < n; i++) {
      double x = tn_f8_to_f64(dtype, (uint8_t)i);
      tn_store_f64(dtype, data, i, x);
      double y = tn_load_f64(dtype, data, i);
      assert_true(x == y || (isnan(x) && isnan(y)));
    }
    for (uint32_t i = 0; i < n; i++) {
      double x = tn_f8_to_f64(dtype, (uint8_t)i), y = tn_load_f64(dtype, data, i);
      assert_true(x == y || (isnan(x) && isnan(y)));
    }
  }
}

/* OCP MX 1.0, tables 3 and 4. */
static void six_bits(void **state) {
  (void)state;
  static const struct {
    uint8_t bits;
    double e2m3, e3m2;
  } rows[] = {{0x1F, 7.5, 28},    {0x07, 0.875, 0.4375}, {0x01, 0.125, 0.0625},
              {0x3F, -7.5, -28},  {0x08, 1, 0.5},        {0x04, 0.5, 0.25},
              {0x20, -0.0, -0.0}, {0x29, -1.125, -0.625}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    assert_true(tn_f8_to_f64(TN_F6E2M3, rows[k].bits) == rows[k].e2m3);
    assert_true(tn_f8_to_f64(TN_F6E3M2, rows[k].bits) == rows[k].e3m2);
    assert_true(tn_f8_to_f64(TN_F6E3M2, rows[k].bits | 0xC0) == rows[k].e3m2); /* a whole byte */
    assert_int_equal(tn_f64_to_f8(TN_F6E2M3, rows[k].e2m3, false), rows[k].bits);
    assert_int_equal(tn_f64_to_f8(TN_F6E3M2, rows[k].e3m2, false), rows[k].bits);
  }
  assert_int_equal(tn_dtype_bytes(TN_F6E2M3, 5), 5);
  assert_int_equal(tn_dtype_parse("float6e3m2"), TN_F6E3M2);
}

static void names(void **state) {
  (void)state;
  for (uint32_t dtype = 1; dtype < TN_DTYPE_COUNT; dtype++) {
    assert_int_equal(tn_dtype_parse(tn_dtype_name(dtype)), dtype);
    assert_int_not_equal(tn_dtype(dtype)->bits, 0);
  }
  assert_string_equal(tn_dtype_name(TN_NONE), "?");
  assert_string_equal(tn_dtype_name(9999), "?");
  assert_int_equal(tn_dtype_parse("float"), TN_F32);
  assert_int_equal(tn_dtype_parse("float32"), TN_F32);
  assert_int_equal(tn_dtype_parse("uint8"), TN_U8);
  assert_int_equal(tn_dtype_parse("?"), TN_NONE);
  assert_int_equal(tn_dtype_parse("F32"), TN_NONE);
  assert_int_equal(tn_dtype_parse(NULL), TN_NONE);
}

static void bytes(void **state) {
  (void)state;
  assert_int_equal(tn_dtype_bytes(TN_F32, 3), 12);
  assert_int_equal(tn_dtype_bytes(TN_I4, 3), 2);
  assert_int_equal(tn_dtype_bytes(TN_U2, 5), 2);
  assert_int_equal(tn_dtype_bytes(TN_U2, 0), 0);
  assert_true(tn_dtype_bytes(TN_I4, INT64_MAX) == INT64_MAX / 2 + 1);
  assert_int_equal(tn_dtype_bytes(TN_I16, INT64_MAX), -1);
  assert_int_equal(tn_dtype_bytes(TN_F32, -1), -1);
  assert_int_equal(tn_dtype_bytes(TN_NONE, 1), -1);
  assert_int_equal(tn_dtype_bytes(TN_STRING, 2), 2 * (int64_t)sizeof(tn_str));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(decodes_every_pattern),
      cmocka_unit_test(rounds_at_every_boundary),
      cmocka_unit_test(overflows_and_nan),
      cmocka_unit_test(f32_conversions),
      cmocka_unit_test(e8m0),
      cmocka_unit_test(integers),
      cmocka_unit_test(conversions),
      cmocka_unit_test(integers_to_floats),
      cmocka_unit_test(narrow_elements),
      cmocka_unit_test(six_bits),
      cmocka_unit_test(names),
      cmocka_unit_test(bytes),
  };
  return cmocka_run_group_tests_name("base_dtype", tests, NULL, NULL);
}
