/* QuantConv as C, in 32-bit integers (tenon/experimental/emit_quant.h); where its sums become f32,
 * by loops of its own. */
#include "quant_conv.h"
#include "tenon/experimental/emit_quant.h"

static const quant_conv *conv_of(const tn_emit_quant *q) { return q->op; }

/* ---- numbers ---- */

static int64_t depth_of(const quant_conv *q) { return q->c.channels / q->c.groups * q->c.taps; }

/* What the convolution answers before a residual is added. */
static int64_t wanted(const tn_emit_quant *q, int64_t filter, int64_t sum) {
  quant_conv alone = *conv_of(q);
  alone.z = NULL;
  return (int64_t)quant_conv_finish(&alone, filter, filter * alone.c.out_size, sum);
}

static double sum_scale(const quant_conv *q, int64_t filter) {
  return (double)(float)q->a->x_scale * quant_conv_scale(q, filter);
}

static double scale(const tn_emit_quant *q, int64_t filter) {
  return sum_scale(conv_of(q), filter) / (float)conv_of(q)->a->y_scale;
}

static double bias(const tn_emit_quant *q, int64_t filter) {
  const quant_conv *c = conv_of(q);
  return (double)quant_conv_first(c, filter) + quant_conv_bias(c, filter) / sum_scale(c, filter);
}

/* What weights and zero points are less as they are written, in i8. */
static int64_t moved_by(const quant_conv *q) { return q->w->dtype == TN_U8 ? 128 : 0; }

static int64_t weight(const tn_emit_quant *q, int64_t filter, int64_t k) {
  const quant_conv *c = conv_of(q);
  return tn_load_i64(c->w->dtype, c->w->data, filter * depth_of(c) + k) - moved_by(c);
}

static tn_emit_quant numbers_of(const quant_conv *q) {
  const tn_emit_quant n = {
      .op = q,
      .wanted = wanted,
      .scale = scale,
      .bias = bias,
      .weight = weight,
      .images = q->c.batch,
      .groups = q->c.groups,
      .channels = q->c.channels / q->c.groups,
      .filters = q->c.filters / q->c.groups,
      .x_zero = q->a->x_zero,
      .w_zero = (q->w_zero ? tn_load_i64(q->w_zero->dtype, q->w_zero->data, 0) : 0) - moved_by(q),
      .y_zero = q->a->y_zero,
      .lo = q->a->lo,
      .hi = q->a->hi,
      .x_signed = q->x->dtype == TN_I8,
      .w = tn_window_padded(&q->c.w, 2)};
  return n;
}

/* ---- refusals ---- */

static bool is_constant(const tn_tensor *t) { return !t || t->data; }

static bool is_depthwise(const quant_conv *q) {
  return q->c.groups > 1 && q->c.channels == q->c.groups;
}

/* A residual is added to what the convolution has written. */
static const char *refuse_residual(const quant_conv *q) {
  const int64_t least = q->y_dtype == TN_I8 ? -128 : 0;
  if (q->a->lo < least || q->a->hi > least + 255) return "its sums before the residual are no byte";
  return q->z->dtype == q->y_dtype ? NULL : "takes a residual of the type of its output";
}

/* Sums of 32 bits: half of the room for the products, half for the bias. */
static const char *refuse_float(const quant_conv *q) {
  enum { MOST_DEPTH = INT32_MAX / (255 * 255) / 2, MOST_BIAS = INT32_MAX / 2 };
  if (q->z) return "takes a residual of the type of its output";
  for (int64_t m = 0; m < q->c.filters; m++)
    if (depth_of(q) > MOST_DEPTH || quant_conv_first(q, m) > MOST_BIAS ||
        quant_conv_first(q, m) < -MOST_BIAS)
      return "its sums may not fit 32 bits";
  return NULL;
}

static const char *refuse(const tn_call *call) {
  quant_conv q;
  if (call->inputs[QUANT_X]->rank > 4) return "takes 1 or 2 spatial dims";
  if (quant_conv_make(call, &q)) return "its shapes do not fit";
  if (!q.w->data || !q.w_scale->data || !is_constant(q.bias) || !is_constant(q.w_zero))
    return "takes constant weights, scales, zero points and bias";
  if (q.w_zero && tn_elements(q.w_zero) != 1) return "takes one zero point for all weights";
  if (q.y_dtype == TN_F32) return refuse_float(&q);
  const char *why = q.z ? refuse_residual(&q) : NULL;
  const tn_emit_quant n = numbers_of(&q);
  return why ? why : tn_emit_quant_refuse(&n);
}

/* Of a depthwise one the taps of a filter and a channel with its pads. */
static uint64_t scratch(const tn_call *call) {
  quant_conv q;
  if (quant_conv_make(call, &q) || q.y_dtype == TN_F32) return 0;
  const tn_emit_quant n = numbers_of(&q);
  if (!is_depthwise(&q)) return tn_emit_quant_scratch(&n);
  const tn_window *w = &n.w;
  return sizeof(int16_t) * (uint64_t)(q.c.taps + (w->pad_lo[0] + w->in[0] + w->pad_hi[0]) *
                                                     (w->pad_lo[1] + w->in[1] + w->pad_hi[1]));
}

/* ---- depthwise ---- */

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

static const char *plain_weights(const tn_emit *e, const quant_conv *q) {
  const tn_emit_quant n = numbers_of(q);
  const int64_t each = depth_of(q), size = q->c.filters * each;
  if (q->w->dtype == TN_I8) return e->input(e, QUANT_W);
  int8_t *to = e->memory(e, (uint64_t)size);
  for (int64_t k = 0; to && k < size; k++) to[k] = (int8_t)weight(&n, k / each, k % each);
  const tn_tensor t = tn_tensor_make(TN_I8, 1, &size, to);
  return to ? e->constant(e, &t) : "NULL";
}

static void write_depthwise(const tn_emit *e, const quant_conv *q) {
  const tn_emit_quant n = numbers_of(q);
  const tn_window *w = &n.w;
  const bool is_3x3 =
      w->kernel[0] == 3 && w->kernel[1] == 3 && w->dilation[0] == 1 && w->dilation[1] == 1;
  const char *read = n.x_signed ? "quant_plane_i8" : "quant_plane_u8";
  tn_emit_quant_tables(e, &n);
  write_plane(e, read, n.x_signed ? "int8_t" : "uint8_t");
  if (is_3x3) e->code(e, "emit/quant_pair.c");
  e->code(e, is_3x3 ? "emit/quant_row_3x3.c" : "emit/quant_row.c");
  e->code(e, "emit/quant_depthwise.c");
  e->line(e, "quant_depthwise(&quant_conv_%u, rescale_%u, %s, %s, %s, %s, %s, %s);", e->step,
          e->step, read, is_3x3 ? "quant_row_3x3" : "quant_row", e->input(e, QUANT_X),
          plain_weights(e, q), e->output(e, 0), e->scratch(e));
}

/* ---- the residual ---- */

static void write_residual(const tn_emit *e, const quant_conv *q) {
  const bool is_signed = q->y_dtype == TN_I8;
  const char *name = is_signed ? "quant_residual_i8" : "quant_residual_u8";
  const tn_quant_conv_attrs *a = q->a;
  const int64_t least = is_signed ? -128 : 0;
  char y_scale[TN_EMIT_NUMBER], z_scale[TN_EMIT_NUMBER], sum_scale[TN_EMIT_NUMBER];
  e->code(e, "emit/quant_residual.c");
  e->function(e, name,
              "/* y = the codes of y + z. */\n"
              "static void %s(const struct quant_residual *s, const %s *z, %s *y, int32_t n) {\n"
              "  for (int32_t k = 0; k < n; k++) {\n"
              "    y[k] = (%s)quant_residual_sum(s, y[k], z[k]);\n"
              "  }\n"
              "}\n",
              name, is_signed ? "int8_t" : "uint8_t", is_signed ? "int8_t" : "uint8_t",
              is_signed ? "int8_t" : "uint8_t");
  e->table(e,
           "static const struct quant_residual quant_residual_%u = {\n"
           "    .y_zero = %d, .z_zero = %d, .zero = %d, .least = %d, .most = %d,\n"
           "    .y_scale = %s, .z_scale = %s, .scale = %s};\n",
           e->step, (int)a->y_zero, (int)a->z_zero, (int)a->sum_zero,
           (int)tn_max_i64(a->sum_lo, least), (int)tn_min_i64(a->sum_hi, least + 255),
           tn_emit_double((double)(float)a->y_scale, y_scale),
           tn_emit_double((double)(float)a->z_scale, z_scale),
           tn_emit_double((double)(float)a->sum_scale, sum_scale));
  e->line(e, "%s(&quant_residual_%u, %s, %s, %d);", name, e->step, e->input(e, QUANT_Z),
          e->output(e, 0), (int)tn_elements(e->call->outputs[0]));
}

/* ---- sums that become f32 ---- */

static void write_float_loops(const tn_emit *e, const char *name, const char *x, const char *w) {
  e->function(
      e, name,
      "/* Output by output: the products of the window and the filter, less their zero points. */\n"
      "static void %s(const struct quant_sums *c, const struct quant_filter *filter,\n"
      "                             const %s *x, const %s *weights, float *y) {\n"
      "  const struct window *w = &c->w;\n"
      "  const int32_t plane = w->in_h * w->in_w;\n"
      "  for (int32_t at = 0; at < c->images * c->groups * c->filters; at++) {\n"
      "    const int32_t m = at %% (c->groups * c->filters);\n"
      "    const %s *from = x + at / c->filters * c->channels * plane;\n"
      "    const %s *own = weights + m * c->channels * w->kernel_h * w->kernel_w;\n"
      "    for (int32_t p = 0; p < w->out_h * w->out_w; p++) {\n"
      "      const int32_t top = p / w->out_w * w->stride_h - w->top;\n"
      "      const int32_t left = p %% w->out_w * w->stride_w - w->left;\n"
      "      int32_t sum = filter[m].first;\n"
      "      for (int32_t k = 0; k < c->channels * w->kernel_h * w->kernel_w; k++) {\n"
      "        const int32_t i = top + k / w->kernel_w %% w->kernel_h * w->dilation_h;\n"
      "        const int32_t j = left + k %% w->kernel_w * w->dilation_w;\n"
      "        if (i >= 0 && i < w->in_h && j >= 0 && j < w->in_w) {\n"
      "          const int32_t channel = k / (w->kernel_h * w->kernel_w);\n"
      "          sum += (from[channel * plane + i * w->in_w + j] - c->x_zero) *\n"
      "                 (own[k] - c->w_zero);\n"
      "        }\n"
      "      }\n"
      "      *y++ = quant_sum_value(c, &filter[m], sum);\n"
      "    }\n"
      "  }\n"
      "}\n",
      name, x, w, x, w);
}

static void write_float_tables(const tn_emit *e, const quant_conv *q) {
  const tn_emit_quant n = numbers_of(q);
  char text[2][TN_EMIT_NUMBER];
  e->table(e, "static const struct quant_filter quant_filter_%u[%d] = {", e->step,
           (int)q->c.filters);
  for (int64_t m = 0; m < q->c.filters; m++)
    e->table(e, "%s{%d, %s, %s}", m ? ",\n    " : "\n    ", (int)quant_conv_first(q, m),
             tn_emit_float((float)quant_conv_scale(q, m), text[0]),
             tn_emit_float((float)quant_conv_bias(q, m), text[1]));
  e->table(e,
           "};\nstatic const struct quant_sums quant_sums_%u = {\n"
           "    .images = %d, .groups = %d, .channels = %d, .filters = %d,\n"
           "    .x_zero = %d, .w_zero = %d, .x_scale = %s,\n"
           "    .w = ",
           e->step, (int)n.images, (int)n.groups, (int)n.channels, (int)n.filters, (int)n.x_zero,
           (int)(n.w_zero + moved_by(q)), tn_emit_float((float)q->a->x_scale, text[0]));
  tn_emit_window(e, &n.w, n.images * n.groups * n.filters);
  e->table(e, "};\n");
}

static void write_float(const tn_emit *e, const quant_conv *q) {
  const bool x_signed = q->x->dtype == TN_I8, w_signed = q->w->dtype == TN_I8;
  const char *name = x_signed   ? w_signed ? "quant_sums_i8_i8" : "quant_sums_i8_u8"
                     : w_signed ? "quant_sums_u8_i8"
                                : "quant_sums_u8_u8";
  e->code(e, "code/window.c");
  e->code(e, "emit/quant_sums.c");
  write_float_loops(e, name, x_signed ? "int8_t" : "uint8_t", w_signed ? "int8_t" : "uint8_t");
  write_float_tables(e, q);
  e->line(e, "%s(&quant_sums_%u, quant_filter_%u, %s, %s, %s);", name, e->step, e->step,
          e->input(e, QUANT_X), e->input(e, QUANT_W), e->output(e, 0));
}

static void emit(const tn_emit *e) {
  quant_conv q;
  if (quant_conv_make(e->call, &q)) return;
  if (q.y_dtype == TN_F32) {
    write_float(e, &q);
    return;
  }
  const tn_emit_quant n = numbers_of(&q);
  if (is_depthwise(&q))
    write_depthwise(e, &q);
  else
    tn_emit_quant_dense(e, &n, e->input(e, QUANT_X));
  if (q.z) write_residual(e, &q);
}

static const tn_emitter emitter = {.head = TN_HEAD(tn_emitter),
                                   .kernel = "quant_conv_c",
                                   .refuse = refuse,
                                   .scratch = scratch,
                                   .scratch_type = TN_I16,
                                   .emit = emit};
const tn_emitter *const quant_conv_emitters[] = {&emitter, NULL};
