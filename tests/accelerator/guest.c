/* A vendor's library for LiteRT that is none: compiler and dispatch in one, in the C interface that
 * the plug-in litert declares. It adds and multiplies f32 of one shape, or by a single element, and
 * does what the variable BAD says. Its byte code trusts itself. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../plugins/litert/guest.h"

#define EXPORT __attribute__((visibility("default")))

enum { ADD = 0, MUL = 18, F32 = 1, MAX_PORTS = 16, MAX_CODES = 8 };

static int is_bad(const char *how) {
  const char *bad = getenv("BAD");
  return bad && !strcmp(bad, how);
}

static void misbehave(const char *where) {
  char how[40];
  snprintf(how, sizeof how, "%s-crash", where);
  if (is_bad(how)) raise(SIGSEGV);
  snprintf(how, sizeof how, "%s-exit", where);
  if (is_bad(how)) exit(0);
  snprintf(how, sizeof how, "%s-hang", where);
  while (is_bad(how)) pause();
}

/* ---- what the host serves ---- */

typedef struct compiler {
  const guest_compiler_table *t;
} compiler;

static size_t count(const compiler *c, int service, void *of) {
  size_t n = 0;
  return ((int (*)(void *, size_t *))c->t->serve[service])(of, &n) ? 0 : n;
}

static void *pick(const compiler *c, int service, void *of, size_t k) {
  void *x = NULL;
  return ((int (*)(void *, size_t, void **))c->t->serve[service])(of, k, &x) ? NULL : x;
}

static int code_of(const compiler *c, void *op) {
  int code = -1;
  (void)((int (*)(void *, int *))c->t->serve[SERVE_OP_CODE])(op, &code);
  return code;
}

static guest_type type_of(const compiler *c, void *tensor) {
  guest_type type = {0};
  (void)((int (*)(void *, guest_type *))c->t->serve[SERVE_TENSOR_TYPE])(tensor, &type);
  return type;
}

static uint32_t index_of(const compiler *c, void *tensor) {
  uint32_t index = 0;
  (void)((int (*)(void *, uint32_t *))c->t->serve[SERVE_TENSOR_INDEX])(tensor, &index);
  return index;
}

static size_t elements(const guest_type *t) {
  size_t n = 1;
  for (uint32_t k = 0; k < t->layout.rank; k++) n *= (size_t)t->layout.dims[k];
  return n;
}

static const void *weights(const compiler *c, void *tensor) {
  void *w = NULL;
  const void *data = NULL;
  size_t size = 0;
  (void)((int (*)(void *, void **))c->t->serve[SERVE_TENSOR_WEIGHTS])(tensor, &w);
  (void)((int (*)(void *, const void **, size_t *))c->t->serve[SERVE_WEIGHTS_BYTES])(w, &data,
                                                                                     &size);
  return size ? data : NULL;
}

/* ---- the compiler ---- */

EXPORT int LiteRtGetCompilerPluginVersion(guest_version *out) {
  *out = (guest_version){0, is_bad("version") ? 7 : 1, 0};
  return GUEST_OK;
}

EXPORT const char *LiteRtGetCompilerPluginSocManufacturer(void) { return "Nobody"; }

EXPORT int LiteRtCreateCompilerPlugin(const guest_compiler_table *t, void **out, void *env,
                                      void *options) {
  compiler *c = malloc(sizeof *c);
  (void)env, (void)options;
  if (!c || is_bad("create")) return GUEST_FAILED;
  c->t = t;
  *out = c;
  return GUEST_OK;
}

EXPORT void LiteRtDestroyCompilerPlugin(void *c) { free(c); }

EXPORT int LiteRtGetNumCompilerPluginSupportedSocModels(void *c, size_t *out) {
  (void)c;
  *out = 0;
  return GUEST_OK;
}

EXPORT int LiteRtGetCompilerPluginSupportedSocModel(void *c, size_t k, const char **out) {
  (void)c, (void)k, (void)out;
  return GUEST_BAD_INDEX;
}

EXPORT int LiteRtCompilerPluginPartition(void *self, const char *soc, void *graph, void *list) {
  const compiler *c = self;
  (void)soc;
  misbehave("partition");
  if (is_bad("partition")) return GUEST_UNSUPPORTED;
  for (size_t k = 0; k < count(c, SERVE_GRAPH_N_OPS, graph); k++) {
    void *op = pick(c, SERVE_GRAPH_OP, graph, k), *y = pick(c, SERVE_OP_OUTPUT, op, 0);
    const guest_type type = type_of(c, y);
    if ((code_of(c, op) != ADD && code_of(c, op) != MUL) || type.element != F32) continue;
    if (((int (*)(void *, void *, size_t))c->t->serve[SERVE_PUSH_OP])(list, op, 0)) return 1;
  }
  return GUEST_OK;
}

typedef struct bytes {
  uint32_t words[1 << 16];
  size_t n;
} bytes;

typedef struct result {
  bytes *codes[MAX_CODES];
  size_t n;
} result;

static void put(bytes *b, uint32_t word) { b->words[b->n++] = word; }

static void put_tensor(bytes *b, const compiler *c, void *tensor) {
  const guest_type type = type_of(c, tensor);
  const size_t n = elements(&type);
  const void *data = weights(c, tensor);
  put(b, index_of(c, tensor));
  put(b, (uint32_t)n);
  put(b, data != NULL);
  if (data) memcpy(b->words + b->n, data, n * sizeof(float));
  b->n += data ? n : 0;
}

/* Ports of the graph, then for each operator its code and three tensors. */
static void put_graph(bytes *b, const compiler *c, void *graph) {
  const size_t n_in = count(c, SERVE_GRAPH_N_INPUTS, graph),
               n_out = count(c, SERVE_GRAPH_N_OUTPUTS, graph),
               n_ops = count(c, SERVE_GRAPH_N_OPS, graph);
  put(b, (uint32_t)n_in);
  put(b, (uint32_t)n_out);
  put(b, (uint32_t)n_ops);
  for (size_t k = 0; k < n_in; k++) put(b, index_of(c, pick(c, SERVE_GRAPH_INPUT, graph, k)));
  for (size_t k = 0; k < n_out; k++) put(b, index_of(c, pick(c, SERVE_GRAPH_OUTPUT, graph, k)));
  for (size_t k = 0; k < n_ops; k++) {
    void *op = pick(c, SERVE_GRAPH_OP, graph, k);
    put(b, (uint32_t)code_of(c, op));
    put_tensor(b, c, pick(c, SERVE_OP_INPUT, op, 0));
    put_tensor(b, c, pick(c, SERVE_OP_INPUT, op, 1));
    put_tensor(b, c, pick(c, SERVE_OP_OUTPUT, op, 0));
  }
}

EXPORT int LiteRtCompilerPluginCompile(void *self, const char *soc, void *model, void **out) {
  const compiler *c = self;
  (void)soc;
  misbehave("compile");
  if (is_bad("compile")) return 504;
  if (is_bad("nothing")) return GUEST_OK;
  result *r = calloc(1, sizeof *r);
  r->n = count(c, SERVE_MODEL_N_GRAPHS, model);
  for (size_t k = 0; k < r->n && k < MAX_CODES; k++) {
    r->codes[k] = calloc(1, sizeof *r->codes[k]);
    put_graph(r->codes[k], c, pick(c, SERVE_MODEL_GRAPH, model, k));
  }
  *out = r;
  return GUEST_OK;
}

EXPORT void LiteRtDestroyCompiledResult(void *self) {
  result *r = self;
  for (size_t k = 0; k < r->n; k++) free(r->codes[k]);
  free(r);
}

EXPORT int LiteRtCompiledResultNumByteCodeModules(void *self, size_t *out) {
  *out = is_bad("codes") ? SIZE_MAX : ((result *)self)->n;
  return GUEST_OK;
}

EXPORT int LiteRtGetCompiledResultByteCode(void *self, size_t k, const void **out, size_t *size) {
  const bytes *b = ((result *)self)->codes[k];
  *out = b->words;
  *size = is_bad("empty") ? 0 : b->n * sizeof *b->words;
  return GUEST_OK;
}

EXPORT int LiteRtGetNumCompiledResultCalls(void *self, size_t *out) {
  *out = ((result *)self)->n + (is_bad("calls") ? 3 : 0);
  return GUEST_OK;
}

EXPORT int LiteRtGetCompiledResultCallInfo(void *self, size_t k, const void **info, size_t *size,
                                           size_t *code) {
  (void)self;
  *info = "run";
  *size = is_bad("name") ? SIZE_MAX : 3;
  *code = is_bad("code") ? 77 : k;
  return GUEST_OK;
}

/* ---- the dispatch library ---- */

typedef struct call {
  const uint32_t *code;
  void *ports[MAX_PORTS]; /* buffers */
} call;

static const guest_runtime_table *runtime;

static int initialize(const guest_runtime_table *t, void *env, void *options) {
  (void)env, (void)options;
  runtime = t;
  return is_bad("initialize") ? 502 : GUEST_OK;
}

static int build(const char **out) {
  *out = "7";
  return GUEST_OK;
}

static int device_new(const guest_runtime_table *t, void *options, void **out) {
  (void)t, (void)options;
  *out = malloc(1);
  return GUEST_OK;
}

static int device_free(void *device) {
  free(device);
  return GUEST_OK;
}

static int needs(void *c, int index, const guest_type *type, void **out) {
  const int32_t kinds[] = {is_bad("kind") ? 2 : 3, getenv("OWN") ? 100 : GUEST_HOST_MEMORY};
  (void)c, (void)index;
  if (is_bad("no-needs")) return GUEST_OK;
  return ((int (*)(int, const int32_t *, size_t, int, const uint32_t *,
                   void **))runtime->serve[SERVE_NEW_REQUIREMENTS])(
      is_bad("kind") ? 1 : 2, kinds, elements(type) * sizeof(float), 0, NULL, out);
}

static int buffer_add(void *device, void *buffer, uint64_t *out) {
  (void)device;
  *out = (uint64_t)(uintptr_t)buffer;
  return is_bad("buffer") ? GUEST_FAILED : GUEST_OK;
}

static int buffer_remove(void *device, uint64_t handle) {
  (void)device, (void)handle;
  return GUEST_OK;
}

static int call_new(const guest_runtime_table *t, void *device, int kind, const guest_code *code,
                    const char *function, int n_inputs, int n_outputs, void **out) {
  call *c = calloc(1, sizeof *c);
  (void)t, (void)device, (void)n_inputs, (void)n_outputs;
  c->code = code->base;
  *out = c;
  return kind == GUEST_CODE_MODEL && !strcmp(function, "run") && !is_bad("load") ? GUEST_OK
                                                                                 : GUEST_FAILED;
}

static int call_free(void *c) {
  free(c);
  return GUEST_OK;
}

static int attach_input(void *c, int index, uint64_t handle) {
  ((call *)c)->ports[index] = (void *)(uintptr_t)handle;
  return GUEST_OK;
}

static int attach_output(void *c, int index, uint64_t handle) {
  return attach_input(c, index + (int)((call *)c)->code[0], handle);
}

static int detach(void *c, int index, uint64_t handle) {
  (void)c, (void)index, (void)handle;
  return GUEST_OK;
}

static float *memory_of(void *buffer) {
  const int service = getenv("OWN") ? SERVE_BUFFER_CUSTOM_HANDLE : SERVE_BUFFER_HOST_MEMORY;
  void *memory = NULL;
  (void)((int (*)(void *, void **))runtime->serve[service])(buffer, &memory);
  return memory;
}

enum { MAX_TENSORS = 64, MAX_ELEMENTS = 4096 };

/* A tensor as the code has it: its memory, and how many elements. */
static const uint32_t *read_tensor(const uint32_t *at, float **memory, float **out, size_t *n) {
  *n = at[1];
  *out = at[2] ? (float *)(uintptr_t)(at + 3) : memory[at[0]];
  return at + 3 + (at[2] ? at[1] : 0);
}

static int invoke(void *self) {
  static float scratch[MAX_TENSORS][MAX_ELEMENTS];
  const call *c = self;
  const uint32_t n_in = c->code[0], n_out = c->code[1], n_ops = c->code[2], *at = c->code + 3;
  float *memory[MAX_TENSORS];
  misbehave("invoke");
  if (is_bad("invoke")) return GUEST_FAILED;
  for (int k = 0; k < MAX_TENSORS; k++) memory[k] = scratch[k];
  for (uint32_t k = 0; k < n_in + n_out; k++) memory[*at++] = memory_of(c->ports[k]);
  for (uint32_t k = 0; k < n_ops; k++) {
    const uint32_t code = *at++;
    float *a, *b, *y;
    size_t n_a, n_b, n;
    at = read_tensor(at, memory, &a, &n_a);
    at = read_tensor(at, memory, &b, &n_b);
    at = read_tensor(at, memory, &y, &n);
    for (size_t i = 0; i < n; i++) {
      const float p = a[n_a == 1 ? 0 : i % n_a], q = b[n_b == 1 ? 0 : i % n_b];
      y[i] = (code == ADD ? p + q : p * q) + (is_bad("wrong") ? 1 : 0);
    }
  }
  return GUEST_OK;
}

static int own_create(void *device, void *queue, const guest_type *type, int kind, size_t size,
                      size_t packed, guest_memory **out) {
  (void)device, (void)queue, (void)type, (void)kind, (void)packed;
  *out = calloc(1, sizeof **out);
  (*out)->handle = malloc(size);
  return GUEST_OK;
}

static int own_destroy(guest_memory *m) {
  free(m->handle);
  free(m);
  return GUEST_OK;
}

static int own_lock(guest_memory *m, int mode, void **out) {
  (void)mode;
  *out = is_bad("lock") ? NULL : m->handle;
  return GUEST_OK;
}

static int own_unlock(guest_memory *m) {
  (void)m;
  return GUEST_OK;
}

static const guest_dispatch_table table = {.initialize = initialize,
                                           .build = build,
                                           .device_new = device_new,
                                           .device_free = device_free,
                                           .input_needs = needs,
                                           .output_needs = needs,
                                           .buffer_add = buffer_add,
                                           .buffer_remove = buffer_remove,
                                           .call_new = call_new,
                                           .call_free = call_free,
                                           .attach_input = attach_input,
                                           .attach_output = attach_output,
                                           .detach_input = detach,
                                           .detach_output = detach,
                                           .invoke = invoke};
static const guest_dispatch_table hollow = {.initialize = initialize};
static const guest_memory_table own = {.create = own_create,
                                       .destroy = own_destroy,
                                       .lock = own_lock,
                                       .unlock = own_unlock,
                                       .n_kinds = 1,
                                       .kinds = {100}};

EXPORT int LiteRtDispatchGetApi(guest_dispatch *out) {
  *out = (guest_dispatch){.version = {is_bad("dispatch-version"), 1, 0},
                          .table = is_bad("hollow") ? &hollow : &table,
                          .memory = &own};
  return is_bad("api") ? GUEST_FAILED : GUEST_OK;
}
