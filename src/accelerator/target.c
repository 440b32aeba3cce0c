/* The accelerators of a registry: finding one by name, opening its device, talking with its
 * callbacks. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "accelerator/accelerator.h"

/* ---- talking ---- */

static __attribute__((format(printf, 3, 4))) tn_status host_fail(void *ctx, tn_status code,
                                                                 const char *format, ...) {
  tn_accelerator_talk *t = ctx;
  va_list args;
  if (!ctx || !format || *t->text) return code;
  va_start(args, format);
  vsnprintf(t->text, sizeof t->text, format, args);
  va_end(args);
  tn_text_tame_line(t->text, (int64_t)strlen(t->text));
  return code;
}

static __attribute__((format(printf, 3, 4))) void host_log(void *ctx, uint32_t level,
                                                           const char *format, ...) {
  const tn_accelerator_talk *t = ctx;
  char text[1001];
  va_list args;
  if (!ctx || !format || !t->diag) return;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  tn_diag_add(t->diag, tn_log_severity(level), "accelerator '%s': %s",
              t->call.target ? t->call.target->name : "", text);
}

static void *host_alloc(void *ctx, uint64_t bytes) {
  return tn_alloc_sized(((tn_accelerator_talk *)ctx)->a, bytes);
}

static void host_free(void *ctx, void *memory) {
  if (memory) tn_free_sized(((tn_accelerator_talk *)ctx)->a, memory);
}

static tn_status write_graph(void *ctx, const tn_graph *graph, const char *format, void **out_data,
                             uint64_t *out_size) {
  tn_accelerator_talk *t = ctx;
  if (!graph || !format || !out_data || !out_size) return TN_ERR_INVALID;
  tn_diag *diag = tn_diag_create();
  const tn_status status =
      tn_graph_to_bytes(t->a, t->registry, graph, format, diag, out_data, out_size);
  if (status)
    host_fail(
        t, status, "%s",
        diag && tn_diag_count(diag) ? tn_diag_message(diag, 0, NULL) : tn_status_text(status));
  tn_diag_destroy(diag);
  return status;
}

static const void *get_extension(void *ctx, const char *name) {
  (void)ctx, (void)name;
  return NULL;
}

static const tn_host accelerator_host = {.head = TN_HEAD(tn_host),
                                         .graph = &tn_graph_show_table,
                                         .fail = host_fail,
                                         .log = host_log,
                                         .alloc = host_alloc,
                                         .free = host_free,
                                         .get_extension = get_extension};

void tn_accelerator_talk_open(tn_accelerator_talk *t, const tn_accelerator *x,
                              const tn_part_owner *owner, tn_diag *diag) {
  *t = (tn_accelerator_talk){.a = x->a, .registry = x->registry, .diag = diag};
  t->call = (tn_accelerator_call){.head = TN_HEAD(tn_accelerator_call),
                                  .host = &accelerator_host,
                                  .ctx = t,
                                  .self = owner->self,
                                  .target = &x->target,
                                  .write_graph = write_graph};
}

tn_status tn_accelerator_answer(tn_accelerator_talk *t, tn_status answer) {
  char text[TN_ANSWER_TEXT];
  const tn_status status = tn_answer_status(answer, text, sizeof text);
  if (status && !*t->text)
    snprintf(t->text, sizeof t->text, "%s", *text ? text : tn_status_text(status));
  return status;
}

tn_status tn_accelerator_partition(tn_accelerator_talk *t, const tn_accelerator *x,
                                   const tn_graph *g, tn_claim *const *claims, int32_t n_claims) {
  tn_graph_close(g);
  const tn_status answer = x->compiler->compiler.partition(&t->call, g, claims, n_claims);
  const char *rule = tn_graph_open(g);
  return rule ? host_fail(t, TN_ERR_STATE, "%s", rule) : tn_accelerator_answer(t, answer);
}

bool tn_claim_is_sound(const tn_claim *claim) {
  return claim->group == -1 ||
         (claim->group >= 0 && claim->cost_native_ns >= 0 && claim->cost_native_ns < 1e18);
}

/* ---- finding ---- */

static const tn_dispatcherdef *dispatcher_of(const tn_registry *r, const char *format) {
  for (int32_t k = 0; k < tn_registry_n_dispatchers(r); k++) {
    const tn_dispatcherdef *d = tn_registry_dispatcher_at(r, k);
    if (!strcmp(d->dispatcher.format, format)) return d;
  }
  return NULL;
}

bool tn_accelerator_at(const tn_registry *r, int32_t index, tn_accelerator_entry *out) {
  for (int32_t k = 0; k < tn_registry_n_compilers(r); k++) {
    const tn_compilerdef *c = tn_registry_compiler_at(r, k);
    if (index >= (int32_t)c->compiler.n_targets) {
      index -= (int32_t)c->compiler.n_targets;
      continue;
    }
    const tn_target *target = c->compiler.targets[index];
    const tn_dispatcherdef *d = dispatcher_of(r, c->compiler.format);
    *out = (tn_accelerator_entry){target->name,
                                  target->hardware,
                                  target->sdk,
                                  c->compiler.name,
                                  d ? d->dispatcher.name : NULL,
                                  c->owner->name};
    return true;
  }
  return false;
}

/* The compiler of a target; *out_target: which of its own. */
static const tn_compilerdef *find(const tn_registry *r, const char *name,
                                  const tn_target **out_target) {
  for (int32_t k = 0; k < tn_registry_n_compilers(r); k++) {
    const tn_compilerdef *c = tn_registry_compiler_at(r, k);
    for (uint32_t i = 0; i < c->compiler.n_targets; i++) {
      const tn_target *target = c->compiler.targets[i];
      if (strcmp(target->name, name) && (i || strcmp(c->compiler.name, name))) continue;
      *out_target = target;
      return c;
    }
  }
  return NULL;
}

bool tn_accelerator_is_named(const tn_registry *r, const char *name) {
  const tn_target *target;
  return find(r, name, &target) != NULL;
}

/* ---- opening ---- */

static const tn_module_file *module_for(const tn_container *file, const char *name) {
  for (uint32_t k = 0; file && k < file->n_modules; k++)
    if (!strcmp(file->modules[k].target, name)) return &file->modules[k];
  return NULL;
}

/* Whose it is: compiler and dispatcher; *out_format: of the modules. */
static tn_status look_up(tn_accelerator *x, const char *name, const tn_container *file,
                         tn_diag *diag) {
  const tn_target *target = NULL;
  const tn_module_file *made = module_for(file, name);
  x->compiler = find(x->registry, name, &target);
  if (!x->compiler && !made)
    return tn_fail(diag, TN_ERR_NOT_FOUND,
                   "accelerator '%s': no plug-in offers a compiler for it; `tenon device list` "
                   "shows what there is",
                   name);
  const char *format = x->compiler ? x->compiler->compiler.format : made->format;
  x->dispatcher = dispatcher_of(x->registry, format);
  x->name = tn_arena_str(&x->arena, target ? target->name : name);
  format = tn_arena_str(&x->arena, format);
  if (!x->name || !format) return TN_ERR_MEMORY;
  if (!x->dispatcher && !x->compiles_only)
    return tn_fail(diag, TN_ERR_NOT_FOUND,
                   "accelerator '%s': no plug-in offers a dispatcher for modules of format '%s'",
                   name, format);
  x->target = target ? *target : (tn_target){TN_HEAD(tn_target), x->name, "accelerator", NULL};
  return TN_OK;
}

static tn_status open_device(tn_accelerator *x, tn_diag *diag) {
  const tn_dispatcher *d = &x->dispatcher->dispatcher;
  tn_accelerator_talk t;
  tn_accelerator_talk_open(&t, x, x->dispatcher->owner, diag);
  const tn_status status = tn_accelerator_answer(&t, d->open(&t.call, &x->device));
  if (status) return tn_fail(diag, status, "accelerator '%s': %s", x->name, t.text);
  x->device_is_open = true;
  const char *stamp = d->stamp ? d->stamp(&t.call, x->device) : NULL;
  x->stamp = tn_arena_str(&x->arena, stamp);
  return x->stamp ? TN_OK : TN_ERR_MEMORY;
}

tn_status tn_accelerator_open(const tn_allocator *a, const tn_registry *r, const char *name,
                              const tn_container *file, bool compiles, tn_diag *diag,
                              tn_accelerator **out_accelerator) {
  tn_accelerator *x = tn_alloc(a, sizeof *x);
  *out_accelerator = NULL;
  if (x && pthread_mutex_init(&x->lock, NULL)) {
    tn_free(a, x, sizeof *x);
    x = NULL;
  }
  if (!x) return TN_ERR_MEMORY;
  x->a = a;
  x->registry = r;
  x->stamp = "";
  x->compiles_only = compiles;
  tn_arena_init(&x->arena, a);
  tn_status status = look_up(x, name, file, diag);
  if (!status && !compiles) status = open_device(x, diag);
  if (status)
    tn_accelerator_close(x);
  else
    *out_accelerator = x;
  return status;
}

void tn_accelerator_close(tn_accelerator *x) {
  if (!x) return;
  if (x->device_is_open) {
    tn_accelerator_talk t;
    tn_accelerator_talk_open(&t, x, x->dispatcher->owner, NULL);
    x->dispatcher->dispatcher.close(&t.call, x->device);
  }
  tn_vec_free(x->a, &x->loaded);
  tn_arena_clear(&x->arena);
  pthread_mutex_destroy(&x->lock);
  tn_free(x->a, x, sizeof *x);
}
