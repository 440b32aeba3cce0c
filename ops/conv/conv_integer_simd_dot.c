/* ConvInteger on the tiles of tenon/kit/dot_simd.h: the whole of conv_integer_avx512_vnni.c,
 * _avx_vnni.c, _avx2.c, _neon_dot.c, _neon.c and _rvv.c.
 *
 * The filters are the rows of a tile, output pixels its panel, so that sums lie in y as they come.
 * Filters become codes, each with the sum of its weights, at prepare if they are constant, else in
 * the first stage. An item is some panels of pixels of one image and group: for each the elements
 * under its windows are gathered, pads as the zero point of x, and packed. All sums wrap.
 *
 * Of depthwise convolutions an item is a plane of y: rows of x times a weight are added to rows. */
#include "conv_integer.h"
#include "tenon/kit/dot_simd.h"
#include "tenon/kit/infer.h"

enum {
  ROW = 2 * TN_DOT_PANEL, /* bytes of a gathered row; copies may reach behind the panel */
  PLANE_FILTERS = 4,      /* of one channel: as many make better tiles */
  PLANE_TAPS = 64,
  PLANE_MOST = 1 << 20 /* elements of a plane */
};

typedef struct layer {
  conv_quant q;
  tn_window w;                    /* of three dims */
  int64_t channels, filters;      /* of a group */
  int64_t depth, steps;           /* elements of a filter; steps of them */
  int64_t panels, cuts, cut_step; /* of an image and group; items, panels of one */
  bool packs;                     /* filters, in the first stage */
  bool planes;                    /* depthwise */
} layer;

/* Size of a plane of x with those of its pads that windows read. */
static int64_t padded(const layer *l, int d) {
  const tn_window *w = &l->w;
  return (w->out[d] - 1) * w->stride[d] + (w->kernel[d] - 1) * w->dilation[d] + 1;
}
/* Elements of it, and of what vectors read behind the last. */
static int64_t plane_room(const layer *l) {
  return padded(l, 0) * padded(l, 1) * padded(l, 2) + TN_DOT_LANES;
}
static bool plane_fits(const layer *l) {
  int64_t n;
  return !tn_dims_product((int64_t[]){padded(l, 0), padded(l, 1), padded(l, 2)}, 3, &n) &&
         n <= PLANE_MOST;
}

static tn_status layer_make(const tn_call *call, bool w_constant, layer *out) {
  layer l = {.packs = !w_constant};
  const tn_status s = conv_integer_make(call, &l.q);
  if (s) return s;
  const conv_shape *c = &l.q.c;
  l.w = tn_window_padded(&c->w, 3);
  l.channels = c->channels / c->groups;
  l.filters = c->filters / c->groups;
  l.depth = l.channels * c->taps;
  l.steps = tn_ceil_div(l.depth, TN_DOT_K);
  l.panels = tn_ceil_div(c->out_size, TN_DOT_PANEL);
  const int64_t wanted = call->n_workers > 1 ? 4 * (int64_t)call->n_workers : 1,
                each = tn_ceil_div(wanted, tn_max_i64(1, c->batch * c->groups));
  l.cuts = tn_max_i64(1, tn_min_i64(l.panels, each));
  l.cut_step = tn_ceil_div(l.panels, l.cuts);
  l.planes = l.channels == 1 && l.filters < PLANE_FILTERS && c->taps <= PLANE_TAPS &&
             c->out_size > 0 && plane_fits(&l);
  if (l.planes) l.cuts = l.filters;
  l.packs = l.packs && !l.planes;
  *out = l;
  return TN_OK;
}

/* ---- filters ---- */

static int64_t codes_of(const layer *l) { return l->steps * TN_DOT_K; }

/* Codes of all filters, then the sums of their weights less the zero point. */
static uint64_t filters_bytes(const layer *l) {
  return (uint64_t)l->q.c.filters *
         ((uint64_t)codes_of(l) * sizeof(tn_dot_x) + sizeof(float) + TN_DOT_K);
}
static float *sums_of(const layer *l, void *filters) {
  const int64_t bytes = l->q.c.filters * codes_of(l) * (int64_t)sizeof(tn_dot_x);
  return (float *)(void *)((char *)filters + tn_ceil_div(bytes, 4) * 4);
}

static int32_t weight_zero(const layer *l) {
  return tn_dot_code(l->q.w->dtype, conv_zero(l->q.w_zero, 0));
}

static void pack_filter(const layer *l, int64_t filter, void *filters) {
  const uint8_t *w = (const uint8_t *)l->q.w->data + filter * l->depth;
  const uint8_t flip = tn_dot_flip(l->q.w->dtype);
  tn_dot_x *to = (tn_dot_x *)filters + filter * codes_of(l);
  int32_t sum = 0;
  for (int64_t k = 0; k < l->depth; k++) {
    to[k] = (tn_dot_x)(w[k] ^ flip);
    sum += to[k];
  }
  for (int64_t k = l->depth; k < codes_of(l); k++) to[k] = 0;
  sums_of(l, filters)[filter] = (float)(sum - (int32_t)l->depth * weight_zero(l));
}

tn_status TN_SIMD_NAME(conv_integer_prepare)(const tn_call *call) {
  layer l;
  const tn_status s = layer_make(call, true, &l);
  for (int64_t f = 0; !s && !l.planes && f < l.q.c.filters; f++) pack_filter(&l, f, call->state);
  return s;
}

/* ---- plan ---- */

/* Of a worker: a panel, then gathered rows. */
static int64_t panel_room(const layer *l) {
  return tn_ceil_div(tn_dot_panel_bytes(l->steps), 64) * 64;
}

tn_status TN_SIMD_NAME(conv_integer_plan)(const tn_call *call, tn_kernel_plan *out) {
  layer l;
  const bool w_constant =
      call->inputs[1]->data != NULL && (!tn_input(call, 3) || tn_input(call, 3)->data != NULL);
  const tn_status s = layer_make(call, w_constant, &l);
  if (s) return s;
  const conv_shape *c = &l.q.c;
  const double gathered = (double)(c->batch * c->groups) * (double)l.panels * (double)l.depth,
               products = gathered * (double)l.filters * TN_DOT_PANEL;
  const uint32_t last = l.packs;
  if (w_constant && !l.planes) out->state_bytes = filters_bytes(&l);
  if (l.packs) {
    out->scratch_bytes = filters_bytes(&l);
    out->items[0] = c->filters;
    out->grain[0] = tn_grain(20000, (double)l.depth);
  }
  out->n_stages = last + 1;
  out->worker_scratch_bytes = l.planes ? (uint64_t)plane_room(&l) * sizeof(int32_t)
                                       : (uint64_t)(panel_room(&l) + l.steps * TN_DOT_K * ROW);
  out->items[last] = c->batch * c->groups * l.cuts;
  out->cost_ns = products / (l.planes             ? 4
                             : TN_DOT_LANES == 16 ? 150
                             : TN_DOT_K == 4      ? 100
                                                  : 50) +
                 (l.planes ? 0 : gathered * 8) + 300;
  out->grain[last] = tn_grain(TN_THREAD_NS, out->cost_ns / (double)tn_max_i64(1, out->items[last]));
  return TN_OK;
}

/* ---- gathering ---- */

/* Neighbours in a row of y: `n` pixels from pixel `at` of the panel on. */
typedef struct segment {
  int64_t at, n, out[3];
} segment;

static int64_t segments_of(const layer *l, int64_t pixel, int64_t n, segment *out) {
  const int64_t *size = l->w.out;
  int64_t count = 0;
  for (int64_t at = 0; at < n; at += out[count++].n) {
    const int64_t p = pixel + at, run = tn_min_i64(n - at, size[2] - p % size[2]);
    out[count] = (segment){at, run, {p / size[2] / size[1], p / size[2] % size[1], p % size[2]}};
  }
  return count;
}

/* What one tap reads of a row of x: `before` pads, `n` elements from `from` on, and pads. */
typedef struct reach {
  int64_t before, n, from;
} reach;

static reach reach_of(const layer *l, const segment *s, const int64_t *tap) {
  const tn_window *w = &l->w;
  int64_t in[3];
  for (int d = 0; d < 3; d++)
    in[d] = s->out[d] * w->stride[d] - w->pad_lo[d] + tap[d] * w->dilation[d];
  reach r = {0};
  if (in[0] < 0 || in[0] >= w->in[0] || in[1] < 0 || in[1] >= w->in[1]) return r;
  if (in[2] < 0) r.before = tn_min_i64(s->n, tn_ceil_div(-in[2], w->stride[2]));
  const int64_t first = in[2] + r.before * w->stride[2];
  if (first < w->in[2])
    r.n = tn_min_i64(s->n - r.before, (w->in[2] - 1 - first) / w->stride[2] + 1);
  r.from = (in[0] * w->in[1] + in[1]) * w->in[2] + first;
  return r;
}

/* end: of the memory of x. What is behind the segment's n pixels is overwritten. */
static inline void gather_row(const uint8_t *x, const uint8_t *end, const segment *s,
                              const reach *r, int64_t stride, uint8_t zero, uint8_t *to) {
  if (stride != 1) {
    for (int64_t k = 0; k < r->n; k++) to[r->before + k] = x[k * stride];
  } else if (end - x >= TN_DOT_PANEL) {
    memcpy(to + r->before, x, TN_DOT_PANEL);
  } else {
    memcpy(to + r->before, x, (size_t)r->n);
  }
  for (int64_t k = 0; k < r->before; k++) to[k] = zero;
  for (int64_t k = r->before + r->n; k < s->n; k++) to[k] = zero;
}

/* Rows (channel, tap) of the elements under n windows from `pixel` on. x: of the group. */
static void gather(const layer *l, const uint8_t *x, const uint8_t *end, int64_t pixel, int64_t n,
                   uint8_t zero, uint8_t *rows) {
  const int64_t *size = l->w.kernel, taps = l->q.c.taps;
  segment segments[TN_DOT_PANEL];
  const int64_t count = segments_of(l, pixel, n, segments);
  for (int64_t t = 0; t < taps; t++) {
    const int64_t tap[3] = {t / size[2] / size[1], t / size[2] % size[1], t % size[2]};
    for (int64_t k = 0; k < count; k++) {
      const segment *s = &segments[k];
      const reach r = reach_of(l, s, tap);
      uint8_t *to = rows + t * ROW + s->at;
      if (!r.n) {
        for (int64_t c = 0; c < l->channels; c++) memset(to + c * taps * ROW, zero, TN_DOT_PANEL);
        continue;
      }
      for (int64_t c = 0; c < l->channels; c++)
        gather_row(x + c * l->q.c.in_size + r.from, end, s, &r, l->w.stride[2], zero,
                   to + c * taps * ROW);
    }
  }
}

static void pack_panel(const layer *l, const uint8_t *gathered, void *panel) {
  const uint8_t flip = l->q.x->dtype == TN_U8 ? 0x80 : 0;
  for (int64_t s = 0; s < l->steps; s++) {
    const uint8_t *rows[TN_DOT_K];
    for (int64_t k = 0; k < TN_DOT_K; k++) rows[k] = gathered + (s * TN_DOT_K + k) * ROW;
    tn_dot_pack_step(panel, s, rows, flip);
  }
  tn_dot_sum_weights(panel, l->steps);
}

/* ---- depthwise ---- */

/* A row of x less the zero point; pads, and a row that is not there (x is NULL), are 0. */
static void widen_row(const layer *l, const uint8_t *x, int32_t zero, int32_t *to) {
  const int64_t width = padded(l, 2), before = tn_min_i64(width, l->w.pad_lo[2]),
                n = x ? tn_max_i64(0, tn_min_i64(l->w.in[2], width - before)) : 0;
  memset(to, 0, (size_t)width * sizeof *to);
  if (l->q.x->dtype == TN_I8)
    for (int64_t k = 0; k < n; k++) to[before + k] = (int8_t)x[k] - zero;
  else
    for (int64_t k = 0; k < n; k++) to[before + k] = x[k] - zero;
}

static void widen_plane(const layer *l, const uint8_t *x, int32_t *to) {
  const tn_window *w = &l->w;
  const int32_t zero = (int32_t)conv_zero(l->q.x_zero, 0);
  for (int64_t d = 0; d < padded(l, 0); d++)
    for (int64_t h = 0; h < padded(l, 1); h++, to += padded(l, 2)) {
      const int64_t at = d - w->pad_lo[0], row = h - w->pad_lo[1];
      const bool inside = at >= 0 && at < w->in[0] && row >= 0 && row < w->in[1];
      widen_row(l, inside ? x + (at * w->in[1] + row) * w->in[2] : NULL, zero, to);
    }
  memset(to, 0, TN_DOT_LANES * sizeof *to);
}

typedef struct taps { /* of a filter: places in the padded plane; weights less their zero point */
  int64_t n, at[PLANE_TAPS];
  int32_t w[PLANE_TAPS];
} taps;

static void taps_make(const layer *l, int64_t filter, taps *out) {
  const tn_window *w = &l->w;
  const int64_t *size = w->kernel;
  const int32_t zero = (int32_t)conv_zero(l->q.w_zero, 0);
  const uint8_t *weights = (const uint8_t *)l->q.w->data + filter * l->depth;
  out->n = l->q.c.taps;
  for (int64_t t = 0; t < out->n; t++) {
    const int64_t d = t / size[2] / size[1], h = t / size[2] % size[1], k = t % size[2];
    out->at[t] = (d * w->dilation[0] * padded(l, 1) + h * w->dilation[1]) * padded(l, 2) +
                 k * w->dilation[2];
    out->w[t] = (l->q.w->dtype == TN_I8 ? (int8_t)weights[t] : weights[t]) - zero;
  }
}

/* n sums of a row, `stride` apart in x. */
static void plane_row(const taps *f, const int32_t *x, int64_t stride, int64_t n, uint32_t *y) {
  for (int64_t j = 0; j < n && stride == 1; j += TN_DOT_LANES) {
    int32_t last[TN_DOT_LANES];
    tn_vq sum = tn_vq_set1(0);
    for (int64_t t = 0; t < f->n; t++)
      sum = tn_vq_add(sum, tn_vq_mul(tn_vq_load(x + f->at[t] + j), tn_vq_set1(f->w[t])));
    if (n - j >= TN_DOT_LANES) {
      tn_vq_store(y + j, sum);
    } else {
      tn_vq_store(last, sum);
      memcpy(y + j, last, (size_t)(n - j) * sizeof *y);
    }
  }
  for (int64_t j = 0; j < n && stride != 1; j++) {
    y[j] = 0;
    for (int64_t t = 0; t < f->n; t++)
      y[j] += (uint32_t)f->w[t] * (uint32_t)x[f->at[t] + j * stride];
  }
}

static void plane_run(const tn_call *call, const layer *l, int64_t item, int32_t *plane) {
  const conv_shape *c = &l->q.c;
  const tn_window *w = &l->w;
  const int64_t image = item / c->filters, filter = item % c->filters;
  uint32_t *y = (uint32_t *)call->outputs[0]->data + item * c->out_size;
  taps f;
  taps_make(l, filter, &f);
  widen_plane(
      l, (const uint8_t *)l->q.x->data + (image * c->channels + filter / l->filters) * c->in_size,
      plane);
  for (int64_t d = 0; d < w->out[0]; d++)
    for (int64_t h = 0; h < w->out[1]; h++, y += w->out[2])
      plane_row(&f, plane + (d * w->stride[0] * padded(l, 1) + h * w->stride[1]) * padded(l, 2),
                w->stride[2], w->out[2], y);
}

/* ---- run ---- */

static void item_run(const tn_call *call, const layer *l, int64_t item, void *filters, char *room) {
  const conv_shape *c = &l->q.c;
  const int64_t at = 0, cut = item % l->cuts, group = item / l->cuts % c->groups,
                image = item / l->cuts / c->groups, first = group * l->filters;
  const uint8_t *all = l->q.x->data,
                *x = all + (image * c->channels + group * l->channels) * c->in_size;
  const int64_t x_zero = conv_zero(l->q.x_zero, 0);
  const int32_t left = (int32_t)x_zero - (l->q.x->dtype == TN_U8 ? 128 : 0);
  int32_t zeros[TN_DOT_PANEL];
  uint8_t *gathered = (uint8_t *)room + panel_room(l);
  tn_dot t = {.at = &at,
              .runs = 1,
              .steps = l->steps,
              .x_step = codes_of(l),
              .zero = weight_zero(l),
              .y_step = c->out_size,
              .to_f32 = true,
              .to_i32 = true,
              .row_sums = left ? sums_of(l, filters) + first : NULL,
              .w_zero = zeros,
              .next = room};
  for (int k = 0; k < TN_DOT_PANEL; k++) zeros[k] = left;
  memset(gathered + l->depth * ROW, l->q.x->dtype == TN_U8 ? 0x80 : 0,
         (size_t)((codes_of(l) - l->depth) * ROW)); /* 0, when it is packed */
  for (int64_t p = cut * l->cut_step; p < tn_min_i64(l->panels, (cut + 1) * l->cut_step); p++) {
    const int64_t pixel = p * TN_DOT_PANEL;
    t.n = tn_min_i64(TN_DOT_PANEL, c->out_size - pixel);
    gather(l, x, all + tn_elements(l->q.x), pixel, t.n, (uint8_t)x_zero, gathered);
    pack_panel(l, gathered, room);
    tn_dot_run(
        &t, l->filters, (const tn_dot_x *)filters + first * codes_of(l), room,
        (int32_t *)call->outputs[0]->data + (image * c->filters + first) * c->out_size + pixel,
        NULL);
  }
}

tn_status TN_SIMD_NAME(conv_integer)(const tn_call *call, uint32_t stage, int64_t begin,
                                     int64_t end, uint32_t worker) {
  layer l;
  const tn_status s = layer_make(call, call->state != NULL, &l);
  if (s) return s;
  void *filters = l.packs ? call->scratch : call->state;
  char *room = (char *)call->worker_scratch + worker * call->worker_scratch_bytes;
  for (int64_t item = begin; item < end; item++) {
    if (l.planes)
      plane_run(call, &l, item, (int32_t *)(void *)room);
    else if (l.packs && stage == 0)
      pack_filter(&l, item, filters);
    else
      item_run(call, &l, item, filters, room);
  }
  return TN_OK;
}
