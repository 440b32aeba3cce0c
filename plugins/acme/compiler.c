/* acme's compiler: claims nodes, and writes parts of the graph as byte code. */
#include <string.h>

#include "acme.h"
#include "tenon/kit/tensor.h"

static int operator_of(const tn_node *node) {
  static const char *const names[ACME_N_OPS] = {"Add", "Sub", "Mul"};
  if (*node->domain) return -1;
  for (int k = 0; k < ACME_N_OPS; k++)
    if (!strcmp(node->op, names[k])) return k;
  return -1;
}

/* Why the hardware does not take the node; NULL: it does. Literals: they outlive the call. */
static const char *refuse(const tn_graph_api *api, const tn_graph *g, const tn_node *node) {
  if (operator_of(node) < 0) return "acme adds, subtracts and multiplies, no more";
  const tn_tensor *a = api->value_type(g, node->inputs[0]);
  const tn_tensor *b = api->value_type(g, node->inputs[1]);
  const tn_tensor *y = api->value_type(g, node->outputs[0]);
  if (a->dtype != TN_F32) return "acme computes in f32 only";
  if (!tn_same_shape(a, y)) return "acme does not broadcast its first argument";
  if (!tn_same_shape(b, y) && tn_elements(b) != 1) return "acme broadcasts single elements only";
  return NULL;
}

static tn_status partition(const tn_accelerator_call *call, const tn_graph *graph,
                           tn_claim *const *claims, int32_t n_claims) {
  const tn_graph_api *api = call->host->graph;
  for (int32_t id = 0; id < n_claims; id++) {
    if (!claims[id]) continue;
    claims[id]->reason = refuse(api, graph, api->node(graph, id));
    if (claims[id]->reason) continue;
    claims[id]->group = 0; /* all of it may stand in one island */
    claims[id]->cost_native_ns = claims[id]->cost_host_ns / 4; /* it would be nice */
  }
  return TN_OK;
}

/* ---- writing ---- */

/* A module under construction: counted first, then written. */
typedef struct writer {
  uint8_t *data; /* NULL: only counting */
  uint64_t size;
} writer;

static void put(writer *w, const void *data, uint64_t bytes) {
  if (w->data && bytes) memcpy(w->data + w->size, data, (size_t)bytes);
  w->size += bytes;
}

static void put_word(writer *w, uint64_t value, int bytes) {
  uint8_t le[8];
  for (int k = 0; k < bytes; k++) le[k] = (uint8_t)(value >> (8 * k));
  put(w, le, (uint64_t)bytes);
}

/* Values are known by their ids in the part: those that nobody uses cost a few bytes. */
static void put_value(writer *w, const tn_graph_api *api, const tn_graph *g, int32_t id) {
  const tn_tensor *t = api->value_type(g, id);
  const uint32_t flags = api->value_flags(g, id);
  const uint32_t kind = flags & TN_VALUE_CONST   ? ACME_CONST
                        : flags & TN_VALUE_INPUT ? ACME_INPUT
                                                 : ACME_MADE;
  put_word(w, (uint64_t)tn_elements(t), 8);
  put_word(w, kind, 4);
  if (kind == ACME_CONST) put(w, t->data, (uint64_t)tn_elements(t) * sizeof(float));
}

static void put_entry(writer *w, const tn_graph_api *api, const tn_graph *g) {
  const int32_t n_values = api->n_values(g), n_nodes = api->n_nodes(g);
  put_word(w, (uint32_t)api->n_inputs(g), 4);
  put_word(w, (uint32_t)api->n_outputs(g), 4);
  put_word(w, (uint32_t)n_values, 4);
  put_word(w, (uint32_t)n_nodes, 4);
  for (int32_t k = 0; k < n_values; k++) put_value(w, api, g, k);
  for (int32_t k = 0; k < api->n_inputs(g); k++) put_word(w, (uint32_t)api->input(g, k), 4);
  for (int32_t k = 0; k < api->n_outputs(g); k++) put_word(w, (uint32_t)api->output(g, k), 4);
  for (int32_t k = 0; k < n_nodes; k++) {
    const tn_node *node = api->node(g, api->node_at(g, k));
    put_word(w, (uint32_t)operator_of(node), 4);
    put_word(w, (uint32_t)node->inputs[0], 4);
    put_word(w, (uint32_t)node->inputs[1], 4);
    put_word(w, (uint32_t)node->outputs[0], 4);
  }
}

static void put_module(writer *w, const tn_graph_api *api, const tn_graph *const *parts,
                       uint32_t n) {
  put_word(w, ACME_MAGIC, 4);
  put_word(w, n, 4);
  for (uint32_t k = 0; k < n; k++) put_entry(w, api, parts[k]);
}

static tn_status compile(const tn_accelerator_call *call, const tn_graph *const *parts,
                         uint32_t n_parts, const tn_module **out_module) {
  writer w = {NULL, 0};
  put_module(&w, call->host->graph, parts, n_parts);
  tn_module *m = tn_module_new(call, parts, n_parts, ACME_FORMAT, ACME_STAMP, w.size);
  if (!m) return TN_ERR_MEMORY;
  w = (writer){tn_module_bytes(m), 0};
  put_module(&w, call->host->graph, parts, n_parts);
  *out_module = m;
  return TN_OK;
}

TN_TABLE(tn_target, npu2, .name = "acme-npu-2", .hardware = "npu", .sdk = "1.0");
TN_LIST(const tn_target *, targets, &npu2);

const tn_compiler acme_compiler = {.head = TN_HEAD(tn_compiler),
                                   .name = "acme",
                                   .vendor = "Acme",
                                   .format = ACME_FORMAT,
                                   TN_SET(targets, targets),
                                   .partition = partition,
                                   .compile = compile,
                                   .release = tn_module_free};
