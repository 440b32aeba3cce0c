/* InvertedResidual in f32 in blocked layout, for AVX-512 and AVX2: the tiles of blocked 1x1
 * convolutions and of depthwise ones, rows after rows. An item is a band of output rows. What the
 * first convolution makes for it, and the depthwise one of that, stay in the worker's scratch, in
 * L2: between the three, maps of up to six times the channels need not go to memory and back. Rows
 * that two bands need are made twice. */
#ifndef TN_OPS_CONV_INVERTED_SIMD_H
#define TN_OPS_CONV_INVERTED_SIMD_H

#include "conv_blocked_simd.h"
#include "conv_depthwise_blocked_simd.h"
#include "inverted.h"

enum { BAND_BYTES = TN_VF_LANES == 16 ? 768 << 10 : 384 << 10 }; /* of what is in between */

typedef struct wide { /* one inverted residual, cut into work */
  inverted n;
  tn_window w;                /* of 3 dims */
  layer expand, project;      /* what pointwise_rows needs of them */
  int64_t blocks;             /* in between */
  int64_t rows, bands;        /* output rows of a band, at most */
  int64_t expanded_rows;      /* that such a band needs */
  int64_t expanded, reduced;  /* floats of the two parts of the scratch */
  int64_t w2, w3, all_floats; /* where weights begin in the state; W1 at 0 */
} wide;

static layer pointwise_layer(int64_t channels, int64_t filters) {
  layer l = {.c = {.channels = channels, .filters = filters, .taps = 1}, .step = TN_VF_LANES};
  l.in_blocks = tn_ceil_div(channels, TN_VF_LANES);
  l.out_blocks = tn_ceil_div(filters, TN_VF_LANES);
  const int64_t block_bytes = TILE_BLOCKS * TN_VF_LANES * TN_VF_LANES * (int64_t)sizeof(float);
  l.chunk = tn_max_i64(1, (16 << 10) / block_bytes);
  return l;
}

static int64_t pointwise_floats(const layer *l) {
  return l->out_blocks * TN_VF_LANES * l->c.channels;
}

static int64_t rows_for(const tn_window *w, int64_t rows) {
  return tn_min_i64(w->in[1], (rows - 1) * w->stride[1] + (w->kernel[1] - 1) * w->dilation[1] + 1);
}

/* Output rows, an even number, of which all that is in between fits into BAND_BYTES; pixel: bytes
 * of one in between. */
static int64_t rows_that_fit(const tn_window *w, double pixel) {
  const double in_row = (double)w->in[2] * pixel,
               each = (double)w->stride[1] * in_row + (double)w->out[2] * pixel,
               more = (double)(w->kernel[1] - 1) * (double)w->dilation[1] * in_row;
  if (each == 0) return w->out[1];
  const double rows = (BAND_BYTES - more) / each;
  return rows < 2 ? 2 : rows > (double)w->out[1] ? w->out[1] : (int64_t)rows / 2 * 2;
}

static tn_status wide_make(const tn_call *call, wide *out) {
  wide l = {0};
  const tn_status s = inverted_make(call, &l.n);
  if (s) return s;
  l.w = tn_window_padded(&l.n.w, 3);
  l.blocks = tn_ceil_div(l.n.wide, TN_VF_LANES);
  l.expand = pointwise_layer(l.n.channels, l.n.wide);
  l.project = pointwise_layer(l.n.wide, l.n.filters);
  const int64_t lanes = l.blocks * TN_VF_LANES;
  l.rows = rows_that_fit(&l.w, (double)lanes * sizeof(float));
  /* As many bands for each worker, and no more of them: each makes some rows again. */
  const int64_t n = tn_max_i64(1, call->n_workers), fit = tn_ceil_div(l.w.out[1], l.rows);
  l.bands = tn_min_i64(l.w.out[1], tn_ceil_div(fit, n) * n);
  l.rows = tn_ceil_div(l.w.out[1], tn_max_i64(1, l.bands));
  l.expanded_rows = rows_for(&l.w, l.rows);
  l.expanded = l.expanded_rows * l.w.in[2] * lanes;
  l.reduced = l.rows * l.w.out[2] * lanes;
  l.w2 = pointwise_floats(&l.expand);
  l.w3 = l.w2 + lanes * l.n.taps;
  l.all_floats = l.w3 + pointwise_floats(&l.project);
  *out = l;
  return TN_OK;
}

const char *TN_SIMD_NAME(inverted_refuse)(const tn_call *call) {
  return call->inputs[0]->rank == 4 ? tn_epilogue_refuse_f32(call, 1) : "takes 2 spatial dims";
}

tn_status TN_SIMD_NAME(inverted_plan)(const tn_call *call, tn_kernel_plan *out) {
  wide l;
  const tn_status s = wide_make(call, &l);
  if (s) return s;
  const double expands = (double)l.n.channels * (double)l.n.in_size,
               flops = 2.0 * (double)l.n.batch * (double)(l.blocks * TN_VF_LANES) *
                       (expands + (double)(l.n.filters + 2 * l.n.taps) * (double)l.n.out_size);
  out->state_bytes = (uint64_t)l.all_floats * sizeof(float);
  out->worker_scratch_bytes =
      (uint64_t)(TILE_BLOCKS * TN_VF_LANES + l.expanded + l.reduced) * sizeof(float);
  out->items[0] = l.n.batch * l.bands;
  out->cost_ns = flops / (TN_VF_LANES == 16 ? 130 : 75) + 500;
  out->grain[0] = tn_grain(TN_THREAD_NS, out->cost_ns / (double)out->items[0]);
  return TN_OK;
}

/* ---- weights ---- */

tn_status TN_SIMD_NAME(inverted_prepare)(const tn_call *call) {
  wide l;
  const tn_status s = wide_make(call, &l);
  if (s) return s;
  float *state = call->state;
  pack_groups(&l.expand, call->inputs[INVERTED_W1]->data, state);
  pack_depthwise(call->inputs[INVERTED_W2]->data, l.n.wide, l.n.taps, state + l.w2);
  pack_groups(&l.project, call->inputs[INVERTED_W3]->data, state + l.w3);
  return TN_OK;
}

/* ---- the kernel ---- */

typedef struct pixels { /* some of an image, in every block */
  const float *x;
  float *y;
  int64_t x_block, y_block, n;
} pixels;

/* A 1x1 convolution of some pixels; out: what finish counts from. */
static void pointwise_pixels(const layer *l, const float *w, const tn_tensor *bias, float *room,
                             const tn_finish *finish, const float *out, const pixels *p) {
  static const int64_t here[1] = {0};
  for (int64_t g = 0; g < layer_groups(l); g++) {
    const int64_t width = group_blocks(l, g),
                  filters = l->c.filters - (g * TILE_BLOCKS + width - 1) * TN_VF_LANES;
    const float *at = w + group_at(l, g);
    tile_args a = {.at = here, .bias = room, .taps = 1, .first = true};
    copy_bias(bias, l, g, room);
    a.x_block = p->x_block, a.y_block = p->y_block;
    a.out = out;
    a.partial = filters < TN_VF_LANES;
    a.live = tn_vf_mask_first(tn_min_i64(TN_VF_LANES, filters));
    for (int64_t i = 0; i < l->in_blocks; i += l->chunk, a.first = false) {
      a.blocks = tn_min_i64(l->chunk, l->in_blocks - i);
      const int64_t channels = tn_min_i64(a.blocks * TN_VF_LANES, l->c.channels - i * TN_VF_LANES);
      a.last_channels = channels - (a.blocks - 1) * TN_VF_LANES;
      a.finish = i + l->chunk >= l->in_blocks ? finish : NULL;
      run_row(&tiles_wide[width - 1], &a, p->x + i * p->x_block, TN_VF_LANES, at,
              p->y + g * TILE_BLOCKS * p->y_block, p->n);
      at += width * TN_VF_LANES * channels;
    }
  }
}

static tn_finish finish_between(const tn_call *call, int32_t which) {
  const inverted_activation a = inverted_activation_of(call, which);
  tn_finish f = {.lo = (float)a.lo, .hi = (float)a.hi};
  f.kind = a.kind == INVERTED_CLIP         ? TN_EPILOGUE_CLIP
           : a.kind == INVERTED_HARD_SWISH ? TN_EPILOGUE_HARD_SWISH
                                           : TN_EPILOGUE_NONE;
  return f;
}

/* The window of a band as if its rows were all there is; first: the input row it begins with. */
static tn_window band_window(const tn_window *w, int64_t o0, int64_t o1, int64_t *out_first) {
  tn_window part = *w;
  const int64_t top = o0 * w->stride[1] - w->pad_lo[1],
                end = (o1 - 1) * w->stride[1] - w->pad_lo[1] + (w->kernel[1] - 1) * w->dilation[1] +
                      1;
  const int64_t first = tn_max_i64(0, tn_min_i64(top, w->in[1]));
  part.in[1] = tn_max_i64(0, tn_min_i64(end, w->in[1]) - first);
  part.pad_lo[1] = first - top;
  part.out[1] = o1 - o0;
  *out_first = first;
  return part;
}

/* x: of the band's first row in block 0. */
static void depthwise_band(const tn_call *call, const wide *l, const tn_window *w, const float *x,
                           int64_t x_block, float *y) {
  const int64_t row = w->out[2] * TN_VF_LANES;
  const tn_tensor *bias = call->inputs[INVERTED_B2];
  for (int64_t b = 0; b < l->blocks; b++, x += x_block, y += w->out[1] * row) {
    const int64_t channel = b * TN_VF_LANES, live = tn_min_i64(TN_VF_LANES, l->n.wide - channel);
    depthwise_block d = {.w = w, .x = x, .finish = finish_between(call, 1), .out = y};
    d.k = (const float *)call->state + l->w2 + channel * l->n.taps;
    d.live = tn_vf_mask_first(live);
    d.partial = live < TN_VF_LANES;
    d.bias = bias ? tn_vf_load_mask(d.live, (const float *)bias->data + channel) : tn_vf_set1(0);
    for (int64_t oh = 0; oh < w->out[1]; oh += DEPTHWISE_ROWS) {
      const int64_t n = tn_min_i64(DEPTHWISE_ROWS, w->out[1] - oh);
      depthwise_few_rows(&d, oh, n, y + oh * row);
    }
  }
}

static void finish_band(const tn_call *call, const wide *l, int64_t image, int64_t at, int64_t n) {
  for (int64_t block = 0; block < l->project.out_blocks; block++) {
    const int64_t offset =
        ((image * l->project.out_blocks + block) * l->n.out_size + at) * TN_VF_LANES;
    tn_epilogue_block_f32(call, (float *)call->outputs[0]->data + offset, n, offset,
                          block * TN_VF_LANES, TN_VF_LANES);
  }
}

static void band_item(const tn_call *call, const wide *l, int64_t item, float *room) {
  const int64_t image = item / l->bands, o0 = cut_at(l->w.out[1], l->bands, item % l->bands),
                o1 = cut_at(l->w.out[1], l->bands, item % l->bands + 1);
  int64_t first;
  const tn_window w = band_window(&l->w, o0, o1, &first);
  const float *state = call->state;
  float *expanded = room + TILE_BLOCKS * TN_VF_LANES, *reduced = expanded + l->expanded,
        *y = call->outputs[0]->data;
  const tn_finish between = finish_between(call, 0), last = tn_finish_make(call);
  pixels p = {.x = (const float *)call->inputs[0]->data +
                   (image * l->expand.in_blocks * l->n.in_size + first * w.in[2]) * TN_VF_LANES,
              .x_block = l->n.in_size * TN_VF_LANES,
              .y = expanded,
              .y_block = w.in[1] * w.in[2] * TN_VF_LANES,
              .n = w.in[1] * w.in[2]};
  pointwise_pixels(&l->expand, state, call->inputs[INVERTED_B1], room, &between, expanded, &p);
  depthwise_band(call, l, &w, expanded, p.y_block, reduced);
  p = (pixels){
      .x = reduced,
      .x_block = w.out[1] * w.out[2] * TN_VF_LANES,
      .y = y + (image * l->project.out_blocks * l->n.out_size + o0 * w.out[2]) * TN_VF_LANES,
      .y_block = l->n.out_size * TN_VF_LANES,
      .n = w.out[1] * w.out[2]};
  pointwise_pixels(&l->project, state + l->w3, call->inputs[INVERTED_B3], room, &last, y, &p);
  if (last.rest) finish_band(call, l, image, o0 * w.out[2], p.n);
}

tn_status TN_SIMD_NAME(inverted)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                 uint32_t worker) {
  (void)stage;
  wide l;
  const tn_status s = wide_make(call, &l);
  if (s) return s;
  float *room =
      (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  for (int64_t item = begin; item < end; item++) band_item(call, &l, item, room);
  return TN_OK;
}

#endif
