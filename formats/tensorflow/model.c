/* A file as a model: a graph, or a SavedModel with its signatures. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/identify.h"
#include "base/io_memory.h"
#include "reader.h"
#include "tenon/kit/text.h"

/* ---- memory and messages ---- */

tn_status tf_no_memory(const tf_reader *r) { return tn_proto_no_memory(&r->file); }

const char *tf_text(tf_reader *r, tn_str s) { return tn_arena_strn(&r->arena, s.data, s.size); }

tn_status(tf_node_fail)(const tf_reader *r, const tf_node *n, tn_status code, const char *format,
                        ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  tn_error_text(text, sizeof text, code, format, args);
  va_end(args);
  if (!n) return tn_proto_fail(&r->file, code, r->graph->at, "%s", text);
  return (tn_proto_fail)(&r->file, code, n->m->at, "node '%.100s' (%.60s): %s", n->name, n->op,
                         text);
}

tn_status tf_graph_fail(const tf_reader *r, const tf_node *n, int32_t status, const char *what) {
  if (status == TN_ERR_MEMORY) return tf_no_memory(r);
  return tf_node_fail(r, n, status == TN_ERR_STATE ? TN_ERR_INVALID : status, "%s", what);
}

/* ---- inputs ---- */

static bool is_placeholder(const tf_node *n) {
  return tf_op_is(n, "Placeholder") || tf_op_is(n, "PlaceholderV2");
}

/* Shapes without dims meant shapes that are not known, once. */
static tn_status input_type(tf_reader *r, const tf_node *n, tn_tensor *out) {
  enum { SCALARS_ARE_KNOWN = 24 };
  *out = (tn_tensor){.head = TN_HEAD(tn_tensor), .dtype = tf_dtype(tf_attr_int(n, "dtype", 0))};
  const tn_status s = tf_shape(r, tn_proto_sub(tf_attr(n, "shape"), "shape"), out);
  if (out->rank == 0 && r->producer < SCALARS_ARE_KNOWN) out->rank = TN_RANK_UNKNOWN;
  if (!s && out->dtype == TN_NONE && tf_attr_int(n, "dtype", 0) != TF_VARIANT)
    return tf_node_fail(r, n, TN_ERR_UNSUPPORTED, "not supported: an input of this type");
  return s;
}

static tn_status add_input(tf_reader *r, const tf_node *n, const char *name,
                           const tn_tensor *type) {
  const int32_t value = r->api->value(r->g, name);
  if (value < 0) return tf_graph_fail(r, n, value, "it cannot be an input");
  tn_status s = type->dtype == TN_NONE ? TN_OK : r->api->value_set_type(r->g, value, type);
  if (!s) s = r->api->add_input(r->g, value);
  if (s) return tf_graph_fail(r, n, s, "it cannot be an input");
  return tn_map_set(&r->inputs, n->name, value) ? tf_no_memory(r) : TN_OK;
}

/* ---- a graph ---- */

/* Files are decoded in front of a model: what decoders would give, rows say with "@u3" (bytes, of
 * three dims) or "@3" (floats), is an input. */
static bool is_decoder(const tf_node *n) {
  return n->row && n->row->attrs && *n->row->attrs == '@';
}

static void decoded_type(const tf_node *n, tn_tensor *out) {
  const char *words = n->row->attrs + 1;
  *out = (tn_tensor){.head = TN_HEAD(tn_tensor), .dtype = *words == 'u' ? TN_U8 : TN_F32};
  out->rank = words[*words == 'u'] - '0';
  for (int32_t k = 0; k < out->rank; k++) out->shape[k] = TN_DIM_UNKNOWN;
  const int64_t coefficients = tf_attr_int(n, "dct_coefficient_count", 13);
  if (tf_op_is(n, "Mfcc") && coefficients > 0) out->shape[2] = coefficients;
}

/* Nodes that outputs depend on, by data. */
static tn_status mark(tf_reader *r, const tf_body *b, uint8_t *needed) {
  TN_VEC(int32_t) list = {0};
  tn_status s = TN_OK;
  for (int32_t k = 0; k < b->n && !s; k++)
    if (needed[k]) s = tn_vec_push(&r->allocator, &list, k);
  while (list.n && !s) {
    const tf_node *n = &b->nodes[list.data[--list.n]];
    for (uint32_t k = 0; k < n->n_in && !s && !is_decoder(n); k++) {
      const int32_t at = n->in[k].node;
      if (at < 0 || needed[at]) continue;
      needed[at] = 1;
      s = tn_vec_push(&r->allocator, &list, at);
    }
  }
  tn_vec_free(&r->allocator, &list);
  return s ? tf_no_memory(r) : TN_OK;
}

/* Operators that are there for what they do, or whose row says that they are left out. */
static bool is_no_output(const tf_node *n) {
  const bool left_out = n->row && n->row->attrs && !strncmp(n->row->attrs, "-", 1);
  return left_out || is_placeholder(n) || tf_op_is(n, "Const") || tf_op_is(n, "VarHandleOp") ||
         tf_op_is(n, "VariableV2") || tf_op_is(n, "PlaceholderWithDefault");
}

/* Does the node hand on what is there in one branch alone, as cond/switch_t does? Without constants
 * in the branch nobody reads it. */
static bool is_of_branch(const tf_body *b, const tf_node *n) {
  for (int hops = 0; hops < 64 && tf_op_is(n, "Identity") && n->n_in && n->in[0].node >= 0; hops++)
    n = &b->nodes[n->in[0].node];
  return tf_op_is(n, "Switch");
}

static tn_status name_output(tf_reader *r, const tf_node *n, const char *name, tf_value v) {
  if (v.id < 0)
    return tf_node_fail(r, n, TN_ERR_UNSUPPORTED, "not supported: an output that is no value");
  const bool plain = !strcmp(r->api->value_name(r->g, v.id), name) &&
                     !(r->api->value_flags(r->g, v.id) & (TN_VALUE_INPUT | TN_VALUE_OUTPUT));
  int32_t out = v.id;
  if (!plain) {
    out = r->api->value(r->g, name);
    tf_env e = {.r = r, .g = r->g};
    if (out >= 0 && (r->api->value_producer(r->g, out) >= 0 || r->api->value_flags(r->g, out))) {
      const char *other = tn_arena_format(&r->arena, "%s#out", name);
      if (!other) return tf_no_memory(r);
      out = r->api->value(r->g, other);
    }
    if (out < 0) return tf_graph_fail(r, n, out, "it cannot be an output");
    const tn_status s = tf_add_node(&e, n, "", "Identity", &v.id, 1, &out, 1, NULL, 0);
    if (s) return s;
  }
  const tn_status s = r->api->add_output(r->g, out);
  return s ? tf_graph_fail(r, n, s, "it cannot be an output") : TN_OK;
}

static tn_status read_graph(tf_reader *r, tf_env *e) {
  tf_body *b = r->main;
  uint8_t *needed = tn_arena_alloc(&r->arena, (uint64_t)b->n + 1);
  bool any = false;
  if (!needed) return tf_no_memory(r);
  for (int flow = 0; flow < 2 && !any; flow++) /* what loops give besides is no output */
    for (int32_t k = 0; k < b->n; k++) {
      tf_node *n = &b->nodes[k];
      needed[k] =
          !n->is_read && !is_no_output(n) && (flow || !tf_is_flow(n)) && !is_of_branch(b, n);
      any |= needed[k];
      if (needed[k]) n->n_read = 1;
    }
  uint8_t *is_out = tn_arena_copy(&r->arena, needed, (uint64_t)b->n + 1);
  if (!is_out) return tf_no_memory(r);
  tn_status s = mark(r, b, needed);
  for (int32_t k = 0; k < b->n && !s; k++) {
    tn_tensor type;
    if (!needed[k] || !(is_placeholder(&b->nodes[k]) || is_decoder(&b->nodes[k]))) continue;
    if (is_decoder(&b->nodes[k]))
      decoded_type(&b->nodes[k], &type);
    else
      s = input_type(r, &b->nodes[k], &type);
    if (!s) s = add_input(r, &b->nodes[k], b->nodes[k].name, &type);
  }
  for (int32_t k = 0; k < b->n && !s; k++) {
    tf_value v;
    if (!is_out[k]) continue;
    s = tf_get(e, (tf_edge){k, 0}, &v);
    if (!s) s = name_output(r, &b->nodes[k], b->nodes[k].name, v);
  }
  if (!s && !any) s = tn_proto_fail(&r->file, TN_ERR_INVALID, 0, "the graph has no output");
  return s ? s : tf_assign_graph(e, is_out);
}

/* ---- signatures ---- */

typedef struct port {
  const char *key;
  const tn_proto_message *info;
} port;

static int by_key(const void *a, const void *b) {
  return strverscmp(((const port *)a)->key, ((const port *)b)->key);
}

/* Maps have no order of their own: by name, numbers as numbers. */
static tn_status list_ports(tf_reader *r, const tn_proto_message *signature, const char *field,
                            port **out, uint64_t *out_n) {
  const uint64_t n = tn_proto_count(signature, field);
  port *list = *out = tn_arena_alloc(&r->arena, (n + 1) * sizeof *list);
  if (!list) return tf_no_memory(r);
  *out_n = 0;
  for (const tn_proto_value *v = NULL; (v = tn_proto_next(signature, field, v));) {
    port *p = &list[(*out_n)++];
    p->key = tf_text(r, tn_proto_str(v->message, "key"));
    p->info = tn_proto_sub(v->message, "value");
    if (!p->key) return tf_no_memory(r);
    if (!*p->key || !p->info || !tn_proto_str(p->info, "name").size)
      return tn_proto_fail(&r->file, TN_ERR_UNSUPPORTED, v->at,
                           "not supported: '%.80s' of a signature is no plain tensor", p->key);
  }
  qsort(list, (size_t)n, sizeof *list, by_key);
  return TN_OK;
}

static tn_status edge_of(tf_reader *r, const port *p, tf_edge *out) {
  *out = tf_edge_named(r, r->main, tn_proto_str(p->info, "name"));
  if (out->node >= 0) return TN_OK;
  return tn_proto_fail(&r->file, TN_ERR_INVALID, p->info->at,
                       "'%.80s' of the signature is no output of a node", p->key);
}

static tn_status read_signature(tf_reader *r, tf_env *e, const tn_proto_message *signature) {
  port *ports;
  uint64_t n;
  tf_edge edge;
  tn_status s = list_ports(r, signature, "inputs", &ports, &n);
  for (uint64_t k = 0; k < n && !s; k++) {
    tn_tensor type = {.head = TN_HEAD(tn_tensor),
                      .dtype = tf_dtype(tn_proto_int(ports[k].info, "dtype", 0))};
    s = edge_of(r, &ports[k], &edge);
    if (!s) s = tf_shape(r, tn_proto_sub(ports[k].info, "tensor_shape"), &type);
    if (!s && type.dtype == TN_NONE)
      s = tf_node_fail(r, &r->main->nodes[edge.node], TN_ERR_UNSUPPORTED,
                       "not supported: an input of this type");
    if (!s) s = add_input(r, &r->main->nodes[edge.node], ports[k].key, &type);
  }
  if (!s) s = list_ports(r, signature, "outputs", &ports, &n);
  for (uint64_t k = 0; k < n && !s; k++) s = edge_of(r, &ports[k], &edge);
  uint8_t *is_out = tn_arena_alloc(&r->arena, (uint64_t)r->main->n + 1);
  if (!s && !is_out) s = tf_no_memory(r);
  for (uint64_t k = 0; k < n && !s; k++) {
    tf_value v;
    s = edge_of(r, &ports[k], &edge);
    if (!s) is_out[edge.node] = 1;
    if (!s) s = tf_get(e, edge, &v);
    if (!s) s = name_output(r, &r->main->nodes[edge.node], ports[k].key, v);
  }
  if (!s && !n) s = tn_proto_fail(&r->file, TN_ERR_INVALID, 0, "the signature has no output");
  return s ? s : tf_assign_graph(e, is_out);
}

/* The one that is asked for; else serving_default, else the first. */
static tn_status choose_signature(tf_reader *r, const tn_proto_message **out) {
  const char *wanted = TN_HAS(r->source, entry) ? r->source->entry : NULL;
  const tn_proto_message *first = NULL, *serving = NULL, *named = NULL;
  for (const tn_proto_value *v = NULL; (v = tn_proto_next(r->meta, "signature_def", v));) {
    const char *key = tf_text(r, tn_proto_str(v->message, "key"));
    const tn_proto_message *sig = tn_proto_sub(v->message, "value");
    if (!key) return tf_no_memory(r);
    if (!sig || !strncmp(key, "__saved_model_", 14)) continue;
    const tn_status s = r->api->entry_add(r->g, key);
    if (s)
      return s == TN_ERR_MEMORY ? tf_no_memory(r)
                                : tn_proto_fail(&r->file, TN_ERR_INVALID, v->at,
                                                "signature '%.80s' cannot be noted", key);
    if (!first) first = sig;
    if (!strcmp(key, "serving_default")) serving = sig;
    if (wanted && !strcmp(key, wanted)) named = sig;
  }
  *out = wanted ? named : serving ? serving : first;
  if (!*out && wanted)
    return tn_proto_fail(&r->file, TN_ERR_NOT_FOUND, 0, "there is no signature '%.80s'", wanted);
  return TN_OK;
}

/* ---- files ---- */

static tn_status list_functions(tf_reader *r) {
  const tn_proto_message *library = tn_proto_sub(r->graph, "library");
  const uint64_t n = tn_proto_count(library, "function");
  r->function_list = tn_arena_alloc(&r->arena, (n + 1) * sizeof *r->function_list);
  r->is_looked_at = tn_arena_alloc(&r->arena, n + 1);
  if (!r->function_list || !r->is_looked_at) return tf_no_memory(r);
  int64_t k = 0;
  for (const tn_proto_value *v = NULL; (v = tn_proto_next(library, "function", v)); k++) {
    const tn_proto_message *sig = tn_proto_sub(v->message, "signature");
    const char *name = tf_text(r, tn_proto_str(sig, "name"));
    r->function_list[k] = v->message;
    if (!name || tn_map_set(&r->functions, name, k)) return tf_no_memory(r);
    r->limit += 64 * (int64_t)tn_proto_count(v->message, "node_def");
  }
  return TN_OK;
}

/* The graph that is tagged "serve", or the only one. */
static const tn_proto_message *serving_graph(const tn_proto_message *saved) {
  const tn_proto_value *first = tn_proto_next(saved, "meta_graphs", NULL);
  for (const tn_proto_value *v = first; v; v = tn_proto_next(saved, "meta_graphs", v)) {
    const tn_proto_message *info = tn_proto_sub(v->message, "meta_info_def");
    for (const tn_proto_value *t = NULL; (t = tn_proto_next(info, "tags", t));)
      if (tn_str_is(t->s, "serve")) return v->message;
  }
  return first ? first->message : NULL;
}

static tn_status open_file(tf_reader *r, tn_proto_message *root) {
  char detail[TN_FILE_DETAIL];
  const tn_file_kind *kind = tn_file_identify(r->source->data, r->source->size, detail);
  const char *name = kind ? kind->name : "";
  r->file = (tn_proto_file){.source = r->source,
                            .path = r->source->path ? r->source->path : "(memory)",
                            .data = r->source->data,
                            .size = r->source->size,
                            .arena = &r->arena,
                            .is_text = !strcmp(name, "tensorflow-text")};
  const bool is_saved = !strcmp(name, "saved-model");
  const tn_proto_type *type = is_saved ? &tensorflow_saved_model_type : &tensorflow_graph_type;
  const tn_status s = r->file.is_text ? tn_proto_read_text(&r->file, type, root)
                                      : tn_proto_read_wire(&r->file, type, root);
  if (s) return s;
  r->graph = root;
  if (is_saved) {
    r->meta = serving_graph(root);
    r->graph = tn_proto_sub(r->meta, "graph_def");
  }
  return r->graph ? TN_OK : tn_proto_fail(&r->file, TN_ERR_INVALID, 0, "there is no graph in it");
}

static tn_status read_model(tf_reader *r) {
  enum { ONNX_OPSET = 21 }; /* of the operators that rows name */
  tn_proto_message root;
  tf_env *e;
  const tn_proto_message *signature = NULL;
  tn_status s = open_file(r, &root);
  if (s) return s;
  r->producer = tn_proto_int(tn_proto_sub(r->graph, "versions"), "producer", 0);
  r->limit = 65536 + 8 * (int64_t)tn_proto_count(r->graph, "node");
  r->room_left =
      (INT64_C(64) << 20) + 256 * (int64_t)tn_min_i64((int64_t)r->source->size, INT32_MAX);
  if (r->api->set_opset(r->g, "", ONNX_OPSET) || r->api->set_opset(r->g, "tf", 1) ||
      r->api->set_opset(r->g, "tflite", 1) || r->api->set_opset(r->g, "tenon", 1) ||
      r->api->set_opset(r->g, "aten", 1))
    return tf_no_memory(r);
  s = list_functions(r);
  if (!s) s = tf_body_of_graph(r, &r->main);
  if (!s && r->meta) s = tf_variables_open(r);
  if (!s && r->meta) s = tf_assigned_open(r);
  if (!s && r->meta) s = choose_signature(r, &signature);
  if (!s) s = tf_env_new(r, r->main, r->g, NULL, "", &e);
  if (s) return s;
  s = signature ? read_signature(r, e, signature) : read_graph(r, e);
  return s ? s : tf_variables_close(r);
}

tn_status tf_read(const tn_source *source, tn_graph *g) {
  tf_reader r = {.source = source, .api = source->host->graph, .g = g};
  r.allocator = tn_source_allocator(source);
  tn_arena_init(&r.arena, &r.allocator);
  tn_map *maps[] = {&r.functions, &r.inputs, &r.variables, &r.keys, &r.saved, &r.assigned};
  for (size_t k = 0; k < sizeof maps / sizeof *maps; k++) tn_map_init(maps[k], &r.allocator);
  const tn_status s = read_model(&r);
  for (size_t k = 0; k < sizeof maps / sizeof *maps; k++) tn_map_free(maps[k]);
  for (tf_body *b = r.bodies; b; b = b->next) tn_map_free(&b->names);
  tn_vec_free(&r.allocator, &r.variable_list);
  tn_vec_free(&r.allocator, &r.key_names);
  tn_vec_free(&r.allocator, &r.saved_list);
  tn_arena_clear(&r.arena);
  return s;
}
