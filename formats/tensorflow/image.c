/* Images and boxes. */
#include <float.h>
#include <math.h>

#include "lower.h"
#include "tensorflow.gen.h"

/* ---- boxes ---- */

/* Indices of boxes that are kept, i32, and how many: n_out 1 to 3, as the versions of the operator
 * have them. The first has its threshold as an attribute. */
static tn_status suppress(const tn_call *call, tn_graph *graph, int32_t node, int scores_at,
                          int valid_at) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *boxes = tn_low_type(&l, 0);
  const tn_status s = lo_rank(&l, 0, 2);
  if (s) return s;
  const int64_t n = boxes->shape[0], one = 1, box_shape[] = {1, n, 4}, score_shape[] = {1, 1, n};
  const int32_t most = tn_low_reshape(&l, tn_low_in_i64(&l, 2), 1, &one);
  const int32_t in[] = {
      tn_low_reshape(&l, tn_low_in(&l, 0), 3, box_shape),
      tn_low_reshape(&l, tn_low_in(&l, 1), 3, score_shape), most,
      tn_low_type(&l, 3)
          ? tn_low_reshape(&l, tn_low_in(&l, 3), 1, &one)
          : tn_low_reshape(&l, tn_low_number(&l, TN_F32, tn_low_float(&l, "iou_threshold", 0.5)), 1,
                           &one),
      tn_low_type(&l, 4) ? tn_low_reshape(&l, tn_low_in(&l, 4), 1, &one) : TN_NO_ID};
  const int32_t all = tn_low_emit(&l, "NonMaxSuppression", in, 5, NULL, 0);
  int32_t kept = lo_squeeze(&l, lo_slice(&l, all, 1, 2, 3), 1), out[3];
  const tn_attr attrs[] = {tn_attr_int("start", 0), tn_attr_int("end", 1)};
  const int32_t count = tn_low_emit(&l, "Shape", &kept, 1, attrs, 2);
  int32_t scores = tn_low_2(&l, "Gather", tn_low_in(&l, 1), kept);
  if (tn_low_int(&l, "pad_to_max_output_size", 0)) {
    const int32_t rest = tn_low_2(&l, "Sub", most, count);
    const int32_t ids[] = {kept, tn_low_2(&l, "Expand", tn_low_number(&l, TN_I64, 0), rest)};
    const int32_t points[] = {
        scores, tn_low_2(&l, "Expand", tn_low_number(&l, tn_low_type(&l, 1)->dtype, 0), rest)};
    kept = lo_concat(&l, ids, 2, 0);
    scores = lo_concat(&l, points, 2, 0);
  }
  out[0] = tn_low_cast(&l, kept, TN_I32);
  if (scores_at) out[scores_at] = scores;
  if (valid_at) out[valid_at] = lo_squeeze(&l, tn_low_cast(&l, count, TN_I32), 0);
  return tn_low_done_many(&l, out, call->n_outputs);
}

tn_status tf_nms(const tn_call *call, tn_graph *graph, int32_t node) {
  return suppress(call, graph, node, 0, 0);
}

tn_status tf_nms_v4(const tn_call *call, tn_graph *graph, int32_t node) {
  return suppress(call, graph, node, 0, 1);
}

tn_status tf_nms_v5(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *sigma = tn_low_type(&l, 5);
  float value;
  if (!sigma || sigma->dtype != TN_F32) return tn_low_unsupported(&l, "a sigma of this type");
  if (!sigma->data) return TN_NEEDS_DATA;
  memcpy(&value, sigma->data, sizeof value);
  if (value != 0) return tn_low_unsupported(&l, "boxes whose scores only sink (soft_nms_sigma)");
  return suppress(call, graph, node, 1, 2);
}

/* ---- CropAndResize ---- */

typedef struct crop {
  const tn_lowering *l;
  int32_t image, box_ind, boxes;
  int64_t n, channels;
} crop;

/* Coordinates along one dim, [n, count]: of boxes [n, 4], columns `from` and `from` + 2. */
static int32_t coordinates(const crop *c, int64_t from, int64_t count, int64_t size) {
  const tn_lowering *l = c->l;
  const int32_t lo = lo_slice(l, c->boxes, 1, from, from + 1),
                hi = lo_slice(l, c->boxes, 1, from + 2, from + 3),
                last = tn_low_number(l, TN_F32, (double)(size - 1));
  if (count == 1)
    return tn_low_2(l, "Mul",
                    tn_low_2(l, "Mul", tn_low_2(l, "Add", lo, hi), tn_low_number(l, TN_F32, 0.5)),
                    last);
  const int32_t steps =
      tn_low_cast(l,
                  tn_low_3(l, "Range", tn_low_number(l, TN_I64, 0),
                           tn_low_number(l, TN_I64, (double)count), tn_low_number(l, TN_I64, 1)),
                  TN_F32);
  const int32_t scale = tn_low_2(l, "Div", tn_low_2(l, "Mul", tn_low_2(l, "Sub", hi, lo), last),
                                 tn_low_number(l, TN_F32, (double)(count - 1)));
  return tn_low_2(l, "Add", tn_low_2(l, "Mul", lo, last),
                  tn_low_2(l, "Mul", lo_unsqueeze(l, steps, 0), scale));
}

/* Pixels [n, h, w, C] at y [n, h] and x [n, w], which are whole. */
static int32_t pixels(const crop *c, int32_t y, int32_t x, int64_t h, int64_t w) {
  const tn_lowering *l = c->l;
  const int64_t full[] = {c->n, h, w, 1}, rows[] = {c->n, h, 1, 1}, columns[] = {c->n, 1, w, 1},
                each[] = {c->n, 1, 1, 1};
  const int32_t shape = tn_low_ints_const(l, full, 4);
  const int32_t parts[] = {
      tn_low_2(l, "Expand", tn_low_reshape(l, c->box_ind, 4, each), shape),
      tn_low_2(l, "Expand", tn_low_reshape(l, tn_low_cast(l, y, TN_I64), 4, rows), shape),
      tn_low_2(l, "Expand", tn_low_reshape(l, tn_low_cast(l, x, TN_I64), 4, columns), shape)};
  return tn_low_2(l, "GatherND", c->image, lo_concat(l, parts, 3, -1));
}

/* 1 where the coordinate lies in the image. */
static int32_t inside(const tn_lowering *l, int32_t at, int64_t size) {
  return tn_low_2(l, "And", tn_low_2(l, "GreaterOrEqual", at, tn_low_number(l, TN_F32, 0)),
                  tn_low_2(l, "LessOrEqual", at, tn_low_number(l, TN_F32, (double)(size - 1))));
}

static int32_t clamped(const tn_lowering *l, int32_t at, int64_t size) {
  return tn_low_2(l, "Min", tn_low_2(l, "Max", at, tn_low_number(l, TN_F32, 0)),
                  tn_low_number(l, TN_F32, (double)(size - 1)));
}

static int32_t between(const tn_lowering *l, int32_t a, int32_t b, int32_t weight) {
  return tn_low_2(l, "Add", a, tn_low_2(l, "Mul", tn_low_2(l, "Sub", b, a), weight));
}

tn_status tf_crop_and_resize(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  int64_t size[2], n;
  tn_status s = lo_rank(&l, 0, 4);
  if (!s) s = lo_rank(&l, 1, 2);
  if (!s) s = lo_const_ints(&l, 3, size, 2, &n);
  if (s) return s;
  const tn_tensor *x = tn_low_type(&l, 0);
  const int64_t h = x->shape[1], w = x->shape[2];
  if (n != 2 || size[0] < 1 || size[1] < 1 || h < 1 || w < 1)
    return tn_low_unsupported(&l, "a crop of this size");
  const crop c = {
      .l = &l,
      .image = x->dtype == TN_F32 ? tn_low_in(&l, 0) : tn_low_cast(&l, tn_low_in(&l, 0), TN_F32),
      .box_ind = tn_low_in_i64(&l, 2),
      .boxes = tn_low_in(&l, 1),
      .n = tn_low_type(&l, 1)->shape[0],
      .channels = x->shape[3]};
  const int32_t ys = coordinates(&c, 0, size[0], h), xs = coordinates(&c, 1, size[1], w);
  const int64_t rows[] = {c.n, size[0], 1, 1}, columns[] = {c.n, 1, size[1], 1};
  const int32_t in_y = clamped(&l, ys, h), in_x = clamped(&l, xs, w);
  int32_t y;
  if (lo_says(&l, "method", "nearest")) {
    const int32_t half = tn_low_number(&l, TN_F32, 0.5);
    y = pixels(&c, tn_low_1(&l, "Floor", tn_low_2(&l, "Add", in_y, half)),
               tn_low_1(&l, "Floor", tn_low_2(&l, "Add", in_x, half)), size[0], size[1]);
  } else {
    const int32_t top = tn_low_1(&l, "Floor", in_y), bottom = tn_low_1(&l, "Ceil", in_y),
                  left = tn_low_1(&l, "Floor", in_x), right = tn_low_1(&l, "Ceil", in_x);
    const int32_t dy = tn_low_reshape(&l, tn_low_2(&l, "Sub", in_y, top), 4, rows),
                  dx = tn_low_reshape(&l, tn_low_2(&l, "Sub", in_x, left), 4, columns);
    y = between(&l,
                between(&l, pixels(&c, top, left, size[0], size[1]),
                        pixels(&c, top, right, size[0], size[1]), dx),
                between(&l, pixels(&c, bottom, left, size[0], size[1]),
                        pixels(&c, bottom, right, size[0], size[1]), dx),
                dy);
  }
  const int32_t there = tn_low_2(&l, "And", tn_low_reshape(&l, inside(&l, ys, h), 4, rows),
                                 tn_low_reshape(&l, inside(&l, xs, w), 4, columns));
  const int32_t outside = tn_low_number(&l, TN_F32, tn_low_float(&l, "extrapolation_value", 0));
  return tn_low_done(&l, tn_low_3(&l, "Where", there, y, outside));
}

/* ---- pictures ---- */

/* Sizes are changed in f32, whatever the picture is of. */
static int32_t picture(const tn_lowering *l) {
  const int32_t x = tn_low_in(l, 0);
  return tn_low_type(l, 0)->dtype == TN_F32 ? x : tn_low_cast(l, x, TN_F32);
}

tn_status tf_resize_bilinear(const tn_call *call, tn_graph *graph, int32_t node) {
  static const char *const names[] = {"align_corners", "half_pixel_centers"};
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t in[] = {picture(&l), tn_low_in(&l, 1)};
  const tn_attr attrs[] = {tn_attr_int(names[0], tn_low_int(&l, names[0], 0)),
                           tn_attr_int(names[1], tn_low_int(&l, names[1], 0))};
  return tn_low_done(&l, tn_low_emit(&l, "tflite::RESIZE_BILINEAR", in, 2, attrs, 2));
}

/* ---- cubic: by a table of weights, as TensorFlow has it ---- */

enum { TAPS = 4, CUBIC_STEPS = 1024 };

/* How the n pixels of an axis become m; TAPS pixels and weights for each of these. */
typedef struct cubic {
  double a;
  bool half, corners;
  int64_t n, m, *pixels; /* [TAPS][m] */
  float *weights;
} cubic;

/* The weight of a pixel `step` of CUBIC_STEPS away, and more by one pixel if `far`. */
static float cubic_weight(double a, long step, bool far) {
  const float x = (float)step / CUBIC_STEPS + (far ? 1.0f : 0);
  const double d = (double)x;
  return far ? (float)(((a * d - 5 * a) * d + 8 * a) * d - 4 * a)
             : (float)(((a + 2) * d - (a + 3)) * d * d + 1);
}

/* What is outside of the picture weighs nothing with `half`, else as much as the last pixel. */
static void cubic_taps(const cubic *c, int64_t k) {
  const bool ends = c->corners && c->m > 1;
  const float scale = ends ? (float)(c->n - 1) / (float)(c->m - 1) : (float)c->n / (float)c->m,
              at = c->half ? ((float)k + 0.5f) * scale - 0.5f : (float)k * scale;
  const int64_t first = (int64_t)floorf(at) - 1;
  const long step = lrintf((at - floorf(at)) * CUBIC_STEPS);
  float sum = 0, w[TAPS];
  for (int64_t t = 0; t < TAPS; t++) {
    const int64_t pixel = first + t, inside = tn_max_i64(0, tn_min_i64(pixel, c->n - 1));
    w[t] = cubic_weight(c->a, t < 2 ? step : CUBIC_STEPS - step, t == 0 || t == 3);
    if (c->half && pixel != inside) w[t] = 0;
    c->pixels[t * c->m + k] = inside;
    sum += w[t];
  }
  for (int64_t t = 0; t < TAPS; t++)
    c->weights[t * c->m + k] = c->half && fabsf(sum) >= 1000 * FLT_MIN ? w[t] * (1 / sum) : w[t];
}

/* Axis 1 or 2 of [N, Y, X, C] as a sum of pixels times weights. */
static int32_t cubic_axis(const tn_lowering *l, int32_t x, int64_t axis, const cubic *c) {
  const int64_t shape[] = {c->m, 1, 1};
  const tn_attr along = tn_attr_int("axis", axis);
  int32_t y = TN_NO_ID;
  for (int64_t k = 0; k < c->m; k++) cubic_taps(c, k);
  for (int64_t t = 0; t < TAPS; t++) {
    const tn_tensor w = tn_tensor_make(TN_F32, (int32_t)(4 - axis), shape, c->weights + t * c->m);
    const int32_t in[] = {x, tn_low_ints_const(l, c->pixels + t * c->m, c->m)};
    const int32_t part = tn_low_2(l, "Mul", tn_low_emit(l, "Gather", in, 2, &along, 1),
                                  tn_emit_const(l->call, l->graph, &w));
    y = t ? tn_low_2(l, "Add", y, part) : part;
  }
  return y;
}

static int32_t cubic_resized(const tn_lowering *l, int32_t x, int64_t axis, int64_t m) {
  const bool half = tn_low_int(l, "half_pixel_centers", 0);
  cubic c = {.a = half ? -0.5 : -0.75,
             .half = half,
             .corners = tn_low_int(l, "align_corners", 0),
             .n = tn_low_type(l, 0)->shape[axis],
             .m = m};
  const tn_host *host = l->call->host;
  c.pixels = host->alloc(l->call->ctx, (uint64_t)(TAPS * m) * (sizeof(int64_t) + sizeof(float)));
  if (!c.pixels) return TN_ERR_MEMORY;
  c.weights = (float *)(c.pixels + TAPS * m);
  const int32_t y = cubic_axis(l, x, axis, &c);
  host->free(l->call->ctx, c.pixels);
  return y;
}

tn_status tf_resize_bicubic(const tn_call *call, tn_graph *graph, int32_t node) {
  enum { MOST = 1 << 24 };
  const tn_lowering l = tn_low_open(call, graph, node);
  int64_t size[2], n;
  tn_status s = lo_rank(&l, 0, 4);
  if (!s) s = lo_const_ints(&l, 1, size, 2, &n);
  if (s) return s;
  const tn_tensor *x = tn_low_type(&l, 0);
  const bool ok = n == 2 && size[0] > 0 && size[0] <= MOST && size[1] > 0 && size[1] <= MOST &&
                  x->shape[1] > 0 && x->shape[2] > 0;
  if (!ok) return tn_low_unsupported(&l, "a size of no pixels");
  const int32_t rows = cubic_resized(&l, picture(&l), 1, size[0]);
  return tn_low_done(&l, cubic_resized(&l, rows, 2, size[1]));
}

/* [m, n]: how much of each of n pixels goes into each of m, as wide as `scale` of them. */
static int32_t areas(const tn_lowering *l, int64_t n, int64_t m) {
  const tn_host *host = l->call->host;
  const float scale = tn_low_int(l, "align_corners", 0) && m > 1 ? (float)(n - 1) / (float)(m - 1)
                                                                 : (float)n / (float)m;
  const int64_t shape[] = {m, n};
  float *w = host->alloc(l->call->ctx, (uint64_t)(n * m) * sizeof *w);
  if (!w) return TN_ERR_MEMORY;
  memset(w, 0, (uint64_t)(n * m) * sizeof *w);
  for (int64_t k = 0; k < m; k++) {
    if (n == 1) { /* whose corners are one place: all are this pixel */
      w[k] = 1;
      continue;
    }
    const float from = (float)k * scale, to = (float)(k + 1) * scale;
    for (int64_t p = (int64_t)floorf(from); p < (int64_t)ceilf(to); p++) {
      const float part = fminf((float)(p + 1), to) - fmaxf((float)p, from);
      w[k * n + tn_max_i64(0, tn_min_i64(p, n - 1))] += part / scale;
    }
  }
  const tn_tensor t = tn_tensor_make(TN_F32, 2, shape, w);
  const int32_t y = tn_emit_const(l->call, l->graph, &t);
  host->free(l->call->ctx, w);
  return y;
}

tn_status tf_resize_area(const tn_call *call, tn_graph *graph, int32_t node) {
  enum { MOST = 1 << 14 };
  const tn_lowering l = tn_low_open(call, graph, node);
  int64_t m[2], n;
  tn_status s = lo_rank(&l, 0, 4);
  if (!s) s = lo_const_ints(&l, 1, m, 2, &n);
  if (s) return s;
  const int64_t *x = tn_low_type(&l, 0)->shape;
  for (int k = 0; k < 2; k++)
    if (n != 2 || m[k] < 1 || m[k] > MOST || x[1 + k] < 1 || x[1 + k] > MOST)
      return tn_low_unsupported(&l, "such sizes");
  const int64_t lines[] = {x[0], x[1], x[2] * x[3]}, columns[] = {x[0], m[0], x[2], x[3]};
  const int32_t rows =
      tn_low_2(&l, "MatMul", areas(&l, x[1], m[0]), tn_low_reshape(&l, picture(&l), 3, lines));
  return tn_low_done(
      &l, tn_low_2(&l, "MatMul", areas(&l, x[2], m[1]), tn_low_reshape(&l, rows, 4, columns)));
}

/* (x - mean) * factor + mean, with the mean of each channel of each image. */
tn_status tf_adjust_contrast(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const int32_t rank = tn_low_type(&l, 0)->rank, x = tn_low_in(&l, 0);
  if (rank < 3) return tn_low_unsupported(&l, "fewer than 3 dims");
  const int64_t axes[] = {rank - 3, rank - 2};
  const int32_t mean = lo_reduce(&l, "ReduceMean", x, axes, 2, 1);
  return tn_low_done(
      &l, tn_low_2(&l, "Add", tn_low_2(&l, "Mul", tn_low_2(&l, "Sub", x, mean), tn_low_in(&l, 1)),
                   mean));
}
