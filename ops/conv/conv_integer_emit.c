/* ConvInteger as C: its sums are whole, in whatever order they are made, and its zero points may be
 * data of the run. */
#include "conv_integer.h"
#include "tenon/experimental/emit_elementwise.h"
#include "tenon/experimental/emit_window.h"

enum { X, W, X_ZERO, W_ZERO };

static const char *refuse(const tn_call *call) {
  enum { MOST_DEPTH = INT32_MAX / (255 * 255) };
  conv_quant q;
  if (call->inputs[X]->rank > 4) return "takes 1 or 2 spatial dims";
  if (conv_integer_make(call, &q)) return "its shapes do not fit";
  return q.c.channels / q.c.groups * q.c.taps > MOST_DEPTH ? "its sums may not fit 32 bits" : NULL;
}

static void write_function(const tn_emit *e, const char *name) {
  const char *x = tn_emit_c_type(e->call->inputs[X]->dtype);
  const char *w = tn_emit_c_type(e->call->inputs[W]->dtype);
  e->function(
      e, name,
      "/* Zero points may be NULL, which are 0; what lies outside adds nothing. */\n"
      "static void %s(const struct integer_sums *c, const %s *x, const %s *weights,\n"
      "               const %s *x_zero, const %s *w_zero, int32_t *y) {\n"
      "  const struct window *w = &c->w;\n"
      "  const int32_t plane = w->in_h * w->in_w, taps = w->kernel_h * w->kernel_w;\n"
      "  const int32_t x_less = x_zero != NULL ? *x_zero : 0;\n"
      "  for (int32_t at = 0; at < c->images * c->groups * c->filters; at++) {\n"
      "    const int32_t m = at %% (c->groups * c->filters);\n"
      "    const int32_t w_less = w_zero != NULL ? w_zero[m * c->zero_step] : 0;\n"
      "    const %s *image = x + at / c->filters * c->channels * plane;\n"
      "    const %s *own = weights + m * c->channels * taps;\n"
      "    for (int32_t p = 0; p < w->out_h * w->out_w; p++) {\n"
      "      const int32_t top = p / w->out_w * w->stride_h - w->top;\n"
      "      const int32_t left = p %% w->out_w * w->stride_w - w->left;\n"
      "      int32_t h_first, h_end, v_first, v_end, sum = 0;\n"
      "      window_taps(top, w->kernel_h, w->dilation_h, w->in_h, &h_first, &h_end);\n"
      "      window_taps(left, w->kernel_w, w->dilation_w, w->in_w, &v_first, &v_end);\n"
      "      for (int32_t k = 0; k < c->channels; k++) {\n"
      "        for (int32_t h = h_first; h < h_end; h++) {\n"
      "          const int32_t row = k * plane + (top + h * w->dilation_h) * w->in_w + left;\n"
      "          const %s *tap = own + k * taps + h * w->kernel_w;\n"
      "          for (int32_t v = v_first; v < v_end; v++) {\n"
      "            sum += (image[row + v * w->dilation_w] - x_less) * (tap[v] - w_less);\n"
      "          }\n"
      "        }\n"
      "      }\n"
      "      *y = sum;\n"
      "      y++;\n"
      "    }\n"
      "  }\n"
      "}\n",
      name, x, w, x, w, x, w, w);
}

static void emit(const tn_emit *e) {
  conv_quant q;
  char name[40];
  if (conv_integer_make(e->call, &q)) return;
  const tn_window w = tn_window_padded(&q.c.w, 2);
  snprintf(name, sizeof name, "integer_sums_%s_%s", tn_dtype(q.x->dtype)->name,
           tn_dtype(q.w->dtype)->name);
  e->code(e, "code/window.c");
  e->code(e, "code/window_taps.c");
  e->code(e, "emit/integer_sums.c");
  write_function(e, name);
  e->table(e,
           "static const struct integer_sums integer_sums_%u = {\n"
           "    .images = %d, .groups = %d, .channels = %d, .filters = %d, .zero_step = %d,\n"
           "    .w = ",
           e->step, (int)q.c.batch, (int)q.c.groups, (int)(q.c.channels / q.c.groups),
           (int)(q.c.filters / q.c.groups), q.w_zero && tn_elements(q.w_zero) > 1);
  tn_emit_window(e, &w, q.c.batch * q.c.filters);
  e->table(e, "};\n");
  e->line(e, "%s(&integer_sums_%u, %s, %s, %s, %s, %s);", name, e->step, e->input(e, X),
          e->input(e, W), e->input(e, X_ZERO), e->input(e, W_ZERO), e->output(e, 0));
}

static const tn_emitter emitter = {
    .head = TN_HEAD(tn_emitter), .kernel = "conv_integer_c", .refuse = refuse, .emit = emit};
const tn_emitter *const conv_integer_emitters[] = {&emitter, NULL};
