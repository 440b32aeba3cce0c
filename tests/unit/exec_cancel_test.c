/* tn_session_cancel: a loop without end stops when another thread says so, and the session can run
 * again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <pthread.h>

#include <cmocka.h>

#include "tenon/tenon.h"

typedef struct running {
  tn_runtime *runtime;
  tn_model *model;
  tn_session *session;
  tn_diag *diag;
  float x[2];
  atomic_int begun, ended;
} running;

static void start(running *r, const char *path, int32_t n_threads) {
  *r = (running){.diag = tn_diag_create(), .x = {1, 2}};
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  options.n_threads = n_threads;
  options.flags = TN_RUNTIME_NO_DISCOVERY;
  assert_int_equal(tn_runtime_create(&options, r->diag, &r->runtime), TN_OK);
  if (tn_model_load(r->runtime, path, NULL, r->diag, &r->model) ||
      tn_session_create(r->model, r->diag, &r->session))
    fail_msg("%s", tn_diag_text(r->diag));
  const int64_t dims[] = {2};
  const tn_tensor x = tn_tensor_make(TN_F32, 1, dims, r->x);
  assert_int_equal(tn_session_set_input(r->session, 0, &x, r->diag), TN_OK);
}

static void stop(running *r) {
  tn_session_destroy(r->session);
  tn_model_destroy(r->model);
  tn_runtime_destroy(r->runtime);
  tn_diag_destroy(r->diag);
}

/* Until the run has heard of it. */
static void *cancel(void *arg) {
  running *r = arg;
  const struct timespec nap = {0, 5 * 1000 * 1000};
  while (!atomic_load(&r->begun)) nanosleep(&nap, NULL);
  while (!atomic_load(&r->ended)) {
    nanosleep(&nap, NULL);
    tn_session_cancel(r->session);
  }
  return NULL;
}

static void test_endless(void **state) {
  (void)state;
  running r;
  start(&r, "tests/data/endless.onnx", 2);
  for (int k = 0; k < 3; k++) {
    pthread_t other;
    tn_diag_clear(r.diag);
    atomic_store(&r.begun, 0);
    atomic_store(&r.ended, 0);
    assert_int_equal(pthread_create(&other, NULL, cancel, &r), 0);
    atomic_store(&r.begun, 1);
    const tn_status status = tn_session_run(r.session, r.diag);
    atomic_store(&r.ended, 1);
    pthread_join(other, NULL);
    assert_int_equal(status, TN_ERR_CANCELLED);
    assert_null(tn_session_output(r.session, 0));
    int64_t n = 0; /* one node says it, not each that is around it */
    for (int64_t i = 0; i < tn_diag_count(r.diag); i++)
      n += tn_diag_message_status(r.diag, i) == TN_ERR_CANCELLED;
    assert_int_equal(n, 1);
    assert_non_null(strstr(tn_diag_text(r.diag), "'for_ever'"));
  }
  stop(&r);
}

static void test_none_is_running(void **state) {
  (void)state;
  running r;
  start(&r, "tests/data/lines_run.onnx", 1);
  tn_session_cancel(NULL);
  tn_session_cancel(r.session);
  assert_int_equal(tn_session_run(r.session, r.diag), TN_OK);
  const float *y = tn_session_output(r.session, 0)->data;
  assert_true(y[0] == -1 && y[1] == -2);
  stop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_endless),
                                     cmocka_unit_test(test_none_is_running)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
