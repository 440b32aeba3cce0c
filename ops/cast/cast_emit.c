/* Cast between f32 and integers of 8 bits as C. */
#include <stdbool.h>

#include "tenon/experimental/emit_c.h"
#include "tenon/kit/tensor.h"

static bool is_byte(uint32_t dtype) { return dtype == TN_I8 || dtype == TN_U8; }

static const char *refuse(const tn_call *call) {
  const uint32_t from = call->inputs[0]->dtype, to = call->outputs[0]->dtype;
  const bool ok = (is_byte(from) && to == TN_F32) || (from == TN_F32 && is_byte(to));
  return ok ? NULL : "casts between f32 and i8 or u8 only";
}

/* As the kernel: towards zero, then modulo 256. From 2^31 on a float is a multiple of 256; from
 * 2^63 on it counts as the largest integer of 64 bits. */
static void emit_to_byte(const tn_emit *e, const char *name, const char *type, const char *most) {
  e->function(e, name,
              "static void %s(const float *x, %s *y, int32_t n) {\n"
              "  for (int32_t k = 0; k < n; k++) {\n"
              "    const int32_t whole = x[k] > -0x1p31f && x[k] < 0x1p31f ? (int32_t)x[k] : 0;\n"
              "    y[k] = (%s)(x[k] >= 0x1p63f ? %s : whole);\n"
              "  }\n"
              "}\n",
              name, type, type, most);
}

static void emit_to_f32(const tn_emit *e, const char *name, const char *type) {
  e->function(e, name,
              "static void %s(const %s *x, float *y, int32_t n) {\n"
              "  for (int32_t k = 0; k < n; k++) {\n"
              "    y[k] = (float)x[k];\n"
              "  }\n"
              "}\n",
              name, type);
}

static void emit(const tn_emit *e) {
  const uint32_t from = e->call->inputs[0]->dtype, to = e->call->outputs[0]->dtype;
  const char *name = from == TN_I8   ? "cast_i8_to_f32"
                     : from == TN_U8 ? "cast_u8_to_f32"
                     : to == TN_I8   ? "cast_f32_to_i8"
                                     : "cast_f32_to_u8";
  if (from == TN_F32)
    emit_to_byte(e, name, to == TN_I8 ? "int8_t" : "uint8_t", to == TN_I8 ? "-1" : "255");
  else
    emit_to_f32(e, name, from == TN_I8 ? "int8_t" : "uint8_t");
  e->line(e, "%s(%s, %s, %lld);", name, e->input(e, 0), e->output(e, 0),
          (long long)tn_elements(e->call->outputs[0]));
}

static const tn_emitter emitter = {
    .head = TN_HEAD(tn_emitter), .kernel = "cast_c", .refuse = refuse, .emit = emit};
const tn_emitter *const cast_emitters[] = {&emitter, NULL};
