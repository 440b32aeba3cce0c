/* Vectors under one set of names, so that one source serves every instruction set: <name>_simd.c is
 * compiled once for each of those that cmake/TenonIsa.cmake lists, and TN_SIMD_NAME(f) is f_avx2
 * and so on. This file says what there is; the header of the target says how, and nothing else of
 * it is for operators: what they have to know of a machine are the constants.
 *
 *   TN_VF_LANES       f32 of a vector, 8 or 16; TN_VB_LANES: bytes of a vector of bytes
 *   TN_VF_REGISTERS   vectors that registers hold, 16 or 32: how large a tile may be
 *
 * A new instruction set is a header that defines all of the names below. */
#ifndef TN_KIT_SIMD_H
#define TN_KIT_SIMD_H

#include <stdint.h>
#include <string.h>

#include "tenon/kit/isa.h"

/* In front of a loop of constant length over an array of vectors: keeps the array in registers. */
#if defined(__clang__)
#define TN_UNROLL _Pragma("unroll")
#else
#define TN_UNROLL _Pragma("GCC unroll 32")
#endif

/* Brings the line of p into L1, or L2. p may lie outside of everything. */
static inline void tn_prefetch_l1(const void *p) { __builtin_prefetch(p, 0, 3); }
static inline void tn_prefetch_l2(const void *p) { __builtin_prefetch(p, 0, 2); }

/* Types: tn_vf, f32; tn_vf_mask, a truth per lane; tn_vu and tn_vi, u32 and i32, on which + * < and
 * so on work; tn_v4, four f32; tn_vb, bytes; tn_b16, 16 bytes. Let l be a lane.
 *
 *   tn_vf_load, _store, _set1                 neither needs alignment
 *   tn_vf_add, _sub, _mul, _div               _fma(a, b, c): a b + c, rounded once
 *   tn_vf_max(a, b), _min                     a > b ? a : b, a < b ? a : b: NaN gives b
 *   tn_vf_max_or_nan(a, v), _min_or_nan       as above, but NaN if one of them is
 *   tn_vf_sum(v)                              of all lanes, in any order
 *   tn_vf_weight(x, least, p, m, magic)       (p + 1) 2^(m - magic) where x is not below least,
 *                                             else 0; magic = 1.5 * 2^23, the result is normal
 *
 *   tn_vf_mask_first(n)                       the first n, 0 .. TN_VF_LANES
 *   tn_vf_mask_and(a, b), _and_not            in a and in b, or not in b
 *   tn_vf_mask_of(t)                          of a comparison of two tn_vu
 *   tn_vf_load_mask(m, p)                     p[l] in the lanes of m, 0 in others, which are not
 *   tn_vf_store_mask(p, m, v)                 read; nor are they written
 *   tn_vf_load_if(m, p)                       as _load_mask; m has all lanes or none
 *   tn_vf_keep(m, v)                          v in the lanes of m, 0 in others
 *   tn_vf_join(v, m, p)                       p[l] in the lanes of m, v in others; v is 0 in m
 *
 *   tn_vf_load_f16, _bf16                     16-bit floats as f32; exact
 *   tn_vf_load_u8, _i8, _u16, _i16, _i32      integers as f32; i32 is rounded
 *   tn_vf_store_byte(p, v, zero)              the low byte of zero + v rounded half to even; both
 *                                             are far from the ends of i32
 *   tn_vf_store_rounded(p, v, zero)           the same, TN_VF_ROUNDER was added to v
 *   tn_vf_some_above(a, b)                    is some lane of a larger than that of b?
 *
 *   tn_vf_even(a, b), _odd                    elements 0, 2, 4 .. of a followed by b; 1, 3, 5 ..
 *   tn_vf_zip(a, b, &low, &high)              a0 b0 a1 b1 .., the first half and the second
 *   tn_vf_thirds(a, b, c)                     lane l of a, b or c as l % 3 is 0, 1 or 2
 *   tn_vf_gather(m, p, at)                    p[at[l]] in the lanes of m
 *   tn_vf_pick(v, at), _two(a, b, at), _four  element at[l] of v, of a followed by b ..
 *   tn_vf_load_fours(p)                       four floats from each of p[0 .. TN_VF_LANES / 4 - 1]
 *   tn_vf_transpose_fours(v)                       transposes the 4 x 4 that the same four lanes of
 *                                             v[0 .. 3] hold
 *   tn_v4_load, _store, _transpose(v)         four vectors of four: rows become columns
 *
 *   tn_vb_load, _store, _set1, _max_u8, _max_i8
 *   tn_vb_load_first(p, n), _store_first(p, v, n)   the first n bytes, 1 .. TN_VB_LANES; zeros
 *                                                   are behind them
 *   tn_vb_table, tn_vb_table_load(t, p), tn_vb_lookup(t, at)   p[at[l]], p has 256 bytes
 *   tn_b16_load, _store, _set1, _or, _xor     _load4: four bytes, any behind them
 *   tn_b16_pick(v, at)                        v[at[l]], 0 where at[l] is 128
 *   tn_b16_zip8(a, b), _zip16                 bytes, or pairs, of the lower halves in turn
 *
 * tn_vr, f32, and tn_vd, f64, are one register: + and so on work on them.
 *
 *   tn_vr_set1, _fma, _max, _sum              as those of tn_vf; _top: the largest lane
 *   tn_vd_fma(a, b, c)
 */
#ifndef TN_SIMD_HEADER
#error "no vectors for any machine: files with the ending _simd.c get the flags that this needs"
#endif
#include TN_SIMD_HEADER

/* Adding it to |x| < 2^22 rounds x half to even, and leaves that in the lowest bits. */
#define TN_VF_ROUNDER 12582912.0f /* 1.5 * 2^23 */

/* Folds the lanes of each of TN_VF_LANES vectors, neighbours by neighbours; what becomes of v[k] is
 * lane k of v[0] then. join(a, b): two vectors as one. */
#define TN_VF_HALVE(v, n, join)                           \
  TN_UNROLL for (int k_ = 0; k_ < (n) / 2; k_++)(v)[k_] = \
      join(tn_vf_even((v)[2 * k_], (v)[2 * k_ + 1]), tn_vf_odd((v)[2 * k_], (v)[2 * k_ + 1]))
#if TN_VF_LANES == 16
#define TN_VF_FOLD_EACH(v, join) \
  do {                           \
    TN_VF_HALVE(v, 16, join);    \
    TN_VF_HALVE(v, 8, join);     \
    TN_VF_HALVE(v, 4, join);     \
    TN_VF_HALVE(v, 2, join);     \
  } while (0)
#else
#define TN_VF_FOLD_EACH(v, join) \
  do {                           \
    TN_VF_HALVE(v, 8, join);     \
    TN_VF_HALVE(v, 4, join);     \
    TN_VF_HALVE(v, 2, join);     \
  } while (0)
#endif

/* The first n of 16-bit floats, n <= TN_VF_LANES, 0 behind them. */
static inline tn_vf tn_vf_load_f16_first(const uint16_t *p, int64_t n) {
  uint16_t lanes[TN_VF_LANES] = {0};
  memcpy(lanes, p, (size_t)n * sizeof *p);
  return tn_vf_load_f16(lanes);
}
static inline tn_vf tn_vf_load_bf16_first(const uint16_t *p, int64_t n) {
  uint16_t lanes[TN_VF_LANES] = {0};
  memcpy(lanes, p, (size_t)n * sizeof *p);
  return tn_vf_load_bf16(lanes);
}

#endif
