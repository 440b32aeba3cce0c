/* States: what a run leaves to the next one; initial values, resets, sharing by name, states that
 * grow, that nobody writes, that change places, and wrong calls. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "exec_parts.h"

static const tn_graph_api *api(void) { return tn_graph_functions(); }

/* With the operators that ship with Tenon: states that are outputs, too, are copied by one. */
static void open_bench_in(bench *b, const tn_allocator *allocator) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  options.n_threads = 1;
  options.flags = TN_RUNTIME_NO_DISCOVERY;
  options.allocator = allocator;
  bench_open_with(b, &options, exec_parts_query);
}

static void open_bench(bench *b) { open_bench_in(b, NULL); }

/* Memory that holds nothing of use once it was given back. */
static void *take(void *self, uint64_t bytes) {
  (void)self;
  return aligned_alloc(64, (size_t)((bytes + 63) / 64 * 64));
}

static void spoil(void *self, void *memory, uint64_t bytes) {
  (void)self;
  if (memory) memset(memory, 0xdd, (size_t)bytes);
  free(memory);
}

static int32_t add_state(tn_graph *g, const char *name, int64_t n, const float *first) {
  int32_t initial = TN_NO_ID;
  if (first) {
    float copy[4];
    memcpy(copy, first, (size_t)n * sizeof *copy);
    tn_tensor t = vector(TN_F32, n, copy);
    initial = api()->value(g, NULL);
    assert_int_equal(api()->value_set_const(g, initial, &t, 1), TN_OK);
  }
  const int32_t state = api()->state_new(g, name, add_value(g, name, TN_F32, n), initial);
  assert_true(state >= 0);
  return state;
}

static void set_state(tn_graph *g, int32_t state, const char *value) {
  assert_int_equal(api()->state_set(g, state, api()->value(g, value)), TN_OK);
}

static void check_state(const tn_session *s, const char *name, const tn_model *m, float a,
                        float b) {
  const tn_tensor *t = tn_session_state(s, tn_model_find_state(m, name));
  assert_non_null(t);
  const float *x = t->data;
  assert_true(x[0] == a && x[1] == b);
}

/* sum += x; y = sum before + x. */
static void build_sum_in(bench *b, const float *first, const tn_allocator *allocator) {
  open_bench_in(b, allocator);
  add_input(b->graph, "x", TN_F32, 2);
  const int32_t sum = add_state(b->graph, "sum", 2, first);
  add_node(b->graph, "Add", "x", "sum", "y", NULL, NULL);
  set_state(b->graph, sum, "y");
  add_output(b->graph, "y");
  bench_start(b);
}

static void build_sum(bench *b, const float *first) { build_sum_in(b, first, NULL); }

static void test_a_run_leaves_to_the_next(void **state) {
  bench b;
  float x[2] = {1, 2};
  (void)state;
  build_sum(&b, NULL);
  assert_int_equal(tn_model_n_inputs(b.model), 1);
  assert_int_equal(tn_model_n_outputs(b.model), 1);
  assert_int_equal(tn_model_n_states(b.model), 1);
  assert_string_equal(tn_model_state_name(b.model, 0), "sum");
  assert_null(tn_model_state_name(b.model, 1));
  check_state(b.session, "sum", b.model, 0, 0);
  set_input(&b, 0, TN_F32, 2, x);
  for (int k = 1; k <= 3; k++) {
    bench_run(&b);
    check_output(&b, 0, (float[]){(float)k, (float)(2 * k)}, 2);
  }
  assert_null(tn_session_output(b.session, 1));
  check_state(b.session, "sum", b.model, 3, 6);
  assert_int_equal(tn_session_reset(b.session), TN_OK);
  bench_run(&b);
  check_output(&b, 0, x, 2);
  bench_close(&b);
}

static void test_sessions_are_apart(void **state) {
  bench b;
  float x[2] = {1, 2}, first[2] = {10, 20};
  tn_session *other = NULL;
  (void)state;
  build_sum(&b, first);
  assert_int_equal(tn_session_create(b.model, b.diag, &other), TN_OK);
  set_input(&b, 0, TN_F32, 2, x);
  bench_run(&b);
  check_output(&b, 0, (float[]){11, 22}, 2);
  check_state(other, "sum", b.model, 10, 20);
  assert_int_equal(tn_session_share(other, b.session, b.diag), TN_OK);
  check_state(other, "sum", b.model, 11, 22);
  tn_tensor t = vector(TN_F32, 2, x);
  assert_int_equal(tn_session_set_input(other, 0, &t, b.diag), TN_OK);
  assert_int_equal(tn_session_run(other, b.diag), TN_OK);
  check_state(b.session, "sum", b.model, 12, 24);
  assert_int_equal(tn_session_reset(other), TN_OK);
  check_state(b.session, "sum", b.model, 10, 20);
  tn_session_destroy(other);
  bench_run(&b);
  check_output(&b, 0, (float[]){11, 22}, 2);
  bench_close(&b);
}

/* The runtime of the other session may go first. */
static void test_states_of_another_runtime(void **state) {
  const tn_allocator allocator = {.head = TN_HEAD(tn_allocator), .alloc = take, .free = spoil};
  bench b, other;
  float x[2] = {1, 2};
  (void)state;
  build_sum(&b, NULL);
  build_sum_in(&other, (float[]){10, 20}, &allocator);
  assert_int_equal(tn_session_share(b.session, other.session, b.diag), TN_OK);
  bench_close(&other);
  set_input(&b, 0, TN_F32, 2, x);
  bench_run(&b);
  check_state(b.session, "sum", b.model, 11, 22);
  bench_close(&b);
}

static void test_setting(void **state) {
  bench b;
  float x[2] = {1, 2}, three[3] = {0};
  (void)state;
  build_sum(&b, NULL);
  tn_tensor t = vector(TN_F32, 2, x), wrong = vector(TN_F32, 3, three);
  assert_int_equal(tn_session_set_state(b.session, 0, &t, b.diag), TN_OK);
  assert_int_equal(tn_session_set_state(b.session, 0, &wrong, b.diag), TN_ERR_SHAPE);
  assert_int_equal(tn_session_set_state(b.session, 0, NULL, b.diag), TN_ERR_INVALID);
  assert_int_equal(tn_session_set_state(b.session, 1, &t, b.diag), TN_ERR_NOT_FOUND);
  set_input(&b, 0, TN_F32, 2, x);
  bench_run(&b);
  check_output(&b, 0, (float[]){2, 4}, 2);
  bench_close(&b);
}

/* a and b change places; c is read alone; y = a before + c. */
static void test_states_change_places(void **state) {
  bench b;
  (void)state;
  open_bench(&b);
  add_input(b.graph, "x", TN_F32, 2);
  const int32_t p = add_state(b.graph, "p", 2, (float[]){1, 2}),
                q = add_state(b.graph, "q", 2, (float[]){3, 4});
  (void)add_state(b.graph, "c", 2, (float[]){100, 100});
  add_node(b.graph, "Add", "p", "c", "pc", NULL, NULL);
  add_node(b.graph, "Add", "pc", "x", "y", NULL, NULL);
  set_state(b.graph, p, "q");
  set_state(b.graph, q, "p");
  add_output(b.graph, "y");
  add_output(b.graph, "p");
  bench_start(&b);
  float x[2] = {0, 0};
  set_input(&b, 0, TN_F32, 2, x);
  for (int k = 0; k < 4; k++) {
    bench_run(&b);
    const float a0 = k % 2 ? 3 : 1, a1 = k % 2 ? 4 : 2;
    check_output(&b, 0, (float[]){100 + a0, 100 + a1}, 2);
    check_output(&b, 1, (float[]){a0, a1}, 2);
    check_state(b.session, "c", b.model, 100, 100);
  }
  bench_close(&b);
}

static void test_wrong_states(void **state) {
  bench b;
  (void)state;
  open_bench(&b);
  tn_graph *g = b.graph;
  add_input(g, "x", TN_F32, 2);
  assert_int_equal(api()->state_new(g, "s", api()->value(g, "x"), TN_NO_ID), TN_ERR_INVALID);
  assert_int_equal(api()->state_new(g, "s", 99, TN_NO_ID), TN_ERR_INVALID);
  assert_int_equal(api()->state_new(g, "", add_value(g, "s", TN_F32, 2), TN_NO_ID), TN_ERR_INVALID);
  const int32_t open = add_value(g, "open", TN_F32, -1);
  assert_int_equal(api()->state_new(g, "open", open, TN_NO_ID), TN_ERR_INVALID);
  assert_int_equal(api()->state_new(g, "s", add_value(g, "s", TN_STRING, 2), TN_NO_ID),
                   TN_ERR_INVALID);
  (void)add_state(g, "t", 2, NULL);
  assert_int_equal(api()->state_new(g, "t", add_value(g, "u", TN_F32, 2), TN_NO_ID),
                   TN_ERR_INVALID);
  assert_int_equal(api()->state_set(g, 1, 0), TN_ERR_INVALID);
  assert_int_equal(api()->entry_add(g, "one"), TN_OK);
  assert_int_equal(api()->entry_add(g, "one"), TN_ERR_INVALID);
  assert_int_equal(api()->n_entries(g), 1);
  assert_string_equal(api()->entry_at(g, 0), "one");
  tn_state_info info = {.head = TN_HEAD(tn_state_info)};
  assert_int_equal(api()->state_at(g, 0, &info), TN_OK);
  assert_true(info.before == info.after && info.initial == TN_NO_ID);
  assert_int_equal(api()->state_at(g, 1, &info), TN_ERR_NOT_FOUND);
  bench_close(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_run_leaves_to_the_next),  cmocka_unit_test(test_sessions_are_apart),
      cmocka_unit_test(test_states_of_another_runtime), cmocka_unit_test(test_setting),
      cmocka_unit_test(test_states_change_places),      cmocka_unit_test(test_wrong_states),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
