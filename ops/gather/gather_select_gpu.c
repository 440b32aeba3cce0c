/* OneHot, Trilu and ReverseSequence on GPUs, an element a thread. */
#ifdef TN_GPU
KERNEL(one_hot, (IN(I), IN(V), OUT(Y)), (INT(n), INT(depth), INT(inner)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    int row = i / inner, place = row % depth;
    int at = LDI(I, row / depth * inner + i % inner);
    MOVE(Y, i, V, at == place || at == place - depth ? 1 : 0);
  }
}

KERNEL(trilu, (IN(X), OUT(Y)), (CONST(UPPER), INT(n), INT(rows), INT(columns), INT(k)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    int right = i % columns - i / columns % rows;
    if (UPPER != 0 ? right >= k : right <= k) {
      MOVE(Y, i, X, i);
    } else {
      STI(Y, i, 0);
    }
  }
}

/* Y[t][b][inner] or, with the batch FIRST, Y[b][t][inner]. */
KERNEL(reverse_sequence, (IN(X), IN(L), OUT(Y)),
       (CONST(FIRST), INT(n), INT(times), INT(batches), INT(inner)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    int row = i / inner;
    int b = FIRST != 0 ? row / times : row % batches, t = FIRST != 0 ? row % times : row / batches;
    int length = LDI(L, b);
    int from = t < length && length <= times ? length - 1 - t : t;
    int at = FIRST != 0 ? b * times + from : from * batches + b;
    MOVE(Y, i, X, at * inner + i - row * inner);
  }
}
#else
#include "gather.gen.h"
#include "indices_gpu.h"
#include "tenon/kit/axis.h"

const char *one_hot_gpu_refuse(const tn_call *call) { return tn_gpu_refuse_size(call); }

tn_status one_hot_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_axis_view v =
      tn_axis_view_of(call->outputs[0], ((const tn_one_hot_attrs *)call->attrs)->axis);
  const int64_t n = tn_elements(call->outputs[0]);
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_one_hot);
  tn_gpu_in(&g, 0);
  tn_gpu_in(&g, 2);
  tn_gpu_out(&g, 0);
  tn_gpu_int(&g, n);
  tn_gpu_int(&g, v.n);
  tn_gpu_int(&g, v.inner);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(n, 64), 1, 1);
}

const char *trilu_gpu_refuse(const tn_call *call) { return tn_gpu_refuse_size(call); }

tn_status trilu_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_trilu_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  const int64_t n = tn_elements(x), high = x->shape[x->rank - 2], wide = x->shape[x->rank - 1];
  const int64_t k = tn_has_input(call, 1) ? *(const int64_t *)call->inputs[1]->data : 0;
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_trilu);
  tn_gpu_in(&g, 0);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, a->upper != 0);
  tn_gpu_int(&g, n);
  tn_gpu_int(&g, high);
  tn_gpu_int(&g, wide);
  tn_gpu_int(&g, tn_min_i64(tn_max_i64(k, -high), wide)); /* all or nothing beyond */
  return tn_gpu_run(&g, recorder, tn_gpu_groups(n, 64), 1, 1);
}

static bool is_batch_first(const tn_call *call) {
  return ((const tn_reverse_sequence_attrs *)call->attrs)->batch_axis == 0;
}

const char *reverse_sequence_gpu_refuse(const tn_call *call) {
  const tn_tensor *lengths = call->inputs[1];
  const int64_t times = call->inputs[0]->shape[is_batch_first(call)];
  for (int64_t k = 0; lengths->data && k < tn_elements(lengths); k++)
    if (index_load(lengths, k) < 0 || index_load(lengths, k) > times)
      return "a length is out of range";
  return tn_gpu_refuse_size(call);
}

tn_status reverse_sequence_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_tensor *x = call->inputs[0];
  const bool first = is_batch_first(call);
  const int64_t n = tn_elements(x);
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_reverse_sequence);
  tn_gpu_in(&g, 0);
  tn_gpu_in(&g, 1);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, first);
  tn_gpu_int(&g, n);
  tn_gpu_int(&g, x->shape[first]);
  tn_gpu_int(&g, x->shape[!first]);
  tn_gpu_int(&g, tn_dims_size(x->shape + 2, x->rank - 2));
  return tn_gpu_run(&g, recorder, tn_gpu_groups(n, 64), 1, 1);
}
#endif
