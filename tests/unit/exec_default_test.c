/* Inputs that have a default: left out, fed, and left out again; folding, captures, shapes that
 * depend on them, and several sets of fed ones. */
#include <stdbool.h>
#include <stdio.h>

#include "base/alloc.h"
#include "exec_parts.h"

static const tn_graph_api *api(void) { return tn_graph_functions(); }

static void add_default(tn_graph *g, const char *name, uint32_t dtype, int64_t n, void *data) {
  int32_t value = api()->value(g, name);
  tn_tensor t = vector(dtype, n, data);
  assert_int_equal(api()->value_set_const(g, value, &t, 1), TN_OK);
  assert_int_equal(api()->add_input(g, value), TN_OK);
  assert_int_equal(api()->add_input(g, value), TN_ERR_STATE);
}

static int32_t count_steps(const bench *b) {
  tn_plan_info plan = {.head = TN_HEAD(tn_plan_info)};
  assert_int_equal(tn_session_plan(b->session, &plan), TN_OK);
  return plan.n_steps;
}

/* y = x + 2 k; k is {1, 2} unless it is fed. */
static void build_sum_with(bench *b, const tn_allocator *allocator) {
  float k[2] = {1, 2};
  bench_open(b, allocator, 1);
  add_default(b->graph, "k", TN_F32, 2, k);
  add_input(b->graph, "x", TN_F32, 2);
  add_node(b->graph, "Double", "k", NULL, "kk", NULL, NULL);
  add_node(b->graph, "Add", "x", "kk", "y", NULL, NULL);
  add_output(b->graph, "y");
  bench_start(b);
}

static void build_sum(bench *b) { build_sum_with(b, NULL); }

static void test_inputs_are_told_apart(void **state) {
  bench b;
  (void)state;
  build_sum(&b);
  assert_int_equal(tn_model_n_inputs(b.model), 1);
  assert_int_equal(tn_model_n_defaults(b.model), 1);
  assert_string_equal(tn_model_input_name(b.model, 0), "x");
  assert_string_equal(tn_model_input_name(b.model, 1), "k");
  assert_null(tn_model_input_name(b.model, 2));
  assert_int_equal(tn_model_find_input(b.model, "k"), 1);
  assert_null(tn_model_input_default(b.model, 0));
  assert_null(tn_model_input_default(b.model, 2));
  const tn_tensor *k = tn_model_input_default(b.model, 1);
  assert_true(k && ((const float *)k->data)[1] == 2);
  tn_tensor type;
  assert_int_equal(tn_model_input_type(b.model, 1, &type), TN_OK);
  assert_null(type.data);
  float three[3] = {0};
  tn_tensor wrong = vector(TN_F32, 3, three);
  assert_int_equal(tn_session_set_input(b.session, 1, &wrong, b.diag), TN_ERR_SHAPE);
  assert_int_equal(tn_session_set_input(b.session, 2, &wrong, b.diag), TN_ERR_NOT_FOUND);
  assert_int_equal(tn_session_run(b.session, b.diag), TN_ERR_STATE); /* x is required */
  bench_close(&b);
}

static void test_fed_and_left_out(void **state) {
  bench b;
  (void)state;
  build_sum(&b);
  float x[2] = {10, 20}, k[2] = {3, 4};
  set_input(&b, 0, TN_F32, 2, x);
  for (int round = 0; round < 3; round++) {
    bench_run(&b);
    check_output(&b, 0, (float[]){12, 24}, 2);
    assert_int_equal(count_steps(&b), 1); /* 2 k is folded */
    set_input(&b, 1, TN_F32, 2, k);
    bench_run(&b);
    check_output(&b, 0, (float[]){16, 28}, 2);
    assert_int_equal(count_steps(&b), 2);
    k[0] = 5; /* it is an input: no plan holds its data */
    bench_run(&b);
    check_output(&b, 0, (float[]){20, 28}, 2);
    k[0] = 3;
    assert_int_equal(tn_session_set_input(b.session, 1, NULL, b.diag), TN_OK);
  }
  bench_close(&b);
}

/* A branch captures k. */
static void test_captured_defaults(void **state) {
  bench b;
  (void)state;
  uint8_t yes = 1;
  float k[2] = {1, 2}, fed[2] = {7, 8};
  bench_open(&b, NULL, 1);
  add_default(b.graph, "k", TN_F32, 2, k);
  add_input(b.graph, "c", TN_BOOL, 1);
  tn_graph *then = api()->subgraph_new(b.graph), *other = api()->subgraph_new(b.graph);
  add_node(then, "Double", "k", NULL, "t", NULL, NULL);
  add_output(then, "t");
  add_node(other, "Add", "k", "k", "e", NULL, NULL);
  add_output(other, "e");
  tn_attr a = tn_attr_graph("then_branch", &then), e = tn_attr_graph("else_branch", &other);
  add_node(b.graph, "If", "c", NULL, "y", &a, &e);
  add_output(b.graph, "y");
  bench_start(&b);
  set_input(&b, 0, TN_BOOL, 1, &yes);
  bench_run(&b);
  check_output(&b, 0, (float[]){2, 4}, 2);
  set_input(&b, 1, TN_F32, 2, fed);
  bench_run(&b);
  check_output(&b, 0, (float[]){14, 16}, 2);
  bench_close(&b);
}

/* y = iota(n) + 0: the shape depends on the default. */
static void test_shapes_depend_on_defaults(void **state) {
  bench b;
  (void)state;
  int64_t n = 2, more = 3;
  bench_open(&b, NULL, 1);
  add_default(b.graph, "n", TN_I64, 1, &n);
  add_node(b.graph, "Iota", "n", NULL, "i", NULL, NULL);
  add_node(b.graph, "Double", "i", NULL, "y", NULL, NULL);
  add_output(b.graph, "y");
  bench_start(&b);
  assert_int_equal(tn_model_n_inputs(b.model), 0);
  bench_run(&b);
  check_output(&b, 0, (float[]){0, 2}, 2);
  set_input(&b, 0, TN_I64, 1, &more);
  bench_run(&b);
  check_output(&b, 0, (float[]){0, 2, 4}, 3);
  more = 4;
  bench_run(&b);
  check_output(&b, 0, (float[]){0, 2, 4, 6}, 4);
  bench_close(&b);
}

enum { DEFAULTS = 5 };

/* More sets of fed defaults than a session keeps, with the profile on: y = d0 + d1 + .. */
static void test_many_sets(void **state) {
  bench b;
  (void)state;
  float one = 1, fed[DEFAULTS];
  char name[8], sum[8], last[8] = "d0";
  bench_open(&b, NULL, 1);
  for (int k = 0; k < DEFAULTS; k++) {
    snprintf(name, sizeof name, "d%d", k);
    add_default(b.graph, name, TN_F32, 1, &one);
    if (!k) continue;
    snprintf(sum, sizeof sum, "s%d", k);
    add_node(b.graph, "Add", last, name, sum, NULL, NULL);
    snprintf(last, sizeof last, "%s", sum);
  }
  add_output(b.graph, last);
  bench_start(&b);
  assert_int_equal(tn_session_profile(b.session, 1), TN_OK);
  for (int set = 0; set < 2 << DEFAULTS; set++) {
    float want = 0;
    for (int k = 0; k < DEFAULTS; k++) {
      bool is_fed = set >> k & 1;
      fed[k] = (float)(2 << k);
      tn_tensor t = vector(TN_F32, 1, &fed[k]);
      assert_int_equal(tn_session_set_input(b.session, k, is_fed ? &t : NULL, b.diag), TN_OK);
      want += is_fed ? fed[k] : 1;
    }
    bench_run(&b);
    check_output(&b, 0, &want, 1);
  }
  tn_profile_event e = {.head = TN_HEAD(tn_profile_event)};
  for (int64_t k = 0; k < tn_session_n_events(b.session); k++)
    assert_int_equal(tn_session_event(b.session, k, &e), TN_OK);
  bench_close(&b);
}

/* ---- memory that cannot be had ---- */

typedef struct counting {
  tn_allocator base;
  int64_t n_calls, fail_at, n_live;
} counting;

static void *counting_alloc(void *self, uint64_t bytes) {
  counting *c = self;
  if (++c->n_calls == c->fail_at) return NULL;
  const tn_allocator *a = tn_default_allocator();
  void *memory = a->alloc(a->self, bytes);
  c->n_live += memory != NULL;
  return memory;
}

static void counting_free(void *self, void *memory, uint64_t bytes) {
  counting *c = self;
  const tn_allocator *a = tn_default_allocator();
  c->n_live -= memory != NULL;
  a->free(a->self, memory, bytes);
}

/* Each allocation of the first run with a fed default fails once; the next run is right. */
static void test_memory_runs_out(void **state) {
  counting c = {{TN_HEAD(tn_allocator), &c, counting_alloc, counting_free}, 0, 0, 0};
  float x[2] = {10, 20}, k[2] = {3, 4};
  bool failed = true;
  (void)state;
  for (int64_t n = 1; failed; n++) {
    bench b;
    build_sum_with(&b, &c.base);
    set_input(&b, 0, TN_F32, 2, x);
    set_input(&b, 1, TN_F32, 2, k);
    c.fail_at = c.n_calls + n;
    tn_status status = tn_session_run(b.session, b.diag);
    failed = c.n_calls >= c.fail_at;
    c.fail_at = 0;
    /* a plan that cannot be kept for later is no failure */
    if (status) assert_true(failed && status == TN_ERR_MEMORY);
    bench_run(&b);
    check_output(&b, 0, (float[]){16, 28}, 2);
    bench_close(&b);
    assert_int_equal(c.n_live, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_inputs_are_told_apart),
      cmocka_unit_test(test_fed_and_left_out),
      cmocka_unit_test(test_captured_defaults),
      cmocka_unit_test(test_shapes_depend_on_defaults),
      cmocka_unit_test(test_many_sets),
      cmocka_unit_test(test_memory_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
