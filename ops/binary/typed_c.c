/* Portable kernels of the binary family for f64, integers, bool, strings and mixed types, and for
 * results that are bool.
 *
 * Integers wrap. Division and remainder by zero are 0, and the lowest number divided by -1 is
 * itself: neither traps. */
#include "typed.h"

#include <math.h>

#include "binary.gen.h"
#include "tenon/kit/element.h"

#define KERNEL(name, table)                                                       \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                 uint32_t worker) {                                               \
    (void)stage, (void)worker;                                                    \
    return typed_run(call, begin, end, table);                                    \
  }

/* Makes loops and table entries of an operation for a set of types. T is the type, U its
 * unsigned twin. */
#define EACH_SIGNED(X, op)   \
  X(op, I8, int8_t, uint8_t) \
  X(op, I16, int16_t, uint16_t) X(op, I32, int32_t, uint32_t) X(op, I64, int64_t, uint64_t)
#define EACH_UNSIGNED(X, op)  \
  X(op, U8, uint8_t, uint8_t) \
  X(op, U16, uint16_t, uint16_t) X(op, U32, uint32_t, uint32_t) X(op, U64, uint64_t, uint64_t)
#define ENTRY(op, dtype, T, U) [TN_##dtype] = op##_##dtype,

/* ---- Arithmetic: the bits of sums and products are the same for signed and unsigned ---- */

#define WRAPPING(op, dtype, T, U) TYPED_LOOP(op##_##dtype, U, 1u * a op##_SIGN b)
#define add_SIGN +
#define sub_SIGN -
#define mul_SIGN *
#define ARITHMETIC(op)                                                                     \
  EACH_UNSIGNED(WRAPPING, op)                                                              \
  TYPED_LOOP(op##_F64, double, a op##_SIGN b)                                              \
  static const typed_loop op##_loops[TN_DTYPE_COUNT] = {                                   \
      EACH_UNSIGNED(ENTRY, op)[TN_F64] = op##_F64, [TN_I8] = op##_U8, [TN_I16] = op##_U16, \
      [TN_I32] = op##_U32, [TN_I64] = op##_U64};                                           \
  KERNEL(op##_c, op##_loops)

ARITHMETIC(add)
ARITHMETIC(sub)
ARITHMETIC(mul)

#define DIV_SIGNED(op, dtype, T, U) \
  TYPED_LOOP(op##_##dtype, T, b == 0 ? 0 : b == -1 ? (T)(0u - (U)a) : a / b)
#define DIV_UNSIGNED(op, dtype, T, U) TYPED_LOOP(op##_##dtype, T, b == 0 ? 0 : a / b)
/* In floats that hold quotients of T exactly enough to be cut: vectors divide these only. */
#define DIV_FLOAT(op, dtype, T, U, F)   \
  TYPED_LOOP(op##_##dtype, T,           \
             b == 0    ? 0              \
             : b == -1 ? (T)(0u - (U)a) \
                       : (T)((F)a / (F)((b == 0) | (b == -1) ? 1 : b)))
DIV_FLOAT(div, I8, int8_t, uint8_t, float)
DIV_FLOAT(div, I16, int16_t, uint16_t, float)
DIV_FLOAT(div, I32, int32_t, uint32_t, double)
DIV_SIGNED(div, I64, int64_t, uint64_t)
EACH_UNSIGNED(DIV_UNSIGNED, div)
TYPED_LOOP(div_F64, double, a / b)
static const typed_loop div_loops[TN_DTYPE_COUNT] = {
    EACH_SIGNED(ENTRY, div) EACH_UNSIGNED(ENTRY, div)[TN_F64] = div_F64};
KERNEL(div_c, div_loops)

#define PRELU(op, dtype, T, U) TYPED_LOOP(op##_##dtype, T, a < 0 ? (T)((U)a * (U)b) : a)
#define IDENTITY_OF_A(op, dtype, T, U) TYPED_LOOP(op##_##dtype, T, ((void)b, a))
PRELU(p_relu, I32, int32_t, uint32_t)
PRELU(p_relu, I64, int64_t, uint64_t)
IDENTITY_OF_A(p_relu, U32, uint32_t, uint32_t) /* nothing is below zero */
IDENTITY_OF_A(p_relu, U64, uint64_t, uint64_t)
TYPED_LOOP(p_relu_F64, double, a < 0 ? a * b : a)
static const typed_loop p_relu_loops[TN_DTYPE_COUNT] = {[TN_I32] = p_relu_I32,
                                                        [TN_I64] = p_relu_I64,
                                                        [TN_U32] = p_relu_U32,
                                                        [TN_U64] = p_relu_U64,
                                                        [TN_F64] = p_relu_F64};
KERNEL(p_relu_c, p_relu_loops)

/* ---- Mod: sign of the divisor (fmod 0), or of the dividend (fmod 1) ---- */

#define FMOD_SIGNED(op, dtype, T, U) TYPED_LOOP(op##_##dtype, T, b == 0 || b == -1 ? 0 : a % b)
#define FMOD_UNSIGNED(op, dtype, T, U) TYPED_LOOP(op##_##dtype, T, b == 0 ? 0 : a % b)
#define MOD_SIGNED(op, dtype, T, U)                               \
  TYPED_LOOP(op##_##dtype, T,                                     \
             b == 0 || b == -1                        ? 0         \
             : a % b != 0 && ((a % b < 0) != (b < 0)) ? a % b + b \
                                                      : a % b)
EACH_SIGNED(FMOD_SIGNED, fmod)
EACH_UNSIGNED(FMOD_UNSIGNED, fmod)
EACH_SIGNED(MOD_SIGNED, mod)

static double floored_mod(double a, double b) {
  const double r = fmod(a, b);
  if (r == 0.0) return copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}
TYPED_LOOP(fmod_F64, double, fmod(a, b))
TYPED_LOOP(mod_F64, double, floored_mod(a, b))

/* Adding it to a double below 2^51 rounds that to an integer. */
static const double ROUNDS = 6755399441055744.0; /* 1.5 * 2^52 */

/* fmod of f32 where |a / b| <= 2^28: |a| - n |b|, with the nearest n of 29 bits, is exact in f64,
 * and below |b| in magnitude. */
static inline double near_fmod(double a, double b) {
  const double x = fabs(a), y = fabs(b), n = (x / y + ROUNDS) - ROUNDS;
  const double r = n == 0.0 ? x : x - n * y; /* 0: b may be infinite */
  return copysign(r < 0.0 ? r + y : r, a);
}

static inline double near_mod(double a, double b) {
  const double r = near_fmod(a, b), floored = (r < 0.0) != (b < 0.0) ? r + b : r;
  return r == 0.0 ? copysign(0.0, b) : floored;
}

/* True if near_fmod serves all pairs; b is not 0. */
static bool quotients_are_near(const float *a, const float *b, int64_t n) {
  int32_t n_far = 0;
  for (int64_t i = 0; i < n; i++) n_far += !(fabsf(a[i]) <= 0x1p28f * fabsf(b[i]));
  return n_far == 0;
}

#define FLOAT_MOD_LOOP(name, fast, slow)                                                         \
  static void name(const void *va, const void *vb, void *vy, int64_t count) {                    \
    for (int64_t begin = 0; begin < count; begin += TN_MAP_BLOCK) {                              \
      const int64_t n = tn_min_i64(TN_MAP_BLOCK, count - begin);                                 \
      const float *a = (const float *)va + begin, *b = (const float *)vb + begin;                \
      float *y = (float *)vy + begin;                                                            \
      if (quotients_are_near(a, b, n)) {                                                         \
        TN_IVDEP for (int64_t i = 0; i < n; i++) y[i] = (float)fast((double)a[i], (double)b[i]); \
      } else {                                                                                   \
        for (int64_t i = 0; i < n; i++) y[i] = (float)slow((double)a[i], (double)b[i]);          \
      }                                                                                          \
    }                                                                                            \
  }
FLOAT_MOD_LOOP(fmod_F32, near_fmod, fmod)
FLOAT_MOD_LOOP(mod_F32, near_mod, floored_mod)
static const typed_loop fmod_loops[TN_DTYPE_COUNT] = {
    EACH_SIGNED(ENTRY, fmod) EACH_UNSIGNED(ENTRY, fmod)[TN_F64] = fmod_F64, [TN_F32] = fmod_F32};
static const typed_loop mod_loops[TN_DTYPE_COUNT] = {
    EACH_SIGNED(ENTRY, mod) EACH_UNSIGNED(ENTRY, fmod)[TN_F64] = mod_F64, [TN_F32] = mod_F32};
KERNEL(mod_c, ((const tn_mod_attrs *)call->attrs)->fmod ? fmod_loops : mod_loops)

/* ---- Pow where the base is f64 or an integer; the exponent is of any type ---- */

/* x^n, modulo 2^64. Negative exponents: the integer part of the true result, and 0 for 0. */
static int64_t power_i64(int64_t x, int64_t n) {
  if (n < 0) return x == 1 ? 1 : x == -1 ? (n % 2 ? -1 : 1) : 0;
  uint64_t result = 1, square = (uint64_t)x;
  for (; n; n >>= 1, square *= square) {
    if (n & 1) result *= square;
  }
  return (int64_t)result;
}

static void power_element(const tn_tensor *x, int64_t i, const tn_tensor *e, int64_t j,
                          const tn_tensor *y, int64_t k) {
  if (x->dtype == TN_F64) {
    ((double *)y->data)[k] = pow(((const double *)x->data)[i], tn_load_f64(e->dtype, e->data, j));
  } else if (tn_dtype(e->dtype)->is_int) {
    tn_store_i64(y->dtype, y->data, k,
                 power_i64(tn_load_i64(x->dtype, x->data, i), tn_load_i64(e->dtype, e->data, j)));
  } else {
    tn_store_f64(y->dtype, y->data, k,
                 pow(tn_load_f64(x->dtype, x->data, i), tn_load_f64(e->dtype, e->data, j)));
  }
}

tn_status pow_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  tn_broadcast plan;
  const tn_status status = tn_broadcast_init(&plan, call->outputs[0], 2, call->inputs);
  if (status) return status;
  tn_runs r = tn_runs_begin(&plan, begin, end);
  while (tn_runs_next(&r)) {
    for (int64_t i = 0; i < r.length; i++) {
      power_element(call->inputs[0], r.offset[0] + i * r.stride[0], call->inputs[1],
                    r.offset[1] + i * r.stride[1], call->outputs[0], r.index + i);
    }
  }
  return TN_OK;
}

/* ---- Comparisons: NaN is unequal to all, and neither less nor greater ---- */

#define COMPARE_LOOP(op, dtype, T, U)                                             \
  static void op##_##dtype(const void *va, const void *vb, void *vy, int64_t n) { \
    const T *a = va, *b = vb;                                                     \
    uint8_t *y = vy;                                                              \
    TN_IVDEP for (int64_t i = 0; i < n; i++) y[i] = a[i] op##_SIGN b[i];          \
  }
/* f64 by way of f32: the compiler's vectors go from 8 bytes to 1 by no other way than lane by
 * lane. */
#define COMPARE_LOOP_F64(op)                                                                  \
  static void op##_F64(const void *va, const void *vb, void *vy, int64_t n) {                 \
    enum { BLOCK = 64 };                                                                      \
    const double *a = va, *b = vb;                                                            \
    uint8_t *y = vy;                                                                          \
    int64_t i = 0;                                                                            \
    for (; i + BLOCK <= n; i += BLOCK) {                                                      \
      float is[BLOCK];                                                                        \
      for (int k = 0; k < BLOCK; k++) is[k] = (float)(a[i + k] op##_SIGN b[i + k] ? 1. : 0.); \
      for (int k = 0; k < BLOCK; k++) y[i + k] = (uint8_t)(int32_t)is[k];                     \
    }                                                                                         \
    for (; i < n; i++) y[i] = a[i] op##_SIGN b[i];                                            \
  }
#define equal_SIGN ==
#define less_SIGN <
#define greater_SIGN >
#define less_or_equal_SIGN <=
#define greater_or_equal_SIGN >=
#define COMPARISON(op)                                                                         \
  EACH_SIGNED(COMPARE_LOOP, op)                                                                \
  EACH_UNSIGNED(COMPARE_LOOP, op)                                                              \
  COMPARE_LOOP(op, F32, float, float)                                                          \
  COMPARE_LOOP_F64(op)                                                                         \
  static const typed_loop op##_loops[TN_DTYPE_COUNT] = {                                       \
      EACH_SIGNED(ENTRY, op) EACH_UNSIGNED(ENTRY, op)[TN_F32] = op##_F32, [TN_F64] = op##_F64, \
      [TN_BOOL] = op##_U8};                                                                    \
  KERNEL(op##_c, op##_loops)

COMPARISON(equal)
COMPARISON(less)
COMPARISON(greater)
COMPARISON(less_or_equal)
COMPARISON(greater_or_equal)

tn_status equal_string_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                         uint32_t worker) {
  (void)stage, (void)worker;
  uint8_t *y = call->outputs[0]->data;
  tn_broadcast plan;
  const tn_status status = tn_broadcast_init(&plan, call->outputs[0], 2, call->inputs);
  if (status) return status;
  tn_runs r = tn_runs_begin(&plan, begin, end);
  while (tn_runs_next(&r)) {
    for (int64_t i = 0; i < r.length; i++) {
      const tn_str *a = (const tn_str *)call->inputs[0]->data + r.offset[0] + i * r.stride[0];
      const tn_str *b = (const tn_str *)call->inputs[1]->data + r.offset[1] + i * r.stride[1];
      y[r.index + i] =
          a->size == b->size && (a->size == 0 || !memcmp(a->data, b->data, (size_t)a->size));
    }
  }
  return TN_OK;
}

/* ---- Bits and bool: only the width matters ---- */

#define BITWISE_LOOP(op, dtype, T, U) TYPED_LOOP(op##_##dtype, U, a op##_SIGN b)
#define and_SIGN &
#define or_SIGN |
#define xor_SIGN ^
#define BITWISE(op)                                                                        \
  EACH_UNSIGNED(BITWISE_LOOP, op)                                                          \
  static const typed_loop op##_loops[TN_DTYPE_COUNT] = {                                   \
      EACH_UNSIGNED(ENTRY, op)[TN_BOOL] = op##_U8, [TN_I8] = op##_U8, [TN_I16] = op##_U16, \
      [TN_I32] = op##_U32, [TN_I64] = op##_U64};                                           \
  KERNEL(op##_c, op##_loops)                                                               \
  KERNEL(bitwise_##op##_c, op##_loops)

BITWISE(and)
BITWISE(or)
BITWISE(xor)

/* Shifting by less than zero or by the width or more leaves zeros, or the sign (to the right, of
 * a negative number). */
#define SHIFT_LEFT(op, dtype, T, U) \
  TYPED_LOOP(op##_##dtype, T, (U)b >= 8 * sizeof(T) ? 0 : (T)((uint64_t)a << b))
#define SHIFT_RIGHT(op, dtype, T, U) \
  TYPED_LOOP(op##_##dtype, T, (U)b >= 8 * sizeof(T) ? (a < 0 ? -1 : 0) : a >> b)
#define SHIFT_RIGHT_UNSIGNED(op, dtype, T, U) \
  TYPED_LOOP(op##_##dtype, T, b >= 8 * sizeof(T) ? 0 : a >> b)
EACH_SIGNED(SHIFT_LEFT, left)
EACH_UNSIGNED(SHIFT_LEFT, left)
EACH_SIGNED(SHIFT_RIGHT, right)
EACH_UNSIGNED(SHIFT_RIGHT_UNSIGNED, right)
static const typed_loop left_loops[TN_DTYPE_COUNT] = {EACH_SIGNED(ENTRY, left)
                                                          EACH_UNSIGNED(ENTRY, left)};
static const typed_loop right_loops[TN_DTYPE_COUNT] = {EACH_SIGNED(ENTRY, right)
                                                           EACH_UNSIGNED(ENTRY, right)};

/* The operator's inference has checked the direction. */
KERNEL(bit_shift_c, ((const tn_bit_shift_attrs *)call->attrs)->direction.data[0] == 'L'
                        ? left_loops
                        : right_loops)
