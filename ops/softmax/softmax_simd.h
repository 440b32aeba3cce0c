/* Softmax and LogSoftmax in f32 for AVX-512 and AVX2: the whole of softmax_avx512.c and
 * softmax_avx2.c. A row that lies in one piece is worked on vector by vector; where columns are
 * normalised, a vector holds neighbouring columns. */
#ifndef TN_OPS_SOFTMAX_SIMD_H
#define TN_OPS_SOFTMAX_SIMD_H

#include "base/checked.h"
#include "base/simd_math.h"
#include "softmax_shape.h"

/* Items: rows, or vectors of columns. */
static int64_t blocks_of(const tn_axis_view *s) { return tn_ceil_div(s->inner, TN_VF_LANES); }

tn_status TN_SIMD_NAME(softmax_plan)(const tn_call *call, tn_kernel_plan *out) {
  const tn_axis_view s = softmax_view(call);
  out->items[0] = s.n ? s.outer * blocks_of(&s) : 0;
  out->grain[0] = tn_grain(8000, (double)s.n * (double)tn_min_i64(s.inner, TN_VF_LANES));
  out->in_place[0] = 0;
  out->elements_per_item = s.inner == 1 ? s.n : 0;
  out->cost_ns = (double)(s.outer * s.n * s.inner) / 4 + 100;
  return TN_OK;
}

/* How the next vector of a row is read: all of it, or what is left. */
static tn_vf_mask left(int64_t n) { return tn_vf_mask_first(n < TN_VF_LANES ? n : TN_VF_LANES); }

static float row_top(const float *x, int64_t n) {
  const tn_vf least = tn_vf_set1(-INFINITY);
  tn_vf a = least, b = least;
  int64_t j = 0;
  for (; j + 2 * TN_VF_LANES <= n; j += 2 * TN_VF_LANES) {
    a = tn_vf_max(tn_vf_load(x + j), a);
    b = tn_vf_max(tn_vf_load(x + j + TN_VF_LANES), b);
  }
  a = tn_vf_max(b, a);
  float top = n > 0 ? x[n - 1] : 0;
  for (; j + TN_VF_LANES <= n; j += TN_VF_LANES) a = tn_vf_max(tn_vf_load(x + j), a);
  for (; j < n; j++) top = x[j] > top ? x[j] : top;
  const float most = tn_vf_top(a);
  return most > top ? most : top;
}

/* Sum of e^(x - top); written to y unless that is NULL. */
static float row_exp(const float *x, float *y, int64_t n, float top) {
  const tn_vf shift = tn_vf_set1(top);
  tn_vf sum = tn_vf_set1(0);
  int64_t j = 0;
  for (; j + TN_VF_LANES <= n; j += TN_VF_LANES) {
    const tn_vf e = tn_vf_exp_weight(tn_vf_sub(tn_vf_load(x + j), shift));
    if (y) tn_vf_store(y + j, e);
    sum = tn_vf_add(sum, e);
  }
  float rest = 0, tail[TN_VF_LANES];
  if (j < n) {
    const tn_vf_mask m = left(n - j);
    const tn_vf e = tn_vf_exp_weight(tn_vf_sub(tn_vf_load_mask(m, x + j), shift));
    if (y) tn_vf_store_mask(y + j, m, e);
    tn_vf_store(tail, e);
    for (int64_t k = 0; k < n - j; k++) rest += tail[k];
  }
  return tn_vf_sum(sum) + rest;
}

static void softmax_row(const float *x, float *y, int64_t n) {
  const tn_vf scale = tn_vf_set1(1 / row_exp(x, y, n, row_top(x, n)));
  int64_t j = 0;
  for (; j + TN_VF_LANES <= n; j += TN_VF_LANES)
    tn_vf_store(y + j, tn_vf_mul(tn_vf_load(y + j), scale));
  if (j == n) return;
  const tn_vf_mask m = left(n - j);
  tn_vf_store_mask(y + j, m, tn_vf_mul(tn_vf_load_mask(m, y + j), scale));
}

static void log_softmax_row(const float *x, float *y, int64_t n) {
  const float top = row_top(x, n), shift = tn_log_f32(row_exp(x, NULL, n, top));
  TN_IVDEP for (int64_t j = 0; j < n; j++) y[j] = x[j] - top - shift;
}

static tn_vf columns_top(const float *x, int64_t n, int64_t step, tn_vf_mask m) {
  tn_vf top = tn_vf_load_mask(m, x);
  for (int64_t j = 1; j < n; j++) top = tn_vf_max(tn_vf_load_mask(m, x + j * step), top);
  return top;
}

static void softmax_columns(const float *x, float *y, int64_t n, int64_t step, tn_vf_mask m) {
  const tn_vf top = columns_top(x, n, step, m);
  tn_vf sum = tn_vf_set1(0);
  for (int64_t j = 0; j < n; j++) {
    const tn_vf e = tn_vf_exp_weight(tn_vf_sub(tn_vf_load_mask(m, x + j * step), top));
    tn_vf_store_mask(y + j * step, m, e);
    sum = tn_vf_add(sum, e);
  }
  const tn_vf scale = tn_vf_div(tn_vf_set1(1), sum);
  for (int64_t j = 0; j < n; j++)
    tn_vf_store_mask(y + j * step, m, tn_vf_mul(tn_vf_load_mask(m, y + j * step), scale));
}

static void log_softmax_columns(const float *x, float *y, int64_t n, int64_t step, tn_vf_mask m) {
  const tn_vf top = columns_top(x, n, step, m);
  tn_vf sum = tn_vf_set1(0);
  for (int64_t j = 0; j < n; j++)
    sum = tn_vf_add(sum, tn_vf_exp_weight(tn_vf_sub(tn_vf_load_mask(m, x + j * step), top)));
  float lanes[TN_VF_LANES];
  tn_vf_store(lanes, sum);
  TN_IVDEP for (int k = 0; k < TN_VF_LANES; k++) lanes[k] = tn_log_f32(lanes[k]);
  const tn_vf shift = tn_vf_load(lanes);
  for (int64_t j = 0; j < n; j++) {
    const tn_vf v = tn_vf_sub(tn_vf_load_mask(m, x + j * step), top);
    tn_vf_store_mask(y + j * step, m, tn_vf_sub(v, shift));
  }
}

#define SOFTMAX_KERNEL(name)                                                             \
  tn_status TN_SIMD_NAME(name##_f32)(const tn_call *call, uint32_t stage, int64_t begin, \
                                     int64_t end, uint32_t worker) {                     \
    (void)stage, (void)worker;                                                           \
    const tn_axis_view s = softmax_view(call);                                           \
    const int64_t blocks = blocks_of(&s);                                                \
    for (int64_t item = begin; item < end; item++) {                                     \
      const int64_t column = item % blocks * TN_VF_LANES,                                \
                    at = item / blocks * s.n * s.inner + column;                         \
      const float *x = (const float *)call->inputs[0]->data + at;                        \
      float *y = (float *)call->outputs[0]->data + at;                                   \
      if (s.inner == 1)                                                                  \
        name##_row(x, y, s.n);                                                           \
      else                                                                               \
        name##_columns(x, y, s.n, s.inner, left(s.inner - column));                      \
    }                                                                                    \
    return TN_OK;                                                                        \
  }
SOFTMAX_KERNEL(softmax)
SOFTMAX_KERNEL(log_softmax)

#endif
