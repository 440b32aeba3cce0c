/* CDist in f32 in vectors: the whole of c_dist_avx512.c, c_dist_avx2.c and c_dist_neon.c. A
 * vector holds the distances from as many rows of B, which are transposed in worker scratch;
 * all rows of A of the range meet them there, four at a time. */
#include <math.h>

#include "c_dist.h"
#include "tenon/kit/simd.h"

enum { ROWS = 4 };

/* y[r * n + lane] = the squared distance of row r of a from column `lane` of transposed.
 * Inlined with rows constant. */
static inline __attribute__((always_inline)) void distances(const int rows, const float *a,
                                                            const float *transposed, int64_t depth,
                                                            float *y, int64_t n, tn_vf_mask kept) {
  tn_vf sum[ROWS];
  TN_UNROLL for (int r = 0; r < rows; r++) sum[r] = tn_vf_set1(0);
  for (int64_t c = 0; c < depth; c++) {
    const tn_vf v = tn_vf_load(transposed + c * TN_VF_LANES);
    TN_UNROLL for (int r = 0; r < rows; r++) {
      const tn_vf d = tn_vf_sub(tn_vf_set1(a[r * depth + c]), v);
      sum[r] = tn_vf_fma(d, d, sum[r]);
    }
  }
  TN_UNROLL for (int r = 0; r < rows; r++) tn_vf_store_mask(y + r * n, kept, sum[r]);
}

tn_status TN_SIMD_NAME(c_dist_f32)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                   uint32_t worker) {
  (void)stage;
  const int64_t n = call->inputs[1]->shape[0], depth = call->inputs[1]->shape[1];
  const float *a = call->inputs[0]->data, *b = call->inputs[1]->data;
  float *transposed =
      (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  float *y = call->outputs[0]->data;
  for (int64_t j = 0; j < n; j += TN_VF_LANES) {
    const int64_t used = tn_min_i64(TN_VF_LANES, n - j);
    const tn_vf_mask kept = tn_vf_mask_first(used);
    for (int64_t c = 0; c < depth; c++)
      for (int64_t r = 0; r < TN_VF_LANES; r++)
        transposed[c * TN_VF_LANES + r] = r < used ? b[(j + r) * depth + c] : 0;
    int64_t i = begin;
    for (; i + ROWS <= end; i += ROWS)
      distances(ROWS, a + i * depth, transposed, depth, y + i * n + j, n, kept);
    for (; i < end; i++) distances(1, a + i * depth, transposed, depth, y + i * n + j, n, kept);
  }
  const bool root = c_dist_is_euclidean(call);
  for (int64_t k = begin * n; k < end * n && root; k++) y[k] = sqrtf(y[k]);
  return TN_OK;
}
