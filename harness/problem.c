/* A case with its types settled: a graph of one node, bound and inferred by the runtime's own
 * code; inputs; and what the operator's reference makes of them. */
#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "harness/harness.h"

static bool why(check_problem *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool why(check_problem *p, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(p->why, sizeof p->why, format, args);
  va_end(args);
  return false;
}

uint32_t check_problem_dtype(const check_problem *p, const char *word) {
  for (int32_t k = 0; k < p->n_bindings; k++)
    if (!strcmp(p->bindings[k].alias, word)) return p->bindings[k].dtype;
  return tn_dtype_parse(word);
}

static void make_label(check_problem *p) {
  size_t n = 0;
  for (int32_t k = 0; k < p->n_bindings && n + 40 < sizeof p->label; k++)
    n += (size_t)snprintf(p->label + n, sizeof p->label - n, "%s%s=%s", k ? " " : "",
                          p->bindings[k].alias, tn_dtype_name(p->bindings[k].dtype));
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static uint64_t hash(const char *text, uint64_t seed) {
  return tn_hash_bytes(text, strlen(text), seed);
}

static tn_tensor type_of(const check_problem *p, const check_spec *s) {
  return tn_tensor_make(check_problem_dtype(p, s->type), s->rank, s->shape, NULL);
}

/* Tensors of a plug-in's cases, and what its inference answers, may be anything. */
static bool has_room(check_problem *p, const tn_tensor *t, bool is_open, const char *name) {
  const int64_t bytes = tn_storage_bytes(t);
  if (p->no_data || (bytes < 0 ? is_open : bytes <= CHECK_MAX_BYTES)) return true;
  if (bytes < 0) return why(p, "'%s' has more bytes than 63 bits count", name);
  return why(p, "'%s' has %lld bytes, a test has no more than %lld", name, (long long)bytes,
             (long long)CHECK_MAX_BYTES);
}

static void fill_tensor(check_problem *p, const check_spec *s, tn_tensor *t, uint64_t seed) {
  const int64_t bytes = tn_storage_bytes(t);
  if (p->n_buffers < (int32_t)(sizeof p->buffers / sizeof *p->buffers)) {
    check_buffer *b =
        check_buffer_new(p->env, (uint64_t)bytes, t->dtype == TN_STRING ? 8 : 1, true, "an input");
    p->buffers[p->n_buffers++] = b;
    t->data = b->data;
  } else {
    t->data = check_need(tn_arena_alloc(&p->arena, (uint64_t)tn_max_i64(bytes, 1)));
  }
  check_fill(s, t, seed);
}

bool check_problem_make(check_problem *p, const check_spec *s, uint64_t seed, tn_tensor *out) {
  *out = type_of(p, s);
  if (out->dtype == TN_NONE) return why(p, "the case names no type '%s'", s->type);
  if (!has_room(p, out, false, s->type)) return false;
  const int64_t bytes = tn_storage_bytes(out);
  out->data = check_need(tn_arena_alloc(&p->arena, (uint64_t)tn_max_i64(bytes, 1)));
  check_fill(s, out, seed);
  return true;
}

/* Largest finite magnitude; elements that are there to be extreme do not count. */
static double scale_of(const check_spec *s, const tn_tensor *t) {
  double scale = 0;
  if (s->fill == FILL_EDGE || !tn_dtype(t->dtype)->is_float) return 0;
  for (int64_t k = 0; k < tn_tensor_elements(t); k++) {
    const double x = fabs(tn_load_f64(t->dtype, t->data, k));
    if (isfinite(x)) scale = fmax(scale, x);
  }
  return scale;
}

static check_value *new_value(check_problem *p, const char *name) {
  check_value *v = check_need(tn_arena_alloc(&p->arena, sizeof *v));
  v->name = name;
  return v;
}

static void keep_list(check_problem *p, tn_tensor *list) {
  tn_tensor **lists =
      check_need(tn_arena_alloc(&p->arena, ((uint64_t)p->n_lists + 1) * sizeof *lists));
  if (p->n_lists) memcpy(lists, p->lists, (size_t)p->n_lists * sizeof *lists);
  lists[p->n_lists++] = list;
  p->lists = lists;
}

/* A sequence or map is made at once, with its elements. */
static check_value *make_sequence(check_problem *p, const check_input *in) {
  check_value *v = new_value(p, in->arg->name);
  tn_tensor *list = NULL;
  if (tn_list_create(p->env->runtime, in->map ? TN_KIND_MAP : TN_KIND_SEQUENCE,
                     in->n ? check_problem_dtype(p, in->items[in->n - 1].type) : TN_F32, &list))
    check_die("no list");
  keep_list(p, list);
  for (int32_t k = 0; k < in->n; k++) {
    tn_tensor t = type_of(p, &in->items[k]);
    fill_tensor(p, &in->items[k], &t, hash(p->line->drawn_by, (uint64_t)k));
    if (tn_list_append(list, &t)) check_die("no item");
    v->scale = fmax(v->scale, scale_of(&in->items[k], &t));
  }
  v->tensor = *list;
  return v;
}

static bool check_items(check_problem *p, const check_input *in) {
  for (int32_t k = 0; in->items && k < in->n; k++) {
    const tn_tensor t = type_of(p, &in->items[k]);
    if (t.dtype == TN_NONE) return why(p, "the case names no type '%s'", in->items[k].type);
    if (!has_room(p, &t, false, in->arg->name)) return false;
  }
  return true;
}

static bool make_inputs(check_problem *p) {
  for (int32_t k = 0; k < p->line->n_inputs; k++) {
    const check_input *in = &p->line->inputs[k];
    if (!check_items(p, in)) return false;
    const int32_t n = in->sequence ? 1 : in->n ? in->n : !in->list;
    for (int32_t i = 0; i < n; i++) {
      if (p->n_inputs == CHECK_MAX_IO) return why(p, "the case has too many inputs");
      check_value **to = &p->inputs[p->n_inputs++];
      if (!in->items) continue;
      *to = in->sequence ? make_sequence(p, in) : new_value(p, in->arg->name);
      if (p->line->has_graphs)
        (*to)->label = in->list ? check_need(tn_arena_format(&p->arena, "%s%d", in->arg->name, i))
                                : in->arg->name;
      if (in->sequence) continue;
      (*to)->tensor = type_of(p, &in->items[i]);
      (*to)->constant = (*to)->written_constant = in->items[i].constant;
    }
  }
  const bool trim = tn_schema_may_end_early(&p->op->schema);
  while (trim && p->n_inputs && !p->inputs[p->n_inputs - 1]) p->n_inputs--;
  for (int32_t k = 0; k < p->line->n_outer; k++) {
    const check_outer *o = &p->line->outer[k];
    if (p->n_outer == CHECK_MAX_IO) return why(p, "the case has too many values around the node");
    check_value *v = p->outer[p->n_outer++] = new_value(p, o->name);
    v->label = o->name;
    v->constant = v->written_constant = o->spec.constant;
    if (!check_problem_make(p, &o->spec, hash(o->name, hash(p->line->drawn_by, 0)), &v->tensor))
      return false;
  }
  return true;
}

static void fill_input(check_problem *p, uint32_t index, const check_spec *s) {
  check_value *v = p->inputs[index];
  if (!v || v->tensor.data || v->tensor.kind != TN_KIND_TENSOR) return;
  fill_tensor(p, s, &v->tensor, hash(v->name, hash(p->line->drawn_by, index)));
  v->scale = scale_of(s, &v->tensor);
}

/* constants: only those; else all that are still empty. */
static void fill_inputs(check_problem *p, bool constants) {
  uint32_t index = 0;
  for (int32_t k = 0; k < p->line->n_inputs; k++) {
    const check_input *in = &p->line->inputs[k];
    const int32_t n = in->sequence ? 1 : in->n ? in->n : !in->list;
    for (int32_t i = 0; i < n && index < p->n_inputs; i++, index++)
      if (in->items && (!constants || in->items[i].constant)) fill_input(p, index, &in->items[i]);
  }
}

void check_problem_fill(check_problem *p) {
  if (!p->filled) fill_inputs(p, false);
  p->filled = true;
}

/* ---- the node -------------------------------------------------------------------------------- */

static bool make_attrs(check_problem *p, const tn_attr ***out) {
  const tn_case *c = p->line;
  *out = check_need(tn_arena_alloc(&p->arena, ((uint64_t)c->n_attrs + 1) * sizeof **out));
  for (int32_t k = 0; k < c->n_attrs; k++) {
    tn_attr *a = check_need(tn_arena_copy(&p->arena, &c->attrs[k].value, sizeof *a));
    const int32_t n = c->attrs[k].n_specs;
    const tn_tensor **tensors =
        check_need(tn_arena_alloc(&p->arena, ((uint64_t)n + 1) * sizeof *tensors));
    for (int32_t i = 0; i < n; i++) {
      tn_tensor t = type_of(p, &c->attrs[k].specs[i]);
      if (t.dtype == TN_NONE)
        return why(p, "the case names no type '%s'", c->attrs[k].specs[i].type);
      fill_tensor(p, &c->attrs[k].specs[i], &t, hash(a->name, hash(c->drawn_by, (uint64_t)i)));
      tensors[i] = check_need(tn_arena_copy(&p->arena, &t, sizeof t));
    }
    if (n) a->tensors = (tn_tensors){tensors, n};
    (*out)[k] = a;
  }
  return true;
}

static void count_outputs(check_problem *p) {
  const tn_schema *s = &p->op->schema;
  int32_t n = p->line->n_outputs, most = 0;
  for (int32_t k = 0; k < s->n_outputs; k++)
    if (!tn_schema_output(s, k)->optional) most = k + 1;
  if (n < 0) n = p->line->n_expect ? p->line->n_expect : most;
  p->n_outputs = (uint32_t)tn_min_i64(n, CHECK_MAX_IO);
  for (uint32_t k = 0; k < p->n_outputs; k++) {
    const tn_arg *arg = tn_schema_output_of(s, (int32_t)k, n);
    p->output_names[k] = arg ? arg->name : "an output that the schema has not";
  }
}

static bool make_value(check_problem *p, const check_value *v, int32_t *out) {
  const tn_graph_api *api = tn_graph_functions();
  *out = -1;
  if (!v) return true;
  *out = api->value(p->graph, v->label);
  tn_status s = v->constant ? api->value_set_const(p->graph, *out, &v->tensor, 1)
                            : api->value_set_type(p->graph, *out, &v->tensor);
  if (s) return why(p, "input %s cannot be made: %s", v->name, tn_status_text(s));
  tn_graph_val(p->graph, *out)->known = true;
  if (!v->constant) api->add_input(p->graph, *out);
  return true;
}

/* One node with its inputs as graph inputs or constants, through the public functions. */
static bool make_graph(check_problem *p) {
  const tn_graph_api *api = tn_graph_functions();
  int32_t inputs[CHECK_MAX_IO], outputs[CHECK_MAX_IO], ignored;
  const tn_attr **made;
  const tn_attr *const *attrs;
  if (!make_attrs(p, &made)) return false;
  if (tn_graph_create(p->env->runtime, &p->graph)) check_die("no graph");
  for (uint32_t k = 0; k < p->n_inputs; k++)
    if (!make_value(p, p->inputs[k], &inputs[k])) return false;
  for (uint32_t k = 0; k < p->n_outer; k++)
    if (!make_value(p, p->outer[k], &ignored)) return false;
  if (check_body_attrs(p, p->graph, made, &attrs))
    return *p->why || why(p, "a graph of it cannot be made");
  for (uint32_t k = 0; k < p->n_outputs; k++) outputs[k] = api->value(p->graph, "");
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = p->op->op.domain,
                        .op = p->op->op.name,
                        .name = "case",
                        .version = p->version,
                        .n_inputs = p->n_inputs,
                        .n_outputs = p->n_outputs,
                        .n_attrs = (uint32_t)p->line->n_attrs,
                        .inputs = inputs,
                        .outputs = outputs,
                        .attrs = attrs,
                        .offset = -1};
  p->node = api->add_node(p->graph, &node);
  return p->node >= 0 || why(p, "the node cannot be made: %s", tn_status_text(p->node));
}

/* Names that graphs of the case read become captures, and their nodes are bound to operators. */
static tn_status open_bodies(check_problem *p, tn_diag *diag) {
  const tn_graph_api *api = tn_graph_functions();
  if (!p->line->has_graphs) return TN_OK;
  tn_status s = api->set_opset(p->graph, p->op->op.domain, p->version);
  if (!s) s = check_body_opsets(p, p->graph);
  if (!s) s = tn_graph_resolve(p->graph, diag);
  const tn_gnode *n = tn_graph_node(p->graph, p->node);
  for (uint32_t k = 0; k < n->n_subgraphs && !s; k++)
    s = tn_pass_check(&p->planner, n->subgraphs[k], diag);
  return s;
}

static bool tell(check_problem *p, const char *what, tn_status s, tn_diag *diag) {
  p->status = s;
  if (s) why(p, "%s: %s", what, tn_diag_count(diag) ? tn_diag_text(diag) : tn_status_text(s));
  tn_diag_destroy(diag);
  return s == TN_OK;
}

/* Inputs whose data inference asks for become constants: so a plan is made for them, too. */
static bool infer(check_problem *p) {
  tn_diag *diag = check_need(tn_diag_create());
  int32_t input = -1;
  tn_status s;
  while ((s = tn_infer_node(&p->planner, p->graph, p->node, &input, diag)) == TN_NEEDS_DATA) {
    check_value *v = input >= 0 && (uint32_t)input < p->n_inputs ? p->inputs[input] : NULL;
    if (!v || v->constant || p->no_data) break;
    check_problem_fill(p);
    v->constant = true;
    s = tn_graph_functions()->value_set_const(
        p->graph, tn_graph_node(p->graph, p->node)->node.inputs[input], &v->tensor, 1);
    if (s) break;
  }
  return tell(p, "inference", s, diag);
}

static bool bind(check_problem *p) {
  if (!make_inputs(p)) return false;
  fill_inputs(p, true);
  count_outputs(p);
  if (!make_graph(p)) return false;
  tn_diag *diag = check_need(tn_diag_create());
  tn_status s = open_bodies(p, diag);
  if (!s) s = tn_node_bind(p->graph, p->node, p->op, diag);
  p->n_formal = tn_graph_node(p->graph, p->node)->n_formal;
  return tell(p, "binding", s, diag);
}

static bool open(check_problem *p) {
  if (!bind(p)) return false;
  if (!tn_op_infers(&p->op->op)) return true; /* its types are those of what replaces it */
  check_doing(p->env, "infer()");
  if (!infer(p)) return false;
  for (uint32_t k = 0; k < p->n_outputs; k++) {
    p->outputs[k] =
        *tn_graph_val(p->graph, tn_graph_node(p->graph, p->node)->node.outputs[k])->type;
    if (p->outputs[k].kind == TN_KIND_TENSOR && p->output_names[k] &&
        !has_room(p, &p->outputs[k], true, p->output_names[k]))
      return false;
  }
  check_doing(p->env, "flops()");
  p->flops = tn_node_flops(&p->planner, p->graph, p->node);
  return true;
}

static void begin(check_env *env, const tn_opdef *op, const tn_case *line,
                  const check_binding *bindings, int32_t n_bindings, check_problem *p) {
  memset(p, 0, sizeof *p);
  p->env = env;
  p->op = op;
  p->line = line;
  p->n_bindings = n_bindings;
  p->region_fill = -1;
  if (n_bindings) memcpy(p->bindings, bindings, (size_t)n_bindings * sizeof *bindings);
  p->version = line->version;
  if (!p->version) p->version = op->op.until;
  if (!p->version) p->version = *op->op.domain ? op->op.since : env->newest;
  p->planner = (tn_planner){
      .a = tn_default_allocator(), .registry = env->runtime->registry, .isa = tn_cpu_isa()};
  tn_arena_init(&p->arena, tn_default_allocator());
  make_label(p);
}

bool check_problem_open(check_env *env, const tn_opdef *op, const tn_case *line,
                        const check_binding *bindings, int32_t n_bindings, bool attempt,
                        check_problem *p) {
  begin(env, op, line, bindings, n_bindings, p);
  p->made_up = attempt;
  const bool fresh =
      check_unit_begin(env, "\"%s\"%s%s", line->text, *p->label ? " " : "", p->label);
  if (!fresh && check_unit_lost(env)) return why(p, "it crashed");
  const bool ok = open(p);
  if (!fresh) return ok;
  if (!ok && !attempt) check_fail(env, "%s", p->why);
  check_step_end(env);
  return ok;
}

bool check_problem_open_quietly(check_env *env, const tn_opdef *op, const tn_case *line,
                                const check_binding *bindings, int32_t n_bindings, bool no_data,
                                check_problem *p) {
  begin(env, op, line, bindings, n_bindings, p);
  p->no_data = no_data;
  return open(p);
}

void check_problem_open_raw(check_env *env, const tn_opdef *op, const tn_case *line,
                            const check_binding *bindings, int32_t n_bindings, check_problem *p) {
  begin(env, op, line, bindings, n_bindings, p);
  if (!bind(p)) check_die("%s: %s", line->text, p->why);
}

void check_problem_close(check_problem *p) {
  if (p->expected) check_results_close(p->env, p->expected);
  if (p->sums) check_results_close(p->env, p->sums);
  for (int32_t k = 0; k < p->n_lists; k++) tn_list_destroy(p->lists[k]);
  for (int32_t k = 0; k < p->n_buffers; k++) check_buffer_free(p->env, p->buffers[k]);
  tn_graph_destroy(p->graph);
  tn_arena_clear(&p->arena);
}

double check_problem_bytes(const check_problem *p) {
  double bytes = 0;
  for (uint32_t k = 0; k < p->n_inputs; k++)
    if (p->inputs[k]) bytes += (double)tn_max_i64(tn_storage_bytes(&p->inputs[k]->tensor), 0);
  for (uint32_t k = 0; k < p->n_outputs; k++)
    bytes += (double)tn_max_i64(tn_storage_bytes(&p->outputs[k]), 0);
  return bytes;
}

/* ---- the reference --------------------------------------------------------------------------- */

static void protect_inputs(const check_problem *p, bool read_only) {
  for (int32_t k = 0; k < p->n_buffers; k++) check_buffer_protect(p->buffers[k], read_only);
}

static bool run_reference(check_problem *p, check_context *c, const tn_tensor *const *in,
                          check_results *results) {
  tn_tensor *out[CHECK_MAX_IO] = {NULL};
  for (uint32_t k = 0; k < p->n_outputs; k++) out[k] = &results->values[k];
  tn_call call = {.head = TN_HEAD(tn_call),
                  .host = &check_host,
                  .ctx = &c,
                  .self = p->op->owner ? p->op->owner->self : NULL,
                  .attrs = tn_graph_node(p->graph, p->node)->attrs,
                  .version = p->version,
                  .n_inputs = p->n_inputs,
                  .n_outputs = p->n_outputs,
                  .n_workers = 1,
                  .inputs = in,
                  .outputs = out,
                  .regions = p->regions,
                  .n_regions = p->n_regions,
                  .region_fill = p->region_fill};
  c->running = true;
  check_doing(p->env, "reference()");
  check_attrs attrs;
  check_attrs_open(p, &call, &attrs);
  protect_inputs(p, true);
  tn_status s = p->op->op.reference(&call);
  protect_inputs(p, false);
  check_attrs_close(p->env, &attrs);
  if (s) return why(p, "the reference fails: %s", c->said[0] ? c->said : tn_status_text(s));
  for (uint32_t k = 0; k < p->n_outputs; k++) {
    const check_buffer *b = results->buffers[k];
    if (b && !check_buffer_intact(b))
      return why(p, "the reference writes outside of output %s", p->output_names[k]);
    if (p->outputs[k].kind == TN_KIND_TENSOR && !b)
      return why(p, "the reference gives output %s no shape", p->output_names[k]);
  }
  return true;
}

/* The results that the reference makes of these inputs; NULL: it fails, and why says how. */
static check_results *results_of(check_problem *p, const tn_tensor *const *in) {
  check_context c;
  check_context_open(&c, p->env, p);
  check_results *results = check_need(tn_arena_alloc(&p->arena, sizeof *results));
  check_results_open(&c, results);
  const bool ok = run_reference(p, &c, in, results);
  check_context_close(&c);
  if (ok) return results;
  check_results_close(p->env, results);
  return NULL;
}

/* The tensor, its floats without signs. */
static const tn_tensor *magnitudes_of(check_problem *p, const tn_tensor *t) {
  if (t->kind != TN_KIND_TENSOR || !tn_dtype(t->dtype)->is_float) return t;
  tn_tensor *copy = check_need(tn_arena_copy(&p->arena, t, sizeof *t));
  const int64_t n = tn_tensor_elements(t);
  copy->data = check_need(tn_arena_alloc(&p->arena, (uint64_t)tn_storage_bytes(t) + 1));
  for (int64_t k = 0; k < n; k++)
    tn_store_f64(t->dtype, copy->data, k, fabs(tn_load_f64(t->dtype, t->data, k)));
  return copy;
}

const check_results *check_problem_expected(check_problem *p) {
  const tn_tensor *in[CHECK_MAX_IO] = {NULL};
  if (p->expected_done) return p->expected_ok ? p->expected : NULL;
  p->expected_done = true;
  check_problem_fill(p);
  if (p->line->n_expect) {
    p->expected = check_need(tn_arena_alloc(&p->arena, sizeof *p->expected));
    tn_arena_init(&p->expected->strings, tn_default_allocator());
    p->expected_ok = check_body_expected(p, p->expected);
    return p->expected_ok ? p->expected : NULL;
  }
  if (!p->op->op.reference) {
    why(p, "the operator has no reference, and the case does not say what to expect");
    return NULL;
  }
  for (uint32_t k = 0; k < p->n_inputs; k++) in[k] = p->inputs[k] ? &p->inputs[k]->tensor : NULL;
  p->expected = results_of(p, in);
  p->expected_ok = p->expected != NULL;
  if (!p->expected_ok || !p->line->magnitudes) return p->expected;
  for (uint32_t k = 0; k < p->n_inputs; k++) in[k] = in[k] ? magnitudes_of(p, in[k]) : NULL;
  p->sums = results_of(p, in);
  p->expected_ok = p->sums != NULL;
  return p->expected_ok ? p->expected : NULL;
}
