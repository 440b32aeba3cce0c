/* What a chain of many nodes costs: memory for each node, and calls of the allocator. The bounds
 * are a fifth above what was measured; what is kept for each node by itself shows at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>

#include "count_memory.h"

enum { N_NODES = 8000, MOST_BYTES = 2100, MOST_CALLS = 1 };

typedef struct peak {
  counter counter;
  atomic_llong most;
} peak;

static void *peak_alloc(void *self, uint64_t bytes) {
  peak *p = self;
  void *memory = count_alloc(&p->counter, bytes);
  const long long now = atomic_load(&p->counter.bytes);
  if (now > atomic_load(&p->most)) atomic_store(&p->most, now);
  return memory;
}

static void peak_free(void *self, void *memory, uint64_t bytes) {
  count_free(&((peak *)self)->counter, memory, bytes);
}

static tn_graph *make_chain(tn_runtime *runtime) {
  static const char *const ops[] = {"Neg", "Abs", "Sin", "Cos"};
  const tn_graph_api *api = tn_graph_functions();
  tn_graph *g = NULL;
  assert_int_equal(tn_graph_create(runtime, &g), TN_OK);
  assert_int_equal(api->set_opset(g, "", 17), TN_OK);
  const int64_t dims[] = {4};
  const tn_tensor type = tn_tensor_make(TN_F32, 1, dims, NULL);
  int32_t value = api->value(g, "v");
  assert_int_equal(api->value_set_type(g, value, &type), TN_OK);
  assert_int_equal(api->add_input(g, value), TN_OK);
  for (int k = 0; k < N_NODES; k++) {
    char name[32];
    snprintf(name, sizeof name, "v%d", k);
    const int32_t made = api->value(g, name);
    const tn_node n = {.head = TN_HEAD(tn_node),
                       .op = ops[k % 4],
                       .name = name,
                       .n_inputs = 1,
                       .n_outputs = 1,
                       .inputs = &value,
                       .outputs = &made,
                       .offset = -1};
    assert_true(api->add_node(g, &n) >= 0);
    value = made;
  }
  assert_int_equal(api->add_output(g, value), TN_OK);
  return g;
}

static void test_chain(void **state) {
  (void)state;
  peak p = {.counter = {.n_allocs = 0}};
  p.counter.allocator = (tn_allocator){TN_HEAD(tn_allocator), &p, peak_alloc, peak_free};
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  options.n_threads = 1;
  options.flags = TN_RUNTIME_NO_DISCOVERY;
  options.allocator = &p.counter.allocator;
  tn_runtime *runtime = NULL;
  tn_model *model = NULL;
  tn_session *session = NULL;
  assert_int_equal(tn_runtime_create(&options, NULL, &runtime), TN_OK);
  const long long bytes = atomic_load(&p.counter.bytes), calls = atomic_load(&p.counter.n_allocs);
  tn_graph *g = make_chain(runtime);
  assert_int_equal(tn_model_from_graph_take(runtime, g, NULL, NULL, &model), TN_OK);
  assert_int_equal(tn_session_create(model, NULL, &session), TN_OK);
  float x[4] = {1, 2, 3, 4};
  const int64_t dims[] = {4};
  const tn_tensor input = tn_tensor_make(TN_F32, 1, dims, x);
  assert_int_equal(tn_session_set_input(session, 0, &input, NULL), TN_OK);
  assert_int_equal(tn_session_run(session, NULL), TN_OK);
  const long long per_node = (atomic_load(&p.most) - bytes) / N_NODES,
                  calls_per_node = (atomic_load(&p.counter.n_allocs) - calls) / N_NODES;
  print_message("%lld bytes and %lld calls for each node\n", per_node, calls_per_node);
  assert_true(per_node <= MOST_BYTES);
  assert_true(calls_per_node <= MOST_CALLS);
  tn_session_destroy(session);
  tn_model_destroy(model);
  tn_runtime_destroy(runtime);
  assert_int_equal(atomic_load(&p.counter.bytes), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_chain)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
