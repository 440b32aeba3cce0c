/* The driver table of the shadow device, its devices, memory and programs. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shadow.gen.h"
#include "shadow.h"

/* ---- devices ---- */

static tn_status count(const tn_device_call *c, uint32_t *out_n) {
  shadow_settings s;
  const tn_status status = shadow_settings_read(c, &s);
  *out_n = status ? 0 : (uint32_t)s.devices;
  return status;
}

bool shadow_fails(shadow_device *d, int64_t *fault) {
  pthread_mutex_lock(&d->lock);
  const bool fails = *fault < 0 || (*fault > 0 && --*fault == 0);
  pthread_mutex_unlock(&d->lock);
  return fails;
}

static tn_status open_device(const tn_device_call *c, uint32_t index, void **out_device) {
  shadow_settings s;
  const tn_status status = shadow_settings_read(c, &s);
  if (status) return status;
  if (s.faults.open)
    return c->host->fail(c->ctx, TN_ERR_NOT_FOUND, "cannot be opened: a fault on demand");
  shadow_device *d = c->host->alloc(c->ctx, sizeof *d);
  if (!d) return TN_ERR_MEMORY;
  if (pthread_mutex_init(&d->lock, NULL)) {
    c->host->free(c->ctx, d);
    return TN_ERR_MEMORY;
  }
  d->settings = s;
  d->settings.seed += index;
  *out_device = d;
  return TN_OK;
}

static void close_device(const tn_device_call *c, void *device) {
  shadow_device *d = device;
  pthread_mutex_destroy(&d->lock);
  c->host->free(c->ctx, d);
}

static tn_status describe(const tn_device_call *c, void *device, tn_device_info *info) {
  const shadow_settings *s = &((shadow_device *)device)->settings;
  (void)c;
  info->name = "the CPU in disguise";
  info->stamp = "shadow 1";
  info->flags = TN_DEVICE_SMALL_STORES;
  info->memory_bytes = s->memory;
  info->offset_alignment = s->alignment;
  info->dispatch_ns = 0.001; /* so that kernels are chosen as for the CPU: the same bits come out */
  info->host_kernel_speed = (double)s->speed / 100;
  return TN_OK;
}

/* By chance, but always the same operators of a seed. */
static bool is_hidden(const shadow_settings *s, const char *op) {
  uint64_t hash = s->seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
  for (const char *p = op; *p; p++) hash = (hash ^ (uint8_t)*p) * UINT64_C(0x100000001B3);
  return (hash >> 33) % 100 < s->hide;
}

static const char *refuse(const tn_device_call *c, void *device, const tn_kernel *kernel) {
  (void)c;
  const bool hidden = is_hidden(&((shadow_device *)device)->settings, kernel->op);
  return hidden ? "the operator is hidden from it (TENON_SHADOW)" : NULL;
}

/* ---- memory: pages of its own, and one behind them that nobody may touch ---- */

enum { ALWAYS_CLOSED = 64 }; /* for so many runs */

static uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

static bool is_closed(const shadow_buffer *b) {
  return b->use == TN_BUFFER_DEVICE && !b->device->settings.open_memory;
}

static bool has_room(shadow_device *d, uint64_t bytes) {
  const uint64_t limit = d->settings.memory;
  pthread_mutex_lock(&d->lock);
  const bool fits = !limit || (bytes <= limit && d->bytes <= limit - bytes);
  if (fits) d->bytes += bytes;
  pthread_mutex_unlock(&d->lock);
  return fits;
}

static void give_room(shadow_device *d, uint64_t bytes) {
  pthread_mutex_lock(&d->lock);
  d->bytes -= bytes;
  pthread_mutex_unlock(&d->lock);
}

/* The end of the buffer is the end of a page, as far as the alignment of 64 allows. */
static bool map_pages(shadow_buffer *b) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  if (b->bytes > UINT64_MAX / 2) return false;
  b->mapped = round_up(round_up(b->bytes, 64), page) + page;
  void *at =
      mmap(NULL, (size_t)b->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return false;
  const uint64_t usable = b->mapped - page;
  mprotect((uint8_t *)at + usable, (size_t)page, PROT_NONE);
  /* what nobody has written is nonsense, not zero */
  memset(at, 0xFB, (size_t)usable);
  b->data = (uint8_t *)at + (usable - round_up(b->bytes, 64));
  if (is_closed(b)) mprotect(at, (size_t)usable, PROT_NONE);
  return true;
}

static void *pages_of(const shadow_buffer *b, uint64_t *out_bytes) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  *out_bytes = b->mapped - page;
  return b->data - (*out_bytes - round_up(b->bytes, 64));
}

static void protect(shadow_buffer *b, int how) {
  uint64_t bytes;
  void *at = pages_of(b, &bytes);
  mprotect(at, (size_t)bytes, how);
}

void shadow_buffer_enter(shadow_buffer *b) {
  if (!is_closed(b)) return;
  pthread_mutex_lock(&b->device->lock);
  if (!b->is_open) protect(b, PROT_READ | PROT_WRITE);
  b->is_open = true;
  b->n_users++;
  pthread_mutex_unlock(&b->device->lock);
}

void shadow_buffer_leave(shadow_buffer *b) {
  if (!is_closed(b)) return;
  pthread_mutex_lock(&b->device->lock);
  /* closed always at first, later now and then: what is run often shall not wait for it */
  const bool closes = --b->n_users == 0 && (b->n_runs < ALWAYS_CLOSED || !(b->n_runs % 16));
  b->n_runs++;
  if (closes) protect(b, PROT_NONE);
  if (closes) b->is_open = false;
  pthread_mutex_unlock(&b->device->lock);
}

static tn_status buffer_new(const tn_device_call *c, void *device, uint64_t bytes, uint32_t use,
                            void **out_buffer) {
  shadow_device *d = device;
  if (shadow_fails(d, &d->settings.faults.buffer))
    return c->host->fail(c->ctx, TN_ERR_MEMORY, "no memory: a fault on demand");
  if (!has_room(d, bytes))
    return c->host->fail(c->ctx, TN_ERR_MEMORY, "it has %llu bytes, %llu are taken",
                         (unsigned long long)d->settings.memory, (unsigned long long)d->bytes);
  shadow_buffer *b = c->host->alloc(c->ctx, sizeof *b);
  if (b) *b = (shadow_buffer){.device = d, .bytes = bytes, .use = use};
  if (b && map_pages(b)) {
    *out_buffer = b;
    return TN_OK;
  }
  c->host->free(c->ctx, b);
  give_room(d, bytes);
  return TN_ERR_MEMORY;
}

static tn_status buffer_map(const tn_device_call *c, void *buffer, void **out_data) {
  shadow_buffer *b = buffer;
  if (b->use == TN_BUFFER_DEVICE)
    return c->host->fail(c->ctx, TN_ERR_STATE, "memory of the device cannot be mapped");
  const bool fails = shadow_fails(b->device, &b->device->settings.faults.map);
  *out_data = fails ? NULL : b->data; /* a driver that lies */
  return TN_OK;
}

static void buffer_free(const tn_device_call *c, void *buffer) {
  shadow_buffer *b = buffer;
  uint64_t bytes;
  void *at = pages_of(b, &bytes);
  munmap(at, (size_t)b->mapped);
  give_room(b->device, b->bytes);
  c->host->free(c->ctx, b);
}

/* ---- programs: kernels of the CPU, and functions ---- */

static uint32_t n_words(const char *text) {
  uint32_t n = 0;
  for (const char *p = text; p && *(p += strspn(p, " ")); p += strcspn(p, " ")) n++;
  return n;
}

static tn_status program_new(const tn_device_call *c, void *device, const tn_program *program,
                             uint32_t form, const int64_t *constants, const void *binary,
                             uint64_t binary_bytes, void **out_program) {
  shadow_device *d = device;
  const uint32_t n = n_words(program->constants);
  (void)binary, (void)binary_bytes;
  if (shadow_fails(d, &d->settings.faults.program))
    return c->host->fail(c->ctx, TN_ERR_UNSUPPORTED, "line 1: a fault on demand");
  shadow_program *p = c->host->alloc(c->ctx, sizeof *p + n * sizeof *constants);
  if (!p) return TN_ERR_MEMORY;
  *out_program = p;
  p->kernel = NULL;
  if (strcmp(program->forms[form]->language, TN_LANGUAGE_HOST_FUNCTION)) {
    p->kernel = program->forms[form]->data;
    return TN_OK;
  }
  memcpy(&p->function, program->forms[form]->data, sizeof p->function);
  if (n) memcpy(p + 1, constants, n * sizeof *constants);
  p->constants = (const int64_t *)(p + 1);
  return TN_OK;
}

static void program_free(const tn_device_call *c, void *program) { c->host->free(c->ctx, program); }

const tn_device_driver shadow_driver = {
    .head = TN_HEAD(tn_device_driver),
    .name = "shadow",
    .vendor = "Tenon",
    .kinds = "shadow",
    .languages = TN_LANGUAGE_HOST_KERNEL "," TN_LANGUAGE_HOST_FUNCTION,
    .count = count,
    .open = open_device,
    .close = close_device,
    .describe = describe,
    .refuse = refuse,
    .buffer_new = buffer_new,
    .buffer_map = buffer_map,
    .buffer_free = buffer_free,
    .program_new = program_new,
    .program_free = program_free,
    .record_begin = shadow_record_begin,
    .record_dispatch = shadow_record_dispatch,
    .record_copy = shadow_record_copy,
    .record_fill = shadow_record_fill,
    .record_barrier = shadow_record_barrier,
    .record_end = shadow_record_end,
    .record_free = shadow_record_free,
    .queue_new = shadow_queue_new,
    .queue_free = shadow_queue_free,
    .submit = shadow_submit,
    .wait = shadow_wait,
};
