/* Portable softmax kernels. With inner = 1 a row lies in memory in one piece; else up to 32 columns
 * are worked on at once, so that every line of the cache that is fetched is used. */
#include <math.h>
#include <string.h>

#include "softmax_shape.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/vmath.h"

enum { COLUMNS = 32 };

/* An item is one row, or one block of columns of one outer index. */
static int64_t blocks_of(const tn_axis_view *s) { return tn_ceil_div(s->inner, COLUMNS); }

tn_status softmax_plan(const tn_call *call, tn_kernel_plan *out) {
  tn_axis_view s = softmax_view(call);
  out->items[0] = s.n ? s.outer * blocks_of(&s) : 0;
  out->grain[0] = tn_grain(4000, (double)s.n * (double)tn_min_i64(s.inner, COLUMNS));
  out->in_place[0] = 0;
  out->elements_per_item = s.inner == 1 ? s.n : 0;
  out->cost_ns = (double)(s.outer * s.n * s.inner) * 2 + 200;
  return TN_OK;
}

#define SOFTMAX_OF(T, EXP, LOG)                                                             \
  static void softmax_##T(const T *x, T *y, int64_t n, int64_t step, int64_t columns) {     \
    T top[COLUMNS], sum[COLUMNS];                                                           \
    for (int64_t c = 0; c < columns; c++) top[c] = x[c], sum[c] = 0;                        \
    for (int64_t j = 1; j < n; j++)                                                         \
      for (int64_t c = 0; c < columns; c++)                                                 \
        top[c] = x[j * step + c] > top[c] ? x[j * step + c] : top[c];                       \
    for (int64_t j = 0; j < n; j++)                                                         \
      for (int64_t c = 0; c < columns; c++) {                                               \
        T e = EXP(x[j * step + c] - top[c]);                                                \
        y[j * step + c] = e;                                                                \
        sum[c] += e;                                                                        \
      }                                                                                     \
    for (int64_t c = 0; c < columns; c++) sum[c] = 1 / sum[c];                              \
    for (int64_t j = 0; j < n; j++)                                                         \
      for (int64_t c = 0; c < columns; c++) y[j * step + c] *= sum[c];                      \
  }                                                                                         \
  static void log_softmax_##T(const T *x, T *y, int64_t n, int64_t step, int64_t columns) { \
    for (int64_t c = 0; c < columns; c++) {                                                 \
      T top = x[c], sum = 0;                                                                \
      for (int64_t j = 1; j < n; j++) top = x[j * step + c] > top ? x[j * step + c] : top;  \
      for (int64_t j = 0; j < n; j++) sum += EXP(x[j * step + c] - top);                    \
      T shift = LOG(sum);                                                                   \
      for (int64_t j = 0; j < n; j++) y[j * step + c] = x[j * step + c] - top - shift;      \
    }                                                                                       \
  }                                                                                         \
  static void hardmax_##T(const T *x, T *y, int64_t n, int64_t step, int64_t columns) {     \
    for (int64_t c = 0; c < columns; c++) {                                                 \
      int64_t where = 0;                                                                    \
      T top = -(T)INFINITY;                                                                 \
      for (int64_t j = 0; j < n; j++)                                                       \
        if (x[j * step + c] > top) top = x[j * step + c], where = j;                        \
      for (int64_t j = 0; j < n; j++) y[j * step + c] = j == where;                         \
    }                                                                                       \
  }
SOFTMAX_OF(float, tn_exp_f32, tn_log_f32)
SOFTMAX_OF(double, exp, log)

/* A row in one piece: the loops vectorise over the row, the sum in eight parts. */
static void softmax_row(const float *x, float *y, int64_t n) {
  float part[8] = {0}, top = x[0];
  for (int64_t j = 1; j < n; j++) top = x[j] > top ? x[j] : top;
  TN_IVDEP for (int64_t j = 0; j < n; j++) y[j] = tn_exp_f32(x[j] - top);
  int64_t j = 0;
  for (; j + 8 <= n; j += 8)
    for (int k = 0; k < 8; k++) part[k] += y[j + k];
  for (; j < n; j++) part[0] += y[j];
  float scale = 1 / (((part[0] + part[1]) + (part[2] + part[3])) +
                     ((part[4] + part[5]) + (part[6] + part[7])));
  for (j = 0; j < n; j++) y[j] *= scale;
}

/* NaN is never the largest; where nothing is above -inf, the first place is. */
static void hardmax_row(const float *x, float *y, int64_t n) {
  float part[8], top = -INFINITY;
  int64_t j = 0, where = 0;
  for (int k = 0; k < 8; k++) part[k] = top;
  for (; j + 8 <= n; j += 8)
    for (int k = 0; k < 8; k++) part[k] = x[j + k] > part[k] ? x[j + k] : part[k];
  for (; j < n; j++) top = x[j] > top ? x[j] : top;
  for (int k = 0; k < 8; k++) top = part[k] > top ? part[k] : top;
  while (top > -INFINITY && x[where] != top) where++;
  memset(y, 0, (size_t)n * sizeof *y);
  y[where] = 1;
}

#define RUN(T, name, columns_of, ROW)                                                        \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,            \
                 uint32_t worker) {                                                          \
    (void)stage, (void)worker;                                                               \
    tn_axis_view s = softmax_view(call);                                                     \
    int64_t blocks = blocks_of(&s);                                                          \
    for (int64_t item = begin; item < end; item++) {                                         \
      int64_t column = item % blocks * COLUMNS, at = item / blocks * s.n * s.inner + column; \
      const T *x = (const T *)call->inputs[0]->data + at;                                    \
      T *y = (T *)call->outputs[0]->data + at;                                               \
      ROW columns_of(x, y, s.n, s.inner, tn_min_i64(COLUMNS, s.inner - column));             \
    }                                                                                        \
    return TN_OK;                                                                            \
  }
RUN(float, softmax_f32_c, softmax_float, if (s.inner == 1) softmax_row(x, y, s.n); else)
RUN(double, softmax_f64_c, softmax_double, )
RUN(float, log_softmax_f32_c, log_softmax_float, )
RUN(double, log_softmax_f64_c, log_softmax_double, )
RUN(float, hardmax_f32_c, hardmax_float, if (s.inner == 1) hardmax_row(x, y, s.n); else)
RUN(double, hardmax_f64_c, hardmax_double, )
