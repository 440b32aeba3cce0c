/* Taking a plug-in away: nobody may hold it, nobody may find it any more, everybody who has found
 * it must have left; then it is shut down and unmapped. Whatever fails leaves things as they
 * were. */
#include <string.h>

#include "base/cpu.h"
#include "registry/load.h"

enum { NS_PER_MS = 1000000, LEAST_WAIT_MS = 250 }; /* for look-ups that are on their way */

static tn_plug *find(const tn_registry *r, const char *name) {
  for (int64_t k = 0; k < r->plugs.n; k++)
    if (!r->plugs.data[k]->info.refused && !strcmp(r->plugs.data[k]->info.name, name))
      return r->plugs.data[k];
  return NULL;
}

/* The tables without plug. */
static tn_status build_without(tn_registry *r, const tn_plug *plug, tn_tables **out_tables) {
  const tn_tables *t = tn_registry_tables(r);
  const uint64_t bytes = (uint64_t)t->n_plugs * sizeof(tn_plug *);
  tn_plug **plugs = tn_alloc(r->a, bytes);
  if (!plugs || tn_registry_reserve(r)) {
    tn_free(r->a, plugs, bytes);
    return TN_ERR_MEMORY;
  }
  int64_t n = 0;
  for (int32_t k = 0; k < t->n_plugs; k++)
    if (t->plugs[k] != plug) plugs[n++] = t->plugs[k];
  const tn_status status = tn_tables_build(r->a, plugs, n, out_tables);
  tn_free(r->a, plugs, bytes);
  return status;
}

/* Nobody can find it: what is left of it goes. */
static void forget(tn_registry *r, tn_plug *plug) {
  int64_t kept = 0;
  for (int64_t k = 0; k < r->plugs.n; k++)
    if (r->plugs.data[k] != plug) r->plugs.data[kept++] = r->plugs.data[k];
  r->plugs.n = kept;
  tn_plug_stop(plug);
  tn_plug_drop_needs(r, plug);
  tn_plug_free(plug);
}

/* Old and new tables change places, and places again if readers stay too long. */
static tn_status take_away(tn_registry *r, tn_plug *plug, uint64_t until_ns, tn_diag *diag) {
  tn_tables *tables = NULL;
  tn_status status = build_without(r, plug, &tables);
  if (status) {
    tn_plug_reopen(r, plug);
    return tn_fail(diag, status, "plug-in '%s': no memory to unload it", plug->info.name);
  }
  tn_tables *before = atomic_exchange(&r->tables, tables);
  if (tn_readers_wait(r, until_ns)) {
    tn_tables_free(before);
    tn_registry_free_old(r);
    forget(r, plug);
    return TN_OK;
  }
  tn_plug_reopen(r, plug);
  atomic_store(&r->tables, before);
  r->old.data[r->old.n++] = tables;
  return tn_fail(diag, TN_ERR_STATE,
                 "plug-in '%s' is not unloaded: models are being loaded or planned, or plug-ins "
                 "looked up, and that did not end in time",
                 plug->info.name);
}

static tn_status try_unload(tn_registry *r, const char *name, uint64_t until_ns, uint64_t *out_seen,
                            bool *out_in_use, tn_diag *diag) {
  tn_plug *plug = find(r, name);
  *out_in_use = false;
  if (!plug)
    return tn_fail(diag, TN_ERR_NOT_FOUND,
                   "plug-in '%s' cannot be unloaded: none of this name is in use", name);
  if (plug->owner.is_builtin)
    return tn_fail(diag, TN_ERR_INVALID, "plug-in '%s' cannot be unloaded: it is built in", name);
  *out_in_use = !tn_plug_close(r, plug, out_seen, diag);
  return *out_in_use ? TN_ERR_STATE : take_away(r, plug, until_ns, diag);
}

tn_status tn_plug_unload(tn_registry *r, const char *name, tn_diag *diag) {
  const uint64_t until = tn_now_ns() + (uint64_t)LEAST_WAIT_MS * NS_PER_MS;
  uint64_t seen;
  bool in_use;
  return try_unload(r, name, until, &seen, &in_use, diag);
}

tn_status tn_registry_unload(tn_registry *r, const char *name, uint32_t wait_ms, tn_diag *diag) {
  const uint64_t now = tn_now_ns(), until = now + (uint64_t)wait_ms * NS_PER_MS;
  const uint64_t least = now + (uint64_t)LEAST_WAIT_MS * NS_PER_MS;
  uint64_t seen = 0;
  bool in_use = false;
  tn_status status;
  tn_diag *own = tn_diag_create(); /* of the last try alone */
  if (!own) return TN_ERR_MEMORY;
  tn_registry_whole(r);
  do {
    tn_diag_clear(own);
    pthread_mutex_lock(&r->change);
    status = try_unload(r, name, until > least ? until : least, &seen, &in_use, own);
    pthread_mutex_unlock(&r->change);
  } while (in_use && tn_holders_wait(r, seen, until));
  tn_diag_append(diag, own, NULL);
  tn_diag_destroy(own);
  return status;
}
