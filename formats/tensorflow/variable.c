/* Variables: handles that nodes hand on, and the values that the checkpoint has for them. Which is
 * which, the nodes say that would restore them: they are read, and not run. */
#include "reader.h"

#include "tenon/kit/text.h"

/* ---- handles ---- */

static const char *name_of(tf_reader *r, const tf_node *n) {
  const tn_str shared = tf_attr_str(n, "shared_name");
  return tf_op_is(n, "VarHandleOp") && shared.size ? tf_text(r, shared) : n->name;
}

tn_status tf_variable_handle(tf_env *e, int32_t node) {
  tf_reader *r = e->r;
  const tf_node *n = &e->body->nodes[node];
  const char *name = name_of(r, n);
  tf_value *v = tf_values_new(r, n->n_read + 1);
  if (!name || !v) return tf_no_memory(r);
  int64_t at = tn_map_get(&r->variables, name, -1);
  if (at < 0) {
    at = r->variable_list.n;
    const int64_t key = tn_map_get(&r->keys, n->name, -1);
    const tf_variable made = {name, key < 0 ? name : r->key_names.data[key], TN_NO_ID};
    if (tn_vec_push(&r->allocator, &r->variable_list, made) || tn_map_set(&r->variables, name, at))
      return tf_no_memory(r);
  }
  v->variable = (int32_t)at + 1;
  tf_set(e, node, v);
  if (tf_op_is(n, "VarHandleOp")) return TN_OK;
  tf_value handle = *v; /* of version 1: the node's output is the value */
  return tf_variable_read(e, n, handle, v);
}

tn_status tf_variable_read(tf_env *e, const tf_node *n, tf_value variable, tf_value *out) {
  tf_reader *r = e->r;
  if (!variable.variable)
    return tf_node_fail(r, n, TN_ERR_UNSUPPORTED, "not supported: what it reads is no variable");
  tf_variable *v = &r->variable_list.data[variable.variable - 1];
  if (v->id < 0) {
    if (!r->index.data)
      return tf_node_fail(r, n, TN_ERR_UNSUPPORTED,
                          "needs the value of variable '%.120s', which the file does not have: it "
                          "is not frozen, and no SavedModel with a checkpoint",
                          v->name);
    tn_tensor t;
    tn_status s = tf_bundle_get(r, v->key, n, &t);
    if (s) return s;
    const char *name = tn_arena_format(&r->arena, "%s#variable", v->name);
    if (!name) return tf_no_memory(r);
    const int32_t id = r->api->value(r->g, name);
    if (id < 0) return tf_graph_fail(r, n, id, "its value cannot be a constant");
    s = tf_set_const(r, n, r->g, id, &t, t.dtype != TN_STRING);
    if (s) return s;
    v->id = id;
  }
  const tf_env main = {.g = r->g};
  return tf_capture(e, &main, (tf_value){.id = v->id}, out);
}

/* ---- which key of the checkpoint a variable has ---- */

static const tf_node *behind(const tf_body *b, tf_edge *edge) {
  for (int hops = 0; edge->node >= 0 && hops < 16; hops++) {
    const tf_node *n = &b->nodes[edge->node];
    if (!tf_op_is(n, "Identity") || !n->n_in) return n;
    *edge = n->in[0];
  }
  return NULL;
}

const char *tf_variable_name(tf_env *e, tf_edge handle) {
  const tf_node *n = behind(e->body, &handle);
  if (n) return tf_op_is(n, "VarHandleOp") && name_of(e->r, n) ? name_of(e->r, n) : n->name;
  const int32_t number = handle.node < 0 ? e->args[~handle.node].variable : 0;
  return number ? e->r->variable_list.data[number - 1].name : "";
}

/* Text k of a constant. */
static tn_str text_at(const tf_body *b, tf_edge edge, uint32_t k) {
  const tf_node *n = behind(b, &edge);
  const tn_proto_message *t = n ? tn_proto_sub(tf_attr(n, "value"), "tensor") : NULL;
  const tn_proto_value *v = NULL;
  for (uint32_t i = 0; t && i <= k; i++) {
    v = tn_proto_next(t, "string_val", v);
    if (!v) break;
  }
  return v ? v->s : (tn_str){"", 0};
}

/* Assign(variable, RestoreV2(file, names, ...):k) says that variable's key. caller: the node that
 * calls the function that the assignment stands in. */
static tn_status note_restore(tf_reader *r, const tf_body *b, const tf_node *assign,
                              const tf_body *outer, const tf_node *caller) {
  if (assign->n_in < 2) return TN_OK;
  tf_edge value = assign->in[1], target = assign->in[0];
  const tf_node *restore = behind(b, &value), *variable = behind(b, &target);
  if (!restore || !tf_op_is(restore, "RestoreV2") || restore->n_in < 3) return TN_OK;
  if (target.node < 0 && caller && (uint32_t)~target.node < caller->n_in) {
    tf_edge given = caller->in[~target.node];
    variable = behind(outer, &given);
  }
  const char *key = tf_text(r, text_at(b, restore->in[1], value.out));
  if (!key) return tf_no_memory(r);
  if (!variable || !*key) return TN_OK;
  if (tn_map_set(&r->keys, variable->name, r->key_names.n) ||
      tn_vec_push(&r->allocator, &r->key_names, key))
    return tf_no_memory(r);
  return TN_OK;
}

static tn_status note_restores(tf_reader *r, const tf_body *b, const tf_body *outer,
                               const tf_node *caller) {
  tn_status s = TN_OK;
  for (int32_t k = 0; k < b->n && !s; k++)
    if (tf_op_is(&b->nodes[k], "Assign") || tf_op_is(&b->nodes[k], "AssignVariableOp"))
      s = note_restore(r, b, &b->nodes[k], outer, caller);
  return s;
}

static bool has_variables(const tf_body *b) {
  for (int32_t k = 0; k < b->n; k++)
    if (tf_op_is(&b->nodes[k], "VarHandleOp") || tf_op_is(&b->nodes[k], "VariableV2") ||
        tf_op_is(&b->nodes[k], "Variable"))
      return true;
  return false;
}

tn_status tf_variables_open(tf_reader *r) {
  if (!has_variables(r->main)) return TN_OK;
  tn_status s = tf_bundle_open(r);
  if (!s) s = note_restores(r, r->main, NULL, NULL);
  const char *name =
      tf_text(r, tn_proto_str(tn_proto_sub(r->meta, "saver_def"), "restore_op_name"));
  if (!name) return tf_no_memory(r);
  const int64_t at = tn_map_get(&r->main->names, name, -1);
  if (s || at < 0) return s;
  const tf_node *caller = &r->main->nodes[at];
  const char *function = tf_attr_func(r, caller, "f");
  tf_body *b;
  if (!function) return TN_OK;
  s = tf_body_open(r, function, &b);
  return s ? s : note_restores(r, b, r->main, caller);
}
