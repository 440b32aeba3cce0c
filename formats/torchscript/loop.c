/* for and while: loops that are known to be short are unrolled; else the body becomes the graph of
 * a Loop, and what it changes is carried from turn to turn. Which cells those are, and in which
 * form, is found by trying: the body is executed until no further change is needed. */
#include <stdio.h>

#include "reader.h"
#include "tenon/kit/lower.h"

enum { MAX_UNROLLED = 512, MAX_TRIES = 16 };

static const ts_ssa none = {NULL, TN_NO_ID};

typedef enum how {
  CARRIED,
  GROWING, /* a list that becomes longer: an array or a sequence */
  SCANNED, /* a list to which each turn adds one tensor, and nothing reads it */
  LOST     /* what it is after the loop is not known */
} how;

typedef struct carried {
  ts_cell *cell;
  how how;
  ts_value_kind element; /* of a list of numbers that grows; 0: it is none */
} carried;

/* A value of the graph that is carried. */
typedef struct leaf {
  ts_ssa before, inside, after;
  ts_value *out; /* gets what the loop gives */
} leaf;

typedef struct loop {
  ts_reader *r;
  const ts_node *n, *body;
  const char *variable;      /* of for; NULL: there is none */
  ts_value *list;            /* the variable is one item of it after the other; NULL: it counts */
  const ts_node *condition;  /* of while */
  ts_value *turns, *goes_on; /* NULL: not given */
  TN_VEC(carried) cells;
  TN_VEC(leaf) leaves;
  TN_VEC(ts_ssa) scans;
  int64_t n_open; /* cells that there were when the body began */
  int64_t n_used; /* leaves, while they are matched with what the body left */
  ts_ssa condition_after;
  bool again; /* something has to be carried in another way */
} loop;

/* ---- unrolling ---- */

static bool set_loop_variable(loop *l, ts_value *turn) {
  if (!l->variable || !turn) return turn != NULL;
  ts_value *v = l->list ? ts_item(l->r, l->list, turn) : turn;
  return v && ts_assign(l->r, l->n->items[0], v);
}

static bool unroll(loop *l, int64_t n) {
  for (int64_t k = 0; k < n; k++) {
    if (!set_loop_variable(l, ts_int(l->r, k)) || !ts_run_block(l->r, l->body)) return false;
    if (l->r->frame->result) return true;
  }
  return true;
}

/* ---- what is carried, before the loop ---- */

static ts_value *open_value(loop *l, ts_value *v, const carried *c);

/* A value of the body for one of before. */
static ts_value *open_leaf(loop *l, ts_value_kind kind, ts_ssa before) {
  ts_reader *r = l->r;
  const leaf made = {before, none, none, ts_new(r, kind)};
  if (before.id < 0 || !made.out) return NULL;
  if (tn_vec_push(&r->allocator, &l->leaves, made)) ts_no_memory(r);
  return r->status ? NULL : made.out;
}

static ts_value *open_items(loop *l, ts_value_kind kind, const ts_value *items) {
  ts_value *v = ts_items(l->r, kind, items->items, items->n);
  if (v) v->text = items->text;
  for (int32_t k = 0; v && k < items->n; k++)
    if (!(v->items[k] = open_value(l, items->items[k], &(carried){.how = CARRIED}))) return NULL;
  return v;
}

/* A list that is to grow. */
static ts_value *growing(loop *l, ts_value *content, const carried *c) {
  ts_reader *r = l->r;
  if (!c->element || content->n) return ts_open_items(r, content);
  const int64_t none_at_all = 0;
  static const double nothing[1];
  const uint32_t dtype = c->element == TS_V_FLOAT ? TN_F64 : TN_I64;
  const tn_tensor t = tn_tensor_make(dtype, 1, &none_at_all, (void *)(intptr_t)nothing);
  ts_value *v = ts_ssa_value(r, TS_V_ARRAY, ts_const(r, &t));
  if (v) v->element = c->element;
  return v;
}

static ts_value *open_content(loop *l, ts_value *content, const carried *c) {
  ts_reader *r = l->r;
  if (content->kind == TS_V_ITEMS && c->how == SCANNED && !content->n) {
    ts_value *v = ts_items(r, TS_V_SCAN, NULL, 0);
    return v;
  }
  if (content->kind == TS_V_ITEMS && (c->how == GROWING || c->how == SCANNED))
    content = growing(l, content, c);
  if (!content) return NULL;
  if (content->kind == TS_V_ITEMS) return open_items(l, TS_V_ITEMS, content);
  if (content->kind == TS_V_VIEW || content->kind == TS_V_SPLIT || content->kind == TS_V_SCAN)
    return ts_null(r, "not supported: changing this in a loop");
  ts_value *v = open_leaf(l, content->kind, content->ssa);
  if (v) {
    v->quant = content->quant;
    v->element = content->element;
  }
  return v;
}

static ts_value *open_kind(loop *l, ts_value *v, const carried *c) {
  ts_reader *r = l->r;
  if (v->kind == TS_V_BOOL || v->kind == TS_V_INT || v->kind == TS_V_FLOAT)
    return open_leaf(l, v->kind, ts_scalar(r, v));
  if (v->kind >= TS_V_VIEW) return open_content(l, v, c);
  if (v->kind == TS_V_TUPLE) return open_items(l, TS_V_TUPLE, v);
  if (v->kind == TS_V_LIST || v->kind == TS_V_DICT) {
    ts_value *made = ts_container(r, v->kind, open_content(l, v->cell->v, c));
    if (made) made->opened = made->cell->v;
    return made;
  }
  if (v->kind != TS_V_TENSOR) return v;
  ts_value *content = ts_content(r, v);
  if (!content) return NULL;
  const ts_ssa before = content->kind == TS_V_QUANT ? content->ssa : ts_read_tensor(r, v);
  ts_value *inside = open_leaf(l, content->kind, before);
  if (inside) inside->quant = content->quant;
  ts_value *tensor = ts_tensor_of(r, inside);
  return tensor && ts_may_alias(r, v, tensor) ? tensor : NULL;
}

static ts_value *open_value(loop *l, ts_value *v, const carried *c) {
  if (!ts_deeper(l->r)) return NULL;
  ts_value *made = open_kind(l, v, c);
  l->r->depth--;
  return made;
}

/* ---- the body ---- */

static ts_ssa add_input(ts_reader *r, const char *what, ts_value_kind kind) {
  const ts_ssa ssa = ts_ssa_new(r, what);
  const tn_tensor list = {
      .head = TN_HEAD(tn_tensor), .kind = TN_KIND_SEQUENCE, .rank = TN_RANK_UNKNOWN};
  tn_status s = ssa.id < 0 ? ssa.id : TN_OK;
  if (!s && kind == TS_V_SEQUENCE) s = r->api->value_set_type(r->scope->g, ssa.id, &list);
  if (!s) s = r->api->add_input(r->scope->g, ssa.id);
  if (s && !r->status) ts_fail(r, s, "a loop cannot have another input");
  return s ? none : ssa;
}

/* Values of before the loop are made before its graph is; then each leaf gets an input. */
static bool open_cells(loop *l, ts_value **inside) {
  ts_reader *r = l->r;
  for (int64_t k = 0; k < l->cells.n; k++) {
    const carried *c = &l->cells.data[k];
    inside[k] = NULL;
    if (c->how == LOST || !c->cell->v || c->cell->v->kind == TS_V_POISON) continue;
    if (!(inside[k] = open_value(l, c->cell->v, c))) return false;
  }
  return !r->status;
}

static bool add_inputs(loop *l, ts_ssa *out_turn) {
  ts_reader *r = l->r;
  *out_turn = add_input(r, "turn", TS_V_INT);
  add_input(r, "goes_on", TS_V_BOOL);
  for (int64_t k = 0; k < l->leaves.n && !r->status; k++) {
    leaf *f = &l->leaves.data[k];
    f->inside = add_input(r, "carried", f->out->kind);
    f->out->ssa = f->inside;
  }
  return !r->status;
}

/* What had no value before needs none from turn to turn. */
static bool note_changed(loop *l, const ts_inner *inner) {
  ts_reader *r = l->r;
  ts_cells changed = {0};
  bool ok = true;
  for (int64_t k = 0; ok && k < l->cells.n; k++)
    ok = !tn_vec_push(&r->allocator, &changed, l->cells.data[k].cell) || (ts_no_memory(r), false);
  const int64_t n_known = changed.n;
  ok = ok && ts_changed(r, inner->n_changes, inner->serial, &changed);
  for (int64_t k = n_known; ok && k < changed.n; k++) {
    const ts_value *was = r->journal.data[changed.data[k]->slot].before;
    const bool is_new = !was || was->kind == TS_V_POISON;
    const carried c = {changed.data[k], is_new ? LOST : CARRIED, TS_V_NONE};
    ok = !tn_vec_push(&r->allocator, &l->cells, c);
    if (!ok) ts_no_memory(r);
    l->again = l->again || !is_new;
  }
  tn_vec_free(&r->allocator, &changed);
  return ok;
}

/* ---- what the body left ---- */

static bool close_value(loop *l, carried *c, ts_value *inside, ts_frozen *f);

static bool close_leaf(loop *l, ts_ssa after) {
  if (l->n_used == l->leaves.n) return ts_fail(l->r, TN_ERR_INTERNAL, "a loop lost a value"), false;
  l->leaves.data[l->n_used++].after = after;
  return true;
}

/* It has to be carried in another way. */
static bool change_how(loop *l, carried *c, const ts_value *after) {
  l->again = true;
  const ts_value *one = after->kind == TS_V_ITEMS && after->n ? after->items[after->n - 1] : NULL;
  if (one && ts_is_number(one)) c->element = one->kind;
  if (after->kind == TS_V_ARRAY) c->element = after->element;
  c->how = c->how == GROWING || c->how == LOST       ? LOST
           : c->how == SCANNED || c->element || !one ? GROWING
                                                     : SCANNED;
  return true;
}

static bool close_content(loop *l, carried *c, ts_value *inside, ts_frozen *f) {
  const ts_value *after = f->content;
  if (inside->kind == TS_V_SCAN) {
    if (!after || after->kind != TS_V_SCAN || f->n != 1 || f->items[0]->v->kind != TS_V_TENSOR)
      return change_how(l, c, after);
    return !tn_vec_push(&l->r->allocator, &l->scans, f->items[0]->ssa) ||
           (ts_no_memory(l->r), false);
  }
  if (inside->kind == TS_V_ITEMS) {
    if (after->kind != TS_V_ITEMS || f->n != inside->n) return change_how(l, c, after);
    for (int32_t k = 0; k < f->n; k++)
      if (!close_value(l, c, inside->items[k], f->items[k])) return false;
    return true;
  }
  if (after->kind == TS_V_ITEMS && inside->kind == TS_V_ARRAY) {
    ts_value list = {.kind = TS_V_TUPLE, .items = after->items, .n = after->n, .text = ""};
    return close_leaf(l, ts_array(l->r, &list));
  }
  if (after->kind != inside->kind) return change_how(l, c, after);
  return close_leaf(l, f->ssa);
}

static bool close_value(loop *l, carried *c, ts_value *inside, ts_frozen *f) {
  ts_reader *r = l->r;
  const ts_value *after = f->v;
  if (!after || after->kind == TS_V_POISON || after->kind != inside->kind) {
    const bool is_content = after && after->kind >= TS_V_VIEW && inside->kind >= TS_V_VIEW;
    if (!is_content) return c->how = LOST, l->again = true, true;
  }
  if (inside->kind == TS_V_BOOL || inside->kind == TS_V_INT || inside->kind == TS_V_FLOAT)
    return close_leaf(l, ts_scalar(r, after));
  if (inside->kind >= TS_V_VIEW) return close_content(l, c, inside, f);
  if (inside->kind == TS_V_LIST || inside->kind == TS_V_DICT)
    return close_content(l, c, inside->opened, f);
  if (inside->kind == TS_V_TUPLE) {
    if (after->n != inside->n) return c->how = LOST, l->again = true, true;
    for (int32_t k = 0; k < f->n; k++)
      if (!close_value(l, c, inside->items[k], f->items[k])) return false;
    return true;
  }
  if (inside->kind == TS_V_TENSOR)
    return f->content->kind == TS_V_POISON ? (c->how = LOST, l->again = true)
                                           : close_leaf(l, f->ssa);
  const bool same = ts_same(inside, after) || (inside->object && inside->object == after->object);
  return same || (c->how = LOST, l->again = true);
}

static bool close_cells(loop *l, ts_value **inside) {
  l->n_used = 0;
  for (int64_t k = 0; k < l->n_open && !l->again; k++) {
    carried *c = &l->cells.data[k];
    if (!inside[k]) continue;
    ts_frozen *f = ts_freeze(l->r, c->cell->v);
    if (!f || !close_value(l, c, inside[k], f)) return false;
  }
  return !l->r->status;
}

/* ---- one try ---- */

/* Whether the loop goes on, at the end of the body; a known true where it only counts. */
static bool end_turn(loop *l) {
  ts_value *v = l->condition ? ts_eval(l->r, l->condition) : ts_bool(l->r, true);
  if (v) v = ts_truth(l->r, v);
  l->condition_after = v ? ts_scalar(l->r, v) : none;
  return !l->r->status;
}

static bool run_body(loop *l, ts_value **inside) {
  ts_reader *r = l->r;
  ts_ssa turn;
  if (!add_inputs(l, &turn)) return false;
  for (int64_t k = 0; k < l->cells.n; k++) {
    ts_cell *cell = l->cells.data[k].cell;
    ts_value *v = inside[k];
    if (!v && cell->v) v = ts_poison(r, "not supported: what an earlier turn of a loop left here");
    if (v && !ts_set(r, cell, v)) return false;
  }
  if (l->variable && !set_loop_variable(l, ts_ssa_value(r, TS_V_INT, turn))) return false;
  if (!ts_run_block(r, l->body)) return false;
  if (r->frame->result) return ts_null(r, "not supported: return in a loop"), false;
  return end_turn(l);
}

static bool add_outputs(loop *l) {
  if (!ts_add_output(l->r, l->condition_after)) return false;
  for (int64_t k = 0; k < l->leaves.n; k++)
    if (!ts_add_output(l->r, l->leaves.data[k].after)) return false;
  for (int64_t k = 0; k < l->scans.n; k++)
    if (!ts_add_output(l->r, l->scans.data[k])) return false;
  return true;
}

/* The Loop, whose outputs become what was carried. */
static bool add_loop(loop *l, tn_graph *graph, ts_ssa *outs) {
  ts_reader *r = l->r;
  const uint64_t n = (uint64_t)l->leaves.n;
  ts_ssa *in = ts_alloc(r, (n + 2) * sizeof *in);
  if (!in) return false;
  in[0] = l->turns ? ts_scalar(r, l->turns) : none;
  in[1] = l->goes_on ? ts_scalar(r, l->goes_on) : none;
  for (uint64_t k = 0; k < n; k++) in[k + 2] = l->leaves.data[k].before;
  const tn_attr body = tn_attr_graph("body", &graph), *attrs[] = {&body};
  return ts_node_add(r, "", "Loop", in, (uint32_t)n + 2, attrs, 1, outs,
                     (uint32_t)(n + (uint64_t)l->scans.n));
}

static bool take_results(loop *l, ts_value **inside, const ts_ssa *outs) {
  ts_reader *r = l->r;
  int64_t scan = l->leaves.n;
  for (int64_t k = 0; k < l->leaves.n; k++) l->leaves.data[k].out->ssa = outs[k];
  for (int64_t k = 0; k < l->cells.n; k++) {
    ts_value *v = k < l->n_open ? inside[k] : NULL;
    if (!v) v = ts_poison(r, "not supported: a value that a loop leaves, which need not have run");
    if (v && v->kind == TS_V_SCAN) v = ts_ssa_value(r, TS_V_STACK, outs[scan++]);
    if (v && v->kind == TS_V_LIST && v->cell->v->kind == TS_V_SCAN &&
        !ts_set(r, v->cell, ts_ssa_value(r, TS_V_STACK, outs[scan++])))
      return false;
    if (!ts_set(r, l->cells.data[k].cell, v)) return false;
  }
  return true;
}

/* Conditions of the body are one value that is carried; its leaf is the last one. */
static bool carry_conditions(loop *l, const ts_inner *inner, int64_t at, const char **out_text) {
  ts_reader *r = l->r;
  ts_value *holds = ts_conditions(r, inner, out_text);
  leaf *f = &l->leaves.data[at];
  ts_value *before = ts_ssa_value(r, TS_V_BOOL, f->inside);
  if (holds && before && !holds->known) holds = ts_scalar_op(r, "__and__", before, holds);
  if (!holds || !before) return false;
  f->after = holds->known ? f->inside : holds->ssa;
  return true;
}

static bool try_once(loop *l, bool *out_done) {
  ts_reader *r = l->r;
  ts_value **inside = ts_alloc(r, ((uint64_t)l->cells.n + 1) * sizeof *inside);
  const char *text = "";
  ts_inner inner;
  const int64_t serial = r->serial;
  l->leaves.n = l->scans.n = 0;
  l->n_open = l->cells.n;
  l->again = false;
  if (!inside || !open_cells(l, inside)) return false;
  const int64_t holds_at = l->leaves.n;
  ts_value *holds = open_leaf(l, TS_V_BOOL, ts_scalar(r, ts_bool(r, true)));
  if (!holds || !ts_enter(r, &inner)) return false;
  inner.serial = serial; /* what was opened is of the loop */
  bool ok = run_body(l, inside) && note_changed(l, &inner);
  if (ok && !l->again) ok = close_cells(l, inside);
  if (ok && !l->again) ok = carry_conditions(l, &inner, holds_at, &text) && add_outputs(l);
  tn_graph *graph = r->scope->g;
  ts_leave(r, &inner);
  *out_done = ok && !l->again;
  if (!*out_done) return ok;
  ts_ssa *outs = ts_alloc(r, ((uint64_t)l->leaves.n + (uint64_t)l->scans.n + 1) * sizeof *outs);
  if (!outs || !add_loop(l, graph, outs) || !take_results(l, inside, outs)) return false;
  return !*text || ts_require(r, holds->ssa, text);
}

/* A list that is read cannot be scanned: that is found out by a try that fails in silence. */
static bool try_scans(loop *l, bool *out_done) {
  ts_reader *r = l->r;
  bool scans = false;
  for (int64_t k = 0; k < l->cells.n; k++) scans = scans || l->cells.data[k].how == SCANNED;
  if (!scans) return try_once(l, out_done);
  const int64_t n_changes = r->journal.n, n_asserts = r->asserts.n, n_calls = r->n_calls;
  ts_scope *scope = r->scope;
  ts_frame *frame = r->frame;
  const ts_node *at = r->at;
  r->n_quiet++;
  const bool ok = try_once(l, out_done);
  r->n_quiet--;
  if (ok || r->status != TN_ERR_UNSUPPORTED) return ok;
  r->status = TN_OK;
  ts_roll_back(r, n_changes);
  r->asserts.n = n_asserts;
  r->n_calls = (int32_t)n_calls;
  r->scope = scope;
  r->frame = frame;
  r->at = at;
  for (int64_t k = 0; k < l->cells.n; k++)
    if (l->cells.data[k].how == SCANNED) l->cells.data[k].how = GROWING;
  *out_done = false;
  return true;
}

static bool run_loop(loop *l) {
  bool done = false, ok = true;
  for (int k = 0; k < MAX_TRIES && ok && !done; k++) ok = try_scans(l, &done);
  if (ok && !done) ok = ts_null(l->r, "not supported: what this loop changes") != NULL;
  tn_vec_free(&l->r->allocator, &l->cells);
  tn_vec_free(&l->r->allocator, &l->leaves);
  tn_vec_free(&l->r->allocator, &l->scans);
  return ok;
}

/* ---- statements ---- */

bool ts_for(ts_reader *r, const ts_node *n) {
  loop l = {.r = r, .n = n, .body = n->items[2], .variable = "for"};
  const ts_node *over = n->items[1];
  const char *name = over->kind == TS_CALL ? ts_dotted(r, over->items[0]) : NULL;
  if (r->status) return false;
  if (name && !strcmp(name, "range") && over->n == 2) {
    ts_value *v = ts_eval(r, over->items[1]);
    l.turns = v ? ts_to_int(r, v) : NULL;
  } else {
    l.list = ts_eval(r, over);
    l.turns = l.list ? ts_length(r, l.list) : NULL;
  }
  if (!l.turns) return false;
  if (l.turns->known && l.turns->i <= MAX_UNROLLED) return unroll(&l, l.turns->i);
  return run_loop(&l);
}

bool ts_while(ts_reader *r, const ts_node *n) {
  loop l = {.r = r, .n = n, .body = n->items[1], .condition = n->items[0]};
  for (int64_t k = 0; k <= MAX_UNROLLED; k++) {
    ts_value *v = ts_eval(r, n->items[0]);
    l.goes_on = v ? ts_truth(r, v) : NULL;
    if (!l.goes_on) return false;
    if (!l.goes_on->known) return run_loop(&l);
    if (!l.goes_on->i) return true;
    if (!ts_run_block(r, l.body)) return false;
    if (r->frame->result) return true;
  }
  return ts_null(r, "not supported: a loop of more than %d turns", MAX_UNROLLED), false;
}
