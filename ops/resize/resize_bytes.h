/* Linear and cubic Resize of i8 and u8, in f64: plain loops, compiled once for each instruction
 * set. The fraction of a sum is cut off, so that all add in the same order and give the same. */
#ifndef TN_RESIZE_RESIZE_BYTES_H
#define TN_RESIZE_RESIZE_BYTES_H

#include "rows.h"

#define RESIZE_BYTES(T, least, most)                                                             \
  static void bytes_rows_##T(const resize_state *st, const T *in, resize_walk *w, double *sum) { \
    const int64_t n = resize_row_in(st);                                                         \
    for (bool first = true, more = true; more; first = false) {                                  \
      double wa, wb = 0;                                                                         \
      const T *a = in + resize_walk_at(st, w, &wa), *b = a;                                      \
      more = resize_walk_tap(st, w);                                                             \
      if (more) {                                                                                \
        b = in + resize_walk_at(st, w, &wb);                                                     \
        more = resize_walk_tap(st, w);                                                           \
      }                                                                                          \
      if (first)                                                                                 \
        for (int64_t k = 0; k < n; k++) sum[k] = wa * a[k] + wb * b[k];                          \
      else                                                                                       \
        for (int64_t k = 0; k < n; k++) sum[k] = sum[k] + wa * a[k] + wb * b[k];                 \
    }                                                                                            \
  }                                                                                              \
  static T bytes_cut_##T(double x) {                                                             \
    x = x > (least) ? x : (least);                                                               \
    return (T)(int32_t)(x < (most) ? x : (most));                                                \
  }                                                                                              \
  static void bytes_places_##T(const resize_state *st, const double *row, T *out) {              \
    const resize_table *t = &st->tables[st->last];                                               \
    const int64_t inner = st->inner, n = st->axes[st->last].out;                                 \
    const int64_t *index = t->index;                                                             \
    const double *w = t->weight;                                                                 \
    if (inner == 1 && t->taps == 2) {                                                            \
      for (int64_t x = 0; x < n; x++)                                                            \
        out[x] =                                                                                 \
            bytes_cut_##T(w[2 * x] * row[index[2 * x]] + w[2 * x + 1] * row[index[2 * x + 1]]);  \
      return;                                                                                    \
    }                                                                                            \
    for (int64_t x = 0; x < n; x++, index += t->taps, w += t->taps, out += inner)                \
      for (int64_t j = 0; j < inner; j++) {                                                      \
        double sum = 0;                                                                          \
        for (int64_t k = 0; k < t->taps; k++) sum += w[k] * row[index[k] * inner + j];           \
        out[j] = bytes_cut_##T(sum);                                                             \
      }                                                                                          \
  }                                                                                              \
  static void bytes_run_##T(const tn_call *call, int64_t begin, int64_t end, double *sum) {      \
    const resize_state *st = call->state;                                                        \
    const int64_t n = resize_row_out(st);                                                        \
    resize_walk w;                                                                               \
    resize_walk_begin(st, begin, &w);                                                            \
    for (int64_t r = begin; r < end; r++, resize_walk_on(st, &w)) {                              \
      const bool outside = resize_walk_outside(st, &w);                                          \
      if (!outside) {                                                                            \
        bytes_rows_##T(st, call->inputs[0]->data, &w, sum);                                      \
        bytes_places_##T(st, sum, (T *)call->outputs[0]->data + r * n);                          \
      }                                                                                          \
      if (st->spec.coords == COORDS_TF_CROP_AND_RESIZE) resize_fill_cropped(call, r, outside);   \
    }                                                                                            \
  }
RESIZE_BYTES(uint8_t, 0, UINT8_MAX)
RESIZE_BYTES(int8_t, INT8_MIN, INT8_MAX)

static double bytes_row_ns(const resize_state *st) {
  const double along = (double)resize_taps(&st->spec, &st->axes[st->last]);
  return 20 + 0.25 * resize_mixed_taps(st) * (double)resize_row_in(st) +
         along * (double)resize_row_out(st);
}

static tn_status bytes_run(const tn_call *call, int64_t begin, int64_t end, uint32_t worker) {
  double *sum =
      (double *)(void *)((uint8_t *)call->worker_scratch + worker * call->worker_scratch_bytes);
  if (call->inputs[0]->dtype == TN_U8)
    bytes_run_uint8_t(call, begin, end, sum);
  else
    bytes_run_int8_t(call, begin, end, sum);
  return TN_OK;
}

#endif
