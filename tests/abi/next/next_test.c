/* Loads plug-ins of today and of the next version. Built three times: as a program of today with
 * the library of today; the same with a library of the next version (NEW_LIBRARY); and as a program
 * of the next version with that (NEXT too). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tenon/tenon.h"

static tn_runtime *open_runtime(void) {
  tn_runtime_options o = TN_RUNTIME_OPTIONS_INIT;
  tn_runtime *runtime = NULL;
  o.flags = TN_RUNTIME_NO_BUILTINS | TN_RUNTIME_NO_DISCOVERY;
  o.n_threads = 1;
  assert_int_equal(tn_runtime_create(&o, NULL, &runtime), TN_OK);
  return runtime;
}

/* More(x) or Half(x), built by hand, run once: the answer for x = 10. */
static float run_one(tn_runtime *runtime, const char *op) {
  const tn_graph_api *api = tn_graph_functions();
  tn_graph *graph = NULL;
  tn_model *model = NULL;
  tn_session *session = NULL;
  const int64_t shape[] = {1};
  float x = 10;
  const tn_tensor t = tn_tensor_make(TN_F32, 1, shape, &x);
  assert_int_equal(tn_graph_create(runtime, &graph), TN_OK);
  const int32_t in = api->value(graph, "x"), out = api->value(graph, "y");
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = "com.acme",
                        .op = op,
                        .n_inputs = 1,
                        .n_outputs = 1,
                        .inputs = &in,
                        .outputs = &out,
                        .offset = -1};
  assert_int_equal(api->set_opset(graph, "com.acme", 1), TN_OK);
  assert_int_equal(api->value_set_type(graph, in, &t), TN_OK);
  assert_int_equal(api->add_input(graph, in), TN_OK);
  assert_true(api->add_node(graph, &node) >= 0);
  assert_int_equal(api->add_output(graph, out), TN_OK);
  assert_int_equal(tn_model_from_graph_take(runtime, graph, NULL, NULL, &model), TN_OK);
  tn_tensor type;
  memset(&type, 0x5a, sizeof type);
  assert_int_equal(tn_model_input_type(model, 0, &type), TN_OK);
  assert_int_equal(type.shape[0], 1);
  assert_int_equal(tn_session_create(model, NULL, &session), TN_OK);
  assert_int_equal(tn_session_set_input(session, 0, &t, NULL), TN_OK);
  assert_int_equal(tn_session_run(session, NULL), TN_OK);
  tn_step_info step = {.head = TN_HEAD(tn_step_info)};
  assert_int_equal(tn_session_step(session, 0, &step), TN_OK);
  const float y = *(const float *)tn_session_output(session, 0)->data;
  tn_session_destroy(session);
  tn_model_destroy(model);
  return y;
}

/* The next version's plug-in runs in both; only there it sees more. */
static void test_new_plugin(void **state) {
  (void)state;
  tn_runtime *runtime = open_runtime();
  tn_diag *diag = tn_diag_create();
  if (tn_runtime_load_plugin(runtime, NEXT_PLUGIN, NULL, 0, diag))
    fail_msg("%s", tn_diag_text(diag));
#ifdef NEXT
  assert_int_equal(tn_runtime_kernel(runtime, 0)->next, 7);
  assert_int_equal(tn_runtime_op(runtime, 0)->next, 11);
#endif
#ifdef NEW_LIBRARY
  assert_true(run_one(runtime, "More") == 12);
#else
  assert_true(run_one(runtime, "More") == 11);
#endif
  tn_diag_destroy(diag);
  tn_runtime_destroy(runtime);
}

/* What it lacks, a newer host takes as zero. */
static void test_old_plugin(void **state) {
  (void)state;
  tn_runtime *runtime = open_runtime();
  assert_int_equal(tn_runtime_load_plugin(runtime, OLD_PLUGIN, NULL, 0, NULL), TN_OK);
#ifdef NEXT
  assert_int_equal(tn_runtime_kernel(runtime, 0)->next, 0);
  assert_null(tn_runtime_kernel(runtime, 0)->accepts[0]->next_text);
  assert_null(tn_runtime_op(runtime, 0)->types[0]->next_text);
  assert_int_equal(tn_runtime_kernel(runtime, 0)->head.size, sizeof(tn_kernel));
#endif
  assert_true(run_one(runtime, "Half") == 5);
  tn_runtime_destroy(runtime);
}

static void test_needs(void **state) {
  (void)state;
  tn_runtime *runtime = open_runtime();
  tn_diag *diag = tn_diag_create();
  const tn_status status = tn_runtime_load_plugin(runtime, NEEDY_PLUGIN, NULL, 0, diag);
#ifdef NEW_LIBRARY
  assert_int_equal(status, TN_OK);
#else
  assert_int_equal(status, TN_ERR_VERSION);
  assert_int_equal(tn_diag_count(diag), 1);
  assert_non_null(strstr(tn_diag_text(diag),
                         "plug-in 'next', member needs: asks for "
                         "'tn_host.next', which this host (ABI "));
#endif
  tn_diag_destroy(diag);
  tn_runtime_destroy(runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_new_plugin),
      cmocka_unit_test(test_old_plugin),
      cmocka_unit_test(test_needs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
