/* The table of element types: names, widths and what they are. */
#include "base/dtype.h"

#include <string.h>

#include "base/checked.h"

typedef struct alias {
  const char *name;
  uint32_t dtype;
} alias;

/* Other names in use: C, numpy, ONNX and PyTorch. */
static const alias aliases[] = {
    {"float", TN_F32},
    {"float32", TN_F32},
    {"double", TN_F64},
    {"float64", TN_F64},
    {"float16", TN_F16},
    {"half", TN_F16},
    {"bfloat16", TN_BF16},
    {"int8", TN_I8},
    {"int16", TN_I16},
    {"int32", TN_I32},
    {"int", TN_I32},
    {"int64", TN_I64},
    {"long", TN_I64},
    {"uint8", TN_U8},
    {"uint16", TN_U16},
    {"uint32", TN_U32},
    {"uint64", TN_U64},
    {"str", TN_STRING},
    {"complex64", TN_C64},
    {"complex128", TN_C128},
    {"float8e4m3fn", TN_F8E4M3FN},
    {"float8e4m3fnuz", TN_F8E4M3FNUZ},
    {"float8e5m2", TN_F8E5M2},
    {"float8e5m2fnuz", TN_F8E5M2FNUZ},
    {"float8e8m0", TN_F8E8M0},
    {"float4e2m1", TN_F4E2M1},
    {"float6e2m3", TN_F6E2M3},
    {"float6e3m2", TN_F6E3M2},
    {"int4", TN_I4},
    {"uint4", TN_U4},
    {"int2", TN_I2},
    {"uint2", TN_U2},
};

#define REAL(name, bits) \
  { name, bits, true, false, true, false }
#define INTEGER(name, bits) \
  { name, bits, false, true, true, false }
#define NATURAL(name, bits) \
  { name, bits, false, true, false, false }
#define COMPLEX(name, bits) \
  { name, bits, false, false, true, true }

static const tn_dtype_info infos[TN_DTYPE_COUNT] = {
    [TN_NONE] = {"?", 0, false, false, false, false},
    [TN_F32] = REAL("f32", 32),
    [TN_F64] = REAL("f64", 64),
    [TN_F16] = REAL("f16", 16),
    [TN_BF16] = REAL("bf16", 16),
    [TN_I8] = INTEGER("i8", 8),
    [TN_I16] = INTEGER("i16", 16),
    [TN_I32] = INTEGER("i32", 32),
    [TN_I64] = INTEGER("i64", 64),
    [TN_U8] = NATURAL("u8", 8),
    [TN_U16] = NATURAL("u16", 16),
    [TN_U32] = NATURAL("u32", 32),
    [TN_U64] = NATURAL("u64", 64),
    [TN_BOOL] = {"bool", 8, false, false, false, false},
    [TN_STRING] = {"string", 8 * (uint32_t)sizeof(tn_str), false, false, false, false},
    [TN_C64] = COMPLEX("c64", 64),
    [TN_C128] = COMPLEX("c128", 128),
    [TN_F8E4M3FN] = REAL("f8e4m3fn", 8),
    [TN_F8E4M3FNUZ] = REAL("f8e4m3fnuz", 8),
    [TN_F8E5M2] = REAL("f8e5m2", 8),
    [TN_F8E5M2FNUZ] = REAL("f8e5m2fnuz", 8),
    [TN_F8E8M0] = {"f8e8m0", 8, true, false, false, false},
    [TN_F4E2M1] = REAL("f4e2m1", 4),
    [TN_I4] = INTEGER("i4", 4),
    [TN_U4] = NATURAL("u4", 4),
    [TN_I2] = INTEGER("i2", 2),
    [TN_U2] = NATURAL("u2", 2),
    [TN_F6E2M3] = REAL("f6e2m3", 8), /* as it is stored */
    [TN_F6E3M2] = REAL("f6e3m2", 8),
};

const tn_dtype_info *tn_dtype(uint32_t dtype) {
  return &infos[dtype < TN_DTYPE_COUNT ? dtype : TN_NONE];
}

const char *tn_dtype_name(uint32_t dtype) { return tn_dtype(dtype)->name; }

uint32_t tn_dtype_parse(const char *name) {
  if (!name) return TN_NONE;
  for (uint32_t dtype = TN_NONE + 1; dtype < TN_DTYPE_COUNT; dtype++) {
    if (!strcmp(name, infos[dtype].name)) return dtype;
  }
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
    if (!strcmp(name, aliases[i].name)) return aliases[i].dtype;
  }
  return TN_NONE;
}

int64_t tn_dtype_bytes(uint32_t dtype, int64_t n) {
  uint32_t bits = tn_dtype(dtype)->bits;
  int64_t bytes;
  if (n < 0 || bits == 0) return -1;
  if (bits < 8) return tn_ceil_div(n, 8 / bits);
  return tn_mul_i64(n, bits / 8, &bytes) ? -1 : bytes;
}
