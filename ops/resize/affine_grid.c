/* AffineGrid: the places of an output image's pixels in an input image, as theta maps them. */
#include "tenon/kit/infer.h"

#include "resize.gen.h"

tn_status affine_grid_infer(const tn_call *call) {
  const tn_tensor *theta = call->inputs[0];
  int64_t size[5], dims[5], n;
  char text[TN_TENSOR_TEXT];
  tn_status s = tn_const_ints(call, 1, size, 5, &n);
  if (s) return s;
  if (n != 4 && n != 5)
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "size has %lld elements; it needs 4 or 5",
                            (long long)n);
  if (theta->rank != 3 || theta->shape[0] != size[0] || theta->shape[1] != n - 2 ||
      theta->shape[2] != n - 1)
    return call->host->fail(call->ctx, TN_ERR_SHAPE,
                            "theta is %s; for this size it must be [%lld,%lld,%lld]",
                            tn_tensor_text(theta, text, sizeof text), (long long)size[0],
                            (long long)n - 2, (long long)n - 1);
  for (int64_t k = 0; k < n; k++)
    if (size[k] < 0)
      return call->host->fail(call->ctx, TN_ERR_INVALID, "size[%lld] is %lld", (long long)k,
                              (long long)size[k]);
  dims[0] = size[0];
  for (int64_t k = 2; k < n; k++) dims[k - 1] = size[k];
  dims[n - 1] = n - 2;
  tn_infer_shape(call, 0, theta->dtype, (int32_t)n, dims);
  return TN_OK;
}

tn_status affine_grid_flops(const tn_call *call, double *out_flops) {
  *out_flops = 2.0 * (double)call->inputs[0]->shape[1] * (double)tn_elements(call->outputs[0]);
  return TN_OK;
}

/* Place -1 .. 1 of element k of n. */
static double place_of(int64_t k, int64_t n, bool align_corners) {
  if (align_corners) return n > 1 ? -1 + 2 * (double)k / (double)(n - 1) : 0;
  return (2 * (double)k + 1) / (double)n - 1;
}

tn_status affine_grid_reference(const tn_call *call) {
  const tn_affine_grid_attrs *a = call->attrs;
  const tn_tensor *theta = call->inputs[0], *out = call->outputs[0];
  int32_t dims = out->rank - 2;
  for (int64_t i = 0; i < tn_elements(out); i++) {
    int64_t row = i % dims, rest = i / dims;
    double x[4] = {0, 0, 0, 0}, sum = 0;
    x[dims] = 1;
    for (int32_t k = dims; k >= 1; k--) { /* the innermost dim is x[0] */
      x[dims - k] = place_of(rest % out->shape[k], out->shape[k], a->align_corners != 0);
      rest /= out->shape[k];
    }
    for (int32_t k = 0; k <= dims; k++)
      sum += tn_load_f64(theta->dtype, theta->data, (rest * dims + row) * (dims + 1) + k) * x[k];
    tn_store_f64(out->dtype, out->data, i, sum);
  }
  return TN_OK;
}

/* An item is a row of the innermost spatial dim. */
tn_status affine_grid_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *y = call->outputs[0];
  int64_t per_row = y->shape[y->rank - 2] * (y->rank - 2);
  out->items[0] = per_row ? tn_elements(y) / per_row : 0;
  out->grain[0] = tn_max_i64(1, 1000 / tn_max_i64(1, per_row));
  return TN_OK;
}

tn_status affine_grid_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                        uint32_t worker) {
  const tn_affine_grid_attrs *a = call->attrs;
  const tn_tensor *theta = call->inputs[0], *y = call->outputs[0];
  int32_t dims = y->rank - 2;
  bool corners = a->align_corners != 0;
  int64_t width = y->shape[dims], height = y->shape[dims - 1], depth = dims == 3 ? y->shape[1] : 1;
  (void)stage, (void)worker;
  for (int64_t r = begin; r < end; r++) {
    int64_t batch = r / (height * depth);
    double v = place_of(r % height, height, corners),
           w = dims == 3 ? place_of(r / height % depth, depth, corners) : 0;
    for (int32_t k = 0; k < dims; k++) {
      int64_t at = (batch * dims + k) * (dims + 1);
      double step = tn_load_f64(theta->dtype, theta->data, at);
      double fixed = tn_load_f64(theta->dtype, theta->data, at + 1) * v +
                     tn_load_f64(theta->dtype, theta->data, at + dims);
      if (dims == 3) fixed += tn_load_f64(theta->dtype, theta->data, at + 2) * w;
      for (int64_t x = 0; x < width; x++)
        tn_store_f64(y->dtype, y->data, (r * width + x) * dims + k,
                     step * place_of(x, width, corners) + fixed);
    }
  }
  return TN_OK;
}
