/* The registry: a plug-in is vetted, merged into new tables, started, and published, or it is
 * listed with the reason why not. Shutting down goes the other way. */
#include <dlfcn.h>
#include <string.h>

#include "registry/load.h"

static const tn_tables no_tables;

tn_status tn_registry_create(const tn_allocator *a, tn_registry **out_registry) {
  *out_registry = NULL;
  tn_registry *r = tn_alloc(a, sizeof *r);
  if (!r) return TN_ERR_MEMORY;
  r->a = a;
  atomic_init(&r->tables, &no_tables);
  if (pthread_mutex_init(&r->report_lock, NULL)) {
    tn_free(a, r, sizeof *r);
    return TN_ERR_MEMORY;
  }
  *out_registry = r;
  return TN_OK;
}

/* ---- plug-ins ---- */

tn_plug *tn_plug_new(tn_registry *r, const char *path, const char *found_by) {
  tn_plug *plug = tn_alloc(r->a, sizeof *plug);
  if (!plug) return NULL;
  plug->a = r->a;
  tn_arena_init(&plug->arena, r->a);
  plug->info.head = (tn_head)TN_HEAD(tn_plugin_info);
  plug->info.name = plug->info.version = plug->info.license = plug->info.build_id = "";
  plug->info.path = tn_arena_str(&plug->arena, path);
  plug->info.found_by = tn_arena_str(&plug->arena, found_by);
  if (plug->info.path && plug->info.found_by) return plug;
  tn_plug_free(plug);
  return NULL;
}

static void plug_stop(tn_plug *plug) {
  if (plug->started && plug->plugin.shutdown) plug->plugin.shutdown(plug->owner.self);
  plug->started = false;
}

static void plug_unmap(tn_plug *plug) {
  if (plug->library) dlclose(plug->library);
  plug->library = NULL;
}

void tn_plug_free(tn_plug *plug) {
  if (!plug) return;
  plug_stop(plug);
  plug_unmap(plug);
  tn_arena_clear(&plug->arena);
  tn_free(plug->a, plug, sizeof *plug);
}

void tn_registry_destroy(tn_registry *r) {
  if (!r) return;
  for (int64_t k = r->plugs.n - 1; k >= 0; k--) plug_stop(r->plugs.data[k]);
  for (int64_t k = r->plugs.n - 1; k >= 0; k--) tn_plug_free(r->plugs.data[k]);
  tn_vec_free(r->a, &r->plugs);
  pthread_mutex_destroy(&r->report_lock);
  tn_free(r->a, r, sizeof *r);
}

/* ---- host->fail while init runs ---- */

void tn_registry_set_ctx(tn_registry *r, void *ctx) { r->ctx = ctx; }

static void set_reporting(tn_registry *r, const char *plugin, tn_diag *diag) {
  pthread_mutex_lock(&r->report_lock);
  r->reporting = diag;
  r->reporting_plugin = plugin;
  pthread_mutex_unlock(&r->report_lock);
}

void tn_registry_report(tn_registry *r, const char *text) {
  pthread_mutex_lock(&r->report_lock);
  tn_diag_add(r->reporting, TN_DIAG_ERROR, "plug-in '%s', init: %s",
              r->reporting ? r->reporting_plugin : "", text);
  pthread_mutex_unlock(&r->report_lock);
}

/* ---- adding ---- */

static tn_status start(tn_registry *r, tn_plug *plug, const tn_offer *offer, tn_diag *diag) {
  tn_plugin *p = &plug->plugin;
  tn_status status = TN_OK;
  void *self = NULL;
  if (p->init) {
    set_reporting(r, plug->info.name, diag);
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

tn_status tn_plug_vet(tn_registry *r, tn_plug *plug, tn_plugin_query_fn query, tn_diag *diag) {
  const char *where = *plug->info.path
                          ? tn_arena_format(&plug->arena, "plug-in %s", plug->info.path)
                          : "plug-in that is linked in";
  const tn_plugin *raw = query(TN_ABI_MAJOR, TN_ABI_MINOR);
  if (!where) return TN_ERR_MEMORY;
  if (!raw)
    return tn_fail(diag, TN_ERR_VERSION, "%s: tn_plugin_query offers nothing for ABI %d.%d", where,
                   TN_ABI_MAJOR, TN_ABI_MINOR);
  tn_image image = {.a = r->a};
  if (plug->library && tn_image_read(r->a, &image))
    return tn_fail(diag, TN_ERR_MEMORY, "%s: out of memory", where);
  tn_vet v = {.plug = plug,
              .known = tn_registry_tables(r),
              .image = plug->library ? &image : NULL,
              .diag = diag,
              .where = where};
  const bool ok = tn_vet_plugin(&v, raw);
  tn_image_free(&image);
  return ok ? TN_OK : v.status ? v.status : TN_ERR_INVALID;
}

/* From here on the registry owns plug, whatever happens. */
static tn_status publish(tn_registry *r, tn_plug *plug, const tn_tables *tables) {
  plug->owner.index = (int32_t)r->plugs.n;
  r->plugs.data[r->plugs.n++] = plug;
  atomic_store_explicit(&r->tables, tables, memory_order_release);
  return TN_OK;
}

static tn_status try_take(tn_registry *r, tn_plug *plug, tn_plugin_query_fn query,
                          const tn_offer *offer, tn_diag *diag) {
  const tn_tables *tables;
  tn_status status = tn_plug_vet(r, plug, query, diag);
  if (status) return status;
  if (tn_tables_merge(tn_registry_tables(r), plug, &tables) || tn_vec_room(r->a, &r->plugs, 1))
    return tn_fail(diag, TN_ERR_MEMORY, "plug-in '%s': out of memory", plug->info.name);
  status = start(r, plug, offer, diag); /* last: nothing after it can fail */
  return status ? status : publish(r, plug, tables);
}

tn_status tn_plug_refuse(tn_registry *r, tn_plug *plug, tn_status status, tn_diag *diag) {
  plug_unmap(plug);
  const char *why = tn_diag_text(diag);
  plug->info.refused = tn_arena_str(&plug->arena, *why ? why : tn_status_text(status));
  const tn_tables *tables;
  if (!plug->info.refused || tn_tables_merge(tn_registry_tables(r), plug, &tables) ||
      tn_vec_room(r->a, &r->plugs, 1)) {
    tn_plug_free(plug);
    return status;
  }
  publish(r, plug, tables);
  return status;
}

tn_status tn_plug_take(tn_registry *r, tn_plug *plug, tn_plugin_query_fn query,
                       const tn_offer *offer, tn_diag *diag) {
  const tn_status status = try_take(r, plug, query, offer, diag);
  return status ? tn_plug_refuse(r, plug, status, diag) : TN_OK;
}

tn_status tn_registry_add(tn_registry *r, tn_plugin_query_fn query, const char *found_by,
                          const tn_host *host, const tn_option *const *options, uint32_t n_options,
                          tn_diag *diag) {
  if (!query) return tn_fail(diag, TN_ERR_INVALID, "plug-in that is linked in: query is NULL");
  const tn_offer offer = {found_by, host, options, n_options};
  tn_plug *plug = tn_plug_new(r, "", found_by);
  tn_diag *own = tn_diag_create();
  tn_status status = TN_ERR_MEMORY;
  if (plug && own)
    status = tn_plug_take(r, plug, query, &offer, own);
  else
    tn_plug_free(plug);
  if (own) tn_diag_append(diag, own, NULL);
  tn_diag_destroy(own);
  return status;
}
