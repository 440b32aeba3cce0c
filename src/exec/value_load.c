/* Reading single values from files: the sink that builds them, behind tn_value_load. */
#include <stdio.h>

#include "exec/cell.h"
#include "exec/model.h"

enum { MAX_DEPTH = 16, NAME_ROOM = 256 };

/* A value being built, and the name found with it. The io is the first member: formats get it as
 * their ctx. */
typedef struct value_sink {
  tn_io io;
  tn_tensor
      *open[MAX_DEPTH]; /* lists that have begun; each is appended to the one before when it ends */
  int32_t depth;
  tn_tensor *root;
  char name[NAME_ROOM];
} value_sink;

static void keep_name(value_sink *s, const char *name) {
  if (!s->depth && name) snprintf(s->name, sizeof s->name, "%s", name);
}

static tn_status add(value_sink *s, const tn_tensor *value) {
  if (s->depth) return tn_list_append(s->open[s->depth - 1], value);
  return s->root ? TN_ERR_INVALID : tn_value_copy(s->io.a, value, &s->root);
}

static tn_status broken(const value_sink *s, const char *what) {
  return tn_fail(s->io.diag, TN_ERR_INVALID, "%s: read_value() hands over %s", s->io.path, what);
}

static tn_status on_tensor(void *ctx, const char *name, const tn_tensor *t) {
  keep_name(ctx, name);
  if (!t) return broken(ctx, "a tensor that is NULL");
  if (t->kind != TN_KIND_TENSOR) return broken(ctx, "a list as a tensor");
  for (int64_t k = 0; t->dtype == TN_STRING && t->data && k < tn_tensor_elements(t); k++) {
    const tn_str text = ((const tn_str *)t->data)[k];
    if (text.size < 0 || (text.size && !text.data)) return broken(ctx, "a string without bytes");
  }
  return add(ctx, t);
}

static tn_status on_begin(void *ctx, const char *name, const tn_tensor *type) {
  value_sink *s = ctx;
  keep_name(s, name);
  if (!type) return broken(s, "a list whose type is NULL");
  if (s->depth == MAX_DEPTH)
    return tn_fail(s->io.diag, TN_ERR_OVERFLOW, "%s: lists are nested too deep", s->io.path);
  tn_cell *cell = tn_cell_new(s->io.a);
  if (!cell) return TN_ERR_MEMORY;
  tn_status status = tn_cell_list(cell, type);
  if (status)
    tn_cell_free(cell);
  else
    s->open[s->depth++] = &cell->value;
  return status;
}

static tn_status on_end(void *ctx) {
  value_sink *s = ctx;
  if (!s->depth) return TN_ERR_INVALID;
  tn_tensor *list = s->open[--s->depth];
  tn_status status = add(s, list);
  tn_value_free(list);
  return status;
}

static tn_status no_sibling(void *ctx, const char *path, const uint8_t **out_data,
                            uint64_t *out_size) {
  (void)out_data, (void)out_size;
  value_sink *s = ctx;
  return tn_fail(s->io.diag, TN_ERR_UNSUPPORTED,
                 "%s: refers to '%s'; single values hold their data themselves", s->io.path, path);
}

static tn_status read_value(tn_runtime *runtime, const char *format, uint32_t kind, value_sink *s) {
  const tn_format *f = tn_registry_format(runtime->registry, format);
  if (!f || !f->read_value)
    return tn_fail(s->io.diag, TN_ERR_UNSUPPORTED, "%s: no format '%s' that reads single values",
                   s->io.path, format);
  tn_mapping file;
  tn_status status = tn_file_map(s->io.path, s->io.diag, &file);
  if (status) return status;
  tn_source source = {.head = TN_HEAD(tn_source),
                      .host = &tn_io_host,
                      .ctx = s,
                      .self = tn_registry_format_self(f),
                      .path = s->io.path,
                      .data = file.data,
                      .size = file.size,
                      .open_sibling = no_sibling};
  tn_value_sink sink = {.head = TN_HEAD(tn_value_sink),
                        .ctx = s,
                        .tensor = on_tensor,
                        .begin = on_begin,
                        .end = on_end};
  status = tn_io_status(&s->io, f, f->read_value(&source, kind, &sink));
  tn_file_unmap(&file);
  if (!status && (!s->root || s->depth))
    status = tn_fail(s->io.diag, TN_ERR_INVALID, "%s: holds no value", s->io.path);
  return status;
}

tn_status tn_value_load(tn_runtime *runtime, const char *path, const char *format, uint32_t kind,
                        tn_diag *diag, tn_tensor **out_value, char *out_name, uint64_t name_size) {
  if (!out_value) return TN_ERR_INVALID;
  *out_value = NULL;
  if (!runtime || !path || !format) return TN_ERR_INVALID;
  value_sink s = {
      .io = {.a = &runtime->allocator, .diag = diag, .path = path, .first = tn_diag_count(diag)}};
  const int ticket = tn_registry_enter(runtime->registry);
  tn_status status = read_value(runtime, format, kind, &s);
  tn_registry_leave(runtime->registry, ticket);
  while (s.depth) tn_value_free(s.open[--s.depth]);
  if (status)
    tn_value_free(s.root);
  else
    *out_value = s.root;
  if (out_name && name_size) snprintf(out_name, (size_t)name_size, "%s", status ? "" : s.name);
  return status;
}

void tn_value_destroy(tn_tensor *value) { tn_value_free(value); }
