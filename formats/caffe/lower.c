/* Reading nodes of Caffe and writing others in their place; see lower.h. */
#include "lower.h"

bool caf_has(const tn_lowering *c, const char *name) {
  const tn_node *n = tn_low_node(c);
  for (uint32_t k = 0; k < n->n_attrs; k++)
    if (!strcmp(n->attrs[k]->name, name)) return true;
  return false;
}

uint32_t caf_bottoms(const tn_lowering *c) {
  const int64_t n = tn_low_int(c, "bottoms", 1);
  return n < 1 ? 1 : n > c->call->n_inputs ? c->call->n_inputs : (uint32_t)n;
}

int32_t caf_blob(const tn_lowering *c, uint32_t k) {
  return caf_bottoms(c) + k < c->call->n_inputs ? tn_low_in(c, caf_bottoms(c) + k) : TN_NO_ID;
}
const tn_tensor *caf_blob_type(const tn_lowering *c, uint32_t k) {
  return tn_low_type(c, caf_bottoms(c) + k);
}

tn_status caf_axis(const tn_lowering *c, int64_t axis, int32_t most, int32_t *out) {
  const tn_tensor *x = tn_low_type(c, 0);
  if (axis < 0) axis += x->rank;
  if (axis < 0 || axis > most) return caf_invalid(c, "an axis that its bottom does not have");
  *out = (int32_t)axis;
  return TN_OK;
}

int32_t caf_linear(const tn_lowering *c, int32_t x, double scale, double shift) {
  if (scale != 1) x = tn_low_2(c, "Mul", x, tn_low_number(c, TN_F32, scale));
  return shift != 0 ? tn_low_2(c, "Add", x, tn_low_number(c, TN_F32, shift)) : x;
}

tn_status caf_done(const tn_lowering *c, int32_t value) {
  if (value == tn_low_in(c, 0)) value = tn_low_1(c, "Identity", value);
  if (value < 0) return value < TN_NO_ID ? value : TN_ERR_INTERNAL;
  return c->call->host->graph->replace_node(c->graph, c->node, &value, 1);
}

tn_status caf_invalid(const tn_lowering *c, const char *what) {
  return c->call->host->fail(c->call->ctx, TN_ERR_INVALID, "%s", what);
}
