/* Gather and GatherND on GPUs, an element a thread. Indices out of range read the nearest element:
 * what a program finds it cannot say. */
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

/* Y[batch][tuple][inner] = X[batch][I[batch][tuple][0]][I[batch][tuple][1]]...[inner]; `tuples` in
 * a batch, of `depth` numbers that count in the dims d. */
KERNEL(gather_nd, (IN(X), IN(I), OUT(Y)), (INT(n), INT(tuples), INT(inner), INT(depth), INTS(d, 4)),
       64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    int tuple = i / inner, from = tuple / tuples;
    for (int k = 0; k < depth; k++) {
      int bound = k == 0 ? d0 : k == 1 ? d1 : k == 2 ? d2 : d3;
      from = from * bound + place_of(LDI(I, tuple * depth + k), bound);
    }
    MOVE(Y, i, X, from * inner + i - tuple * inner);
  }
}
#else
#include "gather.gen.h"
#include "indices_gpu.h"
#include "tenon/kit/axis.h"

const char *gather_gpu_refuse(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  if (x->rank < 1) return "takes tensors of rank 1 and more";
  const tn_axis_view v = tn_axis_view_of(x, ((const tn_gather_attrs *)call->attrs)->axis);
  if (!indices_gpu_fit(call->inputs[1], &v.n, 1)) return "an index is out of range";
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

enum { MAX_DEPTH = 4 };

static int64_t depth_of(const tn_call *call) {
  return call->inputs[1]->shape[call->inputs[1]->rank - 1];
}

const char *gather_nd_gpu_refuse(const tn_call *call) {
  const tn_gather_nd_attrs *a = call->attrs;
  if (depth_of(call) > MAX_DEPTH) return "takes indices of up to four numbers";
  if (!indices_gpu_fit(call->inputs[1], call->inputs[0]->shape + a->batch_dims, depth_of(call)))
    return "an index is out of range";
  if (tn_elements(call->inputs[0]) == 0) return "there is nothing to gather from";
  return tn_gpu_refuse_size(call);
}

tn_status gather_nd_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_gather_nd_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0], *indices = call->inputs[1];
  const int32_t batch = (int32_t)a->batch_dims, depth = (int32_t)depth_of(call);
  const int64_t n = tn_elements(call->outputs[0]);
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_gather_nd);
  tn_gpu_in(&g, 0);
  tn_gpu_in(&g, 1);
  tn_gpu_out(&g, 0);
  tn_gpu_int(&g, n);
  tn_gpu_int(&g, tn_dims_size(indices->shape + batch, indices->rank - 1 - batch));
  tn_gpu_int(&g, tn_dims_size(x->shape + batch + depth, x->rank - batch - depth));
  tn_gpu_int(&g, depth);
  for (int32_t k = 0; k < MAX_DEPTH; k++) tn_gpu_int(&g, k < depth ? x->shape[batch + k] : 1);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(n, 64), 1, 1);
}
#endif
