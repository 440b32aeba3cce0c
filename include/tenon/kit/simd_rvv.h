/* The interface of tenon/kit/simd.h with the vector extension of RISC-V, V 1.0. Registers have 128
 * bits or more, how many more the compiler does not know: a vector is 8 lanes in a group of two,
 * whatever else of the group there is stays empty. So layouts and tiles are those of AVX2.
 *
 * Most of it is in the generic vectors of GCC and clang, which become vector instructions; what
 * those have no words for (lanes chosen at run time, loads by mask) goes through memory. Written
 * for clang: GCC has no __builtin_elementwise_fma. A mask is a vector with all bits of a lane
 * set. */
#ifndef TN_KIT_SIMD_RVV_H
#define TN_KIT_SIMD_RVV_H

#include <riscv_vector.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define TN_VF_LANES 8
#define TN_VF_REGISTERS 16 /* groups of two */

typedef uint32_t tn_vu __attribute__((vector_size(4 * TN_VF_LANES)));
typedef int32_t tn_vi __attribute__((vector_size(4 * TN_VF_LANES)));

/* ---- vectors of f32 ---- */

typedef float tn_vf __attribute__((vector_size(4 * TN_VF_LANES)));
typedef tn_vi tn_vf_mask;

static inline tn_vf tn_vf_load(const float *p) {
  tn_vf v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline void tn_vf_store(float *p, tn_vf v) { memcpy(p, &v, sizeof v); }
static inline tn_vf tn_vf_set1(float x) { return (tn_vf){x, x, x, x, x, x, x, x}; }
static inline tn_vf tn_vf_add(tn_vf a, tn_vf b) { return a + b; }
static inline tn_vf tn_vf_sub(tn_vf a, tn_vf b) { return a - b; }
static inline tn_vf tn_vf_mul(tn_vf a, tn_vf b) { return a * b; }
static inline tn_vf tn_vf_div(tn_vf a, tn_vf b) { return a / b; }
static inline tn_vf tn_vf_fma(tn_vf a, tn_vf b, tn_vf c) {
  return __builtin_elementwise_fma(a, b, c);
}
/* a in the lanes of m, b in others. */
static inline tn_vf tn_vf_select(tn_vf_mask m, tn_vf a, tn_vf b) {
  return (tn_vf)((m & (tn_vi)a) | (~m & (tn_vi)b));
}
static inline tn_vf tn_vf_max(tn_vf a, tn_vf b) { return tn_vf_select(a > b, a, b); }
static inline tn_vf tn_vf_min(tn_vf a, tn_vf b) { return tn_vf_select(a < b, a, b); }
static inline tn_vf tn_vf_max_or_nan(tn_vf a, tn_vf v) {
  return tn_vf_select(v != v, v, tn_vf_max(v, a));
}
static inline tn_vf tn_vf_min_or_nan(tn_vf a, tn_vf v) {
  return tn_vf_select(v != v, v, tn_vf_min(v, a));
}
static inline float tn_vf_sum(tn_vf v) {
  const tn_vf a = v + __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
  const tn_vf b = a + __builtin_shufflevector(a, a, 2, 3, 0, 1, 6, 7, 4, 5);
  return b[0] + b[1];
}
static inline tn_vf tn_vf_weight(tn_vf x, tn_vf least, tn_vf p, tn_vf m, tn_vf magic) {
  const tn_vi bits = (tn_vi)m - (tn_vi)magic;
  const tn_vf scale = (tn_vf)((bits + 127) << 23);
  return (tn_vf)((tn_vi)tn_vf_fma(p, scale, scale) & ~(x < least));
}

/* ---- masks ---- */

static inline tn_vf_mask tn_vf_mask_first(int64_t n) { /* n in 0 .. 8 */
  return (tn_vi){0, 1, 2, 3, 4, 5, 6, 7} < (int32_t)n;
}
static inline tn_vf_mask tn_vf_mask_and(tn_vf_mask a, tn_vf_mask b) { return a & b; }
static inline tn_vf_mask tn_vf_mask_and_not(tn_vf_mask a, tn_vf_mask b) { return a & ~b; }
static inline tn_vf_mask tn_vf_mask_of(tn_vi truth) { return truth; }
static inline tn_vf tn_vf_keep(tn_vf_mask m, tn_vf v) { return (tn_vf)(m & (tn_vi)v); }
/* A mask as instructions take it. */
static inline vbool16_t tn_vf_truth(tn_vf_mask m) {
  return __riscv_vmslt_vx_i32m2_b16(__riscv_vle32_v_i32m2((const int32_t *)&m, 8), 0, 8);
}
static inline tn_vf tn_vf_join(tn_vf v, tn_vf_mask m, const float *p) {
  const vfloat32m2_t old = __riscv_vle32_v_f32m2((const float *)&v, 8);
  __riscv_vse32_v_f32m2((float *)&v, __riscv_vle32_v_f32m2_mu(tn_vf_truth(m), old, p, 8), 8);
  return v;
}
static inline tn_vf tn_vf_load_mask(tn_vf_mask m, const float *p) {
  return tn_vf_join((tn_vf){0}, m, p);
}
static inline tn_vf tn_vf_load_if(tn_vf_mask m, const float *p) { return tn_vf_load_mask(m, p); }
static inline void tn_vf_store_mask(float *p, tn_vf_mask m, tn_vf v) {
  __riscv_vse32_v_f32m2_m(tn_vf_truth(m), p, __riscv_vle32_v_f32m2((const float *)&v, 8), 8);
}

/* ---- lanes from elsewhere ---- */

static inline tn_vf tn_vf_even(tn_vf a, tn_vf b) {
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
}
static inline tn_vf tn_vf_odd(tn_vf a, tn_vf b) {
  return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
}
static inline void tn_vf_zip(tn_vf a, tn_vf b, tn_vf *low, tn_vf *high) {
  *low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  *high = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}
static inline tn_vf tn_vf_thirds(tn_vf a, tn_vf b, tn_vf c) {
  const tn_vf ab = __builtin_shufflevector(a, b, 0, 9, 2, 3, 12, 5, 6, 15);
  return __builtin_shufflevector(ab, c, 0, 1, 10, 3, 4, 13, 6, 7);
}
static inline tn_vf tn_vf_gather(tn_vf_mask m, const float *p, tn_vu at) {
  tn_vf v = {0};
  const vint64m4_t bytes = __riscv_vsll_vx_i64m4(
      __riscv_vwcvt_x_x_v_i64m4(__riscv_vle32_v_i32m2((const int32_t *)&at, 8), 8), 2, 8);
  const vfloat32m2_t none = __riscv_vle32_v_f32m2((const float *)&v, 8);
  const vfloat32m2_t found = __riscv_vluxei64_v_f32m2_mu(
      tn_vf_truth(m), none, p, __riscv_vreinterpret_v_i64m4_u64m4(bytes), 8);
  __riscv_vse32_v_f32m2((float *)&v, found, 8);
  return v;
}
static inline tn_vf tn_vf_pick_from(const float *from, tn_vu at) {
  const tn_vu bytes = at * 4;
  tn_vf v;
  const vuint32m2_t where = __riscv_vle32_v_u32m2((const uint32_t *)&bytes, 8);
  __riscv_vse32_v_f32m2((float *)&v, __riscv_vluxei32_v_f32m2(from, where, 8), 8);
  return v;
}
static inline tn_vf tn_vf_pick(tn_vf v, tn_vu at) {
  return tn_vf_pick_from((const float *)&v, at & (TN_VF_LANES - 1));
}
static inline tn_vf tn_vf_pick_two(tn_vf a, tn_vf b, tn_vu at) {
  const tn_vf from[2] = {a, b};
  return tn_vf_pick_from((const float *)from, at & (2 * TN_VF_LANES - 1));
}
static inline tn_vf tn_vf_pick_four(tn_vf a, tn_vf b, tn_vf c, tn_vf d, tn_vu at) {
  const tn_vf from[4] = {a, b, c, d};
  return tn_vf_pick_from((const float *)from, at & (4 * TN_VF_LANES - 1));
}
static inline tn_vf tn_vf_load_fours(const void *const p[2]) {
  tn_vf v;
  memcpy(&v, p[0], 16);
  memcpy((char *)&v + 16, p[1], 16);
  return v;
}
static inline void tn_vf_transpose_fours(tn_vf v[4]) {
  const tn_vf t0 = __builtin_shufflevector(v[0], v[1], 0, 8, 1, 9, 4, 12, 5, 13),
              t1 = __builtin_shufflevector(v[0], v[1], 2, 10, 3, 11, 6, 14, 7, 15),
              t2 = __builtin_shufflevector(v[2], v[3], 0, 8, 1, 9, 4, 12, 5, 13),
              t3 = __builtin_shufflevector(v[2], v[3], 2, 10, 3, 11, 6, 14, 7, 15);
  v[0] = __builtin_shufflevector(t0, t2, 0, 1, 8, 9, 4, 5, 12, 13);
  v[1] = __builtin_shufflevector(t0, t2, 2, 3, 10, 11, 6, 7, 14, 15);
  v[2] = __builtin_shufflevector(t1, t3, 0, 1, 8, 9, 4, 5, 12, 13);
  v[3] = __builtin_shufflevector(t1, t3, 2, 3, 10, 11, 6, 7, 14, 15);
}

/* ---- one register ---- */

typedef float tn_vr __attribute__((vector_size(16)));
static inline tn_vr tn_vr_set1(float x) { return (tn_vr){x, x, x, x}; }
static inline tn_vr tn_vr_fma(tn_vr a, tn_vr b, tn_vr c) {
  return __builtin_elementwise_fma(a, b, c);
}
static inline tn_vr tn_vr_max(tn_vr a, tn_vr b) {
  typedef int32_t truths __attribute__((vector_size(16)));
  const truths m = a > b;
  return (tn_vr)((m & (truths)a) | (~m & (truths)b));
}
static inline float tn_vr_sum(tn_vr v) { return v[0] + v[1] + v[2] + v[3]; }
/* out[k]: the sum of v[k]. */
static inline void tn_vr_sum_four(const tn_vr v[4], float *out) {
  for (int k = 0; k < 4; k++) out[k] = tn_vr_sum(v[k]);
}
static inline float tn_vr_top(tn_vr v) {
  float top = v[0];
  for (int l = 1; l < 4; l++) top = v[l] > top ? v[l] : top;
  return top;
}
typedef double tn_vd __attribute__((vector_size(16)));
static inline tn_vd tn_vd_fma(tn_vd a, tn_vd b, tn_vd c) {
  return __builtin_elementwise_fma(a, b, c);
}

/* ---- four lanes ---- */

typedef tn_vr tn_v4;

static inline tn_v4 tn_v4_load(const float *p) {
  tn_v4 v;
  memcpy(&v, p, sizeof v);
  return v;
}
/* Rows become columns. */
static inline void tn_v4_transpose(tn_v4 v[4]) {
  const tn_v4 t0 = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5),
              t1 = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7),
              t2 = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5),
              t3 = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
  v[0] = __builtin_shufflevector(t0, t2, 0, 1, 4, 5);
  v[1] = __builtin_shufflevector(t0, t2, 2, 3, 6, 7);
  v[2] = __builtin_shufflevector(t1, t3, 0, 1, 4, 5);
  v[3] = __builtin_shufflevector(t1, t3, 2, 3, 6, 7);
}

/* ---- numbers of other types ---- */

#define TN_VF_LOAD(name, T)                                                \
  static inline tn_vf tn_vf_load_##name(const T *p) {                      \
    typedef T lanes __attribute__((vector_size(TN_VF_LANES * sizeof(T)))); \
    lanes v;                                                               \
    memcpy(&v, p, sizeof v);                                               \
    return __builtin_convertvector(v, tn_vf);                              \
  }
TN_VF_LOAD(u8, uint8_t)
TN_VF_LOAD(i8, int8_t)
TN_VF_LOAD(u16, uint16_t)
TN_VF_LOAD(i16, int16_t)
TN_VF_LOAD(i32, int32_t)
#undef TN_VF_LOAD

static inline tn_vi tn_vi_load_half(const uint16_t *p) {
  typedef uint16_t lanes __attribute__((vector_size(2 * TN_VF_LANES)));
  lanes v;
  memcpy(&v, p, sizeof v);
  return __builtin_convertvector(v, tn_vi);
}
static inline tn_vf tn_vf_load_bf16(const uint16_t *p) { return (tn_vf)(tn_vi_load_half(p) << 16); }
/* The exponent is 112 too small, which a multiplication puts right for subnormals, too; all ones
 * stay all ones. */
static inline tn_vf tn_vf_load_f16(const uint16_t *p) {
  const tn_vi h = tn_vi_load_half(p), size = h & 0x7fff;
  const tn_vi x = (tn_vi)((tn_vf)(size << 13) * 0x1p112f);
  return (tn_vf)(x | ((size > 0x7bff) & 0x7f800000) | (h & 0x8000) << 16);
}
static inline void tn_store_low_bytes(void *p, tn_vi q, int32_t zero) {
  typedef uint8_t lanes __attribute__((vector_size(TN_VF_LANES)));
  const lanes v = __builtin_convertvector((tn_vu)(q + zero), lanes);
  memcpy(p, &v, sizeof v);
}
static inline void tn_vf_store_byte(void *p, tn_vf v, int32_t zero) {
  tn_store_low_bytes(p, __builtin_convertvector(__builtin_elementwise_roundeven(v), tn_vi), zero);
}
static inline void tn_vf_store_rounded(void *p, tn_vf v, int32_t zero) {
  tn_store_low_bytes(p, (tn_vi)v, zero);
}
static inline bool tn_vf_some_above(tn_vf a, tn_vf b) { return __builtin_reduce_or(a > b) != 0; }

/* ---- bytes ---- */

enum { TN_VB_LANES = 16 };
typedef uint8_t tn_vb __attribute__((vector_size(TN_VB_LANES)));
typedef int8_t tn_vb_signed __attribute__((vector_size(TN_VB_LANES)));
static inline tn_vb tn_vb_set1(uint8_t x) { return (tn_vb){0} + x; }
static inline tn_vb tn_vb_load(const void *p) {
  tn_vb v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline void tn_vb_store(void *p, tn_vb v) { memcpy(p, &v, sizeof v); }
static inline tn_vb tn_vb_max_u8(tn_vb a, tn_vb b) { return __builtin_elementwise_max(a, b); }
static inline tn_vb tn_vb_max_i8(tn_vb a, tn_vb b) {
  return (tn_vb)__builtin_elementwise_max((tn_vb_signed)a, (tn_vb_signed)b);
}
static inline tn_vb tn_vb_load_first(const void *p, int64_t n) {
  tn_vb v = {0};
  memcpy(&v, p, (size_t)n);
  return v;
}
static inline void tn_vb_store_first(void *p, tn_vb v, int64_t n) { memcpy(p, &v, (size_t)n); }
typedef uint8_t tn_vb_table[256];
static inline void tn_vb_table_load(tn_vb_table t, const uint8_t *p) { memcpy(t, p, 256); }
static inline tn_vb tn_vb_lookup(const tn_vb_table t, tn_vb at) {
  const vuint8m1_t where = __riscv_vle8_v_u8m1((const uint8_t *)&at, TN_VB_LANES);
  tn_vb v;
  __riscv_vse8_v_u8m1((uint8_t *)&v, __riscv_vluxei8_v_u8m1(t, where, TN_VB_LANES), TN_VB_LANES);
  return v;
}

/* ---- 16 bytes ---- */

typedef tn_vb tn_b16;
static inline tn_b16 tn_b16_load(const void *p) { return tn_vb_load(p); }
static inline tn_b16 tn_b16_load4(const void *p) { return tn_vb_load_first(p, 4); }
static inline void tn_b16_store(void *p, tn_b16 v) { tn_vb_store(p, v); }
static inline tn_b16 tn_b16_set1(uint8_t x) { return tn_vb_set1(x); }
static inline tn_b16 tn_b16_or(tn_b16 a, tn_b16 b) { return a | b; }
static inline tn_b16 tn_b16_xor(tn_b16 a, tn_b16 b) { return a ^ b; }
static inline tn_b16 tn_b16_pick(tn_b16 v, tn_b16 at) {
  const tn_b16 low = at & 15;
  const vuint8m1_t from = __riscv_vle8_v_u8m1((const uint8_t *)&v, 16),
                   where = __riscv_vle8_v_u8m1((const uint8_t *)&low, 16);
  __riscv_vse8_v_u8m1((uint8_t *)&v, __riscv_vrgather_vv_u8m1(from, where, 16), 16);
  return v & (tn_b16)(at < 16);
}
static inline tn_b16 tn_b16_zip8(tn_b16 a, tn_b16 b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
static inline tn_b16 tn_b16_zip16(tn_b16 a, tn_b16 b) {
  return __builtin_shufflevector(a, b, 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23);
}

#endif
