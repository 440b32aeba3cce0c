/* SubGraph -> a graph: inputs, operators, outputs. */
#include "reader.h"

static tn_status add_input(tflite_subgraph *s, int64_t index) {
  tflite_reader *r = s->r;
  int32_t value;
  if (index >= 0 && (uint64_t)index < s->n_tensors) s->tensors[index].is_input = true;
  tn_status status = tflite_value(s, index, false, &value);
  if (status || value < 0 || r->api->value_flags(s->g, value) & TN_VALUE_CONST) return status;
  const tflite_tensor *t = &s->tensors[index];
  if (t->type.dtype == TN_NONE)
    return tflite_fail(r, TN_ERR_UNSUPPORTED, t->at, "not supported: input '%.80s' is a handle",
                       t->name);
  status = r->api->value_set_type(s->g, value, &t->type);
  if (!status) status = r->api->add_input(s->g, value);
  return status ? tflite_fail(r, status == TN_ERR_STATE ? TN_ERR_INVALID : status, t->at,
                              "tensor '%.80s' cannot be an input", t->name)
                : TN_OK;
}

/* What the file says of an output. Without has_rank, no dims are a scalar or nothing known; dims of
 * 0 are those that converters did not know. */
static tn_status declare_output(const tflite_subgraph *s, const tflite_tensor *t) {
  const tflite_reader *r = s->r;
  if (s->g != r->main || t->type.dtype == TN_NONE || r->api->value_flags(s->g, t->value))
    return TN_OK; /* of blocks, what their operator makes of them counts */
  tn_tensor type = t->type;
  if (!type.rank) type.rank = TN_RANK_UNKNOWN;
  for (int32_t k = 0; k < type.rank; k++)
    if (!type.shape[k]) type.shape[k] = TN_DIM_UNKNOWN;
  return r->api->value_set_type(s->g, t->value, &type);
}

static tn_status add_output(tflite_subgraph *s, int64_t index) {
  tflite_reader *r = s->r;
  int32_t value;
  tn_status status = tflite_value(s, index, false, &value);
  if (status || value < 0) return status;
  status = declare_output(s, &s->tensors[index]);
  if (!status) status = r->api->add_output(s->g, value);
  return status ? tflite_fail(r, status, s->tensors[index].at, "tensor '%.80s' cannot be an output",
                              s->tensors[index].name)
                : TN_OK;
}

static tn_status add_borders(tflite_subgraph *s, uint32_t field,
                             tn_status (*add)(tflite_subgraph *, int64_t)) {
  const tn_flat_vector list = tn_flat_vec(&s->table, field, 4);
  tn_status status = TN_OK;
  for (uint64_t k = 0; k < list.n && !status; k++) status = add(s, tn_flat_int_at(&list, k));
  return status ? status : tflite_status(s->r);
}

static tn_status read_operators(tflite_subgraph *s) {
  const tn_flat_vector list = tn_flat_vec(&s->table, SUBGRAPH_OPERATORS, 4);
  tn_status status = tflite_status(s->r);
  for (uint64_t k = 0; k < list.n && !status; k++) {
    const tn_flat_table op = tn_flat_item(&list, k, &tflite_operator_type);
    status = tflite_node_read(s, k, &op);
  }
  return status ? status : tflite_status(s->r);
}

tn_status tflite_subgraph_read(tflite_reader *r, uint64_t index, tn_graph *g) {
  tflite_subgraph s = {.r = r, .g = g};
  s.table = tn_flat_item(&r->subgraphs, index, &tflite_subgraph_type);
  tn_map_init(&s.names, &r->allocator);
  tn_status status = tflite_tensors_read(&s);
  for (int64_t k = 0; k < r->aliases.n && !status; k++) {
    const tflite_alias *alias = &r->aliases.data[k];
    const bool is_there = alias->tensor >= 0 && (uint64_t)alias->tensor < s.n_tensors;
    if (is_there && *alias->name) s.tensors[alias->tensor].name = alias->name;
  }
  if (!status) status = add_borders(&s, SUBGRAPH_INPUTS, add_input);
  if (!status) status = read_operators(&s);
  if (!status) status = add_borders(&s, SUBGRAPH_OUTPUTS, add_output);
  tn_map_free(&s.names);
  return status;
}

static tn_status bind(tflite_subgraph *s, uint32_t field, const int32_t *in, int32_t *out,
                      uint64_t n) {
  const tn_flat_vector list = tn_flat_vec(&s->table, field, 4);
  tn_status status = tflite_status(s->r);
  if (!status && list.n != n)
    return tflite_fail(s->r, TN_ERR_INVALID, s->table.at,
                       "runs a subgraph of %llu inputs or outputs with %llu values",
                       (unsigned long long)list.n, (unsigned long long)n);
  for (uint64_t k = 0; k < n && !status; k++) {
    const int64_t index = tn_flat_int_at(&list, k);
    if (index < 0 || (uint64_t)index >= s->n_tensors)
      return tflite_fail(s->r, TN_ERR_INVALID, s->table.at, "there is no tensor %lld",
                         (long long)index);
    if (in)
      s->tensors[index].value = in[k];
    else
      status = tflite_value(s, index, true, &out[k]);
  }
  return status;
}

tn_status tflite_subgraph_inline(tflite_reader *r, uint64_t index, tn_graph *g, const int32_t *in,
                                 uint64_t n_in, int32_t *out, uint64_t n_out) {
  tflite_subgraph s = {.r = r, .g = g, .copy = ++r->n_inlined};
  s.table = tn_flat_item(&r->subgraphs, index, &tflite_subgraph_type);
  tn_map_init(&s.names, &r->allocator);
  tn_status status = tflite_tensors_read(&s);
  if (!status) status = bind(&s, SUBGRAPH_INPUTS, in, NULL, n_in);
  if (!status) status = read_operators(&s);
  if (!status) status = bind(&s, SUBGRAPH_OUTPUTS, NULL, out, n_out);
  tn_map_free(&s.names);
  return status;
}
