/* Buffers of the caller's on the devices of a model, and binding inputs and outputs to them. */
#include "exec/device_buffer.h"

#include <string.h>

#include "base/abi.h"
#include "exec/session.h"

/* ---- buffers ---- */

static tn_device *device_of(const tn_model *m, const char *name) {
  const tn_planner *p = &m->planner;
  for (uint32_t k = 0; k < p->n_devices; k++) {
    const char *have = p->devices[k]->name;
    const size_t n = name ? strlen(name) : 0;
    const bool is_first = name && !strncmp(have, name, n) && !strcmp(have + n, ":0");
    if (!name || !strcmp(have, name) || is_first) return p->devices[k];
  }
  return NULL;
}

static tn_status open_buffer(tn_device_buffer *b, tn_device *d, uint64_t bytes, tn_diag *diag) {
  b->bytes = bytes;
  b->number = (uint64_t)atomic_fetch_add(&b->model->runtime->n_buffers, 1) + 1;
  const uint64_t room = tn_round_up(bytes ? bytes : 1, TN_BUFFER_UNIT);
  tn_status status = tn_buffer_open(d, room, TN_BUFFER_DEVICE, "a buffer", diag, &b->buffer);
  return status ? status : tn_buffer_clear(&b->buffer, "clearing a buffer", diag);
}

tn_status tn_device_buffer_create(tn_model *model, const char *device, uint64_t bytes,
                                  tn_diag *diag, tn_device_buffer **out_buffer) {
  static const char name[] = "tn_device_buffer_create";
  if (!out_buffer) return TN_ERR_INVALID;
  *out_buffer = NULL;
  if (!model) return tn_fail(diag, TN_ERR_INVALID, "%s: no model", name);
  tn_device *d = device_of(model, device);
  if (!d && !device)
    return tn_fail(diag, TN_ERR_NOT_FOUND, "%s: the model was loaded without a device", name);
  if (!d)
    return tn_fail(diag, TN_ERR_NOT_FOUND, "%s: '%s' is no device that the model was loaded for",
                   name, device);
  if (bytes > INT64_MAX / 2)
    return tn_fail(diag, TN_ERR_OVERFLOW, "%s: %llu bytes", name, (unsigned long long)bytes);
  tn_device_check_process(d);
  if (tn_device_is_lost(d))
    return tn_fail(diag, TN_ERR_IO, "%s: device '%s' is lost", name, d->name);
  const tn_allocator *a = &model->runtime->allocator;
  tn_device_buffer *b = tn_alloc(a, sizeof *b);
  if (!b) return tn_fail(diag, TN_ERR_MEMORY, "%s: no memory", name);
  atomic_init(&b->refs, 1);
  b->model = model;
  atomic_fetch_add_explicit(&model->refs, 1, memory_order_relaxed);
  const tn_status status = open_buffer(b, d, bytes, diag);
  if (status) atomic_store(&d->refused, 0); /* no plan was refused anything */
  if (status)
    tn_device_buffer_destroy(b);
  else
    *out_buffer = b;
  return status;
}

void tn_device_buffer_retain(tn_device_buffer *b) {
  atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
}

void tn_device_buffer_destroy(tn_device_buffer *buffer) {
  if (!buffer || atomic_fetch_sub_explicit(&buffer->refs, 1, memory_order_acq_rel) > 1) return;
  tn_model *model = buffer->model;
  tn_device *d = buffer->buffer.device;
  if (d) tn_device_check_process(d);
  if (d) tn_buffer_close(&buffer->buffer);
  tn_free(&model->runtime->allocator, buffer, sizeof *buffer);
  tn_model_destroy(model);
}

static tn_status check_range(const tn_device_buffer *b, uint64_t offset, const void *data,
                             uint64_t bytes, const char *name, tn_diag *diag) {
  if (!b) return tn_fail(diag, TN_ERR_INVALID, "%s: no buffer", name);
  if (!data && bytes) return tn_fail(diag, TN_ERR_INVALID, "%s: no memory is given", name);
  if (offset > b->bytes || bytes > b->bytes - offset)
    return tn_fail(diag, TN_ERR_INVALID, "%s: %llu bytes from %llu on; the buffer has %llu", name,
                   (unsigned long long)bytes, (unsigned long long)offset,
                   (unsigned long long)b->bytes);
  tn_device_check_process(b->buffer.device);
  if (tn_device_is_lost(b->buffer.device))
    return tn_fail(diag, TN_ERR_IO, "%s: device '%s' is lost", name, b->buffer.device->name);
  return TN_OK;
}

tn_status tn_device_buffer_write(tn_device_buffer *buffer, uint64_t offset, const void *data,
                                 uint64_t bytes, tn_diag *diag) {
  const tn_status status = check_range(buffer, offset, data, bytes, "tn_device_buffer_write", diag);
  if (status || !bytes) return status;
  return tn_buffer_write(&buffer->buffer, offset, data, bytes, "writing to a buffer", diag);
}

tn_status tn_device_buffer_read(tn_device_buffer *buffer, uint64_t offset, void *data,
                                uint64_t bytes, tn_diag *diag) {
  const tn_status status = check_range(buffer, offset, data, bytes, "tn_device_buffer_read", diag);
  if (status || !bytes) return status;
  return tn_buffer_read(&buffer->buffer, offset, data, bytes, "reading a buffer", diag);
}

bool tn_placed_holds(const tn_placed *p, int64_t bytes) {
  const uint64_t room = p->buffer->buffer.bytes;
  if (bytes < 0 || p->offset > room) return false;
  return tn_round_up((uint64_t)bytes, TN_BUFFER_UNIT) <= room - p->offset;
}

/* ---- binding ---- */

static tn_status check_place(const tn_session *s, const char *what, const char *name,
                             const tn_placed *p, tn_diag *diag) {
  if (p->buffer->model != s->model)
    return tn_fail(diag, TN_ERR_INVALID, "%s '%s': the buffer is of another model", what, name);
  uint64_t unit = p->buffer->buffer.device->info.offset_alignment;
  unit = unit > TN_BUFFER_UNIT ? unit : TN_BUFFER_UNIT;
  if (p->offset % unit || p->offset > p->buffer->bytes)
    return tn_fail(diag, TN_ERR_INVALID,
                   "%s '%s': offset %llu in a buffer of %llu bytes; it is a multiple of %llu, and "
                   "inside",
                   what, name, (unsigned long long)p->offset, (unsigned long long)p->buffer->bytes,
                   (unsigned long long)unit);
  return TN_OK;
}

void tn_session_place(tn_placed *place, tn_tensor *t, tn_device_buffer *buffer, uint64_t offset) {
  if (buffer) tn_device_buffer_retain(buffer);
  tn_device_buffer_destroy(place->buffer);
  *place = (tn_placed){.buffer = buffer, .offset = offset};
  t->object = buffer ? (uint64_t)(uintptr_t)place : 0;
}

tn_status tn_session_bind_input(tn_session *session, int32_t index, const tn_tensor *type,
                                tn_device_buffer *buffer, uint64_t offset, tn_diag *diag) {
  if (!session) return TN_ERR_INVALID;
  if (!buffer) return tn_session_set_input(session, index, NULL, diag);
  tn_status status = tn_session_check_input(session, index, type, diag);
  if (status) return status;
  const char *name = tn_model_input_name(session->model, index);
  const tn_placed place = {.buffer = buffer, .offset = offset};
  if (!type || type->kind != TN_KIND_TENSOR || type->dtype == TN_STRING)
    return tn_fail(diag, TN_ERR_INVALID,
                   "input '%s': a buffer of a device holds tensors that are no strings", name);
  status = check_place(session, "input", name, &place, diag);
  if (status) return status;
  if (!tn_placed_holds(&place, tn_tensor_bytes(type)))
    return tn_fail(diag, TN_ERR_SHAPE,
                   "input '%s' needs %lld bytes, the buffer has %llu from offset %llu on", name,
                   (long long)tn_tensor_bytes(type), (unsigned long long)(buffer->bytes - offset),
                   (unsigned long long)offset);
  session->inputs[index] = tn_tensor_in(type);
  session->inputs[index].data = NULL;
  session->input_of[index] = &session->inputs[index];
  tn_session_place(&session->input_places[index], &session->inputs[index], buffer, offset);
  return TN_OK;
}

tn_status tn_session_bind_output(tn_session *session, int32_t index, tn_device_buffer *buffer,
                                 uint64_t offset, tn_diag *diag) {
  if (!session) return TN_ERR_INVALID;
  if (!buffer) return tn_session_set_output(session, index, NULL, diag);
  tn_status status = tn_session_check_output(session, index, NULL, diag);
  const tn_placed place = {.buffer = buffer, .offset = offset};
  if (!status)
    status =
        check_place(session, "output", tn_model_output_name(session->model, index), &place, diag);
  if (status) return status;
  session->bound[index] = tn_tensor_make(TN_NONE, 0, NULL, NULL);
  session->bound_of[index] = &session->bound[index];
  tn_session_place(&session->output_places[index], &session->bound[index], buffer, offset);
  return TN_OK;
}
