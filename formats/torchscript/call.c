/* Calls: functions and methods of the program are executed where they are called, so that the
 * graph has none; all else is an operator. */
#include "reader.h"

/* ---- arguments ---- */

static bool read_args(ts_reader *r, const ts_node *n, ts_args *out) {
  out->n = 0;
  for (int32_t k = 1; k < n->n; k++) {
    const ts_node *a = n->items[k];
    if (out->n == TS_MAX_ARGS) return ts_null(r, "a call has too many arguments"), false;
    out->keys[out->n] = a->kind == TS_KEYWORD ? a->name : NULL;
    ts_value *v = ts_eval(r, a->kind == TS_KEYWORD ? a->items[0] : a);
    if (!v) return false;
    out->v[out->n++] = v;
  }
  return true;
}

ts_value *ts_arg(const ts_args *args, int32_t k, const char *key) {
  ts_value *v = k < args->n && !args->keys[k] ? args->v[k] : NULL;
  for (int32_t i = 0; i < args->n && !v; i++)
    if (args->keys[i] && key && !strcmp(args->keys[i], key)) v = args->v[i];
  return v && v->kind == TS_V_NONE ? NULL : v;
}

int64_t ts_arg_int(const ts_args *args, int32_t k, const char *key, int64_t missing) {
  const ts_value *v = ts_arg(args, k, key);
  return v && v->known && (v->kind == TS_V_INT || v->kind == TS_V_BOOL) ? v->i : missing;
}

/* ---- functions ---- */

static ts_value *find_argument(const ts_args *args, int32_t k, const char *name) {
  if (k < args->n && !args->keys[k]) return args->v[k];
  for (int32_t i = 0; i < args->n; i++)
    if (args->keys[i] && !strcmp(args->keys[i], name)) return args->v[i];
  return NULL;
}

/* A float is what an int becomes where a float is declared. */
static ts_value *as_declared(ts_reader *r, const ts_node *param, ts_value *v) {
  const bool wants_float =
      param->type && param->type->kind == TS_NAME && !strcmp(param->type->name, "float");
  return wants_float && v->kind == TS_V_INT ? ts_to_float(r, v) : v;
}

static bool bind(ts_reader *r, const ts_node *def, const ts_args *args) {
  const int32_t n_params = def->n - 1;
  for (int32_t k = 0; k < n_params; k++) {
    const ts_node *param = def->items[k];
    ts_value *v = find_argument(args, k, param->name);
    if (!v && param->n) v = ts_eval(r, param->items[0]);
    if (!v) {
      if (!r->status) ts_null(r, "%s: argument '%s' is missing", def->name, param->name);
      return false;
    }
    v = as_declared(r, param, v);
    if (!v || !ts_set_variable(r, param->name, v)) return false;
  }
  return true;
}

ts_value *ts_call_def(ts_reader *r, const ts_node *def, const ts_source *source,
                      const ts_args *args) {
  ts_frame frame = {.caller = r->frame, .source = source};
  const ts_node *at = r->at;
  if (r->n_calls == TS_MAX_CALLS)
    return ts_null(r, "functions call each other more than %d deep", TS_MAX_CALLS);
  tn_map_init(&frame.variables, &r->allocator);
  r->frame = &frame;
  r->n_calls++;
  const bool ran = bind(r, def, args) && ts_run_block(r, def->items[def->n - 1]);
  ts_value *result = frame.result ? frame.result : ran ? ts_none(r) : NULL;
  r->n_calls--;
  r->frame = frame.caller;
  r->at = at;
  tn_map_free(&frame.variables);
  return r->status ? NULL : result;
}

bool ts_has_method(ts_reader *r, const ts_value *object, const char *name) {
  const ts_source *source;
  const ts_node *c = ts_find_global(r, TS_CLASS, object->text, &source);
  return c && ts_find(&(ts_node){.items = c->items, .n = c->n}, TS_DEF, name);
}

ts_value *ts_call_method(ts_reader *r, ts_value *object, const char *name, const ts_args *args) {
  const ts_source *source;
  const char *full = object->kind == TS_V_OBJECT ? ts_format(r, "%s.%s", object->text, name) : NULL;
  const ts_node *c = full ? ts_find_global(r, TS_CLASS, object->text, &source) : NULL,
                *def = c ? ts_find(&(ts_node){.items = c->items, .n = c->n}, TS_DEF, name) : NULL;
  if (r->status) return NULL;
  if (!def)
    return ts_null(r, "%s has no method '%s'",
                   object->kind == TS_V_OBJECT ? object->text : ts_kind_text(object), name);
  ts_args with_self = {.n = args->n + 1};
  if (with_self.n > TS_MAX_ARGS) return ts_null(r, "a call has too many arguments");
  with_self.v[0] = object;
  with_self.keys[0] = NULL;
  memcpy(with_self.v + 1, args->v, (size_t)args->n * sizeof *args->v);
  memcpy(with_self.keys + 1, args->keys, (size_t)args->n * sizeof *args->keys);
  return ts_call_def(r, def, source, &with_self);
}

/* A named tuple, or an object whose __init__ is called. */
static ts_value *construct(ts_reader *r, const ts_node *c, const char *name, const ts_args *args) {
  const bool is_tuple = c->type && c->type->kind == TS_NAME && !strcmp(c->type->name, "NamedTuple");
  if (is_tuple) {
    ts_value *v = ts_tuple(r, args->v, args->n);
    if (v) v->text = name;
    return v;
  }
  ts_value *object = ts_object_new(r, name);
  return object && ts_call_method(r, object, "__init__", args) ? object : NULL;
}

/* Ways of PyTorch's own kernels through a layer, which compute what the plain way does. */
static bool is_fast_path(const char *name) {
  return !strcmp(name, "__torch__.torch.backends.mha.get_fastpath_enabled");
}

static ts_value *call_global(ts_reader *r, const char *name, const ts_args *args) {
  const ts_source *source;
  if (is_fast_path(name)) return ts_bool(r, false);
  const ts_node *n = ts_find_global(r, TS_DEF, name, &source);
  if (n) return ts_call_def(r, n, source, args);
  n = r->status ? NULL : ts_find_global(r, TS_CLASS, name, &source);
  if (n) return construct(r, n, name, args);
  if (r->status) return NULL;
  return ts_null(r, "the archive does not define '%s'", name);
}

/* ---- what looks like a function and is none ---- */

static ts_value *uninitialized(ts_reader *r) {
  ts_value *v = ts_poison(r, "it has no value on this way through the program");
  if (v) v->known = true; /* anything will do where branches meet */
  return v;
}

static ts_value *get_attr_call(ts_reader *r, const ts_node *n) {
  ts_value *object = ts_eval(r, n->items[1]), *name = object ? ts_eval(r, n->items[2]) : NULL;
  if (!name) return NULL;
  if (name->kind != TS_V_STR) return ts_null(r, "getattr needs a text");
  return ts_get_attr(r, object, name->text);
}

static ts_value *convert(ts_reader *r, const char *name, ts_value *v) {
  if (!v) return NULL;
  if (!strcmp(name, "bool")) return ts_truth(r, v);
  if (!strcmp(name, "int")) return ts_to_int(r, v);
  if (!strcmp(name, "float")) return ts_to_float(r, v);
  if (v->kind == TS_V_STR) return v;
  if (v->kind == TS_V_INT && v->known) return ts_str(r, ts_format(r, "%lld", (long long)v->i));
  return ts_str(r, "?");
}

/* *out: what the word makes; NULL without an error: it is none of these. */
static bool call_word(ts_reader *r, const char *name, const ts_node *n, ts_value **out) {
  static const char *const casts[] = {"annotate", "unchecked_cast"};
  *out = NULL;
  for (size_t k = 0; k < 2; k++)
    if (!strcmp(name, casts[k]) && n->n == 3) {
      *out = ts_eval(r, n->items[2]);
      return true;
    }
  if (!strcmp(name, "uninitialized")) return *out = uninitialized(r), true;
  if (!strcmp(name, "isinstance")) return ts_null(r, "not supported: isinstance"), true;
  if (!strcmp(name, "getattr") && n->n == 3) return *out = get_attr_call(r, n), true;
  if (!strcmp(name, "unchecked_unwrap_optional") && n->n == 2)
    return *out = ts_eval(r, n->items[1]), true;
  const bool is_conversion = !strcmp(name, "bool") || !strcmp(name, "int") ||
                             !strcmp(name, "float") || !strcmp(name, "str");
  if (is_conversion && n->n == 2) return *out = convert(r, name, ts_eval(r, n->items[1])), true;
  return false;
}

/* "torch.add" is aten::add, "ops.prim.dtype" prim::dtype. */
static const char *operator_name(ts_reader *r, const char *name) {
  if (!strncmp(name, "torch.", 6)) {
    const char *dot = strchr(name + 6, '.');
    return dot ? ts_format(r, "aten::%s", strrchr(name, '.') + 1)
               : ts_format(r, "aten::%s", name + 6);
  }
  const char *dot = strncmp(name, "ops.", 4) ? NULL : strchr(name + 4, '.');
  return dot ? ts_format(r, "%.*s::%s", (int)(dot - name - 4), name + 4, dot + 1) : NULL;
}

static ts_value *call_named(ts_reader *r, const char *name, const ts_node *n) {
  ts_args args;
  ts_value *v;
  if (!strchr(name, '.') && call_word(r, name, n, &v)) return v;
  const size_t length = strlen(name);
  if (length > 8 && !strcmp(name + length - 8, ".__new__"))
    return ts_object_new(r, ts_format(r, "%.*s", (int)length - 8, name));
  if (!read_args(r, n, &args)) return NULL;
  if (!strcmp(name, "print")) return ts_none(r); /* what a program says has no reader here */
  if (!strncmp(name, "__torch__.", 10)) return call_global(r, name, &args);
  const char *op = operator_name(r, name);
  if (r->status) return NULL;
  return op ? ts_call_builtin(r, op, &args) : ts_null(r, "there is no '%s'", name);
}

ts_value *ts_call_node(ts_reader *r, const ts_node *n) {
  const ts_node *function = n->items[0];
  ts_args args;
  const char *name = ts_dotted(r, function);
  if (r->status) return NULL;
  if (name) return call_named(r, name, n);
  if (function->kind == TS_ATTRIBUTE) {
    ts_value *object = ts_eval(r, function->items[0]);
    if (!object || !read_args(r, n, &args)) return NULL;
    return ts_call_method(r, object, function->name, &args);
  }
  ts_value *v = ts_eval(r, function);
  if (!v || !read_args(r, n, &args)) return NULL;
  if (v->kind != TS_V_FUNCTION) return ts_null(r, "%s is called", ts_kind_text(v));
  return call_global(r, v->text, &args);
}
