/* Reading nodes of Caffe and writing others in their place; see lower.h. */
#include "lower.h"

caf caf_open(const tn_call *call, tn_graph *g, int32_t node) { return (caf){call, g, node}; }

const tn_node *caf_node(const caf *c) { return c->call->host->graph->node(c->g, c->node); }

int64_t caf_int(const caf *c, const char *name, int64_t missing) {
  return tn_pattern_int(caf_node(c), name, missing);
}

double caf_float(const caf *c, const char *name, double missing) {
  return tn_pattern_float(caf_node(c), name, missing);
}

tn_ints caf_ints(const caf *c, const char *name) {
  const tn_attr *a = tn_pattern_attr(caf_node(c), name, TN_ATTR_INTS);
  return a ? a->ints : (tn_ints){NULL, 0};
}

tn_floats caf_floats(const caf *c, const char *name) {
  const tn_attr *a = tn_pattern_attr(caf_node(c), name, TN_ATTR_FLOATS);
  return a ? a->floats : (tn_floats){NULL, 0};
}

bool caf_has(const caf *c, const char *name) {
  const tn_node *n = caf_node(c);
  for (uint32_t k = 0; k < n->n_attrs; k++)
    if (!strcmp(n->attrs[k]->name, name)) return true;
  return false;
}

uint32_t caf_bottoms(const caf *c) {
  const int64_t n = caf_int(c, "bottoms", 1);
  return n < 1 ? 1 : n > c->call->n_inputs ? c->call->n_inputs : (uint32_t)n;
}

int32_t caf_in(const caf *c, uint32_t k) { return tn_node_input(c->call, c->g, c->node, k); }
const tn_tensor *caf_type(const caf *c, uint32_t k) { return tn_input(c->call, k); }
int32_t caf_blob(const caf *c, uint32_t k) {
  return caf_bottoms(c) + k < c->call->n_inputs ? caf_in(c, caf_bottoms(c) + k) : TN_NO_ID;
}
const tn_tensor *caf_blob_type(const caf *c, uint32_t k) { return caf_type(c, caf_bottoms(c) + k); }

tn_status caf_axis(const caf *c, int64_t axis, int32_t most, int32_t *out) {
  const tn_tensor *x = caf_type(c, 0);
  if (axis < 0) axis += x->rank;
  if (axis < 0 || axis > most) return caf_invalid(c, "an axis that its bottom does not have");
  *out = (int32_t)axis;
  return TN_OK;
}

int32_t caf_emit(const caf *c, const char *op, const int32_t *inputs, uint32_t n_inputs,
                 const tn_attr *attrs, uint32_t n_attrs) {
  for (uint32_t k = 0; k < n_inputs; k++)
    if (inputs[k] < TN_NO_ID) return inputs[k];
  while (n_inputs && inputs[n_inputs - 1] == TN_NO_ID) n_inputs--;
  return tn_emit_node(c->call, c->g, caf_node(c)->name, op, inputs, n_inputs, attrs, n_attrs);
}

int32_t caf_1(const caf *c, const char *op, int32_t x) { return caf_emit(c, op, &x, 1, NULL, 0); }

int32_t caf_2(const caf *c, const char *op, int32_t a, int32_t b) {
  const int32_t inputs[] = {a, b};
  return caf_emit(c, op, inputs, 2, NULL, 0);
}

int32_t caf_number(const caf *c, double number) {
  return tn_emit_number(c->call, c->g, TN_F32, number);
}

int32_t caf_reshape(const caf *c, int32_t x, int32_t rank, const int64_t *shape) {
  const int32_t inputs[] = {x, tn_emit_ints(c->call, c->g, shape, rank)};
  const tn_attr allowzero = tn_attr_int("allowzero", 1);
  return caf_emit(c, "Reshape", inputs, 2, &allowzero, 1);
}

int32_t caf_1_int(const caf *c, const char *op, int32_t x, const char *name, int64_t value) {
  const tn_attr a = tn_attr_int(name, value);
  return caf_emit(c, op, &x, 1, &a, 1);
}

int32_t caf_linear(const caf *c, int32_t x, double scale, double shift) {
  if (scale != 1) x = caf_2(c, "Mul", x, caf_number(c, scale));
  return shift != 0 ? caf_2(c, "Add", x, caf_number(c, shift)) : x;
}

tn_status caf_done(const caf *c, int32_t value) {
  if (value == caf_in(c, 0)) value = caf_1(c, "Identity", value);
  if (value < 0) return value < TN_NO_ID ? value : TN_ERR_INTERNAL;
  return c->call->host->graph->replace_node(c->g, c->node, &value, 1);
}

tn_status caf_unsupported(const caf *c, const char *what) {
  return c->call->host->fail(c->call->ctx, TN_ERR_UNSUPPORTED, "not supported: %s", what);
}

tn_status caf_invalid(const caf *c, const char *what) {
  return c->call->host->fail(c->call->ctx, TN_ERR_INVALID, "%s", what);
}
