/* Pools in channels-last layout, where quantised networks are: largest elements of bytes, averages
 * in f32. A vector is neighbouring channels of one place. Behind pool_simd.h. */
#ifndef TN_OPS_POOL_LAST_SIMD_H
#define TN_OPS_POOL_LAST_SIMD_H

#include "pool_simd.h"
#include "tenon/kit/simd.h"

/* The taps of the window of output (oh, ow): rows h0 .. h1-1, columns w0 .. w1-1; of the input, the
 * tap (h, w) lies at top + h * row + w * column, in channels. */
typedef struct taps {
  int64_t h0, h1, w0, w1, top, row, column;
} taps;

static inline taps taps_of(const tn_window *r, int64_t oh, int64_t ow, int64_t channels) {
  const int64_t top = oh * r->stride[H] - r->pad_lo[H], left = ow * r->stride[W] - r->pad_lo[W];
  const int64_t width = r->in[W] * channels;
  taps t = {.top = top * width + left * channels,
            .row = r->dilation[H] * width,
            .column = r->dilation[W] * channels};
  pool_taps(r, H, top, oh, &t.h0, &t.h1);
  pool_taps(r, W, left, ow, &t.w0, &t.w1);
  return t;
}

/* Inlined with is_signed and is_whole constant. */
static inline __attribute__((always_inline)) void max_bytes(const taps *t, const uint8_t *x,
                                                            int64_t n, bool is_signed,
                                                            bool is_whole, uint8_t *y) {
  tn_vb most = tn_vb_set1(is_signed ? 0x80 : 0);
  for (int64_t h = t->h0; h < t->h1; h++)
    for (int64_t w = t->w0; w < t->w1; w++) {
      const uint8_t *from = x + t->top + h * t->row + w * t->column;
      const tn_vb v = is_whole ? tn_vb_load(from) : tn_vb_load_first(from, n);
      most = is_signed ? tn_vb_max_i8(most, v) : tn_vb_max_u8(most, v);
    }
  if (is_whole)
    tn_vb_store(y, most);
  else
    tn_vb_store_first(y, most, n);
}

static inline __attribute__((always_inline)) void max_bytes_row(const tn_window *r,
                                                                const uint8_t *x, int64_t oh,
                                                                int64_t channels, bool is_signed,
                                                                uint8_t *y) {
  for (int64_t ow = 0; ow < r->out[W]; ow++, y += channels) {
    const taps t = taps_of(r, oh, ow, channels);
    int64_t c = 0;
    for (; c + TN_VB_LANES <= channels; c += TN_VB_LANES)
      max_bytes(&t, x + c, TN_VB_LANES, is_signed, true, y + c);
    if (c < channels) max_bytes(&t, x + c, channels - c, is_signed, false, y + c);
  }
}

/* An item is one output row of an image, of all channels. */
static tn_status plan_last(const tn_call *call, const pool_shape *p, double lanes,
                           tn_kernel_plan *out) {
  const tn_tensor *x = call->inputs[0];
  const double vectors = (double)(x->shape[0] * p->out_size) * ceil((double)x->shape[1] / lanes);
  out->items[0] = x->shape[0] * pool_window(p).out[H];
  out->cost_ns = vectors * ((double)p->taps * 0.4 + 5) + 300;
  out->grain[0] = tn_grain(TN_THREAD_NS, out->cost_ns / (double)tn_max_i64(out->items[0], 1));
  return TN_OK;
}

tn_status TN_SIMD_NAME(max_pool_bytes_plan)(const tn_call *call, tn_kernel_plan *out) {
  pool_shape p;
  const tn_status s = max_pool_shape(call, &p);
  return s ? s : plan_last(call, &p, TN_VB_LANES, out);
}

tn_status TN_SIMD_NAME(max_pool_bytes)(const tn_call *call, uint32_t stage, int64_t begin,
                                       int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const int64_t channels = x->shape[1];
  pool_shape p;
  const tn_status s = max_pool_shape(call, &p);
  if (s) return s;
  const tn_window r = pool_window(&p);
  for (int64_t item = begin; item < end; item++) {
    const uint8_t *from = (const uint8_t *)x->data + item / r.out[H] * p.in_size * channels;
    uint8_t *to = (uint8_t *)y->data + item * r.out[W] * channels;
    if (x->dtype == TN_I8)
      max_bytes_row(&r, from, item % r.out[H], channels, true, to);
    else
      max_bytes_row(&r, from, item % r.out[H], channels, false, to);
  }
  return TN_OK;
}

/* ---- averages ---- */

/* In the order of average_row. */
static void average_last(const taps *t, const float *x, tn_vf_mask live, float count, float *y) {
  tn_vf sum = tn_vf_set1(0);
  for (int64_t w = t->w0; w < t->w1; w++) {
    tn_vf column = tn_vf_set1(0);
    for (int64_t h = t->h0; h < t->h1; h++)
      column = tn_vf_add(column, tn_vf_load_mask(live, x + t->top + h * t->row + w * t->column));
    sum = tn_vf_add(sum, column);
  }
  tn_vf_store_mask(y, live, tn_vf_div(sum, tn_vf_set1(count)));
}

tn_status TN_SIMD_NAME(average_pool_last_plan)(const tn_call *call, tn_kernel_plan *out) {
  pool_shape p;
  const tn_status s = average_pool_shape(call, &p);
  return s ? s : plan_last(call, &p, TN_VF_LANES, out);
}

tn_status TN_SIMD_NAME(average_pool_last)(const tn_call *call, uint32_t stage, int64_t begin,
                                          int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  const tn_tensor *x = call->inputs[0];
  const int64_t channels = x->shape[1];
  pool_shape p;
  const tn_status s = average_pool_shape(call, &p);
  if (s) return s;
  const tn_window r = pool_window(&p);
  float *y = (float *)call->outputs[0]->data + begin * r.out[W] * channels;
  for (int64_t item = begin; item < end; item++) {
    const float *from = (const float *)x->data + item / r.out[H] * p.in_size * channels;
    const int64_t oh = item % r.out[H];
    for (int64_t ow = 0; ow < r.out[W]; ow++, y += channels) {
      const taps t = taps_of(&r, oh, ow, channels);
      const float count = average_taps(&r, call, oh, ow, (t.h1 - t.h0) * (t.w1 - t.w0));
      for (int64_t c = 0; c < channels; c += TN_VF_LANES)
        average_last(&t, from + c, tn_vf_mask_first(tn_min_i64(TN_VF_LANES, channels - c)), count,
                     y + c);
    }
  }
  return TN_OK;
}

tn_status TN_SIMD_NAME(global_average_pool_last)(const tn_call *call, uint32_t stage, int64_t begin,
                                                 int64_t end, uint32_t worker) {
  (void)stage, (void)worker;
  const tn_tensor *x = call->inputs[0];
  const int64_t size = tn_dims_size(x->shape + 2, x->rank - 2), channels = x->shape[1];
  const int64_t blocks = tn_ceil_div(channels, TN_VF_LANES);
  for (int64_t item = begin; item < end; item++) {
    const int64_t image = item / blocks, c = item % blocks * TN_VF_LANES;
    const float *from = (const float *)x->data + image * size * channels + c;
    const tn_vf_mask live = tn_vf_mask_first(tn_min_i64(TN_VF_LANES, channels - c));
    tn_vf sum[4] = {tn_vf_set1(0), tn_vf_set1(0), tn_vf_set1(0), tn_vf_set1(0)};
    for (int64_t k = 0; k < size; k++)
      sum[k & 3] = tn_vf_add(tn_vf_load_mask(live, from + k * channels), sum[k & 3]);
    const tn_vf all = tn_vf_add(tn_vf_add(sum[0], sum[1]), tn_vf_add(sum[2], sum[3]));
    tn_vf_store_mask((float *)call->outputs[0]->data + image * channels + c, live,
                     tn_vf_div(all, tn_vf_set1((float)size)));
  }
  return TN_OK;
}

#endif
