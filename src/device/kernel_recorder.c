/* What record() of a kernel of devices gives its commands to: bindings are looked up and checked,
 * programs built, and both handed to the recording. */
#include <string.h>

#include "device/internal.h"

enum { MAX_BINDINGS = 64 };

typedef struct kernel_recorder {
  tn_device *device;
  const tn_device_kernel *kernel;
  const char *name;
  const tn_call *call;
  const tn_device_range *places;
  tn_recording *recording; /* NULL: nothing is recorded */
  tn_diag *diag;
  tn_status status; /* of the first command that failed */
} kernel_recorder;

#define FAIL(r, status_, format, ...)                                              \
  tn_fail((r)->diag, (r)->status = (status_), "device '%s', kernel '%s': " format, \
          (r)->device->name, (r)->name, __VA_ARGS__)

/* ---- bindings ---- */

static const tn_device_range *place_of(const kernel_recorder *r, const tn_binding *b) {
  const uint32_t n_in = r->call->n_inputs, n_out = r->call->n_outputs;
  if (b->kind == TN_BIND_INPUT && b->index < n_in) return &r->places[b->index];
  if (b->kind == TN_BIND_OUTPUT && b->index < n_out) return &r->places[n_in + b->index];
  if (b->kind == TN_BIND_STATE) return &r->places[n_in + n_out];
  if (b->kind == TN_BIND_SCRATCH) return &r->places[n_in + n_out + 1];
  return NULL;
}

static tn_status locate(kernel_recorder *r, const tn_binding *b, tn_device_range *out) {
  *out = (tn_device_range){.head = TN_HEAD(tn_device_range)};
  if (b->kind == TN_BIND_NONE) return TN_OK;
  const tn_device_range *place = place_of(r, b);
  if (!place)
    return FAIL(r, TN_ERR_INVALID, "a binding of kind %u and index %u is not in the call", b->kind,
                b->index);
  if (!place->buffer) return TN_OK;
  if (b->offset > place->bytes || b->bytes > place->bytes - b->offset)
    return FAIL(r, TN_ERR_INVALID, "a binding of %llu bytes at %llu is outside of its %llu bytes",
                (unsigned long long)b->bytes, (unsigned long long)b->offset,
                (unsigned long long)place->bytes);
  out->offset = place->offset + b->offset;
  out->bytes = b->bytes ? b->bytes : place->bytes - b->offset;
  if (out->bytes) out->buffer = place->buffer;
  return TN_OK;
}

static bool is_written(const tn_binding *b) {
  return b->kind == TN_BIND_OUTPUT || b->kind == TN_BIND_SCRATCH;
}

/* ---- limits ---- */

static uint32_t n_words(const char *text) {
  uint32_t n = 0;
  for (const char *p = text; p && *(p += strspn(p, " ")); p += strcspn(p, " ")) n++;
  return n;
}

static tn_status check_dispatch(kernel_recorder *r, const tn_dispatch *d) {
  const tn_device_info *info = &r->device->info;
  if (d->program >= r->kernel->n_programs)
    return FAIL(r, TN_ERR_INVALID, "program %u of %u", d->program, r->kernel->n_programs);
  const tn_program *program = r->kernel->programs[d->program];
  const uint32_t most =
      info->max_bindings && info->max_bindings < MAX_BINDINGS ? info->max_bindings : MAX_BINDINGS;
  if (d->n_bindings > most)
    return FAIL(r, TN_ERR_UNSUPPORTED, "%u bindings, at most %u", d->n_bindings, most);
  if (d->n_constants != n_words(program->constants))
    return FAIL(r, TN_ERR_INVALID, "%u constants, program '%s' has %u", d->n_constants,
                program->name, n_words(program->constants));
  if (info->max_params_bytes && d->params_bytes > info->max_params_bytes)
    return FAIL(r, TN_ERR_UNSUPPORTED, "%u bytes of params, at most %u", d->params_bytes,
                info->max_params_bytes);
  for (int k = 0; k < 3; k++)
    if (!d->groups[k] || (info->max_groups[k] && d->groups[k] > info->max_groups[k]))
      return FAIL(r, TN_ERR_UNSUPPORTED, "%u groups in dim %d, 1 to %u", d->groups[k], k,
                  info->max_groups[k]);
  return TN_OK;
}

static tn_status check_offset(kernel_recorder *r, const tn_device_range *range) {
  if (!range->buffer || range->offset % r->device->info.offset_alignment == 0) return TN_OK;
  return FAIL(r, TN_ERR_UNSUPPORTED, "a binding at byte %llu, the device wants multiples of %llu",
              (unsigned long long)range->offset,
              (unsigned long long)r->device->info.offset_alignment);
}

/* ---- commands ---- */

static tn_status dispatch(void *ctx, const tn_dispatch *d) {
  kernel_recorder *r = ctx;
  tn_device_range ranges[MAX_BINDINGS];
  const tn_device_range *pointers[MAX_BINDINGS];
  bool writes[MAX_BINDINGS];
  void *program;
  if (r->status || check_dispatch(r, d)) return r->status;
  for (uint32_t k = 0; k < d->n_bindings; k++) {
    if (locate(r, d->bindings[k], &ranges[k]) || check_offset(r, &ranges[k])) return r->status;
    pointers[k] = &ranges[k];
    writes[k] = is_written(d->bindings[k]);
  }
  r->status = tn_device_program_get(r->device, r->kernel->programs[d->program], d->constants,
                                    d->n_constants, r->diag, &program);
  if (!r->status && r->recording)
    r->status =
        tn_recording_dispatch(r->recording, program, pointers, writes, d->n_bindings, d, r->diag);
  return r->status;
}

static tn_status copy(void *ctx, const tn_binding *from, const tn_binding *to) {
  kernel_recorder *r = ctx;
  tn_device_range source, target;
  if (r->status || locate(r, from, &source) || locate(r, to, &target)) return r->status;
  if (source.bytes != target.bytes || !is_written(to))
    return FAIL(r, TN_ERR_INVALID, "a copy of %llu bytes into %llu, or into what is only read",
                (unsigned long long)source.bytes, (unsigned long long)target.bytes);
  const bool is_in_place = source.buffer == target.buffer && source.offset == target.offset;
  if (r->recording && target.bytes && !is_in_place)
    r->status = tn_recording_copy(r->recording, &source, &target, r->diag);
  return r->status;
}

static tn_status fill(void *ctx, const tn_binding *to, uint32_t word) {
  kernel_recorder *r = ctx;
  tn_device_range target;
  if (r->status || locate(r, to, &target)) return r->status;
  if (!is_written(to)) return FAIL(r, TN_ERR_INVALID, "a fill of %s", "what is only read");
  if (r->recording && target.bytes)
    r->status = tn_recording_fill(r->recording, &target, word, r->diag);
  return r->status;
}

static tn_status record(kernel_recorder *r) {
  const tn_recorder recorder = {
      .head = TN_HEAD(tn_recorder), .ctx = r, .dispatch = dispatch, .copy = copy, .fill = fill};
  tn_recorder passed = recorder;
  char text[TN_ANSWER_TEXT];
  const tn_status status = tn_answer_status(r->kernel->record(r->call, &passed), text, sizeof text);
  if (r->status || !status) return r->status;
  return FAIL(r, status, "record() fails: %s", *text ? text : tn_status_text(status));
}

tn_status tn_device_kernel_record(tn_recording *recording, const tn_kerneldef *def,
                                  const tn_call *call, const tn_device_range *places,
                                  tn_diag *diag) {
  kernel_recorder r = {.device = recording->device,
                       .kernel = def->device,
                       .name = def->kernel.name,
                       .call = call,
                       .places = places,
                       .recording = recording,
                       .diag = diag};
  return record(&r);
}

/* A place of that size, somewhere. */
static tn_device_range some_place(tn_device *d, int64_t bytes) {
  return (tn_device_range){TN_HEAD(tn_device_range), bytes > 0 ? d : NULL, 0,
                           bytes > 0 ? (uint64_t)bytes : 0};
}

static int64_t bytes_of(const tn_tensor *t) { return t ? tn_storage_bytes(t) : 0; }

tn_status tn_device_kernel_try(tn_device *d, const tn_kerneldef *def, const tn_call *call,
                               const tn_kernel_plan *plan, tn_diag *diag) {
  const uint64_t n = (uint64_t)call->n_inputs + call->n_outputs + 2;
  tn_device_range *places = tn_alloc(d->a, n * sizeof *places);
  uint32_t at = 0;
  if (!places) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < call->n_inputs; k++)
    places[at++] = some_place(d, bytes_of(call->inputs[k]));
  for (uint32_t k = 0; k < call->n_outputs; k++)
    places[at++] = some_place(d, bytes_of(call->outputs[k]));
  places[at++] = some_place(d, (int64_t)plan->state_bytes);
  places[at++] = some_place(d, (int64_t)plan->scratch_bytes);
  kernel_recorder r = {.device = d,
                       .kernel = def->device,
                       .name = def->kernel.name,
                       .call = call,
                       .places = places,
                       .diag = diag};
  const tn_status status = record(&r);
  tn_free(d->a, places, n * sizeof *places);
  return status;
}
