/* What guests' compilers are served: looking at graphs, taking operators, options. Handles are the
 * addresses of our own objects. What nobody here needs answers that it is not supported. */
#include <string.h>

#include "litert.h"

int lrt_serve_nothing(void) { return GUEST_UNSUPPORTED; }
int lrt_serve_done(void) { return GUEST_OK; }

/* ---- graphs ---- */

/* FUNCTION(owner, count): how many there are. */
#define COUNT(function, type, count)                \
  static int function(const type *x, size_t *out) { \
    if (!x || !out) return GUEST_INVALID;           \
    *out = x->count;                                \
    return GUEST_OK;                                \
  }
/* ... and one of them. */
#define PICK(function, type, count, expression)                  \
  static int function(const type *x, size_t index, void **out) { \
    if (!x || !out) return GUEST_INVALID;                        \
    if (index >= x->count) return GUEST_BAD_INDEX;               \
    *out = (void *)(uintptr_t)(expression);                      \
    return GUEST_OK;                                             \
  }

COUNT(model_n_graphs, lrt_model, n)
PICK(model_graph, lrt_model, n, &x->graphs[index])
COUNT(graph_n_ops, lrt_graph, n_ops)
PICK(graph_op, lrt_graph, n_ops, x->ops[index])
COUNT(graph_n_inputs, lrt_graph, n_inputs)
PICK(graph_input, lrt_graph, n_inputs, x->inputs[index])
COUNT(graph_n_outputs, lrt_graph, n_outputs)
PICK(graph_output, lrt_graph, n_outputs, x->outputs[index])
COUNT(op_n_inputs, lrt_op, n_inputs)
PICK(op_input, lrt_op, n_inputs, x->inputs[index])
COUNT(op_n_outputs, lrt_op, n_outputs)
PICK(op_output, lrt_op, n_outputs, x->outputs[index])
COUNT(tensor_n_uses, lrt_tensor, n_uses)

static int op_code(const lrt_op *op, int32_t *out) {
  if (!op || !out) return GUEST_INVALID;
  *out = op->code;
  return GUEST_OK;
}

static int push_op(void *list, lrt_op *op, size_t group) {
  (void)list, (void)group;
  if (!op) return GUEST_INVALID;
  op->is_taken = 1;
  return GUEST_OK;
}

/* ---- tensors ---- */

static int tensor_name(const lrt_tensor *t, const char **out) {
  if (!t || !out) return GUEST_INVALID;
  *out = t->name;
  return GUEST_OK;
}

static int tensor_index(const lrt_tensor *t, uint32_t *out) {
  if (!t || !out) return GUEST_INVALID;
  *out = t->index;
  return GUEST_OK;
}

static int tensor_type_kind(const lrt_tensor *t, int32_t *out) {
  if (!t || !out) return GUEST_INVALID;
  *out = 0; /* the rank is known */
  return GUEST_OK;
}

static int tensor_type(const lrt_tensor *t, guest_type *out) {
  if (!t || !out) return GUEST_INVALID;
  *out = t->type;
  return GUEST_OK;
}

static int tensor_quant_kind(const lrt_tensor *t, int32_t *out) {
  if (!t || !out) return GUEST_INVALID;
  *out = GUEST_QUANT_NONE;
  return GUEST_OK;
}

static int tensor_use(const lrt_tensor *t, size_t index, void **out_op, size_t *out_input) {
  if (!t || !out_op || !out_input) return GUEST_INVALID;
  if (index >= t->n_uses) return GUEST_BAD_INDEX;
  *out_op = t->uses[index].op;
  *out_input = t->uses[index].input;
  return GUEST_OK;
}

static int tensor_maker(const lrt_tensor *t, bool *out_has, guest_maker *out) {
  if (!t || !out_has || !out) return GUEST_INVALID;
  *out_has = t->maker != NULL;
  if (t->maker) *out = (guest_maker){t->maker, t->output};
  return GUEST_OK;
}

/* A tensor stands for its weights; those of what is no constant are empty. */
static int tensor_weights(lrt_tensor *t, void **out) {
  if (!t || !out) return GUEST_INVALID;
  *out = t;
  return GUEST_OK;
}

static int weights_id(const lrt_tensor *t, int32_t *out) {
  if (!t || !out) return GUEST_INVALID;
  *out = t->data ? (int32_t)t->index + 1 : 0;
  return GUEST_OK;
}

static int weights_bytes(const lrt_tensor *t, const void **out, size_t *out_size) {
  if (!t || !out || !out_size) return GUEST_INVALID;
  *out = t->data;
  *out_size = (size_t)t->bytes;
  return GUEST_OK;
}

/* ---- options of the user ---- */

int lrt_serve_opaque(void *options, void **out) {
  if (!options || !out) return GUEST_INVALID;
  *out = options;
  return GUEST_OK;
}

int lrt_serve_find(void *options, const char *name, void **out) {
  const lrt_options *o = (const lrt_options *)options;
  if (!o || !name || !out) return GUEST_INVALID;
  if (!o->name || strcmp(o->name, name) != 0) return GUEST_NOT_FOUND;
  *out = (void *)(uintptr_t)o->text;
  return GUEST_OK;
}

void lrt_serve_destroy(void *options) { (void)options; }

int lrt_serve_environment(void *options, int tag, guest_any *out) {
  const lrt_options *o = (const lrt_options *)options;
  if (!o || !out) return GUEST_INVALID;
  if (tag == GUEST_ENV_LOG_LEVEL) {
    *out = (guest_any){GUEST_ANY_INT, {.i = o->log_level}};
    return GUEST_OK;
  }
  return GUEST_NOT_FOUND;
}

/* ---- options of operators ---- */

/* All of them: number of the service, operator, place of the option, C type. Those of operators
 * that the bridge does not make are not served. */
#define OPTIONS(X)                              \
  X(37, STRIDED_SLICE, BEGIN_MASK, int32_t)     \
  X(38, STRIDED_SLICE, END_MASK, int32_t)       \
  X(39, STRIDED_SLICE, ZERO, int32_t)           \
  X(40, STRIDED_SLICE, ZERO, int32_t)           \
  X(41, STRIDED_SLICE, ZERO, int32_t)           \
  X(42, STRIDED_SLICE, ZERO, bool)              \
  X(43, SUB, ZERO, uint32_t)                    \
  X(44, SUM, FLAG, bool)                        \
  X(45, CONV_2D, PADDING, uint32_t)             \
  X(46, CONV_2D, STRIDE_W, int32_t)             \
  X(47, CONV_2D, STRIDE_H, int32_t)             \
  X(48, CONV_2D, ZERO, uint32_t)                \
  X(49, CONV_2D, DILATION_W, int32_t)           \
  X(50, CONV_2D, DILATION_H, int32_t)           \
  X(51, DEPTHWISE_CONV_2D, PADDING, uint32_t)   \
  X(52, DEPTHWISE_CONV_2D, STRIDE_W, int32_t)   \
  X(53, DEPTHWISE_CONV_2D, STRIDE_H, int32_t)   \
  X(54, DEPTHWISE_CONV_2D, MULTIPLIER, int32_t) \
  X(55, DEPTHWISE_CONV_2D, ZERO, uint32_t)      \
  X(56, DEPTHWISE_CONV_2D, DILATION_W, int32_t) \
  X(57, DEPTHWISE_CONV_2D, DILATION_H, int32_t) \
  X(62, ADD, ZERO, uint32_t)                    \
  X(63, MUL, ZERO, uint32_t)                    \
  X(64, DIV, ZERO, uint32_t)                    \
  X(65, FULLY_CONNECTED, ZERO, uint32_t)        \
  X(66, FULLY_CONNECTED, ZERO, uint32_t)        \
  X(67, FULLY_CONNECTED, FLAG, bool)            \
  X(68, FULLY_CONNECTED, ZERO, uint32_t)        \
  X(69, FULLY_CONNECTED, ZERO, bool)            \
  X(70, SOFTMAX, NUMBER, float)                 \
  X(71, CONCATENATION, AXIS, int32_t)           \
  X(72, CONCATENATION, ZERO, uint32_t)          \
  X(73, SPLIT, NUMBER, int32_t)                 \
  X(74, MEAN, FLAG, bool)                       \
  X(75, REDUCE_MAX, FLAG, bool)                 \
  X(76, RESIZE_BILINEAR, FLAG, bool)            \
  X(77, RESIZE_BILINEAR, FLAG_2, bool)          \
  X(78, RESIZE_NEAREST, FLAG, bool)             \
  X(79, RESIZE_NEAREST, FLAG_2, bool)           \
  X(80, BATCH_MATMUL, ZERO, bool)               \
  X(81, BATCH_MATMUL, ZERO, bool)               \
  X(82, BATCH_MATMUL, ZERO, bool)               \
  X(83, AVERAGE_POOL_2D, PADDING, uint32_t)     \
  X(84, AVERAGE_POOL_2D, STRIDE_W, int32_t)     \
  X(85, AVERAGE_POOL_2D, STRIDE_H, int32_t)     \
  X(86, AVERAGE_POOL_2D, FILTER_W, int32_t)     \
  X(87, AVERAGE_POOL_2D, FILTER_H, int32_t)     \
  X(88, AVERAGE_POOL_2D, ZERO, uint32_t)        \
  X(89, MAX_POOL_2D, PADDING, uint32_t)         \
  X(90, MAX_POOL_2D, STRIDE_W, int32_t)         \
  X(91, MAX_POOL_2D, STRIDE_H, int32_t)         \
  X(92, MAX_POOL_2D, FILTER_W, int32_t)         \
  X(93, MAX_POOL_2D, FILTER_H, int32_t)         \
  X(94, MAX_POOL_2D, ZERO, uint32_t)            \
  X(95, LEAKY_RELU, NUMBER, float)              \
  X(105, GATHER, AXIS, int32_t)                 \
  X(106, GATHER, ZERO, int32_t)                 \
  X(121, DEPTH_TO_SPACE, NUMBER, int32_t)       \
  X(125, GELU, FLAG, bool)

#define OPTION_FUNCTION(number, op_name, option, type)                  \
  static int option_##number(const lrt_op *op, type *out) {             \
    if (!op || !out || op->code != LRT_##op_name) return GUEST_INVALID; \
    *out = (type)op->options[LRT_##option];                             \
    return GUEST_OK;                                                    \
  }
OPTIONS(OPTION_FUNCTION)

/* The shape is an input; there is none among the options. */
static int reshape_shape(const lrt_op *op, const int32_t **out, int32_t *out_n) {
  if (!op || !out || !out_n || op->code != LRT_RESHAPE) return GUEST_INVALID;
  *out = (const int32_t *)op->inputs[1]->data;
  *out_n = op->inputs[1]->type.layout.dims[0];
  return GUEST_OK;
}

/* ---- the table ---- */

typedef struct row {
  size_t number;
  guest_fn serve;
} row;

#define OPTION_ROW(number, op, option, type) {number, (guest_fn)option_##number},
static const row rows[] = {{SERVE_MODEL_N_GRAPHS, (guest_fn)model_n_graphs},
                           {SERVE_MODEL_GRAPH, (guest_fn)model_graph},
                           {SERVE_GRAPH_N_OPS, (guest_fn)graph_n_ops},
                           {SERVE_GRAPH_OP, (guest_fn)graph_op},
                           {SERVE_GRAPH_N_INPUTS, (guest_fn)graph_n_inputs},
                           {SERVE_GRAPH_INPUT, (guest_fn)graph_input},
                           {SERVE_GRAPH_N_OUTPUTS, (guest_fn)graph_n_outputs},
                           {SERVE_GRAPH_OUTPUT, (guest_fn)graph_output},
                           {SERVE_OP_CODE, (guest_fn)op_code},
                           {SERVE_OP_N_INPUTS, (guest_fn)op_n_inputs},
                           {SERVE_OP_INPUT, (guest_fn)op_input},
                           {SERVE_OP_N_OUTPUTS, (guest_fn)op_n_outputs},
                           {SERVE_OP_OUTPUT, (guest_fn)op_output},
                           {SERVE_TENSOR_NAME, (guest_fn)tensor_name},
                           {SERVE_TENSOR_INDEX, (guest_fn)tensor_index},
                           {SERVE_TENSOR_TYPE_KIND, (guest_fn)tensor_type_kind},
                           {SERVE_TENSOR_TYPE, (guest_fn)tensor_type},
                           {SERVE_TENSOR_QUANT_KIND, (guest_fn)tensor_quant_kind},
                           {SERVE_TENSOR_N_USES, (guest_fn)tensor_n_uses},
                           {SERVE_TENSOR_USE, (guest_fn)tensor_use},
                           {SERVE_TENSOR_MAKER, (guest_fn)tensor_maker},
                           {SERVE_TENSOR_WEIGHTS, (guest_fn)tensor_weights},
                           {SERVE_WEIGHTS_ID, (guest_fn)weights_id},
                           {SERVE_WEIGHTS_BYTES, (guest_fn)weights_bytes},
                           {SERVE_PUSH_OP, (guest_fn)push_op},
                           {SERVE_OPAQUE_OPTIONS, (guest_fn)lrt_serve_opaque},
                           {SERVE_FIND_OPTIONS, (guest_fn)lrt_serve_find},
                           {SERVE_DESTROY_OPTIONS, (guest_fn)lrt_serve_destroy},
                           {SERVE_ENVIRONMENT_VALUE, (guest_fn)lrt_serve_environment},
                           {SERVE_RESHAPE_SHAPE, (guest_fn)reshape_shape},
                           OPTIONS(OPTION_ROW)};

void lrt_serve_compiler(guest_compiler_table *out) {
  out->head = (guest_head){sizeof *out, 1, 1, 0};
  for (size_t k = 0; k < SERVE_COMPILER_COUNT; k++) out->serve[k] = (guest_fn)lrt_serve_nothing;
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
    out->serve[rows[k].number] = rows[k].serve;
}
