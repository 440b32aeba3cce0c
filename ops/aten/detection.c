/* Operators of torchvision's detection models. */
#include <float.h>
#include <math.h>

#include "aten.h"
#include "torchvision.gen.h"

/* NonMaxSuppression puts corners in order; a box of PyTorch whose second corner is before its first
 * overlaps nothing, as one without area. */
static int32_t ordered_boxes(const tn_lowering *l, int32_t boxes) {
  const int32_t low = at_slice(l, boxes, 1, 0, 2, 1);
  const int32_t high = tn_low_2(l, "Max", low, at_slice(l, boxes, 1, 2, 4, 1));
  return at_concat(l, (const int32_t[]){low, high}, 2, 1);
}

/* NaN comes before all other scores. */
static int32_t ordered_scores(const tn_lowering *l, int32_t scores) {
  const int32_t finite = tn_low_2(l, "Min", scores, tn_low_number(l, TN_F32, FLT_MAX));
  return at_where(l, tn_low_1(l, "IsNaN", scores), tn_low_number(l, TN_F32, INFINITY), finite);
}

/* The greatest f32 that is not above x: what is f32 and above it is above x. */
static float float_below(double x) {
  const float f = (float)x;
  return f > x ? nextafterf(f, -INFINITY) : f;
}

/* Boxes as [x1, y1, x2, y2] that are kept, by falling scores. */
tn_status torchvision_nms(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 0);
  if (t->rank != 2 || t->shape[1] != 4)
    return at_fail(&l, TN_ERR_SHAPE, "the boxes are no matrix of four columns");
  const int32_t boxes = at_unsqueeze(&l, ordered_boxes(&l, at_in(&l, 0, TN_F32)), 0),
                scores = ordered_scores(&l, at_in(&l, 1, TN_F32));
  const float threshold = float_below(tn_low_float(&l, "iou_threshold", 0.5));
  const int32_t in[] = {boxes, at_unsqueeze(&l, at_unsqueeze(&l, scores, 0), 0),
                        at_int_const(&l, TN_I64, t->shape[0]),
                        tn_low_number(&l, TN_F32, threshold)};
  const tn_attr corners = tn_attr_int("center_point_box", 0);
  const int32_t kept = tn_low_emit(&l, "NonMaxSuppression", in, 4, &corners, 1);
  return tn_low_done(&l, at_squeeze(&l, at_slice(&l, kept, 1, 2, 3, 1), 1));
}

/* rois are [image, x1, y1, x2, y2]. */
tn_status torchvision_roi_align(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_tensor *t = tn_low_type(&l, 1);
  if (t->rank != 2 || t->shape[1] != 5)
    return at_fail(&l, TN_ERR_SHAPE, "the rois are no matrix of five columns");
  const int32_t rois = tn_low_in(&l, 1);
  const int32_t image = at_squeeze(&l, at_slice(&l, rois, 1, 0, 1, 1), 1);
  const int64_t ratio = tn_low_int(&l, "sampling_ratio", -1);
  const tn_attr attrs[] = {
      tn_attr_int("output_height", tn_low_int(&l, "pooled_height", 1)),
      tn_attr_int("output_width", tn_low_int(&l, "pooled_width", 1)),
      tn_attr_int("sampling_ratio", ratio > 0 ? ratio : 0),
      tn_attr_float("spatial_scale", tn_low_float(&l, "spatial_scale", 1)),
      tn_attr_str("coordinate_transformation_mode",
                  tn_low_int(&l, "aligned", 0) ? "half_pixel" : "output_half_pixel")};
  const int32_t in[] = {tn_low_in(&l, 0), at_slice(&l, rois, 1, 1, 5, 1),
                        at_cast(&l, image, t->dtype, TN_I64)};
  return tn_low_done(&l, tn_low_emit(&l, "RoiAlign", in, 3, attrs, 5));
}

/* The largest numbers of rois' cells; where they were is for training. */
tn_status torchvision_roi_pool(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const uint32_t n_out = tn_low_node(&l)->n_outputs;
  if (n_out > 1 && at_is_read(&l, 1))
    return tn_low_unsupported(&l, "the places of the largest numbers");
  const int64_t size[] = {tn_low_int(&l, "pooled_height", 1), tn_low_int(&l, "pooled_width", 1)};
  const tn_attr attrs[] = {tn_attr_ints("pooled_shape", (tn_ints){size, 2}),
                           tn_attr_float("spatial_scale", tn_low_float(&l, "spatial_scale", 1))};
  const int32_t in[] = {tn_low_in(&l, 0), tn_low_in(&l, 1)};
  const int32_t y = tn_low_emit(&l, "MaxRoiPool", in, 2, attrs, 2), out[] = {y, y};
  return tn_low_done_many(&l, out, n_out);
}
