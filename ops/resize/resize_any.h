/* Linear and cubic Resize of integers and f64, in f64: plain loops, compiled once for each
 * instruction set. The fraction of a sum is cut off, so that all add in the same order and give the
 * same. */
#ifndef TN_RESIZE_RESIZE_ANY_H
#define TN_RESIZE_RESIZE_ANY_H

#include "rows.h"

/* A sum as the type takes it: beyond its range, the end of that. via: what is fast and wide enough.
 * The highest of 64 bits is below the limit as f64 can say it. */
#define RESIZE_CUT(T, via, least, most)                       \
  static inline T cut_##T(double x) {                         \
    x = x > (double)(least) ? x : (double)(least);            \
    return (T)(via)(x < (double)(most) ? x : (double)(most)); \
  }
RESIZE_CUT(int8_t, int32_t, INT8_MIN, INT8_MAX)
RESIZE_CUT(int16_t, int32_t, INT16_MIN, INT16_MAX)
RESIZE_CUT(int32_t, int32_t, INT32_MIN, INT32_MAX)
RESIZE_CUT(int64_t, int64_t, INT64_MIN, INT64_MAX - 2047)
RESIZE_CUT(uint8_t, int32_t, 0, UINT8_MAX)
RESIZE_CUT(uint16_t, int32_t, 0, UINT16_MAX)
RESIZE_CUT(uint32_t, int64_t, 0, UINT32_MAX)
RESIZE_CUT(uint64_t, uint64_t, 0, UINT64_MAX - 2047)
static inline double cut_double(double x) { return x; }

/* Taps are added two by two; one of no weight that may be infinite is left out. */
#define RESIZE_ANY(T)                                                                            \
  static void any_rows_##T(const resize_state *st, const T *in, resize_walk *w, double *sum) {   \
    const bool skips = (T)0.5 != 0; /* of integers nothing is infinite */                        \
    const int64_t n = resize_row_in(st);                                                         \
    for (bool first = true, more = true; more; first = false) {                                  \
      double wa, wb = 0;                                                                         \
      const T *a = in + resize_walk_at(st, w, &wa), *b = a;                                      \
      more = resize_walk_tap(st, w);                                                             \
      if (more) {                                                                                \
        b = in + resize_walk_at(st, w, &wb);                                                     \
        more = resize_walk_tap(st, w);                                                           \
      }                                                                                          \
      if (skips && wa == 0) wa = wb, a = b, wb = 0;                                              \
      if (first && (!skips || wb != 0))                                                          \
        for (int64_t k = 0; k < n; k++) sum[k] = wa * (double)a[k] + wb * (double)b[k];          \
      else if (first)                                                                            \
        for (int64_t k = 0; k < n; k++) sum[k] = wa != 0 ? wa * (double)a[k] : 0;                \
      else if (!skips || wb != 0)                                                                \
        for (int64_t k = 0; k < n; k++) sum[k] = sum[k] + wa * (double)a[k] + wb * (double)b[k]; \
      else if (wa != 0)                                                                          \
        for (int64_t k = 0; k < n; k++) sum[k] += wa * (double)a[k];                             \
    }                                                                                            \
  }                                                                                              \
  static void any_places_##T(const resize_state *st, const double *row, T *out) {                \
    const resize_table *t = &st->tables[st->last];                                               \
    const int64_t inner = st->inner, n = st->axes[st->last].out;                                 \
    const int64_t *index = t->index;                                                             \
    const double *w = t->weight;                                                                 \
    if (inner == 1 && t->taps == 2) {                                                            \
      for (int64_t x = 0; x < n; x++)                                                            \
        out[x] = cut_##T(w[2 * x] * row[index[2 * x]] + w[2 * x + 1] * row[index[2 * x + 1]]);   \
      return;                                                                                    \
    }                                                                                            \
    for (int64_t x = 0; x < n; x++, index += t->taps, w += t->taps, out += inner)                \
      for (int64_t j = 0; j < inner; j++) {                                                      \
        double sum = 0;                                                                          \
        for (int64_t k = 0; k < t->taps; k++) sum += w[k] * row[index[k] * inner + j];           \
        out[j] = cut_##T(sum);                                                                   \
      }                                                                                          \
  }                                                                                              \
  static void any_run_##T(const tn_call *call, int64_t begin, int64_t end, double *sum) {        \
    const resize_state *st = call->state;                                                        \
    const int64_t n = resize_row_out(st);                                                        \
    resize_walk w;                                                                               \
    resize_walk_begin(st, begin, &w);                                                            \
    for (int64_t r = begin; r < end; r++, resize_walk_on(st, &w)) {                              \
      const bool outside = resize_walk_outside(st, &w);                                          \
      if (!outside) {                                                                            \
        any_rows_##T(st, call->inputs[0]->data, &w, sum);                                        \
        any_places_##T(st, sum, (T *)call->outputs[0]->data + r * n);                            \
      }                                                                                          \
      if (st->spec.coords == COORDS_TF_CROP_AND_RESIZE) resize_fill_cropped(call, r, outside);   \
    }                                                                                            \
  }

RESIZE_ANY(double)
RESIZE_ANY(int8_t)
RESIZE_ANY(int16_t)
RESIZE_ANY(int32_t)
RESIZE_ANY(int64_t)
RESIZE_ANY(uint8_t)
RESIZE_ANY(uint16_t)
RESIZE_ANY(uint32_t)
RESIZE_ANY(uint64_t)

static double any_row_ns(const resize_state *st) {
  const double along = (double)resize_taps(&st->spec, &st->axes[st->last]);
  return 20 + 0.25 * resize_mixed_taps(st) * (double)resize_row_in(st) +
         along * (double)resize_row_out(st);
}

static tn_status any_run(const tn_call *call, int64_t begin, int64_t end, uint32_t worker) {
  double *sum =
      (double *)(void *)((uint8_t *)call->worker_scratch + worker * call->worker_scratch_bytes);
  switch (call->inputs[0]->dtype) {
    case TN_F64: any_run_double(call, begin, end, sum); break;
    case TN_I8: any_run_int8_t(call, begin, end, sum); break;
    case TN_I16: any_run_int16_t(call, begin, end, sum); break;
    case TN_I32: any_run_int32_t(call, begin, end, sum); break;
    case TN_I64: any_run_int64_t(call, begin, end, sum); break;
    case TN_U8: any_run_uint8_t(call, begin, end, sum); break;
    case TN_U16: any_run_uint16_t(call, begin, end, sum); break;
    case TN_U32: any_run_uint32_t(call, begin, end, sum); break;
    default: any_run_uint64_t(call, begin, end, sum); break;
  }
  return TN_OK;
}

#endif
