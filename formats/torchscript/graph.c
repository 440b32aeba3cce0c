/* Writing nodes into the graph that is being built, and reading values of those around it. */
#include <stdio.h>

#include "reader.h"
#include "tenon/kit/onnx_dtype.h"

static const ts_ssa none = {NULL, TN_NO_ID};

static tn_status graph_fails(ts_reader *r, int32_t status, const char *what) {
  if (status == TN_ERR_MEMORY) return ts_no_memory(r);
  return ts_fail(r, status < TN_NO_ID ? status : TN_ERR_INTERNAL, "%s", what);
}

/* ---- values ---- */

bool ts_is_visible(const ts_reader *r, ts_ssa ssa) {
  for (const ts_scope *s = r->scope; s; s = s->outer)
    if (s == ssa.scope) return ssa.id >= 0;
  return false;
}

int32_t ts_use(ts_reader *r, ts_ssa ssa) {
  if (r->status) return r->status;
  if (ssa.id < 0 || !ts_is_visible(r, ssa))
    return ts_fail(r, TN_ERR_INTERNAL, "reads a value of another branch");
  if (ssa.scope == r->scope) return ssa.id;
  const char *name = r->api->value_name(ssa.scope->g, ssa.id);
  const int32_t id = *name ? r->api->value(r->scope->g, name) : TN_ERR_INTERNAL;
  return id < 0 ? graph_fails(r, id, "a value cannot be read in a branch or loop") : id;
}

/* Every value has a name that no other has: branches read them by name. */
ts_ssa ts_ssa_new(ts_reader *r, const char *what) {
  char name[160];
  if (r->status) return none;
  snprintf(name, sizeof name, "%.120s.%lld", what, (long long)++r->n_names);
  const ts_ssa ssa = {r->scope, r->api->value(r->scope->g, name)};
  if (ssa.id >= 0) return ssa;
  graph_fails(r, ssa.id, "there is no room for another value");
  return none;
}

/* ---- nodes ---- */

/* "__torch__/net.py:12.3": no other node has it. */
const char *ts_node_name(ts_reader *r) {
  if (!r->frame) return ts_format(r, "node.%lld", (long long)r->n_nodes);
  return ts_format(r, "%s:%u.%lld", r->frame->source->path + 5, r->at ? (unsigned)r->at->line : 0,
                   (long long)r->n_nodes);
}

bool ts_node_room(ts_reader *r) {
  if (++r->n_nodes <= 16384 + 64 * r->n_source_nodes) return true;
  ts_fail(r, TN_ERR_OVERFLOW, "the program becomes more than %lld nodes",
          (long long)r->n_nodes - 1);
  return false;
}

bool ts_node_add(ts_reader *r, const char *domain, const char *op, const ts_ssa *in, uint32_t n_in,
                 const tn_attr *const *attrs, uint32_t n_attrs, ts_ssa *out, uint32_t n_out) {
  if (r->status || !ts_node_room(r)) return false;
  int32_t *ids = ts_alloc(r, ((uint64_t)n_in + n_out + 1) * sizeof *ids);
  if (!ids) return false;
  for (uint32_t k = 0; k < n_in; k++) {
    ids[k] = in[k].scope ? ts_use(r, in[k]) : TN_NO_ID;
    if (r->status) return false;
  }
  for (uint32_t k = 0; k < n_out; k++) {
    out[k] = ts_ssa_new(r, op);
    ids[n_in + k] = out[k].id;
  }
  if (r->status) return false;
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = domain,
                        .op = op,
                        .name = ts_node_name(r),
                        .inputs = ids,
                        .n_inputs = n_in,
                        .outputs = ids + n_in,
                        .n_outputs = n_out,
                        .attrs = attrs,
                        .n_attrs = n_attrs,
                        .offset = -1};
  if (r->status) return false;
  const int32_t id = r->api->add_node(r->scope->g, &node);
  if (id < 0) graph_fails(r, id, "a node cannot be added");
  return id >= 0;
}

ts_ssa ts_op(ts_reader *r, const char *op, const ts_ssa *in, uint32_t n_in) {
  ts_ssa out;
  for (uint32_t k = 0; k < n_in; k++)
    if (in[k].scope && in[k].id < 0) return none;
  return ts_node_add(r, "", op, in, n_in, NULL, 0, &out, 1) ? out : none;
}

ts_ssa ts_op_int(ts_reader *r, const char *op, const ts_ssa *in, uint32_t n_in, const char *attr,
                 int64_t value) {
  ts_ssa out;
  const tn_attr a = {.head = TN_HEAD(tn_attr), .name = attr, .kind = TN_ATTR_INT, .i = value},
                *list = &a;
  return ts_node_add(r, "", op, in, n_in, &list, 1, &out, 1) ? out : none;
}

ts_ssa ts_cast(ts_reader *r, ts_ssa x, uint32_t dtype) {
  return ts_op_int(r, "Cast", &x, 1, "to", tn_onnx_of_dtype(dtype));
}

/* ---- constants ---- */

ts_ssa ts_const(ts_reader *r, const tn_tensor *t) {
  const ts_ssa ssa = ts_ssa_new(r, "const");
  if (ssa.id < 0) return none;
  const tn_status s = r->api->value_set_const(r->scope->g, ssa.id, t, 1);
  return s ? (graph_fails(r, s, "a constant cannot be made"), none) : ssa;
}

ts_ssa ts_const_ints(ts_reader *r, const int64_t *data, int64_t n) {
  const tn_tensor t = tn_tensor_make(TN_I64, 1, &n, n ? (void *)(intptr_t)data : NULL);
  static const int64_t nothing[1];
  tn_tensor whole = t;
  if (!n) whole.data = (void *)(intptr_t)nothing;
  return ts_const(r, &whole);
}

ts_ssa ts_scalar(ts_reader *r, const ts_value *v) {
  if (v->kind == TS_V_DTYPE)
    return ts_null(r, "not supported: the dtype of a tensor as a number"), none;
  if (!v->known) return v->ssa;
  const uint8_t truth = v->i != 0;
  const void *data = v->kind == TS_V_BOOL    ? (const void *)&truth
                     : v->kind == TS_V_FLOAT ? (const void *)&v->f
                                             : (const void *)&v->i;
  const uint32_t dtype = v->kind == TS_V_BOOL ? TN_BOOL : v->kind == TS_V_FLOAT ? TN_F64 : TN_I64;
  const tn_tensor t = tn_tensor_make(dtype, 0, NULL, (void *)(intptr_t)data);
  return ts_const(r, &t);
}

/* ---- conditions ---- */

bool ts_require(ts_reader *r, ts_ssa condition, const char *text) {
  const ts_assert a = {condition, text};
  if (condition.id < 0) return false;
  if (tn_vec_push(&r->allocator, &r->asserts, a)) ts_no_memory(r);
  return !r->status;
}
