/* Several sessions of one model at once, each on its own thread with its own inputs and shapes,
 * sharing plans, states and the pool. Worth running under the thread sanitizer. */
#include <pthread.h>

#include "exec_parts.h"

enum { N_THREADS = 4, N_RUNS = 30, MAX = 200 };

typedef struct job {
  tn_model *model;
  int number;
  const char *wrong; /* what went wrong; NULL: nothing */
} job;

/* r = cond ? 2(2x) : x + 2x, i = indices where r is not 0, c = copy of i by a serial kernel */
static void build(bench *b) {
  const tn_graph_api *api = tn_graph_functions();
  add_input(b->graph, "cond", TN_BOOL, 1);
  add_input(b->graph, "x", TN_F32, TN_DIM_UNKNOWN);
  add_node(b->graph, "Double", "x", NULL, "xx", NULL, NULL);
  tn_graph *branches[2] = {api->subgraph_new(b->graph), api->subgraph_new(b->graph)};
  add_node(branches[0], "Double", "xx", NULL, "t", NULL, NULL);
  add_output(branches[0], "t");
  add_node(branches[1], "Add", "xx", "x", "e", NULL, NULL);
  add_output(branches[1], "e");
  tn_attr then_branch = tn_attr_graph("then_branch", &branches[0]),
          else_branch = tn_attr_graph("else_branch", &branches[1]);
  add_node(b->graph, "If", "cond", NULL, "r", &then_branch, &else_branch);
  add_node(b->graph, "NonZero", "r", NULL, "i", NULL, NULL);
  add_node(b->graph, "Count", "i", NULL, "c", NULL, NULL);
  add_output(b->graph, "r");
  add_output(b->graph, "c");
  bench_start(b);
}

static const char *run_once(tn_session *s, int number, int round) {
  float x[MAX];
  uint8_t cond = (uint8_t)(round % 2);
  int64_t n = 1 + (number * 37 + round * 11) % MAX;
  for (int64_t k = 0; k < n; k++) x[k] = (float)(k % 3);
  tn_tensor c = vector(TN_BOOL, 1, &cond), t = vector(TN_F32, n, x);
  if (tn_session_set_input(s, 0, &c, NULL) || tn_session_set_input(s, 1, &t, NULL))
    return "set_input failed";
  if (tn_session_run(s, NULL)) return "run failed";
  const float *r = tn_session_output(s, 0)->data;
  const int64_t *found = tn_session_output(s, 1)->data;
  int64_t n_found = 0;
  for (int64_t k = 0; k < n; k++) {
    if (r[k] != x[k] * (cond ? 4 : 3)) return "a sum is wrong";
    if (r[k] != 0 && found[n_found++] != k) return "an index is wrong";
  }
  return tn_tensor_elements(tn_session_output(s, 1)) == n_found ? NULL : "a shape is wrong";
}

static void *work(void *arg) {
  job *j = arg;
  tn_session *s = NULL;
  if (tn_session_create(j->model, NULL, &s)) j->wrong = "session_create failed";
  for (int k = 0; !j->wrong && k < N_RUNS; k++) j->wrong = run_once(s, j->number, k);
  tn_session_destroy(s);
  return NULL;
}

static void test_sessions_at_once(void **state) {
  bench b;
  pthread_t threads[N_THREADS];
  job jobs[N_THREADS];
  (void)state;
  bench_open(&b, NULL, 3);
  build(&b);
  for (int k = 0; k < N_THREADS; k++) {
    jobs[k] = (job){b.model, k, NULL};
    assert_int_equal(pthread_create(&threads[k], NULL, work, &jobs[k]), 0);
  }
  for (int k = 0; k < N_THREADS; k++) pthread_join(threads[k], NULL);
  for (int k = 0; k < N_THREADS; k++)
    if (jobs[k].wrong) fail_msg("thread %d: %s", k, jobs[k].wrong);
  bench_close(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sessions_at_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
