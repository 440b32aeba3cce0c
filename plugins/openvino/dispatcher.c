/* The dispatcher: a request for each entry of a module, which reads and writes the host's tensors
 * where they lie. */
#include <string.h>

#include "ov.h"

/* A port of a request, and the memory that it was bound to last. */
typedef struct binding {
  ov_tensor *tensor;
  const void *data;
  uint32_t from; /* an output that is input from - 1; 0: it is none */
} binding;

typedef struct entry {
  ov_compiled *model;
  ov_request *request;
  binding *ports; /* inputs, then outputs */
  uint32_t n_inputs, n_outputs;
  const tn_tensor *const *inputs; /* of what was started */
  tn_tensor *const *outputs;
} entry;

typedef struct program {
  const ov *o;
  entry *entries;
  uint32_t n_entries;
} program;

/* ---- the device: the library ---- */

static tn_status open(const tn_accelerator_call *call, void **out_device) {
  ov *o = call->host->alloc(call->ctx, sizeof *o);
  if (!o) return TN_ERR_MEMORY;
  const tn_status s = ov_open(call, o);
  if (s) call->host->free(call->ctx, o);
  *out_device = s ? NULL : o;
  return s;
}

static void close(const tn_accelerator_call *call, void *device) {
  ov_close(device);
  call->host->free(call->ctx, device);
}

static const char *stamp(const tn_accelerator_call *call, void *device) {
  (void)call;
  return ((const ov *)device)->stamp;
}

/* ---- loading ---- */

static void unload_entry(const tn_accelerator_call *call, const ov_api *api, entry *e) {
  if (e->request) api->infer_request_free(e->request);
  for (uint32_t k = 0; e->ports && k < e->n_inputs + e->n_outputs; k++)
    if (e->ports[k].tensor) api->tensor_free(e->ports[k].tensor);
  if (e->model) api->compiled_model_free(e->model);
  call->host->free(call->ctx, e->ports);
}

static void unload(const tn_accelerator_call *call, void *loaded) {
  program *p = loaded;
  for (uint32_t k = 0; p->entries && k < p->n_entries; k++)
    unload_entry(call, &p->o->api, &p->entries[k]);
  call->host->free(call->ctx, p->entries);
  call->host->free(call->ctx, p);
}

/* An output that is an input (Dropout, Max of one) has its names, and is not written by the library
 * (seen in 2026.3.1), so that it is copied here. */
static uint32_t source_of(const ov *o, const entry *e, uint32_t output) {
  uint32_t from = 0;
  for (uint32_t k = 0; k < e->n_inputs && !from; k++)
    if (ov_is_one_value(o, e->model, k, output)) from = k + 1;
  return from;
}

static tn_status load_entry(const tn_accelerator_call *call, const ov *o, const tn_module *module,
                            uint32_t k, entry *e) {
  const tn_entry *ports = module->entries[k];
  const void *blob = NULL;
  uint64_t size = 0;
  const char *wrong = tn_module_piece(module, k, &blob, &size);
  if (wrong) return call->host->fail(call->ctx, TN_ERR_INVALID, "%s", wrong);
  e->n_inputs = ports->n_inputs;
  e->n_outputs = ports->n_outputs;
  e->ports =
      call->host->alloc(call->ctx, ((uint64_t)e->n_inputs + e->n_outputs + 1) * sizeof *e->ports);
  if (!e->ports) return TN_ERR_MEMORY;
  tn_status s =
      ov_check(call, o, o->api.core_import_model(o->core, blob, (size_t)size, o->device, &e->model),
               "OpenVINO does not import the blob");
  if (!s) s = ov_check_ports(call, o, e->model, ports);
  if (!s)
    s = ov_check(call, o, o->api.compiled_model_create_infer_request(e->model, &e->request),
                 "ov_compiled_model_create_infer_request");
  for (uint32_t i = 0; i < e->n_outputs && !s; i++)
    e->ports[e->n_inputs + i].from = source_of(o, e, i);
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
  for (uint32_t k = 0; k < p->n_entries && !s; k++)
    s = load_entry(call, p->o, module, k, &p->entries[k]);
  if (s)
    unload(call, p);
  else
    *out_program = p;
  return s;
}

/* ---- running ---- */

/* Memory that stays where it is stays bound. */
static tn_status bind(const tn_accelerator_call *call, const ov *o, entry *e, uint32_t port,
                      const tn_tensor *t) {
  binding *b = &e->ports[port];
  const uint32_t output = port - e->n_inputs;
  const ov_shape shape = {t->rank, (int64_t *)(uintptr_t)t->shape};
  if (b->tensor && b->data == t->data) return TN_OK;
  if (b->tensor) o->api.tensor_free(b->tensor);
  b->tensor = NULL;
  b->data = t->data;
  tn_status s = ov_check(
      call, o, o->api.tensor_create_from_host_ptr(ov_type(t->dtype), shape, t->data, &b->tensor),
      "ov_tensor_create_from_host_ptr");
  if (!s)
    s = ov_check(
        call, o,
        port < e->n_inputs
            ? o->api.infer_request_set_input_tensor_by_index(e->request, port, b->tensor)
            : o->api.infer_request_set_output_tensor_by_index(e->request, output, b->tensor),
        "a tensor is not taken");
  return s;
}

/* What failed is bound again the next time. */
static void forget(const ov *o, entry *e) {
  for (uint32_t k = 0; k < e->n_inputs + e->n_outputs; k++) {
    if (e->ports[k].tensor) o->api.tensor_free(e->ports[k].tensor);
    e->ports[k].tensor = NULL;
    e->ports[k].data = NULL;
  }
}

static void copy_inputs(const entry *e, const tn_tensor *const *inputs, tn_tensor *const *outputs) {
  for (uint32_t k = 0; k < e->n_outputs; k++) {
    const uint32_t from = e->ports[e->n_inputs + k].from;
    if (from) memcpy(outputs[k]->data, inputs[from - 1]->data, (size_t)tn_bytes(outputs[k]));
  }
}

/* The library computes them in 32 bits. */
static tn_status check_range(const tn_accelerator_call *call, const tn_tensor *t) {
  const int64_t *x = t->data;
  if (t->dtype != TN_I64) return TN_OK;
  const int64_t n = tn_elements(t);
  for (int64_t k = 0; k < n; k++)
    if (x[k] > INT32_MAX || x[k] < INT32_MIN)
      return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                              "an input of i64 has %lld, and OpenVINO computes in 32 bits",
                              (long long)x[k]);
  return TN_OK;
}

static tn_status bind_all(const tn_accelerator_call *call, const ov *o, entry *e,
                          const tn_tensor *const *inputs, tn_tensor *const *outputs) {
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < e->n_inputs && !s; k++) s = check_range(call, inputs[k]);
  for (uint32_t k = 0; k < e->n_inputs && !s; k++) s = bind(call, o, e, k, inputs[k]);
  for (uint32_t k = 0; k < e->n_outputs && !s; k++)
    s = bind(call, o, e, e->n_inputs + k, outputs[k]);
  return s;
}

static tn_status finish(const ov *o, entry *e, tn_status s, const tn_tensor *const *inputs,
                        tn_tensor *const *outputs) {
  if (s)
    forget(o, e);
  else
    copy_inputs(e, inputs, outputs);
  return s;
}

static tn_status run(const tn_accelerator_call *call, void *loaded, uint32_t index,
                     const tn_tensor *const *inputs, tn_tensor *const *outputs) {
  const program *p = loaded;
  entry *e = &p->entries[index];
  tn_status s = bind_all(call, p->o, e, inputs, outputs);
  if (!s) s = ov_check(call, p->o, p->o->api.infer_request_infer(e->request), "infer");
  return finish(p->o, e, s, inputs, outputs);
}

/* On the CPU both would have the same cores, and it is done at once. */
static tn_status start(const tn_accelerator_call *call, void *loaded, uint32_t index,
                       const tn_tensor *const *inputs, tn_tensor *const *outputs) {
  const program *p = loaded;
  entry *e = &p->entries[index];
  if (!p->o->is_beside) return run(call, loaded, index, inputs, outputs);
  tn_status s = bind_all(call, p->o, e, inputs, outputs);
  if (!s) s = ov_check(call, p->o, p->o->api.infer_request_start_async(e->request), "start");
  e->inputs = inputs;
  e->outputs = outputs;
  return s ? finish(p->o, e, s, inputs, outputs) : TN_OK;
}

static tn_status wait(const tn_accelerator_call *call, void *loaded, uint32_t index) {
  const program *p = loaded;
  entry *e = &p->entries[index];
  if (!p->o->is_beside) return TN_OK;
  const tn_status s = ov_check(call, p->o, p->o->api.infer_request_wait(e->request), "infer");
  return finish(p->o, e, s, e->inputs, e->outputs);
}

const tn_dispatcher ov_dispatcher = {.head = TN_HEAD(tn_dispatcher),
                                     .name = "openvino",
                                     .vendor = "Intel",
                                     .format = OV_FORMAT,
                                     .open = open,
                                     .close = close,
                                     .load = load,
                                     .unload = unload,
                                     .run = run,
                                     .stamp = stamp,
                                     .start = start,
                                     .wait = wait};
