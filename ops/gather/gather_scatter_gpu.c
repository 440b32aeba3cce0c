/* ScatterND without reduction on GPUs, an element of the updates a thread, on the data or a copy of
 * it. Indices out of range write nothing: what a program finds it cannot say. */
#ifdef TN_GPU
KERNEL(scatter_nd, (IN(U), IN(I), OUT(Y)), (INT(n), INT(inner), INT(depth), INTS(d, 4)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    int row = i / inner, to = 0, outside = 0;
    for (int k = 0; k < depth; k++) {
      int bound = k == 0 ? d0 : k == 1 ? d1 : k == 2 ? d2 : d3;
      int at = LDI(I, row * depth + k);
      at = at < 0 ? at + bound : at;
      outside = at < 0 || at >= bound ? 1 : outside;
      to = to * bound + at;
    }
    if (outside == 0) {
      MOVE(Y, to * inner + i - row * inner, U, i);
    }
  }
}
#else
#include "gather.gen.h"
#include "reduction.h"
#include "tenon/experimental/gpu.h"

enum { MAX_DEPTH = 4 }; /* numbers of an index */

static int64_t depth_of(const tn_tensor *indices) { return indices->shape[indices->rank - 1]; }

/* On the CPU, indices out of range are an error; only those that are known can be looked at. */
static bool is_in_range(const tn_tensor *indices, const tn_tensor *x) {
  const int64_t n = indices->data ? tn_elements(indices) : 0, depth = depth_of(indices);
  for (int64_t k = 0; k < n; k++) {
    const int64_t at = ((const int64_t *)indices->data)[k], bound = x->shape[k % depth];
    if (at < -bound || at >= bound) return false;
  }
  return true;
}

const char *scatter_nd_gpu_refuse(const tn_call *call) {
  const tn_scatter_nd_attrs *a = call->attrs;
  reduction op;
  if (reduction_parse(call, a->reduction, call->inputs[0]->dtype, &op) || op != REDUCE_NONE)
    return "reduces nothing";
  if (depth_of(call->inputs[1]) > MAX_DEPTH) return "takes indices of up to four numbers";
  if (!is_in_range(call->inputs[1], call->inputs[0])) return "an index is out of range";
  return tn_gpu_refuse_size(call);
}

tn_status scatter_nd_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  (void)call;
  out->in_place[0] = 0;
  return TN_OK;
}

tn_status scatter_nd_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_binding data = {TN_HEAD(tn_binding), TN_BIND_INPUT, 0, 0, 0},
                   output = {TN_HEAD(tn_binding), TN_BIND_OUTPUT, 0, 0, 0};
  const tn_tensor *x = call->inputs[0], *updates = call->inputs[2];
  const int64_t depth = depth_of(call->inputs[1]), n = tn_elements(updates);
  int64_t inner = 1;
  for (int64_t k = depth; k < x->rank; k++) inner *= x->shape[k];
  const tn_status status = recorder->copy(recorder->ctx, &data, &output);
  if (status || !n) return status;
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_scatter_nd);
  tn_gpu_in(&g, 2);
  tn_gpu_in(&g, 1);
  tn_gpu_out(&g, 0);
  tn_gpu_int(&g, n);
  tn_gpu_int(&g, inner);
  tn_gpu_int(&g, depth);
  for (int64_t k = 0; k < MAX_DEPTH; k++) tn_gpu_int(&g, k < depth ? x->shape[k] : 1);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(n, 64), 1, 1);
}
#endif
