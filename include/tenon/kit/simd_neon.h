/* The NEON form of tenon/kit/simd.h, which includes this: a vector is two registers, 8 lanes.
 * AArch64 has 32 registers of 16 bytes, as many bytes as AVX2's 16 of 32, so that layouts and tiles
 * made for AVX2 fit here as they are. NEON cannot load by mask: a mask is one bit per lane, and
 * where it has not all lanes, those that it has are loaded and stored one by one. */
#ifndef TN_KIT_SIMD_NEON_H
#define TN_KIT_SIMD_NEON_H

#include <arm_neon.h>
#include <stdint.h>

#define TN_SIMD_NAME(name) name##_neon
enum { TN_VF_LANES = 8 };
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
  static const float zeros[TN_VF_LANES];
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

/* (p + 1) 2^n in the lanes in which x is not below least, else 0; n + 127 in 1 .. 254. bits: n as
 * an integer. */
static inline float32x4_t tn_v4_weight(float32x4_t x, float32x4_t least, float32x4_t p,
                                       uint32x4_t bits) {
  const float32x4_t scale =
      vreinterpretq_f32_u32(vshlq_n_u32(vaddq_u32(bits, vdupq_n_u32(127)), 23));
  const uint32x4_t y = vreinterpretq_u32_f32(vfmaq_f32(scale, p, scale));
  return vreinterpretq_f32_u32(vbicq_u32(y, vcltq_f32(x, least)));
}

/* ---- four lanes, of any machine ---- */

typedef float32x4_t tn_v4;

static inline tn_v4 tn_v4_load(const float *p) { return vld1q_f32(p); }
static inline void tn_v4_store(float *p, tn_v4 v) { vst1q_f32(p, v); }
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

#endif
