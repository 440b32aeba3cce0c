/* The compiler: a guest's, which is shown parts as graphs of TFLite's operators. It takes all of a
 * node or nothing of it. Host and guest see partition() and compile() in a process of their own. */
#include <string.h>

#include "litert.h"

typedef struct session {
  const tn_accelerator_call *call;
  const lrt_guest *guest;
  lrt_memory memory;
  guest_compiler api;
  guest_compiler_table served;
  lrt_options options;
  void *compiler;
} session;

static tn_status open_session(const tn_accelerator_call *call, uint32_t n_parts, session *s) {
  s->call = call;
  s->memory = (lrt_memory){.call = call};
  s->compiler = NULL;
  s->guest = lrt_guest_find(call);
  if (!s->guest) return TN_ERR_NOT_FOUND;
  tn_status status = lrt_compiler_open(call, s->guest, &s->api);
  if (!status) status = lrt_guest_options(s->guest, &s->memory, n_parts, &s->options);
  lrt_serve_compiler(&s->served);
  if (!status)
    status = lrt_check(
        call, s->api.CreateCompilerPlugin(&s->served, &s->compiler, &s->options, &s->options),
        "LiteRtCreateCompilerPlugin");
  return status;
}

static void close_session(session *s) {
  if (s->compiler) s->api.DestroyCompilerPlugin(s->compiler);
  lrt_memory_free(&s->memory);
}

/* ---- claims ---- */

enum { NOT_TAKEN = -1 };

/* Is there somebody at the value who is taken? n_ops: of the nodes that are. */
static int is_taken_at(const tn_graph_api *api, const tn_graph *g, int32_t value,
                       const int32_t *n_ops, int32_t n) {
  const int32_t producer = value < 0 ? -1 : api->value_producer(g, value);
  if (producer >= 0 && producer < n && n_ops[producer] > 0) return 1;
  for (int32_t k = 0; value >= 0 && k < api->value_n_users(g, value); k++) {
    const int32_t user = api->value_user(g, value, k);
    if (user < n && n_ops[user] > 0) return 1;
  }
  return 0;
}

/* What is no work goes where its neighbours go: by itself it would be a copy, which the guest has
 * not been asked about. */
static void take_with_neighbours(const tn_graph_api *api, const tn_graph *g, int32_t *n_ops,
                                 int32_t n) {
  for (int32_t k = 0; k < 2 * api->n_nodes(g); k++) { /* forth and back */
    const int32_t at = k < api->n_nodes(g) ? k : 2 * api->n_nodes(g) - 1 - k;
    const int32_t id = api->node_at(g, at);
    const tn_node *node = api->node(g, id);
    if (id < n && !n_ops[id] &&
        (is_taken_at(api, g, node->inputs[0], n_ops, n) ||
         is_taken_at(api, g, node->outputs[0], n_ops, n)))
      n_ops[id] = 1;
  }
}

/* A node is taken if all of its operators are. */
static tn_status take(session *s, const tn_graph *graph, const lrt_graph *g,
                      tn_claim *const *claims, int32_t n_claims, const char *const *reasons) {
  int32_t *n_ops = (int32_t *)lrt_alloc(&s->memory, ((uint64_t)n_claims + 1) * sizeof *n_ops);
  if (!n_ops) return TN_ERR_MEMORY;
  for (int32_t k = 0; k < n_claims; k++)
    if (!claims[k] || reasons[k]) n_ops[k] = NOT_TAKEN;
  for (size_t k = 0; k < g->n_ops; k++) {
    const int32_t node = g->ops[k]->node;
    if (node < 0 || n_ops[node] == NOT_TAKEN) continue;
    n_ops[node] = g->ops[k]->is_taken ? n_ops[node] + 1 : NOT_TAKEN;
  }
  take_with_neighbours(s->call->host->graph, graph, n_ops, n_claims);
  for (int32_t k = 0; k < n_claims; k++) {
    if (!claims[k]) continue;
    claims[k]->reason = reasons[k]              ? reasons[k]
                        : n_ops[k] == NOT_TAKEN ? "the guest does not take an operator of it"
                                                : "it is no work, and stands alone";
    if (n_ops[k] <= 0) continue;
    claims[k]->reason = NULL;
    claims[k]->group = 0;
    claims[k]->cost_native_ns = claims[k]->cost_host_ns; /* nobody has measured it */
  }
  return TN_OK;
}

tn_status lrt_partition(const tn_accelerator_call *call, const tn_graph *graph,
                        tn_claim *const *claims, int32_t n_claims) {
  session s;
  lrt_graph g;
  tn_status status = open_session(call, 1, &s);
  const uint64_t n_values = (uint64_t)call->host->graph->n_values(graph);
  const char **reasons = NULL;
  if (!status) {
    reasons = (const char **)lrt_alloc(&s.memory, ((uint64_t)n_claims + 1) * sizeof *reasons);
    status = reasons ? lrt_graph_open(&g, &s.memory, n_values + 1) : TN_ERR_MEMORY;
  }
  if (!status) status = lrt_bridge_graph(call, graph, claims, n_claims, reasons, &g);
  if (!status)
    status = lrt_check(call, s.api.CompilerPluginPartition(s.compiler, lrt_guest_soc(), &g, &g),
                       "LiteRtCompilerPluginPartition");
  if (!status) status = take(&s, graph, &g, claims, n_claims, reasons);
  close_session(&s);
  return status;
}

/* ---- parts ---- */

static tn_status show_part(session *s, const tn_graph *part, lrt_graph *out) {
  const tn_graph_api *api = s->call->host->graph;
  const int32_t n = api->n_nodes(part);
  int32_t n_ids = 0;
  for (int32_t k = 0; k < n; k++)
    if (api->node_at(part, k) >= n_ids) n_ids = api->node_at(part, k) + 1;
  const char **reasons =
      (const char **)lrt_alloc(&s->memory, ((uint64_t)n_ids + 1) * sizeof *reasons);
  tn_status status =
      reasons ? lrt_graph_open(out, &s->memory,
                               (size_t)api->n_inputs(part) + (size_t)api->n_outputs(part) +
                                   (size_t)api->n_values(part))
              : TN_ERR_MEMORY;
  if (!status) status = lrt_bridge_graph(s->call, part, NULL, n_ids, reasons, out);
  for (int32_t k = 0; k < n_ids && !status; k++)
    if (reasons[k])
      status = s->call->host->fail(s->call->ctx, TN_ERR_UNSUPPORTED, "%s: %s",
                                   api->node(part, k)->op, reasons[k]);
  if (!status && (out->n_inputs != (size_t)api->n_inputs(part) ||
                  out->n_outputs != (size_t)api->n_outputs(part)))
    status = s->call->host->fail(s->call->ctx, TN_ERR_INTERNAL, "a part has lost a port");
  return status;
}

/* Where a part begins and ends there may be operators that the whole graph had not. */
static tn_status ask_again(session *s, lrt_graph *g) {
  tn_status status =
      lrt_check(s->call, s->api.CompilerPluginPartition(s->compiler, lrt_guest_soc(), g, g),
                "LiteRtCompilerPluginPartition");
  for (size_t k = 0; k < g->n_ops && !status; k++)
    if (!g->ops[k]->is_taken)
      status = s->call->host->fail(s->call->ctx, TN_ERR_UNSUPPORTED,
                                   "the guest does not take all of a part: operator %d of TFLite",
                                   (int)g->ops[k]->code);
  return status;
}

/* ---- the guest's answer ---- */

static tn_status take_codes(session *s, void *result, lrt_code **out, size_t *out_n) {
  tn_status status = lrt_check(s->call, s->api.CompiledResultNumByteCodeModules(result, out_n),
                               "LiteRtCompiledResultNumByteCodeModules");
  if (!status && (!*out_n || *out_n > 1u << 20))
    return s->call->host->fail(s->call->ctx, TN_ERR_INVALID, "the guest made %zu byte codes",
                               *out_n);
  *out = status ? NULL : (lrt_code *)lrt_alloc(&s->memory, (*out_n + 1) * sizeof **out);
  if (!status && !*out) status = TN_ERR_MEMORY;
  for (size_t k = 0; k < *out_n && !status; k++) {
    size_t size = 0;
    status = lrt_check(s->call, s->api.GetCompiledResultByteCode(result, k, &(*out)[k].data, &size),
                       "LiteRtGetCompiledResultByteCode");
    (*out)[k].size = size;
    if (!status && (!size || !(*out)[k].data))
      status = s->call->host->fail(s->call->ctx, TN_ERR_INVALID, "the guest's byte code is empty");
  }
  return status;
}

static tn_status take_calls(session *s, void *result, uint32_t n_parts, size_t n_codes,
                            lrt_entry **out) {
  size_t n = 0;
  tn_status status = lrt_check(s->call, s->api.GetNumCompiledResultCalls(result, &n),
                               "LiteRtGetNumCompiledResultCalls");
  if (!status && n != n_parts)
    return s->call->host->fail(s->call->ctx, TN_ERR_INVALID, "the guest made %zu calls of %u parts",
                               n, n_parts);
  *out = status ? NULL : (lrt_entry *)lrt_alloc(&s->memory, ((uint64_t)n_parts + 1) * sizeof **out);
  if (!status && !*out) status = TN_ERR_MEMORY;
  for (uint32_t k = 0; k < n_parts && !status; k++) {
    const void *info = NULL;
    size_t size = 0, code = n_codes;
    status = lrt_check(s->call, s->api.GetCompiledResultCallInfo(result, k, &info, &size, &code),
                       "LiteRtGetCompiledResultCallInfo");
    if (!status && (code >= n_codes || size > 1u << 20 || (size && !info)))
      status = s->call->host->fail(s->call->ctx, TN_ERR_INVALID,
                                   "the guest's call %u names no byte code of its own", k);
    (*out)[k] = (lrt_entry){code, (const char *)info, size};
  }
  return status;
}

static tn_status say_nothing(void *ctx, tn_status code, const char *format, ...) {
  (void)ctx, (void)format;
  return code;
}

/* That of the dispatch library, if it is here. */
static const char *stamp_of(const tn_accelerator_call *call, const lrt_guest *guest, char *text) {
  guest_dispatch dispatch;
  tn_host quiet = *call->host;
  tn_accelerator_call asks = *call;
  quiet.fail = say_nothing;
  asks.host = &quiet;
  return lrt_dispatch_open(&asks, guest, &dispatch, text) ? NULL : text;
}

static tn_status compile(const tn_accelerator_call *call, const tn_graph *const *parts,
                         uint32_t n_parts, const tn_module **out_module) {
  session s;
  void *result = NULL;
  lrt_code *codes = NULL;
  lrt_entry *entries = NULL;
  size_t n_codes = 0;
  char stamp[LRT_STAMP];
  tn_status status = open_session(call, n_parts, &s);
  lrt_model model = {NULL, n_parts};
  if (!status) {
    model.graphs =
        (lrt_graph *)lrt_alloc(&s.memory, ((uint64_t)n_parts + 1) * sizeof *model.graphs);
    status = model.graphs ? TN_OK : TN_ERR_MEMORY;
  }
  for (uint32_t k = 0; k < n_parts && !status; k++)
    status = show_part(&s, parts[k], &model.graphs[k]);
  for (uint32_t k = 0; k < n_parts && !status; k++) status = ask_again(&s, &model.graphs[k]);
  if (!status)
    status =
        lrt_check(call, s.api.CompilerPluginCompile(s.compiler, lrt_guest_soc(), &model, &result),
                  "LiteRtCompilerPluginCompile");
  if (!status && !result)
    status = call->host->fail(call->ctx, TN_ERR_INVALID, "the guest's compiler gives no result");
  if (!status) status = take_codes(&s, result, &codes, &n_codes);
  if (!status) status = take_calls(&s, result, n_parts, n_codes, &entries);
  *out_module = status ? NULL
                       : lrt_pack(call, parts, n_parts, stamp_of(call, s.guest, stamp), codes,
                                  n_codes, entries);
  if (!status && !*out_module) status = TN_ERR_MEMORY;
  if (result) s.api.DestroyCompiledResult(result);
  close_session(&s);
  return status;
}

/* One that was made without the dispatch library says nothing of it. */
static tn_status compatible(const tn_accelerator_call *call, const tn_module *module,
                            const char *stamp, uint32_t *out_verdict) {
  const char *made = module->stamp ? module->stamp : "";
  (void)call;
  *out_verdict = !strcmp(made, stamp) ? TN_VERDICT_OPTIMAL
                 : !*made             ? TN_VERDICT_RUNS
                                      : TN_VERDICT_RECOMPILE;
  return TN_OK;
}

TN_TABLE(tn_target, intel_cpu, .name = "litert-intel-cpu", .hardware = "cpu");
TN_TABLE(tn_target, intel_gpu, .name = "litert-intel-gpu", .hardware = "gpu");
TN_TABLE(tn_target, intel_npu, .name = "litert-intel-npu", .hardware = "npu");
TN_TABLE(tn_target, qualcomm, .name = "litert-qualcomm", .hardware = "npu");
TN_TABLE(tn_target, mediatek, .name = "litert-mediatek", .hardware = "npu");
TN_TABLE(tn_target, google, .name = "litert-google-tensor", .hardware = "npu");
TN_TABLE(tn_target, samsung, .name = "litert-samsung", .hardware = "npu");
TN_TABLE(tn_target, guest, .name = "litert-guest", .hardware = "npu");
TN_LIST(const tn_target *, targets, &intel_cpu, &intel_gpu, &intel_npu, &qualcomm, &mediatek,
        &google, &samsung, &guest);

const tn_compiler lrt_compiler = {.head = TN_HEAD(tn_compiler),
                                  .name = "litert",
                                  .vendor = "LiteRT's vendors",
                                  .format = LRT_FORMAT,
                                  TN_SET(targets, targets),
                                  .compatible = compatible,
                                  .partition = lrt_partition,
                                  .compile = compile,
                                  .release = tn_module_free,
                                  .flags = TN_COMPILER_APART};
