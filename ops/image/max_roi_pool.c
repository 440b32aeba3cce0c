/* MaxRoiPool. An item of the kernels is a region. Cells are cut in whole numbers, so that no
 * rounding decides which pixels belong to one. */
#include <math.h>

#include "image.gen.h"
#include "tenon/kit/infer.h"

tn_status max_roi_pool_infer(const tn_call *call) {
  const tn_max_roi_pool_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0], *rois = call->inputs[1];
  if (x->rank != 4 || rois->rank != 2 || rois->shape[1] != 5)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "X must be [N, C, H, W] and rois [regions, 5]");
  if (a->pooled_shape.size != 2 || a->pooled_shape.data[0] < 1 || a->pooled_shape.data[1] < 1 ||
      a->pooled_shape.data[0] > INT32_MAX || a->pooled_shape.data[1] > INT32_MAX)
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute 'pooled_shape' is not [height, width], both positive");
  const int64_t dims[4] = {rois->shape[0], x->shape[1], a->pooled_shape.data[0],
                           a->pooled_shape.data[1]};
  tn_infer_shape(call, 0, x->dtype, 4, dims);
  return TN_OK;
}

/* A region in whole pixels: where it begins, and its size, at least 1; along y, then x. */
typedef struct region {
  int64_t batch, begin[2], size[2];
} region;

static tn_status region_of(const tn_call *call, int64_t k, region *out) {
  const double scale = ((const tn_max_roi_pool_attrs *)call->attrs)->spatial_scale;
  const tn_tensor *rois = call->inputs[1], *x = call->inputs[0];
  double at[5];
  bool fits = true;
  for (int i = 0; i < 5; i++) {
    at[i] = tn_load_f64(rois->dtype, rois->data, 5 * k + i);
    if (i) at[i] = round(at[i] * scale);
    fits = fits && fabs(at[i]) < INT32_MAX;
  }
  if (!fits || at[0] < 0 || (int64_t)at[0] >= x->shape[0])
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "rois[%lld] is of no batch of X, or has no finite corners",
                            (long long)k);
  *out = (region){.batch = (int64_t)at[0], .begin = {(int64_t)at[2], (int64_t)at[1]}};
  for (int i = 0; i < 2; i++)
    out->size[i] = tn_max_i64((int64_t)at[i ? 3 : 4] - out->begin[i] + 1, 1);
  return TN_OK;
}

/* The pixels of cell number `cell` of n along one dim of `limit` pixels. */
static void cell_range(const region *r, int dim, int64_t cell, int64_t n, int64_t limit,
                       int64_t *lo, int64_t *hi) {
  *lo = r->begin[dim] + cell * r->size[dim] / n;
  *hi = r->begin[dim] + tn_ceil_div((cell + 1) * r->size[dim], n);
  *lo = tn_min_i64(tn_max_i64(*lo, 0), limit);
  *hi = tn_min_i64(tn_max_i64(*hi, 0), limit);
}

tn_status max_roi_pool_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *y = call->outputs[0];
  out->items[0] = y->shape[0];
  out->elements_per_item = tn_dims_size(y->shape + 1, 3);
  out->cost_ns = (double)tn_elements(y) * 20 + 200;
  return TN_OK;
}

#define MAX_ROI_POOL(T, name)                                                                    \
  static T largest_##T(const T *plane, int64_t width, int64_t top, int64_t bottom, int64_t left, \
                       int64_t right) {                                                          \
    T best = top < bottom && left < right ? plane[top * width + left] : 0;                       \
    for (int64_t y = top; y < bottom; y++)                                                       \
      for (int64_t x = left; x < right; x++)                                                     \
        if (plane[y * width + x] > best || isnan(best)) best = plane[y * width + x];             \
    return best;                                                                                 \
  }                                                                                              \
  tn_status name(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,                \
                 uint32_t worker) {                                                              \
    (void)stage, (void)worker;                                                                   \
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];                                 \
    const int64_t height = x->shape[2], width = x->shape[3], n = y->shape[2] * y->shape[3];      \
    region r;                                                                                    \
    for (int64_t k = begin; k < end; k++) {                                                      \
      tn_status s = region_of(call, k, &r);                                                      \
      if (s) return s;                                                                           \
      for (int64_t i = 0; i < y->shape[1] * n; i++) {                                            \
        int64_t top, bottom, left, right;                                                        \
        cell_range(&r, 0, i % n / y->shape[3], y->shape[2], height, &top, &bottom);              \
        cell_range(&r, 1, i % y->shape[3], y->shape[3], width, &left, &right);                   \
        const T *plane = (const T *)x->data + (r.batch * y->shape[1] + i / n) * height * width;  \
        ((T *)y->data)[k * y->shape[1] * n + i] =                                                \
            largest_##T(plane, width, top, bottom, left, right);                                 \
      }                                                                                          \
    }                                                                                            \
    return TN_OK;                                                                                \
  }
MAX_ROI_POOL(float, max_roi_pool_f32_c)
MAX_ROI_POOL(double, max_roi_pool_f64_c)

/* Every pixel is asked to which cells it belongs. */
tn_status max_roi_pool_reference(const tn_call *call) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const int64_t pixels = x->shape[2] * x->shape[3], rows = y->shape[2], columns = y->shape[3];
  for (int64_t k = 0; k < tn_elements(y); k++) {
    const int64_t cell[2] = {k / columns % rows, k % columns}, n[2] = {rows, columns},
                  channel = k / columns / rows % y->shape[1];
    double best = (double)NAN; /* fmax takes the number if there is one */
    bool any = false;
    region r;
    tn_status s = region_of(call, k / columns / rows / y->shape[1], &r);
    if (s) return s;
    for (int64_t p = 0; p < pixels; p++) {
      const int64_t at[2] = {p / x->shape[3], p % x->shape[3]};
      bool inside = true;
      for (int i = 0; i < 2; i++) {
        const int64_t from = (at[i] - r.begin[i]) * n[i]; /* the pixel is [from, from + n) */
        inside = inside && from + n[i] > cell[i] * r.size[i] && from < (cell[i] + 1) * r.size[i];
      }
      if (!inside) continue;
      any = true;
      best = fmax(best,
                  tn_load_f64(x->dtype, x->data, (r.batch * x->shape[1] + channel) * pixels + p));
    }
    tn_store_f64(y->dtype, y->data, k, any ? best : 0);
  }
  return TN_OK;
}
