/* The dispatcher: a guest's dispatch library, with what it is served while it runs: options, and
 * buffers, which are the host's memory or the vendor's own, made through functions of the library.
 * Values are copied into the vendor's own. */
#include <stdlib.h>
#include <string.h>

#include "litert.h"
#include "tenon/experimental/keep_signals.h"

typedef struct device {
  guest_dispatch api;
  guest_runtime_table served;
  lrt_options options;
  void *device;
  char stamp[LRT_STAMP];
} device;

/* What a port wants, as the guest says it. */
typedef struct needs {
  int32_t kinds[GUEST_MAX_KINDS];
  int n_kinds;
  size_t bytes;
} needs;

typedef struct buffer {
  int32_t kind;
  guest_type type;
  size_t bytes, packed_bytes;
  void *host;        /* of GUEST_HOST_MEMORY */
  guest_memory *own; /* of other kinds */
  uint64_t handle;
  int is_added, is_attached;
} buffer;

typedef struct call_of {
  void *call;
  buffer *ports; /* inputs, then outputs */
  uint32_t n_inputs, n_outputs;
} call_of;

typedef struct program {
  device *device;
  lrt_memory memory;
  call_of *calls;
  uint32_t n_calls;
} program;

/* ---- services ---- */

/* Answered to whoever asks what a port needs, who frees it: there is nothing to allocate from. */
static int new_requirements(int n, const int32_t *kinds, size_t bytes, int n_strides,
                            const uint32_t *strides, needs **out) {
  needs *w = n < 1 || !kinds || !out ? NULL : (needs *)calloc(1, sizeof *w);
  (void)n_strides, (void)strides;
  if (!w) return GUEST_INVALID;
  w->n_kinds = n < GUEST_MAX_KINDS ? n : GUEST_MAX_KINDS;
  memcpy(w->kinds, kinds, (size_t)w->n_kinds * sizeof *kinds);
  w->bytes = bytes;
  *out = w;
  return GUEST_OK;
}

#define FIELD(function, type, expression)           \
  static int function(const buffer *x, type *out) { \
    if (!x || !out) return GUEST_INVALID;           \
    *out = (expression);                            \
    return GUEST_OK;                                \
  }
FIELD(buffer_kind, int32_t, x->kind)
FIELD(buffer_type, guest_type, x->type)
FIELD(buffer_size, size_t, x->bytes)
FIELD(buffer_packed_size, size_t, x->packed_bytes)
FIELD(buffer_offset, size_t, 0)

static int buffer_has_event(const buffer *x, bool *out) {
  if (!x || !out) return GUEST_INVALID;
  *out = false;
  return GUEST_OK;
}

static int buffer_host(const buffer *x, void **out) {
  if (!x || !out) return GUEST_INVALID;
  if (!x->host) return GUEST_UNSUPPORTED;
  *out = x->host;
  return GUEST_OK;
}

static int buffer_lock(const buffer *x, void **out, int mode) {
  (void)mode;
  return buffer_host(x, out);
}

static int buffer_own(const buffer *x, void **out) {
  if (!x || !out) return GUEST_INVALID;
  if (!x->own) return GUEST_UNSUPPORTED;
  *out = x->own->handle;
  return GUEST_OK;
}

static void serve(guest_runtime_table *out) {
  static const struct {
    size_t number;
    guest_fn serve;
  } rows[] = {{SERVE_NEW_REQUIREMENTS, (guest_fn)new_requirements},
              {SERVE_RUN_OPAQUE_OPTIONS, (guest_fn)lrt_serve_opaque},
              {SERVE_RUN_FIND_OPTIONS, (guest_fn)lrt_serve_find},
              {SERVE_RUN_DESTROY_OPTIONS, (guest_fn)lrt_serve_destroy},
              {SERVE_RUN_ENVIRONMENT, (guest_fn)lrt_serve_opaque},
              {SERVE_RUN_ENVIRONMENT_VALUE, (guest_fn)lrt_serve_environment},
              {SERVE_BUFFER_KIND, (guest_fn)buffer_kind},
              {SERVE_BUFFER_TYPE, (guest_fn)buffer_type},
              {SERVE_BUFFER_SIZE, (guest_fn)buffer_size},
              {SERVE_BUFFER_PACKED_SIZE, (guest_fn)buffer_packed_size},
              {SERVE_BUFFER_OFFSET, (guest_fn)buffer_offset},
              {SERVE_BUFFER_LOCK, (guest_fn)buffer_lock},
              {SERVE_BUFFER_UNLOCK, (guest_fn)lrt_serve_done},
              {SERVE_BUFFER_HOST_MEMORY, (guest_fn)buffer_host},
              {SERVE_BUFFER_CUSTOM_HANDLE, (guest_fn)buffer_own},
              {SERVE_BUFFER_HAS_EVENT, (guest_fn)buffer_has_event}};
  out->head = (guest_head){sizeof *out, 1, 1, 0};
  for (size_t k = 0; k < SERVE_RUNTIME_COUNT; k++) out->serve[k] = (guest_fn)lrt_serve_nothing;
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
    out->serve[rows[k].number] = rows[k].serve;
}

/* ---- the device ---- */

static void close_device(const tn_accelerator_call *call, void *opened) {
  device *d = (device *)opened;
  if (d->device) (void)d->api.table->device_free(d->device);
  call->host->free(call->ctx, d);
}

static tn_status start(const tn_accelerator_call *call, device *d) {
  const lrt_guest *guest = lrt_guest_find(call);
  if (!guest) return TN_ERR_NOT_FOUND;
  tn_status s = lrt_dispatch_open(call, guest, &d->api, d->stamp);
  if (s) return s;
  serve(&d->served);
  d->options = (lrt_options){.log_level = GUEST_LOG_NOTHING};
  s = lrt_check(call, d->api.table->initialize(&d->served, &d->options, &d->options),
                "initialisation of its dispatch library");
  if (!s)
    s = lrt_check(call, d->api.table->device_new(&d->served, &d->options, &d->device), "device");
  return s;
}

static tn_status open_device(const tn_accelerator_call *call, void **out_device) {
  device *d = (device *)call->host->alloc(call->ctx, sizeof *d);
  if (!d) return TN_ERR_MEMORY;
  memset(d, 0, sizeof *d);
  tn_kept_signals kept;
  tn_signals_keep(&kept);
  const tn_status s = start(call, d);
  tn_signals_restore(&kept);
  if (s)
    close_device(call, d);
  else
    *out_device = d;
  return s;
}

static const char *stamp(const tn_accelerator_call *call, void *opened) {
  (void)call;
  return ((const device *)opened)->stamp;
}

/* ---- ports ---- */

static int is_own(const guest_memory_table *m, int32_t kind) {
  for (size_t k = 0; m && k < m->n_kinds && k < GUEST_MAX_KINDS; k++)
    if (m->kinds[k] == kind) return m->create && m->destroy && m->lock && m->unlock;
  return 0;
}

/* The host's memory if the guest takes it, else the first kind that can be made. */
static int32_t choose(const needs *w, const guest_memory_table *m) {
  for (int k = 0; k < w->n_kinds; k++)
    if (w->kinds[k] == GUEST_HOST_MEMORY) return GUEST_HOST_MEMORY;
  for (int k = 0; k < w->n_kinds; k++)
    if (is_own(m, w->kinds[k])) return w->kinds[k];
  return 0;
}

static tn_status read_needs(const tn_accelerator_call *call, const device *d, const call_of *c,
                            uint32_t port, const tn_tensor *type, buffer *b) {
  const int is_output = port >= c->n_inputs;
  needs *w = NULL;
  b->type = lrt_type(type);
  b->bytes = b->packed_bytes = (size_t)tn_bytes(type);
  tn_status s = lrt_check(
      call,
      is_output
          ? d->api.table->output_needs(c->call, (int)(port - c->n_inputs), &b->type, (void **)&w)
          : d->api.table->input_needs(c->call, (int)port, &b->type, (void **)&w),
      "requirements of a port");
  if (!s && !w) s = call->host->fail(call->ctx, TN_ERR_INVALID, "the guest gives no requirements");
  if (s) return s;
  b->kind = choose(w, d->api.memory);
  if (w->bytes > b->bytes) b->bytes = w->bytes;
  if (!b->kind)
    s = call->host->fail(call->ctx, TN_ERR_UNSUPPORTED,
                         "the guest wants memory of kind %d, which is not had here", w->kinds[0]);
  free(w);
  return s;
}

static tn_status add_buffer(const tn_accelerator_call *call, const device *d, const call_of *c,
                            uint32_t port) {
  const guest_dispatch_table *t = d->api.table;
  buffer *b = &c->ports[port];
  const int is_output = port >= c->n_inputs;
  tn_status s = lrt_check(call, t->buffer_add(d->device, b, &b->handle), "buffer");
  if (s) return s;
  b->is_added = 1;
  s = lrt_check(call,
                is_output ? t->attach_output(c->call, (int)(port - c->n_inputs), b->handle)
                          : t->attach_input(c->call, (int)port, b->handle),
                "attaching of a buffer");
  b->is_attached = !s;
  return s;
}

static void remove_buffer(const device *d, const call_of *c, uint32_t port) {
  const guest_dispatch_table *t = d->api.table;
  buffer *b = &c->ports[port];
  if (b->is_attached && port < c->n_inputs) (void)t->detach_input(c->call, (int)port, b->handle);
  if (b->is_attached && port >= c->n_inputs)
    (void)t->detach_output(c->call, (int)(port - c->n_inputs), b->handle);
  if (b->is_added) (void)t->buffer_remove(d->device, b->handle);
  b->is_added = b->is_attached = 0;
}

/* The vendor's own memory is made once; the host's comes with each run. */
static tn_status open_port(const tn_accelerator_call *call, const device *d, const call_of *c,
                           uint32_t port, const tn_tensor *type) {
  buffer *b = &c->ports[port];
  tn_status s = read_needs(call, d, c, port, type, b);
  if (s || b->kind == GUEST_HOST_MEMORY) return s;
  s = lrt_check(
      call,
      d->api.memory->create(NULL, NULL, &b->type, b->kind, b->bytes, b->packed_bytes, &b->own),
      "memory of its own");
  if (!s && !b->own) s = call->host->fail(call->ctx, TN_ERR_INVALID, "the guest gives no memory");
  return s ? s : add_buffer(call, d, c, port);
}

/* ---- loading ---- */

static void unload(const tn_accelerator_call *call, void *loaded) {
  program *p = (program *)loaded;
  const device *d = p->device;
  for (uint32_t k = 0; p->calls && k < p->n_calls; k++) {
    call_of *c = &p->calls[k];
    for (uint32_t i = 0; c->ports && i < c->n_inputs + c->n_outputs; i++) {
      remove_buffer(d, c, i);
      if (c->ports[i].own) (void)d->api.memory->destroy(c->ports[i].own);
    }
    if (c->call) (void)d->api.table->call_free(c->call);
  }
  p->memory.call = call;
  lrt_memory_free(&p->memory);
  call->host->free(call->ctx, p);
}

/* The guest may go on reading the code. */
static tn_status keep_code(program *p, const tn_module *module, uint32_t k, lrt_code *code,
                           char **out_function) {
  const tn_accelerator_call *call = p->memory.call;
  const char *function = NULL;
  const char *wrong = lrt_unpack(module, k, code, &function);
  if (wrong) return call->host->fail(call->ctx, TN_ERR_INVALID, "%s", wrong);
  const size_t size = strlen(function) + 1;
  void *data = lrt_alloc(&p->memory, code->size + 1);
  *out_function = (char *)lrt_alloc(&p->memory, size);
  if (!data || !*out_function) return TN_ERR_MEMORY;
  memcpy(data, code->data, (size_t)code->size);
  memcpy(*out_function, function, size);
  code->data = data;
  return TN_OK;
}

static tn_status load_call(program *p, const tn_module *module, uint32_t k) {
  const tn_accelerator_call *call = p->memory.call;
  const device *d = p->device;
  const tn_entry *e = module->entries[k];
  call_of *c = &p->calls[k];
  lrt_code code;
  char *function = NULL;
  const uint64_t n = (uint64_t)e->n_inputs + e->n_outputs;
  c->n_inputs = e->n_inputs;
  c->n_outputs = e->n_outputs;
  c->ports = (buffer *)lrt_alloc(&p->memory, (n + 1) * sizeof *c->ports);
  if (!c->ports) return TN_ERR_MEMORY;
  tn_status s = keep_code(p, module, k, &code, &function);
  if (s) return s;
  const guest_code shown = {-1, code.data, 0, (size_t)code.size, 0};
  s = lrt_check(call,
                d->api.table->call_new(&d->served, d->device, GUEST_CODE_MODEL, &shown, function,
                                       (int)c->n_inputs, (int)c->n_outputs, &c->call),
                "loading of its byte code");
  for (uint32_t i = 0; i < n && !s; i++)
    s = open_port(call, d, c, i, i < c->n_inputs ? e->inputs[i] : e->outputs[i - c->n_inputs]);
  return s;
}

static tn_status load(const tn_accelerator_call *call, void *opened, const tn_module *module,
                      void **out_program) {
  program *p = (program *)call->host->alloc(call->ctx, sizeof *p);
  if (!p) return TN_ERR_MEMORY;
  *p = (program){.device = (device *)opened, .memory = {.call = call}};
  p->n_calls = module->n_entries;
  p->calls = (call_of *)lrt_alloc(&p->memory, ((uint64_t)p->n_calls + 1) * sizeof *p->calls);
  tn_status s = p->calls ? TN_OK : TN_ERR_MEMORY;
  for (uint32_t k = 0; k < p->n_calls && !s; k++) s = load_call(p, module, k);
  if (s)
    unload(call, p);
  else
    *out_program = p;
  return s;
}

/* ---- running ---- */

static tn_status bind(const tn_accelerator_call *call, const device *d, const call_of *c,
                      uint32_t port, const tn_tensor *t) {
  buffer *b = &c->ports[port];
  if (b->kind != GUEST_HOST_MEMORY || (b->is_attached && b->host == t->data)) return TN_OK;
  remove_buffer(d, c, port);
  b->host = t->data;
  return add_buffer(call, d, c, port);
}

static tn_status copy(const tn_accelerator_call *call, const device *d, const buffer *b,
                      const tn_tensor *t, int is_output) {
  void *memory = NULL;
  if (!b->own) return TN_OK;
  tn_status s = lrt_check(
      call, d->api.memory->lock(b->own, is_output ? GUEST_LOCK_READ : GUEST_LOCK_WRITE, &memory),
      "memory for the host");
  if (!s && !memory) s = call->host->fail(call->ctx, TN_ERR_INVALID, "the guest gives no memory");
  if (s) return s;
  if (is_output)
    memcpy(t->data, memory, (size_t)tn_bytes(t));
  else
    memcpy(memory, t->data, (size_t)tn_bytes(t));
  return lrt_check(call, d->api.memory->unlock(b->own), "memory from the host");
}

static tn_status run(const tn_accelerator_call *call, void *loaded, uint32_t index,
                     const tn_tensor *const *inputs, tn_tensor *const *outputs) {
  const program *p = (const program *)loaded;
  const device *d = p->device;
  const call_of *c = &p->calls[index];
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < c->n_inputs && !s; k++) {
    s = bind(call, d, c, k, inputs[k]);
    if (!s) s = copy(call, d, &c->ports[k], inputs[k], 0);
  }
  for (uint32_t k = 0; k < c->n_outputs && !s; k++)
    s = bind(call, d, c, c->n_inputs + k, outputs[k]);
  if (!s) s = lrt_check(call, d->api.table->invoke(c->call), "run");
  for (uint32_t k = 0; k < c->n_outputs && !s; k++)
    s = copy(call, d, &c->ports[c->n_inputs + k], outputs[k], 1);
  return s;
}

const tn_dispatcher lrt_dispatcher = {.head = TN_HEAD(tn_dispatcher),
                                      .name = "litert",
                                      .vendor = "LiteRT's vendors",
                                      .format = LRT_FORMAT,
                                      .open = open_device,
                                      .close = close_device,
                                      .load = load,
                                      .unload = unload,
                                      .run = run,
                                      .stamp = stamp};
