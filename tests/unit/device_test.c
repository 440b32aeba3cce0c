/* Devices through tenon.h, on the shadow device: options, sessions on threads, loss, forks, memory
 * of a second run; and drivers and kernels of devices that plug-ins offer. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#endif

#include <cmocka.h>

#include "count_memory.h"
#include "tenon/device.h"
#include "tenon/tenon.h"

extern const tn_device_driver shadow_driver; /* devices/shadow */

enum { N = 24 };

typedef struct place {
  tn_runtime *runtime;
  tn_diag *diag;
  tn_model *model;
} place;

static void place_open_for(place *p, const tn_allocator *allocator, int32_t n_threads) {
  tn_runtime_options o = TN_RUNTIME_OPTIONS_INIT;
  *p = (place){.diag = tn_diag_create()};
  o.n_threads = n_threads;
  o.allocator = allocator;
  assert_int_equal(tn_runtime_create(&o, p->diag, &p->runtime), TN_OK);
}

static void place_open(place *p, const tn_allocator *allocator) { place_open_for(p, allocator, 2); }

static void place_close(place *p) {
  tn_model_destroy(p->model);
  tn_runtime_destroy(p->runtime);
  tn_diag_destroy(p->diag);
}

/* A softmax over the rows of such a matrix. */
static tn_status load_shape(place *p, const int64_t *shape, const char *device, uint32_t fallback) {
  const tn_tensor x = tn_tensor_make(TN_F32, 2, shape, NULL);
  const tn_op_arg args[] = {{.name = "input", .tensor = &x}};
  const tn_model_options o = {.head = TN_HEAD(tn_model_options),
                              .devices = &device,
                              .n_devices = device != NULL,
                              .fallback = fallback};
  tn_diag_clear(p->diag);
  return tn_model_from_op(p->runtime, "Softmax", 13, args, 1, 0, &o, p->diag, &p->model);
}

static tn_status load(place *p, const char *device, uint32_t fallback) {
  return load_shape(p, (int64_t[]){4, N / 4}, device, fallback);
}

static tn_status run(tn_model *model, tn_diag *diag, float *out) {
  float data[N];
  tn_session *s = NULL;
  for (int k = 0; k < N; k++) data[k] = (float)(k * 7 % 5);
  const tn_tensor x = tn_tensor_make(TN_F32, 2, (int64_t[]){4, N / 4}, data);
  tn_status status = tn_session_create(model, diag, &s);
  if (!status) status = tn_session_set_input(s, 0, &x, diag);
  for (int k = 0; k < 3 && !status; k++) status = tn_session_run(s, diag);
  if (!status) memcpy(out, tn_session_output(s, 0)->data, N * sizeof *out);
  tn_session_destroy(s);
  return status;
}

static void expect_said(const place *p, const char *text) {
  for (int64_t k = 0; k < tn_diag_count(p->diag); k++)
    if (strstr(tn_diag_message(p->diag, k, NULL), text)) return;
  fail_msg("nobody says '%s', but: %s", text, tn_diag_text(p->diag));
}

static void fill_expected(float *want) {
  place p;
  place_open(&p, NULL);
  assert_int_equal(load(&p, NULL, 0), TN_OK);
  assert_int_equal(run(p.model, p.diag, want), TN_OK);
  place_close(&p);
}

static void test_entries(void **state) {
  (void)state;
  place p;
  tn_device_entry e = {.head = TN_HEAD(tn_device_entry)};
  bool found = false;
  place_open(&p, NULL);
  const int32_t n = tn_runtime_n_devices(p.runtime);
  assert_int_equal(tn_runtime_device(p.runtime, 0, &e), TN_OK);
  assert_string_equal(e.name, "cpu");
  assert_int_equal(tn_runtime_device(p.runtime, n, &e), TN_ERR_NOT_FOUND);
  for (int32_t k = 0; k < n; k++) {
    assert_int_equal(tn_runtime_device(p.runtime, k, &e), TN_OK);
    if (strcmp(e.name, "shadow:0")) continue;
    found = true;
    assert_null(e.missing);
    assert_string_equal(e.driver, "shadow");
  }
  assert_true(found);
  place_close(&p);
}

static void test_options(void **state) {
  (void)state;
  place p;
  float want[N], got[N];
  fill_expected(want);
  place_open(&p, NULL);
  assert_int_equal(load(&p, "shadow:0", 9), TN_ERR_INVALID);
  assert_int_equal(load(&p, "warp:0", 0), TN_ERR_NOT_FOUND);
  assert_int_equal(load(&p, "shadow:x", 0), TN_ERR_NOT_FOUND);
  assert_int_equal(load(&p, "", 0), TN_ERR_NOT_FOUND);
  assert_int_equal(load(&p, "shadow", 0), TN_OK);
  assert_int_equal(run(p.model, p.diag, got), TN_OK);
  assert_memory_equal(got, want, sizeof want);
  place_close(&p);
}

static void test_plan(void **state) {
  (void)state;
  place p;
  tn_session *s = NULL;
  tn_plan_info plan = {.head = TN_HEAD(tn_plan_info)};
  tn_step_info step = {.head = TN_HEAD(tn_step_info)};
  const tn_tensor x = tn_tensor_make(TN_F32, 2, (int64_t[]){4, N / 4}, (float[N]){0});
  place_open(&p, NULL);
  assert_int_equal(load(&p, "shadow:0", 0), TN_OK);
  assert_int_equal(tn_session_create(p.model, p.diag, &s), TN_OK);
  assert_int_equal(tn_session_set_input(s, 0, &x, p.diag), TN_OK);
  assert_int_equal(tn_session_prepare(s, p.diag), TN_OK);
  assert_int_equal(tn_session_plan(s, &plan), TN_OK);
  assert_int_equal(plan.n_devices, 1);
  assert_int_equal(plan.n_segments, 1);
  assert_int_equal(plan.n_waits, 1);
  assert_int_equal(plan.n_steps, 3); /* up, the softmax, down */
  assert_int_equal(tn_session_step(s, 1, &step), TN_OK);
  assert_string_equal(step.device, "shadow:0");
  assert_int_equal(step.segment, 0);
  tn_session_destroy(s);
  place_close(&p);
}

/* ---- threads ---- */

typedef struct runner {
  tn_model *model;
  const float *want;
  bool ok;
} runner;

static void *run_often(void *arg) {
  runner *r = arg;
  r->ok = true;
  for (int k = 0; k < 20; k++) {
    float got[N];
    r->ok = r->ok && !run(r->model, NULL, got) && !memcmp(got, r->want, sizeof got);
  }
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  enum { THREADS = 4 };
  place p;
  float want[N];
  pthread_t threads[THREADS];
  runner runners[THREADS];
  fill_expected(want);
  place_open(&p, NULL);
  assert_int_equal(load(&p, "shadow:0", 0), TN_OK);
  for (int k = 0; k < THREADS; k++) {
    runners[k] = (runner){p.model, want, false};
    assert_int_equal(pthread_create(&threads[k], NULL, run_often, &runners[k]), 0);
  }
  for (int k = 0; k < THREADS; k++) {
    pthread_join(threads[k], NULL);
    assert_true(runners[k].ok);
  }
  place_close(&p);
}

/* ---- loss ---- */

/* In a child that nobody has told of it, devices are lost at once, nobody waits for what stayed
 * with the parent, and the parent goes on. */
static void test_child(void **state) {
  (void)state;
  place p;
  float want[N], got[N];
  int status = -1;
  fill_expected(want);
  place_open(&p, NULL);
  assert_int_equal(load(&p, "shadow:0", TN_FALLBACK_FORBID), TN_OK);
  assert_int_equal(run(p.model, p.diag, got), TN_OK);
  const pid_t child = fork();
  if (child == 0) {
    const bool is_lost = run(p.model, p.diag, got) == TN_ERR_IO;
    tn_model_destroy(p.model);
    _exit(is_lost && !strstr(tn_diag_text(p.diag), "it has not ended") ? 0 : 1);
  }
  assert_true(child > 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(run(p.model, p.diag, got), TN_OK);
  assert_memory_equal(got, want, sizeof want);
  place_close(&p);
}

/* Sticky, for all sessions; what the policy says then. */
static void test_fork(void **state) {
  (void)state;
  place p;
  float want[N], got[N];
  fill_expected(want);
  place_open(&p, NULL);
  assert_int_equal(load(&p, "shadow:0", TN_FALLBACK_FORBID), TN_OK);
  assert_int_equal(run(p.model, p.diag, got), TN_OK);
  assert_int_equal(tn_runtime_notify(p.runtime, TN_EVENT_FORK), TN_OK);
  assert_int_equal(run(p.model, p.diag, got), TN_ERR_IO);
  expect_said(&p, "device 'shadow:0' is lost");
  tn_model_destroy(p.model);
  assert_int_equal(load(&p, "shadow:0", TN_FALLBACK_WARN), TN_OK); /* opened anew */
  assert_int_equal(run(p.model, p.diag, got), TN_OK);
  assert_int_equal(tn_runtime_notify(p.runtime, TN_EVENT_FORK), TN_OK);
  memset(got, 0, sizeof got);
  assert_int_equal(run(p.model, p.diag, got), TN_OK);
  expect_said(&p, "run on the cpu");
  expect_said(&p, "the device is lost");
  assert_memory_equal(got, want, sizeof want);
  place_close(&p);
}

/* ---- the system ---- */

#if defined(__linux__) && !defined(TN_TEST_SANITIZED)
/* From the third run on any call of the system but write() kills the caller: 'y' into the pipe if
 * all went well, 'n' if not, 's' if nobody can be watched so. */
static void run_watched(int to) {
  float data[N] = {0};
  const tn_tensor x = tn_tensor_make(TN_F32, 2, (int64_t[]){4, N / 4}, data);
  tn_session *s = NULL;
  place p;
  setenv("TENON_SHADOW", "hide=100", 1); /* all of the plan is the CPU's */
  place_open_for(&p, NULL, 1);
  tn_status status = load(&p, "shadow:0", TN_FALLBACK_ALLOW);
  if (!status) status = tn_session_create(p.model, p.diag, &s);
  if (!status) status = tn_session_set_input(s, 0, &x, p.diag);
  for (int k = 0; k < 2 && !status; k++) status = tn_session_run(s, p.diag);
  const bool is_watched = !prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  for (int k = 0; k < 5 && !status; k++) status = tn_session_run(s, p.diag);
  const char *said = !is_watched ? "s" : status ? "n" : "y";
  if (write(to, said, 1) != 1) abort();
  for (;;) continue; /* no call ends a process with threads here; the parent does */
}

/* A device that the plan leaves alone is not looked after: to ask for the process took longer than
 * a small network. */
static void test_no_system_calls(void **state) {
  (void)state;
  enum { PATIENCE_MS = 20000 };
  int ends[2], status;
  char said = 'k'; /* killed */
  assert_int_equal(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) run_watched(ends[1]);
  assert_true(child > 0);
  close(ends[1]);
  struct pollfd news = {.fd = ends[0], .events = POLLIN};
  if (poll(&news, 1, PATIENCE_MS) == 1 && read(ends[0], &said, 1) != 1) said = 'k';
  close(ends[0]);
  kill(child, SIGKILL);
  assert_int_equal(waitpid(child, &status, 0), child);
  if (said == 's') skip();
  if (said != 'y') fail_msg("a run %s", said == 'n' ? "fails" : "calls the system");
}
#else
static void test_no_system_calls(void **state) {
  (void)state;
  skip();
}
#endif

/* ---- memory ---- */

/* Runs the softmax on rows of ones; what a row sums up to. */
static tn_status run_rows(tn_session *s, int64_t rows, tn_diag *diag, float *out_sum) {
  enum { COLUMNS = 64, MOST = 4096 };
  static float ones[MOST * COLUMNS];
  for (int k = 0; k < MOST * COLUMNS; k++) ones[k] = 1;
  const tn_tensor x = tn_tensor_make(TN_F32, 2, (int64_t[]){rows, COLUMNS}, ones);
  tn_status status = tn_session_set_input(s, 0, &x, diag);
  if (!status) status = tn_session_run(s, diag);
  *out_sum = 0;
  for (int64_t k = 0; k < COLUMNS && !status; k++)
    *out_sum += ((const float *)tn_session_output(s, 0)->data)[(rows - 1) * COLUMNS + k];
  return status;
}

/* What the first plan has there, the second one needs: staging up and down, and the arena. */
static void test_older_plans(void **state) {
  (void)state;
  const uint32_t policies[] = {TN_FALLBACK_FORBID, TN_FALLBACK_WARN};
  setenv("TENON_SHADOW", "delay=0,memory=280000", 1);
  for (int k = 0; k < 2; k++) {
    place p;
    tn_session *s = NULL;
    tn_plan_info plan = {.head = TN_HEAD(tn_plan_info)};
    float sum;
    place_open(&p, NULL);
    assert_int_equal(load_shape(&p, (int64_t[]){-1, 64}, "shadow:0", policies[k]), TN_OK);
    assert_int_equal(tn_session_create(p.model, p.diag, &s), TN_OK);
    const int64_t rows[] = {200, 256, 1, 240};
    for (int i = 0; i < 4; i++) {
      if (run_rows(s, rows[i], p.diag, &sum)) fail_msg("%s", tn_diag_text(p.diag));
      assert_float_equal(sum, 1, 1e-5);
      assert_int_equal(tn_session_plan(s, &plan), TN_OK);
      assert_int_equal(plan.n_segments, 1); /* there, not on the CPU */
    }
    assert_int_equal(tn_diag_count(p.diag), 0); /* and nobody is told */
    assert_int_equal(run_rows(s, 4096, p.diag, &sum),
                     policies[k] == TN_FALLBACK_FORBID ? TN_ERR_MEMORY : TN_OK);
    expect_said(&p, "needs 1.0 MiB: it has 280000 bytes, ");
    tn_session_destroy(s);
    place_close(&p);
  }
  setenv("TENON_SHADOW", "delay=100,seed=3", 1);
}

/* Memory that is missing while a model runs is an error of this run alone. */
static void test_memory_while_running(void **state) {
  (void)state;
  place p;
  tn_session *s = NULL;
  float sum;
  int n_failed = 0;
  setenv("TENON_SHADOW", "delay=0,fault=submit@3", 1);
  place_open(&p, NULL);
  assert_int_equal(load_shape(&p, (int64_t[]){-1, 64}, "shadow:0", TN_FALLBACK_FORBID), TN_OK);
  assert_int_equal(tn_session_create(p.model, p.diag, &s), TN_OK);
  for (int k = 0; k < 6; k++) {
    const tn_status status = run_rows(s, 8, p.diag, &sum);
    if (status) assert_int_equal(status, TN_ERR_MEMORY);
    if (!status) assert_float_equal(sum, 1, 1e-5);
    n_failed += status != TN_OK;
  }
  assert_int_equal(n_failed, 1);
  expect_said(&p, "device 'shadow:0', segment 1 of 1, nodes ");
  tn_session_destroy(s);
  place_close(&p);
  setenv("TENON_SHADOW", "delay=100,seed=3", 1);
}

/* ---- a second run allocates nothing ---- */

static void test_steady(void **state) {
  (void)state;
  place p;
  counter c;
  float data[N] = {0};
  tn_session *s = NULL;
  const tn_tensor x = tn_tensor_make(TN_F32, 2, (int64_t[]){4, N / 4}, data);
  counter_open(&c);
  place_open(&p, &c.allocator);
  assert_int_equal(load(&p, "shadow:0", 0), TN_OK);
  assert_int_equal(tn_session_create(p.model, p.diag, &s), TN_OK);
  assert_int_equal(tn_session_set_input(s, 0, &x, p.diag), TN_OK);
  assert_int_equal(tn_session_run(s, p.diag), TN_OK);
  const int before = atomic_load(&c.n_allocs);
  for (int k = 0; k < 5; k++) assert_int_equal(tn_session_run(s, p.diag), TN_OK);
  assert_int_equal(atomic_load(&c.n_allocs), before);
  tn_session_destroy(s);
  place_close(&p);
  assert_int_equal(atomic_load(&c.bytes), 0);
}

/* ---- plug-ins ---- */

static tn_device_driver driver;
static tn_kernel row;
static tn_device_kernel kernel;
static const tn_device_driver *const drivers[] = {&driver};
static const tn_device_kernel *const kernels[] = {&kernel};
static tn_plugin plugin;
static const tn_plugin *query(uint32_t major, uint32_t minor) {
  (void)major, (void)minor;
  return &plugin;
}

static tn_status record(const tn_call *call, tn_recorder *recorder) {
  (void)call, (void)recorder;
  return TN_ERR_UNSUPPORTED;
}

static void offer(uint32_t n_drivers, uint32_t n_kernels) {
  plugin = (tn_plugin){.head = TN_HEAD(tn_plugin),
                       .name = "ghosts",
                       .flavour = TN_FLAVOUR,
                       .n_drivers = n_drivers,
                       .n_device_kernels = n_kernels,
                       .drivers = drivers,
                       .device_kernels = kernels};
}

static void reset_driver(void) {
  driver = shadow_driver;
  driver.name = "ghost";
  offer(1, 0);
}

static void reset_kernel(void) {
  static const tn_program_form form = {TN_HEAD(tn_program_form), "ghost-c", "void", 4};
  static const tn_program_form *const forms[] = {&form};
  static const tn_program program = {
      .head = TN_HEAD(tn_program), .name = "relu", .forms = forms, .n_forms = 1};
  static const tn_program *const programs[] = {&program};
  TN_ACCEPT(f32, .arg = "*", .dtypes = TN_MASK(TN_F32));
  TN_LIST(const tn_accept *, rows, &f32);
  row = (tn_kernel){.head = TN_HEAD(tn_kernel),
                    .name = "relu_ghost",
                    .op = "Relu",
                    .device = "ghost",
                    .accepts = rows,
                    .n_accepts = 1};
  kernel = (tn_device_kernel){.head = TN_HEAD(tn_device_kernel),
                              .kernel = &row,
                              .programs = programs,
                              .n_programs = 1,
                              .record = record};
  offer(0, 1);
}

static void expect_refused(const char *reason) {
  place p;
  place_open(&p, NULL);
  assert_int_not_equal(tn_runtime_add_plugin(p.runtime, query, NULL, 0, p.diag), TN_OK);
  expect_said(&p, reason);
  place_close(&p);
}

static void test_vetting(void **state) {
  (void)state;
  reset_driver();
  driver.submit = NULL;
  expect_refused("driver 'ghost', member submit: must be given");
  reset_driver();
  driver.name = "cpu";
  expect_refused("is 'cpu', which means something else");
  reset_driver();
  driver.name = "shadow";
  expect_refused("as is that of a driver of plug-in 'tenon'");
  reset_kernel();
  row.device = "cpu";
  expect_refused("member device: is 'cpu', whose kernels have no programs");
  reset_kernel();
  row.run =
      (tn_status(*)(const tn_call *, uint32_t, int64_t, int64_t, uint32_t))(void (*)(void))abort;
  expect_refused("member run: must be NULL: programs do the work");
  reset_kernel();
  kernel.n_programs = 0;
  expect_refused("member programs: must be given: it has none");
  reset_kernel();
  kernel.record = NULL;
  expect_refused("member record: must be given");
  reset_kernel();
  row.op = "NoSuchOperator";
  expect_refused("which neither this plug-in nor any loaded before it offers");
}

/* A driver of a plug-in serves like a built-in one, and its plug-in stays while a model has it. */
static void test_plugin(void **state) {
  (void)state;
  place p;
  float want[N], got[N];
  fill_expected(want);
  reset_driver();
  place_open(&p, NULL);
  assert_int_equal(tn_runtime_add_plugin(p.runtime, query, NULL, 0, p.diag), TN_OK);
  assert_int_equal(load(&p, "ghost:0", 0), TN_OK);
  assert_int_equal(run(p.model, p.diag, got), TN_OK);
  assert_memory_equal(got, want, sizeof want);
  assert_int_equal(tn_runtime_unload_plugin(p.runtime, "ghosts", 0, p.diag), TN_ERR_STATE);
  expect_said(&p, "'ghosts' is in use by a model");
  tn_model_destroy(p.model);
  p.model = NULL;
  assert_int_equal(tn_runtime_unload_plugin(p.runtime, "ghosts", 0, p.diag), TN_OK);
  assert_int_equal(load(&p, "ghost:0", 0), TN_ERR_NOT_FOUND);
  place_close(&p);
}

/* Kernels of devices are listed; the CPU does not take them. */
static void test_kernel(void **state) {
  (void)state;
  place p;
  bool found = false;
  reset_kernel();
  place_open(&p, NULL);
  assert_int_equal(tn_runtime_add_plugin(p.runtime, query, NULL, 0, p.diag), TN_OK);
  for (int32_t k = 0; k < tn_runtime_n_kernels(p.runtime); k++)
    found = found || !strcmp(tn_runtime_kernel(p.runtime, k)->name, "relu_ghost");
  assert_true(found);
  const tn_tensor x = tn_tensor_make(TN_F32, 1, (int64_t[]){3}, (float[]){-1, 0, 2});
  const tn_op_arg args[] = {{.name = "X", .tensor = &x}};
  tn_tensor *y = NULL;
  assert_int_equal(tn_op_run(p.runtime, "Relu", 0, args, 1, &y, 1, p.diag), TN_OK);
  assert_true(((const float *)y->data)[0] == 0);
  tn_value_destroy(y);
  place_close(&p);
}

/* ---- kernels of devices that run ---- */

/* Every GROUPS-th element from that of the group's number on. */
enum { GROUPS = 3 };

static void positive(void *const *data, const void *params, const int64_t *constants,
                     const uint32_t group[3]) {
  const float *x = data[0];
  float *y = data[1];
  const uint32_t n = *(const uint32_t *)params;
  for (uint32_t k = group[0]; k < n; k += (uint32_t)constants[0])
    if (x[k] > 0) y[k] = x[k];
}

static struct {
  bool ends_outside, has_wrong_constants, fails;
  int n_records;
} how;

/* Zeros, over them what is positive, into the output: each needs what the one before it did. */
static tn_status record_relu(const tn_call *call, tn_recorder *r) {
  static const int64_t groups = GROUPS;
  const uint32_t n = (uint32_t)tn_tensor_elements(call->inputs[0]);
  const tn_device_info *info = call->device;
  const tn_binding x = {.head = TN_HEAD(tn_binding), .kind = TN_BIND_INPUT};
  const tn_binding y = {.head = TN_HEAD(tn_binding), .kind = TN_BIND_OUTPUT};
  const tn_binding temp = {.head = TN_HEAD(tn_binding),
                           .kind = TN_BIND_SCRATCH,
                           .bytes = n * sizeof(float) + (how.ends_outside ? 4 : 0)};
  const tn_binding *const bindings[] = {&x, &temp};
  const tn_dispatch d = {.head = TN_HEAD(tn_dispatch),
                         .n_bindings = 2,
                         .n_constants = how.has_wrong_constants ? 0 : 1,
                         .params_bytes = sizeof n,
                         .groups = {GROUPS, 1, 1},
                         .bindings = bindings,
                         .constants = &groups,
                         .params = &n};
  how.n_records++;
  if (how.fails) return (call->host->fail)(call->ctx, TN_ERR_UNSUPPORTED, "not on a Monday");
  if (!info || info->offset_alignment == 0) return TN_ERR_INTERNAL;
  tn_status status = r->fill(r->ctx, &temp, 0);
  if (!status) status = r->dispatch(r->ctx, &d);
  return status ? status : r->copy(r->ctx, &temp, &y);
}

static tn_status plan_relu(const tn_call *call, tn_kernel_plan *out) {
  out->n_stages = 1;
  out->items[0] = 1;
  out->scratch_bytes = (uint64_t)tn_tensor_elements(call->inputs[0]) * sizeof(float);
  return TN_OK;
}

/* A driver that runs functions only, and a Relu for it. */
static void offer_relu(void) {
  static const tn_host_function function = {TN_HEAD(tn_host_function), positive};
  static const tn_program_form form = {TN_HEAD(tn_program_form), TN_LANGUAGE_HOST_FUNCTION,
                                       &function, sizeof function};
  static const tn_program_form *const forms[] = {&form};
  static const tn_program program = {.head = TN_HEAD(tn_program),
                                     .name = "positive",
                                     .constants = "STEP:int",
                                     .forms = forms,
                                     .n_forms = 1};
  static const tn_program *const programs[] = {&program};
  reset_kernel();
  row.plan = plan_relu;
  kernel.record = record_relu;
  kernel.programs = programs;
  reset_driver();
  driver.languages = TN_LANGUAGE_HOST_FUNCTION;
  offer(1, 1);
  memset(&how, 0, sizeof how);
}

static tn_status load_op(place *p, const char *op, const char *arg) {
  const char *device = "ghost:0";
  const tn_tensor x = tn_tensor_make(TN_F32, 1, (int64_t[]){N}, NULL);
  const tn_op_arg args[] = {{.name = arg, .tensor = &x}};
  const tn_model_options o = {
      .head = TN_HEAD(tn_model_options), .devices = &device, .n_devices = 1};
  tn_diag_clear(p->diag);
  return tn_model_from_op(p->runtime, op, 14, args, 1, 0, &o, p->diag, &p->model);
}

static tn_status run_signs(place *p, float *in, float *out) {
  tn_session *s = NULL;
  const tn_tensor x = tn_tensor_make(TN_F32, 1, (int64_t[]){N}, in);
  tn_status status = tn_session_create(p->model, p->diag, &s);
  for (int k = 0; k < 20 && !status; k++) { /* each in another order */
    status = tn_session_set_input(s, 0, &x, p->diag);
    if (!status) status = tn_session_run(s, p->diag);
    if (!status) memcpy(out, tn_session_output(s, 0)->data, N * sizeof *out);
    for (int i = 0; i < N && !status; i++)
      if (out[i] != (in[i] > 0 ? in[i] : 0)) status = TN_ERR_INTERNAL;
    for (int i = 0; i < N; i++) in[i] = -in[i];
  }
  tn_session_destroy(s);
  return status;
}

static void test_record(void **state) {
  (void)state;
  place p;
  float in[N], out[N];
  for (int k = 0; k < N; k++) in[k] = (float)(k % 2 ? k : -k);
  offer_relu();
  place_open(&p, NULL);
  assert_int_equal(tn_runtime_add_plugin(p.runtime, query, NULL, 0, p.diag), TN_OK);
  assert_int_equal(load_op(&p, "Relu", "X"), TN_OK);
  assert_int_equal(run_signs(&p, in, out), TN_OK);
  assert_true(how.n_records >= 2); /* tried while planning, then recorded */
  tn_model_destroy(p.model);
  assert_int_equal(load_op(&p, "Abs", "X"), TN_OK);
  assert_int_not_equal(run_signs(&p, in, out), TN_OK); /* it has no kernel for that */
  expect_said(&p, "ghost:0");
  place_close(&p);
}

/* What record() does wrong is a reason of its kernel. */
static void expect_no_relu(const char *reason) {
  place p;
  float in[N] = {0}, out[N];
  place_open(&p, NULL);
  assert_int_equal(tn_runtime_add_plugin(p.runtime, query, NULL, 0, p.diag), TN_OK);
  assert_int_equal(load_op(&p, "Relu", "X"), TN_OK);
  assert_int_not_equal(run_signs(&p, in, out), TN_OK);
  expect_said(&p, reason);
  place_close(&p);
}

static void test_record_wrong(void **state) {
  (void)state;
  offer_relu();
  how.ends_outside = true;
  expect_no_relu("kernel 'relu_ghost': a binding of 100 bytes at 0 is outside of its 96 bytes");
  offer_relu();
  how.has_wrong_constants = true;
  expect_no_relu("kernel 'relu_ghost': 0 constants, program 'positive' has 1");
  offer_relu();
  how.fails = true;
  expect_no_relu("not on a Monday");
  offer_relu();
  driver.languages = "tongues";
  expect_no_relu("program 'positive' does not build: it has no form in tongues");
}

int main(void) {
  setenv("TENON_SHADOW", "delay=100,seed=3", 1);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_entries),
                                     cmocka_unit_test(test_options),
                                     cmocka_unit_test(test_plan),
                                     cmocka_unit_test(test_threads),
                                     cmocka_unit_test(test_no_system_calls),
                                     cmocka_unit_test(test_fork),
                                     cmocka_unit_test(test_child),
                                     cmocka_unit_test(test_older_plans),
                                     cmocka_unit_test(test_memory_while_running),
                                     cmocka_unit_test(test_steady),
                                     cmocka_unit_test(test_vetting),
                                     cmocka_unit_test(test_plugin),
                                     cmocka_unit_test(test_kernel),
                                     cmocka_unit_test(test_record),
                                     cmocka_unit_test(test_record_wrong)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
