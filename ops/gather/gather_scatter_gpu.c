/* ScatterND and TensorScatter on GPUs, on the data or a copy of it. Indices out of range write
 * nothing: what a program finds it cannot say. */
#ifdef TN_GPU
#include "scatter_join_gpu.h"

/* Where the `row`th tuple of I points, or -1. */
#define PLACE_OF(row, to)                                       \
  {                                                             \
    int outside = 0;                                            \
    for (int k = 0; k < depth; k++) {                           \
      int bound = k == 0 ? d0 : k == 1 ? d1 : k == 2 ? d2 : d3; \
      int at = LDI(I, (row)*depth + k);                         \
      at = at < 0 ? at + bound : at;                            \
      outside = at < 0 || at >= bound ? 1 : outside;            \
      to = to * bound + at;                                     \
    }                                                           \
    to = outside != 0 ? -1 : to;                                \
  }

/* An element of the updates a thread. */
KERNEL(scatter_nd, (IN(U), IN(I), OUT(Y)), (INT(n), INT(inner), INT(depth), INTS(d, 4)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    int row = i / inner, to = 0;
    PLACE_OF(row, to)
    if (to >= 0) {
      MOVE(Y, to * inner + i - row * inner, U, i);
    }
  }
}

/* A column of the updates a thread, so that those of one element come one after the other. */
KERNEL(scatter_nd_join, (IN(U), IN(I), OUT(Y)),
       (CONST(KIND), INT(rows), INT(inner), INT(depth), INTS(d, 4)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < inner) {
    for (int row = 0; row < rows; row++) {
      int to = 0;
      PLACE_OF(row, to)
      if (to >= 0) {
        float y = scatter_join(KIND, LD1(Y, to * inner + i), LD1(U, row * inner + i));
        ST1(Y, to * inner + i, y);
      }
    }
  }
}

/* Y[b][p][I[b] + s][inner] = U[b][p][s][inner]: `parts` in a batch, of `steps`; a part of Y has
 * `size`. WRAPS: from its end on at its beginning. */
KERNEL(tensor_scatter, (IN(U), IN(I), OUT(Y)),
       (CONST(HAS_I), CONST(WRAPS), INT(n), INT(parts), INT(steps), INT(size), INT(inner)), 64, 1,
       1) {
  int i = GLOBAL(0);
  if (i < n) {
    int row = i / inner, part = row / steps, first = 0;
    if (HAS_I != 0) first = LDI(I, part / parts);
    int at = row - part * steps + (WRAPS != 0 && first >= 0 ? first % size : first);
    if (WRAPS != 0 && at >= size) at -= size;
    if (first >= 0 && at < size) {
      MOVE(Y, (part * size + at) * inner + i - row * inner, U, i);
    }
  }
}
#else
#include "gather.gen.h"
#include "indices_gpu.h"
#include "reduction.h"
#include "tenon/kit/axis.h"

tn_status scatter_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  (void)call;
  out->in_place[0] = 0;
  return TN_OK;
}

/* ---- ScatterND ---- */

enum { MAX_DEPTH = 4 }; /* numbers of an index */

static int64_t depth_of(const tn_tensor *indices) { return indices->shape[indices->rank - 1]; }

static reduction reduction_of(const tn_call *call) {
  const tn_scatter_nd_attrs *a = call->attrs;
  reduction op = REDUCE_NONE;
  (void)reduction_parse(call, a->reduction, call->inputs[0]->dtype, &op);
  return op;
}

static int64_t join_rounds(const tn_tensor *indices) {
  const int64_t depth = depth_of(indices);
  const int64_t sizes[] = {depth ? tn_elements(indices) / depth : 0, depth};
  return tn_gpu_rounds(sizes, 2);
}

const char *scatter_nd_gpu_refuse(const tn_call *call) {
  const tn_tensor *data = call->inputs[0], *indices = call->inputs[1];
  if (reduction_of(call) != REDUCE_NONE && !tn_dtype(data->dtype)->is_float)
    return "reduces floats only";
  if (reduction_of(call) != REDUCE_NONE && tn_elements(indices) > TN_GPU_ROUNDS)
    return "reduces up to 65535 updates";
  if (depth_of(indices) > MAX_DEPTH) return "takes indices of up to four numbers";
  if (!indices_gpu_fit(indices, data->shape, depth_of(indices))) return "an index is out of range";
  const char *reason = tn_gpu_refuse_size(call);
  if (reason || reduction_of(call) == REDUCE_NONE) return reason;
  return tn_gpu_refuse_rounds(call, join_rounds(indices));
}

tn_status scatter_nd_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_tensor *x = call->inputs[0], *indices = call->inputs[1];
  const reduction op = reduction_of(call);
  const int64_t depth = depth_of(indices), n = tn_elements(call->inputs[2]);
  const int64_t inner = tn_dims_size(x->shape + depth, x->rank - (int32_t)depth);
  const tn_status status = indices_gpu_copy(recorder);
  if (status || !n) return status;
  tn_gpu g;
  tn_gpu_begin(&g, call, op == REDUCE_NONE ? GPU_scatter_nd : GPU_scatter_nd_join);
  tn_gpu_in(&g, 2);
  tn_gpu_in(&g, 1);
  tn_gpu_out(&g, 0);
  if (op != REDUCE_NONE) tn_gpu_const(&g, op);
  tn_gpu_int(&g, op == REDUCE_NONE ? n : n / inner);
  tn_gpu_int(&g, inner);
  tn_gpu_int(&g, depth);
  for (int64_t k = 0; k < MAX_DEPTH; k++) tn_gpu_int(&g, k < depth ? x->shape[k] : 1);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(op == REDUCE_NONE ? n : inner, 64), 1, 1);
}

/* ---- TensorScatter ---- */

static bool is_circular(const tn_call *call) {
  return ((const tn_tensor_scatter_attrs *)call->attrs)->mode.size == 8;
}

static tn_axis_view view_of(const tn_call *call, uint32_t input) {
  return tn_axis_view_of(call->inputs[input], ((const tn_tensor_scatter_attrs *)call->attrs)->axis);
}

const char *tensor_scatter_gpu_refuse(const tn_call *call) {
  const tn_tensor *first = tn_has_input(call, 2) ? call->inputs[2] : NULL;
  const int64_t last = view_of(call, 0).n - view_of(call, 1).n;
  for (int64_t k = 0; first && first->data && k < tn_elements(first); k++) {
    const int64_t at = index_load(first, k);
    if (at < 0 || (at > last && !is_circular(call))) return "a write index is out of range";
  }
  return tn_gpu_refuse_size(call);
}

tn_status tensor_scatter_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_axis_view cache = view_of(call, 0), update = view_of(call, 1);
  const int64_t n = tn_elements(call->inputs[1]);
  const tn_status status = indices_gpu_copy(recorder);
  if (status || !n) return status;
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_tensor_scatter);
  tn_gpu_in(&g, 1);
  tn_gpu_in(&g, 2);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, tn_has_input(call, 2));
  tn_gpu_const(&g, is_circular(call));
  tn_gpu_int(&g, n);
  tn_gpu_int(&g, cache.outer / call->inputs[0]->shape[0]);
  tn_gpu_int(&g, update.n);
  tn_gpu_int(&g, cache.n);
  tn_gpu_int(&g, cache.inner);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(n, 64), 1, 1);
}
#endif
