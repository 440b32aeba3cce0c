/* Which variables the signatures of a SavedModel assign: these are states of the model, whatever
 * signature is read, and all others constants. Nothing is built here: handles are followed from
 * where they are made through the arguments of functions. */
#include "reader.h"

typedef struct search {
  tf_reader *r;
  int32_t depth;
} search;

static tn_status in_function(search *w, const char *name, const tf_body *outer,
                             const char *const *outer_args, const tf_node *caller);

/* Functions that the node calls, with the variables that it hands to them. */
static tn_status in_calls(search *w, const tf_body *b, const char *const *args, const tf_node *n) {
  tn_status s =
      tn_map_get(&w->r->functions, n->op, -1) < 0 ? TN_OK : in_function(w, n->op, b, args, n);
  for (const tn_proto_value *a = NULL; !s && (a = tn_proto_next(n->m, "attr", a));) {
    const tn_proto_message *value = tn_proto_sub(a->message, "value"),
                           *list = tn_proto_sub(value, "list");
    const tn_str one = tn_proto_str(tn_proto_sub(value, "func"), "name");
    if (one.size) s = in_function(w, tf_text(w->r, one), b, args, n);
    for (const tn_proto_value *f = NULL; list && !s && (f = tn_proto_next(list, "func", f));)
      s = in_function(w, tf_text(w->r, tn_proto_str(f->message, "name")), b, args, n);
  }
  return s;
}

static tn_status in_node(search *w, const tf_body *b, const char *const *args, const tf_node *n) {
  if (!tf_assigns(n->op)) return in_calls(w, b, args, n);
  const char *name = n->n_in ? tf_variable_in(w->r, b, args, n->in[0]) : NULL;
  return name && tn_map_set(&w->r->assigned, name, 1) ? tf_no_memory(w->r) : TN_OK;
}

/* Functions that cannot be read say why when they are needed. */
static tn_status in_function(search *w, const char *name, const tf_body *outer,
                             const char *const *outer_args, const tf_node *caller) {
  tf_reader *r = w->r;
  tf_body *b;
  if (!name) return tf_no_memory(r);
  if (w->depth == TF_MAX_DEPTH || tn_map_get(&r->functions, name, -1) < 0) return TN_OK;
  const tn_status opened = tf_body_open(r, name, &b);
  if (opened) return opened;
  if ((r->room_left -= b->n + 16) < 0)
    return tf_node_fail(r, caller, TN_ERR_OVERFLOW, "functions call each other too often");
  const char **args = tn_arena_alloc(&r->arena, ((uint64_t)b->n_args + 1) * sizeof *args);
  if (!args) return tf_no_memory(r);
  const uint32_t skipped = caller->n_in > b->n_args ? caller->n_in - b->n_args : 0;
  for (uint32_t k = 0; k < b->n_args && k + skipped < caller->n_in; k++)
    args[k] = tf_variable_in(r, outer, outer_args, caller->in[k + skipped]);
  tn_status s = TN_OK;
  w->depth++;
  for (int32_t k = 0; k < b->n && !s; k++) s = in_node(w, b, args, &b->nodes[k]);
  w->depth--;
  return s;
}

/* ---- signatures ---- */

static tn_status go_to_outputs(tf_reader *r, const tn_proto_message *signature, tf_reach *to) {
  tn_status s = TN_OK;
  for (const tn_proto_value *v = NULL; !s && (v = tn_proto_next(signature, "outputs", v));) {
    tn_str name = tn_proto_str(tn_proto_sub(v->message, "value"), "name");
    const char *colon = name.size ? memchr(name.data, ':', (size_t)name.size) : NULL;
    if (colon) name.size = colon - name.data;
    const char *text = tf_text(r, name);
    if (!text) return tf_no_memory(r);
    s = tf_go_to(r, to, (int32_t)tn_map_get(&r->main->names, text, -1));
  }
  return s;
}

tn_status tf_assigned_open(tf_reader *r) {
  const tf_body *b = r->main;
  search w = {.r = r};
  tf_reach to = {.reached = tn_arena_alloc(&r->arena, (uint64_t)b->n + 1)};
  tn_status s = to.reached ? TN_OK : tf_no_memory(r);
  for (const tn_proto_value *v = NULL; !s && (v = tn_proto_next(r->meta, "signature_def", v));) {
    const char *key = tf_text(r, tn_proto_str(v->message, "key"));
    if (!key) s = tf_no_memory(r);
    if (!s && strncmp(key, "__saved_model_", 14))
      s = go_to_outputs(r, tn_proto_sub(v->message, "value"), &to);
  }
  while (!s && to.list.n) {
    const tf_node *n = &b->nodes[to.list.data[--to.list.n]];
    s = in_node(&w, b, NULL, n);
    if (!s) s = tf_go_to_sources(r, &to, n);
  }
  tn_vec_free(&r->allocator, &to.list);
  return s;
}
