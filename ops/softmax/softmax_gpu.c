/* Softmax, LogSoftmax and Hardmax on GPUs, a row a group. */
#ifdef TN_GPU
KERNEL(softmax, (IN(X), OUT(Y)), (CONST(LOG), INT(n), INT(inner)), 64, 1, 1) {
  LOCAL(float, part, 64);
  int t = LOCAL_ID(0), row = GROUP(0), at = row / inner * inner * n + row % inner;
  float top = -INFINITY, sum = 0.0f;
  for (int i = t; i < n; i += 64) {
    float x = LD1(X, at + i * inner);
    top = x > top || IS_NAN(x) ? x : top;
  }
  part[t] = top;
  BARRIER();
  for (int i = 0; i < 64; i++) top = part[i] > top || IS_NAN(part[i]) ? part[i] : top;
  BARRIER();
  for (int i = t; i < n; i += 64) sum += exp(LD1(X, at + i * inner) - top);
  part[t] = sum;
  BARRIER();
  sum = 0.0f;
  for (int i = 0; i < 64; i++) sum += part[i];
  float scale = LOG != 0 ? top + log(sum) : 1.0f / sum;
  for (int i = t; i < n; i += 64) {
    float x = LD1(X, at + i * inner);
    float y = LOG != 0 ? x - scale : exp(x - top) * scale;
    ST1(Y, at + i * inner, y);
  }
}

/* 1 at the first of the largest, which NaN is not. */
KERNEL(hardmax, (IN(X), OUT(Y)), (INT(n), INT(inner)), 64, 1, 1) {
  LOCAL(float, part, 64);
  LOCAL(int, places, 64);
  int t = LOCAL_ID(0), row = GROUP(0), at = row / inner * inner * n + row % inner, where = 0;
  float top = -INFINITY;
  for (int i = t; i < n; i += 64) {
    float x = LD1(X, at + i * inner);
    where = x > top ? i : where;
    top = x > top ? x : top;
  }
  part[t] = top;
  places[t] = where;
  BARRIER();
  top = -INFINITY;
  where = 0;
  for (int i = 0; i < 64; i++) {
    if (part[i] > top || (part[i] == top && part[i] > -INFINITY && places[i] < where))
      where = places[i];
    top = part[i] > top ? part[i] : top;
  }
  for (int i = t; i < n; i += 64) {
    ST1(Y, at + i * inner, i == where ? 1.0f : 0.0f);
  }
}
#else
#include "softmax_shape.h"
#include "tenon/experimental/gpu.h"

const char *softmax_gpu_refuse(const tn_call *call) {
  const char *reason = tn_gpu_refuse_size(call);
  return reason ? reason
                : tn_gpu_refuse_rounds(call, 3 * tn_ceil_div(softmax_view(call).n, 64) + 2 * 64);
}

static tn_status record(const tn_call *call, tn_recorder *r, bool is_log) {
  const tn_axis_view v = softmax_view(call);
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_softmax);
  tn_gpu_in(&g, 0);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, is_log);
  tn_gpu_int(&g, v.n);
  tn_gpu_int(&g, v.inner);
  return tn_gpu_run(&g, r, tn_gpu_groups(tn_axis_rows(v), 1), 1, 1);
}

tn_status hardmax_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_axis_view v = softmax_view(call);
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_hardmax);
  tn_gpu_in(&g, 0);
  tn_gpu_out(&g, 0);
  tn_gpu_int(&g, v.n);
  tn_gpu_int(&g, v.inner);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(tn_axis_rows(v), 1), 1, 1);
}
tn_status softmax_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record(call, recorder, false);
}
tn_status log_softmax_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record(call, recorder, true);
}
#endif
