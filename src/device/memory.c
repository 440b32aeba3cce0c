/* Buffers of devices, and what lies in them for longer than a run: constants and prepared states,
 * once per model and device. */
#include <stdio.h>
#include <string.h>

#include "device/internal.h"

/* ---- buffers ---- */

static const char *bytes_text(uint64_t bytes, char *buf, size_t size) {
  snprintf(buf, size, "%.1f MiB", (double)bytes / (1 << 20));
  return buf;
}

static tn_status too_large(const tn_device *d, uint64_t bytes, const char *what, tn_diag *diag) {
  char a[32], b[32];
  atomic_store(&((tn_device *)(uintptr_t)d)->refused, 1);
  return tn_fail(diag, TN_ERR_MEMORY, "device '%s': %s needs %s, a buffer there holds %s", d->name,
                 what, bytes_text(bytes, a, sizeof a),
                 bytes_text(d->info.max_buffer_bytes, b, sizeof b));
}

tn_status tn_buffer_open(tn_device *d, uint64_t bytes, uint32_t use, const char *what,
                         tn_diag *diag, tn_buffer *out) {
  const tn_device_driver *driver = &d->def->driver;
  tn_device_talk t;
  char text[32];
  *out = (tn_buffer){.device = d, .bytes = bytes};
  if (!bytes) return TN_OK;
  if (d->info.max_buffer_bytes && bytes > d->info.max_buffer_bytes)
    return too_large(d, bytes, what, diag);
  tn_device_talk_open(&t, d);
  tn_status status =
      tn_device_made(&t, driver->buffer_new(&t.call, d->handle, bytes, use, &out->handle),
                     "buffer_new", &out->handle);
  if (!status && use != TN_BUFFER_DEVICE)
    status = tn_device_made(&t, driver->buffer_map(&t.call, out->handle, &out->map), "buffer_map",
                            &out->map);
  if (status && out->handle) driver->buffer_free(&t.call, out->handle);
  tn_device_talk_close(&t);
  if (!status) return TN_OK;
  *out = (tn_buffer){.device = d};
  atomic_store(&d->refused, 1);
  return tn_fail(diag, status, "device '%s': %s needs %s: %s", d->name, what,
                 bytes_text(bytes, text, sizeof text), t.text);
}

void tn_buffer_close(tn_buffer *b) {
  if (!b->handle || atomic_load(&b->device->hangs)) return;
  tn_device_talk t;
  tn_device_talk_open(&t, b->device);
  b->device->def->driver.buffer_free(&t.call, b->handle);
  tn_device_talk_close(&t);
  b->handle = NULL;
}

tn_status tn_buffer_sync(const tn_buffer *b, uint64_t offset, uint64_t bytes, bool to_device) {
  const tn_device_driver *driver = &b->device->def->driver;
  if (!driver->buffer_sync || !bytes) return TN_OK;
  tn_device_talk t;
  tn_device_talk_open(&t, b->device);
  const tn_status status =
      tn_device_answer(&t, driver->buffer_sync(&t.call, b->handle, offset, bytes, to_device));
  tn_device_talk_close(&t);
  return status;
}

/* Submits to the device's own queue and waits: while planning there is nothing to do beside it. Its
 * last command is a witness. */
static tn_status run_alone(tn_device *d, void *recording, const char *what, tn_diag *diag) {
  static const double LIMIT_NS = 10e9;
  const tn_device_driver *driver = &d->def->driver;
  tn_device_talk t;
  const bool is_serial = d->info.flags & TN_DEVICE_SERIAL; /* then the talk holds the lock */
  tn_device_talk_open(&t, d);
  if (!is_serial) pthread_mutex_lock(&d->lock);
  tn_status status =
      tn_device_answer_submit(&t, driver->submit(&t.call, d->queue, recording, ++d->mark));
  if (!status) status = tn_device_wait(&t, d->queue, d->mark, LIMIT_NS);
  if (!is_serial) pthread_mutex_unlock(&d->lock);
  tn_device_talk_close(&t);
  if (!status) status = tn_witness_hear(d, t.text, sizeof t.text);
  return tn_device_report(&t, status, diag, what);
}

/* One command by itself: a copy, or where there is no `from` zeros. */
static tn_status do_alone(tn_device *d, const tn_device_range *from, const tn_device_range *to,
                          const char *what, tn_diag *diag) {
  tn_recording r;
  pthread_mutex_lock(&d->witness.lock);
  tn_status status = tn_recording_begin(&r, d, diag);
  if (!status)
    status = from ? tn_recording_copy(&r, from, to, diag) : tn_recording_fill(&r, to, 0, diag);
  if (!status) status = tn_witness_call(&r, diag);
  if (!status) status = tn_recording_end(&r, diag);
  if (!status) status = run_alone(d, r.handle, what, diag);
  tn_recording_close(&r);
  pthread_mutex_unlock(&d->witness.lock);
  return status;
}

enum { CHUNK = 16 << 20 };

static uint64_t chunk(uint64_t bytes) { return bytes < CHUNK ? bytes : CHUNK; }

tn_status tn_buffer_write(const tn_buffer *to, uint64_t offset, const void *data, uint64_t bytes,
                          const char *what, tn_diag *diag) {
  tn_buffer up;
  tn_device *d = to->device;
  tn_status status = tn_buffer_open(d, chunk(bytes), TN_BUFFER_UPLOAD, what, diag, &up);
  for (uint64_t at = 0, n; at < bytes && !status; at += n) {
    n = chunk(bytes - at);
    memcpy(up.map, (const uint8_t *)data + at, (size_t)n);
    const tn_device_range from = {TN_HEAD(tn_device_range), up.handle, 0, n};
    const tn_device_range into = {TN_HEAD(tn_device_range), to->handle, offset + at, n};
    status = tn_buffer_sync(&up, 0, n, true);
    if (!status) status = do_alone(d, &from, &into, what, diag);
  }
  tn_buffer_close(&up);
  return status;
}

tn_status tn_buffer_read(const tn_buffer *from, uint64_t offset, void *data, uint64_t bytes,
                         const char *what, tn_diag *diag) {
  tn_buffer down;
  tn_device *d = from->device;
  tn_status status = tn_buffer_open(d, chunk(bytes), TN_BUFFER_DOWNLOAD, what, diag, &down);
  for (uint64_t at = 0, n; at < bytes && !status; at += n) {
    n = chunk(bytes - at);
    const tn_device_range out = {TN_HEAD(tn_device_range), from->handle, offset + at, n};
    const tn_device_range into = {TN_HEAD(tn_device_range), down.handle, 0, n};
    status = do_alone(d, &out, &into, what, diag);
    if (!status) status = tn_buffer_sync(&down, 0, n, false);
    if (!status) memcpy((uint8_t *)data + at, down.map, (size_t)n);
  }
  tn_buffer_close(&down);
  return status;
}

tn_status tn_buffer_clear(const tn_buffer *b, const char *what, tn_diag *diag) {
  const tn_device_range all = {TN_HEAD(tn_device_range), b->handle, 0, b->bytes};
  return b->bytes ? do_alone(b->device, NULL, &all, what, diag) : TN_OK;
}

/* ---- residents ---- */

struct tn_residents {
  const tn_allocator *a;
  pthread_mutex_t lock;
  tn_resident *first;
};

tn_status tn_residents_create(const tn_allocator *a, tn_residents **out_residents) {
  tn_residents *all = tn_alloc(a, sizeof *all);
  *out_residents = NULL;
  if (!all) return TN_ERR_MEMORY;
  all->a = a;
  if (pthread_mutex_init(&all->lock, NULL)) {
    tn_free(a, all, sizeof *all);
    return TN_ERR_MEMORY;
  }
  *out_residents = all;
  return TN_OK;
}

void tn_residents_destroy(tn_residents *all) {
  if (!all) return;
  pthread_mutex_destroy(&all->lock);
  tn_free(all->a, all, sizeof *all);
}

static tn_status resident_new(tn_residents *all, tn_device *d, const void *key, const void *data,
                              uint64_t bytes, tn_diag *diag, tn_resident **out_resident) {
  tn_resident *one = tn_alloc(all->a, sizeof *one);
  if (!one) return TN_ERR_MEMORY;
  tn_status status = tn_buffer_open(d, bytes, TN_BUFFER_DEVICE, "a constant or prepared state",
                                    diag, &one->buffer);
  if (!status) status = tn_buffer_write(&one->buffer, 0, data, bytes, "copying constants", diag);
  if (status) {
    tn_buffer_close(&one->buffer);
    tn_free(all->a, one, sizeof *one);
    return status;
  }
  one->key = key;
  one->refs = 1;
  one->next = all->first;
  *out_resident = all->first = one;
  return TN_OK;
}

tn_status tn_resident_get(tn_residents *all, tn_device *d, const void *key, const void *data,
                          uint64_t bytes, tn_diag *diag, tn_resident **out_resident) {
  tn_status status = TN_OK;
  pthread_mutex_lock(&all->lock);
  tn_resident *one = all->first;
  while (one && (one->key != key || one->buffer.device != d)) one = one->next;
  if (one) {
    one->refs++;
    *out_resident = one;
  } else {
    status = resident_new(all, d, key, data, bytes, diag, out_resident);
  }
  pthread_mutex_unlock(&all->lock);
  return status;
}

void tn_resident_release(tn_residents *all, tn_resident *resident) {
  if (!resident) return;
  pthread_mutex_lock(&all->lock);
  const bool is_last = --resident->refs == 0;
  tn_resident **at = &all->first;
  while (is_last && *at != resident) at = &(*at)->next;
  if (is_last) *at = resident->next;
  pthread_mutex_unlock(&all->lock);
  if (!is_last) return;
  tn_buffer_close(&resident->buffer);
  tn_free(all->a, resident, sizeof *resident);
}
