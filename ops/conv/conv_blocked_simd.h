/* Conv in f32 into blocked layout, for AVX-512 (blocks of 16 channels) and AVX2 (of 8): vectors run
 * along output channels, pixels are broadcast, so that maps of any width and windows of any stride
 * fill all lanes.
 *
 * An item is a strip of output rows (1x1: of pixels) by some of the output channels. Unless the
 * strip lies in the input as it is needed, it is first copied with its pads; strides are then
 * undone, so that the pixels of a tap are neighbours. Weights are packed at prepare, in groups of
 * TILE_BLOCKS blocks: [group][input block][tap][channel][blocks * lanes]. Some input blocks at a
 * time meet all pixels of the strip, so that their weights stay in L2.
 *
 * Where dilated windows would mostly see pads, each tap is a 1x1 convolution of its own instead, of
 * the rectangle of pixels whose windows have it inside the input. Nothing is copied then, and the
 * order of the weights is [group][chunk of input blocks][tap][channel][blocks * lanes].
 *
 * Method: direct convolution as in Georganas et al., "Anatomy of High-Performance Deep Learning
 * Convolutions on SIMD Architectures", SC 2018. */
#ifndef TN_OPS_CONV_BLOCKED_SIMD_H
#define TN_OPS_CONV_BLOCKED_SIMD_H

#include "conv_blocked_tile.h"
#include "conv_cut.h"
#include "conv_gather.h"

enum {
  MOST_TAPS = 1024,        /* of narrow inputs: of all channels together */
  STRIP_BYTES = 256 << 10, /* of input, in L2 */
  /* The same where weights do not stay in L2: each strip reads all of them once more. */
  HEAVY_STRIP_BYTES = 512 << 10,
  HEAVY_BYTES = 1 << 20,   /* of weights, and more */
  LEAST_RUN = 4,           /* pixels: fewer in a row wait for their own sums as long */
  CHUNK_BYTES = 128 << 10, /* of weights, in L2 beside it */
  /* The same of 1x1: four blocks at a time are read twice as often as two, from L1. */
  POINT_CHUNK_BYTES = TILE_BLOCKS == 4 ? 16 << 10 : CHUNK_BYTES,
  TAP_CHANNELS = 128, /* of a chunk, where it goes tap by tap */
  SUM_CHANNELS = 8    /* as many take as long as to load and store the sums of a tile */
};

/* Of a copy of inputs: dilations and pads of a model may ask for anything. */
#define MOST_FLOATS (INT64_C(1) << 32)

typedef struct layer { /* one convolution, cut into work */
  conv_shape c;
  int64_t in_h, in_w, out_h, out_w; /* 1x1: one row of pixels, cut into rows of out_w */
  int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_h, pad_w;
  int64_t n_pixels; /* the last row may be shorter than out_w */
  int64_t in_blocks, out_blocks;
  bool narrow;             /* planes are read, or pixels of few channels, not blocks */
  int64_t step;            /* channels of a block: lanes, or NARROW */
  int64_t planes, unit;    /* of an image: blocks, channels or 1; floats of one pixel of one */
  bool direct;             /* strips are read from the input */
  bool by_taps;            /* each tap for the pixels that it reaches; direct */
  work_cut cut;            /* strips of output rows, parts of the groups of filters */
  int64_t strip_in_rows;   /* input rows of a strip, at most */
  int64_t col;             /* pixels of the strip between output pixels: 1, or stride_w */
  int64_t phases, phase_w; /* of a copied row: those that taps read, pixels of one */
  int64_t row_step;        /* rows of the strip between output rows */
  int64_t row_floats;      /* of one row of all input blocks */
  int64_t strip_floats;    /* of a strip that is copied; 0: none is */
  int64_t run;             /* pixels that are neighbours in the strip and in the output */
  bool joined;             /* so are the runs of a strip */
  int64_t chunk;           /* input blocks at a time */
} layer;

static bool layer_is_direct(const layer *l) {
  const tn_window *w = &l->c.w;
  for (int32_t k = 0; k < w->n; k++)
    if (w->pad_lo[k] || w->pad_hi[k]) return false;
  return l->stride_w == 1 && !l->narrow;
}

static int64_t layer_groups(const layer *l) { return tn_ceil_div(l->out_blocks, TILE_BLOCKS); }

/* Input rows that so many output rows take. */
static int64_t rows_taken(const layer *l, int64_t rows) {
  return (rows - 1) * l->row_step + (l->kernel_h - 1) * l->dilation_h + 1;
}

/* Rows of a strip: its input stays in L2. */
static void layer_cut(layer *l, uint32_t n_workers) {
  const int64_t row_bytes = l->row_floats * (int64_t)sizeof(float);
  const int64_t weights = layer_groups(l) * TILE_BLOCKS * TN_VF_LANES * l->c.channels * l->c.taps,
                most = weights * (int64_t)sizeof(float) > HEAVY_BYTES ? HEAVY_STRIP_BYTES
                                                                      : STRIP_BYTES,
                rows_in = tn_max_i64(1, most / tn_max_i64(1, row_bytes) - l->kernel_h + 1);
  l->cut =
      (work_cut){.rows = l->out_h,
                 .most_rows = tn_max_i64(1, rows_in / l->row_step),
                 .batch = l->c.batch,
                 .groups = layer_groups(l),
                 .by_filters = cut_by_filters(l->c.filters * l->c.taps, l->c.in_size * l->c.batch),
                 .copies = !l->direct};
  work_cut_make(&l->cut, n_workers);
  l->strip_in_rows = rows_taken(l, l->cut.strip_rows);
}

/* How strips lie, and which there are: what follows from `direct` and `by_taps`. */
static tn_status layer_place(layer *l, uint32_t n_workers) {
  /* What no tap reads is not copied; of a 1x1 there remain the pixels of the output. */
  const int64_t span = (l->kernel_w - 1) * l->dilation_w + 1;
  l->col = l->narrow && tiles_apart(l->stride_w * l->unit) ? l->stride_w : 1;
  l->phases = tn_min_i64(l->stride_w / l->col, span);
  l->row_step =
      l->direct ? l->stride_h : tn_min_i64(l->stride_h, (l->kernel_h - 1) * l->dilation_h + 1);
  l->run = l->direct || l->narrow || l->c.taps > 1 ? l->out_w : 4 * TILE_PIXELS;
  l->joined = l->direct ? conv_is_pointwise(&l->c.w) : l->run != l->out_w;
  l->phase_w =
      l->direct ? l->in_w : (l->out_w - 1) * l->col + 1 + (span - 1) / (l->stride_w / l->col);
  const int64_t block_bytes =
      TILE_BLOCKS * TN_VF_LANES * l->c.taps * l->step * (int64_t)sizeof(float);
  l->chunk = tn_max_i64(1, (l->c.taps == 1 ? POINT_CHUNK_BYTES : CHUNK_BYTES) / block_bytes);
  if (l->by_taps) /* chunks of about one size */
    l->chunk = tn_max_i64(
        1, tn_ceil_div(l->in_blocks, tn_max_i64(1, tn_ceil_div(l->c.channels, TAP_CHANNELS))));
  const int64_t planes = l->by_taps ? tn_min_i64(l->planes, l->chunk) : l->planes;
  if (tn_dims_product((int64_t[]){planes, l->unit, l->phases, l->phase_w}, 4, &l->row_floats))
    return TN_ERR_OVERFLOW;
  layer_cut(l, n_workers);
  if (l->direct) return TN_OK;
  return tn_dims_product((int64_t[]){l->row_floats, l->strip_in_rows}, 2, &l->strip_floats)
             ? TN_ERR_OVERFLOW
             : TN_OK;
}

/* Pixels that all taps together reach, where each row takes as long as LEAST_RUN. */
static double layer_reach(const layer *l) {
  const tn_window w = tn_window_inner(&l->c.w, 3);
  int64_t lo, hi;
  double rows = 0, columns = 0;
  for (int64_t t = 0; t < l->kernel_h; t++) {
    tn_window_reach(&w, 1, t, &lo, &hi);
    rows += (double)(hi - lo);
  }
  for (int64_t t = 0; t < l->kernel_w; t++) {
    tn_window_reach(&w, 2, t, &lo, &hi);
    columns += hi > lo ? (double)tn_max_i64(LEAST_RUN, hi - lo) : 0;
  }
  return rows * columns;
}

static double layer_ns(const layer *l) {
  const double filters = (double)(l->out_blocks * TN_VF_LANES), channels = (double)l->c.channels;
  const double copied = (double)l->strip_floats * (double)(l->cut.strips * l->cut.parts);
  const double slow = l->run < LEAST_RUN ? (double)LEAST_RUN / (double)tn_max_i64(1, l->run) : 1;
  double sums = (double)l->n_pixels * slow * channels * (double)l->c.taps; /* for each filter */
  if (l->by_taps) {
    const double reach = layer_reach(l), chunks = (double)tn_ceil_div(l->in_blocks, l->chunk);
    sums = reach * channels + (reach * chunks + (double)l->n_pixels) * SUM_CHANNELS;
  }
  return (2 * sums * filters / (TN_VF_LANES == 16 ? 130 : 75) + copied * 0.25) * (double)l->c.batch;
}

static tn_status layer_make(const tn_call *call, layer *out) {
  layer l = {0};
  tn_status s = conv_shape_make(call, &l.c);
  if (s) return s;
  const tn_window w = tn_window_inner(&l.c.w, 3);
  l.in_h = w.in[1], l.in_w = w.in[2], l.out_h = w.out[1], l.out_w = w.out[2];
  l.kernel_h = w.kernel[1], l.kernel_w = w.kernel[2];
  l.stride_h = w.stride[1], l.stride_w = w.stride[2];
  l.dilation_h = w.dilation[1], l.dilation_w = w.dilation[2];
  l.pad_h = w.pad_lo[1], l.pad_w = w.pad_lo[2];
  l.n_pixels = l.out_h * l.out_w;
  const bool last = call->inputs[0]->layout == TN_CHANNELS_LAST;
  l.narrow = last || call->inputs[0]->layout == TN_PLAIN;
  l.step = l.narrow ? NARROW : TN_VF_LANES;
  l.unit = last ? l.c.channels : l.narrow ? 1 : TN_VF_LANES;
  l.in_blocks = tn_ceil_div(l.c.channels, l.step);
  l.planes = last ? 1 : l.narrow ? l.c.channels : l.in_blocks;
  l.out_blocks = tn_ceil_div(l.c.filters, TN_VF_LANES);
  l.direct = layer_is_direct(&l);
  if (conv_is_pointwise(&l.c.w) && l.direct) {
    l.out_w = cut_pixels(l.n_pixels, TILE_PIXELS, call->n_workers);
    l.out_h = tn_ceil_div(l.n_pixels, tn_max_i64(1, l.out_w));
    l.in_h = l.out_h, l.in_w = l.out_w;
  }
  layer taps = l;
  s = layer_place(&l, call->n_workers);
  if (!l.direct && !l.narrow && l.stride_w == 1 && l.c.taps > 1) {
    taps.direct = taps.by_taps = true;
    const tn_status other = layer_place(&taps, call->n_workers);
    if (!other && (s || l.strip_floats > MOST_FLOATS || layer_ns(&taps) < layer_ns(&l))) {
      *out = taps;
      return TN_OK;
    }
  }
  if (!s) *out = l;
  return s;
}

const char *TN_SIMD_NAME(conv_blocked_refuse)(const tn_call *call) {
  const tn_conv_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  conv_shape c;
  if (x->rank < 3 || x->rank > 4) return "takes 1 or 2 spatial dims";
  if (a->group != 1) return "takes one group";
  if (conv_shape_make(call, &c)) return "its shapes do not fit";
  const bool last = x->layout == TN_CHANNELS_LAST, narrow = last || x->layout == TN_PLAIN;
  if (narrow && c.channels > NARROW) return "takes up to 4 channels that are not in blocks";
  if (last && !tiles_apart(c.channels)) return "takes 1, 2 or 3 channels that come last";
  if (c.taps > MOST_TAPS / (narrow ? tn_max_i64(1, c.channels) : 1))
    return "takes windows of up to 1024 taps, those of all channels together unless in blocks";
  layer l;
  if (layer_make(call, &l) || l.strip_floats > MOST_FLOATS)
    return "takes windows of which a strip of output rows fits into memory";
  return tn_epilogue_refuse_f32(call, 1);
}

static int64_t packed_floats(const layer *l) {
  return l->out_blocks * TN_VF_LANES * l->c.channels * l->c.taps;
}

tn_status TN_SIMD_NAME(conv_blocked_plan)(const tn_call *call, tn_kernel_plan *out) {
  layer l;
  const tn_status s = layer_make(call, &l);
  if (s) return s;
  out->worker_scratch_bytes =
      (uint64_t)(l.strip_floats + TILE_BLOCKS * TN_VF_LANES) * sizeof(float);
  out->state_bytes = (uint64_t)packed_floats(&l) * sizeof(float);
  out->state_key = l.by_taps;
  out->items[0] = l.c.batch * l.cut.strips * l.cut.parts;
  out->cost_ns = layer_ns(&l) + 500;
  out->grain[0] = tn_grain(TN_THREAD_NS, out->cost_ns / (double)out->items[0]);
  return TN_OK;
}

/* Of the kernels that are built on these tiles (Winograd's method, transposed convolution). */
static const char *refuse_but_images(const tn_call *call, int64_t groups) {
  if (call->inputs[0]->rank != 4) return "takes 2 spatial dims";
  return groups == 1 ? NULL : "takes one group";
}

/* ---- weights ---- */

/* One block of output channels into every `width`-th vector from `to` on. */
static void pack_block(const layer *l, const float *w, int64_t block, int64_t width, float *to) {
  const int64_t first = block * TN_VF_LANES, n = tn_min_i64(TN_VF_LANES, l->c.filters - first);
  const int64_t filter = l->c.channels * l->c.taps;
  const int64_t blocks = l->by_taps ? l->chunk : 1; /* of which a tap is one run */
  for (int64_t i = 0; i < l->in_blocks; i += blocks)
    for (int64_t t = 0; t < l->c.taps; t++)
      for (int64_t c = i * l->step; c < tn_min_i64(l->c.channels, (i + blocks) * l->step); c++) {
        for (int64_t f = 0; f < TN_VF_LANES; f++)
          to[f] = f < n ? w[(first + f) * filter + c * l->c.taps + t] : 0;
        to += width;
      }
}

/* First weight of a group, and how many blocks it has. */
static int64_t group_at(const layer *l, int64_t group) {
  return group * TILE_BLOCKS * TN_VF_LANES * l->c.channels * l->c.taps;
}
static int64_t group_blocks(const layer *l, int64_t group) {
  return tn_min_i64(TILE_BLOCKS, l->out_blocks - group * TILE_BLOCKS);
}

static void pack_groups(const layer *l, const float *w, float *to) {
  for (int64_t g = 0; g < layer_groups(l); g++)
    for (int64_t b = 0; b < group_blocks(l, g); b++)
      pack_block(l, w, g * TILE_BLOCKS + b, group_blocks(l, g) * TN_VF_LANES,
                 to + group_at(l, g) + b * TN_VF_LANES);
}

tn_status TN_SIMD_NAME(conv_blocked_prepare)(const tn_call *call) {
  layer l;
  const tn_status s = layer_make(call, &l);
  if (!s) pack_groups(&l, call->inputs[1]->data, call->state);
  return s;
}

/* ---- the strip ---- */

/* The pixels of a phase; `first` is that of the row at pixel 0 of the phase. */
static void copy_pixels(const layer *l, const float *row, int64_t first, float *to) {
  for (int64_t q = 0; q < l->phase_w; q++, to += TN_VF_LANES) {
    const int64_t at = first + q * l->stride_w;
    const bool inside = at >= 0 && at < l->in_w;
    tn_vf_store(to, inside ? tn_vf_load(row + at * TN_VF_LANES) : tn_vf_set1(0));
  }
}

/* The same for stride 1: pads, a run, pads. */
static void copy_run(const layer *l, const float *row, int64_t first, float *to) {
  const int64_t left = tn_min_i64(l->phase_w, tn_max_i64(0, -first));
  const int64_t n = tn_max_i64(0, tn_min_i64(l->phase_w - left, l->in_w - (first + left)));
  const size_t pixel = (size_t)l->unit * sizeof(float);
  memset(to, 0, (size_t)left * pixel);
  if (n) memcpy(to + left * l->unit, row + (first + left) * l->unit, (size_t)n * pixel);
  memset(to + (left + n) * l->unit, 0, (size_t)(l->phase_w - left - n) * pixel);
}

/* Of a plane, or of pixels of few channels. */
static void copy_plane(const layer *l, const float *row, int64_t first, float *to) {
  for (int64_t q = 0; q < l->phase_w; q++) {
    const int64_t at = first + q * l->stride_w;
    for (int64_t c = 0; c < l->unit; c++)
      *to++ = at >= 0 && at < l->in_w ? row[at * l->unit + c] : 0;
  }
}

/* x: the image. The strip is n_rows output rows from oh on. Layout
 * [plane][row][phase][pixel][unit]. */
static void copy_strip(const layer *l, const float *x, int64_t oh, int64_t n_rows, float *room) {
  const int64_t plane = l->strip_in_rows * l->phases * l->phase_w * l->unit;
  for (int64_t i = 0; i < l->planes; i++, x += l->c.in_size * l->unit, room += plane) {
    float *to = room;
    for (int64_t r = 0; r < rows_taken(l, n_rows); r++) {
      const int64_t ih = (oh + r / l->row_step) * l->stride_h - l->pad_h + r % l->row_step;
      for (int64_t phase = 0; phase < l->phases; phase++, to += l->phase_w * l->unit) {
        if (ih < 0 || ih >= l->in_h) {
          memset(to, 0, (size_t)(l->phase_w * l->unit) * sizeof *to);
          continue;
        }
        const float *row = x + ih * l->in_w * l->unit;
        if (l->col == l->stride_w)
          copy_run(l, row, -l->pad_w, to);
        else if (l->narrow)
          copy_plane(l, row, phase - l->pad_w, to);
        else
          copy_pixels(l, row, phase - l->pad_w, to);
      }
    }
  }
}

/* ---- the kernel ---- */

typedef struct band {   /* a strip as it is read */
  const float *x;       /* of output row 0 of the strip, pixel 0 */
  int64_t row, x_block; /* floats between input rows, and blocks */
  int64_t at[MOST_TAPS];
  int64_t image, first_row, n_rows;
  bool strange; /* this worker has read none of it yet, and another may have written it */
} band;

static void strip_taps(const layer *l, band *s) {
  /* Channels whose taps have an `at` of their own. */
  const int64_t channels = l->narrow ? l->c.channels : 1, plane = l->planes > 1 ? s->x_block : 1;
  const int64_t stride = l->stride_w / l->col;
  int64_t *at = s->at;
  for (int64_t h = 0; h < l->kernel_h; h++)
    for (int64_t w = 0; w < l->kernel_w; w++) {
      const int64_t x = w * l->dilation_w, phase = x % stride;
      const int64_t pixel = phase * l->phase_w + x / stride;
      for (int64_t c = 0; c < channels; c++)
        *at++ = c * plane + h * l->dilation_h * s->row + pixel * l->unit;
    }
}

static void strip_make(const tn_call *call, const layer *l, int64_t strip, float *room, band *s) {
  const int64_t n = l->cut.strips, k = strip % n;
  s->image = strip / n;
  s->first_row = cut_at(l->out_h, n, k);
  s->n_rows = cut_at(l->out_h, n, k + 1) - s->first_row;
  const float *x = (const float *)call->inputs[0]->data;
  s->row = (l->direct ? l->in_w : l->phases * l->phase_w) * l->unit;
  s->x_block = l->direct ? l->c.in_size * l->unit : l->strip_in_rows * s->row;
  strip_taps(l, s);
  x += s->image * l->planes * l->c.in_size * l->unit;
  s->x = l->direct ? x + s->first_row * l->stride_h * s->row : room;
  s->strange = l->direct && call->n_workers > 1;
  if (!l->direct) copy_strip(l, x, s->first_row, s->n_rows, room);
}

/* One row of pixels of a group, in tiles of about one size. */
static void run_row(const tile_set *tiles, tile_args *a, const float *x, int64_t step,
                    const float *w, float *y, int64_t n) {
  if (n <= 0) return;
  const int64_t count = tn_ceil_div(n, tiles->full), size = n / count, larger = n - count * size;
  if (larger > 0) tiles->of[size + 1](a, x, w, y, larger);
  const int64_t done = larger * (size + 1);
  tiles->of[size](a, x + done * step, w, y + done * TN_VF_LANES, count - larger);
}

/* Pixels of the strip. */
static int64_t strip_pixels(const layer *l, const band *s) {
  return tn_min_i64(s->n_rows * l->out_w, l->n_pixels - s->first_row * l->out_w);
}

/* What no tile does of the epilogue, for n pixels of a group, from pixel `at` of the image on. */
static void finish_run(const tn_call *call, const layer *l, const band *s, int64_t group,
                       int64_t at, int64_t n) {
  for (int64_t b = 0; b < group_blocks(l, group); b++) {
    const int64_t block = group * TILE_BLOCKS + b;
    const int64_t offset = ((s->image * l->out_blocks + block) * l->n_pixels + at) * TN_VF_LANES;
    tn_epilogue_block_f32(call, (float *)call->outputs[0]->data + offset, n, offset,
                          block * TN_VF_LANES, TN_VF_LANES);
  }
}

/* Bytes of the weights to come that a tile fetches with each step, if there are so many tiles. */
static int64_t next_step(int64_t width, int64_t tiles) {
  return width * TN_VF_LANES * (int64_t)sizeof(float) / (2 * tn_max_i64(1, tiles));
}

static tile_args group_tile(const tn_call *call, const layer *l, const band *s, int64_t group,
                            const float *bias) {
  const int64_t width = group_blocks(l, group);
  const int64_t filters = l->c.filters - (group * TILE_BLOCKS + width - 1) * TN_VF_LANES;
  tile_args a = {.at = s->at, .bias = bias, .taps = l->c.taps, .x_block = s->x_block};
  if (l->narrow) a.taps *= l->c.channels;
  a.first = true;
  a.fetches = s->strange;
  a.y_block = l->n_pixels * TN_VF_LANES;
  a.out = call->outputs[0]->data;
  a.partial = filters < TN_VF_LANES;
  a.live = tn_vf_mask_first(tn_min_i64(TN_VF_LANES, filters));
  return a;
}

/* The weights that come after n that end at `end`; after the last come the first, of the next
 * strip. Tiles fetch up to half as many again: where there are not so many, it begins earlier, for
 * to fetch what is not mapped takes far longer than to wait for what is. NULL: there are too few.
 */
static const char *weights_after(const tn_call *call, const layer *l, const float *end, int64_t n) {
  const float *w = call->state;
  const int64_t all = packed_floats(l), last = all - n - n / 2;
  const int64_t at = end - w < all ? end - w : 0;
  return last < 0 ? NULL : (const char *)(w + tn_min_i64(at, last));
}

/* What tiles fetch while they use the n weights from w on. */
static void fetch_next(const tn_call *call, const layer *l, const float *w, int64_t n, int64_t step,
                       tile_args *a) {
  a->next = weights_after(call, l, w + n, n);
  a->next_step = a->next ? step : 0;
  a->second = n * (int64_t)sizeof(float) / 2;
  a->due = 0;
}

/* All rows of the strip for one group of output blocks. y: block 0 of the group, output row 0. */
static void run_group(const tn_call *call, const layer *l, const band *s, int64_t group,
                      const float *bias, float *y) {
  const int64_t width = group_blocks(l, group), pixels = strip_pixels(l, s);
  const tile_set *tiles = &(l->narrow ? tiles_apart(l->col * l->unit) : tiles_wide)[width - 1];
  const float *w = (const float *)call->state + group_at(l, group);
  const tn_finish finish = tn_finish_make(call);
  /* What is finished after the tiles is finished while it is in L1. */
  const int64_t run = l->joined && !finish.rest ? pixels : tn_min_i64(l->run, pixels);
  const int64_t row = l->joined ? run * l->unit : l->row_step * s->row;
  const int64_t n_tiles = tn_ceil_div(pixels, run) * tn_ceil_div(run, tiles->full);
  tile_args a = group_tile(call, l, s, group, bias);
  for (int64_t i = 0; i == 0 || i < l->in_blocks; i += l->chunk, a.first = false) {
    a.blocks = tn_min_i64(l->chunk, l->in_blocks - i);
    const bool last = i + l->chunk >= l->in_blocks;
    const int64_t channels = tn_min_i64(a.blocks * l->step, l->c.channels - i * l->step);
    a.last_channels = channels - (a.blocks - 1) * l->step;
    a.finish = last ? &finish : NULL;
    const float *end = w + width * TN_VF_LANES * l->c.taps * channels, *x = s->x + i * s->x_block;
    fetch_next(call, l, w, end - w, next_step(width, n_tiles), &a);
    for (int64_t at = 0, n; at < pixels; at += n, x += row) {
      const int64_t first = s->first_row * l->out_w + at;
      n = tn_min_i64(run, pixels - at);
      run_row(tiles, &a, x, l->col * l->unit, w, y + first * TN_VF_LANES, n);
      if (finish.rest && last) finish_run(call, l, s, group, first, n);
    }
    w = end;
  }
}

/* The pixels of the strip that a tap reaches, none if a range is empty, and where in the strip the
 * first of its inputs would be for row 0 of the strip. */
typedef struct tap_reach {
  int64_t h0, h1, w0, w1, at;
} tap_reach;

static tap_reach tap_reach_make(const layer *l, const band *s, const tn_window *w, int64_t tap) {
  tap_reach r;
  tn_window_reach(w, 1, tap / l->kernel_w, &r.h0, &r.h1);
  tn_window_reach(w, 2, tap % l->kernel_w, &r.w0, &r.w1);
  r.h0 = tn_max_i64(r.h0, s->first_row);
  r.h1 = tn_max_i64(r.h0, tn_min_i64(r.h1, s->first_row + s->n_rows));
  r.at = s->at[tap] - l->pad_h * s->row + (r.w0 - l->pad_w) * l->unit;
  return r;
}

/* What run_group does, tap by tap; tiles without inputs begin and finish the sums. */
static void run_group_by_taps(const tn_call *call, const layer *l, const band *s, int64_t group,
                              const float *bias, float *y) {
  static const int64_t here[1] = {0};
  const tn_window window = tn_window_inner(&l->c.w, 3);
  const int64_t width = group_blocks(l, group), n = strip_pixels(l, s);
  const tile_set *tiles = &tiles_wide[width - 1];
  const float *w = (const float *)call->state + group_at(l, group);
  float *strip = y + s->first_row * l->out_w * TN_VF_LANES;
  const tn_finish finish = tn_finish_make(call);
  tile_args a = group_tile(call, l, s, group, bias);
  a.at = here, a.taps = 1;
  run_row(tiles, &a, s->x, 0, w, strip, n);
  a.first = false;
  for (int64_t i = 0; i < l->in_blocks; i += l->chunk) {
    a.blocks = tn_min_i64(l->chunk, l->in_blocks - i);
    const int64_t channels = tn_min_i64(a.blocks * l->step, l->c.channels - i * l->step),
                  n_weights = width * TN_VF_LANES * channels;
    a.last_channels = channels - (a.blocks - 1) * l->step;
    for (int64_t tap = 0; tap < l->c.taps; tap++, w += n_weights) {
      const tap_reach r = tap_reach_make(l, s, &window, tap);
      const int64_t at = r.at + i * s->x_block;
      const int64_t row_tiles = tn_ceil_div(r.w1 - r.w0, tiles->full);
      fetch_next(call, l, w, n_weights, next_step(width, (r.h1 - r.h0) * row_tiles), &a);
      for (int64_t oh = r.h0; oh < r.h1; oh++)
        run_row(tiles, &a, s->x + (at + (oh - s->first_row) * l->row_step * s->row), l->unit, w,
                y + (oh * l->out_w + r.w0) * TN_VF_LANES, r.w1 - r.w0);
    }
  }
  a.blocks = 0;
  a.finish = &finish;
  run_row(tiles, &a, s->x, 0, w, strip, n);
  if (finish.rest) finish_run(call, l, s, group, s->first_row * l->out_w, n);
}

/* A group's biases, 0 where there are none (tensor NULL). */
static void copy_bias(const tn_tensor *tensor, const layer *l, int64_t group, float *to) {
  const float *bias = tensor ? tensor->data : NULL;
  for (int64_t k = 0, f = group * TILE_BLOCKS * TN_VF_LANES; k < TILE_BLOCKS * TN_VF_LANES;
       k++, f++)
    to[k] = bias && f < l->c.filters ? bias[f] : 0;
}

tn_status TN_SIMD_NAME(conv_blocked)(const tn_call *call, uint32_t stage, int64_t begin,
                                     int64_t end, uint32_t worker) {
  (void)stage;
  layer l;
  band s;
  const tn_status status = layer_make(call, &l);
  if (status) return status;
  float *bias =
      (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  const int64_t n_groups = layer_groups(&l);
  int64_t strip, part, made = -1;
  for (int64_t item = begin; item < end; item++) {
    work_cut_item(&l.cut, item, &strip, &part);
    if (strip != made) strip_make(call, &l, strip, bias + TILE_BLOCKS * TN_VF_LANES, &s);
    made = strip;
    for (int64_t g = cut_at(n_groups, l.cut.parts, part);
         g < cut_at(n_groups, l.cut.parts, part + 1); g++) {
      copy_bias(call->inputs[2], &l, g, bias);
      float *y = (float *)call->outputs[0]->data +
                 (s.image * l.out_blocks + g * TILE_BLOCKS) * l.n_pixels * TN_VF_LANES;
      if (l.by_taps)
        run_group_by_taps(call, &l, &s, g, bias, y);
      else
        run_group(call, &l, &s, g, bias, y);
      s.strange = false;
    }
  }
  return TN_OK;
}

#endif
