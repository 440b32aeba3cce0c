/* Gather and GatherElements on GPUs, an element a thread. Indices out of range read the nearest
 * element: what a program finds it cannot say. */
#ifdef TN_GPU
int place_of(int at, int n) {
  at = at < 0 ? at + n : at;
  return at < 0 ? 0 : at < n ? at : n - 1;
}

/* Y[outer][index][inner] = X[outer][I[index]][inner], counts of indices and of X's axis. */
KERNEL(gather, (IN(X), IN(I), OUT(Y)), (INT(n), INT(count), INT(axis), INT(inner)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    int row = i / inner, outer = row / count;
    int at = place_of(LDI(I, row - outer * count), axis);
    MOVE(Y, i, X, (outer * axis + at) * inner + i - row * inner);
  }
}
#else
#include "gather.gen.h"
#include "tenon/experimental/gpu.h"
#include "tenon/kit/axis.h"

/* On the CPU, indices out of range are an error; only those that are known can be looked at. */
static bool is_in_range(const tn_tensor *index, int64_t n) {
  const int64_t count = tn_elements(index);
  for (int64_t k = 0; k < count && index->data; k++) {
    const int64_t at = index->dtype == TN_I32 ? ((const int32_t *)index->data)[k]
                                              : ((const int64_t *)index->data)[k];
    if (at < -n || at >= n) return false;
  }
  return true;
}

const char *gather_gpu_refuse(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  if (x->rank < 1) return "takes tensors of rank 1 and more";
  const tn_axis_view v = tn_axis_view_of(x, ((const tn_gather_attrs *)call->attrs)->axis);
  if (!is_in_range(call->inputs[1], v.n)) return "an index is out of range";
  if (!v.n) return "there is nothing to gather from";
  return tn_gpu_refuse_size(call);
}

tn_status gather_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_axis_view v =
      tn_axis_view_of(call->inputs[0], ((const tn_gather_attrs *)call->attrs)->axis);
  const int64_t n = tn_elements(call->outputs[0]);
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_gather);
  tn_gpu_in(&g, 0);
  tn_gpu_in(&g, 1);
  tn_gpu_out(&g, 0);
  tn_gpu_int(&g, n);
  tn_gpu_int(&g, tn_elements(call->inputs[1]));
  tn_gpu_int(&g, v.n);
  tn_gpu_int(&g, v.inner);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(n, 64), 1, 1);
}
#endif
