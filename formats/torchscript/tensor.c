/* Tensors of the program: memory, views of it, and writing to both. */
#include "reader.h"
#include "tenon/kit/checked.h"

static const ts_ssa none = {NULL, TN_NO_ID};

/* ---- making ---- */

ts_value *ts_tensor_of(ts_reader *r, ts_value *content) {
  ts_value *view = content ? ts_new(r, TS_V_VIEW) : NULL;
  if (!view) return NULL;
  view->cell = ts_cell_new(r, content);
  return view->cell ? ts_container(r, TS_V_TENSOR, view) : NULL;
}

ts_value *ts_tensor(ts_reader *r, ts_ssa ssa) {
  return ts_tensor_of(r, ts_ssa_value(r, TS_V_SSA, ssa));
}

static const ts_value *view_of(ts_reader *r, const ts_value *tensor) {
  if (tensor->kind != TS_V_TENSOR)
    return ts_null(r, "a tensor is wanted, and there is %s", ts_kind_text(tensor));
  return tensor->cell->v;
}

ts_value *ts_content(ts_reader *r, const ts_value *tensor) {
  const ts_value *view = view_of(r, tensor);
  if (!view) return NULL;
  ts_value *content = view->cell->v;
  if (content->kind == TS_V_POISON) return ts_null(r, "%s", content->text);
  return content;
}

/* ---- constants of the archive ---- */

tn_status ts_take_room(ts_reader *r, uint64_t bytes) {
  if (bytes > r->room)
    return ts_fail(r, TN_ERR_OVERFLOW, "tensors and lists that are copied take too much memory");
  r->room -= bytes;
  return TN_OK;
}

/* The elements where they lie, or, if they lie in another order, a copy. */
static const void *elements(ts_reader *r, const torch_tensor *t, bool *out_copied) {
  const int64_t bytes = tn_dtype_bytes(t->dtype, tn_dims_size(t->shape, t->rank));
  const uint64_t width = (uint64_t)tn_dtype_bytes(t->dtype, 1);
  *out_copied = false;
  if (bytes == 0) return "\0\0\0\0\0\0\0";
  const uint8_t *data = t->storage->data + (uint64_t)t->offset * width;
  *out_copied = !torch_tensor_is_dense(t) || (uintptr_t)data % (width > 8 ? 8 : width);
  if (!*out_copied) return data;
  if (ts_take_room(r, (uint64_t)bytes)) return NULL;
  uint8_t *copy = ts_alloc(r, (uint64_t)bytes);
  if (copy) torch_tensor_copy(t, copy);
  return copy;
}

static ts_ssa load_constant(ts_reader *r, const torch_tensor *t) {
  bool copied;
  const void *data = elements(r, t, &copied);
  ts_scope *scope = r->scope;
  if (!data) return none;
  const tn_tensor type = tn_tensor_make(t->dtype, t->rank, t->shape, (void *)(intptr_t)data);
  r->scope = &r->main;
  const ts_ssa ssa = ts_ssa_new(r, ts_format(r, "data/%s", t->storage->key));
  r->scope = scope;
  if (ssa.id < 0) return none;
  const bool lies_in_file = !copied && tn_elements(&type) > 0 &&
                            data >= (const void *)r->source->data &&
                            data < (const void *)(r->source->data + r->source->size);
  const tn_status s = r->api->value_set_const(r->main.g, ssa.id, &type, !lies_in_file);
  if (s) ts_fail(r, s, "tensor '%s' of the archive cannot be a constant", t->storage->key);
  return s ? none : ssa;
}

static ts_value *load_content(ts_reader *r, const torch_pickled *origin) {
  const torch_tensor *t = origin->tensor;
  const ts_ssa ssa = load_constant(r, t);
  ts_value *v = ts_ssa_value(r, t->is_quantised ? TS_V_QUANT : TS_V_SSA, ssa);
  if (v) v->origin = origin;
  if (v && torch_tensor_is_dense(t)) v->rows = t->offset ? TS_ROWS_PART : TS_ROWS_WHOLE;
  if (!v || !t->is_quantised) return v;
  ts_quant *q = ts_alloc(r, sizeof *q);
  if (!q) return NULL;
  *q = (ts_quant){t->scale, t->zero, t->dtype, t->axis >= 0};
  v->quant = q;
  return q->per_channel || ts_check_quant(r, q) ? v : NULL;
}

static ts_value *number_of(ts_reader *r, const torch_tensor *t) {
  bool copied;
  const void *data = elements(r, t, &copied);
  if (!data) return NULL;
  if (t->dtype == TN_BOOL) return ts_bool(r, tn_load_i64(t->dtype, data, 0) != 0);
  if (tn_dtype_exact_i64(t->dtype)) return ts_int(r, tn_load_i64(t->dtype, data, 0));
  return ts_float(r, tn_load_f64(t->dtype, data, 0));
}

const ts_value *ts_constant_number(ts_reader *r, const ts_value *tensor) {
  const ts_value *view = view_of(r, tensor), *content = view ? ts_content(r, tensor) : NULL;
  const torch_tensor *t = content && content->origin ? content->origin->tensor : NULL;
  if (!t || view->step || !tensor->number || content->kind != TS_V_SSA) return NULL;
  return tensor->number;
}

ts_value *ts_constant_load(ts_reader *r, torch_pickled *v) {
  ts_value *made = ts_load(r, v, "");
  const torch_tensor *t = v->kind == PICKLED_TENSOR ? v->tensor : NULL;
  if (made && t && t->rank == 0 && !t->is_quantised && !tn_dtype(t->dtype)->is_complex)
    made->number = number_of(r, t);
  return r->status ? NULL : made;
}

/* The same tensor twice in an archive is one. */
ts_value *ts_tensor_load(ts_reader *r, const torch_pickled *v) {
  const torch_tensor *t = v->tensor;
  char key[400];
  int n = snprintf(key, sizeof key, "%p %lld", (const void *)t->storage, (long long)t->offset);
  for (int32_t k = 0; k < t->rank; k++)
    n += snprintf(key + n, sizeof key - (size_t)n, " %lld/%lld", (long long)t->shape[k],
                  (long long)t->strides[k]);
  ts_value *known = (ts_value *)(intptr_t)tn_map_get(&r->tensors, key, 0);
  if (known) return known;
  known = ts_tensor_of(r, load_content(r, v));
  if (!known) return NULL;
  if (tn_map_set(&r->tensors, key, (int64_t)(intptr_t)known)) ts_no_memory(r);
  return r->status ? NULL : known;
}

/* ---- reading ---- */

static ts_ssa make_step(ts_reader *r, ts_step *step, const ts_value *content) {
  if (!step) return content->ssa;
  if (step->of == content && ts_is_visible(r, step->made)) return step->made;
  if (!ts_deeper(r)) return none;
  const ts_ssa x = make_step(r, step->before, content);
  r->depth--;
  if (x.id < 0) return none;
  const ts_ssa made = ts_emit_ssa(r, step->op, x, step->args, step->n_args);
  step->of = content;
  step->made = made;
  return made;
}

ts_ssa ts_read_tensor(ts_reader *r, const ts_value *tensor) {
  const ts_value *view = view_of(r, tensor), *content = view ? ts_content(r, tensor) : NULL;
  if (!content) return none;
  if (content->kind == TS_V_QUANT)
    return ts_null(r, "not supported: this operator on quantised tensors"), none;
  return make_step(r, view->step, content);
}

/* ---- views ---- */

ts_value *ts_view(ts_reader *r, const ts_value *tensor, const char *op, ts_value *const *args,
                  int32_t n_args) {
  const ts_value *from = view_of(r, tensor);
  ts_value *view = from ? ts_new(r, TS_V_VIEW) : NULL;
  ts_step *step = view ? ts_alloc(r, sizeof *step) : NULL;
  if (!step) return NULL;
  step->before = from->step;
  step->op = op;
  step->args = ts_alloc(r, ((uint64_t)n_args + 1) * sizeof *step->args);
  step->n_args = n_args;
  if (!step->args) return NULL;
  if (n_args) memcpy(step->args, args, (size_t)n_args * sizeof *args);
  view->cell = from->cell;
  view->step = step;
  ts_value *made = ts_container(r, TS_V_TENSOR, view);
  return made && ts_read_tensor(r, made).id >= 0 ? made : NULL;
}

static bool link_peer(ts_reader *r, ts_cell *a, ts_cell *b) {
  ts_peer *p = ts_alloc(r, sizeof *p);
  if (!p) return false;
  *p = (ts_peer){b, a->peers};
  a->peers = p;
  return true;
}

bool ts_may_alias(ts_reader *r, const ts_value *a, const ts_value *b) {
  ts_cell *x = a->cell->v->cell, *y = b->cell->v->cell;
  return x == y || (link_peer(r, x, y) && link_peer(r, y, x));
}

/* ---- writing ---- */

/* permute's dims, and those of the way back. */
static ts_value *way_back(ts_reader *r, ts_value *dims) {
  const ts_value *list = ts_known_items(r, dims);
  ts_value *back[TN_MAX_RANK];
  const int32_t n = list ? list->n : TN_MAX_RANK + 1;
  if (n > TN_MAX_RANK) return ts_null(r, "not supported: writing to what this permutation gives");
  for (int32_t k = 0; k < n; k++) back[k] = ts_int(r, 0);
  for (int32_t k = 0; k < n; k++) {
    const ts_value *v = list->items[k];
    const int64_t d = v->i < 0 ? v->i + n : v->i;
    if (v->kind != TS_V_INT || !v->known || d < 0 || d >= n)
      return ts_null(r, "not supported: writing to what this permutation gives");
    back[d] = ts_int(r, k);
  }
  return r->status ? NULL : ts_container(r, TS_V_LIST, ts_items(r, TS_V_ITEMS, back, n));
}

static ts_ssa undo_order(ts_reader *r, const ts_step *step, ts_ssa made) {
  const bool moves = !strcmp(step->op, "aten::movedim") || !strcmp(step->op, "aten::moveaxis");
  if (moves && step->n_args == 2) {
    ts_value *args[] = {step->args[1], step->args[0]};
    return ts_emit_ssa(r, step->op, made, args, 2);
  }
  if (strcmp(step->op, "aten::permute") != 0 || step->n_args != 1)
    return ts_null(r, "not supported: writing to what %s gives", step->op + 6), none;
  ts_value *back = way_back(r, step->args[0]);
  return back ? ts_emit_ssa(r, step->op, made, &back, 1) : none;
}

/* The step undone: what it was made of, with `made` in its place. */
static ts_ssa undo(ts_reader *r, const ts_step *step, ts_ssa before, ts_ssa made) {
  static const struct {
    const char *op, *inverse;
    bool takes_before; /* before, made, args; else made, args */
  } rows[] = {{"aten::select", "aten::select_scatter", true},
              {"aten::slice", "aten::slice_scatter", true},
              {"aten::transpose", "aten::transpose", false},
              {"aten::t", "aten::t", false},
              {"aten::swapaxes", "aten::swapaxes", false},
              {"aten::swapdims", "aten::swapdims", false},
              {"aten::numpy_T", "aten::numpy_T", false},
              {"aten::mT", "aten::mT", false},
              {"aten::adjoint", "aten::adjoint", false},
              {"aten::diagonal", "aten::diagonal_scatter", true}};
  static const char *const reshaped[] = {"aten::view",    "aten::unsqueeze", "aten::squeeze",
                                         "aten::flatten", "aten::unflatten", "aten::view_as"};
  ts_args args = {.n = 0};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    if (strcmp(rows[k].op, step->op)) continue;
    args.v[args.n++] = ts_tensor(r, rows[k].takes_before ? before : made);
    if (rows[k].takes_before) args.v[args.n++] = ts_tensor(r, made);
    for (int32_t i = 0; i < step->n_args; i++) args.v[args.n++] = step->args[i];
    ts_value *v = r->status ? NULL : ts_emit(r, rows[k].inverse, &args);
    return v ? ts_read_tensor(r, v) : none;
  }
  for (size_t k = 0; k < sizeof reshaped / sizeof *reshaped; k++)
    if (!strcmp(reshaped[k], step->op)) {
      const ts_ssa shape = ts_op(r, "Shape", &before, 1), in[] = {made, shape};
      return ts_op_int(r, "Reshape", in, 2, "allowzero", 1);
    }
  if (!strcmp(step->op, "aten::alias")) return made;
  return undo_order(r, step, made);
}

static ts_ssa write_step(ts_reader *r, ts_step *step, const ts_value *content, ts_ssa ssa) {
  if (!step) return ssa;
  const ts_ssa before = make_step(r, step->before, content);
  if (before.id < 0) return none;
  const ts_ssa whole = undo(r, step, before, ssa);
  if (whole.id < 0 || !ts_deeper(r)) return none;
  const ts_ssa made = write_step(r, step->before, content, whole);
  r->depth--;
  return made;
}

/* What may be the memory of the cell, and what may be the memory of that. */
static bool poison_others(ts_reader *r, const ts_cell *cell, const ts_cell *written) {
  for (ts_peer *p = cell->peers; p; p = p->next) {
    if (p->cell == written || (p->cell->v && p->cell->v->kind == TS_V_POISON)) continue;
    ts_value *why = ts_poison(r,
                              "not supported: reading a tensor after another was written to that "
                              "may be the same memory, or a copy of it");
    if (!why || !ts_set(r, p->cell, why) || !ts_deeper(r)) return false;
    const bool ok = poison_others(r, p->cell, written);
    r->depth--;
    if (!ok) return false;
  }
  return true;
}

static bool poison_peers(ts_reader *r, const ts_cell *cell) { return poison_others(r, cell, cell); }

bool ts_write_content(ts_reader *r, const ts_value *tensor, ts_value *content) {
  const ts_value *view = view_of(r, tensor);
  if (!view || !content) return false;
  if (view->step)
    return ts_null(r, "not supported: writing to a view of a quantised tensor"), false;
  return poison_peers(r, view->cell) && ts_set(r, view->cell, content);
}

bool ts_write_tensor(ts_reader *r, const ts_value *tensor, ts_ssa ssa) {
  const ts_value *view = view_of(r, tensor), *content = view ? ts_content(r, tensor) : NULL;
  if (!content || ssa.id < 0) return false;
  if (content->kind == TS_V_QUANT)
    return ts_null(r, "not supported: writing to a quantised tensor"), false;
  const ts_ssa whole = write_step(r, view->step, content, ssa);
  ts_value *made = whole.id < 0 ? NULL : ts_ssa_value(r, TS_V_SSA, whole);
  if (!made) return false;
  made->rows = content->rows;
  return poison_peers(r, view->cell) && ts_set(r, view->cell, made);
}
