/* A model: a checked graph as a callable, with the states and mapped files that its plans use. */
#include "exec/model.h"

#include <string.h>

#include "base/abi.h"
#include "plan/constants/packed.h"

static tn_status read_options(const tn_model_options *options, tn_diag *diag,
                              tn_model_options *out) {
  memset(out, 0, sizeof *out);
  if (options && tn_struct_in(out, sizeof *out, options))
    return tn_fail(diag, TN_ERR_INVALID, "tn_model_options: head.size is %u", options->head.size);
  if (out->max_plans < 0)
    return tn_fail(diag, TN_ERR_INVALID, "tn_model_options: max_plans is %d", out->max_plans);
  const uint32_t known = TN_MODEL_NO_OPTIMIZE | TN_MODEL_GRAPH_ONLY | TN_MODEL_CHECKED |
                         TN_MODEL_RANDOM_WEIGHTS | TN_MODEL_COMPILE;
  if (out->flags & ~known)
    return tn_fail(diag, TN_ERR_UNSUPPORTED, "tn_model_options: flags has unknown bits 0x%x",
                   out->flags & ~known);
  return TN_OK;
}

static tn_status check_precision(const tn_model_options *o, tn_diag *diag) {
  if (!o->precision || o->precision == TN_F32) return TN_OK;
  if (o->precision != TN_F16 && o->precision != TN_BF16)
    return tn_fail(diag, TN_ERR_UNSUPPORTED, "tn_model_options: precision is f32, f16 or bf16");
  if (o->flags & TN_MODEL_NO_OPTIMIZE)
    return tn_fail(diag, TN_ERR_INVALID, "precision %s is not to be had without optimising",
                   tn_dtype_name(o->precision));
  return TN_OK;
}

static tn_status set_name(tn_model *m, const tn_allocator *a, const char *name) {
  const size_t bytes = strlen(name) + 1;
  m->name = tn_alloc(a, bytes);
  if (!m->name) return TN_ERR_MEMORY;
  memcpy(m->name, name, bytes);
  tn_holder_open(&m->holder, m->runtime->registry, m->name);
  return TN_OK;
}

tn_status tn_model_new(tn_runtime *runtime, const char *name, const char *path,
                       const tn_model_options *options, tn_diag *diag, tn_model **out_model) {
  tn_model_options given;
  tn_status status = read_options(options, diag, &given);
  if (!status) status = check_precision(&given, diag);
  if (status) return status;
  tn_model *m = tn_alloc(&runtime->allocator, sizeof *m);
  if (!m) return TN_ERR_MEMORY;
  const bool folds = tn_has_feature(&runtime->features, TN_FEATURE_FOLDING);
  atomic_init(&m->refs, 1);
  m->runtime = tn_runtime_retain(runtime);
  m->planner = (tn_planner){.a = &runtime->allocator,
                            .registry = runtime->registry,
                            .holder = &m->holder,
                            .pool = runtime->pool,
                            .isa = runtime->isa,
                            .pins = (const char *const *)runtime->pins,
                            .n_pins = runtime->n_pins,
                            .model_flags = given.flags,
                            .precision = given.precision == TN_F32 ? 0 : given.precision,
                            .max_plans = given.max_plans,
                            .eval = folds ? tn_eval_node : NULL,
                            .tuning = runtime->tuning,
                            .features = &runtime->features,
                            .measure = tn_measure_node,
                            .serial = &runtime->serial};
  status = set_name(m, m->planner.a, name);
  if (!status) status = tn_packed_cache_create(m->planner.a, &m->planner.states);
  if (!status) status = tn_model_open_devices(m, &given, path, diag);
  if (status)
    tn_model_destroy(m);
  else
    *out_model = m;
  return status;
}

/* Names across graphs become captures; the graph as read is kept for saving. */
static tn_status resolve(tn_model *m, tn_graph *graph, tn_diag *diag) {
  tn_status status = tn_graph_resolve(graph, diag);
  if (!status) status = tn_graph_sort(graph, diag);
  if (status) return status;
  m->loaded = tn_graph_clone(graph);
  if (!m->loaded) return TN_ERR_MEMORY;
  if (graph->states.n) {
    tn_note_feature(m->planner.features, TN_FEATURE_STATES);
    if (!tn_has_feature(m->planner.features, TN_FEATURE_STATES))
      return tn_fail(diag, TN_ERR_UNSUPPORTED, TN_WITHOUT_STATES);
  }
  status = tn_graph_settle_defaults(graph, NULL);
  return status ? status : tn_graph_settle_states(graph);
}

/* Operators of versions that are not known yet are taken for their newest known ones, which may
 * mean something else. Only ONNX's domains: others count as their authors like. */
static void warn_of_newer(const tn_model *m, const tn_graph *g, tn_diag *diag) {
  const tn_registry *r = m->planner.registry;
  const int ticket = tn_registry_enter(r);
  for (int64_t k = 0; k < g->opsets.n; k++) {
    const tn_opset *set = &g->opsets.data[k];
    if (*set->domain && strncmp(set->domain, "ai.onnx", 7)) continue;
    const int32_t newest = tn_registry_newest(r, set->domain, set->version);
    if (newest && set->version > newest)
      tn_diag_add(diag, TN_DIAG_WARNING,
                  "%s: operator set %d of %s is newer than what is known here, %d: operators that "
                  "changed since are run as they were",
                  m->name, set->version, *set->domain ? set->domain : "ai.onnx", newest);
  }
  tn_registry_leave(r, ticket);
}

tn_status tn_model_finish_take(tn_model *m, tn_graph *graph, tn_diag *diag) {
  tn_status status = resolve(m, graph, diag);
  if (!status && m->planner.model_flags & TN_MODEL_GRAPH_ONLY) {
    tn_graph_free(graph);
    return TN_OK;
  }
  if (!status) warn_of_newer(m, graph, diag);
  if (!status) return tn_callable_create_take(&m->planner, graph, "model", diag, &m->main);
  tn_graph_free(graph);
  return status;
}

tn_status tn_model_from_graph_take(tn_runtime *runtime, tn_graph *graph,
                                   const tn_model_options *options, tn_diag *diag,
                                   tn_model **out_model) {
  if (out_model) *out_model = NULL;
  tn_model *m = NULL;
  tn_status status = runtime && graph && out_model ? TN_OK : TN_ERR_INVALID;
  if (!status) status = tn_model_new(runtime, "a model made by hand", NULL, options, diag, &m);
  if (status) {
    tn_graph_free(graph);
    return status;
  }
  status = tn_model_finish_take(m, graph, diag);
  if (status)
    tn_model_destroy(m);
  else
    *out_model = m;
  return status;
}

void tn_model_destroy(tn_model *model) {
  if (!model || atomic_fetch_sub_explicit(&model->refs, 1, memory_order_acq_rel) > 1) return;
  tn_runtime *runtime = model->runtime;
  const tn_allocator *a = model->planner.a;
  if (model->planner.states) tn_packed_cache_save(model->planner.states, true, NULL);
  tn_callable_destroy(model->main);
  tn_graph_free(model->loaded);
  tn_packed_cache_destroy(model->planner.states);
  tn_model_close_devices(model);
  for (int64_t k = 0; k < model->files.n; k++) tn_file_unmap(&model->files.data[k].file);
  tn_vec_free(a, &model->files);
  tn_holder_close(&model->holder);
  if (model->name) tn_free(a, model->name, strlen(model->name) + 1);
  tn_free(a, model, sizeof *model);
  tn_runtime_destroy(runtime);
}

uint64_t tn_model_cached_bytes(const tn_model *model) {
  return model ? tn_packed_cache_mapped(model->planner.states) : 0;
}

/* ---- graphs by hand ---- */

tn_status tn_graph_create(tn_runtime *runtime, tn_graph **out_graph) {
  if (!runtime || !out_graph) return TN_ERR_INVALID;
  *out_graph = tn_graph_new(&runtime->allocator);
  return *out_graph ? TN_OK : TN_ERR_MEMORY;
}

void tn_graph_destroy(tn_graph *graph) { tn_graph_free(graph); }

const tn_graph_api *tn_graph_functions(void) { return &tn_graph_show_table; }

/* ---- reading ---- */

static const tn_value *input(const tn_model *m, int32_t index) {
  int32_t value = m ? tn_graph_api_table.input(m->loaded, index) : -1;
  return value < 0 ? NULL : tn_graph_val(m->loaded, value);
}

/* NULL: it has none. */
static const tn_default *default_of(const tn_model *m, int32_t index) {
  int64_t k = m ? index - m->loaded->inputs.n : -1;
  return k >= 0 && k < m->loaded->defaults.n ? &m->loaded->defaults.data[k] : NULL;
}

static const tn_value *output(const tn_graph *g, int32_t index) {
  if (!g || index < 0 || index >= g->outputs.n) return NULL;
  return tn_graph_val(g, g->outputs.data[index]);
}

tn_status tn_type_give(const tn_tensor *type, tn_tensor *out_type) {
  if (!type || !out_type) return type ? TN_ERR_INVALID : TN_ERR_NOT_FOUND;
  /* The caller's head is not set: it gets the tensor of 1.0, which every caller has room for. */
  const uint32_t size = offsetof(tn_tensor, object) + sizeof out_type->object;
  memcpy(out_type, type, size);
  out_type->head = (tn_head){size, TN_ABI_MAJOR, 0};
  out_type->data = NULL;
  return TN_OK;
}

int32_t tn_model_n_inputs(const tn_model *model) {
  return model ? (int32_t)model->loaded->inputs.n : 0;
}

int32_t tn_model_n_defaults(const tn_model *model) {
  return model ? (int32_t)model->loaded->defaults.n : 0;
}

int32_t tn_model_n_outputs(const tn_model *model) {
  return model ? (int32_t)model->loaded->outputs.n : 0;
}

const char *tn_model_input_name(const tn_model *model, int32_t index) {
  const tn_value *value = input(model, index);
  return value ? value->name : NULL;
}

const char *tn_model_output_name(const tn_model *model, int32_t index) {
  const tn_value *value = model ? output(model->loaded, index) : NULL;
  return value ? value->name : NULL;
}

int32_t tn_model_find_input(const tn_model *model, const char *name) {
  int32_t n = tn_model_n_inputs(model) + tn_model_n_defaults(model);
  for (int32_t k = 0; name && k < n; k++)
    if (!strcmp(tn_model_input_name(model, k), name)) return k;
  return -1;
}

int32_t tn_model_find_output(const tn_model *model, const char *name) {
  for (int32_t k = 0; name && k < tn_model_n_outputs(model); k++)
    if (!strcmp(tn_model_output_name(model, k), name)) return k;
  return -1;
}

tn_status tn_model_input_type(const tn_model *model, int32_t index, tn_tensor *out_type) {
  const tn_default *d = default_of(model, index);
  const tn_value *value = input(model, index);
  return tn_type_give(d ? &d->type : value ? value->type : NULL, out_type);
}

const tn_tensor *tn_model_input_default(const tn_model *model, int32_t index) {
  const tn_default *d = default_of(model, index);
  return d ? tn_graph_show_table.value_type(model->loaded, d->value) : NULL;
}

/* What the file leaves open may have been inferred. */
tn_status tn_model_output_type(const tn_model *model, int32_t index, tn_tensor *out_type) {
  const tn_value *value = model ? output(model->loaded, index) : NULL;
  bool open = value && model->main && value->type->kind == TN_KIND_TENSOR &&
              (value->type->dtype == TN_NONE || value->type->rank == TN_RANK_UNKNOWN);
  if (open) value = output(model->main->graph, index);
  return tn_type_give(value ? value->type : NULL, out_type);
}

int32_t tn_model_n_entries(const tn_model *model) {
  return model ? tn_graph_n_entries(model->loaded) : 0;
}

const char *tn_model_entry_name(const tn_model *model, int32_t index) {
  return model ? tn_graph_entry_at(model->loaded, index) : NULL;
}

const char *tn_model_meta(const tn_model *model, const char *key) {
  return model && key ? tn_graph_api_table.meta(model->loaded, key) : NULL;
}

const char *tn_model_format(const tn_model *model) {
  return model && model->format ? model->format->name : "";
}

const tn_graph *tn_model_graph(const tn_model *model) { return model ? model->loaded : NULL; }
