/* GridSample, portable: per point of the grid, the offsets and weights of all its taps are found
 * once and used for every channel. An item is a point. */
#include <math.h>

#include "grid.h"

#include "resize.gen.h"

/* Where a tap reads within a channel; taps that read zeros are left out. */
typedef struct tap {
  int64_t offset;
  double weight;
} tap;

enum { MAX_TAPS = 4 };

/* The taps along one axis. */
typedef struct axis_taps {
  int32_t n;
  int64_t index[MAX_TAPS];
  double weight[MAX_TAPS];
} axis_taps;

/* Folds x into low .. high, as mirrors there would. */
static double fold(double x, double low, double high) {
  double range = high - low;
  if (x >= low && x <= high) return x;
  if (!(range > 0)) return low;
  double y = fmod(fabs(x - low), 2 * range);
  return y <= range ? low + y : high - (y - range);
}

static double limit(double x, double low, double high) {
  return !(x > low) ? low : x > high ? high : x;
}

static int64_t tap_index(const grid_spec *spec, double at, int64_t size, double low, double high) {
  double last = (double)(size - 1);
  if (spec->padding == GRID_ZEROS && (at < 0 || at > last)) return -1;
  if (spec->padding == GRID_REFLECTION) at = fold(at, low, high);
  return (int64_t)limit(at, 0, last);
}

static void cubic_weights(double t, double *w) {
  const double a = -0.75, far = 1 + t, near = 1 - t, out = 2 - t;
  w[0] = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a;
  w[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
  w[2] = ((a + 2) * near - (a + 3)) * near * near + 1;
  w[3] = ((a * out - 5 * a) * out + 8 * a) * out - 4 * a;
}

/* NaN, and what is too far away to be counted, lies outside. */
static void find_axis(const grid_spec *spec, double x, int64_t size, axis_taps *out) {
  double n = (double)size, low = spec->align_corners ? 0 : -0.5,
         high = spec->align_corners ? n - 1 : n - 0.5, w[MAX_TAPS] = {1};
  double place = spec->align_corners ? (x + 1) / 2 * (n - 1) : ((x + 1) * n - 1) / 2;
  if (spec->mode == GRID_NEAREST) place = nearbyint(place);
  place = limit(place, -1e9, 1e9);
  if (place < low || place > high) {
    if (spec->padding == GRID_BORDER) place = limit(place, 0, n - 1);
    if (spec->padding == GRID_REFLECTION) place = fold(place, low, high);
  }
  double first = floor(place), t = place - first;
  int32_t taps = spec->mode == GRID_NEAREST ? 1 : spec->mode == GRID_LINEAR ? 2 : 4;
  if (taps == 2) w[0] = 1 - t, w[1] = t;
  if (taps == 4) cubic_weights(t, w), first -= 1;
  out->n = 0;
  for (int32_t k = 0; k < taps; k++) {
    int64_t index = w[k] == 0 ? -1 : tap_index(spec, first + k, size, low, high);
    if (index < 0) continue;
    out->index[out->n] = index;
    out->weight[out->n++] = w[k];
  }
}

/* All taps of a point; answers how many. */
static int64_t find_taps(const grid_spec *spec, const tn_tensor *x, const tn_tensor *grid,
                         int64_t point, tap *taps) {
  int64_t n = 1;
  taps[0].offset = 0;
  taps[0].weight = 1;
  for (int32_t d = 0; d < spec->dims; d++) {
    axis_taps axis;
    int64_t size = x->shape[d + 2];
    find_axis(spec, tn_load_f64(grid->dtype, grid->data, (point + 1) * spec->dims - 1 - d), size,
              &axis);
    for (int64_t k = n - 1; k >= 0;
         k--) { /* from the end, so that each is read before it is overwritten */
      tap outer = taps[k];
      for (int32_t j = axis.n - 1; j >= 0; j--) {
        taps[k * axis.n + j].offset = outer.offset * size + axis.index[j];
        taps[k * axis.n + j].weight = outer.weight * axis.weight[j];
      }
    }
    n *= axis.n;
  }
  return n;
}

tn_status grid_sample_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  grid_spec spec;
  tn_status s = grid_parse(call, &spec);
  int64_t taps = 1, per_axis = spec.mode == GRID_NEAREST ? 1 : spec.mode == GRID_LINEAR ? 2 : 4;
  if (s) return s;
  for (int32_t k = 0; k < spec.dims; k++) taps *= per_axis;
  out->items[0] = x->shape[1] ? tn_elements(y) / x->shape[1] : 0;
  out->grain[0] = tn_max_i64(1, 4000 / (40 + taps * x->shape[1]));
  out->worker_scratch_bytes = (uint64_t)taps * sizeof(tap);
  return TN_OK;
}

static double sum_f32(const float *x, const tap *taps, int64_t n) {
  float sum = 0;
  for (int64_t k = 0; k < n; k++) sum += (float)taps[k].weight * x[taps[k].offset];
  return (double)sum;
}

static double sum_any(const tn_tensor *x, int64_t base, const tap *taps, int64_t n) {
  double sum = 0;
  for (int64_t k = 0; k < n; k++)
    sum += taps[k].weight * tn_load_f64(x->dtype, x->data, base + taps[k].offset);
  return sum;
}

tn_status grid_sample_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                        uint32_t worker) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  tap *taps =
      (tap *)(void *)((uint8_t *)call->worker_scratch + worker * call->worker_scratch_bytes);
  int64_t channels = x->shape[1], points = 1, plane = 1;
  grid_spec spec;
  tn_status s = grid_parse(call, &spec);
  (void)stage;
  for (int32_t k = 2; k < x->rank; k++) {
    points *= y->shape[k];
    plane *= x->shape[k];
  }
  for (int64_t p = begin; p < end && !s; p++) {
    int64_t n = find_taps(&spec, x, call->inputs[1], p, taps), batch = p / points,
            point = p % points;
    for (int64_t c = 0; c < channels; c++) {
      int64_t from = (batch * channels + c) * plane, to = (batch * channels + c) * points + point;
      if (x->dtype == TN_F32)
        ((float *)y->data)[to] = (float)sum_f32((const float *)x->data + from, taps, n);
      else
        tn_store_f64(y->dtype, y->data, to, sum_any(x, from, taps, n));
    }
  }
  return s;
}
