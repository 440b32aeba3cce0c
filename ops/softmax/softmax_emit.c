/* Softmax and LogSoftmax as C. */
#include "softmax_shape.h"
#include "tenon/experimental/emit_c.h"

static void softmax_emit(const tn_emit *e) {
  const tn_axis_view s = softmax_view(e->call);
  e->code(e, "kit/vmath.h");
  if (s.inner == 1) {
    e->code(e, "emit/softmax_rows.c");
    e->line(e, "softmax_rows(%s, %s, %d, %d);", e->input(e, 0), e->output(e, 0), (int)s.outer,
            (int)s.n);
  } else {
    e->code(e, "emit/softmax.c");
    e->line(e, "softmax(%s, %s, %d, %d, %d);", e->input(e, 0), e->output(e, 0), (int)s.outer,
            (int)s.n, (int)s.inner);
  }
}

static void log_softmax_emit(const tn_emit *e) {
  const tn_axis_view s = softmax_view(e->call);
  e->code(e, "kit/vmath.h");
  e->code(e, "emit/log_softmax.c");
  e->line(e, "log_softmax(%s, %s, %d, %d, %d);", e->input(e, 0), e->output(e, 0), (int)s.outer,
          (int)s.n, (int)s.inner);
}

static const tn_emitter softmax_emitter = {.head = TN_HEAD(tn_emitter),
                                           .kernel = "softmax_f32_c",
                                           .flags = TN_EMIT_IN_PLACE,
                                           .emit = softmax_emit};
static const tn_emitter softmax_v1_emitter = {.head = TN_HEAD(tn_emitter),
                                              .kernel = "softmax_v1_f32_c",
                                              .flags = TN_EMIT_IN_PLACE,
                                              .emit = softmax_emit};
static const tn_emitter log_softmax_emitter = {.head = TN_HEAD(tn_emitter),
                                               .kernel = "log_softmax_f32_c",
                                               .flags = TN_EMIT_IN_PLACE,
                                               .emit = log_softmax_emit};
static const tn_emitter log_softmax_v1_emitter = {.head = TN_HEAD(tn_emitter),
                                                  .kernel = "log_softmax_v1_f32_c",
                                                  .flags = TN_EMIT_IN_PLACE,
                                                  .emit = log_softmax_emit};
const tn_emitter *const softmax_emitters[] = {&softmax_emitter, &softmax_v1_emitter,
                                              &log_softmax_emitter, &log_softmax_v1_emitter, NULL};
