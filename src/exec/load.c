/* Loading model files: mapping, recognising the format, and serving its reader. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/abi.h"
#include "base/identify.h"
#include "base/pages.h"
#include "exec/loader.h"
#include "plan/constants/packed.h"

enum { TN_IO_TEXT = 4096 }; /* of a message, its path and all */

/* ---- services of readers and writers ---- */

/* Appends how much memory it was that could not be had. */
static void name_refused(const tn_io *io, char *text, size_t size) {
  const size_t n = strlen(text);
  if (io->refused)
    snprintf(text + n, size - n, ": %llu bytes cannot be had", (unsigned long long)io->refused);
}

static __attribute__((format(printf, 3, 4)))
tn_status(io_fail)(void *ctx, tn_status code, const char *format, ...) {
  tn_io *io = ctx;
  char text[TN_IO_TEXT];
  va_list args;
  if (!ctx || !format) return code;
  va_start(args, format);
  tn_error_text(text, sizeof text, code, format, args);
  va_end(args);
  io->said = true;
  if (code == TN_ERR_MEMORY) name_refused(io, text, sizeof text);
  if (!strncmp(text, io->path, strlen(io->path))) return tn_fail(io->diag, code, "%s", text);
  return tn_fail(io->diag, code, "%s: %s", io->path, text);
}

static __attribute__((format(printf, 3, 4))) void io_log(void *ctx, uint32_t level,
                                                         const char *format, ...) {
  const tn_io *io = ctx;
  char text[TN_IO_TEXT];
  va_list args;
  if (!ctx || !format) return;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  tn_diag_add(io->diag, tn_log_severity(level), "%s: %s", io->path, text);
}

static void *io_alloc(void *ctx, uint64_t bytes) {
  tn_io *io = ctx;
  void *memory = tn_alloc_sized(io->a, bytes);
  if (!memory) io->refused = bytes;
  return memory;
}

static void io_free(void *ctx, void *memory) { tn_free_sized(((tn_io *)ctx)->a, memory); }

const tn_host tn_io_host = {
    .head = TN_HEAD(tn_host),
    .graph = &tn_graph_api_table,
    .fail = io_fail,
    .log = io_log,
    .alloc = io_alloc,
    .free = io_free,
};

const tn_host tn_reader_host = {
    .head = TN_HEAD(tn_host),
    .graph = &tn_graph_api_table,
    .fail = io_fail,
    .log = io_log,
    .alloc = io_alloc,
    .free = io_free,
    .get_extension = tn_reader_extension,
};

tn_status tn_io_status(tn_io *io, const tn_format *format, tn_status status) {
  if (status == TN_OK) {
    if (io->said) tn_diag_forgive(io->diag, io->first);
    return TN_OK;
  }
  char text[TN_ANSWER_TEXT];
  status = tn_answer_status(status, text, sizeof text);
  if (!io->said)
    tn_fail(io->diag, status, "%s: format %s: %s%s%s", io->path, format->name, text,
            io->complaint ? "; " : "", io->complaint ? io->complaint : "");
  return status;
}

/* ---- files ---- */

tn_status tn_loader_map(tn_model *m, const char *path, bool is_sibling, tn_diag *diag,
                        tn_mapping *out) {
  if (tn_vec_room(m->planner.a, &m->files, 1)) return TN_ERR_MEMORY;
  tn_status status = tn_file_map(path, diag, out);
  if (!status) m->files.data[m->files.n++] = (tn_model_file){*out, is_sibling};
  return status;
}

tn_status tn_loader_note(tn_loader *l, const tn_mapping *file, bool is_mapped) {
  const tn_mapped_range range = {file->data, file->size, is_mapped, l->is_lazy};
  return tn_vec_push(l->io.a, &l->graph->mapped_ranges, range);
}

/* ---- reading ---- */

static tn_model_options wanted(const tn_model_options *options) {
  tn_model_options given = {.head = TN_HEAD(tn_model_options)};
  if (options && tn_struct_in(&given, sizeof given, options)) given = (tn_model_options){0};
  return given;
}

/* "onnx, tflite": what is read here. */
static const char *formats_read(tn_arena *arena, const tn_registry *r) {
  const char *names = NULL;
  for (int32_t k = 0; k < tn_registry_n_formats(r); k++) {
    const tn_format *f = tn_registry_format_at(r, k);
    if (f && f->read)
      names = tn_arena_format(arena, "%s%s%s", names ? names : "", names ? ", " : "", f->name);
  }
  return names ? names : "none";
}

static tn_status not_recognised(tn_loader *l, const tn_registry *r, const tn_mapping *file) {
  char text[512];
  const char *names = formats_read(&l->arena, r);
  if (tn_file_describe(file->data, file->size, NULL, text, sizeof text))
    return tn_fail(l->io.diag, TN_ERR_UNSUPPORTED, "%s: this is %s. Formats that are read here: %s",
                   l->io.path, text, names);
  if (!file->size)
    return tn_fail(l->io.diag, TN_ERR_UNSUPPORTED, "%s: the file is empty", l->io.path);
  return tn_fail(l->io.diag, TN_ERR_UNSUPPORTED,
                 "%s: what it is cannot be told from its content. Formats that are read here: %s",
                 l->io.path, names);
}

/* Its ending is the format's, and its content is known to be something else: a pointer of Git LFS,
 * a page that was downloaded. */
static bool is_another(const tn_format *format, const tn_mapping *file) {
  char detail[TN_FILE_DETAIL];
  const tn_file_kind *kind = tn_file_identify(file->data, file->size, detail);
  return kind && strcmp(kind->name, format->name) && format->probe &&
         format->probe(file->data, file->size) <= 0;
}

static tn_status check_rival(tn_loader *l, const tn_registry *r, const tn_format *format,
                             const tn_mapping *file) {
  const tn_format *rival = tn_registry_rival(r, format, file->data, file->size);
  if (!rival) return TN_OK;
  return tn_fail(l->io.diag, TN_ERR_UNSUPPORTED,
                 "%s: the formats %s and %s both say that it is theirs: say which one it is "
                 "(--model-format, or format of tn_model_options)",
                 l->io.path, format->name, rival->name);
}

/* tn_registry_recognise asks formats of plug-ins: under a reader's ticket, as all of loading is. */
static tn_status find_format(tn_loader *l, const tn_model_options *options, const tn_mapping *file,
                             const tn_format **out_format) {
  const tn_registry *r = l->model->planner.registry;
  const char *name = wanted(options).format;
  *out_format = name ? tn_registry_format(r, name)
                     : tn_registry_recognise(r, l->io.path, file->data, file->size);
  if (!*out_format && name)
    return tn_fail(l->io.diag, TN_ERR_NOT_FOUND, "%s: there is no format '%s'", l->io.path, name);
  if (!*out_format || (!name && is_another(*out_format, file))) return not_recognised(l, r, file);
  if (!(*out_format)->read)
    return tn_fail(l->io.diag, TN_ERR_UNSUPPORTED, "%s: format '%s' cannot be read", l->io.path,
                   (*out_format)->name);
  const tn_status rival = name ? TN_OK : check_rival(l, r, *out_format, file);
  if (rival) return rival;
  const tn_part_owner *owner = tn_registry_format_owner(r, *out_format);
  if (tn_holder_use(&l->model->holder, owner))
    return tn_fail(l->io.diag, TN_ERR_STATE, "%s: plug-in '%s', which reads it, is being unloaded",
                   l->io.path, owner->name);
  return TN_OK;
}

/* The model's files in the order in which they were mapped: its own, then siblings. */
static tn_status list_files(tn_loader *l, tn_weight_cache_model *out) {
  const tn_model *m = l->model;
  for (int64_t k = 0; k < m->files.n; k++) {
    const char *path = l->io.path;
    if (k > 0) path = tn_arena_format(&l->arena, "%s/%s", l->dir, l->siblings.data[k - 1].path);
    if (!path) return TN_ERR_MEMORY;
    out[k] = (tn_weight_cache_model){path, m->files.data[k].file};
  }
  return TN_OK;
}

/* Models in memory have no files whose times would tell whether they are the same. */
static tn_status open_weights(tn_loader *l) {
  tn_model *m = l->model;
  const tn_weight_cache_folder *folder = atomic_load(&m->runtime->weights);
  if (!m->planner.states || !folder || !*folder->path) return TN_OK;
  if (!m->files.n || m->files.data[0].is_sibling) return TN_OK;
  if (m->files.n != l->siblings.n + 1 || m->planner.model_flags & TN_MODEL_GRAPH_ONLY) return TN_OK;
  tn_weight_cache_model *files = tn_arena_alloc(&l->arena, (uint64_t)m->files.n * sizeof *files);
  tn_weight_cache *weights = NULL;
  tn_status status = files ? list_files(l, files) : TN_ERR_MEMORY;
  if (!status)
    status = tn_weight_cache_open(m->planner.a, m->planner.pool, folder->path, m->planner.isa,
                                  files, m->files.n, l->io.diag, &weights);
  if (!status) tn_packed_cache_keep_take(m->planner.states, weights);
  return status;
}

static tn_status read_graph(tn_loader *l, const tn_format *format, const tn_mapping *file) {
  tn_source source = {.head = TN_HEAD(tn_source),
                      .host = &tn_reader_host,
                      .ctx = l,
                      .self = tn_registry_format_self(format),
                      .path = l->io.path,
                      .data = file->data,
                      .size = file->size,
                      .open_sibling = tn_open_sibling,
                      .entry = l->entry,
                      .flags = l->source_flags};
  tn_graph *graph = tn_graph_new(l->io.a);
  if (!graph) return TN_ERR_MEMORY;
  const tn_part_owner *owner = tn_registry_format_owner(l->model->planner.registry, format);
  l->graph = graph;
  l->is_lazy = tn_is_lazy(owner);
  tn_status status = tn_loader_note(l, file, l->model->files.n > 0);
  if (!status) status = format->read(&source, graph);
  for (int64_t k = 0; k < graph->mapped_ranges.n; k++) /* what was read to find the constants */
    if (graph->mapped_ranges.data[k].is_mapped && graph->mapped_ranges.data[k].is_lazy)
      tn_pages_forget(graph->mapped_ranges.data[k].data, graph->mapped_ranges.data[k].size);
  tn_vec_free(graph->a, &graph->mapped_ranges);
  l->io.complaint = graph->complaint;
  status = tn_io_status(&l->io, format, status);
  l->model->format = format;
  if (!status && l->entry && !graph->entries.n)
    status = tn_fail(l->io.diag, TN_ERR_NOT_FOUND,
                     "%s: there is no entry '%s': the file holds nothing to choose from",
                     l->io.path, l->entry);
  if (!status) status = open_weights(l);
  if (!status) return tn_model_finish_take(l->model, graph, l->io.diag);
  tn_graph_free(graph);
  return status;
}

/* path: for messages and endings. dir: NULL: no siblings. Takes over the model. */
static tn_status load_take(tn_model *model, const char *path, const char *dir,
                           const tn_mapping *file, const tn_model_options *options, tn_diag *diag,
                           tn_model **out_model) {
  const tn_allocator *a = model->planner.a;
  tn_loader l = {.io = {.a = a, .diag = diag, .path = path, .first = tn_diag_count(diag)},
                 .model = model,
                 .dir = dir,
                 .entry = wanted(options).entry};
  if (wanted(options).flags & TN_MODEL_RANDOM_WEIGHTS) l.source_flags = TN_SOURCE_RANDOM_WEIGHTS;
  tn_arena_init(&l.arena, a);
  const tn_format *format = NULL;
  const tn_registry *registry = model->planner.registry;
  const int ticket = tn_registry_enter(registry);
  tn_status status = find_format(&l, options, file, &format);
  if (!status) status = read_graph(&l, format, file);
  tn_registry_leave(registry, ticket);
  tn_vec_free(a, &l.siblings);
  tn_arena_clear(&l.arena);
  if (status == TN_ERR_MEMORY)
    tn_fail(diag, status, "%s: there is no memory for the model in this file of %llu bytes", path,
            (unsigned long long)file->size);
  if (status)
    tn_model_destroy(model);
  else
    *out_model = model;
  return status;
}

/* ---- tenon.h ---- */

static tn_status model_for(tn_runtime *runtime, const char *path, const tn_model_options *options,
                           tn_diag *diag, tn_model **out_model) {
  tn_arena arena;
  tn_arena_init(&arena, &runtime->allocator);
  const char *name = tn_arena_format(&arena, "model '%s'", path);
  tn_status status =
      name ? tn_model_new(runtime, name, path, options, diag, out_model) : TN_ERR_MEMORY;
  tn_arena_clear(&arena);
  return status;
}

/* Some models are folders. */
static tn_status refuse_folder(const char *path, tn_diag *diag) {
  char text[512];
  if (!tn_file_describe(NULL, 0, path, text, sizeof text)) return TN_OK;
  return tn_fail(diag, TN_ERR_UNSUPPORTED, "%s: this is %s", path, text);
}

/* The file of a folder that some format reads the model from; the path itself if there is none. */
static const char *in_folder(tn_arena *arena, tn_model *m, const char *path) {
  const tn_registry *r = m->planner.registry;
  struct stat info;
  const char *found = path;
  if (stat(path, &info) || !S_ISDIR(info.st_mode)) return path;
  const int ticket = tn_registry_enter(r);
  for (int32_t k = 0; k < tn_registry_n_formats(r) && found == path; k++) {
    const tn_format *f = tn_registry_format_at(r, k);
    if (!f || !f->read || !TN_HAS(f, folder_entry) || !f->folder_entry) continue;
    const char *file = tn_arena_format(arena, "%s/%s", path, f->folder_entry);
    if (file && !stat(file, &info) && S_ISREG(info.st_mode)) found = file;
  }
  tn_registry_leave(r, ticket);
  return found;
}

tn_status tn_model_load(tn_runtime *runtime, const char *path, const tn_model_options *options,
                        tn_diag *diag, tn_model **out_model) {
  if (!out_model) return TN_ERR_INVALID;
  *out_model = NULL;
  if (!runtime || !path) return tn_fail(diag, TN_ERR_INVALID, "tn_model_load: no runtime or path");
  tn_model *model = NULL;
  tn_mapping file;
  tn_status status = model_for(runtime, path, options, diag, &model);
  if (status) return status;
  tn_arena arena;
  tn_arena_init(&arena, &runtime->allocator);
  path = in_folder(&arena, model, path);
  status = refuse_folder(path, diag);
  if (!status) status = tn_loader_map(model, path, false, diag, &file);
  if (status) {
    tn_model_destroy(model);
  } else {
    const char *dir = tn_path_dir(&arena, path);
    status = load_take(model, path, dir, &file, options, diag, out_model);
  }
  tn_arena_clear(&arena);
  return status;
}

tn_status tn_model_load_memory(tn_runtime *runtime, const void *data, uint64_t size,
                               const char *dir, const tn_model_options *options, tn_diag *diag,
                               tn_model **out_model) {
  if (!out_model) return TN_ERR_INVALID;
  *out_model = NULL;
  if (!runtime || (!data && size))
    return tn_fail(diag, TN_ERR_INVALID, "tn_model_load_memory: no runtime or data");
  tn_model *model = NULL;
  tn_status status = tn_model_new(runtime, "a model in memory", NULL, options, diag, &model);
  if (status) return status;
  tn_mapping file = {.data = size ? data : (const uint8_t *)"", .size = size};
  return load_take(model, "model in memory", dir, &file, options, diag, out_model);
}
