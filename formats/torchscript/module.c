/* The module tree: inert values of the pickle become values of the program. */
#include <stdio.h>

#include "reader.h"

enum { MAX_DEPTH = 200 };

typedef struct loading {
  ts_reader *r;
  int32_t depth;
} loading;

static ts_value *load(loading *l, torch_pickled *v, const char *name);

static ts_value *load_items(loading *l, torch_pickled *v, ts_value_kind kind, const char *name) {
  ts_reader *r = l->r;
  if (v->n > TS_MAX_ITEMS)
    return ts_null(r, "not supported: lists of more than %d items", TS_MAX_ITEMS);
  ts_value *made = ts_items(r, kind, NULL, (int32_t)v->n);
  for (int64_t k = 0; made && k < v->n; k++)
    if (!(made->items[k] = load(l, v->items[k], name))) return NULL;
  return made;
}

/* What a cell of the module is called as a state: tensors are changed in place. */
static void name_cell(ts_cell *cell, const char *name) {
  if (!cell->name) cell->name = name;
  const ts_value *v = cell->v;
  if (v && v->kind == TS_V_TENSOR && !v->cell->v->cell->name) v->cell->v->cell->name = name;
}

static bool load_attrs(loading *l, ts_value *object, const torch_pickled *state, const char *name) {
  ts_reader *r = l->r;
  for (int64_t k = 0; k + 1 < state->n; k += 2) {
    const torch_pickled *key = state->items[k];
    if (key->kind != PICKLED_STR)
      return ts_null(r, "an attribute of '%s' has no name", object->text), false;
    const char *full = ts_format(r, "%s%s%s", name, *name ? "." : "", key->text);
    ts_value *v = full ? load(l, state->items[k + 1], full) : NULL;
    if (!v || !ts_set_attr(r, object, key->text, v)) return false;
    name_cell(ts_attr(object, key->text), full);
  }
  return true;
}

/* A class that packs its state into another form has a method that takes it apart; of an enum it is
 * the value. */
static bool take_state(ts_reader *r, ts_value *object, ts_value *whole) {
  const ts_args args = {.v = {whole}, .n = 1};
  if (ts_has_method(r, object, "__setstate__"))
    return ts_call_method(r, object, "__setstate__", &args) != NULL;
  return !r->status && ts_set_attr(r, object, "__state__", whole);
}

/* Objects are there before what they hold, so that they can hold each other. */
static ts_value *load_object(loading *l, torch_pickled *v, const char *name) {
  ts_reader *r = l->r;
  char key[32];
  snprintf(key, sizeof key, "%p", (void *)v);
  ts_value *made = (ts_value *)(intptr_t)tn_map_get(&r->loaded, key, 0);
  if (made) return made;
  const torch_pickled *state = v->n ? v->items[0] : NULL;
  const bool is_packed = strstr(v->text, "PackedParamsBase") != NULL;
  made = is_packed ? ts_new(r, TS_V_PACKED) : ts_object_new(r, v->text);
  if (!made) return NULL;
  if (tn_map_set(&r->loaded, key, (int64_t)(intptr_t)made)) {
    ts_no_memory(r);
    return NULL;
  }
  if (is_packed) {
    made->text = v->text;
    made->origin = state; /* quant.c reads it */
    return made;
  }
  if (!state) return made;
  if (state->kind == PICKLED_DICT) return load_attrs(l, made, state, name) ? made : NULL;
  ts_value *whole = load(l, v->items[0], name);
  if (!whole || !take_state(r, made, whole)) return NULL;
  for (int32_t k = 0; k < made->object->n; k++) {
    const ts_attr_cell *a = &made->object->attrs[k];
    name_cell(a->cell, ts_format(r, "%s%s%s", name, *name ? "." : "", a->name));
  }
  return r->status ? NULL : made;
}

static ts_value *load_container(loading *l, torch_pickled *v, ts_value_kind kind,
                                const char *name) {
  ts_reader *r = l->r;
  char key[32];
  snprintf(key, sizeof key, "%p", (void *)v);
  ts_value *made = (ts_value *)(intptr_t)tn_map_get(&r->loaded, key, 0);
  if (made) return made;
  made = ts_container(r, kind, load_items(l, v, TS_V_ITEMS, name));
  if (made && tn_map_set(&r->loaded, key, (int64_t)(intptr_t)made)) ts_no_memory(r);
  if (made) made->cell->name = name;
  return r->status ? NULL : made;
}

/* Its cells have a name, so that changes of it are noticed wherever it lies. */
static ts_value *load_tensor(ts_reader *r, const torch_pickled *v, const char *name) {
  ts_value *made = ts_tensor_load(r, v);
  if (!made || !*name) return made;
  if (!made->cell->name) made->cell->name = name;
  if (!made->cell->v->cell->name) made->cell->v->cell->name = name;
  return made;
}

static ts_value *load_kind(loading *l, torch_pickled *v, const char *name) {
  ts_reader *r = l->r;
  switch (v->kind) {
    case PICKLED_NONE: return ts_none(r);
    case PICKLED_BOOL: return ts_bool(r, v->i != 0);
    case PICKLED_INT: return ts_int(r, v->i);
    case PICKLED_FLOAT: return ts_float(r, v->f);
    case PICKLED_STR:
    case PICKLED_DEVICE: return ts_str(r, v->text);
    case PICKLED_TUPLE: return load_items(l, v, TS_V_TUPLE, name);
    case PICKLED_LIST: return load_container(l, v, TS_V_LIST, name);
    case PICKLED_DICT: return load_container(l, v, TS_V_DICT, name);
    case PICKLED_OBJECT: return load_object(l, v, name);
    case PICKLED_TENSOR: return load_tensor(r, v, name);
    default: return ts_poison(r, ts_format(r, "not supported: attribute '%s' of the module", name));
  }
}

static ts_value *load(loading *l, torch_pickled *v, const char *name) {
  ts_reader *r = l->r;
  if (++l->depth > MAX_DEPTH || --r->steps_left < 0)
    return ts_null(r, "what the archive holds is nested too deep, in a circle, or too large");
  ts_value *made = load_kind(l, v, name);
  l->depth--;
  return made;
}

ts_value *ts_load(ts_reader *r, torch_pickled *v, const char *name) {
  loading l = {r, 0};
  return load(&l, v, name);
}
