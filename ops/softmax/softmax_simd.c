/* Softmax and LogSoftmax in f32 for AVX-512 and AVX2: the whole of softmax_avx512.c and
 * softmax_avx2.c. A row that lies in one piece is worked on vector by vector; where columns are
 * normalised, a vector holds neighbouring columns. */
#include "softmax_shape.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/simd_math.h"

/* Items: rows, or vectors of columns. */
static int64_t blocks_of(const tn_axis_view *s) { return tn_ceil_div(s->inner, TN_VF_LANES); }

tn_status TN_SIMD_NAME(softmax_plan)(const tn_call *call, tn_kernel_plan *out) {
  const tn_axis_view s = softmax_view(call);
  out->items[0] = s.n ? s.outer * blocks_of(&s) : 0;
  out->grain[0] = tn_grain(8000, (double)s.n * (double)tn_min_i64(s.inner, TN_VF_LANES));
  out->in_place[0] = 0;
  out->elements_per_item = s.inner == 1 ? s.n : 0;
  const double rows = s.inner == 1 ? (double)s.outer : 0;
  out->cost_ns = (double)(s.outer * s.n * s.inner) / 4 + rows * 10 + 100;
  return TN_OK;
}

/* How the next vector of a row is read: all of it, or what is left. */
static tn_vf_mask left(int64_t n) { return tn_vf_mask_first(n < TN_VF_LANES ? n : TN_VF_LANES); }

/* The next vector of a row: all lanes, or what is left; the others are below everything. */
static tn_vf load_left(const float *x, int64_t n) {
  if (n >= TN_VF_LANES) return tn_vf_load(x);
  const tn_vf_mask has = tn_vf_mask_first(n), all = tn_vf_mask_first(TN_VF_LANES);
  const tn_vf pad = tn_vf_keep(tn_vf_mask_and_not(all, has), tn_vf_set1(-INFINITY));
  return tn_vf_join(pad, has, x);
}

/* The largest element of a row, in one of the lanes. */
static tn_vf row_top(const float *x, int64_t n) {
  tn_vf a = tn_vf_set1(-INFINITY), b = a;
  int64_t j = 0;
  for (; j + 2 * TN_VF_LANES <= n; j += 2 * TN_VF_LANES) {
    a = tn_vf_max(tn_vf_load(x + j), a);
    b = tn_vf_max(tn_vf_load(x + j + TN_VF_LANES), b);
  }
  for (; j < n; j += TN_VF_LANES) a = tn_vf_max(load_left(x + j, n - j), a);
  return tn_vf_max(b, a);
}

/* Sum of e^(x - top), yet to be folded; the terms are written to y unless that is NULL. */
static tn_vf row_exp(const float *x, float *y, int64_t n, float top) {
  const tn_vf shift = tn_vf_set1(top);
  tn_vf sum = tn_vf_set1(0);
  int64_t j = 0;
  for (; j + TN_VF_LANES <= n; j += TN_VF_LANES) {
    const tn_vf e = tn_vf_exp_weight(tn_vf_sub(tn_vf_load(x + j), shift));
    if (y) tn_vf_store(y + j, e);
    sum = tn_vf_add(sum, e);
  }
  if (j == n) return sum;
  const tn_vf e = tn_vf_exp_weight(tn_vf_sub(load_left(x + j, n - j), shift));
  if (y) tn_vf_store_mask(y + j, left(n - j), e);
  return tn_vf_add(sum, e);
}

/* Up to TN_VF_LANES rows of at most SHORT elements, by way of aligned memory: where a row begins
 * anywhere, nearly each vector of it lies in two cache lines. */
enum { SHORT = 4 * TN_VF_LANES };
static void softmax_short(const float *x, float *y, int64_t n, int64_t rows) {
  _Alignas(64) float row[TN_VF_LANES][SHORT], each[TN_VF_LANES];
  const int64_t tail = (n - 1) / TN_VF_LANES * TN_VF_LANES; /* where the last vector begins */
  const tn_vf_mask has = left(n - tail), all = tn_vf_mask_first(TN_VF_LANES);
  const tn_vf pad = tn_vf_keep(tn_vf_mask_and_not(all, has), tn_vf_set1(-INFINITY));
  tn_vf v[TN_VF_LANES];
  for (int64_t k = 0; k < TN_VF_LANES; k++) v[k] = tn_vf_set1(0);
  for (int64_t k = 0; k < rows; k++) {
    v[k] = tn_vf_join(pad, has, x + k * n + tail);
    tn_vf_store(&row[k][tail], v[k]);
    for (int64_t j = 0; j < tail; j += TN_VF_LANES) {
      const tn_vf e = tn_vf_load(x + k * n + j);
      tn_vf_store(&row[k][j], e);
      v[k] = tn_vf_max(e, v[k]);
    }
  }
  TN_VF_FOLD_EACH(v, tn_vf_max);
  tn_vf_store(each, v[0]);
  for (int64_t k = 0; k < rows; k++) {
    const tn_vf shift = tn_vf_set1(each[k]);
    v[k] = tn_vf_set1(0);
    for (int64_t j = 0; j <= tail; j += TN_VF_LANES) {
      const tn_vf e = tn_vf_exp_weight(tn_vf_sub(tn_vf_load(&row[k][j]), shift));
      tn_vf_store(&row[k][j], e);
      v[k] = tn_vf_add(v[k], e);
    }
  }
  TN_VF_FOLD_EACH(v, tn_vf_add);
  tn_vf_store(each, tn_vf_div(tn_vf_set1(1), v[0]));
  for (int64_t k = 0; k < rows; k++, y += n) {
    const tn_vf scale = tn_vf_set1(each[k]);
    for (int64_t j = 0; j < tail; j += TN_VF_LANES)
      tn_vf_store(y + j, tn_vf_mul(tn_vf_load(&row[k][j]), scale));
    tn_vf_store_mask(y + tail, has, tn_vf_mul(tn_vf_load(&row[k][tail]), scale));
  }
}

/* Up to TN_VF_LANES rows at once: short rows take longer to fold a vector than to make it. */
static void softmax_rows(const float *x, float *y, int64_t n, int64_t rows) {
  if (n <= SHORT) {
    softmax_short(x, y, n, rows);
    return;
  }
  tn_vf v[TN_VF_LANES];
  float each[TN_VF_LANES];
  for (int64_t k = 0; k < TN_VF_LANES; k++) v[k] = k < rows ? row_top(x + k * n, n) : tn_vf_set1(0);
  TN_VF_FOLD_EACH(v, tn_vf_max);
  tn_vf_store(each, v[0]);
  for (int64_t k = 0; k < TN_VF_LANES; k++)
    v[k] = k < rows ? row_exp(x + k * n, y + k * n, n, each[k]) : tn_vf_set1(1);
  TN_VF_FOLD_EACH(v, tn_vf_add);
  tn_vf_store(each, tn_vf_div(tn_vf_set1(1), v[0]));
  for (int64_t k = 0; k < rows; k++, y += n) {
    const tn_vf scale = tn_vf_set1(each[k]);
    int64_t j = 0;
    for (; j + TN_VF_LANES <= n; j += TN_VF_LANES)
      tn_vf_store(y + j, tn_vf_mul(tn_vf_load(y + j), scale));
    if (j == n) continue;
    const tn_vf_mask m = left(n - j);
    tn_vf_store_mask(y + j, m, tn_vf_mul(tn_vf_load_mask(m, y + j), scale));
  }
}

static void log_softmax_rows(const float *x, float *y, int64_t n, int64_t rows) {
  tn_vf v[TN_VF_LANES];
  float top[TN_VF_LANES], shift[TN_VF_LANES];
  for (int64_t k = 0; k < TN_VF_LANES; k++) v[k] = k < rows ? row_top(x + k * n, n) : tn_vf_set1(0);
  TN_VF_FOLD_EACH(v, tn_vf_max);
  tn_vf_store(top, v[0]);
  for (int64_t k = 0; k < TN_VF_LANES; k++)
    v[k] = k < rows ? row_exp(x + k * n, NULL, n, top[k]) : tn_vf_set1(1);
  TN_VF_FOLD_EACH(v, tn_vf_add);
  tn_vf_store(shift, v[0]);
  TN_IVDEP for (int k = 0; k < TN_VF_LANES; k++) shift[k] = tn_log_f32(shift[k]);
  for (int64_t k = 0; k < rows; k++)
    TN_IVDEP for (int64_t j = 0; j < n; j++) y[k * n + j] = x[k * n + j] - top[k] - shift[k];
}

/* How many rows are in L1 together. */
static int64_t rows_of(const tn_axis_view *s) {
  return tn_max_i64(1, tn_min_i64(TN_VF_LANES, 4096 / tn_max_i64(s->n, 1)));
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
    const int64_t blocks = blocks_of(&s), rows = s.inner == 1 ? rows_of(&s) : 1;         \
    for (int64_t item = begin; item < end; item += rows) {                               \
      const int64_t column = item % blocks * TN_VF_LANES,                                \
                    at = item / blocks * s.n * s.inner + column;                         \
      const float *x = (const float *)call->inputs[0]->data + at;                        \
      float *y = (float *)call->outputs[0]->data + at;                                   \
      if (s.inner == 1)                                                                  \
        name##_rows(x, y, s.n, tn_min_i64(rows, end - item));                            \
      else                                                                               \
        name##_columns(x, y, s.n, s.inner, left(s.inner - column));                      \
    }                                                                                    \
    return TN_OK;                                                                        \
  }
SOFTMAX_KERNEL(softmax)
SOFTMAX_KERNEL(log_softmax)
