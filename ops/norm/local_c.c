/* Portable LpNormalization and LRN. */
#include <math.h>

#include "norm.gen.h"
#include "tenon/kit/axis.h"
#include "tenon/kit/infer.h"

tn_status lp_normalization_plan(const tn_call *call, tn_kernel_plan *out) {
  tn_axis_view s =
      tn_axis_view_of(call->inputs[0], ((const tn_lp_normalization_attrs *)call->attrs)->axis);
  out->items[0] = tn_axis_rows(s);
  out->grain[0] = tn_grain(5000, (double)s.n);
  return TN_OK;
}

#define LP_NORMALIZATION(name, T, ABS, SQRT)                                                    \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,               \
                 uint32_t worker) {                                                             \
    (void)stage, (void)worker;                                                                  \
    const tn_lp_normalization_attrs *a = call->attrs;                                           \
    tn_axis_view s = tn_axis_view_of(call->inputs[0], a->axis);                                 \
    for (int64_t item = begin; item < end; item++) {                                            \
      int64_t at = tn_axis_row(s, item);                                                        \
      const T *x = (const T *)call->inputs[0]->data + at;                                       \
      T *y = (T *)call->outputs[0]->data + at, sum = 0;                                         \
      for (int64_t j = 0; j < s.n; j++)                                                         \
        sum += a->p == 1 ? ABS(x[j * s.inner]) : x[j * s.inner] * x[j * s.inner];               \
      T norm = a->p == 1 ? sum : SQRT(sum);                                                     \
      for (int64_t j = 0; j < s.n; j++) y[j * s.inner] = norm == 0 ? 0 : x[j * s.inner] / norm; \
    }                                                                                           \
    return TN_OK;                                                                               \
  }
LP_NORMALIZATION(lp_normalization_f32_c, float, fabsf, sqrtf)
LP_NORMALIZATION(lp_normalization_f64_c, double, fabs, sqrt)

/* An item is one channel of one image: its sums of squares are gathered in place, then turned into
 * the result. */
tn_status lrn_plan(const tn_call *call, tn_kernel_plan *out) {
  tn_axis_view s = tn_axis_view_of(call->inputs[0], 1);
  /* A window of 2^50 channels is not walked for planes of nothing. */
  out->items[0] = s.inner ? s.outer * s.n : 0;
  out->elements_per_item = s.inner;
  out->grain[0] = tn_grain(2000, (double)s.inner);
  return TN_OK;
}

#define LRN(name, T, POW)                                                                  \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,          \
                 uint32_t worker) {                                                        \
    (void)stage, (void)worker;                                                             \
    const tn_lrn_attrs *a = call->attrs;                                                   \
    tn_axis_view s = tn_axis_view_of(call->inputs[0], 1);                                  \
    const T alpha = (T)(a->alpha / (double)a->size), beta = (T)a->beta, bias = (T)a->bias; \
    for (int64_t item = begin; item < end; item++) {                                       \
      int64_t c = item % s.n, lo = tn_max_i64(0, c - (a->size - 1) / 2),                   \
              hi = tn_min_i64(s.n - 1, c + a->size / 2);                                   \
      const T *x = (const T *)call->inputs[0]->data + item * s.inner;                      \
      T *y = (T *)call->outputs[0]->data + item * s.inner;                                 \
      for (int64_t i = 0; i < s.inner; i++) y[i] = 0;                                      \
      for (int64_t j = lo; j <= hi; j++)                                                   \
        for (int64_t i = 0; i < s.inner; i++)                                              \
          y[i] += x[(j - c) * s.inner + i] * x[(j - c) * s.inner + i];                     \
      for (int64_t i = 0; i < s.inner; i++) y[i] = x[i] / POW(bias + alpha * y[i], beta);  \
    }                                                                                      \
    return TN_OK;                                                                          \
  }
LRN(lrn_f32_c, float, powf)
LRN(lrn_f64_c, double, pow)
