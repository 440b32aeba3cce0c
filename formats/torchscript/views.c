/* Operators whose results are the memory of their argument, and those that write to it. */
#include "reader.h"

static bool is_tensor(const ts_args *args) { return args->n && args->v[0]->kind == TS_V_TENSOR; }

static bool has_keys(const ts_args *args) {
  for (int32_t k = 0; k < args->n; k++)
    if (args->keys[k]) return true;
  return false;
}

/* ---- views ---- */

static bool is_quantised(ts_reader *r, const ts_args *args) {
  const ts_value *content = ts_content(r, args->v[0]);
  return content && content->kind == TS_V_QUANT;
}

static bool view(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (!is_tensor(args)) return true;
  if (is_quantised(r, args) || r->status) return !r->status;
  if (!has_keys(args))
    return (*out = ts_view(r, args->v[0], name, args->v + 1, args->n - 1)) != NULL;
  *out = ts_emit(r, name, args);
  return *out && ts_may_alias(r, args->v[0], *out);
}

static bool strided(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (!is_tensor(args)) return true;
  if (is_quantised(r, args) || r->status) return !r->status;
  ts_args whole = *args;
  whole.v[0] = ts_memory_of(r, name, args->v[0], ts_arg(args, 3, "storage_offset") != NULL);
  if (!whole.v[0] || strcmp(name, "aten::as_strided") != 0)
    return whole.v[0] && (*out = ts_emit(r, name, &whole)); /* a copy */
  return view(r, name, &whole, out);
}

static bool narrow(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (!is_tensor(args) || args->n != 4 || !ts_is_number(args->v[2])) return true;
  ts_value *end = ts_scalar_op(r, "add", args->v[2], args->v[3]);
  ts_value *list[] = {args->v[1], args->v[2], end, ts_int(r, 1)};
  return end && (*out = ts_view(r, args->v[0], "aten::slice", list, 4));
}

static bool same(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)r;
  (void)name;
  return is_tensor(args) && (*out = args->v[0]);
}

/* A tensor of the same elements, which may be the same memory. */
static bool maybe_same(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (!is_tensor(args)) return true;
  ts_value *content = ts_content(r, args->v[0]);
  if (!content) return false;
  if (content->kind == TS_V_QUANT) return (*out = args->v[0]) != NULL;
  *out = ts_tensor(r, ts_read_tensor(r, args->v[0]));
  if (*out) ts_note_contiguous(args, *out);
  return *out && ts_may_alias(r, args->v[0], *out);
}

/* The same, and a node computes it. */
static bool maybe_view(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (!is_tensor(args)) return true;
  if (is_quantised(r, args) || r->status) return !r->status;
  *out = ts_emit(r, name, args);
  return *out && ts_may_alias(r, args->v[0], *out);
}

static bool dropout(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  const ts_value *train = ts_arg(args, 2, "train");
  if (!is_tensor(args) || !train) return false;
  if (!train->known || train->i)
    return ts_null(r, "not supported: %s of a module in training: call eval() before it is saved",
                   name),
           false;
  *out = args->v[0];
  return true;
}

/* ---- in place ---- */

/* x.transpose_() is another view of the same memory, in the same variable. */
static bool change_view(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (!is_tensor(args)) return false;
  const char *plain = ts_format(r, "%.*s", (int)strlen(name) - 1, name);
  ts_value *made = plain ? ts_view(r, args->v[0], plain, args->v + 1, args->n - 1) : NULL;
  if (!made || !ts_set(r, args->v[0]->cell, made->cell->v)) return false;
  return (*out = args->v[0]) != NULL;
}

static bool write_like(ts_reader *r, ts_value *tensor, ts_ssa x) {
  const ts_ssa old = ts_read_tensor(r, tensor), in[] = {x, old};
  if (r->status) return false;
  const ts_ssa shaped[] = {ts_op(r, "CastLike", in, 2), ts_op(r, "Shape", &old, 1)};
  return !r->status && ts_write_tensor(r, tensor, ts_op(r, "Expand", shaped, 2));
}

static bool copy(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)name;
  if (!is_tensor(args) || args->n < 2 || args->v[1]->kind != TS_V_TENSOR) return false;
  *out = args->v[0];
  const ts_value *content = ts_content(r, args->v[1]);
  if (content && content->kind == TS_V_QUANT)
    return ts_write_content(r, args->v[0], ts_content(r, args->v[1]));
  return write_like(r, args->v[0], ts_read_tensor(r, args->v[1]));
}

static bool fill(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (!is_tensor(args)) return false;
  ts_value *v = !strcmp(name, "aten::zero_") ? ts_int(r, 0) : ts_arg(args, 1, "value");
  if (!v) return false;
  const ts_ssa x = v->kind == TS_V_TENSOR ? ts_read_tensor(r, v) : ts_scalar(r, v);
  *out = args->v[0];
  return write_like(r, args->v[0], x);
}

static bool refuse(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  (void)args;
  (void)out;
  ts_null(r, "not supported: %s", name);
  return false;
}

const ts_builtin_row ts_view_builtins[] = {
    {"aten::select", view},
    {"aten::slice", view},
    {"aten::transpose", view},
    {"aten::t", view},
    {"aten::permute", view},
    {"aten::unsqueeze", view},
    {"aten::squeeze", view},
    {"aten::view", view},
    {"aten::view_as", view},
    {"aten::expand", view},
    {"aten::expand_as", view},
    {"aten::diagonal", view},
    {"aten::movedim", view},
    {"aten::moveaxis", view},
    {"aten::swapaxes", view},
    {"aten::swapdims", view},
    {"aten::numpy_T", view},
    {"aten::mT", view},
    {"aten::adjoint", view},
    {"aten::unfold", view},
    {"aten::as_strided", strided},
    {"aten::as_strided_copy", strided},
    {"aten::broadcast_to", view},
    {"aten::narrow", narrow},
    {"aten::detach", same},
    {"aten::alias", same},
    {"aten::cpu", same},
    {"aten::cuda", same},
    {"aten::requires_grad_", same},
    {"aten::detach_", same},
    {"prim::data", same},
    {"aten::resolve_conj", same},
    {"aten::resolve_neg", same},
    {"aten::contiguous", maybe_same},
    {"aten::reshape", maybe_view},
    {"aten::flatten", maybe_view},
    {"aten::unflatten", maybe_view},
    {"aten::reshape_as", maybe_view},
    {"aten::ravel", maybe_view},
    {"aten::atleast_1d", maybe_view},
    {"aten::atleast_2d", maybe_view},
    {"aten::atleast_3d", maybe_view},
    {"aten::dropout", dropout},
    {"aten::feature_dropout", dropout},
    {"aten::alpha_dropout", dropout},
    {"aten::dropout_", dropout},
    {"aten::feature_dropout_", dropout},
    {"aten::alpha_dropout_", dropout},
    {"aten::feature_alpha_dropout", dropout},
    {"aten::transpose_", change_view},
    {"aten::t_", change_view},
    {"aten::unsqueeze_", change_view},
    {"aten::squeeze_", change_view},
    {"aten::copy_", copy},
    {"aten::fill_", fill},
    {"aten::zero_", fill},
    {"aten::set_", refuse},
    {"aten::resize_", refuse},
    {"aten::resize_as_", refuse},
    {"aten::as_strided_", refuse},
    {NULL, NULL},
};
