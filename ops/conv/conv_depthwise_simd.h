/* Depthwise Conv in f32 for AVX-512 and AVX2, along the rows of the output: a vector of outputs
 * takes one multiply-add per tap. Taps outside of a row are lanes outside of a mask, which depends
 * on the column only, so that all rows of a strip of columns share it.
 *
 * 3x3 and 5x5 with strides 1 and 2 are compiled apart, for their weights and masks to be in
 * registers. */
#ifndef TN_OPS_CONV_DEPTHWISE_SIMD_H
#define TN_OPS_CONV_DEPTHWISE_SIMD_H

#include "conv_geometry.h"
#include "tenon/kit/epilogue.h"
#include "tenon/kit/simd.h"

typedef struct plane { /* one depth of a channel; without a third dim: the channel */
  const tn_window *w;  /* of 3 dims */
  const float *x, *k;  /* at the first depth of the window that lies inside ... */
  int64_t n, x_step;   /* ... of so many, floats of the input apart */
  float bias, *y;
} plane;

static inline int64_t clamp_lanes(int64_t n) {
  return n < 0 ? 0 : n < TN_VF_LANES ? n : TN_VF_LANES;
}

/* The lanes l for which start + l is in [0, size). */
static inline tn_vf_mask lanes_inside(int64_t start, int64_t size) {
  return tn_vf_mask_and_not(tn_vf_mask_first(clamp_lanes(size - start)),
                            tn_vf_mask_first(clamp_lanes(-start)));
}

/* Which lanes of a tap are inside of a row: with stride 2, of the two vectors that it takes. */
typedef struct row_lanes {
  tn_vf_mask first, second;
} row_lanes;

static inline row_lanes row_lanes_make(int64_t start, int64_t size, int64_t stride) {
  row_lanes r = {.first = lanes_inside(start, size)};
  r.second = stride == 2 ? lanes_inside(start + TN_VF_LANES, size) : r.first;
  return r;
}

/* x[l*stride] in lane l, stride 1 or 2; 0 where that is outside of the row. */
static inline __attribute__((always_inline)) tn_vf row_taps(const float *x, row_lanes lanes,
                                                            int64_t stride) {
  const tn_vf v = tn_vf_load_mask(lanes.first, x);
  return stride == 1 ? v : tn_vf_even(v, tn_vf_load_mask(lanes.second, x + TN_VF_LANES));
}

/* The same for any stride. */
static tn_vf row_taps_any(const float *row, int64_t start, int64_t size, int64_t stride) {
  float taps[TN_VF_LANES];
  for (int64_t l = 0; l < TN_VF_LANES; l++) {
    const int64_t at = start + l * stride;
    taps[l] = at >= 0 && at < size ? row[at] : 0;
  }
  return tn_vf_load(taps);
}

enum { MAX_SIZE = 5 }; /* of a window that is compiled apart */

/* All output rows of columns [ow, ow + lanes), under n depths of a window of size x size. Size and
 * stride, 1 or 2, are numbers. What rows share is copied: stores might change what p points to.
 */
static inline __attribute__((always_inline)) void depthwise_strip(const plane *p, int64_t ow,
                                                                  int64_t n, int64_t size,
                                                                  int64_t stride) {
  const tn_window *w = p->w;
  const int64_t in_h = w->in[1], in_w = w->in[2], out_w = w->out[2], step = w->dilation[2];
  const int64_t start = ow * stride - w->pad_lo[2], down = w->stride[1], next = w->dilation[1];
  const int64_t end = w->out[1] * down - w->pad_lo[1], x_step = p->x_step;
  const tn_vf_mask out = tn_vf_mask_first(clamp_lanes(out_w - ow));
  const tn_vf bias = tn_vf_set1(p->bias);
  const float *x = p->x + start, *weights = p->k;
  row_lanes lanes[MAX_SIZE];
  TN_UNROLL for (int64_t tw = 0; tw < size; tw++) lanes[tw] =
      row_lanes_make(start + tw * step, in_w, stride);
  float *y = p->y + ow;
  for (int64_t top = -w->pad_lo[1]; top < end; top += down, y += out_w) {
    tn_vf acc = bias;
    const float *from = x, *k = weights;
    for (int64_t td = 0; td < n; td++, from += x_step, k += size * size)
      TN_UNROLL for (int64_t th = 0; th < size; th++) {
        const int64_t ih = top + th * next;
        if (ih < 0 || ih >= in_h) continue;
        const float *row = from + ih * in_w;
        TN_UNROLL for (int64_t tw = 0; tw < size; tw++) acc = tn_vf_fma(
            row_taps(row + tw * step, lanes[tw], stride), tn_vf_set1(k[th * size + tw]), acc);
      }
    tn_vf_store_mask(y, out, acc);
  }
}

typedef void (*depthwise_strip_fn)(const plane *p, int64_t ow);

#define DEPTHWISE_STRIPS(SIZE, S)                                         \
  static void depthwise_strip_##SIZE##_##S(const plane *p, int64_t ow) {  \
    depthwise_strip(p, ow, 1, SIZE, S);                                   \
  }                                                                       \
  static void depthwise_strips_##SIZE##_##S(const plane *p, int64_t ow) { \
    depthwise_strip(p, ow, p->n, SIZE, S);                                \
  }
DEPTHWISE_STRIPS(3, 1)
DEPTHWISE_STRIPS(3, 2)
DEPTHWISE_STRIPS(5, 1)
DEPTHWISE_STRIPS(5, 2)
#undef DEPTHWISE_STRIPS

/* The same for any window and stride. */
static void depthwise_strip_any(const plane *p, int64_t ow) {
  const tn_window *w = p->w;
  const int64_t in_w = w->in[2], out_w = w->out[2], kh = w->kernel[1], kw = w->kernel[2];
  const int64_t start = ow * w->stride[2] - w->pad_lo[2];
  const tn_vf_mask out = tn_vf_mask_first(clamp_lanes(out_w - ow));
  float *y = p->y + ow;
  for (int64_t oh = 0; oh < w->out[1]; oh++, y += out_w) {
    const int64_t top = oh * w->stride[1] - w->pad_lo[1];
    int64_t lo, hi;
    tn_window_taps(w, 1, oh, &lo, &hi);
    tn_vf acc = tn_vf_set1(p->bias);
    for (int64_t td = 0; td < p->n; td++)
      for (int64_t th = lo; th < hi; th++) {
        const float *row = p->x + (td * p->x_step + (top + th * w->dilation[1]) * in_w);
        const float *k = p->k + (td * kh + th) * kw;
        for (int64_t tw = 0; tw < kw; tw++)
          acc = tn_vf_fma(row_taps_any(row, start + tw * w->dilation[2], in_w, w->stride[2]),
                          tn_vf_set1(k[tw]), acc);
      }
    tn_vf_store_mask(y, out, acc);
  }
}

enum { MAX_WIDTH = 32, SUMS = 4 };

/* The same for stride 1 and any window up to MAX_WIDTH wide: the masks of its taps serve all rows,
 * and the taps of a row go to some sums in turn, so that none waits for the one before. */
static void depthwise_strip_wide(const plane *p, int64_t ow) {
  const tn_window *w = p->w;
  const int64_t in_w = w->in[2], out_w = w->out[2], kh = w->kernel[1], kw = w->kernel[2];
  const int64_t start = ow - w->pad_lo[2], step = w->dilation[2];
  const tn_vf_mask out = tn_vf_mask_first(clamp_lanes(out_w - ow));
  const bool inside = start >= 0 && start + (kw - 1) * step + TN_VF_LANES <= in_w;
  tn_vf_mask masks[MAX_WIDTH];
  for (int64_t tw = 0; tw < kw; tw++) masks[tw] = lanes_inside(start + tw * step, in_w);
  float *y = p->y + ow;
  for (int64_t oh = 0; oh < w->out[1]; oh++, y += out_w) {
    const int64_t top = oh * w->stride[1] - w->pad_lo[1];
    int64_t lo, hi;
    tn_window_taps(w, 1, oh, &lo, &hi);
    tn_vf acc[SUMS] = {tn_vf_set1(p->bias), tn_vf_set1(0), tn_vf_set1(0), tn_vf_set1(0)};
    for (int64_t td = 0; td < p->n; td++)
      for (int64_t th = lo; th < hi; th++) {
        const int64_t at = td * p->x_step + (top + th * w->dilation[1]) * in_w + start;
        const float *row = p->x + at, *k = p->k + (td * kh + th) * kw;
        int64_t tw = 0;
        if (inside) {
          for (; tw + SUMS <= kw; tw += SUMS)
            TN_UNROLL for (int i = 0; i < SUMS; i++) acc[i] =
                tn_vf_fma(tn_vf_load(row + (tw + i) * step), tn_vf_set1(k[tw + i]), acc[i]);
        } else {
          for (; tw + SUMS <= kw; tw += SUMS)
            TN_UNROLL for (int i = 0; i < SUMS; i++) acc[i] =
                tn_vf_fma(tn_vf_load_mask(masks[tw + i], row + (tw + i) * step),
                          tn_vf_set1(k[tw + i]), acc[i]);
        }
        for (; tw < kw; tw++)
          acc[0] =
              tn_vf_fma(tn_vf_load_mask(masks[tw], row + tw * step), tn_vf_set1(k[tw]), acc[0]);
      }
    const tn_vf sum = tn_vf_add(tn_vf_add(acc[0], acc[1]), tn_vf_add(acc[2], acc[3]));
    tn_vf_store_mask(y, out, sum);
  }
}

/* Is the window compiled apart? */
static bool depthwise_is_small(const tn_window *w) {
  const int64_t kh = w->kernel[1], kw = w->kernel[2];
  return kh == kw && w->stride[2] <= 2 && (kh == 3 || kh == 5);
}
static bool depthwise_is_wide(const tn_window *w) {
  return !depthwise_is_small(w) && w->stride[2] == 1 && w->kernel[2] <= MAX_WIDTH;
}

static depthwise_strip_fn depthwise_strip_for(const tn_window *w) {
  /* By size/2 - 1, stride - 1, and whether there are depths. */
  static const depthwise_strip_fn small[2][2][2] = {
      {{depthwise_strip_3_1, depthwise_strips_3_1}, {depthwise_strip_3_2, depthwise_strips_3_2}},
      {{depthwise_strip_5_1, depthwise_strips_5_1}, {depthwise_strip_5_2, depthwise_strips_5_2}}};
  const bool deep = w->in[0] != 1 || w->out[0] != 1 || w->kernel[0] != 1 || w->pad_lo[0] != 0;
  if (depthwise_is_small(w)) return small[w->kernel[2] / 2 - 1][w->stride[2] - 1][deep];
  return depthwise_is_wide(w) ? depthwise_strip_wide : depthwise_strip_any;
}

/* One channel, from its depth 0 on; x and k are those of the channel. */
static void depthwise_channel_strips(plane *p, const float *x, const float *k,
                                     depthwise_strip_fn strip) {
  const tn_window *w = p->w;
  const int64_t in_size = w->in[1] * w->in[2], out_size = w->out[1] * w->out[2];
  p->x_step = w->dilation[0] * in_size;
  for (int64_t od = 0; od < w->out[0]; od++, p->y += out_size) {
    int64_t lo, hi;
    tn_window_taps(w, 0, od, &lo, &hi);
    p->n = hi - lo;
    p->x = x, p->k = k;
    if (p->n) {
      p->x += (od * w->stride[0] - w->pad_lo[0] + lo * w->dilation[0]) * in_size;
      p->k += lo * w->kernel[1] * w->kernel[2];
    }
    for (int64_t ow = 0; ow < w->out[2]; ow += TN_VF_LANES) strip(p, ow);
  }
}

tn_status TN_SIMD_NAME(conv_depthwise_plan)(const tn_call *call, tn_kernel_plan *out) {
  conv_shape c;
  tn_status s = conv_shape_make(call, &c);
  if (s) return s;
  const tn_window w = tn_window_inner(&c.w, 3);
  const double vectors = (double)(c.batch * c.filters * w.out[0]) *
                         (double)(w.out[1] * tn_ceil_div(w.out[2], TN_VF_LANES));
  out->items[0] = c.batch * c.filters;
  out->elements_per_item = c.out_size;
  const double tap = depthwise_is_small(&w)  ? 0.4
                     : depthwise_is_wide(&w) ? (TN_VF_LANES == 16 ? 0.8 : 1.2)
                     : w.stride[2] > 2       ? 0.9 * TN_VF_LANES /* inputs one by one */
                                             : 3.2;
  out->cost_ns = vectors * (double)(c.taps + 4) * tap + 300;
  out->grain[0] = tn_grain(TN_THREAD_NS, out->cost_ns / (double)out->items[0]);
  return TN_OK;
}

/* A window of one tap at every place scales the channel, whose rows may then be of any length. */
static void depthwise_flatten(tn_window *w) {
  for (int32_t k = 0; k < 3; k++)
    if (w->kernel[k] != 1 || w->stride[k] != 1 || w->pad_lo[k] || w->in[k] != w->out[k]) return;
  const int64_t size = w->in[0] * w->in[1] * w->in[2],
                row = size % TN_VF_LANES ? size : TN_VF_LANES;
  w->in[0] = w->out[0] = 1;
  w->in[1] = w->out[1] = row ? size / row : 0;
  w->in[2] = w->out[2] = row;
}

tn_status TN_SIMD_NAME(conv_depthwise_f32)(const tn_call *call, uint32_t stage, int64_t begin,
                                           int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  conv_shape c;
  tn_status s = conv_shape_make(call, &c);
  if (s) return s;
  tn_window window = tn_window_inner(&c.w, 3);
  depthwise_flatten(&window);
  const float *x = call->inputs[0]->data, *w = call->inputs[1]->data;
  const float *bias = call->inputs[2] ? call->inputs[2]->data : NULL;
  float *y = call->outputs[0]->data;
  const int64_t multiplier = c.filters / c.groups;
  const depthwise_strip_fn strip = depthwise_strip_for(&window);
  for (int64_t item = begin; item < end; item++) {
    const int64_t m = item % c.filters, channel = item / c.filters * c.channels + m / multiplier;
    plane p = {.w = &window, .bias = bias ? bias[m] : 0, .y = y + item * c.out_size};
    depthwise_channel_strips(&p, x + channel * c.in_size, w + m * c.taps, strip);
    if (call->n_epilogue)
      tn_epilogue_f32(call, y + item * c.out_size, c.out_size, item * c.out_size, m, 0);
  }
  return TN_OK;
}

#endif
