/* GridSample: inference and reference. */
#include <math.h>
#include <string.h>

#include "grid.h"

#include "resize.gen.h"

static bool is_word(tn_str s, const char *word) {
  return (int64_t)strlen(word) == s.size && !memcmp(s.data, word, (size_t)s.size);
}

tn_status grid_parse(const tn_call *call, grid_spec *out) {
  const tn_grid_sample_attrs *a = call->attrs;
  static const char *const paddings[] = {"zeros", "border", "reflection"};
  int padding = 0;
  bool linear = is_word(a->mode, "linear") || is_word(a->mode, "bilinear"),
       cubic = is_word(a->mode, "cubic") || is_word(a->mode, "bicubic");
  if (!linear && !cubic && !is_word(a->mode, "nearest"))
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                            "mode '%.*s' is none of nearest, linear, cubic",
                            (int)tn_min_i64(a->mode.size, 100), a->mode.data);
  while (padding < 3 && !is_word(a->padding_mode, paddings[padding])) padding++;
  if (padding == 3)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                            "padding_mode '%.*s' is none of zeros, border, reflection",
                            (int)tn_min_i64(a->padding_mode.size, 100), a->padding_mode.data);
  const grid_spec made = {.mode = linear  ? GRID_LINEAR
                                  : cubic ? GRID_CUBIC
                                          : GRID_NEAREST,
                          .padding = (grid_padding)padding,
                          .align_corners = a->align_corners != 0,
                          .dims = call->inputs[0]->rank - 2};
  *out = made;
  return TN_OK;
}

tn_status grid_sample_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[0], *grid = call->inputs[1];
  char a[TN_TENSOR_TEXT], b[TN_TENSOR_TEXT];
  int64_t dims[TN_MAX_RANK];
  grid_spec spec;
  tn_status s = grid_parse(call, &spec);
  if (s) return s;
  bool fits = x->rank >= 3 && grid->rank == x->rank && grid->shape[0] == x->shape[0] &&
              grid->shape[grid->rank - 1] == x->rank - 2;
  if (!fits)
    return call->host->fail(
        call->ctx, TN_ERR_SHAPE,
        "X, %s, and grid, %s, do not fit: grid is [N, out dims..., dims of X but two]",
        tn_tensor_text(x, a, sizeof a), tn_tensor_text(grid, b, sizeof b));
  dims[0] = x->shape[0];
  dims[1] = x->shape[1];
  for (int32_t k = 2; k < x->rank; k++) {
    dims[k] = grid->shape[k - 1];
    if (x->shape[k] == 0)
      return call->host->fail(call->ctx, TN_ERR_SHAPE, "dim %d of X has no elements to sample",
                              (int)k);
  }
  tn_infer_shape(call, 0, x->dtype, x->rank, dims);
  return TN_OK;
}

/* Products and sums of neighbours; their weights are made once for all channels. */
tn_status grid_sample_flops(const tn_call *call, double *out_flops) {
  grid_spec spec;
  tn_status s = grid_parse(call, &spec);
  if (s) return s;
  const double taps = pow(spec.mode == GRID_CUBIC ? 4 : 2, spec.dims);
  *out_flops = spec.mode == GRID_NEAREST ? 0 : 2 * taps * (double)tn_elements(call->outputs[0]);
  return TN_OK;
}

/* ---- reference: as the ONNX specification's own implementation, one element at a time ---- */

static double reflect(double x, double low, double high) {
  double range = high - low, over = x < low ? low - x : x - high;
  if (x >= low && x <= high) return x;
  if (!(range > 0)) return low;
  double turns = floor(over / range), rest = over - turns * range;
  bool even = fmod(turns, 2) == 0;
  return (x < low) == even ? low + rest : high - rest;
}

static void borders(const grid_spec *spec, int64_t size, double *low, double *high) {
  *low = spec->align_corners ? 0 : -0.5;
  *high = spec->align_corners ? (double)(size - 1) : (double)size - 0.5;
}

/* Coordinate -1 .. 1 to a place among `size` elements. */
static double reference_place(const grid_spec *spec, double x, int64_t size) {
  double low, high, n = (double)size;
  double place = spec->align_corners ? (x + 1) / 2 * (n - 1) : ((x + 1) * n - 1) / 2;
  if (spec->mode == GRID_NEAREST) place = nearbyint(place);
  place = place != place ? -1e9 : fmin(fmax(place, -1e9), 1e9); /* far outside */
  borders(spec, size, &low, &high);
  if (place >= low && place <= high) return place;
  if (spec->padding == GRID_BORDER) return fmin(fmax(place, 0), n - 1);
  if (spec->padding == GRID_REFLECTION) return reflect(place, low, high);
  return place;
}

/* Index of the element at a whole place; -1: zero. */
static int64_t reference_pixel(const grid_spec *spec, double place, int64_t size) {
  double low, high, last = (double)(size - 1);
  borders(spec, size, &low, &high);
  if (spec->padding == GRID_BORDER) return (int64_t)fmin(fmax(place, 0), last);
  if (spec->padding == GRID_REFLECTION)
    return (int64_t)fmin(fmax(trunc(reflect(place, low, high)), 0), last);
  return place < 0 || place > last ? -1 : (int64_t)place;
}

static double cubic_weight(double distance) {
  double d = fabs(distance), a = -0.75;
  if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  return d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
}

static double reference_sum(const grid_spec *spec, const tn_tensor *x, const double *place,
                            int32_t k, int64_t base) {
  if (k == spec->dims) return tn_load_f64(x->dtype, x->data, base);
  int64_t size = x->shape[k + 2];
  double first = floor(place[k]) - (spec->mode == GRID_CUBIC ? 1 : 0), sum = 0;
  int32_t n = spec->mode == GRID_NEAREST ? 1 : spec->mode == GRID_LINEAR ? 2 : 4;
  for (int32_t t = 0; t < n; t++) {
    double at = first + t, d = at - place[k],
           w = n == 1   ? 1
               : n == 2 ? 1 - fabs(d)
                        : cubic_weight(d);
    int64_t index = reference_pixel(spec, at, size);
    if (index >= 0 && w != 0) sum += w * reference_sum(spec, x, place, k + 1, base * size + index);
  }
  return sum;
}

tn_status grid_sample_reference(const tn_call *call) {
  const tn_tensor *x = call->inputs[0], *grid = call->inputs[1], *y = call->outputs[0];
  grid_spec spec;
  tn_status s = grid_parse(call, &spec);
  int64_t points = 1;
  for (int32_t k = 2; k < y->rank; k++) points *= y->shape[k];
  for (int64_t i = 0; !s && i < tn_elements(y); i++) {
    double place[TN_MAX_RANK];
    int64_t n = i / points / y->shape[1], c = i / points % y->shape[1],
            point = n * points + i % points;
    for (int32_t k = 0; k < spec.dims;
         k++) { /* the last coordinate of the grid is for the first spatial dim */
      double at = tn_load_f64(grid->dtype, grid->data, point * spec.dims + spec.dims - 1 - k);
      place[k] = reference_place(&spec, at, x->shape[k + 2]);
    }
    tn_store_f64(y->dtype, y->data, i, reference_sum(&spec, x, place, 0, n * x->shape[1] + c));
  }
  return s;
}
