/* One operator as a model: tn_model_from_op and tn_op_run. The arguments are sorted into inputs and
 * attributes by the schema, and a graph of one node is made of them. */
#include "exec/op.h"

#include <string.h>

enum { MAX_OUTPUTS = 4096 };

typedef TN_VEC(int32_t) ids;
typedef TN_VEC(const tn_attr *) attrs;

typedef struct one {
  tn_graph *g;
  const tn_opdef *def;
  const char *op;
  int32_t version;
  const tn_op_arg *args;
  uint32_t n_args;
  tn_diag *diag;
  tn_status status; /* the first problem's; all are reported */
  ids inputs, outputs;
  attrs attrs;
  TN_VEC(const tn_tensor *) fed; /* what the inputs of the graph get */
} one;

static void problem(one *o, const char *what, const char *name, const char *rule) {
  o->status = tn_fail(o->diag, TN_ERR_INVALID, "%s: %s '%s' %s", o->op, what, name, rule);
}

/* The first status that is not TN_OK stays. */
static bool ok(one *o, tn_status status) {
  if (status && !o->status) o->status = status;
  return !o->status;
}

/* ---- arguments ---- */

static bool is_for(const tn_op_arg *given, const tn_arg *arg) {
  return given->name && !strcmp(given->name, arg->name);
}

static int32_t count(const one *o, const tn_arg *arg) {
  int32_t n = 0;
  for (uint32_t k = 0; k < o->n_args; k++) n += is_for(&o->args[k], arg);
  return n;
}

/* Argument `index` of those that are given for arg; NULL: there are no more. */
static const tn_op_arg *nth(const one *o, const tn_arg *arg, int32_t index) {
  for (uint32_t k = 0; k < o->n_args; k++)
    if (is_for(&o->args[k], arg) && index-- == 0) return &o->args[k];
  return NULL;
}

/* Every argument is one of the schema, of its kind, and given once unless it is a list. */
static void check_args(one *o) {
  for (uint32_t k = 0; k < o->n_args; k++) {
    const tn_op_arg *given = &o->args[k];
    const tn_arg *arg = given->name ? tn_schema_find(&o->def->schema, given->name) : NULL;
    const bool tensors = arg && arg->base == TN_TYPE_TENSOR;
    if (!arg || arg->role == TN_ROLE_OUT)
      problem(o, "argument", given->name ? given->name : "", "is not one of the schema");
    else if (tensors && given->text)
      problem(o, "argument", arg->name, "is a tensor; it cannot be given as text");
    else if (!tensors && given->tensor)
      problem(o, "attribute", arg->name, "is no tensor; its value is given as text");
    else if (!tensors && !given->text)
      problem(o, "attribute", arg->name, "has no value");
    else if (!(arg->list && tensors) && count(o, arg) > 1 && nth(o, arg, 0) == given)
      problem(o, "argument", arg->name, "is given more than once");
  }
}

/* ---- inputs ---- */

static void add_input(one *o, const tn_arg *arg, const tn_op_arg *given, int32_t index) {
  const tn_graph_api *api = &tn_graph_api_table;
  int32_t value = -1;
  if (given && given->tensor) {
    const char *name =
        arg->list ? tn_arena_format(&o->g->arena, "%s.%d", arg->name, index) : arg->name;
    if (!name || (value = api->value(o->g, name)) < 0) {
      ok(o, name ? value : TN_ERR_MEMORY);
      return;
    }
    const bool constant = given->flags & TN_ARG_CONST;
    tn_status status = constant ? api->value_set_const(o->g, value, given->tensor, 1)
                                : api->value_set_type(o->g, value, given->tensor);
    if (status == TN_ERR_INVALID)
      problem(o, "input", name, constant ? "cannot be a constant" : "has no valid type");
    else if (ok(o, status) && !constant && ok(o, api->add_input(o->g, value)))
      ok(o, tn_vec_push(o->g->a, &o->fed, given->tensor));
  }
  ok(o, tn_vec_push(o->g->a, &o->inputs, value));
}

/* In the order of the schema. Lists stand for as many inputs as they have items. */
static void add_inputs(one *o) {
  int32_t lists = -1;
  const tn_arg *arg;
  for (int32_t k = 0; (arg = tn_schema_input(&o->def->schema, k)); k++) {
    const int32_t n = count(o, arg);
    if (!arg->list) add_input(o, arg, nth(o, arg, 0), 0);
    for (int32_t i = 0; arg->list && i < n; i++) add_input(o, arg, nth(o, arg, i), i);
    if (arg->list && lists >= 0 && n != lists)
      problem(o, "argument", arg->name, "must have as many tensors as the list before it");
    if (arg->list) lists = n;
  }
  while (lists < 0 && o->inputs.n && o->inputs.data[o->inputs.n - 1] < 0) o->inputs.n--;
}

/* ---- attributes ---- */

static void add_attr(one *o, const tn_attr *attr) {
  const tn_attr *copy = tn_arena_copy(&o->g->arena, attr, sizeof *attr);
  ok(o, copy ? tn_vec_push(o->g->a, &o->attrs, copy) : TN_ERR_MEMORY);
}

static void add_tensor_attr(one *o, const tn_arg *arg, int32_t n) {
  tn_attr attr = {.head = TN_HEAD(tn_attr),
                  .name = arg->name,
                  .kind = arg->list ? TN_ATTR_TENSORS : TN_ATTR_TENSOR};
  const tn_tensor **tensors = tn_arena_alloc(&o->g->arena, (uint64_t)n * sizeof *tensors);
  if (!ok(o, tensors ? TN_OK : TN_ERR_MEMORY)) return;
  for (int32_t i = 0; i < n; i++)
    if (!(tensors[i] = nth(o, arg, i)->tensor)) return; /* left out */
  attr.tensors = (tn_tensors){tensors, n};
  add_attr(o, &attr);
}

static void add_text_attr(one *o, const tn_arg *arg, const char *text) {
  tn_attr attr;
  bool given;
  tn_status status = tn_op_attr_parse(o->def, arg, text, &o->g->arena, &attr, &given);
  if (status == TN_ERR_INVALID)
    o->status = tn_fail(o->diag, status, "%s: attribute '%s' cannot be '%s'; see its type", o->op,
                        arg->name, text);
  else if (ok(o, status) && given)
    add_attr(o, &attr);
}

static void add_attrs(one *o) {
  for (int32_t k = 0; k < o->def->schema.n_args; k++) {
    const tn_arg *arg = &o->def->schema.args[k];
    const int32_t n = count(o, arg);
    if (arg->role != TN_ROLE_ATTR || !n) continue;
    if (arg->base == TN_TYPE_TENSOR)
      add_tensor_attr(o, arg, n);
    else
      add_text_attr(o, arg, nth(o, arg, 0)->text);
  }
}

/* ---- outputs and the node ---- */

static int32_t default_outputs(const tn_schema *s) {
  int32_t n = 0;
  for (int32_t k = 0; k < s->n_outputs; k++)
    if (!tn_schema_output(s, k)->optional) n = k + 1;
  return n;
}

/* An output that is written in place has the name of its input in the schema. */
static const char *output_name(one *o, const tn_arg *arg, int32_t k) {
  if (arg->list) return tn_arena_format(&o->g->arena, "%s.%d", arg->name, k);
  const bool taken = tn_schema_find(&o->def->schema, arg->name)->role == TN_ROLE_INPUT;
  return taken ? tn_arena_format(&o->g->arena, "%s.out", arg->name) : arg->name;
}

static void add_outputs(one *o, uint32_t wanted) {
  const tn_graph_api *api = &tn_graph_api_table;
  const tn_schema *s = &o->def->schema;
  const int32_t n = wanted > MAX_OUTPUTS ? MAX_OUTPUTS + 1
                    : wanted             ? (int32_t)wanted
                                         : default_outputs(s);
  for (int32_t k = 0; k < n && !o->status; k++) {
    const tn_arg *arg = n > MAX_OUTPUTS ? NULL : tn_schema_output_of(s, k, n);
    if (!arg) {
      o->status = tn_fail(o->diag, TN_ERR_INVALID, "%s does not have %u outputs", o->op, wanted);
      return;
    }
    const char *name = output_name(o, arg, k);
    const int32_t value = name ? api->value(o->g, name) : TN_ERR_MEMORY;
    if (ok(o, value < 0 ? value : TN_OK)) ok(o, tn_vec_push(o->g->a, &o->outputs, value));
  }
}

static void add_node(one *o) {
  const tn_graph_api *api = &tn_graph_api_table;
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = o->def->op.domain,
                        .op = o->def->op.name,
                        .name = o->def->op.name,
                        .version = o->version,
                        .n_inputs = (uint32_t)o->inputs.n,
                        .n_outputs = (uint32_t)o->outputs.n,
                        .n_attrs = (uint32_t)o->attrs.n,
                        .inputs = o->inputs.data,
                        .outputs = o->outputs.data,
                        .attrs = o->attrs.data,
                        .offset = -1};
  ok(o, api->set_opset(o->g, node.domain, node.version));
  const int32_t id = o->status ? o->status : api->add_node(o->g, &node);
  ok(o, id < 0 ? id : TN_OK);
  for (int64_t k = 0; k < o->outputs.n && !o->status; k++)
    ok(o, api->add_output(o->g, o->outputs.data[k]));
}

/* ---- finding the operator ---- */

static const char *without_domain(const char *op, int64_t *out_domain_size) {
  const char *name = op;
  for (const char *at = strstr(op, "::"); at; at = strstr(name, "::")) name = at + 2;
  *out_domain_size = name > op ? name - op - 2 : 0;
  return name;
}

static tn_status find_op(const tn_registry *r, one *o) {
  int64_t n;
  int32_t since, until;
  const char *name = without_domain(o->op, &n);
  const tn_str given = {o->op, n};
  const char *domain =
      tn_str_is(given, "ai.onnx") ? "" : tn_arena_strn(&o->g->arena, given.data, given.size);
  if (!domain) return TN_ERR_MEMORY;
  o->def = tn_registry_op(r, domain, name, o->version);
  if (o->def && o->def->is_unsettled) return TN_ERR_MEMORY;
  if (o->def) {
    if (!o->version) o->version = o->def->op.since;
    return TN_OK;
  }
  if (!tn_registry_has_op(r, domain, name, &since, &until))
    return tn_fail(o->diag, TN_ERR_UNSUPPORTED, "there is no operator '%s'; no plug-in offers it%s",
                   o->op, tn_registry_near(r, domain, name, &o->g->arena));
  return tn_fail(o->diag, TN_ERR_UNSUPPORTED,
                 "operator '%s' is not there in version %d; "
                 "versions %s are",
                 o->op, o->version, tn_registry_versions(r, domain, name, &o->g->arena));
}

static void note_schema(const one *o) {
  if (o->def)
    tn_diag_add(o->diag, TN_DIAG_NOTE, "%s, version %d: %s", o->op, o->def->op.since,
                o->def->op.schema);
}

static void build(one *o, const tn_registry *r, uint32_t n_outputs) {
  o->status = find_op(r, o);
  if (!o->status) check_args(o);
  if (!o->status) add_inputs(o);
  if (!o->status) add_attrs(o);
  if (!o->status) add_outputs(o, n_outputs);
  if (!o->status) add_node(o);
}

/* The model; o->fed is the caller's to free with free_fed(). Under a reader's ticket. */
static tn_status make_now(one *o, tn_runtime *runtime, uint32_t n_outputs,
                          const tn_model_options *options, tn_model **out_model) {
  const tn_allocator *a = &runtime->allocator;
  if (!(o->g = tn_graph_new(a))) return TN_ERR_MEMORY;
  build(o, runtime->registry, n_outputs);
  tn_status status = o->status;
  tn_vec_free(a, &o->inputs);
  tn_vec_free(a, &o->outputs);
  tn_vec_free(a, &o->attrs);
  if (status)
    tn_graph_free(o->g);
  else
    status = tn_model_from_graph_take(runtime, o->g, options, o->diag, out_model);
  o->g = NULL;
  if (status && status != TN_ERR_MEMORY) note_schema(o);
  return status;
}

static tn_status make(one *o, tn_runtime *runtime, uint32_t n_outputs,
                      const tn_model_options *options, tn_model **out_model) {
  const int ticket = tn_registry_enter(runtime->registry);
  const tn_status status = make_now(o, runtime, n_outputs, options, out_model);
  tn_registry_leave(runtime->registry, ticket);
  return status;
}

static tn_status check_call(const tn_runtime *runtime, const one *o) {
  if (runtime && o->op && (o->args || !o->n_args) && o->version >= 0) return TN_OK;
  return tn_fail(o->diag, TN_ERR_INVALID, "no runtime, operator or arguments, or version %d",
                 o->version);
}

/* ---- tenon.h ---- */

tn_status tn_model_from_op(tn_runtime *runtime, const char *op, int32_t version,
                           const tn_op_arg *args, uint32_t n_args, uint32_t n_outputs,
                           const tn_model_options *options, tn_diag *diag, tn_model **out_model) {
  if (!out_model) return TN_ERR_INVALID;
  *out_model = NULL;
  one o = {.op = op, .version = version, .args = args, .n_args = n_args, .diag = diag};
  tn_status status = check_call(runtime, &o);
  if (status) return status;
  status = make(&o, runtime, n_outputs, options, out_model);
  tn_vec_free(&runtime->allocator, &o.fed);
  return status;
}

/* Runs a session and copies what it answers. */
static tn_status run(tn_model *model, const one *o, tn_tensor **out_values) {
  tn_session *session = NULL;
  tn_status status = tn_session_create(model, o->diag, &session);
  for (int64_t k = 0; k < o->fed.n && !status; k++)
    status = tn_session_set_input(session, (int32_t)k, o->fed.data[k], o->diag);
  if (!status) status = tn_session_run(session, o->diag);
  for (int32_t k = 0; k < tn_model_n_outputs(model) && !status; k++)
    status =
        tn_value_copy(&model->runtime->allocator, tn_session_output(session, k), &out_values[k]);
  tn_session_destroy(session);
  return status;
}

tn_status tn_op_run(tn_runtime *runtime, const char *op, int32_t version, const tn_op_arg *args,
                    uint32_t n_args, tn_tensor **out_values, uint32_t n_outputs, tn_diag *diag) {
  if (!out_values || !n_outputs) return tn_fail(diag, TN_ERR_INVALID, "tn_op_run: no outputs");
  for (uint32_t k = 0; k < n_outputs; k++) out_values[k] = NULL;
  one o = {.op = op, .version = version, .args = args, .n_args = n_args, .diag = diag};
  tn_status status = check_call(runtime, &o);
  if (status) return status;
  tn_model *model = NULL;
  status = make(&o, runtime, n_outputs, NULL, &model);
  if (!status) status = run(model, &o, out_values);
  tn_vec_free(&runtime->allocator, &o.fed);
  tn_model_destroy(model);
  for (uint32_t k = 0; status && k < n_outputs; k++) {
    tn_value_destroy(out_values[k]);
    out_values[k] = NULL;
  }
  return status;
}
