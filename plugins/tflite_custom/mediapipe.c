/* MediaPipe's custom operators in terms of ai.onnx: nothing here computes. What they mean is read
 * from mediapipe/util/tflite/operations; files and options follow the structs of TFLite's C API. */
#include <math.h>
#include <string.h>

#define TN_KIT_BODIES
#include "tenon/kit/lowering.h"

#include "mediapipe.gen.h"

/* ---- words ---- */

static int32_t both(const tn_lowering *l, const char *op, int32_t a, int32_t b) {
  return tn_low_2(l, op, a, b);
}
static int32_t real(const tn_lowering *l, double v) { return tn_low_number(l, TN_F32, v); }
static int32_t whole(const tn_lowering *l, int64_t v) {
  return tn_low_number(l, TN_I64, (double)v);
}
static int32_t with_axis(const tn_lowering *l, const char *op, const int32_t *in, uint32_t n,
                         int64_t axis) {
  const tn_attr a = tn_attr_int("axis", axis);
  return tn_low_emit(l, op, in, n, &a, 1);
}
/* Elements `indices` (n of them) of a dim, which stays. */
static int32_t pick(const tn_lowering *l, int32_t x, const int64_t *indices, int64_t n,
                    int64_t axis) {
  return with_axis(l, "Gather", (const int32_t[]){x, tn_low_ints_const(l, indices, n)}, 2, axis);
}
static int32_t pick_one(const tn_lowering *l, int32_t x, int64_t index, int64_t axis) {
  return pick(l, x, &index, 1, axis);
}
/* 0 .. n - 1, [n, 1]. */
static int32_t numbers(const tn_lowering *l, int64_t n) {
  const int64_t shape[] = {n, 1};
  return tn_low_reshape(l, tn_low_3(l, "Range", whole(l, 0), whole(l, n), whole(l, 1)), 2, shape);
}
/* x / by % size; size 0: x / by. */
static int32_t digit(const tn_lowering *l, int32_t x, int64_t by, int64_t size) {
  const int32_t q = both(l, "Div", x, whole(l, by));
  return size ? both(l, "Mod", q, whole(l, size)) : q;
}
/* lo <= x <= hi */
static int32_t is_within(const tn_lowering *l, int32_t x, int32_t lo, int32_t hi) {
  return both(l, "And", both(l, "GreaterOrEqual", x, lo), both(l, "LessOrEqual", x, hi));
}

/* Known dims of input k, f32 of this rank. */
static tn_status check_input(const tn_lowering *l, uint32_t k, int32_t rank) {
  const tn_tensor *t = tn_low_type(l, k);
  if (t->dtype != TN_F32) return tn_low_unsupported(l, "other types than f32");
  if (t->rank != rank || tn_elements(t) < 1)
    return tn_low_unsupported(l, "an input of another rank, or without elements");
  return TN_OK;
}

/* ---- options that are a struct ---- */

enum { SAME = 1, VALID = 2 }; /* TfLitePadding */

typedef struct window {
  int64_t h, w, stride_h, stride_w;
  bool is_same;
  int32_t activation; /* TfLiteFusedActivation: none, RELU, RELU_N1_TO_1, RELU6 */
} window;

/* n numbers of 32 bits. */
static tn_status read_struct(const tn_lowering *l, tn_str bytes, int32_t *out, size_t n) {
  if (bytes.size < (int64_t)(n * sizeof *out))
    return tn_low_unsupported(l, "custom options that are shorter than TFLite's struct");
  memcpy(out, bytes.data, n * sizeof *out);
  for (size_t k = 1; k < n; k++)
    if (out[k] < (k < 5 ? 1 : 0) || out[k] > 1 << 16)
      return tn_low_unsupported(l, "strides or windows that are not 1 to 65536");
  if (out[0] != SAME && out[0] != VALID)
    return tn_low_unsupported(l, "a padding that is neither SAME nor VALID");
  return TN_OK;
}

static tn_status pool_window(const tn_lowering *l, tn_str bytes, window *out) {
  int32_t v[6]; /* padding, stride_width, stride_height, filter_width, filter_height, activation */
  const tn_status s = read_struct(l, bytes, v, 6);
  if (s) return s;
  if (v[5] > 3) return tn_low_unsupported(l, "this activation");
  *out = (window){v[4], v[3], v[2], v[1], v[0] == SAME, v[5]};
  return TN_OK;
}

/* ---- convolution and pools ---- */

/* What SAME takes away of stride * (in - 1) + filter. */
static int64_t cut(bool is_same, int64_t in, int64_t filter, int64_t stride) {
  return is_same ? tn_max_i64(0, filter - (in - 1) % stride - 1) : 0;
}

tn_status mediapipe_conv_transpose_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  static const int32_t perm[] = {3, 0, 1, 2}; /* [O, h, w, C] as [C, O, h, w] */
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_convolution2_d_transpose_bias_attrs *a = call->attrs;
  int32_t v[3]; /* padding, stride_width, stride_height */
  tn_status s = read_struct(&l, a->custom_options, v, 3);
  if (!s) s = check_input(&l, 0, 4);
  if (!s) s = check_input(&l, 1, 4);
  if (!s) s = check_input(&l, 2, 1);
  if (s) return s;
  const tn_tensor *x = tn_low_type(&l, 0), *w = tn_low_type(&l, 1), *b = tn_low_type(&l, 2);
  if (w->shape[3] != x->shape[3] || b->shape[0] != w->shape[0])
    return tn_low_unsupported(&l, "filters that do not fit the input or the bias");
  const int64_t h = cut(v[0] == SAME, x->shape[1], w->shape[1], v[2]),
                q = cut(v[0] == SAME, x->shape[2], w->shape[2], v[1]);
  const int64_t strides[] = {v[2], v[1]}, pads[] = {h / 2, q / 2, h - h / 2, q - q / 2};
  const tn_attr attrs[] = {tn_attr_ints("strides", (tn_ints){strides, 2}),
                           tn_attr_ints("pads", (tn_ints){pads, 4})};
  const int32_t in[] = {tn_low_channels_first(&l, tn_low_in(&l, 0), 4),
                        tn_low_transpose(&l, tn_low_in(&l, 1), 4, perm), tn_low_in(&l, 2)};
  const int32_t y = tn_low_emit(&l, "ConvTranspose", in, 3, attrs, 2);
  return tn_low_done(&l, tn_low_channels_last(&l, y, 4));
}

/* Outputs along one dim, and the pads before and behind. */
static int64_t pooled(const window *p, int64_t in, int64_t filter, int64_t stride,
                      int64_t pads[2]) {
  const int64_t out = p->is_same ? tn_ceil_div(in, stride) : (in - filter + stride) / stride;
  const int64_t all = tn_max_i64(0, (out - 1) * stride + filter - in);
  pads[0] = all / 2, pads[1] = all - all / 2;
  return out;
}

static int32_t activated(const tn_lowering *l, int32_t y, int32_t activation) {
  static const double lo[] = {-INFINITY, 0, -1, 0}, hi[] = {INFINITY, INFINITY, 1, 6};
  return activation ? tn_low_clip(l, y, TN_F32, lo[activation], hi[activation]) : y;
}

/* Where in the plane the windows of n outputs begin, [n, 1] or [n]. */
static int32_t origins(const tn_lowering *l, int64_t n, int64_t stride, int64_t pad, bool is_row) {
  const int64_t shape[] = {n, 1};
  const int32_t k = both(l, "Mul", numbers(l, n), whole(l, stride));
  return tn_low_reshape(l, both(l, "Sub", k, whole(l, pad)), is_row ? 1 : 2, shape);
}

tn_status mediapipe_max_pool_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_max_pooling_with_argmax2_d_attrs *a = call->attrs;
  window p = {0};
  tn_status s = check_input(&l, 0, 4);
  if (!s) s = pool_window(&l, a->custom_options, &p);
  if (s) return s;
  const tn_tensor *x = tn_low_type(&l, 0);
  const int64_t height = x->shape[1], width = x->shape[2];
  int64_t down[2], across[2];
  const int64_t oh = pooled(&p, height, p.h, p.stride_h, down),
                ow = pooled(&p, width, p.w, p.stride_w, across);
  if (oh < 1 || ow < 1) return tn_low_unsupported(&l, "a window that is larger than the input");
  const int64_t kernel[] = {p.h, p.w}, strides[] = {p.stride_h, p.stride_w},
                pads[] = {down[0], across[0], down[1], across[1]};
  const tn_attr attrs[] = {tn_attr_ints("kernel_shape", (tn_ints){kernel, 2}),
                           tn_attr_ints("strides", (tn_ints){strides, 2}),
                           tn_attr_ints("pads", (tn_ints){pads, 4})};
  const int32_t plain = tn_low_channels_first(&l, tn_low_in(&l, 0), 4);
  int32_t y[2];
  s = tn_low_emit_many(&l, "MaxPool", &plain, 1, attrs, 3, 2, y);
  if (s) return s;
  const int32_t top = origins(&l, oh, p.stride_h, down[0], false),
                left = origins(&l, ow, p.stride_w, across[0], true);
  const int32_t row = both(&l, "Sub", digit(&l, y[1], width, height), top),
                column = both(&l, "Sub", digit(&l, y[1], 1, width), left);
  const int32_t tap = both(&l, "Add", both(&l, "Mul", row, whole(&l, p.w)), column);
  const int32_t index = both(&l, "Add", tn_low_cast(&l, tap, TN_F32), real(&l, (double)0.1f));
  const int32_t out[] = {tn_low_channels_last(&l, activated(&l, y[0], p.activation), 4),
                         tn_low_channels_last(&l, index, 4)};
  return tn_low_done_many(&l, out, call->n_outputs);
}

tn_status mediapipe_max_unpool_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_max_unpooling2_d_attrs *a = call->attrs;
  window p = {0};
  tn_status s = check_input(&l, 0, 4);
  if (!s) s = check_input(&l, 1, 4);
  if (!s) s = pool_window(&l, a->custom_options, &p);
  if (s) return s;
  const int64_t *d = tn_low_type(&l, 0)->shape, n = tn_elements(tn_low_type(&l, 0)),
                shape[] = {d[0], d[1] * p.h, d[2] * p.w, d[3]};
  if (tn_elements(tn_low_type(&l, 1)) != n)
    return tn_low_unsupported(&l, "indices of another shape");
  if (p.stride_h < p.h || p.stride_w < p.w) return tn_low_unsupported(&l, "windows that overlap");
  int64_t total, flat[] = {n, 1};
  if (tn_dims_product(shape, 4, &total) || total >= TN_MAX_ELEMENTS)
    return tn_low_unsupported(&l, "an output of this size");
  const int64_t pad_h = tn_max_i64(0, ((d[1] - 1) * p.stride_h + p.h - shape[1]) / 2),
                pad_w = tn_max_i64(0, ((d[2] - 1) * p.stride_w + p.w - shape[2]) / 2);
  const int32_t k = numbers(&l, n), given = tn_low_reshape(&l, tn_low_in(&l, 1), 2, flat);
  const int32_t is_tap = is_within(&l, given, real(&l, 0), real(&l, 0x1p30));
  const int32_t tap = tn_low_cast(&l, tn_low_3(&l, "Where", is_tap, given, real(&l, 0)), TN_I64);
  const int32_t top = both(&l, "Mul", digit(&l, k, d[3] * d[2], d[1]), whole(&l, p.stride_h)),
                left = both(&l, "Mul", digit(&l, k, d[3], d[2]), whole(&l, p.stride_w));
  const int32_t y = both(&l, "Add", both(&l, "Sub", top, whole(&l, pad_h)), digit(&l, tap, p.w, 0)),
                x = both(&l, "Add", both(&l, "Sub", left, whole(&l, pad_w)),
                         digit(&l, tap, 1, p.w));
  const int32_t inside =
      both(&l, "And", is_tap,
           both(&l, "And", is_within(&l, y, whole(&l, 0), whole(&l, shape[1] - 1)),
                is_within(&l, x, whole(&l, 0), whole(&l, shape[2] - 1))));
  const int32_t image = digit(&l, k, d[3] * d[2] * d[1], 0);
  const int32_t row = both(&l, "Add", both(&l, "Mul", image, whole(&l, shape[1])), y);
  const int32_t pixel = both(&l, "Add", both(&l, "Mul", row, whole(&l, shape[2])), x);
  const int32_t place =
      both(&l, "Add", both(&l, "Mul", pixel, whole(&l, d[3])), digit(&l, k, 1, d[3]));
  /* One element behind the last takes what has no place. */
  const int64_t room[] = {total + 1, 1};
  const int32_t in[] = {both(&l, "Expand", real(&l, 0), tn_low_ints_const(&l, room, 2)),
                        tn_low_3(&l, "Where", inside, place, whole(&l, total)),
                        tn_low_reshape(&l, tn_low_in(&l, 0), 2, flat)};
  const int32_t all = with_axis(&l, "ScatterElements", in, 3, 0);
  const int64_t zero = 0;
  const int32_t slice[] = {all, tn_low_ints_const(&l, &zero, 1), tn_low_ints_const(&l, &total, 1),
                           tn_low_ints_const(&l, &zero, 1)};
  return tn_low_done(&l, tn_low_reshape(&l, tn_low_emit(&l, "Slice", slice, 4, NULL, 0), 4, shape));
}

/* ---- interpolation ---- */

typedef struct image { /* n images as rows of pixels, [n * height * width, channels] */
  int32_t pixels;
  int64_t height, width;
} image;

/* The pixels at (x, y), whole numbers in f32, [n, 1], of the images that begin at row `first`; zero
 * outside. */
static int32_t pixels_at(const tn_lowering *l, const image *m, int32_t x, int32_t y,
                         int32_t first) {
  const int32_t zero = real(l, 0);
  const int32_t inside = both(l, "And", is_within(l, x, zero, real(l, (double)(m->width - 1))),
                              is_within(l, y, zero, real(l, (double)(m->height - 1))));
  const int32_t column = tn_low_cast(l, tn_low_3(l, "Where", inside, x, zero), TN_I64),
                row = tn_low_cast(l, tn_low_3(l, "Where", inside, y, zero), TN_I64);
  const int32_t at = both(l, "Add", both(l, "Mul", row, whole(l, m->width)), column);
  const int64_t last = 1;
  const int32_t list =
      both(l, "Squeeze", both(l, "Add", at, first), tn_low_ints_const(l, &last, 1));
  const int32_t found = with_axis(l, "Gather", (const int32_t[]){m->pixels, list}, 2, 0);
  return tn_low_3(l, "Where", inside, found, zero);
}

/* (1 - t) a + t b */
static int32_t mixed(const tn_lowering *l, int32_t t, int32_t a, int32_t b) {
  const int32_t rest = both(l, "Sub", real(l, 1), t);
  return both(l, "Add", both(l, "Mul", rest, a), both(l, "Mul", t, b));
}

/* Images at (x, y), [n, 1], which may be anything; zero where `inside` is false. */
static int32_t sampled(const tn_lowering *l, const image *m, int32_t x, int32_t y, int32_t first,
                       int32_t inside) {
  const int32_t left = tn_low_1(l, "Floor", x), top = tn_low_1(l, "Floor", y),
                right = both(l, "Add", left, real(l, 1)), bottom = both(l, "Add", top, real(l, 1)),
                across = both(l, "Sub", x, left), down = both(l, "Sub", y, top);
  const int32_t upper = mixed(l, across, pixels_at(l, m, left, top, first),
                              pixels_at(l, m, right, top, first)),
                lower = mixed(l, across, pixels_at(l, m, left, bottom, first),
                              pixels_at(l, m, right, bottom, first));
  return tn_low_3(l, "Where", inside, mixed(l, down, upper, lower), real(l, 0));
}

static image image_of(const tn_lowering *l) {
  const int64_t *d = tn_low_type(l, 0)->shape, shape[] = {d[0] * d[1] * d[2], d[3]};
  return (image){tn_low_reshape(l, tn_low_in(l, 0), 2, shape), d[1], d[2]};
}

tn_status mediapipe_resampler_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  tn_status s = check_input(&l, 0, 4);
  if (!s) s = check_input(&l, 1, 4);
  if (s) return s;
  const int64_t *d = tn_low_type(&l, 0)->shape, *w = tn_low_type(&l, 1)->shape, size = d[1] * d[2],
                places[] = {d[0] * size, 2};
  if (w[0] != d[0] || w[1] != d[1] || w[2] != d[2] || w[3] != 2)
    return tn_low_unsupported(&l, "a warp that is not [N, H, W, 2] of the input");
  const image m = image_of(&l);
  const int32_t warp = tn_low_reshape(&l, tn_low_in(&l, 1), 2, places),
                x = pick_one(&l, warp, 0, 1), y = pick_one(&l, warp, 1, 1),
                number = digit(&l, numbers(&l, places[0]), size, 0),
                first = both(&l, "Mul", number, whole(&l, size));
  /* Beyond a border by less than a pixel, there still is a part of one. */
  const int32_t none = real(&l, -1);
  const int32_t inside = both(&l, "And", is_within(&l, x, none, real(&l, (double)d[2])),
                              is_within(&l, y, none, real(&l, (double)d[1])));
  return tn_low_done(&l, tn_low_reshape(&l, sampled(&l, &m, x, y, first, inside), 4, d));
}

/* Element k of the matrix, input `input`, as [1, 1]. */
static int32_t matrix_at(const tn_lowering *l, uint32_t input, int64_t k) {
  const int64_t shape[] = {1, 16};
  return pick_one(l, tn_low_reshape(l, tn_low_in(l, input), 2, shape), k, 1);
}

static tn_status check_matrix(const tn_lowering *l) {
  const tn_status s = check_input(l, 1, 3);
  if (s) return s;
  return tn_elements(tn_low_type(l, 1)) == 16
             ? TN_OK
             : tn_low_unsupported(l, "a matrix that is not [1, 4, 4]");
}

/* Row `row` of the matrix times (x, y, 0, 1). */
static int32_t moved(const tn_lowering *l, int64_t row, bool from_middle, int32_t x, int32_t y) {
  const int32_t a = matrix_at(l, 1, 4 * row), b = matrix_at(l, 1, 4 * row + 1);
  int32_t c = matrix_at(l, 1, 4 * row + 3);
  if (from_middle) {
    const int32_t half = both(l, "Mul", both(l, "Add", a, b), real(l, 0.5));
    c = both(l, "Add", c, both(l, "Sub", half, real(l, 0.5)));
  }
  return both(l, "Add", both(l, "Add", both(l, "Mul", a, x), both(l, "Mul", b, y)), c);
}

tn_status mediapipe_transform_tensor_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_transform_tensor_bilinear_attrs *a = call->attrs;
  tn_status s = check_input(&l, 0, 4);
  if (!s) s = check_matrix(&l);
  if (s) return s;
  const int64_t *d = tn_low_type(&l, 0)->shape;
  int64_t shape[] = {1, a->output_height, a->output_width, d[3]}, n;
  if (d[0] != 1) return tn_low_unsupported(&l, "several images");
  if (shape[1] < 1 || shape[2] < 1 || tn_dims_product(shape, 4, &n) || n > TN_MAX_ELEMENTS)
    return tn_low_unsupported(&l, "an output of this size");
  if (a->version > 2) return tn_low_unsupported(&l, "versions above 2");
  const image m = image_of(&l);
  const int32_t k = numbers(&l, shape[1] * shape[2]);
  const int32_t column = tn_low_cast(&l, digit(&l, k, 1, shape[2]), TN_F32),
                row = tn_low_cast(&l, digit(&l, k, shape[2], 0), TN_F32);
  const int32_t x = moved(&l, 0, a->version == 2, column, row),
                y = moved(&l, 1, a->version == 2, column, row), zero = real(&l, 0);
  const int32_t inside = both(&l, "And", is_within(&l, x, zero, real(&l, (double)(d[2] - 1))),
                              is_within(&l, y, zero, real(&l, (double)(d[1] - 1))));
  return tn_low_done(&l, tn_low_reshape(&l, sampled(&l, &m, x, y, whole(&l, 0), inside), 4, shape));
}

/* ---- landmarks ---- */

tn_status mediapipe_transform_landmarks_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_transform_landmarks_attrs *a = call->attrs;
  if (a->version != 2) return tn_low_unsupported(&l, "versions other than 2");
  tn_status s = check_input(&l, 0, 3);
  if (!s) s = check_matrix(&l);
  if (s) return s;
  const tn_tensor *x = tn_low_type(&l, 0);
  const int64_t size = x->shape[2], rows[] = {x->shape[1], size};
  if (x->shape[0] != 1 || (size != 2 && size != 3))
    return tn_low_unsupported(&l, "landmarks that are not [1, n, 2] or [1, n, 3]");
  const int32_t flat = tn_low_reshape(&l, tn_low_in(&l, 0), 2, rows),
                across = pick_one(&l, flat, 0, 1), down = pick_one(&l, flat, 1, 1);
  int32_t out[] = {moved(&l, 0, false, across, down), moved(&l, 1, false, across, down), -1};
  if (size == 3) out[2] = pick_one(&l, flat, 2, 1);
  return tn_low_done(
      &l, tn_low_reshape(&l, with_axis(&l, "Concat", out, (uint32_t)size, 1), 3, x->shape));
}

/* Largest and smallest of [n, 1], as [1, 1]. */
static int32_t extreme(const tn_lowering *l, const char *op, int32_t x) {
  const int64_t zero = 0;
  return both(l, op, x, tn_low_ints_const(l, &zero, 1));
}

static tn_status check_landmarks(const tn_lowering *l) {
  const tn_landmarks2_transform_matrix_attrs *a = l->call->attrs;
  if (a->version != 2) return tn_low_unsupported(l, "versions other than 2");
  const tn_status s = check_input(l, 0, 3);
  if (s) return s;
  const int64_t *d = tn_low_type(l, 0)->shape;
  if (d[0] != 1 || d[2] != 3) return tn_low_unsupported(l, "landmarks that are not [1, n, 3]");
  if (a->output_height < 1 || a->output_width < 1 || !a->subset_idxs.size)
    return tn_low_unsupported(l, "an empty crop");
  for (int64_t k = -2; k < a->subset_idxs.size; k++) {
    const int64_t index = k == -2   ? a->left_rotation_idx
                          : k == -1 ? a->right_rotation_idx
                                    : a->subset_idxs.data[k];
    if (index < 0 || index >= d[1]) return tn_low_unsupported(l, "an index beyond the landmarks");
  }
  return TN_OK;
}

/* a x + b y, or, with minus, a x - b y. */
static int32_t combined(const tn_lowering *l, int32_t a, int32_t x, const char *op, int32_t b,
                        int32_t y) {
  return both(l, op, both(l, "Mul", a, x), both(l, "Mul", b, y));
}

/* The crop, seen by somebody who has turned his head by `angle`: its middle lies at (x, y) of the
 * image. M = shift(x, y) turn(-angle) scale shift(-width / 2, -height / 2). */
tn_status mediapipe_matrix_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  const tn_landmarks2_transform_matrix_attrs *a = call->attrs;
  const tn_status s = check_landmarks(&l);
  if (s) return s;
  const int64_t rows[] = {tn_low_type(&l, 0)->shape[1], 3}, square[] = {1, 4, 4};
  const int32_t flat = tn_low_reshape(&l, tn_low_in(&l, 0), 2, rows),
                left = pick_one(&l, flat, a->left_rotation_idx, 0),
                right = pick_one(&l, flat, a->right_rotation_idx, 0),
                side = both(&l, "Sub", right, left);
  const int32_t slope = tn_low_2(&l, "tflite::ATAN2", pick_one(&l, side, 1, 1),
                                 pick_one(&l, side, 0, 1)),
                angle = both(&l, "Sub", real(&l, a->target_rotation_radians), slope),
                c = tn_low_1(&l, "Cos", angle), n = tn_low_1(&l, "Sin", angle);
  const int32_t points = pick(&l, flat, a->subset_idxs.data, a->subset_idxs.size, 0),
                px = pick_one(&l, points, 0, 1), py = pick_one(&l, points, 1, 1),
                qx = combined(&l, c, px, "Sub", n, py), qy = combined(&l, n, px, "Add", c, py);
  const int32_t hi_x = extreme(&l, "ReduceMax", qx), lo_x = extreme(&l, "ReduceMin", qx),
                hi_y = extreme(&l, "ReduceMax", qy), lo_y = extreme(&l, "ReduceMin", qy);
  const int32_t half = real(&l, 0.5), mx = both(&l, "Mul", both(&l, "Add", hi_x, lo_x), half),
                my = both(&l, "Mul", both(&l, "Add", hi_y, lo_y), half);
  const double width = (double)a->output_width, height = (double)a->output_height;
  const int32_t sx = both(&l, "Mul", both(&l, "Sub", hi_x, lo_x), real(&l, a->scale_x / width)),
                sy = both(&l, "Mul", both(&l, "Sub", hi_y, lo_y), real(&l, a->scale_y / height));
  const int32_t m00 = both(&l, "Mul", c, sx), m01 = both(&l, "Mul", n, sy),
                m10 = tn_low_1(&l, "Neg", both(&l, "Mul", n, sx)), m11 = both(&l, "Mul", c, sy);
  const int32_t back_x = real(&l, width / 2), back_y = real(&l, height / 2);
  const int32_t x = both(&l, "Sub", combined(&l, c, mx, "Add", n, my),
                         combined(&l, m00, back_x, "Add", m01, back_y)),
                y = both(&l, "Sub", combined(&l, c, my, "Sub", n, mx),
                         combined(&l, m10, back_x, "Add", m11, back_y));
  const int64_t one[] = {1, 1};
  const int32_t o = tn_low_reshape(&l, real(&l, 0), 2, one),
                i = tn_low_reshape(&l, real(&l, 1), 2, one);
  const int32_t all[] = {m00, m01, o, x, m10, m11, o, y, o, o, i, o, o, o, o, i};
  return tn_low_done(&l, tn_low_reshape(&l, with_axis(&l, "Concat", all, 16, 1), 3, square));
}
