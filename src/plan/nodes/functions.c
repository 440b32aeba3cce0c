/* Expanding a function of the model where it is called. Values of the body get new ids in the
 * calling graph; its inputs and outputs become those of the call. */
#include "plan/nodes/functions.h"

#include <string.h>

#include "plan/passes/passes.h"

enum { MAX_DEPTH = 64, MAX_NODES = 1 << 18 }; /* all that functions bring to one model */

typedef struct inliner {
  tn_graph *g;
  const tn_graph *body;
  const tn_function *f;
  tn_node call; /* copy: adding nodes moves the original */
  int32_t *map; /* value of the body -> value of the graph; -1: not yet */
  tn_arena arena;
  uint32_t depth;
} inliner;

tn_status tn_functions_check(const tn_planner *p, const tn_graph *g, tn_diag *diag) {
  if (!g->functions.n) return TN_OK;
  tn_note_feature(p->features, TN_FEATURE_FUNCTIONS);
  if (tn_has_feature(p->features, TN_FEATURE_FUNCTIONS)) return TN_OK;
  return tn_fail(diag, TN_ERR_UNSUPPORTED, TN_WITHOUT_FUNCTIONS);
}

const tn_function *tn_function_find(const tn_graph *g, const tn_node *n) {
  for (; g; g = g->parent)
    for (int64_t k = 0; k < g->functions.n; k++) {
      const tn_function *f = &g->functions.data[k];
      if (!strcmp(f->name, n->op) && !strcmp(f->domain, n->domain) &&
          !strcmp(f->overload, n->overload))
        return f;
    }
  return NULL;
}

static int32_t map_value(inliner *i, int32_t inner) {
  if (inner < 0) return -1;
  if (i->map[inner] != -1) return i->map[inner] == -2 ? -1 : i->map[inner];
  int32_t id = tn_graph_value(i->g, NULL);
  if (id < 0) return id;
  i->map[inner] = id;
  const tn_value *v = tn_graph_val(i->body, inner);
  if (v->constant && tn_graph_set_const(i->g, id, v->type, v->constant)) return TN_ERR_MEMORY;
  return id;
}

static tn_status map_ids(inliner *i, const int32_t *from, uint32_t n, const int32_t **out) {
  int32_t *to = tn_arena_alloc(&i->arena, (n + 1) * sizeof *to);
  if (!to) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n; k++)
    if ((to[k] = map_value(i, from[k])) < -1) return to[k];
  *out = to;
  return TN_OK;
}

/* The attribute that stands for a reference, in memory of `arena`: the call's, the default's, or
 * none (*out is NULL). */
static tn_status resolve_ref(inliner *i, tn_arena *arena, const tn_attr *ref, const tn_attr **out) {
  const tn_attr *a = NULL;
  for (uint32_t k = 0; k < i->call.n_attrs && !a; k++)
    if (tn_str_is(ref->s, i->call.attrs[k]->name)) a = i->call.attrs[k];
  for (uint32_t k = 0; k < i->f->n_defaults && !a; k++)
    if (tn_str_is(ref->s, i->f->defaults[k]->name)) a = i->f->defaults[k];
  tn_attr *named = a ? tn_arena_copy(arena, a, sizeof *a) : NULL;
  if (named) named->name = ref->name;
  *out = named;
  return a && !named ? TN_ERR_MEMORY : TN_OK;
}

static tn_status resolve_subgraph(inliner *i, tn_graph *sub);

/* Graph attributes become copies of their own for every expansion, bound to the calling graph. */
static tn_status copy_graphs(inliner *i, tn_attr *a, const tn_gnode *n) {
  tn_graph **graphs = tn_arena_alloc(&i->arena, a->n_graphs * sizeof *graphs);
  if (!graphs) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < a->n_graphs; k++) {
    tn_graph *sub = tn_graph_clone(a->graphs[k]);
    if (!sub) return TN_ERR_MEMORY;
    sub->parent = i->g;
    if (tn_graph_is_too_deep(i->g)) {
      tn_graph_free(sub);
      return TN_ERR_OVERFLOW;
    }
    if (tn_vec_push(i->g->a, &i->g->subgraphs, sub)) {
      tn_graph_free(sub);
      return TN_ERR_MEMORY;
    }
    graphs[k] = sub;
    for (int64_t c = 0; c < sub->captures.n; c++) {
      int32_t outer = map_value(i, n->node.inputs[sub->captures.data[c].input]);
      if (outer < 0) return outer == TN_NO_ID ? TN_ERR_INVALID : outer;
      sub->captures.data[c].outer = outer;
    }
    tn_status s = resolve_subgraph(i, sub);
    if (s) return s;
  }
  a->graphs = graphs;
  return TN_OK;
}

static tn_status map_attrs(inliner *i, const tn_gnode *n, tn_node *to) {
  const tn_attr **attrs = tn_arena_alloc(&i->arena, (n->node.n_attrs + 1) * sizeof *attrs);
  if (!attrs) return TN_ERR_MEMORY;
  to->n_attrs = 0;
  for (uint32_t k = 0; k < n->node.n_attrs; k++) {
    const tn_attr *a = n->node.attrs[k];
    tn_status s = a->kind == TN_ATTR_REF ? resolve_ref(i, &i->arena, a, &a) : TN_OK;
    if (s) return s;
    if (!a) continue;
    if (a->n_graphs) {
      tn_attr *copy = tn_arena_copy(&i->arena, a, sizeof *a);
      s = copy ? copy_graphs(i, copy, n) : TN_ERR_MEMORY;
      if (s) return s;
      a = copy;
    }
    attrs[to->n_attrs++] = a;
  }
  to->attrs = attrs;
  return TN_OK;
}

/* References to the function's attributes may stand in subgraphs, too. */
static tn_status resolve_subgraph(inliner *i, tn_graph *sub) {
  for (int64_t k = 0; k < sub->nodes.n; k++) {
    tn_gnode *n = &sub->nodes.data[k];
    n->depth = i->depth; /* a function may call itself from in here */
    const tn_attr **attrs = tn_arena_alloc(&sub->arena, (n->node.n_attrs + 1) * sizeof *attrs);
    if (!attrs) return TN_ERR_MEMORY;
    uint32_t count = 0;
    for (uint32_t j = 0; j < n->node.n_attrs; j++) {
      const tn_attr *a = n->node.attrs[j];
      tn_status s = a->kind == TN_ATTR_REF ? resolve_ref(i, &sub->arena, a, &a) : TN_OK;
      if (s) return s;
      if (a) attrs[count++] = a;
    }
    n->node.attrs = attrs;
    n->node.n_attrs = count;
    if (!n->node.version) n->node.version = tn_graph_api_table.opset(i->body, n->node.domain);
    for (uint32_t j = 0; j < n->n_subgraphs; j++) {
      tn_status s = resolve_subgraph(i, n->subgraphs[j]);
      if (s) return s;
    }
  }
  return TN_OK;
}

static tn_status copy_node(inliner *i, const tn_gnode *n) {
  tn_node to = n->node;
  if (!to.version) to.version = tn_graph_api_table.opset(i->body, to.domain);
  if (tn_function_find(i->g, &to))
    to.version = 0; /* calls another function: versions do not apply */
  tn_status s = map_ids(i, n->node.inputs, n->node.n_inputs, &to.inputs);
  if (!s) s = map_ids(i, n->node.outputs, n->node.n_outputs, &to.outputs);
  if (!s) s = map_attrs(i, n, &to);
  if (s) return s;
  int32_t id = tn_graph_add_node(i->g, &to);
  if (id < 0) return id;
  tn_graph_node(i->g, id)->n_formal = n->n_formal;
  tn_graph_node(i->g, id)->depth = i->depth;
  return TN_OK;
}

/* Nodes of a graph, those of its subgraphs among them. */
static int64_t count_nodes(const tn_graph *g) {
  int64_t n = g->nodes.n;
  for (int64_t k = 0; k < g->nodes.n; k++)
    for (uint32_t j = 0; j < g->nodes.data[k].n_subgraphs; j++)
      n += count_nodes(g->nodes.data[k].subgraphs[j]);
  return n;
}

/* Functions that call others twice double what they bring with every level. Said once: all calls
 * that are left fail then. */
static tn_status check_growth(const inliner *i, const char *text, tn_diag *diag) {
  tn_graph *root = i->g;
  while (root->parent) root = root->parent;
  if (root->n_expanded > MAX_NODES) return TN_ERR_OVERFLOW;
  root->n_expanded += count_nodes(i->body);
  bool deep = i->depth > MAX_DEPTH;
  if (deep) root->n_expanded = MAX_NODES + 1;
  if (deep)
    return tn_fail(diag, TN_ERR_OVERFLOW,
                   "%s: functions call each other more than %d deep, '%s' at last", text, MAX_DEPTH,
                   i->f->name);
  if (root->n_expanded <= MAX_NODES) return TN_OK;
  return tn_fail(diag, TN_ERR_OVERFLOW,
                 "%s: expanding function '%s' would bring the nodes of functions to more than %d",
                 text, i->f->name, MAX_NODES);
}

static tn_status expand(inliner *i, int32_t node) {
  for (int64_t k = 0; k < i->body->values.n; k++) i->map[k] = -1;
  for (int64_t k = 0; k < i->body->inputs.n; k++) {
    int32_t given = k < i->call.n_inputs ? i->call.inputs[k] : -1;
    i->map[i->body->inputs.data[k]] = given < 0 ? -2 : given; /* -2: left out by the caller */
  }
  tn_status s = TN_OK;
  for (int64_t k = 0; k < i->body->nodes.n && !s; k++)
    if (i->body->nodes.data[k].alive) s = copy_node(i, &i->body->nodes.data[k]);
  if (s) return s;
  uint32_t n_out = (uint32_t)i->body->outputs.n;
  const int32_t *outs;
  s = map_ids(i, i->body->outputs.data, n_out, &outs);
  return s ? s : tn_graph_api_table.replace_node(i->g, node, outs, n_out);
}

tn_status tn_function_inline(const tn_planner *p, tn_graph *g, int32_t node, const tn_function *f,
                             tn_diag *diag) {
  char text[TN_NODE_TEXT];
  inliner i = {.g = g, .body = f->body, .f = f, .call = tn_graph_node(g, node)->node};
  i.depth = tn_graph_node(g, node)->depth + 1;
  tn_node_text(g, tn_graph_node(g, node), text, sizeof text);
  if (i.call.n_inputs > f->body->inputs.n || i.call.n_outputs > f->body->outputs.n)
    return tn_fail(diag, TN_ERR_INVALID,
                   "%s: %u inputs and %u outputs, but function '%s' has %lld and %lld", text,
                   i.call.n_inputs, i.call.n_outputs, f->name, (long long)f->body->inputs.n,
                   (long long)f->body->outputs.n);
  tn_status s = check_growth(&i, text, diag);
  if (s) return s;
  tn_arena_init(&i.arena, p->a);
  i.map = tn_arena_alloc(&i.arena, (uint64_t)(f->body->values.n + 1) * sizeof *i.map);
  s = i.map ? expand(&i, node) : TN_ERR_MEMORY;
  tn_arena_clear(&i.arena);
  if (s == TN_ERR_OVERFLOW)
    return tn_fail(diag, s, "%s: expanding function '%s' would nest graphs more than %d deep", text,
                   f->name, TN_MAX_GRAPH_DEPTH);
  return s ? tn_fail(diag, s, "%s: function '%s' could not be expanded", text, f->name) : TN_OK;
}
