/* The extension read_as: parts of a file that are in another format. */
#include <string.h>

#include "exec/loader.h"
#include "tenon/experimental/read_as.h"

enum { MOST_DEPTH = 8 }; /* of parts in parts */

static tn_status find_reader(tn_loader *l, const char *name, const tn_format **out) {
  const tn_registry *r = l->model->planner.registry;
  *out = tn_registry_format(r, name);
  if (!*out || !(*out)->read) return TN_ERR_NOT_FOUND;
  if (l->depth == MOST_DEPTH)
    return tn_io_host.fail(l, TN_ERR_OVERFLOW,
                           "parts of other formats are in each other more than %d deep",
                           MOST_DEPTH);
  const tn_part_owner *owner = tn_registry_format_owner(r, *out);
  if (!tn_holder_use(&l->model->holder, owner)) return TN_OK;
  return tn_io_host.fail(l, TN_ERR_STATE,
                         "plug-in '%s', which reads a part of it, is being unloaded", owner->name);
}

static tn_status read_as(void *ctx, const char *name, const char *what, const uint8_t *data,
                         uint64_t size, tn_graph *graph) {
  tn_loader *l = ctx;
  const tn_format *format;
  if (!name || !what || !graph || (size && !data)) return TN_ERR_INVALID;
  const tn_status s = find_reader(l, name, &format);
  if (s) return s;
  tn_note_feature(l->model->planner.features, TN_FEATURE_OTHER_FORMATS);
  if (!tn_has_feature(l->model->planner.features, TN_FEATURE_OTHER_FORMATS))
    return TN_ERR_NOT_FOUND;
  const char *path = tn_arena_format(&l->arena, "%s: %s", l->io.path, what);
  if (!path) return TN_ERR_MEMORY;
  const tn_source source = {.head = TN_HEAD(tn_source),
                            .host = &tn_reader_host,
                            .ctx = l,
                            .self = tn_registry_format_self(format),
                            .path = path,
                            .data = size ? data : NULL,
                            .size = size,
                            .open_sibling = tn_open_sibling,
                            .flags = l->source_flags};
  l->model->part_format = format;
  l->depth++;
  const tn_status read = format->read(&source, graph);
  l->depth--;
  return read;
}

static const tn_read_as extension = {.head = TN_HEAD(tn_read_as), .read = read_as};

const void *tn_reader_extension(void *ctx, const char *name) {
  const tn_loader *l = ctx;
  if (!name) return NULL;
  if (!strcmp(name, TN_FEATURES)) return l->model->planner.features;
  return !strcmp(name, TN_READ_AS) ? &extension : NULL;
}
