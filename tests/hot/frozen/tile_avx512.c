/* The f32 matrix tile of 14 x 32 for AVX-512, as it was in November 2026: what today's loop is
 * measured against, in instructions (compare.sh) and in time (bench.c). It needs nothing of Tenon
 * and does not change with it; SHA256SUMS says so.
 *
 *   for i < 14, j < 32:  c[i*ldc + j] = sum over k < depth of a[k*14 + i] * b[k*32 + j] */
#include <immintrin.h>
#include <stdint.h>

void frozen_tile_avx512(const float *a, const float *b, int64_t depth, float *c, int64_t ldc,
                        const char *next, int64_t next_step);

/* Clang would move accumulators from register to register. */
#if defined(__clang__)
#define UNROLL
#else
#define UNROLL _Pragma("GCC unroll 4")
#endif

enum { MR = 14, LANES = 16, NR = 2 * LANES };

/* next: into L2 meanwhile, next_step bytes more with each step. */
void frozen_tile_avx512(const float *a, const float *b, int64_t depth, float *c, int64_t ldc,
                        const char *next, int64_t next_step) {
  __m512 lo[MR], hi[MR];
  _Pragma("GCC unroll 16") for (int r = 0; r < MR; r++) lo[r] = hi[r] = _mm512_setzero_ps();
  UNROLL
  for (int64_t k = 0; k < depth; k++, a += MR, b += NR, next += next_step) {
    _mm_prefetch(next, _MM_HINT_T1);
    const __m512 b_lo = _mm512_loadu_ps(b), b_hi = _mm512_loadu_ps(b + LANES);
    _mm_prefetch((const char *)(b + 16 * NR), _MM_HINT_T0);
    _mm_prefetch((const char *)(b + 16 * NR + 16), _MM_HINT_T0);
    _Pragma("GCC unroll 16") for (int r = 0; r < MR; r++) {
      const __m512 x = _mm512_set1_ps(a[r]);
      lo[r] = _mm512_fmadd_ps(x, b_lo, lo[r]);
      hi[r] = _mm512_fmadd_ps(x, b_hi, hi[r]);
    }
  }
  _Pragma("GCC unroll 16") for (int r = 0; r < MR; r++) {
    _mm512_storeu_ps(c + r * ldc, lo[r]);
    _mm512_storeu_ps(c + r * ldc + LANES, hi[r]);
  }
}
