/* Mathematical functions of one argument on GPUs, an element a thread. */
#ifdef TN_GPU
float unary1(int kind, float x) {
  switch (kind) {
    case 0: return fabs(x);
    case 1: return -x;
    case 2: return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x;
    case 3: return ceil(x);
    case 4: return floor(x);
    case 5: return rint(x);
    case 6: return sqrt(x);
    case 7: return 1.0f / x;
    case 8: return exp(x);
    case 9: return tanh(x);
    case 10: return log(x);
    case 11: return ERF(x);
    case 12: return sin(x);
    case 13: return cos(x);
  }
  return x;
}

KERNEL(unary, (IN(X), OUT(Y)), (CONST(KIND), INT(n)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    float y = unary1(KIND, LD1(X, i));
    ST1(Y, i, y);
  }
}

KERNEL(not_bool, (IN(X), OUT(Y)), (INT(n)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) STI(Y, i, LDI(X, i) == 0 ? 1 : 0);
}
#else
#include "tenon/experimental/gpu.h"
#include "unary.gen.h"

static tn_status record(const tn_call *call, tn_recorder *r, int32_t kind) {
  const int64_t n = tn_elements(call->outputs[0]);
  tn_gpu g;
  tn_gpu_begin(&g, call, kind < 0 ? GPU_not_bool : GPU_unary);
  tn_gpu_in(&g, 0);
  tn_gpu_out(&g, 0);
  if (kind >= 0) tn_gpu_const(&g, kind);
  tn_gpu_int(&g, n);
  return tn_gpu_run(&g, r, tn_gpu_groups(n, 64), 1, 1);
}

#define UNARY(op, kind)                                                   \
  tn_status op##_gpu_record(const tn_call *call, tn_recorder *recorder) { \
    return record(call, recorder, kind);                                  \
  }
UNARY(abs, 0)
UNARY(neg, 1)
UNARY(sign, 2)
UNARY(ceil, 3)
UNARY(floor, 4)
UNARY(round, 5)
UNARY(sqrt, 6)
UNARY(reciprocal, 7)
UNARY(exp, 8)
UNARY(tanh, 9)
UNARY(log, 10)
UNARY(erf, 11)
UNARY(sin, 12)
UNARY(cos, 13)
UNARY(not, -1)

const char *unary_gpu_refuse(const tn_call *call) { return tn_gpu_refuse_size(call); }
#endif
