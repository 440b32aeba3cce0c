/* QuantConv in channels-last layout on the integer tiles of tenon/kit/dot_simd.h: the rows of a
 * tile are output pixels, the runs of a row those of its window. A run is a row of the window, or a
 * tap of it where neighbouring taps or channels are not neighbours in memory.
 *
 * An item is a strip of output rows by some of the panels of filters. Unless the input lies as it
 * is needed, its rows are first copied with their pads (the code of zero); signed elements become
 * codes then, and plain planes of up to NARROW channels pixels. Weights are packed at prepare. */
#ifndef TN_OPS_QUANT_CONV_SIMD_H
#define TN_OPS_QUANT_CONV_SIMD_H

#include "conv_cut.h"
#include "quant_conv.h"
#include "tenon/kit/dot_simd.h"

enum {
  QUANT_RUNS = 256,             /* at most */
  QUANT_NARROW = 4,             /* channels of a pixel made of planes */
  QUANT_STRIP_BYTES = 256 << 10 /* of input, output and residual: each panel meets all, in L2 */
};

#define QUANT_MOST_BYTES (INT64_C(1) << 34) /* of a copied strip */

typedef struct quant_layer {
  quant_conv q;
  int64_t in_h, in_w, out_h, out_w, kernel_h, kernel_w;
  int64_t stride_h, stride_w, dilation_h, dilation_w, pad_h, pad_w;
  bool narrow, direct;
  int64_t n_pixels;            /* of direct 1x1: all, in rows of out_w */
  int64_t pixel;               /* elements between pixels of the strip */
  int64_t channels, filters;   /* of a group */
  int64_t runs, run, steps;    /* runs of a window, elements and steps of one */
  int64_t panels, panel_bytes; /* of a group; of one */
  int64_t row, strip_in_rows;  /* elements of a row of the strip; rows, at most */
  int64_t strip_bytes;         /* of a copied strip; 0: none is */
  work_cut cut;
} quant_layer;

static int64_t quant_rows_taken(const quant_layer *l, int64_t rows) {
  return (rows - 1) * l->stride_h + (l->kernel_h - 1) * l->dilation_h + 1;
}

/* Are taps of a row neighbours, whole pixels? */
static bool quant_joins_taps(const quant_layer *l) {
  return l->q.c.groups == 1 && (l->dilation_w == 1 || l->kernel_w == 1);
}

static bool quant_reads_in_place(const quant_layer *l) {
  const tn_window *w = &l->q.c.w;
  for (int32_t k = 0; k < w->n; k++)
    if (w->pad_lo[k] || w->pad_hi[k]) return false;
  return !l->narrow && sizeof(tn_dot_x) == 1 && !tn_dot_flip(l->q.x->dtype) &&
         l->run % TN_DOT_K == 0;
}

/* Does a 1x1 read the strip as one row of pixels? */
static bool quant_is_flat(const quant_layer *l) {
  return l->direct && l->q.c.taps == 1 && l->stride_h == 1 && l->stride_w == 1;
}

static void quant_cut(quant_layer *l, uint32_t n_workers) {
  const int64_t in = l->row * l->stride_h * (int64_t)sizeof(tn_dot_x);
  const int64_t each = l->q.y_dtype == TN_F32 ? (int64_t)sizeof(float) : l->q.z ? 2 : 1;
  const int64_t row = in + l->out_w * l->q.c.filters * each;
  const conv_shape *c = &l->q.c;
  const bool is_depthwise = c->groups > 1 && l->channels == 1 && l->filters == 1;
  /* Of little work each worker gets one strip: rows that strips share are copied for both. */
  const double steps =
      (double)(l->n_pixels * l->runs * l->steps) *
      (is_depthwise ? (double)c->channels / (4 * TN_DOT_PANEL) : (double)(l->panels * c->groups));
  l->cut = (work_cut){
      .rows = l->out_h,
      .most_rows = tn_max_i64(1, QUANT_STRIP_BYTES / tn_max_i64(1, row)),
      .batch = c->batch,
      .groups = is_depthwise ? 1 : l->panels * c->groups,
      .by_filters = !is_depthwise && cut_by_filters(c->filters * c->taps, c->in_size * c->batch),
      .copies = !l->direct,
      .few_strips = steps < 2e5};
  work_cut_make(&l->cut, n_workers);
  l->strip_in_rows = quant_rows_taken(l, l->cut.strip_rows);
}

static tn_status quant_layer_make(const tn_call *call, quant_layer *out) {
  quant_layer l = {0};
  const tn_status s = quant_conv_make(call, &l.q);
  if (s) return s;
  const conv_shape *c = &l.q.c;
  const tn_window w = tn_window_padded(&c->w, 3);
  l.in_h = w.in[1], l.in_w = w.in[2], l.out_h = w.out[1], l.out_w = w.out[2];
  l.kernel_h = w.kernel[1], l.kernel_w = w.kernel[2];
  l.stride_h = w.stride[1], l.stride_w = w.stride[2];
  l.dilation_h = w.dilation[1], l.dilation_w = w.dilation[2];
  l.pad_h = w.pad_lo[1], l.pad_w = w.pad_lo[2];
  l.narrow = l.q.x->layout == TN_PLAIN;
  l.pixel = c->channels;
  l.channels = c->channels / c->groups, l.filters = c->filters / c->groups;
  const bool joins = quant_joins_taps(&l);
  l.runs = joins ? l.kernel_h : c->taps;
  l.run = joins ? (l.kernel_w - 1) * l.pixel + l.channels : l.channels;
  l.steps = tn_ceil_div(l.run, TN_DOT_K);
  l.panels = tn_ceil_div(l.filters, TN_DOT_PANEL);
  l.direct = quant_reads_in_place(&l);
  l.n_pixels = l.out_h * l.out_w;
  if (quant_is_flat(&l)) {
    l.out_w = cut_pixels(l.n_pixels, TN_DOT_ROWS, call->n_workers);
    l.out_h = tn_ceil_div(l.n_pixels, tn_max_i64(1, l.out_w));
    l.in_h = l.out_h, l.in_w = l.out_w;
  }
  const int64_t width = (l.out_w - 1) * l.stride_w + (l.kernel_w - 1) * l.dilation_w + 1;
  if (tn_dims_product((int64_t[]){l.direct ? l.in_w : width, l.pixel, 1}, 3, &l.row) ||
      tn_dims_product((int64_t[]){l.runs * l.steps, TN_DOT_PANEL, TN_DOT_LANE_BYTES}, 3,
                      &l.panel_bytes) ||
      tn_add_i64(l.panel_bytes, TN_DOT_PANEL * (int64_t)sizeof(int32_t), &l.panel_bytes))
    return TN_ERR_OVERFLOW;
  quant_cut(&l, call->n_workers);
  if (!l.direct &&
      (tn_dims_product((int64_t[]){l.row, l.strip_in_rows, sizeof(tn_dot_x)}, 3, &l.strip_bytes) ||
       tn_add_i64(l.strip_bytes, 64 + 63, &l.strip_bytes)))
    return TN_ERR_OVERFLOW;
  l.strip_bytes -= l.strip_bytes % 64;
  *out = l;
  return TN_OK;
}

/* A window that reads 2^31 / (255 * 128) elements may overflow i32; with zero points of weights,
 * 2^31 / (255 * 255). */
const char *TN_SIMD_NAME(quant_conv_refuse)(const tn_call *call) {
  const tn_quant_conv_attrs *a = call->attrs;
  quant_layer l;
  conv_shape c;
  const tn_window_attrs window = {a->auto_pad, a->dilations, a->kernel_shape,
                                  a->pads,     a->strides,   0};
  const tn_tensor *x = call->inputs[QUANT_X], *w = call->inputs[QUANT_W];
  if (x->rank < 3 || x->rank > 4) return "takes 1 or 2 spatial dims";
  if (conv_shape_of(call, x, w, &window, a->group, &c) || c.taps > QUANT_RUNS)
    return "takes windows of up to 256 taps";
  const bool zeros =
      w->dtype == TN_U8 || (call->n_inputs > QUANT_W_ZERO && call->inputs[QUANT_W_ZERO]);
  if (c.channels / c.groups > (zeros ? 33000 : 65000) / c.taps)
    return "takes windows of up to 65000 elements, with zero points of weights 33000";
  if (x->layout == TN_PLAIN && (c.channels < 1 || c.channels > QUANT_NARROW || c.groups > 1))
    return "takes 1 to 4 channels in plain layout";
  if (quant_layer_make(call, &l) || l.strip_bytes > QUANT_MOST_BYTES)
    return "takes windows of which a strip of output rows fits into memory";
  return NULL;
}

/* ---- what a call works out ---- */

/* In front of the packed weights: what all calls of the same extents work out alike, which takes as
 * long as a small layer. */
enum { QUANT_MEMO_RUNS = 32 };

typedef struct quant_memo {
  int64_t is_there;
  quant_layer l; /* but for what q points to */
  tn_dot numbers;
  int64_t at[QUANT_MEMO_RUNS];
} quant_memo;

enum { QUANT_MEMO_BYTES = (sizeof(quant_memo) + 63) / 64 * 64 };

/* The extents of X and the workers as one number, which no others have; 0: too large for that. */
static uint64_t quant_extents(const tn_call *call) {
  const tn_tensor *x = call->inputs[QUANT_X];
  const uint64_t batch = (uint64_t)x->shape[0], h = (uint64_t)x->shape[2],
                 w = x->rank > 3 ? (uint64_t)x->shape[3] : 0;
  if (batch >= 1 << 15 || h >= 1 << 16 || w >= 1 << 16 || call->n_workers >= 1 << 16) return 0;
  return UINT64_C(1) << 63 | batch << 48 | h << 32 | w << 16 | call->n_workers;
}

/* Weights of many sizes of input are packed once; only those that are small are there for each. */
static uint64_t quant_memo_key(const tn_call *call, const quant_layer *l, uint64_t state_bytes) {
  enum { MOST_BYTES = 32 << 10 };
  return state_bytes <= MOST_BYTES && l->runs <= QUANT_MEMO_RUNS ? quant_extents(call) : 0;
}

static void *quant_packed(const tn_call *call) { return (char *)call->state + QUANT_MEMO_BYTES; }

static tn_dot quant_numbers(const quant_layer *l, int64_t *at);

static void quant_memo_write(const tn_call *call, const quant_layer *l) {
  quant_memo *m = call->state;
  m->is_there = 0;
  if (!quant_memo_key(call, l, call->state_bytes)) return;
  m->l = *l;
  m->numbers = quant_numbers(l, m->at);
  m->numbers.at = NULL;
  m->l.q.a = NULL;
  m->l.q.x = m->l.q.w = m->l.q.w_scale = m->l.q.bias = m->l.q.z = m->l.q.w_zero = NULL;
  m->is_there = 1;
}

/* Where weights are packed: the layer, and what quant_numbers() answers. */
static tn_status quant_layer_open(const tn_call *call, quant_layer *l, tn_dot *numbers,
                                  int64_t *at) {
  const quant_memo *m = call->state;
  if (!m->is_there) {
    const tn_status s = quant_layer_make(call, l);
    if (!s) *numbers = quant_numbers(l, at);
    return s;
  }
  *l = m->l;
  quant_conv_bind(call, &l->q);
  *numbers = m->numbers;
  numbers->at = m->at;
  return TN_OK;
}

/* ---- planning ---- */

/* Of one panel, by lanes: scales, biases (of f32 or i32), and as i32 zero points of the weights. */
enum { QUANT_FLOATS = 3 * TN_DOT_PANEL };

/* The panels, the floats, a panel of ones (for sums of rows), and whether zero points need it. */
static int64_t quant_ones_at(const quant_layer *l) {
  return l->panels * l->q.c.groups * (l->panel_bytes + QUANT_FLOATS * (int64_t)sizeof(float));
}
static int64_t quant_state_bytes(const quant_layer *l) {
  return QUANT_MEMO_BYTES + quant_ones_at(l) + l->panel_bytes + (int64_t)sizeof(int32_t);
}
static int32_t *quant_zeros_matter(const quant_layer *l, void *state) {
  return (int32_t *)(void *)((char *)state + quant_ones_at(l) + l->panel_bytes);
}
/* Of the sums of a strip's rows: behind the strip in a worker's scratch. */
static int64_t quant_sums_bytes(const quant_layer *l) {
  return quant_conv_has_zeros(&l->q) ? l->cut.strip_rows * l->out_w * (int64_t)sizeof(float) : 0;
}

tn_status TN_SIMD_NAME(quant_conv_plan)(const tn_call *call, tn_kernel_plan *out) {
  quant_layer l;
  const tn_status s = quant_layer_make(call, &l);
  if (s) return s;
  const conv_shape *c = &l.q.c;
  const int64_t last = l.filters - (l.panels - 1) * TN_DOT_PANEL,
                lanes = l.panels * TN_DOT_PANEL - (tn_dot_is_half(last) ? TN_DOT_LANES : 0);
  const double sums = (double)(lanes * c->groups) * (double)(c->batch * l.n_pixels),
               ops = 2.0 * sums * (double)(l.runs * l.steps * TN_DOT_K);
  const double copied = (double)l.strip_bytes * (double)(l.cut.strips * l.cut.parts * c->batch);
  out->worker_scratch_bytes = (uint64_t)(l.strip_bytes + quant_sums_bytes(&l));
  out->state_bytes = (uint64_t)quant_state_bytes(&l);
  out->state_key = quant_memo_key(call, &l, out->state_bytes);
  out->items[0] = c->batch * l.cut.strips * l.cut.parts;
  out->cost_ns = ops / (TN_DOT_LANES == 16 ? 500 : TN_DOT_K == 1 ? 50 : 100) + copied * 0.05 + 500;
  out->grain[0] = tn_grain(TN_THREAD_NS, out->cost_ns / (double)tn_max_i64(1, out->items[0]));
  return TN_OK;
}

/* ---- weights ---- */

static void *quant_panel(const quant_layer *l, void *state, int64_t panel) {
  return (char *)state + panel * l->panel_bytes;
}
static float *quant_floats(const quant_layer *l, void *state, int64_t panel) {
  return (float *)(void *)((char *)state + l->panels * l->q.c.groups * l->panel_bytes) +
         panel * QUANT_FLOATS;
}

/* Where weight k of tap t stands in a filter of a panel. */
static int64_t quant_place(const quant_layer *l, int64_t t, int64_t k) {
  const bool joins = quant_joins_taps(l);
  const int64_t run = joins ? t / l->kernel_w : t, at = joins ? t % l->kernel_w * l->pixel : 0;
  return run * l->steps * TN_DOT_K + at + k;
}

/* Do the filter's weights less their zero point fit into 8 bits? */
static bool quant_fits(const quant_layer *l, int64_t filter) {
  for (int64_t k = 0; k < l->channels * l->q.c.taps; k++) {
    const int64_t w = quant_conv_weight(&l->q, filter, k);
    if (w < INT8_MIN || w > INT8_MAX) return false;
  }
  return true;
}

/* Filter `filter` of all becomes lane `lane` of the panel: less its zero point, or, where that does
 * not fit, as i8, u8 less 128. Answers what is left of the zero point then. */
static int32_t quant_pack_filter(const quant_layer *l, int64_t filter, void *panel, int64_t lane) {
  const uint8_t *w = (const uint8_t *)l->q.w->data + filter * l->channels * l->q.c.taps;
  const tn_tensor *zero = l->q.w_zero;
  const int64_t one = zero && tn_elements(zero) == 1;
  const int64_t z = zero ? tn_load_i64(zero->dtype, zero->data, one ? 0 : filter) : 0;
  const int64_t all = quant_fits(l, filter) ? z : l->q.w->dtype == TN_U8 ? 128 : 0;
  for (int64_t t = 0; t < l->q.c.taps; t++)
    for (int64_t k = 0; k < l->channels; k++) /* in 8 bits, of either type */
      *tn_dot_weight_at(panel, lane, quant_place(l, t, k)) =
          (int8_t)(uint8_t)(w[k * l->q.c.taps + t] - (uint64_t)all);
  return (int32_t)(z - all);
}

/* What a sum of the filter is multiplied by: in the order in which others do it, too. */
static float quant_factor(const quant_layer *l, int64_t filter) {
  const float f = (float)l->q.a->x_scale * (float)quant_conv_scale(&l->q, filter);
  return l->q.y_dtype == TN_F32 ? f : f / (float)l->q.a->y_scale;
}

static void quant_pack_ones(const quant_layer *l, void *state) {
  void *ones = (char *)state + quant_ones_at(l);
  for (int64_t t = 0; t < l->q.c.taps; t++)
    for (int64_t k = 0; k < l->channels; k++) *tn_dot_weight(ones, 0, quant_place(l, t, k)) = 1;
  tn_dot_sum_weights(ones, l->runs * l->steps);
}

tn_status TN_SIMD_NAME(quant_conv_prepare)(const tn_call *call) {
  quant_layer l;
  const tn_status s = quant_layer_make(call, &l);
  void *packed = quant_packed(call);
  if (s) return s;
  for (int64_t p = 0; p < l.panels * l.q.c.groups; p++) {
    void *panel = quant_panel(&l, packed, p);
    float *floats = quant_floats(&l, packed, p);
    const int64_t first = p % l.panels * TN_DOT_PANEL, group = p / l.panels,
                  n = tn_min_i64(TN_DOT_PANEL, l.filters - first);
    for (int64_t f = 0; f < n; f++) {
      const int64_t filter = group * l.filters + first + f, lane = tn_dot_lane_of(n, f);
      const int32_t zero = quant_pack_filter(&l, filter, panel, lane);
      const int32_t bias = quant_conv_first(&l.q, filter);
      floats[lane] = quant_factor(&l, filter);
      floats[TN_DOT_PANEL + lane] = (float)quant_conv_bias(&l.q, filter);
      if (bias) memcpy(floats + TN_DOT_PANEL + lane, &bias, sizeof bias);
      memcpy(floats + 2 * TN_DOT_PANEL + lane, &zero, sizeof zero);
      if (zero) *quant_zeros_matter(&l, packed) = 1;
    }
    tn_dot_sum_weights(panel, l.runs * l.steps);
  }
  quant_pack_ones(&l, packed);
  quant_memo_write(call, &l);
  return TN_OK;
}

/* ---- the strip ---- */

static void quant_fill(tn_dot_x *to, int64_t n, uint8_t code) {
  for (int64_t k = 0; k < n; k++) to[k] = (tn_dot_x)code;
}

static void quant_copy(const uint8_t *from, int64_t n, uint8_t flip, tn_dot_x *to) {
  for (int64_t k = 0; k < n; k++) to[k] = (tn_dot_x)(from[k] ^ flip);
}

/* n pixels of up to QUANT_NARROW planes. Writes a little more than that. */
static void quant_interleave(const uint8_t *from, int64_t planes, int64_t size, int64_t n,
                             uint8_t flip, tn_dot_x *to) {
  const uint8_t *p[QUANT_NARROW];
  int64_t k = 0;
  for (int64_t c = 0; c < QUANT_NARROW; c++) p[c] = from + tn_min_i64(c, planes - 1) * size;
#if TN_DOT_K == 4
  uint8_t order[16]; /* of four pixels of four planes */
  for (int64_t b = 0; b < 16; b++) order[b] = (uint8_t)(b / planes * 4 + b % planes);
  const tn_b16 keep = tn_b16_load(order), flips = tn_b16_set1(flip);
  for (; k + 4 <= n; k += 4, to += 4 * planes) {
    tn_b16 v[QUANT_NARROW];
    TN_UNROLL for (int c = 0; c < QUANT_NARROW; c++) v[c] = tn_b16_load4(p[c] + k);
    const tn_b16 a = tn_b16_zip8(v[0], v[1]), b = tn_b16_zip8(v[2], v[3]);
    tn_b16_store(to, tn_b16_pick(tn_b16_xor(tn_b16_zip16(a, b), flips), keep));
  }
#endif
  for (; k < n; k++)
    for (int64_t c = 0; c < planes; c++) *to++ = (tn_dot_x)(p[c][k] ^ flip);
}

/* Row `ih` of the input, perhaps outside of it, with its pads. x: the image. */
static void quant_copy_row(const quant_layer *l, const uint8_t *x, int64_t ih, uint8_t flip,
                           uint8_t zero, tn_dot_x *to) {
  const int64_t width = l->pixel ? l->row / l->pixel : 0, left = tn_min_i64(l->pad_w, width),
                n = tn_max_i64(0, tn_min_i64(l->in_w, width - left));
  if (ih < 0 || ih >= l->in_h) {
    quant_fill(to, l->row, zero);
    return;
  }
  quant_fill(to, left * l->pixel, zero);
  if (l->narrow)
    quant_interleave(x + ih * l->in_w, l->q.c.channels, l->q.c.in_size, n, flip,
                     to + left * l->pixel);
  else
    quant_copy(x + ih * l->in_w * l->pixel, n * l->pixel, flip, to + left * l->pixel);
  quant_fill(to + (left + n) * l->pixel, l->row - (left + n) * l->pixel, zero);
}

/* ---- run ---- */

static bool quant_is_signed(const tn_tensor *t) { return t->dtype == TN_I8; }

/* What a call's numbers say; at: of the runs. */
static tn_dot quant_numbers(const quant_layer *l, int64_t *at) {
  const tn_quant_conv_attrs *a = l->q.a;
  const bool is_signed = l->q.y_dtype == TN_I8;
  const float y_scale = (float)a->y_scale, sum_scale = (float)a->sum_scale;
  const int64_t least = is_signed ? -128 : 0, most = is_signed ? 127 : 255;
  const bool joins = quant_joins_taps(l);
  for (int64_t k = 0; k < l->runs; k++)
    at[k] = joins ? k * l->dilation_h * l->row
                  : k / l->kernel_w * l->dilation_h * l->row +
                        k % l->kernel_w * l->dilation_w * l->pixel;
  tn_dot t = {.at = at,
              .runs = l->runs,
              .steps = l->steps,
              .x_step = l->stride_w * l->pixel,
              .zero = tn_dot_code(l->q.x->dtype, a->x_zero),
              .factor = 1,
              .bias_factor = 1,
              .y_step = l->q.c.filters,
              .to_f32 = l->q.y_dtype == TN_F32};
  if (t.to_f32) return t;
  t.bias_factor = 1 / y_scale;
  t.y_flip = is_signed ? 0x80 : 0;
  t.y_zero = (int16_t)(a->y_zero + (is_signed ? 128 : 0));
  /* With Z, the codes before the sum need not be of the type that the sum has. */
  const int64_t lo = l->q.z ? a->lo : tn_min_i64(tn_max_i64(a->lo, least), most),
                hi = l->q.z ? a->hi : tn_max_i64(tn_min_i64(a->hi, most), least);
  t.lo = (float)(lo - a->y_zero);
  t.hi = (float)(hi - a->y_zero);
  if (!l->q.z) return t;
  const bool z_signed = quant_is_signed(l->q.z);
  t.sums = true;
  t.z_flip = z_signed ? 0x80 : 0;
  t.sum_y = y_scale / sum_scale;
  t.sum_z = (float)a->z_scale / sum_scale;
  t.sum_0 = -(float)(a->z_zero + (z_signed ? 128 : 0)) * t.sum_z;
  t.sum_lo = (float)(tn_min_i64(tn_max_i64(a->sum_lo, least), most) - a->sum_zero);
  t.sum_hi = (float)(tn_max_i64(tn_min_i64(a->sum_hi, most), least) - a->sum_zero);
  t.y_zero = (int16_t)(a->sum_zero + (is_signed ? 128 : 0));
  return t;
}

/* The strip of rows [begin, end) of the output: in place, or copied into `room`. */
static const tn_dot_x *quant_strip(const quant_layer *l, int64_t image, int64_t begin, int64_t end,
                                   tn_dot_x *room) {
  const conv_shape *c = &l->q.c;
  const uint8_t *x = (const uint8_t *)l->q.x->data + image * c->channels * c->in_size;
  if (l->direct) return (const tn_dot_x *)(const void *)(x + begin * l->stride_h * l->row);
  const uint8_t flip = tn_dot_flip(l->q.x->dtype),
                zero = (uint8_t)tn_dot_code(l->q.x->dtype, l->q.a->x_zero);
  const int64_t first = begin * l->stride_h - l->pad_h, n = quant_rows_taken(l, end - begin);
  const bool whole = !l->narrow && first >= 0 && first + n <= l->in_h && !l->pad_w &&
                     l->row == l->in_w * l->pixel; /* rows, one behind the other */
  if (whole) quant_copy(x + first * l->row, n * l->row, flip, room);
  for (int64_t r = 0; r < n && !whole; r++)
    quant_copy_row(l, x, first + r, flip, zero, room + r * l->row);
  return room;
}

/* Rows [begin, end) of one image, of which x is the first; y, z: of the first pixel. */
static void quant_run(const quant_layer *l, tn_dot *t, const void *panel, const tn_dot_x *x,
                      int64_t begin, int64_t end, char *y, const uint8_t *z) {
  const int64_t size = t->to_f32 ? (int64_t)sizeof(float) : 1;
  const float *sums = t->row_sums;
  const bool flat = quant_is_flat(l);
  for (int64_t r = begin; r < end; r = flat ? end : r + 1) {
    const int64_t from = r * l->out_w, at = from - begin * l->out_w,
                  n = flat ? tn_min_i64(end * l->out_w, l->n_pixels) - from : l->out_w;
    t->row_sums = sums ? sums + at : NULL;
    tn_dot_run(t, n, x + (r - begin) * l->stride_h * l->row, panel, y + at * t->y_step * size,
               z ? z + at * t->y_step : NULL);
  }
  t->row_sums = sums;
}

/* The sum under each window of a group, less the zero points. */
static void quant_sum_rows(const quant_layer *l, const tn_dot *numbers, void *state,
                           const tn_dot_x *x, int64_t begin, int64_t end, float *sums) {
  static const float ones[TN_DOT_PANEL] = {1};
  tn_dot t = *numbers;
  t.scale = ones;
  t.bias = NULL;
  t.first = NULL;
  t.n = t.y_step = 1;
  t.half = tn_dot_is_half(t.n);
  t.to_f32 = true;
  t.sums = false;
  t.row_sums = NULL;
  t.next_step = 0;
  quant_run(l, &t, (char *)state + quant_ones_at(l), x, begin, end, (char *)sums, NULL);
}

/* While so many pixels are computed by a panel, the one behind it is fetched, if any are left. To
 * fetch what is not mapped, behind the last one, takes longer than all else. */
static void quant_next(const quant_layer *l, tn_dot *t, const void *panel, int64_t left,
                       int64_t pixels) {
  const int64_t steps = tn_ceil_div(pixels, TN_DOT_ROWS) * l->runs * l->steps;
  const bool is_quick = steps > 0 && steps <= l->panel_bytes;
  t->next = (const char *)panel + (left > 0 ? l->panel_bytes : 0);
  t->next_step = !is_quick || left < 1 ? 0
                 : left == 1           ? l->panel_bytes / steps
                                       : tn_ceil_div(l->panel_bytes, steps);
}

/* Rows [begin, end) of one image by panel `p` of all. */
static void quant_rows(const tn_call *call, const quant_layer *l, tn_dot *t, const tn_dot_x *strip,
                       int64_t p, int64_t image, int64_t begin, int64_t end) {
  const int64_t group = p / l->panels, first = p % l->panels * TN_DOT_PANEL;
  const void *panel = quant_panel(l, quant_packed(call), p);
  const float *floats = quant_floats(l, quant_packed(call), p);
  t->scale = floats;
  const bool in_sums = l->q.bias && l->q.bias->dtype == TN_I32;
  t->bias = l->q.bias && !in_sums ? floats + TN_DOT_PANEL : NULL;
  t->first = in_sums ? (const int32_t *)(const void *)(floats + TN_DOT_PANEL) : NULL;
  t->w_zero = (const int32_t *)(const void *)(floats + 2 * TN_DOT_PANEL);
  t->n = tn_min_i64(TN_DOT_PANEL, l->filters - first);
  t->half = tn_dot_is_half(t->n);
  quant_next(l, t, panel, l->panels * l->q.c.groups - 1 - p, (end - begin) * l->out_w);
  const int64_t at =
      (image * l->n_pixels + begin * l->out_w) * l->q.c.filters + group * l->filters + first;
  quant_run(l, t, panel, strip + group * l->channels, begin, end,
            (char *)call->outputs[0]->data + at * (t->to_f32 ? (int64_t)sizeof(float) : 1),
            l->q.z ? (const uint8_t *)l->q.z->data + at : NULL);
}

tn_status TN_SIMD_NAME(quant_conv)(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                                   uint32_t worker) {
  quant_layer l;
  int64_t at[QUANT_RUNS], last = -1;
  tn_dot t;
  const tn_status s = quant_layer_open(call, &l, &t, at);
  (void)stage;
  if (s) return s;
  char *room = (char *)call->worker_scratch + worker * call->worker_scratch_bytes;
  float *sums = (float *)(void *)(room + l.strip_bytes);
  const bool zeros_matter = *quant_zeros_matter(&l, quant_packed(call));
  const tn_dot_x *strip = NULL;
  for (int64_t item = begin; item < end; item++) {
    int64_t part, of_all;
    work_cut_item(&l.cut, item, &of_all, &part);
    const int64_t image = of_all / l.cut.strips, first = of_all % l.cut.strips * l.cut.strip_rows;
    const int64_t rows_end = tn_min_i64(l.out_h, first + l.cut.strip_rows);
    if (first >= rows_end) continue;
    if (of_all != last) strip = quant_strip(&l, image, first, rows_end, (tn_dot_x *)(void *)room);
    last = of_all;
    const int64_t panels = l.panels * l.q.c.groups;
    int64_t group = -1; /* of which the sums are there */
    for (int64_t p = cut_at(panels, l.cut.parts, part); p < cut_at(panels, l.cut.parts, part + 1);
         p++) {
      if (zeros_matter && p / l.panels != group) {
        group = p / l.panels;
        quant_sum_rows(&l, &t, quant_packed(call), strip + group * l.channels, first, rows_end,
                       sums);
        t.row_sums = sums;
      }
      quant_rows(call, &l, &t, strip, p, image, first, rows_end);
    }
  }
  return TN_OK;
}

#endif
