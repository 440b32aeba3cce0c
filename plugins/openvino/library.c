/* Opening OpenVINO's library, which TENON_OPENVINO names, and what both halves ask of it. */
#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ov.h"
#include "tenon/experimental/keep_signals.h"

/* ---- types ---- */

/* Their numbers since 2025.0; older libraries had one more before them. */
static const uint8_t types[] = {
    [TN_F32] = 4,  [TN_U8] = 16,  [TN_I8] = 7,   [TN_U16] = 17, [TN_I16] = 8,
    [TN_I32] = 9,  [TN_I64] = 10, [TN_BOOL] = 1, [TN_F16] = 3,  [TN_F64] = 5,
    [TN_U32] = 18, [TN_U64] = 19, [TN_BF16] = 2};
enum { N_TYPES = sizeof types / sizeof *types, FIRST_YEAR = 2025 };

int ov_type(uint32_t dtype) { return dtype < N_TYPES ? types[dtype] : 0; }

/* Does the library know them by these numbers? It says how large their elements are. */
static int types_are_known(const ov_api *api) {
  static double memory;
  for (uint32_t k = 0; k < N_TYPES; k++) {
    ov_tensor *tensor = NULL;
    size_t bytes = 0;
    if (!types[k]) continue;
    const ov_shape scalar = {0, NULL};
    if (api->tensor_create_from_host_ptr(types[k], scalar, &memory, &tensor)) return 0;
    const int failed = api->tensor_get_byte_size(tensor, &bytes);
    api->tensor_free(tensor);
    if (failed || bytes != (size_t)tn_dtype_bytes(k, 1)) return 0;
  }
  return 1;
}

/* ---- the library ---- */

/* It stays: its threads and what it has registered with the process cannot be taken back. */
static tn_status open_library(const tn_accelerator_call *call, void **out) {
  const char *named = secure_getenv("TENON_OPENVINO");
  const char *name = named ? named : "libopenvino_c.so";
  *out = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (*out) return TN_OK;
  const char *why = dlerror();
  return call->host->fail(call->ctx, TN_ERR_NOT_FOUND,
                          "%s cannot be loaded: %s; TENON_OPENVINO names the library", name,
                          why ? why : "");
}

static tn_status find_functions(const tn_accelerator_call *call, void *library, ov_api *out) {
#define OV_NAME(name, result, arguments) {"ov_" #name, offsetof(ov_api, name)},
  static const struct {
    const char *name;
    size_t offset;
  } functions[] = {OV_FUNCTIONS(OV_NAME)};
#undef OV_NAME
  for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
    void *symbol = dlsym(library, functions[k].name);
    if (!symbol)
      return call->host->fail(call->ctx, TN_ERR_NOT_FOUND, "OpenVINO's library has no %s",
                              functions[k].name);
    memcpy((char *)out + functions[k].offset, &symbol, sizeof symbol);
  }
  return TN_OK;
}

tn_status ov_check(const tn_accelerator_call *call, const ov *o, int status, const char *what) {
  if (!status) return TN_OK;
  const char *text = o->api.get_last_err_msg();
  (void)call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "%s: %.400s", what, text ? text : "");
  o->api.free(text);
  return TN_ERR_UNSUPPORTED;
}

static tn_status check_version(const tn_accelerator_call *call, ov *o) {
  ov_version version = {NULL, NULL};
  tn_status s = ov_check(call, o, o->api.get_openvino_version(&version), "ov_get_openvino_version");
  if (s) return s;
  const char *build = version.build ? version.build : "";
  if (strtol(build, NULL, 10) < FIRST_YEAR || !types_are_known(&o->api))
    s = call->host->fail(call->ctx, TN_ERR_NOT_FOUND,
                         "OpenVINO %.60s is not known: %d or newer, with its types", build,
                         FIRST_YEAR);
  snprintf(o->stamp, sizeof o->stamp, "openvino %.60s, %s", build, o->device);
  o->api.version_free(&version);
  return s;
}

/* ---- the device ---- */

static const char *device_of(const tn_target *target) {
  static const char *const devices[][2] = {
      {"openvino-cpu", "CPU"}, {"openvino-gpu", "GPU"}, {"openvino-npu", "NPU"}};
  for (size_t k = 0; k < sizeof devices / sizeof *devices; k++)
    if (!strcmp(devices[k][0], target->name)) return devices[k][1];
  return NULL;
}

/* Asks the device alone: to list all of them takes long, and loads what they are driven with. */
static tn_status find_device(const tn_accelerator_call *call, ov *o) {
  char *name = NULL;
  const int failed = o->api.core_get_property(o->core, o->device, "FULL_DEVICE_NAME", &name);
  if (failed || !name) {
    const char *why = o->api.get_last_err_msg();
    (void)call->host->fail(call->ctx, TN_ERR_NOT_FOUND, "OpenVINO sees no %s here: %.300s",
                           o->device, why ? why : "");
    o->api.free(why);
    return TN_ERR_NOT_FOUND;
  }
  const size_t at = strlen(o->stamp);
  snprintf(o->stamp + at, sizeof o->stamp - at, ", %.100s", name);
  o->api.free(name);
  return TN_OK;
}

/* Without VNNI sums of 8-bit products are held in 16 bits, and cut off. */
static int cuts_sums(void) {
#ifdef __x86_64__
  unsigned a, b, c = 0, d;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && c >> 11 & 1) return 0; /* AVX512_VNNI */
  return !(__get_cpuid_count(7, 1, &a, &b, &c, &d) && a >> 4 & 1);      /* AVX_VNNI */
#else
  return 0;
#endif
}

/* f32 stays f32, sums of 8-bit products are whole, and one request at a time has all threads. */
static tn_status set_up(const tn_accelerator_call *call, const ov *o) {
  const char *threads = secure_getenv("TENON_OPENVINO_THREADS");
  const int is_cpu = !strcmp(o->device, "CPU");
  const struct {
    const char *key, *value;
  } all[] = {{"INFERENCE_PRECISION_HINT", strcmp(o->device, "NPU") ? "f32" : NULL},
             {"LP_TRANSFORMS_MODE", is_cpu && cuts_sums() ? "NO" : NULL},
             {"PERFORMANCE_HINT", "LATENCY"},
             {"INFERENCE_NUM_THREADS", is_cpu ? threads : NULL}};
  tn_status s = TN_OK;
  for (size_t k = 0; k < sizeof all / sizeof *all && !s; k++)
    if (all[k].value)
      s = ov_check(call, o, o->api.core_set_property(o->core, o->device, all[k].key, all[k].value),
                   all[k].key);
  return s;
}

static tn_status open_all(const tn_accelerator_call *call, ov *out) {
  void *library;
  *out = (ov){.device = device_of(call->target)};
  if (!out->device)
    return call->host->fail(call->ctx, TN_ERR_NOT_FOUND, "OpenVINO has no device for '%s'",
                            call->target->name);
  tn_status s = open_library(call, &library);
  if (!s) s = find_functions(call, library, &out->api);
  if (!s) s = check_version(call, out);
  if (!s) s = ov_check(call, out, out->api.core_create(&out->core), "ov_core_create");
  if (!s) s = find_device(call, out);
  if (!s) s = set_up(call, out);
  const char *beside = secure_getenv("TENON_OPENVINO_BESIDE");
  out->is_beside = strcmp(out->device, "CPU") || (beside && !strcmp(beside, "1"));
  if (s) ov_close(out);
  return s;
}

tn_status ov_open(const tn_accelerator_call *call, ov *out) {
  tn_kept_signals kept;
  tn_signals_keep(&kept);
  const tn_status s = open_all(call, out);
  tn_signals_restore(&kept);
  return s;
}

void ov_close(ov *o) {
  if (o->core) o->api.core_free(o->core);
  o->core = NULL;
}

/* ---- ports ---- */

static ov_port *port_of(const ov *o, const ov_compiled *model, int is_output, uint32_t k) {
  ov_port *port = NULL;
  const int failed = is_output ? o->api.compiled_model_output_by_index(model, k, &port)
                               : o->api.compiled_model_input_by_index(model, k, &port);
  return failed ? NULL : port;
}

static ov_port *port_named(const ov *o, const ov_compiled *model, int is_output, const char *name) {
  ov_port *port = NULL;
  const int failed = is_output ? o->api.compiled_model_output_by_name(model, name, &port)
                               : o->api.compiled_model_input_by_name(model, name, &port);
  return failed ? NULL : port;
}

/* A value may have several names; a port says always the same of them. Frees both ports. */
static int have_one_name(const ov *o, ov_port *a, ov_port *b) {
  char *name_a = NULL, *name_b = NULL;
  const int same = a && b && !o->api.port_get_any_name(a, &name_a) &&
                   !o->api.port_get_any_name(b, &name_b) && !strcmp(name_a, name_b);
  if (name_a) o->api.free(name_a);
  if (name_b) o->api.free(name_b);
  if (a) o->api.output_const_port_free(a);
  if (b) o->api.output_const_port_free(b);
  return same;
}

int ov_is_named(const ov *o, const ov_compiled *model, int is_output, uint32_t k,
                const char *name) {
  return have_one_name(o, port_of(o, model, is_output, k), port_named(o, model, is_output, name));
}

int ov_is_one_value(const ov *o, const ov_compiled *model, uint32_t input, uint32_t output) {
  return have_one_name(o, port_of(o, model, 0, input), port_of(o, model, 1, output));
}

static int is_port(const ov *o, const ov_port *port, const tn_tensor *want) {
  ov_shape shape = {0, NULL};
  int type = 0;
  if (o->api.port_get_element_type(port, &type) || o->api.const_port_get_shape(port, &shape))
    return 0;
  int same = type == ov_type(want->dtype) && shape.rank == want->rank;
  for (int32_t k = 0; k < want->rank && same; k++) same = shape.dims[k] == want->shape[k];
  (void)o->api.shape_free(&shape);
  return same;
}

static tn_status check_port(const tn_accelerator_call *call, const ov *o, const ov_compiled *model,
                            int is_output, uint32_t k, const tn_tensor *want) {
  ov_port *port = port_of(o, model, is_output, k);
  const int same = port && is_port(o, port, want);
  if (port) o->api.output_const_port_free(port);
  return same ? TN_OK
              : call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                                 "OpenVINO gives %s %u of the part another type or shape",
                                 is_output ? "output" : "input", k);
}

tn_status ov_check_ports(const tn_accelerator_call *call, const ov *o, const ov_compiled *model,
                         const tn_entry *entry) {
  size_t n_in = 0, n_out = 0;
  tn_status s = ov_check(call, o, o->api.compiled_model_inputs_size(model, &n_in), "inputs");
  if (!s) s = ov_check(call, o, o->api.compiled_model_outputs_size(model, &n_out), "outputs");
  if (!s && (n_in != entry->n_inputs || n_out != entry->n_outputs))
    s = call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                         "the part has %u inputs and %u outputs, OpenVINO's model %u and %u",
                         entry->n_inputs, entry->n_outputs, (unsigned)n_in, (unsigned)n_out);
  for (uint32_t k = 0; k < entry->n_inputs && !s; k++)
    s = check_port(call, o, model, 0, k, entry->inputs[k]);
  for (uint32_t k = 0; k < entry->n_outputs && !s; k++)
    s = check_port(call, o, model, 1, k, entry->outputs[k]);
  return s;
}
