/* Functions: calls are expanded where they stand; If, Case and While become If and Loop of
 * ai.onnx. */
#include "reader.h"

#include "tenon/kit/lower.h"
#include "tenon/kit/onnx_dtype.h"
#include "tenon/kit/text.h"

/* ---- functions in an env ---- */

/* What results the function has for these arguments, which are values of e. */
static tn_status run(tf_env *e, const tf_node *n, const char *name, tn_graph *g,
                     const tf_value *args, uint32_t n_args, tf_value *out, uint32_t n_out) {
  tf_reader *r = e->r;
  tf_body *body;
  tf_env *inner;
  const char *prefix = tf_prefix(e, n);
  if (!prefix) return tf_no_memory(r);
  tn_status s = tf_body_open(r, name, &body);
  if (s) return s;
  if (body->n_args != n_args || body->n_rets < n_out)
    return tf_node_fail(r, n, TN_ERR_INVALID,
                        "calls '%.80s', which has %u arguments and %u results, with %u and %u",
                        name, body->n_args, body->n_rets, n_args, n_out);
  s = tf_env_new(r, body, g, e, prefix, &inner);
  const tf_env around = {.g = e->g};
  for (uint32_t k = 0; k < n_args && !s; k++)
    s = tf_capture(inner, &around, args[k], &inner->args[k]);
  for (uint32_t k = 0; k < n_out && !s; k++) s = tf_get(inner, body->rets[k], &out[k]);
  return s ? s : tf_assign_function(inner);
}

/* The same for arguments that are values of g already. */
static tn_status run_in(tf_env *e, const tf_node *n, const char *name, tn_graph *g,
                        const tf_value *args, uint32_t n_args, tf_value *out, uint32_t n_out) {
  tf_env there = *e;
  there.g = g;
  return run(&there, n, name, g, args, n_args, out, n_out);
}

typedef struct call {
  tf_env *e;
  int32_t node;
  const tf_node *n;
  tf_value *in, *out;
  uint32_t n_out;
  tf_carried carried; /* what branches and loops assign: further values that they give */
} call;

static tn_status open_call(tf_env *e, int32_t node, call *c) {
  *c = (call){.e = e, .node = node, .n = &e->body->nodes[node]};
  c->n_out = c->n->n_read;
  c->in = tf_values_new(e->r, c->n->n_in);
  c->out = tf_values_new(e->r, c->n_out > c->n->n_in ? c->n_out : c->n->n_in);
  if (!c->in || !c->out) return tf_no_memory(e->r);
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < c->n->n_in && !s; k++) s = tf_get(e, c->n->in[k], &c->in[k]);
  return s;
}

static tn_status function_named(const call *c, const char *attr, const char **out) {
  *out = tf_attr_func(c->e->r, c->n, attr);
  return *out ? TN_OK
              : tf_node_fail(c->e->r, c->n, TN_ERR_INVALID, "names no function as '%s'", attr);
}

static tn_status build_call(const call *c, const char *name) {
  const tn_status s = run(c->e, c->n, name, c->e->g, c->in, c->n->n_in, c->out, c->n_out);
  if (!s) tf_set(c->e, c->node, c->out);
  return s;
}

/* ---- If ---- */

tn_status tf_add_if(tf_env *e, const tf_node *n, int32_t condition, tn_graph *const graphs[2],
                    const int32_t *out, uint32_t n_out) {
  const tn_attr then_branch = tn_attr_graph("then_branch", &graphs[1]),
                else_branch = tn_attr_graph("else_branch", &graphs[0]),
                *attrs[] = {&then_branch, &else_branch};
  return tf_add_node(e, n, "", "If", &condition, 1, out, n_out, attrs, 2);
}

/* Conditions may be numbers, which are true if they are not 0. */
static tn_status as_bool(const call *c, tf_value v, int32_t *out) {
  enum { DT_STRING = 7, DT_BOOL = 10 };
  const int64_t type = tf_attr_int(c->n, "Tcond", DT_BOOL);
  *out = v.id;
  if (v.id < 0 || type == DT_STRING)
    return tf_node_fail(c->e->r, c->n, TN_ERR_UNSUPPORTED, "not supported: such a condition");
  if (type == DT_BOOL) return TN_OK;
  const tn_attr to = {
      .head = TN_HEAD(tn_attr), .name = "to", .kind = TN_ATTR_INT, .i = tn_onnx_of_dtype(TN_BOOL)};
  const tn_attr *attrs[] = {&to};
  *out = c->e->r->api->value(c->e->g, NULL);
  if (*out < 0) return tf_graph_fail(c->e->r, c->n, *out, "its condition cannot be a value");
  return tf_add_node(c->e, c->n, "", "Cast", &v.id, 1, out, 1, attrs, 1);
}

static tn_status add_results(const call *c, tn_graph *g, const tf_value *v, uint32_t n) {
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < n && !s; k++) s = tf_add_output(c->e, c->n, v[k], g);
  return s;
}

static tn_status last_choice(const call *c, tf_env *e, const char *name, tf_value *out) {
  return run(e, c->n, name, e->g, c->in + 1, c->n->n_in - 1, out, c->n_out);
}

/* Results of a branch, then what it leaves in the variables; around it they are as before. */
static tn_status choice_results(const call *c, tn_graph *g, tf_value *out, const tf_value *before,
                                tf_value *after) {
  tf_reader *r = c->e->r;
  tn_status s = add_results(c, g, out, c->n_out);
  if (!s) s = tf_carried_get(r, &c->carried, g, after);
  if (!s) s = add_results(c, g, after, c->carried.n);
  tf_carried_set(r, &c->carried, c->e->g, before);
  return s;
}

/* The values of the variables around a branch, and in its graph. */
static tn_status choice_open(const call *c, tn_graph *g, tf_value **before, tf_value **inside) {
  tf_reader *r = c->e->r;
  *before = tf_values_new(r, c->carried.n), *inside = tf_values_new(r, c->carried.n);
  if (!*before || !*inside) return tf_no_memory(r);
  tn_status s = tf_carried_get(r, &c->carried, c->e->g, *before);
  if (!s) s = tf_carried_get(r, &c->carried, g, *inside);
  if (!s) tf_carried_set(r, &c->carried, g, *inside);
  return s;
}

static tn_status choice_graph(const call *c, tn_graph *g, const char *name, tf_value *out) {
  tf_value *before, *inside;
  tn_status s = choice_open(c, g, &before, &inside);
  if (!s) s = run(c->e, c->n, name, g, c->in + 1, c->n->n_in - 1, out, c->n_out);
  return s ? s : choice_results(c, g, out, before, inside);
}

/* The node itself, with its results and what it leaves in the variables. */
static tn_status add_choice(const call *c, int32_t condition, tn_graph *const graphs[2],
                            tf_value *out) {
  tf_reader *r = c->e->r;
  const uint32_t n = c->n_out + c->carried.n;
  int32_t *ids = tn_arena_alloc(&r->arena, ((uint64_t)n + 1) * sizeof *ids);
  tf_value *after = tf_values_new(r, c->carried.n);
  if (!ids || !after) return tf_no_memory(r);
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < n && !s; k++) {
    s = tf_value_new(c->e, c->n, k, &ids[k]);
    (k < c->n_out ? &out[k] : &after[k - c->n_out])->id = ids[k];
  }
  if (!s) s = tf_add_if(c->e, c->n, condition, graphs, ids, n);
  if (!s) tf_carried_set(r, &c->carried, c->e->g, after);
  return s;
}

static tn_status if_of(const call *c, int32_t condition, const char *yes, const char *no,
                       tf_value *out) {
  tf_env *e = c->e;
  tn_graph *graphs[2];
  bool known;
  tf_value *v = tf_values_new(e->r, c->n_out);
  if (!v) return tf_no_memory(e->r);
  if (tf_known_bool(e, condition, &known)) return last_choice(c, e, known ? yes : no, out);
  tn_status s = tf_subgraph(e, c->n, &graphs[0]);
  if (!s) s = tf_subgraph(e, c->n, &graphs[1]);
  if (!s) s = choice_graph(c, graphs[0], no, v);
  if (!s) s = choice_graph(c, graphs[1], yes, v);
  return s ? s : add_choice(c, condition, graphs, out);
}

static tn_status build_if(const call *c) {
  const char *yes, *no;
  int32_t condition;
  tn_status s = function_named(c, "then_branch", &yes);
  if (!s) s = function_named(c, "else_branch", &no);
  if (!s && !c->n->n_in) s = tf_node_fail(c->e->r, c->n, TN_ERR_INVALID, "has no condition");
  if (!s) s = as_bool(c, c->in[0], &condition);
  if (!s) s = if_of(c, condition, yes, no, c->out);
  if (!s) tf_set(c->e, c->node, c->out);
  return s;
}

/* ---- Case ---- */

/* Is the index k? */
static tn_status index_is(const call *c, int32_t k, int32_t *out) {
  tf_reader *r = c->e->r;
  const tn_tensor t = tn_tensor_make(TN_I32, 0, NULL, &k);
  const int32_t number = r->api->value(c->e->g, NULL);
  *out = r->api->value(c->e->g, NULL);
  if (number < 0 || *out < 0 || r->api->value_set_const(c->e->g, number, &t, 1))
    return tf_graph_fail(r, c->n, TN_ERR_MEMORY, "");
  const int32_t in[] = {c->in[0].id, number};
  return tf_add_node(c->e, c->n, "", "Equal", in, 2, out, 1, NULL, 0);
}

/* Branch k if the index is k, else one of those behind it: the last for all other numbers. */
static tn_status case_of(const call *c, const tn_proto_value *branch, int32_t k, tf_value *out) {
  tf_reader *r = c->e->r;
  const tn_proto_value *more = branch->next;
  const char *name = tf_text(r, tn_proto_str(branch->message, "name"));
  tn_graph *graphs[2];
  int32_t condition;
  tf_value *v = tf_values_new(r, c->n_out), *before, *inside;
  if (!name || !v) return tf_no_memory(r);
  if (!more) return last_choice(c, c->e, name, out);
  if (k == TF_MAX_DEPTH) return tf_node_fail(r, c->n, TN_ERR_OVERFLOW, "has too many branches");
  tn_status s = index_is(c, k, &condition);
  if (!s) s = tf_subgraph(c->e, c->n, &graphs[0]);
  if (!s) s = tf_subgraph(c->e, c->n, &graphs[1]);
  if (!s) s = choice_graph(c, graphs[1], name, v);
  if (s) return s;
  tf_env there = *c->e;
  there.g = graphs[0];
  call inner = *c;
  inner.e = &there;
  inner.in = tf_values_new(r, c->n->n_in);
  if (!inner.in) return tf_no_memory(r);
  for (uint32_t i = 0; i < c->n->n_in && !s; i++)
    s = tf_capture(&there, c->e, c->in[i], &inner.in[i]);
  if (!s) s = choice_open(c, graphs[0], &before, &inside);
  if (!s) s = case_of(&inner, more, k + 1, v);
  if (!s) s = choice_results(c, graphs[0], v, before, inside);
  return s ? s : add_choice(c, condition, graphs, out);
}

static tn_status build_case(const call *c) {
  const tn_proto_message *list = tn_proto_sub(tf_attr(c->n, "branches"), "list");
  const tn_proto_value *first = tn_proto_next(list, "func", NULL);
  if (!first || !c->n->n_in || !(c->n_out + c->carried.n) || c->in[0].id < 0)
    return tf_node_fail(c->e->r, c->n, TN_ERR_INVALID, "has no index, or no branches");
  for (const tn_proto_value *v = first; v; v = v->next)
    if (v->field != first->field)
      return tf_node_fail(c->e->r, c->n, TN_ERR_INVALID, "its branches are no functions");
  const tn_status s = case_of(c, first, 0, c->out);
  if (!s) tf_set(c->e, c->node, c->out);
  return s;
}

/* ---- While ---- */

/* A result that is the argument of the same place does not change, and is read from outside. */
static bool is_kept(const tf_body *b, uint32_t k) {
  tf_edge edge = b->rets[k];
  for (int hops = 0; edge.node >= 0 && hops < 64; hops++) {
    const tf_node *n = &b->nodes[edge.node];
    if ((!tf_op_is(n, "Identity") && !tf_op_is(n, "StopGradient")) || !n->n_in) return false;
    edge = n->in[0];
  }
  return edge.node == ~(int32_t)k;
}

tn_status tf_add_loop(tf_env *e, const tf_node *n, int32_t condition, tn_graph *const *body,
                      const int32_t *in, uint32_t n_in, const int32_t *out) {
  const tn_attr a = tn_attr_graph("body", body), *attrs[] = {&a};
  int32_t *all = tn_arena_alloc(&e->r->arena, ((uint64_t)n_in + 2) * sizeof *all);
  if (!all) return tf_no_memory(e->r);
  all[0] = TN_NO_ID, all[1] = condition;
  if (n_in) memcpy(all + 2, in, n_in * sizeof *all);
  return tf_add_node(e, n, "", "Loop", all, n_in + 2, out, n_in, attrs, 1);
}

typedef struct loop {
  const call *c;
  const char *cond, *body;
  bool *kept;
  tn_graph *g;
  tf_value *now, *next; /* in g: what an iteration gets and leaves */
  tf_value *variables;  /* likewise */
} loop;

static tn_status loop_input(const loop *l, const char *what, uint32_t k, int32_t *out) {
  tf_env *e = l->c->e;
  const char *name = tn_arena_format(&e->r->arena, "%s%s#%s%u.%d", e->prefix, l->c->n->name, what,
                                     k, ++e->r->n_envs);
  if (!name) return tf_no_memory(e->r);
  *out = e->r->api->value(l->g, name);
  const tn_status s = *out < 0 ? *out : e->r->api->add_input(l->g, *out);
  return s ? tf_graph_fail(e->r, l->c->n, s, "its loop cannot be built") : TN_OK;
}

static tn_status loop_body(const loop *l) {
  const call *c = l->c;
  const tf_env there = {.r = c->e->r, .g = l->g};
  const uint32_t n = c->n->n_in;
  int32_t unread;
  tf_value goes_on;
  tn_status s = loop_input(l, "step", 0, &unread);
  if (!s) s = loop_input(l, "cond", 0, &unread);
  for (uint32_t k = 0; k < n && !s; k++) {
    tf_env inner = there;
    s = l->kept[k] ? tf_capture(&inner, c->e, c->in[k], &l->now[k])
                   : loop_input(l, "in", k, &l->now[k].id);
  }
  for (uint32_t k = 0; k < c->carried.n && !s; k++)
    s = loop_input(l, "variable", k, &l->variables[k].id);
  if (!s) tf_carried_set(c->e->r, &c->carried, l->g, l->variables);
  if (!s) s = run_in(c->e, c->n, l->body, l->g, l->now, n, l->next, n);
  for (uint32_t k = 0; k < n && !s; k++)
    if (l->kept[k]) l->next[k] = l->now[k];
  if (!s) s = run_in(c->e, c->n, l->cond, l->g, l->next, n, &goes_on, 1);
  if (!s) s = tf_add_output(c->e, c->n, goes_on, l->g);
  for (uint32_t k = 0; k < n && !s; k++)
    if (!l->kept[k]) s = tf_add_output(c->e, c->n, l->next[k], l->g);
  if (!s) s = tf_carried_get(c->e->r, &c->carried, l->g, l->variables);
  return s ? s : add_results(c, l->g, l->variables, c->carried.n);
}

static tn_status check_loop(const loop *l) {
  const call *c = l->c;
  tf_body *body;
  tn_status s = tf_body_open(c->e->r, l->body, &body);
  if (s) return s;
  if (body->n_rets != c->n->n_in || body->n_args != c->n->n_in)
    return tf_node_fail(c->e->r, c->n, TN_ERR_INVALID, "its body does not give what it takes");
  for (uint32_t k = 0; k < c->n->n_in && !s; k++) {
    l->kept[k] = is_kept(body, k);
    if (!l->kept[k] && c->in[k].id < 0)
      s = tf_node_fail(c->e->r, c->n, TN_ERR_UNSUPPORTED,
                       "not supported: argument %u of a loop is no value, and changes", k);
  }
  return s;
}

static tn_status build_while(const call *c) {
  tf_env *e = c->e;
  const uint32_t n = c->n->n_in;
  loop l = {.c = c,
            .kept = tn_arena_alloc(&e->r->arena, (uint64_t)n + 1),
            .now = tf_values_new(e->r, n),
            .next = tf_values_new(e->r, n),
            .variables = tf_values_new(e->r, c->carried.n)};
  const uint64_t room = (uint64_t)n + c->carried.n + 1;
  int32_t *in = tn_arena_alloc(&e->r->arena, room * sizeof *in),
          *out = tn_arena_alloc(&e->r->arena, room * sizeof *out);
  tf_value *before = tf_values_new(e->r, c->carried.n);
  if (!l.kept || !l.now || !l.next || !l.variables || !in || !out || !before)
    return tf_no_memory(e->r);
  tf_value condition;
  uint32_t m = 0;
  tn_status s = function_named(c, "cond", &l.cond);
  if (!s) s = function_named(c, "body", &l.body);
  if (!s) s = check_loop(&l);
  if (!s) s = run(e, c->n, l.cond, e->g, c->in, n, &condition, 1);
  if (!s) s = tf_carried_get(e->r, &c->carried, e->g, before);
  if (!s) s = tf_subgraph(e, c->n, &l.g);
  if (!s) s = loop_body(&l);
  for (uint32_t k = 0; k < n && !s; k++) {
    c->out[k] = c->in[k];
    if (l.kept[k]) continue;
    s = tf_value_new(e, c->n, k, &c->out[k].id);
    in[m] = c->in[k].id, out[m++] = c->out[k].id;
  }
  for (uint32_t k = 0; k < c->carried.n && !s; k++) {
    in[m] = before[k].id;
    s = tf_value_new(e, c->n, n + k, &before[k].id);
    out[m++] = before[k].id;
  }
  if (!s) s = tf_add_loop(e, c->n, condition.id, &l.g, in, m, out);
  if (!s) tf_carried_set(e->r, &c->carried, e->g, before);
  if (!s) tf_set(e, c->node, c->out);
  return s;
}

/* ---- all of them ---- */

static bool is_branch(const tf_node *n) { return tf_op_is(n, "If") || tf_op_is(n, "StatelessIf"); }
static bool is_case(const tf_node *n) {
  return tf_op_is(n, "Case") || tf_op_is(n, "StatelessCase");
}
static bool is_loop(const tf_node *n) {
  return tf_op_is(n, "While") || tf_op_is(n, "StatelessWhile");
}
static bool names_function(const tf_node *n) {
  return tf_op_is(n, "PartitionedCall") || tf_op_is(n, "StatefulPartitionedCall");
}

bool tf_is_call(const tf_env *e, const tf_node *n) {
  return names_function(n) || is_branch(n) || is_case(n) || is_loop(n) ||
         tn_map_get(&e->r->functions, n->op, -1) >= 0;
}

tn_status tf_call_build(tf_env *e, int32_t node) {
  const tf_node *n = &e->body->nodes[node];
  call c;
  const char *name = n->op;
  tn_status s = open_call(e, node, &c);
  if (!s && names_function(n)) s = function_named(&c, "f", &name);
  if (!s && (is_branch(n) || is_case(n) || is_loop(n))) s = tf_carried_find(e, n, c.in, &c.carried);
  if (s) return s;
  return is_branch(n) ? build_if(&c)
         : is_case(n) ? build_case(&c)
         : is_loop(n) ? build_while(&c)
                      : build_call(&c, name);
}
