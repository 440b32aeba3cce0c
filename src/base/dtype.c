/* The names of element types, those of other systems too; see tn_dtype_name in tenon.h. */
#include <string.h>

#include "tenon/kit/dtype.h"
#include "tenon/tenon.h"

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

const char *tn_dtype_name(uint32_t dtype) { return tn_dtype(dtype)->name; }

uint32_t tn_dtype_parse(const char *name) {
  if (!name) return TN_NONE;
  for (uint32_t dtype = TN_NONE + 1; dtype < TN_DTYPE_COUNT; dtype++) {
    if (!strcmp(name, tn_dtype(dtype)->name)) return dtype;
  }
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
    if (!strcmp(name, aliases[i].name)) return aliases[i].dtype;
  }
  return TN_NONE;
}
