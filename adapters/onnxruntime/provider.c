/* Tenon as an execution provider of ONNX Runtime: what the host asks a library for. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort.h"

typedef struct factory {
  ort_factory head;
  ort_table api, ep_api;
  bool lends_shapes;
} factory;

static const char name[] = "TenonExecutionProvider";

/* No ORT_EP_FAIL: on that, ONNX Runtime in Python goes on without the provider, and says
 * nothing. */
ort_status *provider_fail(ort_table api, const char *format, ...) {
  char text[1000];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return ((ort_status * (*)(int, const char *)) api[ORT_CreateStatus])(ORT_FAIL, text);
}

bool provider_failed(ort_table api, ort_status *status, char *buf, size_t size) {
  if (!status) return false;
  const char *text = ((const char *(*)(const ort_status *))api[ORT_GetErrorMessage])(status);
  snprintf(buf, size, "%s", text ? text : "ONNX Runtime gives no reason");
  ((void (*)(ort_status *))api[ORT_ReleaseStatus])(status);
  return true;
}

/* ---- the provider of a session ---- */

static const char *ep_name(const ort_ep *ep) {
  (void)ep;
  return name;
}

static ort_status *capability(ort_ep *ep, const ort_graph *graph, ort_support *support) {
  return provider_claim((const provider *)ep, graph, support);
}

static void release_computes(ort_ep *ep, ort_compute **computes, size_t n) {
  (void)ep;
  for (size_t k = 0; k < n; k++) {
    provider_compute_free(computes[k]);
    computes[k] = NULL;
  }
}

static ort_status *compile(ort_ep *ep, const ort_graph **graphs, const ort_node **fused, size_t n,
                           ort_compute **computes, ort_node **context_nodes) {
  const provider *p = (const provider *)ep;
  char why[800] = "no memory";
  (void)context_nodes;
  for (size_t k = 0; k < n; k++) {
    tn_model *model = provider_model(p, graphs[k], why, sizeof why);
    computes[k] = model ? provider_compute_take(p, model, fused[k], why, sizeof why) : NULL;
    if (computes[k]) continue;
    release_computes(ep, computes, k);
    return provider_fail(p->api, "Tenon: %s", why);
  }
  return NULL;
}

bool provider_option(ort_table api, const ort_options *options, const char *key, char *text,
                     size_t size) {
  char name_of_it[64], why[64];
  const size_t room = size;
  *text = 0;
  snprintf(name_of_it, sizeof name_of_it, "ep.tenonexecutionprovider.%s", key);
  ort_status *status =
      ORT_CALL(api, GetSessionConfigEntry, (const ort_options *, const char *, char *, size_t *),
               options, name_of_it, text, &size);
  if (provider_failed(api, status, why, sizeof why)) *text = 0;
  return size <= room;
}

/* 0, or not set: as many as there are cores. False: no number. */
static bool option_threads(ort_table api, const ort_options *options, int32_t *out) {
  char text[32], *end;
  if (!provider_option(api, options, "threads", text, sizeof text)) return false;
  const long n = strtol(text, &end, 10);
  *out = (int32_t)n;
  return !*text || (end != text && !*end && n >= 0 && n <= 1024);
}

tn_status provider_runtime(const tn_runtime_options *options, const char *plugins, tn_diag *diag,
                           tn_runtime **out) {
  char text[PROVIDER_PLUGINS_BYTES], *rest = text, *path;
  snprintf(text, sizeof text, "%s", plugins);
  tn_status status = tn_runtime_create(options, diag, out);
  while (!status && (path = strtok_r(rest, ":", &rest)))
    status = tn_runtime_load_plugin(*out, path, NULL, 0, diag);
  return status;
}

static ort_status *create(ort_factory *self, const ort_device *const *devices,
                          const ort_pairs *const *metadata, size_t n_devices,
                          const ort_options *options, const ort_logger *logger, ort_ep **out_ep) {
  const factory *f = (const factory *)self;
  tn_runtime_options o = TN_RUNTIME_OPTIONS_INIT;
  char plugins[PROVIDER_PLUGINS_BYTES];
  (void)devices, (void)metadata, (void)n_devices;
  *out_ep = NULL;
  if (!option_threads(f->api, options, &o.n_threads))
    return provider_fail(f->api, "Tenon: option threads is a number from 0 to 1024");
  if (!provider_option(f->api, options, "plugins", plugins, sizeof plugins))
    return provider_fail(f->api, "Tenon: option plugins is longer than %zu bytes", sizeof plugins);
  provider *p = calloc(1, sizeof *p);
  tn_diag *diag = tn_diag_create();
  const tn_status status =
      p && diag ? provider_runtime(&o, plugins, diag, &p->runtime) : TN_ERR_MEMORY;
  ort_status *failed =
      status ? provider_fail(f->api, "Tenon: %s", diag ? tn_diag_text(diag) : "no memory") : NULL;
  tn_diag_destroy(diag);
  if (failed) {
    if (p) tn_runtime_destroy(p->runtime);
    free(p);
    return failed;
  }
  p->ep = (ort_ep){.version = ORT_VERSION,
                   .name = ep_name,
                   .capability = capability,
                   .compile = compile,
                   .release_computes = release_computes};
  p->api = f->api, p->ep_api = f->ep_api, p->logger = logger;
  p->lends_shapes = f->lends_shapes;
  *out_ep = &p->ep;
  return NULL;
}

static void release(ort_factory *self, ort_ep *ep) {
  (void)self;
  if (ep) tn_runtime_destroy(((provider *)ep)->runtime);
  free(ep);
}

/* ---- the library ---- */

static const char *factory_name(const ort_factory *f) {
  (void)f;
  return name;
}

static const char *vendor(const ort_factory *f) {
  (void)f;
  return "Tenon";
}

static uint32_t vendor_id(const ort_factory *f) {
  (void)f;
  return 0;
}

static const char *own_version(const ort_factory *f) {
  (void)f;
  return tn_version();
}

static ort_status *find_devices(ort_factory *self, const ort_device *const *devices, size_t n,
                                ort_ep_device **out, size_t most, size_t *out_n) {
  const factory *f = (const factory *)self;
  *out_n = 0;
  for (size_t k = 0; k < n && *out_n < most; k++) {
    const int type = ((int (*)(const ort_device *))f->api[ORT_HardwareDevice_Type])(devices[k]);
    if (type != ORT_HARDWARE_CPU) continue;
    ort_status *status =
        ((ort_status * (*)(ort_factory *, const ort_device *, const ort_pairs *, const ort_pairs *,
                           ort_ep_device **)) f->ep_api[ORT_EP_CreateEpDevice])(
            self, devices[k], NULL, NULL, &out[*out_n]);
    if (status) return status;
    ++*out_n;
  }
  return NULL;
}

/* The host's memory will do. */
static ort_status *create_allocator(ort_factory *f, const void *info, const ort_pairs *options,
                                    void **out) {
  (void)f, (void)info, (void)options;
  *out = NULL;
  return NULL;
}

static void release_allocator(ort_factory *f, void *allocator) { (void)f, (void)allocator; }

static ort_status *create_transfer(ort_factory *f, void **out) {
  (void)f;
  *out = NULL;
  return NULL;
}

static bool has_streams(const ort_factory *f) {
  (void)f;
  return false;
}

/* Are the first places what they are thought to be? A status comes back with its text. */
static bool is_as_declared(ort_table api) {
  char text[64] = "";
  static const char probe[] = "a probe of Tenon's";
  return provider_failed(api, provider_fail(api, probe), text, sizeof text) && !strcmp(text, probe);
}

ort_table provider_api(const ort_api_base *base, ort_status **out_failed) {
  const ort_table api = base->get_api(ORT_VERSION), first = base->get_api(1);
  *out_failed = NULL;
  if (!api && first) /* before 1.23: the first version's table has a status, too */
    *out_failed =
        provider_fail(first, "Tenon needs ONNX Runtime 1.23; this is %s", base->version());
  if (!api || is_as_declared(api)) return api;
  *out_failed = provider_fail(
      api, "Tenon: the API of ONNX Runtime %s is not the one that is published", base->version());
  return NULL;
}

TN_EXPORT ort_status *CreateEpFactories(const char *registered_name, const ort_api_base *base,
                                        const ort_logger *logger, ort_factory **factories,
                                        size_t most, size_t *out_n);
TN_EXPORT ort_status *ReleaseEpFactory(ort_factory *self);

ort_status *CreateEpFactories(const char *registered_name, const ort_api_base *base,
                              const ort_logger *logger, ort_factory **factories, size_t most,
                              size_t *out_n) {
  (void)registered_name, (void)logger;
  *out_n = 0;
  ort_status *failed = NULL;
  const ort_table api = provider_api(base, &failed);
  if (!api) return failed;
  if (!most) return provider_fail(api, "Tenon: there is no room for a factory");
  factory *f = calloc(1, sizeof *f);
  if (!f) return provider_fail(api, "Tenon: no memory");
  f->head = (ort_factory){.version = ORT_VERSION,
                          .name = factory_name,
                          .vendor = vendor,
                          .devices = find_devices,
                          .create = create,
                          .release = release,
                          .vendor_id = vendor_id,
                          .own_version = own_version,
                          .create_allocator = create_allocator,
                          .release_allocator = release_allocator,
                          .create_transfer = create_transfer,
                          .has_streams = has_streams};
  f->api = api;
  f->lends_shapes = base->get_api(24) == api; /* one table, of which it knows more */
  f->ep_api = ((ort_table(*)(void))api[ORT_GetEpApi])();
  factories[0] = &f->head;
  *out_n = 1;
  return NULL;
}

ort_status *ReleaseEpFactory(ort_factory *self) {
  free(self);
  return NULL;
}
