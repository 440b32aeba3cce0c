/* Saving a model's graph, as it was read or as it is after a pass. */
#include <string.h>

#include "base/file.h"
#include "exec/model.h"

/* The ctx of a writer's tn_sink. */
typedef struct tn_saver {
  tn_io io;
  tn_file_writer file;
} tn_saver;

enum { STAGE_LOAD = 0, STAGE_CHECK = 1 };

/* The number of a pass; -1: no such stage. */
static int32_t stage_number(const char *stage) {
  static const char *const names[] = {"load", "check",     "infer",  "fold",   "lower",
                                      "fuse", "partition", "select", "arrange"};
  if (!stage) return STAGE_LOAD;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (!strcmp(stage, names[k])) return (int32_t)k;
  return -1;
}

static tn_status write_bytes(void *ctx, const void *data, uint64_t size) {
  tn_saver *s = ctx;
  if (size > INT64_MAX || (size && !data)) return TN_ERR_INVALID;
  tn_status status = tn_file_writer_write(&s->file, data, size, s->io.diag);
  if (status) s->io.said = true;
  return status;
}

static tn_status write_graph(const tn_model *m, const tn_graph *g, const char *path,
                             const tn_format *format, tn_diag *diag) {
  tn_saver s = {.io = {.a = m->planner.a, .diag = diag, .path = path}};
  tn_status status = tn_file_writer_open(&s.file, m->planner.a, path, diag);
  if (status) return status;
  tn_sink sink = {.head = TN_HEAD(tn_sink),
                  .host = &tn_io_host,
                  .ctx = &s,
                  .self = tn_registry_format_self(format),
                  .write = write_bytes};
  status = tn_io_status(&s.io, format, format->write(&sink, g));
  if (!status) status = tn_file_writer_commit(&s.file, diag);
  tn_file_writer_abort(&s.file);
  return status;
}

static tn_status find_writer(const tn_model *m, const char *path, const char *name, tn_diag *diag,
                             const tn_format **out_format) {
  const tn_registry *r = m->planner.registry;
  static const uint8_t nothing[1] = {0};
  *out_format = name ? tn_registry_format(r, name) : tn_registry_recognise(r, path, nothing, 0);
  if (!*out_format && !name)
    return tn_fail(diag, TN_ERR_NOT_FOUND, "%s: no format has this ending", path);
  if (!*out_format)
    return tn_fail(diag, TN_ERR_NOT_FOUND, "%s: there is no format '%s'", path, name);
  if ((*out_format)->write) return TN_OK;
  return tn_fail(diag, TN_ERR_UNSUPPORTED, "%s: format '%s' cannot be written", path,
                 (*out_format)->name);
}

/* ---- graphs of stages ---- */

static tn_status save_checked(const tn_model *m, const char *path, const tn_format *format,
                              tn_diag *diag) {
  tn_graph *g = tn_graph_clone(m->loaded);
  if (!g) return TN_ERR_MEMORY;
  tn_status status = tn_pass_check(&m->planner, g, diag);
  if (!status) status = write_graph(m, g, path, format, diag);
  tn_graph_free(g);
  return status;
}

static tn_status declared_types(const tn_model *m, tn_arena *arena, const char *stage,
                                tn_diag *diag, const tn_tensor *const **out_types) {
  int64_t n = m->loaded->inputs.n;
  const tn_tensor **types = tn_arena_alloc(arena, (uint64_t)n * sizeof *types);
  if (!types) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < n; k++) {
    const tn_value *value = tn_graph_val(m->loaded, m->loaded->inputs.data[k]);
    types[k] = &value->type;
    char text[TN_TENSOR_TEXT];
    if (value->type.kind == TN_KIND_TENSOR && tn_storage_bytes(&value->type) < 0)
      return tn_fail(diag, TN_ERR_INVALID,
                     "stage '%s': input '%s' is declared as %s; name its dims", stage, value->name,
                     tn_tensor_text(&value->type, text, sizeof text));
  }
  *out_types = types;
  return TN_OK;
}

static tn_status save_planned(tn_model *m, const char *path, const tn_format *format,
                              int32_t number, const char *stage, const tn_tensor *const *types,
                              tn_diag *diag) {
  if (!m->main)
    return tn_fail(diag, TN_ERR_STATE, "stage '%s': the model was loaded with TN_MODEL_GRAPH_ONLY",
                   stage);
  tn_arena arena;
  tn_arena_init(&arena, m->planner.a);
  tn_plan *plan = NULL;
  tn_status status = types ? TN_OK : declared_types(m, &arena, stage, diag, &types);
  if (!status) status = tn_callable_plan(m->main, types, number, diag, &plan);
  if (status == TN_NEEDS_DATA)
    status =
        tn_fail(diag, TN_ERR_INVALID,
                "stage '%s': shapes depend on the data of an input, which is not given", stage);
  if (!status) status = write_graph(m, plan->graph, path, format, diag);
  if (plan) tn_plan_release(plan);
  tn_arena_clear(&arena);
  return status;
}

static tn_status save(tn_model *model, const char *path, const char *format, int32_t number,
                      const char *stage, const tn_tensor *const *input_types, tn_diag *diag) {
  const tn_format *writer = NULL;
  tn_status status = find_writer(model, path, format, diag, &writer);
  if (status) return status;
  if (number == STAGE_LOAD) return write_graph(model, model->loaded, path, writer, diag);
  if (number == STAGE_CHECK) return save_checked(model, path, writer, diag);
  return save_planned(model, path, writer, number, stage, input_types, diag);
}

tn_status tn_model_save(tn_model *model, const char *path, const char *format, const char *stage,
                        const tn_tensor *const *input_types, tn_diag *diag) {
  if (!model || !path) return tn_fail(diag, TN_ERR_INVALID, "tn_model_save: no model or path");
  const int32_t number = stage_number(stage);
  if (number < 0)
    return tn_fail(diag, TN_ERR_INVALID, "tn_model_save: there is no stage '%s'", stage);
  const int ticket = tn_registry_enter(model->planner.registry);
  const tn_status status = save(model, path, format, number, stage, input_types, diag);
  tn_registry_leave(model->planner.registry, ticket);
  return status;
}
