/* GatherElements, ScatterElements, GatherND and ScatterND as C. As for Gather, the nearest index
 * stands for one that is out of bounds. */
#include "gather.gen.h"
#include "rows.h"
#include "tenon/experimental/emit_elementwise.h"
#include "tenon/kit/tensor.h"

enum { MOST_DIMS = 8 }; /* of emit/elements.c and emit/tuples.c */

static const char *refuse(const tn_call *call) {
  const uint32_t type = call->inputs[1]->dtype;
  if (type != TN_I32 && type != TN_I64) return "takes indices of i32 and i64 only";
  if (call->inputs[0]->rank > MOST_DIMS) return "takes at most 8 dims";
  return rows_element_bytes(call->outputs[0]->dtype) ? NULL : "takes whole bytes only";
}

/* Updates are moved, or sums of f32. */
static const char *refuse_scatter(const tn_call *call, tn_str reduction) {
  const bool adds = tn_str_is(reduction, "add");
  if (!adds && !tn_str_is(reduction, "none")) return "takes the reductions none and add";
  if (adds && call->outputs[0]->dtype != TN_F32) return "adds f32 only";
  return refuse(call);
}

static tn_str elements_reduction(const tn_call *call) {
  return ((const tn_scatter_elements_attrs *)call->attrs)->reduction;
}

static tn_str nd_reduction(const tn_call *call) {
  return ((const tn_scatter_nd_attrs *)call->attrs)->reduction;
}

static const char *refuse_scatter_elements(const tn_call *call) {
  return refuse_scatter(call, elements_reduction(call));
}

static const char *refuse_scatter_nd(const tn_call *call) {
  return refuse_scatter(call, nd_reduction(call));
}

static const char *refuse_gather_nd(const tn_call *call) {
  return ((const tn_gather_nd_attrs *)call->attrs)->batch_dims ? "takes no batch dims"
                                                               : refuse(call);
}

static void numbers(const tn_emit *e, const int64_t *values, int32_t n) {
  e->table(e, ", {");
  for (int32_t k = 0; k < n; k++) e->table(e, "%s%lld", k ? ", " : "", (long long)values[k]);
  e->table(e, n ? "}" : "0}");
}

static const char *index_type(const tn_emit *e) {
  return tn_emit_c_type(e->call->inputs[1]->dtype);
}

/* The data that updates are written to. */
static void copy_data(const tn_emit *e) {
  const tn_tensor *y = e->call->outputs[0];
  e->line(e, "memcpy(%s, %s, %lld);", e->output(e, 0), e->input(e, 0),
          (long long)(tn_elements(y) * rows_element_bytes(y->dtype)));
}

/* ---- along an axis ---- */

static void elements_table(const tn_emit *e, int64_t given) {
  const tn_tensor *x = e->call->inputs[0], *index = e->call->inputs[1];
  int64_t steps[MOST_DIMS];
  const int64_t axis = given < 0 ? given + x->rank : given;
  tn_dense_strides(x, steps);
  e->code(e, "emit/place.c");
  e->code(e, "emit/elements.c");
  e->table(e, "static const struct elements elements_%u = {%d, %lld, %lld", e->step, (int)x->rank,
           (long long)axis, x->rank ? (long long)x->shape[axis] : 1);
  numbers(e, index->shape, x->rank);
  numbers(e, steps, x->rank);
  e->table(e, "};\n");
}

static void gather_elements_emit(const tn_emit *e) {
  const tn_tensor *index = e->call->inputs[1];
  const char *type = tn_dtype(index->dtype)->name;
  char name[64];
  elements_table(e, ((const tn_gather_elements_attrs *)e->call->attrs)->axis);
  snprintf(name, sizeof name, "gather_elements_%s", type);
  e->function(e, name,
              "/* Elements of `bytes` that n indices name. */\n"
              "static void %s(const struct elements *p, const void *x, const %s *index,\n"
              "               void *y, int32_t count, int32_t bytes) {\n"
              "  const uint8_t *from = x;\n"
              "  uint8_t *to = y;\n"
              "  for (int32_t i = 0; i < count; i++) {\n"
              "    memcpy(to, from + element_of(p, i, index[i]) * bytes, (size_t)bytes);\n"
              "    to += bytes;\n"
              "  }\n"
              "}\n",
              name, index_type(e));
  e->line(e, "%s(&elements_%u, %s, %s, %s, %lld, %d);", name, e->step, e->input(e, 0),
          e->input(e, 1), e->output(e, 0), (long long)tn_elements(index),
          (int)rows_element_bytes(e->call->outputs[0]->dtype));
}

static void scatter_elements_emit(const tn_emit *e) {
  const tn_tensor *index = e->call->inputs[1];
  const bool adds = tn_str_is(elements_reduction(e->call), "add");
  char name[64];
  elements_table(e, ((const tn_scatter_elements_attrs *)e->call->attrs)->axis);
  snprintf(name, sizeof name, "scatter_elements_%s%s", adds ? "add_" : "",
           tn_dtype(index->dtype)->name);
  if (adds)
    e->function(e, name,
                "/* Updates are added where indices point. */\n"
                "static void %s(const struct elements *p, const %s *index,\n"
                "               const float *updates, float *y, int32_t count) {\n"
                "  for (int32_t i = 0; i < count; i++) {\n"
                "    y[element_of(p, i, index[i])] += updates[i];\n"
                "  }\n"
                "}\n",
                name, index_type(e));
  else
    e->function(e, name,
                "/* Updates of `bytes` become the elements where indices point. */\n"
                "static void %s(const struct elements *p, const %s *index,\n"
                "               const void *updates, void *y, int32_t count, int32_t bytes) {\n"
                "  const uint8_t *from = updates;\n"
                "  uint8_t *to = y;\n"
                "  for (int32_t i = 0; i < count; i++) {\n"
                "    memcpy(to + element_of(p, i, index[i]) * bytes, from, (size_t)bytes);\n"
                "    from += bytes;\n"
                "  }\n"
                "}\n",
                name, index_type(e));
  copy_data(e);
  e->line(e,
          adds ? "%s(&elements_%u, %s, %s, %s, %lld);" : "%s(&elements_%u, %s, %s, %s, %lld, %d);",
          name, e->step, e->input(e, 1), e->input(e, 2), e->output(e, 0),
          (long long)tn_elements(index), (int)rows_element_bytes(e->call->outputs[0]->dtype));
}

/* ---- slices by tuples ---- */

typedef struct nd { /* elements of a slice, and how many tuples name one */
  int64_t slice, n;
} nd;

static nd tuples_table(const tn_emit *e) {
  const tn_tensor *x = e->call->inputs[0], *index = e->call->inputs[1];
  const int32_t depth = (int32_t)index->shape[index->rank - 1];
  int64_t steps[MOST_DIMS];
  nd p = {1, 1};
  tn_dense_strides(x, steps);
  for (int32_t k = depth; k < x->rank; k++) p.slice *= x->shape[k];
  for (int32_t k = 0; k < index->rank - 1; k++) p.n *= index->shape[k];
  e->code(e, "emit/place.c");
  e->code(e, "emit/tuples.c");
  e->function(e, e->call->inputs[1]->dtype == TN_I64 ? "slice_i64" : "slice_i32",
              "/* The slice that a tuple names. */\n"
              "static int32_t slice_%s(const struct tuples *p, const %s *index) {\n"
              "  int32_t at = 0;\n"
              "  for (int32_t k = 0; k < p->depth; k++) {\n"
              "    at += place_of(index[k], p->size[k]) * p->step[k];\n"
              "  }\n"
              "  return at;\n"
              "}\n",
              tn_dtype(index->dtype)->name, index_type(e));
  e->table(e, "static const struct tuples tuples_%u = {%d", e->step, (int)depth);
  numbers(e, x->shape, depth);
  numbers(e, steps, depth);
  e->table(e, "};\n");
  return p;
}

static void gather_nd_emit(const tn_emit *e) {
  const nd p = tuples_table(e);
  const char *type = tn_dtype(e->call->inputs[1]->dtype)->name;
  char name[64];
  snprintf(name, sizeof name, "gather_nd_%s", type);
  e->function(e, name,
              "/* Slices of `slice` bytes, which begin at elements of `bytes`. */\n"
              "/* The slices that tuples name. */\n"
              "static void %s(const struct tuples *p, const void *x, const %s *index, void *y,\n"
              "               int32_t count, int32_t bytes, int32_t slice) {\n"
              "  const uint8_t *from = x;\n"
              "  uint8_t *to = y;\n"
              "  for (int32_t i = 0; i < count; i++) {\n"
              "    memcpy(to, from + slice_%s(p, index) * bytes, (size_t)slice);\n"
              "    index += p->depth;\n"
              "    to += slice;\n"
              "  }\n"
              "}\n",
              name, index_type(e), type);
  const int64_t bytes = rows_element_bytes(e->call->outputs[0]->dtype);
  e->line(e, "%s(&tuples_%u, %s, %s, %s, %lld, %lld, %lld);", name, e->step, e->input(e, 0),
          e->input(e, 1), e->output(e, 0), (long long)p.n, (long long)bytes,
          (long long)(bytes * p.slice));
}

static void scatter_nd_function(const tn_emit *e, const char *name, bool adds) {
  const char *type = tn_dtype(e->call->inputs[1]->dtype)->name;
  if (adds)
    e->function(e, name,
                "/* Updates are added to the slices that tuples name. */\n"
                "static void %s(const struct tuples *p, const %s *index, const float *updates,\n"
                "               float *y, int32_t count, int32_t slice) {\n"
                "  for (int32_t i = 0; i < count; i++) {\n"
                "    float *to = y + slice_%s(p, index);\n"
                "    for (int32_t k = 0; k < slice; k++) {\n"
                "      to[k] += updates[k];\n"
                "    }\n"
                "    index += p->depth;\n"
                "    updates += slice;\n"
                "  }\n"
                "}\n",
                name, index_type(e), type);
  else
    e->function(e, name,
                "/* Updates become the slices that tuples name. */\n"
                "static void %s(const struct tuples *p, const %s *index, const void *updates,\n"
                "               void *y, int32_t count, int32_t slice, int32_t bytes) {\n"
                "  const uint8_t *from = updates;\n"
                "  uint8_t *to = y;\n"
                "  for (int32_t i = 0; i < count; i++) {\n"
                "    memcpy(to + slice_%s(p, index) * bytes, from, (size_t)slice);\n"
                "    index += p->depth;\n"
                "    from += slice;\n"
                "  }\n"
                "}\n",
                name, index_type(e), type);
}

static void scatter_nd_emit(const tn_emit *e) {
  const nd p = tuples_table(e);
  const bool adds = tn_str_is(nd_reduction(e->call), "add");
  const int64_t bytes = rows_element_bytes(e->call->outputs[0]->dtype);
  char name[64];
  snprintf(name, sizeof name, "scatter_nd_%s%s", adds ? "add_" : "",
           tn_dtype(e->call->inputs[1]->dtype)->name);
  scatter_nd_function(e, name, adds);
  copy_data(e);
  e->line(e,
          adds ? "%s(&tuples_%u, %s, %s, %s, %lld, %lld);"
               : "%s(&tuples_%u, %s, %s, %s, %lld, %lld, %lld);",
          name, e->step, e->input(e, 1), e->input(e, 2), e->output(e, 0), (long long)p.n,
          (long long)(adds ? p.slice : p.slice * bytes), (long long)bytes);
}

static const tn_emitter gather_elements_emitter = {.head = TN_HEAD(tn_emitter),
                                                   .kernel = "gather_elements_c",
                                                   .refuse = refuse,
                                                   .emit = gather_elements_emit};
static const tn_emitter scatter_elements_emitter = {.head = TN_HEAD(tn_emitter),
                                                    .kernel = "scatter_elements_c",
                                                    .refuse = refuse_scatter_elements,
                                                    .emit = scatter_elements_emit};
static const tn_emitter gather_nd_emitter = {.head = TN_HEAD(tn_emitter),
                                             .kernel = "gather_nd_c",
                                             .refuse = refuse_gather_nd,
                                             .emit = gather_nd_emit};
static const tn_emitter scatter_nd_emitter = {.head = TN_HEAD(tn_emitter),
                                              .kernel = "scatter_nd_c",
                                              .refuse = refuse_scatter_nd,
                                              .emit = scatter_nd_emit};
const tn_emitter *const elements_emitters[] = {&gather_elements_emitter, &scatter_elements_emitter,
                                               &gather_nd_emitter, &scatter_nd_emitter, NULL};
