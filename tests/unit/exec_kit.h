/* What tests that bring operators of their own share: a plug-in from lists of them, a runtime with
 * it, graphs of nodes of the domain "test", running and comparing. */
#ifndef TENON_TESTS_EXEC_KIT_H
#define TENON_TESTS_EXEC_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tenon/kit/lower.h"
#include "tenon/tenon.h"

/* ---- a plug-in ---- */

/* ...: further members, .lower = f */
#define PART_OP_WITH(var, op_name, op_schema, ...)  \
  static const tn_op var = {.head = TN_HEAD(tn_op), \
                            .domain = "test",       \
                            .name = op_name,        \
                            .since = 1,             \
                            .schema = op_schema,    \
                            .doc = "For tests.",    \
                            __VA_ARGS__}
#define PART_OP(var, op_name, op_schema, op_flags, op_infer) \
  PART_OP_WITH(var, op_name, op_schema, .flags = op_flags, .infer = op_infer)
TN_ACCEPT(part_any, .arg = "*", .dtypes = TN_ANY_DTYPE);
TN_LIST(const tn_accept *, part_any_rows, &part_any);
#define PART_ANY .accepts = part_any_rows, .n_accepts = 1
#define PART_KERNEL_WITH(var, op_name, ...)                 \
  static const tn_kernel var = {.head = TN_HEAD(tn_kernel), \
                                .name = #var,               \
                                .op = "test::" op_name,     \
                                .device = "cpu",            \
                                .rank = TN_RANK_PORTABLE,   \
                                __VA_ARGS__}
#define PART_KERNEL(var, op_name, kernel_plan, kernel_run) \
  PART_KERNEL_WITH(var, op_name, PART_ANY, .plan = kernel_plan, .run = kernel_run)

/* And its query function var_query, for tn_runtime_add_plugin(). */
#define PART_PLUGIN(var, op_list, kernel_list)                                         \
  static const tn_plugin var = {.head = TN_HEAD(tn_plugin),                            \
                                .name = #var,                                          \
                                .version = "1",                                        \
                                .license = "Apache-2.0",                               \
                                .build_id = "test",                                    \
                                .flavour = TN_FLAVOUR,                                 \
                                .n_ops = sizeof op_list / sizeof *op_list,             \
                                .ops = op_list,                                        \
                                .n_kernels = sizeof kernel_list / sizeof *kernel_list, \
                                .kernels = kernel_list};                               \
  static const tn_plugin *var##_query(uint32_t major, uint32_t minor) {                \
    (void)major, (void)minor;                                                          \
    return &var;                                                                       \
  }                                                                                    \
  struct tn_plugin

/* ---- building ---- */

typedef struct bench {
  tn_runtime *runtime;
  tn_diag *diag;
  tn_graph *graph;
  tn_model *model;
  tn_session *session;
} bench;

/* A runtime with this plug-in and an empty graph. */
static inline void bench_open_with(bench *b, const tn_runtime_options *options,
                                   tn_plugin_query_fn query) {
  memset(b, 0, sizeof *b);
  b->diag = tn_diag_create();
  if (tn_runtime_create(options, b->diag, &b->runtime) ||
      tn_runtime_add_plugin(b->runtime, query, NULL, 0, b->diag) ||
      tn_graph_create(b->runtime, &b->graph))
    fail_msg("%s", tn_diag_text(b->diag));
  assert_int_equal(tn_graph_functions()->set_opset(b->graph, "test", 1), TN_OK);
}

static inline void bench_close(bench *b) {
  tn_session_destroy(b->session);
  tn_model_destroy(b->model);
  tn_graph_destroy(b->graph);
  tn_runtime_destroy(b->runtime);
  tn_diag_destroy(b->diag);
}

static inline int32_t add_value(tn_graph *g, const char *name, uint32_t dtype, int64_t n) {
  const tn_graph_api *api = tn_graph_functions();
  int32_t v = api->value(g, name);
  tn_tensor type = tn_tensor_make(dtype, 1, &n, NULL);
  assert_true(v >= 0);
  assert_int_equal(api->value_set_type(g, v, &type), TN_OK);
  return v;
}

static inline void add_input(tn_graph *g, const char *name, uint32_t dtype, int64_t n) {
  assert_int_equal(tn_graph_functions()->add_input(g, add_value(g, name, dtype, n)), TN_OK);
}

static inline void add_output(tn_graph *g, const char *name) {
  const tn_graph_api *api = tn_graph_functions();
  assert_int_equal(api->add_output(g, api->value(g, name)), TN_OK);
}

/* A node with up to two inputs (NULL: fewer), one output, and up to two attributes. */
static inline void add_node(tn_graph *g, const char *op, const char *in0, const char *in1,
                            const char *out, const tn_attr *attr0, const tn_attr *attr1) {
  const tn_graph_api *api = tn_graph_functions();
  int32_t inputs[2] = {api->value(g, in0), in1 ? api->value(g, in1) : -1},
          output = api->value(g, out);
  const tn_attr *attrs[2] = {attr0, attr1};
  tn_node node = {.head = TN_HEAD(tn_node),
                  .domain = "test",
                  .op = op,
                  .name = out,
                  .n_inputs = in1 ? 2 : 1,
                  .n_outputs = 1,
                  .n_attrs = attr1   ? 2
                             : attr0 ? 1
                                     : 0,
                  .inputs = inputs,
                  .outputs = &output,
                  .attrs = attrs,
                  .offset = -1};
  assert_true(api->add_node(g, &node) >= 0);
}

/* The graph becomes model and session. */
static inline void bench_start(bench *b) {
  tn_graph *graph = b->graph;
  b->graph = NULL;
  if (tn_model_from_graph_take(b->runtime, graph, NULL, b->diag, &b->model) ||
      tn_session_create(b->model, b->diag, &b->session))
    fail_msg("%s", tn_diag_text(b->diag));
}

static inline tn_tensor vector(uint32_t dtype, int64_t n, void *data) {
  return tn_tensor_make(dtype, 1, &n, data);
}

static inline void set_input(bench *b, int32_t index, uint32_t dtype, int64_t n, void *data) {
  tn_tensor t = vector(dtype, n, data);
  if (tn_session_set_input(b->session, index, &t, b->diag)) fail_msg("%s", tn_diag_text(b->diag));
}

static inline void bench_run(bench *b) {
  if (tn_session_run(b->session, b->diag)) fail_msg("%s", tn_diag_text(b->diag));
}

static inline void check_output(const bench *b, int32_t index, const float *expected, int64_t n) {
  const tn_tensor *t = tn_session_output(b->session, index);
  assert_non_null(t);
  assert_int_equal(t->dtype, TN_F32);
  assert_int_equal(tn_tensor_elements(t), n);
  const float *y = t->data;
  for (int64_t k = 0; k < n; k++)
    if (y[k] != expected[k])
      fail_msg("element %d is %g, expected %g", (int)k, (double)y[k], (double)expected[k]);
}

#endif
