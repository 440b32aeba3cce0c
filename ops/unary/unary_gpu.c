/* Mathematical functions of one argument on GPUs, an element a thread. */
#ifdef TN_GPU
/* On |x| <= tan(pi / 8) a polynomial (least largest error, fitted to x + x^3 p(x^2)); what is
 * larger is turned by a quarter or an eighth. */
float atan1(float x) {
  float a = fabs(x), turned = 0.0f, t = a;
  if (a > 2.41421356f) {
    turned = 1.57079633f;
    t = -1.0f / a;
  } else if (a > 0.414213562f) {
    turned = 0.785398163f;
    t = (a - 1.0f) / (a + 1.0f);
  }
  float z = t * t;
  float p = ((0.0806038453f * z - 0.13879874f) * z + 0.199779283f) * z - 0.333329553f;
  float y = turned + (t + t * z * p);
  return x < 0.0f ? -y : KEEP_NAN(x, y);
}

float sinh1(float x) {
  float a = fabs(x), t = expm1(a), h = exp(0.5f * a);
  float y = a < 80.0f ? 0.5f * (t + t / (t + 1.0f)) : 0.5f * h * h;
  return x < 0.0f ? -y : KEEP_NAN(x, y);
}

float cosh1(float x) {
  float a = fabs(x), h = exp(0.5f * a);
  return a < 80.0f ? 0.5f * (h * h + 1.0f / (h * h)) : 0.5f * h * h;
}

float asinh1(float x) {
  float a = fabs(x), z = a * a;
  float y = a < 1e10f ? log1p(a + z / (1.0f + sqrt(z + 1.0f))) : log(a) + 0.693147181f;
  return x < 0.0f ? -y : KEEP_NAN(x, y);
}

float acosh1(float x) {
  float t = x - 1.0f;
  if (x < 1.0f) return BITS_TO_FLOAT(0x7fc00000);
  return x < 1e10f ? log1p(t + sqrt(2.0f * t + t * t)) : log(x) + 0.693147181f;
}

float atanh1(float x) {
  float a = fabs(x), y = 0.5f * log1p(2.0f * a / (1.0f - a));
  return x < 0.0f ? -y : KEEP_NAN(x, y);
}

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
    case 14: return atan1(x);
    case 15: return atan1(x / sqrt((1.0f - x) * (1.0f + x)));
    case 16: return 2.0f * atan1(sqrt((1.0f - x) / (1.0f + x)));
    case 17: return sinh1(x);
    case 18: return cosh1(x);
    case 19: return asinh1(x);
    case 20: return acosh1(x);
    case 21: return atanh1(x);
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

KERNEL(unary_int, (IN(X), OUT(Y)), (CONST(KIND), INT(n)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    i64 x = LDL(X, i), y = -x;
    if (KIND == 0) y = x < 0 ? -x : x;
    if (KIND == 2) y = TO_I64(x > 0 ? 1 : x < 0 ? -1 : 0);
    STL(Y, i, y);
  }
}

KERNEL(not_bool, (IN(X), OUT(Y)), (INT(n)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) STI(Y, i, LDI(X, i) == 0 ? 1 : 0);
}

KERNEL(is_no_number, (IN(X), OUT(Y)), (CONST(NANS), CONST(LEAST), CONST(MOST), INT(n)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    float x = LD1(X, i);
    bool y =
        (NANS != 0 && IS_NAN(x)) || (LEAST != 0 && x == -INFINITY) || (MOST != 0 && x == INFINITY);
    STI(Y, i, y ? 1 : 0);
  }
}
#else
#include "tenon/experimental/gpu.h"
#include "tenon/kit/dtype.h"
#include "unary.gen.h"

static tn_status record(const tn_call *call, tn_recorder *r, int32_t kind) {
  const int64_t n = tn_elements(call->outputs[0]);
  tn_gpu g;
  const bool is_int = tn_dtype(call->inputs[0]->dtype)->is_int;
  tn_gpu_begin(&g, call, kind < 0 ? GPU_not_bool : is_int ? GPU_unary_int : GPU_unary);
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
UNARY(atan, 14)
UNARY(asin, 15)
UNARY(acos, 16)
UNARY(sinh, 17)
UNARY(cosh, 18)
UNARY(asinh, 19)
UNARY(acosh, 20)
UNARY(atanh, 21)
UNARY(not, -1)

static tn_status record_no_number(const tn_call *call, tn_recorder *r, bool nans, bool least,
                                  bool most) {
  const int64_t n = tn_elements(call->outputs[0]);
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_is_no_number);
  tn_gpu_in(&g, 0);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, nans);
  tn_gpu_const(&g, least);
  tn_gpu_const(&g, most);
  tn_gpu_int(&g, n);
  return tn_gpu_run(&g, r, tn_gpu_groups(n, 64), 1, 1);
}

tn_status is_nan_gpu_record(const tn_call *call, tn_recorder *recorder) {
  return record_no_number(call, recorder, true, false, false);
}

tn_status is_inf_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_is_inf_attrs *a = call->attrs;
  return record_no_number(call, recorder, false, a->detect_negative != 0, a->detect_positive != 0);
}

const char *unary_gpu_refuse(const tn_call *call) { return tn_gpu_refuse_size(call); }
#endif
