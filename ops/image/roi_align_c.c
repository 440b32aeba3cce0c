/* RoiAlign, portable; an item is a region. The points of a region form a grid, so that means are
 * taken axis by axis: rows are mixed by what all points of a row of cells weigh them, then columns
 * of the mixed row. The largest corners are looked for point by point. */
#include <math.h>

#include "image.gen.h"
#include "roi_align.h"
#include "tenon/kit/text.h"

enum { POINTS = 1024 }; /* whose corners are found at once */

static bool is_max(const tn_call *call) {
  return tn_str_is(((const tn_roi_align_attrs *)call->attrs)->mode, "max");
}

/* Elements of an axis that a cell is made of, at most. */
static int64_t most_taps(const tn_roi_align_attrs *a, int64_t size) {
  return a->sampling_ratio > 0 ? tn_min_i64(2 * a->sampling_ratio, size) : size;
}

/* Bytes of scratch for the taps of an axis of `cells` cells: how many each cell has, what they are
 * and what they weigh. */
static tn_status axis_bytes(int64_t cells, int64_t most, int64_t *out) {
  if (tn_mul_i64(cells, most + 1, out) || tn_mul_i64(*out, 16, out)) return TN_ERR_OVERFLOW;
  return TN_OK;
}

tn_status roi_align_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_roi_align_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const int64_t taps_y = most_taps(a, x->shape[2]), taps_x = most_taps(a, x->shape[3]);
  int64_t of_y, of_x, bytes;
  tn_status s = axis_bytes(a->output_height, taps_y, &of_y);
  if (!s) s = axis_bytes(a->output_width, taps_x, &of_x);
  if (s || tn_add_i64(of_y, of_x, &bytes) || tn_add_i64(bytes, x->shape[3] * 8, &bytes))
    return call->host->fail(call->ctx, TN_ERR_OVERFLOW, "the cells are too many");
  if (is_max(call)) bytes = (int64_t)sizeof(roi_corners[POINTS]);
  const double taps = (double)(tn_min_i64(taps_y, 8) + tn_min_i64(taps_x, 8));
  out->items[0] = y->shape[0];
  out->elements_per_item = y->shape[1] * y->shape[2] * y->shape[3];
  out->worker_scratch_bytes = (uint64_t)bytes;
  out->cost_ns = 200 + (double)tn_elements(y) * (is_max(call) ? 20 : 0.3 * taps);
  return TN_OK;
}

#define ROI_ALIGN(T)                                                                               \
  typedef struct axis_##T {                                                                        \
    int64_t cells, most;                                                                           \
    int64_t *n, *at; /* [cells]; [cells][most] */                                                  \
    T *weight;       /* [cells][most] */                                                           \
  } axis_##T;                                                                                      \
  static uint8_t *axis_in_##T(uint8_t *memory, int64_t cells, int64_t most, axis_##T *out) {       \
    out->cells = cells, out->most = most;                                                          \
    out->n = (int64_t *)(void *)memory;                                                            \
    out->at = out->n + cells;                                                                      \
    out->weight = (T *)(void *)(out->at + cells * most);                                           \
    return memory + cells * (most + 1) * 16;                                                       \
  }                                                                                                \
  /* Points come in ascending order: what there is already of an element, stands at the end. */    \
  static void add_tap_##T(const axis_##T *axis, int64_t cell, int64_t at, double weight) {         \
    int64_t *n = &axis->n[cell], *index = axis->at + cell * axis->most, k = *n;                    \
    T *w = axis->weight + cell * axis->most;                                                       \
    if (k > 0 && index[k - 1] == at) {                                                             \
      w[k - 1] += (T)weight;                                                                       \
    } else if (k > 1 && index[k - 2] == at) {                                                      \
      w[k - 2] += (T)weight;                                                                       \
    } else {                                                                                       \
      index[k] = at;                                                                               \
      w[k] = (T)weight;                                                                            \
      ++*n;                                                                                        \
    }                                                                                              \
  }                                                                                                \
  static void fill_axis_##T(const axis_##T *axis, double start, double cell, int64_t grid,         \
                            int64_t size, double scale) {                                          \
    for (int64_t k = 0; k < axis->cells; k++) {                                                    \
      axis->n[k] = 0;                                                                              \
      for (int64_t i = 0; i < grid; i++) {                                                         \
        const double point = (double)(cell < 0 ? grid - 1 - i : i);                                \
        double at = start + cell * ((double)k + (point + 0.5) / (double)grid);                     \
        if (!(at >= -1 && at <= (double)size) || !size) continue;                                  \
        at = fmin(fmax(at, 0), (double)(size - 1));                                                \
        const int64_t low = (int64_t)at, high = tn_min_i64(low + 1, size - 1);                     \
        add_tap_##T(axis, k, low, (1 - (at - (double)low)) * scale);                               \
        add_tap_##T(axis, k, high, (at - (double)low) * scale);                                    \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  /* The columns that any cell needs are low .. high-1. */                                         \
  static void span_##T(const axis_##T *axis, int64_t *low, int64_t *high) {                        \
    *low = INT64_MAX, *high = 0;                                                                   \
    for (int64_t k = 0; k < axis->cells; k++)                                                      \
      for (int64_t i = 0; i < axis->n[k]; i++) {                                                   \
        *low = tn_min_i64(*low, axis->at[k * axis->most + i]);                                     \
        *high = tn_max_i64(*high, axis->at[k * axis->most + i] + 1);                               \
      }                                                                                            \
  }                                                                                                \
  static void mix_rows_##T(const axis_##T *axis, int64_t cell, const T *plane, int64_t width,      \
                           int64_t low, int64_t high, T *sum) {                                    \
    const int64_t *at = axis->at + cell * axis->most;                                              \
    const T *w = axis->weight + cell * axis->most;                                                 \
    int64_t k = 0;                                                                                 \
    for (int64_t x = low; x < high; x++) sum[x] = 0;                                               \
    for (; k + 2 <= axis->n[cell]; k += 2) {                                                       \
      const T *a = plane + at[k] * width, *b = plane + at[k + 1] * width, wa = w[k],               \
              wb = w[k + 1];                                                                       \
      for (int64_t x = low; x < high; x++) sum[x] += wa * a[x] + wb * b[x];                        \
    }                                                                                              \
    if (k < axis->n[cell])                                                                         \
      for (int64_t x = low; x < high; x++) sum[x] += w[k] * plane[at[k] * width + x];              \
  }                                                                                                \
  static void mix_columns_##T(const axis_##T *axis, const T *row, T *y) {                          \
    for (int64_t k = 0; k < axis->cells; k++) {                                                    \
      const int64_t *at = axis->at + k * axis->most;                                               \
      const T *w = axis->weight + k * axis->most;                                                  \
      T sum = 0;                                                                                   \
      for (int64_t i = 0; i < axis->n[k]; i++) sum += w[i] * row[at[i]];                           \
      y[k] = sum;                                                                                  \
    }                                                                                              \
  }                                                                                                \
  static void means_##T(const tn_call *call, const roi_region *r, uint8_t *scratch, T *y) {        \
    const tn_roi_align_attrs *a = call->attrs;                                                     \
    const tn_tensor *x = call->inputs[0];                                                          \
    const int64_t height = x->shape[2], width = x->shape[3], n = r->grid_y * r->grid_x;            \
    int64_t low, high;                                                                             \
    axis_##T down, along;                                                                          \
    scratch = axis_in_##T(scratch, a->output_height, most_taps(a, height), &down);                 \
    scratch = axis_in_##T(scratch, a->output_width, most_taps(a, width), &along);                  \
    T *row = (T *)(void *)scratch;                                                                 \
    fill_axis_##T(&down, r->y, r->cell_y, r->grid_y, height, 1);                                   \
    fill_axis_##T(&along, r->x, r->cell_x, r->grid_x, width, n ? 1 / (double)n : 0);               \
    span_##T(&along, &low, &high);                                                                 \
    for (int64_t c = 0; c < x->shape[1]; c++) {                                                    \
      const T *plane = (const T *)x->data + (r->batch * x->shape[1] + c) * height * width;         \
      for (int64_t k = 0; k < a->output_height; k++, y += a->output_width) {                       \
        mix_rows_##T(&down, k, plane, width, low, high, row);                                      \
        mix_columns_##T(&along, row, y);                                                           \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  typedef struct point_##T {                                                                       \
    int64_t at[4];                                                                                 \
    T weight[4];                                                                                   \
  } point_##T;                                                                                     \
  /* The largest of points and what there is; NaN only if nothing is a number. */                  \
  static T take_points_##T(const point_##T *c, int64_t n, const T *x, T best) {                    \
    T a = (T)-INFINITY, b = a, d = a, e = a;                                                       \
    for (int64_t k = 0; k < n; k++) {                                                              \
      const T va = c[k].weight[0] * x[c[k].at[0]], vb = c[k].weight[1] * x[c[k].at[1]],            \
              vd = c[k].weight[2] * x[c[k].at[2]], ve = c[k].weight[3] * x[c[k].at[3]];            \
      a = va > a ? va : a, b = vb > b ? vb : b, d = vd > d ? vd : d, e = ve > e ? ve : e;          \
    }                                                                                              \
    a = a > b ? a : b, d = d > e ? d : e, a = a > d ? a : d;                                       \
    if (a > (T)-INFINITY) return best > a ? best : a;                                              \
    for (int64_t k = 0; k < 4 * n; k++)                                                            \
      if (!isnan(c[k / 4].weight[k % 4] * x[c[k / 4].at[k % 4]])) return best > a ? best : a;      \
    return best;                                                                                   \
  }                                                                                                \
  static void find_points_##T(const tn_call *call, const roi_region *r, int64_t begin, int64_t n,  \
                              point_##T *points) {                                                 \
    const int64_t width = ((const tn_roi_align_attrs *)call->attrs)->output_width,                 \
                  each = r->grid_y * r->grid_x;                                                    \
    for (int64_t k = 0; k < n; k++) {                                                              \
      const int64_t cell = (begin + k) / each, point = (begin + k) % each;                         \
      const roi_corners c = roi_corners_of(r, cell / width, cell % width, point / r->grid_x,       \
                                           point % r->grid_x, call->inputs[0]);                    \
      for (int i = 0; i < 4; i++) points[k].at[i] = c.at[i], points[k].weight[i] = (T)c.weight[i]; \
    }                                                                                              \
  }                                                                                                \
  static void largest_##T(const tn_call *call, const roi_region *r, point_##T *points, T *y) {     \
    const tn_tensor *x = call->inputs[0], *out = call->outputs[0];                                 \
    const int64_t cells = out->shape[2] * out->shape[3], n = r->grid_y * r->grid_x,                \
                  plane = x->shape[2] * x->shape[3];                                               \
    const T *from = (const T *)x->data + r->batch * x->shape[1] * plane;                           \
    for (int64_t k = 0; k < x->shape[1] * cells; k++) y[k] = 0;                                    \
    for (int64_t p = 0; plane && p < cells * n; p += POINTS) {                                     \
      const int64_t some = tn_min_i64(POINTS, cells * n - p);                                      \
      find_points_##T(call, r, p, some, points);                                                   \
      for (int64_t c = 0; c < x->shape[1]; c++) {                                                  \
        int64_t point = p % n, run;                                                                \
        T *best = y + c * cells + p / n;                                                           \
        for (int64_t k = 0; k < some; k += run, point = 0, best++) {                               \
          run = tn_min_i64(n - point, some - k);                                                   \
          *best = take_points_##T(points + k, run, from + c * plane, point ? *best : (T)NAN);      \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  static tn_status run_##T(const tn_call *call, int64_t begin, int64_t end, uint32_t worker) {     \
    const tn_tensor *out = call->outputs[0];                                                       \
    uint8_t *scratch = (uint8_t *)call->worker_scratch + worker * call->worker_scratch_bytes;      \
    tn_status s = TN_OK;                                                                           \
    roi_region r;                                                                                  \
    for (int64_t k = begin; k < end && !s; k++) {                                                  \
      T *y = (T *)out->data + k * tn_dims_size(out->shape + 1, 3);                                 \
      s = roi_region_of(call, k, &r);                                                              \
      if (!s && is_max(call))                                                                      \
        largest_##T(call, &r, (point_##T *)(void *)scratch, y);                                    \
      else if (!s)                                                                                 \
        means_##T(call, &r, scratch, y);                                                           \
    }                                                                                              \
    return s;                                                                                      \
  }
ROI_ALIGN(float)
ROI_ALIGN(double)

tn_status roi_align_f32_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  (void)stage;
  return run_float(call, begin, end, worker);
}

tn_status roi_align_f64_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  (void)stage;
  return run_double(call, begin, end, worker);
}
