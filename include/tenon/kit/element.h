/* One element of a tensor of any type as f64 or i64: for references, folding of shapes, tests and
 * odd types, not for inner loops of kernels.
 *
 * Elements are reached by memcpy: nothing is assumed of the alignment of data. */
#ifndef TN_KIT_ELEMENT_H
#define TN_KIT_ELEMENT_H

#include "tenon/kit/dtype.h"
#include "tenon/kit/narrow.h"

/* Element `index` of a storage of any non-string dtype. Complex: the real part. */
TN_KIT_FN double tn_load_f64(uint32_t dtype, const void *data, int64_t index);

/* Floats are truncated and saturated, NaN is 0; u64 keeps its 64 bits. */
TN_KIT_FN int64_t tn_load_i64(uint32_t dtype, const void *data, int64_t index);

/* Converts as a C cast with saturation left out: integers wrap, floats round to nearest even, bool
 * is x != 0. */
TN_KIT_FN void tn_store_f64(uint32_t dtype, void *data, int64_t index, double value);

TN_KIT_FN void tn_store_i64(uint32_t dtype, void *data, int64_t index, int64_t value);

#ifdef TN_KIT_BODIES

/* Field `index` of a packed array of fields of `bits` (1, 2, 4 or 8) bits, low bits first. */
static inline uint8_t tn_element_packed_get(const void *data, int64_t index, uint32_t bits) {
  int64_t per_byte = 8 / bits;
  uint32_t shift = (uint32_t)(index % per_byte) * bits;
  uint32_t byte = ((const uint8_t *)data)[index / per_byte];
  return (uint8_t)(byte >> shift & ((1U << bits) - 1));
}

static inline void tn_element_packed_set(void *data, int64_t index, uint32_t bits, uint32_t field) {
  int64_t per_byte = 8 / bits;
  uint32_t shift = (uint32_t)(index % per_byte) * bits, mask = ((1U << bits) - 1) << shift;
  uint8_t *byte = (uint8_t *)data + index / per_byte;
  *byte = (uint8_t)((*byte & ~mask) | (field << shift & mask));
}

/* The `bytes` (1, 2, 4, 8) of an element as an unsigned number, whatever the byte order. */
static inline uint64_t tn_element_word_get(const void *data, int64_t index, uint32_t bytes) {
  const uint8_t *p = (const uint8_t *)data + index * (int64_t)bytes;
  uint8_t b1;
  uint16_t b2;
  uint32_t b4;
  uint64_t b8;
  switch (bytes) {
    case 1: return memcpy(&b1, p, 1), b1;
    case 2: return memcpy(&b2, p, 2), b2;
    case 4: return memcpy(&b4, p, 4), b4;
    default: return memcpy(&b8, p, 8), b8;
  }
}

static inline void tn_element_word_set(void *data, int64_t index, uint32_t bytes, uint64_t word) {
  uint8_t *p = (uint8_t *)data + index * (int64_t)bytes;
  uint8_t b1 = (uint8_t)word;
  uint16_t b2 = (uint16_t)word;
  uint32_t b4 = (uint32_t)word;
  switch (bytes) {
    case 1: memcpy(p, &b1, 1); break;
    case 2: memcpy(p, &b2, 2); break;
    case 4: memcpy(p, &b4, 4); break;
    default: memcpy(p, &word, 8); break;
  }
}

static inline float tn_element_f32_get(const void *data, int64_t index) {
  float f;
  memcpy(&f, (const uint8_t *)data + index * 4, sizeof f);
  return f;
}

static inline double tn_element_f64_get(const void *data, int64_t index) {
  double f;
  memcpy(&f, (const uint8_t *)data + index * 8, sizeof f);
  return f;
}

/* Integers and bool, sign-extended; u64 keeps its 64 bits. */
static inline int64_t tn_element_int_get(uint32_t dtype, const void *data, int64_t index) {
  const tn_dtype_info *info = tn_dtype(dtype);
  uint64_t word = info->bits < 8 ? tn_element_packed_get(data, index, info->bits)
                                 : tn_element_word_get(data, index, info->bits / 8);
  if (dtype == TN_BOOL) return word != 0;
  if (!info->is_signed || info->bits == 64) return (int64_t)word;
  uint64_t sign = UINT64_C(1) << (info->bits - 1);
  return (int64_t)((word ^ sign) - sign);
}

static inline void tn_element_int_set(uint32_t dtype, void *data, int64_t index, uint64_t word) {
  uint32_t bits = tn_dtype(dtype)->bits;
  if (bits < 8)
    tn_element_packed_set(data, index, bits, (uint32_t)word);
  else
    tn_element_word_set(data, index, bits / 8, word);
}

TN_KIT_FN double tn_load_f64(uint32_t dtype, const void *data, int64_t index) {
  switch (dtype) {
    case TN_F32: return (double)tn_element_f32_get(data, index);
    case TN_F64: return tn_element_f64_get(data, index);
    case TN_C64: return (double)tn_element_f32_get(data, 2 * index);
    case TN_C128: return tn_element_f64_get(data, 2 * index);
    case TN_F16: return (double)tn_f16_to_f32((uint16_t)tn_element_word_get(data, index, 2));
    case TN_BF16: return (double)tn_bf16_to_f32((uint16_t)tn_element_word_get(data, index, 2));
    case TN_F4E2M1: return tn_f8_to_f64(dtype, tn_element_packed_get(data, index, 4));
    case TN_U64: return (double)tn_element_word_get(data, index, 8);
    case TN_NONE:
    case TN_STRING: return 0;
    default: break;
  }
  if (tn_dtype_exact_i64(dtype)) return (double)tn_element_int_get(dtype, data, index);
  return tn_f8_to_f64(dtype, (uint8_t)tn_element_word_get(data, index, 1));
}

TN_KIT_FN int64_t tn_load_i64(uint32_t dtype, const void *data, int64_t index) {
  if (tn_dtype_exact_i64(dtype)) return tn_element_int_get(dtype, data, index);
  double f = tn_load_f64(dtype, data, index);
  if (f != f) return 0;
  if (f >= 0x1p63) return INT64_MAX;
  return f < -0x1p63 ? INT64_MIN : (int64_t)f;
}

/* The integer part of f modulo 2^64; NaN and infinities are 0. */
static inline uint64_t tn_element_f64_wrap(double f) {
  if (f != f) return 0;
  if (f >= -0x1p63 && f < 0x1p63) return (uint64_t)(int64_t)f;
  uint64_t bits;
  memcpy(&bits, &f, sizeof bits);
  int shift = (int)(bits >> 52 & 0x7FF) - 1023 - 52;
  uint64_t significand = (bits & (UINT64_MAX >> 12)) | UINT64_C(1) << 52;
  uint64_t whole = shift < 64 ? significand << shift : 0;
  return f < 0 ? 0 - whole : whole;
}

static inline void tn_element_f32_set(void *data, int64_t index, float f) {
  memcpy((uint8_t *)data + index * 4, &f, sizeof f);
}

static inline void tn_element_f64_set(void *data, int64_t index, double f) {
  memcpy((uint8_t *)data + index * 8, &f, sizeof f);
}

TN_KIT_FN void tn_store_f64(uint32_t dtype, void *data, int64_t index, double value) {
  switch (dtype) {
    case TN_F32: tn_element_f32_set(data, index, (float)value); return;
    case TN_F64: tn_element_f64_set(data, index, value); return;
    case TN_C64:
      tn_element_f32_set(data, 2 * index, (float)value);
      tn_element_f32_set(data, 2 * index + 1, 0);
      return;
    case TN_C128:
      tn_element_f64_set(data, 2 * index, value);
      tn_element_f64_set(data, 2 * index + 1, 0);
      return;
    case TN_F16: tn_element_word_set(data, index, 2, tn_f64_to_f16(value)); return;
    case TN_BF16: tn_element_word_set(data, index, 2, tn_f64_to_bf16(value)); return;
    case TN_F4E2M1:
      tn_element_packed_set(data, index, 4, tn_f64_to_f8(dtype, value, false));
      return;
    case TN_BOOL: tn_element_word_set(data, index, 1, value != 0); return;
    case TN_NONE:
    case TN_STRING: return;
    default: break;
  }
  if (tn_dtype(dtype)->is_int)
    tn_element_int_set(dtype, data, index, tn_element_f64_wrap(value));
  else
    tn_element_word_set(data, index, 1, tn_f64_to_f8(dtype, value, false));
}

/* A double that rounds to any type of fewer than 50 mantissa bits as value itself does: what does
 * not fit into the double is kept as one sticky bit. */
static inline double tn_element_f64_sticky(int64_t value) {
  if (value >= -(INT64_C(1) << 53) && value <= INT64_C(1) << 53) return (double)value;
  int64_t low = value & 0x7FF;
  return (double)(value - low + (low ? 0x400 : 0));
}

TN_KIT_FN void tn_store_i64(uint32_t dtype, void *data, int64_t index, int64_t value) {
  if (dtype == TN_BOOL)
    tn_element_word_set(data, index, 1, value != 0);
  else if (tn_dtype(dtype)->is_int)
    tn_element_int_set(dtype, data, index, (uint64_t)value);
  else if (dtype == TN_F64 || dtype == TN_C128)
    tn_store_f64(dtype, data, index, (double)value);
  else
    tn_store_f64(dtype, data, index, tn_element_f64_sticky(value));
}

#endif

#endif
