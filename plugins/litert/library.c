/* Finding guests and opening their libraries. TENON_LITERT names the folder that holds a folder for
 * each vendor, as the package ai-edge-litert has it: vendors/. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "litert.h"

static const lrt_guest guests[] = {{"litert-intel-cpu", "intel_openvino", "IntelOpenvino", 0},
                                   {"litert-intel-gpu", "intel_openvino", "IntelOpenvino", 1},
                                   {"litert-intel-npu", "intel_openvino", "IntelOpenvino", 2},
                                   {"litert-qualcomm", "qualcomm", "Qualcomm", -1},
                                   {"litert-mediatek", "mediatek", "MediaTek", -1},
                                   {"litert-google-tensor", "google_tensor", "google_tensor", -1},
                                   {"litert-samsung", "samsung", "Samsung", -1},
                                   {"litert-guest", NULL, NULL, -1}};

const lrt_guest *lrt_guest_find(const tn_accelerator_call *call) {
  for (size_t k = 0; k < sizeof guests / sizeof *guests; k++)
    if (!strcmp(guests[k].target, call->target->name)) return &guests[k];
  (void)call->host->fail(call->ctx, TN_ERR_NOT_FOUND, "there is no such guest");
  return NULL;
}

const char *lrt_guest_soc(void) {
  const char *soc = secure_getenv("TENON_LITERT_SOC");
  return soc && *soc ? soc : NULL;
}

tn_status lrt_guest_options(const lrt_guest *guest, lrt_memory *m, uint32_t n_parts,
                            lrt_options *out) {
  enum { LINE = 64 };
  static const char first[] = "configs_map.INFERENCE_PRECISION_HINT = \"f32\"\n";
  *out = (lrt_options){.log_level = GUEST_LOG_ERRORS};
  if (guest->backend < 0) return TN_OK;
  char *text = (char *)lrt_alloc(m, sizeof first + (uint64_t)n_parts * LINE);
  if (!text) return TN_ERR_MEMORY;
  int n = snprintf(text, sizeof first, "%s", guest->backend == 2 ? "" : first);
  for (uint32_t k = 0; k < n_parts; k++)
    n += snprintf(text + n, LINE, "graph.%u.graph_backend = %d\n", k, guest->backend);
  out->name = guest->vendor;
  out->text = text;
  return TN_OK;
}

/* ---- libraries ---- */

/* It stays: its threads and what it has registered with the process cannot be taken back. */
static void *open_library(const tn_accelerator_call *call, const lrt_guest *guest, const char *kind,
                          const char *word, const char *variable, char *path, size_t size) {
  const char *folder = secure_getenv("TENON_LITERT"), *named = secure_getenv(variable);
  if (guest->vendor ? !folder || !*folder : !named || !*named) {
    (void)call->host->fail(call->ctx, TN_ERR_NOT_FOUND, "%s does not name %s",
                           guest->vendor ? "TENON_LITERT" : variable,
                           guest->vendor ? "the folder of LiteRT's vendors" : "a library");
    return NULL;
  }
  if (guest->vendor)
    snprintf(path, size, "%s/%s/%s/libLiteRt%s_%s.so", folder, guest->vendor, kind, word,
             guest->library);
  else
    snprintf(path, size, "%s", named);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library) return library;
  const char *why = dlerror();
  (void)call->host->fail(call->ctx, TN_ERR_NOT_FOUND, "%s cannot be loaded: %s", path,
                         why ? why : "");
  return NULL;
}

static tn_status check_version(const tn_accelerator_call *call, const char *path,
                               const guest_version *v) {
  if (v->major == GUEST_MAJOR && v->minor == GUEST_MINOR) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                          "%s is for version %d.%d of LiteRT's interface, known is %d.%d", path,
                          v->major, v->minor, GUEST_MAJOR, GUEST_MINOR);
}

static tn_status no_function(const tn_accelerator_call *call, const char *path, const char *name) {
  return call->host->fail(call->ctx, TN_ERR_NOT_FOUND, "%s has no LiteRt%s", path, name);
}

tn_status lrt_compiler_open(const tn_accelerator_call *call, const lrt_guest *guest,
                            guest_compiler *out) {
#define GUEST_NAME(name, result, arguments) {#name, offsetof(guest_compiler, name)},
  static const struct {
    const char *name;
    size_t offset;
  } functions[] = {GUEST_COMPILER_FUNCTIONS(GUEST_NAME)};
#undef GUEST_NAME
  char path[1000], name[80];
  guest_version version = {-1, -1, -1};
  void *library = open_library(call, guest, "compiler", "CompilerPlugin", "TENON_LITERT_COMPILER",
                               path, sizeof path);
  if (!library) return TN_ERR_NOT_FOUND;
  for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
    snprintf(name, sizeof name, "LiteRt%s", functions[k].name);
    void *symbol = dlsym(library, name);
    if (!symbol) return no_function(call, path, functions[k].name);
    memcpy((char *)out + functions[k].offset, &symbol, sizeof symbol);
  }
  const tn_status s = lrt_check(call, out->GetCompilerPluginVersion(&version), "its version");
  return s ? s : check_version(call, path, &version);
}

/* Which file it is: modules of another are not loaded. */
static tn_status stamp_of(const tn_accelerator_call *call, const char *path,
                          const guest_dispatch *d, char *stamp) {
  uint8_t bytes[4096];
  uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
  const char *build = NULL;
  FILE *file = fopen(path, "rb");
  if (!file) return call->host->fail(call->ctx, TN_ERR_IO, "%s cannot be read", path);
  for (size_t n; (n = fread(bytes, 1, sizeof bytes, file)) > 0;)
    for (size_t k = 0; k < n; k++) hash = (hash ^ bytes[k]) * UINT64_C(1099511628211);
  fclose(file);
  if (!d->table->build || d->table->build(&build)) build = NULL;
  snprintf(stamp, LRT_STAMP, "litert %d.%d.%d, build %.60s, %016llx", d->version.major,
           d->version.minor, d->version.patch, build ? build : "", (unsigned long long)hash);
  return TN_OK;
}

static int is_whole(const guest_dispatch_table *t) {
  return t && t->initialize && t->device_new && t->device_free && t->input_needs &&
         t->output_needs && t->buffer_add && t->buffer_remove && t->call_new && t->call_free &&
         t->attach_input && t->attach_output && t->detach_input && t->detach_output && t->invoke;
}

tn_status lrt_dispatch_open(const tn_accelerator_call *call, const lrt_guest *guest,
                            guest_dispatch *out, char *stamp) {
  char path[1000];
  int (*get)(guest_dispatch *) = NULL;
  void *library =
      open_library(call, guest, "dispatch", "Dispatch", "TENON_LITERT_DISPATCH", path, sizeof path);
  if (!library) return TN_ERR_NOT_FOUND;
  void *symbol = dlsym(library, "LiteRtDispatchGetApi");
  if (!symbol) return no_function(call, path, "DispatchGetApi");
  memcpy(&get, &symbol, sizeof symbol);
  *out = (guest_dispatch){.table = NULL};
  tn_status s = lrt_check(call, get(out), "LiteRtDispatchGetApi");
  if (!s) s = check_version(call, path, &out->version);
  if (!s && !is_whole(out->table))
    s = call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "%s leaves out functions that run models",
                         path);
  return s ? s : stamp_of(call, path, out, stamp);
}

/* ---- answers ---- */

tn_status lrt_check(const tn_accelerator_call *call, int answer, const char *what) {
  static const struct {
    int code;
    const char *text;
  } words[] = {{GUEST_INVALID, "invalid argument"},
               {GUEST_NO_MEMORY, "no memory"},
               {GUEST_FAILED, "failure at run time"},
               {4, "an input is missing"},
               {GUEST_UNSUPPORTED, "not supported"},
               {GUEST_NOT_FOUND, "not found"},
               {7, "timed out"},
               {8, "wrong version"},
               {500, "file error"},
               {502, "a library cannot be loaded"},
               {504, "compilation failed"},
               {GUEST_BAD_INDEX, "index out of range"}};
  const char *text = "unknown";
  if (answer == GUEST_OK) return TN_OK;
  for (size_t k = 0; k < sizeof words / sizeof *words; k++)
    if (words[k].code == answer) text = words[k].text;
  return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "the guest's %s answers %d: %s", what,
                          answer, text);
}
