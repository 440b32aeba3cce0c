/* Recordings of the shadow device: a list of commands. Between two barriers they run in a random
 * order, one after the other, and a kernel's items in random pieces. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "shadow.h"

typedef enum command_kind { DISPATCH, FUNCTION, COPY, FILL, BARRIER } command_kind;

typedef struct command {
  command_kind kind;
  uint8_t *to;
  const uint8_t *from;
  uint64_t bytes;
  uint32_t word;
  /* DISPATCH: a call of its own, with the addresses of this device; one piece of memory */
  const tn_kernel *kernel;
  tn_call call;
  tn_tensor *tensors;
  const tn_tensor **inputs;
  tn_tensor **outputs;
  /* or a function: the program, addresses of its bindings, a copy of its params */
  const shadow_program *program;
  void **data;
  void *params;
  uint32_t groups[3];
} command;

struct shadow_recording {
  shadow_submission submission;
  shadow_device *device;
  command **commands;
  shadow_buffer **buffers; /* that they touch, each once */
  int32_t n_commands, n_buffers;
  shadow_trouble *trouble; /* of the run that is going on */
};

uint64_t shadow_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* ---- making one ---- */

/* As for a queue: what it fails with is a handle of nothing. */
tn_status shadow_record_begin(const tn_device_call *c, void *device, void **out_recording) {
  shadow_device *d = device;
  if (shadow_fails(d, &d->settings.faults.record)) {
    *out_recording = (void *)(uintptr_t)64;
    return c->host->fail(c->ctx, TN_ERR_MEMORY, "no recording: a fault on demand");
  }
  shadow_recording *r = c->host->alloc(c->ctx, sizeof *r);
  if (!r) return TN_ERR_MEMORY;
  r->submission.recording = r;
  r->device = device;
  *out_recording = r;
  return TN_OK;
}

static void command_free(const tn_device_call *c, command *m) {
  c->host->free(c->ctx, m->tensors);
  c->host->free(c->ctx, (void *)m->inputs);
  c->host->free(c->ctx, (void *)m->outputs);
  c->host->free(c->ctx, (void *)m->data);
  c->host->free(c->ctx, m->params);
  c->host->free(c->ctx, m);
}

/* Room for one more pointer in an array of n, which doubles when n is a power of two. */
static void *grown(const tn_device_call *c, void *array, size_t n) {
  if (n & (n - 1)) return array;
  void *larger = c->host->alloc(c->ctx, (n ? 2 * n : 1) * sizeof(void *));
  if (!larger) return NULL;
  if (n) memcpy(larger, array, n * sizeof(void *));
  c->host->free(c->ctx, array);
  return larger;
}

static tn_status add(const tn_device_call *c, shadow_recording *r, command *m) {
  command **all = grown(c, (void *)r->commands, (size_t)r->n_commands);
  if (!all) {
    command_free(c, m);
    return TN_ERR_MEMORY;
  }
  r->commands = all;
  all[r->n_commands++] = m;
  return TN_OK;
}

static command *new_command(const tn_device_call *c, command_kind kind) {
  command *m = c->host->alloc(c->ctx, sizeof *m);
  if (m) m->kind = kind;
  return m;
}

static tn_status note_buffer(const tn_device_call *c, shadow_recording *r, shadow_buffer *b) {
  const size_t n = (size_t)r->n_buffers;
  for (size_t k = 0; k < n; k++)
    if (r->buffers[k] == b) return TN_OK;
  shadow_buffer **all = grown(c, (void *)r->buffers, n);
  if (!all) return TN_ERR_MEMORY;
  r->buffers = all;
  all[r->n_buffers++] = b;
  return TN_OK;
}

/* Where a range lies. *out_data is NULL for one without a buffer. */
static tn_status locate(const tn_device_call *c, shadow_recording *r, const tn_device_range *range,
                        uint8_t **out_data) {
  shadow_buffer *b = range->buffer;
  *out_data = NULL;
  if (!b) return TN_OK;
  if (b->device != r->device)
    return c->host->fail(c->ctx, TN_ERR_INTERNAL, "a buffer of another device is recorded");
  if (range->offset > b->bytes || range->bytes > b->bytes - range->offset)
    return c->host->fail(c->ctx, TN_ERR_INTERNAL, "bytes %llu to %llu of a buffer of %llu",
                         (unsigned long long)range->offset,
                         (unsigned long long)(range->offset + range->bytes),
                         (unsigned long long)b->bytes);
  *out_data = b->data + range->offset;
  return note_buffer(c, r, b);
}

tn_status shadow_record_copy(const tn_device_call *c, void *recording, const tn_device_range *from,
                             const tn_device_range *to) {
  shadow_recording *r = recording;
  uint8_t *source, *target;
  tn_status status = locate(c, r, from, &source);
  if (!status) status = locate(c, r, to, &target);
  command *m = status ? NULL : new_command(c, COPY);
  if (!m) return status ? status : TN_ERR_MEMORY;
  m->from = source;
  m->to = target;
  m->bytes = to->bytes;
  return add(c, r, m);
}

tn_status shadow_record_fill(const tn_device_call *c, void *recording, const tn_device_range *to,
                             uint32_t word) {
  shadow_recording *r = recording;
  uint8_t *target;
  const tn_status status = locate(c, r, to, &target);
  command *m = status ? NULL : new_command(c, FILL);
  if (!m) return status ? status : TN_ERR_MEMORY;
  m->to = target;
  m->bytes = to->bytes;
  m->word = word;
  return add(c, r, m);
}

tn_status shadow_record_barrier(const tn_device_call *c, void *recording) {
  command *m = new_command(c, BARRIER);
  return m ? add(c, recording, m) : TN_ERR_MEMORY;
}

/* The call with tensors of its own, whose data are on this device. */
static tn_status fill_call(const tn_device_call *c, shadow_recording *r, command *m,
                           const tn_call *call, const tn_device_range *const *ranges,
                           uint32_t n_ranges, uint32_t in_room, uint32_t out_room) {
  uint8_t *data = NULL;
  tn_status status = TN_OK;
  const uint32_t n_tensors = call->n_inputs + call->n_outputs;
  if (n_ranges != n_tensors + 3)
    return c->host->fail(c->ctx, TN_ERR_INTERNAL, "%u ranges for %u tensors", n_ranges, n_tensors);
  m->tensors = c->host->alloc(c->ctx, (n_tensors + 1) * sizeof *m->tensors);
  m->inputs = c->host->alloc(c->ctx, (in_room + 1) * sizeof *m->inputs);
  m->outputs = c->host->alloc(c->ctx, (out_room + 1) * sizeof *m->outputs);
  if (!m->tensors || !m->inputs || !m->outputs) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n_tensors && !status; k++) {
    const bool is_input = k < call->n_inputs;
    const tn_tensor *t = is_input ? call->inputs[k] : call->outputs[k - call->n_inputs];
    if (!t) continue;
    m->tensors[k] = *t;
    status = locate(c, r, ranges[k], &data);
    m->tensors[k].data = data;
    if (is_input)
      m->inputs[k] = &m->tensors[k];
    else
      m->outputs[k - call->n_inputs] = &m->tensors[k];
  }
  m->call = *call;
  m->call.inputs = m->inputs;
  m->call.outputs = m->outputs;
  if (!status) status = locate(c, r, ranges[n_tensors], &data);
  m->call.state = data;
  if (!status) status = locate(c, r, ranges[n_tensors + 1], &data);
  m->call.scratch = data;
  if (!status) status = locate(c, r, ranges[n_tensors + 2], &data);
  m->call.worker_scratch = data;
  return status;
}

static tn_status fill_function(const tn_device_call *c, shadow_recording *r, command *m,
                               const tn_device_range *const *ranges, uint32_t n_ranges,
                               const tn_dispatch *d) {
  tn_status status = TN_OK;
  m->data = c->host->alloc(c->ctx, (n_ranges + 1) * sizeof *m->data);
  m->params = c->host->alloc(c->ctx, (uint64_t)d->params_bytes + 1);
  if (!m->data || !m->params) return TN_ERR_MEMORY;
  if (d->params_bytes) memcpy(m->params, d->params, d->params_bytes);
  memcpy(m->groups, d->groups, sizeof m->groups);
  for (uint32_t k = 0; k < n_ranges && !status; k++) {
    uint8_t *data;
    status = locate(c, r, ranges[k], &data);
    m->data[k] = data;
  }
  return status;
}

static tn_status record_function(const tn_device_call *c, shadow_recording *r,
                                 const shadow_program *program,
                                 const tn_device_range *const *ranges, uint32_t n_ranges,
                                 const tn_dispatch *d) {
  command *m = new_command(c, FUNCTION);
  if (!m) return TN_ERR_MEMORY;
  m->program = program;
  const tn_status status = fill_function(c, r, m, ranges, n_ranges, d);
  if (!status) return add(c, r, m);
  command_free(c, m);
  return status;
}

tn_status shadow_record_dispatch(const tn_device_call *c, void *recording, void *program,
                                 const tn_device_range *const *ranges, uint32_t n_ranges,
                                 const tn_dispatch *d) {
  shadow_recording *r = recording;
  tn_host_kernel_params params;
  if (!((const shadow_program *)program)->kernel)
    return record_function(c, r, program, ranges, n_ranges, d);
  if (d->params_bytes != sizeof params)
    return c->host->fail(c->ctx, TN_ERR_INTERNAL, "%u bytes of params", d->params_bytes);
  memcpy(&params, d->params, sizeof params);
  command *m = new_command(c, DISPATCH);
  if (!m) return TN_ERR_MEMORY;
  m->kernel = ((const shadow_program *)program)->kernel;
  m->call = *params.call;
  m->bytes = params.plan->n_stages;
  const tn_status status =
      fill_call(c, r, m, params.call, ranges, n_ranges, params.n_inputs, params.n_outputs);
  m->from = (const uint8_t *)params.plan;
  if (!status) return add(c, r, m);
  command_free(c, m);
  return status;
}

tn_status shadow_record_end(const tn_device_call *c, void *recording) {
  (void)c, (void)recording;
  return TN_OK;
}

void shadow_record_free(const tn_device_call *c, void *recording) {
  shadow_recording *r = recording;
  for (int32_t k = 0; k < r->n_commands; k++) command_free(c, r->commands[k]);
  c->host->free(c->ctx, (void *)r->commands);
  c->host->free(c->ctx, (void *)r->buffers);
  c->host->free(c->ctx, r);
}

/* ---- the host of kernels that run ---- */

static __attribute__((format(printf, 3, 4))) tn_status kernel_fail(void *ctx, tn_status code,
                                                                   const char *format, ...) {
  shadow_recording *r = ctx;
  va_list args;
  if (!format || *r->trouble->text) return code;
  va_start(args, format);
  vsnprintf(r->trouble->text, sizeof r->trouble->text, format, args);
  va_end(args);
  return code;
}

static __attribute__((format(printf, 3, 4))) void kernel_log(void *ctx, uint32_t level,
                                                             const char *format, ...) {
  (void)ctx, (void)level, (void)format;
}

/* Pages: the host's allocator is not there while a device works. The size stands before them. */
enum { ROOM_BEFORE = 64 };

static void *kernel_alloc(void *ctx, uint64_t bytes) {
  (void)ctx;
  if (bytes > SIZE_MAX / 2) return NULL;
  const uint64_t whole = bytes + ROOM_BEFORE;
  uint8_t *at =
      mmap(NULL, (size_t)whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return NULL;
  memcpy(at, &whole, sizeof whole);
  return at + ROOM_BEFORE;
}

static void kernel_free(void *ctx, void *memory) {
  uint64_t whole;
  (void)ctx;
  if (!memory) return;
  uint8_t *at = (uint8_t *)memory - ROOM_BEFORE;
  memcpy(&whole, at, sizeof whole);
  munmap(at, (size_t)whole);
}

static tn_status kernel_fetch(void *ctx, const tn_graph *graph, int32_t value) {
  (void)ctx, (void)graph, (void)value;
  return TN_OK;
}

static const void *kernel_extension(void *ctx, const char *name) {
  (void)ctx, (void)name;
  return NULL;
}

static tn_status kernel_output_set(void *ctx, uint32_t output, const tn_tensor *value) {
  (void)output, (void)value;
  return kernel_fail(ctx, TN_ERR_STATE, "sets a whole output, which a device cannot");
}

static tn_status kernel_output_resize(void *ctx, uint32_t output, int32_t rank,
                                      const int64_t *shape) {
  (void)output, (void)rank, (void)shape;
  return kernel_fail(ctx, TN_ERR_STATE, "resizes an output, which a device cannot");
}

static const tn_host kernel_host = {.head = TN_HEAD(tn_host),
                                    .fail = kernel_fail,
                                    .log = kernel_log,
                                    .alloc = kernel_alloc,
                                    .free = kernel_free,
                                    .output_set = kernel_output_set,
                                    .output_resize = kernel_output_resize,
                                    .fetch = kernel_fetch,
                                    .get_extension = kernel_extension};

/* ---- running ---- */

static tn_status run_stage(command *m, const tn_kernel_plan *plan, uint32_t stage,
                           uint64_t *state) {
  tn_status status = TN_OK;
  for (int64_t at = 0; at < plan->items[stage] && !status;) {
    const int64_t left = plan->items[stage] - at;
    int64_t n =
        shadow_random(state) % 4 ? left : 1 + (int64_t)(shadow_random(state) % (uint64_t)left);
    const uint32_t worker = (uint32_t)(shadow_random(state) % m->call.n_workers);
    status = m->kernel->run(&m->call, stage, at, at + n, worker);
    at += n;
  }
  return status;
}

static void run_dispatch(shadow_recording *r, command *m, uint64_t *state) {
  const tn_kernel_plan *plan = (const tn_kernel_plan *)(const void *)m->from;
  tn_status status = TN_OK;
  m->call.host = &kernel_host;
  m->call.ctx = r;
  for (uint32_t stage = 0; stage < plan->n_stages && !status; stage++)
    status = run_stage(m, plan, stage, state);
  if (!status || r->trouble->status) return;
  r->trouble->status = status;
  char text[sizeof r->trouble->text];
  memcpy(text, r->trouble->text, sizeof text);
  snprintf(r->trouble->text, sizeof r->trouble->text, "kernel '%s': %.300s", m->kernel->name,
           *text ? text : "failed");
}

/* All groups, from one of them on. */
static void run_function(const command *m, uint64_t *state) {
  const uint64_t nx = m->groups[0], ny = m->groups[1], n = nx * ny * m->groups[2];
  const uint64_t first = shadow_random(state) % n;
  for (uint64_t k = 0; k < n; k++) {
    const uint64_t at = (first + k) % n;
    const uint32_t group[] = {(uint32_t)(at % nx), (uint32_t)(at / nx % ny),
                              (uint32_t)(at / nx / ny)};
    m->program->function.run(m->data, m->params, m->program->constants, group);
  }
}

static void fill(command *m) {
  for (uint64_t k = 0; k < m->bytes; k++) m->to[k] = (uint8_t)(m->word >> 8 * (k % 4));
}

static void run_command(shadow_recording *r, command *m, uint64_t *state) {
  if (m->kind == DISPATCH) run_dispatch(r, m, state);
  if (m->kind == FUNCTION) run_function(m, state);
  if (m->kind == COPY && m->bytes) memcpy(m->to, m->from, (size_t)m->bytes);
  if (m->kind == FILL) fill(m);
}

/* Fisher and Yates. */
static void shuffle(command **all, int32_t n, uint64_t *state) {
  for (int32_t k = n - 1; k > 0; k--) {
    const int32_t other = (int32_t)(shadow_random(state) % (uint64_t)(k + 1));
    command *m = all[k];
    all[k] = all[other];
    all[other] = m;
  }
}

shadow_submission *shadow_recording_submission(shadow_recording *r) { return &r->submission; }

void shadow_recording_run(shadow_recording *r, uint64_t *state, shadow_trouble *trouble) {
  r->trouble = trouble;
  for (int32_t k = 0; k < r->n_buffers; k++) shadow_buffer_enter(r->buffers[k]);
  for (int32_t k = 0, end; k < r->n_commands; k = end + 1) {
    for (end = k; end < r->n_commands && r->commands[end]->kind != BARRIER;) end++;
    if (!r->device->settings.in_order) shuffle(r->commands + k, end - k, state);
    for (int32_t i = k; i < end; i++) run_command(r, r->commands[i], state);
  }
  for (int32_t k = 0; k < r->n_buffers; k++) shadow_buffer_leave(r->buffers[k]);
}
