/* Opening ONNX Runtime's library, which TENON_ONNXRUNTIME names. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort.h"

/* The one symbol of the library. */
typedef struct api_base {
  const ort_api *(*get_api)(uint32_t version);
  const char *(*version)(void);
} api_base;

/* It stays: its threads and what it has registered with the process cannot be taken back. */
static const api_base *open_library(const tn_accelerator_call *call) {
  const char *named = secure_getenv("TENON_ONNXRUNTIME");
  const char *const names[] = {named ? named : "libonnxruntime.so.1", "libonnxruntime.so"};
  void *library = NULL;
  for (int k = 0; k < (named ? 1 : 2) && !library; k++)
    library = dlopen(names[k], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    const char *why = dlerror();
    (void)call->host->fail(call->ctx, TN_ERR_NOT_FOUND,
                           "%s cannot be loaded: %s; TENON_ONNXRUNTIME names the library", names[0],
                           why ? why : "");
    return NULL;
  }
  const api_base *(*get)(void);
  void *symbol = dlsym(library, "OrtGetApiBase");
  memcpy(&get, &symbol, sizeof get);
  if (symbol) return get();
  (void)call->host->fail(call->ctx, TN_ERR_NOT_FOUND, "%s has no OrtGetApiBase", names[0]);
  return NULL;
}

tn_status ort_check(const tn_accelerator_call *call, const ort *o, ort_status *status,
                    const char *what) {
  if (!status) return TN_OK;
  (void)call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "%s: %.400s", what,
                         o->api->get_error_message(status));
  o->api->release_status(status);
  return TN_ERR_UNSUPPORTED;
}

static int n_threads(void) {
  const char *text = secure_getenv("TENON_ONNXRUNTIME_THREADS");
  const long n = text ? strtol(text, NULL, 10) : 0; /* 0: as it likes */
  return n > 0 && n < 1024 ? (int)n : 0;
}

/* What it rounds or cuts off for speed by default: sums of products of u8 and i8 are held in 16
 * bits where there is no VNNI, and what is multiplied by weights in blocks becomes 8 bits. */
static tn_status be_exact(const tn_accelerator_call *call, const ort *o) {
  static const char *const entries[][2] = {{"session.x64quantprecision", "1"},
                                           {"session.qdq_matmulnbits_accuracy_level", "1"}};
  tn_status s = TN_OK;
  for (size_t k = 0; k < sizeof entries / sizeof *entries && !s; k++)
    s = ort_check(call, o, o->api->add_config(o->options, entries[k][0], entries[k][1]),
                  "AddSessionConfigEntry");
  return s;
}

tn_status ort_open(const tn_accelerator_call *call, ort *out) {
  enum { API = 6, ERRORS = 3, ARENA_ALLOCATOR = 1, DEFAULT_MEMORY = 0 };
  *out = (ort){.api = NULL};
  const api_base *base = open_library(call);
  if (!base) return TN_ERR_NOT_FOUND;
  out->api = base->get_api(API);
  if (!out->api)
    return call->host->fail(call->ctx, TN_ERR_NOT_FOUND,
                            "ONNX Runtime %s does not offer version %d of its C API",
                            base->version(), API);
  snprintf(out->stamp, sizeof out->stamp, "onnxruntime %.60s, CPU", base->version());
  tn_status s = ort_check(call, out, out->api->create_env(ERRORS, "tenon", &out->env), "CreateEnv");
  if (!s)
    s = ort_check(call, out, out->api->create_session_options(&out->options),
                  "CreateSessionOptions");
  if (!s) s = be_exact(call, out);
  if (!s)
    s = ort_check(call, out, out->api->set_log_severity(out->options, ERRORS),
                  "SetSessionLogSeverityLevel");
  if (!s)
    s = ort_check(call, out, out->api->set_intra_op_threads(out->options, n_threads()),
                  "SetIntraOpNumThreads");
  if (!s)
    s = ort_check(call, out,
                  out->api->create_cpu_memory_info(ARENA_ALLOCATOR, DEFAULT_MEMORY, &out->memory),
                  "CreateCpuMemoryInfo");
  if (s) ort_close(out);
  return s;
}

void ort_close(ort *o) {
  if (o->memory) o->api->release_memory_info(o->memory);
  if (o->options) o->api->release_session_options(o->options);
  if (o->env) o->api->release_env(o->env);
  *o = (ort){.api = NULL};
}

tn_status ort_session_new(const tn_accelerator_call *call, const ort *o, const void *model,
                          uint64_t bytes, ort_session **out) {
  *out = NULL;
  return ort_check(call, o,
                   o->api->create_session_from_array(o->env, model, (size_t)bytes, o->options, out),
                   "CreateSession");
}

int ort_type(uint32_t dtype) {
  static const uint8_t types[] = {
      [TN_F32] = 1,  [TN_U8] = 2,   [TN_I8] = 3,   [TN_U16] = 4,  [TN_I16] = 5,
      [TN_I32] = 6,  [TN_I64] = 7,  [TN_BOOL] = 9, [TN_F16] = 10, [TN_F64] = 11,
      [TN_U32] = 12, [TN_U64] = 13, [TN_BF16] = 16};
  return dtype < sizeof types ? types[dtype] : 0;
}
