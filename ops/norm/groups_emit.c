/* Normalisations over groups as C. */
#include "groups.h"
#include "tenon/experimental/emit_c.h"

static void emit(const tn_emit *e, const groups *s) {
  char epsilon[TN_EMIT_NUMBER];
  e->code(e, "emit/groups.c");
  e->table(e,
           "static const struct groups groups_%u = {\n"
           "    .groups = %d, .n = %d, .repeat = %d, .step = %d, .run = %d, .period = %d,\n"
           "    .centred = %d, .epsilon = %s};\n",
           e->step, (int)s->groups, (int)s->n, (int)s->repeat, (int)s->step, (int)s->run,
           (int)s->period, s->centred, tn_emit_double(s->epsilon, epsilon));
  e->line(e, "normalise_groups(&groups_%u, %s, %s, %s, %s, %s, %s);", e->step, e->input(e, 0),
          e->input(e, 1), e->input(e, 2), e->output(e, 0), e->output(e, 1), e->output(e, 2));
}

#define EMITTER(op, SHAPE)                                             \
  static void op##_emit(const tn_emit *e) {                            \
    const tn_call *call = e->call;                                     \
    const groups s = SHAPE;                                            \
    emit(e, &s);                                                       \
  }                                                                    \
  static const tn_emitter op##_emitter = {.head = TN_HEAD(tn_emitter), \
                                          .kernel = #op "_f32_c",      \
                                          .flags = TN_EMIT_IN_PLACE,   \
                                          .emit = op##_emit};
#define LAYER(op, centred)                                            \
  groups_of_layer(call, ((const tn_##op##_attrs *)call->attrs)->axis, \
                  ((const tn_##op##_attrs *)call->attrs)->epsilon, centred)

EMITTER(instance_normalization, groups_of_instance(call))
EMITTER(group_normalization, groups_of_group(call))
EMITTER(layer_normalization, LAYER(layer_normalization, true))
EMITTER(rms_normalization, LAYER(rms_normalization, false))

const tn_emitter *const groups_emitters[] = {
    &instance_normalization_emitter, &group_normalization_emitter, &layer_normalization_emitter,
    &rms_normalization_emitter, NULL};
