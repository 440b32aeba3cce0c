/* Element-wise operators, reductions and products in TFLite's words. */
#include <math.h>
#include <string.h>

#include "litert.h"

/* ---- one input ---- */

static lrt_op *unary(lrt_bridge *b, const tn_node *n, int32_t code) {
  const int is_last = lrt_prefers_last(b, n->inputs[0]);
  lrt_tensor *const x = is_last ? lrt_last(b, n->inputs[0]) : lrt_plain(b, n->inputs[0]);
  return lrt_emit(b, code, &x, 1, n->outputs[0], is_last);
}

#define UNARY(name, code)                                    \
  static const char *name(lrt_bridge *b, const tn_node *n) { \
    unary(b, n, code);                                       \
    return NULL;                                             \
  }
UNARY(absolute, LRT_ABS)
UNARY(ceiling, LRT_CEIL)
UNARY(cosine, LRT_COS)
UNARY(exponential, LRT_EXP)
UNARY(flooring, LRT_FLOOR)
UNARY(hard_swish, LRT_HARD_SWISH)
UNARY(logarithm, LRT_LOG)
UNARY(negative, LRT_NEG)
UNARY(relu, LRT_RELU)
UNARY(sigmoid, LRT_LOGISTIC)
UNARY(sine, LRT_SIN)
UNARY(square_root, LRT_SQRT)
UNARY(hyperbolic, LRT_TANH)

static const char *elu(lrt_bridge *b, const tn_node *n) {
  if (tn_pattern_float(n, "alpha", 1) != 1) return "TFLite's ELU has no alpha";
  unary(b, n, LRT_ELU);
  return NULL;
}

static const char *leaky_relu(lrt_bridge *b, const tn_node *n) {
  lrt_op *op = unary(b, n, LRT_LEAKY_RELU);
  if (op) op->options[LRT_NUMBER] = tn_pattern_float(n, "alpha", 0.01);
  return NULL;
}

static const char *gelu(lrt_bridge *b, const tn_node *n) {
  const tn_attr *a = tn_pattern_attr(n, "approximate", TN_ATTR_STR);
  lrt_op *op = unary(b, n, LRT_GELU);
  if (op) op->options[LRT_FLAG] = a && a->s.size == 4;
  return NULL;
}

/* The value is what another is. */
static const char *identity(lrt_bridge *b, const tn_node *n) {
  for (uint32_t k = 1; k < n->n_outputs; k++)
    if (n->outputs[k] >= 0) return "guests are shown one output of it";
  if (!b->forms[n->inputs[0]].last) (void)lrt_plain(b, n->inputs[0]);
  b->forms[n->outputs[0]] = b->forms[n->inputs[0]];
  return NULL;
}

/* ---- two inputs ---- */

static int is_number(const lrt_bridge *b, int32_t value) {
  const tn_tensor *t = lrt_type_of(b, value);
  return lrt_is_const(b, value) && t->dtype == TN_F32 && tn_elements(t) == 1;
}

/* A constant that is broadcast along leading dims, as one of rank 4. */
static lrt_tensor *wide_last(lrt_bridge *b, int32_t value) {
  static const int32_t to_last[] = {0, 2, 3, 1};
  const tn_tensor *t = lrt_type_of(b, value);
  tn_tensor wide = *t;
  int64_t shape[4];
  if (t->rank == 4) return lrt_last(b, value);
  for (int32_t k = 0; k < 4; k++) wide.shape[k] = k < 4 - t->rank ? 1 : t->shape[k - 4 + t->rank];
  wide.rank = 4;
  for (int k = 0; k < 4; k++) shape[k] = wide.shape[to_last[k]];
  const float *data = lrt_permuted(b, &wide, to_last);
  return data ? lrt_floats(b, data, 4, shape) : NULL;
}

static int fits_last(const lrt_bridge *b, int32_t value) {
  const tn_tensor *t = lrt_type_of(b, value);
  return t->rank == 4 || (lrt_is_const(b, value) && t->rank < 4);
}

static lrt_op *binary(lrt_bridge *b, const tn_node *n, int32_t code) {
  const int32_t x = n->inputs[0], y = n->inputs[1];
  const int is_last = (lrt_prefers_last(b, x) || lrt_prefers_last(b, y)) && fits_last(b, x) &&
                      fits_last(b, y) && lrt_type_of(b, n->outputs[0])->rank == 4;
  lrt_tensor *inputs[2];
  for (int k = 0; k < 2; k++) {
    const int32_t v = n->inputs[k];
    inputs[k] = !is_last || is_number(b, v) ? lrt_plain(b, v) : wide_last(b, v);
  }
  return lrt_emit(b, code, inputs, 2, n->outputs[0], is_last);
}

#define BINARY(name, code)                                            \
  static const char *name(lrt_bridge *b, const tn_node *n) {          \
    if (n->n_inputs != 2) return "guests are shown two inputs of it"; \
    binary(b, n, code);                                               \
    return NULL;                                                      \
  }
BINARY(plus, LRT_ADD)
BINARY(quotient, LRT_DIV)
BINARY(maximum, LRT_MAXIMUM)
BINARY(minimum, LRT_MINIMUM)
BINARY(product, LRT_MUL)
BINARY(power, LRT_POW)
BINARY(difference, LRT_SUB)

/* ---- bounds, scales ---- */

/* A constant of one element, or what it is if it is left out. */
static int bound(const lrt_bridge *b, const tn_node *n, uint32_t k, double missing, double *out) {
  const int32_t value = tn_pattern_input(n, k);
  *out = missing;
  if (value < 0) return 1;
  if (!is_number(b, value)) return 0;
  *out = (double)((const float *)lrt_type_of(b, value)->data)[0];
  return 1;
}

static const char *clip(lrt_bridge *b, const tn_node *n) {
  double low, high;
  const int is_last = lrt_prefers_last(b, n->inputs[0]);
  if (!bound(b, n, 1, -INFINITY, &low) || !bound(b, n, 2, INFINITY, &high))
    return "a bound is no constant";
  if (low > -INFINITY && high == INFINITY && low == 0) return relu(b, n);
  lrt_tensor *x = is_last ? lrt_last(b, n->inputs[0]) : lrt_plain(b, n->inputs[0]);
  if (low > -INFINITY && x) {
    const guest_layout *l = &x->type.layout;
    int64_t shape[GUEST_MAX_RANK];
    for (uint32_t k = 0; k < l->rank; k++) shape[k] = l->dims[k];
    lrt_tensor *const inputs[] = {x, lrt_number(b, low)};
    const lrt_op *op =
        inputs[1] ? lrt_emit_inner(b, LRT_MAXIMUM, inputs, 2, (int32_t)l->rank, shape) : NULL;
    x = op ? op->outputs[0] : NULL;
  }
  lrt_tensor *const inputs[] = {x, lrt_number(b, fmin(high, 3.4028234663852886e38))};
  lrt_emit(b, LRT_MINIMUM, inputs, 2, n->outputs[0], is_last);
  return NULL;
}

/* x * scale + shift, as channels have them. */
static const char *batch_normalization(lrt_bridge *b, const tn_node *n) {
  const tn_tensor *x = lrt_type_of(b, n->inputs[0]);
  const double epsilon = tn_pattern_float(n, "epsilon", 1e-5);
  const float *p[5] = {NULL};
  for (uint32_t k = 1; k < n->n_outputs; k++)
    if (n->outputs[k] >= 0) return "guests are shown one output of it";
  if (x->rank != 4) return "guests are shown it of images alone";
  for (int k = 1; k < 5; k++) {
    if (!lrt_is_const(b, n->inputs[k])) return "a parameter is no constant";
    p[k] = (const float *)lrt_type_of(b, n->inputs[k])->data;
  }
  const int64_t channels = x->shape[1], shape[] = {channels};
  float *scale = (float *)lrt_alloc(b->to->memory, (uint64_t)channels * sizeof *scale);
  float *shift = (float *)lrt_alloc(b->to->memory, (uint64_t)channels * sizeof *shift);
  for (int64_t k = 0; scale && shift && k < channels; k++) {
    const double factor = (double)p[1][k] / sqrt((double)p[4][k] + epsilon);
    scale[k] = (float)factor;
    shift[k] = (float)((double)p[2][k] - (double)p[3][k] * factor);
  }
  if (!scale || !shift) return NULL;
  const int64_t last[] = {x->shape[0], x->shape[2], x->shape[3], channels};
  lrt_tensor *const scaled[] = {lrt_last(b, n->inputs[0]), lrt_floats(b, scale, 1, shape)};
  const lrt_op *op = lrt_emit_inner(b, LRT_MUL, scaled, 2, 4, last);
  lrt_tensor *const shifted[] = {op ? op->outputs[0] : NULL, lrt_floats(b, shift, 1, shape)};
  lrt_emit(b, LRT_ADD, shifted, 2, n->outputs[0], 1);
  return NULL;
}

/* ---- along a dim ---- */

static const char *softmax_as(lrt_bridge *b, const tn_node *n, int32_t code) {
  const int32_t rank = lrt_type_of(b, n->inputs[0])->rank;
  int64_t axis = tn_pattern_int(n, "axis", -1);
  if (axis < 0) axis += rank;
  const int is_last = rank == 4 && axis == 1;
  if (!is_last && axis != rank - 1) return "TFLite has it along the last dim";
  lrt_tensor *const x = is_last ? lrt_last(b, n->inputs[0]) : lrt_plain(b, n->inputs[0]);
  lrt_op *op = lrt_emit(b, code, &x, 1, n->outputs[0], is_last);
  if (op) op->options[LRT_NUMBER] = 1;
  return NULL;
}

static const char *softmax(lrt_bridge *b, const tn_node *n) {
  return softmax_as(b, n, LRT_SOFTMAX);
}
static const char *log_softmax(lrt_bridge *b, const tn_node *n) {
  return softmax_as(b, n, LRT_LOG_SOFTMAX);
}

/* axes: of the plain form. Where dims go, what is left keeps its order, or the plain form is read.
 */
static void reduce_axes(lrt_bridge *b, const tn_node *n, int32_t code, int64_t *axes,
                        int32_t n_axes, int keeps) {
  int is_last = lrt_prefers_last(b, n->inputs[0]);
  uint32_t gone = 0;
  for (int32_t k = 0; k < n_axes; k++) gone |= 1u << axes[k];
  if (is_last && !keeps && !(gone & 2) && (gone & 12) != 12) is_last = 0;
  for (int32_t k = 0; k < n_axes && is_last; k++) axes[k] = lrt_moved_axis((int32_t)axes[k]);
  lrt_tensor *const inputs[] = {is_last ? lrt_last(b, n->inputs[0]) : lrt_plain(b, n->inputs[0]),
                                lrt_ints(b, axes, n_axes)};
  lrt_op *op = lrt_emit(b, code, inputs, 2, n->outputs[0], is_last && keeps);
  if (op) op->options[LRT_FLAG] = keeps;
}

static const char *reduce_as(lrt_bridge *b, const tn_node *n, int32_t code) {
  const int32_t rank = lrt_type_of(b, n->inputs[0])->rank;
  int64_t axes[GUEST_MAX_RANK];
  int32_t n_axes = 0;
  if (tn_pattern_input(n, 1) >= 0) n_axes = lrt_const_ints(b, n, 1, axes, GUEST_MAX_RANK);
  if (n_axes < 0) return "axes are no constant";
  if (!n_axes && tn_pattern_int(n, "noop_with_empty_axes", 0)) return identity(b, n);
  for (int32_t k = 0; !n_axes && k < rank; k++) axes[k] = k;
  if (!n_axes) n_axes = rank;
  for (int32_t k = 0; k < n_axes; k++) axes[k] += axes[k] < 0 ? rank : 0;
  reduce_axes(b, n, code, axes, n_axes, tn_pattern_int(n, "keepdims", 1) != 0);
  return NULL;
}

static const char *reduce_mean(lrt_bridge *b, const tn_node *n) {
  return reduce_as(b, n, LRT_MEAN);
}
static const char *reduce_sum(lrt_bridge *b, const tn_node *n) { return reduce_as(b, n, LRT_SUM); }
static const char *reduce_max(lrt_bridge *b, const tn_node *n) {
  return reduce_as(b, n, LRT_REDUCE_MAX);
}

static const char *global_average_pool(lrt_bridge *b, const tn_node *n) {
  int64_t axes[] = {2, 3};
  if (lrt_type_of(b, n->inputs[0])->rank != 4) return "guests are shown it of images alone";
  (void)lrt_last(b, n->inputs[0]);
  reduce_axes(b, n, LRT_MEAN, axes, 2, 1);
  return NULL;
}

/* ---- products ---- */

/* Constant weights as TFLite has them: [outputs, inputs]. */
static lrt_tensor *weights(lrt_bridge *b, int32_t value, int is_transposed) {
  static const int32_t swap[] = {1, 0};
  const tn_tensor *t = lrt_type_of(b, value);
  if (is_transposed) return lrt_plain(b, value);
  const int64_t shape[] = {t->shape[1], t->shape[0]};
  const float *data = lrt_permuted(b, t, swap);
  return data ? lrt_floats(b, data, 2, shape) : NULL;
}

static const char *gemm(lrt_bridge *b, const tn_node *n) {
  const int32_t w = n->inputs[1], c = tn_pattern_input(n, 2);
  const int is_transposed = tn_pattern_int(n, "transB", 0) != 0;
  const tn_tensor *y = lrt_type_of(b, n->outputs[0]);
  if (tn_pattern_float(n, "alpha", 1) != 1 || (c >= 0 && tn_pattern_float(n, "beta", 1) != 1) ||
      tn_pattern_int(n, "transA", 0))
    return "TFLite has no factors and transposes of it";
  if (!lrt_is_const(b, w)) return "weights are no constant";
  if (c >= 0 && (!lrt_is_const(b, c) || tn_elements(lrt_type_of(b, c)) != y->shape[1] ||
                 (lrt_type_of(b, c)->rank &&
                  lrt_type_of(b, c)->shape[lrt_type_of(b, c)->rank - 1] != y->shape[1])))
    return "a bias of TFLite has an element for each output";
  lrt_tensor *inputs[3] = {lrt_plain(b, n->inputs[0]), weights(b, w, is_transposed), NULL};
  if (c >= 0) inputs[2] = lrt_floats(b, (const float *)lrt_type_of(b, c)->data, 1, &y->shape[1]);
  lrt_emit(b, LRT_FULLY_CONNECTED, inputs, c >= 0 ? 3 : 2, n->outputs[0], 0);
  return NULL;
}

static const char *mat_mul(lrt_bridge *b, const tn_node *n) {
  const tn_tensor *x = lrt_type_of(b, n->inputs[0]), *w = lrt_type_of(b, n->inputs[1]);
  const int is_dense = lrt_is_const(b, n->inputs[1]) && w->rank == 2 && x->rank >= 2;
  if (!is_dense && (x->rank < 2 || x->rank != w->rank)) return "TFLite has it of equal ranks";
  lrt_tensor *const inputs[] = {lrt_plain(b, n->inputs[0]), is_dense ? weights(b, n->inputs[1], 0)
                                                                     : lrt_plain(b, n->inputs[1])};
  lrt_op *op =
      lrt_emit(b, is_dense ? LRT_FULLY_CONNECTED : LRT_BATCH_MATMUL, inputs, 2, n->outputs[0], 0);
  if (op) op->options[LRT_FLAG] = 1; /* all dims stay */
  return NULL;
}

const lrt_rule lrt_simple_rules[] = {{"Abs", absolute},
                                     {"Add", plus},
                                     {"BatchNormalization", batch_normalization},
                                     {"Ceil", ceiling},
                                     {"Clip", clip},
                                     {"Cos", cosine},
                                     {"Div", quotient},
                                     {"Dropout", identity},
                                     {"Elu", elu},
                                     {"Exp", exponential},
                                     {"Floor", flooring},
                                     {"Gelu", gelu},
                                     {"Gemm", gemm},
                                     {"GlobalAveragePool", global_average_pool},
                                     {"HardSwish", hard_swish},
                                     {"Identity", identity},
                                     {"LeakyRelu", leaky_relu},
                                     {"Log", logarithm},
                                     {"LogSoftmax", log_softmax},
                                     {"MatMul", mat_mul},
                                     {"Max", maximum},
                                     {"Min", minimum},
                                     {"Mul", product},
                                     {"Neg", negative},
                                     {"Pow", power},
                                     {"ReduceMax", reduce_max},
                                     {"ReduceMean", reduce_mean},
                                     {"ReduceSum", reduce_sum},
                                     {"Relu", relu},
                                     {"Sigmoid", sigmoid},
                                     {"Sin", sine},
                                     {"Softmax", softmax},
                                     {"Sqrt", square_root},
                                     {"Sub", difference},
                                     {"Tanh", hyperbolic},
                                     {NULL, NULL}};
