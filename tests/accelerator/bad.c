/* A vendor whose compiler and dispatcher do what the variable BAD says, for tests of what becomes
 * of it. Claims every node that adds what is no constant. */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tenon/accelerator.h"
#include "tenon/graph.h"
#include "tenon/kit/tensor.h"

static int is_bad(const char *how) {
  const char *bad = getenv("BAD");
  return bad && !strcmp(bad, how);
}

static int has_old_stamp(void) {
  const char *bad = getenv("BAD");
  return bad && !strncmp(bad, "stamp", 5);
}

/* ---- the compiler ---- */

static char memory[128]; /* not the host's */

/* Edits what is there to be read. */
static void edit(const tn_accelerator_call *call, const tn_graph *graph) {
  const tn_graph_api *api = call->host->graph;
  tn_graph *g = (tn_graph *)(uintptr_t)graph;
  const int64_t dims[] = {77};
  const tn_tensor type = tn_tensor_make(TN_F64, 1, dims, NULL);
  const int32_t last = api->output(graph, 0), none = TN_NO_ID;
  const tn_node relu = {.head = TN_HEAD(tn_node),
                        .op = "Relu",
                        .n_inputs = 1,
                        .n_outputs = 1,
                        .inputs = &last,
                        .outputs = &none};
  if (is_bad("edit-type")) api->value_set_type(g, last, &type);
  if (is_bad("edit-node")) api->add_node(g, &relu);
  if (is_bad("edit-remove")) api->remove_node(g, api->node_at(graph, 0));
}

/* Constants are the host's. */
static void change_constants(const tn_accelerator_call *call, const tn_graph *graph) {
  const tn_graph_api *api = call->host->graph;
  for (int32_t v = 0; v < api->n_values(graph); v++) {
    const tn_tensor *type = api->value_type(graph, v);
    if (type && type->data && type->dtype == TN_F32) ((float *)type->data)[0] += 1;
  }
}

static tn_claim *kept; /* of a node that was claimed */

/* Reasons why an Add is declined. */
static void decline(tn_claim *claim) {
  static unsigned n;
  char *text = malloc(3000);
  memset(text, 'r', 2999);
  text[500] = 0;
  claim->reason = text;
  if (is_bad("reason-lines")) text[7] = '\n';
  if (is_bad("reason-freed")) free(text);
  if (is_bad("partition-wavers") && n++ % 2 == 0) claim->group = 0;
}

static tn_status partition(const tn_accelerator_call *call, const tn_graph *graph,
                           tn_claim *const *claims, int32_t n_claims) {
  if (is_bad("partition"))
    return call->host->fail(call->ctx, TN_ERR_INVALID, "it does not like the graph");
  if (is_bad("partition-crash")) raise(SIGSEGV);
  if (is_bad("partition-status")) return 12345;
  if (is_bad("free")) call->host->free(call->ctx, memory + 64);
  if (is_bad("partition-leak")) (void)call->host->alloc(call->ctx, 100);
  if (is_bad("partition-list")) ((tn_claim **)(uintptr_t)claims)[0] = NULL;
  if (getenv("BAD") && !strncmp(getenv("BAD"), "edit", 4)) edit(call, graph);
  if (is_bad("constants")) change_constants(call, graph);
  for (int32_t id = 0; id < n_claims; id++) {
    if (!claims[id]) continue;
    claims[id]->reason = "it is no Add";
    const tn_graph_api *api = call->host->graph;
    const tn_node *node = api->node(graph, id);
    const bool has_constant = api->value_flags(graph, node->inputs[1]) & TN_VALUE_CONST;
    if (strcmp(node->op, "Add") || (has_constant && !is_bad("compile-constants"))) continue;
    claims[id]->reason = NULL;
    claims[id]->group = is_bad("group") ? -7 : 0;
    claims[id]->cost_native_ns = is_bad("cost") ? -1 : 1;
    kept = claims[id];
    if (is_bad("reason-lines") || is_bad("reason-freed") || is_bad("partition-wavers")) {
      claims[id]->group = -1;
      decline(claims[id]);
    }
  }
  return TN_OK;
}

static volatile int zero;

static void misbehave(void) {
  if (is_bad("crash")) raise(SIGSEGV);
  if (is_bad("partition-late")) kept->group = -1;
  if (is_bad("abort")) abort();
  if (is_bad("exit")) exit(3);
  if (is_bad("exit0")) _exit(0);
  while (is_bad("hang")) pause();
  while (is_bad("spin") && !zero) continue;
  while (is_bad("memory")) {
    char *more = malloc(16 << 20);
    if (!more) abort();
    memset(more, 1, 16 << 20);
  }
}

enum { MAX_PARTS = 16, MAX_PORTS = 16 };

static tn_status compile(const tn_accelerator_call *call, const tn_graph *const *parts,
                         uint32_t n_parts, const tn_module **out_module) {
  static tn_module module;
  static tn_entry entries[MAX_PARTS];
  static const tn_entry *list[MAX_PARTS];
  static const tn_tensor *ports[MAX_PARTS][2 * MAX_PORTS];
  static const tn_target other = {TN_HEAD(tn_target), "bad-npu-9", "npu", "1.0"};
  static const int64_t more[] = {7}, fewer[] = {1}, negative[] = {-1};
  static tn_tensor longer, shorter, unknown;
  static tn_tensor f64 = {.head = TN_HEAD(tn_tensor), .dtype = TN_F64};
  const tn_graph_api *api = call->host->graph;
  misbehave();
  longer = tn_tensor_make(TN_F32, 1, more, NULL);
  shorter = tn_tensor_make(TN_F32, 1, fewer, NULL);
  unknown = tn_tensor_make(TN_F32, 1, negative, NULL);
  if (is_bad("compile-constants")) change_constants(call, parts[0]);
  if (is_bad("fail")) return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "no such thing");
  if (is_bad("status")) return 12345;
  if (is_bad("together") && n_parts > 1)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "one at a time");
  if (is_bad("nothing")) return TN_OK;
  for (uint32_t k = 0; k < n_parts && k < MAX_PARTS; k++) {
    const tn_graph *g = parts[k];
    uint32_t n = 0;
    list[k] = &entries[k];
    entries[k] = (tn_entry){.head = TN_HEAD(tn_entry),
                            .name = "part",
                            .n_inputs = (uint32_t)api->n_inputs(g),
                            .n_outputs = (uint32_t)api->n_outputs(g),
                            .inputs = ports[k]};
    for (int32_t i = 0; i < api->n_inputs(g); i++)
      ports[k][n++] = api->value_type(g, api->input(g, i));
    entries[k].outputs = &ports[k][n];
    for (int32_t i = 0; i < api->n_outputs(g); i++)
      ports[k][n++] = is_bad("dtype")     ? &f64
                      : is_bad("longer")  ? &longer
                      : is_bad("shorter") ? &shorter
                      : is_bad("unsized") ? &unknown
                                          : api->value_type(g, api->output(g, i));
    if (is_bad("ports")) entries[k].n_inputs--, entries[k].inputs++;
  }
  module = (tn_module){.head = TN_HEAD(tn_module),
                       .format = is_bad("format") ? "other" : "bad",
                       .target = is_bad("target") ? &other : call->target,
                       .data = "some bytes",
                       .size = is_bad("data") ? UINT64_C(1) << 40 : 10,
                       .alignment = is_bad("alignment")      ? 3
                                    : is_bad("alignment-63") ? UINT64_C(1) << 63
                                                             : 64,
                       .entries = list,
                       .n_entries = is_bad("entries") ? n_parts + 1 : n_parts,
                       .stamp = is_bad("stamp-bytes") ? "\xff"
                                : has_old_stamp()     ? "old"
                                                      : "new"};
  *out_module = is_bad("pointer") ? (const tn_module *)(uintptr_t)16 : &module;
  return TN_OK;
}

/* Of a module with another stamp. */
static tn_status compatible(const tn_accelerator_call *call, const tn_module *module,
                            const char *stamp, uint32_t *out_verdict) {
  if (strcmp(module->stamp, "old") || strcmp(stamp, "new") || module->data)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "this is not what was asked about");
  if (is_bad("stamp-fail")) return call->host->fail(call->ctx, TN_ERR_IO, "its list is lost");
  *out_verdict = is_bad("stamp-optimal") ? TN_VERDICT_OPTIMAL
                 : is_bad("stamp-runs")  ? TN_VERDICT_RUNS
                 : is_bad("stamp-no")    ? TN_VERDICT_NO
                 : is_bad("stamp-77")    ? 77
                                         : TN_VERDICT_RECOMPILE;
  return TN_OK;
}

static void release(const tn_accelerator_call *call, const tn_module *module) {
  (void)call, (void)module;
  if (is_bad("release")) abort();
}

/* ---- the dispatcher ---- */

static tn_status open(const tn_accelerator_call *call, void **out_device) {
  *out_device = NULL;
  if (is_bad("open-status")) return 7;
  if (is_bad("open"))
    return call->host->fail(call->ctx, TN_ERR_NOT_FOUND, "libbad.so.1 cannot be loaded");
  return TN_OK;
}

static void close_device(const tn_accelerator_call *call, void *device) {
  (void)call, (void)device;
}

static const char *stamp(const tn_accelerator_call *call, void *device) {
  (void)call, (void)device;
  return "new";
}

static tn_status load(const tn_accelerator_call *call, void *device, const tn_module *module,
                      void **out_program) {
  if (is_bad("load-crash")) raise(SIGSEGV);
  (void)device, (void)module;
  *out_program = NULL;
  if (is_bad("load")) return call->host->fail(call->ctx, TN_ERR_MEMORY, "no room for 10 bytes");
  return TN_OK;
}

static void unload(const tn_accelerator_call *call, void *program) {
  (void)call, (void)program;
  if (is_bad("unload-crash")) raise(SIGSEGV);
}

static float *late;
static int64_t n_late;

/* Zeros where the output was, some time after run(). */
static void *write_late(void *unused) {
  usleep(1000);
  memset(late, 0, (size_t)n_late * sizeof *late);
  return unused;
}

/* What a run may do with what it saw in an earlier one, or does after its end. */
static void keep(const float **a, float **y, int64_t n) {
  static const float *first_a;
  static float *first_y;
  pthread_t thread;
  if (!first_a) first_a = *a;
  if (!first_y) first_y = *y;
  if (is_bad("keeps-input")) *a = first_a;
  if (is_bad("keeps-output")) *y = first_y;
  late = *y;
  n_late = n;
  if (is_bad("late") && !pthread_create(&thread, NULL, write_late, NULL)) pthread_detach(thread);
}

/* Sums; the second argument may be repeated. */
static tn_status run(const tn_accelerator_call *call, void *program, uint32_t entry,
                     const tn_tensor *const *inputs, tn_tensor *const *outputs) {
  const float *a = inputs[0]->data, *b = inputs[1]->data;
  float *y = outputs[0]->data;
  (void)program, (void)entry;
  if (is_bad("run-crash")) raise(SIGSEGV);
  if (is_bad("run-hang")) pause();
  if (is_bad("short")) return TN_OK;
  if (is_bad("nan")) y[0] = NAN;
  if (is_bad("nan")) return TN_OK;
  if (is_bad("behind")) y[tn_elements(outputs[0])] = 1;
  if (is_bad("input")) ((float *)(uintptr_t)a)[0] = 9;
  if (is_bad("leak")) call->host->alloc(call->ctx, 100);
  if (is_bad("run")) return call->host->fail(call->ctx, TN_ERR_IO, "the device is gone");
  keep(&a, &y, tn_elements(outputs[0]));
  for (int64_t k = 0; k < tn_elements(outputs[0]) / (is_bad("half") ? 2 : 1); k++)
    y[k] = a[k] + b[k % tn_elements(inputs[1])] + (is_bad("wrong") ? 1 : 0);
  if (is_bad("tensor")) outputs[0]->rank = TN_MAX_RANK;
  return TN_OK;
}

/* In halves: what was started is not looked at before it is waited for. */
static const tn_tensor *const *started_inputs;
static tn_tensor *const *started_outputs;

static tn_status start(const tn_accelerator_call *call, void *program, uint32_t entry,
                       const tn_tensor *const *inputs, tn_tensor *const *outputs) {
  (void)program, (void)entry;
  if (is_bad("halves-start")) return call->host->fail(call->ctx, TN_ERR_IO, "it is busy");
  if (is_bad("halves-start-crash")) raise(SIGSEGV);
  started_inputs = inputs;
  started_outputs = outputs;
  return TN_OK;
}

static tn_status wait(const tn_accelerator_call *call, void *program, uint32_t entry) {
  if (is_bad("halves-wait")) return call->host->fail(call->ctx, TN_ERR_IO, "it has fallen asleep");
  if (is_bad("halves-wait-crash")) raise(SIGSEGV);
  if (is_bad("halves-wait-hang")) pause();
  if (is_bad("halves-late")) return TN_OK;
  return run(call, program, entry, started_inputs, started_outputs);
}

static tn_status port(const tn_accelerator_call *call, void *program, uint32_t entry,
                      uint32_t index, tn_port_memory *out) {
  (void)call, (void)program, (void)entry, (void)index;
  const char *bad = getenv("BAD");
  if (is_bad("short") || is_bad("half") || is_bad("late") || is_bad("behind") || is_bad("input") ||
      is_bad("tensor") || (bad && (!strncmp(bad, "halves", 6) || !strncmp(bad, "keeps", 5))))
    return TN_OK; /* no copy */
  out->alignment = is_bad("port") ? 48 : 4096;
  out->bytes = 100;
  return TN_OK;
}

TN_TABLE(tn_target, npu, .name = "bad-npu", .hardware = "npu", .sdk = "1.0");
TN_LIST(const tn_target *, targets, &npu);
TN_TABLE(tn_compiler, bad_compiler, .name = "bad", .vendor = "Bad", .format = "bad",
         TN_SET(targets, targets), .compatible = compatible, .partition = partition,
         .compile = compile, .release = release);
TN_TABLE(tn_dispatcher, bad_dispatcher, .name = "bad", .vendor = "Bad", .format = "bad",
         .open = open, .close = close_device, .load = load, .unload = unload, .port = port,
         .run = run, .stamp = stamp, .start = start, .wait = wait);
TN_LIST(const tn_compiler *, compilers, &bad_compiler);
TN_LIST(const tn_dispatcher *, dispatchers, &bad_dispatcher);
TN_PLUGIN(.name = "bad", TN_SET(compilers, compilers), TN_SET(dispatchers, dispatchers));
