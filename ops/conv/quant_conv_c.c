/* QuantConv, portable. An item is a block of output pixels of one image, of all filters: what their
 * windows see is gathered as 16-bit numbers, a group at a time, and multiplied by the weights of
 * one filter after the other, in loops that compilers vectorise. */
#include "quant_conv.h"
#include "tenon/kit/checked.h"

enum { PANEL_BYTES = 32768, FEWEST = 4, MOST = 64 }; /* of what is gathered; pixels of a block */

typedef struct block {
  const quant_conv *q;
  int64_t image, first, n; /* pixels [first, first + n) */
  int64_t *places;         /* of each pixel's taps in a plane; -1: outside */
  int16_t *panel, *filter;
} block;

static int64_t depth_of(const quant_conv *q) { return q->c.channels / q->c.groups * q->c.taps; }

static int64_t pixels_of(const quant_conv *q) {
  const int64_t n = PANEL_BYTES / 2 / tn_max_i64(depth_of(q), 1);
  return tn_max_i64(1, tn_min_i64(q->c.out_size, n < FEWEST ? FEWEST : n > MOST ? MOST : n));
}

tn_status quant_conv_c_plan(const tn_call *call, tn_kernel_plan *out) {
  quant_conv q;
  const tn_status s = quant_conv_make(call, &q);
  if (s) return s;
  const int64_t pixels = pixels_of(&q), depth = depth_of(&q);
  const double outputs = (double)(q.c.batch * q.c.filters * q.c.out_size);
  out->items[0] = q.c.batch * tn_ceil_div(q.c.out_size, pixels);
  out->cost_ns = outputs * (0.3 * (double)depth + 15) +
                 (double)(q.c.batch * q.c.out_size) * (double)(q.c.channels * q.c.taps);
  out->grain[0] = tn_grain(20000, out->cost_ns / (double)tn_max_i64(out->items[0], 1));
  out->worker_scratch_bytes = (uint64_t)(pixels * q.c.taps) * sizeof(int64_t) +
                              (uint64_t)((pixels + 1) * depth) * sizeof(int16_t);
  return TN_OK;
}

static void find_places(const block *b) {
  const conv_shape *c = &b->q->c;
  for (int64_t p = 0; p < b->n; p++)
    for (int64_t t = 0; t < c->taps; t++)
      b->places[p * c->taps + t] = conv_tap_index(&c->w, b->first + p, t);
}

#define GATHER(T)                                                                            \
  static void gather_##T(const block *b, int64_t channel, int64_t channels) {                \
    const conv_shape *c = &b->q->c;                                                          \
    const int64_t taps = c->taps, zero = b->q->a->x_zero;                                    \
    const T *x = (const T *)b->q->x->data + (b->image * c->channels + channel) * c->in_size; \
    for (int64_t p = 0; p < b->n; p++) {                                                     \
      const int64_t *places = b->places + p * taps;                                          \
      int16_t *to = b->panel + p * channels * taps;                                          \
      for (int64_t k = 0; k < channels; k++, to += taps)                                     \
        for (int64_t t = 0; t < taps; t++)                                                   \
          to[t] = places[t] < 0 ? 0 : (int16_t)(x[k * c->in_size + places[t]] - zero);       \
    }                                                                                        \
  }
GATHER(int8_t)
GATHER(uint8_t)

/* The weights of filter m, less their zero point. */
static void widen(const block *b, int64_t m, int64_t depth) {
  const quant_conv *q = b->q;
  const int64_t all = q->w_zero && tn_elements(q->w_zero) == 1;
  const int16_t zero =
      (int16_t)(q->w_zero ? tn_load_i64(q->w_zero->dtype, q->w_zero->data, all ? 0 : m) : 0);
  const int8_t *i8 = (const int8_t *)q->w->data + m * depth;
  const uint8_t *u8 = (const uint8_t *)q->w->data + m * depth;
  if (q->w->dtype == TN_I8)
    for (int64_t k = 0; k < depth; k++) b->filter[k] = (int16_t)(i8[k] - zero);
  else
    for (int64_t k = 0; k < depth; k++) b->filter[k] = (int16_t)(u8[k] - zero);
}

/* At most 255 * 255 each: so many fit 32 bits. */
static int64_t dot(const int16_t *a, const int16_t *b, int64_t n) {
  enum { PART = 16384 };
  int64_t total = 0;
  for (int64_t at = 0; at < n; at += PART) {
    const int64_t part = tn_min_i64(PART, n - at);
    int32_t sum = 0;
    for (int64_t k = 0; k < part; k++) sum += a[at + k] * b[at + k];
    total += sum;
  }
  return total;
}

/* As quant_conv_finish() without a residual: what does not depend on the sum is fetched once. */
static void finish_bytes(const quant_conv *q, int64_t m, const int64_t *sum, int64_t n,
                         uint8_t *y) {
  const double magic = 0x1.8p52; /* added and taken away: rounds to the nearest, ties to even */
  const double x_scale = (float)q->a->x_scale, w_scale = quant_conv_scale(q, m),
               bias = quant_conv_bias(q, m), y_scale = (float)q->a->y_scale,
               zero = (double)q->a->y_zero;
  const double least = q->y_dtype == TN_I8 ? -128 : 0, most = least + 255;
  const double lo = (double)q->a->lo, hi = (double)q->a->hi;
  const int64_t first = quant_conv_first(q, m);
  for (int64_t k = 0; k < n; k++) {
    double v = ((double)(sum[k] + first) * x_scale * w_scale + bias) / y_scale;
    v = v < -1e6 ? -1e6 : v > 1e6 ? 1e6 : v; /* is cut off below */
    v = (v + magic) - magic + zero;
    v = !(v > lo) ? lo : v > hi ? hi : v;
    y[k] = (uint8_t)(int32_t)(v < least ? least : v > most ? most : v);
  }
}

static void finish(const block *b, int64_t m, const int64_t *sum, const tn_tensor *y) {
  const quant_conv *q = b->q;
  const int64_t at = (b->image * q->c.filters + m) * q->c.out_size + b->first;
  if (!q->z && q->y_dtype != TN_F32) {
    finish_bytes(q, m, sum, b->n, (uint8_t *)y->data + at);
    return;
  }
  for (int64_t p = 0; p < b->n; p++)
    tn_store_f64(y->dtype, y->data, at + p, quant_conv_finish(q, m, at + p, sum[p]));
}

static void run_group(const block *b, int64_t group, const tn_tensor *y) {
  const conv_shape *c = &b->q->c;
  const int64_t channels = c->channels / c->groups, filters = c->filters / c->groups;
  const int64_t depth = channels * c->taps;
  int64_t sum[MOST];
  if (b->q->x->dtype == TN_I8)
    gather_int8_t(b, group * channels, channels);
  else
    gather_uint8_t(b, group * channels, channels);
  for (int64_t m = group * filters; m < (group + 1) * filters; m++) {
    widen(b, m, depth);
    for (int64_t p = 0; p < b->n; p++) sum[p] = dot(b->panel + p * depth, b->filter, depth);
    finish(b, m, sum, y);
  }
}

tn_status quant_conv_c(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                       uint32_t worker) {
  quant_conv q;
  const tn_status s = quant_conv_make(call, &q);
  (void)stage;
  if (s) return s;
  const int64_t pixels = pixels_of(&q), blocks = tn_ceil_div(q.c.out_size, pixels);
  int64_t *places =
      (int64_t *)(void *)((char *)call->worker_scratch + worker * call->worker_scratch_bytes);
  int16_t *panel = (int16_t *)(void *)(places + pixels * q.c.taps);
  block b = {.q = &q, .places = places, .panel = panel, .filter = panel + pixels * depth_of(&q)};
  for (int64_t item = begin; item < end; item++) {
    b.image = item / blocks;
    b.first = item % blocks * pixels;
    b.n = tn_min_i64(pixels, q.c.out_size - b.first);
    find_places(&b);
    for (int64_t group = 0; group < q.c.groups; group++) run_group(&b, group, call->outputs[0]);
  }
  return TN_OK;
}
