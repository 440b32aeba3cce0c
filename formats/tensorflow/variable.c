/* Variables: handles that nodes hand on, and the values that the checkpoint has for them. Which is
 * which, the nodes say that would restore them: they are read, and not run. What signatures assign
 * are states, which the session keeps; all others are constants. */
#include "reader.h"

#include "tenon/kit/lower.h"
#include "tenon/kit/onnx_dtype.h"
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
    const tf_variable made = {.name = name,
                              .key = key < 0 ? name : r->key_names.data[key],
                              .now = TN_NO_ID,
                              .state = TN_NO_ID};
    if (tn_vec_push(&r->allocator, &r->variable_list, made) || tn_map_set(&r->variables, name, at))
      return tf_no_memory(r);
  }
  v->variable = (int32_t)at + 1;
  tf_set(e, node, v);
  if (tf_op_is(n, "VarHandleOp")) return TN_OK;
  tf_value handle = *v; /* of version 1: the node's output is the value */
  return tf_variable_read(e, n, handle, v);
}

/* As a state of the session, if a signature assigns it. */
static tn_status make_state(tf_reader *r, const tf_node *n, tf_variable *v, tn_tensor type) {
  const int32_t initial = v->now;
  const char *name = tn_arena_format(&r->arena, "%s#before", v->name);
  if (!name) return tf_no_memory(r);
  v->now = r->api->value(r->g, name);
  type.data = NULL;
  tn_status s = v->now < 0 ? v->now : r->api->value_set_type(r->g, v->now, &type);
  v->state = s ? s : r->api->state_new(r->g, v->name, v->now, initial);
  return v->state < 0 ? tf_graph_fail(r, n, v->state, "its variable cannot be a state") : TN_OK;
}

static tn_status open_variable(tf_reader *r, const tf_node *n, tf_variable *v) {
  if (v->now >= 0) return TN_OK;
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
  v->now = id, v->g = r->g;
  return tn_map_get(&r->assigned, v->name, -1) < 0 ? TN_OK : make_state(r, n, v, t);
}

tn_status tf_variable_read(tf_env *e, const tf_node *n, tf_value variable, tf_value *out) {
  tf_reader *r = e->r;
  tf_variable *v = variable.variable ? &r->variable_list.data[variable.variable - 1] : NULL;
  if (!v || !v->key)
    return tf_node_fail(r, n, TN_ERR_UNSUPPORTED, "not supported: what it reads is no variable");
  const tn_status s = open_variable(r, n, v);
  const tf_env there = {.g = v->g};
  return s ? s : tf_capture(e, &there, (tf_value){.id = v->now}, out);
}

/* ---- branches and loops ---- */

static bool is_carried(const tf_carried *c, int32_t variable) {
  for (uint32_t k = 0; k < c->n; k++)
    if (c->list[k] == variable) return true;
  return false;
}

tn_status tf_carried_find(tf_env *e, const tf_node *n, const tf_value *in, tf_carried *out) {
  tf_reader *r = e->r;
  bool assigns = false;
  *out = (tf_carried){.n = 0};
  tn_status s = r->assigned.n ? tf_call_assigns(e, n, &assigns) : TN_OK;
  if (s || !assigns) return s;
  out->list = tn_arena_alloc(&r->arena, ((uint64_t)n->n_in + 1) * sizeof *out->list);
  if (!out->list) return tf_no_memory(r);
  for (uint32_t k = 0; k < n->n_in && !s; k++) {
    const int32_t at = in[k].variable - 1;
    if (at < 0 || is_carried(out, at)) continue;
    tf_variable *v = &r->variable_list.data[at];
    if (!v->key || tn_map_get(&r->assigned, v->name, -1) < 0) continue;
    s = open_variable(r, n, v);
    out->list[out->n++] = at;
  }
  return s;
}

tn_status tf_carried_get(tf_reader *r, const tf_carried *c, tn_graph *g, tf_value *out) {
  tf_env to = {.r = r, .g = g};
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < c->n && !s; k++) {
    const tf_variable *v = &r->variable_list.data[c->list[k]];
    const tf_env there = {.g = v->g};
    s = tf_capture(&to, &there, (tf_value){.id = v->now}, &out[k]);
  }
  return s;
}

void tf_carried_set(tf_reader *r, const tf_carried *c, tn_graph *g, const tf_value *values) {
  for (uint32_t k = 0; k < c->n; k++) {
    tf_variable *v = &r->variable_list.data[c->list[k]];
    v->now = values[k].id, v->g = g;
  }
}

/* ---- assignments ---- */

typedef struct assignment {
  const char *op;
  const char *to, *reduction; /* of the old value and inputs; NULL: the input itself */
  bool rows;                  /* indices are of rows */
} assignment;

static const assignment *assignment_of(const char *op) {
  static const assignment list[] = {
      {"AssignAddVariableOp", "Add", NULL, false},
      {"AssignSubVariableOp", "Sub", NULL, false},
      {"AssignVariableOp", NULL, NULL, false},
      {"ResourceScatterAdd", "ScatterND", "add", true},
      {"ResourceScatterMax", "ScatterND", "max", true},
      {"ResourceScatterMin", "ScatterND", "min", true},
      {"ResourceScatterMul", "ScatterND", "mul", true},
      {"ResourceScatterNdAdd", "ScatterND", "add", false},
      {"ResourceScatterNdMax", "ScatterND", "max", false},
      {"ResourceScatterNdMin", "ScatterND", "min", false},
      {"ResourceScatterNdUpdate", "ScatterND", "none", false},
      {"ResourceScatterUpdate", "ScatterND", "none", true},
  };
  for (size_t k = 0; k < sizeof list / sizeof *list; k++)
    if (!strcmp(list[k].op, op)) return &list[k];
  return NULL;
}

static tn_status unnamed(tf_env *e, const tf_node *n, int32_t *out) {
  *out = e->r->api->value(e->g, NULL);
  return *out < 0 ? tf_graph_fail(e->r, n, *out, "its value cannot be made") : TN_OK;
}

/* ScatterND takes i64, with an axis of their own for the dims that they index. */
static tn_status make_indices(tf_env *e, const tf_node *n, bool rows, int32_t *indices) {
  static const int64_t one = 1, last = -1;
  const tn_tensor axes = tn_tensor_make(TN_I64, 1, &one, (void *)&last);
  const tn_attr to = tn_attr_int("to", tn_onnx_of_dtype(TN_I64)), *attrs[] = {&to};
  int32_t in[] = {TN_NO_ID, TN_NO_ID};
  tn_status s = unnamed(e, n, &in[0]);
  if (!s) s = tf_add_node(e, n, "", "Cast", indices, 1, &in[0], 1, attrs, 1);
  if (s || !rows) return *indices = in[0], s;
  s = unnamed(e, n, &in[1]);
  if (!s) s = e->r->api->value_set_const(e->g, in[1], &axes, 1);
  if (!s) s = unnamed(e, n, indices);
  return s ? s : tf_add_node(e, n, "", "Unsqueeze", in, 2, indices, 1, NULL, 0);
}

static tn_status new_value(tf_env *e, const tf_node *n, const assignment *how, int32_t before,
                           int32_t *out) {
  int32_t in[] = {before, TN_NO_ID, TN_NO_ID};
  const tn_attr reduction = tn_attr_str("reduction", how->reduction ? how->reduction : "none"),
                *attrs[] = {&reduction};
  tn_status s = TN_OK;
  const uint32_t n_in = how->reduction ? 3 : 2;
  if (n->n_in != n_in)
    return tf_node_fail(e->r, n, TN_ERR_INVALID, "has %u inputs where it takes %u", n->n_in, n_in);
  for (uint32_t k = 1; k < n_in && !s; k++) s = tf_get_id(e, n, n->in[k], &in[k]);
  if (!s && !how->to) return *out = in[1], TN_OK;
  if (!s && how->reduction) s = make_indices(e, n, how->rows, &in[1]);
  if (!s) s = tf_value_new(e, n, 0, out); /* with a name, for branches and loops */
  return s ? s : tf_add_node(e, n, "", how->to, in, n_in, out, 1, attrs, how->reduction ? 1 : 0);
}

tn_status tf_variable_assign(tf_env *e, int32_t node) {
  tf_reader *r = e->r;
  const tf_node *n = &e->body->nodes[node];
  const assignment *how = assignment_of(n->op);
  tf_value handle, *none = tf_values_new(r, n->n_read + 1);
  int32_t made;
  if (!none) return tf_no_memory(r);
  if (!how || !n->n_in)
    return tf_node_fail(r, n, TN_ERR_UNSUPPORTED, "assigns variable '%.120s': not supported yet",
                        n->n_in ? tf_variable_name(e, n->in[0]) : "");
  tn_status s = tf_get(e, n->in[0], &handle);
  if (!s && (!handle.variable || !r->variable_list.data[handle.variable - 1].key))
    s = tf_node_fail(r, n, TN_ERR_UNSUPPORTED, "not supported: what it assigns is no variable");
  if (!s) s = open_variable(r, n, &r->variable_list.data[handle.variable - 1]);
  if (s) return s;
  const tf_variable *v = &r->variable_list.data[handle.variable - 1];
  if (v->state < 0 || v->g != e->g)
    return tf_node_fail(r, n, TN_ERR_UNSUPPORTED,
                        "not supported: how this variable comes here to be assigned");
  s = new_value(e, n, how, v->now, &made);
  if (s) return s;
  r->variable_list.data[handle.variable - 1].now = made;
  tf_set(e, node, none);
  return TN_OK;
}

tn_status tf_variables_close(tf_reader *r) {
  for (int64_t k = 0; k < r->variable_list.n; k++) {
    const tf_variable *v = &r->variable_list.data[k];
    if (v->state < 0) continue;
    const tn_status s = r->api->state_set(r->g, v->state, v->now);
    if (s)
      return s == TN_ERR_MEMORY ? tf_no_memory(r)
                                : tn_proto_fail(&r->file, s, 0,
                                                "what is assigned to variable '%.120s' cannot be "
                                                "its state",
                                                v->name);
  }
  return TN_OK;
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

const char *tf_variable_in(tf_reader *r, const tf_body *b, const char *const *args,
                           tf_edge handle) {
  const tf_node *n = behind(b, &handle);
  if (n) return tf_op_is(n, "VarHandleOp") ? name_of(r, n) : n->name;
  return handle.node < 0 ? args[~handle.node] : NULL;
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
