/* Graph, model and session of a single node; see one_op.h. */
#include "one_op.h"

#include <stdio.h>

tn_attr one_op_int(const char *name, int64_t value) {
  return (tn_attr){.head = TN_HEAD(tn_attr), .name = name, .kind = TN_ATTR_INT, .i = value};
}

tn_attr one_op_float(const char *name, double value) {
  return (tn_attr){.head = TN_HEAD(tn_attr), .name = name, .kind = TN_ATTR_FLOAT, .f = value};
}

/* Input k of the graph is named "in<k>". Answers its value id, -1 if it is left out. */
static int32_t add_input(tn_graph *graph, uint32_t k, const tn_tensor *tensor, tn_status *status) {
  const tn_graph_api *api = tn_graph_functions();
  char name[16];
  if (!tensor || *status) return -1;
  snprintf(name, sizeof name, "in%u", k);
  int32_t value = api->value(graph, name);
  *status = value < 0 ? value : api->value_set_type(graph, value, tensor);
  if (!*status) *status = api->add_input(graph, value);
  return value;
}

static tn_status fill_graph(tn_graph *graph, const char *domain, const char *op,
                            const tn_tensor *const *inputs, uint32_t n_inputs,
                            const tn_attr *const *attrs, uint32_t n_attrs) {
  const tn_graph_api *api = tn_graph_functions();
  int32_t in[ONE_OP_MAX_INPUTS];
  if (n_inputs > ONE_OP_MAX_INPUTS) return TN_ERR_INVALID;
  tn_status status = api->set_opset(graph, domain, 1);
  for (uint32_t k = 0; k < n_inputs; k++) in[k] = add_input(graph, k, inputs[k], &status);
  if (status) return status;
  int32_t out = api->value(graph, "out");
  if (out < 0) return out;
  tn_node node = {.head = TN_HEAD(tn_node),
                  .domain = domain,
                  .op = op,
                  .name = op,
                  .n_inputs = n_inputs,
                  .n_outputs = 1,
                  .n_attrs = n_attrs,
                  .inputs = in,
                  .outputs = &out,
                  .attrs = attrs,
                  .offset = -1};
  int32_t id = api->add_node(graph, &node);
  return id < 0 ? id : api->add_output(graph, out);
}

static tn_status set_inputs(tn_session *session, const tn_tensor *const *inputs, uint32_t n_inputs,
                            tn_diag *diag) {
  tn_status status = TN_OK;
  int32_t at = 0; /* inputs that are left out have no number */
  for (uint32_t k = 0; k < n_inputs && !status; k++)
    if (inputs[k]) status = tn_session_set_input(session, at++, inputs[k], diag);
  return status;
}

tn_status one_op_create(tn_runtime *runtime, const char *domain, const char *op,
                        const tn_tensor *const *inputs, uint32_t n_inputs,
                        const tn_attr *const *attrs, uint32_t n_attrs, tn_diag *diag, one_op *out) {
  tn_graph *graph = NULL;
  *out = (one_op){NULL, NULL};
  tn_status status = tn_graph_create(runtime, &graph);
  if (!status) status = fill_graph(graph, domain, op, inputs, n_inputs, attrs, n_attrs);
  if (!status) {
    status = tn_model_from_graph_take(runtime, graph, NULL, diag, &out->model);
    graph = NULL; /* taken, come what may */
  }
  tn_graph_destroy(graph);
  if (!status) status = tn_session_create(out->model, diag, &out->session);
  if (!status) status = set_inputs(out->session, inputs, n_inputs, diag);
  if (status) one_op_destroy(out);
  return status;
}

void one_op_destroy(one_op *o) {
  tn_session_destroy(o->session);
  tn_model_destroy(o->model);
  *o = (one_op){NULL, NULL};
}
