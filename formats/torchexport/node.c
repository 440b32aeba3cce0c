/* Nodes of a program: arguments, outputs, writes and views. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "reader.h"
#include "tenon/kit/checked.h"

enum { MOST_ARGS = 64, MOST_OUTPUTS = 1024 };

static tn_status say(void *ctx, tn_status code, const char *text) {
  return pt2_fail(ctx, code, "%s", text);
}

aten_emitter pt2_emitter(pt2_scope *s) {
  return (aten_emitter){.api = s->r->api,
                        .graph = s->g,
                        .arena = &s->r->arena,
                        .fail = say,
                        .ctx = s->r,
                        .node = s->r->node,
                        .offset = -1};
}

/* ---- arguments ---- */

static tn_status variable(pt2_scope *s, const json_value *of, const char *key, aten_arg *out) {
  const char *name = json_text(of, key);
  if (!name) return pt2_fail(s->r, TN_ERR_INVALID, "an argument has no name");
  const int32_t var = pt2_find(s, name);
  return var < 0 ? var : pt2_get(s, var, out);
}

/* {"as_name": "s0"} or {"as_int": 3}. */
static tn_status symbol(pt2_scope *s, const json_value *v, aten_arg *out) {
  if (json_get(v, "as_name")) return variable(s, v, "as_name", out);
  return pt2_arg(s, v, out);
}

static tn_status list_of(pt2_scope *s, const json_value *list, const char *each, aten_arg *out) {
  aten_arg *items = tn_arena_alloc(&s->r->arena, ((uint64_t)list->n + 1) * sizeof *items);
  tn_status status = items ? TN_OK : pt2_no_memory(s->r);
  uint32_t n = 0;
  for (const json_value *v = list->first; v && !status; v = v->next, n++) {
    const json_value *plain = v;
    json_value wrapped = {.kind = JSON_OBJECT, .n = 1};
    json_value copy = *v;
    if (v->kind != JSON_OBJECT || !strcmp(each, "as_tensor")) { /* bare: 3, or {"name": "x"} */
      copy.key = (tn_str){each, (int64_t)strlen(each)};
      copy.next = NULL;
      wrapped.first = &copy;
      if (!json_union(v) || json_get(v, "name")) plain = &wrapped;
    }
    status = !strcmp(each, "as_sym") ? symbol(s, v, &items[n]) : pt2_arg(s, plain, &items[n]);
  }
  *out = (aten_arg){.kind = ATEN_LIST, .items = items, .n_items = n};
  return status;
}

static double float_of(const json_value *v) {
  if (v->kind != JSON_STRING) return v->f;
  return tn_text_number(v->s.data, NULL); /* Infinity, -Infinity, NaN */
}

static const struct list_kind {
  const char *key, *each;
} list_kinds[] = {{"as_tensors", "as_tensor"}, {"as_optional_tensors", "as_tensor"},
                  {"as_ints", "as_int"},       {"as_floats", "as_float"},
                  {"as_bools", "as_bool"},     {"as_strings", "as_string"},
                  {"as_sym_ints", "as_sym"},   {"as_sym_floats", "as_sym"},
                  {"as_sym_bools", "as_sym"}};

static tn_status scalar_arg(pt2_scope *s, const json_value *v, aten_arg *out) {
  *out = (aten_arg){.kind = ATEN_OTHER};
  if (json_is(v, "as_none")) {
    out->kind = ATEN_NONE;
  } else if (json_is(v, "as_int") || json_is(v, "as_bool")) {
    if (v->kind != JSON_INT && v->kind != JSON_BOOL)
      return pt2_fail(s->r, TN_ERR_INVALID, "a number is none");
    out->kind = json_is(v, "as_int") ? ATEN_INT : ATEN_BOOL;
    out->i = v->i;
  } else if (json_is(v, "as_float")) {
    out->kind = ATEN_FLOAT;
    out->f = float_of(v);
  } else if (json_is(v, "as_string")) {
    if (v->kind != JSON_STRING) return pt2_fail(s->r, TN_ERR_INVALID, "a text is none");
    out->kind = ATEN_STRING;
    out->s = v->s;
  } else if (json_is(v, "as_scalar_type")) {
    out->kind = ATEN_DTYPE;
    out->i = pt2_dtype(v->i);
    if (out->i == TN_NONE) return pt2_fail(s->r, TN_ERR_UNSUPPORTED, "not supported: this dtype");
  } else if (!json_is(v, "as_device") && !json_is(v, "as_layout") &&
             !json_is(v, "as_memory_format")) {
    return pt2_fail(s->r, TN_ERR_UNSUPPORTED, "not supported: an argument %.40s", v->key.data);
  }
  return TN_OK;
}

tn_status pt2_arg(pt2_scope *s, const json_value *arg, aten_arg *out) {
  const json_value *v = json_union(arg);
  if (!v) return pt2_fail(s->r, TN_ERR_INVALID, "an argument is no union of one member");
  if (json_is(v, "as_tensor")) return variable(s, v, "name", out);
  if (json_is(v, "as_sym_int") || json_is(v, "as_sym_float") || json_is(v, "as_sym_bool"))
    return symbol(s, v, out);
  if (json_is(v, "as_optional_tensor")) return pt2_arg(s, v, out);
  for (size_t k = 0; k < sizeof list_kinds / sizeof *list_kinds; k++)
    if (json_is(v, list_kinds[k].key) && v->kind == JSON_LIST)
      return list_of(s, v, list_kinds[k].each, out);
  return scalar_arg(s, v, out);
}

static tn_status read_args(pt2_scope *s, const json_value *node, bool by_place, aten_arg *out,
                           uint32_t *out_n) {
  const json_value *inputs = json_list(node, "inputs");
  uint32_t n = 0;
  for (const json_value *in = inputs ? inputs->first : NULL; in; in = in->next) {
    if (n == MOST_ARGS) return pt2_fail(s->r, TN_ERR_UNSUPPORTED, "it has more than 64 arguments");
    const tn_status status = pt2_arg(s, json_get(in, "arg"), &out[n]);
    if (status) return status;
    const char *name = json_text(in, "name");
    out[n++].name = by_place || !name || !*name ? NULL : name;
  }
  *out_n = n;
  return TN_OK;
}

/* ---- targets ---- */

typedef struct target {
  char op[128], overload[64];
} target;

/* "torch.ops.aten.add.Tensor": "aten::add", "Tensor". */
static bool split_target(const char *text, target *out) {
  const char *p = text + strlen("torch.ops.");
  if (strncmp(text, "torch.ops.", strlen("torch.ops.")) != 0) return false;
  const char *dot = strchr(p, '.'), *last = strrchr(p, '.');
  if (!dot || last == dot) return false;
  const int n = snprintf(out->op, sizeof out->op, "%.*s::%.*s", (int)(dot - p), p,
                         (int)(last - dot - 1), dot + 1);
  const int m = snprintf(out->overload, sizeof out->overload, "%s",
                         strcmp(last + 1, "default") ? last + 1 : "");
  return n > 0 && (size_t)n < sizeof out->op && m >= 0 && (size_t)m < sizeof out->overload;
}

/* Arithmetic of Python on symbols; all of it is aten's on numbers of rank 0. */
static const struct python_op {
  const char *name, *op;
} python_ops[] = {{"_operator.add", "aten::add"},
                  {"_operator.sub", "aten::sub"},
                  {"_operator.mul", "aten::mul"},
                  {"_operator.floordiv", "aten::floor_divide"},
                  {"_operator.mod", "aten::remainder"},
                  {"_operator.truediv", "torch::true_div"},
                  {"_operator.pow", "aten::pow"},
                  {"_operator.neg", "aten::neg"},
                  {"_operator.eq", "aten::eq"},
                  {"_operator.ne", "aten::ne"},
                  {"_operator.lt", "aten::lt"},
                  {"_operator.le", "aten::le"},
                  {"_operator.gt", "aten::gt"},
                  {"_operator.ge", "aten::ge"},
                  {"_operator.and_", "aten::logical_and"},
                  {"_operator.or_", "aten::logical_or"},
                  {"torch.sym_max", "aten::maximum"},
                  {"torch.sym_min", "aten::minimum"},
                  {"torch.sym_not", "aten::logical_not"},
                  {"torch.sym_float", "torch::to_float"},
                  {"torch.sym_int", "torch::to_int"},
                  {"math.trunc", "torch::to_int"},
                  {"math.floor", "aten::floor"},
                  {"math.ceil", "aten::ceil"}};

static const char *python_op(const char *name) {
  for (size_t k = 0; k < sizeof python_ops / sizeof *python_ops; k++)
    if (!strcmp(python_ops[k].name, name)) return python_ops[k].op;
  return NULL;
}

/* What only says what holds. */
static bool is_assertion(const char *op) {
  static const char *const names[] = {"aten::_assert_scalar",
                                      "aten::_assert_async",
                                      "aten::_assert_tensor_metadata",
                                      "aten::sym_constrain_range",
                                      "aten::sym_constrain_range_for_size",
                                      "aten::_functional_assert_async",
                                      "aten::_functional_assert_scalar"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (!strcmp(op, names[k])) return true;
  return false;
}

/* ---- views ---- */

typedef enum view_kind {
  NO_VIEW,
  SAME,
  RESHAPED,
  TRANSPOSED,
  PERMUTED,
  SELECTED,
  SLICED,
  NARROWED,
  MOVED,
  DIAGONAL,
  PARTED,
  UNBOUND,
  ONE_WAY
} view_kind;

static const struct view_op {
  const char *op;
  view_kind kind;
} view_ops[] = {{"aten::detach", SAME},           {"aten::alias", SAME},
                {"aten::contiguous", SAME},       {"aten::to", SAME},
                {"aten::type_as", SAME},          {"aten::dropout", SAME},
                {"aten::view", RESHAPED},         {"aten::reshape", RESHAPED},
                {"aten::_unsafe_view", RESHAPED}, {"aten::flatten", RESHAPED},
                {"aten::unflatten", RESHAPED},    {"aten::squeeze", RESHAPED},
                {"aten::unsqueeze", RESHAPED},    {"aten::view_as", RESHAPED},
                {"aten::transpose", TRANSPOSED},  {"aten::t", TRANSPOSED},
                {"aten::swapaxes", TRANSPOSED},   {"aten::swapdims", TRANSPOSED},
                {"aten::numpy_T", TRANSPOSED},    {"aten::mT", TRANSPOSED},
                {"aten::adjoint", TRANSPOSED},    {"aten::reshape_as", RESHAPED},
                {"aten::ravel", RESHAPED},        {"aten::permute", PERMUTED},
                {"aten::select", SELECTED},       {"aten::slice", SLICED},
                {"aten::narrow", NARROWED},       {"aten::expand", ONE_WAY},
                {"aten::expand_as", ONE_WAY},     {"aten::broadcast_to", ONE_WAY},
                {"aten::split", PARTED},          {"aten::split_with_sizes", PARTED},
                {"aten::chunk", PARTED},          {"aten::tensor_split", PARTED},
                {"aten::unbind", UNBOUND},        {"aten::diagonal", DIAGONAL},
                {"aten::unfold", ONE_WAY},        {"aten::as_strided", ONE_WAY},
                {"aten::movedim", MOVED},         {"aten::moveaxis", MOVED}};

/* ---- is it a view at all? ---- */

static const json_value *meta_of(const pt2_scope *s, const char *name) {
  return json_object(json_object(s->graph, "tensor_values"), name);
}

/* The tensor that the first argument names; NULL: it is none. */
static const char *first_name(const json_value *node) {
  const json_value *inputs = json_list(node, "inputs");
  return inputs && inputs->first
             ? json_text(json_get(json_get(inputs->first, "arg"), "as_tensor"), "name")
             : NULL;
}

/* Row-major as far as sizes and strides are numbers. */
static bool is_contiguous(const json_value *meta) {
  int64_t size[TN_MAX_RANK], stride[TN_MAX_RANK], wanted = 1;
  const json_value *sizes = json_list(meta, "sizes"), *strides = json_list(meta, "strides");
  if (!sizes || !strides || sizes->n != strides->n || sizes->n > TN_MAX_RANK) return false;
  int32_t n = 0;
  const json_value *t = strides->first;
  for (const json_value *v = sizes->first; v; v = v->next, t = t->next, n++) {
    size[n] = json_int(v, "as_int", -1);
    stride[n] = json_int(t, "as_int", -1);
  }
  for (int32_t k = n - 1; k >= 0; k--) {
    if (size[k] != 1 && stride[k] >= 0 && wanted >= 0 && stride[k] != wanted) return false;
    if (size[k] < 0 || wanted < 0 || tn_mul_i64(wanted, size[k], &wanted)) wanted = -1;
  }
  return true;
}

/* contiguous() and reshape() copy what is not contiguous, to() what has another type. */
static bool may_copy(const pt2_scope *s, const char *op, const char *in, const char *out,
                     bool *unsure) {
  const json_value *from = meta_of(s, in), *to = meta_of(s, out);
  *unsure = false;
  if (!strcmp(op, "aten::to") || !strcmp(op, "aten::type_as"))
    return json_int(from, "dtype", -1) != json_int(to, "dtype", -1);
  const bool reshapes = !strcmp(op, "aten::reshape") || !strcmp(op, "aten::flatten") ||
                        !strcmp(op, "aten::reshape_as") || !strcmp(op, "aten::ravel");
  if (!reshapes && strcmp(op, "aten::contiguous") != 0) return false;
  if (is_contiguous(from)) return false;
  *unsure = reshapes;
  return !reshapes;
}

static view_kind view_of(const char *op) {
  for (size_t k = 0; k < sizeof view_ops / sizeof *view_ops; k++)
    if (!strcmp(op, view_ops[k].op)) return view_ops[k].kind;
  return NO_VIEW;
}

static tn_status emit(pt2_scope *s, const json_value *node, const target *t, aten_arg *args,
                      uint32_t n, int32_t *outs, uint32_t n_outs) {
  const aten_emitter e = pt2_emitter(s);
  const char *name = first_name(node);
  const tn_status status = pt2_as_it_lies(s, t->op, name ? meta_of(s, name) : NULL, args, n);
  return status ? status : aten_emit(&e, t->op, t->overload, args, n, outs, n_outs);
}

/* A value with a name, so that branches and loops can read it. */
static tn_status new_id(pt2_scope *s, const char *name, int32_t *out) {
  const char *fresh = pt2_fresh(s, name);
  *out = fresh ? s->r->api->value(s->g, fresh) : TN_ERR_MEMORY;
  return *out < 0 ? pt2_graph_fail(s->r, *out, "its output cannot be a value") : TN_OK;
}

static uint32_t count_outputs(const json_value *node) {
  const json_value *outputs = json_list(node, "outputs");
  const json_value *first = outputs && outputs->n == 1 ? json_union(outputs->first) : NULL;
  if (first && first->kind == JSON_LIST) return first->n;
  return outputs ? outputs->n : 0;
}

tn_status pt2_view_again(pt2_scope *s, const json_value *node, uint32_t output, int32_t base,
                         int32_t *out) {
  aten_arg args[MOST_ARGS];
  int32_t outs[MOST_OUTPUTS];
  target t;
  uint32_t n;
  if (!split_target(json_text(node, "target"), &t) || output >= MOST_OUTPUTS)
    return TN_ERR_INTERNAL;
  tn_status status = read_args(s, node, false, args, &n);
  if (status || !n) return status;
  args[0] = aten_value(args[0].name, base);
  const uint32_t n_outs = count_outputs(node) > output ? output + 1 : 1;
  for (uint32_t k = 0; k < n_outs && !status; k++) status = new_id(s, "view", &outs[k]);
  if (!status) status = emit(s, node, &t, args, n, outs, n_outs);
  *out = status ? TN_NO_ID : outs[output];
  return status;
}

/* permute's dims, and the permutation back. */
static tn_status permuted_back(pt2_scope *s, const aten_arg *dims, aten_arg *back,
                               aten_arg *items) {
  if (dims->kind != ATEN_LIST || dims->n_items > TN_MAX_RANK)
    return pt2_fail(s->r, TN_ERR_UNSUPPORTED, "not supported: this permutation");
  const int64_t rank = dims->n_items;
  for (int64_t k = 0; k < rank; k++) items[k] = aten_int(NULL, 0);
  for (int64_t k = 0; k < rank; k++) {
    const int64_t d = dims->items[k].i < 0 ? dims->items[k].i + rank : dims->items[k].i;
    if (d < 0 || d >= rank) return pt2_fail(s->r, TN_ERR_INVALID, "a dim is outside");
    items[d].i = k;
  }
  *back = (aten_arg){.name = "dims", .kind = ATEN_LIST, .items = items, .n_items = dims->n_items};
  return TN_OK;
}

static const aten_arg *arg_named(const aten_arg *args, uint32_t n, const char *name) {
  for (uint32_t k = 0; k < n; k++)
    if (args[k].name && !strcmp(args[k].name, name)) return &args[k];
  return NULL;
}

/* All parts again, with the one that was written in its place, together. */
static tn_status joined_back(pt2_scope *s, const json_value *node, const target *t, aten_arg *args,
                             uint32_t n, uint32_t output, int32_t id, int32_t *out) {
  int32_t parts[MOST_OUTPUTS];
  aten_arg items[MOST_OUTPUTS];
  const uint32_t n_parts = count_outputs(node);
  const aten_arg *dim = arg_named(args, n, "dim");
  if (n_parts > MOST_OUTPUTS || output >= n_parts)
    return pt2_fail(s->r, TN_ERR_UNSUPPORTED, "not supported: writing to one of so many parts");
  tn_status status = TN_OK;
  for (uint32_t k = 0; k < n_parts && !status; k++) status = new_id(s, "part", &parts[k]);
  if (!status) status = emit(s, node, t, args, n, parts, n_parts);
  parts[output] = id;
  for (uint32_t k = 0; k < n_parts; k++) items[k] = aten_value(NULL, parts[k]);
  const aten_arg joined[] = {
      {.name = "tensors", .kind = ATEN_LIST, .items = items, .n_items = n_parts},
      dim ? *dim : aten_int("dim", 0)};
  const aten_emitter e = pt2_emitter(s);
  const char *op = view_of(t->op) == UNBOUND ? "aten::stack" : "aten::cat";
  return status ? status : aten_emit(&e, op, NULL, joined, 2, out, 1);
}

static tn_status narrowed_back(pt2_scope *s, aten_arg *args, uint32_t n) {
  if (n != 4 || args[2].kind != ATEN_INT || args[3].kind != ATEN_INT || args[2].i < 0 ||
      args[2].i > INT32_MAX || args[3].i > INT32_MAX)
    return pt2_fail(s->r, TN_ERR_UNSUPPORTED, "not supported: writing to this narrow()");
  args[3] = aten_int("end", args[2].i + args[3].i);
  return TN_OK;
}

/* (self, src, ...) */
static tn_status scattered_back(pt2_scope *s, aten_arg *args, uint32_t *n, int32_t base,
                                int32_t id) {
  if (*n == MOST_ARGS) return pt2_fail(s->r, TN_ERR_INVALID, "a view has too many arguments");
  memmove(args + 2, args + 1, (*n - 1) * sizeof *args);
  args[0] = aten_value("self", base);
  args[1] = aten_value("src", id);
  ++*n;
  return TN_OK;
}

static void swap_places(aten_arg *a, aten_arg *b) {
  const aten_arg was = *a;
  *a = *b;
  a->name = was.name;
  const char *name = b->name;
  *b = was;
  b->name = name;
}

static const char *scatter_of(view_kind kind) {
  return kind == SELECTED   ? "aten::select_scatter"
         : kind == DIAGONAL ? "aten::diagonal_scatter"
                            : "aten::slice_scatter";
}

tn_status pt2_view_back(pt2_scope *s, const json_value *node, uint32_t output, int32_t base,
                        int32_t id, int32_t *out) {
  aten_arg args[MOST_ARGS], items[TN_MAX_RANK];
  target t;
  uint32_t n;
  if (!split_target(json_text(node, "target"), &t)) return TN_ERR_INTERNAL;
  tn_status status = read_args(s, node, false, args, &n);
  if (!status) status = new_id(s, "written", out);
  if (status || !n) return status;
  const view_kind kind = view_of(t.op);
  const char *op = t.op;
  args[0] = aten_value("self", kind == PARTED || kind == UNBOUND ? base : id);
  switch (kind) {
    case PARTED:
    case UNBOUND: return joined_back(s, node, &t, args, n, output, id, out);
    case MOVED:
      if (n > 2) swap_places(&args[1], &args[2]);
      break;
    case SAME: op = "aten::alias", n = 1; break;
    case RESHAPED:
      op = "aten::view_as";
      args[1] = aten_value("other", base);
      n = 2;
      break;
    case TRANSPOSED: break;
    case PERMUTED:
      if (n > 1) status = permuted_back(s, &args[1], &args[1], items);
      break;
    case SELECTED:
    case SLICED:
    case NARROWED:
    case DIAGONAL:
      if (kind == NARROWED) status = narrowed_back(s, args, n);
      if (!status) status = scattered_back(s, args, &n, base, id);
      op = scatter_of(kind);
      break;
    default:
      return pt2_fail(s->r, TN_ERR_UNSUPPORTED, "not supported: it is written through a view (%s)",
                      t.op);
  }
  const aten_emitter e = pt2_emitter(s);
  return status ? status
                : aten_emit(&e, op, kind == TRANSPOSED || kind == MOVED ? t.overload : NULL, args,
                            n, out, 1);
}

/* ---- outputs ---- */

static tn_status name_of_output(pt2_scope *s, const json_value *v, const char **out) {
  *out = "";
  if (json_is(v, "as_none") || !v) return TN_OK;
  *out = json_text(v, "name");
  if (!*out) *out = json_text(v, "as_name");
  if (!*out && json_union(v)) return name_of_output(s, json_union(v), out);
  if (!*out) *out = "";
  return TN_OK;
}

tn_status pt2_outputs(pt2_scope *s, const json_value *node, const char **out, uint32_t most,
                      uint32_t *out_n) {
  const json_value *outputs = json_list(node, "outputs");
  tn_status status = TN_OK;
  *out_n = 0;
  for (const json_value *o = outputs ? outputs->first : NULL; o && !status; o = o->next) {
    const json_value *v = json_union(o);
    const json_value *item = v && v->kind == JSON_LIST ? v->first : v;
    for (; item && !status; item = v && v->kind == JSON_LIST ? item->next : NULL) {
      if (*out_n == most)
        return pt2_fail(s->r, TN_ERR_UNSUPPORTED, "it has more than %u outputs", most);
      const json_value *inner = json_union(item);
      const bool wrapped = inner && inner->kind == JSON_OBJECT;
      status = name_of_output(s, wrapped ? inner : item, &out[(*out_n)++]);
    }
  }
  return status;
}

/* Outputs at the end that nobody reads are not made. */
static uint32_t wanted(pt2_scope *s, const char *const *names, uint32_t n) {
  while (n > 1 && (!*names[n - 1] || !tn_map_get(&s->used, names[n - 1], 0))) n--;
  return n;
}

/* ---- a node ---- */

static tn_status run_python(pt2_scope *s, const json_value *node, const char *op) {
  aten_arg args[MOST_ARGS];
  const char *names[1];
  int32_t id;
  uint32_t n, n_out;
  target t = {.overload = ""};
  tn_status status = read_args(s, node, true, args, &n);
  if (!status) status = pt2_outputs(s, node, names, 1, &n_out);
  if (status || n_out != 1 || !*names[0]) return status;
  snprintf(t.op, sizeof t.op, "%s", op);
  if (!status) status = new_id(s, names[0], &id);
  const aten_emitter e = pt2_emitter(s);
  if (!status) status = aten_emit(&e, t.op, NULL, args, n, &id, 1);
  return status ? status : pt2_define(s, names[0], id, NULL);
}

/* The variable that the first argument names. */
static int32_t first_var(pt2_scope *s, const json_value *node) {
  const char *name = first_name(node);
  if (name) return pt2_find(s, name);
  return pt2_fail(s->r, TN_ERR_INVALID, "its first argument is no tensor");
}

/* add_(x, y): what x stands for from here on, and its output is x. */
static tn_status run_write(pt2_scope *s, const json_value *node, const target *t) {
  aten_arg args[MOST_ARGS];
  const char *names[1] = {""};
  int32_t id;
  uint32_t n, n_out = 0;
  const int32_t var = first_var(s, node);
  if (var < 0) return var;
  if (!strcmp(t->op, "aten::as_strided_"))
    return pt2_fail(s->r, TN_ERR_UNSUPPORTED, "not supported: aten::as_strided_");
  tn_status status = read_args(s, node, false, args, &n);
  if (!status) status = pt2_outputs(s, node, names, 1, &n_out);
  if (!status) status = new_id(s, s->vars.data[var].name, &id);
  if (!status) status = emit(s, node, t, args, n, &id, 1);
  if (!status) status = pt2_write(s, var, id);
  if (!status && *names[0] && tn_map_set(&s->names, names[0], var)) status = pt2_no_memory(s->r);
  return status;
}

static tn_status run_plain(pt2_scope *s, const json_value *node, const target *t) {
  aten_arg args[MOST_ARGS];
  const char *names[MOST_OUTPUTS];
  int32_t ids[MOST_OUTPUTS];
  uint32_t n, n_out;
  tn_status status = read_args(s, node, false, args, &n);
  if (!status) status = pt2_outputs(s, node, names, MOST_OUTPUTS, &n_out);
  if (status) return status;
  n_out = wanted(s, names, n_out);
  for (uint32_t k = 0; k < n_out && !status; k++)
    status = new_id(s, *names[k] ? names[k] : "unused", &ids[k]);
  if (!status) status = emit(s, node, t, args, n, ids, n_out);
  bool unsure = false;
  const int32_t base = !status && view_of(t->op) != NO_VIEW ? first_var(s, node) : -1;
  const bool copies =
      base >= 0 && n_out && may_copy(s, t->op, s->vars.data[base].name, names[0], &unsure);
  for (uint32_t k = 0; k < n_out && !status; k++) {
    int32_t var;
    if (!*names[k]) continue;
    status = pt2_define(s, names[k], ids[k], &var);
    if (!status && base >= 0 && !copies) status = pt2_is_view(s, var, base, node, k);
    if (!status && base >= 0) s->vars.data[var].is_unsure = unsure;
  }
  return base < -1 ? base : status;
}

static tn_status run_node(pt2_scope *s, const json_value *node) {
  const char *text = json_text(node, "target");
  target t;
  if (!text) return pt2_fail(s->r, TN_ERR_INVALID, "a node has no target");
  if (python_op(text)) return run_python(s, node, python_op(text));
  const tn_status higher = pt2_higher(s, node, text);
  if (higher != TN_ERR_NOT_FOUND) return higher;
  if (!split_target(text, &t))
    return pt2_fail(s->r, TN_ERR_UNSUPPORTED, "not supported: calls of %.100s", text);
  if (is_assertion(t.op)) return TN_OK;
  const char *augmented = aten_of_augmented(t.op);
  if (augmented) {
    snprintf(t.op, sizeof t.op, "%s", augmented);
    return run_write(s, node, &t);
  }
  const size_t n = strlen(t.op);
  if (n > 8 && t.op[n - 1] == '_' && t.op[n - 2] != '_') return run_write(s, node, &t);
  return run_plain(s, node, &t);
}

tn_status pt2_run_nodes(pt2_scope *s, const json_value *graph) {
  const json_value *nodes = json_list(graph, "nodes");
  tn_status status = TN_OK;
  for (const json_value *n = nodes ? nodes->first : NULL; n && !status; n = n->next) {
    const char *name = json_text(n, "name"), *names[MOST_OUTPUTS];
    uint32_t n_out = 0;
    s->r->node_at = n->at;
    if (!s->r->room--) {
      s->r->room = 0;
      return pt2_fail(s->r, TN_ERR_OVERFLOW, "graphs inside of graphs make too many nodes");
    }
    if (!name && !pt2_outputs(s, n, names, MOST_OUTPUTS, &n_out) && n_out) name = names[0];
    s->r->node = name ? name : json_text(n, "target");
    status = run_node(s, n);
  }
  if (!status) s->r->node = NULL;
  return status;
}
