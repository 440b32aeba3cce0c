/* Windows in tables of C: what emitters (tenon/experimental/emit_c.h) of convolutions and pools
 * share. EXPERIMENTAL. */
#ifndef TENON_EXPERIMENTAL_EMIT_WINDOW_H
#define TENON_EXPERIMENTAL_EMIT_WINDOW_H

#include "tenon/experimental/emit_c.h"
#include "tenon/kit/window.h"

/* The initialiser of a `struct window` of "code/window.c"; w: of two dims. */
static inline void tn_emit_window(const tn_emit *e, const tn_window *w, int64_t planes) {
  e->table(e,
           "{.planes = %d, .in_h = %d, .in_w = %d, .out_h = %d, .out_w = %d,\n"
           "     .kernel_h = %d, .kernel_w = %d, .stride_h = %d, .stride_w = %d,\n"
           "     .dilation_h = %d, .dilation_w = %d,\n"
           "     .top = %d, .left = %d, .bottom = %d, .right = %d}",
           (int)planes, (int)w->in[0], (int)w->in[1], (int)w->out[0], (int)w->out[1],
           (int)w->kernel[0], (int)w->kernel[1], (int)w->stride[0], (int)w->stride[1],
           (int)w->dilation[0], (int)w->dilation[1], (int)w->pad_lo[0], (int)w->pad_lo[1],
           (int)w->pad_hi[0], (int)w->pad_hi[1]);
}

#endif
