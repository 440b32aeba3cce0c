/* FixedScale, FixedSvdf, FixedLstm and FixedSoftmax as C: the integers of their kernels. */
#include "fixed_lstm.h"
#include "fixed_softmax.h"
#include "fixed_svdf.h"
#include "tenon/experimental/emit_c.h"

/* A multiplier of FixedScale as C: times 2^left before it, times 2^-right behind it. */
static void scale_text(const tn_emit *e, tn_ints multipliers, tn_ints shifts, int64_t k,
                       int64_t before) {
  const int64_t shift = shifts.data[k];
  e->table(e, "{%lld, %lld, %lld}", (long long)multipliers.data[k],
           (long long)(before + (shift > 0 ? shift : 0)), (long long)(shift < 0 ? -shift : 0));
}

static const char *type_of(const tn_tensor *t) {
  return t->dtype == TN_I8    ? "int8_t"
         : t->dtype == TN_U8  ? "uint8_t"
         : t->dtype == TN_I16 ? "int16_t"
                              : "int32_t";
}

/* ---- FixedScale ---- */

static const char *refuse_scale(const tn_call *call) {
  return call->inputs[0]->dtype == TN_I32 ? NULL : "takes i32 only";
}

static void emit_scale(const tn_emit *e) {
  const tn_fixed_scale_attrs *a = e->call->attrs;
  const tn_tensor *x = e->call->inputs[0];
  const char *type = type_of(e->call->outputs[0]);
  const int64_t n = a->multipliers.size;
  int64_t plane = 1;
  char name[40];
  for (int32_t k = 2; k < x->rank; k++) plane *= x->shape[k];
  snprintf(name, sizeof name, "fixed_scale_%s", type);
  e->code(e, "emit/fixed_scale.c");
  e->function(e, name,
              "/* Each of n multipliers is that of `plane` elements on end. */\n"
              "static void %s(const int32_t *x, %s *y, int32_t count, int32_t plane,\n"
              "               const int32_t (*scale)[3], int32_t n, int32_t zero, int32_t lo,\n"
              "               int32_t hi) {\n"
              "  for (int32_t k = 0; k < count; k++) {\n"
              "    const int32_t *s = scale[n == 1 ? 0 : k / plane %% n];\n"
              "    const int64_t v = (int64_t)fixed_scaled(x[k], s[0], s[1], s[2]) + zero;\n"
              "    y[k] = (%s)fixed_clamp(v, lo, hi);\n"
              "  }\n"
              "}\n",
              name, type, type);
  e->table(e, "static const int32_t fixed_scale_%u[][3] = {", e->step);
  for (int64_t k = 0; k < n; k++) {
    if (k) e->table(e, ", ");
    scale_text(e, a->multipliers, a->shifts, k, a->before);
  }
  e->table(e, "};\n");
  e->line(e, "%s(%s, %s, %lld, %lld, fixed_scale_%u, %lld, %lld, %lld, %lld);", name,
          e->input(e, 0), e->output(e, 0), (long long)tn_elements(x), (long long)plane, e->step,
          (long long)n, (long long)a->zero, (long long)a->lo, (long long)a->hi);
}

/* ---- FixedSvdf ---- */

static void svdf_function(const tn_emit *e, const char *name, const char *type, bool wide) {
  e->code(e, "emit/fixed_scale.c");
  e->code(e, "emit/fixed_svdf.c");
  e->function(
      e, name,
      "/* Codes of a filter move on by one, the new one comes behind them; kept may be\n"
      " * state. */\n"
      "static void %s(const struct fixed_svdf *p, const int8_t *x, const int8_t *w,\n"
      "               const %s *times, const int32_t *bias, const %s *state, int8_t *y,\n"
      "               %s *kept) {\n"
      "  const int32_t *a = p->feature, *b = p->sum, last = p->memory - 1;\n"
      "  for (int32_t i = 0; i < p->batch * p->units; i++) {\n"
      "    const int32_t unit = i %% p->units;\n"
      "    const int8_t *from = x + i / p->units * p->width;\n"
      "    uint32_t sum = bias ? (uint32_t)bias[unit] : 0;\n"
      "    for (int32_t f = unit * p->rank; f < (unit + 1) * p->rank; f++) {\n"
      "      const int32_t v = fixed_svdf_dot(from, p->x_zero, w + f * p->width, p->width);\n"
      "      const int64_t code = (int64_t)fixed_scaled(v, a[0], a[1], a[2]) + p->state_zero;\n"
      "      for (int32_t t = 0; t < last; t++) kept[t] = state[t + 1];\n"
      "      kept[last] = (%s)fixed_clamp(code, %s, %s);\n"
      "      for (int32_t t = 0; t <= last; t++) {\n"
      "        sum += (uint32_t)((kept[t] - p->state_zero) * times[f * p->memory + t]);\n"
      "      }\n"
      "      kept += p->memory;\n"
      "      state += p->memory;\n"
      "    }\n"
      "    const int64_t v = (int64_t)fixed_scaled((int32_t)sum, b[0], b[1], b[2]) + p->y_zero;\n"
      "    y[i] = (int8_t)fixed_clamp(v, p->lo, p->hi);\n"
      "  }\n"
      "}\n",
      name, type, type, type, type, wide ? "-32768" : "-128", wide ? "32767" : "127");
}

static void emit_svdf(const tn_emit *e) {
  const bool wide = e->call->inputs[SVDF_STATE]->dtype == TN_I16;
  const char *name = wide ? "fixed_svdf_i16" : "fixed_svdf_i8";
  fixed_svdf p;
  if (fixed_svdf_make(e->call, &p)) return;
  const tn_fixed_svdf_attrs *a = p.a;
  const int64_t all[] = {p.batch,   p.width,       p.units,   a->rank, p.memory,
                         a->x_zero, a->state_zero, a->y_zero, a->lo,   a->hi};
  svdf_function(e, name, type_of(e->call->inputs[SVDF_STATE]), wide);
  e->table(e, "static const struct fixed_svdf fixed_svdf_%u = {", e->step);
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) e->table(e, "%lld, ", (long long)all[k]);
  scale_text(e, a->multipliers, a->shifts, 0, 0);
  e->table(e, ", ");
  scale_text(e, a->multipliers, a->shifts, 1, 0);
  e->table(e, "};\n");
  e->line(e, "%s(&fixed_svdf_%u, %s, %s, %s, %s, %s, %s, %s);", name, e->step, e->input(e, SVDF_X),
          e->input(e, SVDF_FEATURES), e->input(e, SVDF_TIMES), e->input(e, SVDF_BIAS),
          e->input(e, SVDF_STATE), e->output(e, 0), e->output(e, 1));
}

/* ---- FixedLstm ---- */

static uint64_t lstm_scratch(const tn_call *call) {
  fixed_lstm p = {0};
  (void)fixed_lstm_make(call, &p); /* it was planned */
  return FLSTM_GATES * (uint64_t)p.units * sizeof(int32_t);
}

static void emit_lstm(const tn_emit *e) {
  fixed_lstm p;
  if (fixed_lstm_make(e->call, &p)) return;
  const tn_fixed_lstm_attrs *a = p.a;
  const int64_t all[] = {
      p.steps,        p.batch,   p.width,           p.units,
      a->x_zero,      a->h_zero, 30 - a->cell_bits, a->cell_clip ? a->cell_clip : INT16_MAX + 1,
      a->reverse != 0};
  e->code(e, "emit/fixed_scale.c");
  e->code(e, "emit/fixed_lstm.c");
  e->table(e, "static const struct fixed_lstm fixed_lstm_%u = {", e->step);
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) e->table(e, "%lld, ", (long long)all[k]);
  for (int k = 0; k < FLSTM_SCALES; k++) {
    e->table(e, k ? ", " : "\n    {");
    scale_text(e, a->multipliers, a->shifts, k, 0);
  }
  e->table(e, "}};\n");
  e->line(e, "fixed_lstm(&fixed_lstm_%u, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s);",
          e->step, e->input(e, FLSTM_X), e->input(e, FLSTM_W), e->input(e, FLSTM_R),
          e->input(e, FLSTM_BIAS), e->input(e, FLSTM_H), e->input(e, FLSTM_C),
          e->input(e, FLSTM_SIGMOID), e->input(e, FLSTM_TANH), e->input(e, FLSTM_CELL_TANH),
          e->output(e, 0), e->output(e, 1), e->output(e, 2), e->scratch(e));
}

/* ---- FixedSoftmax ---- */

static void emit_softmax(const tn_emit *e) {
  fixed_softmax p;
  if (fixed_softmax_make(e->call, &p)) return;
  e->code(e, "emit/fixed_scale.c");
  e->code(e, "emit/fixed_softmax.c");
  e->table(e, "static const struct fixed_softmax fixed_softmax_%u = {%lld, %lld, ", e->step,
           (long long)p.rows, (long long)p.width);
  scale_text(e, (tn_ints){.data = &p.a->multiplier, .size = 1},
             (tn_ints){.data = &p.a->shift, .size = 1}, 0, 0);
  e->table(e, "};\n");
  e->line(e, "fixed_softmax(&fixed_softmax_%u, %s, %s, %s, %s);", e->step, e->input(e, 0),
          e->input(e, 1), e->input(e, 2), e->output(e, 0));
}

static const tn_emitter scale_emitter = {.head = TN_HEAD(tn_emitter),
                                         .kernel = "fixed_scale_c",
                                         .refuse = refuse_scale,
                                         .emit = emit_scale};
static const tn_emitter svdf_emitter = {.head = TN_HEAD(tn_emitter),
                                        .kernel = "fixed_svdf_c",
                                        .flags = TN_EMIT_IN_PLACE,
                                        .emit = emit_svdf};
static const tn_emitter lstm_emitter = {.head = TN_HEAD(tn_emitter),
                                        .kernel = "fixed_lstm_c",
                                        .flags = TN_EMIT_IN_PLACE,
                                        .scratch = lstm_scratch,
                                        .scratch_type = TN_I32,
                                        .emit = emit_lstm};
static const tn_emitter softmax_emitter = {
    .head = TN_HEAD(tn_emitter), .kernel = "fixed_softmax_c", .emit = emit_softmax};
const tn_emitter *const fixed_emitters[] = {&scale_emitter, &svdf_emitter, &lstm_emitter,
                                            &softmax_emitter, NULL};
