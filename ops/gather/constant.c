/* Constant with an attribute that a function passed on: it becomes a constant of the graph. */
#include "tenon/kit/lower.h"

#include "gather.gen.h"

static int32_t emit(const tn_call *call, tn_graph *graph, uint32_t dtype, int32_t rank, int64_t n,
                    const void *data) {
  union {
    const void *in;
    void *out;
  } cast = {data}; /* copied by tn_emit_const */
  tn_tensor t = tn_tensor_make(dtype, rank, &n, cast.out);
  return tn_emit_const(call, graph, &t);
}

/* The id of the value, or a negative status. */
static int32_t emit_value(const tn_call *call, tn_graph *graph, const tn_constant_attrs *a) {
  float one = (float)a->value_float;
  if (a->has_value) return tn_emit_const(call, graph, a->value);
  if (a->has_value_float) return emit(call, graph, TN_F32, 0, 1, &one);
  if (a->has_value_floats)
    return tn_emit_floats(call, graph, a->value_floats.data, a->value_floats.size);
  if (a->has_value_int) return emit(call, graph, TN_I64, 0, 1, &a->value_int);
  if (a->has_value_ints) return tn_emit_ints(call, graph, a->value_ints.data, a->value_ints.size);
  if (a->has_value_string) return emit(call, graph, TN_STRING, 0, 1, &a->value_string);
  if (a->has_value_strings)
    return emit(call, graph, TN_STRING, 1, a->value_strings.size, a->value_strings.data);
  return call->host->fail(call->ctx, TN_ERR_INVALID, "has no value");
}

tn_status constant_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  int32_t value = emit_value(call, graph, call->attrs);
  return value < 0 ? value : call->host->graph->replace_node(graph, node, &value, 1);
}
