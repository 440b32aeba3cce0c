/* Depthwise Conv in f32 for AVX-512 and AVX2, along the rows of the output: a vector of outputs
 * takes one multiply-add per tap. Taps outside of a row are lanes outside of a mask, which depends
 * on the column only, so that all rows of a strip of columns share it.
 *
 * 3x3 and 5x5 with strides 1 and 2 are compiled apart, for their weights and masks to be in
 * registers. */
#ifndef TN_OPS_CONV_DEPTHWISE_SIMD_H
#define TN_OPS_CONV_DEPTHWISE_SIMD_H

#include "base/epilogue.h"
#include "base/simd.h"
#include "conv_geometry.h"

typedef struct plane { /* one channel */
  const conv_shape *c;
  const float *x, *k;
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

/* x[start + l*stride] in lane l; 0 where that is outside of the row [0, size). */
static inline __attribute__((always_inline)) tn_vf row_taps(const float *row, int64_t start,
                                                            int64_t size, int64_t stride) {
  if (stride == 1) return tn_vf_load_mask(lanes_inside(start, size), row + start);
  if (stride == 2) {
    const int64_t next = start + TN_VF_LANES;
    return tn_vf_even(tn_vf_load_mask(lanes_inside(start, size), row + start),
                      tn_vf_load_mask(lanes_inside(next, size), row + next));
  }
  float taps[TN_VF_LANES];
  for (int64_t l = 0; l < TN_VF_LANES; l++) {
    const int64_t at = start + l * stride;
    taps[l] = at >= 0 && at < size ? row[at] : 0;
  }
  return tn_vf_load(taps);
}

/* All output rows of columns [ow, ow + lanes). KH, KW, stride: numbers where the caller has
 * them. */
static inline __attribute__((always_inline)) void depthwise_strip(const plane *p, int64_t ow,
                                                                  int64_t kh, int64_t kw,
                                                                  int64_t stride) {
  const tn_window *w = &p->c->w;
  const int64_t in_h = w->in[0], in_w = w->in[1], out_w = w->out[1];
  const int64_t start = ow * stride - w->pad_lo[1], step = w->dilation[1];
  const tn_vf_mask out = tn_vf_mask_first(clamp_lanes(out_w - ow));
  float *y = p->y + ow;
  for (int64_t oh = 0; oh < w->out[0]; oh++, y += out_w) {
    const int64_t top = oh * w->stride[0] - w->pad_lo[0];
    tn_vf acc = tn_vf_set1(p->bias);
    for (int64_t th = 0; th < kh; th++) {
      const int64_t ih = top + th * w->dilation[0];
      if (ih < 0 || ih >= in_h) continue;
      const float *row = p->x + ih * in_w, *k = p->k + th * kw;
      for (int64_t tw = 0; tw < kw; tw++)
        acc = tn_vf_fma(row_taps(row, start + tw * step, in_w, stride), tn_vf_set1(k[tw]), acc);
    }
    tn_vf_store_mask(y, out, acc);
  }
}

enum { MAX_WIDTH = 32, SUMS = 4 };

/* The same for stride 1 and any window up to MAX_WIDTH wide: the masks of its taps serve all rows,
 * and the taps of a row go to some sums in turn, so that none waits for the one before. */
static void depthwise_strip_wide(const plane *p, int64_t ow) {
  const tn_window *w = &p->c->w;
  const int64_t in_w = w->in[1], out_w = w->out[1], kw = w->kernel[1];
  const int64_t start = ow - w->pad_lo[1], step = w->dilation[1];
  const tn_vf_mask out = tn_vf_mask_first(clamp_lanes(out_w - ow));
  const bool inside = start >= 0 && start + (kw - 1) * step + TN_VF_LANES <= in_w;
  tn_vf_mask masks[MAX_WIDTH];
  for (int64_t tw = 0; tw < kw; tw++) masks[tw] = lanes_inside(start + tw * step, in_w);
  float *y = p->y + ow;
  for (int64_t oh = 0; oh < w->out[0]; oh++, y += out_w) {
    const int64_t top = oh * w->stride[0] - w->pad_lo[0];
    int64_t lo, hi;
    tn_window_taps(w, 0, oh, &lo, &hi);
    tn_vf acc[SUMS] = {tn_vf_set1(p->bias), tn_vf_set1(0), tn_vf_set1(0), tn_vf_set1(0)};
    for (int64_t th = lo; th < hi; th++) {
      const float *row = p->x + ((top + th * w->dilation[0]) * in_w + start), *k = p->k + th * kw;
      int64_t tw = 0;
      if (inside) {
        for (; tw + SUMS <= kw; tw += SUMS)
          TN_UNROLL for (int s = 0; s < SUMS; s++) acc[s] =
              tn_vf_fma(tn_vf_load(row + (tw + s) * step), tn_vf_set1(k[tw + s]), acc[s]);
      } else {
        for (; tw + SUMS <= kw; tw += SUMS)
          TN_UNROLL for (int s = 0; s < SUMS; s++) acc[s] = tn_vf_fma(
              tn_vf_load_mask(masks[tw + s], row + (tw + s) * step), tn_vf_set1(k[tw + s]), acc[s]);
      }
      for (; tw < kw; tw++)
        acc[0] = tn_vf_fma(tn_vf_load_mask(masks[tw], row + tw * step), tn_vf_set1(k[tw]), acc[0]);
    }
    const tn_vf sum = tn_vf_add(tn_vf_add(acc[0], acc[1]), tn_vf_add(acc[2], acc[3]));
    tn_vf_store_mask(y, out, sum);
  }
}

/* Is the window compiled apart? */
static int64_t depthwise_size(const tn_window *w) {
  const int64_t kh = w->kernel[0], stride = w->stride[1];
  const bool is = kh == w->kernel[1] && stride <= 2 && (kh == 3 || kh == 5);
  return is ? kh * 10 + stride : 0;
}
static bool depthwise_is_wide(const tn_window *w) {
  return !depthwise_size(w) && w->stride[1] == 1 && w->kernel[1] <= MAX_WIDTH;
}

static void depthwise_plane(const plane *p) {
  const tn_window *w = &p->c->w;
  const int64_t kh = w->kernel[0], kw = w->kernel[1], stride = w->stride[1];
  const int64_t size = depthwise_size(w);
  const bool wide = depthwise_is_wide(w);
  for (int64_t ow = 0; ow < w->out[1]; ow += TN_VF_LANES) switch (size) {
      case 31: depthwise_strip(p, ow, 3, 3, 1); break;
      case 32: depthwise_strip(p, ow, 3, 3, 2); break;
      case 51: depthwise_strip(p, ow, 5, 5, 1); break;
      case 52: depthwise_strip(p, ow, 5, 5, 2); break;
      default:
        if (wide)
          depthwise_strip_wide(p, ow);
        else
          depthwise_strip(p, ow, kh, kw, stride);
        break;
    }
}

tn_status TN_SIMD_NAME(conv_depthwise_plan)(const tn_call *call, tn_kernel_plan *out) {
  conv_shape c;
  tn_status s = conv_shape_make(call, &c);
  if (s) return s;
  const double vectors =
      (double)(c.batch * c.filters) * (double)(c.w.out[0] * tn_ceil_div(c.w.out[1], TN_VF_LANES));
  out->items[0] = c.batch * c.filters;
  out->elements_per_item = c.out_size;
  const double tap = depthwise_size(&c.w)      ? 0.4
                     : depthwise_is_wide(&c.w) ? (TN_VF_LANES == 16 ? 0.8 : 1.2)
                     : c.w.stride[1] > 2       ? 0.9 * TN_VF_LANES /* inputs one by one */
                                               : 3.2;
  out->cost_ns = vectors * (double)(c.taps + 4) * tap + 300;
  out->grain[0] = tn_grain(TN_THREAD_NS, out->cost_ns / (double)out->items[0]);
  return TN_OK;
}

tn_status TN_SIMD_NAME(conv_depthwise_f32)(const tn_call *call, uint32_t stage, int64_t begin,
                                           int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  conv_shape c;
  tn_status s = conv_shape_make(call, &c);
  if (s) return s;
  const float *x = call->inputs[0]->data, *w = call->inputs[1]->data;
  const float *bias = call->inputs[2] ? call->inputs[2]->data : NULL;
  float *y = call->outputs[0]->data;
  const int64_t multiplier = c.filters / c.groups;
  for (int64_t item = begin; item < end; item++) {
    const int64_t m = item % c.filters, channel = item / c.filters * c.channels + m / multiplier;
    const plane p = {.c = &c,
                     .x = x + channel * c.in_size,
                     .k = w + m * c.taps,
                     .bias = bias ? bias[m] : 0,
                     .y = y + item * c.out_size};
    depthwise_plane(&p);
    if (call->n_epilogue) tn_epilogue_f32(call, p.y, c.out_size, item * c.out_size, m, 0);
  }
  return TN_OK;
}

#endif
