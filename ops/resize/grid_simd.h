/* GridSample of f32 in vectors. Points are taken some hundred at a time: where their taps lie and
 * what they weigh is found once, axis by axis, and used for every channel. */
#ifndef TN_RESIZE_GRID_SIMD_H
#define TN_RESIZE_GRID_SIMD_H

#include <math.h>

#include "grid.h"
#include "tenon/kit/simd.h"

#include "resize.gen.h"

enum { GRID_POINTS = 128, GRID_TAPS = 4, GRID_MOST_TAPS = 64 };

/* The taps of the points along one axis; those that read zeros weigh nothing. */
typedef struct grid_axis {
  double place[GRID_POINTS];
  int32_t index[GRID_TAPS][GRID_POINTS];
  float weight[GRID_TAPS][GRID_POINTS];
} grid_axis;

/* A worker's scratch. */
typedef struct grid_block {
  grid_axis axis;
  uint32_t offset[GRID_MOST_TAPS][GRID_POINTS]; /* within a channel */
  float weight[GRID_MOST_TAPS][GRID_POINTS];
  tn_vf_mask weighs[GRID_MOST_TAPS][GRID_POINTS / TN_VF_LANES];
} grid_block;

static int32_t axis_taps(const grid_spec *spec) {
  return spec->mode == GRID_NEAREST ? 1 : spec->mode == GRID_LINEAR ? 2 : 4;
}

const char *TN_SIMD_NAME(grid_sample_refuse)(const tn_call *call) {
  const tn_tensor *x = call->inputs[0];
  grid_spec spec;
  int64_t taps = 1, plane = 1;
  if (grid_parse(call, &spec)) return "its attributes are no valid ones";
  for (int32_t k = 0; k < spec.dims; k++) {
    taps *= axis_taps(&spec);
    if (x->shape[k + 2] > INT32_MAX / plane) return "takes channels of less than 2^31 elements";
    plane *= x->shape[k + 2];
  }
  return taps <= GRID_MOST_TAPS ? NULL : "takes 64 taps at most";
}

tn_status TN_SIMD_NAME(grid_sample_plan)(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  grid_spec spec;
  const tn_status s = grid_parse(call, &spec);
  if (s) return s;
  double taps = 1;
  for (int32_t k = 0; k < spec.dims; k++) taps *= axis_taps(&spec);
  const double point = 4 * spec.dims + taps * (0.5 + 0.4 * (double)x->shape[1]);
  out->items[0] = x->shape[1] ? tn_elements(y) / x->shape[1] : 0;
  out->grain[0] = tn_max_i64(GRID_POINTS, tn_grain(TN_THREAD_NS, point));
  out->worker_scratch_bytes = sizeof(grid_block);
  out->cost_ns = 200 + point * (double)out->items[0];
  return TN_OK;
}

/* Folds x into low .. high, as mirrors there would. */
static double fold_back(double x, double low, double high) {
  const double range = high - low;
  if (x >= low && x <= high) return x;
  if (!(range > 0)) return low;
  const double y = fmod(fabs(x - low), 2 * range);
  return y <= range ? low + y : high - (y - range);
}

/* Where the points lie among `size` elements. NaN, and what is too far away to be counted, lies
 * outside. */
static void find_places(const grid_spec *spec, const float *grid, int64_t n, int64_t size,
                        double *place) {
  const double last = (double)(size - 1), far = 1e9, by = spec->align_corners ? last : last + 1,
               less = spec->align_corners ? 0 : 1, low = spec->align_corners ? 0 : -0.5,
               high = last - low;
  for (int64_t p = 0; p < n; p++) {
    double at = (((double)grid[p * spec->dims] + 1) * by - less) / 2;
    if (spec->mode == GRID_NEAREST) at = nearbyint(at);
    at = at > -far ? at : -far;
    place[p] = at < far ? at : far;
  }
  if (spec->padding == GRID_BORDER)
    for (int64_t p = 0; p < n; p++) {
      const double at = place[p] >= low ? place[p] : 0;
      place[p] = at <= high ? at : last;
    }
  if (spec->padding == GRID_REFLECTION)
    for (int64_t p = 0; p < n; p++) place[p] = fold_back(place[p], low, high);
}

static void find_weights(const grid_spec *spec, int64_t n, grid_axis *axis) {
  const double a = -0.75;
  if (spec->mode == GRID_NEAREST)
    for (int64_t p = 0; p < n; p++) axis->weight[0][p] = 1;
  if (spec->mode == GRID_LINEAR)
    for (int64_t p = 0; p < n; p++) {
      const double t = axis->place[p] - floor(axis->place[p]);
      axis->weight[0][p] = (float)(1 - t);
      axis->weight[1][p] = (float)t;
    }
  if (spec->mode == GRID_CUBIC)
    for (int64_t p = 0; p < n; p++) {
      const double t = axis->place[p] - floor(axis->place[p]), far = 1 + t, near = 1 - t,
                   out = 2 - t;
      axis->weight[0][p] = (float)(((a * far - 5 * a) * far + 8 * a) * far - 4 * a);
      axis->weight[1][p] = (float)(((a + 2) * t - (a + 3)) * t * t + 1);
      axis->weight[2][p] = (float)(((a + 2) * near - (a + 3)) * near * near + 1);
      axis->weight[3][p] = (float)(((a * out - 5 * a) * out + 8 * a) * out - 4 * a);
    }
}

/* The elements that the taps read. */
static void find_indices(const grid_spec *spec, int64_t n, int64_t size, grid_axis *axis) {
  const int32_t last = (int32_t)(size - 1), taps = axis_taps(spec);
  const double low = spec->align_corners ? 0 : -0.5, high = last - low;
  for (int32_t t = 0; t < taps; t++) {
    const int32_t from = taps == 4 ? t - 1 : t;
    int32_t *index = axis->index[t];
    float *weight = axis->weight[t];
    for (int64_t p = 0; p < n; p++) index[p] = (int32_t)floor(axis->place[p]) + from;
    if (spec->padding == GRID_ZEROS)
      for (int64_t p = 0; p < n; p++) weight[p] = index[p] >= 0 && index[p] <= last ? weight[p] : 0;
    if (spec->padding == GRID_REFLECTION && taps == 4)
      for (int64_t p = 0; p < n; p++) index[p] = (int32_t)fold_back(index[p], low, high);
    for (int64_t p = 0; p < n; p++) {
      const int32_t at = index[p] > 0 ? index[p] : 0;
      index[p] = at < last ? at : last;
    }
  }
}

/* Which lanes weigh anything. */
static void find_masks(float *weight, int64_t n, tn_vf_mask *weighs) {
  typedef float lanes __attribute__((vector_size(4 * TN_VF_LANES)));
  for (int64_t p = n; p % TN_VF_LANES; p++) weight[p] = 0;
  for (int64_t p = 0; p < n; p += TN_VF_LANES) {
    lanes w;
    memcpy(&w, weight + p, sizeof w);
    weighs[p / TN_VF_LANES] = tn_vf_mask_of((tn_vi)(w != 0));
  }
}

/* All taps of n points; answers how many each has. */
static int32_t find_block(const grid_spec *spec, const tn_tensor *x, const float *grid, int64_t n,
                          grid_block *b) {
  const int32_t each = axis_taps(spec);
  int32_t taps = 1;
  for (int64_t p = 0; p < n; p++) b->offset[0][p] = 0, b->weight[0][p] = 1;
  for (int32_t d = 0; d < spec->dims; d++) {
    const uint32_t size = (uint32_t)x->shape[d + 2];
    find_places(spec, grid + spec->dims - 1 - d, n, size, b->axis.place);
    find_weights(spec, n, &b->axis);
    find_indices(spec, n, size, &b->axis);
    /* from the end, so that each is read before it is overwritten */
    for (int32_t k = taps - 1; k >= 0; k--)
      for (int32_t j = each - 1; j >= 0; j--)
        for (int64_t p = 0; p < n; p++) {
          b->offset[k * each + j][p] = b->offset[k][p] * size + (uint32_t)b->axis.index[j][p];
          b->weight[k * each + j][p] = b->weight[k][p] * b->axis.weight[j][p];
        }
    taps *= each;
  }
  for (int32_t k = 0; k < taps; k++) find_masks(b->weight[k], n, b->weighs[k]);
  return taps;
}

static inline __attribute__((always_inline)) void sum_taps(const grid_block *b, int32_t taps,
                                                           const float *x, int64_t n, float *y) {
  for (int64_t p = 0; p < n; p += TN_VF_LANES) {
    tn_vf sum = tn_vf_set1(0);
    for (int32_t k = 0; k < taps; k++) {
      tn_vu at;
      memcpy(&at, b->offset[k] + p, sizeof at);
      sum = tn_vf_fma(tn_vf_load(b->weight[k] + p),
                      tn_vf_gather(b->weighs[k][p / TN_VF_LANES], x, at), sum);
    }
    tn_vf_store_mask(y + p, tn_vf_mask_first(tn_min_i64(TN_VF_LANES, n - p)), sum);
  }
}

tn_status TN_SIMD_NAME(grid_sample)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                    uint32_t worker) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const int64_t channels = x->shape[1], points = tn_dims_size(y->shape + 2, y->rank - 2),
                plane = tn_dims_size(x->shape + 2, x->rank - 2);
  grid_block *b =
      (grid_block *)(void *)((uint8_t *)call->worker_scratch + worker * call->worker_scratch_bytes);
  grid_spec spec;
  const tn_status s = grid_parse(call, &spec);
  (void)stage;
  for (int64_t p = begin, n; p < end && !s; p += n) {
    const int64_t batch = p / points, point = p % points;
    n = tn_min_i64(GRID_POINTS, tn_min_i64(end - p, points - point));
    const int32_t taps =
        find_block(&spec, x, (const float *)call->inputs[1]->data + p * spec.dims, n, b);
    for (int64_t c = batch * channels; c < (batch + 1) * channels; c++) {
      const float *from = (const float *)x->data + c * plane;
      float *to = (float *)y->data + c * points + point;
      if (taps == 4)
        sum_taps(b, 4, from, n, to);
      else
        sum_taps(b, taps, from, n, to);
    }
  }
  return s;
}

#endif
