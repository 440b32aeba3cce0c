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

/* Sums of u8 times i8 are held in 16 bits without VNNI; where i8 is a constant, be_exact() of
 * library.c avoids it, but for QLinearMatMul. */
static int cuts_sums(const tn_graph_api *api, const tn_graph *g, const tn_node *node) {
  enum { Q_LINEAR_MATMUL = 2 };
  static const char *const ops[] = {"MatMulInteger", "ConvInteger", "QLinearMatMul", "QLinearConv"};
  for (uint32_t k = 0; k < sizeof ops / sizeof *ops; k++) {
    const uint32_t second = k < 2 ? 1 : 3;
    if (strcmp(node->op, ops[k]) || node->n_inputs <= second) continue;
    return api->value_type(g, node->inputs[0])->dtype == TN_U8 &&
           api->value_type(g, node->inputs[second])->dtype == TN_I8 &&
           (k == Q_LINEAR_MATMUL || !(api->value_flags(g, node->inputs[second]) & TN_VALUE_CONST));
  }
  return 0;
}

/* Attention with a cache, where ONNX Runtime is not ONNX: one query of several new keys may see the
 * first of these, there it sees all. NULL: it is the same. */
static const char *refuse_cache(const tn_graph_api *api, const tn_graph *g, const tn_node *node) {
  enum { QUERY, KEY, PAST = 4, PRESENT = 1 };
  int64_t is_causal = 0;
  for (uint32_t k = 0; k < node->n_attrs; k++)
    if (!strcmp(node->attrs[k]->name, "is_causal")) is_causal = node->attrs[k]->i;
  if (strcmp(node->op, "Attention") || node->n_inputs <= PAST || node->inputs[PAST] < 0)
    return NULL;
  if (node->n_outputs <= PRESENT || node->outputs[PRESENT] < 0)
    return "a cache whose next value is no output is not taken";
  const tn_tensor *q = api->value_type(g, node->inputs[QUERY]);
  const tn_tensor *key = api->value_type(g, node->inputs[KEY]);
  const int has_one = q->rank >= 3 && q->shape[q->rank - 2] == 1;
  return is_causal && has_one && key->rank >= 3 && key->shape[key->rank - 2] > 1
             ? "causal attention of one query beside several new keys differs from ONNX's"
             : NULL;
}

/* ONNX divides by the size times the scale, ONNX Runtime by what is left of that as an integer. */
static int aligns_by_scales(const tn_node *node) {
  enum { SCALES = 2, SIZES = 3 };
  static const char mode[] = "align_corners";
  int aligns = 0;
  for (uint32_t k = 0; k < node->n_attrs; k++) {
    const tn_attr *a = node->attrs[k];
    if (!strcmp(a->name, "coordinate_transformation_mode"))
      aligns = a->s.size == sizeof mode - 1 && !memcmp(a->s.data, mode, sizeof mode - 1);
  }
  const int has_sizes = node->n_inputs > SIZES && node->inputs[SIZES] >= 0;
  return !strcmp(node->op, "Resize") && aligns && node->n_inputs > SCALES && !has_sizes;
}

static const char *refuse(const tn_graph_api *api, const tn_graph *g, const tn_node *node) {
  if (!is_known_domain(node->domain)) return "its domain is not ONNX Runtime's";
  for (uint32_t k = 0; k < node->n_inputs; k++)
    if (node->inputs[k] >= 0 && !ort_type(api->value_type(g, node->inputs[k])->dtype))
      return "an input's type is not taken";
  for (uint32_t k = 0; k < node->n_outputs; k++)
    if (node->outputs[k] >= 0 && !ort_type(api->value_type(g, node->outputs[k])->dtype))
      return "an output's type is not taken";
  if (cuts_sums(api, g, node)) return "sums of u8 times i8 may be cut off";
  if (aligns_by_scales(node)) return "corners that are aligned by scales differ from ONNX's";
  return refuse_cache(api, g, node);
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

/* ---- compiling ---- */

/* A part as ONNX, if the library makes a session of it. */
static tn_status take_part(const tn_accelerator_call *call, const void *state, const tn_graph *part,
                           tn_piece *out) {
  const ort *o = state;
  ort_session *session;
  tn_status s = tn_piece_onnx(call, part, out);
  if (!s) s = ort_session_new(call, o, out->data, out->size, &session);
  if (!s) o->api->release_session(session);
  return s;
}

static tn_status compile(const tn_accelerator_call *call, const tn_graph *const *parts,
                         uint32_t n_parts, const tn_module **out_module) {
  ort o;
  tn_status s = ort_open(call, &o);
  if (s) return s;
  s = tn_module_of_pieces(call, parts, n_parts, ORT_FORMAT, NULL, take_part, &o, out_module);
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
                                  .release = tn_module_free};
