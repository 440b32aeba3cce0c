/* Operators on tensors become nodes of aten, by the table of formats/torch. */
#include <stdio.h>

#include "reader.h"
#include "torch/aten.h"

static const ts_ssa none = {NULL, TN_NO_ID};

/* ---- arguments ---- */

/* n: the length of lists whose length only a run knows; 0: not known here, either. */
static bool to_arg(ts_reader *r, ts_value *v, int32_t n, aten_arg *out);

static bool to_list(ts_reader *r, const ts_value *items, aten_arg *out) {
  aten_arg *list = ts_alloc(r, ((uint64_t)items->n + 1) * sizeof *list);
  for (int32_t k = 0; list && k < items->n; k++)
    if (!to_arg(r, items->items[k], 0, &list[k])) return false;
  out->kind = ATEN_LIST;
  out->items = list;
  out->n_items = (uint32_t)items->n;
  return list != NULL;
}

static bool to_value(ts_reader *r, ts_ssa ssa, aten_arg *out) {
  out->kind = ATEN_TENSOR;
  out->value = ts_use(r, ssa);
  return out->value >= 0;
}

static bool to_number(ts_reader *r, const ts_value *v, aten_arg *out) {
  if (v->kind == TS_V_DTYPE) return ts_null(r, "not supported: this dtype as an argument"), false;
  if (!v->known) return to_value(r, v->ssa, out);
  out->kind = v->kind == TS_V_BOOL ? ATEN_BOOL : v->kind == TS_V_INT ? ATEN_INT : ATEN_FLOAT;
  out->i = v->i;
  out->f = v->f;
  return true;
}

static bool to_arg_of_kind(ts_reader *r, ts_value *v, int32_t n, aten_arg *out) {
  if (ts_is_number(v)) return to_number(r, v, out);
  switch (v->kind) {
    case TS_V_NONE: return out->kind = ATEN_NONE, true;
    case TS_V_STR:
      out->kind = ATEN_STRING;
      out->s = (tn_str){v->text, (int64_t)strlen(v->text)};
      return true;
    case TS_V_TENSOR: return to_value(r, ts_read_tensor(r, v), out);
    case TS_V_TUPLE: return to_list(r, v, out);
    case TS_V_LIST: {
      ts_value *items = ts_known_items(r, v);
      if (!items && !r->status && n && v->cell->v->kind == TS_V_ARRAY) items = ts_unpack(r, v, n);
      if (items) return to_list(r, items, out);
      if (!r->status) ts_null(r, "not supported: a list here whose length only a run knows");
      return false;
    }
    default: return ts_null(r, "not supported: %s as an argument", ts_kind_text(v)), false;
  }
}

static bool to_arg(ts_reader *r, ts_value *v, int32_t n, aten_arg *out) {
  *out = (aten_arg){.name = NULL};
  if (!ts_usable(r, v) || !ts_deeper(r)) return false;
  const bool ok = to_arg_of_kind(r, v, n, out);
  r->depth--;
  return ok;
}

/* Of operators for pictures of so many dims, lists have so many numbers. */
static int32_t n_dims_of(const char *name) {
  return strstr(name, "1d") ? 1 : strstr(name, "2d") ? 2 : strstr(name, "3d") ? 3 : 0;
}

/* ---- results ---- */

static tn_status on_fail(void *ctx, tn_status code, const char *text) {
  return ts_fail(ctx, code, "%s", text);
}

static ts_value *result_of(ts_reader *r, const ts_ssa *made, int32_t n) {
  ts_value *items[16];
  for (int32_t k = 0; k < n; k++) {
    items[k] = ts_tensor(r, made[k]);
    if (!items[k]) return NULL;
  }
  return n == 1 ? items[0] : ts_tuple(r, items, n);
}

/* An int or float that only a run knows, where a Scalar is wanted: a float decides less about the
 * type of the result than a tensor would. */
static const char *overload_of(const ts_args *args) {
  return args->n > 1 && args->v[1]->kind == TS_V_FLOAT && !args->v[1]->known ? "Scalar" : NULL;
}

/* x + 2 of a traced program is add(x, CONSTANTS.c0), a tensor without dims. PyTorch takes it for a
 * number again when it runs sums, products and quotients, which decides about their type. */
static const ts_value *wrapped_number(ts_reader *r, const char *name, const ts_args *args) {
  static const char *const names[] = {"aten::add", "aten::sub", "aten::mul", "aten::div"};
  const bool is_tensor = args->n > 1 && args->v[0]->kind == TS_V_TENSOR;
  if (!is_tensor || args->v[1]->kind != TS_V_TENSOR || args->keys[1]) return NULL;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (!strcmp(name, names[k])) return ts_constant_number(r, args->v[1]);
  return NULL;
}

/* n_out 0: as many as the operator makes. */
static ts_value *emit(ts_reader *r, const char *name, const ts_args *args, int32_t n_out) {
  aten_arg list[TS_MAX_ARGS];
  ts_ssa made[16];
  int32_t outs[16];
  if (!ts_node_room(r)) return NULL;
  for (int32_t k = 0; k < args->n; k++) {
    if (!to_arg(r, args->v[k], n_dims_of(name), &list[k])) return NULL;
    list[k].name = args->keys[k];
  }
  const ts_value *number = wrapped_number(r, name, args);
  if (r->status || (number && !to_number(r, number, &list[1]))) return NULL;
  if (!n_out) n_out = aten_n_results(name, overload_of(args), list, (uint32_t)args->n);
  if (!n_out)
    return ts_null(r, "not supported: %s, of whose results only a run knows how many", name);
  if (n_out > 16) n_out = 16;
  const char *colons = strstr(name, "::");
  for (int32_t k = 0; k < n_out; k++) {
    made[k] = ts_ssa_new(r, colons ? colons + 2 : name);
    outs[k] = made[k].id;
  }
  const aten_emitter e = {.api = r->api,
                          .graph = r->scope->g,
                          .arena = &r->arena,
                          .fail = on_fail,
                          .ctx = r,
                          .node = ts_node_name(r),
                          .offset = -1};
  if (r->status) return NULL;
  const tn_status s =
      aten_emit(&e, name, overload_of(args), list, (uint32_t)args->n, outs, (uint32_t)n_out);
  if (s && !r->status) ts_fail(r, s, "%s cannot be a node", name);
  return s ? NULL : result_of(r, made, n_out);
}

/* dtype= of another tensor: what is made, or what it is made of, is cast to that. */
static ts_value *with_dtype(ts_reader *r, const char *name, const ts_args *args, int32_t dtype) {
  ts_args rest = *args;
  const ts_value *like = args->v[dtype];
  rest.v[dtype] = ts_none(r);
  const bool is_made = !args->n || args->v[0]->kind != TS_V_TENSOR;
  ts_value *from = is_made ? ts_emit(r, name, &rest) : args->v[0];
  if (!from) return NULL;
  const ts_ssa in[] = {ts_read_tensor(r, from), like->ssa};
  ts_value *cast = ts_tensor(r, ts_op(r, "CastLike", in, 2));
  if (!cast || is_made) return cast;
  rest.v[0] = cast;
  return ts_emit(r, name, &rest);
}

/* ---- shapes whose length only a run knows ---- */

static ts_ssa filled(ts_reader *r, ts_ssa shape, ts_value *number) {
  const ts_ssa x = ts_scalar(r, number), narrow = r->status ? none : ts_cast(r, x, TN_F32);
  const ts_ssa in[] = {number->kind == TS_V_FLOAT ? narrow : x, shape};
  return r->status ? none : ts_op(r, "Expand", in, 2);
}

/* -1 leaves a dim as it is. */
static ts_ssa expanded(ts_reader *r, ts_ssa x, ts_ssa shape) {
  const ts_ssa one = ts_const_ints(r, (const int64_t[]){1}, 1), ones[] = {shape, one},
               in[] = {x, ts_op(r, "Max", ones, 2)};
  const ts_ssa zero = ts_const_ints(r, (const int64_t[]){0}, 1), zeros[] = {shape, zero},
               is_empty = ts_op(r, "Equal", zeros, 2), choice[] = {is_empty, shape, in[1]},
               whole[] = {x, ts_op(r, "Where", choice, 3)};
  return r->status ? none : ts_op(r, "Expand", whole, 2);
}

/* NULL without an error: it is none of these. */
static ts_value *with_open_shape(ts_reader *r, const char *name, const ts_args *args) {
  int32_t at = -1;
  for (int32_t k = 0; k < args->n && k < 2; k++)
    if (args->v[k]->kind == TS_V_LIST && args->v[k]->cell->v->kind == TS_V_ARRAY) at = k;
  if (at < 0) return NULL;
  const ts_ssa shape = args->v[at]->cell->v->ssa;
  ts_value *made = NULL, *dtype = NULL;
  const bool views = !strcmp(name, "aten::view") || !strcmp(name, "aten::reshape") ||
                     !strcmp(name, "aten::_unsafe_view");
  const bool expands = !strcmp(name, "aten::expand") || !strcmp(name, "aten::broadcast_to");
  if (at == 1 && (views || expands)) {
    const ts_ssa x = ts_read_tensor(r, args->v[0]), in[] = {x, shape};
    if (x.id < 0) return NULL;
    return ts_tensor(
        r, views ? ts_op_int(r, "Reshape", in, 2, "allowzero", 1) : expanded(r, x, shape));
  }
  if (at == 0 && (!strcmp(name, "aten::zeros") || !strcmp(name, "aten::empty")))
    made = ts_tensor(r, filled(r, shape, ts_float(r, 0)));
  else if (at == 0 && !strcmp(name, "aten::ones"))
    made = ts_tensor(r, filled(r, shape, ts_float(r, 1)));
  else if (at == 0 && !strcmp(name, "aten::full") && ts_is_number(args->v[1]))
    made = ts_tensor(r, filled(r, shape, args->v[1]));
  if (!made) return NULL;
  dtype = ts_arg(args, !strcmp(name, "aten::full") ? 2 : 1, "dtype");
  return dtype ? ts_to_dtype(r, made, dtype) : made;
}

/* ---- places that only a run knows ---- */

static bool is_open_int(const ts_args *args, int32_t k) {
  const ts_value *v = k < args->n && !args->keys[k] ? args->v[k] : NULL;
  return v && v->kind == TS_V_INT && !v->known;
}

static ts_ssa in_row(ts_reader *r, const ts_value *v) {
  const ts_ssa in[] = {ts_scalar(r, v), ts_const_ints(r, (const int64_t[]){1}, 1)};
  return r->status ? none : ts_op(r, "Reshape", in, 2);
}

/* x.select(dim, k) is Gather, x.slice(dim, from, to, step) Slice: both take places as inputs, so
 * that loops need no new plan for each turn. NULL without an error: it is none of these. */
static ts_value *at_open_place(ts_reader *r, const char *name, const ts_args *args) {
  const bool selects = !strcmp(name, "aten::select"), slices = !strcmp(name, "aten::slice");
  const bool is_open = is_open_int(args, 2) || (slices && is_open_int(args, 3));
  if ((!selects && !slices) || !is_open || args->v[0]->kind != TS_V_TENSOR) return NULL;
  const ts_value *dim = args->v[1];
  if (!dim->known || dim->kind != TS_V_INT || (selects && args->n != 3)) return NULL;
  const ts_ssa x = ts_read_tensor(r, args->v[0]);
  if (selects) {
    const ts_ssa in[] = {x, ts_scalar(r, args->v[2])};
    return r->status ? NULL : ts_tensor(r, ts_op_int(r, "Gather", in, 2, "axis", dim->i));
  }
  ts_value *from = ts_arg(args, 2, NULL), *to = ts_arg(args, 3, NULL),
           *step = ts_arg(args, 4, NULL);
  if (!from) from = ts_int(r, 0);
  if (!to) to = ts_int(r, INT64_MAX);
  if (!step) step = ts_int(r, 1);
  if (!from || !to || !step || !step->known || step->i < 1) return NULL;
  const ts_ssa in[] = {x, in_row(r, from), in_row(r, to), in_row(r, dim), in_row(r, step)};
  return r->status ? NULL : ts_tensor(r, ts_op(r, "Slice", in, 5));
}

ts_value *ts_emit(ts_reader *r, const char *name, const ts_args *args) {
  if (r->status) return NULL;
  ts_value *placed = at_open_place(r, name, args);
  if (placed || r->status) return placed;
  ts_value *open = with_open_shape(r, name, args);
  if (open || r->status) return open;
  for (int32_t k = 0; k < args->n; k++)
    if (args->v[k]->kind == TS_V_DTYPE) return with_dtype(r, name, args, k);
  if (!aten_knows(name)) return ts_null(r, "not supported: operator %s", name);
  ts_value *made = emit(r, name, args, 0);
  ts_note_rows(name, args, made);
  return made;
}

ts_value *ts_emit_list(ts_reader *r, const char *name, const ts_args *args, int32_t n) {
  if (n > 16) return ts_null(r, "not supported: %s with more than 16 results", name);
  ts_value *v = emit(r, name, args, n);
  if (!v) return NULL;
  return n == 1 ? ts_list(r, &v, 1) : ts_list(r, v->items, n);
}

ts_ssa ts_emit_ssa(ts_reader *r, const char *name, ts_ssa x, ts_value *const *args, int32_t n) {
  ts_args list = {.n = n + 1};
  list.v[0] = ts_tensor(r, x);
  if (!list.v[0] || n >= TS_MAX_CALLS) return none;
  for (int32_t k = 0; k < n; k++) list.v[k + 1] = args[k];
  ts_value *v = ts_emit(r, name, &list);
  return v ? ts_read_tensor(r, v) : none;
}
