/* SSD's layers: boxes that stand for each place of a map, and what is found among them. */
#include <math.h>

#include "caffe.gen.h"
#include "lower.h"

/* ---- PriorBox ---- */

enum { MOST_SHAPES = 256, MOST_PRIORS = 1 << 22 };

typedef struct priors {
  int32_t n; /* boxes of one place: width and height in pixels of the image */
  double size[MOST_SHAPES][2];
} priors;

static tn_status add_shape(const tn_lowering *c, priors *p, double width, double height) {
  if (p->n == MOST_SHAPES) return tn_low_unsupported(c, "so many boxes of one place");
  p->size[p->n][0] = width;
  p->size[p->n++][1] = height;
  return TN_OK;
}

/* 1 and the aspect ratios, each once, with their inverses: no more than MOST_SHAPES. */
static int32_t find_ratios(const tn_lowering *c, double *out) {
  const tn_floats given = tn_low_floats(c, "aspect_ratio");
  int32_t n = 0;
  out[n++] = 1;
  for (int64_t k = 0; k < given.size; k++) {
    bool is_new = given.data[k] > 0;
    for (int32_t i = 0; i < n; i++) is_new = is_new && fabs(out[i] - given.data[k]) >= 1e-6;
    if (is_new) out[n++] = given.data[k];
    if (is_new && tn_low_int(c, "flip", 1)) out[n++] = 1 / given.data[k];
  }
  return n;
}

static tn_status find_shapes(const tn_lowering *c, priors *p) {
  const tn_floats least = tn_low_floats(c, "min_size"), most = tn_low_floats(c, "max_size");
  double ratios[MOST_SHAPES];
  tn_status s = TN_OK;
  if (!least.size) return caf_invalid(c, "a PriorBox has no min_size");
  if (tn_low_floats(c, "aspect_ratio").size >= MOST_SHAPES / 2)
    return tn_low_unsupported(c, "so many aspect ratios");
  const int32_t n_ratios = find_ratios(c, ratios);
  if (most.size && most.size != least.size)
    return caf_invalid(c, "a PriorBox has not as many max_size as min_size");
  for (int64_t k = 0; k < least.size && !s; k++) {
    const double a = least.data[k];
    s = add_shape(c, p, a, a);
    if (!s && most.size) s = add_shape(c, p, sqrt(a * most.data[k]), sqrt(a * most.data[k]));
    for (int32_t i = 1; i < n_ratios && !s; i++)
      s = add_shape(c, p, a * sqrt(ratios[i]), a / sqrt(ratios[i]));
  }
  return s;
}

/* A size along x or y: its own, the common one, or, without either, `missing`. */
static double size_of(const tn_lowering *c, const char *own, const char *common, double missing) {
  double size = tn_low_float(c, own, (double)tn_low_int(c, own, 0));
  if (!(size > 0)) size = tn_low_float(c, common, (double)tn_low_int(c, common, 0));
  return size > 0 ? size : missing;
}

static void fill_boxes(const tn_lowering *c, const priors *p, float *out) {
  const int64_t *map = tn_low_type(c, 0)->shape, *image = tn_low_type(c, 1)->shape;
  const double height = size_of(c, "img_h", "img_size", (double)image[2]),
               width = size_of(c, "img_w", "img_size", (double)image[3]),
               step_y = size_of(c, "step_h", "step", height / (double)map[2]),
               step_x = size_of(c, "step_w", "step", width / (double)map[3]),
               offset = tn_low_float(c, "offset", 0.5);
  const bool clips = tn_low_int(c, "clip", 0);
  for (int64_t y = 0; y < map[2]; y++)
    for (int64_t x = 0; x < map[3]; x++)
      for (int32_t k = 0; k < p->n; k++) {
        const double at_x = ((double)x + offset) * step_x, at_y = ((double)y + offset) * step_y;
        for (int e = 0; e < 4; e++) {
          const double half = p->size[k][e % 2] / 2 * (e < 2 ? -1 : 1),
                       v = ((e % 2 ? at_y : at_x) + half) / (e % 2 ? height : width);
          *out++ = (float)(clips ? fmin(fmax(v, 0), 1) : v);
        }
      }
}

tn_status caffe_prior_box(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  const tn_floats variance = tn_low_floats(&c, "variance");
  priors p = {.n = 0};
  int64_t n = 4;
  if (caf_bottoms(&c) != 2 || tn_low_type(&c, 0)->rank != 4 || tn_low_type(&c, 1)->rank != 4)
    return caf_invalid(&c, "a PriorBox needs two bottoms of 4 dims");
  tn_status s = find_shapes(&c, &p);
  if (s) return s;
  if (tn_mul_i64(n, p.n, &n) || tn_mul_i64(n, tn_low_type(&c, 0)->shape[2], &n) ||
      tn_mul_i64(n, tn_low_type(&c, 0)->shape[3], &n) || n > MOST_PRIORS)
    return tn_low_unsupported(&c, "so many boxes");
  if (variance.size > 1 && variance.size != 4) return caf_invalid(&c, "not one or 4 variances");
  float *data = call->host->alloc(call->ctx, (uint64_t)n * 2 * sizeof *data + 1);
  if (!data) return TN_ERR_MEMORY;
  if (n) fill_boxes(&c, &p, data);
  for (int64_t k = 0; k < n; k++)
    data[n + k] = variance.size ? (float)variance.data[variance.size == 4 ? k % 4 : 0] : 0.1F;
  const int64_t shape[] = {1, 2, n};
  const tn_tensor t = tn_tensor_make(TN_F32, 3, shape, data);
  const int32_t value = tn_emit_const(call, graph, &t);
  call->host->free(call->ctx, data);
  return caf_done(&c, tn_low_1(&c, "Identity", value));
}

/* ---- DetectionOutput ---- */

/* Elements from .. to - 1 of an axis. */
static int32_t part(const tn_lowering *c, int32_t x, int64_t axis, int64_t from, int64_t to) {
  const int32_t inputs[] = {x, tn_low_ints_const(c, &from, 1), tn_low_ints_const(c, &to, 1),
                            tn_low_ints_const(c, &axis, 1)};
  return tn_low_emit(c, "Slice", inputs, 4, NULL, 0);
}

static int32_t joined(const tn_lowering *c, const int32_t *parts, uint32_t n, int64_t axis) {
  const tn_attr a = tn_attr_int("axis", axis);
  return tn_low_emit(c, "Concat", parts, n, &a, 1);
}

enum { CORNER = 1, CENTER_SIZE = 2, CORNER_SIZE = 3 };

/* Boxes [n, 4] from what the network says of each prior. */
static int32_t decoded(const tn_lowering *c, int64_t n) {
  const int64_t code = tn_low_int(c, "code_type", CORNER), boxes[] = {2, n, 4}, flat[] = {n, 4};
  const int32_t both = tn_low_reshape(c, tn_low_in(c, 2), 3, boxes);
  const int32_t prior = tn_low_reshape(c, part(c, both, 0, 0, 1), 2, flat),
                variance = tn_low_reshape(c, part(c, both, 0, 1, 2), 2, flat);
  int32_t loc = tn_low_reshape(c, tn_low_in(c, 0), 2, flat);
  if (!tn_low_int(c, "variance_encoded_in_target", 0)) loc = tn_low_2(c, "Mul", loc, variance);
  if (code == CORNER) return tn_low_2(c, "Add", prior, loc);
  const int32_t low = part(c, prior, 1, 0, 2), high = part(c, prior, 1, 2, 4);
  const int32_t size = tn_low_2(c, "Sub", high, low), half = tn_low_number(c, TN_F32, 0.5);
  const int32_t first = part(c, loc, 1, 0, 2), second = part(c, loc, 1, 2, 4);
  if (code == CORNER_SIZE) {
    const int32_t sizes[] = {size, size};
    return tn_low_2(c, "Add", prior, tn_low_2(c, "Mul", loc, joined(c, sizes, 2, 1)));
  }
  const int32_t middle = tn_low_2(c, "Add", tn_low_2(c, "Mul", first, size),
                                  tn_low_2(c, "Mul", tn_low_2(c, "Add", low, high), half));
  const int32_t reach =
      tn_low_2(c, "Mul", tn_low_2(c, "Mul", tn_low_1(c, "Exp", second), size), half);
  const int32_t corners[] = {tn_low_2(c, "Sub", middle, reach), tn_low_2(c, "Add", middle, reach)};
  return joined(c, corners, 2, 1);
}

/* The score below which nothing is a candidate; scores are not negative. */
static double threshold(const tn_lowering *c) {
  return caf_has(c, "confidence_threshold") ? tn_low_float(c, "confidence_threshold", 0) : -1;
}

/* All of `x` but where `keeps` is false: there nothing is found. */
static int32_t only(const tn_lowering *c, int32_t keeps, int32_t x) {
  return tn_low_3(c, "Where", keeps, x, tn_low_number(c, TN_F32, fmin(threshold(c), 0) - 1));
}

/* Scores [1, classes, n]: of the candidates, the best top_k of each class. */
static int32_t scores_of(const tn_lowering *c, int64_t classes, int64_t n) {
  static const int32_t swap[] = {0, 2, 1};
  const int64_t shape[] = {1, n, classes}, top = tn_low_int(c, "top_k", -1),
                column[] = {classes, 1}, background = tn_low_int(c, "background_label_id", 0);
  int32_t y = tn_low_transpose(c, tn_low_reshape(c, tn_low_in(c, 1), 3, shape), 3, swap);
  if (background >= 0 && background < classes) {
    int64_t labels[1] = {background};
    const int32_t range[] = {tn_low_number(c, TN_I64, 0), tn_low_number(c, TN_I64, (double)classes),
                             tn_low_number(c, TN_I64, 1)};
    const int32_t own = tn_low_reshape(c, tn_low_emit(c, "Range", range, 3, NULL, 0), 2, column);
    const int32_t is = tn_low_2(c, "Equal", own, tn_low_ints_const(c, labels, 1));
    y = only(c, tn_low_1(c, "Not", is), y);
  }
  if (top < 0 || top >= n) return y;
  const int32_t inputs[] = {y, tn_low_ints_const(c, &top, 1)};
  int32_t best[2];
  const tn_attr axis = tn_attr_int("axis", 2);
  const tn_status s = tn_low_emit_many(c, "TopK", inputs, 2, &axis, 1, 2, best);
  if (s) return s;
  return only(c, tn_low_2(c, "GreaterOrEqual", y, part(c, best[0], 2, top - 1, top)), y);
}

/* Rows of `found` (image, class, box): the keep_top_k of the best scores, in their order. */
static int32_t keep_best(const tn_lowering *c, int32_t found, int32_t scores) {
  const int64_t keep = tn_low_int(c, "keep_top_k", -1), zero = 0;
  if (keep < 0) return found;
  const int32_t count =
      tn_low_2(c, "Gather", tn_low_1(c, "Shape", found), tn_low_ints_const(c, &zero, 1));
  const int32_t k = tn_low_2(c, "Min", count, tn_low_ints_const(c, &keep, 1));
  const int32_t by_score[] = {scores, k};
  int32_t best[2], sorted[2];
  const tn_attr ascending = tn_attr_int("largest", 0);
  tn_status s = tn_low_emit_many(c, "TopK", by_score, 2, NULL, 0, 2, best);
  const int32_t by_place[] = {best[1], k};
  if (!s) s = tn_low_emit_many(c, "TopK", by_place, 2, &ascending, 1, 2, sorted);
  return s ? s : tn_low_2(c, "Gather", found, sorted[0]);
}

/* Rows of image, label, score and box. */
static int32_t rows(const tn_lowering *c, int32_t found, int32_t boxes, int32_t scores) {
  static const int64_t column[] = {-1, 1}, box[] = {-1, 4}, shape[] = {1, 1, -1, 7};
  const int32_t image = part(c, found, 1, 0, 1), label = part(c, found, 1, 1, 2);
  const tn_attr axis = tn_attr_int("axis", 0);
  const int32_t at[] = {boxes, part(c, found, 1, 2, 3)};
  const int32_t parts[] = {tn_low_cast(c, image, TN_F32), tn_low_cast(c, label, TN_F32),
                           tn_low_reshape(c, tn_low_2(c, "GatherND", scores, found), 2, column),
                           tn_low_reshape(c, tn_low_emit(c, "Gather", at, 2, &axis, 1), 2, box)};
  const int32_t inputs[] = {joined(c, parts, 4, 1), tn_low_ints_const(c, shape, 4)};
  return tn_low_emit(c, "Reshape", inputs, 2, NULL, 0);
}

static tn_status check_detection(const tn_lowering *c, int64_t *out_n) {
  const tn_tensor *loc = tn_low_type(c, 0), *conf = tn_low_type(c, 1), *prior = tn_low_type(c, 2);
  const int64_t classes = tn_low_int(c, "num_classes", 0), code = tn_low_int(c, "code_type", 1);
  if (caf_bottoms(c) != 3 || prior->rank != 3 || prior->shape[1] != 2 || prior->shape[2] % 4)
    return caf_invalid(c, "a DetectionOutput needs boxes, scores and priors");
  const int64_t n = *out_n = prior->shape[2] / 4;
  if (!tn_low_int(c, "share_location", 1)) return tn_low_unsupported(c, "boxes for each class");
  if (tn_low_float(c, "eta", 1) != 1) return tn_low_unsupported(c, "eta other than 1");
  if (!tn_low_int(c, "top_k", -1)) return tn_low_unsupported(c, "top_k of 0");
  if (loc->rank < 1 || loc->shape[0] != 1) return tn_low_unsupported(c, "several images");
  if (code < CORNER || code > CORNER_SIZE) return tn_low_unsupported(c, "this code_type");
  if (classes < 1 || classes > INT32_MAX || n < 1 || tn_elements(loc) != n * 4 ||
      tn_elements(conf) != n * classes)
    return caf_invalid(c, "boxes, scores and priors are not as many as one another");
  return TN_OK;
}

tn_status caffe_detection_output(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering c = tn_low_open(call, graph, node);
  int64_t n = 0;
  const tn_status s = check_detection(&c, &n);
  if (s) return s;
  const int64_t one[] = {1, n, 4};
  const int32_t boxes = decoded(&c, n), scores = scores_of(&c, tn_low_int(&c, "num_classes", 0), n);
  const int32_t inputs[] = {tn_low_reshape(&c, boxes, 3, one), scores, tn_low_ints_const(&c, &n, 1),
                            tn_low_number(&c, TN_F32, tn_low_float(&c, "nms_threshold", 0.3)),
                            tn_low_number(&c, TN_F32, threshold(&c))};
  const int32_t found = tn_low_emit(&c, "NonMaxSuppression", inputs, 5, NULL, 0);
  const int32_t kept = keep_best(&c, found, tn_low_2(&c, "GatherND", scores, found));
  return caf_done(&c, rows(&c, kept, boxes, scores));
}
