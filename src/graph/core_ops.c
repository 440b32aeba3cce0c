/* Nodes of core operators. */
#include "graph/core_ops.h"

int32_t tn_graph_add_core(tn_graph *g, const char *op, const char *name, int32_t from, int32_t to,
                          const char *attribute, int64_t value) {
  const tn_attr attr = {
      .head = TN_HEAD(tn_attr), .name = attribute, .kind = TN_ATTR_INT, .i = value};
  const tn_attr *attrs = &attr;
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = TN_CORE_DOMAIN,
                        .op = op,
                        .name = name,
                        .version = 1,
                        .n_inputs = 1,
                        .n_outputs = 1,
                        .n_attrs = 1,
                        .inputs = &from,
                        .outputs = &to,
                        .attrs = &attrs,
                        .offset = -1};
  return tn_graph_add_node(g, &node);
}
