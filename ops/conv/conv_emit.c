/* Convolutions as C: conv_f32_c, conv_depthwise_f32_c and conv_transpose_f32_c for one and two
 * spatial dims. */
#include "conv_transpose.h"
#include "tenon/experimental/emit_window.h"

enum { BLOCK = 384 }; /* TN_GEMM_KC: where the kernel adds up */

static const char *refuse(const tn_call *call) {
  return call->inputs[0]->rank > 4 ? "takes 1 or 2 spatial dims" : NULL;
}

static conv_shape shape_of(const tn_call *call) {
  conv_shape c = {0};
  (void)conv_shape_make(call, &c); /* it was planned */
  c.w = tn_window_padded(&c.w, 2);
  return c;
}

/* Windows are pixels, in order. */
static bool is_direct(const tn_window *w) {
  bool direct = true;
  for (int32_t k = 0; k < 2; k++)
    direct = direct && w->kernel[k] == 1 && w->stride[k] == 1 && !w->pad_lo[k] && !w->pad_hi[k];
  return direct;
}

static uint64_t conv_scratch(const tn_call *call) {
  const conv_shape c = shape_of(call);
  if (is_direct(&c.w) && c.out_size % 4 == 0) return 0;
  return 4 * sizeof(float) * (uint64_t)tn_min_i64(BLOCK, c.channels / c.groups * c.taps);
}

static void conv_emit(const tn_emit *e) {
  const conv_shape c = shape_of(e->call);
  e->code(e, "code/tile_1x4.c");
  e->code(e, "code/tile_rows.c");
  e->code(e, "code/window.c");
  e->code(e, "emit/conv.c");
  e->table(e,
           "static const struct conv conv_%u = {\n"
           "    .images = %d, .groups = %d, .channels = %d, .filters = %d, .direct = %d,\n"
           "    .w = ",
           e->step, (int)c.batch, (int)c.groups, (int)(c.channels / c.groups),
           (int)(c.filters / c.groups), is_direct(&c.w));
  tn_emit_window(e, &c.w, c.batch * c.filters);
  e->table(e, "};\n");
  e->line(e, "conv(&conv_%u, %s, %s, %s, %s, %s);", e->step, e->input(e, 0), e->input(e, 1),
          e->input(e, 2), e->output(e, 0), e->scratch(e));
}

static void depthwise_emit(const tn_emit *e) {
  const conv_shape c = shape_of(e->call);
  e->code(e, "code/window.c");
  e->code(e, "code/window_taps.c");
  e->code(e, "emit/depthwise.c");
  e->table(e, "static const struct window window_%u = ", e->step);
  tn_emit_window(e, &c.w, c.batch * c.filters);
  e->table(e, ";\n");
  e->line(e, "depthwise(&window_%u, %d, %d, %s, %s, %s, %s);", e->step, (int)c.channels,
          (int)(c.filters / c.channels), e->input(e, 0), e->input(e, 1), e->input(e, 2),
          e->output(e, 0));
}

static void transpose_emit(const tn_emit *e) {
  conv_shape c = {0};
  (void)conv_transpose_shape(e->call, &c); /* it was planned */
  const tn_window w = tn_window_padded(&c.w, 2);
  e->code(e, "code/window.c");
  e->code(e, "emit/conv_transpose.c");
  e->table(e,
           "static const struct conv_transpose conv_transpose_%u = {\n"
           "    .batch = %d, .groups = %d, .channels = %d, .filters = %d,\n"
           "    .w = ",
           e->step, (int)c.batch, (int)c.groups, (int)(c.channels / c.groups),
           (int)(c.filters / c.groups));
  tn_emit_window(e, &w, c.batch * c.filters);
  e->table(e, "};\n");
  e->line(e, "conv_transpose(&conv_transpose_%u, %s, %s, %s, %s);", e->step, e->input(e, 0),
          e->input(e, 1), e->input(e, 2), e->output(e, 0));
}

static const tn_emitter conv_emitter = {.head = TN_HEAD(tn_emitter),
                                        .kernel = "conv_f32_c",
                                        .refuse = refuse,
                                        .scratch = conv_scratch,
                                        .emit = conv_emit};
static const tn_emitter depthwise_emitter = {.head = TN_HEAD(tn_emitter),
                                             .kernel = "conv_depthwise_f32_c",
                                             .refuse = refuse,
                                             .emit = depthwise_emit};
static const tn_emitter transpose_emitter = {.head = TN_HEAD(tn_emitter),
                                             .kernel = "conv_transpose_f32_c",
                                             .refuse = refuse,
                                             .emit = transpose_emit};
const tn_emitter *const conv_emitters[] = {&conv_emitter, &depthwise_emitter, &transpose_emitter,
                                           NULL};
