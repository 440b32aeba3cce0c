/* Element-wise kernels as C: what emitters (tenon/experimental/emit_c.h) of such kernels share.
 * EXPERIMENTAL. */
#ifndef TENON_EXPERIMENTAL_EMIT_ELEMENTWISE_H
#define TENON_EXPERIMENTAL_EMIT_ELEMENTWISE_H

#include <string.h>

#include "tenon/experimental/emit_c.h"
#include "tenon/kit/broadcast.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/tensor.h"

/* A function of one f32: `value` is C of x and of the first n_parameters of a and b. */
typedef struct tn_emit_map {
  const char *name, *value;
  int n_parameters;
} tn_emit_map;

static inline const char *tn_emit_refuse_f32(const tn_call *call) {
  for (uint32_t k = 0; k < call->n_inputs; k++)
    if (call->inputs[k] && call->inputs[k]->dtype != TN_F32) return "takes f32 only";
  return call->outputs[0]->dtype == TN_F32 ? NULL : "takes f32 only";
}

/* y[0 .. n) = value of x[0 .. n), which may be y. */
static inline void tn_emit_map_line(const tn_emit *e, const tn_emit_map *map, const char *x,
                                    const char *y, int64_t n, double a, double b) {
  if (strstr(map->value, "tn_")) e->code(e, "kit/vmath.h");
  e->function(e, map->name,
              "/* y[i] = f(x[i]); y may be x. */\n"
              "static void %s(const float *from, float *y, int32_t n%s%s) {\n"
              "  for (int32_t i = 0; i < n; i++) {\n"
              "    const float x = from[i];\n"
              "    y[i] = %s;\n"
              "  }\n"
              "}\n",
              map->name, map->n_parameters > 0 ? ", float a" : "",
              map->n_parameters > 1 ? ", float b" : "", map->value);
  char text_a[TN_EMIT_NUMBER], text_b[TN_EMIT_NUMBER];
  e->line(e, "%s(%s, %s, %lld%s%s%s%s);", map->name, x, y, (long long)n,
          map->n_parameters > 0 ? ", " : "",
          map->n_parameters > 0 ? tn_emit_float((float)a, text_a) : "",
          map->n_parameters > 1 ? ", " : "",
          map->n_parameters > 1 ? tn_emit_float((float)b, text_b) : "");
}

/* The whole step: output 0 of input 0. */
static inline void tn_emit_map_step(const tn_emit *e, const tn_emit_map *map, double a, double b) {
  tn_emit_map_line(e, map, e->input(e, 0), e->output(e, 0), tn_elements(e->call->outputs[0]), a, b);
}

/* The type of C of an element of this dtype; NULL: it is no number of C. */
static inline const char *tn_emit_c_type(uint32_t dtype) {
  switch (dtype) {
    case TN_F32: return "float";
    case TN_F64: return "double";
    case TN_I8: return "int8_t";
    case TN_I16: return "int16_t";
    case TN_I32: return "int32_t";
    case TN_I64: return "int64_t";
    case TN_BOOL:
    case TN_U8: return "uint8_t";
    case TN_U16: return "uint16_t";
    case TN_U32: return "uint32_t";
    case TN_U64: return "uint64_t";
    default: return NULL;
  }
}

/* A function of elements of broadcast operands: `value` is C of a, b and, where there is a third
 * operand, c. */
typedef struct tn_emit_zip {
  const char *name, *value;
  const char *types[3], *to; /* of C; types[2] may be NULL: two operands */
} tn_emit_zip;

/* y = value of the operands, which broadcast to y; y may be an operand of its own size. */
static inline void tn_emit_zip_line(const tn_emit *e, const tn_emit_zip *f, const tn_broadcast *s,
                                    uint32_t id, const char *const in[], const char *y) {
  const char *third = f->types[2];
  e->code(e, "code/broadcast.c");
  e->function(e, f->name,
              "/* y = %s, of operands that broadcast to y. */\n"
              "static void %s(const struct broadcast *s, const %s *from_a, const %s *from_b,\n"
              "               %s%s%s%s *y) {\n"
              "  const int32_t last = s->rank - 1, n = s->dim[last].size;\n"
              "  const int32_t *step = s->dim[last].step;\n"
              "  int32_t at[8] = {0}, place[3] = {0};\n"
              "  do {\n"
              "    for (int32_t i = 0; i < n; i++) {\n"
              "      const %s a = from_a[place[0] + i * step[0]];\n"
              "      const %s b = from_b[place[1] + i * step[1]];\n"
              "%s%s%s"
              "      *y = %s;\n"
              "      y++;\n"
              "    }\n"
              "  } while (broadcast_next(s, at, place) != 0);\n"
              "}\n",
              f->value, f->name, f->types[0], f->types[1], third ? "const " : "",
              third ? third : "", third ? " *from_c, " : "", f->to, f->types[0], f->types[1],
              third ? "      const " : "", third ? third : "",
              third ? " c = from_c[place[2] + i * step[2]];\n" : "", f->value);
  e->table(e, "static const struct broadcast broadcast_%u_%u = {.rank = %d, .dim = {", e->step, id,
           s->rank);
  for (int32_t k = 0; k < s->rank; k++)
    e->table(e, "%s{%d, {%d, %d, %d}}", k ? ", " : "", (int)s->size[k], (int)s->stride[0][k],
             (int)s->stride[1][k], third ? (int)s->stride[2][k] : 0);
  e->table(e, "}};\n");
  e->line(e, "%s(&broadcast_%u_%u, %s, %s, %s%s%s);", f->name, e->step, id, in[0], in[1],
          third ? in[2] : "", third ? ", " : "", y);
}

/* The same of two operands of f32. */
static inline void tn_emit_binary_line(const tn_emit *e, const char *name, const char *value,
                                       const tn_broadcast *s, uint32_t id, const char *a,
                                       const char *b, const char *y) {
  const tn_emit_zip f = {name, value, {"float", "float", NULL}, "float"};
  const char *const in[] = {a, b};
  tn_emit_zip_line(e, &f, s, id, in, y);
}

/* Why an operator of n broadcast operands cannot be written; NULL: it can. */
static inline const char *tn_emit_refuse_zip(const tn_call *call, uint32_t n) {
  tn_broadcast b;
  if (call->n_inputs != n) return "has another number of inputs";
  for (uint32_t k = 0; k < n; k++)
    if (!tn_emit_c_type(call->inputs[k]->dtype)) return "takes no half floats";
  if (!tn_elements(call->outputs[0])) return "its output has no elements";
  if (tn_broadcast_init(&b, call->outputs[0], n, call->inputs)) return "its shapes do not fit";
  return b.rank > TN_MAX_RANK ? "takes no more than 8 dims" : NULL;
}

#endif
