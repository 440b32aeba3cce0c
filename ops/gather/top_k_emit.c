/* TopK as C: a heap of the places of the k best seen so far, the worst of them on top, is then
 * sorted. */
#include "gather.gen.h"
#include "rows.h"
#include "tenon/experimental/emit_elementwise.h"

static const char *refuse(const tn_call *call) {
  const int32_t out = tn_has_output(call, 0) ? 0 : 1;
  if (!tn_emit_c_type(call->inputs[0]->dtype)) return "takes no half floats";
  return tn_elements(call->outputs[out]) ? NULL : "its output has no elements";
}

static around around_of(const tn_call *call) {
  const tn_top_k_attrs *a = call->attrs;
  const tn_tensor *x = call->inputs[0];
  return around_axis(x, (int32_t)(a->axis < 0 ? a->axis + x->rank : a->axis));
}

static int64_t k_of(const tn_call *call) {
  const around a = around_of(call);
  const tn_tensor *y = call->outputs[tn_has_output(call, 0) ? 0 : 1];
  return tn_elements(y) / (a.before * a.after);
}

static uint64_t scratch(const tn_call *call) { return (uint64_t)k_of(call) * sizeof(int32_t); }

/* Whether one element is behind another. The name says the type and the order. */
static void order_function(const tn_emit *e, const char *name, bool largest) {
  const uint32_t dtype = e->call->inputs[0]->dtype;
  const bool is_float = dtype == TN_F32 || dtype == TN_F64;
  const char *than = largest ? "<" : ">";
  e->function(e, name,
              "/* Whether element a is behind element b: %s, or as large and behind it%s. */\n"
              "static int32_t behind_%s(const %s *x, int32_t a, int32_t b) {\n"
              "%s"
              "  return x[a] %s x[b] || (x[a] == x[b] && a > b) ? 1 : 0;\n"
              "}\n",
              largest ? "smaller" : "larger", is_float ? "; NaN is above all" : "", name,
              tn_emit_c_type(dtype),
              !is_float ? ""
              : largest ? "  if (x[a] != x[a] || x[b] != x[b]) {\n"
                          "    return x[a] == x[a] || (x[b] != x[b] && a > b) ? 1 : 0;\n"
                          "  }\n"
                        : "  if (x[a] != x[a] || x[b] != x[b]) {\n"
                          "    return x[b] == x[b] || (x[a] != x[a] && a > b) ? 1 : 0;\n"
                          "  }\n",
              than);
}

/* text: their name among functions; name: the type and the order. */
static void sort_functions(const tn_emit *e, const char *text, const char *name, const char *type) {
  e->function(
      e, text,
      "/* Puts element `at` of a heap in its place: each is behind its children. */\n"
      "static void sift_%s(const %s *x, int32_t *heap, int32_t at, int32_t n) {\n"
      "  const int32_t moved = heap[at];\n"
      "  int32_t to = at;\n"
      "  for (int32_t child = 2 * to + 1; child < n; child = 2 * to + 1) {\n"
      "    if (child + 1 < n && behind_%s(x, heap[child + 1], heap[child]) != 0) {\n"
      "      child++;\n"
      "    }\n"
      "    if (behind_%s(x, heap[child], moved) == 0) {\n"
      "      break;\n"
      "    }\n"
      "    heap[to] = heap[child];\n"
      "    to = child;\n"
      "  }\n"
      "  heap[to] = moved;\n"
      "}\n\n"
      "/* The places of the k best of n elements, `step` apart, best first. */\n"
      "static void sort_%s(const %s *x, int32_t n, int32_t step, int32_t k, int32_t *heap) {\n"
      "  for (int32_t j = 0; j < k; j++) {\n"
      "    heap[j] = j * step;\n"
      "  }\n"
      "  for (int32_t j = k / 2 - 1; j >= 0; j--) {\n"
      "    sift_%s(x, heap, j, k);\n"
      "  }\n"
      "  for (int32_t j = k; j < n; j++) {\n"
      "    if (behind_%s(x, heap[0], j * step) != 0) {\n"
      "      heap[0] = j * step;\n"
      "      sift_%s(x, heap, 0, k);\n"
      "    }\n"
      "  }\n"
      "  for (int32_t left = k - 1; left > 0; left--) { /* the worst goes to the end */\n"
      "    const int32_t worst = heap[0];\n"
      "    heap[0] = heap[left];\n"
      "    heap[left] = worst;\n"
      "    sift_%s(x, heap, 0, left);\n"
      "  }\n"
      "}\n",
      name, type, name, name, name, type, name, name, name, name);
}

static void emit(const tn_emit *e) {
  const tn_tensor *x = e->call->inputs[0];
  const bool largest = ((const tn_top_k_attrs *)e->call->attrs)->largest != 0;
  const around a = around_of(e->call);
  const char *type = tn_emit_c_type(x->dtype);
  char order[24], sort[32], name[32];
  snprintf(order, sizeof order, "%s_%s", largest ? "largest" : "smallest",
           tn_dtype(x->dtype)->name);
  snprintf(sort, sizeof sort, "%s_heap", order);
  snprintf(name, sizeof name, "top_%s", order);
  order_function(e, order, largest);
  sort_functions(e, sort, order, type);
  e->function(e, name,
              "/* The k best elements of each row and where they are; `values` may be NULL, and\n"
              " * `places`, too. */\n"
              "static void %s(const %s *x, int32_t outer, int32_t n, int32_t inner, int32_t k,\n"
              "               int32_t *heap, %s *values, int64_t *places) {\n"
              "  for (int32_t o = 0; o < outer; o++) {\n"
              "    for (int32_t i = 0; i < inner; i++) {\n"
              "      const %s *row = x + o * n * inner + i;\n"
              "      sort_%s(row, n, inner, k, heap);\n"
              "      for (int32_t j = 0; j < k; j++) {\n"
              "        const int32_t to = (o * k + j) * inner + i;\n"
              "        if (values != NULL) {\n"
              "          values[to] = row[heap[j]];\n"
              "        }\n"
              "        if (places != NULL) {\n"
              "          places[to] = heap[j] / inner;\n"
              "        }\n"
              "      }\n"
              "    }\n"
              "  }\n"
              "}\n",
              name, type, type, type, order);
  e->line(e, "%s(%s, %d, %d, %d, %d, %s, %s, %s);", name, e->input(e, 0), (int)a.before,
          (int)a.size, (int)a.after, (int)k_of(e->call), e->scratch(e), e->output(e, 0),
          e->output(e, 1));
}

static const tn_emitter emitter = {.head = TN_HEAD(tn_emitter),
                                   .kernel = "top_k_c",
                                   .refuse = refuse,
                                   .scratch = scratch,
                                   .scratch_type = TN_I32,
                                   .emit = emit};
const tn_emitter *const top_k_emitters[] = {&emitter, NULL};
