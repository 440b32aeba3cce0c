/* What plug-ins of the tests have in common: counting elements, and a graph of two nodes. For
 * programs that include plugin.h alone. */
#ifndef TENON_TESTS_PARTS_H
#define TENON_TESTS_PARTS_H

#include "tenon/graph.h"

/* Elements of a tensor whose shape is known. */
static inline int64_t part_elements(const tn_tensor *t) {
  int64_t n = 1;
  for (int32_t k = 0; k < t->rank; k++) n *= t->shape[k];
  return n;
}

/* A work item for each element of input 0. */
static inline tn_status part_plan_elements(const tn_call *call, tn_kernel_plan *plan) {
  return plan->items[0] = part_elements(call->inputs[0]), TN_OK;
}

/* x -> op -> h -> op -> y in f32[4], as far as the graph is not there already. */
static inline tn_status part_chain(const tn_graph_api *api, tn_graph *graph, const char *domain,
                                   const char *op) {
  const int32_t ids[] = {api->value(graph, "x"), api->value(graph, "h"), api->value(graph, "y")};
  const tn_tensor type = {.head = TN_HEAD(tn_tensor), .dtype = TN_F32, .rank = 1, .shape = {4}};
  api->set_opset(graph, domain, 1);
  api->value_set_type(graph, ids[0], &type);
  api->add_input(graph, ids[0]);
  for (int k = 0; k < 2; k++) {
    const tn_node node = {.head = TN_HEAD(tn_node),
                          .domain = domain,
                          .op = op,
                          .name = k ? "second" : "first",
                          .n_inputs = 1,
                          .n_outputs = 1,
                          .inputs = &ids[k],
                          .outputs = &ids[k + 1],
                          .offset = -1};
    const int32_t id = api->add_node(graph, &node);
    if (id < 0) return id;
  }
  return api->add_output(graph, ids[2]);
}

#endif
