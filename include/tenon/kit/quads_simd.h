/* Dot products of four bytes, for weights of 4 or 8 bits: what the header of the target (tenon/kit/
 * isa.h) has besides the tiles of tenon/kit/dot_simd.h. TN_VF_LANES is the number of lanes.
 *
 *   tn_quads               four bytes, or an i32, per lane; tn_quads_sums: what is added up in
 *   tn_quads_load, _set1   from memory; one i32 in all lanes
 *   tn_quads_low, _high    the lower, the upper 4 bits of each byte
 *   TN_QUADS_DOT(acc, x, d)  adds to each lane of acc the products of its four bytes: x in 0 .. 15,
 *                          d in -128 .. 127
 *   tn_quads_sum_begin, _end(.., from)  up to 32 / 4 of them are summed; both are told the same
 *                          `from`, which is added once, and _end answers i32s
 *   tn_vf_of_int, tn_vi_round           i32 to f32 and back, to the nearest
 *
 * TN_QUADS_SUMS_32: sums are of i32, so that x may have 8 bits. TN_QUADS_SIGNED: these are signed,
 * too, numbers less 128. TN_QUADS_LARGE_SUMS: sums take twice the registers of a vector of f32. */
#ifndef TN_KIT_QUADS_SIMD_H
#define TN_KIT_QUADS_SIMD_H

#include <string.h>

#include "tenon/kit/simd.h"

#include TN_DOT_HEADER

#if !defined(TN_QUADS_SUMS_32)
#define TN_QUADS_SUMS_32 0
#endif
#if !defined(TN_QUADS_SIGNED)
#define TN_QUADS_SIGNED 0
#endif
#if !defined(TN_QUADS_LARGE_SUMS)
#define TN_QUADS_LARGE_SUMS 0
#endif

#endif
