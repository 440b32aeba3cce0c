/* Values of the program, places that hold them, and the journal of what was changed, by which
 * branches are undone. */
#include "reader.h"

/* ---- values ---- */

ts_value *ts_new(ts_reader *r, ts_value_kind kind) {
  ts_value *v = ts_alloc(r, sizeof *v);
  if (!v) return NULL;
  v->kind = kind;
  v->text = "";
  v->ssa.id = TN_NO_ID;
  return v;
}

ts_value *ts_int(ts_reader *r, int64_t i) {
  ts_value *v = ts_new(r, TS_V_INT);
  if (!v) return NULL;
  v->known = true;
  v->i = i;
  v->f = (double)i;
  return v;
}

ts_value *ts_float(ts_reader *r, double f) {
  ts_value *v = ts_new(r, TS_V_FLOAT);
  if (!v) return NULL;
  v->known = true;
  v->f = f;
  return v;
}

ts_value *ts_bool(ts_reader *r, bool b) {
  ts_value *v = ts_int(r, b);
  if (v) v->kind = TS_V_BOOL;
  return v;
}

ts_value *ts_str(ts_reader *r, const char *text) {
  ts_value *v = ts_new(r, TS_V_STR);
  if (v) v->text = text;
  if (v) v->known = true;
  return v;
}

ts_value *ts_none(ts_reader *r) { return ts_new(r, TS_V_NONE); }

ts_value *ts_poison(ts_reader *r, const char *text) {
  ts_value *v = ts_new(r, TS_V_POISON);
  if (v) v->text = text;
  return v;
}

ts_value *ts_ssa_value(ts_reader *r, ts_value_kind kind, ts_ssa ssa) {
  ts_value *v = ssa.id < 0 ? NULL : ts_new(r, kind);
  if (v) v->ssa = ssa;
  return v;
}

ts_value *ts_items(ts_reader *r, ts_value_kind kind, ts_value *const *items, int32_t n) {
  if (n > TS_MAX_ITEMS)
    return ts_null(r, "not supported: lists of more than %d items", TS_MAX_ITEMS);
  ts_value *v = ts_new(r, kind);
  if (!v) return NULL;
  v->n = n;
  if (ts_take_room(r, (uint64_t)n * sizeof *v->items)) return NULL;
  v->items = ts_alloc(r, ((uint64_t)n + 1) * sizeof *v->items);
  if (!v->items) return NULL;
  if (items && n) memcpy(v->items, items, (size_t)n * sizeof *items);
  return v;
}

ts_value *ts_tuple(ts_reader *r, ts_value *const *items, int32_t n) {
  return ts_items(r, TS_V_TUPLE, items, n);
}

ts_value *ts_container(ts_reader *r, ts_value_kind kind, ts_value *content) {
  ts_value *v = content ? ts_new(r, kind) : NULL;
  if (v) v->cell = ts_cell_new(r, content);
  return v && v->cell ? v : NULL;
}

ts_value *ts_list(ts_reader *r, ts_value *const *items, int32_t n) {
  return ts_container(r, TS_V_LIST, ts_items(r, TS_V_ITEMS, items, n));
}

bool ts_is_number(const ts_value *v) { return v->kind >= TS_V_BOOL && v->kind <= TS_V_DTYPE; }

const char *ts_kind_text(const ts_value *v) {
  static const char *const texts[] = {"None",
                                      "a bool",
                                      "an int",
                                      "a float",
                                      "a dtype",
                                      "a text",
                                      "a tuple",
                                      "a tensor",
                                      "a list",
                                      "a dict",
                                      "an object",
                                      "a function",
                                      "packed parameters",
                                      "a value that is not known"};
  return v->kind < sizeof texts / sizeof *texts ? texts[v->kind] : "a value";
}

bool ts_same(const ts_value *a, const ts_value *b) {
  if (a == b) return true;
  if (a->kind != b->kind) return false;
  if (a->kind == TS_V_NONE) return true;
  if (a->kind == TS_V_STR && !(a->known && b->known)) return false;
  if (a->kind == TS_V_STR || a->kind == TS_V_FUNCTION) return !strcmp(a->text, b->text);
  if (!ts_is_number(a)) return false;
  if (!a->known || !b->known)
    return a->kind != TS_V_DTYPE && !a->known && !b->known && a->ssa.id == b->ssa.id &&
           a->ssa.scope == b->ssa.scope;
  return a->kind == TS_V_FLOAT ? !memcmp(&a->f, &b->f, sizeof a->f) : a->i == b->i;
}

/* ---- cells ---- */

ts_cell *ts_cell_new(ts_reader *r, ts_value *v) {
  ts_cell *c = ts_alloc(r, sizeof *c);
  if (!c) return NULL;
  c->v = v;
  c->serial = ++r->serial;
  return c;
}

static bool note_write(ts_reader *r, ts_cell *cell) {
  if (cell->is_written) return true;
  cell->is_written = true;
  return !tn_vec_push(&r->allocator, &r->written, cell) || (ts_no_memory(r), false);
}

bool ts_set(ts_reader *r, ts_cell *cell, ts_value *v) {
  if (!v || !cell || r->status) return false;
  const ts_value *was = cell->v;
  const bool same = was == v || (was && was->cell && was->cell == v->cell && was->kind == v->kind &&
                                 v->kind != TS_V_VIEW);
  if (r->notes_writes && cell->name && !same && !note_write(r, cell)) return false;
  const ts_change change = {cell, cell->v};
  if (tn_vec_push(&r->allocator, &r->journal, change)) {
    ts_no_memory(r);
    return false;
  }
  cell->v = v;
  return true;
}

void ts_roll_back(ts_reader *r, int64_t n_changes) {
  while (r->journal.n > n_changes) {
    const ts_change *c = &r->journal.data[--r->journal.n];
    c->cell->v = c->before;
  }
}

int64_t ts_mark(ts_reader *r, const ts_cells *cells) {
  const int64_t mark = ++r->n_marks;
  for (int64_t k = 0; k < cells->n; k++) {
    cells->data[k]->mark = mark;
    cells->data[k]->slot = k;
  }
  return mark;
}

static bool add_unmarked(ts_reader *r, ts_cell *cell, int64_t mark, int64_t slot, ts_cells *to) {
  if (cell->mark == mark) return true;
  cell->mark = mark;
  cell->slot = slot;
  return !tn_vec_push(&r->allocator, to, cell) || (ts_no_memory(r), false);
}

bool ts_cells_add(ts_reader *r, const ts_cells *from, ts_cells *to) {
  const int64_t mark = ts_mark(r, to);
  for (int64_t k = 0; k < from->n; k++)
    if (!add_unmarked(r, from->data[k], mark, to->n, to)) return false;
  return true;
}

bool ts_changed(ts_reader *r, int64_t n_changes, int64_t serial, ts_cells *out) {
  const int64_t mark = ts_mark(r, out);
  for (int64_t k = n_changes; k < r->journal.n; k++) {
    ts_cell *c = r->journal.data[k].cell;
    if (c->serial <= serial && !add_unmarked(r, c, mark, k, out)) return false;
  }
  return true;
}

/* ---- objects ---- */

ts_value *ts_object_new(ts_reader *r, const char *class_name) {
  ts_value *v = ts_new(r, TS_V_OBJECT);
  if (!v) return NULL;
  v->text = class_name;
  v->object = ts_alloc(r, sizeof *v->object);
  if (!v->object) return NULL;
  v->object->serial = ++r->serial;
  return v;
}

ts_cell *ts_attr(const ts_value *object, const char *name) {
  const ts_object *o = object->object;
  for (int32_t k = 0; k < o->n; k++)
    if (!strcmp(o->attrs[k].name, name)) return o->attrs[k].cell;
  return NULL;
}

bool ts_set_attr(ts_reader *r, ts_value *object, const char *name, ts_value *v) {
  ts_cell *c = ts_attr(object, name);
  if (c) return ts_set(r, c, v);
  ts_object *o = object->object;
  if (o->n == o->cap) {
    const int32_t cap = 2 * o->cap + 4;
    ts_attr_cell *grown = ts_alloc(r, (uint64_t)cap * sizeof *grown);
    if (!grown) return false;
    if (o->n) memcpy(grown, o->attrs, (size_t)o->n * sizeof *grown);
    o->attrs = grown;
    o->cap = cap;
  }
  c = ts_cell_new(r, NULL);
  if (!c) return false;
  c->serial = o->serial;
  o->attrs[o->n++] = (ts_attr_cell){name, c};
  return ts_set(r, c, v);
}
