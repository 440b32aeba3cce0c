/* Gathering the inputs under a block of windows into panels (im2col, one block at a time), as f32
 * whatever the type. */
#ifndef TN_OPS_CONV_GATHER_H
#define TN_OPS_CONV_GATHER_H

#include "conv_geometry.h"
#include "tenon/kit/gemm.h"

enum { CONV_PIXELS = 64 }; /* output pixels per block: 8 panels */

/* 1x1 windows of stride 1 without pads: pixels lie as in the input. */
static inline bool conv_is_pointwise(const tn_window *w) {
  for (int32_t k = 0; k < w->n; k++)
    if (w->kernel[k] != 1 || w->stride[k] != 1 || w->pad_lo[k] || w->pad_hi[k]) return false;
  return true;
}

typedef struct conv_gather {
  tn_window w;
  int64_t in_size, taps, pixel, n; /* output pixels [pixel, pixel + n) */
  bool is_pointwise;               /* a tap is one run of memory */
} conv_gather;

static inline conv_gather conv_gather_block(const conv_shape *c, int64_t pixel) {
  conv_gather g = {.w = tn_window_inner(&c->w, 3),
                   .in_size = c->in_size,
                   .taps = c->taps,
                   .pixel = pixel,
                   .is_pointwise = conv_is_pointwise(&c->w)};
  g.n = tn_min_i64(CONV_PIXELS, c->out_size - pixel);
  return g;
}

/* conv_gather_T: rows [k0, k0 + kc) of the gathered matrix (input channel, tap), minus `zero`, into
 * panels [pixel/8][kc][8]. x: first channel of the group. Pads and the lanes beyond n are 0. */
#define CONV_GATHER(name, T)                                                                      \
  static inline void name##_row(const tn_window *w, const T *x, float zero, const int64_t *tap,   \
                                int64_t p, int64_t n, float *panels, int64_t kc) {                \
    for (int64_t at = 0; at < n;) {                                                               \
      int64_t pixel = p + at, ow = pixel % w->out[2], oh = pixel / w->out[2] % w->out[1];         \
      int64_t od = pixel / w->out[2] / w->out[1], run = tn_min_i64(n - at, w->out[2] - ow);       \
      int64_t id = od * w->stride[0] - w->pad_lo[0] + tap[0] * w->dilation[0];                    \
      int64_t ih = oh * w->stride[1] - w->pad_lo[1] + tap[1] * w->dilation[1];                    \
      int64_t iw = ow * w->stride[2] - w->pad_lo[2] + tap[2] * w->dilation[2];                    \
      bool inside = id >= 0 && id < w->in[0] && ih >= 0 && ih < w->in[1];                         \
      const T *row = inside ? x + (id * w->in[1] + ih) * w->in[2] : NULL;                         \
      for (int64_t e = at + run; at < e; at++, iw += w->stride[2])                                \
        panels[at / TN_GEMM_NR * kc * TN_GEMM_NR + at % TN_GEMM_NR] =                             \
            row && iw >= 0 && iw < w->in[2] ? (float)row[iw] - zero : 0;                          \
    }                                                                                             \
  }                                                                                               \
  static inline void name##_run(const T *x, float zero, int64_t n, float *panels, int64_t kc) {   \
    int64_t at = 0;                                                                               \
    for (; at + TN_GEMM_NR <= n; at += TN_GEMM_NR, panels += kc * TN_GEMM_NR)                     \
      for (int64_t j = 0; j < TN_GEMM_NR; j++) panels[j] = (float)x[at + j] - zero;               \
    for (int64_t j = 0; at + j < n; j++) panels[j] = (float)x[at + j] - zero;                     \
  }                                                                                               \
  static inline void name(const conv_gather *g, const T *x, float zero, int64_t k0, int64_t kc,   \
                          float *panels) {                                                        \
    int64_t last = g->n / TN_GEMM_NR * TN_GEMM_NR;                                                \
    if (last < g->n) memset(panels + last * kc, 0, (size_t)(kc * TN_GEMM_NR) * sizeof *panels);   \
    for (int64_t k = k0; k < k0 + kc; k++, panels += TN_GEMM_NR) {                                \
      const T *from = x + k / g->taps * g->in_size;                                               \
      int64_t t = k % g->taps;                                                                    \
      int64_t tap[3] = {t / g->w.kernel[2] / g->w.kernel[1], t / g->w.kernel[2] % g->w.kernel[1], \
                        t % g->w.kernel[2]};                                                      \
      if (g->is_pointwise)                                                                        \
        name##_run(from + g->pixel, zero, g->n, panels, kc);                                      \
      else                                                                                        \
        name##_row(&g->w, from, zero, tap, g->pixel, g->n, panels, kc);                           \
    }                                                                                             \
  }

CONV_GATHER(conv_gather_f32, float)
CONV_GATHER(conv_gather_i8, int8_t)
CONV_GATHER(conv_gather_u8, uint8_t)

#endif
