/* ArgMax and ArgMin on GPUs: a result a thread, or a group of threads where there are few results
 * of many elements. NaN is beyond all numbers. */
#ifdef TN_GPU
/* Is x beyond the best so far; of equal ones the later, if LAST. */
#define BEYOND(x, best)         \
  (IS_NAN(best)                 \
       ? LAST != 0 && IS_NAN(x) \
       : IS_NAN(x) || (LEAST != 0 ? (x) < (best) : (x) > (best)) || (LAST != 0 && (x) == (best)))

KERNEL(arg, (IN(X), OUT(Y)), (CONST(LEAST), CONST(LAST), INT(rows), INT(n), INT(inner)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < rows) {
    int base = i / inner * inner * n + i % inner, at = 0;
    float best = LD1(X, base);
    for (int j = 1; j < n; j++) {
      float x = LD1(X, base + j * inner);
      if (BEYOND(x, best)) {
        best = x;
        at = j;
      }
    }
    STI(Y, i, at);
  }
}

/* Each thread looks at elements that lie side by side, so that those of later ones are later. */
KERNEL(arg_row, (IN(X), OUT(Y)), (CONST(LEAST), CONST(LAST), INT(rows), INT(n), INT(inner)), 64, 1,
       1) {
  LOCAL(float, bests, 64);
  LOCAL(int, places, 64);
  int i = GROUP(0), t = LOCAL_ID(0), base = i / inner * inner * n + i % inner;
  int per = (n + 63) / 64, end = (t + 1) * per < n ? (t + 1) * per : n, at = t * per;
  float best = at < n ? LD1(X, base + at * inner) : 0.0f;
  for (int j = at + 1; j < end; j++) {
    float x = LD1(X, base + j * inner);
    if (BEYOND(x, best)) {
      best = x;
      at = j;
    }
  }
  bests[t] = best;
  places[t] = at;
  BARRIER();
  if (t == 0) {
    for (int k = 1; k < 64 && k * per < n; k++) {
      float x = bests[k];
      if (BEYOND(x, best)) {
        best = x;
        at = places[k];
      }
    }
    STI(Y, i, at);
  }
}
#else
#include "reduce.gen.h"
#include "tenon/experimental/gpu.h"
#include "tenon/kit/axis.h"

enum { FEW = 1024, LONG = 256 };

/* The attributes of ArgMin are those of ArgMax. */
static tn_axis_view view_of(const tn_call *call) {
  return tn_axis_view_of(call->inputs[0], ((const tn_arg_max_attrs *)call->attrs)->axis);
}

static bool is_in_groups(tn_axis_view v) { return tn_axis_rows(v) < FEW && v.n >= LONG; }

const char *arg_gpu_refuse(const tn_call *call) {
  const tn_axis_view v = view_of(call);
  const char *reason = tn_gpu_refuse_size(call);
  return reason ? reason
                : tn_gpu_refuse_rounds(call, is_in_groups(v) ? tn_ceil_div(v.n, 64) + 64 : v.n);
}

static tn_status record(const tn_call *call, tn_recorder *recorder, bool least) {
  const tn_arg_max_attrs *a = call->attrs;
  const tn_axis_view v = view_of(call);
  const int64_t rows = tn_axis_rows(v);
  const bool in_groups = is_in_groups(v);
  tn_gpu g;
  tn_gpu_begin(&g, call, in_groups ? GPU_arg_row : GPU_arg);
  tn_gpu_in(&g, 0);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, least);
  tn_gpu_const(&g, a->select_last_index != 0);
  tn_gpu_int(&g, rows);
  tn_gpu_int(&g, v.n);
  tn_gpu_int(&g, v.inner);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(rows, in_groups ? 1 : 64), 1, 1);
}

tn_status arg_max_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record(call, recorder, false);
}
tn_status arg_min_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record(call, recorder, true);
}
#endif
