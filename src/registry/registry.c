/* The registry: a plug-in is vetted, new tables are made with it, it is started and the tables are
 * published, or it is listed with the reason why not. The other way: unload.c. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "registry/load.h"

enum { VET_LIMIT_S = 300 };

/* ---- creation and destruction ---- */

static tn_status open_locks(tn_registry *r) {
  if (pthread_mutex_init(&r->report_lock, NULL)) return TN_ERR_MEMORY;
  if (pthread_mutex_init(&r->change, NULL)) {
    pthread_mutex_destroy(&r->report_lock);
    return TN_ERR_MEMORY;
  }
  if (!tn_holders_open(r)) return TN_OK;
  pthread_mutex_destroy(&r->change);
  pthread_mutex_destroy(&r->report_lock);
  return TN_ERR_MEMORY;
}

static void init_starved(tn_registry *r) {
  tn_kerneldef *kernel = &r->starved_kernel.def;
  r->nobody.name = "";
  r->starved_op.op = (tn_op){.head = TN_HEAD(tn_op), .domain = "", .name = "", .schema = ""};
  r->starved_op.is_unsettled = true;
  kernel->kernel = (tn_kernel){.head = TN_HEAD(tn_kernel), .name = "", .op = "", .device = "cpu"};
  kernel->domain = kernel->op = "";
  r->starved_op.owner = kernel->owner = &r->nobody;
}

tn_status tn_registry_create(const tn_allocator *a, tn_registry **out_registry) {
  *out_registry = NULL;
  tn_registry *r = tn_alloc(a, sizeof *r);
  if (!r) return TN_ERR_MEMORY;
  r->a = a;
  init_starved(r);
  tn_tables *none = NULL;
  tn_status status = tn_tables_build(a, NULL, 0, &none);
  if (!status) status = open_locks(r);
  if (status) {
    tn_tables_free(none);
    tn_free(a, r, sizeof *r);
    return status;
  }
  tn_arena_init(&r->arena, a);
  atomic_init(&r->tables, none);
  *out_registry = r;
  return TN_OK;
}

/* ---- plug-ins ---- */

const char *tn_origin_text(uint32_t origin) {
  static const char *const texts[] = {"built in", "explicit", "TENON_PLUGIN_PATH", "installed",
                                      "examined"};
  return texts[origin];
}

tn_plug *tn_plug_new(tn_registry *r, const char *path, uint32_t origin) {
  tn_plug *plug = tn_alloc(r->a, sizeof *plug);
  if (!plug) return NULL;
  if (pthread_mutex_init(&plug->settling, NULL)) {
    tn_free(r->a, plug, sizeof *plug);
    return NULL;
  }
  plug->a = r->a;
  tn_arena_init(&plug->arena, r->a);
  plug->owner.is_builtin = origin == TN_ORIGIN_BUILT_IN;
  plug->info.head = (tn_head)TN_HEAD(tn_plugin_info);
  plug->info.sha256 = "";
  plug->info.name = plug->info.version = plug->info.license = plug->info.build_id = "";
  plug->info.offers = "";
  plug->info.path = tn_arena_str(&plug->arena, path);
  plug->info.origin = origin;
  plug->info.found_by = tn_origin_text(origin);
  if (plug->info.path) return plug;
  tn_plug_free(plug);
  return NULL;
}

static void plug_unmap(tn_plug *plug) {
  if (plug->library && !plug->owner.is_running) dlclose(plug->library);
  plug->library = NULL;
}

void tn_plug_stop(tn_plug *plug) {
  if (plug->started && plug->plugin.shutdown) plug->plugin.shutdown(plug->owner.self);
  plug->started = false;
}

void tn_plug_free(tn_plug *plug) {
  if (!plug) return;
  tn_plug_stop(plug);
  plug_unmap(plug);
  tn_vec_free(plug->a, &plug->needs);
  tn_vec_free(plug->a, &plug->notes);
  tn_arena_clear(&plug->arena);
  pthread_mutex_destroy(&plug->settling);
  tn_free(plug->a, plug, sizeof *plug);
}

/* ---- tables ---- */

tn_status tn_registry_reserve(tn_registry *r) {
  if (tn_vec_room(r->a, &r->plugs, 1) || tn_vec_room(r->a, &r->old, 1) ||
      tn_vec_room(r->a, &r->retired, 1))
    return TN_ERR_MEMORY;
  return TN_OK;
}

void tn_registry_free_old(tn_registry *r) {
  for (int64_t k = 0; k < r->old.n; k++) tn_tables_free(r->old.data[k]);
  for (int64_t k = 0; k < r->retired.n; k++) tn_plug_free(r->retired.data[k]);
  r->old.n = r->retired.n = 0;
}

void tn_registry_publish(tn_registry *r, tn_tables *tables) {
  r->old.data[r->old.n++] = atomic_exchange(&r->tables, tables);
  if (tn_readers_none(r)) tn_registry_free_old(r);
}

void tn_registry_destroy(tn_registry *r) {
  if (!r) return;
  for (int64_t k = r->plugs.n - 1; k >= 0; k--) tn_plug_stop(r->plugs.data[k]);
  for (int64_t k = r->plugs.n - 1; k >= 0; k--) tn_plug_free(r->plugs.data[k]);
  tn_registry_free_old(r);
  tn_tables_free(atomic_load(&r->tables));
  tn_vec_free(r->a, &r->plugs);
  tn_vec_free(r->a, &r->old);
  tn_vec_free(r->a, &r->retired);
  tn_vec_free(r->a, &r->folders);
  tn_waiting_free(r);
  tn_allow_free(r->a, r->allow);
  tn_arena_clear(&r->arena);
  tn_holders_close(r);
  pthread_mutex_destroy(&r->change);
  pthread_mutex_destroy(&r->report_lock);
  tn_free(r->a, r, sizeof *r);
}

/* ---- rules ---- */

static tn_status add_allow(tn_registry *r, const char *path, tn_diag *diag) {
  tn_allow *allow = NULL;
  if (!path || !*path) return TN_OK;
  const tn_status status = tn_allow_read(&r->arena, path, diag, &allow);
  if (status) return status;
  allow->next = r->allow;
  r->allow = allow;
  return TN_OK;
}

tn_status tn_registry_set_rules(tn_registry *r, const char *allow, const char *vet, tn_diag *diag) {
  tn_status status = add_allow(r, allow, diag);
  if (!status) status = add_allow(r, secure_getenv("TENON_PLUGIN_ALLOW"), diag);
  if (status) return status;
  if (!vet) vet = secure_getenv("TENON_PLUGIN_VET");
  if (!vet || !*vet) return TN_OK;
  if (*vet != '/')
    return tn_fail(diag, TN_ERR_INVALID, "command that vets plug-ins: '%s' is not an absolute path",
                   vet);
  r->vet_limit_s = VET_LIMIT_S;
  r->vet = tn_arena_str(&r->arena, vet);
  return r->vet ? TN_OK : TN_ERR_MEMORY;
}

void tn_registry_notify(const tn_registry *r, uint32_t event) {
  const int ticket = tn_registry_enter(r);
  const tn_tables *t = tn_registry_tables(r);
  for (int32_t k = 0; k < t->n_plugs; k++) {
    const tn_plug *plug = t->plugs[k];
    if (plug->started && plug->plugin.notify) plug->plugin.notify(plug->owner.self, event);
  }
  tn_registry_leave(r, ticket);
}

/* ---- host->fail while init runs ---- */

void tn_registry_set_ctx(tn_registry *r, void *ctx) { r->ctx = ctx; }

static void set_reporting(tn_registry *r, tn_plug *plug, tn_diag *diag) {
  pthread_mutex_lock(&r->report_lock);
  r->reporting = diag;
  r->starting = plug;
  pthread_mutex_unlock(&r->report_lock);
}

void tn_registry_report(tn_registry *r, int32_t severity, const char *text) {
  pthread_mutex_lock(&r->report_lock);
  tn_diag_add(r->reporting, severity, "plug-in '%s', init: %s",
              r->starting ? r->starting->info.name : "", text);
  pthread_mutex_unlock(&r->report_lock);
}

/* ---- adding ---- */

static tn_status start(tn_registry *r, tn_plug *plug, const tn_offer *offer, tn_diag *diag) {
  tn_plugin *p = &plug->plugin;
  tn_status status = TN_OK;
  void *self = NULL;
  if (!p->init && offer->n_options)
    return tn_fail(diag, TN_ERR_INVALID, "plug-in '%s' takes no options, so not '%s'",
                   plug->info.name, offer->options[0]->key);
  if (p->init) {
    set_reporting(r, plug, diag);
    status = p->init(offer->host, r->ctx, offer->options, offer->n_options, &self);
    set_reporting(r, NULL, NULL);
  }
  if (status) {
    char text[TN_ANSWER_TEXT];
    status = tn_answer_status(status, text, sizeof text);
    return tn_fail(diag, status, "plug-in '%s', init: failed: %s", plug->info.name, text);
  }
  plug->owner.self = self;
  plug->started = true;
  return TN_OK;
}

/* Those of the library are in order: the generator has sorted them. */
static void order_kernels(tn_plug *plug) {
  for (uint32_t k = 0; k < plug->n_kernels; k++) {
    tn_kernel_entry *entry = plug->kernels[k];
    entry->order = plug->first_order + k;
  }
  tn_kernels_sort(plug->kernels, plug->n_kernels);
  plug->n_first_run = plug->n_kernels;
}

/* The tables with one plug-in more. One that was refused before and comes again takes the place of
 * its earlier entry, which is answered. */
static tn_status list_plug(tn_registry *r, tn_plug *plug, tn_tables **out_tables,
                           tn_plug **out_former) {
  const tn_tables *t = tn_registry_tables(r);
  const int64_t n = t->n_plugs;
  tn_plug **plugs = tn_alloc(r->a, (uint64_t)(n + 1) * sizeof *plugs);
  if (!plugs || tn_registry_reserve(r)) {
    tn_free(r->a, plugs, (uint64_t)(n + 1) * sizeof *plugs);
    return TN_ERR_MEMORY;
  }
  int64_t at = n;
  for (int64_t k = 0; k < n; k++) {
    plugs[k] = t->plugs[k];
    if (*plug->info.path && plugs[k]->info.refused && !strcmp(plugs[k]->info.path, plug->info.path))
      at = k;
  }
  *out_former = at < n ? plugs[at] : NULL;
  plugs[at] = plug;
  plug->owner.index = (int32_t)at;
  plug->first_order = r->n_kernels;
  if (!plug->is_settled_later) order_kernels(plug);
  const tn_status status = tn_tables_build(r->a, plugs, at < n ? n : n + 1, out_tables);
  tn_free(r->a, plugs, (uint64_t)(n + 1) * sizeof *plugs);
  return status;
}

/* From here on the registry owns plug. */
static void publish(tn_registry *r, tn_plug *plug, tn_tables *tables, tn_plug *former) {
  int64_t kept = 0;
  for (int64_t k = 0; k < r->plugs.n; k++)
    if (r->plugs.data[k] != former) r->plugs.data[kept++] = r->plugs.data[k];
  r->plugs.n = kept;
  r->plugs.data[r->plugs.n++] = plug;
  r->n_kernels += plug->n_kernels;
  if (former) r->retired.data[r->retired.n++] = former;
  tn_registry_publish(r, tables);
}

static tn_status try_take(tn_registry *r, tn_plug *plug, tn_plugin_query_fn query,
                          const tn_offer *offer, tn_diag *diag) {
  tn_tables *tables = NULL;
  tn_plug *former = NULL;
  tn_status status = offer->vet(r, plug, query, diag);
  if (status) return status;
  if (list_plug(r, plug, &tables, &former))
    return tn_fail(diag, TN_ERR_MEMORY, "plug-in '%s': out of memory", plug->info.name);
  status = start(r, plug, offer, diag); /* last: nothing after it can fail */
  if (status) {
    tn_tables_free(tables);
    return status;
  }
  if (offer->note) offer->note(plug, tn_registry_tables(r), diag);
  tn_plug_hold_needs(r, plug);
  publish(r, plug, tables, former);
  return TN_OK;
}

tn_status tn_plug_refuse(tn_registry *r, tn_plug *plug, tn_status status, tn_diag *diag) {
  plug_unmap(plug);
  const char *why = tn_diag_text(diag);
  tn_tables *tables = NULL;
  tn_plug *former = NULL;
  plug->needs.n = 0;
  plug->n_ops = plug->n_kernels = plug->n_rewrites = plug->n_formats = 0;
  plug->info.refused = tn_arena_str(&plug->arena, *why ? why : tn_status_text(status));
  if (!plug->info.refused || list_plug(r, plug, &tables, &former))
    tn_plug_free(plug);
  else
    publish(r, plug, tables, former);
  return status;
}

tn_status tn_plug_take(tn_registry *r, tn_plug *plug, tn_plugin_query_fn query,
                       const tn_offer *offer, tn_diag *diag) {
  const tn_status status = try_take(r, plug, query, offer, diag);
  return status ? tn_plug_refuse(r, plug, status, diag) : TN_OK;
}

tn_status tn_plug_add(tn_registry *r, tn_plugin_query_fn query, const tn_offer *offer,
                      tn_diag *diag) {
  if (!query) return tn_fail(diag, TN_ERR_INVALID, "plug-in that is linked in: query is NULL");
  tn_plug *plug = tn_plug_new(r, "", offer->origin);
  tn_diag *own = tn_diag_create();
  tn_status status = TN_ERR_MEMORY;
  pthread_mutex_lock(&r->change);
  if (plug && own)
    status = tn_plug_take(r, plug, query, offer, own);
  else
    tn_plug_free(plug);
  pthread_mutex_unlock(&r->change);
  if (own) tn_diag_append(diag, own, NULL);
  tn_diag_destroy(own);
  return status;
}
