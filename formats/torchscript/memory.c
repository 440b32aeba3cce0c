/* Operators that see how a tensor lies in memory. Values lie in C order here, and the program does
 * not say the strides that tensors have in PyTorch: what is known of them follows from how they are
 * made. */
#include "reader.h"

static bool is_among(const char *name, const char *const *names) {
  for (; *names; names++)
    if (!strcmp(name, *names)) return true;
  return false;
}

/* Views of the same elements from the same place on, perhaps with their dims in another order. */
static bool is_whole(const ts_step *step, bool may_turn) {
  static const char *const turning[] = {
      "aten::transpose", "aten::t",        "aten::permute", "aten::movedim", "aten::moveaxis",
      "aten::swapaxes",  "aten::swapdims", "aten::numpy_T", "aten::mT",      NULL};
  static const char *const shaping[] = {"aten::unsqueeze", "aten::squeeze", "aten::view_as", NULL};
  for (; step; step = step->before) {
    const bool is_view = !strcmp(step->op, "aten::view") && step->n_args == 1 &&
                         step->args[0]->kind == TS_V_LIST; /* or it is of another type */
    if (!is_view && !is_among(step->op, shaping) && !(may_turn && is_among(step->op, turning)))
      return false;
  }
  return true;
}

static ts_rows rows_of(const ts_value *tensor) {
  const ts_value *view = tensor->cell->v;
  return is_whole(view->step, false) ? view->cell->v->rows : TS_ROWS_UNKNOWN;
}

/* What an operator makes of tensors in C order. */
static ts_rows rows_made(const char *name, const ts_args *args) {
  static const char *const same[] = {"aten::reshape",   "aten::reshape_as", "aten::flatten",
                                     "aten::unflatten", "aten::ravel",      NULL};
  static const char *const fresh[] = {
      "aten::add",  "aten::sub",    "aten::mul",   "aten::div",     "aten::neg",     "aten::abs",
      "aten::exp",  "aten::sqrt",   "aten::tanh",  "aten::sigmoid", "aten::relu",    "aten::silu",
      "aten::gelu", "aten::pow",    "aten::clamp", "aten::clone",   "aten::ones",    "aten::zeros",
      "aten::full", "aten::arange", "aten::rsub",  "aten::rand",    "aten::randint", NULL};
  const bool is_same = is_among(name, same);
  if (!is_same && !is_among(name, fresh)) return TS_ROWS_UNKNOWN;
  ts_rows rows = TS_ROWS_WHOLE;
  for (int32_t k = 0; k < args->n; k++) {
    if (args->v[k]->kind != TS_V_TENSOR) continue;
    const ts_rows of = rows_of(args->v[k]);
    if (of == TS_ROWS_UNKNOWN) return of;
    if (is_same && of < rows) rows = of;
  }
  const ts_value *format = ts_arg(args, 1, "memory_format");
  return format && !strcmp(name, "aten::clone") ? TS_ROWS_UNKNOWN : rows;
}

void ts_note_rows(const char *name, const ts_args *args, ts_value *made) {
  if (made && made->kind == TS_V_TENSOR) made->cell->v->cell->v->rows = rows_made(name, args);
}

void ts_note_contiguous(const ts_args *args, ts_value *made) {
  enum { CONTIGUOUS = 0 };
  if (ts_arg_int(args, 1, "memory_format", ts_arg(args, 1, "memory_format") ? -1 : 0) != CONTIGUOUS)
    return;
  const ts_rows rows = rows_of(args->v[0]);
  made->cell->v->cell->v->rows = rows == TS_ROWS_UNKNOWN ? TS_ROWS_PART : rows;
}

static void *refuse(ts_reader *r, const char *name) {
  return ts_null(r,
                 "not supported: %s of a tensor of which the program does not say how it lies in "
                 "memory: contiguous() before would say it",
                 name);
}

ts_value *ts_memory_of(ts_reader *r, const char *name, const ts_value *tensor, bool from_begin) {
  const ts_value *from = tensor->cell->v, *content = ts_content(r, tensor);
  if (!content) return NULL;
  if (!is_whole(from->step, true) || content->rows < (from_begin ? TS_ROWS_WHOLE : TS_ROWS_PART))
    return refuse(r, name);
  ts_value *view = ts_new(r, TS_V_VIEW);
  if (!view) return NULL;
  view->cell = from->cell;
  return ts_container(r, TS_V_TENSOR, view);
}

static bool is_in_rows(ts_reader *r, const char *name, const ts_args *args) {
  if (!args->n || args->v[0]->kind != TS_V_TENSOR || !ts_content(r, args->v[0])) return false;
  return rows_of(args->v[0]) != TS_ROWS_UNKNOWN || refuse(r, name);
}

/* stride(x, dim), stride(x): all of them */
static bool stride(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (!is_in_rows(r, name, args)) return false;
  ts_value *dim = ts_arg(args, 1, "dim");
  const ts_ssa x = ts_read_tensor(r, args->v[0]),
               made = x.id < 0 ? x : ts_emit_ssa(r, name, x, &dim, dim != NULL);
  if (r->status) return false;
  if (dim) return (*out = ts_ssa_value(r, TS_V_INT, made)) != NULL;
  ts_value *v = ts_ssa_value(r, TS_V_ARRAY, made);
  if (v) v->element = TS_V_INT;
  return (*out = ts_container(r, TS_V_LIST, v)) != NULL;
}

static bool is_contiguous(ts_reader *r, const char *name, const ts_args *args, ts_value **out) {
  if (args->n > 1) return ts_null(r, "not supported: %s of a memory format", name);
  return is_in_rows(r, name, args) && (*out = ts_bool(r, true));
}

const ts_builtin_row ts_memory_builtins[] = {
    {"aten::stride", stride},
    {"aten::is_contiguous", is_contiguous},
    {NULL, NULL},
};
