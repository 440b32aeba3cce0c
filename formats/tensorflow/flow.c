/* Control flow of version 1. Between Switch and Merge of one predicate stands an If. Enter,
 * Merge, Switch, NextIteration and Exit of one frame are a Loop: each Merge is a value that it
 * carries, and an Enter that no Merge reads is a value that it sees. */
#include "reader.h"

static bool is(const tf_node *n, const char *op) {
  return !strcmp(n->op, op) || (!strncmp(n->op, "Ref", 3) && !strcmp(n->op + 3, op));
}

bool tf_is_flow(const tf_node *n) {
  return is(n, "Switch") || is(n, "Merge") || is(n, "Enter") || is(n, "Exit") ||
         is(n, "NextIteration") || is(n, "LoopCond");
}

static const tf_node *node_of(const tf_env *e, tf_edge edge) {
  return edge.node < 0 ? NULL : &e->body->nodes[edge.node];
}

static bool edge_is(const tf_env *e, tf_edge edge, const char *op) {
  const tf_node *n = node_of(e, edge);
  return n && is(n, op);
}

/* Behind nodes that only hand on. */
static tf_edge behind(const tf_env *e, tf_edge edge) {
  for (int hops = 0; hops < 64 && edge_is(e, edge, "Identity"); hops++) {
    const tf_node *n = node_of(e, edge);
    if (!n->n_in) break;
    edge = n->in[0];
  }
  return edge;
}

static bool same(tf_edge a, tf_edge b) { return a.node == b.node && a.out == b.out; }

static tn_status unstructured(tf_env *e, const tf_node *n) {
  return tf_node_fail(e->r, n, TN_ERR_UNSUPPORTED,
                      "not supported: control flow that is no branch or loop as TensorFlow's own "
                      "functions make them");
}

static tn_status give(tf_env *e, int32_t node, tf_value v) {
  const uint32_t n = e->body->nodes[node].n_read + 2;
  tf_value *values = tf_values_new(e->r, n);
  if (!values) return tf_no_memory(e->r);
  for (uint32_t k = 0; k < n; k++) values[k] = v;
  tf_set(e, node, values);
  return TN_OK;
}

/* The same body in another graph, or with other assumptions. */
static tn_status child(tf_env *e, const tf_node *n, tn_graph *g, tf_env **out) {
  const char *prefix = tf_prefix(e, n);
  tn_status s = prefix ? tf_env_new(e->r, e->body, g, e, prefix, out) : tf_no_memory(e->r);
  for (uint32_t k = 0; k < e->body->n_args && !s; k++)
    s = tf_capture(*out, e, e->args[k], &(*out)->args[k]);
  return s;
}

/* ---- which predicate a Merge asks ---- */

static const uint32_t CONTROL = UINT32_MAX; /* an edge that carries no value */

typedef struct side {
  struct side *next;
  tf_edge pred;
  uint32_t seen[2]; /* by branch of the Merge: bit k: a Switch's output k is on its way */
} side;

typedef struct search {
  tf_env *e;
  side *sides;
  const tf_edge *only; /* the predicate whose Switches end the way; NULL: none do */
  TN_VEC(int32_t) list;
  uint8_t *visited;
  TN_VEC(int32_t) switches;
} search;

static tn_status note_switch(search *w, tf_edge at, int branch, bool *out_ends) {
  const tf_node *n = node_of(w->e, at);
  if (n->n_in != 2) return unstructured(w->e, n);
  const tf_edge pred = behind(w->e, n->in[1]);
  *out_ends = w->only && same(*w->only, pred);
  if (w->only && !*out_ends) return TN_OK;
  side *s = w->sides;
  while (s && !same(s->pred, pred)) s = s->next;
  if (!s) {
    s = tn_arena_alloc(&w->e->r->arena, sizeof *s);
    if (!s) return tf_no_memory(w->e->r);
    *s = (side){.next = w->sides, .pred = pred};
    w->sides = s;
  }
  s->seen[branch] |= 1u << (at.out & 1);
  return tn_vec_push(&w->e->r->allocator, &w->switches, at.node) ? tf_no_memory(w->e->r) : TN_OK;
}

static tn_status look_at(search *w, tf_edge edge, int branch) {
  tf_env *e = w->e;
  if (edge.node < 0) return TN_OK;
  if (edge.out != CONTROL && edge_is(e, edge, "Switch")) {
    bool ends = false;
    const tn_status s = note_switch(w, edge, branch, &ends);
    if (s || ends) return s;
  }
  if (w->visited[edge.node] & (1 << branch)) return TN_OK;
  w->visited[edge.node] |= (uint8_t)(1 << branch);
  return tn_vec_push(&e->r->allocator, &w->list, edge.node) ? tf_no_memory(e->r) : TN_OK;
}

/* All Switches on the way to one input of the Merge. */
static tn_status search_branch(search *w, tf_edge from, int branch) {
  tf_env *e = w->e;
  tn_status s = look_at(w, from, branch);
  while (w->list.n && !s) {
    const int32_t at = w->list.data[--w->list.n];
    const tf_node *n = &e->body->nodes[at];
    if (is(n, "Merge") && e->values[at]) continue; /* carried by the loop that this is inside of */
    if (is(n, "NextIteration")) continue;
    const uint32_t n_in = is(n, "Switch") && n->n_in ? 1 : n->n_in;
    for (uint32_t k = 0; k < n_in && !s; k++) s = look_at(w, n->in[k], branch);
    for (uint32_t k = 0; k < n->n_controls && !s; k++)
      s = look_at(w, (tf_edge){n->controls[k], CONTROL}, branch);
    if ((e->r->room_left -= 16) < 0) s = unstructured(e, n);
  }
  return s;
}

static tn_status search_all(tf_env *e, int32_t node, const tf_edge *only, search *w) {
  const tf_node *n = &e->body->nodes[node];
  *w = (search){.e = e, .only = only};
  if ((e->r->room_left -= e->body->n) < 0) return unstructured(e, n);
  w->visited = tn_arena_alloc(&e->r->arena, (uint64_t)e->body->n + 1);
  if (!w->visited) return tf_no_memory(e->r);
  if (n->n_in != 2) return unstructured(e, n);
  tn_status s = search_branch(w, n->in[0], 0);
  return s ? s : search_branch(w, n->in[1], 1);
}

static void search_end(search *w) {
  tn_vec_free(&w->e->r->allocator, &w->list);
  tn_vec_free(&w->e->r->allocator, &w->switches);
}

/* The predicate that is true on the way to one input, and false on the way to the other;
 * *out_true: which input it is. */
static const side *predicate(const search *w, uint32_t *out_true) {
  for (const side *s = w->sides; s; s = s->next) {
    if (s->seen[0] == 1 && s->seen[1] == 2) return *out_true = 1, s;
    if (s->seen[0] == 2 && s->seen[1] == 1) return *out_true = 0, s;
  }
  return NULL;
}

/* A predicate that has decided something before decides again: then its Switches are on the way to
 * both inputs, and those that are met first count. */
static tn_status search_merge(tf_env *e, int32_t node, search *w, const side **out,
                              uint32_t *out_true) {
  tn_status s = search_all(e, node, NULL, w);
  *out = s ? NULL : predicate(w, out_true);
  for (const side *k = w->sides; k && !s && !*out; k = k->next) {
    if (k->seen[0] != 3 && k->seen[1] != 3) continue;
    search_end(w);
    s = search_all(e, node, &k->pred, w);
    *out = s ? NULL : predicate(w, out_true);
  }
  return s;
}

static tn_status merge_sources(tf_env *e, int32_t node, tf_edge_fn fn, void *ctx) {
  search w;
  uint32_t yes;
  const side *found;
  tn_status s = search_merge(e, node, &w, &found, &yes);
  if (!s && !found) s = unstructured(e, &e->body->nodes[node]);
  if (!s) s = fn(e, found->pred, ctx);
  for (int64_t k = 0; k < w.switches.n && !s; k++) {
    const tf_node *n = &e->body->nodes[w.switches.data[k]];
    if (same(behind(e, n->in[1]), found->pred)) s = fn(e, n->in[0], ctx);
  }
  search_end(&w);
  return s;
}

static tn_status branch_value(tf_env *e, const tf_node *n, tn_graph *g, tf_edge pred, bool which,
                              tf_edge from, tf_value *out, tf_env **out_env) {
  tf_env *inner;
  const tn_status s = child(e, n, g, &inner);
  if (s) return s;
  inner->pred = pred;
  inner->side = which;
  *out_env = inner;
  return tf_get(inner, from, out);
}

static tn_status build_merge_if(tf_env *e, int32_t node, tf_edge pred, uint32_t yes) {
  tf_reader *r = e->r;
  const tf_node *n = &e->body->nodes[node];
  tn_graph *graphs[2];
  tf_env *inner;
  int32_t condition, out;
  bool known;
  tf_value v;
  tn_status s = tf_get_id(e, n, pred, &condition);
  if (s) return s;
  if (tf_known_bool(e, condition, &known)) {
    s = branch_value(e, n, e->g, pred, known, n->in[known ? yes : 1 - yes], &v, &inner);
    return s ? s : give(e, node, v);
  }
  for (int which = 0; which < 2 && !s; which++) {
    graphs[which] = r->api->subgraph_new(e->g);
    if (!graphs[which]) return tf_no_memory(r);
    s = branch_value(e, n, graphs[which], pred, which, n->in[which ? yes : 1 - yes], &v, &inner);
    if (!s) s = tf_add_output(inner, n, v, graphs[which]);
  }
  if (!s) s = tf_value_new(e, n, 0, &out);
  if (!s) s = tf_add_if(e, n, condition, graphs, &out, 1);
  return s ? s : give(e, node, (tf_value){.id = out});
}

static tn_status build_merge(tf_env *e, int32_t node) {
  search w;
  uint32_t yes = 0;
  const tf_node *n = &e->body->nodes[node];
  const side *found;
  tn_status s = search_merge(e, node, &w, &found, &yes);
  search_end(&w);
  if (!s && n->n_read > 1)
    s = tf_node_fail(e->r, n, TN_ERR_UNSUPPORTED, "not supported: the index of the value");
  if (s) return s;
  return found ? build_merge_if(e, node, found->pred, yes) : unstructured(e, n);
}

/* Inside of a branch: what the Switch gets. */
static tn_status build_switch(tf_env *e, int32_t node) {
  const tf_node *n = &e->body->nodes[node];
  tf_value v, here;
  if (n->n_in != 2) return unstructured(e, n);
  const tf_edge pred = behind(e, n->in[1]);
  for (const tf_env *x = e; x && x->body == e->body; x = x->outer) {
    if (!same(x->pred, pred)) continue;
    tn_status s = tf_get(x->outer, n->in[0], &v);
    if (!s) s = tf_capture(e, x->outer, v, &here);
    return s ? s : give(e, node, here);
  }
  return unstructured(e, n);
}

/* ---- loops ---- */

static const char *frame_of(tf_env *e, const tf_node *enter) {
  return tf_text(e->r, tf_attr_str(enter, "frame_name"));
}

static tn_status build_enter(tf_env *e, int32_t node) {
  const tf_node *n = &e->body->nodes[node];
  const char *frame = frame_of(e, n);
  tf_value v, here;
  if (!frame) return tf_no_memory(e->r);
  for (const tf_env *x = e; x && x->body == e->body; x = x->outer) {
    if (!x->frame || strcmp(x->frame, frame) || !n->n_in) continue;
    tn_status s = tf_get(x->outer, n->in[0], &v);
    if (!s) s = tf_capture(e, x->outer, v, &here);
    return s ? s : give(e, node, here);
  }
  return unstructured(e, n);
}

enum { MAX_CARRIED = 256 };

typedef struct frame {
  tf_env *e;
  const tf_node *exit;
  const char *name;
  tf_edge cond;                /* what LoopCond reads */
  int32_t merges[MAX_CARRIED]; /* nodes */
  tf_edge enters[MAX_CARRIED], nexts[MAX_CARRIED];
  uint32_t n;
} frame;

/* A Merge of this frame: one input comes from an Enter, the other from a NextIteration. */
static tn_status add_carried(frame *f, int32_t node) {
  tf_env *e = f->e;
  const tf_node *n = &e->body->nodes[node];
  if (!is(n, "Merge") || n->n_in != 2) return TN_OK;
  const int at = edge_is(e, n->in[0], "Enter") ? 0 : 1;
  const tf_node *enter = node_of(e, n->in[at]), *next = node_of(e, n->in[1 - at]);
  if (!enter || !next || !is(enter, "Enter") || !is(next, "NextIteration")) return TN_OK;
  const char *name = frame_of(e, enter);
  if (!name) return tf_no_memory(e->r);
  if (strcmp(name, f->name)) return TN_OK;
  if (f->n == MAX_CARRIED || !enter->n_in || !next->n_in) return unstructured(e, n);
  f->merges[f->n] = node;
  f->enters[f->n] = enter->in[0];
  f->nexts[f->n++] = next->in[0];
  return TN_OK;
}

/* Exit, Switch, Merge, Enter: that one knows the name. */
static tn_status open_frame(tf_env *e, int32_t node, frame *f) {
  f->e = e, f->exit = &e->body->nodes[node], f->n = 0, f->name = NULL;
  const tf_node *sw = f->exit->n_in ? node_of(e, f->exit->in[0]) : NULL;
  if (!sw || !is(sw, "Switch") || sw->n_in != 2) return unstructured(e, f->exit);
  const tf_edge cond = behind(e, sw->in[1]), data = behind(e, sw->in[0]);
  if (!edge_is(e, cond, "LoopCond") || !edge_is(e, data, "Merge") || !node_of(e, cond)->n_in)
    return unstructured(e, f->exit);
  const tf_node *merge = node_of(e, data);
  for (uint32_t k = 0; k < merge->n_in && !f->name; k++)
    if (edge_is(e, merge->in[k], "Enter")) {
      f->name = frame_of(e, node_of(e, merge->in[k]));
      if (!f->name) return tf_no_memory(e->r);
    }
  f->cond = node_of(e, cond)->in[0];
  tn_status s = f->name ? TN_OK : unstructured(e, f->exit);
  if ((e->r->room_left -= 8 * (int64_t)e->body->n) < 0) s = unstructured(e, f->exit);
  for (int32_t k = 0; k < e->body->n && !s; k++) s = add_carried(f, k);
  return s;
}

static tn_status exit_sources(tf_env *e, int32_t node, tf_edge_fn fn, void *ctx) {
  frame f;
  tn_status s = open_frame(e, node, &f);
  for (int32_t k = 0; k < e->body->n && !s; k++) {
    const tf_node *n = &e->body->nodes[k];
    const char *name = is(n, "Enter") && n->n_in ? frame_of(e, n) : "";
    if (!name) return tf_no_memory(e->r);
    if (*name && !strcmp(name, f.name)) s = fn(e, n->in[0], ctx);
  }
  return s;
}

/* What goes round, as an env of the loop sees it: at the Merges, and behind their Switches. */
static tn_status bind(frame *f, tf_env *inner, const tf_value *values, bool switches) {
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < f->n && !s; k++) s = give(inner, f->merges[k], values[k]);
  for (int32_t at = 0; at < inner->body->n && switches && !s; at++) {
    const tf_node *n = &inner->body->nodes[at];
    if (!is(n, "Switch") || n->n_in != 2 || n->in[0].node < 0) continue;
    for (uint32_t k = 0; k < f->n && !s; k++)
      if (n->in[0].node == f->merges[k]) s = give(inner, at, values[k]);
  }
  return s;
}

static tn_status env_of(frame *f, tn_graph *g, const tf_value *values, bool switches,
                        tf_env **out) {
  const tn_status s = child(f->e, f->exit, g, out);
  if (s) return s;
  (*out)->frame = f->name;
  return bind(f, *out, values, switches);
}

static tn_status goes_on(frame *f, tn_graph *g, const tf_value *values, tf_env **env,
                         int32_t *out) {
  const tn_status s = env_of(f, g, values, false, env);
  return s ? s : tf_get_id(*env, f->exit, f->cond, out);
}

static tn_status loop_input(frame *f, tn_graph *g, const char *what, uint32_t k, int32_t *out) {
  tf_reader *r = f->e->r;
  const char *name =
      tn_arena_format(&r->arena, "%s%s#%s%u.%d", f->e->prefix, f->exit->name, what, k, ++r->n_envs);
  if (!name) return tf_no_memory(r);
  *out = r->api->value(g, name);
  const tn_status s = *out < 0 ? *out : r->api->add_input(g, *out);
  return s ? tf_graph_fail(r, f->exit, s, "its loop cannot be built") : TN_OK;
}

static tn_status loop_body(frame *f, tn_graph *g) {
  tf_value now[MAX_CARRIED], next[MAX_CARRIED];
  tf_env *body, *cond;
  int32_t id;
  tn_status s = loop_input(f, g, "step", 0, &id);
  if (!s) s = loop_input(f, g, "cond", 0, &id);
  for (uint32_t k = 0; k < f->n && !s; k++) {
    now[k] = (tf_value){.id = TN_NO_ID};
    s = loop_input(f, g, "in", k, &now[k].id);
  }
  if (!s) s = env_of(f, g, now, true, &body);
  for (uint32_t k = 0; k < f->n && !s; k++) s = tf_get(body, f->nexts[k], &next[k]);
  if (!s) s = goes_on(f, g, next, &cond, &id);
  if (!s) s = tf_add_output(cond, f->exit, (tf_value){.id = id}, g);
  for (uint32_t k = 0; k < f->n && !s; k++) s = tf_add_output(body, f->exit, next[k], g);
  return s;
}

/* All Exits of the frame get their values at once. */
static tn_status give_exits(frame *f, const int32_t *out) {
  tf_env *e = f->e;
  tn_status s = TN_OK;
  for (int32_t at = 0; at < e->body->n && !s; at++) {
    const tf_node *n = &e->body->nodes[at];
    if (!is(n, "Exit") || !n->n_in || !edge_is(e, n->in[0], "Switch")) continue;
    const tf_node *sw = node_of(e, n->in[0]);
    const tf_edge data = sw->n_in ? behind(e, sw->in[0]) : (tf_edge){.node = -1};
    for (uint32_t k = 0; k < f->n && !s; k++)
      if (data.node == f->merges[k]) s = give(e, at, (tf_value){.id = out[k]});
  }
  return s;
}

static tn_status build_exit(tf_env *e, int32_t node) {
  frame *f = tn_arena_alloc(&e->r->arena, sizeof *f);
  tf_value first[MAX_CARRIED];
  int32_t in[MAX_CARRIED], out[MAX_CARRIED], condition;
  tf_env *cond;
  tn_graph *g;
  if (!f) return tf_no_memory(e->r);
  tn_status s = open_frame(e, node, f);
  for (uint32_t k = 0; k < f->n && !s; k++) {
    s = tf_get_id(e, f->exit, f->enters[k], &in[k]);
    first[k] = (tf_value){.id = in[k]};
  }
  if (!s) s = goes_on(f, e->g, first, &cond, &condition);
  if (!s) s = tf_subgraph(e, f->exit, &g);
  if (!s) s = loop_body(f, g);
  for (uint32_t k = 0; k < f->n && !s; k++)
    s = tf_value_new(e, &e->body->nodes[f->merges[k]], 0, &out[k]);
  if (!s) s = tf_add_loop(e, f->exit, condition, &g, in, f->n, out);
  if (!s) s = give_exits(f, out);
  if (!s && !e->values[node]) s = unstructured(e, f->exit);
  return s;
}

/* ---- all of them ---- */

tn_status tf_flow_sources(tf_env *e, int32_t node, tf_edge_fn fn, void *ctx) {
  const tf_node *n = &e->body->nodes[node];
  if (is(n, "Merge")) return merge_sources(e, node, fn, ctx);
  if (is(n, "Exit")) return exit_sources(e, node, fn, ctx);
  return is(n, "LoopCond") && n->n_in ? fn(e, n->in[0], ctx) : TN_OK;
}

static tn_status build_loop_cond(tf_env *e, int32_t node) {
  const tf_node *n = &e->body->nodes[node];
  tf_value v;
  if (!n->n_in) return unstructured(e, n);
  const tn_status s = tf_get(e, n->in[0], &v);
  return s ? s : give(e, node, v);
}

tn_status tf_flow_build(tf_env *e, int32_t node) {
  const tf_node *n = &e->body->nodes[node];
  if (is(n, "Merge")) return build_merge(e, node);
  if (is(n, "Switch")) return build_switch(e, node);
  if (is(n, "Enter")) return build_enter(e, node);
  if (is(n, "Exit")) return build_exit(e, node);
  if (is(n, "LoopCond")) return build_loop_cond(e, node);
  return unstructured(e, n);
}
