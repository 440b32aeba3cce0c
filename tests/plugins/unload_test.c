/* The life of plug-ins: who holds them, unloading, shutting down once, two runtimes, and runtimes
 * that are destroyed before their models; then all of it at once, on several threads. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "kit.h"

typedef struct fixture {
  tn_runtime *rt;
  tn_diag *diag;
  const char *log;
  char path[256];
} fixture;

static int setup(void **state) {
  static fixture f;
  const tn_runtime_options options = kit_options(TN_RUNTIME_NO_DISCOVERY);
  if (kit_open(state)) return 1;
  memset(&f, 0, sizeof f);
  f.log = kit_path("log");
  setenv("TENON_TEST_LOG", f.log, 1);
  f.diag = tn_diag_create();
  f.rt = kit_runtime(&options, f.diag);
  strcpy(f.path, kit_module("good.so", "good.so"));
  *state = &f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  tn_runtime_destroy(f->rt);
  tn_diag_destroy(f->diag);
  return kit_close(state);
}

static tn_status unload(fixture *f, const char *name, uint32_t wait_ms) {
  tn_diag_clear(f->diag);
  return tn_runtime_unload_plugin(f->rt, name, wait_ms, f->diag);
}

static bool is_mapped(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (library) dlclose(library);
  return library != NULL;
}

static tn_model *twice(fixture *f) {
  tn_status status;
  tn_model *model = kit_model(f->rt, "com.acme", "Twice", f->diag, &status);
  if (!model) fail_msg("no model: %s", tn_diag_text(f->diag));
  return model;
}

static void test_unload(void **state) {
  fixture *f = *state;
  const int32_t n_ops = tn_runtime_n_ops(f->rt), n_kernels = tn_runtime_n_kernels(f->rt);
  for (int round = 0; round < 3; round++) {
    kit_load(f->rt, f->path, f->diag);
    assert_int_equal(tn_runtime_n_ops(f->rt), n_ops + 1);
    assert_true(is_mapped(f->path));
    assert_int_equal(unload(f, "acme-twice", 0), TN_OK);
    assert_int_equal(tn_runtime_n_ops(f->rt), n_ops);
    assert_int_equal(tn_runtime_n_kernels(f->rt), n_kernels);
    assert_int_equal(tn_runtime_n_plugins(f->rt), 1);
    assert_null(tn_runtime_find_op(f->rt, "com.acme", "Twice", 0));
    assert_false(is_mapped(f->path));
  }
  assert_string_equal(kit_read(f->log), "init\nshutdown\ninit\nshutdown\ninit\nshutdown\n");
}

static void *load_and_unload(void *arg) {
  fixture *f = arg;
  kit_load(f->rt, kit_module("keys.so", "keys.so"), f->diag);
  assert_int_equal(unload(f, "acme-keys", 0), TN_OK);
  return NULL;
}

/* A destructor of thread-specific data runs when the thread ends: its code is still there. */
static void test_keys_of_threads(void **state) {
  fixture *f = *state;
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, load_and_unload, f), 0);
  pthread_join(thread, NULL);
  assert_string_equal(kit_read(f->log), "destroyed\n");
}

static void test_what_cannot_be_unloaded(void **state) {
  fixture *f = *state;
  assert_int_equal(unload(f, "acme-twice", 0), TN_ERR_NOT_FOUND);
  kit_says(f->diag, "plug-in 'acme-twice' cannot be unloaded: none of this name is in use");
  assert_int_equal(unload(f, kit_info(f->rt, 0).name, 0), TN_ERR_INVALID);
  kit_says(f->diag, "cannot be unloaded: it is built in");
  assert_int_equal(unload(f, NULL, 0), TN_ERR_INVALID);
  assert_int_equal(tn_runtime_unload_plugin(NULL, "x", 0, f->diag), TN_ERR_INVALID);
  assert_true(tn_runtime_load_plugin(f->rt, kit_write("text.so", "hello", 0644), NULL, 0, NULL) <
              0);
  assert_int_equal(unload(f, "", 0), TN_ERR_NOT_FOUND); /* refused ones are no plug-ins in use */
}

static void test_holders_are_named(void **state) {
  fixture *f = *state;
  tn_session *s[2];
  tn_status status;
  kit_load(f->rt, f->path, f->diag);
  tn_model *model = twice(f);
  assert_int_equal(unload(f, "acme-twice", 0), TN_ERR_STATE);
  assert_string_equal(tn_diag_text(f->diag),
                      "plug-in 'acme-twice' is in use by a model made by hand");
  for (int k = 0; k < 2; k++) assert_int_equal(tn_session_create(model, f->diag, &s[k]), TN_OK);
  assert_int_equal(unload(f, "acme-twice", 5), TN_ERR_STATE);
  kit_says(f->diag, "is in use by a model made by hand and 2 sessions");
  assert_true(kit_run(s[1], 8, &status) == 6); /* nothing has changed */
  tn_session_destroy(s[0]);
  assert_int_equal(unload(f, "acme-twice", 0), TN_ERR_STATE);
  kit_says(f->diag, "is in use by a model made by hand and 1 session");
  tn_session_destroy(s[1]);
  tn_model_destroy(model);
  assert_int_equal(unload(f, "acme-twice", 0), TN_OK);
  assert_string_equal(kit_read(f->log), "init\nshutdown\n");
}

static void test_plugins_hold_plugins(void **state) {
  fixture *f = *state;
  kit_load(f->rt, f->path, f->diag);
  kit_load(f->rt, kit_module("needs_good.so", "fast.so"), f->diag);
  assert_int_equal(unload(f, "acme-twice", 0), TN_ERR_STATE);
  kit_says(f->diag, "is in use by plug-in 'acme-twice-fast', which needs its operators");
  assert_int_equal(unload(f, "acme-twice-fast", 0), TN_OK);
  assert_int_equal(unload(f, "acme-twice", 0), TN_OK);
}

/* A model that could have used the plug-in, but does not, keeps nothing of it: not the plug-in, and
 * no pointers to its names and reasons. */
static void test_candidates_hold_nothing(void **state) {
  fixture *f = *state;
  tn_status status;
  tn_session *s = NULL;
  kit_load(f->rt, kit_module("override.so", "override.so"), f->diag);
  tn_model *model = kit_model(f->rt, "", "Neg", f->diag, &status);
  assert_non_null(model);
  assert_int_equal(tn_session_create(model, f->diag, &s), TN_OK);
  assert_true(kit_run(s, 40, &status) == -3); /* it refuses more than 32 elements */
  assert_int_equal(unload(f, "acme-neg_acme", 0), TN_OK);
  tn_step_info step = {.head = TN_HEAD(tn_step_info)};
  assert_int_equal(tn_session_step(s, 0, &step), TN_OK);
  bool told = false;
  for (uint32_t k = 0; k < step.n_refusals; k++)
    told = told || (!strcmp(step.refused_kernels[k], "neg_acme") &&
                    !strcmp(step.refusals[k], "takes no more than 32 elements"));
  assert_true(told);
  assert_true(kit_run(s, 4, &status) == -3); /* planned anew, without it */
  kit_load(f->rt, kit_path("override.so"), f->diag);
  assert_true(kit_run(s, 5, &status) == -1003);
  assert_int_equal(unload(f, "acme-neg_acme", 0), TN_ERR_STATE);
  tn_session_destroy(s);
  tn_model_destroy(model);
  assert_int_equal(unload(f, "acme-neg_acme", 0), TN_OK);
}

static void *destroy_later(void *model) {
  const struct timespec nap = {0, 30 * 1000 * 1000};
  nanosleep(&nap, NULL);
  tn_model_destroy(model);
  return NULL;
}

static void test_unload_waits(void **state) {
  fixture *f = *state;
  pthread_t thread;
  kit_load(f->rt, f->path, f->diag);
  tn_model *model = twice(f);
  assert_int_equal(pthread_create(&thread, NULL, destroy_later, model), 0);
  const tn_status status = unload(f, "acme-twice", 60000);
  pthread_join(thread, NULL);
  assert_int_equal(status, TN_OK);
}

static void test_two_runtimes(void **state) {
  fixture *f = *state;
  const tn_runtime_options options = kit_options(TN_RUNTIME_NO_DISCOVERY);
  tn_runtime *other = kit_runtime(&options, f->diag);
  tn_status status;
  tn_session *s = NULL;
  kit_load(f->rt, f->path, f->diag);
  kit_load(other, f->path, f->diag);
  tn_model *model = kit_model(other, "com.acme", "Twice", f->diag, &status);
  assert_non_null(model);
  assert_int_equal(unload(f, "acme-twice", 0),
                   TN_OK); /* the other's model is no user of this one */
  assert_true(is_mapped(f->path));
  assert_int_equal(tn_session_create(model, f->diag, &s), TN_OK);
  assert_true(kit_run(s, 2, &status) == 6);
  assert_string_equal(kit_read(f->log), "init\ninit\nshutdown\n");
  tn_session_destroy(s);
  tn_model_destroy(model);
  tn_runtime_destroy(other);
  assert_string_equal(kit_read(f->log), "init\ninit\nshutdown\nshutdown\n");
  assert_false(is_mapped(f->path));
}

static void test_destroyed_in_any_order(void **state) {
  fixture *f = *state;
  tn_status status;
  tn_session *s = NULL;
  kit_load(f->rt, f->path, f->diag);
  tn_model *model = twice(f);
  assert_int_equal(tn_session_create(model, f->diag, &s), TN_OK);
  tn_runtime_destroy(f->rt);
  f->rt = NULL;
  tn_model_destroy(model);
  assert_string_equal(kit_read(f->log), "init\n");
  assert_true(kit_run(s, 3, &status) == 6);
  tn_session_destroy(s);
  assert_string_equal(kit_read(f->log), "init\nshutdown\n");
  assert_false(is_mapped(f->path));
}

/* ---- threads ---- */

enum { WORKERS = 3, ROUNDS = 40 };

typedef struct job {
  tn_runtime *rt;
  const char *path;
  bool loads;
  atomic_int *running;
  int n_ran, n_not_there;
  const char *wrong;
} job;

/* Loads a model, runs it, and lets it go. The plug-in may come and go meanwhile: an operator of its
 * own is then not there; a built-in one always is, and some kernel runs it. */
static void use_once(job *j, int round) {
  const bool own = round % 2;
  tn_status status;
  tn_session *s = NULL;
  tn_model *model = kit_model(j->rt, own ? "com.acme" : "", own ? "Twice" : "Neg", NULL, &status);
  const bool may_fail = own && (status == TN_ERR_UNSUPPORTED || status == TN_ERR_STATE);
  if (!model) {
    if (!may_fail) j->wrong = "a model was refused for another reason than a missing operator";
    j->n_not_there++;
    return;
  }
  if (tn_session_create(model, NULL, &s)) j->wrong = "no session";
  for (int64_t n = 1; n < 4 && !j->wrong; n++) {
    const float y = kit_run(s, n, &status);
    if (status) j->wrong = "a run failed";
    if (own ? y != 6 : y != -3 && y != -1003) j->wrong = "a result is wrong";
  }
  tn_session_destroy(s);
  tn_model_destroy(model);
  j->n_ran++;
}

static void *use(void *arg) {
  job *j = arg;
  for (int k = 0; k < ROUNDS && !j->wrong; k++) {
    use_once(j, k);
    for (int32_t i = 0; i < tn_runtime_n_plugins(j->rt); i++) {
      tn_plugin_info info = {.head = TN_HEAD(tn_plugin_info)};
      tn_runtime_plugin(j->rt, i, &info);
    }
  }
  atomic_fetch_sub(j->running, 1);
  return NULL;
}

/* Loads and unloads until nobody works any more. */
static void *come_and_go(void *arg) {
  job *j = arg;
  const char *const name = strstr(j->path, "good") ? "acme-twice" : "acme-neg_acme";
  const struct timespec nap = {0, 500 * 1000};
  while (atomic_load(j->running) && !j->wrong) {
    if (tn_runtime_load_plugin(j->rt, j->path, NULL, 0, NULL)) j->wrong = "load failed";
    nanosleep(&nap, NULL);
    tn_status status = TN_ERR_STATE;
    while (status == TN_ERR_STATE) status = tn_runtime_unload_plugin(j->rt, name, 2, NULL);
    if (status) j->wrong = "unload failed";
    j->n_ran++;
  }
  return NULL;
}

static void test_all_at_once(void **state) {
  fixture *f = *state;
  atomic_int running;
  pthread_t threads[WORKERS + 2];
  job jobs[WORKERS + 2];
  char other[256];
  unsetenv("TENON_TEST_LOG");
  strcpy(other, kit_module("override.so", "override.so"));
  atomic_init(&running, WORKERS);
  for (int k = 0; k < WORKERS + 2; k++) {
    jobs[k] = (job){.rt = f->rt, .path = k == WORKERS ? f->path : other, .running = &running};
    assert_int_equal(pthread_create(&threads[k], NULL, k < WORKERS ? use : come_and_go, &jobs[k]),
                     0);
  }
  for (int k = 0; k < WORKERS + 2; k++) pthread_join(threads[k], NULL);
  for (int k = 0; k < WORKERS + 2; k++)
    if (jobs[k].wrong) fail_msg("thread %d: %s", k, jobs[k].wrong);
  for (int k = 0; k < WORKERS; k++) assert_true(jobs[k].n_ran >= ROUNDS / 2);
  assert_int_equal(tn_runtime_n_plugins(f->rt), 1);
  assert_false(is_mapped(f->path));
  assert_false(is_mapped(other));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(test_unload),
      TEST(test_keys_of_threads),
      TEST(test_what_cannot_be_unloaded),
      TEST(test_holders_are_named),
      TEST(test_plugins_hold_plugins),
      TEST(test_candidates_hold_nothing),
      TEST(test_unload_waits),
      TEST(test_two_runtimes),
      TEST(test_destroyed_in_any_order),
      TEST(test_all_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
