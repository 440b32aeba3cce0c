/* Activations on GPUs, an element a thread. */
#ifdef TN_GPU
float softplus1(float x) { return x > 20.0f ? x : log1p(exp(x)); }

float activation1(int kind, float x, float a, float b) {
  switch (kind) {
    case 0: return relu1(x);
    case 1: return x < 0.0f ? a * x : x;
    case 2: return x < 0.0f ? a * expm1(x) : x;
    case 3: return x < 0.0f ? b * a * expm1(x) : b * x;
    case 4: return x < 0.0f ? a * expm1(x / a) : x;
    case 5: return sigmoid1(x);
    case 6: return clamp1(a * x + b, 0.0f, 1.0f);
    case 7: return hard_swish1(x);
    case 8: return softplus1(x);
    case 9: return x / (1.0f + fabs(x));
    case 10: return x < -20.0f ? swish1(x, 1.0f) : x * tanh(softplus1(x));
    case 11: return x > a ? x : 0.0f;
    case 12: return x < -b ? x + a : x > b ? x - a : 0.0f;
    case 13: return swish1(x, a);
    case 14: return gelu1(x);
    case 15: return gelu_tanh1(x);
  }
  return x;
}

KERNEL(activation, (IN(X), OUT(Y)), (CONST(KIND), INT(n), FLOAT(a), FLOAT(b)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    float y = activation1(KIND, LD1(X, i), a, b);
    ST1(Y, i, y);
  }
}

KERNEL(clip, (IN(X), IN(LO), IN(HI), OUT(Y)), (CONST(HAS_LO), CONST(HAS_HI), INT(n)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    float y = LD1(X, i);
    if (HAS_LO != 0) {
      float lo = LD1(LO, 0);
      y = KEEP_NAN(y, y < lo ? lo : y);
    }
    if (HAS_HI != 0) {
      float hi = LD1(HI, 0);
      y = KEEP_NAN(y, y > hi ? hi : y);
    }
    ST1(Y, i, y);
  }
}

KERNEL(clip_int, (IN(X), IN(LO), IN(HI), OUT(Y)), (CONST(HAS_LO), CONST(HAS_HI), INT(n)), 64, 1,
       1) {
  int i = GLOBAL(0);
  if (i < n) {
    i64 y = LDL(X, i);
    if (HAS_LO != 0) {
      i64 lo = LDL(LO, 0);
      y = y < lo ? lo : y;
    }
    if (HAS_HI != 0) {
      i64 hi = LDL(HI, 0);
      y = y > hi ? hi : y;
    }
    STL(Y, i, y);
  }
}
#else
#include "activation.gen.h"
#include "tenon/experimental/gpu.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/text.h"

static tn_status record(const tn_call *call, tn_recorder *r, int32_t kind, double a, double b) {
  const int64_t n = tn_elements(call->outputs[0]);
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_activation);
  tn_gpu_in(&g, 0);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, kind);
  tn_gpu_int(&g, n);
  tn_gpu_float(&g, a);
  tn_gpu_float(&g, b);
  return tn_gpu_run(&g, r, tn_gpu_groups(n, 64), 1, 1);
}

const char *activation_gpu_refuse(const tn_call *call) { return tn_gpu_refuse_size(call); }

#define ACTIVATION(op, kind, a, b)                                        \
  tn_status op##_gpu_record(const tn_call *call, tn_recorder *recorder) { \
    return record(call, recorder, kind, a, b);                            \
  }
#define OF(op, member) ((const tn_##op##_attrs *)call->attrs)->member
ACTIVATION(relu, 0, 0, 0)
ACTIVATION(leaky_relu, 1, OF(leaky_relu, alpha), 0)
ACTIVATION(elu, 2, OF(elu, alpha), 0)
ACTIVATION(selu, 3, OF(selu, alpha), OF(selu, gamma))
ACTIVATION(celu, 4, OF(celu, alpha), 0)
ACTIVATION(sigmoid, 5, 0, 0)
ACTIVATION(hard_sigmoid, 6, OF(hard_sigmoid, alpha), OF(hard_sigmoid, beta))
ACTIVATION(hard_swish, 7, 0, 0)
ACTIVATION(softplus, 8, 0, 0)
ACTIVATION(softsign, 9, 0, 0)
ACTIVATION(mish, 10, 0, 0)
ACTIVATION(thresholded_relu, 11, OF(thresholded_relu, alpha), 0)
ACTIVATION(shrink, 12, OF(shrink, bias), OF(shrink, lambd))
ACTIVATION(swish, 13, OF(swish, alpha), 0)
ACTIVATION(gelu, tn_str_is(OF(gelu, approximate), "tanh") ? 15 : 14, 0, 0)

tn_status clip_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const int64_t n = tn_elements(call->outputs[0]);
  tn_gpu g;
  tn_gpu_begin(&g, call, tn_dtype(call->inputs[0]->dtype)->is_int ? GPU_clip_int : GPU_clip);
  tn_gpu_in(&g, 0);
  tn_gpu_in(&g, 1);
  tn_gpu_in(&g, 2);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, tn_has_input(call, 1));
  tn_gpu_const(&g, tn_has_input(call, 2));
  tn_gpu_int(&g, n);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(n, 64), 1, 1);
}
#endif
