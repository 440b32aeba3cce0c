/* Sessions end to end on graphs of the test parts: shapes, bound outputs, data-dependent shapes,
 * subgraphs, strings and lists, and what is said when inputs do not fit. */
#include <stdbool.h>

#include "exec_parts.h"

static const tn_graph_api *api(void) { return tn_graph_functions(); }

/* y = 2 * (a + b), s = a + b */
static void build_sum(bench *b) {
  add_input(b->graph, "a", TN_F32, TN_DIM_UNKNOWN);
  add_input(b->graph, "b", TN_F32, TN_DIM_UNKNOWN);
  add_node(b->graph, "Add", "a", "b", "s", NULL, NULL);
  add_node(b->graph, "Double", "s", NULL, "y", NULL, NULL);
  add_output(b->graph, "y");
  add_output(b->graph, "s");
  bench_start(b);
}

static void run_sum(bench *b, int64_t n) {
  float x[300], z[300], s[300], y[300];
  for (int64_t k = 0; k < n; k++) {
    x[k] = (float)k;
    z[k] = (float)(n - 2 * k);
    s[k] = x[k] + z[k];
    y[k] = 2 * s[k];
  }
  set_input(b, 0, TN_F32, n, x);
  set_input(b, 1, TN_F32, n, z);
  bench_run(b);
  check_output(b, 0, y, n);
  check_output(b, 1, s, n);
}

static void test_shapes_come_and_go(void **state) {
  bench b;
  (void)state;
  bench_open(&b, NULL, 2);
  build_sum(&b);
  static const int64_t sizes[] = {3, 300, 1, 0, 17, 300, 3};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) run_sum(&b, sizes[k]);
  bench_close(&b);
}

static void test_bound_outputs(void **state) {
  bench b;
  (void)state;
  bench_open(&b, NULL, 1);
  build_sum(&b);
  float x[] = {1, 2, 3}, z[] = {10, 20, 30}, mine[3] = {0}, mine_too[3] = {0};
  tn_tensor out = vector(TN_F32, 3, mine), out_too = vector(TN_F32, 3, mine_too);
  set_input(&b, 0, TN_F32, 3, x);
  set_input(&b, 1, TN_F32, 3, z);
  assert_int_equal(tn_session_set_output(b.session, 0, &out, b.diag), TN_OK);
  assert_int_equal(tn_session_set_output(b.session, 1, &out_too, b.diag), TN_OK);
  bench_run(&b);
  assert_ptr_equal(tn_session_output(b.session, 0)->data, mine);
  assert_ptr_equal(tn_session_output(b.session, 1)->data, mine_too);
  check_output(&b, 0, (float[]){22, 44, 66}, 3);
  check_output(&b, 1, (float[]){11, 22, 33}, 3);
  tn_tensor type;
  assert_int_equal(tn_session_output_type(b.session, 1, &type), TN_OK);
  assert_true(type.dtype == TN_F32 && type.rank == 1 && type.shape[0] == 3 && !type.data);
  assert_int_equal(tn_session_output_type(b.session, 2, &type), TN_ERR_NOT_FOUND);

  out_too.data = x; /* the sum goes where an input comes from */
  assert_int_equal(tn_session_set_output(b.session, 1, &out_too, b.diag), TN_OK);
  bench_run(&b);
  check_output(&b, 0, (float[]){22, 44, 66}, 3);
  assert_true(x[0] == 11 && x[1] == 22 && x[2] == 33);

  assert_int_equal(tn_session_set_output(b.session, 0, NULL, b.diag), TN_OK);
  assert_int_equal(tn_session_set_output(b.session, 1, NULL, b.diag), TN_OK);
  memset(mine, 0, sizeof mine);
  bench_run(&b);
  check_output(&b, 0, (float[]){42, 84, 126}, 3);
  assert_true(mine[0] == 0);
  bench_close(&b);
}

/* The first step's output goes where the second step's input comes from. */
static void test_output_on_memory_of_an_input(void **state) {
  bench b;
  (void)state;
  bench_open(&b, NULL, 1);
  add_input(b.graph, "a", TN_F32, 3);
  add_input(b.graph, "b", TN_F32, 3);
  add_node(b.graph, "Count", "a", NULL, "p", NULL, NULL);
  add_node(b.graph, "Add", "p", "b", "y", NULL, NULL);
  add_output(b.graph, "p");
  add_output(b.graph, "y");
  bench_start(&b);
  float a[] = {1, 2, 3}, shared[] = {10, 20, 30};
  tn_tensor out = vector(TN_F32, 3, shared);
  set_input(&b, 0, TN_F32, 3, a);
  set_input(&b, 1, TN_F32, 3, shared);
  assert_int_equal(tn_session_set_output(b.session, 0, &out, b.diag), TN_OK);
  bench_run(&b);
  check_output(&b, 1, (float[]){11, 22, 33}, 3);
  check_output(&b, 0, a, 3);
  assert_ptr_equal(tn_session_output(b.session, 0)->data, shared);
  bench_close(&b);
}

/* y = 2 x where x was; beside it, s = x + y, which needs x. */
static void run_on_its_input(bool is_read_twice) {
  bench b;
  bench_open(&b, NULL, 1);
  add_input(b.graph, "x", TN_F32, 3);
  add_node(b.graph, "Double", "x", NULL, "y", NULL, NULL);
  if (is_read_twice) add_node(b.graph, "Add", "x", "y", "s", NULL, NULL);
  add_output(b.graph, "y");
  if (is_read_twice) add_output(b.graph, "s");
  bench_start(&b);
  float x[] = {1, 2, 3};
  tn_tensor out = vector(TN_F32, 3, x);
  set_input(&b, 0, TN_F32, 3, x);
  assert_int_equal(tn_session_set_output(b.session, 0, &out, b.diag), TN_OK);
  atomic_store(&n_doubled_in_place, 0);
  bench_run(&b);
  assert_int_equal(atomic_load(&n_doubled_in_place) > 0, !is_read_twice);
  check_output(&b, 0, (float[]){2, 4, 6}, 3);
  assert_ptr_equal(tn_session_output(b.session, 0)->data, x);
  if (is_read_twice) check_output(&b, 1, (float[]){3, 6, 9}, 3);
  bench_run(&b);
  check_output(&b, 0, (float[]){4, 8, 12}, 3);

  float apart[3]; /* and back */
  out.data = apart;
  assert_int_equal(tn_session_set_output(b.session, 0, &out, b.diag), TN_OK);
  bench_run(&b);
  check_output(&b, 0, (float[]){8, 16, 24}, 3);
  assert_true(x[0] == 4 && x[2] == 12);
  bench_close(&b);
}

static void test_output_in_place_of_an_input(void **state) {
  (void)state;
  run_on_its_input(false);
  run_on_its_input(true);
}

/* y goes where x was, and x is an output itself; x and z change places. */
static void test_outputs_on_memory_that_is_an_output(void **state) {
  bench b;
  (void)state;
  bench_open(&b, NULL, 1);
  add_input(b.graph, "x", TN_F32, 3);
  add_input(b.graph, "z", TN_F32, 3);
  add_node(b.graph, "Double", "x", NULL, "y", NULL, NULL);
  add_output(b.graph, "y");
  add_output(b.graph, "x");
  add_output(b.graph, "z");
  bench_start(&b);
  float x[] = {1, 2, 3}, z[] = {7, 8, 9};
  tn_tensor on_x = vector(TN_F32, 3, x), on_z = vector(TN_F32, 3, z);
  set_input(&b, 0, TN_F32, 3, x);
  set_input(&b, 1, TN_F32, 3, z);
  assert_int_equal(tn_session_set_output(b.session, 0, &on_x, b.diag), TN_OK);
  bench_run(&b);
  check_output(&b, 0, (float[]){2, 4, 6}, 3);
  check_output(&b, 1, (float[]){1, 2, 3}, 3);
  check_output(&b, 2, (float[]){7, 8, 9}, 3);

  assert_int_equal(tn_session_set_output(b.session, 0, NULL, b.diag), TN_OK);
  assert_int_equal(tn_session_set_output(b.session, 1, &on_z, b.diag), TN_OK);
  assert_int_equal(tn_session_set_output(b.session, 2, &on_x, b.diag), TN_OK);
  bench_run(&b);
  check_output(&b, 0, (float[]){4, 8, 12}, 3);
  assert_true(x[0] == 7 && x[2] == 9 && z[0] == 2 && z[2] == 6);
  bench_close(&b);
}

static void test_bound_output_must_fit(void **state) {
  bench b;
  (void)state;
  bench_open(&b, NULL, 1);
  build_sum(&b);
  float x[3] = {0}, mine[3];
  set_input(&b, 0, TN_F32, 3, x);
  set_input(&b, 1, TN_F32, 3, x);
  tn_tensor out = vector(TN_F32, 2, mine);
  assert_int_equal(tn_session_set_output(b.session, 0, &out, b.diag), TN_OK);
  assert_int_equal(tn_session_run(b.session, b.diag), TN_ERR_SHAPE);
  assert_non_null(strstr(tn_diag_text(b.diag), "f32[3]"));
  assert_non_null(strstr(tn_diag_text(b.diag), "f32[2]"));
  assert_null(tn_session_output(b.session, 0));
  out = vector(TN_I32, 3, mine);
  assert_int_equal(tn_session_set_output(b.session, 0, &out, b.diag), TN_OK);
  assert_int_equal(tn_session_run(b.session, b.diag), TN_ERR_SHAPE);
  out.data = NULL;
  assert_int_equal(tn_session_set_output(b.session, 0, &out, b.diag), TN_ERR_INVALID);
  assert_int_equal(tn_session_set_output(b.session, 2, &out, b.diag), TN_ERR_NOT_FOUND);
  bench_close(&b);
}

static void test_inputs_are_checked(void **state) {
  bench b;
  (void)state;
  bench_open(&b, NULL, 1);
  add_input(b.graph, "x", TN_F32, 4);
  add_node(b.graph, "Double", "x", NULL, "y", NULL, NULL);
  add_output(b.graph, "y");
  bench_start(&b);
  float data[8] = {0};
  tn_tensor t = vector(TN_F32, 3, data);
  assert_int_equal(tn_session_run(b.session, b.diag), TN_ERR_STATE);
  assert_non_null(strstr(tn_diag_text(b.diag), "input 'x' is not set"));
  assert_int_equal(tn_session_set_input(b.session, 0, &t, b.diag), TN_ERR_SHAPE);
  assert_non_null(strstr(tn_diag_text(b.diag), "input 'x': got f32[3], the model takes f32[4]"));
  t = vector(TN_I32, 4, data);
  assert_int_equal(tn_session_set_input(b.session, 0, &t, b.diag), TN_ERR_SHAPE);
  t = vector(TN_F32, -4, data);
  assert_int_equal(tn_session_set_input(b.session, 0, &t, b.diag), TN_ERR_INVALID);
  t = vector(TN_F32, 4, data);
  t.rank = 9;
  assert_int_equal(tn_session_set_input(b.session, 0, &t, b.diag), TN_ERR_INVALID);
  t = vector(77, 4, data);
  assert_int_equal(tn_session_set_input(b.session, 0, &t, b.diag), TN_ERR_INVALID);
  t = vector(TN_F32, 4, data);
  t.kind = TN_KIND_SEQUENCE;
  assert_int_equal(tn_session_set_input(b.session, 0, &t, b.diag), TN_ERR_INVALID);
  assert_int_equal(tn_session_set_input(b.session, 1, &t, b.diag), TN_ERR_NOT_FOUND);
  t = vector(TN_F32, 4, NULL);
  assert_int_equal(tn_session_set_input(b.session, 0, &t, b.diag), TN_OK);
  assert_int_equal(tn_session_prepare(b.session, b.diag), TN_OK); /* planning needs no data */
  assert_int_equal(tn_session_run(b.session, b.diag), TN_ERR_INVALID);
  assert_non_null(strstr(tn_diag_text(b.diag), "input 'x' has no data"));
  t.data = data;
  assert_int_equal(tn_session_set_input(b.session, 0, &t, b.diag), TN_OK);
  bench_run(&b);
  bench_close(&b);
}

/* Outputs that no step computes. */
static void test_input_and_constant_as_output(void **state) {
  bench b;
  (void)state;
  bench_open(&b, NULL, 1);
  float two[] = {2, 2};
  tn_tensor constant = vector(TN_F32, 2, two);
  add_input(b.graph, "x", TN_F32, 2);
  int32_t c = api()->value(b.graph, "c");
  assert_int_equal(api()->value_set_const(b.graph, c, &constant, 1), TN_OK);
  add_node(b.graph, "Double", "c", NULL, "folded", NULL, NULL);
  add_output(b.graph, "x");
  add_output(b.graph, "c");
  add_output(b.graph, "folded");
  bench_start(&b);
  float x[] = {5, 6};
  set_input(&b, 0, TN_F32, 2, x);
  bench_run(&b);
  x[0] = 99; /* outputs are the session's */
  check_output(&b, 0, (float[]){5, 6}, 2);
  check_output(&b, 1, two, 2);
  check_output(&b, 2, (float[]){4, 4}, 2);
  tn_plan_info info = {.head = TN_HEAD(tn_plan_info)};
  assert_int_equal(tn_session_plan(b.session, &info), TN_OK);
  assert_int_equal(info.n_steps, 0); /* folded */
  bench_close(&b);
}

/* The shape of z is known only when y is. */
static void test_shape_found_at_run_time(void **state) {
  bench b;
  (void)state;
  bench_open(&b, NULL, 2);
  add_input(b.graph, "x", TN_F32, 4);
  add_node(b.graph, "NonZero", "x", NULL, "y", NULL, NULL);
  add_node(b.graph, "Count", "y", NULL, "z", NULL, NULL);
  add_output(b.graph, "z");
  add_output(b.graph, "y");
  bench_start(&b);
  float x[][4] = {{0, 1, 0, 1}, {1, 1, 1, 1}, {0, 0, 0, 0}, {0, 0, 7, 0}};
  for (size_t k = 0; k < 8; k++) {
    set_input(&b, 0, TN_F32, 4, x[k % 4]);
    bench_run(&b);
    tn_tensor type;
    assert_int_equal(tn_session_output_type(b.session, (int32_t)(k % 2), &type), TN_OK);
    assert_true(k % 2 ? type.dtype == TN_I64 && type.rank == 1 && type.shape[0] == TN_DIM_UNKNOWN
                      : type.rank == TN_RANK_UNKNOWN); /* of the part that is planned later */
    for (int32_t out = 0; out < 2; out++) {
      const tn_tensor *t = tn_session_output(b.session, out);
      const int64_t *y = t->data;
      int64_t found = 0;
      for (int64_t j = 0; j < 4; j++)
        if (x[k % 4][j] != 0) assert_int_equal(y[found++], j);
      assert_int_equal(tn_tensor_elements(t), found);
    }
  }
  int64_t mine[4];
  tn_tensor out = vector(TN_I64, 4, mine);
  assert_int_equal(tn_session_set_output(b.session, 0, &out, b.diag), TN_OK);
  set_input(&b, 0, TN_F32, 4, x[0]);
  bench_run(&b);
  assert_ptr_equal(tn_session_output(b.session, 0)->data, mine);
  assert_true(mine[0] == 1 && mine[1] == 3);
  bench_close(&b);
}

static void test_shape_from_the_data_of_an_input(void **state) {
  bench b;
  (void)state;
  bench_open(&b, NULL, 1);
  add_input(b.graph, "n", TN_I64, 1);
  add_node(b.graph, "Iota", "n", NULL, "i", NULL, NULL);
  add_node(b.graph, "Double", "i", NULL, "y", NULL, NULL);
  add_output(b.graph, "y");
  bench_start(&b);
  tn_tensor bare = vector(TN_I64, 1, NULL);
  assert_int_equal(tn_session_set_input(b.session, 0, &bare, b.diag), TN_OK);
  assert_int_equal(tn_session_prepare(b.session, b.diag), TN_ERR_STATE);
  static int64_t n[] = {3, 5, 3, 0, 1};
  for (size_t k = 0; k < 5; k++) {
    set_input(&b, 0, TN_I64, 1, &n[k]);
    bench_run(&b);
    check_output(&b, 0, (float[]){0, 2, 4, 6, 8}, n[k]);
  }
  bench_close(&b);
}

/* then: 2x, else: x + k; x and k are captured. */
static void build_if(bench *b) {
  static float k[] = {100, 200};
  tn_tensor constant = vector(TN_F32, 2, k);
  add_input(b->graph, "cond", TN_BOOL, 1);
  add_input(b->graph, "x", TN_F32, 2);
  assert_int_equal(api()->value_set_const(b->graph, api()->value(b->graph, "k"), &constant, 1),
                   TN_OK);
  add_node(b->graph, "Double", "x", NULL, "xx", NULL, NULL);
  tn_graph *branches[2] = {api()->subgraph_new(b->graph), api()->subgraph_new(b->graph)};
  add_node(branches[0], "Double", "xx", NULL, "t", NULL, NULL);
  add_output(branches[0], "t");
  add_node(branches[1], "Add", "xx", "k", "e", NULL, NULL);
  add_output(branches[1], "e");
  tn_attr then_branch = tn_attr_graph("then_branch", &branches[0]),
          else_branch = tn_attr_graph("else_branch", &branches[1]);
  add_node(b->graph, "If", "cond", NULL, "r", &then_branch, &else_branch);
  add_node(b->graph, "Double", "r", NULL, "y", NULL, NULL);
  add_output(b->graph, "y");
  bench_start(b);
}

static void test_branches(void **state) {
  bench b;
  (void)state;
  bench_open(&b, NULL, 2);
  build_if(&b);
  float x[] = {1, 2};
  uint8_t cond;
  set_input(&b, 0, TN_BOOL, 1, &cond);
  set_input(&b, 1, TN_F32, 2, x);
  for (int round = 0; round < 3; round++) {
    cond = 1;
    bench_run(&b);
    check_output(&b, 0, (float[]){8, 16}, 2);
    cond = 0;
    bench_run(&b);
    check_output(&b, 0, (float[]){204, 408}, 2);
  }
  bench_close(&b);
}

static void test_loop(void **state) {
  bench b;
  (void)state;
  bench_open(&b, NULL, 1);
  add_input(b.graph, "n", TN_I64, 1);
  add_input(b.graph, "x", TN_F32, 2);
  add_input(b.graph, "step", TN_F32, 2);
  tn_graph *body = api()->subgraph_new(b.graph);
  add_input(body, "v", TN_F32, 2);
  add_node(body, "Add", "v", "step", "w", NULL, NULL);
  add_output(body, "w");
  tn_attr attr = tn_attr_graph("body", &body);
  add_node(b.graph, "Repeat", "n", "x", "y", &attr, NULL);
  add_output(b.graph, "y");
  bench_start(&b);
  float x[] = {1, 2}, step[] = {1, 10};
  int64_t n;
  set_input(&b, 0, TN_I64, 1, &n);
  set_input(&b, 1, TN_F32, 2, x);
  set_input(&b, 2, TN_F32, 2, step);
  for (n = 0; n < 40; n += 13) {
    bench_run(&b);
    check_output(&b, 0, (float[]){1 + (float)n, 2 + 10 * (float)n}, 2);
  }
  bench_close(&b);
}

static void test_strings(void **state) {
  bench b;
  (void)state;
  bench_open(&b, NULL, 2);
  add_input(b.graph, "x", TN_STRING, TN_DIM_UNKNOWN);
  add_node(b.graph, "Upper", "x", NULL, "u", NULL, NULL);
  add_node(b.graph, "Upper", "u", NULL, "y", NULL, NULL);
  add_output(b.graph, "y");
  bench_start(&b);
  tn_str x[50];
  for (int n = 50; n > 0; n -= 7) {
    for (int k = 0; k < n; k++) x[k] = (tn_str){&"the quick fox"[k % 5], 8};
    set_input(&b, 0, TN_STRING, n, x);
    bench_run(&b);
    const tn_tensor *t = tn_session_output(b.session, 0);
    assert_int_equal(tn_tensor_elements(t), n);
    const tn_str *y = t->data;
    for (int k = 0; k < n; k++) {
      assert_int_equal(y[k].size, 8);
      assert_memory_equal(y[k].data, &"THE QUICK FOX"[k % 5], 8);
    }
  }
  tn_str room[50];
  tn_tensor out = vector(TN_STRING, 50, room);
  assert_int_equal(tn_session_set_output(b.session, 0, &out, b.diag), TN_ERR_INVALID);
  bench_close(&b);
}

static void test_lists(void **state) {
  bench b;
  (void)state;
  bench_open(&b, NULL, 1);
  add_input(b.graph, "a", TN_F32, TN_DIM_UNKNOWN);
  add_input(b.graph, "b", TN_F32, TN_DIM_UNKNOWN);
  add_node(b.graph, "Pack", "a", "b", "list", NULL, NULL);
  add_node(b.graph, "Unpack", "list", NULL, "last", NULL, NULL);
  add_node(b.graph, "Double", "last", NULL, "y", NULL, NULL);
  add_output(b.graph, "y");
  add_output(b.graph, "list");
  bench_start(&b);
  float a[] = {1, 2, 3}, c[] = {4, 5};
  set_input(&b, 0, TN_F32, 3, a);
  set_input(&b, 1, TN_F32, 2, c);
  for (int round = 0; round < 3; round++) {
    bench_run(&b);
    check_output(&b, 0, (float[]){8, 10}, 2);
    const tn_tensor *list = tn_session_output(b.session, 1);
    assert_int_equal(list->kind, TN_KIND_SEQUENCE);
    assert_int_equal(tn_list_size(list), 2);
    assert_int_equal(tn_tensor_elements(tn_list_item(list, 0)), 3);
  }
  bench_close(&b);
}

static void test_list_as_input(void **state) {
  bench b;
  (void)state;
  bench_open(&b, NULL, 1);
  int32_t v = api()->value(b.graph, "list");
  tn_tensor type = {.head = TN_HEAD(tn_tensor), .dtype = TN_F32, .kind = TN_KIND_SEQUENCE};
  assert_int_equal(api()->value_set_type(b.graph, v, &type), TN_OK);
  assert_int_equal(api()->add_input(b.graph, v), TN_OK);
  add_node(b.graph, "Unpack", "list", NULL, "y", NULL, NULL);
  add_output(b.graph, "y");
  add_output(b.graph, "list");
  bench_start(&b);
  tn_tensor *list = NULL;
  assert_int_equal(tn_list_create(b.runtime, TN_KIND_SEQUENCE, TN_F32, &list), TN_OK);
  float x[] = {3, 4};
  for (int64_t n = 1; n <= 2; n++) {
    tn_tensor t = vector(TN_F32, n, x);
    assert_int_equal(tn_list_append(list, &t), TN_OK);
    assert_int_equal(tn_session_set_input(b.session, 0, list, b.diag), TN_OK);
    bench_run(&b);
    check_output(&b, 0, x, n);
    assert_int_equal(tn_list_size(tn_session_output(b.session, 1)), n);
    assert_ptr_not_equal(tn_list_item(tn_session_output(b.session, 1), 0), tn_list_item(list, 0));
  }
  tn_list_destroy(list);
  bench_close(&b);
}

static void test_state_and_scratch(void **state) {
  bench b;
  (void)state;
  bench_open(&b, NULL, 2);
  add_input(b.graph, "x", TN_F32, 3);
  add_node(b.graph, "Count", "x", NULL, "y", NULL, NULL);
  add_output(b.graph, "y");
  bench_start(&b);
  float x[] = {1, 2, 3};
  set_input(&b, 0, TN_F32, 3, x);
  bench_run(&b);
  check_output(&b, 0, x, 3);
  bench_close(&b);
}

static int n_watch_plans;

static tn_status plan_watch(const tn_call *c, tn_kernel_plan *out) {
  (void)c, (void)out;
  n_watch_plans++;
  return TN_OK;
}

static tn_status run_watch(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                           uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  int64_t bytes = tn_tensor_bytes(c->inputs[0]);
  if (bytes) memcpy(c->outputs[0]->data, c->inputs[0]->data, (size_t)bytes);
  return TN_OK;
}

PART_OP(op_watch, "Watch", "(Tensor x) -> Tensor y", TN_OP_SAME_AS_INPUT, NULL);
PART_KERNEL(watch_c, "Watch", plan_watch, run_watch);
static const tn_op *const watch_ops[] = {&op_watch};
static const tn_kernel *const watch_kernels[] = {&watch_c};
static const tn_plugin watch = {.head = TN_HEAD(tn_plugin),
                                .name = "watch",
                                .version = "1",
                                .license = "Apache-2.0",
                                .build_id = "test",
                                .flavour = TN_FLAVOUR,
                                .n_ops = 1,
                                .ops = watch_ops,
                                .n_kernels = 1,
                                .kernels = watch_kernels};

static const tn_plugin *watch_query(uint32_t major, uint32_t minor) {
  (void)major, (void)minor;
  return &watch;
}

/* What stands behind a shape found at run time is planned once for each such shape. */
static void test_later_parts_keep_their_plans(void **state) {
  bench b;
  (void)state;
  bench_open(&b, NULL, 1);
  if (tn_runtime_add_plugin(b.runtime, watch_query, NULL, 0, b.diag))
    fail_msg("%s", tn_diag_text(b.diag));
  add_input(b.graph, "x", TN_F32, 3);
  add_node(b.graph, "NonZero", "x", NULL, "i", NULL, NULL);
  add_node(b.graph, "Watch", "i", NULL, "w", NULL, NULL);
  add_node(b.graph, "Watch", "w", NULL, "y", NULL, NULL);
  add_output(b.graph, "y");
  bench_start(&b);
  float x[3] = {0};
  set_input(&b, 0, TN_F32, 3, x);
  n_watch_plans = 0;
  for (int round = 0; round < 3; round++)
    for (int n = 0; n <= 3; n++) {
      for (int k = 0; k < 3; k++) x[k] = k < n;
      bench_run(&b);
      assert_int_equal(tn_session_output(b.session, 0)->shape[0], n);
      assert_int_equal(n_watch_plans, round ? 4 : n + 1); /* of two nodes that are alike */
    }
  bench_close(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shapes_come_and_go),
      cmocka_unit_test(test_bound_outputs),
      cmocka_unit_test(test_output_on_memory_of_an_input),
      cmocka_unit_test(test_output_in_place_of_an_input),
      cmocka_unit_test(test_outputs_on_memory_that_is_an_output),
      cmocka_unit_test(test_bound_output_must_fit),
      cmocka_unit_test(test_inputs_are_checked),
      cmocka_unit_test(test_input_and_constant_as_output),
      cmocka_unit_test(test_shape_found_at_run_time),
      cmocka_unit_test(test_shape_from_the_data_of_an_input),
      cmocka_unit_test(test_branches),
      cmocka_unit_test(test_loop),
      cmocka_unit_test(test_strings),
      cmocka_unit_test(test_lists),
      cmocka_unit_test(test_list_as_input),
      cmocka_unit_test(test_state_and_scratch),
      cmocka_unit_test(test_later_parts_keep_their_plans),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
