/* Building nodes when their values are asked for: depth first, with a list instead of recursion, so
 * that a long graph needs no deep stack. */
#include "reader.h"

#include "tenon/kit/text.h"

enum { NEW, OPEN, DONE };

/* ---- envs ---- */

tn_status tf_env_new(tf_reader *r, tf_body *b, tn_graph *g, tf_env *outer, const char *prefix,
                     tf_env **out) {
  const int64_t room = (int64_t)b->n * (int64_t)(sizeof(tf_value *) + 1) + 256;
  tf_env *e = NULL;
  if (r->room_left >= room) e = tn_arena_alloc(&r->arena, sizeof *e);
  if (r->room_left < room)
    return tn_proto_fail(&r->file, TN_ERR_OVERFLOW, b->m->at,
                         "functions, branches and loops make too many copies of nodes");
  r->room_left -= room;
  if (!e) return tf_no_memory(r);
  *e = (tf_env){.r = r, .body = b, .g = g, .outer = outer, .prefix = prefix};
  e->pred.node = TF_NO_PRED;
  e->values = tn_arena_alloc(&r->arena, ((uint64_t)b->n + 1) * sizeof *e->values);
  e->state = tn_arena_alloc(&r->arena, (uint64_t)b->n + 1);
  e->args = tf_values_new(r, b->n_args);
  *out = e;
  return e->values && e->state && e->args ? TN_OK : tf_no_memory(r);
}

tf_value *tf_values_new(tf_reader *r, uint32_t n) {
  tf_value *v = tn_arena_alloc(&r->arena, ((uint64_t)n + 1) * sizeof *v);
  for (uint32_t k = 0; v && k < n; k++) v[k].id = TN_NO_ID;
  return v;
}

const char *tf_prefix(tf_env *e, const tf_node *n) {
  return tn_arena_format(&e->r->arena, "%s%s#%d::", e->prefix, n->name, ++e->r->n_envs);
}

void tf_set(tf_env *e, int32_t node, tf_value *values) {
  e->values[node] = values;
  e->state[node] = DONE;
}

/* ---- values ---- */

tn_status tf_value_new(tf_env *e, const tf_node *n, uint32_t out, int32_t *out_id) {
  tf_reader *r = e->r;
  const char *name = out ? tn_arena_format(&r->arena, "%s%s:%u", e->prefix, n->name, out)
                         : tn_arena_format(&r->arena, "%s%s", e->prefix, n->name);
  if (!name) return tf_no_memory(r);
  *out_id = r->api->value(e->g, name);
  if (*out_id >= 0 && r->api->value_producer(e->g, *out_id) >= 0) {
    name = tn_arena_format(&r->arena, "%s#%d", name, ++r->n_envs); /* another has this name */
    if (!name) return tf_no_memory(r);
    *out_id = r->api->value(e->g, name);
  }
  return *out_id < 0 ? tf_graph_fail(r, n, *out_id, "its output cannot be a value") : TN_OK;
}

tn_status tf_capture(tf_env *e, const tf_env *from, tf_value v, tf_value *out) {
  tf_reader *r = e->r;
  *out = v;
  if (v.variable || v.id < 0 || e->g == from->g) return TN_OK;
  const char *name = r->api->value_name(from->g, v.id);
  out->id = *name ? r->api->value(e->g, name) : TN_ERR_INTERNAL;
  return out->id < 0 ? tf_graph_fail(r, NULL, out->id, "a value cannot be read in a branch or loop")
                     : TN_OK;
}

tn_status tf_get_id(tf_env *e, const tf_node *reads, tf_edge edge, int32_t *out) {
  tf_value v;
  const tn_status s = tf_get(e, edge, &v);
  *out = v.id;
  if (s || v.id >= 0) return s;
  return tf_node_fail(e->r, reads, TN_ERR_UNSUPPORTED,
                      "not supported: it reads '%.80s', which is no value",
                      edge.node < 0 ? "an argument" : e->body->nodes[edge.node].name);
}

bool tf_known_bool(const tf_env *e, int32_t id, bool *out) {
  const tn_tensor *t = e->r->api->value_type(e->g, id);
  if (!t || !t->data || t->dtype != TN_BOOL || t->rank != 0) return false;
  *out = *(const uint8_t *)t->data != 0;
  return true;
}

tn_status tf_add_output(tf_env *e, const tf_node *n, tf_value v, tn_graph *g) {
  tf_reader *r = e->r;
  if (v.id < 0)
    return tf_node_fail(r, n, TN_ERR_UNSUPPORTED,
                        "not supported: a branch or loop that gives what is no value");
  const char *name = tn_arena_format(&r->arena, "%s%s#out%d", e->prefix, n->name, ++r->n_envs);
  if (!name) return tf_no_memory(r);
  const int32_t copy = r->api->value(g, name);
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = "",
                        .op = "Identity",
                        .name = "",
                        .inputs = &v.id,
                        .n_inputs = 1,
                        .outputs = &copy,
                        .n_outputs = 1,
                        .offset = -1};
  const int32_t id = copy < 0 ? copy : r->api->add_node(g, &node);
  const tn_status s = id < 0 ? id : r->api->add_output(g, copy);
  return s ? tf_graph_fail(r, n, s, "its branch or loop cannot be built") : TN_OK;
}

tn_status tf_subgraph(tf_env *e, const tf_node *n, tn_graph **out) {
  *out = e->r->api->subgraph_new(e->g);
  return *out ? TN_OK : tf_graph_fail(e->r, n, TN_ERR_MEMORY, "");
}

/* ---- building ---- */

typedef struct walk {
  TN_VEC(int32_t) list;
  const tf_node *reads;
} walk;

/* Puts a node on the list that is to be built first. */
static tn_status push(tf_env *e, tf_edge edge, void *ctx) {
  walk *w = ctx;
  if (edge.node < 0 || e->state[edge.node] == DONE) return TN_OK;
  if (e->state[edge.node] == OPEN)
    return tf_node_fail(e->r, w->reads, TN_ERR_INVALID, "reads, in the end, what it makes itself");
  return tn_vec_push(&e->r->allocator, &w->list, edge.node) ? tf_no_memory(e->r) : TN_OK;
}

static tn_status push_sources(tf_env *e, int32_t node, walk *w) {
  const tf_node *n = &e->body->nodes[node];
  w->reads = n;
  if (e->body == e->r->main && tn_map_get(&e->r->inputs, n->name, TN_NO_ID) >= 0) return TN_OK;
  if (tf_is_flow(n)) return tf_flow_sources(e, node, push, w);
  tn_status s = TN_OK;
  for (uint32_t k = n->n_in; k-- > 0 && !s;) s = push(e, n->in[k], w);
  return s ? s : tf_run_before(e, node, push, w);
}

static tn_status count_built(tf_env *e, const tf_node *n) {
  if (++e->r->n_built <= e->r->limit) return TN_OK;
  return tf_node_fail(e->r, n, TN_ERR_OVERFLOW, "calls of functions make more than %lld nodes",
                      (long long)e->r->limit);
}

static tn_status build_all(tf_env *e, walk *w) {
  tn_status s = TN_OK;
  while (w->list.n && !s) {
    const int32_t node = w->list.data[w->list.n - 1];
    if (e->state[node] == NEW) {
      e->state[node] = OPEN;
      s = push_sources(e, node, w);
      continue;
    }
    w->list.n--;
    if (e->state[node] == DONE) continue;
    s = count_built(e, &e->body->nodes[node]);
    if (!s) s = tf_node_build(e, node);
    e->state[node] = DONE;
  }
  return s;
}

tn_status tf_get(tf_env *e, tf_edge edge, tf_value *out) {
  tf_reader *r = e->r;
  *out = (tf_value){.id = TN_NO_ID};
  if (edge.node < 0) return *out = e->args[~edge.node], TN_OK;
  if (e->state[edge.node] != DONE) {
    walk w = {.reads = &e->body->nodes[edge.node]};
    if (e->state[edge.node] == OPEN)
      return tf_node_fail(r, w.reads, TN_ERR_INVALID, "reads, in the end, what it makes itself");
    if (r->depth == TF_MAX_DEPTH)
      return tf_node_fail(r, w.reads, TN_ERR_OVERFLOW,
                          "functions, branches and loops stand more than %d deep, or a function "
                          "calls itself",
                          TF_MAX_DEPTH);
    r->depth++;
    tn_status s = push(e, edge, &w);
    if (!s) s = build_all(e, &w);
    tn_vec_free(&r->allocator, &w.list);
    r->depth--;
    if (s) return s;
  }
  const tf_value *values = e->values[edge.node];
  const tf_node *n = &e->body->nodes[edge.node];
  if (values && edge.out < (n->n_read ? n->n_read : 1)) *out = values[edge.out];
  return TN_OK;
}
