/* What a program asks of a tensor: sizes, dtype, device; tensors of numbers, and casts. */
#include "reader.h"
#include "torch/aten.h"

static const ts_ssa none = {NULL, TN_NO_ID};

static bool is_tensor(const ts_args *args) { return args->n && args->v[0]->kind == TS_V_TENSOR; }

/* What tells shape and dtype of a tensor; of a quantised one its codes do. */
static ts_ssa shape_source(ts_reader *r, ts_value *tensor) {
  const ts_value *content = ts_content(r, tensor);
  if (!content) return none;
  return content->kind == TS_V_QUANT ? content->ssa : ts_read_tensor(r, tensor);
}

/* ---- sizes ---- */

static bool size(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (!is_tensor(args)) return false;
  const ts_ssa x = shape_source(r, args->v[0]);
  const ts_ssa shape = x.id < 0 ? x : ts_op(r, "Shape", &x, 1);
  if (shape.id < 0) return false;
  ts_value *dim = ts_arg(args, 1, "dim");
  if (!dim) {
    ts_value *v = ts_ssa_value(r, TS_V_ARRAY, shape);
    if (v) v->element = TS_V_INT;
    return (*out = ts_container(r, TS_V_LIST, v)) != NULL;
  }
  const ts_ssa in[] = {shape, ts_scalar(r, dim)};
  if (r->status) return false;
  return (*out = ts_ssa_value(r, TS_V_INT, ts_op_int(r, "Gather", in, 2, "axis", 0))) != NULL;
}

static bool rank(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (!is_tensor(args)) return false;
  const ts_ssa x = shape_source(r, args->v[0]);
  const ts_ssa shape = x.id < 0 ? x : ts_op(r, "Shape", &x, 1);
  return shape.id >= 0 && (*out = ts_ssa_value(r, TS_V_INT, ts_op(r, "Size", &shape, 1)));
}

static bool numel(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (!is_tensor(args)) return false;
  const ts_ssa x = shape_source(r, args->v[0]);
  return x.id >= 0 && (*out = ts_ssa_value(r, TS_V_INT, ts_op(r, "Size", &x, 1)));
}

/* ---- dtypes ---- */

static bool dtype(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (!is_tensor(args)) return false;
  return (*out = ts_ssa_value(r, TS_V_DTYPE, shape_source(r, args->v[0]))) != NULL;
}

ts_value *ts_dtype_number(ts_reader *r, ts_value *v) {
  ts_ssa out;
  if (v->kind != TS_V_DTYPE) return v;
  if (!ts_node_add(r, "torch", "DtypeNumber", &v->ssa, 1, NULL, 0, &out, 1)) return NULL;
  return ts_ssa_value(r, TS_V_INT, out);
}

static bool is_kind_of(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  static const int64_t floats[] = {5, 6, 7, 15}, complexes[] = {8, 9, 10};
  if (!is_tensor(args)) return false;
  const bool wants_float = !strcmp(name, "aten::is_floating_point");
  const int64_t *numbers = wants_float ? floats : complexes;
  ts_value *t = ts_ssa_value(r, TS_V_DTYPE, shape_source(r, args->v[0])),
           *number = t ? ts_dtype_number(r, t) : NULL, *found = ts_bool(r, false);
  for (int k = 0; number && found && k < (wants_float ? 4 : 3); k++) {
    ts_value *same = ts_scalar_op(r, "eq", number, ts_int(r, numbers[k]));
    found = !same ? NULL : found->known ? same : ts_scalar_op(r, "__or__", found, same);
  }
  return number && (*out = found);
}

ts_value *ts_to_dtype(ts_reader *r, ts_value *tensor, ts_value *type) {
  const ts_ssa x = ts_read_tensor(r, tensor), in[] = {x, type->ssa};
  if (x.id < 0) return NULL;
  if (type->kind == TS_V_DTYPE) return ts_tensor(r, ts_op(r, "CastLike", in, 2));
  const uint32_t to = type->known ? aten_dtype_numbered(type->i) : TN_NONE;
  if (to == TN_NONE) return ts_null(r, "not supported: dtype %lld", (long long)type->i);
  return ts_tensor(r, ts_cast(r, x, to));
}

/* to(x, dtype), to(x, device, dtype), to(x, other) */
static bool to(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (!is_tensor(args)) return false;
  ts_value *first = ts_arg(args, 1, "dtype"), *second = ts_arg(args, 2, NULL);
  ts_value *other = ts_arg(args, 1, "other");
  *out = args->v[0];
  if (other && other->kind == TS_V_TENSOR) {
    const ts_ssa in[] = {ts_read_tensor(r, args->v[0]), ts_read_tensor(r, other)};
    *out = r->status ? NULL : ts_tensor(r, ts_op(r, "CastLike", in, 2));
    return *out && ts_may_alias(r, args->v[0], *out);
  }
  ts_value *type = first && (first->kind == TS_V_INT || first->kind == TS_V_DTYPE) ? first : second;
  if (!type || (type->kind != TS_V_INT && type->kind != TS_V_DTYPE))
    type = ts_arg(args, 99, "dtype");
  if (!type) return true;
  *out = ts_to_dtype(r, args->v[0], type);
  return *out && ts_may_alias(r, args->v[0], *out);
}

static bool cast_by_name(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  static const struct {
    const char *name;
    int64_t number;
  } rows[] = {{"Byte", 0}, {"Char", 1}, {"Short", 2}, {"Int", 3},
              {"Long", 4}, {"Half", 5}, {"Float", 6}, {"Double", 7}};
  if (!is_tensor(args)) return false;
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
    if (!strcmp(name + strlen("aten::_cast_"), rows[k].name))
      *out = ts_to_dtype(r, args->v[0], ts_int(r, rows[k].number));
  return *out != NULL;
}

static bool type_as(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  return args->n == 2 && args->v[1]->kind == TS_V_TENSOR && to(r, name, args, out);
}

/* ---- devices ---- */

static bool device(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  return is_tensor(args) && (*out = ts_str(r, "cpu"));
}

static bool layout(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  return is_tensor(args) && (*out = ts_int(r, 0));
}

static bool no(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  (void)args;
  return (*out = ts_bool(r, false)) != NULL;
}

/* ---- tensors of numbers ---- */

static void note_kind(const ts_value *v, ts_value_kind *kind) {
  if (v->kind > *kind && v->kind <= TS_V_FLOAT) *kind = v->kind;
}

/* Numbers of nested lists as a tensor: of f64, i64 or bool. */
static ts_ssa tensor_of(ts_reader *r, ts_value *v, ts_value_kind *kind, int depth) {
  if (depth > 8) return ts_null(r, "lists are nested too deep"), none;
  if (v->kind == TS_V_TENSOR) return ts_read_tensor(r, v);
  if (ts_is_number(v)) {
    note_kind(v, kind);
    const ts_value *same = v->kind == TS_V_FLOAT ? v : NULL;
    return ts_scalar(r, same ? same : v);
  }
  ts_value *items = ts_known_items(r, v);
  if (!items && !r->status) {
    *kind = v->kind == TS_V_LIST ? v->cell->v->element : *kind;
    return ts_array(r, v);
  }
  if (!items) return none;
  if (!items->n || ts_is_number(items->items[0])) {
    for (int32_t k = 0; k < items->n; k++) note_kind(items->items[k], kind);
    return ts_array(r, v);
  }
  ts_ssa *rows = ts_alloc(r, (uint64_t)items->n * sizeof *rows);
  const ts_ssa zero = ts_const_ints(r, (const int64_t[]){0}, 1);
  for (int32_t k = 0; rows && k < items->n; k++) {
    const ts_ssa in[] = {tensor_of(r, items->items[k], kind, depth + 1), zero};
    rows[k] = r->status ? none : ts_op(r, "Unsqueeze", in, 2);
  }
  return r->status ? none : ts_op_int(r, "Concat", rows, (uint32_t)items->n, "axis", 0);
}

static bool tensor(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (!args->n) return false;
  if (is_tensor(args) && !strcmp(name, "aten::as_tensor")) return to(r, "aten::to", args, out);
  ts_value_kind kind = TS_V_BOOL;
  const ts_ssa x = tensor_of(r, args->v[0], &kind, 0);
  const ts_value *items = args->v[0]->kind == TS_V_LIST ? ts_known_items(r, args->v[0]) : NULL;
  if (x.id < 0 || r->status) return false;
  if (items && !items->n) kind = TS_V_FLOAT; /* PyTorch makes [] a tensor of floats */
  ts_value *made = ts_tensor(r, x), *type = ts_arg(args, 1, "dtype");
  if (!made) return false;
  if (type) return (*out = ts_to_dtype(r, made, type)) != NULL;
  const bool is_number = args->v[0]->kind != TS_V_TENSOR;
  const uint32_t to_type = kind == TS_V_FLOAT ? TN_F32 : kind == TS_V_BOOL ? TN_BOOL : TN_I64;
  return (*out = is_number ? ts_tensor(r, ts_cast(r, x, to_type)) : made) != NULL;
}

/* A number as a tensor: a float as f64. */
static bool num_to_tensor(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (args->n != 1 || !ts_is_number(args->v[0])) return false;
  const ts_ssa x = ts_scalar(r, args->v[0]);
  return !r->status && (*out = ts_tensor(r, x));
}

/* The one element, which is int or float as the tensor is: a tensor of rank 0 stands for it. */
static bool item(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (!is_tensor(args)) return false;
  const ts_ssa in[] = {ts_read_tensor(r, args->v[0]), ts_const_ints(r, NULL, 0)};
  return !r->status && (*out = ts_tensor(r, ts_op_int(r, "Reshape", in, 2, "allowzero", 1)));
}

/* ---- operators that meant something else in old archives ---- */

/* Whether the archive is older than the version in which the operator changed. */
static bool is_before(ts_reader *r, const char *name, const ts_args *args, int64_t version) {
  if (r->version >= version) return false;
  for (int32_t k = 0; k < args->n; k++)
    if (args->keys[k] && !strcmp(args->keys[k], "out"))
      return ts_null(r, "not supported: %s with out= in an archive of version %lld (before %lld)",
                     name, (long long)r->version, (long long)version),
             false;
  return true;
}

/* As the type that both have in common. */
static ts_ssa as_common(ts_reader *r, ts_value *v, ts_value *common) {
  const ts_ssa x = v->kind == TS_V_TENSOR ? ts_read_tensor(r, v) : ts_scalar(r, v);
  const ts_ssa in[] = {x, r->status ? none : ts_read_tensor(r, common)};
  return r->status ? none : ts_op(r, "CastLike", in, 2);
}

/* Before version 4 the quotient of integers was cut off. ONNX's Div does that, and divides floats
 * as they are. Of the sum only the type is used. */
static bool old_div(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (!is_before(r, name, args, 4)) return !r->status;
  if (!is_tensor(args) || args->n != 2 || args->v[1]->kind == TS_V_FLOAT) return true;
  ts_value *common = ts_emit(r, "aten::add", args);
  if (!common) return false;
  const ts_ssa in[] = {as_common(r, args->v[0], common), as_common(r, args->v[1], common)};
  return !r->status && (*out = ts_tensor(r, ts_op(r, "Div", in, 2)));
}

/* Before version 5 the result was of floats, unless a dtype was given. */
static bool old_full(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (!is_before(r, name, args, 5)) return !r->status;
  if (ts_arg(args, 2, "dtype")) return true;
  const ts_value *fill = ts_arg(args, 1, "fill_value");
  ts_args upgraded = *args;
  for (int32_t k = 0; k < args->n; k++)
    if (args->v[k] == fill && ts_is_number(fill)) upgraded.v[k] = ts_to_float(r, args->v[k]);
  return !r->status && (*out = ts_emit(r, name, &upgraded));
}

/* Before version 8 there were 100 steps, unless it was said how many. */
static bool old_linspace(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (!is_before(r, name, args, 8)) return !r->status;
  if (args->n < 2 || args->n == TS_MAX_ARGS || ts_arg(args, 2, "steps")) return true;
  ts_args upgraded = {.v = {args->v[0], args->v[1], ts_int(r, 100)}, .n = 3};
  for (int32_t k = 2; k < args->n; k++) {
    if (!args->keys[k] || !strcmp(args->keys[k], "steps")) continue;
    upgraded.v[upgraded.n] = args->v[k];
    upgraded.keys[upgraded.n++] = args->keys[k];
  }
  return !r->status && (*out = ts_emit(r, name, &upgraded));
}

const ts_builtin_row ts_tensor_builtins[] = {
    {"aten::size", size},
    {"prim::shape", size},
    {"aten::dim", rank},
    {"prim::ndim", rank},
    {"aten::ndimension", rank},
    {"aten::numel", numel},
    {"prim::dtype", dtype},
    {"aten::is_floating_point", is_kind_of},
    {"aten::is_complex", is_kind_of},
    {"aten::to", to},
    {"aten::type_as", type_as},
    {"aten::_cast_Byte", cast_by_name},
    {"aten::_cast_Char", cast_by_name},
    {"aten::_cast_Short", cast_by_name},
    {"aten::_cast_Int", cast_by_name},
    {"aten::_cast_Long", cast_by_name},
    {"aten::_cast_Half", cast_by_name},
    {"aten::_cast_Float", cast_by_name},
    {"aten::_cast_Double", cast_by_name},
    {"prim::device", device},
    {"prim::layout", layout},
    {"prim::is_cuda", no},
    {"prim::is_xla", no},
    {"prim::is_sparse", no},
    {"prim::is_mkldnn", no},
    {"prim::is_mps", no},
    {"prim::is_meta", no},
    {"prim::is_nested", no},
    {"prim::requires_grad", no},
    {"aten::requires_grad", no},
    {"aten::tensor", tensor},
    {"aten::as_tensor", tensor},
    {"prim::NumToTensor", num_to_tensor},
    {"aten::scalar_tensor", tensor},
    {"aten::item", item},
    {"aten::ScalarImplicit", item},
    {"aten::div", old_div},
    {"aten::full", old_full},
    {"aten::linspace", old_linspace},
    {NULL, NULL},
};
