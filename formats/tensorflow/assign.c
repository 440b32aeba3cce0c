/* Which assignments to variables run, and in which order: nodes are built as they are run.
 *
 * Of the graph itself there run the nodes that outputs depend on, by data or control; of a function
 * that is called there run all nodes that change something. */
#include "reader.h"

static bool is_among(const char *op, const char *const *list, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (!strcmp(op, list[k])) return true;
  return false;
}

bool tf_assigns(const char *op) {
  static const char *const own[] = {"Assign",
                                    "AssignAdd",
                                    "AssignAddVariableOp",
                                    "AssignSub",
                                    "AssignSubVariableOp",
                                    "AssignVariableOp",
                                    "CountUpTo",
                                    "ResourceCountUpTo",
                                    "ResourceStridedSliceAssign",
                                    "ScatterAdd",
                                    "ScatterDiv",
                                    "ScatterMax",
                                    "ScatterMin",
                                    "ScatterMul",
                                    "ScatterNdAdd",
                                    "ScatterNdMax",
                                    "ScatterNdMin",
                                    "ScatterNdSub",
                                    "ScatterNdUpdate",
                                    "ScatterSub",
                                    "ScatterUpdate",
                                    "StridedSliceAssign"};
  static const char *const steps[] = {
      "Adadelta",  "AdagradDA", "AdagradV2",       "Adagrad",
      "AdaMax",    "Adam",      "AddSign",         "CenteredRMSProp",
      "FtrlV2",    "Ftrl",      "GradientDescent", "Momentum",
      "PowerSign", "RMSProp",   "ProximalAdagrad", "ProximalGradientDescent"};
  if (is_among(op, own, sizeof own / sizeof *own)) return true;
  if (!strncmp(op, "Resource", 8)) /* ResourceScatterAdd, ResourceSparseApplyAdam, ... */
    return !strncmp(op + 8, "Scatter", 7) || !strncmp(op + 8, "Apply", 5) ||
           !strncmp(op + 8, "SparseApply", 11);
  if (!strncmp(op, "Sparse", 6)) op += 6;
  return !strncmp(op, "Apply", 5) && is_among(op + 5, steps, sizeof steps / sizeof *steps);
}

/* ---- nodes that never run ---- */

static bool is_input(const tf_env *e, const tf_node *n) {
  return e->body == e->r->main && tn_map_get(&e->r->inputs, n->name, TN_NO_ID) >= 0;
}

static bool is_known(tf_env *e, tf_edge edge, bool *out) {
  for (int hops = 0; edge.node >= 0 && hops < 16; hops++) {
    const tf_node *n = &e->body->nodes[edge.node];
    tf_value v;
    if (is_input(e, n)) return false;
    if (tf_op_is(n, "Const"))
      return !tf_get(e, edge, &v) && v.id >= 0 && tf_known_bool(e, v.id, out);
    if (!tf_op_is(n, "Identity") && !tf_op_is(n, "PlaceholderWithDefault")) return false;
    if (!n->n_in) return false;
    edge = n->in[0];
  }
  return edge.node < 0 && e->args[~edge.node].id >= 0 &&
         tf_known_bool(e, e->args[~edge.node].id, out);
}

/* The side of a Switch that a constant turns off, and what comes from there. */
static bool is_off(tf_env *e, const uint8_t *dead, tf_edge edge) {
  bool chosen;
  if (edge.node < 0) return false;
  if (dead[edge.node]) return true;
  const tf_node *n = &e->body->nodes[edge.node];
  return (tf_op_is(n, "Switch") || tf_op_is(n, "RefSwitch")) && n->n_in == 2 &&
         is_known(e, n->in[1], &chosen) && edge.out != (uint32_t)chosen;
}

static bool is_dead(tf_env *e, const uint8_t *dead, const tf_node *n) {
  if (tf_op_is(n, "Merge") || tf_op_is(n, "RefMerge")) return false;
  for (uint32_t k = 0; k < n->n_in; k++)
    if (is_off(e, dead, n->in[k])) return true;
  for (uint32_t k = 0; k < n->n_controls; k++)
    if (dead[n->controls[k]]) return true;
  return false;
}

/* Nodes mostly stand in the order in which they run: one pass, and one more to see that. */
static bool never_runs(tf_env *e, int32_t node) {
  const tf_body *b = e->body;
  uint8_t *dead = tn_arena_alloc(&e->r->arena, (uint64_t)b->n + 1);
  bool more = dead != NULL;
  while (more && (e->r->room_left -= b->n) >= 0 && !dead[node]) {
    more = false;
    for (int32_t k = 0; k < b->n; k++) {
      if (dead[k] || !is_dead(e, dead, &b->nodes[k])) continue;
      dead[k] = 1;
      more = true;
    }
  }
  return dead && dead[node];
}

/* ---- functions that are called and not built: those without results that are read ---- */

typedef struct calls {
  tf_reader *r;
  TN_VEC(int64_t) list; /* functions; those before `next` were looked at */
  int64_t next;
  bool assigns;
} calls;

static tn_status note_function(calls *c, tn_str name) {
  const char *text = name.size ? tf_text(c->r, name) : "";
  if (!text) return tf_no_memory(c->r);
  const int64_t at = tn_map_get(&c->r->functions, text, -1);
  if (at < 0 || c->r->is_looked_at[at]) return TN_OK;
  c->r->is_looked_at[at] = 1;
  return tn_vec_push(&c->r->allocator, &c->list, at) ? tf_no_memory(c->r) : TN_OK;
}

static tn_status note_functions(calls *c, const tn_proto_message *node) {
  tn_status s = note_function(c, tn_proto_str(node, "op"));
  for (const tn_proto_value *a = NULL; !s && (a = tn_proto_next(node, "attr", a));) {
    const tn_proto_message *value = tn_proto_sub(a->message, "value"),
                           *list = tn_proto_sub(value, "list");
    s = note_function(c, tn_proto_str(tn_proto_sub(value, "func"), "name"));
    for (const tn_proto_value *f = NULL; list && !s && (f = tn_proto_next(list, "func", f));)
      s = note_function(c, tn_proto_str(f->message, "name"));
  }
  return s;
}

static tn_status look_at_node(calls *c, const tn_proto_message *m) {
  const char *op = tf_text(c->r, tn_proto_str(m, "op"));
  if (!op) return tf_no_memory(c->r);
  c->assigns |= tf_assigns(op);
  return note_functions(c, m);
}

static tn_status look_at_functions(calls *c) {
  tn_status s = TN_OK;
  while (c->next < c->list.n && !s) {
    const tn_proto_message *f = c->r->function_list[c->list.data[c->next++]];
    for (const tn_proto_value *v = NULL; !s && (v = tn_proto_next(f, "node_def", v));)
      s = look_at_node(c, v->message);
  }
  return s;
}

tn_status tf_call_assigns(tf_env *e, const tf_node *n, bool *out) {
  calls c = {.r = e->r};
  bool chosen;
  tn_status s;
  if (tf_op_is(n, "If") && n->n_in && is_known(e, n->in[0], &chosen)) {
    const tn_proto_message *branch = tf_attr(n, chosen ? "then_branch" : "else_branch");
    s = note_function(&c, tn_proto_str(tn_proto_sub(branch, "func"), "name"));
  } else {
    s = note_functions(&c, n->m);
  }
  if (!s) s = look_at_functions(&c);
  if (c.assigns) /* of these, others will ask again */
    for (int64_t k = 0; k < c.list.n; k++) e->r->is_looked_at[c.list.data[k]] = 0;
  if (c.assigns && (e->r->room_left -= c.list.n) < 0)
    s = tf_node_fail(e->r, n, TN_ERR_OVERFLOW, "too many calls assign variables");
  tn_vec_free(&e->r->allocator, &c.list);
  *out = c.assigns;
  return s;
}

/* ---- what runs before ---- */

static bool uses_variables(const tf_env *e, const tf_node *n) {
  return tf_op_is(n, "ReadVariableOp") || tf_op_is(n, "ResourceGather") || tf_assigns(n->op) ||
         tf_is_call(e, n);
}

typedef struct back {
  tf_env *e;
  TN_VEC(int32_t) list;
} back;

static tn_status go_back(back *b, int32_t node) {
  tf_env *e = b->e;
  if (node < 0 || e->seen[node] == e->n_seen) return TN_OK;
  e->seen[node] = e->n_seen;
  if (--e->r->room_left < 0)
    return tf_node_fail(e->r, &e->body->nodes[node], TN_ERR_OVERFLOW,
                        "too many nodes wait for each other");
  return tn_vec_push(&e->r->allocator, &b->list, node) ? tf_no_memory(e->r) : TN_OK;
}

static tn_status go_back_all(back *b, const tf_node *n, bool data) {
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < n->n_controls && !s; k++) s = go_back(b, n->controls[k]);
  for (uint32_t k = 0; data && k < n->n_in && !s; k++) s = go_back(b, n->in[k].node);
  return s;
}

static tn_status back_open(tf_env *e, back *b) {
  *b = (back){.e = e};
  if (!e->seen)
    e->seen = tn_arena_alloc(&e->r->arena, ((uint64_t)e->body->n + 1) * sizeof *e->seen);
  if (!e->seen) return tf_no_memory(e->r);
  e->n_seen++;
  return TN_OK;
}

tn_status tf_run_before(tf_env *e, int32_t node, tf_edge_fn fn, void *ctx) {
  const tf_node *n = &e->body->nodes[node];
  back b;
  if (!e->r->assigned.n || !n->n_controls || !uses_variables(e, n)) return TN_OK;
  tn_status s = back_open(e, &b);
  if (!s) s = go_back_all(&b, n, false);
  while (!s && b.list.n) {
    const int32_t at = b.list.data[--b.list.n];
    const tf_node *before = &e->body->nodes[at];
    if (is_input(e, before)) continue;
    if (uses_variables(e, before))
      s = fn(e, (tf_edge){at, 0}, ctx);
    else
      s = go_back_all(&b, before, true);
  }
  tn_vec_free(&e->r->allocator, &b.list);
  return s;
}

/* Does it hang on a Switch or on a loop of version 1? */
static tn_status is_conditional(tf_env *e, int32_t node, bool *out) {
  back b;
  tn_status s = back_open(e, &b);
  *out = false;
  if (!s) s = go_back(&b, node);
  while (!s && b.list.n && !*out) {
    const tf_node *n = &e->body->nodes[b.list.data[--b.list.n]];
    *out = tf_is_flow(n);
    s = go_back_all(&b, n, true);
  }
  tn_vec_free(&e->r->allocator, &b.list);
  return s;
}

/* ---- all of them ---- */

static tn_status assign(tf_env *e, int32_t node) {
  const tf_node *n = &e->body->nodes[node];
  tf_value none;
  bool conditional;
  if (never_runs(e, node)) return TN_OK;
  const tn_status s = is_conditional(e, node, &conditional);
  if (s) return s;
  if (conditional)
    return tf_node_fail(e->r, n, TN_ERR_UNSUPPORTED,
                        "assigns variable '%.120s' in a branch or loop: not supported yet",
                        n->n_in ? tf_variable_name(e, n->in[0]) : "");
  return tf_get(e, (tf_edge){node, 0}, &none);
}

static tn_status look_at(tf_env *e, int32_t node) {
  const tf_node *n = &e->body->nodes[node];
  bool assigns;
  tf_value none;
  if (tn_map_get(&e->r->functions, n->op, -1) < 0 && tf_assigns(n->op)) return assign(e, node);
  if (e->values[node]) return TN_OK; /* what is built was looked at */
  const tn_status s = tf_call_assigns(e, n, &assigns);
  return s || !assigns ? s : tf_get(e, (tf_edge){node, 0}, &none);
}

tn_status tf_assign_function(tf_env *e) {
  tn_status s = TN_OK;
  for (int32_t k = 0; k < e->body->n && !s; k++) s = look_at(e, k);
  return s;
}

tn_status tf_go_to(tf_reader *r, tf_reach *to, int32_t node) {
  if (node < 0 || to->reached[node]) return TN_OK;
  to->reached[node] = 1;
  return tn_vec_push(&r->allocator, &to->list, node) ? tf_no_memory(r) : TN_OK;
}

tn_status tf_go_to_sources(tf_reader *r, tf_reach *to, const tf_node *n) {
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < n->n_in && !s; k++) s = tf_go_to(r, to, n->in[k].node);
  for (uint32_t k = 0; k < n->n_controls && !s; k++) s = tf_go_to(r, to, n->controls[k]);
  return s;
}

tn_status tf_assign_graph(tf_env *e, const uint8_t *is_output) {
  const tf_body *b = e->body;
  tf_reach w = {.reached = tn_arena_alloc(&e->r->arena, (uint64_t)b->n + 1)};
  tn_status s = w.reached ? TN_OK : tf_no_memory(e->r);
  for (int32_t k = 0; k < b->n && !s; k++)
    if (is_output[k]) s = tf_go_to(e->r, &w, k);
  while (w.list.n && !s) {
    const int32_t node = w.list.data[--w.list.n];
    const tf_node *n = &b->nodes[node];
    if (is_input(e, n)) continue;
    s = look_at(e, node);
    if (!s) s = tf_go_to_sources(e->r, &w, n);
  }
  tn_vec_free(&e->r->allocator, &w.list);
  return s;
}
