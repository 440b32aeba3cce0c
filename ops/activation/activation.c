/* Activation functions: what the operators mean (references), inference, epilogues, and the
 * lowering of old versions. In f64. NaN in, NaN out, but for Shrink, whose answer to NaN is 0. */
#include <math.h>
#include <string.h>

#include "activation.gen.h"
#include "tenon/kit/dtype.h"
#include "tenon/kit/element.h"
#include "tenon/kit/infer.h"
#include "tenon/kit/lower.h"
#include "tenon/kit/tensor.h"

/* ---- References ---- */

/* y[i] = f(x[i], attributes), rounded once to the type of y. */
static tn_status map(const tn_call *call, double (*f)(double x, const void *attrs)) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const int64_t n = tn_elements(y);
  for (int64_t i = 0; i < n; i++)
    tn_store_f64(y->dtype, y->data, i, f(tn_load_f64(x->dtype, x->data, i), call->attrs));
  return TN_OK;
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }
static double clamp(double x, double lo, double hi) { return isnan(x) ? x : fmin(fmax(x, lo), hi); }

#define REFERENCE(op, value)                           \
  static double op##_of(double x, const void *attrs) { \
    (void)attrs;                                       \
    return (value);                                    \
  }                                                    \
  tn_status op##_reference(const tn_call *call) { return map(call, op##_of); }
#define ATTR(op, name) (((const tn_##op##_attrs *)attrs)->name)

REFERENCE(leaky_relu, x < 0 ? ATTR(leaky_relu, alpha) * x : x)
REFERENCE(elu, x < 0 ? ATTR(elu, alpha) * expm1(x) : x)
REFERENCE(selu, ATTR(selu, gamma) * (x < 0 ? ATTR(selu, alpha) * expm1(x) : x))
REFERENCE(celu, x < 0 ? ATTR(celu, alpha) * expm1(x / ATTR(celu, alpha)) : x)
REFERENCE(sigmoid, sigmoid(x))
REFERENCE(hard_sigmoid, clamp(ATTR(hard_sigmoid, alpha) * x + ATTR(hard_sigmoid, beta), 0, 1))
REFERENCE(hard_swish, x *clamp(x / 6 + 0.5, 0, 1))
REFERENCE(softplus, softplus(x))
REFERENCE(softsign, x / (1 + fabs(x)))
REFERENCE(mish, x *tanh(softplus(x)))
REFERENCE(thresholded_relu, x > ATTR(thresholded_relu, alpha) ? x : 0)
REFERENCE(shrink, x<-ATTR(shrink, lambd) ? x + ATTR(shrink, bias) : x> ATTR(shrink, lambd)
                      ? x - ATTR(shrink, bias)
                      : 0)
REFERENCE(swish, x *sigmoid(ATTR(swish, alpha) * x))

/* The normal distribution's weight of all below x; by tanh, its approximation. */
static double gelu_of(double x, const void *attrs) {
  const double pi = 3.14159265358979323846;
  const bool by_tanh = ATTR(gelu, approximate).data[0] == 't';
  if (by_tanh) return x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * pow(x, 3)))) / 2;
  return x * erfc(-x / sqrt(2)) / 2;
}
tn_status gelu_reference(const tn_call *call) { return map(call, gelu_of); }

tn_status relu_reference(const tn_call *call) {
  const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
  const int64_t n = tn_elements(y), bytes = tn_dtype(x->dtype)->bits / 8;
  if (n > 0) memcpy(y->data, x->data, (size_t)(n * bytes));
  for (int64_t i = 0; i < n; i++) {
    if (tn_load_f64(x->dtype, x->data, i) < 0) tn_store_f64(y->dtype, y->data, i, 0);
  }
  return TN_OK;
}

static const tn_tensor *input_or_null(const tn_call *call, uint32_t k) {
  return tn_has_input(call, k) ? call->inputs[k] : NULL;
}

/* a < b, both in the dtype, exactly. */
static bool is_less(uint32_t dtype, const void *a, int64_t i, const void *b, int64_t j) {
  if (!tn_dtype(dtype)->is_int) return tn_load_f64(dtype, a, i) < tn_load_f64(dtype, b, j);
  const int64_t x = tn_load_i64(dtype, a, i), y = tn_load_i64(dtype, b, j);
  return tn_dtype(dtype)->is_signed ? x < y : (uint64_t)x < (uint64_t)y;
}

/* First the lower bound, then the upper: where they cross, the upper one wins. */
tn_status clip_reference(const tn_call *call) {
  const tn_tensor *x = call->inputs[0], *lo = input_or_null(call, 1), *hi = input_or_null(call, 2),
                  *y = call->outputs[0];
  const int64_t n = tn_elements(y), bytes = tn_dtype(x->dtype)->bits / 8;
  if (n > 0) memcpy(y->data, x->data, (size_t)(n * bytes));
  for (int64_t i = 0; i < n; i++) {
    char *to = (char *)y->data + i * bytes;
    if (lo && is_less(x->dtype, to, 0, lo->data, 0)) memcpy(to, lo->data, (size_t)bytes);
    if (hi && is_less(x->dtype, hi->data, 0, to, 0)) memcpy(to, hi->data, (size_t)bytes);
  }
  return TN_OK;
}

/* Inference only: what is dropped in training is random, so that nothing but its statistics
 * could be compared. */
tn_status dropout_reference(const tn_call *call) {
  const tn_tensor *x = call->inputs[0], *ratio = input_or_null(call, 1),
                  *mode = input_or_null(call, 2);
  const int64_t n = tn_elements(x), bytes = tn_dtype(x->dtype)->bits / 8;
  const bool drops = mode && *(const uint8_t *)mode->data &&
                     (!ratio || tn_load_f64(ratio->dtype, ratio->data, 0) != 0);
  if (drops) return TN_ERR_UNSUPPORTED;
  if (n > 0) memcpy(call->outputs[0]->data, x->data, (size_t)(n * bytes));
  for (int64_t i = 0; tn_has_output(call, 1) && i < n; i++)
    ((uint8_t *)call->outputs[1]->data)[i] = 1;
  return TN_OK;
}

/* ---- Inference ---- */

tn_status gelu_infer(const tn_call *call) {
  const tn_str a = ((const tn_gelu_attrs *)call->attrs)->approximate;
  if (a.size != 4 || (memcmp(a.data, "none", 4) && memcmp(a.data, "tanh", 4))) {
    return call->host->fail(call->ctx, TN_ERR_INVALID,
                            "attribute approximate is neither none nor tanh");
  }
  return tn_infer_like(call, 0, 0);
}

static tn_status check_scalar(const tn_call *call, uint32_t k) {
  const tn_tensor *t = input_or_null(call, k);
  const int64_t n = t && t->rank >= 0 ? tn_elements(t) : 1;
  if (n == 1 || n < 0) return TN_OK;
  return call->host->fail(call->ctx, TN_ERR_SHAPE, "input %u has %lld elements, must have one",
                          (unsigned)k, (long long)n);
}

tn_status clip_infer(const tn_call *call) {
  tn_status status = check_scalar(call, 1);
  if (!status) status = check_scalar(call, 2);
  return status ? status : tn_infer_like(call, 0, 0);
}

tn_status dropout_infer(const tn_call *call) {
  tn_status status = check_scalar(call, 1);
  if (!status) status = check_scalar(call, 2);
  if (!status) status = tn_infer_like(call, 0, 0);
  if (!status && tn_has_output(call, 1)) status = tn_infer_like(call, 1, 0);
  return status;
}

/* ---- Epilogues ---- */

static tn_status step(tn_epilogue *out, uint32_t kind, double a, double b) {
  out->kind = kind;
  out->a = a;
  out->b = b;
  return TN_OK;
}

#define EPILOGUE(op, kind, a, b)                                   \
  tn_status op##_epilogue(const tn_call *call, tn_epilogue *out) { \
    const void *attrs = call->attrs;                               \
    (void)attrs;                                                   \
    return step(out, kind, a, b);                                  \
  }

EPILOGUE(relu, TN_EPILOGUE_RELU, 0, 0)
EPILOGUE(leaky_relu, TN_EPILOGUE_LEAKY_RELU, ATTR(leaky_relu, alpha), 0)
EPILOGUE(sigmoid, TN_EPILOGUE_SIGMOID, 0, 0)
EPILOGUE(hard_sigmoid, TN_EPILOGUE_HARD_SIGMOID, ATTR(hard_sigmoid, alpha),
         ATTR(hard_sigmoid, beta))
EPILOGUE(hard_swish, TN_EPILOGUE_HARD_SWISH, 0, 0)
EPILOGUE(gelu,
         memcmp(ATTR(gelu, approximate).data, "tanh", 4) ? TN_EPILOGUE_GELU : TN_EPILOGUE_GELU_TANH,
         0, 0)

tn_status swish_epilogue(const tn_call *call, tn_epilogue *out) {
  const tn_swish_attrs *a = call->attrs;
  return a->alpha == 1 ? step(out, TN_EPILOGUE_SILU, 0, 0) : TN_ERR_UNSUPPORTED;
}

/* The bounds must be known now. */
tn_status clip_epilogue(const tn_call *call, tn_epilogue *out) {
  const tn_tensor *lo = input_or_null(call, 1), *hi = input_or_null(call, 2);
  if ((lo && !lo->data) || (hi && !hi->data) || tn_dtype_exact_i64(call->inputs[0]->dtype))
    return TN_ERR_UNSUPPORTED;
  return step(out, TN_EPILOGUE_CLIP, lo ? tn_load_f64(lo->dtype, lo->data, 0) : -INFINITY,
              hi ? tn_load_f64(hi->dtype, hi->data, 0) : INFINITY);
}

/* ---- Lowering ---- */

/* consumed_inputs of versions 1 to 5 was a hint about memory. */
tn_status activation_lower_v1(const tn_call *call, tn_graph *graph, int32_t node) {
  static const char *const dropped[] = {"consumed_inputs", NULL};
  return tn_lower_without(call, graph, node, dropped);
}

/* Selu-1 had other defaults for its attributes. */
tn_status selu_lower_v1(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_selu_v1_attrs *a = call->attrs;
  const tn_attr attrs[] = {tn_attr_float("alpha", a->alpha), tn_attr_float("gamma", a->gamma)};
  const int32_t input = tn_node_input(call, graph, node, 0);
  return tn_lower_as(call, graph, node, "Selu", &input, 1, attrs, 2);
}

/* A bound that was an attribute becomes a constant of the input's type. */
static int32_t emit_bound(const tn_call *call, tn_graph *graph, double bound) {
  uint64_t storage = 0;
  tn_store_f64(call->inputs[0]->dtype, &storage, 0, bound);
  const tn_tensor data = tn_tensor_make(call->inputs[0]->dtype, 0, NULL, &storage);
  return tn_emit_const(call, graph, &data);
}

static tn_status lower_clip(const tn_call *call, tn_graph *graph, int32_t node, const double *lo,
                            const double *hi) {
  const int32_t inputs[3] = {tn_node_input(call, graph, node, 0),
                             lo ? emit_bound(call, graph, *lo) : -1,
                             hi ? emit_bound(call, graph, *hi) : -1};
  return tn_lower_as(call, graph, node, "Clip", inputs, 3, NULL, 0);
}

tn_status clip_lower_v1(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_clip_v1_attrs *a = call->attrs;
  return lower_clip(call, graph, node, a->has_min ? &a->min : NULL, a->has_max ? &a->max : NULL);
}

tn_status clip_lower_v6(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_clip_v6_attrs *a = call->attrs;
  return lower_clip(call, graph, node, &a->min, &a->max);
}

static bool is_used(const tn_call *call, const tn_graph *graph, int32_t value) {
  const tn_graph_api *api = call->host->graph;
  return value >= 0 &&
         (api->value_n_users(graph, value) > 0 || api->value_flags(graph, value) & TN_VALUE_OUTPUT);
}

/* Versions up to 11 never drop in inference. A mask that somebody reads is all ones, in the type
 * that infer has said. */
tn_status dropout_lower_old(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_graph_api *api = call->host->graph;
  const tn_node *n = api->node(graph, node);
  int32_t values[2] = {n->inputs[0], -1};
  if (n->n_outputs > 1 && is_used(call, graph, n->outputs[1])) {
    const tn_tensor *mask = call->outputs[1];
    uint64_t one = 0;
    tn_store_f64(mask->dtype, &one, 0, 1);
    const tn_tensor data = tn_tensor_make(mask->dtype, 0, NULL, &one);
    const int32_t fill = tn_emit_const(call, graph, &data);
    if (fill < 0) return fill;
    tn_moves moves = tn_moves_begin(call, graph);
    const tn_status status = tn_moves_emit(&moves, mask, &fill, 1, 0, &values[1]);
    if (status) return status;
  }
  return api->replace_node(graph, node, values, 2);
}

/* Without training, and without a reader of the mask, Dropout is nothing. */
tn_status dropout_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  const tn_graph_api *api = call->host->graph;
  const tn_node *n = api->node(graph, node);
  const tn_tensor *mode = input_or_null(call, 2);
  if (mode && (!mode->data || *(const uint8_t *)mode->data)) return TN_ERR_UNSUPPORTED;
  if (n->n_outputs > 1 && is_used(call, graph, n->outputs[1])) return TN_ERR_UNSUPPORTED;
  const int32_t values[2] = {n->inputs[0], -1};
  return api->replace_node(graph, node, values, 2);
}
