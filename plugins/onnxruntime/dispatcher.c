/* The dispatcher: a session for each entry of a module, which reads and writes the host's tensors
 * where they lie. */
#include <string.h>

#include "ort.h"
#include "tenon/kit/tensor.h"

typedef struct entry {
  ort_session *session;
  char **input_names, **output_names; /* of the library's allocator */
  ort_value **values;                 /* inputs, then outputs: of a run */
  uint32_t n_inputs, n_outputs;
} entry;

typedef struct program {
  const ort *o;
  ort_allocator *allocator;
  entry *entries;
  uint32_t n_entries;
} program;

/* ---- the device: the library ---- */

static tn_status open(const tn_accelerator_call *call, void **out_device) {
  ort *o = call->host->alloc(call->ctx, sizeof *o);
  if (!o) return TN_ERR_MEMORY;
  const tn_status s = ort_open(call, o);
  if (s) call->host->free(call->ctx, o);
  *out_device = s ? NULL : o;
  return s;
}

static void close(const tn_accelerator_call *call, void *device) {
  ort_close(device);
  call->host->free(call->ctx, device);
}

static const char *stamp(const tn_accelerator_call *call, void *device) {
  (void)call;
  return ((const ort *)device)->stamp;
}

/* ---- loading ---- */

static void free_names(const program *p, char **names, uint32_t n) {
  for (uint32_t k = 0; names && k < n; k++) {
    ort_status *s = names[k] ? p->o->api->allocator_free(p->allocator, names[k]) : NULL;
    if (s) p->o->api->release_status(s);
  }
}

static void unload(const tn_accelerator_call *call, void *loaded) {
  program *p = loaded;
  const tn_host *host = call->host;
  for (uint32_t k = 0; p->entries && k < p->n_entries; k++) {
    entry *e = &p->entries[k];
    if (e->session) p->o->api->release_session(e->session);
    free_names(p, e->input_names, e->n_inputs);
    free_names(p, e->output_names, e->n_outputs);
    host->free(call->ctx, (void *)e->input_names);
    host->free(call->ctx, (void *)e->output_names);
    host->free(call->ctx, (void *)e->values);
  }
  host->free(call->ctx, p->entries);
  host->free(call->ctx, p);
}

static tn_status read_names(const tn_accelerator_call *call, const program *p, entry *e) {
  const ort_api *api = p->o->api;
  size_t n_in = 0, n_out = 0;
  tn_status s = ort_check(call, p->o, api->input_count(e->session, &n_in), "SessionGetInputCount");
  if (!s) s = ort_check(call, p->o, api->output_count(e->session, &n_out), "SessionGetOutputCount");
  if (!s && (n_in != e->n_inputs || n_out != e->n_outputs))
    s = call->host->fail(call->ctx, TN_ERR_INVALID,
                         "the part has %u inputs and %u outputs, its session %u and %u",
                         e->n_inputs, e->n_outputs, (unsigned)n_in, (unsigned)n_out);
  for (uint32_t k = 0; k < e->n_inputs && !s; k++)
    s = ort_check(call, p->o, api->input_name(e->session, k, p->allocator, &e->input_names[k]),
                  "SessionGetInputName");
  for (uint32_t k = 0; k < e->n_outputs && !s; k++)
    s = ort_check(call, p->o, api->output_name(e->session, k, p->allocator, &e->output_names[k]),
                  "SessionGetOutputName");
  return s;
}

static tn_status load_entry(const tn_accelerator_call *call, const program *p,
                            const tn_entry *ports, const void *model, uint64_t bytes, entry *e) {
  const tn_host *host = call->host;
  e->n_inputs = ports->n_inputs;
  e->n_outputs = ports->n_outputs;
  e->input_names = host->alloc(call->ctx, (e->n_inputs + 1) * sizeof *e->input_names);
  e->output_names = host->alloc(call->ctx, (e->n_outputs + 1) * sizeof *e->output_names);
  e->values =
      host->alloc(call->ctx, ((uint64_t)e->n_inputs + e->n_outputs + 1) * sizeof *e->values);
  if (!e->input_names || !e->output_names || !e->values) return TN_ERR_MEMORY;
  const tn_status s = ort_session_new(call, p->o, model, bytes, &e->session);
  return s ? s : read_names(call, p, e);
}

static tn_status load_entries(const tn_accelerator_call *call, program *p,
                              const tn_module *module) {
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < module->n_entries && !s; k++) {
    const void *part = NULL;
    uint64_t size = 0;
    const char *wrong = tn_module_piece(module, k, &part, &size);
    s = wrong ? call->host->fail(call->ctx, TN_ERR_INVALID, "%s", wrong)
              : load_entry(call, p, module->entries[k], part, size, &p->entries[k]);
  }
  return s;
}

static tn_status load(const tn_accelerator_call *call, void *device, const tn_module *module,
                      void **out_program) {
  program *p = call->host->alloc(call->ctx, sizeof *p);
  if (!p) return TN_ERR_MEMORY;
  p->o = device;
  p->n_entries = module->n_entries;
  p->entries = call->host->alloc(call->ctx, (p->n_entries + 1) * sizeof *p->entries);
  tn_status s = p->entries ? TN_OK : TN_ERR_MEMORY;
  if (!s)
    s = ort_check(call, p->o, p->o->api->default_allocator(&p->allocator),
                  "GetAllocatorWithDefaultOptions");
  if (!s) s = load_entries(call, p, module);
  if (s)
    unload(call, p);
  else
    *out_program = p;
  return s;
}

/* ---- running ---- */

static tn_status bind(const tn_accelerator_call *call, const program *p, const tn_tensor *t,
                      ort_value **out) {
  static char nothing[1];
  return ort_check(
      call, p->o,
      p->o->api->tensor_over(p->o->memory, t->data ? t->data : nothing, (size_t)tn_bytes(t),
                             t->shape, (size_t)t->rank, ort_type(t->dtype), out),
      "CreateTensorWithData");
}

static tn_status run(const tn_accelerator_call *call, void *loaded, uint32_t index,
                     const tn_tensor *const *inputs, tn_tensor *const *outputs) {
  const program *p = loaded;
  const entry *e = &p->entries[index];
  const uint32_t n = e->n_inputs + e->n_outputs;
  tn_status s = TN_OK;
  memset((void *)e->values, 0, n * sizeof *e->values);
  for (uint32_t k = 0; k < n && !s; k++)
    s = bind(call, p, k < e->n_inputs ? inputs[k] : outputs[k - e->n_inputs], &e->values[k]);
  if (!s)
    s = ort_check(
        call, p->o,
        p->o->api->run(e->session, NULL, (const char *const *)e->input_names,
                       (const ort_value *const *)e->values, e->n_inputs,
                       (const char *const *)e->output_names, e->n_outputs, e->values + e->n_inputs),
        "Run");
  for (uint32_t k = 0; k < n; k++)
    if (e->values[k]) p->o->api->release_value(e->values[k]);
  return s;
}

const tn_dispatcher ort_dispatcher = {.head = TN_HEAD(tn_dispatcher),
                                      .name = "onnxruntime",
                                      .vendor = "ONNX Runtime",
                                      .format = ORT_FORMAT,
                                      .open = open,
                                      .close = close,
                                      .load = load,
                                      .unload = unload,
                                      .run = run,
                                      .stamp = stamp};
