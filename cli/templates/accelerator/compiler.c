/* @NAME@'s compiler: claims nodes of a model, and makes a module of parts of its graph. What each
 * function may read and must answer stands in <tenon/accelerator.h>. */
#include <string.h>

#include "@NAME@.h"

/* ---- claims ---- */

/* Why the node is not taken; NULL: it is. Literals, which users read. */
static const char *refuse(const tn_graph_api *api, const tn_graph *g, const tn_node *node) {
  if (*node->domain || strcmp(node->op, "Add")) return "@NAME@ knows Add only, so far";
  const tn_tensor *y = api->value_type(g, node->outputs[0]);
  for (int k = 0; k < 2; k++) {
    const tn_tensor *x = api->value_type(g, node->inputs[k]);
    if (x->dtype != TN_F32) return "it is not f32";
    if (!tn_same_shape(x, y)) return "an argument is broadcast";
    if (api->value_flags(g, node->inputs[k]) & TN_VALUE_CONST) return "an argument is constant";
  }
  return node->inputs[0] == node->inputs[1] ? "both arguments are one value" : NULL;
}

/* Nodes of one group may come into one part. Here each node is one by itself; with group 0 for all,
 * parts are as large as the graph allows, and modules have to hold more than one operation. */
static tn_status partition(const tn_accelerator_call *call, const tn_graph *graph,
                           tn_claim *const *claims, int32_t n_claims) {
  const tn_graph_api *api = call->host->graph;
  for (int32_t id = 0; id < n_claims; id++) {
    if (!claims[id]) continue; /* the host keeps it */
    claims[id]->reason = refuse(api, graph, api->node(graph, id));
    if (claims[id]->reason) continue;
    claims[id]->group = id;
    claims[id]->cost_native_ns = claims[id]->cost_host_ns / 2; /* an estimate of your hardware */
  }
  return TN_OK;
}

/* ---- compiling: in a process of its own, which may take its time ---- */

/* A part has inputs, outputs and nodes of its own (<tenon/graph.h>). For a kit that reads ONNX,
 * tn_piece_onnx writes it so. state: nothing; the last but one argument below. */
static tn_status compile_part(const tn_accelerator_call *call, const void *state,
                              const tn_graph *part, tn_piece *out) {
  (void)state;
  const tn_graph_api *api = call->host->graph;
  @NAME@_code *code = call->host->alloc(call->ctx, sizeof *code);
  if (!code) return TN_ERR_MEMORY;
  code->version = @NAME@_VERSION;
  code->elements = (uint64_t)tn_elements(api->value_type(part, api->output(part, 0)));
  *out = (tn_piece){code, sizeof *code};
  return TN_OK;
}

static tn_status compile(const tn_accelerator_call *call, const tn_graph *const *parts,
                         uint32_t n_parts, const tn_module **out_module) {
  return tn_module_of_pieces(call, parts, n_parts, @NAME@_FORMAT, @NAME@_STAMP, compile_part, NULL,
                             out_module);
}

/* What modules are made for; users name it: --device @NAME@-1, or --device @NAME@ for the first. */
TN_TABLE(tn_target, first, .name = "@NAME@-1", .hardware = "npu", .sdk = "0.1");
TN_LIST(const tn_target *, targets, &first);

const tn_compiler @NAME@_compiler = {.head = TN_HEAD(tn_compiler),
                                     .name = "@NAME@",
                                     .vendor = "@NAME@",
                                     .format = @NAME@_FORMAT,
                                     TN_SET(targets, targets),
                                     .partition = partition,
                                     .compile = compile,
                                     .release = tn_module_free};
