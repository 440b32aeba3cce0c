/* NodeProto -> a node of the graph, or a constant. */
#include "reader.h"

/* More than any operator has; the graph compares the outputs of a node with each other. */
enum { MAX_OUTPUTS = 4096, MAX_ATTRS = 256 };

typedef struct node_reader {
  onnx_reader *r;
  onnx_span message, name, op, domain, overload, made; /* made: the first output */
  const uint8_t *at;
  tn_graph *g;
  tn_arena arena;
  tn_node node;
  int32_t *inputs, *outputs;
  tn_attr *attrs;
  const tn_attr **attr_ptrs;
  _Alignas(16) uint8_t room[1024]; /* of the arena, for most nodes all it needs */
} node_reader;

/* Names, and how many inputs, outputs and attributes there are. */
static tn_status open_node(node_reader *n) {
  onnx_span rest = n->message;
  onnx_field f;
  int32_t more;
  tn_status s = TN_OK;
  while (!s && (more = onnx_next(n->r, &rest, &f)) != 0) {
    if (more < 0) return more;
    switch (f.number) {
      case 1: n->node.n_inputs++; break; /* input */
      case 2:                            /* output */
        if (!n->node.n_outputs++) s = onnx_text(n->r, &f, &n->made);
        break;
      case 3: s = onnx_text(n->r, &f, &n->name); break;     /* name */
      case 4: s = onnx_text(n->r, &f, &n->op); break;       /* op_type */
      case 5: n->node.n_attrs++; break;                     /* attribute */
      case 7: s = onnx_text(n->r, &f, &n->domain); break;   /* domain */
      case 8: s = onnx_text(n->r, &f, &n->overload); break; /* overload */
      default: break;
    }
  }
  if (onnx_is(n->domain, "ai.onnx")) n->domain = (onnx_span){NULL, NULL};
  return s;
}

static tn_status check_node(const node_reader *n) {
  if (n->op.p == n->op.end)
    return onnx_fail(n->r, TN_ERR_INVALID, n->at, "the node names no operator");
  if (n->node.n_outputs > MAX_OUTPUTS || n->node.n_attrs > MAX_ATTRS)
    return onnx_fail(n->r, TN_ERR_OVERFLOW, n->at,
                     "the node has %u outputs and %u attributes; at most %d and %d are supported",
                     n->node.n_outputs, n->node.n_attrs, MAX_OUTPUTS, MAX_ATTRS);
  return TN_OK;
}

static tn_status alloc_node(node_reader *n) {
  tn_node *to = &n->node;
  tn_arena *arena = &n->arena;
  to->head = (tn_head)TN_HEAD(tn_node);
  to->name = onnx_str(arena, n->name);
  to->op = onnx_str(arena, n->op);
  to->domain = onnx_str(arena, n->domain);
  to->overload = onnx_str(arena, n->overload);
  to->offset = n->at - n->r->source->data;
  to->inputs = n->inputs = tn_arena_alloc(arena, to->n_inputs * sizeof *n->inputs);
  to->outputs = n->outputs = tn_arena_alloc(arena, to->n_outputs * sizeof *n->outputs);
  n->attrs = tn_arena_alloc(arena, to->n_attrs * sizeof *n->attrs);
  to->attrs = n->attr_ptrs = tn_arena_alloc(arena, to->n_attrs * sizeof *n->attr_ptrs);
  if (!to->name || !to->op || !to->domain || !to->overload || !n->inputs || !n->outputs ||
      !n->attrs || !to->attrs)
    return onnx_no_memory(n->r);
  return TN_OK;
}

/* The id of the value that a field names; "" is none. */
static tn_status read_value_name(node_reader *n, const onnx_field *f, int32_t *out) {
  onnx_span name;
  tn_status s = onnx_text(n->r, f, &name);
  *out = -1;
  return s || name.p == name.end ? s : onnx_value(n->r, n->g, &n->arena, name, out);
}

static tn_status read_attr(node_reader *n, const onnx_field *f, uint32_t k) {
  onnx_span message;
  tn_status s = onnx_bytes(n->r, f, &message);
  if (!s) s = onnx_attr_read(n->r, message, n->g, &n->arena, &n->attrs[k]);
  n->attr_ptrs[k] = &n->attrs[k];
  for (uint32_t j = 0; j < k && !s; j++)
    if (!strcmp(n->attrs[j].name, n->attrs[k].name))
      s = onnx_fail(n->r, TN_ERR_INVALID, f->at, "attribute '%.80s' is given a second time",
                    n->attrs[k].name);
  return s;
}

static tn_status fill_node(node_reader *n) {
  onnx_span rest = n->message;
  onnx_field f;
  uint32_t in = 0, out = 0, attr = 0;
  tn_status s = TN_OK;
  while (!s && onnx_next(n->r, &rest, &f) > 0) { /* cannot fail: open_node has been through */
    if (f.number == 1)
      s = read_value_name(n, &f, &n->inputs[in++]);
    else if (f.number == 2)
      s = read_value_name(n, &f, &n->outputs[out++]);
    else if (f.number == 5)
      s = read_attr(n, &f, attr++);
  }
  return s;
}

static tn_status add_node(node_reader *n) {
  int32_t id = n->r->api->add_node(n->g, &n->node);
  n->r->n_nodes++;
  if (id >= 0) return TN_OK;
  if (id == TN_ERR_MEMORY) return onnx_no_memory(n->r);
  if (id != TN_ERR_STATE)
    return onnx_fail(n->r, id, n->at, "the node cannot be added to the graph");
  return onnx_fail(n->r, TN_ERR_INVALID, n->at,
                   "an output of the node has another source already: a node, input or constant");
}

/* Constants are no nodes in Tenon, unless they take their value from an attribute of the function
 * they stand in. */
static tn_status add_constant(node_reader *n, bool *out_done) {
  tn_tensor tensor;
  tn_status s = onnx_constant_read(n->r, &n->node, &n->arena, &tensor, out_done);
  if (s || !*out_done || n->outputs[0] < 0) return s;
  const char *name = n->r->api->value_name(n->g, n->outputs[0]);
  return onnx_set_const(n->r, n->g, n->outputs[0], &tensor,
                        (onnx_span){(const uint8_t *)name, (const uint8_t *)name + strlen(name)});
}

/* A model that forgets to import a set of operators is taken to mean the newest of ONNX, and the
 * first of others: ONNX Runtime loads such models, and some with custom operators are so. */
static tn_status import_domain(const node_reader *n) {
  const tn_source *source = n->r->source;
  const char *domain = n->node.domain;
  enum { MAX_OPSETS = 64 }; /* beyond that it is no oversight, and is refused when it is checked */
  if (n->r->api->opset(n->g, domain) || n->r->api->n_opsets(n->g) >= MAX_OPSETS) return TN_OK;
  const int32_t version = !*domain                        ? ONNX_ASSUMED_OPSET
                          : !strcmp(domain, "ai.onnx.ml") ? ONNX_ASSUMED_ML_OPSET
                                                          : 1;
  source->host->log(
      source->ctx, TN_LOG_WARNING,
      "the model does not import an operator set for domain '%s': version %d is taken",
      *domain ? domain : "ai.onnx", version);
  return n->r->api->set_opset(n->g, domain, version) ? onnx_no_memory(n->r) : TN_OK;
}

static tn_status read_node(node_reader *n) {
  tn_status s = check_node(n);
  if (!s) s = alloc_node(n);
  if (!s) s = import_domain(n);
  if (!s) s = fill_node(n);
  bool done = false;
  if (!s && onnx_is(n->op, "Constant") && onnx_size(n->domain) == 0) s = add_constant(n, &done);
  return s || done ? s : add_node(n);
}

tn_status onnx_node_read(onnx_reader *r, onnx_span message, tn_graph *g) {
  node_reader n;
  memset(&n, 0, offsetof(node_reader, room));
  n.r = r, n.message = message, n.at = message.p, n.g = g;
  tn_status s = open_node(&n);
  if (s) return s;
  const onnx_where where = {.up = r->where,
                            .what = "node",
                            .name = n.name,
                            .detail = n.op,
                            .made = n.made,
                            .number = r->n_nodes};
  r->where = &where;
  tn_arena_init_in(&n.arena, &r->allocator, n.room, sizeof n.room);
  s = read_node(&n);
  tn_arena_clear(&n.arena);
  r->where = where.up;
  return s;
}
