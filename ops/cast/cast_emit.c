/* Casts between numbers as C: cast_number.h, element by element. */
#include <stdbool.h>
#include <string.h>

#include "tenon/experimental/emit_elementwise.h"

static bool is_half(uint32_t dtype) { return dtype == TN_F16 || dtype == TN_BF16; }
static bool is_float(uint32_t dtype) { return dtype == TN_F32 || dtype == TN_F64; }

static const char *refuse(const tn_call *call) {
  const uint32_t from = call->inputs[0]->dtype, to = call->outputs[0]->dtype;
  const bool halves = (is_half(from) && to == TN_F32) || (from == TN_F32 && is_half(to));
  if ((is_half(from) || is_half(to)) && !halves) return "casts half floats to f32 and back only";
  if (!halves && (!tn_emit_c_type(from) || !tn_emit_c_type(to))) return "C has no type for that";
  return from == TN_F64 && !is_float(to) && to != TN_BOOL ? "casts f64 to floats and bool only"
                                                          : NULL;
}

/* C of the result for x, into text. */
static void value_of(uint32_t from, uint32_t to, char *text, size_t size) {
  const char *type = tn_emit_c_type(to);
  if (is_half(from))
    snprintf(text, size, "%s_to_f32(x)", tn_dtype(from)->name);
  else if (is_half(to))
    snprintf(text, size, "f32_to_%s(x)", tn_dtype(to)->name);
  else if (to == TN_BOOL)
    snprintf(text, size, "x != 0");
  else if (from == TN_F32 && tn_dtype(to)->is_int && tn_dtype(to)->bits == 64)
    snprintf(text, size, "(%s)whole_of_f32(x)", type);
  else if (from == TN_F32 && tn_dtype(to)->is_int) /* from 2^31 on, a multiple of 2^8 .. */
    snprintf(text, size, "(%s)(x > -0x1p31f && x < 0x1p31f ? (%s)(int32_t)x : (%s)whole_of_f32(x))",
             type, type, type);
  else
    snprintf(text, size, "(%s)x", type);
}

static void emit(const tn_emit *e) {
  const uint32_t from = e->call->inputs[0]->dtype, to = e->call->outputs[0]->dtype;
  const char *type = is_half(from) ? "uint16_t" : tn_emit_c_type(from);
  char name[48], value[160];
  snprintf(name, sizeof name, "cast_%s_to_%s", tn_dtype(from)->name, tn_dtype(to)->name);
  value_of(from, to, value, sizeof value);
  if (is_half(from)) e->code(e, "emit/f32_of_bits.c");
  if (is_half(from)) e->code(e, from == TN_F16 ? "emit/f16_to_f32.c" : "emit/bf16_to_f32.c");
  if (is_half(to)) e->code(e, to == TN_F16 ? "emit/f32_to_f16.c" : "emit/f32_to_bf16.c");
  if (strstr(value, "whole_of_f32")) e->code(e, "emit/whole.c");
  e->function(e, name,
              "/* y[k] = from[k]. */\n"
              "static void %s(const %s *from, %s *y, int32_t n) {\n"
              "  for (int32_t k = 0; k < n; k++) {\n"
              "    const %s x = from[k];\n"
              "    y[k] = %s;\n"
              "  }\n"
              "}\n",
              name, type, is_half(to) ? "uint16_t" : tn_emit_c_type(to), type, value);
  e->line(e, "%s(%s, %s, %lld);", name, e->input(e, 0), e->output(e, 0),
          (long long)tn_elements(e->call->outputs[0]));
}

static const tn_emitter cast_emitter = {
    .head = TN_HEAD(tn_emitter), .kernel = "cast_c", .refuse = refuse, .emit = emit};
static const tn_emitter convert_emitter = {
    .head = TN_HEAD(tn_emitter), .kernel = "convert_c", .refuse = refuse, .emit = emit};
const tn_emitter *const cast_emitters[] = {&cast_emitter, &convert_emitter, NULL};
