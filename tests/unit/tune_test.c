/* Tuning of kernels that cannot be timed, or not on made-up values: plans are made all the same.
 *
 *   test::Nth (x, i)   x[i - 1], and no answer for i = 0
 *   test::Last (l)     the last tensor of a sequence, whose shape is known
 *   test::Sum (l...)   the sum of all inputs
 * Each has two kernels of one rank, so that there is something to choose. */
#include "exec_kit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { N = 4, MANY = 3000 };

/* ---- the operators ---- */

static tn_status infer_vector(const tn_call *c) {
  c->outputs[0]->dtype = TN_F32;
  c->outputs[0]->rank = 1;
  c->outputs[0]->shape[0] = N;
  return TN_OK;
}

static tn_status run_nth(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                         uint32_t worker) {
  const int64_t i = *(const int64_t *)c->inputs[1]->data;
  float *y = c->outputs[0]->data;
  (void)stage, (void)begin, (void)end, (void)worker;
  if (i < 1 || i > N) return (c->host->fail)(c->ctx, TN_ERR_INVALID, "there is no element %d", 0);
  for (int k = 0; k < N; k++) y[k] = ((const float *)c->inputs[0]->data)[i - 1];
  return TN_OK;
}

static tn_status run_last(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  const int64_t n = c->host->list_size(c->ctx, c->inputs[0]);
  const tn_tensor *item = c->host->list_item(c->ctx, c->inputs[0], n - 1);
  (void)stage, (void)begin, (void)end, (void)worker;
  memcpy(c->outputs[0]->data, item->data, N * sizeof(float));
  return TN_OK;
}

static tn_status run_sum(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                         uint32_t worker) {
  float *y = c->outputs[0]->data;
  (void)stage, (void)begin, (void)end, (void)worker;
  memset(y, 0, N * sizeof *y);
  for (uint32_t i = 0; i < c->n_inputs; i++)
    for (int k = 0; k < N; k++) y[k] += ((const float *)c->inputs[i]->data)[k];
  return TN_OK;
}

PART_OP(nth, "Nth", "(Tensor x, Tensor i) -> Tensor y", 0, infer_vector);
PART_OP(last, "Last", "(Tensor x) -> Tensor y", 0, infer_vector);
PART_OP(sum, "Sum", "(Tensor[] l) -> Tensor y", 0, infer_vector);
PART_KERNEL(nth_1, "Nth", NULL, run_nth);
PART_KERNEL(nth_2, "Nth", NULL, run_nth);
PART_KERNEL(last_1, "Last", NULL, run_last);
PART_KERNEL(last_2, "Last", NULL, run_last);
PART_KERNEL(sum_1, "Sum", NULL, run_sum);
PART_KERNEL(sum_2, "Sum", NULL, run_sum);
static const tn_op *const ops[] = {&nth, &last, &sum};
static const tn_kernel *const kernels[] = {&nth_1, &nth_2, &last_1, &last_2, &sum_1, &sum_2};
PART_PLUGIN(plugin, ops, kernels);

/* ---- a model of one node, tuned ---- */

static void open_runtime(bench *b) {
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  options.n_threads = 1;
  options.flags = TN_RUNTIME_NO_DISCOVERY | TN_RUNTIME_NO_BUILTINS;
  bench_open_with(b, &options, plugin_query);
}

/* A node whose inputs are x, of types[0], and i, of types[1]; without that, x at every place. */
static void open_bench(bench *b, const char *op, uint32_t n_in, const tn_tensor *const *types) {
  const tn_graph_api *api = tn_graph_functions();
  int32_t *ids = calloc(n_in, sizeof *ids);
  assert_non_null(ids);
  open_runtime(b);
  tn_graph *g = b->graph;
  for (uint32_t k = 0; k < n_in; k++) ids[k] = api->value(g, k == 1 && types[1] ? "i" : "x");
  for (int k = 0; k < 2 && types[k]; k++) {
    assert_int_equal(api->value_set_type(g, ids[k], types[k]), TN_OK);
    assert_int_equal(api->add_input(g, ids[k]), TN_OK);
  }
  const int32_t y = api->value(g, "y");
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = "test",
                        .op = op,
                        .name = "n",
                        .n_inputs = n_in,
                        .n_outputs = 1,
                        .inputs = ids,
                        .outputs = &y,
                        .offset = -1};
  assert_true(api->add_node(g, &node) >= 0);
  assert_int_equal(api->add_output(g, y), TN_OK);
  free(ids);
  bench_start(b);
  assert_int_equal(tn_runtime_tune(b->runtime, 1), TN_OK);
}

static void run_bench(bench *b, const tn_tensor *const *inputs, float expected) {
  for (int k = 0; k < 2 && inputs[k]; k++)
    assert_int_equal(tn_session_set_input(b->session, k, inputs[k], b->diag), TN_OK);
  if (tn_session_run(b->session, b->diag)) fail_msg("%s", tn_diag_text(b->diag));
  assert_int_equal(tn_diag_count(b->diag), 0);
  const float y = *(const float *)tn_session_output(b->session, 0)->data;
  if (y != expected) fail_msg("%g instead of %g", (double)y, (double)expected);
}

/* ---- the tests ---- */

static void fails_on_made_up_values(void **state) {
  bench b;
  float x[N] = {1, 2, 3, 4};
  int64_t i = 3;
  tn_tensor tx = vector(TN_F32, N, x), ti = vector(TN_I64, 1, &i);
  tn_tensor type_x = vector(TN_F32, N, NULL), type_i = vector(TN_I64, 1, NULL);
  (void)state;
  open_bench(&b, "Nth", 2, (const tn_tensor *const[]){&type_x, &type_i});
  run_bench(&b, (const tn_tensor *const[]){&tx, &ti}, 3);
  assert_int_equal(tn_runtime_n_tuned(b.runtime), 0);
  bench_close(&b);
}

static void takes_a_list(void **state) {
  bench b;
  float x[N] = {7, 7, 7, 7};
  tn_tensor item = vector(TN_F32, N, x), type = vector(TN_F32, N, NULL), *list = NULL;
  (void)state;
  type.kind = TN_KIND_SEQUENCE;
  open_bench(&b, "Last", 1, (const tn_tensor *const[]){&type, NULL});
  assert_int_equal(tn_list_create(b.runtime, TN_KIND_SEQUENCE, TN_F32, &list), TN_OK);
  assert_int_equal(tn_list_append(list, &item), TN_OK);
  run_bench(&b, (const tn_tensor *const[]){list, NULL}, 7);
  assert_int_equal(tn_runtime_n_tuned(b.runtime), 0);
  tn_list_destroy(list);
  bench_close(&b);
}

/* What is written can be read, however many inputs a node has. */
static void has_many_inputs(void **state) {
  bench b, again;
  float x[N] = {1, 1, 1, 1};
  tn_tensor tx = vector(TN_F32, N, x), type = vector(TN_F32, N, NULL);
  char path[] = "/tmp/tenon_tune_XXXXXX";
  const int fd = mkstemp(path);
  (void)state;
  assert_true(fd >= 0);
  close(fd);
  open_bench(&b, "Sum", MANY, (const tn_tensor *const[]){&type, NULL});
  run_bench(&b, (const tn_tensor *const[]){&tx, NULL}, MANY);
  assert_int_equal(tn_runtime_n_tuned(b.runtime), 2);
  open_runtime(&again);
  if (tn_runtime_save_tuning(b.runtime, path, b.diag) ||
      tn_runtime_load_tuning(again.runtime, path, b.diag))
    fail_msg("%s", tn_diag_text(b.diag));
  assert_int_equal(tn_runtime_n_tuned(again.runtime), 2);
  unlink(path);
  bench_close(&again);
  bench_close(&b);
}

/* ---- two sessions ---- */

static atomic_int n_inside, n_together, n_timed;

/* test::Alone (x): a nap, in which nobody else should be there. */
static tn_status run_alone(const tn_call *c, uint32_t stage, int64_t begin, int64_t end,
                           uint32_t worker) {
  const struct timespec nap = {0, 1000 * 1000};
  (void)stage, (void)begin, (void)end, (void)worker;
  if (atomic_fetch_add(&n_inside, 1)) atomic_fetch_add(&n_together, 1);
  atomic_fetch_add(&n_timed, 1);
  nanosleep(&nap, NULL);
  memcpy(c->outputs[0]->data, c->inputs[0]->data, (size_t)tn_tensor_bytes(c->inputs[0]));
  atomic_fetch_sub(&n_inside, 1);
  return TN_OK;
}

PART_OP(alone, "Alone", "(Tensor x) -> Tensor y", 0, infer_vector);
PART_KERNEL(alone_1, "Alone", NULL, run_alone);
PART_KERNEL(alone_2, "Alone", NULL, run_alone);
static const tn_op *const alone_ops[] = {&alone};
static const tn_kernel *const alone_kernels[] = {&alone_1, &alone_2};
PART_PLUGIN(naps, alone_ops, alone_kernels);

static void *prepare(void *arg) {
  tn_session_prepare(arg, NULL);
  return NULL;
}

/* Neither slows the other down, and what one has timed the other takes. */
static void kernels_are_timed_one_at_a_time(void **state) {
  enum { SESSIONS = 3, LEAST = 5 };
  bench b;
  float x[N] = {1, 2, 3, 4};
  tn_session *sessions[SESSIONS];
  pthread_t threads[SESSIONS];
  tn_tensor tx = vector(TN_F32, N, x);
  (void)state;
  open_runtime(&b);
  assert_int_equal(tn_runtime_add_plugin(b.runtime, naps_query, NULL, 0, b.diag), TN_OK);
  add_input(b.graph, "x", TN_F32, N);
  add_node(b.graph, "Alone", "x", NULL, "y", NULL, NULL);
  add_output(b.graph, "y");
  bench_start(&b);
  assert_int_equal(tn_runtime_tune(b.runtime, 1), TN_OK);
  for (int k = 0; k < SESSIONS; k++) {
    assert_int_equal(tn_session_create(b.model, b.diag, &sessions[k]), TN_OK);
    assert_int_equal(tn_session_set_input(sessions[k], 0, &tx, b.diag), TN_OK);
  }
  for (int k = 0; k < SESSIONS; k++)
    assert_int_equal(pthread_create(&threads[k], NULL, prepare, sessions[k]), 0);
  for (int k = 0; k < SESSIONS; k++) {
    pthread_join(threads[k], NULL);
    tn_session_destroy(sessions[k]);
  }
  assert_int_equal(tn_runtime_n_tuned(b.runtime), 2);
  assert_true(atomic_load(&n_timed) >= LEAST);
  assert_int_equal(atomic_load(&n_together), 0);
  bench_close(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fails_on_made_up_values), cmocka_unit_test(takes_a_list),
      cmocka_unit_test(has_many_inputs), cmocka_unit_test(kernels_are_timed_one_at_a_time)};
  return cmocka_run_group_tests_name("tune", tests, NULL, NULL);
}
