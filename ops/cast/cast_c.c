/* Portable kernels of Cast and BitCast between numbers: a loop per pair of C types; f16 and bf16 by
 * way of f32 where that rounds once; the rest, types below a byte among them, element by element.
 *
 * Floats become integers by their integer part modulo 2^width (NaN and infinities: 0): what x86
 * does where the C standard leaves it open, and the same on every machine. */
#include "base/elementwise.h"
#include "base/onnx_dtype.h"
#include "cast.gen.h"
#include "cast.h"

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
static inline int64_t int_of_f32(float x) { return int_of_f64((double)x); }

/* True if all of x fits in i32: then the conversion can be vector code. */
static bool all_small(const float *x, int64_t n) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < n; i++) {
    const uint32_t u = tn_bits_of_f32(x[i]) & 0x7fffffffu;
    largest = u > largest ? u : largest;
  }
  return largest < tn_bits_of_f32(0x1p31f);
}

#define LOOP(from, F, to, T, value)                              \
  static void from##_##to(const void *vx, void *vy, int64_t n) { \
    const F *x = vx;                                             \
    T *y = vy;                                                   \
    TN_IVDEP for (int64_t i = 0; i < n; i++) y[i] = (T)(value);  \
  }
#define F32_LOOP(to, T)                                                 \
  static void F32_##to(const void *vx, void *vy, int64_t n) {           \
    const float *x = vx;                                                \
    T *y = vy;                                                          \
    if (all_small(x, n)) {                                              \
      TN_IVDEP for (int64_t i = 0; i < n; i++) y[i] = (T)(int32_t)x[i]; \
    } else {                                                            \
      for (int64_t i = 0; i < n; i++) y[i] = (T)int_of_f32(x[i]);       \
    }                                                                   \
  }

/* All conversions from F, which is an integer (bool is read as one). */
#define FROM_INT(from, F)                                                           \
  LOOP(from, F, F32, float, x[i])                                                   \
  LOOP(from, F, F64, double, x[i]) LOOP(from, F, I8, int8_t, x[i])                  \
      LOOP(from, F, I16, int16_t, x[i]) LOOP(from, F, I32, int32_t, x[i])           \
          LOOP(from, F, I64, int64_t, x[i]) LOOP(from, F, U8, uint8_t, x[i])        \
              LOOP(from, F, U16, uint16_t, x[i]) LOOP(from, F, U32, uint32_t, x[i]) \
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
F32_LOOP(I8, int8_t)
F32_LOOP(I16, int16_t)
F32_LOOP(I32, int32_t)
F32_LOOP(I64, int64_t)
F32_LOOP(U8, uint8_t)
F32_LOOP(U16, uint16_t)
F32_LOOP(U32, uint32_t)
F32_LOOP(U64, uint64_t)
LOOP(F64, double, F32, float, x[i])
LOOP(F64, double, F64, double, x[i])
LOOP(F64, double, BOOL, uint8_t, x[i] != 0.0)
LOOP(F64, double, I8, int8_t, int_of_f64(x[i]))
LOOP(F64, double, I16, int16_t, int_of_f64(x[i]))
LOOP(F64, double, I32, int32_t, int_of_f64(x[i]))
LOOP(F64, double, I64, int64_t, int_of_f64(x[i]))
LOOP(F64, double, U8, uint8_t, int_of_f64(x[i]))
LOOP(F64, double, U16, uint16_t, int_of_f64(x[i]))
LOOP(F64, double, U32, uint32_t, int_of_f64(x[i]))
LOOP(F64, double, U64, uint64_t, int_of_f64(x[i]))

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

/* How 8-bit floats come about: do they saturate, and for f8e8m0 how they round. */
typedef enum round_mode { ROUND_UP, ROUND_DOWN, ROUND_NEAREST } round_mode;
typedef struct cast_options {
  bool saturate;
  round_mode mode;
} cast_options;

/* f8e8m0 as a power of two, 2^(bits - 127), of |value|, ties up. Out of range, zero and
 * infinity: the nearest of the range if it saturates, else NaN (255). */
static uint8_t cast_e8m0(double value, cast_options o) {
  union {
    double f;
    uint64_t u;
  } v;
  v.f = value;
  v.u &= UINT64_MAX >> 1;
  if (v.f != v.f) return 255;
  const uint64_t fraction = v.u << 12;
  int64_t exponent = (int64_t)(v.u >> 52) - 1023 + 127;
  if (o.mode == ROUND_UP) exponent += fraction != 0;
  if (o.mode == ROUND_NEAREST) exponent += fraction >> 63 != 0;
  if (exponent < 0) return o.saturate ? 0 : 255;
  if (exponent > 254) return o.saturate ? 254 : 255;
  return (uint8_t)exponent;
}

static void cast_element(const tn_tensor *x, const tn_tensor *y, int64_t i, cast_options o) {
  const bool exact =
      tn_dtype_exact_i64(x->dtype) && (x->dtype != TN_U64 || tn_dtype_exact_i64(y->dtype));
  switch (y->dtype) {
    case TN_F8E8M0:
      ((uint8_t *)y->data)[i] = cast_e8m0(tn_load_f64(x->dtype, x->data, i), o);
      break;
    case TN_F8E4M3FN:
    case TN_F8E4M3FNUZ:
    case TN_F8E5M2:
    case TN_F8E5M2FNUZ:
      ((uint8_t *)y->data)[i] =
          tn_f64_to_f8(y->dtype, tn_load_f64(x->dtype, x->data, i), o.saturate);
      break;
    default:
      if (exact)
        tn_store_i64(y->dtype, y->data, i, tn_load_i64(x->dtype, x->data, i));
      else
        tn_store_f64(y->dtype, y->data, i, tn_load_f64(x->dtype, x->data, i));
  }
}

static bool is_half(uint32_t dtype) { return dtype == TN_F16 || dtype == TN_BF16; }
/* Every value of the type is a value of f32. */
static bool in_f32(uint32_t dtype) {
  return (TN_MASK(dtype) &
          (TN_MASK(TN_F32) | TN_MASK(TN_F16) | TN_MASK(TN_BF16) | TN_MASK(TN_I8) | TN_MASK(TN_I16) |
           TN_MASK(TN_U8) | TN_MASK(TN_U16) | TN_MASK(TN_BOOL))) != 0;
}

/* Storage elements [begin, end) where a half type is on a side. */
static void cast_half(const tn_tensor *x, const tn_tensor *y, int64_t begin, int64_t end) {
  float block[TN_MAP_BLOCK];
  const int64_t x_bytes = tn_dtype(x->dtype)->bits / 8, y_bytes = tn_dtype(y->dtype)->bits / 8;
  for (int64_t i = begin; i < end; i += TN_MAP_BLOCK) {
    const int64_t n = tn_min_i64(end - i, TN_MAP_BLOCK);
    const float *values = block;
    if (is_half(x->dtype) || x->dtype == TN_F32)
      values = tn_load_block_f32(x->dtype, x->data, i, n, block);
    else
      loops[x->dtype][TN_F32]((const char *)x->data + i * x_bytes, block, n);
    if (is_half(y->dtype))
      tn_store_block_f32(y->dtype, y->data, i, n, values);
    else
      loops[TN_F32][y->dtype](values, (char *)y->data + i * y_bytes, n);
  }
}

/* Types below a byte: zeroes the bytes of [begin, end), begin at a byte, so that bits behind the
 * last element are zero. */
static void clear_packed(const tn_tensor *y, int64_t begin, int64_t end) {
  const int64_t bits = tn_dtype(y->dtype)->bits;
  if (bits >= 8 || begin >= end) return;
  memset((uint8_t *)y->data + begin * bits / 8, 0, (size_t)tn_ceil_div((end - begin) * bits, 8));
}

static void cast_range(const tn_tensor *x, const tn_tensor *y, int64_t begin, int64_t end,
                       cast_options o) {
  const cast_loop loop = loops[x->dtype][y->dtype];
  if (loop) {
    loop((const char *)x->data + begin * (tn_dtype(x->dtype)->bits / 8),
         (char *)y->data + begin * (tn_dtype(y->dtype)->bits / 8), end - begin);
  } else if (in_f32(x->dtype) &&
             (is_half(y->dtype) || (is_half(x->dtype) && loops[TN_F32][y->dtype]))) {
    cast_half(x, y, begin, end);
  } else {
    clear_packed(y, begin, end);
    for (int64_t i = begin; i < end; i++) cast_element(x, y, i, o);
  }
  if (y->layout != TN_PLAIN) tn_pads_zero(y, begin, end);
}

/* Elements per item: types below a byte are handed out in whole bytes. */
static int64_t unit_of(const tn_call *call) {
  return tn_dtype(call->outputs[0]->dtype)->bits < 8 ? 8 : 1;
}

tn_status cast_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const bool fast = in_f32(x->dtype) || loops[x->dtype][y->dtype];
  const double ns = fast ? 0.4 : 8.0;
  const int64_t unit = unit_of(call), n = tn_storage_elements(y);
  if (unit == 1) return tn_plan_elementwise(call, out, ns);
  out->items[0] = tn_ceil_div(n, unit);
  out->grain[0] = (int64_t)(5000.0 / ns / (double)unit) + 1;
  out->cost_ns = 20.0 + ns * (double)n;
  return TN_OK;
}

/* For tenon::Cast, too, which has no options: attributes are not looked at. */
tn_status cast_number_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                        uint32_t worker) {
  (void)stage, (void)worker;
  const int64_t unit = unit_of(call), n = tn_storage_elements(call->outputs[0]);
  const cast_options o = {true, ROUND_NEAREST};
  cast_range(call->inputs[0], call->outputs[0], begin * unit, tn_min_i64(end * unit, n), o);
  return TN_OK;
}

tn_status cast_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  const tn_cast_attrs *a = call->attrs;
  const int64_t unit = unit_of(call), n = tn_storage_elements(call->outputs[0]);
  const round_mode mode = a->round_mode.size == 2   ? ROUND_UP
                          : a->round_mode.size == 4 ? ROUND_DOWN
                                                    : ROUND_NEAREST;
  const cast_options o = {a->saturate != 0, mode};
  cast_range(call->inputs[0], call->outputs[0], begin * unit, tn_min_i64(end * unit, n), o);
  return TN_OK;
}

/* ---- BitCast ---- */

tn_status bit_cast_plan(const tn_call *call, tn_kernel_plan *out) {
  (void)call;
  out->in_place[0] = 0;
  return TN_OK;
}

tn_status bit_cast_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  const int64_t bytes = tn_tensor_bytes(call->inputs[0]);
  if (bytes > 0 && call->outputs[0]->data != call->inputs[0]->data) {
    memcpy(call->outputs[0]->data, call->inputs[0]->data, (size_t)bytes);
  }
  return TN_OK;
}
