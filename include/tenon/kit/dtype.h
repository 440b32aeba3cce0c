/* Element types: their names, widths and kinds, and how many bytes they take. */
#ifndef TN_KIT_DTYPE_H
#define TN_KIT_DTYPE_H

#include <stdbool.h>

#include "tenon/kit/checked.h"

typedef struct tn_dtype_info {
  const char *name; /* "f32" */
  uint32_t bits;    /* an element takes: 32; string: 8 * sizeof(tn_str); none: 0; f6: 8 */
  bool is_float, is_int, is_signed, is_complex; /* bool is none of these */
} tn_dtype_info;

/* Masks of dtypes. */
#define TN_MASK_FLOAT (TN_MASK(TN_F32) | TN_MASK(TN_F64) | TN_MASK(TN_F16) | TN_MASK(TN_BF16))
#define TN_MASK_INT \
  (TN_MASK(TN_I8) | TN_MASK(TN_I16) | TN_MASK(TN_I32) | TN_MASK(TN_I64) | TN_MASK_UINT)
#define TN_MASK_UINT (TN_MASK(TN_U8) | TN_MASK(TN_U16) | TN_MASK(TN_U32) | TN_MASK(TN_U64))

/* Never NULL; unknown numbers answer that of TN_NONE. */
TN_KIT_FN const tn_dtype_info *tn_dtype(uint32_t dtype);

/* True: use the i64 forms of kit/element.h, f64 may not hold every value. */
static inline bool tn_dtype_exact_i64(uint32_t dtype) {
  return dtype == TN_BOOL || tn_dtype(dtype)->is_int;
}

/* Bytes of n elements, packed types rounded up. -1 on overflow, n < 0 or a number that is no
 * dtype. */
TN_KIT_FN int64_t tn_dtype_bytes(uint32_t dtype, int64_t n);

#ifdef TN_KIT_BODIES

TN_KIT_FN const tn_dtype_info *tn_dtype(uint32_t dtype) {
  /* by number, TN_NONE first */
  static const tn_dtype_info infos[] = {
      {"?", 0, false, false, false, false},
      {"f32", 32, true, false, true, false},
      {"f64", 64, true, false, true, false},
      {"f16", 16, true, false, true, false},
      {"bf16", 16, true, false, true, false},
      {"i8", 8, false, true, true, false},
      {"i16", 16, false, true, true, false},
      {"i32", 32, false, true, true, false},
      {"i64", 64, false, true, true, false},
      {"u8", 8, false, true, false, false},
      {"u16", 16, false, true, false, false},
      {"u32", 32, false, true, false, false},
      {"u64", 64, false, true, false, false},
      {"bool", 8, false, false, false, false},
      {"string", 8 * (uint32_t)sizeof(tn_str), false, false, false, false},
      {"c64", 64, false, false, true, true},
      {"c128", 128, false, false, true, true},
      {"f8e4m3fn", 8, true, false, true, false},
      {"f8e4m3fnuz", 8, true, false, true, false},
      {"f8e5m2", 8, true, false, true, false},
      {"f8e5m2fnuz", 8, true, false, true, false},
      {"f8e8m0", 8, true, false, false, false},
      {"f4e2m1", 4, true, false, true, false},
      {"i4", 4, false, true, true, false},
      {"u4", 4, false, true, false, false},
      {"i2", 2, false, true, true, false},
      {"u2", 2, false, true, false, false},
      {"f6e2m3", 8, true, false, true, false}, /* as it is stored */
      {"f6e3m2", 8, true, false, true, false},
  };
  return &infos[dtype < sizeof infos / sizeof *infos ? dtype : (uint32_t)TN_NONE];
}

TN_KIT_FN int64_t tn_dtype_bytes(uint32_t dtype, int64_t n) {
  uint32_t bits = tn_dtype(dtype)->bits;
  int64_t bytes;
  if (n < 0 || bits == 0) return -1;
  if (bits < 8) return tn_ceil_div(n, 8 / bits);
  return tn_mul_i64(n, bits / 8, &bytes) ? -1 : bytes;
}

#endif

#endif
