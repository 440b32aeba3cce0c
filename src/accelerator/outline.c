/* Parts of graphs: nodes that a compiler takes become a graph of their own, which stands in the
 * graph around it as the body of tenon::Island does. */
#include <string.h>

#include "accelerator/accelerator.h"
#include "base/abi.h"

typedef struct outliner {
  tn_graph *g, *body;
  tn_part *part;
  tn_arena *arena;
  uint8_t *inside; /* per node */
  int32_t *to;     /* per value of g: that of the body; -1: none yet */
} outliner;

static bool leaves(const outliner *o, int32_t value) {
  const tn_value *v = tn_graph_val(o->g, value);
  if (v->flags & TN_VALUE_OUTPUT) return true;
  for (int64_t k = 0; k < v->users.n; k++)
    if (!o->inside[v->users.data[k]]) return true;
  return false;
}

static int32_t new_value(outliner *o, int32_t value) {
  const tn_value *from = tn_graph_val(o->g, value);
  const int32_t id = tn_graph_value(o->body, from->name);
  if (id < 0) return id;
  tn_tensor type = *from->type;
  type.data = NULL;
  if (tn_graph_set_type(o->body, id, &type)) return TN_ERR_MEMORY;
  tn_graph_val(o->body, id)->known = true;
  return o->to[value] = id;
}

/* A value that nodes of the part read: made by one before, a constant, or an input. */
static int32_t read_value(outliner *o, int32_t value) {
  if (value < 0) return TN_NO_ID;
  if (o->to[value] >= 0) return o->to[value];
  const int32_t id = new_value(o, value);
  const tn_value *from = tn_graph_val(o->g, value);
  if (id < 0) return TN_ERR_MEMORY;
  if (from->constant) {
    tn_status status = tn_graph_set_const(o->body, id, from->type, from->constant);
    return status ? status : id;
  }
  o->part->inputs[o->part->n_inputs++] = value;
  const tn_status status = tn_graph_api_table.add_input(o->body, id);
  return status ? status : id;
}

static tn_status add_node(outliner *o, int32_t node) {
  const tn_gnode from = *tn_graph_node(o->g, node);
  tn_node n = from.node;
  int32_t *inputs = tn_arena_alloc(o->arena, (n.n_inputs + 1) * sizeof *inputs);
  int32_t *outputs = tn_arena_alloc(o->arena, (n.n_outputs + 1) * sizeof *outputs);
  if (!inputs || !outputs) return TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n.n_inputs; k++)
    if ((inputs[k] = read_value(o, n.inputs[k])) < TN_NO_ID) return inputs[k];
  for (uint32_t k = 0; k < n.n_outputs; k++) {
    outputs[k] = n.outputs[k] < 0 ? TN_NO_ID : new_value(o, n.outputs[k]);
    if (outputs[k] < TN_NO_ID) return outputs[k];
    if (n.outputs[k] >= 0 && leaves(o, n.outputs[k]))
      o->part->outputs[o->part->n_outputs++] = n.outputs[k];
  }
  n.inputs = inputs;
  n.outputs = outputs;
  const int32_t id = tn_graph_add_node(o->body, &n);
  if (id < 0) return id;
  tn_gnode *made = tn_graph_node(o->body, id);
  made->def = from.def;
  made->attrs = from.attrs;
  made->origin = from.origin;
  return TN_OK;
}

static tn_status copy_opsets(outliner *o) {
  const tn_graph *root = o->g;
  while (root->parent) root = root->parent;
  for (int64_t k = 0; k < root->opsets.n; k++)
    if (tn_vec_push(o->body->a, &o->body->opsets, root->opsets.data[k])) return TN_ERR_MEMORY;
  return TN_OK;
}

static uint64_t count_ports(const tn_graph *g, const int32_t *nodes, int32_t n) {
  uint64_t count = 1;
  for (int32_t k = 0; k < n; k++) {
    const tn_node *node = &tn_graph_node(g, nodes[k])->node;
    count += (uint64_t)node->n_inputs + node->n_outputs;
  }
  return count;
}

static tn_status open(outliner *o, const int32_t *nodes, int32_t n) {
  tn_part *part = o->part;
  const uint64_t n_ports = count_ports(o->g, nodes, n);
  part->nodes = tn_arena_copy(o->arena, nodes, (uint64_t)n * sizeof *nodes);
  part->inputs = tn_arena_alloc(o->arena, n_ports * sizeof *part->inputs);
  part->outputs = tn_arena_alloc(o->arena, n_ports * sizeof *part->outputs);
  o->inside = tn_arena_alloc(o->arena, (uint64_t)o->g->nodes.n + 1);
  o->to = tn_arena_alloc(o->arena, ((uint64_t)o->g->values.n + 1) * sizeof *o->to);
  o->body = part->body = tn_graph_api_table.subgraph_new(o->g);
  if (!part->nodes || !part->inputs || !part->outputs || !o->inside || !o->to || !o->body)
    return TN_ERR_MEMORY;
  part->n_nodes = n;
  for (int64_t k = 0; k < o->g->values.n; k++) o->to[k] = -1;
  for (int32_t k = 0; k < n; k++) o->inside[nodes[k]] = 1;
  return copy_opsets(o);
}

tn_status tn_part_outline(tn_graph *g, const int32_t *nodes, int32_t n, tn_arena *arena,
                          tn_diag *diag, tn_part *out) {
  *out = (tn_part){.n_nodes = 0};
  outliner o = {.g = g, .part = out, .arena = arena};
  tn_status status = open(&o, nodes, n);
  for (int32_t k = 0; k < n && !status; k++) status = add_node(&o, nodes[k]);
  for (int32_t k = 0; k < out->n_outputs && !status; k++)
    status = tn_graph_api_table.add_output(o.body, o.to[out->outputs[k]]);
  if (!status) status = tn_graph_sort(o.body, diag);
  return status;
}

/* ---- as bytes ---- */

typedef struct memory_sink {
  tn_text text;
  tn_diag *diag;
  const char *format;
} memory_sink;

static __attribute__((format(printf, 3, 4))) tn_status sink_fail(void *ctx, tn_status code,
                                                                 const char *format, ...) {
  const memory_sink *s = ctx;
  char text[1001];
  va_list args;
  if (!ctx || !format) return code;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return tn_fail(s->diag, code, "writing a part as %s: %s", s->format, text);
}

static void *sink_alloc(void *ctx, uint64_t bytes) {
  return tn_alloc_sized(((memory_sink *)ctx)->text.a, bytes);
}

static void sink_free(void *ctx, void *memory) {
  tn_free_sized(((memory_sink *)ctx)->text.a, memory);
}

static tn_status sink_write(void *ctx, const void *data, uint64_t size) {
  memory_sink *s = ctx;
  if (size > INT64_MAX || (size && !data)) return TN_ERR_INVALID;
  tn_text_add_bytes(&s->text, data, (int64_t)size);
  return s->text.status;
}

tn_status tn_graph_to_bytes(const tn_allocator *a, const tn_registry *r, const tn_graph *g,
                            const char *format, tn_diag *diag, void **out_data,
                            uint64_t *out_size) {
  const tn_host host = {.head = TN_HEAD(tn_host),
                        .graph = &tn_graph_api_table,
                        .fail = sink_fail,
                        .alloc = sink_alloc,
                        .free = sink_free};
  const tn_format *to = tn_registry_format(r, format);
  memory_sink s = {.diag = diag, .format = format};
  *out_data = NULL;
  *out_size = 0;
  if (!to || !to->write)
    return tn_fail(diag, TN_ERR_NOT_FOUND, "there is no writer of format '%s'", format);
  tn_text_init(&s.text, a);
  const tn_sink sink = {.head = TN_HEAD(tn_sink),
                        .host = &host,
                        .ctx = &s,
                        .self = tn_registry_format_self(to),
                        .write = sink_write};
  tn_status status = tn_graph_fetch(g);
  if (!status) {
    status = to->write(&sink, g);
    tn_graph_drop(g);
  }
  if (!status) status = s.text.status;
  void *data = status ? NULL : tn_alloc_sized(a, (uint64_t)s.text.n + 1);
  if (data) memcpy(data, tn_text_get(&s.text), (size_t)s.text.n);
  if (!status && !data) status = TN_ERR_MEMORY;
  *out_data = data;
  *out_size = data ? (uint64_t)s.text.n : 0;
  tn_text_free(&s.text);
  return status;
}

tn_status tn_part_to_bytes(const tn_allocator *a, const tn_registry *r, tn_part *part,
                           tn_diag *diag) {
  if (part->bytes) return TN_OK;
  const tn_status status =
      tn_graph_to_bytes(a, r, part->body, "onnx", diag, &part->bytes, &part->size);
  if (!status) tn_sha256_text(part->bytes, part->size, part->sha256);
  return status;
}

void tn_part_close(const tn_allocator *a, tn_part *part) {
  if (part->bytes) tn_free_sized(a, part->bytes);
  part->bytes = NULL;
}
