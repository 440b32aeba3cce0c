/* Operators of TensorFlow in a model of TensorFlow Lite ("select TF ops"): FlexFoo, whose options
 * are a list of two texts, "Foo" and its NodeDef. The node becomes a graph of TensorFlow with a
 * Placeholder for each input and an Identity for each output, which the reader of that format reads
 * into a function of the model. */
#include "base/proto.h"
#include "reader.h"
#include "tenon/experimental/read_as.h"

enum { MOST_VALUES = 1024, MOST_NODE = 1 << 24 };

/* ---- protobuf ---- */

typedef struct bytes {
  uint8_t *data;
  uint64_t n;
} bytes;

static void put_varint(bytes *b, uint64_t v) {
  for (; v >= 0x80; v >>= 7) b->data[b->n++] = (uint8_t)(v | 0x80);
  b->data[b->n++] = (uint8_t)v;
}

static void put_bytes(bytes *b, uint32_t field, const void *data, uint64_t size) {
  put_varint(b, (uint64_t)field << 3 | TN_PROTO_BYTES);
  put_varint(b, size);
  if (size) memcpy(b->data + b->n, data, size);
  b->n += size;
}

static void put_text(bytes *b, uint32_t field, const char *text) {
  put_bytes(b, field, text, strlen(text));
}

static void put_number(bytes *b, uint32_t field, uint64_t v) {
  put_varint(b, (uint64_t)field << 3 | TN_PROTO_VARINT);
  put_varint(b, v);
}

/* ---- the graph ---- */

enum { GRAPH_NODE = 1, GRAPH_VERSIONS = 4, VERSIONS_PRODUCER = 1 };
enum { NODE_NAME = 1, NODE_OP, NODE_INPUT, NODE_DEVICE, NODE_ATTR };
enum { ENTRY_KEY = 1, ENTRY_VALUE, VALUE_TYPE = 6 };

/* The numbers that TensorFlow has for types; of values that have none: of lists. */
static uint64_t type_number(uint32_t dtype) {
  enum { VARIANT = 21 };
  static const uint8_t numbers[][2] = {{TN_F32, 1},   {TN_F64, 2},   {TN_I32, 3},    {TN_U8, 4},
                                       {TN_I16, 5},   {TN_I8, 6},    {TN_STRING, 7}, {TN_C64, 8},
                                       {TN_I64, 9},   {TN_BOOL, 10}, {TN_BF16, 14},  {TN_U16, 17},
                                       {TN_C128, 18}, {TN_F16, 19},  {TN_U32, 22},   {TN_U64, 23}};
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
    if (numbers[k][0] == dtype) return numbers[k][1];
  return VARIANT;
}

static void put_placeholder(bytes *graph, uint64_t k, uint32_t dtype) {
  uint8_t room[4][64];
  char name[32];
  bytes value = {room[0], 0}, entry = {room[1], 0}, node = {room[2], 0};
  snprintf(name, sizeof name, "i%llu", (unsigned long long)k);
  put_number(&value, VALUE_TYPE, type_number(dtype));
  put_text(&entry, ENTRY_KEY, "dtype");
  put_bytes(&entry, ENTRY_VALUE, value.data, value.n);
  put_text(&node, NODE_NAME, name);
  put_text(&node, NODE_OP, "Placeholder");
  put_bytes(&node, NODE_ATTR, entry.data, entry.n);
  put_bytes(graph, GRAPH_NODE, node.data, node.n);
}

static void put_identity(bytes *graph, uint64_t k) {
  uint8_t room[96];
  char name[32], from[32];
  bytes node = {room, 0};
  snprintf(name, sizeof name, "o%llu", (unsigned long long)k);
  snprintf(from, sizeof from, "node:%llu", (unsigned long long)k);
  put_text(&node, NODE_NAME, name);
  put_text(&node, NODE_OP, "Identity");
  put_text(&node, NODE_INPUT, from);
  put_bytes(graph, GRAPH_NODE, node.data, node.n);
}

/* The node of the file with a name and inputs of ours; false: it is damaged. */
static bool put_node(bytes *graph, bytes *room, tn_str def, uint64_t n_inputs) {
  tn_proto_span all = {(const uint8_t *)def.data, (const uint8_t *)def.data + def.size}, part;
  uint64_t tag;
  char name[32];
  put_text(room, NODE_NAME, "node");
  while (all.p < all.end) {
    if (!tn_proto_varint(&all, &tag)) return false;
    const uint32_t wire = (uint32_t)tag & 7, field = (uint32_t)(tag >> 3);
    if (wire != TN_PROTO_BYTES) {
      if (!tn_proto_number(&all, wire, &tag)) return false;
    } else {
      if (!tn_proto_bytes(&all, &part)) return false;
      if (field == NODE_OP || field == NODE_ATTR)
        put_bytes(room, field, part.p, (uint64_t)(part.end - part.p));
    }
  }
  for (uint64_t k = 0; k < n_inputs; k++) {
    snprintf(name, sizeof name, "i%llu", (unsigned long long)k);
    put_text(room, NODE_INPUT, name);
  }
  put_bytes(graph, GRAPH_NODE, room->data, room->n);
  return true;
}

static tn_status make_graph(const tflite_node *n, tn_str def, bytes *out) {
  enum { PRODUCER = 24, EACH = 128 };
  tflite_reader *r = n->s->r;
  uint8_t versions[16];
  bytes version = {versions, 0};
  const uint64_t most = 4 * (uint64_t)def.size + (n->n_inputs + n->n_outputs + 1) * EACH;
  bytes room = {tn_arena_alloc(&r->arena, most), 0};
  *out = (bytes){tn_arena_alloc(&r->arena, 2 * most), 0};
  if (!room.data || !out->data) return tflite_no_memory(r);
  for (uint64_t k = 0; k < n->n_inputs; k++)
    put_placeholder(out, k, r->api->value_type(n->s->g, n->inputs[k])->dtype);
  if (!put_node(out, &room, def, n->n_inputs))
    return tflite_fail(r, TN_ERR_INVALID, n->at, "its options hold no NodeDef of TensorFlow");
  for (uint64_t k = 0; k < n->n_outputs; k++) put_identity(out, k);
  put_number(&version, VERSIONS_PRODUCER, PRODUCER);
  put_bytes(out, GRAPH_VERSIONS, version.data, version.n);
  return TN_OK;
}

/* ---- the function ---- */

static tn_status check_node(const tflite_node *n, tn_str def) {
  tflite_reader *r = n->s->r;
  if (n->n_inputs > MOST_VALUES || n->n_outputs > MOST_VALUES || def.size > MOST_NODE)
    return tflite_fail(r, TN_ERR_UNSUPPORTED, n->at, "has too many values, or too large ones");
  for (uint64_t k = 0; k < n->n_inputs; k++)
    if (n->inputs[k] < 0)
      return tflite_fail(r, TN_ERR_INVALID, n->at, "input %llu is left out", (unsigned long long)k);
  return TN_OK;
}

static tn_status add_function(const tflite_node *n, const char *overload, tn_graph *body) {
  tflite_reader *r = n->s->r;
  if (r->api->n_inputs(body) != (int32_t)n->n_inputs ||
      r->api->n_outputs(body) != (int32_t)n->n_outputs)
    return tflite_fail(r, TN_ERR_UNSUPPORTED, n->at,
                       "not supported: in TensorFlow it reads or makes something else");
  const tn_status s =
      r->api->add_function(r->main, "tflite", n->name, overload, body, NULL, 0, NULL, 0);
  return s ? tflite_fail(r, s, n->at, "it cannot be a function") : TN_OK;
}

tn_status tflite_select_tf(const tflite_node *n, const tn_attr *const *attrs, bool *out_done) {
  tflite_reader *r = n->s->r;
  const tn_source *source = r->source;
  tn_str parts[2];
  bytes graph;
  if (strncmp(n->name, "Flex", 4) || !tflite_flex_pair(r, n->options, parts)) return TN_OK;
  const tn_read_as *other = TN_HAS(source->host, get_extension)
                                ? source->host->get_extension(source->ctx, TN_READ_AS)
                                : NULL;
  if (!other) return TN_OK;
  tn_status s = check_node(n, parts[1]);
  if (!s) s = make_graph(n, parts[1], &graph);
  if (s) return s;
  tn_graph *body = r->api->subgraph_new(r->main);
  const char *overload = tn_arena_format(&r->arena, "%u", r->n_select++);
  if (!body || !overload) return tflite_no_memory(r);
  s = other->read(source->ctx, "tensorflow", r->where, graph.data, graph.n, body);
  if (s == TN_ERR_NOT_FOUND) return TN_OK;
  if (!s) s = add_function(n, overload, body);
  *out_done = true;
  return s ? s : tflite_call_add(n, "tflite", n->name, overload, attrs, n->attrs->n);
}
