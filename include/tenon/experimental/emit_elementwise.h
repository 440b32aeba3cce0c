/* Element-wise kernels as C: what emitters (tenon/experimental/emit_c.h) of such kernels share.
 * EXPERIMENTAL. */
#ifndef TENON_EXPERIMENTAL_EMIT_ELEMENTWISE_H
#define TENON_EXPERIMENTAL_EMIT_ELEMENTWISE_H

#include <math.h>
#include <stdio.h>
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

/* A C constant of this very value, into text of TN_EMIT_FLOAT bytes. */
enum { TN_EMIT_FLOAT = 32 };
static inline const char *tn_emit_float(float x, char *text) {
  if (isnan(x) || isinf(x))
    snprintf(text, TN_EMIT_FLOAT, "%s%s", signbit(x) ? "-" : "", isnan(x) ? "NAN" : "INFINITY");
  else
    snprintf(text, TN_EMIT_FLOAT, "%af", (double)x);
  return text;
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
  char text_a[TN_EMIT_FLOAT], text_b[TN_EMIT_FLOAT];
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

/* y = value of a and b, which broadcast to y; y may be an operand of its own size. */
static inline void tn_emit_binary_line(const tn_emit *e, const char *name, const char *value,
                                       const tn_broadcast *s, uint32_t id, const char *a,
                                       const char *b, const char *y) {
  e->code(e, "code/broadcast.c");
  e->function(
      e, name,
      "static void %s(const struct broadcast *s, const float *from_a, const float *from_b,\n"
      "               float *y) {\n"
      "  const int32_t last = s->rank - 1, n = s->dim[last].size;\n"
      "  const int32_t step_a = s->dim[last].a, step_b = s->dim[last].b;\n"
      "  int32_t at[8] = {0};\n"
      "  do {\n"
      "    for (int32_t i = 0; i < n; i++) {\n"
      "      const float a = from_a[i * step_a], b = from_b[i * step_b];\n"
      "      *y = %s;\n"
      "      y++;\n"
      "    }\n"
      "  } while (broadcast_next(s, at, &from_a, &from_b) != 0);\n"
      "}\n",
      name, value);
  e->table(e, "static const struct broadcast broadcast_%u_%u = {%d, {", e->step, id, s->rank);
  for (int32_t k = 0; k < s->rank; k++)
    e->table(e, "%s{%d, %d, %d}", k ? ", " : "", (int)s->size[k], (int)s->stride[0][k],
             (int)s->stride[1][k]);
  e->table(e, "}};\n");
  e->line(e, "%s(&broadcast_%u_%u, %s, %s, %s);", name, e->step, id, a, b, y);
}

#endif
