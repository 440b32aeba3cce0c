/* The arithmetic of scatters, per dtype. 16-bit floats go through f32 and are rounded after every
 * step. */
#include "reduction.h"

#include <string.h>

#include "tenon/kit/dtype.h"
#include "tenon/kit/narrow.h"

tn_status reduction_parse(const tn_call *call, tn_str name, uint32_t dtype, reduction *out) {
  static const char *const names[] = {"none", "add", "mul", "max", "min"};
  const tn_dtype_info *info = tn_dtype(dtype);
  for (int k = 0; k < 5; k++) {
    if ((int64_t)strlen(names[k]) != name.size || memcmp(names[k], name.data, (size_t)name.size))
      continue;
    if (k && !(TN_MASK(dtype) & (TN_MASK_FLOAT | TN_MASK_INT | TN_MASK(TN_BOOL))))
      return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                              "reduction '%s' is not there for elements of type %s", names[k],
                              info->name);
    *out = (reduction)k;
    return TN_OK;
  }
  return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                          "reduction '%.*s' is none of none, add, mul, max, min",
                          (int)(name.size < 100 ? name.size : 100), name.data);
}

#define FLOAT_STEP(y, x, op)                                     \
  ((op) == REDUCE_ADD   ? (y) + (x)                              \
   : (op) == REDUCE_MUL ? (y) * (x)                              \
   : (op) == REDUCE_MAX ? ((y) >= (x) || (y) != (y) ? (y) : (x)) \
                        : ((y) <= (x) || (y) != (y) ? (y) : (x)))

#define FLOAT_LOOP(name, type)                                         \
  static void name(reduction op, type *y, const type *x, int64_t n) {  \
    for (int64_t k = 0; k < n; k++) y[k] = FLOAT_STEP(y[k], x[k], op); \
  }

/* Sums and products wrap: they are taken in the unsigned type of 64 bits. */
#define INT_LOOP(name, type)                                              \
  static void name(reduction op, type *y, const type *x, int64_t n) {     \
    for (int64_t k = 0; k < n; k++)                                       \
      y[k] = op == REDUCE_ADD   ? (type)((uint64_t)y[k] + (uint64_t)x[k]) \
             : op == REDUCE_MUL ? (type)((uint64_t)y[k] * (uint64_t)x[k]) \
             : op == REDUCE_MAX ? (y[k] > x[k] ? y[k] : x[k])             \
                                : (y[k] < x[k] ? y[k] : x[k]);            \
  }

#define HALF_LOOP(name, load, store)                                          \
  static void name(reduction op, uint16_t *y, const uint16_t *x, int64_t n) { \
    for (int64_t k = 0; k < n; k++) {                                         \
      float a = load(y[k]), b = load(x[k]);                                   \
      y[k] = store(FLOAT_STEP(a, b, op));                                     \
    }                                                                         \
  }

FLOAT_LOOP(reduce_f32, float)
FLOAT_LOOP(reduce_f64, double)
HALF_LOOP(reduce_f16, tn_f16_to_f32, tn_f32_to_f16)
HALF_LOOP(reduce_bf16, tn_bf16_to_f32, tn_f32_to_bf16)
INT_LOOP(reduce_i8, int8_t)
INT_LOOP(reduce_i16, int16_t)
INT_LOOP(reduce_i32, int32_t)
INT_LOOP(reduce_i64, int64_t)
INT_LOOP(reduce_u8, uint8_t)
INT_LOOP(reduce_u16, uint16_t)
INT_LOOP(reduce_u32, uint32_t)
INT_LOOP(reduce_u64, uint64_t)

/* add and max are or; mul and min are and. */
static void reduce_bool(reduction op, uint8_t *y, const uint8_t *x, int64_t n) {
  for (int64_t k = 0; k < n; k++)
    y[k] = op == REDUCE_ADD || op == REDUCE_MAX ? y[k] || x[k] : y[k] && x[k];
}

#define CASE(dtype, fn, type) \
  case dtype: fn(op, (type *)dst + dst_index, (const type *)src + src_index, n); break;

void reduction_apply(reduction op, uint32_t dtype, void *dst, int64_t dst_index, const void *src,
                     int64_t src_index, int64_t n) {
  switch (dtype) {
    CASE(TN_F32, reduce_f32, float)
    CASE(TN_F64, reduce_f64, double)
    CASE(TN_F16, reduce_f16, uint16_t)
    CASE(TN_BF16, reduce_bf16, uint16_t)
    CASE(TN_I8, reduce_i8, int8_t)
    CASE(TN_I16, reduce_i16, int16_t)
    CASE(TN_I32, reduce_i32, int32_t)
    CASE(TN_I64, reduce_i64, int64_t)
    CASE(TN_U8, reduce_u8, uint8_t)
    CASE(TN_U16, reduce_u16, uint16_t)
    CASE(TN_U32, reduce_u32, uint32_t)
    CASE(TN_U64, reduce_u64, uint64_t)
    default: reduce_bool(op, (uint8_t *)dst + dst_index, (const uint8_t *)src + src_index, n);
  }
}
