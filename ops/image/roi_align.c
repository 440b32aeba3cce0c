/* RoiAlign: inference, where points lie, and the reference. */
#include "roi_align.h"

#include <math.h>

#include "image.gen.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/text.h"

enum { MOST_POINTS = 1 << 20 }; /* of a cell along one axis */

tn_status roi_align_infer(const tn_call *call) {
  const tn_roi_align_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0], *rois = call->inputs[1], *batch = call->inputs[2];
  if (x->rank != 4 || rois->rank != 2 || rois->shape[1] != 4 || batch->rank != 1 ||
      batch->shape[0] != rois->shape[0])
    return call->host->fail(
        call->ctx, TN_ERR_SHAPE,
        "X must be [N, C, H, W], rois [regions, 4] and batch_indices [regions]");
  if (a->output_height < 1 || a->output_width < 1 || a->sampling_ratio < 0 ||
      a->sampling_ratio > MOST_POINTS)
    return call->host->fail(
        call->ctx, TN_ERR_INVALID, "output_height is %lld, output_width %lld, sampling_ratio %lld",
        (long long)a->output_height, (long long)a->output_width, (long long)a->sampling_ratio);
  if (!tn_str_is(a->mode, "avg") && !tn_str_is(a->mode, "max"))
    return call->host->fail(call->ctx, TN_ERR_INVALID, "attribute 'mode' is neither avg nor max");
  if (!tn_str_is(a->coordinate_transformation_mode, "half_pixel") &&
      !tn_str_is(a->coordinate_transformation_mode, "output_half_pixel"))
    return call->host->fail(
        call->ctx, TN_ERR_INVALID,
        "attribute 'coordinate_transformation_mode' is neither half_pixel nor output_half_pixel");
  int64_t dims[4] = {rois->shape[0], x->shape[1], a->output_height, a->output_width};
  tn_infer_shape(call, 0, x->dtype, 4, dims);
  return TN_OK;
}

tn_status roi_align_v10_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_roi_align_v10_attrs *a = call->attrs;
  int32_t inputs[3];
  for (uint32_t k = 0; k < 3; k++) inputs[k] = tn_node_input(call, graph, node, k);
  tn_attr attrs[6] = {tn_attr_str("coordinate_transformation_mode", "output_half_pixel"),
                      tn_attr_str("mode", ""),
                      tn_attr_int("output_height", a->output_height),
                      tn_attr_int("output_width", a->output_width),
                      tn_attr_int("sampling_ratio", a->sampling_ratio),
                      tn_attr_float("spatial_scale", a->spatial_scale)};
  attrs[1].s = a->mode;
  return tn_lower_as(call, graph, node, "RoiAlign", inputs, 3, attrs, 6);
}

static int64_t grid_points(int64_t ratio, double cell) {
  if (ratio > 0) return ratio;
  double n = ceil(cell);
  return n > 0 ? (int64_t)fmin(n, MOST_POINTS) : 0;
}

tn_status roi_region_of(const tn_call *call, int64_t k, roi_region *out) {
  const tn_roi_align_attrs *a = call->attrs;
  const tn_tensor *rois = call->inputs[1];
  const bool half = tn_str_is(a->coordinate_transformation_mode, "half_pixel");
  double at[4];
  for (int i = 0; i < 4; i++)
    at[i] = tn_load_f64(rois->dtype, rois->data, 4 * k + i) * a->spatial_scale - (half ? 0.5 : 0);
  double width = at[2] - at[0], height = at[3] - at[1];
  if (!half) width = fmax(width, 1), height = fmax(height, 1);
  *out = (roi_region){.batch = ((const int64_t *)call->inputs[2]->data)[k],
                      .y = at[1],
                      .x = at[0],
                      .cell_y = height / (double)a->output_height,
                      .cell_x = width / (double)a->output_width};
  out->grid_y = grid_points(a->sampling_ratio, out->cell_y);
  out->grid_x = grid_points(a->sampling_ratio, out->cell_x);
  if (out->batch >= 0 && out->batch < call->inputs[0]->shape[0]) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_INVALID,
                          "batch_indices[%lld] is %lld; X has %lld batches", (long long)k,
                          (long long)out->batch, (long long)call->inputs[0]->shape[0]);
}

static roi_corners corners_at(double y, double x, int64_t height, int64_t width) {
  roi_corners c = {{0, 0, 0, 0}, {0, 0, 0, 0}};
  if (!(y >= -1 && y <= (double)height && x >= -1 && x <= (double)width) || !height || !width)
    return c;
  y = fmin(fmax(y, 0), (double)(height - 1));
  x = fmin(fmax(x, 0), (double)(width - 1));
  int64_t y0 = (int64_t)y, x0 = (int64_t)x, y1 = tn_min_i64(y0 + 1, height - 1),
          x1 = tn_min_i64(x0 + 1, width - 1);
  double dy = y - (double)y0, dx = x - (double)x0;
  return (roi_corners){{y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1},
                       {(1 - dy) * (1 - dx), (1 - dy) * dx, dy * (1 - dx), dy * dx}};
}

roi_corners roi_corners_of(const roi_region *r, int64_t cell_y, int64_t cell_x, int64_t iy,
                           int64_t ix, const tn_tensor *x) {
  double py = r->y + r->cell_y * ((double)cell_y + ((double)iy + 0.5) / (double)r->grid_y);
  double px = r->x + r->cell_x * ((double)cell_x + ((double)ix + 0.5) / (double)r->grid_x);
  return corners_at(py, px, x->shape[2], x->shape[3]);
}

/* ---- reference: one output at a time ---- */

static double align_one(const tn_call *call, const roi_region *r, int64_t channel, int64_t cell_y,
                        int64_t cell_x) {
  const tn_tensor *x = call->inputs[0];
  bool max = tn_str_is(((const tn_roi_align_attrs *)call->attrs)->mode, "max");
  double sum = 0, best = (double)NAN; /* fmax takes the number if there is one */
  int64_t map = (r->batch * x->shape[1] + channel) * x->shape[2] * x->shape[3],
          n = r->grid_y * r->grid_x;
  for (int64_t p = 0; p < n; p++) {
    roi_corners c = roi_corners_of(r, cell_y, cell_x, p / r->grid_x, p % r->grid_x, x);
    for (int i = 0; i < 4; i++) {
      double v = c.weight[i] * tn_load_f64(x->dtype, x->data, map + c.at[i]);
      sum += v;
      best = fmax(best, v);
    }
  }
  return n ? max ? best : sum / (double)n : 0;
}

tn_status roi_align_reference(const tn_call *call) {
  const tn_tensor *y = call->outputs[0];
  int64_t h = y->shape[2], w = y->shape[3], each = y->shape[1] * h * w;
  roi_region r;
  for (int64_t k = 0; k < tn_elements(y); k++) {
    tn_status s = roi_region_of(call, k / each, &r);
    if (s) return s;
    tn_store_f64(y->dtype, y->data, k,
                 align_one(call, &r, k / (h * w) % y->shape[1], k / w % h, k % w));
  }
  return TN_OK;
}
