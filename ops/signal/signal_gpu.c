/* DFT and STFT on GPUs by their definition, a value of a spectrum a thread. State: the roots of
 * unity, in pairs. */
#ifdef TN_GPU
/* Line l of the signal begins at number l / split * outer + l % split * step, and its numbers are
 * `apart`; those of a spectrum are `inner` apart. HALF: the second half of the signal is the first
 * one backwards, conjugate. */
KERNEL(fourier, (IN(X), IN(W), IN(R), OUT(Y)),
       (CONST(HAS_W), CONST(IN_PARTS), CONST(OUT_PARTS), CONST(INVERSE), CONST(HALF), INT(count),
        INT(n_out), INT(inner), INT(split), INT(outer), INT(step), INT(apart), INT(n_in), INT(n),
        FLOAT(scale)),
       64, 1, 1) {
  int i = GLOBAL(0);
  if (i < count) {
    int k = i / inner % n_out, l = i / (n_out * inner) * inner + i % inner;
    int base = l / split * outer + l % split * step, turn = 0;
    float re = 0.0f, im = 0.0f;
    for (int j = 0; j < n; j++) {
      int back = HALF != 0 && j > n / 2 ? 1 : 0, from = back != 0 ? n - j : j;
      if (from < n_in) {
        int at = (base + from * apart) * IN_PARTS;
        float c = LD1(R, 2 * turn), s = LD1(R, 2 * turn + 1);
        float x = LD1(X, at), y = 0.0f;
        if (IN_PARTS == 2) y = LD1(X, at + 1);
        if (HAS_W != 0) {
          float w = LD1(W, j);
          x *= w;
          y *= w;
        }
        if (HALF != 0 && (j == 0 || 2 * j == n)) y = 0.0f;
        if (back != 0) y = -y;
        if (INVERSE != 0) s = -s;
        re += x * c - y * s;
        im += x * s + y * c;
      }
      turn += k;
      turn = turn >= n ? turn - n : turn;
    }
    re *= scale;
    im *= scale;
    ST1(Y, i * OUT_PARTS, re);
    if (OUT_PARTS == 2) {
      ST1(Y, i * OUT_PARTS + 1, im);
    }
  }
}
#else
#include <math.h>

#include "dft.h"
#include "tenon/experimental/gpu.h"

enum { MOST = 8192 }; /* numbers of a transform that has no steps in between */

/* What both operators are to the program. */
typedef struct transforms {
  int64_t lines, n_out, inner, split, outer, step, apart, n_in, n;
  int32_t in_parts, out_parts;
  bool has_window, inverse, half;
} transforms;

static tn_status of_dft(const tn_call *call, transforms *out) {
  dft_shape d;
  const tn_status status = dft_shape_of(call, &d);
  if (status) return status;
  *out = (transforms){.lines = d.outer * d.inner,
                      .n_out = d.n_out,
                      .inner = d.inner,
                      .split = d.inner,
                      .outer = d.n_in * d.inner,
                      .step = 1,
                      .apart = d.inner,
                      .n_in = d.n_in,
                      .n = d.length,
                      .in_parts = d.in_parts,
                      .out_parts = d.out_parts,
                      .inverse = d.inverse,
                      .half = d.inverse && d.half};
  return TN_OK;
}

static tn_status of_stft(const tn_call *call, transforms *out) {
  stft_shape f;
  const tn_status status = stft_shape_of(call, &f);
  if (status) return status;
  *out = (transforms){.lines = f.batch * f.frames,
                      .n_out = f.n_out,
                      .inner = 1,
                      .split = f.frames,
                      .outer = f.signal,
                      .step = f.step,
                      .apart = 1,
                      .n_in = f.length,
                      .n = f.length,
                      .in_parts = f.parts,
                      .out_parts = 2,
                      .has_window = tn_has_input(call, 2)};
  return TN_OK;
}

typedef tn_status (*transforms_fn)(const tn_call *call, transforms *out);

static const char *refuse(const tn_call *call, transforms_fn of) {
  transforms t;
  if (of(call, &t)) return "its lengths are not constant, or do not fit";
  if (t.n > MOST) return "transforms up to 8192 numbers";
  return tn_gpu_refuse_size(call);
}

static tn_status plan(const tn_call *call, transforms_fn of, tn_kernel_plan *out) {
  transforms t;
  const tn_status status = of(call, &t);
  if (status) return status;
  out->state_bytes = (uint64_t)t.n * 2 * sizeof(float);
  out->state_key = (uint64_t)t.n;
  return TN_OK;
}

static tn_status prepare(const tn_call *call) {
  const int64_t n = (int64_t)(call->state_bytes / (2 * sizeof(float)));
  float *roots = call->state;
  for (int64_t k = 0; k < n; k++) {
    const double angle = -2 * acos(-1.0) * (double)k / (double)n;
    roots[2 * k] = (float)cos(angle);
    roots[2 * k + 1] = (float)sin(angle);
  }
  return TN_OK;
}

static tn_status record(const tn_call *call, transforms_fn of, tn_recorder *recorder) {
  transforms t;
  tn_gpu g;
  const tn_status status = of(call, &t);
  if (status) return status;
  const int64_t count = t.lines * t.n_out;
  tn_gpu_begin(&g, call, GPU_fourier);
  tn_gpu_in(&g, 0);
  tn_gpu_in(&g, t.has_window ? 2 : TN_NO_ID);
  tn_gpu_buffer(&g, TN_BIND_STATE, 0, TN_F32, 0, 0);
  tn_gpu_out(&g, 0);
  tn_gpu_const(&g, t.has_window);
  tn_gpu_const(&g, t.in_parts);
  tn_gpu_const(&g, t.out_parts);
  tn_gpu_const(&g, t.inverse);
  tn_gpu_const(&g, t.half);
  const int64_t ints[] = {count, t.n_out, t.inner, t.split, t.outer, t.step, t.apart, t.n_in, t.n};
  for (size_t k = 0; k < sizeof ints / sizeof *ints; k++) tn_gpu_int(&g, ints[k]);
  tn_gpu_float(&g, t.inverse ? 1.0 / (double)t.n : 1.0);
  return tn_gpu_run(&g, recorder, tn_gpu_groups(count, 64), 1, 1);
}

#define TRANSFORM(op)                                                                \
  const char *op##_gpu_refuse(const tn_call *call) { return refuse(call, of_##op); } \
  tn_status op##_gpu_plan(const tn_call *call, tn_kernel_plan *out) {                \
    return plan(call, of_##op, out);                                                 \
  }                                                                                  \
  tn_status op##_gpu_prepare(const tn_call *call) { return prepare(call); }          \
  tn_status op##_gpu_record(const tn_call *call, tn_recorder *recorder) {            \
    return record(call, of_##op, recorder);                                          \
  }
TRANSFORM(dft)
TRANSFORM(stft)

/* Pairs and complex numbers are the same bytes. */
tn_status complex_gpu_record(const tn_call *call, tn_recorder *recorder) {
  const tn_binding x = {TN_HEAD(tn_binding), TN_BIND_INPUT, 0, 0, 0},
                   y = {TN_HEAD(tn_binding), TN_BIND_OUTPUT, 0, 0, 0};
  return tn_elements(call->inputs[0]) ? recorder->copy(recorder->ctx, &x, &y) : TN_OK;
}
#endif
