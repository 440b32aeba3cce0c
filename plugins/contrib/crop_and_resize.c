/* CropAndResize. An item of the kernel is a plane: a channel of a box. */
#include <math.h>

#include "elements.h"
#include "small.gen.h"

enum { IMAGES, BOXES, NUMBERS, SIZE };

static bool is_mode(const tn_call *call, const char *name) {
  return tn_str_is(((const tn_crop_and_resize_attrs *)call->attrs)->mode, name);
}

tn_status crop_and_resize_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[IMAGES], *boxes = call->inputs[BOXES],
                  *numbers = call->inputs[NUMBERS];
  int64_t size[2] = {0};
  if (!is_mode(call, "bilinear") && !is_mode(call, "nearest"))
    return fail(call, TN_ERR_INVALID, "attribute 'mode' is neither bilinear nor nearest");
  if (x->rank != 4 || boxes->rank != 2 || boxes->shape[1] != 4 || numbers->rank != 1 ||
      numbers->shape[0] != boxes->shape[0])
    return fail(call, TN_ERR_SHAPE,
                "X is not [N, C, H, W], rois is not [boxes, 4], or batch_indices is not [boxes]");
  if (tn_elements(call->inputs[SIZE]) == 2 && !call->inputs[SIZE]->data) {
    tn_status s = call->host->needs_data(call->ctx, SIZE);
    return s ? s : TN_NEEDS_DATA;
  }
  for (int k = 0; k < 2 && tn_elements(call->inputs[SIZE]) == 2; k++)
    size[k] = ((const int32_t *)call->inputs[SIZE]->data)[k];
  if (size[0] < 1 || size[1] < 1)
    return fail(call, TN_ERR_INVALID, "crop_size is not [height, width], both positive");
  tn_infer_shape(call, 0, x->dtype, 4, (int64_t[]){boxes->shape[0], x->shape[1], size[0], size[1]});
  return TN_OK;
}

/* Multiples of 2^-40, so that no sum puts the last pixel of a box that ends with the image outside
 * of it; for the nearest pixel also a border between two within the error of f32: 0.9f is 0.9. */
static double settle(const tn_call *call, double place) {
  const double border = nearbyint(2 * place) / 2;
  if (is_mode(call, "nearest") && fabs(place - border) <= fabs(border) * 0x1p-22) return border;
  return nearbyint(place * 0x1p40) * 0x1p-40;
}

/* Where pixel k of n, between these parts of `size` pixels, lies in the image. */
static double place_of(const tn_call *call, double from, double to, int64_t k, int64_t n,
                       int64_t size) {
  const double last = (double)(size - 1);
  if (n == 1) return settle(call, 0.5 * (from + to) * last);
  return settle(call, from * last + (double)k * ((to - from) * last / (double)(n - 1)));
}

static tn_status image_of(const tn_call *call, int64_t box, int64_t *out) {
  *out = ((const int32_t *)call->inputs[NUMBERS]->data)[box];
  if (*out < 0 || *out >= call->inputs[IMAGES]->shape[0])
    return call->host->fail(
        call->ctx, TN_ERR_INVALID, "batch_indices[%lld] is %lld, but there are %lld images",
        (long long)box, (long long)*out, (long long)call->inputs[IMAGES]->shape[0]);
  return TN_OK;
}

/* At (y, x), which is inside, of the plane that begins at element `plane`. */
static double sample(const tn_call *call, int64_t plane, double y, double x) {
  const tn_tensor *t = call->inputs[IMAGES];
  const int64_t width = t->shape[3];
  if (is_mode(call, "nearest")) {
    const int64_t row = (int64_t)round(y), column = (int64_t)round(x);
    return load(t, plane + row * width + column);
  }
  const int64_t top = (int64_t)floor(y), bottom = (int64_t)ceil(y), left = (int64_t)floor(x),
                right = (int64_t)ceil(x);
  const double down = y - (double)top, across = x - (double)left;
  const double a = load(t, plane + top * width + left), b = load(t, plane + top * width + right),
               c = load(t, plane + bottom * width + left),
               d = load(t, plane + bottom * width + right);
  return (a + (b - a) * across) * (1 - down) + (c + (d - c) * across) * down;
}

/* Whether (y, x) lies in the image. */
static bool is_inside(const tn_tensor *images, double y, double x) {
  return y >= 0 && y <= (double)(images->shape[2] - 1) && x >= 0 &&
         x <= (double)(images->shape[3] - 1);
}

tn_status crop_and_resize_reference(const tn_call *call) {
  const tn_tensor *x = call->inputs[IMAGES], *y = call->outputs[0], *boxes = call->inputs[BOXES];
  const int64_t height = y->shape[2], width = y->shape[3], channels = x->shape[1];
  const double outside = ((const tn_crop_and_resize_attrs *)call->attrs)->extrapolation_value;
  for (int64_t k = 0; k < tn_elements(y); k++) {
    const int64_t box = k / width / height / channels, channel = k / width / height % channels;
    int64_t image;
    tn_status s = image_of(call, box, &image);
    if (s) return s;
    const double row = place_of(call, load(boxes, box * 4), load(boxes, box * 4 + 2),
                                k / width % height, height, x->shape[2]);
    const double column = place_of(call, load(boxes, box * 4 + 1), load(boxes, box * 4 + 3),
                                   k % width, width, x->shape[3]);
    const int64_t plane = (image * channels + channel) * x->shape[2] * x->shape[3];
    store(y, k, is_inside(x, row, column) ? sample(call, plane, row, column) : outside);
  }
  return TN_OK;
}

tn_status crop_and_resize_plan(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *y = call->outputs[0];
  const double each = (double)y->shape[2] * (double)y->shape[3];
  out->items[0] = y->shape[0] * y->shape[1];
  out->grain[0] = tn_grain(4000, each);
  out->cost_ns = (double)out->items[0] * each * 4 + 300;
  return TN_OK;
}

/* One row of a box between two rows of the image, `down` of the way. */
static void crop_row(const tn_call *call, const float *box, const float *top, const float *bottom,
                     float down, float *y) {
  const int64_t width = call->outputs[0]->shape[3], from = call->inputs[IMAGES]->shape[3];
  const float outside = (float)((const tn_crop_and_resize_attrs *)call->attrs)->extrapolation_value;
  const bool nearest = is_mode(call, "nearest");
  for (int64_t k = 0; k < width; k++) {
    const double at = place_of(call, (double)box[1], (double)box[3], k, width, from);
    y[k] = outside;
    if (!(at >= 0 && at <= (double)(from - 1))) continue;
    const int64_t left = (int64_t)at, right = (int64_t)ceil(at);
    const float across = (float)(at - (double)left);
    const float above = top[left] + (top[right] - top[left]) * across,
                below = bottom[left] + (bottom[right] - bottom[left]) * across;
    y[k] = nearest ? top[(int64_t)round(at)] : above * (1 - down) + below * down;
  }
}

static void crop_plane(const tn_call *call, int64_t item, const float *plane) {
  const tn_tensor *y = call->outputs[0];
  const int64_t height = y->shape[2], width = y->shape[3], from = call->inputs[IMAGES]->shape[2],
                row_size = call->inputs[IMAGES]->shape[3];
  const float *box = (const float *)call->inputs[BOXES]->data + item / y->shape[1] * 4;
  for (int64_t r = 0; r < height; r++) {
    float *to = (float *)y->data + (item * height + r) * width;
    const double at = place_of(call, (double)box[0], (double)box[2], r, height, from);
    if (!(at >= 0 && at <= (double)(from - 1))) {
      for (int64_t k = 0; k < width; k++)
        to[k] = (float)((const tn_crop_and_resize_attrs *)call->attrs)->extrapolation_value;
      continue;
    }
    const int64_t top = is_mode(call, "nearest") ? (int64_t)round(at) : (int64_t)at,
                  bottom = (int64_t)ceil(at);
    crop_row(call, box, plane + top * row_size, plane + bottom * row_size,
             (float)(at - (double)top), to);
  }
}

tn_status crop_and_resize_f32_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                uint32_t worker) {
  (void)stage, (void)worker;
  const tn_tensor *x = call->inputs[IMAGES];
  const int64_t channels = x->shape[1], pixels = x->shape[2] * x->shape[3];
  for (int64_t item = begin; item < end; item++) {
    int64_t image;
    tn_status s = image_of(call, item / channels, &image);
    if (s) return s;
    crop_plane(call, item, (const float *)x->data + (image * channels + item % channels) * pixels);
  }
  return TN_OK;
}
