/* Lists, tuples and dicts: which items they have is known when the file is read, or they are a
 * tensor of numbers, a stack of tensors or a sequence. */
#include "reader.h"
#include "tenon/kit/checked.h"

static const ts_ssa none = {NULL, TN_NO_ID};

static ts_value *content_of(const ts_value *v) {
  return v->kind == TS_V_LIST || v->kind == TS_V_DICT ? v->cell->v : NULL;
}

ts_value *ts_known_items(ts_reader *r, ts_value *v) {
  ts_value *content = content_of(v);
  if (v->kind == TS_V_TUPLE) return v;
  if (content && content->kind == TS_V_POISON) return ts_null(r, "%s", content->text);
  return content && content->kind == TS_V_ITEMS ? content : NULL;
}

/* ---- numbers in a row ---- */

static ts_ssa one_element(ts_reader *r, const ts_value *v, uint32_t dtype) {
  const ts_ssa x = ts_scalar(r, v), in[] = {x, ts_const_ints(r, (const int64_t[]){1}, 1)};
  return r->status ? none : ts_cast(r, ts_op(r, "Reshape", in, 2), dtype);
}

static ts_ssa array_of(ts_reader *r, const ts_value *items) {
  ts_ssa *parts = ts_alloc(r, ((uint64_t)items->n + 1) * sizeof *parts);
  int64_t *known = ts_alloc(r, ((uint64_t)items->n + 1) * sizeof *known);
  bool all_ints = true, floats = false;
  if (!parts || !known) return none;
  for (int32_t k = 0; k < items->n; k++) {
    const ts_value *v = items->items[k];
    if (!ts_usable(r, v)) return none;
    if (!ts_is_number(v)) return ts_null(r, "a list of numbers has %s", ts_kind_text(v)), none;
    all_ints = all_ints && v->known && v->kind != TS_V_FLOAT;
    floats = floats || v->kind == TS_V_FLOAT;
    known[k] = v->i;
  }
  if (all_ints) return ts_const_ints(r, known, items->n);
  for (int32_t k = 0; k < items->n; k++)
    parts[k] = one_element(r, items->items[k], floats ? TN_F64 : TN_I64);
  return items->n == 1 ? parts[0] : ts_op_int(r, "Concat", parts, (uint32_t)items->n, "axis", 0);
}

ts_ssa ts_array(ts_reader *r, ts_value *v) {
  ts_value *content = content_of(v), *items = ts_known_items(r, v);
  if (r->status) return none;
  if (items) return array_of(r, items);
  if (content && content->kind == TS_V_ARRAY) return content->ssa;
  return ts_null(r, "a list of numbers is wanted, and there is %s", ts_kind_text(v)), none;
}

static bool is_numbers(const ts_value *items) {
  for (int32_t k = 0; k < items->n; k++)
    if (!ts_is_number(items->items[k]) || items->items[k]->kind == TS_V_DTYPE) return false;
  return true;
}

ts_value *ts_open_items(ts_reader *r, ts_value *items) {
  if (items->kind != TS_V_ITEMS) return items;
  if (items->n && is_numbers(items)) {
    ts_value *v = ts_ssa_value(r, TS_V_ARRAY, array_of(r, items));
    if (v) v->element = items->items[0]->kind;
    return v;
  }
  if (!items->n) return ts_ssa_value(r, TS_V_SEQUENCE, ts_op(r, "SequenceEmpty", NULL, 0));
  ts_ssa *parts = ts_alloc(r, (uint64_t)items->n * sizeof *parts);
  for (int32_t k = 0; parts && k < items->n; k++) {
    parts[k] = ts_read_tensor(r, items->items[k]);
    if (parts[k].id < 0) return NULL;
  }
  return ts_ssa_value(r, TS_V_SEQUENCE, ts_op(r, "SequenceConstruct", parts, (uint32_t)items->n));
}

/* ---- length ---- */

static ts_ssa at_place(ts_reader *r, ts_ssa x, int64_t k) {
  const tn_tensor t = tn_tensor_make(TN_I64, 0, NULL, &k);
  const ts_ssa in[] = {x, ts_const(r, &t)};
  return r->status ? none : ts_op_int(r, "Gather", in, 2, "axis", 0);
}

static ts_value *first_dim(ts_reader *r, ts_ssa x) {
  const ts_ssa shape = x.id < 0 ? x : ts_op(r, "Shape", &x, 1);
  return shape.id < 0 ? NULL : ts_ssa_value(r, TS_V_INT, at_place(r, shape, 0));
}

ts_value *ts_length(ts_reader *r, ts_value *v) {
  if (!ts_usable(r, v)) return NULL;
  if (v->kind == TS_V_TENSOR) return first_dim(r, ts_read_tensor(r, v));
  if (v->kind == TS_V_STR) return ts_int(r, (int64_t)strlen(v->text));
  ts_value *items = ts_known_items(r, v), *content = content_of(v);
  if (r->status) return NULL;
  if (items) return ts_int(r, v->kind == TS_V_DICT ? items->n / 2 : items->n);
  if (!content) return ts_null(r, "%s has no length", ts_kind_text(v));
  if (content->kind == TS_V_SPLIT) return ts_split_length(r, content);
  if (content->kind == TS_V_SCAN) return ts_null(r, "not supported: reading a list that grows");
  if (content->kind == TS_V_SEQUENCE)
    return ts_ssa_value(r, TS_V_INT, ts_op(r, "SequenceLength", &content->ssa, 1));
  return first_dim(r, content->ssa);
}

/* ---- items ---- */

static ts_value *find_key(ts_reader *r, const ts_value *items, const ts_value *key) {
  if (key->kind == TS_V_STR && !key->known)
    return ts_null(r, "not supported: a key whose text only a run knows");
  for (int32_t k = items->n - 2; k >= 0; k -= 2)
    if (ts_same(items->items[k], key)) return items->items[k + 1];
  return NULL;
}

static ts_value *dict_item(ts_reader *r, ts_value *v, ts_value *key) {
  ts_value *items = ts_known_items(r, v), *found = items ? find_key(r, items, key) : NULL;
  if (found || r->status) return found;
  if (v->text && *v->text && key->kind == TS_V_STR) return ts_input_item(r, v, key->text);
  return ts_null(r, "the dict has no key '%s'", key->kind == TS_V_STR ? key->text : "?");
}

static ts_value *open_item(ts_reader *r, const ts_value *content, ts_value *k) {
  if (content->kind == TS_V_SPLIT) return ts_split_item(r, content, k);
  if (content->kind == TS_V_STACK && content->items) return ts_unbound_item(r, content, k);
  if (content->kind == TS_V_SCAN) return ts_null(r, "not supported: reading a list that grows");
  const ts_ssa in[] = {content->ssa, ts_scalar(r, k)};
  if (r->status) return NULL;
  if (content->kind == TS_V_SEQUENCE) return ts_tensor(r, ts_op(r, "SequenceAt", in, 2));
  const ts_ssa item = ts_op_int(r, "Gather", in, 2, "axis", 0);
  if (content->kind == TS_V_STACK) return ts_tensor(r, item);
  return ts_ssa_value(r, content->element ? content->element : TS_V_INT, item);
}

/* An item of numbers that are known, at a place that is not. */
static ts_value *number_at(ts_reader *r, ts_value *items, ts_value *k) {
  if (!items->n || !is_numbers(items))
    return ts_null(r, "not supported: an item at a place that only a run knows");
  ts_value *content = ts_open_items(r, ts_items(r, TS_V_ITEMS, items->items, items->n));
  return content ? open_item(r, content, k) : NULL;
}

ts_value *ts_item(ts_reader *r, ts_value *v, ts_value *k) {
  if (!ts_usable(r, v) || !ts_usable(r, k)) return NULL;
  if (v->kind == TS_V_DICT) return dict_item(r, v, k);
  if (v->kind == TS_V_TENSOR) {
    ts_args args = {.v = {v, ts_int(r, 0), k}, .n = 3};
    return ts_call_builtin(r, "aten::select", &args);
  }
  ts_value *items = ts_known_items(r, v), *content = content_of(v);
  if (r->status) return NULL;
  if (!ts_is_number(k)) return ts_null(r, "%s is no place in a list", ts_kind_text(k));
  if (!items)
    return content ? open_item(r, content, k) : ts_null(r, "%s has no items", ts_kind_text(v));
  if (!k->known) return number_at(r, items, k);
  const int64_t at = k->i < 0 ? k->i + items->n : k->i;
  if (at < 0 || at >= items->n)
    return ts_null(r, "item %lld of %d is wanted", (long long)k->i, (int)items->n);
  return items->items[at];
}

ts_value *ts_unpack(ts_reader *r, ts_value *v, int32_t n) {
  if (!ts_usable(r, v)) return NULL;
  ts_value *items = ts_known_items(r, v);
  if (items || r->status) return items;
  ts_value *list[256];
  for (int32_t k = 0; k < n; k++) {
    list[k] = n <= 256 ? ts_item(r, v, ts_int(r, k)) : NULL;
    if (!list[k]) return r->status ? NULL : ts_null(r, "more than 256 values are unpacked");
  }
  return ts_tuple(r, list, n);
}

/* ---- builtins ---- */

static bool is_list(const ts_args *args, int32_t k) {
  return k < args->n && (args->v[k]->kind == TS_V_LIST || args->v[k]->kind == TS_V_TUPLE);
}
static bool is_dict(const ts_args *args) { return args->n && args->v[0]->kind == TS_V_DICT; }

static bool length(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  return args->n == 1 && (*out = ts_length(r, args->v[0]));
}

static bool get_item(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  return args->n == 2 && (*out = ts_item(r, args->v[0], args->v[1]));
}

static ts_value *joined(ts_reader *r, const ts_value *a, const ts_value *b) {
  ts_value *v = ts_items(r, TS_V_ITEMS, NULL, a->n + b->n);
  if (!v) return NULL;
  memcpy(v->items, a->items, (size_t)a->n * sizeof *a->items);
  memcpy(v->items + a->n, b->items, (size_t)b->n * sizeof *b->items);
  return v;
}

/* What a list holds with more items behind. */
static ts_value *extended(ts_reader *r, ts_value *content, ts_value *more) {
  if (content->kind == TS_V_ITEMS) return joined(r, content, more);
  if (content->kind == TS_V_SCAN) {
    ts_value *v = joined(r, content, more);
    if (v) v->kind = TS_V_SCAN;
    return v;
  }
  if (content->kind == TS_V_ARRAY) {
    const ts_ssa in[] = {content->ssa, array_of(r, more)};
    ts_value *v =
        r->status ? NULL : ts_ssa_value(r, TS_V_ARRAY, ts_op_int(r, "Concat", in, 2, "axis", 0));
    if (v) v->element = content->element;
    return v;
  }
  if (content->kind != TS_V_SEQUENCE) return ts_null(r, "not supported: adding to this list");
  for (int32_t k = 0; k < more->n; k++) {
    const ts_ssa in[] = {content->ssa, ts_read_tensor(r, more->items[k])};
    content = r->status ? NULL : ts_ssa_value(r, TS_V_SEQUENCE, ts_op(r, "SequenceInsert", in, 2));
    if (!content) return NULL;
  }
  return content;
}

static bool append(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (args->n != 2 || args->v[0]->kind != TS_V_LIST) return false;
  ts_value *more = strcmp(name, "aten::append") ? ts_known_items(r, args->v[1])
                                                : ts_items(r, TS_V_ITEMS, &args->v[1], 1);
  if (!more && !r->status) ts_null(r, "not supported: adding a list of unknown length");
  if (!more || !ts_set(r, args->v[0]->cell, extended(r, args->v[0]->cell->v, more))) return false;
  return *out = args->v[0], true;
}

/* Of an array, an item is another number. */
static bool replace_number(ts_reader *r, ts_value *list, ts_value *at, ts_value *with) {
  const ts_value *content = list->cell->v;
  if (!ts_is_number(with)) return ts_null(r, "%s is put among numbers", ts_kind_text(with)), false;
  const uint32_t dtype = content->element == TS_V_FLOAT ? TN_F64 : TN_I64;
  const ts_ssa in[] = {content->ssa, one_element(r, at, TN_I64), one_element(r, with, dtype)};
  ts_value *v = r->status ? NULL : ts_ssa_value(r, TS_V_ARRAY, ts_op(r, "ScatterElements", in, 3));
  if (v) v->element = content->element;
  return v && ts_set(r, list->cell, v);
}

/* The items but one, with another in its place, or with none. */
static bool replace_item(ts_reader *r, ts_value *list, int64_t at, ts_value *with) {
  ts_value *items = ts_known_items(r, list);
  if (!items)
    return r->status ? false : (ts_null(r, "not supported: setting an item of it"), false);
  ts_value *copy = ts_items(r, TS_V_ITEMS, items->items, items->n);
  if (at < 0) at += items->n;
  if (!copy || at < 0 || at >= items->n)
    return ts_null(r, "item %lld of %d is set", (long long)at, (int)items->n), false;
  if (with)
    copy->items[at] = with;
  else
    memmove(copy->items + at, copy->items + at + 1, (size_t)(--copy->n - at) * sizeof *copy->items);
  return ts_set(r, list->cell, copy);
}

static bool set_key(ts_reader *r, ts_value *dict, ts_value *key, ts_value *v) {
  ts_value *items = ts_known_items(r, dict), *pair[] = {key, v};
  if (!items || (dict->text && *dict->text))
    return ts_null(r, "not supported: setting a key of this dict"), false;
  if (key->kind == TS_V_STR && !key->known)
    return ts_null(r, "not supported: a key whose text only a run knows"), false;
  for (int32_t k = 0; k < items->n; k += 2)
    if (ts_same(items->items[k], key)) return replace_item(r, dict, k + 1, v);
  ts_value *more = ts_items(r, TS_V_ITEMS, pair, 2);
  return more && ts_set(r, dict->cell, joined(r, items, more));
}

static bool set_item(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (args->n != 3) return false;
  *out = args->v[0];
  if (is_dict(args)) return set_key(r, args->v[0], args->v[1], args->v[2]);
  if (args->v[0]->kind == TS_V_LIST && args->v[0]->cell->v->kind == TS_V_ARRAY)
    return replace_number(r, args->v[0], args->v[1], args->v[2]);
  if (args->v[0]->kind != TS_V_LIST || !args->v[1]->known)
    return ts_null(r, "not supported: setting an item at a place that only a run knows"), false;
  return replace_item(r, args->v[0], args->v[1]->i, args->v[2]);
}

static bool pop(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  ts_value *at = args->n > 1 ? args->v[1] : ts_int(r, -1);
  if (!args->n || args->v[0]->kind != TS_V_LIST || !at || !at->known) return false;
  *out = ts_item(r, args->v[0], at);
  return *out && replace_item(r, args->v[0], at->i, NULL);
}

static bool clear(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (args->n != 1 || !args->v[0]->cell) return false;
  *out = args->v[0];
  return ts_set(r, args->v[0]->cell, ts_items(r, TS_V_ITEMS, NULL, 0));
}

static bool copy(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (!is_list(args, 0) && !is_dict(args)) return true;
  ts_value *v = args->v[0];
  ts_value *items = ts_known_items(r, v);
  if (r->status) return false;
  *out = ts_container(r, v->kind == TS_V_DICT ? TS_V_DICT : TS_V_LIST,
                      items ? ts_items(r, TS_V_ITEMS, items->items, items->n) : content_of(v));
  return *out != NULL;
}

static int64_t place(const ts_args *args, int32_t k, int64_t n, int64_t missing) {
  int64_t at = ts_arg_int(args, k, NULL, missing);
  if (at < 0) at += n;
  return at < 0 ? 0 : at > n ? n : at;
}

static bool slice_array(ts_reader *r, const ts_args *args, ts_value **out) {
  ts_value *from = ts_arg(args, 1, "start"), *to = ts_arg(args, 2, "end"),
           *step = ts_arg(args, 3, "step");
  ts_value *one = ts_int(r, 0), *most = ts_int(r, INT64_MAX), *single = ts_int(r, 1);
  ts_value *bounds[] = {from ? from : one, to ? to : most, one, step ? step : single};
  ts_ssa in[5] = {args->v[0]->cell->v->ssa};
  for (int k = 0; k < 4 && !r->status; k++)
    in[k + 1] = array_of(r, &(ts_value){.kind = TS_V_ITEMS, .items = &bounds[k], .n = 1});
  if (r->status) return false;
  ts_value *v = ts_ssa_value(r, args->v[0]->cell->v->kind, ts_op(r, "Slice", in, 5));
  if (v) v->element = args->v[0]->cell->v->element;
  *out = ts_container(r, TS_V_LIST, v);
  return *out != NULL;
}

static bool slice(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (args->n && args->v[0]->kind == TS_V_STR)
    return ts_null(r, "not supported: parts of texts"), false;
  if (!is_list(args, 0)) return true;
  ts_value *items = ts_known_items(r, args->v[0]);
  if (r->status) return false;
  if (!items) return slice_array(r, args, out);
  for (int32_t k = 1; k < args->n; k++)
    if (args->v[k]->kind != TS_V_NONE && !args->v[k]->known)
      return ts_null(r, "not supported: part of a list up to where only a run knows"), false;
  const int64_t step = tn_min_i64(ts_arg_int(args, 3, "step", 1), TS_MAX_ITEMS + 1),
                from = place(args, 1, items->n, 0), to = place(args, 2, items->n, items->n);
  ts_value *v = ts_items(r, TS_V_ITEMS, items->items, items->n);
  if (!v || step < 1) return ts_null(r, "a list is sliced by a step below 1"), false;
  v->n = 0;
  for (int64_t k = from; k < to; k += step) v->items[v->n++] = items->items[k];
  if (args->v[0]->kind == TS_V_TUPLE) v->kind = TS_V_TUPLE;
  *out = v->kind == TS_V_TUPLE ? v : ts_container(r, TS_V_LIST, v);
  return *out != NULL;
}

static bool add(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (args->n == 2 && args->v[0]->kind == TS_V_STR && args->v[1]->kind == TS_V_STR) {
    *out = ts_str(r, ts_format(r, "%s%s", args->v[0]->text, args->v[1]->text));
    if (*out) (*out)->known = args->v[0]->known && args->v[1]->known;
    return *out != NULL;
  }
  if (!is_list(args, 0) || !is_list(args, 1)) return true;
  ts_value *a = ts_known_items(r, args->v[0]),
           *b = r->status ? NULL : ts_known_items(r, args->v[1]);
  if (r->status) return false;
  if (a && b) {
    ts_value *both = joined(r, a, b);
    if (!both) return false;
    both->kind = TS_V_ITEMS;
    if (!strcmp(name, "aten::add_"))
      return ts_set(r, args->v[0]->cell, both) && (*out = args->v[0]);
    return (*out = ts_container(r, TS_V_LIST, both)) != NULL;
  }
  const ts_ssa in[] = {ts_array(r, args->v[0]), ts_array(r, args->v[1])};
  if (r->status) return false;
  *out = ts_container(r, TS_V_LIST,
                      ts_ssa_value(r, TS_V_ARRAY, ts_op_int(r, "Concat", in, 2, "axis", 0)));
  return *out != NULL;
}

static bool repeat(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (!is_list(args, 0)) return true;
  ts_value *items = ts_known_items(r, args->v[0]);
  if (!items || args->n != 2 || !args->v[1]->known)
    return ts_null(r, "not supported: repeating a list whose length only a run knows"), false;
  const int64_t times = items->n ? tn_min_i64(tn_max_i64(args->v[1]->i, 0), TS_MAX_ITEMS + 1) : 0;
  ts_value *whole =
      ts_items(r, TS_V_ITEMS, NULL, (int32_t)tn_min_i64(times * items->n, TS_MAX_ITEMS + 1));
  for (int32_t k = 0; whole && k < whole->n; k++) whole->items[k] = items->items[k % items->n];
  return (*out = ts_container(r, TS_V_LIST, whole)) != NULL;
}

/* Whether the lists are equal; of numbers that only a run knows, a node says it. */
static ts_value *equal(ts_reader *r, ts_value *a, ts_value *b) {
  ts_value *x = ts_known_items(r, a), *y = r->status ? NULL : ts_known_items(r, b);
  if (r->status) return NULL;
  if (x && y && x->n != y->n) return ts_bool(r, false);
  bool same = x && y, known = x && y;
  for (int32_t k = 0; same && k < x->n; k++) {
    same = ts_same(x->items[k], y->items[k]);
    known = same || ((!ts_is_number(x->items[k]) || x->items[k]->known) &&
                     (!ts_is_number(y->items[k]) || y->items[k]->known));
  }
  if (same || known) return ts_bool(r, same);
  const ts_ssa p = ts_array(r, a), q = ts_array(r, b);
  if (r->status) return NULL;
  /* Shapes first: padded to the same length, with numbers that no size is, they compare whole. */
  const ts_ssa size_p = ts_op(r, "Shape", &p, 1), size_q = ts_op(r, "Shape", &q, 1),
               sizes[] = {size_p, size_q}, most = ts_op(r, "Max", sizes, 2);
  const ts_ssa more_p[] = {most, size_p}, more_q[] = {most, size_q};
  const ts_ssa zero = ts_const_ints(r, (const int64_t[]){0}, 1);
  const ts_ssa pads_p[] = {zero, ts_op(r, "Sub", more_p, 2)},
               pads_q[] = {zero, ts_op(r, "Sub", more_q, 2)};
  const int64_t fill_p = INT64_MIN + 1, fill_q = INT64_MIN + 2;
  const tn_tensor tp = tn_tensor_make(TN_I64, 0, NULL, (void *)(intptr_t)&fill_p),
                  tq = tn_tensor_make(TN_I64, 0, NULL, (void *)(intptr_t)&fill_q);
  const ts_ssa in_p[] = {p, ts_op_int(r, "Concat", pads_p, 2, "axis", 0), ts_const(r, &tp)},
               in_q[] = {q, ts_op_int(r, "Concat", pads_q, 2, "axis", 0), ts_const(r, &tq)};
  const ts_ssa both[] = {ts_op(r, "Pad", in_p, 3), ts_op(r, "Pad", in_q, 3)},
               each = ts_op(r, "Equal", both, 2);
  const ts_ssa ints = r->status ? none : ts_cast(r, each, TN_I64);
  const ts_ssa least = r->status ? none : ts_op_int(r, "ReduceMin", &ints, 1, "keepdims", 0);
  return r->status ? NULL : ts_ssa_value(r, TS_V_BOOL, ts_cast(r, least, TN_BOOL));
}

static bool compare(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (!is_list(args, 0) || !is_list(args, 1)) return true;
  ts_value *same = equal(r, args->v[0], args->v[1]);
  if (!same) return false;
  *out = strcmp(name, "aten::ne") ? same : ts_call_1(r, "aten::__not__", same);
  return *out != NULL;
}

static bool contains(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (args->n != 2) return false;
  ts_value *items = ts_known_items(r, args->v[0]), *found = ts_bool(r, false);
  if (!items || !found) return ts_null(r, "not supported: looking for something in this"), false;
  const int32_t step = is_dict(args) ? 2 : 1;
  for (int32_t k = 0; found && k < items->n; k += step) {
    ts_value *v = items->items[k];
    if (ts_same(v, args->v[1])) return (*out = ts_bool(r, true)) != NULL;
    if (!ts_is_number(v) || !ts_is_number(args->v[1])) continue;
    ts_value *same = ts_scalar_op(r, "eq", v, args->v[1]);
    if (!same) return false;
    if (same->known && !same->i) continue;
    found = found->known ? same : ts_scalar_op(r, "__or__", found, same);
  }
  return (*out = found) != NULL;
}

/* ---- dicts ---- */

static bool every_second(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (!is_dict(args)) return true;
  ts_value *items = ts_known_items(r, args->v[0]);
  if (!items || (args->v[0]->text && *args->v[0]->text))
    return ts_null(r, "not supported: all keys of a dict that is an input"), false;
  ts_value *v = ts_items(r, TS_V_ITEMS, items->items, items->n);
  if (!v) return false;
  v->n = 0;
  for (int32_t k = 0; k < items->n; k += 2)
    v->items[v->n++] = !strcmp(name, "aten::items")
                           ? ts_tuple(r, &items->items[k], 2)
                           : items->items[k + !strcmp(name, "aten::values")];
  return (*out = ts_container(r, TS_V_LIST, v)) != NULL;
}

static bool get(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (!is_dict(args) || args->n < 2) return false;
  ts_value *items = ts_known_items(r, args->v[0]),
           *found = items ? find_key(r, items, args->v[1]) : NULL;
  if (r->status) return false;
  return (*out = found ? found : args->n > 2 ? args->v[2] : ts_none(r)) != NULL;
}

static bool make_dict(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (args->n) return copy(r, name, args, out);
  return (*out = ts_container(r, TS_V_DICT, ts_items(r, TS_V_ITEMS, NULL, 0))) != NULL;
}

/* min([...]), max([...]) */
static bool extreme(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (args->n != 1 || !is_list(args, 0)) return true;
  ts_value *items = ts_known_items(r, args->v[0]);
  if (!items || !items->n) return false;
  *out = items->items[0];
  for (int32_t k = 1; *out && k < items->n; k++)
    *out = ts_scalar_op(r, strstr(name, "::") + 2, *out, items->items[k]);
  return *out != NULL;
}

/* any([...]), all([...]), sum([...]) of bools and numbers. */
static bool fold(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (args->n != 1 || !is_list(args, 0)) return true;
  ts_value *items = ts_known_items(r, args->v[0]), *content = content_of(args->v[0]);
  if (!items && !r->status && content->kind == TS_V_ARRAY && !strcmp(name, "aten::sum")) {
    const ts_ssa sum = ts_op_int(r, "ReduceSum", &content->ssa, 1, "keepdims", 0);
    return (*out = ts_ssa_value(r, content->element, sum)) != NULL;
  }
  if (!items) return false;
  const bool is_sum = !strcmp(name, "aten::sum"), is_any = !strcmp(name, "aten::any");
  *out = is_sum ? ts_int(r, 0) : ts_bool(r, !is_any);
  for (int32_t k = 0; *out && k < items->n; k++) {
    ts_value *one = is_sum ? items->items[k] : ts_truth(r, items->items[k]);
    *out = !one                                   ? NULL
           : is_sum                               ? ts_scalar_op(r, "add", *out, one)
           : (*out)->known && (*out)->i == is_any ? *out
           : (*out)->known                        ? one
                           : ts_scalar_op(r, is_any ? "__or__" : "__and__", *out, one);
  }
  return *out != NULL;
}

const ts_builtin_row ts_list_builtins[] = {
    {"aten::any", fold},
    {"aten::all", fold},
    {"aten::sum", fold},
    {"aten::len", length},
    {"aten::__getitem__", get_item},
    {"aten::_set_item", set_item},
    {"aten::append", append},
    {"aten::extend", append},
    {"aten::pop", pop},
    {"aten::clear", clear},
    {"aten::list", copy},
    {"aten::copy", copy},
    {"aten::slice", slice},
    {"aten::add", add},
    {"aten::add_", add},
    {"aten::mul", repeat},
    {"aten::eq", compare},
    {"aten::ne", compare},
    {"aten::__contains__", contains},
    {"aten::keys", every_second},
    {"aten::values", every_second},
    {"aten::items", every_second},
    {"aten::get", get},
    {"aten::dict", make_dict},
    {"prim::min", extreme},
    {"prim::max", extreme},
    {NULL, NULL},
};
