/* Once a set of input types has run, a run allocates nothing: neither from the runtime's
 * allocator nor, behind its back, from malloc. */
#include "count_memory.h"
#include "exec_parts.h"

/* Runs once, then counts. */
static void check_steady(bench *b, counter *c) {
  bench_run(b);
  int allocs = atomic_load(&c->n_allocs), mallocs = atomic_load(&n_mallocs);
  for (int k = 0; k < 10; k++)
    if (tn_session_run(b->session, NULL)) fail_msg("a run failed");
  assert_int_equal(atomic_load(&c->n_allocs), allocs);
  assert_int_equal(atomic_load(&n_mallocs), mallocs);
}

static void close_all(bench *b, counter *c) {
  bench_close(b);
  assert_int_equal(atomic_load(&c->bytes), 0); /* sizes given back are those that were asked for */
}

static void test_counting_works(void **state) {
  (void)state;
  int before = atomic_load(&n_mallocs);
  void *volatile p = malloc(10);
  assert_int_equal(atomic_load(&n_mallocs) - before, COUNTS_MALLOC);
  free(p);
}

static void test_tensors(void **state) {
  bench b;
  counter c;
  (void)state;
  counter_open(&c);
  bench_open(&b, &c.allocator, 2);
  add_input(b.graph, "x", TN_F32, 1000);
  add_node(b.graph, "Double", "x", NULL, "y", NULL, NULL);
  add_node(b.graph, "Add", "x", "y", "z", NULL, NULL);
  add_node(b.graph, "Count", "z", NULL, "w", NULL, NULL);
  add_output(b.graph, "w");
  add_output(b.graph, "x");
  bench_start(&b);
  static float x[1000], mine[1000];
  tn_tensor out = vector(TN_F32, 1000, mine);
  set_input(&b, 0, TN_F32, 1000, x);
  check_steady(&b, &c);
  assert_int_equal(tn_session_set_output(b.session, 0, &out, b.diag), TN_OK);
  check_steady(&b, &c);
  close_all(&b, &c);
}

static void test_shapes_found_at_run_time(void **state) {
  bench b;
  counter c;
  (void)state;
  counter_open(&c);
  bench_open(&b, &c.allocator, 2);
  add_input(b.graph, "x", TN_F32, 4);
  add_node(b.graph, "NonZero", "x", NULL, "y", NULL, NULL);
  add_node(b.graph, "Count", "y", NULL, "z", NULL, NULL);
  add_output(b.graph, "z");
  bench_start(&b);
  float x[] = {0, 1, 2, 0};
  set_input(&b, 0, TN_F32, 4, x);
  check_steady(&b, &c);
  close_all(&b, &c);
}

/* test::Borrow (x, kib): takes 16 blocks of so many KiB from the host while it runs. */
static tn_status run_borrow(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                            uint32_t worker) {
  void *blocks[16];
  tn_status status = TN_OK;
  (void)stage, (void)begin, (void)end, (void)worker;
  for (int k = 0; k < 16; k++) {
    blocks[k] = c->host->alloc(c->ctx, *(const uint64_t *)c->attrs << 10);
    if (!blocks[k]) status = TN_ERR_MEMORY;
  }
  for (int k = 0; k < 16; k++) c->host->free(c->ctx, blocks[k]);
  memcpy(c->outputs[0]->data, c->inputs[0]->data, (size_t)tn_tensor_bytes(c->inputs[0]));
  return status;
}

PART_OP(op_borrow, "Borrow", "(Tensor x, *, int kib) -> Tensor y", TN_OP_SAME_AS_INPUT, NULL);
PART_KERNEL(borrow_c, "Borrow", NULL, run_borrow);
static const tn_op *const borrow_ops[] = {&op_borrow};
static const tn_kernel *const borrow_kernels[] = {&borrow_c};
PART_PLUGIN(borrow, borrow_ops, borrow_kernels);

static void open_borrowing(bench *b, counter *c, int64_t kib, float *x) {
  const tn_attr attr = {.head = TN_HEAD(tn_attr), .name = "kib", .kind = TN_ATTR_INT, .i = kib};
  counter_open(c);
  bench_open(b, &c->allocator, 1);
  assert_int_equal(tn_runtime_add_plugin(b->runtime, borrow_query, NULL, 0, b->diag), TN_OK);
  add_input(b->graph, "x", TN_F32, 4);
  add_node(b->graph, "Borrow", "x", NULL, "y", &attr, NULL);
  add_output(b->graph, "y");
  bench_start(b);
  set_input(b, 0, TN_F32, 4, x);
}

/* What a kernel gives back stays, but no more than a MiB of it. */
static void test_memory_of_the_host(void **state) {
  bench b;
  counter c;
  float x[] = {1, 2, 3, 4};
  (void)state;
  open_borrowing(&b, &c, 60, x);
  check_steady(&b, &c);
  close_all(&b, &c);
  open_borrowing(&b, &c, 500, x);
  assert_int_equal(tn_session_prepare(b.session, b.diag), TN_OK);
  const long long before = atomic_load(&c.bytes);
  bench_run(&b);
  assert_in_range(atomic_load(&c.bytes) - before, 1000 << 10, (1 << 20) + 4096);
  bench_run(&b);
  assert_in_range(atomic_load(&c.bytes) - before, 1000 << 10, (1 << 20) + 4096);
  close_all(&b, &c);
}

static void test_loop(void **state) {
  bench b;
  counter c;
  (void)state;
  counter_open(&c);
  bench_open(&b, &c.allocator, 1);
  add_input(b.graph, "n", TN_I64, 1);
  add_input(b.graph, "x", TN_F32, 2);
  tn_graph *body = tn_graph_functions()->subgraph_new(b.graph);
  add_input(body, "v", TN_F32, 2);
  add_node(body, "Double", "v", NULL, "w", NULL, NULL);
  add_output(body, "w");
  tn_attr attr = tn_attr_graph("body", &body);
  add_node(b.graph, "Repeat", "n", "x", "y", &attr, NULL);
  add_output(b.graph, "y");
  bench_start(&b);
  float x[] = {1, 2};
  int64_t n = 5;
  set_input(&b, 0, TN_I64, 1, &n);
  set_input(&b, 1, TN_F32, 2, x);
  check_steady(&b, &c);
  int allocs = atomic_load(&c.n_allocs);
  n = 50; /* more rounds take no more memory */
  bench_run(&b);
  assert_int_equal(atomic_load(&c.n_allocs), allocs);
  close_all(&b, &c);
}

static void test_strings_and_lists(void **state) {
  bench b;
  counter c;
  (void)state;
  counter_open(&c);
  bench_open(&b, &c.allocator, 2);
  add_input(b.graph, "s", TN_STRING, 40);
  add_input(b.graph, "x", TN_F32, 4);
  add_node(b.graph, "Upper", "s", NULL, "u", NULL, NULL);
  add_node(b.graph, "Pack", "x", "x", "list", NULL, NULL);
  add_output(b.graph, "u");
  add_output(b.graph, "list");
  bench_start(&b);
  tn_str s[40];
  float x[4] = {0};
  for (int k = 0; k < 40; k++) s[k] = (tn_str){"some text that is copied", 24};
  set_input(&b, 0, TN_STRING, 40, s);
  set_input(&b, 1, TN_F32, 4, x);
  check_steady(&b, &c);
  close_all(&b, &c);
}

/* A loop over a captured value, a list, and a shape found at run time with a continuation, for any
 * n. */
static void build_mixture(tn_graph *g) {
  const tn_graph_api *api = tn_graph_functions();
  static int64_t rounds = 2;
  tn_tensor n = vector(TN_I64, 1, &rounds);
  add_input(g, "x", TN_F32, TN_DIM_UNKNOWN);
  assert_int_equal(api->value_set_const(g, api->value(g, "n"), &n, 1), TN_OK);
  add_node(g, "Double", "x", NULL, "xx", NULL, NULL);
  tn_graph *body = api->subgraph_new(g);
  add_input(body, "v", TN_F32, TN_DIM_UNKNOWN);
  add_node(body, "Add", "v", "xx", "w", NULL, NULL);
  add_output(body, "w");
  tn_attr attr = tn_attr_graph("body", &body);
  add_node(g, "Repeat", "n", "x", "r", &attr, NULL);
  add_node(g, "Pack", "x", "xx", "list", NULL, NULL);
  add_node(g, "NonZero", "r", NULL, "y", NULL, NULL);
  add_node(g, "Count", "y", NULL, "z", NULL, NULL);
  add_output(g, "z");
  add_output(g, "xx");
  add_output(g, "x");
  add_output(g, "list");
}

/* Shapes that the session has seen come again in any order, larger ones and smaller ones, into its
 * own memory and the caller's. */
static void test_shapes_that_come_again(void **state) {
  static float x[1000], mine[1000];
  const int64_t sizes[] = {30, 1000, 2}, order[] = {0, 1, 2, 0, 2, 1, 1, 0};
  bench b;
  counter c;
  (void)state;
  counter_open(&c);
  bench_open(&b, &c.allocator, 2);
  build_mixture(b.graph);
  bench_start(&b);
  for (int k = 0; k < 1000; k++) x[k] = (float)(k + 1);
  int allocs = 0, mallocs = 0;
  for (int k = 0; k < 3 + 8; k++) {
    if (k == 3) allocs = atomic_load(&c.n_allocs), mallocs = atomic_load(&n_mallocs);
    const int64_t n = sizes[k < 3 ? k : order[k - 3]];
    tn_tensor in = vector(TN_F32, n, x), out = vector(TN_F32, n, mine);
    assert_int_equal(tn_session_set_input(b.session, 0, &in, NULL), TN_OK);
    assert_int_equal(tn_session_set_output(b.session, 1, k % 2 ? &out : NULL, NULL), TN_OK);
    if (tn_session_run(b.session, NULL)) fail_msg("a run failed");
    const tn_tensor *z = tn_session_output(b.session, 0), *y = tn_session_output(b.session, 1);
    if (z->shape[0] != n || ((const int64_t *)z->data)[n - 1] != n - 1) fail_msg("wrong indices");
    if (y->shape[0] != n || ((const float *)y->data)[n - 1] != 2 * (float)n) fail_msg("wrong data");
  }
  assert_int_equal(atomic_load(&c.n_allocs), allocs);
  assert_int_equal(atomic_load(&n_mallocs), mallocs);
  close_all(&b, &c);
}

/* Every allocation fails once, from the first to the last: no crash, no leak, an error each
 * time. */
typedef struct failing {
  counter counter;
  int fail_at;
} failing;

static void *fail_alloc(void *self, uint64_t bytes) {
  failing *f = self;
  if (atomic_load(&f->counter.n_allocs) == f->fail_at) {
    atomic_fetch_add(&f->counter.n_allocs, 1);
    return NULL;
  }
  return count_alloc(&f->counter, bytes);
}

static void fail_free(void *self, void *memory, uint64_t bytes) {
  count_free(&((failing *)self)->counter, memory, bytes);
}

static tn_status load_and_run(tn_runtime *runtime, tn_graph *graph, const tn_tensor *x) {
  tn_model *model = NULL;
  tn_session *session = NULL;
  tn_status status = tn_model_from_graph_take(runtime, graph, NULL, NULL, &model);
  if (!status) status = tn_session_create(model, NULL, &session);
  if (!status) status = tn_session_set_input(session, 0, x, NULL);
  if (!status) status = tn_session_run(session, NULL);
  tn_session_destroy(session);
  tn_model_destroy(model);
  return status;
}

static void test_failing_allocations(void **state) {
  bench b;
  failing f = {.fail_at = -1};
  (void)state;
  counter_open(&f.counter);
  f.counter.allocator = (tn_allocator){TN_HEAD(tn_allocator), &f, fail_alloc, fail_free};
  float data[] = {0, 1, 2};
  tn_tensor x = vector(TN_F32, 3, data);
  tn_status status = TN_ERR_MEMORY;
  bench_open(&b, &f.counter.allocator, 1);
  long long before = atomic_load(&f.counter.bytes);
  for (int n = 0; status; n++) {
    assert_true(n < 5000);
    f.fail_at = -1;
    if (!b.graph) assert_int_equal(tn_graph_create(b.runtime, &b.graph), TN_OK);
    assert_int_equal(tn_graph_functions()->set_opset(b.graph, "test", 1), TN_OK);
    build_mixture(b.graph);
    f.fail_at = atomic_load(&f.counter.n_allocs) + n;
    status = load_and_run(b.runtime, b.graph, &x);
    b.graph = NULL;
    if (status) assert_int_equal(status, TN_ERR_MEMORY);
  }
  assert_true(atomic_load(&f.counter.bytes) <= before);
  bench_close(&b);
  assert_int_equal(atomic_load(&f.counter.bytes), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_counting_works),
      cmocka_unit_test(test_tensors),
      cmocka_unit_test(test_shapes_found_at_run_time),
      cmocka_unit_test(test_memory_of_the_host),
      cmocka_unit_test(test_loop),
      cmocka_unit_test(test_strings_and_lists),
      cmocka_unit_test(test_shapes_that_come_again),
      cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
