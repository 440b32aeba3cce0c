/* Planning when memory runs out: whatever allocation fails, the answer is an error, nothing
 * leaks and nothing crashes; and planning by several threads at once. */
#include <pthread.h>

#include "plan_kit.h"

/* An allocator whose n-th allocation from now fails; n < 0: none does. */
typedef struct stingy {
  int64_t left, live, made;
} stingy;

static void *stingy_alloc(void *self, uint64_t bytes) {
  stingy *s = self;
  if (s->left == 0) return NULL;
  if (s->left > 0) s->left--;
  void *p = aligned_alloc(64, (size_t)tn_round_up(bytes ? bytes : 1, 64));
  s->live += p != NULL;
  s->made++;
  return p;
}

static void stingy_free(void *self, void *memory, uint64_t bytes) {
  (void)bytes;
  ((stingy *)self)->live -= memory != NULL;
  free(memory);
}

/* Layout conversions, a cast constant, a view, a concat in place, a prepared state, and a
 * continuation. */
static tn_graph *rich_graph(const tn_allocator *a) {
  tn_graph *g = tn_graph_new(a);
  assert_non_null(g);
  assert_int_equal(tn_graph_functions()->set_opset(g, "t", 1), TN_OK);
  int64_t shape[] = {1, 16, 2, 2}, n = 3;
  float w[3] = {1, 2, 3};
  tn_tensor t = kit_type(TN_F32, 4, shape), weights = tn_tensor_make(TN_F32, 1, &n, w);
  kit_input(g, "x", &t);
  kit_const(g, "w", &weights);
  kit_node(g, "Scale", "x", "a");
  kit_node(g, "Any", "a", "b");
  kit_node(g, "Scale", "b", "c");
  kit_node(g, "Pack", "c w", "d");
  kit_node(g, "Lead", "d", "e");
  kit_node(g, "Cat", "d e", "f");
  kit_node(g, "Flat", "f", "h");
  kit_node(g, "Six", "h", "i");
  kit_node(g, "Pick", "i", "j");
  kit_node(g, "Any", "j", "k");
  kit_output(g, "k");
  kit_output(g, "c");
  return g;
}

static tn_status run_rich(tn_planner *p, stingy *s, int64_t fail_at, double *out_sum) {
  tn_graph *g = rich_graph(p->a);
  float x[64];
  for (int k = 0; k < 64; k++) x[k] = (float)(k % 5);
  int64_t shape[] = {1, 16, 2, 2};
  tn_tensor t = tn_tensor_make(TN_F32, 4, shape, x);
  const tn_tensor *in = &t;
  tn_callable *c = NULL;
  tn_frame *f = NULL;
  s->left = fail_at;
  tn_status status = tn_callable_create_take(p, g, "model", NULL, &c);
  if (!status) status = tn_frame_create(p->a, p->pool, c, NULL, &f);
  if (!status) status = tn_frame_run(f, &in, NULL, NULL, NULL);
  if (!status) {
    const tn_tensor *y = tn_frame_output(f, 0);
    for (int64_t k = 0; k < tn_tensor_elements(y); k++) *out_sum += tn_load_f64(TN_F32, y->data, k);
  }
  s->left = -1;
  tn_frame_destroy(f);
  tn_callable_destroy(c);
  return status;
}

static void every_failing_allocation_is_an_error(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  kit_cost_blocked = 100;
  stingy s = {.left = -1};
  tn_allocator a = {
      .head = TN_HEAD(tn_allocator), .self = &s, .alloc = stingy_alloc, .free = stingy_free};
  tn_planner p = k.planner;
  p.a = &a;
  double sum = 0;
  assert_int_equal(tn_packed_cache_create(&a, &p.states), TN_OK);
  assert_int_equal(run_rich(&p, &s, -1, &sum), TN_OK);
  tn_packed_cache_destroy(p.states);
  assert_int_equal(s.live, 0);
  assert_true(sum > 0);
  int64_t failures = 0, n = s.made;
  for (int64_t at = 0; at < n; at++) {
    double again = 0;
    assert_int_equal(tn_packed_cache_create(&a, &p.states), TN_OK);
    tn_status status = run_rich(&p, &s, at, &again);
    tn_packed_cache_destroy(p.states);
    assert_int_equal(s.live, 0);
    assert_true(status == TN_OK || status == TN_ERR_MEMORY);
    if (!status) assert_true(again == sum);
    failures += status != TN_OK;
  }
  print_message("%lld allocations, %lld of them are needed\n", (long long)n, (long long)failures);
  assert_true(failures > n / 2);
  kit_close(&k);
}

/* ---- threads ---- */

typedef struct visitor {
  kit *k;
  tn_callable *c;
  unsigned seed;
  int wrong;
} visitor;

static void *visit(void *arg) {
  visitor *v = arg;
  for (int round = 0; round < 60; round++) {
    v->seed = v->seed * 1664525u + 1013904223u;
    int64_t n = 1 + v->seed / 65536u % 6;
    float x[6] = {1, 1, 1, 1, 1, 1};
    tn_tensor t = tn_tensor_make(TN_F32, 1, &n, x);
    const tn_tensor *in = &t;
    tn_frame *f = NULL;
    if (tn_frame_create(v->k->planner.a, NULL, v->c, NULL, &f) ||
        tn_frame_run(f, &in, NULL, NULL, NULL)) {
      v->wrong++;
    } else {
      const tn_tensor *y = tn_frame_output(f, 0);
      v->wrong += y->shape[0] != n || tn_load_f64(TN_F32, y->data, n - 1) != 18;
    }
    tn_frame_destroy(f);
  }
  return NULL;
}

static void threads_may_plan_at_once(void **state) {
  (void)state;
  kit k = kit_open(NULL, 0);
  tn_graph *g = kit_graph(&k);
  int64_t n = TN_DIM_UNKNOWN, three = 3;
  float w[3] = {1, 2, 3};
  tn_tensor t = tn_tensor_make(TN_F32, 1, &n, NULL), weights = tn_tensor_make(TN_F32, 1, &three, w);
  kit_input(g, "x", &t);
  kit_const(g, "w", &weights);
  kit_node(g, "Pack", "x w", "a");
  kit_node(g, "Any", "a", "y");
  kit_output(g, "y");
  tn_callable *c = kit_callable(&k, g);
  visitor visitors[4];
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) {
    visitors[i] = (visitor){.k = &k, .c = c, .seed = (unsigned)i};
    assert_int_equal(pthread_create(&threads[i], NULL, visit, &visitors[i]), 0);
  }
  for (int i = 0; i < 4; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(visitors[i].wrong, 0);
  }
  assert_true(c->plans.n <= 3);
  assert_int_equal(kit_prepared, 1);
  tn_callable_destroy(c);
  kit_close(&k);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_failing_allocation_is_an_error),
                                     cmocka_unit_test(threads_may_plan_at_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
