/* DynamicQuantizeLinear on GPUs: the extremes of parts, of all, then an element a thread. */
#ifdef TN_GPU
float least_of(float a, float b) { return b < a ? b : a; }
float most_of(float a, float b) { return b > a ? b : a; }

/* C: least and largest of each part, 0 among them. */
KERNEL(dynamic_extremes, (IN(X), OUT(C)), (INT(n), INT(parts)), 64, 1, 1) {
  LOCAL(float, low, 64);
  LOCAL(float, high, 64);
  int t = LOCAL_ID(0), part = GROUP(0);
  float least = 0.0f, most = 0.0f;
  for (int i = part * 64 + t; i < n; i += 64 * parts) {
    float x = LD1(X, i);
    least = least_of(least, x);
    most = most_of(most, x);
  }
  low[t] = least;
  high[t] = most;
  BARRIER();
  if (t == 0) {
    for (int i = 1; i < 64; i++) {
      least = least_of(least, low[i]);
      most = most_of(most, high[i]);
    }
    ST1(C, 2 * part, least);
    ST1(C, 2 * part + 1, most);
  }
}

KERNEL(dynamic_scale, (IN(C), OUT(S), OUT(Z)), (INT(parts)), 64, 1, 1) {
  if (LOCAL_ID(0) == 0) {
    float least = 0.0f, most = 0.0f;
    for (int i = 0; i < parts; i++) {
      least = least_of(least, LD1(C, 2 * i));
      most = most_of(most, LD1(C, 2 * i + 1));
    }
    float scale = (most - least) / 255.0f;
    float zero = scale > 0.0f ? rint(least_of(most_of(-least / scale, 0.0f), 255.0f)) : 0.0f;
    ST1(S, 0, scale);
    STI(Z, 0, TO_INT(zero));
  }
}

KERNEL(dynamic_quantize, (IN(X), IN(S), IN(Z), OUT(Y)), (INT(n)), 64, 1, 1) {
  int i = GLOBAL(0);
  if (i < n) {
    float scale = LD1(S, 0), x = scale > 0.0f ? rint(LD1(X, i) / scale) : 0.0f;
    x += LD1(Z, 0);
    x = !(x > 0.0f) ? 0.0f : x > 255.0f ? 255.0f : x;
    STI(Y, i, TO_INT(x));
  }
}
#else
#include "quant.gen.h"
#include "tenon/experimental/gpu.h"

/* Parts of n elements: so many that no thread goes more than 2^15 rounds, see TN_GPU_ROUNDS. */
static int64_t parts_of(int64_t n) {
  enum { LEAST = 64, MOST = 1024, PART = 1 << 16 };
  return tn_max_i64(LEAST, tn_min_i64(MOST, n / PART));
}

const char *dynamic_quantize_linear_gpu_refuse(const tn_call *call) {
  const int64_t n = tn_elements(call->inputs[0]);
  if (n > INT32_MAX - 64 * parts_of(n)) return "takes up to 2^31 - 2^16 elements";
  return tn_gpu_refuse_size(call);
}

tn_status dynamic_quantize_linear_gpu_plan(const tn_call *call, tn_kernel_plan *out) {
  out->scratch_bytes = (uint64_t)parts_of(tn_elements(call->inputs[0])) * 2 * sizeof(float);
  return TN_OK;
}

static void add_output(tn_gpu *g, uint32_t index, uint32_t dtype) {
  tn_gpu_buffer(g, TN_BIND_OUTPUT, index, dtype, 0, 0);
}

tn_status dynamic_quantize_linear_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const int64_t n = tn_elements(call->inputs[0]), parts = parts_of(n);
  tn_gpu g;
  tn_gpu_begin(&g, call, GPU_dynamic_extremes);
  tn_gpu_in(&g, 0);
  tn_gpu_buffer(&g, TN_BIND_SCRATCH, 0, TN_F32, 0, 0);
  tn_gpu_int(&g, n);
  tn_gpu_int(&g, parts);
  tn_status status = tn_gpu_run(&g, recorder, (uint32_t)parts, 1, 1);
  if (status) return status;
  tn_gpu_begin(&g, call, GPU_dynamic_scale);
  tn_gpu_buffer(&g, TN_BIND_SCRATCH, 0, TN_F32, 0, 0);
  add_output(&g, 1, TN_F32);
  add_output(&g, 2, TN_U8);
  tn_gpu_int(&g, parts);
  status = tn_gpu_run(&g, recorder, 1, 1, 1);
  if (status) return status;
  tn_gpu_begin(&g, call, GPU_dynamic_quantize);
  tn_gpu_in(&g, 0);
  add_output(&g, 1, TN_F32);
  add_output(&g, 2, TN_U8);
  tn_gpu_out(&g, 0);
  tn_gpu_int(&g, n);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(n, 64), 1, 1);
}
#endif
