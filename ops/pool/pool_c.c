/* Portable pools. An item is one row of the output: for every tap whose row lies inside, the
 * elements it reaches are folded into the row at once, a loop that compilers vectorise. */
#include <math.h>

#include "pool_shape.h"

static tn_status plan_rows(const pool_shape *p, tn_kernel_plan *out) {
  int64_t width = p->w.out[p->w.n - 1];
  out->items[0] = width ? p->channels * p->out_size / width : 0;
  out->grain[0] = tn_grain(8000, (double)width * (double)p->taps);
  out->elements_per_item = width;
  out->cost_ns = (double)(p->channels * p->out_size) * (double)p->taps / 4;
  return TN_OK;
}

tn_status pool_plan(const tn_call *call, tn_kernel_plan *out) {
  pool_shape p;
  tn_status s = max_pool_shape(call, &p);
  return s ? s : plan_rows(&p, out);
}

tn_status average_pool_plan(const tn_call *call, tn_kernel_plan *out) {
  pool_shape p;
  tn_status s = average_pool_shape(call, &p);
  if (s) return s;
  out->worker_scratch_bytes =
      (uint64_t)p.w.in[p.w.n - 1] * tn_dtype(call->inputs[0]->dtype)->bits / 8;
  return plan_rows(&p, out);
}

tn_status lp_pool_plan(const tn_call *call, tn_kernel_plan *out) {
  pool_shape p;
  tn_status s = lp_pool_shape(call, &p);
  return s ? s : plan_rows(&p, out);
}

/* Tap t of this row: where its input row begins in the plane (false: outside), its offset in the
 * last dim, and the range of output columns whose element is inside. */
static bool find_tap(const pool_shape *p, const pool_row *r, int64_t t, int64_t *out_row,
                     int64_t *out_offset, int64_t *lo, int64_t *hi) {
  const tn_window *w = &p->w;
  int32_t last = w->n - 1;
  int64_t offset = t % w->kernel[last] * w->dilation[last] - w->pad_lo[last], at = 0,
          step = w->in[last];
  t /= w->kernel[last];
  for (int32_t k = last - 1; k >= 0; k--) {
    int64_t i = r->o[k] * w->stride[k] - w->pad_lo[k] + t % w->kernel[k] * w->dilation[k];
    if (i < 0 || i >= w->in[k]) return false;
    at += i * step;
    step *= w->in[k];
    t /= w->kernel[k];
  }
  int64_t room = w->in[last] - offset;
  *lo = offset < 0 ? tn_ceil_div(-offset, w->stride[last]) : 0;
  *hi = room <= 0 ? 0 : tn_min_i64(w->out[last], tn_ceil_div(room, w->stride[last]));
  *out_row = at;
  *out_offset = offset;
  return true;
}

/* Folds every element of the row with STEP (which sees v, the element, and y[o]). */
#define POOL_ROW(T, START, STEP)                                                            \
  do {                                                                                      \
    int64_t width = p.w.out[p.w.n - 1], stride = p.w.stride[p.w.n - 1], at, offset, lo, hi; \
    pool_row r;                                                                             \
    pool_row_find(&p, item, &r);                                                            \
    const T *x = (const T *)call->inputs[0]->data + r.plane * p.in_size;                    \
    T *y = (T *)call->outputs[0]->data + item * width;                                      \
    for (int64_t o = 0; o < width; o++) y[o] = START;                                       \
    for (int64_t t = 0; t < p.taps; t++) {                                                  \
      if (!find_tap(&p, &r, t, &at, &offset, &lo, &hi)) continue;                           \
      at += offset;                                                                         \
      for (int64_t o = lo; o < hi; o++) {                                                   \
        T v = x[at + o * stride];                                                           \
        STEP;                                                                               \
      }                                                                                     \
    }                                                                                       \
  } while (0)

#define MAX_POOL(T, LOWEST, name)                                                 \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end, \
                 uint32_t worker) {                                               \
    (void)stage, (void)worker;                                                    \
    pool_shape p;                                                                 \
    tn_status s = max_pool_shape(call, &p);                                       \
    for (int64_t item = begin; !s && item < end; item++)                          \
      POOL_ROW(T, LOWEST, y[o] = v > y[o] ? v : y[o]);                            \
    return s;                                                                     \
  }
MAX_POOL(float, -INFINITY, max_pool_f32_c)
MAX_POOL(double, -(double)INFINITY, max_pool_f64_c)
MAX_POOL(int8_t, INT8_MIN, max_pool_i8_c)
MAX_POOL(uint8_t, 0, max_pool_u8_c)

/* Divides a row of sums by what counts in each window. */
#define DIVIDE_ROW(T)                                                                 \
  do {                                                                                \
    int64_t width = p.w.out[p.w.n - 1], lo, hi, others = 1;                           \
    int32_t last = p.w.n - 1;                                                         \
    pool_row r;                                                                       \
    pool_row_find(&p, item, &r);                                                      \
    T *y = (T *)call->outputs[0]->data + item * width;                                \
    for (int32_t k = 0; k < last; k++) {                                              \
      tn_window_taps(&p.w, k, r.o[k], &lo, &hi);                                      \
      others *= count_pads ? pool_padded_taps(&p.w, k, r.o[k]) : hi - lo;             \
    }                                                                                 \
    for (int64_t o = 0; o < width; o++) {                                             \
      tn_window_taps(&p.w, last, o, &lo, &hi);                                        \
      y[o] /= (T)(others * (count_pads ? pool_padded_taps(&p.w, last, o) : hi - lo)); \
    }                                                                                 \
  } while (0)

/* Sums first down the columns into a line as wide as the input, then along it: fewer additions than
 * tap by tap. */
#define SUM_ROW(T)                                                                    \
  do {                                                                                \
    int32_t last = p.w.n - 1;                                                         \
    int64_t width = p.w.out[last], taps = p.w.kernel[last], at, offset, lo, hi;       \
    pool_row r;                                                                       \
    pool_row_find(&p, item, &r);                                                      \
    const T *x = (const T *)call->inputs[0]->data + r.plane * p.in_size;              \
    T *y = (T *)call->outputs[0]->data + item * width;                                \
    for (int64_t i = 0; i < p.w.in[last]; i++) line[i] = 0;                           \
    for (int64_t t = 0; t < p.taps; t += taps)                                        \
      if (find_tap(&p, &r, t, &at, &offset, &lo, &hi))                                \
        for (int64_t i = 0; i < p.w.in[last]; i++) line[i] += x[at + i];              \
    for (int64_t o = 0; o < width; o++) {                                             \
      int64_t start = o * p.w.stride[last] - p.w.pad_lo[last];                        \
      tn_window_taps(&p.w, last, o, &lo, &hi);                                        \
      y[o] = 0;                                                                       \
      for (int64_t t = lo; t < hi; t++) y[o] += line[start + t * p.w.dilation[last]]; \
    }                                                                                 \
  } while (0)

#define AVERAGE_POOL(T, name)                                                                    \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,                \
                 uint32_t worker) {                                                              \
    (void)stage;                                                                                 \
    pool_shape p;                                                                                \
    tn_status s = average_pool_shape(call, &p);                                                  \
    bool count_pads = ((const tn_average_pool_attrs *)call->attrs)->count_include_pad != 0;      \
    T *line = (T *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes); \
    for (int64_t item = begin; !s && item < end; item++) {                                       \
      SUM_ROW(T);                                                                                \
      DIVIDE_ROW(T);                                                                             \
    }                                                                                            \
    return s;                                                                                    \
  }
AVERAGE_POOL(float, average_pool_f32_c)
AVERAGE_POOL(double, average_pool_f64_c)

#define LP_POOL(T, POW, ABS, name)                                                  \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,   \
                 uint32_t worker) {                                                 \
    (void)stage, (void)worker;                                                      \
    pool_shape p;                                                                   \
    tn_status s = lp_pool_shape(call, &p);                                          \
    const T power = (T)((const tn_lp_pool_attrs *)call->attrs)->p;                  \
    for (int64_t item = begin; !s && item < end; item++) {                          \
      POOL_ROW(T, 0, y[o] += power == 2 ? v * v : POW(ABS(v), power));              \
      T *y = (T *)call->outputs[0]->data + item * p.w.out[p.w.n - 1];               \
      for (int64_t o = 0; o < p.w.out[p.w.n - 1]; o++) y[o] = POW(y[o], 1 / power); \
    }                                                                               \
    return s;                                                                       \
  }
LP_POOL(float, powf, fabsf, lp_pool_f32_c)
LP_POOL(double, pow, fabs, lp_pool_f64_c)

/* ---- largest element with its place ---- */

/* The index of the same element where the first spatial dim is counted fastest. */
static int64_t column_major(const pool_shape *p, int64_t index) {
  int64_t coord[TN_MAX_SPATIAL], at = 0;
  tn_unravel(index, p->w.in, p->w.n, coord);
  for (int32_t k = p->w.n - 1; k >= 0; k--) at = at * p->w.in[k] + coord[k];
  return at;
}

/* Places in the plane become indices of the input, -1 where the window lies in the pads. */
static void finish_indices(const pool_shape *p, bool by_column, int64_t item, int64_t *place) {
  const int64_t width = p->w.out[p->w.n - 1], plane = item * width / p->out_size * p->in_size;
  for (int64_t o = 0; o < width; o++)
    if (place[o] >= 0) place[o] = plane + (by_column ? column_major(p, place[o]) : place[o]);
}

#define MAX_POOL_INDICES(T, LOWEST, name)                                                \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,        \
                 uint32_t worker) {                                                      \
    (void)stage, (void)worker;                                                           \
    pool_shape p;                                                                        \
    const tn_status s = max_pool_shape(call, &p);                                        \
    const bool by_column = ((const tn_max_pool_attrs *)call->attrs)->storage_order != 0; \
    for (int64_t item = begin; !s && item < end; item++) {                               \
      const int64_t n = p.w.out[p.w.n - 1];                                              \
      int64_t *place = (int64_t *)call->outputs[1]->data + item * n;                     \
      for (int64_t o = 0; o < n; o++) place[o] = -1;                                     \
      POOL_ROW(T, LOWEST, const bool best = v > y[o]; y[o] = best ? v : y[o];            \
               place[o] = best || place[o] < 0 ? at + o * stride : place[o]);            \
      finish_indices(&p, by_column, item, place);                                        \
    }                                                                                    \
    return s;                                                                            \
  }
MAX_POOL_INDICES(float, -INFINITY, max_pool_indices_f32_c)
MAX_POOL_INDICES(double, -(double)INFINITY, max_pool_indices_f64_c)
MAX_POOL_INDICES(int8_t, INT8_MIN, max_pool_indices_i8_c)
MAX_POOL_INDICES(uint8_t, 0, max_pool_indices_u8_c)
