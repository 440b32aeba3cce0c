/* Conv 3x3 of stride 1 in f32 by Winograd's F(4x4, 3x3), blocked layout, AVX-512 and AVX2: 36
 * products where the direct sum takes 144.
 *
 * Tiles of 6x6 inputs become 36 numbers each, V = B'xB; for each of the 36 the channels are summed
 * against U = GwG', made at prepare, by the tiles of conv_blocked_tile.h; then 4x4 outputs are
 * y = A'MA. An item is a strip of rows of tiles by some of the output channels.
 *
 * Error: let u = 2^-24, n = channels + 24 roundings on the longest way. Each output is within
 *   n*u * |A'| (sum over channels of (|G||w||G'|) o (|B'||x||B|)) |A|.
 * For inputs of one magnitude that is 620/9 = 69 times the bound of the direct sum; for errors of
 * independent signs, as they are in practice, the root of the squares is 7 times as large. The
 * points 0, +-sqrt(2), +-1/sqrt(2), infinity give that; 0, +-1, +-2 would give 256 and 31. An input
 * that is not finite spreads over its tile. Who wants neither leaves the kernel out: a pin
 * Conv!=conv_winograd_*.
 *
 * Method: Lavin, Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016; bound and
 * choice of points: Barabasz et al., "Error Analysis and Improving the Accuracy of Winograd
 * Convolution for Deep Neural Networks", ACM TOMS 2020. */
#ifndef TN_OPS_CONV_WINOGRAD_SIMD_H
#define TN_OPS_CONV_WINOGRAD_SIMD_H

#include "conv_blocked_simd.h"

enum {
  OUT = 4, /* outputs of a tile, per dim */
  IN = 6,  /* inputs of a tile, and points */
  POINTS = IN * IN,
  V_BYTES = 1 << 20,  /* transformed inputs of a strip, in L2 */
  WIDTH = 2,          /* blocks of a group of filters; of more, products would leave L2 */
  U_BYTES = 16 << 20, /* weights of which another pass costs more than twice the inputs */
  LEAST = 16          /* channels and filters: with fewer the transforms cost more than they save */
};

#define ROOT_2 1.41421356237309504880

typedef struct winograd {
  conv_shape c;
  int64_t in_h, in_w, out_h, out_w, pad_h, pad_w;
  int64_t in_blocks, out_blocks, groups;
  int64_t tiles_h, tiles_w;
  work_cut cut;           /* strips of rows of tiles, parts of the groups of filters */
  int64_t v_step, m_step; /* floats from point to point */
} winograd;

/* ---- shape ---- */

static int64_t winograd_weights(const winograd *g) {
  return POINTS * g->c.channels * g->out_blocks * TN_VF_LANES;
}

/* What all takes but reading weights, in ns, where so many parts make V of their own ... */
static double winograd_sums_ns(const winograd *g, int64_t parts) {
  const double tiles = (double)(g->c.batch * g->tiles_h * g->tiles_w);
  return tiles * (2.0 * (double)winograd_weights(g) / (TN_VF_LANES == 16 ? 120 : 70) +
                  (double)(g->in_blocks * parts + g->out_blocks) * 50);
}

/* ... and reading all of them once. */
static double winograd_weights_ns(const winograd *g) {
  return (double)winograd_weights(g) * (double)sizeof(float) / 20;
}

static void winograd_cut(winograd *g, uint32_t n_workers) {
  const int64_t row_bytes =
      POINTS * g->tiles_w * g->in_blocks * TN_VF_LANES * (int64_t)sizeof(float);
  const int64_t u_bytes = POINTS * g->c.channels * g->c.filters * (int64_t)sizeof(float);
  /* U has more bytes than V if it has more filters than there are tiles: to each point and channel
   * it has a float per filter, and V one per tile. Then it costs less that each part of the filters
   * makes V of its own than that each strip reads all of U. */
  g->cut = (work_cut){
      .rows = g->tiles_h,
      .most_rows = tn_max_i64(1, (u_bytes < U_BYTES ? V_BYTES : 2 * V_BYTES) / row_bytes),
      .batch = g->c.batch,
      .groups = g->groups,
      .by_filters = g->c.filters > g->tiles_h * g->tiles_w * g->c.batch,
      .copies = true,
      .few_strips = 1 + (int64_t)(winograd_sums_ns(g, 1) / (10 * winograd_weights_ns(g)))};
  work_cut_make(&g->cut, n_workers);
}

/* Only of a call that refuse() lets through. The odd vector between points keeps their 36 streams
 * from falling on the same places of L1. */
static tn_status winograd_make(const tn_call *call, winograd *out) {
  winograd g = {0};
  const tn_status s = conv_shape_make(call, &g.c);
  if (s) return s;
  g.in_h = g.c.w.in[0], g.in_w = g.c.w.in[1], g.out_h = g.c.w.out[0], g.out_w = g.c.w.out[1];
  g.pad_h = g.c.w.pad_lo[0], g.pad_w = g.c.w.pad_lo[1];
  g.in_blocks = tn_ceil_div(g.c.channels, TN_VF_LANES);
  g.out_blocks = tn_ceil_div(g.c.filters, TN_VF_LANES);
  g.groups = tn_ceil_div(g.out_blocks, WIDTH);
  g.tiles_h = tn_ceil_div(g.out_h, OUT), g.tiles_w = tn_ceil_div(g.out_w, OUT);
  winograd_cut(&g, call->n_workers);
  const int64_t tiles = g.cut.strip_rows * g.tiles_w;
  g.v_step = (tiles * g.in_blocks + 1) * TN_VF_LANES;
  g.m_step = (tiles * WIDTH + 1) * TN_VF_LANES;
  *out = g;
  return TN_OK;
}

const char *TN_SIMD_NAME(conv_winograd_refuse)(const tn_call *call) {
  const char *no = refuse_but_images(call, ((const tn_conv_attrs *)call->attrs)->group);
  conv_shape c;
  if (no) return no;
  if (conv_shape_make(call, &c)) return "the shapes do not fit";
  for (int32_t k = 0; k < 2; k++)
    if (c.w.kernel[k] != 3 || c.w.stride[k] != 1 || c.w.dilation[k] != 1)
      return "takes 3x3 of stride 1 without dilation";
  if (c.channels < LEAST || c.filters < LEAST) return "takes 16 or more channels and filters";
  if (!c.out_size || !c.batch) return "takes outputs that have elements";
  return tn_epilogue_refuse_f32(call, 1);
}

/* Floats of V, then of M, then of the bias and of the zeros where sums begin. */
static int64_t winograd_scratch(const winograd *g) {
  return POINTS * (g->v_step + g->m_step) + 2 * WIDTH * TN_VF_LANES;
}

tn_status TN_SIMD_NAME(conv_winograd_plan)(const tn_call *call, tn_kernel_plan *out) {
  winograd g;
  const tn_status s = winograd_make(call, &g);
  if (s) return s;
  out->worker_scratch_bytes = (uint64_t)winograd_scratch(&g) * sizeof(float);
  out->state_bytes = (uint64_t)winograd_weights(&g) * sizeof(float);
  out->items[0] = g.c.batch * g.cut.strips * g.cut.parts;
  out->cost_ns = winograd_sums_ns(&g, g.cut.parts) +
                 winograd_weights_ns(&g) * (double)(g.c.batch * g.cut.strips) + 500;
  out->grain[0] = tn_grain(TN_THREAD_NS, out->cost_ns / (double)out->items[0]);
  return TN_OK;
}

/* ---- weights ---- */

/* Rows of G: (1, p, p^2) over the product of p's distances to the other points. */
static const double winograd_g[IN][3] = {{1, 0, 0},
                                         {1 / 6.0, ROOT_2 / 6, 2 / 6.0},
                                         {1 / 6.0, -ROOT_2 / 6, 2 / 6.0},
                                         {-1 / 1.5, -ROOT_2 / 3, -0.5 / 1.5},
                                         {-1 / 1.5, ROOT_2 / 3, -0.5 / 1.5},
                                         {0, 0, 1}};

/* All points of one channel of a block of filters, `step` floats apart; n filters are there,
 * `filter` floats from each other. */
static void winograd_weight(const float *w, int64_t n, int64_t filter, float *to, int64_t step) {
  double d[9][TN_VF_LANES] = {{0}}, row[3][TN_VF_LANES];
  for (int64_t f = 0; f < n; f++)
    for (int t = 0; t < 9; t++) d[t][f] = (double)w[f * filter + t];
  for (int i = 0; i < IN; i++) {
    const double *g = winograd_g[i];
    for (int x = 0; x < 3; x++)
      for (int f = 0; f < TN_VF_LANES; f++)
        row[x][f] = g[0] * d[x][f] + g[1] * d[3 + x][f] + g[2] * d[6 + x][f];
    for (int j = 0; j < IN; j++, to += step)
      for (int f = 0; f < TN_VF_LANES; f++)
        to[f] = (float)(row[0][f] * winograd_g[j][0] + row[1][f] * winograd_g[j][1] +
                        row[2][f] * winograd_g[j][2]);
  }
}

static int64_t winograd_width(const winograd *g, int64_t group) { /* vectors */
  return tn_min_i64(WIDTH, g->out_blocks - group * WIDTH);
}

static int64_t winograd_group(const winograd *g, int64_t group) { /* its first weight */
  return group * WIDTH * TN_VF_LANES * POINTS * g->c.channels;
}

/* Into [group][point][channel][blocks * lanes]: line after line, each of them once. */
tn_status TN_SIMD_NAME(conv_winograd_prepare)(const tn_call *call) {
  winograd g;
  const tn_status s = winograd_make(call, &g);
  const int64_t filter = 9 * g.c.channels;
  for (int64_t block = 0; !s && block < g.out_blocks; block++) {
    const int64_t group = block / WIDTH, first = block * TN_VF_LANES;
    const int64_t width = winograd_width(&g, group) * TN_VF_LANES;
    const float *w = (const float *)call->inputs[1]->data + first * filter;
    float *to = (float *)call->state + winograd_group(&g, group) + block % WIDTH * TN_VF_LANES;
    for (int64_t c = 0; c < g.c.channels; c++)
      winograd_weight(w + 9 * c, tn_min_i64(TN_VF_LANES, g.c.filters - first), filter,
                      to + c * width, g.c.channels * width);
  }
  return s;
}

/* ---- transforms ---- */

/* B'd: rows (1 0 -5/2 0 1 0), (0 -p/p'^2 -1/p'^2 p 1 0) for the points p, where p'= 1/p, and
 * (0 1 0 -5/2 0 1). */
static inline void winograd_in(const tn_vf d[IN], tn_vf out[IN]) {
  const tn_vf sum = tn_vf_set1(-2.5f), two = tn_vf_set1(-2), half = tn_vf_set1(-0.5f);
  const tn_vf root = tn_vf_set1((float)ROOT_2), minus = tn_vf_set1(-(float)ROOT_2);
  const tn_vf root_half = tn_vf_set1((float)ROOT_2 / 2),
              minus_half = tn_vf_set1(-(float)ROOT_2 / 2);
  const tn_vf a = tn_vf_fma(half, d[2], d[4]), b = tn_vf_fma(half, d[1], d[3]);
  const tn_vf c = tn_vf_fma(two, d[2], d[4]), e = tn_vf_fma(two, d[1], d[3]);
  out[0] = tn_vf_fma(sum, d[2], tn_vf_add(d[0], d[4]));
  out[1] = tn_vf_fma(root, b, a);
  out[2] = tn_vf_fma(minus, b, a);
  out[3] = tn_vf_fma(root_half, e, c);
  out[4] = tn_vf_fma(minus_half, e, c);
  out[5] = tn_vf_fma(sum, d[3], tn_vf_add(d[1], d[5]));
}

/* A'm: row k is the k-th power of the points, and m[5] in the last one. */
static inline void winograd_out(const tn_vf m[IN], tn_vf out[OUT]) {
  const tn_vf zero = tn_vf_set1(0), minus = tn_vf_set1(-1);
  const tn_vf s = tn_vf_add(m[1], m[2]), d = tn_vf_fma(minus, m[2], m[1]);
  const tn_vf t = tn_vf_add(m[3], m[4]), e = tn_vf_fma(minus, m[4], m[3]);
  out[0] = tn_vf_add(tn_vf_add(m[0], s), t);
  out[1] =
      tn_vf_fma(tn_vf_set1((float)ROOT_2), d, tn_vf_fma(tn_vf_set1((float)ROOT_2 / 2), e, zero));
  out[2] = tn_vf_fma(tn_vf_set1(2), s, tn_vf_fma(tn_vf_set1(0.5f), t, zero));
  out[3] = tn_vf_fma(tn_vf_set1(2 * (float)ROOT_2), d,
                     tn_vf_fma(tn_vf_set1((float)ROOT_2 / 4), e, m[5]));
}

/* One tile of one block: x is its first input, `row` floats lie between rows. */
static void winograd_in_tile(const float *x, int64_t row, float *v, int64_t step) {
  tn_vf t[IN][IN];
  TN_UNROLL for (int k = 0; k < IN; k++) {
    tn_vf d[IN], o[IN];
    TN_UNROLL for (int r = 0; r < IN; r++) d[r] = tn_vf_load(x + r * row + k * TN_VF_LANES);
    winograd_in(d, o);
    TN_UNROLL for (int r = 0; r < IN; r++) t[r][k] = o[r];
  }
  TN_UNROLL for (int r = 0; r < IN; r++) {
    tn_vf o[IN];
    winograd_in(t[r], o);
    TN_UNROLL for (int k = 0; k < IN; k++) tn_vf_store(v + (r * IN + k) * step, o[k]);
  }
}

/* The inputs of a tile at the border, with zeros around them. */
static void winograd_patch(const winograd *g, const float *x, int64_t ih, int64_t iw, float *to) {
  for (int64_t h = ih; h < ih + IN; h++)
    for (int64_t w = iw; w < iw + IN; w++, to += TN_VF_LANES) {
      const bool inside = h >= 0 && h < g->in_h && w >= 0 && w < g->in_w;
      tn_vf_store(to, inside ? tn_vf_load(x + (h * g->in_w + w) * TN_VF_LANES) : tn_vf_set1(0));
    }
}

/* The strip that begins with row of tiles `first`. v: [point][block][tile][lanes]. */
static void winograd_in_strip(const winograd *g, const float *x, int64_t first, int64_t rows,
                              float *v) {
  float patch[POINTS * TN_VF_LANES];
  for (int64_t b = 0; b < g->in_blocks; b++, x += g->c.in_size * TN_VF_LANES)
    for (int64_t r = 0; r < rows; r++)
      for (int64_t t = 0; t < g->tiles_w; t++, v += TN_VF_LANES) {
        const int64_t ih = (first + r) * OUT - g->pad_h, iw = t * OUT - g->pad_w;
        if (ih >= 0 && iw >= 0 && ih + IN <= g->in_h && iw + IN <= g->in_w) {
          winograd_in_tile(x + (ih * g->in_w + iw) * TN_VF_LANES, g->in_w * TN_VF_LANES, v,
                           g->v_step);
          continue;
        }
        winograd_patch(g, x, ih, iw, patch);
        winograd_in_tile(patch, IN * TN_VF_LANES, v, g->v_step);
      }
}

/* Where outputs of one block go, and what is done to them before. */
typedef struct winograd_outputs {
  tn_vf bias;
  tn_finish finish;
  const float *out; /* the first element of the output */
  int64_t row;      /* floats */
  tn_vf_mask live;  /* lanes that are channels */
  bool partial;     /* not all are */
} winograd_outputs;

/* Outputs v, an expression of j < ROWS * N. */
#define WINOGRAD_STORE(d, y, v, ROWS, N)                                             \
  do {                                                                               \
    TN_FINISH_VECTORS(&(d)->finish, y - (d)->out, (d)->row, v, ROWS, N);             \
    if ((d)->partial) {                                                              \
      TN_UNROLL for (int j = 0; j < (ROWS) * (N); j++) v = tn_vf_keep((d)->live, v); \
    }                                                                                \
    TN_UNROLL for (int j = 0; j < (ROWS) * (N); j++)                                 \
        tn_vf_store(y + j / (N) * (d)->row + j % (N)*TN_VF_LANES, v);                \
  } while (0)

/* h x w of the outputs of one tile. */
static void winograd_out_tile(const winograd_outputs *d, const float *m, int64_t step, float *y,
                              int64_t h, int64_t w) {
  tn_vf t[OUT][IN], o[OUT][OUT];
  TN_UNROLL for (int k = 0; k < IN; k++) {
    tn_vf c[IN], r[OUT];
    TN_UNROLL for (int i = 0; i < IN; i++) c[i] = tn_vf_load(m + (i * IN + k) * step);
    winograd_out(c, r);
    TN_UNROLL for (int i = 0; i < OUT; i++) t[i][k] = r[i];
  }
  TN_UNROLL for (int i = 0; i < OUT; i++) {
    winograd_out(t[i], o[i]);
    TN_UNROLL for (int k = 0; k < OUT; k++) o[i][k] = tn_vf_add(o[i][k], d->bias);
  }
  if (h == OUT && w == OUT) {
    WINOGRAD_STORE(d, y, o[j / OUT][j % OUT], OUT, OUT);
    return;
  }
  for (int64_t i = 0; i < h; i++, y += d->row)
    for (int64_t k = 0; k < w; k++) {
      tn_vf v[1] = {o[i][k]};
      WINOGRAD_STORE(d, (y + k * TN_VF_LANES), v[j], 1, 1);
    }
}
#undef WINOGRAD_STORE

/* ---- the kernel ---- */

/* Sums over channels at all points. m: [point][block of the group][tile][lanes]. */
static void winograd_multiply(const winograd *g, const float *v, const float *w, int64_t width,
                              const float *zeros, int64_t tiles, float *m) {
  static const int64_t at = 0;
  tile_args a = {.at = &at, .bias = zeros, .taps = 1, .blocks = g->in_blocks, .first = true};
  a.last_channels = g->c.channels - (g->in_blocks - 1) * TN_VF_LANES;
  a.x_block = a.y_block = tiles * TN_VF_LANES;
  a.next_step = width * TN_VF_LANES * (int64_t)sizeof(float) /
                (2 * tn_max_i64(1, tn_ceil_div(tiles, tiles_wide[width - 1].full)));
  a.second = width * TN_VF_LANES * g->c.channels * (int64_t)sizeof(float) / 2;
  const int64_t n_weights = width * TN_VF_LANES * g->c.channels;
  for (int point = 0; point < POINTS; point++) {
    a.next = (const char *)(w + (point + 1) % POINTS * n_weights); /* never behind the last */
    a.due = 0;
    run_row(&tiles_wide[width - 1], &a, v, TN_VF_LANES, w + point * n_weights, m, tiles);
    v += g->v_step, m += g->m_step;
  }
}

/* One output block, whole rows: y is its first row in the strip, which has row of tiles `first`. */
static void winograd_finish(const tn_call *call, const winograd *g, const winograd_outputs *d,
                            const float *m, int64_t first, int64_t rows, int64_t block, float *y) {
  const int64_t lanes = TN_VF_LANES;
  for (int64_t r = first; r < first + rows; r++) {
    const int64_t h = tn_min_i64(OUT, g->out_h - r * OUT);
    for (int64_t t = 0; t < g->tiles_w; t++, m += lanes)
      winograd_out_tile(d, m, g->m_step, y + t * OUT * lanes, h,
                        tn_min_i64(OUT, g->out_w - t * OUT));
    if (d->finish.rest)
      tn_epilogue_block_f32(call, y, h * g->out_w, y - d->out, block * lanes, lanes);
    y += h * d->row;
  }
}

static winograd_outputs winograd_outputs_make(const tn_call *call, const winograd *g,
                                              int64_t block) {
  const float *bias = call->inputs[2] ? call->inputs[2]->data : NULL;
  const int64_t channel = block * TN_VF_LANES,
                live = tn_min_i64(TN_VF_LANES, g->c.filters - channel);
  winograd_outputs d = {.finish = tn_finish_make(call), .out = call->outputs[0]->data};
  d.row = g->out_w * TN_VF_LANES;
  d.live = tn_vf_mask_first(live);
  d.partial = live < TN_VF_LANES;
  d.bias = bias ? tn_vf_load_mask(d.live, bias + channel) : tn_vf_set1(0);
  return d;
}

typedef struct winograd_strip { /* rows of tiles of an image */
  int64_t image, first, rows;
} winograd_strip;

static winograd_strip winograd_strip_make(const winograd *g, int64_t strip) {
  const int64_t n = g->cut.strips, k = strip % n;
  winograd_strip s = {.image = strip / n, .first = cut_at(g->tiles_h, n, k)};
  s.rows = cut_at(g->tiles_h, n, k + 1) - s.first;
  return s;
}

static void winograd_run_group(const tn_call *call, const winograd *g, const winograd_strip *s,
                               int64_t group, const float *v, float *m) {
  const int64_t width = winograd_width(g, group), rows = s->rows;
  float *zeros = m + POINTS * g->m_step;
  for (int64_t k = 0; k < width; k++) tn_vf_store(zeros + k * TN_VF_LANES, tn_vf_set1(0));
  winograd_multiply(g, v, (const float *)call->state + winograd_group(g, group), width, zeros,
                    rows * g->tiles_w, m);
  for (int64_t b = 0; b < width; b++) {
    const int64_t block = group * WIDTH + b;
    const winograd_outputs d = winograd_outputs_make(call, g, block);
    const int64_t row = (s->image * g->out_blocks + block) * g->out_h + s->first * OUT;
    winograd_finish(call, g, &d, m + b * rows * g->tiles_w * TN_VF_LANES, s->first, rows, block,
                    (float *)call->outputs[0]->data + row * d.row);
  }
}

tn_status TN_SIMD_NAME(conv_winograd)(const tn_call *call, uint32_t stage, int64_t begin,
                                      int64_t end, uint32_t worker) {
  (void)stage;
  winograd g;
  const tn_status status = winograd_make(call, &g);
  if (status) return status;
  float *v = (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  int64_t strip, part, made = -1;
  for (int64_t item = begin; item < end; item++) {
    work_cut_item(&g.cut, item, &strip, &part);
    const winograd_strip s = winograd_strip_make(&g, strip);
    const int64_t image = s.image * g.in_blocks * g.c.in_size * TN_VF_LANES;
    if (strip != made)
      winograd_in_strip(&g, (const float *)call->inputs[0]->data + image, s.first, s.rows, v);
    made = strip;
    const int64_t last = cut_at(g.groups, g.cut.parts, part + 1);
    for (int64_t k = cut_at(g.groups, g.cut.parts, part); k < last; k++)
      winograd_run_group(call, &g, &s, k, v, v + POINTS * g.v_step);
  }
  return TN_OK;
}

#endif
