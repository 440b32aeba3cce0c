/* Quantisation on GPUs, an element a thread: one scale for all, or one per index of an axis. */
#ifdef TN_GPU
#define PLACE(i) (n == 1 ? 0 : (i) / inner % n)

/* Rounded to a half float, which has so many bits less (f16 13, bf16 16). What is too small or too
 * large for one is rounded to 0 or saturates next. */
float shorten(float x, int bits) {
  int u = FLOAT_TO_BITS(x);
  return BITS_TO_FLOAT((u + (1 << (bits - 1)) - 1 + (u >> bits & 1)) >> bits << bits);
}

KERNEL(dequantize, (IN(X), IN(SCALE), IN(ZERO), OUT(Y)),
       (CONST(HAS_ZERO), INT(count), INT(n), INT(inner)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < count) {
    int place = PLACE(i);
    i64 x = LDL(X, i); /* a difference of two i32 */
    if (HAS_ZERO != 0) x -= LDL(ZERO, place);
    float y = TO_FLOAT(x) * LD1(SCALE, place);
    ST1(Y, i, y);
  }
}

KERNEL(quantize, (IN(X), IN(SCALE), IN(ZERO), OUT(Y)),
       (CONST(HAS_ZERO), CONST(HALF), INT(count), INT(n), INT(inner), INT(lo), INT(hi)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < count) {
    int place = PLACE(i), zero = 0;
    if (HAS_ZERO != 0) zero = LDI(ZERO, place);
    float x = LD1(X, i) / LD1(SCALE, place), least = TO_FLOAT(lo - zero),
          most = TO_FLOAT(hi - zero);
    if (HALF > 0 && fabs(x) < INFINITY) x = shorten(x, HALF);
    x = rint(x);
    x = !(x > least) ? least : x > most ? most : x; /* NaN: the least */
    STI(Y, i, TO_INT(x) + zero);
  }
}
#else
#include "scales.h"
#include "tenon/experimental/gpu.h"

/* x and its quantised other side. */
static const char *refuse(const tn_call *call, int64_t axis, int64_t block) {
  scales s;
  if (scales_make(call, call->inputs[0], call->inputs[1], axis, block, &s))
    return "its scales do not fit";
  if (s.block) return "takes a scale for all, or one per index of an axis";
  return tn_gpu_refuse_size(call);
}

const char *dequantize_linear_gpu_refuse(const tn_call *call) {
  const tn_dequantize_linear_attrs *a = call->attrs;
  return refuse(call, a->axis, a->block_size);
}

/* Than f32, in the type to divide in; -1: it is another one. */
static int32_t bits_less(const tn_call *call) {
  const uint32_t type = scales_precision(call);
  return type == TN_F32 ? 0 : type == TN_F16 ? 13 : type == TN_BF16 ? 16 : -1;
}

const char *quantize_linear_gpu_refuse(const tn_call *call) {
  const tn_quantize_linear_attrs *a = call->attrs;
  if (bits_less(call) < 0) return "divides in f32, f16 or bf16";
  return refuse(call, a->axis, a->block_size);
}

static tn_status begin(tn_gpu *g, const tn_call *call, int32_t program, int64_t axis) {
  scales s;
  const tn_status status = scales_make(call, call->inputs[0], call->inputs[1], axis, 0, &s);
  if (status) return status;
  tn_gpu_begin(g, call, program);
  for (int32_t k = 0; k < 3; k++) tn_gpu_in(g, k);
  tn_gpu_out(g, 0);
  tn_gpu_const(g, tn_has_input(call, 2));
  tn_gpu_int(g, tn_elements(call->outputs[0]));
  tn_gpu_int(g, s.single ? 1 : s.n);
  tn_gpu_int(g, s.single ? 1 : s.inner);
  return TN_OK;
}

tn_status dequantize_linear_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_dequantize_linear_attrs *a = call->attrs;
  tn_gpu g;
  const tn_status status = begin(&g, call, GPU_dequantize, a->axis);
  if (status) return status;
  return tn_gpu_run(&g, recorder, tn_gpu_groups(tn_elements(call->outputs[0]), 64), 1, 1);
}

tn_status quantize_linear_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_quantize_linear_attrs *a = call->attrs;
  const bool is_signed = call->outputs[0]->dtype == TN_I8;
  tn_gpu g;
  const tn_status status = begin(&g, call, GPU_quantize, a->axis);
  if (status) return status;
  tn_gpu_const(&g, bits_less(call));
  tn_gpu_int(&g, is_signed ? INT8_MIN : 0);
  tn_gpu_int(&g, is_signed ? INT8_MAX : UINT8_MAX);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(tn_elements(call->outputs[0]), 64), 1, 1);
}
#endif
