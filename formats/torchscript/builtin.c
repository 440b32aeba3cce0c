/* Operators: those that the reader does itself, else nodes. */
#include "reader.h"
#include "torch/aten.h"

static const ts_builtin_row *const tables[] = {
    ts_list_builtins,      ts_scalar_builtins, ts_quant_builtins,
    ts_prepacked_builtins, ts_view_builtins,   ts_parts_builtins,
    ts_tensor_builtins,    ts_memory_builtins, ts_recurrent_builtins};

static const ts_builtin_row *find(const ts_builtin_row *rows, const char *name) {
  for (; rows->name; rows++)
    if (!strcmp(rows->name, name)) return rows;
  return NULL;
}

static bool all_usable(ts_reader *r, const ts_args *args) {
  for (int32_t k = 0; k < args->n; k++)
    if (!ts_usable(r, args->v[k])) return false;
  return true;
}

/* ---- operators that write to their first argument ---- */

/* "aten::add_" is aten::add, whose result is written, and "aten::__iand__" aten::__and__; NULL: it
 * is no such name. */
static const char *without_underscore(ts_reader *r, const char *name) {
  const size_t n = strlen(name);
  const char *augmented = aten_of_augmented(name);
  if (augmented) return augmented;
  if (n < 8 || name[n - 1] != '_' || name[n - 2] == '_') return NULL;
  return ts_format(r, "%.*s", (int)n - 1, name);
}

static ts_value *call_in_place(ts_reader *r, const char *name, const ts_args *args) {
  ts_value *self = args->n ? args->v[0] : NULL;
  if (!self || self->kind != TS_V_TENSOR)
    return ts_null(r, "%s: there is no tensor to change", name);
  ts_value *content = ts_content(r, self);
  ts_value *made = content ? ts_call_builtin(r, without_underscore(r, name), args) : NULL;
  if (!made) return NULL;
  if (content->kind == TS_V_QUANT)
    return ts_write_content(r, self, ts_content(r, made)) ? self : NULL;
  const ts_ssa old = ts_read_tensor(r, self), in[] = {ts_read_tensor(r, made), old};
  return ts_write_tensor(r, self, ts_op(r, "CastLike", in, 2)) ? self : NULL;
}

/* out=x: the result is written there. */
static ts_value *call_into(ts_reader *r, const char *name, const ts_args *args, int32_t out) {
  ts_args rest = {.n = 0};
  for (int32_t k = 0; k < args->n; k++) {
    if (k == out) continue;
    rest.v[rest.n] = args->v[k];
    rest.keys[rest.n++] = args->keys[k];
  }
  ts_value *made = ts_call_builtin(r, name, &rest), *target = args->v[out];
  if (!made) return NULL;
  if (made->kind != TS_V_TENSOR || target->kind != TS_V_TENSOR)
    return ts_null(r, "not supported: %s with several results and out=", name);
  const ts_ssa in[] = {ts_read_tensor(r, made), ts_read_tensor(r, target)};
  return ts_write_tensor(r, target, ts_op(r, "CastLike", in, 2)) ? target : NULL;
}

static int32_t out_of(const ts_args *args) {
  for (int32_t k = 0; k < args->n; k++)
    if (args->keys[k] && !strcmp(args->keys[k], "out") && args->v[k]->kind != TS_V_NONE) return k;
  return -1;
}

/* ---- calls ---- */

ts_value *ts_call_builtin(ts_reader *r, const char *name, const ts_args *args) {
  if (r->status || !name || !all_usable(r, args)) return NULL;
  for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
    const ts_builtin_row *row = find(tables[k], name);
    ts_value *out = NULL;
    if (row && !row->call(r, row->name, args, &out) && !r->status)
      return ts_null(r, "%s: not with these arguments", name);
    if (r->status) return NULL;
    if (out) return out;
  }
  const int32_t out = out_of(args);
  if (out >= 0) return call_into(r, name, args, out);
  const char *plain = without_underscore(r, name);
  if (r->status) return NULL;
  return plain ? call_in_place(r, name, args) : ts_emit(r, name, args);
}

ts_value *ts_call_1(ts_reader *r, const char *name, ts_value *a) {
  const ts_args args = {.v = {a}, .n = 1};
  return ts_call_builtin(r, name, &args);
}

ts_value *ts_call_2(ts_reader *r, const char *name, ts_value *a, ts_value *b) {
  const ts_args args = {.v = {a, b}, .n = 2};
  return ts_call_builtin(r, name, &args);
}
