/* Element types as attributes of ai.onnx operators name them (`to`, `dtype`): numbers of
 * TensorProto.DataType. They stand in graphs and in attribute structs as in the file; an operator
 * turns them into Tenon's here, and so does the reader of ONNX for types of values. */
#ifndef TN_KIT_ONNX_DTYPE_H
#define TN_KIT_ONNX_DTYPE_H

#include <stdbool.h>

#include "tenon/kit/linkage.h"
#include "tenon/plugin.h"

/* TN_NONE: there is no such type. */
TN_KIT_FN uint32_t tn_dtype_of_onnx(int64_t data_type);

/* 0: ONNX has no number for it. */
TN_KIT_FN int64_t tn_onnx_of_dtype(uint32_t dtype);

#ifdef TN_KIT_BODIES

static const uint8_t tn_onnx_dtypes[] = {
    TN_NONE,   TN_F32,      TN_U8,         TN_I8,     TN_U16,        TN_I16, TN_I32, TN_I64,
    TN_STRING, TN_BOOL,     TN_F16,        TN_F64,    TN_U32,        TN_U64, TN_C64, TN_C128,
    TN_BF16,   TN_F8E4M3FN, TN_F8E4M3FNUZ, TN_F8E5M2, TN_F8E5M2FNUZ, TN_U4,  TN_I4,  TN_F4E2M1,
    TN_F8E8M0, TN_U2,       TN_I2,         TN_F6E2M3, TN_F6E3M2};

TN_KIT_FN uint32_t tn_dtype_of_onnx(int64_t data_type) {
  const bool there = data_type > 0 && data_type < (int64_t)sizeof tn_onnx_dtypes;
  return there ? (uint32_t)tn_onnx_dtypes[data_type] : (uint32_t)TN_NONE;
}

TN_KIT_FN int64_t tn_onnx_of_dtype(uint32_t dtype) {
  for (int64_t k = 1; k < (int64_t)sizeof tn_onnx_dtypes; k++)
    if (tn_onnx_dtypes[k] == dtype) return k;
  return 0;
}

#endif

#endif
