/* SwiGLU: Swish and Mul, of which the planner makes one pass. */
#include <math.h>

#include "attention.gen.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/lower.h"

tn_status swi_glu_infer(const tn_call *call) {
  if (!tn_same_shape(call->inputs[0], call->inputs[1]))
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "A and B differ in shape");
  return tn_infer_like(call, 0, 0);
}

tn_status swi_glu_reference(const tn_call *call) {
  const double alpha = ((const tn_swi_glu_attrs *)call->attrs)->alpha;
  const tn_tensor *a = call->inputs[0], *b = call->inputs[1], *y = call->outputs[0];
  for (int64_t k = 0; k < tn_elements(a); k++) {
    const double x = tn_load_f64(a->dtype, a->data, k);
    tn_store_f64(y->dtype, y->data, k,
                 x / (1 + exp(-alpha * x)) * tn_load_f64(b->dtype, b->data, k));
  }
  return TN_OK;
}

tn_status swi_glu_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_graph_api *api = call->host->graph;
  const tn_attr alpha = tn_attr_float("alpha", ((const tn_swi_glu_attrs *)call->attrs)->alpha),
                *attrs[1] = {&alpha};
  const int32_t a = tn_node_input(call, graph, node, 0), gate = api->value(graph, NULL);
  if (gate < 0) return gate;
  const tn_node swish = {.head = TN_HEAD(tn_node),
                         .domain = "",
                         .op = "Swish",
                         .name = "",
                         .n_inputs = 1,
                         .n_outputs = 1,
                         .n_attrs = 1,
                         .inputs = &a,
                         .outputs = &gate,
                         .attrs = attrs,
                         .offset = -1};
  const int32_t id = api->add_node(graph, &swish);
  if (id < 0) return id;
  return tn_lower_as(call, graph, node, "Mul",
                     (int32_t[]){gate, tn_node_input(call, graph, node, 1)}, 2, NULL, 0);
}
