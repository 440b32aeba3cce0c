/* Expressions of the program. */
#include <stdio.h>

#include "reader.h"

/* ---- names ---- */

ts_cell *ts_variable(ts_reader *r, const char *name) {
  return (ts_cell *)(intptr_t)tn_map_get(&r->frame->variables, name, 0);
}

static bool add_dotted(ts_reader *r, const ts_node *n, char *text, size_t size) {
  if (n->kind == TS_NAME) {
    if (ts_variable(r, n->name)) return false;
    snprintf(text, size, "%s", n->name);
    return true;
  }
  if (n->kind != TS_ATTRIBUTE || !add_dotted(r, n->items[0], text, size)) return false;
  const size_t used = strlen(text);
  snprintf(text + used, size - used, ".%s", n->name);
  return true;
}

const char *ts_dotted(ts_reader *r, const ts_node *n) {
  char text[700];
  return add_dotted(r, n, text, sizeof text) ? ts_format(r, "%s", text) : NULL;
}

/* What cannot be used may still be handed on. */
bool ts_usable(ts_reader *r, const ts_value *v) {
  if (v->kind == TS_V_POISON) ts_null(r, "%s", v->text);
  return v->kind != TS_V_POISON;
}

static ts_value *name_value(ts_reader *r, const ts_node *n) {
  const ts_cell *c = ts_variable(r, n->name);
  if (!c) return ts_null(r, "there is no '%s'", n->name);
  return c->v ? c->v : ts_null(r, "'%s' has no value here", n->name);
}

/* ---- attributes ---- */

/* CONSTANTS.c3 */
static ts_value *constant(ts_reader *r, const char *name) {
  int64_t k = 0;
  const torch_pickled *all = r->constant_values;
  for (const char *c = name + (*name == 'c'); *c >= '0' && *c <= '9' && k < 1000000; c++)
    k = 10 * k + (*c - '0');
  if (!all || (all->kind != PICKLED_TUPLE && all->kind != PICKLED_LIST) || *name != 'c' ||
      k >= all->n)
    return ts_null(r, "the archive has no constant '%s'", name);
  return ts_constant_load(r, all->items[k]);
}

/* What a class says of an attribute that objects do not have: "dim : Final[int] = 1". */
static ts_value *class_attr(ts_reader *r, const char *class_name, const char *name) {
  const ts_source *source;
  const ts_node *c = ts_find_global(r, TS_CLASS, class_name, &source);
  for (int32_t k = 0; c && k < c->n; k++) {
    const ts_node *n = c->items[k];
    if (n->kind == TS_ASSIGN && n->items[0]->kind == TS_NAME && !strcmp(n->items[0]->name, name))
      return ts_eval(r, n->items[n->n - 1]);
  }
  return NULL;
}

/* Which item a named tuple calls so; -1: none. */
static int32_t field_of(ts_reader *r, const ts_value *tuple, const char *name) {
  const ts_source *source;
  const ts_node *c = *tuple->text ? ts_find_global(r, TS_CLASS, tuple->text, &source) : NULL;
  int32_t at = 0;
  for (int32_t k = 0; c && k < c->n; k++) {
    if (c->items[k]->kind != TS_DECLARE && c->items[k]->kind != TS_ASSIGN) continue;
    if (c->items[k]->items[0]->kind == TS_NAME && !strcmp(c->items[k]->items[0]->name, name))
      return at < tuple->n ? at : -1;
    at++;
  }
  return -1;
}

ts_value *ts_get_attr(ts_reader *r, ts_value *v, const char *name) {
  if (!ts_usable(r, v)) return NULL;
  if (v->kind == TS_V_TUPLE) {
    const int32_t k = field_of(r, v, name);
    return k < 0 ? ts_null(r, "a tuple has no '%s'", name) : v->items[k];
  }
  if (v->kind == TS_V_TENSOR) {
    const char *full = ts_format(r, "prim::%s", name);
    return full ? ts_call_1(r, full, v) : NULL;
  }
  if (v->kind == TS_V_STR && !strcmp(name, "type")) return v; /* of a device */
  if (v->kind == TS_V_STR && !strcmp(name, "index")) return ts_none(r);
  if (v->kind != TS_V_OBJECT) return ts_null(r, "%s has no '%s'", ts_kind_text(v), name);
  const ts_cell *c = ts_attr(v, name);
  if (c && c->v) return c->v;
  ts_value *constant_value = class_attr(r, v->text, name);
  if (constant_value || r->status) return constant_value;
  return ts_null(r, "an object of '%s' has no '%s'", v->text, name);
}

static ts_value *attribute(ts_reader *r, const ts_node *n) {
  const char *name = ts_dotted(r, n);
  if (r->status) return NULL;
  if (name && !strncmp(name, "CONSTANTS.", 10)) return constant(r, name + 10);
  if (name && !strncmp(name, "__torch__.", 10)) {
    ts_value *v = ts_new(r, TS_V_FUNCTION);
    if (v) v->text = name;
    return v;
  }
  if (name) return ts_null(r, "there is no '%s'", name);
  ts_value *object = ts_eval(r, n->items[0]);
  return object ? ts_get_attr(r, object, n->name) : NULL;
}

/* ---- containers ---- */

static ts_value *items_of(ts_reader *r, const ts_node *n, ts_value_kind kind) {
  ts_value **items = ts_alloc(r, ((uint64_t)n->n + 1) * sizeof *items);
  if (!items) return NULL;
  for (int32_t k = 0; k < n->n; k++) {
    items[k] = ts_eval(r, n->items[k]);
    if (!items[k]) return NULL;
  }
  return ts_items(r, kind, items, n->n);
}

static ts_value *slice(ts_reader *r, ts_value *v, const ts_node *s) {
  ts_args args = {.n = 4};
  args.v[0] = v;
  const bool is_tensor = v->kind == TS_V_TENSOR;
  const int32_t from = is_tensor ? 2 : 1;
  if (is_tensor) args.v[1] = ts_int(r, 0);
  args.n = from + 3;
  for (int32_t k = 0; k < 3; k++) {
    args.v[from + k] = s->items[k] ? ts_eval(r, s->items[k]) : k == 2 ? ts_int(r, 1) : ts_none(r);
    if (!args.v[from + k]) return NULL;
  }
  return ts_call_builtin(r, "aten::slice", &args);
}

static ts_value *subscript(ts_reader *r, const ts_node *n) {
  ts_value *v = ts_eval(r, n->items[0]);
  if (!v) return NULL;
  if (n->items[1]->kind == TS_SLICE) return slice(r, v, n->items[1]);
  ts_value *k = ts_eval(r, n->items[1]);
  return k ? ts_item(r, v, k) : NULL;
}

/* ---- operators ---- */

/* `and` and `or` look at their second operand only if they need to. */
static ts_value *logic(ts_reader *r, const ts_node *n, bool is_or) {
  ts_value *a = ts_eval(r, n->items[0]);
  if (a) a = ts_truth(r, a);
  if (!a) return NULL;
  if (a->known && (a->i != 0) == is_or) return a;
  ts_value *b = ts_eval(r, n->items[1]);
  if (b) b = ts_truth(r, b);
  if (!b || a->known) return b;
  const ts_ssa in[] = {ts_scalar(r, a), ts_scalar(r, b)};
  return ts_ssa_value(r, TS_V_BOOL, ts_op(r, is_or ? "Or" : "And", in, 2));
}

static ts_value *operation(ts_reader *r, const ts_node *n) {
  if (n->n == 2 && !strcmp(n->name, "__or__")) return logic(r, n, true);
  if (n->n == 2 && !strcmp(n->name, "__and__")) return logic(r, n, false);
  const char *name = ts_format(r, "aten::%s", n->name);
  ts_value *a = name ? ts_eval(r, n->items[0]) : NULL;
  if (!a) return NULL;
  if (n->n == 1) return ts_call_1(r, name, a);
  ts_value *b = ts_eval(r, n->items[1]);
  return b ? ts_call_2(r, name, a, b) : NULL;
}

static ts_value *literal(ts_reader *r, const ts_node *n) {
  switch (n->kind) {
    case TS_INT: return ts_int(r, n->i);
    case TS_FLOAT: return ts_float(r, n->f);
    case TS_BOOL: return ts_bool(r, n->i != 0);
    case TS_STR: return ts_str(r, n->name);
    default: return ts_none(r);
  }
}

static ts_value *eval_kind(ts_reader *r, const ts_node *n) {
  switch (n->kind) {
    case TS_NAME: return name_value(r, n);
    case TS_ATTRIBUTE: return attribute(r, n);
    case TS_SUBSCRIPT: return subscript(r, n);
    case TS_CALL: return ts_call_node(r, n);
    case TS_TUPLE: return items_of(r, n, TS_V_TUPLE);
    case TS_LIST: return ts_container(r, TS_V_LIST, items_of(r, n, TS_V_ITEMS));
    case TS_DICT: return ts_container(r, TS_V_DICT, items_of(r, n, TS_V_ITEMS));
    case TS_OPERATOR: return operation(r, n);
    case TS_INT:
    case TS_FLOAT:
    case TS_BOOL:
    case TS_STR:
    case TS_NONE: return literal(r, n);
    default: return ts_null(r, "not supported: this kind of expression");
  }
}

ts_value *ts_eval(ts_reader *r, const ts_node *n) {
  const ts_node *before = r->at;
  if (!ts_deeper(r)) return NULL;
  r->at = n;
  ts_value *v = eval_kind(r, n);
  r->depth--;
  if (!r->status) r->at = before;
  return r->status ? NULL : v;
}
