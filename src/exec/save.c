/* Saving a model's graph, as it was read or as it is after a pass. */
#include <stdio.h>
#include <string.h>

#include "base/abi.h"
#include "exec/model.h"

/* Where a graph goes. */
typedef struct target {
  const char *path;
  const tn_format *format;
  const char *data_file, *data_path; /* of the second file: its name, and that with the folder */
  uint64_t data_from;                /* as tn_sink.data_from */
} target;

/* The ctx of a writer's tn_sink. */
typedef struct tn_saver {
  tn_io io;
  const tn_model *model;
  const target *to;
  tn_file_writer file, data;
  bool has_data;    /* the second file was begun */
  tn_status failed; /* of the first call that failed: what is written is not whole, even if the
                       writer goes on */
} tn_saver;

enum { STAGE_LOAD = 0, STAGE_CHECK = 1, STAGE_STANDARD = 100 };
enum { ONNX_OPSET = 24 }; /* the newest that files are written for */

/* The number of a pass; -1: no such stage. */
static int32_t stage_number(const char *stage) {
  static const char *const names[] = {"load", "check",     "infer",  "fold",   "lower",
                                      "fuse", "partition", "select", "arrange"};
  if (!strcmp(stage, "standard")) return STAGE_STANDARD;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (!strcmp(stage, names[k])) return (int32_t)k;
  return -1;
}

static tn_status put_bytes(tn_saver *s, tn_file_writer *to, const void *data, uint64_t size) {
  if (s->failed) return s->failed;
  if (size > INT64_MAX || (size && !data)) return s->failed = TN_ERR_INVALID;
  s->failed = tn_file_writer_write(to, data, size, s->io.diag);
  if (s->failed) s->io.said = true;
  return s->failed;
}

static tn_status write_bytes(void *ctx, const void *data, uint64_t size) {
  tn_saver *s = ctx;
  return put_bytes(s, &s->file, data, size);
}

/* A model may replace the file it was read from, but not a file of its weights, which the model at
 * the old place would miss. */
static tn_status check_unused(const tn_model *m, const char *path, bool is_data, tn_diag *diag) {
  for (int64_t k = 0; k < m->files.n; k++) {
    if (!is_data && !m->files.data[k].is_sibling) continue;
    if (tn_file_is_mapped(&m->files.data[k].file, path))
      return tn_fail(diag, TN_ERR_STATE, "%s: the model that is saved has its %s in this file",
                     path, m->files.data[k].is_sibling ? "weights" : "graph");
  }
  return TN_OK;
}

static tn_status begin_data(tn_saver *s) {
  tn_status status = check_unused(s->model, s->to->data_path, true, s->io.diag);
  if (!status) status = tn_file_writer_open(&s->data, s->io.a, s->to->data_path, s->io.diag);
  if (status) s->io.said = true;
  s->has_data = !status;
  return status;
}

static tn_status write_data(void *ctx, const void *data, uint64_t size) {
  tn_saver *s = ctx;
  if (!s->has_data && !s->failed) s->failed = begin_data(s);
  return put_bytes(s, &s->data, data, size);
}

static tn_status commit(tn_saver *s) {
  return s->has_data ? tn_file_writer_commit_both(&s->data, &s->file, s->io.diag)
                     : tn_file_writer_commit(&s->file, s->io.diag);
}

/* Has the graph, or one within it, constants of so many bytes? */
static bool has_large(const tn_graph *g, uint64_t from) {
  bool found = false;
  for (int64_t k = 0; k < g->values.n && !found; k++)
    found = g->values.data[k].constant && g->values.data[k].constant->bytes >= from;
  for (int64_t k = 0; k < g->subgraphs.n && !found; k++)
    found = has_large(g->subgraphs.data[k], from);
  for (int64_t k = 0; k < g->functions.n && !found; k++)
    found = has_large(g->functions.data[k].body, from);
  return found;
}

/* Some formats have no second file. */
static void note_no_data(const tn_graph *g, const target *to, tn_diag *diag) {
  char why[160] = "no weights are large enough";
  if (has_large(g, to->data_from))
    snprintf(why, sizeof why, "format '%.100s' put no weights there", to->format->name);
  tn_diag_add(diag, TN_DIAG_NOTE, "%s: nothing was put into %s: %s", to->path, to->data_file, why);
}

static tn_status write_graph(const tn_model *m, const tn_graph *g, const target *to,
                             tn_diag *diag) {
  tn_saver s = {
      .io = {.a = m->planner.a, .diag = diag, .path = to->path, .first = tn_diag_count(diag)},
      .model = m,
      .to = to};
  tn_status status = check_unused(m, to->path, false, diag);
  if (!status) status = tn_file_writer_open(&s.file, m->planner.a, to->path, diag);
  if (status) return status;
  tn_sink sink = {.head = TN_HEAD(tn_sink),
                  .host = &tn_io_host,
                  .ctx = &s,
                  .self = tn_registry_format_self(to->format),
                  .write = write_bytes,
                  .data_file = to->data_file,
                  .data_from = to->data_from,
                  .write_data = write_data};
  status = tn_graph_fetch(g);
  if (!status) {
    status = to->format->write(&sink, g);
    status = tn_io_status(&s.io, to->format, status ? status : s.failed);
    tn_graph_drop(g);
  }
  if (!status) status = commit(&s);
  if (!status && !s.has_data && to->data_from != UINT64_MAX) note_no_data(g, to, diag);
  tn_file_writer_abort(&s.file);
  if (s.has_data) tn_file_writer_abort(&s.data);
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

/* ---- the second file ---- */

static const char *file_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Readers refuse names that lead elsewhere on some system. */
static bool is_file_name(const char *n) {
  return *n && strcmp(n, ".") && strcmp(n, "..") && !strpbrk(n, "/\\") && n[1] != ':';
}

/* name: as in tn_save_options.data_file. Without one, a path that gives none has no second file. */
static tn_status name_data(target *to, const char *name, tn_arena *arena, tn_diag *diag) {
  const char *first = file_name(to->path), *dir = tn_path_dir(arena, to->path);
  const char *n = name ? tn_arena_str(arena, name) : tn_arena_format(arena, "%s.data", first);
  if (!dir || !n) return TN_ERR_MEMORY;
  if (!is_file_name(n) && !name && to->data_from == UINT64_MAX) return TN_OK;
  if (!is_file_name(n))
    return tn_fail(diag, TN_ERR_INVALID, "%s: '%s' is no name of a file next to it", to->path, n);
  if (!strcmp(n, first))
    return tn_fail(diag, TN_ERR_INVALID, "%s: weights cannot stand in the same file", to->path);
  to->data_path = tn_arena_format(arena, "%s/%s", dir, n);
  to->data_file = n;
  return to->data_path ? TN_OK : TN_ERR_MEMORY;
}

/* ---- graphs of stages ---- */

static tn_status save_checked(const tn_model *m, const target *to, tn_diag *diag) {
  tn_graph *g = tn_graph_clone(m->loaded);
  if (!g) return TN_ERR_MEMORY;
  tn_status status = tn_pass_check(&m->planner, g, diag);
  if (!status) status = write_graph(m, g, to, diag);
  tn_graph_free(g);
  return status;
}

/* given: those of inputs without states; NULL: the declared ones. */
static tn_status declared_types(const tn_model *m, tn_arena *arena, const char *stage,
                                const tn_tensor *const *given, tn_diag *diag,
                                const tn_tensor *const **out_types) {
  const tn_graph *g = m->loaded;
  const int64_t n_own = g->inputs.n, n = n_own + g->states.n;
  const tn_tensor **types = tn_arena_alloc(arena, (uint64_t)n * sizeof *types);
  if (!types) return TN_ERR_MEMORY;
  for (int64_t k = 0; k < n; k++) {
    const tn_state *state = k < n_own ? NULL : &g->states.data[k - n_own];
    const tn_value *value = tn_graph_val(g, !state               ? g->inputs.data[k]
                                            : state->initial < 0 ? state->before
                                                                 : state->initial);
    types[k] = given && k < n_own ? given[k] : value->type;
    char text[TN_TENSOR_TEXT];
    if (types[k]->kind == TN_KIND_TENSOR && tn_storage_bytes(types[k]) < 0)
      return tn_fail(diag, TN_ERR_INVALID, "stage '%s': input '%s' is declared as %s; %s", stage,
                     value->name, tn_tensor_text(types[k], text, sizeof text),
                     types[k]->dtype == TN_NONE ? "give the input, for its type" : "name its dims");
  }
  *out_types = types;
  return TN_OK;
}

/* ---- for other programs ---- */

static bool fits(const tn_tensor *type, const tn_tensor *declared) {
  bool does = type->kind == declared->kind &&
              (declared->dtype == TN_NONE || type->dtype == declared->dtype) &&
              (declared->rank < 0 || type->rank == declared->rank);
  for (int32_t d = 0; does && d < declared->rank; d++)
    does = declared->shape[d] < 0 || declared->shape[d] == type->shape[d];
  return does;
}

/* The input is a constant with this data. */
static tn_status freeze(tn_graph *g, int64_t input, const tn_tensor *data) {
  const int32_t value = g->inputs.data[input];
  tn_const *c = NULL;
  tn_status status = tn_const_copy(g->a, data, &c);
  if (!status) status = tn_graph_set_const(g, value, data, c);
  tn_const_release(c);
  tn_graph_val(g, value)->flags &= ~(uint32_t)TN_VALUE_INPUT;
  for (int64_t k = input; k + 1 < g->inputs.n; k++) g->inputs.data[k] = g->inputs.data[k + 1];
  g->inputs.n--;
  return status;
}

/* Inputs have these types, and states the ones they begin with. */
static tn_status set_types(tn_graph *g, const tn_tensor *const *types, int64_t n_own,
                           tn_diag *diag) {
  tn_status status = TN_OK;
  for (int64_t k = 0; k < g->inputs.n && !status; k++) {
    tn_value *v = tn_graph_val(g, g->inputs.data[k]);
    char want[TN_TENSOR_TEXT], have[TN_TENSOR_TEXT];
    tn_tensor type = *types[k];
    type.data = NULL;
    if (k < n_own && !fits(&type, v->type))
      return tn_fail(diag, TN_ERR_SHAPE, "input '%s' is %s, which does not fit %s", v->name,
                     tn_tensor_text(&type, have, sizeof have),
                     tn_tensor_text(v->type, want, sizeof want));
    status = tn_graph_set_type(g, g->inputs.data[k], &type);
    v->known = true;
  }
  return status;
}

static tn_status name_value(tn_graph *g, int32_t value, const char *prefix, const char *name) {
  const char *text = tn_arena_format(&g->arena, "%s%s", prefix, name);
  if (!text) return TN_ERR_MEMORY;
  tn_graph_val(g, value)->name = text;
  return TN_OK;
}

static bool is_taken(const tn_graph *g, const char *name, int32_t but) {
  bool is = false;
  for (int32_t v = 0; v < g->values.n && !is; v++)
    is = v != but && !strcmp(tn_graph_val(g, v)->name, name);
  return is;
}

/* What a run without it begins with. */
static tn_status set_default(tn_graph *g, int32_t value, const tn_graph *from, int32_t initial) {
  const tn_default d = {value, tn_tensor_in(tn_graph_val(g, value)->type)};
  tn_const *c = initial < 0 ? tn_const_new(g->a, (uint64_t)tn_storage_bytes(&d.type))
                            : tn_const_retain(tn_graph_val(from, initial)->constant);
  tn_status status = c ? tn_graph_set_const(g, value, &d.type, c) : TN_ERR_MEMORY;
  tn_const_release(c);
  tn_graph_val(g, value)->flags |= TN_VALUE_INPUT;
  return status ? status : tn_vec_push(g->a, &g->defaults, d);
}

/* A state `s` is an input "s" with a default ("s.before" where another value is called so), and an
 * output "state/s". They are the last ones. */
static tn_status write_states(const tn_graph *from, tn_graph *g) {
  const int64_t n = from->states.n;
  tn_status status = TN_OK;
  g->inputs.n -= n;
  for (int64_t k = 0; k < n && !status; k++) {
    const tn_state *s = &from->states.data[k];
    status = name_value(g, g->outputs.data[g->outputs.n - n + k], "state/", s->name);
    const char *suffix = is_taken(g, s->name, s->before) ? ".before" : "";
    if (!status) status = name_value(g, s->before, s->name, suffix);
    if (!status) status = set_default(g, s->before, from, s->initial);
  }
  return status;
}

/* The clone of the model that is written. frozen: per input, whether it is a constant with the data
 * that were given. TN_NEEDS_DATA: *out_input has to be one. */
static tn_status make_standard(const tn_model *m, const tn_tensor *const *types,
                               const uint8_t *frozen, tn_graph *g, int32_t *out_input,
                               tn_diag *diag) {
  tn_planner p = m->planner;
  p.onnx_opset = ONNX_OPSET;
  p.n_accelerators = 0;
  const int64_t n_own = g->inputs.n;
  int32_t needed = -1;
  tn_status status = tn_graph_settle_defaults(g, NULL);
  if (!status) status = tn_graph_settle_states(g);
  if (!status) status = set_types(g, types, n_own, diag);
  for (int64_t k = n_own - 1; k >= 0 && !status; k--)
    if (frozen[k]) status = freeze(g, k, types[k]);
  if (!status) status = tn_pass_check(&p, g, diag);
  if (!status) status = tn_pass_standard(&p, g, &needed, diag);
  for (int64_t k = 0; k < m->loaded->inputs.n && status == TN_NEEDS_DATA; k++)
    if (m->loaded->inputs.data[k] == needed) *out_input = (int32_t)k;
  return status ? status : write_states(m->loaded, g);
}

static tn_status save_standard(const tn_model *m, const target *to, const tn_tensor *const *given,
                               tn_diag *diag) {
  tn_arena arena;
  tn_arena_init(&arena, m->planner.a);
  const tn_tensor *const *types = NULL;
  tn_graph *g = NULL;
  tn_status status = declared_types(m, &arena, "standard", given, diag, &types);
  uint8_t *frozen = tn_arena_alloc(&arena, (uint64_t)m->loaded->inputs.n + 1);
  if (!status && !frozen) status = TN_ERR_MEMORY;
  for (int32_t input = 0; !status && input >= 0;) {
    input = -1;
    g = tn_graph_clone(m->loaded);
    status = g ? make_standard(m, types, frozen, g, &input, diag) : TN_ERR_MEMORY;
    if (status != TN_NEEDS_DATA || input < 0) break;
    tn_graph_free(g);
    g = NULL;
    status = TN_OK;
    if (frozen[input] || !types[input]->data)
      status =
          tn_fail(diag, TN_ERR_INVALID,
                  "shapes depend on the data of input '%s': give it, and it becomes a constant",
                  tn_graph_val(m->loaded, m->loaded->inputs.data[input])->name);
    frozen[input] = 1;
  }
  if (!status) status = write_graph(m, g, to, diag);
  tn_graph_free(g);
  tn_arena_clear(&arena);
  return status;
}

static tn_status save_planned(tn_model *m, const target *to, int32_t number, const char *stage,
                              const tn_tensor *const *types, tn_diag *diag) {
  if (!m->main)
    return tn_fail(diag, TN_ERR_STATE, "stage '%s': the model was loaded with TN_MODEL_GRAPH_ONLY",
                   stage);
  tn_arena arena;
  tn_arena_init(&arena, m->planner.a);
  tn_plan *plan = NULL;
  tn_status status =
      types && !m->loaded->states.n ? TN_OK : declared_types(m, &arena, stage, types, diag, &types);
  if (!status) status = tn_callable_plan(m->main, types, number, diag, &plan);
  if (status == TN_NEEDS_DATA)
    status =
        tn_fail(diag, TN_ERR_INVALID,
                "stage '%s': shapes depend on the data of an input, which is not given", stage);
  if (!status) status = write_graph(m, plan->graph, to, diag);
  if (plan) tn_plan_release(plan);
  tn_arena_clear(&arena);
  return status;
}

/* What a file of the same format says stays as it is; other formats get what all of them read. */
static int32_t default_stage(const tn_model *m, const tn_format *to) {
  return !m->format || m->format == to ? STAGE_LOAD : STAGE_STANDARD;
}

static tn_status save(tn_model *model, const tn_save_options *o, target *to, tn_diag *diag) {
  tn_status status = find_writer(model, to->path, o->format, diag, &to->format);
  if (status) return status;
  const int32_t number = o->stage ? stage_number(o->stage) : default_stage(model, to->format);
  if (number == STAGE_LOAD) return write_graph(model, model->loaded, to, diag);
  if (number == STAGE_CHECK) return save_checked(model, to, diag);
  if (number == STAGE_STANDARD) return save_standard(model, to, o->input_types, diag);
  return save_planned(model, to, number, o->stage, o->input_types, diag);
}

tn_status tn_model_save_as(tn_model *model, const char *path, const tn_save_options *options,
                           tn_diag *diag) {
  tn_save_options o = {.head = TN_HEAD(tn_save_options)};
  if (!model || !path) return tn_fail(diag, TN_ERR_INVALID, "tn_model_save: no model or path");
  if (options && tn_struct_in(&o, sizeof o, options))
    return tn_fail(diag, TN_ERR_INVALID, "tn_model_save: options.head.size is wrong");
  if (o.stage && stage_number(o.stage) < 0)
    return tn_fail(diag, TN_ERR_INVALID, "tn_model_save: there is no stage '%s'", o.stage);
  target to = {.path = path, .data_from = o.data_from ? o.data_from : UINT64_MAX};
  tn_arena arena;
  tn_arena_init(&arena, model->planner.a);
  tn_status status = name_data(&to, o.data_file, &arena, diag);
  const int ticket = tn_registry_enter(model->planner.registry);
  if (!status) status = save(model, &o, &to, diag);
  tn_registry_leave(model->planner.registry, ticket);
  tn_arena_clear(&arena);
  return status;
}

tn_status tn_model_save(tn_model *model, const char *path, const char *format, const char *stage,
                        const tn_tensor *const *input_types, tn_diag *diag) {
  const tn_save_options options = {.head = TN_HEAD(tn_save_options),
                                   .format = format,
                                   .stage = stage,
                                   .input_types = input_types};
  return tn_model_save_as(model, path, &options, diag);
}
