/* Element types: sizes, names, and reading or writing one element as f64, i64 or complex.
 * The element functions are for references, folding of shapes, tests and odd types: not for inner
 * loops of kernels. */
#ifndef TN_BASE_DTYPE_H
#define TN_BASE_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "tenon/tenon.h"

typedef struct tn_dtype_info {
  const char *name; /* "f32" */
  uint32_t bits;    /* an element takes: 32; string: 8 * sizeof(tn_str); none: 0; f6: 8 */
  bool is_float, is_int, is_signed, is_complex; /* bool is none of these */
} tn_dtype_info;

/* Never NULL; unknown numbers answer that of TN_NONE. */
const tn_dtype_info *tn_dtype(uint32_t dtype);

/* Masks of dtypes. */
#define TN_MASK_FLOAT (TN_MASK(TN_F32) | TN_MASK(TN_F64) | TN_MASK(TN_F16) | TN_MASK(TN_BF16))
#define TN_MASK_INT \
  (TN_MASK(TN_I8) | TN_MASK(TN_I16) | TN_MASK(TN_I32) | TN_MASK(TN_I64) | TN_MASK_UINT)
#define TN_MASK_UINT (TN_MASK(TN_U8) | TN_MASK(TN_U16) | TN_MASK(TN_U32) | TN_MASK(TN_U64))

/* Bytes of n elements, packed types rounded up. -1 on overflow, n < 0 or a number that is no
 * dtype. */
int64_t tn_dtype_bytes(uint32_t dtype, int64_t n);
/* Bytes a tensor takes in its layout (padding of blocked layouts included). -1: unknown dims or
 * overflow. */
int64_t tn_storage_bytes(const tn_tensor *t);
/* Elements of the storage, pad lanes included. */
int64_t tn_storage_elements(const tn_tensor *t);
/* Place in the storage of the element with logical row-major index `index`. t->shape must be
 * known. */
int64_t tn_storage_index(const tn_tensor *t, int64_t index);

/* 16-bit floats; round to nearest, ties to even; NaN stays NaN. */
float tn_f16_to_f32(uint16_t h);
uint16_t tn_f32_to_f16(float f);
uint16_t tn_f64_to_f16(double f); /* rounds once */
static inline float tn_bf16_to_f32(uint16_t h) {
  union {
    uint32_t u;
    float f;
  } v = {(uint32_t)h << 16};
  return v.f;
}
uint16_t tn_f32_to_bf16(float f);
uint16_t tn_f64_to_bf16(double f); /* rounds once */
/* 8-, 6- and 4-bit floats; `saturate` as ONNX Cast-24 says: values out of range, infinities too,
 * become the largest instead of NaN or inf. f4e2m1, f6e2m3 and f6e3m2 always saturate, and NaN
 * becomes -0. f8e8m0: to the nearest power of two, ties up; 0 saturates to 2^-127. Bits above those
 * of the type are not looked at. */
double tn_f8_to_f64(uint32_t dtype, uint8_t bits);
uint8_t tn_f64_to_f8(uint32_t dtype, double f, bool saturate);

/* Element `index` of a storage of any non-string dtype. Complex: the real part. */
double tn_load_f64(uint32_t dtype, const void *data, int64_t index);
/* Floats are truncated and saturated, NaN is 0; u64 keeps its 64 bits. */
int64_t tn_load_i64(uint32_t dtype, const void *data, int64_t index);
/* Converts as a C cast with saturation left out: integers wrap, floats round to nearest even, bool
 * is x != 0. */
void tn_store_f64(uint32_t dtype, void *data, int64_t index, double value);
void tn_store_i64(uint32_t dtype, void *data, int64_t index, int64_t value);
/* True: use the i64 forms, f64 may not hold every value. */
static inline bool tn_dtype_exact_i64(uint32_t dtype) {
  return dtype == TN_BOOL || tn_dtype(dtype)->is_int;
}

/* True if both have the same dtype, rank and dims. */
bool tn_same_shape(const tn_tensor *a, const tn_tensor *b);
/* "f32[1,3,224,224]", "?" for unknown dims, into buf (cut to size). Returns buf. */
const char *tn_tensor_text(const tn_tensor *t, char *buf, size_t size);
enum { TN_TENSOR_TEXT = 128 };

#endif
