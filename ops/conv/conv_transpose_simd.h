/* ConvTranspose in f32 in blocked layout, for AVX-512 and AVX2.
 *
 * With o + pad = q*stride + r, output o takes the taps t with t*dilation = r + e*stride, from input
 * q - e. So the outputs of one phase r are a convolution of stride 1 by the taps of that phase, and
 * run through the tiles of conv_blocked_tile.h; the rows of the phases are then put side by side.
 *
 * An item is the output rows of one phase, or a part of their columns, by one group of output
 * blocks. 1-D tensors are images of one row. Where taps reach beyond the input, a first stage
 * copies it with zeros around. Weights are packed at prepare:
 * [group][phase][input block][tap][channel][blocks * lanes]. */
#ifndef TN_OPS_CONV_TRANSPOSE_SIMD_H
#define TN_OPS_CONV_TRANSPOSE_SIMD_H

#include "conv_blocked_simd.h"
#include "conv_transpose_phase.h"

enum {
  MAX_TAPS = 256,
  RUN_PIXELS = 4 * TILE_PIXELS, /* of rows that are run as one */
  PART_PIXELS = 8 * TILE_PIXELS /* of a row that is all of the image */
};

typedef struct transposed {
  conv_shape c;
  int64_t in_blocks, out_blocks, groups;
  int64_t lo[2], size[2]; /* zeros before the input, and its size with all of them */
  int64_t image;          /* floats of an image of `size` */
  int64_t run_rows;       /* rows of an item that are run as one */
  int64_t parts, part;    /* of the columns: how many, and inputs of one */
  bool direct;            /* no zeros: read from the input */
} transposed;

static tn_status transposed_make(const tn_call *call, transposed *out) {
  transposed g = {0};
  const tn_status s = conv_transpose_shape(call, &g.c);
  if (s) return s;
  g.c.w = tn_window_inner(&g.c.w, 2); /* 1-D: images of one row */
  const tn_window *w = &g.c.w;
  g.in_blocks = tn_ceil_div(g.c.channels, TN_VF_LANES);
  g.out_blocks = tn_ceil_div(g.c.filters, TN_VF_LANES);
  g.groups = tn_ceil_div(g.out_blocks, TILE_BLOCKS);
  g.direct = true;
  for (int32_t k = 0; k < 2; k++) {
    g.lo[k] = (w->kernel[k] - 1) * w->dilation[k] / w->stride[k];
    const int64_t end = (w->out[k] - 1 + w->pad_lo[k]) / w->stride[k] + 1;
    g.size[k] = g.lo[k] + tn_max_i64(w->in[k], end);
    g.direct = g.direct && g.size[k] == w->in[k];
  }
  if (tn_dims_product((int64_t[]){g.in_blocks, TN_VF_LANES, g.size[0], g.size[1]}, 4, &g.image))
    return TN_ERR_OVERFLOW;
  const bool whole = g.direct && !w->pad_lo[1] && w->out[1] == w->in[1] * w->stride[1];
  g.run_rows = whole ? tn_max_i64(1, RUN_PIXELS / tn_max_i64(1, g.size[1])) : 1;
  g.parts = w->out[0] == 1 ? tn_max_i64(1, g.size[1] / PART_PIXELS) : 1;
  g.part = tn_ceil_div(g.size[1], g.parts);
  *out = g;
  return TN_OK;
}

const char *TN_SIMD_NAME(conv_transpose_blocked_refuse)(const tn_call *call) {
  conv_shape c;
  if (call->inputs[0]->rank > 4) return "takes 1 or 2 spatial dims";
  if (((const tn_conv_transpose_attrs *)call->attrs)->group != 1) return "takes one group";
  if (conv_transpose_shape(call, &c) || c.taps > MAX_TAPS) return "takes windows of up to 256 taps";
  if (!c.in_size || !c.out_size || !c.batch) return "takes tensors that have elements";
  transposed g;
  for (int32_t k = 0; k < c.w.n; k++)
    if (c.w.stride[k] > MAX_TAPS) return "takes strides of up to 256";
  if (transposed_make(call, &g) || (!g.direct && g.image > MOST_FLOATS / c.batch))
    return "takes windows that fit into memory with zeros around the input";
  return tn_epilogue_refuse_f32(call, 1);
}

static int64_t transposed_weights(const transposed *g) {
  return g->out_blocks * TN_VF_LANES * g->c.channels * g->c.taps;
}

/* Taps of all outputs, those beyond the input, too. */
static double transposed_taps(const transposed *g) {
  double taps[2] = {0, 0};
  for (int32_t k = 0; k < 2; k++)
    for (int64_t r = 0; r < g->c.w.stride[k]; r++) {
      const phase p = phase_of(&g->c.w, k, r);
      taps[k] += (double)(p.n * p.taps);
    }
  return taps[0] * taps[1];
}

tn_status TN_SIMD_NAME(conv_transpose_blocked_plan)(const tn_call *call, tn_kernel_plan *out) {
  transposed g;
  const tn_status s = transposed_make(call, &g);
  if (s) return s;
  const double products = (double)(g.out_blocks * TN_VF_LANES * g.c.channels * g.c.batch);
  const double flops = 2 * products * transposed_taps(&g);
  /* Zeros come around inputs, and outputs from the room of their phase. */
  const double copied = (g.direct ? 0 : (double)(g.c.batch * g.image)) +
                        (double)(g.c.batch * g.out_blocks * TN_VF_LANES) * (double)g.c.out_size;
  const int64_t room = TILE_BLOCKS * TN_VF_LANES * (g.run_rows * g.part + 1);
  const uint32_t last = g.direct ? 0 : 1;
  out->n_stages = last + 1;
  out->worker_scratch_bytes = (uint64_t)room * sizeof(float);
  out->state_bytes = (uint64_t)transposed_weights(&g) * sizeof(float);
  if (!g.direct) {
    out->scratch_bytes = (uint64_t)(g.c.batch * g.image) * sizeof(float);
    out->items[0] = g.c.batch * g.in_blocks;
  }
  out->items[last] = g.c.batch * g.groups * g.parts * g.c.w.stride[0];
  out->cost_ns = flops / (TN_VF_LANES == 16 ? 110 : 65) + copied * 0.25 + 500;
  return TN_OK;
}

/* ---- weights ---- */

static int64_t transposed_width(const transposed *g, int64_t group) { /* blocks */
  return tn_min_i64(TILE_BLOCKS, g->out_blocks - group * TILE_BLOCKS);
}

/* One tap of a phase, one input block: [channel][blocks * lanes] of the group. */
static float *pack_tap(const transposed *g, const float *w, int64_t group, int64_t block,
                       int64_t tap, float *to) {
  const int64_t first = group * TILE_BLOCKS * TN_VF_LANES;
  const int64_t width = transposed_width(g, group) * TN_VF_LANES;
  const int64_t end = tn_min_i64(g->c.channels, (block + 1) * TN_VF_LANES);
  for (int64_t c = block * TN_VF_LANES; c < end; c++, to += width)
    for (int64_t f = 0; f < width; f++)
      to[f] = first + f < g->c.filters ? w[(c * g->c.filters + first + f) * g->c.taps + tap] : 0;
  return to;
}

static float *pack_phase(const transposed *g, const float *w, int64_t group, phase h, phase v,
                         float *to) {
  for (int64_t i = 0; i < g->in_blocks; i++)
    for (int64_t y = 0; y < h.taps; y++)
      for (int64_t x = 0; x < v.taps; x++)
        to = pack_tap(g, w, group, i, (h.tap + y * h.step) * g->c.w.kernel[1] + v.tap + x * v.step,
                      to);
  return to;
}

tn_status TN_SIMD_NAME(conv_transpose_blocked_prepare)(const tn_call *call) {
  transposed g;
  const tn_status s = transposed_make(call, &g);
  float *to = call->state;
  for (int64_t group = 0; !s && group < g.groups; group++)
    for (int64_t h = 0; h < g.c.w.stride[0]; h++)
      for (int64_t v = 0; v < g.c.w.stride[1]; v++)
        to = pack_phase(&g, call->inputs[1]->data, group, phase_of(&g.c.w, 0, h),
                        phase_of(&g.c.w, 1, v), to);
  return s;
}

/* ---- the first stage ---- */

static void copy_with_zeros(const transposed *g, const float *x, float *to) {
  const tn_window *w = &g->c.w;
  const int64_t row = g->size[1] * TN_VF_LANES, left = g->lo[1] * TN_VF_LANES;
  const int64_t inner = w->in[1] * TN_VF_LANES;
  for (int64_t h = 0; h < g->size[0]; h++, to += row) {
    const bool inside = h >= g->lo[0] && h - g->lo[0] < w->in[0];
    memset(to, 0, (size_t)row * sizeof *to);
    if (inside) memcpy(to + left, x + (h - g->lo[0]) * inner, (size_t)inner * sizeof *to);
  }
}

/* ---- the kernel ---- */

typedef struct transposed_item {
  const tn_call *call;
  const transposed *g;
  int64_t image, group, row; /* row: phase of the rows */
  int64_t lo, hi;            /* q of the columns */
  float *room, *bias;
} transposed_item;

/* Of the item's columns. */
static phase item_columns(const transposed_item *t, int64_t r) {
  phase v = phase_of(&t->g->c.w, 1, r);
  const int64_t end = tn_min_i64(v.first + v.n, t->hi);
  v.first = tn_max_i64(v.first, t->lo);
  v.n = tn_max_i64(0, end - v.first);
  return v;
}

/* The phase's outputs of `rows` rows, in `room`, into the output. */
static void put_phase(const transposed_item *t, phase h, phase v, int64_t r, int64_t first,
                      int64_t rows) {
  const transposed *g = t->g;
  const tn_window *w = &g->c.w;
  for (int64_t b = 0; b < transposed_width(g, t->group); b++)
    for (int64_t k = 0; k < rows; k++) {
      const int64_t oh = (h.first + first + k) * w->stride[0] + t->row - w->pad_lo[0];
      const int64_t ow = v.first * w->stride[1] + r - w->pad_lo[1];
      const int64_t area = t->image * g->out_blocks + t->group * TILE_BLOCKS + b;
      const float *from = t->room + (b * rows + k) * v.n * TN_VF_LANES;
      float *y = (float *)t->call->outputs[0]->data +
                 ((area * w->out[0] + oh) * w->out[1] + ow) * TN_VF_LANES;
      for (int64_t q = 0; q < v.n; q++, from += TN_VF_LANES, y += w->stride[1] * TN_VF_LANES)
        tn_vf_store(y, tn_vf_load(from));
    }
}

/* `rows` rows from the phase's row `first` on, for phase r of the columns. */
static void run_phase(const transposed_item *t, phase h, int64_t r, const float *w, int64_t first,
                      int64_t rows) {
  const transposed *g = t->g;
  const tn_window *win = &g->c.w;
  const phase v = item_columns(t, r);
  const int64_t area = g->size[0] * g->size[1] * TN_VF_LANES;
  int64_t at[MAX_TAPS], n = 0;
  for (int64_t y = 0; y < h.taps; y++)
    for (int64_t x = 0; x < v.taps; x++) {
      const int64_t up = (h.tap + y * h.step) * win->dilation[0] / win->stride[0];
      const int64_t left = (v.tap + x * v.step) * win->dilation[1] / win->stride[1];
      at[n++] = -(up * g->size[1] + left) * TN_VF_LANES;
    }
  tile_args a = {.at = at, .bias = t->bias, .taps = n, .blocks = g->in_blocks, .first = true};
  a.last_channels = g->c.channels - (g->in_blocks - 1) * TN_VF_LANES;
  a.x_block = area;
  a.y_block = rows * v.n * TN_VF_LANES;
  const float *x = g->direct ? t->call->inputs[0]->data : t->call->scratch;
  x += t->image * g->in_blocks * area;
  x += ((h.first + first + g->lo[0]) * g->size[1] + v.first + g->lo[1]) * TN_VF_LANES;
  run_row(&tiles_wide[transposed_width(g, t->group) - 1], &a, x, TN_VF_LANES, w, t->room,
          rows * v.n);
  put_phase(t, h, v, r, first, rows);
}

static void finish_rows(const transposed_item *t, phase h, int64_t first, int64_t rows) {
  const transposed *g = t->g;
  const tn_window *w = &g->c.w;
  const int64_t left = tn_max_i64(0, t->lo * w->stride[1] - w->pad_lo[1]);
  const int64_t right = tn_min_i64(w->out[1], t->hi * w->stride[1] - w->pad_lo[1]);
  for (int64_t b = 0; b < transposed_width(g, t->group) && left < right; b++) {
    const int64_t block = t->group * TILE_BLOCKS + b, area = t->image * g->out_blocks + block;
    for (int64_t k = 0; k < rows; k++) {
      const int64_t oh = (h.first + first + k) * w->stride[0] + t->row - w->pad_lo[0];
      const int64_t at = ((area * w->out[0] + oh) * w->out[1] + left) * TN_VF_LANES;
      tn_epilogue_block_f32(t->call, (float *)t->call->outputs[0]->data + at, right - left, at,
                            block * TN_VF_LANES, TN_VF_LANES);
    }
  }
}

static void transposed_run(const transposed_item *t, const float *w) {
  const transposed *g = t->g;
  const tn_window *win = &g->c.w;
  const phase h = phase_of(win, 0, t->row);
  const int64_t width = transposed_width(g, t->group) * TN_VF_LANES;
  const int64_t channel = t->group * TILE_BLOCKS * TN_VF_LANES;
  const float *bias = t->call->inputs[2] ? t->call->inputs[2]->data : NULL;
  for (int64_t k = 0; k < width; k++)
    t->bias[k] = bias && channel + k < g->c.filters ? bias[channel + k] : 0;
  w += channel * g->c.channels * g->c.taps;
  for (int64_t r = 0; r < t->row; r++)
    w += phase_of(win, 0, r).taps * win->kernel[1] * g->c.channels * width;
  for (int64_t first = 0; first < h.n; first += g->run_rows) {
    const int64_t rows = tn_min_i64(g->run_rows, h.n - first);
    const float *from = w;
    for (int64_t r = 0; r < win->stride[1]; r++) {
      const phase v = item_columns(t, r);
      if (v.n) run_phase(t, h, r, from, first, rows);
      from += h.taps * v.taps * g->c.channels * width;
    }
    if (t->call->n_epilogue || channel + width > g->c.filters) finish_rows(t, h, first, rows);
  }
}

tn_status TN_SIMD_NAME(conv_transpose_blocked)(const tn_call *call, uint32_t stage, int64_t begin,
                                               int64_t end, uint32_t worker) {
  transposed g;
  const tn_status s = transposed_make(call, &g);
  if (s) return s;
  if (!g.direct && stage == 0) {
    for (int64_t k = begin; k < end; k++)
      copy_with_zeros(&g, (const float *)call->inputs[0]->data + k * g.c.in_size * TN_VF_LANES,
                      (float *)call->scratch + k * g.size[0] * g.size[1] * TN_VF_LANES);
    return TN_OK;
  }
  float *bias =
      (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  for (int64_t item = begin; item < end; item++) {
    const int64_t phases = g.c.w.stride[0], part = item / phases % g.parts;
    const transposed_item t = {.call = call,
                               .g = &g,
                               .image = item / phases / g.parts / g.groups,
                               .group = item / phases / g.parts % g.groups,
                               .row = item % phases,
                               .lo = part * g.part,
                               .hi = (part + 1) * g.part,
                               .bias = bias,
                               .room = bias + TILE_BLOCKS * TN_VF_LANES};
    transposed_run(&t, call->state);
  }
  return TN_OK;
}

#endif
