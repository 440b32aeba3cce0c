/* Gelu, BiasGelu, FastGelu, QuickGelu. */
#include "gelu.gen.h"

#include <math.h>

#include "builder.h"

tn_status bias_gelu_infer(const tn_call *call) {
  const tn_tensor *x = call->inputs[0], *bias = tn_input(call, 1);
  if (bias && (bias->rank != 1 || x->rank < 1 || bias->shape[0] != x->shape[x->rank - 1]))
    return call->host->fail(call->ctx, TN_ERR_SHAPE, "the bias does not have one value per column");
  return tn_infer_like(call, 0, 0);
}

static tn_status reference(const tn_call *call, double (*f)(double x, double alpha), double alpha) {
  const tn_tensor *bias = tn_input(call, 1);
  const int64_t n = bias ? tn_elements(bias) : 1;
  for (int64_t k = 0; k < tn_elements(call->inputs[0]); k++)
    store(call->outputs[0], k, f(load(call->inputs[0], k) + load_or(bias, k % n, 0), alpha));
  return TN_OK;
}

static double exact(double x, double alpha) { return x * (1 + erf(x * sqrt(0.5))) * alpha; }
static double by_tanh(double x, double alpha) {
  return x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))) * alpha;
}
static double quick(double x, double alpha) { return x / (1 + exp(-alpha * x)); }

tn_status gelu_reference(const tn_call *call) { return reference(call, exact, 0.5); }
tn_status fast_gelu_reference(const tn_call *call) { return reference(call, by_tanh, 0.5); }
tn_status quick_gelu_reference(const tn_call *call) {
  return reference(call, quick, ((const tn_quick_gelu_attrs *)call->attrs)->alpha);
}

static tn_status lower(const tn_call *call, tn_graph *graph, int32_t node, const char *op,
                       tn_attr attr) {
  builder b = build_begin(call, graph, node);
  int32_t x = build_input(&b, 0), y;
  if (build_input(&b, 1) >= 0) x = build_binary(&b, "Add", x, build_input(&b, 1));
  build_node(&b, op, &x, 1, &attr, 1, &y, 1);
  return build_end(&b, &y, 1);
}

tn_status gelu_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  return lower(call, graph, node, "Gelu", tn_attr_str("approximate", "none"));
}

tn_status bias_gelu_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  return gelu_lower(call, graph, node);
}

tn_status fast_gelu_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  return lower(call, graph, node, "Gelu", tn_attr_str("approximate", "tanh"));
}

tn_status quick_gelu_lower(const tn_call *call, tn_graph *graph, int32_t node) {
  return lower(call, graph, node, "Swish",
               tn_attr_float("alpha", ((const tn_quick_gelu_attrs *)call->attrs)->alpha));
}
