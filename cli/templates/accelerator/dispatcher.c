/* @NAME@'s dispatcher: loads modules and runs them. As long as there is no hardware, it computes on
 * the CPU. */
#include <string.h>

#include "@NAME@.h"

/* ---- the device ---- */

/* TN_ERR_NOT_FOUND, with what is missing, where there is no such device or library. */
static tn_status open(const tn_accelerator_call *call, void **out_device) {
  (void)call;
  *out_device = NULL;
  return TN_OK;
}

static void close(const tn_accelerator_call *call, void *device) { (void)call, (void)device; }

static const char *stamp(const tn_accelerator_call *call, void *device) {
  (void)call, (void)device;
  return @NAME@_STAMP;
}

/* ---- modules ---- */

typedef struct program {
  @NAME@_code *parts;
} program;

static void unload(const tn_accelerator_call *call, void *loaded) {
  program *p = loaded;
  call->host->free(call->ctx, p->parts);
  call->host->free(call->ctx, p);
}

/* Bytes from a file: everything is checked against the types of the ports, which the host knows. */
static tn_status load_part(const tn_accelerator_call *call, const tn_module *module, uint32_t k,
                           @NAME@_code *out) {
  const tn_entry *entry = module->entries[k];
  const void *data = NULL;
  uint64_t size = 0;
  const char *wrong = tn_module_piece(module, k, &data, &size);
  if (wrong) return call->host->fail(call->ctx, TN_ERR_INVALID, "%s", wrong);
  if (size != sizeof *out || (memcpy(out, data, sizeof *out), out->version != @NAME@_VERSION))
    return call->host->fail(call->ctx, TN_ERR_INVALID, "part %u is no code of version %d", k,
                            @NAME@_VERSION);
  if (entry->n_inputs != 2 || entry->n_outputs != 1)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "part %u has other ports than its code", k);
  if ((uint64_t)tn_elements(entry->outputs[0]) != out->elements)
    return call->host->fail(call->ctx, TN_ERR_INVALID, "part %u is for another shape", k);
  return TN_OK;
}

static tn_status load(const tn_accelerator_call *call, void *device, const tn_module *module,
                      void **out_program) {
  (void)device;
  program *p = call->host->alloc(call->ctx, sizeof *p);
  if (!p) return TN_ERR_MEMORY;
  p->parts = call->host->alloc(call->ctx, (module->n_entries + 1) * sizeof *p->parts);
  tn_status s = p->parts ? TN_OK : TN_ERR_MEMORY;
  for (uint32_t k = 0; k < module->n_entries && !s; k++)
    s = load_part(call, module, k, &p->parts[k]);
  if (s)
    unload(call, p);
  else
    *out_program = p;
  return s;
}

/* ---- running ---- */

static tn_status run(const tn_accelerator_call *call, void *loaded, uint32_t entry,
                     const tn_tensor *const *inputs, tn_tensor *const *outputs) {
  (void)call;
  const @NAME@_code *code = &((const program *)loaded)->parts[entry];
  const float *a = inputs[0]->data, *b = inputs[1]->data;
  float *y = outputs[0]->data;
  for (uint64_t k = 0; k < code->elements; k++) y[k] = a[k] + b[k];
  return TN_OK;
}

const tn_dispatcher @NAME@_dispatcher = {.head = TN_HEAD(tn_dispatcher),
                                         .name = "@NAME@",
                                         .vendor = "@NAME@",
                                         .format = @NAME@_FORMAT,
                                         .open = open,
                                         .close = close,
                                         .load = load,
                                         .unload = unload,
                                         .run = run,
                                         .stamp = stamp};
