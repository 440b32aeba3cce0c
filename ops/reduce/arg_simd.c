/* ArgMax and ArgMin of f32 in vectors: the whole of arg_avx512.c, arg_avx2.c and arg_neon.c. Along
 * the innermost dim the largest is found first and then looked up; along others, columns are
 * searched side by side. The smallest is the largest of -x. */
#include "fold_simd.h"
#include "tenon/kit/axis.h"

/* Rows up to here are searched side by side, as columns are. */
enum { SHORT = 64 };

static tn_axis_view arg_view(const tn_call *call) {
  return tn_axis_view_of(call->inputs[0], ((const tn_arg_max_attrs *)call->attrs)->axis);
}

tn_status TN_SIMD_NAME(arg_plan)(const tn_call *call, tn_kernel_plan *out) {
  const tn_axis_view s = arg_view(call);
  const int64_t each = tn_min_i64(s.inner, COLUMNS);
  out->items[0] = s.outer * tn_ceil_div(s.inner, COLUMNS);
  out->elements_per_item = each && s.inner % each == 0 ? each : 0;
  out->grain[0] = tn_grain(8000, (double)s.n * (double)each);
  return TN_OK;
}

/* Whether the block has `top`; NaN has itself. */
static bool block_has(const float *x, int64_t n, float top) {
  int32_t has = 0;
  if (isnan(top))
    TN_IVDEP for (int64_t k = 0; k < n; k++) has |= x[k] != x[k];
  else
    TN_IVDEP for (int64_t k = 0; k < n; k++) has |= x[k] == top;
  return has != 0;
}

static bool same(float v, float top) { return v == top || (isnan(v) && isnan(top)); }

static int64_t find_first(const float *x, int64_t n, float top) {
  int64_t at = 0;
  while (at + COLUMNS < n && !block_has(x + at, COLUMNS, top)) at += COLUMNS;
  while (at + 1 < n && !same(x[at], top)) at++;
  return at;
}

static int64_t find_last(const float *x, int64_t n, float top) {
  int64_t at = n;
  while (at > COLUMNS && !block_has(x + at - COLUMNS, COLUMNS, top)) at -= COLUMNS;
  while (at > 1 && !same(x[at - 1], top)) at--;
  return at - 1;
}

static int64_t arg_row(const float *x, int64_t n, bool smallest, bool last) {
  const runs u = {.n = 1, .length = n, .stride = 1};
  const float top = (float)(smallest ? fold_one(FOLD_MIN, &u, x, 0) : fold_one(FOLD_MAX, &u, x, 0));
  return last ? find_last(x, n, top) : find_first(x, n, top);
}

/* One more element of each column against what is the best so far. */
FOLD_INLINE void arg_step(const float *x, int64_t apart, int64_t cols, float sign, bool last,
                          int32_t j, float *best, int32_t *at) {
  TN_IVDEP for (int64_t c = 0; c < cols; c++) {
    const float v = x[c * apart] * sign, b = best[c];
    const bool takes = last ? (v >= b) | (v != v) : (v > b) | ((v != v) & (b == b));
    best[c] = takes ? v : b;
    at[c] = takes ? j : at[c];
  }
}

/* Columns of n elements, `step` from one to the next, that lie `apart`. */
FOLD_INLINE void arg_columns(const float *x, int64_t *y, int64_t n, int64_t step, int64_t apart,
                             int64_t cols, float sign, bool last) {
  float best[COLUMNS];
  int32_t at[COLUMNS] = {0};
  for (int64_t c = 0; c < cols; c++) best[c] = x[c * apart] * sign;
  for (int32_t j = 1; j < (int32_t)n; j++)
    if (cols == COLUMNS)
      arg_step(x + j * step, apart, COLUMNS, sign, last, j, best, at);
    else
      arg_step(x + j * step, apart, cols, sign, last, j, best, at);
  for (int64_t c = 0; c < cols; c++) y[c] = at[c];
}

/* Items of the plan that are rows too short to be searched by themselves. */
FOLD_INLINE void arg_short_rows(const float *x, int64_t *y, int64_t n, int64_t rows, float sign,
                                bool last) {
  for (int64_t cols; rows > 0; rows -= cols, x += cols * n, y += cols) {
    cols = tn_min_i64(rows, COLUMNS);
    if (last)
      arg_columns(x, y, n, 1, n, cols, sign, true);
    else
      arg_columns(x, y, n, 1, n, cols, sign, false);
  }
}

FOLD_INLINE tn_status arg(const tn_call *call, int64_t begin, int64_t end, bool smallest) {
  const tn_axis_view s = arg_view(call);
  const bool last = ((const tn_arg_max_attrs *)call->attrs)->select_last_index != 0;
  const int64_t blocks = tn_ceil_div(s.inner, COLUMNS);
  const float sign = smallest ? -1 : 1;
  if (s.inner == 1 && s.n <= SHORT) {
    arg_short_rows((const float *)call->inputs[0]->data + begin * s.n,
                   (int64_t *)call->outputs[0]->data + begin, s.n, end - begin, sign, last);
    return TN_OK;
  }
  for (int64_t item = begin; item < end; item++) {
    const int64_t outer = item / blocks, column = item % blocks * COLUMNS,
                  cols = tn_min_i64(COLUMNS, s.inner - column);
    const float *x = (const float *)call->inputs[0]->data + outer * s.n * s.inner + column;
    int64_t *y = (int64_t *)call->outputs[0]->data + outer * s.inner + column;
    if (s.inner == 1)
      *y = arg_row(x, s.n, smallest, last);
    else if (last)
      arg_columns(x, y, s.n, s.inner, 1, cols, sign, true);
    else
      arg_columns(x, y, s.n, s.inner, 1, cols, sign, false);
  }
  return TN_OK;
}

#define ARG(name, smallest)                                                                     \
  tn_status TN_SIMD_NAME(name)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                               uint32_t worker) {                                               \
    (void)stage, (void)worker;                                                                  \
    return arg(call, begin, end, smallest);                                                     \
  }
ARG(arg_max_f32, false)
ARG(arg_min_f32, true)
