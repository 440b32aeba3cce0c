/* Windows of images as they lie: all elements of a window side by side, the largest of those that a
 * filter is added to, and what a filter of a convolution gets for a step of training. One Slice for
 * each place in the window. Images are [N, Y, X, C]. */
#include "lower.h"
#include "tensorflow.gen.h"

typedef struct patches {
  int64_t size[2], stride[2], rate[2], out[2], before[2], after[2];
  int32_t x; /* with its pads */
} patches;

enum { MOST_PLACES = 4096 };

/* Sizes along Y and X of a list of four numbers; 1 where the node has none. */
static tn_status read_pair(const tn_lowering *l, const char *name, int64_t out[2]) {
  const tn_ints list = tn_low_ints(l, name);
  out[0] = out[1] = 1;
  if (!list.size) return TN_OK;
  if (list.size != 4 || list.data[0] != 1 || list.data[3] != 1)
    return tn_low_unsupported(l, "windows that step over images or channels");
  for (int k = 0; k < 2; k++) {
    out[k] = list.data[k + 1];
    if (out[k] < 1 || out[k] > INT32_MAX)
      return l->call->host->fail(l->call->ctx, TN_ERR_INVALID, "%s has %lld", name,
                                 (long long)out[k]);
  }
  return TN_OK;
}

/* Windows of input 0, whose sizes, strides and rates are there. Pads are `pad`. */
static tn_status open_patches(const tn_lowering *l, double pad, patches *p) {
  const tn_tensor *x = tn_low_type(l, 0);
  const bool is_same = lo_says(l, "padding", "SAME");
  if (p->size[0] < 1 || p->size[1] < 1 || p->size[0] > MOST_PLACES / p->size[1])
    return tn_low_unsupported(l, "windows of this size");
  if (!is_same && !lo_says(l, "padding", "VALID")) return tn_low_unsupported(l, "such paddings");
  for (int k = 0; k < 2; k++) {
    const int64_t in = x->shape[k + 1], wide = (p->size[k] - 1) * p->rate[k] + 1;
    p->out[k] = is_same     ? tn_ceil_div(in, p->stride[k])
                : in < wide ? 0
                            : (in - wide) / p->stride[k] + 1;
    if (p->out[k] < 1) return tn_low_unsupported(l, "images that are smaller than a window");
    const int64_t more = (p->out[k] - 1) * p->stride[k] + wide - in;
    p->before[k] = is_same && more > 0 ? more / 2 : 0;
    p->after[k] = is_same && more > 0 ? more - more / 2 : 0;
  }
  const int64_t pads[] = {0, p->before[0], p->before[1], 0, 0, p->after[0], p->after[1], 0};
  p->x = tn_low_in(l, 0);
  if (p->before[0] || p->before[1] || p->after[0] || p->after[1])
    p->x = tn_low_3(l, "Pad", p->x, tn_low_ints_const(l, pads, 8), tn_low_number(l, x->dtype, pad));
  return TN_OK;
}

/* Elements at place (y, x) of all windows: [N, out, out, C]. */
static int32_t at_place(const tn_lowering *l, const patches *p, int64_t y, int64_t x) {
  static const int64_t axes[] = {1, 2};
  int64_t from[2] = {y * p->rate[0], x * p->rate[1]}, to[2];
  for (int k = 0; k < 2; k++) to[k] = from[k] + (p->out[k] - 1) * p->stride[k] + 1;
  const int32_t in[] = {p->x, tn_low_ints_const(l, from, 2), tn_low_ints_const(l, to, 2),
                        tn_low_ints_const(l, axes, 2), tn_low_ints_const(l, p->stride, 2)};
  return tn_low_emit(l, "Slice", in, 5, NULL, 0);
}

/* All places, one after the other, in the last dim. */
static int32_t side_by_side(const tn_lowering *l, const patches *p) {
  const int64_t n = p->size[0] * p->size[1];
  int32_t *parts = l->call->host->alloc(l->call->ctx, (uint64_t)n * sizeof *parts);
  if (!parts) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < n; k++) parts[k] = at_place(l, p, k / p->size[1], k % p->size[1]);
  const int32_t y = n == 1 ? parts[0] : lo_concat(l, parts, (uint32_t)n, 3);
  l->call->host->free(l->call->ctx, parts);
  return y;
}

tn_status tf_extract_image_patches(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  patches p;
  tn_status s = lo_rank(&l, 0, 4);
  if (!s) s = read_pair(&l, "ksizes", p.size);
  if (!s) s = read_pair(&l, "strides", p.stride);
  if (!s) s = read_pair(&l, "rates", p.rate);
  if (!s) s = open_patches(&l, 0, &p);
  return s ? s : tn_low_done(&l, side_by_side(&l, &p));
}

/* Pads are never the largest: the least number that is no infinity, as TensorFlow has it. */
tn_status tf_dilation_2d(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  patches p;
  tn_status s = lo_rank(&l, 0, 4);
  if (!s) s = lo_rank(&l, 1, 3);
  if (!s) s = read_pair(&l, "strides", p.stride);
  if (!s) s = read_pair(&l, "rates", p.rate);
  if (s) return s;
  if (tn_low_type(&l, 0)->dtype != TN_F32) return tn_low_unsupported(&l, "images other than f32");
  const tn_tensor *f = tn_low_type(&l, 1);
  for (int k = 0; k < 2; k++) p.size[k] = f->shape[k];
  s = open_patches(&l, -INFINITY, &p);
  if (s) return s;
  const int64_t n = p.size[0] * p.size[1], rows[] = {n, f->shape[2]}, least = 0;
  const int32_t filter = tn_low_reshape(&l, tn_low_in(&l, 1), 2, rows);
  int32_t y = TN_NO_ID;
  for (int64_t k = 0; k < n; k++) {
    const int32_t row = lo_squeeze(&l, lo_slice(&l, filter, 0, k, k + 1), least);
    const int32_t one = tn_low_2(&l, "Add", at_place(&l, &p, k / p.size[1], k % p.size[1]), row);
    y = k ? tn_low_2(&l, "Max", y, one) : one;
  }
  return tn_low_done(&l, y);
}

tn_status tf_conv_2d_backprop_filter(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_lowering l = tn_low_open(call, graph, node);
  static const int32_t swap[] = {1, 0};
  int64_t size[4], n;
  patches p;
  tn_status s = lo_rank(&l, 0, 4);
  if (!s) s = lo_rank(&l, 2, 4);
  if (!s) s = lo_const_ints(&l, 1, size, 4, &n);
  if (s) return s;
  if (n != 4 || !lo_channels_are_last(&l))
    return tn_low_unsupported(&l, "filters or images of such dims");
  s = read_pair(&l, "strides", p.stride);
  if (!s) s = read_pair(&l, "dilations", p.rate);
  p.size[0] = size[0], p.size[1] = size[1];
  if (!s) s = open_patches(&l, 0, &p);
  if (s) return s;
  const tn_tensor *x = tn_low_type(&l, 0), *dy = tn_low_type(&l, 2);
  if (size[2] != x->shape[3]) return tn_low_unsupported(&l, "groups of channels");
  if (dy->shape[1] != p.out[0] || dy->shape[2] != p.out[1])
    return call->host->fail(
        call->ctx, TN_ERR_SHAPE, "input 2 is of %lld x %lld pixels, and windows give %lld x %lld",
        (long long)dy->shape[1], (long long)dy->shape[2], (long long)p.out[0], (long long)p.out[1]);
  const int64_t all = x->shape[0] * p.out[0] * p.out[1],
                taken[] = {all, size[0] * size[1] * size[2]}, given[] = {all, dy->shape[3]};
  const int32_t columns =
      tn_low_transpose(&l, tn_low_reshape(&l, side_by_side(&l, &p), 2, taken), 2, swap);
  const int32_t sums =
      tn_low_2(&l, "MatMul", columns, tn_low_reshape(&l, tn_low_in(&l, 2), 2, given));
  return tn_low_done(&l, tn_low_reshape(&l, sums, 4, size));
}
