/* What the GPU kernels that read indices share. */
#ifndef TN_GATHER_INDICES_GPU_H
#define TN_GATHER_INDICES_GPU_H

#include "rows.h"
#include "tenon/experimental/gpu.h"

/* On the CPU, indices out of range are an error; a program cannot say what it finds, so those that
 * are known are looked at here. Element k counts in a dim of bounds[k % depth]. */
static inline bool indices_gpu_fit(const tn_tensor *indices, const int64_t *bounds, int64_t depth) {
  const int64_t n = indices->data ? tn_elements(indices) : 0;
  for (int64_t k = 0; k < n; k++) {
    const int64_t at = index_load(indices, k), bound = bounds[k % depth];
    if (at < -bound || at >= bound) return false;
  }
  return true;
}

/* Output 0 begins as a copy of input 0, unless it is that already. */
static inline tn_status indices_gpu_copy(tn_recorder *recorder) {
  const tn_binding data = {TN_HEAD(tn_binding), TN_BIND_INPUT, 0, 0, 0},
                   output = {TN_HEAD(tn_binding), TN_BIND_OUTPUT, 0, 0, 0};
  return recorder->copy(recorder->ctx, &data, &output);
}

#endif
