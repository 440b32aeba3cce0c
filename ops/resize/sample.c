/* Where output places lie in the input, and which elements with which weights make them. */
#include <math.h>

#include "resize.h"

/* The support of the filters: how far from a sample an element has weight, at a scale of 1 or more.
 */
static double support(const resize_spec *spec) { return spec->mode == RESIZE_CUBIC ? 2 : 1; }

/* The filters are stretched by this when they also have to smooth. */
static double shrink(const resize_spec *spec, const resize_axis *axis) {
  return spec->antialias ? fmin(axis->scale, 1) : 1;
}

int64_t resize_taps(const resize_spec *spec, const resize_axis *axis) {
  if (!axis->resized || spec->mode == RESIZE_NEAREST || axis->out == 0) return 1;
  return 2 * (int64_t)fmin(ceil(support(spec) / shrink(spec, axis)), 0x1p40);
}

static double source_place(const resize_spec *spec, const resize_axis *axis, int64_t at) {
  double x = (double)at, in = (double)axis->in, out = (double)axis->out, ratio = in / axis->width;
  switch (spec->coords) {
    case COORDS_ALIGN_CORNERS: return axis->width == 1 ? 0 : x * (in - 1) / (axis->width - 1);
    case COORDS_ASYMMETRIC: return x * in / axis->width;
    case COORDS_TF_HALF_PIXEL_FOR_NN: return (x + 0.5) * in / axis->width;
    case COORDS_PYTORCH_HALF_PIXEL: return axis->out > 1 ? (x + 0.5) * in / axis->width - 0.5 : 0;
    case COORDS_HALF_PIXEL_SYMMETRIC:
      return in / 2 * (1 - out / axis->width) + (x + 0.5) * ratio - 0.5;
    case COORDS_TF_CROP_AND_RESIZE:
      if (axis->out == 1) return 0.5 * (axis->start + axis->end) * (in - 1);
      return axis->start * (in - 1) + x * (axis->end - axis->start) * (in - 1) / (out - 1);
    default: return (x + 0.5) * in / axis->width - 0.5;
  }
}

/* Places are multiples of 2^-40: no rounding error decides on which side of a border one falls. For
 * nearest neighbours, nor does that of a scale: 0.6f is 0.6, and place 3 is 5, not below it. */
static double settle(const resize_spec *spec, double place) {
  const double border = nearbyint(place * 2) / 2;
  if (spec->mode == RESIZE_NEAREST && fabs(place - border) <= fabs(border) * 0x1p-22) return border;
  return nearbyint(place * 0x1p40) * 0x1p-40;
}

static int64_t clamp_index(double place, int64_t size) {
  if (!(place > 0)) return 0;
  return place < (double)(size - 1) ? (int64_t)place : size - 1;
}

static double round_place(resize_rounding rounding, double place) {
  switch (rounding) {
    case ROUND_PREFER_FLOOR: return ceil(place - 0.5);
    case ROUND_PREFER_CEIL: return floor(place + 0.5);
    case ROUND_FLOOR: return floor(place);
    default: return ceil(place);
  }
}

static double filter(const resize_spec *spec, double distance) {
  double x = fabs(distance), a = spec->cubic_a;
  if (spec->mode == RESIZE_LINEAR) return fmax(0, 1 - x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Taps around place; elements outside of the input are its edge, or have no weight. */
static void fill_place(const resize_spec *spec, const resize_axis *axis, double place, int64_t taps,
                       int64_t *index, double *weight) {
  double first = ceil(place) - (double)(taps / 2), narrow = shrink(spec, axis), sum = 0;
  for (int64_t t = 0; t < taps; t++) {
    double at = first + (double)t;
    bool outside = at < 0 || at > (double)(axis->in - 1);
    index[t] = clamp_index(at, axis->in);
    weight[t] = spec->exclude_outside && outside ? 0 : filter(spec, (at - place) * narrow);
    sum += weight[t];
  }
  bool normalize = (spec->antialias || spec->exclude_outside) && sum != 0;
  for (int64_t t = 0; t < taps && normalize; t++) weight[t] /= sum;
}

static void fill_table(const resize_spec *spec, const resize_axis *axis, resize_table *t) {
  for (int64_t x = 0; x < axis->out; x++) {
    int64_t *index = t->index + x * t->taps;
    double *weight = t->weight + x * t->taps,
           place = axis->resized ? settle(spec, source_place(spec, axis, x)) : (double)x;
    t->outside[x] = spec->coords == COORDS_TF_CROP_AND_RESIZE && axis->resized &&
                    (place < 0 || place > (double)(axis->in - 1));
    if (t->taps > 1) {
      fill_place(spec, axis, place, t->taps, index, weight);
    } else {
      index[0] = clamp_index(axis->resized ? round_place(axis->rounding, place) : place, axis->in);
      weight[0] = 1;
    }
  }
  for (int64_t k = 0; k < axis->out * t->taps; k++) t->weight_f32[k] = (float)t->weight[k];
}

/* Per output place: the taps' indices, weights twice, and a flag; all rounded up to 16 bytes. */
tn_status resize_table_bytes(const resize_spec *spec, const resize_axis *axis,
                             uint64_t *out_bytes) {
  int64_t n;
  if (tn_mul_i64(axis->out, resize_taps(spec, axis), &n) || n >> 40)
    return TN_ERR_OVERFLOW; /* a scale may be tiny */
  *out_bytes = tn_round_up((uint64_t)(n * 20 + axis->out + 64), 16);
  return TN_OK;
}

void resize_table_fill(const resize_spec *spec, const resize_axis *axis, void *memory,
                       resize_table *out) {
  int64_t taps = resize_taps(spec, axis), n = axis->out * taps;
  int64_t *index = memory;
  double *weight = (double *)(void *)(index + n);
  float *weight_f32 = (float *)(void *)(weight + n);
  const resize_table made = {.taps = taps,
                             .index = index,
                             .weight = weight,
                             .weight_f32 = weight_f32,
                             .outside = (uint8_t *)(weight_f32 + n)};
  *out = made;
  fill_table(spec, axis, out);
}
