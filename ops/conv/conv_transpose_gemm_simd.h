/* ConvTranspose in f32 in plain layout, for AVX-512, AVX2 and NEON: 1 to 3 spatial dims, groups.
 *
 * By the matrix tile of tenon/kit/gemm_simd.h each input pixel is multiplied by all weights of some
 * filters, W^T * X: one row of columns per filter and tap. An output row is then the sum of those
 * rows that reach it (col2im); where the stride is not 1, the outputs of each phase (the same
 * o + pad modulo the stride) are summed side by side and put in their places last.
 *
 * An item is a band of output rows of some filters of a group. It makes the columns of all pixels
 * that reach its band, so that no two items write the same output; they stay in L2.
 *
 * An input of one pixel is a product of matrices, too: rows are images then, and columns are
 * filters and taps as they lie in W. */
#ifndef TN_OPS_CONV_TRANSPOSE_GEMM_SIMD_H
#define TN_OPS_CONV_TRANSPOSE_GEMM_SIMD_H

#include "conv_cut.h"
#include "conv_depthwise_simd.h"
#include "conv_transpose_phase.h"
#include "tenon/kit/epilogue.h"
#include "tenon/kit/gemm_simd.h"

enum {
  COLUMN_BYTES = 512 << 10, /* of a band, in L2 */
  MAX_PHASES = 32,
  MAX_LINES = 64 /* of columns that are added at once */
};

/* Of columns: strides and dilations of a model may ask for anything. */
#define MOST_COLUMNS (INT64_C(1) << 32)

typedef struct columns {
  conv_shape c;
  tn_window w;                   /* of 3 dims */
  int32_t cut;                   /* the dim that bands cut: all before it have one row */
  int64_t in_group, out_group;   /* channels */
  int64_t filters, blocks, rows; /* of a block: filters, and rows: filters * taps, at most */
  int64_t strips, depth_step;    /* of a block; of the channels at a time */
  int64_t bands;
  int64_t row;          /* input pixels of a row of the cut dim */
  int64_t pixels;       /* of the columns of a band, at most */
  int64_t phase_pixels; /* outputs of one phase of an output row, at most, and a vector; 0:
 no room for them */
  bool one_pixel;
} columns;

/* Rows of the cut dim of the input that n rows of the output take, at most. */
static int64_t columns_rows(const columns *t, int64_t n) {
  const int64_t reach = (t->w.kernel[t->cut] - 1) * t->w.dilation[t->cut];
  return tn_min_i64(t->w.in[t->cut], (n - 1 + reach) / t->w.stride[t->cut] + 1);
}

static void columns_cut(columns *t, uint32_t n_workers) {
  const int64_t out = t->w.out[t->cut], stride = t->w.stride[t->cut];
  const int64_t halo = (t->w.kernel[t->cut] - 1) * t->w.dilation[t->cut] / stride;
  const int64_t row_bytes = tn_max_i64(1, t->rows * t->row * (int64_t)sizeof(float));
  const int64_t rows = tn_max_i64(COLUMN_BYTES / row_bytes, 4 * halo + 1) - halo;
  const int64_t items = tn_max_i64(1, t->c.batch * t->c.groups * t->blocks);
  t->bands = tn_max_i64(1, tn_ceil_div(tn_ceil_div(out, stride), rows));
  if (n_workers > 1) { /* bands that are short make more columns twice */
    const int64_t wanted = tn_ceil_div(4 * (int64_t)n_workers, items);
    const int64_t most = out / (stride * (2 * halo + 1));
    t->bands = tn_max_i64(t->bands, tn_min_i64(wanted, most));
  }
  const int64_t longest = tn_ceil_div(out, t->bands);
  t->pixels = columns_rows(t, longest) * t->row;
  t->phase_pixels = 0;
  if (t->w.stride[2] > 1 && !t->one_pixel)
    t->phase_pixels = (t->cut == 2 ? longest : t->w.out[2]) / t->w.stride[2] + 2 + TN_VF_LANES;
}

static tn_status columns_make(const tn_call *call, columns *out) {
  columns t = {0};
  const tn_status s = conv_transpose_shape(call, &t.c);
  if (s) return s;
  t.w = tn_window_inner(&t.c.w, 3);
  while (t.cut < 2 && t.w.in[t.cut] == 1 && t.w.out[t.cut] == 1) t.cut++;
  t.in_group = t.c.channels / t.c.groups;
  t.out_group = t.c.filters / t.c.groups;
  t.blocks = tn_max_i64(1, t.out_group / tn_max_i64(1, 8 * TN_TILE_MR / t.c.taps));
  t.filters = tn_ceil_div(t.out_group, t.blocks);
  t.blocks = t.filters ? tn_ceil_div(t.out_group, t.filters) : 0;
  t.rows = t.filters * t.c.taps;
  t.strips = tn_ceil_div(t.rows, TN_TILE_MR);
  const int64_t steps = tn_max_i64(1, tn_ceil_div(t.in_group, TN_TILE_KC));
  t.depth_step = tn_max_i64(1, tn_ceil_div(t.in_group, steps));
  t.row = tn_dims_size(t.w.in + t.cut + 1, 2 - t.cut);
  t.one_pixel = t.c.in_size == 1;
  int64_t row_floats = 0;
  if (tn_dims_product((int64_t[]){t.rows, t.row, sizeof(float)}, 3, &row_floats))
    return TN_ERR_OVERFLOW;
  columns_cut(&t, call->n_workers);
  *out = t;
  return TN_OK;
}

const char *TN_SIMD_NAME(conv_transpose_gemm_refuse)(const tn_call *call) {
  if (call->inputs[0]->rank > 5) return "takes 1 to 3 spatial dims";
  columns t;
  if (columns_make(call, &t)) return "takes sizes that do not overflow";
  int64_t n = 0;
  for (int32_t k = 0; k < 3; k++)
    if (t.w.stride[k] > MAX_PHASES) return "takes strides of up to 32";
  if (tn_dims_product((int64_t[]){t.rows, t.pixels}, 2, &n) || n > MOST_COLUMNS)
    return "takes windows whose columns fit into memory";
  return tn_epilogue_refuse_f32(call, 1);
}

/* ---- how much room, and how long ---- */

static int64_t columns_panels(const columns *t) { return tn_ceil_div(t->rows, TN_TILE_NR); }

/* Of the weights of a block, packed. */
static int64_t columns_weights(const columns *t) {
  return t->one_pixel ? columns_panels(t) * TN_TILE_NR * t->in_group
                      : t->strips * TN_TILE_MR * t->in_group;
}
/* Of the other factor, packed. */
static int64_t columns_inputs(const columns *t) {
  return t->one_pixel ? TN_TILE_MR * t->in_group : TN_TILE_COLUMNS * t->depth_step;
}
static int64_t columns_ld(const columns *t) { /* of a row of columns */
  return t->one_pixel ? columns_panels(t) * TN_TILE_NR : t->pixels;
}
static int64_t columns_floats(const columns *t) {
  return (t->one_pixel ? TN_TILE_MR : t->rows) * columns_ld(t);
}

static double columns_cost(const columns *t) {
  const double blocks = (double)(t->c.groups * t->blocks), depth = (double)t->in_group;
  const double outputs = (double)(t->c.batch * t->c.filters) * (double)t->c.out_size;
  if (t->one_pixel) /* weights come from memory, or the next cache */
    return 500 + blocks * (double)columns_weights(t) * (0.18 + 0.02 * (double)t->c.batch) +
           outputs * 0.3;
  const int64_t padded = tn_ceil_div(t->pixels, TN_TILE_NR) * TN_TILE_NR;
  const double items = (double)(t->c.batch * t->bands) * blocks;
  const double made = items * (double)t->rows * (double)padded;
  const double lines = outputs / (double)tn_max_i64(1, t->w.out[2]) * (double)t->w.stride[2];
  return 500 + items * 200 + 2 * made * depth / (TN_VF_LANES == 16 ? 130 : 70) + made * 0.15 +
         items * (double)padded * depth * 0.08 + outputs * 0.15 + lines * 15;
}

tn_status TN_SIMD_NAME(conv_transpose_gemm_plan)(const tn_call *call, tn_kernel_plan *out) {
  columns t;
  const tn_status s = columns_make(call, &t);
  if (s) return s;
  const bool is_const = call->inputs[1]->data != NULL;
  const int64_t weights = columns_weights(&t), phases = t.w.stride[2] * t.phase_pixels;
  const int64_t floats =
      columns_inputs(&t) + columns_floats(&t) + (is_const ? 0 : weights) + phases;
  out->worker_scratch_bytes = (uint64_t)floats * sizeof(float);
  if (is_const) out->state_bytes = (uint64_t)(t.c.groups * t.blocks * weights) * sizeof(float);
  out->items[0] = t.c.groups * t.blocks * (t.one_pixel ? 1 : t.c.batch * t.bands);
  out->cost_ns = columns_cost(&t);
  out->grain[0] =
      tn_grain(TN_THREAD_NS, out->cost_ns / (double)tn_max_i64(1, (int64_t)out->items[0]));
  return TN_OK;
}

/* ---- weights ---- */

static int64_t block_filters(const columns *t, int64_t block) {
  return tn_min_i64(t->filters, t->out_group - block * t->filters);
}

/* Those of a block of filters: strips of rows [strip][k][MR], or, of one pixel, panels
 * [panel][k][NR]. In W the rows of a channel are neighbours. */
static void pack_filters(const columns *t, const float *w, int64_t group, int64_t block,
                         float *to) {
  const int64_t ld = t->out_group * t->c.taps, n = block_filters(t, block) * t->c.taps;
  const int64_t strips = tn_ceil_div(n, TN_TILE_MR);
  w += group * t->in_group * ld + block * t->rows;
  if (t->one_pixel) {
    for (int64_t j = 0; j < n; j += TN_TILE_NR, to += TN_TILE_NR * t->in_group)
      tn_pack_columns(w + j, ld, tn_min_i64(TN_TILE_NR, n - j), t->in_group, TN_TILE_NR, to);
    return;
  }
  for (int64_t s = 0; s < strips; s++, to += TN_TILE_MR * t->in_group) {
    const int64_t first = tn_strip_row(n, s);
    tn_pack_columns(w + first, ld, tn_strip_row(n, s + 1) - first, t->in_group, TN_TILE_MR, to);
  }
}

tn_status TN_SIMD_NAME(conv_transpose_gemm_prepare)(const tn_call *call) {
  columns t;
  const tn_status s = columns_make(call, &t);
  for (int64_t k = 0; !s && k < t.c.groups * t.blocks; k++)
    pack_filters(&t, call->inputs[1]->data, k / t.blocks, k % t.blocks,
                 (float *)call->state + k * columns_weights(&t));
  return s;
}

/* ---- columns ---- */

typedef struct column_item {
  const tn_call *call;
  const columns *t;
  phase (*phases)[MAX_PHASES]; /* of each dim */
  int64_t image, group, block;
  int64_t out[2], in[2];                    /* rows of the cut dim, from and to */
  float *weights, *packed, *columns, *room; /* room: of phases */
} column_item;

/* Packed when the kernel was prepared, or now. */
static const float *item_weights(const column_item *o) {
  const columns *t = o->t;
  if (o->call->state)
    return (const float *)o->call->state + (o->group * t->blocks + o->block) * columns_weights(t);
  pack_filters(t, o->call->inputs[1]->data, o->group, o->block, o->weights);
  return o->weights;
}

/* rows: of the block. */
static void make_columns(const column_item *o, const float *weights, int64_t rows) {
  const columns *t = o->t;
  const int64_t first = o->in[0] * t->row, n = o->in[1] * t->row - first;
  const float *x = (const float *)o->call->inputs[0]->data +
                   (o->image * t->c.channels + o->group * t->in_group) * t->c.in_size + first;
  tn_tiles g = {.b = o->packed, .m = rows, .ldc = columns_ld(t), .even = true};
  g.a_strip = TN_TILE_MR * t->in_group;
  for (int64_t p = 0; p < n; p += TN_TILE_COLUMNS) {
    g.n = tn_min_i64(TN_TILE_COLUMNS, n - p);
    g.c = o->columns + p;
    g.first = true;
    for (int64_t k = 0; k == 0 || k < t->in_group; k += t->depth_step, g.first = false) {
      g.k = tn_min_i64(t->depth_step, t->in_group - k);
      g.b_panel = TN_TILE_NR * g.k;
      g.a = weights + k * TN_TILE_MR;
      for (int64_t j = 0; j < g.n; j += TN_TILE_NR)
        tn_pack_columns(x + k * t->c.in_size + p + j, t->c.in_size, tn_min_i64(TN_TILE_NR, g.n - j),
                        g.k, TN_TILE_NR, o->packed + j * g.k);
      tn_tiles_run(&g);
    }
  }
}

/* ---- sums ---- */

/* What reaches an output row: lines of columns, one for each pair of taps of the first two dims.
 * The taps of the last dim are `taps` apart. */
typedef struct summands {
  const float **lines; /* MAX_LINES of them */
  int64_t n, taps;
  int64_t first, end; /* inputs of a line */
  bool add;           /* to what other lines gave */
  bool spare;         /* there is room for a vector behind the last output */
  float bias;
} summands;

/* Outputs [q0, q1) of one phase of the last dim. */
static void sum_phase(const summands *s, const phase *v, int64_t q0, int64_t q1, float *to) {
  /* Tap x of the phase is taken by outputs from first + back + x*back_step on. */
  const int64_t step = v->step * s->taps - v->back_step, tap = v->tap * s->taps - v->back;
  const int64_t lo = s->first + v->back, hi = s->end + v->back;
  const int64_t inner = lo + (v->taps - 1) * v->back_step;
  for (int64_t q = q0; q < q1; q += TN_VF_LANES, to += TN_VF_LANES) {
    if (q >= inner && q + TN_VF_LANES <= tn_min_i64(hi, q1)) {
      tn_vf sum = s->add ? tn_vf_load(to) : tn_vf_set1(s->bias);
      for (int64_t l = 0; l < s->n; l++) {
        const float *from = s->lines[l] + (tap + q);
        for (int64_t x = 0; x < v->taps; x++, from += step) sum = tn_vf_add(sum, tn_vf_load(from));
      }
      tn_vf_store(to, sum);
      continue;
    }
    const tn_vf_mask live = tn_vf_mask_first(s->spare ? TN_VF_LANES : clamp_lanes(q1 - q));
    tn_vf sum = s->add ? tn_vf_load_mask(live, to) : tn_vf_set1(s->bias);
    for (int64_t x = 0; x < v->taps; x++) {
      const tn_vf_mask inside = lanes_inside(q - lo - x * v->back_step, s->end - s->first);
      for (int64_t l = 0; l < s->n; l++)
        sum = tn_vf_add(sum, tn_vf_load_mask(inside, s->lines[l] + (tap + q + x * step)));
    }
    if (s->spare) /* what is stored by mask is not forwarded to the loads that come next */
      tn_vf_store(to, sum);
    else
      tn_vf_store_mask(to, live, sum);
  }
}

/* y[q*stride + r] = phases[r][q]; n: outputs; start: how many of the first stride's are left
 * out. */
static void join_phases(const float *phases, int64_t phase_pixels, int64_t stride, int64_t start,
                        int64_t n, float *y) {
  const float *other = phases + phase_pixels;
  int64_t o = 0;
  if (stride == 2) {
    if (start && n) y[o++] = *other++, phases++;
    const int64_t pairs = (n - o) / 2;
    TN_IVDEP for (int64_t q = 0; q < pairs; q++) {
      y[o + 2 * q] = phases[q];
      y[o + 2 * q + 1] = other[q];
    }
    if ((n - o) % 2) y[n - 1] = phases[pairs];
    return;
  }
  for (int64_t r = 0; r < stride; r++, phases += phase_pixels) {
    const float *from = phases + (r < start);
    for (o = (r < start ? r + stride : r) - start; o < n; o += stride) y[o] = *from++;
  }
}

/* Outputs [first, end) of a row, each phase on its own: into y where there is but one. */
static void sum_lines(const column_item *o, const summands *s, int64_t first, int64_t end,
                      float *y) {
  const tn_window *w = &o->t->w;
  const int64_t stride = w->stride[2], q0 = (first + w->pad_lo[2]) / stride;
  float *to = stride == 1 ? y : o->room;
  for (int64_t r = 0; r < stride; r++, to += o->t->phase_pixels)
    sum_phase(s, &o->phases[2][r], q0, (end + w->pad_lo[2] - r + stride - 1) / stride, to);
}

/* The same of the output row whose first two dims are d and h. from: the columns of the filter. */
static void sum_row(const column_item *o, const float *from, int64_t d, int64_t h, int64_t first,
                    int64_t end, float bias, float *y) {
  const columns *t = o->t;
  const tn_window *w = &t->w;
  const int64_t ld = columns_ld(t), stride = w->stride[2];
  const int64_t qd = (d + w->pad_lo[0]) / w->stride[0], qh = (h + w->pad_lo[1]) / w->stride[1];
  const phase *pd = &o->phases[0][d + w->pad_lo[0] - qd * w->stride[0]];
  const phase *ph = &o->phases[1][h + w->pad_lo[1] - qh * w->stride[1]];
  const float *lines[MAX_LINES];
  summands s = {
      .lines = lines, .taps = ld, .first = 0, .end = w->in[2], .bias = bias, .spare = stride > 1};
  if (t->cut == 2) s.first = o->in[0], s.end = o->in[1];
  for (int64_t z = 0; z < pd->taps; z++) {
    const int64_t id = qd - pd->back - z * pd->back_step;
    if (id < 0 || id >= w->in[0]) continue;
    for (int64_t x = 0; x < ph->taps; x++) {
      const int64_t ih = qh - ph->back - x * ph->back_step;
      if (ih < 0 || ih >= w->in[1]) continue;
      if (s.n == MAX_LINES) {
        sum_lines(o, &s, first, end, y);
        s.add = true;
        s.n = 0;
      }
      const int64_t line = (pd->tap + z * pd->step) * w->kernel[1] + ph->tap + x * ph->step;
      s.lines[s.n++] =
          from + (line * w->kernel[2] * ld + (id * w->in[1] + ih) * w->in[2] - o->in[0] * t->row);
    }
  }
  sum_lines(o, &s, first, end, y);
  if (stride > 1)
    join_phases(o->room, t->phase_pixels, stride, (first + w->pad_lo[2]) % stride, end - first, y);
}

/* The band of one filter. */
static void sum_filter(const column_item *o, int64_t filter, const float *from) {
  const columns *t = o->t;
  const tn_window *w = &t->w;
  const float *bias = o->call->inputs[2] ? o->call->inputs[2]->data : NULL;
  int64_t lo[3] = {0, 0, 0}, hi[3] = {w->out[0], w->out[1], w->out[2]};
  lo[t->cut] = o->out[0], hi[t->cut] = o->out[1];
  const int64_t at = (o->image * t->c.filters + filter) * t->c.out_size;
  float *y = (float *)o->call->outputs[0]->data + at;
  for (int64_t d = lo[0]; d < hi[0]; d++)
    for (int64_t h = lo[1]; h < hi[1]; h++)
      sum_row(o, from, d, h, lo[2], hi[2], bias ? bias[filter] : 0,
              y + (d * w->out[1] + h) * w->out[2] + lo[2]);
  const int64_t row = tn_dims_size(w->out + t->cut + 1, 2 - t->cut), first = o->out[0] * row;
  if (o->call->n_epilogue)
    tn_epilogue_f32(o->call, y + first, o->out[1] * row - first, at + first, filter, 0);
}

static void run_band(const column_item *o) {
  const columns *t = o->t;
  const int64_t filters = block_filters(t, o->block), filter = o->block * t->filters;
  make_columns(o, item_weights(o), filters * t->c.taps);
  for (int64_t f = 0; f < filters; f++)
    sum_filter(o, o->group * t->out_group + filter + f, o->columns + f * t->c.taps * columns_ld(t));
}

/* Input rows [in[0], in[1]) reach output rows [out[0], out[1]). */
static void band_make(const columns *t, int64_t k, column_item *o) {
  const int64_t stride = t->w.stride[t->cut], pad = t->w.pad_lo[t->cut];
  const int64_t reach = (t->w.kernel[t->cut] - 1) * t->w.dilation[t->cut];
  o->out[0] = cut_at(t->w.out[t->cut], t->bands, k);
  o->out[1] = cut_at(t->w.out[t->cut], t->bands, k + 1);
  o->in[0] = tn_ceil_div(tn_max_i64(0, o->out[0] + pad - reach), stride);
  o->in[1] = tn_min_i64(t->w.in[t->cut], (o->out[1] - 1 + pad) / stride + 1);
  o->in[0] = tn_min_i64(o->in[0], o->in[1]);
}

/* ---- an input of one pixel ---- */

/* Output that tap t of a pixel reaches; -1: none. */
static int64_t tap_target(const tn_window *w, int64_t t) {
  int64_t at = 0, step = 1;
  for (int32_t k = 2; k >= 0; step *= w->out[k], t /= w->kernel[k], k--) {
    const int64_t o = t % w->kernel[k] * w->dilation[k] - w->pad_lo[k];
    if (o < 0 || o >= w->out[k]) return -1;
    at += o * step;
  }
  return at;
}

static void spread_filter(const column_item *o, int64_t filter, const float *from) {
  const columns *t = o->t;
  const float *bias = o->call->inputs[2] ? o->call->inputs[2]->data : NULL;
  const float b = bias ? bias[filter] : 0;
  const int64_t at = (o->image * t->c.filters + filter) * t->c.out_size;
  float *y = (float *)o->call->outputs[0]->data + at;
  bool whole = true; /* taps lie as outputs do */
  for (int32_t k = 0; k < 3; k++)
    whole = whole && t->w.out[k] == t->w.kernel[k] && !t->w.pad_lo[k] &&
            (t->w.dilation[k] == 1 || t->w.kernel[k] == 1);
  if (whole) {
    for (int64_t k = 0; k < t->c.taps; k++) y[k] = from[k] + b;
  } else {
    for (int64_t k = 0; k < t->c.out_size; k++) y[k] = b;
    for (int64_t k = 0; k < t->c.taps; k++) {
      const int64_t target = tap_target(&t->w, k);
      if (target >= 0) y[target] += from[k];
    }
  }
  if (o->call->n_epilogue) tn_epilogue_f32(o->call, y, t->c.out_size, at, filter, 0);
}

static void run_pixel(column_item *o) {
  const columns *t = o->t;
  const int64_t filters = block_filters(t, o->block);
  const int64_t first = o->group * t->out_group + o->block * t->filters;
  const float *weights = item_weights(o);
  const float *x = (const float *)o->call->inputs[0]->data + o->group * t->in_group;
  tn_tiles g = {.a = o->packed, .c = o->columns, .n = filters * t->c.taps, .ldc = columns_ld(t)};
  g.b_panel = TN_TILE_NR * t->in_group;
  for (int64_t image = 0; image < t->c.batch; image += TN_TILE_MR) {
    g.m = tn_min_i64(TN_TILE_MR, t->c.batch - image);
    tn_pack_rows(x + image * t->c.channels, t->c.channels, g.m, t->in_group, TN_TILE_MR, o->packed);
    g.first = true;
    for (int64_t k = 0; k == 0 || k < t->in_group; k += t->depth_step, g.first = false) {
      g.k = tn_min_i64(t->depth_step, t->in_group - k);
      g.a = o->packed + k * TN_TILE_MR;
      g.b = weights + k * TN_TILE_NR;
      tn_tiles_run(&g);
    }
    for (int64_t m = 0; m < g.m; m++)
      for (int64_t f = 0; f < filters; f++) {
        o->image = image + m;
        spread_filter(o, first + f, o->columns + m * g.ldc + f * t->c.taps);
      }
  }
}

/* ---- the kernel ---- */

tn_status TN_SIMD_NAME(conv_transpose_gemm)(const tn_call *call, uint32_t stage, int64_t begin,
                                            int64_t end, uint32_t worker) {
  (void)stage;
  columns t;
  phase phases[3][MAX_PHASES];
  const tn_status s = columns_make(call, &t);
  if (s) return s;
  for (int32_t k = 0; k < 3; k++)
    for (int64_t r = 0; r < t.w.stride[k]; r++) phases[k][r] = phase_of(&t.w, k, r);
  column_item o = {.call = call, .t = &t, .phases = phases};
  o.packed = (float *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  o.columns = o.packed + columns_inputs(&t);
  o.room = o.columns + columns_floats(&t);
  o.weights = o.room + t.w.stride[2] * t.phase_pixels;
  for (int64_t item = begin; item < end; item++) {
    const int64_t bands = t.one_pixel ? 1 : t.bands;
    o.block = item / bands % t.blocks;
    o.group = item / bands / t.blocks % t.c.groups;
    o.image = item / bands / t.blocks / t.c.groups;
    if (t.one_pixel) {
      run_pixel(&o);
      continue;
    }
    band_make(&t, item % bands, &o);
    run_band(&o);
  }
  return TN_OK;
}

#endif
