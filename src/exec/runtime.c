/* The runtime: options, threads, the registry with what ships and what is found, and the listing of
 * it all. */
#include <stdlib.h>
#include <string.h>

#include "base/abi.h"
#include "base/cpu.h"
#include "base/file.h"
#include "device/device.h"
#include "exec/exec.h"
#include "plan/constants/weight_cache.h"
#include "plan/tuning/tuning.h"

enum { MAX_THREADS = 4096, MAX_PINS = 1 << 16 };

/* ---- options ---- */

static tn_status take_options(const tn_runtime_options *options, tn_diag *diag,
                              tn_runtime_options *out) {
  *out = (tn_runtime_options)TN_RUNTIME_OPTIONS_INIT;
  if (!options) return TN_OK;
  if (tn_struct_in(out, sizeof *out, options) || options->head.major != TN_ABI_MAJOR)
    return tn_fail(
        diag, TN_ERR_VERSION,
        "runtime options: head says %u bytes of ABI %u.%u, this library serves ABI %d.x; "
        "start from TN_RUNTIME_OPTIONS_INIT",
        options->head.size, options->head.major, options->head.minor, TN_ABI_MAJOR);
  if (out->n_threads < 0 || out->n_threads > MAX_THREADS)
    return tn_fail(diag, TN_ERR_INVALID, "runtime options: n_threads is %d, must be 0 to %d",
                   out->n_threads, MAX_THREADS);
  const uint32_t known = TN_RUNTIME_NO_BUILTINS | TN_RUNTIME_NO_DISCOVERY;
  if (out->flags & ~known)
    return tn_fail(diag, TN_ERR_UNSUPPORTED, "runtime options: flags has unknown bits 0x%x",
                   out->flags & ~known);
  if (out->n_pins > MAX_PINS || (out->n_pins && !out->pins))
    return tn_fail(diag, TN_ERR_INVALID, "runtime options: n_pins is %u, but pins is %s",
                   out->n_pins, out->pins ? "limited to 65536 entries" : "NULL");
  return TN_OK;
}

static tn_status take_allocator(const tn_allocator *given, tn_diag *diag, tn_allocator *out) {
  if (!given) given = tn_default_allocator();
  if (tn_struct_in(out, sizeof *out, given) || !out->alloc || !out->free)
    return tn_fail(diag, TN_ERR_INVALID,
                   "runtime options: the allocator needs a head, alloc and free");
  return TN_OK;
}

/* "Conv=acme_conv" or "Conv!=acme_conv": an operator, one "=", a kernel. Whether there is such a
 * kernel shows when it is wanted. */
static bool is_pin(const char *pin) {
  const char *equals = pin ? strchr(pin, '=') : NULL;
  if (!equals || equals == pin || (equals == pin + 1 && *pin == '!')) return false;
  return equals[1] && !strchr(equals + 1, '=');
}

static tn_status copy_pins(tn_runtime *rt, const tn_runtime_options *options, tn_diag *diag) {
  if (!options->n_pins) return TN_OK;
  rt->pins = tn_alloc(&rt->allocator, options->n_pins * sizeof *rt->pins);
  if (!rt->pins) return TN_ERR_MEMORY;
  rt->n_pins = options->n_pins;
  for (uint32_t k = 0; k < options->n_pins; k++) {
    const char *pin = options->pins[k];
    if (!is_pin(pin))
      return tn_fail(diag, TN_ERR_INVALID,
                     "runtime options: pin '%s' must read like Conv=acme_conv",
                     pin ? pin : "(NULL)");
    const size_t bytes = strlen(pin) + 1;
    rt->pins[k] = tn_alloc(&rt->allocator, bytes);
    if (!rt->pins[k]) return TN_ERR_MEMORY;
    memcpy(rt->pins[k], pin, bytes);
  }
  return TN_OK;
}

static void free_pins(tn_runtime *rt) {
  for (uint32_t k = 0; k < rt->n_pins; k++)
    if (rt->pins[k]) tn_free(&rt->allocator, rt->pins[k], strlen(rt->pins[k]) + 1);
  tn_free(&rt->allocator, rt->pins, rt->n_pins * sizeof *rt->pins);
}

/* ---- prepared weights on disk ---- */

/* Those that were named before stay, since a model that is being loaded may look at one. */
static tn_status add_folder(tn_runtime *rt, const char *path) {
  const size_t bytes = strlen(path) + 1;
  tn_weight_cache_folder *f = tn_alloc(&rt->allocator, sizeof *f + bytes);
  if (!f) return TN_ERR_MEMORY;
  memcpy(f->path, path, bytes);
  f->before = atomic_load(&rt->weights);
  while (!atomic_compare_exchange_weak(&rt->weights, &f->before, f)) continue;
  return TN_OK;
}

static void free_folders(tn_runtime *rt) {
  tn_weight_cache_folder *f = atomic_load(&rt->weights);
  while (f) {
    tn_weight_cache_folder *before = f->before;
    tn_free(&rt->allocator, f, sizeof *f + strlen(f->path) + 1);
    f = before;
  }
}

tn_status tn_runtime_cache_weights(tn_runtime *rt, const char *folder, tn_diag *diag) {
  if (!rt) return tn_fail(diag, TN_ERR_INVALID, "weight cache: runtime is NULL");
  if (!folder || !*folder) return add_folder(rt, "");
  tn_arena arena;
  tn_arena_init(&arena, &rt->allocator);
  char *path = NULL;
  tn_status status = tn_weight_cache_check_folder(&arena, folder, diag, &path);
  if (!status) status = add_folder(rt, path);
  tn_arena_clear(&arena);
  return status;
}

/* What the environment says; a folder that cannot be used is a warning then. Programs that run with
 * the rights of another user do not listen. */
static void use_environment(tn_runtime *rt, tn_diag *diag) {
  const char *folder = secure_getenv("TENON_WEIGHT_CACHE");
  tn_diag *said = folder && *folder ? tn_diag_create() : NULL;
  if (said && tn_runtime_cache_weights(rt, folder, said))
    tn_diag_add(diag, TN_DIAG_WARNING, "TENON_WEIGHT_CACHE: %s",
                tn_diag_count(said) ? tn_diag_message(said, 0, NULL) : "no memory");
  tn_diag_destroy(said);
}

/* ---- creation ---- */

static tn_status init_lock(tn_runtime *rt) {
  pthread_mutexattr_t recursive;
  if (pthread_mutexattr_init(&recursive)) return TN_ERR_MEMORY;
  int failed = pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  if (!failed) failed = pthread_mutex_init(&rt->serial, &recursive);
  pthread_mutexattr_destroy(&recursive);
  return failed ? TN_ERR_MEMORY : TN_OK;
}

static tn_status populate(tn_runtime *rt, const tn_runtime_options *options, tn_diag *diag) {
  tn_status status =
      tn_registry_set_rules(rt->registry, options->plugin_allow, options->plugin_vet, diag);
  if (!status && !(options->flags & TN_RUNTIME_NO_BUILTINS))
    status = tn_registry_add_builtin(rt->registry, diag);
  if (!status && !(options->flags & TN_RUNTIME_NO_DISCOVERY))
    status = tn_runtime_discover(rt, diag);
  return status;
}

static tn_status set_up(tn_runtime *rt, const tn_runtime_options *options, tn_diag *diag) {
  const int32_t n_threads = options->n_threads ? options->n_threads : tn_cpu_cores();
  rt->isa = tn_cpu_isa() & (options->isa_mask ? options->isa_mask : UINT64_MAX);
  tn_status status = copy_pins(rt, options, diag);
  if (!status) status = tn_tuning_create(&rt->allocator, &rt->tuning);
  if (!status) status = tn_registry_create(&rt->allocator, &rt->registry);
  if (!status) status = tn_devices_create(&rt->allocator, rt->registry, &rt->devices);
  if (!status) status = tn_pool_create(&rt->allocator, n_threads, &rt->pool);
  if (status) return status;
  use_environment(rt, diag);
  tn_registry_set_ctx(rt->registry, rt);
  return populate(rt, options, diag);
}

tn_status tn_runtime_create(const tn_runtime_options *options, tn_diag *diag,
                            tn_runtime **out_runtime) {
  tn_runtime_options o;
  tn_allocator allocator;
  if (!out_runtime) return tn_fail(diag, TN_ERR_INVALID, "runtime: out_runtime is NULL");
  *out_runtime = NULL;
  tn_status status = take_options(options, diag, &o);
  if (!status) status = take_allocator(o.allocator, diag, &allocator);
  if (status) return status;
  tn_runtime *rt = tn_alloc(&allocator, sizeof *rt);
  if (!rt) return tn_fail(diag, TN_ERR_MEMORY, "runtime: out of memory");
  rt->allocator = allocator;
  atomic_init(&rt->refs, 1);
  status = init_lock(rt);
  if (status) {
    tn_free(&allocator, rt, sizeof *rt);
    return tn_fail(diag, status, "runtime: no lock to be had");
  }
  status = set_up(rt, &o, diag);
  if (status) {
    if (status == TN_ERR_MEMORY) tn_fail(diag, status, "runtime: out of memory");
    tn_runtime_destroy(rt);
    return status;
  }
  *out_runtime = rt;
  return TN_OK;
}

tn_runtime *tn_runtime_retain(tn_runtime *rt) {
  atomic_fetch_add_explicit(&rt->refs, 1, memory_order_relaxed);
  return rt;
}

void tn_runtime_destroy(tn_runtime *rt) {
  if (!rt || atomic_fetch_sub_explicit(&rt->refs, 1, memory_order_acq_rel) > 1) return;
  const tn_allocator allocator = rt->allocator; /* plug-ins may free memory while they shut down */
  tn_pool_destroy(rt->pool); /* its threads may end in code of plug-ins (thread-specific data) */
  tn_devices_destroy(rt->devices);
  tn_registry_destroy(rt->registry);
  tn_tuning_destroy(rt->tuning);
  free_pins(rt);
  free_folders(rt);
  pthread_mutex_destroy(&rt->serial);
  tn_free(&allocator, rt, sizeof *rt);
}

/* ---- events ---- */

tn_status tn_runtime_notify(tn_runtime *rt, uint32_t event) {
  if (!rt || event < TN_EVENT_LOW_MEMORY || event > TN_EVENT_FORK) return TN_ERR_INVALID;
  if (event == TN_EVENT_FORK) {
    tn_pool_lose(rt->pool);
    tn_devices_lose(rt->devices);
  }
  tn_registry_notify(rt->registry, event);
  return TN_OK;
}

/* ---- what is registered ---- */

/* What a look-up answers, found between enter and leave. */
#define LOOK(rt, answer, expression)                  \
  do {                                                \
    if (rt) {                                         \
      const tn_registry *registry = (rt)->registry;   \
      const int ticket = tn_registry_enter(registry); \
      answer = (expression);                          \
      tn_registry_leave(registry, ticket);            \
    }                                                 \
  } while (0)

int32_t tn_runtime_n_plugins(const tn_runtime *rt) {
  int32_t n = 0;
  LOOK(rt, n, tn_registry_n_plugins(registry));
  return n;
}

tn_status tn_runtime_plugin(const tn_runtime *rt, int32_t index, tn_plugin_info *out_info) {
  tn_status status = TN_ERR_INVALID;
  LOOK(rt, status, tn_registry_plugin(registry, index, out_info));
  return status;
}

int32_t tn_runtime_n_folders(const tn_runtime *rt) {
  return rt ? tn_registry_n_folders(rt->registry) : 0;
}

tn_status tn_runtime_folder(const tn_runtime *rt, int32_t index, tn_folder_info *out_info) {
  return rt ? tn_registry_folder(rt->registry, index, out_info) : TN_ERR_INVALID;
}

int32_t tn_runtime_n_ops(const tn_runtime *rt) {
  int32_t n = 0;
  LOOK(rt, n, tn_registry_n_ops(registry));
  return n;
}

const tn_op *tn_runtime_op(const tn_runtime *rt, int32_t index) {
  const tn_opdef *def = NULL;
  LOOK(rt, def, tn_registry_op_at(registry, index));
  return def ? &def->op : NULL;
}

int32_t tn_runtime_n_kernels(const tn_runtime *rt) {
  int32_t n = 0;
  LOOK(rt, n, tn_registry_n_kernels(registry));
  return n;
}

const tn_kernel *tn_runtime_kernel(const tn_runtime *rt, int32_t index) {
  const tn_kerneldef *def = NULL;
  LOOK(rt, def, tn_registry_kernel_at(registry, index));
  return def ? &def->kernel : NULL;
}

static const char *op_owner(const tn_opdef *def) {
  return !def ? NULL : def->owner ? def->owner->name : "";
}

static const char *kernel_owner(const tn_kerneldef *def) {
  return !def ? NULL : def->owner ? def->owner->name : "";
}

const char *tn_runtime_op_plugin(const tn_runtime *rt, int32_t index) {
  const char *name = NULL;
  LOOK(rt, name, op_owner(tn_registry_op_at(registry, index)));
  return name;
}

const char *tn_runtime_kernel_plugin(const tn_runtime *rt, int32_t index) {
  const char *name = NULL;
  LOOK(rt, name, kernel_owner(tn_registry_kernel_at(registry, index)));
  return name;
}

const tn_op *tn_runtime_find_op(const tn_runtime *rt, const char *domain, const char *name,
                                int32_t version) {
  const tn_opdef *def = NULL;
  if (!domain || !name) return NULL;
  LOOK(rt, def, tn_registry_op(registry, domain, name, version));
  return def && !def->is_unsettled ? &def->op : NULL;
}

int32_t tn_runtime_n_formats(const tn_runtime *rt) {
  int32_t n = 0;
  LOOK(rt, n, tn_registry_n_formats(registry));
  return n;
}

const tn_format *tn_runtime_format(const tn_runtime *rt, int32_t index) {
  const tn_format *format = NULL;
  LOOK(rt, format, tn_registry_format_at(registry, index));
  return format;
}
