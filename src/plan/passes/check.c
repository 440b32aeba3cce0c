/* Stage check: every node gets its operator and its attribute struct. Functions of the model are
 * expanded unless an operator of that name is registered; operators that are older forms of newer
 * ones are replaced (TN_OP_LOWER_EARLY). All problems of the model are reported, subgraphs
 * included. */
#include <string.h>

#include "plan/nodes/functions.h"
#include "plan/passes/passes.h"

static int32_t wanted_version(const tn_graph *g, const tn_node *n) {
  return n->version ? n->version : tn_graph_api_table.opset(g, n->domain);
}

/* An operator that nobody offers: which one may be meant, or where it is to be had. */
static tn_status no_such_op(const tn_planner *p, const tn_graph *g, const tn_gnode *n,
                            tn_diag *diag) {
  char text[TN_NODE_TEXT];
  tn_arena arena;
  tn_arena_init(&arena, p->a);
  const char *hint = tn_shipped_hint(p->registry, n->node.domain, &arena);
  const tn_status status = tn_fail(
      diag, TN_ERR_UNSUPPORTED, "%s: not supported: operator %s%s%s; no plug-in offers it%s%s%s",
      tn_node_text(g, n, text, sizeof text), n->node.domain, *n->node.domain ? "::" : "",
      n->node.op, hint ? "; " : "", hint ? hint : "",
      tn_registry_near(p->registry, n->node.domain, n->node.op, &arena));
  tn_arena_clear(&arena);
  return status;
}

static tn_status not_supported(const tn_planner *p, const tn_graph *g, const tn_gnode *n,
                               int32_t version, tn_diag *diag) {
  char text[TN_NODE_TEXT];
  tn_arena arena;
  if (!tn_registry_has_op(p->registry, n->node.domain, n->node.op, NULL, NULL))
    return no_such_op(p, g, n, diag);
  tn_node_text(g, n, text, sizeof text);
  if (!version)
    return tn_fail(diag, TN_ERR_UNSUPPORTED,
                   "%s: the model does not import an operator set for domain '%s'", text,
                   *n->node.domain ? n->node.domain : "ai.onnx");
  tn_arena_init(&arena, p->a);
  const tn_status status = tn_fail(
      diag, TN_ERR_UNSUPPORTED, "%s: not supported: version %d of operator %s%s%s; versions %s are",
      text, version, n->node.domain, *n->node.domain ? "::" : "", n->node.op,
      tn_registry_versions(p->registry, n->node.domain, n->node.op, &arena));
  tn_arena_clear(&arena);
  return status;
}

/* Replaces a node by newer forms through its lowering; the added nodes come up for checking in
 * their turn. Where the newest form is another operator, a pin of this one would say nothing. */
static tn_status lower_early(const tn_planner *p, tn_graph *g, int32_t node, tn_diag *diag) {
  const tn_gnode *n = tn_graph_node(g, node);
  const tn_opdef *def = n->def, *newest;
  newest = tn_registry_op(p->registry, n->node.domain, n->node.op, 0);
  const char *pin = newest && newest->op.flags & TN_OP_LOWER_EARLY ? tn_pin_of(p, n) : NULL;
  char text[TN_NODE_TEXT];
  if (pin)
    return tn_fail(diag, TN_ERR_UNSUPPORTED,
                   "%s: kernel '%s' is pinned, but no kernel runs this operator: it becomes others "
                   "before kernels are chosen",
                   tn_node_text(g, n, text, sizeof text), pin);
  tn_edit e = {p,    g, node, TN_WHY("bringing the older form to the newest"), NULL, def->owner,
               diag, 0, -1};
  tn_note_use(&def->uses, TN_USE_LOWERED);
  return tn_edit_call(&e, def->op.lower, true);
}

static tn_status check_subgraphs(const tn_planner *p, const tn_graph *g, const tn_gnode *n,
                                 tn_diag *diag) {
  char text[TN_NODE_TEXT];
  tn_status status = TN_OK;
  if (n->n_subgraphs && !tn_has_feature(p->features, TN_FEATURE_SUBGRAPHS))
    return tn_fail(diag, TN_ERR_UNSUPPORTED,
                   "%s: runs subgraphs, which this program was linked without; to have them: "
                   "tenon select MODEL",
                   tn_node_text(g, n, text, sizeof text));
  if (n->n_subgraphs) tn_note_feature(p->features, TN_FEATURE_SUBGRAPHS);
  for (uint32_t k = 0; k < n->n_subgraphs; k++) {
    tn_status s = tn_pass_check(p, n->subgraphs[k], diag);
    if (s) status = s;
  }
  return status;
}

static tn_status use_plugin(const tn_planner *p, const tn_graph *g, const tn_gnode *n,
                            const tn_opdef *def, tn_diag *diag) {
  char text[TN_NODE_TEXT];
  tn_status status = tn_holder_use(p->holder, def->owner);
  if (status != TN_ERR_STATE) return status;
  return tn_fail(diag, status, "%s: plug-in '%s', which offers the operator, is being unloaded",
                 tn_node_text(g, n, text, sizeof text), def->owner->name);
}

/* The operators that were found last: a graph has many nodes of few. */
enum { N_RECENT = 16 };
typedef struct recent_ops {
  const tn_opdef *def[N_RECENT]; /* NULL: nothing yet */
  int32_t version[N_RECENT];
} recent_ops;

static const tn_opdef *find_op(const tn_planner *p, const tn_node *n, int32_t version,
                               recent_ops *recent) {
  const size_t slot = ((unsigned char)n->op[0] + 7 * strlen(n->op)) % N_RECENT;
  const tn_opdef *def = recent->def[slot];
  if (def && recent->version[slot] == version && !strcmp(def->op.name, n->op) &&
      !strcmp(def->op.domain, n->domain))
    return def;
  recent->version[slot] = version;
  return recent->def[slot] = tn_registry_op(p->registry, n->domain, n->op, version);
}

static tn_status check_node(const tn_planner *p, tn_graph *g, int32_t id, recent_ops *recent,
                            tn_diag *diag) {
  tn_gnode *n = tn_graph_node(g, id);
  int32_t version = wanted_version(g, &n->node);
  const tn_opdef *def = version || tn_is_region(n) ? find_op(p, &n->node, version, recent) : NULL;
  if (!def) {
    const tn_function *f = tn_function_find(g, &n->node);
    return f ? tn_function_inline(p, g, id, f, diag) : not_supported(p, g, n, version, diag);
  }
  n->node.version = version;
  tn_status s = use_plugin(p, g, n, def, diag);
  if (!s) s = tn_node_bind(g, id, def, diag);
  if (s) return s;
  if (def->op.flags & TN_OP_LOWER_EARLY && def->op.lower) return lower_early(p, g, id, diag);
  return check_subgraphs(p, g, n, diag);
}

tn_status tn_check_from(const tn_planner *p, tn_graph *g, int32_t first, tn_diag *diag) {
  tn_status status = TN_OK;
  const int64_t limit = tn_edit_limit(g);
  int64_t n_lowered = 0;
  recent_ops recent = {{NULL}, {0}};
  for (int32_t id = first; id < (int32_t)g->nodes.n; id++) {
    const tn_gnode *n = tn_graph_node(g, id);
    if (!n->alive || n->def) continue;
    tn_status s = check_node(p, g, id, &recent, diag);
    if (s) status = s;
    n = tn_graph_node(g, id);
    n_lowered += n->def && n->def->op.flags & TN_OP_LOWER_EARLY;
    if (n_lowered > limit)
      return tn_edit_endless(g, id, TN_WHY("bringing it to the newest form"), diag);
  }
  return status;
}

/* Types that a file claims for values between nodes are not trusted: inference finds them. */
static void forget_claims(tn_graph *g) {
  for (int64_t k = 0; k < g->values.n; k++) {
    tn_value *v = &g->values.data[k];
    if (v->producer < 0 || v->known) continue;
    v->type = &tn_type_unknown;
  }
}

tn_status tn_pass_check(const tn_planner *p, tn_graph *g, tn_diag *diag) {
  tn_status s = tn_functions_check(p, g, diag);
  if (s) return s;
  s = tn_check_from(p, g, 0, diag);
  tn_registry_late(p->registry, diag); /* plug-ins may have been loaded for its operators */
  const tn_status sorted = tn_graph_sort(g, diag);
  forget_claims(g);
  return s ? s : sorted;
}
