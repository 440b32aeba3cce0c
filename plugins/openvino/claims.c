/* Which nodes OpenVINO gets: the library's C API does not say what it supports, so a table does.
 * What stands in it passes ONNX's own tests of the operator there. Some things that it reads come
 * out otherwise than ONNX has them, and are declined: f64 is computed in f32, integers of 64 bits
 * in 32, a padding that only a run knows is 0, the greatest of nothing but -inf is finite. */
#include <string.h>

#include "ov.h"

enum {
  FLOATS = 1,    /* computes, and is trusted with f32 and f16 alone */
  MOVES = 2,     /* moves or compares elements of any type that OpenVINO has */
  QUANTISES = 3, /* between floats and 8 bits */
  ORDERS = 4     /* compares integers */
};

typedef struct rule {
  const char *op;
  uint8_t kind;
  uint8_t constants;     /* mask of the inputs that have to be constant */
  uint8_t n_outputs;     /* at most; 0: as many as there are */
  const char *forbidden; /* an attribute that has to be missing; NULL: none */
} rule;

static const rule rules[] = {
    {"Abs", FLOATS, 0, 0, NULL},
    {"Add", FLOATS, 0, 0, NULL},
    {"And", MOVES, 0, 0, NULL},
    {"ArgMax", MOVES, 0, 0, NULL},
    {"ArgMin", MOVES, 0, 0, NULL},
    {"AveragePool", FLOATS, 0, 0, NULL},
    {"BatchNormalization", FLOATS, 30, 1, NULL},
    {"Cast", MOVES, 0, 0, NULL},
    {"Ceil", FLOATS, 0, 0, NULL},
    {"Clip", FLOATS, 6, 0, NULL},
    {"Concat", MOVES, 0, 0, NULL},
    {"Conv", FLOATS, 0, 0, NULL},
    {"ConvTranspose", FLOATS, 0, 0, "output_shape"},
    {"Cos", FLOATS, 0, 0, NULL},
    {"DepthToSpace", FLOATS, 0, 0, NULL},
    {"DequantizeLinear", QUANTISES, 6, 0, "block_size"},
    {"Div", FLOATS, 0, 0, NULL},
    {"Dropout", FLOATS, 6, 1, NULL},
    {"Elu", FLOATS, 0, 0, NULL},
    {"Equal", MOVES, 0, 0, NULL},
    {"Erf", FLOATS, 0, 0, NULL},
    {"Exp", FLOATS, 0, 0, NULL},
    {"Expand", MOVES, 2, 0, NULL},
    {"Flatten", MOVES, 0, 0, NULL},
    {"Floor", FLOATS, 0, 0, NULL},
    {"Gather", MOVES, 0, 0, NULL},
    {"Gelu", FLOATS, 0, 0, NULL},
    {"Gemm", FLOATS, 0, 0, NULL},
    {"GlobalAveragePool", FLOATS, 0, 0, NULL},
    {"GlobalMaxPool", FLOATS, 0, 0, NULL},
    {"Greater", ORDERS, 0, 0, NULL},
    {"HardSigmoid", FLOATS, 0, 0, NULL},
    {"HardSwish", FLOATS, 0, 0, NULL},
    {"Identity", MOVES, 0, 0, NULL},
    {"InstanceNormalization", FLOATS, 6, 0, NULL},
    {"LayerNormalization", FLOATS, 6, 1, NULL},
    {"LeakyRelu", FLOATS, 0, 0, NULL},
    {"Less", ORDERS, 0, 0, NULL},
    {"Log", FLOATS, 0, 0, NULL},
    {"LogSoftmax", FLOATS, 0, 0, NULL},
    {"MatMul", FLOATS, 0, 0, NULL},
    {"Max", FLOATS, 0, 0, NULL},
    {"MaxPool", FLOATS, 0, 1, NULL},
    {"Min", FLOATS, 0, 0, NULL},
    {"Mul", FLOATS, 0, 0, NULL},
    {"Neg", FLOATS, 0, 0, NULL},
    {"Not", MOVES, 0, 0, NULL},
    {"Or", MOVES, 0, 0, NULL},
    {"PRelu", FLOATS, 2, 0, NULL},
    {"Pad", FLOATS, 14, 0, NULL},
    {"Pow", FLOATS, 0, 0, NULL},
    {"QuantizeLinear", QUANTISES, 6, 0, "block_size"},
    {"Reciprocal", FLOATS, 0, 0, NULL},
    {"ReduceL2", FLOATS, 2, 0, NULL},
    {"ReduceMean", FLOATS, 2, 0, NULL},
    {"ReduceSum", FLOATS, 2, 0, NULL},
    {"Relu", FLOATS, 0, 0, NULL},
    {"Reshape", MOVES, 2, 0, NULL},
    {"Resize", FLOATS, 14, 0, NULL},
    {"Selu", FLOATS, 0, 0, NULL},
    {"Sigmoid", FLOATS, 0, 0, NULL},
    {"Sin", FLOATS, 0, 0, NULL},
    {"Slice", MOVES, 30, 0, NULL},
    {"Softmax", FLOATS, 0, 0, NULL},
    {"Softplus", FLOATS, 0, 0, NULL},
    {"Softsign", FLOATS, 0, 0, NULL},
    {"SpaceToDepth", FLOATS, 0, 0, NULL},
    {"Split", MOVES, 2, 0, NULL},
    {"Sqrt", FLOATS, 0, 0, NULL},
    {"Squeeze", MOVES, 2, 0, NULL},
    {"Sub", FLOATS, 0, 0, NULL},
    {"Sum", FLOATS, 0, 0, NULL},
    {"Tanh", FLOATS, 0, 0, NULL},
    {"Tile", MOVES, 2, 0, NULL},
    {"TopK", FLOATS, 2, 0, NULL},
    {"Transpose", MOVES, 0, 0, NULL},
    {"Unsqueeze", MOVES, 2, 0, NULL},
    {"Where", MOVES, 0, 0, NULL},
};

static const rule *rule_of(const char *op) {
  size_t low = 0, high = sizeof rules / sizeof *rules;
  while (low < high) {
    const size_t mid = (low + high) / 2;
    const int order = strcmp(op, rules[mid].op);
    if (!order) return &rules[mid];
    if (order < 0)
      high = mid;
    else
      low = mid + 1;
  }
  return NULL;
}

static int is_float(uint32_t dtype) { return dtype == TN_F32 || dtype == TN_F16; }

static const char *refuse_type(const rule *r, uint32_t dtype) {
  const int is_byte = dtype == TN_U8 || dtype == TN_I8;
  if (r->kind == FLOATS && !is_float(dtype)) return "OpenVINO is given arithmetic in f32 and f16";
  if (r->kind == ORDERS && is_float(dtype)) return "OpenVINO takes NaN for large";
  if (r->kind == QUANTISES && !is_float(dtype) && !is_byte)
    return "OpenVINO is given quantisation between floats and 8 bits";
  if (!is_float(dtype) && !is_byte && dtype != TN_I32 && dtype != TN_I64 && dtype != TN_BOOL)
    return "OpenVINO computes such types in others";
  return NULL;
}

static const char *refuse_value(const rule *r, const tn_tensor *t) {
  for (int32_t k = 0; k < t->rank; k++)
    if (!t->shape[k]) return "a tensor without elements";
  return refuse_type(r, t->dtype);
}

/* Constants of 64 bits that 32 do not hold; those that say what is done are clamped. */
static int is_too_wide(const tn_tensor *t) {
  const int64_t *x = t->data;
  if (t->dtype != TN_I64 || !x) return 0;
  const int64_t n = tn_elements(t);
  for (int64_t k = 0; k < n; k++)
    if (x[k] > INT32_MAX || x[k] < INT32_MIN) return 1;
  return 0;
}

static const char *refuse_input(const tn_graph_api *api, const tn_graph *g, const rule *r,
                                const tn_node *node, uint32_t k) {
  const int32_t value = node->inputs[k];
  const tn_tensor *t = api->value_type(g, value);
  const int is_const = (api->value_flags(g, value) & TN_VALUE_CONST) != 0;
  if (k < 8 && r->constants >> k & 1)
    return is_const ? NULL : "an argument is known to a run only, which OpenVINO wants constant";
  if (is_const && is_too_wide(t)) return "OpenVINO computes integers of 64 bits in 32";
  return refuse_value(r, t);
}

static int is_output(const tn_graph_api *api, const tn_graph *g, int32_t value) {
  for (int32_t k = 0; k < api->n_outputs(g); k++)
    if (api->output(g, k) == value) return 1;
  return 0;
}

/* Does somebody read an output that OpenVINO does not give? Outputs of the graph have no users. */
static int wants_more(const tn_graph_api *api, const tn_graph *g, const rule *r,
                      const tn_node *node) {
  for (uint32_t k = r->n_outputs; r->n_outputs && k < node->n_outputs; k++) {
    const int32_t value = node->outputs[k];
    if (value >= 0 && (api->value_n_users(g, value) || is_output(api, g, value))) return 1;
  }
  return 0;
}

static int has_attr(const tn_node *node, const char *name) {
  for (uint32_t k = 0; name && k < node->n_attrs; k++)
    if (!strcmp(node->attrs[k]->name, name)) return 1;
  return 0;
}

static int is_one_of(const tn_attr *a, const char *const *texts) {
  for (; *texts; texts++)
    if (a->s.size == (int64_t)strlen(*texts) && !memcmp(a->s.data, *texts, strlen(*texts)))
      return 1;
  return 0;
}

/* Other ways of resizing come out differently. */
static int is_known_resize(const tn_node *node) {
  static const char *const modes[] = {"nearest", "linear", NULL};
  static const char *const places[] = {"half_pixel", "asymmetric", "pytorch_half_pixel", NULL};
  int known = 1;
  for (uint32_t k = 0; k < node->n_attrs; k++) {
    const tn_attr *a = node->attrs[k];
    if (!strcmp(a->name, "mode")) known &= is_one_of(a, modes);
    if (!strcmp(a->name, "coordinate_transformation_mode")) known &= is_one_of(a, places);
    if (!strcmp(a->name, "antialias") || !strcmp(a->name, "exclude_outside")) known &= !a->i;
  }
  return known;
}

static int is_named(const tn_node *node, const char *const *ops) {
  for (; *ops; ops++)
    if (!*node->domain && !strcmp(node->op, *ops)) return 1;
  return 0;
}

static int has_negative(const tn_node *node, const char *name) {
  for (uint32_t k = 0; k < node->n_attrs; k++)
    if (!strcmp(node->attrs[k]->name, name)) return node->attrs[k]->f < 0;
  return 0;
}

/* Is the greatest result another than that of the greatest value? A product with more that is made
 * of the same value may be SiLU, GELU or Mish in single nodes, which OpenVINO finds. */
static int may_fall(const tn_node *node, int32_t n_users) {
  static const char *const falling[] = {"Abs", "Gelu", "HardSwish", "Sqrt", NULL};
  static const char *const by_alpha[] = {"Elu", "LeakyRelu", NULL};
  static const char *const products[] = {"Mul", NULL};
  return is_named(node, falling) || (is_named(node, by_alpha) && has_negative(node, "alpha")) ||
         (is_named(node, products) && n_users > 1);
}

/* OpenVINO computes what reads a MaxPool before it, with the convolution that the pool reads, and
 * then what reads that; it does so for functions that fall, too. */
static int falls_behind(const tn_graph_api *api, const tn_graph *g, int32_t value) {
  static const char *const moved[] = {"Clip",     "Dropout",   "Elu",  "HardSigmoid",
                                      "Identity", "LeakyRelu", "Relu", "Sigmoid",
                                      "Softplus", "Tanh",      NULL};
  while (value >= 0) {
    const int32_t n = api->value_n_users(g, value);
    for (int32_t k = 0; k < n; k++)
      if (may_fall(api->node(g, api->value_user(g, value, k)), n)) return 1;
    const tn_node *only = n == 1 ? api->node(g, api->value_user(g, value, 0)) : NULL;
    value = only && is_named(only, moved) ? only->outputs[0] : TN_NO_ID;
  }
  return 0;
}

static const char *refuse(const tn_graph_api *api, const tn_graph *g, const tn_node *node) {
  const rule *r = *node->domain ? NULL : rule_of(node->op);
  const char *why = r ? NULL : "the operator is not in the table of what OpenVINO is trusted with";
  if (why) return why;
  if (wants_more(api, g, r, node)) return "OpenVINO does not give all outputs";
  if (has_attr(node, r->forbidden)) return "OpenVINO is not given this attribute";
  if (!strcmp(node->op, "Resize") && !is_known_resize(node))
    return "OpenVINO resizes otherwise than ONNX with these attributes";
  if (!strcmp(node->op, "MaxPool") && falls_behind(api, g, node->outputs[0]))
    return "OpenVINO would pool results of the function behind, which is not monotonic";
  for (uint32_t k = 0; k < node->n_inputs && !why; k++)
    if (node->inputs[k] >= 0) why = refuse_input(api, g, r, node, k);
  for (uint32_t k = 0; k < node->n_outputs && !why; k++) {
    const int is_index = k && !strcmp(node->op, "TopK");
    if (node->outputs[k] >= 0 && !is_index)
      why = refuse_value(r, api->value_type(g, node->outputs[k]));
  }
  return why;
}

tn_status ov_partition(const tn_accelerator_call *call, const tn_graph *graph,
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
