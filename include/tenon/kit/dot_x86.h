/* What the targets of tenon/kit/dot_simd.h and of tenon/kit/quads_simd.h with AVX2 and with AVX-512
 * have in common: the same instructions on vectors of another width.
 *
 *   TN_MM(f)                  the intrinsic f of the width: _mm256_f or _mm512_f
 *   TN_VPDPBUSD(acc, x, w)    acc += four products of each lane; only where there is VNNI */
#ifndef TN_KIT_DOT_X86_H
#define TN_KIT_DOT_X86_H

#include "tenon/kit/simd.h"

typedef tn_vb tn_vq;

static inline tn_vq tn_vq_load(const void *p) { return tn_vb_load(p); }
static inline void tn_vq_store(void *p, tn_vq v) { tn_vb_store(p, v); }
static inline tn_vq tn_vq_set1(int32_t x) { return TN_MM(set1_epi32)(x); }
static inline tn_vq tn_vq_add(tn_vq a, tn_vq b) { return TN_MM(add_epi32)(a, b); }
static inline tn_vq tn_vq_sub(tn_vq a, tn_vq b) { return TN_MM(sub_epi32)(a, b); }
static inline tn_vq tn_vq_mul(tn_vq a, tn_vq b) { return TN_MM(mullo_epi32)(a, b); }
static inline tn_vf tn_vq_float(tn_vq v) { return TN_MM(cvtepi32_ps)(v); }
static inline tn_vq tn_vq_round(tn_vf v) { return TN_MM(cvtps_epi32)(v); } /* half to even */
static inline tn_vq tn_vq_pack16(tn_vq a, tn_vq b) { return TN_MM(packs_epi32)(a, b); }
static inline tn_vq tn_vq_pack_u8(tn_vq a, tn_vq b) { return TN_MM(packus_epi16)(a, b); }
static inline tn_vq tn_vq_adds16(tn_vq a, tn_vq b) { return TN_MM(adds_epi16)(a, b); }
static inline tn_vq tn_vq_set16(int16_t x) { return TN_MM(set1_epi16)(x); }
static inline tn_vq tn_vq_set8(uint8_t x) { return TN_MM(set1_epi8)((char)x); }
static inline tn_vq tn_vq_xor(tn_vq a, tn_vq b) { return a ^ b; }
static inline tn_vq tn_vq_max8(tn_vq a, tn_vq b) { return TN_MM(max_epu8)(a, b); }
static inline tn_vq tn_vq_lower8(tn_vq v) { /* of each 16 bytes, as 16-bit numbers */
  return TN_MM(unpacklo_epi8)(v, tn_vq_set1(0));
}
static inline tn_vq tn_vq_upper8(tn_vq v) { return TN_MM(unpackhi_epi8)(v, tn_vq_set1(0)); }
static inline tn_vq tn_vq_lower16(tn_vq v) { return TN_MM(unpacklo_epi16)(v, tn_vq_set1(0)); }
static inline tn_vq tn_vq_upper16(tn_vq v) { return TN_MM(unpackhi_epi16)(v, tn_vq_set1(0)); }
/* Numbers of `size` bits of a and b in turn, within each 128 bits. */
#define TN_VQ_ZIP(size, a, b, lo, hi) \
  const tn_vq lo = TN_MM(unpacklo_epi##size)(a, b), hi = TN_MM(unpackhi_epi##size)(a, b)

/* ---- quads: see tenon/kit/quads_simd.h ---- */

typedef tn_vb tn_quads;
typedef tn_vb tn_quads_sums;
static inline tn_quads tn_quads_load(const void *p) { return tn_vb_load(p); }
static inline tn_quads tn_quads_set1(int32_t x) { return TN_MM(set1_epi32)(x); }
static inline tn_quads tn_quads_low(tn_quads v) { return v & TN_MM(set1_epi8)(15); }
static inline tn_quads tn_quads_high(tn_quads v) { return tn_quads_low(TN_MM(srli_epi32)(v, 4)); }
static inline tn_vf tn_vf_of_int(tn_vi v) { return TN_MM(cvtepi32_ps)((tn_vb)v); }
static inline tn_vi tn_vi_round(tn_vf v) { return (tn_vi)TN_MM(cvtps_epi32)(v); }

#if defined(TN_VPDPBUSD)

#define TN_QUADS_SUMS_32 1
static inline tn_quads_sums tn_quads_sum_begin(int32_t from) { return tn_quads_set1(from); }
static inline tn_vi tn_quads_sum_end(tn_quads_sums s, int32_t from) {
  (void)from;
  return (tn_vi)s;
}
#define TN_QUADS_DOT(acc, x, d) TN_VPDPBUSD(acc, x, d)

#else

/* Of i16: 8 times two products of 15 x 128 at most. */
static inline tn_quads_sums tn_quads_sum_begin(int32_t from) {
  (void)from;
  return tn_quads_set1(0);
}
/* The empty instruction: gcc would first make all products, then add them in pairs, and spill. */
#define TN_KEEP_ORDER(acc) __asm__("" : "+v"(acc))
static inline tn_vi tn_quads_sum_end(tn_quads_sums s, int32_t from) {
  const tn_vb pairs = TN_MM(madd_epi16)(s, TN_MM(set1_epi16)(1));
  return (tn_vi)TN_MM(add_epi32)(pairs, TN_MM(set1_epi32)(from));
}
#define TN_QUADS_DOT(acc, x, d)                              \
  do {                                                       \
    acc = TN_MM(add_epi16)(acc, TN_MM(maddubs_epi16)(x, d)); \
    TN_KEEP_ORDER(acc);                                      \
  } while (0)

#endif

#endif
