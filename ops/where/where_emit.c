/* Where as C. */
#include "tenon/experimental/emit_elementwise.h"

static const char *refuse(const tn_call *call) { return tn_emit_refuse_zip(call, 3); }

static void emit(const tn_emit *e) {
  const char *type = tn_emit_c_type(e->call->outputs[0]->dtype);
  char name[64];
  tn_broadcast b;
  if (tn_broadcast_init(&b, e->call->outputs[0], 3, e->call->inputs)) return;
  snprintf(name, sizeof name, "where_%s", tn_dtype(e->call->outputs[0]->dtype)->name);
  const tn_emit_zip f = {name, "a != 0 ? b : c", {"uint8_t", type, type}, type};
  tn_emit_zip_line(e, &f, &b, 0,
                   (const char *const[]){e->input(e, 0), e->input(e, 1), e->input(e, 2)},
                   e->output(e, 0));
}

static const tn_emitter emitter = {.head = TN_HEAD(tn_emitter),
                                   .kernel = "where_c",
                                   .flags = TN_EMIT_IN_PLACE,
                                   .refuse = refuse,
                                   .emit = emit};
const tn_emitter *const where_emitters[] = {&emitter, NULL};
