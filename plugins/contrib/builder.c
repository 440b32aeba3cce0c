/* Writing nodes into a graph through the host's functions. */
#include "builder.h"

#include "tenon/kit/onnx_dtype.h"

enum { MAX_ATTRS = 16 };

builder build_begin(const tn_call *call, tn_graph *graph, int32_t node) {
  return (builder){.call = call, .graph = graph, .node = node};
}

/* Notes a negative id. */
static int32_t checked(builder *b, int32_t id) {
  if (id < 0 && !b->status) b->status = id;
  return id;
}

tn_status build_end(builder *b, const int32_t *values, uint32_t n) {
  return b->status ? b->status : b->call->host->graph->replace_node(b->graph, b->node, values, n);
}

int32_t build_input(builder *b, uint32_t k) { return tn_node_input(b->call, b->graph, b->node, k); }

int32_t build_const(builder *b, const tn_tensor *t) {
  return b->status ? -1 : checked(b, tn_emit_const(b->call, b->graph, t));
}

int32_t build_ints(builder *b, const int64_t *data, int64_t n) {
  return b->status ? -1 : checked(b, tn_emit_ints(b->call, b->graph, data, n));
}

int32_t build_scalar(builder *b, uint32_t dtype, double value) {
  return b->status ? -1 : checked(b, tn_emit_number(b->call, b->graph, dtype, value));
}

static const tn_node *replaced(const builder *b) {
  return b->call->host->graph->node(b->graph, b->node);
}

/* What a node is made of; its name and offset are those of the one it replaces. Its outputs are
 * made first: what the graph says of the old node is to be trusted until the graph changes only. */
typedef struct part {
  const char *domain, *op;
  const int32_t *inputs, *outputs;
  uint32_t n_inputs, n_outputs, n_attrs;
  const tn_attr *attrs[MAX_ATTRS];
} part;

static void take_attr(builder *b, part *p, const tn_attr *attr) {
  if (p->n_attrs < MAX_ATTRS)
    p->attrs[p->n_attrs++] = attr;
  else
    checked(b, TN_ERR_INTERNAL);
}

static void new_values(builder *b, int32_t *out, uint32_t n) {
  for (uint32_t k = 0; k < n; k++)
    out[k] = b->status ? -1 : checked(b, b->call->host->graph->value(b->graph, NULL));
}

static void add(builder *b, const part *p) {
  if (b->status) return;
  const tn_node *old = replaced(b);
  const tn_node made = {.head = TN_HEAD(tn_node),
                        .domain = p->domain,
                        .op = p->op,
                        .name = old->name,
                        .inputs = p->inputs,
                        .n_inputs = p->n_inputs,
                        .outputs = p->outputs,
                        .n_outputs = p->n_outputs,
                        .attrs = p->attrs,
                        .n_attrs = p->n_attrs,
                        .offset = old->offset};
  checked(b, b->call->host->graph->add_node(b->graph, &made));
}

void build_domain(builder *b, const char *domain, const char *op, const int32_t *inputs,
                  uint32_t n_inputs, const tn_attr *attrs, uint32_t n_attrs, int32_t *out,
                  uint32_t n_outputs) {
  part p = {domain, op, inputs, out, n_inputs, n_outputs, 0, {NULL}};
  new_values(b, out, n_outputs);
  for (uint32_t k = 0; k < n_attrs; k++) take_attr(b, &p, &attrs[k]);
  add(b, &p);
}

void build_node(builder *b, const char *op, const int32_t *inputs, uint32_t n_inputs,
                const tn_attr *attrs, uint32_t n_attrs, int32_t *out, uint32_t n_outputs) {
  build_domain(b, "", op, inputs, n_inputs, attrs, n_attrs, out, n_outputs);
}

void build_like(builder *b, const char *domain, const char *op, const char *drop,
                const int32_t *inputs, uint32_t n_inputs, int32_t *out, uint32_t n_outputs) {
  part p = {domain, op, inputs, out, n_inputs, n_outputs, 0, {NULL}};
  new_values(b, out, n_outputs);
  const tn_node *old = replaced(b);
  for (uint32_t k = 0; k < old->n_attrs; k++)
    if (!drop || strcmp(old->attrs[k]->name, drop)) take_attr(b, &p, old->attrs[k]);
  add(b, &p);
}

void build_other(builder *b, const char *domain, const char *op, const int32_t *inputs,
                 uint32_t n_inputs, int32_t *out, uint32_t n_outputs) {
  build_domain(b, domain, op, inputs, n_inputs, NULL, 0, out, n_outputs);
}

const tn_attr *build_find_attr(const builder *b, const char *name) {
  const tn_node *old = replaced(b);
  for (uint32_t k = 0; k < old->n_attrs; k++)
    if (!strcmp(old->attrs[k]->name, name)) return old->attrs[k];
  return NULL;
}

int32_t build_unary(builder *b, const char *op, int32_t x) {
  int32_t y;
  build_node(b, op, &x, 1, NULL, 0, &y, 1);
  return y;
}

int32_t build_binary(builder *b, const char *op, int32_t x, int32_t y) {
  int32_t z;
  build_node(b, op, (int32_t[]){x, y}, 2, NULL, 0, &z, 1);
  return z;
}

int32_t build_reshape(builder *b, int32_t x, const int64_t *dims, int64_t n) {
  const int32_t shape = build_ints(b, dims, n);
  const tn_attr zero = tn_attr_int("allowzero", 1);
  int32_t y;
  build_node(b, "Reshape", (int32_t[]){x, shape}, 2, &zero, 1, &y, 1);
  return y;
}

int32_t build_scalar_of(builder *b, int32_t x) { return build_reshape(b, x, NULL, 0); }

int32_t build_transpose(builder *b, int32_t x, const int64_t *perm, int64_t n) {
  const tn_attr a = tn_attr_ints("perm", (tn_ints){perm, n});
  int32_t y;
  build_node(b, "Transpose", &x, 1, &a, 1, &y, 1);
  return y;
}

int32_t build_move_channels(builder *b, int32_t x, int64_t rank, bool to_end) {
  int64_t perm[TN_MAX_RANK] = {0};
  for (int64_t k = 1; k < rank; k++)
    perm[k] = to_end ? (k + 1 < rank ? k + 1 : 1) : (k == 1 ? rank - 1 : k - 1);
  return build_transpose(b, x, perm, rank);
}

int32_t build_cast(builder *b, int32_t x, uint32_t dtype) {
  const tn_attr to = tn_attr_int("to", tn_onnx_of_dtype(dtype));
  int32_t y;
  build_node(b, "Cast", &x, 1, &to, 1, &y, 1);
  return y;
}

/* x by an operator that takes a scale and a zero point. */
static int32_t scaled(builder *b, const char *op, int32_t x, uint32_t scale, int32_t zero) {
  const int32_t inputs[3] = {x, build_scalar_of(b, build_input(b, scale)),
                             zero < 0 ? -1 : build_scalar_of(b, zero)};
  int32_t y;
  build_node(b, op, inputs, 3, NULL, 0, &y, 1);
  return y;
}

int32_t build_dequantised(builder *b, uint32_t x, uint32_t scale, uint32_t zero) {
  return scaled(b, "DequantizeLinear", build_input(b, x), scale, build_input(b, zero));
}

int32_t build_quantised(builder *b, int32_t y, uint32_t scale, uint32_t zero, int32_t like) {
  int32_t point = build_input(b, zero);
  if (point < 0) point = build_binary(b, "CastLike", build_scalar(b, TN_I32, 0), like);
  return scaled(b, "QuantizeLinear", y, scale, point);
}

void build_split(builder *b, int32_t x, int64_t axis, const int64_t *sizes, uint32_t n,
                 int32_t *out) {
  const int32_t lengths = build_ints(b, sizes, n);
  const tn_attr a = tn_attr_int("axis", axis);
  build_node(b, "Split", (int32_t[]){x, lengths}, 2, &a, 1, out, n);
}

int32_t build_concat(builder *b, const int32_t *inputs, uint32_t n, int64_t axis) {
  const tn_attr a = tn_attr_int("axis", axis);
  int32_t y;
  build_node(b, "Concat", inputs, n, &a, 1, &y, 1);
  return y;
}
