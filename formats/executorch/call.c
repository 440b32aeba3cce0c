/* Calls of kernels: which operator of aten it is, what it reads and what it writes. */
#include <stdio.h>

#include "reader.h"

enum { MOST_ARGS = 64, MOST_OUTPUTS = 1024 };

typedef struct call {
  char op[128], overload[64];
  int64_t args[MOST_ARGS]; /* indices of values: what is read, then what is written */
  uint32_t n_in;
  int64_t outs[MOST_OUTPUTS];
  uint32_t n_outs;
} call;

static tn_status say(void *ctx, tn_status code, const char *text) {
  const pte_reader *r = ctx;
  return pte_fail(r, code, r->at, "%s", text);
}

static aten_emitter emitter(pte_reader *r) {
  return (aten_emitter){.api = r->api,
                        .graph = r->g,
                        .arena = &r->arena,
                        .fail = say,
                        .ctx = r,
                        .node = r->node,
                        .offset = (int64_t)r->at};
}

tn_status pte_add_node(pte_reader *r, const char *op, const int32_t *in, uint32_t n_in,
                       const int32_t *out, uint32_t n_out, const tn_attr *const *attrs,
                       uint32_t n_attrs) {
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = "",
                        .op = op,
                        .name = r->node,
                        .inputs = in,
                        .n_inputs = n_in,
                        .outputs = out,
                        .n_outputs = n_out,
                        .attrs = attrs,
                        .n_attrs = n_attrs,
                        .offset = r->at ? (int64_t)r->at : -1};
  const int32_t id = r->api->add_node(r->g, &node);
  return id < 0 ? pte_graph_fail(r, id, "it cannot be a node") : TN_OK;
}

/* ---- names ---- */

/* What is another operator here: executorch_prim computes with the program's numbers, dim_order_ops
 * with layouts, which values do not have here. */
static const struct renamed {
  const char *name, *op;
  uint32_t n_in; /* what is read of its arguments; 0: all */
} renames[] = {{"dim_order_ops::_to_dim_order_copy", "aten::_to_copy", 1},
               {"dim_order_ops::_clone_dim_order", "aten::clone", 1},
               {"dim_order_ops::_empty_dim_order", "aten::empty", 1},
               {"executorch_prim::et_view", "aten::view_copy", 2},
               {"executorch_prim::add", "aten::add", 2},
               {"executorch_prim::sub", "aten::sub", 2},
               {"executorch_prim::mul", "aten::mul", 2},
               {"executorch_prim::floordiv", "aten::floor_divide", 2},
               {"executorch_prim::mod", "aten::remainder", 2},
               {"executorch_prim::truediv", "torch::true_div", 2},
               {"executorch_prim::neg", "aten::neg", 1},
               {"executorch_prim::eq", "aten::eq", 2},
               {"executorch_prim::ne", "aten::ne", 2},
               {"executorch_prim::lt", "aten::lt", 2},
               {"executorch_prim::le", "aten::le", 2},
               {"executorch_prim::gt", "aten::gt", 2},
               {"executorch_prim::ge", "aten::ge", 2},
               {"executorch_prim::sym_max", "aten::maximum", 2},
               {"executorch_prim::sym_min", "aten::minimum", 2},
               {"executorch_prim::sym_not", "aten::logical_not", 1},
               {"executorch_prim::sym_float", "torch::to_float", 1}};

static const struct renamed *find_rename(const char *op) {
  for (size_t k = 0; k < sizeof renames / sizeof *renames; k++)
    if (!strcmp(renames[k].name, op)) return &renames[k];
  return NULL;
}

/* "IntList_out": "IntList"; "out": "", of tensors; "out_mode": "Tensor_mode". */
static void strip_out(const char *overload, char *out, size_t size) {
  size_t n = strlen(overload);
  if (!strncmp(overload, "out_", 4)) {
    snprintf(out, size, "Tensor%s", overload + 3);
    return;
  }
  if (n >= 3 && !strcmp(overload + n - 3, "out")) n -= 3;
  if (n && n != strlen(overload) && overload[n - 1] == '_') n--;
  snprintf(out, size, "%.*s", (int)n, overload);
}

/* ---- which row ---- */

/* Kernels with a destination take its type: these arguments are not there. */
static bool is_left_out(const aten_param *p, bool is_factory) {
  static const char *const names[] = {"dtype", "layout", "device", "pin_memory"};
  for (size_t k = 0; is_factory && k < sizeof names / sizeof *names; k++)
    if (tn_str_is(p->name, names[k])) return true;
  return false;
}

static bool is_factory(const aten_param *params, int32_t n) {
  for (int32_t k = 0; k < n; k++)
    if (tn_str_is(params[k].name, "device")) return true;
  return false;
}

/* The parameters that a kernel of the row has in front of its destination. */
static int32_t read_params(const tn_format_op *row, aten_param *out, bool *out_factory) {
  aten_param all[ATEN_MAX_PARAMS];
  const int32_t n = aten_schema_read(row->attrs ? row->attrs : "", all);
  int32_t count = 0;
  *out_factory = is_factory(all, n);
  for (int32_t k = 0; k < n; k++)
    if (!is_left_out(&all[k], *out_factory)) out[count++] = all[k];
  return count;
}

/* Rows are called after their schema, `to` after the out variant, as kernels are. Better is higher;
 * 0: it is another operator, or takes fewer arguments, or needs more. */
static int fit(const tn_format_op *row, const char *op, const char *overload, uint32_t n_in) {
  aten_param params[ATEN_MAX_PARAMS];
  bool factory;
  char to[200];
  const size_t n = strlen(op);
  if (strncmp(row->name, op, n) || (row->name[n] && row->name[n] != '.') || !row->to) return 0;
  const int32_t n_params = read_params(row, params, &factory);
  if (n_params < (int32_t)n_in) return 0;
  for (int32_t k = (int32_t)n_in; k < n_params; k++)
    if (!params[k].has_default) return 0;
  const int all = n_params == (int32_t)n_in ? 3 : 0;
  snprintf(to, sizeof to, "%s%s%s", op, *overload ? "." : "", overload);
  if (!strcmp(row->to, to)) return all + 3;
  return row->name[n] && !strcmp(row->name + n + 1, overload) ? all + 2 : all + 1;
}

static const tn_format_op *find_row(const char *op, const char *overload, uint32_t n_in) {
  const tn_format_op *best = NULL;
  int most = 0;
  uint32_t n;
  const tn_format_op *const *rows = aten_rows(&n);
  for (uint32_t k = 0; k < n; k++) {
    const int f = fit(rows[k], op, overload, n_in);
    if (f > most) best = rows[k];
    if (f > most) most = f;
  }
  return best;
}

/* ---- the call ---- */

static bool same_items(const pte_value *a, const pte_value *b) {
  bool same = a->kind == b->kind && a->list.n == b->list.n;
  for (uint64_t k = 0; k < a->list.n && same; k++)
    same = tn_flat_int_at(&a->list, k) == tn_flat_int_at(&b->list, k);
  return same;
}

/* How many of the arguments in front of the answer are what it holds. */
static uint32_t n_destinations(const pte_reader *r, const call *c) {
  const uint32_t n = c->n_in;
  const int64_t answer = c->args[n];
  if (!n) return 0;
  const pte_value *before = pte_peek(r, c->args[n - 1]), *last = pte_peek(r, answer);
  if (c->args[n - 1] == answer) return 1;
  if (!before || last->kind != PTE_TENSORS) return 0;
  if (same_items(before, last)) return 1;
  for (uint32_t k = 0; k < c->n_outs; k++)
    if (n < c->n_outs || c->args[n - c->n_outs + k] != c->outs[k]) return 0;
  return c->n_outs;
}

/* The last argument is what the call answers: its destination again, or a list of them. What is
 * answered and no destination was read and written (copy_), or is a number. */
static tn_status split_args(pte_reader *r, call *c, const tn_flat_vector *list) {
  const uint64_t n = list->n;
  if (!n || n > MOST_ARGS)
    return pte_fail(r, TN_ERR_UNSUPPORTED, r->at, "not supported: a call of %llu arguments",
                    (unsigned long long)n);
  for (uint64_t k = 0; k < n; k++) c->args[k] = tn_flat_int_at(list, k);
  const pte_value *last = pte_get(r, c->args[n - 1]);
  if (!last) return TN_ERR_INVALID;
  const bool is_list = last->kind == PTE_TENSORS;
  c->n_outs = is_list ? (uint32_t)last->list.n : 1;
  c->n_in = (uint32_t)n - 1;
  c->outs[0] = c->args[n - 1];
  if (is_list && last->list.n > MOST_OUTPUTS)
    return pte_fail(r, TN_ERR_UNSUPPORTED, r->at, "not supported: a call of %llu outputs",
                    (unsigned long long)last->list.n);
  for (uint64_t k = 0; is_list && k < last->list.n; k++)
    c->outs[k] = tn_flat_int_at(&last->list, k);
  c->n_in -= n_destinations(r, c);
  return pte_status(r);
}

static tn_status make_outs(pte_reader *r, const call *c, int32_t *ids) {
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < c->n_outs && !s; k++) {
    const pte_value *v = pte_get(r, c->outs[k]);
    s = v ? pte_new(r, v, &ids[k]) : TN_ERR_INVALID;
  }
  return s;
}

static tn_status write_outs(pte_reader *r, const call *c, const int32_t *ids) {
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < c->n_outs && !s; k++) s = pte_write(r, pte_get(r, c->outs[k]), ids[k]);
  return s;
}

/* Names of the schema for what kernels take by place, and the type of the destination. */
static tn_status name_args(pte_reader *r, const call *c, const tn_format_op *row, aten_arg *args,
                           uint32_t *n) {
  aten_param params[ATEN_MAX_PARAMS];
  bool factory;
  const int32_t n_params = read_params(row, params, &factory);
  for (int32_t k = 0; k < n_params && k < (int32_t)*n; k++) {
    args[k].name = tn_arena_strn(&r->arena, params[k].name.data, params[k].name.size);
    if (!args[k].name) return pte_no_memory(r);
  }
  const pte_value *out = c->n_outs ? pte_get(r, c->outs[0]) : NULL;
  if (factory && out && out->kind == PTE_TENSOR)
    args[(*n)++] = (aten_arg){.name = "dtype", .kind = ATEN_DTYPE, .i = out->type.dtype};
  return TN_OK;
}

/* as_strided_copy reads memory, and values are row-major here. */
static tn_status check_layout(const pte_reader *r, const char *op, const call *c) {
  const pte_value *v = c->n_in ? pte_peek(r, c->args[0]) : NULL;
  const bool reads = !strcmp(op, "aten::as_strided_copy") && v && v->kind == PTE_TENSOR;
  if (!reads || pte_is_row_major(v)) return pte_status(r);
  return pte_fail(r, TN_ERR_UNSUPPORTED, r->at,
                  "not supported: of a tensor whose dim_order is not that of its dims");
}

static tn_status emit(pte_reader *r, const call *c, const char *op, uint32_t n_in) {
  aten_arg args[MOST_ARGS + 1];
  int32_t ids[MOST_OUTPUTS];
  char overload[sizeof c->overload];
  uint32_t n = n_in;
  strip_out(c->overload, overload, sizeof overload);
  const tn_format_op *row = find_row(op, overload, n_in);
  const char *chosen = row && row->name[strlen(op)] ? row->name + strlen(op) + 1 : row ? "" : NULL;
  tn_status s = check_layout(r, op, c);
  for (uint32_t k = 0; k < n_in && !s; k++) s = pte_arg(r, c->args[k], &args[k]);
  if (!s && row) s = name_args(r, c, row, args, &n);
  if (!s) s = make_outs(r, c, ids);
  const aten_emitter e = emitter(r);
  if (!s) s = aten_emit(&e, op, chosen, args, n, ids, c->n_outs);
  return s ? s : write_outs(r, c, ids);
}

static bool same_type(const pte_value *a, const pte_value *b) {
  bool same = a->kind == PTE_TENSOR && b->kind == PTE_TENSOR && a->type.dtype == b->type.dtype &&
              a->type.rank == b->type.rank;
  for (int32_t k = 0; same && k < a->type.rank; k++) same = a->type.shape[k] == b->type.shape[k];
  return same;
}

/* copy_(self, src, non_blocking): self is src from here on, in its own type and size. What it was
 * is of no interest: it may have been nothing. */
static tn_status emit_in_place(pte_reader *r, call *c) {
  int32_t id;
  pte_value *self = pte_get(r, c->args[0]);
  const pte_value *from = c->n_in > 1 ? pte_get(r, c->args[1]) : NULL;
  if (self && from && !strcmp(c->op, "aten::copy_") && self->id == TN_NO_ID &&
      same_type(self, from)) {
    const tn_status s = pte_id(r, c->args[1], &id);
    return s ? s : pte_write(r, self, id);
  }
  c->outs[0] = c->args[0];
  c->n_outs = 1;
  return emit(r, c, c->op, c->n_in);
}

/* Operators that write arguments, which they answer here: the caches of language models. */
static const struct writer {
  const char *name;
  uint8_t n, args[2];
  bool answers; /* something else, too; if not, the destination has nothing in it */
} writers[] = {{"llama::sdpa_with_kv_cache", 2, {3, 4}, true},
               {"llama::update_cache", 1, {1}, false},
               {"llama::update_cache_with_indices", 1, {1}, false}};

static const struct writer *find_writer(const char *op) {
  for (size_t k = 0; k < sizeof writers / sizeof *writers; k++)
    if (!strcmp(writers[k].name, op)) return &writers[k];
  return NULL;
}

static tn_status emit_writer(pte_reader *r, call *c, const struct writer *w) {
  const uint32_t first = w->answers ? 1 : 0;
  for (uint32_t k = 0; k < w->n; k++) {
    if (w->args[k] >= c->n_in)
      return pte_fail(r, TN_ERR_INVALID, r->at, "has %u arguments; it needs more", c->n_in);
    c->outs[first + k] = c->args[w->args[k]];
  }
  c->n_outs = first + w->n;
  return emit(r, c, c->op, c->n_in);
}

/* aten::copy_ */
static bool is_in_place(const call *c) {
  const size_t n = strlen(c->op);
  return n > 7 && c->op[n - 1] == '_' && c->op[n - 2] != '_' && c->n_in;
}

static tn_status run(pte_reader *r, call *c) {
  const struct renamed *other = find_rename(c->op);
  const struct writer *writer = find_writer(c->op);
  if (other) {
    if (c->n_in < other->n_in)
      return pte_fail(r, TN_ERR_INVALID, r->at, "has %u arguments; it needs %u", c->n_in,
                      other->n_in);
    snprintf(c->overload, sizeof c->overload, "out");
    return emit(r, c, other->op, other->n_in);
  }
  if (writer) return emit_writer(r, c, writer);
  if (is_in_place(c)) return emit_in_place(r, c);
  return emit(r, c, c->op, c->n_in);
}

static tn_status read_name(pte_reader *r, const tn_flat_table *table, call *c) {
  const int64_t index = tn_flat_int(table, CALL_INDEX, 4, 0);
  if (!pte_status(r) && (index < 0 || (uint64_t)index >= r->operators.n))
    return pte_fail(r, TN_ERR_INVALID, r->at, "calls operator %lld; there are %llu",
                    (long long)index, (unsigned long long)r->operators.n);
  if (pte_status(r)) return pte_status(r);
  const tn_flat_table op = tn_flat_item(&r->operators, (uint64_t)index, &pte_operator_type);
  const char *name = pte_text(r, tn_flat_text(&op, OPERATOR_NAME)),
             *overload = pte_text(r, tn_flat_text(&op, OPERATOR_OVERLOAD));
  if (!name || !overload) return pte_no_memory(r);
  if (strlen(name) >= sizeof c->op || strlen(overload) >= sizeof c->overload)
    return pte_fail(r, TN_ERR_UNSUPPORTED, op.at, "not supported: an operator of so long a name");
  snprintf(c->op, sizeof c->op, "%s", name);
  snprintf(c->overload, sizeof c->overload, "%s", overload);
  const size_t used = strlen(r->where);
  snprintf(r->where + used, sizeof r->where - used, " (%.80s%s%.40s)", name, *overload ? "." : "",
           overload);
  return pte_status(r);
}

static bool is_stack(const call *c) { return !strcmp(c->op, "executorch_prim::et_copy_index"); }

tn_status pte_kernel(pte_reader *r, const tn_flat_table *table) {
  call *c = tn_alloc(&r->allocator, sizeof *c);
  if (!c) return pte_no_memory(r);
  const tn_flat_vector args = tn_flat_vec(table, CALL_ARGS, 4);
  tn_status s = read_name(r, table, c);
  const bool stacks = !s && is_stack(c);
  if (!s && !stacks) s = split_args(r, c, &args);
  if (!s) s = stacks ? pte_stack(r, table) : run(r, c);
  tn_free(&r->allocator, c, sizeof *c);
  return s;
}

/* ---- what it writes ---- */

/* add(x, 1, x) */
static bool adds_one(const pte_reader *r, const call *c) {
  if (strcmp(c->op, "executorch_prim::add") || c->n_in < 2 || c->args[0] != c->outs[0])
    return false;
  const pte_value *one = pte_peek(r, c->args[1]);
  return one && one->kind == PTE_INT && one->id == TN_NO_ID && one->literal.i == 1;
}

static tn_status note_writes(pte_reader *r, const call *c, pte_note note, void *ctx) {
  const struct writer *w = find_writer(c->op);
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < c->n_outs && !s; k++) s = note(ctx, c->outs[k], adds_one(r, c));
  for (uint32_t k = 0; w && k < w->n && w->args[k] < c->n_in && !s; k++)
    s = note(ctx, c->args[w->args[k]], false);
  if (!s && is_in_place(c)) s = note(ctx, c->args[0], false);
  return s;
}

tn_status pte_kernel_writes(pte_reader *r, const tn_flat_table *table, pte_note note, void *ctx) {
  call *c = tn_alloc(&r->allocator, sizeof *c);
  if (!c) return pte_no_memory(r);
  const tn_flat_vector args = tn_flat_vec(table, CALL_ARGS, 4);
  tn_status s = read_name(r, table, c);
  if (!s && !is_stack(c)) {
    s = split_args(r, c, &args);
    if (!s) s = note_writes(r, c, note, ctx);
  }
  tn_free(&r->allocator, c, sizeof *c);
  return s;
}
