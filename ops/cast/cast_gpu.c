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
/* Integers of up to 32 bits, or of 64 seen as two words, to such of up to 32: OpenGL ES has no
 * others. */
KERNEL(cast_words, (IN(X), OUT(Y)), (CONST(WORDS), CONST(TO_BOOL), INT(n)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    int x = LDI(X, WORDS * i);
    if (TO_BOOL != 0) {
      if (WORDS == 2) x = x | LDI(X, WORDS * i + 1);
      x = x != 0 ? 1 : 0;
    }
    STI(Y, i, x);
  }
}
#else
#include "cast.gen.h"
#include "tenon/experimental/gpu.h"
#include "tenon/kit/dtype.h"

const char *cast_gpu_refuse(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  if (x->dtype == TN_I64 && tn_elements(x) > INT32_MAX / 2)
    return "takes up to 2^30 integers of 64 bits";
  return tn_gpu_refuse_size(call);
}

/* Of integers: the words of an element, as they lie there. */
static void add_words(tn_gpu *g, const tn_tensor *x) {
  const bool is_long = x->dtype == TN_I64;
  if (is_long)
    tn_gpu_buffer(g, TN_BIND_INPUT, 0, TN_I32, 0, 0);
  else
    tn_gpu_in(g, 0);
  tn_gpu_out(g, 0);
  tn_gpu_const(g, is_long ? 2 : 1);
}

tn_status cast_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const bool to_float = tn_dtype(y->dtype)->is_float, from_float = tn_dtype(x->dtype)->is_float;
  const bool in_words = !to_float && !from_float && y->dtype != TN_I64;
  const int64_t n = tn_elements(y);
  tn_gpu g;
  tn_gpu_begin(&g, call,
               to_float     ? GPU_cast_float
               : from_float ? GPU_cast_to_int
               : in_words   ? GPU_cast_words
                            : GPU_cast_int);
  if (in_words) {
    add_words(&g, x);
  } else {
    tn_gpu_in(&g, 0);
    tn_gpu_out(&g, 0);
  }
  if (!to_float) tn_gpu_const(&g, y->dtype == TN_BOOL);
  tn_gpu_int(&g, n);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(n, 64), 1, 1);
}
#endif
