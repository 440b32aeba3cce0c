/* The target of tenon/kit/dot_simd.h and quads_simd.h with the vector extension of RISC-V: a vector
 * is 8 lanes, as in simd_rvv.h, so that panels, and the order of filters in them, are those of
 * AVX2. V 1.0 has no dot products of bytes: codes and weights are copies of 16 bits, two a lane,
 * each multiplied and added in 32 bits. */
#ifndef TN_KIT_DOT_RVV_H
#define TN_KIT_DOT_RVV_H

#include "tenon/kit/simd.h"

#define TN_DOT_LANES 8
#define TN_DOT_K 2
#define TN_DOT_ROWS 6
#define TN_DOT_SIGNED 0
typedef int16_t tn_dot_x;
typedef int16_t tn_dot_w;

typedef tn_vi tn_vq;
typedef int16_t tn_vq16 __attribute__((vector_size(32)));
typedef uint16_t tn_vq_u16 __attribute__((vector_size(32)));
typedef uint8_t tn_vq_u8 __attribute__((vector_size(32)));
typedef int16_t tn_vq_half16 __attribute__((vector_size(16)));
typedef uint8_t tn_vq_half8 __attribute__((vector_size(16)));

static inline tn_vq tn_vq_load(const void *p) {
  tn_vq v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline void tn_vq_store(void *p, tn_vq v) { memcpy(p, &v, sizeof v); }
static inline tn_vq tn_vq_set1(int32_t x) { return (tn_vq){x, x, x, x, x, x, x, x}; }
static inline tn_vq tn_vq_set16(int16_t x) {
  const uint32_t bits = (uint16_t)x;
  return tn_vq_set1((int32_t)(bits << 16 | bits));
}
static inline tn_vq tn_vq_set8(uint8_t x) { return tn_vq_set1((int32_t)(x * 0x01010101u)); }
static inline tn_vq tn_vq_add(tn_vq a, tn_vq b) { return (tn_vq)((tn_vu)a + (tn_vu)b); }
static inline tn_vq tn_vq_sub(tn_vq a, tn_vq b) { return (tn_vq)((tn_vu)a - (tn_vu)b); }
static inline tn_vq tn_vq_mul(tn_vq a, tn_vq b) { return (tn_vq)((tn_vu)a * (tn_vu)b); }
static inline tn_vq tn_vq_xor(tn_vq a, tn_vq b) { return a ^ b; }
static inline tn_vf tn_vq_float(tn_vq v) { return __builtin_convertvector(v, tn_vf); }
/* Half to even, as the rounding mode is. NaN becomes the least number, which the instruction would
 * make the largest. */
static inline tn_vq tn_vq_round(tn_vf v) {
  const tn_vf least = tn_vf_max(v, tn_vf_set1(-2147483648.0f));
  tn_vq out;
  const vfloat32m2_t from = __riscv_vle32_v_f32m2((const float *)&least, TN_DOT_LANES);
  __riscv_vse32_v_i32m2((int32_t *)&out, __riscv_vfcvt_x_f_v_i32m2(from, TN_DOT_LANES),
                        TN_DOT_LANES);
  return out;
}

/* As those of AVX2 do, these work within 128 bits. */
static inline tn_vq_half16 tn_vq_narrow16(tn_vq v) {
  const tn_vq lo = tn_vq_set1(INT16_MIN), hi = tn_vq_set1(INT16_MAX);
  return __builtin_convertvector(__builtin_elementwise_min(__builtin_elementwise_max(v, lo), hi),
                                 tn_vq_half16);
}
static inline tn_vq tn_vq_pack16(tn_vq a, tn_vq b) {
  return (tn_vq)__builtin_shufflevector(tn_vq_narrow16(a), tn_vq_narrow16(b), 0, 1, 2, 3, 8, 9, 10,
                                        11, 4, 5, 6, 7, 12, 13, 14, 15);
}
static inline tn_vq_half8 tn_vq_narrow8(tn_vq v) {
  const tn_vq16 lo = (tn_vq16)tn_vq_set16(0), hi = (tn_vq16)tn_vq_set16(UINT8_MAX);
  return __builtin_convertvector(
      __builtin_elementwise_min(__builtin_elementwise_max((tn_vq16)v, lo), hi), tn_vq_half8);
}
static inline tn_vq tn_vq_pack_u8(tn_vq a, tn_vq b) {
  return (tn_vq)__builtin_shufflevector(tn_vq_narrow8(a), tn_vq_narrow8(b), 0, 1, 2, 3, 4, 5, 6, 7,
                                        16, 17, 18, 19, 20, 21, 22, 23, 8, 9, 10, 11, 12, 13, 14,
                                        15, 24, 25, 26, 27, 28, 29, 30, 31);
}
static inline tn_vq tn_vq_adds16(tn_vq a, tn_vq b) {
  return (tn_vq)__builtin_elementwise_add_sat((tn_vq16)a, (tn_vq16)b);
}
static inline tn_vq tn_vq_max8(tn_vq a, tn_vq b) {
  return (tn_vq)__builtin_elementwise_max((tn_vq_u8)a, (tn_vq_u8)b);
}
/* The lower 8 bytes of each 16, then the upper ones: two rows of a panel. And back. */
static inline tn_vq tn_vq_split(tn_vq v) {
  return __builtin_shufflevector(v, v, 0, 1, 4, 5, 2, 3, 6, 7);
}
static inline tn_vq tn_vq_unsplit(tn_vq v) { return tn_vq_split(v); }
static inline tn_vq tn_vq_lower8(tn_vq v) { /* of each 16 bytes, as 16-bit numbers */
  const tn_vq_u8 bytes = (tn_vq_u8)v;
  return (tn_vq) __builtin_convertvector(
      __builtin_shufflevector(bytes, bytes, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),
      tn_vq_u16);
}
static inline tn_vq tn_vq_upper8(tn_vq v) {
  return tn_vq_lower8(__builtin_shufflevector(v, v, 2, 3, 2, 3, 6, 7, 6, 7));
}
static inline tn_vq tn_vq_lower16(tn_vq v) {
  const tn_vq_u16 u = (tn_vq_u16)v;
  return (tn_vq) __builtin_convertvector(__builtin_shufflevector(u, u, 0, 1, 2, 3, 8, 9, 10, 11),
                                         tn_vu);
}
static inline tn_vq tn_vq_upper16(tn_vq v) {
  return tn_vq_lower16(__builtin_shufflevector(v, v, 2, 3, 2, 3, 6, 7, 6, 7));
}
/* Numbers of 16 bits of a and b in turn, within each 128 bits; lanes are of two codes, never of
 * bytes. */
static inline tn_vq tn_vq_zip16(tn_vq a, tn_vq b) {
  return (tn_vq)((tn_vu)tn_vq_lower16(a) | (tn_vu)tn_vq_lower16(b) << 16);
}
#define TN_VQ_ZIP(size, a, b, lo, hi)                                                     \
  const tn_vq lo = tn_vq_zip##size(a, b),                                                 \
              hi = tn_vq_zip##size(__builtin_shufflevector(a, a, 2, 3, 2, 3, 6, 7, 6, 7), \
                                   __builtin_shufflevector(b, b, 2, 3, 2, 3, 6, 7, 6, 7))
/* The filters of a panel in their own order, from two vectors in that of the lanes. */
static inline void tn_dot_order(tn_vf *a, tn_vf *b) {
  const tn_vf first = __builtin_shufflevector(*a, *b, 0, 1, 2, 3, 8, 9, 10, 11);
  *b = __builtin_shufflevector(*a, *b, 4, 5, 6, 7, 12, 13, 14, 15);
  *a = first;
}

static inline void tn_vq_store_first(uint8_t *y, tn_vq v, int64_t n) { /* bytes */
  memcpy(y, &v, n < (int64_t)sizeof v ? (size_t)n : sizeof v);
}
/* n of the 16 bytes of row 0 and of row 1 (which is NULL where there is none). */
static inline void tn_dot_store_rows(tn_vq v, uint8_t *row0, uint8_t *row1, int64_t n) {
  const size_t bytes = n < 16 ? (size_t)n : 16;
  memcpy(row0, &v, bytes);
  if (row1) memcpy(row1, (const char *)&v + 16, bytes);
}
static inline tn_vq tn_dot_load_rows(const uint8_t *row0, const uint8_t *row1, int64_t n) {
  const size_t bytes = n < 16 ? (size_t)n : 16;
  tn_vq v = {0};
  memcpy(&v, row0, bytes);
  memcpy((char *)&v + 16, row1, bytes);
  return v;
}
/* Eight codes of each row. */
static inline tn_vq tn_dot_load_pair(const tn_dot_x *row0, const tn_dot_x *row1) {
  tn_vq v;
  memcpy(&v, row0, 16);
  memcpy((char *)&v + 16, row1, 16);
  return v;
}

static inline tn_vq tn_dot_4(const tn_dot_x *x) {
  int32_t two;
  memcpy(&two, x, sizeof two);
  return tn_vq_set1(two);
}
#define TN_DOT(acc, x, w) \
  acc = tn_vq_add((acc) + ((x) << 16 >> 16) * ((w) << 16 >> 16), ((x) >> 16) * ((w) >> 16))

/* ---- quads: see tenon/kit/quads_simd.h ---- */

#define TN_QUADS_SUMS_32 1
#define TN_QUADS_SIGNED 1
typedef tn_vi tn_quads, tn_quads_sums;
static inline tn_quads tn_quads_load(const void *p) { return tn_vq_load(p); }
static inline tn_quads tn_quads_set1(int32_t x) { return tn_vq_set1(x); }
static inline tn_quads tn_quads_low(tn_quads v) { return v & 0x0f0f0f0f; }
static inline tn_quads tn_quads_high(tn_quads v) { return tn_quads_low(v >> 4); }
static inline tn_vf tn_vf_of_int(tn_vi v) { return __builtin_convertvector(v, tn_vf); }
static inline tn_vi tn_vi_round(tn_vf v) { return tn_vq_round(v); }
static inline tn_quads_sums tn_quads_sum_begin(int32_t from) { return tn_vq_set1(from); }
static inline tn_vi tn_quads_sum_end(tn_quads_sums s, int32_t from) { return (void)from, s; }
static inline tn_vi tn_quads_byte(tn_quads v, int k) { return v << (24 - 8 * k) >> 24; }
#define TN_QUADS_DOT(acc, x, d)                          \
  TN_UNROLL for (int tn_k = 0; tn_k < 4; tn_k++)(acc) += \
      tn_quads_byte(x, tn_k) * tn_quads_byte(d, tn_k)

#endif
