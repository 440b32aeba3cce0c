/* Kernels that misbehave: each misdeed is answered with an error that names the node and says
 * what was wrong; the session can be used again. */
#include "exec_parts.h"

static tn_attr int_attr(const char *name, int64_t i) {
  return (tn_attr){.head = TN_HEAD(tn_attr), .name = name, .kind = TN_ATTR_INT, .i = i};
}

static tn_status run_bad_node(int64_t how, int32_t n_threads, bench *b) {
  static float x[4] = {1, 2, 3, 4};
  bench_open(b, NULL, n_threads);
  tn_attr attr = int_attr("how", how);
  add_input(b->graph, "x", TN_F32, 4);
  add_node(b->graph, "Double", "x", NULL, "xx", NULL, NULL);
  add_node(b->graph, "Bad", "xx", NULL, "bad1", &attr, NULL);
  add_output(b->graph, "bad1");
  bench_start(b);
  set_input(b, 0, TN_F32, 4, x);
  return tn_session_run(b->session, b->diag);
}

static void test_misdeeds(void **state) {
  static const struct {
    int64_t how;
    tn_status status;
    const char *text;
  } cases[] = {{BAD_TEXT, TN_ERR_UNSUPPORTED, "I will not do 5"},
               {BAD_SILENT, TN_ERR_UNSUPPORTED, "TN_ERR_UNSUPPORTED"},
               {BAD_CODE, TN_ERR_INTERNAL, "it answered 42, which is no status"},
               {BAD_DIM, TN_ERR_SHAPE, "dim 0 is -1"},
               {BAD_OUTPUT, TN_ERR_INVALID, "output 7, but there are 1"},
               {BAD_SHAPE, TN_ERR_SHAPE, "output 0 becomes f32[1], planned is f32[4]"},
               {BAD_STRING, TN_ERR_INVALID, "string_set of output 0"},
               {BAD_LIST, TN_ERR_INVALID, "it is no list"},
               {BAD_GRAPH, TN_ERR_INVALID, "there is no subgraph 0"},
               {BAD_NO_SHAPE, TN_ERR_INTERNAL, "gave output 0 no shape"},
               {BAD_HUGE, TN_ERR_OVERFLOW, "output_resize of output 0"},
               {BAD_RANK, TN_ERR_SHAPE, "rank 9"},
               {BAD_SET_NULL, TN_ERR_INVALID, "output_set of output 0 to nothing"},
               {BAD_PARALLEL, TN_ERR_INVALID, "several work items"},
               {BAD_WORKERS, TN_ERR_CANCELLED, "worker says"}};
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    bench b;
    tn_status status = run_bad_node(cases[k].how, 1 + (int32_t)(k % 2), &b);
    const char *text = tn_diag_text(b.diag);
    if (status != cases[k].status || !strstr(text, cases[k].text) ||
        !strstr(text, "node 'bad1' (Bad), kernel 'bad_c': "))
      fail_msg("case %d: status %d, text: %s", (int)cases[k].how, (int)status, text);
    assert_int_equal(tn_diag_count(b.diag), 1); /* one error, said once */
    assert_null(tn_session_output(b.session, 0));
    assert_int_equal(tn_session_run(b.session, NULL), cases[k].status);
    bench_close(&b);
  }
}

/* test::Pack says that it makes a sequence of f32. */
static void test_items_of_another_dtype(void **state) {
  bench b;
  int8_t x[4] = {1, 2, 3, 4};
  (void)state;
  bench_open(&b, NULL, 1);
  add_input(b.graph, "x", TN_I8, 4);
  add_node(b.graph, "Pack", "x", "x", "list", NULL, NULL);
  add_output(b.graph, "list");
  bench_start(&b);
  set_input(&b, 0, TN_I8, 4, x);
  assert_int_equal(tn_session_run(b.session, b.diag), TN_ERR_INVALID);
  assert_non_null(strstr(tn_diag_text(b.diag),
                         "list_append of i8[4] to output 0: the list holds another dtype"));
  bench_close(&b);
}

/* An error inside a branch names the node inside and the node that ran it. */
static void test_error_in_subgraph(void **state) {
  bench b;
  (void)state;
  bench_open(&b, NULL, 1);
  tn_attr how = int_attr("how", BAD_TEXT);
  add_input(b.graph, "cond", TN_BOOL, 1);
  add_input(b.graph, "x", TN_F32, 2);
  tn_graph *branches[2] = {tn_graph_functions()->subgraph_new(b.graph),
                           tn_graph_functions()->subgraph_new(b.graph)};
  add_node(branches[0], "Bad", "x", NULL, "inner", &how, NULL);
  add_output(branches[0], "inner");
  add_node(branches[1], "Double", "x", NULL, "e", NULL, NULL);
  add_output(branches[1], "e");
  tn_attr then_branch = tn_attr_graph("then_branch", &branches[0]),
          else_branch = tn_attr_graph("else_branch", &branches[1]);
  add_node(b.graph, "If", "cond", NULL, "outer", &then_branch, &else_branch);
  add_output(b.graph, "outer");
  bench_start(&b);
  float x[] = {1, 2};
  uint8_t cond = 1;
  set_input(&b, 0, TN_BOOL, 1, &cond);
  set_input(&b, 1, TN_F32, 2, x);
  assert_int_equal(tn_session_run(b.session, b.diag), TN_ERR_UNSUPPORTED);
  assert_non_null(
      strstr(tn_diag_text(b.diag), "node 'inner' (Bad), kernel 'bad_c': I will not do 5"));
  assert_non_null(
      strstr(tn_diag_text(b.diag), "node 'outer' (If), kernel 'if_c': then_branch of node "));
  tn_diag_clear(b.diag);
  cond = 0; /* the session goes on */
  bench_run(&b);
  check_output(&b, 0, (float[]){2, 4}, 2);
  bench_close(&b);
}

static void test_null_arguments(void **state) {
  bench b;
  (void)state;
  bench_open(&b, NULL, 1);
  tn_model *model = NULL;
  tn_session *session = NULL;
  tn_tensor type;
  tn_plan_info info = {.head = TN_HEAD(tn_plan_info)};
  assert_int_equal(tn_model_load(b.runtime, NULL, NULL, b.diag, &model), TN_ERR_INVALID);
  assert_int_equal(tn_model_load(b.runtime, "x.onnx", NULL, b.diag, NULL), TN_ERR_INVALID);
  assert_int_equal(tn_model_load(NULL, "x.onnx", NULL, b.diag, &model), TN_ERR_INVALID);
  assert_int_equal(tn_model_from_graph_take(b.runtime, NULL, NULL, b.diag, &model), TN_ERR_INVALID);
  assert_int_equal(tn_session_create(NULL, b.diag, &session), TN_ERR_INVALID);
  assert_int_equal(tn_session_run(NULL, b.diag), TN_ERR_INVALID);
  assert_int_equal(tn_session_plan(NULL, &info), TN_ERR_INVALID);
  assert_int_equal(tn_model_input_type(NULL, 0, &type), TN_ERR_NOT_FOUND);
  assert_null(tn_session_output(NULL, 0));
  assert_null(tn_model_input_name(NULL, 0));
  assert_int_equal(tn_model_n_inputs(NULL), 0);
  tn_model_destroy(NULL);
  tn_session_destroy(NULL);
  tn_graph_destroy(NULL);
  bench_close(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_items_of_another_dtype),
      cmocka_unit_test(test_misdeeds),
      cmocka_unit_test(test_error_in_subgraph),
      cmocka_unit_test(test_null_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
