/* Kernels as C source: what `tenon emit-c` asks of an operator's folder. EXPERIMENTAL.
 *
 * An emitter writes, for one kernel, the loops that compute what the kernel computes, with the same
 * roundings in the same order, for shapes that are known. Operators keep theirs in
 * ops/<family>/<x>_emit.c, with the loops as C files in ops/<family>/emit/. A plug-in offers each
 * emitter of its kernels as an extension, with the loops as text (tn_emit.function). This header is
 * not under the lock of plugin.h: what is here may change.
 *
 * What is written is C11 for targets without an operating system: loops over tables of constants,
 * no memory but the arguments', no functions but those of <math.h> and <string.h>, sizes in
 * int32_t.
 */
#ifndef TENON_EXPERIMENTAL_EMIT_C_H
#define TENON_EXPERIMENTAL_EMIT_C_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tenon/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One step of the model that is being written. The text goes into three places of model.c: code
 * (functions), tables (constants), lines (the body of the function that runs the model). Texts that
 * are answered live until the model is written. */
typedef struct tn_emit tn_emit;
struct tn_emit {
  tn_head head;
  void *ctx;           /* the host's */
  const tn_call *call; /* with data of constants */
  uint32_t step;       /* its number, for names: "conv_3" */
  /* C expressions of the pointers to an argument's elements; "NULL" for one that is left out. */
  const char *(*input)(const tn_emit *e, uint32_t index);
  const char *(*output)(const tn_emit *e, uint32_t index);
  /* A pointer to the bytes that tn_emitter.scratch asked for; "NULL" if these are none. */
  const char *(*scratch)(const tn_emit *e);
  /* Zeroed memory that lives as long as texts do; NULL: there is none, and nothing is written. */
  void *(*memory)(const tn_emit *e, uint64_t bytes);
  /* An array of constants that the emitter made, such as packed weights; its elements are not
   * copied. */
  const char *(*constant)(const tn_emit *e, const tn_tensor *t);
  /* Functions from a file, "emit/conv.c"; once, however often it is asked for. */
  void (*code)(const tn_emit *e, const char *file);
  /* The same from text; `name` says which text it is. printf format. */
  void (*function)(const tn_emit *e, const char *name, const char *format, ...);
  void (*table)(const tn_emit *e, const char *format, ...);
  void (*line)(const tn_emit *e, const char *format, ...);
};

#define TN_EMIT_C_EXTENSION "emit_c.v0" /* table: tn_emitter, of a kernel of the same plug-in */

/* Flags. */
enum {
  TN_EMIT_IN_PLACE = 1, /* the loops, too, may write output 0 over the input that plan() named */
  TN_EMIT_LIBM = 2      /* calls functions of <math.h> whose last bit differs between C libraries */
};

typedef struct tn_emitter {
  tn_head head;
  const char *kernel; /* the name of the kernel */
  uint64_t flags;     /* TN_EMIT_... */
  /* Optional. NULL: it can be written; else why not, as a literal. No size exceeds int32_t. */
  const char *(*refuse)(const tn_call *call);
  /* Optional: bytes of scratch, and the type of its elements (TN_NONE: f32). */
  uint64_t (*scratch)(const tn_call *call);
  uint32_t scratch_type;
  /* Fused steps (tn_call.epilogue) are written by the host, behind it. */
  void (*emit)(const tn_emit *e);
} tn_emitter;

/* C constants of this very value, into text of TN_EMIT_NUMBER bytes: use them for each number that
 * may be infinite, which printf writes as no C. */
enum { TN_EMIT_NUMBER = 32 };
static inline const char *tn_emit_double(double x, char *text) {
  if (isnan(x) || isinf(x))
    snprintf(text, TN_EMIT_NUMBER, "%s(double)%s", signbit(x) ? "-" : "",
             isnan(x) ? "NAN" : "INFINITY");
  else
    snprintf(text, TN_EMIT_NUMBER, "%a", x);
  return text;
}
static inline const char *tn_emit_float(float x, char *text) {
  if (isnan(x) || isinf(x))
    snprintf(text, TN_EMIT_NUMBER, "%s%s", signbit(x) ? "-" : "", isnan(x) ? "NAN" : "INFINITY");
  else
    snprintf(text, TN_EMIT_NUMBER, "%af", (double)x);
  return text;
}

#ifdef __cplusplus
}
#endif
#endif
