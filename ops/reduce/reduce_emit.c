/* Reductions as C. Of floats, the kernel has loops for rows of outputs, for short runs and for long
 * ones; only the last fold terms in another order than that of the input. Sums of integers are the
 * same in any order. */
#include "reduction.h"
#include "tenon/experimental/emit_elementwise.h"

enum { PARTS = 32 };

/* C: what a fold begins with, a with the next element v, two partial results a and v, the output
 * of a. */
typedef struct fold {
  const char *name, *start, *step, *join, *done;
} fold;

/* The same of integers: `type` is that of a and v. */
typedef struct whole {
  const char *name, *type, *start, *step, *done;
} whole;

static const char *refuse(const tn_call *call) {
  reduction r;
  return reduction_make(call, &r) ? "its axes do not fit" : NULL;
}

static void write_walk(const tn_emit *e, const walk *w, int64_t size) {
  e->table(e, "{.rank = %d, .size = %d, .dim = {", (int)w->rank, (int)size);
  for (int32_t k = 0; k < w->rank; k++)
    e->table(e, "%s{%d, %d}", k ? ", " : "", (int)w->dims[k], (int)w->strides[k]);
  e->table(e, "%s}}", w->rank ? "" : "{0, 0}");
}

static void write_function(const tn_emit *e, const fold *f) {
  e->function(e, f->name,
              "/* Each output is made of its runs: what is whole in 32 parts, then the parts, then "
              "the rest. */\n"
              "static void %s(const struct reduction *r, const float *x, float *y) {\n"
              "  for (int32_t o = 0; o < r->outputs.size; o++) {\n"
              "    const float *from = x + walk_place(&r->outputs, o);\n"
              "    float part[33]; /* the last one: of what is in no part */\n"
              "    for (int32_t p = 0; p < 33; p++) {\n"
              "      part[p] = %s;\n"
              "    }\n"
              "    for (int32_t k = 0; k < r->runs.size; k++) {\n"
              "      const float *run = from + walk_place(&r->runs, k);\n"
              "      for (int32_t j = 0; j < r->length; j++) {\n"
              "        const int32_t p = j < r->in_parts ? j %% 32 : 32;\n"
              "        const float a = part[p], v = run[j * r->step];\n"
              "        part[p] = %s;\n"
              "      }\n"
              "    }\n"
              "    for (int32_t half = 16; half >= 8; half /= 2) {\n"
              "      for (int32_t p = 0; p < half; p++) {\n"
              "        const float a = part[p], v = part[p + half];\n"
              "        part[p] = %s;\n"
              "      }\n"
              "    }\n"
              "    float a = part[32];\n"
              "    for (int32_t p = 0; p < 8; p++) {\n"
              "      const float v = part[p];\n"
              "      a = %s;\n"
              "    }\n"
              "    *y = %s;\n"
              "    y++;\n"
              "  }\n"
              "}\n",
              f->name, f->start, f->step, f->join, f->join, f->done);
}

/* The step's table, and its call of the function `name`. */
static void write_call(const tn_emit *e, const char *name, int64_t parts) {
  reduction r;
  if (reduction_make(e->call, &r)) return;
  const runs u = runs_of(&r.summed);
  e->table(e, "static const struct reduction reduction_%u = {\n    .outputs = ", e->step);
  write_walk(e, &r.kept, r.kept.size);
  e->table(e, ",\n    .runs = ");
  write_walk(e, &u.outer, u.n);
  e->table(e, ",\n    .length = %d, .step = %d, .in_parts = %d};\n", (int)u.length, (int)u.stride,
           (int)(r.inner_kept ? 0 : u.length / parts * parts));
  e->line(e, "%s(&reduction_%u, %s, %s);", name, e->step, e->input(e, 0), e->output(e, 0));
}

static void write_fold(const tn_emit *e, const fold *f) {
  e->code(e, "emit/reduction.c");
  write_function(e, f);
  write_call(e, f->name, PARTS);
}

static void write_whole(const tn_emit *e, const whole *f) {
  const char *type = tn_emit_c_type(e->call->inputs[0]->dtype);
  char name[48];
  snprintf(name, sizeof name, "%s_%s", f->name, tn_dtype(e->call->inputs[0]->dtype)->name);
  e->code(e, "emit/reduction.c");
  e->function(e, name,
              "/* Each output is made of the elements of its runs, in their order. */\n"
              "static void %s(const struct reduction *r, const %s *x, %s *y) {\n"
              "  for (int32_t o = 0; o < r->outputs.size; o++) {\n"
              "    const %s *from = x + walk_place(&r->outputs, o);\n"
              "    %s a = %s;\n"
              "    for (int32_t k = 0; k < r->runs.size; k++) {\n"
              "      const %s *run = from + walk_place(&r->runs, k);\n"
              "      for (int32_t j = 0; j < r->length; j++) {\n"
              "        const %s v = (%s)run[j * r->step];\n"
              "        a = %s;\n"
              "      }\n"
              "    }\n"
              "    *y = (%s)%s;\n"
              "    y++;\n"
              "  }\n"
              "}\n",
              name, type, type, type, f->type, f->start, type, f->type, f->type, f->step, type,
              f->done);
  write_call(e, name, INT32_MAX); /* in no parts */
}

#define REDUCE(op, start, step, join, done)                                 \
  static void op##_emit(const tn_emit *e) {                                 \
    static const fold f = {"reduce_" #op, start, step, join, done};         \
    write_fold(e, &f);                                                      \
  }                                                                         \
  static const tn_emitter op##_emitter = {.head = TN_HEAD(tn_emitter),      \
                                          .kernel = "reduce_" #op "_f32_c", \
                                          .refuse = refuse,                 \
                                          .emit = op##_emit};
#define MOST "v > a || v != v ? v : a"
#define LEAST "v < a || v != v ? v : a"
REDUCE(sum, "0.0f", "a + v", "a + v", "a")
REDUCE(mean, "0.0f", "a + v", "a + v", "a / (float)(r->runs.size * r->length)")
REDUCE(prod, "1.0f", "a * v", "a * v", "a")
REDUCE(sum_square, "0.0f", "a + v * v", "a + v", "a")
REDUCE(l1, "0.0f", "a + fabsf(v)", "a + v", "a")
REDUCE(l2, "0.0f", "a + v * v", "a + v", "sqrtf(a)")
REDUCE(max, "-INFINITY", MOST, MOST, "a")
REDUCE(min, "INFINITY", LEAST, LEAST, "a")

/* Of integers: in a type that holds all of them, or, where they wrap, has no sign. */
#define WHOLE(op, of, type, start, step, done)                                         \
  static void op##_##of##_emit(const tn_emit *e) {                                     \
    static const whole f = {"reduce_" #op, type, start, step, done};                   \
    write_whole(e, &f);                                                                \
  }                                                                                    \
  static const tn_emitter op##_##of##_emitter = {.head = TN_HEAD(tn_emitter),          \
                                                 .kernel = "reduce_" #op "_" #of "_c", \
                                                 .refuse = refuse,                     \
                                                 .emit = op##_##of##_emit};
#define EXTREMES(of, type, least, most)             \
  WHOLE(max, of, type, least, "v > a ? v : a", "a") \
  WHOLE(min, of, type, most, "v < a ? v : a", "a")
EXTREMES(i8, "int32_t", "INT8_MIN", "INT8_MAX")
EXTREMES(u8, "int32_t", "0", "UINT8_MAX") /* maxima of bool, too */
EXTREMES(i32, "int32_t", "INT32_MIN", "INT32_MAX")
EXTREMES(i64, "int64_t", "INT64_MIN", "INT64_MAX")
EXTREMES(u32, "uint32_t", "0", "UINT32_MAX")
EXTREMES(u64, "uint64_t", "0", "UINT64_MAX")
WHOLE(min, bool, "int32_t", "1", "v < a ? v : a", "a")
#define SUMS(of, type)                     \
  WHOLE(sum, of, type, "0", "a + v", "a")  \
  WHOLE(prod, of, type, "1", "a * v", "a") \
  WHOLE(sum_square, of, type, "0", "a + v * v", "a")
SUMS(i32, "uint32_t") /* and of u32 */
SUMS(i64, "uint64_t") /* and of u64 */

#define WHOLE_EMITTERS(of) &max_##of##_emitter, &min_##of##_emitter
#define SUM_EMITTERS(of) &sum_##of##_emitter, &prod_##of##_emitter, &sum_square_##of##_emitter
const tn_emitter *const reduce_emitters[] = {
    &sum_emitter,        &mean_emitter,       &prod_emitter,
    &sum_square_emitter, &l1_emitter,         &l2_emitter,
    &max_emitter,        &min_emitter,        WHOLE_EMITTERS(i8),
    WHOLE_EMITTERS(u8),  WHOLE_EMITTERS(i32), WHOLE_EMITTERS(i64),
    WHOLE_EMITTERS(u32), WHOLE_EMITTERS(u64), &min_bool_emitter,
    SUM_EMITTERS(i32),   SUM_EMITTERS(i64),   NULL};
