/* A vendor whose device runs beside the CPU, or the test fails: what start() begins, a thread of
 * its own, does not end before a kernel of test::Meet runs, and that kernel not before the thread
 * does. Where one of them waits in vain for 10 s, what it computes is an error, and said to be.
 * BAD: wait, start, run: that fails; with the first two nobody waits for anybody. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tenon/experimental/module_parts.h"
#include "tenon/kit/tensor.h"

static int is_bad(const char *how) {
  const char *bad = getenv("BAD");
  return bad && !strcmp(bad, how);
}

/* ---- where they meet ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int n_device, n_cpu; /* that have come */

/* Comes, and waits until as many of the others have; 0: they did not in time. */
static int meet(int *own, const int *others) {
  struct timespec until;
  int error = 0;
  if (is_bad("wait") || is_bad("start")) return 1; /* there is nobody to meet then */
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 10;
  pthread_mutex_lock(&lock);
  const int n = ++*own;
  pthread_cond_broadcast(&changed);
  while (*others < n && error != ETIMEDOUT) error = pthread_cond_timedwait(&changed, &lock, &until);
  const int met = *others >= n;
  pthread_mutex_unlock(&lock);
  return met;
}

/* ---- the operator: y = x, where the device is at work ---- */

static tn_status meet_plan(const tn_call *call, tn_kernel_plan *out) {
  (void)call;
  out->n_stages = 1;
  out->items[0] = out->grain[0] = 1;
  return TN_OK;
}

static tn_status meet_run(const tn_call *call, uint32_t stage, int64_t begin, int64_t end,
                          uint32_t worker) {
  (void)stage, (void)begin, (void)end, (void)worker;
  if (!meet(&n_cpu, &n_device))
    return call->host->fail(call->ctx, TN_ERR_STATE, "the device was not at work meanwhile");
  memcpy(call->outputs[0]->data, call->inputs[0]->data, (size_t)tn_bytes(call->inputs[0]));
  return TN_OK;
}

static tn_status meet_reference(const tn_call *call) {
  memcpy(call->outputs[0]->data, call->inputs[0]->data, (size_t)tn_bytes(call->inputs[0]));
  return TN_OK;
}

/* ---- the compiler: each Add is an island of its own ---- */

static tn_status partition(const tn_accelerator_call *call, const tn_graph *graph,
                           tn_claim *const *claims, int32_t n_claims) {
  int32_t group = 0;
  for (int32_t id = 0; id < n_claims; id++) {
    if (!claims[id]) continue;
    if (strcmp(call->host->graph->node(graph, id)->op, "Add")) continue;
    claims[id]->group = group++;
  }
  return TN_OK;
}

static tn_status compile(const tn_accelerator_call *call, const tn_graph *const *parts,
                         uint32_t n_parts, const tn_module **out_module) {
  tn_module *m = tn_module_new(call, parts, n_parts, "beside", NULL, 1);
  if (m) *tn_module_bytes(m) = 0;
  *out_module = m;
  return m ? TN_OK : TN_ERR_MEMORY;
}

/* ---- the dispatcher ---- */

typedef struct program {
  pthread_t thread;
  const tn_tensor *const *inputs;
  tn_tensor *const *outputs;
  int is_at_work, has_met;
} program;

static tn_status open(const tn_accelerator_call *call, void **out_device) {
  (void)call;
  *out_device = NULL;
  return TN_OK;
}

static void close(const tn_accelerator_call *call, void *device) { (void)call, (void)device; }

static tn_status load(const tn_accelerator_call *call, void *device, const tn_module *module,
                      void **out_program) {
  (void)device, (void)module;
  program *p = call->host->alloc(call->ctx, sizeof *p);
  if (!p) return TN_ERR_MEMORY;
  memset(p, 0, sizeof *p);
  *out_program = p;
  return TN_OK;
}

static void unload(const tn_accelerator_call *call, void *loaded) {
  if (((program *)loaded)->is_at_work) abort(); /* the host has forgotten it */
  call->host->free(call->ctx, loaded);
}

static void add(const tn_tensor *const *inputs, tn_tensor *const *outputs) {
  const float *a = inputs[0]->data, *b = inputs[1]->data;
  float *y = outputs[0]->data;
  for (int64_t k = 0; k < tn_elements(outputs[0]); k++) y[k] = a[k] + b[k];
}

static tn_status run(const tn_accelerator_call *call, void *loaded, uint32_t entry,
                     const tn_tensor *const *inputs, tn_tensor *const *outputs) {
  (void)entry;
  if (((program *)loaded)->is_at_work) abort();
  if (is_bad("run")) return call->host->fail(call->ctx, TN_ERR_IO, "run() was called");
  add(inputs, outputs);
  return TN_OK;
}

static void *work(void *arg) {
  program *p = arg;
  p->has_met = meet(&n_device, &n_cpu);
  add(p->inputs, p->outputs);
  return NULL;
}

static tn_status start(const tn_accelerator_call *call, void *loaded, uint32_t entry,
                       const tn_tensor *const *inputs, tn_tensor *const *outputs) {
  program *p = loaded;
  (void)entry;
  if (p->is_at_work) abort();
  if (is_bad("start")) return call->host->fail(call->ctx, TN_ERR_IO, "it does not begin");
  p->inputs = inputs;
  p->outputs = outputs;
  p->is_at_work = !pthread_create(&p->thread, NULL, work, p);
  return p->is_at_work ? TN_OK : TN_ERR_MEMORY;
}

static tn_status wait(const tn_accelerator_call *call, void *loaded, uint32_t entry) {
  program *p = loaded;
  (void)entry;
  if (!p->is_at_work) abort();
  pthread_join(p->thread, NULL);
  p->is_at_work = 0;
  if (is_bad("wait")) return call->host->fail(call->ctx, TN_ERR_IO, "it has lost the way");
  if (!p->has_met) return call->host->fail(call->ctx, TN_ERR_STATE, "the CPU was idle meanwhile");
  return TN_OK;
}

/* ---- tables ---- */

TN_RULE(floats, .name = "T", .args = "X,Y", .dtypes = TN_MASK(TN_F32));
TN_LIST(const tn_type_rule *, types, &floats);
TN_LIST(const char *, cases, "X=T[2,3]");
TN_OP(meet_op, .domain = "test", .name = "Meet", .schema = "(Tensor X) -> Tensor Y", .since = 1,
      .flags = TN_OP_SAME_AS_INPUT, .reference = meet_reference, TN_SET(types, types),
      TN_SET(cases, cases));
TN_ACCEPT(plain_f32, .arg = "*", .dtypes = TN_MASK(TN_F32));
TN_LIST(const tn_accept *, accepts, &plain_f32);
TN_KERNEL(meet_f32, .op = "test::Meet", .plan = meet_plan, .run = meet_run,
          TN_SET(accepts, accepts));
TN_LIST(const tn_op *, ops, &meet_op);
TN_LIST(const tn_kernel *, kernels, &meet_f32);
TN_TABLE(tn_target, npu, .name = "beside-npu", .hardware = "npu");
TN_LIST(const tn_target *, targets, &npu);
TN_TABLE(tn_compiler, beside_compiler, .name = "beside", .vendor = "Beside", .format = "beside",
         TN_SET(targets, targets), .partition = partition, .compile = compile,
         .release = tn_module_free);
TN_TABLE(tn_dispatcher, beside_dispatcher, .name = "beside", .vendor = "Beside", .format = "beside",
         .open = open, .close = close, .load = load, .unload = unload, .run = run, .start = start,
         .wait = wait);
TN_LIST(const tn_compiler *, compilers, &beside_compiler);
TN_LIST(const tn_dispatcher *, dispatchers, &beside_dispatcher);
TN_PLUGIN(.name = "beside", .version = "1.0", .license = "Apache-2.0", .flags = TN_PLUGIN_THREADS,
          TN_SET(ops, ops), TN_SET(kernels, kernels), TN_SET(compilers, compilers),
          TN_SET(dispatchers, dispatchers));
