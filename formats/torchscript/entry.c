/* Entries: the methods of the module. Their arguments become inputs, what they answer outputs, and
 * what they change of the module states. */
#include <stdio.h>

#include "reader.h"

enum { MAX_DEPTH = 6 };

/* ---- types ---- */

static const char *type_name(const ts_node *type) {
  return type && type->kind == TS_NAME ? type->name : "";
}

/* "Optional" of Optional[Tensor]. */
static const char *generic_name(const ts_node *type) {
  return type && type->kind == TS_SUBSCRIPT ? type_name(type->items[0]) : "";
}

static const ts_node *generic_arg(const ts_node *type) { return type->items[1]; }

/* ---- inputs ---- */

static ts_ssa add_input(ts_reader *r, const char *name, uint32_t kind, uint32_t dtype,
                        int32_t rank) {
  const ts_ssa none = {NULL, TN_NO_ID};
  ts_scope *scope = r->main_like;
  const ts_ssa ssa = {scope, r->api->value(scope->g, name)};
  tn_tensor type = {.head = TN_HEAD(tn_tensor), .kind = kind, .dtype = dtype, .rank = rank};
  if (rank == 1) type.shape[0] = -1;
  tn_status s = ssa.id < 0 ? ssa.id : r->api->value_set_type(scope->g, ssa.id, &type);
  if (!s) s = r->api->add_input(scope->g, ssa.id);
  if (s) ts_fail(r, s, "'%s' cannot be an input", name);
  return s ? none : ssa;
}

static ts_ssa tensor_input(ts_reader *r, const char *name) {
  return add_input(r, name, TN_KIND_TENSOR, TN_NONE, TN_RANK_UNKNOWN);
}

static ts_value *input_tensor(ts_reader *r, const char *name) {
  ts_value *v = ts_tensor(r, tensor_input(r, name));
  if (v) ts_content(r, v)->rows = TS_ROWS_WHOLE; /* as they are given */
  return v;
}

ts_value *ts_input_item(ts_reader *r, ts_value *dict, const char *key) {
  const char *name = ts_format(r, "%s.%s", dict->text, key);
  ts_value *v = name ? (ts_value *)(intptr_t)tn_map_get(&r->keys, name, 0) : NULL;
  if (v || !name) return v;
  v = input_tensor(r, name);
  if (v && tn_map_set(&r->keys, name, (int64_t)(intptr_t)v)) ts_no_memory(r);
  return v;
}

static ts_value *input(ts_reader *r, const char *name, const ts_node *type, int depth);

static ts_value *tuple_input(ts_reader *r, const char *name, const ts_node *type, int depth) {
  const ts_node *args = generic_arg(type);
  const int32_t n = args->kind == TS_TUPLE ? args->n : 1;
  ts_value *v = ts_tuple(r, NULL, n);
  for (int32_t k = 0; v && k < n; k++) {
    const char *item = ts_format(r, "%s.%d", name, (int)k);
    v->items[k] =
        item ? input(r, item, args->kind == TS_TUPLE ? args->items[k] : args, depth + 1) : NULL;
    if (!v->items[k]) return NULL;
  }
  return r->status ? NULL : v;
}

static ts_value *list_input(ts_reader *r, const char *name, const ts_node *type) {
  const char *item = type_name(generic_arg(type));
  if (!strcmp(item, "Tensor"))
    return ts_container(
        r, TS_V_LIST,
        ts_ssa_value(r, TS_V_SEQUENCE,
                     add_input(r, name, TN_KIND_SEQUENCE, TN_NONE, TN_RANK_UNKNOWN)));
  const bool is_float = !strcmp(item, "float");
  if (!is_float && strcmp(item, "int"))
    return ts_null(r, "not supported: input '%s' is a list of %s", name, *item ? item : "lists");
  ts_value *v = ts_ssa_value(r, TS_V_ARRAY,
                             add_input(r, name, TN_KIND_TENSOR, is_float ? TN_F64 : TN_I64, 1));
  if (v) v->element = is_float ? TS_V_FLOAT : TS_V_INT;
  return ts_container(r, TS_V_LIST, v);
}

static ts_value *dict_input(ts_reader *r, const char *name) {
  ts_value *v = ts_container(r, TS_V_DICT, ts_items(r, TS_V_ITEMS, NULL, 0));
  if (v) v->text = name;
  return v;
}

static ts_value *input(ts_reader *r, const char *name, const ts_node *type, int depth) {
  static const struct {
    const char *name;
    ts_value_kind kind;
    uint32_t dtype;
  } scalars[] = {
      {"int", TS_V_INT, TN_I64}, {"float", TS_V_FLOAT, TN_F64}, {"bool", TS_V_BOOL, TN_BOOL}};
  const char *what = type_name(type), *generic = generic_name(type);
  if (depth > MAX_DEPTH) return ts_null(r, "the type of '%s' is nested too deep", name);
  if (!type || !strcmp(what, "Tensor")) return input_tensor(r, name);
  if (!strcmp(what, "NoneType")) return ts_none(r);
  for (size_t k = 0; k < sizeof scalars / sizeof *scalars; k++)
    if (!strcmp(what, scalars[k].name))
      return ts_ssa_value(r, scalars[k].kind,
                          add_input(r, name, TN_KIND_TENSOR, scalars[k].dtype, 0));
  if (!strcmp(generic, "Optional")) return input(r, name, generic_arg(type), depth + 1);
  if (!strcmp(generic, "Tuple")) return tuple_input(r, name, type, depth);
  if (!strcmp(generic, "List")) return list_input(r, name, type);
  if (!strcmp(generic, "Dict")) return dict_input(r, name);
  return ts_null(r, "not supported: input '%s' of type %s", name,
                 *what      ? what
                 : *generic ? generic
                            : "of a class");
}

/* Arguments with a default keep it: what they decide is decided when the file is read. */
static bool add_inputs(ts_reader *r, const ts_node *def, ts_args *out) {
  const int32_t n = def->n - 1;
  if (n > TS_MAX_CALLS) return ts_null(r, "'%s' has too many arguments", def->name), false;
  for (int32_t k = 1; k < n; k++) {
    const ts_node *param = def->items[k];
    if (param->n) break;
    out->v[out->n] = input(r, param->name, param->type, 0);
    if (!out->v[out->n]) return false;
    out->keys[out->n++] = NULL;
  }
  return true;
}

/* ---- outputs ---- */

static bool put_output(ts_reader *r, ts_ssa ssa, const char *name) {
  if (ssa.id < 0 || r->status) return false;
  int32_t out = r->api->value(r->scope->g, name);
  const bool taken = out >= 0 && (r->api->value_flags(r->scope->g, out) ||
                                  r->api->value_producer(r->scope->g, out) >= 0);
  if (taken) out = r->api->value(r->scope->g, ts_format(r, "%s.result", name));
  const int32_t in = ts_use(r, ssa);
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = "",
                        .op = "Identity",
                        .name = "",
                        .inputs = &in,
                        .n_inputs = 1,
                        .outputs = &out,
                        .n_outputs = 1,
                        .offset = -1};
  if (r->status) return false;
  tn_status s = out < 0 ? out : r->api->add_node(r->scope->g, &node);
  if (s >= 0) s = r->api->add_output(r->scope->g, out);
  if (s < 0) ts_fail(r, s, "'%s' cannot be an output", name);
  return s >= 0;
}

/* What all conditions of the program are tied to, so that they are looked at: the first output. */
static ts_ssa guarded(ts_reader *r, ts_ssa ssa) {
  for (int64_t k = 0; k < r->asserts.n && !r->status; k++) {
    const ts_ssa in[] = {ssa, r->asserts.data[k].condition};
    const char *text = r->asserts.data[k].text;
    const tn_attr a = {.head = TN_HEAD(tn_attr),
                       .name = "text",
                       .kind = TN_ATTR_STR,
                       .s = {text, (int64_t)strlen(text)}},
                  *attrs = &a;
    if (!ts_node_add(r, "torch", "Assert", in, 2, &attrs, 1, &ssa, 1)) break;
  }
  r->asserts.n = 0;
  return ssa;
}

static bool output(ts_reader *r, ts_value *v, const char *name, int depth);

static bool outputs_of(ts_reader *r, const ts_value *items, int32_t step, const char *name,
                       int depth) {
  for (int32_t k = 0; k < items->n; k += step) {
    const ts_value *key = items->items[k];
    const char *item = step == 1               ? ts_format(r, "%s.%d", name, (int)k)
                       : key->kind == TS_V_STR ? ts_format(r, "%s.%s", name, key->text)
                                               : ts_format(r, "%s.%lld", name, (long long)key->i);
    if (!item || !ts_deeper(r)) return false;
    const bool ok = output(r, items->items[k + step - 1], item, depth + 1);
    r->depth--;
    if (!ok) return false;
  }
  return true;
}

static bool object_output(ts_reader *r, const ts_value *v, const char *name, int depth) {
  for (int32_t k = 0; k < v->object->n; k++) {
    const ts_attr_cell *a = &v->object->attrs[k];
    const char *item = ts_format(r, "%s.%s", name, a->name);
    if (a->cell->v && (!item || !output(r, a->cell->v, item, depth + 1))) return false;
  }
  return true;
}

static bool content_output(ts_reader *r, const ts_value *content, const char *name) {
  if (content->kind == TS_V_SPLIT || content->kind == TS_V_SCAN)
    return ts_null(r, "not supported: output '%s', a list of which only a run knows how long it is",
                   name),
           false;
  if (content->kind != TS_V_STACK) return put_output(r, guarded(r, content->ssa), name);
  const tn_attr axis = {.head = TN_HEAD(tn_attr), .name = "axis", .kind = TN_ATTR_INT, .i = 0},
                keep = {.head = TN_HEAD(tn_attr), .name = "keepdims", .kind = TN_ATTR_INT, .i = 0},
                *attrs[] = {&axis, &keep};
  ts_ssa made;
  return ts_node_add(r, "", "SplitToSequence", &content->ssa, 1, attrs, 2, &made, 1) &&
         put_output(r, guarded(r, made), name);
}

static bool output(ts_reader *r, ts_value *v, const char *name, int depth) {
  if (depth > MAX_DEPTH) return ts_null(r, "what the program answers is nested too deep"), false;
  if (!ts_usable(r, v)) return false;
  if (ts_is_number(v)) return put_output(r, guarded(r, ts_scalar(r, v)), name);
  switch (v->kind) {
    case TS_V_NONE: return true;
    case TS_V_TENSOR: {
      const ts_args args = {.v = {v}, .n = 1};
      ts_value *real = ts_call_builtin(r, "aten::dequantize", &args); /* a float stays as it is */
      return real && put_output(r, guarded(r, ts_read_tensor(r, real)), name);
    }
    case TS_V_TUPLE: return outputs_of(r, v, 1, name, depth);
    case TS_V_OBJECT: return object_output(r, v, name, depth);
    case TS_V_LIST:
    case TS_V_DICT: {
      ts_value *items = ts_known_items(r, v);
      if (r->status) return false;
      if (items) return outputs_of(r, items, v->kind == TS_V_DICT ? 2 : 1, name, depth);
      return content_output(r, v->cell->v, name);
    }
    default: return ts_null(r, "not supported: output '%s' is %s", name, ts_kind_text(v)), false;
  }
}

/* ---- states ---- */

typedef struct state {
  ts_cell *cell;
  int32_t index;
} state;

/* The constant that is in the cell when a session begins. */
static ts_ssa initial_of(ts_reader *r, const ts_value *v, const char *name) {
  const ts_ssa none = {NULL, TN_NO_ID};
  if (v->kind == TS_V_SSA) return v->ssa;
  if (v->kind == TS_V_TENSOR) {
    const ts_value *content = ts_content(r, v);
    return !content || content->kind != TS_V_SSA || v->cell->v->step ? none : content->ssa;
  }
  if (v->kind == TS_V_BOOL || v->kind == TS_V_INT || v->kind == TS_V_FLOAT) return ts_scalar(r, v);
  ts_null(r, "not supported: the program changes attribute '%s', which is %s", name,
          ts_kind_text(v));
  return none;
}

/* An attribute that gets another tensor, of which an earlier one is changed in place. */
static bool is_written_twice(const ts_reader *r, const ts_cell *cell) {
  for (int64_t k = 0; k < r->written.n; k++)
    if (r->written.data[k] != cell && !strcmp(r->written.data[k]->name, cell->name)) return true;
  return false;
}

/* The cell holds what the last run left. */
static bool make_state(ts_reader *r, ts_cell *cell, ts_ssa initial, state *out) {
  ts_value *v = cell->v;
  if (initial.id < 0) {
    if (!r->status) ts_null(r, "not supported: the program changes '%s'", cell->name);
    return false;
  }
  const char *suffix = v->kind == TS_V_TENSOR && is_written_twice(r, cell) ? ".attribute" : "";
  const ts_ssa before = {r->scope,
                         r->api->value(r->scope->g, ts_format(r, "%s%s", cell->name, suffix))};
  tn_tensor type = *r->api->value_type(r->main.g, initial.id);
  type.data = NULL;
  if (v->kind == TS_V_TENSOR) type.rank = TN_RANK_UNKNOWN; /* it may become another one */
  tn_status s = r->status ? r->status : r->api->value_set_type(r->scope->g, before.id, &type);
  if (!s) {
    out->index = r->api->state_new(r->scope->g, ts_format(r, "%s%s", cell->name, suffix), before.id,
                                   initial.id);
    if (out->index < 0) s = out->index;
  }
  if (s) return ts_fail(r, s, "'%s' cannot be a state", cell->name), false;
  out->cell = cell;
  ts_value *made = v->kind == TS_V_TENSOR ? ts_tensor(r, before) : ts_ssa_value(r, v->kind, before);
  return ts_set(r, cell, made);
}

static bool set_state(ts_reader *r, const state *s) {
  ts_value *v = s->cell->v;
  if (!ts_usable(r, v)) return false;
  const ts_ssa ssa = v->kind == TS_V_TENSOR ? ts_read_tensor(r, v)
                     : ts_is_number(v)      ? ts_scalar(r, v)
                                            : v->ssa;
  const ts_ssa after = r->status ? ssa : ts_op(r, "Identity", &ssa, 1);
  if (r->status || after.id < 0) {
    if (!r->status) ts_null(r, "not supported: what '%s' becomes", s->cell->name);
    return false;
  }
  const tn_status status = r->api->state_set(r->main.g, s->index, after.id);
  return !status || (ts_fail(r, status, "'%s' cannot be a state", s->cell->name), false);
}

/* ---- running ---- */

static ts_value *run(ts_reader *r, const ts_node *def, const ts_source *source, ts_value *module) {
  ts_frame frame = {.source = source};
  ts_args args = {.n = 1};
  r->frame = &frame;
  r->at = def;
  tn_map_init(&frame.variables, &r->allocator);
  args.v[0] = module;
  ts_value *v = add_inputs(r, def, &args) ? ts_call_def(r, def, source, &args) : NULL;
  tn_map_free(&frame.variables);
  r->frame = NULL;
  return v;
}

/* What the method changes of the module, by running it into a graph that is thrown away. */
static bool find_written(ts_reader *r, const ts_node *def, const ts_source *source,
                         ts_value *module) {
  ts_scope scope = {r->api->subgraph_new(r->main.g), &r->main};
  if (!scope.g) return ts_no_memory(r), false;
  const int64_t n_changes = r->journal.n;
  r->scope = r->main_like = &scope;
  r->notes_writes = true;
  const ts_value *v = run(r, def, source, module);
  r->notes_writes = false;
  r->scope = r->main_like = &r->main;
  ts_roll_back(r, n_changes);
  tn_map_free(&r->keys);
  tn_map_init(&r->keys, &r->allocator);
  r->asserts.n = 0;
  r->n_nodes = 0;
  r->steps_left = 2000000;
  return v != NULL;
}

static bool read_entry(ts_reader *r, const ts_node *def, const ts_source *source,
                       ts_value *module) {
  if (!find_written(r, def, source, module)) return false;
  const int64_t n = r->written.n;
  state *states = ts_alloc(r, ((uint64_t)n + 1) * sizeof *states);
  ts_ssa *initials = ts_alloc(r, ((uint64_t)n + 1) * sizeof *initials);
  if (!states || !initials) return false;
  for (int64_t k = 0; k < n && !r->status; k++)
    initials[k] = initial_of(r, r->written.data[k]->v, r->written.data[k]->name);
  for (int64_t k = 0; k < n; k++)
    if (r->status || !make_state(r, r->written.data[k], initials[k], &states[k])) return false;
  ts_value *v = run(r, def, source, module);
  ts_frame frame = {.source = source};
  if (!v) return false;
  r->frame = &frame;
  bool ok = output(r, v, "output", 0);
  for (int64_t k = 0; ok && k < n; k++) ok = set_state(r, &states[k]);
  r->frame = NULL;
  return ok && !r->status;
}

/* ---- which method ---- */

static tn_status no_entry(ts_reader *r, const ts_node *c, const char *wanted) {
  char names[300] = "";
  for (int32_t k = 0; k < c->n; k++) {
    if (c->items[k]->kind != TS_DEF) continue;
    const size_t n = strlen(names);
    snprintf(names + n, sizeof names - n, "%s'%s'", n ? ", " : "", c->items[k]->name);
  }
  r->at = NULL;
  if (!wanted) return ts_fail(r, TN_ERR_INVALID, "the module has no methods");
  return ts_fail(r, TN_ERR_NOT_FOUND, "there is no method '%s'; there are: %s", wanted, names);
}

static tn_status note_entries(ts_reader *r, const ts_node *c) {
  for (int32_t k = 0; k < c->n; k++) {
    if (c->items[k]->kind != TS_DEF || !strncmp(c->items[k]->name, "__", 2)) continue;
    if (r->api->entry_add(r->main.g, c->items[k]->name) == TN_ERR_MEMORY) return ts_no_memory(r);
  }
  return TN_OK;
}

static const ts_node *first_def(const ts_node *c) {
  for (int32_t k = 0; k < c->n; k++)
    if (c->items[k]->kind == TS_DEF) return c->items[k];
  return NULL;
}

/* Before anything that may be rolled back: they are made once, with what they hold. */
static bool load_constant_objects(ts_reader *r) {
  const torch_pickled *all = r->constant_values;
  for (int64_t k = 0; all && k < all->n; k++)
    if (all->items[k]->kind == PICKLED_OBJECT && !ts_constant_load(r, all->items[k])) return false;
  return true;
}

tn_status ts_entries_read(ts_reader *r, ts_value *module) {
  const ts_source *source;
  const char *wanted = TN_HAS(r->source, entry) ? r->source->entry : NULL;
  const ts_node *c = ts_find_global(r, TS_CLASS, module->text, &source);
  if (r->status) return r->status;
  if (!c) return ts_fail(r, TN_ERR_INVALID, "the archive does not define '%s'", module->text);
  const ts_node body = {.items = c->items, .n = c->n};
  const ts_node *def = ts_find(&body, TS_DEF, wanted ? wanted : "forward");
  if (!def && !wanted) def = first_def(c);
  if (!def) return no_entry(r, c, wanted);
  tn_status s = note_entries(r, c);
  if (!s) s = r->api->set_opset(r->main.g, "", 21);
  if (!s) s = r->api->set_opset(r->main.g, "aten", 1);
  if (!s) s = r->api->set_opset(r->main.g, "torch", 1);
  if (!s) s = r->api->set_opset(r->main.g, "torchvision", 1);
  if (!s) s = r->api->set_opset(r->main.g, "tenon", 1);
  if (s) return r->status ? r->status : ts_fail(r, s, "the graph takes no operator sets");
  if (load_constant_objects(r)) read_entry(r, def, source, module);
  return r->status;
}
