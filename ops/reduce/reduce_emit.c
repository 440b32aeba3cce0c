/* Reductions of f32 as C. The kernel has loops for rows of outputs, for short runs and for long
 * ones; only the last fold terms in another order than that of the input. */
#include "reduction.h"
#include "tenon/experimental/emit_c.h"

enum { PARTS = 32 };

/* C: what a fold begins with, a with the next element v, two partial results a and v, the output
 * of a. */
typedef struct fold {
  const char *name, *start, *step, *join, *done;
} fold;

static const char *refuse(const tn_call *call) {
  reduction r;
  return reduction_make(call, &r) ? "its axes do not fit" : NULL;
}

static void write_walk(const tn_emit *e, const walk *w, int64_t size) {
  e->table(e, "{%d, %d, {", (int)w->rank, (int)size);
  for (int32_t k = 0; k < w->rank; k++)
    e->table(e, "%s{%d, %d}", k ? ", " : "", (int)w->dims[k], (int)w->strides[k]);
  e->table(e, "%s}}", w->rank ? "" : "{0, 0}");
}

static void write_function(const tn_emit *e, const fold *f) {
  e->function(e, f->name,
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

static void write_fold(const tn_emit *e, const fold *f) {
  reduction r;
  if (reduction_make(e->call, &r)) return;
  const runs u = runs_of(&r.summed);
  e->code(e, "emit/reduction.c");
  write_function(e, f);
  e->table(e, "static const struct reduction reduction_%u = {", e->step);
  write_walk(e, &r.kept, r.kept.size);
  e->table(e, ", ");
  write_walk(e, &u.outer, u.n);
  e->table(e, ", %d, %d, %d};\n", (int)u.length, (int)u.stride,
           (int)(r.inner_kept ? 0 : u.length / PARTS * PARTS));
  e->line(e, "%s(&reduction_%u, %s, %s);", f->name, e->step, e->input(e, 0), e->output(e, 0));
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

const tn_emitter *const reduce_emitters[] = {&sum_emitter,        &mean_emitter, &prod_emitter,
                                             &sum_square_emitter, &l1_emitter,   &l2_emitter,
                                             &max_emitter,        &min_emitter,  NULL};
