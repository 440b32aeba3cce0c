/* CumSum and CumProd on GPUs, a row a thread. Sums of floats keep what roundings leave out. */
#ifdef TN_GPU
KERNEL(cumulate, (IN(X), OUT(Y)),
       (CONST(PRODUCT), CONST(EXCLUSIVE), CONST(REVERSE), INT(rows), INT(n), INT(inner)), 64, 1,
       1) {
  int i = GLOBAL(0);
  if (i < rows) {
    int at = i / inner * inner * n + i % inner;
    float y = PRODUCT != 0 ? 1.0f : 0.0f, rest = 0.0f;
    for (int j = 0; j < n; j++) {
      int to = at + (REVERSE != 0 ? n - 1 - j : j) * inner;
      float x = LD1(X, to), before = y + rest;
      if (PRODUCT != 0) {
        y *= x;
      } else {
        float sum = y + x;
        if (fabs(sum) < INFINITY) rest += fabs(y) >= fabs(x) ? (y - sum) + x : (x - sum) + y;
        y = sum;
      }
      x = EXCLUSIVE != 0 ? before : fabs(y) < INFINITY ? y + rest : y;
      ST1(Y, to, x);
    }
  }
}

KERNEL(cumulate_long, (IN(X), OUT(Y)),
       (CONST(PRODUCT), CONST(EXCLUSIVE), CONST(REVERSE), INT(rows), INT(n), INT(inner)), 64, 1,
       1) {
  int i = GLOBAL(0);
  if (i < rows) {
    int at = i / inner * inner * n + i % inner;
    i64 y = TO_I64(PRODUCT != 0 ? 1 : 0);
    for (int j = 0; j < n; j++) {
      int to = at + (REVERSE != 0 ? n - 1 - j : j) * inner;
      i64 before = y;
      if (PRODUCT != 0)
        y *= LDL(X, to);
      else
        y += LDL(X, to);
      if (EXCLUSIVE == 0) before = y;
      STL(Y, to, before);
    }
  }
}
#else
#include "cumulate.h"
#include "tenon/experimental/gpu.h"
#include "tenon/kit/axis.h"

const char *cumulate_gpu_refuse(const tn_call *call) {
  for (int32_t k = 0; k < call->inputs[0]->rank; k++)
    if (call->inputs[0]->shape[k] > TN_GPU_ROUNDS) return "has more than 65535 elements in a dim";
  return tn_gpu_refuse_size(call);
}

static tn_status record(const tn_call *call, tn_recorder *recorder, const cumulation *c) {
  const tn_axis_view v = tn_axis_view_of(call->inputs[0], c->axis);
  const int64_t n_rows = tn_axis_rows(v);
  const bool is_int = tn_dtype(call->inputs[0]->dtype)->is_int;
  tn_gpu g;
  tn_gpu_begin(&g, call, is_int ? GPU_cumulate_long : GPU_cumulate);
  tn_gpu_in(&g, 0);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, c->product);
  tn_gpu_const(&g, c->exclusive);
  tn_gpu_const(&g, c->reverse);
  tn_gpu_int(&g, n_rows);
  tn_gpu_int(&g, v.n);
  tn_gpu_int(&g, v.inner);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(n_rows, 64), 1, 1);
}

tn_status cum_sum_gpu_record(const tn_call *call, tn_recorder *recorder) {
  cumulation c;
  const tn_status status = cumulate_parse_sum(call, &c);
  return status ? status : record(call, recorder, &c);
}

tn_status cum_prod_gpu_record(const tn_call *call, tn_recorder *recorder) {
  cumulation c;
  const tn_status status = cumulate_parse_product(call, &c);
  return status ? status : record(call, recorder, &c);
}
#endif
