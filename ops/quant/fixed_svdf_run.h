/* FixedSvdf, for every instruction set: loops that compilers make vectors of. An item is a unit of
 * an image: the filters of a unit keep what is theirs, so that the state may change in place. */
#include <string.h>

#include "fixed_dot.h"
#include "fixed_scale.h"
#include "fixed_svdf.h"

enum { FILTERS = 64 }; /* that go through a step together */

/* n filters from f on: their codes move on by one, v[k] comes behind them and becomes their sum
 * over time. */
#define FIXED_SVDF_MOVE(name, T)                                                             \
  static void name(const fixed_svdf *p, const void *state, const void *times, int64_t image, \
                   int64_t f, int64_t n, void *kept, int32_t *v) {                           \
    const int64_t memory = p->memory, at = (image * p->filters + f) * memory;                \
    const int32_t zero = (int32_t)p->a->state_zero;                                          \
    const T *weight = (const T *)times + f * memory;                                         \
    T *to = (T *)kept + at;                                                                  \
    memmove(to, (const T *)state + at + 1, (size_t)(n * memory - 1) * sizeof *to);           \
    for (int64_t k = 0; k < n; k++, to += memory, weight += memory) {                        \
      uint32_t sum = 0;                                                                      \
      to[memory - 1] = (T)v[k];                                                              \
      for (int64_t t = 0; t < memory; t++) sum += (uint32_t)((to[t] - zero) * weight[t]);    \
      v[k] = (int32_t)sum;                                                                   \
    }                                                                                        \
  }
FIXED_SVDF_MOVE(move_8, int8_t)
FIXED_SVDF_MOVE(move_16, int16_t)
#undef FIXED_SVDF_MOVE

/* Sums over time of n <= FILTERS filters of an image, from f on. */
static void filters_run(const tn_call *call, const fixed_svdf *p, int64_t image, int64_t f,
                        int64_t n, int32_t *v) {
  const bool wide = call->inputs[SVDF_STATE]->dtype == TN_I16;
  const int64_t zero = p->a->state_zero, lo = wide ? INT16_MIN : INT8_MIN,
                hi = wide ? INT16_MAX : INT8_MAX;
  const int8_t *x = (const int8_t *)call->inputs[SVDF_X]->data + image * p->width,
               *w = (const int8_t *)call->inputs[SVDF_FEATURES]->data + f * p->width;
  for (int64_t k = 0; k < n; k++) v[k] = fixed_dot(x, p->a->x_zero, w + k * p->width, p->width);
  fixed_scale_all(v, n, p->a->multipliers.data[0], p->a->shifts.data[0]);
  for (int64_t k = 0; k < n; k++) v[k] = (int32_t)fixed_clamp(v[k] + zero, lo, hi);
  (wide ? move_16 : move_8)(p, call->inputs[SVDF_STATE]->data, call->inputs[SVDF_TIMES]->data,
                            image, f, n, call->outputs[1]->data, v);
}

/* Units [u, u + n) of an image, at most FILTERS. */
static void units_run(const tn_call *call, const fixed_svdf *p, int64_t image, int64_t u,
                      int64_t n) {
  const tn_tensor *bias = call->inputs[SVDF_BIAS];
  const int64_t rank = p->a->rank, zero = p->a->y_zero;
  int8_t *y = (int8_t *)call->outputs[0]->data + image * p->units + u;
  int32_t v[FILTERS], sums[FILTERS] = {0};
  if (bias) memcpy(sums, (const int32_t *)bias->data + u, (size_t)n * sizeof *sums);
  for (int64_t f = 0, step; f < n * rank; f += step) {
    step = tn_min_i64(FILTERS, n * rank - f);
    filters_run(call, p, image, u * rank + f, step, v);
    for (int64_t k = 0; k < step; k++) {
      int32_t *sum = &sums[rank == 1 ? k + f : (k + f) / rank];
      *sum = (int32_t)((uint32_t)*sum + (uint32_t)v[k]);
    }
  }
  fixed_scale_all(sums, n, p->a->multipliers.data[1], p->a->shifts.data[1]);
  for (int64_t k = 0; k < n; k++) y[k] = (int8_t)fixed_clamp(sums[k] + zero, p->a->lo, p->a->hi);
}

static tn_status fixed_svdf_run(const tn_call *call, int64_t begin, int64_t end) {
  fixed_svdf p;
  const tn_status s = fixed_svdf_make(call, &p);
  for (int64_t n; !s && begin < end; begin += n) {
    const int64_t image = begin / p.units, u = begin % p.units,
                  most = tn_max_i64(1, FILTERS / p.a->rank);
    n = tn_min_i64(tn_min_i64(most, end - begin), p.units - u);
    units_run(call, &p, image, u, n);
  }
  return s;
}
