/* Graphs of branches and loops: entering, leaving, and keeping what they made. */
#include "reader.h"

static const ts_ssa none = {NULL, TN_NO_ID};

/* ---- inner graphs ---- */

bool ts_enter(ts_reader *r, ts_inner *inner) {
  *inner = (ts_inner){
      .outer = r->scope, .n_changes = r->journal.n, .n_asserts = r->asserts.n, .serial = r->serial};
  ts_scope *scope = ts_alloc(r, sizeof *scope);
  if (!scope) return false;
  *scope = (ts_scope){r->api->subgraph_new(r->scope->g), r->scope};
  if (!scope->g) return ts_no_memory(r), false;
  inner->scope = *scope;
  r->scope = scope;
  return true;
}

void ts_leave(ts_reader *r, ts_inner *inner) {
  ts_roll_back(r, inner->n_changes);
  r->asserts.n = inner->n_asserts;
  r->scope = inner->outer;
}

ts_value *ts_conditions(ts_reader *r, const ts_inner *inner, const char **out_text) {
  ts_value *all = ts_bool(r, true);
  *out_text = "";
  for (int64_t k = inner->n_asserts; all && k < r->asserts.n; k++) {
    ts_value *one = ts_ssa_value(r, TS_V_BOOL, r->asserts.data[k].condition);
    if (k == inner->n_asserts) *out_text = r->asserts.data[k].text;
    if (one) all = all->known ? one : ts_scalar_op(r, "__and__", all, one);
  }
  return all;
}

/* The same value may be two outputs, or one of a graph around it. */
bool ts_add_output(ts_reader *r, ts_ssa ssa) {
  const ts_ssa out = ts_op(r, "Identity", &ssa, 1);
  if (out.id < 0 || r->status) return false;
  const tn_status s = r->api->add_output(r->scope->g, out.id);
  if (s) ts_fail(r, s, "a branch or loop cannot have another output");
  return !s;
}

/* ---- frozen values ---- */

static bool freeze_items(ts_reader *r, ts_frozen *f, ts_value *const *items, int32_t n) {
  f->items = ts_alloc(r, ((uint64_t)n + 1) * sizeof *f->items);
  f->n = n;
  for (int32_t k = 0; f->items && k < n; k++) {
    f->items[k] = ts_freeze(r, items[k]);
    if (!f->items[k]) return false;
  }
  return f->items != NULL;
}

static bool freeze_content(ts_reader *r, ts_frozen *f, ts_value *content) {
  f->content = content;
  if (content->kind == TS_V_ITEMS || content->kind == TS_V_SCAN)
    return freeze_items(r, f, content->items, content->n);
  f->ssa = content->ssa;
  return true;
}

static bool freeze_kind(ts_reader *r, ts_frozen *f, ts_value *v) {
  if (v->kind == TS_V_TENSOR) {
    ts_value *content = v->cell->v->cell->v;
    f->content = content;
    if (content->kind == TS_V_SSA) f->ssa = ts_read_tensor(r, v);
    if (content->kind == TS_V_QUANT) f->ssa = content->ssa;
    return !r->status;
  }
  if (v->kind == TS_V_LIST || v->kind == TS_V_DICT) return freeze_content(r, f, v->cell->v);
  if (v->kind == TS_V_TUPLE) return freeze_items(r, f, v->items, v->n);
  if (v->kind >= TS_V_VIEW) return freeze_content(r, f, v);
  if (ts_is_number(v) && !v->known) f->ssa = v->ssa;
  return true;
}

ts_frozen *ts_freeze(ts_reader *r, ts_value *v) {
  ts_frozen *f = ts_alloc(r, sizeof *f);
  if (!f || !ts_deeper(r)) return NULL;
  f->v = v;
  f->ssa = none;
  const bool done = !v || freeze_kind(r, f, v);
  r->depth--;
  return done ? f : NULL;
}
