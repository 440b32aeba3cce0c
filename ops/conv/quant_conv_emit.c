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
  return (int64_t)quant_conv_finish(q, filter * q->c.out_size, sum - quant_conv_first(q, filter));
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
  }
  return NULL;
}

static bool is_depthwise(const quant_conv *q) {
  return q->c.groups > 1 && q->c.channels == q->c.groups;
}

static uint64_t scratch(const tn_call *call) {
  quant_conv q;
  if (quant_conv_make(call, &q) || is_depthwise(&q)) return 0;
  return 2 * sizeof(int16_t) * (uint64_t)(q.c.channels / q.c.groups * q.c.taps);
}

static void write_rescale(const tn_emit *e, const quant_conv *q) {
  rescale r;
  e->table(e, "static const struct rescale rescale_%u[%d] = {", e->step, (int)q->c.filters);
  for (int64_t m = 0; m < q->c.filters && find_rescale(q, m, &r); m++)
    e->table(e, "%s%s{%d, %d, %d}", m ? "," : "", m % 4 ? " " : "\n    ", (int)r.bias,
             (int)r.multiplier, r.shift - 32);
  e->table(e, "};\n");
}

static void write_shape(const tn_emit *e, const quant_conv *q) {
  const tn_window w = tn_window_padded(&q->c.w, 2);
  e->table(e,
           "static const struct quant_conv quant_conv_%u = {%d, %d, %d, %d, %d, %d, %d, %d, %d,\n",
           e->step, (int)q->c.batch, (int)q->c.groups, (int)(q->c.channels / q->c.groups),
           (int)(q->c.filters / q->c.groups), (int)q->a->x_zero, (int)zero_of(q), (int)q->a->y_zero,
           (int)q->a->lo, (int)q->a->hi);
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

/* weight: C of a weight less its zero point. */
static void write_depthwise(const tn_emit *e, const char *name, const char *type,
                            const char *weight) {
  e->function(
      e, name,
      "/* Filters that see one channel each, c->filters of them the same one. */\n"
      "static void %s(const struct quant_conv *c, const struct rescale *r, const %s *x,\n"
      "               const int8_t *weights, void *output) {\n"
      "  const struct window *w = &c->w;\n"
      "  uint8_t *y = output;\n"
      "  int32_t h, h_end, v, v_end;\n"
      "  for (int32_t o = 0; o < w->planes * w->out_h; o++) {\n"
      "    const int32_t plane = o / w->out_h, filter = plane %% (c->groups * c->filters);\n"
      "    const int32_t top = o %% w->out_h * w->stride_h - w->top;\n"
      "    window_taps(top, w->kernel_h, w->dilation_h, w->in_h, &h, &h_end);\n"
      "    const %s *from = x + (plane / c->filters * w->in_h + top + h * w->dilation_h) * "
      "w->in_w;\n"
      "    const int8_t *taps = weights + (filter * w->kernel_h + h) * w->kernel_w;\n"
      "    for (int32_t column = 0; column < w->out_w; column++) {\n"
      "      const int32_t left = column * w->stride_w - w->left;\n"
      "      const int8_t *tap = taps;\n"
      "      int32_t sum = 0;\n"
      "      window_taps(left, w->kernel_w, w->dilation_w, w->in_w, &v, &v_end);\n"
      "      for (int32_t i = 0; i < h_end - h; i++) {\n"
      "        const %s *row = from + i * w->dilation_h * w->in_w + left;\n"
      "        for (int32_t k = v; k < v_end; k++) {\n"
      "          sum += %s * (row[k * w->dilation_w] - c->x_zero);\n"
      "        }\n"
      "        tap += w->kernel_w;\n"
      "      }\n"
      "      *y = quant_output(c, &r[filter], sum);\n"
      "      y++;\n"
      "    }\n"
      "  }\n"
      "}\n",
      name, type, type, type, weight);
}

static void emit(const tn_emit *e) {
  quant_conv q;
  if (quant_conv_make(e->call, &q)) return;
  const bool is_signed = q.x->dtype == TN_I8, has_zero = zero_of(&q) != 0;
  const char *type = is_signed ? "int8_t" : "uint8_t",
             *weights = q.w->dtype == TN_I8 ? e->input(e, QUANT_W) : e->input_i8(e, QUANT_W);
  char name[32];
  e->code(e, "code/window.c");
  e->code(e, "code/window_taps.c");
  e->code(e, "emit/quant_conv.c");
  write_rescale(e, &q);
  write_shape(e, &q);
  if (is_depthwise(&q)) {
    snprintf(name, sizeof name, "quant_depthwise_%s%s", is_signed ? "i8" : "u8",
             has_zero ? "_zero" : "");
    write_depthwise(e, name, type, has_zero ? "(tap[k] - c->w_zero)" : "tap[k]");
    e->line(e, "%s(&quant_conv_%u, rescale_%u, %s, %s, %s);", name, e->step, e->step,
            e->input(e, QUANT_X), weights, e->output(e, 0));
    return;
  }
  snprintf(name, sizeof name, "quant_gather_%s", is_signed ? "i8" : "u8");
  write_gather(e, name, type);
  e->code(e, "emit/quant_conv_dense.c");
  e->line(e, "quant_conv(&quant_conv_%u, rescale_%u, %s, %s, %s, %s, %s);", e->step, e->step, name,
          e->input(e, QUANT_X), weights, e->output(e, 0), e->scratch(e));
}

static const tn_emitter emitter = {.head = TN_HEAD(tn_emitter),
                                   .kernel = "quant_conv_c",
                                   .refuse = refuse,
                                   .scratch = scratch,
                                   .scratch_type = TN_I16,
                                   .emit = emit};
const tn_emitter *const quant_conv_emitters[] = {&emitter, NULL};
