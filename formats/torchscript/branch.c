/* if: a condition that is known takes one way; else both become graphs of an If, and what they
 * changed in different ways becomes its outputs. */
#include "reader.h"
#include "tenon/kit/lower.h"

typedef struct pair {
  ts_ssa then_ssa, else_ssa;
  ts_value *out; /* gets the output */
} pair;

typedef struct branches {
  ts_reader *r;
  int64_t serial; /* of before */
  ts_scope *scopes[2];
  TN_VEC(pair) pairs;
} branches;

/* ---- raising ---- */

static bool is_call_of(ts_reader *r, const ts_node *n, const char *name) {
  if (n->kind != TS_CALL) return false;
  const char *dotted = ts_dotted(r, n->items[0]);
  return dotted && !strcmp(dotted, name);
}

static const ts_node *find_raise(ts_reader *r, const ts_node *block) {
  for (int32_t k = 0; block && k < block->n; k++) {
    const ts_node *n = block->items[k];
    if (n->kind == TS_DO && is_call_of(r, n->items[0], "ops.prim.RaiseException"))
      return n->items[0];
  }
  return NULL;
}

/* The text that is raised, as far as it is written down. */
static const char *text_of(ts_reader *r, const ts_node *block, const ts_node *n, int depth) {
  if (n->kind == TS_STR) return n->name;
  if (n->kind == TS_CALL && n->n > 1 && depth) return text_of(r, block, n->items[1], depth - 1);
  if (n->kind != TS_NAME || !depth) return "an exception of the program";
  for (int32_t k = 0; k < block->n; k++) {
    const ts_node *a = block->items[k];
    if (a->kind == TS_ASSIGN && a->items[0]->kind == TS_NAME && !strcmp(a->items[0]->name, n->name))
      return text_of(r, block, a->items[a->n - 1], depth - 1);
  }
  const ts_cell *c = ts_variable(r, n->name);
  return c && c->v && c->v->kind == TS_V_STR ? c->v->text : "an exception of the program";
}

/* The way that raises is not taken, or the run fails. when: the condition of that way. */
static bool take_other(ts_reader *r, ts_value *condition, const char *text, bool when,
                       const ts_node *other) {
  ts_value *holds = when ? ts_call_1(r, "aten::__not__", condition) : condition;
  return holds && ts_require(r, ts_scalar(r, holds), text) && ts_run_block(r, other);
}

/* ---- merging ---- */

static ts_value *merge(branches *b, ts_frozen *x, ts_frozen *y);

static ts_value *pending(branches *b, ts_value_kind kind, ts_ssa x, ts_ssa y) {
  ts_value *v = ts_new(b->r, kind);
  const pair p = {x, y, v};
  if (v && tn_vec_push(&b->r->allocator, &b->pairs, p)) ts_no_memory(b->r);
  return b->r->status ? NULL : v;
}

static ts_value *differs(branches *b) {
  return ts_poison(b->r, "not supported: a value that is of another kind in each branch of an if");
}

/* The branches' values of a list as arrays of their graphs. */
static ts_value *merge_arrays(branches *b, ts_frozen *x, ts_frozen *y) {
  ts_frozen *both[] = {x, y};
  ts_ssa made[2];
  ts_scope *scope = b->r->scope;
  ts_value_kind element = TS_V_INT;
  for (int k = 0; k < 2; k++) {
    const ts_value *content = both[k]->content;
    if (content->kind == TS_V_ARRAY) element = content->element;
    if (content->kind == TS_V_ITEMS && content->n) element = content->items[0]->kind;
  }
  for (int k = 0; k < 2; k++) {
    b->r->scope = b->scopes[k];
    const ts_value list = {
        .kind = TS_V_TUPLE, .items = both[k]->content->items, .n = both[k]->content->n, .text = ""};
    made[k] = both[k]->content->kind == TS_V_ARRAY ? both[k]->content->ssa
                                                   : ts_array(b->r, (ts_value *)(intptr_t)&list);
  }
  b->r->scope = scope;
  ts_value *v = b->r->status ? NULL : pending(b, TS_V_ARRAY, made[0], made[1]);
  if (v) v->element = element;
  return v;
}

static bool is_numbers(const ts_value *content) {
  for (int32_t k = 0; content->kind == TS_V_ITEMS && k < content->n; k++)
    if (!ts_is_number(content->items[k])) return false;
  return content->kind == TS_V_ITEMS || content->kind == TS_V_ARRAY;
}

/* What both branches have of a list of tensors, as a sequence of the branch's graph. */
static ts_ssa sequence_of(branches *b, int side, const ts_frozen *f) {
  const ts_ssa none = {NULL, TN_NO_ID};
  ts_reader *r = b->r;
  if (f->content->kind != TS_V_ITEMS) return f->ssa;
  ts_scope *scope = r->scope;
  ts_ssa *parts = ts_alloc(r, ((uint64_t)f->n + 1) * sizeof *parts);
  for (int32_t k = 0; parts && k < f->n; k++) parts[k] = f->items[k]->ssa;
  r->scope = b->scopes[side];
  const ts_ssa made = !parts ? none
                      : f->n ? ts_op(r, "SequenceConstruct", parts, (uint32_t)f->n)
                             : ts_op(r, "SequenceEmpty", NULL, 0);
  r->scope = scope;
  return made;
}

static bool is_tensors(const ts_frozen *f) {
  for (int32_t k = 0; f->content->kind == TS_V_ITEMS && k < f->n; k++)
    if (f->items[k]->v->kind != TS_V_TENSOR || f->items[k]->ssa.id < 0) return false;
  return f->content->kind == TS_V_ITEMS || f->content->kind == TS_V_SEQUENCE;
}

static ts_value *merge_content(branches *b, ts_frozen *x, ts_frozen *y) {
  ts_value *p = x->content, *q = y->content;
  if (p == q) return p;
  if (p->kind == TS_V_ITEMS && q->kind == TS_V_ITEMS && x->n == y->n) {
    ts_value *v = ts_items(b->r, TS_V_ITEMS, p->items, x->n);
    for (int32_t k = 0; v && k < x->n; k++)
      if (!(v->items[k] = merge(b, x->items[k], y->items[k]))) return NULL;
    return v;
  }
  if (is_numbers(p) && is_numbers(q)) return merge_arrays(b, x, y);
  if (is_tensors(x) && is_tensors(y)) {
    const ts_ssa first = sequence_of(b, 0, x), second = sequence_of(b, 1, y);
    return b->r->status ? NULL : pending(b, TS_V_SEQUENCE, first, second);
  }
  if (p->kind != q->kind || p->kind == TS_V_ITEMS || p->kind == TS_V_VIEW ||
      p->kind == TS_V_SPLIT || p->kind == TS_V_SCAN)
    return differs(b);
  if (p->kind == TS_V_QUANT &&
      (p->quant->scale != q->quant->scale || p->quant->zero != q->quant->zero))
    return differs(b);
  ts_value *v = pending(b, p->kind, x->ssa, y->ssa);
  if (v) v->quant = p->quant;
  return v;
}

static ts_value *merge_tensors(branches *b, ts_frozen *x, ts_frozen *y) {
  ts_reader *r = b->r;
  if (x->content->kind == TS_V_POISON) return x->content;
  if (y->content->kind == TS_V_POISON) return y->content;
  if (x->content->kind != y->content->kind) return differs(b);
  const ts_quant *p = x->content->quant, *q = y->content->quant;
  if (p && (p->scale != q->scale || p->zero != q->zero)) return differs(b);
  ts_value *content = pending(b, x->content->kind, x->ssa, y->ssa);
  if (content) content->quant = p;
  ts_value *made = ts_tensor_of(r, content);
  ts_frozen *both[] = {x, y};
  for (int k = 0; made && k < 2; k++)
    if (both[k]->v->cell->v->cell->serial <= b->serial && !ts_may_alias(r, both[k]->v, made))
      return NULL;
  return made;
}

static ts_value *merge_tuples(branches *b, ts_frozen *x, ts_frozen *y) {
  if (x->n != y->n) return differs(b);
  ts_value *v = ts_tuple(b->r, x->v->items, x->n);
  if (v) v->text = x->v->text;
  for (int32_t k = 0; v && k < x->n; k++)
    if (!(v->items[k] = merge(b, x->items[k], y->items[k]))) return NULL;
  return v;
}

/* ---- values that are there in one branch only, and never used where they are not ---- */

static bool is_uninitialized(const ts_value *v) { return v && v->kind == TS_V_POISON && v->known; }

/* The value around the branches of which `like` is made, by way of first inputs: it will have the
 * same type in most programs. */
static ts_ssa made_of(branches *b, ts_ssa like) {
  const tn_graph_api *api = b->r->api;
  const tn_graph *g = like.scope->g;
  int32_t id = like.id;
  for (int hops = 0; hops < 16; hops++) {
    const int32_t producer = api->value_producer(g, id);
    const tn_node *n = producer < 0 ? NULL : api->node(g, producer);
    if (!n) break;
    if (!n->n_inputs || n->inputs[0] < 0) return like;
    id = n->inputs[0];
  }
  const char *name = api->value_name(g, id);
  if (api->value_flags(g, id) || !*name || !like.scope->outer) return like;
  const int32_t outer = api->value(b->r->scope->outer ? b->r->scope->outer->g : b->r->main.g, name);
  return outer < 0 ? like : (ts_ssa){like.scope->outer, outer};
}

/* What stands for a value in the other branch: a number, or a tensor like it. */
static ts_ssa anything(branches *b, int side, ts_value_kind kind, ts_ssa like) {
  ts_reader *r = b->r;
  ts_scope *scope = r->scope;
  const float zero = 0;
  const tn_tensor t = tn_tensor_make(TN_F32, 0, NULL, (void *)(intptr_t)&zero);
  const ts_value number = {.kind = kind, .known = true, .text = ""};
  r->scope = b->scopes[side];
  const ts_ssa from = kind == TS_V_TENSOR ? made_of(b, like) : like;
  if (from.scope && from.scope != like.scope) {
    r->scope = scope;
    return from;
  }
  const ts_ssa made = kind == TS_V_TENSOR ? ts_const(r, &t) : ts_scalar(r, &number);
  r->scope = scope;
  return made;
}

/* side: of the branch that has the value. */
static ts_value *merge_one(branches *b, int side, ts_frozen *f) {
  ts_reader *r = b->r;
  ts_value *v = f->v;
  const bool is_number =
      v && (v->kind == TS_V_BOOL || v->kind == TS_V_INT || v->kind == TS_V_FLOAT);
  if (v && v->kind == TS_V_TUPLE) {
    ts_value *made = ts_tuple(r, v->items, v->n);
    if (made) made->text = v->text;
    for (int32_t k = 0; made && k < v->n; k++)
      if (!(made->items[k] = merge_one(b, side, f->items[k]))) return NULL;
    return made;
  }
  const bool is_tensor = v && v->kind == TS_V_TENSOR && f->content->kind == TS_V_SSA;
  if (!v || (!is_number && !is_tensor) || f->ssa.id < 0 || ts_is_visible(r, f->ssa))
    return v ? v : ts_none(r);
  const ts_ssa other = anything(b, 1 - side, v->kind, f->ssa);
  if (other.id < 0) return NULL;
  ts_value *made =
      pending(b, is_tensor ? TS_V_SSA : v->kind, side ? other : f->ssa, side ? f->ssa : other);
  return is_tensor ? ts_tensor_of(r, made) : made;
}

static ts_value *merge(branches *b, ts_frozen *x, ts_frozen *y) {
  ts_value *p = x->v, *q = y->v;
  if (is_uninitialized(p) && q && p != q) return merge_one(b, 1, y);
  if (is_uninitialized(q) && p && p != q) return merge_one(b, 0, x);
  if (!p || !q)
    return p == q ? ts_none(b->r) : ts_poison(b->r, "it has a value in one branch only");
  if (p == q || ts_same(p, q)) return p;
  if (p->kind == TS_V_POISON) return p;
  if (q->kind == TS_V_POISON) return q;
  if (p->kind != q->kind) return differs(b);
  if (p->cell && p->cell == q->cell) return p;
  switch (p->kind) {
    case TS_V_BOOL:
    case TS_V_INT:
    case TS_V_FLOAT: break;
    case TS_V_TENSOR: return merge_tensors(b, x, y);
    case TS_V_TUPLE: return merge_tuples(b, x, y);
    case TS_V_LIST:
    case TS_V_DICT: {
      ts_value *content = merge_content(b, x, y);
      if (!content || content->kind == TS_V_POISON) return content;
      return ts_container(b->r, p->kind, content);
    }
    case TS_V_OBJECT: return p->object == q->object ? p : differs(b);
    default: return p->kind >= TS_V_VIEW ? merge_content(b, x, y) : differs(b);
  }
  ts_ssa ssa[2];
  ts_scope *scope = b->r->scope;
  for (int k = 0; k < 2; k++) {
    b->r->scope = b->scopes[k];
    ssa[k] = ts_scalar(b->r, k ? q : p);
  }
  b->r->scope = scope;
  return b->r->status ? NULL : pending(b, p->kind, ssa[0], ssa[1]);
}

/* ---- both ways ---- */

typedef struct way {
  ts_inner inner;
  ts_cells cells;
  ts_frozen **frozen;
  ts_value *conditions;
  const char *text;
  const char *raised; /* it raised this; NULL: it did not */
} way;

static bool run_way(ts_reader *r, const ts_node *block, way *w) {
  if (!ts_enter(r, &w->inner)) return false;
  r->n_branches++;
  bool ok = ts_run_block(r, block);
  r->n_branches--;
  if (r->status == TN_ERR_CANCELLED && r->raised) {
    w->raised = r->raised;
    r->raised = NULL;
    r->status = TN_OK;
    ts_leave(r, &w->inner);
    return true;
  }
  if (ok && r->frame->result) ok = ts_null(r, "not supported: return in a branch") != NULL;
  ok = ok && ts_changed(r, w->inner.n_changes, w->inner.serial, &w->cells);
  w->frozen = ok ? ts_alloc(r, ((uint64_t)w->cells.n + 1) * sizeof *w->frozen) : NULL;
  for (int64_t k = 0; w->frozen && k < w->cells.n; k++)
    w->frozen[k] = ts_freeze(r, w->cells.data[k]->v);
  if (!r->status) w->conditions = ts_conditions(r, &w->inner, &w->text);
  w->inner.scope = *r->scope;
  ts_scope *scope = r->scope;
  ts_leave(r, &w->inner);
  w->inner.outer = scope; /* now the one that was left */
  return ok && !r->status;
}

/* Where the way has each of the cells; -1: it did not change it. */
static int64_t *places_in(ts_reader *r, const way *w, const ts_cells *cells) {
  int64_t *at = ts_alloc(r, ((uint64_t)cells->n + 1) * sizeof *at);
  const int64_t mark = ts_mark(r, &w->cells);
  for (int64_t k = 0; at && k < cells->n; k++)
    at[k] = cells->data[k]->mark == mark ? cells->data[k]->slot : -1;
  return at;
}

static ts_frozen *frozen_in(ts_reader *r, way *w, ts_cell *cell, int64_t place) {
  if (place >= 0) return w->frozen[place];
  ts_scope *scope = r->scope;
  r->scope = w->inner.outer;
  ts_frozen *f = ts_freeze(r, cell->v);
  r->scope = scope;
  return f;
}

static bool merge_cells(branches *b, way *ways, ts_cells *cells, ts_value **out) {
  const int64_t *then_at = places_in(b->r, &ways[0], cells),
                *else_at = places_in(b->r, &ways[1], cells);
  if (!then_at || !else_at) return false;
  for (int64_t k = 0; k < cells->n; k++) {
    ts_frozen *x = frozen_in(b->r, &ways[0], cells->data[k], then_at[k]),
              *y = x ? frozen_in(b->r, &ways[1], cells->data[k], else_at[k]) : NULL;
    out[k] = y ? merge(b, x, y) : NULL;
    if (!out[k]) return false;
  }
  return true;
}

/* Their graphs get the outputs, and the If is added. */
static bool add_if(branches *b, ts_value *condition) {
  ts_reader *r = b->r;
  ts_scope *scope = r->scope;
  if (!b->pairs.n) return true;
  for (int side = 0; side < 2; side++) {
    r->scope = b->scopes[side];
    for (int64_t k = 0; k < b->pairs.n && !r->status; k++)
      ts_add_output(r, side ? b->pairs.data[k].else_ssa : b->pairs.data[k].then_ssa);
  }
  r->scope = scope;
  ts_ssa *outs = ts_alloc(r, (uint64_t)b->pairs.n * sizeof *outs);
  if (!outs || r->status) return false;
  tn_graph *graphs[] = {b->scopes[0]->g, b->scopes[1]->g};
  const tn_attr yes = tn_attr_graph("then_branch", &graphs[0]),
                no = tn_attr_graph("else_branch", &graphs[1]), *attrs[] = {&yes, &no};
  const ts_ssa in = ts_scalar(r, condition);
  if (!ts_node_add(r, "", "If", &in, 1, attrs, 2, outs, (uint32_t)b->pairs.n)) return false;
  for (int64_t k = 0; k < b->pairs.n; k++) b->pairs.data[k].out->ssa = outs[k];
  return true;
}

/* What has to hold in the branch that is taken has to hold at all. */
static ts_value *merge_conditions(branches *b, const way *ways) {
  if (ways[0].conditions->known && ways[1].conditions->known) return ways[0].conditions;
  return merge(b, &(ts_frozen){.v = ways[0].conditions}, &(ts_frozen){.v = ways[1].conditions});
}

static bool finish(branches *b, way *ways, ts_value *condition, ts_cells *cells) {
  ts_reader *r = b->r;
  if (!ts_cells_add(r, &ways[0].cells, cells) || !ts_cells_add(r, &ways[1].cells, cells))
    return false;
  ts_value **merged = ts_alloc(r, ((uint64_t)cells->n + 1) * sizeof *merged);
  if (!merged || !merge_cells(b, ways, cells, merged)) return false;
  ts_value *holds = merge_conditions(b, ways);
  if (!holds || !add_if(b, condition)) return false;
  for (int64_t k = 0; k < cells->n; k++)
    if (cells->data[k]->v != merged[k] && !ts_set(r, cells->data[k], merged[k])) return false;
  const char *text = *ways[0].text ? ways[0].text : ways[1].text;
  return holds->known || ts_require(r, holds->ssa, text);
}

static bool run_both(ts_reader *r, const ts_node *n, ts_value *condition) {
  branches b = {.r = r, .serial = r->serial};
  way ways[2] = {{.text = ""}, {.text = ""}};
  ts_cells cells = {0};
  bool ok = run_way(r, n->items[1], &ways[0]);
  if (ok && !ways[0].raised) ok = run_way(r, n->items[2], &ways[1]);
  b.scopes[0] = ways[0].inner.outer;
  b.scopes[1] = ways[1].inner.outer;
  const int raising = ways[0].raised ? 0 : 1;
  if (ok && ways[raising].raised)
    ok = take_other(r, condition, ways[raising].raised, raising == 0, n->items[2 - raising]);
  else
    ok = ok && finish(&b, ways, condition, &cells);
  tn_vec_free(&r->allocator, &cells);
  tn_vec_free(&r->allocator, &ways[0].cells);
  tn_vec_free(&r->allocator, &ways[1].cells);
  tn_vec_free(&r->allocator, &b.pairs);
  return ok && !r->status;
}

bool ts_if(ts_reader *r, const ts_node *n) {
  ts_value *v = ts_eval(r, n->items[0]), *condition = v ? ts_truth(r, v) : NULL;
  if (!condition) return false;
  if (condition->known) return ts_run_block(r, n->items[condition->i ? 1 : 2]);
  for (int side = 1; side <= 2; side++) {
    const ts_node *raise = find_raise(r, n->items[side]);
    if (raise)
      return take_other(r, condition,
                        raise->n > 1 ? text_of(r, n->items[side], raise->items[1], 8) : "",
                        side == 1, n->items[3 - side]);
    if (r->status) return false;
  }
  return run_both(r, n, condition);
}
