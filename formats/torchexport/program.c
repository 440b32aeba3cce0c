/* A program of torch.export as a model: the archive, its inputs, its outputs, what it leaves. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/io_memory.h"
#include "reader.h"

/* ---- memory and messages ---- */

tn_status(pt2_fail)(const pt2_reader *r, tn_status code, const char *format, ...) {
  char text[500], where[200] = "";
  va_list args;
  va_start(args, format);
  tn_error_text(text, sizeof text, code, format, args);
  va_end(args);
  if (r->node)
    snprintf(where, sizeof where, "node '%.80s', at byte %llu: ", r->node,
             (unsigned long long)r->node_at);
  return (r->source->host->fail)(r->source->ctx, code, "%s: %s%s%s%s", r->path,
                                 r->member ? r->member : "", r->member ? ": " : "", where, text);
}

tn_status pt2_no_memory(const pt2_reader *r) {
  return r->source->host->fail(r->source->ctx, TN_ERR_MEMORY, "%s: there is not enough memory",
                               r->path);
}

tn_status pt2_graph_fail(const pt2_reader *r, int32_t status, const char *what) {
  if (status == TN_ERR_MEMORY) return pt2_no_memory(r);
  return pt2_fail(r, status == TN_ERR_STATE ? TN_ERR_INVALID : status, "%s", what);
}

/* ---- the archive ---- */

/* The folder at the top: the part of every name before its first '/'. */
static tn_status find_top(pt2_reader *r) {
  r->top = "";
  for (uint64_t k = 0; k < r->zip.n_members; k++) {
    const char *name = r->zip.members[k].name, *slash = strchr(name, '/');
    if (!strcmp(name, "serialized_exported_program.json")) {
      r->is_old = true;
      return TN_OK;
    }
    if (!slash || strcmp(slash, "/archive_format") != 0) continue;
    r->top = tn_arena_strn(&r->arena, name, slash - name + 1);
    return r->top ? TN_OK : pt2_no_memory(r);
  }
  return pt2_fail(r, TN_ERR_INVALID, "the archive is no program of torch.export");
}

static bool is_model(const pt2_reader *r, const char *name) {
  const size_t n = strlen(r->top), size = strlen(name);
  return !strncmp(name, r->top, n) && !strncmp(name + n, "models/", 7) && size > 5 &&
         !strcmp(name + size - 5, ".json");
}

static tn_status find_model(pt2_reader *r, tn_zip_member **out) {
  *out = r->is_old ? tn_zip_find(&r->zip, "serialized_exported_program.json") : NULL;
  const char *entry = TN_HAS(r->source, entry) ? r->source->entry : NULL;
  for (uint64_t k = 0; k < r->zip.n_members && !r->is_old; k++) {
    const char *name = r->zip.members[k].name;
    if (!is_model(r, name)) continue;
    const char *base = name + strlen(r->top) + 7;
    const char *stem = tn_arena_strn(&r->arena, base, (int64_t)strlen(base) - 5);
    if (!stem) return pt2_no_memory(r);
    const tn_status s = r->api->entry_add(r->g, stem);
    if (s) return pt2_graph_fail(r, s, "two programs have one name");
    if (entry ? !strcmp(entry, stem) : !*out) *out = &r->zip.members[k];
  }
  if (*out) return TN_OK;
  if (entry) return pt2_fail(r, TN_ERR_NOT_FOUND, "there is no program '%.80s'", entry);
  return pt2_fail(
      r, TN_ERR_UNSUPPORTED,
      "the archive has no program, only what was compiled of one (AOTInductor): save it "
      "with torch.export.save");
}

static tn_status open_archive(pt2_reader *r) {
  tn_zip_member *m;
  const uint8_t *bytes;
  json_reader reader;
  json_value *root;
  tn_status s = tn_zip_open(&r->zip, &r->arena, r->source->data, r->source->size);
  if (s) return pt2_fail(r, s, "%s", r->zip.message);
  s = find_top(r);
  if (!s) s = find_model(r, &m);
  if (s) return s;
  r->member = m->name;
  s = tn_zip_bytes_to_parse(&r->zip, m, false, &bytes);
  if (s) return pt2_fail(r, s, "%s", r->zip.message);
  s = json_read(&reader, &r->arena, bytes, m->size, &root);
  if (s) return pt2_fail(r, s, "%s", reader.message);
  r->root = root;
  return TN_OK;
}

static tn_status check_version(pt2_reader *r) {
  const json_value *version = json_object(r->root, "schema_version");
  const int64_t major = json_int(version, "major", 0);
  if (major >= 5 && major <= 8) return TN_OK;
  return pt2_fail(r, TN_ERR_UNSUPPORTED,
                  "not supported: schema version %lld of torch.export; 5 to 8 are read",
                  (long long)major);
}

/* ---- inputs ---- */

const char *pt2_symbol_name(pt2_reader *r, const char *expr) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  if (!strncmp(expr, "Symbol('", 8)) expr += 8;
  const size_t n = strspn(expr, letters);
  if (!n || (expr[n] != '\'' && expr[n] != '\0')) return NULL;
  return tn_arena_strn(&r->arena, expr, (int64_t)n);
}

static tn_status name_dims(pt2_reader *r, const json_value *meta, int32_t value) {
  const json_value *sizes = json_list(meta, "sizes");
  int32_t dim = 0;
  for (const json_value *v = sizes->first; v; v = v->next, dim++) {
    const json_value *expr = json_object(v, "as_expr");
    const char *text = json_text(expr, "expr_str"), *name = text ? pt2_symbol_name(r, text) : NULL;
    if (name && r->api->value_set_dim_name(r->g, value, dim, name)) return pt2_no_memory(r);
  }
  return TN_OK;
}

static tn_status add_input(pt2_scope *s, const char *name, const tn_tensor *type, int32_t *out) {
  pt2_reader *r = s->r;
  if (tn_map_set(&r->taken, name, 1)) return pt2_no_memory(r);
  *out = r->api->value(r->g, name);
  tn_status status = *out < 0 ? *out : r->api->value_set_type(r->g, *out, type);
  if (!status) status = r->api->add_input(r->g, *out);
  return status ? pt2_graph_fail(r, status, "it cannot be an input") : TN_OK;
}

static const json_value *meta_of(pt2_scope *s, const char *name) {
  const json_value *graph = json_object(json_object(s->r->root, "graph_module"), "graph");
  return json_object(json_object(graph, "tensor_values"), name);
}

static tn_status user_input(pt2_scope *s, const json_value *spec) {
  const json_value *v = json_union(json_get(spec, "arg"));
  const char *name = json_text(v, "name");
  tn_tensor type;
  int32_t id, var;
  if (!name) name = json_text(v, "as_name");
  if (!name) return TN_OK; /* a number, which the program knows */
  if (json_is(v, "as_tensor")) {
    tn_status status = pt2_type(s->r, meta_of(s, name), &type);
    if (!status) status = add_input(s, name, &type, &id);
    if (!status) status = name_dims(s->r, meta_of(s, name), id);
    if (!status) status = pt2_define(s, name, id, &var);
    if (!status) s->vars.data[var].is_given = true;
    return status;
  }
  const bool is_float = json_is(v, "as_sym_float"), is_bool = json_is(v, "as_sym_bool");
  if (!is_float && !is_bool && !json_is(v, "as_sym_int"))
    return pt2_fail(s->r, TN_ERR_UNSUPPORTED, "not supported: an input %.40s", v->key.data);
  type = tn_tensor_make(is_float ? TN_F64 : is_bool ? TN_BOOL : TN_I64, 0, NULL, NULL);
  const tn_status status = add_input(s, name, &type, &id);
  return status ? status : pt2_define(s, name, id, NULL);
}

/* A parameter, buffer or constant of the archive. */
static tn_status stored(pt2_scope *s, const json_value *spec, const char *key, bool constant) {
  pt2_reader *r = s->r;
  const char *own = json_text(json_get(spec, "arg"), "name"), *name = json_text(spec, key);
  int32_t id;
  if (!own || !name) return pt2_fail(r, TN_ERR_INVALID, "a parameter has no name");
  const tn_map *of =
      constant || tn_map_get(&r->weights, name, -1) < 0 ? &r->constants : &r->weights;
  const tn_status status = pt2_constant(r, of, name, own, &id);
  if (!status && tn_map_set(&r->buffers, name, id)) return pt2_no_memory(r);
  return status ? status : pt2_define(s, own, id, NULL);
}

static tn_status read_input(pt2_scope *s, const json_value *spec) {
  const json_value *v = json_union(spec);
  if (json_is(v, "user_input")) return user_input(s, v);
  if (json_is(v, "parameter")) return stored(s, v, "parameter_name", false);
  if (json_is(v, "buffer")) return stored(s, v, "buffer_name", !json_int(v, "persistent", 1));
  if (json_is(v, "tensor_constant")) return stored(s, v, "tensor_constant_name", true);
  if (json_is(v, "constant_input") || json_is(v, "token")) return TN_OK;
  return pt2_fail(s->r, TN_ERR_UNSUPPORTED, "not supported: an input of the kind %.40s",
                  v && v->key.data ? v->key.data : "?");
}

/* ---- what changes from run to run ---- */

/* A buffer that is written is a state: what read it as a constant reads what the last run left. */
static tn_status make_state(pt2_scope *s, const char *name, int32_t after) {
  pt2_reader *r = s->r;
  const int32_t constant = (int32_t)tn_map_get(&r->buffers, name, -1);
  if (constant < 0) return pt2_fail(r, TN_ERR_INVALID, "there is no buffer '%.80s'", name);
  const char *before_name = tn_arena_format(&r->arena, "%s#before", name);
  const int32_t before = before_name ? r->api->value(r->g, before_name) : TN_ERR_MEMORY;
  tn_tensor type = *r->api->value_type(r->g, constant);
  type.data = NULL;
  tn_status status = before < 0 ? before : r->api->replace_value(r->g, constant, before);
  if (!status) status = r->api->value_set_type(r->g, before, &type);
  const int32_t state = status ? status : r->api->state_new(r->g, name, before, constant);
  if (state >= 0) status = r->api->state_set(r->g, state, after == constant ? before : after);
  if (state < 0) status = state;
  return status ? pt2_graph_fail(r, status, "a buffer that is written cannot be a state") : TN_OK;
}

/* Programs that are not functional write into their buffers themselves. */
static tn_status written_buffers(pt2_scope *s, const json_value *specs) {
  tn_status status = TN_OK;
  for (const json_value *spec = specs ? specs->first : NULL; spec && !status; spec = spec->next) {
    const json_value *v = json_union(spec);
    if (!json_is(v, "buffer") && !json_is(v, "tensor_constant")) continue;
    const char *own = json_text(json_get(v, "arg"), "name");
    const char *name = json_text(v, json_is(v, "buffer") ? "buffer_name" : "tensor_constant_name");
    const int64_t var = own ? tn_map_get(&s->names, own, -1) : -1;
    if (var < 0 || !s->vars.data[var].version || !name) continue;
    status = make_state(s, name, s->vars.data[var].id);
  }
  return status;
}

/* ---- outputs ---- */

/* The first output that is a tensor and is answered: what conditions hang on. */
static const char *find_checked(const json_value *outputs) {
  for (const json_value *spec = outputs->first; spec; spec = spec->next) {
    const json_value *v = json_union(spec), *arg = json_union(json_get(v, "arg"));
    if (json_is(v, "user_output") && json_is(arg, "as_tensor")) return json_text(arg, "name");
  }
  return NULL;
}

static tn_status add_output(pt2_scope *s, const char *name, const aten_arg *a) {
  pt2_reader *r = s->r;
  const tn_graph_api *api = r->api;
  int32_t out = a->value;
  tn_status status = TN_OK;
  if (a->kind == ATEN_NONE) return TN_OK;
  r->checked = NULL; /* its name is free for what hangs on the conditions */
  if (a->kind == ATEN_TENSOR) status = pt2_require(s, &out);
  if (status) return status;
  if (a->kind != ATEN_TENSOR) {
    const char *fresh = pt2_fresh(s, name);
    status = fresh ? pt2_number(s, r->g, fresh, a, &out) : pt2_no_memory(r);
    if (status) return status;
  } else if (api->value_flags(r->g, out) || strcmp(api->value_name(r->g, out), name) != 0) {
    const char *fresh = pt2_fresh(s, name);
    const int32_t made = fresh ? api->value(r->g, fresh) : TN_ERR_MEMORY;
    if (made < 0) return pt2_graph_fail(r, made, "it cannot be an output");
    const tn_node copy = {.head = TN_HEAD(tn_node),
                          .domain = "",
                          .op = "Identity",
                          .inputs = &out,
                          .n_inputs = 1,
                          .outputs = &made,
                          .n_outputs = 1,
                          .offset = -1};
    const int32_t id = api->add_node(r->g, &copy);
    if (id < 0) return pt2_graph_fail(r, id, "it cannot be an output");
    out = made;
  }
  status = api->add_output(r->g, out);
  return status ? pt2_graph_fail(r, status, "it cannot be an output") : TN_OK;
}

static tn_status output_value(pt2_scope *s, const json_value *arg, const char **name,
                              aten_arg *out) {
  const json_value *v = json_union(arg);
  *name = json_text(v, "name");
  if (!*name) *name = json_text(v, "as_name");
  if (!*name) *name = "constant";
  return pt2_arg(s, arg, out);
}

static tn_status read_output(pt2_scope *s, const json_value *spec) {
  const json_value *v = json_union(spec), *arg = json_get(v, "arg");
  pt2_reader *r = s->r;
  const char *name;
  aten_arg a;
  if (json_is(v, "user_output")) {
    const tn_status status = output_value(s, arg, &name, &a);
    return status ? status : add_output(s, name, &a);
  }
  const char *made = json_text(arg, "name");
  int32_t id;
  if (json_is(v, "token")) return TN_OK;
  if (!made) return pt2_fail(r, TN_ERR_INVALID, "an output has no name");
  const int32_t var = pt2_find(s, made);
  const tn_status status = var < 0 ? var : pt2_get_id(s, var, &id);
  if (status) return status;
  if (json_is(v, "buffer_mutation")) {
    const char *buffer = json_text(v, "buffer_name");
    if (buffer) return make_state(s, buffer, id);
  }
  if (json_is(v, "user_input_mutation")) {
    const char *input = json_text(v, "user_input_name");
    const char *full = input ? tn_arena_format(&r->arena, "%s.out", input) : NULL;
    a = aten_value(NULL, id);
    if (full) return add_output(s, full, &a);
  }
  return pt2_fail(r, TN_ERR_UNSUPPORTED, "not supported: an output of the kind %.40s",
                  v && v->key.data ? v->key.data : "?");
}

/* What a program wrote into its inputs is an output, too. */
static tn_status written_inputs(pt2_scope *s) {
  tn_status status = TN_OK;
  for (int64_t k = 0; k < s->vars.n && !status; k++) {
    const pt2_var *v = &s->vars.data[k];
    const char *name = tn_arena_format(&s->r->arena, "%s.out", v->name);
    if (!name) return pt2_no_memory(s->r);
    const aten_arg a = aten_value(NULL, v->id);
    if (v->is_given && v->version) status = add_output(s, name, &a);
  }
  return status;
}

static tn_status read_program(pt2_scope *s, const json_value *module) {
  const json_value *signature = json_object(module, "signature"),
                   *inputs = json_list(signature, "input_specs"),
                   *outputs = json_list(signature, "output_specs");
  if (!inputs || !outputs) return pt2_fail(s->r, TN_ERR_INVALID, "the program has no signature");
  tn_status status = TN_OK;
  for (const json_value *v = inputs->first; v && !status; v = v->next) status = read_input(s, v);
  if (!status) status = pt2_find_conditions(s, inputs);
  if (s->r->conditions.n) s->r->checked = find_checked(outputs);
  if (!status) status = pt2_run_nodes(s, json_object(module, "graph"));
  for (const json_value *v = outputs->first; v && !status; v = v->next) status = read_output(s, v);
  if (!status) status = written_buffers(s, inputs);
  return status ? status : written_inputs(s);
}

static tn_status read_model(pt2_reader *r) {
  enum { ONNX_OPSET = 21 };
  static const char *const domains[] = {
      "aten", "torch", "torchvision", "quantized_decomposed", "llama", "transformers"};
  pt2_scope scope;
  tn_status s = r->api->set_opset(r->g, "", ONNX_OPSET);
  for (size_t k = 0; k < sizeof domains / sizeof *domains && !s; k++)
    s = r->api->set_opset(r->g, domains[k], 1);
  if (s) return pt2_no_memory(r);
  s = open_archive(r);
  const char *program = r->member;
  if (!s) s = check_version(r);
  if (!s) s = pt2_open_payloads(r);
  r->member = s ? r->member : program;
  const json_value *module = s ? NULL : json_object(r->root, "graph_module");
  if (!s && !json_object(module, "graph"))
    s = pt2_fail(r, TN_ERR_INVALID, "the program has no graph");
  if (s) return s;
  s = pt2_scope_open(&scope, r, r->g, NULL, "", json_object(module, "graph"));
  if (!s) s = read_program(&scope, module);
  pt2_scope_close(&scope);
  return s;
}

tn_status pt2_read(const tn_source *source, tn_graph *graph) {
  pt2_reader r = {.source = source, .api = source->host->graph, .g = graph};
  r.room = 65536 + source->size;
  r.path = source->path ? source->path : "(memory)";
  r.allocator = tn_source_allocator(source);
  tn_arena_init(&r.arena, &r.allocator);
  tn_map_init(&r.weights, &r.allocator);
  tn_map_init(&r.constants, &r.allocator);
  tn_map_init(&r.buffers, &r.allocator);
  tn_map_init(&r.taken, &r.allocator);
  const tn_status s = read_model(&r);
  for (int k = 0; k < r.n_inner; k++) {
    torch_pickle_close(&r.pickles[k]);
    tn_zip_close(&r.inner[k]);
  }
  tn_zip_close(&r.zip);
  tn_map_free(&r.weights);
  tn_map_free(&r.constants);
  tn_map_free(&r.buffers);
  tn_map_free(&r.taken);
  tn_vec_free(&r.allocator, &r.payloads);
  tn_vec_free(&r.allocator, &r.conditions);
  tn_arena_clear(&r.arena);
  return s;
}
