/* QuantConv as C, in 32-bit integers. The kernel scales and rounds the sum of a filter in f64; here
 * that is one multiplication by an integer and a shift. Both are steps of the same sum, at most 255
 * of them, so before a multiplier is written it is shown to answer the same as the kernel on both
 * sides of every step: then it does for all sums. */
#include <math.h>
#include <stdio.h>

#include "quant_conv.h"
#include "tenon/experimental/emit_c.h"

typedef struct rescale {
  int64_t bias, multiplier;
  int shift;
} rescale;

static int64_t depth_of(const quant_conv *q) { return q->c.channels / q->c.groups * q->c.taps; }
/* A multiple of eight, as emit/quant_dots.c wants it. */
static int64_t padded_depth(const quant_conv *q) { return (depth_of(q) + 7) / 8 * 8; }

/* The zero point of the weights as they are written, in i8. */
static int64_t zero_of(const quant_conv *q) {
  const int64_t zero = q->w_zero ? tn_load_i64(q->w_zero->dtype, q->w_zero->data, 0) : 0;
  return q->w->dtype == TN_U8 ? zero - 128 : zero;
}

/* Largest size of a sum with its bias. */
static int64_t most_of(const quant_conv *q, int64_t filter) {
  const int64_t bias = quant_conv_first(q, filter);
  return depth_of(q) * 255 * 255 + (bias < 0 ? -bias : bias);
}

/* Nothing that quant_output() in emit/quant_conv.c computes overflows. */
static bool is_small(const rescale *r, int64_t most) {
  return r->multiplier >= 0 && r->multiplier <= INT32_MAX && most <= INT32_MAX;
}

/* What the kernel answers for a sum with its bias. */
static int64_t wanted(const quant_conv *q, int64_t filter, int64_t sum) {
  return (int64_t)quant_conv_finish(q, filter, filter * q->c.out_size,
                                    sum - quant_conv_first(q, filter));
}

/* As quant_output() in emit/quant_conv.c, whose shift is less by 32. */
static int64_t answered(const quant_conv *q, const rescale *r, int64_t sum) {
  const int64_t unit = INT64_C(1) << r->shift, moved = sum * r->multiplier + unit / 2;
  const int64_t is_tie = (moved & (unit - 1)) == 0;
  const int64_t y = ((moved >> r->shift) & ~is_tie) + q->a->y_zero;
  return y < q->a->lo ? q->a->lo : y > q->a->hi ? q->a->hi : y;
}

/* The least sum in (low, high] whose answer is `step` or more. */
static int64_t find_step(const quant_conv *q, int64_t filter, int64_t step, int64_t low,
                         int64_t high) {
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    if (wanted(q, filter, middle) >= step)
      high = middle;
    else
      low = middle;
  }
  return high;
}

static bool is_same(const quant_conv *q, int64_t filter, const rescale *r, int64_t sum) {
  return wanted(q, filter, sum) == answered(q, r, sum);
}

static bool is_right(const quant_conv *q, int64_t filter, const rescale *r) {
  const int64_t most = most_of(q, filter), last = wanted(q, filter, most);
  bool right = is_same(q, filter, r, -most) && is_same(q, filter, r, most);
  int64_t at = -most;
  while (right && wanted(q, filter, at) < last) {
    at = find_step(q, filter, wanted(q, filter, at) + 1, at, most);
    right = is_same(q, filter, r, at - 1) && is_same(q, filter, r, at);
  }
  return right;
}

/* False: there is no multiplier near the quotient of the scales that is right. */
static bool find_rescale(const quant_conv *q, int64_t filter, rescale *out) {
  enum { MOST_SHIFT = 60, TRIES = 65 };
  int exponent;
  const double scale =
      (double)(float)q->a->x_scale * quant_conv_scale(q, filter) / (float)q->a->y_scale;
  (void)frexp(scale, &exponent);
  if (!(scale > 0) || exponent > -1) return false;
  const int shift = 31 - exponent < MOST_SHIFT ? 31 - exponent : MOST_SHIFT;
  const int64_t middle = (int64_t)nearbyint(ldexp(scale, shift));
  for (int64_t k = 0; k < TRIES; k++) {
    const int64_t multiplier = middle + (k % 2 ? k / 2 + 1 : -(k / 2));
    *out = (rescale){quant_conv_first(q, filter), multiplier, shift};
    if (is_small(out, most_of(q, filter)) && is_right(q, filter, out)) return true;
  }
  return false;
}

/* The shift of a multiplier of 1/4 or more is 32: all sums of the layer count twice then. */
static bool counts_twice(const quant_conv *q) {
  rescale r;
  for (int64_t m = 0; m < q->c.filters; m++)
    if (find_rescale(q, m, &r) && r.shift == 32) return true;
  return false;
}

static const char *refuse(const tn_call *call) {
  quant_conv q;
  if (call->inputs[QUANT_X]->rank > 4) return "takes 1 or 2 spatial dims";
  if (quant_conv_make(call, &q)) return "its shapes do not fit";
  if (q.z || (q.bias && q.bias->dtype == TN_F32)) return "takes no residual and no bias in f32";
  if (q.y_dtype == TN_F32) return "gives i8 or u8 only";
  if (!q.w->data || !q.w_scale->data || (q.bias && !q.bias->data) || (q.w_zero && !q.w_zero->data))
    return "takes constant weights, scales, zero points and bias";
  if (q.w_zero && tn_elements(q.w_zero) != 1) return "takes one zero point for all weights";
  if (zero_of(&q) < -128 || zero_of(&q) > 127) return "its zero point of weights is no byte";
  if (depth_of(&q) > INT32_MAX / (255 * 512)) return "its sums may not fit 32 bits";
  rescale r;
  for (int64_t m = 0; m < q.c.filters; m++) {
    if (!find_rescale(&q, m, &r)) return "no integer multiplier rounds as the kernel does";
    if (most_of(&q, m) > INT32_MAX / 2 && counts_twice(&q)) return "its sums may not fit 32 bits";
  }
  return NULL;
}

static bool is_depthwise(const quant_conv *q) {
  return q->c.groups > 1 && q->c.channels == q->c.groups;
}

/* Elements of scratch: of a depthwise one the taps of a filter and a channel with its pads; else
 * three pixels. */
static uint64_t scratch(const tn_call *call) {
  quant_conv q;
  if (quant_conv_make(call, &q)) return 0;
  const tn_window w = tn_window_padded(&q.c.w, 2);
  const int64_t n = is_depthwise(&q) ? q.c.taps + (w.pad_lo[0] + w.in[0] + w.pad_hi[0]) *
                                                      (w.pad_lo[1] + w.in[1] + w.pad_hi[1])
                                     : 3 * padded_depth(&q);
  return sizeof(int16_t) * (uint64_t)n;
}

static void write_rescale(const tn_emit *e, const quant_conv *q) {
  const int twice = counts_twice(q);
  rescale r;
  e->table(e, "static const struct rescale rescale_%u[%d] = {", e->step, (int)q->c.filters);
  for (int64_t m = 0; m < q->c.filters && find_rescale(q, m, &r); m++)
    e->table(e, "%s%s{%d, %d, %d}", m ? "," : "", m % 4 ? " " : "\n    ",
             (int)(r.bias * (1 + twice)), (int)r.multiplier, r.shift - 33 + twice);
  e->table(e, "};\n");
}

static void write_shape(const tn_emit *e, const quant_conv *q) {
  const tn_window w = tn_window_padded(&q->c.w, 2);
  e->table(
      e,
      "static const struct quant_conv quant_conv_%u = {%d, %d, %d, %d, %d, %d, %d, %d, %d, %d,\n",
      e->step, (int)q->c.batch, (int)q->c.groups, (int)(q->c.channels / q->c.groups),
      (int)(q->c.filters / q->c.groups), (int)q->a->x_zero, (int)zero_of(q), (int)q->a->y_zero,
      (int)q->a->lo, (int)q->a->hi, counts_twice(q));
  e->table(e, "    {%d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d, %d}};\n",
           (int)(q->c.batch * q->c.filters), (int)w.in[0], (int)w.in[1], (int)w.out[0],
           (int)w.out[1], (int)w.kernel[0], (int)w.kernel[1], (int)w.stride[0], (int)w.stride[1],
           (int)w.dilation[0], (int)w.dilation[1], (int)w.pad_lo[0], (int)w.pad_lo[1],
           (int)w.pad_hi[0], (int)w.pad_hi[1]);
}

static void write_gather(const tn_emit *e, const char *name, const char *type) {
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

static void write_plane(const tn_emit *e, const char *name, const char *type) {
  e->function(e, name,
              "/* A channel, less the zero point. */\n"
              "static void %s(const struct quant_conv *c, const void *input, int32_t plane,\n"
              "                           int16_t *to) {\n"
              "  const struct window *w = &c->w;\n"
              "  const %s *x = (const %s *)input + plane * w->in_h * w->in_w;\n"
              "  for (int32_t i = 0; i < w->in_h; i++) {\n"
              "    for (int32_t k = 0; k < w->in_w; k++) {\n"
              "      to[k] = (int16_t)(x[k] - c->x_zero);\n"
              "    }\n"
              "    x += w->in_w;\n"
              "    to += w->left + w->in_w + w->right;\n"
              "  }\n"
              "}\n",
              name, type, type);
}

static void write_depthwise(const tn_emit *e, const quant_conv *q, const char *type,
                            const char *weights) {
  const tn_window w = tn_window_padded(&q->c.w, 2);
  const bool is_3x3 =
      w.kernel[0] == 3 && w.kernel[1] == 3 && w.dilation[0] == 1 && w.dilation[1] == 1;
  char read[32];
  snprintf(read, sizeof read, "quant_plane_%s", q->x->dtype == TN_I8 ? "i8" : "u8");
  write_plane(e, read, type);
  if (is_3x3) e->code(e, "emit/quant_pair.c");
  e->code(e, is_3x3 ? "emit/quant_row_3x3.c" : "emit/quant_row.c");
  e->code(e, "emit/quant_depthwise.c");
  e->line(e, "quant_depthwise(&quant_conv_%u, rescale_%u, %s, %s, %s, %s, %s, %s);", e->step,
          e->step, read, is_3x3 ? "quant_row_3x3" : "quant_row", e->input(e, QUANT_X), weights,
          e->output(e, 0), e->scratch(e));
}

/* A weight as it is written, in i8. */
static int8_t weight_of(const quant_conv *q, int64_t index) {
  return (int8_t)(tn_load_i64(q->w->dtype, q->w->data, index) - (q->w->dtype == TN_U8 ? 128 : 0));
}

static const char *plain_weights(const tn_emit *e, const quant_conv *q) {
  const int64_t n = q->c.filters * depth_of(q);
  if (q->w->dtype == TN_I8) return e->input(e, QUANT_W);
  int8_t *to = e->memory(e, (uint64_t)n);
  for (int64_t k = 0; to && k < n; k++) to[k] = weight_of(q, k);
  const tn_tensor t = tn_tensor_make(TN_I8, 1, &n, to);
  return to ? e->constant(e, &t) : "NULL";
}

/* Blocks of two filters, as emit/quant_dots.c reads them. */
static const char *paired_weights(const tn_emit *e, const quant_conv *q) {
  static const int64_t place[4] = {0, 2, 1, 3};
  const int64_t depth = depth_of(q), steps = padded_depth(q);
  const int64_t filters = q->c.filters / q->c.groups, pairs = (filters + 1) / 2;
  const int64_t n = q->c.groups * pairs * 2 * steps;
  int8_t *to = e->memory(e, (uint64_t)n);
  for (int64_t m = 0; to && m < q->c.filters; m++) {
    const int64_t group = m / filters, filter = m % filters;
    int8_t *block = to + (group * pairs + filter / 2) * 2 * steps + filter % 2 * 4;
    for (int64_t k = 0; k < depth; k++)
      block[k / 4 * 8 + place[k % 4]] = weight_of(q, m * depth + k);
  }
  const tn_tensor t = tn_tensor_make(TN_I8, 1, &n, to);
  return to ? e->constant(e, &t) : "NULL";
}

static void emit(const tn_emit *e) {
  quant_conv q;
  if (quant_conv_make(e->call, &q)) return;
  const bool is_signed = q.x->dtype == TN_I8;
  const char *type = is_signed ? "int8_t" : "uint8_t";
  char name[32];
  e->code(e, "code/window.c");
  e->code(e, "code/window_taps.c");
  e->code(e, "emit/quant_conv.c");
  write_rescale(e, &q);
  write_shape(e, &q);
  if (is_depthwise(&q)) {
    write_depthwise(e, &q, type, plain_weights(e, &q));
    return;
  }
  snprintf(name, sizeof name, "quant_gather_%s", is_signed ? "i8" : "u8");
  write_gather(e, name, type);
  e->code(e, "emit/quant_pair.c");
  e->code(e, "emit/quant_dots.c");
  e->code(e, "emit/quant_conv_dense.c");
  e->line(e, "quant_conv(&quant_conv_%u, rescale_%u, %s, %s, %s, %s, %s);", e->step, e->step, name,
          e->input(e, QUANT_X), paired_weights(e, &q), e->output(e, 0), e->scratch(e));
}

static const tn_emitter emitter = {.head = TN_HEAD(tn_emitter),
                                   .kernel = "quant_conv_c",
                                   .refuse = refuse,
                                   .scratch = scratch,
                                   .scratch_type = TN_I16,
                                   .emit = emit};
const tn_emitter *const quant_conv_emitters[] = {&emitter, NULL};
