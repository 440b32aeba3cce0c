/* Pools as C, for one and two spatial dims, and the global mean. */
#include "pool_shape.h"
#include "tenon/experimental/emit_window.h"

static const char *refuse(const tn_call *call) {
  return call->inputs[0]->rank > 4 ? "takes 1 or 2 spatial dims" : NULL;
}

static void window_emit(const tn_emit *e, const pool_shape *p) {
  const tn_window w = tn_window_padded(&p->w, 2);
  e->code(e, "code/window.c");
  e->code(e, "code/window_taps.c");
  e->table(e, "static const struct window window_%u = ", e->step);
  tn_emit_window(e, &w, p->channels);
  e->table(e, ";\n");
}

static void max_emit(const tn_emit *e) {
  pool_shape p;
  if (max_pool_shape(e->call, &p)) return;
  window_emit(e, &p);
  e->code(e, "emit/max_pool.c");
  e->line(e, "max_pool(&window_%u, %s, %s);", e->step, e->input(e, 0), e->output(e, 0));
}

/* Of 8-bit values, signed or not. */
static void max_byte_emit(const tn_emit *e) {
  const bool is_signed = e->call->inputs[0]->dtype == TN_I8;
  const char *type = is_signed ? "int8_t" : "uint8_t";
  const char *name = is_signed ? "max_pool_i8" : "max_pool_u8";
  pool_shape p;
  if (max_pool_shape(e->call, &p)) return;
  window_emit(e, &p);
  e->function(e, name,
              "/* The largest 8-bit element of each window; the least there is where a window has "
              "none. */\n"
              "static void %s(const struct window *w, const %s *x, %s *y) {\n"
              "  for (int32_t plane = 0; plane < w->planes; plane++) {\n"
              "    for (int32_t o = 0; o < w->out_h * w->out_w; o++) {\n"
              "      const int32_t top = o / w->out_w * w->stride_h - w->top;\n"
              "      const int32_t left = o %% w->out_w * w->stride_w - w->left;\n"
              "      int32_t h, h_end, v_first, v_end;\n"
              "      %s most = %s;\n"
              "      window_taps(top, w->kernel_h, w->dilation_h, w->in_h, &h, &h_end);\n"
              "      window_taps(left, w->kernel_w, w->dilation_w, w->in_w, &v_first, &v_end);\n"
              "      for (; h < h_end; h++) {\n"
              "        const int32_t row = (top + h * w->dilation_h) * w->in_w + left;\n"
              "        for (int32_t v = v_first; v < v_end; v++) {\n"
              "          const %s tap = x[row + v * w->dilation_w];\n"
              "          most = tap > most ? tap : most;\n"
              "        }\n"
              "      }\n"
              "      *y = most;\n"
              "      y++;\n"
              "    }\n"
              "    x += w->in_h * w->in_w;\n"
              "  }\n"
              "}\n",
              name, type, type, type, is_signed ? "INT8_MIN" : "0", type);
  e->line(e, "%s(&window_%u, %s, %s);", name, e->step, e->input(e, 0), e->output(e, 0));
}

/* The C type of elements, and the least there is. */
static const struct element {
  uint32_t dtype;
  const char *type, *least;
} elements[] = {{TN_F32, "float", "-INFINITY"},
                {TN_F64, "double", "-(double)INFINITY"},
                {TN_I8, "int8_t", "INT8_MIN"},
                {TN_U8, "uint8_t", "0"}};

static void indices_emit(const tn_emit *e) {
  const bool by_column = ((const tn_max_pool_attrs *)e->call->attrs)->storage_order != 0;
  const struct element *x = elements;
  pool_shape p;
  char name[48];
  if (max_pool_shape(e->call, &p)) return;
  while (x->dtype != e->call->inputs[0]->dtype) x++;
  window_emit(e, &p);
  snprintf(name, sizeof name, "max_pool_indices_%s", tn_dtype(x->dtype)->name);
  e->function(e, name,
              "/* The largest element of each window and its index in x, where rows are counted\n"
              " * along the other dim if by_column is set; -1 where a window has no element. */\n"
              "static void %s(const struct window *w, int32_t by_column, const %s *x, %s *y,\n"
              "               int64_t *index) {\n"
              "  for (int32_t plane = 0; plane < w->planes; plane++) {\n"
              "    const int32_t first = plane * w->in_h * w->in_w;\n"
              "    for (int32_t o = 0; o < w->out_h * w->out_w; o++) {\n"
              "      const int32_t top = o / w->out_w * w->stride_h - w->top;\n"
              "      const int32_t left = o %% w->out_w * w->stride_w - w->left;\n"
              "      int32_t h, h_end, v_first, v_end, place = -1;\n"
              "      %s most = %s;\n"
              "      window_taps(top, w->kernel_h, w->dilation_h, w->in_h, &h, &h_end);\n"
              "      window_taps(left, w->kernel_w, w->dilation_w, w->in_w, &v_first, &v_end);\n"
              "      for (; h < h_end; h++) {\n"
              "        const int32_t row = (top + h * w->dilation_h) * w->in_w + left;\n"
              "        for (int32_t v = v_first; v < v_end; v++) {\n"
              "          const int32_t at = row + v * w->dilation_w;\n"
              "          place = place < 0 || x[first + at] > most ? at : place;\n"
              "          most = x[first + at] > most ? x[first + at] : most;\n"
              "        }\n"
              "      }\n"
              "      *y = most;\n"
              "      y++;\n"
              "      if (by_column != 0 && place >= 0) {\n"
              "        place = place %% w->in_w * w->in_h + place / w->in_w;\n"
              "      }\n"
              "      *index = place < 0 ? -1 : first + place;\n"
              "      index++;\n"
              "    }\n"
              "  }\n"
              "}\n",
              name, x->type, x->type, x->type, x->least);
  e->line(e, "%s(&window_%u, %d, %s, %s, %s);", name, e->step, by_column, e->input(e, 0),
          e->output(e, 0), e->output(e, 1));
}

static void average_emit(const tn_emit *e) {
  pool_shape p;
  if (average_pool_shape(e->call, &p)) return;
  window_emit(e, &p);
  e->code(e, "emit/average_pool.c");
  e->line(e, "average_pool(&window_%u, %d, %s, %s);", e->step,
          ((const tn_average_pool_attrs *)e->call->attrs)->count_include_pad != 0, e->input(e, 0),
          e->output(e, 0));
}

static void quant_average_emit(const tn_emit *e) {
  const tn_quant_average_pool_attrs *a = e->call->attrs;
  const uint32_t dtype = e->call->inputs[0]->dtype;
  const char *type = dtype == TN_I8 ? "int8_t" : dtype == TN_U8 ? "uint8_t" : "int16_t";
  const char *name = dtype == TN_I8   ? "average_pool_i8"
                     : dtype == TN_U8 ? "average_pool_u8"
                                      : "average_pool_i16";
  pool_shape p;
  if (quant_average_shape(e->call, &p)) return;
  window_emit(e, &p);
  e->function(e, name,
              "/* The mean of each window of codes, halves away from zero. */\n"
              "static void %s(const struct window *w, int32_t least, int32_t most, const %s *x,\n"
              "                            %s *y) {\n"
              "  for (int32_t plane = 0; plane < w->planes; plane++) {\n"
              "    for (int32_t o = 0; o < w->out_h * w->out_w; o++) {\n"
              "      const int32_t top = o / w->out_w * w->stride_h - w->top;\n"
              "      const int32_t left = o %% w->out_w * w->stride_w - w->left;\n"
              "      int32_t h, h_end, v, v_end, sum = 0;\n"
              "      window_taps(top, w->kernel_h, w->dilation_h, w->in_h, &h, &h_end);\n"
              "      window_taps(left, w->kernel_w, w->dilation_w, w->in_w, &v, &v_end);\n"
              "      const int32_t n = (h_end - h) * (v_end - v);\n"
              "      for (; h < h_end; h++) {\n"
              "        const int32_t row = (top + h * w->dilation_h) * w->in_w + left;\n"
              "        for (int32_t k = v; k < v_end; k++) {\n"
              "          sum += x[row + k * w->dilation_w];\n"
              "        }\n"
              "      }\n"
              "      const int32_t twice = 2 * (sum < 0 ? -sum : sum);\n"
              "      const int32_t size = n != 0 ? (twice + n) / (2 * n) : 0;\n"
              "      const int32_t mean = sum < 0 ? -size : size;\n"
              "      *y = (%s)(mean < least ? least : mean > most ? most : mean);\n"
              "      y++;\n"
              "    }\n"
              "    x += w->in_h * w->in_w;\n"
              "  }\n"
              "}\n",
              name, type, type, type);
  e->line(e, "%s(&window_%u, %d, %d, %s, %s);", name, e->step, (int)a->lo, (int)a->hi,
          e->input(e, 0), e->output(e, 0));
}

static void global_average_emit(const tn_emit *e) {
  const tn_tensor *x = e->call->inputs[0];
  e->code(e, "emit/global_average_pool.c");
  e->line(e, "global_average_pool(%s, %s, %d, %d);", e->input(e, 0), e->output(e, 0),
          (int)(x->shape[0] * x->shape[1]), (int)tn_dims_size(x->shape + 2, x->rank - 2));
}

static void global_max_emit(const tn_emit *e) {
  const tn_tensor *x = e->call->inputs[0];
  e->code(e, "emit/global_max_pool.c");
  e->line(e, "global_max_pool(%s, %s, %d, %d);", e->input(e, 0), e->output(e, 0),
          (int)(x->shape[0] * x->shape[1]), (int)tn_dims_size(x->shape + 2, x->rank - 2));
}

static const tn_emitter max_emitter = {
    .head = TN_HEAD(tn_emitter), .kernel = "max_pool_f32_c", .refuse = refuse, .emit = max_emit};
static const tn_emitter max_i8_emitter = {.head = TN_HEAD(tn_emitter),
                                          .kernel = "max_pool_i8_c",
                                          .refuse = refuse,
                                          .emit = max_byte_emit};
static const tn_emitter max_u8_emitter = {.head = TN_HEAD(tn_emitter),
                                          .kernel = "max_pool_u8_c",
                                          .refuse = refuse,
                                          .emit = max_byte_emit};
static const tn_emitter average_emitter = {.head = TN_HEAD(tn_emitter),
                                           .kernel = "average_pool_f32_c",
                                           .refuse = refuse,
                                           .emit = average_emit};
static const tn_emitter quant_average_emitter = {.head = TN_HEAD(tn_emitter),
                                                 .kernel = "quant_average_pool_c",
                                                 .refuse = refuse,
                                                 .emit = quant_average_emit};
static const tn_emitter global_average_emitter = {.head = TN_HEAD(tn_emitter),
                                                  .kernel = "global_average_pool_f32_c",
                                                  .emit = global_average_emit};
static const tn_emitter global_max_emitter = {
    .head = TN_HEAD(tn_emitter), .kernel = "global_max_pool_f32_c", .emit = global_max_emit};
#define INDICES(type)                                                                           \
  static const tn_emitter indices_##type##_emitter = {.head = TN_HEAD(tn_emitter),              \
                                                      .kernel = "max_pool_indices_" #type "_c", \
                                                      .refuse = refuse,                         \
                                                      .emit = indices_emit};
INDICES(f32)
INDICES(f64)
INDICES(i8)
INDICES(u8)

const tn_emitter *const pool_emitters[] = {
    &max_emitter,           &max_i8_emitter,         &max_u8_emitter,     &indices_f32_emitter,
    &indices_f64_emitter,   &indices_i8_emitter,     &indices_u8_emitter, &average_emitter,
    &quant_average_emitter, &global_average_emitter, &global_max_emitter, NULL};
