/* Depthwise Conv in f32 in blocked layout, for AVX-512 and AVX2: a vector is the channels of one
 * block, so that windows, strides and borders of any kind cost no lanes. Windows that are common
 * have tiles of their own (conv_depthwise_tile.h); of all others neighbouring pixels share each
 * weight, as long as the same taps lie inside the input. */
#ifndef TN_OPS_CONV_DEPTHWISE_BLOCKED_SIMD_H
#define TN_OPS_CONV_DEPTHWISE_BLOCKED_SIMD_H

#include "conv_cut.h"
#include "conv_depthwise_tile.h"
#include "conv_geometry.h"

/* Taps that lie inside the input: rows [h0, h1), columns [w0, w1). */
typedef struct depthwise_taps {
  int64_t h0, h1, w0, w1;
} depthwise_taps;

/* P output pixels from (oh, ow) on, all with the same taps. P is a number, not a parameter: only
 * then do the accumulators stay in registers. */
#define DEPTHWISE_ANY(P)                                                                 \
  static void depthwise_any_##P(const depthwise_block *d, int64_t oh, int64_t ow,        \
                                const depthwise_taps *t, float *y) {                     \
    const tn_window *w = d->w;                                                           \
    const int64_t step = w->stride[2] * TN_VF_LANES, col = w->dilation[2] * TN_VF_LANES; \
    const int64_t left = (ow * w->stride[2] - w->pad_lo[2]) * TN_VF_LANES;               \
    tn_vf acc[P];                                                                        \
    TN_UNROLL for (int p = 0; p < P; p++) acc[p] = d->bias;                              \
    for (int64_t h = t->h0; h < t->h1; h++) {                                            \
      const int64_t ih = oh * w->stride[1] - w->pad_lo[1] + h * w->dilation[1];          \
      const float *row = d->x + ih * w->in[2] * TN_VF_LANES;                             \
      for (int64_t c = t->w0; c < t->w1; c++) {                                          \
        const tn_vf k = tn_vf_load(d->k + (h * w->kernel[2] + c) * TN_VF_LANES);         \
        const float *from = row + (left + c * col);                                      \
        TN_UNROLL for (int p = 0; p < P; p++, from += step) acc[p] =                     \
            tn_vf_fma(tn_vf_load(from), k, acc[p]);                                      \
      }                                                                                  \
    }                                                                                    \
    DEPTHWISE_STORE(d, acc, 1, P, y, 0);                                                 \
  }
DEPTHWISE_ANY(1)
DEPTHWISE_ANY(2)
DEPTHWISE_ANY(4)
DEPTHWISE_ANY(8)
#if TN_VF_REGISTERS == 32
DEPTHWISE_ANY(12)
#endif
#undef DEPTHWISE_ANY
#undef DEPTHWISE_STORE

typedef void (*depthwise_any_fn)(const depthwise_block *d, int64_t oh, int64_t ow,
                                 const depthwise_taps *t, float *y);

/* How many of n pixels to take at once. */
static int64_t depthwise_any_size(int64_t n) {
#if TN_VF_REGISTERS == 32
  if (n >= 12) return 12;
#endif
  return n >= 8 ? 8 : n >= 4 ? 4 : n >= 2 ? 2 : 1;
}

static void depthwise_row(const depthwise_block *d, int64_t oh, float *y) {
  static const depthwise_any_fn tiles[] = {
    [1] = depthwise_any_1,
    [2] = depthwise_any_2,
    [4] = depthwise_any_4,
    [8] = depthwise_any_8,
#if TN_VF_REGISTERS == 32
    [12] = depthwise_any_12,
#endif
  };
  const tn_window *w = d->w;
  depthwise_taps t;
  tn_window_taps(w, 1, oh, &t.h0, &t.h1);
  for (int64_t ow = 0; ow < w->out[2];) {
    tn_window_taps(w, 2, ow, &t.w0, &t.w1);
    const int64_t end = ow + tn_window_run(w, 2, ow, t.w0, t.w1);
    for (int64_t n; ow < end; ow += n) {
      n = depthwise_any_size(end - ow);
      tiles[n](d, oh, ow, &t, y + ow * TN_VF_LANES);
    }
  }
}

/* n output rows, up to DEPTHWISE_ROWS, from oh on. */
static void depthwise_few_rows(const depthwise_block *d, int64_t oh, int64_t n, float *y) {
  if (depthwise_is_tiled(d->w))
    depthwise_rows(d, oh, n, y);
  else
    for (int64_t r = 0; r < n; r++) depthwise_row(d, oh + r, y + r * d->w->out[2] * TN_VF_LANES);
}

const char *TN_SIMD_NAME(conv_depthwise_blocked_refuse)(const tn_call *call) {
  const tn_conv_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
  if (x->rank < 3 || x->rank > 4) return "takes 1 or 2 spatial dims";
  if (a->group != x->shape[1] || w->shape[0] != x->shape[1])
    return "takes one input and one output channel per group";
  return tn_epilogue_refuse_f32(call, 1);
}

/* How work is cut: an item is one block of a band of rows of an image. A band is the whole image
 * where the convolutions beside this one, with about as many filters, share these out. */
typedef struct depthwise_cut {
  int64_t blocks, bands;
} depthwise_cut;

static depthwise_cut depthwise_cut_make(const conv_shape *c, int64_t rows, uint32_t n_workers) {
  enum { MUCH = 1 << 14 }; /* vectors to store, some of which may be handed over when it is late */
  depthwise_cut cut = {.blocks = tn_ceil_div(c->filters, TN_VF_LANES), .bands = 1};
  if (n_workers > 1 && !(cut_by_filters(c->filters, c->out_size) && cut.blocks >= n_workers))
    cut.bands = tn_min_i64(rows, (cut.blocks * c->out_size < MUCH ? 1 : 2) * (int64_t)n_workers);
  return cut;
}

tn_status TN_SIMD_NAME(conv_depthwise_blocked_plan)(const tn_call *call, tn_kernel_plan *out) {
  conv_shape c;
  const tn_status s = conv_shape_make(call, &c);
  if (s) return s;
  const depthwise_cut cut =
      depthwise_cut_make(&c, tn_window_padded(&c.w, 3).out[1], call->n_workers);
  const double vectors = (double)(c.batch * cut.blocks) * (double)c.out_size;
  out->state_bytes = (uint64_t)(cut.blocks * TN_VF_LANES * c.taps) * sizeof(float);
  out->items[0] = c.batch * cut.bands * cut.blocks;
  out->cost_ns = vectors * ((double)c.taps * 0.28 + 1) + 400;
  out->grain[0] = tn_grain(TN_THREAD_NS, out->cost_ns / (double)out->items[0]);
  return TN_OK;
}

/* Into [block][tap][lanes]. */
static void pack_depthwise(const float *w, int64_t filters, int64_t taps, float *to) {
  for (int64_t f = 0; f < tn_ceil_div(filters, TN_VF_LANES) * TN_VF_LANES; f++)
    for (int64_t t = 0; t < taps; t++)
      to[(f / TN_VF_LANES * taps + t) * TN_VF_LANES + f % TN_VF_LANES] =
          f < filters ? w[f * taps + t] : 0;
}

tn_status TN_SIMD_NAME(conv_depthwise_blocked_prepare)(const tn_call *call) {
  conv_shape c;
  const tn_status s = conv_shape_make(call, &c);
  if (!s) pack_depthwise(call->inputs[1]->data, c.filters, c.taps, call->state);
  return s;
}

/* A block of channels of an image; `plane` counts the blocks of all images. */
static void depthwise_block_make(const tn_call *call, const conv_shape *c, int64_t plane,
                                 depthwise_block *d) {
  const int64_t block = plane % tn_ceil_div(c->filters, TN_VF_LANES);
  const int64_t channel = block * TN_VF_LANES;
  const int64_t live = tn_min_i64(TN_VF_LANES, c->filters - channel);
  const float *bias = call->inputs[2] ? call->inputs[2]->data : NULL;
  d->live = tn_vf_mask_first(live);
  d->partial = live < TN_VF_LANES;
  d->bias = bias ? tn_vf_load_mask(d->live, bias + channel) : tn_vf_set1(0);
  d->x = (const float *)call->inputs[0]->data + plane * c->in_size * TN_VF_LANES;
  d->k = (const float *)call->state + block * c->taps * TN_VF_LANES;
}

/* Rows [oh, end) of a block of channels; `plane` counts the blocks of all images. */
static void depthwise_some_rows(const tn_call *call, const depthwise_block *d, int64_t plane,
                                int64_t oh, int64_t end) {
  const tn_window *w = d->w;
  const int64_t row = w->out[2] * TN_VF_LANES;
  const int64_t blocks = tn_ceil_div(call->outputs[0]->shape[1], TN_VF_LANES);
  float *y = call->outputs[0]->data;
  for (int64_t n; oh < end; oh += n) {
    const int64_t at = (plane * w->out[1] + oh) * row;
    n = tn_min_i64(DEPTHWISE_ROWS, end - oh);
    depthwise_few_rows(d, oh, n, y + at);
    if (d->finish.rest)
      tn_epilogue_block_f32(call, y + at, n * w->out[2], at, plane % blocks * TN_VF_LANES,
                            TN_VF_LANES);
  }
}

tn_status TN_SIMD_NAME(conv_depthwise_blocked)(const tn_call *call, uint32_t stage, int64_t begin,
                                               int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  conv_shape c;
  const tn_status s = conv_shape_make(call, &c);
  if (s) return s;
  const tn_window w = tn_window_padded(&c.w, 3);
  const depthwise_cut cut = depthwise_cut_make(&c, w.out[1], call->n_workers);
  depthwise_block d = {.w = &w, .finish = tn_finish_make(call), .out = call->outputs[0]->data};
  for (int64_t item = begin; item < end; item++) {
    const int64_t k = item / cut.blocks % cut.bands, image = item / cut.blocks / cut.bands;
    const int64_t plane = image * cut.blocks + item % cut.blocks;
    depthwise_block_make(call, &c, plane, &d);
    depthwise_some_rows(call, &d, plane, cut_at(w.out[1], cut.bands, k),
                        cut_at(w.out[1], cut.bands, k + 1));
  }
  return TN_OK;
}

#endif
