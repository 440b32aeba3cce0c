/* The compiler: takes what ONNX Runtime has operators for, and tries in a session whether it does.
 * A module holds the parts as ONNX: its sessions optimise them when they are loaded. */
#include <string.h>

#include "ort.h"

static int is_known_domain(const char *domain) {
  static const char *const known[] = {"", "ai.onnx.ml", "com.microsoft"};
  for (size_t k = 0; k < sizeof known / sizeof *known; k++)
    if (!strcmp(domain, known[k])) return 1;
  return 0;
}

static const char *refuse(const tn_graph_api *api, const tn_graph *g, const tn_node *node) {
  if (!is_known_domain(node->domain)) return "its domain is not ONNX Runtime's";
  for (uint32_t k = 0; k < node->n_inputs; k++)
    if (node->inputs[k] >= 0 && !ort_type(api->value_type(g, node->inputs[k])->dtype))
      return "an input's type is not taken";
  for (uint32_t k = 0; k < node->n_outputs; k++)
    if (node->outputs[k] >= 0 && !ort_type(api->value_type(g, node->outputs[k])->dtype))
      return "an output's type is not taken";
  return NULL;
}

static tn_status partition(const tn_accelerator_call *call, const tn_graph *graph,
                           tn_claim *const *claims, int32_t n_claims) {
  const tn_graph_api *api = call->host->graph;
  for (int32_t id = 0; id < n_claims; id++) {
    if (!claims[id]) continue;
    claims[id]->reason = refuse(api, graph, api->node(graph, id));
    if (claims[id]->reason) continue;
    claims[id]->group = 0;
    claims[id]->cost_native_ns = claims[id]->cost_host_ns; /* nobody has measured it */
  }
  return TN_OK;
}

/* ---- the module ---- */

typedef struct module {
  tn_module module; /* first */
  tn_entry *entries;
  const tn_entry **list;
  const tn_tensor **ports;
  uint8_t *data;
  void **parts; /* as ONNX */
  uint64_t *sizes;
  uint32_t n_parts;
} module;

static void free_module(const tn_accelerator_call *call, module *m) {
  const tn_host *host = call->host;
  for (uint32_t k = 0; m->parts && k < m->n_parts; k++) host->free(call->ctx, m->parts[k]);
  void *const all[] = {
      m->entries, (void *)m->list, (void *)m->ports, m->data, (void *)m->parts, m->sizes, m};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) host->free(call->ctx, all[k]);
}

static void release(const tn_accelerator_call *call, const tn_module *m) {
  free_module(call, (module *)(uintptr_t)m);
}

static uint32_t n_ports(const tn_graph_api *api, const tn_graph *g) {
  return (uint32_t)(api->n_inputs(g) + api->n_outputs(g));
}

static module *module_new(const tn_accelerator_call *call, const tn_graph *const *parts,
                          uint32_t n) {
  const tn_host *host = call->host;
  module *m = host->alloc(call->ctx, sizeof *m);
  uint64_t count = 1;
  for (uint32_t k = 0; k < n; k++) count += n_ports(host->graph, parts[k]);
  if (!m) return NULL;
  m->n_parts = n;
  m->entries = host->alloc(call->ctx, n * sizeof *m->entries);
  m->list = host->alloc(call->ctx, n * sizeof *m->list);
  m->ports = host->alloc(call->ctx, count * sizeof *m->ports);
  m->parts = host->alloc(call->ctx, n * sizeof *m->parts);
  m->sizes = host->alloc(call->ctx, n * sizeof *m->sizes);
  if (m->entries && m->list && m->ports && m->parts && m->sizes) return m;
  free_module(call, m);
  return NULL;
}

static void fill_entries(module *m, const tn_graph_api *api, const tn_graph *const *parts) {
  const tn_tensor **port = m->ports;
  for (uint32_t k = 0; k < m->n_parts; k++) {
    const tn_graph *g = parts[k];
    m->entries[k] = (tn_entry){.head = TN_HEAD(tn_entry),
                               .name = "part",
                               .n_inputs = (uint32_t)api->n_inputs(g),
                               .n_outputs = (uint32_t)api->n_outputs(g)};
    m->entries[k].inputs = port;
    for (int32_t i = 0; i < api->n_inputs(g); i++) *port++ = api->value_type(g, api->input(g, i));
    m->entries[k].outputs = port;
    for (int32_t i = 0; i < api->n_outputs(g); i++) *port++ = api->value_type(g, api->output(g, i));
    m->list[k] = &m->entries[k];
  }
}

/* A part as ONNX, if the library makes a session of it. */
static tn_status take_part(const tn_accelerator_call *call, const ort *o, const tn_graph *part,
                           void **out, uint64_t *out_size) {
  const tn_graph_bytes *bytes = call->host->get_extension(call->ctx, TN_GRAPH_BYTES_EXTENSION);
  ort_session *session;
  if (!bytes)
    return call->host->fail(call->ctx, TN_ERR_UNSUPPORTED, "the host does not write graphs");
  tn_status s = bytes->write(call->ctx, part, "onnx", out, out_size);
  if (!s) s = ort_session_new(call, o, *out, *out_size, &session);
  if (!s) o->api->release_session(session);
  return s;
}

static tn_status join(const tn_accelerator_call *call, module *m, uint64_t *out_size) {
  const uint32_t head[2] = {ORT_MAGIC, m->n_parts};
  uint64_t size = sizeof head + m->n_parts * sizeof *m->sizes, at;
  for (uint32_t k = 0; k < m->n_parts; k++) size += m->sizes[k];
  m->data = call->host->alloc(call->ctx, size);
  if (!m->data) return TN_ERR_MEMORY;
  memcpy(m->data, head, sizeof head);
  memcpy(m->data + sizeof head, m->sizes, m->n_parts * sizeof *m->sizes);
  at = sizeof head + m->n_parts * sizeof *m->sizes;
  for (uint32_t k = 0; k < m->n_parts; k++, at += m->sizes[k - 1])
    memcpy(m->data + at, m->parts[k], (size_t)m->sizes[k]);
  *out_size = size;
  return TN_OK;
}

static tn_status compile(const tn_accelerator_call *call, const tn_graph *const *parts,
                         uint32_t n_parts, const tn_module **out_module) {
  ort o;
  uint64_t size = 0;
  tn_status s = ort_open(call, &o);
  if (s) return s;
  module *m = module_new(call, parts, n_parts);
  if (!m) s = TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n_parts && !s; k++)
    s = take_part(call, &o, parts[k], &m->parts[k], &m->sizes[k]);
  if (!s) s = join(call, m, &size);
  if (!s) {
    fill_entries(m, call->host->graph, parts);
    m->module = (tn_module){.head = TN_HEAD(tn_module),
                            .format = ORT_FORMAT,
                            .target = call->target,
                            .data = m->data,
                            .size = size,
                            .alignment = 64,
                            .entries = m->list,
                            .n_entries = n_parts};
    *out_module = &m->module;
  } else if (m) {
    free_module(call, m);
  }
  ort_close(&o);
  return s;
}

TN_TABLE(tn_target, cpu, .name = "onnxruntime-cpu", .hardware = "cpu");
TN_LIST(const tn_target *, targets, &cpu);

const tn_compiler ort_compiler = {.head = TN_HEAD(tn_compiler),
                                  .name = "onnxruntime",
                                  .vendor = "ONNX Runtime",
                                  .format = ORT_FORMAT,
                                  TN_SET(targets, targets),
                                  .partition = partition,
                                  .compile = compile,
                                  .release = release};
