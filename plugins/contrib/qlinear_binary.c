/* QLinearAdd and QLinearMul. */
#include "qlinear.h"

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, C_SCALE, C_ZERO };

tn_status q_linear_binary_infer(const tn_call *call) {
  static const uint32_t scalars[] = {A_SCALE, A_ZERO, B_SCALE, B_ZERO, C_SCALE, C_ZERO};
  const tn_tensor *pair[2] = {call->inputs[A], call->inputs[B]};
  tn_tensor out = {.rank = 0};
  tn_status s = check_scalars(call, scalars, 6);
  if (s) return s;
  if (tn_broadcast_shape(2, pair, &out))
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "A and B do not broadcast");
  tn_infer_shape(call, 0, pair[0]->dtype, out.rank, out.shape);
  return TN_OK;
}

static tn_status broadcast(const tn_call *call, tn_broadcast *b) {
  const tn_tensor *c = call->outputs[0];
  int64_t strides[2][TN_MAX_RANK];
  b->n = 2;
  b->rank = 0;
  b->total = elements(c);
  for (uint32_t k = 0; k < 2; k++) {
    tn_status s = tn_broadcast_strides(c, call->inputs[k ? B : A], strides[k]);
    if (s) return s;
  }
  for (int32_t k = 0; k < c->rank; k++)
    tn_broadcast_push(b, c->shape[k], (int64_t[]){strides[0][k], strides[1][k]});
  if (!b->rank) {
    b->rank = 1;
    b->size[0] = 1;
    b->stride[0][0] = b->stride[1][0] = 0;
  }
  return TN_OK;
}

static tn_status reference(const tn_call *call, bool product) {
  const quantised a = quantised_of(call, A_SCALE), b = quantised_of(call, B_SCALE),
                  c = quantised_of(call, C_SCALE);
  tn_tensor *y = call->outputs[0];
  tn_broadcast all;
  tn_status s = broadcast(call, &all);
  if (s) return s;
  tn_runs r = tn_runs_begin(&all, 0, all.total);
  while (tn_runs_next(&r)) {
    for (int64_t k = 0; k < r.length; k++) {
      const double x0 = dequantise(a, load(call->inputs[A], r.offset[0] + k * r.stride[0]));
      const double x1 = dequantise(b, load(call->inputs[B], r.offset[1] + k * r.stride[1]));
      ((uint8_t *)y->data)[r.index + k] = quantise(y->dtype, c, product ? x0 * x1 : x0 + x1);
    }
  }
  return TN_OK;
}

tn_status q_linear_add_reference(const tn_call *call) { return reference(call, false); }
tn_status q_linear_mul_reference(const tn_call *call) { return reference(call, true); }

tn_status q_linear_binary_plan(const tn_call *call, tn_kernel_plan *out) {
  const int64_t n = elements(call->outputs[0]);
  out->items[0] = n;
  out->grain[0] = 16384;
  out->elements_per_item = 1;
  if (elements(call->inputs[A]) == n) out->in_place[0] = A;
  out->cost_ns = 0.3 * (double)n + 200;
  return TN_OK;
}

/* c = round(a*fa + b*fb + shift), or round((a - za) * (b - zb) * fa + shift). */
typedef struct factors {
  float fa, fb, za, zb, shift;
} factors;

/* Adding 1.5 * 2^23 rounds to nearest even; what is too large for that saturates anyway. */
static inline int32_t rounded(float v, float lo, float hi) {
  const float magic = 12582912.0f;
  v = v < lo ? lo : v;
  v = v > hi ? hi : v;
  return (int32_t)(tn_bits_of_f32(v + magic) - tn_bits_of_f32(magic));
}

#define SUM(a, b) ((a)*f->fa + (b)*f->fb + f->shift)
#define PRODUCT(a, b) (((a)-f->za) * ((b)-f->zb) * f->fa + f->shift)

/* Three loops, so that each has steps that are known: both step, or one of the two stands still. */
#define RUN(name, T, lo, hi, F)                                                                  \
  static void name##_##T(const factors *f, int64_t n, T *y, const T *a, int64_t step_a,          \
                         const T *b, int64_t step_b) {                                           \
    if (step_a && step_b) {                                                                      \
      TN_IVDEP for (int64_t k = 0; k < n; k++) y[k] =                                            \
          (T)rounded(F((float)a[k], (float)b[k]), lo, hi);                                       \
    } else if (step_a) {                                                                         \
      const float still = (float)b[0];                                                           \
      TN_IVDEP for (int64_t k = 0; k < n; k++) y[k] = (T)rounded(F((float)a[k], still), lo, hi); \
    } else {                                                                                     \
      const float still = (float)a[0];                                                           \
      TN_IVDEP for (int64_t k = 0; k < n; k++) y[k] =                                            \
          (T)rounded(F(still, (float)b[k * step_b]), lo, hi);                                    \
    }                                                                                            \
  }
RUN(add, uint8_t, 0.0f, 255.0f, SUM)
RUN(add, int8_t, -128.0f, 127.0f, SUM)
RUN(mul, uint8_t, 0.0f, 255.0f, PRODUCT)
RUN(mul, int8_t, -128.0f, 127.0f, PRODUCT)

static factors factors_of(const tn_call *call, bool product) {
  const quantised a = quantised_of(call, A_SCALE), b = quantised_of(call, B_SCALE),
                  c = quantised_of(call, C_SCALE);
  if (product)
    return (factors){(float)(a.scale * b.scale / c.scale), 0, (float)a.zero, (float)b.zero,
                     (float)c.zero};
  const double fa = a.scale / c.scale, fb = b.scale / c.scale;
  return (factors){(float)fa, (float)fb, 0, 0, (float)(c.zero - a.zero * fa - b.zero * fb)};
}

static tn_status run(const tn_call *call, bool product, int64_t begin, int64_t end) {
  const factors f = factors_of(call, product);
  tn_broadcast all;
  tn_status s = broadcast(call, &all);
  if (s) return s;
  tn_runs r = tn_runs_begin(&all, begin, end);
  while (tn_runs_next(&r)) {
    if (call->outputs[0]->dtype == TN_I8) {
      const int8_t *a = (const int8_t *)call->inputs[A]->data + r.offset[0],
                   *b = (const int8_t *)call->inputs[B]->data + r.offset[1];
      (product ? mul_int8_t : add_int8_t)(&f, r.length, (int8_t *)call->outputs[0]->data + r.index,
                                          a, r.stride[0], b, r.stride[1]);
    } else {
      const uint8_t *a = (const uint8_t *)call->inputs[A]->data + r.offset[0],
                    *b = (const uint8_t *)call->inputs[B]->data + r.offset[1];
      (product ? mul_uint8_t : add_uint8_t)(&f, r.length,
                                            (uint8_t *)call->outputs[0]->data + r.index, a,
                                            r.stride[0], b, r.stride[1]);
    }
  }
  return TN_OK;
}

tn_status q_linear_add_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                         uint32_t worker) {
  (void)stage, (void)worker;
  return run(call, false, begin, end);
}

tn_status q_linear_mul_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                         uint32_t worker) {
  (void)stage, (void)worker;
  return run(call, true, begin, end);
}
