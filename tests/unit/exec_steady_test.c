/* Once a set of input types has run, a run allocates nothing: neither from the runtime's
 * allocator nor, behind its back, from malloc, which this program takes over (with glibc, and
 * not under sanitizers, which need it themselves). */
#include <stdatomic.h>
#include <stdlib.h>

#include "exec_parts.h"

static atomic_int n_mallocs;

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_MALLOC 1
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
  atomic_fetch_add(&n_mallocs, 1);
  return __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
  atomic_fetch_add(&n_mallocs, 1);
  return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size) {
  atomic_fetch_add(&n_mallocs, 1);
  return __libc_realloc(p, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  atomic_fetch_add(&n_mallocs, 1);
  return __libc_memalign(alignment, size);
}
#else
#define COUNTS_MALLOC 0
#endif

typedef struct counter {
  tn_allocator allocator;
  atomic_int n_allocs;
  atomic_llong bytes; /* given out and not given back */
} counter;

static void *count_alloc(void *self, uint64_t bytes) {
  counter *c = self;
  atomic_fetch_add(&c->n_allocs, 1);
  atomic_fetch_add(&c->bytes, (long long)bytes);
  return aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
}

static void count_free(void *self, void *memory, uint64_t bytes) {
  counter *c = self;
  atomic_fetch_sub(&c->bytes, (long long)bytes);
  free(memory);
}

static void counter_open(counter *c) {
  memset(c, 0, sizeof *c);
  c->allocator = (tn_allocator){TN_HEAD(tn_allocator), c, count_alloc, count_free};
}

/* Runs until warm, then counts. */
static void check_steady(bench *b, counter *c) {
  for (int k = 0; k < 3; k++) bench_run(b);
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
  tn_attr attr = graph_attr("body", &body);
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

/* Something of everything: a step, a loop over it, a list, a shape found at run time with a
 * tail. */
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
  tn_attr attr = graph_attr("body", &body);
  add_node(g, "Repeat", "n", "x", "r", &attr, NULL);
  add_node(g, "Pack", "x", "xx", "list", NULL, NULL);
  add_node(g, "NonZero", "r", NULL, "y", NULL, NULL);
  add_node(g, "Count", "y", NULL, "z", NULL, NULL);
  add_output(g, "z");
  add_output(g, "x");
  add_output(g, "list");
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
      cmocka_unit_test(test_counting_works),           cmocka_unit_test(test_tensors),
      cmocka_unit_test(test_shapes_found_at_run_time), cmocka_unit_test(test_loop),
      cmocka_unit_test(test_strings_and_lists),        cmocka_unit_test(test_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
