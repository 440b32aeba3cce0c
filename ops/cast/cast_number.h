/* Casts between numbers that C has types for, f16 and bf16, written once and compiled per
 * instruction set: a loop per pair of C types; f16 and bf16 by way of f32 where that rounds once;
 * the rest element by element.
 *
 * Floats become integers by their integer part modulo 2^width (NaN and infinities: 0): what x86
 * does where the C standard leaves it open, and the same on every machine. */
#ifndef TN_OPS_CAST_NUMBER_H
#define TN_OPS_CAST_NUMBER_H

#include "tenon/kit/element.h"
#include "tenon/kit/elementwise.h"

/* ---- Loops ---- */

typedef void (*cast_loop)(const void *x, void *y, int64_t n);

static int64_t far_f64(double x) { /* beyond i64 */
  int64_t y = 0;
  tn_store_f64(TN_I64, &y, 0, x);
  return y;
}
static inline int64_t int_of_f64(double x) {
  return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : far_f64(x);
}

#define LOOP(from, F, to, T, value)                              \
  static void from##_##to(const void *vx, void *vy, int64_t n) { \
    const F *x = vx;                                             \
    T *y = vy;                                                   \
    TN_IVDEP for (int64_t i = 0; i < n; i++) y[i] = (T)(value);  \
  }

/* Blocks of floats that all fit in i32 are converted by way of that, which is vector code. */
#define FLOAT_LOOP(from, F, to, T)                                                \
  static void from##_##to(const void *vx, void *vy, int64_t n) {                  \
    const F *x = vx;                                                              \
    T *y = vy;                                                                    \
    for (int64_t begin = 0, end; begin < n; begin = end) {                        \
      end = tn_min_i64(begin + TN_MAP_BLOCK, n);                                  \
      if (fits_##from(x + begin, end - begin)) {                                  \
        TN_IVDEP for (int64_t i = begin; i < end; i++) y[i] = (T)(int32_t)x[i];   \
      } else {                                                                    \
        for (int64_t i = begin; i < end; i++) y[i] = (T)int_of_f64((double)x[i]); \
      }                                                                           \
    }                                                                             \
  }
#define FITS(from, F, I)                                                             \
  static bool fits_##from(const F *x, int64_t n) {                                   \
    I far = 0;                                                                       \
    for (int64_t i = 0; i < n; i++) far |= !(x[i] > (F)-0x1p31 && x[i] < (F)0x1p31); \
    return far == 0;                                                                 \
  }
FITS(F32, float, int32_t)
FITS(F64, double, int64_t)

/* All conversions from F, which is an integer (bool is read as one). */
#define FROM_INT(from, F)            \
  LOOP(from, F, F32, float, x[i])    \
  LOOP(from, F, F64, double, x[i])   \
  LOOP(from, F, I8, int8_t, x[i])    \
  LOOP(from, F, I16, int16_t, x[i])  \
  LOOP(from, F, I32, int32_t, x[i])  \
  LOOP(from, F, I64, int64_t, x[i])  \
  LOOP(from, F, U8, uint8_t, x[i])   \
  LOOP(from, F, U16, uint16_t, x[i]) \
  LOOP(from, F, U32, uint32_t, x[i]) \
  LOOP(from, F, U64, uint64_t, x[i]) LOOP(from, F, BOOL, uint8_t, x[i] != 0)
FROM_INT(I8, int8_t)
FROM_INT(I16, int16_t)
FROM_INT(I32, int32_t)
FROM_INT(I64, int64_t)
FROM_INT(U8, uint8_t)
FROM_INT(U16, uint16_t)
FROM_INT(U32, uint32_t)
FROM_INT(U64, uint64_t)
LOOP(F32, float, F64, double, x[i])
LOOP(F32, float, F32, float, x[i])
LOOP(F32, float, BOOL, uint8_t, x[i] != 0.0f)
FLOAT_LOOP(F32, float, I8, int8_t)
FLOAT_LOOP(F32, float, I16, int16_t)
FLOAT_LOOP(F32, float, I32, int32_t)
FLOAT_LOOP(F32, float, I64, int64_t)
FLOAT_LOOP(F32, float, U8, uint8_t)
FLOAT_LOOP(F32, float, U16, uint16_t)
FLOAT_LOOP(F32, float, U32, uint32_t)
FLOAT_LOOP(F32, float, U64, uint64_t)
LOOP(F64, double, F32, float, x[i])
LOOP(F64, double, F64, double, x[i])
LOOP(F64, double, BOOL, uint8_t, x[i] != 0.0)
FLOAT_LOOP(F64, double, I8, int8_t)
FLOAT_LOOP(F64, double, I16, int16_t)
FLOAT_LOOP(F64, double, I32, int32_t)
FLOAT_LOOP(F64, double, I64, int64_t)
FLOAT_LOOP(F64, double, U8, uint8_t)
FLOAT_LOOP(F64, double, U16, uint16_t)
FLOAT_LOOP(F64, double, U32, uint32_t)
FLOAT_LOOP(F64, double, U64, uint64_t)

#define ROW(from)                                                                             \
  {                                                                                           \
    [TN_F32] = from##_F32, [TN_F64] = from##_F64, [TN_I8] = from##_I8, [TN_I16] = from##_I16, \
    [TN_I32] = from##_I32, [TN_I64] = from##_I64, [TN_U8] = from##_U8, [TN_U16] = from##_U16, \
    [TN_U32] = from##_U32, [TN_U64] = from##_U64, [TN_BOOL] = from##_BOOL                     \
  }
static const cast_loop loops[TN_DTYPE_COUNT][TN_DTYPE_COUNT] = {
    [TN_F32] = ROW(F32), [TN_F64] = ROW(F64), [TN_I8] = ROW(I8),  [TN_I16] = ROW(I16),
    [TN_I32] = ROW(I32), [TN_I64] = ROW(I64), [TN_U8] = ROW(U8),  [TN_U16] = ROW(U16),
    [TN_U32] = ROW(U32), [TN_U64] = ROW(U64), [TN_BOOL] = ROW(U8)};

/* ---- Drivers ---- */

static bool is_half(uint32_t dtype) { return dtype == TN_F16 || dtype == TN_BF16; }

/* y[i] = x[i] in f32, rounded to odd: what is between two numbers becomes the one whose last bit is
 * set, so that rounding to a half type afterwards is as if it were the only one (Boldo and
 * Melquiond, "Emulation of FMA and correctly rounded sums", 2008). */
static void odd_f32(const double *x, float *y, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const float near = (float)x[i];
    const double back = (double)near;
    const uint32_t beyond = fabs(back) > fabs(x[i]), inexact = back != x[i];
    y[i] = tn_f32_of_bits((tn_bits_of_f32(near) - beyond) | inexact);
  }
}

/* By way of f32 there is one rounding that counts: every value is one of f32, or f64 rounded to
 * odd, or an integer so large that it is infinite in f16 either way. */
static bool goes_by_f32(uint32_t from, uint32_t to) {
  const uint64_t exact = TN_MASK(TN_F32) | TN_MASK(TN_F64) | TN_MASK(TN_F16) | TN_MASK(TN_BF16) |
                         TN_MASK(TN_I8) | TN_MASK(TN_I16) | TN_MASK(TN_U8) | TN_MASK(TN_U16) |
                         TN_MASK(TN_BOOL);
  if (!is_half(to)) return is_half(from) && loops[TN_F32][to];
  return TN_MASK(from) & exact || (to == TN_F16 && TN_MASK(from) & TN_MASK_INT);
}

static void cast_by_f32(const tn_tensor *x, const tn_tensor *y, int64_t begin, int64_t end) {
  float block[TN_MAP_BLOCK];
  const int64_t x_bytes = tn_dtype(x->dtype)->bits / 8, y_bytes = tn_dtype(y->dtype)->bits / 8;
  for (int64_t i = begin; i < end; i += TN_MAP_BLOCK) {
    const int64_t n = tn_min_i64(end - i, TN_MAP_BLOCK);
    const float *values = block;
    if (is_half(x->dtype) || x->dtype == TN_F32)
      values = tn_load_block_f32(x->dtype, x->data, i, n,
                                 y->dtype == TN_F32 ? (float *)y->data + i : block);
    else if (x->dtype == TN_F64)
      odd_f32((const double *)x->data + i, block, n);
    else
      loops[x->dtype][TN_F32]((const char *)x->data + i * x_bytes, block, n);
    if (is_half(y->dtype))
      tn_store_block_f32(y->dtype, y->data, i, n, values);
    else if (y->dtype != TN_F32)
      loops[TN_F32][y->dtype](values, (char *)y->data + i * y_bytes, n);
  }
}

static void cast_element(const tn_tensor *x, const tn_tensor *y, int64_t i) {
  const bool exact =
      tn_dtype_exact_i64(x->dtype) && (x->dtype != TN_U64 || tn_dtype_exact_i64(y->dtype));
  if (exact)
    tn_store_i64(y->dtype, y->data, i, tn_load_i64(x->dtype, x->data, i));
  else
    tn_store_f64(y->dtype, y->data, i, tn_load_f64(x->dtype, x->data, i));
}

/* Storage elements [begin, end), if there is a loop for them. */
static bool cast_block(const tn_tensor *x, const tn_tensor *y, int64_t begin, int64_t end) {
  const cast_loop loop = loops[x->dtype][y->dtype];
  if (loop)
    loop((const char *)x->data + begin * (tn_dtype(x->dtype)->bits / 8),
         (char *)y->data + begin * (tn_dtype(y->dtype)->bits / 8), end - begin);
  else if (goes_by_f32(x->dtype, y->dtype))
    cast_by_f32(x, y, begin, end);
  else
    return false;
  return true;
}

#endif
