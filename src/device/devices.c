/* The devices of a runtime: asking drivers, opening, closing, listing. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu.h"
#include "device/internal.h"

/* ---- talking with drivers ---- */

static __attribute__((format(printf, 3, 4))) tn_status host_fail(void *ctx, tn_status code,
                                                                 const char *format, ...) {
  tn_device_talk *t = ctx;
  va_list args;
  if (!ctx || !format || *t->text) return code;
  va_start(args, format);
  vsnprintf(t->text, sizeof t->text, format, args);
  va_end(args);
  tn_text_tame(t->text, (int64_t)strlen(t->text));
  return code;
}

static __attribute__((format(printf, 3, 4))) void host_log(void *ctx, uint32_t level,
                                                           const char *format, ...) {
  (void)ctx, (void)level, (void)format; /* nobody listens while a device works */
}

static void *host_alloc(void *ctx, uint64_t bytes) {
  return tn_alloc_sized(((tn_device_talk *)ctx)->a, bytes);
}

static void host_free(void *ctx, void *memory) {
  tn_free_sized(((tn_device_talk *)ctx)->a, memory);
}

static const tn_host device_host = {.head = TN_HEAD(tn_host),
                                    .fail = host_fail,
                                    .log = host_log,
                                    .alloc = host_alloc,
                                    .free = host_free};

static void talk_with(tn_device_talk *t, const tn_allocator *a, const tn_driverdef *def) {
  t->device = NULL;
  t->a = a;
  *t->text = 0;
  t->call = (tn_device_call){TN_HEAD(tn_device_call), &device_host, t, def->owner->self};
}

static bool is_serial(const tn_device *d) { return d && d->info.flags & TN_DEVICE_SERIAL; }

void tn_device_talk_begin(tn_device_talk *t, const tn_device *d) {
  talk_with(t, d->a, d->def);
  t->device = d;
}

void tn_device_talk_open(tn_device_talk *t, const tn_device *d) {
  tn_device_talk_begin(t, d);
  if (is_serial(d)) pthread_mutex_lock(&((tn_device *)(uintptr_t)d)->lock);
}

void tn_device_talk_close(tn_device_talk *t) {
  if (is_serial(t->device)) pthread_mutex_unlock(&((tn_device *)(uintptr_t)t->device)->lock);
}

tn_status tn_device_answer(tn_device_talk *t, tn_status answer) {
  char text[TN_ANSWER_TEXT];
  const tn_status status = tn_answer_status(answer, text, sizeof text);
  if (status && !*t->text)
    snprintf(t->text, sizeof t->text, "%s", *text ? text : tn_status_text(status));
  tn_device *d = (tn_device *)(uintptr_t)t->device;
  if (status == TN_ERR_IO && d) atomic_store(&d->lost, 1);
  if (status == TN_ERR_MEMORY && d) atomic_store(&d->refused, 1);
  return status;
}

tn_status tn_device_answer_submit(tn_device_talk *t, tn_status answer) {
  const tn_status status = tn_device_answer(t, answer);
  if (!status || status == TN_ERR_MEMORY) return status;
  atomic_store(&((tn_device *)(uintptr_t)t->device)->lost, 1);
  return TN_ERR_IO;
}

tn_status tn_device_made(tn_device_talk *t, tn_status answer, const char *callback, void **handle) {
  const tn_status status = tn_device_answer(t, answer);
  if (status) *handle = NULL; /* what a failed call leaves there is nothing to free */
  if (status || *handle) return status;
  snprintf(t->text, sizeof t->text, "%s() answers TN_OK, but gives nothing", callback);
  return TN_ERR_INTERNAL;
}

tn_status tn_device_wait(tn_device_talk *t, void *queue, uint64_t mark, double limit_ns) {
  const uint64_t limit = (uint64_t)(limit_ns < 1e15 ? limit_ns : 1e15);
  const tn_status answer = t->device->def->driver.wait(&t->call, queue, mark, limit);
  tn_device *d = (tn_device *)(uintptr_t)t->device;
  if (tn_is_status(answer) && answer != TN_ERR_STATE) return tn_device_answer(t, answer);
  atomic_store(&d->hangs, 1);
  atomic_store(&d->lost, 1);
  if (tn_is_status(answer))
    snprintf(t->text, sizeof t->text, "it has not ended after %.0f s", limit_ns / 1e9);
  else
    (void)tn_device_answer(t, answer);
  return TN_ERR_IO;
}

tn_status tn_device_report(tn_device_talk *t, tn_status answer, tn_diag *diag, const char *what) {
  const tn_status status = tn_device_answer(t, answer);
  if (!status) return TN_OK;
  atomic_store(&((tn_device *)(uintptr_t)t->device)->refused, 1);
  return tn_fail(diag, status, "device '%s': %s: %s", t->device->name, what, t->text);
}

/* ---- opening ---- */

static bool has_word(const char *list, const char *word) {
  const size_t n = strlen(word);
  for (const char *p = list; p && *p; p += strcspn(p, ",")) {
    if (*p == ',') p++;
    if (strcspn(p, ",") == n && !memcmp(p, word, n)) return true;
  }
  return false;
}

/* What drivers leave open, costs need: a guess that no measurement has corrected. */
static void fill_in(tn_device_info *i) {
  static const double defaults[] = {2000, 5000, 10000, 10, 100, 5, 5};
  double *speed[] = {&i->dispatch_ns,  &i->submit_ns,       &i->wait_ns,          &i->bytes_per_ns,
                     &i->flops_per_ns, &i->up_bytes_per_ns, &i->down_bytes_per_ns};
  for (size_t k = 0; k < sizeof speed / sizeof *speed; k++)
    if (!(*speed[k] > 0)) *speed[k] = defaults[k];
  if (!(i->host_kernel_speed > 0)) i->host_kernel_speed = 1;
  if (!i->offset_alignment) i->offset_alignment = 1;
}

/* So many units, whatever the device has, for tests of what large ones choose. */
static tn_status set_units(tn_device_info *i, tn_device_talk *t) {
  enum { MOST = 1 << 20 };
  const char *text = secure_getenv("TENON_GPU_UNITS");
  if (!text || !*text) return TN_OK;
  char *end;
  const unsigned long units = strtoul(text, &end, 10);
  if (*end || *text < '0' || *text > '9' || !units || units > MOST)
    return host_fail(t, TN_ERR_INVALID, "TENON_GPU_UNITS is '%s': it takes a number from 1 to %d",
                     text, MOST);
  i->units = (uint32_t)units;
  return TN_OK;
}

/* Texts of drivers go to terminals and into keys of caches: a copy, on one line. */
static tn_status keep_text(tn_device *d, tn_device_talk *t, const char *what, const char **text) {
  enum { MOST = 64 << 10 };
  const size_t n = *text ? strnlen(*text, MOST + 1) : 0;
  if (n > MOST) return host_fail(t, TN_ERR_INTERNAL, "its %s is longer than %d bytes", what, MOST);
  char *copy = tn_arena_alloc(&d->arena, n + 1);
  if (!copy) return TN_ERR_MEMORY;
  if (n) memcpy(copy, *text, n);
  copy[n] = 0;
  tn_text_tame_line(copy, (int64_t)n);
  *text = copy;
  return TN_OK;
}

/* Every value in an arena is a multiple of it: one that is absurd is memory for nothing. */
static tn_status check_alignment(const tn_device_info *i, tn_device_talk *t) {
  enum { MOST = 1 << 20 };
  const uint64_t n = i->offset_alignment;
  if (n <= MOST && !(n & (n - 1))) return TN_OK;
  return host_fail(t, TN_ERR_INTERNAL, "its offset_alignment %llu is %s", (unsigned long long)n,
                   n > MOST ? "more than 1 MiB" : "no power of two");
}

static tn_status describe(tn_device *d, tn_device_talk *t) {
  d->info.head = (tn_head)TN_HEAD(tn_device_info);
  tn_status status = tn_device_answer(t, d->def->driver.describe(&t->call, d->handle, &d->info));
  if (status) return status;
  status = keep_text(d, t, "name", &d->info.name);
  if (!status) status = keep_text(d, t, "stamp", &d->info.stamp);
  if (!status) status = check_alignment(&d->info, t);
  if (status) return status;
  fill_in(&d->info);
  status = set_units(&d->info, t);
  if (status) return status;
  d->runs_host_kernels = has_word(d->def->driver.languages, TN_LANGUAGE_HOST_KERNEL);
  return TN_OK;
}

static void device_free(tn_device *d) {
  const tn_device_driver *driver = &d->def->driver;
  tn_device_talk t;
  talk_with(&t, d->a, d->def);
  const bool hangs = atomic_load(&d->hangs);
  if (hangs) d->def->owner->is_running = true;
  if (d->queue && !hangs) driver->queue_free(&t.call, d->queue); /* what it still runs has ended */
  tn_buffer_close(&d->witness.there);
  tn_buffer_close(&d->witness.here);
  for (int64_t k = 0; k < d->programs.n && !hangs; k++)
    if (!d->programs.data[k].problem) driver->program_free(&t.call, d->programs.data[k].handle);
  tn_vec_free(d->a, &d->programs);
  if (d->handle && !hangs) driver->close(&t.call, d->handle);
  tn_arena_clear(&d->arena);
  pthread_mutex_destroy(&d->witness.lock);
  pthread_mutex_destroy(&d->lock);
  tn_free(d->a, d, sizeof *d);
}

static tn_status device_open(tn_device *d, tn_device_talk *t) {
  const tn_device_driver *driver = &d->def->driver;
  uint32_t n = 0;
  tn_status status = tn_device_answer(t, driver->count(&t->call, &n));
  if (!status && d->index >= n)
    status = host_fail(t, TN_ERR_NOT_FOUND, "driver '%s' sees %u device%s", driver->name, n,
                       n == 1 ? "" : "s");
  if (!status)
    status = tn_device_made(t, driver->open(&t->call, d->index, &d->handle), "open", &d->handle);
  if (!status) status = describe(d, t);
  if (status) return status;
  return tn_device_made(t, driver->queue_new(&t->call, d->handle, &d->queue), "queue_new",
                        &d->queue);
}

static tn_device *device_new(tn_devices *all, const tn_driverdef *def, uint32_t index) {
  tn_device *d = tn_alloc(all->a, sizeof *d);
  if (!d) return NULL;
  tn_arena_init(&d->arena, all->a);
  d->a = all->a;
  d->all = all;
  d->def = def;
  d->index = index;
  d->n_users = 1;
  atomic_init(&d->lost, 0);
  atomic_init(&d->hangs, 0);
  d->process = (int64_t)getpid();
  atomic_init(&d->refused, 0);
  d->name = tn_arena_format(&d->arena, "%s:%u", def->driver.name, index);
  const bool is_locked = d->name && !pthread_mutex_init(&d->lock, NULL);
  if (is_locked && !pthread_mutex_init(&d->witness.lock, NULL)) return d;
  if (is_locked) pthread_mutex_destroy(&d->lock);
  tn_arena_clear(&d->arena);
  tn_free(all->a, d, sizeof *d);
  return NULL;
}

/* ---- names ---- */

/* "shadow:1": the driver and 1; "shadow": 0. */
static const tn_driverdef *find_driver(const tn_devices *all, const char *name,
                                       uint32_t *out_index) {
  const size_t n = strcspn(name, ":");
  *out_index = 0;
  for (const char *p = name[n] ? name + n + 1 : ""; *p; p++) {
    if (*p < '0' || *p > '9' || *out_index > 9999) return NULL;
    *out_index = *out_index * 10 + (uint32_t)(*p - '0');
  }
  if (name[n] && !name[n + 1]) return NULL;
  for (int32_t k = 0; k < tn_registry_n_drivers(all->registry); k++) {
    const tn_driverdef *def = tn_registry_driver_at(all->registry, k);
    if (strlen(def->driver.name) == n && !memcmp(def->driver.name, name, n)) return def;
  }
  return NULL;
}

static tn_status no_driver(const tn_devices *all, const char *name, tn_diag *diag) {
  tn_text text;
  tn_text_init(&text, all->a);
  for (int32_t k = 0; k < tn_registry_n_drivers(all->registry); k++)
    tn_text_add(&text, ", %s", tn_registry_driver_at(all->registry, k)->driver.name);
  const tn_status status =
      tn_fail(diag, TN_ERR_NOT_FOUND, "device '%s': there is no driver of that name, only cpu%s",
              name, tn_text_get(&text));
  tn_text_free(&text);
  return status;
}

/* Under the lock. */
static tn_device *find_open(const tn_devices *all, const tn_driverdef *def, uint32_t index) {
  for (int64_t k = 0; k < all->open.n; k++) {
    tn_device *d = all->open.data[k];
    tn_device_check_process(d);
    if (d->def == def && d->index == index && !tn_device_is_lost(d)) return d;
  }
  return NULL;
}

static tn_status open_new(tn_devices *all, const tn_driverdef *def, uint32_t index, tn_diag *diag,
                          tn_device **out_device) {
  tn_device *d = tn_vec_room(all->a, &all->open, 1) ? NULL : device_new(all, def, index);
  if (!d) return tn_fail(diag, TN_ERR_MEMORY, "device '%s:%u': no memory", def->driver.name, index);
  tn_device_talk t;
  talk_with(&t, all->a, def);
  tn_status status = device_open(d, &t);
  if (status) {
    if (status != TN_ERR_NOT_FOUND && status != TN_ERR_MEMORY) status = TN_ERR_IO;
    tn_fail(diag, status, "device '%s': %s", d->name, *t.text ? t.text : tn_status_text(status));
    device_free(d);
    return status;
  }
  *out_device = all->open.data[all->open.n++] = d;
  return TN_OK;
}

tn_status tn_device_open(tn_devices *all, const char *name, tn_diag *diag, tn_device **out_device) {
  uint32_t index;
  *out_device = NULL;
  const tn_driverdef *def = find_driver(all, name, &index);
  if (!def) return no_driver(all, name, diag);
  pthread_mutex_lock(&all->lock);
  tn_device *d = find_open(all, def, index);
  tn_status status = TN_OK;
  if (d) {
    d->n_users++;
    *out_device = d;
  } else {
    status = open_new(all, def, index, diag, out_device);
  }
  pthread_mutex_unlock(&all->lock);
  return status;
}

void tn_device_close(tn_device *d) {
  if (!d) return;
  tn_devices *all = d->all;
  pthread_mutex_lock(&all->lock);
  const bool is_last = --d->n_users == 0;
  for (int64_t k = 0; is_last && k < all->open.n; k++)
    if (all->open.data[k] == d) all->open.data[k] = all->open.data[--all->open.n];
  if (is_last) device_free(d);
  pthread_mutex_unlock(&all->lock);
}

void tn_device_check_process(tn_device *d) {
  if (d->process == (int64_t)getpid()) return;
  atomic_store(&d->lost, 1);
  atomic_store(&d->hangs, 1);
}

void tn_devices_lose(tn_devices *all) {
  for (int64_t k = 0; k < all->open.n; k++) {
    atomic_store(&all->open.data[k]->lost, 1);
    tn_device_check_process(all->open.data[k]);
  }
}

const char *tn_device_refuses(const tn_device *d, const tn_kerneldef *def) {
  const tn_device_driver *driver = &d->def->driver;
  const char *device = def->kernel.device;
  if (def->device && strcmp(device, driver->name) && !has_word(driver->kinds, device))
    return "runs on other devices";
  if (!def->device && !d->runs_host_kernels) return "runs on the CPU only";
  if (!driver->refuse) return NULL;
  tn_device_talk t;
  tn_device_talk_open(&t, d);
  const char *reason = driver->refuse(&t.call, d->handle, &def->kernel);
  tn_device_talk_close(&t);
  return reason;
}

/* ---- the list ---- */

static tn_status add_entry(tn_devices *all, tn_device_entry entry) {
  entry.head = (tn_head)TN_HEAD(tn_device_entry);
  if (!entry.compiler) entry.compiler = "";
  return tn_vec_push(all->a, &all->entries, entry);
}

static tn_status list_device(tn_devices *all, const tn_driverdef *def, uint32_t index) {
  tn_device_entry e = {.driver = def->driver.name, .plugin = def->owner->name};
  tn_diag *said = tn_diag_create();
  tn_device *d = NULL;
  const char *name = tn_arena_format(&all->texts, "%s:%u", def->driver.name, index);
  tn_status status = name ? tn_device_open(all, name, said, &d) : TN_ERR_MEMORY;
  e.name = name;
  e.hardware = tn_arena_str(&all->texts, d ? d->info.name : "");
  e.stamp = tn_arena_str(&all->texts, d ? d->info.stamp : "");
  if (d) {
    e.memory_bytes = d->info.memory_bytes;
    e.max_buffer_bytes = d->info.max_buffer_bytes;
    e.flags = (uint32_t)d->info.flags;
  } else {
    e.missing =
        tn_arena_str(&all->texts, said && tn_diag_count(said) ? tn_diag_message(said, 0, NULL)
                                                              : tn_status_text(status));
  }
  tn_device_close(d);
  tn_diag_destroy(said);
  return add_entry(all, e);
}

static tn_status list_driver(tn_devices *all, const tn_driverdef *def) {
  tn_device_talk t;
  uint32_t n = 0;
  talk_with(&t, all->a, def);
  tn_status status = tn_device_answer(&t, def->driver.count(&t.call, &n));
  if (!status && !n) host_fail(&t, TN_ERR_NOT_FOUND, "it sees no device");
  if (status || !n)
    return add_entry(all, (tn_device_entry){.name = def->driver.name,
                                            .driver = def->driver.name,
                                            .plugin = def->owner->name,
                                            .hardware = "",
                                            .stamp = "",
                                            .missing = tn_arena_str(&all->texts, t.text)});
  for (uint32_t k = 0; k < n && k < 64 && !status; k++) status = list_device(all, def, k);
  return status;
}

int32_t tn_devices_list(tn_devices *all, const tn_device_entry **out_entries) {
  tn_arena_clear(&all->texts);
  all->entries.n = 0;
  const tn_device_entry cpu = {
      .name = "cpu", .driver = "", .plugin = "", .hardware = "the processor", .stamp = ""};
  tn_status status = add_entry(all, cpu);
  for (int32_t k = 0; k < tn_registry_n_drivers(all->registry) && !status; k++)
    status = list_driver(all, tn_registry_driver_at(all->registry, k));
  *out_entries = all->entries.data;
  return (int32_t)all->entries.n;
}

tn_status tn_devices_add(tn_devices *all, const tn_device_entry *entry) {
  tn_device_entry e = *entry;
  const char **const texts[] = {&e.name, &e.driver, &e.plugin, &e.hardware, &e.stamp, &e.compiler};
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
    if (!(*texts[k] = tn_arena_str(&all->texts, *texts[k]))) return TN_ERR_MEMORY;
  if (e.missing && !(e.missing = tn_arena_str(&all->texts, e.missing))) return TN_ERR_MEMORY;
  return add_entry(all, e);
}

int32_t tn_devices_listed(const tn_devices *all, const tn_device_entry **out_entries) {
  *out_entries = all->entries.data;
  return (int32_t)all->entries.n;
}

bool tn_driver_is_of_kind(const tn_device_driver *driver, const char *kind) {
  return has_word(driver->kinds, kind);
}

/* ---- creation and destruction ---- */

tn_status tn_devices_create(const tn_allocator *a, const tn_registry *r, tn_devices **out_devices) {
  tn_devices *all = tn_alloc(a, sizeof *all);
  *out_devices = NULL;
  if (!all) return TN_ERR_MEMORY;
  all->a = a;
  all->registry = r;
  tn_arena_init(&all->texts, a);
  if (pthread_mutex_init(&all->lock, NULL)) {
    tn_free(a, all, sizeof *all);
    return TN_ERR_MEMORY;
  }
  *out_devices = all;
  return TN_OK;
}

void tn_devices_destroy(tn_devices *all) {
  if (!all) return;
  tn_vec_free(all->a, &all->open);
  tn_vec_free(all->a, &all->entries);
  tn_arena_clear(&all->texts);
  pthread_mutex_destroy(&all->lock);
  tn_free(all->a, all, sizeof *all);
}
