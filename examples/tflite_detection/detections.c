/* TFLite_Detection_PostProcess in terms of ai.onnx: boxes are decoded, NonMaxSuppression picks the
 * best, and what it picks is filled up to max_detections with zeros. Nothing here computes: the
 * operators that it becomes have kernels, are fused, and can be written to files. */
#include <math.h>

#define TN_KIT_BODIES
#include <tenon/kit/lowering.h>

#include "tflite_detection.gen.h"

typedef struct detector {
  tn_lowering t;
  const tn_tf_lite_detection_post_process_attrs *a;
  int64_t n, classes;    /* boxes */
  int32_t boxes, scores; /* values: [n, 4], top, left, bottom, right; [n, classes] */
} detector;

/* What NonMaxSuppression has picked, in the order of points; k of them. */
typedef struct picked {
  int32_t box, class, point; /* of each: [k] */
} picked;

static int32_t both(const detector *d, const char *op, int32_t a, int32_t b) {
  return tn_low_2(&d->t, op, a, b);
}
static int32_t number(const detector *d, double v) { return tn_low_number(&d->t, TN_F32, v); }
static int32_t whole(const detector *d, int64_t v) {
  return tn_low_number(&d->t, TN_I64, (double)v);
}
/* Input k in f32; the reader has put the scales and zero points of quantised ones on the node. */
static int32_t real(const detector *d, uint32_t k) {
  const uint32_t dtype = tn_low_type(&d->t, k)->dtype;
  const int32_t x = tn_low_in(&d->t, k);
  if (dtype == TN_F32) return x;
  return tn_low_dequantize(&d->t, x, dtype, d->a->scales.data[k], d->a->zeros.data[k]);
}
static int32_t axis_op(const detector *d, const char *op, const int32_t *in, uint32_t n,
                       int64_t axis) {
  const tn_attr a = tn_attr_int("axis", axis);
  return tn_low_emit(&d->t, op, in, n, &a, 1);
}
static int32_t gather(const detector *d, int32_t x, int32_t indices, int64_t axis) {
  return axis_op(d, "Gather", (const int32_t[]){x, indices}, 2, axis);
}
/* from .. to - 1 of one dim. */
static int32_t slice(const detector *d, int32_t x, int64_t from, int64_t to, int64_t axis) {
  const int32_t in[] = {x, tn_low_ints_const(&d->t, &from, 1), tn_low_ints_const(&d->t, &to, 1),
                        tn_low_ints_const(&d->t, &axis, 1)};
  return tn_low_emit(&d->t, "Slice", in, 4, NULL, 0);
}

/* ---- boxes ---- */

/* Middle and size of one direction, from column k of codes and anchors, as two borders [n, 1]. */
static void decode(const detector *d, int32_t codes, int32_t anchors, int64_t k, double at_scale,
                   double size_scale, int32_t out[2]) {
  const int32_t at = slice(d, codes, k, k + 1, 1), size = slice(d, codes, k + 2, k + 3, 1),
                anchor_at = slice(d, anchors, k, k + 1, 1),
                anchor_size = slice(d, anchors, k + 2, k + 3, 1);
  const int32_t moved = both(d, "Mul", both(d, "Div", at, number(d, at_scale)), anchor_size);
  const int32_t middle = both(d, "Add", moved, anchor_at);
  const int32_t stretched = tn_low_1(&d->t, "Exp", both(d, "Div", size, number(d, size_scale)));
  const int32_t half = both(d, "Mul", both(d, "Mul", stretched, anchor_size), number(d, 0.5));
  out[0] = both(d, "Sub", middle, half);
  out[1] = both(d, "Add", middle, half);
}

static int32_t decoded(const detector *d) {
  const int64_t shape[] = {d->n, 4};
  const int32_t codes = tn_low_reshape(&d->t, real(d, 0), 2, shape), anchors = real(d, 2);
  int32_t y[2], x[2];
  decode(d, codes, anchors, 0, d->a->y_scale, d->a->h_scale, y);
  decode(d, codes, anchors, 1, d->a->x_scale, d->a->w_scale, x);
  return axis_op(d, "Concat", (const int32_t[]){y[0], x[0], y[1], x[1]}, 4, 1);
}

/* ---- picking ---- */

/* Rows [image, class, box] of the best boxes by points [1, classes, n]. TFLite takes points that
 * are the threshold, NonMaxSuppression those above. */
static int32_t best_rows(const detector *d, int32_t points, int64_t classes, int64_t most) {
  const int64_t boxes[] = {1, d->n, 4}, cube[] = {1, classes, d->n};
  const float least = nextafterf((float)d->a->nms_score_threshold, -INFINITY);
  const int32_t in[] = {tn_low_reshape(&d->t, d->boxes, 3, boxes),
                        tn_low_reshape(&d->t, points, 3, cube), whole(d, most),
                        number(d, d->a->nms_iou_threshold), number(d, (double)least)};
  return tn_low_emit(&d->t, "NonMaxSuppression", in, 5, NULL, 0);
}

/* Boxes whatever their class is: each has that of its largest score. */
static picked pick_of_all(const detector *d) {
  const int64_t last = 1;
  const int32_t in[] = {d->scores, tn_low_ints_const(&d->t, &last, 1)};
  const tn_attr flat[] = {tn_attr_int("keepdims", 0), tn_attr_int("axis", 1)};
  const int32_t points = tn_low_emit(&d->t, "ReduceMax", in, 2, flat, 1),
                classes = tn_low_emit(&d->t, "ArgMax", &d->scores, 1, flat, 2);
  const int32_t box = gather(d, best_rows(d, points, 1, d->a->max_detections), whole(d, 2), 1);
  return (picked){box, gather(d, classes, box, 0), gather(d, points, box, 0)};
}

/* Class by class; then the best of all that are left. */
static picked pick_by_class(const detector *d) {
  static const int32_t turn[] = {1, 0};
  const int64_t line = d->classes * d->n, zero = 0;
  const int32_t points = tn_low_transpose(&d->t, d->scores, 2, turn),
                rows = best_rows(d, points, d->classes, d->a->detections_per_class),
                class = gather(d, rows, whole(d, 1), 1), box = gather(d, rows, whole(d, 2), 1),
                at = both(d, "Add", both(d, "Mul", class, whole(d, d->n)), box),
                point = gather(d, tn_low_reshape(&d->t, points, 1, &line), at, 0);
  const int32_t most = tn_low_ints_const(&d->t, &d->a->max_detections, 1);
  int32_t top[2];
  const int32_t in[] = {point, both(d, "Min", tn_low_1(&d->t, "Shape", point), most)};
  const tn_attr axis = tn_attr_int("axis", zero);
  const tn_status s = tn_low_emit_many(&d->t, "TopK", in, 2, &axis, 1, 2, top);
  if (s) return (picked){s, s, s};
  return (picked){gather(d, box, top[1], 0), gather(d, class, top[1], 0), top[0]};
}

/* ---- outputs ---- */

/* Rows of x, [k, ...], and zeros behind them: [1, max_detections, ...]. */
static int32_t filled(const detector *d, int32_t x, int32_t rank, int64_t width) {
  const int64_t shape[] = {d->a->max_detections, width}, out[] = {1, shape[0], width};
  const int32_t zeros = both(d, "Expand", number(d, 0), tn_low_ints_const(&d->t, shape, rank));
  const int32_t rows = axis_op(d, "Concat", (const int32_t[]){x, zeros}, 2, 0);
  return tn_low_reshape(&d->t, slice(d, rows, 0, shape[0], 0), rank + 1, out);
}

static tn_status check(const detector *d) {
  const tn_tensor *codes = tn_low_type(&d->t, 0), *scores = tn_low_type(&d->t, 1);
  for (int64_t k = 0; k < 3; k++) {
    const tn_tensor *x = tn_low_type(&d->t, (uint32_t)k);
    const bool has_scale = k < d->a->scales.size && k < d->a->zeros.size;
    if (x->dtype != TN_F32 && !(has_scale && (x->dtype == TN_U8 || x->dtype == TN_I8)))
      return tn_low_unsupported(&d->t, "boxes that are neither f32 nor 8 bits with a scale");
  }
  if (codes->rank != 3 || scores->rank != 3 || codes->shape[0] != 1 || codes->shape[2] != 4 ||
      scores->shape[1] != codes->shape[1])
    return tn_low_unsupported(&d->t, "boxes that are not [1, n, 4] with scores [1, n, classes]");
  if (d->a->max_detections < 1 || d->a->num_classes < 1 || d->a->num_classes > scores->shape[2])
    return tn_low_unsupported(&d->t, "these numbers of classes and detections");
  if (!d->a->use_regular_nms && d->a->max_classes_per_detection != 1)
    return tn_low_unsupported(&d->t, "several classes for a box");
  return TN_OK;
}

tn_status detections_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  detector d = {.t = tn_low_open(call, graph, node), .a = call->attrs};
  const tn_status s = check(&d);
  if (s) return s;
  d.n = tn_low_type(&d.t, 0)->shape[1];
  d.classes = d.a->num_classes;
  const int64_t all = tn_low_type(&d.t, 1)->shape[2], shape[] = {d.n, d.classes}, one = 1;
  d.boxes = decoded(&d); /* the background is class 0 of scores, if they have one */
  d.scores = tn_low_reshape(&d.t, slice(&d, real(&d, 1), all - d.classes, all, 2), 2, shape);
  const picked p = d.a->use_regular_nms ? pick_by_class(&d) : pick_of_all(&d);
  const int32_t k = tn_low_cast(&d.t, tn_low_1(&d.t, "Shape", p.box), TN_F32);
  const int32_t out[] = {filled(&d, gather(&d, d.boxes, p.box, 0), 2, 4),
                         filled(&d, tn_low_cast(&d.t, p.class, TN_F32), 1, 0),
                         filled(&d, p.point, 1, 0), tn_low_reshape(&d.t, k, 1, &one)};
  return tn_low_done_many(&d.t, out, call->n_outputs);
}
