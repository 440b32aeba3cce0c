/* Discovery: plug-ins in the folders of TENON_PLUGIN_PATH and in the installed folder. The working
 * folder is never looked at, nor is anything that somebody else may have written. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "registry/load.h"

typedef struct found_file {
  char *path;
  const char *found_by;
  tn_diag *diag; /* messages of the last try */
  bool waits;    /* for an operator that a later file may bring */
} found_file;

typedef struct finder {
  tn_arena arena;
  TN_VEC(found_file) files;
  const char *dir, *found_by;
  tn_status status;
} finder;

static int visit(void *self, const char *name, bool is_dir) {
  finder *f = self;
  if (is_dir || !tn_has_suffix(name, ".so")) return 0;
  const found_file file = {tn_arena_format(&f->arena, "%s/%s", f->dir, name), f->found_by,
                           tn_diag_create(), true};
  f->status = file.path && file.diag ? tn_vec_push(f->arena.a, &f->files, file) : TN_ERR_MEMORY;
  if (f->status) tn_diag_destroy(file.diag);
  return f->status;
}

static void append_as_warnings(tn_diag *diag, const tn_diag *from) {
  const int64_t n = tn_diag_count(from);
  for (int64_t k = 0; k < n; k++)
    tn_diag_add(diag, TN_DIAG_WARNING, "%s", tn_diag_message(from, k, NULL));
}

static void find_in(finder *f, const char *dir, const char *found_by, tn_diag *diag) {
  tn_diag *own = tn_diag_create();
  f->dir = dir;
  f->found_by = found_by;
  tn_dir_each(dir, own, visit, f);
  append_as_warnings(diag, own);
  tn_diag_destroy(own);
}

static void find_in_path(finder *f, const char *path, tn_diag *diag) {
  for (const char *p = path; p && !f->status;) {
    const size_t n = strcspn(p, ":");
    const char *dir = tn_arena_strn(&f->arena, p, (int64_t)n);
    if (!dir)
      f->status = TN_ERR_MEMORY;
    else if (*dir == '/')
      find_in(f, dir, "TENON_PLUGIN_PATH", diag);
    else if (*dir)
      tn_diag_add(diag, TN_DIAG_WARNING,
                  "TENON_PLUGIN_PATH: '%s' is left out: it is not an absolute path", dir);
    p = p[n] ? p + n + 1 : NULL;
  }
}

static tn_status refuse(tn_registry *r, const found_file *file, const char *why) {
  tn_plug *plug = tn_plug_new(r, file->path, file->found_by);
  if (!plug) return TN_ERR_MEMORY;
  const tn_status status =
      tn_fail(file->diag, TN_ERR_INVALID, "%s: is not loaded: %s", file->path, why);
  return tn_plug_refuse(r, plug, status, file->diag);
}

/* True if the file came into use. */
static bool try_load(tn_registry *r, found_file *file, const tn_host *host) {
  const tn_offer offer = {file->found_by, host, NULL, 0};
  const char *why = "";
  tn_diag_clear(file->diag);
  const tn_status status = tn_file_is_trusted(file->path, &why)
                               ? tn_plug_load(r, file->path, &offer, file->diag)
                               : refuse(r, file, why);
  file->waits = status == TN_ERR_NOT_FOUND;
  return status == TN_OK;
}

/* Rounds, until one brings nothing new. */
static void load_all(tn_registry *r, finder *f, const tn_host *host) {
  for (bool again = true; again;) {
    again = false;
    for (int64_t k = 0; k < f->files.n; k++)
      if (f->files.data[k].waits && try_load(r, &f->files.data[k], host)) again = true;
  }
}

tn_status tn_registry_discover(tn_registry *r, const tn_host *host, tn_diag *diag) {
  finder f = {.status = TN_OK};
  tn_arena_init(&f.arena, r->a);
  find_in_path(&f, secure_getenv("TENON_PLUGIN_PATH"), diag);
#ifdef TN_PLUGIN_DIR
  if (!f.status && !access(TN_PLUGIN_DIR, F_OK)) find_in(&f, TN_PLUGIN_DIR, "installed", diag);
#endif
  load_all(r, &f, host);
  for (int64_t k = 0; k < f.files.n; k++) {
    append_as_warnings(diag, f.files.data[k].diag);
    tn_diag_destroy(f.files.data[k].diag);
  }
  tn_vec_free(r->a, &f.files);
  tn_arena_clear(&f.arena);
  return f.status;
}
