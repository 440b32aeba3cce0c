/* Plug-ins in shared libraries that are named by a path. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "registry/load.h"

tn_status tn_plug_load(tn_registry *r, const char *path, const tn_offer *offer, tn_diag *diag) {
  tn_plug *plug = tn_plug_new(r, path, offer->found_by);
  if (!plug) return tn_fail(diag, TN_ERR_MEMORY, "%s: out of memory", path);
  if (offer->why) tn_plug_note(plug, "%s", offer->why);
  tn_plugin_query_fn query = NULL;
  const tn_status status = tn_plug_map(r, plug, diag, &query);
  return status ? tn_plug_refuse(r, plug, status, diag) : tn_plug_take(r, plug, query, offer, diag);
}

/* Whoever names a file vouches for its owner and group; not for what everybody may have put there.
 */
static const char *everybody_may_write(const char *path) {
  struct stat file, folder;
  tn_arena arena;
  tn_arena_init(&arena, tn_default_allocator());
  const char *dir = tn_path_dir(&arena, path), *why = NULL;
  if (!dir || stat(path, &file) || stat(dir, &folder))
    why = "it cannot be examined";
  else if (file.st_mode & S_IWOTH)
    why = "everybody can write it";
  else if ((folder.st_mode & S_IWOTH) && !(folder.st_mode & S_ISVTX))
    why = "everybody can write its folder";
  tn_arena_clear(&arena);
  return why;
}

/* Answers the real path in buf, of PATH_MAX bytes; NULL: *out_status says why not. */
static const char *find_named(const char *path, char *buf, tn_diag *diag, tn_status *out_status) {
  /* dlopen would search the system's folders for a name without a slash. */
  const char *real = realpath(path, buf), *why = real ? everybody_may_write(real) : NULL;
  *out_status = TN_OK;
  if (!real)
    *out_status = tn_fail(diag, TN_ERR_NOT_FOUND, "%s: there is no such file", path);
  else if (why)
    *out_status = tn_fail(diag, TN_ERR_INVALID, "%s: is not loaded: %s", real, why);
  return *out_status ? NULL : real;
}

static tn_status load_named(tn_registry *r, const char *path, const tn_offer *offer,
                            tn_diag *diag) {
  char buf[PATH_MAX];
  tn_status status;
  const char *real = find_named(path, buf, diag, &status);
  if (real) return tn_plug_load(r, real, offer, diag);
  tn_plug *plug = tn_plug_new(r, path, offer->found_by);
  if (plug) tn_plug_refuse(r, plug, status, diag);
  return status;
}

tn_status tn_registry_load(tn_registry *r, const char *path, const char *found_by,
                           const tn_host *host, const tn_option *const *options, uint32_t n_options,
                           tn_diag *diag) {
  if (!path || !*path) return tn_fail(diag, TN_ERR_INVALID, "plug-in: no path is given");
  const tn_offer offer = {found_by, "was named by the program or its user", host, options,
                          n_options};
  tn_diag *own = tn_diag_create();
  if (!own) return TN_ERR_MEMORY;
  pthread_mutex_lock(&r->change);
  const tn_status status = load_named(r, path, &offer, own);
  pthread_mutex_unlock(&r->change);
  tn_diag_append(diag, own, NULL);
  tn_diag_destroy(own);
  return status;
}

/* ---- a look without loading ---- */

static void show(const tn_plug *plug, tn_examined *out) {
  out->info = plug->info;
  out->abi_major = plug->plugin.head.major;
  out->abi_minor = plug->plugin.head.minor;
  out->flavour = plug->plugin.flavour;
  out->ops = (const tn_opdef *const *)plug->ops;
  out->kernels = (const tn_kerneldef *const *)(void *)plug->kernels; /* def is their first member */
  out->rewrites = (const tn_rewritedef *const *)plug->rewrites;
  out->formats = (const tn_format *const *)plug->formats;
  out->n_ops = plug->n_ops;
  out->n_kernels = plug->n_kernels;
  out->n_rewrites = plug->n_rewrites;
  out->n_formats = plug->n_formats;
}

tn_status tn_registry_map(tn_registry *r, const char *path, tn_diag *diag, tn_examined *out) {
  char buf[PATH_MAX];
  tn_status status;
  memset(out, 0, sizeof *out);
  const char *real = find_named(path, buf, diag, &status);
  tn_plug *plug = out->plug = tn_plug_new(r, real ? real : path, "examined");
  if (!plug) return tn_fail(diag, TN_ERR_MEMORY, "%s: out of memory", path);
  out->info = plug->info;
  return status ? status : tn_plug_map(r, plug, diag, &out->query);
}

tn_status tn_registry_examine(tn_registry *r, tn_diag *diag, tn_examined *e) {
  const tn_status status = tn_plug_vet(r, e->plug, e->query, diag);
  show(e->plug, e);
  return status;
}

void tn_examined_close(tn_examined *e) {
  tn_plug_free(e->plug);
  memset(e, 0, sizeof *e);
}
