/* Edits of the graph by plug-ins: lowerings and rewrites. What they did is looked at before anybody
 * builds on it: answers that are no status, values replaced by others of another type or of no
 * source, edits that come to no end. */
#include <stdio.h>

#include "plan/passes/passes.h"

enum { GROWTH = 64, GROWTH_FLAT = 16384, WHAT = 160 };

static const char *what_text(const tn_edit *e, char text[WHAT]) {
  const char *quote = e->name ? "'" : "";
  snprintf(text, WHAT, "%s%s%s%s%s", e->what, e->name ? " " : "", quote, e->name ? e->name : "",
           quote);
  return text;
}

static void say_failed(const tn_edit *e, tn_call_frame *f, tn_status status, const char *text) {
  const char *rule = e->g->complaint;
  char what[WHAT];
  f->call.host->fail(f, status, "%s failed: %s%s%s", what_text(e, what), text, rule ? "; " : "",
                     rule ? rule : "");
}

tn_status tn_edit_call(tn_edit *e, tn_edit_fn edit, bool unsupported_fails) {
  tn_call_frame f;
  tn_status s = tn_call_open(&f, e->p, e->g, e->node, e->diag);
  if (s) return s;
  const int64_t before = tn_diag_count(e->diag);
  char text[TN_ANSWER_TEXT];
  if ((s = tn_call_fetch_for(&f, e->owner))) {
    tn_call_close(&f);
    return s;
  }
  tn_graph *outermost = e->g;
  while (outermost->parent) outermost = outermost->parent;
  f.call.self = e->owner ? e->owner->self : NULL;
  e->promises = e->g->promises.n;
  e->g->complaint = NULL;
  e->g->lowering = e->node;
  e->g->old_nodes = (int32_t)e->g->nodes.n;
  e->g->old_values = (int32_t)e->g->values.n;
  outermost->shows = !tn_is_lazy(e->owner);
  const tn_status answer = edit(&f.call, e->g, e->node);
  outermost->shows = false;
  e->g->lowering = -1;
  if (answer == TN_NEEDS_DATA && f.needed_input != UINT32_MAX) {
    e->needed = (int32_t)f.needed_input;
    tn_call_close(&f);
    return answer;
  }
  s = tn_answer_status(answer, text, sizeof text);
  const bool silent = tn_diag_count(e->diag) == before;
  const bool fails = s && (s != TN_ERR_UNSUPPORTED || unsupported_fails);
  if (fails && silent) say_failed(e, &f, s, text);
  if (!fails) tn_diag_forgive(e->diag, before);
  tn_call_close(&f);
  return s;
}

static bool has_source(const tn_graph *g, int32_t value) {
  const tn_value *v = tn_graph_val(g, value);
  bool has = v->producer >= 0 || v->constant || v->flags & TN_VALUE_INPUT;
  for (int64_t k = 0; !has && k < g->captures.n; k++) has = g->captures.data[k].inner == value;
  return has;
}

static bool is_like(const tn_value *v, const tn_tensor *type) {
  if (!v->known) return true; /* it shows later, and is checked against what reads it */
  if (v->type->kind != type->kind) return false;
  return type->kind != TN_KIND_TENSOR ||
         (v->type->dtype == type->dtype && tn_same_shape(v->type, type));
}

static tn_status check_promise(const tn_edit *e, const tn_promise *p) {
  char node[TN_NODE_TEXT], old[TN_TENSOR_TEXT], now[TN_TENSOR_TEXT], what[WHAT];
  const tn_value *v = tn_graph_val(e->g, p->value);
  if (!v->users.n && !(v->flags & TN_VALUE_OUTPUT)) return TN_OK; /* has been replaced in turn */
  const bool is_made = has_source(e->g, p->value);
  if (is_made && is_like(v, &p->type)) return TN_OK;
  tn_node_text(e->g, tn_graph_node(e->g, e->node), node, sizeof node);
  what_text(e, what);
  if (!is_made)
    return tn_fail(e->diag, TN_ERR_INVALID, "%s: %s replaces a value by one that nothing makes",
                   node, what);
  return tn_fail(e->diag, TN_ERR_SHAPE, "%s: %s replaces a value of type %s by one of type %s",
                 node, what, tn_tensor_text(&p->type, old, sizeof old),
                 tn_tensor_text(v->type, now, sizeof now));
}

tn_status tn_edit_check(tn_edit *e) {
  tn_status s = TN_OK;
  for (int64_t k = e->promises; k < e->g->promises.n && !s; k++)
    s = check_promise(e, &e->g->promises.data[k]);
  e->g->promises.n = e->promises;
  return s;
}

int64_t tn_edit_limit(const tn_graph *g) { return GROWTH * g->nodes.n + GROWTH_FLAT; }

tn_status tn_edit_endless(tn_graph *g, int32_t node, const char *what, tn_diag *diag) {
  char text[TN_NODE_TEXT];
  return tn_fail(diag, TN_ERR_OVERFLOW, "%s: %s comes to no end: the graph has grown to %lld nodes",
                 tn_node_text(g, tn_graph_node(g, node), text, sizeof text), what,
                 (long long)g->nodes.n);
}
