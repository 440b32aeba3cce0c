/* If, Loop and Scan, one inside another: from the second run of a shape on, nothing is allocated,
 * neither by the runtime's allocator nor by malloc, whatever the trip count was or the branch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "count_memory.h"
#include "tenon/kit/lower.h"

static const tn_graph_api *api(void) { return tn_graph_functions(); }

enum { MAX_IO = 4 };

/* "a b c" -> values of the graph; "-": left out. */
static uint32_t values_of(tn_graph *g, const char *names, int32_t *out) {
  uint32_t n = 0;
  char name[16];
  for (int used = 0; sscanf(names, "%15s%n", name, &used) == 1; names += used) {
    assert_true(n < MAX_IO);
    out[n++] = strcmp(name, "-") ? api()->value(g, name) : -1;
  }
  return n;
}

static void node(tn_graph *g, const char *op, const char *in, const char *out,
                 const tn_attr *const *attrs, uint32_t n_attrs) {
  int32_t inputs[MAX_IO], outputs[MAX_IO];
  tn_node n = {.head = TN_HEAD(tn_node),
               .op = op,
               .domain = "",
               .name = out,
               .inputs = inputs,
               .outputs = outputs,
               .n_inputs = values_of(g, in, inputs),
               .n_outputs = values_of(g, out, outputs),
               .attrs = attrs,
               .n_attrs = n_attrs,
               .offset = -1};
  assert_true(api()->add_node(g, &n) >= 0);
}

static void input(tn_graph *g, const char *name, uint32_t dtype, int32_t rank, int64_t d0,
                  int64_t d1) {
  const int64_t dims[] = {d0, d1};
  tn_tensor type = tn_tensor_make(dtype, rank, dims, NULL);
  int32_t v = api()->value(g, name);
  assert_int_equal(api()->value_set_type(g, v, &type), TN_OK);
  assert_int_equal(api()->add_input(g, v), TN_OK);
}

static void outputs(tn_graph *g, const char *names) {
  int32_t v[MAX_IO];
  for (uint32_t k = 0, n = values_of(g, names, v); k < n; k++)
    assert_int_equal(api()->add_output(g, v[k]), TN_OK);
}

/* Scan over the rows of x, [rows, cols], with state v: inside of it If(up) adds or subtracts. */
static void add_scan(tn_graph *g) {
  tn_graph *body = api()->subgraph_new(g), *yes = api()->subgraph_new(body),
           *no = api()->subgraph_new(body);
  node(yes, "Add", "s row", "sum", NULL, 0);
  outputs(yes, "sum");
  node(no, "Sub", "s row", "sum", NULL, 0);
  outputs(no, "sum");
  input(body, "s", TN_F32, 1, TN_DIM_UNKNOWN, 0);
  input(body, "row", TN_F32, 1, TN_DIM_UNKNOWN, 0);
  const tn_attr branches[] = {tn_attr_graph("then_branch", &yes),
                              tn_attr_graph("else_branch", &no)};
  const tn_attr *both[] = {&branches[0], &branches[1]};
  node(body, "If", "up", "t", both, 2);
  node(body, "Identity", "t", "seen", NULL, 0);
  outputs(body, "t seen");
  const tn_attr run = tn_attr_graph("body", &body), n = {.head = TN_HEAD(tn_attr),
                                                         .name = "num_scan_inputs",
                                                         .kind = TN_ATTR_INT,
                                                         .i = 1};
  const tn_attr *all[] = {&run, &n};
  node(g, "Scan", "v x", "w rows", all, 2);
}

/* Loop of n trips (or as many as v lasts, if n is left out) around the scan; the scan's rows are
 * the loop's scanned values. */
static void build(tn_graph *g, bool counted) {
  input(g, "n", TN_I64, 0, 0, 0);
  input(g, "up", TN_BOOL, 0, 0, 0);
  input(g, "x", TN_F32, 2, TN_DIM_UNKNOWN, TN_DIM_UNKNOWN);
  input(g, "v0", TN_F32, 1, TN_DIM_UNKNOWN, 0);
  tn_graph *body = api()->subgraph_new(g);
  input(body, "i", TN_I64, 0, 0, 0);
  input(body, "go", TN_BOOL, 0, 0, 0);
  input(body, "v", TN_F32, 1, TN_DIM_UNKNOWN, 0);
  add_scan(body);
  if (counted)
    node(body, "Identity", "go", "on", NULL, 0);
  else
    node(body, "Less", "i n", "on", NULL, 0);
  outputs(body, "on w rows");
  const tn_attr attr = tn_attr_graph("body", &body), *all[] = {&attr};
  node(g, "Loop", counted ? "n - v0" : "- - v0", "y all", all, 1);
  outputs(g, "y all");
}

typedef struct fixture {
  counter memory;
  tn_runtime *runtime;
  tn_model *model;
  tn_session *session;
  tn_diag *diag;
} fixture;

static void start(fixture *f, bool counted) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  tn_graph *g = NULL;
  counter_open(&f->memory);
  f->diag = tn_diag_create();
  options.n_threads = 1;
  options.flags = TN_RUNTIME_NO_DISCOVERY;
  options.allocator = &f->memory.allocator;
  assert_int_equal(tn_runtime_create(&options, f->diag, &f->runtime), TN_OK);
  assert_int_equal(tn_graph_create(f->runtime, &g), TN_OK);
  assert_int_equal(api()->set_opset(g, "", 16), TN_OK);
  build(g, counted);
  if (tn_model_from_graph_take(f->runtime, g, NULL, f->diag, &f->model) ||
      tn_session_create(f->model, f->diag, &f->session))
    fail_msg("%s", tn_diag_text(f->diag));
}

static void stop(fixture *f) {
  tn_session_destroy(f->session);
  tn_model_destroy(f->model);
  tn_runtime_destroy(f->runtime);
  tn_diag_destroy(f->diag);
  assert_int_equal(atomic_load(&f->memory.bytes), 0);
}

static void set(fixture *f, int32_t index, uint32_t dtype, int32_t rank, int64_t d0, int64_t d1,
                const void *data) {
  const int64_t dims[] = {d0, d1};
  tn_tensor t = tn_tensor_make(dtype, rank, dims, (void *)(uintptr_t)data);
  assert_int_equal(tn_session_set_input(f->session, index, &t, f->diag), TN_OK);
}

/* x and v0 of ones: every row adds (or subtracts) one, in every trip. */
static void run(fixture *f, int64_t trips, bool counted, uint8_t up, int64_t rows, int64_t cols) {
  static float ones[4096];
  const int64_t n = counted ? trips : trips - 1; /* the condition holds while i < n */
  for (int k = 0; k < 4096; k++) ones[k] = 1;
  set(f, 0, TN_I64, 0, 0, 0, &n);
  set(f, 1, TN_BOOL, 0, 0, 0, &up);
  set(f, 2, TN_F32, 2, rows, cols, ones);
  set(f, 3, TN_F32, 1, cols, 0, ones);
  if (tn_session_run(f->session, f->diag)) fail_msg("%s", tn_diag_text(f->diag));
  const tn_tensor *y = tn_session_output(f->session, 0), *all = tn_session_output(f->session, 1);
  const float last = 1 + (up ? 1.0F : -1.0F) * (float)(trips * rows);
  if (y->rank != 1 || y->shape[0] != cols || ((const float *)y->data)[cols - 1] != last)
    fail_msg("wrong final value");
  if (all->rank != 3 || all->shape[0] != trips || all->shape[1] != rows || all->shape[2] != cols)
    fail_msg("wrong shape of scanned values");
  for (int64_t k = 0; k < trips * rows; k++)
    if (((const float *)all->data)[k * cols] != 1 + (up ? 1.0F : -1.0F) * (float)(k + 1))
      fail_msg("wrong scanned value %d", (int)k);
}

static void check(bool counted) {
  static const struct {
    int64_t trips, rows, cols;
    uint8_t up;
  } runs[] = {{5, 3, 4, 1}, {5, 3, 4, 0}, {40, 7, 100, 0}, {40, 7, 100, 1}, {3, 7, 100, 1}};
  enum { N = sizeof runs / sizeof *runs };
  fixture f = {0};
  start(&f, counted);
  int allocs = 0, mallocs = 0;
  for (int k = 0; k < 3 * N; k++) {
    if (k == N) allocs = atomic_load(&f.memory.n_allocs), mallocs = atomic_load(&n_mallocs);
    run(&f, runs[k % N].trips, counted, runs[k % N].up, runs[k % N].rows, runs[k % N].cols);
  }
  assert_int_equal(atomic_load(&f.memory.n_allocs), allocs);
  assert_int_equal(atomic_load(&n_mallocs), mallocs);
  stop(&f);
}

static void test_counted(void **state) {
  (void)state;
  check(true);
}

static void test_while(void **state) {
  (void)state;
  check(false);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_counted), cmocka_unit_test(test_while)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
