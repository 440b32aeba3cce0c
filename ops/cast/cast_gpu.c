/* Casts between numbers on GPUs, an element a thread. */
#ifdef TN_GPU
/* The integer part modulo 2^64, of NaN and infinities 0: as cast_number.h. */
i64 integer_part(float x) {
  if (fabs(x) < 9223372036854775808.0f) return TO_I64(x);
  x = fmod(x, 18446744073709551616.0f); /* NaN of what is not finite */
  if (x >= 9223372036854775808.0f) x -= 18446744073709551616.0f;
  if (x < -9223372036854775808.0f) x += 18446744073709551616.0f;
  return IS_NAN(x) ? 0 : TO_I64(x);
}

KERNEL(cast_float, (IN(X), OUT(Y)), (INT(n)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    float x = LD1(X, i);
    ST1(Y, i, x);
  }
}

KERNEL(cast_to_int, (IN(X), OUT(Y)), (CONST(TO_BOOL), INT(n)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    float x = LD1(X, i);
    i64 y = 0;
    if (TO_BOOL != 0)
      y = x != 0.0f ? 1 : 0;
    else
      y = integer_part(x);
    STL(Y, i, y);
  }
}

KERNEL(cast_int, (IN(X), OUT(Y)), (CONST(TO_BOOL), INT(n)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    i64 x = LDL(X, i);
    if (TO_BOOL != 0) x = x != 0 ? 1 : 0;
    STL(Y, i, x);
  }
}
#else
#include "cast.gen.h"
#include "tenon/experimental/gpu.h"
#include "tenon/kit/dtype.h"

const char *cast_gpu_refuse(const tn_call *call) { return tn_gpu_refuse_size(call); }

tn_status cast_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const bool to_float = tn_dtype(y->dtype)->is_float, from_float = tn_dtype(x->dtype)->is_float;
  const int64_t n = tn_elements(y);
  tn_gpu g;
  tn_gpu_begin(&g, call, to_float ? GPU_cast_float : from_float ? GPU_cast_to_int : GPU_cast_int);
  tn_gpu_in(&g, 0);
  tn_gpu_out(&g, 0);
  if (!to_float) tn_gpu_const(&g, y->dtype == TN_BOOL);
  tn_gpu_int(&g, n);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(n, 64), 1, 1);
}
#endif
