/* Conv in f32 for AVX-512 and AVX2 through the matrix tile; plain layout, 1 to 3 spatial dims.
 *
 * Rows of the product are filters, in strips that are packed at prepare if the weights are
 * constant; columns are output pixels, whose inputs each item gathers into panels, a block at a
 * time. A vector of pixels is a few runs of neighbours in memory: with stride 1 each is one masked
 * load. */
#ifndef TN_OPS_CONV_SIMD_H
#define TN_OPS_CONV_SIMD_H

#include "conv_gather.h"
#include "tenon/kit/epilogue.h"
#include "tenon/kit/gemm_simd.h"

enum { MAX_RUNS = 4 };

typedef struct cut { /* one convolution, cut into work */
  conv_shape c;
  tn_window w;
  int64_t in_group, out_group, depth, depth_step; /* depth: inputs of one output */
  int64_t strips, pixel_blocks, filter_blocks, filter_step;
  bool is_pointwise;
} cut;

/* Filters are split only as far as the threads need it: every block gathers its pixels again. */
static void cut_filters(cut *t, uint32_t n_workers) {
  const int64_t blocks = t->pixel_blocks * t->c.batch * t->c.groups,
                wanted = n_workers > 1 ? 4 * (int64_t)n_workers : 1;
  const int64_t most = tn_max_i64(1, t->strips / 2),
                parts = tn_min_i64(most, tn_ceil_div(wanted, tn_max_i64(1, blocks)));
  t->filter_step = tn_ceil_div(t->strips, parts) * TN_TILE_MR;
  t->filter_blocks = t->strips ? tn_ceil_div(t->out_group, t->filter_step) : 0;
}

static tn_status cut_make(const tn_call *call, cut *out) {
  cut t = {0};
  tn_status s = conv_shape_make(call, &t.c);
  if (s) return s;
  t.w = tn_window_inner(&t.c.w, 3);
  t.in_group = t.c.channels / t.c.groups;
  t.out_group = t.c.filters / t.c.groups;
  t.depth = t.in_group * t.c.taps;
  const int64_t n_steps = tn_max_i64(1, tn_ceil_div(t.depth, TN_TILE_KC));
  t.depth_step = tn_max_i64(1, tn_ceil_div(t.depth, n_steps));
  t.strips = tn_ceil_div(t.out_group, TN_TILE_MR);
  t.pixel_blocks = tn_ceil_div(t.c.out_size, TN_TILE_COLUMNS);
  t.is_pointwise = conv_is_pointwise(&t.c.w);
  cut_filters(&t, call->n_workers);
  *out = t;
  return TN_OK;
}

/* Positions are counted in 32 bits. */
static bool fits_lanes(const conv_shape *c) {
  const int64_t most = INT64_C(1) << 29;
  for (int32_t k = 0; k < c->w.n; k++)
    if (c->w.in[k] > most || c->w.pad_lo[k] > most || c->w.out[k] > most / c->w.stride[k] ||
        c->w.kernel[k] > most / c->w.dilation[k])
      return false;
  return c->in_size <= most;
}

const char *TN_SIMD_NAME(conv_refuse)(const tn_call *call) {
  const tn_conv_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  if (x->rank < 3 || x->rank > 5) return "takes 1 to 3 spatial dims";
  if (x->rank > 3 && a->group > 1 && a->group == x->shape[1])
    return "leaves one input channel per group to the depthwise kernel";
  conv_shape c;
  if (conv_shape_make(call, &c) || !fits_lanes(&c)) return "positions do not fit in 32 bits";
  return tn_epilogue_refuse_f32(call, 1);
}

static uint64_t strip_bytes(const cut *t) {
  return (uint64_t)(t->c.groups * t->strips * TN_TILE_MR * t->depth) * sizeof(float);
}

tn_status TN_SIMD_NAME(conv_f32_plan)(const tn_call *call, tn_kernel_plan *out) {
  cut t;
  double flops = 0;
  tn_status s = cut_make(call, &t);
  if (!s) s = conv_flops(call, &flops);
  if (s) return s;
  const bool is_const = call->inputs[1]->data != NULL;
  const int64_t floats = TN_TILE_COLUMNS + (is_const ? 0 : TN_TILE_MR);
  out->worker_scratch_bytes = (uint64_t)(floats * t.depth_step) * sizeof(float);
  if (is_const) out->state_bytes = strip_bytes(&t);
  out->items[0] = t.c.batch * t.c.groups * t.pixel_blocks * t.filter_blocks;
  const double gathered = (double)(t.c.batch * t.c.channels * t.c.taps) * (double)t.c.out_size;
  const double columns = (double)(tn_ceil_div(t.c.out_size, TN_TILE_NR) * TN_TILE_NR);
  flops *= columns / (double)tn_max_i64(1, t.c.out_size);
  out->cost_ns = flops / (TN_VF_LANES == 16 ? 90 : 55) + 500 + gathered * 0.25;
  out->grain[0] = tn_grain(TN_THREAD_NS, out->cost_ns / (double)out->items[0]);
  return TN_OK;
}

/* Strip `index`, counted over all groups: elements [k0, k0 + kc) of its filters. */
static void pack_strip(const tn_call *call, const cut *t, int64_t index, int64_t k0, int64_t kc,
                       float *to) {
  const int64_t first = index % t->strips * TN_TILE_MR,
                filter = index / t->strips * t->out_group + first;
  const float *w = (const float *)call->inputs[1]->data + filter * t->depth + k0;
  tn_pack_rows(w, t->depth, tn_min_i64(TN_TILE_MR, t->out_group - first), kc, TN_TILE_MR, to);
}

tn_status TN_SIMD_NAME(conv_f32_prepare)(const tn_call *call) {
  cut t;
  tn_status s = cut_make(call, &t);
  for (int64_t k = 0; !s && k < t.c.groups * t.strips; k++)
    pack_strip(call, &t, k, 0, t.depth, (float *)call->state + k * TN_TILE_MR * t.depth);
  return s;
}

/* ---- gathering ---- */

/* Where the windows of a vector of output pixels begin, and which lanes are neighbours. */
typedef struct window_lanes {
  tn_vu d, h, w;           /* may be "negative": then beyond all sizes */
  int64_t first[MAX_RUNS]; /* first lane of each run */
  tn_vf_mask run[MAX_RUNS];
  int32_t n_runs; /* 0: lane by lane */
} window_lanes;

static void lanes_make(const tn_window *w, int64_t pixel, int64_t n, window_lanes *out) {
  int64_t ow = pixel % w->out[2], oh = pixel / w->out[2] % w->out[1],
          od = pixel / w->out[2] / w->out[1];
  int32_t n_runs = 0;
  for (int64_t l = 0; l < TN_VF_LANES; l++) {
    const bool live = l < n;
    out->d[l] = (uint32_t)(od * w->stride[0] - w->pad_lo[0]);
    out->h[l] = (uint32_t)(oh * w->stride[1] - w->pad_lo[1]);
    out->w[l] = live ? (uint32_t)(ow * w->stride[2] - w->pad_lo[2]) : UINT32_C(1) << 31;
    if (live && (l == 0 || ow == 0)) {
      if (n_runs < MAX_RUNS) out->first[n_runs] = l;
      n_runs++;
    }
    if (++ow < w->out[2]) continue;
    ow = 0;
    if (++oh < w->out[1]) continue;
    oh = 0;
    od++;
  }
  out->n_runs = w->stride[2] == 1 && n_runs <= MAX_RUNS ? n_runs : 0;
  for (int32_t r = 0; r < out->n_runs; r++) {
    const int64_t end = r + 1 < out->n_runs ? out->first[r + 1] : TN_VF_LANES;
    out->run[r] = tn_vf_mask_and_not(tn_vf_mask_first(end), tn_vf_mask_first(out->first[r]));
  }
}

/* One tap of a vector of pixels, for n channels in_size apart, into rows `step` apart. */
static void gather_tap(const tn_window *w, const window_lanes *lanes, const int64_t *tap,
                       const float *x, int64_t in_size, int64_t n, float *to, int64_t step) {
  const tn_vu d = lanes->d + (uint32_t)(tap[0] * w->dilation[0]),
              h = lanes->h + (uint32_t)(tap[1] * w->dilation[1]),
              i = lanes->w + (uint32_t)(tap[2] * w->dilation[2]);
  const tn_vf_mask inside =
      tn_vf_mask_of((d < (uint32_t)w->in[0]) & (h < (uint32_t)w->in[1]) & (i < (uint32_t)w->in[2]));
  const tn_vu at = (d * (uint32_t)w->in[1] + h) * (uint32_t)w->in[2] + i;
  if (!lanes->n_runs) {
    for (; n > 0; n--, x += in_size, to += step) tn_vf_store(to, tn_vf_gather(inside, x, at));
    return;
  }
  tn_vf_mask mask[MAX_RUNS];
  int64_t from[MAX_RUNS];
  for (int32_t r = 0; r < lanes->n_runs; r++) {
    mask[r] = tn_vf_mask_and(inside, lanes->run[r]);
    from[r] = (int64_t)(int32_t)at[lanes->first[r]] - lanes->first[r];
  }
  for (; n > 0; n--, x += in_size, to += step) {
    tn_vf v = tn_vf_load_mask(mask[0], x + from[0]);
    for (int32_t r = 1; r < lanes->n_runs; r++) v = tn_vf_join(v, mask[r], x + from[r]);
    tn_vf_store(to, v);
  }
}

/* Rows [k0, k0 + kc) (input channel, tap) of one vector of pixels. x: first channel of the
 * group. */
static void gather_lanes(const cut *t, const float *x, int64_t pixel, int64_t n, int64_t k0,
                         int64_t kc, float *to) {
  const int64_t *kernel = t->w.kernel, taps = t->c.taps;
  window_lanes lanes;
  lanes_make(&t->w, pixel, n, &lanes);
  for (int64_t tap = 0; tap < taps; tap++) {
    const int64_t channel = k0 > tap ? tn_ceil_div(k0 - tap, taps) : 0, k = channel * taps + tap;
    if (k >= k0 + kc) continue;
    const int64_t at[3] = {tap / kernel[2] / kernel[1], tap / kernel[2] % kernel[1],
                           tap % kernel[2]};
    gather_tap(&t->w, &lanes, at, x + channel * t->c.in_size, t->c.in_size,
               tn_ceil_div(k0 + kc - k, taps), to + (k - k0) * TN_TILE_NR, taps * TN_TILE_NR);
  }
}

static void gather_panels(const cut *t, const float *x, int64_t pixel, int64_t n, int64_t k0,
                          int64_t kc, float *panels) {
  for (int64_t j = 0; j < n; j += TN_TILE_NR, panels += TN_TILE_NR * kc) {
    if (t->is_pointwise)
      tn_pack_columns(x + k0 * t->c.in_size + pixel + j, t->c.in_size,
                      tn_min_i64(TN_TILE_NR, n - j), kc, TN_TILE_NR, panels);
    else
      for (int64_t v = 0; v < TN_TILE_NR; v += TN_VF_LANES)
        gather_lanes(t, x, pixel + j + v, n - j - v, k0, kc, panels + v);
  }
}

/* ---- the kernel ---- */

typedef struct work { /* one item: filters of a group by pixels of an image */
  int64_t image, group, filter, n_filters, pixel, n_pixels;
} work;

static work work_of(const cut *t, int64_t item) {
  work o;
  o.filter = item % t->filter_blocks * t->filter_step;
  o.pixel = item / t->filter_blocks % t->pixel_blocks * TN_TILE_COLUMNS;
  o.group = item / t->filter_blocks / t->pixel_blocks % t->c.groups;
  o.image = item / t->filter_blocks / t->pixel_blocks / t->c.groups;
  o.n_filters = tn_min_i64(t->filter_step, t->out_group - o.filter);
  o.n_pixels = tn_min_i64(TN_TILE_COLUMNS, t->c.out_size - o.pixel);
  return o;
}

/* Weights that are no constants are packed strip by strip, just before their use. */
static void run_strips(const tn_call *call, const cut *t, const work *o, int64_t k0, tn_tiles *g,
                       float *room) {
  const int64_t strip = o->group * t->strips + o->filter / TN_TILE_MR;
  if (call->state) {
    g->a = (const float *)call->state + (strip * t->depth + k0) * TN_TILE_MR;
    tn_tiles_run(g);
    return;
  }
  for (int64_t i = 0; i < o->n_filters; i += TN_TILE_MR) {
    tn_tiles one = *g;
    pack_strip(call, t, strip + i / TN_TILE_MR, k0, g->k, room);
    one.a = room;
    one.m = tn_min_i64(TN_TILE_MR, o->n_filters - i);
    one.c += i * g->ldc;
    if (one.bias) one.bias += i;
    tn_tiles_run(&one);
  }
}

static void run_item(const tn_call *call, const cut *t, const work *o, float *panels) {
  const int64_t first = o->group * t->out_group + o->filter, row = o->image * t->c.filters + first;
  const float *x = (const float *)call->inputs[0]->data +
                   (o->image * t->c.channels + o->group * t->in_group) * t->c.in_size;
  const float *bias = call->inputs[2] ? call->inputs[2]->data : NULL;
  float *y = call->outputs[0]->data;
  tn_tiles g = {.b = panels, .m = o->n_filters, .n = o->n_pixels, .ldc = t->c.out_size};
  g.bias = bias ? bias + first : NULL;
  g.c = y + row * t->c.out_size + o->pixel;
  g.a_strip = TN_TILE_MR * t->depth;
  g.first = true;
  for (int64_t k0 = 0; k0 == 0 || k0 < t->depth; k0 += t->depth_step, g.first = false) {
    g.k = tn_min_i64(t->depth_step, t->depth - k0);
    g.b_panel = TN_TILE_NR * g.k;
    gather_panels(t, x, o->pixel, o->n_pixels, k0, g.k, panels);
    run_strips(call, t, o, k0, &g, panels + TN_TILE_COLUMNS * t->depth_step);
  }
  for (int64_t m = 0; call->n_epilogue && m < o->n_filters; m++) {
    const int64_t at = (row + m) * t->c.out_size + o->pixel;
    tn_epilogue_f32(call, y + at, o->n_pixels, at, first + m, 0);
  }
}

tn_status TN_SIMD_NAME(conv_f32)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                 uint32_t worker) {
  (void)stage;
  cut t;
  tn_status s = cut_make(call, &t);
  if (s) return s;
  float *panels =
      (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  for (int64_t item = begin; item < end; item++) {
    const work o = work_of(&t, item);
    run_item(call, &t, &o, panels);
  }
  return TN_OK;
}

#endif
