/* The phases of a transposed convolution. With o + pad = q*stride + r, output o takes the taps t
 * with t*dilation = r + e*stride, from input q - e: those of phase r, and no others. */
#ifndef TN_OPS_CONV_TRANSPOSE_PHASE_H
#define TN_OPS_CONV_TRANSPOSE_PHASE_H

#include "conv_transpose.h"

typedef struct phase { /* one dim of a phase */
  int64_t first, n;    /* q of the first output, outputs */
  int64_t tap, step, taps;
  int64_t back, back_step; /* e of the first tap, and from tap to tap */
} phase;

static inline phase phase_of(const tn_window *w, int32_t k, int64_t r) {
  const int64_t s = w->stride[k], last = w->out[k] - 1 + w->pad_lo[k] - r;
  phase p = {.first = tn_ceil_div(tn_max_i64(0, w->pad_lo[k] - r), s)};
  p.n = last < 0 ? 0 : tn_max_i64(0, last / s - p.first + 1);
  for (int64_t t = w->kernel[k] - 1; t >= 0; t--)
    if (t * w->dilation[k] % s == r) {
      if (p.taps) p.step = p.tap - t;
      p.tap = t;
      p.taps++;
    }
  p.back = p.tap * w->dilation[k] / s;
  p.back_step = p.step * w->dilation[k] / s;
  return p;
}

#endif
