/* "Any type" of a plug-in of ABI 1.0 means the types that 1.0 has: its operators refuse newer ones,
 * its kernels leave them to others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tenon/tenon.h"

typedef struct bench {
  tn_runtime *runtime;
  tn_model *model;
  tn_session *session;
  tn_diag *diag;
} bench;

static void load(bench *b, const char *path) {
  if (tn_runtime_load_plugin(b->runtime, path, NULL, 0, b->diag))
    fail_msg("%s", tn_diag_text(b->diag));
}

static void open_bench(bench *b) {
  tn_runtime_options o = TN_RUNTIME_OPTIONS_INIT;
  *b = (bench){.diag = tn_diag_create()};
  o.flags = TN_RUNTIME_NO_DISCOVERY;
  o.n_threads = 1;
  assert_int_equal(tn_runtime_create(&o, NULL, &b->runtime), TN_OK);
}

static void close_model(bench *b) {
  tn_session_destroy(b->session);
  tn_model_destroy(b->model);
  b->session = NULL;
  b->model = NULL;
}

static void close_bench(bench *b) {
  close_model(b);
  tn_runtime_destroy(b->runtime);
  tn_diag_destroy(b->diag);
}

/* y = Copy(x), x of [4], planned. */
static tn_status make(bench *b, uint32_t dtype, void *data) {
  const tn_graph_api *api = tn_graph_functions();
  const int64_t shape[] = {4};
  const tn_tensor x = tn_tensor_make(dtype, 1, shape, data);
  tn_graph *graph = NULL;
  assert_int_equal(tn_graph_create(b->runtime, &graph), TN_OK);
  const int32_t in = api->value(graph, "x"), out = api->value(graph, "y");
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = "com.acme",
                        .op = "Copy",
                        .n_inputs = 1,
                        .n_outputs = 1,
                        .inputs = &in,
                        .outputs = &out,
                        .offset = -1};
  assert_int_equal(api->set_opset(graph, "com.acme", 1), TN_OK);
  assert_int_equal(api->value_set_type(graph, in, &x), TN_OK);
  assert_int_equal(api->add_input(graph, in), TN_OK);
  assert_true(api->add_node(graph, &node) >= 0);
  assert_int_equal(api->add_output(graph, out), TN_OK);
  tn_status status = tn_model_from_graph_take(b->runtime, graph, NULL, b->diag, &b->model);
  if (!status) status = tn_session_create(b->model, NULL, &b->session);
  if (!status) status = tn_session_set_input(b->session, 0, &x, b->diag);
  return status ? status : tn_session_run(b->session, b->diag);
}

static void expect_copied(bench *b, uint32_t dtype, const char *kernel) {
  uint8_t data[16] = {1, 2, 3, 0x3F};
  tn_step_info step = {.head = TN_HEAD(tn_step_info)};
  if (make(b, dtype, data)) fail_msg("%s", tn_diag_text(b->diag));
  assert_memory_equal(tn_session_output(b->session, 0)->data, data, 4);
  assert_int_equal(tn_session_step(b->session, 0, &step), TN_OK);
  assert_string_equal(step.kernel, kernel);
}

static void old_operators_refuse_new_types(void **state) {
  (void)state;
  bench b;
  uint8_t data[4] = {0};
  open_bench(&b);
  load(&b, OLD_PLUGIN);
  expect_copied(&b, TN_F32, "copy_old");
  close_model(&b);
  expect_copied(&b, TN_U8, "copy_old");
  close_model(&b);
  assert_int_not_equal(make(&b, TN_F6E2M3, data), TN_OK);
  if (!strstr(tn_diag_text(b.diag), "f6e2m3")) fail_msg("%s", tn_diag_text(b.diag));
  close_bench(&b);
}

static void old_kernels_leave_new_types_to_others(void **state) {
  (void)state;
  bench b;
  open_bench(&b);
  load(&b, NEW_PLUGIN);
  load(&b, OLD_KERNEL);
  expect_copied(&b, TN_U8, "copy_kernel");
  close_model(&b);
  expect_copied(&b, TN_F6E3M2, "copy_new");
  tn_step_info step = {.head = TN_HEAD(tn_step_info)};
  assert_int_equal(tn_session_step(b.session, 0, &step), TN_OK);
  assert_int_equal(step.n_refusals, 1);
  assert_string_equal(step.refused_kernels[0], "copy_kernel");
  assert_string_equal(step.refusals[0], "is made for ABI 1.0, which has no f6e3m2");
  close_bench(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(old_operators_refuse_new_types),
      cmocka_unit_test(old_kernels_leave_new_types_to_others),
  };
  return cmocka_run_group_tests_name("released", tests, NULL, NULL);
}
