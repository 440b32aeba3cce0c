/* The matrix tile of tenon/kit/gemm_simd.h for AVX2, as kernels share it. */
#include "tenon/kit/gemm_simd.h"
#include "tile.h"

void today_tile_avx2(const float *a, const float *b, int64_t depth, float *c, int64_t ldc,
                     const char *next, int64_t next_step) {
  const tn_ahead ahead = {next, next_step, 0, 16 * TN_TILE_NR};
  tn_tile_of_rows[6](a, b, depth, c, ldc, TN_TILE_NR, true, NULL, &ahead);
}
