/* Operators that take tensors apart into lists, and those that put lists together. */
#include "reader.h"

static const ts_ssa none = {NULL, TN_NO_ID};

static bool is_tensor(const ts_args *args) { return args->n && args->v[0]->kind == TS_V_TENSOR; }

/* ---- splits of equal size ---- */

ts_value *ts_split_item(ts_reader *r, const ts_value *split, ts_value *k) {
  ts_value *size = split->items[1];
  ts_value *from = ts_scalar_op(r, "mul", k, size),
           *to = from ? ts_scalar_op(r, "add", from, size) : NULL;
  ts_value *list[] = {split->items[2], from, to, ts_int(r, 1)};
  if (k->known && k->i < 0) return ts_null(r, "not supported: a part counted from the end");
  return to ? ts_view(r, split->items[0], "aten::slice", list, 4) : NULL;
}

static ts_value *dim_size(ts_reader *r, ts_value *tensor, ts_value *dim) {
  return ts_call_2(r, "aten::size", tensor, dim);
}

static ts_value *ceil_div(ts_reader *r, ts_value *a, ts_value *b) {
  ts_value *one = ts_int(r, 1), *v = a && b ? ts_scalar_op(r, "add", a, b) : NULL;
  if (v) v = ts_scalar_op(r, "sub", v, one);
  return v ? ts_scalar_op(r, "floordiv", v, b) : NULL;
}

ts_value *ts_split_length(ts_reader *r, const ts_value *split) {
  return ceil_div(r, dim_size(r, split->items[0], split->items[2]), split->items[1]);
}

static ts_value *split_of(ts_reader *r, ts_value *tensor, ts_value *size, ts_value *dim) {
  ts_value *items[] = {tensor, size, dim};
  return size ? ts_container(r, TS_V_LIST, ts_items(r, TS_V_SPLIT, items, 3)) : NULL;
}

static bool split_by_sizes(ts_reader *r, ts_value *x, ts_value *sizes, ts_value *dim,
                           ts_value **out) {
  ts_value *list = ts_known_items(r, sizes), *at = ts_int(r, 0);
  if (!list || !at) return r->status ? false : (ts_null(r, "not supported: a split here"), false);
  ts_value *made = ts_items(r, TS_V_ITEMS, list->items, list->n);
  for (int32_t k = 0; made && k < list->n; k++) {
    ts_value *to = ts_scalar_op(r, "add", at, list->items[k]);
    ts_value *args[] = {dim, at, to, ts_int(r, 1)};
    made->items[k] = to ? ts_view(r, x, "aten::slice", args, 4) : NULL;
    if (!made->items[k]) return false;
    at = to;
  }
  return (*out = ts_container(r, TS_V_LIST, made)) != NULL;
}

static bool split(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  ts_value *dim = ts_arg(args, 2, "dim"), *size = ts_arg(args, 1, "split_size");
  if (!size) size = ts_arg(args, 1, "split_sizes");
  if (!is_tensor(args) || !size) return false;
  if (!dim) dim = ts_int(r, 0);
  if (size->kind == TS_V_LIST || size->kind == TS_V_TUPLE)
    return split_by_sizes(r, args->v[0], size, dim, out);
  return (*out = split_of(r, args->v[0], size, dim)) != NULL;
}

static bool chunk(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  ts_value *n = ts_arg(args, 1, "chunks"), *dim = ts_arg(args, 2, "dim");
  if (!is_tensor(args) || !n) return false;
  if (!dim) dim = ts_int(r, 0);
  ts_value *size = ceil_div(r, dim_size(r, args->v[0], dim), n);
  return (*out = split_of(r, args->v[0], size, dim)) != NULL;
}

/* ---- stacks ---- */

static ts_ssa moved(ts_reader *r, ts_ssa x, int64_t from, int64_t to) {
  ts_value *places[] = {ts_int(r, from), ts_int(r, to)};
  return from == to || r->status ? x : ts_emit_ssa(r, "aten::movedim", x, places, 2);
}

static bool unbind(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (!is_tensor(args)) return false;
  const int64_t dim = ts_arg_int(args, 1, "dim", 0);
  const ts_ssa x = ts_read_tensor(r, args->v[0]);
  const ts_ssa stack = x.id < 0 ? x : moved(r, x, dim, 0);
  ts_value *items[] = {args->v[0], ts_int(r, dim)}, *content = ts_ssa_value(r, TS_V_STACK, stack);
  ts_value *of = content ? ts_items(r, TS_V_ITEMS, items, 2) : NULL;
  if (!of) return false;
  content->items = of->items;
  content->n = of->n;
  return (*out = ts_container(r, TS_V_LIST, content)) != NULL;
}

ts_value *ts_unbound_item(ts_reader *r, const ts_value *stack, ts_value *k) {
  ts_value *args[] = {stack->items[1], k};
  return ts_view(r, stack->items[0], "aten::select", args, 2);
}

/* where(x): for each dim, where x is not zero. */
static bool where(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (args->n != 1 || !is_tensor(args)) return true;
  ts_value *all = ts_emit(r, "aten::nonzero", args);
  const ts_ssa x = all ? ts_read_tensor(r, all) : none;
  const ts_ssa stack = x.id < 0 ? x : moved(r, x, 1, 0);
  *out = ts_container(r, TS_V_LIST, ts_ssa_value(r, TS_V_STACK, stack));
  return *out != NULL;
}

/* The tensors of a stack, one behind the other along a dim that they have. */
static ts_ssa joined(ts_reader *r, ts_ssa stack, int64_t dim) {
  const int64_t at = dim < 0 ? dim - 1 : dim;
  ts_value *dims[] = {ts_int(r, at), ts_int(r, at + 1)};
  const ts_ssa x = moved(r, stack, 0, at);
  return x.id < 0 || r->status ? none : ts_emit_ssa(r, "aten::flatten", x, dims, 2);
}

static bool join(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (args->n < 1 || args->v[0]->kind != TS_V_LIST) return true;
  const ts_value *content = args->v[0]->cell->v;
  const int64_t dim = ts_arg_int(args, 1, "dim", 0);
  const bool stacks = !strcmp(name, "aten::stack");
  if (content->kind == TS_V_STACK) {
    *out = ts_tensor(r, stacks ? moved(r, content->ssa, 0, dim) : joined(r, content->ssa, dim));
    return *out != NULL;
  }
  if (content->kind != TS_V_SEQUENCE) return true;
  const tn_attr axis = {.head = TN_HEAD(tn_attr), .name = "axis", .kind = TN_ATTR_INT, .i = dim},
                new_axis = {.head = TN_HEAD(tn_attr),
                            .name = "new_axis",
                            .kind = TN_ATTR_INT,
                            .i = stacks},
                *attrs[] = {&axis, &new_axis};
  ts_ssa made;
  if (!ts_node_add(r, "", "ConcatFromSequence", &content->ssa, 1, attrs, 2, &made, 1)) return false;
  return (*out = ts_tensor(r, made)) != NULL;
}

/* As many results as there are tensors. */
static bool as_many(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (args->n < 1 || args->v[0]->kind != TS_V_LIST) return false;
  ts_value *items = ts_known_items(r, args->v[0]);
  if (!items) return r->status ? false : (ts_null(r, "not supported: %s of this", name), false);
  return (*out = ts_emit_list(r, name, args, items->n)) != NULL;
}

/* Parts of a tensor, as many as are asked for, which may be its memory. */
static bool parted(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  const ts_value *n = ts_arg(args, 1, "sections");
  if (!is_tensor(args) || !n) return false;
  const ts_value *places = n->kind == TS_V_LIST ? ts_known_items(r, args->v[1]) : NULL;
  const int64_t many = places ? places->n + 1 : n->kind == TS_V_INT && n->known ? n->i : 0;
  if (many < 1 || many > 1024)
    return r->status ? false : (ts_null(r, "not supported: %s into these parts", name), false);
  *out = ts_emit_list(r, name, args, (int32_t)many);
  const ts_value *items = *out ? ts_known_items(r, *out) : NULL;
  for (int32_t k = 0; items && k < items->n; k++)
    if (!ts_may_alias(r, args->v[0], items->items[k])) return false;
  return items != NULL;
}

const ts_builtin_row ts_parts_builtins[] = {
    {"aten::split", split},
    {"aten::split_with_sizes", split},
    {"aten::chunk", chunk},
    {"aten::unsafe_split", split},
    {"aten::unsafe_split_with_sizes", split},
    {"aten::unsafe_chunk", chunk},
    {"aten::tensor_split", parted},
    {"aten::hsplit", parted},
    {"aten::vsplit", parted},
    {"aten::dsplit", parted},
    {"aten::unbind", unbind},
    {"aten::where", where},
    {"aten::stack", join},
    {"aten::cat", join},
    {"aten::concat", join},
    {"aten::meshgrid", as_many},
    {"aten::broadcast_tensors", as_many},
    {NULL, NULL},
};
