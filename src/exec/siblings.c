/* Files next to a model: its external data. Each is mapped once, and none is opened that lies
 * outside of the model's folder. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "exec/loader.h"

static const tn_sibling *find_sibling(const tn_loader *l, const char *path) {
  for (int64_t k = l->siblings.n; k-- > 0;)
    if (!strcmp(l->siblings.data[k].path, path)) return &l->siblings.data[k];
  return NULL;
}

/* Where it really lies: in the model's folder, or in that of the file that the model's name leads
 * to, as in caches that keep all files in one place under links. */
static tn_status inside(const tn_loader *l, const char *path, char *full) {
  char real[PATH_MAX], model[PATH_MAX];
  if (!realpath(full, real)) return TN_OK; /* mapping it says what is wrong */
  if (tn_path_is_inside(real, l->dir)) return TN_OK;
  char *slash = realpath(l->io.path, model) ? strrchr(model, '/') : NULL;
  if (slash) {
    *slash = 0;
    if (tn_path_is_inside(real, *model ? model : "/")) return TN_OK;
  }
  return tn_fail(l->io.diag, TN_ERR_INVALID,
                 "%s: external data '%s': a symbolic link leads out of the model's folder, to %s",
                 l->io.path, path, real);
}

static tn_status map_sibling(tn_loader *l, const char *path, tn_sibling *out) {
  char *full = NULL;
  if (!l->dir)
    return tn_io_host.fail(l, TN_ERR_NOT_FOUND, "external data '%s': the model has no folder",
                           path);
  if (tn_path_join_inside(&l->arena, l->dir, path, &full))
    return tn_io_host.fail(l, TN_ERR_INVALID,
                           "external data '%s': the path leaves the model's folder", path);
  out->path = tn_arena_str(&l->arena, path);
  if (!out->path) return TN_ERR_MEMORY;
  l->io.said = true; /* tn_loader_map does */
  if (inside(l, path, full)) return TN_ERR_INVALID;
  return tn_loader_map(l->model, full, true, l->io.diag, &out->file);
}

tn_status tn_open_sibling(void *ctx, const char *path, const uint8_t **out_data,
                          uint64_t *out_size) {
  tn_loader *l = ctx;
  if (!path || !out_data || !out_size) return TN_ERR_INVALID;
  tn_note_feature(l->model->planner.features, TN_FEATURE_EXTERNAL_DATA);
  if (!tn_has_feature(l->model->planner.features, TN_FEATURE_EXTERNAL_DATA))
    return tn_io_host.fail(l, TN_ERR_UNSUPPORTED, TN_WITHOUT_EXTERNAL_DATA);
  const tn_sibling *known = find_sibling(l, path);
  tn_sibling made;
  if (!known) {
    tn_status status = map_sibling(l, path, &made);
    if (!status) status = tn_vec_push(l->io.a, &l->siblings, made);
    if (!status) status = tn_loader_note(l, &made.file, true);
    if (status) return status;
    known = &made;
  }
  *out_data = known->file.data;
  *out_size = known->file.size;
  return TN_OK;
}
