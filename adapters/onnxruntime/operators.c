/* Operators of plug-ins of Tenon as custom operators of ONNX Runtime, which refuses models with
 * operators that nobody has registered. The provider claims their nodes; a node that it leaves
 * is an error, as no other provider has it.
 *
 *   options.add_provider_for_devices(devices, {"plugins": path})
 *   options.register_custom_ops_library(this library)
 *
 * What each operator takes is left open: Tenon looks at it when the provider is asked. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ort.h"

enum { ANY_TYPE = 0, VARIADIC = 2, MEMORY_DEFAULT = 0, OP_VERSION = 16 };

/* As published for version 16 of the API; the host calls nothing that came later. */
typedef struct ort_op ort_op;
struct ort_op {
  uint32_t version;
  ort_function create;
  const char *(*name)(const ort_op *);
  const char *(*provider)(const ort_op *);
  int (*input_type)(const ort_op *, size_t);
  size_t (*n_inputs)(const ort_op *);
  int (*output_type)(const ort_op *, size_t);
  size_t (*n_outputs)(const ort_op *);
  ort_function compute, destroy;
  int (*input_kind)(const ort_op *, size_t);
  int (*output_kind)(const ort_op *, size_t);
  int (*input_memory)(const ort_op *, size_t);
  int (*min_inputs)(const ort_op *);
  int (*same_inputs)(const ort_op *);
  int (*min_outputs)(const ort_op *);
  int (*same_outputs)(const ort_op *);
  ort_status *(*create_v2)(const ort_op *, ort_table, const void *info, void **out_kernel);
  ort_status *(*compute_v2)(void *kernel, ort_context *);
};

typedef struct custom_op {
  ort_op head;
  const tn_op *op;
  void *domain; /* the host's */
} custom_op;

/* The operators of some plug-ins; sessions keep pointers to them, so they stay. */
typedef struct operators {
  struct operators *next;
  char plugins[PROVIDER_PLUGINS_BYTES];
  tn_runtime *runtime;
  custom_op *ops;
  uint32_t n;
} operators;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static operators *all;

static const char *op_name(const ort_op *o) {
  return ((const custom_op *)(const void *)o)->op->name;
}

static const char *no_provider(const ort_op *o) {
  (void)o;
  return NULL;
}

static int answer_any(const ort_op *o, size_t k) {
  (void)o, (void)k;
  return ANY_TYPE;
}

static int answer_variadic(const ort_op *o, size_t k) {
  (void)o, (void)k;
  return VARIADIC;
}

static int answer_memory(const ort_op *o, size_t k) {
  (void)o, (void)k;
  return MEMORY_DEFAULT;
}

static size_t one(const ort_op *o) {
  (void)o;
  return 1;
}

static int at_least_none(const ort_op *o) {
  (void)o;
  return 0;
}

static int at_least_one(const ort_op *o) {
  (void)o;
  return 1;
}

static ort_status *refuse_kernel(const ort_op *o, ort_table api, const void *info, void **kernel) {
  const tn_op *op = ((const custom_op *)(const void *)o)->op;
  (void)info;
  *kernel = NULL;
  return provider_fail(api,
                       "Tenon: %s::%s is computed by TenonExecutionProvider, which the session "
                       "does not have, or which did not take the node (it warns why)",
                       op->domain, op->name);
}

static ort_status *refuse_run(void *kernel, ort_context *context) {
  (void)kernel, (void)context;
  return NULL;
}

static void nothing(void) {}

static const ort_op template = {.version = OP_VERSION,
                                .create = nothing,
                                .name = op_name,
                                .provider = no_provider,
                                .input_type = answer_any,
                                .n_inputs = one,
                                .output_type = answer_any,
                                .n_outputs = one,
                                .compute = nothing,
                                .destroy = nothing,
                                .input_kind = answer_variadic,
                                .output_kind = answer_variadic,
                                .input_memory = answer_memory,
                                .min_inputs = at_least_none,
                                .same_inputs = at_least_none,
                                .min_outputs = at_least_one,
                                .same_outputs = at_least_none,
                                .create_v2 = refuse_kernel,
                                .compute_v2 = refuse_run};

/* ONNX Runtime has the operators of these domains itself, or refuses others in them. */
static bool is_of_host(const char *domain) {
  static const char *const own[] = {"", "ai.onnx", "ai.onnx.ml", "com.microsoft"};
  for (size_t k = 0; k < sizeof own / sizeof *own; k++)
    if (!strcmp(domain, own[k])) return true;
  return false;
}

/* The newest version of each operator: they are sorted by domain, name and version. */
static bool find_ops(operators *o) {
  const int32_t n = tn_runtime_n_ops(o->runtime);
  o->ops = calloc((size_t)n + 1, sizeof *o->ops);
  for (int32_t k = 0; o->ops && k < n; k++) {
    const tn_op *op = tn_runtime_op(o->runtime, k);
    const tn_op *before = o->n ? o->ops[o->n - 1].op : NULL;
    if (is_of_host(op->domain) || !strcmp(tn_runtime_op_plugin(o->runtime, k), "tenon")) continue;
    if (before && !strcmp(before->domain, op->domain) && !strcmp(before->name, op->name)) o->n--;
    o->ops[o->n++] = (custom_op){.head = template, .op = op};
  }
  return o->ops;
}

static ort_status *add_ops(ort_table api, operators *o) {
  ort_status *status = NULL;
  for (uint32_t k = 0; k < o->n && !status; k++) {
    custom_op *c = &o->ops[k];
    if (k && !strcmp(c->op->domain, c[-1].op->domain))
      c->domain = c[-1].domain;
    else
      status =
          ORT_CALL(api, CreateCustomOpDomain, (const char *, void **), c->op->domain, &c->domain);
    if (!status) status = ORT_CALL(api, CustomOpDomain_Add, (void *, const void *), c->domain, c);
  }
  return status;
}

static void drop(operators *o) {
  if (o) tn_runtime_destroy(o->runtime);
  if (o) free(o->ops);
  free(o);
}

/* Under the lock. NULL: *out_failed says why. */
static operators *find(ort_table api, const char *plugins, ort_status **out_failed) {
  for (operators *o = all; o; o = o->next)
    if (!strcmp(o->plugins, plugins)) return o;
  tn_runtime_options options = TN_RUNTIME_OPTIONS_INIT;
  options.n_threads = 1; /* it runs nothing */
  tn_diag *diag = tn_diag_create();
  operators *o = calloc(1, sizeof *o);
  if (o) memcpy(o->plugins, plugins, strlen(plugins));
  tn_status status = o ? provider_runtime(&options, o->plugins, diag, &o->runtime) : TN_ERR_MEMORY;
  if (!status && !find_ops(o)) status = TN_ERR_MEMORY;
  *out_failed = status ? provider_fail(api, "Tenon: %s", diag ? tn_diag_text(diag) : "no memory")
                       : add_ops(api, o);
  tn_diag_destroy(diag);
  if (*out_failed) {
    drop(o);
    return NULL;
  }
  o->next = all;
  return all = o;
}

TN_EXPORT ort_status *RegisterCustomOps(ort_options *options, const ort_api_base *base);

ort_status *RegisterCustomOps(ort_options *options, const ort_api_base *base) {
  char plugins[PROVIDER_PLUGINS_BYTES];
  ort_status *failed = NULL;
  const ort_table api = provider_api(base, &failed);
  if (!api) return failed;
  if (!provider_option(api, options, "plugins", plugins, sizeof plugins))
    return provider_fail(api, "Tenon: option plugins is longer than %zu bytes", sizeof plugins);
  pthread_mutex_lock(&lock);
  const operators *o = find(api, plugins, &failed);
  for (uint32_t k = 0; o && k < o->n && !failed; k++)
    if (!k || o->ops[k].domain != o->ops[k - 1].domain)
      failed = ORT_CALL(api, AddCustomOpDomain, (ort_options *, void *), options, o->ops[k].domain);
  pthread_mutex_unlock(&lock);
  return failed;
}
