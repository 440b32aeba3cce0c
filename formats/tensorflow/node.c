/* One node as a node of ai.onnx, tflite or tf, or as nothing at all where it only hands on. */
#include "reader.h"

#include "tenon/kit/text.h"

enum { MAX_ATTRS = 32, MAX_OUTPUTS = 65536 };

tn_status tf_add_node(tf_env *e, const tf_node *n, const char *domain, const char *op,
                      const int32_t *in, uint32_t n_in, const int32_t *out, uint32_t n_out,
                      const tn_attr *const *attrs, uint32_t n_attrs) {
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = domain,
                        .op = op,
                        .name = n->name,
                        .inputs = in,
                        .n_inputs = n_in,
                        .outputs = out,
                        .n_outputs = n_out,
                        .attrs = attrs,
                        .n_attrs = n_attrs,
                        .offset = (int64_t)n->m->at};
  const int32_t id = e->r->api->add_node(e->g, &node);
  return id < 0 ? tf_graph_fail(e->r, n, id, "it cannot be a node") : TN_OK;
}

/* ---- nodes that make no node ---- */

static tn_status build_const(tf_env *e, int32_t node) {
  const tf_node *n = &e->body->nodes[node];
  const tn_proto_message *m = tn_proto_sub(tf_attr(n, "value"), "tensor");
  tn_tensor t;
  bool mapped = false;
  if (!m) return tf_node_fail(e->r, n, TN_ERR_INVALID, "has no value");
  tf_value *v = tf_values_new(e->r, n->n_read + 1);
  if (!v) return tf_no_memory(e->r);
  tf_set(e, node, v);
  tn_status s = tf_tensor(e->r, n, m, &t, &mapped);
  if (!s) s = tf_value_new(e, n, 0, &v->id);
  return s ? s : tf_set_const(e->r, n, e->g, v->id, &t, mapped);
}

static tn_status build_input(tf_env *e, int32_t node) {
  tf_reader *r = e->r;
  const tf_node *n = &e->body->nodes[node];
  const int64_t id = tn_map_get(&r->inputs, n->name, TN_NO_ID);
  tf_value *v = tf_values_new(r, n->n_read + 1);
  if (!v) return tf_no_memory(r);
  if (id < 0 || e->body != r->main)
    return tf_node_fail(r, n, TN_ERR_UNSUPPORTED,
                        "not supported: outputs depend on it, and it is no input of what is run");
  tf_set(e, node, v);
  const tf_env main = {.g = r->g};
  return tf_capture(e, &main, (tf_value){.id = (int32_t)id}, v);
}

/* Output k is input k. */
static tn_status build_pass(tf_env *e, int32_t node) {
  const tf_node *n = &e->body->nodes[node];
  tf_value *v = tf_values_new(e->r, n->n_read + 1);
  tn_status s = v ? TN_OK : tf_no_memory(e->r);
  if (!s && n->n_in < n->n_read)
    s = tf_node_fail(e->r, n, TN_ERR_INVALID, "has fewer inputs than outputs that are read");
  for (uint32_t k = 0; k < n->n_read && !s; k++) s = tf_get(e, n->in[k], &v[k]);
  if (!s) tf_set(e, node, v);
  return s;
}

static tn_status build_read(tf_env *e, int32_t node) {
  const tf_node *n = &e->body->nodes[node];
  tf_value *v = tf_values_new(e->r, n->n_read + 1), from;
  if (!v) return tf_no_memory(e->r);
  if (n->n_in != 1) return tf_node_fail(e->r, n, TN_ERR_INVALID, "reads not one variable");
  tn_status s = tf_get(e, n->in[0], &from);
  if (!s) s = tf_variable_read(e, n, from, v);
  if (!s) tf_set(e, node, v);
  return s;
}

/* Gather of a variable. */
static tn_status build_resource_gather(tf_env *e, int32_t node) {
  const tf_node *n = &e->body->nodes[node];
  tf_value *v = tf_values_new(e->r, n->n_read + 1), handle, table;
  int32_t in[2];
  if (!v) return tf_no_memory(e->r);
  if (n->n_in != 2) return tf_node_fail(e->r, n, TN_ERR_INVALID, "has not two inputs");
  if (tf_attr_int(n, "batch_dims", 0))
    return tf_node_fail(e->r, n, TN_ERR_UNSUPPORTED, "not supported: batch_dims");
  tn_status s = tf_get(e, n->in[0], &handle);
  if (!s) s = tf_variable_read(e, n, handle, &table);
  if (!s) s = tf_get_id(e, n, n->in[1], &in[1]);
  if (!s) s = tf_value_new(e, n, 0, &v->id);
  in[0] = s ? TN_NO_ID : table.id;
  if (!s) s = tf_add_node(e, n, "", "Gather", in, 2, &v->id, 1, NULL, 0);
  if (!s) tf_set(e, node, v);
  return s;
}

/* ---- ordinary nodes ---- */

/* "*num_split" in a row: that attribute says how many outputs there are. */
static uint32_t count_outputs(const tf_node *n) {
  const char *words = n->row && n->row->attrs ? n->row->attrs : "", *star = strchr(words, '*');
  uint32_t count = n->n_read ? n->n_read : 1;
  char name[64];
  if (!star) return count;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(star + 1, ", "), star + 1);
  int64_t given = tf_attr_count(n, name);
  if (given < 0) given = tf_attr_int(n, name, 1);
  return given > count && given <= MAX_OUTPUTS ? (uint32_t)given : count;
}

typedef struct maker {
  tn_attr attrs[MAX_ATTRS];
  const tn_attr *list[MAX_ATTRS];
  uint32_t n_attrs, n_out;
  int32_t *in, *out;
} maker;

static tn_status open_values(tf_env *e, int32_t node, maker *m) {
  tf_reader *r = e->r;
  const tf_node *n = &e->body->nodes[node];
  m->n_out = count_outputs(n);
  m->in = tn_arena_alloc(&r->arena, ((uint64_t)n->n_in + 1) * sizeof *m->in);
  m->out = tn_arena_alloc(&r->arena, ((uint64_t)m->n_out + 1) * sizeof *m->out);
  tf_value *v = tf_values_new(r, m->n_out);
  if (!m->in || !m->out || !v) return tf_no_memory(r);
  tn_status s = TN_OK;
  for (uint32_t k = 0; k < n->n_in && !s; k++) s = tf_get_id(e, n, n->in[k], &m->in[k]);
  for (uint32_t k = 0; k < m->n_out && !s; k++) {
    s = tf_value_new(e, n, k, &v[k].id);
    m->out[k] = v[k].id;
  }
  if (!s) tf_set(e, node, v);
  return s;
}

/* Arithmetic of complex numbers is PyTorch's, which knows them as pairs. */
static const char *complex_op(const tf_node *n) {
  static const char *const names[][2] = {{"Add", "add"},     {"AddV2", "add"}, {"Div", "div"},
                                         {"Exp", "exp"},     {"Log", "log"},   {"Mul", "mul"},
                                         {"RealDiv", "div"}, {"Neg", "neg"},   {"Sub", "sub"}};
  enum { COMPLEX64 = 8 };
  if (tf_attr_int(n, "T", 0) != COMPLEX64) return NULL;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (!strcmp(n->op, names[k][0])) return names[k][1];
  return NULL;
}

/* "tflite::PACK" as "tflite" and "PACK". */
static const char *domain_of(const tf_node *n, const char **op) {
  static const char *const domains[] = {"tflite", "tenon", "aten"};
  const tn_format_op *row = n->row;
  if (!row || row->how != TN_FORMAT_DIRECT) return *op = n->op, "tf";
  if ((*op = complex_op(n))) return "aten";
  const char *colon = strstr(row->to, "::");
  *op = colon ? colon + 2 : row->to;
  for (size_t k = 0; colon && k < sizeof domains / sizeof *domains; k++)
    if (tn_str_is((tn_str){row->to, colon - row->to}, domains[k])) return domains[k];
  return "";
}

static tn_status build_ordinary(tf_env *e, int32_t node) {
  tf_reader *r = e->r;
  const tf_node *n = &e->body->nodes[node];
  const char *op, *domain = domain_of(n, &op);
  maker m = {.n_attrs = 0};
  if (n->row && n->row->how == TN_FORMAT_REFUSED)
    return tf_node_fail(r, n, TN_ERR_UNSUPPORTED, "not supported: %s", n->row->note);
  tn_status s = open_values(e, node, &m);
  if (!s)
    s = tf_attrs(r, n, n->row ? n->row->attrs ? n->row->attrs : "" : NULL,
                 !strcmp(domain, "tflite"), m.attrs, MAX_ATTRS, &m.n_attrs);
  for (uint32_t k = 0; k < m.n_attrs; k++) m.list[k] = &m.attrs[k];
  return s ? s : tf_add_node(e, n, domain, op, m.in, n->n_in, m.out, m.n_out, m.list, m.n_attrs);
}

/* ---- all of them ---- */

typedef struct special {
  const char *op;
  tn_status (*build)(tf_env *, int32_t);
} special;

static const special specials[] = {
    {"CheckNumerics", build_pass},
    {"CheckNumericsV2", build_pass},
    {"Const", build_const},
    {"ConstV2", build_const},
    {"DebugIdentity", build_pass},
    {"EnsureShape", build_pass},
    {"HashTable", tf_table_handle},
    {"HashTableV2", tf_table_handle},
    {"Identity", build_pass},
    {"IdentityN", build_pass},
    {"LookupTableFind", tf_table_find},
    {"LookupTableFindV2", tf_table_find},
    {"LookupTableSize", tf_table_size},
    {"LookupTableSizeV2", tf_table_size},
    {"Placeholder", build_input},
    {"PlaceholderV2", build_input},
    {"PlaceholderWithDefault", build_pass},
    {"PreventGradient", build_pass},
    {"Print", build_pass},
    {"ReadVariableOp", build_read},
    {"RefIdentity", build_pass},
    {"ResourceGather", build_resource_gather},
    {"Snapshot", build_pass},
    {"StopGradient", build_pass},
    {"VarHandleOp", tf_variable_handle},
    {"Variable", tf_variable_handle},
    {"VariableV2", tf_variable_handle},
};

tn_status tf_node_build(tf_env *e, int32_t node) {
  const tf_node *n = &e->body->nodes[node];
  if (tn_map_get(&e->r->inputs, n->name, TN_NO_ID) >= 0 && e->body == e->r->main)
    return build_input(e, node);
  if (tf_is_flow(n)) return tf_flow_build(e, node);
  for (size_t k = 0; k < sizeof specials / sizeof *specials; k++)
    if (tf_op_is(n, specials[k].op)) return specials[k].build(e, node);
  if (tf_assigns(n->op)) return tf_variable_assign(e, node);
  return tf_is_call(e, n) ? tf_call_build(e, node) : build_ordinary(e, node);
}
