/* Region and Reorder with transposes of 4-byte elements in registers: the whole of turn_avx512.c
 * and turn_avx2.c. A tile is SIDE rows of SIDE elements, one vector each; what the tiles leave is
 * for the portable code, and so is all that is no transpose. */
#ifndef TN_OPS_REGION_TURN_SIMD_H
#define TN_OPS_REGION_TURN_SIMD_H

#include "base/simd.h"
#include "region.gen.h"
#include "region.h"

enum { SIDE = TN_VF_LANES, QUADS = SIDE / 4, LINE = 64 };

/* Nothing is assumed of alignment: elements may be four bytes that lie anywhere. */
static inline __m128 load_four(const uint8_t *src) {
  return _mm_loadu_ps((const float *)(const void *)src);
}

/* The same four columns of rows 0, 4, 8 .. from src on, one after the other. */
static inline tn_vf load_quads(const uint8_t *src, int64_t step) {
#if defined(__AVX512F__)
  tn_vf v = _mm512_castps128_ps512(load_four(src));
  v = _mm512_insertf32x4(v, load_four(src + 4 * step), 1);
  v = _mm512_insertf32x4(v, load_four(src + 8 * step), 2);
  return _mm512_insertf32x4(v, load_four(src + 12 * step), 3);
#else
  return _mm256_insertf128_ps(_mm256_castps128_ps256(load_four(src)), load_four(src + 4 * step), 1);
#endif
}

static inline void store(uint8_t *dst, tn_vf v) { tn_vf_store((float *)(void *)dst, v); }

/* Elements of a and b in turn: the low or high two of each four; then pairs. */
#if defined(__AVX512F__)
#define LOW_ONES(a, b) _mm512_unpacklo_ps(a, b)
#define HIGH_ONES(a, b) _mm512_unpackhi_ps(a, b)
#define LOW_TWOS(a, b) _mm512_shuffle_ps(a, b, 0x44)
#define HIGH_TWOS(a, b) _mm512_shuffle_ps(a, b, 0xee)
#else
#define LOW_ONES(a, b) _mm256_unpacklo_ps(a, b)
#define HIGH_ONES(a, b) _mm256_unpackhi_ps(a, b)
#define LOW_TWOS(a, b) _mm256_shuffle_ps(a, b, 0x44)
#define HIGH_TWOS(a, b) _mm256_shuffle_ps(a, b, 0xee)
#endif

/* Element (r, c) goes from src + r * src_step + 4 * c to dst + c * dst_step + 4 * r. */
static inline void turn_tile(uint8_t *dst, int64_t dst_step, const uint8_t *src, int64_t src_step) {
  TN_UNROLL for (int q = 0; q < QUADS; q++) {
    const uint8_t *from = src + 16 * q;
    uint8_t *to = dst + 4 * q * dst_step;
    const tn_vf a = load_quads(from, src_step), b = load_quads(from + src_step, src_step),
                c = load_quads(from + 2 * src_step, src_step),
                d = load_quads(from + 3 * src_step, src_step);
    const tn_vf ab = LOW_ONES(a, b), cd = LOW_ONES(c, d), ef = HIGH_ONES(a, b),
                gh = HIGH_ONES(c, d);
    store(to, LOW_TWOS(ab, cd));
    store(to + dst_step, HIGH_TWOS(ab, cd));
    store(to + 2 * dst_step, LOW_TWOS(ef, gh));
    store(to + 3 * dst_step, HIGH_TWOS(ef, gh));
  }
}

/* Brings the lines in which a tile will be stored. Where its vectors lie across the ends of lines,
 * each store would wait for both. Inlined early, or GCC 12 drops the call as one without effect. */
static inline __attribute__((always_inline)) void expect_tile(uint8_t *dst, int64_t step) {
  if (step % LINE == 0) return;
  TN_UNROLL for (int k = 0; k < SIDE; k++) {
    __builtin_prefetch(dst + k * step, 1, 3);
    __builtin_prefetch(dst + k * step + 4 * SIDE - 1, 1, 3);
  }
}

/* Rows go in strips that fill two lines of the destination. */
static void turn(const tn_block *b, uint8_t *dst, const uint8_t *src) {
  const int64_t rows = b->row.size / SIDE * SIDE, cols = b->col.size / SIDE * SIDE,
                strip = 2 * LINE / 4;
  for (int64_t r0 = 0; r0 < rows; r0 += strip)
    for (int64_t c = 0; c < cols; c += SIDE)
      for (int64_t r = r0; r < tn_min_i64(rows, r0 + strip); r += SIDE) {
        uint8_t *to = dst + 4 * r + c * b->col.dst;
        if (c + SIDE < cols)
          expect_tile(to + SIDE * b->col.dst, b->col.dst);
        else if (r + strip < rows)
          expect_tile(dst + 4 * (r + strip), b->col.dst);
        turn_tile(to, b->col.dst, src + r * b->row.src + 4 * c, b->row.src);
      }
  tn_block_rest(b, dst, src, rows, cols);
}

tn_status TN_SIMD_NAME(region)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                               uint32_t worker) {
  (void)worker;
  return region_run(call, turn, stage, begin, end);
}

tn_status TN_SIMD_NAME(reorder)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                uint32_t worker) {
  (void)stage, (void)worker;
  return reorder_run(call, turn, begin, end);
}

#endif
