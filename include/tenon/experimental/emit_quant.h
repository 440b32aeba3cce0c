/* Products of 8-bit values as C, in 32-bit integers: what the emitters of convolutions and matrix
 * products share. EXPERIMENTAL.
 *
 * The kernels scale and round the sum of a filter in f64; here that is one multiplication by an
 * integer and a shift. Both are steps of the same sum, at most 255 of them, so before a multiplier
 * is written it is shown to answer the same as the kernel on both sides of every step: then it does
 * for all sums. The loops are those of ops/conv/emit. */
#ifndef TENON_EXPERIMENTAL_EMIT_QUANT_H
#define TENON_EXPERIMENTAL_EMIT_QUANT_H

#include <math.h>
#include <stdio.h>

#include "tenon/experimental/emit_window.h"
#include "tenon/kit/checked.h"
#include "tenon/kit/tensor.h"
#include "tenon/kit/window.h"

typedef struct tn_emit_quant tn_emit_quant;
struct tn_emit_quant {
  const void *op; /* what the functions are given in `q` */
  /* What the kernel answers for a sum of (x - x_zero) * (w - w_zero). */
  int64_t (*wanted)(const tn_emit_quant *q, int64_t filter, int64_t sum);
  /* How much an output grows by 1 of the sum, and about how much more the sum has for its bias. */
  double (*scale)(const tn_emit_quant *q, int64_t filter);
  double (*bias)(const tn_emit_quant *q, int64_t filter);
  /* Weight k of a filter as it is written, in i8. */
  int64_t (*weight)(const tn_emit_quant *q, int64_t filter, int64_t k);
  int64_t images, groups, channels, filters; /* channels and filters of a group */
  int64_t x_zero, w_zero, y_zero, lo, hi;    /* w_zero: of weights as they are written */
  bool x_signed;
  tn_window w; /* of two dims */
};

typedef struct tn_emit_rescale {
  int64_t bias, multiplier;
  int shift;
} tn_emit_rescale;

static inline int64_t tn_emit_quant_taps(const tn_emit_quant *q) {
  return q->w.kernel[0] * q->w.kernel[1];
}
static inline int64_t tn_emit_quant_depth(const tn_emit_quant *q) {
  return q->channels * tn_emit_quant_taps(q);
}
/* A multiple of eight, as emit/quant_dots.c wants it. */
static inline int64_t tn_emit_quant_padded(const tn_emit_quant *q) {
  return (tn_emit_quant_depth(q) + 7) / 8 * 8;
}

/* ---- scaling ---- */

/* How many bits sums have behind the point: a bias that is no whole number of sums needs some, and
 * multipliers of 1/4 and more need one. */
enum { TN_EMIT_QUANT_BITS = 14 };

/* The sums that a filter can have: of weights times the largest and the least input. Pads are 0. */
typedef struct tn_emit_sums {
  int64_t least, most;
} tn_emit_sums;
static inline tn_emit_sums tn_emit_quant_sums(const tn_emit_quant *q, int64_t filter) {
  const int64_t low = (q->x_signed ? -128 : 0) - q->x_zero, high = low + 255;
  tn_emit_sums s = {0, 0};
  for (int64_t k = 0; k < tn_emit_quant_depth(q); k++) {
    const int64_t w = q->weight(q, filter, k) - q->w_zero;
    s.least += tn_min_i64(tn_min_i64(w * low, w * high), 0);
    s.most += tn_max_i64(tn_max_i64(w * low, w * high), 0);
  }
  return s;
}

/* As quant_outputs() in emit/quant_conv.c, whose shift is less by 33 - bits. */
static inline int64_t tn_emit_quant_answered(const tn_emit_quant *q, const tn_emit_rescale *r,
                                             int bits, int64_t sum) {
  const int64_t unit = INT64_C(1) << r->shift;
  const int64_t moved = (sum * (INT64_C(1) << bits) + r->bias) * r->multiplier + unit / 2;
  const int64_t is_tie = (moved & (unit - 1)) == 0;
  const int64_t y = ((moved >> r->shift) & ~is_tie) + q->y_zero;
  return y < q->lo ? q->lo : y > q->hi ? q->hi : y;
}

/* The least sum in (low, high] whose answer is `step` or more. */
static inline int64_t tn_emit_quant_step(const tn_emit_quant *q, int64_t filter, int64_t step,
                                         int64_t low, int64_t high) {
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    if (q->wanted(q, filter, middle) >= step)
      high = middle;
    else
      low = middle;
  }
  return high;
}

static inline bool tn_emit_quant_same(const tn_emit_quant *q, int64_t filter,
                                      const tn_emit_rescale *r, int bits, int64_t sum) {
  return q->wanted(q, filter, sum) == tn_emit_quant_answered(q, r, bits, sum);
}

static inline bool tn_emit_quant_right(const tn_emit_quant *q, int64_t filter,
                                       const tn_emit_sums *sums, const tn_emit_rescale *r,
                                       int bits) {
  const int64_t last = q->wanted(q, filter, sums->most);
  bool right = tn_emit_quant_same(q, filter, r, bits, sums->least) &&
               tn_emit_quant_same(q, filter, r, bits, sums->most);
  int64_t at = sums->least;
  while (right && q->wanted(q, filter, at) < last) {
    at = tn_emit_quant_step(q, filter, q->wanted(q, filter, at) + 1, at, sums->most);
    right = tn_emit_quant_same(q, filter, r, bits, at - 1) &&
            tn_emit_quant_same(q, filter, r, bits, at);
  }
  return right;
}

/* Nothing that quant_outputs() computes overflows. */
static inline bool tn_emit_quant_small(const tn_emit_sums *sums, const tn_emit_rescale *r,
                                       int bits) {
  const int64_t unit = INT64_C(1) << bits;
  return r->multiplier >= 0 && r->multiplier <= INT32_MAX && r->bias >= INT32_MIN &&
         r->bias <= INT32_MAX && sums->most * unit + tn_max_i64(r->bias, 0) <= INT32_MAX &&
         sums->least * unit + tn_min_i64(r->bias, 0) >= INT32_MIN;
}

/* False: there is no multiplier near the quotient of the scales that is right. */
static inline bool tn_emit_quant_rescale(const tn_emit_quant *q, int64_t filter, int bits,
                                         tn_emit_rescale *out) {
  enum { MOST_SHIFT = 60, TRIES = 65 };
  int exponent;
  const double scale = q->scale(q, filter), bias = ldexp(q->bias(q, filter), bits);
  const tn_emit_sums sums = tn_emit_quant_sums(q, filter);
  (void)frexp(scale, &exponent);
  if (!(scale > 0) || exponent > bits - 2 || !(fabs(bias) < 0x1p31)) return false;
  const int shift = 31 - exponent < MOST_SHIFT - bits ? 31 - exponent : MOST_SHIFT - bits;
  const int64_t middle = (int64_t)nearbyint(ldexp(scale, shift));
  for (int64_t k = 0; k < TRIES; k++) {
    const int64_t multiplier = middle + (k % 2 ? k / 2 + 1 : -(k / 2));
    *out = (tn_emit_rescale){(int64_t)nearbyint(bias), multiplier, shift + bits};
    if (tn_emit_quant_small(&sums, out, bits) && tn_emit_quant_right(q, filter, &sums, out, bits))
      return true;
  }
  return false;
}

/* The least number of bits with which all filters have a multiplier; -1: there is none. */
static inline int tn_emit_quant_bits(const tn_emit_quant *q) {
  tn_emit_rescale r;
  for (int bits = 0; bits <= TN_EMIT_QUANT_BITS; bits++) {
    int64_t m = 0;
    while (m < q->groups * q->filters && tn_emit_quant_rescale(q, m, bits, &r)) m++;
    if (m == q->groups * q->filters) return bits;
  }
  return -1;
}

static inline const char *tn_emit_quant_refuse(const tn_emit_quant *q) {
  if (q->w_zero < -128 || q->w_zero > 127) return "its zero point of weights is no byte";
  if (tn_emit_quant_depth(q) > INT32_MAX / (255 * 255)) return "its sums may not fit 32 bits";
  return tn_emit_quant_bits(q) < 0 ? "no integer multiplier rounds as the kernel does" : NULL;
}

/* ---- tables ---- */

static inline void tn_emit_quant_shape(const tn_emit *e, const tn_emit_quant *q, int bits) {
  e->table(e,
           "static const struct quant_conv quant_conv_%u = {\n"
           "    .images = %d, .groups = %d, .channels = %d, .filters = %d,\n"
           "    .x_zero = %d, .w_zero = %d, .y_zero = %d, .least = %d, .most = %d, .bits = %d,\n"
           "    .w = ",
           e->step, (int)q->images, (int)q->groups, (int)q->channels, (int)q->filters,
           (int)q->x_zero, (int)q->w_zero, (int)q->y_zero, (int)q->lo, (int)q->hi, bits);
  tn_emit_window(e, &q->w, q->images * q->groups * q->filters);
  e->table(e, "};\n");
}

static inline void tn_emit_quant_scales(const tn_emit *e, const tn_emit_quant *q, int bits) {
  const int64_t n = q->groups * q->filters;
  tn_emit_rescale r;
  e->table(e, "static const struct rescale rescale_%u[%d] = {", e->step, (int)n);
  for (int64_t m = 0; m < n && tn_emit_quant_rescale(q, m, bits, &r); m++)
    e->table(e, "%s%s{%d, %d, %d}", m ? "," : "", m % 4 ? " " : "\n    ", (int)r.bias,
             (int)r.multiplier, r.shift - 33);
  e->table(e, "};\n");
}

/* The tables of both, and what they are made of. */
static inline void tn_emit_quant_tables(const tn_emit *e, const tn_emit_quant *q) {
  const int bits = tn_emit_quant_bits(q);
  e->code(e, "code/window.c");
  e->code(e, "emit/quant_conv.c");
  tn_emit_quant_scales(e, q, bits);
  tn_emit_quant_shape(e, q, bits);
}

/* Blocks of two filters, as emit/quant_dots.c reads them. */
static inline const char *tn_emit_quant_pairs(const tn_emit *e, const tn_emit_quant *q) {
  static const int64_t place[4] = {0, 2, 1, 3};
  const int64_t depth = tn_emit_quant_depth(q), steps = tn_emit_quant_padded(q);
  const int64_t pairs = (q->filters + 1) / 2, n = q->groups * pairs * 2 * steps;
  int8_t *to = (int8_t *)e->memory(e, (uint64_t)n);
  for (int64_t m = 0; to && m < q->groups * q->filters; m++) {
    const int64_t group = m / q->filters, filter = m % q->filters;
    int8_t *block = to + (group * pairs + filter / 2) * 2 * steps + filter % 2 * 4;
    for (int64_t k = 0; k < depth; k++)
      block[k / 4 * 8 + place[k % 4]] = (int8_t)q->weight(q, m, k);
  }
  const tn_tensor t = tn_tensor_make(TN_I8, 1, &n, to);
  return to ? e->constant(e, &t) : "NULL";
}

/* ---- loops ---- */

static inline void tn_emit_quant_gather(const tn_emit *e, const char *name, const char *type) {
  e->function(e, name,
              "/* What the window of an output pixel sees, less the zero point; 0 outside of the "
              "input. */\n"
              "static void %s(const struct quant_conv *c, const void *input, int32_t pixel,\n"
              "                            int16_t *to) {\n"
              "  const struct window *w = &c->w;\n"
              "  const int32_t top = pixel / w->out_w * w->stride_h - w->top;\n"
              "  const int32_t left = pixel %% w->out_w * w->stride_w - w->left;\n"
              "  const int32_t plane = w->in_h * w->in_w, zero = c->x_zero;\n"
              "  const %s *x = input;\n"
              "  int32_t h, h_end, v, v_end;\n"
              "  window_taps(top, w->kernel_h, w->dilation_h, w->in_h, &h, &h_end);\n"
              "  window_taps(left, w->kernel_w, w->dilation_w, w->in_w, &v, &v_end);\n"
              "  x += (top + h * w->dilation_h) * w->in_w + left + v * w->dilation_w;\n"
              "  if (w->kernel_h * w->kernel_w == 1 && h < h_end && v < v_end) {\n"
              "    for (int32_t k = 0; k < c->channels; k++) {\n"
              "      to[k] = (int16_t)(*x - zero);\n"
              "      x += plane;\n"
              "    }\n"
              "    return;\n"
              "  }\n"
              "  if (h_end - h < w->kernel_h || v_end - v < w->kernel_w) {\n"
              "    memset(to, 0, sizeof *to * (size_t)(c->channels * w->kernel_h * w->kernel_w));\n"
              "  }\n"
              "  for (int32_t k = 0; k < c->channels; k++) {\n"
              "    for (int32_t i = h; i < h_end; i++) {\n"
              "      const %s *row = x + (i - h) * w->dilation_h * w->in_w;\n"
              "      if (v_end - v == 3 && w->dilation_w == 1) {\n"
              "        int16_t *three = to + i * w->kernel_w + v;\n"
              "        three[0] = (int16_t)(row[0] - zero);\n"
              "        three[1] = (int16_t)(row[1] - zero);\n"
              "        three[2] = (int16_t)(row[2] - zero);\n"
              "        continue;\n"
              "      }\n"
              "      for (int32_t j = v; j < v_end; j++) {\n"
              "        to[i * w->kernel_w + j] = (int16_t)(*row - zero);\n"
              "        row += w->dilation_w;\n"
              "      }\n"
              "    }\n"
              "    to += w->kernel_h * w->kernel_w;\n"
              "    x += plane;\n"
              "  }\n"
              "}\n",
              name, type, type);
}

/* Bytes of scratch of tn_emit_quant_dense(): three pixels. */
static inline uint64_t tn_emit_quant_scratch(const tn_emit_quant *q) {
  return 3 * sizeof(int16_t) * (uint64_t)tn_emit_quant_padded(q);
}

/* Filters that see all channels of their group. */
static inline void tn_emit_quant_dense(const tn_emit *e, const tn_emit_quant *q, const char *x) {
  const char *name = q->x_signed ? "quant_gather_i8" : "quant_gather_u8";
  tn_emit_quant_tables(e, q);
  e->code(e, "code/window_taps.c");
  tn_emit_quant_gather(e, name, q->x_signed ? "int8_t" : "uint8_t");
  e->code(e, "emit/quant_pair.c");
  e->code(e, "emit/quant_four.c");
  e->code(e, "emit/quant_dots.c");
  e->code(e, "emit/quant_conv_dense.c");
  e->line(e, "quant_conv(&quant_conv_%u, rescale_%u, %s, %s, %s, %s, %s);", e->step, e->step, name,
          x, tn_emit_quant_pairs(e, q), e->output(e, 0), e->scratch(e));
}

#endif
