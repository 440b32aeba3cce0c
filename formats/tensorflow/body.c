/* Nodes of a graph or function by name, and who reads whom. */
#include <stdlib.h>

#include "reader.h"
#include "tenon/kit/text.h"

bool tf_op_is(const tf_node *n, const char *op) { return !strcmp(n->op, op); }

/* ---- outputs of functions' nodes, which go by name ---- */

/* Operators of several outputs that have names; all others have one list of them. */
static const char *const outputs[][2] = {
    {"BatchNormWithGlobalNormalization", "result"},
    {"BlockLSTM", "i cs f o ci co h"},
    {"BlockLSTMV2", "i cs f o ci co h"},
    {"CombinedNonMaxSuppression", "nmsed_boxes nmsed_scores nmsed_classes valid_detections"},
    {"CTCBeamSearchDecoder", "decoded_indices decoded_values decoded_shape log_probability"},
    {"CTCGreedyDecoder", "decoded_indices decoded_values decoded_shape log_probability"},
    {"DecodeWav", "audio sample_rate"},
    {"FusedBatchNorm", "y batch_mean batch_variance reserve_space_1 reserve_space_2"},
    {"FusedBatchNormV2", "y batch_mean batch_variance reserve_space_1 reserve_space_2"},
    {"FusedBatchNormV3",
     "y batch_mean batch_variance reserve_space_1 reserve_space_2 reserve_space_3"},
    {"GRUBlockCell", "r u c h"},
    {"ListDiff", "out idx"},
    {"LSTMBlockCell", "i cs f o ci co h"},
    {"MaxPoolWithArgmax", "output argmax"},
    {"Merge", "output value_index"},
    {"NonMaxSuppressionV4", "selected_indices valid_outputs"},
    {"NonMaxSuppressionV5", "selected_indices selected_scores valid_outputs"},
    {"Qr", "q r"},
    {"QuantizeV2", "output output_min output_max"},
    {"RaggedRange", "rt_nested_splits rt_dense_values"},
    {"RaggedTensorToSparse", "sparse_indices sparse_values sparse_dense_shape"},
    {"SparseFillEmptyRows", "output_indices output_values empty_row_indicator reverse_index_map"},
    {"SparseReshape", "output_indices output_shape"},
    {"SparseSoftmaxCrossEntropyWithLogits", "loss backprop"},
    {"SoftmaxCrossEntropyWithLogits", "loss backprop"},
    {"StringSplit", "indices values shape"},
    {"StringSplitV2", "indices values shape"},
    {"Svd", "s u v"},
    {"Switch", "output_false output_true"},
    {"TensorArrayV3", "handle flow"},
    {"TensorListPopBack", "output_handle tensor"},
    {"TensorListConcat", "tensor lengths"},
    {"TensorListConcatV2", "tensor lengths"},
    {"TopKV2", "values indices"},
    {"TopK", "values indices"},
    {"Unique", "y idx"},
    {"UniqueV2", "y idx"},
    {"UniqueWithCounts", "y idx count"},
};

static uint32_t index_in(const char *words, tn_str word) {
  uint32_t k = 0;
  for (const char *p = words; *p; p += strspn(p, " "), k++) {
    const size_t n = strcspn(p, " ");
    if ((int64_t)n == word.size && !memcmp(p, word.data, n)) return k;
    p += n;
  }
  return 0;
}

/* Of a function that is called by its own name. */
static uint32_t index_in_signature(const tf_reader *r, const char *op, tn_str word) {
  const int64_t at = tn_map_get(&r->functions, op, -1);
  const tn_proto_message *sig = at < 0 ? NULL : tn_proto_sub(r->function_list[at], "signature");
  uint32_t k = 0;
  for (const tn_proto_value *v = NULL; (v = tn_proto_next(sig, "output_arg", v)); k++) {
    const tn_str name = tn_proto_str(v->message, "name");
    if (name.size == word.size && !memcmp(name.data, word.data, (size_t)word.size)) return k;
  }
  return 0;
}

static uint32_t named_output(const tf_reader *r, const tf_node *n, tn_str word) {
  for (size_t k = 0; k < sizeof outputs / sizeof *outputs; k++)
    if (tf_op_is(n, outputs[k][0])) return index_in(outputs[k][1], word);
  if (tf_op_is(n, "RaggedGather") && tn_str_is(word, "output_dense_values"))
    return (uint32_t)tf_attr_int(n, "OUTPUT_RAGGED_RANK", 1);
  return index_in_signature(r, n->op, word);
}

/* ---- edges ---- */

enum { MAX_OUTPUTS = 65536 };

static bool is_number(tn_str s) {
  bool is = s.size > 0 && s.size < 6;
  for (int64_t k = 0; is && k < s.size; k++) is = s.data[k] >= '0' && s.data[k] <= '9';
  return is;
}

static tn_str cut(tn_str *text, char at) {
  const char *p = memchr(text->data, at, (size_t)text->size);
  const int64_t n = p ? p - text->data : text->size;
  const tn_str head = {text->data, n};
  *text = (tn_str){text->data + n + (p ? 1 : 0), text->size - n - (p ? 1 : 0)};
  return head;
}

/* "node", "node:1", "^node"; of functions "argument", "node:output:1". */
static tn_status parse_edge(tf_reader *r, const tf_body *b, tn_str text, tf_edge *out) {
  const tn_str whole = text;
  const char *name = tf_text(r, cut(&text, ':'));
  if (!name) return tf_no_memory(r);
  const int64_t node = tn_map_get(&b->names, name, INT64_MAX);
  *out = (tf_edge){.node = -1};
  if (node == INT64_MAX)
    return tn_proto_fail(&r->file, TN_ERR_INVALID, b->m->at,
                         "there is no node '%.*s', which something reads",
                         (int)tn_min_i64(whole.size, 120), whole.data);
  out->node = (int32_t)node;
  if (!text.size || node < 0) return TN_OK;
  uint64_t at = 0;
  tn_str word = cut(&text, ':');
  if (!is_number(word)) {
    at = named_output(r, &b->nodes[node], word);
    word = cut(&text, ':');
  }
  if (is_number(word)) at += strtoull(word.data, NULL, 10);
  if ((word.size && !is_number(word)) || at > MAX_OUTPUTS)
    return tn_proto_fail(&r->file, TN_ERR_INVALID, b->m->at, "'%.*s' is no output of a node",
                         (int)tn_min_i64(whole.size, 120), whole.data);
  out->out = (uint32_t)at;
  return TN_OK;
}

static void note_read(tf_body *b, tf_edge edge) {
  if (edge.node < 0) return;
  tf_node *n = &b->nodes[edge.node];
  n->is_read = true;
  if (n->n_read <= edge.out) n->n_read = edge.out + 1;
}

tf_edge tf_edge_named(tf_reader *r, tf_body *b, tn_str text) {
  const tf_edge none = {.node = -1};
  tn_str rest = text;
  tf_edge edge;
  const char *name = tf_text(r, cut(&rest, ':'));
  if (!name || tn_map_get(&b->names, name, -1) < 0 || parse_edge(r, b, text, &edge)) return none;
  note_read(b, edge);
  return edge;
}

static tn_status read_edges(tf_reader *r, tf_body *b, tf_node *n) {
  tn_status s = TN_OK;
  const uint64_t count = tn_proto_count(n->m, "input");
  n->in = tn_arena_alloc(&r->arena, (count + 1) * sizeof *n->in);
  n->controls = tn_arena_alloc(&r->arena, (count + 1) * sizeof *n->controls);
  if (!n->in || !n->controls) return tf_no_memory(r);
  for (const tn_proto_value *v = NULL; !s && (v = tn_proto_next(n->m, "input", v));) {
    tf_edge edge;
    const bool control = v->s.size && *v->s.data == '^';
    const tn_str text = control ? (tn_str){v->s.data + 1, v->s.size - 1} : v->s;
    s = parse_edge(r, b, text, &edge);
    if (s) return s;
    if (!control)
      n->in[n->n_in++] = edge;
    else if (edge.node >= 0)
      n->controls[n->n_controls++] = edge.node;
    if (!control) note_read(b, edge);
    if (control && edge.node >= 0) b->nodes[edge.node].is_read = true;
  }
  return s;
}

/* ---- nodes ---- */

static tn_status add_name(tf_reader *r, tf_body *b, const char *name, int64_t index, uint64_t at) {
  if (tn_map_get(&b->names, name, INT64_MAX) != INT64_MAX)
    return tn_proto_fail(&r->file, TN_ERR_INVALID, at, "two nodes are called '%.120s'", name);
  return tn_map_set(&b->names, name, index) ? tf_no_memory(r) : TN_OK;
}

static tn_status read_nodes(tf_reader *r, tf_body *b, const char *field) {
  const uint64_t count = tn_proto_count(b->m, field);
  if (count > INT32_MAX / 2)
    return tn_proto_fail(&r->file, TN_ERR_OVERFLOW, b->m->at, "there are too many nodes");
  b->nodes = tn_arena_alloc(&r->arena, (count + 1) * sizeof *b->nodes);
  if (!b->nodes) return tf_no_memory(r);
  for (const tn_proto_value *v = NULL; (v = tn_proto_next(b->m, field, v));) {
    tf_node *n = &b->nodes[b->n];
    n->m = v->message;
    n->name = tf_text(r, tn_proto_str(n->m, "name"));
    n->op = tf_text(r, tn_proto_str(n->m, "op"));
    if (!n->name || !n->op) return tf_no_memory(r);
    if (!*n->name || !*n->op)
      return tn_proto_fail(&r->file, TN_ERR_INVALID, n->m->at, "a node has no name or no operator");
    n->row = tf_row(n->op);
    const tn_status s = add_name(r, b, n->name, b->n++, n->m->at);
    if (s) return s;
  }
  return TN_OK;
}

static tf_body *body_new(tf_reader *r, const tn_proto_message *m) {
  tf_body *b = tn_arena_alloc(&r->arena, sizeof *b);
  if (!b) return NULL;
  b->m = m, b->next = r->bodies;
  tn_map_init(&b->names, &r->allocator);
  r->bodies = b;
  return b;
}

static tn_status connect(tf_reader *r, tf_body *b) {
  tn_status s = TN_OK;
  for (int32_t k = 0; k < b->n && !s; k++) s = read_edges(r, b, &b->nodes[k]);
  return s;
}

tn_status tf_body_of_graph(tf_reader *r, tf_body **out) {
  tf_body *b = *out = body_new(r, r->graph);
  if (!b) return tf_no_memory(r);
  const tn_status s = read_nodes(r, b, "node");
  return s ? s : connect(r, b);
}

/* ---- functions ---- */

/* Where a result comes from: ret maps names of output_arg to nodes' outputs. */
static tn_status read_results(tf_reader *r, tf_body *b, const tn_proto_message *sig) {
  const uint64_t count = tn_proto_count(sig, "output_arg");
  b->rets = tn_arena_alloc(&r->arena, (count + 1) * sizeof *b->rets);
  b->ret_names = tn_arena_alloc(&r->arena, (count + 1) * sizeof *b->ret_names);
  if (!b->rets || !b->ret_names) return tf_no_memory(r);
  for (const tn_proto_value *v = NULL; (v = tn_proto_next(sig, "output_arg", v));) {
    const tn_str name = tn_proto_str(v->message, "name");
    tn_str source = {"", 0};
    for (const tn_proto_value *p = NULL; (p = tn_proto_next(b->m, "ret", p));) {
      const tn_str key = tn_proto_str(p->message, "key");
      if (key.size == name.size && !memcmp(key.data, name.data, (size_t)name.size))
        source = tn_proto_str(p->message, "value");
    }
    b->ret_names[b->n_rets] = tf_text(r, name);
    if (!b->ret_names[b->n_rets]) return tf_no_memory(r);
    const tn_status s = parse_edge(r, b, source, &b->rets[b->n_rets]);
    if (s) return s;
    note_read(b, b->rets[b->n_rets++]);
  }
  return TN_OK;
}

tn_status tf_body_open(tf_reader *r, const char *name, tf_body **out) {
  for (tf_body *b = r->bodies; b; b = b->next)
    if (b->name && !strcmp(b->name, name)) return *out = b, TN_OK;
  const int64_t at = tn_map_get(&r->functions, name, -1);
  if (at < 0)
    return tn_proto_fail(&r->file, TN_ERR_INVALID, r->graph->at, "there is no function '%.120s'",
                         name);
  const tn_proto_message *m = r->function_list[at], *sig = tn_proto_sub(m, "signature");
  tf_body *b = *out = body_new(r, m);
  if (!b) return tf_no_memory(r);
  tn_status s = read_nodes(r, b, "node_def");
  for (const tn_proto_value *v = NULL; !s && (v = tn_proto_next(sig, "input_arg", v));) {
    const char *arg = tf_text(r, tn_proto_str(v->message, "name"));
    if (!arg) return tf_no_memory(r);
    if (tn_proto_str(v->message, "number_attr").size ||
        tn_proto_str(v->message, "type_list_attr").size)
      return tn_proto_fail(&r->file, TN_ERR_UNSUPPORTED, v->at,
                           "not supported: a list as an argument of function '%.80s'", name);
    s = add_name(r, b, arg, ~(int64_t)b->n_args++, v->at);
  }
  if (!s) s = connect(r, b);
  if (!s) s = read_results(r, b, sig);
  if (!s) b->name = name;
  return s;
}
