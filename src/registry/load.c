/* Plug-ins in shared libraries: a path becomes a mapped library and its query function. */
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "registry/load.h"

static tn_status open_library(tn_plug *plug, tn_diag *diag, tn_plugin_query_fn *out_query) {
  const char *path = plug->info.path;
  const tn_status status = tn_elf_check(path, diag);
  if (status) return status;
  plug->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!plug->library) {
    const char *why = dlerror();
    return tn_fail(diag, TN_ERR_IO, "%s: cannot be loaded: %s", path,
                   why ? why : "no reason given");
  }
  void *symbol = dlsym(plug->library, "tn_plugin_query");
  if (!symbol)
    return tn_fail(diag, TN_ERR_INVALID,
                   "%s: is not a plug-in of Tenon: it does not export tn_plugin_query", path);
  tn_image image;
  if (tn_image_read(plug->a, &image))
    return tn_fail(diag, TN_ERR_MEMORY, "%s: out of memory", path);
  const bool is_code = tn_image_executable(&image, (uintptr_t)symbol);
  tn_image_free(&image);
  if (!is_code)
    return tn_fail(diag, TN_ERR_INVALID,
                   "%s: is not a plug-in of Tenon: its tn_plugin_query is no function", path);
  memcpy(out_query, &symbol, sizeof symbol); /* ISO C has no cast from object to function pointer */
  return TN_OK;
}

tn_status tn_plug_load(tn_registry *r, const char *path, const tn_offer *offer, tn_diag *diag) {
  tn_plug *plug = tn_plug_new(r, path, offer->found_by);
  if (!plug) return tn_fail(diag, TN_ERR_MEMORY, "%s: out of memory", path);
  tn_plugin_query_fn query = NULL;
  const tn_status status = open_library(plug, diag, &query);
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
  const tn_offer offer = {found_by, host, options, n_options};
  tn_diag *own = tn_diag_create();
  if (!own) return TN_ERR_MEMORY;
  const tn_status status = load_named(r, path, &offer, own);
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
  return status ? status : open_library(plug, diag, &out->query);
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
