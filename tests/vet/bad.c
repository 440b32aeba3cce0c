/* A plug-in that keeps every rule but the one that TENON_TEST_BAD names. vet.sh says what `tenon
 * plugin vet` must find of each. */
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../parts.h"

static int is(const char *name) {
  const char *bad = getenv("TENON_TEST_BAD");
  return bad && !strcmp(bad, name);
}

static void crash(void) {
  volatile int *volatile nowhere = NULL;
  *nowhere = 1;
}

static void hang(void) {
  for (;;) pause();
}

/* A process that is no longer in the group of this one. */
static void make_daemon(void) {
  int status;
  const pid_t pid = fork();
  if (pid == 0 && (setsid() < 0 || fork() > 0)) _exit(0);
  if (pid == 0) hang();
  waitpid(pid, &status, 0);
}

/* Puts another file where one that is not ours is open: below 3, or everywhere else. */
static void replace_files(int from, int until) {
  const int null = open("/dev/null", O_RDWR);
  for (int k = from; k < until; k++)
    if (k != null && fcntl(k, F_GETFD) >= 0) dup2(null, k);
  close(null);
}

/* What is no text, moves a terminal's cursor or turns its text. */
static const char escapes[] = "one \033[2J two \xff three \xe2\x80\xae four\n";

/* What any callback can do to the process. */
static void meddle(void) {
  const struct itimerval hour = {.it_value = {3600, 0}};
  const struct rlimit few = {20, 20};
  if (is("limit")) setrlimit(RLIMIT_NOFILE, &few);
  if (is("timer")) setitimer(ITIMER_REAL, &hour, NULL);
  if (is("priority")) setpriority(PRIO_PROCESS, 0, 19);
  if (is("input-replaced")) replace_files(0, 1);
  if (is("closes-output")) close(STDOUT_FILENO);
  if (is("prints")) fputs(escapes, stderr);
  if (is("forks-both")) (void)!fork();
  if (is("forks-zombie") && fork() == 0) _exit(0);
#if defined(__x86_64__)
  if (is("x87")) __asm__ volatile("fldz");
#endif
  if (is("signal")) signal(SIGUSR2, SIG_IGN);
  if (is("mask")) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
  }
  if (is("locale")) setlocale(LC_ALL, "C.UTF-8");
  if (is("folder") && chdir("/")) crash();
  if (is("umask")) umask(0111);
  if (is("environment")) setenv("TENON_TEST_MORE", "1", 1);
  if (is("file")) open("/dev/null", O_RDONLY);
}

/* Sleeps inside the C library and never comes back, so that its code may be unmapped. */
static atomic_int asleep;
static void *sleeper(void *arg) {
  atomic_store(&asleep, 1);
  for (;;) pause();
  return arg;
}
static bool start_sleeper(void) {
  pthread_t thread;
  atomic_store(&asleep, 0);
  if (pthread_create(&thread, NULL, sleeper, NULL)) return false;
  while (!atomic_load(&asleep)) usleep(1000);
  usleep(20000);
  return true;
}

__attribute__((constructor)) static void constructor(void) {
  if (is("constructor")) crash();
  if (is("constructor-files")) replace_files(3, 100);
}
__attribute__((destructor)) static void destructor(void) {
  if (is("destructor")) crash();
}

/* ---- the operator ---------------------------------------------------------------------------- */

static int n_inferred;

typedef struct scaled_attrs {
  double a;
  int64_t n;
} scaled_attrs;

static tn_status infer(const tn_call *call) {
  tn_tensor *y = call->outputs[0];
  const tn_tensor *x = call->inputs[0];
  union {
    const void *in;
    double *out;
  } attrs = {call->attrs};
  y->rank = x->rank;
  for (int32_t d = 0; d < x->rank; d++) y->shape[d] = x->shape[d];
  if (is("infer-scalar") && x->rank == 0) crash();
  if (is("infer-status") && x->rank == 0) return 7;
  if (is("infer-attr") && ((const scaled_attrs *)call->attrs)->n > 1000000) crash();
  if (is("infer-impure") && x->rank) y->shape[0] = n_inferred++;
  if (is("infer-huge") && x->rank) y->shape[0] = INT64_C(1) << 50;
  if (is("infer-writes")) *attrs.out += 1;
  if (is("infer-call")) ((tn_call *)(uintptr_t)call)->version = 77;
  if (is("infer-loops") && x->rank && x->shape[0] > 1000000) hang();
  return TN_OK;
}

static tn_status flops(const tn_call *call, double *out_flops) {
  *out_flops = (double)part_elements(call->inputs[0]);
  if (is("flops-output")) call->outputs[0]->rank = 0;
  return TN_OK;
}

static tn_status reference(const tn_call *call) {
  const double *a = call->attrs;
  const float *x = call->inputs[0]->data;
  float *y = call->outputs[0]->data;
  for (int64_t k = 0; k < part_elements(call->inputs[0]); k++) y[k] = (float)(*a * (double)x[k]);
  return TN_OK;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* What the first call makes, for all runtimes, and the first shutdown() takes from all of them. */
static float one = 1;
static float *volatile shared = &one;

static float held; /* from the first item of a call to its last: of whoever began last */

static tn_status plan(const tn_call *call, tn_kernel_plan *out) {
  if (is("plan")) crash();
  if (is("plan-fails")) return call->host->fail(call->ctx, TN_ERR_SHAPE, "no such plan");
  out->state_bytes = 64;
  if (is("run-worker")) out->worker_scratch_bytes = 64;
  if (is("plan-in-place")) out->in_place[0] = 5;
  if (is("plan-grain")) out->grain[0] = -3;
  if (is("plan-cost")) out->cost_ns = -1;
  if (is("plan-differs")) out->state_key = (uint64_t)n_inferred++;
  if (is("plan-huge")) out->scratch_bytes = UINT64_C(1) << 45;
  return part_plan_elements(call, out);
}

static tn_status prepare(const tn_call *call) {
  void *memory = call->host->alloc(call->ctx, 100);
  if (is("prepare-unchecked")) *(char *)memory = 1;
  if (!memory) return is("prepare-says-ok") ? TN_ERR_INTERNAL : TN_ERR_MEMORY;
  shared = &one;
  if (!is("prepare-leaks")) call->host->free(call->ctx, memory);
  if (is("prepare-malloc-large")) {
    char *volatile lost = malloc(1 << 20);
    if (lost) *lost = 1;
  }
  if (is("prepare-malloc")) {
    char *volatile lost = malloc(1000);
    if (lost) *lost = 1;
  }
  return TN_OK;
}

static tn_status run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                     uint32_t worker) {
  const double *a = call->attrs;
  const float *x = call->inputs[0]->data;
  float *y = call->outputs[0]->data;
  (void)stage, (void)worker;
  for (int64_t k = begin; k < end; k++) y[k] = (float)(*a * (double)x[k]);
  if (is("run") && end > 30) crash();
  if (is("run-abort") && end > 30) abort();
  if (is("run-hangs") && end > 30) hang();
  if (is("run-exits") && end > 30) exit(0);
  if (is("run-past") && end == part_elements(call->inputs[0])) y[end] = 1;
  if (is("unload-shared") && end > 30) y[30] *= *shared;
  if (is("run-wrong") && end > 30) y[30] += 1;
  if (is("run-worker")) *(float *)call->worker_scratch = y[begin]; /* of worker 0, always */
  if (is("run-closes"))
    for (int k = 3; k < 100; k++) close(k);
  if (is("run-input")) ((tn_tensor *)(uintptr_t)call->inputs[0])->shape[0] = 1 << 30;
  if (is("run-output")) call->outputs[0]->rank = 9;
  if (is("run-call")) ((tn_call *)(uintptr_t)call)->n_inputs = 9;
  if (is("run-rounds")) fesetround(FE_UPWARD);
  if (is("run-static") && begin == 0) held = y[0];
  if (is("run-static") && end == part_elements(call->inputs[0]))
    y[end - 1] += held - (float)(*a * (double)x[0]);
  meddle();
  return TN_OK;
}

static const char *refuse(const tn_call *call) {
  if (is("refuse")) crash();
  if (is("refuse-call")) ((tn_call *)(uintptr_t)call)->n_workers = 77;
  if (is("refuse-input")) ((tn_tensor *)(uintptr_t)call->inputs[0])->dtype = TN_I8;
  if (is("refuse-escapes")) return escapes;
  return NULL;
}

/* ---- a format -------------------------------------------------------------------------------- */

/* "BAD1", how many bytes follow (4 bytes, the lowest first), and those. */
static const char bytes[12] = {'B', 'A', 'D', '1', 4, 0, 0, 0, 'd', 'a', 't', 'a'};

static int32_t probe(const uint8_t *data, uint64_t size) {
  if (is("probe")) return data[size] == 'x'; /* one byte too far */
  if (is("probe-answer")) return 1000;
  return size >= 4 && !memcmp(data, bytes, 4) ? 100 : 0;
}

static tn_status read_model(const tn_source *source, tn_graph *graph) {
  const uint8_t *p = source->data;
  volatile uint8_t sum = 0;
  if (is("read-leaks")) source->host->alloc(source->ctx, 10);
  if (source->size < 4 || memcmp(p, bytes, 4))
    return source->host->fail(source->ctx, TN_ERR_INVALID, "is no model");
  if (source->size < 8 && !is("read-cut"))
    return source->host->fail(source->ctx, TN_ERR_INVALID, "ends too early");
  const uint64_t n = p[4] | (uint64_t)p[5] << 8 | (uint64_t)p[6] << 16 | (uint64_t)p[7] << 24;
  if (n > source->size - 8 && !is("read-length"))
    return source->host->fail(source->ctx, TN_ERR_INVALID, "ends too early");
  if (is("read-lends")) { /* what it does not have for long */
    const tn_graph_api *api = source->host->graph;
    const tn_tensor t = {.head = TN_HEAD(tn_tensor),
                         .dtype = TN_U8,
                         .rank = 1,
                         .shape = {9},
                         .data = (void *)(uintptr_t)64};
    api->value_set_const(graph, api->value(graph, "lent"), &t, 0);
  }
  if (is("read-bytes")) source->host->graph->set_meta(graph, "k\xff", "v\xff\033[2J");
  for (uint64_t k = 0; k < n; k++) sum = (uint8_t)(sum + p[8 + k]);
  return part_chain(source->host->graph, graph, "test", "Scaled");
}

static tn_status write_model(const tn_sink *sink, const tn_graph *graph) {
  (void)graph;
  if (is("write")) crash();
  if (is("write-nothing")) return sink->host->fail(sink->ctx, TN_ERR_UNSUPPORTED, "no such graphs");
  return sink->write(sink->ctx, is("write-wrong") ? "WORSE" : bytes, is("write-wrong") ? 5 : 12);
}

/* ---- the descriptor -------------------------------------------------------------------------- */

static const tn_type_rule rule = {TN_HEAD(tn_type_rule), "T", "x,y", TN_MASK(TN_F32)};
static const tn_type_rule *const rules[] = {&rule};
static const char *cases[] = {"x=T[37] a=1.5", "x=T[2,3] n=3"};
static const tn_op op = {.head = TN_HEAD(tn_op),
                         .domain = "test",
                         .name = "Scaled",
                         .since = 1,
                         .schema = "(Tensor x, *, float a=2.0, int n=1) -> Tensor y",
                         .types = rules,
                         .n_types = 1,
                         .infer = infer,
                         .flops = flops,
                         .reference = reference,
                         .cases = cases,
                         .n_cases = 2};
static const tn_op *const ops[] = {&op};

static const tn_accept x_row = {TN_HEAD(tn_accept), "x", TN_MASK(TN_F32), TN_PLAIN, 0, 0, 0};
static const tn_accept *const rows[] = {&x_row};
static const tn_kernel kernel = {.head = TN_HEAD(tn_kernel),
                                 .name = "scaled_f32",
                                 .op = "test::Scaled",
                                 .device = "cpu",
                                 .rank = TN_RANK_PLUGIN,
                                 .accepts = rows,
                                 .n_accepts = 1,
                                 .refuse = refuse,
                                 .plan = plan,
                                 .prepare = prepare,
                                 .run = run};
static const tn_kernel *const kernels[] = {&kernel};

static const tn_format format = {.head = TN_HEAD(tn_format),
                                 .name = "bad",
                                 .extensions = ".bad",
                                 .probe = probe,
                                 .read = read_model,
                                 .write = write_model};
static const tn_format *const formats[] = {&format};

typedef struct state {
  const tn_host *host;
  void *ctx;
  pthread_t worker; /* of a plug-in that says that it makes threads */
  atomic_int stop;
} state;

static void *work(void *arg) {
  state *self = arg;
  while (!atomic_load(&self->stop)) usleep(1000);
  return NULL;
}

static int n_started;

static tn_status init(const tn_host *host, void *ctx, const tn_option *const *options,
                      uint32_t n_options, void **out_self) {
  (void)options, (void)n_options;
  if (is("init")) crash();
  if (is("init-fails")) return host->fail(ctx, TN_ERR_STATE, "no licence");
  if (is("init-exits")) exit(0);
  if (is("init-hangs")) hang();
  if (is("init-once") && n_started) return TN_ERR_STATE;
  if ((is("init-thread") || is("threads-stay")) && !start_sleeper()) return TN_ERR_INTERNAL;
  if (is("init-forks") && fork() == 0) hang();
  if (is("init-daemon")) make_daemon();
  if (is("init-forks-hangs") && fork() >= 0) {
    const char *path = getenv("TENON_TEST_HANGING"); /* made once both processes are there */
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) fclose(file);
    hang();
  }
  state *self = host->alloc(ctx, sizeof *self);
  if (!self && is("init-status")) return TN_ERR_INTERNAL;
  if (!self && !is("init-unchecked")) return TN_ERR_MEMORY;
  *self = (state){.host = host, .ctx = ctx};
  if (is("threads") && pthread_create(&self->worker, NULL, work, self)) return TN_ERR_INTERNAL;
  if (is("init-malloc")) {
    char *volatile lost = malloc(1000);
    if (lost) *lost = 1;
  }
  n_started++;
  *out_self = self;
  return TN_OK;
}

static void shut_down(void *self) {
  state *s = self;
  n_started--;
  if (is("threads")) {
    atomic_store(&s->stop, 1);
    pthread_join(s->worker, NULL);
  }
  if (is("shutdown")) crash();
  shared = NULL;
  if (!is("init-leaks")) s->host->free(s->ctx, self);
}

static void notify(void *self, uint32_t event) {
  (void)self;
  if (is("notify") && event == TN_EVENT_SUSPEND) crash();
  if (is("notify-new") && event > TN_EVENT_FORK) crash();
}

static tn_plugin plugin = {.head = TN_HEAD(tn_plugin),
                           .name = "bad",
                           .version = "1.0",
                           .license = "MIT",
                           .build_id = "test",
                           .flavour = TN_FLAVOUR,
                           .n_ops = 1,
                           .n_kernels = 1,
                           .n_formats = 1,
                           .ops = ops,
                           .kernels = kernels,
                           .formats = formats,
                           .init = init,
                           .shutdown = shut_down,
                           .notify = notify};

const tn_plugin *tn_plugin_query(uint32_t host_major, uint32_t host_minor) {
  if (is("query")) crash();
  if (is("threads") || is("threads-stay")) plugin.flags = TN_PLUGIN_THREADS;
  if (is("query-old") && host_major == 0 && host_minor == 0) crash();
  if (is("query-changes")) plugin.version = *plugin.version == '1' ? "2.0" : "1.0";
  if (is("case-huge")) cases[0] = "x=T[1000000,1000000]";
  if (is("query-malloc")) {
    char *volatile lost = malloc(1000);
    if (lost) *lost = 1;
  }
  return &plugin;
}
