/* The interface of tenon/kit/simd.h with NEON: a vector is two registers, 8 lanes. AArch64 has 32
 * registers of 16 bytes, as many bytes as AVX2's 16 of 32, so that layouts and tiles made for AVX2
 * fit here as they are. NEON cannot load by mask: a mask is one bit per lane, and where it has not
 * all lanes, those that it has are loaded and stored one by one. */
#ifndef TN_KIT_SIMD_NEON_H
#define TN_KIT_SIMD_NEON_H

#include <arm_neon.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define TN_VF_LANES 8
#define TN_VF_REGISTERS 16 /* pairs */
typedef uint32_t tn_vu __attribute__((vector_size(4 * TN_VF_LANES)));
typedef int32_t tn_vi __attribute__((vector_size(4 * TN_VF_LANES)));

/* ---- vectors of f32 ---- */

typedef struct tn_vf {
  float32x4_t lo, hi;
} tn_vf;
typedef uint32_t tn_vf_mask;

static inline tn_vf tn_vf_load(const float *p) { return (tn_vf){vld1q_f32(p), vld1q_f32(p + 4)}; }
static inline void tn_vf_store(float *p, tn_vf v) {
  vst1q_f32(p, v.lo);
  vst1q_f32(p + 4, v.hi);
}
static inline tn_vf tn_vf_set1(float x) { return (tn_vf){vdupq_n_f32(x), vdupq_n_f32(x)}; }
static inline tn_vf tn_vf_add(tn_vf a, tn_vf b) {
  return (tn_vf){vaddq_f32(a.lo, b.lo), vaddq_f32(a.hi, b.hi)};
}
static inline tn_vf tn_vf_sub(tn_vf a, tn_vf b) {
  return (tn_vf){vsubq_f32(a.lo, b.lo), vsubq_f32(a.hi, b.hi)};
}
static inline tn_vf tn_vf_mul(tn_vf a, tn_vf b) {
  return (tn_vf){vmulq_f32(a.lo, b.lo), vmulq_f32(a.hi, b.hi)};
}
static inline tn_vf tn_vf_div(tn_vf a, tn_vf b) {
  return (tn_vf){vdivq_f32(a.lo, b.lo), vdivq_f32(a.hi, b.hi)};
}
static inline tn_vf tn_vf_fma(tn_vf a, tn_vf b, tn_vf c) {
  return (tn_vf){vfmaq_f32(c.lo, a.lo, b.lo), vfmaq_f32(c.hi, a.hi, b.hi)};
}
static inline tn_vf tn_vf_max(tn_vf a, tn_vf b) { /* a > b ? a : b; FMAX would answer NaN */
  return (tn_vf){vbslq_f32(vcgtq_f32(a.lo, b.lo), a.lo, b.lo),
                 vbslq_f32(vcgtq_f32(a.hi, b.hi), a.hi, b.hi)};
}
static inline tn_vf tn_vf_min(tn_vf a, tn_vf b) { /* a < b ? a : b */
  return (tn_vf){vbslq_f32(vcltq_f32(a.lo, b.lo), a.lo, b.lo),
                 vbslq_f32(vcltq_f32(a.hi, b.hi), a.hi, b.hi)};
}
static inline float tn_vf_sum(tn_vf v) { return vaddvq_f32(vaddq_f32(v.lo, v.hi)); }
static inline tn_vf_mask tn_vf_mask_first(int64_t n) { /* n in 0 .. 8 */
  return (1u << n) - 1;
}
static inline tn_vf_mask tn_vf_mask_and(tn_vf_mask a, tn_vf_mask b) { return a & b; }
static inline tn_vf_mask tn_vf_mask_and_not(tn_vf_mask a, tn_vf_mask b) { /* in a, not in b */
  return a & ~b;
}

/* The lanes that m has, from p + l; those that it has not are neither read nor changed. */
static __attribute__((noinline, unused)) tn_vf tn_vf_join_each(tn_vf v, tn_vf_mask m,
                                                               const float *p) {
  float lanes[TN_VF_LANES];
  tn_vf_store(lanes, v);
  for (int l = 0; l < TN_VF_LANES; l++)
    if (m >> l & 1) lanes[l] = p[l];
  return tn_vf_load(lanes);
}
static __attribute__((noinline, unused)) void tn_vf_store_each(float *p, tn_vf_mask m, tn_vf v) {
  float lanes[TN_VF_LANES];
  tn_vf_store(lanes, v);
  for (int l = 0; l < TN_VF_LANES; l++)
    if (m >> l & 1) p[l] = lanes[l];
}

static inline tn_vf tn_vf_load_mask(tn_vf_mask m, const float *p) {
  return m == 0xff ? tn_vf_load(p) : tn_vf_join_each(tn_vf_set1(0), m, p);
}
static inline void tn_vf_store_mask(float *p, tn_vf_mask m, tn_vf v) {
  if (m == 0xff) {
    tn_vf_store(p, v);
  } else if (m == 0x3f) { /* a step of a strip of six rows */
    vst1q_f32(p, v.lo);
    vst1_f32(p + 4, vget_low_f32(v.hi));
  } else {
    tn_vf_store_each(p, m, v);
  }
}
/* m has all lanes or none. */
static inline tn_vf tn_vf_load_if(tn_vf_mask m, const float *p) {
  static const float zeros[TN_VF_LANES] = {0};
  return tn_vf_load(m ? p : zeros);
}
static inline tn_vf tn_vf_keep(tn_vf_mask m, tn_vf v) {
  static const uint32_t bits[TN_VF_LANES] = {1, 2, 4, 8, 16, 32, 64, 128};
  const uint32x4_t has = vdupq_n_u32(m), lo = vtstq_u32(has, vld1q_u32(bits)),
                   hi = vtstq_u32(has, vld1q_u32(bits + 4));
  return (tn_vf){vreinterpretq_f32_u32(vandq_u32(lo, vreinterpretq_u32_f32(v.lo))),
                 vreinterpretq_f32_u32(vandq_u32(hi, vreinterpretq_u32_f32(v.hi)))};
}
/* Lanes that m has are loaded, the others stay. v must be 0 in the lanes of m. */
static inline tn_vf tn_vf_join(tn_vf v, tn_vf_mask m, const float *p) {
  return tn_vf_join_each(v, m, p);
}
/* 16-bit floats as f32. Exact. */
static inline tn_vf tn_vf_load_f16(const uint16_t *p) {
  const float16x8_t h = vreinterpretq_f16_u16(vld1q_u16(p));
  return (tn_vf){vcvt_f32_f16(vget_low_f16(h)), vcvt_high_f32_f16(h)};
}
static inline tn_vf tn_vf_load_bf16(const uint16_t *p) {
  const uint16x8_t h = vld1q_u16(p);
  return (tn_vf){vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(h), 16)),
                 vreinterpretq_f32_u32(vshll_high_n_u16(h, 16))};
}
/* Elements 0, 2, 4 .. of a followed by b; and 1, 3, 5 .. of them. */
static inline tn_vf tn_vf_even(tn_vf a, tn_vf b) {
  return (tn_vf){vuzp1q_f32(a.lo, a.hi), vuzp1q_f32(b.lo, b.hi)};
}
static inline tn_vf tn_vf_odd(tn_vf a, tn_vf b) {
  return (tn_vf){vuzp2q_f32(a.lo, a.hi), vuzp2q_f32(b.lo, b.hi)};
}

/* ---- four lanes ---- */

typedef float32x4_t tn_v4;

static inline tn_v4 tn_v4_load(const float *p) { return vld1q_f32(p); }
/* Rows become columns. */
static inline void tn_v4_transpose(tn_v4 v[4]) {
  const float64x2_t a = vreinterpretq_f64_f32(vtrn1q_f32(v[0], v[1])),
                    b = vreinterpretq_f64_f32(vtrn2q_f32(v[0], v[1])),
                    c = vreinterpretq_f64_f32(vtrn1q_f32(v[2], v[3])),
                    d = vreinterpretq_f64_f32(vtrn2q_f32(v[2], v[3]));
  v[0] = vreinterpretq_f32_f64(vtrn1q_f64(a, c));
  v[1] = vreinterpretq_f32_f64(vtrn1q_f64(b, d));
  v[2] = vreinterpretq_f32_f64(vtrn2q_f64(a, c));
  v[3] = vreinterpretq_f32_f64(vtrn2q_f64(b, d));
}

/* ---- lanes from elsewhere ---- */

static inline tn_vf_mask tn_vf_mask_of(tn_vi truth) {
  tn_vf_mask m = 0;
  for (int l = 0; l < TN_VF_LANES; l++) m |= truth[l] ? 1u << l : 0;
  return m;
}
static inline tn_vf tn_vf_gather(tn_vf_mask m, const float *p, tn_vu at) {
  float lanes[TN_VF_LANES];
  for (int l = 0; l < TN_VF_LANES; l++) lanes[l] = m >> l & 1 ? p[(int32_t)at[l]] : 0;
  return tn_vf_load(lanes);
}
static inline tn_vf tn_vf_pick(tn_vf v, tn_vu at) {
  float from[TN_VF_LANES], lanes[TN_VF_LANES];
  tn_vf_store(from, v);
  for (int l = 0; l < TN_VF_LANES; l++) lanes[l] = from[at[l]];
  return tn_vf_load(lanes);
}
static inline tn_vf tn_vf_pick_two(tn_vf a, tn_vf b, tn_vu at) {
  float from[2 * TN_VF_LANES], lanes[TN_VF_LANES];
  tn_vf_store(from, a);
  tn_vf_store(from + TN_VF_LANES, b);
  for (int l = 0; l < TN_VF_LANES; l++) lanes[l] = from[at[l]];
  return tn_vf_load(lanes);
}
static inline tn_vf tn_vf_pick_four(tn_vf a, tn_vf b, tn_vf c, tn_vf d, tn_vu at) {
  float from[4 * TN_VF_LANES], lanes[TN_VF_LANES];
  tn_vf_store(from, a);
  tn_vf_store(from + TN_VF_LANES, b);
  tn_vf_store(from + 2 * TN_VF_LANES, c);
  tn_vf_store(from + 3 * TN_VF_LANES, d);
  for (int l = 0; l < TN_VF_LANES; l++) lanes[l] = from[at[l]];
  return tn_vf_load(lanes);
}
static inline void tn_vf_zip(tn_vf a, tn_vf b, tn_vf *low, tn_vf *high) {
  *low = (tn_vf){vzip1q_f32(a.lo, b.lo), vzip2q_f32(a.lo, b.lo)};
  *high = (tn_vf){vzip1q_f32(a.hi, b.hi), vzip2q_f32(a.hi, b.hi)};
}
static inline tn_vf tn_vf_thirds(tn_vf a, tn_vf b, tn_vf c) {
  static const uint32_t of_b[] = {0, ~0u, 0, 0, ~0u, 0, 0, ~0u},
                        of_c[] = {0, 0, ~0u, 0, 0, ~0u, 0, 0};
  const uint32x4_t b_lo = vld1q_u32(of_b), b_hi = vld1q_u32(of_b + 4), c_lo = vld1q_u32(of_c),
                   c_hi = vld1q_u32(of_c + 4);
  return (tn_vf){vbslq_f32(c_lo, c.lo, vbslq_f32(b_lo, b.lo, a.lo)),
                 vbslq_f32(c_hi, c.hi, vbslq_f32(b_hi, b.hi, a.hi))};
}
static inline tn_vf tn_vf_load_fours(const void *const p[2]) {
  return (tn_vf){vreinterpretq_f32_u8(vld1q_u8((const uint8_t *)p[0])),
                 vreinterpretq_f32_u8(vld1q_u8((const uint8_t *)p[1]))};
}
static inline void tn_vf_transpose_fours(tn_vf v[4]) {
  tn_v4 lo[4], hi[4];
  TN_UNROLL for (int k = 0; k < 4; k++) lo[k] = v[k].lo, hi[k] = v[k].hi;
  tn_v4_transpose(lo);
  tn_v4_transpose(hi);
  TN_UNROLL for (int k = 0; k < 4; k++) v[k] = (tn_vf){lo[k], hi[k]};
}

/* ---- arithmetic for which there are instructions ---- */

static inline tn_vf tn_vf_max_or_nan(tn_vf a, tn_vf v) {
  return (tn_vf){vmaxq_f32(v.lo, a.lo), vmaxq_f32(v.hi, a.hi)};
}
static inline tn_vf tn_vf_min_or_nan(tn_vf a, tn_vf v) {
  return (tn_vf){vminq_f32(v.lo, a.lo), vminq_f32(v.hi, a.hi)};
}
/* (p + 1) 2^n in the lanes in which x is not below least, else 0; n + 127 in 1 .. 254. bits: n as
 * an integer. */
static inline float32x4_t tn_v4_weight(float32x4_t x, float32x4_t least, float32x4_t p,
                                       uint32x4_t bits) {
  const float32x4_t scale =
      vreinterpretq_f32_u32(vshlq_n_u32(vaddq_u32(bits, vdupq_n_u32(127)), 23));
  const uint32x4_t y = vreinterpretq_u32_f32(vfmaq_f32(scale, p, scale));
  return vreinterpretq_f32_u32(vbicq_u32(y, vcltq_f32(x, least)));
}

static inline tn_vf tn_vf_weight(tn_vf x, tn_vf least, tn_vf p, tn_vf m, tn_vf magic) {
  const uint32x4_t zero = vreinterpretq_u32_f32(magic.lo);
  return (tn_vf){tn_v4_weight(x.lo, least.lo, p.lo, vsubq_u32(vreinterpretq_u32_f32(m.lo), zero)),
                 tn_v4_weight(x.hi, least.hi, p.hi, vsubq_u32(vreinterpretq_u32_f32(m.hi), zero))};
}

/* ---- one register ---- */

typedef float tn_vr __attribute__((vector_size(16)));
static inline tn_vr tn_vr_set1(float x) { return (tn_vr)vdupq_n_f32(x); }
static inline tn_vr tn_vr_fma(tn_vr a, tn_vr b, tn_vr c) {
  return (tn_vr)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
static inline tn_vr tn_vr_max(tn_vr a, tn_vr b) {
  const float32x4_t x = (float32x4_t)a, y = (float32x4_t)b;
  return (tn_vr)vbslq_f32(vcgtq_f32(x, y), x, y);
}
static inline float tn_vr_sum(tn_vr v) { return v[0] + v[1] + v[2] + v[3]; }
/* out[k]: the sum of v[k]. */
static inline void tn_vr_sum_four(const tn_vr v[4], float *out) {
  vst1q_f32(out, vpaddq_f32(vpaddq_f32((float32x4_t)v[0], (float32x4_t)v[1]),
                            vpaddq_f32((float32x4_t)v[2], (float32x4_t)v[3])));
}
static inline float tn_vr_top(tn_vr v) {
  float top = v[0];
  for (int l = 1; l < 4; l++) top = v[l] > top ? v[l] : top;
  return top;
}
typedef double tn_vd __attribute__((vector_size(16)));
static inline tn_vd tn_vd_fma(tn_vd a, tn_vd b, tn_vd c) {
  return (tn_vd)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}

/* ---- bytes ---- */

enum { TN_VB_LANES = 16 };
typedef uint8x16_t tn_vb;
static inline tn_vb tn_vb_set1(uint8_t x) { return vdupq_n_u8(x); }
static inline tn_vb tn_vb_load(const void *p) { return vld1q_u8((const uint8_t *)p); }
static inline void tn_vb_store(void *p, tn_vb v) { vst1q_u8((uint8_t *)p, v); }
static inline tn_vb tn_vb_max_u8(tn_vb a, tn_vb b) { return vmaxq_u8(a, b); }
static inline tn_vb tn_vb_max_i8(tn_vb a, tn_vb b) {
  return vreinterpretq_u8_s8(vmaxq_s8(vreinterpretq_s8_u8(a), vreinterpretq_s8_u8(b)));
}
static inline tn_vb tn_vb_load_first(const void *p, int64_t n) {
  uint8_t lanes[TN_VB_LANES] = {0};
  memcpy(lanes, p, (size_t)n);
  return tn_vb_load(lanes);
}
static inline void tn_vb_store_first(void *p, tn_vb v, int64_t n) {
  uint8_t lanes[TN_VB_LANES];
  tn_vb_store(lanes, v);
  memcpy(p, lanes, (size_t)n);
}
typedef uint8x16x4_t tn_vb_table[4];
static inline void tn_vb_table_load(tn_vb_table t, const uint8_t *p) {
  for (int k = 0; k < 4; k++) t[k] = vld1q_u8_x4(p + 64 * k);
}
static inline tn_vb tn_vb_lookup(const tn_vb_table t, tn_vb at) {
  tn_vb y = vqtbl4q_u8(t[0], at); /* 0 where the index is too large */
  TN_UNROLL for (int k = 1; k < 4; k++) {
    y = vqtbx4q_u8(y, t[k], vsubq_u8(at, vdupq_n_u8((uint8_t)(64 * k))));
  }
  return y;
}

static inline tn_vf tn_vf_of_i16(int16x8_t v) {
  return (tn_vf){vcvtq_f32_s32(vmovl_s16(vget_low_s16(v))),
                 vcvtq_f32_s32(vmovl_s16(vget_high_s16(v)))};
}
static inline tn_vf tn_vf_load_u8(const uint8_t *p) {
  return tn_vf_of_i16(vreinterpretq_s16_u16(vmovl_u8(vld1_u8(p))));
}
static inline tn_vf tn_vf_load_i8(const int8_t *p) { return tn_vf_of_i16(vmovl_s8(vld1_s8(p))); }
static inline tn_vf tn_vf_load_u16(const uint16_t *p) {
  const uint16x8_t v = vld1q_u16(p);
  return (tn_vf){vcvtq_f32_u32(vmovl_u16(vget_low_u16(v))),
                 vcvtq_f32_u32(vmovl_u16(vget_high_u16(v)))};
}
static inline tn_vf tn_vf_load_i16(const int16_t *p) { return tn_vf_of_i16(vld1q_s16(p)); }
static inline tn_vf tn_vf_load_i32(const int32_t *p) {
  return (tn_vf){vcvtq_f32_s32(vld1q_s32(p)), vcvtq_f32_s32(vld1q_s32(p + 4))};
}
static inline void tn_store_low_bytes(void *p, int32x4_t lo, int32x4_t hi, int32_t zero) {
  const int16x8_t q = vcombine_s16(vmovn_s32(lo), vmovn_s32(hi));
  vst1_s8((int8_t *)p, vmovn_s16(vaddq_s16(q, vdupq_n_s16((int16_t)zero))));
}
static inline void tn_vf_store_byte(void *p, tn_vf v, int32_t zero) {
  tn_store_low_bytes(p, vcvtnq_s32_f32(v.lo), vcvtnq_s32_f32(v.hi), zero);
}
static inline void tn_vf_store_rounded(void *p, tn_vf v, int32_t zero) {
  tn_store_low_bytes(p, vreinterpretq_s32_f32(v.lo), vreinterpretq_s32_f32(v.hi), zero);
}
static inline bool tn_vf_some_above(tn_vf a, tn_vf b) {
  return vmaxvq_u32(vorrq_u32(vcgtq_f32(a.lo, b.lo), vcgtq_f32(a.hi, b.hi))) != 0;
}

/* ---- 16 bytes ---- */

typedef uint8x16_t tn_b16;
static inline tn_b16 tn_b16_load(const void *p) { return vld1q_u8((const uint8_t *)p); }
static inline tn_b16 tn_b16_load4(const void *p) {
  uint32_t four;
  memcpy(&four, p, sizeof four);
  return vreinterpretq_u8_u32(vdupq_n_u32(four));
}
static inline void tn_b16_store(void *p, tn_b16 v) { vst1q_u8((uint8_t *)p, v); }
static inline tn_b16 tn_b16_set1(uint8_t x) { return vdupq_n_u8(x); }
static inline tn_b16 tn_b16_or(tn_b16 a, tn_b16 b) { return vorrq_u8(a, b); }
static inline tn_b16 tn_b16_xor(tn_b16 a, tn_b16 b) { return veorq_u8(a, b); }
static inline tn_b16 tn_b16_pick(tn_b16 v, tn_b16 at) { return vqtbl1q_u8(v, at); }
static inline tn_b16 tn_b16_zip8(tn_b16 a, tn_b16 b) { return vzip1q_u8(a, b); }
static inline tn_b16 tn_b16_zip16(tn_b16 a, tn_b16 b) {
  return vreinterpretq_u8_u16(vzip1q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
}

#endif
