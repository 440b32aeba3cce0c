/* Codes of 8 and 16 bits as C: to f32 and back with one scale; QuantAdd of codes of 8 bits, of one
 * shape or a single one. */
#include "quant_add.h"
#include "scales.h"
#include "tenon/experimental/emit_elementwise.h"

static const char *refuse_scale(const tn_call *call) {
  const tn_tensor *scale = call->inputs[1], *zero = tn_input(call, 2);
  if (tn_elements(scale) != 1) return "takes one scale for all elements";
  if (!scale->data || (zero && !zero->data)) return "takes a constant scale and zero point";
  return NULL;
}

static float scale_of(const tn_call *call) { return *(const float *)call->inputs[1]->data; }

static float zero_of(const tn_call *call) {
  const tn_tensor *zero = tn_input(call, 2);
  return zero ? (float)tn_load_i64(zero->dtype, zero->data, 0) : 0.0f;
}

static void line(const tn_emit *e, const char *name) {
  char scale[TN_EMIT_NUMBER], zero[TN_EMIT_NUMBER];
  e->line(e, "%s(%s, %s, %lld, %s, %s);", name, e->input(e, 0), e->output(e, 0),
          (long long)tn_elements(e->call->outputs[0]), tn_emit_float(scale_of(e->call), scale),
          tn_emit_float(zero_of(e->call), zero));
}

/* ---- QuantizeLinear, DequantizeLinear ---- */

/* Types of codes, and the values between which they lie. */
static const struct code {
  uint32_t dtype;
  const char *least, *most;
} codes[] = {{TN_I8, "-128.0f", "127.0f"},
             {TN_U8, "0.0f", "255.0f"},
             {TN_I16, "-32768.0f", "32767.0f"},
             {TN_U16, "0.0f", "65535.0f"}};

static const struct code *code_of(const tn_tensor *t) {
  for (size_t k = 0; k < sizeof codes / sizeof *codes; k++)
    if (codes[k].dtype == t->dtype) return &codes[k];
  return NULL;
}

static const char *refuse_quantize(const tn_call *call) {
  return code_of(call->outputs[0]) ? refuse_scale(call) : "gives codes of 8 and 16 bits only";
}

static void emit_quantize(const tn_emit *e) {
  const struct code *code = code_of(e->call->outputs[0]);
  const char *type = tn_emit_c_type(code->dtype);
  char name[32];
  snprintf(name, sizeof name, "quantize_%s", tn_dtype(code->dtype)->name);
  e->code(e, "emit/round_even.c");
  e->function(e, name,
              "/* f32 as the nearest of these codes; NaN: the least. */\n"
              "static void %s(const float *x, %s *y, int32_t n, float scale, float zero) {\n"
              "  for (int32_t k = 0; k < n; k++) {\n"
              "    const float q = round_even(x[k] / scale) + zero;\n"
              "    const float above = q > %s ? q : %s;\n"
              "    y[k] = (%s)(above > %s ? %s : above);\n"
              "  }\n"
              "}\n",
              name, type, code->least, code->least, type, code->most, code->most);
  line(e, name);
}

static const char *refuse_dequantize(const tn_call *call) {
  return code_of(call->inputs[0]) ? refuse_scale(call) : "takes codes of 8 and 16 bits only";
}

static void emit_dequantize(const tn_emit *e) {
  const struct code *code = code_of(e->call->inputs[0]);
  char name[32];
  snprintf(name, sizeof name, "dequantize_%s", tn_dtype(code->dtype)->name);
  e->function(e, name,
              "/* y[k] = (x[k] - zero) * scale. */\n"
              "static void %s(const %s *x, float *y, int32_t n, float scale, float zero) {\n"
              "  for (int32_t k = 0; k < n; k++) {\n"
              "    y[k] = ((float)x[k] - zero) * scale;\n"
              "  }\n"
              "}\n",
              name, tn_emit_c_type(code->dtype));
  line(e, name);
}

/* ---- DynamicQuantizeLinear ---- */

static void emit_dynamic(const tn_emit *e) {
  e->code(e, "emit/round_even.c");
  e->code(e, "emit/dynamic_quantize.c");
  e->line(e, "dynamic_quantize(%s, %lld, %s, %s, %s);", e->input(e, 0),
          (long long)tn_elements(e->call->inputs[0]), e->output(e, 0), e->output(e, 1),
          e->output(e, 2));
}

/* ---- QuantAdd ---- */

static const char *refuse_add(const tn_call *call) {
  const tn_tensor *a = call->inputs[0], *b = call->inputs[1], *y = call->outputs[0];
  if (a->dtype != y->dtype || b->dtype != y->dtype) return "takes one type only";
  const int64_t n = tn_elements(y), n_a = tn_elements(a), n_b = tn_elements(b);
  return (n_a == n || n_a == 1) && (n_b == n || n_b == 1) ? NULL
                                                          : "takes tensors of one shape, or values";
}

/* What is added to each element of the other operand has no step. */
static int add_step(const tn_emit *e, int input) {
  return tn_elements(e->call->inputs[input]) == tn_elements(e->call->outputs[0]);
}

static void emit_add(const tn_emit *e) {
  const quant_add s = quant_add_of(e->call, false);
  const float tie = s.halves_up ? 0.5f : 1; /* less than that is rounded off */
  const float all[] = {s.a_scale, s.a_zero, s.b_scale,       s.b_zero, s.y_scale,
                       s.lo,      s.hi,     (float)s.y_zero, tie};
  const bool is_signed = e->call->outputs[0]->dtype == TN_I8;
  const char *name = is_signed ? "quant_add_i8" : "quant_add_u8";
  const char *type = is_signed ? "int8_t" : "uint8_t";
  char text[TN_EMIT_NUMBER];
  e->code(e, "emit/round_even.c");
  e->code(e, "emit/quant_add.c");
  e->function(e, name,
              "/* y[k] = a + b; one value of either may stand for all, with a step of 0. */\n"
              "static void %s(const struct quant_add *s, const %s *a, int32_t a_step,\n"
              "               const %s *b, int32_t b_step, %s *y, int32_t n) {\n"
              "  for (int32_t k = 0; k < n; k++) {\n"
              "    const float sum = quant_sum(s, (float)a[k * a_step], (float)b[k * b_step]);\n"
              "    y[k] = (%s)sum;\n"
              "  }\n"
              "}\n",
              name, type, type, type, type);
  e->table(e, "static const struct quant_add quant_add_%u = {", e->step);
  for (int k = 0; k < 9; k++) e->table(e, "%s%s", k ? ", " : "", tn_emit_float(all[k], text));
  e->table(e, "};\n");
  e->line(e, "%s(&quant_add_%u, %s, %d, %s, %d, %s, %lld);", name, e->step, e->input(e, 0),
          add_step(e, 0), e->input(e, 1), add_step(e, 1), e->output(e, 0),
          (long long)tn_elements(e->call->outputs[0]));
}

/* ---- QuantTable ---- */

static const char *refuse_table(const tn_call *call) {
  return call->inputs[1]->data ? NULL : "takes a constant table";
}

/* Bytes are looked up, whatever their signs. */
static void emit_table(const tn_emit *e) {
  const char *x = e->call->inputs[0]->dtype == TN_I8 ? "int8_t" : "uint8_t";
  const char *y = e->call->outputs[0]->dtype == TN_I8 ? "int8_t" : "uint8_t";
  char name[40];
  snprintf(name, sizeof name, "quant_table_%c%c", *x, *y);
  e->function(e, name,
              "/* y[k] = table[x[k]]. */\n"
              "static void %s(const %s *x, const %s *table, %s *y, int32_t n) {\n"
              "  for (int32_t k = 0; k < n; k++) {\n"
              "    y[k] = table[(uint8_t)x[k]];\n"
              "  }\n"
              "}\n",
              name, x, y, y);
  e->line(e, "%s(%s, %s, %s, %lld);", name, e->input(e, 0), e->input(e, 1), e->output(e, 0),
          (long long)tn_elements(e->call->outputs[0]));
}

static const tn_emitter quantize_emitter = {.head = TN_HEAD(tn_emitter),
                                            .kernel = "quantize_linear_f32_c",
                                            .refuse = refuse_quantize,
                                            .emit = emit_quantize};
static const tn_emitter dequantize_emitter = {.head = TN_HEAD(tn_emitter),
                                              .kernel = "dequantize_linear_f32_c",
                                              .refuse = refuse_dequantize,
                                              .emit = emit_dequantize};
static const tn_emitter dynamic_emitter = {
    .head = TN_HEAD(tn_emitter), .kernel = "dynamic_quantize_linear_c", .emit = emit_dynamic};
static const tn_emitter add_emitter = {.head = TN_HEAD(tn_emitter),
                                       .kernel = "quant_add_c",
                                       .flags = TN_EMIT_IN_PLACE,
                                       .refuse = refuse_add,
                                       .emit = emit_add};
static const tn_emitter table_emitter = {.head = TN_HEAD(tn_emitter),
                                         .kernel = "quant_table_c",
                                         .refuse = refuse_table,
                                         .emit = emit_table};
const tn_emitter *const quant_emitters[] = {
    &quantize_emitter, &dequantize_emitter, &dynamic_emitter, &add_emitter, &table_emitter, NULL};
