/* A graph of the host as a model of Tenon: nodes, attributes, constants, types. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort.h"
#include "tenon/kit/onnx_dtype.h"

enum { MOST_ATTRS = 64 };

/* Memory that lives until the graph is built. */
typedef struct chunk {
  struct chunk *next;
} chunk;

typedef struct builder {
  const provider *p;
  ort_table api;
  tn_graph *graph;
  const tn_graph_api *g;
  chunk *memory;
  char *why;
  size_t size;
  bool failed;
} builder;

static void fail(builder *b, const char *text) {
  if (!b->failed) snprintf(b->why, b->size, "%s", text);
  b->failed = true;
}

/* True: the call went wrong, or an earlier one did. */
static bool bad(builder *b, ort_status *status) {
  char text[400];
  if (provider_failed(b->api, status, text, sizeof text)) fail(b, text);
  return b->failed;
}

static void *take(builder *b, size_t bytes) {
  chunk *c = b->failed || bytes > SIZE_MAX / 2 ? NULL : calloc(1, sizeof *c + 16 + bytes);
  if (!c) {
    fail(b, "no memory");
    return NULL;
  }
  c->next = b->memory;
  b->memory = c;
  return (char *)c + 16;
}

static int32_t check(builder *b, int32_t answer) {
  if (answer < 0) fail(b, tn_status_text(answer));
  return answer;
}

/* ---- types ---- */

static void read_shape(builder *b, const ort_shape_info *info, tn_tensor *t) {
  int type = 0;
  size_t rank = 0;
  if (bad(b, ORT_CALL(b->api, GetTensorElementType, (const ort_shape_info *, int *), info, &type)))
    return;
  t->dtype = type <= ORT_MOST_TYPES ? tn_dtype_of_onnx(type) : TN_NONE;
  if (bad(b, ORT_CALL(b->api, GetDimensionsCount, (const ort_shape_info *, size_t *), info, &rank)))
    return;
  if (rank > TN_MAX_RANK) {
    fail(b, "a tensor has more dims than Tenon takes");
    return;
  }
  t->rank = (int32_t)rank;
  (void)bad(b, ORT_CALL(b->api, GetDimensions, (const ort_shape_info *, int64_t *, size_t), info,
                        t->shape, rank));
  for (size_t k = 0; k < rank; k++)
    if (t->shape[k] < 0) t->shape[k] = TN_DIM_UNKNOWN;
}

/* The data of a value that the host keeps. */
static void read_value(builder *b, const ort_value *value, tn_tensor *t) {
  ort_shape_info *info = NULL;
  *t = tn_tensor_make(TN_NONE, TN_RANK_UNKNOWN, NULL, NULL);
  if (bad(b, ORT_CALL(b->api, GetTensorTypeAndShape, (const ort_value *, ort_shape_info **), value,
                      &info)))
    return;
  read_shape(b, info, t);
  ((void (*)(ort_shape_info *))b->api[ORT_ReleaseTensorTypeAndShapeInfo])(info);
  if (t->dtype == TN_NONE || t->dtype == TN_STRING) {
    fail(b, "a constant is of a type that is not passed on");
    return;
  }
  (void)bad(b,
            ORT_CALL(b->api, GetTensorMutableData, (const ort_value *, void **), value, &t->data));
}

static const char *info_name(builder *b, const ort_value_info *info) {
  const char *name = "";
  if (info)
    (void)bad(b, ORT_CALL(b->api, GetValueInfoName, (const ort_value_info *, const char **), info,
                          &name));
  return name;
}

static void set_type(builder *b, int32_t value, const ort_value_info *info) {
  const ort_type_info *type = NULL;
  const ort_shape_info *shape = NULL;
  int kind = 0;
  if (bad(b, ORT_CALL(b->api, GetValueInfoTypeInfo,
                      (const ort_value_info *, const ort_type_info **), info, &type)) ||
      bad(b,
          ORT_CALL(b->api, GetOnnxTypeFromTypeInfo, (const ort_type_info *, int *), type, &kind)))
    return;
  if (kind != ORT_TYPE_TENSOR) {
    fail(b, "a value is no tensor");
    return;
  }
  if (bad(b, ORT_CALL(b->api, CastTypeInfoToTensorInfo,
                      (const ort_type_info *, const ort_shape_info **), type, &shape)) ||
      !shape)
    return;
  tn_tensor t = tn_tensor_make(TN_NONE, TN_RANK_UNKNOWN, NULL, NULL);
  read_shape(b, shape, &t);
  if (t.dtype == TN_NONE || t.dtype == TN_STRING) fail(b, "a value is of a type not passed on");
  if (!b->failed) check(b, b->g->value_set_type(b->graph, value, &t));
}

/* ---- values ---- */

static void constant(builder *b, const ort_value_info *info) {
  const ort_value *value = NULL;
  tn_tensor t;
  const char *name = info_name(b, info);
  if (b->failed || bad(b, ORT_CALL(b->api, ValueInfo_GetInitializerValue,
                                   (const ort_value_info *, const ort_value **), info, &value)))
    return;
  if (!value) {
    fail(b, "a constant has no data");
    return;
  }
  read_value(b, value, &t);
  const int32_t id = b->failed ? -1 : check(b, b->g->value(b->graph, name));
  if (id >= 0) check(b, b->g->value_set_const(b->graph, id, &t, 1));
}

typedef const ort_value_info **infos;

/* The list of value infos that two functions answer. */
static infos list_of(builder *b, const void *of, int count, int get, size_t *out_n) {
  *out_n = 0;
  if (bad(b, ((ort_status * (*)(const void *, size_t *)) b->api[count])(of, out_n))) return NULL;
  infos list = take(b, (*out_n + 1) * sizeof *list);
  if (!list ||
      bad(b, ((ort_status * (*)(const void *, infos, size_t)) b->api[get])(of, list, *out_n)))
    *out_n = 0;
  return list;
}

static void constants(builder *b, const ort_graph *graph) {
  size_t n;
  infos list = list_of(b, graph, ORT_Graph_GetNumInitializers, ORT_Graph_GetInitializers, &n);
  for (size_t k = 0; k < n && !b->failed; k++) constant(b, list[k]);
}

static void inputs(builder *b, const ort_graph *graph) {
  size_t n;
  infos list = list_of(b, graph, ORT_Graph_GetNumInputs, ORT_Graph_GetInputs, &n);
  for (size_t k = 0; k < n && !b->failed; k++) {
    const int32_t id = check(b, b->g->value(b->graph, info_name(b, list[k])));
    if (b->failed || b->g->value_flags(b->graph, id) & TN_VALUE_CONST) continue;
    set_type(b, id, list[k]);
    if (!b->failed) check(b, b->g->add_input(b->graph, id));
  }
}

static void outputs(builder *b, const ort_graph *graph) {
  size_t n;
  infos list = list_of(b, graph, ORT_Graph_GetNumOutputs, ORT_Graph_GetOutputs, &n);
  for (size_t k = 0; k < n && !b->failed; k++) {
    const int32_t id = check(b, b->g->value(b->graph, info_name(b, list[k])));
    set_type(b, id, list[k]);
    if (!b->failed) check(b, b->g->add_output(b->graph, id));
  }
}

/* ---- attributes ---- */

typedef struct attr {
  tn_attr head;
  tn_tensor tensor;
  const tn_tensor *tensors[1];
} attr;

/* Its bytes, *out_n of them, with a zero byte behind. */
static void *bytes_of(builder *b, const ort_attr *a, int type, size_t *out_n) {
  char why[100], none[8];
  *out_n = 0;
  ort_status *status =
      ORT_CALL(b->api, ReadOpAttr, (const ort_attr *, int, void *, size_t, size_t *), a, type, none,
               0, out_n);
  (void)provider_failed(b->api, status, why, sizeof why); /* there is no room: how much is needed */
  const size_t n = *out_n;
  void *data = take(b, n + 8);
  if (data && n)
    (void)bad(b, ORT_CALL(b->api, ReadOpAttr, (const ort_attr *, int, void *, size_t, size_t *), a,
                          type, data, n, out_n));
  return data;
}

static void read_floats(builder *b, tn_attr *to, const float *from, size_t n) {
  double *list = take(b, (n + 1) * sizeof *list);
  for (size_t k = 0; list && k < n; k++) list[k] = (double)from[k];
  to->floats = (tn_floats){list, (int64_t)n};
}

/* Texts with a zero byte behind each. */
static void read_strings(builder *b, tn_attr *to, const char *from, size_t bytes) {
  size_t n = 0;
  for (size_t k = 0; k < bytes; k++) n += !from[k];
  tn_str *list = take(b, (n + 1) * sizeof *list);
  for (size_t k = 0; list && k < n; k++) {
    list[k] = (tn_str){from, (int64_t)strlen(from)};
    from += list[k].size + 1;
  }
  to->strs = (tn_strs){list, (int64_t)n};
}

/* The value is released when the graph has its copy. */
static void read_tensor(builder *b, const ort_attr *a, attr *to, ort_value **out_value) {
  if (bad(b, ORT_CALL(b->api, OpAttr_GetTensorAttributeAsOrtValue, (const ort_attr *, ort_value **),
                      a, out_value)))
    return;
  read_value(b, *out_value, &to->tensor);
  to->tensors[0] = &to->tensor;
  to->head.tensors = (tn_tensors){to->tensors, 1};
}

static void read_attr(builder *b, const ort_attr *a, attr *to, ort_value **out_value) {
  static const uint32_t kinds[] = {
      0, TN_ATTR_INT,   TN_ATTR_INTS, TN_ATTR_FLOAT, TN_ATTR_FLOATS, TN_ATTR_STR, TN_ATTR_STRS,
      0, TN_ATTR_TENSOR};
  int type = 0;
  size_t n = 0;
  to->head = (tn_attr){.head = TN_HEAD(tn_attr)};
  if (bad(b, ORT_CALL(b->api, OpAttr_GetType, (const ort_attr *, int *), a, &type)) ||
      bad(b,
          ORT_CALL(b->api, OpAttr_GetName, (const ort_attr *, const char **), a, &to->head.name)))
    return;
  if (type < 1 || type > ORT_A_TENSOR || !kinds[type]) {
    fail(b, "an attribute is of a kind that is not passed on");
    return;
  }
  to->head.kind = kinds[type];
  if (type == ORT_A_TENSOR) {
    read_tensor(b, a, to, out_value);
    return;
  }
  void *data = bytes_of(b, a, type, &n);
  if (b->failed) return;
  if (type == ORT_A_INT) memcpy(&to->head.i, data, sizeof to->head.i);
  if (type == ORT_A_INTS) to->head.ints = (tn_ints){data, (int64_t)(n / sizeof(int64_t))};
  if (type == ORT_A_FLOAT) to->head.f = (double)*(const float *)data;
  if (type == ORT_A_FLOATS) read_floats(b, &to->head, data, n / sizeof(float));
  if (type == ORT_A_STRING) to->head.s = (tn_str){data, (int64_t)n};
  if (type == ORT_A_STRINGS) read_strings(b, &to->head, data, n);
}

/* ---- nodes ---- */

static int32_t *ids_of(builder *b, const ort_node *node, int count, int get, uint32_t *out_n) {
  size_t n;
  infos list = list_of(b, node, count, get, &n);
  int32_t *ids = take(b, (n + 1) * sizeof *ids);
  for (size_t k = 0; k < n && !b->failed; k++) {
    const char *name = info_name(b, list[k]);
    ids[k] = *name ? check(b, b->g->value(b->graph, name)) : TN_NO_ID;
  }
  *out_n = (uint32_t)n;
  return ids;
}

static void add_node(builder *b, const ort_node *node, tn_node *n) {
  size_t n_attrs = 0;
  ort_value *values[MOST_ATTRS] = {NULL};
  attr attrs[MOST_ATTRS];
  const tn_attr *list[MOST_ATTRS];
  const ort_attr *from[MOST_ATTRS];
  if (bad(b, ORT_CALL(b->api, Node_GetNumAttributes, (const ort_node *, size_t *), node, &n_attrs)))
    return;
  if (n_attrs > MOST_ATTRS) {
    fail(b, "a node has more than 64 attributes");
    return;
  }
  if (bad(b, ORT_CALL(b->api, Node_GetAttributes, (const ort_node *, const ort_attr **, size_t),
                      node, from, n_attrs)))
    return;
  for (size_t k = 0; k < n_attrs && !b->failed; k++) {
    read_attr(b, from[k], &attrs[k], &values[k]);
    list[k] = &attrs[k].head;
  }
  n->attrs = list;
  n->n_attrs = (uint32_t)n_attrs;
  if (!b->failed) check(b, b->g->add_node(b->graph, n));
  for (size_t k = 0; k < n_attrs; k++)
    if (values[k]) ((void (*)(ort_value *))b->api[ORT_ReleaseValue])(values[k]);
}

static void read_node(builder *b, const ort_node *node) {
  tn_node n = {.head = TN_HEAD(tn_node), .offset = -1};
  size_t n_graphs = 0;
  if (bad(b,
          ORT_CALL(b->api, Node_GetNumSubgraphs, (const ort_node *, size_t *), node, &n_graphs)) ||
      bad(b, ORT_CALL(b->api, Node_GetName, (const ort_node *, const char **), node, &n.name)) ||
      bad(b,
          ORT_CALL(b->api, Node_GetDomain, (const ort_node *, const char **), node, &n.domain)) ||
      bad(b,
          ORT_CALL(b->api, Node_GetOperatorType, (const ort_node *, const char **), node, &n.op)) ||
      bad(b, ORT_CALL(b->api, Node_GetSinceVersion, (const ort_node *, int *), node, &n.version)))
    return;
  if (n_graphs) {
    fail(b, "a node has graphs of its own");
    return;
  }
  n.inputs = ids_of(b, node, ORT_Node_GetNumInputs, ORT_Node_GetInputs, &n.n_inputs);
  n.outputs = ids_of(b, node, ORT_Node_GetNumOutputs, ORT_Node_GetOutputs, &n.n_outputs);
  if (!b->failed) add_node(b, node, &n);
}

static void nodes(builder *b, const ort_graph *graph) {
  size_t n = 0;
  if (bad(b, ORT_CALL(b->api, Graph_GetNumNodes, (const ort_graph *, size_t *), graph, &n))) return;
  const ort_node **list = take(b, (n + 1) * sizeof *list);
  if (!list || bad(b, ORT_CALL(b->api, Graph_GetNodes,
                               (const ort_graph *, const ort_node **, size_t), graph, list, n)))
    return;
  for (size_t k = 0; k < n && !b->failed; k++) read_node(b, list[k]);
}

static void opsets(builder *b, const ort_graph *graph) {
  size_t n = 0;
  if (bad(b, ORT_CALL(b->api, Graph_GetNumOperatorSets, (const ort_graph *, size_t *), graph, &n)))
    return;
  const char **domains = take(b, (n + 1) * sizeof *domains);
  int64_t *versions = take(b, (n + 1) * sizeof *versions);
  if (b->failed || bad(b, ORT_CALL(b->api, Graph_GetOperatorSets,
                                   (const ort_graph *, const char **, int64_t *, size_t), graph,
                                   domains, versions, n)))
    return;
  for (size_t k = 0; k < n && !b->failed; k++)
    if (versions[k] > 0 && versions[k] <= INT32_MAX)
      check(b, b->g->set_opset(b->graph, domains[k], (int32_t)versions[k]));
}

static tn_model *finish(builder *b) {
  tn_model *model = NULL;
  tn_diag *diag = tn_diag_create();
  const tn_status status = tn_model_from_graph_take(b->p->runtime, b->graph, NULL, diag, &model);
  if (status) fail(b, diag ? tn_diag_text(diag) : tn_status_text(status));
  tn_diag_destroy(diag);
  return model;
}

tn_model *provider_model(const provider *p, const ort_graph *graph, char *out_why, size_t size) {
  builder b = {p, p->api, NULL, tn_graph_functions(), NULL, out_why, size, false};
  tn_model *model = NULL;
  if (tn_graph_create(p->runtime, &b.graph)) fail(&b, "no memory");
  if (!b.failed) opsets(&b, graph);
  if (!b.failed) constants(&b, graph);
  if (!b.failed) inputs(&b, graph);
  if (!b.failed) nodes(&b, graph);
  if (!b.failed) outputs(&b, graph);
  if (b.failed)
    tn_graph_destroy(b.graph);
  else
    model = finish(&b);
  for (chunk *c = b.memory, *next; c; c = next) {
    next = c->next;
    free(c);
  }
  return model;
}
