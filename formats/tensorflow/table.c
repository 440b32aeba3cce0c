/* Tables: handles that nodes hand on, and constants or files that fill them. The nodes that would
 * fill them when the model is loaded are read, and not run: they stand in the graph, or in a
 * function that the graph calls. */
#include "reader.h"

/* ---- what fills a table ---- */

static const char *name_of(tf_reader *r, const tf_node *n) {
  const tn_str shared = tf_attr_str(n, "shared_name");
  return shared.size ? tf_text(r, shared) : n->name;
}

/* The node of the graph behind an edge of a function that `caller` calls; caller NULL: of the graph
 * itself. */
static const tf_node *node_behind(const tf_reader *r, const tf_node *caller, tf_edge edge) {
  if (caller && edge.node < 0)
    edge = (uint32_t)~edge.node < caller->n_in ? caller->in[~edge.node] : (tf_edge){.node = -1};
  else if (caller)
    return NULL;
  return edge.node < 0 ? NULL : &r->main->nodes[edge.node];
}

static bool fills(const tf_node *n) {
  return n->n_in == 3 && (tf_op_is(n, "LookupTableImportV2") || tf_op_is(n, "LookupTableImport") ||
                          tf_op_is(n, "InitializeTableV2") || tf_op_is(n, "InitializeTable"));
}

static bool fills_from_file(const tf_node *n) {
  return n->n_in == 2 && (tf_op_is(n, "InitializeTableFromTextFileV2") ||
                          tf_op_is(n, "InitializeTableFromTextFile"));
}

/* Names of files are kept in variables: what the graph assigns to the one that n reads; else n. */
static const tf_node *file_behind(const tf_reader *r, const tf_node *n) {
  if (!n || !tf_op_is(n, "ReadVariableOp") || !n->n_in) return n;
  for (int32_t k = 0; k < r->main->n; k++) {
    const tf_node *a = &r->main->nodes[k];
    if (tf_op_is(a, "AssignVariableOp") && a->n_in == 2 && a->in[0].node == n->in[0].node)
      return node_behind(r, NULL, a->in[1]);
  }
  return NULL;
}

/* If the nodes of b fill this table, with what. */
static tn_status look_in(tf_reader *r, const tf_body *b, const tf_node *caller, const char *table,
                         tf_variable *out) {
  for (int32_t k = 0; k < b->n; k++) {
    const tf_node *n = &b->nodes[k], *handle;
    const bool from_file = fills_from_file(n);
    if (!fills(n) && !from_file) continue;
    handle = node_behind(r, caller, n->in[0]);
    const char *name = handle ? name_of(r, handle) : "";
    if (!name) return tf_no_memory(r);
    if (strcmp(name, table)) continue;
    out->table = handle;
    if (from_file) {
      out->file = file_behind(r, node_behind(r, caller, n->in[1]));
      out->lines = n;
      continue;
    }
    out->keys = node_behind(r, caller, n->in[1]);
    out->values = node_behind(r, caller, n->in[2]);
  }
  return TN_OK;
}

static tn_status find_content(tf_reader *r, const char *table, tf_variable *out) {
  tn_status s = look_in(r, r->main, NULL, table, out);
  for (int32_t k = 0; k < r->main->n && !s && !out->table; k++) {
    const tf_node *n = &r->main->nodes[k];
    bool takes_it = false;
    for (uint32_t i = 0; i < n->n_in && !takes_it; i++) {
      const tf_node *from = node_behind(r, NULL, n->in[i]);
      takes_it = from && (tf_op_is(from, "HashTableV2") || tf_op_is(from, "HashTable"));
    }
    const char *function = takes_it ? tf_attr_func(r, n, "f") : NULL;
    tf_body *b;
    if (!function || tn_map_get(&r->functions, function, -1) < 0) continue;
    s = tf_body_open(r, function, &b);
    if (!s && (r->room_left -= b->n) < 0)
      s = tf_node_fail(r, n, TN_ERR_OVERFLOW, "too many functions could fill tables");
    if (!s) s = look_in(r, b, n, table, out);
  }
  return s;
}

/* ---- handles ---- */

tn_status tf_table_handle(tf_env *e, int32_t node) {
  tf_reader *r = e->r;
  const tf_node *n = &e->body->nodes[node];
  const char *table = name_of(r, n), *name = NULL;
  tf_value *v = tf_values_new(r, n->n_read + 1);
  if (table) name = tn_arena_format(&r->arena, "table %s", table);
  if (!name || !v) return tf_no_memory(r);
  int64_t at = tn_map_get(&r->variables, name, -1);
  if (at < 0) {
    at = r->variable_list.n;
    tf_variable made = {.name = name, .now = TN_NO_ID, .state = TN_NO_ID};
    const tn_status s = find_content(r, table, &made);
    if (s) return s;
    if (tn_vec_push(&r->allocator, &r->variable_list, made) || tn_map_set(&r->variables, name, at))
      return tf_no_memory(r);
  }
  v->variable = (int32_t)at + 1;
  tf_set(e, node, v);
  return TN_OK;
}

/* ---- what reads them ---- */

static tn_status content(tf_reader *r, const tf_node *n, const tf_node *from, tn_tensor *out) {
  const tn_proto_message *m = from && (tf_op_is(from, "Const") || tf_op_is(from, "ConstV2"))
                                  ? tn_proto_sub(tf_attr(from, "value"), "tensor")
                                  : NULL;
  bool mapped;
  if (!m)
    return tf_node_fail(r, n, TN_ERR_UNSUPPORTED,
                        "not supported: a table that no constants fill when the model is loaded");
  return tf_tensor(r, from, m, out, &mapped);
}

static tn_status open_table(tf_env *e, const tf_node *n, uint32_t n_in, tn_tensor *keys,
                            tn_tensor *values) {
  tf_reader *r = e->r;
  tf_value handle;
  if (n->n_in != n_in)
    return tf_node_fail(r, n, TN_ERR_INVALID, "has %u inputs where it takes %u", n->n_in, n_in);
  tn_status s = tf_get(e, n->in[0], &handle);
  if (s) return s;
  if (!handle.variable || r->variable_list.data[handle.variable - 1].key)
    return tf_node_fail(r, n, TN_ERR_UNSUPPORTED, "not supported: what it reads is no table");
  const tf_variable table = r->variable_list.data[handle.variable - 1];
  if (table.file) return tf_asset_columns(r, n, &table, keys, values);
  s = content(r, n, table.keys, keys);
  if (!s) s = content(r, n, table.values, values);
  if (!s && (keys->rank != 1 || values->rank != 1 || keys->shape[0] != values->shape[0]))
    s = tf_node_fail(r, n, TN_ERR_UNSUPPORTED,
                     "not supported: a table whose keys and values are no two rows of one length");
  return s;
}

static tn_attr row_attr(const char *name, const tn_tensor *const *tensor) {
  return (tn_attr){
      .head = TN_HEAD(tn_attr), .name = name, .kind = TN_ATTR_TENSOR, .tensors = {tensor, 1}};
}

/* LabelEncoder, whose default is a constant. */
static tn_status add_encoder(tf_env *e, const tf_node *n, const tn_tensor *keys,
                             const tn_tensor *values, const int32_t in[2], int32_t out) {
  tf_reader *r = e->r;
  const int64_t one = 1;
  const tn_tensor *missing = r->api->value_type(e->g, in[1]);
  if (!missing || !missing->data || tn_tensor_elements(missing) != 1)
    return tf_node_fail(r, n, TN_ERR_UNSUPPORTED,
                        "not supported: a default that is no constant of one element");
  const tn_tensor row = tn_tensor_make(missing->dtype, 1, &one, missing->data), *const list[] = {
                                                                                    keys, values,
                                                                                    &row};
  const tn_attr k = row_attr("keys_tensor", &list[0]), v = row_attr("values_tensor", &list[1]),
                d = row_attr("default_tensor", &list[2]), *attrs[] = {&k, &v, &d};
  if (r->api->set_opset(r->g, "ai.onnx.ml", 4)) return tf_no_memory(r);
  return tf_add_node(e, n, "ai.onnx.ml", "LabelEncoder", in, 1, &out, 1, attrs, 3);
}

tn_status tf_table_find(tf_env *e, int32_t node) {
  const tf_node *n = &e->body->nodes[node];
  tf_value *v = tf_values_new(e->r, n->n_read + 1);
  tn_tensor keys, values;
  int32_t in[2];
  if (!v) return tf_no_memory(e->r);
  tn_status s = open_table(e, n, 3, &keys, &values);
  for (uint32_t k = 0; k < 2 && !s; k++) s = tf_get_id(e, n, n->in[k + 1], &in[k]);
  if (!s) s = tf_value_new(e, n, 0, &v->id);
  if (!s) s = add_encoder(e, n, &keys, &values, in, v->id);
  if (!s) tf_set(e, node, v);
  return s;
}

tn_status tf_table_size(tf_env *e, int32_t node) {
  const tf_node *n = &e->body->nodes[node];
  tf_value *v = tf_values_new(e->r, n->n_read + 1);
  tn_tensor keys, values;
  if (!v) return tf_no_memory(e->r);
  tn_status s = open_table(e, n, 1, &keys, &values);
  if (!s) s = tf_value_new(e, n, 0, &v->id);
  if (s) return s;
  const tn_tensor size = tn_tensor_make(TN_I64, 0, NULL, keys.shape);
  tf_set(e, node, v);
  return tf_set_const(e->r, n, e->g, v->id, &size, false);
}
