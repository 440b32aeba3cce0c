/* Weights that stand in a file: threads that plan and prepare at once, and memory of the user,
 * which is given back. */
#include "exec_fetch_kit.h"

/* ---- threads ---- */

typedef struct racer {
  tn_model *model;
  int64_t n;
  results got;
} racer;

static void *race(void *arg) {
  racer *r = arg;
  tn_diag *diag = tn_diag_create();
  tn_session_destroy(run(r->model, r->n, diag, &r->got));
  tn_diag_destroy(diag);
  return NULL;
}

static void threads_plan_at_once(void **state) {
  (void)state;
  enum { THREADS = 4 };
  static racer racers[THREADS];
  pthread_t threads[THREADS];
  char path[512];
  tn_diag *diag = tn_diag_create();
  tn_runtime *rt = runtime_with(diag, NULL, NULL);
  tn_model *m = NULL;
  write_file(path, sizeof path, rt, "a", false, diag);
  assert_int_equal(tn_model_load(rt, path, NULL, diag, &m), TN_OK);
  for (int k = 0; k < THREADS; k++) {
    racers[k] = (racer){.model = m, .n = 8 + k / 2};
    assert_int_equal(pthread_create(&threads[k], NULL, race, &racers[k]), 0);
  }
  for (int k = 0; k < THREADS; k++) pthread_join(threads[k], NULL);
  for (int k = 1; k < THREADS; k++)
    assert_memory_equal(racers[k].got.z, racers[0].got.z, sizeof racers[0].got.z);
  assert_memory_equal(racers[1].got.y, racers[0].got.y, 8 * ROWS * sizeof(float));
  assert_int_equal(const_of(m, "w")->n_readers, 0);
  tn_model_destroy(m);
  remove(path);
  tn_runtime_destroy(rt);
  tn_diag_destroy(diag);
}

/* One of two prepares, the other one waits; when that fails, both are told. */
static void *fail_to_run(void *arg) {
  racer *r = arg;
  const int64_t n = 8, shape[] = {1, CHANNELS, 9, 9};
  static int64_t rows[8];
  static float image[CHANNELS * 81];
  tn_tensor x = tn_tensor_make(TN_I64, 1, &n, rows),
            picture = tn_tensor_make(TN_F32, 4, shape, image);
  tn_diag *diag = tn_diag_create();
  tn_session *s = NULL;
  tn_status status = tn_session_create(r->model, diag, &s);
  if (!status) status = tn_session_set_input(s, 0, &x, diag);
  if (!status) status = tn_session_set_input(s, 1, &picture, diag);
  if (!status) status = tn_session_run(s, diag);
  r->n = status == TN_ERR_CANCELLED && strstr(tn_diag_text(diag), "kernel 'peek_c': prepare()");
  tn_session_destroy(s);
  tn_diag_destroy(diag);
  return NULL;
}

static void failing_to_prepare_is_told_to_all(void **state) {
  (void)state;
  char path[512];
  results got;
  tn_diag *diag = tn_diag_create();
  tn_runtime *rt = runtime_with(diag, NULL, query);
  tn_model *m = NULL;
  write_file(path, sizeof path, rt, "a", true, diag);
  assert_int_equal(tn_model_load(rt, path, NULL, diag, &m), TN_OK);
  racer racers[2] = {{.model = m}, {.model = m}};
  pthread_t threads[2];
  atomic_store(&n_to_fail, 2); /* a thread that comes late prepares itself */
  for (int k = 0; k < 2; k++)
    assert_int_equal(pthread_create(&threads[k], NULL, fail_to_run, &racers[k]), 0);
  for (int k = 0; k < 2; k++) pthread_join(threads[k], NULL);
  assert_true(racers[0].n && racers[1].n);
  atomic_store(&n_to_fail, 0);
  atomic_store(&n_prepared, 0);
  tn_session_destroy(run(m, 8, diag, &got));
  tn_session_destroy(run(m, 8, diag, &got));
  tn_session_destroy(run(m, 9, diag, &got));
  assert_int_equal(atomic_load(&n_prepared), 1); /* once for all sessions and shapes */
  tn_model_destroy(m);
  remove(path);
  tn_runtime_destroy(rt);
  tn_diag_destroy(diag);
}

/* A chain of products with states that are worth several threads. */
static void states_are_prepared_on_all_threads(void **state) {
  (void)state;
  enum { SIDE = 320, LINKS = 6, N = 8 };
  static float x[N * SIDE], y[2][N * SIDE];
  const int64_t shape[] = {N, SIDE};
  tn_diag *diag = tn_diag_create();
  for (int k = 0; k < N * SIDE; k++) x[k] = (float)(k % 7) / 1024;
  for (int round = 0; round < 2; round++) {
    tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
    tn_runtime *rt = NULL;
    tn_graph *g = NULL;
    tn_model *m = NULL;
    tn_session *s = NULL;
    char name[LINKS + 1][8];
    tn_tensor in = tn_tensor_make(TN_F32, 2, shape, x);
    options.n_threads = 1 + 3 * round;
    options.flags = TN_RUNTIME_NO_DISCOVERY;
    assert_int_equal(tn_runtime_create(&options, diag, &rt), TN_OK);
    assert_int_equal(tn_graph_create(rt, &g), TN_OK);
    const tn_graph_api *api = tn_graph_functions();
    assert_int_equal(api->set_opset(g, "", 17), TN_OK);
    for (int k = 0; k <= LINKS; k++) snprintf(name[k], sizeof name[k], "v%d", k);
    assert_int_equal(api->value_set_type(g, api->value(g, "v0"), &in), TN_OK);
    assert_int_equal(api->add_input(g, api->value(g, "v0")), TN_OK);
    for (int k = 0; k < LINKS; k++) {
      char w[8];
      snprintf(w, sizeof w, "w%d", k);
      constant(g, w, 2, (int64_t[]){SIDE, SIDE});
      node(g, "", "MatMul", (const char *[]){name[k], w}, 2, name[k + 1]);
    }
    add_output(g, name[LINKS]);
    if (tn_model_from_graph_take(rt, g, NULL, diag, &m) || tn_session_create(m, diag, &s) ||
        tn_session_set_input(s, 0, &in, diag) || tn_session_run(s, diag))
      fail_msg("%s", tn_diag_text(diag));
    tn_plan_info info = {.head = TN_HEAD(tn_plan_info)};
    assert_int_equal(tn_session_plan(s, &info), TN_OK);
    assert_true(info.state_bytes >= 2 << 20);
    memcpy(y[round], tn_session_output(s, 0)->data, sizeof y[round]);
    tn_session_destroy(s);
    tn_model_destroy(m);
    tn_runtime_destroy(rt);
  }
  assert_memory_equal(y[0], y[1], sizeof y[0]);
  tn_diag_destroy(diag);
}

/* ---- memory of the user ---- */

static atomic_llong user_bytes;

static void *user_alloc(void *self, uint64_t bytes) {
  (void)self;
  atomic_fetch_add(&user_bytes, (long long)bytes);
  return aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
}

static void user_free(void *self, void *memory, uint64_t bytes) {
  (void)self;
  atomic_fetch_sub(&user_bytes, (long long)bytes);
  free(memory);
}

/* With an allocator of the user all memory comes from it; from memory of the user no page goes. */
static void memory_of_the_user_stays(void **state) {
  (void)state;
  enum { ROOM = 1 << 20 };
  const tn_allocator mine = {TN_HEAD(tn_allocator), NULL, user_alloc, user_free};
  char path[512];
  results expected, got;
  tn_diag *diag = tn_diag_create();
  for (int k = 0; k < 2; k++) {
    tn_runtime *rt = runtime_with(diag, k ? &mine : NULL, NULL);
    tn_model *m = NULL;
    uint8_t *file = aligned_alloc(4096, ROOM), *before = malloc(ROOM);
    write_file(path, sizeof path, rt, "a", false, diag);
    const uint64_t n = file_bytes(path, file, ROOM);
    memcpy(before, file, n);
    assert_int_equal(tn_model_load_memory(rt, file, n, NULL, NULL, diag, &m), TN_OK);
    assert_int_equal(const_of(m, "w")->is_lazy && k, 0);
    tn_session_destroy(run(m, 8, diag, k ? &got : &expected));
    tn_model_destroy(m);
    assert_memory_equal(file, before, n);
    free(file);
    free(before);
    tn_runtime_destroy(rt);
  }
  assert_memory_equal(got.y, expected.y, 8 * ROWS * sizeof(float));
  remove(path);
  tn_diag_destroy(diag);
}

/* What is folded for one plan is packed for that one: nobody asks for either again. */
static void made_for_one_plan_goes_with_it(void **state) {
  (void)state;
  enum { RUNS = 40, BYTES = WIDTH * ROWS * 4 };
  static float x[RUNS * WIDTH];
  const int64_t any[] = {TN_DIM_UNKNOWN, WIDTH};
  const tn_graph_api *api = tn_graph_functions();
  const tn_allocator mine = {TN_HEAD(tn_allocator), NULL, user_alloc, user_free};
  tn_diag *diag = tn_diag_create();
  tn_runtime *rt = runtime_with(diag, &mine, NULL);
  tn_graph *g = NULL;
  tn_model *m = NULL;
  tn_session *s = NULL;
  tn_tensor t = tn_tensor_make(TN_F32, 2, any, NULL);
  assert_int_equal(tn_graph_create(rt, &g), TN_OK);
  assert_int_equal(api->set_opset(g, "", 17), TN_OK);
  assert_int_equal(api->value_set_type(g, api->value(g, "x"), &t), TN_OK);
  assert_int_equal(api->add_input(g, api->value(g, "x")), TN_OK);
  constant(g, "w", 2, (int64_t[]){WIDTH, ROWS});
  node(g, "", "Shape", (const char *[]){"x"}, 1, "shape");
  constant(g, "like", 0, NULL);
  node(g, "", "CastLike", (const char *[]){"shape", "like"}, 2, "lengths");
  node(g, "", "ReduceSum", (const char *[]){"lengths"}, 1, "length");
  node(g, "", "Pow", (const char *[]){"w", "length"}, 2, "power");
  node(g, "", "MatMul", (const char *[]){"x", "power"}, 2, "y");
  add_output(g, "y");
  if (tn_model_from_graph_take(rt, g, NULL, diag, &m) || tn_session_create(m, diag, &s))
    fail_msg("%s", tn_diag_text(diag));
  long long before = 0;
  for (int64_t n = 1; n <= RUNS; n++) {
    t = tn_tensor_make(TN_F32, 2, (int64_t[]){n, WIDTH}, x);
    if (tn_session_set_input(s, 0, &t, diag) || tn_session_run(s, diag))
      fail_msg("%s", tn_diag_text(diag));
    if (n == RUNS / 2) before = atomic_load(&user_bytes);
  }
  assert_true(atomic_load(&user_bytes) <= before + BYTES);
  tn_session_destroy(s);
  tn_model_destroy(m);
  tn_runtime_destroy(rt);
  assert_int_equal(atomic_load(&user_bytes), 0);
  tn_diag_destroy(diag);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_plan_at_once),
      cmocka_unit_test(failing_to_prepare_is_told_to_all),
      cmocka_unit_test(states_are_prepared_on_all_threads),
      cmocka_unit_test(memory_of_the_user_stays),
      cmocka_unit_test(made_for_one_plan_goes_with_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
