/* What a session tells about its plan, and the events of profiled runs. */
#include "exec_parts.h"

static void build(bench *b) {
  const tn_graph_api *api = tn_graph_functions();
  add_input(b->graph, "n", TN_I64, 1);
  add_input(b->graph, "x", TN_F32, 100);
  tn_graph *body = api->subgraph_new(b->graph);
  add_input(body, "v", TN_F32, 100);
  add_node(body, "Double", "v", NULL, "w", NULL, NULL);
  add_output(body, "w");
  tn_attr attr = tn_attr_graph("body", &body);
  add_node(b->graph, "Repeat", "n", "x", "r", &attr, NULL);
  add_node(b->graph, "NonZero", "r", NULL, "i", NULL, NULL);
  add_node(b->graph, "Count", "i", NULL, "c", NULL, NULL);
  add_output(b->graph, "c");
  bench_start(b);
}

static void check_step(const bench *b, int32_t index, const char *node, uint32_t depth) {
  tn_step_info step = {.head = TN_HEAD(tn_step_info)};
  assert_int_equal(tn_session_step(b->session, index, &step), TN_OK);
  assert_string_equal(step.node, node);
  assert_string_equal(step.device, "cpu");
  assert_string_equal(step.plugin, "exec_parts");
  assert_int_equal(step.depth, depth);
  assert_int_equal(step.n_outputs, 1);
  assert_true(step.n_inputs >= 1 && step.inputs[0] && step.outputs[0]);
}

static void test_steps(void **state) {
  bench b;
  static float x[100];
  int64_t n = 2;
  (void)state;
  bench_open(&b, NULL, 1);
  build(&b);
  tn_plan_info info = {.head = TN_HEAD(tn_plan_info)};
  tn_step_info step = {.head = TN_HEAD(tn_step_info)};
  assert_int_equal(tn_session_plan(b.session, &info), TN_ERR_STATE);
  assert_int_equal(tn_session_step(b.session, 0, &step), TN_ERR_STATE);
  for (int k = 0; k < 100; k++) x[k] = 1;
  set_input(&b, 0, TN_I64, 1, &n);
  set_input(&b, 1, TN_F32, 100, x);
  assert_int_equal(tn_session_prepare(b.session, b.diag), TN_OK);
  assert_int_equal(tn_session_plan(b.session, &info), TN_OK);
  assert_int_equal(info.n_steps, 1); /* the rest is not planned yet */
  check_step(&b, 0, "r", 0);
  bench_run(&b);
  assert_int_equal(tn_session_plan(b.session, &info), TN_OK);
  assert_int_equal(info.n_steps, 4);
  assert_true(info.state_bytes >= 8 && info.scratch_bytes >= 200);
  check_step(&b, 0, "r", 0);
  check_step(&b, 1, "w", 1);
  check_step(&b, 2, "i", 1);
  check_step(&b, 3, "c", 2);
  assert_int_equal(tn_session_step(b.session, 4, &step), TN_ERR_NOT_FOUND);
  assert_int_equal(tn_session_step(b.session, -1, &step), TN_ERR_NOT_FOUND);
  step.head.size = 4; /* no struct at all */
  assert_int_equal(tn_session_step(b.session, 0, &step), TN_ERR_INVALID);
  bench_close(&b);
}

static void test_events(void **state) {
  bench b;
  static float x[100];
  int64_t n = 3;
  (void)state;
  bench_open(&b, NULL, 1);
  build(&b);
  set_input(&b, 0, TN_I64, 1, &n);
  set_input(&b, 1, TN_F32, 100, x);
  bench_run(&b);
  assert_int_equal(tn_session_n_events(b.session), 0);
  assert_int_equal(tn_session_profile(b.session, 1), TN_OK);
  bench_run(&b);
  x[0] = 1; /* the continuation is planned anew: its plan of the first run goes, its events stay */
  bench_run(&b);
  assert_int_equal(tn_session_n_events(b.session), 12); /* w three times, r, i, c; twice */
  assert_int_equal(tn_session_profile(b.session, 0), TN_OK);
  bench_run(&b);
  assert_int_equal(tn_session_n_events(b.session), 12);
  static const char *const nodes[] = {"w", "w", "w", "r", "i", "c"};
  static const int32_t steps[] = {1, 1, 1, 0, 2, 3};
  for (int64_t k = 0; k < 12; k++) {
    tn_profile_event e = {.head = TN_HEAD(tn_profile_event)};
    assert_int_equal(tn_session_event(b.session, k, &e), TN_OK);
    assert_string_equal(e.node, nodes[k % 6]);
    assert_int_equal(e.run, k / 6);
    assert_true(e.begin_ns <= e.end_ns && e.begin_ns > 0);
    if (k == 5) assert_int_equal(e.step, -1); /* of a plan that is not the session's any more */
    if (k >= 6) assert_int_equal(e.step, steps[k % 6]);
  }
  tn_profile_event e = {.head = TN_HEAD(tn_profile_event)};
  assert_int_equal(tn_session_event(b.session, 12, &e), TN_ERR_NOT_FOUND);
  assert_int_equal(tn_session_profile(b.session, 1), TN_OK); /* starts anew */
  assert_int_equal(tn_session_n_events(b.session), 0);
  bench_close(&b);
}

/* The time of a step that runs on another's ranges is part of that one's event, which names it. */
static void test_followers(void **state) {
  bench b;
  static float x[100];
  (void)state;
  bench_open(&b, NULL, 1);
  add_input(b.graph, "x", TN_F32, 100);
  add_node(b.graph, "Count", "x", NULL, "c", NULL, NULL);
  add_node(b.graph, "Add", "c", "x", "s", NULL, NULL);
  add_node(b.graph, "Double", "s", NULL, "d", NULL, NULL);
  add_node(b.graph, "Double", "d", NULL, "y", NULL, NULL);
  add_output(b.graph, "y");
  bench_start(&b);
  set_input(&b, 0, TN_F32, 100, x);
  assert_int_equal(tn_session_profile(b.session, 1), TN_OK);
  bench_run(&b);
  static const int32_t leaders[] = {-1, -1, 1, 1};
  for (int32_t k = 0; k < 4; k++) {
    tn_step_info step = {.head = TN_HEAD(tn_step_info)};
    assert_int_equal(tn_session_step(b.session, k, &step), TN_OK);
    assert_int_equal(step.leader, leaders[k]);
  }
  assert_int_equal(tn_session_n_events(b.session), 2);
  tn_profile_event e = {.head = TN_HEAD(tn_profile_event)};
  assert_int_equal(tn_session_event(b.session, 0, &e), TN_OK);
  assert_int_equal(e.n_followers, 0);
  assert_int_equal(tn_session_event(b.session, 1, &e), TN_OK);
  assert_int_equal(e.step, 1);
  assert_int_equal(e.n_followers, 2);
  assert_string_equal(e.followers[0], "Double");
  assert_string_equal(e.followers[1], "Double");
  bench_close(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps), cmocka_unit_test(test_events),
                                     cmocka_unit_test(test_followers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
