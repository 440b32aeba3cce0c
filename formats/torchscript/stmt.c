/* Statements of the program. */
#include "reader.h"

/* ---- assignment ---- */

bool ts_set_variable(ts_reader *r, const char *name, ts_value *v) {
  ts_cell *c = ts_variable(r, name);
  if (!c) {
    c = ts_cell_new(r, NULL);
    if (!c || tn_map_set(&r->frame->variables, name, (int64_t)(intptr_t)c)) {
      ts_no_memory(r);
      return false;
    }
    c->serial = 0; /* as if it had been there all the time, without a value */
  }
  return ts_set(r, c, v);
}

/* a, b = v */
static bool unpack(ts_reader *r, const ts_node *target, ts_value *v) {
  ts_value *items = ts_unpack(r, v, target->n);
  if (!items) return false;
  if (items->n != target->n)
    return ts_null(r, "%d values are unpacked into %d", (int)items->n, (int)target->n), false;
  for (int32_t k = 0; k < target->n; k++)
    if (!ts_assign(r, target->items[k], items->items[k])) return false;
  return true;
}

static bool assign_item(ts_reader *r, const ts_node *target, ts_value *v) {
  ts_args args = {.n = 3};
  args.v[0] = ts_eval(r, target->items[0]);
  args.v[1] = args.v[0] ? ts_eval(r, target->items[1]) : NULL;
  args.v[2] = v;
  return args.v[1] && ts_call_builtin(r, "aten::_set_item", &args);
}

bool ts_assign(ts_reader *r, const ts_node *target, ts_value *v) {
  if (target->kind == TS_NAME) return ts_set_variable(r, target->name, v);
  if (target->kind == TS_TUPLE || target->kind == TS_LIST) return unpack(r, target, v);
  if (target->kind == TS_SUBSCRIPT) return assign_item(r, target, v);
  if (target->kind != TS_ATTRIBUTE)
    return ts_null(r, "not supported: assigning to this kind of expression"), false;
  ts_value *object = ts_eval(r, target->items[0]);
  if (!object) return false;
  if (object->kind != TS_V_OBJECT)
    return ts_null(r, "an attribute of %s is assigned", ts_kind_text(object)), false;
  return ts_set_attr(r, object, target->name, v);
}

static bool assignment(ts_reader *r, const ts_node *n) {
  ts_value *v = ts_eval(r, n->items[n->n - 1]);
  for (int32_t k = 0; v && k + 1 < n->n; k++)
    if (!ts_assign(r, n->items[k], v)) return false;
  return v != NULL;
}

/* ---- others ---- */

static bool with(ts_reader *r, const ts_node *n) {
  const ts_args none = {.n = 0};
  ts_value *object = ts_eval(r, n->items[0]);
  ts_value *given = object ? ts_call_method(r, object, "__enter__", &none) : NULL;
  if (!given || (n->name && !ts_set_variable(r, n->name, given))) return false;
  if (!ts_run_block(r, n->items[1])) return false;
  ts_args three = {.n = 3};
  for (int k = 0; k < 3; k++) three.v[k] = ts_none(r);
  return ts_call_method(r, object, "__exit__", &three) != NULL;
}

static bool give_back(ts_reader *r, const ts_node *n) {
  r->frame->result = n->n && n->items[0] ? ts_eval(r, n->items[0]) : ts_none(r);
  return r->frame->result != NULL;
}

static bool run(ts_reader *r, const ts_node *n) {
  switch (n->kind) {
    case TS_ASSIGN: return assignment(r, n);
    case TS_DO: return ts_eval(r, n->items[0]) != NULL;
    case TS_IF: return ts_if(r, n);
    case TS_FOR: return ts_for(r, n);
    case TS_WHILE: return ts_while(r, n);
    case TS_WITH: return with(r, n);
    case TS_RETURN: return give_back(r, n);
    case TS_PASS:
    case TS_IMPORT:
    case TS_DECLARE: return true;
    default: return ts_null(r, "not supported: this kind of statement"), false;
  }
}

bool ts_run_block(ts_reader *r, const ts_node *block) {
  for (int32_t k = 0; block && k < block->n; k++) {
    r->at = block->items[k];
    if (!ts_deeper(r)) return false;
    const bool ok = run(r, block->items[k]);
    r->depth--;
    if (!ok || r->status) return false;
    if (r->frame->result) return true;
  }
  return true;
}
