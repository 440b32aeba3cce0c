/* Small models: what comes of operators one behind the other, of values that several read, of
 * constants, and of more elements than a device takes groups at once. */
#include <string.h>

#include "harness/conform.h"

enum { OPSET = 13, MAX_WEIGHTS = 2048 };

typedef struct net {
  tn_graph *g;
  uint32_t seed;
  tn_status status; /* the first error */
} net;

static const tn_graph_api *api(void) { return tn_graph_functions(); }

static int32_t value(net *n, tn_status (*add)(tn_graph *, int32_t), const tn_tensor *type) {
  const int32_t id = api()->value(n->g, NULL);
  if (id < 0) return n->status = TN_ERR_MEMORY, 0;
  if (type && !n->status) n->status = api()->value_set_type(n->g, id, type);
  if (add && !n->status) n->status = add(n->g, id);
  return id;
}

static int32_t constant(net *n, const tn_tensor *t) {
  const int32_t id = value(n, NULL, NULL);
  if (!n->status) n->status = api()->value_set_const(n->g, id, t, 1);
  return id;
}

/* Weights between -0.5 and 0.5. */
static int32_t weights(net *n, int32_t rank, const int64_t *shape) {
  float data[MAX_WEIGHTS];
  const tn_tensor t = tn_tensor_make(TN_F32, rank, shape, data);
  for (int64_t k = 0; k < tn_tensor_elements(&t); k++) {
    n->seed = n->seed * UINT32_C(1664525) + UINT32_C(1013904223);
    data[k] = (float)(n->seed >> 8) / (float)(1 << 24) - 0.5f;
  }
  return constant(n, &t);
}
#define WEIGHTS(n, rank, ...) weights(n, rank, (const int64_t[]){__VA_ARGS__})

static int32_t integers(net *n, int64_t count, const int64_t *data) {
  const tn_tensor t = tn_tensor_make(TN_I64, 1, &count, (void *)(uintptr_t)data);
  return constant(n, &t);
}

static tn_attr ints(const char *name, int64_t n, const int64_t *data) {
  return (tn_attr){.head = TN_HEAD(tn_attr), .name = name, .kind = TN_ATTR_INTS, .ints = {data, n}};
}

static int32_t node(net *n, const char *op, uint32_t n_inputs, const int32_t *inputs,
                    const tn_attr *const *attrs) {
  const int32_t y = value(n, NULL, NULL);
  const tn_node node = {.head = TN_HEAD(tn_node),
                        .domain = "",
                        .op = op,
                        .n_inputs = n_inputs,
                        .n_outputs = 1,
                        .n_attrs = attrs ? (attrs[1] ? 2 : 1) : 0,
                        .inputs = inputs,
                        .outputs = &y,
                        .attrs = attrs,
                        .offset = -1};
  if (!n->status && api()->add_node(n->g, &node) < 0) n->status = TN_ERR_MEMORY;
  return y;
}
#define NODE(n, op, attrs, ...)                                         \
  node(n, op, sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t), \
       (const int32_t[]){__VA_ARGS__}, attrs)

static int32_t with_ints(net *n, const char *op, int32_t x, const char *name, int64_t count,
                         const int64_t *data) {
  const tn_attr attr = ints(name, count, data);
  const tn_attr *const attrs[] = {&attr, NULL};
  return NODE(n, op, attrs, x);
}

/* ---- the models ---- */

static int32_t conv(net *n, int32_t x, int64_t channels, int64_t filters, const int64_t *strides) {
  static const int64_t around[] = {1, 1, 1, 1};
  const tn_attr pads = ints("pads", 4, around), stride = ints("strides", 2, strides);
  const tn_attr *const attrs[] = {&pads, &stride};
  const int32_t w = WEIGHTS(n, 4, filters, channels, 3, 3), b = WEIGHTS(n, 1, filters);
  return NODE(n, "Relu", NULL, NODE(n, "Conv", attrs, x, w, b));
}

/* x[1,3,16,16]: convolutions, one of them around a residual, pools, a product. */
static int32_t images(net *n, int32_t x) {
  static const int64_t one[] = {1, 1}, two[] = {2, 2};
  const tn_attr kernel = ints("kernel_shape", 2, two), stride = ints("strides", 2, two);
  const tn_attr *const window[] = {&kernel, &stride};
  const int32_t a = conv(n, x, 3, 8, two);
  const int32_t b = NODE(n, "Add", NULL, conv(n, a, 8, 8, one), a);
  const int32_t c = conv(n, NODE(n, "MaxPool", window, b), 8, 16, one);
  const int32_t flat = NODE(n, "Flatten", NULL, NODE(n, "GlobalAveragePool", NULL, c));
  const int32_t y = NODE(n, "Gemm", NULL, flat, WEIGHTS(n, 2, 16, 10), WEIGHTS(n, 1, 10));
  return NODE(n, "Softmax", NULL, y);
}

/* x[1,12,16]: queries, keys and values of the same input, and the input again. */
static int32_t attention(net *n, int32_t x) {
  static const int64_t turn[] = {0, 2, 1};
  const int32_t q = NODE(n, "MatMul", NULL, x, WEIGHTS(n, 2, 16, 16));
  const int32_t k = NODE(n, "MatMul", NULL, x, WEIGHTS(n, 2, 16, 16));
  const int32_t v = NODE(n, "MatMul", NULL, x, WEIGHTS(n, 2, 16, 16));
  const int32_t keys = with_ints(n, "Transpose", k, "perm", 3, turn);
  const int32_t s = NODE(n, "Mul", NULL, NODE(n, "MatMul", NULL, q, keys), WEIGHTS(n, 1, 1));
  const int32_t y = NODE(n, "MatMul", NULL, NODE(n, "Softmax", NULL, s), v);
  return NODE(n, "Tanh", NULL, NODE(n, "Add", NULL, y, x));
}

/* x[2,12,5]: parts of values, side by side and turned around. */
static int32_t pieces(net *n, int32_t x) {
  static const int64_t turn[] = {2, 0, 1}, shape[] = {5, 4, -1}, low[] = {1, 2}, high[] = {4, 11},
                       which[] = {1, 2}, step[] = {1, 3};
  const tn_attr side = {.head = TN_HEAD(tn_attr), .name = "axis", .kind = TN_ATTR_INT, .i = 1};
  const tn_attr *const attrs[] = {&side, NULL};
  const int32_t both = NODE(n, "Concat", attrs, x, NODE(n, "Relu", NULL, x));
  const int32_t turned = with_ints(n, "Transpose", both, "perm", 3, turn);
  const int32_t y = NODE(n, "Reshape", NULL, turned, integers(n, 3, shape));
  const int32_t part = NODE(n, "Slice", NULL, y, integers(n, 2, low), integers(n, 2, high),
                            integers(n, 2, which), integers(n, 2, step));
  return NODE(n, "Sigmoid", NULL, part);
}

/* x[1031], 4097 times: more than 65,535 groups of 64, which many devices take at once. */
static int32_t many(net *n, int32_t x) {
  static const int64_t shape[] = {4097, 1031}, axis[] = {0};
  const int32_t all = NODE(n, "Expand", NULL, x, integers(n, 2, shape));
  const int32_t y = NODE(n, "Mul", NULL, all, NODE(n, "Neg", NULL, all));
  return with_ints(n, "ReduceMax", y, "axes", 1, axis);
}

static int32_t (*const models[CHECK_CONFORM_MODELS])(net *, int32_t) = {images, attention, pieces,
                                                                        many};

tn_graph *check_conform_graph(tn_runtime *rt, int index, const tn_tensor *x) {
  net n = {.seed = 7};
  tn_tensor type = *x;
  type.data = NULL;
  n.status = tn_graph_create(rt, &n.g);
  if (n.status) return NULL;
  n.status = api()->set_opset(n.g, "", OPSET);
  const int32_t y = models[index](&n, value(&n, api()->add_input, &type));
  if (!n.status) n.status = api()->add_output(n.g, y);
  if (!n.status) return n.g;
  tn_graph_destroy(n.g);
  return NULL;
}
