/* Pools in f32 in blocked layout, for AVX-512, AVX2 and NEON: a vector is the channels of one
 * block. */
#ifndef TN_OPS_POOL_SIMD_H
#define TN_OPS_POOL_SIMD_H

#include "pool_shape.h"
#include "tenon/kit/simd.h"

/* 1 or 2 spatial dims seen as 2. */
enum { H, W };
static tn_window pool_window(const pool_shape *p) { return tn_window_inner(&p->w, 2); }

/* Whether it is less work to fold the rows of a window into a line first. */
static bool folds_rows(const tn_window *r) {
  return r->kernel[H] * r->in[W] + r->kernel[W] * r->out[W] <
         r->kernel[H] * r->kernel[W] * r->out[W];
}

/* Rows h0 .. h1-1 of windows that begin in row `top`, as a line. */
static void max_line(const tn_window *r, const float *x, int64_t top, int64_t h0, int64_t h1,
                     float *line) {
  const int64_t n = r->in[W] * TN_VF_LANES;
  for (int64_t k = 0; k < n; k += TN_VF_LANES) {
    tn_vf most = tn_vf_set1(-INFINITY);
    for (int64_t h = h0; h < h1; h++)
      most = tn_vf_max(tn_vf_load(x + (top + h * r->dilation[H]) * n + k), most);
    tn_vf_store(line + k, most);
  }
}

static void max_row(const tn_window *r, const float *x, int64_t oh, const tn_call *call,
                    float *line, float *y) {
  int64_t top = oh * r->stride[H] - r->pad_lo[H], h0, h1, w0, w1;
  (void)call;
  tn_window_taps(r, H, oh, &h0, &h1);
  if (folds_rows(r)) {
    max_line(r, x, top, h0, h1, line);
    x = line;
    top = h0 = 0, h1 = 1;
  }
  for (int64_t ow = 0; ow < r->out[W]; ow++, y += TN_VF_LANES) {
    const int64_t left = ow * r->stride[W] - r->pad_lo[W];
    tn_window_taps(r, W, ow, &w0, &w1);
    tn_vf most = tn_vf_set1(-INFINITY);
    for (int64_t h = h0; h < h1; h++) {
      const float *row = x + (top + h * r->dilation[H]) * r->in[W] * TN_VF_LANES;
      for (int64_t w = w0; w < w1; w++)
        most = tn_vf_max(tn_vf_load(row + (left + w * r->dilation[W]) * TN_VF_LANES), most);
    }
    tn_vf_store(y, most);
  }
}

/* How many elements an average at (oh, ow) is over. */
static float average_taps(const tn_window *r, const tn_call *call, int64_t oh, int64_t ow,
                          int64_t taps) {
  const tn_average_pool_attrs *a = call->attrs;
  if (a->count_include_pad) taps = pool_padded_taps(r, H, oh) * pool_padded_taps(r, W, ow);
  return (float)taps;
}

/* Sums down the columns, then along them, and divides, as the portable kernel does: averages of
 * quantised values often lie half-way between two steps, and how sums were rounded says to which
 * they go. */
static void average_row(const tn_window *r, const float *x, int64_t oh, const tn_call *call,
                        float *line, float *y) {
  (void)line;
  const int64_t top = oh * r->stride[H] - r->pad_lo[H];
  int64_t h0, h1, w0, w1;
  tn_window_taps(r, H, oh, &h0, &h1);
  for (int64_t ow = 0; ow < r->out[W]; ow++, y += TN_VF_LANES) {
    const int64_t left = ow * r->stride[W] - r->pad_lo[W], step = r->in[W] * TN_VF_LANES;
    tn_window_taps(r, W, ow, &w0, &w1);
    tn_vf sum = tn_vf_set1(0);
    for (int64_t w = w0; w < w1; w++) {
      const int64_t from = top * step + (left + w * r->dilation[W]) * TN_VF_LANES;
      tn_vf column = tn_vf_set1(0);
      for (int64_t h = h0; h < h1; h++)
        column = tn_vf_add(column, tn_vf_load(x + from + h * r->dilation[H] * step));
      sum = tn_vf_add(sum, column);
    }
    const float taps = average_taps(r, call, oh, ow, (h1 - h0) * (w1 - w0));
    tn_vf_store(y, tn_vf_div(sum, tn_vf_set1(taps)));
  }
}

const char *TN_SIMD_NAME(pool_refuse)(const tn_call *call) {
  const int32_t rank = call->inputs[0]->rank;
  return rank < 3 || rank > 4 ? "takes 1 or 2 spatial dims" : NULL;
}

static int64_t pool_blocks(const tn_tensor *x) {
  return x->shape[0] * tn_ceil_div(x->shape[1], TN_VF_LANES);
}

static tn_status plan_pool(const tn_call *call, const pool_shape *p, bool folds,
                           tn_kernel_plan *out) {
  const tn_window r = pool_window(p);
  const double vectors = (double)pool_blocks(call->inputs[0]) * (double)p->out_size,
               taps = (double)(folds ? r.kernel[H] + r.kernel[W] : p->taps);
  out->items[0] = pool_blocks(call->inputs[0]) * r.out[H];
  out->cost_ns = vectors * (taps * 0.4 + 3) + 300;
  if (folds) out->worker_scratch_bytes = (uint64_t)(r.in[W] * TN_VF_LANES) * sizeof(float);
  out->grain[0] = tn_grain(TN_THREAD_NS, out->cost_ns / (double)out->items[0]);
  return TN_OK;
}

static void zero_pads(const tn_tensor *y, int64_t block, float *row, int64_t n) {
  const int64_t blocks = tn_ceil_div(y->shape[1], TN_VF_LANES);
  const int64_t live = tn_min_i64(TN_VF_LANES, y->shape[1] - block % blocks * TN_VF_LANES);
  for (int64_t k = 0; live < TN_VF_LANES && k < n; k++, row += TN_VF_LANES)
    for (int64_t c = live; c < TN_VF_LANES; c++) row[c] = 0;
}

static bool max_folds(const pool_shape *p) {
  const tn_window r = pool_window(p);
  return folds_rows(&r);
}

static bool average_folds(const pool_shape *p) {
  (void)p;
  return false;
}

/* An item is one output row of one block. Windows that lie in the pads give -inf or NaN, in pad
 * lanes too. */
#define POOL_KERNEL(op, row, folds)                                                            \
  tn_status TN_SIMD_NAME(op##_plan)(const tn_call *call, tn_kernel_plan *out) {                \
    pool_shape p;                                                                              \
    const tn_status s = op##_shape(call, &p);                                                  \
    return s ? s : plan_pool(call, &p, folds(&p), out);                                        \
  }                                                                                            \
  tn_status TN_SIMD_NAME(op##_blocked)(const tn_call *call, uint32_t stage, int64_t begin,     \
                                       int64_t end, uint32_t worker) {                         \
    (void)stage;                                                                               \
    pool_shape p;                                                                              \
    float *line =                                                                              \
        (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes); \
    const tn_status s = op##_shape(call, &p);                                                  \
    if (s) return s;                                                                           \
    const tn_window r = pool_window(&p);                                                       \
    for (int64_t item = begin; item < end; item++) {                                           \
      const int64_t block = item / r.out[H];                                                   \
      const float *x = (const float *)call->inputs[0]->data + block * p.in_size * TN_VF_LANES; \
      float *y = (float *)call->outputs[0]->data + item * r.out[W] * TN_VF_LANES;              \
      row(&r, x, item % r.out[H], call, line, y);                                              \
      zero_pads(call->outputs[0], block, y, r.out[W]);                                         \
    }                                                                                          \
    return TN_OK;                                                                              \
  }
POOL_KERNEL(max_pool, max_row, max_folds)
POOL_KERNEL(average_pool, average_row, average_folds)

/* ---- global ---- */

tn_status TN_SIMD_NAME(global_pool_plan)(const tn_call *call, tn_kernel_plan *out) {
  const tn_tensor *x = call->inputs[0];
  const int64_t size = tn_dims_size(x->shape + 2, x->rank - 2);
  out->items[0] = pool_blocks(x);
  out->cost_ns = (double)out->items[0] * ((double)size * 0.5 + 5) + 200;
  out->grain[0] = tn_grain(TN_THREAD_NS, out->cost_ns / (double)out->items[0]);
  return TN_OK;
}

/* From blocked to plain layout: few values, which others take plain. Four chains of additions. */
#define GLOBAL_BLOCKED(op, START, STEP, JOIN, DONE)                                                \
  tn_status TN_SIMD_NAME(op##_blocked)(const tn_call *call, uint32_t stage, int64_t begin,         \
                                       int64_t end, uint32_t worker) {                             \
    (void)stage, (void)worker;                                                                     \
    const tn_tensor *x = call->inputs[0];                                                          \
    const int64_t size = tn_dims_size(x->shape + 2, x->rank - 2), channels = x->shape[1];          \
    const int64_t blocks = tn_ceil_div(channels, TN_VF_LANES);                                     \
    for (int64_t item = begin; item < end; item++) {                                               \
      const float *from = (const float *)x->data + item * size * TN_VF_LANES;                      \
      const int64_t channel = item % blocks * TN_VF_LANES;                                         \
      tn_vf acc[4] = {START, START, START, START};                                                 \
      for (int64_t k = 0; k < size; k++) {                                                         \
        const tn_vf v = tn_vf_load(from + k * TN_VF_LANES);                                        \
        acc[k & 3] = STEP(v, acc[k & 3]);                                                          \
      }                                                                                            \
      const tn_vf sum = JOIN(JOIN(acc[0], acc[1]), JOIN(acc[2], acc[3]));                          \
      const tn_vf_mask live = tn_vf_mask_first(tn_min_i64(TN_VF_LANES, channels - channel));       \
      tn_vf_store_mask((float *)call->outputs[0]->data + item / blocks * channels + channel, live, \
                       DONE);                                                                      \
    }                                                                                              \
    return TN_OK;                                                                                  \
  }
GLOBAL_BLOCKED(global_average_pool, tn_vf_set1(0), tn_vf_add, tn_vf_add,
               tn_vf_div(sum, tn_vf_set1((float)size)))
GLOBAL_BLOCKED(global_max_pool, tn_vf_set1(-INFINITY), tn_vf_max, tn_vf_max, sum)

#endif
